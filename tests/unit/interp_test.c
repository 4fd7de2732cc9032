/* interp_test.c: the reference interpreter (ir/interp/interp.c) and the quick arithmetic it shares with the simulator
 * (ir/run/exec.h). */
#include "tests/unit/execution.h"

#include "ir/run/exec.h"

/* ---- exec.h */

/* Operands worth trying: for floats and for integers. */
static const double FLOATS[] = {0.0,   -0.0, 1.0,      -1.5,      0.1, 3.0e38,       -3.0e38, 1.0e-40,
                                1e300, 7.25, INFINITY, -INFINITY, NAN, 2147483648.0, -9.3e18};
static const int64_t INTS[] = {0, 1, -1, 2, 7, -13, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 123456789};

static Const sample(Type t, int i) {
  Const c = t == TY_BOOL ? exec_i(i & 1) : type_is_float(t) ? exec_f(FLOATS[i % 15]) : exec_i(INTS[i % 11]);
  return const_convert(c, t == TY_BOOL ? TY_BOOL : type_is_float(t) ? TY_F64 : TY_I64, t);
}

/* exec_apply on `op` is eval_op for many operands. */
static void compare_op(const Op *op) {
  Type t = op->operands[0]->type;
  ExecCode code = exec_code(op);
  for (int i = 0; i < 15; i++)
    for (int j = 0; j < 15; j++)
      for (int k = 0; k < (op->noperands > 2 ? 15 : 1); k++) {
        Const in[3] = {sample(t, i), sample(op->noperands > 1 ? op->operands[1]->type : t, j),
                       sample(op->noperands > 2 ? op->operands[2]->type : t, k)};
        Const quick = exec_apply(code, op, in[0], in[1], in[2]), right = eval_op(op, in);
        Type result = op->results[0]->type;
        bool both_nan = type_is_float(result) && quick.f != quick.f && right.f != right.f;
        if (!both_nan && !const_same(quick, right, result))
          fail_msg("%s on %s: operands %d %d %d", op_info[op->code].name, type_name(t), i, j, k);
      }
}

WORLD_TEST(test_quick_arithmetic) {
  static const Type types[] = {TY_BOOL, TY_I32, TY_I64, TY_F32, TY_F64};
  Builder b = builder_at_end(w->arena, block_new(w->arena, NULL));
  for (int t = 0; t < 5; t++) {
    Value *x = build_const(&b, types[t], sample(types[t], 0)), *c = build_const(&b, TY_BOOL, exec_i(1));
    for (int code = 0; code < OP_COUNT; code++)
      if (op_info[code].level == LEVEL_BOTH && operands_allow(op_info[code].operands, types[t]))
        compare_op(build_op(&b, (Opcode)code, TY_NONE, op_info[code].noperands, (Value *[]){x, x, x}));
    compare_op(build_op(&b, OP_SELECT, TY_NONE, 3, (Value *[]){c, x, x}));
    for (int to = 0; to < 5; to++)
      compare_op(build_op(&b, OP_CONVERT, types[to], 1, (Value *[]){x}));
  }
}

/* ---- stencils */

WORLD_TEST(test_jacobi) {
  Module *m = load(w,
                   "stencil module \"t\" {\n  grid [0 .. 4] steps 1\n  field @A : f64 on [0 .. 4]\n"
                   "  stencil @s (@A) {\n    piece [1 .. 3] (@A) {\n"
                   "      %0 = access @A[-1] : f64\n      %1 = access @A[1] : f64\n      %2 = add %0, %1 : f64\n      "
                   "yield %2\n    }\n  }\n}\n",
                   0, NULL);
  double *a = w->fields[0];
  for (int i = 0; i < 5; i++)
    a[i] = 1 << i;
  Binding b = binding(w);
  assert_true(interp_run(m, &b, 1, true, NULL, w->diags));
  assert_memory_equal(a, ((double[]){1, 5, 10, 20, 16}), 40);
  assert_true(interp_run(m, &b, 1, true, NULL, w->diags));
  assert_memory_equal(a, ((double[]){1, 11, 25, 26, 16}), 40);
}

