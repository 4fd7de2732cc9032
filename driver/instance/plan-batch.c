/* driver/instance/plan-batch.c: several steps made in one go though memory that they read or write changes from step to
 * step: their launches, and what is copied between them, are kept by the device, in place of those of the batch before,
 * and made together. So neither the host's launches nor its events hold the device up. */
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

int64_t plan_batch_steps(StcPlan *p) {
  const HostSeq *seq = batch_sequence(p);
  int64_t launches = seq ? step_launches(p, seq) : 0, steps = launches ? BATCH_LAUNCHES / launches : 0;
  return steps < 2 ? 0 : steps;
}

/* What is kept: so many runs of the sequence, each with what is reduced behind it, and what the batch has between them.
 */
typedef struct Steps {
  const HostSeq *seq;
  int64_t n;
  const StepBatch *batch;
} Steps;

/* Makes them (plan_keep_anew). */
static StcStatus make_steps(StcPlan *p, void *user) {
  const Steps *x = user;
  const StepBatch *b = x->batch;
  HostRun h = plan_host(p);
  StcStatus s = STC_OK;
  for (int64_t k = 0; k < x->n && !s; k++) {
    s = b->before ? b->before(b->user, k) : STC_OK;
    s = s ? s : plan_sequence(p, x->seq);
    s = s ? s : (StcStatus)host_reduce(&h);
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
  Steps steps = {batch_sequence(p), plan_batch_steps(p), a->batch};
  void **in;
  bool kept;
  if (!steps.n || steps.n > a->batch->most)
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
