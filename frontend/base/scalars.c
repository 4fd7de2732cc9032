/* frontend/base/scalars.c: the scalars of a module: those of the program, and hidden ones for values that are computed
 * at launch. Together with fold.c, which evaluates them, it is above nodes.c. */
#include "frontend/check/declare.h"

void check_add_default(Checker *c, int n, const Expr *value) {
  Const k = {0};
  bool known = value && fold_default(c, value, &k);
  int count = n;
  ARENA_PUSH(c->arena, c->defaults, count, k);
  ARENA_PUSH(c->arena, c->has_default, n, known);
}

void check_add_scalar(Checker *c, Symbol *s, Type t, Expr *value, bool is_param) {
  Scalar x = {.name = s->name, .type = t, .is_param = is_param, .loc = s->loc};
  int n = c->m->nscalars;
  ARENA_PUSH(c->arena, c->scalar_value, n, value);
  s->type = t;
  s->index = c->m->nscalars;
  ARENA_PUSH(c->arena, c->m->scalars, c->m->nscalars, x);
  check_add_default(c, s->index, value);
  bool linear = type_is_int(t) && !is_param && fold_affine(c, value, &s->affine);
  if (!linear)
    s->affine = affine_scalar(c->arena, s->index);
  s->is_affine = type_is_int(t) && (is_param || linear || fold_may_compute(c, value));
  if (s->is_affine && !is_param && !linear)
    fold_note(c, value, s->index);
}

Symbol *check_hidden_scalar(Checker *c, const char *name, Expr *value) {
  Symbol *s = ARENA_NEW(c->arena, Symbol);
  *s = (Symbol){.kind = SYM_LET, .name = name, .loc = value->loc};
  check_add_scalar(c, s, value->type, value, false);
  return s;
}
