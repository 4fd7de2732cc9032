/* hip_test.c: the hip device against a stand-in runtime (tests/standin/libamdhip64.c), which checks the order of the
 * calls and each launch
 * against the code object's metadata. Here the calls it logged are compared with the manifest. The test starts itself
 * again with
 * LD_LIBRARY_PATH set to where the stand-in is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN_MAIN
#include "tests/unit/testing.h"
#include <jansson.h>

#include "driver/stc.h"
#include "passes/passes.h"

static const char *const wave =
    "param N = 100, M = 50;\nparam k : f32 = 0.1;\nparam flag : bool = true;\n"
    "grid G = [0 .. N-1, 0 .. M-1], 7;\nfield P, V : f32 on G;\nfield K : f32 on [1 .. N-2, 1 .. M-2] input;\n"
    "init start(P)[G] = f32(idx(0));\n"
    "stencil v(V)[1 .. N-2, 1 .. M-2] = V + k * K * (P[-1,0] + P[1,0] - 2.0 * P);\n"
    "stencil p(P)[1 .. N-2, 1 .. M-2] = P + (if flag then V else 0.0) * f32(step);\n";

/* A context that keeps its messages, and the log of the stand-in. */
typedef struct World {
  StcContext *c;
  char messages[4096], log_path[64], *log;
} World;

/* Appends the message. */
static void keep(void *user, const StcMessage *m) {
  World *w = user;
  size_t n = strlen(w->messages);
  snprintf(w->messages + n, sizeof w->messages - n, "%s\n", m->text);
}

static int make_world(void **state) {
  World *w = calloc(1, sizeof *w);
  StcConfig config = {NULL, keep, w};
  w->c = stc_context_new(&config);
  snprintf(w->log_path, sizeof w->log_path, "/tmp/hip_test.%d.log", (int)getpid());
  setenv("STC_STANDIN_LOG", w->log_path, 1);
  *state = w;
  return 0;
}

static int free_world(void **state) {
  World *w = *state;
  unlink(w->log_path);
  unsetenv("STC_STANDIN_DEVICES");
  unsetenv("STC_STANDIN_MEMORY");
  unsetenv("STC_STANDIN_ARCH");
  unsetenv("STC_STANDIN_FAIL");
  stc_context_free(w->c);
  free(w->log);
  free(w);
  return 0;
}

/* Reads the log. */
static const char *read_log(World *w) {
  FILE *f = fopen(w->log_path, "rb");
  size_t n = 0;
  free(w->log);
  w->log = calloc(1, 1 << 20);
  if (f)
    n = fread(w->log, 1, (1 << 20) - 1, f);
  if (f)
    fclose(f);
  w->log[n] = 0;
  return w->log;
}

/* Compiles. "apart" is overlap with small tiles, those at edges in kernels of their own. Rows are dense, for plans as
 * for artifacts, whose launches are compared. */
static StcProgram *compile(World *w, const char *schedule) {
  StcProgram *p;
  StcOptions o = {.march = "amdgpu", .mcpu = "gfx90a", .schedule = schedule, .T = schedule[0] == 'o' ? 3 : 0};
  if (schedule[0] == 'a')
    o = (StcOptions){.march = "amdgpu",
                     .mcpu = "gfx90a",
                     .schedule = "overlap",
                     .T = 2,
                     .block = {8, 16},
                     .elems = {1, 1},
                     .edges = "apart"};
  o.passes = PASSES_DEFAULT;
  if (stc_compile_string(w->c, "wave.stn", wave, &o, &p) != STC_OK)
    fail_msg("%s", w->messages);
  return p;
}

/* Gives data, runs `steps` and frees the plan. Returns the status of the run. */
static StcStatus run(World *w, StcProgram *p, int64_t steps) {
  StcPlan *q;
  float *data = calloc(5000, sizeof *data);
  StcStatus s = stc_plan_new(p, "hip", 0, NULL, &q);
  if (!s) {
    s = stc_plan_set(q, 1, data, 5000 * sizeof *data);
    if (!s)
      s = stc_plan_set(q, 2, data, 98 * 48 * sizeof *data);
    if (!s)
      s = stc_plan_run(q, steps, NULL);
    if (!s)
      s = stc_plan_get(q, 0, data, 5000 * sizeof *data);
    stc_plan_free(q);
  }
  if (strstr(read_log(w), "fault:"))
    fail_msg("%s", w->log);
  free(data);
  return s;
}

