/* tests/programs/barrier_deletion.c: no barrier is there by rote.
 *
 *   barrier_deletion [-v] [-each=N] FILE.stn...
 *
 * For each program: compiles it under the overlap schedule, T = 2, to kernel IR; runs that on the simulator, which
 * must find no fault; then deletes each
 * barrier from the text in turn, or every Nth, and runs again, which must report a race each time. There must be at
 * least one barrier in each program.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/instance/instance.h"
#include "driver/stc.h"

enum { MAX_TEXT = 8192 };

/* What is known of the run: the messages of the last call, and the failures so far. Of a program's barriers each
 * `each`th is deleted. */
typedef struct Test {
  StcContext *context;
  char messages[MAX_TEXT];
  int each, failures;
  bool verbose;
} Test;

/* Blocks, points a thread and extents by rank; the first that stc finds legal is taken. Extents span at least three
 * tiles, so that there are tiles at the edge and tiles inside. */
typedef struct Shape {
  int block[3], elems[3];
  const char *defines[3];
} Shape;
static const Shape shapes[3][3] = {
    {{{32}, {1}, {"N=100"}}, {{32}, {2}, {"N=160"}}, {{64}, {4}, {"N=900"}}},
    {{{8, 8}, {1, 1}, {"N=17", "M=17"}}, {{8, 8}, {2, 2}, {"N=40", "M=40"}}, {{8, 16}, {4, 2}, {"N=80", "M=80"}}},
    {{{8, 8, 8}, {1, 1, 1}, {"N=14", "M=14", "L=14"}},
     {{8, 8, 8}, {2, 2, 2}, {"N=30", "M=30", "L=30"}},
     {{8, 8, 8}, {2, 2, 2}, {"N=30", "M=30", "L=30"}}},
};

/* Keeps message `m` in the Test `user`. */
static void keep_message(void *user, const StcMessage *m) {
  Test *t = user;
  size_t n = strlen(t->messages);
  snprintf(t->messages + n, MAX_TEXT - n, "%d:%d: %s\n", m->line, m->column, m->text);
}

/* Prints a failure of `path` with the last messages. */
static void fail(Test *t, const char *path, const char *fmt, ...) {
  va_list ap;
  t->failures++;
  va_start(ap, fmt);
  printf("FAIL %s: ", path);
  vprintf(fmt, ap);
  printf("\n%s", t->messages);
  va_end(ap);
}

/* Fills the launch-time arrays of `p` with zeros, coordinates of the grid with such as rise. */
static StcStatus clear_arrays(const StcProgram *p, StcPlan *plan) {
  StcStatus s = STC_OK;
  for (int i = 0; i < stc_program_array_count(p) && s == STC_OK; i++) {
    StcFieldInfo info;
    s = stc_plan_array(plan, i, &info);
    if (s != STC_OK)
      return s;
    char *data = calloc((size_t)info.bytes + 1, 1);
    if (coordinates_of(plan->module, i) >= 0)
      plan_random_points(plan, i, 1, data);
    s = stc_plan_set_array(plan, i, data, (size_t)info.bytes);
    free(data);
  }
  return s;
}

/* Runs kernel IR `text` for `steps` steps on the simulator: of 3 the kernel of two steps makes the first two, that of
 * one step the last. */
static StcStatus simulate(Test *t, const char *text, const Shape *shape, int rank, int steps) {
  StcOptions o = {.march = "nvptx"};
  StcProgram *p = NULL;
  StcPlan *plan = NULL;
  t->messages[0] = 0;
  StcStatus s = stc_compile_string(t->context, "deleted.kir", text, &o, &p);
  if (s == STC_OK)
    s = stc_plan_new(p, "sim", rank, shape->defines, &plan);
  if (s == STC_OK)
    s = clear_arrays(p, plan);
  if (s == STC_OK)
    s = stc_plan_run(plan, steps, NULL);
  stc_plan_free(plan);
  stc_program_free(p);
  return s;
}

/* The start of the line of the `n`-th barrier in `text`, from 0; NULL if there are fewer. */
static const char *find_barrier(const char *text, int n) {
  for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    const char *word = line + strspn(line, " \t");
    if (strncmp(word, "barrier", 7) == 0 && strchr(" \t\r\n", word[7]) && n-- == 0)
      return line;
  }
  return NULL;
}

