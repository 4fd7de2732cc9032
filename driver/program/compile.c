/* driver/program/compile.c: a program from its text to its artifact.
 *
 *   .stn -> frontend -> stencil IR -> passes -> kernel IR -> codegen -> PTX, code object, object
 *   .sir -> module_parse ---^            .kir -> module_parse ---^
 */
#include "driver/artifact/artifact.h"
#include "driver/artifact/header.h"
#include "driver/files/files.h"
#include "driver/program/code-units.h"
#include "passes/base/tuning.h"
#include "passes/plan/choose/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kind of source that the ending of `name` announces. */
static SourceKind source_kind(const char *name) {
  const char *dot = strrchr(name, '.');
  if (dot && strcmp(dot, ".sir") == 0)
    return SOURCE_SIR;
  if (dot && strcmp(dot, ".kir") == 0)
    return SOURCE_KIR;
  return SOURCE_STN;
}

/* `path` without directory and ending. */
static const char *stem(Arena *a, const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  return dot && dot > base ? arena_strndup(a, base, (size_t)(dot - base)) : arena_strdup(a, base);
}

/* An IR text keeps its own floating-point flags; options may only take leave away or give it when said so. */
static void module_set_flags(const StcProgram *p, Module *m) {
  if (p->options.no_contract)
    m->contract = false;
  if (p->options.fast_math)
    m->fast_math = true;
}

Module *program_read(StcProgram *p, Workspace *w) {
  if (p->kind == SOURCE_STN)
    return frontend_compile(w->arena, w->diags, p->file, p->text, &p->language);
  Module *m = module_parse(w->arena, w->diags, p->file, p->text);
  OpLevel want = p->kind == SOURCE_SIR ? LEVEL_SIR : LEVEL_KIR;
  if (m && m->level != want) {
    diag_error(w->diags, no_loc(), "%s holds %s IR; rename it to %s.%s", p->file,
               want == LEVEL_SIR ? "kernel" : "stencil", p->name, want == LEVEL_SIR ? "kir" : "sir");
    return NULL;
  }
  if (m)
    module_set_flags(p, m);
  return m;
}

/* The passes that -fcheck stands for, and the one that cuts the grid; they come first on all devices, the reference
 * included. NULL if there are none. */
static const char *check_pipeline(const StcProgram *p, Arena *a) {
  const StcOptions *o = &p->options;
  const char *cut = p->cut ? arena_printf(a, "distribute(cut=%s)", p->cut) : "";
  if (!o->check_finite && !o->check_bounds)
    return p->cut ? cut : NULL;
  const char *finite = o->check_finite ? arena_printf(a, "check-finite(every=%lld)", (long long)o->check_finite) : "";
  return arena_printf(a, "%s%s%s%s%s", finite, o->check_finite && o->check_bounds ? "," : "",
                      o->check_bounds ? "check-bounds" : "", p->cut ? "," : "", cut);
}

/* Reads the program again into `w`, its messages but errors left out, and adds the checks that were asked for. NULL
 * after an error. */
static Module *read_checked(StcProgram *p, Workspace *w, const TargetInfo *t, const PassHooks *hooks) {
  bool muted = w->muted;
  const char *pipeline = check_pipeline(p, w->arena);
  w->muted = true;
  Module *m = program_read(p, w);
  w->muted = muted;
  PassContext c = {.arena = w->arena, .diags = w->diags, .target = t, .schedule = &p->schedule, .loaded = p->loaded};
  return m && pipeline ? passes_run(&c, hooks, pipeline, m) : m;
}

