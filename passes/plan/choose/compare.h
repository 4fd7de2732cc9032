/* passes/plan/choose/compare.h: schedules compared by what they are expected to take.
 *
 *   schedule-model.c  by what their kernels take
 *   schedule-warps.c  pipelines of warps, which have an estimate of their own
 *   why.c             why, for people
 */
#ifndef STC_PASSES_PLAN_COMPARE_H
#define STC_PASSES_PLAN_COMPARE_H

#include "passes/plan/cost/estimate.h"

/* ---------------------------------------------------------------- schedule-model.c schedule-warps.c */

/* What was asked about the module at hand: of schedule_time (ok: it said anything), and of the candidates for its grid
 * (choice.c). */
typedef struct ModelEntry ModelEntry;
typedef struct PlanAnswer PlanAnswer;
struct ModelCache {
  Schedule rival;        /* the plan of another family than what is counted says that was taken last (rivals.c) */
  const char *why_rival; /* why; NULL: there is none */
  int32_t n, nanswers;
  ModelEntry *entries;
  PlanAnswer *answers;
};

/* Seconds that a time step takes, and the sum of what bounds each of its launches most, alone; what that is for the
 * longest of them, and the warps that a core holds of it; registers of a thread, words that it wants beyond those, and
 * instructions that come anew in each round of a loop, at most. why: there is no time, because of this, NULL: there is.
 */
typedef struct ScheduleTime {
  double seconds, longest, fetched;
  Bound bound;
  int32_t registers, spilled, warps;
  const char *why;
} ScheduleTime;
/* Do many words lack in what was lowered? ptxas spills several times as many as are estimated then (126 for 25, a wave
 * with layers in three dimensions), not fewer: so a rival none of whose words lack is taken unless it is expected to
 * be much slower. */
bool schedule_lacks_many(const ScheduleTime *time);
/* The time that schedule `s`, which is resolved and legal, takes on a grid of extents `size` (NULL, or size[0] 0: a
 * large one) for stencil IR module `m`, which was tiled for s->T: it is lowered to be looked at, which takes some
 * milliseconds and no memory; `m` is as before. False if it cannot be: that is no error, and out->why says why. */
bool schedule_time(PassContext *c, const Module *m, const Schedule *s, const int64_t *size, ScheduleTime *out);
/* The same with what tiles at edges take, where they are in one kernel with others. */
bool schedule_time_with_edges(PassContext *c, const Module *m, const Schedule *s, const int64_t *size,
                              ScheduleTime *out);
/* The same, also where they have a kernel of their own: both are looked at. */
bool schedule_time_parted(PassContext *c, const Module *m, const Schedule *s, const int64_t *size, ScheduleTime *out);
/* Picoseconds a point and step of module `m` on a grid of extents `size` (NULL: a large one) under schedule `s`, where
 * its family has an estimate of its own, for its kernels do not say how long their loops are; 0: it has none. */
double schedule_own_ps(const TargetInfo *t, const Module *m, const Schedule *s, const int64_t *size);
/* Can time run over warps for module `m`, and is a grid of extents `size` large enough for that to pay, with rows that
 * go by bulk copies? (schedule-warps.c) */
bool schedule_suits_warps(PassContext *c, const Module *m, const int64_t *size);
/* Is a warp pipeline faster than `stream`, the tiles that are streamed, on a grid of extents `size`, for module `m` of
 * rank 2, which was not tiled? On grids of known size that are large enough and whose rows are whole copies of 16
 * bytes: of sums where it was measured, of steps that compute roots and quotients where it is expected.
 * (schedule-warps.c) */
bool schedule_prefers_warps(PassContext *c, const Module *m, const Schedule *stream, const int64_t *size);
/* Picoseconds a point and step if tiles are streamed, where that is what `want`, of family "auto", comes to for module
 * `m`, which was not tiled and whose step is one launch; else infinite. */
double schedule_streamed_ps(PassContext *c, const Module *m, const Schedule *want);
/* The time a step of the streamed tile of T steps that `want` comes to for module `m`, which was not tiled; infinite if
 * there is none. */
double schedule_stream_seconds(PassContext *c, const Module *m, const Schedule *want, int T);
/* Time steps a streamed tile for module `m`, which was not tiled, where registers and the halo speak for `T`: fewer
 * where roots, quotients or functions bound the time, `more` where memory does, if that is expected to be better on the
 * grid of want->size, or a large one. */
int schedule_better_levels(PassContext *c, const Module *m, const Schedule *want, int T, int more);
/* Are overlapped tiles, those of the defaults, expected to be clearly faster on a large grid than the streamed ones of
 * schedule `stream`, which are what `want` comes to for module `m`? Of one that was tiled as they are and not as the
 * streamed ones, that was found before. */
bool schedule_overlaps(PassContext *c, const Module *m, const Schedule *want, const Schedule *stream);
/* Is it known that streamed tiles of the step of `m` beat overlapped tiles? They always did on the hardware that was
 * measured, that with asynchronous copies, but for steps that compute functions. */
bool schedule_streaming_wins(const PassContext *c, const Module *m);
/* Gives streamed tile `s` of module `m`, chosen for `want`, lanes twice as wide if that is left open and clearly
 * faster.
 */
void schedule_widen(PassContext *c, const Module *m, const Schedule *want, Schedule *s);

/* ---------------------------------------------------------------- why.c */

/* Adds lines to *out that say why the plan for what `want` leaves open of module `m`, which is neither cut nor
 * repeated, is `chosen`: the best `most` candidates, each with what the model expects of it and what bounds it, and the
 * reasons for which others are none. */
void plan_why(PassContext *c, const Module *m, const Schedule *want, const Schedule *chosen, int most, Str *out);

#endif
