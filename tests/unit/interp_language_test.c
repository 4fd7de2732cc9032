/* interp_language_test.c: the reference on composite values, 16-bit floats, older time levels, launch-time arrays and
 * reductions. */
#include "tests/unit/execution.h"

#include <math.h>

/* "stencil module ..." around `rest`, with the grid of `grid` and 10 steps. */
static const char *module_text(World *w, const char *before, const char *grid, const char *rest) {
  return arena_printf(w->arena, "stencil module \"t\" {\n%s  grid %s steps 10\n%s}\n", before, grid, rest);
}

/* ---- values in memory */

/* Every bit pattern of the 16-bit floats is what const_convert says is a value of the type, and comes back. */
TEST(test_narrow_floats) {
  static const Type types[] = {TY_F16, TY_BF16};
  for (int k = 0; k < 2; k++)
    for (int bits = 0; bits < 65536; bits++) {
      uint16_t in = (uint16_t)bits, out = 0;
      Const x = const_load(types[k], &in);
      const_store(types[k], &out, x);
      assert_true(isnan(x.f) || const_same(x, const_convert(x, TY_F64, types[k]), types[k]));
      if (isnan(x.f) ? !isnan(const_load(types[k], &out).f) : in != out)
        fail_msg("%s %04x came back as %04x", type_name(types[k]), in, out);
    }
  uint16_t half[] = {0x3c00, 0xc000, 0x0001, 0x7bff}, brain[] = {0x3f80, 0xc000, 0x0001};
  assert_true(const_load(TY_F16, &half[0]).f == 1.0 && const_load(TY_F16, &half[1]).f == -2.0);
  assert_true(const_load(TY_F16, &half[2]).f == ldexp(1, -24) && const_load(TY_F16, &half[3]).f == 65504.0);
  assert_true(const_load(TY_BF16, &brain[0]).f == 1.0 && const_load(TY_BF16, &brain[1]).f == -2.0 &&
              const_load(TY_BF16, &brain[2]).f == ldexp(1, -133));
}

WORLD_TEST(test_half_field) {
  Module *m = load(
      w,
      module_text(w, "", "[0 .. 1]",
                  "  field @A : f16 on [0 .. 1]\n  stencil @s (@A) { piece [0 .. 1] (@A) {\n    %0 = access @A[0] : "
                  "f16\n    %1 = convert %0 : f32\n"
                  "    %2 = const 0.1 : f32\n    %3 = add %1, %2 : f32\n    %4 = convert %3 : f16\n    yield %4 } }\n"),
      0, NULL);
  uint16_t *a = w->fields[0];
  a[0] = 0x3c00;
  a[1] = 0x7c00;
  Binding b = binding(w);
  assert_true(interp_run(m, &b, 1, true, NULL, w->diags));
  assert_int_equal(a[0], 0x3c66); /* 1.1 to 11 bits */
  assert_int_equal(a[1], 0x7c00);
}

/* ---- composite values */

typedef struct __attribute__((packed)) Cell {
  int8_t a;
  float c[2];
  uint16_t h;
} Cell;

/* Members moved from neighbours, beyond the edge the constant in each component's type; both targets read old values.
 */
