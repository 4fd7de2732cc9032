/* cuda_test.c: the cuda device against a stand-in driver (tests/standin/libcuda.c), which checks the calls and each
 * launch against the PTX. The test starts itself again
 * with LD_LIBRARY_PATH set to where the stand-in is. */

#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>

#include "tests/unit/standin.h"
#include "driver/explain/explain.h"
#include "driver/files/files.h"

/* Two buffers for A; B is written in place. */
static const char *const plain =
    "param N = 100;\ngrid G = [0 .. N-1], 1000;\nfield A : f32 on G;\nstencil s(A)[1 .. N-2] = 0.5 * (A[-1] + A[1]);\n";
/* Three buffers that rotate. */
static const char *const rotating = "param N = 100;\ngrid G = [0 .. N-1], 1000;\nfield U : f32 on G history "
                                    "1;\nstencil s(U)[1 .. N-2] = U[-1] + U[1] - U@1;\n";
/* The step is an argument. */
static const char *const stepping = "param N = 100;\ngrid G = [0 .. N-1], 1000;\nfield A : f32 on G;\nstencil s(A)[1 "
                                    ".. N-2] = 0.5 * (A[-1] + f32(step));\n";
/* The step is an argument of one of two launches. */
static const char *const moving = "param N = 100;\ngrid G = [0 .. N-1], 1000;\nfield A, B : f32 on G;\nstencil s(A)[1 "
                                  ".. N-2] = 0.5 * B[-1];\nstencil t(B)[1 .. N-2] = A[1] + f32(step);\n";
/* A reduction changes what the kernel takes. */
static const char *const reducing = "param N = 100;\ngrid G = [0 .. N-1], 1000;\nfield A : f32 on G;\nreduce total = "
                                    "sum(A) over G every 100;\nstencil s(A)[1 .. N-2] = A[-1] + f32(total);\n";
/* No init makes the older level: the plan copies to it. */
static const char *const older = "kernel module \"older\" {\n"
                                 "  grid [0 .. 63] steps 4\n"
                                 "  field @U : f32 on [0 .. 63] history 1\n"
                                 "  field @\"U@1\" : f32 on [0 .. 63] past 1 of @U\n"
                                 "  buffer @U : @U copy 0\n"
                                 "  buffer @\"U@1\" : @\"U@1\" copy 0\n"
                                 "  kernel @older_s threads [64] covers [64] by [64] steps 1 {\n"
                                 "    args (reads @U, writes @\"U@1\")\n"
                                 "    %0 = thread 0 : i32\n"
                                 "    %1 = convert %0 : i64\n"
                                 "    %2 = load @U[%1] : f32\n"
                                 "    store %2, @\"U@1\"[%1]\n"
                                 "  }\n"
                                 "  host {\n    init {\n    }\n    steps 1 {\n      launch @older_s\n    }\n  }\n}\n";

/* Reads the log; a fault in it fails the test. */
static char *read_log(World *w) {
  FILE *f = fopen(w->log_path, "rb");
  size_t n = 0;
  free(w->log);
  w->log = calloc(1, 4 << 20);
  if (f)
    n = fread(w->log, 1, (4 << 20) - 1, f);
  if (f)
    fclose(f);
  w->log[n] = 0;
  if (strstr(w->log, "fault:"))
    fail_msg("%s", w->log);
  return w->log;
}

