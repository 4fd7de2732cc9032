/* passes/tile/size.h: what tiles of a schedule come to, whatever they cost: the points that they give out and compute
 * twice, the bytes and registers that they take, whether they fit.
 *
 *   overlap-size.c    overlapped tiles, in lanes or not
 *   stream-size.c     tiles that threads walk
 *   stream-fitted.c   of these those of planes that are fitted to the grid
 *   walk-size.c       tiles that one thread walks
 *
 * Pipelines of warps have theirs in warps.h. */
#ifndef STC_PASSES_SIZE_H
#define STC_PASSES_SIZE_H

#include "passes/tile/lanes.h"
#include "passes/tile/stream.h"

/* ---------------------------------------------------------------- overlap-size.c */

/* Cells in the last dimension between the first of a tile and its first result, V cells a lane: the halo in whole
 * lanes. */
int64_t lanes_halo(const Launch *l, int V);
/* Points that a tile of schedule `s`, in lanes or not, gives out in dimension `d`; <= 0 if none. */
int64_t overlap_width(const Launch *l, const Schedule *s, int d);
/* Bytes of shared memory that a block of schedule `s` takes whose warps trade `x`. */
int64_t lanes_bytes(const Lanes *x, const Schedule *s);
/* Bytes that a block takes: of shared memory; without threads, of the cache: all versions are in arrays then, two of a
 * field at once. */
int64_t overlap_bytes(const TargetInfo *t, const Launch *l, const Schedule *s);
/* Has the tile points to give out in all dimensions? */
bool overlap_has_width(const Launch *l, const Schedule *s);
/* Points computed for each point given out, in dimension `d` (large if there are none to give out), and in all. */
double overlap_redundancy_in(const Launch *l, const Schedule *s, int d);
double overlap_redundancy(const Launch *l, const Schedule *s);

/* ---------------------------------------------------------------- stream-size.c */

/* Points of a tile that are given out in dimension `d` under schedule `s`; <= 0 if none. */
int64_t stream_width(const Stream *p, const Schedule *s, int d);
/* Is the tile of `s` larger than the halo, and do its windows fit a block of target `t`? */
bool stream_fits(const TargetInfo *t, const Stream *p, const Schedule *s);
/* Bytes of shared memory that a block takes. */
int64_t stream_shared_bytes(const TargetInfo *t, const Stream *p, const Schedule *s);
/* Points computed for each point given out. */
double stream_redundancy(const Stream *p, const Schedule *s);
/* Do direct windows come in by rings, kept there until the last reader has taken them? Where copies run ahead, and such
 * rings leave room in the shared memory of target `t` for two blocks of `s`. */
bool stream_keeps_ring(const TargetInfo *t, const Stream *p, const Schedule *s);
/* Words of a thread's registers that windows take; instructions of all steps written out, about. */
int64_t stream_thread_words(const Stream *p, const Schedule *s);
int64_t stream_thread_code(const Stream *p, const Schedule *s);
/* Words that windows may take of the registers of a thread of `s`: in rank 3 what is left of those that a block of so
 * many threads shares, each scheduler's warps those of it. */
int64_t stream_good_words(const Schedule *s, int rank);
/* Is it by so few warps that planes are walked by `s`, with many cells each, that walks are slow to begin? */
bool stream_begins_slowly(const Stream *p, const Schedule *s);
/* Are the steps of `s` written out few enough instructions that they come fast enough? */
bool stream_code_is_short(const Stream *p, const Schedule *s);
/* Are there registers for the windows and, in rank 3, where threads have few, for what a long equation needs beside
 * them; and is the code not too long? */
bool stream_is_comfortable(const Stream *p, const Schedule *s);

/* ---------------------------------------------------------------- stream-fitted.c */

/* May tiles of pipeline `p` be fitted to the grid in any dimension? */
bool stream_can_fit(const Stream *p);
/* Points in dimension `d` that the first and the last tile of `s` give out beside those that every one does: the halo,
 * in whole lanes, where tiles are fitted, else 0. */
int64_t stream_overhang(const Stream *p, const Schedule *s, int d);
/* Tiles of `s` beside each other in dimension `d` of a grid that has `size` points there. */
int64_t stream_tiles(const Stream *p, const Schedule *s, int d, int64_t size);
/* Fitted if that makes tiles of `s` fewer on a grid of extents `size` (0: not known), else open. */
KnobWord stream_tiles_kind(const Stream *p, const Schedule *s, const int64_t *size);

/* ---------------------------------------------------------------- walk-size.c
 *
 * A tile gives out `chunk` rows (planes) of dimension 0. In the other dimensions it computes block[d] points, halo
 * included. */

/* Points of a tile of launch `l` under schedule `s` that are given out in dimension `d`; <= 0 if none. */
int64_t walk_width(const Launch *l, const Schedule *s, int d);
/* Lines that are computed together: the rows of a step in rank 2, lines of dimension 1 in rank 3. */
int32_t walk_lines(const Launch *l);
/* Rows that every instance makes at a step of a walk. */
int32_t walk_rows(const Launch *l);
/* Cells of an array's row before the first one computed, which whole vectors may read. */
int32_t walk_pad(const Launch *l);
/* Cells of the row of an array of a tile of `width` points in the last dimension, pads and halo included. */
int32_t walk_row(const Launch *l, int64_t width);
/* Bytes that all rings take under pipeline `p` and schedule `s`. */
int64_t walk_bytes(const Stream *p, const Schedule *s);
/* Has the tile points to give out, and its rings room in the cache of target `t`? */
bool walk_fits(const TargetInfo *t, const Stream *p, const Schedule *s);

#endif
