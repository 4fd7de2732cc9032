/* ranges.c: linear forms and intervals of index arithmetic.
 *
 * Every integer value has a *linear form*: a constant plus multiples of atoms. Atoms are thread numbers, block numbers,
 * integer params, and values that the analysis does not look into, induction variables among them. The analysis looks
 * through `add`, `sub`, `neg`, multiplication by a constant, and conversions; through a widening conversion only if the
 * operand's bounds prove that it cannot have wrapped. A value of b bits equals its form modulo 2^b.
 *
 * A form has an *interval* if all its atoms have one: thread d lies in [0, threads[d] - 1]; an induction variable
 * between the bounds of its loop; the results of `min`, `max`, `rem`, `select` and idx.* within the values that these
 * can have; and any value narrower than 64 bits within its type. The difference of two forms is exact where atoms
 * cancel: `N - 1 - (N - thread)` is bounded although `N` is not. */

#include "passes/simplify/analysis.h"

/* Forms have at most MAX_TERMS terms; forms of expressions are followed MAX_DEPTH ops deep, intervals
 * MAX_INTERVAL_DEPTH ops. */
enum { MAX_TERMS = 8, MAX_DEPTH = 200, MAX_INTERVAL_DEPTH = 4 };

static Linear form_of(Ranges *r, const Value *v, int depth);
static Interval interval_of_value(Ranges *r, const Value *v, int depth);

static const Interval unknown = {false, 0, 0};

/* x + y and x * y modulo 2^64. */
static int64_t wrap_add(int64_t x, int64_t y) { return (int64_t)((uint64_t)x + (uint64_t)y); }
static int64_t wrap_mul(int64_t x, int64_t y) { return (int64_t)((uint64_t)x * (uint64_t)y); }

/* The largest Value.id in `b` and nested blocks, or `max` if that is larger. */
static int32_t largest_id(const Block *b, int32_t max) {
  for (int i = 0; i < b->nargs; i++)
    max = b->args[i]->id > max ? b->args[i]->id : max;
  for (const Op *op = b->first; op; op = op->next) {
    for (int i = 0; i < op->nresults; i++)
      max = op->results[i]->id > max ? op->results[i]->id : max;
    for (int i = 0; i < op->nblocks; i++)
      max = largest_id(op->blocks[i], max);
  }
  return max;
}

/* An analysis of a body whose values are numbered below `n`; see analysis.h. */
Ranges *ranges_numbered(Arena *a, const Module *m, const Kernel *k, int32_t n) {
  Ranges *r = ARENA_NEW(a, Ranges);
  *r = (Ranges){.arena = a, .m = m, .k = k, .n = n};
  r->cap = r->n + 16;
  r->memo = ARENA_ARRAY(a, Linear *, r->cap);
  return r;
}

/* An analysis of a body; see analysis.h. */
Ranges *ranges_new(Arena *a, const Module *m, const Kernel *k, const Block *body) {
  return ranges_numbered(a, m, k, largest_id(body, -1) + 1);
}

/* Gives the next free number to `v`; see analysis.h. */
void ranges_number(Ranges *r, Value *v) {
  if (r->n == r->cap) {
    r->memo = arena_grow(r->arena, r->memo, (size_t)r->cap, (size_t)r->cap * 2, sizeof *r->memo);
    r->cap *= 2;
  }
  v->id = r->n++;
}

/* ---------------------------------------------------------------- forms */

static bool atom_equal(Atom x, Atom y) { return x.kind == y.kind && x.index == y.index && x.v == y.v; }

static Linear linear_const(int64_t c) { return (Linear){c, 0, NULL}; }

/* 1 * atom. */
static Linear linear_atom(Ranges *r, Atom atom) {
  LinearTerm *t = ARENA_NEW(r->arena, LinearTerm);
  *t = (LinearTerm){atom, 1};
  return (Linear){0, 1, t};
}

/* The value as an atom of its own. */
static Linear linear_opaque(Ranges *r, const Value *v) { return linear_atom(r, (Atom){ATOM_VALUE, 0, v}); }

