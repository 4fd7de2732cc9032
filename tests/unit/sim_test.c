/* sim_test.c: the simulator (ir/sim/simulate.c and ir/sim-*.c): right code passes in every order, and each kind of
 * planted fault is named. */
#include "tests/unit/execution.h"

#include "ir/sim/sim.h"

#include <stdlib.h>

/* A module with fields A (i32 on [0 .. 7]) and buffers A, A.next, whose one kernel, two blocks of four threads, has the
 * arrays and the body given; line 7 is the first of `arrays`. Swaps after the launch if `swap`. */
static const char *kernel_text(World *w, const char *arrays, const char *body, bool swap) {
  return arena_printf(
      w->arena,
      "kernel module \"t\" {\n  grid [0 .. 7] steps 1\n  field @A : i32 on [0 .. 7]\n  buffer @A : @A copy 0\n  buffer "
      "@A.next : @A copy 1\n"
      "  kernel @k threads [4] covers [8] by [4] steps 1 {  args (reads writes @A, reads writes @A.next, step)\n%s"
      "    %%b = block 0 : i64\n    %%t = thread 0 : i32\n    %%w = const 4 : i64\n    %%o = mul %%b, %%w : i64\n    "
      "%%tt = convert %%t : i64\n"
      "    %%g = add %%o, %%tt : i64\n    %%zero = const 0 : i32\n    %%one = const 1 : i32\n    %%first = eq %%t, "
      "%%zero : bool\n%s  }\n"
      "  host {\n    init {\n    }\n    steps 1 {\n      launch @k\n%s    }\n  }\n}\n",
      arrays, body, swap ? "      swap @A, @A.next\n" : "");
}

/* Runs kernel_text for `steps` steps in the order of `seed`, with A = 0 .. 7 at first. */
static bool simulate(World *w, const char *arrays, const char *body, bool swap, int64_t steps, uint64_t seed) {
  Module *m = load(w, kernel_text(w, arrays, body, swap), 0, NULL);
  for (int i = 0; i < 8; i++)
    ((int32_t *)w->fields[0])[i] = i;
  Binding b = binding(w);
  SimOptions o = {seed, 0};
  return sim_run(m, &b, steps, true, NULL, &o, NULL, w->diags);
}

/* The kernel must fail, whatever the order, with messages that contain each of the `n` texts. */
static void assert_fault(World *w, const char *arrays, const char *body, bool swap, int n, const char *const *texts) {
  for (uint64_t seed = 0; seed < 5; seed++) {
    w->messages.n = 0;
    w->diags = diags_new(w->arena, note_message, w);
    assert_false(simulate(w, arrays, body, swap, 2, seed));
    for (int i = 0; i < n; i++)
      assert_message(w, texts[i]);
  }
}

#define FAULT(w, arrays, body, swap, ...) \
  assert_fault(w, arrays, body, swap, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
               (const char *[]){__VA_ARGS__})

/* Each thread hands its value to its left neighbour through shared memory; the last of a block takes its own. */
static const char *const SHARED = "    shared @s : i32[5] pad [0 .. 1]\n";
static const char *const ROTATE =
    "    %x = load @A[%g] : i32\n    astore %x, @s[%t] v1\n    barrier\n    %y = aload @s[%t] + [1] v1 : i32\n"
    "    %three = const 3 : i32\n    %last = eq %t, %three : bool\n    %z = select %last, %x, %y : i32\n    store %z, "
    "@A.next[%g]\n";

WORLD_TEST(test_right_code) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    assert_true(simulate(w, SHARED, ROTATE, true, 1, seed));
    assert_memory_equal(w->fields[0], ((int32_t[]){1, 2, 3, 3, 5, 6, 7, 7}), 32);
    assert_true(simulate(w, SHARED, ROTATE, true, 4, seed));
    assert_memory_equal(w->fields[0], ((int32_t[]){3, 3, 3, 3, 7, 7, 7, 7}), 32);
  }
}

