/* choice.c: chooses one of the candidates for a grid of known size. */
#include "passes/plan/plan.h"

#include <math.h>
#include <string.h>

/* Copies family, time steps and tile of `tile` to *s, which keeps its other parts. */
static void take_tile(Schedule *s, const Schedule *tile) {
  s->family = tile->family;
  schedule_take(s, tile, KNOBS_NUMBERS);
  s->tiles = tile->tiles == TILES_LANES ? TILES_LANES : s->tiles;
}

/* Lowers candidate `k` and finds the expected cost of its kernels: k->seconds, k->spilled, or why it is dropped;
 * `edges`: including tiles at edges. */
static void look_at(const PlanQuery *q, PlanCandidate *k, bool edges) {
  ScheduleTime t;
  bool tile = !q->tiled && (k->s.T > 1 || family_row(k->s.family)->tiled);
  const Module *tiled = tile ? plan_tiled_copy(q->m, k->s.T) : q->m;
  Schedule s = k->s;
  if (family_row(s.family)->streamed)
    s.barriers = BARRIERS_NEIGHBOURS;
  s.edges = edges && schedule_parts_edges(&q->want, q->rank) ? EDGES_APART : EDGES_ALONG;
  s.ngroups = 1;
  s.groups = &k->s;
  bool ok = (edges ? schedule_time_parted : schedule_time)(q->c, tiled, &s, q->want.size, &t);
  k->ops = t.ops;
  if (!ok) {
    k->dropped = t.why;
    return;
  }
  k->seconds = t.seconds;
  k->time.bound = t.bound;
  k->spilled = t.spilled;
}

void plan_look_at(const PlanQuery *q, PlanCandidate *k) { look_at(q, k, false); }

/* The fastest of the candidates at `all` that are not dropped, as counted; dear ones count only if `dear`. NULL: none
 * is left. */
static const PlanCandidate *fastest(const PlanCandidates *all, bool dear) {
  const PlanCandidate *best = NULL;
  for (int i = 0; i < all->n; i++)
    if (!all->all[i].dropped && (dear || !all->all[i].dear) && (!best || all->all[i].seconds < best->seconds))
      best = &all->all[i];
  return best;
}

const PlanCandidate *plan_best(const PlanCandidates *all) { return fastest(all, false); }

/* Words of a thread of several steps that may be spilled: such words are written once, and read beside other work. */
enum { MANY_LACKING = 16 };

/* Does candidate `k` make one step by threads of several points, whose kernel, once it is lowered, wants more registers
 * than there are? Counting a point says too little where its body keeps many values live: a bilateral filter of 81
 * points spills 716 bytes a thread of two points in f32 and 2.9 KB in f64, and nothing of one; in f32 it then makes
 * 0.81 GPts/s for 0.52 (512^2, H200). The same is true for tiles of several steps whose counted registers are nearly
 * all: oil_spill f64 on 500^2 has 62 of 64 counted and wants 139. */
static bool spills_points(const PlanQuery *q, const PlanCandidate *k) {
  PlanCandidate looked = *k;
  int64_t points = 1;
  for (int d = 0; d < q->rank; d++)
    points *= k->s.elems[d];
  bool looks = k->s.T > 1 ? k->tight && q->rank == 2 : points > 1;
  if (!q->t->simt || !looks || family_row(k->s.family)->streamed || k->s.tiles == TILES_LANES)
    return false;
  look_at(q, &looked, k->s.T > 1);
  return !looked.dropped && looked.spilled > (k->s.T > 1 ? MANY_LACKING : 0);
}

/* Is candidate `k`, which is dear, clearly faster than `other`, once both are lowered, and without spilling? Counts
 * were fitted to tiles that are not dear. */
static bool dear_is_faster(const PlanQuery *q, const PlanCandidate *k, const PlanCandidate *other) {
  PlanCandidate dear = *k, plain = *other;
  look_at(q, &dear, true);
  look_at(q, &plain, true);
  return !dear.dropped && !plain.dropped && dear.spilled == 0 && dear.seconds < tuning.clearly * plain.seconds;
}

/* The fastest candidate as counted; of dear ones only the fastest, and only if that is worth it. */
static const PlanCandidate *best_worth_it(const PlanQuery *q, PlanCandidates *all) {
  const PlanCandidate *best = fastest(all, true), *plain = fastest(all, false);
  if (!best || !best->dear || !plain || dear_is_faster(q, best, plain))
    return best;
  for (int i = 0; i < all->n; i++)
    if (all->all[i].dear && !all->all[i].dropped)
      all->all[i].dropped = "its rows want more registers, or its code is longer, than is good";
  return plain;
}

/* Do both have as many time steps in blocks of as many threads? What is counted wrong of one is of the other, too. */
static bool same_kind(const Schedule *a, const Schedule *b) {
  return a->family == b->family && a->T == b->T && a->tiles == b->tiles && schedule_threads(a) == schedule_threads(b);
}

/* The best candidate at `all` by what is counted that is of no kind of those `n` at `done`, `other`: and of another
 * family than the first of these; NULL: there is none. */
