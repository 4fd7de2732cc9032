/* tests/unit/narrow_literal_test.c: a literal is rounded once from its decimal text to f16 and bf16, wherever it adapts
 * to such a type. The decimals lie so near the middle of two values that rounding to f32 or f64 first goes astray. */
#include "tests/unit/execution.h"

#include "frontend/frontend.h"

/* A little above, at, and a little below the middle between 1 and the next value. */
#define F16_ABOVE "1.00048828125000000000001"
#define F16_MIDDLE "1.00048828125"
#define F16_BELOW "1.00048828124999999999999"
#define BF16_ABOVE "1.00390625000000000000001"
#define BF16_BELOW "1.00390624999999999999999"

/* Text, type, and the bits it must give. */
typedef struct TextCase {
  const char *text;
  Type type;
  uint16_t bits;
} TextCase;

/* The number as text gives the value of type with those bits. */
WORLD_TEST(test_text) {
  static const TextCase cases[] = {
      {F16_ABOVE, TY_F16, 0x3c01},
      {F16_MIDDLE, TY_F16, 0x3c00},
      {F16_BELOW, TY_F16, 0x3c00},
      {"-" F16_ABOVE, TY_F16, 0xbc01},
      {"100048828125000000000001e-23", TY_F16, 0x3c01},
      {"0.000100048828125000000000001e4", TY_F16, 0x3c01},
      {"1.00146484375", TY_F16, 0x3c02},
      {"1.00146484374999999999999", TY_F16, 0x3c01},
      {BF16_ABOVE, TY_BF16, 0x3f81},
      {BF16_BELOW, TY_BF16, 0x3f80},
      {"-" BF16_ABOVE, TY_BF16, 0xbf81},
      {"65519.99999999999999999", TY_F16, 0x7bff},
      {"2.98023223876953125e-8", TY_F16, 0x0000},
      {"2.98023223876953125000000001e-8", TY_F16, 0x0001},
      {"-1e-999", TY_F16, 0x8000},
      {"16842753", TY_BF16, 0x4b81},
      {"0.1", TY_F16, 0x2e66},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Const c;
    uint16_t bits = 0;
    assert_true(const_parse_float(cases[i].text, cases[i].type, &c));
    const_store(cases[i].type, &bits, c);
    if (bits != cases[i].bits)
      fail_msg("%s as %s: 0x%04x, not 0x%04x", cases[i].text, type_name(cases[i].type), bits, cases[i].bits);
  }
  Const c;
  assert_false(const_parse_float("65520", TY_F16, &c));
  assert_false(const_parse_float("65520.00000000000000000001", TY_F16, &c));
  assert_false(const_parse_float("1.5x", TY_F16, &c));
  assert_false(const_parse_float("", TY_BF16, &c));
}

/* A program that sets field H of type `type` from the literal `value`, and the bits it must hold at point 1. */
typedef struct ProgramCase {
  const char *type, *rest;
  uint16_t bits;
} ProgramCase;

#define HEAD "param yes : bool = true;\ngrid G = [0 .. 3], 1;\n"

static const ProgramCase programs[] = {
    {"f16", "stencil s(H)[G] = " F16_ABOVE ";", 0x3c01},
    {"bf16", "stencil s(H)[G] = " BF16_ABOVE ";", 0x3f81},
    {"f16", "stencil s(H)[G] = -" F16_ABOVE ";", 0xbc01},
    {"f16", "stencil s(H)[G] = -(-" F16_ABOVE ");", 0x3c01},
    {"f16", "stencil s(H)[G] = f16(" F16_ABOVE ");", 0x3c01},
    {"f16", "stencil s(H)[G] = f16(-" F16_ABOVE ");", 0xbc01},
    {"f16", "const k = " F16_ABOVE ";\nstencil s(H)[G] = k;", 0x3c01},
    {"bf16", "const k[2] = {1, -" BF16_ABOVE "};\nstencil s(H)[G] = k[1];", 0xbf81},
    {"f16", "stencil s(H)[G] = if yes then " F16_ABOVE " else 2.0;", 0x3c01},
    {"f16", "stencil s(H)[G] = if yes then " F16_ABOVE " else H;", 0x3c01},
    {"bf16", "stencil s(H)[G] = if yes then " BF16_ABOVE " else H;", 0x3f81},
    {"bf16", "stencil s(H)[G] = if !yes then H[0] else -" BF16_ABOVE ";", 0xbf81},
    {"bf16", "stencil s(H)[G] = select(yes, if yes then " BF16_ABOVE " else H, H);", 0x3f81},
    {"bf16", "stencil s(H)[G] = bf16(if yes then " BF16_ABOVE " else H);", 0x3f81},
    {"bf16", "stencil s(H)[G] { var x = H; if yes { x = 2; } H = if x == 2 then " BF16_ABOVE " else x; }", 0x3f81},
    {"bf16", "stencil s(H)[G] { H = if yes then " BF16_ABOVE " else H; }", 0x3f81},
    {"f16", "field K : f16 on [0 .. 0] outside " F16_ABOVE ";\ninit k(K)[0] = 0;\nstencil s(H)[1] = K[1];", 0x3c01},
    {"f16", "field K : f16[2] on [0 .. 0] outside " F16_ABOVE ";\ninit k(K)[0] = 0;\nstencil s(H)[1] = K[1][0];",
     0x3c01},
    {"f16",
     "struct P { x : f32; y : f16 }\nfield K : P on [0 .. 0] outside -" F16_ABOVE
     ";\ninit k(K)[0] = {0, 0};\nstencil s(H)[1] = K[1].y;",
     0xbc01},
    {"f16", "field V : f16[2];\ninit v(V)[G] = if yes then {0, " F16_ABOVE "} else V;\nstencil s(H)[G] = V[0][1];",
     0x3c01},
    {"f16",
     "field V : f16[2];\ninit v(V)[G] = 0;\nstencil t(V)[G] = if yes then " F16_ABOVE
     " else V;\nstencil s(H)[G] = V[0][1];",
     0x3c01},
};

/* Each program puts those bits into H. */
WORLD_TEST(test_programs) {
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    const ProgramCase *p = &programs[i];
    const char *text = arena_printf(w->arena, HEAD "field H : %s;\ninit h(H)[G] = 0;\n%s\n", p->type, p->rest);
    Module *m = frontend_compile(w->arena, w->diags, "case.stn", text, &(FrontendOptions){.real = TY_F32});
    if (!m)
      fail_msg("%s%s", text, w->messages.s);
    m = load(w, module_print(m), 0, NULL);
    Binding b = binding(w);
    assert_true(interp_run(m, &b, 1, true, NULL, w->diags));
    uint16_t bits = ((const uint16_t *)w->fields[0])[1];
    if (bits != p->bits)
      fail_msg("%s0x%04x, not 0x%04x", text, bits, p->bits);
  }
}
