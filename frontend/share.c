/* frontend/share.c: values that several places use, computed once: the arguments and variables of functions, the index of a table. */
#include "frontend/ast.h"

/* Such a value is a local without a place of its own: it is lowered before the first expression of a block that needs it. */

/* The constant `k` of type `t` as an expression. */
static Expr *constant(Checker *c, Loc loc, const char *name, Type t, Const k) {
  Symbol *s = ARENA_NEW(c->arena, Symbol);
  *s = (Symbol){.kind = SYM_CONST, .name = name, .loc = loc, .type = t};
  s->have[t] = true;
  s->memo[t] = k;
  return check_leaf(c, EXPR_CONST, t, loc, s);
}

Expr *share(Checker *c, Expr *e, const char *name) {
  Const k;
  if (e->kind == EXPR_BAD || e->kind == EXPR_CONST || e->kind == EXPR_LOCAL || e->kind == EXPR_SCALAR)
    return e;
  if (type_is_scalar(e->type) && fold_const(c, e, &k))
    return constant(c, e->loc, name, e->type, k);
  Symbol *s = ARENA_NEW(c->arena, Symbol);
  *s = (Symbol){.kind = SYM_LOCAL, .name = name, .loc = e->loc, .type = e->type, .checked = e};
  return check_leaf(c, EXPR_LOCAL, e->type, e->loc, s);
}

/* Values still to be listed, each above those that need it. */
typedef struct Stack { Arena *arena; const void *place; int32_t n; Symbol **values; } Stack;

/* Puts the shared values that `e` itself names on the stack. */
static void push_named(Stack *s, const Expr *e) {
  if (e->kind == EXPR_LOCAL && e->sym->checked && e->sym->listed != s->place) {
    e->sym->visited = false;
    ARENA_PUSH(s->arena, s->values, s->n, e->sym);
  }
  for (int i = 0; i < e->n; i++)
    push_named(s, e->kids[i]);
}

/* A stack instead of recursion, as chains of values can be long. */
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
