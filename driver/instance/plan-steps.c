/* driver/instance/plan-steps.c: dependences on the numbers of steps: continuing from a step after 0, and launch-time
 * arrays with an element for each step. */
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <string.h>

/* The state of a search in the bodies of a module: uses of `step`, or of the value of scalar `scalar` (-1: of none). */
typedef struct StepUse {
  int scalar;
  bool step, found;
} StepUse;

/* Records what `op` uses (a block_walk callback). */
static void note_use(void *user, Op *op) {
  StepUse *u = user;
  u->step |= op->code == OP_STEP;
  u->found |= op->code == OP_SCALAR && op->sym == u->scalar;
}

/* Records the uses in the steps of `m`: in bodies of stencils and reductions, or in kernels. */
static void note_uses(const Module *m, StepUse *u) {
  Bodies bodies = bodies_of(m, CODE_STENCILS | CODE_REDUCTIONS | CODE_KERNELS);
  for (Block *b; (b = bodies_next(&bodies));)
    block_walk(b, note_use, u);
}

bool program_counts_steps(const StcProgram *p, const char **what) {
  const Module *m = p->module;
  StepUse u = {.scalar = -1};
  note_uses(m, &u);
  *what = u.step ? "step" : NULL;
  for (int i = 0; i < m->nstencils && !*what; i++)
    if (m->stencils[i].every > 1)
      *what = "every";
  for (int i = 0; i < m->nreductions && !*what; i++)
    if (m->reductions[i].every > 1)
      *what = "every";
  if (!*what && module_steps_to_frames(m, 0, INT64_MAX) < INT64_MAX)
    *what = "frames";
  return *what != NULL;
}

/* Is reduction `r` of a repeat evaluated in each step before the stages after the repeat? It is if the repeat makes at
 * least `every` rounds, which an `until` must not end earlier. */
static bool is_evaluated(const Module *m, const Reduction *r) {
  const Repeat *loop = &m->repeats[r->loop - 1];
  bool sure = !loop->most.n && loop->most.c >= r->every;
  for (int i = 0; i < m->nreductions; i++)
    sure = sure && (m->reductions[i].loop != r->loop || !m->reductions[i].stop || m->reductions[i].every >= r->every);
  for (int i = repeat_around(m, r->loop - 1); i >= 0; i = repeat_around(m, i))
    sure = sure && !m->repeats[i].most.n && m->repeats[i].most.c > 0;
  return sure;
}

/* The last stage of a step that may run before reduction `r` is evaluated in this step. INT32_MAX: any may. */
static int32_t last_stage_before(const Module *m, const Reduction *r) {
  if (!r->loop)
    return INT32_MAX;
  return is_evaluated(m, r) ? m->repeats[r->loop - 1].last : INT32_MAX;
}

/* Does a step of `m` use the value of reduction `r`, before it is evaluated in this step if it belongs to a repeat? */
static bool uses_earlier_value(const Module *m, const Reduction *r) {
  int32_t last = last_stage_before(m, r);
  StepUse u = {.scalar = r->scalar};
  for (int i = 0; i < m->nstencils; i++)
    for (int k = 0; k < m->stencils[i].npieces && m->stencils[i].stage <= last; k++)
      block_walk(m->stencils[i].pieces[k].body, note_use, &u);
  for (int i = 0; i < m->nupdates; i++) /* an update runs before the stencils of its stage */
    if (m->updates[i].stage <= last)
      block_walk(m->updates[i].body, note_use, &u);
  Bodies rest = bodies_of(m, CODE_REDUCTIONS | CODE_PROBES | CODE_KERNELS);
  for (Block *b; (b = bodies_next(&rest));)
    block_walk(b, note_use, &u);
  return u.found;
}

/* Checks that the values of reductions that steps use are available after `step` steps. */
static StcStatus check_reductions(StcPlan *p, int64_t step) {
  const Module *m = p->program->module;
  for (int i = 0; i < m->nreductions; i++) {
    const Reduction *r = &m->reductions[i];
    bool known = r->loop ? step == 0 : step % r->every == 0;
    if (known || !uses_earlier_value(m, r))
      continue;
    if (r->loop)
      return diag_error(p->w.diags, r->loc,
                        "a run cannot begin at step %lld: steps use the value of %s before repeat %s evaluates it, so "
                        "they need the value of the step before; go on from a checkpoint of stc run, which has it",
                        (long long)step, r->name, m->repeats[r->loop - 1].name),
             STC_USAGE;
    return diag_error(p->w.diags, r->loc,
                      "the first step %lld is between two evaluations of %s, whose value the steps use: go on from a "
                      "multiple of %lld",
                      (long long)step, r->name, (long long)r->every),
           STC_USAGE;
  }
  return STC_OK;
}

/* The arguments of stc_plan_first_step's guarded function. */
typedef struct FirstStep {
  StcPlan *p;
  int64_t step;
} FirstStep;

