/* sim_lanes_test.c: the simulator's shuffles up and down, vectors and asynchronous copies: right code passes in every
 * order, and each kind of planted fault is named. */
#include "tests/unit/execution.h"

#include "ir/sim/sim.h"

/* Runs one block of `threads` threads, each `lanes` of which trade values, on A = 0 .. 63 and B = -1 (i32). %t (i32)
 * and %g (i64) are the thread's number, %t2 and %g2 twice that; line 11 is the first of `body`. Returns B, NULL after a
 * fault. */
static const int32_t *simulate_lanes(World *w, int threads, int lanes, const char *body, uint64_t seed) {
  Module *m = load(
      w,
      arena_printf(w->arena,
                   "kernel module \"t\" {\n  grid [0 .. 63] steps 1\n  field @A : i32 on [0 .. 63] input\n  field "
                   "@B : i32 on [0 .. 63]\n  buffer @A : @A copy 0\n  buffer @B : @B copy 0\n"
                   "  kernel @k threads [%d] warp %d covers [%d] by [%d] steps 1 {  args (reads @A, writes @B)\n    "
                   "shared @s : i32[64]\n    shared @ring : i32[2, 64]\n"
                   "    %%t = thread 0 : i32 %%g = convert %%t : i64 %%zero = const 0 : i32 %%one = const 1 : i32 "
                   "%%t2 = add %%t, %%t : i32 %%g2 = add %%g, %%g : i64\n"
                   "%s  }\n  host {\n    init {\n    }\n    steps 1 {\n      launch @k\n    }\n  }\n}\n",
                   threads, lanes, threads, threads, body),
      0, NULL);
  for (int i = 0; i < 64; i++) {
    ((int32_t *)w->fields[0])[i] = i;
    ((int32_t *)w->fields[1])[i] = -1;
  }
  Binding b = binding(w);
  return sim_run(m, &b, 1, true, NULL, &(SimOptions){seed, 0}, NULL, w->diags) ? w->fields[1] : NULL;
}

/* The same where whole warps trade values. */
static const int32_t *simulate_block(World *w, int threads, const char *body, uint64_t seed) {
  return simulate_lanes(w, threads, WARP_LANES, body, seed);
}

/* The body must fail, whatever the order, with this message. */
static void assert_fault(World *w, int threads, const char *body, const char *message) {
  for (uint64_t seed = 0; seed < 4; seed++) {
    w->messages.n = 0;
    w->diags = diags_new(w->arena, note_message, w);
    assert_null(simulate_block(w, threads, body, seed));
    assert_message(w, message);
  }
}

/* Up and down within each 32 threads: where a lane has a partner. */
WORLD_TEST(test_up_and_down) {
  static const char *const body = "    %x = load @A[%g] : i32\n    %c31 = const 31 : i32\n    %c32 = const 32 : i32\n  "
                                  "  %lane = rem %t, %c32 : i32\n    %two = const 2 : i32\n"
                                  "    %u = shuffle.up %x by 2 : i32\n    %d = shuffle.down %x by 1 : i32\n    %low = "
                                  "lt %lane, %two : bool\n    %last = eq %lane, %c31 : bool\n"
                                  "    %p = select %low, %zero, %u : i32\n    %q = select %last, %zero, %d : i32\n    "
                                  "%k = const 1000 : i32\n    %r = mul %p, %k : i32\n    %s = add %r, %q : i32\n"
                                  "    store %s, @B[%g]\n";
  for (uint64_t seed = 0; seed < 4; seed++) {
    const int32_t *b = simulate_block(w, 64, body, seed);
    assert_non_null(b);
    for (int i = 0; i < 64; i++)
      assert_int_equal(b[i], 1000 * (i % 32 < 2 ? 0 : i - 2) + (i % 32 == 31 ? 0 : i + 1));
  }
}

/* The same within each 16 and each 8 threads, where several lines share a warp; who has no partner there has its own
 * value, which is stale. */
WORLD_TEST(test_parts_of_warps) {
  for (int lanes = 8; lanes <= 16; lanes *= 2) {
    const char *body = arena_printf(
        w->arena,
        "    %%x = load @A[%%g] : i32\n    %%n = const %d : i32\n    %%lane = rem %%t, %%n : i32\n    %%u = shuffle.up "
        "%%x by 1 : i32\n    %%low = lt %%lane, %%one : bool\n    %%p = select %%low, %%zero, %%u : i32\n    %%q = "
        "shuffle %%x xor %d : i32\n    %%k = const 1000 : i32\n    %%r = mul %%p, %%k : i32\n    %%s = add %%r, %%q : "
        "i32\n    store %%s, @B[%%g]\n",
        lanes, lanes - 1);
    for (uint64_t seed = 0; seed < 4; seed++) {
      const int32_t *b = simulate_lanes(w, 64, lanes, body, seed);
      assert_non_null(b);
      for (int i = 0; i < 64; i++)
        assert_int_equal(b[i], 1000 * (i % lanes ? i - 1 : 0) + (i ^ (lanes - 1)));
    }
    w->messages.n = 0;
    w->diags = diags_new(w->arena, note_message, w);
    assert_null(simulate_lanes(w, 32, lanes,
                               "    %x = load @A[%g] : i32\n    %u = shuffle.up %x by 1 : i32\n    %c = eq %t, %zero : "
                               "bool\n    %r = select %c, %x, %u : i32\n    store %r, @B[%g]\n",
                               1));
    assert_message(w, arena_printf(w->arena, "a stale value reaches 'B' at [%d]", lanes));
    w->diags = diags_new(w->arena, note_message, w);
  }
}

