/* parse_within.c: parses offsets that depend on data: NAME[[OFFSETS] within BOUND], and the bound among the arguments
 * of at. */
#include "frontend/ast.h"

/* EXPR or [EXPR, ...], the bounds of `n` offsets (0: of any number), after the word within; a single one holds for all
 * offsets. Appends them to *kids[*all]. */
static bool bounds(Parse *p, int n, Expr ***kids, int32_t *all) {
  int32_t before = *all;
  bool several = parse_accept(p, TOK_LBRACKET);
  do {
    Expr *e = parse_expr(p);
    if (!e)
      return false;
    ARENA_PUSH(p->arena, *kids, *all, e);
  } while (several && parse_accept(p, TOK_COMMA));
  if (several && !parse_expect(p, TOK_RBRACKET, "',' or ']' behind the bounds"))
    return false;
  while (!several && *all - before < n)
    ARENA_PUSH(p->arena, *kids, *all, (*kids)[before]);
  if (n && *all - before != n) {
    diag_error(p->d, (*kids)[before]->loc,
               "there are %d offsets, but %d bounds behind 'within': give one for each, or one for all", n,
               *all - before);
    return false;
  }
  return true;
}

Expr *parse_within(Parse *p, const Token *name) {
  Expr **kids = NULL;
  int32_t n = 0;
  p->t++;
  if (!parse_enter(p))
    return NULL;
  do {
    Expr *e = parse_expr(p);
    if (!e)
      return NULL;
    ARENA_PUSH(p->arena, kids, n, e);
  } while (parse_accept(p, TOK_COMMA));
  if (!parse_expect(p, TOK_RBRACKET, "',' or ']' behind the offsets"))
    return NULL;
  if (!parse_is_word(p, "within")) {
    parse_error(p, "'within' and how far the offsets may reach, as in 'u[[dy, dx] within 2]'");
    return NULL;
  }
  p->t++;
  if (!bounds(p, n, &kids, &n) || !parse_expect(p, TOK_RBRACKET, "']'"))
    return NULL;
  p->nesting--;
  Expr *e = expr_new(p, EXPR_WITHIN, name->loc, n, kids);
  if (e)
    e->name = name->text;
  return e;
}

Expr *parse_within_argument(Parse *p) {
  const Token *word = p->t++;
  Expr **kids = NULL;
  int32_t n = 0;
  Expr *e = bounds(p, 0, &kids, &n) ? expr_new(p, EXPR_NAMED, word->loc, n, kids) : NULL;
  if (e)
    e->name = word->text;
  return e;
}
