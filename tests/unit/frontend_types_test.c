/* tests/unit/frontend_types_test.c: what is said about types and constants, with line, column and text. */
#include "frontend_cases.h"

static const FrontendCase cases[] = {
    {"int_in_float", GRID1 INNER1 "A * N;\n",
     "4:28: error: '*' mixes f32 and i64; convert one side: real(N) or f32(N)\n"},
    {"step_in_float", GRID1 INNER1 "A + step;\n",
     "4:28: error: '+' mixes f32 and i64; convert one side: real(step) or f32(step)\n"},
    {"idx_in_double",
     "grid G = [0 .. 9], 1;\n"
     "field A : f64;\n"
     "stencil s(A)[G] = idx(0) * A;\n",
     "3:26: error: '*' mixes i64 and f64; convert one side: f64(idx(0))\n"},
    {"bits_compared",
     GRID1 "field U : u32 on G;\nfield I : i32 on G;\nfield L : i64 on G;\n"
           "stencil s(I)[G] = I & 1 == 0;\n",
     "7:21: error: '&' needs integers, but this operand is bool; comparisons bind more tightly: write (a & b) == c, or "
     "convert it: i32(...)\n"},
    {"shifted_by_bool", GRID1 "field I : i32 on G;\nstencil s(I)[G] = I << (I > 1);\n",
     "5:21: error: '<<' needs integers, but this operand is bool; convert it: u32(...) or i64(...)\n"},
    {"bits_of_float",
     GRID1 "field U : u32 on G;\nfield I : i32 on G;\nfield L : i64 on G;\n"
           "stencil s(I)[G] = i32(I | A);\n",
     "7:25: error: '|' needs integers, but this operand is f32; convert it: u32(...) or i64(...)\n"},
    {"unsigned_and_int",
     GRID1 "field U : u32 on G;\nfield I : i32 on G;\nfield L : i64 on G;\n"
           "stencil s(I)[G] = i32(U + I);\n",
     "7:25: error: '+' mixes u32 and i32; convert one side: u32(I)\n"},
    {"unsigned_and_long",
     GRID1 "field U : u32 on G;\nfield I : i32 on G;\nfield L : i64 on G;\n"
           "stencil s(L)[G] = i64(U - L);\n",
     "7:25: error: '-' mixes u32 and i64; convert one side: i64(U)\n"},
    {"unsigned_minus",
     GRID1 "field U : u32 on G;\nfield I : i32 on G;\nfield L : i64 on G;\n"
           "stencil s(U)[G] = U + -1;\n",
     "7:23: error: the literal -1 does not fit the type u32\n"},
    {"remainder_and_float",
     GRID1 "field U : u32 on G;\nfield I : i32 on G;\nfield L : i64 on G;\n"
           "stencil s(A)[G] = 7 % 3 * A;\n",
     "7:25: error: '*' mixes i64 and f32; convert one side: real(...) or f32(...)\n"},
    {"remainder_converted",
     GRID1 "field U : u32 on G;\nfield I : i32 on G;\nfield L : i64 on G;\n"
           "stencil s(I)[G] = i64(7 % 3) + I;\n",
     "7:30: error: '+' mixes i64 and i32; convert one side: i64(I)\n"},
    {"shifted_beyond",
     GRID1 "field U : u32 on G;\nfield I : i32 on G;\nfield L : i64 on G;\n"
           "stencil s(I)[G] = I + (4294967296 >> 1);\n",
     "7:24: error: the literal 4294967296 does not fit the type i32\n"},
    {"not_of_bool",
     GRID1 "field U : u32 on G;\nfield I : i32 on G;\nfield L : i64 on G;\n"
           "stencil s(I)[G] = i32(~(A > 0));\n",
     "7:23: error: '~' needs integers, but this operand is bool; logic is written '!'\n"},
    {"unsigned_int_of_c",
     GRID1 "field U : u32 on G;\nfield I : i32 on G;\nfield L : i64 on G;\n"
           "field X : uint32_t on G;\n",
     "7:11: error: there is no type 'uint32_t'; write u32\n"},
    {"two_floats", GRID1 "field B : f64 on G;\n" INNER1 "A + B;\n",
     "5:28: error: '+' mixes f32 and f64; convert one side: f64(A)\n"},
    {"two_ints",
     GRID1 "field I : i32 on G;\n"
           "stencil s(I)[G] = I + N;\n",
     "5:21: error: '+' mixes i32 and i64; convert one side: i64(I)\n"},
    {"literal_in_int",
     GRID1 "field I : i64 on G;\n"
           "stencil s(I)[G] = 0.5 * I;\n",
     "5:23: error: '*' mixes a floating-point literal and i64; convert the integer: real(I) or f32(I)\n"},
    {"value_of_other_type",
     GRID1 "field B : f64 on G;\n"
           "stencil s(B)[1 .. N-2] = A;\n",
     "5:26: error: field 'B' is f64, but this value is f32; convert it: f64(A)\n"},
    {"int_to_float_target", GRID1 INNER1 "idx(0);\n",
     "4:26: error: field 'A' is f32, but this value is i64; convert it: real(idx(0)) or f32(idx(0))\n"},
    {"float_literal_to_int",
     GRID1 "field I : i64 on G;\n"
           "stencil s(I)[G] = 1.5;\n",
     "5:19: error: field 'I' is i64, but this value is a floating-point literal; convert it: i64(...)\n"},
    {"bool_arithmetic", GRID1 INNER1 "A + (A > 0);\n", "4:28: error: '+' needs numbers, but this operand is bool\n"},
    {"bool_negated", GRID1 INNER1 "-(A > 0);\n", "4:26: error: '-' needs numbers, but this operand is bool\n"},
    {"number_as_bool", GRID1 INNER1 "if A then 1 else 2;\n",
     "4:29: error: the condition must be bool, but it is f32; write a comparison such as x != 0\n"},
    {"number_in_logic", GRID1 INNER1 "if A > 0 && A then 1 else 2;\n",
     "4:35: error: '&&' needs bool operands, but this one is f32; write a comparison such as x != 0\n"},
    {"not_of_number", GRID1 INNER1 "if !A then 1 else 2;\n",
     "4:29: error: '!' needs bool operands, but this one is f32; write a comparison such as x != 0\n"},
    {"chained_comparison", GRID1 INNER1 "if 0 < A < 1 then 1 else 2;\n",
     "4:35: error: '<' needs numbers, but this operand is bool; write a < b && b < c for a chain\n"},
    {"bool_target",
     GRID1 "field B : bool on G;\n"
           "stencil s(B)[G] = A;\n",
     "5:19: error: field 'B' is bool, but this value is f32; write a comparison such as x != 0\n"},
    {"literal_to_bool",
     GRID1 "field B : bool on G;\n"
           "stencil s(B)[G] = 1;\n",
     "5:19: error: field 'B' is bool, but this value is an integer literal; write a comparison such as x != 0\n"},
    {"bool_to_float", GRID1 INNER1 "A > 0;\n",
     "4:28: error: field 'A' is f32, but this value is bool; convert it: real(...) or f32(...)\n"},
    {"branches_differ", GRID1 INNER1 "if A > 0 then A else N;\n",
     "4:26: error: 'if' mixes f32 and i64; convert one side: real(N) or f32(N)\n"},
    {"remainder_of_floats", GRID1 INNER1 "A % 2;\n",
     "4:28: error: '%' needs integers, but this operand is f32; for floats write x - y * floor(x / y)\n"},
    {"function_of_int", GRID1 INNER1 "sqrt(N);\n",
     "4:26: error: 'sqrt' needs floating-point arguments, but this one is i64; convert it: real(N) or f32(N)\n"},
    {"function_of_bool", GRID1 INNER1 "exp(A > 0);\n",
     "4:26: error: 'exp' needs floating-point arguments, but this one is bool\n"},
    {"literal_too_large",
     GRID1 "field I : i32 on G;\n"
           "stencil s(I)[G] = I + 3000000000;\n",
     "5:23: error: the literal 3000000000 does not fit the type i32\n"},
    {"literal_beyond_64", "param N = 9223372036854775808;\n",
     "1:11: error: the literal 9223372036854775808 does not fit the type i64\n"},
    {"float_literal_too_large", GRID1 INNER1 "A * 1e40;\n",
     "4:30: error: the literal 1e40 does not fit the type f32\n"},
    {"constant_too_large",
     "const big = 3000000000;\n"
     "param N = 10;\n"
     "grid G = [0 .. N-1], 4;\n"
     "field A : f32 on G;\n"
     "field I : i32 on G;\n"
     "stencil s(I)[G] = I + big;\n",
     "6:23: error: the constant 'big' does not fit the type i32\n"},
    {"offset_of_param", GRID1 INNER1 "A[N];\n",
     "4:28: error: an offset must be a constant, but 'N' is known only when the program runs\n"},
    {"offset_of_float", GRID1 INNER1 "A[0.5];\n", "4:28: error: an offset must be an integer constant\n"},
    {"offset_of_field", GRID1 INNER1 "A[A];\n",
     "4:28: error: an offset must be a constant, but 'A' is known only when the program runs\n"},
    {"offset_count", GRID2 INNER2 "A[1];\n", "4:36: error: 'A' has 1 offset, but the grid has 2 dimensions\n"},
    {"offset_too_large", GRID1 INNER1 "A[2000000000];\n", "4:28: error: the offset 2000000000 is too large\n"},
    {"idx_dimension", GRID1 INNER1 "f32(idx(1));\n", "4:34: error: the grid has no dimension 1; there are 0 to 0\n"},
    {"idx_of_param", GRID1 INNER1 "f32(idx(N));\n",
     "4:34: error: the dimension of idx must be a constant, but 'N' is known only when the program runs\n"},
    {"step_in_init", GRID1 "init i(A)[G] = f32(step);\n",
     "4:20: error: 'step' has no meaning in an init, which runs before the first step\n"},
    {"const_of_param", GRID1 "const c = N;\n" INNER1 "A;\n",
     "4:11: error: a const must be a constant, but 'N' is known only when the program runs\n"},
    {"param_of_field", GRID1 "param x = A;\n" INNER1 "A;\n",
     "4:11: error: a param's default is computed once at launch, so 'A' cannot be part of it\n"},
    {"let_of_idx", GRID1 "let x = idx(0);\n" INNER1 "A;\n",
     "4:9: error: a let outside a stencil is computed once at launch, so 'idx' cannot be part of it\n"},
    {"steps_of_param",
     "param T = 3;\n"
     "grid G = [0 .. 3], T;\n",
     ""},
    {"steps_of_a_float_param",
     "param T : f64 = 3;\n"
     "grid G = [0 .. 3], T;\n",
     "2:20: error: the number of time steps must be an integer, but the param 'T' is f64; leave out ': f64' where it "
     "is "
     "declared\n"},
    {"negative_steps", "grid G = [0 .. 3], -1;\n",
     "1:20: error: the number of time steps is -1; it cannot be negative\n"},
    {"outside_of_param",
     "param N = 4;\n"
     "grid G = [0 .. 3], 1;\n"
     "field A : f32 outside N;\n",
     "3:23: error: the value outside a field must be a constant, but 'N' is known only when the program runs\n"},
    {"in_macro",
     GRID1 "op d(X) = X[1] - X * N;\n"
           "op e(X) = 2 * d(X);\n" INNER1 "e(A);\n",
     "4:20: error: '*' mixes f32 and i64; convert one side: real(N) or f32(N)\n"
     "5:15: note: in the expansion of 'd' here\n"
     "6:26: note: in the expansion of 'e' here\n"},
    {"bool_in_comparison", GRID1 INNER1 "if (A > 0) == 1 then A else 0;\n",
     "4:37: error: '==' mixes bool and an integer literal; bool and numbers do not mix, write a comparison or a "
     "conversion\n"},
    {"composed_offset_too_large",
     "grid G = [0 .. 3], 1;\nfield A : f32 outside clamp;\nop far(X) = X[1000000000];\nstencil s(A)[G] = "
     "far(far(A));\n",
     "4:27: error: the offset 2000000000 in dimension 0 is too large\n"},
    {"const_of_wrong_type", "const c : i64 = 1.5;\nconst b : bool = 1;\n" GRID1 INNER1 "A;\n",
     "1:17: error: 'c' is i64, but this value is a floating-point literal; convert it: i64(...)\n"
     "2:18: error: 'b' is bool, but this value is an integer literal; write a comparison such as x != 0\n"},
    {"param_of_wrong_type", "param n : f32 = 1;\nparam m : i32 = n;\n" GRID1 INNER1 "A;\n",
     "2:17: error: 'm' is i32, but this value is f32; convert it: i32(n)\n"},
    {"let_of_wrong_type", GRID1 "stencil s(A)[1 .. N-2] { let a : f64 = A; A = f32(a); }\n",
     "4:40: error: 'a' is f64, but this value is f32; convert it: f64(A)\n"},
    {"constant_that_only_f64_holds",
     GRID1 "const huge = 1e300, w[2] = {1, 1e300};\nfield D : f64 on G outside huge;\nstencil d(D)[G] = D * huge + "
           "w[1] * w[0];\n" INNER1 "A * huge;\n",
     "7:30: error: the constant 'huge' does not fit the type f32\n"},
    {"constant_that_nothing_holds", "const huge = 1e400;\n",
     "1:14: error: the literal 1e400 does not fit the type f64\n"},
};

int main(void) { return run_cases("frontend_types", cases, sizeof cases / sizeof *cases); }
