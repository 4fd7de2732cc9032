/* tests/programs/differential.c: many programs, each on the reference interpreter and then with other options, in one
 * process.
 *
 *   differential BATCH RESULTS FOLDER [SECONDS]
 *
 * BATCH holds lines:   program FILE.stn            the program that the lines below are about
 *                      outputs OPTIONS             what a run writes; `%` stands for a place of the run's own
 *                      reference OPTIONS           the run that the others are compared with
 *                      run OPTIONS                 another run, with these options behind the reference's
 * OPTIONS are those of `stc run`, without quotes. RESULTS gets a line `start` before each reference and run, so that
 * one that ends the process can be told, and then
 * one of    ok | ended STATUS: MESSAGE | same-error STATUS: MESSAGE | refused STATUS: MESSAGE | error STATUS: MESSAGE
 * | differs OUTPUT: byte N
 * and then `took SECONDS`, which are of processors' time.
 * `ended` is a reference that a check or a NaN in an `until` ended; `refused` is any other error of the reference, or
 * a schedule that is not legal. Outputs are compared byte for byte. Files are written into FOLDER.
 * Of an output with another `%` behind the first (A_%d.npy: a file a step) all files are.
 * A run that takes more than SECONDS of processors' time ends the process, and one that takes ten times as long in all:
 * on a machine with much else to do, runs that wait for a processor are no failures, but such as wait for nothing are.
 * Any two values that are no numbers are equal: language.md does not say which of their bits a value has, and
 * processors differ in the sign. A GPU that a run names stays open to the end, so that its driver is not started anew
 * for each.
 * batch.py writes batches and reads results, for differential.py and tests/gpu/check.py.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "driver/tune/trial.h"

enum { MAX_LINE = 8192, MAX_ARGS = 256, MAX_TEXT = 4096, SECONDS = 120 };

/* What the lines of the batch have said so far. messages: the first error of the run at hand. */
typedef struct Batch {
  FILE *results;
  const char *folder;
  char program[MAX_LINE], outputs[MAX_LINE], reference[MAX_LINE];
  StcStatus status; /* of the reference */
  char messages[MAX_TEXT], reference_messages[MAX_TEXT];
  Workspace w; /* of `device` */
  StcContext *context;
  Device device; /* kind NULL: none is held open */
} Batch;

/* Keeps the first error in the Batch `user`, on one line. */
static void keep_error(void *user, const StcMessage *m) {
  Batch *b = user;
  if (m->kind != STC_ERROR || b->messages[0])
    return;
  snprintf(b->messages, sizeof b->messages, "%s", m->text);
  for (char *c = b->messages; *c; c++)
    if (*c == '\n')
      *c = ' ';
}

/* Cuts `text` into words, in place, behind the `n` words that `argv` has; `%` at the start of a value becomes `prefix`.
 * The words live in `a`. */
static int add_words(Arena *a, const char *text, const char *prefix, int n, char **argv) {
  char *copy = arena_strdup(a, text), *rest = copy, *word;
  while ((word = strtok_r(rest, " ", &rest)) && n < MAX_ARGS - 1) {
    char *mark = strchr(word, '%');
    argv[n++] = mark ? arena_printf(a, "%.*s%s%s", (int)(mark - word), word, prefix, mark + 1) : word;
  }
  argv[n] = NULL;
  return n;
}

/* One run: what workspace_guard is handed. */
typedef struct RunArgs {
  Command c;
  int argc;
  char **argv;
} RunArgs;

static StcStatus parse_and_run(void *arg) {
  static Stop never;
  RunArgs *r = arg;
  StcStatus s = command_parse(&r->c, r->argc, r->argv);
  return s ? s : command_run(&r->c, &never);
}

