/* frontend/parse_levels.c: parses the levels of the grid. */
#include "frontend/levels.h"

bool parse_levels(Parse *p) {
  Name name;
  if (!parse_new_name(p, "the levels' name", &name))
    return false;
  Decl *d = parse_declare(p, name);
  if (!parse_expect(p, TOK_ASSIGN, "'='") || !(d->value = parse_expr(p)) ||
      !parse_expect(p, TOK_DOTS, "'..' and the number of the last level") || !(d->right = parse_expr(p)))
    return false;
  if (!parse_is_word(p, "of") || p->t[1].kind != TOK_NAME) {
    parse_error(p, "'of' and the grid's name");
    return false;
  }
  p->t++;
  d->on = (Name){p->t->text, p->t->loc, 0};
  p->t++;
  d->kind = DECL_LEVELS;
  return parse_end(p, false);
}
