/* driver/device/object-cache.c: objects with kernels for this CPU, in files of the user's cache. A file's name is the
 * checksum of all on which the object depends: version and build of stc and LLVM, the processor, the options for LLVM,
 * and the LLVM IR. Loaded objects are executed, so stc uses no folder or file that another user could have written, and
 * no file with a wrong checksum. Files are written under another name and renamed, so nobody sees a partly written one.
 * If all files together are too large, those that were used least recently are removed. */
#include "driver/device/object-cache.h"
#include "driver/device/code-cache.h"
#include "driver/files/build-id.h"
#include "driver/files/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <llvm-c/Core.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* MOST_KEPT: the most bytes that are kept, unless STC_CACHE_MAXSIZE gives another number; PATH_SIZE: the longest path;
 * NAME_SIZE: the bytes of a file's name, including the final 0. */
enum { MOST_KEPT = 256 << 20, PATH_SIZE = 4096, NAME_SIZE = 2 * SHA256_BYTES + 1 };

/* The first bytes of a file: its kind, the key, the object's number of bytes, and their checksum. */
typedef struct Head {
  char kind[16];
  unsigned char key[SHA256_BYTES], sum[SHA256_BYTES];
  uint64_t size;
} Head;
static const char kind[16] = "stc object 1\n";

/* Computes the checksum of `n` bytes. */
static void sum_of(const void *bytes, size_t n, unsigned char sum[SHA256_BYTES]) {
  Sha256 s;
  sha256_begin(&s);
  sha256_add(&s, bytes, n);
  sha256_end(&s, sum);
}

/* The checksum of the compilers: of stc, as one version has many builds during development, and of LLVM, which
 * distributions patch without changing its version. */
static unsigned char makers[SHA256_BYTES];

/* Computes `makers`, once in a process. */
static void find_makers(void) {
  static const char stc[] = "stc " STC_VERSION;
  Sha256 s;
  sha256_begin(&s);
  sha256_add(&s, stc, sizeof stc);
  build_id_add(&s, (uintptr_t)find_makers, true);
  build_id_add(&s, (uintptr_t)LLVMGetVersion, false);
  sha256_end(&s, makers);
}

/* Computes the key of `id` and the IR (CodeStore.key). */
static void make_key(const char *id, const char *ir, size_t n, CodeKey *key) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  Sha256 s;
  pthread_once(&once, find_makers);
  sha256_begin(&s);
  sha256_add(&s, makers, sizeof makers);
  sha256_add(&s, id, strlen(id) + 1);
  sha256_add(&s, ir, n);
  sha256_end(&s, key->bytes);
}

/* Writes the name of the file for `key`. */
static void name_of(const CodeKey *key, char name[NAME_SIZE]) {
  for (int i = 0; i < SHA256_BYTES; i++)
    snprintf(name + 2 * i, 3, "%02x", key->bytes[i]);
}

/* Does the file of `s` belong to this user, and can no other user write to it? */
static bool is_own(const struct stat *s) { return s->st_uid == geteuid() && (s->st_mode & (S_IWGRP | S_IWOTH)) == 0; }

/* Opens the folder, and makes it first if `make`; -1 if there is none that can be trusted. */
static int open_folder(bool make) {
  char path[PATH_SIZE];
  struct stat s;
  if (!cache_path(path, sizeof path, "host") || (make && !cache_make(path)))
    return -1;
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder >= 0 && (fstat(folder, &s) || !is_own(&s))) {
    close(folder);
    return -1;
  }
  return folder;
}

/* ---------------------------------------------------------------- lookup */

/* Reads the object with `key` from the file `fd` into `a`. False if the file is incomplete or for another key. */
static bool read_object(int fd, Arena *a, const CodeKey *key, char **bytes, size_t *size) {
  struct stat s;
  Head h;
  unsigned char sum[SHA256_BYTES];
  if (fstat(fd, &s) || !S_ISREG(s.st_mode) || !is_own(&s) || !file_read_at(fd, (char *)&h, sizeof h, 0) ||
      memcmp(h.kind, kind, sizeof kind) != 0 || memcmp(h.key, key->bytes, sizeof h.key) != 0 ||
      s.st_size < (off_t)sizeof h || h.size != (uint64_t)s.st_size - sizeof h || h.size > MOST_KEPT)
    return false;
  *size = (size_t)h.size;
  *bytes = arena_alloc(a, *size + 1);
  if (!file_read_at(fd, *bytes, (int64_t)*size, sizeof h))
    return false;
  sum_of(*bytes, *size, sum);
  return memcmp(sum, h.sum, sizeof sum) == 0;
}

/* Finds the object with `key` (CodeStore.find), and sets the time of its last use. */
static bool find_object(Arena *a, const CodeKey *key, char **bytes, size_t *size) {
  char name[NAME_SIZE];
  int folder = open_folder(false);
  if (folder < 0)
    return false;
  name_of(key, name);
  int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  bool found = fd >= 0 && read_object(fd, a, key, bytes, size);
  if (found)
    futimens(fd, NULL);
  if (fd >= 0)
    close(fd);
  close(folder);
  return found;
}

