/* A program that runs the host artifact that stc_add_program made, and one step again by hand. */
#include "heat.h"

#include <stdio.h>

int main(void) {
  heat_params p = heat_defaults();
  int64_t n = heat_extent_A(&p, 0);
  float *a = calloc((size_t)heat_size_A(&p), sizeof *a);
  a[n * 5 + 5] = 1;
  const char *e = a ? heat_run(&p, 0, 1, a) : "out of memory";
  int right = !e && a[n * 5 + 5] == 0.2f && a[n * 5 + 6] == 0.2f && a[n * 6 + 6] == 0;
  printf("%s\n", e ? e : right ? "right" : "wrong");
  free(a);
  return !right;
}
