/* frontend/format.c: formats programs in stc's one style (`stc fmt`).
 *
 * A program is a list of items: its tokens, and the comments between them. Lines break where the author broke them,
 * with at most one blank line in between. The style decides the blanks between two items of a line, the indentation,
 * and the column of the comments at the ends of consecutive lines. Nothing of a program can be lost: the formatted
 * program must have the same tokens as the original, which is checked. */
#include "frontend/levels.h"

#include <string.h>

/* INDENT, CONTINUED: columns of indentation for each block, and for a line that continues a statement. MAX_ALIGNED: a
 * line with more columns of code does not count when the comments at the ends of lines are aligned, so a long line does
 * not push the comments of the others to the right. */
enum { INDENT = 2, CONTINUED = 4, MAX_ALIGNED = 80 };

/* The construct that encloses an item: a parenthesis, the index of an access or element, the box of a region, values in
 * braces, a block of statements. */
typedef enum Frame { FRAME_PAREN, FRAME_INDEX, FRAME_REGION, FRAME_VALUES, FRAME_BLOCK } Frame;

/* A token (text as in the program) or, if `comment`, a comment with its marks. breaks: newlines before it, at most 2.
 * frame: the innermost frame that contains it (an opening or closing bracket belongs to the frame outside). blocks: the
 * number of blocks that contain the item. tight: operators have no blanks around them here. continued: the item is in
 * the middle of a statement. unary: a sign. opens_values: a brace that opens or closes values. */
typedef struct Item {
  bool comment;
  const Token *t;
  const char *text;
  int32_t length, breaks;
  Frame frame;
  int32_t blocks;
  bool tight, continued, unary, opens_values;
} Item;

/* A program being formatted. */
typedef struct Format {
  Arena *arena;
  int32_t n;
  Item *items;
  int32_t depth; /* of `frames` */
  Frame frames[MAX_NESTING + 64];
  Str out;
} Format;

/* ---------------------------------------------------------------- items */

/* Appends the comments in the text from `p` to `end`, which lies between two tokens; *breaks counts the newlines since
 * the last item. */
static void add_comments(Format *f, const char *p, const char *end, int32_t *breaks) {
  while (p < end) {
    if (*p == '\n') {
      ++*breaks;
      p++;
    } else if (p[0] == '/' && (p[1] == '/' || p[1] == '*')) {
      const char *close = p[1] == '/' ? strchr(p, '\n') : strstr(p + 2, "*/");
      const char *stop = !close || close > end ? end : p[1] == '/' ? close : close + 2;
      Item i = {.comment = true, .text = p, .breaks = *breaks > 2 ? 2 : *breaks};
      i.length = (int32_t)(stop - p);
      while (i.length && strchr(" \t\r", p[i.length - 1]))
        i.length--;
      ARENA_PUSH(f->arena, f->items, f->n, i);
      *breaks = 0;
      p = stop;
    } else {
      p++;
    }
  }
}

/* Splits `text` with its `tokens` into items. */
static void add_items(Format *f, const char *text, const Token *tokens) {
  const char *line = text, *p = text;
  int32_t number = 1, breaks = 0;
  for (const Token *t = tokens;; t++) {
    for (; number < t->loc.line; number++)
      line = strchr(line, '\n') + 1;
    const char *at = t->kind == TOK_EOF ? p + strlen(p) : line + t->loc.col - 1;
    add_comments(f, p, at, &breaks);
    if (t->kind == TOK_EOF)
      return;
    Item i = {.t = t, .text = t->text, .length = (int32_t)strlen(t->text), .breaks = breaks > 2 ? 2 : breaks};
    ARENA_PUSH(f->arena, f->items, f->n, i);
    breaks = 0;
    p = at + i.length;
  }
}

/* ---------------------------------------------------------------- places of items */

static bool is_word(const Token *t, const char *word) { return t->kind == TOK_NAME && strcmp(t->text, word) == 0; }

/* Is it one of `words`, which end with NULL? */
static bool is_one_of(const Token *t, const char *const *words) {
  for (; *words; words++)
    if (is_word(t, *words))
      return true;
  return false;
}

/* Is it an operator between two operands, or another mark before an operand? */
static bool is_operator(Tok k) {
  return (k >= TOK_PLUS && k <= TOK_BIT_XOR && k != TOK_NOT) || k == TOK_ASSIGN || k == TOK_DOTS;
}

