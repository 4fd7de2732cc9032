/* tests/sweep/header.c: columns of heat.stn by its header solve their implicit systems, in two runs. */
#include "heat.h"

#include <math.h>
#include <stdio.h>

enum { K = 6, N = 5 };

/* How far `t` is off what backward Euler asks of a step from `was`: the largest residual. */
static double residual(const double *was, const double *t) {
  double most = 0;
  for (int k = 0; k < K; k++)
    for (int j = 0; j < N; j++) {
      int at = k * N + j;
      double above = k ? t[at] - t[at - N] : 0, below = k < K - 1 ? t[at] - t[at + N] : 0;
      most = fmax(most, fabs(t[at] + 0.5 * (above + below) - was[at]));
    }
  return most;
}

int main(void) {
  heat_params p = heat_defaults();
  double T[K * N], was[K * N];
  const char *e = heat_init(&p, T);
  double first = T[0];
  for (int i = 0; i < 3 && !e; i++) {
    for (int j = 0; j < K * N; j++)
      was[j] = T[j];
    e = heat_run(&p, i, 1, T);
    if (!e)
      printf("step %d: off %.0e\n", i + 1, residual(was, T) < 1e-14 ? 0.0 : residual(was, T));
  }
  printf("%s, %s\n", e ? e : "solved", T[0] < first ? "cooler" : "not cooler");
  return e != NULL;
}
