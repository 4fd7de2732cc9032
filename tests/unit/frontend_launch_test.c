/* tests/unit/frontend_launch_test.c: what cannot be decided without the params is checked at launch, with a message;
 * what concerns no point is not. */
#include "frontend_cases.h"

/* A program, one param's value, and all messages of binding it. */
typedef struct LaunchCase {
  const char *name, *program, *define, *messages;
} LaunchCase;

static const LaunchCase cases[] = {
    {"fits", "param N = 10, M = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nstencil s(A)[1 .. M-2] = A[1];\n", "N=10",
     ""},
    {"access_leaves",
     "param N = 10, M = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nstencil s(A)[1 .. M-2] = 0.5 * A[1];\n", "N=9",
     "4:32: error: the access A[1] from region [1 .. M - 2] leaves the region [0 .. N - 1] of field 'A' at the upper "
     "end of dimension 0 (with N = 9, M = 10)\n"},
    {"access_of_an_empty_region",
     "param N = 10, M = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nstencil s(A)[1 .. M-2] = A[1];\n", "M=2", ""},
    {"grid_smaller_than_the_halo",
     "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nstencil s(A)[3 .. N-4] = A[-3] + A[3];\n", "N=1", ""},
    {"region_leaves_the_grid", "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nstencil s(A)[4] = A;\n", "N=4",
     "4:13: error: the region [4 .. 4] reaches beyond the region of field 'A', [0 .. N - 1] at the upper end of "
     "dimension 0 (with N = 4)\n"},
    {"region_of_a_name",
     "param N = 10;\ngrid G = [0 .. N-1], 4;\nregion R = [4 .. 6];\nfield A : f32 on R;\nstencil s(A)[R] = A;\n", "N=4",
     "3:12: error: the region [4 .. 6] reaches beyond the grid [0 .. N - 1] at the upper end of dimension 0 (with N = "
     "4)\n"},
    {"pieces_apart",
     "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nstencil s(A) { [0] = 1; [1 .. N-2] = 2; [N-1] = 3; }\n",
     "N=2", ""},
    {"pieces_overlap",
     "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nstencil s(A) { [0] = 1; [1 .. N-2] = 2; [N-1] = 3; }\n",
     "N=1", "4:41: error: the pieces [0 .. 0] and [N - 1 .. N - 1] of 's' overlap (with N = 1)\n"},
    {"pieces_apart_by_default",
     "param N = 10, M = 3;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nstencil s(A) { [0 .. M] = 1; [N-M .. N-1] = 2; "
     "}\n",
     "N=6", "4:30: error: the pieces [0 .. M] and [N - M .. N - 1] of 's' overlap (with N = 6, M = 3)\n"},
    {"pieces_that_only_a_define_sets_apart",
     "param N = 10, M = 5;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nstencil s(A) { [0 .. M] = 1; [N-M .. N-1] = 2; "
     "}\n",
     "M=4", ""},
    {"pieces_of_a_grid_that_only_a_define_gives_points",
     "param N = -3;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nstencil s(A) { [0] = 1; [N-1] = 3; }\n", "N=3", ""},
    {"pieces_in_the_other_order",
     "param N = 20, M = 12;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nstencil s(A) { [5 .. 7] = 1; [M .. M+2] = 2; "
     "}\n",
     "M=2", ""},
    {"pieces_of_which_one_has_no_points",
     "param N = 20, M = 12;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nstencil s(A) { [0 .. 18] = 1; [2*M .. M+2] = "
     "2; }\n",
     "M=4", ""},
    {"pieces_overlap_in_no_order",
     "param N = 20, M = 12;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nstencil s(A) { [5 .. 7] = 1; [M .. M+2] = 2; "
     "}\n",
     "M=3", "4:30: error: the pieces [5 .. 7] and [M .. M + 2] of 's' overlap (with M = 3)\n"},
    {"temp_written",
     "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nfield T : f32 temp;\n"
     "stencil t(T)[0 .. N-1] = A;\nstencil s(A)[1 .. N-2] = T[-1] + T[1];\n",
     "N=3", ""},
    {"temp_written_in_pieces",
     "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nfield T : f32 temp;\n"
     "stencil t(T) { [0] = A; [1 .. N-2] = A; [N-1] = A; }\nstencil s(A)[1 .. N-2] = T[-1] + T[1];\n",
     "N=3", ""},
    {"temp_written_whole_and_then_in_part",
     "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nfield T : f32 temp;\n"
     "stencil t(T)[0 .. N-1] = A;\nstencil u(T) { [0 .. 1] = 1; [N-1] = 2; }\nstencil s(A)[0 .. 1] = T[1];\n",
     "N=5", ""},
    {"temp_not_written",
     "param N = 20, M = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nfield T : f32 temp;\n"
     "stencil t(T)[0 .. M] = A;\nstencil s(A)[1 .. N-12] = T[1];\n",
     "M=7",
     "6:27: error: the access T[1] reads temp field 'T' on [2 .. N - 11], but the step has written it only on [0 .. M] "
     "(with N = 20, M = 7)\n"},
    {"temp_written_under_this_param_only",
     "param N = 20, M = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nfield T : f32 temp;\n"
     "stencil t(T) { [0 .. M] = A; [M+1 .. M+3] = A; }\nstencil s(A)[1 .. N-2] = T[1];\n",
     "N=14", ""},
    {"temp_not_written_by_any_piece",
     "param N = 14, M = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nfield T : f32 temp;\n"
     "stencil t(T) { [0 .. M] = A; [M+1 .. M+3] = A; }\nstencil s(A)[1 .. N-2] = T[1];\n",
     "N=20",
     "6:26: error: the access T[1] reads temp field 'T' on [2 .. N - 1], but the step has written it only on [0 .. M] "
     "and [M + 1 .. M + 3], not at [14] (with N = 20, M = 10)\n"},
    {"temp_pinwheel",
     "param N = 16, K = 0;\ngrid G = [0 .. N-1, 0 .. N-1], 4;\nfield A : f32;\nfield T : f32 temp;\n"
     "stencil t(T) { [0 .. K, 0 .. N-K-2] = 1; [0 .. N-K-2, N-K-1 .. N-1] = 2; [N-K-1 .. N-1, K+1 .. N-1] = 3;\n"
     "[K+1 .. N-1, 0 .. K] = 4; [K+1 .. N-K-2, K+1 .. N-K-2] = 5; }\nstencil s(A)[G] = T;\n",
     "K=5", ""},
    {"temp_pieces_one_of_them_empty",
     "param N = 10, K = 3;\ngrid G = [0 .. N-1], 4;\nfield A : f32 on G;\nfield T : f32 on G temp;\n"
     "stencil t(T) { [1 .. K] = A; [K+1 .. N-1] = A; }\nstencil s(A)[G] = T;\n",
     "K=-1", ""},
    {"temp_by_periodic_images",
     "param N = 16, K = 0;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nfield T : f32 temp outside periodic;\n"
     "stencil t(T)[0 .. K] = A;\nstencil s(A)[N-2 .. N-1] = T[2];\n",
     "K=1", ""},
    {"temp_by_mirror_images",
     "param N = 16, K = 0;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nfield T : f32 temp outside mirror;\n"
     "stencil t(T)[N-K-1 .. N-1] = A;\nstencil s(A)[N-1] = T[2];\n",
     "K=2", ""},
    {"temp_beyond_a_constant",
     "param N = 16, K = 0;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nfield T : f32 on [2 .. N-1] temp outside 1;\n"
     "stencil t(T)[2 .. K] = A;\nstencil s(A)[0 .. 4] = T[-1];\n",
     "K=3", ""},
    {"temp_by_images_that_are_missing",
     "param N = 16, K = 1;\ngrid G = [0 .. N-1], 4;\nfield A : f32;\nfield T : f32 temp outside periodic;\n"
     "stencil t(T)[0 .. K] = A;\nstencil s(A)[N-2 .. N-1] = T[2];\n",
     "K=0",
     "6:28: error: the access T[2] reads temp field 'T' on [0 .. N - 1], but the step has written it only on [0 .. K], "
     "not at [1] (with N = 16, K = 0)\n"},
};

/* Compiles and binds the LaunchCase at *state; it fails exactly if a message is expected. */
static void check_launch(void **state) {
  const LaunchCase *t = *state;
  Arena *a = arena_new(NULL, NULL);
  Str got = {.arena = a};
  str_add(&got, "");
  Diags *d = diags_new(a, collect_message, &got);
  FrontendOptions o = {.real = TY_F32};
  Module *m = frontend_compile(a, d, "case.stn", t->program, &o);
  assert_non_null(m);
  Define define = {arena_strndup(a, t->define, 1), t->define + 2};
  Const *scalars = ARENA_ARRAY(a, Const, m->nscalars);
  bool ok = module_bind(m, 1, &define, scalars, d);
  assert_string_equal(got.s, t->messages);
  assert_int_equal(ok, !*t->messages);
  arena_free(a);
}

int main(void) {
  enum { COUNT = sizeof cases / sizeof *cases };
  struct CMUnitTest tests[COUNT];
  for (size_t i = 0; i < COUNT; i++)
    tests[i] = (struct CMUnitTest){cases[i].name, check_launch, NULL, NULL, (void *)(uintptr_t)&cases[i]};
  return _cmocka_run_group_tests("frontend_launch", tests, COUNT, NULL, NULL);
}
