/* kinds.stn by its header: reads what w has from a file, makes the steps, and writes the fields to files. */
#include "kinds.h"

#include <stdio.h>
#include <stdlib.h>

static int write_all(const char *path, const void *data, size_t size) {
  FILE *f = fopen(path, "wb");
  return !f || fwrite(data, 1, size, f) != size || fclose(f) != 0;
}

int main(void) {
  double w[12], *q, *re, *im;
  uint32_t *u;
  int64_t done;
  kinds_params p = kinds_defaults();
  const int64_t n = kinds_size_U(&p);
  FILE *in = fopen("w.raw", "rb");
  if (!in || fread(w, sizeof *w, 12, in) != 12 || fclose(in) != 0 || kinds_length_w(&p) != 12)
    return 1;
  u = malloc(sizeof *u * (size_t)n);
  q = malloc(sizeof *q * (size_t)n);
  re = malloc(sizeof *re * (size_t)n);
  im = malloc(sizeof *im * (size_t)n);
  const char *wrong = kinds_init(&p, u, q, re, im, w);
  if (!wrong)
    wrong = kinds_run(&p, 0, 9, u, q, re, im, w, &done);
  printf("start %u, ones %lld, %s\n", (unsigned)p.start, (long long)p.ones, wrong ? wrong : "all is well");
  const int failed = wrong || write_all("U.raw", u, sizeof *u * (size_t)n) ||
                     write_all("q.raw", q, sizeof *q * (size_t)n) || write_all("re.raw", re, sizeof *re * (size_t)n) ||
                     write_all("im.raw", im, sizeof *im * (size_t)n);
  free(u);
  free(q);
  free(re);
  free(im);
  return failed;
}
