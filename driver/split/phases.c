/* phases.c: steps with updates, repeats and levels over parts. Each stage of the step has a program of its own for a
 * part (passes/stencil/distribute-stages.c), here a phase, whose plan works on the fields of the part's plan; that one
 * is of the first phase. Between phases rank 0 combines what updates and reductions reduce (evaluate.c), so that all
 * take the same values and the same branch; updates that look at no field each rank computes by itself, by the
 * reference. Ghost cells are exchanged before a phase that looks at other points once they are too old for it, and
 * behind one that computes a coarser level of the grid from the finest: all parts have all of those. */
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* The stencils of one stage, or of several that compute coarser levels alone (last > stage: up to that one), with the
 * repeats among them. of_field: by field of its plans' module the number in the parts' module, -1: none.
 * around: they look at other points than their own, so that ghost cells are right no further out behind them.
 * restricts: they compute, of a coarser level, the points that stand for the part's own, so that an exchange follows.
 * repeat: the number of the repeat whose rounds have these stencils and nothing else, and which may be made several at
 * a time; -1: none. */
typedef struct Phase {
  int32_t stage, last, repeat;
  bool around, restricts;
  StcProgram *program;
  StcPlan **plan;    /* by part of this rank */
  Windows **windows; /* likewise */
  int32_t *of_field;
} Phase;

/* All of a step. list[0] is that of the parts' own plans. values: by launch-time array of the reference its elements,
 * for updates, NULL: none reads it, or it is a scalar that is kept. changed: such scalars are to be given to the parts.
 * level: exchanges so far, for the simulator. states: memory of p->run.states, nstates numbers. */
struct Phases {
  const Module *m;
  int n;
  Const *states;
  int64_t nstates;
  Phase *list;
  void **values;
  bool changed;
  int64_t level;
};

/* ---------------------------------------------------------------- making them */

bool phases_are_needed(const StcPlan *p) {
  const Module *m = p->program->reference;
  return module_has_stages(m) || module_state(m) || module_scaled(m);
}

int64_t split_level(const StcPlan *p) {
  const Split *s = p->split;
  return s->phases ? s->phases->level : p->run.done - s->age;
}

void phases_exchange(StcPlan *p) { p->split->phases->level++; }

/* Adds stage `stage` to the list, unless it is there; in order. */
static void add_stage(StcPlan *p, Phases *x, int32_t stage) {
  Phase phase = {.stage = stage, .last = stage};
  int at = x->n;
  for (int i = 0; i < x->n; i++)
    if (x->list[i].stage == stage)
      return;
  ARENA_PUSH(p->w.arena, x->list, x->n, phase);
  for (; at > 0 && x->list[at - 1].stage > stage; at--)
    x->list[at] = x->list[at - 1];
  x->list[at] = phase;
}

/* All stages that may have stencils: those that have, and where pass history rotates time levels. */
static void list_stages(StcPlan *p, Phases *x) {
  const Module *m = x->m;
  bool past = false;
  for (int f = 0; f < m->nfields; f++)
    past = past || m->fields[f].history;
  for (int i = 0; i < m->nstencils; i++)
    add_stage(p, x, m->stencils[i].stage);
  for (int i = 0; i < m->nrepeats && past; i++)
    add_stage(p, x, m->repeats[i].first - 1);
  if (past || !x->n)
    add_stage(p, x, module_last_stage(m));
}

/* Do stencils of the stage look at other points of what is cut? Those of coarser levels do where they restrict. */
static void look_around(const Module *m, const bool *coarse, Phase *x) {
  for (int i = 0; i < m->nstencils; i++) {
    const Stencil *st = &m->stencils[i];
    if (st->stage != x->stage)
      continue;
    x->restricts = x->restricts || (!m->members && stencil_restricts(st, coarse));
    for (int k = 0; k < st->npieces && !coarse[st->targets[0]]; k++)
      x->around = x->around || body_looks_around(m, &st->pieces[k].box, st->pieces[k].body);
  }
  x->around = x->around || x->restricts;
}

/* Are the stencils of the stage the same in each step, whatever its number? Fields get their next frames by it: runs
 * are cut there, and rounds that are steps of a plan would be, too. */
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

/* The repeat whose rounds are phase number `i` of the list alone, -1: there is none. A stage that restricts has none:
 * an exchange comes behind each of its rounds. */
