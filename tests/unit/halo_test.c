/* halo_test.c: Algorithm 2 (passes/stencil/halo.c) and what a launch is found to need (passes/launch/), on
 * modules given as text. */
#include "tests/unit/ir_testing.h"

#include "passes/lower/lower.h"

#include <malloc.h>

enum { MAX_FIELDS = 8 };

/* What halo_compute found: the instances, and the fields before the first. */
typedef struct Found {
  Module *m;
  Stencil *st;
  int n;
  Extent need[MAX_FIELDS];
  bool has[MAX_FIELDS];
} Found;

/* T levels of the stencils of `text`. */
static Found analyse(Fixture *f, const char *text, int T) {
  Found r = {.m = module_parse(f->arena, f->diags, "test", text)};
  if (!r.m)
    fail_msg("%s", f->messages.s);
  r.n = r.m->nstencils * T;
  r.st = repeat_levels(r.m, r.m->nstencils, r.m->stencils, T, false);
  halo_compute(r.m, r.n, r.st, r.st + r.n, r.need, r.has);
  return r;
}

static void assert_extent(const Extent *e, int d, int64_t lo, int64_t hi) {
  assert_int_equal(e->lo[d], lo);
  assert_int_equal(e->hi[d], hi);
}

/* Figure 5 of the paper: its program, three time steps, the tile (x0, l0), first point and length, given for B. In the
 * last step A is needed on (x0, l0 + 1), one step back B on (x0 - 1, l0 + 2), in the first step A on (x0 - 2, l0 + 5)
 * and B on (x0 - 2, l0 + 4). */
static const char FIGURE_5[] =
    "stencil module \"figure5\" {\n  param @N : i64\n  grid [0 .. N - 1] steps 9\n"
    "  field @A : f32 on [0 .. N - 1]\n  field @B : f32 on [0 .. N - 1]\n"
    "  stencil @fA (@A) {\n    piece [1 .. N - 2] (@A) {\n"
    "      %0 = access @B[-1] : f32\n      %1 = access @B[0] : f32\n      %2 = add %0, %1 : f32\n      yield %2\n"
    "    }\n  }\n"
    "  stencil @fB (@B) {\n    piece [1 .. N - 2] (@B) {\n"
    "      %0 = access @A[0] : f32\n      %1 = access @A[1] : f32\n      %2 = add %0, %1 : f32\n      yield %2\n"
    "    }\n  }\n}\n";

FIXTURE_TEST(test_figure_5) {
  static const int64_t a[] = {2, 3, 1, 2, 0, 1}, b[] = {2, 2, 1, 1, 0, 0};
  Found r = analyse(f, FIGURE_5, 3);
  assert_true(r.has[0] && r.has[1] && r.n == 6);
  for (int step = 0; step < 3; step++) {
    assert_extent(&r.st[2 * step].extent, 0, a[2 * step], a[2 * step + 1]);
    assert_extent(&r.st[2 * step + 1].extent, 0, b[2 * step], b[2 * step + 1]);
  }
  assert_true(r.st[0].has_extent);
}

/* A bound: one of two numbers and a multiple of N or of M. */
static Affine some_bound(Arena *a, uint32_t *state) {
  uint32_t r = *state = *state * 1664525u + 1013904223u;
  Affine x = affine_scale(a, affine_scalar(a, (int)(r >> 16 & 1)), r >> 17 & 3);
  return affine_add_const(x, (int64_t)(r >> 20 & 1) - 1);
}

/* What is kept of regions inside others is what the launch checks say, also of regions at the places of earlier ones,
 * and of bounds with more terms than are kept. */
