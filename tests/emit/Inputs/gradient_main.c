/* gradient_main.c: the gradient of backward.stn by one function, as `stc run --gradient=by` prints it, whose files for
 * T and q this writes the values of to files of their own. The third argument: steps from one snapshot to the next. */
#include "backward.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef KEEP
/* What is kept is in the GPU's memory. */
int cuInit(unsigned flags);
int cuDeviceGet(int *device, int index);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(uint64_t *p, size_t size);
int cuMemFree_v2(uint64_t p);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size);
int cuPointerGetAttribute(void *value, int attribute, uint64_t p);
static int calls, failed;
static void *keep(size_t bytes) {
  uint64_t p = 0;
  calls++;
  return cuMemAlloc_v2(&p, bytes) ? NULL : (void *)(uintptr_t)p;
}
static int is_there(const void *p) {
  int type = 0;
  return cuPointerGetAttribute(&type, 2, (uint64_t)(uintptr_t)p) == 0 && type == 2;
}
static void copy(void *to, const void *from, size_t bytes) {
  void *between = malloc(bytes + 1);
  if (is_there(from))
    failed |= cuMemcpyDtoH_v2(between, (uint64_t)(uintptr_t)from, bytes);
  else
    memcpy(between, from, bytes);
  if (is_there(to))
    failed |= cuMemcpyHtoD_v2((uint64_t)(uintptr_t)to, between, bytes);
  else
    memcpy(to, between, bytes);
  free(between);
}
#define STC_KEEP(bytes) keep(bytes)
#define STC_KEEP_FREE(memory) (failed |= cuMemFree_v2((uint64_t)(uintptr_t)(memory)))
#define STC_KEEP_COPY(to, from, bytes) copy(to, from, bytes)
#endif
#include "backward.back.h"

enum { N = 101, STEPS = 400 };

/* Writes the numbers. */
static int write_to(const char *path, const double *x) {
  FILE *f = fopen(path, "wb");
  int bad = !f || fwrite(x, sizeof *x, N, f) != N;
  return !f || fclose(f) || bad;
}

int main(int argc, char **argv) {
  double T[N], q[N], by_T[N] = {0}, by_q[N] = {0}, value = 0, k = 0;
  backward_params p = backward_defaults();
  for (int i = 0; i < N; i++)
    T[i] = i < 10, q[i] = 0.01;
#ifdef KEEP
  void *context = NULL;
  int device = 0;
  failed =
      cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context);
#endif
  const char *wrong = backward_gradient(&p, STEPS, argc > 3 ? atoi(argv[3]) : 0, T, q, &value, by_T, by_q, &k);
  for (int i = 0; i < N && !wrong; i++)
    wrong = T[i] != (i < 10) || q[i] != 0.01 ? "a field has changed" : NULL;
#ifdef GPU
  backward_close();
  backward_back_close();
#endif
#ifdef KEEP
  failed |= cuDevicePrimaryCtxRelease_v2(device);
  wrong = failed || !calls ? "the GPU's memory" : wrong;
#endif
  if (wrong || argc < 3)
    return puts(wrong ? wrong : "no files are named"), 1;
  printf("gradient: value %.17g\ngradient: T in by/T.npy\ngradient: q in by/q.npy\ngradient: k %.17g\n", value, k);
  return write_to(argv[1], by_T) | write_to(argv[2], by_q);
}
