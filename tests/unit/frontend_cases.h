/* tests/unit/frontend_cases.h: programs and the messages that they must give, for the tests of the front end. */
#ifndef STC_FRONTEND_CASES_H
#define STC_FRONTEND_CASES_H

#define OWN_MAIN
#include "tests/unit/testing.h"
#include "frontend/frontend.h"

/* The first three lines of most programs: a grid of rank 1 or 2 and a field on it; and the start of a fourth that fits
 * them. */
#define GRID1 "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32 on G;\n"
#define GRID2 "param N = 10;\ngrid G = [0 .. N-1, 0 .. N-1], 4;\nfield A : f32 on G;\n"
#define INNER1 "stencil s(A)[1 .. N-2] = "
#define INNER2 "stencil s(A)[1 .. N-2, 1 .. N-2] = "

/* A program and all messages about it, one "LINE:COLUMN: KIND: TEXT" a line, in order; "" for none. */
typedef struct FrontendCase {
  const char *name, *program, *messages;
} FrontendCase;

/* Adds a message to the Str at `user`, as a FrontendCase writes it. */
static inline void collect_message(void *user, const Diag *d) {
  static const char *const kinds[] = {"error", "warning", "remark", "note"};
  str_addf(user, "%d:%d: %s: %s\n", d->line, d->col, kinds[d->kind], d->message);
}

/* Compiles the FrontendCase at *state: its messages are those given, and there is a module exactly if none of them is
 * an error. */
static inline void check_case(void **state) {
  const FrontendCase *t = *state;
  Arena *a = arena_new(NULL, NULL);
  Str got = {.arena = a};
  str_add(&got, "");
  Diags *d = diags_new(a, collect_message, &got);
  FrontendOptions o = {.real = TY_F32};
  Module *m = frontend_compile(a, d, "case.stn", t->program, &o);
  assert_string_equal(got.s, t->messages);
  assert_int_equal(m != NULL, diags_errors(d) == 0);
  arena_free(a);
}

enum { MAX_CASES = 100 };

/* Runs each of the `n` cases as a test of its own. */
static inline int run_cases(const char *group, const FrontendCase *cases, size_t n) {
  struct CMUnitTest tests[MAX_CASES];
  if (n > MAX_CASES)
    return 1;
  for (size_t i = 0; i < n; i++)
    tests[i] = (struct CMUnitTest){cases[i].name, check_case, NULL, NULL, (void *)(uintptr_t)&cases[i]};
  return _cmocka_run_group_tests(group, tests, n, NULL, NULL);
}

#endif
