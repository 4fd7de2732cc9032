/* hoist_test.c: hidden fields of what no step changes (pass hoist) follow what they are made of, however that is set:
 * plans with them come to what plans without come to, and make them anew only where they must. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/testing.h"
#include "driver/instance/dlpack.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

enum { N = 200, A = 0, P = 1 };

/* P has an init, which setting it replaces. */
static const char *const program =
    "param N = 200;\ngrid G = [0 .. N-1], 1000;\nfield A : f32 on G outside clamp;\nfield P : f32 on G outside clamp;\n"
    "init a(A)[G] = f32(idx(0) * 7 % 13);\ninit p(P)[G] = 0.5 + f32(idx(0) % 5);\n"
    "op way(X) = sqrt(X) / (1 + X) / (2 + X) / (3 + X * X);\n"
    "stencil s(A)[G] = A + way(P) * (A[1] - A) + way(P[-1]) * (A[-1] - A);\n";

/* A plan with hidden fields, and one without, on a device. */
typedef struct Pair {
  StcContext *c;
  StcProgram *program[2];
  StcPlan *plan[2];
} Pair;

static Pair make_pair(const char *device) {
  Pair x = {.c = stc_context_new(NULL)};
  for (int i = 0; i < 2; i++) {
    StcOptions o = {.march = "host", .opt_level = 1, .no_contract = true, .no_hoist = i == 1};
    assert_int_equal(stc_compile_string(x.c, "hoist.stn", program, &o, &x.program[i]), STC_OK);
    assert_int_equal(stc_plan_new(x.program[i], device, 0, NULL, &x.plan[i]), STC_OK);
    assert_int_equal(x.plan[i]->build->code.module->host.once.nops > 0, i == 0);
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
  float values[2][N];
  for (int i = 0; i < 2; i++) {
    assert_int_equal(stc_plan_run(x->plan[i], steps, NULL), STC_OK);
    assert_int_equal(stc_plan_get(x->plan[i], A, values[i], sizeof values[i]), STC_OK);
  }
  assert_memory_equal(values[0], values[1], sizeof values[0]);
}

/* Numbers that `seed` decides. */
static void numbers(int seed, float *to) {
  for (int i = 0; i < N; i++)
    to[i] = 0.25f + (float)((i * 7919 + seed * 104729) % 1000) / 1000;
}

/* Sets field `field` of both to numbers. */
static void set(Pair *x, int field, int seed) {
  float values[N];
  numbers(seed, values);
  for (int i = 0; i < 2; i++)
    assert_int_equal(stc_plan_set(x->plan[i], field, values, sizeof values), STC_OK);
}

static const char *const devices[] = {"host:2", "sim"};
enum { DEVICES = sizeof devices / sizeof *devices };

/* Set before the first run, between runs, and taken back by beginning anew. */
TEST(values_set) {
  for (int d = 0; d < DEVICES; d++) {
    Pair x = make_pair(devices[d]);
    run(&x, 3);
    set(&x, P, 1);
    run(&x, 2);
    set(&x, A, 2);
    run(&x, 1);
    set(&x, P, 3);
    run(&x, 0);
    run(&x, 4);
    for (int i = 0; i < 2; i++)
      assert_int_equal(stc_plan_restart(x.plan[i]), STC_OK);
    run(&x, 3);
    for (int i = 0; i < 2; i++)
      assert_int_equal(stc_plan_restart(x.plan[i]), STC_OK);
    set(&x, P, 4);
    run(&x, 5);
    free_pair(&x);
  }
}

/* Written by who has the memory: an array of the caller's, the plan's own by its address, or as a tensor. */
TEST(memory_written) {
  for (int d = 0; d < DEVICES; d++)
    for (int way = 0; way < 4; way++) {
      Pair x = make_pair(devices[d]);
      float *memory[2];
      int64_t shape[] = {N};
      DLManagedTensor *tensor[2] = {NULL, NULL};
      if (way == 3)
        run(&x, 2);
      for (int i = 0; i < 2; i++) {
        StcArray array = {aligned_alloc(64, 1024), STC_F32, 1, shape, NULL};
        void *pointer = array.data;
        numbers(5, array.data);
        if (way % 2 == 0)
          assert_int_equal(stc_plan_bind(x.plan[i], P, 0, &array, way == 2), STC_OK);
        else
          free(array.data);
        if (way == 1)
          assert_int_equal(stc_plan_pointer(x.plan[i], P, 0, &pointer), STC_OK);
        if (way == 3) {
          assert_int_equal(stc_plan_to_dlpack(x.plan[i], P, 0, &tensor[i]), STC_OK);
          pointer = (char *)tensor[i]->dl_tensor.data + tensor[i]->dl_tensor.byte_offset;
        }
        memory[i] = pointer;
      }
      for (int seed = 6; seed < 9; seed++) {
        for (int i = 0; i < 2; i++)
          numbers(seed, memory[i]);
        run(&x, 2);
        run(&x, 1);
      }
      for (int i = 0; i < 2; i++)
        numbers(9, memory[i]);
      for (int i = 0; i < 2 && way % 2 == 0; i++) {
        assert_int_equal(stc_plan_bind(x.plan[i], P, 0, NULL, false), STC_OK);
        free(memory[i]);
      }
      run(&x, 2);
      for (int i = 0; i < 2; i++)
        if (tensor[i])
          tensor[i]->deleter(tensor[i]);
      free_pair(&x);
    }
}

/* Launches of a run of one step of the plan with hidden fields. */
static int64_t launches(Pair *x) {
  StcRunInfo info;
  assert_int_equal(stc_plan_run(x->plan[0], 1, &info), STC_OK);
  return info.launches;
}

/* Nothing is made anew as long as what it is made of stays. */
TEST(made_once) {
  Pair x = make_pair("host:2");
  assert_int_equal(stc_plan_run(x.plan[0], 1, NULL), STC_OK);
  assert_int_equal(launches(&x), 1);
  assert_int_equal(launches(&x), 1);
  float values[N];
  numbers(1, values);
  assert_int_equal(stc_plan_set(x.plan[0], P, values, sizeof values), STC_OK);
  assert_int_equal(launches(&x), 2);
  assert_int_equal(launches(&x), 1);
  void *pointer;
  assert_int_equal(stc_plan_pointer(x.plan[0], A, 0, &pointer), STC_OK);
  assert_int_equal(launches(&x), 2);
  assert_int_equal(launches(&x), 1);
  free_pair(&x);
}

/* Users do not see them. */
TEST(hidden) {
  Pair x = make_pair("host:2");
  assert_int_equal(stc_program_field_count(x.program[0]), 2);
  assert_int_equal(stc_program_find_field(x.program[0], "s.fixed"), -1);
  free_pair(&x);
}
