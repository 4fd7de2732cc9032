/* driver/instance/kept/plan-batch.c: makes several steps together although memory that they read or write changes from
 * step to step: the device records their launches, and the copies between them, in place of those of the batch before,
 * and replays them together. So neither the host's launches nor its events delay the device. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "ir/run/host-run.h"

/* The approximate number of launches of a batch. */
enum { BATCH_LAUNCHES = 64 };

/* The launches of a step, including those of reductions after it. */
static int64_t step_launches(const StcPlan *p, const HostSeq *seq) {
  const Module *m = p->build->code.module;
  int64_t n = 0;
  for (int i = 0; i < seq->nops; i++)
    n += seq->ops[i].kind == HOST_LAUNCH;
  for (int i = 0; i < m->nreductions; i++)
    n += m->reductions[i].seq.nops;
  return n;
}

/* Can steps be made without waiting for the device and without changes to the work between them? That is so once one
 * step has been made. Returns their sequence, or NULL. */
static const HostSeq *batch_sequence(StcPlan *p) {
  const DeviceKind *kind = p->device.kind;
  if (p->split || !p->build || kind->whole || !kind->record || !kind->renew || p->run.replay.impossible ||
      !kind->renews(&p->device))
    return NULL;
  const Module *m = p->build->code.module;
  const Observers *o = &p->observers;
  const HostSeq *seq = plan_next_sequence(p, 1);
  bool quiet = !p->run.times && !p->frames && !p->memory.lending && !o->watches && !o->visit && !o->progress;
  bool told = m->nreductions && !p->run.deferred.memory;
  for (int f = 0; f < p->module->nfields; f++)
    quiet = quiet && p->memory.fixed[f] < 0;
  return quiet && !told && p->run.inits_done && seq && seq->steps == 1 && !host_has_loops(seq) ? seq : NULL;
}

int64_t plan_batch_steps(StcPlan *p, int64_t most) {
  const HostSeq *seq = batch_sequence(p);
  int64_t launches = seq ? step_launches(p, seq) : 0, steps = launches ? BATCH_LAUNCHES / launches : 0;
  steps = steps > most ? most : steps;
  return steps < 2 ? 0 : steps;
}

/* Does kernel `k` access buffer `buffer`? *writes: does it write it? */
static bool touches(const Kernel *k, int buffer, bool *writes) {
  bool any = false;
  *writes = false;
  for (int i = 0; i < k->nargs; i++)
    if (k->args[i].kind == KARG_BUFFER && k->args[i].index == buffer) {
      any = true;
      *writes |= k->args[i].writes;
    }
  return any;
}

/* While the step's operation `op` runs, is everything that kernel `k` reads unchanged, and everything that it writes
 * unread? */
static bool is_apart(const Module *m, const Kernel *k, const HostOp *op) {
  bool apart = op->kind != HOST_REPEAT, writes;
  for (int i = 0; i < k->nargs && apart; i++) {
    int buffer = k->args[i].index;
    if (k->args[i].kind != KARG_BUFFER)
      continue;
    apart = op->kind == HOST_SWAP ? op->a != buffer && op->b != buffer
                                  : !touches(&m->kernels[op->a], buffer, &writes) || (!writes && !k->args[i].writes);
  }
  return apart;
}

/* Has the step launches beside others, so that the device is prepared for them? */
static bool has_beside(const HostSeq *seq) {
  bool any = false;
  for (int i = 0; i < seq->nops; i++)
    any |= seq->ops[i].kind == HOST_LAUNCH && seq->ops[i].beside;
  return any;
}

/* Can all reductions after the steps be made together before them? Each must be one launch that reads only values that
 * no step changes, and store to a place of its own for each step. */
static bool reduces_at_once(const StcPlan *p, const HostSeq *seq) {
  const Module *m = p->build->code.module;
  bool can = p->device.kind->fork && m->nreductions && !m->nupdates && p->run.deferred.memory && has_beside(seq);
  for (int i = 0; i < m->nreductions && can; i++) {
    const Reduction *r = &m->reductions[i];
    const Kernel *k = r->seq.nops == 1 && r->seq.ops[0].kind == HOST_LAUNCH ? &m->kernels[r->seq.ops[0].a] : NULL;
    can = k && !r->loop;
    for (int a = 0; can && a < k->nargs; a++)
      can = k->args[a].kind != KARG_BUFFER || !k->args[a].writes || plan_deferred_place(p, k->args[a].index);
    for (int j = 0; j < seq->nops && can; j++)
      can = is_apart(m, k, &seq->ops[j]);
  }
  return can;
}

