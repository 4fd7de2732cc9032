/* driver/tune.c: `stc tune`: schedules tried on a device until the time is up; the fastest goes into the database. */
#include "driver/tune.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* KEPT: the best ones, whose trials stay open and are measured again at the end; BATCH: compiled at once, for each thread; a candidate whose first figure is below HOPELESS of the
 * best is not measured further, nor is one that spills more than SPILLS bytes a thread. */
enum { DEFAULT_SECONDS = 120, KEPT = 5, FINAL_SAMPLES = 5, MOST_BATCH = 32, SPILLS = 1024 };
static const double HOPELESS = 0.6, SAMPLE = 0.01, FINAL_SAMPLE = 0.05;

/* The state of a run. size: of the grid, as the command line gives it: nothing beside the program's own params. */
typedef struct Tune {
  const Command *c;
  const volatile sig_atomic_t *stop;
  Workspace w;
  const char *device_name;
  Device device;                 /* stays open, so that the driver keeps what belongs to it */
  Subject subject;
  SearchSpace space;
  GridSize size;
  int64_t points;
  double start, seconds;
  int tried;
  bool bar;
  const Candidate *best;
} Tune;

/* ---------------------------------------------------------------- telling */

/* The bar, on a terminal. */
static void draw(const Tune *t) {
  if (!t->bar) return;
  double past = clock_seconds() - t->start;
  int filled = past < t->seconds ? (int)(30 * past / t->seconds) : 30;
  int all = t->tried * 30 / (t->space.n ? t->space.n : 1);
  if (all > filled) filled = all;
  fprintf(stderr, "\r[%.*s%.*s] %d of %d, %.0f s; best %.4g GPts/s %.60s\033[K", filled, "##############################", 30 - filled, "                              ", t->tried, t->space.n, past,
          t->best ? t->best->gpts : 0, t->best ? t->best->schedule : "");
  fflush(stderr);
}

/* Wipes the bar. */
static void wipe(const Tune *t) {
  if (t->bar) fprintf(stderr, "\r\033[K");
}

/* ---------------------------------------------------------------- one candidate */

/* Ends candidate `k` with a state and the reason that its trial gives, or `why`. */
static void finish(Tune *t, Candidate *k, CandidateState state, const char *why) {
  Arena *a = t->w.arena;
  if (k->trial && k->trial->schedule[0]) k->schedule = arena_strdup(a, k->trial->schedule);
  k->state = state;
  k->why = why ? why : k->trial && k->trial->messages.first[0] ? arena_strdup(a, k->trial->messages.first) : "";
  t->tried++;
}

/* Closes the trial of candidate `k`, if it has one. */
static void close_trial(Candidate *k) {
  if (!k->trial) return;
  trial_close(k->trial);
  k->trial = NULL;
}

/* Gives candidate `k` a trial. False, with the reason kept, if its options are none. */
static bool open_trial(Tune *t, Candidate *k) {
  k->trial = ARENA_NEW(t->w.arena, Trial);
  if (trial_open(k->trial, &t->subject, t->device_name, k->options) == STC_OK) return true;
  finish(t, k, CANDIDATE_REFUSED, NULL);
  close_trial(k);
  return false;
}

/* Has one with the same schedule been measured, so that there is nothing new to learn? */
static bool is_repeated(const Tune *t, const Candidate *k) {
  for (int i = 0; i < t->space.n; i++) {
    const Candidate *other = &t->space.all[i];
    if (other != k && other->state != CANDIDATE_WAITING && other->schedule && strcmp(other->schedule, k->trial->schedule) == 0) return true;
  }
  return false;
}

