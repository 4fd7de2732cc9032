/* passes/plan/plan.h: how a program is to be run, decided in one place.
 *
 * Layers, from the lowest to the highest. Files call those of their own layer and of lower ones.
 *
 *   what is asked, and what plans say:
 *     asked.c           what those outside ask of a schedule (asked.h)
 *     axes.c axes.def   out of which values tiles may be taken, for the tuner, too (axes.h)
 *     said.c            what plans say of the mapping of launches, or what is chosen where they say nothing
 *     complete.c        knobs that were left open, where the usual choice does not fit
 *     stops.c           runs that stop every so many steps
 *     families.c        the pipeline that a plan stands for
 *   cost/, what code is expected to take (cost/estimate.h, cost/count.h), by measured numbers (base/tuning.def):
 *     cost.c            a candidate, by what is counted of it, or why it is none
 *     step-work.c, tile-work.c, stream-work.c, kernel-work.c, launch-work.c   what it does
 *     known-masks.c     where masks are true, as far as that is known
 *     registers.c, kernel-live.c   what registers it takes
 *     cpu-stream-cost.c   the time of tiles that one thread streams; cpu-expect.c  and what is expected of a run by it
 *     fuse-cost.c       of a launch, by its accesses
 *     model.c           of a finished kernel
 *   choose/, what is legal, and what each family takes where nothing is known of the grid (choose/legal.h):
 *     legal.c           overlapped tiles (DetermineTileSize, equations 1 and 3), and tiles of any family
 *     schedule-tile.c   blocks and elements of overlapped tiles
 *     schedule-stream.c   tiles that are streamed by threads
 *     schedule-cpu-stream.c   tiles that one thread streams (choose/cpu-stream.h)
 *     schedule-warps.c   pipelines of warps in time
 *     schedule-rounds.c   rows of a streamed tile for a grid of known size
 *     schedule-model.c   schedules compared by what their kernels take
 *     candidates.c      what is possible: the tiles that may be taken for a grid of known size
 *     choice.c          which is taken
 *   what is in a launch, and how it is mapped:
 *     cut.c             which stencils of a step share a launch
 *     cpu-rounds.c      whether rounds of repeats are
 *     mapping.c         the mapping of launches beside knobs
 *   plans for one module, made to be compared:
 *     make.c            family, cut, time steps, tiles
 *     given-steps.c     which family is taken for a number of time steps that is given
 *     frame-plan.c      tiles inside and step by step at edges, in place of it
 *     points-plan.c     threads of several points and no tiles, in place of it
 *     rivals.c          another family, by what finished kernels take, in place of it
 *   what has such plans made:
 *     streamed-rounds.c   rounds of repeats in one launch, by threads, launch by launch
 *     tests-true.c      programs with masks, as they are where these are true
 *     live-tiles.c      tiles for masks that are known
 *     why.c             why a plan was taken, for people (choose/compare.h)
 *   the pass:
 *     plan.c            pass plan: what it wrote is what the passes behind it obey
 *
 * The order: plan_cut compares cuts, schedule_resolve chooses T, plan_tile the tile of what was cut and repeated. */
#ifndef STC_PASSES_PLAN_H
#define STC_PASSES_PLAN_H

#include "passes/launch/launch.h"
#include "passes/plan/choose/legal.h"
#include "passes/plan/choose/compare.h"
#include "passes/plan/cost/count.h"
#include "passes/base/tuning.h"

/* ---------------------------------------------------------------- plan.c make.c */

/* The schedule that c->schedule comes to for module `m`, which was cut into groups and repeated, in *s: complete, with
 * the steps that remain, edges and barriers. Reports an error and gives false if there is none. */
bool plan_tile(PassContext *c, const Module *m, Schedule *s);
/* The plan that lowering pass `pass` is to obey, in *out: that of the module, checked against the target if pass plan
 * did not do it; or if it has none, what c->schedule comes to in a family that the pass lowers, by default `family`.
 * Reports an error and gives false if there is none, or the plan is of a family that another pass lowers. */
bool plan_obeyed(PassContext *c, const Module *m, const char *pass, FamilyId family, Schedule *out);

/* ---------------------------------------------------------------- mapping.c */

/* Has plan `s` of module `m`, which is cut and repeated as it says, say all of the mapping of its launches: what
 * `want`, which was asked for (or s itself), says of it if it says the same tiles, and else what is chosen. Reports an
 * error and gives false if what it says cannot be. */
