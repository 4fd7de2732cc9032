/* driver/data/data.h: fields in and out of files (npy.c, png.c), series of frames in from files (frames.c), and how far
 * fields differ (check.c). */
#ifndef STC_DRIVER_DATA_H
#define STC_DRIVER_DATA_H

#include "driver/files/files.h"

/* Reads/writes a .npy file whose type and shape must be those in `f`; `data` has f->bytes. Errors name the file and
 * `what`: "field A". Numbers of another type are converted where NumPy's casts of the "same_kind" do, which is noted,
 * and where they fit. */
StcStatus npy_read(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, void *data);
StcStatus npy_write(StcContext *c, const char *path, const StcFieldInfo *f, const void *data);
/* How the numbers of a file become a field's, if they are not of its type (`needed`): `n` of type `to` from ones of
 * type `from`, the parts of complex numbers by themselves. */
typedef struct Cast {
  bool needed;
  Type from, to;
  int64_t n;
} Cast;
/* May numbers of type `from` become ones of type `to`, as NumPy's casts of the "same_kind" do: integers any integers,
 * but not unsigned ones of signed, and floats any numbers? */
bool cast_allowed(Type from, Type to);
/* Converts `data`, whose numbers stand in `raw` as the file has them; false: *at is the first that does not fit. */
bool cast_apply(const Cast *cast, const void *raw, void *data, int64_t *at);
/* Opens such a file to be read in pieces: its descriptor, *at where the elements begin. *cast: how they become the
 * field's; NULL: they must be of its type. A piece of bools is brought in order by npy_bools, as part of a field of its
 * own. -1 after a message. */
int npy_open(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast, int64_t *at);
void npy_bools(const StcFieldInfo *f, void *data);
/* Has the file one axis more than the field, in front, so that it is a series of frames of it? Opens such a file;
 * *count frames lie from *at on, and *cast says how one becomes the field's. */
bool npy_has_frames(const char *path, const StcFieldInfo *f);
int npy_open_frames(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast, int64_t *at,
                    int64_t *count);
/* The same of one that can be read but once, from its beginning on, such as a pipe; NULL after a message.
 * npy_stream_end closes it: were the `got` bytes of elements that were read all, and nothing is behind them? */
FILE *npy_stream(StcContext *c, const char *path, const char *what, const StcFieldInfo *f);
StcStatus npy_stream_end(StcContext *c, const char *path, const StcFieldInfo *f, FILE *from, int64_t got);
/* Creates one whose elements others write: the header is there, and room on the disk. *at: where the elements begin.
 * shared: processes of other machines must find it, under out->temporary. */
bool npy_create(StcContext *c, const char *path, const StcFieldInfo *f, bool shared, OutFile *out, int64_t *at);
/* Would npy_read find a header that it takes, and as many elements as that promises? *cast (NULL: nobody asks): how
 * they would become the field's. */
StcStatus npy_check(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast);

/* Is the name that of an HDF5 or netCDF file, or of one and an array in it, FILE.nc:NAME? Reads that array, or the one
 * of the field's name, as npy_read does; its shape may have an axis of length 1 in front. `data` NULL: only checks. */
bool frames_are_hdf5(const char *path);
/* The name of the file alone, if `path` is FILE.nc:NAME or the like; else the same path. */
const char *hdf5_file(Arena *a, const char *path);
StcStatus hdf5_read_field(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, void *data);

/* A series of frames in files, and a thread that reads the frame which will be wanted next: frames.c. */
typedef struct FrameFile FrameFile;
/* Is the value of --in, for the field, such a series: a file with one axis more, in front, or a name with a place for
 * the number of a frame, name_%04d.npy? */
bool frames_are_in(const char *path, const StcFieldInfo *f);
/* Opens it, and checks its type and shape. Frames are read by frames_read (an StcFrame), whose `user` it is. */
StcStatus frames_open(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, FrameFile **out);
int64_t frames_count(const FrameFile *x);
StcStatus frames_read(void *user, int64_t frame, void *data, size_t bytes);
void frames_close(FrameFile *x);

/* Reads a PNG into a field of two dimensions, of scalars or vectors of three: floats from 0 to 1, integers as they are.
 */
StcStatus png_read_field(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, void *data);
/* The same row by row, from the first on: only of a picture that is interlaced more than a row is in memory. */
StcStatus png_each_row(StcContext *c, const char *path, const char *what, const StcFieldInfo *f,
                       void (*take)(void *user, int64_t y, const void *values), void *user);
/* Would it find a picture of the field's extents and values that fit? Reads the header only. */
StcStatus png_check_field(StcContext *c, const char *path, const char *what, const StcFieldInfo *f);

/* What is seen of values as a whole: the least and the greatest of the finite ones, INFINITY and -INFINITY where there
 * are none, and the number of the first point that is NaN, -1: none is. */
typedef struct Sight {
  double least, most;
  int64_t nan;
} Sight;

/* The largest error of a field against the reference, relative to the largest magnitude in the reference; `at` is its
 * element. */
typedef struct FieldError {
  double error, got, want;
  int64_t at;
} FieldError;
FieldError field_compare(const StcFieldInfo *f, const void *got, const void *want);
/* How many values of field `f`, of one component, are NaN; *first: the first element that is, if any is. */
int64_t count_nan(const StcFieldInfo *f, const void *data, int64_t *first);
/* The tolerance that --check takes by itself for a field of type `t`: 0 if `exact`. */
double default_tolerance(StcType t, bool exact);

#endif