static int repeat_alone(const Phases *x, int i) {
  const Module *m = x->m;
  int r = repeat_of(m, x->list[i].stage);
  bool alone = r >= 0 && !x->list[i].restricts && stage_is_steady(m, x->list[i].stage);
  for (int k = 0; k < x->n && alone; k++)
    alone = k == i || x->list[k].stage < m->repeats[r].first || x->list[k].stage > m->repeats[r].last;
  for (int k = 0; k < m->nupdates && alone; k++)
    alone = m->updates[k].stage < m->repeats[r].first || m->updates[k].stage > m->repeats[r].last;
  for (int k = 0; k < m->nrepeats && alone; k++)
    alone = k == r || !repeat_is_in(m, k, r);
  return alone ? r : -1;
}

/* Are the stencils of the phase, one at least, all of coarser levels, and none of them restricts? */
static bool is_coarse(const Module *m, const bool *coarse, const Phase *x) {
  bool any = false, all = !x->restricts;
  for (int i = 0; i < m->nstencils; i++)
    if (m->stencils[i].stage == x->stage) {
      any = true;
      all = all && coarse[m->stencils[i].targets[0]];
    }
  return any && all;
}

/* How many phases of the list from number `from` to `to` are in repeat `r`? */
static int phases_in(const Phases *x, int r, int from, int to) {
  const Repeat *repeat = &x->m->repeats[r];
  int n = 0;
  for (int i = from; i <= to; i++)
    n += repeat->first <= x->list[i].stage && x->list[i].stage <= repeat->last;
  return n;
}

/* Does an update stand in repeat `r`, or a reduction belong to its rounds? */
static bool is_looked_at(const Module *m, int r) {
  bool any = false;
  for (int i = 0; i < m->nupdates; i++)
    any = any || (m->repeats[r].first <= m->updates[i].stage && m->updates[i].stage <= m->repeats[r].last);
  for (int i = 0; i < m->nreductions; i++)
    any = any || m->reductions[i].loop == r + 1;
  return any;
}

/* Is repeat `r` among the stages of the phase, where these are several? Its program makes the rounds then. */
static bool is_among(const Repeat *r, const Phase *x) {
  return x->last > x->stage && r->first >= x->stage && r->last <= x->last;
}

/* Can phases `from` to `to` of the list be one, *out: do repeats have all or none of them, or no other phases and
 * nothing that looks at their rounds, and does no update stand between? */
static bool can_be_one(const Phases *x, int from, int to, Phase *out) {
  const Module *m = x->m;
  bool within[m->nrepeats + 1], can = true;
  *out = x->list[from];
  out->last = x->list[to].stage;
  out->repeat = -1;
  for (int r = 0; r < m->nrepeats; r++) {
    int n = phases_in(x, r, from, to);
    within[r] = n && n == phases_in(x, r, 0, x->n - 1) && !is_looked_at(m, r);
    for (int k = 0; k < r; k++)
      within[r] = within[r] && (within[k] || !repeat_is_in(m, k, r));
    can = can && (within[r] || n == 0 || n == to - from + 1);
    out->stage = within[r] && m->repeats[r].first < out->stage ? m->repeats[r].first : out->stage;
    out->last = within[r] && m->repeats[r].last > out->last ? m->repeats[r].last : out->last;
  }
  for (int r = 0; r < m->nrepeats; r++)
    can = can && is_among(&m->repeats[r], out) == within[r];
  for (int i = 0; i < m->nupdates; i++)
    can = can && (m->updates[i].stage <= out->stage || m->updates[i].stage > out->last);
  return can;
}

/* Makes phases in a row that compute coarser levels alone one, as many as can be: nothing is exchanged between them. */
static void join_phases(StcPlan *p, Phases *x, const bool *coarse) {
  Phase *list = ARENA_ARRAY(p->w.arena, Phase, x->n + 1);
  int n = 0;
  for (int i = 0; i < x->n; n++) {
    Phase phase;
    int most = i;
    list[n] = x->list[i];
    for (int k = i + 1; k < x->n && is_coarse(x->m, coarse, &x->list[i]) && is_coarse(x->m, coarse, &x->list[k]); k++)
      if (can_be_one(x, i, k, &phase)) {
        list[n] = phase;
        most = k;
      }
    i = most + 1;
  }
  x->list = list;
  x->n = n;
}