WORLD_TEST(test_stats) {
  Module *m = load(w, kernel_text(w, SHARED, ROTATE, true), 0, NULL);
  Binding b = binding(w);
  SimStats stats;
  assert_true(sim_run(m, &b, 3, true, NULL, NULL, &stats, w->diags));
  assert_int_equal(stats.launches, 3);
  assert_int_equal(stats.blocks, 6);
  assert_int_equal(stats.barriers, 6);
  assert_int_equal(stats.loads, 24);
  assert_int_equal(stats.stores, 24);
  assert_int_equal(stats.aloads, 24);
  assert_int_equal(stats.astores, 24);
}

/* Loops with iteration arguments that change places, ifs with results, private arrays. */
WORLD_TEST(test_control) {
  static const char *const body = "    %five = const 5 : i32\n"
                                  "    %p, %q = for %i = %zero to %five step 2 with %x = %t, %y = %one {\n      astore "
                                  "%x, @p[%zero] v0\n      yield %y, %x\n    }\n"
                                  "    %r = aload @p[%zero] v0 : i32\n"
                                  "    %s = if %first : i32 {\n      %a = add %p, %q : i32\n      yield %a\n    } else "
                                  "{\n      %c = mul %r, %five : i32\n      yield %c\n    }\n"
                                  "    store %s, @A[%g]\n";
  assert_true(simulate(w, "    private @p : i32[1]\n", body, false, 1, 1));
  assert_memory_equal(w->fields[0], ((int32_t[]){1, 5, 10, 15, 1, 5, 10, 15}), 32);
}

WORLD_TEST(test_shared_races) {
  FAULT(w, SHARED, "    astore %t, @s[%t] v1\n    %y = aload @s[%t] + [1] v1 : i32\n    astore %y, @s[%t] v1\n", false,
        "kernel 'k': race on shared array 's' at [", "with no barrier between (block [", "thread [");
  FAULT(w, SHARED, "    astore %t, @s[%zero] v1\n", false,
        "17: kernel 'k': race on shared array 's' at [0]: this thread writes what thread [",
        "] writes with no barrier between");
  FAULT(w, "    shared @s : i32[4]\n    shared @r : i32[4] in @s\n",
        "    astore %t, @s[%t] v1\n    barrier\n    %y = aload @s[%t] v1 : i32\n    astore %y, @r[%zero] v1\n", false,
        "race on shared array");
}

/* Iterations of a parallel loop that depend on each other, where a block has one thread. */
WORLD_TEST(test_parallel_loops) {
  static const char *const text =
      "kernel module \"t\" {\n  grid [0 .. 0] steps 1\n  field @A : i32 on [0 .. 0]\n  buffer @A : @A copy 0\n"
      "  kernel @k threads [1] covers [1] by [1] steps 1 {\n    args ()\n    shared @s : i32[8]\n    %%0 = const 0 : "
      "i32\n    %%1 = const 7 : i32\n"
      "    for %%i = %%0 to %%1 step 1 parallel {\n      astore %%i, @s[%%i] v1\n    }\n    astore %%0, @s[%%1] v1\n"
      "    for %%i = %%0 to %%1 step 1%s {\n      %%x = aload @s[%%i] + [%d] v1 : i32\n      astore %%x, @s[%%i] v1\n  "
      "  }\n  }\n"
      "  host {\n    init {\n    }\n    steps 1 {\n      launch @k\n    }\n  }\n}\n";
  for (int k = 0; k < 3; k++) {
    Module *m = load(w, arena_printf(w->arena, text, k == 1 ? "" : " parallel", k > 0), 0, NULL);
    Binding b = binding(w);
    assert_int_equal(sim_run(m, &b, 1, true, NULL, NULL, NULL, w->diags), k < 2);
  }
  assert_message(w, "16: kernel 'k': race on shared array 's' at [1]: this iteration writes what another iteration of "
                    "the parallel loop reads (block [0]");
}

