/* mirror-stores.c: kernels of a part of a grid that store to other parts, too. What a launch stores to rows of a field
 * that the parts next to this one have as ghost cells it stores there as well, where devices reach each other's memory:
 * no copy comes behind the launch, and nothing but the end of the launch is waited for. For each buffer of a field that
 * parts exchange the kernel gets four arguments (MirrorArg):
 *
 *     args (reads @A, writes @A.next, mirror below @A.next, mirror above @A.next, mirror down @A.next, ...)
 *
 * A store in row r, along the dimension that is cut, becomes
 *
 *     store v, address
 *     if r < below or r >= above { if r < below { store v, address + down }; if r >= above { store v, address + up } }
 *
 * Code generators write that out; the code here stays as it is. So the pass comes last. A launch that is to store
 * nothing elsewhere says so by `below` and `above`. Which launches do, and what they wait for, is the driver's
 * (driver/split/mirrors.c). */
#include "passes/passes.h"

/* Is buffer `b` that of a field which parts that lie beside each other along dimension `d` exchange as it lies? */
static bool is_exchanged(const Module *m, const Buffer *b, int d) {
  const Field *f = b->kind == BUFFER_FIELD ? &m->fields[b->field] : NULL;
  if (!f || f->exchange != EXCHANGE_STEPS || f->share || f->box.rank != m->grid.rank)
    return false;
  return d >= 0 && !field_lacks_any(f);
}

/* Adds the arguments for the buffers that `k` writes. How many buffers these are. */
static int add_mirrors(PassContext *c, const Module *m, Kernel *k, int d) {
  int n = 0, nargs = k->nargs;
  for (int i = 0; i < nargs; i++) {
    KArg a = k->args[i];
    if (a.kind != KARG_BUFFER || !a.writes || !is_exchanged(m, &m->buffers[a.index], d))
      continue;
    n++;
    for (int which = 0; which < MIRROR_ARGS; which++)
      ARENA_PUSH(c->arena, k->args, k->nargs,
                 ((KArg){.kind = KARG_MIRROR, .index = a.index, .reads = true, .mirror = (MirrorArg)which}));
  }
  return n;
}

Module *pass_mirror_stores(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  int d = part_dimension(m);
  for (int i = 0; i < m->nkernels; i++)
    d = m->kernels[i].by_class ? -1 : d; /* such parts are not trimmed to what they own */
  for (int i = 0; i < m->nkernels; i++) {
    Kernel *k = &m->kernels[i];
    int mirrored = k->steps > 0 ? add_mirrors(c, m, k, d) : 0;
    if (mirrored)
      pass_stat(c, mirrored, "mirror-stores", "buffers of kernel %s that are stored to other parts, too", k->name);
  }
  return m;
}
