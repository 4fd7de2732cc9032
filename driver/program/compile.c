/* driver/program/compile.c: makes a program from its text, once; passes change only copies of it.
 *
 *   .stn -> frontend -> stencil IR -> passes -> kernel IR -> codegen -> PTX, code object, object
 *   .sir -> module_parse ---^            .kir -> module_parse ---^
 */
#include "driver/files/files.h"
#include "driver/program/code-units.h"
#include "passes/base/tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kind of source, according to the extension of `name`. */
static SourceKind source_kind(const char *name) {
  const char *dot = strrchr(name, '.');
  if (dot && strcmp(dot, ".sir") == 0)
    return SOURCE_SIR;
  if (dot && strcmp(dot, ".kir") == 0)
    return SOURCE_KIR;
  return SOURCE_STN;
}

/* `path` without directory and extension. */
static const char *stem(Arena *a, const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  return dot && dot > base ? arena_strndup(a, base, (size_t)(dot - base)) : arena_strdup(a, base);
}

/* Sets the floating-point flags. An IR text keeps its own; options can restrict them, and extend them only if they
 * explicitly say so. */
static void module_set_flags(const StcProgram *p, Module *m) {
  if (p->options.no_contract)
    m->contract = false;
  if (p->options.fast_math)
    m->fast_math = true;
}

/* Reads the program's source. NULL after an error. */
static Module *read_source(StcProgram *p) {
  Workspace *w = &p->w;
  if (p->kind == SOURCE_STN)
    return frontend_compile(w->arena, w->diags, p->file, p->text, &p->language);
  Module *m = module_parse(w->arena, w->diags, p->file, p->text);
  OpLevel want = p->kind == SOURCE_SIR ? LEVEL_SIR : LEVEL_KIR;
  if (m && m->level != want) {
    diag_error(w->diags, no_loc(), "%s holds %s IR; rename it to %s.%s", p->file,
               want == LEVEL_SIR ? "kernel" : "stencil", p->name, want == LEVEL_SIR ? "kir" : "sir");
    return NULL;
  }
  if (!m)
    return NULL;
  module_set_flags(p, m);
  module_renumber(m);
  return m;
}

/* The passes for -fcheck, and the one that cuts the grid; they run first on all devices, including the reference. NULL
 * if there are none. */
static const char *check_pipeline(const StcProgram *p, Arena *a) {
  const StcOptions *o = &p->options;
  const char *cut = p->cut ? arena_printf(a, "distribute(cut=%s)", p->cut) : "";
  if (!o->check_finite && !o->check_bounds)
    return p->cut ? cut : NULL;
  const char *finite = o->check_finite ? arena_printf(a, "check-finite(every=%lld)", (long long)o->check_finite) : "";
  return arena_printf(a, "%s%s%s%s%s", finite, o->check_finite && o->check_bounds ? "," : "",
                      o->check_bounds ? "check-bounds" : "", p->cut ? "," : "", cut);
}

Module *program_checked(StcProgram *p, Workspace *w, const TargetInfo *t, const PassHooks *hooks) {
  const char *pipeline = check_pipeline(p, w->arena);
  Module *m = module_copy(w->arena, p->source);
  if (!p->options.passes || strncmp(p->options.passes, "transpose", strlen("transpose")) != 0)
    m = module_without_losses(w->arena, m);
  PassContext c = {.arena = w->arena, .diags = w->diags, .target = t, .schedule = &p->schedule, .loaded = p->loaded};
  return pipeline ? passes_run(&c, hooks, pipeline, m) : m;
}

/* Lists the names of the values that runs report. */
static void note_logged(StcProgram *p) {
  const Module *m = p->module;
  for (int i = 0; i < m->nreductions; i++)
    ARENA_PUSH(p->w.arena, p->logged, p->nlogged, m->reductions[i].name);
  for (int i = 0; i < 2 * m->nrepeats; i++) {
    const char *name = arena_printf(p->w.arena, "%s.%s", m->repeats[i / 2].name, i % 2 ? "ended" : "rounds");
    ARENA_PUSH(p->w.arena, p->logged, p->nlogged, repeat_is_fixed(m, i / 2) ? "" : name);
  }
}