/* Neighbouring bytes are different words of memory: no race; 8-byte cells overlap two 4-byte ones of another array: a
 * race. */
WORLD_TEST(test_granules) {
  assert_true(simulate(w, "    shared @s : bool[4]\n", "    astore %first, @s[%t] v1\n", false, 1, 3));
  FAULT(w, "    shared @s : i64[4]\n    shared @r : i32[8] in @s\n",
        "    astore %g, @s[%t] v1\n    astore %t, @r[%t] + [4] v1\n", false, "race on shared array",
        "this thread writes what");
}

WORLD_TEST(test_global_races) {
  FAULT(w, "", "    %z = const 0 : i64\n    store %t, @A[%z]\n", false,
        "17: kernel 'k': race on 'A' at [0]: this thread writes what thread [", "writes in the same launch (block [");
  FAULT(w, "", "    %hi = idx.clamp %g + 1 in [0 .. 7] : i64\n    %x = load @A[%hi] : i32\n    store %x, @A[%g]\n",
        false, "race on 'A' at [", "in the same launch");
}

WORLD_TEST(test_bounds) {
  FAULT(w, "", "    %x = load @A[%g] + [1] : i32\n    store %x, @A.next[%g]\n", true,
        "16: kernel 'k': load of 'A' at [8] lies outside: dimension 0 goes from 0 to 7 (block [1], thread [3])");
  FAULT(w, "", "    store %t, @A[%g] + [-1]\n", false,
        "16: kernel 'k': store to 'A' at [-1] lies outside: dimension 0 goes from 0 to 7 (block [0], thread [0])");
  FAULT(w, "    shared @s : i32[4]\n", "    astore %t, @s[%t] + [1] v1\n", false,
        "17: kernel 'k': astore to 's' at [4] lies outside: dimension 0 goes from 0 to 3 (block [", "thread [3])");
  FAULT(w, "    private @p : i32[2]\n", "    %x = aload @p[%t] v1 : i32\n", false, "17: kernel 'k': ");
}

WORLD_TEST(test_divergence) {
  FAULT(w, "", "    if %first {\n      barrier\n    } else {\n    }\n", false,
        "17: kernel 'k': divergent barrier: this thread waits at it, but thread [1] has finished (block [",
        "thread [0])");
  FAULT(w, "", "    if %first {\n      barrier\n    } else {\n      barrier\n    }\n", false,
        "waits at the barrier of line ");
  FAULT(w, "", "    for %i = %t to %one step 1 {\n      barrier\n    }\n", false, "has finished");
  FAULT(w, "",
        "    %two = const 2 : i32\n    for %i = %zero to %two step 1 {\n      %at = eq %i, %zero : bool\n      %n = "
        "not %first : bool\n"
        "      %both = and %at, %n : bool\n      %go = not %both : bool\n      if %go {\n        barrier\n      } else "
        "{\n      }\n    }\n",
        false, "is at it in another iteration of the loop around it");
}

WORLD_TEST(test_uninitialised) {
  FAULT(w, "    shared @s : i32[4]\n", "    %x = aload @s[%t] v1 : i32\n    store %x, @A[%g]\n", false,
        "17: kernel 'k': read of uninitialised shared array 's' at [", "nobody in this block wrote it (block [");
  FAULT(w, "    private @p : i32[4]\n", "    %x = aload @p[%t] v1 : i32\n", false,
        "17: kernel 'k': read of uninitialised private array 'p' at [");
  FAULT(w, "    shared @s : i32[4]\n    shared @r : i32[4] in @s\n",
        "    astore %t, @s[%t] v1\n    barrier\n    %x = aload @r[%t] v1 : i32\n", false,
        "20: kernel 'k': read of uninitialised shared array 'r' at [",
        "it holds a value of array 's', which shares its storage");
  FAULT(w, "", "    %x = load @A.next[%g] : i32\n    store %x, @A[%g]\n", false,
        "16: kernel 'k': read of uninitialised memory: nobody wrote 'A.next' at [");
}

