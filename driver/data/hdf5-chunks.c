/* driver/data/hdf5-chunks.c: the values of one step as chunks of an array of many steps. Chunks are shuffled and
 * compressed here, as the library's own filters would do it, so that it is known how long they are before the library
 * gets them: behind a write that fails for want of room it could not end the file. */
#include "driver/data/hdf5-io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Bytes of a chunk, about. */
enum { CHUNK_BYTES = 1 << 20 };
/* Bytes that a step may take for what is no value: the number of the step, heads, the tables of what is free. */
enum { STEP_EXTRA = 1 << 14 };
/* Entries that a node of a tree of chunks holds at least, and twice as many at most: the library's own number. */
enum { NODE_ENTRIES = 32 };

hid_t hdf5_chunked(int rank, const hsize_t *chunk, int level) {
  hid_t p = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_attr_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  if (chunk)
    H5Pset_chunk(p, rank, chunk);
  if (chunk && level) {
    H5Pset_shuffle(p);
    H5Pset_deflate(p, (unsigned)level);
  }
  return p;
}

void chunks_choose(const Dataset *a, hsize_t *chunk) {
  hsize_t bytes = (hsize_t)type_size((Type)a->part.type);
  for (int d = 0; d < a->rank; d++) {
    chunk[d] = a->shape[d];
    bytes *= chunk[d];
  }
  while (bytes > CHUNK_BYTES) {
    int slowest = 1;
    while (slowest + 1 < a->rank && chunk[slowest] == 1)
      slowest++;
    bytes = bytes / chunk[slowest] * ((chunk[slowest] + 1) / 2);
    chunk[slowest] = (chunk[slowest] + 1) / 2;
  }
}

/* The level at which chunks with such properties are shuffled and compressed; 0: they stand as in memory, -1: they are
 * changed in another way. */
static int level_of(hid_t properties) {
  unsigned flags, level = 0, config;
  size_t n = 1;
  int filters = H5Pget_nfilters(properties);
  if (filters != 2)
    return filters ? -1 : 0;
  bool shuffled = H5Pget_filter2(properties, 0, &flags, &n, &level, 0, NULL, &config) == H5Z_FILTER_SHUFFLE;
  n = 1;
  bool packed = H5Pget_filter2(properties, 1, &flags, &n, &level, 0, NULL, &config) == H5Z_FILTER_DEFLATE && n == 1;
  return shuffled && packed && level ? (int)level : -1;
}

void chunks_note(Dataset *a) {
  hid_t p = H5Dget_create_plist(a->set);
  bool chunked = p >= 0 && H5Pget_chunk(p, MAX_DIMS, a->chunk) == a->rank && a->chunk[0] == 1, within = false;
  a->level = chunked ? level_of(p) : -1;
  a->pieces = chunked && a->level >= 0;
  for (int d = 1; d < a->rank && a->pieces; d++) {
    a->pieces = !within || a->chunk[d] == a->shape[d];
    within |= a->chunk[d] > 1;
  }
  if (p >= 0)
    H5Pclose(p);
}

/* Bytes of a chunk; the number of a step's chunks. */
static size_t chunk_bytes(const Dataset *a) {
  size_t bytes = (size_t)type_size((Type)a->part.type);
  for (int d = 0; d < a->rank; d++)
    bytes *= (size_t)a->chunk[d];
  return bytes;
}

static int64_t chunk_count(const Dataset *a) {
  int64_t n = 1;
  for (int d = 1; d < a->rank; d++)
    n *= (int64_t)((a->shape[d] + a->chunk[d] - 1) / a->chunk[d]);
  return n;
}

/* ---------------------------------------------------------------- room on the disk */

/* Bytes that the tree of an array's chunks may grow by where `n` more come: two nodes for every one that they fill, and
 * one or two above. */
static int64_t tree_bytes(const Dataset *a, int64_t n) {
  int64_t node = 2 * NODE_ENTRIES * (24 + 8 * (int64_t)a->rank);
  return node * (2 + 2 * n / NODE_ENTRIES);
}

/* Has the file system set room aside for `n` bytes behind what the library has given out of the file; false with a
 * reason: there is none. */
static bool reserve(hid_t file, int64_t n) {
  void *handle = NULL;
  haddr_t end = 0;
  if (H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 || !handle || H5Fget_eoa(file, &end) < 0)
    return true;
  int fd = *(int *)handle;
  int64_t unwritten = (int64_t)end - file_length(fd);
  bool ok = file_reserve(fd, n + (unwritten > 0 ? unwritten : 0));
  if (!ok)
    hdf5_set_reason(strerror(errno));
  return ok;
}

bool chunks_reserve(hid_t file, int n, const Dataset *arrays) {
  int64_t bytes = STEP_EXTRA;
  for (int i = 0; i < n; i++) {
    const Dataset *a = &arrays[i];
    bytes += tree_bytes(a, chunk_count(a));
    if (!a->pieces)
      bytes += (int64_t)a->part.bytes + (int64_t)a->part.bytes / 16;
    else if (!a->level)
      bytes += chunk_count(a) * (int64_t)chunk_bytes(a);
  }
  return reserve(file, bytes);
}

