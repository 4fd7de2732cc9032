/* passes_ranges_test.c: linear forms, intervals, uniformity, and accesses that cross threads. */
#include "tests/unit/ir_testing.h"

#include "passes/kernel/crossing.h"

/* A kernel of 4 x 8 threads in the making. */
typedef struct Bench {
  Arena *arena;
  Module *m;
  Kernel *k;
  Builder b;
} Bench;

/* A module with the i64 param N (scalar 0), the i32 param K (scalar 1), and one kernel with an array of 64 cells. */
static Bench bench(Fixture *f) {
  static const char text[] =
      "kernel module \"t\" { param @N : i64 = { %0 = const 9 : i64 yield %0 } param @K : i32 = { %0 = const 9 : i32 "
      "yield %0 }\n"
      "grid [0 .. N - 1, 0 .. 9] steps 1 field @A : f32 on [0 .. N - 1, 0 .. 9] buffer @A : @A copy 0\n"
      "kernel @k threads [4, 8] covers [N, 10] by [4, 8] steps 1 { args (scalar @N) shared @s : f32[64] } host { steps "
      "1 { launch @k } } }\n";
  Module *m = module_parse(f->arena, f->diags, "t", text);
  if (!m)
    fail_msg("%s", f->messages.s);
  Bench t = {f->arena, m, &m->kernels[0], builder_at_end(f->arena, m->kernels[0].body)};
  return t;
}

/* The analysis of what was built. */
static Ranges *analyse(Bench *t) {
  module_renumber(t->m);
  return ranges_new(t->arena, t->m, t->k, t->k->body);
}

static Value *num(Bench *t, int64_t i) { return build_int(&t->b, TY_I32, i); }

/* The bounds of `v` are [lo, hi]. */
static void assert_interval(Ranges *r, const Value *v, int64_t lo, int64_t hi) {
  Interval x = value_interval(r, v);
  assert_true(x.known);
  assert_int_equal(x.lo, lo);
  assert_int_equal(x.hi, hi);
}

FIXTURE_TEST(test_sums_of_threads) {
  Bench t = bench(f);
  Value *y = build_dim(&t.b, OP_THREAD, 0), *x = build_dim(&t.b, OP_THREAD, 1);
  Value *flat = build2(&t.b, OP_ADD, build2(&t.b, OP_MUL, y, num(&t, 8)), x);
  Value *down = build2(&t.b, OP_SUB, num(&t, 5), flat), *wide = build_convert(&t.b, TY_I64, down),
        *none = build2(&t.b, OP_SUB, flat, flat);
  Ranges *r = analyse(&t);
  assert_interval(r, flat, 0, 31);
  assert_interval(r, down, -26, 5);
  assert_interval(r, wide, -26, 5);
  assert_interval(r, none, 0, 0);
  assert_int_equal(linear_of(r, wide).n, 2);
  assert_int_equal(linear_of(r, none).n, 0);
}

FIXTURE_TEST(test_widening_needs_a_proof) {
  Bench t = bench(f);
  Value *k = build_scalar(&t.b, TY_I32, 1), *more = build2(&t.b, OP_ADD, k, num(&t, 1));
  Value *wide_k = build_convert(&t.b, TY_I64, k), *wide_more = build_convert(&t.b, TY_I64, more);
  Value *n = build_scalar(&t.b, TY_I64, 0), *low = build_convert(&t.b, TY_I32, n),
        *back = build_convert(&t.b, TY_I64, low);
  Ranges *r = analyse(&t);
  assert_int_equal(linear_of(r, wide_k).t[0].atom.kind, ATOM_SCALAR);
  assert_int_equal(linear_of(r, wide_more).t[0].atom.kind, ATOM_VALUE);
  assert_int_equal(linear_of(r, low).t[0].atom.kind, ATOM_SCALAR);
  assert_int_equal(linear_of(r, back).t[0].atom.kind, ATOM_VALUE);
  assert_interval(r, more, INT32_MIN, INT32_MAX);
  assert_interval(r, wide_more, INT32_MIN, INT32_MAX);
  assert_false(value_interval(r, n).known);
}

