/* check_scalar.c: scalars, numbers of the whole program that are kept from step to step; their updates within a step,
 * and conditions and reductions after a step. The value of an update is computed at one point, the grid's first, and
 * may not read a field there. Its parts OP(...) over REGION are updates of hidden scalars before it. */
#include "frontend/ensemble.h"
#include "frontend/levels.h"

#include <inttypes.h>

Box check_first_point(const Checker *c) {
  Box b = c->m->grid;
  for (int d = 0; d < b.rank; d++)
    b.hi[d] = b.lo[d];
  return b;
}

/* The first point of each member if `each`, else the first point of the grid. */
static Box first_points(const Checker *c, bool each) {
  Box b = check_first_point(c);
  if (each)
    check_all_members(c, &b);
  return b;
}

/* ---- scalars */

void check_warn_of_quotient(Checker *c, const Decl *d, const Expr *e, const char *real) {
  Const whole, exact;
  if (e->kind == EXPR_BAD || !fold_const(c, e, &whole))
    return;
  Expr *other = check_coerce(c, check_in(c, d->value, NULL, ALLOW_SCALAR, "a value"), TY_F64, "a value");
  if (other->kind != EXPR_BAD && fold_const(c, other, &exact) && exact.f != (double)whole.i)
    diag_warning(c->d, d->value->loc,
                 "integers are divided as integers, so '%.60s' is %" PRId64 "; give it the type that is meant, "
                 "'%.60s : %s', or ': i64'",
                 d->name, whole.i, d->name, real);
}

Expr *check_first(Checker *c, const Decl *d, Type *t) {
  if (!check_type_expr(c, d->type, TYPE_SCALAR, t))
    return check_bad(c, d->loc);
  if (d->type && *t != TY_F64 && *t != TY_I64)
    return check_error(c, NULL, d->type->loc, "a scalar is f64 or i64, not %s; convert it where it is read",
                       check_type_words(c, *t));
  Expr *e = check_in(c, d->value, NULL, ALLOW_SCALAR, "the value before the first step");
  if (e->kind == EXPR_BAD)
    return e;
  if (!d->type)
    *t = e->type == TY_LITERAL_INT || (type_is_scalar(e->type) && type_is_int(e->type)) ? TY_I64 : TY_F64;
  bool open = !d->type && e->type == TY_LITERAL_INT;
  e = check_coerce(c, e, *t, arena_printf(c->arena, "scalar '%s'", d->name));
  if (open)
    check_warn_of_quotient(c, d, e, "f64");
  return e;
}

/* Element 0 of the array that contains the scalar. */
static Expr *element(Checker *c, const Env *env, Loc loc, Symbol *sym) {
  Expr *index = sym->each ? check_own_member(c, env, loc, sym->name) : check_leaf(c, EXPR_INT, TY_I64, loc, NULL);
  if (!sym->each)
    index->name = "0";
  return index->kind == EXPR_BAD ? index : check_element_at(c, loc, sym, index);
}

Expr *check_state(Checker *c, const Env *env, Loc loc, Symbol *sym) {
  if (c->in_init)
    return check_error(c, env, loc,
                       "'%s' changes from step to step; an init runs before them: give its value a name of its own, "
                       "with let or param",
                       sym->name);
  if (c->allowed == ALLOW_REDUCED)
    return check_error(c, env, loc,
                       "%s is no scalar: have an update take the left side, and write until of scalars alone: "
                       "scalar r = 0; update r = max(...) over G; until r < %s;",
                       c->what, sym->name);
  if (c->allowed < ALLOW_STATE)
    return check_error(c, env, loc,
                       "%s is computed once at launch, but '%s' changes as the program runs; use it in a stencil, an "
                       "update, a reduction or an until",
                       c->what, sym->name);
  if (c->ago || c->at_start)
    return check_error(c, env, loc, "'%s' is a scalar, of which no older values are kept", sym->name);
  return element(c, env, loc, sym);
}

void check_add_states(Checker *c) {
  for (int i = 0; i < c->nstates; i++) {
    CheckedState *x = &c->states[i];
    ParamArray a = {.name = x->sym->name,
                    .type = x->sym->type,
                    .extent = x->sym->each ? box_extent(c->arena, &c->m->grid, 0) : affine_const(1),
                    .each = x->sym->each,
                    .role = ARRAY_STATE,
                    .first = x->first,
                    .loc = x->sym->loc};
    x->sym->index = c->m->nparam_arrays;
    ARENA_PUSH(c->arena, c->m->param_arrays, c->m->nparam_arrays, a);
  }
}

