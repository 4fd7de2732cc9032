/* check_sum.c: sum, prod, min and max over an index, and elements of tables. */
#include "frontend/check/lookup.h"

#include <math.h>

/* ---- reductions over an index */

/* The literal that is the value of an empty sum (0) or product (1). */
static Expr *nothing(Checker *c, const Expr *e, const Env *env) {
  if (e->op == OP_MIN || e->op == OP_MAX)
    return check_error(c, env, e->loc, "'%s' over an empty range has no value; let the range have a value in it",
                       e->name);
  Expr *x = check_leaf(c, EXPR_INT, TY_LITERAL_INT, e->loc, NULL);
  x->name = e->op == OP_MUL ? "1" : "0";
  return x;
}

/* Is the current expression in the expansion of a macro or of a function's call? Its names were checked at the
 * declaration of the macro or function. */
static bool is_expansion(const Checker *c, const Env *env) {
  while (env && env->index)
    env = env->caller;
  return c->inlined || (env && env->decl->kind != DECL_FN);
}

/* The body of `e` with the value `i` of its index. */
static Expr *term(Checker *c, const Expr *e, const Env *env, const int64_t *shift, int64_t i) {
  Symbol *index = ARENA_NEW(c->arena, Symbol);
  *index = (Symbol){.kind = SYM_CONST, .name = e->kids[0]->name, .loc = e->kids[0]->loc};
  check_int_symbol(index, i);
  Env inner = {.caller = env, .call = e->loc, .index = index};
  return check_expr(c, e->kids[3], &inner, shift);
}

Expr *check_reduce(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  int64_t lo, hi;
  if (!is_expansion(c, env) && !check_index_name(c, env, e->kids[0], NULL))
    return check_bad(c, e->loc);
  if (!check_const_int(c, e->kids[1], env, "the first value of an index", &lo) ||
      !check_const_int(c, e->kids[2], env, "the last value of an index", &hi))
    return check_bad(c, e->loc);
  if (lo > hi)
    return nothing(c, e, env);
  if ((uint64_t)hi - (uint64_t)lo >= MAX_TERMS)
    return check_error(c, env, e->loc, "this '%s' has more than %d terms", e->name, MAX_TERMS);
  Expr *all = NULL;
  for (int64_t i = lo;; i++) {
    Expr *x = term(c, e, env, shift, i);
    if (all && x->kind != EXPR_BAD)
      x = check_types(c, env, check_operation(c, e->op, e->loc, 2, (Expr *[]){all, x}));
    if (x->kind == EXPR_BAD)
      return x;
    all = x;
    if (i == hi)
      return all;
  }
}

/* ---- tables */

/* `index` < k. */
static Expr *below(Checker *c, Expr *index, int k) {
  Expr *limit = check_leaf(c, EXPR_INT, TY_I64, index->loc, NULL);
  limit->name = arena_printf(c->arena, "%d", k);
  Expr *e = check_operation(c, OP_LT, index->loc, 2, (Expr *[]){index, limit});
  e->type = TY_BOOL;
  return e;
}

/* The item of `l` that `index` selects, among items lo .. hi. */
static Expr *among(Checker *c, const Items *l, Expr *index, int lo, int hi) {
  if (lo == hi && l->n > 1)
    return l->item(c, l, lo);
  int half = lo + (hi - lo + 1) / 2;
  bool one = lo == hi;
  Expr *only = one ? l->item(c, l, lo) : NULL;
  Expr *kids[] = {below(c, index, half), only, only};
  if (!one) {
    kids[1] = among(c, l, index, lo, half - 1);
    kids[2] = among(c, l, index, half, hi);
  }
  if (kids[1]->kind == EXPR_BAD || kids[2]->kind == EXPR_BAD)
    return check_bad(c, l->loc);
  return check_types(c, l->env, check_operation(c, OP_SELECT, l->loc, 3, kids));
}

Expr *check_among(Checker *c, const Items *l, Expr *index) { return among(c, l, index, 0, l->n - 1); }

