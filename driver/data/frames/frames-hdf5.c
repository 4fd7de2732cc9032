/* driver/data/frames/frames-hdf5.c: series of frames, and single fields, in HDF5 and netCDF files: an array, with the
 * field's name or the name given after the file's. The first axis of a series is that of the frames. */
#include "driver/data/frames/frames-chunks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The open array; hdf5 has its axes in the field's order. type: of its numbers in memory; swapped: the same in the
 * other byte order; size: bytes of a number. single: it has no axis of frames. bytes: of a frame. If the layout is
 * known: place, of contiguous frames, or chunks; then place.fd is open. */
struct FrameArray {
  hid_t file, set, type, swapped;
  int rank, size;
  bool single;
  hsize_t shape[MAX_DIMS];
  int64_t bytes;
  FramePlace place;
  FrameChunks *chunks;
};

/* The start of the array's name in "FILE.nc:NAME"; *n is the length of the file's name. NULL: there is no such name;
 * then *n is 0 if `path` is no such file either. */
static const char *split_name(const char *path, int *n) {
  static const char *const endings[] = {".nc", ".h5"};
  *n = 0;
  for (int i = 0; i < 2; i++)
    for (const char *at = strstr(path, endings[i]); at; at = strstr(at + 1, endings[i]))
      if (!at[3] || at[3] == ':') {
        *n = (int)(at - path) + 3;
        return at[3] ? at + 4 : NULL;
      }
  return NULL;
}

bool frames_are_hdf5(const char *path) {
  int n;
  split_name(path, &n);
  return n > 0;
}

const char *hdf5_file(Arena *a, const char *path) {
  int n;
  split_name(path, &n);
  return n ? arena_printf(a, "%.*s", n, path) : path;
}

/* "(4, 13, 11)". */
static const char *shape_text(char text[256], int rank, const int64_t *shape) {
  int n = snprintf(text, 256, "(");
  for (int d = 0; d < rank && n < 256; d++)
    n += snprintf(text + n, (size_t)(256 - n), d ? ", %lld" : "%lld", (long long)shape[d]);
  if (n < 256)
    snprintf(text + n, (size_t)(256 - n), rank == 1 ? ",)" : ")");
  return text;
}

/* Reports that a field's array has the shape `have` instead of `need`. */
static StcStatus wrong_single(StcContext *c, const char *path, const char *what, int have_rank, const int64_t *have,
                              int rank, const int64_t *need) {
  int place[MAX_DIMS];
  char text[2][256];
  bool steps = have_rank > 1 && shape_places(have_rank - 1, have + 1, rank, need, place);
  context_error(c, "%s: its shape is %s, but %s needs %s; %s", path, shape_text(text[0], have_rank, have), what,
                shape_text(text[1], rank, need),
                steps ? "it has several steps: write one of them to a file of its own, or declare the field with "
                        "'frames every K'"
                      : "change the file, or the params with -D");
  return STC_INPUT;
}

/* Asks the library for the array's shape. */
static void find_shape(FrameArray *a) {
  hid_t space = H5Dget_space(a->set);
  a->rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
  if (a->rank > MAX_DIMS || (a->rank > 0 && H5Sget_simple_extent_dims(space, a->shape, NULL) < 0))
    a->rank = -1;
  if (space >= 0)
    H5Sclose(space);
}

/* Checks that the array has the shape of frames of the field, and records their number; a single array must have the
 * shape of the field, perhaps after an axis of length 1, as files of one step have it. */
