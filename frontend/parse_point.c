/* frontend/parse_point.c: parses declarations for places: probes and injects at points, layers at sides of the grid,
 * masks, and the `where` and `dry` of other declarations. */
#include "frontend/check/absorb.h"
#include "frontend/fields.h"

bool parse_places(Parse *p, Decl *d) {
  if (!parse_take_word(p, "at", "'at' and a point '[...]'") ||
      !parse_in_brackets(p, d, "the point's coordinates '[...]'", parse_expr))
    return false;
  if (!parse_is_word(p, "in"))
    return true;
  p->t++;
  return parse_region_of(p, d, "'in'");
}

bool parse_probe(Parse *p) {
  Decl *d = parse_named(p, "the probe's name");
  if (!d)
    return false;
  if (!parse_expect(p, TOK_ASSIGN, "'=' and what the probe sees") || !(d->value = parse_expr(p)) ||
      !parse_places(p, d) || !parse_every(p, d))
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

bool parse_up_to(Parse *p, Decl *d) {
  if (!parse_is_word(p, "up"))
    return true;
  p->t++;
  return parse_take_word(p, "to", "'to' and how many points may be at one place") && (d->right = parse_expr(p)) != NULL;
}

bool parse_inject(Parse *p) {
  Decl *d = parse_named(p, "the inject's name");
  if (!d)
    return false;
  if (!target(p, d))
    return false;
  bool adds = parse_accept(p, TOK_PLUS);
  if (!parse_expect(p, TOK_ASSIGN, adds ? "'=' behind '+'" : "'+=' or '=' and a value") ||
      !(d->value = parse_expr(p)) || !parse_places(p, d) || !parse_up_to(p, d))
    return false;
  d->op = adds ? OP_ADD : OP_COUNT;
  d->kind = DECL_INJECT;
  return parse_end(p, false);
}

/* ---- absorbing layers */

/* "DIMENSION lower" or "DIMENSION upper" into `a`; false after reporting. */
static bool side(Parse *p, AbsorbDecl *a) {
  SideExpr s = {.dim = parse_expr(p)};
  if (!s.dim)
    return false;
  s.upper = parse_is_word(p, "upper");
  if (!s.upper && !parse_is_word(p, "lower")) {
    parse_error(p, "'lower' or 'upper' behind the dimension");
    return false;
  }
  p->t++;
  ARENA_PUSH(p->arena, a->sides, a->n, s);
  return true;
}

/* "but [SIDES]", if it is there. */
static bool but(Parse *p, AbsorbDecl *a) {
  if (!parse_is_word(p, "but"))
    return true;
  p->t++;
  if (!parse_expect(p, TOK_LBRACKET, "'[' and the sides without a layer"))
    return false;
  do {
    if (!side(p, a))
      return false;
  } while (parse_accept(p, TOK_COMMA));
  return parse_expect(p, TOK_RBRACKET, "',' or ']'");
}

/* The numbers that determine a layer. */
static bool numbers(Parse *p, AbsorbDecl *a) {
  if (!parse_take_word(p, "speed", "'speed' and that of the fastest wave") || !(a->speed = parse_expr(p)) ||
      !parse_expect(p, TOK_COMMA, "',' and 'frequency'") ||
      !parse_take_word(p, "frequency", "'frequency' and that of the source") || !(a->frequency = parse_expr(p)) ||
      !parse_expect(p, TOK_COMMA, "',' and 'reflection'") ||
      !parse_take_word(p, "reflection", "'reflection' and which part of a wave may come back") ||
      !(a->reflection = parse_expr(p)))
    return false;
  if (!parse_accept(p, TOK_COMMA))
    return true;
  return parse_take_word(p, "kappa", "'kappa' and its largest value") && (a->kappa = parse_expr(p)) != NULL;
}

bool parse_absorb(Parse *p) {
  Name name;
  if (!parse_new_name(p, "the layer's name", &name))
    return false;
  Decl *d = parse_declare(p, name);
  AbsorbDecl *a = ARENA_NEW(p->arena, AbsorbDecl);
  if (!parse_expect(p, TOK_ASSIGN, "'=' and how many points wide the layer is") || !(a->points = parse_expr(p)) ||
      !parse_take_word(p, "of", "'of' and the name of the grid"))
    return false;
  if (!parse_is(p, TOK_NAME)) {
    parse_error(p, "the name of the grid");
    return false;
  }
  a->of = (Name){p->t->text, p->t->loc, 0};
  p->t++;
  if (!but(p, a) || !numbers(p, a))
    return false;
  d->absorb = a;
  d->kind = DECL_ABSORB;
  return parse_end(p, false);
}

bool parse_absorbed(Parse *p, PieceDecl *piece) {
  if (!parse_is_word(p, "absorb"))
    return true;
  p->t++;
  if (!parse_is(p, TOK_NAME)) {
    parse_error(p, "the name of an absorbing layer");
    return false;
  }
  piece->absorb = (Name){p->t->text, p->t->loc, 0};
  p->t++;
  return true;
}

/* ---- masks */

bool parse_mask(Parse *p) {
  Decl *d = parse_named(p, "the mask's name");
  if (!d)
    return false;
  if (!parse_is_word(p, "on")) {
    parse_error(p, "'on' and the region of the mask");
    return false;
  }
  p->t++;
  if (!parse_region_of(p, d, "'on'"))
    return false;
  d->shared = parse_is_word(p, "shared");
  p->t += d->shared;
  if (!parse_expect(p, TOK_ASSIGN, "'=' and where the mask is true ('= true' of one that is given)") ||
      !(d->value = parse_expr(p)))
    return false;
  d->kind = DECL_MASK;
  return parse_end(p, false);
}

const DryDecl *parse_dry(Parse *p) {
  DryDecl *dry = ARENA_NEW(p->arena, DryDecl);
  if (!parse_mask_name(p, &dry->mask))
    return NULL;
  if (!parse_is_word(p, "dry")) {
    parse_error(p, "'dry' and what a read gives where the mask is false: self, a constant, or odd about a number");
    return NULL;
  }
  dry->loc = (++p->t)->loc;
  dry->rule = DRY_VALUE;
  if (parse_is_word(p, "self")) {
    dry->rule = DRY_SELF;
    p->t++;
    return dry;
  }
  if (parse_is_word(p, "odd")) {
    dry->rule = DRY_ODD;
    p->t++;
    if (!parse_is_word(p, "about")) {
      parse_error(p, "'about' and a number");
      return NULL;
    }
    p->t++;
  }
  return (dry->value = parse_expr(p)) ? dry : NULL;
}