bool plan_map(const PassContext *c, const Module *m, const Schedule *want, Schedule *s);

/* ---------------------------------------------------------------- said.c */

/* What plan `s` says of MAP_NEAR, MAP_BEHIND or MAP_REDUCE, or what is chosen, whatever its launches. */
int32_t plan_mapped(const Schedule *s, MapId id);
/* The extents of the grid by which plan `s` says that launches of few points are counted, for which it says that some
 * are joined: its own, or else those that are told. */
void plan_joined_size(const Schedule *s, int64_t size[MAX_RANK]);
/* May pass small-launches join launches of `m`? In steps with rounds, and of coarser levels that each part of a grid
 * has as a whole: what parts exchange lies between steps. */
bool plan_may_join(const PassContext *c, const Module *m);
/* How many points launches cover at most that are joined by pass small-launches where `want` is asked for `m`, 0: none
 * are; *g: the scalars on the grid by which they are counted. Where extents are params they are so if the grid's are
 * told, by what the plan says or as those of the runs: a block alone takes long for a grid that turns out larger. */
int64_t plan_joined(const PassContext *c, const Module *m, const Schedule *want, GridScalars *g);

/* ---------------------------------------------------------------- stops.c */

/* The steps of a kernel for what remains behind tiles of T, a multiple of `of`, or 1: none is worth it. It makes what
 * remains of the program's own run, and of the steps from one evaluation of its reductions to the next, with fewer
 * launches, and is there only if that saves a tenth of all launches, for it costs compile time. every: the steps from
 * one stop of runs to the next that the program does not say, 0: there are none. */
int plan_remainder(const Module *m, int64_t every, int T, int of);
/* The launches that the program's own run takes, or its first part if there are many stops, where tiles make T steps:
 * of T steps, of `t`, the plan's remainder (1: there is none), and of single ones. All 0: nobody knows. */
typedef struct RunLaunches {
  int t;
  int64_t whole, between, single;
} RunLaunches;
RunLaunches plan_run_launches(const Module *m, int64_t every, int T, int of);

/* ---------------------------------------------------------------- candidates.c */

typedef struct PlanCandidates {
  int n;
  PlanCandidate *all;
} PlanCandidates;

/* The question about schedule `want` for `m`. False if there is none: the size is not known, numbers of the schedule
 * are given, the step is several launches, or the target tells too little of itself. */
bool plan_query(PassContext *c, const Module *m, const Schedule *want, int64_t most, PlanQuery *q);
/* All candidates, the usual one first. */
void plan_candidates(const PlanQuery *q, PlanCandidates *out);

/* ---------------------------------------------------------------- stops.c: candidates */

/* The steps from one stop of a run of `m`, as `want` (NULL: nothing) asks for it, to the next, as far as they are
 * known: the fewest; 0: they are not. */
int64_t plan_stops(const Module *m, const Schedule *want);
/* Do tiles leave no steps over in `run`? */
bool plan_leaves_none(const RunLaunches *run);
/* The time of a step of `run` in tiles of T steps, of each of which it is `whole`, in launches of fewer `between`, and
 * in single ones `single`; `whole` where nobody knows the run. */
double plan_run_time(const RunLaunches *run, int T, double whole, double between, double single);
/* Has the seconds of the candidates, which were counted, be those of a step of runs that stop as is known. */
void plan_count_stops(const PlanQuery *q, PlanCandidates *all);

/* ---------------------------------------------------------------- choice.c */

/* The one that is taken of those that are not dropped: the fastest, the first of those that are as fast. NULL: there is
 * none. */
const PlanCandidate *plan_best(const PlanCandidates *k);
/* Lowers candidate `k`, looks at its kernels, and sets its time a step and what bounds it; drops it if it cannot be. */
void plan_look_at(const PlanQuery *q, PlanCandidate *k);
/* Is family `auto` of `want` to be naive where `tile` is best? On grids of known and small size, whose fields stay in
 * the cache, a launch for each step with a thread for each point is faster than tiles of one step: in all six such
 * cases that were measured (docs/lab/small-grids.md). Of steps of one stencil only, that sees fields as they are (no
 * records, no older levels): with several naive stores what tiles keep. */
bool plan_is_naive(const Module *m, const Schedule *want, const Schedule *tile);

/* ---------------------------------------------------------------- complete.c */

/* A knob that is open: where in a schedule it stands, and what it may be: from `least`, above 0, to `most`, each the
 * `next` of the one before. */
