/* ir_eval_test.c: the arithmetic of every op and the outside rules (ir/run/eval.c). */
#include "tests/unit/ir_testing.h"

/* The result of `code` on operands of type `t`, of type `to` where the table leaves it free. */
static Const eval(Opcode code, Type t, int n, Const x, Const y, Const z, Type to) {
  Arena *a = arena_new(NULL, NULL);
  Builder b = builder_at_end(a, block_new(a, NULL));
  Value *v[3] = {build_const(&b, code == OP_SELECT ? TY_BOOL : t, x), build_const(&b, t, y), build_const(&b, t, z)};
  Const r = eval_op(build_op(&b, code, to, n, v), (Const[]){x, y, z});
  arena_free(a);
  return r;
}

/* A binary op on integers / floats of type `t`, and a unary one on floats. */
static int64_t ints(Opcode code, Type t, int64_t x, int64_t y) {
  return eval(code, t, 2, (Const){.i = x}, (Const){.i = y}, (Const){0}, t).i;
}
static double floats(Opcode code, Type t, double x, double y) {
  return eval(code, t, 2, (Const){.f = x}, (Const){.f = y}, (Const){0}, t).f;
}
static double unary(Opcode code, Type t, double x) {
  return eval(code, t, 1, (Const){.f = x}, (Const){0}, (Const){0}, t).f;
}
static bool compares(Opcode code, double x, double y) {
  return eval(code, TY_F64, 2, (Const){.f = x}, (Const){.f = y}, (Const){0}, TY_BOOL).i;
}

FIXTURE_TEST(test_integers) {
  assert_int_equal(ints(OP_ADD, TY_I32, INT32_MAX, 1), INT32_MIN);
  assert_int_equal(ints(OP_ADD, TY_I64, INT64_MAX, 1), INT64_MIN);
  assert_int_equal(ints(OP_SUB, TY_I8, -128, 1), 127);
  assert_int_equal(ints(OP_MUL, TY_I64, INT64_MAX, 2), -2);
  assert_int_equal(ints(OP_DIV, TY_I32, -7, 2), -3);
  assert_int_equal(ints(OP_REM, TY_I32, -7, 2), -1);
  assert_int_equal(ints(OP_DIV, TY_I64, 5, 0), 0);
  assert_int_equal(ints(OP_REM, TY_I64, 5, 0), 0);
  assert_int_equal(ints(OP_DIV, TY_I64, INT64_MIN, -1), INT64_MIN);
  assert_int_equal(ints(OP_DIV, TY_I32, INT32_MIN, -1), INT32_MIN);
  assert_int_equal(ints(OP_REM, TY_I64, INT64_MIN, -1), 0);
  assert_int_equal(ints(OP_MIN, TY_I64, -1, 1), -1);
  assert_int_equal(ints(OP_MAX, TY_I64, -1, 1), 1);
  assert_int_equal(eval(OP_NEG, TY_I32, 1, (Const){.i = INT32_MIN}, (Const){0}, (Const){0}, TY_I32).i, INT32_MIN);
  assert_int_equal(eval(OP_ABS, TY_I64, 1, (Const){.i = INT64_MIN}, (Const){0}, (Const){0}, TY_I64).i, INT64_MIN);
}

FIXTURE_TEST(test_bits) {
  assert_int_equal(ints(OP_SUB, TY_U32, 0, 1), UINT32_MAX);
  assert_int_equal(ints(OP_DIV, TY_U32, UINT32_MAX, 2), INT32_MAX);
  assert_int_equal(ints(OP_MAX, TY_U32, UINT32_MAX, 2), UINT32_MAX);
  assert_int_equal(ints(OP_MUL, TY_U32, UINT32_MAX, UINT32_MAX), 1);
  assert_int_equal(ints(OP_BIT_AND, TY_I32, -4, 7), 4);
  assert_int_equal(ints(OP_BIT_OR, TY_I64, -4, 1), -3);
  assert_int_equal(ints(OP_BIT_XOR, TY_U32, UINT32_MAX, 5), UINT32_MAX - 5);
  assert_int_equal(eval(OP_BIT_NOT, TY_U32, 1, (Const){.i = 0}, (Const){0}, (Const){0}, TY_U32).i, UINT32_MAX);
  assert_int_equal(ints(OP_SHL, TY_I32, 1, 31), INT32_MIN);
  assert_int_equal(ints(OP_SHL, TY_U32, 3, 31), INT64_C(1) << 31);
  assert_int_equal(ints(OP_SHR, TY_I64, INT64_MIN, 63), -1);
  assert_int_equal(ints(OP_SHR, TY_U32, UINT32_MAX, 31), 1);
  static const int64_t beyond[] = {32, 33, 64, -1, INT32_MIN};
  for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
    assert_int_equal(ints(OP_SHL, TY_I32, -1, beyond[i]), 0);
    assert_int_equal(ints(OP_SHR, TY_I32, 5, beyond[i]), 0);
    assert_int_equal(ints(OP_SHR, TY_I32, -5, beyond[i]), -1);
    assert_int_equal(ints(OP_SHR, TY_U32, UINT32_MAX, beyond[i] & UINT32_MAX), 0);
  }
}