/* Is it the word `spacing` of a grid, or `but` of a layer? These stand after an operand, where no name can stand. */
static bool is_spacing(const Token *t) {
  return (is_word(t, "spacing") || is_word(t, "but")) && t[1].kind == TOK_LBRACKET &&
         (t->loc.line > 1 || t->loc.col > 1) &&
         (t[-1].kind == TOK_NAME || t[-1].kind == TOK_INT || t[-1].kind == TOK_RPAREN);
}

/* Is it `at` or `side` among the arguments of a derivative, before a sign? */
static bool is_before_sign(const Token *t) {
  return (is_word(t, "at") || is_word(t, "side")) && t[1].kind == TOK_MINUS && t[-1].kind == TOK_COMMA;
}

/* Is it the slash of `at 1/2` or `at -1/2`, which has no blanks? */
static bool is_half(const Token *t) {
  return t->kind == TOK_SLASH && t[-1].kind == TOK_INT && t[1].kind == TOK_INT &&
         is_word(t[-2].kind == TOK_MINUS ? &t[-3] : &t[-2], "at");
}

/* Is it the `about` of `odd about`? */
static bool is_about(const Token *t) { return is_word(t, "about") && is_word(&t[-1], "odd"); }

/* Does an operand begin after `t`, so that a minus there is a sign and a brace opens values? */
static bool precedes_operand(const Token *t) {
  static const char *const words[] = {"then", "else", "if", "return", "in", "outside", "over", NULL};
  return is_operator(t->kind) || t->kind == TOK_NOT || t->kind == TOK_BIT_NOT || t->kind == TOK_LPAREN ||
         t->kind == TOK_LBRACKET || t->kind == TOK_COMMA || is_one_of(t, words) || is_before_sign(t) || is_about(t);
}

/* Is there a ".." between the opening bracket `t` and its closing bracket, outside inner brackets? */
static bool holds_range(const Token *t) {
  int depth = 0;
  for (; t->kind != TOK_EOF; t++) {
    if (t->kind == TOK_LBRACKET || t->kind == TOK_LPAREN || t->kind == TOK_LBRACE)
      depth++;
    else if (t->kind == TOK_RBRACKET || t->kind == TOK_RPAREN || t->kind == TOK_RBRACE)
      depth--;
    else if (t->kind == TOK_DOTS && depth == 1)
      return true;
    if (depth == 0)
      return false;
  }
  return false;
}

/* The frame that the opening bracket `t` begins within frame `about`. before: the token before it (NULL: none).
 * after_block: `before` is the closing brace of a block, or an `else` after one. */
static Frame frame_of(const Token *t, const Token *before, Frame about, bool after_block) {
  static const char *const places[] = {"on", "over", "at", "in", "outside", "within", NULL};
  if (t->kind == TOK_LPAREN)
    return FRAME_PAREN;
  if (t->kind == TOK_LBRACE) {
    bool block_else = before && is_word(before, "else") && after_block;
    bool values = before && (precedes_operand(before) || (before->kind == TOK_LBRACE && about == FRAME_VALUES));
    return values && !block_else ? FRAME_VALUES : FRAME_BLOCK;
  }
  bool behind_block = before && before->kind == TOK_RBRACE && after_block;
  if (holds_range(t) || !before || before->kind == TOK_RPAREN || behind_block || is_one_of(before, places) ||
      is_spacing(before))
    return FRAME_REGION;
  return before->kind == TOK_NAME || before->kind == TOK_RBRACKET || before->kind == TOK_RBRACE ||
                 before->kind == TOK_INT
             ? FRAME_INDEX
             : FRAME_REGION;
}

/* The frame that contains the next token. */
static Frame innermost(const Format *f) { return f->depth ? f->frames[f->depth - 1] : FRAME_BLOCK; }

/* Do operators have no blanks around them here: within an index or a box, but not in braces within these? */
static bool is_tight(const Format *f) {
  for (int d = f->depth; d > 0 && f->frames[d - 1] != FRAME_VALUES && f->frames[d - 1] != FRAME_BLOCK; d--)
    if (f->frames[d - 1] == FRAME_INDEX || f->frames[d - 1] == FRAME_REGION)
      return true;
  return false;
}

/* The number of open blocks. */
static int32_t open_blocks(const Format *f) {
  int32_t n = 0;
  for (int d = 0; d < f->depth; d++)
    n += f->frames[d] == FRAME_BLOCK;
  return n;
}

/* Does a statement begin with `t`, the first token of its line, after the token `before`, outside of all brackets? In
 * the paper's notation the end of a line ends a declaration. */
