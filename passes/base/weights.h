/* passes/base/weights.h: what an op takes, the one table of it, and the registers of a body (weights.c). */
#ifndef STC_PASSES_WEIGHTS_H
#define STC_PASSES_WEIGHTS_H

#include "ir/ir.h"

/* How many additions of its type an op takes the time of, about: 0 for what costs nothing by itself, such as constants,
 * accesses and coordinates. */
double op_additions(const Op *op);
/* The same of a root or quotient that is tested together with others (pass range-guards), the test with it. */
double op_ranged_additions(const Op *op);
/* Instructions that an op becomes, about: roots and quotients that round correctly are many, fewer with fast_math. */
int32_t op_instructions(const Op *op, bool fast_math);
/* Operations on the pipe for f64 that an op on such values becomes; on that for functions and conversions an op that
 * goes there does. */
int32_t op_f64_operations(const Op *op);
int32_t op_special(const Op *op);
/* Is it the greater or less of two numbers? */
bool op_is_extreme(const Op *op);

/* Is op `op` of stencil IR computed once by a kernel, and not at each point: of nothing but constants and scalars? */
bool op_is_of_scalars(const Op *op);

/* In what part of all steps `v` holds, if that is a test whether the number of the step, and of one some steps behind
 * it, has a remainder when it is divided by a constant; else 0. */
double value_step_share(const Value *v);

/* By the number of each value of stencil IR `body`, which it numbers: in what part of all steps it is needed, as far as
 * choices by the step say (kernel/step-branches.c). Memory from `a`. */
double *body_step_shares(Arena *a, const Block *body);

/* 32-bit words of a value of type `t`: the registers that it takes. */
int32_t type_words(Type t);
/* Most words that are alive at once in stencil IR `body` if its ops run in order. Numbers its values; memory from `a`.
 */
int32_t body_live_words(Arena *a, Block *body);

#endif
