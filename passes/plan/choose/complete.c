/* complete.c: fills the open parts of a tile if the usual choice does not fit: it examines all possible values. */
#include "passes/plan/plan.h"

#include <math.h>

int32_t plan_doubled(int32_t value) { return 2 * value; }

int32_t plan_next_value(int32_t value) {
  bool power = (value & (value - 1)) == 0;
  return value < 2 ? value + 1 : power ? value + value / 2 : value + value / 3;
}

/* The search: the schedule whose knobs are set, its cost, and the best schedule found. */
typedef struct Search {
  Schedule *s, best;
  double (*cost)(const void *user, const Schedule *s);
  const void *user;
  double least;
} Search;

/* Tries all values of the first `n` knobs at `k`; the others are set. The present value of a knob comes first. */
static void look_at(Search *x, int n, const Knob *k) {
  if (n == 0) {
    double mine = x->cost(x->user, x->s);
    x->best = mine < x->least ? *x->s : x->best;
    x->least = fmin(mine, x->least);
    return;
  }
  int32_t *at = k[n - 1].at, usual = *at;
  look_at(x, n - 1, k);
  for (*at = k[n - 1].least; *at <= k[n - 1].most; *at = k[n - 1].next(*at))
    if (*at != usual)
      look_at(x, n - 1, k);
  *at = usual;
}

bool plan_complete(Schedule *s, int n, const Knob *k, double (*cost)(const void *user, const Schedule *s),
                   const void *user) {
  Search x = {s, *s, cost, user, INFINITY};
  look_at(&x, n, k);
  *s = x.best;
  return isfinite(x.least);
}
