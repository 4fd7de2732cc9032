/* mask_test.c: tiles by class (passes pack-tests and tile-classes) follow what they are made of, and tiles with nothing
 * to do leave the right values, however fields are set between runs: plans with them come to what plans without come
 * to, at dry points, too. */
#include <stdlib.h>
#include <string.h>

#define OWN_MAIN
#include "tests/unit/testing.h"
#include "driver/instance/dlpack.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

enum { N = 40, M = 48, WET = 0, A = 1 };

/* The mask has an init, which setting it replaces. */
static const char *const program =
    "grid G = [0 .. 39, 0 .. 47], 1000;\nmask wet on G = idx(0) / 13 % 2 == 0 && idx(1) / 20 % 2 == 1;\n"
    "field A : f32 on G where wet dry 0.5 outside 0.5;\ninit a(A)[G] = f32((idx(0) * 7 + idx(1)) % 13);\n"
    "stencil s(A)[G where wet] = A + 0.125 * (A[-1,0] + A[1,0] + A[0,-1] + A[0,1] - 4 * A);\n";

/* A plan with tiles by class, and one without, on a device. */
typedef struct Pair {
  StcContext *c;
  StcProgram *program[2];
  StcPlan *plan[2];
} Pair;

/* The devices, and the schedules under which each is used. */
typedef struct Way {
  const char *device, *march, *schedule;
  int T, block[3];
} Way;
static const Way ways[] = {{"host:2", "host", "naive", 0, {4, 16}},
                           {"host:1", "host", "overlap", 2, {8, 16}},
                           {"sim", "host", "overlap", 3, {10, 16}},
                           {"sim", "nvptx", "naive", 0, {4, 16}},
                           {"cuda", "nvptx", "naive", 0, {8, 16}}};
enum { WAYS = sizeof ways / sizeof *ways, IN_HOST_MEMORY = WAYS - 1 };

static Pair make_pair(const Way *w) {
  Pair x = {.c = stc_context_new(NULL)};
  for (int i = 0; i < 2; i++) {
    StcOptions o = {.march = w->march,
                    .opt_level = 1,
                    .no_contract = true,
                    .no_hoist = i == 1,
                    .schedule = w->schedule,
                    .T = w->T,
                    .block = {w->block[0], w->block[1]}};
    assert_int_equal(stc_compile_string(x.c, "mask.stn", program, &o, &x.program[i]), STC_OK);
    assert_int_equal(stc_plan_new(x.program[i], w->device, 0, NULL, &x.plan[i]), STC_OK);
    assert_int_equal(x.plan[i]->build->code.module->host.once.nops > 2, i == 0);
  }
  return x;
}

static void free_pair(Pair *x) {
  for (int i = 0; i < 2; i++) {
    stc_plan_free(x->plan[i]);
    stc_program_free(x->program[i]);
  }
  stc_context_free(x->c);
}

/* Runs both for `steps`, and looks whether A is the same. */
static void run(Pair *x, int steps) {
  static float values[2][N * M];
  for (int i = 0; i < 2; i++) {
    assert_int_equal(stc_plan_run(x->plan[i], steps, NULL), STC_OK);
    assert_int_equal(stc_plan_get(x->plan[i], A, values[i], sizeof values[i]), STC_OK);
  }
  assert_memory_equal(values[0], values[1], sizeof values[0]);
}

/* Numbers that `seed` decides. */
static void numbers(int seed, float *to) {
  for (int i = 0; i < N * M; i++)
    to[i] = (float)((i * 7919 + seed * 104729) % 1000) / 1000;
}

/* Sets A of both to numbers; the mask to rectangles. */
static void set_values(Pair *x, int seed) {
  static float values[N * M];
  numbers(seed, values);
  for (int i = 0; i < 2; i++)
    assert_int_equal(stc_plan_set(x->plan[i], A, values, sizeof values), STC_OK);
}
static void set_mask(Pair *x, int seed) {
  static uint8_t wet[N * M];
  for (int i = 0; i < N * M; i++)
    wet[i] = seed == 0 || (i / M > seed && i % M < 10 * seed);
  for (int i = 0; i < 2; i++)
    assert_int_equal(stc_plan_set(x->plan[i], WET, wet, sizeof wet), STC_OK);
}