/* The element of a list whose "name" is `name`. */
static json_t *named(const json_t *list, const char *name) {
  size_t i;
  json_t *e;
  json_array_foreach(list, i, e) if (strcmp(json_string_value(json_object_get(e, "name")), name) == 0) return e;
  fail_msg("nothing is named %s", name);
  return NULL;
}

/* The integer at key. */
static int64_t int_at(const json_t *o, const char *key) { return json_integer_value(json_object_get(o, key)); }

/* The value of a bound for N = 100, M = 50. */
static int64_t affine(const json_t *a) {
  int64_t v = int_at(a, "constant");
  size_t i;
  json_t *t;
  json_array_foreach(json_object_get(a, "terms"), i, t) v +=
      int_at(t, "coefficient") * (strcmp(json_string_value(json_object_get(t, "param")), "N") == 0 ? 100 : 50);
  return v;
}

/* The launch line that the manifest demands, up to the kernarg bytes. False if the kernel has no blocks. */
static bool expected_launch(const json_t *m, const char *name, char *to, size_t size) {
  json_t *k = named(json_object_get(m, "kernels"), name), *grid = json_object_get(k, "grid"),
         *block = json_object_get(k, "block");
  int64_t blocks[3] = {1, 1, 1}, hole = 1;
  size_t d;
  json_t *g;
  json_array_foreach(grid, d, g) {
    int64_t extent = affine(json_object_get(g, "extent")), tile = int_at(g, "tile");
    blocks[json_string_value(json_object_get(g, "axis"))[0] - 'x'] = extent <= 0 ? 0 : (extent + tile - 1) / tile;
    int64_t without = json_object_get(g, "without") ? affine(json_object_get(g, "without")) : 0;
    hole *= without <= 0 ? 0 : (without + tile - 1) / tile;
  }
  if (json_object_get(json_array_get(grid, 0), "without")) {
    blocks[0] = blocks[0] * blocks[1] * blocks[2] - hole;
    blocks[1] = blocks[2] = 1;
  }
  snprintf(to, size, "launch %s grid %d %d %d block %d %d %d shared %d kernarg %d ", name, (int)blocks[0],
           (int)blocks[1], (int)blocks[2], (int)int_at(block, "x"), (int)int_at(block, "y"), (int)int_at(block, "z"),
           (int)int_at(k, "dynamic_shared_bytes"), (int)int_at(k, "argument_bytes"));
  return blocks[0] * blocks[1] * blocks[2] > 0;
}

/* One byte of a log line's kernarg. */
static unsigned byte_at(const char *hex, int64_t i) {
  unsigned b = 0;
  sscanf(hex + 2 * i, "%2x", &b);
  return b;
}

/* The log, and what memory each buffer of the manifest stands for, as launches show it: slot of buffer i, and the
 * slots' addresses (0: not seen yet). */
typedef struct Memory {
  const json_t *buffers;
  const char *log;
  int slot[32];
  uint64_t address[32];
} Memory;

/* The number of the buffer called `name`. */
static int buffer_number(const Memory *m, const char *name) {
  size_t i;
  json_t *b;
  json_array_foreach(m->buffers, i,
                     b) if (strcmp(json_string_value(json_object_get(b, "name")), name) == 0) return (int)i;
  fail_msg("no buffer is named %s", name);
  return 0;
}

/* Checks that a launch got buffer `name` at `address` where the swaps so far have brought it, and no other buffer's
 * memory. */
static void check_pointer(Memory *m, const char *name, uint64_t address) {
  int slot = m->slot[buffer_number(m, name)];
  assert_true(address != 0);
  if (!m->address[slot])
    for (int i = 0; i < 32; i++)
      assert_true(m->address[i] != address);
  if (!m->address[slot])
    m->address[slot] = address;
  assert_int_equal(m->address[slot], address);
}

