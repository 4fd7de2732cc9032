/* points.stn by its header: prints what its probes see, "PROBE STEP VALUE...", for same_series.py. */
#include <stdio.h>

#include "points.h"

static const int32_t sx[] = {5, 23, 5};
static const int64_t sy[] = {6, 19, 6};
static const int16_t rx[] = {0, 18, 8, 8, 3};

int main(void) {
  enum { POINTS = 24 * 20, STEPS = 11 };
  static float A[POINTS], A1[POINTS], B0[POINTS], B1[POINTS], w[200], p_rows[128], q_rows[128 * 5];
  static int32_t index1[POINTS], index2[19], next[3];
  static int64_t n_rows[128];
  points_params p = points_defaults();
  const char *e = points_bind(&p);
  for (int i = 0; i < 200; i++)
    w[i] = (float)(i + 1);
  if (!e)
    e = points_fill_points_1(&p, index1, next, sx, sy);
  if (!e)
    e = points_fill_points_2(&p, index2, rx);
  if (!e)
    e = points_init(&p, A, A1, B0, B1, index1, index2, sx, sy, w, rx, next, p_rows, q_rows, n_rows);
  for (int step = 0; !e && step < STEPS; step += 4)
    e = points_run(&p, step, STEPS - step < 4 ? STEPS - step : 4, A, A1, B0, B1, index1, index2, sx, sy, w, rx, next,
                   p_rows, q_rows, n_rows);
  if (e)
    return puts(e), 1;
  for (int step = 0; step <= STEPS; step++) {
    if (step % 2 == 0)
      printf("p %d %.9g\n", step, p_rows[step / 2]);
    printf("q %d", step);
    for (int i = 0; i < 5; i++)
      printf(" %.9g", q_rows[step * 5 + index2[rx[i]] - 1]);
    printf("\n");
    if (step % 7 == 0)
      printf("n %d %lld\n", step, (long long)n_rows[step / 7]);
  }
  e = points_run(&p, 0, 1000, A, A1, B0, B1, index1, index2, sx, sy, w, rx, next, p_rows, q_rows, n_rows);
  return !e || !strstr(e, "twice");
}
