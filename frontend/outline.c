/* frontend/outline.c: a program's outline for editors: its names, their kinds, and the places where they are declared
 * and visible. It is made even if the program has errors. */
#include "frontend/checker.h"

#include <string.h>

enum { MAX_SOURCE_LINES = 12 };

/* The state while the outline of one program is made. `lines` are the starts of the text's lines; they are numbered
 * from 1. */
typedef struct Maker {
  Arena *arena;
  Checker *c;
  const Parse *p;
  const Token *tokens;
  const char **lines;
  int32_t nlines;
  bool lowered;
  Outline *out;
} Maker;

/* Is position `a` before position `b`? */
static bool before(Loc a, Loc b) { return a.line < b.line || (a.line == b.line && a.col < b.col); }

/* The token at `at`, or the next one. */
static const Token *token_at(const Maker *k, Loc at) {
  const Token *t = k->tokens;
  while (t->kind != TOK_EOF && before(t->loc, at))
    t++;
  return t;
}

/* ---------------------------------------------------------------- descriptions of names */

/* The text of the declaration whose name is at `at`, from the first token of its line to its end; at most
 * MAX_SOURCE_LINES lines. */
static const char *source(const Maker *k, Loc at) {
  const Token *t = token_at(k, at), *first = t;
  int depth = 0, last = at.line;
  while (first > k->tokens && !first->first && first[-1].kind != TOK_SEMI)
    first--;
  for (; t->kind != TOK_EOF; t++) {
    last = t->loc.line;
    depth += (t->kind == TOK_LBRACE) - (t->kind == TOK_RBRACE);
    if (depth < 0 || (depth == 0 && (t->kind == TOK_SEMI || t->kind == TOK_RBRACE)))
      break;
  }
  bool cut = last - first->loc.line >= MAX_SOURCE_LINES;
  last = cut ? first->loc.line + MAX_SOURCE_LINES - 1 : last;
  const char *from = k->lines[first->loc.line] + first->loc.col - 1;
  const char *to =
      cut || t->kind == TOK_EOF ? k->lines[last] + strcspn(k->lines[last], "\n") : k->lines[t->loc.line] + t->loc.col;
  return arena_printf(k->arena, "%.*s%s", (int)(to - from), from, cut ? "\n..." : "");
}

/* Writes offsets, as in "[-1 .. 1, 0 .. 2]". */
static void print_offsets(Str *s, int rank, const int64_t *lo, const int64_t *hi) {
  for (int d = 0; d < rank; d++) {
    str_addf(s, d ? ", %lld" : "[%lld", (long long)lo[d]);
    if (hi[d] != lo[d])
      str_addf(s, " .. %lld", (long long)hi[d]);
  }
  str_add(s, "]");
}

/* The offsets at which a stencil reads `field`: none, or a box. */
typedef struct Reads {
  int32_t field;
  bool any;
  int64_t lo[MAX_RANK], hi[MAX_RANK];
} Reads;

static void add_read(void *user, Op *op) {
  Reads *r = user;
  if (op->code != OP_ACCESS || op->sym != r->field)
    return;
  for (int d = 0; d < MAX_RANK; d++) {
    r->lo[d] = r->any && r->lo[d] < op->off[d] ? r->lo[d] : op->off[d];
    r->hi[d] = r->any && r->hi[d] > op->off[d] ? r->hi[d] : op->off[d];
  }
  r->any = true;
}

/* The offsets at which `st` reads field `f`. */
static Reads reads_of(const Stencil *st, int32_t f) {
  Reads r = {.field = f};
  for (int i = 0; i < st->npieces; i++)
    block_walk(st->pieces[i].body, add_read, &r);
  return r;
}

/* Writes "`wave` reads it at [-2 .. 2, -2 .. 2]." for each stencil that reads field `f` or an older level of it, and
 * which stencils write it. */
