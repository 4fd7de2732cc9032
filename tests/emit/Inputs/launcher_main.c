/* launcher_main.c: calls the launcher of foreign.stn as its header has it: on arrays of its own (host), on memory of
 * the device in a stream (device), from two threads (threads), on a device that there is not (far), or for steps that
 * there are not (none). */
#include "foreign.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char standin_stream;
#ifdef HIP
int hipMalloc(void **p, size_t size);
int hipFree(void *p);
int hipGetDeviceCount(int *n);
int hipSetDevice(int i);
static void *allocate(size_t size) {
  void *p = NULL;
  int n;
  return hipGetDeviceCount(&n) == 0 && hipSetDevice(0) == 0 && hipMalloc(&p, size) == 0 ? p : NULL;
}
static void release(void *p) { hipFree(p); }
#else
int cuMemAlloc_v2(uint64_t *p, size_t size);
int cuMemFree_v2(uint64_t p);
static void *allocate(size_t size) {
  uint64_t p = 0;
  return cuMemAlloc_v2(&p, size) == 0 ? (void *)(uintptr_t)p : NULL;
}
static void release(void *p) { cuMemFree_v2((uint64_t)(uintptr_t)p); }
#endif

/* Prints what is wrong, if anything is. */
static int say(const char *what, const char *e) {
  if (e)
    printf("%s: %s\n", what, e);
  return e != NULL;
}

/* init, and 20 steps in two parts, on these arrays; field memory that is not the device's must be zeros then, for that
 * is what the stand-in computes. */
static int steps(double *u, double *past, double *src, int host) {
  foreign_params p = foreign_defaults();
  int64_t done = 0, more = 0, n;
  p.N = 30;
  n = foreign_size_U(&p);
  if (say("init", foreign_init(&p, u, past, src)) || say("run", foreign_run(&p, 0, 12, u, past, src, &done)) ||
      say("run", foreign_run(&p, 12, 8, u, past, src, &more)))
    return 1;
  for (int64_t i = 0; host && i < n; i++)
    if (u[i] != 0 || past[i] != 0)
      return printf("element %d is not what came from the device\n", (int)i);
  printf("%d and %d steps, total %g\n", (int)done, (int)more, p.total);
  return 0;
}

/* Prints what is wrong with steps that there are not. */
static void no_steps(double *u, double *past, double *src) {
  foreign_params p = foreign_defaults();
  int64_t done = 0;
  p.N = 30;
  say("before the first", foreign_run(&p, -1, 1, u, past, src, &done));
  say("fewer than none", foreign_run(&p, 0, -1, u, past, src, &done));
  say("behind the last", foreign_run(&p, INT64_MAX, 1, u, past, src, &done));
}

/* All of that on arrays of its own. */
static void *on_host(void *result) {
  double *u = malloc(sizeof *u * 900), *past = malloc(sizeof *past * 900), src[6] = {1, 2, 3, 4, 5, 6};
  for (int i = 0; i < 900; i++)
    u[i] = past[i] = 7;
  *(int *)result = steps(u, past, src, 1);
  foreign_close();
  free(u);
  free(past);
  return NULL;
}

/* And on the device's memory. */
static int on_device(void) {
  double *u = allocate(7200), *past = allocate(7200), *src = allocate(48);
  int failed = say("stream", foreign_stream(&standin_stream)) || steps(u, past, src, 0);
  foreign_close();
  release(u);
  release(past);
  release(src);
  return failed;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "host";
  int failed[2] = {0, 0};
  if (strcmp(what, "device") == 0)
    return on_device();
  if (strcmp(what, "threads") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, on_host, &failed[1]);
    on_host(&failed[0]);
    pthread_join(thread, NULL);
    return failed[0] || failed[1];
  }
  if (strcmp(what, "none") == 0) {
    double u[900] = {0}, past[900] = {0}, src[6] = {0};
    no_steps(u, past, src);
    return 0;
  }
  if (strcmp(what, "far") == 0)
    say("device", foreign_device(3));
  on_host(&failed[0]);
  return failed[0] != 0;
}
