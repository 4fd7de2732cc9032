/* tests/programs/matrix.c: a program on every device and under many schedules against the reference interpreter.
 *
 *   matrix [--reduced|--long] [--device=sim|loops|host] [--real=f32|f64] [--beside] [-v] FILE.stn
 *
 * For f32 and f64, T = 1, 2, 3, 5, 8, naive and overlap, stream (on sim), steps cut into launches as the table `cuts`
 * says, several shapes of blocks and elements, extents from one point to a few tiles, and after
 * 0, 1, T-1, T, 3T+1 (T >= 3: 2T+1) further steps (one plan goes on through all of them), all fields are compared with
 * those of device "ref". Not every combination is run: each T meets each type, each extent and several shapes, but a
 * long tile meets an extent in one type only (the functions `extent_wanted` and `shape_wanted` say which). The fields
 * start from the program's inits or from random values, launch-time arrays always from these. Programs of + - * /
 * sqrt must agree bit for bit, for which they are compiled
 * without contraction; the others (the table `quirks`) within 4 units in the last place of the field's largest value
 * for each stencil run.
 * Device "sim" simulates the kernels of a GPU, "loops" those of the CPU, "host" runs these.
 * A schedule that stc refuses as illegal is skipped, but the number of comparisons must reach the half of what was
 * planned, with some for each of T = 1, 2, 3 (in f64 alone, whose tiles may be too large: T = 1) and device. Tiles
 * that cannot be streamed are counted by themselves; of every program some must be streamed but of those in the table
 * `never_streamed`.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/instance/instance.h"
#include "driver/program/program.h"

enum { MAX_FIELDS = 16, MAX_EXTENTS = 8, NSTEPS = 5, MAX_MESSAGES = 4096, MODES = 2 };

/* What is special about a program: its smallest extent, the units in the last place allowed a stencil run (0: exact),
 * the most time steps a tile that have to be compared on each device (others' tiles are too small, or do not fit the
 * shared memory), and the steps between evaluations of its reductions if these are fewer than a tile could make (0:
 * they are not). */
typedef struct Quirk {
  const char *program;
  int64_t min;
  double ulps;
  int levels, every;
} Quirk;
static const Quirk quirks[] = {
    {"pieces1d", 6, 0, 3, 0},
    {"edges2d", 5, 0, 3, 0},
    {"sides2d", 3, 0, 3, 0},
    {"free_surface", 1, 16, 3, 0},
    {"borders", 2, 0, 3, 0},
    {"functions", 1, 4, 3, 0},
    {"anisotropic_diffusion", 1, 0, 2, 0},
    {"spans2d", 1, 0, 3, 2},
    {"function_structs", 1, 0, 3, 2},
    {"reductions", 1, 0, 3, 3},
    {"structs_levels1d", 1, 0, 3, 3},
    {NULL, 1, 0, 3, 0},
};

/* Cuts of a program's step into launches, -fuse=, beside "none". */
typedef struct Cuts {
  const char *program, *cuts[8];
} Cuts;
static const Cuts cuts[] = {
    {"temps2d", {"x+y,z+a", "x,y+z,a", "x+y+z,a", "x,y+z+a"}},
    {"chain1d", {"s1+s2,s3+s4", "s1,s2+s3,s4"}},
    {"periodic_stages", {"p+r,q", "p,r+q"}},
    {"parts2d", {"a+b,c+d", "a,b+c,d", "a+b+c,d", "a,b+c+d"}},
    {"anisotropic_diffusion", {"all", "gauss+st+dt,pde", "gauss+st,dt+pde", "gauss+st,dt,pde", "gauss,st+dt,pde"}},
    {NULL, {NULL}},
};

