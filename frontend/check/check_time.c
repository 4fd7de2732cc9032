/* check_time.c: constructs beyond a single step and point: older time levels, reductions between steps, launch-time
 * arrays. */
#include "frontend/complex.h"
#include "frontend/check/lookup.h"

/* ---- older time levels */

Symbol *check_past(Checker *c, const Env *env, Loc loc, Symbol *f, int64_t k) {
  const Field *field = &c->m->fields[f->index];
  f->used = true;
  if (c->in_update)
    check_error(c, env, loc,
                "an update reads fields as they are at its place in the step; '%s@%lld' is read in a stencil, or in a "
                "reduce after the step",
                f->name, (long long)k);
  else if (field->temp)
    check_error(
        c, env, loc,
        "'%s' is a temp field, which keeps nothing from step to step, so it has no older levels; leave out 'temp'",
        f->name);
  else if (field->input)
    check_error(c, env, loc, "'%s' is an input field, which is the same in all steps; it has no older levels", f->name);
  else if (field->past || !f->npasts)
    check_error(c, env, loc, "field '%s' keeps no older levels; declare it with 'history %lld'", f->name, (long long)k);
  else if (k > f->npasts)
    check_error(c, env, loc, "'%s@%lld' is not kept: the field has history %d; declare it with 'history %lld'", f->name,
                (long long)k, f->npasts, (long long)k);
  else if (c->in_reduction && c->in_repeat)
    check_error(c, env, loc,
                "'%s@%lld' cannot be read between the rounds of a repeat, where it is not what '%s' was %lld step%s "
                "ago, as it is between two steps; have a stencil in the repeat put what is looked at into a field",
                f->name, (long long)k, f->name, (long long)k, k == 1 ? "" : "s");
  else
    return check_note_past(c, loc, f->index, k), f->pasts[k - 1];
  return NULL;
}

bool check_history(Checker *c, const Decl *d, Symbol *s) {
  int64_t n;
  Field present = c->m->fields[s->index];
  if (!check_const_int(c, d->history, NULL, "the number of older levels", &n))
    return false;
  if (n < 1 || n > MAX_HISTORY) {
    check_error(c, NULL, d->history->loc, "history is 1 to %d older levels, not %lld", MAX_HISTORY, (long long)n);
    return false;
  }
  if (present.temp || present.input) {
    check_error(c, NULL, d->loc, "%s field '%s' has no history: it %s", present.temp ? "temp" : "input", s->name,
                present.temp ? "keeps nothing from step to step" : "is the same in all steps");
    return false;
  }
  c->m->fields[s->index].history = (int32_t)n;
  s->pasts = ARENA_ARRAY(c->arena, Symbol *, n);
  for (int32_t k = 1; k <= n; k++) {
    Field past = present;
    past.name = arena_printf(c->arena, "%s@%d", s->name, k);
    past.past = k;
    past.present = s->index;
    Symbol *x = s->pasts[k - 1] = ARENA_NEW(c->arena, Symbol);
    *x = *s;
    x->name = past.name;
    x->index = c->m->nfields;
    x->chain = x->next = NULL;
    ARENA_PUSH(c->arena, c->m->fields, c->m->nfields, past);
  }
  s->npasts = (int32_t)n;
  return true;
}

/* Is the field a target of a stencil? */
static bool is_written(const Checker *c, int field) {
  for (int i = 0; i < c->nchecked; i++)
    if (!c->checked[i].is_init && checked_writes(&c->checked[i], field))
      return true;
  return false;
}

void check_histories_move(Checker *c) {
  for (int i = 0; i < c->m->nfields; i++) {
    const Field *f = &c->m->fields[i];
    if (f->history && !is_written(c, i))
      diag_warning(
          c->d, f->loc,
          "no stencil writes '%s', so its older levels soon are what it is; make it an input field without history",
          f->name);
  }
}

/* ---- reductions */

Expr *check_accumulated(Checker *c, Expr *e, Type *out) {
  if (e->kind == EXPR_BAD)
    return e;
  bool is_int = e->type == TY_LITERAL_INT || (type_is_scalar(e->type) && type_is_int(e->type));
  bool is_float = e->type == TY_LITERAL_FLOAT || (type_is_scalar(e->type) && type_is_float(e->type));
  *out = is_int ? TY_I64 : TY_F64;
  if (!is_int && !is_float)
    return check_error(c, NULL, e->loc, "a reduction takes numbers, not %s; %s", check_type_words(c, e->type),
                       e->type == TY_BOOL             ? "to count, convert it: i64(...)"
                       : check_is_complex(c, e->type) ? "take a part of it: re(...), im(...) or abs2(...)"
                                                      : "take one of its components");
  if (e->type == *out || type_is_literal(e->type))
    return check_coerce(c, e, *out, "the reduction");
  Expr *x = check_operation(c, OP_CONVERT, e->loc, 1, &e);
  x->type = *out;
  return x;
}

