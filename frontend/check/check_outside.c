/* frontend/check/check_outside.c: outside rules (`outside`) for each dimension and side, with their constants and
 * signs. */
#include "frontend/check/declare.h"
#include "frontend/fields.h"
#include "frontend/complex.h"
#include "frontend/ensemble.h"

#include <math.h>

/* The constant `value` beyond an edge of field `d`, in the scalar type `t` of the field or of its component `path`.
 * False after reporting. */
static bool outside_scalar(Checker *c, const Decl *d, const Expr *value, Type t, const char *path, Const *out) {
  Expr *e = check_in(c, value, NULL, ALLOW_CONST, "the value outside a field");
  e = check_coerce(c, e, t, arena_printf(c->arena, "%s '%s%s'", *path ? "component" : "field", d->name, path));
  if (e->kind != EXPR_BAD && fold_const(c, e, out))
    return true;
  if (e->kind != EXPR_BAD)
    check_error(c, NULL, e->loc, "the value outside a field must be a constant");
  return false;
}

/* Does the f64 `x`, converted to each component of `t`, give the constants `of`? If not, *which is the first component
 * for which it does not. */
static bool suits(const Checker *c, Type t, const Const *of, double x, int *which) {
  for (*which = 0; *which < type_components(c->m, t); ++*which)
    if (!const_same(const_convert((Const){.f = x}, TY_F64, type_component(c->m, t, *which)), of[*which],
                    type_component(c->m, t, *which)))
      return false;
  return true;
}

/* Sets *out to the constant `value` beyond an edge of field `d` of composite type `t`: an f64 that gives each component
 * its value. That is the f64 nearest to the constant; or one next to it, because the literal is rounded to each
 * component once. False after reporting. */
static bool outside_parts(Checker *c, const Decl *d, const Expr *value, Type t, Const *out) {
  int n = type_components(c->m, t), which, other;
  Const *of = ARENA_ARRAY(c->arena, Const, n);
  for (int i = 0; i < n; i++)
    if (!outside_scalar(c, d, value, type_component(c->m, t, i), type_component_path(c->m, t, i), &of[i]))
      return false;
  if (suits(c, t, of, out->f, &which))
    return true;
  const double near[] = {nextafter(out->f, -HUGE_VAL), nextafter(out->f, HUGE_VAL)};
  for (int i = 0; i < 2; i++)
    if (suits(c, t, of, near[i], &other)) {
      out->f = near[i];
      return true;
    }
  if (type_is_int(type_component(c->m, t, which)))
    check_error(c, NULL, value->loc,
                "the value outside a vector or struct is at most 2^53, so that component '%s%s' can have it exactly",
                d->name, type_component_path(c->m, t, which));
  else
    check_error(c, NULL, value->loc,
                "no f64 becomes this value, rounded once, in every component of '%s'; write it with fewer digits",
                d->name);
  return false;
}

/* Sets *out to the constant `value` beyond an edge of field `d` of type `t`. False after reporting. */
static bool outside_value(Checker *c, const Decl *d, const Expr *value, Type t, Const *out) {
  if (type_is_scalar(t))
    return outside_scalar(c, d, value, t, "", out);
  Expr *e = check_in(c, value, NULL, ALLOW_CONST, "the value outside a field");
  Type own = type_is_literal(e->type) ? TY_F64 : e->type;
  if (type_is_scalar(own) && !outside_scalar(c, d, value, own, "", out))
    return false;
  *out = type_is_scalar(own) ? const_convert(*out, own, TY_F64) : *out;
  if (!check_complex_outside(c, t, value, type_is_scalar(own) ? out : NULL))
    return false;
  return outside_parts(c, d, value, t, out);
}

/* Is there an undeclared name at side `s` of a field, in place of a rule or a constant? Reports that. */
static bool is_no_rule(Checker *c, const SideDecl *s) {
  if (s->rule != OUTSIDE_CONST || s->value->kind != EXPR_NAME || symbols_find(&c->syms, s->value->name) ||
      is_reserved(s->value->name))
    return false;
  const char *name = s->value->name, *instead = habit_of_rule(name);
  if (instead)
    check_error(c, NULL, s->value->loc, "'%.60s' is no rule for what is beyond the edges; %s", name, instead);
  else
    check_error(c, NULL, s->value->loc,
                "'%.60s' is no rule for what is beyond the edges; there are %s, or it is a constant, such as 0", name,
                outside_words(c->arena, " and "));
  return true;
}

/* Do all numbers in a value of type `t` of field `d` have a sign, so that the field may be odd about an edge? Reports
 * if not. */
static bool has_sign(Checker *c, const Decl *d, const SideDecl *s, Type t) {
  for (int i = 0; i < type_components(c->m, t); i++) {
    Type of = type_component(c->m, t, i);
    if (of != TY_BOOL && !type_is_unsigned(of))
      continue;
    check_error(c, NULL, s->loc, "'%s%s' is %s, which has no sign, and cannot be odd: leave out 'odd'", d->name,
                type_component_path(c->m, t, i), type_name(of));
    return false;
  }
  return true;
}

