/* ir/copy.c: copies of modules that passes may change. */
#include "ir/build.h"
#include "ir/module.h"

/* A copy of the `n` elements of `size` bytes at `v`, with the capacity that ARENA_PUSH expects. */
static void *copy_list(Arena *a, const void *v, int n, size_t size) {
  size_t room = 1;
  while (room <= (size_t)n)
    room *= 2;
  return n ? arena_grow(a, (void *)v, (size_t)n, room, size) : NULL;
}

/* Replaces member `list` of `x`, with x->n##list elements, by a copy. */
#define OWN_LIST(a, x, list) ((x)->list = copy_list((a), (x)->list, (x)->n##list, sizeof *(x)->list))

/* Replaces `*b` by a copy, unless it is NULL. */
static void own_code(Arena *a, Block **b) {
  if (*b)
    *b = block_clone(a, *b, NULL, NULL);
}

/* Replaces all that stencil `st` points to by copies. */
static void own_stencil(Arena *a, Stencil *st) {
  OWN_LIST(a, st, targets);
  OWN_LIST(a, st, pieces);
  for (int i = 0; i < st->npieces; i++) {
    OWN_LIST(a, &st->pieces[i], targets);
    own_code(a, &st->pieces[i].body);
  }
}

/* Replaces all that kernel `k` points to by copies. */
static void own_kernel(Arena *a, Kernel *k) {
  OWN_LIST(a, k, multiples);
  OWN_LIST(a, k, args);
  OWN_LIST(a, k, arrays);
  own_code(a, &k->body);
}

/* Replaces all that host part `h` points to by copies. */
static void own_host(Arena *a, Host *h) {
  OWN_LIST(a, &h->init, ops);
  OWN_LIST(a, &h->once, ops);
  OWN_LIST(a, h, seqs);
  OWN_LIST(a, h, loops);
  for (int i = 0; i < h->nseqs; i++)
    OWN_LIST(a, &h->seqs[i], ops);
  for (int i = 0; i < h->nloops; i++) {
    OWN_LIST(a, &h->loops[i], seqs);
    OWN_LIST(a, &h->loops[i], renewed);
    for (int k = 0; k < h->loops[i].nseqs; k++)
      OWN_LIST(a, &h->loops[i].seqs[k], ops);
  }
}

/* Replaces the lists of declarations of `m` by copies. */
static void own_declared(Arena *a, Module *m) {
  OWN_LIST(a, m, scalars);
  OWN_LIST(a, m, composites);
  OWN_LIST(a, m, param_arrays);
  OWN_LIST(a, m, fields);
  OWN_LIST(a, m, records);
  OWN_LIST(a, m, checks);
  OWN_LIST(a, m, reductions);
  OWN_LIST(a, m, lists);
  OWN_LIST(a, m, probes);
  OWN_LIST(a, m, updates);
  OWN_LIST(a, m, repeats);
  for (int i = 0; i < m->nscalars; i++)
    own_code(a, &m->scalars[i].expr);
  for (int i = 0; i < m->nparam_arrays; i++)
    own_code(a, &m->param_arrays[i].value);
  for (int i = 0; i < m->nreductions; i++) {
    own_code(a, &m->reductions[i].body);
    own_code(a, &m->reductions[i].stop);
    OWN_LIST(a, &m->reductions[i].seq, ops);
  }
  for (int i = 0; i < m->nprobes; i++) {
    own_code(a, &m->probes[i].body);
    OWN_LIST(a, &m->probes[i].seq, ops);
  }
  for (int i = 0; i < m->nupdates; i++)
    own_code(a, &m->updates[i].body);
  OWN_LIST(a, m, by);
  if (m->nlosses)
    m->losses = copy_list(a, m->losses, m->nlosses, sizeof *m->losses);
  for (int i = 0; i < m->nlosses; i++)
    own_code(a, &m->losses[i].body);
}

Module *module_copy(Arena *a, const Module *m) {
  Module *c = ARENA_NEW(a, Module);
  *c = *m;
  c->arena = a;
  own_declared(a, c);
  OWN_LIST(a, c, inits);
  OWN_LIST(a, c, stencils);
  for (int i = 0; i < c->ninits; i++)
    own_stencil(a, &c->inits[i]);
  for (int i = 0; i < c->nstencils; i++)
    own_stencil(a, &c->stencils[i]);
  OWN_LIST(a, c, buffers);
  OWN_LIST(a, c, kernels);
  for (int i = 0; i < c->nkernels; i++)
    own_kernel(a, &c->kernels[i]);
  own_host(a, &c->host);
  return c;
}

Module *module_without_losses(Arena *a, Module *m) {
  if (!m->nlosses && !m->nby)
    return m;
  Module *c = ARENA_NEW(a, Module);
  *c = *m;
  c->nlosses = c->nby = 0;
  return c;
}