/* Verifies and times a candidate that is compiled. */
static StcStatus measure(Tune *t, Candidate *k) {
  Trial *trial = k->trial;
  double gpts;
  k->T = trial->plan->build ? trial->plan->build->code.schedule.T : 1;
  k->kernel = trial->kernel;
  if (is_repeated(t, k)) return finish(t, k, CANDIDATE_REFUSED, "the same schedule as another candidate"), STC_OK;
  if (k->kernel.local > SPILLS) return finish(t, k, CANDIDATE_SLOW, arena_printf(t->w.arena, "%d bytes a thread do not fit the registers", k->kernel.local)), STC_OK;
  StcStatus s = trial_verify(trial);
  if (s) return finish(t, k, s == STC_CHECK_FAILED ? CANDIDATE_WRONG : CANDIDATE_FAILED, NULL), s;
  s = trial_start(trial, t->size, SAMPLE);
  k->gpts = trial->rough;
  if (!s && t->best && trial->rough < HOPELESS * t->best->gpts) return trial_stop(trial), finish(t, k, CANDIDATE_SLOW, "far behind the best"), STC_OK;
  for (int i = 0; i < 3 && !s; i++) {
    s = trial_sample(trial, &gpts);
    if (!s && gpts > k->gpts) k->gpts = gpts;
  }
  trial_stop(trial);
  finish(t, k, s ? CANDIDATE_FAILED : CANDIDATE_TIMED, NULL);
  if (!s && (!t->best || k->gpts > t->best->gpts)) t->best = k;
  return s;
}

/* ---------------------------------------------------------------- the device */

/* Closes all trials but those of the best candidates. */
static void close_others(Tune *t, int keep) {
  Candidate *best[KEPT];
  int n = space_best(&t->space, keep, best);
  for (int i = 0; i < t->space.n; i++) {
    bool kept = false;
    for (int b = 0; b < n; b++) kept |= best[b] == &t->space.all[i];
    if (!kept) close_trial(&t->space.all[i]);
  }
}

/* Opens the device. */
static StcStatus open_device(Tune *t) {
  StcStatus s = device_open(&t->w, t->device_name, &t->device);
  if (s) t->device = (Device){0};
  return s;
}

/* After a failed launch the driver may refuse everything: then the device is let go with all that is on it, and taken anew. */
static StcStatus revive(Tune *t) {
  if (device_works(&t->device)) return STC_OK;
  close_others(t, 0);
  subject_drop_peer(&t->subject);
  t->device.kind->close(&t->device);
  StcStatus s = open_device(t);
  if (!s) subject_add_peer(&t->subject, t->device_name);
  return s;
}

/* ---------------------------------------------------------------- the search */

/* Compiles the `n` candidates, and measures those that compile. */
static StcStatus try_batch(Tune *t, int n, Candidate **batch) {
  Trial *trials[MOST_BATCH];
  int open = 0;
  StcStatus lost = STC_OK;
  for (int i = 0; i < n; i++)
    if (open_trial(t, batch[i])) trials[open++] = batch[i]->trial;
  trials_prepare(trials, open, (int)sysconf(_SC_NPROCESSORS_ONLN));
  for (int i = 0; i < n && !*t->stop && !lost; i++) {
    Candidate *k = batch[i];
    if (k->state != CANDIDATE_WAITING || !k->trial) continue;
    if (!k->trial->plan || k->trial->messages.first[0]) finish(t, k, CANDIDATE_REFUSED, NULL);
    else if (measure(t, k) == STC_DEVICE) lost = revive(t);
    draw(t);
  }
  close_others(t, KEPT);
  return lost;
}

/* Tries what each family gives by itself; a family that the program has not is dropped. */
static StcStatus try_families(Tune *t) {
  Candidate *first[MOST_BATCH];
  int n = 0;
  for (int i = 0; i < t->space.n && n < MOST_BATCH; i++)
    if (!t->space.all[i].row) first[n++] = &t->space.all[i];
  StcStatus s = try_batch(t, n, first);
  for (int i = 0; i < n && !s; i++)
    if (first[i]->state == CANDIDATE_REFUSED) space_drop_family(&t->space, first[i]->family, first[i]->why);
  return s;
}

/* Tries candidates until there are none left or the time is up. */
static StcStatus search(Tune *t) {
  Candidate *batch[MOST_BATCH];
  int size = 2 * (int)sysconf(_SC_NPROCESSORS_ONLN), n;
  if (size > MOST_BATCH) size = MOST_BATCH;
  StcStatus s = try_families(t);
  while (!s && !*t->stop && clock_seconds() - t->start < t->seconds && (n = space_next(&t->space, size, batch)) > 0) s = try_batch(t, n, batch);
  return s;
}

