/* driver/data/hdf5-io.h: what the files that use the HDF5 library share: hdf5.c, hdf5-chunks.c, checkpoint.c,
 * restart.c. */
#ifndef STC_DRIVER_DATA_HDF5_IO_H
#define STC_DRIVER_DATA_HDF5_IO_H

#include "driver/data/writer.h"

#include <hdf5.h>

/* Takes the library for this thread, and gives it back: it has state of its own. */
void hdf5_take(void);
void hdf5_give(void);
/* The system's own words for the library's last error, into `reason`; or those of an error beside it. */
void hdf5_reason(char reason[256]);
/* Has the library had an error since it was taken? */
bool hdf5_failed(void);
void hdf5_set_reason(const char *reason);
/* Reports that the writer's file cannot be written, and why. Returns STC_IO. */
StcStatus hdf5_report(const Writer *w);
/* Creates the file `part`, NAME.part, anew, with the mode of NAME where that is there: the file of that name,
 * which a run that was killed may have left, is replaced, and never written through, as a link would have it; unless
 * another process writes it: an error. Negative after one. */
hid_t hdf5_create(const char *part, hid_t properties, hid_t access);
/* A new group of a file or group, which holds no time; negative after an error. */
hid_t hdf5_make_group(hid_t in, const char *name);
/* Attributes of a file, group or array: a text; `n` numbers; the params, in a new group. False after an error. */
bool hdf5_put_text(hid_t of, const char *name, const char *text);
bool hdf5_put_numbers(hid_t of, const char *name, hid_t type, int n, const void *values);
bool hdf5_put_params(hid_t file, const char *group, const Facts *f);

/* ---------------------------------------------------------------- arrays of many steps: hdf5.c, hdf5-chunks.c */

/* The most dimensions of an array: the step, the points' and the vectors'. */
enum { MAX_DIMS = 16 };
/* An array of the file. */
typedef struct Dataset {
  FieldPart part;
  hid_t set, type;
  int rank;
  hsize_t shape[MAX_DIMS]; /* with that of one step in front */
  hsize_t chunk[MAX_DIMS];
  bool pieces; /* every chunk is one piece of the step's values in memory, filled up with zeros where they end */
  int level;   /* at which zlib compresses it, 0: not at all */
} Dataset;
/* Properties of arrays: chunks of such a shape (none if `chunk` is NULL), shuffled and compressed at `level`. */
hid_t hdf5_chunked(int rank, const hsize_t *chunk, int level);
/* The shape of an array's chunks: that of a step, halved along its slowest dimension of several until it is small
 * enough. So a chunk is one piece of memory. */
void chunks_choose(const Dataset *a, hsize_t *chunk);
/* Notes how the array's chunks stand in the file, which an earlier run may have made. */
void chunks_note(Dataset *a);
/* Is there room on the disk for the next step of `n` arrays, as far as that is known before their values are
 * compressed? Sets it aside. False: hdf5_reason says why not. */
bool chunks_reserve(hid_t file, int n, const Dataset *arrays);
/* Writes one step at place `at` of an array, made longer by it. What is compressed makes sure of its room itself: false
 * leaves a file that can be ended. */
bool chunks_append(hid_t file, const Dataset *a, int64_t at, const void *values);
/* Are all chunks of so many steps there? Where writing one fails the library may lose another. */
bool chunks_are_there(const Dataset *a, int64_t steps);
/* Where all ranks write (joint.h): the pieces of array number `array`, which are its chunks where these are pieces of
 * memory. Makes the array longer by the step at place `at`; there is room on the disk then, and, of such chunks, a
 * place in the file, which others write. Else the pieces are written here, one after the other. */
void chunks_lay(const Dataset *a, Joint *x, int array);
bool chunks_place(hid_t file, const Dataset *a, int64_t at, Pieces *p);
bool chunks_take(const Dataset *a, int64_t at, int64_t piece, const void *values);

/* ---------------------------------------------------------------- chunks that others write: hdf5-places.c */

/* Has a file be opened so that others can write chunks of it; false: the library looks places up, which takes long.
 * Has the library believe that it has written a chunk of `size` bytes, and says where in the file it is to be; any:
 * memory as large. */
bool hdf5_open_for_others(hid_t access);
bool hdf5_place_chunk(hid_t set, const hsize_t *offset, size_t size, const void *any, int64_t *at);
/* Where in a file that was opened so the chunk lies whose first element is at `offset`, its bytes there, and the
 * filters (by bits) that were left out when it was written. False: nobody has written it, or the library has failed. */
bool hdf5_find_chunk(hid_t set, const hsize_t *offset, int64_t *at, size_t *size, unsigned *mask);

/* ---------------------------------------------------------------- arrays of logs and checkpoints */

/* Writes `n` values of `type` as the new array `name` of a group or file, in one piece, with `sum`, the checkpoint_sum
 * of it, as an attribute; *place becomes the byte of the file where it begins, 0: it has none. values: NULL: others
 * write them there. False after an error. */
bool hdf5_put_plain(hid_t group, const char *name, hid_t type, hsize_t n, const void *values, uint64_t sum,
                    int64_t *place);
/* A new type of complex numbers of floats `t`, a compound as h5py makes it. */
hid_t hdf5_complex_type(StcType t);
/* The type that files have for values of type `t`, or for their bits where readers need not know what they mean. */
hid_t hdf5_type(StcType t);
hid_t hdf5_bits_type(StcType t);

/* What one probe saw: the steps of n rows, and their values one after the other, `length` in `bytes` bytes a row (both
 * malloc). */
typedef struct ProbeRows {
  int64_t n, length;
  size_t bytes;
  int64_t *steps;
  char *values;
} ProbeRows;
/* The rows of probe `name` among `n`; false if there is no memory. Free it in both cases. */
bool probe_rows(int64_t n, const StcProbe *rows, const char *name, ProbeRows *out);
void probe_rows_free(ProbeRows *r);

/* The version of the checkpoints' format, and what is copied for one beside fields and arrays: values of the program's
 * reductions and, behind them, of its scalars that are kept, the series of the reductions so far, and what probes saw,
 * whose values are the series' own. until: the name of the `until` that has ended the run, or "". */
enum { CHECKPOINT_VERSION = 4 };
typedef struct RunState {
  const char *until;
  int nreductions, nscalars;
  int64_t nseries, nrows, members;
  Const *values;
  StcReduction *series;
  StcProbe *rows;
} RunState;

/* What `n` values of `size` bytes, from element number `first` of a field on, add to the field's checksum: so parts of
 * a field can be added up in any order. */
uint64_t checkpoint_sum(const void *values, int64_t size, int64_t first, int64_t n);
/* Creates the checkpoint of a step in the file `part`, with room for fields, whose checksums are sums[] by source, at
 * places[] of the file; data: of the other sources. Ends it, its name on the disk or, with a status, removed. */
StcStatus checkpoint_create(Writer *w, const char *part, int64_t step, const void *const *data, const uint64_t *sums,
                            int64_t *places);
StcStatus checkpoint_end(Writer *w, const char *part, StcStatus s);
/* checkpoint-parts.c, where no rank has the whole grid: sets what this rank's parts have of a component whose values
 * are at byte `place` of the file, *sum: what their own points add to the checksum. Have all `n` fields, all ranks
 * together, the right ones? Else *which has not. */
StcStatus checkpoint_read_parts(const Job *j, const char *path, FieldPlace at, int64_t place, uint64_t *sum);
bool checkpoint_same_sums(const Job *j, int n, const uint64_t *mine, const uint64_t *want, int *which);

#endif
