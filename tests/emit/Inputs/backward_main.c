/* backward_main.c: the gradient of backward.stn by the functions of its artifact and of the backward artifact, as
 * `stc run --gradient=by` prints it, whose files for T and q this writes the values of to files of their own. */
#include "backward.back.h"
#include "backward.h"

#include <stdio.h>
#include <string.h>

enum { N = 101, STEPS = 400 };
static double T[STEPS + 1][N], q[N], by_T[N], by_q[N], by_k[N]; /* T[n]: behind n steps */

/* Writes the numbers. */
static int write_to(const char *path, const double *x) {
  FILE *f = fopen(path, "wb");
  int bad = !f || fwrite(x, sizeof *x, N, f) != N;
  return !f || fclose(f) || bad;
}

int main(int argc, char **argv) {
  backward_params p = backward_defaults();
  backward_back_params b = backward_back_defaults();
  const char *wrong = NULL;
  double value = 0, k = 0;
  for (int i = 0; i < N; i++)
    T[0][i] = i < 10, q[i] = 0.01;
  for (int n = 0; n < STEPS && !wrong; n++) {
    memcpy(T[n + 1], T[n], sizeof T[n]);
    wrong = backward_run(&p, n, 1, T[n + 1], q);
  }
  b.back_last__ = STEPS;
  if (!wrong)
    wrong = backward_back_init(&b, T[STEPS], q, T[STEPS], by_T, by_q, by_k);
  for (int n = STEPS; n >= 0 && !wrong; n--) {
    wrong = backward_back_run(&b, STEPS - n, 1, T[n], q, T[STEPS], by_T, by_q, by_k, NULL);
    if (n == STEPS)
      value = b.warmth;
  }
  for (int i = 0; i < N; i++)
    k += by_k[i];
#ifdef GPU
  backward_close();
  backward_back_close();
#endif
  if (wrong || argc < 3)
    return puts(wrong ? wrong : "no files are named"), 1;
  printf("gradient: value %.17g\ngradient: T in by/T.npy\ngradient: q in by/q.npy\ngradient: k %.17g\n", value, k);
  return write_to(argv[1], by_T) | write_to(argv[2], by_q);
}
