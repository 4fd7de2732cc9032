/* choice.c: which of the candidates for a grid of known size is taken. */
#include "passes/plan/plan.h"

#include <string.h>

/* How much better than the choice for large grids another one must be expected to be: its part of the time. */
static const double BETTER = 0.92;

const PlanCandidate *plan_best(const PlanCandidates *k) {
  const PlanCandidate *usual = NULL, *best = NULL;
  for (int i = 0; i < k->n; i++) {
    const PlanCandidate *x = &k->all[i];
    if (x->dropped)
      continue;
    usual = x->usual ? x : usual;
    if (!x->usual && (!best || x->seconds < best->seconds))
      best = x;
  }
  return best && usual && best->seconds >= BETTER * usual->seconds ? usual : best;
}

bool schedule_suit(PassContext *c, const Module *m, int64_t most, Schedule *want) {
  PlanQuery q;
  PlanCandidates all;
  if (!plan_query(c, m, want, most, &q) || schedule_size_is_large(want, q.rank))
    return false;
  plan_candidates(&q, &all);
  for (int i = 0; i < all.n; i++)
    plan_cost(&q, &all.all[i]);
  const PlanCandidate *best = plan_best(&all);
  if (!best || best->usual)
    return false;
  const char *fuse = want->fuse;
  *want = best->s;
  want->fuse = fuse;
  return true;
}

/* Is the step of `m` one stencil that sees fields as they are: no records, which pass scalarize took apart, and no
 * older levels? */
static bool is_plain(const Module *m) {
  bool plain = m->nstencils == 1 && m->nrecords == 0;
  for (int f = 0; f < m->nfields; f++)
    plain = plain && m->fields[f].history == 0;
  return plain;
}

bool schedule_prefers_naive(PassContext *c, const Module *m) {
  const Reduction *by;
  if (!c->schedule || c->schedule->family != FAMILY_AUTO || c->schedule->fuse || !is_plain(m))
    return false;
  Schedule want = *c->schedule;
  return schedule_suit(c, m, most_levels(m, &by), &want) && want.T == 1 && want.family == FAMILY_OVERLAP;
}