/* ---- updates */

/* Adds the update of `state` to the `body` over `over`: after a stencil in a new stage, after another update in the
 * stage of that update. */
static void add_update(Checker *c, Symbol *state, Opcode op, const Box *over, Expr *body, Loc loc) {
  c->stage += !c->in_updates;
  c->in_updates = true;
  CheckedUpdate u = {
      {.state = -1, .stage = c->stage, .op = op, .type = state->type, .each = state->each, .over = *over, .loc = loc},
      state,
      body};
  ARENA_PUSH(c->arena, c->updates, c->nupdates, u);
}

Symbol *check_hidden_state(Checker *c, const char *name, Type t, bool each, Loc loc) {
  Symbol *s = ARENA_NEW(c->arena, Symbol);
  *s = (Symbol){.kind = SYM_STATE, .name = name, .loc = loc, .type = t, .index = -1, .each = each};
  CheckedState x = {s, -1};
  ARENA_PUSH(c->arena, c->states, c->nstates, x);
  return s;
}

/* Adds a hidden scalar of type `t` for the part `op` of the update of `of`. */
static Symbol *hidden(Checker *c, const Symbol *of, const char *op, Type t, Loc loc) {
  int n = 1;
  for (int i = 0; i < c->nstates; i++)
    n += c->states[i].first < 0;
  return check_hidden_state(c, arena_printf(c->arena, "%s.%s.%d", of->name, op, n), t, of->each, loc);
}

/* The value that `e`, OP(...) over REGION, combines; sets *over to the region and *t to the value's type. EXPR_BAD
 * after reporting. */
static Expr *reduced(Checker *c, const Expr *e, Box *over, Type *t) {
  const Symbol *updated = c->updated;
  const Box *region = c->region;
  if (!check_box(c, e->over, over))
    return check_bad(c, e->loc);
  c->updated = NULL;
  c->region = over;
  Expr *body = check_accumulated(c, check_in(c, e->over->value, NULL, ALLOW_BODY, "a reduction"), t);
  c->region = region;
  c->updated = updated;
  return body;
}

Expr *check_over(Checker *c, const Expr *e, const Env *env, const int64_t *shift) {
  (void)shift; /* the value has no point that could be shifted */
  Box over;
  Type t;
  if (!c->updated || env)
    return check_error(c, env, e->loc,
                       "a reduction over a region stands in update, reduce and until, not in %s; have an update give "
                       "it to a scalar, which is read here",
                       env            ? "a macro or function"
                       : c->in_update ? "another one"
                                      : "an expression of points or of scalars alone");
  Expr *body = reduced(c, e, &over, &t);
  if (body->kind == EXPR_BAD)
    return body;
  Symbol *s = hidden(c, c->updated, e->name, t, e->loc);
  add_update(c, s, e->over->op, &over, body, e->loc);
  return element(c, env, e->loc, s);
}

/* The scalar that `d` updates, NULL after reporting. */
static Symbol *updated(Checker *c, const Decl *d) {
  Symbol *s = symbols_find(&c->syms, d->name);
  if (!s && check_name_with_level(c, d->name))
    check_undefined(c, NULL, d->loc, d->name, NULL);
  else if (!s)
    check_error(c, NULL, d->loc, "there is no scalar '%s'; declare it before: scalar %s = 0.0;", d->name, d->name);
  else if (s->kind != SYM_STATE && s->kind != SYM_BAD)
    check_error(c, NULL, d->loc, "'%s' is %s; only what 'scalar' declares is updated", d->name, symbol_words(s));
  return s && s->kind == SYM_STATE ? s : NULL;
}

void check_update(Checker *c, const Decl *d) {
  Symbol *s = updated(c, d);
  Box over = first_points(c, s && s->each);
  Opcode op = OP_MAX;
  Type t = TY_NONE;
  if (!s || !d->value) /* without a value the parser has reported an error */
    return;
  const char *to = arena_printf(c->arena, "scalar '%s'", s->name);
  s->used = true;
  c->region = &over;
  c->in_update = true;
  c->one = !s->each;
  c->updated = s;
  bool whole = d->value->kind == EXPR_OVER;
  op = whole ? d->value->over->op : op;
  Expr *e = whole ? reduced(c, d->value, &over, &t) : check_in(c, d->value, NULL, ALLOW_STATE, "an update");
  if (e->kind != EXPR_BAD)
    e = check_coerce(c, e, s->type, to);
  c->updated = NULL;
  c->in_update = c->one = false;
  c->region = NULL;
  if (e->kind != EXPR_BAD)
    add_update(c, s, op, &over, e, d->loc);
}

