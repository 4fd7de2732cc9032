/* api_test.c: the public C interface (driver/stc.h). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/testing.h"
#include "driver/stc.h"

/* Its last step shows whether `step` counts on. */
static const char *const counting = "param N = 10;\ngrid G = [0 .. N-1], 4;\nfield A : f64 on G;\n"
                                    "stencil s(A)[1 .. N-2] = 0.5 * (A[-1] + A[1]) + f64(step);\n";

/* Two fields with one init, one input without. */
static const char *const two =
    "param N = 9;\ngrid G = [0 .. N-1], 3;\nfield U, V : f32 on G;\nfield W : f32 on G input;\n"
    "init start(U, V)[G] { U = f32(idx(0)); V = 2.0 * f32(idx(0)); }\n"
    "stencil s(U, V)[1 .. N-2] { U = V[-1] + W; V = U[1]; }\n";

static const char *const devices[] = {"ref", "sim", "host"};
enum { NDEVICES = 3 };

/* A context that keeps its messages, and can run out of memory after `left` bytes (< 0: never). */
typedef struct World {
  StcContext *c;
  char messages[4096];
  StcMessage last;
  int64_t left, used;
} World;

/* Appends the message. */
static void keep(void *user, const StcMessage *m) {
  World *w = user;
  size_t n = strlen(w->messages);
  snprintf(w->messages + n, sizeof w->messages - n, "%s\n", m->text);
  w->last = *m;
}

static int make_world(void **state) {
  World *w = calloc(1, sizeof *w);
  StcConfig config = {NULL, keep, w};
  w->c = stc_context_new(&config);
  *state = w;
  return w->c ? 0 : -1;
}

static int free_world(void **state) {
  World *w = *state;
  stc_context_free(w->c);
  free(w);
  return 0;
}

/* Compiles, or fails the test. */
static StcProgram *compile(World *w, const char *text) {
  StcProgram *p;
  StcOptions o = {.opt_level = 1, .no_contract = true}; /* LLVM would take most of the time */
  if (stc_compile_string(w->c, "prog.stn", text, &o, &p) != STC_OK)
    fail_msg("%s", w->messages);
  return p;
}

/* A plan, or the test fails. */
static StcPlan *plan(World *w, StcProgram *p, const char *device) {
  StcPlan *q;
  if (stc_plan_new(p, device, 0, NULL, &q) != STC_OK)
    fail_msg("%s: %s", device, w->messages);
  return q;
}

/* Runs, or fails the test. */
static void run(World *w, StcPlan *p, int64_t steps) {
  if (stc_plan_run(p, steps, NULL) != STC_OK)
    fail_msg("%s: %s", stc_plan_device(p), w->messages);
}

/* Names, counts and the rest that a program tells. */
WORLD_TEST(test_program) {
  StcProgram *p = compile(w, two);
  assert_string_equal(stc_program_name(p), "prog");
  assert_int_equal(stc_program_field_count(p), 3);
  assert_string_equal(stc_program_field_name(p, 1), "V");
  assert_null(stc_program_field_name(p, 3));
  assert_int_equal(stc_program_find_field(p, "W"), 2);
  assert_int_equal(stc_program_find_field(p, "X"), -1);
  assert_int_equal(stc_program_rank(p), 1);
  assert_int_equal(stc_program_steps(p), 3);
  assert_true(stc_program_is_exact(p));
  const char *bytes;
  size_t size;
  assert_int_equal(stc_program_emit(p, STC_EMIT_SIR, &bytes, &size), STC_OK);
  assert_int_equal(strlen(bytes), size);
  assert_non_null(strstr(bytes, "stencil module \"prog\""));
  assert_int_equal(stc_program_emit(p, (StcEmit)99, &bytes, &size), STC_USAGE);
  assert_null(bytes);
  assert_int_equal(stc_program_emit(p, (StcEmit)-1, &bytes, NULL), STC_USAGE);
  stc_program_free(p);
}

