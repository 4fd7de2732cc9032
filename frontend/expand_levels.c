/* expand_levels.c: tokens to tokens, for programs with levels of the grid:
 *
 *   levels L = 0 .. 2 of G;                        names L(0), L(1), L(2)
 *   field x : f64 on L;                            field x(0) : f64 on L(0); field x(1) : f64 on L(1); ...
 *   each (l in 0 .. 1) {                           stencil down(0)(x(1))[L(1)] = fine(x(0))[0];
 *     stencil down(x(l+1))[L(l+1)] =               stencil down(1)(x(2))[L(2)] = fine(x(1))[0];
 *       fine(x(l))[0];
 *   }
 *
 * A name with a level becomes one token, whose text no other name can have. So parser, checker, messages and IR need
 * not support levels, but only names and regions. A declaration within the braces of `each` becomes one for each value,
 * and its plain name means the one of the same repetition of the braces. Levels are constants of literals, integer
 * constants of the program and names of `each`. */
#include "frontend/levels.h"

#include "frontend/frontend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A declared integer constant, or the name of an `each` and its value. */
typedef struct Known {
  const char *name;
  int64_t value;
  const struct Known *outer;
} Known;

/* The meaning of the plain name `name` in the present braces. */
typedef struct Own {
  const char *name, *as;
  const struct Own *outer;
} Own;

/* A name with a level, "x(3)", with plain name `name`; or one without, whose text is that. is_levels: it is a name of
 * levels L. */
typedef struct LevelName {
  const char *name, *text;
  bool is_levels;
} LevelName;

/* The state of the expansion: known constants and names, and the tokens so far. */
typedef struct Expand {
  Arena *arena;
  Diags *d;
  const Known *consts, *bound;
  const Own *own;
  const char *suffix; /* "3" or "3,1" in braces of each, else "" */
  int nnames, n, turns, depth;
  LevelName *names;
  Token *out;
  bool failed;
} Expand;

static bool is_word(const Token *t, const char *word) { return t->kind == TOK_NAME && !strcmp(t->text, word); }

/* Reports an error at `at`. */
static void fail(Expand *x, Loc at, const char *message) {
  if (!x->failed)
    diag_error(x->d, at, "%s", message);
  x->failed = true;
}

/* The change of the number of open brackets by a token. */
static int opens(const Token *t) {
  return (t->kind == TOK_LPAREN || t->kind == TOK_LBRACKET || t->kind == TOK_LBRACE) -
         (t->kind == TOK_RPAREN || t->kind == TOK_RBRACKET || t->kind == TOK_RBRACE);
}

/* The bracket that closes the one at `t`; `end` if there is none before that. */
static const Token *closing(const Token *t, const Token *end) {
  int depth = 0;
  for (; t < end; t++)
    if ((depth += opens(t)) == 0)
      return t;
  return end;
}

/* The first token from `t` on, outside of brackets, of kind `kind`, or (TOK_NAME) with the text `word`; `end`: none. */
static const Token *find(const Token *t, const Token *end, Tok kind, const char *word) {
  for (int depth = 0; t < end; t++) {
    if (depth == 0 && (word ? is_word(t, word) : t->kind == kind))
      return t;
    depth += opens(t);
  }
  return end;
}

/* ---- integer constants */

/* A constant expression that is being parsed, at depth `depth` of brackets and signs; ok: no error so far. */
typedef struct Reading {
  const Expand *x;
  const Token *t, *end;
  bool ok;
  int depth;
} Reading;

static int64_t sum(Reading *r);

static const Known *known(const Expand *x, const char *name) {
  for (const Known *k = x->bound; k; k = k->outer)
    if (!strcmp(k->name, name))
      return k;
  for (const Known *k = x->consts; k; k = k->outer)
    if (!strcmp(k->name, name))
      return k;
  return NULL;
}

