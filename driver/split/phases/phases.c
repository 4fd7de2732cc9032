/* driver/split/phases/phases.c: the phases of a plan's step: their programs, and for each part a plan of each. */
#include "driver/split/phases/phases.h"

#include <stdlib.h>

bool phases_are_needed(const StcPlan *p) {
  const Module *m = p->program->reference;
  return module_has_stages(m) || module_state(m) || module_scaled(m);
}

/* Do stencils of the phase read other points along the dimensions that are cut? Those of coarser levels do if they
 * restrict. */
static void look_around(const Module *m, const bool *coarse, Phase *x) {
  for (int i = 0; i < m->nstencils; i++) {
    const Stencil *st = &m->stencils[i];
    if (st->stage < x->stages.first || st->stage > x->stages.last)
      continue;
    x->restricts = x->restricts || (!m->members && stencil_restricts(st, coarse));
    for (int k = 0; k < st->npieces && !coarse[st->targets[0]]; k++)
      x->around = x->around || body_looks_around(m, &st->pieces[k].box, st->pieces[k].body);
  }
  x->around = x->around || x->restricts;
}

/* Are the stencils of the stage the same in each step, whatever its number? Fields that get new frames depend on that
 * number: runs are divided there, and rounds that are steps of a plan would be, too. */
static bool stage_is_steady(const Module *m, int32_t stage) {
  bool steady = module_steps_to_frames(m, 0, INT64_MAX) == INT64_MAX;
  for (int i = 0; i < m->nstencils; i++)
    for (int k = 0; k < m->stencils[i].npieces && m->stencils[i].stage == stage; k++) {
      steady = steady && !m->stencils[i].every;
      for (const Op *op = m->stencils[i].pieces[k].body->first; op; op = op->next)
        steady = steady && op->code != OP_STEP;
    }
  return steady;
}

/* The repeat whose rounds consist of phase number `i` of the list only; -1: there is none. There is none for a stage
 * that restricts, because an exchange follows each of its rounds. */
static int repeat_alone(const Phases *x, int i) {
  const Module *m = x->m;
  StageRange stages = x->list[i].stages;
  int r = stages.first == stages.last ? repeat_of(m, stages.first) : -1;
  bool alone = r >= 0 && !x->list[i].restricts && stage_is_steady(m, stages.first);
  for (int k = 0; k < x->n && alone; k++)
    alone = k == i || x->list[k].stages.last < m->repeats[r].first || x->list[k].stages.first > m->repeats[r].last;
  for (int k = 0; k < m->nupdates && alone; k++)
    alone = m->updates[k].stage < m->repeats[r].first || m->updates[k].stage > m->repeats[r].last;
  for (int k = 0; k < m->nrepeats && alone; k++)
    alone = k == r || !repeat_is_in(m, k, r);
  return alone ? r : -1;
}

/* A number such that between any two evaluations repeat `r` makes a multiple of that many rounds; r = -1: there is no
 * repeat, 0. */
static int64_t rounds_between(const Module *m, int r) {
  int64_t every = 0;
  for (int i = 0; i < m->nreductions && r >= 0; i++)
    if (m->reductions[i].loop == r + 1 && (!every || m->reductions[i].every < every))
      every = m->reductions[i].every;
  return r < 0 ? 0 : every ? every : INT32_MAX;
}

/* The steps of one launch of phase `k` on part `i`. */
static int64_t phase_steps(const StcPlan *p, int k, int i) {
  const Split *split = p->split;
  const StcPlan *q = k ? split->phases->list[k].plan[i - split->begin] : split->part[i].plan;
  return q->build && q->build->code.module->host.nseqs ? q->build->code.module->host.seqs[0].steps : 1;
}

int64_t phases_steps(const StcPlan *p) {
  int64_t most = 1;
  for (int k = 0; k < p->split->phases->n; k++) {
    int64_t steps = p->split->phases->list[k].repeat < 0 ? 1 : phase_steps(p, k, p->split->begin);
    most = steps > most ? steps : most;
  }
  return most;
}

/* Lists the phases of the step. */
static void list_phases(StcPlan *p, Phases *x) {
  bool *coarse = ARENA_ARRAY(p->w.arena, bool, x->m->nfields + 1);
  StageRange *stages;
  module_mark_coarse(x->m, coarse);
  x->n = stages_list(x->m, coarse, p->w.arena, &stages);
  x->list = ARENA_ARRAY(p->w.arena, Phase, x->n + 1);
  for (int i = 0; i < x->n; i++) {
    x->list[i].stages = stages[i];
    look_around(x->m, coarse, &x->list[i]);
  }
  for (int i = 0; i < x->n; i++)
    x->list[i].repeat = repeat_alone(x, i);
}

StcStatus phases_make(StcPlan *p, const char *cut, bool lean, StcProgram **first) {
  Phases *x = ARENA_NEW(p->w.arena, Phases);
  StcStatus s = STC_OK;
  int n = 0;
  *x = (Phases){.m = module_stage_levels(p->program->reference, p->w.arena)};
  x->values = ARENA_ARRAY(p->w.arena, void *, x->m->nparam_arrays + 1);
  list_phases(p, x);
  for (int i = 0; i < x->n && !s; i++) {
    Phase *phase = &x->list[n];
    *phase = x->list[i];
    s = program_stage(p->program, cut, phase->stages.first, phase->stages.last, rounds_between(x->m, phase->repeat),
                      lean, &phase->program);
    if (!s && (phase->program->module->nstencils || (i + 1 == x->n && !n)))
      n++;
    else if (!s)
      stc_program_free(phase->program);
  }
  x->n = n;
  *first = s ? NULL : x->list[0].program;
  for (int i = 0; i < n && s; i++)
    stc_program_free(x->list[i].program);
  p->split->phases = s ? NULL : x;
  if (!s)
    phases_make_states(p, x);
  return s;
}