/* ---------------------------------------------------------------- storing */

/* A file of the folder: the time of its last use, and its bytes. */
typedef struct Kept {
  struct timespec used;
  int64_t bytes;
  char name[NAME_SIZE + 32];
} Kept;

/* Sorts files by the time of last use, oldest first (for qsort). */
static int compare_kept(const void *x, const void *y) {
  const struct timespec *a = &((const Kept *)x)->used, *b = &((const Kept *)y)->used;
  if (a->tv_sec != b->tv_sec)
    return a->tv_sec < b->tv_sec ? -1 : 1;
  return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* The most bytes that are kept. */
static int64_t most_kept(void) {
  const char *said = getenv("STC_CACHE_MAXSIZE");
  char *end;
  long long most = said && *said ? strtoll(said, &end, 10) : MOST_KEPT;
  return said && *said && (*end || most < 0) ? MOST_KEPT : most;
}

/* Adds the regular file `name` to the array *all of `*n` files, which malloc has allocated. */
static bool add_kept(int folder, const char *name, Kept **all, size_t *n) {
  struct stat s;
  if (strlen(name) >= sizeof(*all)->name || fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) || !S_ISREG(s.st_mode))
    return true;
  if ((*n & (*n - 1)) == 0) {
    Kept *more = realloc(*all, (*n ? *n * 2 : 1) * sizeof *more);
    if (!more)
      return false;
    *all = more;
  }
  Kept *k = &(*all)[(*n)++];
  *k = (Kept){.used = s.st_mtim, .bytes = s.st_size};
  strcpy(k->name, name);
  return true;
}

/* If the files exceed the limit, removes those that were used least recently until an eighth of the limit is free. */
static void make_room(int folder) {
  int64_t most = most_kept(), bytes = 0;
  Kept *all = NULL;
  size_t n = 0;
  int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = again < 0 ? NULL : fdopendir(again);
  bool ok = dir != NULL;
  for (struct dirent *e; ok && (e = readdir(dir));)
    ok = add_kept(folder, e->d_name, &all, &n);
  for (size_t i = 0; i < n; i++)
    bytes += all[i].bytes;
  if (bytes > most)
    qsort(all, n, sizeof *all, compare_kept);
  for (size_t i = 0; bytes > most - (i ? most / 8 : 0) && i < n; i++) {
    unlinkat(folder, all[i].name, 0);
    bytes -= all[i].bytes;
  }
  free(all);
  if (dir)
    closedir(dir);
  else if (again >= 0)
    close(again);
}

/* May this process write a file of `n` bytes? Beyond `ulimit -f` a signal would end the process. */
static bool may_write(size_t n) {
  struct rlimit most;
  return getrlimit(RLIMIT_FSIZE, &most) == 0 && (most.rlim_cur == RLIM_INFINITY || n <= most.rlim_cur);
}

/* Writes the object under another name, and renames it to `name`. */
static void write_object(int folder, const char *name, const Head *h, const char *bytes) {
  static atomic_uint number;
  char beside[NAME_SIZE + 32];
  snprintf(beside, sizeof beside, "new-%ld-%u", (long)getpid(), atomic_fetch_add(&number, 1));
  unlinkat(folder, beside, 0);
  int fd = openat(folder, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return;
  bool ok = file_write_at(fd, (const char *)h, sizeof *h, 0) && file_write_at(fd, bytes, (int64_t)h->size, sizeof *h);
  ok = close(fd) == 0 && ok;
  if (!ok || renameat(folder, beside, folder, name))
    unlinkat(folder, beside, 0);
}

/* Keeps the object with `key` (CodeStore.keep). A failure only means that the object is compiled again later. */
static void keep_object(const CodeKey *key, const char *bytes, size_t size) {
  Head h = {.size = size};
  char name[NAME_SIZE];
  int64_t most = most_kept();
  if (size + sizeof h > (uint64_t)most || size > MOST_KEPT || !may_write(size + sizeof h))
    return;
  int folder = open_folder(true);
  if (folder < 0)
    return;
  memcpy(h.kind, kind, sizeof kind);
  memcpy(h.key, key->bytes, sizeof h.key);
  sum_of(bytes, size, h.sum);
  name_of(key, name);
  write_object(folder, name, &h, bytes);
  make_room(folder);
  close(folder);
}

const CodeStore *object_cache(void) {
  static const CodeStore store = {make_key, find_object, keep_object};
  const char *off = getenv("STC_CACHE_DISABLE");
  char path[PATH_SIZE];
  bool wanted = !(off && *off) && getuid() == geteuid() && cache_path(path, sizeof path, "host");
  return wanted ? &store : NULL;
}

const char *object_cache_folder(Arena *a) {
  char path[PATH_SIZE];
  return cache_path(path, sizeof path, "host") ? arena_strdup(a, path) : NULL;
}

const char *object_cache_distrusts(const char *folder) {
  struct stat s;
  if (lstat(folder, &s) || !S_ISDIR(s.st_mode) || is_own(&s))
    return NULL;
  return s.st_uid == geteuid() ? "others may write to it" : "it belongs to another user";
}
