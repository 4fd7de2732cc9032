/* tests/unit/frontend_sums_test.c: what is wrong with sums over an index and with elements of tables, with line,
 * column and text. */
#include "frontend_cases.h"

#define TABLE "const w[3] = {1, 2, 3};\n"

static const FrontendCase cases[] = {
    {"leaves", GRID1 INNER1 "sum(r in 1 .. 2) A[r];\n",
     "4:43: error: the access A[2] from region [1 .. N - 2] leaves the region [0 .. N - 1] of field 'A' at the upper "
     "end of dimension 0, by 1; shrink the stencil's region, or give 'A' a rule: "
     "outside clamp, mirror, periodic or a constant\n"
     "4:26: note: where 'r' is 2\n"},
    {"no_index", GRID1 INNER1 "sum(A);\n",
     "4:30: error: expected a new name and its range, as in 'sum(r in 1 .. 4) A[r]', found 'A'\n"},
    {"reserved_index", GRID1 INNER1 "prod(step in 1 .. 2) A;\n",
     "4:31: error: expected a new name and its range, as in 'prod(r in 1 .. 4) A[r]', found 'step'\n"},
    {"one_bound", GRID1 INNER1 "sum(r in 3) A;\n", "4:36: error: expected '..' and the last value, found ')'\n"},
    {"no_bracket", GRID1 INNER1 "sum(r in 1 .. 3, A);\n", "4:41: error: expected ')', found ','\n"},
    {"no_body", GRID1 INNER1 "sum(r in 1 .. 3);\n", "4:42: error: expected an expression, found ';'\n"},
    {"running_bound", GRID1 INNER1 "sum(r in 1 .. N) A;\n",
     "4:40: error: the last value of an index must be a constant, but 'N' is known only when the program runs\n"},
    {"float_bound", GRID1 INNER1 "sum(r in 0.5 .. 3) A;\n",
     "4:35: error: the first value of an index must be an integer constant\n"},
    {"min_of_nothing", GRID1 INNER1 "min(r in 1 .. 0) A;\n",
     "4:26: error: 'min' over an empty range has no value; let the range have a value in it\n"},
    {"max_of_nothing", GRID1 INNER1 "max(r in 1 .. -1) A;\n",
     "4:26: error: 'max' over an empty range has no value; let the range have a value in it\n"},
    {"too_many_terms", GRID1 INNER1 "sum(r in 1 .. 1025) A;\n", "4:26: error: this 'sum' has more than 1024 terms\n"},
    {"far_bounds", GRID1 INNER1 "sum(r in -9223372036854775807 .. 9223372036854775807) A;\n",
     "4:26: error: this 'sum' has more than 1024 terms\n"},
    {"last_bound", GRID1 INNER1 "A + sum(r in 9223372036854775807 .. 9223372036854775807) f32(r);\n", ""},
    {"index_is_field", GRID1 INNER1 "sum(A in 1 .. 2) 1;\n",
     "4:30: error: the name 'A' is taken; an index cannot have the name of anything declared before\n3:7: note: 'A' is "
     "a field declared here\n"},
    {"index_is_let", GRID1 "stencil s(A)[G] { let x = A; A = x + sum(x in 1 .. 2) 1; }\n",
     "4:42: error: the name 'x' is taken; an index cannot have the name of anything declared before\n4:23: note: 'x' "
     "is a let declared here\n"},
    {"index_twice", GRID1 INNER1 "sum(r in 0 .. 1) (sum(r in 0 .. 1) A[r]);\n",
     "4:48: error: the name 'r' is taken; an index cannot have the name of anything declared before\n4:26: note: where "
     "'r' is 0\n4:30: note: 'r' is an index declared here\n"},
    {"index_is_parameter", GRID1 "op f(X) = sum(X in 0 .. 1) X;\n" INNER1 "f(A);\n",
     "4:15: error: the index 'X' has the name of a parameter; choose another\n"},
    {"index_in_op_is_field", GRID1 "op f(X) = sum(A in 0 .. 1) X;\n" INNER1 "f(A);\n",
     "4:15: error: the name 'A' is taken; an index cannot have the name of anything declared before\n3:7: note: 'A' is "
     "a field declared here\n"},
    {"index_out_of_scope", GRID1 INNER1 "sum(r in 0 .. 1) A[r] + r;\n",
     "4:50: error: 'r' is not declared; names are declared before they are used\n"},
    {"index_out_of_scope_in_op", GRID1 "op f(X) = sum(r in 0 .. 1) X[r] + r;\n" INNER1 "f(A);\n",
     "4:35: error: 'r' is not declared; names are declared before they are used\n"},
    {"index_with_offset", GRID1 INNER1 "sum(r in 0 .. 1) r[0];\n",
     "4:43: error: 'r' is a constant; only fields and a macro's parameters take offsets\n4:26: note: where 'r' is 0\n"},
    {"index_called", GRID1 INNER1 "sum(r in 0 .. 1) r(0);\n",
     "4:43: error: 'r' is a value, not a function; offsets stand in square brackets: 'r[...]'\n4:26: note: where 'r' "
     "is 0\n"},
    {"index_and_float", GRID1 INNER1 "sum(r in 0 .. 1) A * idx(0) * r;\n",
     "4:45: error: '*' mixes f32 and i64; convert one side: real(idx(0)) or f32(idx(0))\n4:26: note: where 'r' is 0\n"},
    {"table_beyond", GRID1 TABLE INNER1 "sum(r in 1 .. 3) w[r] * A;\n",
     "5:45: error: index 3 is outside the table 'w' of 3 values; indices begin at 0\n5:26: note: where 'r' is 3\n"},
    {"table_of_one_in_table",
     GRID1 "const one[1] : i64 = {7};\nconst w[1] = {2.5};\nfield K : i64 on G input;\n" INNER1 "w[one[K]] * A;\n", ""},
    {"table_float_index", GRID1 TABLE INNER1 "w[A];\n", "5:28: error: a table's index must be an integer\n"},
    {"table_literal_index", GRID1 TABLE INNER1 "w[0.5];\n", "5:28: error: a table's index must be an integer\n"},
    {"table_narrow_index", GRID1 TABLE "field K : i32 on G input;\n" INNER1 "w[K] * A;\n",
     "6:28: error: a table's index is i64, but this value is i32; convert it: i64(...)\n"},
    {"table_running_in_const", GRID1 TABLE "const c = w[N];\n" INNER1 "c * A;\n",
     "5:13: error: a table's index must be a constant, but 'N' is known only when the program runs\n"},
    {"table_of_two_types", GRID1 "const w[2] = {1, true};\n" INNER1 "w[idx(0)] * A;\n",
     "5:26: error: 'if' mixes an integer literal and bool; bool and numbers do not mix, write a comparison or a "
     "conversion\n"},
    {"table_at_launch", GRID1 TABLE "let x : f32 = w[N - 9];\n" INNER1 "x * A;\n", ""},
};

int main(void) { return run_cases("frontend_sums", cases, sizeof cases / sizeof *cases); }