/* Runs the program with the reference's options and `options` (may be NULL), its outputs named FOLDER/`kind`.... */
static StcStatus run_command(Batch *b, const char *kind, const char *options) {
  char *argv[MAX_ARGS];
  StcConfig config = {.message = keep_error, .user = b};
  StcContext *context = context_of_command(&config);
  Workspace w;
  if (!context || !workspace_open(&w, context, NULL))
    return STC_MEMORY;
  const char *prefix = arena_printf(w.arena, "%s/%s.", b->folder, kind);
  b->messages[0] = 0;
  int n = add_words(w.arena, "stc run --quiet -fno-contract", prefix, 0, argv);
  argv[n++] = b->program;
  n = add_words(w.arena, b->outputs, prefix, n, argv);
  n = add_words(w.arena, b->reference, prefix, n, argv);
  if (options)
    n = add_words(w.arena, options, prefix, n, argv);
  RunArgs args = {{.arena = w.arena, .context = context}, n, argv};
  StcStatus s = workspace_guard(&w, parse_and_run, &args);
  workspace_close(&w);
  stc_context_free(context);
  return s;
}

/* Opens the device that `options` name with --device= and keeps it, if it is one whose driver takes long to start; the
 * one it has, if a failed launch broke that, is opened anew. */
static void hold_device(Batch *b, const char *options) {
  const char *found = strstr(options, "--device=");
  char name[32];
  if (!found || (strncmp(found + 9, "cuda", 4) != 0 && strncmp(found + 9, "hip", 3) != 0) ||
      sscanf(found + 9, "%31s", name) != 1)
    return;
  name[strcspn(name, "-,")] = 0;
  if (b->device.kind && device_works(&b->device))
    return;
  StcConfig config = {.message = keep_error, .user = b};
  if (!b->context && !((b->context = stc_context_new(&config)) && workspace_open(&b->w, b->context, NULL)))
    return;
  if (b->device.kind)
    b->device.kind->close(&b->device);
  if (device_open(&b->w, name, &b->device))
    b->device = (Device){0};
}

/* Lets go what was held. */
static void release_device(Batch *b) {
  if (!b->context)
    return;
  if (b->device.kind)
    b->device.kind->close(&b->device);
  workspace_close(&b->w);
  stc_context_free(b->context);
}

/* What an .npy file that is open at its begin holds: the bytes of a float, those of a complex number's parts, or 0
 * where there are no floats. *first: the byte at which values begin. */
static int float_bytes(FILE *f, long *first) {
  unsigned char head[10];
  char text[MAX_TEXT] = "";
  *first = 0;
  if (fread(head, 1, sizeof head, f) == sizeof head && memcmp(head, "\x93NUMPY", 6) == 0) {
    size_t n = head[8] + 256 * (size_t)head[9], most = n < sizeof text ? n : sizeof text - 1;
    text[fread(text, 1, most, f)] = 0;
    *first = (long)(sizeof head + n);
  }
  rewind(f);
  const char *type = strstr(text, "'descr': '<");
  char kind = type ? type[11] : 0;
  return kind == 'f' ? atoi(type + 12) : kind == 'c' ? atoi(type + 12) / 2 : 0;
}

/* Are the `n` bytes at `bytes`, a float in little-endian order, no number? */
static bool is_nan(const unsigned char *bytes, int n) {
  int mantissa = n == 8 ? 52 : n == 4 ? 23 : 10;
  uint64_t v = 0;
  for (int i = n - 1; i >= 0; i--)
    v = v << 8 | bytes[i];
  v &= ~(UINT64_C(1) << (8 * n - 1));
  return v > ((UINT64_C(1) << (8 * n - 1)) - (UINT64_C(1) << mantissa));
}

/* Compares two open files. -1: equal, where any two floats that are no numbers are; else the first byte where they
 * differ. */
static long compare_open(FILE *f, FILE *g) {
  long first, other, at = 0;
  int size = float_bytes(f, &first), n = float_bytes(g, &other) == size && size && first == other ? size : 1;
  unsigned char x[8], y[8];
  for (;;) {
    size_t want = at < first ? 1 : (size_t)n, a = fread(x, 1, want, f), b = fread(y, 1, want, g), i = 0;
    while (i < a && i < b && x[i] == y[i])
      i++;
    if ((i < a || i < b) && !(want > 1 && a == want && b == want && is_nan(x, n) && is_nan(y, n)))
      return at + (long)i;
    if (a < want)
      return -1;
    at += (long)want;
  }
}

