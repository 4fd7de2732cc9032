/* passes/plan/choose/legal.h: schedules that are legal and sensible, launch by launch: for the plan, and for lowerings.
 *
 *   plan/asked.h        a whole schedule, and what the driver asks of one
 *   legal.c             overlapped tiles, and tiles of any family
 *   schedule-tile.c     blocks and elements of overlapped tiles
 *   schedule-stream.c   tiles that are streamed by threads
 *   schedule-rounds.c   rows of a streamed tile for a grid of known size
 *   schedule-warps.c    pipelines of warps in time
 *   choice.c            what is open, for a grid of known size
 */
#ifndef STC_PASSES_SCHEDULE_H
#define STC_PASSES_SCHEDULE_H

#include "passes/tile/mapping.h"
#include "passes/tile/warps.h"
#include "passes/plan/asked.h"

/* ---------------------------------------------------------------- any family: legal.c schedule-tile.c
 * schedule-stream.c schedule-warps.c choice.c */

/* The overlapped tile that `want` (what it says of streamed tiles aside) comes to for launch `l` of `levels` steps, one
 * of several of a step if `part`, in *out. NULL if it is legal and sensible, else why not (a part of a sentence). */
const char *schedule_launch(PassContext *c, const Schedule *want, const Launch *l, int levels, bool part,
                            Schedule *out);
/* The same of a launch that is known to be one of several, on a grid of extents `size` (size[0] 0: a large one): more
 * tiles are looked at, more closely. */
const char *schedule_part(PassContext *c, const Schedule *want, const Launch *l, const int64_t *size, Schedule *out);
/* Blocks of tile `s` of launch `l`, one of several of a step, that a core must have room for, so that registers are
 * limited for it; 0: nothing is said. Where chains of roots and quotients in f64 are waited for by few warps, and one
 * block more takes few registers away. */
int32_t part_blocks_a_core(const TargetInfo *t, const Launch *l, const Schedule *s);
/* May the step of `m`, which is cut into several launches, have what `want` says of it? Reports it if not. */
bool schedule_may_be_cut(PassContext *c, const Module *m, const Schedule *want);
/* What a plan for `m` says of the cut of its step in tiles of T steps: the cut; that it is one launch, where several
 * stencils could be cut; NULL: there is nothing to say. */
const char *schedule_cut(Arena *a, const Module *m, int T);
/* Are the numbers of the schedule asked for in order, whatever the program's accesses are? Reports an error if not. */
bool schedule_check(PassContext *c, const Module *m);
/* The time steps a tile that the schedule asked for comes to if all stencils of the step share a launch. */
int schedule_levels(PassContext *c, const Module *m);
/* The same for the stream family: fills what `want` leaves open, for at most `most` time steps a tile
 * (schedule-stream.c); the steps a tile that it comes to. */
bool schedule_stream(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out);
/* Why tiles of module `m`, everything else than what is in `want` being left open, had better not be streamed, NULL:
 * they had. */
const char *stream_is_not_better(PassContext *c, const Module *m, const Schedule *want, int64_t most);
/* Is that, on a target without threads, since a launch of plain loops for each stencil is expected to take less time?
 */
bool loops_beat_streams(PassContext *c, const Module *m, const Schedule *want, int64_t most);
int schedule_stream_levels(PassContext *c, const Module *m, const Schedule *want, int64_t most);
/* The same for warp pipelines (schedule-warps.c). */
bool schedule_warps(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out);
/* Why the tile of `s`, all of whose knobs are said, is not legal for level `e`, that of warps_level_for, in the arena;
 * NULL: it is. */
const char *schedule_warps_wrong(Arena *a, const TargetInfo *t, const WarpLevel *e, const Schedule *s);
/* Why there is no such schedule (the end of a sentence), NULL: it is *out. */
const char *schedule_warps_why(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out);
/* The streamed tile that `want` comes to for launch `l` of `levels` steps, in *out. NULL if it is legal, else why not
 * (a part of a sentence). */
const char *schedule_streamed(PassContext *c, const Schedule *want, const Launch *l, int levels, Schedule *out);
/* Fills in what `want` leaves open for the grid of want->size, at most `most` time steps a tile (choice.c).
 * False, and *want is as it was, if there is no size, the choice for large grids is expected to be as good, or more
 * than T is said. */
bool schedule_suit(PassContext *c, const Module *m, int64_t most, Schedule *want);

/* ---------------------------------------------------------------- streamed tiles: schedule-stream.c schedule-rounds.c
 */

/* Registers that a thread will take, about. */
double stream_registers(const Mapping *p, const Schedule *s);
/* Rows of a streamed tile of planes for a grid of extents `size`, all but s->chunk being chosen: such that blocks fill
 * the cores in whole rounds (schedule-rounds.c). */
int32_t stream_rows(const TargetInfo *t, const Mapping *p, const Schedule *s, const int64_t *size);
/* Planes that the loads of streamed tile `s` of pipeline `p` run ahead, all else of it being known: more than two as
 * far as there is room in shared memory that nothing else would make use of. */
int32_t stream_planes_ahead(const TargetInfo *t, const Mapping *p, const Schedule *s);

#endif
