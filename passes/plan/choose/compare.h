/* passes/plan/choose/compare.h: schedules compared by their expected cost.
 *
 *   schedule-model.c  by the cost of their kernels
 *   schedule-warps.c  pipelines of warps, which have an estimate of their own
 *   why.c             reasons, for people */
#ifndef STC_PASSES_PLAN_COMPARE_H
#define STC_PASSES_PLAN_COMPARE_H

#include "passes/plan/cost/estimate.h"

/* ---------------------------------------------------------------- schedule-model.c schedule-warps.c */

/* What was asked about the module at hand: of schedule_time and those beside it (ok: it said anything), and of the
 * candidates for its grid (choice.c). */
typedef struct ModelEntry ModelEntry;
typedef struct PlanAnswer PlanAnswer;
struct ModelCache {
  Schedule rival;        /* the plan of another family that was taken last in place of the counted choice (rivals.c) */
  const char *why_rival; /* why; NULL: there is none */
  int32_t n, nanswers;
  ModelEntry *entries;
  PlanAnswer *answers;
};

/* Seconds that a time step takes, and the sum of what bounds each of its launches most, alone; what that is for the
 * longest of them, and the warps that a core holds of it; registers of a thread, words that it wants beyond those, and
 * instructions that come anew in each round of a loop, at most; ops of the kernels that were lowered. why: there is no
 * time, because of this, NULL: there is. */
typedef struct ScheduleTime {
  double seconds, longest, fetched;
  Bound bound;
  int32_t registers, spilled, warps;
  int64_t ops;
  const char *why;
} ScheduleTime;
/* Do many words lack in the lowered kernels? ptxas then spills several times as many as are estimated (126 for 25, a
 * wave with layers in three dimensions), not fewer: so a rival that lacks no words is taken unless it is expected to be
 * much slower. */
bool schedule_lacks_many(const ScheduleTime *time);
/* The time of schedule `s`, which is resolved and legal, on a grid of extents `size` (NULL, or size[0] 0: a large one)
 * for stencil IR module `m`, which was tiled for s->T. The module is lowered to be examined, which takes some
 * milliseconds and no memory; `m` is not changed. False if it cannot be lowered: that is no error, and out->why says
 * why. */
bool schedule_time(PassContext *c, const Module *m, const Schedule *s, const int64_t *size, ScheduleTime *out);
/* The same including tiles at edges, if these are in one kernel with others. */
bool schedule_time_with_edges(PassContext *c, const Module *m, const Schedule *s, const int64_t *size,
                              ScheduleTime *out);
/* The same, also if tiles at edges have a kernel of their own: both kernels are examined. */
bool schedule_time_parted(PassContext *c, const Module *m, const Schedule *s, const int64_t *size, ScheduleTime *out);
/* Picoseconds a point and step of module `m` on a grid of extents `size` (NULL: a large one) under schedule `s`, if its
 * family has an estimate of its own, because its kernels do not show how long their loops are; 0: it has none. */
double schedule_own_ps(const TargetInfo *t, const Module *m, const Schedule *s, const int64_t *size);
/* Can module `m` be a warp pipeline, and is a grid of extents `size` large enough for that to pay, with rows that move
 * by bulk copies? (schedule-warps.c) */
bool schedule_suits_warps(PassContext *c, const Module *m, const int64_t *size);
/* Is a warp pipeline faster than `stream`, streamed tiles, on a grid of extents `size`, for module `m` of rank 2,
 * which was not tiled? It may be on grids of known size that are large enough and whose rows are whole copies of 16
 * bytes: for sums where it was measured, for steps that compute roots and quotients where it is expected.
 * (schedule-warps.c) */
bool schedule_prefers_warps(PassContext *c, const Module *m, const Schedule *stream, const int64_t *size);
/* Picoseconds a point and step of streamed tiles, if `want`, of family "auto", resolves to these for module `m`, which
 * was not tiled and whose step is one launch; else infinite. */
double schedule_streamed_ps(PassContext *c, const Module *m, const Schedule *want);
/* The time of a step in the streamed tile of T steps to which `want` resolves for module `m`, which was not tiled;
 * infinite if there is none. */
double schedule_stream_seconds(PassContext *c, const Module *m, const Schedule *want, int T);
/* The time steps of a streamed tile for module `m`, which was not tiled. Registers and the halo suggest `T`; it is
 * fewer where roots, quotients or functions bound the time, and `more` where memory does, if that is expected to be
 * better on the grid of want->size, or a large one. */
int schedule_better_levels(PassContext *c, const Module *m, const Schedule *want, int T, int more);
/* Are overlapped tiles, those of the defaults, expected to be clearly faster on a large grid than the streamed ones of
 * schedule `stream`, to which `want` resolves for module `m`? For a module that was tiled for overlapped and not for
 * streamed tiles, they were found to be so before. */
bool schedule_overlaps(PassContext *c, const Module *m, const Schedule *want, const Schedule *stream);
/* Are streamed tiles of the step of `m` known to be faster than overlapped tiles? They always were on the hardware that
 * was measured, that with asynchronous copies, except for steps that compute functions. */
bool schedule_streaming_wins(const PassContext *c, const Module *m);
/* Makes the lanes of streamed tile `s` of module `m`, chosen for `want`, twice as wide if their width is open and that
 * is clearly faster. */
void schedule_widen(PassContext *c, const Module *m, const Schedule *want, Schedule *s);

/* ---------------------------------------------------------------- why.c */

/* Adds lines to *out that say why the plan for the open parts of `want` of module `m`, which is neither cut nor
 * repeated, is `chosen`: the best `most` candidates, each with the model's time and bound, and the reasons why others
 * were excluded. */
void plan_why(PassContext *c, const Module *m, const Schedule *want, const Schedule *chosen, int most, Str *out);

#endif
