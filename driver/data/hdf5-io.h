/* driver/data/hdf5-io.h: what the files that use the HDF5 library share: hdf5.c, checkpoint.c, restart.c. */
#ifndef STC_DRIVER_DATA_HDF5_IO_H
#define STC_DRIVER_DATA_HDF5_IO_H

#include "driver/data/writer.h"

#include <hdf5.h>

/* Takes the library for this thread, and gives it back: it has state of its own. */
void hdf5_take(void);
void hdf5_give(void);
/* The system's own words for the library's last error, into `reason`. */
void hdf5_reason(char reason[256]);
/* Reports that the writer's file cannot be written, and why. Returns STC_IO. */
StcStatus hdf5_report(const Writer *w);
/* Attributes of a file, group or array: a text; `n` numbers; the params, in a new group. False after an error. */
bool hdf5_put_text(hid_t of, const char *name, const char *text);
bool hdf5_put_numbers(hid_t of, const char *name, hid_t type, int n, const void *values);
bool hdf5_put_params(hid_t file, const char *group, const Facts *f);

/* The format of checkpoints, and what is copied for one beside fields and arrays: values of the program's reductions,
 * and the series of them so far. until: the name of the `until` that has ended the run, or "". */
enum { CHECKPOINT_VERSION = 1 };
typedef struct RunState {
  const char *until;
  int nreductions;
  int64_t nseries;
  Const *values;
  StcReduction *series;
} RunState;

#endif
