/* driver/files/claim.c: file names that only one run at a time writes: of files that grow for a long time under a
 * temporary name or are replaced repeatedly. While a run writes NAME, the file .NAME.stc-lock beside it is locked; it
 * contains the number of the process and the name of its computer. The lock is released when the process ends in any
 * way. */
#include "driver/files/files.h"
#include "driver/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct Claim {
  int fd;
  char path[4096];
  struct Claim *next;
};

/* Locks the open file; if its file system has no locks, others are not kept out. */
static bool lock(int fd) {
#ifdef F_OFD_SETLK
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(fd, F_OFD_SETLK, &all) == 0 || (errno != EAGAIN && errno != EACCES);
#else
  return (void)fd, true;
#endif
}

/* Does the path name the open file? */
static bool has_name(int fd, const char *path) {
  struct stat is, named;
  return fstat(fd, &is) == 0 && lstat(path, &named) == 0 && is.st_dev == named.st_dev && is.st_ino == named.st_ino;
}

/* Opens and locks the file `path`, a new one or one that a killed process has left; returns its descriptor. -1: this
 * fails (errno), -2: another process has the lock. */
static int open_locked(const char *path) {
  for (int tries = 0; tries < 100; tries++) {
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
      return -1;
    if (!lock(fd))
      return close(fd), -2;
    if (has_name(fd, path))
      return fd;
    close(fd);
  }
  return -2;
}

/* Reads which process has locked the file `path`, from its content. */
static void read_owner(const char *path, char *to, size_t size) {
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, to, size - 1) : 0;
  to[n > 0 ? n : 0] = 0;
  to[strcspn(to, "\n")] = 0;
  if (!to[0])
    snprintf(to, size, "another process");
  if (fd >= 0)
    close(fd);
}

/* Writes which process has the lock. */
static void write_owner(int fd) {
  char host[256] = "", text[320];
  gethostname(host, sizeof host - 1);
  int n = snprintf(text, sizeof text, "process %ld on %s\n", (long)getpid(), host);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n)
    return;
}

bool claim_take(StcContext *c, const char *path, Claim **all) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  if (file_is_special(path))
    return true;
  Claim *k = calloc(1, sizeof *k);
  if (!k)
    return context_error(c, "out of memory"), false;
  int n = snprintf(k->path, sizeof k->path, "%.*s.%s.stc-lock", (int)(name - path), path, name);
  k->fd = n < (int)sizeof k->path ? open_locked(k->path) : -1;
  if (k->fd == -2) {
    char owner[320];
    read_owner(k->path, owner, sizeof owner);
    free(k);
    return context_error(c, "cannot write %s: %s is writing it: give this run another name, or wait for that one", path,
                         owner),
           false;
  }
  if (k->fd < 0)
    return free(k), true;
  write_owner(k->fd);
  k->next = *all;
  *all = k;
  return true;
}

void claims_drop(Claim **all) {
  while (*all) {
    Claim *k = *all;
    *all = k->next;
    if (has_name(k->fd, k->path))
      unlink(k->path);
    close(k->fd);
    free(k);
  }
}
