/* passes/plan/choose/legal.h: schedules that are legal and sensible, launch by launch: for the plan, and for lowerings.
 *
 *   plan/asked.h        a whole schedule, and what the driver asks of one
 *   legal.c             overlapped tiles, and tiles of any family
 *   schedule-tile.c     blocks and elements of overlapped tiles
 *   schedule-stream.c   tiles that are walked by threads
 *   schedule-rounds.c   rows of a walk for a grid of known size
 *   schedule-fit.c      tiles of walks of planes that are fitted to the grid
 *   schedule-warps.c    pipelines of warps in time
 *   choice.c            what is open, for a grid of known size
 */
#ifndef STC_PASSES_SCHEDULE_H
#define STC_PASSES_SCHEDULE_H

#include "passes/tile/stream.h"
#include "passes/plan/asked.h"

/* ---------------------------------------------------------------- any family: legal.c schedule-tile.c
 * schedule-stream.c schedule-warps.c choice.c */

/* The overlapped tile that `want` (what it says of walked tiles aside) comes to for launch `l` of `levels` steps, one
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
/* Are the numbers of the schedule asked for in order, whatever the program's accesses are? Reports an error if not. */
bool schedule_check(PassContext *c, const Module *m);
/* The most time steps that a tile may make: as many as there are to run, and as lie between two evaluations of a
 * reduction. *by is the reduction that this is due to, or NULL. */
int64_t most_levels(const Module *m, const Reduction **by);
/* The time steps a tile that the schedule asked for comes to if all stencils of the step share a launch. */
int schedule_levels(PassContext *c, const Module *m);
/* The same for the stream family: fills what `want` leaves open, for at most `most` time steps a tile
 * (schedule-stream.c); the steps a tile that it comes to. */
bool schedule_stream(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out);
/* Why tiles of module `m`, everything else than what is in `want` being left open, had better not be walked, NULL: they
 * had. */
const char *stream_is_not_better(PassContext *c, const Module *m, const Schedule *want, int64_t most);
int schedule_stream_levels(PassContext *c, const Module *m, const Schedule *want, int64_t most);
/* The same for time over warps (schedule-warps.c). */
bool schedule_warps(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out);
/* Why there is no such schedule (the end of a sentence), NULL: it is *out. */
const char *schedule_warps_why(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out);
/* The walked tile that `want` comes to for launch `l` of `levels` steps, in *out. NULL if it is legal, else why not (a
 * part of a sentence). */
const char *schedule_walk(PassContext *c, const Schedule *want, const Launch *l, int levels, Schedule *out);
/* Fills in what `want` leaves open for the grid of want->size, at most `most` time steps a tile (choice.c).
 * False, and *want is as it was, if there is no size, the choice for large grids is expected to be as good, or more
 * than T is said. */
bool schedule_suit(PassContext *c, const Module *m, int64_t most, Schedule *want);
/* Points computed for each point given out. */
double launch_redundancy(const Launch *l, const Schedule *s);

/* ---------------------------------------------------------------- walks: schedule-stream.c schedule-rounds.c */

/* Do direct windows come in by rings, kept there until the last reader has taken them? Where copies run ahead, and such
 * rings leave room in the shared memory of target `t` for two blocks of `s`. */
bool stream_keeps_ring(const TargetInfo *t, const Stream *p, const Schedule *s);
/* Bytes that launch `l` reads and writes for a point, without halo. */
double launch_bytes(const Launch *l);
/* Points of a tile that are given out in dimension `d` under schedule `s`; <= 0 if none. */
int64_t stream_width(const Stream *p, const Schedule *s, int d);
/* Is the tile of `s` larger than the halo, and do its windows fit a block of target `t`? */
bool stream_fits(const TargetInfo *t, const Stream *p, const Schedule *s);
/* Bytes of shared memory that a block takes. */
int64_t stream_shared_bytes(const TargetInfo *t, const Stream *p, const Schedule *s);
/* Registers that a thread will take, about. */
double stream_registers(const Stream *p, const Schedule *s);
/* Rows of a walk of planes for a grid of extents `size`, all but s->chunk being chosen: such that blocks fill the cores
 * in whole rounds (schedule-rounds.c). */
int32_t stream_rows(const TargetInfo *t, const Stream *p, const Schedule *s, const int64_t *size);
/* Is it by so few warps that planes are walked by `s`, with many cells each, that walks are slow to begin? */
bool stream_begins_slowly(const Stream *p, const Schedule *s);
/* Planes that the loads of walk `s` of pipeline `p` run ahead, all else of it being known: more than two as far as
 * there is room in shared memory that nothing else would make use of. */
int32_t stream_planes_ahead(const TargetInfo *t, const Stream *p, const Schedule *s);
/* Are the steps of `s` written out few enough instructions that they come fast enough? */
bool stream_code_is_short(const Stream *p, const Schedule *s);
/* Are there registers for the windows and, in rank 3, where threads have few, for what a long equation needs beside
 * them; and is the code not too long? */
bool stream_is_comfortable(const Stream *p, const Schedule *s);

/* ---------------------------------------------------------------- schedule-fit.c */

/* May tiles of pipeline `p` be fitted to the grid in any dimension? */
bool stream_can_fit(const Stream *p);
/* Points in dimension `d` that the first and the last tile of `s` give out beside those that every one does: the halo,
 * in whole lanes, where tiles are fitted, else 0. */
int64_t stream_overhang(const Stream *p, const Schedule *s, int d);
/* Tiles of `s` beside each other in dimension `d` of a grid that has `size` points there. */
int64_t stream_tiles(const Stream *p, const Schedule *s, int d, int64_t size);
/* Fitted if that makes tiles of `s` fewer on a grid of extents `size` (0: not known), else open. */
TilesKind stream_tiles_kind(const Stream *p, const Schedule *s, const int64_t *size);

#endif