WORLD_TEST(test_struct) {
  Module *m = load(w,
                   module_text(w, "", "[0 .. 299]",
                               "  struct P { a : i8, c : f32[2], h : f16 }\n  field @s : P on [0 .. 299] outside const "
                               "2.5\n  field @v : f32[2] on [0 .. 299]\n"
                               "  stencil @x (@s, @v) { piece [0 .. 299] (@s, @v) {\n    %0 = access @s[-1] : P\n    "
                               "%1 = access @v[0] : f32[2]\n    %2 = extract %0, 0 : i8\n"
                               "    %3 = extract %0, 1 : f32[2]\n    %4 = extract %0, 2 : f16\n    %5 = extract %3, 1 "
                               ": f32\n    %6 = extract %1, 0 : f32\n"
                               "    %7 = construct %5, %6 : f32[2]\n    %8 = construct %2, %7, %4 : P\n    %9 = "
                               "extract %8, 1 : f32[2]\n    %10 = extract %9, 0 : f32\n"
                               "    %11 = extract %9, 1 : f32\n    %12 = add %10, %11 : f32\n    %13 = construct %12, "
                               "%10 : f32[2]\n    yield %8, %13 } }\n"),
                   0, NULL);
  Cell *s = w->fields[0];
  float (*v)[2] = w->fields[1];
  for (int i = 0; i < 300; i++) {
    s[i] = (Cell){(int8_t)i, {(float)i, (float)(10 * i)}, 0x3c00};
    v[i][0] = (float)-i;
  }
  Binding b = binding(w);
  assert_true(interp_run(m, &b, 1, true, NULL, w->diags));
  assert_memory_equal(&s[0], &((Cell){2, {2.5f, 0}, 0x4100}), sizeof(Cell));
  assert_true(v[0][0] == 2.5f && v[0][1] == 2.5f);
  for (int i = 1; i < 300; i++) {
    assert_memory_equal(&s[i], &((Cell){(int8_t)(i - 1), {(float)(10 * i - 10), (float)-i}, 0x3c00}), sizeof(Cell));
    assert_true(v[i][0] == (float)(9 * i - 10) && v[i][1] == (float)(10 * i - 10));
  }
}

/* A temp field of vectors, and a field of them copied whole. */
WORLD_TEST(test_vector_temp) {
  Module *m = load(
      w,
      module_text(
          w, "", "[0 .. 3, 0 .. 3]",
          "  field @v : i32[3] on [0 .. 3, 0 .. 3] outside periodic\n  field @t : i32[3] on [0 .. 3, 0 .. 3] temp\n"
          "  stencil @a (@t) { piece [0 .. 3, 0 .. 3] (@t) {\n    %0 = access @v[1, -1] : i32[3]\n    yield %0 } }\n"
          "  stencil @b (@v) { piece [0 .. 3, 1 .. 3] (@v) {\n    %0 = access @t[0, 0] : i32[3]\n    yield %0 } }\n"),
      0, NULL);
  int32_t (*v)[4][3] = w->fields[0];
  for (int i = 0; i < 48; i++)
    (&v[0][0][0])[i] = i;
  Binding b = binding(w);
  assert_true(interp_run(m, &b, 1, true, NULL, w->diags));
  assert_memory_equal(v[0][0], ((int32_t[]){0, 1, 2}), 12);
  assert_memory_equal(v[0][1], ((int32_t[]){12, 13, 14}), 12);
  assert_memory_equal(v[3][3], ((int32_t[]){6, 7, 8}), 12);
}

/* ---- older time levels */

/* U = U + U@1 + 100 U@3, `inits` before it. */
static Module *load_history(World *w, const char *inits) {
  return load(
      w,
      module_text(w, "", "[0 .. 1]",
                  arena_printf(w->arena,
                               "  field @U : i64 on [0 .. 1] history 3\n  field @\"U@1\" : i64 on [0 .. 1] past 1 of "
                               "@U\n  field @\"U@2\" : i64 on [0 .. 1] past 2 of @U\n"
                               "  field @\"U@3\" : i64 on [0 .. 1] past 3 of @U\n%s"
                               "  stencil @half (@U) { piece [0 .. 1] (@U) {\n    %%0 = access @U[0] : i64\n    %%1 = "
                               "access @\"U@1\"[0] : i64\n    %%2 = add %%0, %%1 : i64\n    yield %%2 } }\n"
                               "  stencil @rest (@U) { piece [0 .. 1] (@U) {\n    %%0 = access @U[0] : i64\n    %%1 = "
                               "access @\"U@3\"[0] : i64\n    %%2 = const 100 : i64\n"
                               "    %%3 = mul %%1, %%2 : i64\n    %%4 = add %%0, %%3 : i64\n    yield %%4 } }\n",
                               inits)),
      0, NULL);
}

