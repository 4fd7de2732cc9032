/* frontend/parse.c: parses tokens to declarations, and continues after errors. */
#include "frontend/check/absorb.h"
#include "frontend/fields.h"
#include "frontend/levels.h"
#include "frontend/sweep.h"
#include "frontend/ensemble.h"

#include <stdlib.h>
#include <string.h>

/* [EXTENT] : TYPE of a launch-time array, after its name. */
static bool array(Parse *p, Decl *d) {
  p->t++;
  if (!parse_lengths(p, d) || !parse_expect(p, TOK_COLON, "':' and the type of the array's elements") ||
      !(d->type = parse_type(p)))
    return false;
  if (parse_is(p, TOK_ASSIGN)) {
    diag_error(
        p->d, p->t->loc,
        diags_speaks_of_options(p->d)
            ? "a launch-time array has no default; it is given when the program runs, with --in %s=FILE (a const "
              "has its values here)"
            : "a launch-time array has no default; it is set for each plan, %s with stc_plan_set_array (a const "
              "has its values here)",
        d->name);
    return false;
  }
  d->kind = DECL_ARRAY;
  return true;
}

/* param NAME [: TYPE] [= EXPR], or param NAME[EXTENT] : TYPE, after the word. */
static bool param(Parse *p) {
  Decl *d = parse_named(p, "a param's name");
  if (!d)
    return false;
  if (parse_is(p, TOK_LBRACKET))
    return array(p, d);
  if (!parse_optional_type(p, &d->type) || (parse_is(p, TOK_ASSIGN) && !(d->value = parse_initializer(p))))
    return false;
  d->kind = DECL_PARAM;
  return true;
}

/* "{a, b, c}" of a table; in a table of two indices each value is a row {a, b}. */
static bool table_values(Parse *p, Decl *d) {
  if (!parse_expect(p, TOK_ASSIGN, "'='") || !parse_expect(p, TOK_LBRACE, "'{' before the table's values"))
    return false;
  do {
    Expr *e = parse_expr(p);
    if (!e)
      return false;
    ARENA_PUSH(p->arena, d->values, d->nvalues, e);
  } while (parse_accept(p, TOK_COMMA) && !parse_is(p, TOK_RBRACE));
  return parse_expect(p, TOK_RBRACE, "',' or '}'");
}

/* const NAME [: TYPE] = EXPR, or const NAME[n] [: TYPE] = {EXPR, ...}, after the word. */
static bool constant(Parse *p) {
  Decl *d = parse_named(p, "a constant's name");
  if (!d)
    return false;
  bool table = parse_accept(p, TOK_LBRACKET);
  if (table && !parse_lengths(p, d))
    return false;
  if (!parse_optional_type(p, &d->type))
    return false;
  if (table ? !table_values(p, d) : !(d->value = parse_initializer(p)))
    return false;
  d->kind = table ? DECL_TABLE : DECL_CONST;
  return true;
}

/* let NAME [: TYPE] = EXPR after the word. */
static bool top_let(Parse *p) {
  Decl *d = parse_named(p, "a name");
  if (!d)
    return false;
  if (!parse_optional_type(p, &d->type) || !(d->value = parse_initializer(p)))
    return false;
  d->kind = DECL_LET;
  return true;
}

/* Declarations separated by commas, up to the semicolon; `one` parses each. */
static bool declarations(Parse *p, bool (*one)(Parse *)) {
  p->t++;
  do
    if (!one(p))
      return false;
  while (parse_accept(p, TOK_COMMA));
  return parse_end(p, false);
}

bool parse_typed_names(Parse *p, Decl *d, const char *name, const char *colon) {
  int first = d->nmembers;
  do {
    MemberDecl m = {0};
    if (!parse_new_name(p, name, &m.name))
      return false;
    ARENA_PUSH(p->arena, d->members, d->nmembers, m);
  } while (parse_accept(p, TOK_COMMA));
  const TypeExpr *type = parse_expect(p, TOK_COLON, colon) ? parse_type(p) : NULL;
  for (int i = first; i < d->nmembers; i++)
    d->members[i].type = type;
  return type;
}

