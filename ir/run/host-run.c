/* ir/run/host-run.c: the interpreter of host programs: the paper's Algorithm 5, with reductions between its steps. */
#include "ir/run/host.h"

int host_ops(HostRun *h, int n, const HostOp *op) {
  int s = 0;
  for (int i = 0, count; i < n && !s; i += count) {
    count = 1;
    if (op[i].kind == HOST_SWAP) {
      h->on->swap(h->user, op[i].a, op[i].b);
      continue;
    }
    while (i + count < n && op[i + count].beside)
      count++;
    s = h->on->launch(h->user, &op[i], count, *h->steps + op[i].after);
  }
  return s;
}

int host_sequence_run(HostRun *h, const HostSeq *seq) {
  if (h->on->fresh)
    h->on->fresh(h->user);
  return host_ops(h, seq->nops, seq->ops);
}

/* Evaluates `r`, and makes of its value what it is for. */
static int evaluate(HostRun *h, const Reduction *r) {
  Const value;
  int s = host_sequence_run(h, &r->seq);
  if (!s)
    s = h->on->value(h->user, r, &value);
  if (s)
    return s;
  h->scalars[r->scalar] = value;
  if (h->reduced)
    h->reduced(h->reduced_user, r, *h->steps, value);
  return reduction_judge(h->m, r, h->scalars, *h->steps, &h->ends, h->diags) ? 0 : h->wrong;
}

int host_reduce(HostRun *h) {
  int s = 0;
  for (int i = 0; i < h->m->nreductions && !s; i++)
    if (reduction_is_due(&h->m->reductions[i], *h->steps))
      s = evaluate(h, &h->m->reductions[i]);
  return s;
}

/* Makes up to `most` runs of `seq`; *made of them. */
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
  int s = 0;
  for (int64_t made; most > 0 && *h->steps < end && !h->ends && !s; most -= made) {
    int64_t left = module_steps_to_reduction(h->m, *h->steps, end - *h->steps);
    left = h->on->until ? h->on->until(h->user, left) : left;
    const HostSeq *seq = host_sequence(&h->m->host, h->closed, left);
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
