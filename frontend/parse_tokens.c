/* frontend/parse_tokens.c: tests, takes and reports the next token. The lowest layer of the parser. */
#include "frontend/ast.h"

#include <string.h>

bool parse_is(const Parse *p, Tok kind) { return p->t->kind == kind; }

bool parse_is_word(const Parse *p, const char *word) { return p->t->kind == TOK_NAME && !strcmp(p->t->text, word); }

bool parse_take_word(Parse *p, const char *word, const char *expected) {
  bool is = parse_is_word(p, word);
  if (!is)
    parse_error(p, expected);
  p->t += is;
  return is;
}

bool parse_accept(Parse *p, Tok kind) {
  if (!parse_is(p, kind))
    return false;
  p->t++;
  return true;
}

void parse_error(Parse *p, const char *expected) {
  const Token *t = p->t;
  const char *instead = habit_at(t, expected);
  if (t->kind == TOK_EOF)
    diag_error(p->d, t->loc, "expected %s, found the end of the file", expected);
  else if (instead)
    diag_error(p->d, t->loc, "expected %s, found '%.60s'; %s", expected, t->text, instead);
  else
    diag_error(p->d, t->loc, "expected %s, found '%.60s'", expected, t->text);
}

bool parse_expect(Parse *p, Tok kind, const char *what) {
  if (parse_accept(p, kind))
    return true;
  parse_error(p, what);
  return false;
}

bool parse_enter(Parse *p) {
  if (p->nesting < MAX_NESTING) {
    p->nesting++;
    return true;
  }
  diag_error(p->d, p->t->loc, "this nests more than %d levels deep; split it with let", MAX_NESTING);
  return false;
}
