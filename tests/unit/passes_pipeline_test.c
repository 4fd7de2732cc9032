/* passes_pipeline_test.c: pipelines as text, their errors, and what is done around passes. */
#include "tests/unit/ir_testing.h"

#include <stdlib.h>

#include "passes/registry.h"

static const char stencil_text[] = "stencil module \"t\" {\n"
                                   "  grid [0 .. 9] steps 1\n"
                                   "  field @A : f32 on [0 .. 9]\n"
                                   "  stencil @s (@A) {\n"
                                   "    piece [0 .. 9] (@A) {\n"
                                   "      %0 = access @A[0] : f32\n"
                                   "      %1 = const 1.0 : f32\n"
                                   "      %2 = mul %0, %1 : f32\n"
                                   "      yield %2\n"
                                   "    }\n"
                                   "  }\n"
                                   "}\n";

/* A temporary file's text so far. */
static char *text_of(Arena *a, FILE *f) {
  long n = ftell(f);
  char *s = arena_alloc(a, (size_t)n + 1);
  rewind(f);
  assert_int_equal(fread(s, 1, (size_t)n, f), n);
  return s;
}

/* Runs `pipeline` with hooks `h` on the text above; NULL after an error. */
static Module *run(Fixture *f, const PassHooks *h, const char *pipeline) {
  static const TargetInfo target = {.name = "test", .cpu = "test", .simt = true, .lanes = 32, .max_threads = 1024};
  static const Schedule schedule = {0};
  PassContext c = {.arena = f->arena, .diags = f->diags, .target = &target, .schedule = &schedule};
  Module *m = module_parse(f->arena, f->diags, "test", stencil_text);
  assert_non_null(m);
  return passes_run(&c, h, pipeline, m);
}

/* `pipeline` is refused with a message that contains `message`. */
static void assert_refused(Fixture *f, const char *pipeline, const char *message) {
  assert_null(run(f, NULL, pipeline));
  if (!strstr(f->messages.s, message))
    fail_msg("'%s': expected \"%s\" in:\n%s", pipeline, message, f->messages.s);
}

FIXTURE_TEST(test_every_pass_is_found) {
  int n = 0;
  for (const Pass *p = pass_table; p->name; p++, n++) {
    assert_ptr_equal(pass_find(p->name), p);
    assert_non_null(p->help);
    assert_non_null(p->run);
  }
  assert_true(n >= 9);
  assert_null(pass_find("inline"));
}

FIXTURE_TEST(test_empty_pipeline_changes_nothing) {
  assert_string_equal(module_print(run(f, NULL, "")), stencil_text);
  assert_string_equal(module_print(run(f, NULL, "  ")), stencil_text);
}

FIXTURE_TEST(test_pipeline_runs_in_order) {
  Module *m = run(f, NULL, " simplify , time-tile( t = 3 ),simplify");
  assert_non_null(m);
  assert_int_equal(m->time_tile, 3);
  assert_null(strstr(module_print(m), "mul"));
}

FIXTURE_TEST(test_malformed_pipelines) {
  assert_refused(f, "inline", "there is no pass 'inline'; there are simplify, ");
  assert_refused(f, "simplify,", "there is no pass ''");
  assert_refused(f, ",simplify", "there is no pass ''");
  assert_refused(f, "simplify)", "expected ',' after pass 'simplify'");
  assert_refused(f, "simplify(x=1)", "pass 'simplify' has no option 'x'; it has none");
  assert_refused(f, "time-tile(x=1)", "pass 'time-tile' has no option 'x'; it has t");
  assert_refused(f, "time-tile(t)", "expected '=' after option 't' of pass 'time-tile'");
  assert_refused(f, "time-tile()", "expected '=' after option ''");
  assert_refused(f, "time-tile(t=2", "expected ')' after the options of pass 'time-tile'");
  assert_refused(f, "time-tile(t=2)simplify", "expected ',' after pass 'time-tile'");
  assert_refused(f, "time-tile(t=2))", "expected ',' after pass 'time-tile'");
}

FIXTURE_TEST(test_levels_are_checked) {
  assert_refused(f, "barriers",
                 "pass 'barriers' takes kernel IR, but the module is stencil IR here; put a lower-* pass before it");
}

FIXTURE_TEST(test_option_values) {
  PassContext c = {.arena = f->arena, .diags = f->diags};
  PassOption o[] = {{"t", "3"}, {"u", "x"}, {"v", "99999999999999999999"}, {"w", ""}, {"t", "4"}};
  bool ok = true;
  assert_int_equal(pass_option_int(&c, "p", 5, o, "t", 1, 9, 1, &ok), 4);
  assert_int_equal(pass_option_int(&c, "p", 5, o, "s", 1, 9, 7, &ok), 7);
  assert_true(ok);
  for (int i = 1; i < 4; i++) {
    ok = true;
    pass_option_int(&c, "p", 5, o, o[i].name, 1, 9, 1, &ok);
    assert_false(ok);
  }
  ok = true;
  pass_option_int(&c, "p", 1, o, "t", 1, 2, 1, &ok);
  assert_false(ok);
  assert_non_null(strstr(f->messages.s, "pass 'p': option t=3 is not an integer from 1 to 2"));
}

FIXTURE_TEST(test_dumps) {
  FILE *to = tmpfile();
  PassHooks h = {.print_before = "time-tile,simplify", .print_after = "simplify", .to = to};
  assert_non_null(run(f, &h, "simplify"));
  char *s = text_of(f->arena, to), *before = strstr(s, "// ---- before simplify\n"),
       *after = strstr(s, "// ---- after simplify\n");
  assert_ptr_equal(before, s);
  assert_non_null(after);
  assert_memory_equal(before + strlen("// ---- before simplify\n"), stencil_text, sizeof stencil_text - 1);
  assert_null(strstr(after, "mul"));
  assert_non_null(module_parse(f->arena, f->diags, "dump", after));
  fclose(to);
}

FIXTURE_TEST(test_dump_after_all) {
  FILE *to = tmpfile();
  PassHooks h = {.print_before = "", .print_after = "", .print_all = true, .verify_each = true, .to = to};
  assert_non_null(run(f, &h, "time-tile(t=2),simplify"));
  char *s = text_of(f->arena, to), *first = strstr(s, "// ---- after time-tile\n");
  assert_non_null(first);
  assert_non_null(strstr(first, "// ---- after simplify\n"));
  fclose(to);
}

FIXTURE_TEST(test_unknown_names_in_hooks) {
  PassHooks h = {.print_before = "", .print_after = "simplify,inline"};
  assert_null(run(f, &h, "simplify"));
  assert_non_null(strstr(f->messages.s, "-print-after: there is no pass 'inline'"));
}

FIXTURE_TEST(test_times_and_statistics) {
  FILE *to = tmpfile();
  PassHooks h = {.print_before = "", .print_after = "", .time = true, .stats = true, .to = to};
  assert_non_null(run(f, &h, "simplify"));
  char *s = text_of(f->arena, to);
  assert_non_null(strstr(s, " ms  simplify\n"));
  assert_non_null(strstr(s, " ms  all passes\n"));
  assert_non_null(strstr(s, "       1 simplify: ops folded or rewritten\n"));
  fclose(to);
}
