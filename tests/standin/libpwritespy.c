/* tests/standin/libpwritespy.c: stands before the C library and zlib, by LD_PRELOAD, and notes which thread writes at
 * offsets, and which compresses. STC_STANDIN_LOG: the file where "main" or "beside" is appended for each such write, by
 * whether the process's first thread made it, and "main packs" or "beside packs" for each piece that is compressed.
 * STC_STANDIN_FAIL=N: the disk is full at the Nth and from then on. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Appends one of two words, by the thread that is here. */
static void note(const char *first, const char *other) {
  const char *path = getenv("STC_STANDIN_LOG"), *word = gettid() == getpid() ? first : other;
  int log = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;
  if (path && (log < 0 || write(log, word, strlen(word)) < 0))
    abort();
  if (log >= 0)
    close(log);
}

/* zlib's function of this name. */
int compress2(unsigned char *to, unsigned long *size, const unsigned char *from, unsigned long n, int level) {
  int (*packs)(unsigned char *, unsigned long *, const unsigned char *, unsigned long, int);
  *(void **)&packs = dlsym(RTLD_NEXT, "compress2");
  note("main packs\n", "beside packs\n");
  return packs(to, size, from, n, level);
}

/* Notes the write and makes it, or not. */
static ssize_t write_at(int fd, const void *from, size_t n, off_t at) {
  static atomic_int count;
  const char *fail = getenv("STC_STANDIN_FAIL");
  note("main\n", "beside\n");
  if (atomic_fetch_add(&count, 1) + 1 >= (fail ? atoi(fail) : 1 << 30))
    return errno = ENOSPC, -1;
  return syscall(SYS_pwrite64, fd, from, n, at);
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t at) { return write_at(fd, from, n, at); }
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at) { return write_at(fd, from, n, at); }