FIXTURE_TEST(test_loops) {
  Bench t = bench(f);
  Op *loop = build_for(&t.b, num(&t, 3), num(&t, 20), 4, 0, 0, NULL),
     *never = build_for(&t.b, num(&t, 3), num(&t, 3), 1, 0, 0, NULL);
  Value *last = build2(&t.b, OP_MIN, build_dim(&t.b, OP_THREAD, 1), num(&t, 5));
  Op *ragged = build_for(&t.b, build_dim(&t.b, OP_THREAD, 0), last, 1, 0, 0, NULL);
  Value *huge = build_int(&t.b, TY_I64, INT64_MAX), *low = build_int(&t.b, TY_I64, INT64_MIN);
  Op *whole = build_for(&t.b, low, huge, INT64_MAX, 0, 0, NULL);
  Ranges *r = analyse(&t);
  assert_interval(r, loop->blocks[0]->args[0], 3, 19);
  assert_interval(r, never->blocks[0]->args[0], 3, 3);
  assert_interval(r, ragged->blocks[0]->args[0], 0, 4);
  assert_interval(r, whole->blocks[0]->args[0], INT64_MIN, INT64_MAX - 1);
}

FIXTURE_TEST(test_other_ops) {
  Bench t = bench(f);
  Value *x = build_dim(&t.b, OP_THREAD, 1), *k = build_scalar(&t.b, TY_I32, 1);
  Value *min = build2(&t.b, OP_MIN, k, num(&t, 7)), *max = build2(&t.b, OP_MAX, min, num(&t, 2));
  Value *rem = build2(&t.b, OP_REM, k, num(&t, -5)), *rem_x = build2(&t.b, OP_REM, x, num(&t, 5));
  Value *div = build2(&t.b, OP_DIV, build2(&t.b, OP_SUB, x, num(&t, 6)), num(&t, 4)),
        *div_k = build2(&t.b, OP_DIV, k, num(&t, 1 << 20)), *div_down = build2(&t.b, OP_DIV, x, num(&t, -4));
  Value *map = build_map(&t.b, OP_WRAP, build_scalar(&t.b, TY_I64, 0), 3, affine_const(-2), affine_const(11));
  Value *empty = build_map(&t.b, OP_CLAMP, build_scalar(&t.b, TY_I64, 0), 0, affine_const(4), affine_const(3));
  Value *pick = build3(&t.b, OP_SELECT, build2(&t.b, OP_LT, x, num(&t, 3)), max, num(&t, 40));
  Ranges *r = analyse(&t);
  assert_interval(r, min, INT32_MIN, 7);
  assert_interval(r, max, 2, 7);
  assert_interval(r, rem, -4, 4);
  assert_interval(r, rem_x, 0, 4);
  assert_interval(r, div, -1, 0);
  assert_interval(r, div_k, -2048, 2047);
  assert_interval(r, div_down, INT32_MIN, INT32_MAX);
  assert_interval(r, map, -2, 11);
  assert_interval(r, empty, 4, 4);
  assert_interval(r, pick, 2, 40);
}

FIXTURE_TEST(test_params_cancel) {
  Bench t = bench(f);
  Value *n = build_scalar(&t.b, TY_I64, 0), *x = build_convert(&t.b, TY_I64, build_dim(&t.b, OP_THREAD, 1));
  Value *from_end = build2(&t.b, OP_SUB, n, x);
  Ranges *r = analyse(&t);
  Linear distance =
      linear_sub(r, linear_of_affine(r, affine_add_const(affine_scalar(t.arena, 0), -1)), linear_of(r, from_end));
  Interval i = linear_interval(r, distance);
  assert_true(i.known);
  assert_int_equal(i.lo, -1);
  assert_int_equal(i.hi, 6);
}