/* Where finding out what kernels have to do now fails, the next run finds it anew: recordings of the kernels for
 * another mask, which leave some of them out, are not made again. The first: the stand-in asks once whether it
 * computes. */
TEST(looking_fails) {
  static const Way way = {"cuda", "nvptx", "naive", 0, {8, 16}};
  setenv("STC_STANDIN_COMPUTE", "1", 1);
  Pair x = make_pair(&way);
  set_mask(&x, N); /* all are dry */
  run(&x, 400);
  assert_non_null(x.plan[0]->run.replay.recordings);
  set_mask(&x, 3);
  setenv("STC_STANDIN_FAIL", "cuCtxSynchronize", 1);
  assert_int_not_equal(stc_plan_run(x.plan[0], 400, NULL), STC_OK);
  unsetenv("STC_STANDIN_FAIL");
  run(&x, 400);
  free_pair(&x);
  unsetenv("STC_STANDIN_COMPUTE");
}

/* How many blocks of kernels of the step have something to do, as far as the plan has looked. */
static int64_t live_blocks(const StcPlan *p) {
  const Module *m = p->build->code.module;
  int64_t n = 0;
  for (int i = 0; p->run.live && i < m->nkernels; i++)
    n += m->kernels[i].list && p->run.live[i] > 0 ? p->run.live[i] : 0;
  return n;
}

/* A run that is not waited for launches all blocks; when it is waited for, those with something to do are found, and
 * the next one, waited for or not, launches these alone. A mask set between belongs to the next run. */
TEST(found_at_the_end) {
  static const Way way = {"cuda", "nvptx", "naive", 0, {8, 16}};
  setenv("STC_STANDIN_COMPUTE", "1", 1);
  Pair x = make_pair(&way);
  for (int seed = 2; seed < 4; seed++) {
    set_mask(&x, seed);
    assert_int_equal(stc_plan_run_async(x.plan[0], 3), STC_OK);
    assert_int_equal(live_blocks(x.plan[0]), 0);
    assert_int_equal(stc_plan_wait(x.plan[0], NULL), STC_OK);
    int64_t live = live_blocks(x.plan[0]);
    assert_true(live > 0 && live < 15);
    assert_int_equal(stc_plan_run_async(x.plan[0], 2), STC_OK);
    assert_int_equal(live_blocks(x.plan[0]), live);
    set_mask(&x, seed + 2);
    assert_int_equal(stc_plan_wait(x.plan[0], NULL), STC_OK);
    for (int i = 0; i < 2; i++)
      assert_int_equal(stc_plan_restart(x.plan[i]), STC_OK);
    run(&x, 3);
  }
  free_pair(&x);
  unsetenv("STC_STANDIN_COMPUTE");
}

/* Set before the first run, between runs of even and odd numbers of steps, and taken back by beginning anew. */
TEST(values_set) {
  for (int w = 0; w < WAYS; w++) {
    Pair x = make_pair(&ways[w]);
    run(&x, 3);
    set_values(&x, 1);
    run(&x, 2);
    run(&x, 1);
    set_mask(&x, 2);
    run(&x, 5);
    set_values(&x, 2);
    set_mask(&x, 0);
    run(&x, 1);
    set_mask(&x, 3);
    set_values(&x, 3);
    run(&x, 4);
    for (int i = 0; i < 2; i++)
      assert_int_equal(stc_plan_restart(x.plan[i]), STC_OK);
    run(&x, 3);
    free_pair(&x);
  }
}