/* Threads a block and points a thread; on devices without threads their product is the tile. */
typedef struct Shape {
  int block[3], elems[3];
} Shape;
static const Shape shapes[3][5] = {
    {{{32}, {1}}, {{64}, {3}}, {{128}, {4}}, {{96}, {2}}, {{256}, {2}}},
    {{{8, 8}, {1, 1}}, {{4, 16}, {5, 2}}, {{8, 32}, {8, 2}}, {{16, 16}, {3, 3}}, {{7, 9}, {5, 4}}},
    {{{4, 4, 4}, {1, 1, 1}},
     {{4, 4, 8}, {2, 3, 2}},
     {{4, 8, 8}, {5, 3, 3}},
     {{2, 4, 16}, {5, 3, 1}},
     {{8, 8, 8}, {3, 3, 3}}},
};
static const int64_t extents[3][MAX_EXTENTS][3] = {
    {{1}, {2}, {3}, {5}, {7}, {33}, {100}, {260}},
    {{1, 1}, {1, 7}, {3, 2}, {5, 9}, {7, 6}, {17, 19}, {21, 33}, {40, 37}},
    {{1, 1, 1}, {2, 3, 1}, {6, 6, 6}, {4, 7, 5}, {9, 10, 11}, {13, 7, 12}, {11, 17, 9}, {14, 15, 17}},
};
static const int tiles[] = {1, 2, 3, 5, 8};

/* Tiles that are streamed: T is tiles[k] with shape k of the rank in f32, the next in f64. Small ones, for the
 * simulator's sake. */
typedef struct Stream {
  const char *cpu;
  int block[3], elems[3], chunk, ahead;
} Stream;
enum { STREAMS = 4 };
static const Stream streams[3][STREAMS] = {
    {{"sm_90", {32}, {1}, 0, 1}, {"sm_75", {64}, {4}, 0, 1}, {"sm_90", {32}, {2}, 0, 4}, {"sm_90", {96}, {8}, 0, 1}},
    {{"sm_90", {2, 32}, {1, 1}, 5, 4},
     {"sm_90", {1, 32}, {1, 2}, 16, 1},
     {"sm_75", {4, 32}, {1, 4}, 5, 1},
     {"sm_90", {2, 32}, {1, 4}, 16, 4}},
    {{"sm_90", {1, 3, 32}, {1, 3, 2}, 5, 4},
     {"sm_90", {1, 4, 32}, {1, 2, 4}, 16, 1},
     {"sm_75", {1, 4, 32}, {1, 3, 1}, 5, 1},
     {"sm_90", {1, 4, 32}, {1, 3, 2}, 16, 4}},
};
/* Tiles that one thread streams, by rank: lines and columns that it computes, rows. In rank 1 there are none. */
static const Stream streams_alone[3][STREAMS] = {
    {{.block = {1}, .chunk = 1}, {.block = {1}, .chunk = 1}, {.block = {1}, .chunk = 1}, {.block = {1}, .chunk = 1}},
    {{.block = {1, 13}, .chunk = 5},
     {.block = {1, 40}, .chunk = 3},
     {.block = {1, 26}, .chunk = 16},
     {.block = {1, 64}, .chunk = 7}},
    {{.block = {1, 7, 9}, .chunk = 5},
     {.block = {1, 16, 20}, .chunk = 2},
     {.block = {1, 19, 21}, .chunk = 8},
     {.block = {1, 32, 40}, .chunk = 4}},
};
/* Programs none of whose tiles can be streamed. */
static const char *const never_streamed[] = {"extremes", "inner", "rewritten", NULL};

/* One program's test: what was asked, and what came of it. messages holds the last messages of the library. */
typedef struct Test {
  const char *path;
  const Quirk *quirk;
  bool reduced, everything, verbose, beside;
  const char *only_device, *only_real;
  StcContext *context;
  char messages[MAX_MESSAGES];
  int planned, compared, illegal, failures, unstreamed, rank;
  int streamed[3];
  int by_T[3][9];
} Test;

/* Is one type alone tried, at the extents of both? With --beside it has its own, as where both are tried: the other
 * type has been tried by a run of its own. */
static bool is_alone(const Test *t) { return t->only_real && !t->beside; }

/* The values of all fields after each of the NSTEPS runs; data[s][f] is NULL for temp fields. */
typedef struct Trace {
  int nfields;
  StcFieldInfo field[MAX_FIELDS];
  char *data[NSTEPS][MAX_FIELDS];
} Trace;

/* The place of a device in Test.by_T. */
static int device_number(const char *device) { return device[0] == 's' ? 0 : device[0] == 'l' ? 1 : 2; }

