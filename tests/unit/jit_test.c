/* jit_test.c: code for this CPU against eval_op: every op on every type, with edge values, in loops that are
 * vectorised and in loops that are not. */
#include "backend/backend.h"
#include "execution.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Operand values tried for each type; all pairs are made of them. */
enum { NVALUES = 26, NPAIRS = NVALUES * NVALUES };

static const double real_values[NVALUES] = {0.0,   -0.0,   1.0,      -1.0,    0.5,      -0.75,     2.0,  3.0,   -7.0,
                                            10.0,  1e-3,   -1e-5,    100.25,  -1234.5,  65504.0,   1e10, -1e20, 3e38,
                                            1e-40, -1e-42, 4.9e-324, 1.7e308, INFINITY, -INFINITY, NAN,  0.1};
static const int64_t int_values[NVALUES] = {0,
                                            1,
                                            -1,
                                            2,
                                            -2,
                                            3,
                                            -3,
                                            7,
                                            10,
                                            63,
                                            64,
                                            100,
                                            -100,
                                            127,
                                            -128,
                                            255,
                                            32767,
                                            -32768,
                                            65535,
                                            INT32_MAX,
                                            INT32_MIN,
                                            1000000007,
                                            INT64_MAX,
                                            INT64_MIN,
                                            INT64_C(1) << 40,
                                            -(INT64_C(1) << 53) - 1};

/* Value number `i` as a constant of type `t`. */
static Const value_of(Type t, int i) {
  return type_is_float(t) ? const_convert((Const){.f = real_values[i]}, TY_F64, t)
                          : const_convert((Const){.i = int_values[i]}, TY_I64, t);
}

/* Writes `c` of type `t` to `p`. */
static void put(void *p, Type t, Const c) {
  float f = (float)c.f;
  switch (t) {
  case TY_BOOL:
  case TY_U8:
  case TY_I8: *(int8_t *)p = (int8_t)c.i; break;
  case TY_U16:
  case TY_I16: *(int16_t *)p = (int16_t)c.i; break;
  case TY_U32:
  case TY_I32: *(int32_t *)p = (int32_t)c.i; break;
  case TY_I64: *(int64_t *)p = c.i; break;
  case TY_F32: memcpy(p, &f, 4); break;
  case TY_F64: memcpy(p, &c.f, 8); break;
  default: fail_msg("type %s is not tested", type_name(t));
  }
}

/* The constant of type `t` at `p`. */
static Const get(const void *p, Type t) {
  float f;
  Const c = {0};
  switch (t) {
  case TY_BOOL:
  case TY_I8: c.i = *(const int8_t *)p; break;
  case TY_U8: c.i = *(const uint8_t *)p; break;
  case TY_U16: c.i = *(const uint16_t *)p; break;
  case TY_I16: c.i = *(const int16_t *)p; break;
  case TY_U32: c.i = *(const uint32_t *)p; break;
  case TY_I32: c.i = *(const int32_t *)p; break;
  case TY_I64: c.i = *(const int64_t *)p; break;
  case TY_F32:
    memcpy(&f, p, 4);
    c.f = f;
    break;
  default: memcpy(&c.f, p, 8); break;
  }
  return c;
}

/* A module with one kernel that applies `op` to a, b, c of type `t`, point by point. `how` is put after the loop's
 * step. */
static char *one_op_text(Arena *a, const char *op, Type t, Type result, int n, const char *how) {
  Str s = {.arena = a};
  const char *tn = type_name(t), *rn = type_name(result);
  bool select = strcmp(op, "select") == 0;
  str_addf(&s, "kernel module \"one\" {\n  grid [0 .. %d] steps 1\n", NPAIRS - 1);
  for (int i = 0; i < n; i++)
    str_addf(&s, "  field @%c : %s on [0 .. %d] input\n", "ABC"[i], select && i == 0 ? "bool" : tn, NPAIRS - 1);
  str_addf(&s, "  field @R : %s on [0 .. %d]\n", rn, NPAIRS - 1);
  for (int i = 0; i < n; i++)
    str_addf(&s, "  buffer @%c : @%c copy 0\n", "ABC"[i], "ABC"[i]);
  str_addf(&s, "  buffer @R : @R copy 0\n  kernel @k threads [1] covers [%d] by [%d] steps 1 {\n    args (", NPAIRS,
           NPAIRS);
  for (int i = 0; i < n; i++)
    str_addf(&s, "reads @%c, ", "ABC"[i]);
  str_addf(&s,
           "writes @R)\n    %%lo = const 0 : i64\n    %%hi = const %d : i64\n    for %%i = %%lo to %%hi step 1%s {\n",
           NPAIRS, how);
  for (int i = 0; i < n; i++)
    str_addf(&s, "      %%%c = load @%c[%%i] : %s\n", "abc"[i], "ABC"[i], select && i == 0 ? "bool" : tn);
  str_addf(&s,
           "      %%r = %s %%a%s%s : %s\n      store %%r, @R[%%i]\n    }\n  }\n  host {\n    init {\n    }\n    steps "
           "1 {\n      launch @k\n    }\n  }\n}\n",
           op, n > 1 ? ", %b" : "", n > 2 ? ", %c" : "", rn);
  return s.s;
}

