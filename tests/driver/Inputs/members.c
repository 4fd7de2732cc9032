/* members.stn by its header: prints what its probes see, "PROBE STEP VALUE...", for same_series.py. */
#include <stdio.h>

#include "members.h"

static const float k[] = {0.5f, 0.25f, 1.5f};
static const int32_t sy[] = {3, 2, 7}, sx[] = {4, 8, 0}, ry[] = {5, 6}, rx[] = {1, 8};

int main(void) {
  enum { MEMBERS = 3, POINTS = 12 * 9, STEPS = 8 };
  static float u[MEMBERS * POINTS], c[POINTS], seen[128 * MEMBERS], mine[128 * MEMBERS];
  static int32_t index1[MEMBERS * POINTS], index2[POINTS], index3[MEMBERS], index4[MEMBERS * 12];
  members_params p = members_defaults();
  double total[MEMBERS];
  const char *e = members_fill_points_1(&p, index1, sy, sx);
  e = e ? e : members_fill_points_2(&p, index2, ry, rx);
  e = e ? e : members_fill_points_3(&p, index3);
  e = e ? e : members_fill_points_4(&p, index4, sy);
  e = e ? e : members_init(&p, u, c, index1, index2, index3, index4, k, sy, sx, ry, rx, seen, mine);
  p.total_each = total;
  for (int step = 0; step <= STEPS; step += 4) {
    e = e ? e
          : members_run(&p, step ? step - 4 : 0, step ? 4 : 0, u, c, index1, index2, index3, index4, k, sy, sx, ry, rx,
                        seen, mine, NULL);
    printf("total %d %.9g %.9g %.9g\n", step, total[0], total[1], total[2]);
  }
  if (e)
    return puts(e), 1;
  for (int step = 0; step <= STEPS; step++) {
    printf("seen %d %.9g %.9g %.9g\n", step, seen[step * 3], seen[step * 3 + 1], seen[step * 3 + 2]);
    if (step % 4 == 0)
      printf("mine %d %.9g %.9g %.9g\n", step, mine[step / 4 * 3], mine[step / 4 * 3 + 1], mine[step / 4 * 3 + 2]);
  }
  return 0;
}
