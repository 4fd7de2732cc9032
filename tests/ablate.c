/* ablate.c: which rows of passes/base/tuning.def and ir/measured.def decide anything (tests/ablate.py asks it)?
 *
 *   ablate rows              prints the rows' names
 *   ablate sums CASES        prints each case with a sum of its plan and kernel IR
 *   ablate set  SUMS [--all] reads "ROW[,ROW..]=VALUE N" and tries each on the first N of these cases: prints the
 * setting, how many cases change, how it ended, the first case that changes; without --all it stops there
 *
 * A case is a line "PATH MARCH MCPU REAL GRID". VALUE is xF, a factor for all numbers of the row, or a number in place
 * of each of them. Each setting is tried in a process of its own: a value
 * without sense may crash it or take forever, which is a change, too. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The record, on pages of its own. */
#define tuning __attribute__((aligned(4096))) tuning
#define measured __attribute__((aligned(4096))) measured
#define op_weights __attribute__((aligned(4096))) op_weights
#define model_finished __attribute__((aligned(4096))) model_finished
#define model_counted __attribute__((aligned(4096))) model_counted
#include "ir/measured.c"
#include "passes/base/tuning.c"
#undef tuning
#undef measured
#undef op_weights
#undef model_finished
#undef model_counted
#include "driver/stc.h"

enum { CASES = 20000, LONG = 512, SECONDS = 10, TRAP_FLAG = 0x100 };
typedef enum Kind { DOUBLE, INT32, INT64 } Kind;
typedef struct Row {
  const char *name;
  const void *at[2];
  size_t size;
  Kind kind;
} Row;
#define KIND_OF(x) _Generic((x), double: DOUBLE, int32_t: INT32, int64_t: INT64)