/* Distance of two floats in units in the last place of type `t`; 0 if both are NaN, huge if one is. */
static double ulps(Const x, Const y, Type t) {
  if (isnan(x.f) || isnan(y.f))
    return isnan(x.f) && isnan(y.f) ? 0 : 1e30;
  if (x.f == y.f)
    return 0;
  if (isinf(x.f) || isinf(y.f))
    return 1e30;
  int exponent;
  frexp(y.f, &exponent);
  int digits = t == TY_F32 ? FLT_MANT_DIG : DBL_MANT_DIG, lowest = t == TY_F32 ? FLT_MIN_EXP : DBL_MIN_EXP;
  return fabs(x.f - y.f) / ldexp(1, (exponent > lowest ? exponent : lowest) - digits);
}

/* Is the op rounded correctly by everybody? Otherwise 4 units in the last place are allowed. */
static bool exact(Opcode code) { return !(op_info[code].flags & OPF_INEXACT); }

/* Result `got` is what eval_op says, for the operands `x`. */
static void check_value(const Op *op, Type result, const Const *x, Const got, const char *how) {
  Const want = eval_op(op, x);
  Type t = op->operands[0]->type;
  bool ok;
  if (!type_is_float(result))
    ok = want.i == got.i;
  else if (exact(op->code))
    ok = const_same(want, got, result) || (isnan(want.f) && isnan(got.f));
  else
    ok = ulps(got, want, result) <= 4;
  if (!ok && type_is_float(t))
    fail_msg("%s %s%s (%a, %a, %a): %a, expected %a (as integers %lld, %lld)", op_info[op->code].name, type_name(t),
             how, x[0].f, x[1].f, x[2].f, got.f, want.f, (long long)got.i, (long long)want.i);
  if (!ok)
    fail_msg("%s %s%s (%lld, %lld, %lld): %lld, expected %lld (as floats %a, %a)", op_info[op->code].name, type_name(t),
             how, (long long)x[0].i, (long long)x[1].i, (long long)x[2].i, (long long)got.i, (long long)want.i, got.f,
             want.f);
}

/* The kernel's op numbered `code` in the loop of module `m`. */
static const Op *find_op(const Module *m, Opcode code) {
  const Op *loop = m->kernels[0].body->first;
  while (loop->code != OP_FOR)
    loop = loop->next;
  const Op *op = loop->blocks[0]->first;
  while (op->code != code)
    op = op->next;
  return op;
}

/* Fills operand arrays with all pairs of values, the third operand with a mixture. */
static void fill(Op const *op, char *const *arrays) {
  for (int i = 0; i < NPAIRS; i++) {
    int pick[3] = {i % NVALUES, i / NVALUES, (i * 7 + i / NVALUES) % NVALUES};
    for (int j = 0; j < op->noperands; j++) {
      Type t = op->operands[j]->type;
      put(arrays[j] + (size_t)i * (size_t)type_size(t), t, value_of(t, pick[j]));
    }
  }
}

/* Compiles and runs `op` of type `t` giving `result`, and compares all values. */
static void try_op(World *w, const Target *target, Opcode code, Type t, Type result, int n, const char *how) {
  CodegenOptions o = {.opt_level = 3};
  Module *m = module_parse(w->arena, w->diags, "one.kir", one_op_text(w->arena, op_info[code].name, t, result, n, how));
  if (!m)
    fail_msg("%s", w->messages.s);
  const Op *op = find_op(m, code);
  char *arrays[4];
  void *args[4];
  int64_t block[1] = {0};
  for (int j = 0; j < 4; j++)
    arrays[j] = arena_alloc(w->arena, NPAIRS * 8);
  fill(op, arrays);
  Jit *j = jit_new(w->arena, w->diags, m, target, &o);
  if (!j)
    fail_msg("%s", w->messages.s);
  for (int i = 0; i < n; i++)
    args[i] = &arrays[i];
  args[n] = &arrays[3];
  jit_find(j, "k")(args, block, NULL);
  jit_free(j);
  for (int i = 0; i < NPAIRS; i++) {
    Const x[3] = {{0}, {0}, {0}};
    for (int p = 0; p < n; p++)
      x[p] = get(arrays[p] + (size_t)i * (size_t)type_size(op->operands[p]->type), op->operands[p]->type);
    check_value(op, result, x, get(arrays[3] + (size_t)i * (size_t)type_size(result), result), how);
  }
}