/* Checks buffers, scalars (those of the program `wave`, else 0) and the step in the kernarg bytes. */
static void check_kernarg(Memory *m, const json_t *kernel, const char *hex, int64_t step) {
  size_t i;
  json_t *a;
  json_array_foreach(json_object_get(kernel, "arguments"), i, a) {
    uint64_t v = 0, want;
    const char *scalar = json_string_value(json_object_get(a, "scalar"));
    float k = 0.1f;
    uint32_t bits;
    memcpy(&bits, &k, sizeof bits);
    for (int64_t b = 0; b < int_at(a, "bytes"); b++)
      v |= (uint64_t)byte_at(hex, int_at(a, "offset") + b) << (8 * b);
    if (strcmp(json_string_value(json_object_get(a, "kind")), "buffer") == 0) {
      check_pointer(m, json_string_value(json_object_get(a, "buffer")), v);
      continue;
    }
    want = !scalar                       ? (uint64_t)step
           : strcmp(scalar, "N") == 0    ? 100
           : strcmp(scalar, "M") == 0    ? 50
           : strcmp(scalar, "k") == 0    ? bits
           : strcmp(scalar, "flag") == 0 ? 1
                                         : 0;
    assert_int_equal(v, want);
  }
}

/* Checks that the launches from *at on are those of the sequence at step `step`, those beside others in their stream,
 * and goes behind them. */
static void check_sequence(Memory *memory, const json_t *m, const json_t *seq, int64_t step, const char **at) {
  size_t i;
  json_t *op;
  bool before = false;
  json_array_foreach(json_object_get(seq, "operations"), i, op) {
    const char *name = json_string_value(json_object_get(op, "launch"));
    char want[512];
    if (!name) {
      json_t *pair = json_object_get(op, "swap");
      int *x = &memory->slot[buffer_number(memory, json_string_value(json_array_get(pair, 0)))];
      int *y = &memory->slot[buffer_number(memory, json_string_value(json_array_get(pair, 1)))], t = *x;
      *x = *y;
      *y = t;
      continue;
    }
    before &= json_is_true(json_object_get(op, "beside"));
    if (!expected_launch(m, name, want, sizeof want))
      continue;
    *at = *at ? strstr(*at, "launch ") : NULL;
    bool beside = *at && *at - memory->log >= 7 && strncmp(*at - 7, "beside ", 7) == 0;
    assert_int_equal(beside, before);
    before = true;
    if (!*at || strncmp(*at, want, strlen(want)) != 0)
      fail_msg("step %d: expected \"%s\", there is \"%.200s\"", (int)step, want, *at ? *at : "nothing");
    *at += strlen(want);
    check_kernarg(memory, named(json_object_get(m, "kernels"), name), *at, step);
  }
}

/* The steps from `step` to the next evaluation of a reduction, `left` if there is none before; checks the launches of
 * those due at `step`. */
static int64_t check_reductions(Memory *memory, const json_t *m, int64_t step, int64_t left, const char **at) {
  size_t i;
  json_t *r;
  json_array_foreach(json_object_get(json_object_get(m, "host"), "reductions"), i, r) {
    int64_t every = int_at(r, "every"), next = every - step % every;
    if (step % every == 0)
      check_sequence(memory, m, json_object_get(r, "sequence"), step, at);
    left = next < left ? next : left;
  }
  return left;
}

/* Walks over the log's launches in step with the manifest's host part: init, then sequences and reductions until
 * `steps` are done. */
static void check_launches(World *w, const json_t *m, int64_t steps) {
  json_t *host = json_object_get(m, "host");
  const char *at = w->log;
  Memory memory = {.buffers = json_object_get(m, "buffers"), .log = w->log};
  for (int i = 0; i < 32; i++)
    memory.slot[i] = i;
  check_sequence(&memory, m, json_object_get(host, "init"), 0, &at);
  for (int64_t step = 0;;) {
    size_t n;
    json_t *s, *seq = NULL;
    int64_t left = check_reductions(&memory, m, step, steps - step, &at);
    json_array_foreach(json_object_get(host, "sequences"), n, s) if (!seq && int_at(s, "steps") <= left) seq = s;
    if (!seq)
      break;
    check_sequence(&memory, m, seq, step, &at);
    step += int_at(seq, "steps");
  }
  assert_null(strstr(at, "launch "));
}

