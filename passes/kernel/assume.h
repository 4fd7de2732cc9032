/* passes/kernel/assume.h: what a kernel's tests and maps of coordinates come to where a condition on the block holds
 * (private to specialize.c, split-loops.c and thin-regions.c).
 *
 * Every coordinate is block part + param part + something between constants (the threads and loop counters), so that a
 * test for all points of the tile is a test of the block part against bounds moved in by these constants, the same for
 * all threads.
 *
 * What to assume is chosen by visiting, backwards, what is live under the assumptions made so far: where
 * select(inside A, x, y) is live and A is assumed, y is not live, and so tests and maps that only y needs are no part
 * of the condition. A test that contradicts earlier ones for all params is not assumed. */
#ifndef STC_PASSES_KERNEL_ASSUME_H
#define STC_PASSES_KERNEL_ASSUME_H

#include "passes/simplify/analysis.h"

/* How many different block parts, and bounds for each that do not differ by a constant, a condition may have. */
enum { MAX_PARTS = 8, MAX_BOUNDS = 8 };

/* What a part of a condition may be about: the block along each dimension, and the round of the loop that is looked at.
 */
enum { ROUND = MAX_RANK, PART_AXES };

/* lo[i] <= u and u <= hi[j] for all i, j, where u = sum of coef[d] * block_d + coef[ROUND] * the loop's number. */
typedef struct Part {
  int64_t coef[PART_AXES];
  int32_t nlo, nhi;
  Affine lo[MAX_BOUNDS], hi[MAX_BOUNDS];
} Part;

/* One coordinate of points of the tile: `block` is its block part, `rest` its params and constants, and [least, most]
 * the bounds of what varies inside the tile; varies: is there anything of that kind? */
typedef struct Coordinate {
  int64_t block[PART_AXES];
  Affine rest;
  int64_t least, most;
  bool varies;
} Coordinate;

/* A condition on the block: all parts hold. */
typedef struct Condition {
  int32_t n;
  Part part[MAX_PARTS];
} Condition;

/* What is assumed in one version of a kernel, or in the rounds of a loop of it: only what goes on evenly with `loop` is
 * assumed then, in its body. decision, dropped and live are indexed by Value.id; dropped: a bit for each coordinate of
 * an inside that is not assumed as a whole, but in that. assumed, kept: how many tests and maps. */
typedef struct Assumptions {
  Arena *arena;
  Ranges *ranges;
  const Op *loop;       /* NULL: the whole kernel */
  const Const *scalars; /* where the params have their defaults; NULL: not known */
  Condition *condition;
  uint8_t *decision, *dropped;
  bool *live;
  int64_t assumed, kept;
} Assumptions;

/* What may be assumed in `k`, whose values are numbered, or in the rounds of its `loop`. NULL if there is nothing. */
Assumptions *assumptions_find(PassContext *c, Module *m, Kernel *k, const Op *loop);
/* What may be assumed in the first version of those that `versions`, an op of the body of `k`, chooses between, where
 * its condition, which the result begins with, holds. */
Assumptions *assumptions_within(PassContext *c, Module *m, Kernel *k, const Op *versions);
/* Rewrites the assumed ops of `b`, the body looked at or a copy, whose values have the numbers of the original: inside
 * becomes true, or loses coordinates, and idx.* becomes a sum. */
void assumptions_apply(const Assumptions *s, Block *b);
/* Takes v + off apart, by s->arena, ranges and loop; false if it is not of the form that can be tested by block. */
bool tile_coordinate(Assumptions *s, const Value *v, int64_t off, Coordinate *x);
/* The block part u of `p`, without the loop's number, as an i64. */
Value *part_value(Builder *b, const Part *p);

#endif
