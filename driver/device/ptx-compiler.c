/* driver/device/ptx-compiler.c: ptxas, which is part of CUDA's toolkit and compiles PTX as the driver does, in
 * processes of its own: the driver is done with one unit after the other, whatever the number of threads that ask
 * (docs/lab/compile-time.md). It reads from and writes to files without a name, which are gone with the last process
 * that has them, and nothing is taken of a process whose end is not known to have been well. */
#include "driver/device/ptx-compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* Characters of what ptxas says that a message has; nanoseconds between looks at whether it is done; the number of its
 * output's file; seconds that it may take to tell its version. */
enum { MOST_SAID = 1000, NAP = 1000000, OUT = 3, MOST_SECONDS = 10 };

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

bool ptx_choice(Diags *d, PtxChoice *out) {
  static const char *const words[] = {[PTX_EITHER] = "", [PTX_DRIVER] = "driver", [PTX_PTXAS] = "ptxas"};
  const char *said = getenv("STC_PTX_COMPILER");
  for (int i = PTX_EITHER; i <= PTX_PTXAS; i++)
    if (strcmp(said ? said : "", words[i]) == 0)
      return *out = (PtxChoice)i, true;
  diag_error(d, no_loc(), "STC_PTX_COMPILER=%s: write driver or ptxas, or unset it", said);
  return false;
}

/* ---------------------------------------------------------------- processes */

/* Writes `n` bytes to a file without a name. Beyond `ulimit -f` a signal would end the process. */
static bool put(int fd, const char *bytes, size_t n) {
  struct rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) || (most.rlim_cur != RLIM_INFINITY && n > most.rlim_cur))
    return false;
  for (size_t done = 0; done < n;) {
    ssize_t wrote = write(fd, bytes + done, n - done);
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote <= 0)
      return false;
    done += (size_t)wrote;
  }
  return lseek(fd, 0, SEEK_SET) == 0;
}

/* What is in such a file, with a 0 behind it, from malloc; NULL: nothing, or it cannot be read. */
static char *take(int fd, size_t *n) {
  off_t size = lseek(fd, 0, SEEK_END);
  char *bytes = size > 0 ? malloc((size_t)size + 1) : NULL;
  if (!bytes)
    return NULL;
  for (*n = 0; *n < (size_t)size;) {
    ssize_t got = pread(fd, bytes + *n, (size_t)size - *n, (off_t)*n);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return free(bytes), NULL;
    *n += (size_t)got;
  }
  bytes[*n] = 0;
  return bytes;
}

/* Starts a program that reads `in` and writes to file number OUT what is `out`, and what it has to say to `said`. It
 * takes no signals' treatment from this process. */
static bool start(pid_t *child, char *const *words, int in, int out, int said) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t how;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  if (posix_spawn_file_actions_init(&actions))
    return false;
  if (posix_spawnattr_init(&how))
    return posix_spawn_file_actions_destroy(&actions), false;
  bool ok = posix_spawn_file_actions_adddup2(&actions, in, 0) == 0 &&
            posix_spawn_file_actions_adddup2(&actions, said, 1) == 0 &&
            posix_spawn_file_actions_adddup2(&actions, said, 2) == 0 &&
            posix_spawn_file_actions_adddup2(&actions, out, OUT) == 0 && posix_spawnattr_setsigmask(&how, &none) == 0 &&
            posix_spawnattr_setsigdefault(&how, &all) == 0 &&
            posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0 &&
            posix_spawn(child, words[0], &actions, &how, words, environ) == 0;
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&actions);
  return ok;
}

/* Waits for a process until its end, or until `stop` (NULL: never) asks for it, and for no more than `seconds`. True:
 * its end was well. One that others have waited for, or nobody can, since SIGCHLD is ignored, counts as one that was
 * not. */
