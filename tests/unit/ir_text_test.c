/* ir_text_test.c: the text form: what is printed parses back, constants bit for bit, malformed text gives its error
 * at its place (ir/text/print.c read.c
 * parse.c). */
#include "tests/unit/ir_testing.h"

#include <locale.h>

/* All that a stencil module can hold. */
static const char *const STENCILS =
    "stencil module \"all \\\"things\\\" \\x0a\" {\n"
    "  contract\n"
    "  fast_math\n"
    "  param @N : i64 = {\n    %0 = const 4096 : i64\n    yield %0\n  }\n"
    "  param @\"odd name\" : i32\n"
    "  let @dx : f32 = {\n    %0 = const 1.0 : f32\n    %1 = scalar @N : i64\n    %2 = convert %1 : f32\n    %3 = div "
    "%0, %2 : f32\n    yield %3\n  }\n"
    "  reduction @total : f64\n"
    "  reduction @last : i64\n"
    "  reduction @\"finite A\" : i64\n"
    "  reduction @bad : i64\n"
    "  grid [0 .. N - 1, -3 .. -2 * N + @\"odd name\" + 3] steps 64\n"
    "  struct S { a : f32, b : i8[3], c : bf16[2][3] }\n"
    "  struct T { s : S[2] }\n"
    "  param_array @w[2 * N - 1] : f32\n"
    "  param_array @\"odd array\"[4] : i64\n"
    "  field @A : f32 on [0 .. N - 1, -3 .. -N] outside clamp\n"
    "  field @B : f64 on [0 .. N - 1, 7 .. 7] outside const -0.0 input\n"
    "  field @C.x : bool on [0 .. N - 1, 7 .. 7] outside const true history 1\n"
    "  field @\"C.x@1\" : bool on [0 .. N - 1, 7 .. 7] outside const true past 1 of @C.x\n"
    "  field @D : i8 on [0 .. N - 1, 7 .. 7] outside mirror\n"
    "  field @E : i8 on [0 .. N - 1, 7 .. 7] outside periodic\n"
    "  field @S : S on [0 .. N - 1, 7 .. 7] outside const 0.5\n"
    "  field @v : f32[3][2] on [0 .. N - 1, 7 .. 7] temp\n"
    "  field @R.x : f32 on [0 .. N - 1, 7 .. 7]\n"
    "  field @R.y : f32 on [0 .. N - 1, 7 .. 7]\n"
    "  record @R : f32[2] from @R.x\n"
    "  check N - 3 >= 0 \"N must be at least 3\"\n"
    "  check N - 9223372036854775808 >= 0 unless empty [1 .. N - 2] unless empty [N .. N, 0 .. 1] \"\"\n"
    "  time_tile 3\n"
    "  init @z (@A) {\n"
    "    piece [0 .. N - 1, -3 .. -N] (@A) {\n"
    "      %0 = index 0 : i64\n"
    "      %1 = convert %0 : f32\n"
    "      yield %1\n"
    "    }\n"
    "  }\n"
    "  stencil @relax (@A, @D) level 2 extent [-2 .. 3, 1 .. -4] {\n"
    "    piece [1 .. N - 2, 0 .. 1] (@A) {\n"
    "      %0 = access @A[-1, 0] : f32\n"
    "      %1 = access @\"C.x@1\"[0, 0] : bool\n"
    "      %2 = step : i64\n"
    "      %3 = scalar @dx : f32\n"
    "      %4 = select %1, %0, %3 : f32\n"
    "      yield %4\n"
    "    }\n"
    "    piece [0 .. 0, 0 .. 1] () {\n"
    "      yield\n"
    "    }\n"
    "  }\n"
    "  stencil @parts (@S, @v) level 2 group 1 {\n"
    "    piece [0 .. N - 1, 7 .. 7] (@S, @v) {\n"
    "      %0 = access @S[0, 1] : S\n"
    "      %1 = access @v[0, 0] : f32[3][2]\n"
    "      %2 = extract %1, 1 : f32[3]\n"
    "      %3 = construct %2, %2 : f32[3][2]\n"
    "      %4 = index 0 : i64\n"
    "      %5 = element @w[%4] : f32\n"
    "      %6 = element @\"odd array\"[%4] : i64\n"
    "      yield %0, %3\n"
    "    }\n"
    "  }\n"
    "  reduce @total = add f64 over [0 .. N - 1, 7 .. 7] every 100 {\n"
    "    %0 = access @R.x[0, 0] : f32\n"
    "    %1 = convert %0 : f64\n"
    "    yield %1\n"
    "  }\n"
    "  reduce @last = max i64 over [0 .. N - 1, 7 .. 7] every 1 until {\n"
    "    %0 = index 0 : i64\n"
    "    yield %0\n"
    "  }\n"
    "  stop {\n"
    "    %0 = scalar @total : f64\n"
    "    %1 = const 0.5 : f64\n"
    "    %2 = lt %0, %1 : bool\n"
    "    yield %2\n"
    "  }\n"
    "  reduce @\"finite A\" = min i64 over [0 .. 0, 0 .. 0] every 4 finite @A {\n"
    "    %0 = index 0 : i64\n"
    "    yield %0\n"
    "  }\n"
    "  reduce @bad = mul i64 over [0 .. 0, 0 .. 0] every 4 bounds @R.x {\n"
    "    %0 = index 0 : i64\n"
    "    yield %0\n"
    "  }\n"
    "}\n";