/* Kernels that leave a hole in the half they write: seen at the next load, or at the end of the run. */
WORLD_TEST(test_holes) {
  static const char *const body = "    if %first {\n    } else {\n      store %t, @A.next[%g]\n    }\n";
  assert_false(simulate(w, "", body, true, 1, 0));
  assert_message(w, "6: buffer 'A' has no value at [0] after the last swap: kernel 'k' did not write it");
  assert_false(
      simulate(w, "", "    %x = load @A[%g] : i32\n    if %first {\n    } else {\n      store %x, @A.next[%g]\n    }\n",
               true, 2, 0));
  assert_message(w, "kernel 'k': read of uninitialised memory: nobody wrote 'A' at [");
}

WORLD_TEST(test_stale_values) {
  FAULT(w, SHARED,
        "    astore %t, @s[%t] v1\n    barrier\n    %x = aload @s[%t] + [1] v1 : i32\n    store %x, @A[%g]\n", false,
        "20: kernel 'k': a stale value reaches 'A' at [",
        "the region computed by version 1 of array 's' was too small for the aload (line 19) (block [", "thread [3])");
  FAULT(w, "    shared @s : i32[4]\n",
        "    astore %t, @s[%t] v1\n    barrier\n    %x = aload @s[%t] v2 : i32\n    store %x, @A[%g]\n", false,
        "a stale value reaches 'A'", "the region computed by version 2 of array 's' was too small");
  FAULT(w, "    private @p : i32[1]\n",
        "    astore %t, @p[%zero] v0\n    %x = aload @p[%zero] v1 : i32\n    store %x, @A[%g]\n", false,
        "a stale value reaches 'A'", "version 1 of array 'p'");
  FAULT(w, "", "    %i = idx.guard %g + 1 in [0 .. 7] : i64\n    %x = load @A[%i] : i32\n    store %x, @A.next[%g]\n",
        true, "18: kernel 'k': a stale value reaches 'A.next' at [7]", "idx.guard (line 16) had to move a coordinate",
        "(block [1], thread [3])");
  FAULT(w, "",
        "    %i = idx.guard %g + 1 in [0 .. 7] : i64\n    %l = inside %g in [7] : bool\n"
        "    if %l {\n      store %t, @A.next[%i]\n    } else {\n    }\n",
        true, "a stale coordinate reaches 'A.next' at [7]");
}

/* What depends on stale values is stale, through arithmetic, memory, loops and conditions. */
WORLD_TEST(test_stale_spreads) {
  static const char *const guard = "    %%i = idx.guard %%g + 1 in [0 .. 7] : i64\n    %%x = load @A[%%i] : i32\n%s";
  static const char *const uses[] = {
      "    %y = add %one, %x : i32\n    store %y, @A.next[%g]\n",
      "    %c = eq %x, %x : bool\n    %y = select %c, %one, %zero : i32\n    store %y, @A.next[%g]\n",
      "    astore %x, @p[%zero] v0\n    %y = aload @p[%zero] v0 : i32\n    store %y, @A.next[%g]\n",
      "    %c = inside %i in [0 .. 7] : bool\n    if %c {\n      store %one, @A.next[%g]\n    } else {\n      store "
      "%zero, @A.next[%g]\n    }\n",
      "    %c = eq %x, %zero : bool\n    %y = if %c : i32 {\n      yield %one\n    } else {\n      yield %zero\n    "
      "}\n    store %y, @A.next[%g]\n",
      "    %y = for %j = %zero to %x step 1 with %k = %zero {\n      %l = add %k, %one : i32\n      yield %l\n    }\n  "
      "  store %y, @A.next[%g]\n",
      "    %c = eq %x, %zero : bool\n    if %c {\n      astore %one, @p[%zero] v0\n    } else {\n      astore %zero, "
      "@p[%zero] v0\n    }\n"
      "    %y = aload @p[%zero] v0 : i32\n    store %y, @A.next[%g]\n",
  };
  for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
    FAULT(w, "    private @p : i32[1]\n", arena_printf(w->arena, guard, uses[i]), true, "kernel 'k': a stale ",
          "reaches 'A.next' at [7]");
}

