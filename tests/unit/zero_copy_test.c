/* zero_copy_test.c: plans on memory of the caller's, DLPack, runs that nobody waits for, the caller's stream: on ref,
 * sim and host, and on cuda and hip against the stand-ins for their drivers. The test starts itself again with
 * LD_LIBRARY_PATH set to them. */

#include <dlfcn.h>

#include "tests/unit/standin.h"
#include "driver/instance/dlpack.h"

enum { N = 200, POINTS = N * N };

/* Two buffers for A, which are exchanged. */
static const char *const jacobi =
    "param N = 200;\ngrid G = [0 .. N-1, 0 .. N-1], 10;\nfield A : f32 on G;\nfield C : f32 on G input;\n"
    "stencil s(A)[1 .. N-2, 1 .. N-2] = C * 0.2 * (A[-1,0] + A + A[1,0] + A[0,-1] + A[0,1]);\n";
/* Three that rotate, two of which are alive. */
static const char *const wave = "param N = 200;\ngrid G = [0 .. N-1, 0 .. N-1], 10;\nfield U : f32 on G history 1;\n"
                                "stencil s(U)[1 .. N-2, 1 .. N-2] = 0.4 * (U[-1,0] + U[1,0] + U[0,-1]) - 0.3 * U@1;\n";
static const char *const vector = "param N = 200;\ngrid G = [0 .. N-1, 0 .. N-1], 10;\nfield V : f32[2] on G;\n"
                                  "stencil s(V)[1 .. N-2, 1 .. N-2] = 0.5 * (V[-1,0] + V[0,1]);\n";
static const int64_t shape[] = {N, N};
static const StcArray whole = {NULL, STC_F32, 2, shape, NULL};

/* A plan of `text` on `device`. */
static StcPlan *plan_of(World *w, const char *text, const char *device, StcProgram **p) {
  StcPlan *plan = NULL;
  StcOptions o = {.schedule = "overlap", .T = 3, .no_contract = true};
  if (stc_compile_string(w->c, "p.stn", text, &o, p) || stc_plan_new(*p, device, 0, NULL, &plan))
    fail_msg("%s", w->messages.first);
  return plan;
}

/* Numbers that differ from place to place (malloc, aligned to 64). */
static float *numbers(int seed) {
  float *a = aligned_alloc(64, sizeof *a * POINTS);
  for (int i = 0; i < POINTS; i++)
    a[i] = (float)((i * 7919 + seed * 104729) % 1000) / 1000;
  return a;
}

/* Runs the plan in pieces of several lengths, tiles of 3 steps and single ones among them. */
static void run_pieces(World *w, StcPlan *plan) {
  static const int pieces[] = {1, 3, 2, 7};
  for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
    if (stc_plan_run(plan, pieces[i], NULL))
      fail_msg("%s", w->messages.first);
}

/* Fields 0 and 1 of the program after some runs on `device`: copied in and out into `want`, and bound where `bound`
 * says so, with the values looked at where they were bound. */
