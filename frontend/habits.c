/* frontend/habits.c: constructs of Python and C that users write by habit, and what to write instead. */
#include "frontend/ast.h"

#include <string.h>

/* What to write instead of an undeclared name. */
typedef struct Foreign {
  const char *name, *instead;
} Foreign;

/* The entry of a table of `n` rows for a name; NULL: none. */
static const char *instead_of(const Foreign *table, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(name, table[i].name))
      return table[i].instead;
  return NULL;
}

const char *habit_of_name(const char *name) {
  static const Foreign table[] = {
      {"t", "the number of the step is 'step', the time 'real(step) * dt'"},
      {"time", "the number of the step is 'step', the time 'real(step) * dt'"},
      {"where", "a choice is written 'if c then a else b', or 'select(c, a, b)'"},
      {"pi", "declare it: 'const pi = 3.14159265358979324;'"},
      {"PI", "declare it: 'const PI = 3.14159265358979324;'"},
      {"roll", "a neighbour is 'u[-1,0]', and a field 'outside periodic' goes around"},
      {"arange", "a point's coordinate in dimension d is 'idx(d)', its place 'coord(d)'"},
      {"linspace", "a point's coordinate in dimension d is 'idx(d)', its place 'coord(d)'"},
      {"mean", "a mean is 'reduce total = sum(u) over G every 100;' over the number of points"},
      {"laplacian", "write 'diff(u, 0, 2) + diff(u, 1, 2)', or an op of neighbours"},
      {"laplace", "write 'diff(u, 0, 2) + diff(u, 1, 2)', or an op of neighbours"},
      {"arctan", "the function is 'atan'"},
      {"arctan2", "the function is 'atan2'"},
      {"arcsin", "the function is 'asin'"},
      {"arccos", "the function is 'acos'"},
      {"power", "a power is written 'pow(x, y)'"},
      {"fabs", "the function is 'abs'"},
      {"maximum", "the function is 'max'"},
      {"minimum", "the function is 'min'"},
  };
  return instead_of(table, sizeof table / sizeof *table, name);
}

const char *habit_of_rule(const char *name) {
  static const Foreign table[] = {
      {"neumann", "no flux is 'clamp'"},
      {"edge", "the nearest point's value is 'clamp'"},
      {"nearest", "the nearest point's value is 'clamp'"},
      {"wrap", "the other end's values are 'periodic'"},
      {"reflect", "a mirror image about the last point is 'mirror'"},
      {"symmetric", "a mirror image with the last point twice is 'mirror half'"},
      {"dirichlet", "a fixed value is written as it is, '0'"},
      {"constant", "a fixed value is written as it is, '0'"},
      {"zero", "a fixed value is written as it is, '0'"},
  };
  return instead_of(table, sizeof table / sizeof *table, name);
}

/* Does `expected` begin with that word? */
static bool wants(const char *expected, const char *word) { return !strncmp(expected, word, strlen(word)); }

const char *habit_at(const Token *t, const char *expected) {
  if (t->kind == TOK_NAME && !strcmp(t->text, "and"))
    return "logic is written '&&'";
  if (t->kind == TOK_NAME && !strcmp(t->text, "or"))
    return "logic is written '||'";
  if (t->kind == TOK_NAME && !strcmp(t->text, "if") && wants(expected, "'"))
    return "a choice is written 'if c then a else b'";
  if (t->kind == TOK_COLON && wants(expected, "'..'"))
    return "a range is written 'lo .. hi', with both ends";
  if ((t->kind == TOK_ASSIGN && wants(expected, "an expression")) ||
      ((t->kind == TOK_PLUS || t->kind == TOK_MINUS) && wants(expected, "'=' or '{'")))
    return "a new value is written out: 'u = u + ...'";
  /* These end what has begun with a word and something behind it, so that there are two tokens before this one. */
  if (t->kind == TOK_LPAREN && (wants(expected, "';'") || wants(expected, "',' or ')'")) && t[-1].kind == TOK_NAME &&
      t[-2].kind == TOK_DOT)
    return "functions belong to no module: 'sin(u)'";
  return NULL;
}