/* A lane without a partner, also in a warp of fewer than 32 threads, has its own value, which is stale. */
WORLD_TEST(test_no_partner) {
  static const char *const down = "    %%x = load @A[%%g] : i32\n    %%u = shuffle.down %%x by 4 : i32\n    %%c = "
                                  "const %d : i32\n    %%m = lt %%t, %%c : bool\n    %%r = select %%m, %%u, %%x : i32\n"
                                  "    store %%r, @B[%%g]\n";
  assert_fault(w, 32, "    %x = load @A[%g] : i32\n    %u = shuffle.up %x by 1 : i32\n    store %u, @B[%g]\n",
               "a stale value reaches 'B' at [0]: the lane has no partner for the shuffle.up (line 12)");
  assert_fault(w, 24, arena_printf(w->arena, down, 21),
               "a stale value reaches 'B' at [20]: the lane has no partner for the shuffle.down (line 12)");
  const int32_t *b = simulate_block(w, 24, arena_printf(w->arena, down, 20), 1);
  assert_non_null(b);
  assert_int_equal(b[19], 23);
  assert_int_equal(b[20], 20);
  assert_fault(w, 32,
               "    %c = eq %t, %one : bool\n    if %c {\n      %y = shuffle.up %t by 1 : i32\n    } else {\n    }\n",
               "divergent shuffle");
}

/* Loads and stores of vectors, from buffers and shared arrays. */
WORLD_TEST(test_vectors) {
  static const char *const body =
      "    %i = add %t2, %t2 : i32\n    %j = add %g2, %g2 : i64\n    %a, %b, %c, %d = vload @A[%j] : i32\n    avstore "
      "%d, %c, %b, %a, @s[%i] v1\n    barrier\n"
      "    %c15 = const 15 : i32\n    %four = const 4 : i32\n    %m = sub %c15, %t : i32\n    %n = mul %m, %four : "
      "i32\n    %e, %f = avload @s[%n] v1 : i32\n"
      "    %p, %q = avload @s[%n] + [2] v1 : i32\n    vstore %e, %f, @B[%j]\n    vstore %p, %q, @B[%j] + [2]\n";
  for (uint64_t seed = 0; seed < 4; seed++) {
    const int32_t *b = simulate_block(w, 16, body, seed);
    assert_non_null(b);
    for (int i = 0; i < 64; i++)
      assert_int_equal(b[i], 63 - i);
  }
}

/* Vectors are checked element by element, and begin at multiples of their bytes. */
WORLD_TEST(test_vector_faults) {
  assert_fault(w, 16, "    %a, %b = vload @A[%g2] + [1] : i32\n", "vload of 'A' at [");
  assert_fault(w, 1, "    %a, %b = vload @A[%g2] + [1] : i32\n",
               "vload of 'A' at [1] is not aligned: it is element 1 in memory, which must be a multiple of 2 (block "
               "[0], thread [0])");
  assert_fault(w, 1, "    avstore %t, %t, @ring[%one, %t] + [0, 3] v1\n",
               "avstore of 'ring' at [1, 3] is not aligned: it is element 67 in memory, which must be a multiple of 2");
  assert_fault(w, 1, "    %a, %b, %c, %d, %e, %f, %h, %i = vload @A[%g] + [2] : i32\n",
               "vload of 'A' at [2] is not aligned: it is element 2 in memory, which must be a multiple of 4");
  assert_fault(w, 1, "    vstore %t, %t, @B[%g] + [64]\n", "store to 'B' at [64] lies outside");
  assert_fault(w, 1, "    %a, %b = avload @s[%t] + [2] v1 : i32\n", "read of uninitialised shared array 's' at [2]");
  assert_fault(w, 2, "    %z = mul %g, %g : i64\n    %y = sub %z, %g : i64\n    vstore %t, %t, @B[%y]\n",
               "race on 'B' at [");
  assert_fault(w, 2, "    avstore %t, %t, @s[%zero] v1\n", "race on shared array 's' at [");
  assert_fault(
      w, 1, "    %i = idx.guard %g + 2 in [0 .. 0] : i64\n    %a, %b = vload @A[%i] : i32\n    vstore %a, %b, @B[%g]\n",
      "a stale value reaches 'B' at [0]: the region computed from was too small: idx.guard");
}

