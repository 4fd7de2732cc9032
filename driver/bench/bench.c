/* driver/bench/bench.c: `stc bench`: measures the bench programs on a device with each family of schedules, in one
 * process, interleaved, and compares them with the speed of copying. */
#include "driver/bench/bench.h"
#include "driver/cli/used/used.h"
#include "driver/files/files.h"
#include "driver/tune/tune.h"
#include "passes/plan/asked.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The families are those of the table, in its order: trial number i has family FIRST + i. A family that a program or a
 * build of stc does not support is left out, with the reason. */
enum { FIRST = FAMILY_AUTO + 1, CONTESTED = FAMILIES - FIRST, SAMPLES = 5, QUICK_SAMPLES = 3 };

/* The state of a run. `device` stays open so that the driver keeps its data. */
typedef struct Bench {
  const Command *c;
  const Stop *stop;
  Workspace w;
  Device device;
  BenchSet set;
  BenchReport report;
  double start;
  int wrong; /* configurations that computed wrong results */
} Bench;

/* Is the time of --seconds over? */
static bool out_of_time(const Bench *b) {
  return b->c->seconds > 0 && clock_seconds() - b->start > (double)b->c->seconds;
}

/* The seconds that a sample should take. */
static double sample_seconds(const Bench *b) { return b->c->quick ? 0.02 : 0.06; }

/* Prints on a terminal what is being done. */
static void say(const Bench *b, const char *what, const char *name, const char *type, const char *size) {
  if (!b->c->quiet && isatty(STDERR_FILENO))
    fprintf(stderr, "\r%-79s\r%s %s %s %s", "", what, name, type, size);
  fflush(stderr);
}

/* Adds a row and prints it. */
static void add_row(Bench *b, const BenchRow *r) {
  say(b, "", "", "", "");
  hold_begin();
  ARENA_PUSH(b->w.arena, b->report.rows, b->report.nrows, *r);
  bench_print_row(stdout, &b->report, r);
  hold_end();
}

/* Writes the rows of a bench that was stopped. */
static void keep_rows(void *user) {
  Bench *b = user;
  say(b, "", "", "", "");
  bench_print_summary(stdout, &b->report);
  if (b->c->json && b->report.nrows)
    bench_write_json(b->c, &b->report, b->c->json);
}

/* Opens the device. */
static StcStatus open_device(Bench *b) {
  const char *name = b->c->device ? b->c->device : "host";
  if (strcmp(name, "ref") == 0)
    return context_error(b->c->context,
                         "--device=ref: the reference has no schedules to compare; take host, cuda or hip"),
           STC_USAGE;
  StcStatus s = device_open(&b->w, name, &b->device);
  if (s)
    b->device = (Device){0};
  b->report.device = s ? NULL : b->device.description;
  return s;
}

/* ---------------------------------------------------------------- one program of one type */

/* A program of a type with a trial for each schedule: those of the families, of --also, and last the one that a tuner
 * has found for the current size. schedule: options; out: the trial has failed; fresh: it must be compiled and
 * verified; samples: those of the current size; tuned: the schedules found, by size; chosen: the number of the trial
 * with stc's default schedule for the current size, -1: none. */
typedef struct Contestant {
  const char *family, *schedule;
  Trial trial;
  bool out, fresh, lost;
  double samples[SAMPLES];
} Contestant;
typedef struct Entry {
  const BenchProgram *program;
  const char *type;
  Subject subject;
  int n, chosen;
  Contestant *all;
  const char **tuned;
} Entry;

/* The reason why a trial failed. */
static const char *reason(Arena *a, const Trial *t) {
  return arena_strdup(a, t->messages.first[0] ? t->messages.first : "it failed without a word");
}

