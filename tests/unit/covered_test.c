/* tests/unit/covered_test.c: covered_holds against a look at every point, for random small boxes under all outside
 * rules; and its text form. */
#include "tests/unit/execution.h"

/* A number below n of a fixed sequence. */
static int64_t pick(uint64_t *seed, int64_t n) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int64_t)(*seed >> 33) % n;
}

/* A box of `rank` dimensions within -3 .. 8, sometimes empty. */
static Box some_box(uint64_t *seed, int rank) {
  Box b = {.rank = rank};
  for (int d = 0; d < rank; d++) {
    int64_t lo = pick(seed, 8) - 3;
    b.lo[d] = affine_const(lo);
    b.hi[d] = affine_const(lo + pick(seed, 6) - (pick(seed, 12) == 0));
  }
  return b;
}

/* Is the point in the box of constants? */
static bool is_in(const Box *b, const int64_t *p) {
  for (int d = 0; d < b->rank; d++)
    if (p[d] < b->lo[d].c || p[d] > b->hi[d].c)
      return false;
  return true;
}

/* Is the point p, brought in by the rule, in some box? */
static bool is_held(const Covered *c, const int64_t *p) {
  int64_t q[MAX_RANK];
  for (int d = 0; d < c->need.rank; d++) {
    bool beyond = p[d] < c->within.lo[d].c || p[d] > c->within.hi[d].c;
    Opcode map = outside_map(c->rule[d]);
    if (c->rule[d] == OUTSIDE_CONST && beyond)
      return true;
    q[d] = map == OP_COUNT ? p[d] : eval_map(map, p[d], c->within.lo[d].c, c->within.hi[d].c);
  }
  for (int i = 0; i < c->n; i++)
    if (is_in(&c->by[i], q))
      return true;
  return false;
}

/* The answer by looking at every point. */
static bool by_points(const Covered *c) {
  int64_t p[MAX_RANK] = {0};
  for (p[0] = -4; p[0] < 15; p[0]++)
    for (p[1] = -4; p[1] < (c->need.rank > 1 ? 15 : -3); p[1]++)
      for (p[2] = -4; p[2] < (c->need.rank > 2 ? 15 : -3); p[2]++)
        if (is_in(&c->need, p) && !is_held(c, p))
          return false;
  return true;
}

static bool has_points(const Box *b) {
  for (int d = 0; d < b->rank; d++)
    if (b->hi[d].c < b->lo[d].c)
      return false;
  return true;
}

/* 4,000 cases of each rule and rank; both answers come often enough, and a missing point is one. */
WORLD_TEST(test_points) {
  uint64_t seed = 1;
  for (int rank = 1; rank <= 3; rank++)
    for (int rule = OUTSIDE_NONE; rule < OUTSIDE_RULES; rule++) {
      int yes = 0;
      for (int i = 0; i < 4000; i++) {
        Box by[12];
        Covered c = {.need = some_box(&seed, rank), .within = some_box(&seed, rank), .by = by};
        for (int d = 0; d < rank; d++)
          c.rule[d] = d && rule ? (OutsideRule)(1 + pick(&seed, OUTSIDE_RULES - 1)) : (OutsideRule)rule;
        c.n = 1 + (int32_t)pick(&seed, 4 * rank);
        for (int k = 0; k < c.n; k++)
          by[k] = some_box(&seed, rank);
        if (!has_points(&c.within))
          continue;
        int64_t missing[MAX_RANK] = {0};
        int got = covered_holds(&c, NULL, missing);
        if (got != by_points(&c))
          fail_msg("outside %s: covered_holds says %d, going through the points %d", outside_name(c.rule[0]), got,
                   !got);
        yes += got;
        for (int k = 0; k < c.n && !got; k++)
          assert_false(is_in(&by[k], missing));
      }
      assert_in_range(yes, 200, 3900);
    }
}

/* What is printed parses again, and is honoured at launch. */
WORLD_TEST(test_text) {
  const char *check = "check covered [K .. K + 2] outside periodic in [0 .. N - 1] by [0 .. 1] [N - 2 .. N - 1] unless "
                      "empty [1 .. N - 8] \"T is read\"";
  const char *text =
      arena_printf(w->arena,
                   "stencil module \"t\" {\n  param @N : i64\n  param @K : i64\n  grid [0 .. N - 1] steps "
                   "1\n  field @A : f32 on [0 .. N - 1]\n  %s\n}\n",
                   check);
  Module *m = load(w, text, 2, (Define[]){{"N", "10"}, {"K", "8"}});
  assert_non_null(strstr(module_print(m), check));
  assert_true(module_bind(m, 2, (Define[]){{"N", "7"}, {"K", "2"}}, w->scalars, w->diags));
  assert_false(module_bind(m, 2, (Define[]){{"N", "10"}, {"K", "7"}}, w->scalars, w->diags));
  assert_message(w, "6: T is read, not at [7] (with N = 10, K = 7)");
  assert_false(module_bind(m, 2, (Define[]){{"N", "10"}, {"K", "4611686018427387904"}}, w->scalars, w->diags));
  assert_message(w, "6: T is read (with N = 10, K = 4611686018427387904)");
}
