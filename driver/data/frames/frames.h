/* driver/data/frames/frames.h: series of frames (driver/data/data.h). frames.c calls frames-hdf5.c for series in HDF5
 * and netCDF files. If the layout of their bytes is known, stc reads them itself: contiguous ones (frames-read.c),
 * chunks (frames-chunks.c), or netCDF files of the formats before netCDF-4 (frames-classic.c). */
#ifndef STC_DRIVER_DATA_FRAMES_FRAMES_H
#define STC_DRIVER_DATA_FRAMES_FRAMES_H

#include "driver/data/data.h"

/* ---------------------------------------------------------------- work of several threads: frames-read.c */

/* Does piece `i` of some work; `room`: memory of the thread. False: errno tells the reason. */
typedef bool PieceFn(void *user, int64_t i, void *room);
/* Does pieces 0 .. n - 1 with a thread for each core, but at most `most` threads, each with `room` bytes of memory.
 * False: errno is that of a failed piece; some pieces may not have been begun. */
bool beside(int64_t n, int64_t most, size_t room, PieceFn *fn, void *user);
/* The positions of frames in a file: frame k is contiguous from byte at + k * step on. swap: the size in bytes of its
 * numbers, if they have the other byte order; 0: they have this computer's. fd < 0: the layout is another. */
typedef struct FramePlace {
  int fd, swap;
  int64_t at, step;
} FramePlace;
/* Reads `bytes` bytes of frame `frame`; false: errno tells the reason, 0: the file ends early. */
bool place_read(const FramePlace *p, int64_t frame, void *to, int64_t bytes);
/* Reverses the byte order of numbers of `size` bytes, `bytes` bytes in all. */
void swap_order(void *data, int64_t bytes, int size);
void copy_beside(void *to, const void *from, int64_t bytes);
/* As cast_apply, with several threads. */
bool cast_beside(const Cast *cast, const void *raw, void *data, int64_t *bad);

/* ---------------------------------------------------------------- arrays of files: frames-hdf5.c */

/* An array of an HDF5 or netCDF file whose first axis is that of frames (frames_are_hdf5). frame_array_open opens it,
 * finds the number of frames, and the conversion of one to the field's type; NULL after an error, with *s. */
typedef struct FrameArray FrameArray;
FrameArray *frame_array_open(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast,
                             int64_t *count, StcStatus *s);
/* Do several threads read it, rather than the HDF5 library? */
bool frame_array_is_quick(const FrameArray *a);
/* Reads one frame, as numbers of type Cast.from if they are to be converted, with several threads if possible; false:
 * `reason` tells the reason. Any thread may call it. */
bool frame_array_read(const FrameArray *a, int64_t frame, void *data, char reason[256]);
/* Tells the system that the frame will be read soon. */
void frame_array_tell(const FrameArray *a, int64_t frame);
void frame_array_close(FrameArray *a);

/* ---------------------------------------------------------------- netCDF before netCDF-4: frames-classic.c */

/* An array of such a file. packed: it has attributes for packed values (scale_factor). place: a frame is everything but
 * the first axis. */
typedef struct ClassicArray {
  Type type;
  int rank;
  int64_t shape[16];
  bool packed;
  FramePlace place;
} ClassicArray;
/* Is the file of such a format? */
bool is_classic(const char *file);
/* Finds array `name`; *found: it exists. The caller closes place.fd. False: `reason` tells what is wrong with the file.
 */
bool classic_open(const char *file, const char *name, ClassicArray *a, bool *found, char reason[256]);

#endif
