/* tests/bench/loops.c: the loops that a user would write in C, to be beaten by the host target (host_speed.py builds
 * and runs them).
 *
 *   loops 2|3 N STEPS     j2d5pt on N x N or j3d7pt on N x N x N points, type REAL; prints seconds of the time steps
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef REAL
#define REAL float
#endif

/* Seconds on a clock that only goes forward. */
static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One step of j2d5pt from a to b, both n x n. */
static void step2(long n, const REAL *restrict a, REAL *restrict b) {
#pragma omp parallel for
  for (long i = 1; i < n - 1; i++)
    for (long j = 1; j < n - 1; j++)
      b[i * n + j] =
          (REAL)0.2 * (a[(i - 1) * n + j] + a[i * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
}

/* One step of j3d7pt from a to b, both n x n x n. */
static void step3(long n, const REAL *restrict a, REAL *restrict b) {
#pragma omp parallel for
  for (long i = 1; i < n - 1; i++)
    for (long j = 1; j < n - 1; j++)
      for (long k = 1; k < n - 1; k++) {
        long p = (i * n + j) * n + k;
        b[p] = (REAL)0.142 * (a[p - n * n] + a[p + n * n] + a[p - n] + a[p + n] + a[p - 1] + a[p + 1] + a[p]);
      }
}

int main(int argc, char **argv) {
  int rank = argc > 1 ? atoi(argv[1]) : 2;
  long n = argc > 2 ? atol(argv[2]) : 4096, steps = argc > 3 ? atol(argv[3]) : 10,
       points = rank == 2 ? n * n : n * n * n;
  REAL *a = malloc(sizeof(REAL) * (size_t)points), *b = malloc(sizeof(REAL) * (size_t)points);
  if (!a || !b)
    return 1;
#pragma omp parallel for
  for (long i = 0; i < points; i++)
    a[i] = b[i] = (REAL)(i * 37 % 1009) * (REAL)0.001;
  double start = 0;
  for (long t = -1; t < steps; t++) {
    if (t == 0)
      start = now();
    if (rank == 2)
      step2(n, a, b);
    else
      step3(n, a, b);
    REAL *c = a;
    a = b;
    b = c;
  }
  double seconds = now() - start;
  printf("%.9f %.9g\n", seconds, (double)a[points / 2]);
  free(a);
  free(b);
  return 0;
}
