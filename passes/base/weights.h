/* passes/base/weights.h: the costs of ops, and the registers of a body (weights.c). */
#ifndef STC_PASSES_WEIGHTS_H
#define STC_PASSES_WEIGHTS_H

#include "ir/ir.h"

/* The approximate time of an op, in additions of its type; 0 for ops that cost nothing by themselves, such as
 * constants, accesses and coordinates. */
double op_additions(const Op *op);
/* The same for a root or quotient that is tested together with others (pass range-guards), including its share of the
 * test. */
double op_ranged_additions(const Op *op);
/* The approximate number of instructions of an op. Correctly rounded roots and quotients have many; with fast_math they
 * have fewer. */
int32_t op_instructions(const Op *op, bool fast_math);
/* op_f64_operations: the operations on the f64 pipe for an op on f64 values. op_special: the operations on the pipe for
 * functions and conversions. */
int32_t op_f64_operations(const Op *op);
int32_t op_special(const Op *op);
/* Is `op` the minimum or maximum of two numbers? */
bool op_is_extreme(const Op *op);

/* Does op `op` of stencil IR depend on constants and scalars only, so that a kernel computes it once and not at each
 * point? */
bool op_is_of_scalars(const Op *op);

/* If `v` tests whether the number of the step, or of a step some steps later, is a multiple of a constant: the share of
 * all steps in which it holds. Else 0. */
double value_step_share(const Value *v);

/* For each value of stencil IR `body`, whose values it numbers: the share of all steps in which it is needed, given
 * choices by the step (kernel/step-branches.c). Memory comes from `a`. */
double *body_step_shares(Arena *a, const Block *body);

/* The number of 32-bit words, that is registers, of a value of type `t`. */
int32_t type_words(Type t);
/* The most words that are live at once in stencil IR `body` if its ops run in order. Numbers its values; memory comes
 * from `a`. */
int32_t body_live_words(Arena *a, Block *body);

#endif
