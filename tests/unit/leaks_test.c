/* leaks_test.c: nothing is left behind by many calls: plans made and freed, memory bound, tensors handed out, streams
 * changed, runs waited for and not, on the host and on the stand-ins for GPUs' drivers. STC_LEAK_CALLS says how many
 * calls (default 400; 10000 takes a minute under the sanitizers). The test starts itself again with LD_LIBRARY_PATH set
 * to the stand-ins. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dlfcn.h>

#define OWN_MAIN
#include "tests/unit/testing.h"
#include "driver/instance/dlpack.h"
#include "driver/program/program.h"
#include "driver/stc.h"

enum { N = 24, POINTS = N * N };

static const char *const program =
    "param N = 24;\ngrid G = [0 .. N-1, 0 .. N-1], 10;\nfield A : f32 on G history 1;\n"
    "init a(A)[G] = 1.0;\nreduce most = max(A) over G every 4;\nuntil max(A) over G > 9.0 every 1;\n"
    "stencil s(A)[1 .. N-2, 1 .. N-2] = 0.2 * (A[-1,0] + A@1 + A[1,0] + A[0,-1]);\n";
static const char *const vectors = "param N = 24;\ngrid G = [0 .. N-1, 0 .. N-1], 10;\nfield V : f32[3] on G;\n"
                                   "stencil s(V)[1 .. N-2, 1 .. N-2] = 0.5 * (V[-1,0] + V[0,1]);\n";

/* A context that counts the bytes that it has of the heap, and keeps its first message. full: there are no more. */
typedef struct World {
  size_t live;
  bool full;
  char message[256];
  StcContext *c;
  StcProgram *p;
} World;

/* Memory with its size in front of it. */
static void *counted(void *user, void *p, size_t size) {
  World *w = user;
  size_t *head = p ? (size_t *)p - 2 : NULL;
  if (size && w->full)
    return NULL;
  if (head)
    w->live -= *head;
  if (size == 0)
    return free(head), NULL;
  size_t *made = realloc(head, size + 2 * sizeof *made);
  if (!made)
    return NULL;
  *made = size;
  w->live += size;
  return made + 2;
}

static void keep(void *user, const StcMessage *m) {
  World *w = user;
  if (!w->message[0] && m->kind == STC_ERROR)
    snprintf(w->message, sizeof w->message, "%s", m->text);
}

static int make_world(void **state) {
  World *w = calloc(1, sizeof *w);
  StcConfig config = {counted, keep, w};
  StcOptions o = {.schedule = "overlap", .T = 2};
  w->c = stc_context_new(&config);
  *state = w;
  return stc_compile_string(w->c, "p.stn", program, &o, &w->p);
}

static int free_world(void **state) {
  World *w = *state;
  stc_program_free(w->p);
  stc_context_free(w->c);
  assert_int_equal(w->live, 0);
  free(w);
  return 0;
}

/* Fails with the message if `s` is an error. */
static void good(World *w, StcStatus s) {
  if (s)
    fail_msg("%s", w->message);
}

/* How many calls each test makes. */
static int calls(void) {
  const char *n = getenv("STC_LEAK_CALLS");
  return n ? atoi(n) : 400;
}

/* The caller's memory on a device, and what the device has in use. */
typedef struct CallerSide {
  const char *device;
  void *stream[2], *memory[2];
  int (*live)(void);
} CallerSide;

/* One call of a caller's: memory bound, in one stream or the other, some steps, waited for or not, a tensor out. */
static void call(World *w, const CallerSide *s, StcPlan *plan, int i) {
  static const int64_t shape[] = {N, N};
  StcArray a = {s->memory[i % 2], STC_F32, 2, shape, NULL};
  struct DLManagedTensor *t;
  good(w, stc_plan_restart(plan));
  if (s->stream[1])
    good(w, stc_plan_stream(plan, s->stream[i / 2 % 2]));
  good(w, stc_plan_bind(plan, 0, 0, i % 7 ? &a : NULL, i % 5 == 0));
  if (i % 3)
    good(w, stc_plan_run(plan, i % 4, NULL));
  else
    good(w, stc_plan_run_async(plan, i % 4));
  good(w, stc_plan_wait(plan, NULL));
  good(w, stc_plan_to_dlpack(plan, 0, 0, &t));
  t->deleter(t);
}

