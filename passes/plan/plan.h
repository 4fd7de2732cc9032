/* passes/plan/plan.h: how a program is to be run, decided in one place.
 *
 * Layers, from the lowest to the highest. Files call those of their own layer and of lower ones.
 *
 *   requests, and what plans say:
 *     asked.c           which parts of a schedule a request leaves open (asked.h)
 *     axes.c axes.def   the candidate values of knobs, for the tuner, too (axes.h)
 *     said.c            what plans say of the mapping of launches, and the defaults where they say nothing
 *     complete.c        knobs that were left open, where the usual choice does not fit
 *     stops.c           runs that stop every so many steps
 *     families.c        the pipeline for which a plan stands
 *   cost/, the expected cost of code (cost/estimate.h, cost/count.h), by measured numbers (base/tuning.def):
 *     cost.c            the cost of a candidate by counting its work, or the reason why it is excluded
 *     step-work.c, tile-work.c, stream-work.c, kernel-work.c, launch-work.c   the work
 *     known-masks.c     where masks are true, as far as that is known
 *     registers.c, kernel-live.c   the registers
 *     cpu-stream-cost.c   the time of tiles that one thread streams; cpu-expect.c  the expected time of a run by it
 *     fuse-cost.c       the cost of a launch, by its accesses
 *     model.c           the time of a finished kernel
 *   choose/, legality, and the choice of each family where nothing is known of the grid (choose/legal.h):
 *     legal.c           overlapped tiles (DetermineTileSize, equations 1 and 3), and tiles of any family
 *     schedule-tile.c   blocks and elements of overlapped tiles
 *     schedule-stream.c   tiles that are streamed by threads
 *     schedule-cpu-stream.c   tiles that one thread streams (choose/cpu-stream.h)
 *     schedule-warps.c   pipelines of warps in time
 *     schedule-rounds.c   rows of a streamed tile for a grid of known size
 *     schedule-model.c   schedules compared by the cost of their kernels
 *     candidates.c      the tiles that may be taken for a grid of known size
 *     choice.c          the choice among them
 *   the contents of a launch, and its mapping:
 *     cut.c             which stencils of a step share a launch
 *     cpu-rounds.c      whether rounds of repeats share one
 *     mapping.c         the mapping of launches beside knobs
 *   plans for one module, made to be compared:
 *     make.c            family, cut, time steps, tiles
 *     given-steps.c     the family for a given number of time steps
 *     frame-plan.c      alternative: tiles inside, and step by step at edges
 *     points-plan.c     alternative: threads of several points and no tiles
 *     rivals.c          alternative: another family, by the cost of finished kernels
 *   files that have such plans made:
 *     streamed-rounds.c   rounds of repeats in one launch, by threads, launch by launch
 *     tests-true.c      programs with masks, as they are where these are true
 *     live-tiles.c      tiles for masks that are known
 *     why.c             why a plan was taken, for people (choose/compare.h)
 *   the pass:
 *     plan.c            pass plan: writes the plan that the passes after it follow
 *
 * The order: plan_cut compares cuts, schedule_resolve chooses T, plan_tile the tile of the cut and repeated module. */
#ifndef STC_PASSES_PLAN_H
#define STC_PASSES_PLAN_H

#include "passes/launch/launch.h"
#include "passes/plan/choose/legal.h"
#include "passes/plan/choose/compare.h"
#include "passes/plan/cost/count.h"
#include "passes/base/tuning.h"

/* ---------------------------------------------------------------- plan.c make.c */

/* Resolves c->schedule for module `m`, which was cut into groups and repeated, to *s: a complete schedule, with the
 * remaining steps, edges and barriers. Reports an error and returns false if there is none. */
bool plan_tile(PassContext *c, const Module *m, Schedule *s);
/* Sets *out to the plan that lowering pass `pass` is to follow: that of the module, checked against the target if pass
 * plan did not do so; or if the module has none, the resolved c->schedule in a family that the pass lowers, by default
 * `family`. Reports an error and returns false if there is none, or if another pass lowers the plan's family. */
bool plan_obeyed(PassContext *c, const Module *m, const char *pass, FamilyId family, Schedule *out);

/* ---------------------------------------------------------------- mapping.c */

/* Completes the mapping of the launches in plan `s` of module `m`, which is cut and repeated as the plan says. Numbers
 * come from `want`, which was asked for (or s itself), if it says the same tiles; others are chosen. Reports an error
 * and returns false if the mapping is not possible. */
bool plan_map(const PassContext *c, const Module *m, const Schedule *want, Schedule *s);

/* ---------------------------------------------------------------- said.c */