FIXTURE_TEST(test_inside_kept) {
  Str text = {.arena = f->arena};
  str_add(&text,
          "stencil module \"t\" {\n  param @N : i64\n  param @M : i64\n  grid [0 .. N - 1, 0 .. M - 1] steps 8\n");
  for (int c = 1; c < 6; c++)
    str_addf(&text,
             "  check N - %d >= 0 unless empty [%d .. N - 1, 0 .. M] \"a\"\n  check M - %d >= 0 \"b\"\n"
             "  check 2 * N + M - %d >= 0 \"c\"\n",
             c, c - 3, 6 - c, c);
  str_add(&text, "}\n");
  Module *m = module_parse(f->arena, f->diags, "test", text.s), *kept = m ? module_trial(m) : NULL;
  if (!m)
    fail_msg("%s", f->messages.s);
  keep_inside(kept);
  assert_non_null(kept->inside);
  uint32_t state = 1;
  int inside = 0, n = 20000;
  for (int i = 0; i < n; i++) {
    ArenaMark mark = arena_mark(f->arena);
    Box x = {.rank = 2}, y = {.rank = 2};
    for (int d = 0; d < 2; d++) {
      x.lo[d] = affine_const((int64_t)(state >> 9 & 1));
      x.hi[d] = some_bound(f->arena, &state);
      y.lo[d] = affine_const((int64_t)(state >> 13 & 1) - 1);
      y.hi[d] = affine_add(f->arena, some_bound(f->arena, &state), some_bound(f->arena, &state));
    }
    for (int d = 0; d < 4; d++) {
      bool is = points_inside(m, &x, &y, d % 2);
      assert_int_equal(points_inside(kept, &x, &y, d % 2), is);
      inside += is;
    }
    arena_release(f->arena, mark);
  }
  assert_in_range(inside, n / 10, 4 * n - n / 10);
}

/* One stencil over the whole of A with one access at `off` under `rule`. */
static Found one_access(Fixture *f, const char *rule, int off, const char *region, int T) {
  const char *text = arena_printf(
      f->arena,
      "stencil module \"t\" {\n  grid [0 .. 99] steps 8\n  field @A : f32 on [0 .. 99]%s\n"
      "  stencil @s (@A) {\n    piece %s (@A) {\n      %%0 = access @A[%d] : f32\n      yield %%0\n    }\n  }\n}\n",
      rule, region, off);
  return analyse(f, text, T);
}

/* The extent follows the side of the access; clamp may lead back to the point itself and mirror to its other side;
 * nothing is needed of the other side where the rule never acts. */
FIXTURE_TEST(test_rules) {
  static const struct {
    const char *rule, *region;
    int off;
    int64_t lo, hi;
  } cases[] = {
      {"", "[3 .. 96]", 2, 0, 4},
      {"", "[3 .. 96]", -3, 6, 0},
      {" outside periodic", "[0 .. 99]", 1, 0, 2},
      {" outside const 0.0", "[0 .. 99]", -1, 2, 0},
      {" outside clamp", "[0 .. 99]", 2, 0, 4},
      {" outside mirror", "[0 .. 99]", 2, 4, 4},
      {" outside mirror", "[2 .. 97]", 2, 0, 4},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Found r = one_access(f, cases[i].rule, cases[i].off, cases[i].region, 2);
    assert_extent(&r.need[0], 0, cases[i].lo, cases[i].hi);
  }
}

/* A temp field is computed as far as the step that reads it needs, and is not needed from one step to the next. A field
 * that is read only is needed, but has no instance. Dimensions do not mix. */
FIXTURE_TEST(test_temp) {
  static const char text[] =
      "stencil module \"t\" {\n  grid [0 .. 9, 0 .. 9] steps 8\n  field @A : f32 on [0 .. 9, 0 .. 9] outside clamp\n"
      "  field @K : f32 on [0 .. 9, 0 .. 9] outside clamp input\n  field @t : f32 on [0 .. 9, 0 .. 9] outside clamp "
      "temp\n"
      "  stencil @a (@t) {\n    piece [0 .. 9, 0 .. 9] (@t) {\n      %0 = access @A[1, 0] : f32\n      %1 = access "
      "@K[0, -2] : f32\n      %2 = add %0, %1 : f32\n"
      "      yield %2\n    }\n  }\n"
      "  stencil @b (@A) {\n    piece [0 .. 9, 0 .. 9] (@A) {\n      %0 = access @t[-1, 0] : f32\n      yield %0\n    "
      "}\n  }\n}\n";
  Found r = analyse(f, text, 2);
  assert_false(r.has[2]);
  assert_true(r.has[0] && r.has[1]);
  assert_extent(&r.st[3].extent, 0, 0, 0);
  assert_extent(&r.st[2].extent, 0, 1, 0);
  assert_extent(&r.st[1].extent, 0, 1, 1);
  assert_extent(&r.st[0].extent, 0, 2, 1);
  assert_extent(&r.st[0].extent, 1, 0, 0);
  assert_extent(&r.need[0], 0, 2, 2);
  assert_extent(&r.need[1], 1, 2, 0);
}

