/* driver/tune/trial.c: a program under one schedule on a device: compiled, verified against the reference, and timed.
 * */
#include "driver/data/data.h"
#include "driver/files/files.h"
#include "driver/tune/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- opening */

StcStatus trial_open(Trial *t, Subject *s, const char *device, const char *schedule) {
  *t = (Trial){.subject = s, .device = device, .asked = arena_strdup(s->arena, schedule), .options = s->options};
  t->options.no_cache = true;
  StcConfig config = messages_config(&t->messages);
  t->context = context_of_command(&config);
  if (t->context)
    t->context->stop = t->context->run_stop = s->stop;
  snprintf(t->schedule, sizeof t->schedule, "%s", schedule);
  return t->context ? options_add(t->context, s->arena, schedule, &t->options) : STC_MEMORY;
}

void trial_close(Trial *t) {
  if (t->plan)
    stc_plan_free(t->plan);
  if (t->program)
    stc_program_free(t->program);
  if (t->context)
    stc_context_free(t->context);
  *t = (Trial){0};
}

/* Writes the description of a schedule, "overlap T=4 block=8x32 elems=4x1", to `to` as options. Leaves out what options
 * cannot express (a block for each of several launches); then returns false. */
static bool write_options(const char *text, char *to, size_t size) {
  size_t n = 0;
  bool all = true;
  for (const char *s = text; *s && n < size; s += strspn(s, " ")) {
    int length = (int)strcspn(s, " ");
    bool several = s != text && memchr(s, ',', (size_t)length) && strncmp(s, "fuse=", 5) != 0;
    if (!several)
      n += (size_t)snprintf(to + n, size - n, "%s%s%.*s", s == text ? "" : " -", s == text ? "-schedule=" : "", length,
                            s);
    all = all && !several;
    s += length;
  }
  return all;
}

/* Sets the trial's schedule from its description; if options cannot express what the description says of each launch,
 * to the requested schedule. */
static void describe(Trial *t, const char *text) {
  if (!write_options(text, t->schedule, sizeof t->schedule) &&
      (strstr(t->asked, "-block") || strstr(t->asked, "-elems")))
    snprintf(t->schedule, sizeof t->schedule, "%s", t->asked);
}

/* Facts about the kernel that takes most of a step's time, approximately: among the kernels launched to advance, the
 * one with most registers, except kernels for a few tiles that run beside another one. */
static KernelInfo inspect(const Trial *t) {
  Device *d = &t->plan->device;
  KernelInfo most = {0};
  if (!t->plan->build || !d->kind->inspect)
    return most;
  const Host *h = &t->plan->build->code.module->host;
  for (int i = 0; h->nseqs && i < h->seqs[0].nops; i++) {
    KernelInfo k = {0};
    if (i + 1 < h->seqs[0].nops && h->seqs[0].ops[i + 1].beside)
      continue;
    if (h->seqs[0].ops[i].kind == HOST_LAUNCH && d->kind->inspect(d, h->seqs[0].ops[i].a, &k) &&
        k.registers > most.registers)
      most = k;
  }
  return most;
}

/* Does the program have the requested family of schedules, if one was requested? */
static StcStatus check_family(const Trial *t) {
  FamilyId asked = family_find(t->options.schedule), got = t->build ? t->build->code.schedule.family : FAMILY_NONE;
  if (asked <= FAMILY_AUTO || !got || asked == got)
    return STC_OK;
  return context_error(t->context, "the program gets the schedule %s in its place", family_name(got)), STC_USAGE;
}

/* Reads the program, if it is not read yet. */
static StcStatus read_program(Trial *t) {
  return t->program ? STC_OK
                    : stc_compile_string(t->context, t->subject->name, t->subject->text, &t->options, &t->program);
}

/* Counts an op. */
static void count_op(void *user, Op *op) { (void)op, ++*(int *)user; }

/* Writes the description of the build's schedule to the program's memory, and counts the ops. */
static StcStatus describe_guarded(void *arg) {
  Trial *t = arg;
  const Module *m = t->build->code.module;
  t->ops = 0;
  for (int i = 0; i < m->nkernels; i++)
    block_walk(m->kernels[i].body, count_op, &t->ops);
  describe(t, schedule_describe(t->program->w.arena, m, &t->build->code.schedule));
  if (t->build->code.schedule.family)
    t->text = plan_text(t->program->w.arena, &t->build->code.schedule, m->grid.rank);
  return STC_OK;
}

/* Returns the status `s` of compiling; if it was interrupted, which no message tells yet, adds one. */
static StcStatus note_end(Trial *t, StcStatus s) {
  if (s == STC_INTERRUPTED && !t->messages.first[0])
    snprintf(t->messages.first, sizeof t->messages.first, "stopped");
  return s;
}