FIXTURE_TEST(test_floats) {
  assert_true(floats(OP_ADD, TY_F32, 0.1f, 0.2f) == (double)(0.1f + 0.2f));
  assert_true(floats(OP_ADD, TY_F64, 0.1, 0.2) == 0.1 + 0.2);
  assert_true(floats(OP_DIV, TY_F32, 1, 3) == (double)(1.0f / 3.0f));
  assert_true(isinf(floats(OP_DIV, TY_F64, 1, 0)));
  assert_true(floats(OP_REM, TY_F64, -7.5, 2) == -1.5);
  assert_true(signbit(unary(OP_NEG, TY_F64, 0.0)));
  assert_true(unary(OP_RSQRT, TY_F32, 3) == (double)(1.0f / sqrtf(3.0f)));
  assert_true(unary(OP_SIN, TY_F32, 1) == (double)(float)sin(1));
  assert_true(floats(OP_POW, TY_F64, 2, 10) == 1024);
  assert_true(floats(OP_COPYSIGN, TY_F64, 3, -0.0) == -3);
  assert_true(unary(OP_FLOOR, TY_F64, -0.5) == -1 && unary(OP_CEIL, TY_F64, -0.5) == 0);
  Const e = {.f = 0x1p-30};
  Const one = {.f = 1 + 0x1p-12}, minus = {.f = -(1 + 0x1p-11)};
  assert_true(eval(OP_FMA, TY_F32, 3, one, one, minus, TY_F32).f == 0x1p-24);
  assert_true(eval(OP_FMA, TY_F64, 3, e, e, (Const){.f = 1}, TY_F64).f == 1 + 0x1p-60);
}

FIXTURE_TEST(test_min_max) {
  assert_true(floats(OP_MIN, TY_F32, NAN, 2) == 2 && floats(OP_MIN, TY_F32, 2, NAN) == 2);
  assert_true(floats(OP_MAX, TY_F64, NAN, 2) == 2 && isnan(floats(OP_MAX, TY_F64, NAN, NAN)));
  assert_true(signbit(floats(OP_MIN, TY_F64, 0.0, -0.0)) && signbit(floats(OP_MIN, TY_F64, -0.0, 0.0)));
  assert_true(!signbit(floats(OP_MAX, TY_F64, 0.0, -0.0)) && !signbit(floats(OP_MAX, TY_F64, -0.0, 0.0)));
}

FIXTURE_TEST(test_compare) {
  assert_true(compares(OP_LT, 1, 2) && !compares(OP_LT, 2, 2) && compares(OP_LE, 2, 2) && compares(OP_GT, 3, 2) &&
              compares(OP_GE, 2, 2));
  assert_true(!compares(OP_LT, NAN, 2) && !compares(OP_GE, NAN, 2) && !compares(OP_EQ, NAN, NAN) &&
              compares(OP_NE, NAN, NAN));
  assert_true(compares(OP_EQ, 0.0, -0.0));
}

FIXTURE_TEST(test_logic) {
  for (int x = 0; x < 2; x++)
    for (int y = 0; y < 2; y++) {
      assert_int_equal(ints(OP_AND, TY_BOOL, x, y), x & y);
      assert_int_equal(ints(OP_OR, TY_BOOL, x, y), x | y);
    }
  assert_int_equal(eval(OP_NOT, TY_BOOL, 1, (Const){.i = 1}, (Const){0}, (Const){0}, TY_BOOL).i, 0);
  assert_true(eval(OP_SELECT, TY_F64, 3, (Const){.i = 1}, (Const){.f = 4}, (Const){.f = 5}, TY_F64).f == 4);
  assert_true(eval(OP_SELECT, TY_F64, 3, (Const){.i = 0}, (Const){.f = 4}, (Const){.f = 5}, TY_F64).f == 5);
  assert_int_equal(eval(OP_CONVERT, TY_F64, 1, (Const){.f = 1e20}, (Const){0}, (Const){0}, TY_I32).i, INT32_MAX);
}

/* Is `code` among those that every switch over ops treats as maps of coordinates? */
static bool is_coordinate_map(Opcode code) {
  switch (code) {
  case COORDINATE_MAPS: return true;
  default: return false;
  }
}

/* Checks `code` on -7 .. 7 of [0, 3] against `want`. */
static void check_map(Opcode code, const int64_t want[15]) {
  for (int x = -7; x <= 7; x++)
    assert_int_equal(eval_map(code, x + 10, 10, 13), want[x + 7] + 10);
}