/* A field that a stencil writes completely is not needed before it. */
FIXTURE_TEST(test_overwritten) {
  static const char text[] =
      "stencil module \"t\" {\n  grid [0 .. 9] steps 8\n  field @A : f32 on [0 .. 9]\n  field @B : f32 on [0 .. 9]\n"
      "  stencil @s (@A) {\n    piece [0 .. 9] (@A) {\n      %0 = access @B[0] : f32\n      yield %0\n    }\n  }\n"
      "  stencil @u (@B) {\n    piece [0 .. 8] (@B) {\n      %0 = access @A[1] : f32\n      yield %0\n    }\n  }\n}\n";
  Found r = analyse(f, text, 1);
  assert_false(r.has[0]);
  assert_true(r.has[1]);
  assert_extent(&r.st[0].extent, 0, 0, 1);
}

/* Two fields that take turns, and read themselves too. */
static const char TURNS[] =
    "stencil module \"turns\" {\n  grid [0 .. 99] steps 8\n  field @A : f32 on [0 .. 99]\n  field @B : f32 on [0 .. "
    "99]\n"
    "  stencil @f (@A) {\n    piece [1 .. 98] (@A) {\n"
    "      %0 = access @A[-1] : f32\n      %1 = access @A[1] : f32\n      %2 = access @B[-1] : f32\n      %3 = access "
    "@B[0] : f32\n"
    "      %4 = add %0, %1 : f32\n      %5 = add %2, %3 : f32\n      %6 = add %4, %5 : f32\n      yield %6\n    }\n  "
    "}\n"
    "  stencil @g (@B) {\n    piece [1 .. 98] (@B) {\n"
    "      %0 = access @B[0] : f32\n      %1 = access @A[0] : f32\n      %2 = access @A[1] : f32\n"
    "      %3 = add %0, %1 : f32\n      %4 = add %3, %2 : f32\n      yield %4\n    }\n  }\n}\n";

/* What a launch reads, keeps and pairs. */
FIXTURE_TEST(test_launch) {
  Found r = analyse(f, TURNS, 2);
  Launch *l = launch_new(r.m, r.n, r.st, r.st, r.st + r.n);
  assert_null(l->illegal);
  assert_int_equal(l->steps, 2);
  assert_extent(&l->hull, 0, 1, 2);
  assert_int_equal(launch_width(l, 0, 16), 13);
  const FieldUse *a = launch_use(l, 0), *b = launch_use(l, 1);
  assert_int_equal(a->versions, 2);
  assert_true(a->loaded && a->stored && a->paired);
  assert_int_equal(a->near[1], 2);
  assert_int_equal(a->near[2], 3);
  assert_int_equal(b->near[1], 2);
  assert_int_equal(b->near[2], -1);
  assert_int_equal(a->reach_lo[0], 1);
  assert_int_equal(a->reach_hi[0], 1);
  assert_int_equal(b->reach_hi[0], 0);
  assert_int_equal(launch_array_bytes(l, (int32_t[]){16}), 80 + 80);
  assert_int_equal(launch_version(l, 0, 3), 2);
}

/* Two f32 arrays alive together, and then one of f64 in the place of the first of them: what the second took stays
 * taken. */
FIXTURE_TEST(test_array_bytes) {
  static const char text[] =
      "stencil module \"t\" {\n  grid [0 .. 9] steps 8\n  field @A : f32 on [0 .. 9]\n  field @B : f32 on [0 .. 9]\n  "
      "field @C : f64 on [0 .. 9]\n"
      "  stencil @a (@A) {\n    piece [0 .. 8] (@A) {\n      %0 = access @A[0] : f32\n      yield %0\n    }\n  }\n"
      "  stencil @b (@B) {\n    piece [0 .. 8] (@B) {\n      %0 = access @A[1] : f32\n      yield %0\n    }\n  }\n"
      "  stencil @c (@C) {\n    piece [0 .. 8] (@C) {\n      %0 = access @A[1] : f32\n      %1 = access @B[1] : f32\n  "
      "    %2 = add %0, %1 : f32\n      %3 = convert %2 : f64\n"
      "      yield %3\n    }\n  }\n"
      "  stencil @d (@C) {\n    piece [0 .. 8] (@C) {\n      %0 = access @C[1] : f64\n      yield %0\n    }\n  }\n}\n";
  Found r = analyse(f, text, 1);
  Launch *l = launch_new(r.m, r.n, r.st, r.st, r.st + r.n);
  assert_int_equal(launch_array_bytes(l, (int32_t[]){15}), 16 * 8 + 16 * 4);
}