/* Opens the subject, and sets the names of its trials. */
static StcStatus entry_open(Bench *b, Entry *e, const BenchProgram *program, const char *type) {
  const Command *c = b->c;
  StcOptions o = c->options;
  Arena *a = b->w.arena;
  o.real = type;
  *e = (Entry){.program = program, .type = type, .n = CONTESTED + c->nalso + 1};
  e->all = ARENA_ARRAY(a, Contestant, e->n);
  StcStatus s = subject_open(&e->subject, c->context, a, arena_printf(a, "%s.stn", program->name), program->text, &o,
                             b->device.kind->whole, b->stop);
  e->all[e->n - 1] = (Contestant){.family = "tuned", .out = true};
  for (int i = 0; i < e->n - 1 && !s; i++) {
    Contestant *k = &e->all[i];
    const char *own = i < CONTESTED ? family_name((FamilyId)(FIRST + i)) : NULL;
    k->family = own ? own : arena_printf(a, "also %d", i - CONTESTED + 1);
    k->schedule = own ? arena_printf(a, "-schedule=%s", own) : c->also[i - CONTESTED];
  }
  return s;
}

static void entry_close(Entry *e) {
  for (int i = 0; i < e->n; i++)
    if (e->all[i].trial.context)
      trial_close(&e->all[i].trial);
  subject_close(&e->subject);
}

/* Verifies contestant `k` if it was to be compiled; if it has failed, adds a row with the reason. */
static void verify(Bench *b, Entry *e, Contestant *k) {
  say(b, "verifying", e->program->name, e->type, k->family);
  StcStatus s = k->out || !k->trial.plan || k->trial.messages.first[0] ? STC_USAGE : trial_verify(&k->trial);
  k->out = s != STC_OK;
  if (stop_asked(b->stop))
    return;
  b->wrong += s == STC_CHECK_FAILED;
  BenchRow r = {.program = e->program->name,
                .type = e->type,
                .size = "-",
                .family = k->family,
                .schedule = arena_strdup(b->w.arena, k->trial.schedule)};
  r.why = k->out ? reason(b->w.arena, &k->trial) : "";
  if (k->out)
    add_row(b, &r);
}

/* Opens the trials that are not open, and opens those again whose schedule depends on the size of the grid, which is
 * now `extents`. */
static void entry_open_trials(Bench *b, Entry *e, const int64_t *extents) {
  memcpy(e->subject.options.grid, extents, sizeof e->subject.options.grid);
  for (int i = 0; i < e->n - 1; i++) {
    Contestant *k = &e->all[i];
    StcProgram *p = k->trial.program;
    k->fresh = !k->trial.context ||
               (!k->out && p && (schedule_depends_on_size(&p->schedule) || schedule_rows_are_open(&p->schedule)));
    if (!k->fresh)
      continue;
    if (k->trial.context)
      trial_close(&k->trial);
    k->out = trial_open(&k->trial, &e->subject, b->device.name, k->schedule) != STC_OK;
  }
}

/* The number of the trial with stc's default schedule for the current size, or else of one in the same family; -1 if
 * there is none. */
static int find_chosen(Bench *b, Entry *e, const BenchSize *size) {
  Trial *t = ARENA_NEW(b->w.arena, Trial);
  int same = -1, akin = -1;
  StcStatus s = trial_open(t, &e->subject, b->device.name, "-schedule=auto");
  if (!s)
    s = trial_lower(t, &b->device, subject_size(&e->subject, size->extents));
  for (int i = CONTESTED - 1; i >= 0 && !s; i--) {
    const Contestant *k = &e->all[i];
    if (!k->out && strcmp(k->trial.schedule, t->schedule) == 0)
      same = i;
    if (!k->out && t->build->code.schedule.family == (FamilyId)(FIRST + i))
      akin = i;
  }
  trial_close(t);
  return same >= 0 ? same : akin;
}

