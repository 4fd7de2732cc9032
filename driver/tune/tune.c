/* driver/tune/tune.c: `stc tune`: finds the fastest schedule of a program on a device, and writes it into the database.
 */
#include "driver/cli/used/used.h"
#include "driver/files/files.h"
#include "driver/tune/tune.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_SECONDS = 120 };

/* The state of a run. */
typedef struct Tune {
  const Command *c;
  Workspace w;
  Device device; /* stays open, so that the driver keeps its data */
  Subject subject;
  Search search;
  int64_t points;
  bool bar;
} Tune;

/* ---------------------------------------------------------------- progress */

/* Draws the progress bar, on a terminal. */
static void draw(void *user, const Search *s) {
  const Tune *t = user;
  if (s->measured)
    ending_allow(NULL);
  if (!t->bar)
    return;
  double past = clock_seconds() - s->start;
  int filled = past < s->seconds ? (int)(30 * past / s->seconds) : 30,
      all = s->tried * 30 / (s->space.n ? s->space.n : 1);
  if (all > filled)
    filled = all;
  fprintf(stderr, "\r[%.*s%.*s] %d of %d, %.0f s; best %.4g GPts/s %.60s\033[K", filled,
          "##############################", 30 - filled, "                              ", s->tried, s->space.n, past,
          s->best ? s->best->gpts : 0, s->best ? s->best->schedule : "");
  fflush(stderr);
}

/* Clears the progress bar. */
static void wipe(const Tune *t) {
  if (t->bar)
    fprintf(stderr, "\r\033[K");
}

/* ---------------------------------------------------------------- the result */

/* Writes the winner into the database `path`. */
static StcStatus store(Tune *t, const char *path, TuneEntry e) {
  StcStatus s = tune_db_store(&t->w, path, e);
  if (!s)
    fprintf(stderr, "written to %s\n", path);
  return s;
}

/* The measured speeds of families' defaults, "naive 12.1, overlap 30"; the default counts for its family. */
static const char *own_speeds(const Tune *t) {
  const SearchSpace *space = &t->search.space;
  Str s = {.arena = t->w.arena};
  for (int f = FAMILY_AUTO + 1; f < FAMILIES; f++) {
    double most = 0;
    for (int i = 0; i < space->n; i++)
      if (space->all[i].own && (int)space->all[i].family == f && space->all[i].gpts > most)
        most = space->all[i].gpts;
    if (most > 0)
      str_addf(&s, "%s%s %.4g", s.s ? ", " : "", family_name((FamilyId)f), most);
  }
  return s.s ? s.s : "none was measured";
}

/* The text about the default in comparison with the winner. */
static const char *beside_usual(const Tune *t) {
  const Candidate *u = search_usual(&t->search);
  if (u == t->search.best)
    return "which is the default";
  if (u->state == CANDIDATE_TIMED)
    return arena_printf(t->w.arena, "the default %.4g", u->gpts);
  return arena_printf(t->w.arena, "the default could not be measured (%s)", u->why);
}

/* Prints where the model was off, for the winner and the default. */
static void tell_of_model(const Tune *t) {
  const Candidate *best = t->search.best, *u = search_usual(&t->search);
  const char *notes[] = {tune_model_note(&t->search.space, best, best == u ? "the default" : "the fastest"),
                         best == u ? NULL : tune_model_note(&t->search.space, u, "the default")};
  for (int i = 0; i < 2; i++)
    if (notes[i])
      fprintf(stderr, "%s\n", notes[i]);
}

/* Prints and stores the result. */
static StcStatus report(Tune *t) {
  const Command *c = t->c;
  Arena *a = t->w.arena;
  const char *name = stc_program_name(t->subject.program), *beside = tune_path_beside(a, c->file),
             *user = tune_path_user(a);
  if (!c->quiet)
    fprintf(stderr,
            "%s, %" PRId64
            " points, on %s: %.4g GPts/s, %s; by themselves %s; %d schedules tried, %d of them measured, "
            "in %.1f s\n",
            name, t->points, t->device.description, t->search.best->gpts, beside_usual(t), own_speeds(t),
            t->search.tried, t->search.measured, clock_seconds() - t->search.start);
  if (!c->quiet)
    tell_of_model(t);
  printf("%s\n", t->search.best->schedule);
  TuneKey key;
  StcStatus s = tune_key(&t->w, &t->subject, &t->device, t->points, &key);
  if (s)
    return s;
  TuneEntry e = tune_entry(a, &t->subject, key, t->search.best);
  if (c->db)
    return store(t, c->db, e);
  if (beside)
    s = store(t, beside, e);
  if (user && !s)
    s = store(t, user, e);
  return s;
}

/* Writes the log and the plot, also after a run that was stopped. */
static StcStatus write_files(Tune *t) {
  const Command *c = t->c;
  StcStatus s = c->log ? tune_write_log(c->context, &t->search.space, c->log) : STC_OK;
  const char *title = arena_printf(t->w.arena, "%s, %s, %" PRId64 " points, %s", stc_program_name(t->subject.program),
                                   c->options.real ? c->options.real : "f32", t->points, t->device.description);
  return s || !c->plot ? s : tune_write_plot(c->context, t->w.arena, &t->search.space, title, c->plot);
}

