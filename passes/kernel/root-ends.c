/* root-ends.c: keeps roots and quotients off the slow path if their operands are at the ends of the range (zero,
 * subnormal, infinite). It handles those that range-guards.c leaves alone, in chains such as the Jacobi rotations of
 * anisotropic_diffusion: there iterations converge, so they divide zeros, divide by numbers that become subnormal, and
 * divide one by numbers that have become infinite. Hardware takes a call for such an operand, and one of them is enough
 * to delay a warp; among the quotients of a rotation that was the case in half of the warps. No result changes by a
 * bit.
 *
 * Bounds (float-bounds.c) make tests unnecessary. They hold for every float of a kernel but NaN, whatever it reads, and
 * allow for all rounding: a square is not negative; a root of a square and one is at least one, and one divided by it
 * at most one; a number whose square is part of a finite sum is below twice the root of the largest number; a private
 * array holds values within the bounds of all values stored to it. With bounds
 *
 * - a root of a value that is at least 2^-100 becomes `sqrt.ranged`, and a select yields the operand itself if it is
 *   infinite;
 * - a positive constant divided by a value away from zero becomes `div.ranged`, and a select yields zero if the divisor
 *   is infinite;
 * - a constant divided by a root of a bounded value becomes `div.root.ranged`.
 *
 * NaN passes through all of these. So a Jacobi rotation has no test but that of its program.
 *
 * div.wide: where f64 is at least half as fast as f32 (`TargetInfo.f64_rate`), other quotients of f32 are computed in
 * f64, where no f32 is near the ends of the range: 15 instructions without a branch.
 *
 * Identities keep the other operands of f32 away from the quotient itself:
 *
 *     x / y = x y              if x is zero and y is neither zero nor infinite: a zero with the same sign
 *     x / y = (x / (y s)) s    if y is tiny and x is not, and s is a power of two: y s is exact, and x / (y s) is
 *                              not subnormal
 *     c / y = a zero as y      if y is infinite, c > 0
 *
 * In f32 y is tiny below 2^-62, x is not tiny from 2^-60 on, and s is 2^64. In f64 only bounds are used: the tests of
 * the identities take the pipe that is full (anisotropic_diffusion 7.1 GPts/s in place of 7.3).
 *
 * A constant divided by a root of a value without bounds takes a test of its own, because the operand of such a root is
 * seldom at an end.
 *
 * The rotations of anisotropic_diffusion in f32 had 1553 instructions a point by `ncu`, and have 940 by their code.
 * Measured: docs/lab/programs.md#iterations-without-tests-and-blocks-of-two-warps-2026-11-23. */
#include "passes/kernel/root-ends.h"

#include <float.h>
#include <math.h>

#include "ir/run/run.h"

/* An f32 below TINY is tiny, one from NOT_TINY on is not; SCALE is the factor for tiny divisors. */
static const double TINY = 0x1p-62, NOT_TINY = 0x1p-60, SCALE = 0x1p64;

/* Is `v` a constant whose absolute value is ranged? */
static bool constant_is_ranged(const Value *v) {
  return v->def && v->def->code == OP_CONST && eval_ranged(v->type, fabs(v->def->cval.f));
}

static double largest(Type t) { return t == TY_F64 ? DBL_MAX : (double)FLT_MAX; }

static Value *number(Builder *b, Type t, double x) { return build_float(b, t, x); }

/* Turns `op` into a select: x if `which` holds, else y. */
static void become_choice(Arena *a, Op *op, Value *which, Value *x, Value *y) {
  op->code = OP_SELECT;
  op->noperands = 3;
  op->operands = ARENA_ARRAY(a, Value *, 3);
  op->operands[0] = which;
  op->operands[1] = x;
  op->operands[2] = y;
}

/* Rewrites the quotient of the positive constant op->operands[0]. positive: the divisor is positive, too. brief: the
 * short form is right for all finite divisors. */
static void ease_reciprocal(Arena *a, Op *op, bool positive, bool brief) {
  Builder b = builder_before(a, op);
  Value *c = op->operands[0], *y = op->operands[1], *zero = number(&b, y->type, 0);
  Value *far = build2(&b, OP_GT, positive ? y : build1(&b, OP_ABS, y), number(&b, y->type, largest(y->type)));
  Value *near = brief ? y : build3(&b, OP_SELECT, far, number(&b, y->type, 1), y);
  Value *q = build2(&b, brief ? OP_DIV_RANGED : OP_DIV, c, near);
  become_choice(a, op, far, positive ? zero : build2(&b, OP_COPYSIGN, zero, y), q);
}

