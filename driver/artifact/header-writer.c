/* driver/artifact/header-writer.c: the writer of headers and launchers (TextWriter): text with the program's name, the
 * C names of fields and launch-time arrays, and facts about these. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"

#include <ctype.h>
#include <string.h>

/* `fmt` with each $ replaced by the program's name. */
static const char *named(const TextWriter *w, const char *fmt) {
  Str s = {.arena = w->arena};
  str_add(&s, "");
  for (const char *at; (at = strchr(fmt, '$')); fmt = at + 1)
    str_addf(&s, "%.*s%s", (int)(at - fmt), fmt, w->p);
  str_add(&s, fmt);
  return s.s;
}

void c_put(TextWriter *w, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  str_addv(&w->s, named(w, fmt), ap);
  va_end(ap);
}

const char *c_text(const TextWriter *w, const char *fmt, ...) {
  Str s = {.arena = w->arena};
  va_list ap;
  va_start(ap, fmt);
  str_addv(&s, named(w, fmt), ap);
  va_end(ap);
  return s.s;
}

const char *c_affine(const TextWriter *w, Affine x) { return affine_c_text(w->arena, w->m, x, "p->"); }

const char *comment_name(Arena *a, const char *name) {
  char *s = arena_strdup(a, name);
  for (char *c = s; *c; c++)
    if (iscntrl((unsigned char)*c) || (*c == '*' && (c[1] == '/' || (c > s && c[-1] == '/'))))
      *c = '?';
  return s;
}

/* Is `name` among the `n` names? */
static bool is_taken(const char *const *names, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0)
      return true;
  return false;
}

/* `name` as an identifier that is not among the `n` names: "v_0" for the component v.0, "U_1" for the older level U@1.
 */
static const char *unique(Arena *a, const char *const *names, int n, const char *name) {
  const char *s = arena_identifier(a, name);
  while (is_taken(names, n, s))
    s = arena_printf(a, "%s_", s);
  return s;
}

/* Chooses the names of all fields and arrays. Names that are identifiers stay. */
static void choose_names(TextWriter *w) {
  const Module *m = w->m;
  int n = m->nfields + m->nparam_arrays, plain = 0;
  const char **names = ARENA_ARRAY(w->arena, const char *, 2 * n + 1);
  for (int i = 0; i < n; i++) {
    const char *name = i < m->nfields ? m->fields[i].name : m->param_arrays[i - m->nfields].name;
    if (strcmp(arena_identifier(w->arena, name), name) == 0)
      names[n + plain++] = name;
  }
  for (int i = 0; i < n; i++) {
    const char *name = i < m->nfields ? m->fields[i].name : m->param_arrays[i - m->nfields].name;
    const char *s = arena_identifier(w->arena, name);
    while (strcmp(s, name) != 0 && is_taken(names + n, plain, s))
      s = c_text(w, "%s_", s);
    names[i] = strcmp(s, name) == 0 ? s : unique(w->arena, names, i, s);
  }
  w->fields = names;
  w->arrays = names + m->nfields;
}

TextWriter header_writer(Arena *a, const StcProgram *p, const Module *m, const Target *gpu) {
  TextWriter w = {{a, NULL, 0, 0}, a, p, m, arena_identifier(a, p->name), NULL, NULL, gpu, NULL};
  choose_names(&w);
  return w;
}

HeaderNames header_names(Arena *a, const StcProgram *p, const Module *m) {
  TextWriter w = header_writer(a, p, m, NULL);
  return (HeaderNames){w.p, w.fields, w.arrays};
}

const char *header_element(const TextWriter *w, int field) { return c_type(w->m->fields[field].type); }

bool header_field_is_given(const Module *m, int f) { return !m->fields[f].temp && !field_made_once(m, f); }

bool header_is_given(const Module *m, int b) {
  const Buffer *buffer = &m->buffers[b];
  return buffer->kind == BUFFER_PARAM ||
         (buffer->kind == BUFFER_FIELD && buffer->copy == 0 && header_field_is_given(m, buffer->field));
}

const char *header_members(const TextWriter *w) { return c_affine(w, box_extent(w->arena, &w->m->grid, 0)); }

const char *header_cells(const TextWriter *w, const Buffer *b) {
  const char *cells = c_text(w, "INT64_C(%lld)", (long long)b->cells);
  return b->each ? c_text(w, "(%s * stc_imax(%s, 1))", cells, header_members(w)) : cells;
}

const char *header_escaped(Arena *a, const char *text) {
  Str s = {a, NULL, 0, 0};
  str_add(&s, "");
  for (; *text; text++)
    str_addf(&s, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
  return s.s;
}
