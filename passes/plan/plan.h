/* passes/plan/plan.h: how a program is to be run, decided in one place.
 *
 *   plan.c            pass plan: family, cut, time steps, tiles; what it wrote is what the passes behind it obey
 *   cut.c             which stencils of a step share a launch
 *   families.c        the pipeline that a plan stands for
 *
 *   candidates -> cost -> choice:
 *   candidates.c      what is possible: the tiles that may be taken for a grid of known size
 *   cost.c            what each is expected to take there, or why it is none
 *   choice.c          which is taken
 *
 *   what is legal, and what each family takes where nothing is known of the grid:
 *   schedule.c        overlapped tiles (DetermineTileSize, equations 1 and 3), and tiles of any family
 *   schedule-stream.c tiles that are walked by threads
 *   schedule-walk.c   tiles that one thread walks
 *   schedule-rounds.c rows of a walk for a grid of known size
 *   complete.c        knobs that were left open, where the usual choice does not fit
 *
 *   what code is expected to take (estimate.h):
 *   weights.c, step-work.c, kernel-work.c, kernel-live.c, launch-work.c   what it does
 *   fuse-cost.c       of a launch, by its accesses
 *   model.c           of a finished kernel
 *   schedule-model.c  schedules compared by that
 *
 * The order: plan_cut compares cuts, schedule_resolve chooses T, plan_tile the tile of what was cut and repeated. */
#ifndef STC_PASSES_PLAN_H
#define STC_PASSES_PLAN_H

#include "passes/lower/stream.h"
#include "passes/plan/estimate.h"

/* ---------------------------------------------------------------- plan.c */

/* The schedule that c->schedule comes to for module `m`, which was cut into groups and repeated, in *s: complete, with
 * the steps that remain, edges and barriers. Reports an error and gives false if there is none. */
bool plan_tile(PassContext *c, const Module *m, Schedule *s);
/* The plan that lowering pass `pass` is to obey, in *out: that of the module, checked against the target if pass plan
 * did not do it; or if it has none, what c->schedule comes to in a family that the pass lowers, by default `family`.
 * Reports an error and gives false if there is none, or the plan is of a family that another pass lowers. */
bool plan_obeyed(PassContext *c, const Module *m, const char *pass, FamilyId family, Schedule *out);
/* A copy of stencil IR module `m`, whose step is not repeated, that is, T times, with its instances' regions. Its
 * bodies are those of `m`. */
Module *plan_tiled_copy(const Module *m, int T);

/* ---------------------------------------------------------------- candidates.c */

/* Points from which on two kernels, for tiles at edges and for the others, are worth what it takes to have them wait
 * for each other. */
#define PARTED_POINTS 4194304.0

/* A question: which tile is best for module `m`, on a grid of want.size that has `points` points, for what is open of
 * `want`, at most `most` time steps a tile? tiled: the module was repeated so often, 0: it was not. */
typedef struct PlanQuery {
  PassContext *c;
  const Module *m;
  const TargetInfo *t;
  int rank;
  Schedule want;
  int64_t most;
  int tiled;
  double points;
} PlanQuery;

/* A tile that may be taken for launch `l`, which makes s.T time steps; p: its pipeline if it is walked, else NULL.
 * usual: it is what is taken where nothing is known of the grid. dropped: why it is not compared with the others, NULL:
 * it is, and a launch is expected to take `time`, a time step so many seconds. */
typedef struct PlanCandidate {
  Schedule s;
  const Launch *l;
  const Stream *p;
  bool usual;
  const char *dropped;
  LaunchTime time;
  double seconds;
} PlanCandidate;
typedef struct PlanCandidates {
  int n;
  PlanCandidate *all;
} PlanCandidates;

/* The question about schedule `want` for `m`. False if there is none: the size is not known, numbers of the schedule
 * are given, the step is several launches, or the target tells too little of itself. */
bool plan_query(PassContext *c, const Module *m, const Schedule *want, int64_t most, PlanQuery *q);
/* All candidates, the usual one first. */
void plan_candidates(const PlanQuery *q, PlanCandidates *out);

/* ---------------------------------------------------------------- cost.c */

/* Finds k->time and k->seconds, or k->dropped. */
void plan_cost(const PlanQuery *q, PlanCandidate *k);

/* ---------------------------------------------------------------- choice.c */

/* The one that is taken of those that are not dropped: the fastest, but the usual one unless that is clearly slower.
 * NULL: there is none. */
const PlanCandidate *plan_best(const PlanCandidates *k);

/* ---------------------------------------------------------------- complete.c */

/* A knob that is open: where in a schedule it stands, and what it may be, all above 0, ended by 0. */
enum { KNOB_VALUES = 12 };
typedef struct Knob {
  int32_t *at;
  int32_t values[KNOB_VALUES];
} Knob;
/* Gives the `n` open knobs of *s the values for which `cost` is least, the first of those that are equally good; an
 * infinite cost means that a tile is not legal. False if none is; *s is as before then. */
bool plan_complete(Schedule *s, int n, const Knob *k, double (*cost)(const void *user, const Schedule *s),
                   const void *user);

/* ---------------------------------------------------------------- cut.c */

/* Cuts the step of `m` into groups (Stencil.group) as `cuts` says: "all", "none", "auto", the cut that is expected to
 * run fastest, or names, "a+b,c", as cut_text (lower.h) writes them. Reports errors, and notes figures. */
bool plan_cut(PassContext *c, Module *m, const char *cuts);
/* Cuts the step of `m` as plan `p` says. */
bool plan_cut_apply(PassContext *c, Module *m, const Schedule *p);

#endif