static void print_uses(const Maker *k, Str *s, int32_t f) {
  const Module *m = k->c->m;
  for (int i = 0; k->lowered && i < m->nstencils; i++) {
    const Stencil *st = &m->stencils[i];
    for (int g = 0; g < m->nfields; g++) {
      Reads r = reads_of(st, g);
      if (!r.any || (g != f && !(m->fields[g].past && m->fields[g].present == f)))
        continue;
      str_addf(s, "\n\n`%s` reads %s at ", st->name, g == f ? "it" : arena_printf(k->arena, "`%s`", m->fields[g].name));
      print_offsets(s, m->grid.rank, r.lo, r.hi);
      str_add(s, ".");
    }
    for (int t = 0; t < st->ntargets; t++)
      if (st->targets[t] == f)
        str_addf(s, "\n\n`%s` writes it.", st->name);
  }
}

/* Writes the regions of stencil or init `name`, and the offsets at which it reads each field. */
static void print_stencil(const Maker *k, Str *s, const char *name) {
  const Module *m = k->c->m;
  for (int i = 0; k->lowered && i < m->nstencils + m->ninits; i++) {
    const Stencil *st = i < m->nstencils ? &m->stencils[i] : &m->inits[i - m->nstencils];
    if (strcmp(st->name, name) != 0)
      continue;
    for (int p = 0; p < st->npieces; p++) {
      str_add(s, p ? ", `" : "\n\nRegion `");
      box_print(s, m, &st->pieces[p].box);
      str_add(s, "`");
    }
    for (int f = 0; f < m->nfields; f++) {
      Reads r = reads_of(st, f);
      if (!r.any)
        continue;
      str_addf(s, "\n\nReads `%s` at ", m->fields[f].name);
      print_offsets(s, m->grid.rank, r.lo, r.hi);
      str_add(s, ".");
    }
  }
}

/* The declaration of `x` as a code block, its kind, type and region, and then facts about its uses. */
static const char *describe(const Maker *k, const Symbol *x) {
  Str s = {.arena = k->arena};
  const Module *m = k->c->m;
  bool typed = x->kind == SYM_PARAM || x->kind == SYM_LET || x->kind == SYM_COMPLEX || x->kind == SYM_FIELD ||
               x->kind == SYM_ARRAY || x->kind == SYM_COMPLEX_ARRAY || x->kind == SYM_REDUCTION ||
               x->kind == SYM_STATE || x->kind == SYM_FN || x->kind == SYM_CONST;
  bool has_box = x->kind == SYM_FIELD || x->kind == SYM_GRID || x->kind == SYM_REGION;
  str_addf(&s, "```stencil\n%s\n```\n`%s`: %s", source(k, x->loc), x->name, symbol_words(x));
  if (typed && x->type != TY_NONE && !type_is_literal(x->type) && x->type != TY_BRACES)
    str_addf(&s, "%s`%s`", x->kind == SYM_FN ? " that gives " : " of type ", type_text(m, x->type));
  if (has_box && x->box.rank) {
    str_addf(&s, "%s `", x->kind == SYM_FIELD ? " on" : ",");
    if (x->kind == SYM_FIELD)
      field_box_print(&s, m, &m->fields[x->index], &x->box);
    else
      box_print(&s, m, &x->box);
    str_add(&s, "`");
  }
  if (x->kind == SYM_FIELD)
    print_uses(k, &s, x->index);
  if (x->kind == SYM_STENCIL)
    print_stencil(k, &s, x->name);
  return s.s;
}

/* ---------------------------------------------------------------- names */

/* Adds a name that is visible from `from` to just before `to` (from.line 0: everywhere). */
static void add_name(Maker *k, OutlineKind kind, const char *name, Loc at, const char *words, const char *text,
                     Loc from, Loc to) {
  OutlineName n = {kind, name, words, text, at.line, at.col, from.line, from.col, to.line, to.col};
  if (name && at.line > 0)
    ARENA_PUSH(k->arena, k->out->names, k->out->n, n);
}

/* Adds a name of a block, or a parameter of a macro or function. type: the written type, NULL if there is none. */
static void add_local(Maker *k, const char *name, Loc at, const char *words, const TypeExpr *type, Loc to) {
  if (!name)
    return;
  Str s = {.arena = k->arena};
  str_addf(&s, "```stencil\n%s\n```\n`%s`: %s", source(k, at), name, words);
  if (type && type->n == 0)
    str_addf(&s, " of type `%s`", type->name);
  add_name(k, OUTLINE_LOCAL, name, at, words, s.s, at, to);
}