/* Rewrites any quotient of f32 by the identities for zero and tiny operands. */
static void ease_both(Arena *a, Op *op) {
  Builder b = builder_before(a, op);
  Value *x = op->operands[0], *y = op->operands[1], *size = build1(&b, OP_ABS, y);
  Type t = y->type;
  Value *none = number(&b, t, 0), *one = number(&b, t, 1), *is_none = build2(&b, OP_EQ, x, none);
  Value *plain = build2(&b, OP_AND, build2(&b, OP_GT, size, none), build2(&b, OP_LE, size, number(&b, t, FLT_MAX)));
  Value *zero = build2(&b, OP_AND, is_none, plain), *above = build3(&b, OP_SELECT, zero, one, x);
  Value *tiny = build2(&b, OP_LT, size, number(&b, t, TINY));
  Value *not_tiny = build2(&b, OP_GE, build1(&b, OP_ABS, above), number(&b, t, NOT_TINY));
  Value *scale = build3(&b, OP_SELECT, build2(&b, OP_AND, tiny, not_tiny), number(&b, t, SCALE), one);
  Value *q = build2(&b, OP_MUL, build2(&b, OP_DIV, above, build2(&b, OP_MUL, y, scale)), scale);
  become_choice(a, op, zero, build2(&b, OP_MUL, x, y), q);
}

/* Rewrites the quotient of the ranged constant op->operands[0] by the root of `y`, with a test of `y`. */
static void test_root(Arena *a, Op *op, Value *y) {
  Builder b = builder_before(a, op), arm;
  Type t = op->results[0]->type;
  Value *x = op->operands[0], *ok = build1(&b, OP_RANGED, y), *q;
  Op *choice = build_if(&b, ok, 1, &t);
  arm = builder_at_end(a, choice->blocks[0]);
  q = build2(&arm, OP_DIV_ROOT_RANGED, x, y);
  build_yield(&arm, 1, &q);
  arm = builder_at_end(a, choice->blocks[1]);
  q = build2(&arm, OP_DIV, x, build1(&arm, OP_SQRT, y));
  build_yield(&arm, 1, &q);
  become_choice(a, op, ok, choice->results[0], choice->results[0]);
}

/* Rewrites the root `op`, whose operand has the bounds `x`: the short form if the bounds allow it, and the operand
 * itself where it is infinite. */
static void ease_root(Arena *a, Op *op, FloatBounds x) {
  Type t = op->results[0]->type;
  if (!eval_short_root(t, x.lo))
    return;
  if (x.hi <= largest(t)) {
    op->code = OP_SQRT_RANGED;
    return;
  }
  Builder b = builder_before(a, op);
  Value *v = op->operands[0], *far = build2(&b, OP_GT, v, number(&b, t, largest(t)));
  become_choice(a, op, far, v, build1(&b, OP_SQRT_RANGED, v));
}

/* Rewrites the quotient of the ranged constant op->operands[0] by the root of `y`, which has the bounds `of`. */
static void ease_by_root(Arena *a, Op *op, Value *y, FloatBounds of) {
  Type t = y->type;
  if (eval_ranged(t, of.lo) && eval_ranged(t, of.hi)) {
    op->code = OP_DIV_ROOT_RANGED;
    op->operands[1] = y;
  } else if (t == TY_F32)
    test_root(a, op, y);
}

/* Is the short form of c / y right for all finite `y` with these bounds? */
static bool is_brief(Type t, double c, FloatBounds y) {
  return c > 0 && y.lo > 0 && eval_short_quotient(t, c, y.lo) && eval_short_quotient(t, c, y.most);
}

/* Rewrites any quotient by the first of these ways that applies. */
static void ease_quotient(Arena *a, Op *op, const FloatBounds *of, bool wide) {
  const Value *x = op->operands[0], *y = op->operands[1];
  const Op *root = y->def;
  bool constant = x->def && x->def->code == OP_CONST, f32 = x->type == TY_F32;
  if (root && root->code == OP_SQRT && constant_is_ranged(x))
    ease_by_root(a, op, root->operands[0], of[root->operands[0]->id]);
  else if (constant && is_brief(x->type, x->def->cval.f, of[y->id]))
    ease_reciprocal(a, op, true, true);
  else if (!f32)
    return;
  else if (constant && x->def->cval.f > 0 && x->def->cval.f <= (double)FLT_MAX)
    ease_reciprocal(a, op, false, false);
  else if (!constant && !(root && root->code == OP_CONST) && wide)
    op->code = OP_DIV_WIDE;
  else if (!constant && !(root && root->code == OP_CONST))
    ease_both(a, op);
}

void ease_ends(Arena *a, int32_t n, Op **ops, const FloatBounds *of, bool wide) {
  for (int i = 0; i < n; i++)
    if (ops[i]->code == OP_DIV)
      ease_quotient(a, ops[i], of, wide);
  for (int i = 0; i < n; i++)
    if (ops[i]->code == OP_SQRT)
      ease_root(a, ops[i], of[ops[i]->operands[0]->id]);
}
