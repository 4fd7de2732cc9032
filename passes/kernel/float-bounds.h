/* passes/kernel/float-bounds.h: bounds of floats (private to passes/kernel; float-bounds.c). */
#ifndef STC_PASSES_KERNEL_FLOAT_BOUNDS_H
#define STC_PASSES_KERNEL_FLOAT_BOUNDS_H

#include "ir/ir.h"

/* Bounds of a float that is not NaN: it lies in [lo, hi], and if it is finite its absolute value is at most `most`. */
typedef struct FloatBounds {
  double lo, hi, most;
} FloatBounds;

/* The bounds of all values of `body`, indexed by value number, for `n` numbered values; they mean nothing for values
 * that are not floats. If `k` is not NULL, `body` is its body, and loads from its private arrays have bounds, too. */
FloatBounds *float_bounds(Arena *a, const Kernel *k, const Block *body, int32_t n);

#endif