/* struct NAME { members; ... } after the word. */
static bool structure(Parse *p) {
  Decl *d = parse_named(p, "the struct's name");
  if (!d)
    return false;
  if (!parse_expect(p, TOK_LBRACE, "'{' and the members"))
    return false;
  do
    if (!parse_typed_names(p, d, "a member's name", "',' or ':' and the members' type"))
      return false;
  while (parse_accept(p, TOK_SEMI) && !parse_is(p, TOK_RBRACE));
  if (!parse_expect(p, TOK_RBRACE, "';' or '}'"))
    return false;
  d->kind = DECL_STRUCT;
  parse_accept(p, TOK_SEMI);
  return true;
}

/* The paper's notation [lo, hi] for one dimension, in place of [lo .. hi]. */
static bool paper_bounds(Parse *p, RegionExpr *r) {
  bool dots = true;
  for (int i = 0; i < r->n; i++)
    dots = dots && r->ranges[i].hi;
  if (dots)
    return true;
  if (r->n != 2 || r->ranges[0].hi || r->ranges[1].hi) {
    diag_error(p->d, r->loc, "write the bounds of each dimension as lo .. hi");
    return false;
  }
  r->ranges[0].hi = r->ranges[1].lo;
  r->n = 1;
  return true;
}

/* One spacing: EXPR, or `at` and the name of an array. */
static Expr *space(Parse *p) {
  return parse_is_word(p, "at") && p->t[1].kind == TOK_NAME ? parse_named_expr(p) : parse_expr(p);
}

/* [spacing [EXPR, at NAME, ...]] [step EXPR] of a grid. In the paper's notation (`paper`) it must not begin a new line,
 * because the end of a line ends the declaration. */
static bool metric(Parse *p, Decl *d, bool paper) {
  if (paper && p->t->first)
    return true;
  if (parse_is_word(p, "spacing")) {
    p->t++;
    if (!parse_in_brackets(p, d, "'[' and the distance of two points in each dimension", space))
      return false;
  }
  if (!parse_is_word(p, "step") || (paper && p->t->first))
    return true;
  p->t++;
  return (d->right = parse_expr(p)) != NULL;
}

/* [grid] NAME = [bounds], STEPS [spacing [...]] [step EXPR], from the name on. */
static bool grid(Parse *p, bool paper) {
  Decl *d = parse_named(p, "the grid's name");
  if (!d)
    return false;
  if (!parse_expect(p, TOK_ASSIGN, "'='") || !(d->region = parse_region(p)))
    return false;
  if (!parse_expect(p, TOK_COMMA, "',' and the number of time steps") || !(d->value = parse_expr(p)))
    return false;
  if ((paper && !paper_bounds(p, d->region)) || !metric(p, d, paper))
    return false;
  d->kind = DECL_GRID;
  return parse_end(p, paper);
}

/* region NAME = [bounds]; after the word. */
static bool region(Parse *p) {
  Decl *d = parse_named(p, "the region's name");
  if (!d)
    return false;
  if (!parse_expect(p, TOK_ASSIGN, "'='") || !(d->region = parse_region(p)))
    return false;
  d->kind = DECL_REGION;
  return parse_end(p, false);
}

/* If the next token is `word`, takes it and returns true. */
static bool accept_word(Parse *p, const char *word) {
  bool is = parse_is_word(p, word);
  p->t += is;
  return is;
}

/* The outside rule of one side, or of all sides; `after` is the token before it, for messages. */
static bool side(Parse *p, SideDecl *s, const char *after) {
  *s = (SideDecl){.rule = OUTSIDE_CONST, .loc = p->t->loc};
  for (int i = 0; outside_word(i) && s->rule == OUTSIDE_CONST; i++)
    if (accept_word(p, outside_word(i)))
      s->rule = outside_find(outside_word(i));
  if (parse_is(p, TOK_SEMI) && s->rule == OUTSIDE_CONST) {
    parse_error(p, arena_printf(p->arena, "%s or a constant after %s", outside_words(p->arena, ", "), after));
    return false;
  }
  if (s->rule == OUTSIDE_CONST)
    return (s->value = parse_expr(p)) != NULL;
  if (s->rule != OUTSIDE_MIRROR)
    return true;
  s->rule = accept_word(p, "half") ? OUTSIDE_HALF : OUTSIDE_MIRROR;
  s->odd = accept_word(p, "odd");
  return !s->odd || !accept_word(p, "about") || (s->value = parse_expr(p)) != NULL;
}

