/* shared-alloc.c: assigns shared storage to the shared arrays of a kernel; arrays that are never live at the same time
 * share it.
 *
 * The lowering makes a new shared array for every version of a field. The live range of an array goes from the first to
 * the last op that touches it, in the order in which a thread executes the kernel. A `for` is one position for all
 * arrays that it touches, and so is an `if` at which threads diverge; the two branches of an `if` with the same
 * condition for the whole block begin at the same position. Arrays are placed in the order in which their live ranges
 * begin. Each takes the first storage that is free by then, preferably one of its own type and shape; the largest array
 * of a storage owns it. The result is the space of equation (3) of the paper: as many arrays as versions are live at
 * the same time. Reads of version v and writes of version v + 1 are in different loops, so a field by itself needs one
 * array: read, barrier, write in place, barrier.
 *
 * If that exceeds the limit of the target, storage is assigned by size instead, the largest array first, if the total
 * is then smaller. (In the order of births a small array may take the place of a large one that is born later.)
 *
 * An array that an `async.copy` fills is live until the end of the kernel, because no op says when the copy is done.
 *
 * The pass must run before `barriers`, which needs to know the shared storage. If the arrays exceed the target's limit,
 * that is an error. */
#include <inttypes.h>

#include "passes/simplify/analysis.h"

/* The positions at which an array is live, from first to last; none if last < first. */
typedef struct LiveRange {
  int32_t first, last;
} LiveRange;

/* The live ranges of a kernel's arrays, while its ops are numbered; the next op gets position `at`. */
typedef struct Liveness {
  const Kernel *k;
  LiveRange *live;
  int32_t at;
} Liveness;

/* Storage that several arrays use one after the other. Array `root` owns it, and it is free after position `last`. */
typedef struct Slot {
  int32_t root, last;
  int64_t bytes;
} Slot;

/* The slots of a kernel. */
typedef struct Slots {
  int32_t n;
  Slot *slot;
} Slots;

/* Extends the live range of array `array` to position `at`. */
static void touch(Liveness *l, int32_t array, int32_t at) {
  LiveRange *r = &l->live[array];
  if (r->last < r->first)
    *r = (LiveRange){at, at};
  r->first = at < r->first ? at : r->first;
  r->last = at > r->last ? at : r->last;
}

/* Extends the live ranges of the arrays that `op` touches to position `at`; that of an array filled by an asynchronous
 * copy to the end, because no op says when the copy is done. */
static void touch_op(Liveness *l, const Op *op, int32_t at) {
  if (op_array(op) >= 0)
    touch(l, op->sym, at);
  if (op->code == OP_ASYNC_COPY)
    touch(l, op->sym, INT32_MAX);
}

/* Extends the live ranges of all arrays that `b` and its nested blocks touch to position `at`. */
static void touch_block(Liveness *l, const Block *b, int32_t at) {
  for (const Op *op = b->first; op; op = op->next) {
    touch_op(l, op, at);
    for (int i = 0; i < op->nblocks; i++)
      touch_block(l, op->blocks[i], at);
  }
}

static void number_block(Liveness *l, const Block *b);

/* Numbers an if with the same condition for all threads of a block. They take one branch together, so both branches
 * begin at the same position. */
static void number_uniform_if(Liveness *l, const Op *op) {
  int32_t from = l->at;
  number_block(l, op->blocks[0]);
  int32_t end = l->at;
  l->at = from;
  number_block(l, op->blocks[1]);
  l->at = l->at > end ? l->at : end;
}

/* Numbers the ops of `b`. A for, and an if at which threads may diverge, is one position for all arrays that it
 * touches. */
static void number_block(Liveness *l, const Block *b) {
  for (const Op *op = b->first; op; op = op->next) {
    l->at++;
    touch_op(l, op, l->at);
    if (op->code == OP_IF && value_is_uniform(op->operands[0]))
      number_uniform_if(l, op);
    else
      for (int i = 0; i < op->nblocks; i++)
        touch_block(l, op->blocks[i], l->at);
  }
}

