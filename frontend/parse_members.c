/* frontend/parse_members.c: parses members, and adds members that the caller asks for (ensemble.h). */
#include "frontend/ensemble.h"

bool parse_members(Parse *p) {
  Decl d = {.kind = DECL_MEMBERS, .name = "members", .loc = p->t[-1].loc};
  if (!(d.value = parse_expr(p)))
    return false;
  *parse_declare(p, (Name){d.name, d.loc, 0}) = d;
  return parse_end(p, false);
}

void parse_insert_members(Parse *p, int64_t n) {
  int at = 0;
  while (at < p->ndecls && p->decls[at]->kind != DECL_GRID)
    at++;
  if (at == p->ndecls)
    return;
  Expr *value = ARENA_NEW(p->arena, Expr);
  *value = (Expr){.kind = EXPR_INT, .loc = p->decls[at]->loc, .name = arena_printf(p->arena, "%lld", (long long)n)};
  Decl *d = parse_declare(p, (Name){"members", p->decls[at]->loc, 0});
  d->kind = DECL_MEMBERS;
  d->value = value;
  for (int i = p->ndecls - 1; i > at + 1; i--)
    p->decls[i] = p->decls[i - 1];
  p->decls[at + 1] = d;
}