/* The type of a number computed from params about which a field of type `t` is odd: the type in which all its
 * components are computed, or f64. A scalar cannot have a storage type such as f16. */
static Type about_type(const Checker *c, Type t) {
  Type of = odd_type(type_component(c->m, t, 0));
  for (int i = 1; i < type_components(c->m, t); i++)
    of = odd_type(type_component(c->m, t, i)) == of ? of : TY_F64;
  return of;
}

/* Is `e` a constant? */
static bool is_constant(Checker *c, Expr *e) {
  Const x;
  e = type_is_literal(e->type) ? check_coerce(c, e, TY_F64, "a number") : e;
  return e->kind != EXPR_BAD && fold_const(c, e, &x);
}

/* Sets `s` to the number about which side `from` of field `d` of type `t` is odd: a constant, or a value computed from
 * params at launch. `name` is the name of the hidden scalar for it. False after reporting. */
static bool odd_about(Checker *c, const Decl *d, const SideDecl *from, Type t, const char *name, Side *s) {
  Expr *e = check_in(c, from->value, NULL, ALLOW_SCALAR, "what a field is odd about");
  if (e->kind != EXPR_BAD && !type_is_literal(e->type) && (!type_is_scalar(e->type) || e->type == TY_BOOL))
    e = check_error(c, NULL, e->loc, "what a field is odd about must be a number, but this is %s; write a number",
                    e->imaginary ? "an imaginary one" : check_type_words(c, e->type));
  s->is_about = true;
  if (e->kind != EXPR_BAD && is_constant(c, e))
    return outside_value(c, d, from->value, t, &s->value);
  if (e->kind != EXPR_BAD && !check_complex_outside(c, t, from->value, NULL))
    return false;
  e = check_coerce(c, e, about_type(c, t), arena_printf(c->arena, "what '%s' is odd about", d->name));
  if (e->kind == EXPR_BAD)
    return false;
  s->about = 1 + check_hidden_scalar(c, name, e)->index;
  return true;
}

/* Sets `s` to the rule of side `from` of field `d` of type `t`; for `name` see odd_about. False after reporting. */
static bool check_side(Checker *c, const Decl *d, const SideDecl *from, Type t, const char *name, Side *s) {
  *s = (Side){.rule = from->rule, .odd = from->odd};
  if (is_no_rule(c, from) || (s->odd && !has_sign(c, d, from, t)))
    return false;
  if (s->rule == OUTSIDE_CONST)
    return outside_value(c, d, from->value, t, &s->value);
  return !from->value || odd_about(c, d, from, t, name, s);
}

bool check_outside(Checker *c, const Decl *d, Field *f) {
  static const char *const ends[] = {"lower", "upper"};
  int rank = c->m->grid.rank;
  Side *sides = ARENA_ARRAY(c->arena, Side, 2 * MAX_RANK);
  if (d->nsides > 1 && d->nsides != 2 * check_rank(c)) {
    check_error(c, NULL, d->sides[0].loc,
                "field '%s' has rules for %d dimension%s, but the grid has %d; give it one for each", d->name,
                d->nsides / 2, d->nsides == 2 ? "" : "s", check_rank(c));
    return false;
  }
  for (int i = 0, one = -1; i < 2 * rank && d->nsides; i++) {
    if (i / 2 < c->lead) {
      sides[i] = (Side){.rule = field_lacks(f, i / 2) ? OUTSIDE_ALL : OUTSIDE_CLAMP};
      continue;
    }
    const SideDecl *from = &d->sides[d->nsides == 1 ? 0 : i - 2 * c->lead];
    const char *name = arena_printf(c->arena, "%s.about.%d.%s", d->name, check_shown(c, i / 2), ends[i % 2]);
    if (!check_lacking_side(c, from, f, i, d->nsides == 1))
      return false;
    if (field_lacks(f, i / 2)) {
      sides[i] = (Side){.rule = OUTSIDE_ALL};
      continue;
    }
    bool same = one >= 0 &&
                (d->nsides == 1 || (i % 2 && from->loc.line == from[-1].loc.line && from->loc.col == from[-1].loc.col));
    if (same)
      sides[i] = sides[one];
    else if (!check_side(c, d, from, f->type, name, &sides[i]))
      return false;
    if (i % 2 && (sides[i].rule == OUTSIDE_PERIODIC) != (sides[i - 1].rule == OUTSIDE_PERIODIC)) {
      check_error(c, NULL, from->loc,
                  "dimension %d of '%s' is periodic on one side alone; what is periodic goes on from one end to the "
                  "other: make both sides periodic, or none",
                  check_shown(c, i / 2), d->name);
      return false;
    }
    one = i;
  }
  if (d->nsides)
    outside_set_sides(f, rank, sides);
  return true;
}
