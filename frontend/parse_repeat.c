/* frontend/parse_repeat.c: parses repeats: the repeated declarations in braces stand in the list between one
 * declaration that opens and one that closes the repeat. */
#include "frontend/ast.h"

/* The greatest depth of nested repeats. */
enum { MAX_REPEATS = 3 };

/* After an error in a head, skips the tokens before the opening brace; false if the next declaration comes before a
 * brace. */
static bool skip_head(Parse *p) {
  while (!parse_is(p, TOK_LBRACE) && !parse_is(p, TOK_SEMI) && !parse_is(p, TOK_EOF) && !parse_begins_declaration(p->t))
    p->t++;
  return parse_accept(p, TOK_LBRACE);
}

/* "up to EXPR {", which begins the repeat `d`. */
static bool head(Parse *p, Decl *d) {
  if (!parse_is_word(p, "up") || p->t[1].kind != TOK_NAME) {
    parse_error(p, "'up to' and the largest number of rounds, as in: repeat pressure up to 100 { ... }");
    return false;
  }
  p->t++;
  if (!parse_is_word(p, "to")) {
    parse_error(p, "'to' and the largest number of rounds");
    return false;
  }
  p->t++;
  return (d->value = parse_expr(p)) != NULL && parse_expect(p, TOK_LBRACE, "'{' and what is repeated");
}

/* The declarations up to the closing brace, without taking that. */
static void body(Parse *p) {
  while (!parse_is(p, TOK_RBRACE) && !parse_is(p, TOK_EOF) && diags_errors(p->d) < MAX_ERRORS) {
    const Token *before = p->t;
    p->nesting = 0;
    p->ndone = p->ndecls;
    if (parse_accept(p, TOK_SEMI))
      continue;
    if (!parse_declaration(p))
      parse_skip(p);
    p->t += p->t == before && !parse_is(p, TOK_EOF) && !parse_is(p, TOK_RBRACE);
  }
}

bool parse_repeat(Parse *p) {
  Name name;
  if (!parse_new_name(p, "the repeat's name", &name))
    return false;
  Decl *d = parse_declare(p, name);
  bool deep = p->repeats >= MAX_REPEATS, ok = head(p, d);
  if (deep)
    diag_error(p->d, name.loc, "repeats nest at most %d deep; write the rounds of one of them out", MAX_REPEATS);
  if (!ok && !skip_head(p))
    return false;
  d->kind = DECL_REPEAT;
  p->repeats++;
  body(p);
  p->repeats--;
  Decl *end = parse_declare(p, (Name){name.s, p->t->loc, 0});
  end->kind = DECL_CLOSE;
  ok = parse_expect(p, TOK_RBRACE, "a stencil, update, reduce, until or repeat, or '}'");
  parse_accept(p, TOK_SEMI);
  return ok;
}