/* Keeps message `m` in the Test `user`, to be shown with a failure. */
static void keep_message(void *user, const StcMessage *m) {
  Test *t = user;
  size_t n = strlen(t->messages);
  snprintf(t->messages + n, MAX_MESSAGES - n, "  %s:%d:%d: %s\n", m->file ? m->file : "-", m->line, m->column, m->text);
}

/* Counts a failure and prints it, the first few of a program only. */
static void fail(Test *t, const char *fmt, ...) {
  va_list ap;
  if (t->failures++ >= 5)
    return;
  va_start(ap, fmt);
  printf("FAIL %s: ", t->path);
  vprintf(fmt, ap);
  printf("\n%s", t->messages);
  va_end(ap);
}

/* The next number of a fixed sequence with state *s (xorshift*). */
static uint64_t next_random(uint64_t *s) {
  *s ^= *s >> 12;
  *s ^= *s << 25;
  *s ^= *s >> 27;
  return *s * UINT64_C(2685821657736338717);
}

/* Fills `n` values of type `type` at `data`: floats in [0.25, 0.75), integers of all sizes, bools. */
static void fill_random(StcType type, char *data, int64_t n, uint64_t *seed) {
  for (int64_t i = 0; i < n; i++) {
    uint64_t r = next_random(seed);
    float f = 0.25f + (float)(r >> 40) / 33554432.0f;
    double d = 0.25 + (double)(r >> 11) / 18014398509481984.0;
    uint32_t w = (uint32_t)(r >> 32);
    uint16_t h = (uint16_t)(type == STC_F16 ? 0x3400 + w % 0x600 : type == STC_BF16 ? 0x3e80 + w % 0xc0 : w);
    switch (type) {
    case STC_F32: memcpy(data + i * 4, &f, 4); break;
    case STC_F64: memcpy(data + i * 8, &d, 8); break;
    case STC_I64: memcpy(data + i * 8, &r, 8); break;
    case STC_U32:
    case STC_I32: memcpy(data + i * 4, &w, 4); break;
    case STC_I16:
    case STC_U16:
    case STC_F16:
    case STC_BF16: memcpy(data + i * 2, &h, 2); break;
    case STC_U8:
    case STC_I8: data[i] = (char)w; break;
    default: data[i] = (char)(r >> 63); break;
    }
  }
}

/* Number of values of a field. */
static int64_t field_points(const StcFieldInfo *f) {
  int64_t n = 1;
  for (int d = 0; d < f->rank; d++)
    n *= f->shape[d];
  return n;
}

/* Gives component `k` of field `f` random values. */
static StcStatus set_component(StcPlan *plan, int f, int k, uint64_t *seed) {
  StcFieldInfo info;
  StcStatus s = stc_plan_component(plan, f, k, &info);
  if (s != STC_OK)
    return s;
  char *data = malloc((size_t)info.bytes + 1);
  fill_random(info.type, data, field_points(&info), seed);
  s = stc_plan_set_component(plan, f, k, data, (size_t)info.bytes);
  free(data);
  return s;
}

/* Gives every field but temps random values, the same for every plan with equal shapes. */
static StcStatus set_fields(StcPlan *plan, const Trace *tr) {
  StcStatus s = STC_OK;
  for (int f = 0; f < tr->nfields; f++) {
    uint64_t seed = UINT64_C(88172645463325252) + (uint64_t)f;
    for (int k = 0; k < tr->field[f].ncomponents && !tr->field[f].temp && s == STC_OK; k++)
      s = set_component(plan, f, k, &seed);
  }
  return s;
}

/* Gives every launch-time array of `p` random values, coordinates random points. */
static StcStatus set_arrays(const StcProgram *p, StcPlan *plan) {
  StcStatus s = STC_OK;
  for (int i = 0; i < stc_program_array_count(p) && s == STC_OK; i++) {
    StcFieldInfo info;
    uint64_t seed = UINT64_C(362436069362436069) + (uint64_t)i;
    s = stc_plan_array(plan, i, &info);
    if (s != STC_OK)
      return s;
    char *data = malloc((size_t)info.bytes + 1);
    if (!plan_random_points(plan, i, seed, data))
      fill_random(info.type, data, field_points(&info), &seed);
    s = stc_plan_set_array(plan, i, data, (size_t)info.bytes);
    free(data);
  }
  return s;
}