/* Measures the best ones again, in turns, and decides. */
static StcStatus decide(Tune *t) {
  Candidate *best[KEPT];
  double samples[KEPT][FINAL_SAMPLES];
  bool out[KEPT] = {false};
  int n = space_best(&t->space, KEPT, best);
  for (int i = 0; i < n; i++) {
    Candidate *k = best[i];
    if (!k->trial) out[i] = !open_trial(t, k) || trial_prepare(k->trial);
    if (!out[i]) out[i] = trial_start(k->trial, t->size, FINAL_SAMPLE) != STC_OK;
  }
  for (int at = 0; at < FINAL_SAMPLES; at++)
    for (int i = 0; i < n && !*t->stop; i++)
      if (!out[i] && trial_sample(best[i]->trial, &samples[i][at])) out[i] = true;
  t->best = NULL;
  for (int i = 0; i < n && !*t->stop; i++) {
    if (out[i]) continue;
    best[i]->gpts = median(samples[i], FINAL_SAMPLES);
    if (!t->best || best[i]->gpts > t->best->gpts) t->best = best[i];
  }
  close_others(t, 0);
  if (*t->stop) return STC_INTERRUPTED;
  return t->best ? STC_OK : (context_error(t->c->context, "no schedule could be measured; --log FILE.csv says why"), STC_DEVICE);
}

/* ---------------------------------------------------------------- the result */

/* The entry for the winner. */
static TuneEntry make_entry(Tune *t, const Target *target) {
  char date[16];
  time_t now = time(NULL);
  struct tm day;
  gmtime_r(&now, &day);
  strftime(date, sizeof date, "%Y-%m-%d", &day);
  Arena *a = t->w.arena;
  TuneKey key = {tune_program_key(a, t->subject.program->module), tune_size_class(t->points), tune_device_key(a, &t->device), target_arch(target), target_info(target)->cpu};
  const char *real = t->c->options.real ? t->c->options.real : "f32";
  return (TuneEntry){key, stc_program_name(t->subject.program), real, stc_version(), t->best->schedule, arena_strdup(a, date), t->best->gpts};
}

/* Writes the winner into the database `path`. */
static StcStatus store(Tune *t, const char *path, TuneEntry e) {
  TuneDb db;
  StcStatus s = tune_db_read(&t->w, path, &db);
  if (s) return s;
  tune_db_put(&db, e);
  s = tune_db_write(t->c->context, &db, path);
  if (!s) fprintf(stderr, "written to %s\n", path);
  return s;
}

/* The speed of what family `family` gives by itself; 0 if it was not measured. */
static double own_speed(const Tune *t, const char *family) {
  for (int i = 0; i < t->space.n; i++)
    if (!t->space.all[i].row && strcmp(t->space.all[i].family, family) == 0) return t->space.all[i].gpts;
  return 0;
}

/* Prints and stores the result. */
static StcStatus report(Tune *t) {
  const Command *c = t->c;
  Arena *a = t->w.arena;
  const Target *target = target_find(a, t->w.diags, t->device.kind->arch, c->options.mcpu ? c->options.mcpu : t->device.cpu);
  const char *name = stc_program_name(t->subject.program), *beside = tune_path_beside(a, c->file), *user = tune_path_user(a);
  if (!target) return STC_USAGE;
  if (!c->quiet)
    fprintf(stderr, "%s, %" PRId64 " points, on %s: %.4g GPts/s; by themselves naive %.4g, overlap %.4g, stream %.4g; %d schedules tried in %.0f s\n", name, t->points, t->device.description,
            t->best->gpts, own_speed(t, "naive"), own_speed(t, "overlap"), own_speed(t, "stream"), t->tried, clock_seconds() - t->start);
  printf("%s\n", t->best->schedule);
  TuneEntry e = make_entry(t, target);
  StcStatus s = STC_OK;
  if (c->db) return store(t, c->db, e);
  if (beside) s = store(t, beside, e);
  if (user && !s) s = store(t, user, e);
  return s;
}

