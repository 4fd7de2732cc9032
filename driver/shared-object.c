/* driver/shared-object.c: -emit=so, the host artifact and the functions of its header in a shared object, for callers
 * that have no C
 * compiler: ctypes, Julia, Fortran. A C compiler makes it, which CC names, or cc. */
#include "driver/driver.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What is made of one program. */
typedef struct Maker {
  Str s;
  Arena *arena;
  const Module *m;
  HeaderNames names;
} Maker;

/* A list of the fields and arrays as parameters (with types) or as arguments. */
static const char *arrays_text(Maker *k, bool types) {
  Str s = {k->arena, NULL, 0, 0};
  str_add(&s, "");
  for (int f = 0; f < k->m->nfields; f++)
    if (!k->m->fields[f].temp)
      str_addf(&s, ", %s%sfield_%s", types ? c_type(k->m->fields[f].type) : "", types ? " *" : "", k->names.fields[f]);
  for (int i = 0; i < k->m->nparam_arrays; i++)
    str_addf(&s, ", %s%s%sarray_%s", types ? "const " : "", types ? c_type(k->m->param_arrays[i].type) : "",
             types ? " *" : "", k->names.arrays[i]);
  return s.s;
}

/* One function that is seen from outside. `name` is what stands behind the program's name and "_". */
static void export_function(Maker *k, const char *result, const char *name, const char *parameters,
                            const char *arguments) {
  str_addf(&k->s, "__attribute__((visibility(\"default\"))) %s %s_%s(%s) { return inline_%s_%s(%s); }\n", result,
           k->names.program, name, parameters, k->names.program, name, arguments);
}

/* Calls `each` for every function of the header that is for callers. */
static void each_function(Maker *k, void (*each)(Maker *k, const char *result, const char *name, const char *parameters,
                                                 const char *arguments)) {
  Arena *a = k->arena;
  const Module *m = k->m;
  const char *p = k->names.program, *constant = arena_printf(a, "const %s_params *p", p);
  bool reduces = m->nreductions > 0;
  each(k, arena_printf(a, "%s_params", p), "defaults", "void", "");
  each(k, "const char *", "bind", arena_printf(a, "%s_params *p", p), "p");
  for (int f = 0; f < m->nfields; f++) {
    each(k, "int64_t", arena_printf(a, "extent_%s", k->names.fields[f]), arena_printf(a, "%s, int d", constant),
         "p, d");
    each(k, "int64_t", arena_printf(a, "size_%s", k->names.fields[f]), constant, "p");
  }
  for (int i = 0; i < m->nparam_arrays; i++)
    each(k, "int64_t", arena_printf(a, "length_%s", k->names.arrays[i]), constant, "p");
  if (m->host.init.nops > 0)
    each(k, "const char *", "init", arena_printf(a, "%s%s", constant, arrays_text(k, true)),
         arena_printf(a, "p%s", arrays_text(k, false)));
  each(k, "const char *", "run",
       arena_printf(a, "%s%s_params *p, int64_t first_step, int64_t steps%s%s", reduces ? "" : "const ", p,
                    arrays_text(k, true), reduces ? ", int64_t *done" : ""),
       arena_printf(a, "p, first_step, steps%s%s", arrays_text(k, false), reduces ? ", done" : ""));
}

/* Has the header call a function of its own by another name. */
static void rename_function(Maker *k, const char *result, const char *name, const char *parameters,
                            const char *arguments) {
  (void)result, (void)parameters, (void)arguments;
  str_addf(&k->s, "#define %s_%s inline_%s_%s\n", k->names.program, name, k->names.program, name);
}

/* And callers by the usual one. */
static void restore_function(Maker *k, const char *result, const char *name, const char *parameters,
                             const char *arguments) {
  (void)result, (void)parameters, (void)arguments;
  str_addf(&k->s, "#undef %s_%s\n", k->names.program, name);
}

/* Names it in the linker's list of what is seen. */
static void name_function(Maker *k, const char *result, const char *name, const char *parameters,
                          const char *arguments) {
  (void)result, (void)parameters, (void)arguments;
  str_addf(&k->s, "%s_%s; ", k->names.program, name);
}

/* That list: kernels are not in it. */
static const char *script_text(StcProgram *p) {
  Maker k = {{p->w.arena, NULL, 0, 0}, p->w.arena, p->kernels, header_names(p->w.arena, p, p->kernels)};
  str_add(&k.s, "{ global: ");
  each_function(&k, name_function);
  str_add(&k.s, "local: *; };\n");
  return k.s.s;
}

/* The C source: the header with its functions renamed, and functions for callers around them. */
static const char *source_text(StcProgram *p, const char *header) {
  Maker k = {{p->w.arena, NULL, 0, 0}, p->w.arena, p->kernels, header_names(p->w.arena, p, p->kernels)};
  each_function(&k, rename_function);
  str_add(&k.s, header);
  each_function(&k, restore_function);
  each_function(&k, export_function);
  return k.s.s;
}

/* Runs the compiler with these words; its messages go where ours do, or nowhere. False if it failed. */
static bool compile(const char *const *words, bool quiet) {
  pid_t child;
  int status = 1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (quiet)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
  bool started = posix_spawnp(&child, words[0], &actions, NULL, (char *const *)words, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  while (started && waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Makes the shared object in `folder`, which has the files; with OpenMP if the compiler has it. */
static StcStatus link_in(StcProgram *p, const char *folder, const char *path) {
  Arena *a = p->w.arena;
  const char *cc = getenv("CC") && getenv("CC")[0] ? getenv("CC") : "cc", *made = arena_printf(a, "%s/made.so", folder);
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
                         arena_printf(a, "-Wl,--version-script=%s/script", folder),
                         "-lm",
                         "-fopenmp",
                         NULL};
  size_t size, last = sizeof words / sizeof words[0] - 2;
  bool ok = compile(words, true);
  if (!ok) {
    words[last] = NULL;
    ok = compile(words, false);
  }
  if (!ok)
    return context_error(p->w.context, "-emit=so: the C compiler %s could not make it; name another in CC", cc), STC_IO;
  const char *bytes = file_read(&p->w, made, &size);
  return bytes && file_write(p->w.context, path, bytes, size) ? STC_OK : STC_IO;
}

/* What the two functions below hand to their guarded parts. */
typedef struct ObjectArgs {
  StcProgram *p;
  const char *path, *object, *header;
  size_t size;
} ObjectArgs;

/* Writes what the compiler reads into a folder of its own, and takes it away again. */
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
  StcStatus s = stc_program_header(p, &args.header);
  if (!s)
    s = stc_program_emit(p, STC_EMIT_OBJ, &args.object, &args.size);
  return s ? s : workspace_guard(&p->w, make_guarded, &args);
}
