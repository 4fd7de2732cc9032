/* tests/unit/hdf5_places_test.c: a chunk that the library believes to have written: it is left out, its place is known,
 * and what others write there is read. The place of frames that are read without the library. */
#include "driver/data/frames/frames.h"
#include "driver/data/hdf5-io.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/testing.h"

enum { CHUNK = 50, CHUNKS = 200 };

/* An array of CHUNKS chunks of CHUNK numbers in a new file, which others are to write. */
static hid_t make_array(const char *path, bool latest, hid_t *file) {
  hsize_t n[2] = {1, CHUNK * CHUNKS}, most[2] = {H5S_UNLIMITED, CHUNK * CHUNKS}, chunk[2] = {1, CHUNK};
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), space = H5Screate_simple(2, n, most),
        properties = H5Pcreate(H5P_DATASET_CREATE);
  assert_true(hdf5_open_for_others(access));
  if (latest)
    H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  H5Pset_chunk(properties, 2, chunk);
  *file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  assert_true(*file >= 0);
  hid_t set = H5Dcreate2(*file, "a", H5T_IEEE_F64LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  assert_true(set >= 0);
  H5Pclose(properties);
  H5Sclose(space);
  H5Pclose(access);
  return set;
}

static void check_places(bool latest) {
  char path[] = "/tmp/hdf5_places_test.XXXXXX";
  double any[CHUNK], values[CHUNK * CHUNKS], back[CHUNK * CHUNKS];
  int64_t place[CHUNKS];
  hid_t file;
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  hid_t set = make_array(path, latest, &file);
  for (int i = 0; i < CHUNK; i++)
    any[i] = 7;
  for (int i = 0; i < CHUNK * CHUNKS; i++)
    values[i] = i;
  for (int k = 0; k < CHUNKS; k++) {
    double there[CHUNK] = {0};
    hsize_t offset[2] = {0, (hsize_t)k * CHUNK};
    assert_true(hdf5_place_chunk(set, offset, sizeof any, any, &place[k]));
    assert_true(place[k] > 0);
    assert_true(pread(fd, there, sizeof there, place[k]) >= 0);
    assert_true(there[0] != 7 && there[CHUNK - 1] != 7);
    assert_true(file_write_at(fd, (const char *)(values + k * CHUNK), sizeof there, place[k]));
  }
  assert_true(H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
  file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  set = H5Dopen2(file, "a", H5P_DEFAULT);
  assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0);
  assert_memory_equal(back, values, sizeof back);
  assert_true(H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
  close(fd);
  unlink(path);
}

TEST(chunks_are_left_out) {
  hdf5_take();
  check_places(false);
  check_places(true);
  hdf5_give();
}

/* Are the two frames `name` of the file `path` read without the library? Are the first numbers those of `values`? */
static bool is_quick(const char *path, const char *name, const double *values) {
  StcContext *c = stc_context_new(NULL);
  const StcFieldInfo f = {.name = name, .type = STC_F64, .rank = 1, .shape = {CHUNK}, .bytes = CHUNK * 8};
  int64_t count;
  double there[CHUNK];
  char reason[256];
  StcStatus s;
  Cast cast;
  FrameArray *a = frame_array_open(c, path, "field u", &f, &cast, &count, &s);
  assert_non_null(a);
  assert_int_equal(count, 2);
  assert_true(frame_array_read(a, 0, there, reason));
  assert_memory_equal(there, values, sizeof there);
  bool quick = frame_array_is_quick(a);
  frame_array_close(a);
  stc_context_free(c);
  return quick;
}

/* Frames in one piece are read where they lie, but not those of another file, to which a link leads. */
TEST(frames_are_in_their_file) {
  static const char *const ends[] = {"/a.h5", "/b.h5"};
  char folder[] = "/tmp/hdf5_places_test.XXXXXX", path[2][64];
  double values[2 * CHUNK] = {7, 8, 9};
  hsize_t n[] = {2, CHUNK};
  assert_non_null(mkdtemp(folder));
  hid_t space = H5Screate_simple(2, n, NULL);
  for (int i = 0; i < 2; i++) {
    snprintf(path[i], sizeof path[i], "%s%s", folder, ends[i]);
    hid_t file = H5Fcreate(path[i], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t set = i ? -1 : H5Dcreate2(file, "a", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(i ? H5Lcreate_external(path[0], "a", file, "a", H5P_DEFAULT, H5P_DEFAULT) >= 0
                  : H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    if (set >= 0)
      H5Dclose(set);
    H5Fclose(file);
  }
  H5Sclose(space);
  assert_true(is_quick(path[0], "a", values));
  assert_false(is_quick(path[1], "a", values));
  assert_true(unlink(path[0]) == 0 && unlink(path[1]) == 0 && rmdir(folder) == 0);
}