static StcStatus check_shape(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, FrameArray *a,
                             int64_t *count) {
  int64_t have[MAX_DIMS] = {0}, need[MAX_DIMS];
  int rank = 1, place[MAX_DIMS];
  char text[2][256];
  for (int d = 0; d < a->rank; d++)
    have[d] = (int64_t)a->shape[d];
  need[0] = *count = have[0];
  for (int d = 0; d < f->rank; d++)
    need[rank++] = f->shape[d];
  for (int d = 0; d < f->naxes && rank < MAX_DIMS; d++)
    need[rank++] = f->axes[d];
  bool frames = a->rank > 0 && shape_places(a->rank - 1, have + 1, rank - 1, need + 1, place);
  if (a->single && a->rank >= 0 && shape_places(a->rank, have, rank - 1, need + 1, place))
    return STC_OK;
  if (a->single && !(frames && have[0] == 1))
    return wrong_single(c, path, what, a->rank, have, rank - 1, need + 1);
  a->single = false;
  if (!frames)
    return context_error(c, "%s: its shape is %s, but the frames of %s need %s, with their number in front", path,
                         shape_text(text[0], a->rank, have), what, shape_text(text[1], rank, need)),
           STC_INPUT;
  return *count ? STC_OK : (context_error(c, "%s: it has no frame", path), STC_INPUT);
}

/* Is it a number of type `t`, in any byte order? */
static bool is_number(hid_t type, Type t) {
  H5T_class_t kind = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
  return (t == TY_F32 || t == TY_F64 || type_is_int(t)) && kind == (type_is_float(t) ? H5T_FLOAT : H5T_INTEGER) &&
         H5Tget_size(type) == (size_t)type_size(t) &&
         (kind == H5T_FLOAT || (H5Tget_sign(type) == H5T_SGN_NONE) == type_is_unsigned(t));
}

/* Is it a complex number with parts of type `t`, as h5py writes it: a compound of r and i? */
static bool is_pair(hid_t type, Type t) {
  static const char *const names[] = {"r", "i"};
  bool ok = type >= 0 && H5Tget_class(type) == H5T_COMPOUND && H5Tget_nmembers(type) == 2;
  for (int k = 0; k < 2 && ok; k++) {
    int at = H5Tget_member_index(type, names[k]);
    hid_t part = at >= 0 ? H5Tget_member_type(type, (unsigned)at) : -1;
    ok = is_number(part, t);
    if (part >= 0)
      H5Tclose(part);
  }
  return ok;
}

/* Are the field's elements complex numbers? */
static bool has_pairs(const StcFieldInfo *f) { return f->dtype && !strncmp(f->dtype, "'<c", 3); }

/* Does the type have numbers, or pairs of numbers, of type `t`, or of a type that can be converted to it? *from is that
 * type. */
static bool is_convertible(hid_t type, Type t, bool pairs, Type *from) {
  static const Type all[] = {TY_F64, TY_F32, TY_I64, TY_I32, TY_I16, TY_I8, TY_U8, TY_U16, TY_U32};
  *from = t;
  if (pairs ? is_pair(type, t) : is_number(type, t))
    return true;
  for (size_t i = 0; i < sizeof all / sizeof *all && t != TY_BF16; i++)
    if (cast_allowed(*from = all[i], t) && (pairs ? is_pair(type, *from) : is_number(type, *from)))
      return true;
  return false;
}

/* Makes the types in memory for numbers, or pairs of them, of type `t`, and the same in the other byte order. */
static void make_types(FrameArray *a, Type t, bool pairs) {
  hid_t number = H5Tcopy(hdf5_type((StcType)t));
  a->size = type_size(t);
  a->type = pairs ? hdf5_complex_type((StcType)t) : H5Tcopy(number);
  H5Tset_order(number, H5Tget_order(number) == H5T_ORDER_LE ? H5T_ORDER_BE : H5T_ORDER_LE);
  a->swapped = pairs ? H5Tcreate(H5T_COMPOUND, 2 * (size_t)a->size) : H5Tcopy(number);
  if (pairs) {
    H5Tinsert(a->swapped, "r", 0, number);
    H5Tinsert(a->swapped, "i", (size_t)a->size, number);
  }
  H5Tclose(number);
}

/* Reports numbers that scale_factor or add_offset change. */
static StcStatus packed(StcContext *c, const char *path, const char *what) {
  context_error(c,
                "%s: its numbers are packed (scale_factor, add_offset), for %s; unpack them before, by ncpdq -U or "
                "xarray",
                path, what);
  return STC_INPUT;
}