/* All that a kernel module can hold. */
static const char *const KERNELS = "kernel module \"heat\" {\n"
                                   "  param @N : i64\n"
                                   "  reduction @r : f64\n"
                                   "  grid [0 .. N - 1] steps 64\n"
                                   "  param_array @w[N] : f32\n"
                                   "  field @A : f32 on [0 .. N - 1] outside clamp\n"
                                   "  field @In : f32 on [0 .. N - 1] input\n"
                                   "  record @odd : f32[1] from @In\n"
                                   "  buffer @A : @A copy 0\n"
                                   "  buffer @A.next : @A copy 1\n"
                                   "  buffer @In : @In copy 0\n"
                                   "  buffer @w param @w\n"
                                   "  buffer @partial scratch f64[1024]\n"
                                   "  kernel @z threads [1] covers [N] by [1] steps 0 {\n"
                                   "    args (writes @In, reads @w, writes @partial, scalar @N)\n"
                                   "    %0 = block 0 : i64\n"
                                   "    %1 = load @w[%0] + [1] around : f32\n"
                                   "    %2 = shuffle %1 xor 16 : f32\n"
                                   "    store %2, @In[%0]\n"
                                   "    %3 = convert %1 : f64\n"
                                   "    store %3, @partial[%0]\n"
                                   "  }\n"
                                   "  kernel @k threads [32] covers [N + 2] by [24] steps 4 {\n"
                                   "    args (reads writes @A, writes @A.next, buffer @In, scalar @N, step)\n"
                                   "    shared @s : f32[40] pad [1 .. 2] in @t\n"
                                   "    shared @t : f32[44]\n"
                                   "    private @r : f32[2, 1, 7]\n"
                                   "    %0 = step : i64\n"
                                   "    %1 = thread 0 : i32\n"
                                   "    %2 = inside %0 in [0 .. N - 1] : bool\n"
                                   "    %3 = idx.clamp %0 + -1 in [0 .. N - 1] : i64\n"
                                   "    %4 = idx.mirror %3 in [0 .. N - 1] : i64\n"
                                   "    %5 = idx.wrap %1 + 9223 in [-5 .. 7] : i32\n"
                                   "    %6 = load @A[%3] + [3] : f32\n"
                                   "    store %6, @A[%4] + [-3]\n"
                                   "    astore %6, @s[%1] + [1] v0\n"
                                   "    barrier\n"
                                   "    barrier.neighbours\n"
                                   "    %7 = aload @s[%5] v12 : f32\n"
                                   "    %8 = const -2147483648 : i32\n"
                                   "    %9, %10 = for %11 = %8 to %1 step 1 unroll parallel with %12 = %7, %13 = %0 {\n"
                                   "      %14 = add %12, %6 : f32\n"
                                   "      astore %14, @r[%11, %11, %11] + [0, 0, 1] v1\n"
                                   "      yield %14, %13\n"
                                   "    }\n"
                                   "    %15, %16 = if %2 : f32, i64 {\n"
                                   "      yield %9, %10\n"
                                   "    } else {\n"
                                   "      yield %7, %0\n"
                                   "    }\n"
                                   "    if %2 interior {\n"
                                   "      store %15, @A.next[%16]\n"
                                   "    } else {\n"
                                   "    }\n"
                                   "    for %17 = %8 to %1 step 64 parallel {\n"
                                   "    }\n"
                                   "    for %18 = %8 to %1 step 1 parts 9 {\n"
                                   "      for %19 = %8 to %18 step 2 edges {\n"
                                   "      }\n"
                                   "      for %20 = %18 to %1 step 2 unroll middle {\n"
                                   "      }\n"
                                   "    }\n"
                                   "  }\n"
                                   "  reduce @r = add f64 over [0 .. N - 1] every 100 until in @partial {\n"
                                   "    launch @z\n"
                                   "  }\n"
                                   "  stop {\n"
                                   "    %0 = const true : bool\n"
                                   "    yield %0\n"
                                   "  }\n"
                                   "  host {\n"
                                   "    init {\n"
                                   "      launch @z\n"
                                   "    }\n"
                                   "    steps 4 {\n"
                                   "      launch @k\n"
                                   "      swap @A, @A.next\n"
                                   "    }\n"
                                   "    steps 1 {\n"
                                   "    }\n"
                                   "  }\n"
                                   "}\n";