/* The steps of run `i` of NSTEPS with tiles of `T`. Three tiles of T steps at least come one after the other in them,
 * so that three buffers have each been in each place. */
static int64_t steps_of_run(int T, int i) {
  const int64_t steps[NSTEPS] = {0, 1, T - 1, T, (T < 3 ? 3 : 2) * T + 1};
  return steps[i];
}

/* Runs the plan of `p` through the step counts of `T` and copies all fields into `tr` after each. mode 1 sets random
 * fields first. */
static StcStatus trace_plan(const StcProgram *p, StcPlan *plan, int T, int mode, Trace *tr) {
  StcStatus s = STC_OK;
  while (tr->nfields < stc_program_field_count(p) && tr->nfields < MAX_FIELDS && s == STC_OK) {
    s = stc_plan_field(plan, tr->nfields, &tr->field[tr->nfields]);
    tr->nfields++;
  }
  if (s == STC_OK && mode == 1)
    s = set_fields(plan, tr);
  if (s == STC_OK)
    s = set_arrays(p, plan);
  for (int i = 0; i < NSTEPS && s == STC_OK; i++) {
    s = stc_plan_run(plan, steps_of_run(T, i), NULL);
    for (int f = 0; f < tr->nfields && s == STC_OK; f++) {
      if (tr->field[f].temp)
        continue;
      tr->data[i][f] = calloc((size_t)tr->field[f].bytes + 1, 1);
      s = stc_plan_get(plan, f, tr->data[i][f], (size_t)tr->field[f].bytes);
    }
  }
  return s;
}

static void trace_free(Trace *tr) {
  for (int i = 0; i < NSTEPS; i++)
    for (int f = 0; f < MAX_FIELDS; f++)
      free(tr->data[i][f]);
  memset(tr, 0, sizeof *tr);
}

/* Value `i` of a field of float type as a double. */
static double float_at(StcType type, const char *data, int64_t i) {
  float f = 0;
  double d = 0;
  if (type == STC_F64) {
    memcpy(&d, data + i * 8, 8);
    return d;
  }
  memcpy(&f, data + i * 4, 4);
  return f;
}

/* Index of the first value of field `info` that differs between a and b by more than `allowed` units in the last place
 * of the largest value (0: at all; NaNs are alike), or -1. */
static int64_t first_difference(const StcFieldInfo *info, const char *a, const char *b, double allowed) {
  int64_t n = field_points(info), size = n ? info->bytes / n : 0;
  bool is_float = info->type == STC_F32 || info->type == STC_F64;
  double largest = 0, eps = info->type == STC_F64 ? 0x1p-52 : 0x1p-23;
  if (n == 0 || memcmp(a, b, (size_t)info->bytes) == 0)
    return -1;
  for (int64_t i = 0; i < n && is_float; i++)
    largest = fmax(largest, fabs(float_at(info->type, a, i)));
  for (int64_t i = 0; i < n; i++) {
    if (memcmp(a + i * size, b + i * size, (size_t)size) == 0)
      continue;
    if (!is_float)
      return i;
    double x = float_at(info->type, a, i), y = float_at(info->type, b, i);
    if (isnan(x) && isnan(y))
      continue;
    if (!(fabs(x - y) <= allowed * eps * largest))
      return i;
  }
  return -1;
}

/* Compares two traces made with `T`; `what` says which run it was. */
static void compare(Test *t, const char *what, int T, const Trace *ref, const Trace *got) {
  int64_t total = 0;
  for (int i = 0; i < NSTEPS; i++) {
    total += steps_of_run(T, i);
    for (int f = 0; f < ref->nfields; f++) {
      if (ref->field[f].temp)
        continue;
      double allowed = t->quirk->ulps * (double)(total + 1);
      int64_t at = first_difference(&ref->field[f], ref->data[i][f], got->data[i][f], allowed);
      if (at < 0)
        continue;
      double x = 0, y = 0;
      if (ref->field[f].type >= STC_F32) {
        x = float_at(ref->field[f].type, ref->data[i][f], at);
        y = float_at(ref->field[f].type, got->data[i][f], at);
      }
      fail(t, "%s: after %lld steps field %s differs at value %lld: ref %.17g, got %.17g", what, (long long)total,
           ref->field[f].name, (long long)at, x, y);
      return;
    }
  }
}