/* Reports elements that are not, and cannot be converted to, those of the field, of type `t`. */
static StcStatus wrong_type(StcContext *c, const char *path, const char *what, Type t, bool pairs) {
  bool number = t == TY_F32 || t == TY_F64 || type_is_int(t);
  if (pairs)
    context_error(c,
                  "%s: its elements are not %s, which %s needs: a compound type of two members r and i, as h5py writes "
                  "a.astype('%s')",
                  path, t == TY_F32 ? "c64" : "c128", what, t == TY_F32 ? "c8" : "c16");
  else
    context_error(c, "%s: its elements are not of type %s, which %s needs; convert them before%s", path, type_name(t),
                  what, number ? "" : ", to a .npy file");
  return STC_INPUT;
}

/* Checks that the array's elements have the field's type, in any byte order, or can be converted to it, and are not
 * packed. */
static StcStatus check_type(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, FrameArray *a,
                            Cast *cast) {
  Type t = (Type)(f->components ? f->components[0].type : f->type), from;
  hid_t type = H5Dget_type(a->set);
  bool pairs = has_pairs(f), fits = is_convertible(type, t, pairs, &from);
  *cast = (Cast){.needed = from != t, .from = from, .to = t, .n = f->bytes / type_size(t)};
  if (type >= 0)
    H5Tclose(type);
  if (H5Aexists(a->set, "scale_factor") > 0 || H5Aexists(a->set, "add_offset") > 0)
    return packed(c, path, what);
  if (!fits)
    return wrong_type(c, path, what, t, pairs);
  make_types(a, from, pairs);
  return STC_OK;
}

/* The same for an array of a file before netCDF-4. */
static StcStatus check_classic_type(StcContext *c, const char *path, const char *what, const StcFieldInfo *f,
                                    const ClassicArray *x, FrameArray *a, Cast *cast) {
  Type t = (Type)(f->components ? f->components[0].type : f->type);
  *cast = (Cast){.needed = x->type != t, .from = x->type, .to = t, .n = f->bytes / type_size(t)};
  if (x->packed)
    return packed(c, path, what);
  if (has_pairs(f) || t == TY_BF16 || (x->type != t && !cast_allowed(x->type, t)))
    return wrong_type(c, path, what, t, has_pairs(f));
  a->size = type_size(x->type);
  return STC_OK;
}

/* Is the array in the file itself, rather than in another one to which a link points? */
static bool is_in_file(const FrameArray *a) {
  H5O_info_t here, file;
  return H5Oget_info(a->set, &here) >= 0 && H5Oget_info(a->file, &file) >= 0 && here.fileno == file.fileno;
}

/* Are the elements contiguous in the file? */
static bool is_in_one(const FrameArray *a) {
  hid_t how = H5Dget_create_plist(a->set);
  bool in_one = how >= 0 && H5Pget_layout(how) == H5D_CONTIGUOUS && H5Pget_external_count(how) == 0;
  if (how >= 0)
    H5Pclose(how);
  return in_one;
}

/* Finds the positions of the array's frames in the file, if they are numbers of either byte order and contiguous or in
 * chunks. In other cases only the library reads them. */
static void find_frames(FrameArray *a, const char *file) {
  hid_t type = H5Dget_type(a->set);
  bool same = type >= 0 && H5Tequal(type, a->type) > 0, other = type >= 0 && H5Tequal(type, a->swapped) > 0;
  if (type >= 0)
    H5Tclose(type);
  FramePlace *p = &a->place;
  haddr_t at = HADDR_UNDEF;
  p->swap = same ? 0 : a->size;
  p->fd = (same || other) && is_in_file(a) ? open(file, O_RDONLY | O_CLOEXEC) : -1;
  if (p->fd >= 0 && is_in_one(a))
    at = H5Dget_offset(a->set);
  else if (p->fd >= 0 && !a->single)
    a->chunks = frame_chunks_new(a->set, p->swap, p->fd);
  p->at = (int64_t)at;
  p->step = a->size;
  for (int d = 1; d < a->rank; d++)
    p->step *= (int64_t)a->shape[d];
  if (H5Tget_class(a->type) == H5T_COMPOUND)
    p->step *= 2;
  if (p->fd >= 0 && at == HADDR_UNDEF && !a->chunks) {
    close(p->fd);
    p->fd = -1;
  }
}

