/* check_gradient.c: losses, the sum of losses that is differentiated, and the targets of the gradient. */
#include "frontend/checker.h"

/* ---- losses */

/* The f64 value of `d` that is summed over the points of `over`. EXPR_BAD after reporting. */
static Expr *over_region(Checker *c, const Decl *d, const Box *over) {
  Type t;
  c->region = over;
  c->in_reduction = true;
  Expr *e = check_accumulated(c, check_in(c, d->value, NULL, ALLOW_BODY, "a loss"), &t);
  c->in_reduction = false;
  c->region = NULL;
  if (e->kind != EXPR_BAD && t != TY_F64)
    e = check_error(c, NULL, e->loc, "a loss adds up floats, not integers; convert it: f64(...)");
  return e;
}

bool check_loss(Checker *c, const Decl *d, const Box *within) {
  CheckedLoss l = {.head = {.name = d->name, .loc = d->loc}};
  if (d->nvalues) {
    l.body = check_at_points(c, d, within, &l.head.over);
  } else {
    l.head.over = within ? *within : c->m->grid;
    l.body = over_region(c, d, &l.head.over);
  }
  if (!l.body || l.body->kind == EXPR_BAD || (d->every && !check_every(c, d, &l.head.every)))
    return false;
  ARENA_PUSH(c->arena, c->losses, c->nlosses, l);
  return true;
}

/* ---- the gradient */

/* Sets *out to the value of the constant `e`. False after reporting. */
static bool factor_of(Checker *c, const Expr *e, double *out) {
  Const v = {0};
  Expr *x = check_in(c, e, NULL, ALLOW_CONST, "the factor of a loss");
  if (x->kind == EXPR_BAD)
    return false;
  if (!type_is_literal(x->type) && !(type_is_scalar(x->type) && type_is_float(x->type))) {
    check_error(c, NULL, e->loc, "the factor of a loss is a float that is known when compiling");
    return false;
  }
  x = check_coerce(c, x, type_is_literal(x->type) ? TY_F64 : x->type, "the factor of a loss");
  if (x->kind == EXPR_BAD)
    return false;
  if (!fold_const(c, x, &v)) {
    check_error(c, NULL, e->loc,
                "the factor of a loss must be a constant; put other factors into the expression of the loss");
    return false;
  }
  *out = v.f;
  return true;
}

/* Does `e` contain the name of a loss, including one that was reported? */
static bool has_loss(const Checker *c, const Expr *e) {
  const Symbol *s = e->kind == EXPR_NAME ? symbols_find(&c->syms, e->name) : NULL;
  bool has = s && (s->kind == SYM_LOSS || s->kind == SYM_BAD);
  for (int i = 0; i < e->n && !has && e->kind == EXPR_OP; i++)
    has = has_loss(c, e->kids[i]);
  return has;
}

/* Adds the losses in `e`, each multiplied by `factor`. False after reporting. */
static bool add_terms(Checker *c, const Expr *e, double factor) {
  double by;
  Symbol *s = e->kind == EXPR_NAME && !e->level ? symbols_find(&c->syms, e->name) : NULL;
  if (s && s->kind == SYM_BAD)
    return false;
  if (s && s->kind == SYM_LOSS) {
    s->used = true;
    c->losses[s->index].head.factor += factor;
    return true;
  }
  if (e->kind == EXPR_OP && e->op == OP_NEG)
    return add_terms(c, e->kids[0], -factor);
  if (e->kind == EXPR_OP && (e->op == OP_ADD || e->op == OP_SUB))
    return add_terms(c, e->kids[0], factor) && add_terms(c, e->kids[1], e->op == OP_SUB ? -factor : factor);
  if (e->kind == EXPR_OP && e->op == OP_MUL && has_loss(c, e->kids[0]) != has_loss(c, e->kids[1])) {
    int loss = has_loss(c, e->kids[1]);
    return factor_of(c, e->kids[1 - loss], &by) && add_terms(c, e->kids[loss], factor * by);
  }
  check_error(c, NULL, e->loc,
              "what is differentiated is a sum of losses with constant factors: gradient misfit + 0.5 * smooth to v");
  return false;
}

/* Does a value of type `t` consist of floats only? */
static bool is_float(const Checker *c, Type t) {
  for (int i = 0; i < type_components(c->m, t); i++)
    if (!type_is_float(type_component(c->m, t, i)))
      return false;
  return true;
}

/* Adds the name `n` to the variables by which the losses are differentiated. False after reporting. */
static bool add_name(Checker *c, const Name *n) {
  static const char *const cure = "a gradient is to fields, launch-time arrays of floats, params and scalars";
  Symbol *s = symbols_find(&c->syms, n->s);
  if (!s || s->kind == SYM_BAD)
    return s ? false : (check_undefined(c, NULL, n->loc, n->s, NULL), false);
  if (s->kind == SYM_COMPLEX || s->kind == SYM_COMPLEX_ARRAY) {
    Name parts[2] = {{.s = s->elems[0]->name, .loc = n->loc}, {.s = s->elems[1]->name, .loc = n->loc}};
    s->used = true;
    return add_name(c, &parts[0]) && add_name(c, &parts[1]);
  }
  By by = {.kind = s->kind == SYM_FIELD   ? BY_FIELD
                   : s->kind == SYM_ARRAY ? BY_ARRAY
                                          : BY_PARAM,
           .index = s->index,
           .loc = n->loc};
  s->used = true;
  for (int i = 0; i < c->nstates && s->kind == SYM_STATE; i++)
    if (c->states[i].sym == s)
      by.index = c->states[i].first; /* its value before the first step */
  if (s->kind != SYM_FIELD && s->kind != SYM_ARRAY && s->kind != SYM_PARAM && s->kind != SYM_STATE) {
    check_error(c, NULL, n->loc, "'%s' is %s; %s", n->s, symbol_words(s), cure);
    return false;
  }
  if (!is_float(c, s->type)) {
    check_error(c, NULL, n->loc, "'%s' is of type %s, which is no float, so nothing has a derivative by it", n->s,
                check_type_words(c, s->type));
    return false;
  }
  if (s->kind == SYM_FIELD && c->m->fields[s->index].temp) {
    check_error(c, NULL, n->loc, "'%s' is a temp field, which has no value before a step; %s", n->s, cure);
    return false;
  }
  for (int i = 0; i < c->m->nby; i++)
    if (c->m->by[i].kind == by.kind && c->m->by[i].index == by.index) {
      check_error(c, NULL, n->loc, "'%s' stands twice in the gradient", n->s);
      return false;
    }
  ARENA_PUSH(c->arena, c->m->by, c->m->nby, by);
  return true;
}

bool check_gradient(Checker *c, const Decl *d) {
  if (c->has_gradient) {
    check_error(c, NULL, d->loc, "a program has one gradient; name all losses and all that it is to in that one");
    return false;
  }
  c->has_gradient = true;
  bool ok = add_terms(c, d->value, 1);
  for (int i = 0; i < d->nnames; i++)
    ok = add_name(c, &d->names[i]) && ok;
  return ok;
}
