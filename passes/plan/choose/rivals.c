/* rivals.c: compares the families of tiles by the expected time of their kernels, after one was chosen by counting the
 * work of tiles before lowering. That count suits steps of few short stencils, to which it was fitted. For steps of
 * several stencils, or with functions, the finished kernels show costs that the count misses: code that exceeds the
 * caches near a scheduler, missing registers, the cost of tiles at edges.
 *
 * Measured: docs/lab/model.md. */
#include "passes/plan/plan.h"
#include "passes/plan/choose/resolve.h"

#include <math.h>
#include <string.h>

/* Sets *s to the plan of family `id` for module `m`, whose step is neither cut nor repeated, where everything else is
 * open, and returns its expected seconds a step; infinite: there is none. *lacks: its threads lack registers. Messages
 * are dropped. */
static double rival_seconds(const PassContext *c, const Module *m, FamilyId id, Schedule *s, bool *lacks) {
  Schedule want = *c->schedule;
  PassContext with = *c;
  ScheduleTime time;
  Module *cut = module_trial(m);
  want.family = id;
  with.schedule = &want;
  with.diags = diags_quiet(c->arena);
  if (!plan_make(&with, m, s) || (!family_is_plain(s->family) && !plan_cut_apply(&with, cut, s)))
    return INFINITY;
  bool ok = schedule_time_parted(&with, plan_tiled_copy(cut, s->T), s, want.size, &time);
  *lacks = ok && time.spilled > 0;
  return ok ? time.seconds : INFINITY;
}

/* Does the count say too little of plan `s` of `cut`? It does if its loop is longer than near caches hold, if many
 * registers lack once it is lowered, or if it makes several stencils of a single step, which a launch each would make
 * as well. `time`: the cost of its kernels. */
static bool counts_too_little(const Module *cut, const Schedule *s, const ScheduleTime *time) {
  int32_t n;
  last_level(cut, &n);
  return schedule_lacks_many(time) || time->fetched > 0 || (s->T == 1 && n > 1);
}

/* Does family `id` fit the request `want`, which leaves the family open? A launch a stencil makes one step, and is no
 * cut. */
static bool may_be(const Schedule *want, FamilyId id) {
  bool uncut = !want->fuse || strcmp(want->fuse, "none") == 0;
  return !family_is_plain(id) || (want->T <= 1 && uncut && !want->edges && !want->repeats);
}

double prefer_rival(PassContext *c, const Module *m, const Module *cut, Schedule *s) {
  static const FamilyId rivals[] = {FAMILY_OVERLAP, FAMILY_NAIVE};
  Schedule best = *s, other;
  ScheduleTime time;
  if (!schedule_time_parted(c, plan_tiled_copy(cut, s->T), s, c->schedule->size, &time) ||
      !counts_too_little(cut, s, &time))
    return 0;
  double least = INFINITY;
  for (size_t i = 0; i < sizeof rivals / sizeof *rivals; i++) {
    bool lacks = false;
    double seconds = may_be(c->schedule, rivals[i]) ? rival_seconds(c, m, rivals[i], &other, &lacks) : INFINITY,
           limit = (schedule_lacks_many(&time) && !lacks ? 1 / tuning.surely : tuning.clearly) * time.seconds;
    best = seconds < fmin(limit, least) ? other : best;
    least = seconds < limit ? fmin(seconds, least) : least;
  }
  if (best.family == s->family)
    return time.seconds;
  const char *why = arena_printf(c->arena, "tiles are not streamed: family %s is expected to take %.2f of the time",
                                 family_name(best.family), least / time.seconds);
  diag_remark(c->diags, no_loc(), "%s", why);
  *s = best;
  if (c->cache) {
    c->cache->rival = best;
    c->cache->why_rival = why;
  }
  return least;
}
