/* driver/data/hdf5-places.c: finds the offset at which the library would write a chunk, so that others can write it
 * there, or has written one, so that others can read it. Files are opened by the library's own driver, with one
 * difference: it can skip a write or a read and record its offset in the file. The library treats the write as done,
 * and finds the chunk there later. */
#include "driver/data/hdf5-io.h"

#include <stdlib.h>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

/* The original write and read functions of the library's driver; the number of skipped writes or reads of values, and
 * offset and size of the last one. */
typedef herr_t WriteFn(H5FD_t *file, H5FD_mem_t type, hid_t how, haddr_t at, size_t size, const void *bytes);
typedef herr_t ReadFn(H5FD_t *file, H5FD_mem_t type, hid_t how, haddr_t at, size_t size, void *bytes);
static WriteFn *plain_write;
static ReadFn *plain_read;
static bool leaves_out;
static int left_out;
static haddr_t place;
static size_t extent;

/* Writes, or records the offset instead. */
static herr_t write_or_note(H5FD_t *file, H5FD_mem_t type, hid_t how, haddr_t at, size_t size, const void *bytes) {
  if (!leaves_out || type != H5FD_MEM_DRAW)
    return plain_write(file, type, how, at, size, bytes);
  left_out++;
  place = at;
  return 0;
}

/* Reads, or records the offset instead. */
static herr_t read_or_note(H5FD_t *file, H5FD_mem_t type, hid_t how, haddr_t at, size_t size, void *bytes) {
  if (!leaves_out || type != H5FD_MEM_DRAW)
    return plain_read(file, type, how, at, size, bytes);
  left_out++;
  place = at;
  extent = size;
  return 0;
}

/* Makes a copy of the library's own driver with these functions. */
static hid_t make_driver(void) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  bool ok = H5Pset_fapl_sec2(access) >= 0;
  H5FD_t *file = ok ? H5FDopen("/dev/null", H5F_ACC_RDWR, access, HADDR_UNDEF) : NULL;
  H5Pclose(access);
  if (!file)
    return -1;
  H5FD_class_t own = *file->cls;
  H5FDclose(file);
  plain_write = own.write;
  plain_read = own.read;
  own.name = "stc";
  own.terminate = NULL;
  own.write = write_or_note;
  own.read = read_or_note;
#if H5_VERSION_GE(1, 13, 2)
  own.value = (H5FD_class_value_t)(H5_VFD_RESERVED + 83);
#endif
  return H5FDregister(&own);
}

bool hdf5_open_for_others(hid_t access) {
  static hid_t driver;
  if (!driver)
    driver = make_driver();
  return driver >= 0 && H5Pset_driver(access, driver, NULL) >= 0;
}

bool hdf5_place_chunk(hid_t set, const hsize_t *offset, size_t size, const void *any, int64_t *at) {
  unsigned mask;
  hsize_t stored = size;
  leaves_out = true;
  left_out = 0;
  bool ok = H5Dwrite_chunk(set, H5P_DEFAULT, 0, offset, size, any) >= 0;
  leaves_out = false;
  if (ok && left_out != 1)
    ok = H5Dget_chunk_info_by_coord(set, offset, &mask, &place, &stored) >= 0 && place != HADDR_UNDEF && stored == size;
  *at = ok ? (int64_t)place : -1;
  return ok;
}

#if H5_VERSION_GE(2, 0, 0)
/* Uses the library's list of chunks; since this version the function that reads a chunk has changed. */
bool hdf5_find_chunk(hid_t set, const hsize_t *offset, int64_t *at, size_t *size, unsigned *mask) {
  hsize_t stored;
  bool ok = H5Dget_chunk_info_by_coord(set, offset, mask, &place, &stored) >= 0 && place != HADDR_UNDEF;
  *at = ok ? (int64_t)place : -1;
  *size = ok ? (size_t)stored : 0;
  return ok;
}
#else
/* Memory of `n` bytes, valid while the library is locked. It is written to only if the library reads in another way
 * than by its driver. NULL: there is none. */
static void *room_for(hsize_t n) {
  static void *room;
  static size_t bytes;
  if (n > bytes) {
    void *more = realloc(room, (size_t)n);
    room = more ? more : room;
    bytes = more ? (size_t)n : bytes;
  }
  return n <= bytes ? room : NULL;
}

bool hdf5_find_chunk(hid_t set, const hsize_t *offset, int64_t *at, size_t *size, unsigned *mask) {
  hsize_t n = 0;
  void *room = H5Dget_chunk_storage_size(set, offset, &n) >= 0 && n ? room_for(n) : NULL;
  leaves_out = true;
  left_out = 0;
  bool ok = room && H5Dread_chunk(set, H5P_DEFAULT, offset, mask, room) >= 0 && left_out == 1 && extent == n;
  leaves_out = false;
  *at = ok ? (int64_t)place : -1;
  *size = ok ? extent : 0;
  return ok;
}
#endif
