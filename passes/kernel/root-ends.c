/* root-ends.c: quotients of what is at the ends of its range. Iterations that converge, as the Jacobi rotations of
 * anisotropic_diffusion do, divide zeros, by what becomes subnormal, and one by what has become infinite. Hardware
 * takes a call for each of these, and one such operand is enough for a warp: of a rotation's quotients that was so in
 * half of the warps. Three identities keep such operands from the quotient itself, and change no bit:
 *
 *   x / y = x y              where x is zero, and y neither that nor infinite: a zero with the same sign
 *   x / y = (x / (y s)) s    where y is tiny and x is not, s a power of two: y s is exact, and x / (y s) not subnormal
 *   c / y = a zero as y      where y is infinite, c > 0
 *
 * And a constant divided by a root takes a test of its own, for the operand of such a root is seldom at an end.
 *
 * In f32: anisotropic_diffusion made 12.8 GPts/s on 512^3 and makes 13.4; in f64 7.3 and 7.1, for there the tests take
 * the pipe that is full. */
#include "passes/kernel/root-ends.h"

#include <float.h>
#include <math.h>

#include "ir/run.h"

/* What f32 is tiny, from what on one is not, and what tiny ones are multiplied by. */
static const double TINY = 0x1p-62, NOT_TINY = 0x1p-60, SCALE = 0x1p64;

/* Is `v` a constant that is ranged, without its sign? */
static bool constant_is_ranged(const Value *v) {
  return v->def && v->def->code == OP_CONST && eval_ranged(v->type, fabs(v->def->cval.f));
}

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

/* The quotient of constant op->operands[0], which is positive, */
static void ease_reciprocal(Arena *a, Op *op) {
  Builder b = builder_before(a, op);
  Value *c = op->operands[0], *y = op->operands[1], *zero = number(&b, y->type, 0);
  Value *far = build2(&b, OP_GT, build1(&b, OP_ABS, y), number(&b, y->type, FLT_MAX));
  Value *near = build3(&b, OP_SELECT, far, number(&b, y->type, 1), y);
  Value *q = build2(&b, OP_DIV, c, near);
  become_choice(a, op, far, build2(&b, OP_COPYSIGN, zero, y), q);
}

/* Any quotient. */
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

void ease_quotient(Arena *a, Op *op) {
  const Value *x = op->operands[0];
  const Op *root = op->operands[1]->def;
  bool constant = x->def && x->def->code == OP_CONST;
  if (x->type != TY_F32)
    return;
  if (root && root->code == OP_SQRT && constant_is_ranged(x))
    test_root(a, op, root->operands[0]);
  else if (constant && x->def->cval.f > 0 && x->def->cval.f <= (double)FLT_MAX)
    ease_reciprocal(a, op);
  else if (!constant && !(root && root->code == OP_CONST))
    ease_both(a, op);
}
