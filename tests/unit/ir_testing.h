/* ir_testing.h: what the unit tests of ir/ share: an arena with a diagnostics sink that keeps all messages as text. */
#ifndef STC_TESTS_IR_TESTING_H
#define STC_TESTS_IR_TESTING_H

#include "tests/unit/testing.h"
#include <math.h>
#include <string.h>

#include "ir/ir.h"

/* An arena, its diagnostics, and the messages so far, one "LINE:COL: KIND: TEXT" a line. */
typedef struct Fixture {
  Arena *arena;
  Diags *diags;
  Str messages;
} Fixture;

/* Keeps a message. */
static inline void keep_message(void *user, const Diag *d) {
  static const char *const kinds[] = {"error", "warning", "remark", "note"};
  str_addf(user, "%d:%d: %s: %s\n", d->line, d->col, kinds[d->kind], d->message);
}

/* A test's fresh fixture. */
static inline int setup(void **state) {
  Arena *a = arena_new(NULL, NULL);
  Fixture *f = ARENA_NEW(a, Fixture);
  f->arena = a;
  f->messages.arena = a;
  str_add(&f->messages, "");
  f->diags = diags_new(a, keep_message, &f->messages);
  *state = f;
  return 0;
}

static inline int teardown(void **state) {
  arena_free(((Fixture *)*state)->arena);
  return 0;
}

#define FIXTURE_TEST(NAME) TEST_OF(Fixture, f, setup, teardown, NAME)

#endif
