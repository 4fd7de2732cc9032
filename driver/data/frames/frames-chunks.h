/* driver/data/frames/frames-chunks.h: frames-hdf5.c asks frames-chunks.c for arrays in chunks. */
#ifndef STC_DRIVER_DATA_FRAMES_FRAMES_CHUNKS_H
#define STC_DRIVER_DATA_FRAMES_FRAMES_CHUNKS_H

#include "driver/data/frames/frames.h"
#include "driver/data/hdf5-io.h"

/* The chunks of an array, whose first axis is that of frames, in an open file. */
typedef struct FrameChunks FrameChunks;
/* NULL: they are stored in a way that is not known here, or there is no memory. swap: bytes of numbers whose order is
 * the other one, 0: it is this computer's; fd: of the file, open as long as the chunks. Called with the library taken.
 */
FrameChunks *frame_chunks_new(hid_t set, int swap, int fd);
/* Reads a frame. False: errno says why not, EILSEQ: what a chunk holds is damaged, 0: the file ends. *missing: chunks
 * that no one has written are among it; the library knows what they hold. */
bool frame_chunks_read(FrameChunks *x, int64_t frame, void *data, bool *missing);
/* Tells the system that a frame will be read. */
void frame_chunks_tell(FrameChunks *x, int64_t frame);
void frame_chunks_free(FrameChunks *x);

#endif
