/* sim_near_test.c: barriers between neighbouring warps in the simulator: what they order, and that what they leave
 * unordered is a race. */
#include "tests/unit/execution.h"

#include "ir/sim/sim.h"

#include <string.h>

/* Runs one block of five warps on A = 0 .. 159. %t and %g are the thread's number; @s has 64 cells more at both ends;
 * each "MEET" of the body becomes `meet`. What the threads stored in A, or NULL. */
static const int32_t *simulate(World *w, const char *body, const char *meet, uint64_t seed) {
  Str text = {.arena = w->arena};
  for (const char *at = body, *next; at; at = next ? next + strlen("MEET") : NULL) {
    next = strstr(at, "MEET");
    str_addf(&text, "%.*s%s", (int)(next ? next - at : (long)strlen(at)), at, next ? meet : "");
  }
  Module *m = load(
      w,
      arena_printf(
          w->arena,
          "kernel module \"t\" {\n  grid [0 .. 159] steps 1\n  field @A : i32 on [0 .. 159]\n  buffer @A : @A copy 0\n"
          "  kernel @k threads [160] covers [160] by [160] steps 1 {\n    args (reads writes @A)\n    shared @s : "
          "i32[4, 288] pad [0 .. 0, 64 .. 64]\n    %%t = thread 0 : i32\n    %%g = convert %%t : i64\n"
          "    %%zero = const 0 : i32\n    %%one = const 1 : i32\n    %%two = const 2 : i32\n    %%nine = const 9 : "
          "i32\n%s  }\n  host {\n    init {\n    }\n    steps 1 {\n      launch @k\n    }\n  }\n}\n",
          text.s),
      0, NULL);
  for (int i = 0; i < 160; i++)
    ((int32_t *)w->fields[0])[i] = i;
  Binding b = binding(w);
  w->messages.n = 0;
  return sim_run(m, &b, 1, true, NULL, &(SimOptions){seed, 0}, NULL, w->diags) ? w->fields[0] : NULL;
}

/* The body is right with `meet`, in every order. */
static void assert_right(World *w, const char *body, const char *meet) {
  for (uint64_t seed = 0; seed < 4; seed++)
    assert_non_null(simulate(w, body, meet, seed));
}

/* The body races with `meet`, in every order. */
static void assert_race(World *w, const char *body, const char *meet, const char *message) {
  for (uint64_t seed = 0; seed < 4; seed++) {
    w->diags = diags_new(w->arena, note_message, w);
    assert_null(simulate(w, body, meet, seed));
    assert_message(w, message);
  }
  w->diags = diags_new(w->arena, note_message, w);
}

static const char NEAR[] = "    barrier.neighbours\n", TWICE[] = "    barrier.neighbours\n    barrier.neighbours\n",
                  FULL[] = "    barrier\n", FEW[] = " with too few barriers of neighbouring warps between";

/* Threads see what neighbouring warps wrote before. */
WORLD_TEST(test_neighbours) {
  static const char *const body =
      "    astore %t, @s[%zero, %t] + [0, 64] v1\nMEET    %x = aload @s[%zero, %t] + [0, 96] v1 : i32\n    %y = aload "
      "@s[%zero, %t] + [0, 32] v1 : i32\n    %z = add %x, %y : i32\n"
      "    %in = inside %g in [32 .. 127] : bool\n    if %in {\n      store %z, @A[%g]\n    } else {\n    }\n";
  for (uint64_t seed = 0; seed < 4; seed++) {
    const int32_t *a = simulate(w, body, NEAR, seed);
    assert_non_null(a);
    for (int i = 0; i < 160; i++)
      assert_int_equal(a[i], i >= 32 && i < 128 ? 2 * i : i);
  }
}