/* Parses `text`, failing the test with the messages if that fails. */
static Module *parse(Fixture *f, const char *text) {
  Module *m = module_parse(f->arena, f->diags, "t", text);
  if (!m)
    fail_msg("%s", f->messages.s);
  return m;
}

FIXTURE_TEST(test_round_trip) {
  assert_string_equal(module_print(parse(f, STENCILS)), STENCILS);
  assert_string_equal(module_print(parse(f, KERNELS)), KERNELS);
}

FIXTURE_TEST(test_other_locale) {
  if (!setlocale(LC_ALL, "de_DE.UTF-8"))
    skip();
  Str s = {.arena = f->arena};
  const_print(&s, (Const){.f = 0.5}, TY_F64);
  assert_string_equal(module_print(parse(f, STENCILS)), STENCILS);
  setlocale(LC_ALL, "C");
  assert_string_equal(s.s, "0.5");
}

FIXTURE_TEST(test_layout_is_free) {
  Str s = {.arena = f->arena};
  for (const char *c = STENCILS; *c; c++)
    str_add(&s, *c == '\n' ? " // comment { \r\n\t" : (char[]){*c, 0});
  assert_string_equal(module_print(parse(f, s.s)), STENCILS);
  Str flat = {.arena = f->arena};
  for (const char *c = KERNELS; *c; c++)
    str_add(&flat, *c == '\n' ? " " : (char[]){*c, 0});
  assert_string_equal(module_print(parse(f, flat.s)), KERNELS);
}

FIXTURE_TEST(test_locations) {
  Module *m = parse(f, STENCILS);
  const Op *op = m->stencils[0].pieces[0].body->first->next;
  assert_int_equal(op->loc.line, 49);
  assert_int_equal(op->loc.col, 7);
  assert_int_equal(m->fields[0].loc.line, 25);
}

/* ---- constants */

