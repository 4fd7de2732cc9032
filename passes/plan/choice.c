/* choice.c: which of the candidates for a grid of known size is taken. */
#include "passes/plan/plan.h"

#include <string.h>

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
  return best && usual && best->seconds >= tuning.better_than_usual * usual->seconds ? usual : best;
}

/* Takes family, time steps and tile of `tile` into *s, which keeps what else it says. */
static void take_tile(Schedule *s, const Schedule *tile) {
  s->family = tile->family;
  s->T = tile->T;
  s->chunk = tile->chunk;
  s->ahead = tile->ahead;
  memcpy(s->block, tile->block, sizeof s->block);
  memcpy(s->elems, tile->elems, sizeof s->elems);
}

void plan_look_at(const PlanQuery *q, PlanCandidate *k) {
  ScheduleTime t;
  const Module *tiled = k->s.T > 1 || family_row(k->s.family)->tiled ? plan_tiled_copy(q->m, k->s.T) : q->m;
  Schedule s = k->s;
  if (family_row(s.family)->walked)
    s.barriers = BARRIERS_NEIGHBOURS;
  s.edges = EDGES_ALONG;
  s.ngroups = 1;
  s.groups = &k->s;
  if (!schedule_time(q->c, tiled, &s, q->want.size, &t)) {
    k->dropped = t.why;
    return;
  }
  k->seconds = plan_untold(q, k) * t.seconds;
  k->time.bound = t.bound;
  k->spilled = t.spilled;
}

/* The families of a choice. */
typedef enum Among { AMONG_ALL, AMONG_WALKED, AMONG_OVERLAPPED } Among;

/* The best of those families that is not the usual one. */
static PlanCandidate *best_other(const PlanCandidates *all, Among among) {
  PlanCandidate *best = NULL;
  for (int i = 0; i < all->n; i++) {
    PlanCandidate *k = &all->all[i];
    bool walked = family_row(k->s.family)->walked;
    if (!k->usual && !k->dropped && (among == AMONG_ALL || walked == (among == AMONG_WALKED)) &&
        (!best || k->seconds < best->seconds))
      best = k;
  }
  return best;
}

/* The better of the best walk and the best overlapped tile, both lowered and looked at; NULL if there are not both. */
static PlanCandidate *better_family(const PlanQuery *q, const PlanCandidates *all) {
  PlanCandidate *walk = best_other(all, AMONG_WALKED), *over = best_other(all, AMONG_OVERLAPPED);
  if (!walk || !over)
    return NULL;
  plan_look_at(q, walk);
  plan_look_at(q, over);
  if (walk->dropped || over->dropped)
    return walk->dropped ? over : walk;
  return walk->seconds < over->seconds ? walk : over;
}

/* Is it measured how what is counted compares walks with overlapped tiles? It is on hardware with asynchronous copies.
 */
static bool compares_families(const PlanQuery *q) { return q->t->async_copy || q->tiled; }

/* Is the grid not so small that what is counted tells enough? Then the usual tile and the best other one are lowered
 * and looked at: so it is seen what registers they want. */
static bool is_looked_at(const PlanQuery *q) { return q->points > tuning.parted_points && !q->tiled; }

/* The better of the usual tile and `other`, the best of the others. */
static const PlanCandidate *best_looked_at(const PlanQuery *q, const PlanCandidates *all, PlanCandidate *other) {
  PlanCandidate *usual = all->n && all->all[0].usual ? &all->all[0] : NULL;
  if (!usual || !other)
    return other ? other : plan_best(all);
  plan_look_at(q, usual);
  plan_look_at(q, other);
  if (other->dropped || (!usual->dropped && other->spilled > usual->spilled))
    return usual->dropped ? NULL : usual;
  return usual->dropped || other->seconds < tuning.better_than_usual * usual->seconds ? other : usual;
}