/* What a warp further away did needs as many barriers as it is away, or one of the block. */
WORLD_TEST(test_distance) {
  static const char *const up =
      "    astore %t, @s[%zero, %t] + [0, 64] v1\nMEET    %x = aload @s[%zero, %t] + [0, 128] v1 : i32\n";
  static const char *const down =
      "    astore %t, @s[%zero, %t] + [0, 64] v1\nMEET    %x = aload @s[%zero, %t] v1 : i32\n";
  static const char *const write =
      "    %x = aload @s[%zero, %t] + [0, 128] v1 : i32\nMEET    astore %t, @s[%zero, %t] + [0, 64] v1\n";
  static const char *const writes =
      "    astore %t, @s[%zero, %t] + [0, 128] v1\nMEET    astore %t, @s[%zero, %t] + [0, 64] v2\n";
  static const char *const none = "    astore %t, @s[%zero, %t] + [0, 64] v1\nMEET    %x = aload @s[%zero, %t] + [0, "
                                  "96] v1 : i32\n    astore %x, @s[%zero, %t] + [0, 64] v1\n";
  const char *const bodies[] = {up, down, writes};
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    assert_race(w, bodies[i], NEAR, FEW);
    assert_right(w, bodies[i], TWICE);
    assert_right(w, bodies[i], FULL);
  }
  assert_race(w, arena_printf(w->arena, "    astore %%t, @s[%%zero, %%t] + [0, 64] v1\n    barrier\n%s", write), NEAR,
              FEW);
  assert_right(w, arena_printf(w->arena, "    astore %%t, @s[%%zero, %%t] + [0, 64] v1\n    barrier\n%s", write),
               TWICE);
  assert_race(w, none, NEAR, "with no barrier between");
}

/* Three of a barrier's readers, in different warps and at different times; the writer must be behind all of them. */
WORLD_TEST(test_readers) {
  static const char *const body =
      "    %c0 = eq %t, %zero : bool\n    %n64 = const 64 : i32\n    %n96 = const 96 : i32\n    %c2 = eq %t, %n64 : "
      "bool\n    %c3 = eq %t, %n96 : bool\n"
      "    if %c3 {\n      astore %t, @s[%zero, %zero] v1\n    } else {\n    }\n    barrier\n"
      "    if %c0 {\n      %x = aload @s[%zero, %zero] v1 : i32\n    } else {\n    }\n    barrier.neighbours\n    if "
      "%c2 {\n      %x = aload @s[%zero, %zero] v1 : i32\n    } else {\n    }\n"
      "MEET    if %c3 {\n      astore %t, @s[%zero, %zero] v2\n    } else {\n    }\n";
  assert_race(w, body, NEAR,
              "this thread writes what thread [0] reads with too few barriers of neighbouring warps between (block "
              "[0], thread [96])");
  assert_right(w, body, TWICE);
  assert_right(w, body, FULL);
}

/* A ring of %slots rows, each read two steps after it was written by the warps two further, is long enough with
 * barriers of the block when it has three, and with those of neighbours when it has four: the readers may be two steps
 * behind. */
WORLD_TEST(test_ring) {
  static const char *const body = "    astore %%t, @s[%%zero, %%t] + [0, 64] v1\n    astore %%t, @s[%%one, %%t] + [0, "
                                  "64] v1\n    barrier\n    %%slots = const %d : i32\n"
                                  "    for %%i = %%two to %%nine step 1 {\n      %%new = rem %%i, %%slots : i32\n      "
                                  "%%j = sub %%i, %%two : i32\n      %%old = rem %%j, %%slots : i32\n"
                                  "      %%x = aload @s[%%old, %%t] + [0, 128] v1 : i32\n      astore %%i, @s[%%new, "
                                  "%%t] + [0, 64] v1\nMEET    }\n";
  const char *three = arena_printf(w->arena, body, 3), *four = arena_printf(w->arena, body, 4);
  assert_right(w, three, FULL);
  assert_race(w, three, NEAR, FEW);
  assert_right(w, four, NEAR);
}

/* All threads of the block must come. */
WORLD_TEST(test_divergence) {
  assert_race(w, "    %first = eq %t, %zero : bool\n    if %first {\nMEET    } else {\n    }\n", NEAR,
              "divergent barrier: this thread waits at it, but thread [1] has finished");
  assert_race(w,
              "    %n = const 32 : i32\n    %first = lt %t, %n : bool\n    if %first {\n      barrier\n    } else "
              "{\nMEET    }\n",
              NEAR, "divergent barrier");
}