/* outside RULE, or [RULE .. RULE, ...], after the word. */
static bool outside(Parse *p, Decl *d) {
  SideDecl s;
  if (!parse_accept(p, TOK_LBRACKET)) {
    if (!side(p, &s, "'outside'"))
      return false;
    ARENA_PUSH(p->arena, d->sides, d->nsides, s);
    return true;
  }
  do {
    const Token *first = p->t;
    if (parse_accept_star(p))
      s = (SideDecl){.rule = OUTSIDE_ALL, .loc = first->loc};
    else if (!side(p, &s, "'['"))
      return false;
    ARENA_PUSH(p->arena, d->sides, d->nsides, s);
    if (parse_accept(p, TOK_DOTS) && !side(p, &s, "'..'"))
      return false;
    ARENA_PUSH(p->arena, d->sides, d->nsides, s);
  } while (parse_accept(p, TOK_COMMA));
  return parse_expect(p, TOK_RBRACKET, "']' after the rules of all dimensions");
}

/* One attribute of a field; its keyword is the next token. False after reporting. */
static bool attribute(Parse *p, Decl *d) {
  const Token *t = p->t++;
  bool is_on = !strcmp(t->text, "on"), is_outside = !strcmp(t->text, "outside"), is_input = !strcmp(t->text, "input"),
       is_temp = !strcmp(t->text, "temp"), is_shared = !strcmp(t->text, "shared");
  bool is_history = !strcmp(t->text, "history"), is_where = !strcmp(t->text, "where"),
       is_frames = !strcmp(t->text, "frames");
  if ((is_on && (d->region || d->on.s)) || (is_outside && d->nsides) || (is_input && d->input) ||
      (is_temp && d->temp) || (is_shared && d->shared) || (is_history && d->history) || (is_where && d->dry) ||
      (is_frames && d->frames)) {
    diag_error(p->d, t->loc, "'%s' is given twice", t->text);
    return false;
  }
  d->input |= is_input;
  d->temp |= is_temp;
  d->shared |= is_shared;
  if (is_on || is_outside)
    return is_on ? parse_region_of(p, d, "'on'") : outside(p, d);
  if (is_history)
    return (d->history = parse_expr(p)) != NULL;
  if (is_where)
    return (d->dry = parse_dry(p)) != NULL;
  if (is_frames)
    return (d->frames = parse_frames(p, t->loc)) != NULL;
  if (!is_input && !is_temp && !is_shared)
    diag_error(p->d, t->loc,
               "'%s' is no attribute of a field; there are on, outside, where, input, temp, history, frames and shared",
               t->text);
  return is_input || is_temp || is_shared;
}

/* [field] NAME, ... : TYPE attributes, from the first name on. */
static bool field(Parse *p, bool paper) {
  int first = p->ndecls;
  Decl common = {0};
  do {
    Name name;
    if (!parse_new_name(p, "a field's name", &name))
      return false;
    parse_declare(p, name);
  } while (parse_accept(p, TOK_COMMA));
  if (!parse_expect(p, TOK_COLON, "':' and the field's type") || !(common.type = parse_type(p)))
    return false;
  while (parse_is(p, TOK_NAME) && !is_keyword(p->t->text) && !(paper && p->t->first))
    if (!attribute(p, &common))
      return false;
  for (int i = first; i < p->ndecls; i++) {
    Decl *d = p->decls[i];
    common.name = d->name;
    common.loc = d->loc;
    *d = common;
    d->kind = DECL_FIELD;
  }
  return parse_end(p, paper);
}

