/* given-steps.c: chooses the family of tiles for a given number of time steps if the rest of the schedule is open: it
 * makes each family's own choice for that number of steps, and takes the one that is expected to be fastest. */
#include "passes/launch/slices.h"
#include "passes/plan/cost/estimate.h"
#include "passes/plan/plan.h"

#include <math.h>

double plan_tile_seconds(PassContext *c, const Module *m, const Schedule *s, const int64_t *size) {
  const Module *tiled = plan_tiled_copy(m, s->T);
  ScheduleTime time;
  double own = schedule_own_ps(c->target, tiled, s, size), points = slices_of_size(m->grid.rank, size);
  for (int d = 0; d < m->grid.rank; d++)
    points *= (double)size[d];
  if (own > 0)
    return own * 1e-12 * points;
  return schedule_time_with_edges(c, tiled, s, size, &time) ? time.seconds : INFINITY;
}

/* The expected seconds a step of the plan that family `id` makes of c->schedule for module `m`; infinite: there is
 * none, or its time is not known. Numbers of warps that are no power of two, which an odd T has, were not measured, and
 * are only made where they are asked for. Messages are dropped: the plan that is taken reports its own. */
static double family_seconds(PassContext *c, const Module *m, FamilyId id) {
  Schedule want = *c->schedule, s;
  PassContext with = *c;
  const int64_t *size = want.size[0] ? want.size : model_large_grid(m->grid.rank);
  const Reduction *by;
  int64_t most = most_levels(m, &by), T = want.T < most ? want.T : most;
  Module *trial = module_trial(m);
  want.family = id;
  with.schedule = &want;
  with.diags = diags_quiet(c->arena);
  bool measured = T % 2 == 0 || want.block[0];
  if ((id == FAMILY_WARPS && !(measured && schedule_suits_warps(c, m, size))) || !plan_make(&with, trial, &s) ||
      s.T != T)
    return INFINITY;
  Module *cut = module_trial(m);
  return plan_cut_apply(&with, cut, &s) ? plan_tile_seconds(&with, cut, &s, size) : INFINITY;
}

FamilyId plan_family_for_steps(PassContext *c, const Module *m) {
  FamilyId best = FAMILY_OVERLAP;
  double least = family_seconds(c, m, best);
  for (int id = FAMILY_AUTO + 1; id < FAMILIES; id++) {
    if (!family_row((FamilyId)id)->streamed)
      continue;
    double seconds = family_seconds(c, m, (FamilyId)id);
    best = seconds < least ? (FamilyId)id : best;
    least = fmin(seconds, least);
  }
  return best;
}
