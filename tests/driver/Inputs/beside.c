/* beside.c: runs what pass split-edges makes of beside.kir through its C header: which points each kernel computes. */
#include "beside.h"

#include <stdio.h>

static void run(int64_t n) {
  beside_params p = beside_defaults();
  static float a[40 * 20];
  static int32_t k[40 * 20];
  int points[5] = {0};
  p.N = n;
  const char *e = beside_run(&p, 0, 1, a, k);
  for (int64_t i = 0; i < n * p.M; i++)
    points[k[i]]++;
  printf("N %d:%s", (int)n, e ? e : "");
  for (int i = 1; i < 5; i++)
    printf(" %d", points[i]);
  printf("\n");
}

int main(void) {
  run(20);
  run(21);
  run(8);
  return 0;
}
