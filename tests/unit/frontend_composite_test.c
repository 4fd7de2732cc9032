/* tests/unit/frontend_composite_test.c: what is said about vectors, structs, values in braces and storage types, with
 * line, column and text. */
#include "frontend_cases.h"

/* A vector and a struct of each kind beside A, in lines 4 to 6; statements begin in line 7. */
#define TYPED GRID1 "struct S { a, b : f32; c : f32[2] }\nfield V : f32[3] on G;\nfield P : S on G;\n"
#define TO_V "stencil s(V)[G] = "
#define TO_P "stencil s(P)[G] = "
#define TO_A "stencil s(A)[G] = "

static const FrontendCase cases[] = {
    {"all_well",
     TYPED "stencil s(V, P)[G] { V = {A, 1, P.c[1]} + V * 2 - {1, 2, 3}; P = {b = 1, c = 0, a = V[0][2]}; }\n", ""},
    {"no_type", "grid G = [0 .. 9], 4;\nfield A : quad;\n",
     "2:11: error: expected a type (real, f16, bf16, f32, f64, i8, i16, u8, u16, i32, i64, u32, bool or the name of a "
     "struct), found "
     "'quad'\n"},
    {"near_type", "struct Cell { a : f32 }\ngrid G = [0 .. 9], 4;\nfield A : Cel;\n",
     "3:11: error: expected a type (real, f16, bf16, f32, f64, i8, i16, u8, u16, i32, i64, u32, bool or the name of a "
     "struct), found "
     "'Cel'; did you mean 'Cell'?\n"},
    {"no_type_at_all", "grid G = [0 .. 9], 4;\nfield A : 3;\n",
     "2:11: error: expected a type (real, f16, bf16, f32, f64, i8, i16, u8, u16, i32, i64, u32, bool or the name of a "
     "struct), found "
     "'3'\n"},
    {"field_as_type", GRID1 "field B : A on G;\n", "4:11: error: 'A' is a field, not a type\n"},
    {"struct_in_itself", "struct S { a : S }\n",
     "1:16: error: expected a type (real, f16, bf16, f32, f64, i8, i16, u8, u16, i32, i64, u32, bool or the name of a "
     "struct), found "
     "'S'\n"},
    {"struct_without_members", "struct S { }\n", "1:12: error: expected a member's name, found '}'\n"},
    {"member_twice", "struct S { a, b : f32; a : f64 }\n" GRID1 TO_A "A;\n",
     "1:24: error: struct 'S' has two members 'a'\n"},
    {"member_is_word", "struct S { step : f32 }\n" GRID1 TO_A "A;\n",
     "1:12: error: expected a member's name, but 'step' is a word of the language; choose another name\n"},
    {"struct_taken", GRID1 "struct A { x : f32 }\n",
     "4:8: error: the name 'A' is taken; all names of a program differ\n3:7: note: 'A' is a field declared here\n"},
    {"struct_as_value", TYPED TO_A "S;\n", "7:19: error: 'S' is a struct, not a value\n"},
    {"struct_too_large", "struct S { a : f32[200]; b : f32[57] }\n" GRID1 TO_A "A;\n",
     "1:8: error: struct 'S' has more than 256 components, vectors' counted one by one\n"},
    {"vector_too_long", GRID1 "field B : f32[257];\n",
     "4:15: error: a vector of 257 values of type f32; a type has 1 to 256 components\n"},
    {"vector_of_vectors_too_long", GRID1 "field B : f32[16][17];\n",
     "4:19: error: a vector of 17 values of type f32[16]; a type has 1 to 256 components\n"},
    {"vector_empty", GRID1 "field B : f32[0];\n",
     "4:15: error: a vector of 0 values of type f32; a type has 1 to 256 components\n"},
    {"vector_of_param", GRID1 "field B : f32[N];\n",
     "4:15: error: a vector's length must be a constant, but 'N' is known only when the program runs\n"},
    {"vector_param", "param v : f32[3];\n" GRID1 TO_A "A;\n",
     "1:11: error: f32[3] is a vector or struct; params, constants and lets outside stencils and functions are single "
     "numbers\n"},
    {"braces_as_param", "param v = {1, 2};\n" GRID1 TO_A "A;\n",
     "1:11: error: a param's default must be a single number, but this is a value in braces\n"},
    {"braces_as_const", "const v = {1, 2};\n" GRID1 TO_A "A;\n",
     "1:11: error: a const (a table is written const w[3] = {...}) must be a single number, but this is a value in "
     "braces\n"},
    {"storage_param", "param x : f16 = 1;\n" GRID1 TO_A "A;\n",
     "1:11: error: f16 is a type for fields, members of structs and launch-time arrays; computations are in f32, write "
     "that\n"},
    {"storage_let", GRID1 "stencil s(A)[G] { let x : i8[2] = 1; A = 1; }\n",
     "4:27: error: i8[2] is a type for fields, members of structs and launch-time arrays; computations are in i32[2], "
     "write that\n"},

    {"too_few_values", TYPED TO_V "{1, 2};\n",
     "7:19: error: field 'V' is f32[3], which has 3 components, but there are 2 values in the braces\n"},
    {"too_many_values", TYPED TO_P "{1, 2, 3, 4};\n",
     "7:19: error: field 'P' is S, which has 3 members: a, b, c, but there are 4 values in the braces\n"},
    {"unknown_member", TYPED TO_P "{a = 1, b = 2, d = 0};\n",
     "7:34: error: struct 'S' has no member 'd'; it has a, b, c\n"},
    {"named_twice", TYPED TO_P "{a = 1, a = 2, c = 0};\n",
     "7:27: error: struct 'S': member 'a' is given twice (members: a, b, c)\n"},
    {"member_missing", TYPED TO_P "{a = 1, b = 2};\n", "7:19: error: struct 'S': member 'c' is missing\n"},
    {"half_named", TYPED TO_P "{a = 1, 2, 0};\n",
     "7:27: error: this value has no name, but others in these braces have; name all or none\n"},
    {"names_in_vector", TYPED TO_V "{x = 1, y = 2, z = 3};\n",
     "7:19: error: field 'V' is f32[3]; a vector's components have no names, write {a, b, ...}\n"},
    {"wrong_member_type", TYPED TO_P "{1, N, 0};\n",
     "7:23: error: member 'b' of S is f32, but this value is i64; convert it: real(N) or f32(N)\n"},
    {"wrong_component_type", TYPED TO_V "{1, idx(0), A};\n",
     "7:23: error: component 1 is f32, but this value is i64; convert it: real(idx(0)) or f32(idx(0))\n"},
    {"braces_to_scalar", TYPED TO_A "{1, 2};\n",
     "7:19: error: field 'A' is f32, one number, but this is a value in braces\n"},
    {"braces_of_two_types", TYPED "stencil s(A)[G] { let v = {A, N}; A = v[0]; }\n",
     "7:27: error: the values in the braces are f32 and i64, which make no vector; convert some, or if this is a "
     "struct, name it with a let: let x : S = {...};\n"},
    {"names_without_type", TYPED "stencil s(A)[G] { let v = {a = A, b = 2}; A = v.a; }\n",
     "7:27: error: of which struct this value is cannot be told here; name it with a let: let x : S = {...};\n"},
    {"empty_braces", TYPED TO_V "{};\n", "7:20: error: expected an expression, found '}'\n"},

    {"first_brackets", GRID2 "field V : f32[3] on G;\n" TO_A "V[2];\n",
     "5:19: error: the first brackets after a field's name are its offset, of 2 dimensions here; a component comes "
     "behind: 'V[0,0][...]'\n"},
    {"component_beyond", TYPED TO_A "V[0][3];\n",
     "7:24: error: there is no component 3 in f32[3]; its components are [0] to [2]\n"},
    {"component_negative", TYPED TO_A "V[0][-1];\n",
     "7:24: error: there is no component -1 in f32[3]; its components are [0] to [2]\n"},
    {"component_of_param", TYPED TO_A "V[0][N];\n",
     "7:24: error: a component's index must be a constant, but 'N' is known only when the program runs\n"},
    {"component_of_let", TYPED "stencil s(A)[G] { let v = V; A = v[3]; }\n",
     "7:36: error: there is no component 3 in f32[3]; its components are [0] to [2]\n"},
    {"two_indices", TYPED "stencil s(A)[G] { let v = V; A = v[0,1]; }\n",
     "7:34: error: a component of 'v' has one index: 'v[0]'\n"},
    {"two_indices_behind", TYPED TO_A "V[0][0,1];\n",
     "7:25: error: expected ']' (a component has one index, v[2]; a field's offsets come right behind its name), found "
     "','\n"},
    {"component_of_scalar", TYPED TO_A "A[0][1];\n", "7:23: error: this value is f32, which has no components\n"},
    {"component_of_struct", TYPED TO_A "P[0][1];\n",
     "7:23: error: this value is the struct S; its members are a, b, c\n"},
    {"member_of_vector", TYPED TO_A "V.x;\n",
     "7:21: error: this value is the vector f32[3]; its components are [0] to [2]\n"},
    {"member_of_scalar", TYPED TO_A "A.x;\n", "7:21: error: this value is f32, which has no members\n"},
    {"no_such_member", TYPED TO_A "P[0].d;\n", "7:24: error: struct 'S' has no member 'd'; it has a, b, c\n"},
    {"member_without_name", TYPED TO_A "P.3;\n", "7:20: error: expected ';', found '.3'\n"},
    {"target_component", TYPED "stencil s(V)[G] { V[0] = 1; }\n",
     "7:20: error: a target is assigned as a whole, at the point in hand; build the value and write V = ...\n"},
    {"target_member", TYPED "stencil s(P)[G] { P.a = 1; }\n",
     "7:21: error: a target is assigned as a whole, at the point in hand; build the value and write P = ...\n"},

    {"vector_compared", TYPED TO_A "if V < V then 1 else 2;\n",
     "7:24: error: '<' compares single values, not vectors or structs; compare them part by part: a[0] == b[0] && a[1] "
     "== b[1]\n"},
    {"vectors_equal", TYPED TO_A "if V == {1, 2, 3} then 1 else 2;\n",
     "7:24: error: '==' compares single values, not vectors or structs; compare them part by part: a[0] == b[0] && "
     "a[1] == b[1]\n"},
    {"structs_added", TYPED TO_P "P + P;\n",
     "7:21: error: '+' has no meaning for S, a struct or with structs in it; compute member by member: {a.x + b.x, "
     "...}\n"},
    {"lengths_differ", TYPED TO_V "V + P.c;\n",
     "7:21: error: '+' mixes f32[3] and f32[2]; vectors must be of the same length, or one of the values a scalar\n"},
    {"vector_and_int", TYPED TO_V "V * N;\n",
     "7:21: error: '*' mixes f32[3] and i64; convert one side: real(N) or f32(N)\n"},
    {"vector_and_double", TYPED "field D : f64[3] on G;\nstencil s(D)[G] = D + V;\n",
     "8:21: error: '+' mixes f64[3] and f32[3]; convert one side: f64(V)\n"},
    {"vector_to_scalar", TYPED TO_A "V[0];\n",
     "7:19: error: field 'A' is f32, but this value is f32[3]; take one of its components, which stand behind the "
     "offset: V[0][0] to [2]\n"},
    {"vector_value_to_scalar", TYPED TO_A "V + 1;\n",
     "7:21: error: field 'A' is f32, but this value is f32[3]; take one of its components, [0] to [2]\n"},
    {"bool_to_vector", TYPED TO_V "true;\n",
     "7:19: error: a component of field 'V' is f32, but this value is bool; convert it: real(...) or f32(...)\n"},
    {"braces_negated", TYPED TO_A "-{1, 2};\n",
     "7:19: error: field 'A' is f32, one number, but this is a value in braces\n"},
    {"operation_to_struct", TYPED TO_P "-{1, 2, 3};\n",
     "7:19: error: '-' has no meaning for S; compute member by member: {a.x + b.x, ...}\n"},
    {"braces_in_macro", "struct S { a, b : f32 }\n" GRID1 "op first(s) = s.a;\n" TO_A "first({1, 2});\n",
     "5:17: error: this value is the vector f32[2]; its components are [0] to [1]\n6:19: note: in the expansion of "
     "'first' here\n"},
    {"vector_to_double", TYPED "field D : f64[3] on G;\nstencil s(D)[G] = V;\n",
     "8:19: error: field 'D' is f64[3], but this value is f32[3]; convert it: f64(...)\n"},
    {"vector_to_longer", TYPED TO_V "P.c;\n",
     "7:21: error: field 'V' is f32[3], but this value is f32[2]; the number of components differs\n"},
    {"scalar_to_struct", TYPED TO_P "0;\n",
     "7:19: error: field 'P' is S, but this value is an integer literal; build the value from its members: {a, b, "
     "c}\n"},
    {"struct_to_scalar", TYPED TO_A "P;\n",
     "7:19: error: field 'A' is f32, but this value is S; take one of its members: a, b, c\n"},
    {"other_struct", TYPED "struct Q { a, b : f32; c : f32[2] }\nfield R : Q on G;\nstencil s(R)[G] = P;\n",
     "9:19: error: field 'R' is Q, but this value is S; build the value from its members: {a, b, c}\n"},
    {"choice_of_two", TYPED TO_V "if A > 0 then V else P;\n",
     "7:19: error: 'if' mixes f32[3] and S; a struct goes only with values of its own type\n"},
    {"vector_condition", TYPED TO_A "if V then 1 else 2;\n",
     "7:22: error: the condition must be bool, but it is f32[3]; write a comparison such as x != 0\n"},
    {"struct_converted", TYPED TO_A "f32(P);\n",
     "7:19: error: 'f32' converts numbers and vectors, but this is S, which has structs in it; convert its members\n"},
    {"vector_of_bools_added", TYPED "field B : bool[2] on G;\nstencil s(B)[G] = B + B;\n",
     "8:21: error: '+' needs numbers, but this operand is bool[2]\n"},
    {"function_of_int_vector", TYPED "field I : i32[3] on G;\nstencil s(V)[G] = sqrt(I);\n",
     "8:19: error: 'sqrt' needs floating-point arguments, but this one is i32[3]; convert it: real(I) or f32(I)\n"},
    {"literals_shape", TYPED TO_V "V + {1, 2};\n",
     "7:23: error: the operand is f32[3], which has 3 components, but there are 2 values in the braces\n"},
    {"outside_int_member", "struct S { a : f32; n : i32 }\n" GRID1 "field P : S outside 0.5;\n",
     "5:21: error: component 'P.n' is i32, but this value is a floating-point literal; convert it: i32(...)\n"},
    {"outside_large", GRID1 "field L : i64[2] outside 9007199254740993;\n",
     "4:26: error: the value outside a vector or struct is at most 2^53, so that component 'L.0' can have it "
     "exactly\n"},
    {"outside_braces", GRID1 "field L : i64[2] outside {1, 2};\n",
     "4:26: error: component 'L.0' is i64, one number, but this is a value in braces\n"},
    {"outside_typed",
     "const k : f32 = 0.1;\nstruct S { a : f32; h : f16 }\n" GRID1
     "field P : S outside k;\nstencil s(P)[G] = {A, P[1].h};\n",
     ""},

    {"half_from_double", GRID1 "field H : f16 on G;\nfield D : f64 on G;\nstencil s(H)[G] = D;\n",
     "6:19: error: field 'H' is f16, but this value is f64; convert it: f16(D)\n"},
    {"half_from_int", GRID1 "field H : bf16 on G;\nstencil s(H)[G] = N;\n",
     "5:19: error: field 'H' is bf16, but this value is i64; convert it: bf16(N)\n"},
    {"double_from_half", GRID1 "field H : f16 on G;\nfield D : f64 on G;\nstencil s(D)[G] = H;\n",
     "6:19: error: field 'D' is f64, but this value is f16; convert it: f64(H)\n"},
    {"half_and_double", GRID1 "field H : f16 on G;\nfield D : f64 on G;\nstencil s(D)[G] = D * H;\n",
     "6:21: error: '*' mixes f64 and f32; convert one side: f64(H)\n"},
    {"byte_from_int", GRID1 "field I : i8 on G;\nstencil s(I)[G] = I + 1;\n",
     "5:21: error: field 'I' is i8, but this value is i32; convert it: i8(...)\n"},
    {"byte_from_short", GRID1 "field I : i8 on G;\nfield J : i16 on G;\nstencil s(I)[G] = J;\n",
     "6:19: error: field 'I' is i8, but this value is i16; convert it: i8(J)\n"},
    {"short_from_byte", GRID1 "field I : i8 on G;\nfield J : i16 on G;\nstencil s(J)[G] = I;\n",
     "6:19: error: field 'J' is i16, but this value is i8; convert it: i16(I)\n"},
    {"member_of_other_type", TYPED "stencil s(A)[G] { let x : f64 = P.a; A = f32(x * P.b); }\n",
     "7:35: error: 'x' is f64, but this value is f32; convert it: f64(P.a)\n"},
    {"byte_and_long", GRID1 "field I : i8 on G;\nstencil s(I)[G] = i8(I + N);\n",
     "5:24: error: '+' mixes i32 and i64; convert one side: i64(I)\n"},
    {"literal_beyond_byte", GRID1 "field I : i8 on G;\nstencil s(I)[G] = 100 + 100;\n",
     "5:23: error: the value 200 does not fit the type i8\n"},
    {"conversion_beyond_byte", GRID1 "field I : i8 on G;\nstencil s(I)[G] = i8(-129);\n",
     "5:22: error: the value -129 does not fit the type i8\n"},
    {"beyond_unsigned_byte", GRID1 "field I : u8 on G;\nstencil s(I)[G] = 256;\n",
     "5:19: error: the value 256 does not fit the type u8\n"},
    {"below_unsigned_short", GRID1 "field I : u16 on G;\nstencil s(I)[G] = -1;\n",
     "5:19: error: the value -1 does not fit the type u16\n"},
    {"unsigned_param", "param n : u8 = 1;\n" GRID1,
     "1:11: error: u8 is a type for fields, members of structs and launch-time arrays; computations are in i32, write "
     "that\n"},
    {"unsigned_from_int", GRID1 "field I : u8 on G;\nfield J : u16 on G;\nstencil s(I, J)[G] { I = I + 1; J = I; }\n",
     "6:28: error: field 'I' is u8, but this value is i32; convert it: u8(...)\n6:37: error: field 'J' is u16, but "
     "this "
     "value is u8; convert it: u16(I)\n"},
    {"unsigned_outside", GRID1 "field I : u8 on G outside -1;\nstencil s(I)[G] = I[1];\n",
     "4:27: error: the value -1 does not fit the type u8\n"},
    {"unsigned_of_c", GRID1 "field I : uint8_t on G;\n", "4:11: error: there is no type 'uint8_t'; write u8\n"},
    {"literal_beyond_half", GRID1 "field H : f16 on G;\nstencil s(H)[G] = 65520.0;\n",
     "5:19: error: the value 6.552e+04 does not fit the type f16\n"},
    {"byte_of_unknown", GRID1 "field I : i8 on G;\nstencil s(I)[G] = (if A > 0 then 1 else 2) + 1;\n",
     "5:44: error: whether this value fits the type i8 is not known; convert it: i8(...)\n"},
    {"float_literal_to_byte", GRID1 "field I : i8 on G;\nstencil s(I)[G] = 0.5;\n",
     "5:19: error: a floating-point literal cannot become i32; write an integer literal, or convert the other side\n"},
    {"storage_well",
     GRID1 "field H : f16 on G;\nfield B : bf16 on G;\nfield I : i8 on G;\nfield J : i16 on G;\nfield K : i32 on "
           "G;\nfield P : u8 on G;\nfield Q : u16[2] on G;\n"
           "stencil s(A, H, B, I, J, K, P, Q)[G] { P = 255; Q = 65535; A = H * B; H = B; B = A + 0.1; I = if I > -128 "
           "then -128 else I; J = "
           "i16(I); K = I * J + 300; }\n",
     ""},
    {"choice_of_numbers_and_bools",
     GRID1 "field V : f32[2] on G;\nfield B : bool[2] on G;\nstencil s(V)[G] = if A > 0 then V else B;\n",
     "6:19: error: 'if' mixes f32[2] and bool[2]; bool and numbers do not mix, write a comparison or a conversion\n"},
};

int main(void) { return run_cases("frontend_composite", cases, sizeof cases / sizeof *cases); }