/* A stale value that no result depends on does no harm. */
WORLD_TEST(test_stale_unused) {
  static const char *const uses[] = {
      "    %c = inside %g in [0 .. 6] : bool\n    %y = select %c, %x, %zero : i32\n    store %y, @A.next[%g]\n",
      "    %c = inside %g in [0 .. 6] : bool\n    %s = eq %x, %zero : bool\n    %d = and %s, %c : bool\n    %e = not "
      "%c : bool\n    %f = or %s, %e : bool\n"
      "    if %d {\n      store %one, @A.next[%g]\n    } else {\n      if %f {\n        store %one, @A.next[%g]\n      "
      "} else {\n        store %zero, @A.next[%g]\n      }\n    }\n",
      "    %c = inside %g in [0 .. 6] : bool\n    if %c {\n      store %x, @A.next[%g]\n    } else {\n      store "
      "%zero, @A.next[%g]\n    }\n",
      "    %s = eq %x, %zero : bool\n    if %s {\n      astore %one, @p[%zero] v0\n    } else {\n    }\n    store "
      "%zero, @A.next[%g]\n",
  };
  for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
    const char *body =
        arena_printf(w->arena, "    %%i = idx.guard %%g + 1 in [0 .. 7] : i64\n    %%x = load @A[%%i] : i32\n%s",
                     uses[i]);
    if (!simulate(w, "    private @p : i32[1]\n", body, true, 1, i))
      fail_msg("use %d: %s", (int)i, w->messages.s);
  }
}

/* Two dimensions, a field that does not begin at 0, blocks that overhang, the number of the step. */
WORLD_TEST(test_places) {
  Module *m = load(
      w,
      "kernel module \"t\" {\n  grid [0 .. 4, 0 .. 6] steps 1\n  field @A : i64 on [1 .. 4, 2 .. 6]\n  buffer @A : @A "
      "copy 0\n"
      "  kernel @k threads [2, 4] covers [5, 7] by [2, 4] steps 1 {  args (reads writes @A, step)\n"
      "    %b0 = block 0 : i64\n    %b1 = block 1 : i64\n    %t0 = thread 0 : i32\n    %t1 = thread 1 : i32\n"
      "    %w0 = const 2 : i64\n    %w1 = const 4 : i64\n    %o0 = mul %b0, %w0 : i64\n    %o1 = mul %b1, %w1 : i64\n"
      "    %u0 = convert %t0 : i64\n    %u1 = convert %t1 : i64\n    %g0 = add %o0, %u0 : i64\n    %g1 = add %o1, %u1 "
      ": i64\n"
      "    %in = inside %g0, %g1 in [1 .. 4, 2 .. 6] : bool\n"
      "    if %in {\n      %ten = const 10 : i64\n      %r = mul %g0, %ten : i64\n      %v = add %r, %g1 : i64\n      "
      "%s = step : i64\n"
      "      %h = const 100 : i64\n      %sh = mul %s, %h : i64\n      %x = add %v, %sh : i64\n      store %x, @A[%g0, "
      "%g1]\n    } else {\n    }\n  }\n"
      "  host {\n    init {\n    }\n    steps 1 {\n      launch @k\n    }\n  }\n}\n",
      0, NULL);
  Binding b = binding(w);
  b.first_step = 4;
  SimStats stats;
  assert_true(sim_run(m, &b, 3, true, NULL, NULL, &stats, w->diags));
  assert_int_equal(stats.blocks, 3 * 6);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 5; j++)
      assert_int_equal(((int64_t *)w->fields[0])[i * 5 + j], 600 + (i + 1) * 10 + j + 2);
}

