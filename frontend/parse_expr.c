/* frontend/parse_expr.c: parses tokens to expressions, by recursive descent with C's precedences. */
#include "frontend/ast.h"

#include <string.h>

Expr *expr_new(Parse *p, ExprKind kind, Loc loc, int n, Expr *const *kids) {
  Expr *e = ARENA_NEW(p->arena, Expr);
  *e = (Expr){.kind = kind, .loc = loc, .height = 1, .n = n, .kids = ARENA_ARRAY(p->arena, Expr *, n)};
  for (int i = 0; i < n; i++) {
    if (!kids[i])
      return NULL;
    e->kids[i] = kids[i];
    if (e->height <= kids[i]->height)
      e->height = kids[i]->height + 1;
  }
  if (e->height <= MAX_HEIGHT)
    return e;
  diag_error(p->d, loc, "this expression is more than %d levels deep; split it with let", MAX_HEIGHT);
  return NULL;
}

/* The precedence of + and - is below that of products. */
enum { PRODUCT = 10 };

/* Takes the next token; returns a leaf with its text. */
static Expr *leaf(Parse *p, ExprKind kind) {
  Expr *e = expr_new(p, kind, p->t->loc, 0, NULL);
  e->name = p->t->text;
  p->t++;
  return e;
}

/* An operation `op` on the `n` operands `kids`. */
static Expr *operation(Parse *p, Opcode op, Loc loc, int n, Expr *const *kids) {
  Expr *e = expr_new(p, EXPR_OP, loc, n, kids);
  if (e)
    e->op = op;
  return e;
}

/* Is the name declared before the current declaration? */
static bool is_declared(const Parse *p, const char *name) {
  for (int i = 0; i < p->ndone; i++)
    if (!strcmp(p->decls[i]->name, name))
      return true;
  return false;
}

Expr *parse_named_expr(Parse *p) {
  const Token *word = p->t++;
  Expr *value = parse_expr(p), *e = value ? expr_new(p, EXPR_NAMED, word->loc, 1, &value) : NULL;
  if (e)
    e->name = word->text;
  return e;
}

/* One argument of the call of `name`, after `before` (at least 1) others: EXPR. A call of diff, unless the program
 * declares a diff of its own, also has `order EXPR`, `at EXPR` and `side EXPR`, where an expression must follow the
 * word; a call of at also has `within EXPR`. */
static Expr *argument(Parse *p, const char *name, int before) {
  const Token *word = p->t;
  if (before && parse_is_word(p, "within") && !strcmp(name, "at") && !is_declared(p, name))
    return parse_within_argument(p);
  Tok next = word->kind == TOK_EOF ? TOK_EOF : p->t[1].kind;
  bool named = parse_is_word(p, "order") || parse_is_word(p, "at") || parse_is_word(p, "side");
  bool begins = next == TOK_INT || next == TOK_FLOAT || next == TOK_NAME || next == TOK_LPAREN ||
                (next == TOK_MINUS && !parse_is_word(p, "order"));
  if (!before || !named || !begins || strcmp(name, "diff") != 0 || is_declared(p, name))
    return parse_expr(p);
  return parse_named_expr(p);
}

/* Expressions separated by commas up to the token `close`, after the opening bracket, as a node of kind `kind` with the
 * name `name`. */
static Expr *list(Parse *p, ExprKind kind, const Token *name, Tok close, const char *expected) {
  Expr **kids = NULL;
  int n = 0;
  if (!parse_enter(p))
    return NULL;
  if (!parse_is(p, close)) {
    do {
      Expr *e = kind == EXPR_CALL ? argument(p, name->text, n) : parse_expr(p);
      if (!e)
        return NULL;
      ARENA_PUSH(p->arena, kids, n, e);
    } while (parse_accept(p, TOK_COMMA));
  }
  if (!parse_expect(p, close, expected))
    return NULL;
  p->nesting--;
  Expr *e = expr_new(p, kind, name->loc, n, kids);
  if (e)
    e->name = name->text;
  return e;
}

/* Is the call of `name` at p->t, after its opening bracket, a reduction over offsets, sum(r in ...)? */
static bool is_reduction(const Parse *p, const char *name) {
  if (!strcmp(name, "sum") || !strcmp(name, "prod"))
    return true;
  return (!strcmp(name, "min") || !strcmp(name, "max")) && parse_is(p, TOK_NAME) && p->t[1].kind == TOK_NAME &&
         !strcmp(p->t[1].text, "in");
}

