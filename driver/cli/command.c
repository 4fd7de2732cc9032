/* driver/cli/command.c: `stc FILE`: compiles to files. */
#include "driver/artifact/artifact.h"
#include "driver/cli/used/used.h"
#include "driver/files/files.h"
#include "driver/tune/tune.h"

#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The values of -emit=: the rows of StcEmit by name, then manifest and header, outputs for callers of the host artifact
 * in other languages, and the plan. */
const char *const emit_names[] = {"ast",    "sir",     "kir", "llvm", "asm",      "obj", "manifest",
                                  "header", "fortran", "so",  "plan", "launcher", NULL};
enum { EMIT_MANIFEST = STC_EMIT_OBJ + 1, EMIT_HEADER, EMIT_FORTRAN, EMIT_SO, EMIT_PLAN, EMIT_LAUNCHER, EMIT_UNKNOWN };

/* The prefix of a value that selects the backward program in place of the program itself. */
static const char of_backward[] = "back.";

/* Does the value of -emit= have this prefix? */
static bool is_of_backward(const Command *c) {
  return c->emit && strncmp(c->emit, of_backward, strlen(of_backward)) == 0;
}

/* The value without the prefix. */
static const char *behind_prefix(const char *name) {
  return strncmp(name, of_backward, strlen(of_backward)) == 0 ? name + strlen(of_backward) : name;
}

/* The number of the value; EMIT_UNKNOWN if there is none. The backward program has no text, and so no syntax tree. */
static int find_emit(const char *name) {
  const char *own = behind_prefix(name);
  int i = 0;
  if (own != name && strcmp(own, "ast") == 0)
    return EMIT_UNKNOWN;
  while (emit_names[i] && strcmp(emit_names[i], own) != 0)
    i++;
  return i;
}

/* Makes the bytes of one kind of output of the program, or of its backward program. */
static StcStatus emit_bytes(const Command *c, StcProgram *p, int what, const char **bytes, size_t *size) {
  StcStatus s;
  p = is_of_backward(c) ? p->backward : p;
  if (what <= STC_EMIT_OBJ)
    return stc_program_emit(p, (StcEmit)what, bytes, size);
  s = what == EMIT_MANIFEST   ? stc_program_manifest(p, bytes)
      : what == EMIT_FORTRAN  ? fortran_text(p, bytes)
      : what == EMIT_PLAN     ? stc_program_plan(p, bytes)
      : what == EMIT_LAUNCHER ? program_launcher(p, bytes)
                              : stc_program_header(p, bytes);
  *size = s ? 0 : strlen(*bytes);
  return s;
}

/* `path` with its extension, if any, replaced. */
static const char *with_ending(Arena *a, const char *path, const char *ending) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  size_t n = dot && dot > base ? (size_t)(dot - path) : strlen(path);
  return arena_printf(a, "%.*s.%s", (int)n, path, ending);
}

/* An output of the command: a file and its bytes. kind: a number of emit_names, EMIT_RULE, or EMIT_BACKWARD and
 * EMIT_BACKWARD_HEADER: the artifact of the backward program, and its header. */
enum { EMIT_RULE = EMIT_UNKNOWN + 1, EMIT_BACKWARD, EMIT_BACKWARD_HEADER, MOST_FILES = 6 };
typedef struct Output {
  int kind;
  const char *path;
} Output;

/* All files of a command, in order; a rule is about the files before it. */
typedef struct OutputList {
  int n;
  Output file[MOST_FILES];
} OutputList;

/* Adds a file. */
static void add_output(OutputList *l, int kind, const char *path) { l->file[l->n++] = (Output){kind, path}; }

/* Adds the rule for make, if it is requested: beside the first file, or under the name that -MF gives. */
static void add_rule(const Command *c, OutputList *l) {
  if (!c->depend && !c->depfile)
    return;
  add_output(l, EMIT_RULE, c->depfile ? c->depfile : with_ending(c->arena, l->file[0].path, "d"));
}

