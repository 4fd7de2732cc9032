/* passes/simplify/simplify.h: declarations that simplify.c (the traversal: merging, splicing, removing) and fold.c
 * (single ops) share. */
#ifndef STC_PASSES_SIMPLIFY_H
#define STC_PASSES_SIMPLIFY_H

#include "passes/simplify/analysis.h"

/* Counts for -stats. */
typedef struct SimplifyStats {
  int64_t folded, merged, spliced, removed;
} SimplifyStats;

/* An op that replaces later equal ones as long as its block is traversed. */
typedef struct Available {
  Op *op;
  uint64_t hash;
  struct Available *next;
} Available;

/* The simplification of one body.
 *
 *   arena, scratch   memory for the resulting body; memory that is needed only during the simplification
 *   forward          by Value.id: the value's replacement (NULL: itself); n_forward entries
 *   known            stand for true and false where the enclosing if decides a condition; become constants where used
 *   table            hash table of available ops, 2^bits chains
 *   stack            the n_stack available ops in the order in which they became available
 *   stored           by buffer: does the kernel store to it?
 *   aloads           by array: the loads from it that are left
 *   uses             by Value.id: the uses of the value
 *   changed          did this round change anything?
 */
typedef struct Simplifier {
  Arena *arena, *scratch;
  Module *m;
  Kernel *k;
  Ranges *ranges;
  Value **forward;
  int32_t n_forward;
  Value known[2];
  Available **table;
  int bits;
  Available **stack;
  int32_t n_stack;
  bool *stored;
  int32_t *aloads, *uses;
  bool changed;
  SimplifyStats stats;
} Simplifier;

/* The constant `c` of type `t`, available before `op`: an existing one, or a new one. */
Value *simplify_const(Simplifier *s, Op *op, Type t, Const c);
Value *simplify_int(Simplifier *s, Op *op, Type t, int64_t i);

/* In `b`, a body of stencil IR with `values` numbered values: gives squared differences of two accesses the smaller
 * offset first, if the difference has no other use (squares.c). */
void order_squares(Arena *a, int32_t values, Block *b);

/* The result of folding one op. value: the op's result is this value. first: a new op before it, which must be
 * simplified first, and then the op again. Neither: nothing more to do (the op may have been rewritten in place). */
typedef struct Fold {
  Value *value;
  Op *first;
} Fold;

/* Simplifies `op`, whose operands are simplified already. Sets s->changed if it rewrites the op in place. */
Fold fold_op(Simplifier *s, Op *op);

#endif