/* op NAME(PARAMS) = EXPR; after the word. */
static bool op(Parse *p) {
  Name name;
  if (!parse_new_name(p, "the macro's name", &name))
    return false;
  Decl *d = parse_declare(p, name);
  if (!parse_names(p, d, "a parameter's name", true) || !(d->value = parse_initializer(p)))
    return false;
  d->kind = DECL_OP;
  return parse_end(p, false);
}

/* [REGION] = EXPR; or [REGION] { ... }: adds a piece to `d`. only: it is the only piece, and `every K` may follow its
 * region. */
static bool piece(Parse *p, Decl *d, bool only, bool paper) {
  PieceDecl x = {.loc = p->t->loc};
  bool ok = (x.region = parse_region(p)) != NULL && parse_absorbed(p, &x);
  if (ok && parse_is_word(p, "every") && !only) {
    diag_error(p->d, p->t->loc, "all pieces of a stencil run in the same steps; write 'every' before its first brace");
    return false;
  }
  ok = ok && (!parse_is_word(p, "every") || parse_every(p, d));
  if (ok && parse_accept(p, TOK_LBRACE)) {
    x.is_block = true;
    ok = parse_block(p, &x.n, &x.stmts) && parse_no_return(p, x.n, x.stmts);
    parse_accept(p, TOK_SEMI);
  } else if (ok) {
    Stmt s = {.kind = STMT_ASSIGN, .loc = p->t->loc};
    ok = parse_expect(p, TOK_ASSIGN, "'=' or '{'") && (s.value = parse_expr(p)) && parse_end(p, paper);
    if (ok)
      ARENA_PUSH(p->arena, x.stmts, x.n, s);
  }
  if (x.region)
    ARENA_PUSH(p->arena, d->pieces, d->npieces, x);
  return ok;
}

/* The pieces of a stencil up to its closing brace, after the opening brace. */
static bool pieces(Parse *p, Decl *d) {
  while (!parse_at_block_end(p)) {
    p->nesting = 0;
    if (!parse_is(p, TOK_LBRACKET)) {
      parse_error(p, "a piece '[REGION] = ...' (a stencil whose region stands inside its braces), or '}'");
      return false;
    }
    if (!piece(p, d, false, false)) {
      d->kind = DECL_BAD;
      parse_skip(p);
    }
  }
  return parse_expect(p, TOK_RBRACE, "'}'");
}

/* [stencil | init] NAME(TARGETS)[REGION] = EXPR; and the forms with braces, from the name on. */
static bool stencil(Parse *p, DeclKind kind, bool paper) {
  Decl *d = parse_named(p, kind == DECL_INIT ? "the init's name" : "the stencil's name");
  if (!d)
    return false;
  if (!parse_targets(p, d))
    return false;
  d->kind = kind;
  bool ok;
  if (parse_is(p, TOK_LBRACKET)) {
    ok = piece(p, d, true, paper);
  } else {
    ok = (!parse_is_word(p, "every") || parse_every(p, d)) &&
         parse_expect(p, TOK_LBRACE, "a region '[lo .. hi, ...]', or '{' and pieces") && pieces(p, d);
    parse_accept(p, TOK_SEMI);
  }
  if (!ok)
    d->kind = DECL_BAD;
  return ok;
}

/* A declaration without keyword, in the paper's notation, from its name on; reports anything else. */
static bool paper_declaration(Parse *p) {
  bool named = parse_is(p, TOK_NAME) && !is_keyword(p->t->text);
  Tok next = named ? p->t[1].kind : TOK_EOF;
  if (next == TOK_ASSIGN)
    return grid(p, true);
  if (next == TOK_COLON || next == TOK_COMMA)
    return field(p, true);
  if (next == TOK_LPAREN)
    return stencil(p, DECL_STENCIL, true);
  const char *near = named ? symbols_nearest(NULL, NULL, p->t->text, NULL) : NULL;
  if (near && is_keyword(near))
    diag_error(p->d, p->t->loc, "expected a declaration, found '%.60s'; did you mean '%s'?", p->t->text, near);
  else
    parse_error(p, "a declaration (param, const, let, struct, grid, region, field, op, fn, stencil, init, sweep, "
                   "inject, mask, reduce, probe, scalar, update, repeat, levels, each, absorb, until, members, loss or "
                   "gradient)");
  return false;
}