/* How often `line` begins a line of the log. */
static int count(const char *log, const char *line) {
  int n = 0;
  for (const char *s = log; s && *s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
    n += strncmp(s, line, strlen(line)) == 0;
  return n;
}

/* How many launches there are, those beside others included. */
static int count_launches(const char *log) { return count(log, "launch ") + count(log, "beside launch "); }

/* How many launches were captured, for all graphs together. */
static int captured(const char *log) {
  static const char graph[] = "graph of ";
  int n = 0;
  for (const char *s = strstr(log, graph); s; s = strstr(s + 1, graph))
    n += atoi(s + strlen(graph));
  return n;
}

/* The log's launches alone (malloc). */
static char *launches(const char *log) {
  char *out = calloc(1, strlen(log) + 1), *to = out;
  for (const char *s = log; s && *s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL) {
    size_t n = strcspn(s, "\n") + 1;
    if (strncmp(s, "launch ", 7) != 0 && strncmp(s, "beside launch ", 14) != 0)
      continue;
    memcpy(to, s, n);
    to += n;
  }
  return out;
}

/* Runs `text` in calls of the lengths in `steps` (ended by 0), with recordings or without; returns the launches
 * (malloc). *graphs: how many were made, *replays: launched. */
static char *run(World *w, const char *text, const char *schedule, const int *steps, bool replay, int *graphs,
                 int *replays) {
  StcProgram *p = NULL;
  StcPlan *q = NULL;
  StcOptions o = {.march = "nvptx",
                  .mcpu = "sm_90",
                  .schedule = schedule,
                  .T = strcmp(schedule, "naive") == 0 ? 0 : 3,
                  .edges = "apart"};
  unlink(w->log_path);
  if (stc_compile_string(w->c, "p.stn", text, &o, &p) || stc_plan_new(p, "cuda", 0, NULL, &q))
    fail_msg("%s", w->messages.first);
  q->run.replay.impossible = !replay;
  DeviceKind old = *q->device.kind;
  old.shifts = NULL;
  if (w->anew)
    q->device.kind = &old;
  assert_int_equal(plan_randomize(q, 1), STC_OK);
  void *memory;
  if (w->dense)
    assert_int_equal(stc_plan_pointer(q, 0, 0, &memory), STC_OK);
  int64_t done = 0, made = 0;
  for (int i = 0; steps[i]; i++) {
    StcRunInfo info;
    if (stc_plan_run(q, steps[i], &info))
      fail_msg("%s", w->messages.first);
    assert_int_equal(info.steps, steps[i]);
    done += info.steps;
    made += info.launches;
  }
  assert_int_equal(q->run.done, done);
  assert_int_equal(made, count_launches(read_log(w)));
  stc_plan_free(q);
  stc_program_free(p);
  *graphs = count(read_log(w), "graph of ");
  *replays = count(w->log, "cuGraphLaunch");
  return launches(w->log);
}

/* Recorded or not, the same kernels are launched with the same arguments in the same order. */
WORLD_TEST(test_same) {
  static const int steps[] = {1000, 7, 1500, 1, 2000, 0};
  static const char *const texts[] = {plain, rotating}, *const schedules[] = {"naive", "overlap"};
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++) {
      int graphs, replays;
      char *want = run(w, texts[i], schedules[k], steps, false, &graphs, &replays);
      assert_int_equal(graphs, 0);
      char *got = run(w, texts[i], schedules[k], steps, true, &graphs, &replays);
      assert_true(graphs >= 1 && graphs <= 3 && replays > 10);
      assert_int_equal(count(w->log, "early launch "), captured(w->log) - graphs);
      assert_string_equal(got, want);
      free(got);
      free(want);
    }
}

/* A driver whose graphs do not keep that launches begin early is not asked to. */
WORLD_TEST(test_old_driver) {
  static const int steps[] = {1000, 0};
  int graphs, replays;
  setenv("STC_STANDIN_DRIVER", "12020", 1);
  free(run(w, plain, "naive", steps, true, &graphs, &replays));
  unsetenv("STC_STANDIN_DRIVER");
  assert_int_equal(graphs, 1);
  assert_int_equal(count(w->log, "early launch "), 0);
}

/* Tiles that are walked: the kernel for those at edges, and in another stream the one for the others, as branches of a
 * graph too. Both are chosen alike where rows are no vectors, in memory too; where there are no tiles but at edges
 * nothing is beside them. */
WORLD_TEST(test_beside) {
  static const int steps[] = {600, 0};
  static const char *const sizes[] = {"N = 2000, M = 2000", "N = 2000, M = 2001", "N = 2000, M = 2001",
                                      "N = 200, M = 200"},
                           *const names[] = {"t3", "t3", "t3_any", NULL};
  for (int i = 0; i < 4; i++) {
    w->dense = i == 2;
    char text[256], first[32], second[64];
    int graphs, replays;
    snprintf(text, sizeof text,
             "param %s;\ngrid G = [0 .. N-1, 0 .. M-1], 600;\nfield A : f32 on G;\nstencil s(A)[1 .. N-2, 1 .. M-2] = "
             "A[-1,0] + A[1,0] + A[0,1];\n",
             sizes[i]);
    char *want = run(w, text, "stream", steps, false, &graphs, &replays);
    char *got = run(w, text, "stream", steps, true, &graphs, &replays);
    assert_string_equal(got, want);
    assert_int_equal(graphs, 1);
    snprintf(first, sizeof first, "launch p_stream_%s_edge ", names[i] ? names[i] : "t3");
    snprintf(second, sizeof second, "beside launch p_stream_%s ", names[i] ? names[i] : "");
    assert_int_equal(count(got, first), 200);
    assert_int_equal(count(got, second), names[i] ? 200 : 0);
    assert_int_equal(count_launches(got), names[i] ? 400 : 200);
    assert_int_equal(count(w->log, "early launch "), names[i] ? 0 : captured(w->log) - graphs);
    free(got);
    free(want);
  }
}