/* Errors come through the callback with their place. */
WORLD_TEST(test_messages) {
  StcProgram *p = (StcProgram *)w;
  assert_int_equal(stc_compile_string(w->c, "bad.stn", "grid G = [0 .. 9], 1;\nfield A : f32 on H;\n", NULL, &p),
                   STC_INPUT);
  assert_null(p);
  assert_int_equal(w->last.kind, STC_ERROR);
  assert_int_equal(w->last.line, 2);
  assert_int_equal(w->last.column, 18);
  StcOptions o = {.real = "f16"};
  assert_int_equal(stc_compile_string(w->c, "prog.stn", two, &o, &p), STC_USAGE);
  o = (StcOptions){.schedule = "overlop"};
  assert_int_equal(stc_compile_string(w->c, "prog.stn", two, &o, &p), STC_USAGE);
  o = (StcOptions){.block = {4, 4}};
  assert_int_equal(stc_compile_string(w->c, "prog.stn", two, &o, &p), STC_USAGE);
  o = (StcOptions){.schedule = "naive", .T = 2};
  assert_int_equal(stc_compile_string(w->c, "prog.stn", two, &o, &p), STC_USAGE);
  assert_int_equal(stc_compile_file(w->c, "/nonexistent.stn", NULL, &p), STC_IO);
}

/* Runs that go on where the last one stopped give what one long run gives, on every device, for every way to cut it. */
WORLD_TEST(test_continue) {
  StcProgram *p = compile(w, counting);
  double whole[10], parts[10], start[10] = {5, 4, 3, 2, 1, 0, 1, 2, 3, 4};
  StcPlan *q = plan(w, p, "ref");
  assert_int_equal(stc_plan_set(q, 0, start, sizeof start), STC_OK);
  run(w, q, 13);
  assert_int_equal(stc_plan_get(q, 0, whole, sizeof whole), STC_OK);
  stc_plan_free(q);
  for (int d = 0; d < NDEVICES; d++) {
    for (int first = 0; first <= 13; first++) {
      q = plan(w, p, devices[d]);
      assert_int_equal(stc_plan_set(q, 0, start, sizeof start), STC_OK);
      run(w, q, first);
      run(w, q, 13 - first);
      assert_int_equal(stc_plan_get(q, 0, parts, sizeof parts), STC_OK);
      assert_memory_equal(parts, whole, sizeof whole);
      stc_plan_free(q);
    }
  }
  stc_program_free(p);
}

/* A given field replaces its part of an init, and only that. */
WORLD_TEST(test_given) {
  StcProgram *p = compile(w, two);
  float ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, zeros[9] = {0}, got[9];
  for (int d = 0; d < NDEVICES; d++) {
    StcPlan *q = plan(w, p, devices[d]);
    assert_int_equal(stc_plan_set(q, 0, ones, sizeof ones), STC_OK);
    assert_int_equal(stc_plan_set(q, 2, zeros, sizeof zeros), STC_OK);
    run(w, q, 0);
    assert_int_equal(stc_plan_get(q, 0, got, sizeof got), STC_OK);
    assert_memory_equal(got, ones, sizeof ones);
    assert_int_equal(stc_plan_get(q, 1, got, sizeof got), STC_OK);
    for (int i = 0; i < 9; i++)
      assert_true(got[i] == 2.0f * (float)i);
    run(w, q, 1);
    assert_int_equal(stc_plan_get(q, 0, got, sizeof got), STC_OK);
    for (int i = 0; i < 9; i++)
      assert_true(got[i] == (i == 0 || i == 8 ? 1.0f : 2.0f * (float)(i - 1)));
    stc_plan_free(q);
  }
  stc_program_free(p);
}

/* A field with neither init nor data is named; wrong sizes and fields are errors. */
WORLD_TEST(test_misuse) {
  StcProgram *p = compile(w, two);
  float a[9] = {0};
  StcFieldInfo info;
  for (int d = 0; d < NDEVICES; d++) {
    StcPlan *q = plan(w, p, devices[d]);
    w->messages[0] = 0;
    assert_int_equal(stc_plan_run(q, 1, NULL), STC_INPUT);
    assert_non_null(strstr(w->messages, "field W has no value to start from"));
    assert_null(strstr(w->messages, "field U"));
    assert_int_equal(stc_plan_set(q, 2, a, 4), STC_USAGE);
    assert_int_equal(stc_plan_get(q, 5, a, sizeof a), STC_USAGE);
    assert_int_equal(stc_plan_field(q, 3, &info), STC_USAGE);
    assert_int_equal(stc_plan_field(q, 2, &info), STC_OK);
    assert_true(info.type == STC_F32 && info.rank == 1 && info.shape[0] == 9 && info.bytes == 36 && info.input &&
                !info.temp && !info.has_init);
    assert_int_equal(stc_plan_field(q, 0, &info), STC_OK);
    assert_true(info.has_init && !info.input);
    stc_plan_free(q);
  }
  StcPlan *q;
  assert_int_equal(stc_plan_new(p, "gpu", 0, NULL, &q), STC_USAGE);
  assert_int_equal(stc_plan_new(p, "host:0", 0, NULL, &q), STC_USAGE);
  assert_int_equal(stc_plan_new(p, "ref:1", 0, NULL, &q), STC_USAGE);
  assert_int_equal(stc_plan_new(p, "cuda:x", 0, NULL, &q), STC_USAGE);
  assert_int_equal(stc_plan_new(p, "host", 1, (const char *[]){"X=1"}, &q), STC_INPUT);
  assert_int_equal(stc_plan_new(p, "host", 1, (const char *[]){"N"}, &q), STC_USAGE);
  assert_null(q);
  stc_program_free(p);
}

