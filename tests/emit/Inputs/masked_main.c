/* masked_main.c: runs masked.stn by its launcher, or with HOST by the header of a host artifact, on arrays of the
 * host's, or (any argument) on memory of the device in a stream, and writes A's values as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HOST
#include "masked_host.h"
static char standin_stream;
#define masked_stream(s) ((void)(s), (const char *)NULL)
#define masked_close()
#define cuMemAlloc_v2(p, n) ((void)(p), (void)(n), 1)
#define cuMemcpyDtoH_v2(to, from, n) ((void)(to), (void)(from), (void)(n), 1)
#define cuStreamSynchronize(s) ((void)(s), 1)
#else
#include "masked.h"
extern char standin_stream;
int cuMemAlloc_v2(uint64_t *p, size_t size);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size);
int cuStreamSynchronize(void *stream);
#endif

/* Memory of the device's, or of the host's. */
static void *room(size_t size, int device) {
  uint64_t p = 0;
  return !device ? calloc(size, 1) : cuMemAlloc_v2(&p, size) == 0 ? (void *)(uintptr_t)p : NULL;
}

int main(int argc, char **argv) {
  masked_params p = masked_defaults();
  size_t n = (size_t)masked_size_A(&p);
  const char *e = NULL;
  int device = argc > 1;
  float *out = malloc(n * sizeof *out), *a;
  bool *wet, *where;
  FILE *f = fopen("a.raw", "wb");
  (void)argv;
  if (device)
    e = masked_stream(&standin_stream);
  e = e ? e : masked_bind(&p); /* nothing runs: the device is opened by the first init */
  a = room(n * sizeof *a, 0), wet = room(n, 0), where = room(n, 0);
  void *given[] = {out, a, wet, where};
  e = e ? e : masked_init(&p, wet, a, where);
  if (!e && device) {
    a = room(n * sizeof *a, 1), wet = room(n, 1), where = room(n, 1);
    e = masked_init(&p, wet, a, where);
  }
  e = e ? e : masked_run(&p, 0, 5, wet, a, where);
  if (e || !f || !out)
    return printf("%s\n", e ? e : "no file"), 1;
  if (device && (cuStreamSynchronize(&standin_stream) || cuMemcpyDtoH_v2(out, (uint64_t)(uintptr_t)a, n * sizeof *a)))
    return printf("no values\n"), 1;
  fwrite(device ? out : a, sizeof *a, n, f);
  fclose(f);
  masked_close();
  for (size_t i = 0; i < sizeof given / sizeof *given; i++)
    free(given[i]);
  return 0;
}