/* Makes the bytes of output number `i`. */
static StcStatus output_bytes(const Command *c, StcProgram *p, const OutputList *l, int i, const char **bytes,
                              size_t *size) {
  const char *paths[MOST_FILES];
  if (l->file[i].kind == EMIT_BACKWARD)
    return stc_program_emit(p->backward, STC_EMIT_OBJ, bytes, size);
  if (l->file[i].kind != EMIT_RULE && l->file[i].kind != EMIT_BACKWARD_HEADER)
    return emit_bytes(c, p, l->file[i].kind, bytes, size);
  StcStatus s = STC_OK;
  for (int k = 0; k < i; k++)
    paths[k] = l->file[k].path;
  if (l->file[i].kind == EMIT_BACKWARD_HEADER)
    s = stc_program_header(p->backward, bytes);
  else
    *bytes = depfile_text(c, p, paths, i);
  *size = !s && *bytes ? strlen(*bytes) : 0;
  return s || *bytes ? s : STC_USAGE;
}

/* -v: prints the kernels, if any were made. */
static void remark_kernels(const Command *c, StcProgram *p) {
  if (p->kernels)
    context_remark(c->context, "kernels for %s %s: %s", target_info(p->target)->name, target_info(p->target)->cpu,
                   schedule_describe(p->w.arena, p->kernels, &p->resolved));
}

/* Renames all files to their names, or none. */
static StcStatus place_all(const Command *c, const OutputList *l, const char *const *bytes, const size_t *sizes) {
  OutFile files[MOST_FILES];
  StcStatus s = STC_OK;
  int open = 0, placed = 0;
  for (int i = 0; i < l->n && !s; i++) {
    if (!file_create(c->context, l->file[i].path, &files[i]))
      s = STC_IO;
    open += !s;
    if (!s && sizes[i])
      fwrite(bytes[i], 1, sizes[i], files[i].to);
  }
  for (; placed < open && !s; placed++)
    s = file_commit(c->context, &files[placed]) ? STC_OK : STC_IO;
  for (; placed < open; placed++)
    file_abandon(&files[placed]);
  return s;
}

/* Makes all files, and then writes them; Ctrl-C has an effect only until they are renamed. */
static StcStatus write_all(const Command *c, StcProgram *p, const OutputList *l) {
  const char *bytes[MOST_FILES];
  size_t sizes[MOST_FILES];
  StcStatus s = STC_OK;
  for (int i = 0; i < l->n && !s; i++)
    s = output_bytes(c, p, l, i, &bytes[i], &sizes[i]);
  if (s)
    return s;
  remark_kernels(c, p);
  ending_allow(NULL);
  return place_all(c, l, bytes, sizes);
}

/* Checks that all files can be written, before code is made. */
static StcStatus probe_all(const Command *c, const OutputList *l) {
  for (int i = 0; i < l->n; i++)
    if (!file_probe(c->context, l->file[i].path))
      return STC_IO;
  return STC_OK;
}

/* The description of an output, for messages. */
static const char *output_what(const Command *c, const OutputList *l, int i) {
  int kind = l->file[i].kind;
  return kind == EMIT_RULE                 ? c->depfile ? "-MF" : "-MD; name the rule's file with -MF"
         : c->emit || kind == STC_EMIT_OBJ ? "-o"
         : kind == EMIT_BACKWARD           ? "the backward artifact beside it"
         : kind == EMIT_BACKWARD_HEADER    ? "the header beside the backward artifact"
         : kind == EMIT_MANIFEST           ? "the manifest beside the artifact"
                                           : "the header beside the artifact";
}

/* Checks that no two outputs have the same file, and that none is an input file. */
static StcStatus check_outputs(const Command *c, const StcProgram *p, const OutputList *l) {
  UsedFiles used = {.arena = c->arena};
  used_add_inputs(&used, c);
  used_add_included(&used, p);
  for (int i = 0; i < l->n; i++)
    used_add(&used, USE_WRITE, l->file[i].path, output_what(c, l, i));
  return used_check(c, &used);
}

/* Lists the files of -emit=WHAT: one, to stdout or -o, and a rule. */
static StcStatus list_one(const Command *c, OutputList *l) {
  int what = find_emit(c->emit);
  const char *to = c->out ? c->out : "-";
  bool standard = strcmp(to, "-") == 0;
  if (what == EMIT_SO && standard)
    return context_error(c->context, "-emit=%s: a shared object needs a name; use -o FILE.so", c->emit), STC_USAGE;
  if ((c->depend || c->depfile) && standard)
    return context_error(c->context, "-MD: the rule needs the name of the file that it makes; use -o FILE"), STC_USAGE;
  add_output(l, what, to);
  add_rule(c, l);
  return STC_OK;
}

