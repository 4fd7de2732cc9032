/* why.c: explains a plan: the best candidates with the model's time for each and its limit, and the reasons why others
 * were left out. It is for people: it lowers and examines many more tiles than compiling has time for. */
#include "passes/launch/slices.h"
#include "passes/launch/launch.h"
#include "passes/plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many candidates are lowered for each that is listed; how many reasons are listed. */
enum { LOOKED_AT = 3, REASONS = 16 };

/* Orders by expected time, dropped candidates last (for qsort). */
static int by_time(const void *x, const void *y) {
  const PlanCandidate *a = x, *b = y;
  double s = a->dropped ? INFINITY : a->seconds, t = b->dropped ? INFINITY : b->seconds;
  return s < t ? -1 : s > t;
}

/* Are both the same tile? */
static bool same_tile(const Schedule *a, const Schedule *b) {
  return a->family == b->family && schedule_same(a, b, KNOBS_NUMBERS) &&
         (a->tiles == TILES_LANES) == (b->tiles == TILES_LANES);
}

/* Does one of the `n` candidates at `k` have this tile? */
static bool is_among(int n, const PlanCandidate *k, const Schedule *s) {
  for (int i = 0; i < n; i++)
    if (same_tile(&k[i].s, s))
      return true;
  return false;
}

/* Plan `s` as a candidate, even if it is none of those that are compared. */
static PlanCandidate candidate_of(const PlanQuery *q, const Schedule *s) {
  PlanCandidate k = {.s = *s};
  if (s->family == FAMILY_STREAM)
    k.of = plan_launch(q, tiled_launch(q->m, s->T), true);
  return k;
}

/* Moves the candidates that are examined to the front: the best by counting, each tile once, and plan `chosen`. Returns
 * their number. */
static int select_best(const PlanQuery *q, PlanCandidates *all, const Schedule *chosen, int most) {
  int n = 0;
  qsort(all->all, (size_t)all->n, sizeof *all->all, by_time);
  for (int i = 0; i < all->n && n < most && !all->all[i].dropped; i++)
    if (!is_among(n, all->all, &all->all[i].s)) {
      PlanCandidate k = all->all[i];
      all->all[i] = all->all[n];
      all->all[n++] = k;
    }
  if (is_among(n, all->all, chosen))
    return n;
  PlanCandidate own = candidate_of(q, chosen);
  ARENA_PUSH(q->c->arena, all->all, all->n, own);
  all->all[all->n - 1] = all->all[n];
  all->all[n] = own;
  return n + 1;
}

/* Writes the reasons for which candidates from number `from` on are not compared, and how many each. */
static void say_dropped(const PlanCandidates *all, int from, Str *out) {
  const char *why[REASONS] = {0};
  int count[REASONS] = {0}, slower = 0;
  for (int i = from; i < all->n; i++) {
    const char *x = all->all[i].dropped;
    int r = 0;
    slower += !x;
    while (x && r < REASONS - 1 && why[r] && strcmp(why[r], x) != 0)
      r++;
    why[r] = x ? x : why[r];
    count[r] += x != NULL;
  }
  str_addf(out, "  %d are expected to be slower by what is counted of them\n", slower);
  for (int r = 0; r < REASONS && why[r]; r++)
    str_addf(out, "  %d are none: %s\n", count[r], why[r]);
}

/* Writes number `i` of the candidates. */
static void say_candidate(const PlanQuery *q, const PlanCandidate *k, int i, bool taken, Str *out) {
  if (k->dropped)
    str_addf(out, "  taken: %s; %s\n", plan_tile_text(q->c->arena, &k->s, q->rank), k->dropped);
  else
    str_addf(out, "  %2d. %7.4g GPts/s, bound by %s: %s%s\n", i + 1, q->points / k->seconds * 1e-9,
             bound_name(k->time.bound), plan_tile_text(q->c->arena, &k->s, q->rank), taken ? "; taken" : "");
}

/* Makes the question about all tiles for the open parts of `want`, for which `chosen` was taken. Returns NULL, or the
 * reason why there is none. */
static const char *whole_question(PassContext *c, const Module *m, const Schedule *want, const Schedule *chosen,
                                  PlanQuery *q) {
  const Reduction *by;
  Schedule open = *want;
  if (!c->target->simt)
    return "the target has no threads: tiles are as large as its caches allow";
  if (chosen->ngroups > 1)
    return "the step is several launches, which -stats says more of";
  if (open.size[0] < 1)
    memcpy(open.size, model_large_grid(m->grid.rank), sizeof open.size);
  if (!plan_query(c, m, &open, most_levels(m, &by), q))
    return "the schedule is given";
  q->all = true;
  return NULL;
}

/* Writes that `chosen` was taken as a rival of a streamed tile (rivals.c), if it was: `m` is planned again for that. */
static void say_rival(const PassContext *c, const Module *m, const Schedule *want, const Schedule *chosen, Str *out) {
  ModelCache cache = {0};
  Schedule again;
  PassContext with = *c;
  with.schedule = want;
  with.cache = &cache;
  with.diags = diags_quiet(c->arena);
  if (!family_row(chosen->family)->streamed && plan_make(&with, m, &again) && cache.why_rival &&
      same_tile(&cache.rival, chosen))
    str_addf(out, "%s\n", cache.why_rival);
}

void plan_why(PassContext *c, const Module *m, const Schedule *want, const Schedule *chosen, int most, Str *out) {
  PlanQuery q;
  PlanCandidates all;
  Schedule sized;
  if (plan_is_sliced(m, chosen)) {
    sized = plan_of_slice(want);
    want = &sized;
    m = module_slice(c->arena, m);
  }
  say_rival(c, m, want, chosen, out);
  const char *none = whole_question(c, m, want, chosen, &q);
  if (none) {
    str_addf(out, "no candidates were compared: %s\n", none);
    return;
  }
  plan_candidates(&q, &all);
  for (int i = 0; i < all.n; i++)
    plan_cost(&q, &all.all[i]);
  int n = select_best(&q, &all, chosen, LOOKED_AT * most);
  for (int i = 0; i < n; i++)
    plan_look_at(&q, &all.all[i]);
  qsort(all.all, (size_t)n, sizeof *all.all, by_time);
  str_addf(out, "candidates: %d for", all.n);
  if (slices_of_size(q.rank, q.want.size) > 1)
    str_addf(out, " %.0f times", slices_of_size(q.rank, q.want.size));
  for (int d = 0; d < q.rank; d++)
    str_addf(out, "%s%" PRId64, d ? "x" : " ", q.want.size[d]);
  str_addf(out, " points, of which %d were lowered and looked at:\n", n);
  for (int i = 0; i < n; i++) {
    bool taken = same_tile(&all.all[i].s, chosen);
    if ((i < most && !all.all[i].dropped) || taken)
      say_candidate(&q, &all.all[i], i, taken, out);
  }
  say_dropped(&all, n, out);
}
