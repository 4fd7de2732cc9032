/* float-bounds.c: bounds of floats, whatever is read. A square is not negative, a root of a square and one is at least
 * one, one by such a root at most one; and what a square is added to is not so large where the sum is finite. Bounds
 * are for all numbers but NaN, and are wider than arithmetic makes them by more than it rounds, so that they hold
 * however products and sums are fused. One pass in order; what loops carry is not looked into. */
#include "passes/kernel/float-bounds.h"

#include <float.h>
#include <math.h>

/* A part of a bound by which it is widened: more than some roundings of f32. */
static const double SLACK = 0x1p-20;

/* How many operands one of another a square is looked for. */
enum { SQUARE_DEPTH = 4 };

typedef struct Floats {
  int32_t n;
  FloatBounds *of;
} Floats;

static double largest(Type t) { return t == TY_F64 ? DBL_MAX : (double)FLT_MAX; }

static double larger_size(double x, double y) { return fmax(fabs(x), fabs(y)); }

/* Bounds that say nothing. */
static FloatBounds anything(Type t) { return (FloatBounds){-HUGE_VAL, HUGE_VAL, largest(t)}; }

static FloatBounds bounds_of(const Floats *f, const Value *v) {
  return v->id >= 0 && v->id < f->n && (v->type == TY_F32 || v->type == TY_F64) ? f->of[v->id] : anything(v->type);
}

/* What is between `lo` and `hi`, and finite no farther from zero than `most`, once it is rounded to type `t`: what is
 * near zero may have been rounded to it, or away from it by as much as it is itself, what is near the largest number to
 * infinity, and what is beyond that not, if a sum takes it in. */
static FloatBounds widened(Type t, double lo, double hi, double most) {
  double tiny = t == TY_F64 ? 0x1p-1000 : 0x1p-120, end = largest(t);
  lo = isinf(lo) ? lo : lo - fabs(lo) * SLACK;
  hi = isinf(hi) ? hi : hi + fabs(hi) * SLACK;
  most += most * SLACK;
  if (lo != 0 && fabs(lo) < tiny)
    lo = lo > 0 ? 0 : -tiny;
  if (hi != 0 && fabs(hi) < tiny)
    hi = hi < 0 ? 0 : tiny;
  return (FloatBounds){.lo = lo < -end ? -HUGE_VAL : fmin(lo, end),
                       .hi = hi > end ? HUGE_VAL : fmax(hi, -end),
                       .most = fmin(end, fmin(fmax(most, tiny), larger_size(lo, hi)))};
}

/* The product of two bounds: of zero and infinity it is zero, for NaN is none of what is bounded. */
static double times(double x, double y) { return x == 0 || y == 0 ? 0 : x * y; }

static FloatBounds product(Type t, FloatBounds x, FloatBounds y) {
  double ll = times(x.lo, y.lo), lh = times(x.lo, y.hi), hl = times(x.hi, y.lo), hh = times(x.hi, y.hi);
  return widened(t, fmin(fmin(ll, lh), fmin(hl, hh)), fmax(fmax(ll, lh), fmax(hl, hh)), x.most * y.most);
}

/* The product of `x` and `y`, a square if they are one value. */
static FloatBounds product_of(const Floats *f, const Value *x, const Value *y) {
  FloatBounds p = product(x->type, bounds_of(f, x), bounds_of(f, y));
  if (x == y)
    p.lo = fmax(p.lo, 0);
  return p;
}

/* `v` without what only changes its sign. */
static const Value *without_sign(const Value *v) {
  while (v->def && (v->def->code == OP_ABS || v->def->code == OP_NEG))
    v = v->def->operands[0];
  return v;
}

/* Is the square of `v`, or of its negative, finite where `in` is: a part of a sum or of a root that `in` is? */
static bool holds_square(const Value *in, const Value *v, int depth) {
  const Op *op = in->def;
  if (!op || depth == 0)
    return false;
  switch (op->code) {
  case OP_SQRT: return holds_square(op->operands[0], v, depth - 1);
  case OP_ADD: return holds_square(op->operands[0], v, depth - 1) || holds_square(op->operands[1], v, depth - 1);
  case OP_FMA:
  case OP_MUL: return without_sign(op->operands[0]) == v && without_sign(op->operands[1]) == v;
  default: return false;
  }
}

/* How far from zero `x` is at most where it and `other` are finite: twice the root of the largest number, if `other`
 * holds its square, for what is added to that may be negative, and fused with it. */