/* The extension of the artifact whose manifest is the file `path`; NULL: it is not a manifest. */
static const char *artifact_of_manifest(Arena *a, const char *path) {
  struct stat st;
  json_t *o = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? json_load_file(path, 0, NULL) : NULL;
  const char *schema = json_string_value(json_object_get(o, "schema")),
             *suffix = json_string_value(json_object_get(json_object_get(o, "target"), "artifact"));
  suffix = suffix && schema && strcmp(schema, "stc-manifest") == 0 ? arena_strdup(a, suffix) : NULL;
  json_decref(o);
  return suffix;
}

/* Checks that the manifest `json` of artifact `out` does not replace an existing one of another artifact. */
static StcStatus check_manifest(const Command *c, const char *out, const char *json, const char *suffix) {
  const char *other = artifact_of_manifest(c->arena, json);
  const char *path = other && strcmp(other, suffix) != 0 ? with_ending(c->arena, out, other) : NULL;
  struct stat st;
  if (!path || stat(path, &st) != 0)
    return STC_OK;
  return context_error(c->context,
                       "%s is the manifest of %s, and that of %s would replace it: name this artifact with -o", json,
                       path, out),
         STC_USAGE;
}

/* Lists the artifact, its manifest, and on the host its header. */
static StcStatus list_artifact(const Command *c, StcProgram *p, OutputList *l) {
  const char *suffix = stc_program_suffix(p);
  if (!suffix)
    return STC_USAGE;
  const char *out = c->out ? c->out : arena_printf(c->arena, "%s.%s", stc_program_name(p), suffix);
  if (strcmp(out, "-") == 0)
    return context_error(c->context,
                         "-o -: an artifact has a manifest beside it; use -emit=obj -o - for the artifact alone"),
           STC_USAGE;
  const char *json = with_ending(c->arena, out, "json"), *header = with_ending(c->arena, out, "h");
  bool host = !program_has_threads(p);
  if (strcmp(json, out) == 0 || (host && strcmp(header, out) == 0))
    return context_error(
               c->context,
               "-o %s: that is the name of the %s beside the artifact; give the artifact another ending, such as .%s",
               out, strcmp(json, out) == 0 ? "manifest" : "header", suffix),
           STC_USAGE;
  add_output(l, STC_EMIT_OBJ, out);
  add_output(l, EMIT_MANIFEST, json);
  if (host)
    add_output(l, EMIT_HEADER, header);
  add_rule(c, l);
  return check_manifest(c, out, json, suffix);
}

/* Checks that the artifact of the backward program, `path`, does not replace that of another program, whose manifest is
 * beside it: p.back.stn, where the present program is p.stn. */
static StcStatus check_backward(const Command *c, const char *out, const char *path, const char *suffix) {
  const char *json = with_ending(c->arena, out, "back.json"), *other = artifact_of_manifest(c->arena, json);
  if (!other || strcmp(other, suffix) != 0)
    return STC_OK;
  return context_error(c->context,
                       "%s is the manifest of another artifact, %s, which that of the gradient of %s would replace: "
                       "name this artifact with -o",
                       json, path, out),
         STC_USAGE;
}

/* Adds the artifact of the backward program, if there is one, after the artifact, and on the host its header. Only
 * after the program is final. */
static StcStatus list_backward(const Command *c, StcProgram *p, OutputList *l) {
  StcProgram *backward;
  StcStatus s = stc_program_backward(p, &backward);
  if (s || !backward)
    return s;
  const char *suffix = stc_program_suffix(p), *out = l->file[0].path;
  const char *path = with_ending(c->arena, out, arena_printf(c->arena, "back.%s", suffix));
  int more = program_has_threads(p) ? 1 : 2;
  memmove(&l->file[1 + more], &l->file[1], sizeof l->file[1] * (size_t)(l->n - 1));
  l->file[1] = (Output){EMIT_BACKWARD, path};
  if (more > 1)
    l->file[2] = (Output){EMIT_BACKWARD_HEADER, with_ending(c->arena, out, "back.h")};
  l->n += more;
  s = check_backward(c, out, path, suffix);
  if (!s)
    s = check_outputs(c, p, l);
  return s ? s : probe_all(c, l);
}