/* The live ranges of the arrays of `k`; arrays that share storage already count as one, their root. */
static LiveRange *live_ranges(Arena *a, const Kernel *k) {
  Liveness l = {k, ARENA_ARRAY(a, LiveRange, k->narrays), 0};
  for (int i = 0; i < k->narrays; i++)
    l.live[i] = (LiveRange){0, -1};
  number_block(&l, k->body);
  for (int i = 0; i < k->narrays; i++) {
    LiveRange r = l.live[i];
    if (k->arrays[i].storage < 0 || r.last < r.first)
      continue;
    touch(&l, kernel_storage(k, i), r.first);
    touch(&l, kernel_storage(k, i), r.last);
  }
  return l.live;
}

/* The first slot that is free before position `from`, preferably one with the layout of `array`; -1 if there is
 * none. */
static int find_slot(const Kernel *k, const Slots *s, const Array *array, int32_t from) {
  int any = -1;
  for (int i = 0; i < s->n; i++) {
    if (s->slot[i].last >= from)
      continue;
    if (array_same_layout(&k->arrays[s->slot[i].root], array))
      return i;
    any = any < 0 ? i : any;
  }
  return any;
}

/* Puts array `i`, with the live range `live`, into a free slot or a new one. The largest array of a slot is its
 * root. */
static void place_array(Arena *a, Kernel *k, Slots *s, int32_t i, LiveRange live) {
  int64_t bytes = shared_array_bytes(&k->arrays[i]);
  int found = find_slot(k, s, &k->arrays[i], live.first);
  if (found < 0) {
    Slot slot = {i, live.last, bytes};
    ARENA_PUSH(a, s->slot, s->n, slot);
    return;
  }
  Slot *slot = &s->slot[found];
  if (bytes > slot->bytes) {
    k->arrays[slot->root].storage = i;
    slot->root = i;
    slot->bytes = bytes;
  } else {
    k->arrays[i].storage = slot->root;
  }
  slot->last = live.last;
}

/* The shared arrays of `k` that own storage and have a live range, sorted by the begin of the range, then by number;
 * `n` is their number. */