/* Makes the module that the reference runs. */
static StcStatus make_reference(StcProgram *p) {
  static const TargetInfo none;
  p->reference = check_pipeline(p, p->w.arena) ? program_checked(p, &p->w, &none, NULL) : p->module;
  if (p->cut && p->reference)
    p->module = p->reference;
  if (p->reference)
    note_logged(p);
  return p->reference ? STC_OK : STC_INPUT;
}

/* Checks shapes and -for-grid against the program's rank. */
static StcStatus check_rank(const StcProgram *p) {
  const StcOptions *o = &p->options;
  int rank = p->module->grid.rank, shape = 0, grid = 0;
  for (int i = 0; i < KNOBS; i++)
    if (knob_row((KnobId)i)->kind == KNOB_IS_SHAPE && options_dimensions(o, (KnobId)i) > shape)
      shape = options_dimensions(o, (KnobId)i);
  while (grid < MAX_RANK && o->grid[grid])
    grid++;
  bool wrong_grid = grid && grid != rank;
  int given = wrong_grid ? grid : shape;
  if (!wrong_grid && shape <= rank)
    return STC_OK;
  return context_error(
             p->w.context,
             "%s has %d number%s, but the program's grid has rank %d: give one for each dimension, slowest first",
             wrong_grid ? option_name(p->w.context, "-for-grid", "grid")
                        : knob_names(p->w.arena, 1 << KNOB_IS_SHAPE, option_name(p->w.context, "-", ""), " or "),
             given, given > 1 ? "s" : "", rank),
         STC_USAGE;
}

/* Replaces each override of a complex param by two overrides of its parts, so that later searches for a scalar find
 * them. False after reporting. */
static bool split_defines(StcProgram *p) {
  int n = p->options.ndefines;
  const Define *apart = defines_apart(p->module, &n, p->defines, p->w.diags);
  if (!apart || n == p->options.ndefines)
    return apart;
  const char **words = ARENA_ARRAY(p->w.arena, const char *, n + 1);
  p->defines = ARENA_ARRAY(p->w.arena, Define, n + 1);
  for (int i = 0; i < n; i++) {
    p->defines[i] = apart[i];
    words[i] = arena_printf(p->w.arena, "%s=%s", apart[i].name, apart[i].value);
  }
  p->options.defines = words;
  p->options.ndefines = n;
  return true;
}

/* The guarded part of compiling. */
static StcStatus program_fill(void *arg) {
  StcProgram *p = arg;
  StcStatus s = options_take(p);
  if (!s)
    s = plugins_open(p);
  if (s)
    return s;
  if (p->options.march && !program_target(p))
    return STC_USAGE;
  double start = clock_seconds();
  p->source = p->module = read_source(p);
  p->frontend_seconds = clock_seconds() - start;
  if (!p->module)
    return STC_INPUT;
  if ((s = check_rank(p)) || (s = make_reference(p)))
    return s;
  program_declare(p);
  if (p->options.time_passes && !p->cut)
    fprintf(stderr, "%10.3f ms  frontend\n", p->frontend_seconds * 1e3);
  if (!split_defines(p))
    return STC_INPUT;
  Const *values = ARENA_ARRAY(p->w.arena, Const, p->module->nscalars + 1);
  if (p->options.ndefines && !module_bind(p->module, p->options.ndefines, p->defines, values, p->w.diags))
    return STC_INPUT;
  return STC_OK;
}

/* The text of a file that the program includes. It must be a regular file, because pipes and devices may yield a text
 * only once, or one without end. */
