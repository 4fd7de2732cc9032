/* driver/data/frames/frames.h: series of frames (driver/data/data.h). frames.c asks frames-hdf5.c for those in HDF5 and
 * netCDF files, which are read here where it is known how their bytes lie there: in one piece (frames-read.c), in
 * chunks (frames-chunks.c), or in netCDF files of the formats before netCDF-4 (frames-classic.c). */
#ifndef STC_DRIVER_DATA_FRAMES_FRAMES_H
#define STC_DRIVER_DATA_FRAMES_FRAMES_H

#include "driver/data/data.h"

/* ---------------------------------------------------------------- work of several threads: frames-read.c */

/* Piece `i` of some work; `room`: memory of the thread's own. False: errno says why not. */
typedef bool PieceFn(void *user, int64_t i, void *room);
/* Has as many threads as there are cores for, `most` at most, do pieces 0 .. n - 1; each has `room` bytes. False: errno
 * is that of a piece which failed; not all may have been begun then. */
bool beside(int64_t n, int64_t most, size_t room, PieceFn *fn, void *user);
/* Where frames lie in a file: frame k from byte at + k * step on, in one piece. swap: bytes of its numbers, which are
 * in the other order than this computer's; 0: they are in the same. fd < 0: they lie otherwise. */
typedef struct FramePlace {
  int fd, swap;
  int64_t at, step;
} FramePlace;
/* Reads `bytes` bytes of frame `frame`; false: errno says why not, 0: the file ends. */
bool place_read(const FramePlace *p, int64_t frame, void *to, int64_t bytes);
/* Has numbers of `size` bytes in the other order: `bytes` bytes of them. */
void swap_order(void *data, int64_t bytes, int size);
void copy_beside(void *to, const void *from, int64_t bytes);
/* The same as cast_apply. */
bool cast_beside(const Cast *cast, const void *raw, void *data, int64_t *bad);

/* ---------------------------------------------------------------- arrays of files: frames-hdf5.c */

/* An array of an HDF5 or netCDF file whose first axis is that of frames (frames_are_hdf5). Opens it and finds how many
 * frames there are, and how one becomes the field's; NULL after an error, with *s. */
typedef struct FrameArray FrameArray;
FrameArray *frame_array_open(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast,
                             int64_t *count, StcStatus *s);
/* Is it read by several threads, not by the HDF5 library alone? */
bool frame_array_is_quick(const FrameArray *a);
/* Reads one frame, as numbers of Cast.from if they are to be converted, by several threads where that is possible;
 * false: `reason` says why not. May be called by any thread. */
bool frame_array_read(const FrameArray *a, int64_t frame, void *data, char reason[256]);
/* Tells the system that the frame will be read. */
void frame_array_tell(const FrameArray *a, int64_t frame);
void frame_array_close(FrameArray *a);

/* ---------------------------------------------------------------- netCDF before netCDF-4: frames-classic.c */

/* An array of such a file. packed: it has attributes that say so (scale_factor). place: a frame is all but the first
 * axis. */
typedef struct ClassicArray {
  Type type;
  int rank;
  int64_t shape[16];
  bool packed;
  FramePlace place;
} ClassicArray;
/* Is it such a file? */
bool is_classic(const char *file);
/* Finds array `name`, *found: it is there. place.fd is to be closed. False: `reason` says what is wrong with the file.
 */
bool classic_open(const char *file, const char *name, ClassicArray *a, bool *found, char reason[256]);

#endif
