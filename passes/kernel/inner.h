/* passes/kernel/inner.h: separates some blocks of a kernel from the others, such as interior blocks or blocks that meet
 * thin regions (private to specialize.c, split-edges.c, idle-blocks.c, thin-regions.c, tile-classes.c and tile-lists.c;
 * most functions are in split-edges.c). */
#ifndef STC_PASSES_KERNEL_INNER_H
#define STC_PASSES_KERNEL_INNER_H

#include "passes/simplify/analysis.h"

/* The most bounds along one dimension that do not differ by constants. */
enum { MOST_BOUNDS = 8 };

/* A range of blocks along one dimension: they begin with number `first` and cover `extent` points. If some bounds do
 * not differ by constants, the range is known only at launch: it begins after all points before each of `lo`, and no
 * block begins after one of `hi`. Once the range is settled (inner_settle), scalar `begin` is the number of the first
 * block (-1: `first` is), and `extent` may depend on lets. */
typedef struct Inner {
  int64_t first;
  Affine extent;
  int32_t begin, nlo, nhi;
  Affine lo[MOST_BOUNDS], hi[MOST_BOUNDS];
} Inner;

/* Do the blocks for which `condition` holds form a box of the grid of blocks, and does it pay to separate them from the
 * others? The box goes to inner[rank]. The values of the condition must be numbered. */
bool inner_blocks(Ranges *r, const Value *condition, Inner *inner);
/* Restricts `in` to blocks whose first point lies in [lo, hi]. False if the rest may be no range that follows from
 * params. The extent still counts from block 0. */
bool inner_restrict(Inner *in, Affine lo, Affine hi, int64_t tile);
/* Makes lets of the bounds of `inner` that are known only at launch, and makes the extents count from the first
 * block. */
void inner_settle(Module *m, const Kernel *k, Inner *inner);
/* Keeps only the first version of `versions`, an op of the body of `k` that chooses between versions, and moves the
 * blocks of `k` to the interior blocks `inner`, which are settled. Does not change what the kernel covers. */
void inner_alone(const Module *m, Kernel *k, Op *versions, const Inner *inner);
/* Moves the blocks of `k` to those of `inner`, which are settled. Does not change what the kernel covers. */
void inner_move(const Module *m, Kernel *k, const Inner *inner);
/* Computes the place of a block of `k`, a kernel that leaves blocks out, in all dimensions, from its number along the
 * last dimension. first: the numbers of the first block that is left out. */
void inner_edge_places(Builder *b, const Module *m, const Kernel *k, const Affine *first, Value **places);
/* Replaces the block ops of `k` by the values `number`, which the ops in `before` compute. */
void inner_renumber(Kernel *k, Block *before, Value *const *number);
/* Removes the idle blocks of `k` (idle-blocks.c). */
void idle_leave_out(PassContext *c, Module *m, Kernel *k);
/* A new kernel name, for a kernel with some of the blocks of `k`; `part` says which. */
const char *inner_name(const Module *m, const Kernel *k, const char *part);
/* The number of ops of `b`, nested ones included. */
int64_t inner_ops(Block *b);
/* Does it pay to separate blocks of `k` from the others? split-edges.c has the rule. */
bool inner_is_worthwhile(const Kernel *k);
/* In `body`, a version of the body of `k`, replaces reads of word i of k->tests by the constant bits[i]
 * (settle-words.c). */
void settle_words(const Module *m, const Kernel *k, Block *body, const int64_t *bits);

/* May blocks of `k` take their tiles from a list? (tile-lists.c) */
bool tiles_may_be_listed(const Kernel *k);
/* Adds a list of the tiles of `k`, whose classes are in buffer `classes`, and a kernel, launched once, that lists all
 * of them. Returns the list's buffer. */
int32_t tiles_list(Module *m, const Kernel *k, int32_t classes);
/* The class of a block's tile by the list in buffer `list`; the tile's numbers go to tile[rank]. */
Value *tiles_row(Builder *b, const Kernel *k, int32_t list, Value **tile);
/* Makes `k` use the list in buffer `list`: its blocks compute the tiles tile[rank], which `before` computes
 * (tiles_row). */
void tiles_by_list(Kernel *k, int32_t list, int32_t classes, Block *before, Value *const *tile);

#endif