static void check_bound(World *w, const char *text, const char *device, int bound) {
  StcProgram *p, *q;
  StcPlan *plan = plan_of(w, text, device, &p), *other = plan_of(w, text, device, &q);
  for (int f = 0; f < 2; f++) {
    float *values = numbers(f);
    assert_int_equal(stc_plan_set(plan, f, values, sizeof *values * POINTS), STC_OK);
    free(values);
  }
  run_pieces(w, plan);
  float *mine[2] = {numbers(0), numbers(1)}, *want = numbers(2), *got = numbers(2);
  for (int f = 0; f < 2; f++) {
    StcArray a = whole;
    a.data = mine[f];
    if (bound & 1 << f ? stc_plan_bind(other, f, 0, &a, false) : stc_plan_set(other, f, mine[f], sizeof *want * POINTS))
      fail_msg("%s", w->messages.first);
  }
  run_pieces(w, other);
  for (int f = 0; f < 2; f++) {
    assert_int_equal(stc_plan_get(plan, f, want, sizeof *want * POINTS), STC_OK);
    assert_int_equal(stc_plan_get(other, f, got, sizeof *want * POINTS), STC_OK);
    assert_memory_equal(got, want, sizeof *want * POINTS);
    if (bound & 1 << f)
      assert_memory_equal(mine[f], want, sizeof *want * POINTS);
    void *pointer;
    assert_int_equal(stc_plan_pointer(other, f, 0, &pointer), STC_OK);
    assert_int_equal(pointer == mine[f], bound >> f & 1);
  }
  for (int f = 0; f < 2; f++)
    if (bound & 1 << f)
      assert_int_equal(stc_plan_bind(other, f, 0, NULL, false), STC_OK);
  memcpy(got, mine[0], sizeof *got * POINTS);
  run_pieces(w, plan);
  run_pieces(w, other);
  assert_memory_equal(mine[0], got, sizeof *got * POINTS);
  for (int f = 0; f < 2; f++) {
    assert_int_equal(stc_plan_get(plan, f, want, sizeof *want * POINTS), STC_OK);
    assert_int_equal(stc_plan_get(other, f, got, sizeof *want * POINTS), STC_OK);
    assert_memory_equal(got, want, sizeof *want * POINTS);
    free(mine[f]);
  }
  free(want);
  free(got);
  stc_plan_free(plan);
  stc_plan_free(other);
  stc_program_free(p);
  stc_program_free(q);
}

/* Values are the same whether fields are bound or not, on the host, whose kernels exchange buffers, and on the others.
 */
WORLD_TEST(test_bound) {
  for (int bound = 0; bound < 4; bound++) {
    check_bound(w, jacobi, "host:2", bound);
    check_bound(w, wave, "host:2", bound);
  }
  check_bound(w, wave, "ref", 3);
}

/* A field bound fresh starts from its init. */
WORLD_TEST(test_fresh) {
  StcProgram *p;
  StcPlan *plan = plan_of(w,
                          "grid G = [0 .. 199, 0 .. 199], 1;\nfield A : f32 on G;\ninit i(A)[G] = 3;\n"
                          "stencil s(A)[G] = A + 1;\n",
                          "host:1", &p);
  float *mine = numbers(1);
  StcArray a = whole;
  a.data = mine;
  assert_int_equal(stc_plan_bind(plan, 0, 0, &a, true), STC_OK);
  assert_int_equal(stc_plan_run(plan, 1, NULL), STC_OK);
  assert_true(mine[0] == 4 && mine[POINTS - 1] == 4);
  stc_plan_free(plan);
  stc_program_free(p);
  free(mine);
}

/* Binds `a` to field 0 of a new plan, which must fail with that message; the plan runs all the same. */
static void refuse(World *w, const char *device, StcArray a, const char *message) {
  StcProgram *p;
  StcPlan *plan = plan_of(w, jacobi, device, &p);
  float *values = numbers(0);
  w->messages.first[0] = 0;
  assert_int_equal(stc_plan_bind(plan, 0, 0, &a, false), STC_USAGE);
  if (!strstr(w->messages.first, message))
    fail_msg("%s", w->messages.first);
  assert_int_equal(stc_plan_set(plan, 0, values, sizeof *values * POINTS), STC_OK);
  assert_int_equal(stc_plan_set(plan, 1, values, sizeof *values * POINTS), STC_OK);
  assert_int_equal(stc_plan_run(plan, 3, NULL), STC_OK);
  stc_plan_free(plan);
  stc_program_free(p);
  free(values);
}