/* The four levels at point 0 are as given, newest first. */
static void assert_levels(World *w, int64_t now, int64_t one, int64_t two, int64_t three) {
  const int64_t want[] = {now, one, two, three};
  for (int i = 0; i < 4; i++)
    assert_int_equal(*(int64_t *)w->fields[i], want[i]);
}

/* Levels are what the field was when steps began, though two stencils write it; a run goes on where the last one ended.
 */
WORLD_TEST(test_history) {
  Module *m = load_history(w, "");
  *(int64_t *)w->fields[0] = 1;
  Binding b = binding(w);
  assert_true(interp_run(m, &b, 0, true, NULL, w->diags));
  assert_levels(w, 1, 1, 1, 1);
  assert_true(interp_run(m, &b, 2, false, NULL, w->diags));
  assert_levels(w, 203, 102, 1, 1);
  assert_true(interp_run(m, &b, 1, false, NULL, w->diags));
  assert_levels(w, 405, 203, 102, 1);
  assert_int_equal(b.done, 1);
}

/* A past that an init sets, or whose values come from outside, is left; the others become what the field is. */
WORLD_TEST(test_first_pasts) {
  static const char *const init = "  init @i (@U, @\"U@2\") { piece [0 .. 1] (@U, @\"U@2\") {\n    %0 = const 5 : "
                                  "i64\n    %1 = const 7 : i64\n    yield %0, %1 } }\n";
  Module *m = load_history(w, init);
  *(int64_t *)w->fields[3] = 9;
  bool skip[4] = {false, false, false, true};
  Binding b = binding(w);
  assert_true(interp_run(m, &b, 0, true, skip, w->diags));
  assert_levels(w, 5, 5, 7, 9);
  assert_true(interp_run(m, &b, 1, false, NULL, w->diags));
  assert_levels(w, 910, 5, 5, 7);
}

/* A module that moves its levels by a stencil of its own is not helped. */
WORLD_TEST(test_explicit_history) {
  Module *m = load(
      w,
      module_text(
          w, "", "[0 .. 0]",
          "  field @U : i64 on [0 .. 0] history 1\n  field @\"U@1\" : i64 on [0 .. 0] past 1 of @U\n"
          "  stencil @history (@\"U@1\") { piece [0 .. 0] (@\"U@1\") { %0 = access @U[0] : i64 yield %0 } }\n"
          "  stencil @s (@U) { piece [0 .. 0] (@U) { %0 = access @U[0] : i64 %1 = add %0, %0 : i64 yield %1 } }\n"),
      0, NULL);
  *(int64_t *)w->fields[0] = 3;
  Binding b = binding(w);
  assert_true(interp_run(m, &b, 2, true, NULL, w->diags));
  assert_int_equal(*(int64_t *)w->fields[0], 12);
  assert_int_equal(*(int64_t *)w->fields[1], 6);
}

/* ---- launch-time arrays */

WORLD_TEST(test_element) {
  Module *m =
      load(w,
           module_text(w, "  param @n : i64\n", "[0 .. 5]",
                       "  param_array @src[n] : f32\n  param_array @none[n - 9] : f32\n  field @A : f32 on [0 .. 5]\n"
                       "  stencil @s (@A) { piece [0 .. 5] (@A) {\n    %0 = index 0 : i64\n    %1 = const 2 : i64\n    "
                       "%2 = sub %0, %1 : i64\n    %3 = element @src[%2] : f32\n"
                       "    %4 = element @none[%0] : f32\n    %5 = add %3, %4 : f32\n    yield %5 } }\n"),
           1, &(Define){"n", "3"});
  float src[] = {10, 20, 30};
  Binding b = binding(w);
  b.param_arrays = (void *[]){src, NULL};
  assert_true(interp_run(m, &b, 1, true, NULL, w->diags));
  assert_memory_equal(w->fields[0], ((float[]){10, 10, 10, 20, 30, 30}), 24);
  b.param_arrays = NULL;
  assert_false(interp_run(m, &b, 1, true, NULL, w->diags));
  assert_message(w, "4: launch-time array 'src' has no values");
}

