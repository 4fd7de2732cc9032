/* passes/simplify/simplify.h: what simplify.c (the traversal: merging, splicing, removing) and fold.c (one op by
 * itself) share. */
#ifndef STC_PASSES_SIMPLIFY_H
#define STC_PASSES_SIMPLIFY_H

#include "passes/simplify/analysis.h"

/* What was done, for -stats. */
typedef struct SimplifyStats {
  int64_t folded, merged, spliced, removed;
} SimplifyStats;

/* An op that later equal ones are replaced by, while its block is being streamed. */
typedef struct Available {
  Op *op;
  uint64_t hash;
  struct Available *next;
} Available;

/* The simplification of one body.
 *   scratch   what is needed for the body alone; `arena` has what it is made of
 *   forward   by Value.id: what the value is replaced by (NULL: itself); n_forward places
 *   known     stand for true and false where the enclosing if decides a condition; they become constants where they are
 * used table     hash table of available ops, 2^bits chains; stack holds the n_stack of them in order of arrival stored
 * by buffer: does the kernel store to it? aloads    by array: loads from it that are left changed   did this round do
 * anything? */
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

/* The constant `c` of type `t`, available before `op`: one there is, or a new one put there. */
Value *simplify_const(Simplifier *s, Op *op, Type t, Const c);
Value *simplify_int(Simplifier *s, Op *op, Type t, int64_t i);

/* Lets squares of differences in `b`, a body of stencil IR with `values` numbers, name the place with the smaller
 * offset first, where the difference is not used for anything else: squares.c. */
void order_squares(Arena *a, int32_t values, Block *b);

/* What folding one op came to: nothing more to do (the op may have been rewritten in place); its result is `value`; or
 * `first`, newly put before it, is to be simplified first, and then the op again. */
typedef struct Fold {
  Value *value;
  Op *first;
} Fold;

/* Simplifies `op`, whose operands are simplified. Rewrites that leave the op set s->changed. */
Fold fold_op(Simplifier *s, Op *op);

#endif
