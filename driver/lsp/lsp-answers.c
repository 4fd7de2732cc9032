/* driver/lsp/lsp-answers.c: hover, definition, completion, symbols, formatting. */
#include "driver/lsp/lsp.h"

#include <string.h>

/* The document that the parameters name, with the front end's results, or NULL. */
static Document *asked_document(Server *s, json_t *params) {
  json_t *document = json_object_get(params, "textDocument");
  Document *d = document_find(s, json_string_value(json_object_get(document, "uri")));
  return d && d->outline ? d : NULL;
}

/* The word at the position that the parameters give, and the name to which it refers; NULL if there is none. */
static const OutlineName *asked_name(Server *s, json_t *params, Document **d, const OutlineWord **word) {
  int line, col;
  *d = asked_document(s, params);
  if (!*d || !document_place(*d, json_object_get(params, "position"), &line, &col))
    return NULL;
  *word = outline_word((*d)->outline, line, col);
  return *word ? outline_name((*d)->outline, *word) : NULL;
}

json_t *answer_hover(Server *s, json_t *params) {
  Document *d;
  const OutlineWord *w;
  const OutlineName *n = asked_name(s, params, &d, &w);
  if (!n)
    return json_null();
  return json_pack("{s:{s:s, s:s}, s:o}", "contents", "kind", "markdown", "value", n->text, "range",
                   document_range(d, w->line, w->col, (int)strlen(w->name)));
}

json_t *answer_definition(Server *s, json_t *params) {
  Document *d;
  const OutlineWord *w;
  const OutlineName *n = asked_name(s, params, &d, &w);
  if (!n)
    return json_null();
  return json_pack("{s:s, s:o}", "uri", d->uri, "range", document_range(d, n->line, n->col, (int)strlen(n->name)));
}

/* The protocol's numbers for kinds of completions and symbols. */
static const struct {
  int item, symbol;
} kinds[] = {[OUTLINE_PARAM] = {6, 13},   [OUTLINE_CONSTANT] = {21, 14}, [OUTLINE_FIELD] = {5, 8},
             [OUTLINE_REGION] = {9, 3},   [OUTLINE_FUNCTION] = {3, 12},  [OUTLINE_STENCIL] = {2, 6},
             [OUTLINE_STRUCT] = {22, 23}, [OUTLINE_MEMBER] = {5, 7},     [OUTLINE_LOCAL] = {6, 13}};
enum { ITEM_KEYWORD = 14 };

/* Adds the completion `n`, unless there is one of the same word from an inner scope. */
static void add_item(json_t *items, const OutlineName *n) {
  size_t i;
  json_t *item;
  json_array_foreach(items, i, item) {
    if (strcmp(json_string_value(json_object_get(item, "label")), n->name) == 0)
      return;
  }
  json_array_append_new(items, json_pack("{s:s, s:i, s:s, s:{s:s, s:s}}", "label", n->name, "kind", kinds[n->kind].item,
                                         "detail", n->words, "documentation", "kind", "markdown", "value", n->text));
}

/* Is the position after a dot, where a member is expected? */
static bool behind_dot(const Document *d, int line, int col) {
  const char *s = d->text;
  for (; line > 1 && s; line--)
    s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL;
  if (!s || (int)strcspn(s, "\n") < col - 1)
    return false;
  for (col -= 1; col > 0 && (s[col - 1] == '_' || (s[col - 1] >= '0' && s[col - 1] <= '9') ||
                             ((s[col - 1] | 32) >= 'a' && (s[col - 1] | 32) <= 'z'));)
    col--;
  return col > 0 && s[col - 1] == '.' && (col < 2 || s[col - 2] != '.');
}

json_t *answer_completion(Server *s, json_t *params) {
  Document *d = asked_document(s, params);
  int line, col;
  json_t *items = json_array();
  if (!d || !document_place(d, json_object_get(params, "position"), &line, &col))
    return items;
  bool member = behind_dot(d, line, col);
  for (int i = d->outline->n - 1; i >= 0; i--) {
    const OutlineName *n = &d->outline->names[i];
    bool is_member = n->kind == OUTLINE_MEMBER;
    if (is_member == member && (is_member || outline_sees(n, line, col)))
      add_item(items, n);
  }
  for (int i = 0; !member && outline_reserved(i); i++)
    json_array_append_new(items, json_pack("{s:s, s:i}", "label", outline_reserved(i), "kind", ITEM_KEYWORD));
  return items;
}

json_t *answer_symbols(Server *s, json_t *params) {
  Document *d = asked_document(s, params);
  json_t *symbols = json_array();
  for (int i = 0; d && i < d->outline->n; i++) {
    const OutlineName *n = &d->outline->names[i];
    if (n->from_line)
      continue;
    json_t *range = document_range(d, n->line, n->col, (int)strlen(n->name));
    json_array_append_new(symbols, json_pack("{s:s, s:s, s:i, s:O, s:o}", "name", n->name, "detail", n->words, "kind",
                                             kinds[n->kind].symbol, "range", range, "selectionRange", range));
  }
  return symbols;
}

/* The arguments and results of formatting. */
typedef struct FormatArgs {
  Workspace *w;
  const Document *d;
  const char *made;
} FormatArgs;

static StcStatus format_guarded(void *arg) {
  FormatArgs *f = arg;
  f->made = frontend_format(f->w->arena, f->w->diags, f->d->uri, f->d->text);
  return STC_OK;
}

/* The edit that replaces the document's text by `made`. */
static json_t *replace_all(const Document *d, const char *made) {
  int lines = 1;
  for (const char *s = d->text; *s; s++)
    lines += *s == '\n';
  const char *last = strrchr(d->text, '\n');
  json_t *range = json_pack("{s:{s:i, s:i}, s:o}", "start", "line", 0, "character", 0, "end",
                            document_position(d, lines, (int)strlen(last ? last + 1 : d->text) + 1));
  return json_pack("[{s:o, s:s}]", "range", range, "newText", made);
}

json_t *answer_formatting(Server *s, json_t *params) {
  Document *d = asked_document(s, params);
  Workspace w;
  FormatArgs args = {&w, d, NULL};
  json_t *edits = NULL;
  if (!d || !workspace_open(&w, s->context, NULL))
    return json_null();
  if (workspace_guard(&w, format_guarded, &args) == STC_OK && args.made)
    edits = strcmp(args.made, d->text) == 0 ? json_array() : replace_all(d, args.made);
  workspace_close(&w);
  return edits ? edits : json_null();
}
