/* driver/data/frames.h: series of frames (data.h): frames.c asks frames-hdf5.c for those in HDF5 files. */
#ifndef STC_DRIVER_DATA_FRAMES_H
#define STC_DRIVER_DATA_FRAMES_H

#include "driver/data/data.h"

/* An array of an HDF5 file whose first axis is that of frames (frames_are_hdf5). Opens it and finds how many frames
 * there are, and how one becomes the field's; NULL after an error, with *s. */
typedef struct FrameArray FrameArray;
FrameArray *frame_array_open(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast,
                             int64_t *count, StcStatus *s);
/* Does the array lie in its file, of name `path`, as frames do in memory? Opens the file then, to be closed by the
 * caller, and finds from which byte *at on; else -1. */
int frame_array_plain(const FrameArray *a, const char *path, int64_t *at);
/* Reads one frame, as numbers of Cast.from if they are to be converted; false: `reason` says why not. May be called by
 * any thread. */
bool frame_array_read(const FrameArray *a, int64_t frame, void *data, char reason[256]);
void frame_array_close(FrameArray *a);

#endif
