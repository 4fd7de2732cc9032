/* check_lookup.c: elements of tables and launch-time arrays of two indices, and lookup, linear interpolation in them.
 * All are expanded to operations on indices and single values. */
#include "frontend/check/lookup.h"

#include <string.h>

/* The greatest extent of a launch-time array of two indices, so that the product of two extents is an i64. */
#define MAX_SIDE INT32_MAX

/* ---- launch-time arrays of two indices */

/* Sets *out to `e`, the launch-time number of rows or columns (`what`) of `d`; adds a launch check of its range if
 * needed. False after reporting. */
static bool side(Checker *c, const Decl *d, const Expr *e, const char *what, Affine *out) {
  if (!check_affine(c, e, arena_printf(c->arena, "the number of %s of a launch-time array", what), out))
    return false;
  if (!out->n && (out->c < 1 || out->c > MAX_SIDE)) {
    check_error(c, NULL, e->loc, "the launch-time array '%s' has %lld %s; it needs 1 to %lld", d->name,
                (long long)out->c, what, (long long)MAX_SIDE);
    return false;
  }
  for (int end = 0; end < 2 && out->n; end++) {
    Affine room = end ? affine_sub(c->arena, affine_const(MAX_SIDE), *out) : affine_add_const(*out, -1);
    Check k = {.value = room,
               .message = arena_printf(c->arena, "the launch-time array '%s' has %s %s", d->name,
                                       end ? "too many" : "no", what),
               .loc = e->loc};
    ARENA_PUSH(c->arena, c->m->checks, c->m->nchecks, k);
  }
  return true;
}

/* `e`, a number of rows or columns that has been checked, as an i64. */
static Expr *side_value(Checker *c, const Expr *e) {
  Expr *x = check_in(c, e, NULL, ALLOW_SCALAR, "the length of a launch-time array");
  if (x->kind == EXPR_BAD || x->type == TY_I64)
    return x;
  if (x->type == TY_LITERAL_INT || x->adapts)
    return check_adapt(c, NULL, x, TY_I64);
  Expr *wide = check_operation(c, OP_CONVERT, e->loc, 1, &x);
  wide->type = TY_I64;
  return wide;
}

/* The i64 number `k` at `loc`. */
static Expr *number(Checker *c, Loc loc, int64_t k) {
  Expr *e = check_leaf(c, EXPR_INT, TY_I64, loc, NULL);
  e->name = arena_printf(c->arena, "%lld", (long long)k);
  return e;
}

bool check_shape(Checker *c, const Decl *d, ParamArray *out) {
  bool ok = side(c, d, d->value, "rows", &out->rows);
  ok = side(c, d, d->right, "columns", &out->columns) && ok;
  if (!ok)
    return false;
  if (!out->rows.n || !out->columns.n) {
    out->extent =
        affine_scale(c->arena, out->rows.n ? out->rows : out->columns, out->rows.n ? out->columns.c : out->rows.c);
    return true;
  }
  Expr *all = check_whole(c, OP_MUL, side_value(c, d->value), side_value(c, d->right));
  out->extent =
      affine_scalar(c->arena, check_hidden_scalar(c, arena_printf(c->arena, "%s.extent", d->name), all)->index);
  return true;
}

/* ---- elements of two indices */

/* The index `e` in `name`, which has `extent` rows or columns (`of`), as a shared i64. EXPR_BAD after reporting that it
 * is not an integer, or always out of range. */
static Expr *index_of_side(Checker *c, const Expr *e, const Env *env, const int64_t *shift, const char *name,
                           const char *of, Affine extent) {
  const char *what = c->what;
  c->what = c->allowed == ALLOW_CONST ? "a table's index" : c->what;
  Expr *i = check_table_index(c, env, check_expr(c, e, env, shift));
  c->what = what;
  Affine x;
  int64_t left;
  if (i->kind == EXPR_BAD)
    return i;
  bool known = fold_affine(c, i, &x);
  if (!c->inlined && known && ((!x.n && x.c < 0) || (affine_diff(extent, x, &left) && left <= 0))) {
    Str s = {.arena = c->arena};
    affine_print(&s, c->m, extent);
    return check_error(c, env, e->loc, "this index is outside '%s', which has %s %s; indices begin at 0", name, s.s,
                       of);
  }
  return share(c, i, "index");
}

