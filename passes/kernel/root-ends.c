/* root-ends.c: roots and quotients of what is at the ends of its range. Iterations that converge, as the Jacobi
 * rotations of anisotropic_diffusion do, divide zeros, by what becomes subnormal, and one by what has become infinite.
 * Hardware takes a call for each of these, and one such operand is enough for a warp: of a rotation's quotients that
 * was so in half of the warps. What bounds say of operands (float-bounds.c) spares tests: roots of what is at least
 * 2^-100, and what is divided by these, are on the short path, with a choice where they are infinite. Other quotients
 * of f32 go by f64 where that is quick (div.wide). Elsewhere three identities keep such operands from the quotient
 * itself, and change no bit:
 *
 *   x / y = x y              where x is zero, and y neither that nor infinite: a zero with the same sign
 *   x / y = (x / (y s)) s    where y is tiny and x is not, s a power of two: y s is exact, and x / (y s) not subnormal
 *   c / y = a zero as y      where y is infinite, c > 0
 *
 * And a constant divided by a root of what has no bounds takes a test of its own, for the operand of such a root is
 * seldom at an end. In f64 there are bounds alone: the tests of the identities take the pipe that is full (7.1 GPts/s
 * of anisotropic_diffusion in place of 7.3).
 *
 * Such roots and quotients are kept from tests and from the long way (`root-ends.c`) by two means. *Bounds*
 * (`float-bounds.c`) are those of every float of a kernel but NaN, whatever it reads, and wider than all that is
 * rounded on the way (what a private array holds is between the bounds of all that is stored to it): a square is not
 * negative, a root of a square and one is at least one, one by it at most one, and a number whose square is part of a
 * finite sum is below twice the root of the largest. By them a root that is at least 2^-100 is a `sqrt.ranged`, and
 * what it is of where that is infinite; a positive constant divided by a value away from zero a `div.ranged`, and zero
 * where that is infinite; a constant by a root of what is bounded a `div.root.ranged`. NaN passes through all of these.
 * So a Jacobi rotation has no test left but that of its program. And where f64 is half as quick as f32
 * (`TargetInfo.f64_rate`) quotients of f32 are `div.wide`: by f64, in which no f32 is near the ends, 15 instructions
 * without a branch. The rotations of anisotropic_diffusion in f32 had 1553 instructions a point by `ncu`, and have 940
 * by their code.
 *
 * Thresholds in f32: y is tiny below 2^-62, where x is not below 2^-60; s is 2^64.
 *
 * Measured: docs/lab/programs.md#iterations-without-tests-and-blocks-of-two-warps-2026-11-23. */
#include "passes/kernel/root-ends.h"

#include <float.h>
#include <math.h>

#include "ir/run/run.h"

/* What f32 is tiny, from what on one is not, and what tiny ones are multiplied by. */
static const double TINY = 0x1p-62, NOT_TINY = 0x1p-60, SCALE = 0x1p64;

/* Is `v` a constant that is ranged, without its sign? */
static bool constant_is_ranged(const Value *v) {
  return v->def && v->def->code == OP_CONST && eval_ranged(v->type, fabs(v->def->cval.f));
}

static double largest(Type t) { return t == TY_F64 ? DBL_MAX : (double)FLT_MAX; }

static Value *number(Builder *b, Type t, double x) { return build_float(b, t, x); }

/* Makes `op` the choice of x where `which` holds, else of y. */
static void become_choice(Arena *a, Op *op, Value *which, Value *x, Value *y) {
  op->code = OP_SELECT;
  op->noperands = 3;
  op->operands = ARENA_ARRAY(a, Value *, 3);
  op->operands[0] = which;
  op->operands[1] = x;
  op->operands[2] = y;
}

/* The quotient of constant op->operands[0], which is positive; the divisor is positive, too, if `positive`, and serves
 * the short path wherever it is finite if `brief`. */
static void ease_reciprocal(Arena *a, Op *op, bool positive, bool brief) {
  Builder b = builder_before(a, op);
  Value *c = op->operands[0], *y = op->operands[1], *zero = number(&b, y->type, 0);
  Value *far = build2(&b, OP_GT, positive ? y : build1(&b, OP_ABS, y), number(&b, y->type, largest(y->type)));
  Value *near = brief ? y : build3(&b, OP_SELECT, far, number(&b, y->type, 1), y);
  Value *q = build2(&b, brief ? OP_DIV_RANGED : OP_DIV, c, near);
  become_choice(a, op, far, positive ? zero : build2(&b, OP_COPYSIGN, zero, y), q);
}

/* Any quotient, by f32 alone. */
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

/* The quotient of constant op->operands[0], which is ranged, by the root of `y`. */
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

/* The root of `op`'s operand, whose bounds are `x`: on the short path if they allow it, and infinite where that is. */
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

/* The quotient of constant op->operands[0], which is ranged, by the root of `y`, whose bounds are `of`. */
static void ease_by_root(Arena *a, Op *op, Value *y, FloatBounds of) {
  Type t = y->type;
  if (eval_ranged(t, of.lo) && eval_ranged(t, of.hi)) {
    op->code = OP_DIV_ROOT_RANGED;
    op->operands[1] = y;
  } else if (t == TY_F32)
    test_root(a, op, y);
}

/* Does c / y take the short path for all finite `y` with these bounds? */
static bool is_brief(Type t, double c, FloatBounds y) {
  return c > 0 && y.lo > 0 && eval_short_quotient(t, c, y.lo) && eval_short_quotient(t, c, y.most);
}

/* Any quotient. */
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
