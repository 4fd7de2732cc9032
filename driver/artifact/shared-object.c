/* driver/artifact/shared-object.c: -emit=so, a shared object with the host artifact and the functions of its header,
 * for callers that have no C compiler: ctypes, Julia, Fortran. It is made by the C compiler that CC names, or by cc. */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"
#include "driver/files/files.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* Adds a function to the linker's list of visible symbols. */
static void name_function(TextWriter *w, const char *result, const char *name, const char *parameters,
                          const char *arguments) {
  (void)result, (void)parameters, (void)arguments;
  c_put(w, "$_%s; ", name);
}

/* That list. It includes kernels, for C programs with the header, whose functions call them. */
static const char *script_text(StcProgram *p) {
  TextWriter w = header_writer(p->w.arena, p, p->kernels, NULL);
  str_add(&w.s, "{ global: ");
  header_each_function(&w, name_function);
  for (int i = 0; i < w.m->nkernels; i++)
    str_addf(&w.s, "%s; ", w.m->kernels[i].name);
  str_add(&w.s, "local: *; };\n");
  return w.s.s;
}

/* The C source: the header's functions, visible to other files. */
static const char *source_text(StcProgram *p, const char *header) {
  TextWriter w = header_writer(p->w.arena, p, p->kernels, NULL);
  header_outside(&w, header, "__attribute__((visibility(\"default\"))) ");
  return w.s.s;
}

/* Waits for the compiler, and ends it if the user wants to stop; returns its exit status, or -1 if it has none. */
static int await(const StcContext *c, pid_t child) {
  int status = 0;
  pid_t got;
  while (((got = waitpid(child, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) && !context_stopped(c))
    nanosleep(&(struct timespec){0, 2000000}, NULL);
  if (got != child) {
    kill(child, SIGTERM);
    waitpid(child, &status, 0);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Runs the compiler with the arguments `words`; its messages go to stc's output, or nowhere if `quiet`. False if it
 * failed. */
static bool compile(const StcContext *c, const char *const *words, bool quiet) {
  pid_t child;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (quiet)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
  bool started = posix_spawnp(&child, words[0], &actions, NULL, (char *const *)words, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  return started && await(c, child) == 0;
}

/* For -v: prints the arguments, quoted as for a shell. */
static void remark_words(StcProgram *p, const char *const *words) {
  Str s = {p->w.arena, NULL, 0, 0};
  for (int i = 0; words[i]; i++)
    str_addf(&s, i ? " %s" : "%s", words[i]);
  context_remark(p->w.context, "running: %s", s.s);
}

/* Makes the shared object in `folder`, which contains the source files; with OpenMP if the compiler supports it. Its
 * SONAME is the name of the final file, so programs linked with it find it in the loader's folders, not where it was
 * made. */
static StcStatus link_in(StcProgram *p, const char *folder, const char *path) {
  Arena *a = p->w.arena;
  const char *cc = getenv("CC") && getenv("CC")[0] ? getenv("CC") : "cc", *made = arena_printf(a, "%s/made.so", folder);
  const char *slash = strrchr(path, '/'), *soname = slash ? slash + 1 : path;
  const char *words[] = {cc,
                         "-O2",
                         "-shared",
                         "-fPIC",
                         "-fvisibility=hidden",
                         "-ffp-contract=off",
                         "-o",
                         made,
                         arena_printf(a, "%s/source.c", folder),
                         arena_printf(a, "%s/object.o", folder),
                         arena_printf(a, "-Wl,-Bsymbolic,--version-script=%s/script", folder),
                         "-Xlinker",
                         "-soname",
                         "-Xlinker",
                         soname,
                         "-lm",
                         "-fopenmp",
                         NULL};
  size_t size, last = sizeof words / sizeof words[0] - 2;
  remark_words(p, words);
  bool ok = compile(p->w.context, words, true);
  if (!ok && !context_stopped(p->w.context)) {
    words[last] = NULL;
    ok = compile(p->w.context, words, false);
  }
  if (context_stopped(p->w.context))
    return context_error(p->w.context, "stopped; no file was written"), STC_INTERRUPTED;
  if (!ok)
    return context_error(p->w.context, "-emit=so: the C compiler %s could not make it; name another in CC", cc), STC_IO;
  const char *bytes = file_read(&p->w, made, &size);
  return bytes && file_write(p->w.context, path, bytes, size) ? STC_OK : STC_IO;
}

/* The arguments of the guarded functions of the two functions below. */
typedef struct ObjectArgs {
  StcProgram *p;
  const char *path, *object, *header;
  size_t size;
} ObjectArgs;

/* Writes the compiler's input files into a folder of its own, and removes it afterwards. */
static StcStatus make_guarded(void *arg) {
  ObjectArgs *o = arg;
  StcProgram *p = o->p;
  Arena *a = p->w.arena;
  const char *usual = getenv("TMPDIR"), *names[] = {"source.c", "object.o", "script", "made.so"};
  char *folder = arena_printf(a, "%s/stc-XXXXXX", usual && usual[0] ? usual : "/tmp");
  if (!mkdtemp(folder))
    return context_error(p->w.context, "-emit=so: no folder for temporary files: %s", strerror(errno)), STC_IO;
  const char *source = source_text(p, o->header), *script = script_text(p);
  bool ok = file_write(p->w.context, arena_printf(a, "%s/source.c", folder), source, strlen(source)) &&
            file_write(p->w.context, arena_printf(a, "%s/object.o", folder), o->object, o->size) &&
            file_write(p->w.context, arena_printf(a, "%s/script", folder), script, strlen(script));
  StcStatus s = ok ? link_in(p, folder, o->path) : STC_IO;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    unlink(arena_printf(a, "%s/%s", folder, names[i]));
  rmdir(folder);
  return s;
}

StcStatus shared_object_write(StcProgram *p, const char *path) {
  ObjectArgs args = {.p = p, .path = path};
  StcStatus s = program_for_host(p, "so");
  if (!s)
    s = stc_program_header(p, &args.header);
  if (!s)
    s = stc_program_emit(p, STC_EMIT_OBJ, &args.object, &args.size);
  ending_allow(NULL);
  return s ? s : workspace_guard(&p->w, make_guarded, &args);
}
