/* nested.c F P Q: runs nested.stn by its header, from and to .npy files. */
#include "nested.h"

#include <stdio.h>

enum { HEAD = 128, POINTS = 13 * 9 };

int main(int n, char **words) {
  char head[HEAD];
  static double f[POINTS], p[POINTS], p1[POINTS], p2[POINTS], q[POINTS];
  static double a, see[128];
  int64_t b = 0;
  nested_params params = nested_defaults();
  FILE *in = fopen(words[n > 3 ? 1 : 0], "rb");
  if (!in || fread(head, 1, HEAD, in) != HEAD || fread(f, sizeof *f, POINTS, in) != POINTS)
    return 1;
  const char *e = nested_init(&params, f, p, p1, p2, q, &a, &b, see);
  e = e ? e : nested_run(&params, 0, 3, f, p, p1, p2, q, &a, &b, see, NULL);
  for (int i = 0; i < 2 && !e; i++) {
    FILE *out = fopen(words[2 + i], "wb");
    if (!out || fwrite(head, 1, HEAD, out) != HEAD || fwrite(i ? q : p, sizeof *p, POINTS, out) != POINTS ||
        fclose(out))
      return 1;
  }
  printf("%s\n", e ? e : "ok");
  return e != NULL;
}
