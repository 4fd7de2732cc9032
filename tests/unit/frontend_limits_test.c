/* tests/unit/frontend_limits_test.c: programs beyond every limit of the front end: an error each, in little time, and
 * never a crash. */
#include "frontend_cases.h"

#include <string.h>

/* `n` times `piece` at the end of s. */
static void repeat(Str *s, const char *piece, int n) {
  for (int i = 0; i < n; i++)
    str_add(s, piece);
}

/* Compiles the program and checks all messages. */
static void expect(Str *program, const char *messages) {
  FrontendCase t = {"", program->s, messages};
  void *state = &t;
  check_case(&state);
}

/* A program begun: one field that may be read anywhere, and the start of its stencil. */
static Str begin(Arena *a, const char *declarations) {
  Str s = {.arena = a};
  str_addf(&s, "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32 on G outside clamp;\n%sstencil s(A)[G] =\n",
           declarations);
  return s;
}

/* Deep brackets, signs, calls, ifs and offsets; the error is at the token behind the one that is too deep. */
TEST(test_nesting) {
  static const struct {
    const char *open;
    int column;
  } cases[] = {{"(", 201 + 1},
               {"-", 201 + 1},
               {"abs(", 201 * 4 + 1},
               {"A[", 201 * 2 + 1},
               {"if A > 0 then ", 200 * 14 + 4},
               {"if A > 0 then 0 else ", 200 * 21 + 4}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Arena *a = arena_new(NULL, NULL);
    Str s = begin(a, "");
    repeat(&s, cases[i].open, 100000);
    expect(&s,
           arena_printf(a, "5:%d: error: this nests more than 200 levels deep; split it with let\n", cases[i].column));
    arena_free(a);
  }
}

/* Deep blocks, closed and not. */
TEST(test_nested_blocks) {
  static const struct {
    const char *open;
    int column;
  } cases[] = {{"for (i in 0 .. 1) {", 200 * 19 + 20}, {"if a > 0 {", 200 * 10 + 11}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Arena *a = arena_new(NULL, NULL);
    Str s = {.arena = a};
    str_add(&s, "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32 on G;\nfn f(a : f32) : f32 {\n");
    repeat(&s, cases[i].open, 100000);
    expect(&s, arena_printf(a,
                            "5:%d: error: this nests more than 200 levels deep; split it with let\n5:%zu: error: "
                            "expected '}', found the end of the file\n",
                            cases[i].column, strlen(cases[i].open) * 100000 + 1));
    arena_free(a);
  }
}

/* Long loops: a value that depends on a chain of others. */
TEST(test_long_loop) {
  Arena *a = arena_new(NULL, NULL);
  Str s = {.arena = a};
  str_add(&s, "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32 on G;\nfn f(a : f32) : f32 { var x = a; for (i in "
              "1 .. 20000) { x = 0.5 * x + a; } return x; }\n"
              "stencil s(A)[G] = f(A);\n");
  expect(&s, "");
  arena_free(a);
}

/* A table of more values than a running index may look up. */
TEST(test_large_table) {
  for (int n = 256; n <= 257; n++) {
    Arena *a = arena_new(NULL, NULL);
    Str s = {.arena = a};
    str_addf(&s, "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32 on G;\nconst w[%d] = {", n);
    repeat(&s, "0.5, ", n);
    str_add(&s, "};\nstencil s(A)[G] = w[idx(0)] * w[255];\n");
    expect(&s, n == 256 ? ""
                        : "5:19: error: the table 'w' has 257 values; by an index that is not constant at most 256 can "
                          "be looked up: make it a launch-time array, param w[257] : TYPE\n");
    arena_free(a);
  }
}

/* The 4097th type of a program: nine structs, each of a vector of vectors of ... 456 deep; at the 441st length of the
 * last one, or at that one itself if it has 440. */