/* Reports an error if `bytes` are not text and go to a terminal as the standard output. */
static StcStatus check_terminal(const Command *c, StcProgram *p, const OutputList *l) {
  const char *bytes;
  size_t size;
  if (!c->emit || strcmp(l->file[0].path, "-") != 0 || !isatty(STDOUT_FILENO))
    return STC_OK;
  StcStatus s = emit_bytes(c, p, l->file[0].kind, &bytes, &size);
  if (!s && memchr(bytes, 0, size))
    return context_error(c->context, "-emit=%s: these are no characters for a terminal; use -o FILE", c->emit),
           STC_USAGE;
  return s;
}

/* Makes and writes the files. */
static StcStatus emit(const Command *c, StcProgram *p, OutputList *l) {
  if (l->file[0].kind != EMIT_SO) {
    StcStatus s = check_terminal(c, p, l);
    return s ? s : write_all(c, p, l);
  }
  const char *text;
  size_t size;
  StcStatus s = shared_object_write(is_of_backward(c) ? p->backward : p, l->file[0].path);
  if (!s)
    remark_kernels(c, p);
  if (!s && l->n > 1)
    s = output_bytes(c, p, l, 1, &text, &size);
  return !s && l->n > 1 && !file_write(c->context, l->file[1].path, text, size) ? STC_IO : s;
}

/* Prints the last message of a command that was stopped before it had made anything. */
static void say_stopped(void *user) {
  const Command *c = user;
  context_error(c->context, "stopped; no file was written");
}

/* Makes the backward program for -emit=back.WHAT. Only after the program is final. */
static StcStatus make_backward(const Command *c, StcProgram *p) {
  StcProgram *backward;
  StcStatus s = stc_program_backward(p, &backward);
  if (!s && !backward)
    s = (context_error(c->context,
                       "-emit=%s: the program has no gradient that an artifact can have: write 'gradient LOSS to "
                       "NAMES', or do what the warning asks for",
                       c->emit),
         STC_INPUT);
  return s;
}

/* Reads the program, and makes and writes the requested files. */
static StcStatus compile(const Command *c) {
  StcProgram *p;
  if (c->emit && find_emit(c->emit) == EMIT_UNKNOWN) {
    const char *near = near_match(behind_prefix(c->emit), emit_names);
    return context_error(c->context,
                         "-emit=%s: there are ast, sir, kir, llvm, asm, obj, manifest, header, fortran, so, plan and "
                         "launcher, and all but ast of the backward program, such as back.header%s%s%s",
                         c->emit, near ? "; is " : "", near ? near : "", near ? " meant?" : ""),
           STC_USAGE;
  }
  if (!c->out && !c->emit && strcmp(c->file, "-") == 0)
    return context_error(c->context, "the program comes from the standard input: name the artifact with -o FILE"),
           STC_USAGE;
  StcStatus s = stc_compile_file(c->context, c->file, &c->options, &p);
  if (s)
    return s;
  const char *tuned = NULL;
  OutputList files = {0};
  s = c->emit ? list_one(c, &files) : list_artifact(c, p, &files);
  if (!s)
    s = check_outputs(c, p, &files);
  if (!s)
    s = probe_all(c, &files);
  if (!s && (!c->emit || find_emit(c->emit) > STC_EMIT_SIR))
    s = tune_use(c, NULL, &p, &tuned);
  if (!s)
    tune_remark(c, tuned);
  if (!s && !c->emit)
    s = list_backward(c, p, &files);
  else if (!s && is_of_backward(c))
    s = make_backward(c, p);
  if (!s)
    s = emit(c, p, &files);
  stc_program_free(p);
  return s;
}

StcStatus command_compile(const Command *c, const Stop *stop) {
  const Ending at_once = {.last = say_stopped, .user = (void *)c};
  Ticker ticker;
  c->context->stop = stop;
  ending_allow(&at_once);
  ticker_start(&ticker, c->context, isatty(STDERR_FILENO));
  StcStatus s = compile(c);
  ending_allow(NULL);
  ticker_end(&ticker);
  return s;
}