/* Compares the files at x and y: as compare_open; 0 if one cannot be read. */
static long compare_files(const char *x, const char *y) {
  FILE *f = fopen(x, "rb"), *g = fopen(y, "rb");
  long found = f && g ? compare_open(f, g) : 0;
  if (f)
    fclose(f);
  if (g)
    fclose(g);
  return found;
}

/* Compares FOLDER/ref.`name` with FOLDER/got.`name`, and reports if they differ. */
static bool same_file(Batch *b, const char *name) {
  char x[MAX_LINE], y[MAX_LINE];
  snprintf(x, sizeof x, "%s/ref.%s", b->folder, name);
  snprintf(y, sizeof y, "%s/got.%s", b->folder, name);
  long at = compare_files(x, y);
  if (at >= 0)
    fprintf(b->results, "differs %s: byte %ld\n", name, at);
  return at < 0;
}

/* Calls fn with the name of each file in FOLDER that begins with `kind` and a dot and then `stem`, without that kind,
 * until it says false. */
static bool each_file(Batch *b, const char *kind, const char *stem, size_t n, bool (*fn)(Batch *b, const char *name)) {
  DIR *folder = opendir(b->folder);
  bool good = folder != NULL;
  for (struct dirent *e; good && (e = readdir(folder));)
    if (strncmp(e->d_name, kind, strlen(kind)) == 0 && e->d_name[strlen(kind)] == '.' &&
        strncmp(e->d_name + strlen(kind) + 1, stem, n) == 0)
      good = fn(b, e->d_name + strlen(kind) + 1);
  if (folder)
    closedir(folder);
  return good;
}

static bool remove_reference(Batch *b, const char *name) {
  char path[MAX_LINE];
  snprintf(path, sizeof path, "%s/ref.%s", b->folder, name);
  return unlink(path) == 0;
}

static bool remove_got(Batch *b, const char *name) {
  char path[MAX_LINE];
  snprintf(path, sizeof path, "%s/got.%s", b->folder, name);
  return unlink(path) == 0;
}

/* Compares all outputs of the last run with the reference's, and reports. */
static void compare_outputs(Batch *b) {
  char *copy = strdup(b->outputs), *rest = copy, *word;
  bool good = true;
  while (good && (word = strtok_r(rest, " ", &rest))) {
    char *mark = strchr(word, '%'), *step = mark ? strchr(mark + 1, '%') : NULL;
    if (step)
      good = each_file(b, "ref", mark + 1, (size_t)(step - mark - 1), same_file) &&
             each_file(b, "got", mark + 1, (size_t)(step - mark - 1), same_file);
    else if (mark)
      good = same_file(b, mark + 1);
  }
  free(copy);
  if (good)
    fprintf(b->results, "ok\n");
}

/* Does the message say that a tile of the program cannot be walked, or not by a pipeline of warps? */
static bool walk_refused(const char *message) {
  bool known = strstr(message, "use -schedule=overlap") || strstr(message, "take fewer time steps") ||
               strstr(message, "take a smaller -T") || strstr(message, "use -tiles=even") ||
               strstr(message, "leave -cluster out");
  bool warps = strncmp(message, "-schedule=warps: ", 17) == 0 && strstr(message, "use -schedule=stream");
  return (strncmp(message, "-schedule=stream: ", 18) == 0 && known) || warps;
}

/* Does the message say that the grid cannot be cut as asked for? */
static bool split_refused(const char *message) {
  return strstr(message, "cannot yet be cut") || strstr(message, "cannot be cut") ||
         strstr(message, "exchange after fewer steps") || strstr(message, "cannot take turns") ||
         strstr(message, "that take turns (--memory)");
}