static char *read_included(void *user, const char *path, const char **why) {
  Workspace *w = user;
  size_t size;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat s;
  bool ok = fd >= 0 && fstat(fd, &s) == 0;
  *why = ok ? NULL : strerror(errno);
  if (fd >= 0)
    close(fd);
  if (ok && !S_ISREG(s.st_mode))
    *why = S_ISDIR(s.st_mode) ? strerror(EISDIR) : "it is no regular file";
  char *text = *why ? NULL : file_read(w, strcmp(path, "-") ? path : "./-", &size);
  if (text && strlen(text) != size)
    *why = "it holds a NUL byte";
  return *why ? NULL : text;
}

/* The file's path without links, or its name. */
static const char *identity_of(void *user, const char *path) {
  Workspace *w = user;
  char *real = realpath(path, NULL);
  const char *copy = arena_strdup(w->arena, real ? real : path);
  free(real);
  return copy;
}

FileReader program_reader(Workspace *w) { return (FileReader){w, read_included, identity_of}; }

/* Replaces the includes of the program by the texts of files. */
static StcStatus include_all(StcProgram *p, char *text) {
  const FileReader reader = program_reader(&p->w);
  p->text = p->kind == SOURCE_STN ? frontend_include(p->w.arena, p->w.diags, p->file, text, &reader) : text;
  return p->text ? STC_OK : STC_INPUT;
}

/* The arguments of program_copy. */
typedef struct CopyArgs {
  StcProgram *p;
  const char *name, *path;
  const char *text;
  const StcOptions *o;
} CopyArgs;

/* Copies name, text (or reads the file) and options into the program. */
static StcStatus program_copy(void *arg) {
  CopyArgs *c = arg;
  StcProgram *p = c->p;
  Arena *a = p->w.arena;
  bool standard = c->path && strcmp(c->path, "-") == 0;
  p->file = standard ? "<stdin>" : arena_strdup(a, c->name);
  p->name = standard ? "stdin" : stem(a, c->name);
  p->kind = source_kind(c->name);
  p->options = options_copy(a, c->o);
  diags_enable_remarks(p->w.diags, p->options.remarks);
  if (c->path) {
    size_t size;
    char *text = file_read(&p->w, c->path, &size);
    if (!text)
      return STC_IO;
    if (strlen(text) != size)
      return context_error(p->w.context, "%s: holds a NUL byte; a program is text", p->file), STC_INPUT;
    return include_all(p, text);
  }
  return include_all(p, arena_strdup(a, c->text));
}

/* Makes the program from `text`, or, if `path` is not NULL, from that file. With `cut` for a part of its grid; then
 * messages about the whole grid are not repeated. */
static StcStatus compile(StcContext *c, const char *name, const char *path, const char *text, const char *cut,
                         const StcOptions *o, StcProgram **out) {
  *out = NULL;
  StcProgram *p = c->realloc(c->user, NULL, sizeof *p);
  if (!p)
    return context_error(c, "out of memory"), STC_MEMORY;
  memset(p, 0, sizeof *p);
  if (!workspace_open(&p->w, c, NULL)) {
    c->realloc(c->user, p, 0);
    return context_error(c, "out of memory"), STC_MEMORY;
  }
  p->cut = cut;
  p->w.muted = cut != NULL;
  CopyArgs args = {p, name, path, text, o};
  StcStatus s = workspace_guard(&p->w, program_copy, &args);
  if (!s)
    s = workspace_guard(&p->w, program_fill, p);
  if (s)
    stc_program_free(p);
  else
    *out = p;
  return s;
}

StcStatus stc_compile_string(StcContext *c, const char *name, const char *text, const StcOptions *o, StcProgram **out) {
  return compile(c, name ? name : "program.stn", NULL, text, NULL, o, out);
}

StcStatus stc_compile_file(StcContext *c, const char *path, const StcOptions *o, StcProgram **out) {
  return compile(c, path, path, NULL, NULL, o, out);
}

StcStatus program_distribute(const StcProgram *p, const char *cut, bool lean, StcProgram **out) {
  if (lean)
    cut = arena_printf(p->w.arena, "%s,inits=1,watch=all", cut);
  StcStatus s = compile(p->w.context, p->file, NULL, p->text, cut, &p->options, out);
  if (!s)
    program_suit_stops(*out, p->schedule.every);
  return s;
}

