/* driver/program/kernels.c: a program's kernels: the passes that make them, and further queries. */
#include "driver/program/program.h"
#include "passes/base/tuning.h"
#include "passes/plan/choose/compare.h"
#include "passes/plan/cost/count.h"

#include <string.h>

/* Reports properties of kernel `k` (from a .kir, or from user-chosen passes) that keep it from running on a target. */
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
  for (int i = k->rank > GRID_RANK; t->simt && i < k->rank; i++) /* along members a block has one */
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

/* The hooks that the options request around passes. */
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

/* Adapts the schedule to a grid of the size that program_size returned. */
static void suit_size(Schedule *want, const int64_t *size) {
  if (size[0] == GRID_SMALL)
    want->edges = want->edges == EDGES_STEPS ? EDGES_STEPS : EDGES_ALONG;
  else
    memcpy(want->size, size, sizeof want->size);
}

/* The number of candidates that remarks and `stc explain --why` list. */
enum { LISTED_CANDIDATES = 10 };

/* The default pipeline for plans with `extra`; `why`: with remarks that list the best candidates of schedules. */
static const char *whole_pipeline(Arena *a, Extra extra, bool why) {
  const char *plan = why ? arena_printf(a, "plan(why=%d)", LISTED_CANDIDATES) : "plan";
  return arena_printf(a, "%s,%s," PASSES_PLANNED, extra_passes(a, extra), plan);
}

/* Runs the passes that the options name (else those of schedule `want`) on `m`, for a grid of that size (NULL: large),
 * and for the extra memory of plans. NULL after an error. *used: the schedule that the lowering used. */
static Module *run_passes(StcProgram *p, Workspace *w, const TargetInfo *target, Schedule want, const int64_t *size,
                          Extra extra, const Foreseen *known, Module *m, bool by_default, Schedule *used) {
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
                   .stats = p->options.stats ? &stats : NULL,
                   .known = known};
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

Module *program_run_passes(StcProgram *p, const TargetInfo *t) {
  Module *m = module_copy(p->w.arena, p->source);
  return run_passes(p, &p->w, t, p->schedule, NULL, EXTRA_NONE, NULL, m, false, NULL);
}

Module *program_simplified(StcProgram *p) {
  static const TargetInfo none;
  PassContext c = {.arena = p->w.arena, .diags = p->w.diags, .target = &none, .schedule = &p->schedule};
  return passes_run(&c, NULL, "scalarize,every,sides,simplify", module_copy(p->w.arena, p->source));
}

/* The kernels `m` of the requested schedule, which is *used; if they are too long, kernels with smaller tiles or none
 * (budget_kernels); `m` again if such tiles cannot be made. The other arguments are those of run_passes. */
static Module *within_budget(StcProgram *p, Workspace *w, const TargetInfo *info, const int64_t *size, Extra extra,
                             const Foreseen *known, Module *m, Schedule *used) {
  PassHooks hooks = pass_hooks(p);
  Schedule want = p->schedule;
  bool silent = w->silent;
  while (budget_kernels(w->diags, m, info->simt, &p->schedule, used, &want)) {
    Schedule now = *used;
    w->silent = silent || p->schedule.family != FAMILY_AUTO;
    Module *made = program_checked(p, w, info, &hooks);
    made = made ? run_passes(p, w, info, want, size, extra, known, made, true, &now) : NULL;
    w->silent = silent;
    if (!made)
      return p->schedule.family == FAMILY_AUTO ? NULL : m;
    m = made;
    *used = now;
  }
  return m;
}

/* Changes the kernels to store to other parts of the grid, too. */
static Module *mirrored(const StcProgram *p, Workspace *w, const TargetInfo *info, Module *m) {
  PassHooks hooks = pass_hooks(p);
  PassContext c = {.arena = w->arena, .diags = w->diags, .target = info, .schedule = &p->schedule, .loaded = p->loaded};
  return passes_run(&c, &hooks, "mirror-stores", m);
}

