/* estimate_test.c: what code is expected to take (passes/plan/cost/estimate.h), on kernels small enough to count by
 * hand. */
#include "tests/unit/ir_testing.h"

#include "passes/plan/cost/estimate.h"
#include "passes/base/tuning.h"

/* A card with round figures: per clock and core 128 instructions, 64 operations in f64, 32 words of shared memory. */
static const TargetInfo CARD = {.name = "gpu",
                                .cpu = "g1",
                                .simt = true,
                                .lanes = 32,
                                .max_threads = 1024,
                                .shared_per_core = 102400,
                                .max_threads_per_core = 2048,
                                .registers_per_core = 65536,
                                .cores = 100,
                                .bandwidth = 1000,
                                .cache_bandwidth = 4000,
                                .f32_rate = 12800,
                                .f64_rate = 6400,
                                .issue_rate = 12800,
                                .shared_rate = 3200,
                                .clock = 1};

/* The kernel of module text whose kernel has `threads` threads, arrays and a body. */
static Kernel *kernel_of(Fixture *f, const char *arrays, const char *body, Module **out) {
  const char *text = arena_printf(
      f->arena,
      "kernel module \"k\" {\n  contract\n  param @N : i64\n  grid [0 .. N - 1] steps 1\n  field @A : f32 on [0 .. N - "
      "1]\n  buffer @A : @A copy 0\n"
      "  buffer @A.next : @A copy 1\n  kernel @k threads [64] covers [N] by [60] steps 1 {\n    args (reads @A, writes "
      "@A.next, scalar @N)\n%s%s  }\n"
      "  host {\n    init {\n    }\n    steps 1 {\n      launch @k\n      swap @A, @A.next\n    }\n  }\n}\n",
      arrays, body);
  Module *m = module_parse(f->arena, f->diags, "test", text);
  if (!m)
    fail_msg("%s\n%s", f->messages.s, text);
  *out = m;
  return &m->kernels[0];
}

static const char place[] =
    "    %0 = block 0 : i64\n    %1 = thread 0 : i32\n    %2 = convert %1 : i64\n    %3 = add %0, %2 : i64\n";

/* A product that an addition takes in counts once; a word loaded and one stored; one wait. */
FIXTURE_TEST(test_counts) {
  Module *m;
  Kernel *k = kernel_of(
      f, "",
      arena_printf(f->arena,
                   "%s    %%4 = load @A[%%3] : f32\n    %%5 = load @A[%%3] + [1] : f32\n    %%6 = mul %%4, %%5 : f32\n"
                   "    %%7 = add %%6, %%4 : f32\n    store %%7, @A.next[%%3]\n",
                   place),
      &m);
  KernelWork w = kernel_work(&CARD, m, k, NULL, false);
  assert_int_equal(w.threads, 64);
  assert_float_equal(w.points, 60, 0);
  assert_float_equal(w.global, 3, 0);
  assert_float_equal(w.waits, 1, 0);
  assert_float_equal(w.shared + w.barriers + w.f64 + w.special, 0, 0);
  m->contract = false;
  assert_float_equal(kernel_work(&CARD, m, k, NULL, false).instructions, w.instructions + 1, 0);
}

/* A loop's body counts as often as it is run, what does not depend on it once; words of shared memory, barriers,
 * exchanges between lanes. */
FIXTURE_TEST(test_loops) {
  Module *m;
  const char *body = "    %4 = const 0 : i32\n    %5 = const 10 : i32\n    %6 = load @A[%3] : f32\n    for %7 = %4 to "
                     "%5 step 2 {\n      astore %6, @s[%1] v0\n      barrier\n"
                     "      %8 = aload @s[%1] v0 : f32\n      %9 = shuffle.up %8 by 1 : f32\n      %10 = mul %6, %6 : "
                     "f32\n      store %9, @A.next[%3]\n    }\n";
  Kernel *k = kernel_of(f, "    shared @s : f32[64]\n", arena_printf(f->arena, "%s%s", place, body), &m);
  KernelWork w = kernel_work(&CARD, m, k, NULL, false);
  assert_float_equal(w.rounds, 5, 0);
  assert_float_equal(w.barriers, 5, 0);
  assert_float_equal(w.shared, 15, 0);
  assert_float_equal(w.exchanges, 5, 0);
  assert_float_equal(w.global, 6, 0);
}