/* The bytes to allocate for slot `slot` of the plan. For a field without points in the part, they are computed as if no
 * dimension were empty, as for the part's own plan (add_field_slot of instance.c). */
static size_t least_bytes(const StcPlan *q, int slot) {
  const Module *m = q->module, *k = q->build ? q->build->code.module : NULL;
  size_t most = q->memory.slots[slot].size;
  for (int b = 0; k && !q->device.kind->whole && b < k->nbuffers; b++) {
    int64_t shape[MAX_RANK] = {1, 1, 1, 1};
    const Field *f = k->buffers[b].kind == BUFFER_FIELD ? &m->fields[k->buffers[b].field] : NULL;
    if (!f || q->memory.of_buffer[b] != slot || most)
      continue;
    most = (size_t)type_bytes(m, f->type);
    field_layout(f, q->scalars, shape);
    for (int d = 0; d < f->box.rank; d++)
      most *= shape[d] > 0 ? (size_t)shape[d] : 1;
  }
  return most;
}

/* Allocates the memory that belongs to the plan itself: not that of present fields, nor of launch-time arrays. */
static StcStatus take_memory(StcPlan *q) {
  StcStatus s = STC_OK;
  for (int f = 0; f < q->module->nfields; f++)
    if (field_slot(q, f) && !q->module->fields[f].temp)
      field_slot(q, f)->foreign = true;
  for (int i = 0; i < q->module->nparam_arrays; i++)
    if (array_slot(q, i))
      array_slot(q, i)->foreign = true;
  for (int i = 0; i < q->memory.nslots && !s; i++)
    if (!q->memory.slots[i].foreign)
      s = device_alloc(&q->device, "fields of a stage of the step", least_bytes(q, i) + 64, 0,
                       &q->memory.slots[i].memory);
  return s;
}

/* Finds the fields of the phase in the parts' module. */
static void find_fields(StcPlan *p, Phase *x, const StcPlan *q) {
  const Module *part = p->split->part[p->split->begin].plan->module;
  x->of_field = ARENA_ARRAY(p->w.arena, int32_t, q->module->nfields + 1);
  for (int f = 0; f < q->module->nfields; f++)
    x->of_field[f] = q->module->fields[f].temp ? -1 : module_find_field(part, q->module->fields[f].name);
}

/* Sets `lead` of all fields to 0, because all plans of a part must have the same. */
static void drop_leads(StcPlan *q) {
  Module *m = q->build ? q->build->code.module : NULL;
  for (int b = 0; m && b < m->nbuffers; b++)
    m->buffers[b].lead = 0;
}

StcStatus phases_prepare(StcPlan *p, int i, const char *device, int n, const char *const *defines) {
  Split *split = p->split;
  Phases *x = split->phases;
  StcStatus s = STC_OK;
  if (!x)
    return s;
  drop_leads(split->part[i].plan);
  for (int k = 1; k < x->n && !s; k++) {
    Phase *phase = &x->list[k];
    if (!phase->plan)
      phase->plan = ARENA_ARRAY(p->w.arena, StcPlan *, split->end - split->begin + 1);
    s = plan_prepare(phase->program, device, n, defines, &phase->plan[i - split->begin]);
    if (!s)
      drop_leads(phase->plan[i - split->begin]);
  }
  return s;
}

StcStatus phases_add_part(StcPlan *p, int i, int n, const char *const *defines) {
  Split *split = p->split;
  Phases *x = split->phases;
  StcStatus s = STC_OK;
  for (int k = 1; x && k < x->n && !s; k++) {
    Phase *phase = &x->list[k];
    StcPlan *q = phase->plan[i - split->begin];
    if (!phase->windows)
      phase->windows = ARENA_ARRAY(p->w.arena, Windows *, split->end - split->begin + 1);
    q->facade = q->run.replay.impossible = true;
    s = plan_reset(q, n, defines);
    if (!s)
      s = take_memory(q);
    if (!s && !phase->of_field)
      find_fields(p, phase, q);
    q->run.inits_done = q->run.evaluated = true;
  }
  return s;
}

/* Frees a phase's plan, except the memory of its present fields, which belongs to the part. */
static void free_plan(StcPlan *q) {
  for (int i = 0; q && i < q->memory.nslots; i++)
    q->memory.slots[i].foreign = false;
  for (int f = 0; q && f < q->module->nfields; f++)
    if (q->memory.of_field && field_slot(q, f) && !q->module->fields[f].temp)
      field_slot(q, f)->foreign = true;
  for (int i = 0; q && i < q->module->nparam_arrays; i++)
    if (q->memory.of_array && array_slot(q, i))
      array_slot(q, i)->foreign = true;
  stc_plan_free(q);
}

void phases_close(StcPlan *p) {
  Split *split = p->split;
  Phases *x = split->phases;
  for (int k = 1; x && k < x->n; k++) {
    for (int i = split->begin; i < split->end && x->list[k].plan; i++)
      free_plan(x->list[k].plan[i - split->begin]);
    stc_program_free(x->list[k].program);
  }
  for (int i = 0; x && i < x->m->nparam_arrays; i++)
    free(x->values[i]);
  split->phases = NULL;
}
