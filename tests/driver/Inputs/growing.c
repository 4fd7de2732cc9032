/* Runs growing.stn, compiled with -fcheck, through its header: ./growing STEPS. */
#include <stdio.h>

#include "growing.h"

int main(int argc, char **argv) {
  growing_params p = growing_defaults();
  const char *e = growing_bind(&p);
  static float x[144], y_0[144], y_1[144], src[3];
  static int32_t B[144];
  static int64_t bad[144];
  int64_t done = 0;
  (void)bad;
  if (argc != 2 || e)
    return 1;
#ifdef FINITE
  e = growing_init(&p, x, y_0, y_1, B, src);
  if (!e)
    e = growing_run(&p, 0, atoi(argv[1]), x, y_0, y_1, B, src, &done);
#else
  e = growing_init(&p, x, y_0, y_1, B, bad, src);
  if (!e)
    e = growing_run(&p, 0, atoi(argv[1]), x, y_0, y_1, B, bad, src, &done);
#endif
  if (e)
    printf("%s after %d steps\n", e, (int)done);
  else
    printf("fine after %d steps\n", (int)done);
  return 0;
}
