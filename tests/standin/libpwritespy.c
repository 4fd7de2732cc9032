/* tests/standin/libpwritespy.c: stands before the C library, by LD_PRELOAD, and notes which thread writes at offsets.
 * STC_STANDIN_LOG: the file where "main" or "beside" is appended for each such write, by whether the process's first
 * thread made it. STC_STANDIN_FAIL=N: the disk is full at the Nth and from then on. */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Notes the write and makes it, or not. */
static ssize_t write_at(int fd, const void *from, size_t n, off_t at) {
  static atomic_int count;
  const char *path = getenv("STC_STANDIN_LOG"), *fail = getenv("STC_STANDIN_FAIL");
  const char *word = gettid() == getpid() ? "main\n" : "beside\n";
  int log = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;
  if (path && (log < 0 || write(log, word, strlen(word)) < 0))
    abort();
  if (log >= 0)
    close(log);
  if (atomic_fetch_add(&count, 1) + 1 >= (fail ? atoi(fail) : 1 << 30))
    return errno = ENOSPC, -1;
  return syscall(SYS_pwrite64, fd, from, n, at);
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t at) { return write_at(fd, from, n, at); }
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at) { return write_at(fd, from, n, at); }