/* Two rows on their way at once; the older one is waited for first. The neighbours see each after a barrier. Rows of
 * the ring are used again after another. */
WORLD_TEST(test_copies) {
  static const char *const body =
      "    async.copy @ring[%zero, %t2] v0 from @A[%g2] n 2\n    async.commit\n"
      "    %six = const 6 : i32\n    %two = const 2 : i32\n    %m = const 15 : i32\n    %o = sub %m, %t : i32\n"
      "    %sum = for %i = %zero to %six step 1 with %acc = %zero {\n      %slot = rem %i, %two : i32\n      %i1 = add "
      "%i, %one : i32\n      %next = rem %i1, %two : i32\n"
      "      async.copy @ring[%next, %t2] v0 from @A[%g2] + [32] n 2\n      async.commit\n      async.wait 1\n      "
      "barrier\n      %oo = add %o, %o : i32\n"
      "      %a, %b = avload @ring[%slot, %oo] v0 : i32\n      %ab = add %a, %b : i32\n      %new = add %acc, %ab : "
      "i32\n      barrier\n      yield %new\n    }\n"
      "    async.wait 0\n    store %sum, @B[%g]\n";
  for (uint64_t seed = 0; seed < 4; seed++) {
    const int32_t *b = simulate_block(w, 16, body, seed);
    assert_non_null(b);
    for (int i = 0; i < 16; i++)
      assert_int_equal(b[i], 4 * (15 - i) + 1 + 5 * (4 * (15 - i) + 65));
  }
}

/* What a thread may not do before the copy's wait, or the barrier behind it. */
WORLD_TEST(test_copy_faults) {
#define COPY "    async.copy @s[%t2] v1 from @A[%g2] n 2\n"
#define OWN "    %a = aload @s[%t2] v1 : i32\n"
#define OTHER "    %l = const 30 : i32\n    %m = sub %l, %t2 : i32\n    %a = aload @s[%m] v1 : i32\n"
  assert_fault(w, 1, COPY OWN,
               "read of a cell that an asynchronous copy is still filling: array 's' at [0], the copy is this "
               "thread's; it needs an async.wait first");
  assert_fault(w, 1, COPY "    async.commit\n" OWN, "read of a cell that an asynchronous copy is still filling");
  assert_fault(w, 1, COPY "    async.wait 0\n" OWN "    async.commit\n    async.wait 0\n",
               "read of a cell that an asynchronous copy is still filling");
  assert_fault(w, 1, COPY "    async.commit\n    async.wait 1\n" OWN,
               "read of a cell that an asynchronous copy is still filling");
  assert_fault(w, 16, COPY "    async.commit\n    barrier\n" OTHER, "the copy is that of thread [");
  assert_fault(w, 1, COPY "    astore %t, @s[%t2] + [1] v1\n",
               "write of a cell that an asynchronous copy is still filling: array 's' at [1]");
  assert_fault(w, 1, COPY COPY, "write of a cell that an asynchronous copy is still filling: array 's' at [0]");
  assert_fault(w, 16, COPY "    async.commit\n    async.wait 0\n" OTHER, "race on shared array 's' at [");
  assert_fault(w, 16, "    astore %t, @s[%t2] v1\n    barrier\n" OTHER COPY "    async.commit\n    async.wait 0\n",
               "race on shared array 's' at [");
  assert_fault(w, 1, COPY "    async.commit\n",
               "the kernel ends with an asynchronous copy to shared array 's' that this thread did not wait for (block "
               "[0], thread [0])");
  assert_fault(w, 1, COPY "    async.wait 0\n", "the kernel ends with an asynchronous copy");
  assert_fault(w, 1, "    async.copy @s[%t2] + [1] v1 from @A[%g2] n 2\n",
               "async.copy of 's' at [1] is not aligned: it is element 1 in memory, which must be a multiple of 2");
  assert_fault(w, 1, "    async.copy @s[%t2] v1 from @A[%g2] + [3] n 2\n",
               "async.copy of 'A' at [3] is not aligned: it is element 3 in memory, which must be a multiple of 2");
  assert_fault(w, 1, "    async.copy @s[%t2] + [64] v1 from @A[%g2] n 1\n", "async.copy to 's' at [64] lies outside");
  assert_fault(w, 1, "    async.copy @s[%t2] v1 from @A[%g2] + [64] n 1\n", "load of 'A' at [64] lies outside");
  assert_fault(w, 1,
               "    %i = idx.guard %g + 2 in [0 .. 0] : i64\n    async.copy @s[%t2] v1 from @A[%i] n 2\n    "
               "async.commit\n    async.wait 0\n" OWN "    store %a, @B[%g]\n",
               "a stale value reaches 'B' at [0]: the region computed from was too small: idx.guard");
}