/* A literal, a name, a bracket, a sign before one of these. */
static int64_t operand(Reading *r) {
  const Token *t = r->t;
  if (t >= r->end || r->depth > MAX_NESTING) {
    r->ok = false;
    return 0;
  }
  r->t++;
  if (t->kind == TOK_INT) {
    errno = 0;
    long long v = strtoll(t->text, NULL, 10);
    r->ok = r->ok && !errno && v < INT32_MAX;
    return v;
  }
  if (t->kind == TOK_MINUS || t->kind == TOK_LPAREN) {
    r->depth++;
    int64_t v = t->kind == TOK_MINUS ? -operand(r) : sum(r);
    r->depth--;
    if (t->kind == TOK_MINUS)
      return v;
    r->ok = r->ok && r->t < r->end && r->t->kind == TOK_RPAREN;
    r->t++;
    return v;
  }
  const Known *k = t->kind == TOK_NAME ? known(r->x, t->text) : NULL;
  r->ok = r->ok && k;
  return k ? k->value : 0;
}

/* Products, quotients and remainders of operands. All numbers stay below 2^31. */
static int64_t product(Reading *r) {
  int64_t v = operand(r);
  while (r->ok && r->t < r->end && (r->t->kind == TOK_STAR || r->t->kind == TOK_SLASH || r->t->kind == TOK_PERCENT)) {
    Tok kind = r->t++->kind;
    int64_t by = operand(r);
    r->ok = r->ok && (kind == TOK_STAR || by);
    if (r->ok)
      v = kind == TOK_STAR ? v * by : kind == TOK_SLASH ? v / by : v % by;
    r->ok = r->ok && v < INT32_MAX && v > -INT32_MAX;
  }
  return v;
}

static int64_t sum(Reading *r) {
  int64_t v = product(r);
  while (r->ok && r->t < r->end && (r->t->kind == TOK_PLUS || r->t->kind == TOK_MINUS)) {
    Tok kind = r->t++->kind;
    int64_t by = product(r);
    v = kind == TOK_PLUS ? v + by : v - by;
    r->ok = r->ok && v < INT32_MAX && v > -INT32_MAX;
  }
  return v;
}

/* The value of the tokens from `t` to before `end`, if they are a known constant. */
static bool constant(const Expand *x, const Token *t, const Token *end, int64_t *out) {
  Reading r = {x, t, end, t < end, 0};
  *out = sum(&r);
  return r.ok && r.t == end;
}

/* ---- names with levels */

static const LevelName *name_with(const Expand *x, const char *text) {
  for (int i = 0; i < x->nnames; i++)
    if (!strcmp(x->names[i].text, text))
      return &x->names[i];
  return NULL;
}

/* Reports that the name at `t` is in use for something else. */
static void fail_taken(Expand *x, const Token *t) {
  fail(x, t->loc,
       arena_printf(x->arena, "the name '%s' is taken; all names of a program differ, also in the braces of each",
                    t->text));
}

/* A name with a level, of plain name `name`; NULL: there is none. */
static const LevelName *name_of(const Expand *x, const char *name) {
  for (int i = 0; i < x->nnames; i++)
    if (!strcmp(x->names[i].name, name))
      return &x->names[i];
  return NULL;
}

static const char *with_level(const Expand *x, const char *name, const char *level) {
  return arena_printf(x->arena, "%s(%s)", name, level);
}

/* Reports that the program is, or becomes, too long. */
static void too_long(Expand *x, Loc at) {
  fail(x, at,
       arena_printf(x->arena, "the program becomes too long where its 'each' are written out; write fewer levels"));
}

/* Adds the name `text`, of plain name `name`, unless it is there; `at` is where it stands. */
static void add_name(Expand *x, Loc at, const char *name, const char *text, bool is_levels) {
  LevelName n = {name, text, is_levels};
  if (x->nnames >= MAX_NAMES)
    too_long(x, at);
  else if (!name_with(x, text))
    ARENA_PUSH(x->arena, x->names, x->nnames, n);
}

static void emit(Expand *x, const Token *t, const char *text) {
  Token copy = *t;
  copy.text = text ? arena_strndup(x->arena, text, strlen(text)) : copy.text;
  if (x->n >= MAX_EXPANDED)
    too_long(x, t->loc);
  else
    ARENA_PUSH(x->arena, x->out, x->n, copy);
}