/* Lowers the `n` trials to kernel IR, and leaves out those of families whose code is too long to compile. */
static void entry_lower(Bench *b, Entry *e, int n, Trial *const *trials, GridSize g) {
  LowerFor what = {&b->device, g};
  CrewWork work = {.job = crew_lower, .user = &what};
  trials_each(trials, n, crew_size(), &work);
  for (int i = 0; i < CONTESTED; i++) {
    Trial *t = &e->all[i].trial;
    if (e->all[i].fresh && t->build && !b->device.kind->whole && trial_is_long(t))
      context_error(
          t->context,
          "its code is %d operations long, and would take minutes to compile; --also \"%s\" measures it all the same",
          t->ops, t->asked);
  }
}

/* Compiles and verifies all trials except the tuned one for a grid of that size, unless this was done for another size.
 */
static void entry_verify(Bench *b, Entry *e, const BenchSize *size) {
  int n = 0;
  Trial **trials = ARENA_ARRAY(b->w.arena, Trial *, e->n);
  entry_open_trials(b, e, size->extents);
  for (int i = 0; i < e->n - 1; i++)
    if (e->all[i].fresh)
      trials[n++] = &e->all[i].trial;
  say(b, "compiling", e->program->name, e->type, bench_size_text(b->w.arena, size));
  entry_lower(b, e, n, trials, subject_size(&e->subject, size->extents));
  trials_prepare(trials, n, crew_size());
  if (!b->device.kind->whole)
    subject_add_peer(&e->subject, b->device.name);
  for (int i = 0; i < e->n - 1 && !stop_asked(b->stop); i++)
    if (e->all[i].fresh)
      verify(b, e, &e->all[i]);
  e->chosen = stop_asked(b->stop) ? -1 : find_chosen(b, e, size);
}

/* ---------------------------------------------------------------- the tuned schedule */

/* The path of the database, or NULL. */
static const char *database(const Bench *b) {
  return b->c->no_tune_db ? NULL : b->c->db ? b->c->db : tune_path_user(b->w.arena);
}

/* Prints the progress of a search on a terminal. */
static void watch(void *user, const Search *s) {
  const Bench *b = user;
  if (s->best)
    say(b, "tuning, best so far", s->best->schedule, "", arena_printf(b->w.arena, "%.4g GPts/s", s->best->gpts));
}

/* Prints the result of a search. */
static void tell(const Bench *b, const Entry *e, const Search *s, const char *size, bool found) {
  say(b, "", "", "", "");
  if (b->c->quiet)
    return;
  fprintf(stderr, "%s %s %s: %d schedules tried, %d of them measured, in %.1f s; ", e->program->name, e->type, size,
          s->tried, s->measured, clock_seconds() - s->start);
  if (found)
    fprintf(stderr, "the best%s makes %.4g GPts/s: %s\n", s->best->usual ? ", the default," : "", s->best->gpts,
            s->best->schedule);
  else
    fprintf(stderr, "none could be measured, and the default stands (%s)\n", search_usual(s)->why);
}

/* Searches for the fastest schedule for a size, within the time of --tune and --seconds, and stores it in the database.
 */
static StcStatus tune(Bench *b, Entry *e, const BenchSize *size, const TuneKey *key, const char **schedule) {
  Search search = {.arena = b->w.arena,
                   .stop = b->stop,
                   .device_name = b->device.name,
                   .device = &b->device,
                   .subject = &e->subject,
                   .seconds = b->c->tune,
                   .watch = watch,
                   .user = b,
                   .no_assembler = b->c->no_ptxas};
  double left = b->start + b->c->seconds - clock_seconds();
  if (b->c->seconds && left < search.seconds)
    search.seconds = left;
  search.size = subject_size(&e->subject, size->extents);
  StcStatus s = search_run(&search);
  tell(b, e, &search, bench_size_text(b->w.arena, size), !s);
  if (!s)
    *schedule = tune_entry(b->w.arena, &e->subject, *key, search.best).schedule;
  if (!s && database(b))
    s = tune_db_store(&b->w, database(b), tune_entry(b->w.arena, &e->subject, *key, search.best));
  search_close(&search);
  return s == STC_DEVICE ? STC_OK : s;
}

