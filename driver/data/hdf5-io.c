/* driver/data/hdf5-io.c: shared functions of the files that use the HDF5 library: the lock, error texts of the system,
 * attributes. */
#include "driver/data/hdf5-io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t library = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* The reason for the first failure since the library was locked; "": no failure. */
static char first_reason[256];

/* Copies the system's text from the deepest error message that contains one: "..., error message = 'No space left'". */
static herr_t find_reason(unsigned n, const H5E_error2_t *e, void *user) {
  const char *at = e->desc ? strstr(e->desc, "error message = '") : NULL;
  (void)user;
  if (at)
    snprintf(first_reason, sizeof first_reason, "%.*s", (int)strcspn(at + 17, "'"), at + 17);
  else if (!n || !first_reason[0])
    snprintf(first_reason, sizeof first_reason, "%s", e->desc ? e->desc : "the HDF5 library failed");
  return 0;
}

/* The library calls this when a call fails, in place of printing a message. */
static herr_t note_reason(hid_t stack, void *user) {
  if (!first_reason[0])
    H5Ewalk2(stack, H5E_WALK_UPWARD, find_reason, user);
  return 0;
}

/* Is another process writing the file by the library, which locks it then? */
static bool is_locked(const char *path) {
  struct stat st;
  int fd = lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
  bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (fd >= 0)
    close(fd);
  return locked;
}

hid_t hdf5_create(const char *part, hid_t properties, hid_t access) {
  bool locked = is_locked(part);
  if (!locked)
    unlink(part);
  hid_t file = H5Fcreate(part, locked ? H5F_ACC_TRUNC : H5F_ACC_EXCL, properties, access);
  char path[4096];
  int n = snprintf(path, sizeof path, "%.*s", (int)strlen(part) - (int)strlen(".part"), part);
  if (file >= 0 && n < (int)sizeof path)
    file_keep_mode(path, part, -1);
  return file;
}

/* Has the library do no work at the end of the process. */
void hdf5_take(void) {
  pthread_mutex_lock(&library);
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, note_reason, NULL);
  first_reason[0] = 0;
}

void hdf5_give(void) { pthread_mutex_unlock(&library); }

void hdf5_set_reason(const char *reason) { snprintf(first_reason, sizeof first_reason, "%s", reason); }

void hdf5_reason(char reason[256]) {
  snprintf(reason, 256, "%s", first_reason[0] ? first_reason : "the HDF5 library failed");
}

bool hdf5_failed(void) { return first_reason[0] != 0; }

StcStatus hdf5_report(const Writer *w) {
  char reason[256];
  hdf5_reason(reason);
  context_error(w->context, "cannot write %s: %s", w->path, reason);
  return STC_IO;
}

hid_t hdf5_make_group(hid_t in, const char *name) {
  hid_t properties = H5Pcreate(H5P_GROUP_CREATE);
  H5Pset_obj_track_times(properties, false);
  hid_t group = H5Gcreate2(in, name, H5P_DEFAULT, properties, H5P_DEFAULT);
  H5Pclose(properties);
  return group;
}

/* Writes an attribute of the extents `space`, which it closes. */
static bool put_attribute(hid_t of, const char *name, hid_t type, hid_t space, const void *values) {
  hid_t a = H5Acreate2(of, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  bool ok = a >= 0 && H5Awrite(a, type, values) >= 0;
  if (a >= 0)
    H5Aclose(a);
  H5Sclose(space);
  return ok;
}

bool hdf5_put_text(hid_t of, const char *name, const char *text) {
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, strlen(text) + 1);
  bool ok = put_attribute(of, name, type, H5Screate(H5S_SCALAR), text);
  H5Tclose(type);
  return ok;
}

bool hdf5_put_numbers(hid_t of, const char *name, hid_t type, int n, const void *values) {
  hsize_t length = (hsize_t)n;
  return put_attribute(of, name, type, n == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &length, NULL), values);
}

bool hdf5_put_plain(hid_t group, const char *name, hid_t type, hsize_t n, const void *values, uint64_t sum,
                    int64_t *place) {
  hid_t space = H5Screate_simple(1, &n, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(properties, false);
  H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);
  hid_t set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  bool ok = set >= 0 && hdf5_put_numbers(set, "checksum", H5T_NATIVE_UINT64, 1, &sum);
  if (ok && n && values)
    ok = H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
  haddr_t offset = ok && n ? H5Dget_offset(set) : 0;
  ok = ok && offset != HADDR_UNDEF;
  *place = ok ? (int64_t)offset : 0;
  if (set >= 0)
    ok = H5Dclose(set) >= 0 && ok;
  H5Pclose(properties);
  H5Sclose(space);
  return ok;
}

hid_t hdf5_type(StcType t) {
  switch (t) {
  case STC_I8: return H5T_STD_I8LE;
  case STC_I16: return H5T_STD_I16LE;
  case STC_U8: return H5T_STD_U8LE;
  case STC_U16: return H5T_STD_U16LE;
  case STC_U32: return H5T_STD_U32LE;
  case STC_I32: return H5T_STD_I32LE;
  case STC_I64: return H5T_STD_I64LE;
  case STC_F32: return H5T_IEEE_F32LE;
  default: return H5T_IEEE_F64LE;
  }
}

hid_t hdf5_complex_type(StcType t) {
  size_t size = (size_t)type_size((Type)t);
  hid_t type = H5Tcreate(H5T_COMPOUND, 2 * size);
  H5Tinsert(type, "r", 0, hdf5_type(t));
  H5Tinsert(type, "i", size, hdf5_type(t));
  return type;
}

hid_t hdf5_bits_type(StcType t) {
  return t == STC_F32              ? H5T_IEEE_F32LE
         : t == STC_F64            ? H5T_IEEE_F64LE
         : type_size((Type)t) == 1 ? H5T_STD_I8LE
         : type_size((Type)t) == 2 ? H5T_STD_I16LE
         : type_size((Type)t) == 4 ? H5T_STD_I32LE
                                   : H5T_STD_I64LE;
}

bool probe_rows(int64_t n, const StcProbe *rows, const char *name, ProbeRows *out) {
  *out = (ProbeRows){0};
  for (int64_t i = 0; i < n; i++)
    if (strcmp(rows[i].name, name) == 0)
      out->n++, out->length = rows[i].n, out->bytes = (size_t)rows[i].n * (size_t)type_size((Type)rows[i].type);
  out->steps = malloc((size_t)out->n * sizeof *out->steps + 1);
  out->values = malloc((size_t)out->n * out->bytes + 1);
  bool ok = out->steps && out->values;
  for (int64_t i = 0, k = 0; i < n && ok; i++)
    if (strcmp(rows[i].name, name) == 0) {
      out->steps[k] = rows[i].step;
      memcpy(out->values + (size_t)k++ * out->bytes, rows[i].values, out->bytes);
    }
  return ok;
}

void probe_rows_free(ProbeRows *r) {
  free(r->steps);
  free(r->values);
}

bool hdf5_put_params(hid_t file, const char *name, const Facts *f) {
  hid_t group = hdf5_make_group(file, name);
  bool ok = group >= 0;
  for (int i = 0; i < f->nparams && ok; i++) {
    const ParamFact *p = &f->params[i];
    bool real = p->type == STC_F64;
    ok = hdf5_put_numbers(group, p->name, real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, 1,
                          real ? (const void *)&p->f : (const void *)&p->i);
  }
  return group >= 0 && H5Gclose(group) >= 0 && ok;
}
