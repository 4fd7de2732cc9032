/* passes/lower/naive.h: code for points that a thread computes from global memory alone (private to passes/lower).
 *
 *   naive.c          one point a thread: its pieces; one launch a stencil; the inits
 *   naive-points.c   several stencils a launch, and several points a thread
 */
#ifndef STC_PASSES_NAIVE_H
#define STC_PASSES_NAIVE_H

#include "passes/lower/lower.h"

/* A kernel in the making, for launch `l` of one stencil. only: the one target that it writes (-1: all). part: it
 * computes only these pieces (NULL: all). g: the thread's point. */
typedef struct Naive {
  Lowering *lo;
  const Launch *l;
  int only;
  const ThinPart *part;
  const Box *zone, *without; /* it computes only points in `zone` that are not in `without`; NULL: all, none */
  const Piece *piece;        /* the piece that contains all of these points; NULL: the thread tests for it */
  Value *g[MAX_RANK];
  Value *step;
} Naive;

/* ---------------------------------------------------------------- naive.c */

/* Point.access with a Naive as its user: from global memory. The code only runs for points of the piece, so only
 * outside rules need tests. */
Value *naive_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules);
/* Does kernel `k` write target `f`? */
bool naive_writes(const Naive *k, int f);
/* Copies the old value of target `f` at the point, if the kernel stores it to another buffer. Does nothing if only
 * parts of the stencil are computed. */
void naive_keep(const Naive *k, Builder *b, int f);
/* Builds at `b` the code of the point: the piece that contains it, or else the copy of old values. */
void naive_pieces(const Naive *k, Builder b);
/* Opens an if at `b` for points `g` that are in `zone` and not in `without` (NULL: all, none). */
Builder naive_in_zone(Builder *b, int rank, Value *const *g, const Box *zone, const Box *without);
/* Begins the body of kernel `index`, which covers `box` with `block` threads a block and `elems` adjacent points a
 * thread (NULL: one). Sets `start` (may be NULL) to the block's first point and `g` to the thread's first point. */
Builder naive_begin(Lowering *lo, int index, const int32_t *block, const int32_t *elems, const Box *box, Value **start,
                    Value *g[MAX_RANK]);

#endif