/* A written by who has the memory: an array of the caller's, the plan's own by its address, or as a tensor. */
TEST(memory_written) {
  for (int w = 0; w < IN_HOST_MEMORY; w++)
    for (int way = 0; way < 3; way++) {
      Pair x = make_pair(&ways[w]);
      float *memory[2];
      int64_t shape[] = {N, M};
      DLManagedTensor *tensor[2] = {NULL, NULL};
      run(&x, way);
      for (int i = 0; i < 2; i++) {
        StcArray array = {aligned_alloc(64, sizeof(float) * N * M), STC_F32, 2, shape, NULL};
        void *pointer = array.data;
        numbers(5, array.data);
        if (way == 0)
          assert_int_equal(stc_plan_bind(x.plan[i], A, 0, &array, false), STC_OK);
        else
          free(array.data);
        if (way == 2) {
          assert_int_equal(stc_plan_to_dlpack(x.plan[i], A, 0, &tensor[i]), STC_OK);
          pointer = (char *)tensor[i]->dl_tensor.data + tensor[i]->dl_tensor.byte_offset;
        }
        memory[i] = pointer;
      }
      for (int seed = 6; seed < 9; seed++) {
        for (int i = 0; i < 2; i++) {
          void *pointer = memory[i];
          if (way == 1)
            assert_int_equal(stc_plan_pointer(x.plan[i], A, 0, &pointer), STC_OK);
          numbers(seed, pointer);
        }
        run(&x, 3);
        run(&x, 2);
      }
      for (int i = 0; i < 2; i++) {
        if (way == 0)
          assert_int_equal(stc_plan_bind(x.plan[i], A, 0, NULL, false), STC_OK);
        if (tensor[i])
          tensor[i]->deleter(tensor[i]);
        if (way == 0)
          free(memory[i]);
      }
      run(&x, 3);
      free_pair(&x);
    }
}

/* Lent to who writes them to files while steps go on, so that these get other memory: dry points have their values
 * there, too. */
TEST(lent) {
  for (int w = 0; w < WAYS; w++) {
    Pair x = make_pair(&ways[w]);
    Loan *loan[2];
    if (x.plan[0]->device.kind->whole) {
      free_pair(&x);
      continue;
    }
    run(&x, 1);
    assert_true(plan_may_lend(x.plan[0], A, -1, 2));
    for (int i = 0; i < 2; i++) {
      assert_int_equal(plan_lend(x.plan[0], A, -1, &loan[i]), STC_OK);
      run(&x, 1);
    }
    run(&x, 3);
    for (int i = 0; i < 2; i++)
      loan_return(loan[i]);
    run(&x, 2);
    free_pair(&x);
  }
}

/* Plans are made of one build while what is told of a program's masks stays the same, and of others when it changes. */
TEST(what_is_told_again_makes_no_code_anew) {
  StcContext *c = stc_context_new(NULL);
  StcProgram *p;
  StcPlan *plan[3];
  unsigned char wet[64] = {1, 0, 1};
  const int64_t shape[] = {8, 8};
  StcArray told = {wet, STC_BOOL, 2, shape, NULL};
  const char *text = "grid G = [0 .. 7, 0 .. 7], 5;\nmask wet on G = true;\nfield A : f32 on G where wet dry self;\n"
                     "init i(A)[G] = 1;\nstencil s(A)[G where wet] = A + 1;\n";
  assert_int_equal(stc_compile_string(c, "told.stn", text, NULL, &p), STC_OK);
  for (int i = 0; i < 3; i++) {
    wet[9] = i == 2;
    assert_int_equal(stc_program_foresee(p, "wet", &told), STC_OK);
    assert_int_equal(stc_plan_new(p, "sim", 0, NULL, &plan[i]), STC_OK);
  }
  assert_non_null(p->builds->next);
  assert_null(p->builds->next->next);
  for (int i = 0; i < 3; i++)
    stc_plan_free(plan[i]);
  stc_program_free(p);
  stc_context_free(c);
}

int main(int argc, char **argv) {
  (void)argc;
  return run_beside(STC_STANDIN_DIR, argv, argv[0]);
}
