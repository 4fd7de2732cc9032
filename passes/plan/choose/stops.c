/* stops.c: runs that stop every N steps: for the next frame of a field, a reduction, an output, a checkpoint.
 *
 *   stops every 100 steps:   T = 8: 12 launches of 8 steps, and 4 steps more     T = 10: 10 launches
 *
 * No launch makes a step beyond a stop. So the steps between the last whole time tile and a stop cost launches of fewer
 * steps, each of which takes about as long as memory takes for all points. For such a run the planner compares the
 * total time of its launches. */
#include "passes/plan/plan.h"

#include <math.h>

/* ---- the launches of a run */

/* The steps of the program's own run; 0: it has none, or they are not known. */
static int64_t steps_of_run(const Module *m) {
  const Const *scalars = m->steps_by ? default_scalars(m) : NULL;
  return scalars ? scalars[m->steps_by - 1].i : m->steps;
}

/* The greatest number of stops of a run that are counted. */
enum { MOST_STOPS = 4096 };

/* A run of module `m` that stops every `every` steps (0: it does not), in addition to the stops of the module. */
typedef struct Run {
  const Module *m;
  int64_t every;
} Run;

/* The steps from step `done` of `r` to the next stop, at most `most`. */
static int64_t steps_to_stop(const Run *r, int64_t done, int64_t most) {
  int64_t left = r->every ? r->every - done % r->every : most;
  return module_steps_to_stop(r->m, 0, done, left < most ? left : most);
}

/* The launches of T, `t` (1: none) and 1 steps, each time the largest that does not go too far, that a run of `steps`
 * steps takes (0: their number is not known, and there are none), or its first part if there are many stops. */
static RunLaunches launches_of_run(const Run *r, int64_t steps, int T, int t) {
  RunLaunches out = {.t = t};
  int64_t at = 0, end = steps > 0 ? steps : steps_to_stop(r, 0, INT64_MAX) < INT64_MAX ? INT64_MAX : 0;
  for (int i = 0; i < MOST_STOPS && at < end; i++) {
    int64_t gap = steps_to_stop(r, at, end - at);
    out.whole += gap / T;
    out.between += t > 1 ? gap % T / t : 0;
    out.single += t > 1 ? gap % T % t : gap % T;
    at += gap;
  }
  return out;
}

/* The number of launches in `l`. */
static int64_t count_of(RunLaunches l) { return l.whole + l.between + l.single; }

/* The multiple of `of` steps for which a launch pays beside those of T steps in a run of `steps` steps; 1: none. */
static int remainder_of(const Run *r, int64_t steps, int T, int of) {
  int64_t without = count_of(launches_of_run(r, steps, T, 1)), least = without;
  int best = 1;
  for (int t = of > 1 ? of : 2; t < T; t += of) {
    int64_t with = count_of(launches_of_run(r, steps, T, t));
    best = with < least ? t : best;
    least = with < least ? with : least;
  }
  return without - least >= tuning.fewer_launches &&
                 (double)(without - least) * tuning.fewer_launches_in >= (double)without
             ? best
             : 1;
}

/* If a param says how many steps, a run may make more than its default: then the stops alone are counted, too. */
int plan_remainder(const Module *m, int64_t every, int T, int of) {
  Run r = {m, every};
  int t = remainder_of(&r, steps_of_run(m), T, of);
  return t > 1 || !m->steps_by ? t : remainder_of(&r, 0, T, of);
}

RunLaunches plan_run_launches(const Module *m, int64_t every, int T, int of) {
  return launches_of_run(&(Run){m, every}, steps_of_run(m), T, plan_remainder(m, every, T, of));
}

/* ---- the times of candidates in a run */

int64_t plan_stops(const Module *m, const Schedule *want) {
  int64_t every = want ? want->every : 0, frames = module_steps_to_frames(m, 0, INT64_MAX);
  every = frames < INT64_MAX && (!every || frames < every) ? frames : every;
  for (int i = 0; i < m->nreductions; i++)
    if (!every || m->reductions[i].every < every)
      every = m->reductions[i].every;
  return every;
}

bool plan_leaves_none(const RunLaunches *run) { return run->whole > 0 && !run->between && !run->single; }

double plan_run_time(const RunLaunches *run, int T, double whole, double between, double single) {
  double all = (double)(run->whole * T), some = (double)(run->between * run->t), ones = (double)run->single;
  double n = all + some + ones;
  return n > 0 ? (all * whole + some * between + ones * single) / n : whole;
}

/* The least time of a step in tiles of T steps of a family; infinite: there are none. */
typedef struct Least {
  FamilyId family;
  int tiles, T;
  double seconds;
} Least;

/* The candidates of question `q`, and results that many of them share: the launches of runs by the steps of tiles (t 0:
 * not yet found), and least times. */
typedef struct Counts {
  const PlanQuery *q;
  const PlanCandidates *all;
  RunLaunches *runs;
  Least *least;
  int nleast;
} Counts;

/* The launches of a run in tiles of T steps. */
static RunLaunches launches(Counts *c, int T) {
  if (!c->runs[T].t)
    c->runs[T] = plan_run_launches(c->q->m, c->q->want.every, T, 1);
  return c->runs[T];
}

/* The least counted time of a step of a tile of T steps of the family of candidate `like`; that of `like` if there is
 * none. */
static double counted(Counts *c, const PlanCandidate *like, int T) {
  Least found = {like->s.family, (int)like->s.tiles, T, INFINITY};
  for (int i = 0; i < c->nleast; i++) {
    const Least *l = &c->least[i];
    if (l->family == found.family && l->tiles == found.tiles && l->T == T)
      return isfinite(l->seconds) ? l->seconds : like->seconds;
  }
  for (int i = 0; i < c->all->n; i++) {
    const PlanCandidate *k = &c->all->all[i];
    bool alike = !k->dropped && k->s.T == T && k->s.family == found.family && (int)k->s.tiles == found.tiles;
    found.seconds = alike && k->seconds < found.seconds ? k->seconds : found.seconds;
  }
  ARENA_PUSH(c->q->c->arena, c->least, c->nleast, found);
  return isfinite(found.seconds) ? found.seconds : like->seconds;
}

/* The time of a step of runs in tiles like candidate `k`. */
static double stopped(Counts *c, const PlanCandidate *k) {
  RunLaunches run = launches(c, k->s.T);
  double between = run.between ? counted(c, k, run.t) : 0, single = run.single ? counted(c, k, 1) : 0;
  return plan_run_time(&run, k->s.T, k->seconds, between, single);
}

void plan_count_stops(const PlanQuery *q, PlanCandidates *all) {
  int64_t every = q->want.every;
  int most = 1;
  if (!plan_stops(q->m, &q->want))
    return;
  for (int i = 0; i < all->n; i++)
    most = all->all[i].s.T > most ? all->all[i].s.T : most;
  Counts c = {.q = q, .all = all, .runs = ARENA_ARRAY(q->c->arena, RunLaunches, most + 1)};
  double *took = ARENA_ARRAY(q->c->arena, double, all->n + 1);
  for (int i = 0; i < all->n; i++) {
    PlanCandidate *k = &all->all[i];
    if (every && k->s.T > every && !k->dropped)
      k->dropped = "it has more steps than runs make from one stop to the next";
    took[i] = k->dropped ? k->seconds : stopped(&c, k);
  }
  for (int i = 0; i < all->n; i++) {
    all->all[i].stopped = took[i] / all->all[i].seconds;
    all->all[i].seconds = took[i];
  }
}
