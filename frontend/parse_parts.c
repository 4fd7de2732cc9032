/* frontend/parse_parts.c: parses the parts that several declarations have in common: names, types, values, regions,
 * their ends; and skips tokens after an error. Above parse_expr.c, whose reductions over a region are parsed here, and
 * below all declarations. */
#include "frontend/ast.h"

#include "frontend/fields.h"

#include <stdlib.h>
#include <string.h>

Decl *parse_declare(Parse *p, Name name) {
  Decl *d = ARENA_NEW(p->arena, Decl);
  d->name = name.s;
  d->loc = name.loc;
  ARENA_PUSH(p->arena, p->decls, p->ndecls, d);
  return d;
}

bool parse_new_name(Parse *p, const char *what, Name *out) {
  if (!parse_is(p, TOK_NAME)) {
    parse_error(p, what);
    return false;
  }
  if (is_reserved(p->t->text)) {
    diag_error(p->d, p->t->loc, "expected %s, but '%s' is a word of the language; choose another name", what,
               p->t->text);
    return false;
  }
  *out = (Name){p->t->text, p->t->loc, 0};
  p->t++;
  return true;
}

Decl *parse_named(Parse *p, const char *what) {
  Name name;
  return parse_new_name(p, what, &name) ? parse_declare(p, name) : NULL;
}

Type type_of_word(const char *s, Type real) { return !strcmp(s, "real") ? real : type_from_name(s); }

const TypeExpr *parse_type(Parse *p) {
  if (!parse_is(p, TOK_NAME) || is_keyword(p->t->text)) {
    parse_error(p, EXPECTED_TYPE);
    return NULL;
  }
  TypeExpr *t = ARENA_NEW(p->arena, TypeExpr);
  t->loc = p->t->loc;
  t->name = p->t->text;
  p->t++;
  while (parse_accept(p, TOK_LBRACKET)) {
    Expr *length = parse_expr(p);
    if (!length || !parse_expect(p, TOK_RBRACKET, "']' after the vector's length"))
      return NULL;
    ARENA_PUSH(p->arena, t->lengths, t->n, length);
  }
  return t;
}

bool parse_optional_type(Parse *p, const TypeExpr **out) {
  *out = NULL;
  return !parse_accept(p, TOK_COLON) || (*out = parse_type(p)) != NULL;
}

bool parse_end(Parse *p, bool paper) {
  if (parse_accept(p, TOK_SEMI) || (paper && (p->t->first || parse_is(p, TOK_EOF))))
    return true;
  if (!p->t->first && !parse_is(p, TOK_EOF)) {
    parse_error(p, "';'");
    return false;
  }
  Loc at = p->t[-1].loc;
  at.col += (int32_t)strlen(p->t[-1].text);
  diag_error(p->d, at, "expected ';' at the end of the declaration");
  return true;
}

Expr *parse_initializer(Parse *p) { return parse_expect(p, TOK_ASSIGN, "'='") ? parse_expr(p) : NULL; }

/* EXPR] or ROWS, COLUMNS], the length of a table or an array, after the bracket. */
bool parse_lengths(Parse *p, Decl *d) {
  d->value = parse_expr(p);
  if (d->value && parse_accept(p, TOK_COMMA) && !(d->right = parse_expr(p)))
    return false;
  return d->value && parse_expect(p, TOK_RBRACKET, d->right ? "']' (a table has one index or two)" : "']'");
}

/* Takes a star if it stands alone between commas and brackets. */
bool parse_accept_star(Parse *p) {
  bool is = parse_is(p, TOK_STAR) && (p->t[1].kind == TOK_COMMA || p->t[1].kind == TOK_RBRACKET);
  p->t += is;
  return is;
}

/* The bounds of one dimension, or a star. */
static bool range(Parse *p, RangeExpr *out) {
  *out = (RangeExpr){NULL, NULL};
  if (parse_accept_star(p))
    return true;
  *out = (RangeExpr){parse_expr(p), NULL};
  if (!out->lo)
    return false;
  return !parse_accept(p, TOK_DOTS) || (out->hi = parse_expr(p)) != NULL;
}

/* The mask's name, after `where`. */
bool parse_mask_name(Parse *p, Name *out) {
  if (!parse_is(p, TOK_NAME)) {
    parse_error(p, "a mask's name after 'where'");
    return false;
  }
  *out = (Name){p->t->text, p->t->loc, 0};
  p->t++;
  return true;
}

bool parse_where(Parse *p, Name *out) {
  if (!parse_is_word(p, "where"))
    return true;
  p->t++;
  return parse_mask_name(p, out);
}

