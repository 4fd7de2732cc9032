/* driver/files/files.c: files that are written whole or not at all. */
#include "driver/files/files.h"
#include "driver/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The number of the open file that `path` names, as /dev/stdout, /dev/fd/3 and /proc/self/fd/3 do; -1 if it names none.
 * Such a name is a link to the file; a file that is moved there would replace the link. */
static int open_file_named(const char *path) {
  static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"}, *const folders[] = {
                                                                                       "/dev/fd/", "/proc/self/fd/"};
  for (int i = 0; i < 3; i++)
    if (strcmp(path, names[i]) == 0)
      return i;
  for (int i = 0; i < 2; i++) {
    const char *number = path + strlen(folders[i]);
    if (strncmp(path, folders[i], strlen(folders[i])) == 0 && *number && strlen(number) < 6 &&
        strspn(number, "0123456789") == strlen(number))
      return atoi(number);
  }
  return -1;
}

bool file_is_special(const char *path) {
  struct stat st;
  return strcmp(path, "-") == 0 || open_file_named(path) >= 0 ||
         (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

/* Opens something that can only be written in place: a device, a pipe, or a file that is already open, after its
 * content. */
static bool open_special(StcContext *c, const char *path, OutFile *f) {
  fflush(stdout);
  int open_file = open_file_named(path), fd = open_file >= 0 ? dup(open_file) : -1;
  snprintf(f->path, sizeof f->path, "%s", path);
  f->to = fd >= 0 ? fdopen(fd, "wb") : open_file < 0 ? pipe_create(c, path) : NULL;
  if (!f->to && !(errno == EINTR && context_stopped(c)))
    context_error(c, "cannot write %s: %s", path, strerror(errno));
  return f->to != NULL;
}

/* Writes the folder of `path` to `to`. */
static void folder_of(const char *path, char to[4096]) {
  const char *slash = strrchr(path, '/');
  int n = !slash ? 1 : slash == path ? 1 : (int)(slash - path);
  snprintf(to, 4096, "%.*s", n, slash ? path : ".");
}

/* Reports that `path` cannot be written, with the reason `why` (errno). */
static bool cannot_write(StcContext *c, const char *path, int why) {
  char folder[4096];
  struct stat st;
  folder_of(path, folder);
  if (why == ENOENT && stat(folder, &st) != 0)
    context_error(c, "cannot write %s: there is no folder %s", path, folder);
  else
    context_error(c, "cannot write %s: %s", path, strerror(why));
  return false;
}

/* Opens a file without a name in the folder of `path`, with the mode of new files; -1 if the system cannot, or could
 * not name it later. If the process ends before that, nothing is left of it. */
static int open_unnamed(const char *path) {
#ifdef O_TMPFILE
  char folder[4096];
  folder_of(path, folder);
  if (access("/proc/self/fd", X_OK) == 0)
    return open(folder, O_TMPFILE | O_RDWR, 0666);
#endif
  (void)path;
  return -1;
}

/* Removes a file that a killed process has left under this name: one that nobody has locked. False if something else
 * has the name. */
static bool remove_left(const char *path) {
  struct stat is, named;
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  bool left = fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
              lstat(path, &named) == 0 && named.st_dev == is.st_dev && named.st_ino == is.st_ino && unlink(path) == 0;
  if (fd >= 0)
    close(fd);
  return left;
}

/* Sets f->temporary to name number `i` beside f->path; the sequence of names is the same for all processes, and nobody
 * else uses them: in the same folder, ".NAME.stc-part-0" and so on. False if the name is too long. */
static bool name_beside(OutFile *f, int i) {
  const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;
  int n = snprintf(f->temporary, sizeof f->temporary, "%.*s.%s.stc-part-%d", (int)(name - f->path), f->path, name, i);
  return n < (int)sizeof f->temporary;
}

/* Removes files that have been left under the names beside f->path from number `i` on. */
static void remove_beside(OutFile *f, int i) {
  while (name_beside(f, i) && remove_left(f->temporary))
    i++;
  f->temporary[0] = 0;
}

/* Links the unnamed file `link` to the free name f->temporary, and then renames it to that of the file it replaces. 1:
 * done, 0: failed, -1: the first name is not free. */
static int replace(const OutFile *f, const char *link) {
  if (linkat(AT_FDCWD, link, AT_FDCWD, f->temporary, AT_SYMLINK_FOLLOW) == 0)
    return rename(f->temporary, f->path) == 0;
  return errno == EEXIST ? -1 : 0;
}

/* Names the unnamed file `fd` f->path: at once if the name is free. Else it replaces the file of that name: the new
 * file first gets the first free temporary name beside it, and is locked, so that another process knows that its owner
 * still runs. Files that others have left there are removed. */
static bool place_unnamed(OutFile *f, int fd) {
  char link[64];
  int done = 0, i = 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (linkat(AT_FDCWD, link, AT_FDCWD, f->path, AT_SYMLINK_FOLLOW) == 0) {
    remove_beside(f, 0);
    return true;
  }
  if (errno == EEXIST) {
    flock(fd, LOCK_EX | LOCK_NB);
    done = -1;
  }
  for (; done < 0 && i < 1000 && name_beside(f, i); i++)
    do
      done = replace(f, link);
    while (done < 0 && remove_left(f->temporary));
  if (done > 0)
    remove_beside(f, i);
  return done > 0;
}

/* Opens a file under a temporary name beside `path`, with the mode of new files; -1 if this fails. */
static int open_temporary(StcContext *c, const char *path, OutFile *f) {
  snprintf(f->temporary, sizeof f->temporary, "%.*s.XXXXXX", (int)sizeof f->temporary - 8, path);
  int fd = mkstemp(f->temporary);
  if (fd < 0)
    return f->temporary[0] = 0, -1;
  mode_t mask = umask(0);
  umask(mask);
  if (fchmod(fd, 0666 & ~mask) != 0)
    context_error(c, "cannot set the mode of %s: %s", path, strerror(errno));
  return fd;
}

const char *file_behind(Arena *a, const char *path) {
  enum { MOST_LINKS = 40 };
  for (int i = 0; i < MOST_LINKS && !file_is_special(path); i++) {
    char to[4096];
    ssize_t n = readlink(path, to, sizeof to - 1);
    if (n < 0)
      break;
    to[n] = 0;
    const char *slash = strrchr(path, '/');
    path = to[0] == '/' || !slash ? arena_strdup(a, to) : arena_printf(a, "%.*s%s", (int)(slash + 1 - path), path, to);
  }
  return path;
}

void file_keep_mode(const char *path, const char *made, int fd) {
  struct stat old, is;
  if (stat(path, &old) != 0 || !S_ISREG(old.st_mode) || (made ? stat(made, &is) : fstat(fd, &is)) != 0)
    return;
  bool other = is.st_uid != old.st_uid || is.st_gid != old.st_gid;
  int failed = !other ? 0 : made ? chown(made, old.st_uid, old.st_gid) : fchown(fd, old.st_uid, old.st_gid);
  mode_t mode = old.st_mode & (failed ? 0777 : 07777);
  failed = made ? chmod(made, mode) : fchmod(fd, mode);
  (void)failed;
}

/* Writes the result of file_behind to `to`, with an arena of its own. False after a message if the name is too long. */
static bool follow_links(StcContext *c, const char *path, char *to, size_t size) {
  Arena *a = arena_new(NULL, NULL);
  int n = snprintf(to, size, "%s", a ? file_behind(a, path) : path);
  if (a)
    arena_free(a);
  if (n + 32 < (int)size)
    return true;
  context_error(c, "the file name is too long: %.60s...", path);
  return false;
}

/* Does what file_create does; `named`: other processes must find the file. */
static bool create(StcContext *c, const char *path, bool named, OutFile *f) {
  struct stat st;
  *f = (OutFile){NULL, "", "", false};
  if (strcmp(path, "-") == 0) {
    f->to = stdout;
    return true;
  }
  if (open_file_named(path) >= 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
    return open_special(c, path, f);
  if (!follow_links(c, path, f->path, sizeof f->path))
    return false;
  path = f->path;
  int fd = named ? -1 : open_unnamed(path);
  f->unnamed = fd >= 0;
  if (fd < 0)
    fd = open_temporary(c, path, f);
  if (fd >= 0)
    file_keep_mode(path, NULL, fd);
  f->to = fd < 0 ? NULL : fdopen(fd, "wb");
  if (!f->to) {
    cannot_write(c, path, errno);
    if (fd >= 0)
      close(fd);
    return false;
  }
  return true;
}

bool file_create(StcContext *c, const char *path, OutFile *f) { return create(c, path, false, f); }
bool file_create_named(StcContext *c, const char *path, OutFile *f) { return create(c, path, true, f); }

/* PIECE: bytes that are written past the page cache at a time; PIECE_TIME: the milliseconds within which the disk must
 * accept them, else the page cache is better for the rest. */
enum { PIECE = 1 << 24, PIECE_TIME = 60 };

/* Writes whole pages past the page cache, until the disk is too slow or there is an error; returns the number of bytes.
 */
static size_t put_direct(int fd, const char *bytes, size_t n) {
  size_t done = 0, whole = n / FILE_PAGE * FILE_PAGE;
#ifdef O_DIRECT
  int flags = fcntl(fd, F_GETFL);
  bool quick = flags >= 0 && fcntl(fd, F_SETFL, flags | O_DIRECT) == 0;
  while (done < whole && quick) {
    double before = clock_seconds();
    ssize_t k = write(fd, bytes + done, whole - done < PIECE ? whole - done : PIECE);
    quick = k > 0 && k % FILE_PAGE == 0 && (clock_seconds() - before) * 1000 < PIECE_TIME;
    done += k > 0 ? (size_t)k : 0;
  }
  if (flags >= 0)
    fcntl(fd, F_SETFL, flags);
#else
  (void)fd;
  (void)bytes;
  (void)whole;
#endif
  return done;
}

/* Reads all bytes that could not be written because their memory cannot be read (EFAULT): if they are in a mapped file
 * whose disk has failed, the handler in disk.c reports it and ends the process. */
static void look_at(const char *bytes, size_t n) {
  for (size_t i = 0; i < n; i += FILE_PAGE)
    (void)*(const volatile char *)(bytes + i);
  if (n)
    (void)*(const volatile char *)(bytes + n - 1);
  errno = EFAULT;
}

void file_put(OutFile *f, const void *bytes, size_t n) {
  size_t done = 0;
  bool pages = n >= FILE_LARGE && f->path[0] && (uintptr_t)bytes % FILE_PAGE == 0 && fflush(f->to) == 0;
  off_t at = pages ? ftello(f->to) : -1;
  if (at >= 0 && at % FILE_PAGE == 0 && (f->unnamed || f->temporary[0])) {
    done = put_direct(fileno(f->to), bytes, n);
    fseeko(f->to, at + (off_t)done, SEEK_SET);
  }
  if (done < n && fwrite((const char *)bytes + done, 1, n - done, f->to) < n - done && errno == EFAULT)
    look_at((const char *)bytes + done, n - done);
}

int file_why(FILE *to) {
  char byte = 0;
  return fflush(to) == 0 && write(fileno(to), &byte, 1) < 0 ? errno : errno ? errno : EIO;
}

/* Closes a written file; `fd`: the descriptor by which a file without a name stays open. False with errno. */
static bool close_written(OutFile *f, int *fd) {
  bool ok = fflush(f->to) == 0;
  if (ok && ferror(f->to)) {
    errno = file_why(f->to);
    ok = false;
  }
  *fd = ok && f->unnamed ? fcntl(fileno(f->to), F_DUPFD_CLOEXEC, 0) : -1;
  ok &= !f->unnamed || *fd >= 0;
  int why = errno;
  if (fclose(f->to) != 0 && ok)
    ok = false, why = errno;
  errno = why;
  return ok;
}

/* Puts a written and closed file in place. False with errno. */
static bool place(OutFile *f, int fd) {
  if (f->unnamed)
    return place_unnamed(f, fd);
  return !f->temporary[0] || rename(f->temporary, f->path) == 0;
}

bool file_commit(StcContext *c, OutFile *f) {
  if (f->to == stdout) {
    if (fflush(stdout) == 0 && !ferror(stdout))
      return true;
    context_error(c, "cannot write to the standard output: %s", strerror(errno));
    return false;
  }
  int fd;
  bool ok = close_written(f, &fd) && place(f, fd);
  int why = errno;
  if (ok)
    context_remark(c, "written: %s", f->path);
  else if (f->temporary[0])
    unlink(f->temporary);
  if (!ok)
    context_error(c, "cannot write %s: %s", f->path, strerror(why));
  if (fd >= 0)
    close(fd);
  return ok;
}

void file_abandon(OutFile *f) {
  if (!f->to || f->to == stdout)
    return;
  fclose(f->to);
  if (f->temporary[0])
    unlink(f->temporary);
}

bool file_probe(StcContext *c, const char *path) {
  OutFile f;
  if (file_is_special(path))
    return true;
  hold_begin();
  bool ok = file_create(c, path, &f);
  if (ok)
    file_abandon(&f);
  hold_end();
  return ok;
}

bool file_probe_regular(StcContext *c, const char *path) {
  if (!file_is_special(path))
    return file_probe(c, path);
  context_error(c, "cannot write %s: it is no regular file, and what is to be written there must be one", path);
  return false;
}

int64_t file_length(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 ? st.st_size : -1;
}

/* Does the file system of an open file have `n` free bytes, according to its own figures? */
static bool has_room(int fd, int64_t n) {
  struct statvfs disk;
  if (fstatvfs(fd, &disk) != 0 || !disk.f_blocks || n <= 0 || (uint64_t)n <= (uint64_t)disk.f_bavail * disk.f_frsize)
    return true;
  return errno = ENOSPC, false;
}

/* May this process write files of `n` bytes (`ulimit -f`)? */
static bool may_be_long(int64_t n) {
  struct rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY || (uint64_t)n <= most.rlim_cur)
    return true;
  return errno = EFBIG, false;
}

/* The result of reserving room: reserved, no room, or not supported by the file system. */
typedef enum Reserving { RESERVED, NO_ROOM, NO_WAY } Reserving;

/* Reserves room for `n` bytes of an open file from offset `at` on; longer: the file grows by them, as zeros. */
static Reserving set_aside(int fd, int64_t at, int64_t n, bool longer) {
#ifdef FALLOC_FL_KEEP_SIZE
  int failed;
  do
    failed = fallocate(fd, longer ? 0 : FALLOC_FL_KEEP_SIZE, at, n);
  while (failed && errno == EINTR);
  if (!failed)
    return RESERVED;
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO)
    return NO_ROOM;
#endif
  return NO_WAY;
}

bool file_reserve(int fd, int64_t n) {
  int64_t length = file_length(fd);
  if (length < 0)
    return true;
  if (!may_be_long(length + n))
    return false;
  Reserving r = set_aside(fd, length, n, false);
  return r == RESERVED || (r == NO_WAY && has_room(fd, n));
}

bool file_fill(int fd, int64_t n) {
  static const char zeros[1 << 16];
  if (n <= 0)
    return true;
  if (!may_be_long(n))
    return false;
  Reserving r = set_aside(fd, 0, n, true);
  if (r != NO_WAY)
    return r == RESERVED;
  bool ok = has_room(fd, n);
  for (int64_t at = 0, some; at < n && ok; at += some) {
    some = n - at < (int64_t)sizeof zeros ? n - at : (int64_t)sizeof zeros;
    ok = file_write_at(fd, zeros, some, at);
  }
  return ok && fsync(fd) == 0; /* some file systems find blocks only when they write */
}

void file_release(const char *path) {
  struct stat st;
  if (stat(path, &st) == 0 && truncate(path, st.st_size) != 0)
    errno = 0;
}

bool file_write(StcContext *c, const char *path, const void *bytes, size_t size) {
  OutFile f;
  if (!file_create(c, path, &f))
    return false;
  if (size)
    fwrite(bytes, 1, size, f.to);
  return file_commit(c, &f);
}

char *file_read(Workspace *w, const char *path, size_t *size) {
  bool standard = strcmp(path, "-") == 0;
  FILE *from = standard ? stdin : fopen(path, "rb");
  path = standard ? "<stdin>" : path;
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
  if (!standard)
    fclose(from);
  if (bad) {
    context_error(w->context, "cannot read %s: %s", path, strerror(errno));
    return NULL;
  }
  s[n] = 0;
  *size = n;
  return s;
}

/* Moves `n` bytes between memory and file `fd` from offset `at` on, to the file (`out`) or from it. False with errno.
 */
static bool move_at(int fd, void *memory, int64_t n, int64_t at, bool out) {
  char *here = memory;
  for (ssize_t k; n > 0; n -= k, here += k, at += k) {
    k = out ? pwrite(fd, here, (size_t)n, at) : pread(fd, here, (size_t)n, at);
    if (k < 0 && errno == EINTR)
      k = 0;
    else if (k < 0 && out && errno == EFAULT)
      return look_at(here, (size_t)n), false;
    else if (k <= 0)
      return errno = k ? errno : out ? ENOSPC : ENODATA, false;
  }
  return true;
}

bool file_write_at(int fd, const char *from, int64_t n, int64_t at) { return move_at(fd, (void *)from, n, at, true); }

bool file_read_at(int fd, char *to, int64_t n, int64_t at) { return move_at(fd, to, n, at, false); }
