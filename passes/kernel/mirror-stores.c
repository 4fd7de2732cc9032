/* mirror-stores.c: makes kernels of a part of a grid store to neighbouring parts, too. If a launch stores rows that are
 * ghost cells of another part, and the devices can access each other's memory, it stores them there as well. Then no
 * copy follows the launch, and other parts wait only for its end. For each buffer of a field that parts exchange, the
 * kernel gets four arguments (MirrorArg):
 *
 *     args (reads @A, writes @A.next, mirror below @A.next, mirror above @A.next, mirror down @A.next, ...)
 *
 * and two more if the cut dimension is not dimension 0, because rows then have different lengths in the parts. The last
 * dimension must not be cut: a vector would contain cells of several rows. A store in row r along the cut dimension
 * becomes
 *
 *     store v, address
 *     if r < below or r >= above { if r < below { store v, address + down }; if r >= above { store v, address + up } }
 *
 * Code generators emit these tests; the kernel IR does not contain them. So this pass must come last. For a launch that
 * must not store to other parts the driver sets `below` and `above` so that no row qualifies. The driver decides which
 * launches mirror their stores and what they wait for (driver/split/mirrors.c). */
#include "passes/registry.h"
#include "passes/passes.h"

/* Does buffer `b` belong to a field that parts exchange in its own layout? */
static bool is_exchanged(const Module *m, const Buffer *b) {
  const Field *f = b->kind == BUFFER_FIELD ? &m->fields[b->field] : NULL;
  return f && f->exchange == EXCHANGE_STEPS && !f->share && f->box.rank == m->grid.rank && !field_lacks_any(f);
}

/* Notes in *user whether `op` is a bulk store, which copies a row without the threads (a block_walk callback). */
static void note_bulk(void *user, Op *op) { *(bool *)user |= op->code == OP_BULK_STORE; }

/* Can the kernels of the step mirror their stores at no great cost? Not kernels with classes of tiles: their tiles are
 * not trimmed to the points that the part owns. Not pipelines of warps: all warps wait for the one thread that starts
 * the bulk stores of rows, and a test costs a tenth of that thread's time. star2d1r, 2048 x 8192 points of 8192^2, 16
 * steps and the exchange: 148 us with mirrored stores, 135 us with copies after the launch (four H200, 2026-11-29). */
static bool suits(const Module *m) {
  bool bulk = false, classes = false;
  for (int i = 0; i < m->nkernels; i++) {
    classes |= m->kernels[i].by_class;
    block_walk(m->kernels[i].body, note_bulk, &bulk);
  }
  return !bulk && !classes;
}

/* Adds the arguments for the buffers that `k` writes, for a grid cut along dimension `d`. Returns the number of these
 * buffers. */
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