bool check_every(Checker *c, const Decl *d, int64_t *every) {
  if (!check_const_int(c, d->every, NULL, "the number of steps after 'every'", every))
    return false;
  if (*every < 1)
    check_error(c, NULL, d->every->loc, "'every' takes at least 1 step, not %lld", (long long)*every);
  return *every >= 1;
}

bool check_reduction(Checker *c, const Decl *d, const Box *over, CheckedReduction *out) {
  ReductionKind kind = d->kind == DECL_UNTIL ? REDUCE_UNTIL : REDUCE_VALUE;
  out->head =
      (Reduction){.name = d->name, .kind = kind, .op = d->op, .over = *over, .field = -1, .result = -1, .loc = d->loc};
  c->region = over;
  c->in_reduction = true;
  out->body = check_accumulated(c, check_in(c, d->value, NULL, ALLOW_BODY, "a reduction"), &out->head.type);
  c->in_reduction = false;
  c->region = NULL;
  return check_every(c, d, &out->head.every) && out->body->kind != EXPR_BAD;
}

Expr *check_stop(Checker *c, const Decl *d, Symbol *s) {
  Expr *right = check_in(c, d->right, NULL, ALLOW_REDUCED, "what 'until' compares with");
  if (right->kind == EXPR_BAD)
    return right;
  Expr *left = check_leaf(c, EXPR_SCALAR, s->type, d->loc, s);
  return check_types(c, NULL, check_operation(c, d->compare, right->loc, 2, (Expr *[]){left, right}));
}

/* ---- launch-time arrays */

bool check_array(Checker *c, const Decl *d, ParamArray *out) {
  *out = (ParamArray){.name = d->name, .loc = d->loc};
  if (!check_type_expr(c, d->type, TYPE_STORED, &out->type))
    return false;
  if (!type_is_scalar(out->type)) {
    check_error(c, NULL, d->type->loc,
                "the elements of a launch-time array are single numbers, or complex ones, not %s",
                check_type_words(c, out->type));
    return false;
  }
  if (d->right)
    return check_shape(c, d, out);
  if (!check_affine(c, d->value, "the length of a launch-time array", &out->extent))
    return false;
  if (out->extent.n || out->extent.c > 0)
    return true;
  check_error(c, NULL, d->value->loc, "the launch-time array '%s' has length %lld; it needs at least one element",
              d->name, (long long)out->extent.c);
  return false;
}

/* Is index `i` of `array` out of range for all params? */
static bool never_inside(Checker *c, const Expr *i, const ParamArray *array) {
  Affine x;
  int64_t left;
  return fold_affine(c, i, &x) && ((!x.n && x.c < 0) || (affine_diff(array->extent, x, &left) && left <= 0));
}

Expr *check_array_element(Checker *c, const Expr *e, const Env *env, const int64_t *shift, Symbol *array) {
  const ParamArray *a = &c->m->param_arrays[array->index];
  array->used = true;
  if (array_has_rows(a))
    return check_array_of_rows(c, e, env, shift, array);
  if (e->n != 1)
    return check_error(c, env, e->loc, "the launch-time array '%s' takes one index", array->name);
  Expr *i = check_expr(c, e->kids[0], env, shift);
  i = check_coerce(c, i, TY_I64, arena_printf(c->arena, "the index of '%s'", array->name));
  if (i->kind == EXPR_BAD)
    return i;
  if (never_inside(c, i, a)) {
    Str s = {.arena = c->arena};
    affine_print(&s, c->m, a->extent);
    return check_error(c, env, e->kids[0]->loc,
                       "this index is outside the launch-time array '%s' of %s elements; indices begin at 0",
                       array->name, s.s);
  }
  return check_element_at(c, e->loc, array, i);
}

void check_note_past(Checker *c, Loc loc, int field, int64_t k) {
  PastRead x = {loc, field, (int32_t)k, c->in_repeat};
  if (c->in_repeat)
    ARENA_PUSH(c->arena, c->past_reads, c->npast_reads, x);
}
