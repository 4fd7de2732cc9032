/* ir/verify/verify.h: what the files of the verifier share.
 *
 *   verify.c           all rules; those of stencils, reductions, lists of points and probes
 *   verify-declared.c  those of declarations
 *   verify-kernel.c    those of kernels and the host part
 *   verify-code.c      those of the code in all of them
 *   verify-outside.c   those of what is beyond fields' edges
 *   verify-losses.c    those of losses
 *   verify-sweeps.c    those of sweeps
 *   verify-updates.c   those of numbers that are kept, and of the updates that change them
 *   verify-repeats.c   those of repeats within a step
 *   verify-levels.c    those of reads of another level of the grid
 */
#ifndef STC_IR_VERIFY_H
#define STC_IR_VERIFY_H

#include "ir/ir.h"

/* Where code stands: a scalar's expression, a piece of a stencil, a kernel. */
typedef enum Context { CONTEXT_EXPR, CONTEXT_ELEMENT, CONTEXT_PIECE, CONTEXT_KERNEL } Context;

/* Offsets beyond this are refused, so that adding a few to a coordinate does not overflow. */
#define MAX_OFFSET (INT64_C(1) << 40)

/* The state of one verification. `where` names the code being checked for messages; `table` (mask + 1 places) is the
 * set of values in scope by open addressing, and `stack` the same values in order of definition, so that leaving a
 * block takes the newest out again. */
typedef struct Verifier {
  const Module *m;
  Diags *d;
  const Kernel *k;
  const Stencil *stencil; /* whose pieces are being checked; NULL: other code is */
  const char *where;
  Loc loc;
  Context context;
  int scalar;
  const Value **table, **stack;
  size_t mask;
  int depth;
  int errors;
} Verifier;

/* Reports a broken rule in the code being checked, at `at` or, if that is no place, where the code is. */
void verify_fail(Verifier *v, Loc at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Is `c` a value of type `t`? */
bool verify_is_value(Const c, Type t);
/* Checks that the terms of `x` are non-zero, sorted and name integer params. */
void verify_affine(Verifier *v, Loc at, Affine x);
/* Checks that `b` has `rank` dimensions with sound bounds. */
void verify_box(Verifier *v, Loc at, const Box *b, int rank);
/* Checks what is beyond the edges of field `f`. */
void verify_outside(Verifier *v, const Field *f);
/* Checks a whole body, which yields values of the `n` types. */
void verify_body(Verifier *v, const Block *b, const char *what, int n, const Type *types);
/* Checks that states are one number each, and in stencil IR the updates, and that stencils are in stages. */
void verify_states(Verifier *v);
void verify_updates(Verifier *v);
/* Checks the repeats within a step, and whose the reductions are. */
void verify_repeats(Verifier *v);
/* Checks the order of `st` and, if it is a sweep, that its pieces are in it: false after an error in the former; that
 * the read `op` behind the point leads to what the sweep in hand has passed. */
bool verify_order(Verifier *v, const Stencil *st);
void verify_layers(Verifier *v, const Stencil *st);
void verify_behind(Verifier *v, const Op *op);
/* Checks that `op`, which reads a field of another level of the grid, can. */
void verify_scaled(Verifier *v, const Op *op);
/* Checks losses, and what they are differentiated by. */
void verify_losses(Verifier *v);

/* Sets what messages begin with and where they point if there is no better place. */
void verify_at(Verifier *v, Loc loc, const char *kind, const char *name);
/* Checks that `t` is a scalar type. */
void verify_type(Verifier *v, Type t);
/* Checks what the module declares; false after an error. */
bool verify_declared(Verifier *v);
/* Checks what a sequence without loops launches and swaps. */
void verify_sequence(Verifier *v, const HostSeq *q);
/* Checks buffers, kernels and the host part. */
void verify_kernel_ir(Verifier *v);

#endif