/* Params by plan, over those of the program. */
WORLD_TEST(test_defines) {
  StcProgram *p;
  StcOptions o = {.ndefines = 1, .defines = (const char *[]){"N=7"}};
  StcFieldInfo info;
  assert_int_equal(stc_compile_string(w->c, "p.stn", two, &o, &p), STC_OK);
  for (int n = 0; n < 2; n++) {
    StcPlan *q;
    assert_int_equal(stc_plan_new(p, "host", n, (const char *[]){"N=5"}, &q), STC_OK);
    assert_int_equal(stc_plan_field(q, 0, &info), STC_OK);
    assert_int_equal(info.shape[0], n ? 5 : 7);
    stc_plan_free(q);
  }
  stc_program_free(p);
}

/* Stops at the second call. */
static bool stop_second(void *user, int64_t done, int64_t of) {
  assert_true(done >= 0 && done <= of);
  return ++*(int *)user < 2;
}

/* Progress is told, and false from it stops the run. */
WORLD_TEST(test_cancel) {
  StcProgram *p = compile(w, counting);
  double start[10] = {0};
  for (int d = 0; d < NDEVICES; d++) {
    StcPlan *q = plan(w, p, devices[d]);
    int calls = 0;
    assert_int_equal(stc_plan_set(q, 0, start, sizeof start), STC_OK);
    stc_plan_progress(q, stop_second, &calls);
    assert_int_equal(stc_plan_run(q, 1000000, NULL), STC_INTERRUPTED);
    assert_int_equal(calls, 2);
    stc_plan_free(q);
  }
  stc_program_free(p);
}

/* Plans of a program have kernels for the size of their grids, those of one size the same. */
WORLD_TEST(test_sizes) {
  static const char *const text =
      "param N = 10;\ngrid G = [0 .. N-1], 100;\nfield A : f32 on G;\nstencil s(A)[1 .. N-2] = 0.5 * (A[-1] + A[1]);\n";
  static const char *const sizes[] = {"N=2000", "N=2010", "N=5000000"};
  StcProgram *p = compile(w, text);
  StcPlan *q[3];
  for (int i = 0; i < 3; i++)
    assert_int_equal(stc_plan_new(p, "sim", 1, &sizes[i], &q[i]), STC_OK);
  assert_string_equal(stc_plan_schedule(q[0]), stc_plan_schedule(q[1]));
  assert_string_not_equal(stc_plan_schedule(q[0]), stc_plan_schedule(q[2]));
  for (int i = 0; i < 3; i++)
    stc_plan_free(q[i]);
  stc_program_free(p);
}

/* What a run tells of itself. */
WORLD_TEST(test_info) {
  StcProgram *p = compile(w, counting);
  double start[10] = {0};
  StcRunInfo info;
  StcPlan *q = plan(w, p, "host:2");
  assert_string_equal(stc_plan_device(q), "host, 2 threads");
  assert_non_null(strstr(stc_plan_schedule(q), "overlap T="));
  assert_int_equal(stc_plan_set(q, 0, start, sizeof start), STC_OK);
  assert_int_equal(stc_plan_run(q, -1, &info), STC_OK);
  assert_int_equal(info.points, 10);
  assert_int_equal(info.steps, 4);
  assert_true(info.launches > 0 && info.seconds > 0 && info.gpts > 0);
  assert_true(stc_plan_compile_seconds(q) > 0);
  void *pointer;
  assert_int_equal(stc_plan_pointer(q, 0, 0, &pointer), STC_OK);
  assert_int_equal(stc_plan_get(q, 0, start, sizeof start), STC_OK);
  assert_memory_equal(pointer, start, sizeof start);
  stc_plan_free(q);
  stc_program_free(p);
}

