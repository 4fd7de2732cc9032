/* passes/lower/reduce.h: functions that the kernels of reductions share (private to passes/lower).
 *
 *   lower-reduce.c   reductions and updates as kernels, in the order of combination that all devices have
 *   lower-rows.c     the values of rows, by kernels of tiles of rows, which may compute the stencils before, too
 */
#ifndef STC_PASSES_REDUCE_H
#define STC_PASSES_REDUCE_H

#include "passes/lower/lower.h"

/* The most lanes that exchange values by shuffles: those of the smallest warp. */
enum { WARP = 32 };

/* A kernel in the making, for reduction `r`.
 * buffer: the partial values; rows: the values of the region's rows, in a hidden field, -1: there are none; result:
 * where the value goes. lane: the thread's number (i32), lane64: the same as an i64 (targets with threads). member: the
 * member whose value the block computes, counted from 0, an i64; slot: where its partial values begin in the buffer
 * (Reduction.each). Both are NULL for the whole region, whose partial values begin at 0. update: the number of the
 * update that this is, -1: it is none; lead, last: the first and the last update that the thread with the result
 * computes. few: there are so few rows that the kernel which combines the blocks also combines the rows. */
typedef struct Reducer {
  Lowering *lo;
  const Reduction *r;
  int rank, kernel, buffer, rows, result, points;
  int lead, update, last;
  bool few;
  Value *zero, *lane, *lane64, *block, *member, *slot;
} Reducer;

/* ---------------------------------------------------------------- lower-reduce.c */

/* reducer_identity: the identity of the reduction. reducer_combine: `x` combined with `y`. */
Value *reducer_identity(const Reducer *k, Builder *b);
Value *reducer_combine(const Reducer *k, Builder *b, Value *x, Value *y);
/* reducer_extent: the number of points of the region (or of a member's part of it) in dimension d, 0 if it is empty.
 * reducer_rows: the number of rows of the region. */
Value *reducer_extent(const Reducer *k, Builder *b, int d);
Value *reducer_rows(const Reducer *k, Builder *b);
/* Update number `i` of lo->m as a reduction with the update's name. */
const Reduction *update_reduction(const Lowering *lo, int i);
/* Does update number `i` read a state that one of the updates number `first` to `i` - 1 changes? */
bool update_waits(const Module *m, int first, int i);
/* Adds the kernel `name` of `blocks` blocks with `threads` threads each (on targets with threads), whose body `fn`
 * builds, and its launch to `seq`. */
void reducer_kernel(Reducer *k, HostSeq *seq, const char *name, int blocks, int threads,
                    void (*fn)(const Reducer *k, Builder *b));

/* ---------------------------------------------------------------- lower-rows.c */

/* The buffer for the values of the rows of `r`, or -1 if `r` is not computed from them. rows_buffer makes a new one;
 * rows_of_update returns, for update number `i`, which is `r`, the buffer to which the launch before may have stored
 * them. */
int rows_buffer(Lowering *lo, const Reduction *r);
int rows_of_update(Lowering *lo, int i, const Reduction *r);
/* Did the launch before update number `i` store the values of its rows? Clears that mark. */
bool rows_at_hand(Lowering *lo, int i);
/* Adds the kernel `name` that stores the values of the rows of `r` to `buffer`, and its launch to `seq`. */
void rows_launch(Lowering *lo, HostSeq *seq, const Reduction *r, int buffer, const char *name);
/* Are the rows of the region so few that one block can combine them? */
bool rows_are_few(const Module *m, const Box *over);
/* The value of block number `block` (i64), combined from the values of its rows. */
Value *rows_of_block(const Reducer *k, Builder *b, Value *block);
/* The body (fn of reducer_kernel) of the kernel that stores the values of all blocks; it has WARP threads a block. */
void rows_into_blocks(const Reducer *k, Builder *b);

#endif