/* Reports that the number of indices is not two. */
static Expr *two_indices(Checker *c, const Expr *e, const Env *env, const Symbol *s) {
  return check_error(c, env, e->loc, "'%s' has two indices, of its row and its column: '%s[0,0]'", s->name, s->name);
}

/* The element of a table at `row` and `column`, which are both shared. */
static Expr *table_element(Checker *c, Loc loc, const Env *env, Symbol *table, Expr *row, Expr *column) {
  int n = table->columns, rows = table->n / n;
  Const i, k;
  if (!fold_const(c, row, &i))
    return check_may_look_up(c, loc, env, table) ? check_look_up_row(c, loc, env, table, row, column)
                                                 : check_bad(c, loc);
  i.i = i.i < 0 ? 0 : i.i < rows ? i.i : rows - 1;
  if (!fold_const(c, column, &k)) {
    Symbol *only = ARENA_NEW(c->arena, Symbol);
    *only = *table;
    only->columns = 0;
    only->n = n;
    only->elems += i.i * n;
    return check_may_look_up(c, loc, env, only) ? check_look_up(c, loc, env, only, column) : check_bad(c, loc);
  }
  k.i = k.i < 0 ? 0 : k.i < n ? k.i : n - 1;
  Symbol *x = table->elems[i.i * n + k.i];
  return check_leaf(c, EXPR_CONST, x->type, loc, x);
}

Expr *check_element_of_rows(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *table) {
  if (e->n != 2)
    return two_indices(c, e, env, table);
  Expr *i = index_of_side(c, e->kids[0], env, shift, table->name, "rows", affine_const(table->n / table->columns));
  Expr *k = index_of_side(c, e->kids[1], env, shift, table->name, "columns", affine_const(table->columns));
  return i->kind == EXPR_BAD ? i : k->kind == EXPR_BAD ? k : table_element(c, e->loc, env, table, i, k);
}

/* The index from 0 to extent - 1 that is nearest to `index`. Pass check-bounds recognizes this form. A constant index
 * has it as well, because its range check may depend on the extent. */
static Expr *nearest(Checker *c, Expr *index, Expr *extent) {
  Expr *max = check_whole(c, OP_MAX, index, number(c, index->loc, 0));
  Expr *min = check_whole(c, OP_MIN, max, check_plus(c, extent, -1));
  max->kept = min->kept = true;
  return min;
}

/* The element of a launch-time array at `row` and `column`, both i64. */
static Expr *array_element(Checker *c, Loc loc, Symbol *array, Expr *row, Expr *column) {
  Expr *rows = side_value(c, array->decl->value), *columns = side_value(c, array->decl->right);
  Expr *at = check_whole(c, OP_MUL, nearest(c, row, rows), columns);
  return check_element_at(c, loc, array, check_whole(c, OP_ADD, at, nearest(c, column, columns)));
}

Expr *check_array_of_rows(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *array) {
  const ParamArray a = c->m->param_arrays[array->index];
  if (e->n != 2)
    return two_indices(c, e, env, array);
  Expr *i = index_of_side(c, e->kids[0], env, shift, array->name, "rows", a.rows);
  Expr *k = index_of_side(c, e->kids[1], env, shift, array->name, "columns", a.columns);
  return i->kind == EXPR_BAD ? i : k->kind == EXPR_BAD ? k : array_element(c, e->loc, array, i, k);
}

/* ---- lookup */

/* A position along one side of a table: the index at or below it, the next index, and the fraction of the way between
 * the two. */
typedef struct Place {
  Expr *lower, *upper, *part;
} Place;

/* The table or launch-time array that is interpolated, in the type of its values. */
typedef struct Lookup {
  Loc loc;
  const Env *env;
  Symbol *table;
  Type type;
} Lookup;

/* The float operation `op` on x and y, in the type of `l`. */
static Expr *real_op(Checker *c, const Lookup *l, Opcode op, Expr *x, Expr *y) {
  Expr *e = check_operation(c, op, l->loc, 2, (Expr *[]){x, y});
  e->type = l->type;
  return e;
}

