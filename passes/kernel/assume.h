/* passes/kernel/assume.h: simplifies a kernel's tests and coordinate maps under a condition on the block (private to
 * specialize.c, split-loops.c and thin-regions.c).
 *
 * Every coordinate is a block part, plus params, plus an inner part with constant bounds (from threads and loop
 * counters). So a test of all points of the tile is a test of the block part against bounds that are moved inwards by
 * these constants; the result is the same for all threads.
 *
 * The analysis visits the body backwards, and considers only what is live under the assumptions made so far: if
 * select(inside A, x, y) is live and A is assumed, y is not live, so tests and maps that only y needs are no part of
 * the condition. A test that contradicts earlier assumptions for all params is not assumed. */
#ifndef STC_PASSES_KERNEL_ASSUME_H
#define STC_PASSES_KERNEL_ASSUME_H

#include "passes/simplify/analysis.h"

/* The most block parts in a condition, and the most bounds of a part that do not differ by constants. */
enum { MAX_PARTS = 8, MAX_BOUNDS = 8 };

/* The axes that a part of a condition may depend on: the block number in each dimension, and the round of the loop that
 * is analysed. */
enum { ROUND = MAX_RANK, PART_AXES };

/* lo[i] <= u and u <= hi[j] for all i, j, where u = sum of coef[d] * block_d + coef[ROUND] * the loop's number. */
typedef struct Part {
  int64_t coef[PART_AXES];
  int32_t nlo, nhi;
  Affine lo[MAX_BOUNDS], hi[MAX_BOUNDS];
} Part;

/* A coordinate of points of the tile: `block` is its block part, `rest` its params and constants, and [least, most] the
 * bounds of its inner part. varies: does the coordinate differ within the tile? */
typedef struct Coordinate {
  int64_t block[PART_AXES];
  Affine rest;
  int64_t least, most;
  bool varies;
} Coordinate;

/* A condition on the block: the conjunction of its parts. */
typedef struct Condition {
  int32_t n;
  Part part[MAX_PARTS];
} Condition;

/* The assumptions in one version of a kernel, or, if `loop` is given, in some of the rounds of that loop: then only
 * coordinates that grow by one with the loop's number are assumed, and only in its body. decision, dropped and live are
 * indexed by Value.id. dropped: a bit for each assumed coordinate of an inside that is not assumed as a whole. assumed,
 * kept: the number of tests and maps. */
typedef struct Assumptions {
  Arena *arena;
  Ranges *ranges;
  const Op *loop;       /* NULL: the whole kernel */
  const Const *scalars; /* the default params; NULL: not known */
  Condition *condition;
  uint8_t *decision, *dropped;
  bool *live;
  int64_t assumed, kept;
} Assumptions;

/* The assumptions that can be made in `k`, whose values are numbered, or in rounds of its `loop`. NULL if there are
 * none. */
Assumptions *assumptions_find(PassContext *c, Module *m, Kernel *k, const Op *loop);
/* The assumptions that can be made in the first version of `versions`, an op of the body of `k` that chooses between
 * versions. The resulting condition begins with the condition of `versions`. */
Assumptions *assumptions_within(PassContext *c, Module *m, Kernel *k, const Op *versions);
/* Rewrites the assumed ops of `b`, which is the analysed body or a copy of it with the same value numbers: an inside
 * becomes true or loses coordinates, an idx.* becomes a sum. */
void assumptions_apply(const Assumptions *s, Block *b);
/* Splits v + off into the parts of a Coordinate; uses s->arena, s->ranges and s->loop. False if v has another form. */
bool tile_coordinate(Assumptions *s, const Value *v, int64_t off, Coordinate *x);
/* The block part u of `p`, without the loop's number, as an i64. */
Value *part_value(Builder *b, const Part *p);

#endif