/* A single stencil R = A[-2, 3] on a 2 x 3 grid with A outside `rule`; returns R[0,0]. */
static int64_t outside_corner(World *w, const char *rule) {
  const char *text = arena_printf(
      w->arena,
      "stencil module \"t\" {\n  grid [0 .. 1, 0 .. 2] steps 1\n  field @A : i64 on [0 .. 1, 0 .. 2] outside %s input\n"
      "  field @R : i64 on [0 .. 1, 0 .. 2]\n"
      "  stencil @s (@R) {\n    piece [0 .. 1, 0 .. 2] (@R) {\n      %%0 = access @A[-2, 3] : i64\n      yield %%0\n   "
      " }\n  }\n}\n",
      rule);
  Module *m = load(w, text, 0, NULL);
  for (int i = 0; i < 6; i++)
    ((int64_t *)w->fields[0])[i] = i;
  Binding b = binding(w);
  assert_true(interp_run(m, &b, 1, true, NULL, w->diags));
  return *(int64_t *)w->fields[1];
}

WORLD_TEST(test_outside_rules) {
  assert_int_equal(outside_corner(w, "clamp"), 2);    /* [0, 2] */
  assert_int_equal(outside_corner(w, "mirror"), 1);   /* [0, 1] */
  assert_int_equal(outside_corner(w, "periodic"), 0); /* [0, 0] */
  assert_int_equal(outside_corner(w, "const 77"), 77);
}

/* A grid of one point: every rule gives that point. */
WORLD_TEST(test_one_point) {
  static const char *const rules[] = {"clamp", "mirror", "periodic"};
  for (int i = 0; i < 3; i++) {
    Module *m =
        load(w,
             arena_printf(w->arena,
                          "stencil module \"t\" {\n  grid [5 .. 5] steps 1\n  field @A : i32 on [5 .. 5] outside %s\n"
                          "  stencil @s (@A) {\n    piece [5 .. 5] (@A) {\n      %%0 = access @A[-1] : i32\n      %%1 "
                          "= access @A[4] : i32\n"
                          "      %%2 = add %%0, %%1 : i32\n      yield %%2\n    }\n  }\n}\n",
                          rules[i]),
             0, NULL);
    *(int32_t *)w->fields[0] = 3;
    Binding b = binding(w);
    assert_true(interp_run(m, &b, 3, true, NULL, w->diags));
    assert_int_equal(*(int32_t *)w->fields[0], 24);
  }
}

/* Two pieces that both read old values; two targets that exchange values; rows longer than the interpreter's chunk. */
WORLD_TEST(test_old_values) {
  Module *m = load(w,
                   "stencil module \"t\" {\n  param @N : i64\n  grid [0 .. N - 1] steps 1\n  field @A : i32 on [0 .. N "
                   "- 1]\n  field @B : i32 on [0 .. N - 1]\n"
                   "  stencil @s (@A, @B) {\n"
                   "    piece [0] (@A) {\n      %0 = access @A[1] : i32\n      yield %0\n    }\n"
                   "    piece [1 .. N - 1] (@A, @B) {\n      %0 = access @B[0] : i32\n      %1 = access @A[-1] : i32\n "
                   "     yield %0, %1\n    }\n  }\n}\n",
                   1, &(Define){"N", "1000"});
  int32_t *a = w->fields[0], *c = w->fields[1];
  for (int i = 0; i < 1000; i++) {
    a[i] = i;
    c[i] = -i;
  }
  Binding b = binding(w);
  assert_true(interp_run(m, &b, 1, true, NULL, w->diags));
  assert_int_equal(a[0], 1);
  assert_int_equal(c[0], 0);
  for (int i = 1; i < 1000; i++) {
    assert_int_equal(a[i], -i);
    assert_int_equal(c[i], i - 1);
  }
}

