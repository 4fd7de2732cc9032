/* driver/data/frames/frames-chunks.c: frames in chunks of an HDF5 file, as stc, h5py and netCDF-4 write them. The
 * library finds their offsets in the file; several threads read, inflate and unshuffle them, and copy their values into
 * the frame. */
#include "driver/data/frames/frames-chunks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* MOST_FILTERS: the most filters of an array; MOST_INFLATERS: the most threads that inflate; MOST_COPIERS: the most
 * threads if all only copy, as more are not faster. */
enum { MOST_FILTERS = 4, MOST_INFLATERS = 64, MOST_COPIERS = 12 };

/* The position of a chunk in the file; mask: the filters that were skipped when it was written. */
typedef struct Stored {
  int64_t at;
  size_t size;
  unsigned mask;
} Stored;

/* size: bytes of an element; filters: in the order in which they were applied, unshuffled: the element size of each
 * shuffle. bytes: of a whole chunk; row: of one index along its first axis. n: the number of chunks of a frame;
 * `stored` has their positions for row `at` of chunks, -1: for none. */
struct FrameChunks {
  hid_t set;
  int fd, rank, swap, nfilters;
  size_t size, bytes, row;
  H5Z_filter_t filters[MOST_FILTERS];
  size_t unshuffled[MOST_FILTERS];
  hsize_t shape[MAX_DIMS], chunk[MAX_DIMS];
  int64_t n, at;
  Stored *stored;
};

/* ---------------------------------------------------------------- storage */

/* Records the filters; false if there are others than shuffle and one deflate. */
static bool note_filters(FrameChunks *x, hid_t how) {
  x->nfilters = H5Pget_nfilters(how);
  bool known = x->nfilters >= 0 && x->nfilters <= MOST_FILTERS;
  int deflated = 0;
  for (int i = 0; i < x->nfilters && known; i++) {
    unsigned flags, value[4] = {0}, config;
    size_t n = 4;
    x->filters[i] = H5Pget_filter2(how, (unsigned)i, &flags, &n, value, 0, NULL, &config);
    x->unshuffled[i] = n > 0 ? value[0] : 0;
    deflated += x->filters[i] == H5Z_FILTER_DEFLATE;
    known = deflated < 2 && (x->filters[i] == H5Z_FILTER_DEFLATE || x->filters[i] == H5Z_FILTER_SHUFFLE);
  }
  return known;
}

/* Records shape, chunks and filters; false if they are of an unknown kind. */
static bool note_layout(FrameChunks *x) {
  hid_t how = H5Dget_create_plist(x->set), space = H5Dget_space(x->set), type = H5Dget_type(x->set);
  unsigned options = 1;
  x->rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
  bool ok = how >= 0 && type >= 0 && x->rank > 0 && x->rank <= MAX_DIMS &&
            H5Sget_simple_extent_dims(space, x->shape, NULL) == x->rank && H5Pget_layout(how) == H5D_CHUNKED &&
            H5Pget_chunk(how, MAX_DIMS, x->chunk) == x->rank && H5Pget_chunk_opts(how, &options) >= 0 && !options &&
            note_filters(x, how);
  x->size = x->row = ok ? H5Tget_size(type) : 0;
  x->n = 1;
  for (int d = 1; d < x->rank && ok; d++) {
    x->row *= (size_t)x->chunk[d];
    x->n *= (int64_t)((x->shape[d] + x->chunk[d] - 1) / x->chunk[d]);
  }
  x->bytes = ok ? x->row * (size_t)x->chunk[0] : 0;
  if (type >= 0)
    H5Tclose(type);
  if (space >= 0)
    H5Sclose(space);
  if (how >= 0)
    H5Pclose(how);
  return ok;
}

FrameChunks *frame_chunks_new(hid_t set, int swap, int fd) {
  FrameChunks *x = calloc(1, sizeof *x);
  if (!x)
    return NULL;
  x->set = set;
  x->fd = fd;
  x->swap = swap;
  x->at = -1;
  if (note_layout(x))
    x->stored = malloc((size_t)x->n * sizeof *x->stored + 1);
  if (!x->stored) {
    free(x);
    return NULL;
  }
  return x;
}

void frame_chunks_free(FrameChunks *x) {
  if (!x)
    return;
  free(x->stored);
  free(x);
}

/* Computes the first element of chunk `i` in row `at` of chunks. */
static void offset_of(const FrameChunks *x, int64_t at, int64_t i, hsize_t *offset) {
  offset[0] = (hsize_t)at * x->chunk[0];
  for (int d = x->rank - 1; d > 0; d--) {
    int64_t n = (int64_t)((x->shape[d] + x->chunk[d] - 1) / x->chunk[d]);
    offset[d] = (hsize_t)(i % n) * x->chunk[d];
    i /= n;
  }
}

/* Asks the library for the positions of the chunks of row `at`, and writes them to `stored`; false if some were never
 * written. */
static bool find(const FrameChunks *x, int64_t at, Stored *stored) {
  bool ok = true;
  hdf5_take();
  for (int64_t i = 0; i < x->n && ok; i++) {
    hsize_t offset[MAX_DIMS];
    offset_of(x, at, i, offset);
    ok = hdf5_find_chunk(x->set, offset, &stored[i].at, &stored[i].size, &stored[i].mask);
  }
  hdf5_give();
  return ok;
}

/* ---------------------------------------------------------------- the contents of a chunk */