/* `e`, an i64, converted to the type of `l`. */
static Expr *as_real(Checker *c, const Lookup *l, Expr *e) {
  Expr *x = check_operation(c, OP_CONVERT, l->loc, 1, &e);
  x->type = l->type;
  return x;
}

/* The position of `x`, in the type of `l`, on a side with `extent` indices; beyond an end, it is clamped to that
 * end. */
static Place place_on(Checker *c, const Lookup *l, Expr *x, Expr *extent) {
  Expr *zero = check_leaf(c, EXPR_FLOAT, l->type, l->loc, NULL);
  zero->name = "0.0";
  Expr *last = as_real(c, l, check_plus(c, extent, -1));
  Expr *at = share(c, real_op(c, l, OP_MIN, real_op(c, l, OP_MAX, x, zero), last), "place");
  Expr *lower = check_operation(c, OP_CONVERT, l->loc, 1, &at);
  lower->type = TY_I64;
  lower = share(c, nearest(c, lower, extent), "index");
  Expr *part = share(c, real_op(c, l, OP_SUB, at, as_real(c, l, lower)), "part");
  return (Place){lower, share(c, nearest(c, check_plus(c, lower, 1), extent), "index"), part};
}

/* The value at `row` (NULL: there is only one index) and `column`, in the type of `l`. */
static Expr *value_at(Checker *c, const Lookup *l, Expr *row, Expr *column) {
  Symbol *s = l->table;
  Expr *x = s->kind == SYM_ARRAY
                ? row ? array_element(c, l->loc, s, row, column) : check_element_at(c, l->loc, s, column)
            : row ? table_element(c, l->loc, l->env, s, row, column)
                  : check_look_up(c, l->loc, l->env, s, column);
  x = x->kind == EXPR_BAD ? x : check_widen(c, x);
  return type_is_literal(x->type) ? check_adapt(c, l->env, x, l->type) : x;
}

/* x + part * (y - x). */
static Expr *mix(Checker *c, const Lookup *l, Expr *x, Expr *y, Expr *part) {
  if (x->kind == EXPR_BAD || y->kind == EXPR_BAD)
    return check_bad(c, l->loc);
  x = share(c, x, "value");
  return real_op(c, l, OP_ADD, x, real_op(c, l, OP_MUL, part, real_op(c, l, OP_SUB, y, x)));
}

/* The value between two columns of `row` (NULL: there is only one index). */
static Expr *in_row(Checker *c, const Lookup *l, Expr *row, const Place *column) {
  return mix(c, l, value_at(c, l, row, column->lower), value_at(c, l, row, column->upper), column->part);
}

/* The table or launch-time array named by the first argument of `e`; a macro's parameter stands for its argument. NULL
 * after reporting that there is none. */
static Symbol *named_table(Checker *c, const Expr *e, const Env *env) {
  const Expr *x = e->n ? e->kids[0] : NULL;
  for (const Env *macro = check_macro_of(env); x && x->kind == EXPR_NAME && !x->level;) {
    const Expr *given = check_argument(macro, x->name);
    if (!given)
      break;
    x = given;
    macro = check_macro_of(macro->caller);
  }
  Symbol *s = x && x->kind == EXPR_NAME && !x->level ? symbols_find(&c->syms, x->name) : NULL;
  if (s && (s->kind == SYM_TABLE || s->kind == SYM_ARRAY || s->kind == SYM_BAD)) {
    s->used = true;
    return s->kind == SYM_BAD ? NULL : s;
  }
  if (x && x->kind == EXPR_NAME && !s && !check_find_local(c, env, x->name))
    check_undefined(c, env, x->loc, x->name, NULL);
  else
    check_error(c, env, x ? x->loc : e->loc,
                "'lookup' takes the name of a table or a launch-time array, and a place in it: lookup(w, x)");
  return NULL;
}

/* The type of the values of table or array `s`; TY_LITERAL_FLOAT if they can take several types, TY_NONE if they are
 * not floats. */
