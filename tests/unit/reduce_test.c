/* reduce_test.c: reductions as kernels (passes/lower/lower-reduce.c) and in the simulator's host part, against the
 * reference, bit for bit. */
#include "backend/backend.h"
#include "execution.h"
#include "ir/sim/sim.h"
#include "passes/passes.h"

#include <math.h>

/* What a run's reductions gave, in order. */
typedef struct Series {
  int n;
  struct {
    int reduction;
    int64_t step;
    Const value;
  } at[64];
  const Module *m;
} Series;

static void note(void *user, const Reduction *r, int64_t step, int64_t member, Const value) {
  (void)member;
  Series *s = user;
  assert_true(s->n < 64);
  s->at[s->n].reduction = (int)(r - s->m->reductions);
  s->at[s->n].step = step;
  s->at[s->n++].value = value;
}

/* A program on the grid `grid` (rank `rank`) whose field A is sin of the sum of coordinates at first and is damped in
 * each step, with the reductions `reductions`. */
static const char *program(World *w, int rank, const char *grid, int steps, const char *reductions) {
  Str index = {.arena = w->arena};
  for (int d = 0; d < rank; d++)
    str_addf(&index, "    %%i%d = index %d : i64\n    %%c%d = const %d : i64\n    %%m%d = mul %%i%d, %%c%d : i64\n%s",
             d, d, d, 1 + 17 * d, d, d, d, d ? "" : "    %s0 = add %m0, %m0 : i64\n");
  for (int d = 1; d < rank; d++)
    str_addf(&index, "    %%s%d = add %%s%d, %%m%d : i64\n", d, d - 1, d);
  const char *zero = rank == 1 ? "0" : rank == 2 ? "0, 0" : "0, 0, 0";
  return arena_printf(w->arena,
                      "stencil module \"t\" {\n  param @N : i64 = { %%n = const 5 : i64 yield %%n }\n  reduction @r : "
                      "f64\n  reduction @k : i64\n  param_array @w[N] : f32\n  grid %s steps %d\n"
                      "  field @A : f32 on %s outside mirror\n  init @i (@A) { piece %s (@A) {\n%s    %%x = convert "
                      "%%s%d : f32\n    %%y = sin %%x : f32\n    yield %%y\n  } }\n"
                      "  stencil @s (@A) { piece %s (@A) {\n    %%a = access @A[%s] : f32\n    %%h = const 0.96875 : "
                      "f32\n    %%b = mul %%a, %%h : f32\n    yield %%b\n  } }\n%s}\n",
                      grid, steps, grid, grid, index.s, rank - 1, grid, zero, reductions);
}

/* The elements of @w. */
static float weights[5] = {1.0f, -0.5f, 0.25f, 3.0f, 1e-3f};

/* Runs module `m` (either level) on fresh arrays; false after an error. */
static bool run(World *w, Module *m, Series *s, int64_t steps, int64_t *done) {
  s->n = 0;
  s->m = m;
  if (!module_bind(m, 0, NULL, w->scalars, w->diags))
    fail_msg("%s", w->messages.s);
  for (int i = 0; i < m->nfields; i++) {
    int64_t shape[MAX_RANK], points = field_shape(&m->fields[i], w->scalars, shape);
    w->fields[i] = arena_alloc(w->arena, (size_t)points * 8 + 8);
  }
  Binding b = binding(w);
  b.param_arrays = (void *[]){weights};
  b.reduced = note;
  b.user = s;
  bool ok = m->level == LEVEL_SIR ? interp_run(m, &b, steps, true, NULL, w->diags)
                                  : sim_run(m, &b, steps, true, NULL, NULL, NULL, w->diags);
  *done = b.done;
  return ok;
}

