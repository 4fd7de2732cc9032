/* passes/kernel/inner.h: some blocks of a kernel by themselves, those of the interior or those that meet thin regions
 * (private to specialize.c, split-edges.c, idle-blocks.c, thin-regions.c, tile-classes.c and tile-lists.c; most of it
 * written in split-edges.c). */
#ifndef STC_PASSES_KERNEL_INNER_H
#define STC_PASSES_KERNEL_INNER_H

#include "passes/simplify/analysis.h"

/* At most so many bounds along one dimension that do not differ by constants. */
enum { MOST_BOUNDS = 8 };

/* The interior blocks along one dimension: from number `first` on those that cover `extent` points. Bounds
 * that do not differ by constants are only known at launch: `first` blocks cover the points before each of `lo`, and
 * none begins behind one of `hi`; then the number of the first block is scalar `begin` (-1: `first`), and `extent`
 * depends on lets, too. */
typedef struct Inner {
  int64_t first;
  Affine extent;
  int32_t begin, nlo, nhi;
  Affine lo[MOST_BOUNDS], hi[MOST_BOUNDS];
} Inner;

/* Are the blocks of r->k that are interior by `condition` a box of the grid of blocks, which goes to inner[rank], and
 * is it worthwhile to part them from the others? The values of the condition are numbered. */
bool inner_blocks(Ranges *r, const Value *condition, Inner *inner);
/* Takes those blocks out of `in` whose first point is not in [lo, hi]. False if what is left may be no range that can
 * be told from params. The extent still counts from block 0 on. */
bool inner_restrict(Inner *in, Affine lo, Affine hi, int64_t tile);
/* Makes lets of the bounds of `inner` that are known at launch, and has the extents count from the first block on. */
void inner_settle(Module *m, const Kernel *k, Inner *inner);
/* Leaves of the versions of `k` that `versions`, an op of its body, chooses between that of the interior blocks, which
 * are settled, and moves its blocks to these. The kernel covers what it did. */
void inner_alone(const Module *m, Kernel *k, Op *versions, const Inner *inner);
/* Moves the blocks of `k` to those of `inner`, which are settled. The kernel covers what it did. */
void inner_move(const Module *m, Kernel *k, const Inner *inner);
/* In `places` those of a block of `k`, which leaves blocks out, from its number along the last dimension. first: the
 * numbers of the first of these. */
void inner_edge_places(Builder *b, const Module *m, const Kernel *k, const Affine *first, Value **places);
/* Replaces the block ops of `k` by the values at `number`, which the ops in `before` compute. */
void inner_renumber(Kernel *k, Block *before, Value *const *number);
/* Leaves the idle blocks of `k` out (idle-blocks.c). */
void idle_leave_out(PassContext *c, Module *m, Kernel *k);
/* A name that no kernel of `m` has yet for one of the blocks of `k` that are `part`. */
const char *inner_name(const Module *m, const Kernel *k, const char *part);
/* How many ops `b` has, those within others counted. */
int64_t inner_ops(Block *b);
/* Is it worthwhile to part blocks of `k` from the others: does one not fill a device's registers by itself? */
bool inner_is_worthwhile(const Kernel *k);
/* Makes what `body`, a version of that of `k`, reads of word number i of k->tests bits[i] (settle-words.c). */
void settle_words(const Module *m, const Kernel *k, Block *body, const int64_t *bits);

/* tile-lists.c: may blocks of `k` be for the tiles of a list? */
bool tiles_may_be_listed(const Kernel *k);
/* Adds a list of the tiles of `k`, whose classes are in buffer `classes`, and what lists all of them, once. Its buffer.
 */
int32_t tiles_list(Module *m, const Kernel *k, int32_t classes);
/* The class of the tile that a block of `k` is for by buffer `list`; its numbers in tile[rank]. */
Value *tiles_row(Builder *b, const Kernel *k, int32_t list, Value **tile);
/* Has `k` go by list `list`: its blocks are for the tiles tile[rank], which `before` computes (tiles_row). */
void tiles_by_list(Kernel *k, int32_t list, int32_t classes, Block *before, Value *const *tile);

#endif
