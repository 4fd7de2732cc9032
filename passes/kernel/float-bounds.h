/* passes/kernel/float-bounds.h: bounds of floats (private to passes/kernel; float-bounds.c). */
#ifndef STC_PASSES_KERNEL_FLOAT_BOUNDS_H
#define STC_PASSES_KERNEL_FLOAT_BOUNDS_H

#include "ir/ir.h"

/* What a float is unless it is NaN: from `lo` to `hi`, and no farther from zero than `most` where it is finite. */
typedef struct FloatBounds {
  double lo, hi, most;
} FloatBounds;

/* The bounds of all values of `body`, by number: `n` values have one. Of others than floats they mean nothing. If `k`
 * is not NULL, `body` is its: what its private arrays hold has bounds, too. */
FloatBounds *float_bounds(Arena *a, const Kernel *k, const Block *body, int32_t n);

#endif