/* Adds k * atom to the n terms at t. Returns the new number of terms. */
static int add_term(LinearTerm *t, int n, Atom atom, int64_t k) {
  for (int i = 0; i < n; i++)
    if (atom_equal(t[i].atom, atom)) {
      t[i].coef = wrap_add(t[i].coef, k);
      if (t[i].coef == 0)
        t[i] = t[--n];
      return n;
    }
  t[n] = (LinearTerm){atom, k};
  return n + (k != 0);
}

/* x + k * y. */
static Linear linear_add_scaled(Ranges *r, Linear x, Linear y, int64_t k) {
  Linear z = {wrap_add(x.c, wrap_mul(y.c, k)), x.n, x.t};
  if (y.n == 0 || k == 0)
    return z;
  LinearTerm *t = ARENA_ARRAY(r->arena, LinearTerm, x.n + y.n);
  for (int i = 0; i < x.n; i++)
    t[i] = x.t[i];
  for (int i = 0; i < y.n; i++)
    z.n = add_term(t, z.n, y.t[i].atom, wrap_mul(y.t[i].coef, k));
  z.t = t;
  return z;
}

/* x - y. */
Linear linear_sub(Ranges *r, Linear x, Linear y) { return linear_add_scaled(r, x, y, -1); }

/* The affine bound as a form; see analysis.h. */
Linear linear_of_affine(Ranges *r, Affine x) {
  Linear z = linear_const(x.c);
  for (int i = 0; i < x.n; i++)
    z = linear_add_scaled(r, z, linear_atom(r, (Atom){ATOM_SCALAR, x.t[i].scalar, NULL}), x.t[i].coef);
  return z;
}

/* The value of a constant integer; see analysis.h. */
bool value_is_int(const Value *v, int64_t *c) {
  if (!v->def || v->def->code != OP_CONST || !type_is_int(v->type))
    return false;
  *c = v->def->cval.i;
  return true;
}

/* The range of the integer type `t`. */
static Interval type_interval(Type t) {
  int bits = 8 * type_size(t);
  if (t == TY_BOOL)
    return (Interval){true, 0, 1};
  if (!type_is_int(t) || bits >= 64)
    return unknown;
  return (Interval){true, type_least(t), type_most(t)};
}

static bool interval_within(Interval x, Interval y) { return x.known && y.known && y.lo <= x.lo && x.hi <= y.hi; }

/* The form of convert's result `v`. A narrowing conversion keeps the form, because forms hold modulo a power of two; a
 * widening one keeps it only if the operand cannot have wrapped. */
static Linear form_of_convert(Ranges *r, const Value *v, int depth) {
  const Value *x = v->def->operands[0];
  if (!type_is_int(x->type) || !type_is_int(v->type))
    return linear_opaque(r, v);
  Linear f = form_of(r, x, depth);
  if (type_size(v->type) <= type_size(x->type) || interval_within(linear_interval(r, f), type_interval(x->type)))
    return f;
  return linear_opaque(r, v);
}

/* The form of x * y, which is linear if one of them is constant. */
static Linear form_of_product(Ranges *r, const Value *v, int depth) {
  Linear x = form_of(r, v->def->operands[0], depth), y = form_of(r, v->def->operands[1], depth);
  if (x.n && y.n)
    return linear_opaque(r, v);
  return x.n ? linear_add_scaled(r, linear_const(0), x, y.c) : linear_add_scaled(r, linear_const(0), y, x.c);
}

/* The form of an idx.* op: operand plus offset, if it is known to return that, else an atom. */
static Linear form_of_map(Ranges *r, const Value *v, int depth) {
  if (!r->identity || !r->identity(r->user, v->def))
    return linear_opaque(r, v);
  Linear f = form_of(r, v->def->operands[0], depth);
  f.c = wrap_add(f.c, v->def->off[0]);
  return f;
}

/* The form of thread `d`'s number. */
static Linear form_of_thread(Ranges *r, int32_t d) {
  return r->k && r->k->threads[d] == 1 ? linear_const(0) : linear_atom(r, (Atom){ATOM_THREAD, d, NULL});
}

