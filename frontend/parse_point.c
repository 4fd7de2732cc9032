/* frontend/parse_point.c: declarations about single points: probe and inject. */
#include "frontend/ast.h"

/* Takes the word `word`, or reports that it, and what follows it, were expected. */
static bool take_word(Parse *p, const char *word, const char *expected) {
  if (!parse_is_word(p, word)) {
    parse_error(p, expected);
    return false;
  }
  p->t++;
  return true;
}

/* at [COORDINATE, ...] [in REGION] */
static bool places(Parse *p, Decl *d) {
  if (!take_word(p, "at", "'at' and a point '[...]'") ||
      !parse_in_brackets(p, d, "the point's coordinates '[...]'", parse_expr))
    return false;
  if (!parse_is_word(p, "in"))
    return true;
  p->t++;
  return parse_region_of(p, d, "'in'");
}

bool parse_probe(Parse *p) {
  Name name;
  if (!parse_new_name(p, "the probe's name", &name))
    return false;
  Decl *d = parse_declare(p, name);
  if (!parse_expect(p, TOK_ASSIGN, "'=' and what the probe sees") || !(d->value = parse_expr(p)) || !places(p, d) ||
      !parse_every(p, d))
    return false;
  d->kind = DECL_PROBE;
  return parse_end(p, false);
}

/* "(FIELD)" of an inject. */
static bool target(Parse *p, Decl *d) {
  if (!parse_expect(p, TOK_LPAREN, "'(' and a field"))
    return false;
  if (!parse_is(p, TOK_NAME)) {
    parse_error(p, "a field's name");
    return false;
  }
  Name name = {p->t->text, p->t->loc, 0};
  p->t++;
  ARENA_PUSH(p->arena, d->names, d->nnames, name);
  return parse_expect(p, TOK_RPAREN, "')'");
}

/* "up to N", if it is there. */
static bool up_to(Parse *p, Decl *d) {
  if (!parse_is_word(p, "up"))
    return true;
  p->t++;
  return take_word(p, "to", "'to' and how many points may be at one place") && (d->right = parse_expr(p)) != NULL;
}

bool parse_inject(Parse *p) {
  Name name;
  if (!parse_new_name(p, "the inject's name", &name))
    return false;
  Decl *d = parse_declare(p, name);
  if (!target(p, d))
    return false;
  bool adds = parse_accept(p, TOK_PLUS);
  if (!parse_expect(p, TOK_ASSIGN, adds ? "'=' behind '+'" : "'+=' or '=' and a value") ||
      !(d->value = parse_expr(p)) || !places(p, d) || !up_to(p, d))
    return false;
  d->op = adds ? OP_ADD : OP_COUNT;
  d->kind = DECL_INJECT;
  return parse_end(p, false);
}
