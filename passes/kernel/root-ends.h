/* passes/kernel/root-ends.h: roots and quotients with operands at the ends of the range (private to passes/kernel;
 * root-ends.c). */
#ifndef STC_PASSES_KERNEL_ROOT_ENDS_H
#define STC_PASSES_KERNEL_ROOT_ENDS_H

#include "passes/kernel/float-bounds.h"

/* Rewrites the `n` roots and quotients `ops` so that operands at the ends of the range do not take the slow path, where
 * that is known to pay; results stay the same to the bit. of[id]: the bounds of value `id`. wide: f64 is fast, so
 * quotients of f32 may be computed in f64. New values have no numbers. */
void ease_ends(Arena *a, int32_t n, Op **ops, const FloatBounds *of, bool wide);

#endif