/* The defines "N=..", "M=..", "L=.." of extents e. Returns how many. */
static int make_defines(int rank, const int64_t *e, char text[3][32], const char *list[3]) {
  for (int d = 0; d < rank; d++) {
    snprintf(text[d], 32, "%c=%lld", "NML"[d], (long long)e[d]);
    list[d] = text[d];
  }
  return rank;
}

/* Does the status, with the messages kept, say that the schedule asked for is illegal for the program? */
static bool refused(const Test *t, StcStatus s) {
  bool schedule =
      strstr(t->messages, "legal") || strstr(t->messages, "share a launch") || strstr(t->messages, "go one a launch");
  return (s == STC_USAGE || s == STC_INPUT) && schedule;
}

/* Do the messages kept say that tiles of the program cannot be streamed as was asked? */
static bool stream_refused(const Test *t, StcStatus s) {
  bool known = strstr(t->messages, "schedule=overlap") || strstr(t->messages, "take fewer time steps") ||
               strstr(t->messages, "take a smaller ");
  return (s == STC_USAGE || s == STC_INPUT) && strstr(t->messages, "schedule=stream: ") && known;
}

/* Is extent list entry e large enough for the program, and among those wanted in a reduced run? */
static bool extents_wanted(const Test *t, int rank, int i) {
  for (int d = 0; d < rank; d++)
    if (extents[rank - 1][i][d] < t->quirk->min)
      return false;
  return t->everything || (t->reduced ? i == 0 || i == 3 || i == 5 : i < (rank == 3 ? 6 : 7));
}

/* One program compiled, on one device with one extent: plans, runs and compares with `ref`. `what` describes it. */
static void run_one(Test *t, StcProgram *p, const char *device, const char *what, int T, int mode, const int64_t *e,
                    const Trace *ref) {
  char text[3][32];
  const char *list[3];
  char full[512];
  StcPlan *plan = NULL;
  Trace got = {0};
  int rank = stc_program_rank(p), n = make_defines(rank, e, text, list);
  snprintf(full, sizeof full, "%s extents %lldx%lldx%lld %s", what, (long long)e[0], (long long)(rank > 1 ? e[1] : 1),
           (long long)(rank > 2 ? e[2] : 1), mode ? "random" : "init");
  t->messages[0] = 0;
  t->planned++;
  StcStatus s = stc_plan_new(p, device[0] == 'l' ? "sim" : device, n, list, &plan);
  if (stream_refused(t, s)) {
    t->planned--;
    t->unstreamed++;
    return;
  }
  if (refused(t, s)) {
    t->illegal++;
    return;
  }
  if (s == STC_OK)
    s = trace_plan(p, plan, T, mode, &got);
  if (s != STC_OK)
    fail(t, "%s: status %d", full, (int)s);
  else {
    compare(t, full, T, ref, &got);
    t->compared++;
    t->streamed[device_number(device)] += strstr(what, " stream ") != NULL;
    t->by_T[device_number(device)][T]++;
  }
  stc_plan_free(plan);
  trace_free(&got);
}

/* Is a schedule run at every other extent only? Where tiles are streamed or long, and all that is run on the simulator,
 * which takes longest. */
static bool skips_extents(const StcOptions *o, const char *device, int T) {
  return o->schedule[0] == 's' || T >= 5 || device[0] == 's';
}

/* Is such a schedule run at extent `i`? Tiles that are streamed by turns; others at some extents in f32, at the others
 * in f64; of tiles of 5 steps at half of them, of 8 at the other half, and again at some of these in f32 on the
 * simulator, at the others in f64. Of the few extents of a reduced run the simulator has one. */
static bool extent_wanted(const Test *t, const StcOptions *o, const char *device, int T, int turn, int i) {
  bool wide = strcmp(o->real, "f64") == 0;
  if (t->reduced)
    return device[0] != 's' || i == (t->quirk->min > 5 ? 5 : 3);
  if (o->schedule[0] == 's')
    return (i + turn) % 2 == 0;
  if (T < 5)
    return (i + turn + (wide && !is_alone(t))) % 2 == 0;
  return (i + T) % 2 == 0 && (device[0] != 's' || is_alone(t) || i / 2 % 2 == wide);
}

