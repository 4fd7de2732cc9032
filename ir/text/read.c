/* ir/text/read.c: reads the characters of the text form as tokens, and parses names, numbers and constants. */
#include "ir/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors */

void reader_error(Reader *r, Loc at, const char *fmt, ...) {
  if (r->failed)
    return;
  va_list ap;
  va_start(ap, fmt);
  Str s = {.arena = r->arena};
  str_addv(&s, fmt, ap);
  va_end(ap);
  diag_error(r->diags, at, "%s", s.s);
  r->failed = true;
  r->tok = (TextToken){TOK_END, "", at};
  r->at = "";
}

/* The name of the present token in messages. */
static const char *token_name(const Reader *r) {
  static const char *const marks[] = {"", "", "%", "@", "\"", "", ""};
  if (r->tok.kind == TOK_END)
    return "the end of the text";
  return arena_printf(r->arena, "'%s%.60s'", marks[r->tok.kind], r->tok.text);
}

/* ---- characters */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) { return is_letter(c) || is_digit(c); }

/* Skips `n` characters of one line. */
static void advance(Reader *r, size_t n) {
  r->at += n;
  r->loc.col += (int32_t)n;
}

/* Skips blanks, newlines and comments. */
static void skip_blanks(Reader *r) {
  for (;;) {
    if (*r->at == '\n') {
      r->at++;
      r->loc.line++;
      r->loc.col = 1;
    } else if (*r->at == ' ' || *r->at == '\t' || *r->at == '\r') {
      advance(r, 1);
    } else if (r->at[0] == '/' && r->at[1] == '/') {
      advance(r, strcspn(r->at, "\n"));
    } else {
      return;
    }
  }
}

/* The length of the word at `s`: letters, digits, underscores, and dots between those. */
static size_t word_length(const char *s) {
  size_t n = 0;
  while (is_word(s[n]) || (n && s[n] == '.' && is_word(s[n + 1])))
    n++;
  return n;
}

/* The length of the number at `s`: decimal with optional fraction and exponent, or hexadecimal. */
static size_t number_length(const char *s) {
  size_t n = 0;
  if (s[0] == '0' && s[1] == 'x') {
    n = 2;
    while (is_word(s[n]))
      n++;
    return n;
  }
  while (is_digit(s[n]))
    n++;
  if (s[n] == '.' && is_digit(s[n + 1]))
    for (n++; is_digit(s[n]);)
      n++;
  if (s[n] == 'e' || s[n] == 'E') {
    size_t e = n + 1 + (s[n + 1] == '+' || s[n + 1] == '-');
    if (is_digit(s[e]))
      for (n = e; is_digit(s[n]);)
        n++;
  }
  while (is_word(s[n]))
    n++;
  return n;
}