/* A point that only reads itself is written in place, as long as there is no halo. */
FIXTURE_TEST(test_in_place) {
  Found r = one_access(f, "", 0, "[0 .. 99]", 3);
  Launch *l = launch_new(r.m, r.n, r.st, r.st, r.st + r.n);
  assert_false(launch_use(l, 0)->paired);
  assert_true(launch_use(l, 0)->stored);
  r = one_access(f, "", 1, "[0 .. 98]", 1);
  assert_true(launch_use(launch_new(r.m, r.n, r.st, r.st, r.st + r.n), 0)->paired);
}

/* Periodic fields with different bounds cannot share a launch of several steps. */
FIXTURE_TEST(test_illegal) {
  static const char text[] =
      "stencil module \"t\" {\n  grid [0 .. 9] steps 8\n  field @A : f32 on [0 .. 9] outside periodic\n  field @B : "
      "f32 on [1 .. 9] outside periodic\n"
      "  stencil @s (@A) {\n    piece [0 .. 9] (@A) {\n      %0 = access @A[1] : f32\n      yield %0\n    }\n  }\n"
      "  stencil @u (@B) {\n    piece [1 .. 9] (@B) {\n      %0 = access @B[1] : f32\n      yield %0\n    }\n  }\n}\n";
  Found r = analyse(f, text, 2);
  assert_string_equal(launch_new(r.m, r.n, r.st, r.st, r.st + r.n)->illegal,
                      "periodic field 'B' has other bounds in dimension 0 than another periodic field");
  r = analyse(f, text, 1);
  assert_null(launch_new(r.m, r.n, r.st, r.st, r.st + r.n)->illegal);
}

/* A step of `n` fields, each of which is copied to another before a stencil, which reads that one too, writes it. */
static Module *copied_fields(Fixture *f, int n) {
  Str s = {.arena = f->arena};
  str_add(&s, "stencil module \"copied\" {\n  param @N : i64\n  grid [0 .. N - 1] steps 9\n");
  for (int i = 0; i < n; i++)
    str_addf(&s, "  field @A%d : f32 on [0 .. N - 1]\n  field @B%d : f32 on [0 .. N - 1]\n", i, i);
  for (int i = 0; i < n; i++)
    str_addf(&s,
             "  stencil @b%d (@B%d) {\n    piece [0 .. N - 1] (@B%d) {\n      %%0 = access @A%d[0] : f32\n"
             "      yield %%0\n    }\n  }\n  stencil @a%d (@A%d) {\n    piece [0 .. N - 1] (@A%d) {\n"
             "      %%0 = access @A%d[0] : f32\n      %%1 = access @B%d[0] : f32\n      %%2 = add %%0, %%1 : f32\n"
             "      yield %%2\n    }\n  }\n",
             i, i, i, i, i, i, i, i, i);
  str_add(&s, "}\n");
  Module *m = module_parse(f->arena, f->diags, "test", s.s);
  if (!m)
    fail_msg("%s", f->messages.s);
  return m;
}

/* What the instances of a launch read in place of copies is kept in memory that grows with their number, not its
 * square: a launch of 300 fields with copies took 6 MB. What they read is right. */
FIXTURE_TEST(test_copies) {
  Module *m = copied_fields(f, 300);
  struct mallinfo2 before = mallinfo2();
  const Launch *l = tiled_launch(m, 2), *again = tiled_launch(m, 2);
  struct mallinfo2 after = mallinfo2();
  size_t bytes = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
  assert_true(bytes < 6 << 20);
  assert_true(l->sees && again->sees);
  for (int i = 0; i < l->n; i++) {
    int a = l->st[i].targets[0];
    Version seen = launch_reads(l, a + 1, i);
    if (a % 2)
      continue;
    assert_int_equal(seen.field, a);
    assert_int_equal(seen.version, i < 300 ? 0 : 1);
    assert_int_equal(launch_reads(l, a, i).version, i < 300 ? 0 : 1);
    assert_int_equal(launch_reads(l, a, i + 1).version, i < 300 ? 1 : 2);
  }
}