/* Every launch of every schedule is what the manifest says, in its order. */
WORLD_TEST(test_launches) {
  static const char *const schedules[] = {"naive", "overlap", "apart"};
  for (int i = 0; i < 3; i++) {
    StcProgram *p = compile(w, schedules[i]);
    const char *json;
    json_error_t e;
    unlink(w->log_path);
    assert_int_equal(stc_program_manifest(p, &json), STC_OK);
    json_t *m = json_loads(json, 0, &e);
    if (run(w, p, 7) != STC_OK)
      fail_msg("%s", w->messages);
    check_launches(w, m, 7);
    assert_int_equal(strstr(w->log, "beside launch ") != NULL, i == 2);
    json_decref(m);
    stc_program_free(p);
  }
}

/* Vectors, older levels, launch-time arrays and reductions: every launch gets the memory that the manifest's swaps say,
 * and an `until` whose value the device gives (the stand-in: 0) ends the run. */
WORLD_TEST(test_whole_language) {
  static const char text[] =
      "param N = 100;\nparam src[N] : f32;\ngrid G = [0 .. N-1], 40;\nfield U : f32 on G history 2;\nfield V : f32[2] "
      "on G;\n"
      "reduce total = sum(U) over G every 5;\nuntil max(abs(U - U@1)) over G < 1e-6 every 8;\n"
      "stencil u(U)[1 .. N-2] = 2.0 * U@1 - U@2 + U[-1] + V[1][0] + src[idx(0)];\nstencil v(V)[G] = V + f32(total);\n";
  static const char *const schedules[] = {"naive", "overlap"};
  for (int i = 0; i < 2; i++) {
    StcProgram *p;
    StcPlan *q;
    StcRunInfo info;
    StcOptions o = {.march = "amdgpu", .mcpu = "gfx90a", .schedule = schedules[i]};
    const char *json;
    json_error_t e;
    float data[200] = {0};
    unlink(w->log_path);
    if (stc_compile_string(w->c, "whole.stn", text, &o, &p) != STC_OK)
      fail_msg("%s", w->messages);
    assert_int_equal(stc_program_manifest(p, &json), STC_OK);
    json_t *m = json_loads(json, 0, &e);
    assert_int_equal(stc_plan_new(p, "hip", 0, NULL, &q), STC_OK);
    assert_int_equal(stc_plan_set(q, stc_program_find_field(p, "U"), data, 400), STC_OK);
    assert_int_equal(stc_plan_set(q, stc_program_find_field(p, "V"), data, 800), STC_OK);
    assert_int_equal(stc_plan_set_array(q, 0, data, 400), STC_OK);
    if (stc_plan_run(q, -1, &info) != STC_OK)
      fail_msg("%s", w->messages);
    assert_int_equal(info.steps, 8);
    assert_non_null(info.until);
    stc_plan_free(q);
    if (strstr(read_log(w), "fault:"))
      fail_msg("%s", w->log);
    check_launches(w, m, 8);
    json_decref(m);
    stc_program_free(p);
  }
}

