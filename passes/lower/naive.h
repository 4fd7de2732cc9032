/* passes/lower/naive.h: the code of points that a thread makes from global memory alone (private to passes/lower).
 *
 *   naive.c          a thread a point: its pieces, a launch a stencil, the inits
 *   naive-points.c   several stencils a launch, and several points a thread
 */
#ifndef STC_PASSES_NAIVE_H
#define STC_PASSES_NAIVE_H

#include "passes/lower/lower.h"

/* A kernel in the making: for launch `l` of one stencil, of which only the target `only` is to be written (-1: all),
 * and only the pieces of `part` (NULL: all) are computed. `g` is the thread's point. */
typedef struct Naive {
  Lowering *lo;
  const Launch *l;
  int only;
  const ThinPart *part;
  const Box *zone, *without; /* only points of that box are, less those of the other; NULL: all, none */
  const Piece *piece;        /* the one that all of these are in; NULL: a thread finds out */
  Value *g[MAX_RANK];
  Value *step;
} Naive;

/* ---------------------------------------------------------------- naive.c */

/* Point.access, its user being a Naive: from global memory; the code runs for points of the piece only, so only outside
 * rules need help. */
Value *naive_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules);
/* Is target `f` written by kernel `k`? */
bool naive_writes(const Naive *k, int f);
/* Copies target `f`, if it is stored to the other buffer, at the point, which keeps it: not where only parts are
 * computed. */
void naive_keep(const Naive *k, Builder *b, int f);
/* The code of the point at `b`: of the piece that it is in, else what keeps the old values. */
void naive_pieces(const Naive *k, Builder b);
/* Begins, at `b`, what is done at the point `g` if it is in `zone` and not in `without` (NULL: all, none). */
Builder naive_in_zone(Builder *b, int rank, Value *const *g, const Box *zone, const Box *without);
/* Begins the body of kernel `index`, which covers `box` with `block` threads a block, of `elems` points each beside
 * each other (NULL: one), and finds the block's first point (`start`; NULL: it is not asked for) and the thread's first
 * one. */
Builder naive_begin(Lowering *lo, int index, const int32_t *block, const int32_t *elems, const Box *box, Value **start,
                    Value *g[MAX_RANK]);

#endif
