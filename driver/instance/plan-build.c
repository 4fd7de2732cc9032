/* driver/instance/plan-build.c: the code of a plan: the program compiled for its device and params, once for all plans
 * that can share it. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <string.h>

/* The target of the kernels for device `d`: the device's own; if it accepts any (sim), the requested one, or a GPU of
 * middle size. */
static const Target *choose_target(StcProgram *p, const Device *d) {
  const StcOptions *o = &p->options;
  const char *arch = d->kind->arch ? d->kind->arch : o->march ? o->march : "nvptx";
  bool same = !o->march || strcmp(o->march, arch) == 0;
  const char *cpu = same && o->mcpu ? o->mcpu : d->kind->arch ? d->cpu : NULL;
  if (d->kind->arch)
    return target_on(p->w.arena, p->w.diags, arch, cpu, d->description, &d->limits);
  const Target *t = target_find(p->w.arena, p->w.diags, arch, cpu);
  return t && !target_info(t)->simt ? target_compiled_late(p->w.arena, t) : t;
}

/* The arguments of the guarded function that finds a build. */
typedef struct BuildArgs {
  StcProgram *p;
  const Device *d;
  bool plain;
  int n;
  const char *const *defines;
  Build *out;
} BuildArgs;

/* The program's build for the device and a grid of about the size that results from the params; makes it if it does not
 * exist. It lives in the program's memory. */
static StcStatus find_build(void *arg) {
  BuildArgs *a = arg;
  StcProgram *p = a->p;
  int64_t size[MAX_RANK];
  const Target *t = NULL;
  for (const Build *b = p->builds; b && !t; b = b->next)
    if (strcmp(b->device, a->d->name) == 0)
      t = b->code.target;
  if (!t)
    t = choose_target(p, a->d);
  if (!t)
    return STC_USAGE;
  Arena *arena = a->d->w->arena;
  ArenaMark start = arena_mark(arena);
  Extra extra = a->plain ? EXTRA_NONE : program_extra(p, arena, target_info(t), a->n, a->defines);
  program_size(p, arena, target_info(t), extra_pads(extra), a->n, a->defines, size);
  arena_release(arena, start);
  for (a->out = p->builds; a->out; a->out = a->out->next)
    if (strcmp(a->out->device, a->d->name) == 0 && memcmp(a->out->grid, size, sizeof size) == 0 &&
        a->out->extra == extra && a->out->every == p->schedule.every && a->out->known == p->known)
      return STC_OK;
  Build *b = ARENA_NEW(p->w.arena, Build);
  pthread_mutex_init(&b->lock, NULL);
  p->schedule.told = true;
  StcStatus s =
      program_compile(p, &p->w, t, size, extra, program_known(p, p->w.arena, extra, a->n, a->defines), &b->code);
  if (s)
    return s;
  memcpy(b->grid, size, sizeof size);
  b->extra = extra;
  b->known = p->known;
  b->every = p->schedule.every;
  b->device = arena_strdup(p->w.arena, a->d->name);
  b->next = p->builds;
  p->builds = a->out = b;
  return STC_OK;
}

StcStatus program_build(StcProgram *p, const Device *d, bool plain, int n, const char *const *defines, Build **out) {
  Device facts = *d;
  facts.w = &p->w;
  BuildArgs args = {p, &facts, plain, n, defines, NULL};
  StcStatus s = workspace_guard(&p->w, find_build, &args);
  *out = s ? NULL : args.out;
  return s;
}

/* Marks the kernels that `seq` launches under the scalars; NULL: the scalars are not known, and no kernel is replaced
 * by another. */
static void note_wanted(const Module *m, const HostSeq *seq, const Const *scalars, bool *wanted) {
  for (int i = 0; i < seq->nops; i++) {
    int k = seq->ops[i].kind != HOST_LAUNCH ? -1 : scalars ? kernel_chosen(m, seq->ops[i].a, scalars) : seq->ops[i].a;
    if (k >= 0)
      wanted[k] = true;
  }
}

/* Lets the device prepare the kernels that are `wanted`. */
static StcStatus need(StcPlan *p, const bool *wanted) {
  double start = clock_seconds();
  StcStatus s = p->device.kind->need(&p->device, wanted);
  p->compile_seconds += clock_seconds() - start;
  return s;
}

StcStatus plan_need_kernels(StcPlan *p, const Const *scalars) {
  if (!p->build || !p->device.kind->need || p->facade)
    return STC_OK;
  const Module *m = p->build->code.module;
  bool *wanted = ARENA_ARRAY(p->w.arena, bool, m->nkernels + 1);
  const HostSeq *q;
  for (int i = 0; (q = host_part(m, i)); i++)
    note_wanted(m, q, scalars, wanted);
  return need(p, wanted);
}

StcStatus plan_need_sequences(StcPlan *p, const bool *sequences) {
  const Module *m = p->build->code.module;
  const Host *h = &m->host;
  bool wanted[m->nkernels + 1];
  const HostSeq *q;
  memset(wanted, 0, sizeof wanted);
  for (int i = 0; (q = host_part(m, i)); i++)
    if (!(q >= h->seqs && q < h->seqs + h->nseqs) || sequences[q - h->seqs])
      note_wanted(m, q, p->scalars, wanted);
  return need(p, wanted);
}

StcStatus plan_make_code(StcPlan *p, bool first, int n, const char *const *defines) {
  StcStatus s = STC_OK;
  double start = clock_seconds();
  p->module = p->program->reference;
  if (p->device.kind != &device_ref) {
    s = program_build(p->program, &p->device, p->memory.dense || p->memory.crowded, n, defines, &p->build);
    p->module = s ? p->module : p->build->code.module;
  }
  if (!s)
    s = p->device.kind->load(&p->device, p->program, p->build);
  if (!s)
    plan_close_late(p);
  p->compile_seconds = clock_seconds() - start + p->program->frontend_seconds;
  return s || first ? s : plan_need_kernels(p, NULL);
}