static bool await(pid_t child, const Stop *stop, double seconds) {
  double begin = clock_seconds();
  struct timespec nap = {0, NAP};
  int status = 0;
  pid_t got;
  while ((got = waitpid(child, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
    if ((stop && stop_asked(stop)) || clock_seconds() - begin > seconds) {
      kill(child, SIGKILL);
      while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
      return false;
    }
    nanosleep(&nap, NULL);
  }
  return got == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Has a program read `n` bytes and write to file number OUT. What it wrote there, from malloc, and what it said, which
 * may be NULL. False: it could not be started, its end was not well, or it took more than `seconds`. */
static bool run(char *const *words, const char *bytes, size_t n, const Stop *stop, double seconds, char **wrote,
                size_t *size, char **said) {
  int in = memfd_create("ptx", MFD_CLOEXEC), out = memfd_create("cubin", MFD_CLOEXEC),
      log = memfd_create("said", MFD_CLOEXEC), apart = out >= 0 ? fcntl(out, F_DUPFD_CLOEXEC, OUT + 1) : -1;
  pid_t child;
  size_t unused;
  bool ok = in >= 0 && log >= 0 && apart >= 0 && put(in, bytes, n) && start(&child, words, in, apart, log) &&
            await(child, stop, seconds);
  *wrote = ok ? take(apart, size) : NULL;
  *said = log >= 0 ? take(log, &unused) : NULL;
  for (int i = 0; i < 4; i++) {
    int fd = (int[]){in, out, log, apart}[i];
    if (fd >= 0)
      close(fd);
  }
  return ok;
}

/* ---------------------------------------------------------------- finding it */

/* What was found, once a process; lacks: why it cannot be used. */
static PtxCompiler found;
static const char *lacks;
static bool sought;
static pthread_mutex_t seeking = PTHREAD_MUTEX_INITIALIZER;

/* Reads the version from what it says of itself, "... release 13.0, V13.0.88". */
static bool read_version(const char *said) {
  const char *version = said ? strstr(said, ", V") : NULL;
  if (!version || sscanf(version, ", V%d.%d", &found.major, &found.minor) != 2)
    return false;
  snprintf(found.name, sizeof found.name, "ptxas %.*s", (int)strspn(version + 3, "0123456789."), version + 3);
  return true;
}

/* Finds the program, and asks it for its version. Returns what it lacks, or NULL. */
static const char *find(Arena *a) {
  const char *path = assembler_find(a);
  char *words[] = {found.path, "--version", NULL}, *wrote = NULL, *said = NULL;
  size_t n;
  if (!path)
    return "ptxas is not found in PATH, CUDA_HOME or /usr/local/cuda/bin";
  if (snprintf(found.path, sizeof found.path, "%s", path) >= (int)sizeof found.path)
    return "the path of ptxas is too long";
  bool runs = run(words, "", 0, NULL, MOST_SECONDS, &wrote, &n, &said), told = read_version(said);
  free(wrote);
  free(said);
  return runs && told ? NULL : "ptxas does not run, or does not tell its version";
}

const PtxCompiler *ptx_compiler(Arena *a, int driver, const char **why) {
  struct sigaction children;
  if (sigaction(SIGCHLD, NULL, &children) || children.sa_handler == SIG_IGN || (children.sa_flags & SA_NOCLDWAIT)) {
    *why = "the process ignores SIGCHLD, so that nobody can wait for ptxas";
    return NULL;
  }
  pthread_mutex_lock(&seeking);
  if (!sought)
    lacks = find(a);
  sought = true;
  pthread_mutex_unlock(&seeking);
  *why = lacks;
  if (!lacks && found.major != driver / 1000)
    *why = "ptxas is of another CUDA than the driver";
  else if (!lacks && found.minor > driver % 1000 / 10)
    *why = "ptxas is of a newer CUDA than the driver";
  return *why ? NULL : &found;
}

/* ---------------------------------------------------------------- compiling */

const char *ptx_architecture(Arena *a, const char *ptx, int major, int minor) {
  const char *own = arena_printf(a, "sm_%d", major * 10 + minor), *target = strstr(ptx, ".target sm_");
  if (!target)
    return own;
  target += strlen(".target ");
  size_t digits = strlen("sm_") + strspn(target + strlen("sm_"), "0123456789");
  bool only = target[digits] >= 'a' && target[digits] <= 'z';
  return only ? arena_printf(a, "%.*s", (int)digits + 1, target) : own;
}

char *ptx_compile(const PtxCompiler *c, Arena *a, const char *ptx, size_t n, const char *architecture, const Stop *stop,
                  size_t *size, const char **why) {
  char *words[] = {(char *)c->path,
                   arena_printf(a, "-arch=%s", architecture),
                   "-o",
                   arena_printf(a, "/dev/fd/%d", OUT),
                   "/dev/stdin",
                   NULL};
  char *cubin, *said;
  bool ok = run(words, ptx, n, stop, INFINITY, &cubin, size, &said);
  if (!ok || !cubin || *size < 4 || memcmp(cubin, "\177ELF", 4) != 0) {
    size_t most = said ? strcspn(said, "\n") : 0;
    *why = arena_printf(a, "%.*s", most < MOST_SAID ? (int)most : MOST_SAID, said ? said : "");
    *why = **why ? *why : ok ? "it made no cubin" : "it did not come to a good end";
    free(cubin);
    cubin = NULL;
  }
  free(said);
  return cubin;
}

void ptx_key(const PtxCompiler *c, Arena *a, const CodeStore *store, const char *ptx, size_t n,
             const char *architecture, CodeKey *key) {
  store->key(arena_printf(a, "%s -arch=%s", c->name, architecture), ptx, n, key);
}