static bool begins_statement(const Token *t, const Token *before) {
  if (before->kind == TOK_SEMI || before->kind == TOK_LBRACE || before->kind == TOK_RBRACE)
    return true;
  Tok next = t[0].kind == TOK_EOF ? TOK_EOF : t[1].kind;
  bool paper = t->kind == TOK_NAME && (next == TOK_ASSIGN || next == TOK_COLON || next == TOK_LPAREN);
  return !precedes_operand(before) && (parse_begins_declaration(t) || paper);
}

/* Enters or leaves a frame at token `t` of item `i`, and sets the item's place. */
static void place_token(Format *f, Item *i, const Token *before, bool after_block) {
  const Token *t = i->t;
  if ((t->kind == TOK_RPAREN || t->kind == TOK_RBRACKET || t->kind == TOK_RBRACE) && f->depth)
    i->opens_values = f->frames[--f->depth] == FRAME_VALUES;
  i->frame = innermost(f);
  i->blocks = open_blocks(f);
  i->tight = is_tight(f) || is_half(t) || is_half(t + 1) || (before && is_half(t - 1));
  bool inside = f->depth && i->frame != FRAME_BLOCK;
  i->continued = before && (inside || !begins_statement(t, before)) && t->kind != TOK_RBRACE;
  i->unary = (t->kind == TOK_MINUS || t->kind == TOK_PLUS) &&
             (!before || precedes_operand(before) || before->kind == TOK_LBRACE);
  if ((t->kind == TOK_LPAREN || t->kind == TOK_LBRACKET || t->kind == TOK_LBRACE) &&
      f->depth < (int)(sizeof f->frames / sizeof *f->frames)) {
    Frame opened = frame_of(t, before, innermost(f), after_block);
    i->opens_values = opened == FRAME_VALUES;
    f->frames[f->depth++] = opened;
  }
}

/* Sets the place of each item. A comment has the place of a token that would follow. */
static void place_items(Format *f) {
  const Token *before = NULL;
  bool closed_block = false;
  for (int k = 0; k < f->n; k++) {
    Item *i = &f->items[k];
    if (i->comment) {
      i->blocks = open_blocks(f);
      i->continued = f->depth && innermost(f) != FRAME_BLOCK;
      continue;
    }
    place_token(f, i, before, closed_block);
    if (i->t->kind == TOK_RBRACE || !is_word(i->t, "else"))
      closed_block = i->t->kind == TOK_RBRACE && !i->opens_values;
    before = i->t;
  }
}

/* ---------------------------------------------------------------- blanks between two items of a line */

/* Is there a blank between `a` and an opening bracket `b`? */
static bool blank_before_opening(const Item *a, const Item *b) {
  static const char *const words[] = {"if", "then", "else", "for",     "each",   "return", "in",
                                      "on", "over", "at",   "outside", "within", NULL};
  Tok k = a->t->kind;
  if (b->t->kind == TOK_LBRACE)
    return !(k == TOK_LBRACE && a->opens_values) && k != TOK_LPAREN && k != TOK_LBRACKET;
  if (is_word(a->t, "at") && b->t->kind == TOK_LPAREN) /* at(u, ...) */
    return false;
  if (k == TOK_NAME)
    return is_one_of(a->t, words) || is_spacing(a->t) || is_about(a->t);
  return k != TOK_RPAREN && k != TOK_RBRACKET && k != TOK_INT && !(k == TOK_RBRACE && a->opens_values);
}

/* Is there a blank between the tokens `a` and `b`? */
static bool blank_between(const Item *a, const Item *b) {
  Tok x = a->t->kind, y = b->t->kind;
  if (y == TOK_SEMI || y == TOK_COMMA || y == TOK_RPAREN || y == TOK_RBRACKET || x == TOK_LPAREN || x == TOK_LBRACKET)
    return false;
  if (x == TOK_DOT || y == TOK_DOT || x == TOK_AT || y == TOK_AT || x == TOK_NOT || x == TOK_BIT_NOT || a->unary)
    return false;
  if (x == TOK_LBRACE || y == TOK_RBRACE)
    return !(x == TOK_LBRACE ? a : b)->opens_values && !(x == TOK_LBRACE && y == TOK_RBRACE);
  if (x == TOK_COMMA)
    return a->frame != FRAME_INDEX;
  if (x == TOK_PLUS && y == TOK_ASSIGN)
    return false;
  bool arithmetic = (x >= TOK_PLUS && x <= TOK_PERCENT) || (y >= TOK_PLUS && y <= TOK_PERCENT && !b->unary);
  if (arithmetic)
    return !(a->tight && b->tight);
  if (y == TOK_LPAREN || y == TOK_LBRACKET || y == TOK_LBRACE)
    return blank_before_opening(a, b);
  return true;
}