static int32_t *arrays_by_birth(Arena *a, const Kernel *k, const LiveRange *live, int32_t *n) {
  int32_t *order = ARENA_ARRAY(a, int32_t, k->narrays);
  *n = 0;
  for (int32_t i = 0; i < k->narrays; i++) {
    if (k->arrays[i].space != SPACE_SHARED || k->arrays[i].storage >= 0 || live[i].last < live[i].first)
      continue;
    int32_t at = (*n)++;
    for (; at > 0 && live[order[at - 1]].first > live[i].first; at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  return order;
}

/* Assigns storage to the shared arrays of `k` by first fit, in the order in which the ranges `live` begin. */
static void allocate_by_birth(Arena *a, Kernel *k, const LiveRange *live) {
  Slots s = {0};
  int32_t n, *order = arrays_by_birth(a, k, live, &n);
  for (int32_t i = 0; i < n; i++)
    place_array(a, k, &s, order[i], live[order[i]]);
  for (int32_t i = 0; i < k->narrays; i++)
    if (k->arrays[i].storage >= 0)
      k->arrays[i].storage = kernel_storage(k, i);
}

/* Sorts the `n` arrays `order` of `k` by falling size; those of one size keep their order. */
static void sort_by_size(const Kernel *k, int32_t n, int32_t *order) {
  for (int32_t i = 1; i < n; i++)
    for (int32_t at = i;
         at > 0 && shared_array_bytes(&k->arrays[order[at - 1]]) < shared_array_bytes(&k->arrays[order[at]]); at--) {
      int32_t array = order[at];
      order[at] = order[at - 1];
      order[at - 1] = array;
    }
}

/* Is array `i` never live at the same time as array `root`, or as any of the `n` arrays `order` that share the storage
 * of `root`? */
static bool is_free_for(const Kernel *k, const LiveRange *live, int32_t n, const int32_t *order, int32_t root,
                        int32_t i) {
  for (int32_t j = 0; j < n; j++)
    if ((order[j] == root || k->arrays[order[j]].storage == root) && live[order[j]].first <= live[i].last &&
        live[i].first <= live[order[j]].last)
      return false;
  return true;
}

/* Assigns storage to the shared arrays of `k`, the largest first, each to the first storage of a larger array that is
 * free during its whole live range. So no small array takes the place of a large one that is born later. */
static void allocate_by_size(Arena *a, Kernel *k, const LiveRange *live) {
  int32_t n, *order = arrays_by_birth(a, k, live, &n);
  sort_by_size(k, n, order);
  for (int32_t i = 1; i < n; i++)
    for (int32_t j = 0; j < i && k->arrays[order[i]].storage < 0; j++)
      if (k->arrays[order[j]].storage < 0 && is_free_for(k, live, i, order, order[j], order[i]))
        k->arrays[order[i]].storage = order[j];
  for (int32_t i = 0; i < k->narrays; i++)
    if (k->arrays[i].storage >= 0)
      k->arrays[i].storage = kernel_storage(k, i);
}

/* Do `bytes` of shared memory a block fit target `t`? (NULL: no target is known) */
static bool fits(const TargetInfo *t, int64_t bytes) {
  return !t || t->max_shared_bytes <= 0 || bytes <= t->max_shared_bytes;
}

/* Assigns storage to the shared arrays of `k`: by birth, or by size if the former does not fit the target and the
 * latter is smaller. */
static void allocate(PassContext *c, Kernel *k) {
  const LiveRange *live = live_ranges(c->arena, k);
  int32_t *given = ARENA_ARRAY(c->arena, int32_t, k->narrays), *born = ARENA_ARRAY(c->arena, int32_t, k->narrays);
  for (int32_t i = 0; i < k->narrays; i++)
    given[i] = k->arrays[i].storage;
  allocate_by_birth(c->arena, k, live);
  int64_t bytes = kernel_shared_bytes(k);
  if (fits(c->target, bytes))
    return;
  for (int32_t i = 0; i < k->narrays; i++) {
    born[i] = k->arrays[i].storage;
    k->arrays[i].storage = given[i];
  }
  allocate_by_size(c->arena, k, live);
  bool more = kernel_shared_bytes(k) > bytes;
  for (int32_t i = 0; i < k->narrays && more; i++)
    k->arrays[i].storage = born[i];
}

/* Do the shared arrays of `k` fit the target? Reports it if they do not. */
static bool check_size(PassContext *c, const Kernel *k, int64_t bytes) {
  const TargetInfo *t = c->target;
  if (fits(t, bytes))
    return true;
  diag_error(c->diags, k->loc,
             "kernel '%s' needs %" PRId64 " bytes of shared memory a block, but %s allows at most %" PRId64
             "; take fewer points a block (-block, -elems) or fewer time steps a tile (-T)",
             k->name, bytes, t->cpu ? t->cpu : t->name, t->max_shared_bytes);
  return false;
}

/* The pass: every kernel of the module. */
Module *pass_shared_alloc(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  bool ok = true;
  for (int i = 0; i < m->nkernels; i++) {
    Kernel *k = &m->kernels[i];
    int64_t before = kernel_shared_bytes(k);
    if (!block_has_signals(k->body))
      allocate(c, k);
    int64_t after = kernel_shared_bytes(k);
    ok &= check_size(c, k, after);
    pass_stat(c, before, "shared-alloc", "shared bytes of kernel %s as lowered", k->name);
    pass_stat(c, after, "shared-alloc", "shared bytes of kernel %s with shared storage", k->name);
  }
  return ok ? m : NULL;
}
