/* frontend/base/fold.c: constant expressions and affine bounds. Together with scalars.c it is above nodes.c and below
 * types. */
#include "frontend/checker.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

bool fold_literal(const Expr *e, Type t, Const *out) {
  if (type_is_float(t)) {
    const_parse_float(e->name, t, out);
    return true;
  }
  bool negative = *e->name == '-';
  errno = 0;
  unsigned long long v = strtoull(e->name + negative, NULL, 10);
  out->i = 0;
  if (errno || v > (unsigned long long)(type_size(t) == 4 ? type_most(t) : INT64_MAX) + negative ||
      (t == TY_U32 && negative && v))
    return false;
  out->i = (int64_t)(negative ? 0 - v : v);
  return true;
}

/* The value of the const or element `s` in type `t`; false if it has none. */
static bool fold_symbol(const Symbol *s, Type t, Const *out) {
  if (t >= TY_COMPOSITE || !s->have[t])
    return false;
  *out = s->memo[t];
  return true;
}

/* The value of the operation `e` on constants; false if it has none. */
static bool fold_op(Checker *c, const Expr *e, Const *out) {
  Const in[MAX_KIDS];
  Value *values[MAX_KIDS];
  Builder b = builder_at_end(c->arena, block_new(c->arena, NULL));
  if (!type_is_scalar(e->type))
    return false;
  for (int i = 0; i < e->n; i++) {
    if (!type_is_scalar(e->kids[i]->type) || !fold_const(c, e->kids[i], &in[i]))
      return false;
    values[i] = build_const(&b, e->kids[i]->type, in[i]);
  }
  *out = eval_op(build_op(&b, e->op, e->type, e->n, values), in);
  return true;
}

bool fold_const(Checker *c, const Expr *e, Const *out) {
  switch (e->kind) {
  case EXPR_INT:
  case EXPR_FLOAT: return fold_literal(e, e->type, out);
  case EXPR_BOOL: *out = e->value; return true;
  case EXPR_CONST: return fold_symbol(e->sym, e->type, out);
  case EXPR_OP: return fold_op(c, e, out);
  case EXPR_SCALAR:
    *out = c->by_default && c->has_default[e->sym->index] ? c->defaults[e->sym->index] : (Const){0};
    return c->by_default && c->has_default[e->sym->index];
  default: return false;
  }
}

bool fold_default(Checker *c, const Expr *e, Const *out) {
  c->by_default = true;
  bool known = fold_const(c, e, out);
  c->by_default = false;
  return known;
}

/* Are two checked launch-time expressions written alike, so that they have the same value? */
static bool is_alike(Checker *c, const Expr *a, const Expr *b) {
  Const x, y;
  if (a->type != b->type || !type_is_scalar(a->type))
    return false;
  if (fold_const(c, a, &x) && fold_const(c, b, &y))
    return const_same(x, y, a->type);
  if (a->kind != b->kind || a->sym != b->sym || a->n != b->n || (a->kind == EXPR_OP && a->op != b->op))
    return false;
  for (int i = 0; i < a->n; i++)
    if (!is_alike(c, a->kids[i], b->kids[i]))
      return false;
  return a->kind == EXPR_SCALAR || a->kind == EXPR_OP;
}

/* The name of an operand within the name of a computed bound; NULL if it has no short name. */
static const char *part_name(Checker *c, const Expr *e) {
  Const k;
  if (e->kind == EXPR_SCALAR)
    return e->name;
  return fold_const(c, e, &k) && k.i >= 0 ? arena_printf(c->arena, "%lld", (long long)k.i) : NULL;
}

/* A name for the hidden scalar with the value of `e`: "N.div.2", or "bound.1" for a longer `e`. No name in a program
 * has a dot. */
static const char *computed_name(Checker *c, const Expr *e) {
  bool pair =
      e->kind == EXPR_OP && e->n == 2 && (e->op == OP_DIV || e->op == OP_REM || e->op == OP_MIN || e->op == OP_MAX);
  const char *x = pair ? part_name(c, e->kids[0]) : NULL, *y = pair ? part_name(c, e->kids[1]) : NULL;
  bool infix = pair && (e->op == OP_DIV || e->op == OP_REM);
  if (!x || !y || (x[0] >= '0' && x[0] <= '9'))
    return arena_printf(c->arena, "bound.%d", c->nbounds++ + 1);
  return infix ? arena_printf(c->arena, "%s.%s.%s", x, op_info[e->op].name, y)
               : arena_printf(c->arena, "%s.%s.%s", op_info[e->op].name, x, y);
}

