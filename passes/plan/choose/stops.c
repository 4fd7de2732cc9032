/* stops.c: runs that stop every so many steps: for the next frame of a field, a reduction, an output, a checkpoint. A
 * launch makes no step beyond a stop, so what a time tile leaves over before it costs launches of fewer steps, each
 * about as long as memory takes for all points. What is compared for such a run is what its launches take together. */
#include "passes/plan/plan.h"

#include <math.h>

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

/* The least time of a step that a tile of T steps of the family of candidate `like` is counted to take; that of `like`
 * where there is none. */
static double counted(const PlanCandidates *all, const PlanCandidate *like, int T) {
  double least = INFINITY;
  for (int i = 0; i < all->n; i++) {
    const PlanCandidate *k = &all->all[i];
    bool alike = !k->dropped && k->s.T == T && k->s.family == like->s.family && k->s.tiles == like->s.tiles;
    least = alike && k->seconds < least ? k->seconds : least;
  }
  return isfinite(least) ? least : like->seconds;
}

void plan_count_stops(const PlanQuery *q, PlanCandidates *all) {
  int64_t every = q->want.every;
  if (!plan_stops(q->m, &q->want))
    return;
  double *took = ARENA_ARRAY(q->c->arena, double, all->n + 1);
  for (int i = 0; i < all->n; i++) {
    const PlanCandidate *k = &all->all[i];
    RunLaunches run = plan_run_launches(q->m, every, k->s.T, 1);
    if (every && k->s.T > every && !k->dropped)
      all->all[i].dropped = "it has more steps than runs make from one stop to the next";
    took[i] =
        k->dropped ? k->seconds : plan_run_time(&run, k->s.T, k->seconds, counted(all, k, run.t), counted(all, k, 1));
  }
  for (int i = 0; i < all->n; i++)
    all->all[i].seconds = took[i];
}