/* Opens the array of a file before netCDF-4. */
static StcStatus open_classic(StcContext *c, const char *path, const char *what, const StcFieldInfo *f,
                              const char *file, const char *name, FrameArray *a, Cast *cast, int64_t *count) {
  ClassicArray x;
  char reason[256];
  bool found;
  if (!classic_open(file, name, &x, &found, reason))
    return context_error(c, "cannot read %s for %s: %s", path, what, reason), STC_IO;
  a->place = x.place;
  if (!found)
    return STC_OK;
  a->rank = x.rank;
  for (int d = 0; d < x.rank; d++)
    a->shape[d] = (hsize_t)x.shape[d];
  StcStatus s = check_shape(c, path, what, f, a, count);
  return s ? s : check_classic_type(c, path, what, f, &x, a, cast);
}

/* Opens the array of an HDF5 file. a->set < 0 afterwards: there is no such array. */
static StcStatus open_hdf5(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, const char *file,
                           const char *name, FrameArray *a, Cast *cast, int64_t *count) {
  char reason[256];
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  hdf5_open_for_others(access);
  a->file = file ? H5Fopen(file, H5F_ACC_RDONLY, access) : -1;
  H5Pclose(access);
  hdf5_reason(reason);
  if (a->file < 0)
    return context_error(c, "cannot read %s for %s: %s", path, what, reason), STC_IO;
  if (H5Lexists(a->file, name, H5P_DEFAULT) <= 0)
    return STC_OK;
  a->set = H5Dopen2(a->file, name, H5P_DEFAULT);
  hdf5_reason(reason);
  if (a->set < 0)
    return context_error(c, "cannot read %s for %s: %s", path, what, reason), STC_IO;
  find_shape(a);
  StcStatus s = check_shape(c, path, what, f, a, count);
  return s ? s : check_type(c, path, what, f, a, cast);
}

/* Opens the array. */
static StcStatus open_array(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, FrameArray *a,
                            Cast *cast, int64_t *count) {
  int n;
  const char *name = split_name(path, &n);
  char *file = strndup(path, (size_t)n);
  name = name ? name : f->name;
  if (f->dtype && f->dtype[0] == '[')
    return free(file), context_error(c, "%s: %s is of structs, which come from .npy files alone", path, what),
           STC_INPUT;
  StcStatus s = (is_classic(file) ? open_classic : open_hdf5)(c, path, what, f, file, name, a, cast, count);
  if (!s && !a->size)
    s = (context_error(c, "%s: there is no array %s in it for %s; name another one behind the file: %.*s:NAME", path,
                       name, what, n, path),
         STC_INPUT);
  if (!s && a->place.fd < 0)
    find_frames(a, file);
  free(file);
  return s;
}

/* Opens the array of a series, or (`single`) of one field. */
static FrameArray *open_any(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, bool single,
                            Cast *cast, int64_t *count, StcStatus *s) {
  FrameArray *a = calloc(1, sizeof *a);
  *s = a ? STC_OK : STC_MEMORY;
  if (!a)
    return context_error(c, "out of memory"), NULL;
  a->single = single;
  a->file = a->set = a->type = a->swapped = -1;
  a->place.fd = -1;
  hdf5_take();
  *s = open_array(c, path, what, f, a, cast, count);
  hdf5_give();
  a->bytes = *s ? 0 : cast->needed ? cast->n * type_size(cast->from) : f->bytes;
  if (*s) {
    frame_array_close(a);
    a = NULL;
  }
  return a;
}

FrameArray *frame_array_open(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, Cast *cast,
                             int64_t *count, StcStatus *s) {
  return open_any(c, path, what, f, false, cast, count, s);
}

bool frame_array_is_quick(const FrameArray *a) { return a->place.fd >= 0; }

