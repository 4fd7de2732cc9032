/* trial_test.c: measuring (driver/tune/trial.h): sizes, work, random fields, verification. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/testing.h"
#include "driver/bench/bench.h"

/* A context that keeps its first message, memory, and a subject with its trial. */
typedef struct World {
  Messages messages;
  StcContext *c;
  Arena *arena;
  Subject subject;
  Trial trial;
} World;

static Stop stop;

static int make_world(void **state) {
  World *w = calloc(1, sizeof *w);
  StcConfig config = messages_config(&w->messages);
  w->c = stc_context_new(&config);
  w->arena = arena_new(NULL, NULL);
  *state = w;
  return w->c && w->arena ? 0 : -1;
}

static int free_world(void **state) {
  World *w = *state;
  if (w->trial.context)
    trial_close(&w->trial);
  subject_close(&w->subject);
  arena_free(w->arena);
  stc_context_free(w->c);
  free(w);
  return 0;
}

/* Opens the bench's program `name` of type `real`, or fails the test. */
static void open_bench(World *w, const char *name, const char *real) {
  const BenchProgram *p = bench_programs;
  while (p->name && strcmp(p->name, name) != 0)
    p++;
  assert_non_null(p->name);
  StcOptions o = {.real = real};
  if (subject_open(&w->subject, w->c, w->arena, arena_printf(w->arena, "%s.stn", name), p->text, &o, true, &stop))
    fail_msg("%s", w->messages.first);
}

/* Opens a program given as text. */
static void open_text(World *w, const char *text) {
  StcOptions o = {0};
  if (subject_open(&w->subject, w->c, w->arena, "text.stn", text, &o, true, &stop))
    fail_msg("%s", w->messages.first);
}

/* Opens and prepares a trial, or fails the test. */
static void open_trial(World *w, const char *device, const char *schedule) {
  if (trial_open(&w->trial, &w->subject, device, schedule) || trial_prepare(&w->trial))
    fail_msg("%s", w->trial.messages.first);
}

/* The work of a bench program on a grid of 1000 points in each dimension. */
static Work work_of(World *w, const char *name, const char *real) {
  Work work;
  int64_t extents[MAX_RANK] = {1000, 1000, 1000};
  open_bench(w, name, real);
  assert_int_equal(subject_work(&w->subject, subject_size(&w->subject, extents), &work), STC_OK);
  subject_close(&w->subject);
  w->subject = (Subject){0};
  return work;
}

/* Each field once in and once out; products fused into sums. */
WORLD_TEST(test_work) {
  Work k = work_of(w, "star2d1r", "f32");
  assert_true(k.bytes == 8 && k.f32_ops == 5 && k.f64_ops == 0);
  k = work_of(w, "star2d1r", "f64");
  assert_true(k.bytes == 16 && k.f32_ops == 0 && k.f64_ops == 5);
  k = work_of(w, "box3d1r", "f32");
  assert_true(k.bytes == 8 && k.f32_ops == 27);
  k = work_of(w, "fdtd2d", "f32");
  assert_true(k.bytes == 24);
  k = work_of(w, "rician2d", "f32");
  assert_true(k.bytes == 12);
}

/* The params that make a grid as large as wanted: shifted, shared by two dimensions, and none. */
WORLD_TEST(test_size) {
  int64_t want[MAX_RANK] = {40, 50}, got[MAX_RANK];
  open_text(w, "param N = 9, M = 9;\ngrid G = [0 .. N+1, 2 .. M], 3;\nfield A : f32 on G;\nstencil s(A)[1 .. 3, 3 .. "
               "4] = A[0,1];\n");
  GridSize g = subject_size(&w->subject, want);
  assert_int_equal(g.n, 2);
  assert_string_equal(g.defines[0], "N=38");
  assert_string_equal(g.defines[1], "M=51");
  assert_true(subject_extents(&w->subject, g, got) && got[0] == 40 && got[1] == 50 && got[2] == 1);
  subject_close(&w->subject);
  open_text(
      w,
      "param N = 9;\ngrid G = [0 .. N-1, 0 .. N-1], 3;\nfield A : f32 on G;\nstencil s(A)[1 .. 3, 3 .. 4] = A[0,1];\n");
  g = subject_size(&w->subject, want);
  assert_int_equal(g.n, 1);
  assert_string_equal(g.defines[0], "N=40");
  subject_close(&w->subject);
  open_text(w, "grid G = [0 .. 8, 0 .. 7], 3;\nfield A : f32 on G;\nstencil s(A)[1 .. 3, 3 .. 4] = A[0,1];\n");
  assert_int_equal(subject_size(&w->subject, want).n, 0);
}

