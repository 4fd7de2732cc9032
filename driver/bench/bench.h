/* driver/bench/bench.h: `stc bench`.
 *
 *   bench-programs.c   the programs, whose texts are part of stc
 *   bench-set.c        which programs, types and sizes are measured
 *   bench.c            measuring them
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
/* All of them, ended by one without a name; and the one that copies a field. */
extern const BenchProgram bench_programs[], bench_copy;

/* A size of grid: only programs of its rank have it. small: launches and latency rule. */
typedef struct BenchSize {
  int rank;
  int64_t extents[MAX_RANK];
  bool small;
} BenchSize;

/* What is to be measured. */
typedef struct BenchSet {
  int nprograms;
  const BenchProgram **programs;
  int ntypes;
  const char **types;
  int nsizes;
  BenchSize *sizes;
} BenchSet;

/* The choice that the command line makes, for the device of kind `k`. */
StcStatus bench_set_choose(const Command *c, const DeviceKind *k, BenchSet *out);
/* "16384x16384". */
const char *bench_size_text(Arena *a, const BenchSize *s);

/* A line of the table: a program of a type and size under one family's schedule. why: it was left out, and for what
 * reason ("": it was measured). chosen: it is what stc takes if no schedule is given. spread is that of the
 * middle figure's fellows, (most - least) / median; of_copy and of_arithmetic are fractions of what the device could do
 * at one step a pass through memory, and of its arithmetic (0: not known). */
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

/* All that was measured, and where. */
typedef struct BenchReport {
  const char *device;
  double copy_rate;
  char date[16];
  int nrows;
  BenchRow *rows;
  bool begun;
} BenchReport;

/* Prints the line of the table for `r`, after the table's head if it is the first. */
void bench_print_row(FILE *to, BenchReport *report, const BenchRow *r);
/* How fast what stc chooses by itself is beside the tuned schedules: the number of rows that have both, the geometric
 * mean of the ratio, the least and whose that is. */
typedef struct BenchSummary {
  int n;
  double mean, least;
  const BenchRow *worst;
} BenchSummary;
BenchSummary bench_summarize(const BenchReport *report);
/* Prints that, if there is something to say. */
void bench_print_summary(FILE *to, const BenchReport *report);
/* Writes the JSON file. */
StcStatus bench_write_json(const Command *c, const BenchReport *report, const char *path);

#endif
