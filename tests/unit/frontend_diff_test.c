/* tests/unit/frontend_diff_test.c: spacing, coord and diff: each rule with line, column and text. */
#include "frontend_cases.h"

/* A grid with a spacing and a field on lines 2 and 3, and the start of a stencil on line 4. */
#define SPACED1 \
  "param N = 40, h : real = 2;\ngrid G = [0 .. N-1], 4 spacing [h] step 0.5;\nfield A : f32 on G outside 0;\n"
#define SPACED2 \
  "param N = 40, h : real = 2;\ngrid G = [0 .. N-1, 0 .. N-1], 4 spacing [h, 3];\nfield A : f32 on G outside 0;\n"
#define BARE2 "param N = 40, h : real = 2;\ngrid G = [0 .. N-1, 0 .. N-1], 4;\nfield A : f32 on G outside 0;\n"
#define STEP "stencil s(A)[G] = A + "

static const FrontendCase cases[] = {
    {"all_forms",
     SPACED2 "const o = 4;\nop lap(X, order) = diff(X, 0, 2, order order) + diff(X, 1, 2, order order);\n" STEP
             "diff(A, 0) + diff(A, 1, 2) + diff(A, 0, 3, order o + 2) + diff(A, 1, at 1/2, order 4) + diff(A, 0, 1, "
             "side -1) + diff(A, 0, 1, order 6, at -1/2, side 1) + diff(A * coord(0), 1)[0,1] + lap(lap(A, 4), 2) + "
             "diff(diff(A, 0), 1);\n",
     ""},
    /* the grid */
    {"spacing_count", "grid G = [0 .. 9, 0 .. 9], 4 spacing [0.5];\n",
     "1:39: error: the grid has 2 dimensions, but here is 1 spacing; give one for each dimension\n"},
    {"spacing_zero", "grid G = [0 .. 9], 4 spacing [1 - 1] step 1;\n",
     "1:33: error: the spacing of dimension 0 is 0; it must be above 0\n"},
    {"spacing_bool", "param b : bool = true;\ngrid G = [0 .. 9], 4 spacing [b];\n",
     "2:31: error: the spacing of dimension 0 must be a single number, but this is bool\n"},
    {"spacing_of_point", "grid G = [0 .. 9], 4 spacing [step];\n",
     "1:31: error: the spacing of dimension 0 is computed once at launch, so 'step' cannot be part of it\n"},
    {"spacing_unclosed", "grid G = [0 .. 9], 4 spacing [1;\n", "1:32: error: expected ',' or ']', found ';'\n"},
    {"spacing_no_bracket", "grid G = [0 .. 9], 4 spacing 1;\n",
     "1:30: error: expected '[' and the distance of two points in each dimension, found '1'\n"},
    {"step_negative", "grid G = [0 .. 9], 4 step -0.5;\n", "1:27: error: the time step is -0.5; it must be above 0\n"},
    {"spacing_of_integers",
     "param n = 3;\ngrid G = [0 .. 9], 4 spacing [n] step n;\nfield A : f64 on G outside 0;\nstencil s(A)[G] = diff(A, "
     "0);\n",
     ""},
    /* what stands where */
    {"no_spacing", BARE2 STEP "diff(A, 0);\n",
     "4:23: error: 'diff' needs the distance of the grid's points: grid G = [...], STEPS spacing [h, h];\n"},
    {"coord_without_spacing", BARE2 STEP "coord(0);\n",
     "4:23: error: 'coord' needs the distance of the grid's points: grid G = [...], STEPS spacing [h, h];\n"},
    {"odd_order", SPACED2 STEP "diff(A, 0, 1, order 3);\n",
     "4:43: error: the order of a derivative is an even number from 2 to 16, not 3\n"},
    {"order_18", SPACED2 STEP "diff(A, 0, order 18);\n",
     "4:40: error: the order of a derivative is an even number from 2 to 16, not 18\n"},
    {"order_of_param", SPACED2 STEP "diff(A, 0, order N);\n",
     "4:40: error: the order of a derivative must be a constant, but 'N' is known only when the program runs\n"},
    {"fifth", SPACED2 STEP "diff(A, 0, 5);\n", "4:34: error: there are derivatives 1 to 4, not 5\n"},
    {"dimension", SPACED2 STEP "diff(A, 2);\n", "4:31: error: the grid has no dimension 2; there are 0 to 1\n"},
    {"coord_dimension", SPACED2 STEP "coord(2);\n", "4:29: error: the grid has no dimension 2; there are 0 to 1\n"},
    {"coord_arguments", SPACED2 STEP "coord();\n", "4:23: error: 'coord' takes 1 argument, the dimension, not 0\n"},
    {"at_third", SPACED2 STEP "diff(A, 0, at 1/3);\n",
     "4:38: error: a derivative is at the point itself, at 1/2 (half a point ahead) or at -1/2\n"},
    {"side_two", SPACED2 STEP "diff(A, 0, side 2);\n",
     "4:39: error: 'side' is 1 (from the point and those above it) or -1 (from those below); leave it out for both\n"},
    {"arguments", SPACED2 STEP "diff(A);\n",
     "4:23: error: a derivative is written diff(VALUE, DIMENSION), diff(VALUE, DIMENSION, NUMBER), and behind these, "
     "each once: order 4, at 1/2, side 1\n"},
    {"order_twice", SPACED2 STEP "diff(A, 0, order 2, order 4);\n",
     "4:23: error: a derivative is written diff(VALUE, DIMENSION), diff(VALUE, DIMENSION, NUMBER), and behind these, "
     "each once: order 4, at 1/2, side 1\n"},
    {"number_behind", SPACED2 STEP "diff(A, 0, order 2, 2);\n",
     "4:23: error: a derivative is written diff(VALUE, DIMENSION), diff(VALUE, DIMENSION, NUMBER), and behind these, "
     "each once: order 4, at 1/2, side 1\n"},
    {"of_integers", SPACED1 "field I : i32 on G outside 0;\n" STEP "diff(f32(I), 0) + diff(I, 0);\n",
     "5:46: error: a derivative is of floats, but this is i32; convert it: real(...)\n"},
    {"of_a_struct", SPACED1 "struct P { x : f32 }\nfield p : P on G outside 0;\n" STEP "diff(p.x, 0) + diff(p, 0);\n",
     "6:43: error: a derivative is of floats, but this is P; take one of its members\n"},
    {"of_storage", SPACED1 "field H : f16 on G outside 0;\nstencil s(A, H)[G] { A = diff(H, 0); H = diff(A, 0); }\n",
     ""},
    {"of_vectors",
     "grid G = [0 .. 9], 4 spacing [1];\nfield V : f64[3] on G outside 0;\nstencil s(V)[G] = V + diff(V, 0, order "
     "4);\n",
     ""},
    {"of_literals", SPACED1 STEP "diff(3, 0);\n", ""},
    {"in_function", SPACED1 "fn f(a : f32) : f32 = a + diff(a, 0);\n" STEP "f(A);\n",
     "4:27: error: 'diff' is a derivative, which a function cannot read; pass it as an argument, or make 'f' a macro: "
     "op "
     "f(...) = ...;\n"},
    {"coord_in_function", SPACED1 "fn f(a : f32) : f32 = a + coord(0);\n" STEP "f(A);\n",
     "4:27: error: 'coord' is the place of the point, which a function cannot read; pass it as an argument, or make "
     "'f' "
     "a macro: op f(...) = ...;\n"},
    {"at_launch", SPACED1 "let x = coord(0);\n" STEP "x;\n",
     "4:9: error: a let outside a stencil is computed once at launch, so 'coord' cannot be part of it\n"},
    {"var", SPACED1 "stencil s(A)[G] { var y = A; y = y * 2; A = diff(y, 0); }\n",
     "4:50: error: 'y' is a var, which has a value at the point in hand only; a macro cannot read it at a neighbour or "
     "at an older level\n"},
    {"let", SPACED1 "stencil s(A)[G] { let y = A * A; A = diff(y, 0); }\n", ""},
    /* beyond the edge */
    {"beyond_edge",
     "param N = 40, h : real = 2;\ngrid G = [0 .. N-1, 0 .. N-1], 4 spacing [h, h];\nfield xx : f32 on G;\n"
     "stencil s(xx)[G] = diff(xx, 1, order 8);\n",
     "4:25: error: order 8 reads 4 points beyond [0 .. N - 1, 0 .. N - 1] of 'xx' in dimension 1: give the field an "
     "outside rule, or the stencil a smaller region\n"},
    {"beyond_edge_by_some",
     "param N = 40, h : real = 2;\ngrid G = [0 .. N-1], 4 spacing [h];\nfield xx : f32 on G;\n"
     "stencil s(xx)[2 .. N-3] = diff(xx, 0, order 4) + diff(xx, 0, order 4, at 1/2) + diff(xx, 0, order 6);\n",
     "4:86: error: order 6 reads 1 point beyond [0 .. N - 1] of 'xx' in dimension 0: give the field an outside rule, "
     "or "
     "the stencil a smaller region\n"},
    {"offset_beyond_edge",
     "param N = 40, h : real = 2;\ngrid G = [0 .. N-1, 0 .. N-1], 4 spacing [h, h];\nfield xx : f32 on G;\n"
     "stencil s(xx)[2 .. N-3, 2 .. N-3] = diff(xx[0,3], 0);\n",
     "4:42: error: the access xx[-1, 3] from region [2 .. N - 3, 2 .. N - 3] leaves the region [0 .. N - 1, 0 .. N - "
     "1] "
     "of field 'xx' at the upper end of dimension 1, by 1; shrink the stencil's region, or give 'xx' a rule: outside "
     "clamp, mirror, periodic or a constant\n"},
    /* coordinates by an array */
    {"coordinates",
     "param N = 9, z[N] : f64;\ngrid G = [2 .. N+1, 0 .. N], 4 spacing [at z, 2];\nfield A : f32 on G outside 0;\n" STEP
     "diff(A, 0, 4, order 16) + diff(A * coord(0), 0, side -1)[1,0] + diff(A, 1, at 1/2);\n",
     ""},
    {"coordinates_of_param", "param N = 9, z = 3;\ngrid G = [0 .. N-1], 4 spacing [at z];\n",
     "2:36: error: 'at' takes the name of a launch-time array, param NAME[N] : f64, which has the coordinates\n"},
    {"coordinates_of_integers", "param N = 9, z[N] : i32;\ngrid G = [0 .. N-1], 4 spacing [at z];\n",
     "2:36: error: coordinates are f32 or f64, and 'z' is an array of i32\n"},
    {"coordinates_too_few", "param N = 9, z[N] : f32;\ngrid G = [0 .. N], 4 spacing [at z];\n",
     "2:34: error: 'z' has the coordinates of dimension 0, so it must be as long as the grid there\n"},
    {"coordinates_at_halves",
     "param N = 9, z[N] : f32;\ngrid G = [0 .. N-1], 4 spacing [at z];\nfield A : f32 on G outside 0;\n" STEP
     "diff(diff(A, 0, at 1/2), 0, 3, order 16, at -1/2);\n",
     ""},
    {"coordinates_at_the_edge",
     "param N = 9, z[N] : f32;\ngrid G = [0 .. N-1], 4 spacing [at z];\nfield A : f32 on G;\n" STEP
     "diff(A, 0, order 4);\n",
     "4:28: error: order 4 reads 2 points beyond [0 .. N - 1] of 'A' in dimension 0: give the field an outside rule, "
     "or "
     "the stencil a smaller region\n"},
    {"over_the_seam",
     "param N = 9, z[N] : f64;\ngrid G = [0 .. N-1, 0 .. N-1], 4 spacing [at z, 1];\n"
     "field A : f64 on G outside periodic;\nstencil s(A)[G] = diff(A, 1) + diff(diff(A, 1), 0);\n",
     "4:42: error: the derivative's access A[-1, -1] from region [0 .. N - 1, 0 .. N - 1] goes over the seam of "
     "'A' at the lower end of dimension 0, by 1: how far the last point "
     "is from the first is not known; shrink the stencil's "
     "region, or give 'A' another rule: outside clamp, mirror or a constant\n"},
    {"beside_the_seam",
     "param N = 9, z[N] : f64;\ngrid G = [0 .. N-1, 0 .. N-1], 4 spacing [at z, 1];\n"
     "field A : f64 on G outside periodic;\nstencil s(A)[2 .. N-3, 0 .. N-1] = diff(A, 1) + diff(A, 0, order 4);\n",
     ""},
    {"coordinates_too_far",
     "param N = 9, z[N] : f64;\ngrid G = [0 .. N-1], 4 spacing [at z];\nfield A : f64 on G outside 0;\n" STEP
     "diff(A, 0)[4097];\n",
     "4:23: error: coordinates of points that an array has are known 4096 points away at most, not 4097\n"},
    /* names that the program has for itself */
    {"own_diff",
     SPACED1 "op diff(X, at) = X[1] - at * X;\nparam at : f32 = 3;\nop order(X) = X;\n" STEP
             "diff(A, at - 1) + diff(A, order(2));\n",
     ""},
    {"own_coord", SPACED1 "fn coord(a : f32) : f32 = 2 * a;\n" STEP "coord(A);\n", ""},
    {"own_words",
     "param spacing = 3, at = 2, order = 4, side = 1, coord = 1, diff = 2;\ngrid G = [0 .. spacing * 9], order + side "
     "spacing [at] step side;\nfield A : f32 on G outside 0;\n" STEP "real(coord + diff);\n",
     ""},
    {"a_field_called_diff", SPACED1 "field diff : f32 on G outside 0;\n" STEP "diff[1] + diff(A, 0);\n",
     "5:33: error: 'diff' is a field, not a function; offsets stand in square brackets: 'diff[...]'\n"},
    {"a_stencil_called_diff", SPACED1 "stencil diff(A)[G] = diff(A, 0, order 4);\n",
     "4:22: error: 'diff' is a stencil, not a function; offsets stand in square brackets: 'diff[...]'\n"},
    {"paper_grid",
     "G = [0, 99], 4 spacing [0.5] step 2\nspacing : real\nf(spacing)[1..98] = spacing + diff(spacing, 0)\n", ""},
};

int main(void) { return run_cases("diff", cases, sizeof cases / sizeof *cases); }
