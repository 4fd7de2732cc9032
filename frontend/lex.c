/* frontend/lex.c: characters to tokens. */
#include "frontend/ast.h"

#include <stdlib.h>
#include <string.h>

/* The lexer's position in the text. files: the `depth` files that include the present one. */
typedef struct Lexer {
  Arena *arena;
  Diags *d;
  const char *p, *line_start;
  Loc loc;
  bool first;
  int n, depth;
  Token *tokens;
  int files[MAX_INCLUDES + 1];
} Lexer;

/* The place of character `p` of the present line. */
static Loc place(const Lexer *x, const char *p) {
  return (Loc){x->loc.file, x->loc.line, (int32_t)(p - x->line_start) + 1};
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Skips a newline at x->p. */
static void newline(Lexer *x) {
  x->loc.line++;
  x->line_start = ++x->p;
  x->first = true;
}

/* Is there a mark of include.c at x->p? */
static bool is_mark(const Lexer *x) {
  return *x->p == LEX_MARK && x->p == x->line_start && (x->p[1] == '<' || x->p[1] == '>');
}

/* Skips a comment that begins at x->p with slash and star, and ends in its own file. */
static void block_comment(Lexer *x) {
  Loc start = place(x, x->p);
  x->p += 2;
  while (*x->p && !is_mark(x) && !(x->p[0] == '*' && x->p[1] == '/')) {
    if (*x->p == '\n')
      newline(x);
    else
      x->p++;
  }
  if (*x->p == '*')
    x->p += 2;
  else
    diag_error(x->d, start, "this comment is not closed; end it with */");
}

/* Skips the mark of include.c at x->p: the text of another file begins, or the including file continues. */
static void file_mark(Lexer *x) {
  bool begins = x->p[1] == '<';
  const char *what = x->p + 2, *end = what + strcspn(what, "\n");
  x->p = x->line_start = *end ? end + 1 : end;
  x->first = true;
  if (begins && x->depth <= MAX_INCLUDES) {
    x->files[x->depth++] = x->loc.file;
    x->loc = (Loc){diags_add_source(x->d, arena_strndup(x->arena, what, (size_t)(end - what)), x->p), 1, 1};
  } else if (!begins && x->depth) {
    long line = strtol(what, NULL, 10);
    x->loc = (Loc){x->files[--x->depth], line > 0 && line < MAX_LINE ? (int32_t)line : 1, 1};
    diags_add_part(x->d, x->loc.file, x->loc.line, x->p);
  }
}

/* Skips blanks and comments. */
static void skip_blanks(Lexer *x) {
  for (;;) {
    if (*x->p == '\n')
      newline(x);
    else if (is_mark(x))
      file_mark(x);
    else if (*x->p == ' ' || *x->p == '\t' || *x->p == '\r' || *x->p == '\f' || *x->p == '\v')
      x->p++;
    else if (x->p[0] == '/' && x->p[1] == '/')
      x->p += strcspn(x->p, "\n");
    else if (x->p[0] == '/' && x->p[1] == '*')
      block_comment(x);
    else
      return;
  }
}

/* Appends a token of `n` characters from x->p on, and skips them. */
static void add(Lexer *x, Tok kind, int n) {
  Token t = {kind, place(x, x->p), arena_strndup(x->arena, x->p, (size_t)n), x->first};
  ARENA_PUSH(x->arena, x->tokens, x->n, t);
  x->first = false;
  x->p += n;
}

/* Digits from p on. */
static const char *digits(const char *p) {
  while (is_digit(*p))
    p++;
  return p;
}

/* A number at x->p: digits, a fraction unless it is the start of ".." or, behind an '@', of a member as in U@1.xx, an
 * exponent. */
static void number(Lexer *x) {
  const char *p = digits(x->p);
  bool is_float = false;
  bool member = x->n && x->tokens[x->n - 1].kind == TOK_AT && is_letter(p[*p == '.']);
  if (*p == '.' && p[1] != '.' && !member) {
    is_float = true;
    p = digits(p + 1);
  }
  if (*p == 'e' || *p == 'E') {
    const char *q = p + 1 + (p[1] == '+' || p[1] == '-');
    if (is_digit(*q)) {
      is_float = true;
      p = digits(q);
    }
  }
  const char *junk = p;
  while (is_letter(*p) || is_digit(*p))
    p++;
  bool imaginary = p == junk + 1 && *junk == 'i';
  if (p != junk && !imaginary)
    diag_error(x->d, place(x, junk),
               "'%.*s' cannot follow a number; literals have no suffix, they adapt to the type they meet",
               (int)(p - junk < 40 ? p - junk : 40), junk);
  Tok kind = imaginary ? TOK_IMAGINARY : is_float ? TOK_FLOAT : TOK_INT;
  Token t = {kind, place(x, x->p), arena_strndup(x->arena, x->p, (size_t)(junk + imaginary - x->p)), x->first};
  ARENA_PUSH(x->arena, x->tokens, x->n, t);
  x->first = false;
  x->p = p;
}

/* A name or keyword at x->p. */
static void word(Lexer *x) {
  int n = 0;
  while (is_letter(x->p[n]) || is_digit(x->p[n]))
    n++;
  add(x, TOK_NAME, n);
}

/* A file's name in quotes at x->p, with them; it ends on its line. */
static void string(Lexer *x) {
  size_t n = strcspn(x->p + 1, "\"\n");
  if (x->p[1 + n] == '"') {
    add(x, TOK_STRING, (int)n + 2);
    return;
  }
  diag_error(x->d, place(x, x->p), "this name has no closing quote; end it with \"");
  x->p += 1 + n;
}

/* The kind of the mark at p and its length; TOK_EOF if there is none. */
static Tok mark(const char *p, int *n) {
  static const struct {
    char s[3];
    Tok kind;
  } marks[] = {{"..", TOK_DOTS},   {"==", TOK_EQ},      {"!=", TOK_NE},      {"<=", TOK_LE},    {">=", TOK_GE},
               {"<<", TOK_SHL},    {">>", TOK_SHR},     {"&&", TOK_AND},     {"||", TOK_OR},    {"(", TOK_LPAREN},
               {")", TOK_RPAREN},  {"[", TOK_LBRACKET}, {"]", TOK_RBRACKET}, {"{", TOK_LBRACE}, {"}", TOK_RBRACE},
               {",", TOK_COMMA},   {";", TOK_SEMI},     {":", TOK_COLON},    {"=", TOK_ASSIGN}, {".", TOK_DOT},
               {"@", TOK_AT},      {"+", TOK_PLUS},     {"-", TOK_MINUS},    {"*", TOK_STAR},   {"/", TOK_SLASH},
               {"%", TOK_PERCENT}, {"!", TOK_NOT},      {"<", TOK_LT},       {">", TOK_GT},     {"&", TOK_BIT_AND},
               {"|", TOK_BIT_OR},  {"^", TOK_BIT_XOR},  {"~", TOK_BIT_NOT}};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    *n = (int)strlen(marks[i].s);
    if (!strncmp(p, marks[i].s, (size_t)*n))
      return marks[i].kind;
  }
  return TOK_EOF;
}