/* Makes what the reference runs. */
static StcStatus make_reference(StcProgram *p) {
  static const TargetInfo none;
  p->reference = check_pipeline(p, p->w.arena) ? read_checked(p, &p->w, &none, NULL) : p->module;
  if (p->cut && p->reference)
    p->module = p->reference;
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

/* The part of compiling that runs under the guard. */
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
  p->module = program_read(p, &p->w);
  p->frontend_seconds = clock_seconds() - start;
  if (!p->module)
    return STC_INPUT;
  if ((s = check_rank(p)) || (s = make_reference(p)))
    return s;
  program_declare(p);
  if (p->options.time_passes && !p->cut)
    fprintf(stderr, "%10.3f ms  frontend\n", p->frontend_seconds * 1e3);
  Const *values = ARENA_ARRAY(p->w.arena, Const, p->module->nscalars + 1);
  if (p->options.ndefines && !module_bind(p->module, p->options.ndefines, p->defines, values, p->w.diags))
    return STC_INPUT;
  return STC_OK;
}

/* The text of a file that the program includes: a regular one, since pipes and devices can give a text once alone, or
 * one without end. */
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

/* The file's path without links, or what it is called. */
static const char *identity_of(void *user, const char *path) {
  Workspace *w = user;
  char *real = realpath(path, NULL);
  const char *copy = arena_strdup(w->arena, real ? real : path);
  free(real);
  return copy;
}

FileReader program_reader(Workspace *w) { return (FileReader){w, read_included, identity_of}; }

/* Puts what the program includes in place. */
static StcStatus include_all(StcProgram *p, char *text) {
  const FileReader reader = program_reader(&p->w);
  p->text = p->kind == SOURCE_STN ? frontend_include(p->w.arena, p->w.diags, p->file, text, &reader) : text;
  return p->text ? STC_OK : STC_INPUT;
}

/* What stc_compile_* hand to program_copy. */
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

/* Makes the program from `text`, or from the file `path` if that is not NULL; with `cut` for a part of its grid,
 * without saying again what has been said of the whole one. */
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

StcStatus program_watch(const StcProgram *p, const char *cut, int watch, bool rows, StcProgram **out) {
  StcOptions o = p->options;
  o.schedule = "naive";
  options_open_knobs(&o);
  o.print_before = o.print_after = NULL;
  o.print_all = o.time_passes = o.stats = o.remarks = false;
  memset(o.grid, 0, sizeof o.grid);
  cut = arena_printf(p->w.arena, "%s,inits=1,watch=%d%s", cut, watch, rows ? ",rows=1" : "");
  return compile(p->w.context, p->file, NULL, p->text, cut, &o, out);
}

/* What asking whether the grid can be cut hands to its guarded part. */
typedef struct CutArgs {
  StcProgram *program;
  const char *cut;
  bool watches, can;
  Workspace *w;
} CutArgs;