/* The type that the checker gave the let or var at `at`; NULL if it found none. */
static const TypeExpr *found_type(const Maker *k, Loc at) {
  for (int i = 0; i < k->c->nchecked; i++)
    for (int p = 0; p < k->c->checked[i].npieces; p++)
      for (int a = 0; a < k->c->checked[i].pieces[p].n; a++) {
        const Symbol *local = k->c->checked[i].pieces[p].assigns[a].local;
        if (local && local->loc.line == at.line && local->loc.col == at.col && local->type != TY_NONE) {
          TypeExpr *t = ARENA_NEW(k->arena, TypeExpr);
          t->name = type_text(k->c->m, local->type);
          return t;
        }
      }
  return NULL;
}

/* Adds the names that statements declare. */
static void add_statements(Maker *k, int32_t n, const Stmt *s, Loc to) {
  for (int i = 0; i < n; i++) {
    if (s[i].kind == STMT_LET || s[i].kind == STMT_VAR)
      add_local(k, s[i].name, s[i].loc, s[i].kind == STMT_LET ? "a let" : "a var",
                s[i].type ? s[i].type : found_type(k, s[i].loc), to);
    if (s[i].kind == STMT_FOR)
      add_local(k, s[i].name, s[i].loc, "the index of a loop", NULL, to);
    add_statements(k, s[i].n, s[i].body, to);
    add_statements(k, s[i].nother, s[i].other, to);
  }
}

/* Adds the names within declaration `d`; they are visible up to `to`. */
static void add_inner(Maker *k, const Decl *d, Loc to) {
  for (int i = 0; d->kind == DECL_OP && i < d->nnames; i++)
    add_local(k, d->names[i].s, d->names[i].loc, "a parameter of a macro", NULL, to);
  for (int i = 0; i < d->nmembers; i++)
    if (d->kind == DECL_STRUCT)
      add_name(k, OUTLINE_MEMBER, d->members[i].name.s, d->members[i].name.loc, "a member",
               arena_printf(k->arena, "`%s`: a member of `%s`, of type `%s`", d->members[i].name.s, d->name,
                            d->members[i].type ? d->members[i].type->name : "?"),
               d->loc, to);
    else
      add_local(k, d->members[i].name.s, d->members[i].name.loc, "a parameter", d->members[i].type, to);
  add_statements(k, d->nstmts, d->stmts, to);
  for (int i = 0; i < d->npieces; i++)
    add_statements(k, d->pieces[i].n, d->pieces[i].stmts, to);
}

/* The kind by which editors show a symbol. */
static OutlineKind kind_of(const Symbol *x) {
  switch (x->kind) {
  case SYM_FIELD: return OUTLINE_FIELD;
  case SYM_OP:
  case SYM_FN: return OUTLINE_FUNCTION;
  case SYM_STENCIL: return OUTLINE_STENCIL;
  case SYM_STRUCT: return OUTLINE_STRUCT;
  case SYM_GRID:
  case SYM_REGION: return OUTLINE_REGION;
  case SYM_CONST:
  case SYM_TABLE: return OUTLINE_CONSTANT;
  default: return OUTLINE_PARAM;
  }
}

/* Adds all names of the program: first those of declarations, then those within them. */
static void add_names(Maker *k) {
  Loc none = {0}, end = {.line = INT32_MAX, .col = 1};
  for (const Symbol *x = k->c->syms.first; x; x = x->next)
    if (x->decl && x->loc.line > 0 && x->loc.file == k->c->file)
      add_name(k, kind_of(x), x->name, x->loc, symbol_words(x), describe(k, x), none, none);
  for (int i = 0; i < k->p->ndecls; i++) {
    const Decl *next = i + 1 < k->p->ndecls ? k->p->decls[i + 1] : NULL;
    if (k->p->decls[i]->loc.file == k->c->file)
      add_inner(k, k->p->decls[i], next && next->loc.file == k->c->file ? next->loc : end);
  }
}