/* Random numbers are the same on all devices, for packed points too, and repeat. */
WORLD_TEST(test_randomize) {
  static const char *const devices[] = {"ref", "sim", "host:1"};
  enum { N = RANDOM_PERIOD + 1000 };
  open_text(w, "param N = 9;\nstruct P { x : f32; k : i32; }\ngrid G = [0 .. N-1], 3;\nfield A : f64 on G;\nfield S : "
               "P on G;\nfield T : f32 on G temp;\n"
               "param c[3] : f32;\nstencil t(T)[G] = S.x + c[1];\nstencil s(A)[1 .. N-2] = A[-1] + f64(T);\n");
  double *first = NULL;
  for (int i = 0; i < 3; i++) {
    StcPlan *p;
    const char *define = "N=1049573";
    assert_int_equal(plan_prepare(w->subject.program, devices[i], 0, NULL, &p), STC_OK);
    assert_int_equal(plan_reset(p, 1, &define), STC_OK);
    assert_int_equal(plan_randomize(p, 5), STC_OK);
    double *a = malloc(N * 8);
    int32_t *k = malloc(N * 4);
    assert_int_equal(stc_plan_get(p, 0, a, N * 8), STC_OK);
    assert_int_equal(stc_plan_get_component(p, 1, 1, k, N * 4), STC_OK);
    assert_true(a[0] != a[1] && a[0] > 0 && a[0] < 1 && a[7] == a[RANDOM_PERIOD + 7] && k[8] == k[RANDOM_PERIOD + 8]);
    if (first)
      assert_memory_equal(a, first, N * 8);
    free(k);
    if (first)
      free(a);
    else
      first = a;
    const char *small = "N=12";
    assert_int_equal(plan_reset(p, 1, &small), STC_OK);
    assert_int_equal(stc_plan_run(p, 1, NULL), STC_INPUT);
    assert_int_equal(plan_randomize(p, 5), STC_OK);
    assert_int_equal(stc_plan_run(p, 1, NULL), STC_OK);
    stc_plan_free(p);
  }
  free(first);
}

/* A right schedule passes and is described by options; with a wrong reference it is found out. */
WORLD_TEST(test_verify) {
  open_bench(w, "star2d1r", "f32");
  open_trial(w, "sim", "-T=2 -block=4x16 -elems=2x1");
  assert_string_equal(w->trial.schedule, "-schedule=overlap -T=2 -block=4x16 -elems=2x1");
  assert_int_equal(trial_verify(&w->trial), STC_OK);
  assert_true(w->trial.check_error < 1e-5);
  Wanted *want = subject_reference(&w->subject, 0, 9);
  assert_non_null(want);
  want->data[4 * (19 * 45 / 2) + 2] ^= 0x20;
  assert_int_equal(trial_verify(&w->trial), STC_CHECK_FAILED);
  assert_non_null(strstr(w->trial.messages.first, "wrong result: A is "));
}

/* A program that magnifies rounding errors gets the tolerance that it needs, another one does not. */
WORLD_TEST(test_sensitive) {
  open_bench(w, "gradient2d", "f32");
  Wanted *want = subject_reference(&w->subject, 0, 17);
  assert_true(subject_sensitivity(&w->subject, want) > 1e-5);
  subject_close(&w->subject);
  open_bench(w, "star2d1r", "f32");
  want = subject_reference(&w->subject, 0, 17);
  assert_true(subject_sensitivity(&w->subject, want) < 1e-6);
}

/* Options in one string; mistakes in them, and families that there are not, are reasons. */
WORLD_TEST(test_options) {
  StcOptions o = {0};
  assert_int_equal(options_add(w->c, w->arena, " -T=4  -block 8x32", &o), STC_OK);
  assert_true(o.T == 4 && o.block[0] == 8 && o.block[1] == 32);
  assert_int_equal(options_add(w->c, w->arena, "-T=4 8x32", &o), STC_USAGE);
  assert_int_equal(options_add(w->c, w->arena, "-T=4 -freal=f64", &o), STC_USAGE);
  assert_null(o.real);
  assert_string_equal(w->messages.first, "8x32 is no option of schedules, and nothing else can stand here");
  open_bench(w, "star2d1r", "f32");
  assert_int_equal(trial_open(&w->trial, &w->subject, "host:1", "-schedule=spiral"), STC_OK);
  Trial *one = &w->trial;
  trials_prepare(&one, 1, 3);
  assert_non_null(strstr(w->trial.messages.first, "-schedule=spiral"));
  assert_null(w->trial.plan);
}

