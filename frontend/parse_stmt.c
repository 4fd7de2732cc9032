/* frontend/parse_stmt.c: parses the statements of blocks, and continues after errors; parses functions. */
#include "frontend/ast.h"

#include <string.h>

/* Is p at the end of a block, or at a token after which statements cannot continue? */
bool parse_at_block_end(const Parse *p) {
  return parse_is(p, TOK_RBRACE) || parse_is(p, TOK_EOF) || parse_begins_declaration(p->t) ||
         diags_errors(p->d) >= MAX_ERRORS;
}

/* let or var NAME [: TYPE] [= EXPR]; the word is the next token. False after an error. */
static bool named_value(Parse *p, Stmt *s) {
  Name name;
  s->kind = parse_is_word(p, "var") ? STMT_VAR : STMT_LET;
  p->t++;
  if (!parse_new_name(p, "a name", &name))
    return false;
  s->name = name.s;
  s->loc = name.loc;
  if (!parse_optional_type(p, &s->type))
    return false;
  if (s->kind == STMT_VAR && s->type && !parse_is(p, TOK_ASSIGN))
    return parse_end(p, false);
  s->value = parse_initializer(p);
  return s->value && parse_end(p, false);
}

/* The components and members after the name that is assigned to. */
static bool path(Parse *p, Stmt *s) {
  while (parse_is(p, TOK_LBRACKET) || parse_is(p, TOK_DOT)) {
    PathStep at = {.loc = p->t->loc};
    if (p->t++->kind == TOK_LBRACKET) {
      if (!(at.index = parse_expr(p)) || !parse_expect(p, TOK_RBRACKET, "']'"))
        return false;
    } else if (parse_is(p, TOK_NAME)) {
      at.loc = p->t->loc;
      at.member = p->t++->text;
    } else {
      parse_error(p, "a member's name after '.'");
      return false;
    }
    ARENA_PUSH(p->arena, s->path, s->npath, at);
  }
  return true;
}

/* If p->t assigns to the name of `s` by an operator of C, as in A += 1 and A++, reports that and returns true. */
static bool is_compound(Parse *p, const Stmt *s) {
  bool sign = parse_is(p, TOK_PLUS) || parse_is(p, TOK_MINUS);
  bool factor = parse_is(p, TOK_STAR) || parse_is(p, TOK_SLASH) || parse_is(p, TOK_PERCENT);
  const char *op = p->t->text;
  if (sign && p->t[1].kind == p->t->kind)
    diag_error(p->d, p->t->loc, "there is no '%s%s'; write %s = %s %s 1", op, op, s->name, s->name, op);
  else if ((sign || factor) && p->t[1].kind == TOK_ASSIGN)
    diag_error(p->d, p->t->loc, "there is no '%s='; write %s = %s %s ...", op, s->name, s->name, op);
  else
    return false;
  return true;
}

/* NAME = EXPR; the name may have components and members after it. */
static bool assignment(Parse *p, Stmt *s) {
  Name name;
  s->kind = STMT_ASSIGN;
  if (!parse_new_name(p, "a statement (let, var, for, if, or the name of what is assigned) or '}'", &name))
    return false;
  s->name = name.s;
  s->loc = name.loc;
  return parse_target_level(p, &s->level) && path(p, s) && !is_compound(p, s) && (s->value = parse_initializer(p)) &&
         parse_end(p, false);
}

/* After an error in the head of a for or if: skips its block, or the rest of the statement. */
static void skip_body(Parse *p) {
  while (!parse_is(p, TOK_EOF) && !parse_is(p, TOK_SEMI) && !parse_is(p, TOK_LBRACE) && !parse_begins_declaration(p->t))
    p->t++;
  if (parse_is(p, TOK_LBRACE))
    parse_skip_braces(p);
  else
    parse_accept(p, TOK_SEMI);
}

static bool statement(Parse *p, Stmt *s);

