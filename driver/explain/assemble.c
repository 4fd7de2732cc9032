/* driver/explain/assemble.c: runs ptxas, the assembler of NVIDIA's toolkit, as a program of its own, if it is
 * installed. */
#include "driver/explain/explain.h"
#include "driver/files/files.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

const char *assembler_find(Arena *a) {
  const char *path = getenv("PATH"), *home = getenv("CUDA_HOME");
  bool named = home && *home == '/';
  struct stat is;
  const char *folders =
      arena_printf(a, "%s:%s%s/usr/local/cuda/bin", path ? path : "", named ? home : "", named ? "/bin:" : "");
  for (const char *s = folders; *s; s += *s == ':') {
    size_t n = strcspn(s, ":");
    const char *file = arena_printf(a, "%.*s/ptxas", (int)n, s);
    if (n && stat(file, &is) == 0 && S_ISREG(is.st_mode) && access(file, X_OK) == 0 && !strchr(file, '\''))
      return file;
    s += n;
  }
  return NULL;
}

const char *write_temporary(Arena *a, const char *bytes, size_t size) {
  const char *folder = getenv("TMPDIR");
  char *name = arena_printf(a, "%s/stc-XXXXXX", folder && !strchr(folder, '\'') ? folder : "/tmp");
  int fd = mkstemp(name);
  if (fd < 0)
    return NULL;
  FILE *f = fdopen(fd, "wb");
  bool ok = f && fwrite(bytes, 1, size, f) == size;
  if (f ? fclose(f) != 0 : close(fd) != 0)
    ok = false;
  if (!ok)
    unlink(name);
  return ok ? name : NULL;
}

/* Starts a program without output. False if this fails. */
static bool start(pid_t *child, char *const *words) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions))
    return false;
  bool ok = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) == 0 &&
            posix_spawn_file_actions_adddup2(&actions, 1, 2) == 0 &&
            posix_spawn(child, words[0], &actions, NULL, words, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  return ok;
}

/* Waits for a program, and ends it at the time `until`, or if the user wants to stop. */
static StcStatus await(const StcContext *c, pid_t child, double until) {
  struct timespec nap = {0, 2000000};
  int status = 0;
  pid_t got;
  while ((got = waitpid(child, &status, WNOHANG)) == 0 && clock_seconds() < until && !context_stopped(c))
    nanosleep(&nap, NULL);
  if (got == child)
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? STC_OK : STC_DEVICE;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return got == 0 ? STC_INTERRUPTED : STC_DEVICE;
}

/* Does what `assemble` does, with named files. */
static StcStatus assemble_files(Workspace *w, const char *tool, const char *cpu, const char *ptx, size_t size,
                                double until, char **code, size_t *n) {
  const char *in = write_temporary(w->arena, ptx, size), *out = in ? write_temporary(w->arena, "", 0) : NULL;
  char *const words[] = {(char *)tool, arena_printf(w->arena, "-arch=%s", cpu), "-o", (char *)out, (char *)in, NULL};
  pid_t child;
  StcStatus s = out && start(&child, words) ? await(w->context, child, until) : STC_IO;
  *code = s ? NULL : file_read(w, out, n);
  if (in)
    unlink(in);
  if (out)
    unlink(out);
  return s || *code ? s : STC_IO;
}

StcStatus assemble(Workspace *w, const char *tool, const char *cpu, const char *ptx, size_t size, double until,
                   char **code, size_t *n) {
  hold_begin();
  StcStatus s = assemble_files(w, tool, cpu, ptx, size, until, code, n);
  hold_end();
  return s;
}
