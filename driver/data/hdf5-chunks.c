/* driver/data/hdf5-chunks.c: stores the values of one step as chunks of an array of many steps. stc shuffles and
 * compresses chunks itself, as the library's own filters would, so their sizes are known before the library writes
 * them: after a write that fails for lack of room the library could not close the file. */
#include "driver/data/hdf5-io.h"
#include "driver/data/joint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The approximate size of a chunk in bytes. */
enum { CHUNK_BYTES = 1 << 20 };
/* Bytes that a step may need beside values: the number of the step, headers, the tables of free space. */
enum { STEP_EXTRA = 1 << 14 };
/* The least number of entries in a node of the tree of chunks, half the largest: the library's number. */
enum { NODE_ENTRIES = 32 };

hid_t hdf5_chunked(int rank, const hsize_t *chunk, int level) {
  hid_t p = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(p, false);
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
  hsize_t bytes = (hsize_t)part_size(&a->part);
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

/* The level at which chunks with such properties are shuffled and compressed; 0: they are stored as in memory, -1: they
 * are stored in another form. */
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

/* The bytes of a chunk; the other function: the number of a step's chunks. */
static size_t chunk_bytes(const Dataset *a) {
  size_t bytes = (size_t)part_size(&a->part);
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

/* The largest growth in bytes of an array's tree of chunks for `n` new ones: two nodes for every node that they fill,
 * and one or two above. */
static int64_t tree_bytes(const Dataset *a, int64_t n) {
  int64_t node = 2 * NODE_ENTRIES * (24 + 8 * (int64_t)a->rank);
  return node * (2 + 2 * n / NODE_ENTRIES);
}

/* Has the file system reserve room for `n` bytes behind the end of the library's allocation in the file; false, with a
 * reason, if there is none. */
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

/* ---------------------------------------------------------------- chunks that are contiguous in memory */

/* The conversion of a chunk. */
static Pressing pressing_of(const Dataset *a) {
  return (Pressing){.most = chunk_bytes(a),
                    .filled = true,
                    .element = a->level ? part_size(&a->part) : 0,
                    .level = a->level};
}

/* The bytes of the array in the chunk at `offset`: less than a whole chunk if the array ends within it. */
static size_t bytes_within(const Dataset *a, const hsize_t *offset) {
  size_t bytes = (size_t)part_size(&a->part);
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

/* Writes a step whose chunks are contiguous in memory, one after the other; reserves room for each compressed chunk
 * first. */
static bool append_pieces(hid_t file, const Dataset *a, int64_t at, const char *values) {
  hsize_t offset[MAX_DIMS] = {(hsize_t)at};
  Pressing how = pressing_of(a);
  Press p;
  bool ok = press_open(&how, &p), room = ok;
  for (size_t done = 0; done < a->part.bytes && ok; next_chunk(a, offset)) {
    size_t n = bytes_within(a, offset), size;
    const void *chunk = press(&p, values + done, n, &size);
    room = chunk != NULL;
    ok = room && (!a->level || reserve(file, (int64_t)size + tree_bytes(a, 1) + STEP_EXTRA)) &&
         H5Dwrite_chunk(a->set, H5P_DEFAULT, 0, offset, size, chunk) >= 0;
    done += n;
  }
  press_close(&p);
  if (!room)
    hdf5_set_reason("out of memory");
  return ok;
}

/* ---------------------------------------------------------------- steps */

/* Writes rows `first` to first + n - 1 (along the slowest dimension longer than one) of a step through the library. */
static bool put_rows(const Dataset *a, int64_t at, int64_t first, int64_t n, const void *values) {
  hsize_t start[MAX_DIMS] = {(hsize_t)at, (hsize_t)first}, count[MAX_DIMS];
  memcpy(count, a->shape, sizeof count);
  if (a->rank > 1)
    count[1] = (hsize_t)n;
  hid_t in = H5Dget_space(a->set), from = H5Screate_simple(a->rank, count, NULL);
  bool ok = H5Sselect_hyperslab(in, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
            H5Dwrite(a->set, a->type, from, in, H5P_DEFAULT, values) >= 0;
  H5Sclose(from);
  H5Sclose(in);
  return ok;
}

/* Extends the array by a step at index `at`. */
static bool extend(const Dataset *a, int64_t at) {
  hsize_t extent[MAX_DIMS];
  memcpy(extent, a->shape, sizeof extent);
  extent[0] = (hsize_t)at + 1;
  return H5Dset_extent(a->set, extent) >= 0;
}

bool chunks_append(hid_t file, const Dataset *a, int64_t at, const void *values) {
  int64_t rows = a->rank > 1 ? (int64_t)a->shape[1] : 1;
  return extend(a, at) && (a->pieces ? append_pieces(file, a, at, values) : put_rows(a, at, 0, rows, values)) &&
         H5Dflush(a->set) >= 0;
}

bool chunks_are_there(const Dataset *a, int64_t steps) {
  hsize_t n = 0;
  hid_t all = a->pieces ? H5Dget_space(a->set) : -1;
  bool counted = all >= 0 && H5Dget_num_chunks(a->set, all, &n) >= 0,
       ok = !a->pieces || (counted && (int64_t)n == steps * chunk_count(a));
  if (all >= 0)
    H5Sclose(all);
  if (counted && !ok)
    hdf5_set_reason("values of steps are missing");
  return ok;
}

/* ---------------------------------------------------------------- by all ranks */

/* The number of rows of a step that are written at once if chunks are not contiguous in memory. */
static int64_t rows_at_once(const Dataset *a) {
  int64_t row = (int64_t)a->part.bytes / (int64_t)a->shape[1];
  return row < CHUNK_BYTES ? CHUNK_BYTES / row : 1;
}

void chunks_lay(const Dataset *a, Joint *x, int array) {
  int64_t rows = rows_at_once(a), bytes = (int64_t)(a->part.bytes / a->shape[1]) * rows;
  Pieces *p = joint_pieces(x, array, a->pieces ? chunk_count(a) : ((int64_t)a->shape[1] + rows - 1) / rows);
  hsize_t offset[MAX_DIMS] = {0};
  int64_t done = 0;
  for (int64_t k = 0; k < p->n; k++, next_chunk(a, offset)) {
    p->begin[k] = done;
    done += a->pieces ? (int64_t)bytes_within(a, offset) : bytes;
  }
  p->compressed = a->level > 0 || !a->pieces;
  p->how = a->pieces ? pressing_of(a) : (Pressing){.most = (size_t)bytes};
}

/* Pads a chunk in which the array ends with zeros after its `n` bytes, as others write only these bytes. */
static bool fill_up(hid_t file, int64_t place, int64_t n, const Pressing *how, const char *zeros) {
  void *handle = NULL;
  int64_t more = (int64_t)how->most - n;
  if (!more)
    return true;
  bool ok = H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 && handle;
  if (ok && !(ok = file_write_at(*(int *)handle, zeros, more, place + n)))
    hdf5_set_reason(strerror(errno));
  return ok;
}

/* Reserves room for all chunks of a step, and determines their offsets. */
static bool place_all(hid_t file, const Dataset *a, int64_t at, Pieces *p, const char *zeros) {
  hsize_t offset[MAX_DIMS] = {(hsize_t)at};
  int64_t bytes = STEP_EXTRA + tree_bytes(a, p->n);
  for (int64_t k = 0; k < p->n; k++)
    bytes += p->compressed ? (int64_t)p->size[k] : (int64_t)p->how.most;
  bool ok = reserve(file, bytes);
  for (int64_t k = 0; k < p->n && ok; k++, next_chunk(a, offset)) {
    ok = hdf5_place_chunk(a->set, offset, p->compressed ? p->size[k] : p->how.most, zeros, &p->place[k]);
    if (ok && !p->compressed)
      ok = fill_up(file, p->place[k], p->begin[k + 1] - p->begin[k], &p->how, zeros);
  }
  return ok;
}

bool chunks_place(hid_t file, const Dataset *a, int64_t at, Pieces *p) {
  if (!extend(a, at))
    return false;
  if (!a->pieces)
    return true;
  size_t most = p->how.most;
  for (int64_t k = 0; k < p->n && p->compressed; k++)
    most = p->size[k] > most ? p->size[k] : most;
  char *zeros = calloc(most, 1);
  bool ok = zeros && place_all(file, a, at, p, zeros);
  if (!zeros)
    hdf5_set_reason("out of memory");
  free(zeros);
  return ok;
}

bool chunks_take(const Dataset *a, int64_t at, int64_t piece, const void *values) {
  int64_t rows = rows_at_once(a), first = piece * rows, left = (int64_t)a->shape[1] - first;
  return put_rows(a, at, first, left < rows ? left : rows, values);
}
