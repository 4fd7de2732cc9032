/* fold.c: simplifies single ops: folds constants, applies identities that change no bit, and decides index arithmetic
 * by ranges. */
#include <math.h>

#include "passes/simplify/simplify.h"

static const Fold no_fold = {NULL, NULL};

static Fold fold_to(Value *v) { return (Fold){v, NULL}; }
static Fold fold_to_int(Simplifier *s, Op *op, int64_t i) {
  return fold_to(simplify_int(s, op, op->results[0]->type, i));
}

/* Is `v` a constant? */
static bool is_const(const Value *v) { return v->def && v->def->code == OP_CONST; }

/* Is `v` the boolean constant `b`? */
static bool is_bool(const Value *v, int b) { return is_const(v) && v->type == TY_BOOL && v->def->cval.i == b; }

/* Is `v` the result of an op `code`? */
static bool is_op(const Value *v, Opcode code) { return v->def && v->def->code == code; }

/* Is `v` = x + c for an integer constant c, which is the right operand? */
static bool is_add_const(const Value *v, int64_t *c) {
  return is_op(v, OP_ADD) && value_is_int(v->def->operands[1], c);
}

/* Is `v` the floating-point constant f, including the sign of a zero? */
static bool is_float(const Value *v, double f) {
  return is_const(v) && type_is_float(v->type) && v->def->cval.f == f && !signbit(v->def->cval.f) == !signbit(f);
}

/* Turns `op` into the op `code` with the `n` operands, in place; its result stays. */
static void rewrite(Simplifier *s, Op *op, Opcode code, int n, Value *const *operands) {
  op->code = code;
  op->operands = ARENA_ARRAY(s->arena, Value *, n);
  op->noperands = n;
  for (int i = 0; i < n; i++)
    op->operands[i] = operands[i];
  op->sym = 0;
  op->box = NULL;
  for (int d = 0; d < MAX_RANK; d++)
    op->off[d] = 0;
  s->stats.folded++;
  s->changed = true;
}

/* Rewrites `op` to add(first, c), where `first` = code(x, y) is a new op before it. */
static Fold rewrite_sum(Simplifier *s, Op *op, Opcode code, Value *x, Value *y, int64_t c) {
  Builder b = builder_before(s->arena, op);
  Value *first = build2(&b, code, x, y);
  ranges_number(s->ranges, first);
  rewrite(s, op, OP_ADD, 2, (Value *[]){first, simplify_int(s, op, first->type, c)});
  return (Fold){NULL, first->def};
}

/* -c modulo 2^64. */
static int64_t negate(int64_t c) { return (int64_t)(0 - (uint64_t)c); }

/* Makes the constant operand of a commutative op the right one. */
static void order_operands(Simplifier *s, Op *op) {
  if (!(op_info[op->code].flags & OPF_COMM) || !is_const(op->operands[0]) || is_const(op->operands[1]))
    return;
  Value *x = op->operands[0];
  op->operands[0] = op->operands[1];
  op->operands[1] = x;
  s->changed = true;
}

/* Folds an op with constant operands to its value, except to a NaN, whose bits depend on the device. */
static Fold fold_constants(Simplifier *s, Op *op) {
  Const c[3];
  if (op->noperands == 0 || op->noperands > 3 || op_info[op->code].form != FORM_PLAIN ||
      !(op_info[op->code].flags & OPF_PURE))
    return no_fold;
  for (int i = 0; i < op->noperands; i++) {
    if (!is_const(op->operands[i]))
      return no_fold;
    c[i] = op->operands[i]->def->cval;
  }
  Type t = op->results[0]->type;
  Const r = eval_op(op, c);
  if (type_is_float(t) && isnan(r.f))
    return no_fold;
  return fold_to(simplify_const(s, op, t, r));
}

/* ---------------------------------------------------------------- integers */

/* Folds a sum whose linear form is a constant or a single value. */
static Fold fold_form(Simplifier *s, Op *op) {
  Linear f = linear_of(s->ranges, op->results[0]);
  if (f.n == 0)
    return fold_to_int(s, op, f.c);
  if (f.n != 1 || f.c != 0 || f.t[0].coef != 1 || f.t[0].atom.kind != ATOM_VALUE)
    return no_fold;
  Value *v = (Value *)f.t[0].atom.v;
  return v != op->results[0] && v->type == op->results[0]->type ? fold_to(v) : no_fold;
}

