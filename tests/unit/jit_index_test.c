/* jit_index_test.c: coordinates in code for this CPU: inside and idx.* against eval_map, with constant and
 * launch-time boxes, empty ones and single points among
 * them, far coordinates, 32 and 64 bit. */
#include "backend/backend.h"
#include "execution.h"

/* Coordinates tried. */
enum { NPOINTS = 300 };

/* Coordinate number `i`: about zero, and some far ones. */
static int64_t coordinate(int i) {
  static const int64_t far[] = {1000,
                                -1000,
                                65535,
                                1000003,
                                -1000003,
                                INT32_MAX - 10,
                                INT32_MIN + 10,
                                INT64_C(1) << 40,
                                -(INT64_C(1) << 40),
                                (INT64_C(1) << 50) + 3};
  return i < 10 ? far[i] : i - 155;
}

static const Opcode maps[] = {OP_CLAMP, OP_MIRROR, OP_WRAP, OP_GUARD};

/* A kernel that applies op `code` (an idx op, for the first of `by` elements if that is not 0, or inside) with offset
 * `off` to all coordinates, converted to `type`; the box is lo .. hi, as constants or, if `launch`, as scalars. */
static char *index_text(Arena *a, Opcode code, int by, const char *type, int64_t off, int64_t lo, int64_t hi,
                        bool launch) {
  Str s = {.arena = a};
  char *box = launch ? "LO .. HI" : arena_printf(a, "%lld .. %lld", (long long)lo, (long long)hi);
  str_addf(&s, "kernel module \"one\" {\n  param @LO : i64 = { %%l = const %lld : i64 yield %%l }\n", (long long)lo);
  str_addf(&s, "  param @HI : i64 = { %%h = const %lld : i64 yield %%h }\n  grid [0 .. %d] steps 1\n", (long long)hi,
           NPOINTS - 1);
  str_addf(&s,
           "  field @X : i64 on [0 .. %d] input\n  field @R : i64 on [0 .. %d]\n  buffer @X : @X copy 0\n  buffer @R : "
           "@R copy 0\n",
           NPOINTS - 1, NPOINTS - 1);
  str_addf(&s, "  kernel @k threads [1] covers [%d] by [%d] steps 1 {\n    args (reads @X, writes @R%s)\n", NPOINTS,
           NPOINTS, launch ? ", scalar @LO, scalar @HI" : "");
  str_addf(&s,
           "    %%a = const 0 : i64\n    %%b = const %d : i64\n    for %%i = %%a to %%b step 1 parallel {\n      %%w = "
           "load @X[%%i] : i64\n",
           NPOINTS);
  str_addf(&s, "      %%x = convert %%w : %s\n", type);
  if (code == OP_INSIDE)
    str_addf(&s, "      %%r = inside %%x in [%s] : bool\n", box);
  else
    str_addf(&s, "      %%r = %s %%x + %lld in [%s]%s : %s\n", op_info[code].name, (long long)off, box,
             by ? arena_printf(a, " by %d", by) : "", type);
  str_add(&s, "      %v = convert %r : i64\n      store %v, @R[%i]\n    }\n  }\n  host {\n    init {\n    }\n    steps "
              "1 {\n      launch @k\n    }\n  }\n}\n");
  return s.s;
}

/* What index_text's kernel must give for coordinate `x`, if that is a multiple of `by` from lo or outside. */
static int64_t expected(Opcode code, int by, bool narrow, int64_t x, int64_t off, int64_t lo, int64_t hi) {
  x = narrow ? (int32_t)x : x;
  if (code == OP_INSIDE)
    return lo <= x && x <= hi;
  return eval_map(code, x + off, lo, by && lo <= hi ? eval_last(lo, hi, by) : hi);
}

/* Compiles and runs one kernel and compares all its results. */
static void try_index(World *w, const Target *target, Opcode code, int by, bool narrow, int64_t off, int64_t lo,
                      int64_t hi, bool launch) {
  CodegenOptions o = {.opt_level = 1};
  char *text = index_text(w->arena, code, by, narrow ? "i32" : "i64", off, lo, hi, launch);
  Module *m = module_parse(w->arena, w->diags, "index.kir", text);
  Jit *j = m ? jit_new(w->arena, w->diags, m, target, &o) : NULL;
  int64_t x[NPOINTS], r[NPOINTS], *px = x, *pr = r, block[1] = {0};
  void *args[] = {&px, &pr, &lo, &hi};
  if (!j)
    fail_msg("%s%s", text, w->messages.s);
  for (int i = 0; i < NPOINTS; i++)
    x[i] = coordinate(i);
  jit_find(j, "k")(args, block, NULL);
  jit_free(j);
  for (int i = 0; i < NPOINTS; i++) {
    int64_t want = expected(code, by, narrow, x[i], off, lo, hi);
    if (r[i] != want)
      fail_msg("%s %s %lld + %lld in [%lld .. %lld]%s: %lld, expected %lld", op_info[code].name, narrow ? "i32" : "i64",
               (long long)x[i], (long long)off, (long long)lo, (long long)hi, launch ? " at launch" : "",
               (long long)r[i], (long long)want);
  }
}

/* Op `code` on boxes of several extents, 1 and 0 points among them. */
static void try_boxes(World *w, Opcode code, int by) {
  static const int64_t boxes[][2] = {{0, 9}, {-3, 3}, {5, 5}, {7, 6}, {0, -5}, {2, 3}, {-1000, 70000}};
  const Target *target = target_find(w->arena, w->diags, "host", NULL);
  for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
    for (int variant = 0; variant < 4; variant++)
      try_index(w, target, code, by, variant & 1, code == OP_INSIDE ? 0 : (int64_t)i * 3 - 7, boxes[i][0], boxes[i][1],
                variant & 2);
}

WORLD_TEST(inside) { try_boxes(w, OP_INSIDE, 0); }

WORLD_TEST(mapped) {
  for (int i = 0; i < 4; i++)
    try_boxes(w, maps[i], 0);
  try_boxes(w, OP_GUARD, 2);
  try_boxes(w, OP_GUARD, 4);
}