/* `c` printed and read back, in the text of a module. */
static Const through_text(Fixture *f, Const c, Type t) {
  Str s = {.arena = f->arena};
  str_addf(&s, "stencil module \"t\" { let @x : %s = { %%0 = const ", type_name(t));
  const_print(&s, c, t);
  str_addf(&s, " : %s yield %%0 } grid [0] steps 0 }", type_name(t));
  return parse(f, s.s)->scalars[0].expr->first->cval;
}

/* A float from its f64 bits. */
static Const from_bits(uint64_t bits) {
  Const c;
  memcpy(&c.f, &bits, sizeof bits);
  return c;
}

FIXTURE_TEST(test_const_bits) {
  uint64_t bits = 88172645463325252u;
  for (int i = 0; i < 300; i++) {
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    for (Type t = TY_F16; t <= TY_F64; t++) {
      Const c = const_convert(from_bits(i < 4 ? (uint64_t)i << 63 >> (i / 2) : bits), TY_F64, t);
      assert_true(const_same(through_text(f, c, t), c, t));
    }
  }
  const uint64_t special[] = {0,
                              0x8000000000000000,
                              0x7ff0000000000000,
                              0xfff0000000000000,
                              0x7ff8000000000000,
                              0xfff8000000000000,
                              0x7ff8000000000001,
                              0x7ff0000000000001,
                              1,
                              0x7fefffffffffffff};
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    assert_true(const_same(through_text(f, from_bits(special[i]), TY_F64), from_bits(special[i]), TY_F64));
}

FIXTURE_TEST(test_const_ints) {
  const int64_t values[] = {0, -1, 127, -128, 32767, -32768, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < 10; i++)
    for (Type t = TY_I8; t <= TY_I64; t++) {
      Const c = const_convert((Const){.i = values[i]}, TY_I64, t);
      assert_int_equal(through_text(f, c, t).i, c.i);
    }
}