RegionExpr *parse_region(Parse *p) {
  RegionExpr *r = ARENA_NEW(p->arena, RegionExpr);
  r->loc = p->t->loc;
  if (!parse_expect(p, TOK_LBRACKET, "a region '[lo .. hi, ...]'"))
    return NULL;
  do {
    RangeExpr x;
    if (!range(p, &x))
      return NULL;
    ARENA_PUSH(p->arena, r->ranges, r->n, x);
  } while (parse_accept(p, TOK_COMMA));
  if (!parse_where(p, &r->where))
    return NULL;
  return parse_expect(p, TOK_RBRACKET, "'..', ',' or ']'") ? r : NULL;
}

bool parse_in_brackets(Parse *p, Decl *d, const char *expected, Expr *(*one)(Parse *)) {
  if (!parse_expect(p, TOK_LBRACKET, expected))
    return false;
  do {
    Expr *e = one(p);
    if (!e)
      return false;
    ARENA_PUSH(p->arena, d->values, d->nvalues, e);
  } while (parse_accept(p, TOK_COMMA));
  return parse_expect(p, TOK_RBRACKET, "',' or ']'");
}

/* A grid or region, after the word on, in or over (`word`, for messages). */
bool parse_region_of(Parse *p, Decl *d, const char *word) {
  if (parse_is(p, TOK_LBRACKET))
    return (d->region = parse_region(p)) != NULL;
  if (!parse_is(p, TOK_NAME)) {
    parse_error(p, arena_printf(p->arena, "a region or its name after %s", word));
    return false;
  }
  d->on = (Name){p->t->text, p->t->loc, 0};
  p->t++;
  return true;
}

bool parse_target_level(Parse *p, int32_t *out) {
  if (!parse_accept(p, TOK_AT))
    return true;
  if (!parse_is(p, TOK_INT)) {
    parse_error(p, "the number of the older level, as in 'U@1'");
    return false;
  }
  long k = strtol(p->t->text, NULL, 10);
  *out = k > MAX_HISTORY || k < 1 ? MAX_HISTORY + 1 : (int32_t)k;
  p->t++;
  return true;
}

bool parse_begins_declaration(const Token *t) {
  static const char *const starts[] = {"param", "const", "grid",   "region", "field", "stencil",
                                       "init",  "op",    "struct", "fn",     "until", "reduce"};
  if (t->kind != TOK_NAME || !t->first)
    return false;
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (!strcmp(t->text, starts[i]))
      return true;
  return false;
}

void parse_skip(Parse *p) {
  int depth = 0;
  for (; !parse_is(p, TOK_EOF) && !parse_begins_declaration(p->t); p->t++) {
    if (parse_is(p, TOK_LBRACE) || parse_is(p, TOK_LPAREN) || parse_is(p, TOK_LBRACKET))
      depth++;
    else if (depth && (parse_is(p, TOK_RBRACE) || parse_is(p, TOK_RPAREN) || parse_is(p, TOK_RBRACKET)))
      depth--;
    else if (parse_is(p, TOK_RBRACE))
      return;
    else if (!depth && parse_accept(p, TOK_SEMI))
      return;
  }
}

bool parse_every(Parse *p, Decl *d) {
  if (parse_is_word(p, "where")) {
    diag_error(p->d, p->t->loc,
               "only stencils have 'where'; in a reduction the mask chooses: sum(if wet then u else 0)");
    return false;
  }
  if (!parse_is_word(p, "every")) {
    parse_error(p, "'every' and the number of steps from one evaluation to the next");
    return false;
  }
  p->t++;
  return (d->every = parse_expr(p)) != NULL;
}

void parse_skip_braces(Parse *p) {
  int depth = 0;
  do {
    depth += parse_is(p, TOK_LBRACE) - parse_is(p, TOK_RBRACE);
    p->t++;
  } while (depth && !parse_is(p, TOK_EOF));
}

/* "(NAME, ...)" into d->names; fresh: new names, perhaps none; else names of fields. */
bool parse_names(Parse *p, Decl *d, const char *what, bool fresh) {
  if (!parse_expect(p, TOK_LPAREN, "'('"))
    return false;
  if (fresh && parse_accept(p, TOK_RPAREN))
    return true;
  do {
    Name name;
    if (!parse_new_name(p, what, &name) || (!fresh && !parse_target_level(p, &name.level)))
      return false;
    ARENA_PUSH(p->arena, d->names, d->nnames, name);
  } while (parse_accept(p, TOK_COMMA));
  return parse_expect(p, TOK_RPAREN, "',' or ')'");
}

bool parse_targets(Parse *p, Decl *d) { return parse_names(p, d, "a target field's name", false); }