/* Finds the schedule for a size: by a search if --tune is given, else in the database; NULL if there is none. */
static StcStatus find_tuned(Bench *b, Entry *e, const BenchSize *size, const char **schedule) {
  int64_t extents[MAX_RANK];
  TuneKey key;
  TuneDb db;
  *schedule = NULL;
  if (b->device.kind->whole || !subject_extents(&e->subject, subject_size(&e->subject, size->extents), extents))
    return STC_OK;
  StcStatus s = tune_key(&b->w, &e->subject, &b->device, extents[0] * extents[1] * extents[2] * extents[3], &key);
  if (!s && b->c->tune)
    return tune(b, e, size, &key, schedule);
  if (s || !database(b))
    return s;
  s = tune_db_read(&b->w, database(b), &db);
  const TuneEntry *found = s ? NULL : tune_db_find(&db, &key);
  if (found)
    *schedule = found->schedule;
  return s;
}

/* Finds the tuned schedules for all sizes, as long as there is time, before anything else is on the device, because a
 * search may have to open the device again. */
static StcStatus find_all_tuned(Bench *b, Entry *e) {
  StcStatus s = STC_OK;
  e->tuned = ARENA_ARRAY(b->w.arena, const char *, b->set.nsizes + 1);
  for (int i = 0; i < b->set.nsizes && !s && !stop_asked(b->stop); i++) {
    const BenchSize *size = &b->set.sizes[i];
    if (size->rank != stc_program_rank(e->subject.program))
      continue;
    if (!out_of_time(b))
      s = find_tuned(b, e, size, &e->tuned[i]);
    else if (b->c->tune)
      fprintf(stderr, "stc bench: tuning of %s %s %s is left out: --seconds=%d have passed\n", e->program->name,
              e->type, bench_size_text(b->w.arena, size), b->c->seconds);
  }
  return s;
}

/* Sets the schedule of the last contestant for the current size (NULL: there is none). */
static void enter_tuned(Bench *b, Entry *e, const char *schedule) {
  Contestant *k = &e->all[e->n - 1];
  if (!schedule)
    return;
  k->out = trial_open(&k->trial, &e->subject, b->device.name, schedule) != STC_OK || trial_prepare(&k->trial) != STC_OK;
  verify(b, e, k);
}

/* Removes the last contestant again. */
static void leave_tuned(Entry *e) {
  Contestant *k = &e->all[e->n - 1];
  if (k->trial.context)
    trial_close(&k->trial);
  k->out = true;
}

/* ---------------------------------------------------------------- one size */

/* Sets the figures of the row from a trial's samples. */
static void fill_row(const Bench *b, const Trial *t, const double *samples, int n, BenchRow *r) {
  const TargetInfo *info = t->plan->build ? target_info(t->plan->build->code.target) : NULL;
  double *kept = ARENA_ARRAY(b->w.arena, double, n + 1), seconds = 0;
  memcpy(kept, samples, sizeof *kept * (size_t)n);
  r->gpts = median(kept, n);
  r->samples = kept;
  r->nsamples = n;
  r->spread = r->gpts > 0 ? (kept[n - 1] - kept[0]) / r->gpts : 0;
  r->T = t->plan->build ? t->plan->build->code.schedule.T : 1;
  r->kernel = t->kernel;
  plan_expect(t->plan, &r->expected);
  r->check_error = t->check_error;
  if (b->report.copy_rate > 0)
    r->of_copy = r->gpts * r->work.bytes / b->report.copy_rate;
  if (info && info->f32_rate > 0 && info->f64_rate > 0)
    seconds = r->work.f32_ops / info->f32_rate + r->work.f64_ops / info->f64_rate;
  r->of_arithmetic = r->gpts * seconds;
}

