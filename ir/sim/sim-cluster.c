/* sim-cluster.c: clusters: blocks that run together. A store to another block's shared memory counts there as an access
 * by the asynchronous copies of the storing thread, and a signal of that block counts its bytes. So the clocks of
 * signals (sim-signal.c) show values that are read before they have arrived, and values that are overwritten before
 * they were read. */
#include "ir/sim/simulate.h"

/* Has the block ended whose shared memory begins at `shift`? */
static bool has_ended(const Sim *s, int64_t shift) {
  const SimThread *t = s->k->threads + shift / s->k->block_bytes * s->k->block_threads;
  for (int n = 0; n < s->k->block_threads; n++)
    if (t[n].state != SIM_DONE)
      return false;
  return true;
}

/* The `n` values of the store `i` have arrived in the block that `t` refers to: counts their bytes for signal `x`,
 * which waits for them. */
static void count_bytes(Sim *s, SimThread *t, const SimInsn *i, SimSignal *x) {
  const Array *a = &s->k->kernel->arrays[i->op->sym];
  int64_t bytes = i->op->count * (int64_t)type_size(a->type);
  uint32_t *copies = &x->next[s->k->nthreads + (int)t->number];
  if (x->bytes < bytes) {
    sim_fault(s, t, i,
              "%lld bytes come for signal '%s' at %s, whose phase %lld waits for %lld: no signal.expect "
              "announced them",
              (long long)bytes, s->k->kernel->arrays[i->op->signal].name, sim_place_text(s, t, i + 1),
              (long long)x->phase, (long long)x->bytes);
    return;
  }
  sim_join(s, x->next, t->clock);
  *copies = t->began > *copies ? t->began : *copies;
  x->sent = x->phase + 1;
  x->sender = t->number;
  x->last = i;
  x->bytes -= bytes;
  sim_end_phase(s, x);
}

void sim_send(Sim *s, SimThread *t, const SimInsn *i) {
  int64_t own = t->shift, to = own + i->op->from_off[0] * s->k->block_bytes;
  uint32_t self = t->actor;
  if (to < 0 || to >= s->k->shared_bytes) {
    sim_fault(s, t, i, "the cluster has no block of rank %lld", (long long)(to < 0 ? -1 : to / s->k->block_bytes));
    return;
  }
  if (has_ended(s, to)) {
    sim_fault(s, t, i, "the block of rank %lld, to which this is stored, has ended",
              (long long)(to / s->k->block_bytes));
    return;
  }
  t->began = ++s->interval;
  sim_tick(s, t);
  t->actor = self + (uint32_t)s->k->nthreads;
  t->shift = to;
  for (int k = 0; k < i->op->count; k++)
    sim_shared_store(s, t, i + 2 + k);
  SimSignal *x = sim_find_signal(s, t, i + 1);
  if (x)
    count_bytes(s, t, i, x);
  t->actor = self;
  t->shift = own;
}

void sim_check_sent(Sim *s) {
  for (int64_t n = 0; n < s->k->shared_bytes / 8 && s->k->cluster > 1 && !s->stop; n++) {
    const SimSignal *x = &s->k->signal[n];
    const SimThread *t = &s->k->threads[n * 8 / s->k->block_bytes * s->k->block_threads];
    if (x->block == s->block_epoch && x->sent > x->seen)
      sim_fault(s, t, x->last, "the block ends without a wait for what %s stored to it", sim_warp_text(s, x->sender));
  }
  sim_settle(s);
}