/* ---- reductions */

/* What came through the callback: "name@step=value ". */
static void note_value(void *user, const Reduction *r, int64_t step, int64_t member, Const v) {
  (void)member;
  Str *s = user;
  str_addf(s, r->type == TY_F64 ? "%s@%lld=%.17g " : "%s@%lld=", r->name, (long long)step, v.f);
  if (r->type == TY_I64)
    str_addf(s, "%lld ", (long long)v.i);
}

/* A binding of `w` that notes values in `s`. */
static Binding noting(World *w, Str *s) {
  Binding b = binding(w);
  *s = (Str){.arena = w->arena};
  str_add(s, "");
  b.reduced = note_value;
  b.user = s;
  return b;
}

/* A reduction of field A (of `type`) by `op` over `box` on grid `grid`; A itself becomes A + the reduction's value in
 * each step. */
static Module *load_reduction(World *w, const char *grid, const char *box, const char *op, const char *type,
                              const char *more) {
  bool plane = strchr(grid, ',');
  const char *at = plane ? "0, 0" : "0";
  return load(w,
              module_text(w, arena_printf(w->arena, "  reduction @r : %s\n", type), grid,
                          arena_printf(w->arena,
                                       "  field @A : %s on %s\n  stencil @s (@A) { piece %s (@A) { %%0 = access @A[%s] "
                                       ": %s %%1 = scalar @r : %s %%2 = add %%0, %%1 : %s yield %%2 } }\n"
                                       "  reduce @r = %s %s over %s %s { %%0 = access @A[%s] : %s yield %%0 }\n",
                                       type, grid, grid, at, type, type, type, op, type, box, more, at, type)),
              0, NULL);
}

/* Before step 0, then every 2 steps; stencils see the last value; a run that goes on does not repeat. */
WORLD_TEST(test_reduction_steps) {
  Module *m = load_reduction(w, "[0 .. 2]", "[1 .. 2]", "add", "i64", "every 2");
  int64_t *a = w->fields[0];
  a[0] = 1, a[1] = 2, a[2] = 3;
  Str s;
  Binding b = noting(w, &s);
  assert_true(interp_run(m, &b, 3, true, NULL, w->diags));
  assert_string_equal(s.s, "r@0=5 r@2=25 ");
  assert_memory_equal(a, ((int64_t[]){36, 37, 38}), 24);
  b.first_step = 3;
  assert_true(interp_run(m, &b, 1, false, NULL, w->diags));
  assert_string_equal(s.s, "r@0=5 r@2=25 r@4=125 ");
}

WORLD_TEST(test_reduction_ops) {
  static const char *const ops[] = {"add", "mul", "min", "max"};
  static const char *const ints[] = {"r@0=1 ", "r@0=-24 ", "r@0=-4 ", "r@0=3 "};
  static const char *const empty[] = {"r@0=0 ", "r@0=1 ", "r@0=inf ", "r@0=-inf "};
  for (int i = 0; i < 4; i++) {
    Str s;
    Module *m = load_reduction(w, "[0 .. 3]", "[1 .. 3]", ops[i], "i64", "every 100");
    memcpy(w->fields[0], ((int64_t[]){99, 3, -4, 2}), 32);
    Binding b = noting(w, &s);
    assert_true(interp_run(m, &b, 0, true, NULL, w->diags));
    assert_string_equal(s.s, ints[i]);
    m = load_reduction(w, "[0 .. 3]", "[3 .. 2]", ops[i], "f64", "every 100");
    b = noting(w, &s);
    assert_true(interp_run(m, &b, 0, true, NULL, w->diags));
    assert_string_equal(s.s, empty[i]);
  }
}

