/* ranks_test.c: plans over several processes by the public interface. Started by mpirun (tests/split/mpi.test) it is
 * the processes; by itself it sees what is said where there is no MPI. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN_MAIN
#include "tests/unit/testing.h"
#include <malloc.h>

#include "driver/split/split.h"
#include "driver/stc.h"
#include "driver/tune/trial.h"

static const char *const text =
    "param N = 13, M = 10;\nparam w[4] : f32;\ngrid G = [0 .. N-1, 0 .. M-1], 5;\n"
    "field U : f32 on G outside periodic history 1;\nfield A : f64[2] on [1 .. N-2, 0 .. M-1] outside clamp;\n"
    "field K : f32 on G input;\n"
    "init a(A)[1 .. N-2, 0 .. M-1] = {f64(idx(0)), f64(idx(1))};\n"
    "stencil s(U)[G] = 0.25 * (U[-1,0] + U[0,1] + U@1[1,-1]) + K[0,0] * w[step % 4];\n"
    "stencil t(A)[2 .. N-3, 0 .. M-1] = {A[-1,0][1] + f64(U), A[1,1][0]};\n";

/* A context that keeps its first message, and the program. */
typedef struct World {
  Messages messages;
  StcContext *c;
  StcProgram *p;
} World;

/* The bytes that the libraries' contexts hold now (an StcConfig.realloc). */
static size_t held;
static int left = -1; /* requests until there is no memory any more; -1: there is */
static void *count_bytes(void *user, void *p, size_t size) {
  (void)user;
  if (size && left >= 0 && left-- == 0)
    return left = 0, NULL;
  held -= p ? malloc_usable_size(p) : 0;
  void *to = size ? realloc(p, size) : (free(p), NULL);
  held += to ? malloc_usable_size(to) : 0;
  return to;
}

static void compile(World *w, const char *source) {
  memset(w, 0, sizeof *w);
  StcConfig config = messages_config(&w->messages);
  config.realloc = count_bytes;
  StcOptions o = {.no_contract = true, .march = "nvptx"};
  w->c = stc_context_new(&config);
  assert_int_equal(stc_compile_string(w->c, "ranks.stn", source, &o, &w->p), STC_OK);
}

static void end(World *w) {
  stc_program_free(w->p);
  stc_context_free(w->c);
}

/* The value of U or K at a point of the grid. */
static float value(int field, int64_t i, int64_t k) { return (float)(i * 7 % 5 + k * (field + 1) % 3) * 0.5f; }

/* Sets field `field` of a plan with the whole grid. */
static void set_whole(StcPlan *p, int field) {
  float v[13][10];
  for (int i = 0; i < 13; i++)
    for (int k = 0; k < 10; k++)
      v[i][k] = value(field, i, k);
  assert_int_equal(stc_plan_set(p, field, v, sizeof v), STC_OK);
}

/* The same of all parts of this process. */
static void set_parts(StcPlan *p, int field) {
  for (int part = 0; part < stc_plan_part_count(p); part++) {
    StcFieldInfo f;
    assert_int_equal(stc_plan_part_field(p, part, field, &f), STC_OK);
    float *v = malloc((size_t)f.bytes + 1);
    for (int64_t i = 0; i < f.shape[0]; i++)
      for (int64_t k = 0; k < f.shape[1]; k++)
        v[i * f.shape[1] + k] = value(field, f.first[0] + i, f.first[1] + k);
    assert_int_equal(stc_plan_part_set(p, part, field, v, (size_t)f.bytes), STC_OK);
    free(v);
  }
}

/* Runs 2 and 3 steps, having set what the plan starts from. */
static void run(StcPlan *p, StcProgram *g, bool parts) {
  static const float w[4] = {1, 0.5f, 0.25f, 2};
  int u = stc_program_find_field(g, "U"), k = stc_program_find_field(g, "K");
  (parts ? set_parts : set_whole)(p, u);
  (parts ? set_parts : set_whole)(p, k);
  assert_int_equal(stc_plan_set_array(p, 0, w, sizeof w), STC_OK);
  assert_int_equal(stc_plan_run(p, 2, NULL), STC_OK);
  assert_int_equal(stc_plan_run(p, 3, NULL), STC_OK);
}