/* ---------------------------------------------------------------- chunks that are one piece of memory */

/* Brings the first bytes of all elements of `size` bytes together, then all second ones, and so on. */
static void shuffle(const unsigned char *from, size_t bytes, size_t size, unsigned char *to) {
  size_t n = bytes / size;
  for (size_t b = 0; b < size; b++)
    for (size_t i = 0; i < n; i++)
      to[b * n + i] = from[i * size + b];
}

/* Room for one chunk on its way: filled up with zeros where the array ends before it, shuffled, compressed (malloc). */
typedef struct Press {
  unsigned char *whole, *shuffled, *packed;
  size_t bytes;
  uLong most;
} Press;

static bool press_open(const Dataset *a, Press *p) {
  *p = (Press){.bytes = chunk_bytes(a)};
  p->most = compressBound(p->bytes);
  p->whole = malloc(p->bytes);
  p->shuffled = a->level ? malloc(p->bytes) : NULL;
  p->packed = a->level ? malloc(p->most) : NULL;
  bool ok = p->whole && (!a->level || (p->shuffled && p->packed));
  if (!ok)
    hdf5_set_reason("out of memory");
  return ok;
}

static void press_close(Press *p) {
  free(p->whole);
  free(p->shuffled);
  free(p->packed);
}

/* What is to stand in the file for the chunk that begins with the `n` bytes `values`; *size: its bytes. */
static const void *press(const Dataset *a, Press *p, const char *values, size_t n, size_t *size) {
  const unsigned char *from = (const unsigned char *)values;
  uLongf packed = p->most;
  if (n < p->bytes) {
    memcpy(p->whole, values, n);
    memset(p->whole + n, 0, p->bytes - n);
    from = p->whole;
  }
  *size = p->bytes;
  if (!a->level)
    return from;
  shuffle(from, p->bytes, (size_t)type_size((Type)a->part.type), p->shuffled);
  bool ok = compress2(p->packed, &packed, p->shuffled, p->bytes, a->level) == Z_OK;
  *size = packed;
  if (!ok)
    hdf5_set_reason("out of memory");
  return ok ? p->packed : NULL;
}

/* Bytes of the array in the chunk at `offset`: less than a whole one has where the array ends within it. */
static size_t bytes_within(const Dataset *a, const hsize_t *offset) {
  size_t bytes = (size_t)type_size((Type)a->part.type);
  for (int d = 1; d < a->rank; d++)
    bytes *= (size_t)(a->shape[d] - offset[d] < a->chunk[d] ? a->shape[d] - offset[d] : a->chunk[d]);
  return bytes;
}

/* Moves `offset` to the next chunk of the step. */
static void next_chunk(const Dataset *a, hsize_t *offset) {
  for (int d = a->rank - 1; d > 0; d--) {
    offset[d] += a->chunk[d];
    if (offset[d] < a->shape[d])
      return;
    offset[d] = 0;
  }
}

/* Writes a step whose chunks are pieces of memory, one after the other; for each that is compressed room is set aside
 * first. */
static bool append_pieces(hid_t file, const Dataset *a, int64_t at, const char *values) {
  hsize_t offset[MAX_DIMS] = {(hsize_t)at};
  Press p;
  bool ok = press_open(a, &p);
  for (size_t done = 0; done < a->part.bytes && ok; next_chunk(a, offset)) {
    size_t n = bytes_within(a, offset), size;
    const void *chunk = press(a, &p, values + done, n, &size);
    ok = chunk && (!a->level || reserve(file, (int64_t)size + tree_bytes(a, 1) + STEP_EXTRA)) &&
         H5Dwrite_chunk(a->set, H5P_DEFAULT, 0, offset, size, chunk) >= 0;
    done += n;
  }
  press_close(&p);
  return ok;
}

/* ---------------------------------------------------------------- steps */

/* Writes a step by the library's own means. */
static bool append_slab(const Dataset *a, int64_t at, const void *values) {
  hsize_t start[MAX_DIMS] = {(hsize_t)at};
  hid_t in = H5Dget_space(a->set), from = H5Screate_simple(a->rank, a->shape, NULL);
  bool ok = H5Sselect_hyperslab(in, H5S_SELECT_SET, start, NULL, a->shape, NULL) >= 0 &&
            H5Dwrite(a->set, a->type, from, in, H5P_DEFAULT, values) >= 0;
  H5Sclose(from);
  H5Sclose(in);
  return ok;
}

bool chunks_append(hid_t file, const Dataset *a, int64_t at, const void *values) {
  hsize_t extent[MAX_DIMS];
  memcpy(extent, a->shape, sizeof extent);
  extent[0] = (hsize_t)at + 1;
  return H5Dset_extent(a->set, extent) >= 0 &&
         (a->pieces ? append_pieces(file, a, at, values) : append_slab(a, at, values)) && H5Dflush(a->set) >= 0;
}