/* Runs that differ, and few of them, are launched one by one. */
WORLD_TEST(test_not) {
  static const int steps[] = {2000, 0}, few[] = {50, 0};
  int graphs, replays;
  free(run(w, reducing, "naive", steps, true, &graphs, &replays));
  assert_int_equal(graphs, 0);
  free(run(w, plain, "naive", few, true, &graphs, &replays));
  assert_int_equal(graphs, 0);
}

/* Launches that take the step are recorded once, and their step is set whenever they are made again: the others of the
 * graph are not touched. They are the same launches as one by one. */
WORLD_TEST(test_step) {
  static const int steps[] = {1000, 3, 500, 0};
  static const char *const texts[] = {stepping, moving}, *const schedules[] = {"naive", "overlap"};
  for (int i = 0; i < 4; i++) {
    int graphs, replays;
    char *want = run(w, texts[i / 2], schedules[i % 2], steps, false, &graphs, &replays);
    assert_int_equal(graphs, 0);
    char *got = run(w, texts[i / 2], schedules[i % 2], steps, true, &graphs, &replays);
    assert_string_equal(got, want);
    assert_true(graphs >= 1 && graphs <= 3 && replays > 5);
    assert_int_equal(count(w->log, "graph update of "), 0);
    assert_true(count(w->log, "graph set ") >= replays);
    assert_int_equal(count(w->log, "graph set p_naive_s"), i == 0 ? count(w->log, "graph set ") : 0);
    free(got);
    free(want);
  }
}

/* A driver that cannot set what a launch of a graph takes has them recorded anew each time, in the graph of the time
 * before; where it refuses that, too, in another one. */
WORLD_TEST(test_step_anew) {
  static const int steps[] = {1000, 3, 500, 0};
  int graphs, replays;
  w->anew = true;
  char *want = run(w, stepping, "naive", steps, false, &graphs, &replays);
  assert_int_equal(graphs, 0);
  for (int refused = 0; refused < 2; refused++) {
    if (refused)
      setenv("STC_STANDIN_FAIL", "cuGraphExecUpdate_v2", 1);
    char *got = run(w, stepping, "naive", steps, true, &graphs, &replays);
    unsetenv("STC_STANDIN_FAIL");
    assert_string_equal(got, want);
    assert_true(replays > 20 && graphs == replays);
    assert_true(count(w->log, "graph update of ") >= graphs - 2);
    assert_int_equal(count(w->log, "graph set "), 0);
    free(got);
  }
  w->anew = false;
  setenv("STC_STANDIN_FAIL", "cuGraphGetNodes", 1); /* a driver that does not tell a graph's launches */
  char *got = run(w, stepping, "naive", steps, true, &graphs, &replays);
  unsetenv("STC_STANDIN_FAIL");
  assert_string_equal(got, want);
  assert_true(replays > 20 && count(w->log, "graph set ") == 0);
  free(got);
  free(want);
}

/* Calls of few steps get a recording of their length once there were many, the same launches. */
WORLD_TEST(test_often) {
  static const int steps[] = {40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 2000, 40, 0};
  int graphs, replays;
  char *want = run(w, plain, "naive", steps, false, &graphs, &replays);
  char *got = run(w, plain, "naive", steps, true, &graphs, &replays);
  assert_int_equal(graphs, 2);
  assert_true(replays > 30);
  assert_string_equal(got, want);
  free(got);
  free(want);
}

