/* driver/data/hdf5-io.h: declarations for the files that use the HDF5 library: hdf5.c, hdf5-chunks.c, checkpoint.c,
 * restart.c. */
#ifndef STC_DRIVER_DATA_HDF5_IO_H
#define STC_DRIVER_DATA_HDF5_IO_H

#include "driver/data/writer.h"

#include <hdf5.h>

/* Locks the library for this thread, and unlocks it: the library has global state. */
void hdf5_take(void);
void hdf5_give(void);
/* Write to `reason` the system's text for the library's last error; or for an error outside the library. */
void hdf5_reason(char reason[256]);
/* Has the library had an error since it was locked? */
bool hdf5_failed(void);
void hdf5_set_reason(const char *reason);
/* Reports that the writer's file cannot be written, and the reason. Returns STC_IO. */
StcStatus hdf5_report(const Writer *w);
/* Creates the file `part`, NAME.part, with the mode of NAME if that file exists. An existing file of that name, which a
 * run that was killed may have left, is replaced and never written through, even if it is a link; it is an error if
 * another process is writing it. Negative after an error. */
hid_t hdf5_create(const char *part, hid_t properties, hid_t access);
/* Makes a group in a file or group, without times; negative after an error. */
hid_t hdf5_make_group(hid_t in, const char *name);
/* Add attributes to a file, group or array: a text; `n` numbers; the params, in a new group. False after an error. */
bool hdf5_put_text(hid_t of, const char *name, const char *text);
bool hdf5_put_numbers(hid_t of, const char *name, hid_t type, int n, const void *values);
bool hdf5_put_params(hid_t file, const char *group, const Facts *f);

/* ---------------------------------------------------------------- arrays of many steps: hdf5.c, hdf5-chunks.c */

/* The most dimensions of an array: the step's, the points' and the vectors'. */
enum { MAX_DIMS = 16 };
/* An array of the file. */
typedef struct Dataset {
  FieldPart part;
  hid_t set, type;
  int rank;
  hsize_t shape[MAX_DIMS]; /* with the length of one step in front */
  hsize_t chunk[MAX_DIMS];
  bool pieces; /* every chunk is one piece of a step's values in memory, padded with zeros at the end */
  int level;   /* zlib's compression level; 0: none */
} Dataset;
/* Properties for arrays with chunks of this shape (no chunks if `chunk` is NULL), shuffled and compressed at `level`.
 */
hid_t hdf5_chunked(int rank, const hsize_t *chunk, int level);
/* Chooses the shape of an array's chunks: a step's shape, halved along its slowest dimension longer than one until it
 * is small enough. So a chunk is contiguous in memory. */
void chunks_choose(const Dataset *a, hsize_t *chunk);
/* Records how the array's chunks are stored in the file, which an earlier run may have made. */
void chunks_note(Dataset *a);
/* Reserves room on the disk for the next step of `n` arrays, as far as it is known before their values are compressed.
 * False if there is none: hdf5_reason tells the reason. */
bool chunks_reserve(hid_t file, int n, const Dataset *arrays);
/* Writes one step at index `at` of an array, and extends the array by it. Reserves room for compressed values itself:
 * after false the file can still be closed. */
bool chunks_append(hid_t file, const Dataset *a, int64_t at, const void *values);
/* Are all chunks of `steps` steps in the file? If the library fails to write one, it may lose another. */
bool chunks_are_there(const Dataset *a, int64_t steps);
/* For files that all ranks write (joint.h). chunks_lay finds the pieces of array number `array`: its chunks, if each is
 * contiguous in memory. chunks_place extends the array by the step at index `at`, and reserves room on the disk; such
 * chunks also get offsets in the file, where others write them. Other pieces are written by chunks_take, in order. */
void chunks_lay(const Dataset *a, Joint *x, int array);
bool chunks_place(hid_t file, const Dataset *a, int64_t at, Pieces *p);
bool chunks_take(const Dataset *a, int64_t at, int64_t piece, const void *values);