FIXTURE_TEST(test_const_spelling) {
  const struct {
    double x;
    Type t;
    const char *text;
  } rows[] = {
      {0.2f, TY_F32, "0.2"},
      {0.2, TY_F64, "0.2"},
      {1, TY_F32, "1.0"},
      {-0.0, TY_F64, "-0.0"},
      {1e20, TY_F64, "1e+20"},
      {0.1 + 0.2, TY_F64, "0.30000000000000004"},
      {3.4028234663852886e38, TY_F32, "3.4028235e+38"},
      {INFINITY, TY_F32, "inf"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Str s = {.arena = f->arena};
    const_print(&s, (Const){.f = rows[i].x}, rows[i].t);
    assert_string_equal(s.s, rows[i].text);
  }
}

/* ---- errors */

/* A text and the first message it gives, from "LINE:COL: error: " on. */
typedef struct Bad {
  const char *text, *message;
} Bad;

#define DECLS "stencil module \"t\" { param @N : i64\ngrid [0 .. N - 1] steps 1\nfield @A : f32 on [0 .. N - 1]\n"
#define BODY DECLS "stencil @s (@A) { piece [0 .. N - 1] (@A) {\n"
#define KIR \
  "kernel module \"t\" { param @N : i64 grid [0 .. N - 1] steps 1 field @A : f32 on [0 .. N - 1] buffer @A : @A copy " \
  "0\n"
#define KBODY KIR "kernel @k threads [1] covers [N] by [1] steps 1 { args () shared @s : f32[4]\n"

static const Bad BAD[] = {
    {"", "1:1: error: expected 'stencil', found the end of the text"},
    {"kernel heat", "1:8: error: expected 'module', found 'heat'"},
    {"stencil module \"t", "1:16: error: this string is not closed on its line; add a '\"'"},
    {"stencil module \"\\q\" {", "1:17: error: malformed escape in a string; there are \\\", \\\\ and \\xHH"},
    {"stencil module \"t\" { }", "1:22: error: the module has no grid"},
    {"stencil module \"t\" { grid [0] steps 1",
     "1:38: error: expected a declaration or '}', found the end of the text"},
    {"stencil module \"t\" { grid [0] steps 1 } x", "1:41: error: expected nothing after the module"},
    {"stencil module \"t\" { grid [0] steps 1 kernel",
     "1:39: error: 'kernel' begins no declaration of a stencil module"},
    {"stencil module \"t\" { $", "1:22: error: '$' begins nothing that may stand in IR text"},
    {"stencil module \"t\" { \x80", "1:22: error: the byte 0x80 begins nothing that may stand in IR text"},
    {"stencil module \"t\" { param @", "1:28: error: expected a name after '@'"},
    {"stencil module \"t\" { param @\"\"", "1:28: error: a name cannot be empty"},
    {"stencil module \"t\" { param @N : real",
     "1:33: error: expected a type (bool i8 i16 i32 i64 u8 u16 u32 f16 bf16 f32 f64), found 'real'"},
    {"stencil module \"t\" { param @N : i64 param @N : i64", "1:43: error: there is already a scalar '@N'"},
    {"stencil module \"t\" { grid [0 .. M] steps 1", "1:33: error: there is no param 'M' declared before this"},
    {"stencil module \"t\" { grid [0, 0, 0, 0, 0] steps 1", "1:27: error: a box has at most 4 dimensions"},
    {"stencil module \"t\" { grid [0, 0, 0, 0] steps 1 }",
     "0:0: error: grid: rank 4, of which the first dimension must be that of members"},
    {"stencil module \"t\" { grid [9223372036854775808] steps 1",
     "1:28: error: expected an integer from 0 to 9223372036854775807, found '9223372036854775808'"},
    {"stencil module \"t\" { grid [0] steps -1",
     "1:37: error: expected an integer from 0 to 9223372036854775807, found '-1'"},
    {"stencil module \"t\" { grid [0] steps 1.5",
     "1:37: error: expected an integer from 0 to 9223372036854775807, found '1.5'"},
    {"stencil module \"t\" { grid [0] steps 1 grid [0] steps 1", "1:39: error: there is already a grid"},
    {"stencil module \"t\" { field @A : f32 on [0]", "1:40: error: the grid must be declared before this"},
    {DECLS "field @B : f32 on [0, 0]", "4:19: error: this box has 2 dimensions, the grid has 1"},
    {DECLS "field @A : f32 on [0]", "4:7: error: there is already a field '@A'"},
    {DECLS "field @B : f32 on [0] outside zero",
     "4:31: error: expected an outside rule: clamp, mirror, periodic or const VALUE"},
    {DECLS "field @B : i8 on [0] outside const 128", "4:36: error: expected an integer from -128 to 127, found '128'"},
    {DECLS "check N >= 1 \"m\"", "4:12: error: expected an integer from 0 to 0, found '1'"},
    {DECLS "stencil @s (@Q) { }", "4:13: error: there is no field '@Q' declared before this"},
    {DECLS "time_tile 1 time_tile 2", "4:13: error: there is already a time_tile"},
    {BODY "%0 = adds %1", "5:6: error: there is no op 'adds'"},
    {BODY "%0 = neg %1 : f32", "5:10: error: '%1' is not defined before this in this block or one around it"},
    {BODY "%0 = const 1 : f32 %0 = const 2 : f32",
     "5:20: error: '%0' is already defined; give this value another name"},
    {BODY "%0 = const 1 : f32 %1 = neg %0 : f64", "5:34: error: the result of 'neg' is f32 here, not f64"},
    {BODY "%0 = const 1 : f32 %1 = add %0 : f32", "5:29: error: 'add' takes 2 operands, found 1"},
    {BODY "%0, %1 = const 1 : f32", "5:10: error: 'const' gives 1 results here, but 2 are named"},
    {BODY "const 1 : f32", "5:1: error: 'const' gives 1 results here, but 0 are named"},
    {BODY "%0 = const 1e39 : f32", "5:12: error: '1e39' is malformed or too large for f32"},
    {BODY "%0 = const 1x : f32", "5:12: error: '1x' is malformed or too large for f32"},
    {BODY "%0 = const 0x7ff8000000000001 : f32",
     "5:12: error: '0x7ff8000000000001' is not the 16 hexadecimal digits of a value of type f32"},
    {BODY "%0 = const 0x7ff : f64", "5:12: error: '0x7ff' is not the 16 hexadecimal digits of a value of type f64"},
    {BODY "%0 = const infinite : f64", "5:12: error: expected a number, inf or nan, found 'infinite'"},
    {BODY "%0 = const 2 : bool", "5:12: error: expected 'false', found '2'"},
    {BODY "%0 = const 1.0 : i32", "5:12: error: expected an integer from -2147483648 to 2147483647, found '1.0'"},
    {BODY "%0 = access @A[0, 0] : f32", "5:15: error: expected 1 numbers, one for each dimension, found 2"},
    {BODY "%0 = access @A[0] 1 : f32", "5:19: error: expected ':', found '1'"},
    {BODY "%0 = load @A[%0] : f32", "5:11: error: there is no buffer '@A' declared before this"},
    {BODY "%0 = aload @s[%0] v0 : f32", "5:12: error: this kernel has no array '@s'"},
    {BODY "%0 = const true : bool if %0 { %1 = const 1 : f32 } else { %2 = neg %1 : f32 } } } }",
     "5:69: error: '%1' is not defined before this in this block or one around it"},
    {KBODY "%i = const 0 : i32 %0 = aload @s[%i] : f32", "3:38: error: expected a version (v0, v1, ...), found ':'"},
    {KBODY "%i = const 0 : i32 %0 = aload @s[%i] w1 : f32",
     "3:38: error: expected a version (v0, v1, ...), found 'w1'"},
    {KBODY "%i = const 0 : i32 for %j = %i to %i step 0 { }",
     "3:43: error: expected an integer from 1 to 9223372036854775807, found '0'"},
    {KBODY "%i = const 0 : i64 %c = inside %i in [0, 0] : bool",
     "3:32: error: 'inside' has 1 coordinates but a box of 2 dimensions"},
    {KIR "kernel @k threads [1, 1]", "2:19: error: expected 1 numbers, one for each dimension, found 2"},
    {KIR "kernel @k threads [0]", "2:20: error: expected an integer from 1 to 2147483647, found '0'"},
    {KIR "kernel @k threads [1] covers [N] by [1] steps 1 { args (@A)",
     "2:57: error: expected an argument: reads @BUFFER, writes @BUFFER, scalar @SCALAR or step"},
    {KIR "kernel @k threads [1] covers [N] by [1] steps 1 { args () shared @s : f32[4] shared @s : f32[4]",
     "2:85: error: this kernel already has an array '@s'"},
    {KIR "kernel @k threads [1] covers [N] by [1] steps 1 { args () shared @s : f32[4] in @t }",
     "2:81: error: this kernel has no array '@t'"},
    {KIR "host { init { run @k } }",
     "2:15: error: expected launch @KERNEL, swap @BUFFER, @BUFFER, repeat @LOOP or '}'"},
    {KIR "host { steps 1 { launch @k } }", "2:25: error: there is no kernel '@k' declared before this"},
    {KIR "stencil @s () { }", "2:1: error: a kernel module has no stencils"},
};

FIXTURE_TEST(test_errors) {
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    void *fresh;
    setup(&fresh);
    Fixture *f = fresh;
    Module *m = module_parse(f->arena, f->diags, "t", BAD[i].text);
    size_t n = strcspn(f->messages.s, "\n");
    if (m || n != strlen(BAD[i].message) || strncmp(f->messages.s, BAD[i].message, n))
      fail_msg("%s\n  gives     %s  and not  %s", BAD[i].text, f->messages.s, BAD[i].message);
    assert_int_equal(diags_errors(f->diags), 1);
    teardown(&fresh);
  }
}