/* Integer x + y: constants move to the root of a chain of sums. */
static Fold fold_add(Simplifier *s, Op *op) {
  Value *x = op->operands[0], *y = op->operands[1];
  int64_t c, k;
  Fold f = fold_form(s, op);
  if (f.value)
    return f;
  if (value_is_int(y, &k)) {
    if (k == 0)
      return fold_to(x);
    if (is_add_const(x, &c))
      rewrite(s, op, OP_ADD, 2,
              (Value *[]){x->def->operands[0], simplify_int(s, op, x->type, (int64_t)((uint64_t)c + (uint64_t)k))});
    return no_fold;
  }
  if (is_add_const(x, &c))
    return rewrite_sum(s, op, OP_ADD, x->def->operands[0], y, c);
  if (is_add_const(y, &c))
    return rewrite_sum(s, op, OP_ADD, x, y->def->operands[0], c);
  return no_fold;
}

/* Integer x - y: the subtraction of a constant becomes an addition. */
static Fold fold_sub(Simplifier *s, Op *op) {
  Value *x = op->operands[0], *y = op->operands[1];
  int64_t c;
  Fold f = fold_form(s, op);
  if (f.value)
    return f;
  if (value_is_int(y, &c)) {
    if (c == 0)
      return fold_to(x);
    rewrite(s, op, OP_ADD, 2, (Value *[]){x, simplify_int(s, op, x->type, negate(c))});
    return (Fold){NULL, op};
  }
  if (is_add_const(x, &c))
    return rewrite_sum(s, op, OP_SUB, x->def->operands[0], y, c);
  if (is_add_const(y, &c))
    return rewrite_sum(s, op, OP_SUB, x, y->def->operands[0], negate(c));
  return no_fold;
}

/* Integer x * y. */
static Fold fold_mul(Simplifier *s, Op *op) {
  Value *x = op->operands[0];
  int64_t k, c;
  if (!value_is_int(op->operands[1], &k))
    return no_fold;
  if (k == 0)
    return fold_to(op->operands[1]);
  if (k == 1)
    return fold_to(x);
  if (is_op(x, OP_MUL) && value_is_int(x->def->operands[1], &c))
    rewrite(s, op, OP_MUL, 2,
            (Value *[]){x->def->operands[0], simplify_int(s, op, x->type, (int64_t)((uint64_t)c * (uint64_t)k))});
  return no_fold;
}

/* Integer x / y and x % y by a constant y. */
static Fold fold_div(Simplifier *s, Op *op) {
  Value *x = op->operands[0];
  bool div = op->code == OP_DIV;
  int64_t k;
  if (!value_is_int(op->operands[1], &k))
    return no_fold;
  if (k == 0)
    return fold_to(op->operands[1]);
  if (k == 1)
    return div ? fold_to(x) : fold_to_int(s, op, 0);
  Interval r = value_interval(s->ranges, x);
  if (k > 0 && r.known && r.lo > -k && r.hi < k)
    return div ? fold_to_int(s, op, 0) : fold_to(x);
  return no_fold;
}

/* Bounds of x - y as integers, without wrapping. */
static Interval difference(Simplifier *s, const Value *x, const Value *y) {
  Interval a = linear_interval(s->ranges, linear_of(s->ranges, x)),
           b = linear_interval(s->ranges, linear_of(s->ranges, y));
  Interval va = value_interval(s->ranges, x), vb = value_interval(s->ranges, y), d = {false, 0, 0};
  if (!va.known || !vb.known)
    return d;
  if (a.known && b.known && a.lo == va.lo && a.hi == va.hi && b.lo == vb.lo && b.hi == vb.hi)
    return linear_interval(s->ranges, linear_sub(s->ranges, linear_of(s->ranges, x), linear_of(s->ranges, y)));
  d.known = !__builtin_sub_overflow(va.lo, vb.hi, &d.lo) && !__builtin_sub_overflow(va.hi, vb.lo, &d.hi);
  return d;
}

