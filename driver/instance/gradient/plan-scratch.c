/* driver/instance/gradient/plan-scratch.c: a file on the host's disk for copies of a run's fields. Its name is removed
 * as soon as it exists, so that nothing remains after the process, however that ends. */
#include "driver/files/files.h"
#include "driver/instance/gradient/gradient.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

StcStatus stc_plan_gradient_scratch(StcPlan *p, const char *folder) {
  char *own = folder ? strdup(folder) : NULL;
  if (folder && !own)
    return context_error(p->w.context, "out of memory"), STC_MEMORY;
  free(p->scratch);
  p->scratch = own;
  return STC_OK;
}

StcStatus scratch_open(StcContext *c, const char *folder, int *file) {
  static const char name[] = "/stc-gradient-XXXXXX";
  char *path = malloc(strlen(folder) + sizeof name);
  if (!path)
    return context_error(c, "out of memory"), STC_MEMORY;
  strcat(strcpy(path, folder), name);
  *file = mkstemp(path);
  int why = errno;
  if (*file >= 0)
    unlink(path);
  free(path);
  if (*file >= 0)
    return STC_OK;
  return context_error(c, "no file for the gradient's snapshots can be made in %s: %s", folder, strerror(why)), STC_IO;
}

/* Reports a failure with a copy, as described by errno. */
static StcStatus failed(StcContext *c, int64_t bytes, const char *how) {
  return context_error(c, "a snapshot of the gradient's, of %lld bytes, cannot be %s: %s", (long long)bytes, how,
                       strerror(errno)),
         STC_IO;
}

StcStatus scratch_write(StcContext *c, int file, int64_t place, const void *data, int64_t bytes) {
  return file_write_at(file, data, bytes, (place - 1) * bytes) ? STC_OK : failed(c, bytes, "written");
}

StcStatus scratch_read(StcContext *c, int file, int64_t place, void *data, int64_t bytes) {
  return file_read_at(file, data, bytes, (place - 1) * bytes) ? STC_OK : failed(c, bytes, "read");
}