/* Many calls of one plan: the heap is as large behind them as after the first. */
static void check_calls(World *w, const CallerSide *s) {
  StcPlan *plan;
  int device = s->live ? s->live() : 0;
  good(w, stc_plan_new(w->p, s->device, 0, NULL, &plan));
  for (int i = 0; i < 84; i++)
    call(w, s, plan, i);
  size_t before = w->live;
  int used = s->live ? s->live() : 0;
  for (int i = 0; i < calls() / 84 * 84; i++)
    call(w, s, plan, i);
  assert_int_equal(w->live, before);
  assert_int_equal(s->live ? s->live() : 0, used);
  stc_plan_free(plan);
  assert_int_equal(s->live ? s->live() : 0, device);
}

/* Many plans, one after the other. The program keeps what it compiled, and nothing else: neither on the heap nor in the
 * memory that it has already. */
static void check_plans(World *w, const CallerSide *s) {
  size_t before = 0, kept = 0;
  int device = s->live ? s->live() : 0;
  for (int i = 0; i < 10 + calls() / 10; i++) {
    StcPlan *plan;
    good(w, stc_plan_new(w->p, s->device, 0, NULL, &plan));
    for (int k = 0; k < 3; k++)
      call(w, s, plan, i + k);
    stc_plan_free(plan);
    if (i == 9) {
      before = w->live;
      kept = arena_used(w->p->w.arena);
    }
  }
  assert_int_equal(w->live, before);
  assert_int_equal(arena_used(w->p->w.arena), kept);
  assert_int_equal(s->live ? s->live() : 0, device);
}

/* On a device that works in the host's memory. */
static void check_here(World *w, const char *device) {
  float *memory[2];
  for (int i = 0; i < 2; i++) {
    memory[i] = aligned_alloc(64, sizeof(float) * POINTS);
    memset(memory[i], 0, sizeof(float) * POINTS);
  }
  CallerSide s = {device, {NULL, NULL}, {memory[0], memory[1]}, NULL};
  check_calls(w, &s);
  check_plans(w, &s);
  free(memory[0]);
  free(memory[1]);
}

WORLD_TEST(test_host) { check_here(w, "host:2"); }
WORLD_TEST(test_reference) { check_here(w, "ref"); }

/* On the stand-in `library`, whose functions for memory are `alloc` and `release`. */
static void check_gpu(World *w, const char *device, const char *library, const char *alloc, const char *release) {
  void *driver = dlopen(library, RTLD_NOW);
  int (*take)(void **p, size_t size) = NULL, (*give)(void *p) = NULL, (*live)(void) = NULL;
  CallerSide s = {device, {NULL, dlsym(driver, "standin_stream")}, {NULL, NULL}, NULL};
  StcPlan *first;
  *(void **)&take = dlsym(driver, alloc);
  *(void **)&give = dlsym(driver, release);
  *(void **)&live = dlsym(driver, "standin_live");
  s.live = live;
  good(w, stc_plan_new(w->p, device, 0, NULL, &first));
  for (int i = 0; i < 2; i++)
    assert_int_equal(take(&s.memory[i], sizeof(float) * POINTS), 0);
  check_calls(w, &s);
  check_plans(w, &s);
  for (int i = 0; i < 2; i++)
    assert_int_equal(give(s.memory[i]), 0);
  stc_plan_free(first);
  assert_int_equal(live(), 0);
  dlclose(driver);
}

WORLD_TEST(test_cuda) { check_gpu(w, "cuda", "libcuda.so.1", "cuMemAlloc_v2", "cuMemFree_v2"); }

/* A tensor of a whole field of vectors, the components outermost: how often it was taken, and given back. */
typedef struct Given {
  float *memory;
  int taken, back;
  DLManagedTensor tensor;
} Given;

static void give_back(DLManagedTensor *t) { ((Given *)t->manager_ctx)->back++; }

