/* passes/lower/warps.h: time over warps (private to passes/).
 *
 *   warps.c        what a level of the pipeline computes of its equation when which row has come
 *   warps-rows.c   the rows of a group through the levels of a warp
 *   warps-strip.c  strips, segments and the rows that come and go by bulk copies
 *   lower-warps.c  the kernel: pass lower-warps
 *
 * Words: a block takes *segments*: runs of rows of a *strip* of 32 X columns. Its W warps are a pipeline in time: warp
 * w makes levels w C + 1 to (w + 1) C of the whole strip. Rows come in order, U of them a *group*; between two warps
 * they go through a *ring* of G groups in shared memory. A level adds up, for each of the rows that it is about to
 * make, what has come so far: the *stage* of a row to be is the number of rows that have come of those that its
 * equation reads, less one. Between two stages of a row values are *kept*. */
#ifndef STC_PASSES_WARPS_H
#define STC_PASSES_WARPS_H

#include "passes/lower/lower.h"

/* The equation of a level, from the `main` piece of stencil `st`, whose values are numbered as body_number does: it
 * reads rows -below .. above and columns -left .. right about the point. Rows have stages 0 .. last. A value is `free`
 * (it can be computed anywhere), or computed at stage at[v]; until stage until[v] it is used. slot[v]: where it is kept
 * meanwhile, of `slots` places that each hold a value for each cell; -1: it is not. carrier[s]: the place that holds,
 * for points outside of the main piece, their own value between stages s and s + 1; of places only for that the number
 * is the last. */
typedef struct WarpEquation {
  const Module *m;
  const Stencil *st;
  const Piece *piece;
  int32_t field, main, below, above, left, right, last, nvalues, slots;
  int32_t *at, *until, *slot, *carrier;
  bool *free, sums, constant;
  Type *slot_type;
} WarpEquation;

/* The equation of the step of module `m` (of its last level, if it is tiled); NULL and *why (the end of a sentence) if
 * it does not fit. */
const WarpEquation *warps_equation(const Module *m, const char **why);
/* Instructions of additions, multiplications and the like that the equation takes for a point. */
int warps_operations(const WarpEquation *e);

/* The sizes of a tile: cells a lane, levels a warp, warps, groups a ring, rows a group, how many of these the code has
 * written out, elements of 16 bytes, columns that are lost to the halo on a side (a multiple of those), rows that are
 * lost at both ends of a segment. */
typedef struct WarpShape {
  int32_t X, C, W, G, U, V, vector, halo, ends;
} WarpShape;
WarpShape warps_shape(const TargetInfo *t, const WarpEquation *e, const Schedule *s);
/* Columns and rows of the grid that open choices are to suit. */
enum { WARPS_GRID = 1 << 14 };
/* No row or column has such a number. */
enum { WARPS_FAR = 1 << 30 };
/* Words of registers that what is kept takes; rows of a segment on such a grid. */
int32_t warps_kept_words(const WarpEquation *e, const WarpShape *w);
double warps_segment_rows(const TargetInfo *t, const WarpEquation *e, const WarpShape *w);
/* Strips of such a grid. */
int32_t warps_strips(const WarpShape *w);
/* Bytes of shared memory of a block; registers that a thread takes, about; blocks that a core of `t` has room for. */
int64_t warps_shared_bytes(const WarpEquation *e, const WarpShape *w);
int32_t warps_registers(const WarpEquation *e, const WarpShape *w);
int32_t warps_per_core(const TargetInfo *t, const WarpEquation *e, const WarpShape *w);

/* ---------------------------------------------------------------- the kernel */

/* A lane has at most so many cells. */
enum { MAX_WARP_CELLS = 64 };
/* Which points a group's rows may have outside of the main piece: none; the first and last cells of a lane, at the left
 * and right rim; any, which are put by. */
typedef enum WarpRims { RIMS_NONE, RIMS_SIDES, RIMS_ANY, RIMS } WarpRims;

/* A segment: its first row, the row behind its last, the first column of its strip; of that columns [from, to) are
 * stored, and `columns` loaded. The first row that comes in, and the groups that do. All i32; rows and columns are
 * counted from the field's first. */
typedef struct WarpSegment {
  Value *first, *end, *x, *from, *to, *columns, *y, *groups;
} WarpSegment;

/* A kernel in the making. bulk: rows go by bulk copies, which needs rows of whole 16 bytes; else lane by lane. */
typedef struct WarpKernel {
  Lowering *lo;
  const Launch *l;
  const WarpEquation *e;
  WarpShape w;
  Kernel *k;
  Builder b;
  bool bulk;
  int32_t blocks;               /* of the launch */
  int ring, full, empty, share; /* arrays */
  int32_t *sums;                /* private arrays: what each level of a warp keeps */
  int32_t *by;                  /* such: what rows become that are outside of the main piece, until they are due */
  Value *lane, *warp;           /* i32 */
  Value *is_first, *is_final;   /* is it the first (last) warp */
  Value *in_warp;               /* the lane's first column in the strip, i32 */
  Value *step;                  /* the launch's first time step, or NULL */
  Value *group;                 /* number of the group in its segment, i32 */
  Value *rows, *columns;        /* of the field, i64 */
  Value *strips, *length;       /* strips; rows of one, with what a segment costs beside */
} WarpKernel;

/* "x + y" and the like of integers and constants. */
Value *warps_add(WarpKernel *k, Value *x, int64_t y);
Value *warps_mul(WarpKernel *k, Value *x, int64_t y);
/* The coordinate in dimension `d`, i64, of row or column `x` (i32) of the field. */
Value *warps_grid(WarpKernel *k, Value *x, int d);
/* Box dimension `d` of the main piece, as rows or columns of the field. */
Box warps_range(const WarpKernel *k, int d);
/* Are the rims at the left and right few columns, as many whatever the launch says? Then *left and *right are those. */
bool warps_sides(const WarpKernel *k, int32_t *left, int32_t *right);
/* Is the field as wide as a strip? Else its right rim can be any cell of a lane. */
Value *warps_wide(WarpKernel *k);

/* Computes the group of segment `s` whose first row that comes to the warp is `y` (i32), place `slot` (i32) of the
 * rings. */
void warps_group(WarpKernel *k, WarpRims rims, const WarpSegment *s, Value *y, Value *slot);

/* Sets rows, columns, strips and length. */
void warps_measure(WarpKernel *k);
/* The strips from *from to before *to (i32) in which the block has segments. */
void warps_share(WarpKernel *k, Value **from, Value **to);
/* Makes the array, and puts into it (by one thread, before a barrier), what warps_segment needs. */
void warps_make_share(WarpKernel *k);
void warps_put_share(WarpKernel *k);
/* The segment in strip `s`. */
WarpSegment warps_segment(WarpKernel *k, Value *s);

#endif
