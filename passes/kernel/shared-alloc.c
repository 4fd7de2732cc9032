/* shared-alloc.c: shared arrays of a kernel that are never alive at once share storage.
 *
 * The lowering makes a new shared array for every version of a field. An array is alive from the first to the last op
 * that touches it, in the order in which a thread runs through the kernel; a `for`, and an `if` that threads take
 * apart, is one position for all it touches; the two branches of an `if` that a whole block decides alike begin at the
 * same position. In the order of their births arrays get the first storage that is free by then, one of the same type
 * and shape before others; the largest array of a storage owns it. What remains is the space of equation (3): as many
 * arrays as versions are alive at the same time. Reading version v and writing version v + 1 are different loops, so a
 * field alone needs one array: read, barrier, write in place, barrier.
 *
 * Where that is more than the target allows, storage is assigned by size instead, the largest first, if that takes
 * less: in the order of births a small array may take the place of a large one that is born later.
 *
 * An array that an `async.copy` fills is alive to the end of the kernel, since no op says when the copy is done.
 *
 * It must run before `barriers`, which sees the sharing. More bytes than the target allows is an error. */
#include <inttypes.h>

#include "passes/simplify/analysis.h"

/* The positions from first to last at which an array is alive; none if last < first. */
typedef struct LiveRange {
  int32_t first, last;
} LiveRange;

/* Live ranges of a kernel's arrays, while its ops are being numbered: the next op has position `at`. */
typedef struct Liveness {
  const Kernel *k;
  LiveRange *live;
  int32_t at;
} Liveness;

/* Storage that one or more arrays share one after the other: it belongs to array `root` and is free after position
 * `last`. */
typedef struct Slot {
  int32_t root, last;
  int64_t bytes;
} Slot;

/* The slots of a kernel. */
typedef struct Slots {
  int32_t n;
  Slot *slot;
} Slots;

/* Array `array` is alive at position `at`. */
static void touch(Liveness *l, int32_t array, int32_t at) {
  LiveRange *r = &l->live[array];
  if (r->last < r->first)
    *r = (LiveRange){at, at};
  r->first = at < r->first ? at : r->first;
  r->last = at > r->last ? at : r->last;
}

/* What `op` touches is alive at position `at`; what an asynchronous copy fills, from then on to the end, as no barrier
 * says when it is done. */
static void touch_op(Liveness *l, const Op *op, int32_t at) {
  if (op_array(op) >= 0)
    touch(l, op->sym, at);
  if (op->code == OP_ASYNC_COPY)
    touch(l, op->sym, INT32_MAX);
}

/* All arrays that `b` and its nested blocks touch are alive at position `at`. */
static void touch_block(Liveness *l, const Block *b, int32_t at) {
  for (const Op *op = b->first; op; op = op->next) {
    touch_op(l, op, at);
    for (int i = 0; i < op->nblocks; i++)
      touch_block(l, op->blocks[i], at);
  }
}

static void number_block(Liveness *l, const Block *b);

/* An if whose condition is the same for all threads of a block: they go through one branch together, so both branches
 * begin at the same position. */
static void number_uniform_if(Liveness *l, const Op *op) {
  int32_t from = l->at;
  number_block(l, op->blocks[0]);
  int32_t end = l->at;
  l->at = from;
  number_block(l, op->blocks[1]);
  l->at = l->at > end ? l->at : end;
}

/* Numbers the ops of `b`. What a for, or an if that threads may take apart, touches is alive together: it is one
 * position. */
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

/* The live ranges of the arrays of `k`; those that share storage already count as one, the root. */
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

/* Bytes of an array; INT64_MAX / 64 if there are more. */
static int64_t array_bytes(const Array *a) {
  int64_t n = type_size(a->type);
  for (int d = 0; d < a->rank; d++)
    if (__builtin_mul_overflow(n, (int64_t)a->shape[d], &n) || n > INT64_MAX / 64)
      return INT64_MAX / 64;
  return n;
}

/* The first slot that is free before position `from`, one of the layout of `array` before others; -1 if there is none.
 */
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

/* Gives array `i`, alive in `live`, a slot, an old one if one is free. The largest array of a slot is its root. */
static void place_array(Arena *a, Kernel *k, Slots *s, int32_t i, LiveRange live) {
  int64_t bytes = array_bytes(&k->arrays[i]);
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

/* The shared arrays with storage of their own that are alive at all, by the begin of their lives (then by number), `n`
 * of them. */
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

/* Lets the shared arrays of `k`, alive in `live`, share storage: first fit in the order of their births. */
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
    for (int32_t at = i; at > 0 && array_bytes(&k->arrays[order[at - 1]]) < array_bytes(&k->arrays[order[at]]); at--) {
      int32_t array = order[at];
      order[at] = order[at - 1];
      order[at - 1] = array;
    }
}

/* Is array `i` dead whenever array `root`, or one of the `n` arrays `order` that has its storage, is alive? */
static bool is_free_for(const Kernel *k, const LiveRange *live, int32_t n, const int32_t *order, int32_t root,
                        int32_t i) {
  for (int32_t j = 0; j < n; j++)
    if ((order[j] == root || k->arrays[order[j]].storage == root) && live[order[j]].first <= live[i].last &&
        live[i].first <= live[order[j]].last)
      return false;
  return true;
}

/* Lets the shared arrays of `k`, alive in `live`, share storage: the largest first, each in the first storage of a
 * larger one that is free for all its life. Then no small array takes the place of a large one which is born later. */
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

/* Do `bytes` of shared memory a block fit target `t` (NULL: not known)? */
static bool fits(const TargetInfo *t, int64_t bytes) {
  return !t || t->max_shared_bytes <= 0 || bytes <= t->max_shared_bytes;
}

/* Lets the shared arrays of `k` share storage: by birth, or, where that does not fit the target, by size, if that is
 * less. */
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

/* Do the shared arrays of `k` fit the target? Reports it if not. */
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
