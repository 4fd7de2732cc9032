/* driver/explain/expect.c: the cost model's prediction for a build, for comparison with measurements and for
 * choices. */
#include "driver/explain/explain.h"

#include <string.h>

/* The arguments of the guarded functions of the functions below. Their memory is that of `w`. */
typedef struct ExpectArgs {
  StcProgram *program;
  Workspace *w;
  const Build *build;
  const char *description;
  Const *scalars;
  double points;
  Expected *out;
} ExpectArgs;

/* If kernel `x` has more registers than those before, records its occupancy on a core of `t`. */
static void note_room(const TargetInfo *t, const ExplainedKernel *x, Expected *out) {
  const LaunchLoad *l = &x->load;
  int32_t most = t->most_registers > 0 ? t->most_registers : MOST_REGISTERS;
  if (l->spilled > out->spilled)
    out->spilled = l->spilled;
  if (l->registers <= out->registers)
    return;
  out->registers = out->most_registers = l->registers;
  out->blocks = x->time.occupancy.blocks;
  while (out->most_registers < most &&
         model_occupancy(t, l->work.threads, out->most_registers + 1, l->shared).blocks >= out->blocks)
    out->most_registers++;
}

/* Records what bounds the longest of the launches, if the prediction is their sum; that for warp pipelines is a time
 * for each point. */
static void note_bound(const Explanation *e, Expected *out) {
  const LaunchTime *longest = NULL;
  for (int i = 0; i < e->nkernels; i++)
    if (!e->list[i].beside && (!longest || e->list[i].time.seconds > longest->seconds))
      longest = &e->list[i].time;
  if (!longest || longest->seconds <= 0 || e->schedule.family == FAMILY_WARPS)
    return;
  double alone = longest->alone[longest->bound];
  bool launching = longest->launch > alone;
  out->bound = launching ? "beginning its launches" : bound_name(longest->bound);
  out->share = (launching ? longest->launch : alone) / longest->seconds;
}

/* Computes the figures. */
static StcStatus expect_guarded(void *arg) {
  ExpectArgs *a = arg;
  const Build *b = a->build;
  Explanation e = {.arena = a->w->arena,
                   .program = a->program,
                   .target = b->code.target,
                   .kernels = b->code.module,
                   .schedule = b->code.schedule,
                   .scalars = a->scalars,
                   .points = a->points};
  e.card = card_of_device(a->description, target_arch(e.target));
  e.info = e.card ? card_info(e.card, target_info(e.target)) : *target_info(e.target);
  e.stencils = program_before_lowering(a->program, a->w, e.target, &b->code.schedule);
  if (!e.stencils)
    return STC_INPUT;
  explain_kernels(&e);
  *a->out = (Expected){.gpts = e.gpts, .redundancy = e.nlaunches ? e.launches[0].redundancy.cells : 1};
  for (int i = 0; i < e.nkernels; i++)
    note_room(&e.info, &e.list[i], a->out);
  note_bound(&e, a->out);
  return STC_OK;
}

/* Does the model cover the build? */
static bool can_expect(const StcProgram *p, const Build *b) {
  return b && p->kind != SOURCE_KIR && !p->options.passes && b->code.schedule.family &&
         target_info(b->code.target)->simt;
}

bool plan_expect(StcPlan *p, Expected *out) {
  ExpectArgs args = {p->program, &p->w, p->build, p->device.description, p->scalars, (double)p->points, out};
  *out = (Expected){0};
  return can_expect(p->program, p->build) && p->points > 0 && workspace_guard(&p->w, expect_guarded, &args) == STC_OK;
}

/* The arguments of build_expect's guarded function. */
typedef struct BindArgs {
  ExpectArgs expect;
  int n;
  const char *const *defines;
} BindArgs;

/* Binds the params, and computes the figures. */
static StcStatus bind_guarded(void *arg) {
  BindArgs *a = arg;
  ExpectArgs *x = &a->expect;
  const Module *m = x->build->code.module;
  Field whole = {.name = "grid", .box = m->grid};
  int64_t extents[MAX_RANK];
  x->scalars = program_bind(x->program, m, x->w->arena, x->w->diags, a->n, a->defines);
  x->points = x->scalars ? (double)field_shape(&whole, x->scalars, extents) : 0;
  return x->points > 0 ? expect_guarded(x) : STC_INPUT;
}

bool build_expect(StcProgram *p, const Build *b, const Device *d, int n, const char *const *defines, Expected *out) {
  BindArgs args = {{p, &p->w, b, d->description, NULL, 0, out}, n, defines};
  *out = (Expected){0};
  return can_expect(p, b) && workspace_guard(&p->w, bind_guarded, &args) == STC_OK;
}