/* The program of `text` lowered for `arch` by the schedule `family`. */
static Module *lower(World *w, const char *text, const char *arch, const char *family) {
  Schedule schedule = {.family = family_find(family)};
  PassContext c = {.arena = w->arena,
                   .diags = w->diags,
                   .target = target_info(target_find(w->arena, w->diags, arch, NULL)),
                   .schedule = &schedule};
  Module *m = module_parse(w->arena, w->diags, "test", text);
  if (!m)
    fail_msg("%s", w->messages.s);
  m = passes_run(&c, NULL, PASSES_DEFAULT, m);
  if (!m || !module_verify(m, w->diags))
    fail_msg("%s: %s", arch, w->messages.s);
  return m;
}

/* ---- the host target's code, run block by block */

/* Runs the sequence once, `step` steps being done, on the memory of the module's buffers. */
static void run_code(Jit *jit, const Module *m, const HostSeq *seq, void **memory, Const *scalars, int64_t step) {
  static _Alignas(64) char scratch[1 << 24];
  for (int i = 0; i < seq->nops; i++) {
    if (seq->ops[i].kind == HOST_SWAP) {
      void *p = memory[seq->ops[i].a];
      memory[seq->ops[i].a] = memory[seq->ops[i].b];
      memory[seq->ops[i].b] = p;
      continue;
    }
    const Kernel *k = &m->kernels[seq->ops[i].a];
    HostKernelFn fn = jit_find(jit, k->name);
    void *args[32];
    int64_t block[MAX_RANK] = {0}, n[MAX_RANK] = {1, 1, 1}, total = 1;
    assert_non_null(fn);
    assert_true(k->nargs <= 32 && kernel_shared_bytes(k) <= (int64_t)sizeof scratch);
    for (int j = 0; j < k->nargs; j++)
      args[j] = k->args[j].kind == KARG_BUFFER   ? (void *)&memory[k->args[j].index]
                : k->args[j].kind == KARG_SCALAR ? (void *)&scalars[k->args[j].index]
                                                 : &step;
    for (int d = 0; d < k->rank; d++) {
      int64_t extent = affine_eval(k->extent[d], scalars, NULL);
      n[d] = extent > 0 ? (extent + k->tile[d] - 1) / k->tile[d] : 0;
      total *= n[d];
    }
    for (int64_t b = 0; b < total; b++) {
      int64_t rest = b;
      for (int d = k->rank - 1; d >= 0; d--, rest /= n[d + 1])
        block[d] = rest % n[d];
      fn(args, block, scratch);
    }
  }
}

/* The value of the module's reduction number 0 after the inits, by the host target's code. */
static Const value_by_code(World *w, const Module *m) {
  const Target *t = target_find(w->arena, w->diags, "host", NULL);
  Jit *jit = jit_new(w->arena, w->diags, m, t, &(CodegenOptions){.opt_level = 2});
  void **memory = ARENA_ARRAY(w->arena, void *, m->nbuffers);
  int64_t shape[MAX_RANK];
  if (!jit)
    fail_msg("%s", w->messages.s);
  assert_true(module_bind(m, 0, NULL, w->scalars, w->diags));
  for (int i = 0; i < m->nbuffers; i++)
    memory[i] = m->buffers[i].kind == BUFFER_PARAM
                    ? weights
                    : arena_alloc(w->arena, (size_t)buffer_shape(m, i, w->scalars, shape) * 8 + 8);
  run_code(jit, m, &m->host.init, memory, w->scalars, 0);
  run_code(jit, m, &m->reductions[0].seq, memory, w->scalars, 0);
  Const v = {.i = *(int64_t *)memory[m->reductions[0].result]};
  jit_free(jit);
  return v;
}

