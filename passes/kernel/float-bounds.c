/* float-bounds.c: computes bounds of the floats of a kernel that hold for all values in memory.
 *
 * The rules: a square is not negative; the root of (1 + a square) is at least 1, and 1 divided by such a root is at
 * most 1; if x * x is a term of a finite sum, |x| is below twice the root of the largest number. Bounds hold for every
 * value but NaN. They are wider than exact arithmetic gives, by more than rounding can add, so they hold however
 * products and sums are fused.
 *
 * The analysis visits the ops twice, in order: the first visit finds the values that are stored to each private array,
 * with unknown values for all loads; the second visit uses these bounds for loads. Values that loops carry have no
 * bounds. */
#include "passes/kernel/float-bounds.h"

#include <float.h>
#include <math.h>

/* The relative amount by which a bound is widened: more than a few roundings of f32. */
static const double SLACK = 0x1p-20;

/* The greatest depth of operands at which holds_square looks for a square. */
enum { SQUARE_DEPTH = 4 };

/* of: bounds by value number. held: bounds of the contents of arrays by array number, NULL: none are known. stored:
 * bounds of the values stored to arrays so far, empty at first; NULL: not collected. */
typedef struct Floats {
  Arena *arena;
  int32_t n;
  FloatBounds *of, *held, *stored;
} Floats;

static double largest(Type t) { return t == TY_F64 ? DBL_MAX : (double)FLT_MAX; }

static double larger_size(double x, double y) { return fmax(fabs(x), fabs(y)); }

/* Bounds that say nothing. */
static FloatBounds anything(Type t) { return (FloatBounds){-HUGE_VAL, HUGE_VAL, largest(t)}; }

static FloatBounds bounds_of(const Floats *f, const Value *v) {
  return v->id >= 0 && v->id < f->n && (v->type == TY_F32 || v->type == TY_F64) ? f->of[v->id] : anything(v->type);
}

/* Bounds of a value of type `t` that lies between `lo` and `hi` before rounding, and whose absolute value is at most
 * `most` if it is finite. Rounding may move a value near zero to zero, or away from zero by as much as its own size; it
 * may move a value near the largest number to infinity. A finite value beyond the largest number can be an intermediate
 * result of a fused sum. */
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

/* The product of two bounds; zero times infinity is zero, because NaN is not bounded. */
static double times(double x, double y) { return x == 0 || y == 0 ? 0 : x * y; }

static FloatBounds product(Type t, FloatBounds x, FloatBounds y) {
  double ll = times(x.lo, y.lo), lh = times(x.lo, y.hi), hl = times(x.hi, y.lo), hh = times(x.hi, y.hi);
  return widened(t, fmin(fmin(ll, lh), fmin(hl, hh)), fmax(fmax(ll, lh), fmax(hl, hh)), x.most * y.most);
}

/* Bounds of the product of `x` and `y`; it is a square if both are the same value. */
static FloatBounds product_of(const Floats *f, const Value *x, const Value *y) {
  FloatBounds p = product(x->type, bounds_of(f, x), bounds_of(f, y));
  if (x == y)
    p.lo = fmax(p.lo, 0);
  return p;
}

/* `v` without ops that only change its sign. */
static const Value *without_sign(const Value *v) {
  while (v->def && (v->def->code == OP_ABS || v->def->code == OP_NEG))
    v = v->def->operands[0];
  return v;
}

/* Does a finite `in` imply that the square of `v`, or of its negative, is finite, because the square is a term of the
 * sum or root `in`? */
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

/* The greatest absolute value of a finite `x` for which `other` is finite, too. If `other` contains the square of x,
 * that is twice the root of the largest number: the other terms may be negative and fused with the square. */
static double most_beside(const Floats *f, const Value *x, const Value *other) {
  double most = bounds_of(f, x).most;
  return holds_square(other, without_sign(x), SQUARE_DEPTH) ? fmin(most, 2 * sqrt(largest(x->type))) : most;
}

/* Bounds of the sum of x and y, or (minus = -1) of their difference. */
static FloatBounds sum(const Floats *f, const Value *x, const Value *y, double minus) {
  FloatBounds a = bounds_of(f, x), b = bounds_of(f, y);
  double lo = minus < 0 ? a.lo - b.hi : a.lo + b.lo, hi = minus < 0 ? a.hi - b.lo : a.hi + b.hi;
  if (isnan(lo) || isnan(hi))
    return anything(x->type);
  return widened(x->type, lo, hi, most_beside(f, x, y) + most_beside(f, y, x));
}

/* Bounds of x y + z. */
static FloatBounds fused(const Floats *f, const Op *op) {
  FloatBounds p = product_of(f, op->operands[0], op->operands[1]), z = bounds_of(f, op->operands[2]);
  if (isnan(p.lo + z.lo) || isnan(p.hi + z.hi))
    return anything(op->results[0]->type);
  return widened(op->results[0]->type, p.lo + z.lo, p.hi + z.hi, HUGE_VAL);
}