/* ---------------------------------------------------------------- chunks that others write: hdf5-places.c */

/* hdf5_open_for_others has a file be opened so that others can write its chunks; false: the library itself must look up
 * offsets, which is slow. hdf5_place_chunk makes the library treat a chunk of `size` bytes as written, and returns its
 * offset in the file; any: any memory of that size. */
bool hdf5_open_for_others(hid_t access);
bool hdf5_place_chunk(hid_t set, const hsize_t *offset, size_t size, const void *any, int64_t *at);
/* Finds the chunk whose first element is at `offset` in a file opened in this way: its offset in the file, its number
 * of bytes, and the filters (as bits) that were skipped when it was written. False: it was not written, or the library
 * has failed. */
bool hdf5_find_chunk(hid_t set, const hsize_t *offset, int64_t *at, size_t *size, unsigned *mask);

/* ---------------------------------------------------------------- arrays of logs and checkpoints */

/* Writes `n` values of `type` as the new array `name` of a group or file, contiguously, with `sum`, their
 * checkpoint_sum, as an attribute; *place is the array's offset in the file, 0 if it has none. values: NULL: others
 * write them there. False after an error. */
bool hdf5_put_plain(hid_t group, const char *name, hid_t type, hsize_t n, const void *values, uint64_t sum,
                    int64_t *place);
/* A new type for complex numbers of floats `t`, a compound as h5py makes it. */
hid_t hdf5_complex_type(StcType t);
/* The type in files for values of type `t`; the second function: for their bits, if readers need not know their
 * meaning. */
hid_t hdf5_type(StcType t);
hid_t hdf5_bits_type(StcType t);

/* The values that one probe recorded: the steps of n rows, and the rows one after the other, each with `length` values
 * of `bytes` bytes (both arrays from malloc). */
typedef struct ProbeRows {
  int64_t n, length;
  size_t bytes;
  int64_t *steps;
  char *values;
} ProbeRows;
/* Collects the rows of probe `name` among `n` rows; false if there is no memory. The caller frees *out in both cases.
 */
bool probe_rows(int64_t n, const StcProbe *rows, const char *name, ProbeRows *out);
void probe_rows_free(ProbeRows *r);

/* CHECKPOINT_VERSION: the version of the format. RunState: what a checkpoint has beside fields and arrays: the values
 * of the program's reductions, followed by the scalars that are kept between steps; the series of the reductions so
 * far; the rows of probes, whose values belong to the series. until: the name of the `until` that has ended the run, or
 * "". */
enum { CHECKPOINT_VERSION = 4 };
typedef struct RunState {
  const char *until;
  int nreductions, nscalars;
  int64_t nseries, nrows, members;
  Const *values;
  StcReduction *series;
  StcProbe *rows;
} RunState;

/* The contribution of `n` values of `size` bytes, from element number `first` of a field on, to the field's checksum.
 * Contributions can be added in any order. */
uint64_t checkpoint_sum(const void *values, int64_t size, int64_t first, int64_t n);
/* checkpoint_create creates the checkpoint of a step in the file `part`; `data` has the other sources. It reserves room
 * for fields, whose checksums are sums[] by source, and returns their offsets in places[]. checkpoint_end gives the
 * file its name, also on the disk, or removes it if `s` is an error. */
StcStatus checkpoint_create(Writer *w, const char *part, int64_t step, const void *const *data, const uint64_t *sums,
                            int64_t *places);
StcStatus checkpoint_end(Writer *w, const char *part, StcStatus s);
/* checkpoint-parts.c, for runs in which no rank has the whole grid: the first function sets this rank's parts of a
 * component from its values at offset `place` of the file; *sum: the contribution of their own points to the checksum.
 * The second tells whether all `n` fields, added over all ranks, have the right checksums; if not, *which is one that
 * has not. */
StcStatus checkpoint_read_parts(const Job *j, const char *path, FieldPlace at, int64_t place, uint64_t *sum);
bool checkpoint_same_sums(const Job *j, int n, const uint64_t *mine, const uint64_t *want, int *which);

#endif