/* The levels in the brackets from `t` on as "3" or "3,1"; NULL: they are not constant. */
static const char *levels_at(const Expand *x, const Token *t, const Token *close) {
  Str s = {.arena = x->arena};
  while (t < close) {
    int64_t v;
    const Token *comma = find(t + 1, close, TOK_COMMA, NULL);
    if (!constant(x, t + 1, comma, &v))
      return NULL;
    str_addf(&s, "%s%lld", s.n ? "," : "", (long long)v);
    t = comma;
  }
  return s.n ? s.s : NULL;
}

/* If a name with a known level, name(l + 1), is at `t`, takes it: its last token, else NULL. */
static const Token *take_level(Expand *x, const Token *t, const Token *end) {
  const Token *close = t + 1 < end && t[1].kind == TOK_LPAREN ? closing(t + 1, end) : end;
  const char *level = close < end && name_of(x, t->text) ? levels_at(x, t + 1, close) : NULL;
  if (!level)
    return NULL;
  const char *text = with_level(x, t->text, level);
  if (!name_with(x, text))
    fail(x, t->loc,
         arena_printf(x->arena, "'%s' has no level %s here; one that it has is '%s'", t->text, level,
                      name_of(x, t->text)->text));
  emit(x, t, text);
  return close;
}

/* Emits the plain name at `t` with its meaning in the present braces. */
static void emit_plain(Expand *x, const Token *t) {
  for (const Own *o = x->own; o; o = o->outer)
    if (!strcmp(o->name, t->text)) {
      emit(x, t, o->as);
      return;
    }
  for (const Known *k = x->bound; k; k = k->outer)
    if (!strcmp(k->name, t->text)) {
      Token number = *t;
      number.kind = TOK_INT;
      emit(x, &number, arena_printf(x->arena, "%lld", (long long)k->value));
      return;
    }
  emit(x, t, NULL);
}

/* Is `s` a word with a meaning of its own in some places? */
static bool is_some_word(const char *s) {
  const char *word;
  for (int i = 0; (word = outline_reserved(i)); i++)
    if (!strcmp(word, s))
      return true;
  return false;
}

/* Can a value, a region or a name begin after the word `s`? */
static bool leads(const char *s) {
  static const char *const words[] = {"in",    "over",   "at",      "every",  "on",     "where",   "of",
                                      "along", "about",  "by",      "to",     "dry",    "then",    "else",
                                      "if",    "let",    "var",     "const",  "until",  "mask",    "field",
                                      "init",  "inject", "outside", "loss",   "region", "repeat",  "probe",
                                      "sum",   "sweep",  "reduce",  "return", "scalar", "stencil", "update"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(words[i], s))
      return true;
  return false;
}

/* Is the name at `t` in a place where the language has a word of its own, such as `up` in `up to 3`, so that it denotes
 * no declaration? It is after the end of a value or a name. */
static bool is_word_here(const Expand *x, const Token *t) {
  const Token *before = x->n ? &x->out[x->n - 1] : NULL;
  bool ends = before && (before->kind == TOK_RPAREN || before->kind == TOK_RBRACKET || before->kind == TOK_INT ||
                         before->kind == TOK_FLOAT || before->kind == TOK_IMAGINARY ||
                         (before->kind == TOK_NAME && !leads(before->text)));
  return ends && is_some_word(t->text);
}

/* Emits the tokens from `t` to before `end`, with names replaced by their meanings. */
static void copy(Expand *x, const Token *t, const Token *end) {
  for (const Token *last; t < end && !x->failed; t++) {
    bool name = t->kind == TOK_NAME && !(x->n && x->out[x->n - 1].kind == TOK_DOT) && !is_word_here(x, t);
    if (name && (last = take_level(x, t, end)))
      t = last;
    else if (name)
      emit_plain(x, t);
    else
      emit(x, t, NULL);
  }
}

/* ---- declarations */

/* Does an `each` begin at `t`? */
static bool is_each(const Token *t, const Token *end) {
  return t + 3 < end && is_word(t, "each") && t[1].kind == TOK_LPAREN && t[2].kind == TOK_NAME && is_word(t + 3, "in");
}