/* What a plan's kernels took: nothing before they are timed, then as much as the run. */
WORLD_TEST(test_kernels) {
  StcProgram *p = compile(w, counting);
  double start[10] = {0}, sum = 0;
  StcRunInfo info;
  StcKernelInfo k;
  StcPlan *q = plan(w, p, "host:2");
  assert_int_equal(stc_plan_set(q, 0, start, sizeof start), STC_OK);
  int n = stc_plan_kernel_count(q);
  assert_true(n > 0);
  assert_int_equal(stc_plan_run(q, 4, NULL), STC_OK);
  assert_int_equal(stc_plan_kernel(q, 0, &k), STC_OK);
  assert_true(k.name && k.launches == 0 && k.seconds == 0);
  stc_plan_time_kernels(q);
  assert_int_equal(stc_plan_run(q, 4, &info), STC_OK);
  int64_t launches = 0;
  for (int i = 0; i < n; i++) {
    assert_int_equal(stc_plan_kernel(q, i, &k), STC_OK);
    launches += k.launches;
    sum += k.seconds;
  }
  assert_int_equal(launches, info.launches);
  assert_true(sum > 0 && sum - info.seconds < 1e-9 && info.seconds - sum < 1e-9);
  assert_int_equal(stc_plan_kernel(q, n, &k), STC_USAGE);
  assert_null(k.name);
  assert_non_null(strstr(w->messages, "there is no kernel"));
  stc_plan_free(q);
  q = plan(w, p, "ref");
  stc_plan_time_kernels(q);
  assert_int_equal(stc_plan_kernel_count(q), 0);
  assert_int_equal(stc_plan_kernel(q, 0, &k), STC_USAGE);
  stc_plan_free(q);
  stc_program_free(p);
}

/* One thread's work: compile and run, the same as the others. */
static void *compile_and_run(void *arg) {
  StcContext *c = stc_context_new(NULL);
  StcProgram *p;
  StcPlan *q;
  double a[10] = {5, 4, 3, 2, 1, 0, 1, 2, 3, 4};
  StcStatus s = stc_compile_string(c, "prog.stn", counting, NULL, &p);
  if (!s)
    s = stc_plan_new(p, "host:2", 0, NULL, &q);
  if (!s)
    s = stc_plan_set(q, 0, a, sizeof a);
  if (!s)
    s = stc_plan_run(q, 9, NULL);
  if (!s)
    s = stc_plan_get(q, 0, arg, sizeof a);
  if (s)
    return "failed";
  stc_plan_free(q);
  stc_program_free(p);
  stc_context_free(c);
  return NULL;
}

/* Contexts share nothing: four threads at once give the same. */
TEST(test_threads) {
  pthread_t t[4];
  double result[4][10];
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&t[i], NULL, compile_and_run, result[i]), 0);
  for (int i = 0; i < 4; i++) {
    void *failed;
    pthread_join(t[i], &failed);
    assert_null(failed);
    assert_memory_equal(result[i], result[0], sizeof result[0]);
  }
}

/* A heap of w->left bytes. Each block keeps its size in front. */
static void *small_realloc(void *user, void *p, size_t size) {
  World *w = user;
  size_t *old = p ? (size_t *)((char *)p - 16) : NULL;
  int64_t had = old ? (int64_t)*old : 0;
  if (size == 0) {
    w->used -= had;
    free(old);
    return NULL;
  }
  if (w->used - had + (int64_t)size > w->left)
    return NULL;
  size_t *now = realloc(old, size + 16);
  if (!now)
    return NULL;
  w->used += (int64_t)size - had;
  *now = size;
  return (char *)now + 16;
}