/* Elements beyond number 2^31 of a field: addresses are 64 bit, and the bookkeeping is made only where it is needed. */
WORLD_TEST(test_large_strides) {
  Module *m = module_parse(w->arena, w->diags, "test",
                           "kernel module \"t\" {\n  grid [0 .. 49999, 0 .. 49999] steps 1\n  field @A : bool on [0 .. "
                           "49999, 0 .. 49999]\n  buffer @A : @A copy 0\n"
                           "  kernel @k threads [1, 4] covers [1, 4] by [1, 4] steps 1 {\n    args (reads writes @A)\n "
                           "   %t = thread 1 : i32\n    %u = convert %t : i64\n"
                           "    %r = const 49998 : i64\n    %x = load @A[%r, %u] + [0, 49990] : bool\n    %y = not %x "
                           ": bool\n    store %y, @A[%r, %u] + [1, 49996]\n  }\n"
                           "  host {\n    init {\n    }\n    steps 1 {\n      launch @k\n    }\n  }\n}\n");
  assert_non_null(m);
  assert_true(module_bind(m, 0, NULL, w->scalars, w->diags));
  const size_t elements = (size_t)50000 * 50000;
  uint8_t *a = calloc(elements, 1);
  if (!a)
    skip();
  a[(size_t)49998 * 50000 + 49991] = 1;
  w->fields[0] = a;
  Binding b = binding(w);
  bool ok = sim_run(m, &b, 1, true, NULL, NULL, NULL, w->diags);
  uint8_t end[4];
  memcpy(end, a + elements - 4, 4);
  free(a);
  assert_true(ok);
  assert_memory_equal(end, ((uint8_t[]){1, 0, 1, 1}), 4);
}

/* The host part: the longest sequence that fits, inits left out by field, temp fields empty at each start. */
WORLD_TEST(test_host) {
  static const char *const text =
      "kernel module \"t\" {\n  grid [0 .. 0] steps 1\n  field @A : i64 on [0 .. 0]\n  field @T : i64 on [0 .. 0] "
      "temp\n"
      "  buffer @A : @A copy 0\n  buffer @T : @T copy 0\n"
      "  kernel @i threads [1] covers [1] by [1] steps 0 {  args (reads writes @A, reads writes @T, step)\n    %%0 = "
      "const 0 : i64\n    %%1 = const 5 : i64\n    store %%1, @A[%%0]\n  }\n"
      "  kernel @three threads [1] covers [1] by [1] steps 3 {  args (reads writes @A, reads writes @T, step)\n    %%0 "
      "= const 0 : i64\n    %%1 = load @A[%%0] : i64\n    %%2 = const 1000 : i64\n"
      "    %%3 = add %%1, %%2 : i64\n    store %%3, @A[%%0]\n  }\n"
      "  kernel @one threads [1] covers [1] by [1] steps 1 {  args (reads writes @A, reads writes @T, step)\n    %%0 = "
      "const 0 : i64\n    %%1 = load @A[%%0] : i64\n    %%2 = step : i64\n"
      "    %%3 = add %%1, %%2 : i64\n    store %%3, @A[%%0]\n%s  }\n"
      "  host {\n    init {\n      launch @i\n    }\n    steps 3 {\n      launch @three\n    }\n    steps 1 {\n      "
      "launch @one\n    }\n  }\n}\n";
  Module *m = load(w, arena_printf(w->arena, text, ""), 0, NULL);
  Binding b = binding(w);
  assert_true(sim_run(m, &b, 8, true, NULL, NULL, NULL, w->diags));
  assert_int_equal(*(int64_t *)w->fields[0], 5 + 2000 + 6 + 7);
  *(int64_t *)w->fields[0] = 70;
  assert_true(sim_run(m, &b, 3, true, (bool[]){true, false}, NULL, NULL, w->diags));
  assert_int_equal(*(int64_t *)w->fields[0], 1070);
  m = load(w, arena_printf(w->arena, text, "    %4 = load @T[%0] : i64\n    store %4, @T[%0]\n"), 0, NULL);
  b = binding(w);
  assert_false(sim_run(m, &b, 1, true, NULL, NULL, NULL, w->diags));
  assert_message(w, "a stale value reaches 'T' at [0]: nobody wrote what the load of 'T' (line 25) found");
}