/* What kernels cannot work on is refused, and the message says why. */
WORLD_TEST(test_refused) {
  static const int64_t fortran[] = {1, N}, padded[] = {N + 8, 1}, other[] = {N, N + 1};
  float *mine = numbers(0);
  StcArray a = whole;
  refuse(w, "host:1", a, "the array has no memory");
  a.data = mine;
  a.strides = fortran;
  refuse(w, "host:1", a, "it is in Fortran order");
  a.strides = padded;
  refuse(w, "host:1", a, "dimension 0 are 208 elements apart, and kernels are made for 200: it is padded");
  a.strides = NULL;
  a.shape = other;
  refuse(w, "host:1", a, "has the shape 200x200, but the array has 200x201");
  a.shape = shape;
  a.type = STC_F64;
  refuse(w, "host:1", a, "is of type f32, but the array is of f64");
  a.type = STC_F32;
  a.data = (char *)mine + 2;
  refuse(w, "host:1", a, "is no multiple of");
  a.data = mine;
  refuse(w, "cuda", a, "not in memory of device cuda");
  free(mine);
  StcProgram *p;
  StcPlan *plan = plan_of(w, vector, "ref", &p);
  w->messages.first[0] = 0;
  assert_int_equal(stc_plan_bind(plan, 0, 0, &whole, false), STC_USAGE);
  assert_non_null(strstr(w->messages.first, "vectors and structs are packed on this device"));
  assert_int_equal(stc_plan_stream(plan, plan), STC_USAGE);
  assert_int_equal(stc_plan_wait_event(plan, plan), STC_USAGE);
  stc_plan_free(plan);
  stc_program_free(p);
}

/* A plan on a device that there is not is freed before it has memory. */
WORLD_TEST(test_no_device) {
  StcProgram *p;
  StcPlan *plan = NULL;
  assert_int_equal(stc_compile_string(w->c, "p.stn", jacobi, NULL, &p), STC_OK);
  assert_int_equal(stc_plan_new(p, "tpu", 0, NULL, &plan), STC_USAGE);
  assert_null(plan);
  stc_program_free(p);
}

/* A plan that is restarted begins as a new one does: step 0, inits, fields that must be given. */
WORLD_TEST(test_restart) {
  StcProgram *p;
  StcPlan *plan =
      plan_of(w,
              "grid G = [0 .. 199, 0 .. 199], 1;\nfield A : f32 on G;\nfield B : f32 on G;\ninit i(A)[G] = 3;\n"
              "stencil s(A, B)[G] { A = A + f32(step); B = B + A; }\n",
              "host:1", &p);
  float *b = numbers(1), *got = numbers(2);
  for (int round = 0; round < 2; round++) {
    w->messages.first[0] = 0;
    assert_int_equal(stc_plan_run(plan, 1, NULL), STC_INPUT);
    assert_non_null(strstr(w->messages.first, "field B has no value to start from"));
    assert_int_equal(stc_plan_set(plan, 1, b, sizeof *b * POINTS), STC_OK);
    assert_int_equal(stc_plan_run(plan, 3, NULL), STC_OK);
    assert_int_equal(stc_plan_get(plan, 0, got, sizeof *got * POINTS), STC_OK);
    assert_true(got[0] == 6 && got[POINTS - 1] == 6);
    assert_int_equal(stc_plan_restart(plan), STC_OK);
  }
  stc_plan_free(plan);
  stc_program_free(p);
  free(b);
  free(got);
}

/* How often the deleter of the test's tensors was called. */
static int deleted;
static void count_deletion(DLManagedTensor *t) { deleted += t->manager_ctx == &deleted; }