/* A driver that cannot make graphs launches one by one. */
WORLD_TEST(test_cannot) {
  static const int steps[] = {2000, 1000, 0};
  static const char *const calls[] = {"cuStreamBeginCapture_v2", "cuGraphInstantiateWithFlags"};
  for (int i = 0; i < 2; i++) {
    int graphs, replays;
    char *want = run(w, plain, "naive", steps, false, &graphs, &replays);
    setenv("STC_STANDIN_FAIL", calls[i], 1);
    char *got = run(w, plain, "naive", steps, true, &graphs, &replays);
    unsetenv("STC_STANDIN_FAIL");
    assert_int_equal(replays, 0);
    assert_string_equal(got, want);
    free(got);
    free(want);
  }
}

/* Cards are known by what drivers call them. */
WORLD_TEST(test_cards) {
  assert_string_equal(card_of_device("cuda:0, NVIDIA H200 (132 multiprocessors)", "nvptx")->name, "h200");
  assert_string_equal(card_of_device("NVIDIA GeForce RTX 4090", "nvptx")->name, "rtx4090");
  assert_string_equal(card_of_device("NVIDIA H100 PCIe", "nvptx")->name, "h100-pcie");
  assert_string_equal(card_of_device("NVIDIA H100 80GB HBM3", "nvptx")->name, "h100");
  assert_string_equal(card_of_device("hip:1, AMD Instinct MI250X / MI250", "amdgpu")->name, "mi250x");
  assert_null(card_of_device("AMD Instinct MI250X", "nvptx"));
  assert_null(card_of_device("Stand-in", "nvptx"));
}

/* What the driver says of a kernel, and how fast it copies. */
WORLD_TEST(test_facts) {
  StcProgram *p;
  StcPlan *q;
  StcKernelInfo info;
  double rate;
  StcOptions o = {.march = "nvptx", .mcpu = "sm_90", .schedule = "naive"};
  assert_int_equal(stc_compile_string(w->c, "p.stn", plain, &o, &p), STC_OK);
  assert_int_equal(stc_plan_new(p, "cuda:0", 0, NULL, &q), STC_OK);
  assert_string_equal(stc_plan_device(q), "cuda:0, Stand-in");
  assert_int_equal(stc_plan_kernel(q, 0, &info), STC_OK);
  assert_int_equal(info.registers, 40);
  assert_in_range(info.estimated_registers, 8, 64);
  Expected expected;
  assert_true(plan_expect(q, &expected));
  assert_true(expected.gpts > 0);
  assert_int_equal(expected.registers, info.estimated_registers);
  assert_float_equal(expected.redundancy, 1, 0);
  assert_int_equal(device_copy_rate(q, 8 << 20, &rate), STC_OK);
  assert_true(rate > 0);
  stc_plan_free(q);
  stc_program_free(p);
  read_log(w);
}

/* A failed launch is an error. */
WORLD_TEST(test_failure) {
  StcProgram *p;
  StcPlan *q;
  StcOptions o = {.march = "nvptx", .mcpu = "sm_90", .schedule = "naive"};
  assert_int_equal(stc_compile_string(w->c, "p.stn", plain, &o, &p), STC_OK);
  assert_int_equal(stc_plan_new(p, "cuda", 0, NULL, &q), STC_OK);
  assert_int_equal(plan_randomize(q, 1), STC_OK);
  setenv("STC_STANDIN_FAIL", "cuLaunchKernel", 1);
  assert_int_equal(stc_plan_run(q, 2000, NULL), STC_DEVICE);
  assert_non_null(strstr(w->messages.first, "cuda: launching p_naive_s"));
  unsetenv("STC_STANDIN_FAIL");
  stc_plan_free(q);
  stc_program_free(p);
}

/* The number of the next step whose row the callback of a probe expects. */
static void take_row(void *user, const StcProbe *row) {
  int64_t *next = user;
  assert_int_equal(row->step, (*next)++);
}

/* A probe's rows are taken out of its series without a wait for the device, but for the last ones, each once and in
 * order; where the driver cannot copy beside launches each time by a wait. */
