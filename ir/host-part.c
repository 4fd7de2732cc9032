/* ir/host-part.c: the host part of kernel IR as a whole: all its sequences, and their launches and swaps. */
#include "ir/module.h"

#include <string.h>

void host_swap(const HostSeq *seq, int from, int32_t *at) {
  for (int i = from; i < seq->nops; i++) {
    const HostOp *op = &seq->ops[i];
    if (op->kind != HOST_SWAP)
      continue;
    int32_t t = at[op->a];
    at[op->a] = at[op->b];
    at[op->b] = t;
  }
}

bool host_has_loops(const HostSeq *seq) {
  for (int i = 0; i < seq->nops; i++)
    if (seq->ops[i].kind == HOST_REPEAT)
      return true;
  return false;
}

HostSeq *host_part(const Module *m, int i) {
  const Host *h = &m->host;
  if (i < 2)
    return (HostSeq *)(i ? &h->once : &h->init);
  i -= 2;
  if (i < h->nseqs)
    return &h->seqs[i];
  i -= h->nseqs;
  for (int k = 0; k < h->nloops; i -= h->loops[k++].nseqs)
    if (i < h->loops[k].nseqs)
      return &h->loops[k].seqs[i];
  if (i < m->nreductions)
    return &m->reductions[i].seq;
  i -= m->nreductions;
  return i < m->nprobes ? &m->probes[i].seq : NULL;
}

void host_kernels(const Module *m, const HostSeq *seq, bool *kernels) {
  for (int i = 0; i < seq->nops; i++) {
    const HostOp *op = &seq->ops[i];
    if (op->kind == HOST_LAUNCH)
      kernels[op->a] = true;
    for (int k = 0; op->kind == HOST_REPEAT && k < m->host.loops[op->a].nseqs; k++)
      host_kernels(m, &m->host.loops[op->a].seqs[k], kernels);
  }
}

/* If the first launch of a group becomes two, the launches `behind` it would have to wait for both. A launch can wait
 * for one only, so they then form a group of their own that starts after everything before it. */
void host_launch_beside(Module *m, HostSeq *q, int n, const int32_t *other) {
  HostSeq out = {.steps = q->steps};
  bool two = false, apart = false;
  for (int i = 0; i < q->nops; i++) {
    HostOp op = q->ops[i];
    if (op.kind != HOST_LAUNCH || !op.beside) {
      two = op.kind == HOST_LAUNCH && op.a < n && other[op.a] >= 0;
      apart = false;
    } else if (op.behind && two) {
      op.beside = apart;
      op.behind = false;
      apart = true;
    }
    if (op.kind == HOST_LAUNCH && op.a < n && other[op.a] >= 0) {
      HostOp before = op;
      before.a = other[op.a];
      op.beside = true;
      ARENA_PUSH(m->arena, out.ops, out.nops, before);
    }
    ARENA_PUSH(m->arena, out.ops, out.nops, op);
  }
  *q = out;
}

int host_find_loop(const Module *m, const char *name) {
  for (int i = 0; i < m->host.nloops; i++)
    if (strcmp(m->host.loops[i].name, name) == 0)
      return i;
  return -1;
}