/* The same series in the reference and in the simulator, for GPU and CPU code, by both schedules. */
static void assert_agreement(World *w, const char *text, int64_t steps, int expected, int64_t expected_done) {
  static const char *const arches[] = {"nvptx", "host"}, *const families[] = {"naive", "overlap"};
  Series want, got;
  int64_t done;
  Module *m = module_parse(w->arena, w->diags, "test", text);
  if (!m || !run(w, m, &want, steps, &done))
    fail_msg("%s\n%s", w->messages.s, text);
  assert_int_equal(want.n, expected);
  assert_int_equal(done, expected_done);
  for (int i = 0; i < 4; i++) {
    Module *k = lower(w, text, arches[i / 2], families[i % 2]);
    if (!run(w, k, &got, steps, &done))
      fail_msg("%s %s: %s", arches[i / 2], families[i % 2], w->messages.s);
    assert_int_equal(done, expected_done);
    assert_int_equal(got.n, want.n);
    for (int j = 0; j < want.n; j++) {
      assert_int_equal(got.at[j].reduction, want.at[j].reduction);
      assert_int_equal(got.at[j].step, want.at[j].step);
      if (!const_same(got.at[j].value, want.at[j].value, m->reductions[want.at[j].reduction].type))
        fail_msg("%s %s: value %d is %a, not %a", arches[i / 2], families[i % 2], j, got.at[j].value.f,
                 want.at[j].value.f);
    }
  }
}

/* Sum of A times the element of w at the first coordinate, over `over`. */
static const char *weighted_sum(World *w, const char *op, const char *over, const char *access, int every) {
  return arena_printf(w->arena,
                      "  reduce @r = %s f64 over %s every %d {\n    %%a = access @A[%s] : f32\n    %%b = convert %%a : "
                      "f64\n    %%i = index 0 : i64\n    %%w = element @w[%%i] : f32\n"
                      "    %%v = convert %%w : f64\n    %%c = mul %%b, %%v : f64\n    yield %%c\n  }\n",
                      op, over, every, access);
}

/* Regions of each rank: whole and part, odd sizes, several rows a block, one point, none; accesses that leave the field
 * by its rule. */