/* Computes the form of the integer result of an op, without the cache. */
static Linear compute_form(Ranges *r, const Value *v, int depth) {
  const Op *op = v->def;
  Linear zero = linear_const(0);
  switch (op->code) {
  case OP_CONST: return linear_const(op->cval.i);
  case OP_SCALAR:
    return r->m->scalars[op->sym].is_reduction ? linear_opaque(r, v)
                                               : linear_atom(r, (Atom){ATOM_SCALAR, op->sym, NULL});
  case OP_THREAD: return form_of_thread(r, op->sym);
  case OP_CLUSTER_RANK: return linear_atom(r, (Atom){ATOM_RANK, 0, NULL});
  case OP_BLOCK: return linear_atom(r, (Atom){ATOM_BLOCK, op->sym, NULL});
  case OP_ADD: return linear_add_scaled(r, form_of(r, op->operands[0], depth), form_of(r, op->operands[1], depth), 1);
  case OP_SUB: return linear_add_scaled(r, form_of(r, op->operands[0], depth), form_of(r, op->operands[1], depth), -1);
  case OP_NEG: return linear_add_scaled(r, zero, form_of(r, op->operands[0], depth), -1);
  case OP_MUL: return form_of_product(r, v, depth);
  case OP_CONVERT: return form_of_convert(r, v, depth);
  case COORDINATE_MAPS: return form_of_map(r, v, depth);
  default: return linear_opaque(r, v);
  }
}

/* The form of `v`, followed at most `depth` ops deep. */
static Linear form_of(Ranges *r, const Value *v, int depth) {
  if (!v->def || !type_is_int(v->type) || depth == 0)
    return linear_opaque(r, v);
  if (v->id >= 0 && v->id < r->n && r->memo[v->id])
    return *r->memo[v->id];
  Linear f = compute_form(r, v, depth - 1);
  if (f.n > MAX_TERMS)
    f = linear_opaque(r, v);
  if (v->id >= 0 && v->id < r->n) {
    r->memo[v->id] = ARENA_NEW(r->arena, Linear);
    *r->memo[v->id] = f;
  }
  return f;
}

/* The form of `v`; see analysis.h. */
Linear linear_of(Ranges *r, const Value *v) { return form_of(r, v, MAX_DEPTH); }

/* ---------------------------------------------------------------- intervals */

