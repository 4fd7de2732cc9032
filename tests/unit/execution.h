/* execution.h: what the tests of binding, interpreter and simulator share: modules from text, arrays, and the
 * messages that came. */
#ifndef STC_TESTS_EXECUTION_H
#define STC_TESTS_EXECUTION_H

#include <string.h>

#include "tests/unit/testing.h"
#include "ir/ir.h"

/* A test's world: all messages since the last `fresh`, one a line as "LINE: text", and the number of the module's first
 * text line is 1. */
typedef struct World {
  Arena *arena;
  Diags *diags;
  Str messages;
  Const scalars[16];
  void *fields[16];
} World;

static void note_message(void *user, const Diag *d) {
  str_addf(&((World *)user)->messages, "%d: %s\n", d->line, d->message);
}

static int make_world(void **state) {
  World *w = test_calloc(1, sizeof *w);
  w->arena = arena_new(NULL, NULL);
  w->diags = diags_new(w->arena, note_message, w);
  w->messages.arena = w->arena;
  *state = w;
  return 0;
}

static int free_world(void **state) {
  World *w = *state;
  arena_free(w->arena);
  test_free(w);
  return 0;
}

/* The module of `text`, bound to the `n` overrides and with zeroed arrays for its fields; fails the test if that fails.
 */
static inline Module *load(World *w, const char *text, int n, const Define *defs) {
  Module *m = module_parse(w->arena, w->diags, "test", text);
  if (!m || !module_bind(m, n, defs, w->scalars, w->diags))
    fail_msg("%s", w->messages.s);
  for (int i = 0; i < m->nfields; i++) {
    int64_t shape[MAX_RANK], points = field_shape(&m->fields[i], w->scalars, shape);
    w->fields[i] =
        m->fields[i].temp ? NULL : arena_alloc(w->arena, (size_t)points * (size_t)type_bytes(m, m->fields[i].type));
  }
  return m;
}

/* The world's arrays and scalars as a binding. */
static inline Binding binding(World *w) { return (Binding){.scalars = w->scalars, .fields = w->fields}; }

/* The messages contain `text`. */
static inline void assert_message(World *w, const char *text) {
  if (!w->messages.n || !strstr(w->messages.s, text))
    fail_msg("expected \"%s\" in:\n%s", text, w->messages.n ? w->messages.s : "(no messages)");
}

#endif