static const Row rows[] = {
#define TUNING(name, ...) {#name, {&tuning.name}, sizeof tuning.name, DOUBLE},
#define TUNING_BY_RANK TUNING
#define TUNING_FROM_2 TUNING
#define TUNING_SHAPE(name, ...) {#name, {&tuning.name}, sizeof tuning.name, INT64},
#include "passes/base/tuning.def"
#define MEASURED(name, ...) {#name, {&measured.name}, sizeof measured.name, DOUBLE},
#define MEASURED_BY_RANK MEASURED
#define MEASURED_FROM_2 MEASURED
#define MEASURED_OP(name, ...) {"op:" #name, {&op_weights.name}, sizeof op_weights.name, INT32},
#define MEASURED_MODEL(name, ...) {#name, {&model_finished.name, &model_counted.name}, sizeof(double), DOUBLE},
#include "ir/measured.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

static const struct {
  const void *at;
  size_t size;
} records[] = {{&tuning, sizeof tuning},
               {&measured, sizeof measured},
               {&op_weights, sizeof op_weights},
               {&model_finished, sizeof model_finished},
               {&model_counted, sizeof model_counted}};

static char *cases[CASES];

/* Lets the record's pages be written. */
static void unprotect(void) {
  for (size_t i = 0; i < sizeof records / sizeof *records; ++i)
    mprotect((void *)records[i].at, (records[i].size + 4095) / 4096 * 4096, PROT_READ | PROT_WRITE);
}

static void silent(void *user, const StcMessage *m) { (void)user, (void)m; }

static uint64_t mixed(uint64_t h, const char *text, size_t size) {
  for (size_t i = 0; i < size; ++i)
    h = (h ^ (unsigned char)text[i]) * 1099511628211u;
  return h;
}

/* A sum of the plan and the kernel IR of a case; of how it failed, if it did. */
static uint64_t compiled(const char *line) {
  char path[LONG], march[64], mcpu[64], real[8], grid[64];
  if (sscanf(line, "%511s %63s %63s %7s %63s", path, march, mcpu, real, grid) != 5)
    exit(2);
  StcOptions o = {.march = march, .mcpu = mcpu, .real = real};
  sscanf(grid, "%ldx%ldx%ld", &o.grid[0], &o.grid[1], &o.grid[2]);
  const StcConfig config = {.message = silent};
  StcContext *c = stc_context_new(&config);
  StcProgram *p;
  const char *text;
  size_t size;
  StcStatus s = stc_compile_file(c, path, &o, &p);
  uint64_t h = 14695981039346656037u + s;
  if (!s && !(s = stc_program_plan(p, &text)))
    h = mixed(h, text, strlen(text));
  if (!s && !(s = stc_program_emit(p, STC_EMIT_KIR, &text, &size)))
    h = mixed(h, text, size);
  stc_context_free((h += s, s == STC_OK ? stc_program_free(p) : (void)0, c));
  return h;
}

/* Writes a value, or a factor times each number, into a row. */
static void set_row(const Row *r, double value, bool factor) {
  for (int k = 0; k < 2 && r->at[k]; ++k) {
    const size_t one = r->kind == INT32 ? 4 : 8;
    for (size_t i = 0; i < r->size / one; ++i) {
      char *at = (char *)r->at[k] + i * one;
      if (r->kind == DOUBLE)
        *(double *)at = factor ? *(double *)at * value : value;
      else if (r->kind == INT32)
        *(int32_t *)at = (int32_t)(factor ? *(int32_t *)at * value : value);
      else
        *(int64_t *)at = (int64_t)(factor ? (double)*(int64_t *)at * value : value);
    }
  }
}

/* Writes "NAME[,NAME..]=VALUE" into the record. */
static void set(const char *setting) {
  char copy[1 << 16];
  snprintf(copy, sizeof copy, "%s", setting);
  char *value = strchr(copy, '=');
  *value++ = 0;
  unprotect();
  for (char *name = strtok(copy, ","); name; name = strtok(NULL, ",")) {
    int found = 0;
    for (int r = 0; r < ROWS; ++r)
      if (strcmp(rows[r].name, name) == 0)
        set_row(&rows[r], atof(value + (*value == 'x')), *value == 'x'), found = 1;
    if (!found)
      fprintf(stderr, "no row %s\n", name), exit(2);
  }
}

/* Tries a setting on the first n cases, in a process of its own. */
static void try(const char *setting, int n, const uint64_t *sums, bool all) {
  volatile int *state = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  state[0] = -1, state[1] = 0, state[2] = -1;
  pid_t child = fork();
  if (child == 0) {
    set(setting);
    for (int i = 0; i < n && (all || state[1] == 0); ++i) {
      state[2] = i;
      alarm(SECONDS);
      if (compiled(cases[i]) != sums[i] && state[1]++ == 0)
        state[0] = i;
    }
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  const int first = state[0] >= 0 || !status ? state[0] : state[2];
  printf("%s\t%d\t%s\t%s\n", setting, state[1] + !!status, status ? "crashed" : "ended",
         first >= 0 ? cases[first] : "-");
  fflush(stdout);
}

/* Reads settings, "SETTING N" (the first N cases), and tries each. */
static void try_all(const uint64_t *sums, int n, bool all) {
  static char line[1 << 16];
  while (fgets(line, sizeof line, stdin)) {
    char *rest = line, *setting = strsep(&rest, " \n");
    const int count = rest && *rest ? atoi(rest) : n;
    try(setting, count < n ? count : n, sums, all);
  }
}

int main(int argc, char **argv) {
  static uint64_t sums[CASES];
  FILE *f = argc > 2 ? fopen(argv[2], "r") : NULL;
  char line[2 * LONG];
  int n = 0;
  if (argc == 2 && strcmp(argv[1], "rows") == 0)
    for (int r = 0; r < ROWS; ++r)
      printf("%s\n", rows[r].name);
  if (!f)
    return argc != 2;
  for (; n < CASES && fgets(line, sizeof line, f); ++n) {
    char *rest = strtok(line, "\n"), *sum = strchr(rest, '\t');
    sums[n] = sum ? strtoull(sum, NULL, 16) : 0;
    cases[n] = strndup(rest, sum ? (size_t)(sum - rest) : strlen(rest));
  }
  fclose(f);
  if (strcmp(argv[1], "sums") == 0)
    for (int i = 0; i < n; ++i)
      printf("%s\t%016" PRIx64 "\n", cases[i], compiled(cases[i])), fflush(stdout);
  else
    try_all(sums, n, argc > 3 && strcmp(argv[3], "--all") == 0);
  return 0;
}
