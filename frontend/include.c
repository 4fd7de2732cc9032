/* frontend/include.c: replaces include "FILE"; by the file: the result is one text, with marks from which the lexer
 * learns the file of each line.
 *
 * A mark is a line that begins with a byte that no program contains: MARK '<' NAME where the text of a file begins, and
 * MARK '>' LINE after it, where the including file continues. So the text is complete for all who store, compare or
 * send a program. */
#include "frontend/ast.h"

#include <string.h>

/* The file that is being read: its name in messages, the file that includes it, and the place of that `include`. */
typedef struct File {
  const char *name, *identity;
  const struct File *by;
  Loc at;
} File;

/* The program that is being joined. seen: identities of all files so far. */
typedef struct Join {
  Arena *arena;
  Diags *d;
  const FileReader *reader;
  Str out;
  int nseen, depth;
  const char **seen;
  bool failed;
} Join;

/* Is `t` the word of an include in a place for declarations, in no block and after the end of another declaration?
 * `before`: the token before it, NULL for none; `depth`: the number of open braces. */
static bool is_include(const Token *t, const Token *before, int depth) {
  return t->kind == TOK_NAME && !strcmp(t->text, "include") && t[1].kind == TOK_STRING && t[2].kind == TOK_SEMI &&
         depth == 0 && (!before || before->kind == TOK_SEMI || before->kind == TOK_RBRACE);
}

/* The path that is written in the string `t`, from the folder of the file `by`. */
static char *path_of(Arena *a, const char *by, const Token *t) {
  char *name = arena_strndup(a, t->text + 1, strlen(t->text) - 2);
  const char *slash = strrchr(by, '/');
  return *name == '/' || !slash ? name : arena_printf(a, "%.*s%s", (int)(slash - by) + 1, by, name);
}

/* Reports that the file at `path` includes itself through `file`. */
static void report_cycle(Join *j, Loc at, const char *path, const char *identity, const File *file) {
  diag_error(j->d, at, "'%s' includes itself; move what both need into a file of its own", path);
  for (; file && strcmp(file->identity, identity); file = file->by)
    if (file->by)
      diag_note(j->d, file->at, "'%s' is included here", file->name);
}

static void join(Join *j, const File *file, const char *text);

/* Replaces the include of string `t` in `file` by its file, unless that was included before. */
static void include_file(Join *j, const File *file, const Token *t) {
  const char *path = path_of(j->arena, file->name, t), *why = NULL;
  const char *identity = j->reader->identity(j->reader->user, path);
  char *text = NULL;
  for (const File *f = file; f; f = f->by)
    if (!strcmp(f->identity, identity)) {
      report_cycle(j, t->loc, path, identity, file);
      j->failed = true;
      return;
    }
  for (int i = 0; i < j->nseen; i++)
    if (!strcmp(j->seen[i], identity))
      return;
  ARENA_PUSH(j->arena, j->seen, j->nseen, identity);
  if (j->depth < MAX_INCLUDES)
    text = j->reader->read(j->reader->user, path, &why);
  else
    why = "files include each other too deeply";
  if (!text || strchr(text, LEX_MARK) || strchr(path, '\n')) {
    diag_error(j->d, t->loc, "cannot include '%s': %s", path, why ? why : "it holds a control character");
    j->failed = true;
    return;
  }
  const File inner = {path, identity, file, t->loc};
  str_addf(&j->out, "\n%c<%s\n", LEX_MARK, path);
  j->depth++;
  join(j, &inner, text);
  j->depth--;
}

/* Appends `text` of `file` with all of its includes. */
static void join(Join *j, const File *file, const char *text) {
  int source = diags_add_source(j->d, file->name, text);
  const Token *tokens = lex(j->arena, diags_quiet(j->arena), source, text);
  const char *from = text, *line = text;
  int number = 1, depth = 0;
  for (const Token *t = tokens; t->kind != TOK_EOF && !j->failed; t++) {
    depth += (t->kind == TOK_LBRACE) - (t->kind == TOK_RBRACE && depth);
    if (!is_include(t, t > tokens ? t - 1 : NULL, depth))
      continue;
    for (; number < t->loc.line; number++)
      line = strchr(line, '\n') + 1;
    int start = (int)j->out.n;
    str_addf(&j->out, "%.*s", (int)(line + t->loc.col - 1 - from), from);
    int before = (int)j->out.n;
    include_file(j, file, t + 1);
    for (; number < t[2].loc.line; number++)
      line = strchr(line, '\n') + 1;
    const char *behind = line + t[2].loc.col;
    if ((int)j->out.n > before)
      str_addf(&j->out, "\n%c>%d\n%*s", LEX_MARK, number, t[2].loc.col, "");
    else
      for (from += before - start; from < behind; from++)
        str_add(&j->out, *from == '\n' ? "\n" : " ");
    from = behind;
    t += 2;
  }
  str_add(&j->out, from);
}

char *frontend_include(Arena *a, Diags *d, const char *file, char *text, const FileReader *reader) {
  if (!strstr(text, "include"))
    return text;
  Join j = {.arena = a, .d = d, .reader = reader, .out = {.arena = a}};
  const File top = {file, reader->identity(reader->user, file), NULL, {0}};
  str_add(&j.out, "");
  ARENA_PUSH(a, j.seen, j.nseen, top.identity);
  join(&j, &top, text);
  return j.failed ? NULL : j.nseen == 1 ? text : j.out.s;
}

const char *frontend_included(Arena *a, const char *text, int i) {
  for (const char *p = strchr(text, LEX_MARK); p; p = strchr(p + 1, LEX_MARK))
    if (p[1] == '<' && i-- == 0)
      return arena_strndup(a, p + 2, strcspn(p + 2, "\n"));
  return NULL;
}
