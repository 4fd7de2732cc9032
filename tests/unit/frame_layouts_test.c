/* tests/unit/frame_layouts_test.c: frames are read by several threads from HDF5 files of every layout that is known to
 * them, with the values that the library reads: in one piece, in chunks, shuffled and deflated, in both orders of
 * bytes, in both formats of lists of chunks, behind a user's block; others are left to the library, and damage is an
 * error. */
#include "driver/data/frames/frames-chunks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/testing.h"

enum { FRAMES = 5, ROWS = 13, COLUMNS = 11, N = ROWS * COLUMNS, DEFLATE = 1, SHUFFLE = 2, CHECKSUM = 4, TWICE = 8 };

/* A layout: chunks of a shape, none if the first is 0, with filters. quick: the library is not needed. */
typedef struct Layout {
  hsize_t chunk[3];
  int filters;
  bool quick;
} Layout;

static const Layout layouts[] = {
    {{0}, 0, true},
    {{1, 13, 11}, 0, true},
    {{1, 4, 11}, 0, true},
    {{2, 5, 3}, 0, true},
    {{1, 13, 11}, DEFLATE | SHUFFLE, true},
    {{3, 5, 4}, DEFLATE | SHUFFLE, true},
    {{2, 7, 11}, DEFLATE, true},
    {{1, 4, 4}, SHUFFLE, true},
    {{1, 4, 4}, CHECKSUM, false},
    {{1, 2, 2}, DEFLATE | TWICE, false},
};

/* Creates array `a` in a new file. */
static hid_t create(const char *path, const Layout *l, hid_t type, bool latest, hid_t *file) {
  hsize_t shape[] = {FRAMES, ROWS, COLUMNS};
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), first = H5Pcreate(H5P_FILE_CREATE), how = H5Pcreate(H5P_DATASET_CREATE),
        space = H5Screate_simple(3, shape, NULL);
  if (latest)
    H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  H5Pset_userblock(first, latest ? 512 : 0);
  if (l->chunk[0])
    H5Pset_chunk(how, 3, l->chunk);
  if (l->filters & SHUFFLE)
    H5Pset_shuffle(how);
  if (l->filters & DEFLATE)
    H5Pset_deflate(how, 1);
  if (l->filters & TWICE)
    H5Pset_filter(how, H5Z_FILTER_DEFLATE, 0, 1, (unsigned[]){1});
  if (l->filters & CHECKSUM)
    H5Pset_fletcher32(how);
  *file = H5Fcreate(path, H5F_ACC_TRUNC, first, access);
  hid_t set = H5Dcreate2(*file, "a", type, space, H5P_DEFAULT, how, H5P_DEFAULT);
  assert_true(set >= 0);
  H5Pclose(access);
  H5Pclose(first);
  H5Pclose(how);
  H5Sclose(space);
  return set;
}

/* Opens the array for a field of type `t`, and expects `quick`. */
static FrameArray *open_frames(const char *path, StcType t, Cast *cast, bool quick) {
  StcContext *c = stc_context_new(NULL);
  const StcFieldInfo f = {
      .name = "a", .type = t, .rank = 2, .shape = {ROWS, COLUMNS}, .bytes = (size_t)N * (size_t)type_size((Type)t)};
  int64_t count;
  StcStatus s;
  FrameArray *a = frame_array_open(c, path, "field a", &f, cast, &count, &s);
  assert_non_null(a);
  assert_int_equal(count, FRAMES);
  assert_int_equal(frame_array_is_quick(a), quick);
  stc_context_free(c);
  return a;
}

/* Are all frames, read last to first and then the first once more, what the library reads as `memory`? */
static void compare(const char *path, StcType t, hid_t memory, bool quick) {
  char want[FRAMES * N * 8], got[N * 8], reason[256];
  size_t bytes = (size_t)N * H5Tget_size(memory);
  Cast cast;
  FrameArray *a = open_frames(path, t, &cast, quick);
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(file, "a", H5P_DEFAULT);
  assert_true(H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, want) >= 0);
  H5Dclose(set);
  H5Fclose(file);
  for (int i = FRAMES; i >= 0; i--) {
    int frame = i == FRAMES ? 0 : i;
    frame_array_tell(a, frame);
    memset(got, 0xaa, sizeof got);
    assert_true(frame_array_read(a, frame, got, reason));
    assert_memory_equal(got, want + (size_t)frame * bytes, bytes);
  }
  frame_array_close(a);
}