StcStatus trial_lower(Trial *t, const Device *d, GridSize g) {
  double start = clock_seconds();
  StcStatus s = read_program(t);
  if (!s)
    s = program_build(t->program, d, false, 0, NULL, &t->build);
  if (!s)
    s = check_family(t);
  if (!s)
    s = workspace_guard(&t->program->w, describe_guarded, t);
  if (!s)
    build_expect(t->program, t->build, d, g.n, g.defines, &t->expected);
  t->cost.lower = clock_seconds() - start;
  return note_end(t, s);
}

bool trial_is_long(const Trial *t) { return t->ops > LONGEST_CODE; }

StcStatus trial_prepare(Trial *t) {
  double start = clock_seconds();
  bool lowered = t->build != NULL;
  StcStatus s = read_program(t);
  if (!s)
    s = plan_prepare(t->program, t->device, 0, NULL, &t->plan);
  if (s)
    return note_end(t, s);
  t->build = t->plan->build;
  describe(t, stc_plan_schedule(t->plan));
  t->kernel = inspect(t);
  if (!lowered)
    t->cost.lower = t->build ? t->build->code.seconds : 0;
  t->cost.load = t->plan->device.load_seconds;
  t->cost.code = clock_seconds() - start - t->cost.load - (lowered ? 0 : t->cost.lower);
  return check_family(t);
}

/* The arguments of trial_prepare_by's guarded function. */
typedef struct AssembleArgs {
  Trial *t;
  const char *tool;
  double until;
} AssembleArgs;

/* Replaces the build's PTX by the code that the assembler makes of it. */
static StcStatus assemble_guarded(void *arg) {
  AssembleArgs *a = arg;
  Build *b = a->t->build;
  char *code;
  size_t size;
  double start = clock_seconds();
  StcStatus s =
      assemble(&a->t->program->w, a->tool, target_info(b->code.target)->cpu, b->bytes, b->size, a->until, &code, &size);
  a->t->cost.assemble = clock_seconds() - start;
  if (s)
    return s;
  b->bytes = code;
  b->size = size;
  return STC_OK;
}

StcStatus trial_prepare_by(Trial *t, const char *tool, double until, bool *refused) {
  double start = clock_seconds();
  AssembleArgs args = {t, tool, until};
  Build *b = t->build;
  StcStatus s = build_artifact(t->program, b);
  char *ptx = b->bytes;
  size_t size = b->size;
  double code = clock_seconds() - start;
  if (!s)
    s = workspace_guard(&t->program->w, assemble_guarded, &args);
  if (s == STC_INTERRUPTED)
    return note_end(t, s);
  bool assembled = s == STC_OK;
  s = trial_prepare(t);
  if (assembled && !t->plan) {
    b->bytes = ptx;
    b->size = size;
    t->messages.first[0] = 0;
    s = trial_prepare(t);
  }
  *refused = !s && b->bytes == ptx;
  t->cost.code += code;
  return s;
}

/* ---------------------------------------------------------------- verifying */

/* The number of steps of the longest sequence of kernels. */
static int64_t tile_steps(const Trial *t) {
  const Host *h = t->build ? &t->build->code.module->host : NULL;
  return h && h->nseqs && h->seqs[0].steps > 0 ? h->seqs[0].steps : 1;
}

/* Relative errors above this are never tolerated. */
static const double MOST_ERROR = 0.05;

/* The largest error that rounding may cause against `want`, as every step rounds. */
static double sensitivity(Trial *t, Wanted *want) { return 32 * subject_sensitivity(t->subject, want); }

/* The tolerance for a field of type `type` whose error is `error`: the default one, or if that is too small and the
 * program magnifies rounding errors, one as large as the magnified errors. */
static double tolerance(Trial *t, Wanted *want, StcType type, double error) {
  double limit = default_tolerance(type, stc_program_is_exact(t->program));
  if (error <= limit || limit == 0)
    return limit;
  double sensitive = sensitivity(t, want);
  return sensitive < limit ? limit : sensitive < MOST_ERROR ? sensitive : MOST_ERROR;
}

/* Compares component `c` of field `f` with the reference's bytes from offset `at`. *bytes is set to its size. */
static StcStatus compare(Trial *t, int f, int c, Wanted *want, size_t at, size_t *bytes) {
  StcFieldInfo info;
  StcStatus s = stc_plan_component(t->plan, f, c, &info);
  *bytes = 0;
  if (s || info.temp || info.input)
    return s;
  *bytes = (size_t)info.bytes;
  char *got = malloc(*bytes + 1);
  if (!got)
    return context_error(t->context, "no memory on this computer for %s of %zu bytes", info.name, *bytes), STC_MEMORY;
  s = stc_plan_get_component(t->plan, f, c, got, *bytes);
  FieldError e = s ? (FieldError){0} : field_compare(&info, got, want->data + at);
  double limit = tolerance(t, want, info.type, e.error);
  free(got);
  if (!s && e.error > t->check_error)
    t->check_error = e.error;
  if (!s && !(e.error <= limit))
    s = (context_error(t->context,
                       "wrong result: %s is %.9g where the reference has %.9g, relative error %.2g, tolerance %.2g",
                       info.name, e.got, e.want, e.error, limit),
         STC_CHECK_FAILED);
  return s;
}