/* Compares what this process' parts have of a field with the whole one. */
static void compare(StcPlan *p, StcPlan *whole, int field) {
  StcFieldInfo all, f;
  assert_int_equal(stc_plan_field(whole, field, &all), STC_OK);
  int64_t size = all.bytes / (all.shape[0] * all.shape[1]);
  char *want = malloc((size_t)all.bytes);
  assert_int_equal(stc_plan_get(whole, field, want, (size_t)all.bytes), STC_OK);
  for (int part = 0; part < stc_plan_part_count(p); part++) {
    assert_int_equal(stc_plan_part_field(p, part, field, &f), STC_OK);
    char *got = malloc((size_t)f.bytes + 1);
    assert_int_equal(stc_plan_part_get(p, part, field, got, (size_t)f.bytes), STC_OK);
    for (int64_t i = 0; i < f.shape[0]; i++)
      assert_memory_equal(got + i * f.shape[1] * size,
                          want + ((f.first[0] - all.first[0] + i) * all.shape[1] + f.first[1] - all.first[1]) * size,
                          (size_t)(f.shape[1] * size));
    free(got);
  }
  free(want);
}

/* Without the whole grid on any process: the bits of one plan, twice, the first time after a run that could not begin,
 * for fields had no values. No field can be had as a whole. */
static void check_parts(const char *device, const char *cut) {
  World w;
  StcPlan *p, *whole;
  StcRanks ranks = {.parts = true};
  compile(&w, text);
  assert_int_equal(stc_plan_new(w.p, "ref", 0, NULL, &whole), STC_OK);
  run(whole, w.p, false);
  assert_int_equal(stc_plan_new_ranks(w.p, &ranks, device, cut, 0, NULL, &p), STC_OK);
  assert_in_range(stc_plan_part_count(p), 1, 6);
  assert_int_not_equal(stc_plan_run(p, 1, NULL), STC_OK);
  memset(&w.messages, 0, sizeof w.messages);
  for (int i = 0; i < 2; i++) {
    run(p, w.p, true);
    for (int f = 0; f < stc_program_field_count(w.p); f++)
      compare(p, whole, f);
    assert_int_equal(stc_plan_restart(p), STC_OK);
  }
  float x = 0;
  assert_int_equal(stc_plan_set(p, 0, &x, 13 * 10 * sizeof x), STC_USAGE);
  assert_non_null(strstr(w.messages.first, "take stc_plan_part_set"));
  StcArray array = {.data = &x};
  struct DLManagedTensor *tensor = NULL;
  assert_int_equal(stc_plan_bind(p, 0, 0, &array, false), STC_USAGE);
  assert_int_equal(stc_plan_to_dlpack(p, 0, 0, &tensor), STC_USAGE);
  assert_null(tensor);
  stc_plan_free(p);
  stc_plan_free(whole);
  end(&w);
}

/* On the simulator, and where a part's steps may be one launch, which is made by itself. */
static void test_parts(void **state) {
  (void)state;
  check_parts("sim", "3x2/2");
  check_parts("host:1", "3x2/1");
}

/* With it on the first. */
static void test_whole(void **state) {
  World w;
  StcPlan *p, *whole;
  compile(&w, text);
  assert_int_equal(stc_plan_new(w.p, "ref", 0, NULL, &whole), STC_OK);
  run(whole, w.p, false);
  assert_int_equal(stc_plan_new_ranks(w.p, NULL, "ref", "1x6", 0, NULL, &p), STC_OK);
  run(p, w.p, false);
  float got[13][10], want[13][10];
  StcStatus s = stc_plan_get(p, 0, got, sizeof got);
  assert_int_equal(stc_plan_get(whole, 0, want, sizeof want), STC_OK);
  if (!s)
    assert_memory_equal(got, want, sizeof got);
  else
    assert_non_null(strstr(w.messages.first, "it is on rank 0"));
  stc_plan_free(p);
  stc_plan_free(whole);
  end(&w);
  (void)state;
}

/* Setting the fields of parts and running again and again takes no more memory. */
static void test_memory(void **state) {
  World w;
  StcPlan *p;
  StcRanks ranks = {.parts = true};
  compile(&w, text);
  assert_int_equal(stc_plan_new_ranks(w.p, &ranks, "host:1", "6/2", 0, NULL, &p), STC_OK);
  for (int i = 0; i < 3; i++)
    run(p, w.p, true);
  size_t before = held;
  for (int i = 0; i < 40; i++)
    run(p, w.p, true);
  assert_int_equal(held, before);
  stc_plan_free(p);
  end(&w);
  (void)state;
}

/* Sets where the sources of test_points are. */
static void place(StcPlan *p, StcProgram *g, int first) {
  const int sx[3] = {first, 12 - first, first};
  assert_int_equal(stc_plan_set_array(p, stc_program_find_array(g, "sx"), sx, sizeof sx), STC_OK);
}