/* The sum of the values v of `lines` lines of `n` points, in the order that ir.h describes, written down another way: a
 * lane's points are gathered. */
static double ordered_sum(const double *v, int lines, int n) {
  static double blocks[REDUCE_BLOCKS];
  int rows_a_line = lines > 1 ? 1 : (n + REDUCE_ROW - 1) / REDUCE_ROW, row_length = lines > 1 ? n : REDUCE_ROW,
      rows = lines * rows_a_line;
  for (int b = 0; b < REDUCE_BLOCKS; b++) {
    blocks[b] = 0;
    for (int row = b; row < rows; row += REDUCE_BLOCKS) {
      double lane[REDUCE_LANES] = {0};
      for (int t = 0; t < REDUCE_LANES; t++)
        for (int x = t; x < row_length; x += REDUCE_LANES)
          if ((lines > 1 ? row * n : row * REDUCE_ROW) + x < lines * n)
            lane[t] += v[(lines > 1 ? row * n : row * REDUCE_ROW) + x];
      for (int w = REDUCE_LANES / 2; w; w /= 2)
        for (int t = 0; t < w; t++)
          lane[t] += lane[t + w];
      blocks[b] += lane[0];
    }
  }
  for (int w = REDUCE_BLOCKS / 2; w; w /= 2)
    for (int t = 0; t < w; t++)
      blocks[t] += blocks[t + w];
  return blocks[0];
}

/* Fills `v` with `n` numbers whose sum depends on the order. */
static void fill_uneven(double *v, int n) {
  uint32_t x = 1;
  for (int i = 0; i < n; i++) {
    x = x * 1664525u + 1013904223u;
    v[i] = ldexp((double)(int32_t)x, (int)(x >> 24) % 40 - 60);
  }
}

WORLD_TEST(test_reduction_order) {
  static const struct {
    const char *grid;
    int lines, n;
  } shapes[] = {{"[0 .. 9999]", 1, 10000},
                {"[0 .. 2999999]", 1, 3000000},
                {"[5 .. 41, -3 .. 996]", 37, 1000},
                {"[0 .. 2499, 0 .. 2]", 2500, 3}};
  for (int i = 0; i < 4; i++) {
    Str s;
    Module *m = load_reduction(w, shapes[i].grid, shapes[i].grid, "add", "f64", "every 1");
    double *a = w->fields[0], plain = 0;
    fill_uneven(a, shapes[i].lines * shapes[i].n);
    for (int k = 0; k < shapes[i].lines * shapes[i].n; k++)
      plain += a[k];
    double want = ordered_sum(a, shapes[i].lines, shapes[i].n);
    assert_true(want != plain);
    Binding b = noting(w, &s);
    assert_true(interp_run(m, &b, 0, true, NULL, w->diags));
    assert_true(w->scalars[0].f == want);
  }
}

/* The run ends after the evaluation whose condition holds, never before the first step. */
WORLD_TEST(test_until) {
  const char *text = module_text(
      w, "  reduction @r : f64\n", "[0 .. 2]",
      arena_printf(w->arena,
                   "  field @A : f64 on [0 .. 2]\n  stencil @s (@A) { piece [0 .. 2] (@A) { %%0 = access @A[0] : f64 "
                   "%%1 = const 0.5 : f64 %%2 = mul %%0, %%1 : f64 yield %%2 } }\n"
                   "  reduce @r = max f64 over [0 .. 2] every 2 until { %%0 = access @A[0] : f64 yield %%0 }\n"
                   "  stop { %%0 = scalar @r : f64 %%1 = const 0.3 : f64 %%2 = lt %%0, %%1 : bool yield %%2 }\n"));
  Module *m = load(w, text, 0, NULL);
  double *a = w->fields[0];
  a[1] = 1;
  Str s;
  Binding b = noting(w, &s);
  assert_true(interp_run(m, &b, 10, true, NULL, w->diags));
  assert_string_equal(s.s, "r@0=1 r@2=0.25 ");
  assert_int_equal(b.done, 2);
  m = load(w, text, 0, NULL);
  b = noting(w, &s);
  assert_true(interp_run(m, &b, 10, true, NULL, w->diags));
  assert_int_equal(b.done, 2);
  m = load(w, text, 0, NULL);
  ((double *)w->fields[0])[2] = NAN;
  b = noting(w, &s);
  assert_false(interp_run(m, &b, 10, true, NULL, w->diags));
  assert_message(w, "6: the value that 'until' compares is NaN after 0 steps");
}

