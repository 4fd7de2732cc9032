/* passes/simplify/analysis.h: analysis of index arithmetic, for the kernel passes.
 *
 *   ranges.c      linear forms and intervals of integers
 *   simplify.c    simplify_kernel
 *   fold.c        simplification of single ops (for simplify.c)
 *   squares.c     the order of operands in squared differences (for simplify.c)
 */
#ifndef STC_PASSES_ANALYSIS_H
#define STC_PASSES_ANALYSIS_H

#include "passes/registry.h"

/* ---------------------------------------------------------------- ranges.c */

/* An atom of a linear form: the thread's or block's number along dimension `index`, integer param `index`, or the value
 * `v`, which the analysis does not look into (induction variables among them). Unused members are 0. */
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

/* The sum of c and coef * atom for all terms; coefficients are not zero, and atoms are distinct. A value of an integer
 * type of b bits equals its form modulo 2^b; if the form's interval fits the type, they are equal. Immutable, in the
 * arena. */
typedef struct Linear {
  int64_t c;
  int32_t n;
  const LinearTerm *t;
} Linear;

/* The integers from lo to hi; all integers if not `known`. */
typedef struct Interval {
  bool known;
  int64_t lo, hi;
} Interval;

/* The analysis of one body. It caches forms by Value.id, so values need numbers (module_renumber); values that are made
 * later get theirs by ranges_number. identity, if set, says whether the analysis may assume that an idx.* op returns
 * its operand plus its offset. */
typedef struct Ranges {
  Arena *arena;
  const Module *m;
  const Kernel *k; /* NULL: a body of stencil IR */
  int32_t n, cap;  /* n: the number of numbered values; cap: the size of memo */
  Linear **memo;
  bool (*identity)(void *user, const Op *map);
  void *user;
} Ranges;

/* An analysis for `body` of kernel `k` of `m` (NULL in stencil IR); its values must be numbered. */
Ranges *ranges_new(Arena *a, const Module *m, const Kernel *k, const Block *body);
/* The same for a body whose values have numbers below `n` (the result of block_renumber), without reading the body. */
Ranges *ranges_numbered(Arena *a, const Module *m, const Kernel *k, int32_t n);
/* Gives `v` the next free number. */
void ranges_number(Ranges *r, Value *v);

/* linear_of: the form of an integer value (for other types an atom of its own). linear_of_affine: the form of an affine
 * bound. linear_sub: x - y. */
Linear linear_of(Ranges *r, const Value *v);
Linear linear_of_affine(Ranges *r, Affine x);
Linear linear_sub(Ranges *r, Linear x, Linear y);
/* Bounds of a form, if each atom may vary independently. Not known if an atom has no bounds, or if a bound exceeds 64
 * bits. */
Interval linear_interval(Ranges *r, Linear x);
/* Bounds of an integer value; always known for types narrower than i64. */
Interval value_interval(Ranges *r, const Value *v);
/* Is `v` a constant integer? Its value goes to *c. */
bool value_is_int(const Value *v, int64_t *c);

/* ---------------------------------------------------------------- simplify.c */

/* Simplifies one kernel of `m` (and numbers its values), and sets its arguments again. */
void simplify_kernel(PassContext *c, Module *m, Kernel *k);
/* Simplifies the bodies of stencil `st` of `m`. */
void simplify_stencil(PassContext *c, Module *m, Stencil *st);

#endif