/* Does a declaration of levels, or a repeat, whose word that is, begin at `t`? */
static bool is_named(const Token *t, const Token *end, const char *word) {
  return t + 2 < end && is_word(t, word) && t[1].kind == TOK_NAME;
}

/* The token after the declaration at `t`: after the semicolon, or the closing brace. */
static const Token *behind(const Token *t, const Token *end) {
  int depth = 0;
  for (const Token *first = t; t < end; t++) {
    if (depth == 0 && t > first && parse_begins_declaration(t))
      return t;
    depth += opens(t);
    if (depth <= 0 && t->kind == TOK_SEMI)
      return t + 1;
    if (depth <= 0 && t->kind == TOK_RBRACE)
      return t + 1 < end && t[1].kind == TOK_SEMI ? t + 2 : t + 1;
  }
  return end;
}

/* What a declaration that begins with a certain word declares: one name, or several separated by commas, up to a colon
 * if `to_colon`; refused: it may not be in the braces of each. */
typedef struct Word {
  const char *word;
  bool several, to_colon, refused;
} Word;

static const Word *word_at(const Token *t) {
  static const Word words[] = {{"stencil", 0, 0, 0}, {"init", 0, 0, 0},    {"sweep", 0, 0, 0},  {"inject", 0, 0, 0},
                               {"probe", 0, 0, 0},   {"reduce", 0, 0, 0},  {"region", 0, 0, 0}, {"repeat", 0, 0, 0},
                               {"mask", 0, 0, 0},    {"let", 1, 0, 0},     {"const", 1, 0, 0},  {"scalar", 1, 0, 0},
                               {"field", 1, 1, 0},   {"op", 0, 0, 1},      {"fn", 0, 0, 1},     {"struct", 0, 0, 1},
                               {"param", 1, 0, 1},   {"grid", 0, 0, 1},    {"levels", 0, 0, 1}, {"absorb", 0, 0, 1},
                               {"loss", 0, 0, 1},    {"gradient", 0, 0, 1}};
  for (size_t i = 0; i < sizeof words / sizeof *words && t->kind == TOK_NAME; i++)
    if (!strcmp(t->text, words[i].word) && t[1].kind == TOK_NAME)
      return &words[i];
  return NULL;
}

/* The next name after `t` that the declaration of word `w`, which ends at `end`, declares; NULL: there is none. */
static const Token *next_name(const Word *w, const Token *t, const Token *end) {
  const Token *stop = w->to_colon ? find(t, end, TOK_COLON, NULL) : end, *comma = find(t, stop, TOK_COMMA, NULL);
  return w->several && comma + 1 < stop && comma[1].kind == TOK_NAME ? comma + 1 : NULL;
}

/* Records the names that the declarations between `t` and `end` declare, as names of the present braces. */
static void note_names(Expand *x, const Token *t, const Token *end) {
  while (t < end && !x->failed) {
    const Word *w = word_at(t);
    const Token *next = behind(t, end), *brace = find(t, next, TOK_LBRACE, NULL);
    if (w && w->refused)
      fail(x, t->loc,
           arena_printf(x->arena,
                        "'%s' cannot stand in the braces of each; declare '%s' in front of it, a macro with the level "
                        "as a parameter",
                        w->word, t[1].text));
    for (const Token *name = w ? t + 1 : NULL; name; name = next_name(w, name, next)) {
      if (name_with(x, name->text))
        fail_taken(x, name);
      Own *o = ARENA_NEW(x->arena, Own);
      *o = (Own){name->text, with_level(x, name->text, x->suffix), x->own};
      x->own = o;
      add_name(x, name->loc, name->text, o->as, false);
    }
    if (is_named(t, end, "repeat") && brace < next)
      note_names(x, brace + 1, closing(brace, next));
    t = next;
  }
}

static void declarations(Expand *x, const Token *t, const Token *end);

