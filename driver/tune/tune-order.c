/* driver/tune/tune-order.c: the order in which `stc tune` tries schedules: near the best ones so far, by predicted
 * speed, and some of all kinds because the prediction may be wrong. */
#include "driver/tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEADERS = 6, FAR = 1000, CROWDED = 3 };

/* Compiling is cheap if it takes less than this fraction of the remaining time. */
static const double CHEAP = 0.1;

/* The distance of two candidates on the axes of their row, in steps; FAR if their rows differ. */
static int distance(const Candidate *x, const Candidate *y) {
  int sum = 0;
  if (x->row != y->row || !x->row)
    return FAR;
  for (int i = 0; i < PLAN_AXES; i++)
    sum += abs(x->at[i] - y->at[i]);
  return sum;
}

/* The penalty of taking `c` next: its distance from the nearest of the `n` best ones, plus a penalty for the lower of
 * these. */
static int remoteness(const Candidate *c, Candidate *const *best, int n) {
  int least = FAR;
  for (int i = 0; i < n; i++) {
    int far = distance(c, best[i]) + i / 2;
    least = far < least ? far : least;
  }
  return least;
}

/* Is `c` among the first `n` of `taken`? */
static bool is_taken(const Candidate *c, Candidate *const *taken, int n) {
  for (int i = 0; i < n; i++)
    if (taken[i] == c)
      return true;
  return false;
}

int space_best(const SearchSpace *s, int n, Candidate **out) {
  int found = 0;
  for (; found < n; found++) {
    Candidate *best = NULL;
    for (int i = 0; i < s->n; i++) {
      Candidate *c = &s->all[i];
      if (c->state == CANDIDATE_TIMED && (!best || c->gpts > best->gpts) && !is_taken(c, out, found))
        best = c;
    }
    if (!best)
      break;
    out[found] = best;
  }
  return found;
}

/* Finds the candidates near which others are chosen: the best ones, or the families' defaults if none is timed. */
static int find_leaders(const SearchSpace *s, Candidate *out[LEADERS]) {
  int n = space_best(s, LEADERS, out);
  for (int i = 0; i < s->n && n < LEADERS; i++)
    if (s->all[i].own && s->all[i].row && s->all[i].state == CANDIDATE_WAITING)
      out[n++] = &s->all[i];
  return n;
}

double space_expects(const SearchSpace *s, const Candidate *k) {
  double sum = 0, weights = 0;
  for (int i = 0; i < s->n; i++) {
    const Candidate *other = &s->all[i];
    if (other->row != k->row || !(other->gpts > 0) || !(other->expected.gpts > 0))
      continue;
    double weight = pow(1.0 + distance(k, other), -2);
    sum += weight * log(other->gpts / other->expected.gpts);
    weights += weight;
  }
  return weights > 0 ? k->expected.gpts * exp(sum / weights) : k->expected.gpts;
}

/* The predicted speed of the fastest default of a family; 0: none is known. */
static double own_expected(const SearchSpace *s) {
  double most = 0;
  for (int i = 0; i < s->n; i++)
    if (s->all[i].own && s->all[i].expected.gpts > most)
      most = s->all[i].expected.gpts;
  return most;
}

/* The reason why candidate `k` is not worth compiling, as for space_skip; NULL if it is. own: the result of
 * own_expected. */
static const char *why_not(const SearchSpace *s, const Candidate *k, const SkipRule *rule, double own) {
  int spilled = 4 * (int)k->expected.spilled;
  bool early = !(rule->least > 0);
  double cost = k->ops * s->op_cost, expected = early ? k->expected.gpts : space_expects(s, k),
         least = early ? rule->part * own : rule->least;
  if (k->ops > rule->ops)
    return arena_printf(s->arena, "its code is %d operations long, and would take too long to compile", k->ops);
  if (cost > 1)
    return arena_printf(s->arena, "its code is %d operations long, and there is no time to compile it", k->ops);
  if (k->own && (early ? k->ops <= rule->ops / 3 : cost <= CHEAP))
    return NULL;
  if (!k->own && spilled > rule->spills)
    return arena_printf(s->arena, "%d bytes a thread are not expected to fit the registers", spilled);
  return expected > 0 && expected < least ? arena_printf(s->arena, "expected to make %.4g GPts/s", expected) : NULL;
}