/* Tensors in: the plan works in them, and lets go of each once. Tensors out: they show the field after each run. */
WORLD_TEST(test_dlpack) {
  StcProgram *p;
  StcPlan *plan = plan_of(w, jacobi, "host:2", &p);
  int64_t places[] = {N, 1}, extents[] = {N, N};
  float *mine = numbers(0), *got = numbers(1), *c = numbers(1);
  DLManagedTensor in = {{(char *)mine - 64, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, extents, places, 64},
                        &deleted,
                        count_deletion},
                  wrong = in, *out, *again;
  wrong.dl_tensor.device.device_type = kDLCUDA;
  deleted = 0;
  assert_int_equal(stc_plan_from_dlpack(plan, 0, 0, &wrong), STC_USAGE);
  assert_non_null(strstr(w->messages.first, "the tensor is on another device"));
  wrong.dl_tensor.device.device_type = kDLCPU;
  wrong.dl_tensor.dtype.lanes = 2;
  assert_int_equal(stc_plan_from_dlpack(plan, 0, 0, &wrong), STC_USAGE);
  assert_int_equal(deleted, 0);
  assert_int_equal(stc_plan_from_dlpack(plan, 0, 0, &in), STC_OK);
  assert_int_equal(stc_plan_set(plan, 1, c, sizeof *c * POINTS), STC_OK);
  assert_int_equal(stc_plan_to_dlpack(plan, 0, 0, &out), STC_OK);
  assert_ptr_equal(out->dl_tensor.data, mine);
  assert_true(out->dl_tensor.ndim == 2 && out->dl_tensor.shape[0] == N && out->dl_tensor.strides[0] == N &&
              out->dl_tensor.strides[1] == 1);
  assert_true(out->dl_tensor.dtype.code == kDLFloat && out->dl_tensor.dtype.bits == 32);
  run_pieces(w, plan);
  assert_int_equal(stc_plan_get(plan, 0, got, sizeof *got * POINTS), STC_OK);
  assert_memory_equal(got, mine, sizeof *got * POINTS);
  out->deleter(out);
  assert_int_equal(stc_plan_bind(plan, 0, 0, NULL, false), STC_OK);
  assert_int_equal(deleted, 1);
  assert_int_equal(stc_plan_to_dlpack(plan, 0, 0, &again), STC_OK);
  run_pieces(w, plan);
  assert_int_equal(stc_plan_get(plan, 0, got, sizeof *got * POINTS), STC_OK);
  assert_memory_equal(got, again->dl_tensor.data, sizeof *got * POINTS);
  assert_int_equal(stc_plan_from_dlpack(plan, 0, 0, &in), STC_OK);
  run_pieces(w, plan);
  assert_memory_equal(got, again->dl_tensor.data, sizeof *got * POINTS); /* what it shows has stayed */
  again->deleter(again);
  assert_int_equal(stc_plan_to_dlpack(plan, 0, 0, &out), STC_OK);
  assert_int_equal(stc_plan_bind(plan, 0, 0, NULL, false), STC_OK);
  assert_int_equal(deleted, 1); /* `out` shows the memory still */
  out->deleter(out);
  stc_plan_free(plan);
  assert_int_equal(deleted, 2);
  stc_program_free(p);
  free(mine);
  free(got);
  free(c);
}

/* A run in the background comes to the same, and its error comes when it is waited for. */
WORLD_TEST(test_background) {
  StcProgram *p;
  StcPlan *plan = plan_of(w, wave, "host:2", &p);
  float *values = numbers(0), *want = numbers(1), *got = numbers(1);
  StcRunInfo info = {0};
  assert_int_equal(stc_plan_set(plan, 0, values, sizeof *values * POINTS), STC_OK);
  assert_int_equal(stc_plan_run(plan, 13, NULL), STC_OK);
  assert_int_equal(stc_plan_get(plan, 0, want, sizeof *want * POINTS), STC_OK);
  stc_plan_free(plan);
  assert_int_equal(stc_plan_new(p, "host:2", 0, NULL, &plan), STC_OK);
  assert_int_equal(stc_plan_run_async(plan, 1), STC_OK);
  assert_int_equal(stc_plan_wait(plan, &info), STC_INPUT);
  assert_int_equal(stc_plan_set(plan, 0, values, sizeof *values * POINTS), STC_OK);
  assert_int_equal(stc_plan_run_async(plan, 6), STC_OK);
  assert_int_equal(stc_plan_run_async(plan, 7), STC_OK);
  assert_int_equal(stc_plan_wait(plan, &info), STC_OK);
  assert_false(stc_plan_busy(plan));
  assert_true(info.steps == 7 && info.points == POINTS);
  assert_int_equal(stc_plan_get(plan, 0, got, sizeof *got * POINTS), STC_OK);
  assert_memory_equal(got, want, sizeof *got * POINTS);
  assert_int_equal(stc_plan_run_async(plan, 3), STC_OK);
  stc_plan_free(plan);
  stc_program_free(p);
  free(values);
  free(want);
  free(got);
}

