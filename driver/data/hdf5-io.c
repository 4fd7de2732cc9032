/* driver/data/hdf5-io.c: what the files that use the HDF5 library share: one thread at a time, errors in the system's
 * words, attributes. */
#include "driver/data/hdf5-io.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t library = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* Why the first call failed since the library was taken; "" none has. */
static char first_reason[256];

/* Takes the system's own words from the deepest message that has them: "..., error message = 'No space left'". */
static herr_t find_reason(unsigned n, const H5E_error2_t *e, void *user) {
  const char *at = e->desc ? strstr(e->desc, "error message = '") : NULL;
  (void)user;
  if (at)
    snprintf(first_reason, sizeof first_reason, "%.*s", (int)strcspn(at + 17, "'"), at + 17);
  else if (!n || !first_reason[0])
    snprintf(first_reason, sizeof first_reason, "%s", e->desc ? e->desc : "the HDF5 library failed");
  return 0;
}

/* What the library calls, in place of printing, when a call fails. */
static herr_t note_reason(hid_t stack, void *user) {
  if (!first_reason[0])
    H5Ewalk2(stack, H5E_WALK_UPWARD, find_reason, user);
  return 0;
}

/* The library leaves no work for the end of the process. */
void hdf5_take(void) {
  pthread_mutex_lock(&library);
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, note_reason, NULL);
  first_reason[0] = 0;
}

void hdf5_give(void) { pthread_mutex_unlock(&library); }

void hdf5_reason(char reason[256]) {
  snprintf(reason, 256, "%s", first_reason[0] ? first_reason : "the HDF5 library failed");
}

StcStatus hdf5_report(const Writer *w) {
  char reason[256];
  hdf5_reason(reason);
  context_error(w->context, "cannot write %s: %s", w->path, reason);
  return STC_IO;
}

bool hdf5_put_text(hid_t of, const char *name, const char *text) {
  hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, strlen(text) + 1);
  hid_t a = H5Acreate2(of, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  bool ok = a >= 0 && H5Awrite(a, type, text) >= 0;
  if (a >= 0)
    H5Aclose(a);
  H5Sclose(space);
  H5Tclose(type);
  return ok;
}

bool hdf5_put_numbers(hid_t of, const char *name, hid_t type, int n, const void *values) {
  hsize_t length = (hsize_t)n;
  hid_t space = n == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &length, NULL);
  hid_t a = H5Acreate2(of, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  bool ok = a >= 0 && H5Awrite(a, type, values) >= 0;
  if (a >= 0)
    H5Aclose(a);
  H5Sclose(space);
  return ok;
}

bool hdf5_put_params(hid_t file, const char *name, const Facts *f) {
  hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  bool ok = group >= 0;
  for (int i = 0; i < f->nparams && ok; i++) {
    const ParamFact *p = &f->params[i];
    bool real = p->type == STC_F64;
    ok = hdf5_put_numbers(group, p->name, real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, 1,
                          real ? (const void *)&p->f : (const void *)&p->i);
  }
  return group >= 0 && H5Gclose(group) >= 0 && ok;
}
