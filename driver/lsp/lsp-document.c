/* driver/lsp/lsp-document.c: the open programs: their text, the front end's results for it, and positions in it. */
#include "driver/lsp/lsp.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- positions */

/* The text of line `line`, counted from 1; for lines beyond the last, the empty end of the text. */
static const char *line_text(const char *text, int line) {
  for (; line > 1 && text; line--) {
    text = strchr(text, '\n');
    text = text ? text + 1 : NULL;
  }
  return text ? text : "";
}

/* The number of bytes of the character at `s`, and its number of UTF-16 units. A byte that is not UTF-8 counts as one
 * unit. */
static int character(const char *s, int *units) {
  unsigned char c = (unsigned char)*s;
  int n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
  for (int i = 1; i < n; i++)
    if (((unsigned char)s[i] & 0xc0) != 0x80)
      n = 1;
  *units = n == 4 ? 2 : 1;
  return n;
}

json_t *document_position(const Document *d, int line, int col) {
  const char *s = line_text(d->text, line), *start = s;
  int at = 0, units;
  for (; *s && *s != '\n' && s - start < col - 1; at += units)
    s += character(s, &units);
  return json_pack("{s:i, s:i}", "line", line > 0 ? line - 1 : 0, "character", at);
}

bool document_place(const Document *d, json_t *position, int *line, int *col) {
  json_t *l = json_object_get(position, "line"), *c = json_object_get(position, "character");
  if (!json_is_integer(l) || !json_is_integer(c) || json_integer_value(l) < 0 || json_integer_value(l) > 1 << 28)
    return false;
  *line = (int)json_integer_value(l) + 1;
  const char *s = line_text(d->text, *line), *start = s;
  int units;
  for (json_int_t at = 0; *s && *s != '\n' && at < json_integer_value(c); at += units)
    s += character(s, &units);
  *col = (int)(s - start) + 1;
  return true;
}

json_t *document_range(const Document *d, int line, int col, int bytes) {
  return json_pack("{s:o, s:o}", "start", document_position(d, line, col), "end",
                   document_position(d, line, col + bytes));
}

/* The number of bytes of the word or number at a position, or 1. */
static int extent(const Document *d, int line, int col) {
  const char *s = line_text(d->text, line);
  int length = (int)strcspn(s, "\n"), n = 0;
  if (line < 1 || col > length)
    return 0;
  for (s += col - 1; isalnum((unsigned char)s[n]) || s[n] == '_'; n++)
    ;
  return n ? n : 1;
}

/* ---------------------------------------------------------------- messages */

/* A message's text as a JSON string; the text may contain a part of a character. */
static json_t *string(const char *text) {
  json_t *s = json_string(text);
  if (s)
    return s;
  char copy[2048];
  snprintf(copy, sizeof copy, "%s", text);
  for (char *c = copy; *c; c++)
    *c = (unsigned char)*c < 0x80 ? *c : '?';
  return json_string(copy);
}

/* Is the message about the document itself, not about a file that it includes? */
static bool is_own(const Document *d, const StcMessage *m) { return !m->file || strcmp(m->file, d->path) == 0; }

/* The text of the message; if it is about another file, with the position. */
static json_t *said(const Document *d, const StcMessage *m) {
  if (m->line <= 0 || is_own(d, m))
    return string(m->text);
  char whole[2048];
  snprintf(whole, sizeof whole, "%s:%d:%d: %s", m->file, m->line, m->column, m->text);
  return string(whole);
}

/* Adds a note: to the message before it as related information if it has a position, else to its text. */
static void add_note(Document *d, const StcMessage *m) {
  json_t *last = json_array_get(d->messages, json_array_size(d->messages) - 1);
  if (!last)
    return;
  if (m->line > 0 && is_own(d, m)) {
    json_t *related = json_object_get(last, "relatedInformation");
    if (!related)
      json_object_set_new(last, "relatedInformation", related = json_array());
    json_array_append_new(related, json_pack("{s:{s:s, s:o}, s:o}", "location", "uri", d->uri, "range",
                                             document_range(d, m->line, m->column, extent(d, m->line, m->column)),
                                             "message", string(m->text)));
    return;
  }
  const char *before = json_string_value(json_object_get(last, "message"));
  json_t *text = said(d, m);
  json_object_set_new(last, "message", json_sprintf("%s\n%s", before, json_string_value(text)));
  json_decref(text);
}

