/* driver/instance/plan-rounds.c: what runs report about the repeats within their steps: the number of rounds, and
 * whether an `until` ended them; after the outermost repeat, the values of the reductions within. */
#include "driver/instance/instance.h"
#include "driver/program/program.h"

void plan_start_rounds(StcPlan *p) {
  const Module *m = p->program->reference;
  p->run.rounds = ARENA_ARRAY(p->w.arena, Rounds, m->nrepeats + 1);
  p->run.evaluated_in = ARENA_ARRAY(p->w.arena, bool, p->module->nscalars + 1);
  for (int i = 0; i <= m->nrepeats; i++)
    p->run.rounds[i] = (Rounds){.step = -1};
  for (int i = 0; i < p->module->nscalars; i++)
    p->run.evaluated_in[i] = false;
}

/* Reports `value` under number `name` of StcProgram.logged. */
static void tell(StcPlan *p, int name, int64_t step, int64_t value) {
  StcReduction out = {p->program->logged[name], STC_I64, step, 0, value, 0, 0};
  p->observers.series(p->observers.series_user, &out);
}

/* Reports the values of the repeats' reductions that were evaluated in the step. */
static void tell_values(StcPlan *p, int64_t step) {
  for (int i = 0; i < p->module->nreductions; i++) {
    const Reduction *r = &p->module->reductions[i];
    Const v = p->scalars[r->scalar];
    bool real = r->type == TY_F64;
    StcReduction out = {r->name, real ? STC_F64 : STC_I64, step, real ? v.f : 0, real ? 0 : v.i, 0, 0};
    if (r->loop && p->run.evaluated_in[r->scalar])
      p->observers.series(p->observers.series_user, &out);
    p->run.evaluated_in[r->scalar] = false;
  }
}

/* The number in the program's reference of loop number `i` (on ref, repeat number `i`) of the module that runs; -1: it
 * has none. */
static int repeat_number(const StcPlan *p, int i) {
  return p->build ? module_find_repeat(p->program->reference, p->build->code.module->host.loops[i].name) : i;
}

void plan_take_rounds(void *user, int loop, int64_t step, int64_t rounds, bool ended) {
  StcPlan *p = user;
  int repeat = repeat_number(p, loop);
  if (repeat >= 0)
    plan_note_rounds(p, repeat, step, rounds, ended);
}

void plan_note_rounds(StcPlan *p, int repeat, int64_t step, int64_t rounds, bool ended) {
  const Module *m = p->program->reference;
  Rounds *x = &p->run.rounds[repeat];
  x->made = (x->step == step ? x->made : 0) + rounds;
  x->step = step;
  x->ended = ended;
  if (repeat_around(m, repeat) >= 0 || !p->observers.series)
    return;
  tell_values(p, step + 1);
  for (int i = 0; i < m->nrepeats; i++)
    if (repeat_is_in(m, i, repeat) && p->run.rounds[i].step == step && !repeat_is_fixed(m, i)) {
      tell(p, p->program->module->nreductions + 2 * i, step + 1, p->run.rounds[i].made);
      tell(p, p->program->module->nreductions + 2 * i + 1, step + 1, p->run.rounds[i].ended);
    }
}

StcStatus stc_plan_rounds(StcPlan *p, const char *name, StcRounds *out) {
  StcStatus s = plan_join(p);
  int i = s ? -1 : module_find_repeat(p->program->reference, name);
  *out = (StcRounds){.step = -1};
  if (!s && i < 0)
    context_error(p->w.context, "the program has no repeat %s", name);
  if (i < 0)
    return s ? s : STC_USAGE;
  const Module *m = p->program->reference;
  if (repeat_is_fixed(m, i))
    *out = (StcRounds){p->run.done - 1, p->run.done > 0 ? m->repeats[i].most.c : 0, false};
  else
    *out = (StcRounds){p->run.rounds[i].step, p->run.rounds[i].made, p->run.rounds[i].ended};
  return STC_OK;
}

const char *stc_program_repeat(const StcProgram *p, int n) {
  return n >= 0 && n < p->reference->nrepeats ? p->reference->repeats[n].name : NULL;
}