/* What a thread has loaded it does not load again for its next element, whatever loop is written out for that, unless a
 * barrier or a store is between; and one address serves what is beside it. */
FIXTURE_TEST(test_loaded_once) {
  Module *m;
  const char *body = "    %4 = const 0 : i32\n    %5 = const 2 : i32\n    %10 = const 32 : i32\n"
                     "    for %6 = %4 to %5 step 1 unroll {\n      %7 = mul %6, %10 : i32\n      %8 = add %1, %7 : "
                     "i32\n      %9 = aload @s[%8] + [1] v0 : f32\n      store %9, @A.next[%3]\n    }\n%s"
                     "    for %11 = %4 to %5 step 1 unroll {\n      %12 = mul %11, %10 : i32\n      %13 = add %1, %12 "
                     ": i32\n      %14 = aload @s[%13] + [1] v0 : f32\n      %15 = aload @s[%13] v0 : f32\n"
                     "      %16 = add %14, %15 : f32\n      store %16, @A.next[%3]\n    }\n";
  const char *half = strstr(body, "%s");
  const char *between[] = {"", "    barrier\n", "    %17 = const 1.0 : f32\n    astore %17, @s[%1] v0\n"};
  double words[] = {4, 6, 7}, fewest = 0;
  for (int i = 0; i < 3; i++) {
    Kernel *k =
        kernel_of(f, "    shared @s : f32[128]\n",
                  arena_printf(f->arena, "%s%.*s%s%s", place, (int)(half - body), body, between[i], half + 2), &m);
    KernelWork w = kernel_work(&CARD, m, k, NULL, false);
    assert_float_equal(w.shared, words[i], 0);
    fewest = i == 0 ? w.instructions : fewest;
  }
  Kernel *k = kernel_of(
      f, "    shared @s : f32[128]\n",
      arena_printf(
          f->arena,
          "%s    %%4 = aload @s[%%1] v0 : f32\n    %%5 = aload @s[%%1] + [3] v0 : f32\n    store %%4, @A.next[%%3]\n",
          place),
      &m);
  double both = kernel_work(&CARD, m, k, NULL, false).instructions;
  k = kernel_of(f, "    shared @s : f32[128]\n",
                arena_printf(f->arena, "%s    %%4 = aload @s[%%1] v0 : f32\n    store %%4, @A.next[%%3]\n", place), &m);
  assert_float_equal(both, kernel_work(&CARD, m, k, NULL, false).instructions + 1, 0);
  assert_true(fewest < both + 10);
}

/* Roots and quotients in f64: operations on the pipe for that, each of which waits for the one before; a coordinate
 * that is wrapped is a quotient in f64 and back. */
FIXTURE_TEST(test_functions) {
  Module *m;
  static const char body[] = "%s    %%4 = load @A[%%3] : f32\n    %%5 = convert %%4 : f64\n    %%6 = sqrt %%5 : f64\n  "
                             "  %%7 = div %%5, %%6 : f64\n    %%8 = const 1.0 : f64\n    %%9 = div %%8, %%7 : f64\n"
                             "    %%10 = convert %%9 : f32\n    store %%10, @A.next[%%3]\n";
  Kernel *k = kernel_of(f, "", arena_printf(f->arena, body, place), &m);
  KernelWork w = kernel_work(&CARD, m, k, NULL, false);
  assert_float_equal(w.chained, 8 + 8 + 5, 0);
  assert_float_equal(w.special, 3 + 2, 0);
  k = kernel_of(f, "",
                arena_printf(f->arena,
                             "%s    %%4 = idx.wrap %%3 + 1 in [0 .. N - 1] : i64\n    %%5 = idx.wrap %%3 + -1 in [0 .. "
                             "N - 1] : i64\n    %%6 = load @A[%%4] : f32\n    store %%6, @A.next[%%5]\n",
                             place),
                &m);
  w = kernel_work(&CARD, m, k, NULL, false);
  assert_float_equal(w.special, 6, 0); /* there and back for each, and for their common reciprocal */
  assert_true(w.instructions > 60 && w.instructions < 80);
}

