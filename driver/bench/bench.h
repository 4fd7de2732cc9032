/* driver/bench/bench.h: `stc bench`.
 *
 *   bench-programs.c   the programs, whose texts are part of stc
 *   bench-set.c        the choice of programs, types and sizes
 *   bench.c            the measurements
 *   bench-report.c     the table and the JSON file
 */
#ifndef STC_DRIVER_BENCH_H
#define STC_DRIVER_BENCH_H

#include "driver/explain/explain.h"
#include "driver/tune/trial.h"

/* A program of the bench. */
typedef struct BenchProgram {
  const char *name, *text;
} BenchProgram;
/* All of them, ended by one without a name; and the program that copies a field. */
extern const BenchProgram bench_programs[], bench_copy;

/* A size of grid, for programs of its rank. small: launches and latency dominate the time. */
typedef struct BenchSize {
  int rank;
  int64_t extents[MAX_RANK];
  bool small;
} BenchSize;

/* The programs, types and sizes to be measured. */
typedef struct BenchSet {
  int nprograms;
  const BenchProgram **programs;
  int ntypes;
  const char **types;
  int nsizes;
  BenchSize *sizes;
} BenchSet;

/* Chooses them by the command line, for the device of kind `k`. */
StcStatus bench_set_choose(const Command *c, const DeviceKind *k, BenchSet *out);
/* The text of a size: "16384x16384". */
const char *bench_size_text(Arena *a, const BenchSize *s);

/* A line of the table: a program of a type and size under one family's schedule. why: the reason why it was left out
 * ("": it was measured). chosen: it is stc's default schedule. spread: that of the samples, (most - least) / median;
 * of_copy and of_arithmetic: fractions of what the device could do if each step passed through memory once, and of its
 * arithmetic (0: not known). */
typedef struct BenchRow {
  const char *program, *type, *size, *family, *schedule, *why;
  int T;
  double gpts, spread, of_copy, of_arithmetic, check_error;
  KernelInfo kernel;
  Expected expected; /* gpts 0: not known */
  Work work;
  int nsamples;
  const double *samples;
  bool finite, chosen;
} BenchRow;

/* All measurements, and the device. */
typedef struct BenchReport {
  const char *device;
  double copy_rate;
  char date[16];
  int nrows;
  BenchRow *rows;
  bool begun;
} BenchReport;

/* Prints the table's line for `r`; before the first line also the table's head. */
void bench_print_row(FILE *to, BenchReport *report, const BenchRow *r);
/* The speed of stc's default schedules compared with the tuned ones: the number of rows that have both, the geometric
 * mean of the ratio, the smallest ratio and its row. */
typedef struct BenchSummary {
  int n;
  double mean, least;
  const BenchRow *worst;
} BenchSummary;
BenchSummary bench_summarize(const BenchReport *report);
/* Prints this summary, if there are such rows. */
void bench_print_summary(FILE *to, const BenchReport *report);
/* Writes the JSON file. */
StcStatus bench_write_json(const Command *c, const BenchReport *report, const char *path);

#endif
