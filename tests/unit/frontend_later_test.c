/* tests/unit/frontend_later_test.c: what is reserved for later: each construct is recognised and refused by name, with line, column and text. */
#include "frontend_cases.h"

static const FrontendCase cases[] = {
  {"fn",
   "fn flux(a : f32, b : f32) : f32 {\n"
   "  let c = a;\n"
   "  return c * b;\n"
   "}\n"
   "param N = 10;\n"
   "grid G = [0 .. N-1], 4;\n"
   "field A : f32 on G;\n"
   INNER1 "flux(A, A);\n",
   "1:1: error: functions (fn) are not supported yet\n"},
  {"fn_expression",
   "fn flux(a : f32, b : f32) : f32 = a * b;\n"
   "param N = 10;\n"
   "grid G = [0 .. N-1], 4;\n"
   "field A : f32 on G;\n"
   INNER1 "A;\n",
   "1:1: error: functions (fn) are not supported yet\n"},
  {"var",
   GRID1 "stencil s(A)[G] { var x = 1.0; A = 1; }\n",
   "4:19: error: var and for are not supported yet\n"},
  {"for",
   GRID1 "stencil s(A)[G] { for (i in 0 .. 3) { } A = 1; }\n",
   "4:19: error: var and for are not supported yet\n"},
  {"launch_time_array",
   "param src[10] : f32;\n"
   "param N = 10;\n"
   "grid G = [0 .. N-1], 4;\n"
   "field A : f32 on G;\n"
   INNER1 "A;\n",
   "1:10: error: launch-time arrays are not supported yet\n"},
  {"history",
   GRID1
   "field U : f32 on G history 2;\n"
   INNER1 "A;\n",
   "4:20: error: older time levels (history) are not supported yet\n"},
  {"old_level",
   GRID1 INNER1 "A@1[1];\n",
   "4:27: error: older time levels (history, 'A@1') are not supported yet\n"},
  {"until",
   GRID1
   INNER1 "A;\n"
   "until max(abs(A - A@1)) over G < 1e-6 every 64;\n",
   "5:1: error: until conditions are not supported yet\n"},
  {"reduce",
   GRID1
   INNER1 "A;\n"
   "reduce total = sum(A) over G every 100;\n",
   "5:1: error: reductions over a region (reduce) are not supported yet\n"},
};

int main(void) { return run_cases("frontend_later", cases, sizeof cases / sizeof *cases); }