/* However little memory there is, the calls return STC_MEMORY or do their work, and all of it is given back. */
WORLD_TEST(test_out_of_memory) {
  int refused = 0;
  bool done = false;
  for (w->left = 0; !done && w->left < 1 << 24; w->left += w->left / 16 + 64) {
    StcConfig config = {small_realloc, keep, w};
    StcContext *c = stc_context_new(&config);
    StcProgram *p = NULL;
    StcPlan *q = NULL;
    const char *bytes;
    w->messages[0] = 0;
    StcStatus s = c ? stc_compile_string(c, "prog.stn", two, NULL, &p) : STC_MEMORY;
    if (!s)
      s = stc_program_emit(p, STC_EMIT_SIR, &bytes, NULL);
    if (!s)
      s = stc_program_emit(p, STC_EMIT_AST, &bytes, NULL);
    if (!s)
      s = stc_plan_new(p, "sim", 0, NULL, &q);
    if (s && s != STC_MEMORY)
      fail_msg("status %d with %lld bytes: %s", (int)s, (long long)w->left, w->messages);
    refused += s == STC_MEMORY;
    done = s == STC_OK;
    stc_plan_free(q);
    stc_program_free(p);
    stc_context_free(c);
    assert_int_equal(w->used, 0);
  }
  assert_true(done);
  assert_true(refused > 10);
}

/* A struct, a vector with an older level, a launch-time array and reductions. */
static const char *const whole =
    "param n = 6;\nparam src[n - 1] : f64;\ngrid G = [0 .. n-1], 100;\nstruct P { a : f32; c : i16[2] }\nfield S : P "
    "on G;\nfield V : f64[2] on G history 1;\n"
    "reduce total = sum(V[0][0]) over G every 2;\nreduce least = min(i64(S.c[1])) over G every 3;\nuntil min(V[0][1]) "
    "over G > 20.0 every 4;\n"
    "stencil s(S)[G] = {a = S.a + 1.0, c = {S.c[1], S.c[0]}};\nstencil v(V)[G] = V@1 + src[idx(0)];\n";

/* What a series callback got. */
typedef struct Seen {
  int n;
  StcReduction values[64];
} Seen;

static void see(void *user, const StcReduction *r) {
  Seen *s = user;
  if (s->n < 64)
    s->values[s->n++] = *r;
}

/* Points are packed; components are arrays of their own; both views agree, on devices that pack and on devices that do
 * not. */
WORLD_TEST(test_components) {
  StcProgram *p = compile(w, whole);
  assert_int_equal(stc_program_field_count(p), 3);
  assert_string_equal(stc_program_field_name(p, 2), "V@1");
  for (int d = 0; d < NDEVICES; d++) {
    StcPlan *q = plan(w, p, devices[d]);
    StcFieldInfo f;
    unsigned char points[6 * 8], back[6 * 8];
    int16_t part[6], want[6];
    void *pointer;
    assert_int_equal(stc_plan_field(q, 0, &f), STC_OK);
    assert_int_equal(f.type, STC_COMPOSITE);
    assert_int_equal(f.bytes, 48);
    assert_int_equal(f.ncomponents, 3);
    assert_string_equal(f.type_name, "P");
    assert_string_equal(f.dtype, "[('a', '<f4'), ('c', '<i2', (2,))]");
    assert_string_equal(f.components[2].path, ".c.1");
    assert_int_equal(f.components[2].type, STC_I16);
    assert_int_equal(f.components[2].offset, 6);
    assert_int_equal(stc_plan_field(q, 1, &f), STC_OK);
    assert_int_equal(f.naxes, 1);
    assert_int_equal(f.axes[0], 2);
    assert_string_equal(f.type_name, "f64[2]");
    assert_int_equal(stc_plan_component(q, 0, 2, &f), STC_OK);
    assert_string_equal(f.name, "S.c.1");
    assert_int_equal(f.type, STC_I16);
    assert_int_equal(f.bytes, 12);
    assert_int_equal(stc_plan_component(q, 0, 3, &f), STC_USAGE);
    assert_int_equal(stc_plan_component(q, 0, -1, &f), STC_USAGE);
    for (int i = 0; i < 48; i++)
      points[i] = (unsigned char)(i % 8 == 3 || i % 8 == 2 ? 0 : i);
    assert_int_equal(stc_plan_set(q, 0, points, 48), STC_OK);
    assert_int_equal(stc_plan_get(q, 0, back, 48), STC_OK);
    assert_memory_equal(points, back, 48);
    for (int i = 0; i < 6; i++)
      memcpy(&want[i], points + 8 * i + 6, 2);
    assert_int_equal(stc_plan_get_component(q, 0, 2, part, 12), STC_OK);
    assert_memory_equal(part, want, 12);
    for (int i = 0; i < 6; i++)
      part[i] = (int16_t)(-i);
    assert_int_equal(stc_plan_set_component(q, 0, 2, part, 12), STC_OK);
    assert_int_equal(stc_plan_set_component(q, 0, 2, part, 24), STC_USAGE);
    assert_int_equal(stc_plan_set_component(q, 0, 3, part, 12), STC_USAGE);
    assert_int_equal(stc_plan_get(q, 0, back, 48), STC_OK);
    for (int i = 0; i < 6; i++) {
      assert_memory_equal(back + 8 * i, points + 8 * i, 6);
      assert_memory_equal(back + 8 * i + 6, &part[i], 2);
    }
    assert_int_equal(stc_plan_pointer(q, 0, 1, &pointer), d == 0 ? STC_USAGE : STC_OK);
    assert_int_equal(stc_plan_pointer(q, 0, 3, &pointer), STC_USAGE);
    stc_plan_free(q);
  }
  stc_program_free(p);
}