/* Sets the number of the first step. */
static StcStatus first_step_guarded(void *arg) {
  FirstStep *f = arg;
  StcPlan *p = f->p;
  if (p->run.inits_done || f->step < 0)
    return diag_error(p->w.diags, no_loc(), "%s",
                      f->step < 0 ? "the number of the first step cannot be negative"
                                  : "the number of the first step must be said before the first run"),
           STC_USAGE;
  StcStatus s = check_reductions(p, f->step);
  if (!s) {
    p->run.first = p->run.done = f->step;
    p->lists.unseen = f->step ? f->step + 1 : 0;
  }
  return s;
}

StcStatus stc_plan_first_step(StcPlan *p, int64_t step) {
  FirstStep args = {p, step};
  StcStatus s = plan_join(p);
  return s ? s : workspace_guard(&p->w, first_step_guarded, &args);
}

bool stc_plan_param(const StcPlan *p, int n, StcReduction *out) {
  for (int i = 0; i < p->module->nscalars; i++) {
    const Scalar *x = &p->module->scalars[i];
    if (!x->is_param || n-- > 0)
      continue;
    bool real = type_is_float(x->type);
    *out = (StcReduction){x->name,
                          real                 ? (StcType)x->type
                          : x->type == TY_BOOL ? STC_BOOL
                                               : STC_I64,
                          p->run.done,
                          real ? p->scalars[i].f : 0,
                          real ? 0 : p->scalars[i].i,
                          0,
                          0};
    return true;
  }
  *out = (StcReduction){.step = p->run.done};
  return false;
}

double stc_plan_spacing(const StcPlan *p, int dimension) {
  bool there = dimension >= 0 && dimension < p->module->grid.rank && p->module->metric.spacing[dimension];
  return there ? p->scalars[p->module->metric.spacing[dimension] - 1].f : 0;
}

double stc_plan_time_step(const StcPlan *p) {
  return p->module->metric.step ? p->scalars[p->module->metric.step - 1].f : 0;
}

/* Arrays indexed by `step`, in a plan that will make its steps up to number `last`; told: those for which a warning was
 * given; any: there is such an array. */
typedef struct StepArrays {
  StcPlan *p;
  int64_t last;
  bool *told, any;
} StepArrays;

/* If `v` is `step` plus a constant, sets *c to the constant and returns true. */
static bool is_step(const Value *v, int64_t *c) {
  const Op *op = v->def;
  *c = 0;
  if (op && op->code == OP_STEP)
    return true;
  for (int i = 0; op && i < 2 && (op->code == OP_ADD || (op->code == OP_SUB && i == 0)); i++) {
    const Op *a = op->operands[i]->def, *b = op->operands[1 - i]->def;
    if (!a || !b || a->code != OP_STEP || b->code != OP_CONST)
      continue;
    *c = op->code == OP_ADD ? b->cval.i : -b->cval.i;
    return true;
  }
  return false;
}

/* May a select discard the result of `op`? */
static bool is_selected(const Op *op) {
  for (const Op *user = op->next; user; user = user->next)
    for (int i = 1; user->code == OP_SELECT && i < 3; i++)
      if (user->operands[i] == op->results[0])
        return true;
  return false;
}

/* Warns of an element that the array does not have in the last step (a block_walk callback). */
static void note_element(void *user, Op *op) {
  StepArrays *a = user;
  int64_t c;
  if (op->code != OP_ELEMENT || !is_step(op->operands[0], &c) || is_selected(op))
    return;
  a->any = true;
  if (a->told[op->sym])
    return;
  const ParamArray *array = &a->p->program->module->param_arrays[op->sym];
  int64_t n = param_array_extent(array, a->p->scalars);
  if (n < 1 || a->last < n - c)
    return;
  a->told[op->sym] = true;
  diag_warning(
      a->p->w.diags, array->loc,
      "array %s has %lld elements, but the last step takes number %lld, and gets the array's last: give it more "
      "or make fewer steps",
      array->name, (long long)n, (long long)(a->last + c));
}

void plan_warned(StcPlan *p) {
  p->bound.array_warned = ARENA_ARRAY(p->w.arena, bool, p->program->module->nparam_arrays + 1);
  memset(p->bound.array_warned, 1, (size_t)p->program->module->nparam_arrays);
}

void plan_check_steps(StcPlan *p, int64_t steps) {
  const Module *m = p->program->module;
  if (steps < 1 || m->nparam_arrays == 0 || m->level != LEVEL_SIR || p->bound.no_step_arrays)
    return;
  if (!p->bound.array_warned)
    p->bound.array_warned = ARENA_ARRAY(p->w.arena, bool, m->nparam_arrays);
  int64_t last = p->run.done + steps - 1;
  StepArrays a = {p, last, p->bound.array_warned, false};
  for (int i = 0; i < m->nstencils; i++) {
    a.last = m->stencils[i].every ? last - last % m->stencils[i].every : last;
    for (int k = 0; k < m->stencils[i].npieces; k++)
      block_walk(m->stencils[i].pieces[k].body, note_element, &a);
  }
  a.last = last;
  Bodies bodies = bodies_of(m, CODE_REDUCTIONS);
  for (Block *b; (b = bodies_next(&bodies));)
    block_walk(b, note_element, &a);
  p->bound.no_step_arrays = !a.any;
}