int space_skip(SearchSpace *s, const SkipRule *rule) {
  double own = own_expected(s);
  int skipped = 0;
  for (int i = 0; i < s->n; i++) {
    Candidate *k = &s->all[i];
    const char *why = k->state == CANDIDATE_WAITING && k->lowered ? why_not(s, k, rule, own) : NULL;
    if (!why)
      continue;
    k->state = CANDIDATE_SKIPPED;
    k->why = why;
    skipped++;
  }
  return skipped;
}

/* Is one of the first `n` of `taken` so near to `c` that measuring one tells much about the other? Families' defaults
 * do not count, as candidates near them should be tried. */
static bool is_crowded(const Candidate *c, Candidate *const *taken, int n) {
  for (int i = 0; i < n; i++)
    if (!taken[i]->own && distance(c, taken[i]) < CROWDED)
      return true;
  return false;
}

/* A candidate and its merit. */
typedef struct Merit {
  Candidate *k;
  double merit;
} Merit;

/* How candidates are compared: by merit, first those far from the taken ones; by merit; or only by their order. */
typedef enum Choice { CHOICE_APART, CHOICE_MERIT, CHOICE_ANY } Choice;

/* The best of the `n` candidates that is not taken yet; NULL if there is none. */
static Candidate *next_of(const Merit *from, int n, Choice by, Candidate *const *taken, int ntaken) {
  const Merit *next = NULL;
  for (int i = 0; i < n; i++) {
    const Merit *m = &from[i];
    bool first =
        !next || (by != CHOICE_ANY && m->merit != next->merit ? m->merit > next->merit : m->k->order < next->k->order);
    if (first && !is_taken(m->k, taken, ntaken) && !(by == CHOICE_APART && is_crowded(m->k, taken, ntaken)))
      next = m;
  }
  return next ? next->k : by == CHOICE_APART ? next_of(from, n, CHOICE_MERIT, taken, ntaken) : NULL;
}

/* The merit of waiting candidate `c`. */
static double merit(const SearchSpace *s, const Candidate *c, Candidate *const *leaders, int nleaders) {
  double cost = c->ops * s->op_cost, expected = c->lowered ? space_expects(s, c) : 0;
  if (c->own && (!c->lowered || cost <= CHEAP || !(expected > 0)))
    return INFINITY;
  return expected > 0 ? expected / (1 + cost) : -remoteness(c, leaders, nleaders);
}

/* Chooses up to `n` of the waiting candidates with this `lowered`, as for space_pool and space_choose. */
static int choose(const SearchSpace *s, bool lowered, int n, Candidate **out) {
  Candidate *leaders[LEADERS];
  Merit *from = ARENA_ARRAY(s->arena, Merit, s->n + 1);
  int nleaders = find_leaders(s, leaders), nfrom = 0, found = 0;
  for (int i = 0; i < s->n; i++) {
    Candidate *c = &s->all[i];
    if (c->state != CANDIDATE_WAITING || c->lowered != lowered)
      continue;
    from[nfrom++] = (Merit){c, merit(s, c, leaders, nleaders)};
  }
  while (found < n) {
    Choice by = found >= n - n / 4 ? CHOICE_ANY : lowered ? CHOICE_APART : CHOICE_MERIT;
    Candidate *next = next_of(from, nfrom, by, out, found);
    if (!next)
      break;
    out[found++] = next;
  }
  return found;
}

int space_pool(const SearchSpace *s, int n, Candidate **out) { return choose(s, false, n, out); }
int space_choose(const SearchSpace *s, int n, Candidate **out) { return choose(s, true, n, out); }
