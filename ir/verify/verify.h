/* ir/verify/verify.h: declarations that the files of the verifier share.
 *
 *   verify.c           all rules; those of stencils, reductions, lists of points and probes
 *   verify-declared.c  those of declarations
 *   verify-kernel.c    those of kernels and the host part
 *   verify-code.c      those of the code in all of them
 *   verify-outside.c   those of outside rules
 *   verify-losses.c    those of losses
 *   verify-sweeps.c    those of sweeps
 *   verify-updates.c   those of numbers that are kept from step to step, and of their updates
 *   verify-repeats.c   those of repeats within a step
 *   verify-levels.c    those of reads of another level of the grid
 */
#ifndef STC_IR_VERIFY_H
#define STC_IR_VERIFY_H

#include "ir/ir.h"

/* The kind of code: a scalar's expression, an element of an array, a piece of a stencil, a kernel. */
typedef enum Context { CONTEXT_EXPR, CONTEXT_ELEMENT, CONTEXT_PIECE, CONTEXT_KERNEL } Context;

/* Larger offsets are rejected, so that a coordinate plus a few offsets does not overflow. */
#define MAX_OFFSET (INT64_C(1) << 40)

/* The state of one verification. `where` names the code that is checked, for messages. `table` (mask + 1 slots) is the
 * set of values in scope, with open addressing; `stack` holds the same values in order of definition, so that the
 * newest can be removed at the end of a block. */
typedef struct Verifier {
  const Module *m;
  Diags *d;
  const Kernel *k;
  const Stencil *stencil; /* the stencil whose pieces are checked; NULL: other code */
  const char *where;
  Loc loc;
  Context context;
  int scalar;
  const Value **table, **stack;
  size_t mask;
  int depth;
  int errors;
} Verifier;

/* Reports a broken rule of the code that is checked, at `at`, or, if that is no place, at the place of the code. */
void verify_fail(Verifier *v, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Is `c` a value of type `t`? */
bool verify_is_value(Const c, Type t);
/* Checks that the terms of `x` are non-zero, sorted, and name integer params. */
void verify_affine(Verifier *v, Loc at, Affine x);
/* Checks that `b` has `rank` dimensions with valid bounds. */
void verify_box(Verifier *v, Loc at, const Box *b, int rank);
/* Checks the outside rules of field `f`. */
void verify_outside(Verifier *v, const Field *f);
/* Checks a whole body, which must yield values of the `n` types. */
void verify_body(Verifier *v, const Block *b, const char *what, int n, const Type *types);
/* Checks that states are one number each, in stencil IR the updates, and the stages of stencils. */
void verify_states(Verifier *v);
void verify_updates(Verifier *v);
/* Checks the repeats within a step, and to which repeats reductions belong. */
void verify_repeats(Verifier *v);
/* verify_order: checks the order of `st` and, if it is a sweep, that its pieces are sorted accordingly; false after an
 * error in the former. verify_behind: checks that the read `op` behind the point reads a layer that the present sweep
 * has passed. */
bool verify_order(Verifier *v, const Stencil *st);
void verify_layers(Verifier *v, const Stencil *st);
void verify_behind(Verifier *v, const Op *op);
/* Checks `op`, which reads a field of another level of the grid. */
void verify_scaled(Verifier *v, const Op *op);
/* Checks losses, and the inputs with respect to which they are differentiated. */
void verify_losses(Verifier *v);

/* Sets the beginning of messages, and the place to which they point if there is no better one. */
void verify_at(Verifier *v, Loc loc, const char *kind, const char *name);
/* Checks that `t` is a scalar type. */
void verify_type(Verifier *v, Type t);
/* Checks the declarations of the module; false after an error. */
bool verify_declared(Verifier *v);
/* Checks the launches and swaps of a sequence without loops. */
void verify_sequence(Verifier *v, const HostSeq *q);
/* Checks buffers, kernels and the host part. */
void verify_kernel_ir(Verifier *v);

#endif