/* Compares all fields with the known results on check grid `grid` after `steps` steps; *want is NULL if there are none.
 */
static StcStatus compare_all(Trial *t, int grid, int64_t steps, Wanted **want) {
  size_t at = 0, bytes;
  StcStatus s = STC_OK;
  *want = subject_reference(t->subject, grid, steps);
  if (!*want) {
    const Trial *peer = grid < REFERENCE_GRIDS ? NULL : t->subject->peer;
    return context_error(t->context, "the reference fails: %s",
                         peer ? peer->messages.first : t->subject->messages.first),
           STC_INPUT;
  }
  for (int f = 0; f < t->program->ndeclared && !s; f++)
    for (int c = 0; c < t->program->declared[f].ncomponents && !s; c++) {
      s = compare(t, f, c, *want, at, &bytes);
      at += bytes;
    }
  return s;
}

/* Runs check grid `grid` for `steps` steps. If rounding alone can change the reference's results arbitrarily, the
 * peer's are used. */
static StcStatus verify_grid(Trial *t, int grid, int64_t steps) {
  GridSize g = t->subject->checks[grid];
  Wanted *want;
  double error = t->check_error;
  StcStatus s = plan_reset(t->plan, g.n, g.defines);
  if (!s)
    s = plan_randomize(t->plan, CHECK_SEED);
  stc_plan_progress(t->plan, subject_go_on, t->subject);
  if (!s)
    s = stc_plan_run(t->plan, steps, NULL);
  stc_plan_progress(t->plan, NULL, NULL);
  if (!s)
    s = compare_all(t, grid, steps, &want);
  if (s != STC_CHECK_FAILED || grid >= REFERENCE_GRIDS || !t->subject->peer || sensitivity(t, want) < MOST_ERROR)
    return s;
  t->messages.first[0] = 0;
  t->check_error = error;
  return compare_all(t, grid + CHECK_GRIDS, steps, &want);
}

/* The numbers of steps are such that the odd grid makes two time tiles and a remainder, the other one time tile and a
 * remainder; they have few different values, so that references can be shared. */
StcStatus trial_verify(Trial *t) {
  double start = clock_seconds();
  int64_t steps = 4;
  while (steps < tile_steps(t))
    steps *= 2;
  StcStatus s = verify_grid(t, 0, 2 * steps + 1);
  if (!s)
    s = verify_grid(t, 1, steps + 1);
  if (!s && t->subject->peer)
    s = verify_grid(t, 2, steps + 1);
  t->cost.verify += clock_seconds() - start;
  return s;
}

void subject_add_peer(Subject *s, const char *device) {
  if (s->peer)
    return;
  Trial *t = ARENA_NEW(s->arena, Trial);
  StcStatus st = trial_open(t, s, device, "-schedule=naive");
  if (!st)
    st = trial_prepare(t);
  if (!st)
    st = trial_verify(t);
  if (!st)
    s->peer = t;
  else
    trial_close(t);
}

void subject_drop_peer(Subject *s) {
  if (s->peer)
    trial_close(s->peer);
  s->peer = NULL;
}

/* ---------------------------------------------------------------- timing */

/* Runs `steps` steps and measures their time. */
static StcStatus time_steps(Trial *t, int64_t steps, StcRunInfo *info) {
  StcStatus s = stc_plan_run(t->plan, steps, info);
  if (!s && info->steps < 1)
    s = (context_error(t->context, "the program's `until` ended the run before its first step"), STC_INPUT);
  return s;
}

StcStatus trial_start(Trial *t, GridSize g, double seconds) {
  StcRunInfo info;
  int64_t tile = tile_steps(t);
  double start = clock_seconds();
  StcStatus s = plan_reset(t->plan, g.n, g.defines);
  if (!s)
    s = plan_randomize(t->plan, TIME_SEED);
  if (!s)
    s = time_steps(t, tile, &info);
  t->steps = tile;
  for (int i = 0; i < 6 && !s; i++) {
    s = time_steps(t, t->steps, &info);
    if (s || info.seconds > seconds / 3 || t->steps > 10000000)
      break;
    double more = info.seconds > 0 ? seconds / 2 / info.seconds : 100;
    t->steps *= more > 100 ? 100 : more < 2 ? 2 : (int64_t)more;
  }
  t->cost.time += clock_seconds() - start;
  if (s)
    return s;
  t->rough = info.gpts;
  double one = info.seconds / (double)(info.steps > 0 ? info.steps : 1);
  int64_t tiles = one > 0 ? (int64_t)(seconds / one / (double)tile) : 1;
  t->steps = tile * (tiles > 1 ? tiles : 1);
  return STC_OK;
}

