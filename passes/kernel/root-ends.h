/* passes/kernel/root-ends.h: roots and quotients of what is at the ends of its range (private to passes/kernel;
 * root-ends.c). */
#ifndef STC_PASSES_KERNEL_ROOT_ENDS_H
#define STC_PASSES_KERNEL_ROOT_ENDS_H

#include "passes/kernel/float-bounds.h"

/* Makes the `n` roots and quotients `ops` such that they keep their operands from where these take long, as far as that
 * is known to be worth it; their results are the same to the bit, whatever the operands are. of[id]: the bounds of
 * value `id`; wide: f64 is quick, and quotients of f32 may be made by it. New values have no numbers. */
void ease_ends(Arena *a, int32_t n, Op **ops, const FloatBounds *of, bool wide);

#endif