/* A check names the point and the number of steps; b.done counts the steps made until then. */
WORLD_TEST(test_finite) {
  Module *m = load(w,
                   module_text(w, "  reduction @r : i64\n", "[0 .. 1, 4 .. 7]",
                               "  field @A : f32 on [0 .. 1, 4 .. 7]\n"
                               "  stencil @s (@A) { piece [0 .. 1, 4 .. 7] (@A) { %0 = access @A[0, 0] : f32 %1 = mul "
                               "%0, %0 : f32 yield %1 } }\n"
                               "  reduce @r = min i64 over [0 .. 1, 4 .. 7] every 1 finite @A {\n"
                               "    %0 = access @A[0, 0] : f32 %1 = sub %0, %0 : f32 %2 = eq %1, %1 : bool %3 = index "
                               "0 : i64 %4 = const 4 : i64 %5 = mul %3, %4 : i64 %6 = index 1 : i64\n"
                               "    %7 = add %5, %6 : i64 %8 = sub %7, %4 : i64 %9 = const 9223372036854775807 : i64 "
                               "%10 = select %2, %9, %8 : i64 yield %10 }\n"),
                   0, NULL);
  ((float *)w->fields[0])[5] = 1e10f;
  Binding b = binding(w);
  assert_false(interp_run(m, &b, 10, true, NULL, w->diags));
  assert_message(w, "6: -fcheck=finite: field 'A' is not a finite number at [1, 5] after 2 steps");
  assert_int_equal(b.done, 2);
}

/* In a reduction a past is what the field was so many steps ago, `step` the number of steps done, and faults name it.
 */
WORLD_TEST(test_reduction_levels) {
  static const char *const text =
      "  field @U : i64 on [0 .. 1] history 1\n  field @\"U@1\" : i64 on [0 .. 1] past 1 of @U\n"
      "  stencil @s (@U) { piece [0 .. 1] (@U) { %%0 = access @U[0] : i64 %%1 = add %%0, %%0 : i64 yield %%1 } }\n"
      "  reduce @r = add i64 over [0 .. 1] every 1 {\n"
      "    %%0 = access @U[0] : i64 %%1 = access @\"U@1\"[%d] : i64 %%2 = sub %%0, %%1 : i64 %%3 = step : i64 %%4 = "
      "const 100 : i64 %%5 = mul %%3, %%4 : i64\n"
      "    %%6 = add %%2, %%5 : i64 yield %%6 }\n";
  Module *m = load(w, module_text(w, "  reduction @r : i64\n", "[0 .. 1]", arena_printf(w->arena, text, 0)), 0, NULL);
  *(int64_t *)w->fields[0] = 1;
  Str s;
  Binding b = noting(w, &s);
  assert_true(interp_run(m, &b, 2, true, NULL, w->diags));
  assert_string_equal(s.s, "r@0=0 r@1=201 r@2=402 ");
  m = load(w, module_text(w, "  reduction @r : i64\n", "[0 .. 1]", arena_printf(w->arena, text, 1)), 0, NULL);
  b = binding(w);
  assert_false(interp_run(m, &b, 2, true, NULL, w->diags));
  assert_message(w, "8: reduction 'r' after 0 steps: the access to 'U@1' reaches [2], outside its region [0 .. 1]");
}