/* 5 steps, from a place on; then sources are elsewhere, and 2 more. */
static void run_points(StcPlan *p, StcProgram *g, bool parts, int first) {
  place(p, g, first);
  run(p, g, parts);
  place(p, g, first + 3);
  assert_int_equal(stc_plan_run(p, 2, NULL), STC_OK);
}

/* Sources, and an init that reads other points of what was set part by part, without the whole grid on any process. */
static void test_points(void **state) {
  World w;
  StcPlan *p, *whole;
  StcRanks ranks = {.parts = true};
  char source[2048];
  snprintf(source, sizeof source,
           "%sparam sx[3] : i32;\nfield B : f64 on G outside mirror;\n"
           "init b(B)[0 .. N-2, 0 .. M-1] = f64(K[1,0]) + f64(U[0,-2]);\nstencil q(B)[G] = B[-1,0] * 0.5 + f64(U);\n"
           "inject shot(U) += 0.5 * K[0,0] + f32(point) at [sx, 2] up to 2;\nprobe seen = U at [sx, 3] every 2;\n",
           text);
  compile(&w, source);
  assert_int_equal(stc_plan_new(w.p, "ref", 0, NULL, &whole), STC_OK);
  assert_int_equal(stc_plan_new_ranks(w.p, &ranks, "sim", "3x2/2", 0, NULL, &p), STC_OK);
  int64_t at[4];
  assert_int_equal(stc_plan_probe_point(p, 0, 1, at), STC_INPUT);
  assert_non_null(strstr(w.messages.first, "launch-time array sx, of coordinates, has no values"));
  memset(&w.messages, 0, sizeof w.messages);
  place(p, w.p, 4);
  assert_int_equal(stc_plan_probe_point(p, 0, 1, at), STC_OK);
  assert_true(at[0] == 8 && at[1] == 3);
  for (int i = 0; i < 2; i++) {
    run_points(whole, w.p, false, i);
    run_points(p, w.p, true, i);
    for (int f = 0; f < stc_program_field_count(w.p); f++)
      compare(p, whole, f);
    assert_int_equal(stc_plan_restart(p), STC_OK);
    assert_int_equal(stc_plan_restart(whole), STC_OK);
  }
  stc_plan_free(p);
  stc_plan_free(whole);
  end(&w);
  (void)state;
}

/* Notes a value of a reduction. */
static void note(void *user, const StcReduction *r) {
  double *sum = user;
  *sum = *sum * 3 + r->f;
}

/* Has the plan make 5 steps; all that its reductions came to, in one number. */
static double reduced(StcPlan *p, StcProgram *g, bool parts) {
  double sum = 0;
  stc_plan_series(p, note, &sum);
  run(p, g, parts);
  return sum;
}

/* Reductions without the whole grid on any process: all are told what one plan comes to. */
static void test_reduced(void **state) {
  World w;
  StcPlan *p, *whole;
  StcRanks ranks = {.parts = true};
  char source[2048];
  snprintf(source, sizeof source, "%sreduce r = sum(f64(U[1,0]) * A[0,-1][1]) over [1 .. N-2, 0 .. M-1] every 1;\n",
           text);
  compile(&w, source);
  assert_int_equal(stc_plan_new(w.p, "ref", 0, NULL, &whole), STC_OK);
  double want = reduced(whole, w.p, false);
  assert_true(want != 0);
  assert_int_equal(stc_plan_restart(whole), STC_OK);
  assert_true(reduced(whole, w.p, false) == want);
  assert_int_equal(stc_plan_new_ranks(w.p, &ranks, "sim", "2x3/2", 0, NULL, &p), STC_OK);
  for (int i = 0; i < 2; i++) {
    assert_true(reduced(p, w.p, true) == want);
    assert_int_equal(stc_plan_restart(p), STC_OK);
  }
  stc_plan_free(p);
  stc_plan_free(whole);
  end(&w);
  (void)state;
}

