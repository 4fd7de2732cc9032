/* check_const.c: constants and tables of constants, computed as every type that their literals can adapt to. */
#include "frontend/check/declare.h"
#include "frontend/complex.h"

#include <math.h>
#include <string.h>

Expr *check_single(Checker *c, Expr *e, const char *what) {
  if (e->kind == EXPR_BAD || e->type == TY_BOOL || type_is_literal(e->type) || type_is_scalar(e->type))
    return check_widen(c, e);
  bool is_complex = e->imaginary || check_is_complex(c, e->type);
  return check_error(c, NULL, e->loc, "%s must be a single number, but this is %s%s", what,
                     e->imaginary ? "an imaginary number" : check_type_words(c, e->type),
                     is_complex ? "; params and lets may be complex" : "");
}

/* Computes constant `s` from the expression `value` in type `t`. False after reporting. */
static bool compute(Checker *c, Symbol *s, const Expr *value, Type t) {
  Expr *e = check_in(c, value, NULL, ALLOW_CONST, "a const");
  e = check_coerce(c, e, t, arena_printf(c->arena, "'%s'", s->name));
  if (e->kind == EXPR_BAD)
    return false;
  s->have[t] = fold_const(c, e, &s->memo[t]);
  if (!s->have[t])
    check_error(c, NULL, value->loc, "the value of '%s' must be a constant", s->name);
  return s->have[t];
}

/* Computes constant `s`, made of literals, in all float types that can hold its value. False after reporting. */
static bool compute_floats(Checker *c, Symbol *s, const Expr *value) {
  static const Type narrower[] = {TY_F32, TY_F16, TY_BF16};
  bool ok = compute(c, s, value, TY_F64);
  for (size_t i = 0; i < sizeof narrower / sizeof *narrower && ok; i++)
    if (!isinf(const_convert(s->memo[TY_F64], TY_F64, narrower[i]).f))
      ok = compute(c, s, value, narrower[i]);
  return ok;
}

/* Records that constant `s` may also have the shorter integer types that can hold its value `i`. */
static void add_integers(Symbol *s, int64_t i) {
  static const Type types[] = {TY_I32, TY_U32};
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    s->have[types[k]] = i >= type_least(types[k]) && i <= type_most(types[k]);
    s->memo[types[k]].i = i;
  }
}

/* Computes constant `s` in the type `given`, in the type of `value`, or in every type that its literals can take. */
static bool compute_all(Checker *c, Symbol *s, const Expr *value, Type given) {
  Expr *e = check_single(c, check_in(c, value, NULL, ALLOW_CONST, "a const"),
                         "a const (a table is written const w[3] = {...})");
  s->type = given != TY_NONE ? given : e->type;
  if (e->kind == EXPR_BAD)
    return false;
  if (!type_is_literal(s->type)) {
    s->adapts = given == TY_NONE && e->adapts;
    bool ok = compute(c, s, value, s->type);
    if (ok && s->adapts)
      add_integers(s, s->memo[TY_I64].i);
    return ok;
  }
  bool is_int = s->type == TY_LITERAL_INT;
  if (is_int && !compute(c, s, value, TY_I64))
    return false;
  int64_t i = is_int ? s->memo[TY_I64].i : 0;
  if (is_int)
    add_integers(s, i);
  return compute_floats(c, s, value);
}

void check_constant(Checker *c, const Decl *d) {
  Symbol tmp = {.name = d->name};
  Type given;
  bool ok = check_type_expr(c, d->type, TYPE_SCALAR, &given) && compute_all(c, &tmp, d->value, given);
  Symbol *s = check_declare(c, ok ? SYM_CONST : SYM_BAD, d);
  if (!s)
    return;
  s->type = tmp.type;
  s->adapts = tmp.adapts;
  memcpy(s->have, tmp.have, sizeof tmp.have);
  memcpy(s->memo, tmp.memo, sizeof tmp.memo);
}

/* Appends the values of table `d` to *values[n], row after row; each row has `columns` values (0: the table has one
 * index). False after reporting. */
static bool all_values(Checker *c, const Decl *d, int64_t columns, int32_t *n, Expr ***values) {
  bool by_row = columns && d->values[0]->kind == EXPR_BRACES && !d->values[0]->imaginary;
  for (int i = 0; i < d->nvalues; i++) {
    Expr *x = d->values[i];
    bool is_row = columns && x->kind == EXPR_BRACES && !x->imaginary;
    if (is_row != by_row || (is_row && x->n != columns)) {
      check_error(c, NULL, x->loc, "each row of the table '%s' is in braces, with %lld value%s, or none is", d->name,
                  (long long)columns, columns == 1 ? "" : "s");
      return false;
    }
    for (int k = 0; k < (is_row ? x->n : 1); k++)
      ARENA_PUSH(c->arena, *values, *n, is_row ? x->kids[k] : x);
  }
  return true;
}

/* Sets *values[n] to the values of table `d`, and *columns to the length of its rows (0: it has one index). False after
 * reporting. */
static bool table_values(Checker *c, const Decl *d, int64_t *columns, int32_t *n, Expr ***values) {
  const int64_t most = 1 << 20;
  int64_t rows;
  *columns = 0;
  if (!check_const_int(c, d->value, NULL, d->right ? "the number of a table's rows" : "a table's length", &rows) ||
      (d->right && !check_const_int(c, d->right, NULL, "the number of a table's columns", columns)))
    return false;
  if (d->right && (rows < 1 || *columns < 1 || rows > most || *columns > most)) {
    check_error(c, NULL, d->loc, "the table '%s' has %lld rows and %lld columns; it has at least one of each", d->name,
                (long long)rows, (long long)*columns);
    return false;
  }
  if (!all_values(c, d, *columns, n, values))
    return false;
  if (*n == (d->right ? rows * *columns : rows))
    return true;
  if (d->right)
    diag_error(c->d, d->loc, "the table '%s' has %d value%s, but %lld rows of %lld", d->name, *n, *n == 1 ? "" : "s",
               (long long)rows, (long long)*columns);
  else
    diag_error(c->d, d->loc, "the table '%s' has %d value%s, but its length is %lld", d->name, *n, *n == 1 ? "" : "s",
               (long long)rows);
  return false;
}

void check_table(Checker *c, const Decl *d) {
  int64_t columns = 0;
  int32_t n = 0;
  Expr **values = NULL;
  Type given;
  bool ok = check_type_expr(c, d->type, TYPE_SCALAR, &given) && table_values(c, d, &columns, &n, &values);
  Symbol **elems = ARENA_ARRAY(c->arena, Symbol *, n);
  for (int i = 0; i < n; i++) {
    const char *name = columns ? arena_printf(c->arena, "%s[%d,%d]", d->name, i / (int)columns, i % (int)columns)
                               : arena_printf(c->arena, "%s[%d]", d->name, i);
    elems[i] = ARENA_NEW(c->arena, Symbol);
    *elems[i] = (Symbol){.kind = SYM_CONST, .name = name, .loc = values[i]->loc};
    ok = ok && compute_all(c, elems[i], values[i], given);
  }
  Symbol *s = check_declare(c, ok ? SYM_TABLE : SYM_BAD, d);
  if (s)
    s->n = n, s->elems = elems, s->columns = (int32_t)columns;
}
