/* driver/data/series.h: reductions' values and what probes see, as text and as files (series.c, series-hdf5.c). */
#ifndef STC_DRIVER_SERIES_H
#define STC_DRIVER_SERIES_H

#include "driver/data/data.h"
#include "driver/instance/instance.h"

/* The values that reductions had while a program ran, in order of evaluation, and what its probes saw (malloc). */
typedef struct Series {
  StcContext *context;
  const StcProgram *program;
  int64_t n, capacity;
  StcReduction *values;
  int64_t nrows, row_capacity;
  StcProbe *rows; /* with values of their own (malloc) */
  bool full;
} Series;
/* What stc_plan_series calls: appends. Sets `full` when there is no memory for more. */
void series_add(void *user, const StcReduction *r);
/* What stc_plan_probes calls: the same. */
void series_add_row(void *user, const StcProbe *row);
/* Element `i` of the row as a number. */
double row_value(const StcProbe *row, int64_t i);
void series_free(Series *s);
/* Prints a line for each reduction, and each probe of a single point: at most 10 of its values, the last one always,
 * and how many there are if that is more; of other probes how many values there are; rounds of repeats, but for those
 * that are alike each time. `until` is the one whose condition ended the run, or NULL. */
void series_print(FILE *to, const Series *s, const char *until);
/* The last value of each reduction as the inside of a JSON object. */
void series_print_json(FILE *to, const Series *s);
/* Writes a .csv: a column `step`, one for each of the program's reductions, and one for each point of its probes, empty
 * where one was not evaluated. */
StcStatus series_write(const Series *s, const char *path);
/* The same as an HDF5 file: groups /reductions/NAME and /probes/NAME of the arrays `step` and `value`, of probes also
 * `points`, their coordinates in `plan`. */
StcStatus series_write_hdf5(const Series *s, StcPlan *plan, const char *path);

#endif