FIXTURE_TEST(test_every_prefix) {
  const char *const texts[] = {STENCILS, KERNELS};
  for (int i = 0; i < 2; i++)
    for (size_t n = 0; n + 1 < strlen(texts[i]); n++) {
      void *fresh;
      setup(&fresh);
      Fixture *f = fresh;
      assert_null(module_parse(f->arena, f->diags, "t", arena_strndup(f->arena, texts[i], n)));
      assert_int_equal(diags_errors(f->diags), 1);
      teardown(&fresh);
    }
}

FIXTURE_TEST(test_deep_nesting) {
  Str s = {.arena = f->arena};
  str_add(&s, KBODY "%c = const true : bool\n");
  for (int i = 0; i < 100000; i++)
    str_add(&s, "if %c {");
  assert_null(module_parse(f->arena, f->diags, "t", s.s));
  assert_non_null(strstr(f->messages.s, "blocks are nested more than 200 deep"));
}

/* Writes over the list `v`. */
#define WRECK(x, v) ((x)->v ? (void)memset((x)->v, 0, sizeof *(x)->v * (size_t)(x)->n##v) : (void)0)

/* Writes over all of `m` that passes may change, code aside. */
static void wreck(Module *m) {
  for (int s = 0; s < m->ninits + m->nstencils; s++) {
    Stencil *st = s < m->ninits ? &m->inits[s] : &m->stencils[s - m->ninits];
    for (int i = 0; i < st->npieces; i++)
      WRECK(&st->pieces[i], targets);
    WRECK(st, targets);
    WRECK(st, pieces);
  }
  for (int k = 0; k < m->nkernels; k++) {
    WRECK(&m->kernels[k], args);
    WRECK(&m->kernels[k], arrays);
  }
  for (int i = 0; i < m->host.nseqs; i++)
    WRECK(&m->host.seqs[i], ops);
  for (int i = 0; i < m->nreductions; i++)
    WRECK(&m->reductions[i].seq, ops);
  WRECK(&m->host.init, ops);
  WRECK(&m->host, seqs);
  WRECK(m, scalars);
  WRECK(m, composites);
  WRECK(m, param_arrays);
  WRECK(m, fields);
  WRECK(m, records);
  WRECK(m, checks);
  WRECK(m, reductions);
  WRECK(m, probes);
  WRECK(m, inits);
  WRECK(m, stencils);
  WRECK(m, buffers);
  WRECK(m, kernels);
}