/* The greater of two f64 is as many instructions as the target makes of it, and one operation in f64. */
FIXTURE_TEST(test_extremes) {
  Module *m;
  static const char body[] =
      "%s    %%4 = load @A[%%3] : f32\n    %%5 = convert %%4 : f64\n    %%6 = max %%5, %%5 : f64\n"
      "    %%7 = convert %%6 : f32\n    store %%7, @A.next[%%3]\n";
  Kernel *k = kernel_of(f, "", arena_printf(f->arena, body, place), &m);
  TargetInfo slow = CARD;
  slow.extreme_f64 = 7;
  KernelWork one = kernel_work(&CARD, m, k, NULL, false), seven = kernel_work(&slow, m, k, NULL, false);
  assert_float_equal(seven.instructions, one.instructions + 6, 0);
  assert_float_equal(seven.f64, one.f64, 0);
}

/* Of a kernel with a version for blocks at no edge either counts; the two blocks at the ends of ten are at edges. */
FIXTURE_TEST(test_version) {
  Module *m;
  const char *body =
      "    %4 = inside %0 in [1 .. N - 2] : bool\n    if %4 interior {\n      %5 = load @A[%3] : f32\n      "
      "store %5, @A.next[%3]\n    } else {\n"
      "      %6 = load @A[%3] : f32\n      %7 = load @A[%3] + [1] : f32\n      %8 = load @A[%3] + [2] : "
      "f32\n      %9 = add %6, %7 : f32\n      %10 = add %9, %8 : f32\n"
      "      store %10, @A.next[%3]\n    }\n";
  Kernel *k = kernel_of(f, "", arena_printf(f->arena, "%s%s", place, body), &m);
  assert_true(kernel_has_versions(k));
  assert_float_equal(kernel_work(&CARD, m, k, NULL, false).global, 2, 0);
  assert_float_equal(kernel_work(&CARD, m, k, NULL, true).global, 4, 0);
  Const n = {.i = 600};
  KernelSpace s = kernel_space(k, &n);
  assert_float_equal(s.points, 600, 0);
  assert_float_equal(s.blocks, 10, 0);
  assert_float_equal(s.edges, 0.2, 1e-12);
}

/* What is alive at once: values until their last use; cells of private arrays from a store to the last load, around a
 * loop if the load comes first there. */
FIXTURE_TEST(test_live) {
  Module *m;
  Kernel *k = kernel_of(f, "",
                        arena_printf(f->arena,
                                     "%s    %%4 = load @A[%%3] : f32\n    %%5 = load @A[%%3] + [1] : f32\n    %%6 = "
                                     "load @A[%%3] + [2] : f32\n    %%7 = add %%4, %%5 : f32\n"
                                     "    %%8 = add %%7, %%6 : f32\n    store %%8, @A.next[%%3]\n",
                                     place),
                        &m);
  assert_int_equal(kernel_live_words(m, k, false).words, 5); /* the coordinate, two words, and three values */
  const char *body = "    %4 = const 0 : i32\n    %5 = const 1 : i32\n    %6 = const 8 : i32\n    %7 = const 0.0 : "
                     "f32\n    astore %7, @r[%4] v0\n    astore %7, @r[%5] v0\n"
                     "    for %8 = %4 to %6 step 1 {\n      %9 = aload @r[%4] v0 : f32\n      store %9, @A.next[%3]\n  "
                     "    %10 = aload @r[%5] v0 : f32\n      astore %10, @r[%4] v0\n"
                     "      %11 = load @A[%3] : f32\n      astore %11, @r[%5] v0\n    }\n";
  k = kernel_of(f, "    private @r : f32[2]\n", arena_printf(f->arena, "%s%s", place, body), &m);
  assert_int_equal(kernel_live_words(m, k, false).words,
                   5); /* the coordinate, the round, and a cell with a value, or two cells */
  int32_t spilled;
  TargetInfo few = CARD;
  few.registers_per_core = 64 * 8;
  assert_true(kernel_registers(&CARD, m, k, &spilled) > 5);
  assert_int_equal(spilled, 0);
  assert_int_equal(kernel_registers(&few, m, k, &spilled), 8);
  TargetInfo pairs = CARD;
  pairs.word_registers = 1.5;
  double single = kernel_registers(&CARD, m, k, &spilled), packed = kernel_registers(&pairs, m, k, &spilled);
  assert_true(packed > single && packed <= 1.5 * (single + 1));
}