static Expr *binary(Parse *p, int level);

/* sum(r in 1 .. 4) BODY, after the opening bracket; `name` is the token sum, prod, min or max. The body is a product:
 * `+` and `-` end it. */
static Expr *reduction(Parse *p, const Token *name) {
  static const struct {
    const char *name;
    Opcode op;
  } ops[] = {{"sum", OP_ADD}, {"prod", OP_MUL}, {"min", OP_MIN}, {"max", OP_MAX}};
  Expr *kids[4] = {NULL, NULL, NULL, NULL};
  if (!parse_enter(p))
    return NULL;
  if (!parse_is(p, TOK_NAME) || is_reserved(p->t->text) || p->t[1].kind != TOK_NAME || strcmp(p->t[1].text, "in")) {
    parse_error(p, arena_printf(p->arena, "a new name and its range, as in '%s(r in 1 .. 4) A[r]'", name->text));
    return NULL;
  }
  kids[0] = leaf(p, EXPR_NAME);
  p->t++;
  bool ok = (kids[1] = parse_expr(p)) && parse_expect(p, TOK_DOTS, "'..' and the last value") &&
            (kids[2] = parse_expr(p)) && parse_expect(p, TOK_RPAREN, "')'") && (kids[3] = binary(p, PRODUCT));
  if (!ok)
    return NULL;
  p->nesting--;
  Expr *e = expr_new(p, EXPR_REDUCE, name->loc, 4, kids);
  for (size_t i = 0; e && i < sizeof ops / sizeof *ops; i++)
    if (!strcmp(ops[i].name, name->text))
      e->op = ops[i].op;
  if (e)
    e->name = name->text;
  return e;
}

/* .NAME after `e` and the dot. */
static Expr *member(Parse *p, Expr *e) {
  if (!parse_is(p, TOK_NAME)) {
    parse_error(p, "a member's name after '.'");
    return NULL;
  }
  const Token *name = p->t++;
  Expr *x = expr_new(p, EXPR_MEMBER, name->loc, 1, &e);
  if (x)
    x->name = name->text;
  return x;
}

/* [offsets] or [INDEX] after the call `e` and the bracket. */
static Expr *behind_call(Parse *p, Expr *e) {
  const Token bracket = {.loc = p->t[-1].loc};
  if (parse_is(p, TOK_LBRACKET)) {
    diag_error(
        p->d, bracket.loc,
        "offsets that depend on data stand behind a field or a macro's parameter; write a macro of a parameter X "
        "with X[[...] within ...], and call it with this");
    return NULL;
  }
  Expr *all = list(p, EXPR_ACCESS, &bracket, TOK_RBRACKET, "',' or ']'");
  if (!all)
    return NULL;
  if (!all->n || all->n > GRID_RANK) {
    diag_error(p->d, bracket.loc, "behind a macro's arguments stand its offsets, one for each dimension of the grid");
    return NULL;
  }
  Expr *kids[1 + MAX_RANK] = {e};
  memcpy(kids + 1, all->kids, (size_t)all->n * sizeof *kids);
  return expr_new(p, EXPR_MEMBER, bracket.loc, 1 + all->n, kids);
}

/* [INDEX] after `e` and the bracket. */
static Expr *component(Parse *p, Expr *e) {
  Loc loc = p->t[-1].loc;
  if (e->kind == EXPR_CALL)
    return behind_call(p, e);
  if (!parse_enter(p))
    return NULL;
  Expr *index = parse_expr(p);
  if (!index || !parse_expect(p, TOK_RBRACKET,
                              "']' (a component has one index, v[2]; a field's offsets come right behind its name)"))
    return NULL;
  p->nesting--;
  return expr_new(p, EXPR_MEMBER, loc, 2, (Expr *[]){e, index});
}

/* `e` with the components and members that follow it. */
static Expr *suffixes(Parse *p, Expr *e) {
  while (e && (parse_is(p, TOK_LBRACKET) || parse_is(p, TOK_DOT)))
    e = p->t++->kind == TOK_DOT ? member(p, e) : component(p, e);
  if (e && parse_is(p, TOK_AT)) {
    diag_error(p->d, p->t->loc, "only a name has older time levels: write U@1[-1] for an offset, U@1 for a field");
    return NULL;
  }
  return e;
}

