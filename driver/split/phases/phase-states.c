/* driver/split/phases/phase-states.c: the scalars that a plan with phases keeps from step to step, and the elements of
 * arrays that its updates read. They are equal on all ranks and parts: those of rank 0 before the steps of a run,
 * changed by updates since. */
#include "driver/split/phases/phases.h"

#include <stdlib.h>

void phases_make_states(StcPlan *p, Phases *x) {
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

bool phases_is_state(const Phases *x, int array) { return x->m->param_arrays[array].role == ARRAY_STATE; }

int phases_array(const StcPlan *q, const Phases *x, int array) {
  return module_find_param_array(q->module, x->m->param_arrays[array].name);
}

/* Copies the scalars to `q`. */
static StcStatus put_states(const StcPlan *p, StcPlan *q) {
  const Phases *x = p->split->phases;
  StcStatus s = STC_OK;
  for (int i = 0; i < x->m->nparam_arrays && !s; i++) {
    int from = phases_array(p, x, i), to = phases_is_state(x, i) ? phases_array(q, x, i) : -1;
    const Slot *slot = to < 0 ? NULL : array_slot(q, to);
    if (slot && slot->memory && from >= 0)
      s = slot_put(q, slot, p->run.states[from]);
    if (to >= 0)
      q->bound.array_given[to] = true;
  }
  return s;
}

StcStatus phases_give_states(StcPlan *p, StcStatus s) {
  Split *split = p->split;
  for (int i = split->begin; i < split->end && !s && split->phases->changed; i++)
    s = put_states(p, split->part[i].plan);
  split->phases->changed = split->phases->changed && s;
  return s;
}

/* Copies the elements of the arrays that updates read from the first part of this rank. */
static StcStatus take_values(StcPlan *p) {
  Phases *x = p->split->phases;
  StcPlan *q = p->split->part[p->split->begin].plan;
  StcStatus s = STC_OK;
  for (int u = 0; u < x->m->nupdates; u++)
    for (const Op *op = x->m->updates[u].body->first; op && !s; op = op->next) {
      int own = op->code == OP_ELEMENT && !phases_is_state(x, op->sym) ? phases_array(q, x, op->sym) : -1;
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
  s = phases_give_states(p, s);
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

StcStatus phases_settle(StcPlan *p, StcStatus s) { return s || p->facade ? s : put_states(p, p); }
