/* loops.c F P OUT [W]: runs one step of a program whose rounds are a loop, from and to .npy files, and prints the value
 * of its reduction. W, where WEIGHTS says how many, are the elements of its launch-time array. */
#include HEADER

#include <stdio.h>

enum { HEAD = 128, POINTS = 40 };

static void get(const char *name, char *head, float *values, size_t n) {
  FILE *f = fopen(name, "rb");
  if (!f || fread(head, 1, HEAD, f) != HEAD || fread(values, sizeof *values, n, f) != n)
    exit(1);
  fclose(f);
}

int main(int n, char **words) {
  char head[HEAD];
  float f[POINTS], p[POINTS];
  looped_params params = looped_defaults();
  get(words[1], head, f, POINTS);
  get(words[2], head, p, POINTS);
#ifdef WEIGHTS
  float w[WEIGHTS];
  char other[HEAD];
  get(words[4], other, w, WEIGHTS);
  const char *e = looped_run(&params, 0, 1, p, f, w, NULL);
#else
  const char *e = looped_run(&params, 0, 1, p, f, NULL);
#endif
  FILE *out = n > 3 ? fopen(words[3], "wb") : NULL;
  if (!out || fwrite(head, 1, HEAD, out) != HEAD || fwrite(p, sizeof *p, POINTS, out) != POINTS || fclose(out))
    return 1;
  printf("%s total %.6f\n", e ? e : "ok", params.total);
  return e != NULL;
}