/* Asks of the program read again. */
static StcStatus can_cut_guarded(void *arg) {
  static const TargetInfo none;
  CutArgs *a = arg;
  bool cut[MAX_RANK] = {false};
  Module *m = read_checked(a->program, a->w, &none, NULL);
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

/* Errors of kernel `k` (from a .kir, or from passes with a free hand) that keep it from running on a target. */
static bool kernel_fits(const Kernel *k, const TargetInfo *t, Diags *d) {
  int64_t threads = 1, shared = kernel_shared_bytes(k);
  for (int i = 0; i < k->rank; i++)
    threads *= k->threads[i];
  if (!t->simt && threads > 1) {
    diag_error(d, k->loc,
               "kernel %s has %lld threads a block, but %s %s runs one: make it for a GPU, or run it with --device=sim",
               k->name, (long long)threads, t->name, t->cpu);
    return false;
  }
  if (t->simt && threads > t->max_threads) {
    diag_error(d, k->loc, "kernel %s has %lld threads a block, but %s %s allows %d", k->name, (long long)threads,
               t->name, t->cpu, (int)t->max_threads);
    return false;
  }
  if (t->simt && kernel_warp(k) > t->lanes) {
    diag_error(d, k->loc, "kernel %s has warps of %d threads, but those of %s %s have %d", k->name, (int)kernel_warp(k),
               t->name, t->cpu, (int)t->lanes);
    return false;
  }
  for (int i = 0; t->simt && i < k->rank; i++)
    if (k->threads[i] > t->max_block[k->rank - 1 - i]) {
      diag_error(d, k->loc, "kernel %s has %d threads along dimension %d, but %s %s allows %d", k->name,
                 (int)k->threads[i], i, t->name, t->cpu, (int)t->max_block[k->rank - 1 - i]);
      return false;
    }
  if (t->simt && shared > t->max_shared_bytes) {
    diag_error(d, k->loc, "kernel %s takes %lld bytes of shared memory a block, but %s %s allows %lld", k->name,
               (long long)shared, t->name, t->cpu, (long long)t->max_shared_bytes);
    return false;
  }
  return true;
}

/* What the options ask to be done around passes. */
static PassHooks pass_hooks(const StcProgram *p) {
  const StcOptions *o = &p->options;
  return (PassHooks){o->print_before ? o->print_before : "",
                     o->print_after ? o->print_after : "",
                     o->print_all,
                     o->verify_each,
                     o->time_passes,
                     o->stats,
                     NULL};
}

/* Has the schedule suit a grid of the size that program_size gave. */
static void suit_size(Schedule *want, const int64_t *size) {
  if (size[0] == GRID_SMALL)
    want->edges = want->edges == EDGES_STEPS ? EDGES_STEPS : EDGES_ALONG;
  else
    memcpy(want->size, size, sizeof want->size);
}

/* Candidates that remarks and `stc explain --why` list. */
enum { LISTED_CANDIDATES = 10 };

/* The default pipeline for plans with `extra`; `why`: with remarks that list the best candidates of schedules. */
static const char *whole_pipeline(Arena *a, Extra extra, bool why) {
  const char *plan = why ? arena_printf(a, "plan(why=%d)", LISTED_CANDIDATES) : "plan";
  return arena_printf(a, "%s,%s," PASSES_PLANNED, extra_passes(a, extra), plan);
}

/* Runs the passes that the options ask for (those of schedule `want` if they name none) on `m`, for a grid of that size
 * (NULL: large), and with what plans have beside fields. NULL after an error. *used is set to the schedule that a
 * lowering took.
 */
static Module *run_passes(StcProgram *p, Workspace *w, const TargetInfo *target, Schedule want, const int64_t *size,
                          Extra extra, Module *m, bool by_default, Schedule *used) {
  Str stats = {w->arena, NULL, 0, 0};
  if (by_default)
    budget_schedule(w->diags, m, &want);
  if (size)
    suit_size(&want, size);
  PassContext c = {.arena = w->arena,
                   .diags = w->diags,
                   .target = target,
                   .schedule = &want,
                   .used = used,
                   .loaded = p->loaded,
                   .stats = p->options.stats ? &stats : NULL};
  PassHooks hooks = pass_hooks(p);
  const char *pipeline = p->options.passes;
  if (!pipeline && by_default)
    pipeline = whole_pipeline(w->arena, extra, p->w.context->candidates);
  if (pipeline)
    m = passes_run(&c, &hooks, pipeline, m);
  if (stats.s)
    fputs(stats.s, stderr);
  return m;
}

/* program_compile, which Ctrl-C ends. */
static StcStatus compile_kernels(StcProgram *p, Workspace *w, const Target *t, const int64_t size[MAX_RANK],
                                 Extra extra, Compiled *out) {
  double start = clock_seconds();
  diags_enable_remarks(w->diags, p->options.remarks);
  const TargetInfo *info = target_info(t);
  PassHooks hooks = pass_hooks(p);
  Module *m = read_checked(p, w, info, &hooks);
  if (!m)
    return STC_INPUT;
  *out = (Compiled){.target = t};
  bool by_default = p->kind != SOURCE_KIR && !p->options.passes;
  Schedule want = p->schedule;
  m = run_passes(p, w, info, want, size, extra, m, by_default, &out->schedule);
  if (m && by_default && budget_kernels(w->diags, m, info->simt, &want)) {
    m = read_checked(p, w, info, &hooks);
    m = m ? run_passes(p, w, info, want, size, extra, m, by_default, &out->schedule) : NULL;
  }
  if (!m)
    return STC_INPUT;
  if (m->level != LEVEL_KIR) {
    diag_error(w->diags, no_loc(),
               "%s=%s ends in stencil IR: kernels need a lowering pass at its end, such as lower-overlap",
               option_name(p->w.context, "-passes", "passes"), p->options.passes);
    return STC_USAGE;
  }
  for (int i = 0; i < m->nkernels; i++)
    if (!kernel_fits(&m->kernels[i], info, w->diags))
      return STC_INPUT;
  out->module = m;
  out->seconds = clock_seconds() - start;
  return STC_OK;
}

StcStatus program_compile(StcProgram *p, Workspace *w, const Target *t, const int64_t size[MAX_RANK], Extra extra,
                          Compiled *out) {
  if (w->handler)
    arena_obey(w->arena, compile_stop(w->context));
  atomic_store(&w->context->working.of, -1);
  StcStatus s = compile_kernels(p, w, t, size, extra, out);
  working_end(&w->context->working);
  arena_obey(w->arena, NULL);
  return s;
}

Module *program_before_lowering(StcProgram *p, Workspace *w, const Target *t, const Schedule *plan) {
  PassContext c = {
      .arena = w->arena, .diags = w->diags, .target = target_info(t), .schedule = plan, .loaded = p->loaded};
  bool muted = w->muted;
  w->muted = true;
  Module *m = read_checked(p, w, c.target, NULL);
  Extra extra = p->explains ? program_extra(p, w->arena, c.target, 0, NULL) : EXTRA_NONE;
  m = m ? passes_run(&c, NULL, extra_passes(w->arena, extra), m) : NULL;
  if (m) {
    m->plan = plan;
    m->plan_checked = true;
  }
  if (m && family_row(plan->family)->tiled)
    m = passes_run(&c, NULL, PASSES_TILING, m);
  w->muted = muted;
  return m;
}

const char *program_why(StcProgram *p, Workspace *w, const Target *t, const TargetInfo *info, const Schedule *plan) {
  Schedule want = p->schedule;
  int64_t size[MAX_RANK];
  ModelCache cache = {0};
  Str out = {.arena = w->arena};
  bool muted = w->muted;
  w->muted = true;
  Extra extra = p->explains ? program_extra(p, w->arena, info, 0, NULL) : EXTRA_NONE;
  program_size(p, w->arena, target_info(t), extra >= EXTRA_PITCH, 0, NULL, size);
  suit_size(&want, size);
  PassContext c = {.arena = w->arena,
                   .diags = w->diags,
                   .target = info,
                   .schedule = &want,
                   .loaded = p->loaded,
                   .cache = &cache,
                   .run = passes_run};
  Module *m = read_checked(p, w, info, NULL);
  m = m ? passes_run(&c, NULL, extra_passes(w->arena, extra), m) : NULL;
  if (m)
    plan_why(&c, m, &want, plan, LISTED_CANDIDATES, &out);
  w->muted = muted;
  return m ? out.s : NULL;
}

Module *program_kernels(StcProgram *p) {
  Compiled code;
  int64_t size[MAX_RANK];
  const Target *t = program_target(p);
  Extra extra = t && p->explains ? program_extra(p, p->w.arena, target_info(t), 0, NULL) : EXTRA_NONE;
  if (!p->kernels && t)
    program_size(p, p->w.arena, target_info(t), extra >= EXTRA_PITCH, 0, NULL, size);
  if (!p->kernels && t && program_compile(p, &p->w, t, size, extra, &code) == STC_OK) {
    p->kernels = code.module;
    p->resolved = code.schedule;
  }
  return p->kernels;
}

CodegenOptions program_codegen_options(const StcProgram *p, const Module *m, const Target *t) {
  CodegenOptions o = {.opt_level = p->options.opt_level ? p->options.opt_level - 1 : 3,
                      .time = p->options.time_passes,
                      .stop = compile_stop(p->w.context),
                      .working = &p->w.context->working};
  if (!p->options.opt_level) {
    o.quick = budget_codegen(p->w.diags, m, target_info(t)->simt);
    o.straight = (int64_t)tuning.long_straight;
  }
  return o;
}

/* What build_artifact hands to its guarded part. */
typedef struct ArtifactArgs {
  StcProgram *p;
  Build *b;
} ArtifactArgs;

/* Makes the artifact. */
static StcStatus artifact_guarded(void *arg) {
  ArtifactArgs *args = arg;
  StcProgram *p = args->p;
  Build *b = args->b;
  CodegenOptions o = program_codegen_options(p, b->code.module, b->code.target);
  char *bytes;
  if (!budget_compiler(p->w.diags, b->code.module, target_info(b->code.target)->simt))
    return STC_INPUT;
  if (!codegen(p->w.arena, p->w.diags, b->code.module, b->code.target, EMIT_OBJ, &o, &bytes, &b->size))
    return workspace_obey(&p->w), STC_INTERNAL;
  char *copy = arena_alloc(p->w.arena, b->size + 1);
  if (b->size)
    memcpy(copy, bytes, b->size);
  b->bytes = copy;
  return STC_OK;
}

StcStatus build_artifact(StcProgram *p, Build *b) {
  ArtifactArgs args = {p, b};
  return b->bytes ? STC_OK : workspace_guard(&p->w, artifact_guarded, &args);
}

/* Keeps `text` as the answer to `what`. False if it is NULL. */
static bool keep_text(StcProgram *p, StcEmit what, const char *text) {
  p->bytes[what] = text;
  p->sizes[what] = text ? strlen(text) : 0;
  return text != NULL;
}

/* The syntax tree; only a .stn has one. */
static bool emit_ast(StcProgram *p) {
  if (p->kind != SOURCE_STN) {
    context_error(p->w.context, "%s is IR text: a syntax tree is made from a .stn only", p->file);
    return false;
  }
  p->w.muted = true;
  char *text = frontend_dump_ast(p->w.arena, p->w.diags, p->file, p->text, &p->language);
  p->w.muted = false;
  return keep_text(p, STC_EMIT_AST, text);
}

/* Stencil IR: as read, or after the passes that were asked for. */
static bool emit_sir(StcProgram *p) {
  Module *m = p->module;
  if (p->options.passes) {
    const Target *t = program_target(p);
    p->w.muted = true;
    m = t ? program_read(p, &p->w) : NULL;
    p->w.muted = false;
    m = m ? run_passes(p, &p->w, target_info(t), p->schedule, NULL, EXTRA_NONE, m, false, NULL) : NULL;
  }
  if (m && m->level != LEVEL_SIR) {
    context_error(p->w.context, "%s: what is there is kernel IR, not stencil IR; use -emit=kir", p->file);
    return false;
  }
  return m && keep_text(p, STC_EMIT_SIR, module_print(m));
}

/* Kernel IR of the program's own target. */
static bool emit_kir(StcProgram *p) {
  Module *m = program_kernels(p);
  return m && keep_text(p, STC_EMIT_KIR, module_print(m));
}

/* LLVM IR, assembly or the artifact. */
static bool emit_code(StcProgram *p, StcEmit what) {
  Module *m = program_kernels(p);
  EmitKind kind = what == STC_EMIT_LLVM ? EMIT_LLVM : what == STC_EMIT_ASM ? EMIT_ASM : EMIT_OBJ;
  char *bytes;
  size_t size;
  if (!m)
    return false;
  CodegenOptions o = program_codegen_options(p, m, p->target);
  if (kind != EMIT_LLVM && !budget_compiler(p->w.diags, m, target_info(p->target)->simt))
    return false;
  atomic_store(&o.working->done, 0);
  atomic_store(&o.working->of, m->nkernels);
  bool made = codegen(p->w.arena, p->w.diags, m, p->target, kind, &o, &bytes, &size);
  working_end(o.working);
  if (!made)
    return workspace_obey(&p->w), false;
  char *copy = arena_alloc(p->w.arena, size + 1);
  if (size)
    memcpy(copy, bytes, size);
  p->bytes[what] = copy;
  p->sizes[what] = size;
  return true;
}

/* What stc_program_emit hands to its guarded part. */
typedef struct EmitArgs {
  StcProgram *p;
  StcEmit what;
  const char *text;
} EmitArgs;

/* Makes p->bytes[what] if it is not there. */
static StcStatus emit_guarded(void *arg) {
  EmitArgs *e = arg;
  StcProgram *p = e->p;
  if ((unsigned)e->what > STC_EMIT_OBJ)
    return context_error(p->w.context, "there is nothing number %d to emit", (int)e->what), STC_USAGE;
  bool ok = p->bytes[e->what] != NULL;
  if (!ok)
    switch (e->what) {
    case STC_EMIT_AST: ok = emit_ast(p); break;
    case STC_EMIT_SIR: ok = emit_sir(p); break;
    case STC_EMIT_KIR: ok = emit_kir(p); break;
    case STC_EMIT_LLVM:
    case STC_EMIT_ASM:
    case STC_EMIT_OBJ: ok = emit_code(p, e->what); break;
    }
  return ok ? STC_OK : STC_INPUT;
}

StcStatus stc_program_emit(StcProgram *p, StcEmit what, const char **bytes, size_t *size) {
  EmitArgs args = {p, what, NULL};
  StcStatus s = workspace_guard(&p->w, emit_guarded, &args);
  *bytes = s ? NULL : p->bytes[what];
  if (size)
    *size = s ? 0 : p->sizes[what];
  return s;
}

/* Has `make` make *text of the program's kernels, NULL after an error. */
static StcStatus emit_text(StcProgram *p, StcStatus (*make)(void *), const char **text) {
  EmitArgs args = {p, 0, NULL};
  StcStatus s = workspace_guard(&p->w, make, &args);
  *text = args.text;
  return s;
}

/* The kernels for an artifact, whose launchers do not know what is to be done once. NULL after an error. */
static Module *artifact_kernels(StcProgram *p) {
  Module *m = program_kernels(p);
  if (!m || !m->host.once.nops)
    return m;
  context_error(p->w.context,
                "%s computes fields once, and again where what these are made of was set (`once`): plans do that, "
                "launchers of artifacts do not; leave out pass hoist",
                p->name);
  return NULL;
}

/* Makes the manifest. */
static StcStatus manifest_guarded(void *arg) {
  EmitArgs *e = arg;
  Module *m = artifact_kernels(e->p);
  if (!m)
    return STC_INPUT;
  e->text = manifest_text(&e->p->w, e->p, m, e->p->target);
  return STC_OK;
}

StcStatus stc_program_manifest(StcProgram *p, const char **json) { return emit_text(p, manifest_guarded, json); }

/* Writes the plan. */
static StcStatus plan_guarded(void *arg) {
  EmitArgs *e = arg;
  Module *m = program_kernels(e->p);
  if (!m)
    return STC_INPUT;
  if (!e->p->resolved.family)
    return context_error(e->p->w.context, "there is no plan: the kernels or the passes were given"), STC_USAGE;
  e->text = plan_text(e->p->w.arena, &e->p->resolved, m->grid.rank);
  return STC_OK;
}

StcStatus stc_program_plan(StcProgram *p, const char **text) { return emit_text(p, plan_guarded, text); }

/* Makes the header. */
static StcStatus header_guarded(void *arg) {
  EmitArgs *e = arg;
  Module *m = artifact_kernels(e->p);
  if (!m)
    return STC_INPUT;
  bool threads = target_info(e->p->target)->simt;
  e->text = threads ? launcher_header_text(&e->p->w, e->p, m, e->p->target) : header_text(&e->p->w, e->p, m);
  return STC_OK;
}

StcStatus stc_program_header(StcProgram *p, const char **text) { return emit_text(p, header_guarded, text); }

/* Writes the launcher. */
static StcStatus launcher_guarded(void *arg) {
  EmitArgs *e = arg;
  StcProgram *p = e->p;
  Module *m = artifact_kernels(p);
  if (!m)
    return STC_INPUT;
  e->text = launcher_text(&p->w, p, m, p->target, p->bytes[STC_EMIT_OBJ], p->sizes[STC_EMIT_OBJ]);
  return STC_OK;
}

bool program_has_threads(const StcProgram *p) { return target_info(p->target)->simt; }

StcStatus program_launcher(StcProgram *p, const char **text) {
  const char *bytes;
  *text = NULL;
  if (!stc_program_arch(p))
    return STC_USAGE;
  if (!program_has_threads(p))
    return context_error(p->w.context, "-emit=launcher is for GPUs, with -march=nvptx or amdgpu; on the host the "
                                       "artifact's header has the same functions"),
           STC_USAGE;
  StcStatus s = stc_program_emit(p, STC_EMIT_OBJ, &bytes, NULL);
  return s ? s : emit_text(p, launcher_guarded, text);
}

StcStatus program_for_host(StcProgram *p, const char *what) {
  if (!stc_program_arch(p))
    return STC_USAGE;
  if (program_has_threads(p))
    return context_error(p->w.context, "-emit=%s is for -march=host; -emit=launcher makes C functions for GPUs", what),
           STC_USAGE;
  return STC_OK;
}

const char *stc_program_name(const StcProgram *p) { return p->name; }

/* Finds the target under the guard. */
static StcStatus target_guarded(void *arg) { return program_target(arg) ? STC_OK : STC_USAGE; }

const char *stc_program_suffix(StcProgram *p) {
  return workspace_guard(&p->w, target_guarded, p) ? NULL : target_suffix(p->target);
}
const char *stc_program_arch(StcProgram *p) {
  return workspace_guard(&p->w, target_guarded, p) ? NULL : target_arch(p->target);
}

int stc_program_reduction_count(const StcProgram *p) {
  int n = 0;
  for (int i = 0; i < p->module->nreductions; i++)
    n += p->module->reductions[i].kind != REDUCE_FINITE && p->module->reductions[i].kind != REDUCE_BOUNDS;
  return n;
}

int stc_program_rank(const StcProgram *p) { return p->module->grid.rank; }
int64_t stc_program_steps(const StcProgram *p) {
  const Module *m = p->module;
  Const *values = ARENA_ARRAY(m->arena, Const, m->nscalars + 1);
  bool *known = ARENA_ARRAY(m->arena, bool, m->nscalars + 1);
  scalar_defaults(p, m, values, known);
  return m->steps_by && !known[m->steps_by - 1] ? -1 : module_steps(m, values);
}

/* Clears the bool at `user` if `op` is one whose result differs between devices. */
static void check_exact(void *user, Op *op) {
  if (op_info[op->code].flags & OPF_INEXACT)
    *(bool *)user = false;
}

/* Clears *exact if `op` is floating-point arithmetic that contraction or reassociation may change. */
static void check_integer(void *user, Op *op) {
  for (int i = 0; i < op->nresults; i++)
    if (type_is_float(op->results[i]->type) &&
        (op->code == OP_MUL || op->code == OP_DIV || op->code == OP_ADD || op->code == OP_SUB))
      *(bool *)user = false;
}

/* Walks all bodies of the program that run on the device. */
static void walk_bodies(const Module *m, void (*fn)(void *user, Op *op), void *user) {
  for (int s = 0; s < m->ninits + m->nstencils; s++) {
    const Stencil *st = s < m->ninits ? &m->inits[s] : &m->stencils[s - m->ninits];
    for (int i = 0; i < st->npieces; i++)
      block_walk(st->pieces[i].body, fn, user);
  }
  for (int r = 0; r < m->nreductions; r++)
    if (m->reductions[r].body)
      block_walk(m->reductions[r].body, fn, user);
  for (int k = 0; k < m->nkernels; k++)
    block_walk(m->kernels[k].body, fn, user);
}

bool stc_program_is_exact(const StcProgram *p) {
  bool exact = true, integer = true;
  walk_bodies(p->module, check_exact, &exact);
  walk_bodies(p->module, check_integer, &integer);
  bool strict = !p->module->contract && !p->module->fast_math;
  return exact && (strict || integer);
}