/* A program whose results are anything after many steps, for all that rounding does, is compared with the naive
 * schedule on the same device. */
WORLD_TEST(test_chaos) {
  open_text(w, "param N = 40, M = 40;\ngrid G = [0 .. N-1, 0 .. M-1], 9;\nfield A : f32 on G;\nstencil s(A)[1 .. N-2, "
               "1 .. M-2] = 3.9 * A * (1.0 - A);\n");
  open_trial(w, "host:1", "-schedule=overlap -T=16 -block=8x64");
  Wanted *want = subject_reference(&w->subject, 0, 33);
  assert_non_null(want);
  assert_true(subject_sensitivity(&w->subject, want) > 0.05);
  want->data[4 * (19 * 45 / 2) + 3] ^= 0x01;
  assert_int_equal(trial_verify(&w->trial), STC_CHECK_FAILED);
  w->trial.messages.first[0] = 0;
  w->trial.check_error = 0;
  subject_add_peer(&w->subject, "host:1");
  assert_non_null(w->subject.peer);
  assert_int_equal(trial_verify(&w->trial), STC_OK);
  assert_true(w->trial.check_error < 1e-5);
  want = subject_reference(&w->subject, CHECK_GRIDS, 33);
  want->data[4 * (19 * 45 / 2) + 3] ^= 0x01;
  assert_int_equal(trial_verify(&w->trial), STC_CHECK_FAILED);
}

/* Of a schedule with several launches what was asked for is told, since no options say what each got. */
WORLD_TEST(test_several) {
  open_bench(w, "anisotropic_diffusion", "f32");
  open_trial(w, "sim", "-schedule=overlap -T=1 -block=4x2x32");
  assert_string_equal(w->trial.schedule, "-schedule=overlap -T=1 -block=4x2x32");
  trial_close(&w->trial);
  open_trial(w, "sim", "-schedule=overlap -T=1");
  assert_string_equal(w->trial.schedule, "-schedule=overlap -T=1 -fuse=gauss,st+dt,pde");
}

/* Samples run whole tiles in time. */
WORLD_TEST(test_sample) {
  double gpts;
  bool finite = false;
  int64_t extents[MAX_RANK] = {40, 70};
  open_bench(w, "star2d2r", "f64");
  open_trial(w, "host:1", "-T=3 -block=16x64");
  assert_int_equal(trial_start(&w->trial, subject_size(&w->subject, extents), 0.001), STC_OK);
  assert_true(w->trial.steps >= 3 && w->trial.steps % 3 == 0);
  assert_int_equal(trial_sample(&w->trial, &gpts), STC_OK);
  assert_true(gpts > 0);
  assert_int_equal(trial_finite(&w->trial, &finite), STC_OK);
  assert_true(finite);
  trial_stop(&w->trial);
}

/* What stc chooses by itself is compared with what was tuned of the same program, type and size. */
TEST(test_summary) {
  BenchRow rows[] = {
      {.program = "p", .type = "f32", .size = "8", .family = "naive", .gpts = 1},
      {.program = "p", .type = "f32", .size = "8", .family = "stream", .gpts = 40, .chosen = true},
      {.program = "p", .type = "f32", .size = "8", .family = "tuned", .gpts = 80},
      {.program = "p", .type = "f32", .size = "9", .family = "overlap", .gpts = 32, .chosen = true},
      {.program = "p", .type = "f32", .size = "9", .family = "tuned", .gpts = 16},
      {.program = "p", .type = "f64", .size = "9", .family = "tuned", .gpts = 1000},
      {.program = "q", .type = "f32", .size = "8", .family = "stream", .gpts = 1000, .chosen = true},
  };
  BenchReport report = {.nrows = sizeof rows / sizeof rows[0], .rows = rows};
  BenchSummary s = bench_summarize(&report);
  assert_true(s.n == 2 && s.mean == 1 && s.least == 0.5 && s.worst == &rows[2]);
  report.nrows = 2;
  assert_int_equal(bench_summarize(&report).n, 0);
}