/* Element `i` of the table of `l`. */
static Expr *element_item(Checker *c, const Items *l, int i) {
  Symbol *s = l->table->elems[l->first + i];
  return check_leaf(c, EXPR_CONST, s->type, l->loc, s);
}

Expr *check_look_up(Checker *c, Loc loc, const Env *env, const Symbol *table, Expr *index) {
  Items l = {.loc = loc, .env = env, .n = table->n, .table = table, .item = element_item};
  c->nodes += table->n;
  return check_among(c, &l, index);
}

/* The element at row `i` and column `l->column` of the table of `l`. */
static Expr *row_item(Checker *c, const Items *l, int i) {
  int n = l->table->columns;
  Const k;
  if (fold_const(c, l->column, &k)) {
    int at = k.i < 0 ? 0 : k.i < n ? (int)k.i : n - 1;
    return check_leaf(c, EXPR_CONST, l->table->elems[i * n + at]->type, l->loc, l->table->elems[i * n + at]);
  }
  Items row = {.loc = l->loc, .env = l->env, .n = n, .table = l->table, .first = i * n, .item = element_item};
  return check_among(c, &row, l->column);
}

Expr *check_look_up_row(Checker *c, Loc loc, const Env *env, const Symbol *table, Expr *row, Expr *column) {
  Items l = {
      .loc = loc, .env = env, .n = table->n / table->columns, .table = table, .column = column, .item = row_item};
  c->nodes += table->n;
  return check_among(c, &l, row);
}

bool check_may_look_up(Checker *c, Loc loc, const Env *env, const Symbol *table) {
  const char *extents = table->columns ? arena_printf(c->arena, "%d, %d", table->n / table->columns, table->columns)
                                       : arena_printf(c->arena, "%d", table->n);
  if (table->n > MAX_LOOKUP)
    check_error(c, env, loc,
                "the table '%s' has %d values; by an index that is not constant at most %d can be looked up: "
                "make it a launch-time array, param %s[%s] : TYPE",
                table->name, table->n, MAX_LOOKUP, table->name, extents);
  return table->n <= MAX_LOOKUP;
}

/* Element `i`, a constant. In a function's call, where an index may be constant only by the arguments, an index out of
 * range selects the nearest element, as an index that is not constant does. */
static Expr *known_element(Checker *c, const Expr *e, const Env *env, const Symbol *table, int64_t i) {
  if (c->inlined)
    i = i < 0 ? 0 : i >= table->n ? table->n - 1 : i;
  if (i < 0 || i >= table->n)
    return check_error(c, env, e->kids[0]->loc,
                       "index %lld is outside the table '%s' of %d value%s; indices begin at 0", (long long)i,
                       table->name, table->n, table->n == 1 ? "" : "s");
  return check_leaf(c, EXPR_CONST, table->elems[i]->type, e->loc, table->elems[i]);
}

Expr *check_table_index(Checker *c, const Env *env, Expr *index) {
  if (index->type == TY_LITERAL_INT)
    return check_adapt(c, env, index, TY_I64);
  if (index->kind == EXPR_BAD || index->type == TY_I64)
    return index;
  if (type_is_scalar(index->type) && type_is_int(index->type))
    return check_error(c, env, index->loc, "a table's index is i64, but this value is %s; convert it: i64(...)",
                       type_name(index->type));
  return check_error(c, env, index->loc, "a table's index must be an integer");
}

Expr *check_element(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *table) {
  Const k;
  table->used = true;
  if (table->columns)
    return check_element_of_rows(c, e, env, shift, table);
  if (e->n != 1)
    return check_error(c, env, e->loc, "the table '%s' takes one index", table->name);
  const char *what = c->what;
  c->what = c->allowed == ALLOW_CONST ? "a table's index" : c->what;
  Expr *index = check_table_index(c, env, check_expr(c, e->kids[0], env, shift));
  c->what = what;
  if (index->kind == EXPR_BAD)
    return index;
  if (fold_const(c, index, &k))
    return known_element(c, e, env, table, k.i);
  if (!check_may_look_up(c, e->loc, env, table))
    return check_bad(c, e->loc);
  return check_look_up(c, e->loc, env, table, share(c, index, "index"));
}