/* One schedule on one device at all extents (in 3-D with T > 2 the simulator leaves the largest ones to --long), or at
 * `only` alone if that is not negative; refs[mode][i] are the reference's traces (nfields 0: extent not wanted). `turn`
 * picks the mode by extent, and where not all are run at, which are. */
static void run_extents(Test *t, const StcOptions *o, const char *device, int T, int turn, int only, int rank,
                        Trace refs[MODES][MAX_EXTENTS]) {
  char what[256];
  bool skips = skips_extents(o, device, T);
  StcProgram *p = NULL;
  snprintf(what, sizeof what, "%s -O%d %s %s T=%d fuse %s block %dx%dx%d elems %dx%dx%d", device,
           o->opt_level ? o->opt_level - 1 : 3, o->real, o->schedule, T, o->fuse ? o->fuse : "auto", o->block[0],
           o->block[1], o->block[2], o->elems[0], o->elems[1], o->elems[2]);
  t->messages[0] = 0;
  StcStatus s = stc_compile_file(t->context, t->path, o, &p);
  if (t->verbose)
    printf("%s: status %d\n%s", what, (int)s, t->messages);
  if (refused(t, s)) {
    t->illegal++;
    t->planned++;
    return;
  }
  if (s != STC_OK) {
    fail(t, "%s: compiling gives status %d", what, (int)s);
    return;
  }
  for (int i = 0; i < MAX_EXTENTS; i++) {
    int mode = (skips ? (i + turn) / 2 : i + turn) % MODES;
    if (only < 0 && skips && !t->everything && !extent_wanted(t, o, device, T, turn, i))
      continue;
    bool wanted = only < 0 ? t->everything || rank < 3 || i < 5 || device[0] != 's' || T <= 2 : only == i;
    if (refs[mode][i].nfields && wanted)
      run_one(t, p, device, what, T, mode, extents[rank - 1][i], &refs[mode][i]);
  }
  stc_program_free(p);
}

/* One schedule on one device at all extents. The host's code is made without optimisation there; with all optimisation,
 * which takes long, at one extent for some schedules (`optimised`). */
static void run_schedule(Test *t, StcOptions *o, const char *device, int T, int turn, bool optimised, int rank,
                         Trace refs[MODES][MAX_EXTENTS]) {
  enum { MIDDLE = 5 };
  if (device[0] == 'h')
    o->opt_level = 1;
  run_extents(t, o, device, T, turn, -1, rank, refs);
  o->opt_level = 0;
  if (device[0] == 'h' && (t->everything || (optimised && !t->reduced)))
    run_extents(t, o, device, T, turn, t->everything ? -1 : MIDDLE, rank, refs);
}

/* Options for schedule `family` with T and shape `s` (NULL: stc's own choice) on `device`. */
static StcOptions options_for(const char *device, const char *real, const char *family, int T, const Shape *s) {
  StcOptions o = {.real = real, .schedule = family, .no_contract = true, .verify_each = true};
  bool threads = device[0] == 's';
  o.march = threads ? "nvptx" : "host";
  if (family[0] == 'n')
    return o;
  o.T = T;
  for (int d = 0; d < 3 && s; d++) {
    o.block[d] = threads ? s->block[d] : s->block[d] * s->elems[d];
    o.elems[d] = threads ? s->elems[d] : 0;
  }
  return o;
}

/* Is it the program at `path`? */
static bool is_program(const char *program, const char *path) {
  const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  return strncmp(program, base, strlen(program)) == 0 && strcmp(base + strlen(program), ".stn") == 0;
}

/* Single steps cut into launches, with a shape of tile for each cut, and with stc's own. */
static void run_cuts(Test *t, const char *device, const char *real, int rank, Trace refs[MODES][MAX_EXTENTS]) {
  const Cuts *row = cuts;
  while (row->program && !is_program(row->program, t->path))
    row++;
  for (int c = -1; c < 0 || row->cuts[c]; c++) {
    StcOptions o = options_for(device, real, "overlap", 1, c % 2 ? &shapes[rank - 1][(c + 1) % 5] : NULL);
    o.fuse = c < 0 ? "none" : row->cuts[c];
    run_schedule(t, &o, device, 1, c + 1, c == 0, rank, refs);
  }
}

