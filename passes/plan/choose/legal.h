/* passes/plan/choose/legal.h: schedules that are legal and sensible, launch by launch: for the plan, and for lowerings.
 *
 *   plan/asked.h        a whole schedule, and what the driver asks of one
 *   legal.c             overlapped tiles, and tiles of any family
 *   schedule-tile.c     blocks and elements of overlapped tiles
 *   schedule-stream.c   tiles that are streamed by threads
 *   schedule-rounds.c   rows of a streamed tile for a grid of known size
 *   schedule-warps.c    pipelines of warps in time
 *   choice.c            the choice of open parts for a grid of known size
 */
#ifndef STC_PASSES_SCHEDULE_H
#define STC_PASSES_SCHEDULE_H

#include "passes/tile/mapping.h"
#include "passes/tile/warps.h"
#include "passes/plan/asked.h"

/* ---------------------------------------------------------------- any family: legal.c schedule-tile.c
 * schedule-stream.c schedule-warps.c choice.c */

/* Sets *out to the overlapped tile to which `want` (without its knobs of streamed tiles) resolves for launch `l` of
 * `levels` steps, one of several launches of a step if `part`. NULL if the tile is legal and sensible, else the reason
 * why not (a part of a sentence). */
const char *schedule_launch(PassContext *c, const Schedule *want, const Launch *l, int levels, bool part,
                            Schedule *out);
/* The same for a launch that is known to be one of several, on a grid of extents `size` (size[0] 0: a large one): more
 * tiles are examined, more closely. */
const char *schedule_part(PassContext *c, const Schedule *want, const Launch *l, const int64_t *size, Schedule *out);
/* The number of blocks of tile `s` of launch `l`, one of several of a step, for which a core must have room, so that
 * registers are limited for it; 0: no number is required. It is required where few warps wait for chains of roots and
 * quotients in f64, and one block more takes few registers away. */
int32_t part_blocks_a_core(const TargetInfo *t, const Launch *l, const Schedule *s);
/* Does `want` fit the step of `m`, which is cut into several launches? Reports it if not. */
bool schedule_may_be_cut(PassContext *c, const Module *m, const Schedule *want);
/* The text for the cut of the step of `m` in a plan with tiles of T steps: the cut; or that it is one launch, if
 * several stencils could be cut; NULL: there is nothing to write. */
const char *schedule_cut(Arena *a, const Module *m, int T);
/* Checks the numbers of the requested schedule that do not depend on the program's accesses. Reports an error if they
 * are wrong. */
bool schedule_check(PassContext *c, const Module *m);
/* The time steps a tile of the requested schedule if all stencils of the step share a launch. */
int schedule_levels(PassContext *c, const Module *m);
/* For the stream family: fills the open parts of `want`, for at most `most` time steps a tile (schedule-stream.c); the
 * steps a tile of the result. */
bool schedule_stream(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out);
/* The reason why tiles of module `m` should not be streamed if everything that `want` does not give is open, NULL: they
 * should be. */
const char *stream_is_not_better(PassContext *c, const Module *m, const Schedule *want, int64_t most);
/* Is the reason, on a target without threads, that a launch of plain loops for each stencil is expected to take less
 * time? */
bool loops_beat_streams(PassContext *c, const Module *m, const Schedule *want, int64_t most);
int schedule_stream_levels(PassContext *c, const Module *m, const Schedule *want, int64_t most);
/* For warp pipelines: fills the open parts of `want` (schedule-warps.c). */
bool schedule_warps(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out);
/* The reason why the tile of `s`, all of whose knobs are given, is not legal for level `e`, that of warps_level_for, in
 * the arena;
 * NULL: it is legal. */
const char *schedule_warps_wrong(Arena *a, const TargetInfo *t, const WarpLevel *e, const Schedule *s);
/* Sets *out to the schedule of a warp pipeline and returns NULL, or returns the reason why there is none (the end of a
 * sentence). */
const char *schedule_warps_why(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out);
/* Sets *out to the streamed tile to which `want` resolves for launch `l` of `levels` steps. NULL if it is legal, else
 * the reason why not (a part of a sentence). */
const char *schedule_streamed(PassContext *c, const Schedule *want, const Launch *l, int levels, Schedule *out);
/* Fills the open parts of `want` for the grid of want->size, with at most `most` time steps a tile (choice.c). False,
 * and *want is unchanged, if there is no size, the choice for large grids is expected to be as good, or more than T is
 * given. */
bool schedule_suit(PassContext *c, const Module *m, int64_t most, Schedule *want);

/* ---------------------------------------------------------------- streamed tiles: schedule-stream.c schedule-rounds.c
 */

/* The approximate number of registers that a thread will take. */
double stream_registers(const Mapping *p, const Schedule *s);
/* The rows of a streamed tile of planes for a grid of extents `size`, with everything but s->chunk chosen: such that
 * blocks fill the cores in whole rounds (schedule-rounds.c). */
int32_t stream_rows(const TargetInfo *t, const Mapping *p, const Schedule *s, const int64_t *size);
/* How many planes ahead the loads of streamed tile `s` of mapping `p` run, whose other knobs are chosen: more than two
 * as far as shared memory has room that nothing else would use. */
int32_t stream_planes_ahead(const TargetInfo *t, const Mapping *p, const Schedule *s);

#endif