/* The value of a hexadecimal digit, -1 if it is none. */
static int hex_digit(char c) {
  return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The character that the escape at `s` (after the backslash) denotes, and the length of the escape in *n; 0 if it is
 * malformed. */
static char escape(const char *s, size_t *n) {
  *n = 1;
  if (*s == '"' || *s == '\\')
    return *s;
  int hi = *s == 'x' ? hex_digit(s[1]) : -1, lo = hi >= 0 ? hex_digit(s[2]) : -1;
  *n = lo >= 0 && hi * 16 + lo != 0 ? 3 : 0;
  return (char)(hi * 16 + lo);
}

/* Reads the string whose opening quote is the next character; returns its value. */
static const char *read_string(Reader *r) {
  Loc start = r->loc;
  size_t length = strcspn(r->at + 1, "\n"), n = 0;
  char *out = arena_alloc(r->arena, length + 1);
  advance(r, 1);
  while (*r->at && *r->at != '"' && *r->at != '\n') {
    size_t step = 1;
    if (*r->at == '\\') {
      out[n++] = escape(r->at + 1, &step);
      if (!step)
        reader_error(r, r->loc, "malformed escape in a string; there are \\\", \\\\ and \\xHH");
      if (!step)
        return "";
      step++;
    } else {
      out[n++] = *r->at;
    }
    advance(r, step);
  }
  if (*r->at != '"') {
    reader_error(r, start, "this string is not closed on its line; add a '\"'");
    return "";
  }
  advance(r, 1);
  return out;
}

/* Makes the next `n` characters the text of the present token, and skips them. */
static void take(Reader *r, TokenKind kind, size_t n) {
  r->tok.kind = kind;
  r->tok.text = arena_strndup(r->arena, r->at, n);
  advance(r, n);
}

/* Reads the name after the sign % or @ at the reader: a word or, after @, a string. */
static void read_name(Reader *r, TokenKind kind) {
  char sign = *r->at;
  advance(r, 1);
  if (kind == TOK_SYMBOL && *r->at == '"') {
    const char *name = read_string(r);
    if (!r->failed)
      r->tok = (TextToken){kind, name, r->tok.loc};
    if (!r->failed && !*name)
      reader_error(r, r->tok.loc, "a name cannot be empty");
    return;
  }
  size_t n = word_length(r->at);
  if (n)
    take(r, kind, n);
  else
    reader_error(r, r->tok.loc, "expected a name after '%c'", sign);
}

/* Reads punctuation, or reports a character that begins no token. */
static void read_punctuation(Reader *r) {
  if (!strncmp(r->at, "..", 2) || !strncmp(r->at, ">=", 2))
    take(r, TOK_PUNCT, 2);
  else if (strchr("{}()[]:,=+-*", *r->at))
    take(r, TOK_PUNCT, 1);
  else if (*r->at > ' ' && *r->at < 127)
    reader_error(r, r->loc, "'%c' begins nothing that may stand in IR text", *r->at);
  else
    reader_error(r, r->loc, "the byte 0x%02x begins nothing that may stand in IR text",
                 (unsigned)(unsigned char)*r->at);
}

TextToken reader_next(Reader *r) {
  TextToken before = r->tok;
  if (r->failed)
    return before;
  skip_blanks(r);
  r->tok = (TextToken){TOK_END, "", r->loc};
  char c = *r->at;
  if (c == '%' || c == '@')
    read_name(r, c == '%' ? TOK_VALUE : TOK_SYMBOL);
  else if (c == '"') {
    const char *text = read_string(r);
    if (!r->failed)
      r->tok = (TextToken){TOK_STRING, text, r->tok.loc};
  } else if (is_digit(c))
    take(r, TOK_NUMBER, number_length(r->at));
  else if (is_letter(c))
    take(r, TOK_WORD, word_length(r->at));
  else if (c)
    read_punctuation(r);
  return before;
}

Reader reader_start(Arena *a, Diags *d, int file, const char *text) {
  Reader r = {.arena = a, .diags = d, .at = text, .loc = {file, 1, 1}, .tok = {TOK_END, "", {file, 1, 1}}};
  reader_next(&r);
  return r;
}

/* ---- tokens */

bool reader_at_word(const Reader *r, const char *s) { return r->tok.kind == TOK_WORD && !strcmp(r->tok.text, s); }
bool reader_at(const Reader *r, const char *s) { return r->tok.kind == TOK_PUNCT && !strcmp(r->tok.text, s); }

bool reader_accept_word(Reader *r, const char *s) {
  if (!reader_at_word(r, s))
    return false;
  reader_next(r);
  return true;
}

bool reader_accept(Reader *r, const char *s) {
  if (!reader_at(r, s))
    return false;
  reader_next(r);
  return true;
}

void reader_expect_word(Reader *r, const char *s) {
  if (!reader_accept_word(r, s))
    reader_error(r, r->tok.loc, "expected '%s', found %s", s, token_name(r));
}

void reader_expect(Reader *r, const char *s) {
  if (!reader_accept(r, s))
    reader_error(r, r->tok.loc, "expected '%s', found %s", s, token_name(r));
}

const char *reader_expect_kind(Reader *r, TokenKind kind, const char *what) {
  if (r->tok.kind == kind && !r->failed)
    return reader_next(r).text;
  reader_error(r, r->tok.loc, "expected %s, found %s", what, token_name(r));
  return "";
}

Type reader_type(Reader *r) {
  Type t = r->tok.kind == TOK_WORD ? type_from_name(r->tok.text) : TY_NONE;
  if (t == TY_NONE)
    reader_error(r, r->tok.loc, "expected a type (bool i8 i16 i32 i64 u8 u16 u32 f16 bf16 f32 f64), found %s",
                 token_name(r));
  else
    reader_next(r);
  return t;
}

/* ---- numbers */

/* Parses the digits `s` as an integer up to `most`; false if there is another character, or if the number is too large.
 */
static bool parse_digits(const char *s, uint64_t most, uint64_t *out) {
  uint64_t x = 0;
  for (; *s; s++) {
    if (!is_digit(*s) || x > (most - (uint64_t)(*s - '0')) / 10)
      return false;
    x = x * 10 + (uint64_t)(*s - '0');
  }
  *out = x;
  return true;
}

int64_t reader_int(Reader *r, int64_t min, int64_t max) {
  Loc at = r->tok.loc;
  bool negative = reader_accept(r, "-");
  uint64_t x = 0;
  const char *text = reader_expect_kind(r, TOK_NUMBER, "an integer");
  if (r->failed)
    return min;
  bool fits = parse_digits(text, (uint64_t)INT64_MAX + negative, &x);
  int64_t i = (int64_t)(negative ? 0 - x : x);
  if (!fits || i < min || i > max) {
    reader_error(r, at, "expected an integer from %lld to %lld, found '%s%.60s'", (long long)min, (long long)max,
                 negative ? "-" : "", text);
    return min;
  }
  return i;
}

/* A float given by the bits of its f64 form. */
static Const bits_const(Reader *r, Loc at, const char *text, Type t) {
  uint64_t bits = 0;
  size_t n = strlen(text) - 2;
  for (size_t i = 0; i < n && n == 16; i++) {
    if (hex_digit(text[i + 2]) < 0)
      n = 0;
    bits = bits << 4 | (uint64_t)(hex_digit(text[i + 2]) & 15);
  }
  Const c;
  memcpy(&c.f, &bits, sizeof bits);
  if (n != 16 || !const_same(c, const_convert(c, TY_F64, t), t))
    reader_error(r, at, "'%.60s' is not the 16 hexadecimal digits of a value of type %s", text, type_name(t));
  return c;
}

/* The infinity or NaN of the name `word`. */
static Const named_float(Reader *r, Loc at, const char *word, bool negative) {
  uint64_t bits = !strcmp(word, "inf") ? UINT64_C(0x7ff0000000000000) : NAN_BITS;
  if (strcmp(word, "inf") && strcmp(word, "nan"))
    reader_error(r, at, "expected a number, inf or nan, found '%.60s'", word);
  bits |= (uint64_t)negative << 63;
  Const c;
  memcpy(&c.f, &bits, sizeof bits);
  return c;
}

/* A constant of the float type `t`. */
static Const float_const(Reader *r, Type t) {
  Loc at = r->tok.loc;
  Const c = {.i = 0};
  bool negative = reader_accept(r, "-");
  if (r->tok.kind == TOK_WORD)
    return named_float(r, at, reader_next(r).text, negative);
  const char *text = reader_expect_kind(r, TOK_NUMBER, "a number");
  if (r->failed)
    return c;
  if (!negative && !strncmp(text, "0x", 2))
    return bits_const(r, at, text, t);
  if (!strncmp(text, "0x", 2) || !const_parse_float(arena_printf(r->arena, "%s%s", negative ? "-" : "", text), t, &c))
    reader_error(r, at, "'%.60s' is malformed or too large for %s", text, type_name(t));
  return c;
}

Const reader_const(Reader *r, Type t) {
  if (t == TY_BOOL) {
    bool yes = reader_accept_word(r, "true");
    if (!yes)
      reader_expect_word(r, "false");
    return (Const){.i = yes};
  }
  if (type_is_float(t))
    return float_const(r, t);
  Type int_type = type_is_int(t) ? t : TY_I64;
  return (Const){.i = reader_int(r, type_least(int_type), type_most(int_type))};
}
