/* tests/unit/frontend_scalar_test.c: scalars that are kept, their updates, until on them: each rule with line, column
 * and text. */
#include "frontend_cases.h"

/* A grid, a field with two older levels, and the start of a stencil on line 4. */
#define WAVE "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield U : f32 on G history 2;\n"
#define STEP "stencil s(U)[1 .. N-2] = "
#define HERE "stencil s(A)[G] = A;\n"

static const FrontendCase cases[] = {
    {"scalars_good",
     "param n = 3, src[n] : f32;\n" GRID1
     "scalar t : f64 = 0, n2 = 0, r = 1.0, first = f64(n);\nreduce total = sum(A) over G every 2;\n"
     "update r = max(abs(A)) over G;\nstencil s(A)[G] = A + real(t) * f32(src[0]);\nupdate t = t + 0.5 * "
     "f64(src[step]) "
     "+ total;\nupdate n2 = n2 + (sum(i64(A > 0)) over [1 .. N-2]) * 2;\nupdate first = min(t, (min(A * A) over A) + "
     "r);\nreduce now = max(t, r) every 3;\nreduce now2 = t every 2;\nuntil t > 10 && r < total;\nuntil max(n2, 3) == "
     "7 "
     "every 4;\n",
     ""},
    {"scalar_names_stay",
     "param scalar = 3;\nparam update = 4;\n" GRID1 "stencil s(A)[G] = A + f32(scalar + update);\n", ""},
    {"scalar_no_value", GRID1 "scalar t : f64;\n" HERE,
     "4:15: error: expected '=' and the value before the first step, found ';'\n"},
    {"scalar_f32", GRID1 "scalar t : f32 = 0;\n" HERE,
     "4:12: error: a scalar is f64 or i64, not f32; convert it where it is read\n"},
    {"scalar_of_field", GRID1 "scalar t : f64 = f64(A);\n" HERE,
     "4:22: error: the value before the first step is computed once at launch, so 'A' cannot be part of it\n"},
    {"scalar_name_taken", GRID1 "scalar A = 1.0;\n" HERE,
     "4:8: error: the name 'A' is taken; all names of a program differ\n3:7: note: 'A' is a field declared here\n"},
    {"update_without_value", GRID1 "scalar t = 0.0;\nupdate t u8= t + 1;\n" HERE,
     "5:10: error: expected '=' and the scalar's new value, found 'u8'\n"},
    {"update_undeclared", GRID1 HERE "update t = 1;\n",
     "5:8: error: there is no scalar 't'; declare it before: scalar t = 0.0;\n"},
    {"update_of_reduction", GRID1 "reduce r = sum(A) over G every 1;\nupdate r = 1;\n" HERE,
     "5:8: error: 'r' is a reduction; only what 'scalar' declares is updated\n"},
    {"update_by_field", GRID1 "scalar t = 0.0;\nupdate t = t + f64(A);\n" HERE,
     "5:20: error: an update is one number for the whole program, so 'A' cannot be part of it; an update reduces what "
     "has points over a region: max(...) over G\n"},
    {"update_by_place", GRID1 "scalar t = 0;\nupdate t = idx(0);\n" HERE,
     "5:12: error: an update is one number for the whole program, so 'idx' cannot be part of it; an update reduces "
     "what "
     "has points over a region: max(...) over G\n"},
    {"update_type", GRID1 "scalar t = 0;\nupdate t = 0.5 * f64(t);\n" HERE,
     "5:16: error: scalar 't' is i64, but this value is f64; convert it: i64(...)\n"},
    {"update_in_update", GRID1 "scalar t = 0.0;\nupdate t = sum(f64(A) + (sum(A) over G)) over G;\n" HERE,
     "5:26: error: a reduction over a region stands in update, reduce and until, not in another one; have an update "
     "give it to a scalar, which is read here\n"},
    {"over_in_stencil", GRID1 "stencil s(A)[G] = A / real(max(A) over G);\n",
     "4:28: error: a reduction over a region stands in update, reduce and until, not in an expression of points or of "
     "scalars alone; have an update give it to a scalar, which is read here\n"},
    {"over_in_macro", GRID1 "scalar t = 0.0;\nop m(X) = max(X) over G;\nupdate t = m(A);\n" HERE,
     "5:11: error: a reduction over a region stands in update, reduce and until, not in a macro or function; have an "
     "update give it to a scalar, which is read here\n6:12: note: in the expansion of 'm' here\n"},
    {"update_temp",
     GRID1 "scalar t = 0.0;\nfield T : f32 on G temp;\nstencil w(T)[G] = A;\nupdate t = sum(T) over G;\n"
           "stencil s(A)[G] = T;\n",
     "7:16: error: temp field 'T' need not be in memory where an update reads it; leave out 'temp', or write the "
     "expression itself\n"},
    {"update_old", WAVE "scalar t = 0.0;\nupdate t = max(abs(U - U@1)) over G;\n" STEP "U;\n",
     "5:24: error: an update reads fields as they are at its place in the step; 'U@1' is read in a stencil, or in a "
     "reduce after the step\n"},
    {"scalar_in_bound", GRID1 "scalar t = 0;\nstencil s(A)[0 .. t] = A;\n",
     "5:19: error: a bound is computed once at launch, but 't' changes as the program runs; use it in a stencil, an "
     "update, a reduction or an until\n"},
    {"scalar_in_init", GRID1 "scalar t = 0.0;\ninit i(A)[G] = f32(t);\n" HERE,
     "5:20: error: 't' changes from step to step; an init runs before them: give its value a name of its own, with let "
     "or param\n"},
    {"scalar_in_old_until", GRID1 "scalar t = 0.0;\nupdate t = t + 1;\n" HERE "until max(A) over G < t every 2;\n",
     "7:23: error: what 'until' compares with is no scalar: have an update take the left side, and write until of "
     "scalars alone: scalar r = 0; update r = max(...) over G; until r < t;\n"},
    {"until_no_condition", GRID1 "scalar t = 0.0;\nupdate t = t + 1;\n" HERE "until t + 1;\n",
     "7:9: error: 'until' takes a condition of scalars, such as t >= 10, not f64\n"},
    {"until_of_field", GRID1 HERE "until A > 1;\n",
     "5:7: error: the condition of 'until' is one number for the whole program, so 'A' cannot be part of it; an update "
     "reduces what has points over a region: max(...) over G\n"},
    {"scalar_by_member",
     "grid G = [0 .. 9], 4;\nmembers 3;\nfield A : f32 on G;\nscalar a : f64 = 0, b : f64 shared = 0;\n"
     "update b = sum(a * f64(member)) over G;\nupdate a = a + b + f64(member);\nupdate b = a;\nupdate b = "
     "f64(member);\n"
     "stencil s(A)[G] = f32(a + b);\n",
     "7:12: error: 'a' differs from member to member, and what is computed here is one number of all of them; reduce "
     "it "
     "over a region, max(a) over G, or leave out 'shared'\n"
     "8:16: error: 'member' differs from member to member, and what is computed here is one number of all of them; "
     "reduce it over a region, max(member) over G, or leave out 'shared'\n"},
    {"scalar_shared_alone", GRID1 "scalar t : f64 shared = 0;\n" HERE,
     "4:8: error: 't' is shared, but the program has no members that could share it; leave out 'shared', or write "
     "'members N;' behind the grid\n"},
    {"scalar_unused", GRID1 "scalar t = 0.0;\n" HERE, "4:8: warning: 't' is never used\n"},
};

int main(void) { return run_cases("frontend_scalar", cases, sizeof cases / sizeof *cases); }
