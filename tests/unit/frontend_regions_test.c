/* tests/unit/frontend_regions_test.c: what is said about regions, offsets and temp fields, with line, column and
 * text. */
#include "frontend_cases.h"

static const FrontendCase cases[] = {
    {"below", GRID1 "stencil s(A)[0 .. N-2] = A[-1];\n",
     "4:26: error: the access A[-1] from region [0 .. N - 2] leaves the region [0 .. N - 1] of field 'A' at the lower "
     "end of dimension 0, by 1; shrink the stencil's region, or give 'A' a rule: outside clamp, mirror, periodic or a "
     "constant\n"},
    {"above", GRID1 "stencil s(A)[1 .. N-1] = A[2];\n",
     "4:26: error: the access A[2] from region [1 .. N - 1] leaves the region [0 .. N - 1] of field 'A' at the upper "
     "end of dimension 0, by 2; shrink the stencil's region, or give 'A' a rule: outside clamp, mirror, periodic or a "
     "constant\n"},
    {"second_dimension", GRID2 "stencil s(A)[1 .. N-2, 0 .. N-2] = A[0,-1] + A[1,1];\n",
     "4:36: error: the access A[0, -1] from region [1 .. N - 2, 0 .. N - 2] leaves the region [0 .. N - 1, 0 .. N - 1] "
     "of field 'A' at the lower end of dimension 1, by 1; shrink the stencil's region, or give 'A' a rule: outside "
     "clamp, mirror, periodic or a constant\n"},
    {"in_macro", GRID2 "op lap(X) = X[-1,0] + X[1,0] + X[0,-1] + X[0,1] - 4 * X;\n" INNER2 "lap(lap(A));\n",
     "5:44: error: the access A[-2, 0] from region [1 .. N - 2, 1 .. N - 2] leaves the region [0 .. N - 1, 0 .. N - 1] "
     "of field 'A' at the lower end of dimension 0, by 1; shrink the stencil's region, or give 'A' a rule: outside "
     "clamp, mirror, periodic or a constant\n"},
    {"smaller_field",
     "grid G = [0 .. 9], 1;\n"
     "field A : f32 on G;\n"
     "field B : f32 on [2 .. 7];\n"
     "stencil s(A)[1 .. 7] = B;\n",
     "4:24: error: the access B[0] from region [1 .. 7] leaves the region [2 .. 7] of field 'B' at the lower end of "
     "dimension 0, by 1; shrink the stencil's region, or give 'B' a rule: outside clamp, mirror, periodic or a "
     "constant\n"},
    {"target_region",
     "grid G = [0 .. 9], 1;\n"
     "field B : f32 on [2 .. 7];\n"
     "stencil s(B)[1 .. 7] = 1;\n",
     "3:13: error: the region [1 .. 7] reaches beyond the region of field 'B', [2 .. 7] at the lower end of dimension "
     "0, by 1\n"},
    {"region_in_grid",
     "grid G = [0 .. 9], 1;\n"
     "region R = [1 .. 12];\n",
     "2:12: error: the region [1 .. 12] reaches beyond the grid [0 .. 9] at the upper end of dimension 0, by 3\n"},
    {"field_in_grid",
     "grid G = [0 .. 9], 1;\n"
     "field A : f32 on [-3 .. 9];\n",
     "2:18: error: the region [-3 .. 9] reaches beyond the grid [0 .. 9] at the lower end of dimension 0, by 3\n"},
    {"rank", GRID2 INNER1 "A;\n", "4:13: error: this region has 1 dimension, but the grid has 2\n"},
    {"rank_four", "grid G = [0 .. 3, 0 .. 3, 0 .. 3, 0 .. 3], 1;\n",
     "1:10: error: a grid has 1 to 3 dimensions, not 4\n"},
    {"bound_product",
     "param N = 3;\n"
     "grid G = [0 .. N * N], 1;\n",
     "2:18: error: a bound must be an integer such as 2 * N - 1 or N / 2, with factors and constants below 2^56; the "
     "product of two params, which may exceed 64 bits, needs a param of its own\n"},
    {"bound_product_within",
     "param N = 3, M = 2;\nlet P = N * M;\n"
     "grid G = [0 .. min(P, M)], 1;\n",
     "3:16: error: a bound must be an integer such as 2 * N - 1 or N / 2, with factors and constants below 2^56; the "
     "product of two params, which may exceed 64 bits, needs a param of its own\n"},
    {"bound_float_literal", "grid G = [0 .. 1.5], 1;\n",
     "1:16: error: a bound must be an integer, but this is a floating-point literal; convert it: i64(...)\n"},
    {"bound_float_default",
     "param x = 1.5;\n"
     "grid G = [0 .. x], 1;\n",
     "2:16: error: a bound must be an integer, but the param 'x' is f32, as its default is; give it an integer "
     "default\n"},
    {"bound_float_param",
     "param N : real = 10;\n"
     "grid G = [0 .. N], 1;\n",
     "2:16: error: a bound must be an integer, but the param 'N' is f32; leave out ': real' where it is declared\n"},
    {"bound_with_float_param",
     "param N : real = 20;\ngrid G = [0 .. 2 * (N - 1)], 1;\nfield A : f32 on G;\nstencil s(A)[G] = A;",
     "2:18: error: a bound must be an integer, but the param 'N' is f32; leave out ': real' where it is declared\n"},
    {"bound_division_by_float",
     "param N = 10, h : real = 2;\n"
     "grid G = [0 .. real(N) / h], 1;\n",
     "2:24: error: a bound must be an integer, but this is f32; convert it: i64(...)\n"},
    {"bound_division", "param N = 3;\ngrid G = [0 .. N / 2], 1;\nfield A : f32;\nstencil s(A)[0 .. N/2] = A;\n", ""},
    {"bound_of_a_let",
     "param N = 3;\nlet H = N / 2;\ngrid G = [0 .. H + 3], 1;\nfield A : f32 outside 0;\n"
     "stencil s(A) { [0 .. N/2] = A[1]; [H+1 .. N/2+3] = A[-1]; }\n",
     ""},
    {"bound_field", GRID1 "stencil s(A)[0 .. A] = A;\n",
     "4:19: error: a bound is computed once at launch, so 'A' cannot be part of it\n"},
    {"bound_large",
     "param N = 3;\n"
     "grid G = [0 .. 100000000000000000 * N], 1;\n",
     "2:35: error: a bound must be an integer such as 2 * N - 1 or N / 2, with factors and constants below 2^56; the "
     "product of two params, which may exceed 64 bits, needs a param of its own\n"},
    {"empty_beyond_the_grid",
     "grid G = [0 .. 4], 10;\nfield A : f32;\nregion R = [9 .. 8];\nstencil s(A)[R] = A[1] + A[-1];\n",
     "3:12: warning: the region [9 .. 8] is empty\n"},
    {"empty", GRID1 "stencil s(A)[5 .. 3] = A;\n", "4:13: warning: the region [5 .. 3] is empty\n"},
    {"overlap", GRID1 "stencil s(A) { [0 .. 3] = A; [3 .. 5] = A; }\n",
     "4:30: error: the pieces [0 .. 3] and [3 .. 5] of 's' overlap; make one end before the other begins\n"},
    {"overlap_perhaps",
     "param N = 10, M = 5;\n"
     "grid G = [0 .. N-1], 4;\n"
     "field A : f32 on G;\n"
     "stencil s(A) { [0 .. M] = A; [N-M .. N-1] = A; }\n",
     ""},
    {"overlap_never_known",
     "param N = 10;\n"
     "grid G = [-N .. N], 4;\n"
     "field A : f32 on G;\n"
     "stencil s(A) { [0 .. N] = A; [-N .. 1] = A; }\n",
     "4:30: error: the pieces [0 .. N] and [-N .. 1] of 's' overlap; make one end before the other begins\n"},
    {"temp_unwritten",
     GRID1 "field T : f32 on G temp;\n" INNER1 "A + T;\n"
           "stencil t(T)[G] = A;\n",
     "5:30: error: temp field 'T' is read before a stencil of this step has written it; temp fields keep nothing from "
     "step to step\n"},
    {"temp_partly",
     GRID1 "field T : f32 on G temp;\n"
           "stencil t(T)[1 .. N-2] = A;\n" INNER1 "T[-1];\n",
     "6:26: error: the access T[-1] reads temp field 'T' on [0 .. N - 3], but before it this step has written only [1 "
     ".. N - 2]\n"},
    {"temp_outside",
     GRID1 "field T : f32 on G temp outside clamp;\n"
           "stencil t(T)[1 .. N-2] = A;\n" INNER1 "T[-1];\n",
     "6:26: error: the access T[-1] reads temp field 'T' on [0 .. N - 3], but before it this step has written only [1 "
     ".. N - 2]\n"},
    {"temp_by_itself",
     GRID1 "field T : f32 on G temp;\n"
           "stencil t(T)[G] = T + A;\n" INNER1 "T;\n",
     "5:19: error: temp field 'T' is read before a stencil of this step has written it; temp fields keep nothing from "
     "step to step\n"},
    {"temp_in_init", GRID1 "field T : f32 on G temp;\ninit i(A)[G] = T;\nstencil t(T)[G] = A;\n",
     "5:16: error: temp field 'T' has no values before the first step; an init cannot read it\n"},
    {"init_reads_unset", GRID1 "field B : f32 on G;\ninit i(A, B)[G] { A = 1; B = 2 * A; }\nstencil s(A)[G] = B;\n",
     "5:34: warning: this init reads its own target 'A', which no init before it has set\n"},
    {"temp_written_in_parts",
     "grid G = [0 .. 9], 4;\nfield A : f32 on G;\nfield T : f32 on G temp;\nstencil t(T) { [0 .. 2] = A; [4 .. 6] = A; "
     "}\nstencil s(A)[G] = T;\n",
     "5:19: error: the access T[0] reads temp field 'T' on [0 .. 9], but before it this step has written only [0 .. 2] "
     "and [4 .. 6]\n"},
    {"temp_written_in_parts_that_overlap",
     "grid G = [0 .. 9], 4;\nfield A : f32 on G;\nfield T : f32 on G temp;\nstencil t(T)[0 .. 5] = A;\nstencil u(T)[3 "
     ".. 9] = A;\nstencil v(T)[4 .. 5] = A;\nstencil s(A)[G] = T;\n",
     ""},
    {"field_without_points",
     "grid G = [0 .. 9], 4;\nregion none = [3 .. 2];\nfield A : f32 on G;\nfield B : f32 on none outside "
     "clamp;\nstencil s(A)[G] = B;\n",
     "2:15: warning: the region [3 .. 2] is empty\n"
     "5:19: error: the access B[0] reads field 'B', whose region [3 .. 2] has no points; give it some, or a constant "
     "outside\n"},
};

int main(void) { return run_cases("frontend_regions", cases, sizeof cases / sizeof *cases); }
