/* driver/instance/plan-init.c: the work before the first step: inits, older levels, and the `once` sequence. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* Does kernel `k` write a field whose `given` is `want`? */
static bool writes_field(const StcPlan *p, const Kernel *k, bool want) {
  const Module *m = p->build->code.module;
  for (int i = 0; i < k->nargs; i++)
    for (int f = 0; f < m->nfields; f++)
      if (p->bound.given[f] == want && argument_writes(m, &k->args[i], f))
        return true;
  return false;
}

/* Launches init kernel `index`, and restores the fields that were given and that it has overwritten. */
static StcStatus launch_init(StcPlan *p, int index) {
  const Module *m = p->build->code.module;
  const Kernel *k = &m->kernels[index];
  Device *d = &p->device;
  StcStatus s = STC_OK;
  void *saved[k->nargs + 1];
  memset(saved, 0, sizeof saved);
  for (int i = 0; i < k->nargs && !s; i++) {
    if (k->args[i].kind != KARG_BUFFER || !k->args[i].writes)
      continue;
    const Buffer *b = &m->buffers[k->args[i].index];
    Slot *slot = buffer_slot(p, k->args[i].index);
    if (b->kind != BUFFER_FIELD || b->copy != 0 || !p->bound.given[b->field])
      continue;
    saved[i] = malloc(slot->size + 1);
    s = saved[i] ? d->kind->fetch(d, saved[i], slot->memory, slot->size) : STC_MEMORY;
  }
  if (!s)
    s = plan_launch_kernel(p, index);
  if (!s)
    s = d->kind->wait(d);
  for (int i = 0; i < k->nargs; i++) {
    Slot *slot = saved[i] ? buffer_slot(p, k->args[i].index) : NULL;
    if (saved[i] && !s)
      s = d->kind->put(d, slot->memory, saved[i], slot->size);
    free(saved[i]);
  }
  return s;
}

/* Does the first init of the program that sets field `field` of the plan's module set all of its points? */
static bool init_covers(const StcPlan *p, int field) {
  const Module *m = p->program->module;
  int owner = p->bound.owner[field];
  if (owner < 0)
    return false;
  int source = p->program->declared[owner].field;
  source += type_composite(m, m->fields[source].type) ? 0 : field - p->bound.homes[owner].field;
  for (int i = 0; i < m->ninits; i++) {
    bool sets = false;
    for (int k = 0; k < m->inits[i].npieces; k++) {
      const Piece *piece = &m->inits[i].pieces[k];
      for (int t = 0; t < piece->ntargets; t++) {
        sets |= piece->targets[t] == source;
        if (piece->targets[t] == source && box_inside(&m->fields[source].box, &piece->box) == 1)
          return true;
      }
    }
    if (sets) /* later ones may read what this one stores */
      return false;
  }
  return false;
}

/* Sets fields to 0 of which inits set only some points. */
static StcStatus zero_fields(StcPlan *p, const bool *init) {
  StcStatus s = STC_OK;
  for (int f = 0; f < p->module->nfields && !s; f++) {
    if (!init[f] || p->bound.given[f] || p->module->fields[f].temp || init_covers(p, f))
      continue;
    Slot *slot = field_slot(p, f);
    void *zeros = calloc(slot->size + 1, 1);
    if (!zeros)
      return computer_no_room(p->w.context, "a copy of", "a field", (double)slot->size);
    s = p->device.kind->put(&p->device, slot->memory, zeros, slot->size);
    free(zeros);
  }
  return s;
}

/* Copies fields to those of their pasts that nobody has set. */
static StcStatus start_pasts(StcPlan *p, const bool *init) {
  StcStatus s = STC_OK;
  for (int f = 0; f < p->module->nfields && !s; f++) {
    const Field *field = &p->module->fields[f];
    if (field->past && !field->temp && !init[f] && !p->bound.given[f])
      s = plan_copy_slot(p, field_slot(p, field->present), field_slot(p, f)->memory);
  }
  return s;
}

/* Runs the init sequence. Kernels whose targets were all given are left out, and a given field keeps its buffer. */
static StcStatus run_init_sequence(StcPlan *p) {
  const Module *m = p->build->code.module;
  const HostSeq *seq = &m->host.init;
  StcStatus s = STC_OK;
  for (int i = 0; i < seq->nops && !s; i++) {
    const HostOp *op = &seq->ops[i];
    if (op->kind == HOST_SWAP) {
      if (!p->bound.given[m->buffers[op->a].field])
        plan_swap(p, op->a, op->b);
    } else if (!writes_field(p, &m->kernels[op->a], true)) {
      s = plan_launch_kernel(p, op->a);
    } else if (writes_field(p, &m->kernels[op->a], false)) {
      s = launch_init(p, op->a);
    }
  }
  return s;
}