/* Checks that no two output files have the same name, and that none is an input file. */
static StcStatus check_files(const Tune *t) {
  const Command *c = t->c;
  UsedFiles used = {.arena = t->w.arena};
  used_add_inputs(&used, c);
  if (t->subject.program)
    used_add_included(&used, t->subject.program);
  used_add(&used, USE_WRITE, c->log, "--log");
  used_add(&used, USE_WRITE, c->plot, "--plot");
  used_add(&used, USE_WRITE, c->db ? c->db : tune_path_beside(t->w.arena, c->file), "the database of schedules");
  used_add(&used, USE_WRITE, c->db ? NULL : tune_path_user(t->w.arena), "the user's database of schedules");
  return used_check(c, &used);
}

/* Checks all that can be checked before the program is read. */
static StcStatus check_request(Tune *t) {
  const Command *c = t->c;
  if (c->scheduled)
    return context_error(c->context, "stc tune looks for a schedule: leave -schedule, %s and -passes out",
                         knob_names(t->w.arena, ~0, "-", ", ")),
           STC_USAGE;
  if (strcmp(t->search.device_name, "ref") == 0 || strcmp(t->search.device_name, "sim") == 0)
    return context_error(c->context, "--device=%s: there is no speed to tune for; take host, cuda or hip",
                         t->search.device_name),
           STC_USAGE;
  const char *beside = tune_path_beside(t->w.arena, c->file), *user = tune_path_user(t->w.arena);
  StcStatus checked = check_files(t);
  if (checked)
    return checked;
  if ((c->log && !file_probe(c->context, c->log)) || (c->plot && !file_probe(c->context, c->plot)))
    return STC_IO;
  TuneDb db;
  StcStatus s = c->db || beside ? tune_db_read(&t->w, c->db ? c->db : beside, &db) : STC_OK;
  return s || c->db || !user ? s : tune_db_read(&t->w, user, &db);
}

/* Reads the program and finds the size of its grid. */
static StcStatus open_program(Tune *t) {
  size_t size;
  int64_t extents[MAX_RANK];
  const char *text = file_read(&t->w, t->c->file, &size);
  if (!text)
    return STC_IO;
  StcStatus s =
      subject_open(&t->subject, t->c->context, t->w.arena, t->c->file, text, &t->c->options, false, t->search.stop);
  if (s)
    return s;
  if (t->subject.program->kind == SOURCE_KIR)
    return context_error(t->c->context, "%s: kernel IR has its schedule in it; tune the program that it came from",
                         t->c->file),
           STC_USAGE;
  if (!subject_extents(&t->subject, t->search.size, extents))
    return context_error(t->c->context, "%s: %s", t->c->file,
                         t->subject.messages.first[0] ? t->subject.messages.first : "its grid is not known"),
           STC_INPUT;
  t->points = extents[0] * extents[1] * extents[2] * extents[3];
  return check_files(t);
}

/* Prints the last message of a search that was stopped. */
static void say_stopped(void *user) {
  const Tune *t = user;
  int n = t->search.measured;
  wipe(t);
  if (n)
    context_error(t->c->context, "stopped; %d schedule%s measured, none is kept", n, n == 1 ? " was" : "s were");
  else
    context_error(t->c->context, "stopped; nothing was measured");
}

/* Prints that message and writes the files. */
static void leave_stopped(void *user) {
  say_stopped(user);
  write_files(user);
}

/* After something was measured, Ctrl-C also ends compilers at once, and the results are written. */
static void allow_ending(void *user, bool on) {
  const Tune *t = user;
  const Ending soon = {0.2, leave_stopped, user};
  if (t->search.measured)
    ending_allow(on ? &soon : NULL);
}

/* Runs the command. Ctrl-C ends it at once until there are measurements to keep. */
static StcStatus tune_guarded(void *arg) {
  Tune *t = arg;
  const Ending soon = {0.2, say_stopped, t};
  ending_allow(&soon);
  StcStatus s = check_request(t);
  if (!s)
    s = open_program(t);
  if (!s)
    s = device_open(&t->w, t->search.device_name, &t->device);
  if (s)
    return s;
  s = search_run(&t->search);
  ending_allow(NULL);
  wipe(t);
  if (s == STC_INTERRUPTED)
    say_stopped(t);
  if (s == STC_DEVICE && !t->search.best)
    context_error(t->c->context,
                  "no schedule could be measured, not even the default (%s): the default stands, and nothing is "
                  "written; --log FILE.csv says why of all",
                  search_usual(&t->search)->why);
  StcStatus files = write_files(t);
  if (!s)
    s = files ? files : report(t);
  return s;
}

StcStatus command_tune(const Command *c, const Stop *stop) {
  Tune t = {.c = c, .bar = !c->quiet && isatty(STDERR_FILENO)};
  if (!workspace_open(&t.w, c->context, NULL))
    return STC_MEMORY;
  t.search = (Search){.arena = t.w.arena,
                      .stop = stop,
                      .device_name = c->device ? c->device : "host",
                      .device = &t.device,
                      .subject = &t.subject,
                      .watch = draw,
                      .compiling_now = allow_ending,
                      .user = &t,
                      .no_assembler = c->no_ptxas};
  t.search.seconds = c->seconds ? c->seconds : DEFAULT_SECONDS;
  StcStatus s = workspace_guard(&t.w, tune_guarded, &t);
  ending_allow(NULL);
  search_close(&t.search);
  subject_close(&t.subject);
  if (t.device.kind)
    t.device.kind->close(&t.device);
  workspace_close(&t.w);
  return s;
}
