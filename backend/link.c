/* backend/link.c: AMD code objects are shared objects, and the linker that makes them, ld.lld, is a program. */
#define _GNU_SOURCE
#include "backend/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* An empty file of its own in the folder for temporary files; NULL after an error. */
static char *temporary(Arena *a, Diags *d, const char *ending) {
  const char *dir = getenv("TMPDIR");
  char *path = arena_printf(a, "%s/stc-XXXXXX%s", dir && *dir ? dir : "/tmp", ending);
  int fd = mkstemps(path, (int)strlen(ending));
  if (fd >= 0) {
    close(fd);
    return path;
  }
  diag_error(d, no_loc(), "cannot make a temporary file '%s': %s; set TMPDIR to a folder that can be written", path,
             strerror(errno));
  return NULL;
}

/* Writes `n` bytes to the file. */
static bool write_file(const char *path, const char *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  bool ok = f && fwrite(bytes, 1, n, f) == n;
  return f && fclose(f) == 0 && ok;
}

/* The whole file in the arena. */
static bool read_file(Arena *a, const char *path, char **bytes, size_t *size) {
  struct stat s;
  FILE *f = fopen(path, "rb");
  bool ok = f && fstat(fileno(f), &s) == 0;
  if (ok) {
    *size = (size_t)s.st_size;
    *bytes = arena_alloc(a, *size + 1);
    ok = fread(*bytes, 1, *size, f) == *size;
  }
  if (f)
    fclose(f);
  return ok;
}

/* Runs `program` to link `from` into `to`; its exit status, or -1 if it could not be started. */
static int run_linker(const char *program, const char *from, const char *to) {
  char *argv[] = {(char *)program, "-shared", "--no-undefined", (char *)from, "-o", (char *)to, NULL};
  pid_t pid;
  int status;
  if (posix_spawnp(&pid, program, NULL, NULL, argv, environ) != 0)
    return -1;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return -1;
  return WIFEXITED(status) && WEXITSTATUS(status) != 127 ? WEXITSTATUS(status) : -1;
}

/* Links `from` into `to` by the linker that the environment variable STC_LLD names, or else the first there is. */
static bool link_files(Diags *d, const char *from, const char *to) {
  const char *named = getenv("STC_LLD"), *const usual[] = {"ld.lld-22", "/usr/lib/llvm-22/bin/ld.lld", "ld.lld", NULL},
             *const own[] = {named, NULL};
  const char *const *programs = named ? own : usual;
  for (int i = 0; programs[i]; i++) {
    int status = run_linker(programs[i], from, to);
    if (status == 0)
      return true;
    if (status > 0) {
      diag_error(d, no_loc(), "the linker %s failed with exit code %d on a code object", programs[i], status);
      return false;
    }
  }
  diag_error(d, no_loc(),
             "a code object for AMD GPUs is linked by ld.lld, which was not found as %s; install lld-22, name the "
             "program in the environment variable "
             "STC_LLD, or ask for assembly with -emit=asm",
             named ? named : "ld.lld-22 or ld.lld in PATH, nor in /usr/lib/llvm-22/bin");
  return false;
}

/* link_code_object, by files with names. */
static bool link_object(Arena *a, Diags *d, const char *object, size_t n, char **bytes, size_t *size) {
  char *from = temporary(a, d, ".o"), *to = from ? temporary(a, d, ".hsaco") : NULL;
  bool ok = from && to;
  if (ok && !write_file(from, object, n)) {
    diag_error(d, no_loc(), "cannot write the temporary file '%s': %s", from, strerror(errno));
    ok = false;
  }
  ok = ok && link_files(d, from, to);
  if (ok && !read_file(a, to, bytes, size)) {
    diag_error(d, no_loc(), "cannot read back the code object '%s': %s", to, strerror(errno));
    ok = false;
  }
  if (from)
    unlink(from);
  if (to)
    unlink(to);
  return ok;
}

bool link_code_object(Arena *a, Diags *d, const char *object, size_t n, char **bytes, size_t *size) {
  hold_begin();
  bool ok = link_object(a, d, object, n, bytes, size);
  hold_end();
  return ok;
}