/* How often `line` begins a line of the stand-in's log, which is emptied; a fault in it fails the test. */
static int count(World *w, const char *line) {
  FILE *f = fopen(w->log_path, "r");
  char text[2048];
  int n = 0;
  while (f && fgets(text, sizeof text, f)) {
    if (strncmp(text, "fault:", 6) == 0)
      fail_msg("%s", text);
    n += strncmp(text, line, strlen(line)) == 0;
  }
  if (f)
    fclose(f);
  return n;
}

/* A plan on a GPU in memory and in a stream of the caller's: all launches go to that stream, kernels get the caller's
 * pointers, and only stc_plan_wait waits. */
static void check_stream(World *w, const char *device, const char *library, const char *alloc, const char *release) {
  void *driver = dlopen(library, RTLD_NOW), *stream = dlsym(driver, "standin_stream");
  int (*take)(void **p, size_t size) = NULL, (*give)(void *p) = NULL;
  StcProgram *p;
  StcPlan *plan = plan_of(w, wave, device, &p);
  void *mine, *pointer;
  *(void **)&take = dlsym(driver, alloc);
  *(void **)&give = dlsym(driver, release);
  assert_int_equal(take(&mine, sizeof(float) * POINTS), 0);
  StcArray a = whole;
  a.data = mine;
  assert_int_equal(stc_plan_stream(plan, stream), STC_OK);
  if (stc_plan_bind(plan, 0, 0, &a, false))
    fail_msg("%s", w->messages.first);
  if (stc_plan_run_async(plan, 4))
    fail_msg("%s", w->messages.first);
  assert_int_equal(stc_plan_wait(plan, NULL), STC_OK);
  unlink(w->log_path);
  for (int i = 0; i < 60; i++)
    assert_int_equal(stc_plan_run_async(plan, 4), STC_OK);
  assert_true(stc_plan_busy(plan));
  assert_int_equal(count(w, "cuCtxSynchronize") + count(w, "cuStreamSynchronize") + count(w, "hipStreamSynchronize"),
                   0);
  assert_int_equal(count(w, "launch") + count(w, "cuGraphLaunch") + count(w, "copy"), 0);
  assert_true(count(w, "user launch") >= 60);
  assert_int_equal(stc_plan_wait(plan, NULL), STC_OK);
  assert_false(stc_plan_busy(plan));
  assert_int_equal(stc_plan_pointer(plan, 0, 0, &pointer), STC_OK);
  assert_ptr_equal(pointer, mine);
  stc_plan_free(plan);
  assert_int_equal(give(mine), 0);
  stc_program_free(p);
  dlclose(driver);
}

WORLD_TEST(test_stream) {
  check_stream(w, "cuda", "libcuda.so.1", "cuMemAlloc_v2", "cuMemFree_v2");
  check_stream(w, "hip", "libamdhip64.so", "hipMalloc", "hipFree");
}

/* The caller's events: recorded in the plan's stream, and waited for in it. */
WORLD_TEST(test_events) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *event = NULL;
  int (*create)(void **e, unsigned flags) = NULL, (*destroy)(void *e) = NULL;
  StcProgram *p;
  StcPlan *plan = plan_of(w, wave, "cuda", &p);
  *(void **)&create = dlsym(driver, "cuEventCreate");
  *(void **)&destroy = dlsym(driver, "cuEventDestroy_v2");
  assert_int_equal(create(&event, 0), 0);
  assert_int_equal(stc_plan_stream(plan, dlsym(driver, "standin_stream")), STC_OK);
  assert_int_equal(stc_plan_record_event(plan, event), STC_OK);
  assert_int_equal(stc_plan_wait_event(plan, event), STC_OK);
  assert_int_equal(count(w, "user waits for an event"), 1);
  stc_plan_free(plan);
  assert_int_equal(destroy(event), 0);
  stc_program_free(p);
  dlclose(driver);
}