static const char *const STEPPED =
    "stencil module \"t\" {\n  grid [0 .. 3] steps 1\n  field @A : i64 on [0 .. 3]\n  field @B : i64 on [0 .. 3]\n  "
    "time_tile 2\n"
    "  init @i (@A, @B) {\n    piece [0 .. 3] (@A, @B) {\n      %0 = index 0 : i64\n      %1 = const 50 : i64\n      "
    "yield %0, %1\n    }\n  }\n"
    "  stencil @s (@A) {\n    piece [0 .. 3] (@A) {\n"
    "      %0 = access @A[0] : i64\n      %1 = step : i64\n      %2 = add %0, %1 : i64\n      yield %2\n    }\n  }\n"
    "  stencil @s (@A) level 1 {\n    piece [0 .. 3] (@A) {\n"
    "      %0 = access @A[0] : i64\n      %1 = step : i64\n      %2 = add %0, %1 : i64\n      yield %2\n    }\n  "
    "}\n}\n";

/* Levels of a time tile run one a step; `step` counts on from first_step; skipped inits leave their field. */
WORLD_TEST(test_steps_and_inits) {
  Module *m = load(w, STEPPED, 0, NULL);
  int64_t *a = w->fields[0], *c = w->fields[1];
  for (int i = 0; i < 4; i++)
    a[i] = c[i] = 7;
  Binding b = binding(w);
  bool skip[2] = {false, true};
  assert_true(interp_run(m, &b, 3, true, skip, w->diags));
  assert_memory_equal(a, ((int64_t[]){3, 4, 5, 6}), 32);
  assert_memory_equal(c, ((int64_t[]){7, 7, 7, 7}), 32);
  b.first_step = 3;
  assert_true(interp_run(m, &b, 1, false, NULL, w->diags));
  assert_memory_equal(a, ((int64_t[]){6, 7, 8, 9}), 32);
}

WORLD_TEST(test_temp) {
  static const char *const text =
      "stencil module \"t\" {\n  grid [0 .. 4] steps 1\n  field @A : f32 on [0 .. 4]\n  field @T : f32 on [0 .. 4] "
      "temp\n"
      "  stencil @s (@T) {\n    piece [1 .. 3] (@T) {\n      %%0 = access @A[0] : f32\n      yield %%0\n    }\n  }\n"
      "  stencil @r (@A) {\n    piece [1 .. 3] (@A) {\n      %%0 = access @T[%s] : f32\n      %%1 = add %%0, %%0 : "
      "f32\n      yield %%1\n    }\n  }\n}\n";
  Module *m = load(w, arena_printf(w->arena, text, "0"), 0, NULL);
  float *a = w->fields[0];
  for (int i = 0; i < 5; i++)
    a[i] = 1;
  Binding b = binding(w);
  assert_true(interp_run(m, &b, 2, true, NULL, w->diags));
  assert_memory_equal(a, ((float[]){1, 4, 4, 4, 1}), 20);
  m = load(w, arena_printf(w->arena, text, "1"), 0, NULL);
  b = binding(w);
  assert_false(interp_run(m, &b, 2, true, NULL, w->diags));
  assert_message(w,
                 "13: stencil 'r', step 0: temp field 'T' is read at [4], which no stencil has written in this step");
}

WORLD_TEST(test_faults) {
  static const char *const text =
      "stencil module \"t\" {\n  param @N : i64\n  grid [0 .. N] steps 1\n  field @A : f32 on [0 .. 7]\n"
      "  stencil @s (@A) {\n    piece [0 .. N] (@A) {\n      %%0 = access @A[%s] : f32\n      yield %%0\n    }\n  "
      "}\n}\n";
  Module *m = load(w, arena_printf(w->arena, text, "1"), 1, &(Define){"N", "7"});
  Binding b = binding(w);
  assert_false(interp_run(m, &b, 1, true, NULL, w->diags));
  assert_message(w, "7: stencil 's', step 0: the access to 'A' reaches [8], outside its region [0 .. 7]; the field has "
                    "no outside rule");
  m = load(w, arena_printf(w->arena, text, "0"), 1, &(Define){"N", "8"});
  b = binding(w);
  assert_false(interp_run(m, &b, 1, true, NULL, w->diags));
  assert_message(w, "6: stencil 's' computes 'A' on [0 .. 8], outside the field's region [0 .. 7]");
  b.fields = (void *[]){NULL};
  m = load(w, arena_printf(w->arena, text, "0"), 1, &(Define){"N", "7"});
  assert_false(interp_run(m, &b, 1, true, NULL, w->diags));
  assert_message(w, "field 'A' has no array to run on");
}