/* Of numbers of type `type` in the file, which come to a field of type `t` as `memory`. */
static void check_layouts(hid_t type, StcType t, hid_t memory) {
  char path[] = "/tmp/frame_layouts_test.XXXXXX.h5";
  close(mkstemps(path, 3));
  double values[FRAMES * N];
  for (int i = 0; i < FRAMES * N; i++)
    values[i] = i % 7 ? 32000.0 * i / (FRAMES * N) : -i;
  for (size_t k = 0; k < 2 * sizeof layouts / sizeof *layouts; k++) {
    hid_t file, set = create(path, &layouts[k / 2], type, k % 2, &file);
    assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    assert_true(H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
    compare(path, t, memory, layouts[k / 2].quick);
  }
  unlink(path);
}

TEST(layouts_have_the_library_s_values) {
  hdf5_take();
  check_layouts(H5T_IEEE_F32LE, STC_F32, H5T_NATIVE_FLOAT);
  check_layouts(H5T_IEEE_F32BE, STC_F32, H5T_NATIVE_FLOAT);
  check_layouts(H5T_IEEE_F64BE, STC_F64, H5T_NATIVE_DOUBLE);
  check_layouts(H5T_STD_I16BE, STC_I16, H5T_NATIVE_SHORT);
  check_layouts(H5T_IEEE_F64LE, STC_F32, H5T_NATIVE_DOUBLE); /* as the file has it: who converts is frames.c */
  hdf5_give();
}

/* Chunks that nobody has written hold what the library fills arrays with. */
TEST(holes_are_filled) {
  char path[] = "/tmp/frame_layouts_test.XXXXXX.h5";
  float values[N] = {1, 2, 3};
  hsize_t first[3] = {2, 0, 0}, n[3] = {1, ROWS, COLUMNS};
  close(mkstemps(path, 3));
  hdf5_take();
  hid_t file, set = create(path, &(Layout){{1, 5, 11}, DEFLATE, true}, H5T_IEEE_F32BE, false, &file);
  hid_t all = H5Dget_space(set), one = H5Screate_simple(3, n, NULL);
  H5Sselect_hyperslab(all, H5S_SELECT_SET, first, NULL, n, NULL);
  assert_true(H5Dwrite(set, H5T_NATIVE_FLOAT, one, all, H5P_DEFAULT, values) >= 0);
  H5Sclose(all);
  H5Sclose(one);
  H5Dclose(set);
  H5Fclose(file);
  compare(path, STC_F32, H5T_NATIVE_FLOAT, true);
  hdf5_give();
  unlink(path);
}

/* A damaged chunk is an error, and does not spoil other frames. */
TEST(damage_is_found) {
  char path[] = "/tmp/frame_layouts_test.XXXXXX.h5", reason[256];
  float values[FRAMES * N], got[N];
  hsize_t offset[3] = {3, 0, 0};
  int64_t at;
  size_t size;
  unsigned mask;
  for (int i = 0; i < FRAMES * N; i++)
    values[i] = (float)(i * i % 1000);
  close(mkstemps(path, 3));
  hdf5_take();
  hid_t file, set = create(path, &(Layout){{1, 13, 11}, DEFLATE, true}, H5T_IEEE_F32LE, false, &file);
  assert_true(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  H5Dclose(set);
  H5Fclose(file);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  assert_true(hdf5_open_for_others(access));
  file = H5Fopen(path, H5F_ACC_RDONLY, access);
  set = H5Dopen2(file, "a", H5P_DEFAULT);
  assert_true(hdf5_find_chunk(set, offset, &at, &size, &mask));
  H5Dclose(set);
  H5Fclose(file);
  H5Pclose(access);
  int fd = open(path, O_RDWR);
  assert_true(pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, at + (int64_t)size / 2) == 8);
  close(fd);
  Cast cast;
  FrameArray *a = open_frames(path, STC_F32, &cast, true);
  assert_false(frame_array_read(a, 3, got, reason));
  assert_string_equal(reason, "what is compressed there is damaged");
  assert_true(frame_array_read(a, 4, got, reason));
  assert_memory_equal(got, values + 4 * N, sizeof got);
  frame_array_close(a);
  hdf5_give();
  unlink(path);
}