/* Rows of 13 floats, which lie 16 apart in memory of the plan's own. */
static const char *const ragged =
    "param M = 13;\ngrid G = [0 .. 4, 0 .. M-1], 10;\nfield A, B : f32 on G;\nfield V : f32[2] on G;\n"
    "stencil s(A, B, V)[1 .. 3, 1 .. M-2] { A = 0.2 * (A[-1,0] + A + A[0,1]) + B; B = A; V = 0.5 * (V[-1,0] + V[0,1]); "
    "}\n";
enum { ROWS = 5, ROW = 13, CELLS = ROWS * ROW };

/* A plan of it, compiled first if *p is NULL, and numbers in its fields. */
static StcPlan *ragged_plan(World *w, const char *device, StcProgram **p) {
  StcPlan *plan = NULL;
  StcOptions o = {.march = "nvptx", .mcpu = "sm_90", .schedule = "stream", .T = 2, .no_contract = true};
  if ((!*p && stc_compile_string(w->c, "p.stn", ragged, &o, p)) || stc_plan_new(*p, device, 0, NULL, &plan))
    fail_msg("%s", w->messages.first);
  for (int f = 0; f < 3; f++) {
    float *values = numbers(f);
    assert_int_equal(stc_plan_set(plan, f, values, sizeof *values * CELLS * (f == 2 ? 2 : 1)), STC_OK);
    free(values);
  }
  return plan;
}

/* Are the values of all fields of the two plans the same? */
static void check_same(StcPlan *x, StcPlan *y) {
  float a[2 * CELLS], b[2 * CELLS];
  for (int f = 0; f < 3; f++) {
    size_t bytes = sizeof *a * CELLS * (f == 2 ? 2 : 1);
    assert_int_equal(stc_plan_get(x, f, a, bytes), STC_OK);
    assert_int_equal(stc_plan_get(y, f, b, bytes), STC_OK);
    assert_memory_equal(a, b, bytes);
  }
}

/* What was asked for: a pointer, a tensor, or an array to be bound. */
typedef enum Asked { ASKED_NOTHING, ASKED_POINTER, ASKED_TENSOR, ASKED_VECTOR, ASKED_BOUND, ASKED } Asked;

/* Asks for it, of field A. Dense rows are seen then. */
static void ask(StcPlan *plan, Asked what, float *mine) {
  const int64_t extents[] = {ROWS, ROW};
  StcArray a = {mine, STC_F32, 2, extents, NULL};
  DLManagedTensor *t = NULL;
  void *pointer;
  if (what == ASKED_POINTER)
    assert_int_equal(stc_plan_pointer(plan, 0, 0, &pointer), STC_OK);
  if (what == ASKED_TENSOR || what == ASKED_VECTOR) {
    assert_int_equal(stc_plan_to_dlpack(plan, what == ASKED_VECTOR ? 2 : 0, -1, &t), STC_OK);
    assert_int_equal(t->dl_tensor.strides[0], ROW);
    t->deleter(t);
  }
  if (what == ASKED_BOUND) {
    assert_int_equal(stc_plan_get(plan, 0, mine, sizeof *mine * CELLS), STC_OK);
    assert_int_equal(stc_plan_bind(plan, 0, 0, &a, false), STC_OK);
  }
}

/* Values go in and out densely, whatever the rows are in memory; and rows become dense, with the values that they have,
 * where somebody is to work on the memory itself, also between runs. */
WORLD_TEST(test_padded_rows) {
  StcProgram *p = NULL;
  for (int what = 0; what < ASKED; what++)
    for (int when = 0; when < 2; when++) {
      StcPlan *plan = ragged_plan(w, "sim", &p), *want = ragged_plan(w, "ref", &p);
      float *mine = numbers(9);
      const Slot *slot = field_slot(plan, plan->bound.homes[0].field);
      assert_int_equal(slot->row, 4 * ROW);
      assert_int_equal(slot->pitch, 4 * 16);
      check_same(plan, want);
      for (int run = 0; run < 3; run++) {
        if (run == 2 * when)
          ask(plan, (Asked)what, mine);
        assert_int_equal(stc_plan_run(plan, 3, NULL), STC_OK);
        assert_int_equal(stc_plan_run(want, 3, NULL), STC_OK);
        check_same(plan, want);
      }
      for (int i = 0; i < plan->memory.nslots && what; i++)
        assert_int_equal(plan->memory.slots[i].pitch, 0);
      stc_plan_free(plan);
      stc_plan_free(want);
      free(mine);
    }
  stc_program_free(p);
}