TEST(test_many_types) {
  static const char *const scalars[] = {"f32", "f64", "i32", "i64", "bool", "i8", "i16", "f16", "bf16"};
  for (int last = 440; last <= 441; last++) {
    Arena *a = arena_new(NULL, NULL);
    Str s = {.arena = a};
    str_add(&s, "grid G = [0 .. 9], 4;\n");
    for (int i = 0; i < 9; i++) {
      str_addf(&s, "struct S%d { a : %s", i, scalars[i]);
      repeat(&s, "[1]", i < 8 ? 456 : last);
      str_add(&s, " }\n");
    }
    expect(&s, last == 440 ? "10:8: error: the program has more than 4096 vector and struct types\n"
                           : "10:1342: error: the program has more than 4096 vector and struct types\n");
    arena_free(a);
  }
}

/* A chain of functions, each calling the one before. */
TEST(test_function_depth) {
  Arena *a = arena_new(NULL, NULL);
  Str fns = {.arena = a};
  str_add(&fns, "fn g0(a : f32) : f32 = a;\n");
  for (int i = 1; i < 500; i++)
    str_addf(&fns, "fn g%d(a : f32) : f32 = g%d(a);\n", i, i - 1);
  Str s = begin(a, fns.s);
  str_add(&s, "g499(A);\n");
  expect(&s, "");
  arena_free(a);
}

/* A sum of more terms than a tree may have levels. */
TEST(test_height) {
  Arena *a = arena_new(NULL, NULL);
  Str s = begin(a, "");
  repeat(&s, "A +\n", 999);
  str_add(&s, "A;\n");
  expect(&s, "");
  Str t = begin(a, "");
  repeat(&t, "A +\n", 1000);
  str_add(&t, "A;\n");
  expect(&t, "1004:3: error: this expression is more than 1000 levels deep; split it with let\n");
  arena_free(a);
}

/* Macros that double what they are given. */
TEST(test_expansion) {
  Arena *a = arena_new(NULL, NULL);
  Str ops = {.arena = a};
  str_add(&ops, "op d0(X) = X[1] + X;\n");
  for (int i = 1; i < 40; i++)
    str_addf(&ops, "op d%d(X) = d%d(X) + d%d(X[1]);\n", i, i - 1, i - 1);
  Str s = begin(a, ops.s);
  str_add(&s, "d39(A);\n");
  expect(&s, "45:1: error: the program's expressions have more than 262144 operations when macros, functions and loops "
             "are expanded; split them with let or temp fields\n");
  arena_free(a);
}

/* A chain of macros, each calling the one before. */
TEST(test_depth) {
  Arena *a = arena_new(NULL, NULL);
  Str ops = {.arena = a};
  str_add(&ops, "op d0(X) = X;\n");
  for (int i = 1; i < 5000; i++)
    str_addf(&ops, "op d%d(X) = d%d(X);\n", i, i - 1);
  Str s = begin(a, ops.s);
  str_add(&s, "d4999(A);\n");
  expect(&s, "5005:1: error: this expression is more than 3000 levels deep when its macros and functions are expanded; "
             "split it with let or a temp field\n");
  arena_free(a);
}

/* Long chains of constants and lets are no deeper than one of them. */
TEST(test_chains) {
  Arena *a = arena_new(NULL, NULL);
  Str chain = {.arena = a};
  str_add(&chain, "const c0 = 1;\nlet l0 : i64 = 1;\n");
  for (int i = 1; i < 5000; i++)
    str_addf(&chain, "const c%d = c%d + 0;\nlet l%d = l%d + 1;\n", i, i - 1, i, i - 1);
  Str s = begin(a, chain.s);
  str_add(&s, "c4999 * A + f32(l4999);\n");
  expect(&s, "");
  arena_free(a);
}

/* No more than 20 errors are shown. */
TEST(test_many_errors) {
  Arena *a = arena_new(NULL, NULL);
  Str s = {.arena = a}, want = {.arena = a};
  str_add(&s, "grid G = [0 .. 3], 1;\nfield A : f32;\nstencil s(A)[G] {\n");
  for (int i = 0; i < 25; i++) {
    str_addf(&s, "let v%d = unknown%d;\n", i, i);
    if (i < 20)
      str_addf(&want, "%d:%d: error: 'unknown%d' is not declared; names are declared before they are used\n", i + 4,
               i < 10 ? 10 : 11, i);
  }
  str_add(&s, "A = 1;\n}\n");
  expect(&s, want.s);
  arena_free(a);
}

int main(void) { return run_listed("frontend_limits"); }