/* The number of steps back, after an '@': a literal, a name or (EXPR). */
static Expr *steps_back(Parse *p) {
  if (parse_is(p, TOK_INT))
    return leaf(p, EXPR_INT);
  if (parse_is(p, TOK_NAME) && !is_reserved(p->t->text))
    return leaf(p, EXPR_NAME);
  if (!parse_is(p, TOK_LPAREN)) {
    parse_error(p, "the number of steps back, as in 'U@1'");
    return NULL;
  }
  p->t++;
  if (!parse_enter(p))
    return NULL;
  Expr *e = parse_expr(p);
  p->nesting--;
  return e && parse_expect(p, TOK_RPAREN, "')'") ? e : NULL;
}

/* NAME@K or NAME@K[offsets]; the next token is the name. */
static Expr *old_level(Parse *p) {
  const Token *name = p->t;
  p->t += 2;
  Expr *level = steps_back(p);
  if (!level)
    return NULL;
  Expr *e = !parse_accept(p, TOK_LBRACKET) ? expr_new(p, EXPR_NAME, name->loc, 0, NULL)
            : parse_is(p, TOK_LBRACKET)    ? parse_within(p, name)
                                           : list(p, EXPR_ACCESS, name, TOK_RBRACKET, "',' or ']'");
  if (!e)
    return NULL;
  e->name = name->text;
  e->level = level;
  if (e->height <= level->height)
    e->height = level->height + 1;
  return e;
}

/* A name, a call or an access; the next token is the name. */
static Expr *name_or_call(Parse *p) {
  const Token *name = p->t;
  Expr *e;
  if (parse_is_over(p))
    return parse_over(p);
  if (p->t[1].kind == TOK_AT) {
    e = old_level(p);
  } else if (p->t[1].kind == TOK_LPAREN) {
    p->t += 2;
    if (is_reduction(p, name->text))
      return reduction(p, name);
    e = list(p, EXPR_CALL, name, TOK_RPAREN, "',' or ')'");
  } else if (p->t[1].kind == TOK_LBRACKET) {
    p->t += 2;
    e = parse_is(p, TOK_LBRACKET) ? parse_within(p, name) : list(p, EXPR_ACCESS, name, TOK_RBRACKET, "',' or ']'");
  } else {
    e = leaf(p, EXPR_NAME);
  }
  return suffixes(p, e);
}

/* if c then a else b; the next token is the if. */
static Expr *conditional(Parse *p) {
  Loc loc = p->t++->loc;
  Expr *kids[3] = {NULL, NULL, NULL};
  static const char *const words[] = {"then", "else"};
  if (!parse_enter(p))
    return NULL;
  for (int i = 0; i < 3; i++) {
    kids[i] = parse_expr(p);
    if (!kids[i])
      return NULL;
    if (i == 2)
      break;
    if (!parse_is_word(p, words[i])) {
      parse_error(p, i ? "'else' (an if always has both values)" : "'then'");
      return NULL;
    }
    p->t++;
  }
  p->nesting--;
  return operation(p, OP_SELECT, loc, 3, kids);
}

/* (e); the next token is the bracket. */
static Expr *parenthesized(Parse *p) {
  p->t++;
  if (!parse_enter(p))
    return NULL;
  Expr *e = parse_expr(p);
  if (!e || !parse_expect(p, TOK_RPAREN, "')'"))
    return NULL;
  p->nesting--;
  return suffixes(p, e);
}

/* A value between braces, with or without a member's name. */
static Expr *in_braces(Parse *p) {
  if (!parse_is(p, TOK_NAME) || p->t[1].kind != TOK_ASSIGN)
    return parse_expr(p);
  const Token *name = p->t;
  p->t += 2;
  Expr *e = parse_expr(p), *x = e ? expr_new(p, EXPR_NAMED, name->loc, 1, &e) : NULL;
  if (x)
    x->name = name->text;
  return x;
}

/* {a, b} or {xx = a, yy = b}; the next token is the brace. */
static Expr *braces(Parse *p) {
  Loc loc = p->t++->loc;
  Expr **kids = NULL;
  int n = 0;
  if (!parse_enter(p))
    return NULL;
  do {
    Expr *e = in_braces(p);
    if (!e)
      return NULL;
    ARENA_PUSH(p->arena, kids, n, e);
  } while (parse_accept(p, TOK_COMMA) && !parse_is(p, TOK_RBRACE));
  if (!parse_expect(p, TOK_RBRACE, "',' or '}'"))
    return NULL;
  p->nesting--;
  return suffixes(p, expr_new(p, EXPR_BRACES, loc, n, kids));
}