/* Kernel IR is enough to know the schedule and what to expect of it; a plan made afterwards goes on from there. Beyond
 * the time only the first ones are begun. */
static StcStatus lower(Trial *t, void *user) {
  Device d = {.kind = &device_cuda, .name = "cuda", .cpu = "sm_90", .description = "cuda:0, NVIDIA H200"};
  (void)user;
  return trial_lower(t, &d, (GridSize){0});
}

WORLD_TEST(test_lower) {
  open_bench(w, "star2d1r", "f32");
  Trial second, *both[] = {&w->trial, &second};
  assert_int_equal(trial_open(&w->trial, &w->subject, "cuda", "-schedule=stream -T=4"), STC_OK);
  assert_int_equal(trial_open(&second, &w->subject, "cuda", "-schedule=stream -T=6"), STC_OK);
  CrewWork work = {.job = lower, .sure = 1, .until = clock_seconds() - 1};
  trials_each(both, 2, 2, &work);
  assert_true(w->trial.build && !second.build);
  assert_non_null(strstr(w->trial.schedule, "-schedule=stream -T=4 -block="));
  assert_true(w->trial.expected.gpts > 100 && w->trial.expected.registers > 16 && w->trial.cost.lower > 0);
  work = (CrewWork){.job = lower};
  trials_each(&both[1], 1, 2, &work);
  assert_true(second.expected.gpts > w->trial.expected.gpts);
  trial_close(&second);
  trial_close(&w->trial);
  Device host;
  Workspace own;
  assert_true(workspace_open(&own, w->c, NULL));
  assert_int_equal(device_open(&own, "host:1", &host), STC_OK);
  assert_int_equal(trial_open(&w->trial, &w->subject, "host:1", "-schedule=overlap -T=2"), STC_OK);
  assert_int_equal(trial_lower(&w->trial, &host, (GridSize){0}), STC_OK);
  const Build *b = w->trial.build;
  assert_int_equal(trial_prepare(&w->trial), STC_OK);
  assert_ptr_equal(w->trial.plan->build, b);
  assert_true(w->trial.expected.gpts == 0);
  host.kind->close(&host);
  workspace_close(&own);
}

/* Code that would take minutes to compile is known by its length. */
WORLD_TEST(test_long) {
  open_bench(w, "anisotropic_diffusion", "f32");
  assert_int_equal(trial_open(&w->trial, &w->subject, "cuda", "-schedule=overlap"), STC_OK);
  assert_false(trial_is_long(&w->trial));
  assert_int_equal(lower(&w->trial, NULL), STC_OK);
  assert_true(!trial_is_long(&w->trial) && w->trial.ops > 1000);
  w->trial.ops = LONGEST_CODE + 1;
  assert_true(trial_is_long(&w->trial));
}

/* What the assembler writes is taken; one that fails or is not there makes nothing; one that takes too long is ended.
 */
WORLD_TEST(test_assemble) {
  static const struct {
    const char *script;
    StcStatus want;
  } cases[] = {{"printf 'code of ' > \"$3\"; cat \"$4\" >> \"$3\"", STC_OK},
               {"exit 1", STC_DEVICE},
               {"exec sleep 100", STC_INTERRUPTED}};
  Workspace own;
  char *code;
  size_t n;
  assert_true(workspace_open(&own, w->c, NULL));
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *text = arena_printf(w->arena, "#!/bin/sh\ntest \"$1 $2\" = '-arch=sm_90 -o' || exit 2\n%s\n",
                                    cases[i].script),
               *tool = write_temporary(w->arena, text, strlen(text));
    double start = clock_seconds();
    chmod(tool, 0700);
    assert_int_equal(assemble(&own, tool, "sm_90", "PTX", 3, start + (cases[i].want == STC_INTERRUPTED ? 0.2 : 60),
                              &code, &n),
                     cases[i].want);
    assert_true(clock_seconds() - start < 30);
    if (cases[i].want == STC_OK)
      assert_string_equal(code, "code of PTX");
    else
      assert_null(code);
    remove(tool);
  }
  assert_int_equal(assemble(&own, "/nowhere/ptxas", "sm_90", "PTX", 3, clock_seconds() + 60, &code, &n), STC_IO);
  workspace_close(&own);
}

/* The middle. */
TEST(test_median) {
  double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
  assert_true(median(odd, 3) == 2 && median(even, 4) == 2.5 && median(odd, 0) == 0);
}