/* Writes the log and the plot, also after a run that was stopped. */
static StcStatus write_files(Tune *t) {
  const Command *c = t->c;
  StcStatus s = c->log ? tune_write_log(c->context, &t->space, c->log) : STC_OK;
  const char *title = arena_printf(t->w.arena, "%s, %s, %" PRId64 " points, %s", stc_program_name(t->subject.program), c->options.real ? c->options.real : "f32", t->points, t->device.description);
  return s || !c->plot ? s : tune_write_plot(c->context, t->w.arena, &t->space, title, c->plot);
}

/* What can be known before the search. */
static StcStatus check_request(Tune *t) {
  const Command *c = t->c;
  if (c->scheduled) return context_error(c->context, "stc tune looks for a schedule: leave -schedule, -T, -block, -elems, -chunk, -ahead, -fuse and -passes out"), STC_USAGE;
  if (strcmp(t->device_name, "ref") == 0 || strcmp(t->device_name, "sim") == 0)
    return context_error(c->context, "--device=%s: there is no speed to tune for; take host, cuda or hip", t->device_name), STC_USAGE;
  if ((c->log && !file_probe(c->context, c->log)) || (c->plot && !file_probe(c->context, c->plot))) return STC_IO;
  TuneDb db;
  const char *beside = tune_path_beside(t->w.arena, c->file), *user = tune_path_user(t->w.arena);
  StcStatus s = c->db || beside ? tune_db_read(&t->w, c->db ? c->db : beside, &db) : STC_OK;
  return s || c->db || !user ? s : tune_db_read(&t->w, user, &db);
}

/* Reads the program and finds the size of its grid. */
static StcStatus open_program(Tune *t) {
  size_t size;
  int64_t extents[MAX_RANK];
  const char *text = file_read(&t->w, t->c->file, &size);
  if (!text) return STC_IO;
  StcStatus s = subject_open(&t->subject, t->c->context, t->w.arena, t->c->file, text, &t->c->options, false, t->stop);
  if (s) return s;
  if (t->subject.program->kind == SOURCE_KIR) return context_error(t->c->context, "%s: kernel IR has its schedule in it; tune the program that it came from", t->c->file), STC_USAGE;
  if (!subject_extents(&t->subject, t->size, extents))
    return context_error(t->c->context, "%s: %s", t->c->file, t->subject.messages.first[0] ? t->subject.messages.first : "its grid is not known"), STC_INPUT;
  t->points = extents[0] * extents[1] * extents[2];
  return STC_OK;
}

/* All of it. */
static StcStatus tune_guarded(void *arg) {
  Tune *t = arg;
  StcStatus s = check_request(t);
  if (!s) s = open_program(t);
  if (!s) s = open_device(t);
  if (s) return s;
  space_fill(&t->space, t->w.arena, stc_program_rank(t->subject.program), strcmp(t->device.kind->arch, "host") != 0);
  subject_add_peer(&t->subject, t->device_name);
  s = search(t);
  if (!s) s = decide(t);
  wipe(t);
  StcStatus files = write_files(t);
  if (!s) s = files ? files : report(t);
  return s;
}

StcStatus command_tune(const Command *c, const volatile sig_atomic_t *stop) {
  Tune t = {.c = c, .stop = stop, .device_name = c->device ? c->device : "host", .start = clock_seconds(), .seconds = c->seconds ? c->seconds : DEFAULT_SECONDS};
  t.bar = !c->quiet && isatty(STDERR_FILENO);
  if (!workspace_open(&t.w, c->context, NULL)) return STC_MEMORY;
  StcStatus s = workspace_guard(&t.w, tune_guarded, &t);
  for (int i = 0; i < t.space.n; i++) close_trial(&t.space.all[i]);
  subject_close(&t.subject);
  if (t.device.kind) t.device.kind->close(&t.device);
  workspace_close(&t.w);
  return s;
}