/* A copy of `text` without the line at `line`. */
static char *without_line(const char *text, const char *line) {
  size_t before = (size_t)(line - text), after = strcspn(line, "\n") + 1;
  char *s = malloc(strlen(text) + 1);
  memcpy(s, text, before);
  strcpy(s + before, line + after);
  return s;
}

/* The rank of the program at `path`; 0 after a failure. */
static int rank_of(Test *t, const char *path) {
  StcOptions naive = {.march = "nvptx", .schedule = "naive"};
  StcProgram *p = NULL;
  t->messages[0] = 0;
  int rank = stc_compile_file(t->context, path, &naive, &p) == STC_OK ? stc_program_rank(p) : 0;
  stc_program_free(p);
  return rank;
}

/* The kernel IR of the program at `path` with the first legal shape, which is set, as a string to be freed. NULL after
 * a failure. */
static char *kernel_text(Test *t, const char *path, int rank, const Shape **shape) {
  for (int i = 0; i < 3 && rank; i++) {
    StcOptions o = {.march = "nvptx", .schedule = "overlap", .T = 2};
    StcProgram *p = NULL;
    const char *bytes = NULL;
    char *text = NULL;
    size_t size = 0;
    *shape = &shapes[rank - 1][i];
    memcpy(o.block, (*shape)->block, sizeof o.block);
    memcpy(o.elems, (*shape)->elems, sizeof o.elems);
    t->messages[0] = 0;
    StcStatus s = stc_compile_file(t->context, path, &o, &p);
    if (s == STC_OK)
      s = stc_program_emit(p, STC_EMIT_KIR, &bytes, &size);
    if (s == STC_OK) {
      text = calloc(size + 1, 1);
      memcpy(text, bytes, size);
    }
    stc_program_free(p);
    if (text || !strstr(t->messages, "legal"))
      return text;
  }
  return NULL;
}

/* Tests the barriers of the kernel IR `text` of `path`. Returns their number. A barrier is in the kernel of two steps
 * or in that of one, and as a rule in the same one as the barrier before it: that kernel alone is run first. */
static int delete_each(Test *t, const char *path, const char *text, const Shape *shape, int rank) {
  int n = 0, steps = 2;
  for (const char *line; (line = find_barrier(text, n)); n += t->each) {
    char *shorter = without_line(text, line);
    StcStatus s = simulate(t, shorter, shape, rank, steps);
    if (s == STC_OK) {
      steps = 3 - steps;
      s = simulate(t, shorter, shape, rank, steps);
    }
    if (s == STC_OK || !strstr(t->messages, "race"))
      fail(t, path, "without barrier %d the simulator reports no race, status %d", n, (int)s);
    else if (t->verbose)
      printf("%s: without barrier %d: %s", path, n, t->messages);
    free(shorter);
  }
  return n;
}

/* Tests one program. */
static void test_program(Test *t, const char *path) {
  const Shape *shape = NULL;
  int rank = rank_of(t, path), n = 0;
  char *text = kernel_text(t, path, rank, &shape);
  if (!text) {
    fail(t, path, "no kernel IR");
    return;
  }
  if (simulate(t, text, shape, rank, 3) != STC_OK)
    fail(t, path, "the simulator finds a fault in the kernel as printed");
  else
    n = delete_each(t, path, text, shape, rank);
  if (n == 0)
    fail(t, path, "no barrier found");
  printf("%s: %d barriers\n", path, n);
  free(text);
}

int main(int argc, char **argv) {
  Test t = {.each = 1};
  StcConfig config = {.message = keep_message, .user = &t};
  t.context = stc_context_new(&config);
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "-v") == 0)
      t.verbose = true;
    else if (strncmp(argv[i], "-each=", 6) == 0 && atoi(argv[i] + 6) > 0)
      t.each = atoi(argv[i] + 6);
    else
      test_program(&t, argv[i]);
  }
  stc_context_free(t.context);
  return t.failures || argc < 2 ? 1 : 0;
}
