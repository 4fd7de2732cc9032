/* tests/scalars/header.c: steps.stn by its header: two runs, the second of which ends by `until`. */
#include "steps.h"

#include <stdio.h>

int main(void) {
  steps_params p = steps_defaults();
  double a[9], t = -1;
  int64_t done = 0, steps[2] = {5, 100}, first = 0;
  const char *e = steps_init(&p, a, &t);
  for (int i = 0; i < 2 && !e; i++) {
    e = steps_run(&p, first, steps[i], a, &t, &done);
    first += done;
    printf("%d steps: t = %g\n", (int)done, t);
  }
  if (e)
    puts(e);
  return e != NULL;
}
