/* passes/simplify/analysis.h: what the kernel passes know about index arithmetic.
 *
 *   ranges.c      linear forms and intervals of integers
 *   simplify.c    simplify_kernel
 *   fold.c        what one op comes to by itself (for simplify.c)
 *   squares.c     which way around differences are that are squared (for simplify.c)
 */
#ifndef STC_PASSES_ANALYSIS_H
#define STC_PASSES_ANALYSIS_H

#include "passes/registry.h"

/* ---------------------------------------------------------------- ranges.c */

/* What a linear form is made of: the thread's or block's number along dimension `index`, integer param `index`, or the
 * value `v` that the analysis does not look into (induction variables among them). Unused members are 0. */
typedef enum AtomKind { ATOM_THREAD, ATOM_BLOCK, ATOM_RANK, ATOM_SCALAR, ATOM_VALUE } AtomKind;
typedef struct Atom {
  AtomKind kind;
  int32_t index;
  const Value *v;
} Atom;
typedef struct LinearTerm {
  Atom atom;
  int64_t coef;
} LinearTerm;

/* c + sum of coef * atom, coefs not zero, atoms distinct. A value of an integer type of b bits has a form that equals
 * it modulo 2^b; if the form's interval fits the type they are equal. Immutable, in the arena. */
typedef struct Linear {
  int64_t c;
  int32_t n;
  const LinearTerm *t;
} Linear;

/* The integers from lo to hi, or all if not known. */
typedef struct Interval {
  bool known;
  int64_t lo, hi;
} Interval;

/* The analysis of one body. Forms are remembered by Value.id, so values need numbers (module_renumber); values made
 * later get theirs with ranges_number. identity, if set, is asked whether an idx.* op may be taken to return its
 * operand plus its offset. */
typedef struct Ranges {
  Arena *arena;
  const Module *m;
  const Kernel *k; /* NULL: a body of stencil IR */
  int32_t n, cap;  /* values numbered; places in memo */
  Linear **memo;
  bool (*identity)(void *user, const Op *map);
  void *user;
} Ranges;

/* An analysis for `body`, of kernel `k` of `m` (NULL in stencil IR), whose values are numbered. */
Ranges *ranges_new(Arena *a, const Module *m, const Kernel *k, const Block *body);
/* The same for a body whose values have the numbers below `n` (block_renumber has returned it), without a look at it.
 */
Ranges *ranges_numbered(Arena *a, const Module *m, const Kernel *k, int32_t n);
/* Gives `v` the next free number. */
void ranges_number(Ranges *r, Value *v);

/* The form of an integer (other types: an atom of its own). */
Linear linear_of(Ranges *r, const Value *v);
Linear linear_of_affine(Ranges *r, Affine x);
Linear linear_sub(Ranges *r, Linear x, Linear y);
/* Bounds of a form, each atom taken to vary by itself. Unknown if an atom has none or a bound leaves 64 bits. */
Interval linear_interval(Ranges *r, Linear x);
/* Bounds of an integer value; always known for types narrower than i64. */
Interval value_interval(Ranges *r, const Value *v);
/* Is the constant integer, whose value goes to *c? */
bool value_is_int(const Value *v, int64_t *c);

/* ---------------------------------------------------------------- simplify.c */

/* Simplifies one kernel of `m` (whose values this numbers) and sets its arguments anew. */
void simplify_kernel(PassContext *c, Module *m, Kernel *k);
/* Simplifies the bodies of stencil `st` of `m`. */
void simplify_stencil(PassContext *c, Module *m, Stencil *st);

#endif