bool fold_may_compute(Checker *c, const Expr *e) {
  Const k;
  if (fold_const(c, e, &k))
    return true;
  if (e->kind == EXPR_SCALAR)
    return e->sym->is_affine || !type_is_int(e->type);
  if (e->kind != EXPR_OP ||
      (e->op == OP_MUL && type_is_int(e->type) && !fold_const(c, e->kids[0], &k) && !fold_const(c, e->kids[1], &k)))
    return false;
  for (int i = 0; i < e->n; i++)
    if (!fold_may_compute(c, e->kids[i]))
      return false;
  return true;
}

void fold_note(Checker *c, Expr *e, int scalar) {
  Computed x = {e, scalar};
  ARENA_PUSH(c->arena, c->computed, c->ncomputed, x);
}

int fold_computed(Checker *c, Expr *e) {
  for (int i = 0; i < c->ncomputed; i++)
    if (is_alike(c, c->computed[i].value, e))
      return c->computed[i].scalar;
  bool computes = c->computes;
  c->computes = false;
  int scalar = check_hidden_scalar(c, computed_name(c, e), e)->index;
  c->computes = computes;
  return scalar;
}

/* Is every coefficient of x so small that sums and products of affine forms cannot overflow unnoticed? */
static bool is_small(Affine x) {
  const int64_t limit = (int64_t)1 << 56;
  bool ok = x.c > -limit && x.c < limit;
  for (int i = 0; i < x.n; i++)
    ok = ok && x.t[i].coef > -limit && x.t[i].coef < limit;
  return ok;
}

/* The affine form of an operation that is not constant. */
static bool affine_op(Checker *c, const Expr *e, Affine *out) {
  Affine x, y = affine_const(0);
  if (!type_is_int(e->kids[0]->type) || !fold_affine(c, e->kids[0], &x) ||
      (e->n > 1 && !fold_affine(c, e->kids[1], &y)))
    return false;
  switch (e->op) {
  case OP_ADD: *out = affine_add(c->arena, x, y); return true;
  case OP_SUB: *out = affine_sub(c->arena, x, y); return true;
  case OP_NEG: *out = affine_scale(c->arena, x, -1); return true;
  case OP_MUL: *out = affine_scale(c->arena, x.n ? x : y, x.n ? y.c : x.c); return !x.n || !y.n;
  case OP_CONVERT: *out = x; return e->type == TY_I64;
  default: return false;
  }
}

/* Sets *out to the affine form of `e` without a hidden scalar for computed bounds. Operations in u32 have no affine
 * form, because 0 - 1 is not -1 there. If it returns false and *linear is true, the operation is linear, but a
 * coefficient is too large or an operand has no affine form. */
static bool fold_linear(Checker *c, const Expr *e, Affine *out, bool *linear) {
  Const k;
  *linear = true;
  if (e->kind == EXPR_SCALAR) {
    *out = e->sym->affine;
    return e->sym->is_affine;
  }
  bool product = e->kind == EXPR_OP && e->op == OP_MUL;
  if (fold_const(c, e, &k)) {
    *out = affine_const(k.i);
    return is_small(*out);
  }
  if (e->type == TY_U32) {
    *linear = false;
    return false;
  }
  *linear = !product || fold_const(c, e->kids[0], &k) || fold_const(c, e->kids[1], &k);
  if (e->kind == EXPR_OP && (e->op == OP_ADD || e->op == OP_SUB || e->op == OP_NEG || (product && *linear) ||
                             (e->op == OP_CONVERT && type_is_int(e->kids[0]->type))))
    return affine_op(c, e, out) && is_small(*out);
  *linear = false;
  return false;
}

bool fold_affine(Checker *c, const Expr *e, Affine *out) {
  bool linear;
  *out = affine_const(0);
  if (e->kind == EXPR_BAD || !type_is_int(e->type))
    return false;
  if (fold_linear(c, e, out, &linear))
    return true;
  if (linear || !c->computes || !fold_may_compute(c, e))
    return false;
  Expr *copy = ARENA_NEW(c->arena, Expr);
  *copy = *e;
  *out = affine_scalar(c->arena, fold_computed(c, copy));
  return true;
}

bool fold_bound(Checker *c, const Expr *e, Affine *out) {
  c->computes = true;
  bool ok = fold_affine(c, e, out);
  c->computes = false;
  return ok;
}

void check_int_symbol(Symbol *s, int64_t v) {
  static const Type types[] = {TY_I8, TY_I16, TY_I32, TY_I64, TY_F16, TY_BF16, TY_F32, TY_F64, TY_U8, TY_U16, TY_U32};
  Const k = {.i = v};
  s->type = TY_LITERAL_INT;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    Type t = types[i];
    s->memo[t] = const_convert(k, TY_I64, t);
    s->have[t] = type_is_float(t) ? !isinf(s->memo[t].f) : s->memo[t].i == v;
  }
}
