/* bind_test.c: params, overrides, checks and extents (ir/bind.c). */
#include "tests/unit/execution.h"

static const char *const PROGRAM =
  "stencil module \"t\" {\n"
  "  param @N : i64 = {\n    %0 = const 8 : i64\n    yield %0\n  }\n"
  "  param @k : f32 = {\n    %0 = const 0.5 : f32\n    yield %0\n  }\n"
  "  param @flag : bool\n"
  "  param @small : i32 = {\n    %0 = const 3 : i32\n    yield %0\n  }\n"
  "  let @twice : i64 = {\n    %0 = scalar @N : i64\n    %1 = add %0, %0 : i64\n    yield %1\n  }\n"
  "  grid [0 .. N - 1] steps 4\n"
  "  field @A : f32 on [1 .. N - 2]\n"
  "  check N - 4 >= 0 \"the access A[-1] leaves A\"\n"
  "}\n";

/* Binds PROGRAM with one override and -Dflag=1. */
static bool bind(World *w, const char *name, const char *value) {
  Define defs[] = {{"flag", "1"}, {name, value}};
  Module *m = module_parse(w->arena, w->diags, "test", PROGRAM);
  if (!m)
    fail_msg("%s", w->messages.s);
  w->messages.n = 0;
  return module_bind(m, 2, defs, w->scalars, w->diags);
}

static void test_values(void **state) {
  World *w = *state;
  assert_true(bind(w, "N", "0x10"));
  assert_int_equal(w->scalars[0].i, 16);
  assert_true(w->scalars[1].f == 0.5);
  assert_int_equal(w->scalars[2].i, 1);
  assert_int_equal(w->scalars[3].i, 3);
  assert_int_equal(w->scalars[4].i, 32);
  assert_true(bind(w, "k", "-1.5e-1"));
  assert_true(w->scalars[1].f == (double)-0.15f);
  assert_true(bind(w, "small", "-2147483648"));
  assert_int_equal(w->scalars[3].i, INT32_MIN);
  assert_true(bind(w, "flag", "false"));
  assert_int_equal(w->scalars[2].i, 0);
}

static void test_bad_values(void **state) {
  World *w = *state;
  static const char *const bad[][3] = {
    {"N", "1e3", "-DN=1e3: '1e3' is not an integer such as 4096, which param N : i64 needs"},
    {"N", "", "'' is not an integer"},
    {"N", " 7", "' 7' is not an integer"},
    {"N", "99999999999999999999", "-DN=99999999999999999999: the value is out of range for param N : i64"},
    {"small", "2147483648", "out of range for param small : i32"},
    {"k", "1e39", "out of range for param k : f32"},
    {"k", "0.5x", "'0.5x' is not a number such as 0.25 or 1e-3"},
    {"flag", "yes", "'yes' is not true or false"},
    {"M", "3", "the program has no param 'M'; the params are: N, k, flag, small"},
    {"twice", "3", "'twice' is computed by the program and cannot be set; the params are: N, k, flag, small"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_false(bind(w, bad[i][0], bad[i][1]));
    assert_message(w, bad[i][2]);
  }
}

static void test_missing_value(void **state) {
  World *w = *state;
  Module *m = module_parse(w->arena, w->diags, "test", PROGRAM);
  assert_non_null(m);
  assert_false(module_bind(m, 0, NULL, w->scalars, w->diags));
  assert_message(w, "10: param 'flag' has no value: give it one with -Dflag=VALUE");
}

static void test_checks(void **state) {
  World *w = *state;
  assert_true(bind(w, "N", "4"));
  assert_false(bind(w, "N", "3"));
  assert_message(w, "the access A[-1] leaves A (with N = 3)");
  assert_false(bind(w, "N", "0"));
  assert_message(w, "dimension 0 of the grid is empty, [0 .. -1] (with N = 0): a grid needs at least one point in every dimension");
  assert_false(bind(w, "N", "4000000000000000000"));
  assert_message(w, "grid: the bounds of dimension 0 lie beyond 2^60 (with N = 4000000000000000000)");
}

static void test_extents(void **state) {
  World *w = *state;
  int64_t shape[MAX_RANK];
  Module *m = module_parse(w->arena, w->diags, "test",
    "stencil module \"t\" {\n  param @N : i64\n  grid [0 .. N - 1, 0 .. N - 1] steps 1\n"
    "  field @A : f32 on [0 .. N - 1, 1 .. N - 2]\n}\n");
  assert_non_null(m);
  assert_true(module_bind(m, 1, &(Define){"N", "5"}, w->scalars, w->diags));
  assert_int_equal(field_shape(&m->fields[0], w->scalars, shape), 15);
  assert_int_equal(shape[0], 5);
  assert_int_equal(shape[1], 3);
  assert_true(module_bind(m, 1, &(Define){"N", "1"}, w->scalars, w->diags));
  assert_int_equal(field_shape(&m->fields[0], w->scalars, shape), 0);
  assert_int_equal(shape[1], 0);
  assert_false(module_bind(m, 1, &(Define){"N", "4000000000"}, w->scalars, w->diags));
  assert_message(w, "field 'A' has too many points for 64-bit addresses (with N = 4000000000)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_values, make_world, free_world),
    cmocka_unit_test_setup_teardown(test_bad_values, make_world, free_world),
    cmocka_unit_test_setup_teardown(test_missing_value, make_world, free_world),
    cmocka_unit_test_setup_teardown(test_checks, make_world, free_world),
    cmocka_unit_test_setup_teardown(test_extents, make_world, free_world),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