WORLD_TEST(test_regions) {
  static const struct {
    int rank;
    const char *grid, *over, *access;
  } cases[] = {
      {1, "[0 .. 4999]", "[0 .. 4999]", "0"},
      {1, "[0 .. 4999]", "[3 .. 4098]", "1"},
      {1, "[0 .. 9]", "[7]", "0"},
      {1, "[0 .. 9]", "[7 .. N]", "0"},
      {1, "[2 .. 3000]", "[2 .. 2050]", "-1"},
      {2, "[0 .. 36, 0 .. 299]", "[0 .. 36, 0 .. 299]", "0, 0"},
      {2, "[0 .. 1100, 0 .. 10]", "[1 .. 1098, 2 .. 9]", "1, -1"},
      {2, "[0 .. 2, 0 .. 2500]", "[0 .. 2, 1 .. 2500]", "0, 1"},
      {2, "[0 .. 8, 0 .. 8]", "[4, 5]", "0, 0"},
      {2, "[0 .. 8, 0 .. 8]", "[6 .. N, 0 .. 8]", "0, 0"},
      {2, "[0 .. 8, 0 .. 8]", "[0 .. 8, 6 .. N]", "0, 0"},
      {3, "[0 .. 6, 0 .. 8, 0 .. 10]", "[1 .. 5, 2 .. 8, 0 .. 9]", "0, 0, 1"},
      {3, "[0 .. 40, 0 .. 40, 0 .. 2]", "[0 .. 40, 0 .. 40, 0 .. 2]", "0, 1, -1"},
      {3, "[-2 .. 2, -3 .. 3, -4 .. 4]", "[-2 .. 1, -3 .. 2, -4 .. 3]", "1, 1, 1"},
      {3, "[0 .. 4, 0 .. 4, 0 .. 4]", "[3, 2, 1]", "0, 0, 0"},
      {3, "[0 .. 6, 0 .. 8, 0 .. 10]", "[0 .. 6, 7 .. N, 0 .. 10]", "0, 0, 0"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_agreement(w,
                     program(w, cases[i].rank, cases[i].grid, 3,
                             weighted_sum(w, "add", cases[i].over, cases[i].access, 3)),
                     3, 2, 3);
}

WORLD_TEST(test_operations) {
  static const char *const ops[] = {"add", "mul", "min", "max"};
  for (int i = 0; i < 4; i++)
    assert_agreement(w,
                     program(w, 2, "[0 .. 20, 0 .. 30]", 2, weighted_sum(w, ops[i], "[0 .. 20, 0 .. 30]", "0, 0", 1)),
                     2, 3, 2);
  for (int i = 0; i < 4; i++)
    assert_agreement(
        w,
        program(w, 2, "[0 .. 20, 0 .. 30]", 1,
                arena_printf(
                    w->arena,
                    "  reduce @k = %s i64 over [1 .. 20, 1 .. 29] every 1 {\n    %%i = index 0 : i64\n    %%j = index "
                    "1 : i64\n    %%s = step : i64\n    %%k = mul %%i, %%j : i64\n    %%l = add %%k, %%s : i64\n"
                    "    yield %%l\n  }\n",
                    ops[i])),
        1, 2, 1);
}

/* The code for this CPU gives the reference's bits; under fast-math, where sums may be reordered, nearly so. What is
 * reduced is made of coordinates, as sin is not the reference's to the last bit. */
WORLD_TEST(test_code) {
  static const char *const ops[] = {"min", "max", "add", "mul"};
  for (int i = 0; i < 4; i++) {
    int64_t done;
    Series want;
    const char *text = program(
        w, 2, "[0 .. 2060, 0 .. 700]", 0,
        arena_printf(
            w->arena,
            "  reduce @r = %s f64 over [1 .. 2060, 2 .. 699] every 1 {\n    %%i = index 0 : i64\n    %%j = index 1 : "
            "i64\n    %%x = convert %%i : f64\n    %%y = convert %%j : f64\n"
            "    %%h = const 0.99993 : f64\n    %%z = div %%y, %%x : f64\n    %%k = add %%z, %%h : f64\n    %%w = "
            "element @w[%%j] : f32\n    %%v = convert %%w : f64\n    %%u = sub %%k, %%v : f64\n    yield %%u\n  }\n",
            ops[i]));
    assert_true(run(w, module_parse(w->arena, w->diags, "test", text), &want, 0, &done));
    for (int fast = 0; fast < 2; fast++) {
      Module *m = lower(w, text, "host", "overlap");
      m->fast_math = fast;
      Const got = value_by_code(w, m);
      if (!fast && !const_same(got, want.at[0].value, TY_F64))
        fail_msg("%s: %a, not %a", ops[i], got.f, want.at[0].value.f);
      if (fast && i < 3)
        assert_true(fabs(got.f - want.at[0].value.f) <= 1e-9 * fabs(want.at[0].value.f));
    }
  }
}

/* Under fast-math a NaN is found and infinities count. */
WORLD_TEST(test_specials_under_fast_math) {
  static const char *const bodies[] = {"sqrt", "log"};
  for (int i = 0; i < 2; i++) {
    Module *m = lower(
        w,
        program(
            w, 1, "[0 .. 2999]", 0,
            arena_printf(
                w->arena,
                "  reduce @r = max f64 over [0 .. 2999] every 1 {\n    %%i = index 0 : i64\n    %%c = const 2990 : "
                "i64\n    %%d = sub %%c, %%i : i64\n    %%m = const %d : i64\n    %%q = max %%d, %%m : i64\n"
                "    %%x = convert %%q : f64\n    %%y = %s %%x : f64\n    %%z = neg %%y : f64\n    yield %%z\n  }\n",
                i ? 0 : -5, bodies[i])),
        "host", "overlap");
    m->fast_math = true;
    Const got = value_by_code(w, m);
    assert_true(i ? isinf(got.f) && got.f > 0 : isnan(got.f));
  }
}

/* Evaluations come when they are due, in order of declaration, whatever the time tile; an until ends the run, but not
 * before a step. */
WORLD_TEST(test_when_due) {
  const char *sum = weighted_sum(w, "add", "[0 .. 99]", "0", 4);
  const char *least =
      "  reduce @k = min i64 over [0 .. 99] every 6 until {\n    %s = step : i64\n    yield %s\n  }\n"
      "  stop {\n    %k = scalar @k : i64\n    %n = const 7 : i64\n    %c = ge %k, %n : bool\n    yield %c\n  }\n";
  assert_agreement(w, program(w, 1, "[0 .. 99]", 10, sum), 10, 3, 10);
  assert_agreement(w, program(w, 1, "[0 .. 99]", 30, arena_printf(w->arena, "%s%s", sum, least)), 30, 4 + 3, 12);
  assert_agreement(
      w,
      program(w, 1, "[0 .. 99]", 30,
              "  reduce @k = max i64 over [0 .. 99] every 5 until {\n    %s = const 1 : i64\n    yield %s\n  }\n"
              "  stop {\n    %c = const true : bool\n    yield %c\n  }\n"),
      30, 2, 5);
}

/* An until whose value is NaN ends the run with an error. */
WORLD_TEST(test_nan) {
  Series s;
  int64_t done;
  const char *text = program(w, 1, "[0 .. 99]", 30,
                             "  reduce @r = max f64 over [0 .. 99] every 5 until {\n    %i = index 0 : i64\n    %x = "
                             "convert %i : f64\n    %h = const 50.0 : f64\n"
                             "    %y = sub %h, %x : f64\n    %z = sqrt %y : f64\n    yield %z\n  }\n  stop {\n    %c = "
                             "const true : bool\n    yield %c\n  }\n");
  assert_false(run(w, lower(w, text, "nvptx", "overlap"), &s, 30, &done));
  assert_message(w, "the value that 'until' compares is NaN after 0 steps");
  assert_int_equal(s.n, 1);
  assert_true(isnan(s.at[0].value.f));
}

/* A run that goes on from a later step is not evaluated at its start. */
WORLD_TEST(test_continued) {
  Series s = {0};
  Module *m = lower(w, program(w, 1, "[0 .. 99]", 10, weighted_sum(w, "add", "[0 .. 99]", "0", 4)), "nvptx", "overlap");
  s.m = m;
  assert_true(module_bind(m, 0, NULL, w->scalars, w->diags));
  w->fields[0] = arena_alloc(w->arena, 400);
  Binding b = binding(w);
  b.param_arrays = (void *[]){(float[5]){0}};
  b.reduced = note;
  b.user = &s;
  b.first_step = 4;
  assert_true(sim_run(m, &b, 6, false, NULL, NULL, NULL, w->diags));
  assert_int_equal(s.n, 1);
  assert_int_equal(s.at[0].step, 8);
  assert_int_equal(b.done, 6);
}

/* The barriers of `b` and below, appended to `v`. */
static int find_barriers(Block *b, Op **v, int n) {
  for (Op *op = b->first; op; op = op->next) {
    if (op->code == OP_BARRIER)
      v[n++] = op;
    for (int i = 0; i < op->nblocks; i++)
      n = find_barriers(op->blocks[i], v, n);
  }
  return n;
}

/* Each barrier of the reduction's kernels is needed: without it there is a race. */
WORLD_TEST(test_barriers_are_needed) {
  static const char *const families[] = {"naive", "overlap"};
  for (int f = 0; f < 2; f++) {
    Module *m =
        lower(w, program(w, 2, "[0 .. 8, 0 .. 299]", 0, weighted_sum(w, "add", "[0 .. 8, 0 .. 299]", "0, 0", 1)),
              "nvptx", families[f]);
    int tried = 0;
    for (int k = 0; k < m->nkernels; k++) {
      Op *barriers[16];
      int n = find_barriers(m->kernels[k].body, barriers, 0);
      for (int i = 0; i < n; i++, tried++) {
        Op *next = barriers[i]->next;
        Block *parent = barriers[i]->parent;
        Series s;
        int64_t done;
        op_unlink(barriers[i]);
        w->messages.n = 0;
        w->diags = diags_new(w->arena, note_message, w);
        assert_false(run(w, m, &s, 0, &done));
        assert_message(w, "race on shared array 'lanes");
        op_insert(parent, next, barriers[i]);
      }
    }
    assert_int_equal(tried, f ? 8 : 6);
  }
}