/* Integer min and max, if one operand never exceeds the other. */
static Fold fold_minmax(Simplifier *s, Op *op) {
  Value *x = op->operands[0], *y = op->operands[1];
  Interval d = difference(s, x, y);
  if (x == y || (d.known && d.hi <= 0))
    return fold_to(op->code == OP_MIN ? x : y);
  if (d.known && d.lo >= 0)
    return fold_to(op->code == OP_MIN ? y : x);
  return no_fold;
}

/* Integer comparisons, by the bounds of the difference. */
static Fold fold_compare(Simplifier *s, Op *op) {
  Linear f = linear_sub(s->ranges, linear_of(s->ranges, op->operands[0]), linear_of(s->ranges, op->operands[1]));
  bool eq = op->code == OP_EQ, ne = op->code == OP_NE;
  if ((eq || ne) && f.n == 0)
    return fold_to_int(s, op, (const_convert((Const){.i = f.c}, TY_I64, op->operands[0]->type).i == 0) == eq);
  Interval d = difference(s, op->operands[0], op->operands[1]);
  if (!d.known)
    return no_fold;
  int yes, no;
  switch (op->code) {
  case OP_LT: yes = d.hi < 0, no = d.lo >= 0; break;
  case OP_LE: yes = d.hi <= 0, no = d.lo > 0; break;
  case OP_GT: yes = d.lo > 0, no = d.hi <= 0; break;
  case OP_GE: yes = d.lo >= 0, no = d.hi < 0; break;
  case OP_EQ: yes = false, no = d.lo > 0 || d.hi < 0; break;
  default: yes = d.lo > 0 || d.hi < 0, no = false; break;
  }
  return yes || no ? fold_to_int(s, op, yes) : no_fold;
}

/* Integer arithmetic and comparison. */
static Fold fold_int(Simplifier *s, Op *op) {
  switch (op->code) {
  case OP_ADD: return fold_add(s, op);
  case OP_SUB: return fold_sub(s, op);
  case OP_MUL: return fold_mul(s, op);
  case OP_DIV:
  case OP_REM: return fold_div(s, op);
  case OP_MIN:
  case OP_MAX: return fold_minmax(s, op);
  case OP_NEG: return is_op(op->operands[0], OP_NEG) ? fold_to(op->operands[0]->def->operands[0]) : no_fold;
  case OP_EQ:
  case OP_NE:
  case OP_LT:
  case OP_LE:
  case OP_GT:
  case OP_GE: return fold_compare(s, op);
  default: return no_fold;
  }
}

/* ---------------------------------------------------------------- floats, booleans, select, convert */

/* The identities of floating point that change no bit. */
static Fold fold_float(Op *op) {
  Value *x = op->operands[0], *y = op->noperands == 2 ? op->operands[1] : x;
  bool same = (op->code == OP_MUL && is_float(y, 1.0)) || (op->code == OP_DIV && is_float(y, 1.0)) ||
              (op->code == OP_ADD && is_float(y, -0.0)) || (op->code == OP_SUB && is_float(y, 0.0));
  return same ? fold_to(x) : no_fold;
}

/* and, or, not, and comparisons of booleans. */
static Fold fold_bool(Op *op) {
  Value *x = op->operands[0], *y = op->noperands == 2 ? op->operands[1] : x;
  switch (op->code) {
  case OP_AND: return x == y || is_bool(y, 1) ? fold_to(x) : is_bool(y, 0) ? fold_to(y) : no_fold;
  case OP_OR: return x == y || is_bool(y, 0) ? fold_to(x) : is_bool(y, 1) ? fold_to(y) : no_fold;
  case OP_NOT: return is_op(x, OP_NOT) ? fold_to(x->def->operands[0]) : no_fold;
  case OP_EQ: return is_bool(y, 1) ? fold_to(x) : no_fold;
  case OP_NE: return is_bool(y, 0) ? fold_to(x) : no_fold;
  default: return no_fold;
  }
}

