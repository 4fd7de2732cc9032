/* Runs wave.stn through the header that stc wrote: ./wave K.npy P.raw V.raw */
#include <stdio.h>

#include "wave.h"

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  wave_params p = wave_defaults();
  const char *e = wave_bind(&p);
  if (e)
    return puts(e), 1;
  double *K = (double *)malloc(sizeof(double) * (size_t)wave_size_K(&p)),
         *P = (double *)malloc(sizeof(double) * (size_t)wave_size_P(&p)),
         *V = (double *)malloc(sizeof(double) * (size_t)wave_size_V(&p));
  FILE *f = fopen(argv[1], "rb");
  if (!f || fseek(f, 128, SEEK_SET) || fread(K, sizeof(double), (size_t)wave_size_K(&p), f) != (size_t)wave_size_K(&p))
    return 3;
  fclose(f);
  e = wave_init(&p, P, V, K);
  if (!e)
    e = wave_run(&p, 0, 4, P, V, K);
  if (!e)
    e = wave_run(&p, 4, 7, P, V, K);
  if (e)
    return puts(e), 1;
  for (int i = 0; i < 2; i++) {
    f = fopen(argv[2 + i], "wb");
    if (!f || fwrite(i ? V : P, sizeof(double), (size_t)wave_size_P(&p), f) != (size_t)wave_size_P(&p))
      return 4;
    fclose(f);
  }
  free(K);
  free(P);
  free(V);
  return 0;
}