/* Fields with some components, and arrays that were not given, are named. */
WORLD_TEST(test_missing) {
  StcProgram *p = compile(w, whole);
  double v[12] = {0};
  float a[6] = {0};
  for (int d = 0; d < NDEVICES; d++) {
    StcPlan *q = plan(w, p, devices[d]);
    StcFieldInfo f;
    w->messages[0] = 0;
    assert_int_equal(stc_plan_array(q, 0, &f), STC_OK);
    assert_int_equal(f.shape[0], 5);
    assert_int_equal(f.bytes, 40);
    assert_int_equal(stc_plan_array(q, 1, &f), STC_USAGE);
    assert_int_equal(stc_plan_set_array(q, 0, v, 48), STC_USAGE);
    assert_int_equal(stc_plan_set_array(q, 1, v, 40), STC_USAGE);
    assert_int_equal(stc_plan_set(q, 1, v, sizeof v), STC_OK);
    assert_int_equal(stc_plan_set_component(q, 0, 0, a, sizeof a), STC_OK);
    w->messages[0] = 0;
    assert_int_equal(stc_plan_run(q, 1, NULL), STC_INPUT);
    assert_string_equal(
        w->messages,
        "field S was given some of its components, but not S.c.0: give it all of them, or the whole field first\n"
        "launch-time array src has no values: give it 5 of type f64 with stc_plan_set_array\n");
    stc_plan_free(q);
  }
  stc_program_free(p);
}