/* select(c, x, y). */
static Fold fold_select(Simplifier *s, Op *op) {
  Value *c = op->operands[0], *x = op->operands[1], *y = op->operands[2];
  if (is_const(c))
    return fold_to(c->def->cval.i ? x : y);
  if (x == y)
    return fold_to(x);
  if (is_bool(x, 1) && is_bool(y, 0))
    return fold_to(c);
  Value *inner_x = is_op(x, OP_SELECT) && x->def->operands[0] == c ? x->def->operands[1] : x;
  Value *inner_y = is_op(y, OP_SELECT) && y->def->operands[0] == c ? y->def->operands[2] : y;
  if (is_op(c, OP_NOT))
    rewrite(s, op, OP_SELECT, 3, (Value *[]){c->def->operands[0], y, x});
  else if (inner_x != x || inner_y != y)
    rewrite(s, op, OP_SELECT, 3, (Value *[]){c, inner_x, inner_y});
  return no_fold;
}

/* convert to the same type, or to a wider integer type and back. */
static Fold fold_convert(Op *op) {
  Value *x = op->operands[0];
  Type t = op->results[0]->type;
  if (x->type == t)
    return fold_to(x);
  if (!is_op(x, OP_CONVERT) || x->def->operands[0]->type != t || !type_is_int(t) || !type_is_int(x->type) ||
      type_size(x->type) < type_size(t))
    return no_fold;
  return fold_to(x->def->operands[0]);
}

/* ---------------------------------------------------------------- coordinates */

/* Is the coordinate `x`, a value of type `t`, in [lo, hi]? 1: always; 0: never; -1: not known. */
static int coordinate_within(Simplifier *s, Linear x, Type t, Affine lo, Affine hi) {
  Ranges *r = s->ranges;
  int64_t width;
  if (affine_diff(hi, lo, &width) && width < 0)
    return 0;
  if (type_size(t) < 8 && !linear_interval(r, x).known)
    return -1;
  Interval above = linear_interval(r, linear_sub(r, x, linear_of_affine(r, lo)));
  Interval below = linear_interval(r, linear_sub(r, linear_of_affine(r, hi), x));
  if ((above.known && above.hi < 0) || (below.known && below.hi < 0))
    return 0;
  return above.known && above.lo >= 0 && below.known && below.lo >= 0 ? 1 : -1;
}

/* The form of the coordinate v + off, in *x. False if a value of a narrow type may have wrapped, so that it differs
 * from its form. */
static bool coordinate_form(Simplifier *s, const Value *v, int64_t off, Linear *x) {
  *x = linear_of(s->ranges, v);
  if (type_size(v->type) < 8) {
    Interval form = linear_interval(s->ranges, *x), value = value_interval(s->ranges, v);
    if (!form.known || form.lo != value.lo || form.hi != value.hi)
      return false;
  }
  return !__builtin_add_overflow(x->c, off, &x->c);
}

/* inside: decided if some coordinate never lies inside, or all always do. */
static Fold fold_inside(Simplifier *s, Op *op) {
  int all = 1;
  for (int d = 0; d < op->noperands; d++) {
    Linear x;
    if (!coordinate_form(s, op->operands[d], 0, &x)) {
      all = -1;
      continue;
    }
    int in = coordinate_within(s, x, op->operands[d]->type, op->box->lo[d], op->box->hi[d]);
    if (in == 0)
      return fold_to_int(s, op, 0);
    all = in < 0 ? -1 : all;
  }
  return all == 1 ? fold_to_int(s, op, 1) : no_fold;
}

/* Can the constant c of the operand v = x + c move into the constant offset `off`, which is added without wrapping?
 * *sum is the new offset. */
static bool offset_absorbs(Simplifier *s, const Value *v, int64_t off, int64_t *sum) {
  int64_t c, lo, hi;
  if (!is_add_const(v, &c) || __builtin_add_overflow(off, c, sum))
    return false;
  if (type_size(v->type) == 8)
    return true;
  Interval x = value_interval(s->ranges, v->def->operands[0]), all = {true, INT32_MIN, INT32_MAX};
  return v->type == TY_I32 && x.known && !__builtin_add_overflow(x.lo, c, &lo) &&
         !__builtin_add_overflow(x.hi, c, &hi) && lo >= all.lo && hi <= all.hi;
}

