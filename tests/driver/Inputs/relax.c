/* Runs relax.sir through the header that stc wrote, in two runs: ./relax U.npy src.npy U.raw U1.raw; prints what it
 * came to. */
#include <stdio.h>

#include "relax.h"

/* The elements of the .npy file, `n` floats. */
static float *read_file(const char *path, int64_t n) {
  float *a = (float *)malloc(sizeof(float) * (size_t)n + 4);
  FILE *f = fopen(path, "rb");
  if (!a || !f || fseek(f, 128, SEEK_SET) || fread(a, sizeof(float), (size_t)n, f) != (size_t)n)
    exit(3);
  fclose(f);
  return a;
}

int main(int argc, char **argv) {
  if (argc != 5)
    return 2;
  relax_params p = relax_defaults();
  const char *e = relax_bind(&p);
  if (e)
    return puts(e), 1;
  int64_t n = relax_size_U(&p), first, second = 0;
  float *U = read_file(argv[1], n), *U_1 = (float *)malloc(sizeof(float) * (size_t)relax_size_U_1(&p)),
        *src = read_file(argv[2], relax_length_src(&p));
  e = relax_init(&p, U, U_1, src);
  if (!e)
    e = relax_run(&p, 0, 101, U, U_1, src, &first);
  if (!e)
    e = relax_run(&p, 101, 899, U, U_1, src, &second);
  if (e)
    return puts(e), 1;
  printf("total %.17g change %.17g count %lld steps %lld\n", p.total, p.change, (long long)p.count,
         (long long)(first + second));
  for (int i = 0; i < 2; i++) {
    FILE *f = fopen(argv[3 + i], "wb");
    if (!f || fwrite(i ? U_1 : U, sizeof(float), (size_t)n, f) != (size_t)n)
      return 4;
    fclose(f);
  }
  U[3] = NAN;
  e = relax_run(&p, first + second, 100, U, U_1, src, NULL);
  puts(e ? e : "no error");
  free(U);
  free(U_1);
  free(src);
  return 0;
}