/* The options for the program of a stage, which does not contain the stencils of other stages; tiles: it may make
 * several steps at a time. */
static StcOptions stage_options(const StcProgram *p, bool tiles) {
  static const char *const families[] = {"naive", "overlap", "stream", "warps"}, *const cuts[] = {"all", "none"};
  StcOptions o = p->options;
  const char *schedule = NULL, *fuse = NULL;
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    schedule = o.schedule && strcmp(o.schedule, families[i]) == 0 ? families[i] : schedule;
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
    fuse = o.fuse && strcmp(o.fuse, cuts[i]) == 0 ? cuts[i] : fuse;
  o.schedule = schedule;
  o.fuse = fuse;
  o.T = tiles || (schedule && strcmp(schedule, "naive") == 0) ? 0 : 1;
  return o;
}

StcStatus program_stage(const StcProgram *p, const char *cut, int stage, int last, int64_t rounds, bool lean,
                        StcProgram **out) {
  StcOptions o = stage_options(p, rounds > 0);
  cut = arena_printf(p->w.arena, "%s%s,watch=all,stage=%d,last=%d", cut, lean ? ",inits=1" : "", stage, last);
  StcStatus s = compile(p->w.context, p->file, NULL, p->text, cut, &o, out);
  if (!s)
    program_suit_stops(*out, rounds);
  return s;
}

StcStatus program_watch(const StcProgram *p, const char *cut, int watch, bool rows, bool inits, StcProgram **out) {
  StcOptions o = p->options;
  o.schedule = "naive";
  options_open_knobs(&o);
  o.print_before = o.print_after = NULL;
  o.print_all = o.time_passes = o.stats = o.remarks = false;
  memset(o.grid, 0, sizeof o.grid);
  cut = arena_printf(p->w.arena, "%s%s,watch=%d%s", cut, inits ? ",inits=1" : "", watch, rows ? ",rows=1" : "");
  return compile(p->w.context, p->file, NULL, p->text, cut, &o, out);
}

/* The arguments of the guarded function that checks whether the grid can be cut. */
typedef struct CutArgs {
  StcProgram *program;
  const char *cut;
  bool watches, can;
  Workspace *w;
} CutArgs;

/* Checks it on a copy. */
static StcStatus can_cut_guarded(void *arg) {
  static const TargetInfo none;
  CutArgs *a = arg;
  bool cut[MAX_RANK] = {false};
  Module *m = program_checked(a->program, a->w, &none, NULL);
  if (!m)
    return STC_INPUT;
  for (const char *s = a->cut; *s; s++)
    if (*s >= '0' && *s < '0' + m->grid.rank)
      cut[*s - '0'] = true;
  PassContext c = {.arena = a->w->arena, .diags = a->w->diags, .target = &none, .schedule = &a->program->schedule};
  a->w->silent = true;
  a->can = can_distribute(&c, m, cut, a->watches);
  return STC_OK;
}

StcStatus program_can_cut(StcProgram *p, const char *cut, bool watches, bool *can) {
  Workspace w;
  CutArgs args = {p, cut, watches, false, &w};
  *can = false;
  if (!workspace_open(&w, p->w.context, NULL))
    return context_error(p->w.context, "out of memory"), STC_MEMORY;
  StcStatus s = workspace_guard(&w, can_cut_guarded, &args);
  workspace_close(&w);
  *can = !s && args.can;
  return s;
}

void stc_program_free(StcProgram *p) {
  if (!p)
    return;
  StcContext *c = p->w.context;
  stc_program_free(p->backward);
  for (Build *b = p->builds; b; b = b->next) {
    if (b->jit)
      jit_free(b->jit);
    units_free(b->units);
  }
  plugins_close(p);
  workspace_close(&p->w);
  c->realloc(c->user, p, 0);
}

const Target *program_target(StcProgram *p) {
  if (!p->target)
    p->target = target_find(p->w.arena, p->w.diags, p->options.march ? p->options.march : "host", p->options.mcpu);
  return p->target;
}