/* Bounds of x / y. There are none if 1 / y.lo overflows, as it may for a subnormal y.lo. */
static FloatBounds quotient(Type t, FloatBounds x, FloatBounds y) {
  if (y.lo <= 0 || isinf(1 / y.lo))
    return anything(t);
  return product(t, x, (FloatBounds){1 / y.hi, 1 / y.lo, 1 / y.lo});
}

static FloatBounds root(Type t, FloatBounds x) {
  return widened(t, sqrt(fmax(x.lo, 0)), sqrt(fmax(x.hi, 0)), sqrt(x.most));
}

/* Bounds of a value that is one of two. */
static FloatBounds either(FloatBounds x, FloatBounds y) {
  return (FloatBounds){fmin(x.lo, y.lo), fmax(x.hi, y.hi), fmax(x.most, y.most)};
}

static FloatBounds size(FloatBounds x) {
  return (FloatBounds){fmax(fmax(x.lo, -x.hi), 0), larger_size(x.lo, x.hi), x.most};
}

static FloatBounds negative(FloatBounds x) { return (FloatBounds){-x.hi, -x.lo, x.most}; }

/* Do values of type `t` have bounds? */
static bool is_float(Type t) { return t == TY_F32 || t == TY_F64; }

/* Bounds of a value that is loaded from array `i`. */
static FloatBounds loaded(const Floats *f, Type t, int32_t i) { return f->held ? f->held[i] : anything(t); }

/* Adds the values that `op` stores to an array to f->stored. A value that was loaded from the same array adds
 * nothing. */
static void note_stored(const Floats *f, const Op *op) {
  int n = op->code == OP_AVSTORE ? op->count : 1;
  for (int i = 0; i < n; i++) {
    const Op *from = op->operands[i]->def;
    if (!from || from->code != OP_ALOAD || from->sym != op->sym)
      f->stored[op->sym] = either(f->stored[op->sym], bounds_of(f, op->operands[i]));
  }
}

/* Bounds of result `i` of `op`, an if: of the values that its two arms yield. */
static FloatBounds chosen(const Floats *f, const Op *op, int i) {
  return either(bounds_of(f, op->blocks[0]->last->operands[i]), bounds_of(f, op->blocks[1]->last->operands[i]));
}

/* Bounds of the result of `op`, computed from those of its operands. */
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
  case OP_UNIFORM:
  case OP_SHUFFLE:
  case OP_SHUFFLE_UP:
  case OP_SHUFFLE_DOWN: return x[0];
  case OP_ALOAD: return loaded(f, t, op->sym);
  default: return anything(t);
  }
}

/* Computes the bounds of all values of block `b` and its nested blocks. */
static void bound_block(Floats *f, const Block *b) {
  for (int i = 0; i < b->nargs; i++)
    f->of[b->args[i]->id] = anything(b->args[i]->type);
  for (const Op *op = b->first; op; op = op->next) {
    for (int i = 0; i < op->nblocks; i++)
      bound_block(f, op->blocks[i]);
    for (int i = 0; i < op->nresults; i++) {
      Type t = op->results[i]->type;
      f->of[op->results[i]->id] = !is_float(t)        ? anything(t)
                                  : op->code == OP_IF ? chosen(f, op, i)
                                  : op->nresults == 1 ? of_op(f, op)
                                                      : anything(t);
    }
    if (f->stored && (op->code == OP_ASTORE || op->code == OP_AVSTORE))
      note_stored(f, op);
  }
}

/* Is array `i` of `k` a private array of floats without padding, in storage that no other array shares? */
static bool is_own(const Kernel *k, int32_t i) {
  bool own = k->arrays[i].space == SPACE_PRIVATE && k->arrays[i].storage < 0 && is_float(k->arrays[i].type);
  for (int d = 0; d < k->arrays[i].rank; d++)
    own = own && !k->arrays[i].pad_lo[d] && !k->arrays[i].pad_hi[d];
  for (int32_t n = 0; n < k->narrays; n++)
    own = own && k->arrays[n].storage != i;
  return own;
}

/* Finds bounds of the contents of the arrays of `k`, whose body is `body`. */
static void bound_arrays(Floats *f, const Kernel *k, const Block *body) {
  FloatBounds *stored = ARENA_ARRAY(f->arena, FloatBounds, k->narrays);
  for (int32_t i = 0; i < k->narrays; i++)
    stored[i] = (FloatBounds){HUGE_VAL, -HUGE_VAL, 0};
  f->stored = stored;
  bound_block(f, body);
  f->stored = NULL;
  for (int32_t i = 0; i < k->narrays; i++)
    if (!is_own(k, i) || stored[i].lo > stored[i].hi)
      stored[i] = anything(k->arrays[i].type);
  f->held = stored;
}

FloatBounds *float_bounds(Arena *a, const Kernel *k, const Block *body, int32_t n) {
  Floats f = {.arena = a, .n = n, .of = ARENA_ARRAY(a, FloatBounds, n + 1)};
  bool any = false;
  for (int32_t i = 0; k && i < k->narrays; i++)
    any = any || is_own(k, i);
  if (any)
    bound_arrays(&f, k, body);
  bound_block(&f, body);
  return f.of;
}
