/* driver/data/frames/frames-chunks.h: the functions of frames-chunks.c for arrays in chunks, which frames-hdf5.c calls.
 */
#ifndef STC_DRIVER_DATA_FRAMES_FRAMES_CHUNKS_H
#define STC_DRIVER_DATA_FRAMES_FRAMES_CHUNKS_H

#include "driver/data/frames/frames.h"
#include "driver/data/hdf5-io.h"

/* The chunks of an array in an open file; the array's first axis is that of frames. */
typedef struct FrameChunks FrameChunks;
/* NULL: the storage is of an unknown kind, or there is no memory. swap: the size in bytes of numbers in the other byte
 * order, 0: they have this computer's; fd: the file's descriptor, which must stay open as long as *x. The caller holds
 * the library's lock. */
FrameChunks *frame_chunks_new(hid_t set, int swap, int fd);
/* Reads a frame. False: errno tells the reason, EILSEQ: a chunk is damaged, 0: the file ends early. *missing: some of
 * its chunks were never written; the library knows their values. */
bool frame_chunks_read(FrameChunks *x, int64_t frame, void *data, bool *missing);
/* Tells the system that a frame will be read soon. */
void frame_chunks_tell(FrameChunks *x, int64_t frame);
void frame_chunks_free(FrameChunks *x);

#endif
