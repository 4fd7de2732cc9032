/* frontend/parse_scalar.c: parses declarations of numbers for the whole program: scalars, updates, reduce and until. */
#include "frontend/ast.h"

#include <string.h>

/* Is the next token sum, prod, min or max, followed by one value in parentheses? *behind: the token after the closing
 * one. */
static bool is_reduced(const Parse *p, const Token **behind) {
  const Token *t = p->t + 1;
  int depth = 0, values = 1;
  bool word = parse_is_word(p, "sum") || parse_is_word(p, "prod") || parse_is_word(p, "min") || parse_is_word(p, "max");
  if (!word || t->kind != TOK_LPAREN)
    return false;
  do {
    depth += (t->kind == TOK_LPAREN || t->kind == TOK_LBRACKET || t->kind == TOK_LBRACE) -
             (t->kind == TOK_RPAREN || t->kind == TOK_RBRACKET || t->kind == TOK_RBRACE);
    values += depth == 1 && t->kind == TOK_COMMA;
    t++;
  } while (depth > 0 && t->kind != TOK_EOF && t->kind != TOK_SEMI);
  *behind = t;
  return values == 1;
}

bool parse_is_over(const Parse *p) {
  const Token *behind;
  return is_reduced(p, &behind) && behind->kind == TOK_NAME && !strcmp(behind->text, "over");
}

/* OP(EXPR) over REGION. */
static bool reduced(Parse *p, Decl *d) {
  static const struct {
    const char *word;
    Opcode op;
  } ops[] = {{"sum", OP_ADD}, {"prod", OP_MUL}, {"min", OP_MIN}, {"max", OP_MAX}};
  bool found = false;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (parse_is_word(p, ops[i].word)) {
      d->op = ops[i].op;
      found = true;
    }
  if (!found) {
    parse_error(p, "sum(...), prod(...), min(...) or max(...) over a region");
    return false;
  }
  p->t++;
  if (!parse_expect(p, TOK_LPAREN, "'('") || !(d->value = parse_expr(p)) || !parse_expect(p, TOK_RPAREN, "')'"))
    return false;
  if (!parse_is_word(p, "over")) {
    parse_error(p, "'over' and a region");
    return false;
  }
  p->t++;
  return parse_region_of(p, d, "'over'");
}

Expr *parse_over(Parse *p) {
  const Token *name = p->t;
  Decl *d = ARENA_NEW(p->arena, Decl);
  if (!parse_enter(p) || !reduced(p, d))
    return NULL;
  p->nesting--;
  Expr *e = expr_new(p, EXPR_OVER, name->loc, 1, &d->value);
  if (!e)
    return NULL;
  d->name = e->name = name->text;
  d->loc = name->loc;
  e->over = d;
  return e;
}

bool parse_scalar(Parse *p) {
  do {
    Decl *d = parse_named(p, "the scalar's name");
    if (!d)
      return false;
    if (!parse_optional_type(p, &d->type))
      return false;
    d->shared = parse_is_word(p, "shared");
    p->t += d->shared;
    if (!parse_expect(p, TOK_ASSIGN, "'=' and the value before the first step") || !(d->value = parse_expr(p)))
      return false;
    d->kind = DECL_SCALAR;
  } while (parse_accept(p, TOK_COMMA));
  return parse_end(p, false);
}

bool parse_update(Parse *p) {
  Decl *d = parse_named(p, "the name of a scalar");
  if (!d)
    return false;
  d->kind = DECL_UPDATE;
  return parse_expect(p, TOK_ASSIGN, "'=' and the scalar's new value") && (d->value = parse_expr(p)) &&
         parse_end(p, false);
}

/* Reports that reduction `name` is requested for each member, or for each point of an axis; returns false. */
static bool by_member(const Parse *p, const char *name) {
  diag_error(p->d, p->t->loc,
             "'%s' has a value for each member in a program with members, and is one number in others; leave out '%s' "
             "and what belongs to it",
             name, p->t->text);
  return false;
}

/* Does "by member" or the like follow the region or the number of steps? */
static bool is_by_member(const Parse *p) { return parse_is_word(p, "by") || parse_is_word(p, "per"); }

bool parse_reduce(Parse *p) {
  Name name;
  if (!parse_new_name(p, "the reduction's name", &name))
    return false;
  Decl *d = parse_declare(p, name);
  if (parse_is(p, TOK_LBRACKET))
    return by_member(p, name.s);
  if (!parse_expect(p, TOK_ASSIGN, "'='"))
    return false;
  const Token *value = p->t, *behind;
  bool over = is_reduced(p, &behind), ok = over ? reduced(p, d) : (d->value = parse_expr(p)) != NULL;
  if (ok && !over && parse_is_word(p, "over")) {
    p->t = value;
    ok = reduced(p, d);
  }
  if (ok && is_by_member(p))
    return by_member(p, name.s);
  if (!ok || !parse_every(p, d))
    return false;
  if (is_by_member(p))
    return by_member(p, name.s);
  d->kind = DECL_REDUCE;
  return parse_end(p, false);
}

/* until CONDITION [every K], after the word, which is at `loc`. */
static bool until_scalars(Parse *p, Loc loc) {
  Decl d = {.kind = DECL_END, .name = "until", .loc = loc};
  if (!(d.value = parse_expr(p)) || (parse_is_word(p, "every") && !parse_every(p, &d)))
    return false;
  *parse_declare(p, (Name){d.name, d.loc, 0}) = d;
  return parse_end(p, false);
}

bool parse_until(Parse *p) {
  static const struct {
    Tok tok;
    Opcode op;
  } compares[] = {{TOK_EQ, OP_EQ}, {TOK_NE, OP_NE}, {TOK_LT, OP_LT}, {TOK_LE, OP_LE}, {TOK_GT, OP_GT}, {TOK_GE, OP_GE}};
  Decl d = {.name = "until", .loc = p->t->loc};
  const Token *behind;
  bool found = false;
  p->t++;
  if (!is_reduced(p, &behind))
    return until_scalars(p, d.loc);
  if (!reduced(p, &d))
    return false;
  for (size_t i = 0; i < sizeof compares / sizeof *compares; i++)
    if (parse_is(p, compares[i].tok)) {
      d.compare = compares[i].op;
      found = true;
    }
  if (!found) {
    parse_error(p, "a comparison ('<', '<=', '>', '>=', '==' or '!=') and a value");
    return false;
  }
  p->t++;
  if (!(d.right = parse_expr(p)) || !parse_every(p, &d))
    return false;
  d.kind = DECL_UNTIL;
  *parse_declare(p, (Name){d.name, d.loc, 0}) = d;
  return parse_end(p, false);
}
