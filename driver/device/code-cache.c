/* driver/device/code-cache.c: compiled kernels on disk, a file each. */
#include "driver/device/code-cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------- keys */

enum { MAGIC_SIZE = 8, PATH_SIZE = 4096 };
static const char magic[MAGIC_SIZE + 1] = "stccode1", ending[] = ".code";

/* What a file begins with. sum: of the bytes behind it. */
typedef struct Head {
  char magic[MAGIC_SIZE];
  CodeKey key;
  uint64_t size, sum;
} Head;

/* Adds a byte to a hash (FNV-1a, and the like with another multiplier and a fold). */
static uint64_t add_fnv(uint64_t h, unsigned char c) { return (h ^ c) * UINT64_C(1099511628211); }
static uint64_t add_folded(uint64_t h, unsigned char c, uint64_t by) {
  h = (h ^ c) * by;
  return h ^ h >> 32;
}

CodeKey code_key(int n, const char *const *texts) {
  CodeKey k = {{UINT64_C(14695981039346656037), UINT64_C(0x9e3779b97f4a7c15)}, UINT64_C(0xc2b2ae3d27d4eb4f), 0};
  for (int i = 0; i < n; i++)
    for (const char *s = texts[i];; s++) {
      k.name[0] = add_fnv(k.name[0], (unsigned char)*s);
      k.name[1] = add_folded(k.name[1], (unsigned char)*s, UINT64_C(0xff51afd7ed558ccd));
      k.proof = add_folded(k.proof, (unsigned char)*s, UINT64_C(0xc4ceb9fe1a85ec53));
      k.length++;
      if (!*s)
        break;
    }
  return k;
}

/* A hash of the bytes. */
static uint64_t sum_of(const char *bytes, size_t n) {
  uint64_t h = n;
  for (size_t i = 0; i < n; i++)
    h = add_folded(h, (unsigned char)bytes[i], UINT64_C(0xff51afd7ed558ccd));
  return h;
}

/* ---------------------------------------------------------------- the folder */

const char *code_cache_folder(Arena *a) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (cache && *cache)
    return arena_printf(a, "%s/stc/code", cache);
  return home && *home ? arena_printf(a, "%s/.cache/stc/code", home) : NULL;
}

bool code_cache_is_on(Arena *a, Diags *d, bool *on) {
  const char *usual = getenv("STC_CACHE");
  bool off = !usual || !*usual || strcmp(usual, "off") == 0;
  *on = !off && code_cache_folder(a);
  if (off || strcmp(usual, "on") == 0)
    return true;
  diag_error(d, no_loc(), "STC_CACHE=%s: write on or off, which is the default; XDG_CACHE_HOME names another folder",
             usual);
  return false;
}

