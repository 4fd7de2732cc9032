/* tests/unit/frontend_repeat_test.c: repeats within a step: each rule with line, column and text. */
#include "frontend_cases.h"

/* Fields with an older level and a temp one, on the lines up to 5. */
#define FIELDS GRID1 "field U : f32 on G history 1;\nfield T : f32 on G temp;\n"
#define STEP "stencil s(A)[G] = A;\n"

static const FrontendCase cases[] = {
    {"repeats_good",
     "param most = 9;\n" FIELDS "scalar t = 0.0, n = 0;\nop mean(X) = 0.5 * (X[-1] + X[1]);\n"
     "stencil move(U)[G] = U + U@1;\n"
     "repeat outer up to 2 * most {\n  stencil keep(T)[1 .. N-2] = mean(A) + real(round);\n"
     "  repeat inner up to 3 {\n    stencil a(A)[1 .. N-2] = T + real(round) + U@1;\n    update n = n + 1;\n"
     "    until n > 100;\n  }\n  let k = 2.0;\n  reduce left = max(abs(A)) over G every 2;\n"
     "  until max(abs(A)) over G < 1 every 4;\n};\nupdate t = t + left;\nuntil t > 5;\nrepeat none up to 0 { " STEP
     "}\n",
     "17:7: warning: 'k' is never used\n"},
    {"repeat_names_stay",
     "param repeat = 3, round = 2;\n" GRID1 "repeat up up to repeat { stencil s(A)[G] = A + real(round); }\n", ""},
    {"repeat_no_bound", FIELDS "repeat r 3 { " STEP "}\nstencil e(A)[G] = 1;\n",
     "6:10: error: expected 'up to' and the largest number of rounds, as in: repeat pressure up to 100 { ... }, found "
     "'3'\n"},
    {"repeat_open", FIELDS "repeat r up to 3 { " STEP,
     "7:1: error: expected a stencil, update, reduce, until or repeat, or '}', found the end of the file\n"},
    {"repeat_bound_of_state", FIELDS "scalar t = 0;\nrepeat r up to t { " STEP "}\n",
     "7:16: error: the number of rounds is computed once at launch, but 't' changes as the program runs; use it in a "
     "stencil, an update, a reduction or an until\n"},
    {"repeat_negative", FIELDS "repeat r up to -3 { " STEP "}\n",
     "6:16: error: the number of rounds is -3; it cannot be negative\n"},
    {"repeat_of_nothing", FIELDS "repeat r up to 3 { }\n",
     "6:8: error: repeat 'r' has nothing to repeat: no stencil and no update stands in its braces\n"},
    {"repeat_of_field", FIELDS "repeat r up to 3 { field q : f32 on G; " STEP "}\n",
     "6:26: error: a field cannot stand within repeat 'r', which has what is done each round: stencil, update, inject, "
     "reduce, until and repeat; declare 'q' before it\n"},
    {"repeat_too_deep",
     FIELDS "repeat a1 up to 3 { repeat a2 up to 3 { repeat a3 up to 2 { repeat a4 up to 3 { " STEP "} } } }\n",
     "6:68: error: repeats nest at most 3 deep; write the rounds of one of them out\n"},
    {"repeat_temp_behind", FIELDS "repeat r up to 3 { stencil w(T)[G] = A; }\nstencil b(A)[G] = T;\n",
     "7:19: error: temp field 'T' belongs to the rounds of repeat 'r', which writes it, and of these there may be "
     "none; "
     "leave out 'temp' to read it behind the repeat\n"},
    {"repeat_temp_of_both",
     FIELDS "stencil w(T)[G] = A;\nrepeat r up to 3 { stencil w2(T)[G] = A; }\nstencil b(A)[G] = 1;\n",
     "7:28: error: temp field 'T' is written within repeat 'r' and elsewhere; a temp field belongs to the step, or to "
     "the rounds of one repeat: leave out 'temp', or take two fields\n"},
    {"repeat_old_level", GRID1 "field U : f32 on G history 1;\nrepeat r up to 3 { stencil u(U)[G] = U@1 + A; }\n",
     "5:38: error: 'U@1' is what 'U' was 1 step ago, in all rounds of repeat 'r' the same, though only this writes "
     "'U'; "
     "for the value of the round before copy it to a field of its own in the round\n"},
    {"repeat_until_of_nothing", GRID1 "scalar t = 0.0;\nupdate t = t + 1;\nrepeat r up to 3 { " STEP "until t > 3; }\n",
     "7:1: error: nothing in the braces of repeat 'r' changes what this until looks at, so it would end the rounds at "
     "once or never; have it look at what a stencil or update of the repeat makes\n"},
    {"repeat_update", FIELDS "repeat r up to 3 { update r = 1; }\n",
     "6:27: error: 'r' is a repeat; only what 'scalar' declares is updated\n"},
    {"round_in_none", GRID1 "stencil s(A)[G] = A + round;\n",
     "4:23: error: 'round' is the number of the round in a repeat, and this stands in none\n"},
    {"round_in_function", GRID1 "fn f(x : f32) : f32 = x + round;\n" STEP,
     "4:27: error: 'round' is the number of the round, which a function cannot read; pass it as an argument, or make "
     "'f' "
     "a macro: op f(...) = ...;\n"},
};

int main(void) { return run_cases("frontend_repeat", cases, sizeof cases / sizeof *cases); }