/* The number that plan `s` gives for MAP_NEAR, MAP_BEHIND or MAP_REDUCE, or the default, whatever its launches. */
int32_t plan_mapped(const Schedule *s, MapId id);
/* The extents of the grid for which plan `s` says that some launches of few points are joined: those of the plan
 * itself, or else those that are told. */
void plan_joined_size(const Schedule *s, int64_t size[MAX_RANK]);
/* May pass small-launches join launches of `m`? It may in steps with rounds, and in steps of coarser levels that each
 * part of a grid has as a whole: other parts exchange values between steps. */
bool plan_may_join(const PassContext *c, const Module *m);
/* The greatest number of points of a launch that pass small-launches joins if `want` is asked for `m`, 0: it joins
 * none; *g: the scalars on the grid for which launches are counted. If extents are params, launches are joined only if
 * the grid's extents are told, by the plan or as those of the runs: on a grid that turns out larger a single block
 * takes long. */
int64_t plan_joined(const PassContext *c, const Module *m, const Schedule *want, GridScalars *g);

/* ---------------------------------------------------------------- stops.c */

/* The number of steps of a kernel for the steps that remain after tiles of T: a multiple of `of`, or 1: no such kernel
 * pays. It makes steps that remain in the program's own run, and from one evaluation of its reductions to the next,
 * with fewer launches. There is such a kernel only if it saves a tenth of all launches, since it costs compile time.
 * every: the steps from one stop of runs to the next that the program does not give, 0: there are none. */
int plan_remainder(const Module *m, int64_t every, int T, int of);
/* The launches that the program's own run takes, or its first part if there are many stops, where tiles make T steps:
 * launches of T steps, of `t`, the plan's remainder (1: there is none), and of single ones. All 0: not known. */
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

/* Makes the question about schedule `want` for `m`. False if there is none: the size is not known, numbers of the
 * schedule are given, the step is several launches, or too little is known of the target. */
bool plan_query(PassContext *c, const Module *m, const Schedule *want, int64_t most, PlanQuery *q);
/* All candidates, the usual one first. */
void plan_candidates(const PlanQuery *q, PlanCandidates *out);

/* ---------------------------------------------------------------- stops.c: candidates */

/* The least number of steps from one stop of a run of `m`, as `want` (NULL: nothing) asks for it, to the next; 0: not
 * known. */
int64_t plan_stops(const Module *m, const Schedule *want);
/* Do tiles leave no remaining steps in `run`? */
bool plan_leaves_none(const RunLaunches *run);
/* The time of a step of `run`: in tiles of T steps a step takes `whole`, in launches of fewer steps `between`, in
 * single ones `single`; `whole` if the run is not known. */
double plan_run_time(const RunLaunches *run, int T, double whole, double between, double single);
/* Changes the counted seconds of the candidates to those of a step of runs with the known stops. */
void plan_count_stops(const PlanQuery *q, PlanCandidates *all);

/* ---------------------------------------------------------------- choice.c */

/* The candidate that is taken among those that are not dropped: the fastest, or the first of equally fast ones. NULL:
 * there is none. */
const PlanCandidate *plan_best(const PlanCandidates *k);
/* plan_verified lowers at most MOST_VERIFIED candidates, and stops when their kernels are expected to have more than
 * MOST_VERIFIED_OPS ops in all, where the next candidate counts as many as the last one had. This bounds work, not
 * time, so plans are the same on slow machines. */
enum { MOST_VERIFIED = 6, MOST_VERIFIED_OPS = 40000 };
/* Returns `first`, the candidate of `all` with the shortest counted time, or another candidate if the lowered kernel of
 * `first` takes much longer than counted: then candidates of other kinds are lowered, too, the most promising first, as
 * long as one may be surely faster and the bounds above hold, and the fastest is returned. If `first` spills by the
 * estimate of registers, which errs alike in all tiles of a family, candidates of another family are lowered, on grids
 * of several rounds of blocks. Another candidate is returned only if it is surely faster: of 51 choices that finished
 * kernels would make otherwise, all with an expected time below 0.74 were measured to be faster, of the others every
 * second one (H200, 2026-11-30). */
const PlanCandidate *plan_verified(const PlanQuery *q, const PlanCandidates *all, const PlanCandidate *first);
/* Lowers candidate `k`, examines its kernels, and sets its time a step and its bound; drops it if it cannot be
 * lowered. */
void plan_look_at(const PlanQuery *q, PlanCandidate *k);
/* Does family `auto` of `want` become naive where `tile` is best? On grids of known and small size, whose fields stay
 * in the cache, a launch for each step with a thread for each point is faster than tiles of one step: in all six such
 * cases that were measured (docs/lab/small-grids.md). Only for steps of one stencil that reads fields as they are (no
 * records, no older levels): with several stencils naive stores values that tiles keep. */
