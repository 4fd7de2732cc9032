/* frontend/parse_gradient.c: parses declarations for derivatives: loss and gradient. */
#include "frontend/ast.h"

bool parse_begins_gradient(const Parse *p) {
  Tok next = p->t[1].kind;
  if (!parse_is(p, TOK_NAME))
    return false;
  return (parse_is_word(p, "loss") && next == TOK_NAME) ||
         (parse_is_word(p, "gradient") &&
          (next == TOK_NAME || next == TOK_INT || next == TOK_FLOAT || next == TOK_MINUS));
}

/* The steps at which `d` is evaluated: every EXPR, or at end. */
static bool due(Parse *p, Decl *d) {
  if (!parse_is_word(p, "at"))
    return parse_every(p, d);
  p->t++;
  if (!parse_is_word(p, "end")) {
    parse_error(p, "'end' behind 'at'");
    return false;
  }
  p->t++;
  return true;
}

/* NAME += EXPR at POINTS DUE; or over REGION DUE; */
static bool loss(Parse *p) {
  Decl *d = parse_named(p, "the loss's name");
  if (!d)
    return false;
  if (!parse_accept(p, TOK_PLUS)) {
    parse_error(p, "'+=' and what the loss adds up, such as 'loss J += u * u over G at end;'");
    return false;
  }
  if (!parse_expect(p, TOK_ASSIGN, "'=' behind '+'") || !(d->value = parse_expr(p)))
    return false;
  if (!parse_is_word(p, "over") && !parse_is_word(p, "at")) {
    parse_error(p, "'over' and a region, or 'at' and points");
    return false;
  }
  bool over = parse_is_word(p, "over");
  p->t += over;
  if (over ? !parse_region_of(p, d, "'over'") : !parse_places(p, d) || !parse_up_to(p, d))
    return false;
  if (!due(p, d))
    return false;
  d->kind = DECL_LOSS;
  return parse_end(p, false);
}

/* EXPR to NAME, ...; after the word, which is at `loc`. */
static bool gradient(Parse *p, Loc loc) {
  Decl d = {.kind = DECL_GRADIENT, .name = "gradient", .loc = loc};
  if (!(d.value = parse_expr(p)))
    return false;
  if (!parse_is_word(p, "to")) {
    parse_error(p, "'to' and the names that the derivatives are by");
    return false;
  }
  do {
    p->t++;
    if (!parse_is(p, TOK_NAME)) {
      parse_error(p, "the name of a field, a launch-time array or a param");
      return false;
    }
    Name name = {p->t->text, p->t->loc, 0};
    p->t++;
    ARENA_PUSH(p->arena, d.names, d.nnames, name);
  } while (parse_is(p, TOK_COMMA));
  *parse_declare(p, (Name){d.name, d.loc, 0}) = d;
  return parse_end(p, false);
}

bool parse_gradient(Parse *p) {
  Loc loc = p->t->loc;
  bool is_loss = parse_is_word(p, "loss");
  p->t++;
  return is_loss ? loss(p) : gradient(p, loc);
}