/* The bounds of the each at `t`, whose round bracket closes at `close`. False after reporting. */
static bool bounds(Expand *x, const Token *t, const Token *close, int64_t *lo, int64_t *hi, int64_t *by) {
  const Token *dots = find(t + 4, close, TOK_DOTS, NULL), *word = find(t + 4, close, TOK_NAME, "by");
  *by = 1;
  bool ok = dots < close && constant(x, t + 4, dots, lo) && constant(x, dots + 1, word, hi) &&
            (word == close || constant(x, word + 1, close, by));
  if (!ok)
    fail(x, t->loc,
         arena_printf(x->arena, "each counts from one integer constant to another: each (l in 0 .. D - 1) { ... }, or "
                                "down, each (l in D - 1 "
                                ".. 0 by -1) { ... }"));
  else if (*by == 0 || *lo < 0 || *hi < 0 || llabs(*hi - *lo) / llabs(*by) >= MAX_TURNS)
    fail(x, t->loc,
         arena_printf(x->arena, "each counts by a step that is not 0, from 0 up at least, and %d times at most",
                      MAX_TURNS));
  return !x->failed;
}

/* Expands the each at `t`; returns the token after it. */
static const Token *each(Expand *x, const Token *t, const Token *end) {
  const Token *close = closing(t + 1, end), *brace = close + 1 < end ? close + 1 : end;
  int64_t lo, hi, by;
  if (brace == end || brace->kind != TOK_LBRACE || closing(brace, end) == end)
    fail(x, t->loc,
         arena_printf(x->arena,
                      "each has what is written out for each value in braces: each (l in 0 .. D - 1) { ... }"));
  if (x->failed || !bounds(x, t, close, &lo, &hi, &by))
    return end;
  if (known(x, t[2].text) || name_with(x, t[2].text) || name_of(x, t[2].text) || is_reserved(t[2].text))
    fail(x, t[2].loc, arena_printf(x->arena, "the name '%s' is taken; give the level another one", t[2].text));
  const Token *last = closing(brace, end);
  if (last > brace + 1 && last[-1].kind != TOK_SEMI && last[-1].kind != TOK_RBRACE)
    fail(x, last->loc, "expected ';', found '}'");
  const Own *own = x->own;
  const Known *consts = x->consts;
  const char *suffix = x->suffix;
  for (int64_t v = lo; (by > 0 ? v <= hi : v >= hi) && !x->failed; v += by) {
    if (++x->turns > MAX_ALL_TURNS)
      too_long(x, t->loc);
    const Known level = {t[2].text, v, x->bound};
    x->bound = &level;
    x->suffix = arena_printf(x->arena, "%s%s%lld", suffix, *suffix ? "," : "", (long long)v);
    note_names(x, brace + 1, last);
    declarations(x, brace + 1, last);
    x->bound = level.outer;
    x->own = own;
    x->consts = consts;
    x->suffix = suffix;
  }
  return last + 1 < end && last[1].kind == TOK_SEMI ? last + 2 : last + 1;
}

/* Records the levels that are declared from `t` to before `end`. */
static void note_levels(Expand *x, const Token *t, const Token *end) {
  const Token *dots = find(t, end, TOK_DOTS, NULL), *of = find(t, end, TOK_NAME, "of");
  int64_t lo, hi;
  if (dots == end || of == end || t[2].kind != TOK_ASSIGN || !constant(x, t + 3, dots, &lo) ||
      !constant(x, dots + 1, of, &hi)) {
    fail(x, t->loc,
         arena_printf(x->arena, "levels are numbered from 0 to an integer constant: levels L = 0 .. D of G;"));
    return;
  }
  if (lo != 0 || hi < 1 || hi >= MAX_LEVELS)
    fail(x, t->loc,
         arena_printf(x->arena, "levels are numbered from 0, which is the grid, to 1 at least and %d at most",
                      MAX_LEVELS - 1));
  for (int64_t v = 0; v <= hi && !x->failed; v++)
    add_name(x, t[1].loc, t[1].text, with_level(x, t[1].text, arena_printf(x->arena, "%lld", (long long)v)), true);
}

/* The place in the declaration of fields from `t` to before `end` that names levels as their region; NULL: there is
 * none. */
