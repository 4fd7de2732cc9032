/* tests/every/header.c: seen.stn by its header, in runs of three steps and of four: a stencil that runs every other
 * step goes by the number of the step, and u@0 is what u was before the step. */
#include "seen.h"

#include <stdio.h>

int main(void) {
  seen_params p = seen_defaults();
  double u[8], light[8], now = 1, sum = 0;
  int64_t steps[2] = {3, 4}, first = 0;
  const char *e = seen_init(&p, u, light);
  for (int i = 0; i < 2 && !e; i++) {
    e = seen_run(&p, first, steps[i], u, light);
    for (int64_t s = first; s < first + steps[i]; s++) {
      double change = 0.5 * now + 0.25;
      sum += s % 2 == 0 ? change * change : 0;
      now += change;
    }
    first += steps[i];
    printf("%d steps: u %s, light %s\n", (int)steps[i], u[3] == now ? "right" : "wrong",
           light[3] == sum ? "right" : "wrong");
  }
  if (e)
    puts(e);
  return e != NULL;
}