/* Tiles that are streamed, of T steps, and for T = 1 also with a launch for each stencil; at few extents in a short
 * run.
 */
static void run_streams(Test *t, const char *device, const char *real, int k, int rank,
                        Trace refs[MODES][MAX_EXTENTS]) {
  bool threads = device[0] == 's';
  for (int i = 0; i < STREAMS && k < STREAMS; i++) {
    const Stream *w = threads ? &streams[rank - 1][i] : &streams_alone[rank - 1][i];
    if (!t->everything && i != (k + (real[1] == '6')) % STREAMS)
      continue;
    Shape s = {{w->block[0], w->block[1], w->block[2]}, {w->elems[0], w->elems[1], w->elems[2]}};
    StcOptions o = options_for(device, real, "stream", tiles[k], threads ? &s : NULL);
    for (int d = 0; d < 3; d++)
      o.block[d] = w->block[d];
    o.mcpu = w->cpu;
    o.chunk = w->chunk;
    o.ahead = w->ahead;
    o.edges = "apart";
    run_schedule(t, &o, device, tiles[k], i, false, rank, refs);
    if (k > 0)
      continue;
    o.fuse = "none";
    run_schedule(t, &o, device, 1, i + 1, false, rank, refs);
  }
}

/* Is shape `s` tried with tiles[k] on `device`? One in f32, the next in f64; the long tiles of 5 and 8 steps need the
 * larger shapes. Kernels of loops do not depend on the type in their form: of their shapes half are tried in f32, the
 * others in f64. */
static bool shape_wanted(const Test *t, const char *device, bool wide, int k, int s) {
  static const int of_tile[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 2}, {2, 1}};
  if (t->everything)
    return true;
  return s == of_tile[k][wide] || (device[0] == 'l' && s % 2 == (k + wide) % 2);
}

/* All schedules with time tile `T` in type `real` on `device`. With all optimisation the host runs single steps and
 * tiles of 3 in f32, of 2 in f64. */
static void run_device(Test *t, const char *device, const char *real, int k, int rank, Trace refs[MODES][MAX_EXTENTS]) {
  int T = tiles[k];
  bool wide = real[1] == '6';
  StcOptions o;
  if (t->only_device && strcmp(t->only_device, device) != 0)
    return;
  if (T == 1) {
    o = options_for(device, real, "naive", 1, NULL);
    run_schedule(t, &o, device, 1, 0, !wide, rank, refs);
    run_cuts(t, device, real, rank, refs);
  }
  if (T <= 2 || t->everything) {
    o = options_for(device, real, "overlap", T, NULL);
    run_schedule(t, &o, device, T, 1, T == 2 && wide, rank, refs);
  }
  for (int s = 0; s < 5; s++) {
    if (!shape_wanted(t, device, wide, k, s))
      continue;
    o = options_for(device, real, "overlap", T, &shapes[rank - 1][s]);
    o.edges = s % 2 ? "along" : "apart";
    run_schedule(t, &o, device, T, s, T == 3 && !wide, rank, refs);
  }
  run_streams(t, device, real, k, rank, refs);
}

/* The reference's traces for T at all wanted extents. False after a failure. */
static bool make_references(Test *t, const char *real, int T, int *rank, Trace refs[MODES][MAX_EXTENTS]) {
  StcOptions o = {.real = real, .no_contract = true};
  StcProgram *p = NULL;
  StcStatus s = stc_compile_file(t->context, t->path, &o, &p);
  if (s != STC_OK) {
    fail(t, "compiling for the reference gives status %d", (int)s);
    return false;
  }
  *rank = stc_program_rank(p);
  for (int i = 0; i < MAX_EXTENTS; i++)
    for (int mode = 0; mode < MODES && extents_wanted(t, *rank, i); mode++) {
      char text[3][32];
      const char *list[3];
      StcPlan *plan = NULL;
      int n = make_defines(*rank, extents[*rank - 1][i], text, list);
      s = stc_plan_new(p, "ref", n, list, &plan);
      if (s == STC_OK)
        s = trace_plan(p, plan, T, mode, &refs[mode][i]);
      if (s != STC_OK)
        fail(t, "reference, extent %d: status %d", i, (int)s);
      stc_plan_free(plan);
      if (s != STC_OK)
        return false;
    }
  stc_program_free(p);
  return true;
}