/* program_compile, which Ctrl-C ends. */
static StcStatus compile_kernels(StcProgram *p, Workspace *w, const Target *t, const int64_t size[MAX_RANK],
                                 Extra extra, const Foreseen *known, Compiled *out) {
  double start = clock_seconds();
  diags_enable_remarks(w->diags, p->options.remarks);
  const TargetInfo *info = target_info(t);
  PassHooks hooks = pass_hooks(p);
  Module *m = program_checked(p, w, info, &hooks);
  if (!m)
    return STC_INPUT;
  *out = (Compiled){.target = t};
  bool by_default = p->kind != SOURCE_KIR && !p->options.passes;
  Schedule want = p->schedule;
  m = run_passes(p, w, info, want, size, extra, known, m, by_default, &out->schedule);
  if (m && by_default)
    m = within_budget(p, w, info, size, extra, known, m, &out->schedule);
  if (m && by_default && p->mirrors)
    m = mirrored(p, w, info, m);
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
                          const Foreseen *known, Compiled *out) {
  if (w->handler)
    arena_obey(w->arena, compile_stop(w->context));
  atomic_store(&w->context->working.of, -1);
  StcStatus s = compile_kernels(p, w, t, size, extra, known, out);
  working_end(&w->context->working);
  arena_obey(w->arena, NULL);
  return s;
}

/* The extra memory that the kernels of program_kernels use on target `t`: that of plans, for `explain`, or that of
 * artifacts. */
static Extra kernels_extra(const StcProgram *p, Arena *a, const TargetInfo *t) {
  return p->explains ? program_extra(p, a, t, 0, NULL) : artifact_extra(p);
}

Module *program_before_lowering(StcProgram *p, Workspace *w, const Target *t, const Schedule *plan) {
  PassContext c = {
      .arena = w->arena, .diags = w->diags, .target = target_info(t), .schedule = plan, .loaded = p->loaded};
  bool muted = w->muted;
  w->muted = true;
  Module *m = program_checked(p, w, c.target, NULL);
  m = m ? passes_run(&c, NULL, extra_passes(w->arena, kernels_extra(p, w->arena, c.target)), m) : NULL;
  if (m) {
    m->plan = plan;
    m->plan_checked = true;
  }
  if (m && family_row(plan->family)->tiled)
    m = passes_run(&c, NULL, PASSES_TILING, m);
  w->muted = muted;
  return m;
}

const WetMap *program_wet(StcProgram *p, Workspace *w, const TargetInfo *t, const int64_t *size, int n,
                          const char *const *texts) {
  PassContext c = {.arena = w->arena,
                   .diags = w->diags,
                   .target = t,
                   .schedule = &p->schedule,
                   .loaded = p->loaded,
                   .known = program_known(p, w->arena, EXTRA_TESTS, n, texts)};
  bool muted = w->muted;
  w->muted = true;
  Module *m = program_checked(p, w, t, NULL);
  m = m ? passes_run(&c, NULL, PASSES_PACKED, m) : NULL;
  const WetMap *wet = m ? wet_map(&c, m, size) : NULL;
  w->muted = muted;
  return wet;
}

const char *program_why(StcProgram *p, Workspace *w, const Target *t, const TargetInfo *info, const Schedule *plan) {
  Schedule want = p->schedule;
  int64_t size[MAX_RANK];
  ModelCache cache = {0};
  Str out = {.arena = w->arena};
  bool muted = w->muted;
  w->muted = true;
  Extra extra = kernels_extra(p, w->arena, info);
  program_size(p, w->arena, target_info(t), extra_pads(extra), 0, NULL, size);
  suit_size(&want, size);
  PassContext c = {.arena = w->arena,
                   .diags = w->diags,
                   .target = info,
                   .schedule = &want,
                   .loaded = p->loaded,
                   .cache = &cache,
                   .run = passes_run};
  Module *m = program_checked(p, w, info, NULL);
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
  Extra extra = t ? kernels_extra(p, p->w.arena, target_info(t)) : EXTRA_NONE;
  if (!p->kernels && t)
    program_size(p, p->w.arena, target_info(t), extra_pads(extra), 0, NULL, size);
  p->schedule.told = p->options.grid[0] || p->explains;
  if (!p->kernels && t &&
      program_compile(p, &p->w, t, size, extra, program_known(p, p->w.arena, extra, 0, NULL), &code) == STC_OK) {
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
  o.most = budget_instructions(&p->schedule);
  if (!p->options.opt_level) {
    o.quick = budget_codegen(p->w.diags, m, target_info(t)->simt);
    o.straight = (int64_t)measured.long_straight;
    o.long_function = (int64_t)measured.long_function;
  }
  return o;
}