static Type values_of(Checker *c, const Symbol *s) {
  if (s->kind == SYM_ARRAY) {
    Type t = check_value_type(c, s->type);
    return type_is_float(t) ? t : TY_NONE;
  }
  Type all = TY_LITERAL_FLOAT;
  for (int i = 0; i < s->n; i++) {
    Type t = s->elems[i]->type;
    if (type_is_literal(t))
      continue;
    if (!type_is_float(t) || (all != TY_LITERAL_FLOAT && t != all))
      return TY_NONE;
    all = t;
  }
  return all;
}

/* Sets *out to argument `i` of `e`, a position, and combines its type with that of `l`. False after reporting. */
static bool place_argument(Checker *c, Lookup *l, const Expr *e, const int64_t *shift, int i, Expr **out) {
  Expr *x = check_widen(c, check_expr(c, e->kids[i], l->env, shift));
  if (x->kind == EXPR_BAD)
    return false;
  bool literal = type_is_literal(x->type);
  if (!literal && !(type_is_scalar(x->type) && type_is_float(x->type))) {
    check_error(c, l->env, e->kids[i]->loc,
                "'lookup' takes a place that is a float, but this is %s; convert it: real(...)",
                check_type_words(c, x->type));
    return false;
  }
  if (!literal && l->type != TY_LITERAL_FLOAT && l->type != x->type) {
    check_error(
        c, l->env, e->kids[i]->loc,
        "'lookup' computes in the type of the values of '%s', but this place is %s and they are %s; convert it: "
        "%s(...)",
        l->table->name, check_type_words(c, x->type), check_type_words(c, l->type), type_name(l->type));
    return false;
  }
  if (!literal)
    l->type = x->type;
  *out = x;
  return true;
}

/* The value of `l` at the `n` positions `at`, rows first. */
static Expr *interpolate(Checker *c, const Lookup *l, int n, Expr *const *at) {
  const Symbol *s = l->table;
  bool array = s->kind == SYM_ARRAY;
  Expr *rows = n < 2 ? NULL : array ? side_value(c, s->decl->value) : number(c, l->loc, s->n / s->columns);
  Expr *columns =
      array ? side_value(c, n < 2 ? s->decl->value : s->decl->right) : number(c, l->loc, n < 2 ? s->n : s->columns);
  Place column = place_on(c, l, at[n - 1], columns);
  if (n < 2)
    return in_row(c, l, NULL, &column);
  Place row = place_on(c, l, at[0], rows);
  return mix(c, l, in_row(c, l, row.lower, &column), in_row(c, l, row.upper, &column), row.part);
}

Expr *check_lookup(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  Expr *at[2];
  Lookup l = {.loc = e->loc, .env = env, .table = named_table(c, e, env)};
  if (!l.table)
    return check_bad(c, e->loc);
  bool array = l.table->kind == SYM_ARRAY;
  int n = (array ? array_has_rows(&c->m->param_arrays[l.table->index]) : l.table->columns > 0) ? 2 : 1;
  if (e->n != n + 1)
    return check_error(c, env, e->loc, "'%s' has %s, so it is looked up by %s: lookup(%s, %s)", l.table->name,
                       n == 2 ? "two indices" : "one index", n == 2 ? "two places" : "one place", l.table->name,
                       n == 2 ? "x, y" : "x");
  if (array && c->allowed < ALLOW_STATE)
    return check_not_allowed(c, env, e->loc, l.table->name);
  l.type = values_of(c, l.table);
  if (l.type == TY_NONE)
    return check_error(c, env, e->kids[0]->loc,
                       "'lookup' takes a table of floats of one type, and '%s' is none; give it one, such as f32",
                       l.table->name);
  for (int i = 0; i < n; i++)
    if (!place_argument(c, &l, e, shift, i + 1, &at[i]))
      return check_bad(c, e->loc);
  if (l.type == TY_LITERAL_FLOAT)
    l.type = c->real;
  for (int i = 0; i < n; i++)
    if (type_is_literal(at[i]->type) && (at[i] = check_adapt(c, env, at[i], l.type))->kind == EXPR_BAD)
      return at[i];
  if (!array && !check_may_look_up(c, e->loc, env, l.table))
    return check_bad(c, e->loc);
  return interpolate(c, &l, n, at);
}
