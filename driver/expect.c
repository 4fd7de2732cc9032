/* driver/expect.c: what the cost model expects of a plan, to stand beside what was measured. */
#include "driver/explain.h"

#include <string.h>

/* What plan_expect hands to its guarded part. */
typedef struct ExpectArgs { StcPlan *plan; Expected *out; } ExpectArgs;

/* Finds the figures. */
static StcStatus expect_guarded(void *arg) {
  ExpectArgs *a = arg;
  StcPlan *p = a->plan;
  const Build *b = p->build;
  Explanation e = {.arena = p->w.arena, .program = p->program, .target = b->code.target, .kernels = b->code.module, .schedule = b->code.schedule, .scalars = p->scalars, .points = (double)p->points};
  e.card = card_of_device(p->device.description, target_arch(e.target));
  e.info = e.card ? card_info(e.card, target_info(e.target)) : *target_info(e.target);
  e.stencils = program_before_lowering(p->program, &p->w, e.target, b->grid);
  if (!e.stencils) return STC_INPUT;
  explain_kernels(&e);
  *a->out = (Expected){.gpts = e.gpts, .redundancy = e.nlaunches ? e.launches[0].redundancy.cells : 1};
  for (int i = 0; i < e.nkernels; i++)
    if (e.list[i].load.registers > a->out->registers) a->out->registers = e.list[i].load.registers;
  return STC_OK;
}

bool plan_expect(StcPlan *p, Expected *out) {
  ExpectArgs args = {p, out};
  *out = (Expected){0};
  bool can = p->build && p->program->kind != SOURCE_KIR && !p->program->options.passes && p->build->code.schedule.family && target_info(p->build->code.target)->simt && p->points > 0;
  return can && workspace_guard(&p->w, expect_guarded, &args) == STC_OK;
}