typedef struct Knob {
  int32_t *at, least, most;
  int32_t (*next)(int32_t value);
} Knob;
/* What numbers are tried where they need not be even: 1, 2, 3, 4, 6, 8, 12 and so on; where they need: twice as many.
 */
int32_t plan_next_value(int32_t value);
int32_t plan_doubled(int32_t value);
/* Gives the `n` open knobs of *s the values for which `cost` is least; of those that are equally good what *s has, else
 * the least. An infinite cost means that a tile is not legal. False if none is; *s is as before then. */
bool plan_complete(Schedule *s, int n, const Knob *k, double (*cost)(const void *user, const Schedule *s),
                   const void *user);

/* ---------------------------------------------------------------- cut.c */

/* Cuts the step of `m` into groups (Stencil.group) as `cuts` says: "all", "none", "auto", the cut that is expected to
 * run fastest, or names, "a+b,c", as cut_text (lower.h) writes them. Reports errors, and notes figures. */
bool plan_cut(PassContext *c, Module *m, const char *cuts);
/* Cuts the step of `m` as plan `p` says. */
bool plan_cut_apply(PassContext *c, Module *m, const Schedule *p);

/* ---------------------------------------------------------------- given-steps.c */

/* The family of tiles that is expected to be fastest for module `m`, whose step is neither cut nor repeated, with the
 * time steps of c->schedule, all else being open; overlapped tiles where nothing is known of the target. */
FamilyId plan_family_for_steps(PassContext *c, const Module *m);
/* The seconds a step that tiles of plan `s` for module `m`, which is cut as it says, are expected to take on a grid of
 * extents `size`; infinite: nobody knows. */
double plan_tile_seconds(PassContext *c, const Module *m, const Schedule *s, const int64_t *size);

/* ---------------------------------------------------------------- streamed-rounds.c */

/* Gives the rounds of repeats streamed tiles in plan `s` of `m`, for which `asked` was asked and left all open, where
 * these are expected to take clearly less. */
void prefer_streamed_rounds(PassContext *c, const Module *m, const Schedule *asked, Schedule *s);

/* ---------------------------------------------------------------- tests-true.c */

/* `m` as it is where all tests of its words hold: a copy; `m` itself if it has none, or if it reads more elsewhere. */
const Module *plan_where_true(PassContext *c, const Module *m);
/* Makes plan `s` of `m` that for `as`, what `m` is where all tests hold, unless that is expected to be clearly slower.
 */
void prefer_true(PassContext *c, const Module *m, const Module *as, Schedule *s);
/* The plan for `m` of the tiles that `given`, one for `as`, has, in *s. False: there is none. */
bool plan_with_tests(PassContext *c, const Module *m, const Schedule *given, Schedule *s);

/* ---------------------------------------------------------------- live-tiles.c */

/* Makes plan `s` of `m` that of the tiles which are expected to be fastest where masks are true as is known, if these
 * are clearly faster there; `as`: what `m` is where all tests hold. */
void prefer_live(PassContext *c, const Module *m, const Module *as, Schedule *s);

/* ---------------------------------------------------------------- make.c, frame-plan.c */

/* The plan for module `m`, whose step is neither cut nor repeated, in *s, as c->schedule asks. False after an error. */
bool plan_make(PassContext *c, const Module *m, Schedule *s);
/* The same where edges are to be made step by step (EDGES_STEPS). */
bool plan_framed(PassContext *c, const Module *m, Schedule *s);
/* Makes plan `s` of `m`, of which *expected seconds a step are expected, one whose edges are made step by step, if that
 * is clearly faster: then it becomes what is expected of that. */
void prefer_framed(PassContext *c, const Module *m, double *expected, Schedule *s);

/* ---------------------------------------------------------------- rivals.c */

/* Makes plan `s` of `m`, whose step is neither cut nor repeated, which streams `cut`, that step as it is cut, the plan
 * of another family where what is counted says too little of it and that is expected to be clearly faster. The seconds
 * a step that are expected of what *s is then; 0: nothing was looked at. */
double prefer_rival(PassContext *c, const Module *m, const Module *cut, Schedule *s);

/* ---------------------------------------------------------------- points-plan.c */

/* Makes plan `s` of `m`, whose step is neither cut nor repeated, of which `expected` seconds a step are expected, one
 * of family naive whose threads have several points, if that is clearly faster. */
void prefer_points(PassContext *c, const Module *m, double expected, Schedule *s);

#endif
