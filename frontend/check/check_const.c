/* check_const.c: constants and tables of constants, computed as every type that their literals can adapt to. */
#include "frontend/check/declare.h"

#include <math.h>
#include <string.h>

Expr *check_single(Checker *c, Expr *e, const char *what) {
  if (e->kind == EXPR_BAD || e->type == TY_BOOL || type_is_literal(e->type) || type_is_scalar(e->type))
    return check_widen(c, e);
  return check_error(c, NULL, e->loc, "%s must be a single number, but this is %s", what,
                     e->imaginary ? "an imaginary number" : check_type_words(c, e->type));
}

/* Computes constant `s` from its expression as type `t`. False after reporting. */
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

/* Computes constant `s` of literals as all types of floats that hold its value. False after reporting. */
static bool compute_floats(Checker *c, Symbol *s, const Expr *value) {
  static const Type narrower[] = {TY_F32, TY_F16, TY_BF16};
  bool ok = compute(c, s, value, TY_F64);
  for (size_t i = 0; i < sizeof narrower / sizeof *narrower && ok; i++)
    if (!isinf(const_convert(s->memo[TY_F64], TY_F64, narrower[i]).f))
      ok = compute(c, s, value, narrower[i]);
  return ok;
}

/* Notes that constant `s` may have those shorter types of integers that hold its value `i`. */
static void add_integers(Symbol *s, int64_t i) {
  static const Type types[] = {TY_I32, TY_U32};
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    s->have[types[k]] = i >= type_least(types[k]) && i <= type_most(types[k]);
    s->memo[types[k]].i = i;
  }
}

/* Computes constant `s` of the type given, or of its own, or as every type that its literals can adapt to. */
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

void check_table(Checker *c, const Decl *d) {
  int64_t n;
  Type given;
  bool ok =
      check_type_expr(c, d->type, TYPE_SCALAR, &given) && check_const_int(c, d->value, NULL, "a table's length", &n);
  if (ok && n != d->nvalues) {
    diag_error(c->d, d->loc, "the table '%s' has %d value%s, but its length is %lld", d->name, d->nvalues,
               d->nvalues == 1 ? "" : "s", (long long)n);
    ok = false;
  }
  Symbol **elems = ARENA_ARRAY(c->arena, Symbol *, d->nvalues);
  for (int i = 0; i < d->nvalues; i++) {
    elems[i] = ARENA_NEW(c->arena, Symbol);
    *elems[i] =
        (Symbol){.kind = SYM_CONST, .name = arena_printf(c->arena, "%s[%d]", d->name, i), .loc = d->values[i]->loc};
    ok = ok && compute_all(c, elems[i], d->values[i], given);
  }
  Symbol *s = check_declare(c, ok ? SYM_TABLE : SYM_BAD, d);
  if (s)
    s->n = d->nvalues, s->elems = elems;
}
