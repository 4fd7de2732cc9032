/* tests/unit/frontend_fn_test.c: what is wrong with functions, vars, loops and if statements, with line, column and
 * text. */
#include "frontend_cases.h"

/* The end of a program that calls the function f, declared in line 4, on A. */
#define CALL INNER1 "f(A);\n"
/* A function of one f32 with that block, in line 4. */
#define FN(BLOCK) GRID1 "fn f(a : f32) : f32 { " BLOCK " }\n" CALL
/* A stencil with that block, in line 4. */
#define BLOCK(TEXT) GRID1 "stencil s(A)[1 .. N-2] { " TEXT " }\n"

static const FrontendCase cases[] = {
    /* what is right */
    {"expression", GRID1 "fn f(a, b : f32, c : i64) : f32 = a * b + f32(c);\n" INNER1 "f(A, 1, 2);\n", ""},
    {"no_parameters", GRID1 "fn f() : f32 = 0.5;\n" INNER1 "A * f();\n", ""},
    {"block", FN("let b = 2 * a; var c = b; c = c + 1; return c;"), ""},
    {"else_if", FN("var c = a; if a < 0 { c = 1; } else if a < 1 { c = 2; } else { c = 3; } return c;"), ""},
    {"var_begins_as_0", FN("var v : f32[3]; var s : f32; v[1] = a; for (i in 0 .. 2) { s = s + v[i]; } return s;"), ""},
    {"same_names_in_two_functions",
     GRID1 "fn g(a : f32) : f32 { let b = a; return b; }\nfn f(a : f32) : f32 { let b = g(a); return b; }\n" CALL, ""},
    {"name_of_a_later_declaration",
     GRID1 "fn f(a : f32) : f32 { let late = a; var k = late; for (z in 0 .. 1) { k = k + a; } return k; }\nparam late "
           ": f32 = 1, z = 1;\n" INNER1 "f(A) * late * f32(z);\n",
     ""},
    {"constant_branch", FN("var v : f32[2]; for (i in 0 .. 1) { if i < 1 { v[i + 1] = a; } } return v[1];"), ""},
    {"in_bound",
     "fn twice(n : i64) : i64 = 2 * n;\nparam N = 10;\ngrid G = [0 .. N-1], twice(2);\nfield A : f32 on G;\n" INNER1
     "A[twice(-1) + 1];\n",
     ""},
    {"constant_argument_as_index", GRID1 "const w[2] = {1, 2};\nfn f(i : i64) : f32 = w[i];\n" INNER1 "A * f(1);\n",
     ""},
    {"constant_argument_beyond_table", GRID1 "const w[2] = {1, 2};\nfn f(i : i64) : f32 = w[i];\n" INNER1 "A * f(7);\n",
     ""},
    {"block_of_stencil", BLOCK("var x = A; for (i in 0 .. 1) { let y = x * x; if y > 1 { x = y; } } A = x;"), ""},
    {"moved_let_in_loop", BLOCK("var x = A; for (i in 0 .. 1) { let y = A[i - 1]; x = x + y; } A = x;"), ""},
    /* syntax */
    {"no_return", FN("let b = a;"), "4:21: error: the block of function 'f' must end with 'return' and its value\n"},
    {"empty_block", FN(""), "4:21: error: the block of function 'f' must end with 'return' and its value\n"},
    {"early_return", FN("if a < 0 { return a; } return a;"),
     "4:34: error: 'return' stands once, at the end of a function's block; give a var its value where this is, and "
     "return that\n"},
    {"two_returns", FN("return a; return a;"),
     "4:23: error: 'return' stands once, at the end of a function's block; give a var its value where this is, and "
     "return that\n"},
    {"return_in_stencil", BLOCK("A = A; return A;"),
     "4:33: error: 'return' stands once, at the end of a function's block; give a var its value where this is, and "
     "return that\n"},
    {"no_result_type", GRID1 "fn f(a : f32) = a;\n" CALL,
     "4:15: error: expected ':' and the type of the result, found '='\n"},
    {"no_parameter_type", GRID1 "fn f(a) : f32 = a;\n" CALL,
     "4:7: error: expected ',' or ':' and the parameter's type, found ')'\n"},
    {"no_result", GRID1 "fn f(a : f32) : f32;\n" CALL,
     "4:20: error: expected '=' and the result, or a block, found ';'\n"},
    {"reserved_name", GRID1 "fn sqrt(a : f32) : f32 = a;\n" INNER1 "A;\n",
     "4:4: error: expected the function's name, but 'sqrt' is a word of the language; choose another name\n"},
    {"loop_without_bracket", FN("for i in 0 .. 1 { } return a;"),
     "4:27: error: expected '(' as in 'for (i in 0 .. 2) { ... }', found 'i'\n"},
    {"loop_without_in", FN("for (i = 0 .. 1) { } return a;"),
     "4:28: error: a loop is written for (i in 0 .. 3) { ... }, with constants and both ends included; over the points "
     "of its region a stencil runs by itself\n"},
    {"loop_without_end", FN("for (i in 0) { } return a;"),
     "4:34: error: expected '..' and the last value, found ')'\n"},
    {"loop_without_block", FN("for (i in 0 .. 1) a = 1; return a;"), "4:41: error: expected '{', found 'a'\n"},
    {"if_with_then", FN("var b = a; if a < 0 then b = 1; return b;"),
     "4:43: error: expected '{' (the branches of an if statement are blocks), found 'then'\n"},
    {"else_without_block", FN("var b = a; if a < 0 { } else b = 1; return b;"),
     "4:52: error: expected '{' or 'if' after 'else', found 'b'\n"},
    {"var_without_value", FN("var b; return a;"), "4:28: error: expected '=', found ';'\n"},
    {"statement", FN("3 = a; return a;"),
     "4:23: error: expected a statement (let, var, for, if, or the name of what is assigned) or '}', found '3'\n"},
    {"no_member_name", FN("var b = {a, a}; b.0 = 1; return a;"), "4:40: error: expected '=', found '.0'\n"},
    {"goes_on_after_errors",
     GRID1 "fn f(a : f32) : f32 {\n  for (i 0 .. 1) { b = 1; }\n  let c = ;\n  if a { c = 1;\n  return q;\n}\nfn g(a : "
           "f32) : f32 = a * w;\n" INNER1 "g(A) + A[9];\n",
     "5:10: error: expected 'in' as in 'for (i in 0 .. 2) { ... }', found '0'\n6:11: error: expected an expression, "
     "found ';'\n10:1: error: expected '}', found 'fn'\n"
     "10:27: error: 'w' is not declared; names are declared before they are used\n"
     "11:33: error: the access A[9] from region [1 .. N - 2] leaves the region [0 .. N - 1] of field 'A' at the upper "
     "end of dimension 0, by 8; shrink the stencil's region, or give 'A' a rule: "
     "outside clamp, mirror, periodic or a constant\n"},
    /* names */
    {"recursion", GRID1 "fn f(a : f32) : f32 = f(a);\n" INNER1 "A;\n",
     "4:23: error: 'f' calls itself; there is no recursion, a function sees only what is declared before it\n"},
    {"parameter_is_field", GRID1 "fn f(A : f32) : f32 = 1;\n" INNER1 "A;\n",
     "4:6: error: the name 'A' is taken; a parameter cannot have the name of anything declared before\n3:7: note: 'A' "
     "is a field declared here\n"},
    {"parameter_twice", GRID1 "fn f(a, a : f32) : f32 = 1;\n" INNER1 "A;\n",
     "4:9: error: the name 'a' is taken; a parameter cannot have the name of anything declared before\n4:6: note: 'a' "
     "is a parameter declared here\n"},
    {"var_is_parameter", FN("var a = 1; return a;"),
     "4:27: error: the name 'a' is taken; a var cannot have the name of anything declared before\n4:6: note: 'a' is a "
     "parameter declared here\n"},
    {"taken_name_is_reported_once", FN("let A = a; var N = A; return N + A;"),
     "4:27: error: the name 'A' is taken; a let cannot have the name of anything declared before\n3:7: note: 'A' is a "
     "field declared here\n"
     "4:38: error: the name 'N' is taken; a var cannot have the name of anything declared before\n1:7: note: 'N' is a "
     "param declared here\n"},
    {"let_is_index", FN("for (i in 0 .. 1) { let i = a; } return a;"),
     "4:47: error: the name 'i' is taken; a let cannot have the name of anything declared before\n4:28: note: 'i' is "
     "an index declared here\n"},
    {"index_is_field", FN("for (A in 0 .. 1) { } return a;"),
     "4:28: error: the name 'A' is taken; an index cannot have the name of anything declared before\n3:7: note: 'A' is "
     "a field declared here\n"},
    {"sum_index_is_var", FN("var i = a; return sum(i in 0 .. 1) a;"),
     "4:45: error: the name 'i' is taken; an index cannot have the name of anything declared before\n4:27: note: 'i' "
     "is a var declared here\n"},
    {"out_of_scope", FN("for (i in 0 .. 1) { let b = a; } return b;"),
     "4:63: error: 'b' is not declared; names are declared before they are used\n"},
    {"bare_function", GRID1 "fn f(a : f32) : f32 = a;\n" INNER1 "f * A;\n",
     "5:26: error: 'f' is a function and needs its arguments: 'f(...)'\n"},
    {"argument_count", GRID1 "fn f(a : f32) : f32 = a;\n" INNER1 "f(A, A);\n",
     "5:26: error: 'f' takes 1 argument, not 2\n"},
    {"argument_type", GRID1 "fn f(a : f32) : f32 = a;\n" INNER1 "f(idx(0));\n",
     "5:28: error: the argument 'a' of 'f' is f32, but this value is i64; convert it: real(idx(0)) or f32(idx(0))\n"},
    {"result_type", GRID1 "fn f(a : f32) : i64 = a;\n" INNER1 "A;\n",
     "4:23: error: the result of 'f' is i64, but this value is f32; convert it: i64(a)\n"},
    {"storage_parameter", GRID1 "fn f(a : f16) : f32 = 1;\n" INNER1 "A;\n",
     "4:10: error: f16 is a type for fields, members of structs and launch-time arrays; computations are in f32, write "
     "that\n"},
    /* what functions see */
    {"field", FN("return a + A;"),
     "4:34: error: 'A' is a field, which a function cannot read; pass it as an argument, or make 'f' a macro: op "
     "f(...) = ...;\n"},
    {"field_at_offset", FN("return a + A[1];"),
     "4:34: error: 'A' is a field, which a function cannot read; pass it as an argument, or make 'f' a macro: op "
     "f(...) = ...;\n"},
    {"coordinate", FN("return a + f32(idx(0));"),
     "4:38: error: 'idx' is the coordinate of the point, which a function cannot read; pass it as an argument, or make "
     "'f' a macro: op f(...) = ...;\n"},
    {"step", FN("return a + f32(step);"),
     "4:38: error: 'step' is the number of the running step, which a function cannot read; pass it as an argument, or "
     "make 'f' a macro: op f(...) = ...;\n"},
    {"moved_parameter", GRID1 "op right(X) = X[1];\nfn f(a : f32) : f32 = right(a);\n" INNER1 "A;\n",
     "5:29: error: 'a' is a parameter, which has a value at the point in hand only; a macro cannot read it at a "
     "neighbour or at an older level\n"},
    {"param_in_constant", "param c = 3;\nfn f(a : i64) : i64 = a + c;\n" GRID1 INNER1 "A[f(0)];\n",
     "2:27: error: an offset must be a constant, but 'c' is known only when the program runs\n6:28: note: in the "
     "expansion of 'f' here\n"},
    {"running_argument_in_constant",
     GRID1 "fn f(n : i64) : f32 { var b = 1.0; for (i in 0 .. n) { b = b + 1; } return b; }\n" INNER1 "A;\n",
     "4:51: error: the last value of an index must be a constant, but 'n' is known only when the program runs\n"},
    /* statements */
    {"assigned_parameter", FN("a = 1; return a;"),
     "4:23: error: 'a' is a parameter, whose value is fixed; copy it into a var\n"},
    {"assigned_let", FN("let b = a; b = 1; return b;"),
     "4:34: error: 'b' is a let, whose value is fixed; write var in place of let\n"},
    {"assigned_index", FN("for (i in 0 .. 1) { i = 1; } return a;"),
     "4:43: error: 'i' is an index, whose value is fixed; use a var\n4:28: note: where 'i' is 0\n"},
    {"assigned_field", FN("A = 1; return a;"),
     "4:23: error: 'A' is a field; a function assigns only to its own vars\n"},
    {"assigned_unknown", FN("var bcd = a; bce = 1; return bcd;"),
     "4:36: error: 'bce' is not declared; did you mean 'bcd'?\n"},
    {"assigned_type", FN("var b = a; b = true; return b;"),
     "4:38: error: 'b' is f32, but this value is bool; convert it: real(...) or f32(...)\n"},
    {"component_type", FN("var b = {a, a}; b[1] = true; return b[0];"),
     "4:46: error: 'b[1]' is f32, but this value is bool; convert it: real(...) or f32(...)\n"},
    {"component_beyond", FN("var b = {a, a}; b[2] = 1; return b[0];"),
     "4:41: error: there is no component 2 in f32[2]; its components are [0] to [1]\n"},
    {"running_component",
     GRID1 "fn f(a : f32, i : i64) : f32 { var b = {a, a}; b[i] = 1; return b[0]; }\n" INNER1 "A;\n",
     "4:50: error: a component's index must be a constant, but 'i' is known only when the program runs\n"},
    {"component_of_number", FN("var b = a; b[0] = 1; return b;"),
     "4:35: error: this value is f32, which has no components\n"},
    {"beyond_in_loop", FN("var b = {a, a}; for (i in 1 .. 2) { b[i] = 1; } return b[0];"),
     "4:61: error: there is no component 2 in f32[2]; its components are [0] to [1]\n4:44: note: where 'i' is 2\n"},
    {"condition", FN("var b = a; if a { b = 1; } return b;"),
     "4:37: error: the condition must be bool, but it is f32; write a comparison such as x != 0\n"},
    {"struct_without_value",
     "struct S { x, y : f32; }\n" GRID1 "fn f(a : f32) : f32 { var b : S; return b.x; }\n" INNER1 "A;\n",
     "5:27: error: the var 'b' of type S needs a value; only numbers and vectors begin as 0\n"},
    {"bool_without_value", FN("var b : bool; return a;"),
     "4:27: error: the var 'b' of type bool needs a value: true or false\n"},
    {"unused", FN("let b = a; var c = a; for (i in 0 .. 2) { let d = a; } return a;"),
     "4:27: warning: 'b' is never used\n4:38: warning: 'c' is never used\n4:69: warning: 'd' is never used\n"},
    {"endless", FN("var b = a; for (i in 0 .. 1000000000) { } return b;"),
     "4:39: error: the program's expressions have more than 262144 operations when macros, functions and loops are "
     "expanded; split them with let or temp fields\n"},
    {"doubling",
     GRID1 "fn f0(a : f32) : f32 = a * a;\nfn f1(a : f32) : f32 = f0(f0(f0(f0(a))));\nfn f2(a : f32) : f32 = "
           "f1(f1(f1(f1(a))));\nfn f3(a : f32) : f32 = f2(f2(f2(f2(a))));\n"
           "fn f4(a : f32) : f32 = f3(f3(f3(f3(a))));\nfn f5(a : f32) : f32 = f4(f4(f4(f4(a))));\nfn f6(a : f32) : f32 "
           "= f5(f5(f5(f5(a))));\nfn f7(a : f32) : f32 = f6(f6(f6(f6(a))));\n"
           "fn f8(a : f32) : f32 = f7(f7(f7(f7(a))));\n" INNER1 "f8(A);\n",
     "13:26: error: the program's expressions have more than 262144 operations when macros, functions and loops are "
     "expanded; split them with let or temp fields\n"},
    /* blocks of stencils */
    {"target_in_loop", BLOCK("for (i in 0 .. 1) { A = 1; }"),
     "4:46: error: the target 'A' is assigned in the block itself, not in a for or if; give a var its value here, and "
     "assign that behind\n4:31: note: where 'i' is 0\n"},
    {"target_in_if", BLOCK("if A > 0 { A = 1; }"),
     "4:37: error: the target 'A' is assigned in the block itself, not in a for or if; give a var its value here, and "
     "assign that behind\n"},
    {"moved_var", GRID1 "op right(X) = X[1];\nstencil s(A)[1 .. N-2] { var x = A; let y = x; A = x + right(y); }\n",
     "5:45: error: 'x' is a var, which has a value at the point in hand only; a macro cannot read it at a neighbour or "
     "at an older level\n"},
    {"moved_let",
     GRID1 "op right(X) = X[1];\nfn f(a : f32) : f32 { let b = 2 * a; return right(b); }\n" INNER1 "f(A);\n",
     "5:51: error: 'b' is a let of a function, which has a value at the point in hand only; a macro cannot read it at "
     "a neighbour or at an older level\n"},
    {"offset_is_var", GRID1 "stencil s(A)[G] { var n = N; A = A[n]; }\n",
     "4:36: error: an offset must be a constant, but 'n' is known only when the program runs\n"},
};

int main(void) { return run_cases("frontend_fn", cases, sizeof cases / sizeof *cases); }