/* Makes the folder with those above it. */
static bool make_folder(const char *folder) {
  char path[PATH_SIZE];
  if ((size_t)snprintf(path, sizeof path, "%s", folder) >= sizeof path)
    return false;
  for (char *s = path + 1; *s; s++)
    if (*s == '/') {
      *s = 0;
      mkdir(path, 0700);
      *s = '/';
    }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Does the file's name say that it is the cache's, in the making perhaps? */
static bool is_ours(const char *name, bool *made) {
  size_t n = strlen(name), hex = strspn(name, "0123456789abcdef");
  *made = hex == 32 && strcmp(name + hex, ending) == 0;
  return *made || (hex == 32 && n > hex + strlen(ending) && strncmp(name + hex, ending, strlen(ending)) == 0);
}

/* The file of a key. */
static bool path_of(const char *folder, const CodeKey *key, char path[PATH_SIZE]) {
  return snprintf(path, PATH_SIZE, "%s/%016llx%016llx%s", folder, (unsigned long long)key->name[0],
                  (unsigned long long)key->name[1], ending) < PATH_SIZE - 64;
}

/* ---------------------------------------------------------------- reading */

/* Reads `n` bytes; false if there are fewer. */
static bool read_all(int fd, char *to, size_t n) {
  for (size_t at = 0; at < n;) {
    ssize_t got = read(fd, to + at, n - at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    at += (size_t)got;
  }
  return true;
}

/* What is in the open file, if that is what was written for the key. */
static char *read_entry(int fd, const CodeKey *key, size_t *size) {
  Head h;
  struct stat st;
  if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !read_all(fd, (char *)&h, sizeof h) ||
      memcmp(h.magic, magic, MAGIC_SIZE) != 0 || memcmp(&h.key, key, sizeof *key) != 0 ||
      h.size != (uint64_t)st.st_size - sizeof h)
    return NULL;
  char *bytes = malloc(h.size + 1);
  if (bytes && (!read_all(fd, bytes, h.size) || sum_of(bytes, h.size) != h.sum)) {
    free(bytes);
    return NULL;
  }
  *size = h.size;
  return bytes;
}

/* The time of a file is that of its last use. */
void *code_cache_get(const char *folder, const CodeKey *key, size_t *size) {
  char path[PATH_SIZE];
  int fd = path_of(folder, key, path) ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
  if (fd < 0)
    return NULL;
  char *bytes = read_entry(fd, key, size);
  if (bytes)
    futimens(fd, NULL);
  else
    unlink(path);
  close(fd);
  return bytes;
}

/* ---------------------------------------------------------------- writing */

/* Has files that may not be so long fail in this thread, and not end the process (true); undoes that. */
static bool mute_limit(bool on, sigset_t *before) {
  sigset_t limit;
  static const struct timespec none;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  if (on)
    return pthread_sigmask(SIG_BLOCK, &limit, before) == 0;
  while (!sigismember(before, SIGXFSZ) && sigtimedwait(&limit, NULL, &none) > 0)
    continue;
  return pthread_sigmask(SIG_SETMASK, before, NULL) == 0;
}

/* Writes `n` bytes; false if there is no room. */
static bool write_all(int fd, const char *from, size_t n) {
  for (size_t at = 0; at < n;) {
    ssize_t got = write(fd, from + at, n - at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    at += (size_t)got;
  }
  return true;
}

/* An entry and when it was used. */
typedef struct Used {
  char name[64];
  int64_t bytes;
  struct timespec when;
} Used;

/* Orders entries by their use, the one not used for longest first. */
static int compare_use(const void *a, const void *b) {
  const Used *x = a, *y = b;
  if (x->when.tv_sec != y->when.tv_sec)
    return x->when.tv_sec < y->when.tv_sec ? -1 : 1;
  return (x->when.tv_nsec > y->when.tv_nsec) - (x->when.tv_nsec < y->when.tv_nsec);
}

/* Lists the entries, those in the making too if `all`; from malloc, their number in *n. */
static Used *list_entries(DIR *dir, bool all, int *n) {
  Used *list = NULL;
  int room = 0;
  *n = 0;
  for (struct dirent *e; (e = readdir(dir));) {
    struct stat st;
    bool made;
    if (!is_ours(e->d_name, &made) || (!made && !all) || strlen(e->d_name) >= sizeof list->name ||
        fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
      continue;
    if (*n == room) {
      Used *more = realloc(list, sizeof *list * (size_t)(room = room ? 2 * room : 64));
      if (!more)
        break;
      list = more;
    }
    list[*n] = (Used){.bytes = st.st_size, .when = st.st_mtim};
    snprintf(list[(*n)++].name, sizeof list->name, "%.*s", (int)sizeof list->name - 1, e->d_name);
  }
  return list;
}

/* Removes what was not used for longest while there is too much. */
static void keep_small(const char *folder) {
  DIR *dir = opendir(folder);
  int n;
  int64_t sum = 0;
  if (!dir)
    return;
  Used *list = list_entries(dir, true, &n);
  for (int i = 0; i < n; i++)
    sum += list[i].bytes;
  if (sum > CODE_CACHE_BYTES)
    qsort(list, (size_t)n, sizeof *list, compare_use);
  for (int i = 0; i < n && sum > CODE_CACHE_BYTES; i++) {
    unlinkat(dirfd(dir), list[i].name, 0);
    sum -= list[i].bytes;
  }
  free(list);
  closedir(dir);
}

/* code_cache_put, by a file with another name at first. */
static bool put(const char *folder, const CodeKey *key, const void *bytes, size_t size) {
  static atomic_uint count;
  char path[PATH_SIZE], making[PATH_SIZE + 64];
  Head h = {.key = *key, .size = size, .sum = sum_of(bytes, size)};
  memcpy(h.magic, magic, MAGIC_SIZE);
  if (!path_of(folder, key, path) || !make_folder(folder))
    return false;
  snprintf(making, sizeof making, "%s.%ld.%u", path, (long)getpid(), atomic_fetch_add(&count, 1));
  int fd = open(making, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return false;
  sigset_t before;
  bool ok = mute_limit(true, &before) && write_all(fd, (const char *)&h, sizeof h) && write_all(fd, bytes, size);
  mute_limit(false, &before);
  ok = close(fd) == 0 && ok && rename(making, path) == 0;
  if (!ok)
    unlink(making);
  else
    keep_small(folder);
  return ok;
}

bool code_cache_put(const char *folder, const CodeKey *key, const void *bytes, size_t size) {
  hold_begin();
  bool ok = put(folder, key, bytes, size);
  hold_end();
  return ok;
}

bool code_cache_walk(const char *folder, bool clear, int *entries, int64_t *bytes) {
  DIR *dir = opendir(folder);
  bool ok = true;
  int n;
  *entries = 0;
  *bytes = 0;
  if (!dir)
    return errno == ENOENT;
  Used *list = list_entries(dir, true, &n);
  for (int i = 0; i < n; i++) {
    if (clear && (unlinkat(dirfd(dir), list[i].name, 0) == 0 || errno == ENOENT))
      continue;
    ok &= !clear;
    *bytes += list[i].bytes;
    ++*entries;
  }
  free(list);
  closedir(dir);
  return ok;
}
