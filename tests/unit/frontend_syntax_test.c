/* tests/unit/frontend_syntax_test.c: what the lexer and the parser say, with line, column and text. */
#include "frontend_cases.h"

static const FrontendCase cases[] = {
    {"include_of_c", "#include <math.h>\n" GRID1 INNER1 "A;\n",
     "1:1: error: there is no preprocessor: functions such as sqrt are part of the language; a file of declarations is "
     "included by include \"FILE.stn\";\n"},
    {"define_of_c", "#define R 2\n" GRID1 INNER1 "A;\n",
     "1:1: error: there is no preprocessor: write const NAME = VALUE; or a macro, op NAME(X) = ...;\n"},
    {"pragma_of_c", "#  pragma once\n" GRID1 INNER1 "A;\n",
     "1:1: error: there is no preprocessor, and a comment begins with //: leave out '#pragma'\n"},
    {"compound_assignment", GRID1 "stencil s(A)[G] { A += 1; }\n",
     "4:21: error: there is no '+='; write A = A + ...\n"},
    {"compound_assignment_of_a_product", GRID1 "stencil s(A)[G] { A *= 2; }\n",
     "4:21: error: there is no '*='; write A = A * ...\n"},
    {"increment", GRID1 "stencil s(A)[G] { var x = 1.0; x++; A = x; }\n",
     "4:33: error: there is no '++'; write x = x + 1\n"},
    {"for_of_c", GRID1 "stencil s(A)[G] { var x = A; for (int i = 0; i < 4; i++) { x = x + 1; } A = x; }\n",
     "4:35: error: a loop is written for (i in 0 .. 3) { ... }, with constants and both ends included; over the points "
     "of its region a stencil runs by itself\n"},
    {"for_of_c_without_a_type",
     GRID1 "fn f(a : f32) : f32 { var x = a; for (i = 0; i < (2); i = i + 1) { x = x * i; } "
           "return x; }\nstencil s(A)[G] = f(A);\n",
     "4:39: error: a loop is written for (i in 0 .. 3) { ... }, with constants and both ends included; over the points "
     "of its region a stencil runs by itself\n"},
    {"character", GRID1 INNER1 "A # 2;\n",
     "4:28: error: unexpected character '#'; a comment begins with //\n"
     "4:27: error: expected ';' at the end of the declaration\n"},
    {"non_ascii", GRID1 INNER1 "A \xc2\xb7 2;\n",
     "4:28: error: unexpected byte 0xc2; outside comments programs are plain ASCII\n"
     "4:31: error: expected ';', found '2'\n"},
    {"single_and", GRID1 INNER1 "if A > 0 & A < 1 then A else A;\n",
     "4:35: error: '&' needs integers, but this operand is bool; logic is written '&&'\n"},
    {"open_comment",
     GRID1 INNER1 "A;\n"
                  "/* never closed\n",
     "5:1: error: this comment is not closed; end it with */\n"},
    {"suffix", GRID1 INNER1 "0.5f * A;\n",
     "4:29: error: 'f' cannot follow a number; literals have no suffix, they adapt to the type they meet\n"},
    {"missing_semicolon",
     "param N = 10\n"
     "grid G = [0 .. N-1], 4;\n"
     "field A : f32 on G;\n"
     "stencil s(A)[G] = A;\n",
     "1:13: error: expected ';' at the end of the declaration\n"},
    {"missing_semicolon_inside", GRID1 INNER1 "A 2;\n", "4:28: error: expected ';', found '2'\n"},
    {"end_of_file", GRID1 INNER1 "A +\n", "5:1: error: expected an expression, found the end of the file\n"},
    {"missing_operand", GRID1 INNER1 "A * ;\n", "4:30: error: expected an expression, found ';'\n"},
    {"missing_bracket", GRID1 INNER1 "2 * (A + 1;\n", "4:36: error: expected ')', found ';'\n"},
    {"missing_offset_bracket", GRID1 INNER1 "A[1 + A;\n", "4:33: error: expected ',' or ']', found ';'\n"},
    {"unary_plus", GRID1 INNER1 "+A;\n", "4:26: error: there is no unary '+'; leave it out\n"},
    {"keyword_as_value", GRID1 INNER1 "let;\n", "4:26: error: expected an expression, found 'let'\n"},
    {"if_without_then", GRID1 INNER1 "if A > 0 A else 0;\n", "4:35: error: expected 'then', found 'A'\n"},
    {"if_without_else", GRID1 INNER1 "if A > 0 then A;\n",
     "4:41: error: expected 'else' (an if always has both values), found ';'\n"},
    {"misspelled_keyword", GRID1 "stencl s(A)[G] = A;\n",
     "4:1: error: expected a declaration, found 'stencl'; did you mean 'stencil'?\n"},
    {"no_declaration", "42;\n",
     "1:1: error: expected a declaration (param, const, let, struct, grid, region, field, op, fn, stencil, init, "
     "sweep, "
     "inject, mask, reduce, probe, scalar, update, repeat, levels, each, absorb, until, members, loss or gradient), "
     "found '42'\n"},
    {"stray_brace",
     GRID1 INNER1 "A;\n"
                  "}\n",
     "5:1: error: expected a declaration (param, const, let, struct, grid, region, field, op, fn, stencil, init, "
     "sweep, "
     "inject, mask, reduce, probe, scalar, update, repeat, levels, each, absorb, until, members, loss or gradient), "
     "found '}'\n"},
    {"reserved_name", "param min = 3;\n",
     "1:7: error: expected a param's name, but 'min' is a word of the language; choose another name\n"},
    {"keyword_name", "param if = 3;\n",
     "1:7: error: expected a param's name, but 'if' is a word of the language; choose another name\n"},
    {"missing_name", "param = 3;\n", "1:7: error: expected a param's name, found '='\n"},
    {"unknown_type", "param x : quad = 3;\n",
     "1:11: error: expected a type (real, f16, bf16, f32, f64, i8, i16, u8, u16, i32, i64, u32, bool or the name of a "
     "struct), found "
     "'quad'\n"},
    {"missing_type",
     "param N = 10;\n"
     "grid G = [0 .. N-1], 4;\n"
     "field A on G;\n"
     "stencil s(A)[G] = A;\n",
     "3:9: error: expected ':' and the field's type, found 'on'\n"},
    {"missing_steps", "grid G = [0 .. 9];\n", "1:18: error: expected ',' and the number of time steps, found ';'\n"},
    {"missing_region_bracket", "grid G = [0 .. 9, 4;\n", "1:20: error: expected '..', ',' or ']', found ';'\n"},
    {"missing_target", GRID1 "stencil s()[G] = A;\n", "4:11: error: expected a target field's name, found ')'\n"},
    {"missing_region", GRID1 "stencil s(A) = A;\n",
     "4:14: error: expected a region '[lo .. hi, ...]', or '{' and pieces, found '='\n"},
    {"piece_without_region", GRID1 "stencil s(A) { A = 1; }\n",
     "4:16: error: expected a piece '[REGION] = ...' (a stencil whose region stands inside its braces), or '}', found "
     "'A'\n"},
    {"region_twice", GRID1 "stencil s(A)[G] { [1] = A; }\n",
     "4:19: error: expected a statement (let, var, for, if, or the name of what is assigned) or '}', found '['\n"},
    {"block_not_closed", GRID1 "stencil s(A)[G] { A = 1;\n", "5:1: error: expected '}', found the end of the file\n"},
    {"attribute_twice",
     "param N = 10;\n"
     "grid G = [0 .. N-1], 4;\n"
     "field A : f32 on G on G;\n",
     "3:20: error: 'on' is given twice\n"},
    {"unknown_attribute",
     "param N = 10;\n"
     "grid G = [0 .. N-1], 4;\n"
     "field A : f32 on G const;\n"
     "field B : f32 on G constant;\n",
     "3:20: error: expected ';', found 'const'\n"
     "4:20: error: 'constant' is no attribute of a field; there are on, outside, where, input, temp, history, frames "
     "and shared\n"},
    {"outside_what",
     "param N = 10;\n"
     "grid G = [0 .. N-1], 4;\n"
     "field A : f32 on G outside;\n",
     "3:27: error: expected clamp, mirror, periodic or a constant after 'outside', found ';'\n"},
    {"paper_bounds", "G = [0, 9, 0, 9], 4\n", "1:5: error: write the bounds of each dimension as lo .. hi\n"},
    {"recovery",
     GRID1 "stencil s(A)[G] {\n"
           "  let a = ;\n"
           "  let b = 2 3;\n"
           "  A = (a + b;\n"
           "}\n"
           "field B f32;\n"
           "stencil t(A)[G] = A + ;\n"
           "stencil u(A)[G] = B + C;\n",
     "5:11: error: expected an expression, found ';'\n"
     "6:13: error: expected ';', found '3'\n"
     "7:13: error: expected ')', found ';'\n"
     "9:9: error: expected ':' and the field's type, found 'f32'\n"
     "10:23: error: expected an expression, found ';'\n"
     "11:23: error: 'C' is not declared; names are declared before they are used\n"},
    {"missing_value", "param N;\nconst c;\n", "2:8: error: expected '=', found ';'\n"},
    {"on_what", "grid G = [0 .. 3], 1;\nfield A : f32 on 3;\n",
     "2:18: error: expected a region or its name after 'on', found '3'\n"},
    {"macro_without_brackets", "op d = 3;\n", "1:6: error: expected '(', found '='\n"},
    {"table_without_braces", "const w[2] = 3;\n", "1:14: error: expected '{' before the table's values, found '3'\n"},
    {"missing_grid_bounds", "grid G = 3, 4;\n", "1:10: error: expected a region '[lo .. hi, ...]', found '3'\n"},
    {"two_declarations_of_a_line", "grid G = [0 .. 3], 1 field A : f32;\n",
     "1:22: error: expected ';', found 'field'\n"},
    {"vector_length_not_closed", "grid G = [0 .. 9], 4;\nfield V : f32[3 on G;\n",
     "2:17: error: expected ']' after the vector's length, found 'on'\n"},
    {"struct_without_name", "struct { a : f32 }\n", "1:8: error: expected the struct's name, found '{'\n"},
    {"struct_without_braces", "struct S a : f32;\n", "1:10: error: expected '{' and the members, found 'a'\n"},
    {"struct_without_type", "struct S { a f32 }\n",
     "1:14: error: expected ',' or ':' and the members' type, found 'f32'\n"},
    {"struct_without_member", "struct S { }\n", "1:12: error: expected a member's name, found '}'\n"},
    {"struct_not_closed", "struct S { a : f32\ngrid G = [0 .. 9], 4;\n",
     "2:1: error: expected ';' or '}', found 'grid'\n"},
    {"member_behind_dot", GRID1 INNER1 "A. + 1;\n", "4:29: error: expected a member's name after '.', found '+'\n"},
    {"member_behind_dot_of_target", GRID1 "stencil s(A)[G] { A. = 1; }\n",
     "4:22: error: expected a member's name after '.', found '='\n"},
    {"braces_not_closed", GRID1 INNER1 "{A, 2;\n", "4:31: error: expected ',' or '}', found ';'\n"},
    {"call_not_closed", GRID1 INNER1 "max(A, 2;\n", "4:34: error: expected ',' or ')', found ';'\n"},
    {"function_without_name", "fn (a : f32) : f32 = 1;\n", "1:4: error: expected the function's name, found '('\n"},
    {"parameter_without_name", "fn f(3 : f32) : f32 = 1;\n", "1:6: error: expected a parameter's name, found '3'\n"},
    {"parameters_not_closed", "fn f(a : f32 : f32 = 1;\n", "1:14: error: expected ',' or ')', found ':'\n"},
    {"macro_without_name", "op (X) = X;\n", "1:4: error: expected the macro's name, found '('\n"},
    {"macro_parameter_without_name", "op f(3) = 1;\n", "1:6: error: expected a parameter's name, found '3'\n"},
    {"macro_not_closed", "op f(X = X;\n", "1:8: error: expected ',' or ')', found '='\n"},
    {"index_without_name", GRID1 "stencil s(A)[G] { var v = A; for (3 in 0 .. 2) { v = 2 * v; } A = v; }\n",
     "4:35: error: expected the index's name, found '3'\n"},
    {"table_not_closed", "const w[2] = {1, 2;\n", "1:19: error: expected ',' or '}', found ';'\n"},
    {"table_length_not_closed", "const w[2 = {1, 2};\n", "1:11: error: expected ']', found '='\n"},
    {"constant_without_name", "const 3 = 4;\n", "1:7: error: expected a constant's name, found '3'\n"},
    {"reduction_without_name", GRID1 "reduce = sum(A) over G every 2;\nstencil s(A)[G] = A;\n",
     "4:8: error: expected the reduction's name, found '='\n"},
    {"stencil_without_name", GRID1 "stencil (A)[G] = A;\n", "4:9: error: expected the stencil's name, found '('\n"},
    {"init_without_name", GRID1 "init (A)[G] = A;\n", "4:6: error: expected the init's name, found '('\n"},
    {"grid_without_name", "grid = [0 .. 9], 4;\n", "1:6: error: expected the grid's name, found '='\n"},
    {"region_without_name", "grid G = [0 .. 9], 4;\nregion = [0 .. 4];\n",
     "2:8: error: expected the region's name, found '='\n"},
    {"stencil_without_value", GRID1 "stencil s(A)[G] A;\n", "4:17: error: expected '=' or '{', found 'A'\n"},
    {"unknown_word", "quux 3;\n",
     "1:1: error: expected a declaration (param, const, let, struct, grid, region, field, op, fn, stencil, init, "
     "sweep, "
     "inject, mask, reduce, probe, scalar, update, repeat, levels, each, absorb, until, members, loss or gradient), "
     "found 'quux'\n"},
    {"question_mark", GRID1 INNER1 "A > 0 ? 1 : 2;\n",
     "4:32: error: '?' is no operator; a choice is written 'if c then a else b'\n4:34: error: expected ';', found "
     "'1'\n"},
    {"caret", GRID1 INNER1 "A^2;\n",
     "4:27: error: '^' needs integers, but this operand is f32; a power is written 'pow(x, y)'\n"},
    {"two_stars", GRID1 INNER1 "A**2;\n", "4:27: error: '**' is no operator; a power is written 'pow(x, y)'\n"},
    {"logic_in_words",
     GRID1 INNER1 "if A > 0 and A < 1 then 1 else A;\nstencil t(A)[G] = if A > 0 or A < 1 then 1 else A;\n",
     "4:35: error: expected 'then', found 'and'; logic is written '&&'\n5:28: error: expected 'then', found 'or'; "
     "logic is written '||'\n"},
};

int main(void) { return run_cases("frontend_syntax", cases, sizeof cases / sizeof *cases); }