/* A reduction that looks at ghost cells which were not brought up to date is found by the simulator. */
static void test_stale(void **state) {
  World w;
  StcPlan *p;
  StcRanks ranks = {.parts = true};
  compile(&w, "grid G = [0 .. 12, 0 .. 9], 5;\nfield U : f32 on G outside clamp;\ninit i(U)[G] = f32(idx(0));\n"
              "stencil s(U)[G] = U * 0.5;\nreduce r = sum(U[1,0]) over G every 1;\n");
  for (int faulty = 0; faulty < 2; faulty++) {
    assert_int_equal(stc_plan_new_ranks(w.p, &ranks, "sim", "6/1", 0, NULL, &p), STC_OK);
    p->split->ntransfers = faulty ? 0 : p->split->ntransfers;
    assert_int_equal(stc_plan_run(p, 2, NULL), faulty ? STC_INTERNAL : STC_OK);
    stc_plan_free(p);
  }
  const char *said = w.messages.first;
  assert_true(strstr(said, "of 'U'") || strstr(said, "its own message says why"));
  assert_true(!strstr(said, "of 'U'") || strstr(said, "was not brought up to date for the level after"));
  end(&w);
  (void)state;
}

/* What cannot be, on all processes. */
static void test_refused(void **state) {
  World w;
  StcPlan *p;
  StcRanks ranks = {.parts = true};
  char source[2048];
  snprintf(source, sizeof source,
           "%sparam L = 5;\nfield F : f32 on [0 .. L, 0 .. M-1] outside clamp;\n"
           "init f(F)[0 .. L, 0 .. M-1] = f32(idx(0));\ninit u(U)[G] = F;\n",
           text);
  compile(&w, source);
  assert_int_equal(stc_plan_new_ranks(w.p, &ranks, "ref", "6", 0, NULL, &p), STC_USAGE);
  assert_null(p);
  assert_non_null(strstr(w.messages.first, "needs the whole grid in one place"));
  end(&w);
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *define = rank && atoi(rank) == 1 ? "N=14" : "N=13";
  compile(&w, text);
  if (rank && atoi(getenv("OMPI_COMM_WORLD_SIZE")) > 1) {
    assert_int_equal(stc_plan_new_ranks(w.p, NULL, "ref", "6", 1, &define, &p), STC_USAGE);
    assert_non_null(strstr(w.messages.first, "rank 1 makes another plan than rank 0"));
  }
  end(&w);
  StcConfig config = messages_config(&w.messages);
  StcOptions o = {.no_contract = true, .march = "nvptx", .T = rank && atoi(rank) == 1 ? 3 : 2};
  memset(&w, 0, sizeof w);
  w.c = stc_context_new(&config);
  assert_int_equal(stc_compile_string(w.c, "ranks.stn", text, &o, &w.p), STC_OK);
  if (rank && atoi(getenv("OMPI_COMM_WORLD_SIZE")) > 1) {
    assert_int_equal(stc_plan_new_ranks(w.p, NULL, "ref", "6", 0, NULL, &p), STC_USAGE);
    assert_non_null(strstr(w.messages.first, "rank 1 makes another plan than rank 0"));
  }
  end(&w);
  (void)state;
}

/* Rank 1 has memory for `n` requests more from when it makes the plan on: all end, or all go on. */
static int starve(int n) {
  World w;
  StcPlan *p = NULL;
  const char *rank = getenv("OMPI_COMM_WORLD_RANK");
  StcRanks ranks = {.parts = true};
  compile(&w, text);
  left = rank && atoi(rank) == 1 ? n : -1;
  StcStatus s = stc_plan_new_ranks(w.p, &ranks, "ref", "6", 0, NULL, &p);
  if (!s)
    run(p, w.p, true);
  left = -1;
  stc_plan_free(p);
  end(&w);
  return s ? 1 : 0;
}

/* There is no module. */
static void test_missing(void **state) {
  World w;
  StcPlan *p;
  compile(&w, text);
  assert_int_equal(stc_plan_new_ranks(w.p, NULL, "ref", "6", 0, NULL, &p), STC_DEVICE);
  assert_non_null(strstr(w.messages.first, "there is no stc-mpi.so"));
  assert_non_null(strstr(w.messages.first, "mpicc -shared -fPIC -o stc-mpi.so stc-mpi.c"));
  end(&w);
  (void)state;
}

int main(int argc, char **argv) {
  if (argc > 2 && strcmp(argv[1], "starve") == 0)
    return starve(atoi(argv[2]));
  const struct CMUnitTest with[] = {cmocka_unit_test(test_parts),   cmocka_unit_test(test_whole),
                                    cmocka_unit_test(test_memory),  cmocka_unit_test(test_points),
                                    cmocka_unit_test(test_reduced), cmocka_unit_test(test_stale),
                                    cmocka_unit_test(test_refused)};
  const struct CMUnitTest without[] = {cmocka_unit_test(test_missing)};
  return getenv("STC_MPI") ? cmocka_run_group_tests(with, NULL, NULL) : cmocka_run_group_tests(without, NULL, NULL);
}