/* An include, after its word. */
static bool include(Parse *p) {
  p->t++;
  bool semi = parse_accept(p, TOK_STRING);
  if (semi && p->raw && parse_accept(p, TOK_SEMI))
    return true;
  if (semi && parse_is(p, TOK_SEMI))
    diag_error(p->d, p->t[-2].loc, "an include stands where a declaration may, behind the end of another one");
  else
    parse_error(p, semi ? "';' behind the file's name" : "a file's name in quotes, include \"FILE.stn\";");
  return false;
}

/* A declaration that begins with a reserved word, which no name can be. Sets *known to whether the next token is such a
 * word. */
static bool reserved_declaration(Parse *p, bool *known) {
  static const struct {
    const char *word;
    int kind;
  } words[] = {{"struct", DECL_STRUCT},   {"grid", DECL_GRID}, {"region", DECL_REGION},
               {"field", DECL_FIELD},     {"op", DECL_OP},     {"fn", DECL_FN},
               {"stencil", DECL_STENCIL}, {"init", DECL_INIT}, {"reduce", DECL_REDUCE}};
  int kind = DECL_BAD;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (parse_is_word(p, words[i].word))
      kind = words[i].kind;
  *known = kind != DECL_BAD;
  p->t += *known;
  switch (kind) {
  case DECL_STRUCT: return structure(p);
  case DECL_GRID: return grid(p, false);
  case DECL_REGION: return region(p);
  case DECL_FIELD: return field(p, false);
  case DECL_OP: return op(p);
  case DECL_FN: return parse_function(p);
  case DECL_REDUCE: return parse_reduce(p);
  case DECL_STENCIL:
  case DECL_INIT: return stencil(p, (DeclKind)kind, false);
  default: return false;
  }
}

/* A declaration that begins with a word that may also be a name and is a keyword only before a name. Sets *known to
 * whether such a declaration begins here. */
static bool named_declaration(Parse *p, bool *known) {
  static const struct {
    const char *word;
    bool (*parse)(Parse *p);
  } words[] = {{"probe", parse_probe},   {"inject", parse_inject}, {"absorb", parse_absorb},
               {"scalar", parse_scalar}, {"update", parse_update}, {"mask", parse_mask},
               {"sweep", parse_sweep},   {"repeat", parse_repeat}, {"levels", parse_levels}};
  *known = false;
  for (size_t i = 0; i < sizeof words / sizeof *words && parse_is(p, TOK_NAME) && p->t[1].kind == TOK_NAME; i++)
    if (parse_is_word(p, words[i].word)) {
      *known = true;
      p->t++;
      return words[i].parse(p);
    }
  return false;
}

bool parse_declaration(Parse *p) {
  if (parse_is_word(p, "param"))
    return declarations(p, param);
  if (parse_is_word(p, "const"))
    return declarations(p, constant);
  if (parse_is_word(p, "let"))
    return declarations(p, top_let);
  if (parse_is_word(p, "until"))
    return parse_until(p);
  if (parse_begins_gradient(p))
    return parse_gradient(p);
  Tok next = p->t[1].kind;
  if (parse_is_word(p, "members") && (next == TOK_NAME || next == TOK_INT || next == TOK_FLOAT))
    return p->t++, parse_members(p);
  bool known, ok = named_declaration(p, &known);
  if (!known)
    ok = reserved_declaration(p, &known);
  if (known)
    return ok;
  if (parse_is_word(p, "include") && next != TOK_ASSIGN && next != TOK_COLON)
    return include(p);
  return paper_declaration(p);
}

void parse_program(Parse *p) {
  while (!parse_is(p, TOK_EOF) && diags_errors(p->d) < MAX_ERRORS) {
    const Token *before = p->t;
    p->nesting = 0;
    p->ndone = p->ndecls;
    if (parse_accept(p, TOK_SEMI))
      continue;
    if (!parse_declaration(p)) {
      parse_skip(p);
      while (parse_accept(p, TOK_RBRACE))
        ;
    }
    p->t += p->t == before && !parse_is(p, TOK_EOF);
  }
}