static const char *const loops[] = {"", " parallel"};

/* Which of the things to try are tried: all, but every second one under the sanitizers, which LLVM, most of the time,
 * is not compiled with. */
static bool is_tried(int number) {
#ifdef __SANITIZE_ADDRESS__
  return number % 2 == 0;
#else
  return (void)number, true;
#endif
}

/* Op `code` on the types, results of `result` (TY_NONE: the operands' type). */
static void try_types(World *w, Opcode code, const Type *types, int ntypes, Type result) {
  const Target *target = target_find(w->arena, w->diags, "host", NULL);
  for (int i = 0; i < ntypes; i++)
    for (int l = 0; l < 2; l++)
      if (is_tried((int)code + (int)result + i + l))
        try_op(w, target, code, types[i], result ? result : types[i], op_info[code].noperands, loops[l]);
}

/* All ops of both levels whose operands are of that class, and whose results are bool or not, on the types; and how
 * many there were. */
static void try_class(World *w, OpOperands class, bool compares, const Type *types, int ntypes) {
  int n = 0;
  for (int code = 0; code < OP_COUNT; code++) {
    const OpInfo *info = &op_info[code];
    if (info->level == LEVEL_BOTH && info->operands == class && (info->result == RESULT_BOOL) == compares) {
      try_types(w, (Opcode)code, types, ntypes, compares ? TY_BOOL : TY_NONE);
      n++;
    }
  }
  assert_true(n >= 2);
}

static const Type numbers[] = {TY_F32, TY_F64, TY_I8, TY_I16, TY_I32, TY_I64, TY_U8, TY_U16, TY_U32},
                  integers[] = {TY_I8, TY_I16, TY_I32, TY_I64, TY_U8, TY_U16, TY_U32}, floats[] = {TY_F32, TY_F64},
                  truth[] = {TY_BOOL};

WORLD_TEST(arithmetic) { try_class(w, OPERANDS_NUMBERS, false, numbers, 9); }
WORLD_TEST(bits) { try_class(w, OPERANDS_INTEGERS, false, integers, 7); }
WORLD_TEST(mathematics) { try_class(w, OPERANDS_FLOATS, false, floats, 2); }
WORLD_TEST(order) { try_class(w, OPERANDS_NUMBERS, true, numbers, 9); }
WORLD_TEST(equality) { try_class(w, OPERANDS_ALIKE, true, numbers, 9); }
WORLD_TEST(logic) { try_class(w, OPERANDS_BOOLS, true, truth, 1); }
WORLD_TEST(selection) { try_types(w, OP_SELECT, numbers, 9, TY_NONE); }

WORLD_TEST(conversion) {
  static const Type types[] = {TY_F32, TY_F64, TY_I8, TY_I16, TY_I32, TY_I64, TY_BOOL, TY_U8, TY_U16, TY_U32};
  for (int i = 0; i < 10; i++)
    try_types(w, OP_CONVERT, types, 10, types[i]);
}

/* A box of coordinates and a constant offset for idx.*. */
typedef struct MapCase {
  int64_t lo, hi, off;
} MapCase;

/* A module whose kernel stores idx op `op` of the loop's value, of type `type`, at every point; the box is [P .. Q]
 * with params, or constant. */
static char *map_text(Arena *a, const char *op, const char *type, MapCase c, bool params) {
  Str s = {.arena = a};
  str_addf(&s, "kernel module \"map\" {\n");
  if (params)
    str_addf(&s,
             "  param @P : i64 = { %%n = const %lld : i64 yield %%n }\n  param @Q : i64 = { %%n = const %lld : i64 "
             "yield %%n }\n",
             (long long)c.lo, (long long)c.hi);
  str_addf(&s,
           "  grid [-200 .. 200] steps 1\n  field @R : %s on [-200 .. 200]\n  buffer @R : @R copy 0\n  kernel @k "
           "threads [1] covers [401] by [401] steps 1 {\n",
           type);
  str_addf(&s,
           "    args (writes @R%s)\n    %%lo = const -200 : %s\n    %%hi = const 201 : %s\n    for %%i = %%lo to %%hi "
           "step 1 {\n",
           params ? ", scalar @P, scalar @Q" : "", type, type);
  if (params)
    str_addf(&s, "      %%m = %s %%i + %lld in [P .. Q] : %s\n", op, (long long)c.off, type);
  else
    str_addf(&s, "      %%m = %s %%i + %lld in [%lld .. %lld] : %s\n", op, (long long)c.off, (long long)c.lo,
             (long long)c.hi, type);
  str_addf(&s, "      %%g = convert %%i : i64\n      store %%m, @R[%%g]\n    }\n  }\n  host {\n    init {\n    }\n    "
               "steps 1 {\n      launch @k\n    }\n  }\n}\n");
  return s.s;
}

