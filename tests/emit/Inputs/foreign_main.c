/* foreign.stn by its header: what foreign.py does. */
#include "foreign.h"

#include <stdio.h>

int main(void) {
  static double u[30 * 30], past[30 * 30], src[6] = {0, 0.5, 1, 1.5, 2, 2.5};
  foreign_params p = foreign_defaults();
  int64_t done;
  p.N = 30;
  const char *wrong = foreign_init(&p, u, past, src);
  if (!wrong)
    wrong = foreign_run(&p, 0, 20, u, past, src, &done);
  printf("total %.17g, %.17g after %d steps, %s\n", p.total, u[3 * 30 + 5], (int)done, wrong ? wrong : "all is well");
  return wrong != NULL;
}