StcStatus trial_sample(Trial *t, double *gpts) {
  StcRunInfo info;
  double start = clock_seconds();
  StcStatus s = plan_randomize(t->plan, TIME_SEED);
  if (!s)
    s = time_steps(t, t->steps, &info);
  t->cost.time += clock_seconds() - start;
  *gpts = s ? 0 : info.gpts;
  return s;
}

/* Checks the first elements of a component of a field that steps change: are all finite? */
static StcStatus check_finite(Trial *t, int f, int c, bool *finite) {
  enum { MOST = 1 << 23 };
  StcPlan *p = t->plan;
  Home h = p->bound.homes[f];
  StcFieldInfo info;
  StcStatus s = stc_plan_component(p, f, c, &info);
  if (s || info.temp || h.packed || !type_is_float((Type)info.type))
    return s;
  if (info.bytes > MOST)
    info.bytes = MOST;
  void *data = malloc((size_t)info.bytes + 1);
  if (!data)
    return STC_MEMORY;
  const Slot *slot = field_slot(p, h.field + c);
  s = p->device.kind->fetch(&p->device, data, slot->memory, (size_t)info.bytes);
  for (int64_t i = 0; i < info.bytes / type_size((Type)info.type) && !s; i++)
    *finite &=
        slot_is_padding(slot, (size_t)(i * type_size((Type)info.type))) || isfinite(field_value(&info, data, i)) != 0;
  free(data);
  return s;
}

StcStatus trial_finite(Trial *t, bool *finite) {
  StcStatus s = STC_OK;
  *finite = true;
  for (int f = 0; f < t->program->ndeclared; f++)
    for (int c = 0; c < t->program->declared[f].ncomponents && !s; c++)
      s = check_finite(t, f, c, finite);
  return s;
}

void trial_stop(Trial *t) { plan_release(t->plan); }

/* ---------------------------------------------------------------- the device */

bool device_works(Device *d) {
  Messages ignored = {""};
  StcConfig config = messages_config(&ignored);
  Workspace quiet, *own = d->w;
  StcContext *c = context_of_command(&config);
  if (!c || !workspace_open(&quiet, c, NULL))
    return stc_context_free(c), true;
  d->w = &quiet;
  bool works = d->kind->wait(d) == STC_OK;
  d->w = own;
  workspace_close(&quiet);
  stc_context_free(c);
  return works;
}

/* ---------------------------------------------------------------- copying */

/* Orders two doubles. */
static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double median(double *v, int n) {
  qsort(v, (size_t)n, sizeof *v, compare_doubles);
  return n == 0 ? 0 : n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Copies `bytes` bytes from `a` to `b` several times; measures the seconds of one copy. */
static StcStatus time_copies(Device *d, void *a, void *b, size_t bytes, int copies, double *seconds) {
  StcStatus s = d->kind->start(d);
  for (int i = 0; i < copies && !s; i++)
    s = d->kind->copy(d, b, a, bytes);
  if (!s)
    s = d->kind->stop(d, seconds);
  *seconds /= copies;
  return s;
}

StcStatus device_copy_rate(StcPlan *plan, size_t bytes, double *rate) {
  enum { RATES = 5, COPIES = 8, CHUNK = 1 << 20 };
  Device *d = &plan->device;
  void *a = NULL, *b = NULL;
  double rates[RATES], seconds;
  *rate = 0;
  if (d->kind->whole)
    return STC_OK;
  StcFieldInfo chunk = {.name = "copy", .type = STC_F32, .bytes = CHUNK};
  void *data = malloc(CHUNK);
  StcStatus s = data ? device_alloc(d, "copying", bytes, 0, &a) : STC_MEMORY;
  if (!s)
    s = device_alloc(d, "copying", bytes, 0, &b);
  if (!s)
    random_fill(&chunk, 1, data);
  for (size_t at = 0; at + CHUNK <= bytes && !s; at += CHUNK)
    s = at ? d->kind->copy(d, (char *)a + at, a, CHUNK) : d->kind->put(d, a, data, CHUNK);
  if (!s)
    s = time_copies(d, a, b, bytes, 1, &seconds);
  for (int i = 0; i < RATES && !s; i++) {
    s = time_copies(d, a, b, bytes, COPIES, &seconds);
    rates[i] = seconds > 0 ? 2e-9 * (double)bytes / seconds : 0;
  }
  if (a)
    d->kind->release(d, a, bytes);
  if (b)
    d->kind->release(d, b, bytes);
  free(data);
  if (!s)
    *rate = median(rates, RATES);
  return s;
}