/* 2i: the open value {0, 2}. */
static Expr *imaginary(Parse *p) {
  const char *text = p->t->text;
  Expr *none = leaf(p, EXPR_INT);
  Expr *part = ARENA_NEW(p->arena, Expr);
  *part = *none;
  none->name = "0";
  part->kind = strpbrk(text, ".eE") ? EXPR_FLOAT : EXPR_INT;
  part->name = arena_strndup(p->arena, text, strlen(text) - 1);
  Expr *e = expr_new(p, EXPR_BRACES, part->loc, 2, (Expr *[]){none, part});
  if (e)
    e->imaginary = true;
  return e;
}

/* A literal, a name, a call, an access, a parenthesis, braces, or an if. */
static Expr *primary(Parse *p) {
  if (parse_is(p, TOK_IMAGINARY))
    return imaginary(p);
  if (parse_is(p, TOK_INT) || parse_is(p, TOK_FLOAT))
    return leaf(p, parse_is(p, TOK_INT) ? EXPR_INT : EXPR_FLOAT);
  if (parse_is_word(p, "true") || parse_is_word(p, "false")) {
    Expr *e = leaf(p, EXPR_BOOL);
    e->value.i = e->name[0] == 't';
    return e;
  }
  if (parse_is_word(p, "if"))
    return conditional(p);
  if (parse_is(p, TOK_LPAREN))
    return parenthesized(p);
  if (parse_is(p, TOK_LBRACE))
    return braces(p);
  if (parse_is(p, TOK_NAME) && !is_keyword(p->t->text))
    return name_or_call(p);
  parse_error(p, "an expression");
  return NULL;
}

/* Signs and negations before a primary. */
static Expr *unary(Parse *p) {
  if (parse_is(p, TOK_PLUS)) {
    diag_error(p->d, p->t->loc, "there is no unary '+'; leave it out");
    return NULL;
  }
  if (parse_is(p, TOK_STAR) && p->t[-1].kind == TOK_STAR) {
    diag_error(p->d, p->t[-1].loc, "'**' is no operator; a power is written 'pow(x, y)'");
    return NULL;
  }
  if (!parse_is(p, TOK_MINUS) && !parse_is(p, TOK_NOT) && !parse_is(p, TOK_BIT_NOT))
    return primary(p);
  const Token *t = p->t++;
  if (!parse_enter(p))
    return NULL;
  Expr *e = unary(p);
  p->nesting--;
  return e ? operation(p,
                       t->kind == TOK_MINUS ? OP_NEG
                       : t->kind == TOK_NOT ? OP_NOT
                                            : OP_BIT_NOT,
                       t->loc, 1, &e)
           : NULL;
}

/* A binary operator and its precedence; a higher one binds more tightly. */
typedef struct Binary {
  Tok tok;
  Opcode op;
  int level;
} Binary;

/* The row of the operator at p->t, NULL if the token is none. */
static const Binary *binary_at(const Parse *p) {
  static const Binary table[] = {{TOK_OR, OP_OR, 1},           {TOK_AND, OP_AND, 2},
                                 {TOK_BIT_OR, OP_BIT_OR, 3},   {TOK_BIT_XOR, OP_BIT_XOR, 4},
                                 {TOK_BIT_AND, OP_BIT_AND, 5}, {TOK_EQ, OP_EQ, 6},
                                 {TOK_NE, OP_NE, 6},           {TOK_LT, OP_LT, 7},
                                 {TOK_LE, OP_LE, 7},           {TOK_GT, OP_GT, 7},
                                 {TOK_GE, OP_GE, 7},           {TOK_SHL, OP_SHL, 8},
                                 {TOK_SHR, OP_SHR, 8},         {TOK_PLUS, OP_ADD, 9},
                                 {TOK_MINUS, OP_SUB, 9},       {TOK_STAR, OP_MUL, PRODUCT},
                                 {TOK_SLASH, OP_DIV, PRODUCT}, {TOK_PERCENT, OP_REM, PRODUCT}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].tok == p->t->kind)
      return &table[i];
  return NULL;
}

/* Binary operators of precedence `level` or higher, from left to right. */
static Expr *binary(Parse *p, int level) {
  Expr *left = unary(p);
  for (const Binary *row = binary_at(p); left && row && row->level >= level; row = binary_at(p)) {
    Loc loc = p->t++->loc;
    Expr *right = binary(p, row->level + 1);
    left = right ? operation(p, row->op, loc, 2, (Expr *[]){left, right}) : NULL;
  }
  return left;
}

Expr *parse_expr(Parse *p) { return binary(p, 1); }