static double most_beside(const Floats *f, const Value *x, const Value *other) {
  double most = bounds_of(f, x).most;
  return holds_square(other, without_sign(x), SQUARE_DEPTH) ? fmin(most, 2 * sqrt(largest(x->type))) : most;
}

/* The sum of values x and y, or with minus = -1 their difference. */
static FloatBounds sum(const Floats *f, const Value *x, const Value *y, double minus) {
  FloatBounds a = bounds_of(f, x), b = bounds_of(f, y);
  double lo = minus < 0 ? a.lo - b.hi : a.lo + b.lo, hi = minus < 0 ? a.hi - b.lo : a.hi + b.hi;
  if (isnan(lo) || isnan(hi))
    return anything(x->type);
  return widened(x->type, lo, hi, most_beside(f, x, y) + most_beside(f, y, x));
}

/* x y + z. */
static FloatBounds fused(const Floats *f, const Op *op) {
  FloatBounds p = product_of(f, op->operands[0], op->operands[1]), z = bounds_of(f, op->operands[2]);
  if (isnan(p.lo + z.lo) || isnan(p.hi + z.hi))
    return anything(op->results[0]->type);
  return widened(op->results[0]->type, p.lo + z.lo, p.hi + z.hi, HUGE_VAL);
}

/* x / y. The reciprocal of a subnormal f64 is none. */
static FloatBounds quotient(Type t, FloatBounds x, FloatBounds y) {
  if (y.lo <= 0 || isinf(1 / y.lo))
    return anything(t);
  return product(t, x, (FloatBounds){1 / y.hi, 1 / y.lo, 1 / y.lo});
}

static FloatBounds root(Type t, FloatBounds x) {
  return widened(t, sqrt(fmax(x.lo, 0)), sqrt(fmax(x.hi, 0)), sqrt(x.most));
}

/* What is one of two. */
static FloatBounds either(FloatBounds x, FloatBounds y) {
  return (FloatBounds){fmin(x.lo, y.lo), fmax(x.hi, y.hi), fmax(x.most, y.most)};
}

static FloatBounds size(FloatBounds x) {
  return (FloatBounds){fmax(fmax(x.lo, -x.hi), 0), larger_size(x.lo, x.hi), x.most};
}

static FloatBounds negative(FloatBounds x) { return (FloatBounds){-x.hi, -x.lo, x.most}; }

/* The bounds of the result of `op`, by those of its operands. */
static FloatBounds of_op(const Floats *f, const Op *op) {
  Type t = op->results[0]->type;
  FloatBounds x[3] = {{0}};
  for (int i = 0; i < op->noperands && i < 3; i++)
    x[i] = bounds_of(f, op->operands[i]);
  switch (op->code) {
  case OP_CONST: return isnan(op->cval.f) ? anything(t) : (FloatBounds){op->cval.f, op->cval.f, fabs(op->cval.f)};
  case OP_SELECT: return either(x[1], x[2]);
  case OP_ADD: return sum(f, op->operands[0], op->operands[1], 1);
  case OP_SUB: return sum(f, op->operands[0], op->operands[1], -1);
  case OP_MUL: return product_of(f, op->operands[0], op->operands[1]);
  case OP_FMA: return fused(f, op);
  case OP_DIV: return quotient(t, x[0], x[1]);
  case OP_SQRT: return root(t, x[0]);
  case OP_ABS: return size(x[0]);
  case OP_NEG: return negative(x[0]);
  case OP_MIN:
  case OP_MAX: return either(x[0], x[1]);
  case OP_COPYSIGN: return either(size(x[0]), negative(size(x[0])));
  default: return anything(t);
  }
}

/* The bounds of all values of block `b`, and of those nested in it. */
static void bound_block(Floats *f, const Block *b) {
  for (int i = 0; i < b->nargs; i++)
    f->of[b->args[i]->id] = anything(b->args[i]->type);
  for (const Op *op = b->first; op; op = op->next) {
    for (int i = 0; i < op->nblocks; i++)
      bound_block(f, op->blocks[i]);
    for (int i = 0; i < op->nresults; i++)
      f->of[op->results[i]->id] = anything(op->results[i]->type);
    if (op->nresults == 1 && (op->results[0]->type == TY_F32 || op->results[0]->type == TY_F64))
      f->of[op->results[0]->id] = of_op(f, op);
  }
}

FloatBounds *float_bounds(Arena *a, const Block *body, int32_t n) {
  Floats f = {.n = n, .of = ARENA_ARRAY(a, FloatBounds, n + 1)};
  bound_block(&f, body);
  return f.of;
}