WORLD_TEST(test_rows) {
  static const char *const seeing =
      "param N = 100;\ngrid G = [0 .. N-1], 1000;\nfield A : f32 on G;\nstencil s(A)[1 .. "
      "N-2] = 0.5 * (A[-1] + A[1]);\nprobe p = A at [50] every 1;\n";
  for (int late = 0; late < 2; late++) {
    StcProgram *p;
    StcPlan *q;
    int64_t next = 0;
    StcOptions o = {.march = "nvptx", .mcpu = "sm_90", .schedule = "naive"};
    unlink(w->log_path);
    assert_int_equal(stc_compile_string(w->c, "p.stn", seeing, &o, &p), STC_OK);
    assert_int_equal(stc_plan_new(p, "cuda", 0, NULL, &q), STC_OK);
    assert_int_equal(plan_randomize(q, 1), STC_OK);
    stc_plan_probes(q, take_row, &next);
    q->lists.no_sending = late;
    assert_int_equal(stc_plan_run(q, 1, NULL), STC_OK);
    int waits = count(read_log(w), "cuCtxSynchronize");
    assert_int_equal(stc_plan_run(q, 5 * SERIES_ROWS, NULL), STC_OK);
    assert_int_equal(next, 5 * SERIES_ROWS + 2);
    waits = count(read_log(w), "cuCtxSynchronize") - waits;
    assert_true(late ? waits >= 5 : waits <= 2);
    assert_int_equal(count(w->log, "cuMemcpyDtoHAsync"), late ? 0 : 4);
    stc_plan_free(q);
    stc_program_free(p);
  }
}

/* The calls of the stand-in that load modules. */
typedef struct Loader {
  int (*load)(void **, const void *, unsigned, int *, void **), (*get)(void **, void *, const char *),
      (*unload)(void *), (*set)(void *);
  void *context;
  char name[16];
  int wrong;
} Loader;

/* Loads and unloads a module of one kernel many times; what is refused is counted in `wrong`. The stand-in's kernels
 * begin with the number of their module, then the name. */
static void *load_often(void *arg) {
  Loader *l = arg;
  char text[64];
  l->wrong += l->set(l->context);
  snprintf(text, sizeof text, ".version 8.0\n.entry %s(){}\n", l->name);
  for (int i = 0; i < 2000; i++) {
    void *m = NULL, *f = NULL;
    l->wrong += l->load(&m, text, 0, NULL, NULL) || l->get(&f, m, l->name) ||
                strcmp((const char *)f + sizeof(int), l->name) != 0 || l->unload(m);
  }
  return NULL;
}

/* Plan `b` waits for an event of plan `a`, and `a` for one of `b`, each behind a call about `b`. */
static void meet(StcPlan *a, StcPlan *b) {
  void *lib = dlopen("libcuda.so.1", RTLD_NOW), *event = NULL;
  float values[64];
  int (*make)(void **, unsigned), (*destroy)(void *);
  *(void **)&make = dlsym(lib, "cuEventCreate");
  *(void **)&destroy = dlsym(lib, "cuEventDestroy_v2");
  assert_int_equal(stc_plan_get(b, 0, values, sizeof values) || make(&event, 2), 0);
  assert_int_equal(stc_plan_record_event(a, event) || stc_plan_get(b, 0, values, sizeof values), 0);
  assert_int_equal(stc_plan_wait_event(b, event), 0);
  assert_int_equal(stc_plan_record_event(b, event) || stc_plan_get(b, 0, values, sizeof values), 0);
  assert_int_equal(stc_plan_wait_event(a, event), 0);
  destroy(event);
  dlclose(lib);
}

/* A plan copies on its own device, and meets events there, whichever the last call was about. */
WORLD_TEST(test_devices) {
  StcOptions o = {.march = "nvptx", .mcpu = "sm_90"};
  StcProgram *p = NULL;
  StcPlan *q[2] = {NULL, NULL};
  float values[64] = {1};
  StcRunInfo info;
  setenv("STC_STANDIN_DEVICES", "2", 1);
  unlink(w->log_path);
  if (stc_compile_string(w->c, "older.kir", older, &o, &p) || stc_plan_new(p, "cuda:0", 0, NULL, &q[0]) ||
      stc_plan_new(p, "cuda:1", 0, NULL, &q[1]))
    fail_msg("%s", w->messages.first);
  for (int i = 0; i < 2; i++)
    assert_int_equal(stc_plan_set(q[i], 0, values, sizeof values), STC_OK);
  for (int i = 0; i < 2; i++)
    if (stc_plan_run(q[i], 1, &info))
      fail_msg("%s", w->messages.first);
  assert_int_equal(count(read_log(w), "copy"), 2);
  meet(q[0], q[1]);
  assert_int_equal(count(read_log(w), "waits for another device"), 2);
  for (int i = 0; i < 2; i++)
    stc_plan_free(q[i]);
  stc_program_free(p);
  unsetenv("STC_STANDIN_DEVICES");
}

