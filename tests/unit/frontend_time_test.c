/* tests/unit/frontend_time_test.c: older time levels, reductions between steps, launch-time arrays: each rule with
 * line, column and text. */
#include "frontend_cases.h"

/* A grid, a field with two older levels, and the start of a stencil on line 4. */
#define WAVE "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield U : f32 on G history 2;\n"
#define STEP "stencil s(U)[1 .. N-2] = "
#define HERE "stencil s(A)[G] = A;\n"

static const FrontendCase cases[] = {
    /* older levels */
    {"level_of_call",
     WAVE
     "op lap(X) = X[-1] + X[1];\nop dt(X) = X - X@1;\ninit a(U)[G] = 1;\ninit b(U, U@2)[G] { U@2 = 2 * U; U = 3; }\n"
     "stencil s(U)[1 .. N-2] { let v = 2 * U; U = U@1 + U@2[-1] + lap(U@1) + lap(U)@2 + dt(v) + U@(1 + 1); }\n",
     "8:78: error: only a name has older time levels: write U@1[-1] for an offset, U@1 for a field\n"},
    {"history_all",
     WAVE "const two = 2;\nop lap(X) = X[-1] + X[1];\nop dt(X) = X - X@1;\ninit a(U)[G] = 1;\ninit b(U, U@2)[G] { U@2 "
          "= 2 * U; U = 3; }\n"
          "stencil s(U)[1 .. N-2] { let v = 2 * U; U = U@1 + U@2[-1] + lap(U@1) + dt(v) + dt(lap(U@1)) + U@(1 + 1) + "
          "U@two[1] + sum(k in 1 .. 2) U@k[k-1]; }\n",
     ""},
    {"beyond_history", WAVE STEP "U@3;\n",
     "4:26: error: 'U@3' is not kept: the field has history 2; declare it with 'history 3'\n"},
    {"beyond_by_macro", WAVE "op dt(X) = X - X@1;\n" STEP "dt(dt(dt(U)));\n",
     "5:35: error: 'U@3' is not kept: the field has history 2; declare it with 'history 3'\n"},
    {"no_history", GRID1 "stencil s(A)[G] = A@1;\n",
     "4:19: error: field 'A' keeps no older levels; declare it with 'history 1'\n"},
    {"level_zero", WAVE STEP "U@0;\n", ""},
    {"level_negative", WAVE STEP "U@(0 - 1);\n",
     "4:31: error: older levels are numbered from 0, the start of the step, to 16, not -1; the field as it is now has "
     "no "
     "'@'\n"},
    {"level_large", WAVE STEP "U@17[1];\n",
     "4:28: error: older levels are numbered from 0, the start of the step, to 16, not 17; the field as it is now has "
     "no '@'\n"},
    {"level_not_constant", WAVE STEP "U@N;\n",
     "4:28: error: the number of steps back must be a constant, but 'N' is known only when the program runs\n"},
    {"level_missing", WAVE STEP "U@[1];\n", "4:28: error: expected the number of steps back, as in 'U@1', found '['\n"},
    {"level_behind_offset", WAVE STEP "U[1]@1;\n",
     "4:30: error: only a name has older time levels: write U@1[-1] for an offset, U@1 for a field\n"},
    {"level_of_param", WAVE STEP "U + f32(N@1);\n",
     "4:34: error: 'N' is a param; only fields and a macro's parameters have older levels\n"},
    {"level_of_let", WAVE "stencil s(U)[G] { let v = U; U = v@1; }\n",
     "4:34: error: 'v' is a let; only fields and a macro's parameters have older levels\n"},
    {"level_of_nothing", WAVE STEP "V@1;\n",
     "4:26: error: 'V' is not declared; names are declared before they are used\n"},
    {"level_of_step", WAVE STEP "f32(step@1);\n",
     "4:30: error: 'step' is no field; only fields and a macro's parameters have older levels\n"},
    {"level_of_input", GRID1 "field K : f32 on G input;\n" INNER1 "K@1;\n",
     "5:26: error: 'K' is an input field, which is the same in all steps; leave out the '@'\n"},
    {"level_of_temp", GRID1 "field T : f32 on G temp;\nstencil t(T)[G] = A;\n" INNER1 "T@1;\n",
     "6:26: error: 'T' is a temp field, which keeps nothing from step to step, so it has no older levels; leave out "
     "'temp'\n"},
    {"old_offset_leaves", WAVE "stencil s(U)[G] = U@1[-1];\n",
     "4:19: error: the access U@1[-1] from region [0 .. N - 1] leaves the region [0 .. N - 1] of field 'U@1' at the "
     "lower end of dimension 0, by 1; "
     "shrink the stencil's region, or give 'U@1' a rule: outside clamp, mirror, periodic or a constant\n"},
    {"step_moves_with_macro",
     WAVE "op before(X) = X@1;\nparam src[N] : f32;\nfield K : f32 on G input;\n" STEP
          "before(U + src[step] + K * f32(step));\n",
     ""},
    {"history_not_constant",
     "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield U : f32 on G history N;\nstencil s(U)[G] = U;\n",
     "3:28: error: the number of older levels must be a constant, but 'N' is known only when the program runs\n"},
    {"history_zero", "grid G = [0 .. 9], 4;\nfield U : f32 on G history 0;\nstencil s(U)[G] = U;\n",
     "2:28: error: history is 1 to 16 older levels, not 0\n"},
    {"history_many", "grid G = [0 .. 9], 4;\nfield U : f32 history 17;\nstencil s(U)[G] = U;\n",
     "2:23: error: history is 1 to 16 older levels, not 17\n"},
    {"history_twice", "grid G = [0 .. 9], 4;\nfield U : f32 history 1 history 2;\nstencil s(U)[G] = U;\n",
     "2:25: error: 'history' is given twice\n"},
    {"history_of_temp", "grid G = [0 .. 9], 4;\nfield T : f32 on G temp history 1;\nstencil s(T)[G] = 1;\n",
     "2:7: error: temp field 'T' has no history: it keeps nothing from step to step\n"},
    {"history_of_input",
     "grid G = [0 .. 9], 4;\nfield K : f32 on G history 1 input;\nfield A : f32;\nstencil s(A)[G] = K;\n",
     "2:7: error: input field 'K' has no history: it is the same in all steps\n"},
    {"history_unwritten", "grid G = [0 .. 9], 4;\nfield U, A : f32 on G history 1;\nstencil s(A)[G] = U + U@1;\n",
     "2:7: warning: no stencil writes 'U', so its older levels soon are what it is; make it an input field without "
     "history\n"},
    {"old_target", WAVE "stencil s(U, U@1)[G] { U = U; U@1 = U; }\n",
     "4:14: error: 'U@1': older levels rotate by themselves; only an init sets them\n"},
    {"old_target_beyond", WAVE "init i(U@3)[G] = 1;\n" STEP "U;\n",
     "4:8: error: 'U@3' is not kept: the field has history 2; declare it with 'history 3'\n"},
    {"old_target_undeclared", WAVE "init i(U)[G] { U = 1; U@1 = 2; }\n" STEP "U;\n",
     "4:23: error: 'U@1' is no target of 'i'; name it in the brackets after 'i'\n"},
    {"present_target_undeclared", WAVE "init i(U@1)[G] { U = 1; }\n" STEP "U;\n",
     "4:18: error: 'U' is no target of 'i'; name it in the brackets after 'i'\n"},
    {"old_target_assigned_beyond", WAVE "init i(U)[G] { U = 1; U@9 = 2; }\n" STEP "U;\n",
     "4:23: error: 'U@9' is no target of 'i'; name it in the brackets after 'i'\n"},
    {"old_target_twice", WAVE "init i(U@1)[G] { U@1 = 1; U@1 = 2; }\n" STEP "U;\n",
     "4:27: error: 'U@1' is assigned twice in this block\n"},
    {"old_target_no_number", WAVE "init i(U@N)[G] = 1;\n" STEP "U;\n",
     "4:10: error: expected the number of the older level, as in 'U@1', found 'N'\n"},
    {"old_level_in_init", WAVE "init i(U)[G] = U@1;\n" STEP "U;\n",
     "4:16: error: 'U@1' has no value yet: older levels become what the field is after all inits, unless an init "
     "before this one sets them\n"},
    {"old_level_in_init_after", WAVE "init h(U@1)[G] = 1;\ninit i(U)[G] = U@1;\n" STEP "U;\n", ""},
    {"old_let", WAVE "init i(U)[G] { let v@1 = 2; U = v; }\n" STEP "U;\n", "4:21: error: expected '=', found '@'\n"},
    /* reductions */
    {"reductions_good",
     GRID1
     "param tol : f64 = 1e-6;\nregion R = [1 .. N-2];\nreduce total = sum(A) over G every 100;\nreduce low = min(A * "
     "A) over [1 .. N-2] every 1;\n"
     "reduce count = prod(idx(0)) over R every 2 * 2;\nstencil s(A)[G] = A - f32(total) + f32(count) + f32(low);\n"
     "until max(abs(A)) over R < tol * total every 64;\nuntil sum(i64(A > 0)) over A >= 10 every 7;\nuntil min(A) over "
     "G != 0.5 every 3;\n",
     ""},
    {"until_good_before_stencils", GRID1 "until max(A) over G > 1 every 1;\n" HERE, ""},
    {"reduce_no_op", GRID1 HERE "reduce t = A over G every 1;\n",
     "5:12: error: expected sum(...), prod(...), min(...) or max(...) over a region, found 'A'\n"},
    {"reduce_no_over", GRID1 HERE "reduce t = sum(A) every 1;\n",
     "5:19: error: expected 'over' and a region, found 'every'\n"},
    {"reduce_no_region", GRID1 HERE "reduce t = sum(A) over every 1;\n",
     "5:30: error: expected 'every' and the number of steps from one evaluation to the next, found '1'\n"},
    {"reduce_no_every", GRID1 HERE "reduce t = sum(A) over G;\n",
     "5:25: error: expected 'every' and the number of steps from one evaluation to the next, found ';'\n"},
    {"reduce_no_value", GRID1 HERE "reduce t = sum() over G every 1;\n",
     "5:16: error: expected an expression, found ')'\n"},
    {"reduce_every_zero", GRID1 HERE "reduce t = sum(A) over G every 0;\n",
     "5:32: error: 'every' takes at least 1 step, not 0\n"},
    {"reduce_every_param", GRID1 HERE "reduce t = sum(A) over G every N;\n",
     "5:32: error: the number of steps after 'every' must be a constant, but 'N' is known only when the program "
     "runs\n"},
    {"reduce_bool", GRID1 HERE "reduce t = sum(A > 0) over G every 1;\n",
     "5:18: error: a reduction takes numbers, not bool; to count, convert it: i64(...)\n"},
    {"reduce_temp",
     GRID1 "field T : f32 on G temp;\nstencil t(T)[G] = A;\nstencil s(A)[G] = T;\nreduce r = sum(T) over G every 1;\n",
     "7:16: error: temp field 'T' holds nothing between steps, where reductions and probes are evaluated; write the "
     "expression "
     "out, or leave out 'temp'\n"},
    {"reduce_leaves", GRID1 HERE "reduce r = sum(A[1]) over G every 1;\n",
     "5:16: error: the access A[1] from region [0 .. N - 1] leaves the region [0 .. N - 1] of field 'A' at the upper "
     "end of dimension 0, by 1; shrink the stencil's region, "
     "or give 'A' a rule: outside clamp, mirror, periodic or a constant\n"},
    {"reduce_over_leaves", GRID1 HERE "reduce r = sum(A) over [0 .. N] every 1;\n",
     "5:24: error: the region [0 .. N] reaches beyond the grid [0 .. N - 1] at the upper end of dimension 0, by 1\n"},
    {"reduce_name_taken", GRID1 HERE "reduce A = sum(A) over G every 1;\n",
     "5:8: error: the name 'A' is taken; all names of a program differ\n3:7: note: 'A' is a field declared here\n"},
    {"reduce_before_grid", "reduce r = sum(1) over G every 1;\n",
     "1:8: error: 'r' needs a grid, which must be declared before it: grid G = [0 .. N-1], STEPS;\n"},
    {"reduction_in_let", GRID1 "reduce r = sum(A) over G every 1;\nlet x = r;\nstencil s(A)[G] = A + f32(x);\n",
     "5:9: error: a let outside a stencil is computed once at launch, but 'r' changes as the program runs; use it in a "
     "stencil, a reduction or an until\n"},
    {"reduction_in_bound", GRID1 "reduce r = sum(1) over G every 1;\nstencil s(A)[0 .. r] = A;\n",
     "5:19: error: a bound is computed once at launch, but 'r' changes as the program runs; use it in a stencil, a "
     "reduction or an until\n"},
    {"reduction_as_offset", GRID1 "reduce r = sum(1) over G every 1;\nstencil s(A)[0] = A[r];\n",
     "5:21: error: an offset must be a constant, but 'r' is known only when the program runs\n"},
    {"reduction_in_init", GRID1 "reduce r = sum(A) over G every 1;\ninit i(A)[G] = f32(r);\n" HERE,
     "5:20: error: 'r' has no value in an init, which runs before it is first evaluated\n"},
    {"reduction_not_converted", GRID1 "reduce r = sum(A) over G every 1;\nstencil s(A)[G] = A * r;\n",
     "5:21: error: '*' mixes f32 and f64; convert one side: f64(A)\n"},
    {"reduction_old",
     WAVE "reduce r = sum(U) over G every 1;\nop before(X) = X@1;\nstencil s(U)[G] = before(U + f32(r));\n",
     "6:34: error: 'r' is a reduction, of which no older values are kept\n"},
    {"reduction_in_reduction",
     GRID1 "reduce mean = sum(A) over G every 2;\nreduce spread = sum((f64(A) - mean) * (f64(A) - mean)) over G every "
           "2;\n" HERE,
     ""},
    {"until_no_comparison", GRID1 HERE "until max(A) over G every 2;\n",
     "5:21: error: expected a comparison ('<', '<=', '>', '>=', '==' or '!=') and a value, found 'every'\n"},
    {"until_no_every", GRID1 HERE "until max(A) over G < 1;\n",
     "5:24: error: expected 'every' and the number of steps from one evaluation to the next, found ';'\n"},
    {"until_field", GRID1 HERE "until max(A) over G < A every 1;\n",
     "5:23: error: what 'until' compares with is one number for the whole program, so 'A' cannot be part of it; only "
     "params, lets and reductions can\n"},
    {"until_f32", "param tol : f32 = 1;\n" GRID1 HERE "until max(A) over G < tol every 1;\n",
     "6:23: error: '<' mixes f64 and f32; convert one side: f64(tol)\n"},
    {"until_int", GRID1 HERE "until sum(1) over G < 0.5 every 1;\n",
     "5:23: error: '<' mixes i64 and a floating-point literal; convert the integer: real(until) or f32(until)\n"},
    {"until_name", GRID1 HERE "until max(A) over G < f64(until) every 1;\n",
     "5:27: error: expected an expression, found 'until'\n"},
    /* launch-time arrays */
    {"arrays_good",
     "param n = 4, src[2 * n] : f32, tab[3] : i64;\n" GRID1 "init i(A)[G] = src[idx(0)];\n"
     "stencil s(A)[G] = A + src[step] + src[2 * n - 1] + src[tab[2]] + sum(k in 0 .. 2) src[k];\n",
     ""},
    {"array_no_type", "param src[4];\n" GRID1 HERE,
     "1:13: error: expected ':' and the type of the array's elements, found ';'\n"},
    {"array_default", "param src[4] : f32 = 1;\n" GRID1 HERE,
     "1:20: error: a launch-time array has no default; it is given when the program runs, with --in src=FILE (a const "
     "has its values here)\n"},
    {"array_empty", "param src[0] : f32;\n" GRID1 HERE,
     "1:11: error: the launch-time array 'src' has length 0; it needs at least one element\n"},
    {"array_length", "param n = 4, src[n * n] : f32;\n" GRID1 HERE,
     "1:20: error: the length of a launch-time array must be an integer such as 2 * N - 1 or N / 2, with factors and "
     "constants below 2^56; the product of two params, which may exceed 64 bits, needs a param of its own\n"},
    {"array_bare", "param src[4] : f32;\n" GRID1 INNER1 "src;\n",
     "5:26: error: 'src' is a launch-time array; its elements are 'src[i]' with an i64 index\n"},
    {"array_two_indices", "param src[4] : f32;\n" GRID1 INNER1 "src[0, 1];\n",
     "5:26: error: the launch-time array 'src' takes one index\n"},
    {"array_index_beyond", "param src[4] : f32;\n" GRID1 INNER1 "src[4];\n",
     "5:30: error: this index is outside the launch-time array 'src' of 4 elements; indices begin at 0\n"},
    {"array_index_negative", "param n = 4, src[n] : f32;\n" GRID1 INNER1 "src[-1];\n",
     "5:30: error: this index is outside the launch-time array 'src' of n elements; indices begin at 0\n"},
    {"array_index_affine", "param n = 4, src[n] : f32;\n" GRID1 INNER1 "src[n];\n",
     "5:30: error: this index is outside the launch-time array 'src' of n elements; indices begin at 0\n"},
    {"array_index_type", "param src[4] : f32;\n" GRID1 INNER1 "src[i32(A)];\n",
     "5:30: error: the index of 'src' is i64, but this value is i32; convert it: i64(...)\n"},
    {"array_index_float", "param src[4] : f32;\n" GRID1 INNER1 "src[A];\n",
     "5:30: error: the index of 'src' is i64, but this value is f32; convert it: i64(A)\n"},
    {"array_in_let", "param src[4] : f32;\nlet x = src[0];\n" GRID1 INNER1 "x;\n",
     "2:9: error: a let outside a stencil is computed once at launch, so 'src' cannot be part of it\n"},
    {"array_name_taken", GRID1 "param A[4] : f32;\n" HERE,
     "4:7: error: the name 'A' is taken; all names of a program differ\n3:7: note: 'A' is a field declared here\n"},
    {"array_as_target", "param src[4] : f32;\n" GRID1 "stencil s(src)[G] = A;\n",
     "5:11: error: 'src' is a launch-time array; only fields can be targets\n"},
    {"array_unused", "param src[4] : f32;\n" GRID1 HERE, "1:7: warning: 'src' is never used\n"},
    {"old_target_of_input", GRID1 "field K : f32 on G input;\ninit k(K@1)[G] = 1;\nstencil s(A)[G] = K;\n",
     "5:8: error: 'K' is an input field, which is the same in all steps; it has no older levels\n"},
    {"array_of_vectors", GRID1 "param src[3] : f32[2];\n" HERE,
     "4:16: error: the elements of a launch-time array are single numbers, or complex ones, not f32[2]\n"},
};

int main(void) { return run_cases("frontend_time", cases, sizeof cases / sizeof *cases); }