/* A copy prints as the original does, and whatever is done to it leaves that as it was. */
FIXTURE_TEST(test_copy) {
  const char *const texts[] = {STENCILS, KERNELS};
  for (int i = 0; i < 2; i++) {
    Module *m = parse(f, texts[i]);
    module_renumber(m);
    Module *copy = module_copy(f->arena, m);
    const char *before = module_print(m);
    assert_string_equal(module_print(copy), before);
    for (int k = 0; k < copy->nkernels; k++)
      for (Op *op = copy->kernels[k].body->first; op; op = op->next)
        op->code = OP_BARRIER;
    for (int s = 0; s < copy->nstencils; s++)
      for (int n = 0; n < copy->stencils[s].npieces; n++)
        for (Op *op = copy->stencils[s].pieces[n].body->first; op; op = op->next)
          op->code = OP_BARRIER;
    wreck(copy);
    assert_string_equal(module_print(m), before);
  }
}

/* A broken module can be printed all the same. */
FIXTURE_TEST(test_print_broken) {
  Module *m = parse(f, KERNELS);
  Op *load = m->kernels[1].body->first;
  while (load->code != OP_LOAD)
    load = load->next;
  load->sym = 99;
  load->operands[0] = NULL;
  load->next->sym = -1;
  m->buffers[0].field = 7;
  m->kernels[1].narrays = 0;
  assert_non_null(strstr(module_print(m), "load @?[%?] + [3] : f32"));
}