bool plan_is_naive(const Module *m, const Schedule *want, const Schedule *tile);

/* ---------------------------------------------------------------- complete.c */

/* An open knob: its place in a schedule, and its possible values: from `least`, above 0, to `most`, each the `next` of
 * the one before. */
typedef struct Knob {
  int32_t *at, least, most;
  int32_t (*next)(int32_t value);
} Knob;
/* The numbers that are tried: 1, 2, 3, 4, 6, 8, 12 and so on; where numbers need to be even, twice these. */
int32_t plan_next_value(int32_t value);
int32_t plan_doubled(int32_t value);
/* Sets the `n` open knobs of *s to the values of least `cost`; among equally good ones to those that *s has, else to
 * the least. An infinite cost means that a tile is not legal. False if none is legal; *s then is as before. */
bool plan_complete(Schedule *s, int n, const Knob *k, double (*cost)(const void *user, const Schedule *s),
                   const void *user);

/* ---------------------------------------------------------------- cut.c */

/* Cuts the step of `m` into groups (Stencil.group) as `cuts` says: "all", "none", "auto" for the cut that is expected
 * to run fastest, or names, "a+b,c", as cut_text (lower.h) writes them. Reports errors, and notes figures. */
bool plan_cut(PassContext *c, Module *m, const char *cuts);
/* Cuts the step of `m` as plan `p` says. */
bool plan_cut_apply(PassContext *c, Module *m, const Schedule *p);

/* ---------------------------------------------------------------- given-steps.c */

/* The family of tiles that is expected to be fastest for module `m`, whose step is neither cut nor repeated, with the
 * time steps of c->schedule if everything else is open; overlapped tiles where nothing is known of the target. */
FamilyId plan_family_for_steps(PassContext *c, const Module *m);
/* The expected seconds a step of tiles of plan `s` for module `m`, which is cut as the plan says, on a grid of extents
 * `size`;
 * infinite: not known. */
double plan_tile_seconds(PassContext *c, const Module *m, const Schedule *s, const int64_t *size);

/* ---------------------------------------------------------------- streamed-rounds.c */

/* Gives the rounds of repeats streamed tiles in plan `s` of `m`, if the request `asked` left everything open and these
 * tiles are expected to take clearly less time. */
void prefer_streamed_rounds(PassContext *c, const Module *m, const Schedule *asked, Schedule *s);

/* ---------------------------------------------------------------- tests-true.c */

/* A copy of `m` as it is where all tests of its words hold; `m` itself if it has no words, or if it reads more
 * elsewhere. */
const Module *plan_where_true(PassContext *c, const Module *m);
/* Replaces plan `s` of `m` by the plan for `as`, which is `m` where all tests hold, unless that is expected to be
 * clearly slower. */
void prefer_true(PassContext *c, const Module *m, const Module *as, Schedule *s);
/* Sets *s to the plan for `m` with the tiles of `given`, a plan for `as`. False: there is none. */
bool plan_with_tests(PassContext *c, const Module *m, const Schedule *given, Schedule *s);

/* ---------------------------------------------------------------- live-tiles.c */

/* Replaces plan `s` of `m` by the plan for the tiles that are expected to be fastest for the known masks, if these are
 * clearly faster; `as`: `m` where all tests hold. */
void prefer_live(PassContext *c, const Module *m, const Module *as, Schedule *s);

/* ---------------------------------------------------------------- make.c, frame-plan.c */

/* Sets *s to the plan for module `m`, whose step is neither cut nor repeated, as c->schedule asks. False after an
 * error. */
bool plan_make(PassContext *c, const Module *m, Schedule *s);
/* The same where edges are to be made step by step (EDGES_STEPS). */
bool plan_framed(PassContext *c, const Module *m, Schedule *s);
/* Replaces plan `s` of `m`, which is expected to take *expected seconds a step, by one whose edges are made step by
 * step, if that is clearly faster; *expected then becomes the seconds of that plan. */
void prefer_framed(PassContext *c, const Module *m, double *expected, Schedule *s);

/* ---------------------------------------------------------------- rivals.c */

/* `s` is a plan of `m`, whose step is neither cut nor repeated, that streams `cut`, the step after its cut. Replaces it
 * by the plan of another family if counting says too little of it and the other is expected to be clearly faster.
 * Returns the expected seconds a step of *s; 0: nothing was examined. */
double prefer_rival(PassContext *c, const Module *m, const Module *cut, Schedule *s);

/* ---------------------------------------------------------------- points-plan.c */

/* Replaces plan `s` of `m`, whose step is neither cut nor repeated, and which is expected to take `expected` seconds a
 * step, by one of family naive whose threads have several points, if that is clearly faster. */
void prefer_points(PassContext *c, const Module *m, double expected, Schedule *s);

#endif