FIXTURE_TEST(test_maps) {
  check_map(OP_CLAMP, (int64_t[]){0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3});
  check_map(OP_GUARD, (int64_t[]){0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3});
  check_map(OP_MIRROR, (int64_t[]){1, 0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1});
  check_map(OP_WRAP, (int64_t[]){1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3});
  check_map(OP_HALF, (int64_t[]){1, 2, 3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0});
  check_map(OP_MIRROR_HALF, (int64_t[]){0, 1, 2, 3, 3, 2, 1, 0, 1, 2, 3, 3, 2, 1, 0});
  check_map(OP_HALF_MIRROR, (int64_t[]){0, 1, 2, 3, 2, 1, 0, 0, 1, 2, 3, 2, 1, 0, 0});
  check_map(OP_CLAMP_MIRROR, (int64_t[]){0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 2, 1, 0, 0});
  check_map(OP_CLAMP_HALF, (int64_t[]){0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 2, 1, 0});
  check_map(OP_MIRROR_CLAMP, (int64_t[]){3, 3, 3, 3, 3, 2, 1, 0, 1, 2, 3, 3, 3, 3, 3});
  check_map(OP_HALF_CLAMP, (int64_t[]){3, 3, 3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 3, 3, 3});
  for (int code = 0; code < OP_COUNT; code++) {
    if (op_info[code].form != FORM_MAP)
      continue;
    if (!is_coordinate_map((Opcode)code))
      fail_msg("%s is of form MAP, but is not in COORDINATE_MAPS of ir/op.h", op_info[code].name);
    assert_int_equal(eval_map((Opcode)code, 99, 5, 5), 5);
    assert_int_equal(eval_map((Opcode)code, 99, 5, 2), 5);
    int64_t r = eval_map((Opcode)code, INT64_MIN, INT64_MIN / 2, INT64_MAX / 2);
    assert_true(r >= INT64_MIN / 2 && r <= INT64_MAX / 2);
  }
}

/* Has the function `code` of `n` floats at `at` the derivatives that differences of its values have? */
static void check_derivatives(Opcode code, int n, const double *at) {
  static const double step = 0x1p-20;
  Arena *a = arena_new(NULL, NULL);
  Builder b = builder_at_end(a, block_new(a, NULL));
  Value *v[3] = {NULL, NULL, NULL};
  Const in[3] = {{0}, {0}, {0}};
  for (int i = 0; i < n; i++)
    v[i] = build_const(&b, TY_F64, in[i] = (Const){.f = at[i]});
  const Op *op = build_op(&b, code, TY_F64, n, v);
  double partial[3];
  op_partials(op, in, eval_op(op, in), partial);
  for (int i = 0; i < n; i++) {
    Const up[3] = {in[0], in[1], in[2]}, down[3] = {in[0], in[1], in[2]};
    up[i].f += step;
    down[i].f -= step;
    double slope = (eval_op(op, up).f - eval_op(op, down).f) / (2 * step);
    if (!(fabs(partial[i] - slope) <= 1e-6))
      fail_msg("%s: the derivative by operand %d is %g in ir/run/derive.c; differences give %g", op_info[code].name, i,
               partial[i], slope);
  }
  arena_free(a);
}

/* A function of floats without a row in derive.c would have gradients of 0. */
FIXTURE_TEST(test_derivatives) {
  for (int code = 0; code < OP_COUNT; code++)
    if (op_info[code].flags & OPF_FUNCTION &&
        (op_info[code].operands == OPERANDS_FLOATS || op_info[code].operands == OPERANDS_NUMBERS)) {
      check_derivatives((Opcode)code, op_info[code].noperands, (double[]){0.3, 0.7, 0.4});
      check_derivatives((Opcode)code, op_info[code].noperands, (double[]){0.8, 0.2, -0.6});
    }
}

/* Rules lead as far as outside_reach says and no further, and only those without an op lead beyond the region. */
FIXTURE_TEST(test_outside_rules) {
  for (int rule = 0; rule < OUTSIDE_RULES; rule++) {
    OutsideRule r = (OutsideRule)rule;
    assert_int_equal(outside_find(outside_name(r)), r);
    assert_true(outside_map(r) != OP_COUNT || !outside_leads(r));
    for (int off = -4; off <= 4; off++) {
      int64_t lo, hi;
      outside_reach(r, off, &lo, &hi);
      assert_true(lo <= off && off <= hi && (outside_leads(r) || lo == hi));
      int64_t least = 0, most = 0;
      for (int last = 0; last <= 20; last++)
        for (int x = 0; x <= last && outside_leads(r); x++) {
          int64_t by = eval_map(outside_map(r), x + off, 0, last) - x;
          assert_true(lo <= by && by <= hi);
          least = by < least ? by : least;
          most = by > most ? by : most;
        }
      assert_true(!outside_leads(r) || (least == lo && most == hi));
    }
  }
}

/* May the rule stand at one end of a dimension, with another rule at the other? */
static bool is_of_an_end(OutsideRule r) {
  return outside_map(r) != OP_COUNT && r != OUTSIDE_PERIODIC && r != OUTSIDE_ALL && outside_end(r, 0) == r;
}

/* The rules of two ends have a row together. */
FIXTURE_TEST(test_outside_pairs) {
  for (int low = 0; low < OUTSIDE_RULES; low++)
    for (int high = 0; high < OUTSIDE_RULES; high++)
      if (is_of_an_end((OutsideRule)low) && is_of_an_end((OutsideRule)high) &&
          outside_pair((OutsideRule)low, (OutsideRule)high) == OUTSIDE_NONE)
        fail_msg("ir/outside.def has no row for '%s' below and '%s' above", outside_name((OutsideRule)low),
                 outside_name((OutsideRule)high));
}