/* The number of rounds of repeat `r` of which a multiple is made between any two evaluations; r = -1: no repeat, and 0.
 */
static int64_t rounds_between(const Module *m, int r) {
  int64_t every = 0;
  for (int i = 0; i < m->nreductions && r >= 0; i++)
    if (m->reductions[i].loop == r + 1 && (!every || m->reductions[i].every < every))
      every = m->reductions[i].every;
  return r < 0 ? 0 : every ? every : INT32_MAX;
}

/* The steps of the phase, on part `i`, that a launch makes. */
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

/* Makes room for the scalars that are kept. */
static void make_states(StcPlan *p, Phases *x) {
  const Module *m = p->module;
  p->run.states = ARENA_ARRAY(p->w.arena, Const *, m->nparam_arrays + 1);
  for (int i = 0; i < m->nparam_arrays; i++)
    x->nstates += m->param_arrays[i].role == ARRAY_STATE ? param_array_extent(&m->param_arrays[i], p->scalars) : 0;
  x->states = ARENA_ARRAY(p->w.arena, Const, x->nstates + 1);
  for (int64_t i = 0, at = 0; i < m->nparam_arrays; i++) {
    p->run.states[i] = &x->states[at];
    at += m->param_arrays[i].role == ARRAY_STATE ? param_array_extent(&m->param_arrays[i], p->scalars) : 0;
  }
}