/* How many of the table `tiles` are tried in type `real`: where reductions end a tile sooner, larger ones have the
 * kernels of a smaller one; the first of these is tried in f32, or in the only type. */
static int count_tiles(const Test *t, const char *real) {
  int n = t->reduced ? 3 : 5, every = t->quirk->every, k = 0;
  while (k < n && every && tiles[k] <= every)
    k++;
  return !every || t->everything ? n : k < n && (is_alone(t) || real[1] == '3') ? k + 1 : k;
}

/* Everything about type `real`. */
static void run_real(Test *t, const char *real) {
  int n = count_tiles(t, real);
  if (t->only_real && strcmp(t->only_real, real) != 0)
    return;
  for (int k = 0; k < n; k++) {
    Trace refs[MODES][MAX_EXTENTS] = {0};
    int rank = 0;
    if (make_references(t, real, tiles[k], &rank, refs)) {
      t->rank = rank;
      run_device(t, "sim", real, k, rank, refs);
      run_device(t, "loops", real, k, rank, refs);
      run_device(t, "host", real, k, rank, refs);
    }
    for (int m = 0; m < MODES; m++)
      for (int i = 0; i < MAX_EXTENTS; i++)
        trace_free(&refs[m][i]);
  }
}

/* should tiles of the program be streamed in some of the schedules that run on device number `device`? One thread
 * streams in two dimensions or three. */
static bool should_stream(const Test *t, int device) {
  bool should = (!t->only_device || device_number(t->only_device) == device) && (device == 0 || t->rank > 1);
  for (int i = 0; never_streamed[i]; i++)
    should = should && !is_program(never_streamed[i], t->path);
  return should;
}

/* Says what was done; false if too little was (of one type alone: tiles streamed do not count). */
static bool report(Test *t) {
  bool enough = t->compared > 0 && 2 * t->compared >= t->planned;
  int levels = t->only_real && t->only_real[1] == '6' ? 1 : t->quirk->levels;
  for (int device = 0; device < 3; device++)
    enough = enough && (is_alone(t) || (t->streamed[device] > 0) == should_stream(t, device));
  for (int device = 0; device < 3; device++)
    for (int T = 1; T <= levels; T++) {
      bool wanted = t->only_device ? device_number(t->only_device) == device : true;
      if (wanted && !t->by_T[device][T])
        enough = false;
    }
  printf("%s: %d runs planned, %d compared, %d refused as illegal, %d failures; %d runs with tiles streamed, %d whose "
         "tiles cannot be\n",
         t->path, t->planned, t->compared, t->illegal, t->failures, t->streamed[0] + t->streamed[1] + t->streamed[2],
         t->unstreamed);
  if (!enough)
    printf("FAIL %s: too few runs were compared\n%s", t->path, t->messages);
  return enough && t->failures == 0;
}

/* The row of `quirks` for the program at `path`. */
static const Quirk *find_quirk(const char *path) {
  const Quirk *q = quirks;
  while (q->program && !is_program(q->program, path))
    q++;
  return q;
}

int main(int argc, char **argv) {
  Test t = {0};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--beside") == 0)
      t.beside = true;
    else if (strcmp(argv[i], "--reduced") == 0)
      t.reduced = true;
    else if (strcmp(argv[i], "--long") == 0)
      t.everything = true;
    else if (strcmp(argv[i], "-v") == 0)
      t.verbose = true;
    else if (strncmp(argv[i], "--device=", 9) == 0)
      t.only_device = argv[i] + 9;
    else if (strncmp(argv[i], "--real=", 7) == 0)
      t.only_real = argv[i] + 7;
    else
      t.path = argv[i];
  }
  if (!t.path) {
    fprintf(stderr, "usage: matrix [--reduced|--long] [--device=sim|loops|host] [--real=f32|f64] [-v] FILE.stn\n");
    return 2;
  }
  StcConfig config = {.message = keep_message, .user = &t};
  t.quirk = find_quirk(t.path);
  t.context = stc_context_new(&config);
  run_real(&t, "f32");
  run_real(&t, "f64");
  bool ok = report(&t);
  stc_context_free(t.context);
  return ok ? 0 : 1;
}