/* The tuner prepares candidates in several threads: the stand-in has to bear that as the driver does. */
WORLD_TEST(test_threads) {
  enum { THREADS = 4 };
  pthread_t t[THREADS];
  Loader l[THREADS];
  void *lib = dlopen("libcuda.so.1", RTLD_NOW);
  assert_non_null(lib);
  unsetenv("STC_STANDIN_LOG");
  int (*retain)(void **, int), (*set)(void *), (*release)(int);
  void *context = NULL;
  *(void **)&retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
  *(void **)&set = dlsym(lib, "cuCtxSetCurrent");
  *(void **)&release = dlsym(lib, "cuDevicePrimaryCtxRelease_v2");
  assert_int_equal(retain(&context, 7) || set(context) || release(7), 0);
  for (int i = 0; i < THREADS; i++) {
    l[i] = (Loader){.set = set, .context = context};
    *(void **)&l[i].load = dlsym(lib, "cuModuleLoadDataEx");
    *(void **)&l[i].get = dlsym(lib, "cuModuleGetFunction");
    *(void **)&l[i].unload = dlsym(lib, "cuModuleUnload");
    snprintf(l[i].name, sizeof l[i].name, "k%d", i);
    assert_int_equal(pthread_create(&t[i], NULL, load_often, &l[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(t[i], NULL);
    assert_int_equal(l[i].wrong, 0);
  }
  dlclose(lib);
}

/* Runs the tuner for so many seconds on `plain`; returns the log (malloc). */
static char *tune(World *w, int seconds, StcStatus want) {
  static Stop stop;
  char program[96], log[96], db[96];
  snprintf(program, sizeof program, "%s.stn", w->log_path);
  snprintf(log, sizeof log, "%s.csv", w->log_path);
  snprintf(db, sizeof db, "%s.json", w->log_path);
  Arena *a = arena_new(NULL, NULL);
  Command c = {.kind = CMD_TUNE,
               .arena = a,
               .context = w->c,
               .file = program,
               .device = "cuda",
               .log = log,
               .db = db,
               .quiet = true,
               .seconds = seconds,
               .no_ptxas = !getenv("STC_TEST_PTXAS")};
  assert_true(file_write(w->c, program, plain, strlen(plain)));
  assert_int_equal(command_tune(&c, &stop), want);
  read_log(w);
  FILE *f = fopen(log, "rb");
  char *text = calloc(1, 1 << 20);
  assert_non_null(f);
  assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
  fclose(f);
  assert_int_not_equal(access(db, F_OK), 0);
  unlink(program);
  unlink(log);
  arena_free(a);
  return text;
}

/* Is the default, which comes first in the log, among what computed something wrong? */
static bool default_is_wrong(const char *log) {
  const char *line = strchr(log, '\n');
  return line && strncmp(line, "\nwrong,", 7) == 0 && strstr(line, "\"-schedule=auto\"");
}

/* A run that is stopped while its kernels are compiled has none compiled, whoever stops it; the next one compiles all
 * that it launches before its first launch. */
WORLD_TEST(test_stopped_compiling) {
  StcProgram *p = NULL;
  StcPlan *q = NULL;
  StcOptions o = {.march = "nvptx", .mcpu = "sm_90", .schedule = "overlap", .T = 3};
  float a[100] = {0};
  assert_int_equal(stc_compile_string(w->c, "p.stn", plain, &o, &p), STC_OK);
  assert_int_equal(stc_plan_new(p, "cuda", 0, NULL, &q), STC_OK);
  assert_int_equal(stc_plan_set(q, 0, a, sizeof a), STC_OK);
  stc_context_stop(w->c, true);
  assert_int_equal(stc_plan_run(q, 7, NULL), STC_INTERRUPTED);
  stc_context_stop(w->c, false);
  stc_plan_stop(q, true);
  assert_int_equal(stc_plan_run(q, 7, NULL), STC_INTERRUPTED);
  stc_plan_stop(q, false);
  assert_int_equal(count(read_log(w), "cuLibraryLoadData"), 0);
  assert_int_equal(stc_plan_run(q, 7, NULL), STC_OK);
  const char *first = strstr(read_log(w), "launch ");
  assert_true(count(w->log, "cuLibraryLoadData") > 0 && count(first, "cuLibraryLoadData") == 0);
  stc_plan_free(q);
  stc_program_free(p);
}

/* A watch that is due again 7 steps behind step 960, which nobody knew when the run began. */
static StcStatus come_again(void *user, StcPlan *q, int64_t step) {
  (void)user;
  q->observers.watches->every = step == 960 ? step + 7 : q->observers.watches->every;
  return STC_OK;
}

/* What a run needs that is cut where nobody knew is compiled then, and not while launches are recorded. */
WORLD_TEST(test_cut_late) {
  StcProgram *p = NULL;
  StcPlan *q = NULL;
  StcOptions o = {.march = "nvptx", .mcpu = "sm_90", .schedule = "overlap", .T = 8};
  float a[100] = {0};
  assert_int_equal(stc_compile_string(w->c, "p.stn", plain, &o, &p), STC_OK);
  assert_int_equal(stc_plan_new(p, "cuda", 0, NULL, &q), STC_OK);
  assert_int_equal(stc_plan_set(q, 0, a, sizeof a), STC_OK);
  assert_int_equal(stc_plan_watch(q, 960, come_again, NULL), STC_OK);
  assert_int_equal(stc_plan_run(q, 1600, NULL), STC_OK);
  assert_true(count(strstr(read_log(w), "launch "), "cuLibraryLoadData") > 0);
  stc_plan_free(q);
  stc_program_free(p);
}

/* Here every schedule computes something wrong: all are noted, and none is chosen. */
WORLD_TEST(test_tune_wrong) {
  char *log = tune(w, 1, STC_DEVICE);
  assert_true(default_is_wrong(log) && count(log, "timed,") == 0 && count(log, "slow,") == 0);
  assert_non_null(strstr(w->messages.first, "no schedule could be measured"));
  free(log);
}

/* What an assembler makes and the driver does not take is compiled by the driver, and the assembler is asked no more.
 */
WORLD_TEST(test_tune_assembler) {
  static const char script[] = "#!/bin/sh\necho asked >> \"$0.log\"\nprintf '\\177ELF' > \"$3\"\n";
  char folder[96], tool[128], path[160], asked[160], *before = strdup(getenv("PATH"));
  snprintf(folder, sizeof folder, "%s.bin", w->log_path);
  snprintf(tool, sizeof tool, "%s/ptxas", folder);
  snprintf(asked, sizeof asked, "%s.log", tool);
  snprintf(path, sizeof path, "%s:/usr/bin:/bin", folder);
  assert_int_equal(mkdir(folder, 0700), 0);
  assert_true(file_write(w->c, tool, script, strlen(script)));
  chmod(tool, 0700);
  setenv("PATH", path, 1);
  setenv("STC_TEST_PTXAS", "1", 1);
  char *log = tune(w, 1, STC_DEVICE);
  unsetenv("STC_TEST_PTXAS");
  setenv("PATH", before, 1);
  struct stat s;
  assert_int_equal(stat(asked, &s), 0);
  assert_true(s.st_size >= (off_t)strlen("asked\n") && s.st_size <= (off_t)(64 * strlen("asked\n")));
  assert_true(default_is_wrong(log) && count(log, "refused,naive,1,0,0,0,0,0,") == 0);
  unlink(asked);
  unlink(tool);
  rmdir(folder);
  free(before);
  free(log);
}

/* A launch after which the driver refuses everything costs one candidate only. */
WORLD_TEST(test_tune_broken) {
  setenv("STC_STANDIN_BREAK", "15", 1);
  char *log = tune(w, 5, STC_DEVICE);
  unsetenv("STC_STANDIN_BREAK");
  assert_int_equal(count(log, "failed,"), 1);
  assert_true(count(log, "wrong,") >= 1);
  free(log);
}

int main(int argc, char **argv) {
  (void)argc;
  return run_beside(STC_STANDIN_DIR, argv, "cuda");
}
