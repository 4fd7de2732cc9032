/* driver/data/data.h: fields read from and written to files (npy.c, png.c), series of frames read from files
 * (frames.c), and the comparison of fields (check.c). */
#ifndef STC_DRIVER_DATA_H
#define STC_DRIVER_DATA_H

#include "driver/files/files.h"

/* Read or write a .npy file, which must have the type and shape in `f`; `data` has f->bytes. Error messages name the
 * file and `what`: "field A". Numbers of another type are converted if NumPy's casts of "same_kind" allow it and their
 * values fit; a message then tells of it. */
StcStatus npy_read(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, void *data);
StcStatus npy_write(StcContext *c, const char *path, const StcFieldInfo *f, const void *data);
/* The conversion of a file's numbers to a field's, if their types differ (`needed`): `n` numbers from type `from` to
 * type `to`; a complex number counts as two. */
typedef struct Cast {
  bool needed;
  Type from, to;
  int64_t n;
} Cast;
/* Do NumPy's casts of "same_kind" convert numbers of type `from` to type `to`? They convert integers to integers,
 * except signed to unsigned, and any numbers to floats. */
bool cast_allowed(Type from, Type to);
/* Converts the numbers at `raw`, as they are in the file, to `data`; false: *at is the first that does not fit. */
bool cast_apply(const Cast *cast, const void *raw, void *data, int64_t *at);
/* Opens such a file for reading in pieces and returns its descriptor; *at is the offset of the elements. *cast: their
 * conversion to the field's type; NULL: they must have that type. A piece of bools needs npy_bools, with the piece
 * described as a field. Returns -1 after a message. */
int npy_open(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast, int64_t *at);
void npy_bools(const StcFieldInfo *f, void *data);
/* Does the file have one more axis than the field, in front, so that it is a series of frames? The second function
 * opens such a file; its *count frames begin at *at, and *cast is the conversion of one frame. */
bool npy_has_frames(const char *path, const StcFieldInfo *f);
int npy_open_frames(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast, int64_t *at,
                    int64_t *count);
/* Opens such a file that can be read only once, from the beginning, such as a pipe; NULL after a message.
 * npy_stream_end closes it; it checks that the `got` bytes of elements that were read are all, and that nothing follows
 * them. */
FILE *npy_stream(StcContext *c, const char *path, const char *what, const StcFieldInfo *f);
StcStatus npy_stream_end(StcContext *c, const char *path, const StcFieldInfo *f, FILE *from, int64_t got);
/* Creates such a file, with its header and room on the disk; others write the elements. *at: the offset of the
 * elements. shared: processes on other machines must find the file, under the name out->temporary. */
bool npy_create(StcContext *c, const char *path, const StcFieldInfo *f, bool shared, OutFile *out, int64_t *at);
/* Would npy_read accept the file's header, and find as many elements as it announces? *cast (may be NULL): the
 * conversion of the elements to the field's type. */
StcStatus npy_check(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast);

/* Is `path` the name of an HDF5 or netCDF file, or of one with an array in it, FILE.nc:NAME? hdf5_read_field reads that
 * array, or the one with the field's name, as npy_read does; its shape may have an additional axis of length 1 in
 * front. `data` NULL: it only checks. */
bool frames_are_hdf5(const char *path);
/* The name of the file without the array, if `path` is FILE.nc:NAME or the like; else `path`. */
const char *hdf5_file(Arena *a, const char *path);
StcStatus hdf5_read_field(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, void *data);

/* A series of frames in files, with a thread that reads the next frame ahead: frames.c. */
typedef struct FrameFile FrameFile;
/* Is the value of --in for the field such a series: a file with one more axis, in front, or a name with a placeholder
 * for the number of a frame, name_%04d.npy? */
bool frames_are_in(const char *path, const StcFieldInfo *f);
/* Opens the series and checks its type and shape. frames_read (an StcFrame), whose `user` is *out, reads frames. */
StcStatus frames_open(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, FrameFile **out);
int64_t frames_count(const FrameFile *x);
StcStatus frames_read(void *user, int64_t frame, void *data, size_t bytes);
void frames_close(FrameFile *x);

/* Reads a PNG into a field of two dimensions, of scalars or of vectors of three: floats are from 0 to 1, integers are
 * the file's values. */
StcStatus png_read_field(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, void *data);
/* The same row by row, from the first on; only of an interlaced picture is more than one row in memory. */
StcStatus png_each_row(StcContext *c, const char *path, const char *what, const StcFieldInfo *f,
                       void (*take)(void *user, int64_t y, const void *values), void *user);
/* Would the picture have the field's extents, and values that fit? Reads only the header. */
StcStatus png_check_field(StcContext *c, const char *path, const char *what, const StcFieldInfo *f);

/* A summary of values: the smallest and the largest finite one, INFINITY and -INFINITY if there are none, and the
 * number of the first point that is NaN, -1 if there is none. */
typedef struct Sight {
  double least, most;
  int64_t nan;
} Sight;

/* The largest error of a field against the reference, relative to the largest magnitude in the reference; `at` is the
 * number of its element. */
typedef struct FieldError {
  double error, got, want;
  int64_t at;
} FieldError;
FieldError field_compare(const StcFieldInfo *f, const void *got, const void *want);
/* The number of values of field `f`, which has one component, that are NaN; *first: the first such element, if there is
 * one. */
int64_t count_nan(const StcFieldInfo *f, const void *data, int64_t *first);
/* The default tolerance of --check for a field of type `t`; 0 if `exact`. */
double default_tolerance(StcType t, bool exact);

#endif