FIXTURE_TEST(test_uniform) {
  Bench t = bench(f);
  Value *x = build_dim(&t.b, OP_THREAD, 1), *g = build_dim(&t.b, OP_BLOCK, 0), *n = build_scalar(&t.b, TY_I64, 0);
  Value *alike = build2(&t.b, OP_LT, build2(&t.b, OP_ADD, g, n), build_step(&t.b));
  Value *apart = build3(&t.b, OP_SELECT, alike, x, num(&t, 0));
  Op *loop = build_for(&t.b, num(&t, 0), build_convert(&t.b, TY_I32, n), 1, 0, 0, NULL),
     *ragged = build_for(&t.b, num(&t, 0), x, 1, 0, 0, NULL);
  Value *zero = num(&t, 0), *loaded = build_aload(&t.b, TY_F32, 0, 0, 1, &zero, NULL);
  assert_true(value_is_uniform(alike));
  assert_false(value_is_uniform(apart));
  assert_true(value_is_uniform(loop->blocks[0]->args[0]));
  assert_false(value_is_uniform(ragged->blocks[0]->args[0]));
  assert_false(value_is_uniform(loaded));
}

/* Does a store to cell `i` cross a load from cell `j` + off? */
static bool cross(Bench *t, Value *i, Value *j, int64_t off) {
  Value *v = build_float(&t->b, TY_F32, 1.0);
  Op *store = build_astore(&t->b, 0, 1, v, 1, &i, NULL);
  Value *load = build_aload(&t->b, TY_F32, 0, 1, 1, &j, &off);
  Crossing *c = crossing_new(t->arena, analyse(t));
  return accesses_cross(c, access_new(c, store, false), access_new(c, load->def, false));
}

FIXTURE_TEST(test_cells_of_flat_arrays) {
  Bench t = bench(f);
  Value *y = build_dim(&t.b, OP_THREAD, 0), *x = build_dim(&t.b, OP_THREAD, 1);
  Value *flat = build2(&t.b, OP_ADD, build2(&t.b, OP_MUL, y, num(&t, 8)), x);
  Value *padded = build2(&t.b, OP_ADD, build2(&t.b, OP_MUL, y, num(&t, 9)), x),
        *tight = build2(&t.b, OP_ADD, build2(&t.b, OP_MUL, y, num(&t, 7)), x);
  assert_false(cross(&t, flat, flat, 0));
  assert_false(cross(&t, flat, flat, 32));
  assert_true(cross(&t, flat, flat, 1));
  assert_true(cross(&t, flat, flat, -31));
  assert_false(cross(&t, padded, padded, 0));
  assert_true(cross(&t, padded, padded, 9));
  assert_true(cross(&t, tight, tight, 0));
  assert_true(cross(&t, flat, x, 0));
  assert_false(cross(&t, flat, x, 32));
  assert_true(cross(&t, x, x, 0));
}

FIXTURE_TEST(test_cells_of_loops) {
  Bench t = bench(f);
  t.k->threads[0] = 1;
  Op *by_block = build_for(&t.b, num(&t, 0), num(&t, 3), 1, 0, 0, NULL),
     *by_two = build_for(&t.b, num(&t, 0), num(&t, 2), 1, 0, 0, NULL);
  Value *x = build_dim(&t.b, OP_THREAD, 1), *e = by_block->blocks[0]->args[0], *p = by_two->blocks[0]->args[0];
  Value *strided = build2(&t.b, OP_ADD, x, build2(&t.b, OP_MUL, e, num(&t, 8)));
  Value *paired = build2(&t.b, OP_ADD, build2(&t.b, OP_MUL, x, num(&t, 2)), p), *loose = build2(&t.b, OP_ADD, x, e);
  Value *half = build2(&t.b, OP_ADD, x, build2(&t.b, OP_MUL, e, num(&t, 4)));
  assert_false(cross(&t, strided, strided, 0));
  assert_false(cross(&t, strided, strided, 16));
  assert_true(cross(&t, strided, strided, 5));
  assert_false(cross(&t, paired, paired, 0));
  assert_true(cross(&t, paired, paired, 1));
  assert_true(cross(&t, paired, paired, 2));
  assert_true(cross(&t, loose, loose, 0));
  assert_true(cross(&t, half, half, 0));
}

FIXTURE_TEST(test_cells_not_understood) {
  Bench t = bench(f);
  Value *x = build_dim(&t.b, OP_THREAD, 1), *k = build_scalar(&t.b, TY_I32, 1), *sum = build2(&t.b, OP_ADD, x, k);
  t.k->threads[0] = 1;
  assert_true(cross(&t, sum, sum, 0));
  assert_true(cross(&t, build2(&t.b, OP_MUL, x, x), x, 0));
}
