/* complete.c: what is left open of a tile, where the usual choice does not fit: all that is possible is looked at. */
#include "passes/plan/plan.h"

#include <math.h>

/* Sets the knobs of *s to number `i` of what they may be together. False: there are fewer. */
static bool set_knobs(int n, const Knob *k, int64_t i) {
  for (int j = 0; j < n; j++) {
    int32_t values = 0;
    while (k[j].values[values])
      values++;
    *k[j].at = k[j].values[i % values];
    i /= values;
  }
  return i == 0;
}

bool plan_complete(Schedule *s, int n, const Knob *k, double (*cost)(const void *user, const Schedule *s),
                   const void *user) {
  Schedule best = *s;
  double least = INFINITY;
  for (int64_t i = 0; set_knobs(n, k, i); i++) {
    double mine = cost(user, s);
    if (mine < least) {
      least = mine;
      best = *s;
    }
  }
  *s = best;
  return isfinite(least);
}
