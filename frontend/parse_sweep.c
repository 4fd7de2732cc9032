/* frontend/parse_sweep.c: parses sweeps: stencils that compute their points in order along a dimension. */
#include "frontend/sweep.h"

/* The block, or "= VALUE;", of piece `x`; `expected` names it in messages. */
static bool body(Parse *p, PieceDecl *x, const char *expected) {
  x->loc = p->t->loc;
  if (parse_accept(p, TOK_LBRACE)) {
    x->is_block = true;
    bool ok = parse_block(p, &x->n, &x->stmts) && parse_no_return(p, x->n, x->stmts);
    parse_accept(p, TOK_SEMI);
    return ok;
  }
  Stmt s = {.kind = STMT_ASSIGN, .loc = p->t->loc};
  if (!parse_expect(p, TOK_ASSIGN, expected) || !(s.value = parse_expr(p)) || !parse_end(p, false))
    return false;
  ARENA_PUSH(p->arena, x->stmts, x->n, s);
  return true;
}

/* "along DIMENSION up" or "down". */
static bool order(Parse *p, SweepDecl *s) {
  if (!parse_take_word(p, "along", "'along' and the dimension in which the sweep goes") || !(s->along = parse_expr(p)))
    return false;
  if (!parse_is_word(p, "up") && !parse_is_word(p, "down")) {
    parse_error(p, "'up' (from the least coordinate to the greatest) or 'down'");
    return false;
  }
  s->sign = parse_is_word(p, "up") ? 1 : -1;
  p->t++;
  return true;
}

/* "first [N] BODY next BODY" in braces: adds two pieces to `d`, both on its region. */
static bool layers(Parse *p, Decl *d, SweepDecl *s) {
  PieceDecl first = {.region = d->region}, next = {.region = d->region};
  if (!parse_expect(p, TOK_LBRACE, "'{', and what the sweep begins with: first { ... }") ||
      !parse_take_word(p, "first", "'first' and what the sweep begins with"))
    return false;
  if (!parse_is(p, TOK_LBRACE) && !parse_is(p, TOK_ASSIGN) && !(s->first = parse_expr(p)))
    return false;
  if (!body(p, &first, "'{' or '=', and what the first layers are"))
    return false;
  ARENA_PUSH(p->arena, d->pieces, d->npieces, first);
  if (!parse_take_word(p, "next", "'next' and what all other layers are"))
    return false;
  bool ok = body(p, &next, "'{' or '=', and what all other layers are");
  ARENA_PUSH(p->arena, d->pieces, d->npieces, next);
  ok = ok && parse_expect(p, TOK_RBRACE, "'}' behind 'first' and 'next'");
  parse_accept(p, TOK_SEMI);
  return ok;
}

bool parse_sweep(Parse *p) {
  Decl *d = parse_named(p, "the sweep's name");
  if (!d)
    return false;
  SweepDecl *s = ARENA_NEW(p->arena, SweepDecl);
  if (!parse_targets(p, d) || !(d->region = parse_region(p)) || !order(p, s) || !layers(p, d, s))
    return false;
  d->sweep = s;
  d->kind = DECL_SWEEP;
  return true;
}
