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
};

int main(void) { return run_cases("frontend_later", cases, sizeof cases / sizeof *cases); }
