/* vectors.c: runs vectors.kir through its C header on arrays that are aligned, and on arrays that are not. */
#include "vectors.h"

#include <stdio.h>

/* Runs on arrays that begin `at` elements behind a place aligned to 16, and prints what came out. */
static void run(int64_t n, int at) {
  union {
    float f[32];
    double align[16];
  } memory;
  const size_t bytes = (size_t)memory.f % 16;
  float *a = memory.f + (bytes ? (16 - bytes) / 4 : 0) + at;
  int32_t k[16] = {0};
  vectors_params p = vectors_defaults();
  p.N = n;
  for (int i = 0; i < n; i++)
    a[i] = (float)i;
  const char *e = vectors_run(&p, 0, 3, a, k);
  if (e)
    printf("N %d at %d: %s\n", (int)n, at, e);
  else
    printf("N %d at %d: A %g %g, by %d\n", (int)n, at, a[0], a[n - 1], (int)k[0]);
}

int main(void) {
  run(16, 0);
  run(16, 1);
  run(14, 0);
  return 0;
}