/* ---- conditions after a step */

/* The operation `op` on `n` kids. */
static Expr *operation(Checker *c, Opcode op, Loc loc, int n, Expr *const *kids) {
  return check_types(c, NULL, check_operation(c, op, loc, n, kids));
}

/* The condition that a float which the condition `e` compares is NaN, or that `any` holds (NULL: never). */
static Expr *compares_nan(Checker *c, const Expr *e, Expr *any) {
  for (int i = 0; e->kind == EXPR_OP && i < e->n; i++) {
    Expr *kid = e->kids[i];
    if (kid->type == TY_BOOL)
      any = compares_nan(c, kid, any);
    if (!type_is_scalar(kid->type) || !type_is_float(kid->type) || e->type != TY_BOOL)
      continue;
    kid = operation(c, OP_NE, e->loc, 2, (Expr *[]){kid, kid});
    any = any ? operation(c, OP_OR, e->loc, 2, (Expr *[]){any, kid}) : kid;
  }
  return any;
}

/* An f64 that is 1 if the condition `e` holds, 0 if it does not, and NaN if it compares a NaN, even if it then holds:
 * !(r > limit) must not end a run whose r is NaN as if r were small. */
static Expr *truth(Checker *c, Expr *e) {
  static const char *const values[] = {"0", "1"};
  Expr *number[2], *any = compares_nan(c, e, NULL);
  for (int i = 0; i < 2; i++) {
    number[i] = check_leaf(c, EXPR_INT, TY_F64, e->loc, NULL);
    number[i]->name = values[i];
  }
  Expr *value = operation(c, OP_SELECT, e->loc, 3, (Expr *[]){e, number[1], number[0]});
  if (!any)
    return value;
  Expr *nan = operation(c, OP_DIV, e->loc, 2, (Expr *[]){number[0], number[0]});
  return operation(c, OP_SELECT, e->loc, 3, (Expr *[]){any, nan, value});
}

bool check_condition(Checker *c, const Decl *d, CheckedReduction *out) {
  bool until = d->kind == DECL_END;
  const char *what = until ? "the condition of 'until'" : "what is reduced without a region";
  Box over = check_first_point(c);
  out->head = (Reduction){.name = d->name,
                          .kind = until ? REDUCE_UNTIL : REDUCE_VALUE,
                          .op = OP_MAX,
                          .type = TY_F64,
                          .over = over,
                          .every = 1,
                          .field = -1,
                          .result = -1,
                          .loc = d->loc};
  c->region = &over;
  c->in_reduction = true;
  c->by_member = false;
  c->one = c->in_repeat && !until;
  Expr *e = check_in(c, d->value, NULL, ALLOW_STATE, what);
  out->head.each = c->by_member && !c->in_repeat;
  out->head.over = first_points(c, c->by_member);
  if (c->by_member && c->in_repeat) /* a single number: does the condition hold for all members? */
    out->head.op = OP_MIN;
  c->one = false;
  c->in_reduction = false;
  c->region = NULL;
  if (until && e->kind != EXPR_BAD && e->type != TY_BOOL)
    e = check_error(c, NULL, e->loc, "'until' takes a condition of scalars, such as t >= 10, not %s",
                    check_type_words(c, e->type));
  if (e->kind != EXPR_BAD)
    e = until ? truth(c, e) : check_accumulated(c, e, &out->head.type);
  out->body = e;
  return (!d->every || check_every(c, d, &out->head.every)) && e->kind != EXPR_BAD;
}

Expr *check_met(Checker *c, const Decl *d, Symbol *s) {
  Expr *zero = check_leaf(c, EXPR_INT, TY_F64, d->loc, NULL);
  zero->name = "0";
  Expr *value = check_leaf(c, EXPR_SCALAR, s->type, d->loc, s);
  return check_types(c, NULL, check_operation(c, OP_NE, d->loc, 2, (Expr *[]){value, zero}));
}
