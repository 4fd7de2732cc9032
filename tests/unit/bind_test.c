/* bind_test.c: params, overrides, checks and extents (ir/run/bind.c). */
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

WORLD_TEST(test_values) {
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

WORLD_TEST(test_bad_values) {
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

WORLD_TEST(test_missing_value) {
  Module *m = module_parse(w->arena, w->diags, "test", PROGRAM);
  assert_non_null(m);
  assert_false(module_bind(m, 0, NULL, w->scalars, w->diags));
  assert_message(w, "10: param 'flag' has no value: give it one with -Dflag=VALUE");
}

WORLD_TEST(test_checks) {
  assert_true(bind(w, "N", "4"));
  assert_false(bind(w, "N", "3"));
  assert_message(w, "the access A[-1] leaves A (with N = 3)");
  assert_false(bind(w, "N", "0"));
  assert_message(
      w,
      "dimension 0 of the grid is empty, [0 .. -1] (with N = 0): a grid needs at least one point in every dimension");
  assert_false(bind(w, "N", "4000000000000000000"));
  assert_message(w, "grid: the bounds of dimension 0 lie beyond 2^60 (with N = 4000000000000000000)");
}

WORLD_TEST(test_extents) {
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

/* A kernel with multiples, one to launch instead, one that has none, and a bound that overflows. */
static const char *const KERNELS = "kernel module \"t\" {\n  param @N : i64\n  param @M : i64\n  grid [0 .. N - 1] "
                                   "steps 1\n  field @A : f32 on [0 .. N - 1]\n  buffer @A : @A copy 0\n"
                                   "  kernel @k threads [1] covers [N] by [1] steps 1 multiple N of 4 multiple 3 * M - "
                                   "1 of 2 instead @any { args (scalar @N) }\n"
                                   "  kernel @any threads [1] covers [N] by [1] steps 1 { args (scalar @N) }\n"
                                   "  kernel @huge threads [1] covers [N] by [1] steps 1 multiple 4611686018427387904 "
                                   "* M of 1 instead @any { args (scalar @N) }\n"
                                   "  host { steps 1 { launch @k launch @huge } }\n}\n";

/* Which kernel is launched for kernel `kernel` of KERNELS with these params. */
static int chosen(World *w, int kernel, const char *n, const char *m) {
  Module *module = load(w, KERNELS, 2, (Define[]){{"N", n}, {"M", m}});
  return kernel_chosen(module, kernel, w->scalars);
}

WORLD_TEST(test_chosen) {
  assert_int_equal(chosen(w, 0, "8", "1"), 0);
  assert_int_equal(chosen(w, 0, "8", "-3"), 0);
  assert_int_equal(chosen(w, 0, "9", "1"), 1);
  assert_int_equal(chosen(w, 0, "8", "0"), 1);
  assert_int_equal(chosen(w, 0, "7", "2"), 1);
  assert_int_equal(chosen(w, 1, "7", "2"), 1);
  assert_int_equal(chosen(w, 2, "8", "1"), 2);
  assert_int_equal(chosen(w, 2, "8", "2"), 1);
}

/* Params that suit no kernel are refused. */
WORLD_TEST(test_not_chosen) {
  const char *alone = "kernel module \"t\" {\n  param @N : i64\n  grid [0 .. N - 1] steps 1\n"
                      "  kernel @k threads [1] covers [N] by [1] steps 1 multiple N + 1 of 3 { args (scalar @N) }\n  "
                      "host { steps 1 { launch @k } }\n}\n";
  Module *m = load(w, alone, 1, &(Define){"N", "5"});
  assert_int_equal(kernel_chosen(m, 0, w->scalars), 0);
  assert_false(module_bind(m, 1, &(Define){"N", "6"}, w->scalars, w->diags));
  assert_message(w, "4: kernel 'k' needs N + 1 to be a multiple of 3 (with N = 6), and there is no kernel to launch "
                    "instead; choose other params");
  assert_int_equal(kernel_chosen(m, 0, w->scalars), -1);
}

/* What lies in memory: rows have the pitch, also of a field without points, of which kernels may read one row. */
WORLD_TEST(test_pitch) {
  static const char *const padded = "stencil module \"t\" {\n"
                                    "  param @N : i64 = {\n    %0 = const 5 : i64\n    yield %0\n  }\n"
                                    "  param @row.pitch : i64 = {\n    %0 = const 13 : i64\n    yield %0\n  }\n"
                                    "  grid [0 .. N - 1, 0 .. 12] steps 1\n"
                                    "  field @A : f32 on [0 .. N - 1, 0 .. 12] pitch @row.pitch\n"
                                    "  field @B : f32 on [1 .. N - 1, 0 .. 12] pitch @row.pitch\n"
                                    "  field @C : f32 on [0 .. N - 1, 1 .. 12]\n"
                                    "}\n";
  static const struct {
    const char *rows, *pitch;
    int64_t elements[3], row[3];
  } cases[] = {{"5", "13", {65, 52, 60}, {13, 13, 12}},
               {"5", "16", {80, 64, 60}, {16, 16, 12}},
               {"1", "16", {16, 0, 12}, {16, 16, 12}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t shape[MAX_RANK];
    Module *m = load(w, padded, 2, (Define[]){{"N", cases[i].rows}, {"row.pitch", cases[i].pitch}});
    for (int f = 0; f < 3; f++) {
      assert_int_equal(field_layout(&m->fields[f], w->scalars, shape), cases[i].elements[f]);
      assert_int_equal(shape[1], cases[i].row[f]);
      field_shape(&m->fields[f], w->scalars, shape);
      assert_int_equal(shape[1], f == 2 ? 12 : 13);
    }
  }
}
