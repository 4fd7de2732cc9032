/* mirror-stores.c: kernels of a part of a grid that store to other parts, too. What a launch stores to rows of a field
 * that the parts next to this one have as ghost cells it stores there as well, where devices reach each other's memory:
 * no copy comes behind the launch, and nothing but the end of the launch is waited for. For each buffer of a field that
 * parts exchange the kernel gets four arguments (MirrorArg):
 *
 *     args (reads @A, writes @A.next, mirror below @A.next, mirror above @A.next, mirror down @A.next, ...)
 *
 * and two more where not dimension 0 is cut, for rows of it are not as long in all parts. The last dimension must not
 * be cut: a vector would have cells of several rows. A store in row r, along the dimension that is cut, becomes
 *
 *     store v, address
 *     if r < below or r >= above { if r < below { store v, address + down }; if r >= above { store v, address + up } }
 *
 * Code generators write that out; the code here stays as it is. So the pass comes last. A launch that is to store
 * nothing elsewhere says so by `below` and `above`. Which launches do, and what they wait for, is the driver's
 * (driver/split/mirrors.c). */
#include "passes/registry.h"
#include "passes/passes.h"

/* Is buffer `b` that of a field which parts exchange as it lies? */
static bool is_exchanged(const Module *m, const Buffer *b) {
  const Field *f = b->kind == BUFFER_FIELD ? &m->fields[b->field] : NULL;
  return f && f->exchange == EXCHANGE_STEPS && !f->share && f->box.rank == m->grid.rank && !field_lacks_any(f);
}

/* Does the op store a row by a copy beside the threads (a block_walk callback)? */
static void note_bulk(void *user, Op *op) { *(bool *)user |= op->code == OP_BULK_STORE; }

/* Do kernels of the step store where a test of each row is in nobody's way? Tiles with classes are not trimmed to what
 * the part owns. The warps of a pipeline all wait for the one thread that has rows copied out, and a test takes
 * a tenth of its time: star2d1r on 2048 x 8192 of 8192^2 took 148 us for 16 steps and the exchange, and 135 with copies
 * behind the launch (four H200, 2026-11-29). */
static bool suits(const Module *m) {
  bool bulk = false, classes = false;
  for (int i = 0; i < m->nkernels; i++) {
    classes |= m->kernels[i].by_class;
    block_walk(m->kernels[i].body, note_bulk, &bulk);
  }
  return !bulk && !classes;
}

/* Adds the arguments for the buffers that `k` writes, of a grid that is cut along dimension `d`. How many buffers these
 * are. */
static int add_mirrors(PassContext *c, const Module *m, Kernel *k, int d) {
  int n = 0, nargs = k->nargs;
  for (int i = 0; i < nargs; i++) {
    KArg a = k->args[i];
    if (a.kind != KARG_BUFFER || !a.writes || !is_exchanged(m, &m->buffers[a.index]))
      continue;
    n++;
    for (int which = 0; which < (d ? MIRROR_ARGS : MIRROR_DOWN_ROW); which++)
      ARENA_PUSH(c->arena, k->args, k->nargs,
                 ((KArg){.kind = KARG_MIRROR, .index = a.index, .reads = true, .mirror = (MirrorArg)which}));
  }
  return n;
}

Module *pass_mirror_stores(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  int d = part_dimension(m);
  if (d < 0 || d > 1 || d == m->grid.rank - 1 || !suits(m))
    return m;
  for (int i = 0; i < m->nkernels; i++) {
    Kernel *k = &m->kernels[i];
    int mirrored = k->steps > 0 ? add_mirrors(c, m, k, d) : 0;
    if (mirrored)
      pass_stat(c, mirrored, "mirror-stores", "buffers of kernel %s that are stored to other parts, too", k->name);
  }
  return m;
}