/* Params that do not suit a kernel launch the one that the program names instead, with its own tile and arguments. */
WORLD_TEST(test_variants) {
  static const char text[] =
      "kernel module \"v\" {\n  param @N : i64\n  grid [0 .. N - 1] steps 2\n  field @A : f32 on [0 .. N - 1]\n  "
      "buffer @A : @A copy 0\n"
      "  kernel @by4 threads [32] covers [N] by [128] steps 1 multiple N of 4 instead @by1 { args (writes @A, scalar "
      "@N) }\n"
      "  kernel @by1 threads [64] covers [N] by [64] steps 1 { args (writes @A, scalar @N, step) }\n"
      "  host { steps 1 { launch @by4 } }\n}\n";
  static const struct {
    const char *define, *launch, *other;
  } runs[] = {
      {"N=1024", "launch by4 grid 8 1 1 block 32 1 1 shared 0 kernarg 16 ", "launch by1"},
      {"N=1026", "launch by1 grid 17 1 1 block 64 1 1 shared 0 kernarg 24 ", "launch by4"},
  };
  StcProgram *p;
  StcOptions o = {.march = "amdgpu", .mcpu = "gfx90a"};
  float data[1026] = {0};
  if (stc_compile_string(w->c, "variants.kir", text, &o, &p) != STC_OK)
    fail_msg("%s", w->messages);
  for (int i = 0; i < 2; i++) {
    StcPlan *q;
    unlink(w->log_path);
    if (stc_plan_new(p, "hip", 1, &runs[i].define, &q) != STC_OK)
      fail_msg("%s", w->messages);
    assert_int_equal(stc_plan_set(q, 0, data, (size_t)atoi(runs[i].define + 2) * sizeof *data), STC_OK);
    if (stc_plan_run(q, 2, NULL) != STC_OK)
      fail_msg("%s", w->messages);
    stc_plan_free(q);
    const char *first = strstr(read_log(w), runs[i].launch);
    if (strstr(w->log, "fault:") || strstr(w->log, runs[i].other) || !first || !strstr(first + 1, runs[i].launch))
      fail_msg("%s", w->log);
  }
  stc_program_free(p);
}

/* The order of the calls: device, module and functions, memory, copies in, launches, copies out, all given back. */
WORLD_TEST(test_order) {
  StcProgram *p = compile(w, "naive");
  static const char *const order[] = {"hipSetDevice 0", "hipModuleLoadData",   "hipModuleGetFunction",
                                      "hipMalloc ",     "hipMemcpyHtoD 20000", "hipMemcpyHtoD 18816",
                                      "launch ",        "hipMemcpyDtoH 20000", "hipFree",
                                      "hipModuleUnload"};
  unlink(w->log_path);
  assert_int_equal(run(w, p, 2), STC_OK);
  const char *at = w->log;
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    at = strstr(at, order[i]);
    if (!at)
      fail_msg("no %s in its place in:\n%s", order[i], w->log);
  }
  stc_program_free(p);
}

/* A field that its init sets partly is made 0 before; not one that the init sets at all points, nor one that was given.
 */
WORLD_TEST(test_partial_init) {
  static const char text[] = "param N = 100;\ngrid G = [0 .. N-1], 1;\nfield A : f32 on G;\nfield B : f64 on G;\nfield "
                             "C : i32 on [0 .. N-3];\n"
                             "init a(A)[1 .. N-2] = 1;\ninit b(B)[G] = 2;\ninit c(C)[0 .. 5] = 3;\n"
                             "stencil s(A, B)[G] { A = A + 1; B = B + 1; }\nstencil t(C)[0 .. N-3] = C + 1;\n";
  StcProgram *p;
  StcPlan *q;
  int32_t c[98] = {0};
  assert_int_equal(stc_compile_string(w->c, "part.stn", text, NULL, &p), STC_OK);
  unlink(w->log_path);
  assert_int_equal(stc_plan_new(p, "hip", 0, NULL, &q), STC_OK);
  assert_int_equal(stc_plan_set(q, 2, c, sizeof c), STC_OK);
  assert_int_equal(stc_plan_run(q, 1, NULL), STC_OK);
  stc_plan_free(q);
  const char *zeros = strstr(read_log(w), "hipMemcpyHtoD 400"), *launch = strstr(w->log, "launch ");
  assert_true(zeros && launch && zeros < launch);
  assert_null(strstr(w->log, "hipMemcpyHtoD 800"));
  const char *given = strstr(w->log, "hipMemcpyHtoD 392");
  assert_true(given && !strstr(given + 1, "hipMemcpyHtoD 392"));
  stc_program_free(p);
}