/* Must anything be launched before the first step? */
static bool launches_init(const StcPlan *p) { return p->build->code.module->host.init.nops > 0; }

StcStatus plan_run_inits(StcPlan *p) {
  bool *init = p->bound.with_init;
  memset(init, 0, sizeof *init * (size_t)p->module->nfields);
  fields_with_init(p->module, init);
  StcStatus s = zero_fields(p, init);
  if (!s)
    s = run_init_sequence(p);
  if (!s && launches_init(p))
    s = p->device.kind->wait(&p->device);
  if (!s)
    s = start_pasts(p, init);
  return !s && launches_init(p) ? p->device.kind->wait(&p->device) : s;
}

/* ---------------------------------------------------------------- values that are computed once */

/* Can others than the plan write to the memory of a field that `k` reads? */
static bool reads_exposed(const StcPlan *p, const Kernel *k) {
  const Module *m = p->build->code.module;
  bool exposed = false;
  for (int i = 0; i < k->nargs && !exposed; i++) {
    const KArg *a = &k->args[i];
    if (a->kind == KARG_BUFFER && a->reads && m->buffers[a->index].kind == BUFFER_FIELD) {
      const Slot *slot = buffer_slot(p, a->index);
      exposed = slot->foreign || slot->shown || slot->handed;
    }
  }
  return exposed;
}

/* Does init kernel `k` compute only fields NAME.where (plan-edges.c)? */
static bool makes_edges(const StcPlan *p, const Kernel *k) {
  const Module *m = p->build->code.module;
  bool makes = false;
  for (int i = 0; i < k->nargs; i++) {
    const KArg *a = &k->args[i];
    if (a->kind != KARG_BUFFER || !a->writes || m->buffers[a->index].kind != BUFFER_FIELD)
      continue;
    if (!field_is_edges(m, m->buffers[a->index].field))
      return false;
    makes = true;
  }
  return makes;
}

/* Computes these fields again if others than the plan may have changed the mask. */
static StcStatus run_edges(StcPlan *p) {
  const Module *m = p->build->code.module;
  const HostSeq *seq = &m->host.init;
  StcStatus s = STC_OK;
  for (int i = 0; i < seq->nops && !s; i++) {
    const HostOp *op = &seq->ops[i];
    if (op->kind != HOST_LAUNCH || !makes_edges(p, &m->kernels[op->a]) || !reads_exposed(p, &m->kernels[op->a]))
      continue;
    s = plan_launch_kernel(p, op->a);
    p->run.once_done = false;
  }
  return s;
}

/* Is the present run in a stream, so that nobody waits for it? Devices without streams make such runs in threads, which
 * wait themselves, and which may call this before they are recorded. */
static bool is_in_stream(const StcPlan *p) { return p->device.kind->use_stream && p->back.pending; }

/* Runs the `once` sequence, and finds the blocks of kernels that now have something to do. `may_change`: the sequence
 * may have to run again before the next run. In a run that nobody waits for, this does not wait either. */
static StcStatus compute_once(StcPlan *p, const HostSeq *seq, bool may_change) {
  StcStatus s = plan_sequence(p, seq);
  bool waited = !is_in_stream(p);
  p->run.unlooked = !may_change && !waited;
  return s ? s : plan_find_live(p, !may_change && waited);
}

StcStatus plan_run_once(StcPlan *p) {
  const Module *m = p->build->code.module;
  const HostSeq *seq = &m->host.once;
  bool torn = p->run.torn; /* if the run is stopped here, no field of the program has changed */
  StcStatus made = run_edges(p);
  if (made)
    return made;
  bool exposed = false;
  for (int i = 0; i < seq->nops && !exposed; i++)
    exposed = seq->ops[i].kind == HOST_LAUNCH && reads_exposed(p, &m->kernels[seq->ops[i].a]);
  p->run.once_done &= !exposed;
  StcStatus s = p->run.once_done || !seq->nops ? STC_OK : compute_once(p, seq, exposed);
  p->run.once_done |= !s;
  if (!s && !is_in_stream(p))
    s = plan_find_late(p);
  p->run.torn = torn;
  return s;
}
