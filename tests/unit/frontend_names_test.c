/* tests/unit/frontend_names_test.c: what is said about names, with line, column and text. */
#include "frontend_cases.h"

static const FrontendCase cases[] = {
    {"random_declared", GRID1 "op random(a, b) = a + b;\nfield normal : f32 on G;\n" INNER1 "random(normal[1], A);\n",
     ""},
    {"random_declared_below", GRID1 "op noise(n) = random(1, n);\nop random(a, b) = 1;\n" INNER1 "noise(0);\n",
     "5:4: error: the name 'random' is taken: it was used above for random numbers; declare it before that\n"
     "4:15: note: 'random' is used here\n"},
    {"normal_declared_below", GRID1 INNER1 "normal(1, 0);\nfield normal : f32 on G;\n",
     "5:7: error: the name 'normal' is taken: it was used above for random numbers; declare it before that\n"
     "4:26: note: 'normal' is used here\n"},
    {"random_local", GRID1 "stencil s(A)[G] { let random = 2 * A; A = random(1, 0); }\n",
     "4:43: error: 'random' is a value, not a function; offsets stand in square brackets: 'random[...]'\n"},
    {"point_in_macro",
     "param xs[3] : i32, w[3] : f32;\n" GRID1 "op f(X) = X * w[point];\ninject j(A) += f(A) at [xs];\n",
     "5:17: error: 'point' is known in an inject alone, not in a macro; give the macro a parameter for it and call it "
     "with 'point'\n"},
    {"point_moved",
     "param xs[3] : i32, w[3] : f32;\n" GRID1 "op f(X) = X[1] - X;\ninject j(A) += f(w[point]) at [xs];\n", ""},
    {"point_in_argument",
     "param xs[3] : i32, w[3] : f32;\n" GRID1 "op f(X) = 2 * X;\ninject j(A) += f(w[point]) at [xs];\n", ""},
    {"float_of_c", "grid G = [0 .. 3], 1;\nfield A : float;\n",
     "2:11: error: there is no type 'float'; write f32, or real for f32 that -freal=f64 makes f64\n"},
    {"double_of_c", "param a : double = 1;\ngrid G = [0 .. 3], 1;\n",
     "1:11: error: there is no type 'double'; write f64\n"},
    {"int_of_c", "grid G = [0 .. 3], 1;\nfield A : int[2];\n", "2:11: error: there is no type 'int'; write i32\n"},
    {"outside_of_another_name", "grid G = [0 .. 3], 1;\nfield A : f32 on G outside reflecting;\n",
     "2:28: error: 'reflecting' is no rule for what is beyond the edges; there are clamp, mirror and periodic, or it "
     "is a "
     "constant, such as 0\n"},
    {"outside_of_numpy", "grid G = [0 .. 3], 1;\nfield A : f32 on G outside wrap;\n",
     "2:28: error: 'wrap' is no rule for what is beyond the edges; the other end's values are 'periodic'\n"},
    {"time_of_mathematics", GRID1 INNER1 "A + sin(t);\n",
     "4:34: error: 't' is not declared; the number of the step is 'step', the time 'real(step) * dt'\n"},
    {"indices_of_c", GRID2 INNER2 "A[i-1,j] + A[0,j+1];\n",
     "4:36: error: offsets are relative to the point that is computed: write A[-1,0]; its coordinates are idx(0) and "
     "idx(1)\n4:47: error: offsets are relative to the point that is computed: write A[0,1]; its coordinates are "
     "idx(0) and idx(1)\n"},
    {"index_of_c", GRID1 INNER1 "A[i];\n",
     "4:26: error: offsets are relative to the point that is computed: write A[0]; its coordinates are idx(0)\n"},
    {"offset_of_no_name_and_no_index", GRID2 INNER2 "A[i*2,0];\n",
     "4:38: error: 'i' is not declared; names are declared before they are used\n"},
    {"name_of_an_init", GRID1 "init start(A)[G] = 0;\nstencil start(A)[G] = A;\n",
     "5:9: error: the name 'start' is taken; all names of a program differ\n4:6: note: 'start' is an init declared "
     "here\n"},
    {"let_with_the_name_of_an_init", GRID1 "init start(A)[G] = 0;\nstencil s(A)[G] { let start = A; A = start; }\n",
     "5:23: error: the name 'start' is taken; a let cannot have the name of anything declared before\n4:6: note: "
     "'start' is an init declared here\n"},
    {"undeclared", GRID1 INNER1 "A + B;\n",
     "4:30: error: 'B' is not declared; names are declared before they are used\n"},
    {"near_name", GRID1 "param viscosity : f32 = 1;\n" INNER1 "A + viscosty;\n",
     "5:30: error: 'viscosty' is not declared; did you mean 'viscosity'?\n"},
    {"near_function", GRID1 INNER1 "sqr(A);\n", "4:26: error: 'sqr' is not declared; did you mean 'sqrt'?\n"},
    {"near_region",
     GRID1 "region interior = [1 .. N-2];\n"
           "stencil s(A)[G] = A;\n"
           "field B : f32 on interor;\n",
     "6:18: error: 'interor' is not declared; did you mean 'interior'?\n"},
    {"near_target",
     GRID1 "field velocity : f32 on G;\n"
           "stencil s(velocty)[G] = A;\n",
     "5:11: error: 'velocty' is not declared; did you mean 'velocity'?\n"},
    {"later_name",
     GRID1 INNER1 "A + B;\n"
                  "field B : f32 on G;\n",
     "4:30: error: 'B' is not declared; names are declared before they are used\n"},
    {"taken", GRID1 "param A = 3;\n",
     "4:7: error: the name 'A' is taken; all names of a program differ\n"
     "3:7: note: 'A' is a field declared here\n"},
    {"let_takes_field", GRID1 "stencil s(A)[G] { let A = 1; A = 2; }\n",
     "4:23: error: the name 'A' is taken; a let cannot have the name of anything declared before\n"
     "3:7: note: 'A' is a field declared here\n"},
    {"let_twice", GRID1 "stencil s(A)[G] { let a = 1; let a = 2; A = a; }\n",
     "4:34: error: the name 'a' is taken; a let cannot have the name of anything declared before\n"
     "4:23: note: 'a' is a let declared here\n"},
    {"parameter_takes_field", GRID1 "op d(A) = A[1] - A;\n" INNER1 "d(A);\n",
     "4:6: error: the parameter 'A' has the name of a field; names are not shadowed, choose another\n"
     "3:7: note: 'A' is declared here\n"},
    {"parameter_twice", GRID1 "op d(X, X) = X[1] - X;\n" INNER1 "A;\n", "4:9: error: there are two parameters 'X'\n"},
    {"macro_body", GRID1 "op d(X) = X[1] - Y;\n" INNER1 "d(A);\n",
     "4:18: error: 'Y' is not declared; names are declared before they are used\n"},
    {"region_as_value", GRID1 INNER1 "A + G;\n", "4:30: error: 'G' is the grid, not a value\n"},
    {"stencil_as_value",
     GRID1 INNER1 "A;\n"
                  "stencil t(A)[G] = s;\n",
     "5:19: error: 's' is a stencil, not a value\n"},
    {"value_as_region", GRID1 "field B : f32 on N;\n" INNER1 "A;\n", "4:18: error: 'N' is a param, not a region\n"},
    {"macro_as_value", GRID1 "op d(X) = X[1] - X;\n" INNER1 "d;\n",
     "5:26: error: 'd' is a macro and needs its arguments: 'd(...)'\n"},
    {"function_as_value", GRID1 INNER1 "sqrt;\n", "4:26: error: 'sqrt' needs arguments: 'sqrt(...)'\n"},
    {"field_as_function", GRID1 INNER1 "A(1);\n",
     "4:26: error: 'A' is a field, not a function; offsets stand in square brackets: 'A[...]'\n"},
    {"function_with_offset", GRID1 INNER1 "sqrt[1];\n", "4:26: error: 'sqrt' takes no offset\n"},
    {"offset_of_param", GRID1 INNER1 "A * f32(N[1]);\n",
     "4:34: error: 'N' is a param; only fields and a macro's parameters take offsets\n"},
    {"offset_of_let", GRID1 "stencil s(A)[G] { let a = A; A = a[1]; }\n",
     "4:34: error: 'a' is a let; only fields and a macro's parameters take offsets\n"},
    {"table_as_value",
     "const w[2] = {1, 2};\n"
     "param N = 10;\n"
     "grid G = [0 .. N-1], 4;\n"
     "field A : f32 on G;\n" INNER1 "A * w;\n",
     "5:30: error: 'w' is a table; its values are 'w[0]' to 'w[1]'\n"},
    {"table_index",
     "const w[2] = {1, 2};\n"
     "param N = 10;\n"
     "grid G = [0 .. N-1], 4;\n"
     "field A : f32 on G;\n" INNER1 "A * w[2];\n",
     "5:32: error: index 2 is outside the table 'w' of 2 values; indices begin at 0\n"},
    {"table_length",
     "const w[3] = {1, 2};\n"
     "param N = 10;\n"
     "grid G = [0 .. N-1], 4;\n"
     "field A : f32 on G;\n" INNER1 "A * w[1];\n",
     "1:7: error: the table 'w' has 2 values, but its length is 3\n"},
    {"macro_arguments", GRID1 "op d(X, Y) = X[1] - Y;\n" INNER1 "d(A);\n",
     "5:26: error: 'd' takes 2 arguments, not 1\n"},
    {"function_arguments", GRID1 INNER1 "min(A);\n", "4:26: error: 'min' takes 2 arguments, not 1\n"},
    {"conversion_arguments", GRID1 INNER1 "f32(A, 1);\n", "4:26: error: 'f32' takes 1 argument, not 2\n"},
    {"step_call", GRID1 INNER1 "f32(step(1));\n", "4:30: error: 'step' takes no arguments\n"},
    {"second_grid", GRID1 "grid H = [0 .. 3], 1;\n" INNER1 "A;\n",
     "4:6: error: a program has one grid; 'H' is the second, use region for a part of the grid\n"
     "2:6: note: the grid is declared here\n"},
    {"no_grid", "param N = 3;\n", "1:1: error: the program has no grid; declare one: grid G = [0 .. N-1], STEPS;\n"},
    {"grid_late",
     "field A : f32;\n"
     "grid G = [0 .. 3], 1;\n"
     "region R = [0];\n",
     "1:7: error: 'A' needs a grid, which must be declared before it: grid G = [0 .. N-1], STEPS;\n"},
    {"target_kind", GRID1 "stencil s(N)[G] = A;\n", "4:11: error: 'N' is a param; only fields can be targets\n"},
    {"target_twice", GRID1 "stencil s(A, A)[G] { A = 1; }\n", "4:14: error: 'A' is a target twice\n"},
    {"input_target",
     GRID1 "field K : f32 on G input;\n"
           "stencil s(K)[G] = A;\n",
     "5:11: error: 'K' is an input field, which no stencil may write; leave out 'input'\n"},
    {"temp_in_init",
     GRID1 "field T : f32 on G temp;\n"
           "init s(T)[G] = 1;\n",
     "5:8: error: 'T' is a temp field, which holds nothing before the first step; an init cannot set it\n"},
    {"input_and_temp", GRID1 "field T : f32 on G temp input;\n",
     "4:7: error: field 'T' cannot be both input (never written) and temp (always written)\n"},
    {"no_target",
     GRID1 "field B : f32 on G;\n"
           "stencil s(A)[G] { A = 1; B = 2; }\n",
     "5:26: error: 'B' is no target of 's'; name it in the brackets after 's'\n"},
    {"assigned_twice", GRID1 "stencil s(A)[G] { A = 1; A = 2; }\n",
     "4:26: error: 'A' is assigned twice in this block\n"},
    {"assigned_param", GRID1 "stencil s(A)[G] { A = 1; N = 2; }\n",
     "4:26: error: 'N' is a param; only target fields are assigned to (a new name needs 'let' or 'var')\n"},
    {"never_assigned",
     GRID1 "field B : f32 on G;\n"
           "stencil s(A, B)[G] { A = 1; }\n",
     "5:9: error: 's' never assigns to its target 'B'\n"},
    {"two_targets_one_value",
     GRID1 "field B : f32 on G;\n"
           "stencil s(A, B)[G] = 1;\n",
     "5:20: error: 's' has 2 targets; write a block that assigns to each: { A = ...; }\n"},
    {"unused",
     GRID1 "param x = 1;\n"
           "const c = 2;\n"
           "op d(X) = X;\n"
           "region R = [0];\n"
           "field B : f32;\n"
           "let l = 1.0;\n"
           "stencil s(A)[1 .. N-2] { let q = A; A = A; }\n",
     "10:30: warning: 'q' is never used\n"
     "4:7: warning: 'x' is never used\n"
     "5:7: warning: 'c' is never used\n"
     "6:4: warning: 'd' is never used\n"
     "7:8: warning: 'R' is never used\n"
     "8:7: warning: 'B' is never used\n"
     "9:5: warning: 'l' is never used\n"},
    {"undeclared_once_in_macro", GRID1 "op lap(X) = X[-1] + X[1] - 2 * X;\n" INNER1 "lap(B);\n",
     "5:30: error: 'B' is not declared; names are declared before they are used\n"},
    {"table_rank", "const w[2] = {1, 2};\n" GRID1 INNER1 "A * w[0, 1];\n",
     "5:30: error: the table 'w' takes one index\n"},
    {"let_in_macro_is_unseen", GRID1 "op d(X) = X + q;\nstencil s(A)[G] { let q = 1; A = d(A); }\n",
     "4:15: error: 'q' is not declared; names are declared before they are used\n"},
    {"offset_of_an_argument_that_is_a_value", GRID1 "op d(X) = X[1] - X;\n" INNER1 "d(2 * N);\n",
     "4:16: error: field 'A' is f32, but this value is i64; convert it: real(...) or f32(...)\n"},
    {"table_of_running_length", "param N = 2;\nconst w[N] = {1, 2};\n",
     "2:9: error: a table's length must be a constant, but 'N' is known only when the program runs\n"},
    {"const_of_choice", "const k = (if 1 < 2 then {1, 2} else {3, 4})[0];\n",
     "1:45: error: the value of 'k' must be a constant\n"},
    {"outside_of_choice",
     "grid G = [0 .. 9], 1;\nfield A : f32 outside (if 1 < 2 then {1, 2} else {3, 4})[0];\nstencil s(A)[G] = A;\n",
     "2:57: error: the value outside a field must be a constant\n"},
};

int main(void) { return run_cases("frontend_names", cases, sizeof cases / sizeof *cases); }