static const Token *on_levels(const Expand *x, const Token *t, const Token *end) {
  const Token *on = find(find(t, end, TOK_COLON, NULL), end, TOK_NAME, "on");
  const LevelName *n = on + 1 < end && on[1].kind == TOK_NAME ? name_of(x, on[1].text) : NULL;
  return n && n->is_levels && (on + 2 == end || on[2].kind != TOK_LPAREN) ? on + 1 : NULL;
}

/* Emits the fields declared from `t` to before `end` once for each of the levels named at `on`. */
static void fields_of_levels(Expand *x, const Token *t, const Token *end, const Token *on) {
  const Token *colon = find(t, end, TOK_COLON, NULL);
  for (int l = 0; l < MAX_LEVELS && !x->failed; l++) {
    const char *level = arena_printf(x->arena, "%d", l), *region = with_level(x, on->text, level);
    if (!name_with(x, region))
      return;
    emit(x, t, NULL);
    for (const Token *n = t + 1; n < colon; n++) {
      const char *text = n->kind == TOK_NAME ? with_level(x, n->text, level) : NULL;
      if (text)
        add_name(x, n->loc, n->text, text, false);
      emit(x, n, text);
    }
    copy(x, colon, on);
    emit(x, on, region);
    copy(x, on + 1, end);
  }
}

/* Records the integer constants that are declared from `t` to before `end`. */
static void note_constants(Expand *x, const Token *t, const Token *end) {
  for (const Token *name = t + 1; name;) {
    const Token *comma = find(name, end, TOK_COMMA, NULL), *is = find(name, comma, TOK_ASSIGN, NULL);
    const Token *last = comma == end && end[-1].kind == TOK_SEMI ? end - 1 : comma;
    int64_t v;
    if (name[1].kind != TOK_LBRACKET && is < last && constant(x, is + 1, last, &v)) {
      Known *k = ARENA_NEW(x->arena, Known);
      *k = (Known){name->text, v, x->consts};
      x->consts = k;
    }
    name = comma + 1 < end && comma[1].kind == TOK_NAME ? comma + 1 : NULL;
  }
}

/* The repeat from `t` to before `end`: its braces hold declarations. */
static void repeated(Expand *x, const Token *t, const Token *end) {
  const Token *brace = find(t, end, TOK_LBRACE, NULL), *last = brace < end ? closing(brace, end) : end;
  emit(x, t, NULL);
  copy(x, t + 1, brace < end ? brace + 1 : end);
  if (brace == end)
    return;
  declarations(x, brace + 1, last);
  copy(x, last, end);
}

/* The declarations from `t` to before `end`. */
static void declarations(Expand *x, const Token *t, const Token *end) {
  if (++x->depth > MAX_NESTING)
    fail(x, t->loc,
         arena_printf(x->arena, "braces of each and repeat nest more than %d deep; leave some out", MAX_NESTING));
  while (t < end && !x->failed) {
    const Token *next = behind(t, end), *on;
    if (is_each(t, end)) {
      t = each(x, t, end);
      continue;
    }
    const Word *w = x->own || x->bound ? NULL : word_at(t);
    for (const Token *name = w ? t + 1 : NULL; name; name = next_name(w, name, next)) {
      if (name_of(x, name->text))
        fail_taken(x, name);
      add_name(x, name->loc, "", name->text, false);
    }
    if (is_named(t, next, "levels"))
      note_levels(x, t, next);
    if (is_word(t, "const") && t + 2 < next)
      note_constants(x, t, next);
    if (is_named(t, next, "repeat"))
      repeated(x, t, next);
    else if (is_word(t, "field") && (on = on_levels(x, t, next)))
      fields_of_levels(x, t, next, on);
    else {
      emit(x, t, NULL);
      copy(x, t + 1, next);
    }
    t = next;
  }
  x->depth--;
}

const Token *levels_expand(Arena *a, Diags *d, const Token *t) {
  const Token *end = t;
  bool any = false;
  for (; end->kind != TOK_EOF; end++)
    any = any || is_word(end, "levels") || is_word(end, "each");
  if (!any)
    return t;
  Expand x = {.arena = a, .d = d, .suffix = ""};
  declarations(&x, t, end);
  x.n = x.failed ? 0 : x.n;
  ARENA_PUSH(a, x.out, x.n, *end);
  return x.out;
}
