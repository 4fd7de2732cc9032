/* loops.c F P OUT: runs one step of a program whose rounds are a loop, from and to .npy files, and prints the values of
 * its reductions. */
#include HEADER

#include <stdio.h>

enum { HEAD = 128, POINTS = 40 };

static void file(const char *name, const char *mode, char *head, float *values) {
  FILE *f = fopen(name, mode);
  int reads = mode[0] == 'r';
  if (!f || (reads ? fread : (size_t (*)(void *, size_t, size_t, FILE *))fwrite)(head, 1, HEAD, f) != HEAD ||
      (reads ? fread : (size_t (*)(void *, size_t, size_t, FILE *))fwrite)(values, sizeof *values, POINTS, f) != POINTS)
    exit(1);
  fclose(f);
}

int main(int n, char **words) {
  char head[HEAD];
  float f[POINTS], p[POINTS];
  looped_params params = looped_defaults();
  if (n != 4)
    return 1;
  file(words[1], "rb", head, f);
  file(words[2], "rb", head, p);
  const char *e = looped_run(&params, 0, 1, p, f, NULL);
  file(words[3], "wb", head, p);
  printf("%s total %.6f until %.6f\n", e ? e : "ok", params.total, params.until);
  return e != NULL;
}
