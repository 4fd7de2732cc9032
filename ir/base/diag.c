/* ir/base/diag.c: messages about a source text, with the line and a caret. */
#include "ir/base/base.h"

#include <string.h>

/* A part of a source's text: it begins with line `line`. */
typedef struct SourcePart {
  int line;
  const char *text;
} SourcePart;

/* A source text that places refer to; its parts are sorted by line. */
typedef struct Source {
  const char *name;
  int nparts;
  SourcePart *parts;
} Source;

struct Diags {
  Arena *arena;
  DiagFn fn;
  void *user;
  int nsources;
  Source *sources;
  int errors, before; /* all errors; those before the current call */
  bool remarks;
  DiagWords words; /* NULL: messages name options */
  bool hidden;     /* the last message was not shown, so its notes are not shown either */
};

/* The sink of collections that were made without one: prints to standard error. */
static void print_to_stderr(void *user, const Diag *d) {
  (void)user;
  diag_print(stderr, d, false);
}

static void drop_message(void *user, const Diag *d) { (void)user, (void)d; }

Diags *diags_new(Arena *a, DiagFn fn, void *user) {
  Diags *d = ARENA_NEW(a, Diags);
  d->arena = a;
  d->fn = fn ? fn : print_to_stderr;
  d->user = user;
  return d;
}

Diags *diags_quiet(Arena *a) { return diags_new(a, drop_message, NULL); }

int diags_add_source(Diags *d, const char *name, const char *text) {
  Source s = {arena_strdup(d->arena, name), 0, NULL};
  ARENA_PUSH(d->arena, d->sources, d->nsources, s);
  if (text)
    diags_add_part(d, d->nsources - 1, 1, text);
  return d->nsources - 1;
}

void diags_add_part(Diags *d, int file, int line, const char *text) {
  Source *s = &d->sources[file];
  SourcePart part = {line, text};
  ARENA_PUSH(d->arena, s->parts, s->nparts, part);
}

int diags_errors(const Diags *d) { return d->errors; }
void diags_begin_call(Diags *d) { d->before = d->errors; }
void diags_enable_remarks(Diags *d, bool on) { d->remarks = on; }

bool diags_remarks_enabled(const Diags *d) { return d->remarks; }
void diags_speak_by(Diags *d, DiagWords words) { d->words = words; }
bool diags_speaks_of_options(const Diags *d) { return !d->words; }

/* A copy of line `line` (from 1) of `text`, NULL if the text has fewer lines. */
static const char *source_line(Arena *a, const char *text, int line) {
  for (int i = 1; i < line; i++) {
    text = strchr(text, '\n');
    if (!text)
      return NULL;
    text++;
  }
  return arena_strndup(a, text, strcspn(text, "\r\n"));
}

/* The same for the source `s`. */
static const char *line_of(Arena *a, const Source *s, int line) {
  int i = s->nparts - 1;
  while (i > 0 && s->parts[i].line > line)
    i--;
  return i < 0 ? NULL : source_line(a, s->parts[i].text, line - s->parts[i].line + 1);
}

/* Counts a message, and decides whether it is shown: by its kind, the number of errors so far and the message before
 * it. */
static bool is_shown(Diags *d, DiagKind kind) {
  if (kind == DIAG_NOTE)
    return !d->hidden;
  if (kind == DIAG_ERROR)
    d->hidden = ++d->errors - d->before > MAX_ERRORS;
  else
    d->hidden = kind == DIAG_REMARK && !d->remarks;
  return !d->hidden;
}

/* Formats a message and passes it to the sink. */
static void report(Diags *d, DiagKind kind, Loc at, const char *fmt, va_list ap) {
  if (!is_shown(d, kind))
    return;
  Str s = {.arena = d->arena};
  str_addv(&s, fmt, ap);
  Diag m = {.kind = kind, .message = d->words ? d->words(d->arena, s.s) : s.s};
  if (at.line > 0 && at.file >= 0 && at.file < d->nsources) {
    m.file = d->sources[at.file].name;
    m.line = at.line;
    m.col = at.col;
    m.source = line_of(d->arena, &d->sources[at.file], at.line);
  }
  d->fn(d->user, &m);
}

#define REPORT(NAME, KIND) \
  void NAME(Diags *d, Loc at, const char *fmt, ...) { \
    va_list ap; \
    va_start(ap, fmt); \
    report(d, KIND, at, fmt, ap); \
    va_end(ap); \
  }
REPORT(diag_error, DIAG_ERROR)
REPORT(diag_warning, DIAG_WARNING)
REPORT(diag_remark, DIAG_REMARK)
REPORT(diag_note, DIAG_NOTE)

/* Prints `d`'s source line and a caret below its column; keeps tabs, so that the caret stands at the right place. Of a
 * very long line it prints only the part around the column. */
static void print_caret(FILE *to, const Diag *d, bool color) {
  enum { BEFORE = 120, MOST = 240 };
  size_t length = strlen(d->source), column = (size_t)d->col - 1 < length ? (size_t)d->col - 1 : length;
  size_t from = length > MOST && column > BEFORE ? column - BEFORE : 0,
         shown = length - from > MOST ? MOST : length - from;
  fprintf(to, "%s%.*s%s\n", from ? "..." : "", (int)shown, d->source + from, from + shown < length ? "..." : "");
  fprintf(to, "%s", from ? "   " : "");
  for (size_t i = from; i < column; i++)
    fputc(d->source[i] == '\t' ? '\t' : ' ', to);
  fprintf(to, "%s^%s\n", color ? "\033[1;32m" : "", color ? "\033[0m" : "");
}

void diag_print(FILE *to, const Diag *d, bool color) {
  static const char *const names[] = {"error", "warning", "remark", "note"};
  static const char *const colors[] = {"\033[1;31m", "\033[1;35m", "\033[1;34m", "\033[1;36m"};
  if (d->file)
    fprintf(to, "%s:%d:%d: ", d->file, d->line, d->col);
  else
    fprintf(to, "stc: ");
  fprintf(to, "%s%s:%s %s\n", color ? colors[d->kind] : "", names[d->kind], color ? "\033[0m" : "", d->message);
  if (d->source && d->col > 0)
    print_caret(to, d, color);
}