/* Adds the words of the text that may be names. */
static void add_words(Maker *k) {
  for (const Token *t = k->tokens; t->kind != TOK_EOF; t++) {
    OutlineWord w = {t->text, t->loc.line, t->loc.col, t > k->tokens && t[-1].kind == TOK_DOT};
    if (t->kind == TOK_NAME)
      ARENA_PUSH(k->arena, k->out->words, k->out->nwords, w);
  }
}

/* ---------------------------------------------------------------- the outline */

/* The tokens of the text itself, without those of included files. */
static const Token *own_tokens(const Maker *k, const Token *t) {
  Token *own = NULL;
  int n = 0;
  for (;; t++) {
    if (t->kind == TOK_EOF || t->loc.file == k->c->file)
      ARENA_PUSH(k->arena, own, n, *t);
    if (t->kind == TOK_EOF)
      return own;
  }
}

Outline *frontend_outline(Arena *a, Diags *d, const char *file, const char *text, const FileReader *reader,
                          const FrontendOptions *o) {
  int errors = diags_errors(d);
  const char *whole = reader ? frontend_include(a, d, file, arena_strdup(a, text), reader) : text;
  Parse p;
  Maker k = {.arena = a, .p = &p, .out = ARENA_NEW(a, Outline)};
  k.c = front_program(a, d, file, whole ? whole : text, o, !whole, &p, &k.tokens);
  k.tokens = own_tokens(&k, k.tokens);
  const char *none = text;
  ARENA_PUSH(a, k.lines, k.nlines, none);
  for (const char *s = text; s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
    ARENA_PUSH(a, k.lines, k.nlines, s);
  if (diags_errors(d) == errors) {
    lower_program(k.c);
    k.lowered = true;
  }
  add_names(&k);
  add_words(&k);
  return k.out;
}

const OutlineWord *outline_word(const Outline *o, int line, int col) {
  for (int i = 0; i < o->nwords; i++)
    if (o->words[i].line == line && o->words[i].col <= col && col <= o->words[i].col + (int)strlen(o->words[i].name))
      return &o->words[i];
  return NULL;
}

bool outline_sees(const OutlineName *n, int line, int col) {
  bool behind = line > n->from_line || (line == n->from_line && col >= n->from_col);
  bool ahead = line < n->to_line || (line == n->to_line && col < n->to_col);
  return n->from_line == 0 || (behind && ahead);
}

const OutlineName *outline_name(const Outline *o, const OutlineWord *w) {
  const OutlineName *best = NULL;
  for (int i = 0; i < o->n; i++) {
    const OutlineName *n = &o->names[i];
    if (strcmp(n->name, w->name) != 0 || (n->kind == OUTLINE_MEMBER) != w->behind_dot)
      continue;
    if (n->kind == OUTLINE_MEMBER || outline_sees(n, w->line, w->col))
      best = n;
  }
  return best;
}

const char *outline_reserved(int i) {
  static const char *const more[] = {"on",      "outside",   "history",    "temp",   "input",   "every",  "over",
                                     "at",      "in",        "half",       "odd",    "about",   "up",     "to",
                                     "probe",   "inject",    "scalar",     "update", "spacing", "order",  "side",
                                     "coord",   "diff",      "absorb",     "of",     "but",     "lower",  "upper",
                                     "speed",   "frequency", "reflection", "kappa",  "mask",    "where",  "dry",
                                     "self",    "loss",      "gradient",   "end",    "frames",  "linear", "cycle",
                                     "repeat",  "round",     "sweep",      "along",  "down",    "first",  "next",
                                     "members", "member",    "shared",     "levels", "each",    "by",     "fine",
                                     "coarse",  "complex",   "c64",        "c128",   "conj",    "abs2",   "arg",
                                     "cis",     "lookup",    "within"};
  int n = 0, count = (int)(sizeof more / sizeof *more);
  while (reserved_word(n))
    n++;
  if (i >= n + count)
    return outside_word(i - n - count);
  return i < n ? reserved_word(i) : more[i - n];
}
