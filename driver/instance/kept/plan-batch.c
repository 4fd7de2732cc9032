/* driver/instance/kept/plan-batch.c: several steps made in one go though memory that they read or write changes from
 * step to step: their launches, and what is copied between them, are kept by the device, in place of those of the batch
 * before, and made together. So neither the host's launches nor its events hold the device up. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "ir/run/host-run.h"

/* How many launches a batch has, about. */
enum { BATCH_LAUNCHES = 64 };

/* Launches of a step, those of what is reduced behind it among them. */
static int64_t step_launches(const StcPlan *p, const HostSeq *seq) {
  const Module *m = p->build->code.module;
  int64_t n = 0;
  for (int i = 0; i < seq->nops; i++)
    n += seq->ops[i].kind == HOST_LAUNCH;
  for (int i = 0; i < m->nreductions; i++)
    n += m->reductions[i].seq.nops;
  return n;
}

/* Do steps neither wait for the device nor change what is done between them? That is so once one step has been made.
 * Their sequence, or NULL. */
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

/* Does kernel `k` touch buffer `buffer`; does it write it? */
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

/* Does what kernel `k` reads stay as it is, and what it writes unread, while the step's operation `op` is made? */
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

/* Are there launches beside others in the step, so that the device is ready for them? */
static bool has_beside(const HostSeq *seq) {
  bool any = false;
  for (int i = 0; i < seq->nops; i++)
    any |= seq->ops[i].kind == HOST_LAUNCH && seq->ops[i].beside;
  return any;
}

/* Can all that is reduced behind steps be so at once, before them: each by one launch, of what no step changes, into a
 * place of its own for each step? */
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

/* What is kept: so many runs of the sequence, each with what is reduced behind it, and what the batch has between them.
 */
typedef struct Steps {
  const HostSeq *seq;
  int64_t n;
  const StepBatch *batch;
} Steps;

/* Reduces what is due behind all of them, launches beside each other. */
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

/* Makes them (plan_keep_anew). */
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

/* The place for launches of so many steps from here on, by which reductions are due behind which of them. */
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

/* What plan_batch hands to its guarded part. */
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
