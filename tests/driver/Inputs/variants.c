/* variants.c: runs variants.kir through its C header with params that suit the one kernel and the other. */
#include "variants.h"

#include <stdio.h>

static void run(int64_t n, int64_t m) {
  variants_params p = variants_defaults();
  float a[12] = {0};
  int32_t k[12] = {0};
  p.N = n;
  p.M = m;
  const char *e = variants_run(&p, 0, 3, a, k);
  if (e)
    printf("N %d M %d: %s\n", (int)n, (int)m, e);
  else
    printf("N %d M %d: A %g, by %d\n", (int)n, (int)m, a[n - 1], (int)k[n - 1]);
}

int main(void) {
  run(12, 2);
  run(12, 3);
  run(10, 2);
  return 0;
}