/* Compiles and runs one case of `code` and compares it with eval_map. */
static void try_map(World *w, const Target *target, Opcode code, Type t, MapCase c, bool params) {
  CodegenOptions o = {.opt_level = 3};
  int64_t cells[401], *r = cells, block[1] = {0};
  void *args[] = {&r, &c.lo, &c.hi};
  Module *m =
      module_parse(w->arena, w->diags, "map.kir", map_text(w->arena, op_info[code].name, type_name(t), c, params));
  Jit *j = m ? jit_new(w->arena, w->diags, m, target, &o) : NULL;
  if (!j)
    fail_msg("%s", w->messages.s);
  jit_find(j, "k")(args, block, NULL);
  jit_free(j);
  for (int64_t i = 0; i < 401; i++) {
    int64_t got = t == TY_I64 ? cells[i] : ((const int32_t *)(const void *)cells)[i],
            want = eval_map(code, i - 200 + c.off, c.lo, c.hi);
    if (got != want)
      fail_msg("%s %lld + %lld in [%lld .. %lld]: %lld, expected %lld", op_info[code].name, (long long)(i - 200),
               (long long)c.off, (long long)c.lo, (long long)c.hi, (long long)got, (long long)want);
  }
}

WORLD_TEST(coordinates) {
  static const MapCase cases[] = {{0, 9, 0}, {-5, 9, 3}, {7, 7, -1},     {3, 2, 0},
                                  {3, 1, 5}, {0, 1, -2}, {-400, 400, 7}, {100, 150, 1000003}};
  static const Opcode codes[] = {OP_CLAMP,       OP_MIRROR,       OP_WRAP,       OP_GUARD,
                                 OP_HALF,        OP_CLAMP_MIRROR, OP_CLAMP_HALF, OP_MIRROR_CLAMP,
                                 OP_MIRROR_HALF, OP_HALF_CLAMP,   OP_HALF_MIRROR};
  static const Type types[] = {TY_I64, TY_I32};
  const Target *target = target_find(w->arena, w->diags, "host", NULL);
  for (size_t o = 0; o < sizeof codes / sizeof *codes; o++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
      for (int v = 0; v < 4; v++)
        if (is_tried((int)(o + i) + v / 2 + v))
          try_map(w, target, codes[o], types[v & 1], cases[i], v >> 1);
}

/* A store whose `find` reports an error to `reported_to`, if that is there, as LLVM may while it writes code; kept: the
 * objects that were to be kept. */
static Diags *reported_to;
static int kept;
static void no_key(const char *id, const char *ir, size_t n, CodeKey *key) {
  (void)id, (void)ir, (void)n;
  *key = (CodeKey){{0}};
}
static bool find_none(Arena *a, const CodeKey *key, char **bytes, size_t *size) {
  (void)a, (void)key, (void)bytes, (void)size;
  if (reported_to)
    diag_error(reported_to, no_loc(), "LLVM: no such register");
  return false;
}
static void count_kept(const CodeKey *key, const char *bytes, size_t size) {
  (void)key, (void)bytes, (void)size;
  kept++;
}

/* An object is kept, but not one of which an error was reported: the next run would take it for a good one. */
WORLD_TEST(keeping) {
  static const CodeStore store = {no_key, find_none, count_kept};
  Module *m = load(w, one_op_text(w->arena, "add", TY_F32, TY_F32, 2, ""), 0, NULL);
  const Target *t = target_find(w->arena, w->diags, "host", NULL);
  CodegenOptions o = {.opt_level = 1, .store = &store};
  char *bytes;
  size_t size;
  kept = 0;
  assert_true(codegen(w->arena, w->diags, m, t, EMIT_OBJ, &o, &bytes, &size) && kept == 1);
  reported_to = w->diags;
  assert_false(codegen(w->arena, w->diags, m, t, EMIT_OBJ, &o, &bytes, &size));
  assert_int_equal(kept, 1);
  reported_to = NULL;
}