/* A launch-time array is read from what the binding gives; a scratch buffer holds what the launches before it in the
 * sequence left, and nothing at its start. */
WORLD_TEST(test_buffer_kinds) {
  static const char *const text =
      "kernel module \"t\" {\n  param @n : i64 = { %%n = const 3 : i64 yield %%n }\n  param_array @w[n] : i32\n  grid "
      "[0 .. 0] steps 1\n  field @A : i32 on [0 .. 0]\n"
      "  buffer @w param @w\n  buffer @A : @A copy 0\n  buffer @s scratch i32[2]\n"
      "  kernel @put threads [1] covers [1] by [1] steps 0 {  args (reads @w, writes @s)\n    %%0 = const 0 : i64\n    "
      "%%1 = load @w[%%0] + [%d] : i32\n"
      "    store %%1, @s[%%0] + [1]\n  }\n"
      "  kernel @get threads [1] covers [1] by [1] steps 1 {  args (writes @A, reads @s)\n    %%0 = const 0 : i64\n    "
      "%%1 = load @s[%%0] + [1] : i32\n    store %%1, @A[%%0]\n  }\n"
      "  host {\n    init {\n    }\n    steps 1 {\n%s      launch @get\n    }\n  }\n}\n";
  Module *m = load(w, arena_printf(w->arena, text, 2, "      launch @put\n"), 0, NULL);
  Binding b = binding(w);
  b.param_arrays = (void *[]){(int32_t[]){5, 6, 7}};
  assert_true(sim_run(m, &b, 2, true, NULL, NULL, NULL, w->diags));
  assert_int_equal(*(int32_t *)w->fields[0], 7);
  b.param_arrays = NULL;
  assert_false(sim_run(m, &b, 1, true, NULL, NULL, NULL, w->diags));
  assert_message(w, "3: launch-time array 'w' has no array to run on");
  m = load(w, arena_printf(w->arena, text, 3, "      launch @put\n"), 0, NULL);
  b = binding(w);
  b.param_arrays = (void *[]){(int32_t[]){5, 6, 7}};
  assert_false(sim_run(m, &b, 1, true, NULL, NULL, NULL, w->diags));
  assert_message(w, "load of 'w' at [3] lies outside: dimension 0 goes from 0 to 2");
  m = load(w, arena_printf(w->arena, text, 2, ""), 0, NULL);
  b = binding(w);
  b.param_arrays = (void *[]){(int32_t[]){5, 6, 7}};
  assert_false(sim_run(m, &b, 1, true, NULL, NULL, NULL, w->diags));
  assert_message(w, "nobody wrote 's' at [1]");
}

/* Runs one block of `threads` threads on A = 0 .. 63 (i32); %t and %g are the thread's number, %one is 1. */
static bool simulate_warps(World *w, int threads, const char *body, uint64_t seed) {
  Module *m = load(
      w,
      arena_printf(
          w->arena,
          "kernel module \"t\" {\n  grid [0 .. 63] steps 1\n  field @A : i32 on [0 .. 63]\n  buffer @A : @A copy 0\n"
          "  kernel @k threads [%d] covers [%d] by [%d] steps 1 {  args (reads writes @A)\n    shared @s : i32[64]\n   "
          " %%t = thread 0 : i32\n    %%g = convert %%t : i64\n"
          "    %%zero = const 0 : i32\n    %%one = const 1 : i32\n    %%x = load @A[%%g] : i32\n%s  }\n  host {\n    "
          "init {\n    }\n    steps 1 {\n      launch @k\n    }\n  }\n}\n",
          threads, threads, threads, body),
      0, NULL);
  for (int i = 0; i < 64; i++)
    ((int32_t *)w->fields[0])[i] = i;
  Binding b = binding(w);
  SimOptions o = {seed, 0};
  return sim_run(m, &b, 1, true, NULL, &o, NULL, w->diags);
}

