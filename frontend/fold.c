/* frontend/fold.c: constant expressions and affine bounds. */
#include "frontend/ast.h"

#include <errno.h>
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
  if (errno || v > (unsigned long long)(t == TY_I32 ? INT32_MAX : INT64_MAX) + negative)
    return false;
  out->i = (int64_t)(negative ? 0 - v : v);
  return true;
}

/* The value of const or element `s` as type `t`. */
static bool fold_symbol(const Symbol *s, Type t, Const *out) {
  if (t >= TY_COMPOSITE || !s->have[t])
    return false;
  *out = s->memo[t];
  return true;
}

/* The value of an operation on constants. */
static bool fold_op(Checker *c, const Expr *e, Const *out) {
  Const in[3];
  Value *values[3];
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
  default: return false;
  }
}

/* Is every coefficient of x small enough that sums and products of forms do not overflow unseen? */
static bool is_small(Affine x) {
  const int64_t limit = (int64_t)1 << 56;
  bool ok = x.c > -limit && x.c < limit;
  for (int i = 0; i < x.n; i++)
    ok = ok && x.t[i].coef > -limit && x.t[i].coef < limit;
  return ok;
}

/* The form of an operation that is not constant. */
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

bool fold_affine(Checker *c, const Expr *e, Affine *out) {
  Const k;
  *out = affine_const(0);
  if (e->kind == EXPR_BAD || !type_is_int(e->type))
    return false;
  if (e->kind == EXPR_SCALAR)
    *out = e->sym->affine;
  if (e->kind == EXPR_SCALAR)
    return e->sym->is_affine;
  if (e->kind == EXPR_OP &&
      (e->op == OP_ADD || e->op == OP_SUB || e->op == OP_NEG || e->op == OP_MUL || e->op == OP_CONVERT))
    return affine_op(c, e, out) && is_small(*out);
  if (!fold_const(c, e, &k))
    return false;
  *out = affine_const(k.i);
  return is_small(*out);
}
