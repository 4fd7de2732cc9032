/* passes/plan/choose/walk.h: tiles that are walked by one thread.
 *
 *   schedule-walk.c       the tile: its size, its rings, what it may be
 *   plan/cost/walk-cost.c and their time
 *
 * A tile gives out `chunk` rows (planes) of dimension 0. In the other dimensions it computes block[d] points, halo
 * included. */
#ifndef STC_PASSES_WALK_H
#define STC_PASSES_WALK_H

#include "passes/tile/stream.h"

/* Points of a tile of launch `l` under schedule `s` that are given out in dimension `d`; <= 0 if none. */
int64_t walk_width(const Launch *l, const Schedule *s, int d);
/* Lines that are computed together: the rows of a step in rank 2, lines of dimension 1 in rank 3. */
int32_t walk_lines(const Launch *l);
/* Rows that every instance makes at a step of a walk. */
int32_t walk_rows(const Launch *l);
/* Rows that the ring of version `v` of `field` has under pipeline `p`. */
int32_t walk_ring(const Stream *p, int field, int v);
/* Cells of an array's row before the first one computed, which whole vectors may read. */
int32_t walk_pad(const Launch *l);
/* Cells of the row of an array of a tile of `width` points in the last dimension, pads and halo included. */
int32_t walk_row(const Launch *l, int64_t width);
/* Bytes that all rings take under pipeline `p` and schedule `s`. */
int64_t walk_bytes(const Stream *p, const Schedule *s);

/* For schedule-stream.c, on targets without threads: why launch `l` cannot be walked, NULL: it can; all but T of
 * `want`, filled up, in *s; what is wrong with a shape, and with a tile; the most time steps to
 * try. */
const char *walk_refused(Arena *a, const Launch *l);
void walk_choose(const TargetInfo *t, const Stream *p, const Schedule *want, Schedule *s);
const char *walk_wrong_shape(Arena *a, const Module *m, const Schedule *s);
const char *walk_too_large(Arena *a, const TargetInfo *t, const Stream *p, const Schedule *s);
int walk_most_levels(const Module *m);

/* walk-cost.c: what the time of tiles of pipeline `p` is made of whatever their size is. ns: nanoseconds a point of
 * each instance; longest: the arithmetic of the one that has most; kept: bytes of the rows that a tile comes back to,
 * for each cell of a row or plane; apart: bytes a point of what is read in other rows. */
typedef struct WalkParts {
  const TargetInfo *t;
  const Stream *p;
  int32_t lines;
  double *ns, longest, kept, apart;
} WalkParts;
WalkParts walk_parts(const TargetInfo *t, const Stream *p);
/* The same file: nanoseconds that a core is expected to take for a point and time step, all that is computed twice and
 * waited for among them; tiles of s->T steps on a grid of s->size, infinite where they give out nothing. */
double walk_ns(const WalkParts *w, const Schedule *s);
/* The same file, of plain loops on targets without threads. Does launch `step`, of one time step, compute so long at a
 * point that memory keeps up, and several steps a tile would save nothing? */
bool loops_hide_memory(const TargetInfo *t, const Launch *step);
/* Are the stencils of a step of `m`, which is neither cut nor repeated, expected to take less time as a launch each
 * than as one in tiles, where some have to copy what they do not compute? */
bool loops_are_better_apart(const TargetInfo *t, const Module *m);

#endif