/* Reports a line of C's preprocessor, which begins at x->p, and skips it. */
static void directive(Lexer *x) {
  const char *word = x->p + 1 + strspn(x->p + 1, " \t");
  int n = 0;
  while (is_letter(word[n]))
    n++;
  if (n == 6 && !strncmp(word, "define", 6))
    diag_error(x->d, place(x, x->p),
               "there is no preprocessor: write const NAME = VALUE; or a macro, op NAME(X) = ...;");
  else if (n == 7 && !strncmp(word, "include", 7))
    diag_error(x->d, place(x, x->p),
               "there is no preprocessor: functions such as sqrt are part of the language; a file of declarations is "
               "included by include \"FILE.stn\";");
  else
    diag_error(x->d, place(x, x->p), "there is no preprocessor, and a comment begins with //: leave out '#%.*s'",
               n < 20 ? n : 20, word);
  x->p += strcspn(x->p, "\n");
}

/* Reports the character at x->p, which begins no token, and skips it and equal ones after it. */
static void bad_character(Lexer *x) {
  unsigned char c = (unsigned char)*x->p;
  Loc at = place(x, x->p);
  if (c == '#') {
    diag_error(x->d, at, "unexpected character '#'; a comment begins with //");
    x->p += strcspn(x->p, "\n");
    return;
  }
  if (c == '?')
    diag_error(x->d, at, "'?' is no operator; a choice is written 'if c then a else b'");
  else if (c > ' ' && c < 127)
    diag_error(x->d, at, "unexpected character '%c'", c);
  else
    diag_error(x->d, at, "unexpected byte 0x%02x; outside comments programs are plain ASCII", c);
  do
    x->p++;
  while ((unsigned char)*x->p == c || (c >= 128 && (unsigned char)*x->p >= 128));
}

Token *lex(Arena *a, Diags *d, int file, const char *text) {
  Lexer x = {.arena = a, .d = d, .p = text, .line_start = text, .loc = {file, 1, 1}, .first = true};
  if (!strncmp(text, "\xef\xbb\xbf", 3))
    x.p = x.line_start = text + 3;
  for (skip_blanks(&x); *x.p; skip_blanks(&x)) {
    int n;
    Tok kind = mark(x.p, &n);
    if (is_letter(*x.p))
      word(&x);
    else if (is_digit(*x.p) || (*x.p == '.' && is_digit(x.p[1])))
      number(&x);
    else if (*x.p == '"')
      string(&x);
    else if (kind != TOK_EOF)
      add(&x, kind, n);
    else if (*x.p == '#' && x.first)
      directive(&x);
    else
      bad_character(&x);
  }
  add(&x, TOK_EOF, 0);
  return x.tokens;
}

/* Keywords first, then types, then the other words of the language; functions are ops, in ir/ops.def. */
static const char *const words[] = {"param", "const", "grid",   "region", "field",  "stencil", "init",   "op",
                                    "let",   "if",    "then",   "else",   "true",   "false",   "struct", "fn",
                                    "var",   "for",   "return", "until",  "reduce", "real",    "f16",    "bf16",
                                    "f32",   "f64",   "i8",     "i16",    "i32",    "i64",     "u8",     "u16",
                                    "u32",   "bool",  "idx",    "step",   "sum",    "prod"};
enum { NWORDS = sizeof words / sizeof *words, NKEYWORDS = 21 };

/* Is op `code` a function of the language? */
static bool is_function(int code) { return op_info[code].flags & OPF_FUNCTION; }

Opcode builtin_function(const char *s) {
  Opcode code = opcode_from_name(s);
  return code < OP_COUNT && is_function((int)code) ? code : OP_COUNT;
}

const char *reserved_word(int i) {
  if (i < NWORDS)
    return words[i];
  i -= NWORDS;
  for (int code = 0; code < OP_COUNT; code++)
    if (is_function(code) && i-- == 0)
      return op_info[code].name;
  return NULL;
}

/* Is s among the first n words? */
static bool among(const char *s, int n) {
  for (int i = 0; i < n; i++)
    if (!strcmp(s, words[i]))
      return true;
  return false;
}

bool is_keyword(const char *s) { return among(s, NKEYWORDS); }
bool is_reserved(const char *s) { return among(s, NWORDS) || builtin_function(s) != OP_COUNT; }