void document_message(void *user, const StcMessage *m) {
  Document *d = ((Server *)user)->current;
  if (!d)
    return;
  if (m->kind == STC_NOTE) {
    add_note(d, m);
    return;
  }
  bool own = m->line > 0 && is_own(d, m);
  int line = own ? m->line : 1, col = own ? m->column : 1;
  json_array_append_new(d->messages, json_pack("{s:o, s:i, s:s, s:o}", "range",
                                               document_range(d, line, col, extent(d, line, col)), "severity",
                                               m->kind == STC_ERROR     ? 1
                                               : m->kind == STC_WARNING ? 2
                                                                        : 3,
                                               "source", "stc", "message", said(d, m)));
}

/* ---------------------------------------------------------------- documents */

Document *document_find(Server *s, const char *uri) {
  for (Document *d = s->documents; d && uri; d = d->next)
    if (strcmp(d->uri, uri) == 0)
      return d;
  return NULL;
}

/* Frees the front end's results. */
static void forget(Document *d) {
  workspace_close(&d->w);
  json_decref(d->messages);
  d->messages = NULL;
  d->outline = NULL;
}

void document_close(Server *s, Document *d) {
  Document **at = &s->documents;
  while (*at != d)
    at = &(*at)->next;
  *at = d->next;
  forget(d);
  free(d->uri);
  free(d->path);
  free(d->text);
  free(d);
}

static bool is_file_uri(const char *uri) { return strncmp(uri, "file://", 7) == 0; }

/* The value of the two hexadecimal digits at `s`; 0 if they are none. */
static int byte_of(const char *s) {
  char digits[3] = {s[0], s[0] ? s[1] : 0, 0};
  return isxdigit((unsigned char)digits[0]) && isxdigit((unsigned char)digits[1]) ? (int)strtol(digits, NULL, 16) : 0;
}

/* The path of the file that `uri` names, with bytes decoded from %XX; if it names no file, the URI. malloc; NULL: no
 * memory. */
static char *path_of(const char *uri) {
  char *path = strdup(is_file_uri(uri) ? uri + 7 : uri), *to = path;
  if (!path || !is_file_uri(uri))
    return path;
  for (const char *from = path; *from; to++) {
    int byte = *from == '%' ? byte_of(from + 1) : 0;
    *to = byte ? (char)byte : *from;
    from += byte ? 3 : 1;
  }
  *to = 0;
  return path;
}

/* A new document called `uri`; NULL: no memory. */
static Document *document_new(const char *uri) {
  Document *d = calloc(1, sizeof *d);
  if (d && (!(d->uri = strdup(uri)) || !(d->path = path_of(uri)))) {
    free(d->uri);
    free(d);
    return NULL;
  }
  return d;
}

/* The arguments of the front end's guarded function for a document. */
typedef struct LookArgs {
  Server *s;
  Document *d;
} LookArgs;

static StcStatus look_guarded(void *arg) {
  LookArgs *l = arg;
  const FileReader reader = program_reader(&l->d->w);
  bool is_file = is_file_uri(l->d->uri);
  l->d->outline =
      frontend_outline(l->d->w.arena, l->d->w.diags, l->d->path, l->d->text, is_file ? &reader : NULL, &l->s->options);
  return STC_OK;
}

/* Runs the front end on the document. */
static void look(Server *s, Document *d) {
  LookArgs args = {s, d};
  d->messages = json_array();
  s->current = d;
  if (workspace_open(&d->w, s->context, NULL) && workspace_guard(&d->w, look_guarded, &args) != STC_OK)
    d->outline = NULL;
  s->current = NULL;
}

Document *document_set(Server *s, const char *uri, const char *text, int64_t version) {
  Document *d = document_find(s, uri);
  char *copy = strdup(text);
  if (!d && copy && (d = document_new(uri))) {
    d->next = s->documents;
    s->documents = d;
  }
  if (!d || !copy)
    return free(copy), NULL;
  forget(d);
  free(d->text);
  d->text = copy;
  d->version = version;
  look(s, d);
  return d;
}