/* Gives everything that `whole` needs and sets `seen` to watch the series. */
static StcPlan *start_whole(World *w, StcProgram *p, const char *device, Seen *seen) {
  StcPlan *q = plan(w, p, device);
  const double v[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, src[5] = {1, 2, 3, 4, 5};
  const char zeros[48] = {0};
  assert_int_equal(stc_plan_set(q, 0, zeros, sizeof zeros), STC_OK);
  assert_int_equal(stc_plan_set(q, 1, v, sizeof v), STC_OK);
  assert_int_equal(stc_plan_set_array(q, stc_program_find_array(p, "src"), src, sizeof src), STC_OK);
  stc_plan_series(q, see, seen);
  return q;
}

/* Series, the end that an `until` makes, and older levels are the same on all devices, however the runs are cut. */
WORLD_TEST(test_reductions) {
  StcProgram *p = compile(w, whole);
  Seen whole_run = {0};
  StcRunInfo info;
  double want[2][12], got[2][12];
  StcPlan *q = start_whole(w, p, "ref", &whole_run);
  assert_int_equal(stc_plan_run(q, -1, &info), STC_OK);
  assert_int_equal(info.steps, 40);
  assert_string_equal(info.until, "until");
  for (int i = 0; i < 2; i++)
    assert_int_equal(stc_plan_get(q, 1 + i, want[i], sizeof want[i]), STC_OK);
  stc_plan_free(q);
  assert_int_equal(whole_run.n, 21 + 14 + 11);
  assert_string_equal(whole_run.values[1].name, "least");
  assert_int_equal(whole_run.values[1].type, STC_I64);
  assert_true(whole_run.values[0].f == 30 && whole_run.values[0].step == 0 && whole_run.values[45].step == 40 &&
              whole_run.values[45].f == 21);
  for (int d = 0; d < NDEVICES; d++)
    for (int64_t chunk = 1; chunk < 50; chunk += devices[d][0] == 's' ? 21 : 7) {
      Seen seen = {0};
      int64_t done = 0;
      q = start_whole(w, p, devices[d], &seen);
      do {
        assert_int_equal(stc_plan_run(q, chunk, &info), STC_OK);
        done += info.steps;
      } while (!info.until && done < 100);
      assert_int_equal(done, 40);
      for (int i = 0; i < 2; i++)
        assert_int_equal(stc_plan_get(q, 1 + i, got[i], sizeof got[i]), STC_OK);
      assert_memory_equal(got, want, sizeof want);
      assert_int_equal(seen.n, whole_run.n);
      for (int i = 0; i < seen.n; i++) {
        assert_string_equal(seen.values[i].name, whole_run.values[i].name);
        assert_int_equal(seen.values[i].step, whole_run.values[i].step);
        assert_true(seen.values[i].f == whole_run.values[i].f && seen.values[i].i == whole_run.values[i].i);
      }
      stc_plan_free(q);
    }
  stc_program_free(p);
}

/* What a watch saw: the steps at which it was called, and field 0 then. */
typedef struct Watched {
  int n;
  int64_t steps[32];
  double values[32][10];
  int64_t stop_at; /* the step at which it ends the run; -1: none */
} Watched;

/* Notes the step and the field. */
static StcStatus note_step(void *user, StcPlan *q, int64_t step) {
  Watched *s = user;
  assert_true(s->n < 32);
  s->steps[s->n] = step;
  StcStatus status = stc_plan_get(q, 0, s->values[s->n++], sizeof s->values[0]);
  return status ? status : step == s->stop_at ? STC_IO : STC_OK;
}

/* A watch sees each field as a run of so many steps leaves it, once a step, also over several runs; its error ends the
 * run, which goes on later as if nothing had been. */
WORLD_TEST(test_watch) {
  StcProgram *p = compile(w, counting);
  double start[10] = {5, 4, 3, 2, 1, 0, 1, 2, 3, 4}, want[10];
  for (int d = 0; d < NDEVICES; d++) {
    Watched third = {.stop_at = 9}, all = {.stop_at = -1};
    StcPlan *q = plan(w, p, devices[d]);
    assert_int_equal(stc_plan_set(q, 0, start, sizeof start), STC_OK);
    assert_int_equal(stc_plan_watch(q, 0, note_step, &all), STC_USAGE);
    assert_int_equal(stc_plan_watch(q, 3, note_step, &third), STC_OK);
    assert_int_equal(stc_plan_watch(q, 5, note_step, &all), STC_OK);
    run(w, q, 6);
    run(w, q, 0);
    assert_int_equal(stc_plan_run(q, 7, NULL), STC_IO);
    run(w, q, 4);
    assert_int_equal(third.n, 5);
    assert_int_equal(all.n, 3);
    assert_int_equal(stc_plan_run_async(q, 5), STC_OK);
    assert_int_equal(stc_plan_wait(q, NULL), STC_OK);
    assert_int_equal(third.n, 7);
    for (int i = 0; i < third.n; i++) {
      StcPlan *r = plan(w, p, "ref");
      assert_int_equal(third.steps[i], 3 * i);
      assert_int_equal(stc_plan_set(r, 0, start, sizeof start), STC_OK);
      run(w, r, 3 * i);
      assert_int_equal(stc_plan_get(r, 0, want, sizeof want), STC_OK);
      assert_memory_equal(third.values[i], want, sizeof want);
      stc_plan_free(r);
    }
    stc_plan_free(q);
  }
  stc_program_free(p);
}

/* What a program made of `text` with these options, or a plan of it on sim with the define, is told. */
static const char *told(World *w, const StcOptions *o, const char *text, const char *define) {
  StcProgram *p;
  StcPlan *q;
  w->messages[0] = 0;
  if (stc_compile_string(w->c, "a.stn", text, o, &p))
    return w->messages;
  assert_int_not_equal(stc_plan_new(p, "sim", define != NULL, &define, &q), STC_OK);
  stc_program_free(p);
  return w->messages;
}

/* Messages name what a caller wrote, members of StcOptions and calls, and no option of the command. */
WORLD_TEST(test_calls) {
  const StcOptions real = {.real = "f16"}, T = {.T = 3, .schedule = "naive"}, shape = {.block = {1, 2, 3}};
  assert_string_equal(told(w, &real, two, NULL), "real=f16: `real` is f32 or f64\n");
  assert_string_equal(told(w, &T, two, NULL),
                      "T=3 with schedule=naive: naive makes one step a launch; use schedule=overlap, or leave T out\n");
  assert_string_equal(told(w, &shape, two, NULL),
                      "block or elems has 3 numbers, but the program's grid has rank 1: give one for each dimension, "
                      "slowest first\n");
  const StcOptions tile = {.T = 9, .block = {16}, .elems = {1}, .schedule = "overlap"};
  assert_string_equal(
      told(w, &tile,
           "param N = 99;\ngrid G = [0 .. N-1], 9;\nfield A : f32 outside 0;\ninit i(A)[G] = 1;\n"
           "stencil s(A)[G] = A[-1] + A[1];\n",
           NULL),
      "T=9 block=16 elems=1: a tile of 16 points in dimension 0 is not larger than its halo, which is 8 + 8 "
      "points there for 9 time steps; the nearest legal choices are T=9 block=16 elems=2 and T=8 "
      "block=16 elems=1\n");
  assert_non_null(strstr(told(w, NULL, two, "X=1"), "X=1: the program has no param 'X'"));
  assert_null(strstr(w->messages, "-D"));
  const StcOptions wrong_plan = {.schedule = "plan stream", .T = 3}, wrong_level = {.opt_level = 9};
  assert_non_null(strstr(told(w, &wrong_plan, two, NULL), "leave schedule, T, block and other options"));
  assert_non_null(strstr(told(w, &wrong_level, two, NULL), "opt_level is 0 to 4"));
  assert_string_equal(told(w, NULL, two, "N"), "stc_plan_new: \"N\" defines no param; write NAME=VALUE\n");
  assert_non_null(strstr(told(w, NULL, "param N : i64;\ngrid G = [0 .. N], 1;\nfield A : f32 on G;\n", NULL),
                         "param 'N' has no value: give it one with N=VALUE"));
  assert_non_null(strstr(told(w, NULL, "param a[3] : f32 = 1;", NULL), "with stc_plan_set_array"));
}

/* Scalars that are kept, and the rounds of a repeat, by the functions for them: told behind each run, and set between
 * runs. By hand: u is halved n times in a step, until it is below 1 at the latest behind the fourth round. */
WORLD_TEST(test_rounds) {
  StcProgram *p = compile(w, "grid G = [0 .. 2], 9;\nfield u : f64 on G;\nscalar n : i64 = 0;\nscalar t : f64 = 0.5;\n"
                             "init i(u)[G] = 6;\nrepeat half up to 4 { stencil s(u)[G] = 0.5 * u;\n"
                             "  update n = n + 1; until max(u) over G < 1 every 1; }\nupdate t = t + 1;\n");
  assert_string_equal(stc_program_repeat(p, 0), "half");
  assert_null(stc_program_repeat(p, 1));
  for (int d = 0; d < NDEVICES; d++) {
    StcPlan *q = plan(w, p, devices[d]);
    StcRounds r;
    StcReduction n, t;
    double u[3];
    assert_int_equal(stc_plan_rounds(q, "half", &r), STC_OK);
    assert_true(r.step == -1 && stc_plan_rounds(q, "none", &r) != STC_OK);
    run(w, q, 1);
    assert_int_equal(stc_plan_rounds(q, "half", &r), STC_OK);
    assert_true(r.step == 0 && r.rounds == 3 && r.ended);
    assert_int_equal(stc_plan_set_scalar(q, "n", 0, 40), STC_OK);
    assert_int_equal(stc_plan_set_scalar(q, "t", 7, 0), STC_OK);
    u[0] = u[1] = u[2] = 64;
    assert_int_equal(stc_plan_set(q, 0, u, sizeof u), STC_OK);
    run(w, q, 1);
    assert_int_equal(stc_plan_rounds(q, "half", &r), STC_OK);
    assert_true(r.step == 1 && r.rounds == 4 && !r.ended);
    assert_int_equal(stc_plan_scalar(q, "n", &n), STC_OK);
    assert_int_equal(stc_plan_scalar(q, "t", &t), STC_OK);
    assert_true(n.i == 44 && t.f == 8);
    stc_plan_free(q);
  }
  stc_program_free(p);
}