static Interval interval_hull(Interval x, Interval y) {
  if (!x.known || !y.known)
    return unknown;
  return (Interval){true, x.lo < y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
}

/* [x.lo, x.hi] + k * [y.lo, y.hi]. */
static Interval interval_add_scaled(Interval x, Interval y, int64_t k) {
  int64_t a, b;
  if (!x.known || !y.known || __builtin_mul_overflow(y.lo, k, &a) || __builtin_mul_overflow(y.hi, k, &b))
    return unknown;
  if (__builtin_add_overflow(x.lo, a < b ? a : b, &x.lo) || __builtin_add_overflow(x.hi, a < b ? b : a, &x.hi))
    return unknown;
  return x;
}

/* Bounds of an induction variable: from the smallest start to the last value below the largest end. */
static Interval interval_of_iv(Ranges *r, const Op *loop, Type t, int depth) {
  Interval lo = interval_of_value(r, loop->operands[0], depth), hi = interval_of_value(r, loop->operands[1], depth);
  if (!lo.known || !hi.known || hi.hi == INT64_MIN)
    return type_interval(t);
  int64_t last = hi.hi - 1, span;
  if (lo.lo == lo.hi && !__builtin_sub_overflow(last, lo.lo, &span) && span >= 0)
    last = lo.lo + span / loop->off[0] * loop->off[0];
  return (Interval){true, lo.lo, last < lo.lo ? lo.lo : last};
}

/* Bounds of min or max. */
static Interval interval_of_minmax(Ranges *r, const Op *op, int depth) {
  Interval x = interval_of_value(r, op->operands[0], depth), y = interval_of_value(r, op->operands[1], depth);
  if (!x.known || !y.known)
    return unknown;
  if (op->code == OP_MIN)
    return (Interval){true, x.lo < y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi};
  return (Interval){true, x.lo > y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
}

/* Bounds of x % y for a constant y; the result has the sign of x. */
static Interval interval_of_rem(Ranges *r, const Op *op, int depth) {
  int64_t y;
  if (!value_is_int(op->operands[1], &y) || y == INT64_MIN || y == 0)
    return unknown;
  int64_t m = (y < 0 ? -y : y) - 1;
  Interval x = interval_of_value(r, op->operands[0], depth);
  return (Interval){true, x.known && x.lo >= 0 ? 0 : -m, m};
}

/* Bounds of x / y, rounded towards 0, for a constant y >= 1. */
static Interval interval_of_div(Ranges *r, const Op *op, int depth) {
  int64_t y;
  Interval x = interval_of_value(r, op->operands[0], depth);
  if (!x.known || !value_is_int(op->operands[1], &y) || y < 1)
    return unknown;
  return (Interval){true, x.lo / y, x.hi / y};
}

/* Bounds of an idx.* op: those of its box if they are constant. In an empty box the op returns the lower end. */
static Interval interval_of_map(const Op *op) {
  const Affine *lo = &op->box->lo[0], *hi = &op->box->hi[0];
  if (lo->n || hi->n)
    return unknown;
  return (Interval){true, lo->c, hi->c < lo->c ? lo->c : hi->c};
}

/* Bounds of the result of an op whose form is an atom. */
static Interval interval_of_op(Ranges *r, const Value *v, int depth) {
  const Op *op = v->def;
  switch (op->code) {
  case OP_MIN:
  case OP_MAX: return interval_of_minmax(r, op, depth);
  case OP_SELECT:
    return interval_hull(interval_of_value(r, op->operands[1], depth), interval_of_value(r, op->operands[2], depth));
  case OP_REM: return interval_of_rem(r, op, depth);
  case OP_DIV: return interval_of_div(r, op, depth);
  case COORDINATE_MAPS: return interval_of_map(op);
  case OP_CONVERT: return type_is_float(op->operands[0]->type) ? unknown : interval_of_value(r, op->operands[0], depth);
  default: return unknown;
  }
}

/* Bounds of a value that is an atom: those of its op if known, else those of its type. */
static Interval interval_of_opaque(Ranges *r, const Value *v, int depth) {
  Interval all = type_interval(v->type), x = unknown;
  if (depth == 0)
    return all;
  if (v->def)
    x = interval_of_op(r, v, depth - 1);
  else if (v->block && v->block->parent && v->block->parent->code == OP_FOR && v->index == 0)
    x = interval_of_iv(r, v->block->parent, v->type, depth - 1);
  return x.known && (!all.known || interval_within(x, all)) ? x : all;
}

static Interval interval_of_atom(Ranges *r, Atom a, int depth) {
  switch (a.kind) {
  case ATOM_THREAD: return r->k ? (Interval){true, 0, r->k->threads[a.index] - 1} : unknown;
  case ATOM_RANK: return r->k && r->k->cluster ? (Interval){true, 0, r->k->cluster - 1} : unknown;
  case ATOM_SCALAR: return type_interval(r->m->scalars[a.index].type);
  case ATOM_VALUE: return interval_of_opaque(r, a.v, depth);
  default: return unknown;
  }
}

static Interval interval_of_form(Ranges *r, Linear x, int depth) {
  Interval sum = {true, x.c, x.c};
  for (int i = 0; i < x.n && sum.known; i++)
    sum = interval_add_scaled(sum, interval_of_atom(r, x.t[i].atom, depth), x.t[i].coef);
  return sum;
}

/* Bounds of a value: those of its form, unless the value may have wrapped. */
static Interval interval_of_value(Ranges *r, const Value *v, int depth) {
  if (!type_is_int(v->type))
    return type_interval(v->type);
  Interval x = interval_of_form(r, linear_of(r, v), depth), all = type_interval(v->type);
  return x.known && (!all.known || interval_within(x, all)) ? x : all;
}

/* Bounds of a form; see analysis.h. */
Interval linear_interval(Ranges *r, Linear x) { return interval_of_form(r, x, MAX_INTERVAL_DEPTH); }

/* Bounds of a value; see analysis.h. */
Interval value_interval(Ranges *r, const Value *v) { return interval_of_value(r, v, MAX_INTERVAL_DEPTH); }