/* No device, no memory, a failing launch: one clear line each. */
WORLD_TEST(test_failures) {
  StcProgram *p = compile(w, "naive");
  setenv("STC_STANDIN_DEVICES", "0", 1);
  assert_int_equal(run(w, p, 1), STC_DEVICE);
  assert_string_equal(w->messages, "hip: the runtime is there, but no GPU: use device=host or sim\n");
  unsetenv("STC_STANDIN_DEVICES");
  w->messages[0] = 0;
  setenv("STC_STANDIN_MEMORY", "50000", 1);
  assert_int_equal(run(w, p, 1), STC_DEVICE);
  assert_string_equal(w->messages,
                      "no memory for field P of 19.5 KiB: all fields and arrays need 57.4 KiB, hip:0, Stand-in 0 has "
                      "48.8 KiB free of 48.8 KiB; choose smaller params\n");
  unsetenv("STC_STANDIN_MEMORY");
  w->messages[0] = 0;
  setenv("STC_STANDIN_FAIL", "hipModuleLaunchKernel", 1);
  assert_int_equal(run(w, p, 1), STC_DEVICE);
  assert_non_null(strstr(w->messages, "unspecified launch failure (error 719)"));
  StcPlan *q;
  w->messages[0] = 0;
  assert_int_equal(stc_plan_new(p, "hip:3", 0, NULL, &q), STC_DEVICE);
  assert_string_equal(w->messages, "hip:3: there is 1 HIP device, numbered from 0\n");
  stc_program_free(p);
}

/* Layers at edges are in four launches beside each other: each but the first has a stream of its own, and what follows
 * waits for all. */
WORLD_TEST(test_beside_each_other) {
  static const char *const text =
      "param N = 100, M = 50;\ngrid G = [0 .. N-1, 0 .. M-1], 3 spacing [10, 10] step 0.1;\n"
      "absorb rim = 8 of G speed 1.5, frequency 0.02, reflection 0.001;\nfield U : f32 on G history 1;\n"
      "init u(U)[G] = 1;\n"
      "stencil s(U)[2 .. N-3, 2 .. M-3] absorb rim = 2.0 * U - U@1 + 0.1 * diff(U, 0, 2, order 4) + diff(U, 1, 2);\n";
  StcOptions o = {.march = "amdgpu", .mcpu = "gfx90a", .schedule = "naive", .passes = PASSES_DEFAULT};
  StcProgram *p;
  StcPlan *q;
  assert_int_equal(stc_compile_string(w->c, "layers.stn", text, &o, &p), STC_OK);
  assert_int_equal(stc_plan_new(p, "hip", 0, NULL, &q), STC_OK);
  if (stc_plan_run(q, 3, NULL) != STC_OK)
    fail_msg("%s", w->messages);
  stc_plan_free(q);
  assert_null(strstr(read_log(w), "fault:"));
  int beside = 0, most = 0;
  for (const char *line = w->log; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    beside = strncmp(line, "beside launch ", 14) == 0 ? beside + 1 : strncmp(line, "launch ", 7) == 0 ? 0 : beside;
    most = beside > most ? beside : most;
  }
  assert_int_equal(most, 3);
  stc_program_free(p);
}

/* The device's own architecture is compiled for when none is asked. */
WORLD_TEST(test_architecture) {
  StcProgram *p;
  StcPlan *q;
  assert_int_equal(stc_compile_string(w->c, "wave.stn", wave, NULL, &p), STC_OK);
  assert_int_equal(stc_plan_new(p, "hip", 0, NULL, &q), STC_OK);
  stc_plan_free(q);
  stc_program_free(p);
  assert_int_equal(stc_compile_string(w->c, "wave.stn", wave, NULL, &p), STC_OK);
  setenv("STC_STANDIN_ARCH", "gfx777", 1);
  w->messages[0] = 0;
  assert_int_not_equal(stc_plan_new(p, "hip", 0, NULL, &q), STC_OK);
  assert_non_null(strstr(w->messages, "gfx777"));
  stc_program_free(p);
}

int main(int argc, char **argv) {
  (void)argc;
  return run_beside(STC_STANDIN_DIR, argv, "hip");
}
