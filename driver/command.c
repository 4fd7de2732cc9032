/* driver/command.c: `stc FILE`: compiling to files. */
#include "driver/tune/tune.h"

#include <string.h>
#include <unistd.h>

/* What -emit= takes: the rows of StcEmit by name, then manifest and header, and what callers of the host artifact in
 * other languages need, and the plan. */
const char *const emit_names[] = {"ast",      "sir",    "kir",     "llvm", "asm",  "obj",
                                  "manifest", "header", "fortran", "so",   "plan", NULL};
enum { EMIT_MANIFEST = STC_EMIT_OBJ + 1, EMIT_HEADER, EMIT_FORTRAN, EMIT_SO, EMIT_PLAN, EMIT_UNKNOWN };

/* The number of the name, EMIT_UNKNOWN if there is none such. */
static int find_emit(const char *name) {
  int i = 0;
  while (emit_names[i] && strcmp(emit_names[i], name) != 0)
    i++;
  return i;
}

/* The bytes of one kind of output. */
static StcStatus emit_bytes(StcProgram *p, int what, const char **bytes, size_t *size) {
  StcStatus s;
  if (what <= STC_EMIT_OBJ)
    return stc_program_emit(p, (StcEmit)what, bytes, size);
  s = what == EMIT_MANIFEST  ? stc_program_manifest(p, bytes)
      : what == EMIT_FORTRAN ? fortran_text(p, bytes)
      : what == EMIT_PLAN    ? stc_program_plan(p, bytes)
                             : stc_program_header(p, bytes);
  *size = s ? 0 : strlen(*bytes);
  return s;
}

/* `path` with its ending (if it has one) replaced. */
static const char *with_ending(Arena *a, const char *path, const char *ending) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  size_t n = dot && dot > base ? (size_t)(dot - path) : strlen(path);
  return arena_printf(a, "%.*s.%s", (int)n, path, ending);
}

/* -MD: the rule for the `n` files that were written, the first of which gives it its name, unless -MF does. */
static StcStatus write_depfile(const Command *c, const char *const *outputs, int n) {
  if (!c->depend && !c->depfile)
    return STC_OK;
  const char *path = c->depfile ? c->depfile : with_ending(c->arena, outputs[0], "d"),
             *text = depfile_text(c, outputs, n);
  for (int i = 0; i < n; i++)
    if (strcmp(outputs[i], path) == 0)
      return context_error(c->context, "-MD: %s is the name of an output; name the rule's file with -MF FILE", path),
             STC_USAGE;
  return file_write(c->context, path, text, strlen(text)) ? STC_OK : STC_IO;
}

/* -emit=so. */
static StcStatus emit_shared_object(const Command *c, StcProgram *p) {
  if (!c->out || strcmp(c->out, "-") == 0)
    return context_error(c->context, "-emit=so: a shared object needs a name; use -o FILE.so"), STC_USAGE;
  StcStatus s = shared_object_write(p, c->out);
  return s ? s : write_depfile(c, &c->out, 1);
}

/* -emit=WHAT: one output to stdout or -o. */
static StcStatus emit_one(const Command *c, StcProgram *p) {
  const char *bytes, *to = c->out ? c->out : "-";
  size_t size;
  int what = find_emit(c->emit);
  if (what == EMIT_SO)
    return emit_shared_object(c, p);
  StcStatus s = emit_bytes(p, what, &bytes, &size);
  if (s)
    return s;
  if (strcmp(to, "-") == 0 && isatty(STDOUT_FILENO) && memchr(bytes, 0, size))
    return context_error(c->context, "-emit=%s: these are no characters for a terminal; use -o FILE", c->emit),
           STC_USAGE;
  if ((c->depend || c->depfile) && strcmp(to, "-") == 0)
    return context_error(c->context, "-MD: the rule needs the name of the file that it makes; use -o FILE"), STC_USAGE;
  if (!file_write(c->context, to, bytes, size))
    return STC_IO;
  return write_depfile(c, &to, 1);
}

/* Writes one file beside the artifact. */
static StcStatus write_beside(const Command *c, StcProgram *p, int what, const char *path) {
  const char *bytes;
  size_t size;
  StcStatus s = emit_bytes(p, what, &bytes, &size);
  return s ? s : file_write(c->context, path, bytes, size) ? STC_OK : STC_IO;
}

/* The artifact, its manifest, and on the host its header. */
static StcStatus emit_artifact(const Command *c, StcProgram *p) {
  const char *suffix = stc_program_suffix(p);
  if (!suffix)
    return STC_USAGE;
  if (!c->out && strcmp(c->file, "-") == 0)
    return context_error(c->context, "the program comes from the standard input: name the artifact with -o FILE"),
           STC_USAGE;
  const char *out = c->out ? c->out : arena_printf(c->arena, "%s.%s", stc_program_name(p), suffix);
  if (strcmp(out, "-") == 0)
    return context_error(c->context,
                         "-o -: an artifact has a manifest beside it; use -emit=obj -o - for the artifact alone"),
           STC_USAGE;
  const char *json = with_ending(c->arena, out, "json"), *header = with_ending(c->arena, out, "h");
  bool host = strcmp(stc_program_arch(p), "host") == 0;
  if (strcmp(json, out) == 0 || (host && strcmp(header, out) == 0))
    return context_error(
               c->context,
               "-o %s: that is the name of the %s beside the artifact; give the artifact another ending, such as .%s",
               out, strcmp(json, out) == 0 ? "manifest" : "header", suffix),
           STC_USAGE;
  StcStatus s = write_beside(c, p, STC_EMIT_OBJ, out);
  if (!s)
    s = write_beside(c, p, EMIT_MANIFEST, json);
  if (!s && host)
    s = write_beside(c, p, EMIT_HEADER, header);
  const char *const outputs[] = {out, json, header};
  return s ? s : write_depfile(c, outputs, host ? 3 : 2);
}

StcStatus command_compile(const Command *c) {
  StcProgram *p;
  if (c->emit && find_emit(c->emit) == EMIT_UNKNOWN) {
    const char *near = near_match(c->emit, emit_names);
    return context_error(
               c->context,
               "-emit=%s: there are ast, sir, kir, llvm, asm, obj, manifest, header, fortran, so and plan%s%s%s",
               c->emit, near ? "; is " : "", near ? near : "", near ? " meant?" : ""),
           STC_USAGE;
  }
  StcStatus s = stc_compile_file(c->context, c->file, &c->options, &p);
  if (s)
    return s;
  const char *tuned = NULL;
  if (!c->emit || find_emit(c->emit) > STC_EMIT_SIR)
    s = tune_use(c, NULL, &p, &tuned);
  if (!s && tuned && c->options.remarks)
    fprintf(stderr, "stc: remark: the schedule is from %s\n", tuned);
  if (!s)
    s = c->emit ? emit_one(c, p) : emit_artifact(c, p);
  stc_program_free(p);
  return s;
}
