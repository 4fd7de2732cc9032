/* driver/device/code-cache.c: the user's folders for caches, and the folder in which NVIDIA's driver keeps compiled
 * kernels. */
#include "driver/device/code-cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* PATH_SIZE: the bytes of the longest path. most_bytes: the most bytes that the driver keeps, as text. */
enum { PATH_SIZE = 4096 };
static const char most_bytes[] = "1073741824";

/* The value of an environment variable; NULL if it is unset or empty. */
static const char *variable(const char *name) {
  const char *s = getenv(name);
  return s && *s ? s : NULL;
}

bool cache_path(char *path, size_t size, const char *below) {
  const char *cache = variable("XDG_CACHE_HOME"), *home = variable("HOME");
  if (cache && *cache != '/')
    cache = NULL;
  if (!cache && !home)
    return false;
  int n = snprintf(path, size, "%s%s/stc/%s", cache ? cache : home, cache ? "" : "/.cache", below);
  return n >= 0 && (size_t)n < size;
}

/* Writes the path of the folder; false if there is none. */
static bool own_folder(char path[PATH_SIZE]) { return cache_path(path, PATH_SIZE, "code"); }

const char *code_cache_folder(Arena *a) {
  char path[PATH_SIZE];
  return own_folder(path) ? arena_strdup(a, path) : NULL;
}

const char *code_cache_theirs(Arena *a) {
  const char *theirs = variable("CUDA_CACHE_PATH"), *own = code_cache_folder(a);
  return theirs && own && strcmp(theirs, own) == 0 ? NULL : theirs;
}

bool cache_make(char *path) {
  for (char *s = path + 1; *s; s++)
    if (*s == '/') {
      *s = 0;
      mkdir(path, 0700);
      *s = '/';
    }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Does what code_cache_use does; one thread calls it at a time. */
static void use(void) {
  char path[PATH_SIZE];
  if (variable("CUDA_CACHE_PATH") || variable("CUDA_CACHE_DISABLE") || !own_folder(path) || !cache_make(path))
    return;
  setenv("CUDA_CACHE_PATH", path, 1);
  setenv("CUDA_CACHE_MAXSIZE", most_bytes, 0);
}

void code_cache_use(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, use);
}

/* The results of a traversal. */
typedef struct CacheVisit {
  bool clear, ok;
  int error, files;
  int64_t bytes;
} CacheVisit;

/* Records a failure, unless the file has disappeared in the meantime. */
static void note(CacheVisit *w, bool failed) {
  if (failed && errno != ENOENT && w->ok) {
    w->ok = false;
    w->error = errno;
  }
}

/* Counts, and if asked removes, one file that is not a folder. */
static void look_at(CacheVisit *w, int folder, const char *name, const struct stat *st) {
  if (w->clear && (unlinkat(folder, name, 0) == 0 || errno == ENOENT))
    return;
  note(w, w->clear);
  w->files++;
  w->bytes += st->st_size;
}

/* Looks at all in an open folder, which it closes. Links are not followed. */
static void visit(CacheVisit *w, int folder) { // NOLINT(misc-no-recursion)
  DIR *dir = folder < 0 ? NULL : fdopendir(folder);
  note(w, !dir);
  for (struct dirent *e; dir && (e = readdir(dir));) {
    struct stat st;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
      continue;
    if (fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW)) {
      note(w, true);
      continue;
    }
    if (!S_ISDIR(st.st_mode)) {
      look_at(w, folder, e->d_name, &st);
      continue;
    }
    visit(w, openat(folder, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (w->clear)
      note(w, unlinkat(folder, e->d_name, AT_REMOVEDIR) != 0);
  }
  if (dir)
    closedir(dir);
  else if (folder >= 0)
    close(folder);
}

bool code_cache_walk(const char *folder, bool clear, int *files, int64_t *bytes) {
  CacheVisit w = {.clear = clear, .ok = true};
  visit(&w, open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  *files = w.files;
  *bytes = w.bytes;
  errno = w.error;
  return w.ok;
}
