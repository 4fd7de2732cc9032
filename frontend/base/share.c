/* frontend/base/share.c: values with several uses, computed once: the arguments and variables of functions, the index
 * of a table. */
#include "frontend/checker.h"

/* A shared value is a local that no statement assigns: it is lowered before the first expression of a block that uses
 * it. */

/* The constant `k` of type `t` as an expression. */
static Expr *constant(Checker *c, Loc loc, const char *name, Type t, Const k) {
  Symbol *s = ARENA_NEW(c->arena, Symbol);
  *s = (Symbol){.kind = SYM_CONST, .name = name, .loc = loc, .type = t};
  s->have[t] = true;
  s->memo[t] = k;
  return check_leaf(c, EXPR_CONST, t, loc, s);
}

/* An expression that uses the shared value `e`. */
static Expr *value(Checker *c, Expr *e, const char *name) {
  Symbol *s = ARENA_NEW(c->arena, Symbol);
  *s = (Symbol){.kind = SYM_LOCAL, .name = name, .loc = e->loc, .type = e->type, .checked = e};
  return check_leaf(c, EXPR_LOCAL, e->type, e->loc, s);
}

/* A composite value of kind `kind`, with the type and place of `e`; its `n` kids are still to be filled in. */
static Expr *composite(Checker *c, const Expr *e, ExprKind kind, int n) {
  Expr *x = check_leaf(c, kind, e->type, e->loc, NULL);
  x->n = n;
  x->kids = ARENA_ARRAY(c->arena, Expr *, n);
  c->nodes += n;
  return x;
}

Expr *share_member(Checker *c, Expr *e, int i, Type t) {
  if (e->kind == EXPR_BRACES)
    return e->kids[i];
  if (e->kind == EXPR_SPREAD && type_is_scalar(t))
    return e->kids[0];
  Expr *x = composite(c, e, e->kind == EXPR_SPREAD ? EXPR_SPREAD : EXPR_MEMBER, 1);
  x->type = t;
  x->value.i = i;
  x->kids[0] = e->kind == EXPR_SPREAD ? e->kids[0] : e;
  return x;
}

/* The operation `e` on vectors or structs, expanded component by component. */
static Expr *share_operation(Checker *c, const Expr *e, const char *name) {
  Expr *kids[3], *parts[3];
  int n = type_composite(c->m, e->type)->n;
  Expr *x = composite(c, e, EXPR_BRACES, n);
  for (int k = 0; k < e->n; k++)
    kids[k] = share(c, e->kids[k], name);
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < e->n; k++) {
      const Composite *of = type_composite(c->m, kids[k]->type);
      parts[k] = of ? share_member(c, kids[k], i, of->members[i].type) : kids[k];
    }
    Expr *one = check_operation(c, e->op, e->loc, e->n, parts);
    one->type = type_composite(c->m, e->type)->members[i].type;
    x->kids[i] = share(c, e->op == OP_CONVERT && parts[0]->type == one->type ? parts[0] : one, name);
  }
  return x;
}

/* The composite value `e` with its parts shared; NULL if it has no parts in its text. */
static Expr *share_composite(Checker *c, Expr *e, const char *name) {
  if (e->kind == EXPR_OP)
    return share_operation(c, e, name);
  if (e->kind == EXPR_MEMBER) {
    Expr *of = share(c, e->kids[0], name);
    if (of->kind != EXPR_LOCAL)
      return share_member(c, of, (int)e->value.i, e->type);
  }
  if (e->kind != EXPR_BRACES && e->kind != EXPR_SPREAD)
    return NULL;
  Expr *x = composite(c, e, e->kind, e->n);
  for (int i = 0; i < e->n; i++)
    x->kids[i] = share(c, e->kids[i], name);
  return x;
}

/* Where the local `sym` of composite type keeps the shared member `i`, so that each member is shared only once. */
static Expr **place_of_member(Checker *c, Symbol *sym, int i) {
  if (!sym->members)
    sym->members = ARENA_ARRAY(c->arena, Expr *, type_composite(c->m, sym->type)->n);
  return &sym->members[i];
}

Expr *share(Checker *c, Expr *e, const char *name) {
  Const k;
  if (e->kind == EXPR_MEMBER && e->kids[0]->kind == EXPR_LOCAL) {
    Expr **at = place_of_member(c, e->kids[0]->sym, (int)e->value.i);
    return *at = *at ? *at : value(c, e, name);
  }
  if (e->kind == EXPR_BAD || e->kind == EXPR_CONST || e->kind == EXPR_LOCAL || e->kind == EXPR_SCALAR)
    return e;
  if (type_is_scalar(e->type) && fold_const(c, e, &k))
    return constant(c, e->loc, name, e->type, k);
  Expr *parts = type_is_scalar(e->type) ? NULL : share_composite(c, e, name);
  if (parts)
    return parts;
  return value(c, e, name);
}

/* Values that are still to be listed; each is above the values that need it. */
typedef struct Stack {
  Arena *arena;
  const void *place;
  int32_t n;
  Symbol **values;
} Stack;

/* Pushes the shared values that `e` itself uses. */
static void push_named(Stack *s, const Expr *e) {
  if (e->kind == EXPR_LOCAL && e->sym->checked && e->sym->listed != s->place) {
    e->sym->visited = false;
    ARENA_PUSH(s->arena, s->values, s->n, e->sym);
  }
  for (int i = 0; i < e->n; i++)
    push_named(s, e->kids[i]);
}

/* Uses a stack in place of recursion, because chains of values can be long. */
int shared_values(Arena *a, const Expr *e, const void *place, Symbol ***out) {
  Stack stack = {.arena = a, .place = place};
  int n = 0;
  *out = NULL;
  push_named(&stack, e);
  while (stack.n) {
    Symbol *s = stack.values[stack.n - 1];
    if (s->listed == place) {
      stack.n--;
    } else if (!s->visited) {
      s->visited = true;
      push_named(&stack, s->checked);
    } else {
      s->listed = place;
      ARENA_PUSH(a, *out, n, s);
      stack.n--;
    }
  }
  return n;
}