/* A cell before an op, if it is `alive` behind it: 0: nothing touches it, 1: it is stored to, 2: it is loaded. */
static bool alive_before(int op, bool alive) { return op == 2 || (op == 0 && alive); }

/* `text` with value `number` for 17, of two digits as well. */
static const char *numbered(Fixture *f, const char *text, int number) {
  char *own = arena_strdup(f->arena, text);
  for (char *at = own; (at = strstr(at, "%17")); at += 3) {
    at[1] = (char)('0' + number / 10);
    at[2] = (char)('0' + number % 10);
  }
  return own;
}

/* Before a choice a cell is alive if it is before one of its arms, of which there may be choices, too. */
FIXTURE_TEST(test_live_choices) {
  static const char body[] =
      "%s    %%4 = const 0 : i32\n    %%5 = const 9 : i64\n    %%6 = lt %%3, %%5 : bool\n    %%7 = gt %%0, %%5 : "
      "bool\n    %%8 = const 0.0 : f32\n    %%9 = load @A[%%3] : f32\n    astore %%9, @r[%%4] v0\n"
      "    %%10 = load @A[%%3] + [1] : f32\n    %%11 = load @A[%%3] + [2] : f32\n    %%12 = load @A[%%3] + [3] : "
      "f32\n    %%13 = load @A[%%3] + [4] : f32\n    %%14 = add %%10, %%11 : f32\n    %%15 = add %%14, %%12 : f32\n"
      "    %%16 = add %%15, %%13 : f32\n    store %%16, @A.next[%%3]\n"
      "    if %%6 {\n%s    } else {\n      if %%7 {\n%s      } else {\n%s      }\n%s    }\n%s";
  static const char *const ops[] = {"", "        astore %8, @r[%4] v0\n",
                                    "        %17 = aload @r[%4] v0 : f32\n        store %17, @A.next[%3] + [1]\n"};
  for (int n = 0; n < 243; n++) {
    int op[] = {n % 3, n / 3 % 3, n / 9 % 3, n / 27 % 3, n / 81};
    Module *m;
    Kernel *k =
        kernel_of(f, "    private @r : f32[1]\n",
                  arena_printf(f->arena, body, place, ops[op[0]], numbered(f, ops[op[1]], 18),
                               numbered(f, ops[op[2]], 19), numbered(f, ops[op[3]], 20), numbered(f, ops[op[4]], 21)),
                  &m);
    bool behind = op[4] == 2, within = alive_before(op[3], behind),
         alive = alive_before(op[0], behind) || alive_before(op[1], within) || alive_before(op[2], within);
    assert_int_equal(kernel_live_words(m, k, false).words, 2 + 4 + alive); /* the coordinate, the sum, the cell */
  }
}

/* Cells of an array whose indices are known when a loop is written out are in registers, others in memory; conditions
 * are alive as values are. */
