/* driver/data/series.h: values of reductions and of probes, as text and in files (series.c, series-hdf5.c). */
#ifndef STC_DRIVER_SERIES_H
#define STC_DRIVER_SERIES_H

#include "driver/data/data.h"
#include "driver/instance/instance.h"

/* The values of reductions during a run, in order of evaluation, and the rows of its probes (malloc). */
typedef struct Series {
  StcContext *context;
  const StcProgram *program;
  int64_t n, capacity;
  StcReduction *values;
  int64_t nrows, row_capacity;
  StcProbe *rows; /* each with a copy of its values (malloc) */
  bool full;
} Series;
/* Appends a value: the callback of stc_plan_series. Sets `full` if there is no memory for more. */
void series_add(void *user, const StcReduction *r);
/* Appends a row: the callback of stc_plan_probes. */
void series_add_row(void *user, const StcProbe *row);
/* Element `i` of the row as a number. */
double row_value(const StcProbe *row, int64_t i);
void series_free(Series *s);
/* Prints a line for each reduction and each probe of a single point: at most 10 of its values, including the last, and
 * their number if there are more; for other probes only the number of values; also the numbers of rounds of repeats,
 * except those that are the same each time. `until`: the name of the one whose condition ended the run, or NULL. */
void series_print(FILE *to, const Series *s, const char *until);
/* Prints the last value of each reduction, as members of a JSON object. */
void series_print_json(FILE *to, const Series *s);
/* Writes a .csv file: a column `step`, one for each of the program's reductions, and one for each point of its probes;
 * cells are empty where a reduction or probe was not evaluated. */
StcStatus series_write(const Series *s, const char *path);
/* Writes the same as an HDF5 file: groups /reductions/NAME and /probes/NAME with the arrays `step` and `value`, and for
 * probes also `points`, with their coordinates in `plan`. */
StcStatus series_write_hdf5(const Series *s, StcPlan *plan, const char *path);

#endif