/* Restores elements of `size` bytes from their separated bytes: the first bytes of all n elements come first, then all
 * second ones, and so on. */
static inline __attribute__((always_inline)) void gather(const unsigned char *from, size_t n, size_t size,
                                                         unsigned char *to) {
  for (size_t i = 0; i < n; i++)
    for (size_t b = 0; b < size; b++)
      to[i * size + b] = from[b * n + i];
}

/* Undoes the shuffle of `bytes` bytes; bytes after the last whole element are unchanged. */
static void unshuffle(const unsigned char *from, size_t bytes, size_t size, unsigned char *to) {
  size_t n = bytes / size;
  if (size == 2)
    gather(from, n, 2, to);
  else if (size == 4)
    gather(from, n, 4, to);
  else if (size == 8)
    gather(from, n, 8, to);
  else
    gather(from, n, size, to);
  memcpy(to + n * size, from + n * size, bytes - n * size);
}

/* Undoes the filters of a chunk of `n` bytes in *data; the result is in *data, *other has the same size. False: the
 * chunk is damaged. */
static bool undo(const FrameChunks *x, unsigned mask, unsigned char **data, unsigned char **other, size_t n) {
  for (int i = x->nfilters - 1; i >= 0; i--) {
    uLongf got = x->bytes;
    unsigned char *from = *data;
    if (mask & 1u << i)
      continue;
    if (x->filters[i] == H5Z_FILTER_DEFLATE) {
      if (uncompress(*other, &got, from, n) != Z_OK)
        return false;
      n = got;
    } else if (x->unshuffled[i] > 1)
      unshuffle(from, n, x->unshuffled[i], *other);
    else
      continue;
    *data = *other;
    *other = from;
  }
  return n == x->bytes;
}

/* Data that the threads share: a frame, which is row `within` of its chunks; room: bytes of each of a thread's two
 * buffers. */
typedef struct ChunkWork {
  const FrameChunks *x;
  int64_t within;
  size_t room;
  char *data;
} ChunkWork;

/* Copies a chunk's row, whose first element is at `offset`, into the frame. */
static void put_row(const ChunkWork *w, const hsize_t *offset, const char *row) {
  const FrameChunks *x = w->x;
  hsize_t count[MAX_DIMS] = {0}, index[MAX_DIMS] = {0};
  int last = x->rank - 1;
  int64_t lines = 1;
  for (int d = 1; d < x->rank; d++) {
    hsize_t left = x->shape[d] - offset[d];
    count[d] = left < x->chunk[d] ? left : x->chunk[d];
    lines *= d < last ? (int64_t)count[d] : 1;
  }
  size_t n = x->size * (last ? (size_t)count[last] : 1);
  for (int64_t k = 0; k < lines; k++) {
    size_t from = 0, to = 0;
    for (int d = 1; d < x->rank; d++) {
      from = from * (size_t)x->chunk[d] + (size_t)index[d];
      to = to * (size_t)x->shape[d] + (size_t)(offset[d] + index[d]);
    }
    memcpy(w->data + to * x->size, row + from * x->size, n);
    for (int d = last - 1; d > 0 && ++index[d] == count[d]; d--)
      index[d] = 0;
  }
}

/* Reads chunk `i` of the frame; if it has no filters, only the bytes that the frame needs. */
static bool read_chunk(void *user, int64_t i, void *room) {
  const ChunkWork *w = user;
  const FrameChunks *x = w->x;
  const Stored *s = &x->stored[i];
  unsigned char *data = room, *other = data + w->room;
  hsize_t offset[MAX_DIMS];
  size_t before = x->row * (size_t)w->within;
  if (!x->nfilters && s->size != x->bytes)
    return errno = EILSEQ, false;
  bool whole = x->nfilters > 0;
  if (!file_read_at(x->fd, (char *)data, (int64_t)(whole ? s->size : x->row), s->at + (whole ? 0 : (int64_t)before)))
    return false;
  if (whole && !undo(x, s->mask, &data, &other, s->size))
    return errno = EILSEQ, false;
  char *row = (char *)data + (whole ? before : 0);
  if (x->swap)
    swap_order(row, (int64_t)x->row, x->swap);
  offset_of(x, x->at, i, offset);
  put_row(w, offset, row);
  return true;
}

bool frame_chunks_read(FrameChunks *x, int64_t frame, void *data, bool *missing) {
  int64_t row = frame / (int64_t)x->chunk[0];
  ChunkWork w = {.x = x, .within = frame % (int64_t)x->chunk[0], .room = x->bytes, .data = data};
  *missing = row != x->at && !find(x, row, x->stored);
  x->at = *missing ? -1 : row;
  if (*missing)
    return false;
  for (int64_t i = 0; i < x->n && x->nfilters; i++)
    w.room = x->stored[i].size > w.room ? x->stored[i].size : w.room;
  return beside(x->n, x->nfilters ? MOST_INFLATERS : MOST_COPIERS, 2 * w.room, read_chunk, &w);
}

void frame_chunks_tell(FrameChunks *x, int64_t frame) {
  int64_t row = frame / (int64_t)x->chunk[0];
  Stored *stored = malloc((size_t)x->n * sizeof *stored + 1);
  if (stored && find(x, row, stored))
    for (int64_t i = 0; i < x->n; i++)
      posix_fadvise(x->fd, stored[i].at, (off_t)stored[i].size, POSIX_FADV_WILLNEED);
  free(stored);
}