/* Does the idx.* op return its operand plus its offset for all params? */
static bool map_is_identity(Simplifier *s, const Op *op) {
  Linear x;
  return coordinate_form(s, op->operands[0], op->off[0], &x) &&
         coordinate_within(s, x, op->operands[0]->type, op->box->lo[0], op->box->hi[0]) == 1;
}

/* Folds idx.* of a constant in a constant box. An idx.guard that would change its coordinate stays, because it marks
 * the loaded value as stale. */
static Fold fold_map_constant(Simplifier *s, Op *op) {
  const Affine *lo = &op->box->lo[0], *hi = &op->box->hi[0];
  int64_t x;
  if (op->code == OP_GUARD || lo->n || hi->n || !value_is_int(op->operands[0], &x) ||
      __builtin_add_overflow(x, op->off[0], &x))
    return no_fold;
  return fold_to_int(s, op, hi->c < lo->c ? lo->c : eval_map(op->code, x, lo->c, hi->c));
}

/* idx.*. */
static Fold fold_map(Simplifier *s, Op *op) {
  Value *x = op->operands[0];
  int64_t sum;
  Fold f = fold_map_constant(s, op);
  if (f.value)
    return f;
  if (map_is_identity(s, op)) {
    if (op->off[0] == 0)
      return fold_to(x);
    rewrite(s, op, OP_ADD, 2, (Value *[]){x, simplify_int(s, op, x->type, op->off[0])});
    return (Fold){NULL, op};
  }
  if (op->off[0] == 0 && x->def && op_info[x->def->code].form == FORM_MAP && box_equal(x->def->box, op->box))
    return fold_to(x);
  if (offset_absorbs(s, x, op->off[0], &sum)) {
    op->operands[0] = x->def->operands[0];
    op->off[0] = sum;
    s->stats.folded++;
    s->changed = true;
  }
  return no_fold;
}

/* Moves the constant c of each of the `n` indices x + c at `v` to the constant offset `off`. */
static void fold_place(Simplifier *s, int n, Value **v, int64_t *off) {
  for (int d = 0; d < n && d < MAX_RANK; d++) {
    int64_t sum;
    while (offset_absorbs(s, v[d], off[d], &sum)) {
      v[d] = v[d]->def->operands[0];
      off[d] = sum;
      s->stats.folded++;
      s->changed = true;
    }
  }
}

/* Does so for the indices of a memory op. */
static void fold_indices(Simplifier *s, Op *op) {
  int first = op_first_index(op), n = op->noperands - first;
  if (op->code == OP_ASYNC_COPY) {
    n = s->k->arrays[op->sym].rank;
    fold_place(s, op->noperands - n, op->operands + n, op->from_off);
  }
  fold_place(s, n, op->operands + first, op->off);
}

/* Folds arithmetic, by the type of the operands. */
static Fold fold_arithmetic(Simplifier *s, Op *op) {
  if (op->noperands == 0 || op->noperands > 2 || op_info[op->code].form != FORM_PLAIN)
    return no_fold;
  Type t = op->operands[0]->type;
  return type_is_int(t) ? fold_int(s, op) : type_is_float(t) ? fold_float(op) : fold_bool(op);
}

/* See simplify.h. */
Fold fold_op(Simplifier *s, Op *op) {
  if (op->code == OP_CONSTRUCT)
    return no_fold;
  order_operands(s, op);
  Fold f = fold_constants(s, op);
  if (f.value)
    return f;
  switch (op->code) {
  case OP_SELECT: return fold_select(s, op);
  case OP_CONVERT: return fold_convert(op);
  case OP_THREAD: return s->k && s->k->threads[op->sym] == 1 ? fold_to_int(s, op, 0) : no_fold;
  case OP_INSIDE: return fold_inside(s, op);
  case COORDINATE_MAPS: return fold_map(s, op);
  case OP_LOAD:
  case OP_STORE:
  case OP_ALOAD:
  case OP_ASTORE:
  case OP_VLOAD:
  case OP_VSTORE:
  case OP_AVLOAD:
  case OP_AVSTORE:
  case OP_ASYNC_COPY: fold_indices(s, op); return no_fold;
  default: return fold_arithmetic(s, op);
  }
}