StcStatus phases_make(StcPlan *p, const char *cut, bool lean, StcProgram **first) {
  Phases *x = ARENA_NEW(p->w.arena, Phases);
  StcStatus s = STC_OK;
  int n = 0;
  *x = (Phases){.m = module_stage_levels(p->program->reference, p->w.arena)};
  bool *coarse = ARENA_ARRAY(p->w.arena, bool, x->m->nfields + 1);
  module_mark_coarse(x->m, coarse);
  list_stages(p, x);
  x->values = ARENA_ARRAY(p->w.arena, void *, x->m->nparam_arrays + 1);
  for (int i = 0; i < x->n; i++) {
    look_around(x->m, coarse, &x->list[i]);
    x->list[i].repeat = repeat_alone(x, i);
  }
  join_phases(p, x, coarse);
  for (int i = 0; i < x->n && !s; i++) {
    Phase *phase = &x->list[n];
    *phase = x->list[i];
    s = program_stage(p->program, cut, phase->stage, phase->last, rounds_between(x->m, phase->repeat), lean,
                      &phase->program);
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
    make_states(p, x);
  return s;
}

/* The bytes to allocate for slot `slot` of the plan: of a field that has no points in the part as if no dimension were
 * empty, as for the part's own (add_field_slot of instance.c). */
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

/* Memory for what is the plan's own: not the present fields, nor the launch-time arrays. */
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

/* Lets no kernels need memory in front of fields: all plans of a part have the same. */
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

/* Frees a phase's plan: the memory of its present fields is, or was, the part's. */
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

/* ---------------------------------------------------------------- scalars that are kept */

/* Is it one, by its number in the reference? */
static bool is_state(const Phases *x, int array) { return x->m->param_arrays[array].role == ARRAY_STATE; }

/* The number in the plan's module of array `array` of the reference. */
static int array_of(const StcPlan *q, const Phases *x, int array) {
  return module_find_param_array(q->module, x->m->param_arrays[array].name);
}

/* Gives the scalars to `q`. */
static StcStatus put_states(const StcPlan *p, StcPlan *q) {
  const Phases *x = p->split->phases;
  StcStatus s = STC_OK;
  for (int i = 0; i < x->m->nparam_arrays && !s; i++) {
    int from = array_of(p, x, i), to = is_state(x, i) ? array_of(q, x, i) : -1;
    const Slot *slot = to < 0 ? NULL : array_slot(q, to);
    if (slot && slot->memory && from >= 0)
      s = slot_put(q, slot, p->run.states[from]);
    if (to >= 0)
      q->bound.array_given[to] = true;
  }
  return s;
}

/* Gives them to the parts of this rank, if they have changed. */
static StcStatus give_states(StcPlan *p, StcStatus s) {
  Split *split = p->split;
  for (int i = split->begin; i < split->end && !s && split->phases->changed; i++)
    s = put_states(p, split->part[i].plan);
  split->phases->changed = split->phases->changed && s;
  return s;
}

/* Takes the elements of the arrays that updates read from the first part here. */
static StcStatus take_values(StcPlan *p) {
  Phases *x = p->split->phases;
  StcPlan *q = p->split->part[p->split->begin].plan;
  StcStatus s = STC_OK;
  for (int u = 0; u < x->m->nupdates; u++)
    for (const Op *op = x->m->updates[u].body->first; op && !s; op = op->next) {
      int own = op->code == OP_ELEMENT && !is_state(x, op->sym) ? array_of(q, x, op->sym) : -1;
      const Slot *slot = own < 0 ? NULL : array_slot(q, own);
      if (!slot)
        continue;
      free(x->values[op->sym]);
      x->values[op->sym] = malloc(slot->size + 16);
      if (!x->values[op->sym])
        return computer_no_room(p->w.context, "a copy of", x->m->param_arrays[op->sym].name, (double)slot->size);
      s = slot_fetch(q, slot, x->values[op->sym]);
    }
  return s;
}

StcStatus phases_begin(StcPlan *p, StcStatus s) {
  Split *split = p->split;
  Phases *x = split->phases;
  if (!x || (s && !split->net))
    return s;
  if (split->net)
    split->net->broadcast(split->net, x->states, sizeof *x->states * (size_t)x->nstates, 0);
  x->changed = true;
  s = give_states(p, s);
  return s ? s : take_values(p);
}

void phases_before_inits(StcPlan *p) {
  const Split *split = p->split;
  for (int i = split->begin; i < split->end && split->phases; i++) {
    StcPlan *q = split->part[i].plan;
    put_states(p, q);
    for (int f = 0; f < q->program->ndeclared; f++) {
      int whole = stc_program_find_field(p->program, q->program->declared[f].name);
      bool temp = whole < 0 || p->program->module->fields[p->program->declared[whole].field].temp;
      if (temp && !q->program->declared[f].has_init)
        plan_mark_given(q, f, -1);
    }
  }
}

/* Gives them to the plan of the whole grid, which evaluates what does not belong to rounds. */
static StcStatus settle(StcPlan *p, StcStatus s) { return s || p->facade ? s : put_states(p, p); }

/* ---------------------------------------------------------------- phases of a step */

/* A step under way: how far it is in phases and updates, what went wrong on this rank. over: all ranks know that
 * something did, so that none waits for another. */
typedef struct Step {
  StcPlan *p;
  Phases *x;
  int phase, update;
  StcStatus s;
  bool over;
} Step;

/* What is launched next by `to` comes behind what was by `from`. */
static StcStatus follow(StcPlan *to, StcPlan *from) {
  const DeviceKind *kind = from->device.kind;
  if (to == from || !kind->mark || !to->device.kind->follow)
    return STC_OK;
  StcStatus s = kind->mark(&from->device, LANE_MAIN);
  return s ? s : to->device.kind->follow(&to->device, LANE_MAIN, &from->device, LANE_MAIN);
}

/* Lends the phase's plan what the part's has, or takes it back (`back`): the memory of fields. */
static void lend_fields(const Phase *x, StcPlan *q, StcPlan *part, bool back) {
  for (int f = 0; f < q->module->nfields; f++) {
    Slot *slot = field_slot(q, f), *own = x->of_field[f] < 0 ? NULL : field_slot(part, x->of_field[f]);
    if (slot && own && back)
      own->memory = slot->memory;
    else if (slot && own)
      slot->memory = own->memory;
  }
}

/* Lends it the arrays, the values of reductions, and what the simulator knows of ghost cells. */
static void lend_rest(const StcPlan *p, const Phase *x, StcPlan *q, const StcPlan *part) {
  for (int i = 0; i < q->module->nparam_arrays; i++)
    split_lend_array(q, i, part);
  split_lend_reductions(q, p);
  if (!part->ghosts)
    return;
  if (!q->ghosts) {
    q->ghosts = ARENA_NEW(q->w.arena, Ghosts);
    *q->ghosts = *part->ghosts;
    q->ghosts->levels = ARENA_ARRAY(q->w.arena, int64_t *, q->module->nfields + 1);
  }
  for (int f = 0; f < q->module->nfields; f++)
    q->ghosts->levels[f] = x->of_field[f] < 0 ? NULL : part->ghosts->levels[x->of_field[f]];
}

/* Runs `steps` steps of the phase on part `i`. */
static StcStatus run_part(StcPlan *p, int k, int i, int64_t steps) {
  Split *split = p->split;
  Phase *x = &split->phases->list[k];
  PartPlan *part = &split->part[i];
  StcPlan *own = part->plan, *q = k ? x->plan[i - split->begin] : own;
  Windows *windows = part->windows;
  StcStatus s = follow(q, own);
  if (k) {
    lend_fields(x, q, own, false);
    lend_rest(p, x, q, own);
    part->plan = q;
    part->windows = x->windows[i - split->begin];
  }
  int64_t launches = q->run.launches;
  q->run.first = q->run.done = p->run.done;
  q->run.stop = own->run.stop;
  if (q->ghosts) {
    q->ghosts->age = split->age;
    q->ghosts->exchanged = split_level(p);
    q->ghosts->still = !x->around;
  }
  if (!s)
    s = windows_run(p, i, steps, split->every - split->age - (x->around ? steps : 0), false);
  p->run.launches += q->run.launches - launches;
  if (k) {
    x->windows[i - split->begin] = part->windows;
    part->plan = own;
    part->windows = windows;
    part->made = NULL;
    lend_fields(x, q, own, true);
  }
  return s ? s : follow(own, q);
}

/* Runs the phase on all parts of this rank, up to `most` steps of it, behind an exchange if it needs one. How many. */
static int64_t run_phase(Step *t, int k, int64_t most) {
  Split *split = t->p->split;
  Phase *x = &split->phases->list[k];
  t->s = give_states(t->p, t->s);
  if (x->around && split->age + 1 > split->every)
    t->s = split_exchange(t->p, t->s);
  int64_t left = split->every - split->age, steps = !x->around || most < left ? most : left;
  for (int i = split->begin; i < split->end && !t->s; i++) {
    t->s = run_part(t->p, k, i, steps);
    if (t->s && t->s != STC_INTERRUPTED)
      split_name_part(t->p, i);
  }
  split->age += x->around ? steps : 0;
  if (x->restricts) {
    ghosts_restricted(t->p);
    t->s = split_exchange(t->p, t->s);
  }
  return steps;
}

/* ---------------------------------------------------------------- updates and reductions */

/* Does the update read a field? */
static bool reads_field(const Update *u) {
  for (const Op *op = u->body->first; op; op = op->next)
    if (op->code == OP_ACCESS)
      return true;
  return false;
}

/* All parts are done; ghost cells are as watch `k` needs them. */
static void get_ready(Step *t, int k) {
  StcPlan *p = t->p;
  t->s = give_states(p, t->s);
  if (p->split->age && watching_looks_around(p, k))
    t->s = split_exchange(p, t->s);
  t->s = split_wait(p, t->s);
}

/* Makes update number `u`. */
static void make_update(Step *t, int u) {
  StcPlan *p = t->p;
  const Module *m = t->x->m;
  const Update *update = &m->updates[u];
  int state = array_of(p, t->x, update->state);
  int64_t n = update->each ? grid_members(m, p->scalars) : 1;
  Const *values = split_must_have(p, "the values of an update", (double)n * sizeof *values);
  memset(values, 0, (size_t)n * sizeof *values);
  if (reads_field(update)) {
    int k = m->nreductions + m->nprobes + u;
    get_ready(t, k);
    t->s = watching_value(p, k, t->s, values);
    t->over = t->s;
  } else if (!t->s) {
    void *arrays[m->nparam_arrays + 1];
    static char nothing[16];
    for (int i = 0; i < m->nparam_arrays; i++)
      arrays[i] = is_state(t->x, i) ? (void *)p->run.states[array_of(p, t->x, i)]
                  : t->x->values[i] ? t->x->values[i]
                                    : nothing;
    t->s = interp_update_alone(m, u, p->scalars, arrays, p->run.done, values, p->w.diags) ? STC_OK : STC_INPUT;
    t->over = t->s;
  }
  memcpy(p->run.states[state], values, (size_t)n * sizeof *values);
  free(values);
  t->x->changed = true;
}

/* Evaluates the reductions of repeat `r` that are due behind so many rounds; *ends if an `until` is met. The repeats
 * are numbered as in the reference: the plan's own module has fewer, where some are written out (pass rounds). */
static void evaluate_rounds(Step *t, int r, int64_t done, bool *ends) {
  StcPlan *p = t->p;
  for (int k = 0; k < t->x->m->nreductions && !t->over; k++) {
    if (!reduction_is_due(&t->x->m->reductions[k], r + 1, done))
      continue;
    get_ready(t, k);
    t->s = watching_tell(p, k, t->s, done, ends);
    t->over = t->s;
  }
}

/* ---------------------------------------------------------------- the order of the step */

/* The stages of the next phase and the next update; INT32_MAX: there is none. */
static int32_t next_phase(const Step *t) { return t->phase < t->x->n ? t->x->list[t->phase].stage : INT32_MAX; }
static int32_t next_update(const Step *t) {
  return t->update < t->x->m->nupdates ? t->x->m->updates[t->update].stage : INT32_MAX;
}

static void run_stages(Step *t, int around, int32_t last);

/* Ends the run within the step if it is asked to and the step takes long, or something went wrong: of one rank. Several
 * end where all know of it. */
static void stop_within(Step *t) {
  const Net *net = t->p->split->net;
  if (net && net->size > 1)
    return;
  if (!t->s && stop_at_once(t->p->run.stop))
    t->s = STC_INTERRUPTED;
  t->over = t->s;
}

/* The rounds of repeat `r`. */
static void run_repeat(Step *t, int r) {
  const Repeat *x = &t->x->m->repeats[r];
  int64_t most = affine_eval(x->most, t->p->scalars, NULL), done = 0;
  int phase = t->phase, update = t->update;
  bool ends = false, alone = phase < t->x->n && t->x->list[phase].repeat == r;
  while (done < most && !ends && !t->over) {
    t->phase = phase;
    t->update = update;
    if (alone)
      done += run_phase(t, phase, module_steps_to_stop(t->x->m, r + 1, done, most - done));
    else
      run_stages(t, r, x->last);
    done += !alone;
    evaluate_rounds(t, r, done, &ends);
    stop_within(t);
  }
  while (next_phase(t) <= x->last)
    t->phase++;
  while (next_update(t) <= x->last)
    t->update++;
  if (!t->s)
    plan_note_rounds(t->p, r, t->p->run.done, done, ends);
}

/* Notes the rounds of the repeats among the stages of phase number `k`, which its program has made: of a repeat within
 * another one those in all rounds of that. */
static void note_among(Step *t, int k) {
  const Module *m = t->x->m;
  const Phase *x = &t->x->list[k];
  for (int r = 0; r < m->nrepeats && !t->s; r++) {
    int64_t around = 1;
    for (int o = repeat_around(m, r); o >= 0 && is_among(&m->repeats[o], x); o = repeat_around(m, o))
      around *= affine_eval(m->repeats[o].most, t->p->scalars, NULL);
    int64_t rounds = affine_eval(m->repeats[r].most, t->p->scalars, NULL);
    if (is_among(&m->repeats[r], x) && around > 0)
      plan_note_rounds(t->p, r, t->p->run.done, rounds > 0 ? around * rounds : 0, false);
  }
}

/* Makes what comes next, as far as its stage is not beyond `last`, in repeat `around` (-1: the step). */
static void run_stages(Step *t, int around, int32_t last) {
  for (;;) {
    int32_t phase = next_phase(t), update = next_update(t), stage = update <= phase ? update : phase;
    if (stage > last || stage == INT32_MAX || t->over)
      return;
    int r = repeat_outermost(t->x->m, stage, around);
    if (r != around && !(phase < update && is_among(&t->x->m->repeats[r], &t->x->list[t->phase])))
      run_repeat(t, r);
    else if (update <= phase)
      make_update(t, t->update++);
    else {
      run_phase(t, t->phase, 1);
      note_among(t, t->phase++);
    }
  }
}

StcStatus phases_advance(StcPlan *p, int64_t steps) {
  StcStatus s = STC_OK;
  const Net *net = p->split->net;
  for (int64_t i = 0; i < steps && (!s || net); i++) {
    Step t = {.p = p, .x = p->split->phases, .s = s};
    if (!net && stop_asked(p->run.stop))
      break;
    run_stages(&t, -1, INT32_MAX - 1);
    s = t.s;
    if (t.over)
      return s;
    p->run.done += s ? 0 : 1;
  }
  return settle(p, give_states(p, s));
}
