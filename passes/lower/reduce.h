/* passes/lower/reduce.h: what the kernels of reductions share (private to passes/lower).
 *
 *   lower-reduce.c   reductions and updates as kernels, in the order of combination that all devices have
 *   lower-rows.c     the values of rows, by kernels of tiles of rows, which may make the stencils before, too
 */
#ifndef STC_PASSES_REDUCE_H
#define STC_PASSES_REDUCE_H

#include "passes/lower/lower.h"

/* Lanes that may trade by shuffles: those of the smallest warp. */
enum { WARP = 32 };

/* A kernel in the making, for reduction `r`: at `b` its body is built. buffer: the partial values; rows: the values of
 * the region's rows, that of a hidden field, -1: there are none; result: where the value goes; lane: the thread's
 * number (i32) and `lane64` the same (targets with threads). member: whose value the block works on, from 0 on, an i64,
 * and slot: where its partial values begin in the buffer (Reduction.each); NULL: it is of the whole region, and they
 * begin at 0. update: the number of the update that this is, -1: it is none; lead, last: those of the first and the
 * last one that the thread with the result makes. few: the rows are so few that what combines the blocks combines them,
 * too. */
typedef struct Reducer {
  Lowering *lo;
  const Reduction *r;
  int rank, kernel, buffer, rows, result, points;
  int lead, update, last;
  bool few;
  Value *zero, *lane, *lane64, *block, *member, *slot;
} Reducer;

/* ---------------------------------------------------------------- lower-reduce.c */

/* The identity of the reduction; `x` combined with `y`. */
Value *reducer_identity(const Reducer *k, Builder *b);
Value *reducer_combine(const Reducer *k, Builder *b, Value *x, Value *y);
/* Points of the region, of a member its own, in dimension d, 0 if it is empty. How many rows the region has. */
Value *reducer_extent(const Reducer *k, Builder *b, int d);
Value *reducer_rows(const Reducer *k, Builder *b);
/* Update number `i` of lo->m as a reduction of that name. */
const Reduction *update_reduction(const Lowering *lo, int i);
/* Does update number `i` read a state that one from number `first` to before it changes? */
bool update_waits(const Module *m, int first, int i);
/* Adds the kernel `name` of `blocks` blocks of `threads` threads (where there are any), whose body `fn` builds, and its
 * launch to `seq`. */
void reducer_kernel(Reducer *k, HostSeq *seq, const char *name, int blocks, int threads,
                    void (*fn)(const Reducer *k, Builder *b));

/* ---------------------------------------------------------------- lower-rows.c */

/* Is `r` to be made of the values of its rows? Then the buffer for them, which is made now; else -1. Of update number
 * `i`, which is `r`: that which a launch before it may have left them in. */
int rows_buffer(Lowering *lo, const Reduction *r);
int rows_of_update(Lowering *lo, int i, const Reduction *r);
/* Was update number `i` joined to the launch before it, which left the values of its rows there? Forgets it. */
bool rows_at_hand(Lowering *lo, int i);
/* Adds the kernel `name` that leaves the values of the rows of `r` in `buffer`, and its launch to `seq`. */
void rows_launch(Lowering *lo, HostSeq *seq, const Reduction *r, int buffer, const char *name);
/* Are the rows of the region so few that one block combines them? */
bool rows_are_few(const Module *m, const Box *over);
/* The value of block number `block` (i64), from those of its rows. */
Value *rows_of_block(const Reducer *k, Builder *b, Value *block);
/* The kernel that leaves it for all blocks, of WARP threads each (fn of reducer_kernel). */
void rows_into_blocks(const Reducer *k, Builder *b);

#endif