/* Prepares all trials that have not failed for a grid of that size, and takes `n` samples of each in turns. */
static void take_samples(Bench *b, Entry *e, GridSize g, int n) {
  for (int i = 0; i < e->n; i++) {
    Contestant *k = &e->all[i];
    k->lost = k->out || trial_start(&k->trial, g, sample_seconds(b)) != STC_OK;
    if (!k->out && k->lost)
      trial_stop(&k->trial);
  }
  for (int at = 0; at < n; at++)
    for (int i = 0; i < e->n && !stop_asked(b->stop); i++) {
      Contestant *k = &e->all[i];
      if (!k->lost && trial_sample(&k->trial, &k->samples[at]))
        k->lost = true;
    }
}

/* Adds a row for each trial that has not failed. */
static void report_size(Bench *b, Entry *e, const char *size, const Work *work, int n) {
  for (int i = 0; i < e->n && !stop_asked(b->stop); i++) {
    Contestant *k = &e->all[i];
    if (k->out)
      continue;
    BenchRow r = {.program = e->program->name,
                  .type = e->type,
                  .size = size,
                  .family = k->family,
                  .work = *work,
                  .why = "",
                  .chosen = i == e->chosen};
    r.schedule = arena_strdup(b->w.arena, k->trial.schedule);
    if (!k->lost && trial_finite(&k->trial, &r.finite))
      k->lost = true;
    if (k->lost)
      r.why = reason(b->w.arena, &k->trial);
    else
      fill_row(b, &k->trial, k->samples, n, &r);
    add_row(b, &r);
    k->trial.messages.first[0] = 0;
  }
}

/* Measures all trials that have not failed on a grid of that size. */
static StcStatus measure_size(Bench *b, Entry *e, const BenchSize *size, const char *tuned) {
  const char *text = bench_size_text(b->w.arena, size);
  GridSize g = subject_size(&e->subject, size->extents);
  Work work;
  int n = b->c->quick ? QUICK_SAMPLES : SAMPLES;
  StcStatus s = subject_work(&e->subject, g, &work);
  if (s)
    return context_error(b->c->context, "%s of %s: %s", e->program->name, text, e->subject.messages.first), s;
  enter_tuned(b, e, tuned);
  say(b, "timing", e->program->name, e->type, text);
  take_samples(b, e, g, n);
  report_size(b, e, text, &work, n);
  for (int i = 0; i < e->n; i++)
    if (!e->all[i].out)
      trial_stop(&e->all[i].trial);
  leave_tuned(e);
  return STC_OK;
}

/* Compiles, verifies and measures all trials for a size, unless the user wants to stop. */
static StcStatus measure_verified(Bench *b, Entry *e, const BenchSize *size, const char *tuned) {
  entry_verify(b, e, size);
  return stop_asked(b->stop) ? STC_OK : measure_size(b, e, size, tuned);
}

/* Measures a program of a type for all sizes of its rank. */
static StcStatus measure(Bench *b, const BenchProgram *program, const char *type) {
  Entry *e = ARENA_NEW(b->w.arena, Entry);
  StcStatus s = entry_open(b, e, program, type);
  int rank = s ? 0 : stc_program_rank(e->subject.program), sizes = 0;
  for (int i = 0; i < b->set.nsizes; i++)
    sizes += b->set.sizes[i].rank == rank;
  if (sizes)
    s = find_all_tuned(b, e);
  for (int i = 0; i < b->set.nsizes && !s && !stop_asked(b->stop); i++) {
    if (b->set.sizes[i].rank != rank)
      continue;
    if (out_of_time(b))
      fprintf(stderr, "stc bench: %s %s %s is left out: --seconds=%d have passed\n", program->name, type,
              bench_size_text(b->w.arena, &b->set.sizes[i]), b->c->seconds);
    else
      s = measure_verified(b, e, &b->set.sizes[i], e->tuned[i]);
  }
  entry_close(e);
  if (!s && !device_works(&b->device)) {
    b->device.kind->close(&b->device);
    s = open_device(b);
  }
  if (!s && b->c->json && b->report.nrows)
    s = bench_write_json(b->c, &b->report, b->c->json);
  return s;
}