static const PlanCandidate *next_kind(const PlanCandidates *all, int n, const PlanCandidate *const *done, bool other) {
  const PlanCandidate *best = NULL;
  for (int i = 0; i < all->n; i++) {
    const PlanCandidate *k = &all->all[i];
    bool known =
        k->dropped || k->dear || k->usual || k->s.tiles == TILES_LANES || (other && k->s.family == done[0]->s.family);
    for (int j = 0; j < n && !known; j++)
      known = same_kind(&done[j]->s, &k->s);
    if (!known && (!best || k->seconds < best->seconds))
      best = k;
  }
  return best;
}

/* What is found of a candidate that is lowered: the seconds a step that it is expected to take, infinite: it cannot be;
 * spills: so many words that it is not to be taken (spills_points); ops of its kernels. */
typedef struct Look {
  double seconds;
  bool spills;
  int64_t ops;
} Look;

/* Lowers candidate `k`, which stays as it is. */
static Look look_closely(const PlanQuery *q, const PlanCandidate *k) {
  PlanCandidate looked = *k;
  double runs = k->stopped > 0 ? k->stopped : 1;
  look_at(q, &looked, true);
  bool spills = !looked.dropped && looked.spilled > (k->s.T > 1 ? MANY_LACKING : 0);
  return (Look){looked.dropped ? INFINITY : runs * looked.seconds, spills, looked.ops};
}

/* Is what the kernel of candidate `first` takes comparable to what is counted of it: no dry points are, and tiles in
 * lanes have a count of their own? */
static bool can_verify(const PlanQuery *q, const PlanCandidate *first) {
  return q->t->async_copy && q->rank == 2 && !q->all && !q->wet && !first->dear && first->s.tiles != TILES_LANES;
}

/* Is candidate `k` worth being lowered, which must take less than `least` seconds then? 2 of 100 kernels take less than
 * count_missed of what is counted of them: rivals that would have to are lowered for nothing. */
static bool may_pay(const PlanCandidate *k, double least) { return measured.count_missed * k->seconds < least; }

/* Are two kernels miscounted alike? a, b: their expected time divided by their counted time. */
static bool missed_alike(double a, double b) { return fmax(a, b) <= measured.count_alike * fmin(a, b); }

/* If so many rivals are miscounted as the first candidate is, the counts are wrong of all alike, and their order
 * stands.
 */
enum { ALIKE = 2 };

const PlanCandidate *plan_verified(const PlanQuery *q, const PlanCandidates *all, const PlanCandidate *first) {
  const PlanCandidate *best = first, *done[MOST_VERIFIED] = {first};
  if (!can_verify(q, first))
    return first;
  Look usual = look_closely(q, first), last = usual;
  double least = tuning.surely * usual.seconds;
  int64_t ops = usual.ops;
  bool alike = true;
  if (usual.spills ? 2 * q->points < tuning.many_rounds[1] : usual.seconds <= measured.count_trusted * first->seconds)
    return first;
  for (int n = 1; n < MOST_VERIFIED && ops + last.ops <= MOST_VERIFIED_OPS; n++, ops += last.ops) {
    const PlanCandidate *k = next_kind(all, n, done, usual.spills);
    if (!k || (alike && n > ALIKE) || !may_pay(k, usual.spills && best == first ? usual.seconds : least))
      break;
    last = look_closely(q, k);
    best = !last.spills && last.seconds < least ? k : best;
    least = last.spills ? least : fmin(last.seconds, least);
    alike = alike && missed_alike(last.seconds / k->seconds, usual.seconds / first->seconds);
    done[n] = k;
  }
  return best;
}

/* Sets *out to the best tile for question `q`, as schedule_suit wants it. */
static bool choose(const PlanQuery *q, Schedule *out) {
  PlanCandidates all;
  plan_candidates(q, &all);
  for (int i = 0; i < all.n; i++)
    plan_cost(q, &all.all[i]);
  plan_count_stops(q, &all);
  const PlanCandidate *best = best_worth_it(q, &all);
  while (best && !best->usual && spills_points(q, best)) {
    all.all[best - all.all].dropped = "registers would be spilled";
    best = best_worth_it(q, &all);
  }
  if (!best || best->usual)
    return false;
  take_tile(out, &plan_verified(q, &all, best)->s);
  return true;
}

/* A question that was answered: about the step at `st`, repeated `tiled` times; found: a tile was found. */
struct PlanAnswer {
  const Stencil *st;
  int tiled;
  int64_t most;
  Schedule want, tile;
  bool found;
};

/* Do both ask the same? */
static bool same_question(const PlanAnswer *a, const PlanQuery *q) {
  return a->st == q->m->stencils && a->tiled == q->tiled && a->most == q->most && a->want.every == q->want.every &&
         a->want.family == q->want.family && memcmp(a->want.size, q->want.size, sizeof a->want.size) == 0;
}

bool schedule_suit(PassContext *c, const Module *m, int64_t most, Schedule *want) {
  PlanQuery q;
  if (!plan_query(c, m, want, most, &q) || (q.rank < GRID_RANK && schedule_size_is_large(want, q.rank)))
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
  return plain && want->family == FAMILY_AUTO && !schedule_says_any(want, KNOBS_TEXTS) && tile->T == 1 &&
         !family_row(tile->family)->streamed;
}