/* Shuffles trade values within each 32 threads, in loops too; between them barriers and shared memory work as ever. */
WORLD_TEST(test_shuffles) {
  static const char *const body =
      "    %two = const 2 : i32\n    %y = for %i = %zero to %two step 1 with %z = %x {\n      %p = shuffle %z xor 5 : "
      "i32\n      %q = shuffle %p xor 16 : i32\n"
      "      %r = add %q, %i : i32\n      yield %r\n    }\n    astore %y, @s[%t] v1\n    barrier\n    %u = aload "
      "@s[%t] v1 : i32\n    %v = shuffle %u xor 31 : i32\n    store %v, @A[%g]\n";
  for (uint64_t seed = 0; seed < 5; seed++) {
    assert_true(simulate_warps(w, 64, body, seed));
    for (int i = 0; i < 64; i++)
      assert_int_equal(((int32_t *)w->fields[0])[i], (i ^ 31) + 1);
  }
}

/* A warp whose threads are not all at a shuffle, or that lacks the lane asked for. */
WORLD_TEST(test_divergent_shuffles) {
  static const struct {
    int threads;
    const char *body, *message;
  } cases[] = {
      {64,
       "    %c = eq %t, %one : bool\n    if %c {\n      %y = shuffle %x xor 1 : i32\n      store %y, @A[%g]\n    } "
       "else {\n    }\n",
       "divergent shuffle: this thread is at it, but thread [0] of the same warp has finished (block [0], thread [1])"},
      {32,
       "    %c = eq %t, %zero : bool\n    if %c {\n      %y = shuffle %x xor 1 : i32\n      store %y, @A[%g]\n    } "
       "else {\n      barrier\n    }\n",
       "of the same warp waits at the barrier of line 17"},
      {32, "    for %i = %zero to %t step 1 {\n      %y = shuffle %x xor 2 : i32\n    }\n", "divergent shuffle"},
      {24, "    %y = shuffle %x xor 16 : i32\n    store %y, @A[%g]\n",
       "shuffle with lane 24, but the warp has 24 threads (block [0], thread [8])"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (uint64_t seed = 0; seed < 3; seed++) {
      w->messages.n = 0;
      w->diags = diags_new(w->arena, note_message, w);
      assert_false(simulate_warps(w, cases[i].threads, cases[i].body, seed));
      assert_message(w, cases[i].message);
    }
}

/* A shuffle orders no memory: a race stays one. */
WORLD_TEST(test_shuffle_is_no_barrier) {
  assert_false(simulate_warps(w, 32,
                              "    astore %x, @s[%t] v1\n    %y = shuffle %x xor 1 : i32\n    %z = aload @s[%zero] v1 "
                              ": i32\n    store %z, @A[%g]\n",
                              1));
  assert_message(w, "race on shared array 's' at [0]");
}

WORLD_TEST(test_limits) {
  assert_false(simulate(w, "    private @p : i32[500000000]\n", "    store %t, @A[%g]\n", false, 1, 0));
  assert_message(w, "6: kernel 'k' takes");
  assert_message(w, "bytes to simulate, 8e9 at most: take fewer threads, smaller arrays or a smaller grid");
}

WORLD_TEST(test_reports) {
  Module *m = load(w, kernel_text(w, "", "    store %t, @A[%g] + [8]\n", false), 0, NULL);
  Binding b = binding(w);
  assert_false(sim_run(m, &b, 1, true, NULL, &(SimOptions){0, 3}, NULL, w->diags));
  int lines = 0;
  for (const char *s = w->messages.s; *s; s++)
    lines += *s == '\n';
  assert_int_equal(lines, 3);
}