/* What is recorded: a number of runs of the sequence, each with its reductions, and the batch's work between them. */
typedef struct Steps {
  const HostSeq *seq;
  int64_t n;
  const StepBatch *batch;
} Steps;

/* Makes the reductions that are due after all these steps, in launches beside each other. */
static StcStatus reduce_at_once(StcPlan *p, const Steps *x) {
  HostRun h = plan_host(p);
  int64_t done = p->run.done;
  StcStatus s = p->device.kind->fork(&p->device);
  p->run.replay.follows = false;
  p->run.group = 1;
  for (int64_t k = 0; k < x->n && !s; k++) {
    s = x->batch->before ? x->batch->before(x->batch->user, k) : STC_OK;
    p->run.done++;
    s = s ? s : (StcStatus)host_reduce(&h);
  }
  p->run.done = done;
  p->run.group = 0;
  p->run.replay.follows = false;
  return s ? s : p->device.kind->join(&p->device);
}

/* Makes the steps (plan_keep_anew). */
static StcStatus make_steps(StcPlan *p, void *user) {
  const Steps *x = user;
  const StepBatch *b = x->batch;
  HostRun h = plan_host(p);
  bool reduced = b->lends && reduces_at_once(p, x->seq);
  StcStatus s = reduced ? reduce_at_once(p, x) : STC_OK;
  for (int64_t k = 0; k < x->n && !s; k++) {
    s = b->before ? b->before(b->user, k) : STC_OK;
    s = s ? s : plan_sequence(p, x->seq);
    s = s || reduced ? s : (StcStatus)host_reduce(&h);
    s = s || !b->behind ? s : b->behind(b->user, k);
  }
  return s;
}

/* The recording for `steps` steps from here on, according to which reductions are due after which of them. */
static void **place_of(StcPlan *p, int64_t steps) {
  const Module *m = p->build->code.module;
  uint64_t due = (uint64_t)steps;
  for (int64_t k = 1; k <= steps; k++)
    for (int i = 0; i < m->nreductions; i++)
      due = due * 31 + reduction_is_due(&m->reductions[i], 0, p->run.done + k);
  KeptBatch *x = p->run.replay.batches;
  while (x && x->due != due)
    x = x->next;
  if (!x) {
    x = ARENA_NEW(p->w.arena, KeptBatch);
    *x = (KeptBatch){due, NULL, p->run.replay.batches};
    p->run.replay.batches = x;
  }
  return &x->kept;
}

/* The arguments of plan_batch's guarded function. */
typedef struct BatchArgs {
  StcPlan *p;
  const StepBatch *batch;
  int64_t *made;
} BatchArgs;

static StcStatus batch_guarded(void *arg) {
  const BatchArgs *a = arg;
  StcPlan *p = a->p;
  Steps steps = {batch_sequence(p), plan_batch_steps(p, a->batch->most), a->batch};
  void **in;
  bool kept;
  if (!steps.n)
    return STC_OK;
  if (p->run.stop && stop_asked(p->run.stop))
    return STC_INTERRUPTED;
  StcStatus s = plan_make_room(p, steps.n);
  if (s || plan_room(p, 1, steps.n) < steps.n)
    return s;
  s = plan_run_once(p);
  if (s)
    return s;
  in = place_of(p, steps.n);
  s = plan_keep_anew(p, make_steps, &steps, in, &kept);
  if (!s && !kept)
    return p->run.replay.impossible = true, STC_OK;
  *a->made = s ? 0 : steps.n;
  s = s ? s : p->device.kind->replay(&p->device, *in);
  return s ? s : plan_drain(p);
}

StcStatus plan_batch(StcPlan *p, const StepBatch *b, int64_t *made) {
  BatchArgs args = {p, b, made};
  *made = 0;
  StcStatus s = plan_join(p);
  p->back.pending = false;
  return s ? s : workspace_guard(&p->w, batch_guarded, &args);
}
