/* passes/kernel/root-ends.h: quotients of what is at the ends of its range (private to passes/kernel; root-ends.c). */
#ifndef STC_PASSES_KERNEL_ROOT_ENDS_H
#define STC_PASSES_KERNEL_ROOT_ENDS_H

#include "ir/ir.h"

/* Makes quotient `op`, if it is of f32, one that keeps its operands from where quotients take long, as far as that is
 * known to be worth it; its result is the same to the bit, whatever they are. New values have no numbers. */
void ease_quotient(Arena *a, Op *op);

#endif