/* The same in memory of a GPU, whose stand-in runs nothing. */
WORLD_TEST(test_padded_rows_on_gpu) {
  StcProgram *p = NULL;
  StcPlan *plan = ragged_plan(w, "cuda", &p), *want = ragged_plan(w, "ref", &p);
  assert_int_equal(field_slot(plan, plan->bound.homes[0].field)->pitch, 4 * 16);
  check_same(plan, want);
  ask(plan, ASKED_POINTER, NULL);
  check_same(plan, want);
  stc_plan_free(plan);
  stc_plan_free(want);
  stc_program_free(p);
}

/* Packed points, as stc_plan_set takes them, of the two components in `planes`. */
static float *packed(const float *planes) {
  float *a = malloc(sizeof *a * 2 * POINTS);
  for (int i = 0; i < 2 * POINTS; i++)
    a[i] = planes[i % 2 * POINTS + i / 2];
  return a;
}

/* What comes of `planes` after `steps` steps in a plan of its own, as packed points. */
static float *vector_after(World *w, const float *planes, int steps) {
  StcProgram *p;
  StcPlan *plan = plan_of(w, vector, "host:1", &p);
  float *values = packed(planes);
  assert_int_equal(stc_plan_set(plan, 0, values, sizeof *values * 2 * POINTS), STC_OK);
  assert_int_equal(stc_plan_run(plan, steps, NULL), STC_OK);
  assert_int_equal(stc_plan_get(plan, 0, values, sizeof *values * 2 * POINTS), STC_OK);
  stc_plan_free(plan);
  stc_program_free(p);
  return values;
}

/* Two components' worth of numbers, one behind the other. */
static float *planes_of(int seed) {
  float *a = aligned_alloc(64, sizeof *a * 2 * POINTS), *x = numbers(seed), *y = numbers(seed + 1);
  memcpy(a, x, sizeof *a * POINTS);
  memcpy(a + POINTS, y, sizeof *a * POINTS);
  free(x);
  free(y);
  return a;
}

/* A whole field of vectors as a tensor: its components are moved together, and shown after each run. */
WORLD_TEST(test_vector_out) {
  StcProgram *p;
  float *planes = planes_of(3), *values = packed(planes), *want = vector_after(w, planes, 10);
  const char *const devices[] = {"host:2", "sim"};
  for (int i = 0; i < 2; i++) {
    DLManagedTensor *t;
    StcPlan *plan = plan_of(w, vector, devices[i], &p);
    assert_int_equal(stc_plan_set(plan, 0, values, sizeof *values * 2 * POINTS), STC_OK);
    assert_int_equal(stc_plan_to_dlpack(plan, 0, -1, &t), STC_OK);
    const DLTensor *d = &t->dl_tensor;
    assert_true(d->ndim == 3 && d->shape[0] == N && d->shape[1] == N && d->shape[2] == 2);
    assert_true(d->strides[0] == N && d->strides[1] == 1 && d->strides[2] >= POINTS);
    const float *data = (const float *)d->data;
    for (int k = 0; k < 2 * POINTS; k++)
      assert_true(data[k / 2 + k % 2 * d->strides[2]] == values[k]);
    assert_int_equal(stc_plan_run(plan, 4, NULL), STC_OK);
    assert_int_equal(stc_plan_run(plan, 6, NULL), STC_OK);
    for (int k = 0; k < 2 * POINTS; k++)
      assert_true(data[k / 2 + k % 2 * d->strides[2]] == want[k]);
    t->deleter(t);
    stc_plan_free(plan);
    stc_program_free(p);
  }
  free(planes);
  free(values);
  free(want);
}