/* Makes it. */
static void given_new(Given *g) {
  static int64_t shape[] = {N, N, 3}, strides[] = {N, 1, POINTS};
  *g = (Given){.memory = aligned_alloc(64, sizeof(float) * 3 * POINTS)};
  memset(g->memory, 0, sizeof(float) * 3 * POINTS);
  g->tensor = (DLManagedTensor){{g->memory, {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, shape, strides, 0}, g, give_back};
}

/* All components lie in number `at` of the two, which the plan holds alone. */
static void check_held(World *w, StcPlan *plan, const Given *g, int at) {
  void *memory;
  for (int c = 0; c < 3; c++) {
    good(w, stc_plan_pointer(plan, 0, c, &memory));
    assert_ptr_equal(memory, g[at].memory + c * POINTS);
  }
  for (int i = 0; i < 2; i++)
    assert_int_equal(g[i].taken - g[i].back, i == at);
}

/* A whole field is bound again and again where the heap has no more: nothing is left behind, so nothing is wanted. */
WORLD_TEST(test_whole_without_heap) {
  StcOptions o = {.schedule = "overlap", .T = 2};
  StcProgram *p;
  StcPlan *plan;
  Given g[2];
  good(w, stc_compile_string(w->c, "v.stn", vectors, &o, &p));
  good(w, stc_plan_new(p, "host:2", 0, NULL, &plan));
  for (int i = 0; i < 2; i++)
    given_new(&g[i]);
  size_t live = 0;
  for (int i = 0; i < 4000; i++) {
    Given *next = &g[i % 2];
    w->full = i > 2;
    live = i > 2 ? live : w->live;
    good(w, stc_plan_from_dlpack(plan, 0, -1, &next->tensor));
    w->full = false;
    next->taken++;
    check_held(w, plan, g, i % 2);
  }
  assert_int_equal(w->live, live);
  stc_plan_free(plan);
  stc_program_free(p);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(g[i].taken, g[i].back);
    free(g[i].memory);
  }
}

/* The components of a whole field are moved together, or none is: any of the copies may fail. */
WORLD_TEST(test_gathered_or_not) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*live)(void) = NULL;
  *(void **)&live = dlsym(driver, "standin_live");
  for (int after = 0; after < 3; after++) {
    StcOptions o = {.schedule = "overlap", .T = 2};
    StcProgram *p;
    StcPlan *plan;
    struct DLManagedTensor *t;
    char fail[64];
    snprintf(fail, sizeof fail, "cuMemcpyDtoDAsync+%d", after);
    good(w, stc_compile_string(w->c, "v.stn", vectors, &o, &p));
    good(w, stc_plan_new(p, "cuda", 0, NULL, &plan));
    int before = live();
    setenv("STC_STANDIN_FAIL", fail, 1);
    assert_int_equal(stc_plan_to_dlpack(plan, 0, -1, &t), STC_DEVICE);
    unsetenv("STC_STANDIN_FAIL");
    assert_int_equal(live(), before);
    w->message[0] = 0;
    good(w, stc_plan_to_dlpack(plan, 0, -1, &t));
    t->deleter(t);
    stc_plan_free(plan);
    stc_program_free(p);
    assert_int_equal(live(), 0);
  }
  dlclose(driver);
}

/* Nor is a part of a field bound on a GPU if waiting for one of its components fails. */
WORLD_TEST(test_waited_or_not) {
  static const int64_t shape[] = {N, N, 3}, strides[] = {N, 1, POINTS};
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *mine, *at;
  int (*take)(void **p, size_t size) = NULL, (*give)(void *p) = NULL;
  StcOptions o = {.schedule = "overlap", .T = 2};
  StcProgram *p;
  StcPlan *plan;
  *(void **)&take = dlsym(driver, "cuMemAlloc_v2");
  *(void **)&give = dlsym(driver, "cuMemFree_v2");
  good(w, stc_compile_string(w->c, "v.stn", vectors, &o, &p));
  for (int after = 0; after < 3; after++) {
    char fail[64];
    snprintf(fail, sizeof fail, "cuCtxSynchronize+%d", after);
    good(w, stc_plan_new(p, "cuda", 0, NULL, &plan));
    assert_int_equal(take(&mine, sizeof(float) * 3 * POINTS), 0);
    StcArray a = {mine, STC_F32, 3, shape, strides};
    setenv("STC_STANDIN_FAIL", fail, 1);
    bool bound = stc_plan_bind(plan, 0, -1, &a, false) == STC_OK;
    unsetenv("STC_STANDIN_FAIL");
    for (int c = 0; c < 3; c++) {
      good(w, stc_plan_pointer(plan, 0, c, &at));
      assert_int_equal(at == (void *)((float *)mine + c * POINTS), bound);
    }
    w->message[0] = 0;
    stc_plan_free(plan);
    assert_int_equal(give(mine), 0);
  }
  stc_program_free(p);
  dlclose(driver);
}

int main(int argc, char **argv) {
  (void)argc;
  return run_beside(STC_STANDIN_DIR, argv, "leaks");
}