/* ---------------------------------------------------------------- the run */

/* Measures the speed of copying: by the device's own copy, or by the kernel that copies a field; the faster one counts.
 */
static StcStatus measure_copy(Bench *b) {
  static const int64_t gpu[MAX_RANK] = {16384, 16384}, host[MAX_RANK] = {4096, 4096};
  const int64_t *extents = strcmp(b->device.kind->name, "host") == 0 ? host : gpu;
  Subject subject;
  Trial t = {0};
  double own = 0, samples[SAMPLES] = {0};
  StcOptions o = {.real = "f32"};
  say(b, "copying", "", "", "");
  StcStatus s = subject_open(&subject, b->c->context, b->w.arena, "copy.stn", bench_copy.text, &o, false, b->stop);
  if (!s)
    s = trial_open(&t, &subject, b->device.name, "-schedule=naive");
  if (!s)
    s = trial_prepare(&t);
  if (!s)
    s = device_copy_rate(t.plan, (size_t)(extents[0] * extents[1]) * 4, &own);
  if (!s)
    s = trial_start(&t, subject_size(&subject, extents), sample_seconds(b));
  for (int i = 0; i < SAMPLES && !s; i++)
    s = trial_sample(&t, &samples[i]);
  double rate = 8 * median(samples, SAMPLES);
  b->report.copy_rate = rate > own ? rate : own;
  if (s && stop_asked(b->stop))
    s = STC_INTERRUPTED;
  else if (s)
    context_error(b->c->context, "copying a field: %s", t.messages.first);
  if (t.context)
    trial_close(&t);
  subject_close(&subject);
  return s;
}

/* Checks that no output replaces an input or another output. */
static StcStatus check_outputs(const Bench *b) {
  UsedFiles used = {.arena = b->w.arena};
  used_add_inputs(&used, b->c);
  used_add(&used, b->c->tune ? USE_WRITE : USE_READ, b->c->no_tune_db ? NULL : database(b),
           "the database of schedules");
  used_add(&used, USE_WRITE, b->c->json, "--json");
  return used_check(b->c, &used);
}

/* Measures everything. */
static StcStatus run_guarded(void *arg) {
  Bench *b = arg;
  time_t now = time(NULL);
  struct tm day;
  gmtime_r(&now, &day);
  strftime(b->report.date, sizeof b->report.date, "%Y-%m-%d", &day);
  const Ending soon = {0.2, keep_rows, b};
  StcStatus s = open_device(b);
  ending_allow(&soon);
  if (!s)
    s = bench_set_choose(b->c, b->device.kind, &b->set);
  if (!s)
    s = check_outputs(b);
  if (!s && b->c->json && !file_probe(b->c->context, b->c->json))
    s = STC_IO;
  if (!s && !b->device.kind->whole)
    s = measure_copy(b);
  for (int p = 0; p < b->set.nprograms && !s; p++)
    for (int t = 0; t < b->set.ntypes && !s && !stop_asked(b->stop); t++)
      s = measure(b, b->set.programs[p], b->set.types[t]);
  ending_allow(NULL);
  say(b, "", "", "", "");
  bench_print_summary(stdout, &b->report);
  if (!s && stop_asked(b->stop))
    s = STC_INTERRUPTED;
  if (s == STC_INTERRUPTED && b->c->json && b->report.nrows)
    s = bench_write_json(b->c, &b->report, b->c->json) ? STC_IO : s;
  if (!s && b->wrong)
    s = STC_CHECK_FAILED;
  return s;
}

StcStatus command_bench(const Command *c, const Stop *stop) {
  Bench b = {.c = c, .stop = stop, .start = clock_seconds()};
  if (!workspace_open(&b.w, c->context, NULL))
    return STC_MEMORY;
  StcStatus s = workspace_guard(&b.w, run_guarded, &b);
  ending_allow(NULL);
  if (b.device.kind)
    b.device.kind->close(&b.device);
  workspace_close(&b.w);
  return s;
}