/* Statements after an opening brace, up to the closing brace, which is taken. */
static bool nested(Parse *p, int32_t *n, Stmt **body) {
  int32_t nesting = p->nesting;
  bool ok = parse_enter(p);
  if (!ok) {
    p->t--;
    skip_body(p);
    return true;
  }
  ok = parse_block(p, n, body);
  p->nesting = nesting;
  return ok;
}

/* Is there a loop in C's form, for (i = 0; ...; ...), at p->t, after its parenthesis? Reports it and skips its head. */
static bool is_loop_of_c(Parse *p) {
  const Token *t = p->t, *name = t->kind == TOK_NAME && t[1].kind == TOK_NAME && strcmp(t[1].text, "in") ? t + 1 : t;
  if (name->kind != TOK_NAME || name[1].kind != TOK_ASSIGN)
    return false;
  diag_error(p->d, t->loc,
             "a loop is written for (%s in 0 .. 3) { ... }, with constants and both ends included; over the points of "
             "its region a stencil runs by itself",
             name->text);
  for (int depth = 1; depth && !parse_is(p, TOK_EOF) && !parse_is(p, TOK_LBRACE); p->t++)
    depth += parse_is(p, TOK_LPAREN) - parse_is(p, TOK_RPAREN);
  return true;
}

/* for (NAME in LO .. HI) { ... }; the word is the next token. */
static bool loop(Parse *p, Stmt *s) {
  Name name;
  s->kind = STMT_FOR;
  p->t++;
  bool ok = parse_expect(p, TOK_LPAREN, "'(' as in 'for (i in 0 .. 2) { ... }'") && !is_loop_of_c(p) &&
            parse_new_name(p, "the index's name", &name);
  if (ok && !parse_is_word(p, "in")) {
    parse_error(p, "'in' as in 'for (i in 0 .. 2) { ... }'");
    ok = false;
  }
  p->t += ok;
  ok = ok && (s->lo = parse_expr(p)) && parse_expect(p, TOK_DOTS, "'..' and the last value") &&
       (s->hi = parse_expr(p)) && parse_expect(p, TOK_RPAREN, "')'") && parse_expect(p, TOK_LBRACE, "'{'");
  if (!ok) {
    s->kind = STMT_BAD;
    skip_body(p);
    return true;
  }
  s->name = name.s;
  s->loc = name.loc;
  return nested(p, &s->n, &s->body);
}

/* if CONDITION { ... } [else { ... } | else if ...]; the word is the next token. */
static bool choice(Parse *p, Stmt *s) {
  s->kind = STMT_IF;
  s->loc = p->t++->loc;
  if (!(s->value = parse_expr(p)) || !parse_expect(p, TOK_LBRACE, "'{' (the branches of an if statement are blocks)")) {
    s->kind = STMT_BAD;
    skip_body(p);
    return true;
  }
  if (!nested(p, &s->n, &s->body))
    return false;
  if (!parse_is_word(p, "else"))
    return true;
  p->t++;
  if (parse_accept(p, TOK_LBRACE))
    return nested(p, &s->nother, &s->other);
  if (!parse_is_word(p, "if")) {
    parse_error(p, "'{' or 'if' after 'else'");
    return false;
  }
  Stmt inner = {0};
  if (!parse_enter(p))
    return false;
  bool ok = statement(p, &inner);
  p->nesting--;
  if (ok)
    ARENA_PUSH(p->arena, s->other, s->nother, inner);
  return ok;
}

/* return EXPR; at the end of a function. */
static bool result(Parse *p, Stmt *s) {
  s->kind = STMT_RETURN;
  s->loc = p->t++->loc;
  return (s->value = parse_expr(p)) && parse_end(p, false);
}

