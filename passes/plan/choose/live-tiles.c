/* live-tiles.c: chooses tiles for known masks (known-masks.c). Tiles without a wet point do not run, and tiles with a
 * dry point have code that reads the mask at each point, so the number of tiles of each kind matters. Large tiles suit
 * a whole rectangle, but where land and sea are narrow, large tiles are seldom dry, and few remaining tiles leave cores
 * without work. So all candidates are counted again, each with the number of tiles that remain. */
#include "passes/plan/cost/estimate.h"
#include "passes/plan/plan.h"

#include <math.h>
#include <string.h>

/* The candidate in `all` with the tiles of plan `s`; NULL: there is none. */
static const PlanCandidate *find_tiles(const PlanCandidates *all, const Schedule *s) {
  for (int i = 0; i < all->n; i++) {
    const Schedule *x = &all->all[i].s;
    if (x->family == s->family && x->tiles == s->tiles && schedule_same(x, s, KNOBS_NUMBERS))
      return &all->all[i];
  }
  return NULL;
}

/* All candidates for question `q` with tiles of the kind of plan `s` and as many points a thread, each with its
 * expected cost: fewer points a thread make smaller tiles, and were measured to lose. */
static void cost_all(const PlanQuery *q, const Schedule *s, PlanCandidates *all) {
  plan_candidates(q, all);
  for (int i = 0; i < all->n; i++) {
    PlanCandidate *k = &all->all[i];
    plan_cost(q, k);
    if (k->s.family != s->family || k->s.tiles != s->tiles || memcmp(k->s.elems, s->elems, sizeof s->elems) != 0)
      k->dropped = "its threads have other points than those of the tiles for a mask that is true";
  }
}

/* Sets *s to the plan of `as` with the tiles of candidate `k`. */
static bool plan_of(PassContext *c, const Module *as, const PlanCandidate *k, Schedule *s) {
  Schedule want = *c->schedule;
  PassContext with = *c;
  ModelCache cache = {0};
  with.schedule = &want;
  with.cache = &cache;
  want.family = k->s.family;
  want.tiles = k->s.tiles;
  schedule_take(&want, &k->s, KNOBS_NUMBERS);
  return plan_make(&with, as, s);
}

void prefer_live(PassContext *c, const Module *m, const Module *as, Schedule *s) {
  PlanQuery q;
  PlanCandidates all;
  const Reduction *by;
  PassContext with = *c;
  Schedule tiles, full;
  with.diags = diags_quiet(c->arena);
  if (!c->known || as == m || s->ngroups > 1 || s->edges == EDGES_STEPS ||
      !plan_query(&with, as, c->schedule, most_levels(as, &by), &q) || c->schedule->family != FAMILY_AUTO)
    return;
  q.wet = wet_map(c, m, q.want.size);
  if (!q.wet || wet_share(q.wet) >= tuning.better)
    return;
  q.all = true;
  cost_all(&q, s, &all);
  const PlanCandidate *best = plan_best(&all), *own = find_tiles(&all, s);
  if (!best || best == own || (own && best->seconds >= tuning.better * own->seconds) ||
      !plan_of(&with, as, best, &tiles) || !plan_with_tests(&with, m, &tiles, &full))
    return;
  diag_remark(c->diags, no_loc(),
              "the tiles are those that suit the masks, which are known: %.0f %% of the points are wet",
              100 * wet_share(q.wet));
  *s = full;
}
