/* ir/run/host-run.c: the interpreter of host programs: the paper's Algorithm 5, with reductions between its steps.
 * Loops within a step (HostLoop) follow the same rule. */
#include "ir/run/host-run.h"

static int repeat(HostRun *h, int32_t loop, int64_t step);

/* Runs the `n` operations at `op`, the first of which belong to step number `step`. */
static int run_ops(HostRun *h, int n, const HostOp *op, int64_t step) {
  int s = 0;
  for (int i = 0, count; i < n && !s; i += count) {
    count = 1;
    while (op[i].kind == HOST_LAUNCH && i + count < n && op[i + count].beside)
      count++;
    switch (op[i].kind) {
    case HOST_LAUNCH: s = h->on->launch(h->user, &op[i], count, step + op[i].after); break;
    case HOST_SWAP: h->on->swap(h->user, op[i].a, op[i].b); break;
    case HOST_REPEAT: s = repeat(h, op[i].a, step + op[i].after); break;
    }
  }
  return s;
}

/* Processes the value that the launches of `r` have computed after `done` steps or rounds; sets *ends if the condition
 * of an `until` holds. */
static int take_value(HostRun *h, const Reduction *r, int64_t done, bool *ends) {
  int s = 0;
  ReductionTold told = {h->m, r, h->scalars, done, h->reduced, h->reduced_user, false, false};
  Const value;
  for (int64_t k = 0; k < reduction_values(h->m, r, h->scalars) && !s; k++) {
    s = h->on->value(h->user, r, k, &value);
    if (!s && !reduction_tell(&told, k, value, ends, h->diags))
      s = h->wrong;
  }
  return s;
}

/* Evaluates `r` after `done` steps or rounds, in step number `step`. */
static int evaluate(HostRun *h, const Reduction *r, int64_t done, int64_t step, bool *ends) {
  if (!r->loop && h->on->fresh)
    h->on->fresh(h->user);
  int s = run_ops(h, r->seq.nops, r->seq.ops, step);
  return s ? s : take_value(h, r, done, ends);
}

/* Evaluates the reductions of loop `loop` (Reduction.loop) that are due after `done` steps or rounds. */
static int evaluate_due(HostRun *h, int32_t loop, int64_t done, int64_t step, bool *ends) {
  int s = 0;
  for (int i = 0; i < h->m->nreductions && !s; i++)
    if (reduction_is_due(&h->m->reductions[i], loop, done))
      s = evaluate(h, &h->m->reductions[i], done, step, ends);
  return s;
}

/* Lets the machine make several rounds of loop number `loop` at once, if it can, after *done of at most `most` rounds;
 * updates *done and *ends. False if it cannot, or if *s is the status that ends the run. */
static bool make_rounds(HostRun *h, int32_t loop, int64_t step, int64_t most, int64_t *done, bool *ends, int *s) {
  int64_t made = 0;
  if (h->on->rounds)
    *s = h->on->rounds(h->user, loop, step, *done, most - *done, &made);
  *done += made;
  for (int i = 0; i < h->m->nreductions && !*s && made; i++)
    if (reduction_is_due(&h->m->reductions[i], loop + 1, *done))
      *s = take_value(h, &h->m->reductions[i], *done, ends);
  return made && !*s;
}

/* Makes the rounds of loop number `loop`, which begins in step number `step`. */
static int repeat(HostRun *h, int32_t loop, int64_t step) {
  const HostLoop *l = &h->m->host.loops[loop];
  int64_t most = affine_eval(l->most, h->scalars, NULL);
  bool ends = false;
  int64_t done = 0;
  int s = 0;
  while (done < most && !ends && !s) {
    if (make_rounds(h, loop, step, most, &done, &ends, &s) || s)
      continue;
    int64_t left = module_steps_to_stop(h->m, loop + 1, done, most - done);
    if (h->on->round)
      h->on->round(h->user, loop);
    const HostSeq *seq = host_sequence(l->nseqs, l->seqs, NULL, left);
    s = run_ops(h, seq->nops, seq->ops, step + (l->count < 0 ? most - 1 - done : l->count * done));
    done += seq->steps;
    if (!s)
      s = evaluate_due(h, loop + 1, done, step + (l->count < 0 ? most - done : l->count * done), &ends);
  }
  if (h->repeated && !s)
    h->repeated(h->reduced_user, loop, step, done, ends);
  return s;
}

int host_ops(HostRun *h, int n, const HostOp *op) { return run_ops(h, n, op, *h->steps); }

int host_sequence_run(HostRun *h, const HostSeq *seq) {
  if (h->on->fresh)
    h->on->fresh(h->user);
  return host_ops(h, seq->nops, seq->ops);
}

int host_reduce(HostRun *h) { return evaluate_due(h, 0, *h->steps, *h->steps, &h->ends); }

/* Runs `seq` up to `most` times; *made: how many times. */
static int make(HostRun *h, const HostSeq *seq, int64_t most, int64_t *made) {
  int s = h->on->begin ? h->on->begin(h->user, seq, &most) : 0;
  *made = 0;
  if (!s && h->on->replay)
    s = h->on->replay(h->user, seq, most, made);
  if (s || *made)
    return s;
  *made = 1;
  s = host_sequence_run(h, seq);
  *h->steps += s ? 0 : seq->steps;
  return s;
}

int host_run(HostRun *h, int64_t end, int64_t most) {
  const Host *host = &h->m->host;
  int s = 0;
  for (int64_t made; most > 0 && *h->steps < end && !h->ends && !s; most -= made) {
    int64_t left = module_steps_to_stop(h->m, 0, *h->steps, end - *h->steps);
    left = h->on->until ? h->on->until(h->user, left) : left;
    const HostSeq *seq = host_sequence(host->nseqs, host->seqs, h->closed, left);
    if (!seq)
      return diag_error(h->diags, no_loc(), "module '%s' has no host sequence for the last %lld steps", h->m->name,
                        (long long)(end - *h->steps)),
             h->wrong;
    s = make(h, seq, most < left / seq->steps ? most : left / seq->steps, &made);
    if (!s && h->on->made)
      h->on->made(h->user, made * seq->steps);
    if (!s)
      s = host_reduce(h);
    if (!s && h->on->show)
      s = h->on->show(h->user);
  }
  return s;
}