FIXTURE_TEST(test_live_in_memory) {
  Module *m;
  static const char body[] =
      "%s    %%4 = const 0 : i32\n    %%5 = const 8 : i32\n    %%6 = const 1 : i32\n    for %%7 = "
      "%%4 to %%5 step 1%s {\n      %%8 = add %%7, %%6 : i32\n      %%9 = aload @r[%%8] v0 : "
      "f32\n      store %%9, @A.next[%%3]\n    }\n";
  Kernel *k = kernel_of(f, "    private @r : f32[9]\n", arena_printf(f->arena, body, place, " unroll"), &m);
  assert_in_range(kernel_live_words(m, k, false).words, 9 + 3, 9 + 5);
  k = kernel_of(f, "    private @r : f32[9]\n", arena_printf(f->arena, body, place, ""), &m);
  assert_in_range(kernel_live_words(m, k, false).words, 3, 5);
  assert_int_equal(kernel_live_words(m, k, false).conditions, 0);
  k = kernel_of(f, "",
                arena_printf(f->arena,
                             "%s    %%4 = const 9 : i64\n    %%5 = lt %%3, %%4 : bool\n    %%6 = gt %%0, %%4 : bool\n"
                             "    %%7 = load @A[%%3] : f32\n    %%8 = load @A[%%3] + [1] : f32\n    %%9 = select %%5, "
                             "%%7, %%8 : f32\n    %%10 = select %%6, %%9, %%8 : f32\n    store %%10, @A.next[%%3]\n",
                             place),
                &m);
  assert_int_equal(kernel_live_words(m, k, false).conditions, 2);
}

/* What keeps a core from holding more blocks. */
FIXTURE_TEST(test_occupancy) {
  Occupancy o = model_occupancy(&CARD, 256, 32, 0);
  assert_int_equal(o.blocks, 8);
  assert_int_equal(o.warps, 64);
  assert_string_equal(o.limit, "threads");
  o = model_occupancy(&CARD, 256, 60, 0);
  assert_int_equal(o.blocks, 4);
  assert_string_equal(o.limit, "registers");
  o = model_occupancy(&CARD, 256, 60, 50000);
  assert_int_equal(o.blocks, 2);
  assert_string_equal(o.limit, "shared memory");
  o = model_occupancy(&CARD, 32, 16, 0);
  assert_int_equal(o.blocks, 32);
  assert_string_equal(o.limit, "blocks");
  assert_int_equal(model_occupancy(&CARD, 1024, 255, 0).blocks, 1);
}

/* Time follows what a launch does most of; it is never less than that alone, and a grid twice as large takes about
 * twice as long. */
FIXTURE_TEST(test_model) {
  LaunchLoad l = {.work = {.threads = 256, .points = 256, .instructions = 1e5, .rounds = 1},
                  .registers = 32,
                  .blocks = 80000,
                  .memory_bytes = 1e6,
                  .cache_bytes = 1e6};
  LaunchTime t = model_launch(&CARD, &l);
  assert_int_equal(t.bound, BOUND_ISSUE);
  assert_true(t.seconds >= 1e5 * 256 * 80000 / 12800e9 && t.seconds < 1.2 * 1e5 * 256 * 80000 / 12800e9);
  LaunchLoad twice = l;
  twice.blocks *= 2;
  twice.memory_bytes *= 2;
  twice.cache_bytes *= 2;
  assert_float_equal(model_launch(&CARD, &twice).seconds / t.seconds, 2, 0.02);
  l.memory_bytes = l.cache_bytes = 1e12;
  assert_int_equal(model_launch(&CARD, &l).bound, BOUND_MEMORY);
  assert_true(model_launch(&CARD, &l).seconds > 1);
  l.memory_bytes = l.cache_bytes = 1e6;
  l.work.f64 = 1e5;
  assert_int_equal(model_launch(&CARD, &l).bound, BOUND_F64);
  l.work.f64 = 0;
  l.work.waits = 1e4;
  l.registers = 255;
  assert_int_equal(model_launch(&CARD, &l).bound, BOUND_LATENCY);
  l.spilled = 1000000;
  assert_int_equal(model_launch(&CARD, &l).bound, BOUND_SHARED);
}