/* Has the library read a frame. */
static bool read_by_library(const FrameArray *a, int64_t frame, void *data, char reason[256]) {
  hsize_t first[MAX_DIMS] = {(hsize_t)frame}, n[MAX_DIMS];
  memcpy(n, a->shape, sizeof n);
  n[0] = a->single ? n[0] : 1;
  hdf5_take();
  hid_t file = H5Dget_space(a->set), memory = a->rank ? H5Screate_simple(a->rank, n, NULL) : H5Screate(H5S_SCALAR);
  bool ok = file >= 0 && memory >= 0 &&
            (!a->rank || H5Sselect_hyperslab(file, H5S_SELECT_SET, first, NULL, n, NULL) >= 0) &&
            H5Dread(a->set, a->type, memory, file, H5P_DEFAULT, data) >= 0;
  if (!ok)
    hdf5_reason(reason);
  if (file >= 0)
    H5Sclose(file);
  if (memory >= 0)
    H5Sclose(memory);
  hdf5_give();
  return ok;
}

/* Reads a contiguous frame, or a single field, whose rows may be in records that alternate with those of other arrays.
 */
static bool read_in_place(const FrameArray *a, int64_t frame, char *data) {
  int64_t rows = a->single && a->rank > 0 ? (int64_t)a->shape[0] : 1, each = a->bytes / (rows > 0 ? rows : 1);
  bool ok = true;
  if (rows < 2 || a->place.step == each)
    return place_read(&a->place, frame, data, a->bytes);
  for (int64_t k = 0; k < rows && ok; k++)
    ok = place_read(&a->place, k, data + k * each, each);
  return ok;
}

bool frame_array_read(const FrameArray *a, int64_t frame, void *data, char reason[256]) {
  bool missing = false;
  if (a->place.fd < 0)
    return read_by_library(a, frame, data, reason);
  if (a->chunks ? frame_chunks_read(a->chunks, frame, data, &missing) : read_in_place(a, frame, data))
    return true;
  if (missing)
    return read_by_library(a, frame, data, reason);
  snprintf(reason, 256, "%s",
           errno == EILSEQ ? "what is compressed there is damaged"
           : errno         ? strerror(errno)
                           : "it ends before");
  return false;
}

void frame_array_tell(const FrameArray *a, int64_t frame) {
  if (a->chunks)
    frame_chunks_tell(a->chunks, frame);
  else if (a->place.fd >= 0)
    posix_fadvise(a->place.fd, a->place.at + frame * a->place.step, a->bytes, POSIX_FADV_WILLNEED);
}

void frame_array_close(FrameArray *a) {
  if (!a)
    return;
  hdf5_take();
  frame_chunks_free(a->chunks);
  if (a->place.fd >= 0)
    close(a->place.fd);
  if (a->type >= 0)
    H5Tclose(a->type);
  if (a->swapped >= 0)
    H5Tclose(a->swapped);
  if (a->set >= 0)
    H5Dclose(a->set);
  if (a->file >= 0)
    H5Fclose(a->file);
  hdf5_give();
  free(a);
}

/* Reads the open array into `data`, and converts its numbers. */
static StcStatus read_single(StcContext *c, const char *path, const char *what, const FrameArray *a, const Cast *cast,
                             void *data) {
  char reason[256];
  int64_t bad;
  void *raw = cast->needed ? malloc((size_t)(cast->n * type_size(cast->from)) + 1) : data;
  StcStatus s = raw ? STC_OK : (context_error(c, "out of memory"), STC_MEMORY);
  if (!s && !frame_array_read(a, 0, raw, reason))
    s = (context_error(c, "cannot read %s for %s: %s", path, what, reason), STC_IO);
  if (!s && cast->needed && !cast_beside(cast, raw, data, &bad))
    s = (context_error(c, "%s: its element %lld does not fit in %s", path, (long long)bad, type_name(cast->to)),
         STC_INPUT);
  else if (!s && cast->needed)
    context_note(c, "%s: its numbers, %s, are converted to %s for %s", path, type_name(cast->from), type_name(cast->to),
                 what);
  if (raw != data)
    free(raw);
  return s;
}

StcStatus hdf5_read_field(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, void *data) {
  Cast cast;
  int64_t count;
  StcStatus s;
  FrameArray *a = open_any(c, path, what, f, true, &cast, &count, &s);
  if (a && data)
    s = read_single(c, path, what, a, &cast, data);
  frame_array_close(a);
  return s;
}