/* The best of all candidates. */
static const PlanCandidate *best_of(const PlanQuery *q, const PlanCandidates *all) {
  PlanCandidate *other = compares_families(q) ? NULL : better_family(q, all);
  if (other || is_looked_at(q))
    return best_looked_at(q, all, other ? other : best_other(all, AMONG_ALL));
  return plan_best(all);
}

/* Was it measured that the model knows better than what proposes `k`? It was for hardware with asynchronous copies, on
 * grids that are not large; of steps that compute roots, quotients or functions, whose tests are counted less well, on
 * small ones. */
static bool is_judged(const PlanQuery *q, const PlanCandidate *k) {
  double most = k->of->functions > 0 ? tuning.parted_points : tuning.large_grid[q->rank - 1];
  return q->t->async_copy && q->points < most;
}

/* `proposed`, or in its place the candidate that the model expects to be clearly faster. */
static const PlanCandidate *best_judged(const PlanQuery *q, PlanCandidates *all, const PlanCandidate *proposed) {
  const PlanCandidate *best = NULL;
  if (!proposed || !is_judged(q, proposed))
    return proposed;
  for (int i = 0; i < all->n; i++) {
    PlanCandidate *k = &all->all[i];
    plan_judge(q, k);
    if (!k->unfit && (!best || k->judged < best->judged))
      best = k;
  }
  return best && best->judged < tuning.better_than_proposed * proposed->judged ? best : proposed;
}

/* The fastest candidate, the usual one as good as others. */
static const PlanCandidate *fastest(const PlanCandidates *all) {
  const PlanCandidate *best = NULL;
  for (int i = 0; i < all->n; i++)
    if (!all->all[i].dropped && (!best || all->all[i].seconds < best->seconds))
      best = &all->all[i];
  return best;
}

/* The best tile for question `q`, as schedule_suit wants it. */
static bool choose(const PlanQuery *q, Schedule *out) {
  PlanCandidates all;
  plan_candidates(q, &all);
  for (int i = 0; i < all.n; i++)
    plan_cost(q, &all.all[i]);
  const PlanCandidate *best =
      plan_counts(q) && compares_families(q) ? fastest(&all) : best_judged(q, &all, best_of(q, &all));
  if (!best || best->usual)
    return false;
  take_tile(out, &best->s);
  return true;
}

/* A question that was answered: about the step at `st`, so often repeated; found: a tile was. */
struct PlanAnswer {
  const Stencil *st;
  int tiled;
  int64_t most;
  Schedule want, tile;
  bool found;
};

/* Do both ask for the same? */
static bool same_question(const PlanAnswer *a, const PlanQuery *q) {
  return a->st == q->m->stencils && a->tiled == q->tiled && a->most == q->most && a->want.family == q->want.family &&
         memcmp(a->want.size, q->want.size, sizeof a->want.size) == 0;
}

bool schedule_suit(PassContext *c, const Module *m, int64_t most, Schedule *want) {
  PlanQuery q;
  if (!plan_query(c, m, want, most, &q) || (q.rank < MAX_RANK && schedule_size_is_large(want, q.rank)))
    return false;
  for (int i = 0; c->cache && i < c->cache->nanswers; i++)
    if (same_question(&c->cache->answers[i], &q)) {
      if (c->cache->answers[i].found)
        take_tile(want, &c->cache->answers[i].tile);
      return c->cache->answers[i].found;
    }
  PlanAnswer own = {.st = m->stencils, .tiled = q.tiled, .most = most, .want = q.want};
  own.found = choose(&q, &own.tile);
  if (c->cache)
    ARENA_PUSH(c->arena, c->cache->answers, c->cache->nanswers, own);
  if (own.found)
    take_tile(want, &own.tile);
  return own.found;
}

bool plan_is_naive(const Module *m, const Schedule *want, const Schedule *tile) {
  bool plain = m->nstencils == 1 && m->nrecords == 0;
  for (int f = 0; f < m->nfields; f++)
    plain = plain && m->fields[f].history == 0;
  return plain && want->family == FAMILY_AUTO && !want->fuse && tile->T == 1 && !family_row(tile->family)->walked;
}