/* And bound to an array with the components outermost, or to a tensor, whose deleter is called once. */
WORLD_TEST(test_vector_in) {
  StcProgram *p;
  StcPlan *plan = plan_of(w, vector, "host:2", &p);
  int64_t extents[] = {N, N, 2}, outermost[] = {N, 1, POINTS}, side_by_side[] = {2 * N, 2, 1};
  float *mine = planes_of(5), *want = vector_after(w, mine, 7), *got = packed(mine);
  StcArray array = {mine, STC_F32, 3, extents, side_by_side};
  assert_int_equal(stc_plan_bind(plan, 0, -1, &array, false), STC_USAGE);
  assert_non_null(strstr(w->messages.first, "has the components of a point side by side"));
  array.strides = NULL;
  assert_int_equal(stc_plan_bind(plan, 0, -1, &array, false), STC_USAGE);
  w->messages.first[0] = 0;
  extents[2] = 3;
  assert_int_equal(stc_plan_bind(plan, 0, -1, &array, false), STC_USAGE);
  assert_non_null(strstr(w->messages.first, "field V as one array has the shape 200x200x2"));
  extents[2] = 2;
  array.strides = outermost;
  assert_int_equal(stc_plan_bind(plan, 0, -1, &array, false), STC_OK);
  run_pieces(w, plan);
  assert_int_equal(stc_plan_bind(plan, 0, -1, NULL, false), STC_OK);
  assert_int_equal(stc_plan_get(plan, 0, got, sizeof *got * 2 * POINTS), STC_OK);
  for (int k = 0; k < 2 * POINTS; k++)
    assert_true(got[k] == mine[k % 2 * POINTS + k / 2]);
  DLManagedTensor in = {{mine, {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, extents, outermost, 0}, &deleted, count_deletion},
                  *out;
  deleted = 0;
  assert_int_equal(stc_plan_from_dlpack(plan, 0, -1, &in), STC_OK);
  assert_int_equal(stc_plan_to_dlpack(plan, 0, -1, &out), STC_OK);
  assert_true(out->dl_tensor.data == mine && out->dl_tensor.strides[2] == POINTS);
  out->deleter(out);
  assert_int_equal(stc_plan_bind(plan, 0, 1, NULL, false), STC_OK);
  assert_int_equal(deleted, 0);
  w->messages.first[0] = 0;
  assert_int_equal(stc_plan_to_dlpack(plan, 0, -1, &out), STC_USAGE);
  assert_non_null(strstr(w->messages.first, "do not lie equally far apart"));
  stc_plan_free(plan);
  assert_int_equal(deleted, 1);
  stc_program_free(p);
  free(mine);
  free(want);
  free(got);
}

/* Where the fields of a plan on the CPU lie: at whole lines of the cache, no two of them at the same place of a page.
 */
WORLD_TEST(test_places) {
  static const char *const eight = "param N = 800;\ngrid G = [0 .. N-1, 0 .. N-1], 10;\nfield a, b, c, d, e, f, g : "
                                   "f32 on G input;\nfield A : f32 on G;\n"
                                   "stencil s(A)[G] = a + b + c + d + e + f + g;\n";
  StcProgram *p;
  StcPlan *plan = plan_of(w, eight, "host:1", &p);
  uintptr_t at[8];
  for (int f = 0; f < 8; f++) {
    void *pointer = NULL;
    assert_int_equal(stc_plan_pointer(plan, f, 0, &pointer), STC_OK);
    at[f] = (uintptr_t)pointer;
    assert_int_equal(at[f] % 64, 0);
    for (int g = 0; g < f; g++)
      assert_int_not_equal(at[f] % 4096, at[g] % 4096);
  }
  stc_plan_free(plan);
  stc_program_free(p);
}

int main(int argc, char **argv) {
  (void)argc;
  return run_beside(STC_STANDIN_DIR, argv, "zero_copy");
}
