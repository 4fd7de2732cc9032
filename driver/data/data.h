/* driver/data/data.h: files written whole or not at all (files.c), and fields in and out of them: npy.c, png.c,
 * random.c, values.c; how far fields differ (check.c). */
#ifndef STC_DRIVER_DATA_H
#define STC_DRIVER_DATA_H

#include "driver/program.h"

/* A file on its way: written without a name (`unnamed`) or under a temporary one beside `path`, and moved to it by
 * file_commit. Path "-" is stdout. */
typedef struct OutFile {
  FILE *to;
  char path[4096], temporary[4096];
  bool unnamed;
} OutFile;
/* file_create, with a temporary name in any case. */
bool file_create_named(StcContext *c, const char *path, OutFile *f);
/* Each false after a message. file_abandon removes what was written. */
bool file_create(StcContext *c, const char *path, OutFile *f);
bool file_commit(StcContext *c, OutFile *f);
void file_abandon(OutFile *f);
/* Could `path` be created or replaced? Leaves nothing behind. */
bool file_probe(StcContext *c, const char *path);
/* Writes n bytes behind what there is, in case of errors as fwrite does. Many that begin at a page, in memory and in
 * the file, go to the disk past the page cache, as long as it takes them quickly: that saves the processor a copy. */
void file_put(OutFile *f, const void *bytes, size_t n);
/* From how many bytes on file_put does so; pages. */
enum { FILE_LARGE = 1 << 22, FILE_PAGE = 4096 };
/* Writes the whole file at once. */
bool file_write(StcContext *c, const char *path, const void *bytes, size_t size);
/* All `n` bytes to or from place `at` of an open file; false: errno says why not. */
bool file_write_at(int fd, const char *from, int64_t n, int64_t at);
bool file_read_at(int fd, char *to, int64_t n, int64_t at);
/* Reads a whole file into `a` with a NUL behind it ("-" is stdin). NULL after a message. */
char *file_read(Workspace *w, const char *path, size_t *size);

/* The dtype that NumPy gives the type: "<f4". */
const char *npy_descr(StcType t);
/* Reads/writes a .npy file whose type and shape must be those in `f`; `data` has f->bytes. Errors name the file and
 * `what`: "field A". */
StcStatus npy_read(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, void *data);
StcStatus npy_write(StcContext *c, const char *path, const StcFieldInfo *f, const void *data);
/* Opens such a file to be read in pieces: the descriptor of what npy_check is content with, *at where the elements
 * begin. A piece of bools is brought in order by npy_bools, as part of a field of its own. -1 after a message. */
int npy_open(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, int64_t *at);
void npy_bools(const StcFieldInfo *f, void *data);
/* Creates one whose elements others write: the header is there, and room on the disk. *at: where the elements begin.
 * shared: processes of other machines must find it, under out->temporary. */
bool npy_create(StcContext *c, const char *path, const StcFieldInfo *f, bool shared, OutFile *out, int64_t *at);
/* Would npy_read find the right header and as many elements as that promises? */
StcStatus npy_check(StcContext *c, const char *path, const char *what, const StcFieldInfo *f);

/* Fills the field, of scalar type, with numbers that depend on seed and element alone: floats uniform in [0, 1),
 * integers 0..99, bools. */
void random_fill(const StcFieldInfo *f, uint64_t seed, void *data);
/* The same for the `n` elements from number `first` on alone, which begin at `data`. */
void random_range(const StcFieldInfo *f, uint64_t seed, int64_t first, int64_t n, void *data);
/* Fills the field, of scalar type, with one value, given as text. False if the text is no such value. */
bool value_fill(const StcFieldInfo *f, const char *text, void *data);
/* Element `i` of the field, of scalar type, as a double; makes `v` that element, rounded to its type. */
double field_value(const StcFieldInfo *f, const void *data, int64_t i);
void field_put(const StcFieldInfo *f, void *data, int64_t i, Const v);

/* Reads a PNG into a field of two dimensions, of scalars or vectors of three: floats from 0 to 1, integers as they are.
 */
StcStatus png_read_field(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, void *data);
/* Would it find a picture of the field's extents and values that fit? Reads the header only. */
StcStatus png_check_field(StcContext *c, const char *path, const char *what, const StcFieldInfo *f);

/* The largest error of a field against the reference, relative to the largest magnitude in the reference; `at` is its
 * element. */
typedef struct FieldError {
  double error, got, want;
  int64_t at;
} FieldError;
FieldError field_compare(const StcFieldInfo *f, const void *got, const void *want);
/* The tolerance that --check takes by itself for a field of type `t`: 0 if `exact`. */
double default_tolerance(StcType t, bool exact);

#endif