/* Parses a statement into *s. False after an error if the rest of the statement has not been read. */
static bool statement(Parse *p, Stmt *s) {
  if (parse_is_word(p, "include") && p->t[1].kind == TOK_STRING) {
    diag_error(p->d, p->t->loc, "an include stands where a declaration may, in no block");
    return false;
  }
  if (parse_is_word(p, "let") || parse_is_word(p, "var"))
    return named_value(p, s);
  if (parse_is_word(p, "for"))
    return loop(p, s);
  if (parse_is_word(p, "if"))
    return choice(p, s);
  return parse_is_word(p, "return") ? result(p, s) : assignment(p, s);
}

/* Takes the closing brace of a block. Reports a missing brace once, not again for each block around. */
static bool close_block(Parse *p) {
  if (p->t == p->unclosed)
    return false;
  if (!parse_is(p, TOK_RBRACE))
    p->unclosed = p->t;
  return parse_expect(p, TOK_RBRACE, "'}'");
}

bool parse_block(Parse *p, int32_t *n, Stmt **body) {
  while (!parse_at_block_end(p)) {
    Stmt s = {0};
    const Token *before = p->t;
    int32_t nesting = p->nesting;
    if (!statement(p, &s)) {
      s.value = NULL;
      s.kind = s.name && (s.kind == STMT_LET || s.kind == STMT_VAR || s.kind == STMT_ASSIGN) ? s.kind : STMT_BAD;
      s.failed = true;
      parse_skip(p);
      p->t += p->t == before && !parse_at_block_end(p);
    }
    p->nesting = nesting;
    if (s.kind != STMT_BAD)
      ARENA_PUSH(p->arena, *body, *n, s);
  }
  return close_block(p);
}

bool parse_no_return(Parse *p, int32_t n, const Stmt *s) {
  for (int i = 0; i < n; i++) {
    if (s[i].kind == STMT_RETURN) {
      diag_error(p->d, s[i].loc,
                 "'return' stands once, at the end of a function's block; give a var its value where this is, and "
                 "return that");
      return false;
    }
    if (!parse_no_return(p, s[i].n, s[i].body) || !parse_no_return(p, s[i].nother, s[i].other))
      return false;
  }
  return true;
}

/* NAME, ... : TYPE { , NAME, ... : TYPE } ) of function `d`, after the opening parenthesis. */
static bool parameters(Parse *p, Decl *d) {
  if (parse_accept(p, TOK_RPAREN))
    return true;
  do {
    if (!parse_typed_names(p, d, "a parameter's name", "',' or ':' and the parameter's type"))
      return false;
  } while (parse_accept(p, TOK_COMMA));
  return parse_expect(p, TOK_RPAREN, "',' or ')'");
}

/* { STATEMENTS return EXPR; } of function `d`, after the opening brace. */
static void body(Parse *p, Decl *d) {
  int before = diags_errors(p->d);
  Loc at = p->t[-1].loc;
  bool ok = parse_block(p, &d->nstmts, &d->stmts);
  parse_accept(p, TOK_SEMI);
  if (!ok || diags_errors(p->d) != before)
    return;
  if (!d->nstmts || d->stmts[d->nstmts - 1].kind != STMT_RETURN) {
    diag_error(p->d, at, "the block of function '%s' must end with 'return' and its value", d->name);
  } else if (parse_no_return(p, d->nstmts - 1, d->stmts)) {
    d->value = d->stmts[--d->nstmts].value;
    d->kind = DECL_FN;
  }
}

bool parse_function(Parse *p) {
  Decl *d = parse_named(p, "the function's name");
  if (!d)
    return false;
  if (!parse_expect(p, TOK_LPAREN, "'('") || !parameters(p, d))
    return false;
  if (!parse_expect(p, TOK_COLON, "':' and the type of the result") || !(d->type = parse_type(p)))
    return false;
  if (parse_accept(p, TOK_LBRACE)) {
    body(p, d);
    return true;
  }
  if (!parse_expect(p, TOK_ASSIGN, "'=' and the result, or a block") || !(d->value = parse_expr(p)))
    return false;
  d->kind = DECL_FN;
  return parse_end(p, false);
}
