/* driver/files.c: files that are written whole or not at all. */
#include "driver/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens what can only be written in place: a device, a pipe. */
static bool open_special(StcContext *c, const char *path, OutFile *f) {
  snprintf(f->path, sizeof f->path, "%s", path);
  f->to = fopen(path, "wb");
  if (!f->to) context_error(c, "cannot write %s: %s", path, strerror(errno));
  return f->to != NULL;
}

bool file_create(StcContext *c, const char *path, OutFile *f) {
  struct stat st;
  *f = (OutFile){NULL, "", ""};
  if (strcmp(path, "-") == 0) {
    f->to = stdout;
    return true;
  }
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return open_special(c, path, f);
  int n = snprintf(f->path, sizeof f->path, "%s", path), m = snprintf(f->temporary, sizeof f->temporary, "%s.XXXXXX", path);
  if (n >= (int)sizeof f->path || m >= (int)sizeof f->temporary) {
    context_error(c, "the file name is too long: %.60s...", path);
    return false;
  }
  int fd = mkstemp(f->temporary);
  f->to = fd < 0 ? NULL : fdopen(fd, "wb");
  if (!f->to) {
    context_error(c, "cannot write %s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return false;
  }
  mode_t mask = umask(0);
  umask(mask);
  if (fchmod(fd, 0666 & ~mask) != 0) context_error(c, "cannot set the mode of %s: %s", path, strerror(errno));
  return true;
}

bool file_commit(StcContext *c, OutFile *f) {
  if (f->to == stdout) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return true;
    context_error(c, "cannot write to the standard output: %s", strerror(errno));
    return false;
  }
  bool bad = ferror(f->to) != 0;
  bad |= fclose(f->to) != 0;
  if (!bad && (!f->temporary[0] || rename(f->temporary, f->path) == 0)) return true;
  context_error(c, "cannot write %s: %s", f->path, strerror(errno));
  if (f->temporary[0]) unlink(f->temporary);
  return false;
}

void file_abandon(OutFile *f) {
  if (!f->to || f->to == stdout) return;
  fclose(f->to);
  if (f->temporary[0]) unlink(f->temporary);
}

bool file_write(StcContext *c, const char *path, const void *bytes, size_t size) {
  OutFile f;
  if (!file_create(c, path, &f)) return false;
  if (size) fwrite(bytes, 1, size, f.to);
  return file_commit(c, &f);
}

char *file_read(Workspace *w, const char *path, size_t *size) {
  bool standard = strcmp(path, "-") == 0;
  FILE *from = standard ? stdin : fopen(path, "rb");
  if (!from) {
    context_error(w->context, "cannot read %s: %s", path, strerror(errno));
    return NULL;
  }
  char *s = NULL;
  size_t n = 0, cap = 0, got = 0;
  do {
    n += got;
    if (cap - n < 4096) {
      s = arena_grow(w->arena, s, cap, cap ? cap * 2 : 16384, 1);
      cap = cap ? cap * 2 : 16384;
    }
    got = fread(s + n, 1, cap - n - 1, from);
  } while (got > 0);
  bool bad = ferror(from) != 0;
  if (!standard) fclose(from);
  if (bad) {
    context_error(w->context, "cannot read %s: %s", path, strerror(errno));
    return NULL;
  }
  s[n] = 0;
  *size = n;
  return s;
}