/* Does the message say that the schedule asked for is not legal for the program? */
static bool schedule_refused(StcStatus s, const char *message) {
  bool refused = strstr(message, "legal") || split_refused(message) || strstr(message, "share a launch") ||
                 strstr(message, "go one a launch") || strstr(message, "; use -edges=apart") || walk_refused(message) ||
                 strstr(message, "-schedule=naive make fewer");
  bool small = s == STC_MEMORY && strstr(message, "that take turns on "); /* the memory that it may have */
  return ((s == STC_USAGE || s == STC_INPUT) && refused) || small;
}

/* Is it the message of a run that was under way, and so is to be had from every device? */
static bool ended_in_run(const char *message) {
  return strstr(message, "-fcheck=") || strstr(message, "compares is NaN");
}

/* Carries out a line `reference OPTIONS`. */
static void do_reference(Batch *b, const char *options) {
  fprintf(b->results, "start\n");
  fflush(b->results);
  snprintf(b->reference, sizeof b->reference, "%s", options);
  b->status = run_command(b, "ref", "--device=ref");
  memcpy(b->reference_messages, b->messages, sizeof b->messages);
  if (ended_in_run(b->messages))
    fprintf(b->results, "ended %d: %s\n", (int)b->status, b->messages);
  else if (b->status == STC_INPUT || b->status == STC_USAGE)
    fprintf(b->results, "refused %d: %s\n", (int)b->status, b->messages);
  else if (b->status)
    fprintf(b->results, "error %d: %s\n", (int)b->status, b->messages);
  else
    fprintf(b->results, "ok\n");
}

/* Carries out a line `run OPTIONS`. Where the reference ended with an error, another run must do so too, with the same
 * message. */
static void do_run(Batch *b, const char *options) {
  fprintf(b->results, "start\n");
  fflush(b->results);
  hold_device(b, options);
  each_file(b, "got", "", 0, remove_got);
  StcStatus s = run_command(b, "got", options);
  if (schedule_refused(s, b->messages))
    fprintf(b->results, "refused %d: %s\n", (int)s, b->messages);
  else if (s != b->status || (s && strcmp(b->messages, b->reference_messages) != 0))
    fprintf(b->results, "error %d: %s\n", (int)s, b->messages);
  else if (s)
    fprintf(b->results, "same-error %d: %s\n", (int)s, b->messages);
  else
    compare_outputs(b);
}

/* Seconds of processors' time that the process has used. */
static double used_time(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Has the process end by SIGPROF after so many more seconds of processors' time, or by SIGALRM after ten times as long.
 */
static void limit_time(unsigned seconds) {
  struct itimerval all = {.it_value = {.tv_sec = seconds}};
  setitimer(ITIMER_PROF, &all, NULL);
  alarm(10 * seconds);
}

int main(int argc, char **argv) {
  static Batch b;
  static char line[MAX_LINE];
  FILE *in = argc > 3 ? fopen(argv[1], "r") : NULL;
  b.results = in ? fopen(argv[2], "w") : NULL;
  b.folder = argv[3];
  unsigned seconds = argc > 4 ? (unsigned)atoi(argv[4]) : SECONDS;
  if (!b.results)
    return fputs("usage: differential BATCH RESULTS FOLDER [SECONDS]\n", stderr), 2;
  while (fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = 0;
    char *space = strchr(line, ' ');
    const char *rest = space ? space + 1 : "";
    limit_time(seconds);
    double before = used_time();
    if (strncmp(line, "program", 7) == 0)
      snprintf(b.program, sizeof b.program, "%s", rest), each_file(&b, "ref", "", 0, remove_reference);
    else if (strncmp(line, "outputs", 7) == 0)
      snprintf(b.outputs, sizeof b.outputs, "%s", rest);
    else if (strncmp(line, "reference", 9) == 0)
      do_reference(&b, rest);
    else if (strncmp(line, "run", 3) == 0)
      do_run(&b, rest);
    if (strncmp(line, "r", 1) == 0)
      fprintf(b.results, "took %.3f\n", used_time() - before);
  }
  fclose(in);
  release_device(&b);
  return fclose(b.results) != 0;
}
