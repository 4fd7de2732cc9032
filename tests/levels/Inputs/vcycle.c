/* vcycle.c LIKE X: runs vcycle.stn by its header, to an .npy file whose head is that of LIKE. */
#include "v.h"

#include <stdio.h>

enum { HEAD = 128, POINTS = 16 * 24 };

int main(int n, char **words) {
  static double x[3][POINTS], b[3][POINTS], r[3][POINTS];
  char head[HEAD];
  vcycle_params params = vcycle_defaults();
  FILE *in = n > 2 ? fopen(words[1], "rb") : NULL, *out = n > 2 ? fopen(words[2], "wb") : NULL;
  if (!in || !out || fread(head, 1, HEAD, in) != HEAD)
    return 1;
  const char *e = vcycle_init(&params, x[0], b[0], r[0], x[1], b[1], r[1], x[2], b[2], r[2]);
  e = e ? e : vcycle_run(&params, 0, 2, x[0], b[0], r[0], x[1], b[1], r[1], x[2], b[2], r[2], NULL);
  printf("%s\n", e ? e : "ok");
  return e || fwrite(head, 1, HEAD, out) != HEAD || fwrite(x[0], sizeof **x, POINTS, out) != POINTS || fclose(out);
}