/* Appends item `k` to its line, after the blanks that the style puts before it. */
static void add_item(Format *f, int k, bool first) {
  const Item *a = k ? &f->items[k - 1] : NULL, *b = &f->items[k];
  if (!first && (a->comment || b->comment || blank_between(a, b)))
    str_add(&f->out, " ");
  str_addf(&f->out, "%.*s", b->length, b->text);
}

/* ---------------------------------------------------------------- lines */

/* The number of the first item after the line that begins with item `k`. */
static int line_end(const Format *f, int k) {
  for (k++; k < f->n && !f->items[k].breaks; k++)
    ;
  return k;
}

/* The columns of indentation of a line that begins with `i`. */
static int indentation(const Item *i) { return INDENT * i->blocks + (i->continued ? CONTINUED : 0); }

/* Does the line from item `k` to `end` end with a comment after code? */
static bool has_remark(const Format *f, int k, int end) {
  return end - k > 1 && f->items[end - 1].comment && f->items[end - 1].text[1] == '/';
}

/* Writes the code of the line from item `k` to `end`; returns its width in columns. */
static int add_code(Format *f, int k, int end) {
  size_t start = f->out.n;
  str_addf(&f->out, "%*s", indentation(&f->items[k]), "");
  for (int i = k; i < end; i++)
    add_item(f, i, i == k);
  return (int)(f->out.n - start);
}

/* The column of the comments at the ends of consecutive lines, the first of which begins with item `k`. */
static int remark_column(Format *f, int k) {
  Str kept = f->out;
  int widest = 0;
  for (int end = line_end(f, k);; k = end, end = line_end(f, k)) {
    if (!has_remark(f, k, end))
      break;
    Format scratch = *f;
    scratch.out = (Str){.arena = f->arena};
    int columns = add_code(&scratch, k, end - 1);
    if (columns > widest && (columns <= MAX_ALIGNED || !widest))
      widest = columns;
    if (end >= f->n || f->items[end].breaks > 1)
      break;
  }
  f->out = kept;
  return widest + 2;
}

/* Writes all lines. */
static void add_lines(Format *f) {
  int column = 0;
  for (int k = 0, end; k < f->n; k = end) {
    end = line_end(f, k);
    bool remark = has_remark(f, k, end), blank = k && f->items[k].breaks > 1;
    column = !remark ? 0 : !column || blank ? remark_column(f, k) : column;
    if (blank)
      str_add(&f->out, "\n");
    int columns = add_code(f, k, end - remark);
    if (remark)
      str_addf(&f->out, "%*s%.*s", column > columns ? column - columns : 2, "", f->items[end - 1].length,
               f->items[end - 1].text);
    str_add(&f->out, "\n");
  }
}

/* Do two programs have the same tokens? */
static bool same_tokens(const Token *a, const Token *b) {
  for (; a->kind == b->kind && strcmp(a->text, b->text) == 0; a++, b++)
    if (a->kind == TOK_EOF)
      return true;
  return false;
}

/* False after reporting marks of include.c in `text`; a file never has them. */
static bool has_no_marks(Diags *d, int source, const char *text) {
  int line = 1;
  for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL, line++)
    if (*p == LEX_MARK && (p[1] == '<' || p[1] == '>')) {
      diag_error(d, (Loc){source, line, 1}, "unexpected byte 0x01; outside comments programs are plain ASCII");
      return false;
    }
  return true;
}

char *frontend_format(Arena *a, Diags *d, const char *file, const char *text) {
  int before = diags_errors(d), source = diags_add_source(d, file, text);
  if (!strncmp(text, "\xef\xbb\xbf", 3))
    text += 3;
  if (!has_no_marks(d, source, text))
    return NULL;
  const Token *tokens = lex(a, d, source, text);
  Parse p = {.arena = a, .d = d, .t = levels_expand(a, d, tokens), .raw = true};
  parse_program(&p);
  if (diags_errors(d) != before)
    return NULL;
  Format *f = ARENA_NEW(a, Format);
  f->arena = a;
  f->out = (Str){.arena = a};
  add_items(f, text, tokens);
  place_items(f);
  add_lines(f);
  const char *made = f->out.s ? f->out.s : "";
  if (!same_tokens(tokens, lex(a, d, source, made))) {
    diag_error(d, no_loc(), "%s: formatting would change the program: please report this; the file is left alone",
               file);
    return NULL;
  }
  return arena_printf(a, "%s", made);
}
