/* early-signals.c: replaces the barrier between neighbouring warps at the end of each streaming step by signals. A warp
 * signals its neighbours directly after its last access to shared memory in the step, and waits for their signals at
 * the place of the barrier. Its work between the two hides the delay of its neighbours.
 *
 *   shared @done : i64[warps, 2]
 *   for t = 0 to N step S {
 *     ... accesses
 *     barrier.warp
 *     if elect { signal.arrive @done[warp, b] }
 *     ... the rest
 *     signal.wait parity, @done[warp - 1, b]
 *     signal.wait parity, @done[warp + 1, b]
 *   }
 *
 * Signals come in pairs that take turns, so a warp that is a step ahead of a neighbour does not end the phase for which
 * the neighbour still waits. The first and the last warp wait for themselves instead of a missing neighbour, so no test
 * makes the threads of a warp diverge.
 *
 * Barriers are counted over all rounds of the streaming loop, including those of its parts (`split-loops`): barrier q
 * uses signal q modulo 2, whose phase has the parity of q / 2. A warp reaches barrier q + 2 only after its neighbours
 * arrive at q + 1, and they arrive there after their wait at q; so no phase ends twice before a neighbour has seen it.
 * Stores to shared memory move up as far as the stored values and other accesses to the same cells allow, but past no
 * barrier, so the other threads do the same work at the same time. Rings for copies do not count, because each thread
 * has its own part of them.
 *
 * The pass does so in streaming loops over 8-byte elements, which leave every other issue slot free. In other loops it
 * does so if at least the plan's `behind` per cent of a step (default 30) come after the last access, because signals
 * take 17 instructions of a warp where barriers take two. A kernel keeps its barriers if its streaming loop does not
 * begin at 0, has other barriers or barriers in ifs, if there are several such loops, or if there is no room for
 * signals. Measured: docs/lab/streaming.md#signals-in-place-of-barriers-2026-11-23. */
#include "passes/kernel/crossing.h"
#include "passes/passes.h"

/* The state of the pass on a kernel: its streaming loops, the number of barriers in each body, and the increment of
 * each loop's number; the array of signals; the numbers of the previous warp, this warp and the next warp; the per cent
 * of a step that must come after a warp's last access. */
typedef struct StreamLoops {
  PassContext *c;
  Kernel *k;
  int32_t n;
  Op **v;
  int64_t barriers, stride;
  bool ok, *crosses;
  int32_t bytes;
  int32_t done;
  int64_t behind_least;
  Value *warp, *before, *behind;
} StreamLoops;

/* Sets *near if `b` or a nested block has barriers between neighbours, *others if it has other barriers. */
static void look_for_barriers(const Block *b, bool *near, bool *others) {
  for (const Op *op = b->first; op; op = op->next) {
    *near |= op->code == OP_BARRIER_NEAR;
    *others |= op->code == OP_BARRIER;
    for (int i = 0; i < op->nblocks; i++)
      look_for_barriers(op->blocks[i], near, others);
  }
}

/* The number of barriers between neighbours in `b` itself. */
static int64_t count_barriers(const Block *b) {
  int64_t n = 0;
  for (const Op *op = b->first; op; op = op->next)
    n += op->code == OP_BARRIER_NEAR;
  return n;
}

/* Adds the streaming loop `op`. Its increment and number of barriers must equal those of the loops added before. */
static void add_stream_loop(StreamLoops *w, Op *op) {
  int64_t barriers = count_barriers(op->blocks[0]);
  for (const Op *in = op->blocks[0]->first; in; in = in->next)
    for (int i = 0; i < in->nblocks; i++) {
      bool near = false, others = false;
      look_for_barriers(in->blocks[i], &near, &others);
      w->ok &= !near && !others;
    }
  w->ok &= op->blocks[0]->args[0]->type == TY_I32;
  w->ok &= !w->n || (barriers == w->barriers && op->off[0] == w->stride);
  w->barriers = barriers;
  w->stride = op->off[0];
  ARENA_PUSH(w->c->arena, w->v, w->n, op);
}

/* Does the streaming loop begin at 0, one of whose parts is `part`? */
static bool parts_begin_at_0(const Op *part) {
  const Value *lo = part->operands[0];
  int64_t first;
  if (part->flags & FOR_MIDDLE)
    return true;
  if (lo->def && lo->def->code == OP_SELECT)
    lo = lo->def->operands[2];
  return value_is_int(lo, &first) && first == 0;
}

/* Adds the for `op`, which contains barriers between neighbours: a streaming loop that begins at 0, or one whose rounds
 * pass split-loops has divided into consecutive parts. */
static void add_loop(StreamLoops *w, Op *op) {
  int64_t lo;
  bool near = false, others = false;
  look_for_barriers(op->blocks[0], &near, &others);
  w->ok &= !others;
  if (!op->count) {
    w->ok &= value_is_int(op->operands[0], &lo) && lo == 0;
    add_stream_loop(w, op);
    return;
  }
  for (Op *part = op->blocks[0]->first; part; part = part->next)
    if (part->code == OP_FOR && (part->flags & (FOR_EDGES | FOR_MIDDLE))) {
      w->ok &= parts_begin_at_0(part);
      add_stream_loop(w, part);
    } else {
      w->ok &= !part->nblocks && !op_is_barrier(part);
    }
}

/* Finds the streaming loops in `b` and nested blocks. Returns the most of them that one thread executes. */
static int find_stream_loops(StreamLoops *w, Block *b) {
  int n = 0;
  for (Op *op = b->first; op; op = op->next) {
    bool near = false, others = false;
    for (int i = 0; i < op->nblocks; i++)
      look_for_barriers(op->blocks[i], &near, &others);
    if (op->code == OP_FOR && near) {
      add_loop(w, op);
      n++;
    } else if (op->code == OP_IF && near) {
      int one = find_stream_loops(w, op->blocks[0]), other = find_stream_loops(w, op->blocks[1]);
      w->ok &= value_is_uniform(op->operands[0]);
      n += one > other ? one : other;
    }
    w->ok &= op->code != OP_BARRIER_NEAR;
  }
  return n;
}

/* ---- what is touched by several threads */

/* Accesses to arrays of shared memory. */
typedef struct Accesses {
  int32_t n;
  Access **v;
} Accesses;

static void collect(const StreamLoops *w, Crossing *crossing, const Block *b, Accesses *all) {
  for (const Op *op = b->first; op; op = op->next) {
    if (op_array(op) >= 0 && w->k->arrays[op->sym].space == SPACE_SHARED) {
      Access *x = access_new(crossing, op, true);
      ARENA_PUSH(w->c->arena, all->v, all->n, x);
    }
    for (int i = 0; i < op->nblocks; i++)
      collect(w, crossing, op->blocks[i], all);
  }
}

/* Finds the arrays in whose storage accesses of different threads cross. */
static void find_crossing_arrays(StreamLoops *w, Module *m) {
  Crossing *crossing = crossing_new(w->c->arena, ranges_new(w->c->arena, m, w->k, w->k->body));
  Accesses all = {0};
  w->crosses = ARENA_ARRAY(w->c->arena, bool, w->k->narrays + 1);
  collect(w, crossing, w->k->body, &all);
  for (int i = 0; i < all.n; i++)
    for (int j = i; j < all.n; j++)
      if (!(w->crosses[all.v[i]->array] && w->crosses[all.v[j]->array]) && accesses_cross(crossing, all.v[i], all.v[j]))
        w->crosses[all.v[i]->array] = w->crosses[all.v[j]->array] = true;
  for (int i = 0; i < w->k->narrays; i++)
    if (w->crosses[i] && type_size(w->k->arrays[i].type) > w->bytes)
      w->bytes = type_size(w->k->arrays[i].type);
}

/* Does `op`, or an op nested in it, touch shared memory in which threads cross? */
static bool touches(const StreamLoops *w, const Op *op) {
  if (op_array(op) >= 0 && w->k->arrays[op->sym].space == SPACE_SHARED && w->crosses[op->sym])
    return true;
  for (int i = 0; i < op->nblocks; i++)
    for (const Op *in = op->blocks[i]->first; in; in = in->next)
      if (touches(w, in))
        return true;
  return false;
}

/* Are the cells of `x` and `y`, of one array, surely different, because an index other than the last differs? */
static bool are_apart(const StreamLoops *w, const Op *x, const Op *y) {
  Value *const *i = x->operands + op_first_index(x), *const *j = y->operands + op_first_index(y);
  for (int d = 0; d < w->k->arrays[x->sym].rank - 1; d++) {
    int64_t a = 0, b = 0;
    bool known = i[d] == j[d] || (value_is_int(i[d], &a) && value_is_int(j[d], &b));
    if (known && a + x->off[d] != b + y->off[d])
      return true;
  }
  return false;
}

/* Must `op`, a store to shared memory, stay after `before`? */
static bool stays_behind(const StreamLoops *w, const Op *op, const Op *before) {
  if (op_is_barrier(before) || before->code == OP_ASYNC_WAIT)
    return true;
  for (int i = 0; i < op->noperands; i++)
    if (op->operands[i]->def == before)
      return true;
  if (before->nblocks)
    return touches(w, before);
  if (op_array(before) < 0 || kernel_storage(w->k, before->sym) != kernel_storage(w->k, op->sym))
    return false;
  return before->sym != op->sym || !are_apart(w, op, before);
}

/* The op before which `op` may move: for a store to memory that threads share, the earliest possible place, else `op`
 * itself. No store passes a barrier, so other threads run the same code at that time. */
static Op *raised(const StreamLoops *w, Op *op) {
  Op *to = op;
  if (op_array_written(op) >= 0 && op->code != OP_ASYNC_COPY && touches(w, op))
    while (to->prev && !stays_behind(w, op, to->prev))
      to = to->prev;
  return to;
}

/* Moves the stores of `b` to their earliest possible places. */
static void raise_stores(const StreamLoops *w, Block *b) {
  for (Op *op = b->first, *next; op; op = next) {
    next = op->next;
    Op *to = raised(w, op);
    if (to == op)
      continue;
    op_unlink(op);
    op_insert(b, to, op);
  }
}

/* ---- signals */

/* A short name for integer constants. */
static Value *number(Builder *b, int64_t x) { return build_int(b, TY_I32, x); }

/* The bytes of the signals of `k`. */
static int64_t bytes_of_signals(const Kernel *k) { return kernel_threads(k) / WARP_LANES * 2 * type_size(TY_I64); }

/* Computes the warp numbers and initializes the signals, at the kernel's begin. */
static void start_signals(StreamLoops *w) {
  Kernel *k = w->k;
  int64_t warps = kernel_threads(k) / WARP_LANES;
  Builder b = builder_before(w->c->arena, k->body->first);
  b.loc = k->loc;
  Array a = {
      .name = "done", .type = TY_I64, .space = SPACE_SHARED, .rank = 2, .storage = -1, .shape = {(int32_t)warps, 2}};
  w->done = k->narrays;
  ARENA_PUSH(w->c->arena, k->arrays, k->narrays, a);
  Value *flat = build_dim(&b, OP_THREAD, 0);
  for (int d = 1; d < k->rank; d++)
    flat = build2(&b, OP_ADD, build2(&b, OP_MUL, flat, number(&b, k->threads[d])), build_dim(&b, OP_THREAD, d));
  w->warp = build1(&b, OP_UNIFORM, build2(&b, OP_DIV, flat, number(&b, WARP_LANES)));
  w->before = build2(&b, OP_MAX, build2(&b, OP_SUB, w->warp, number(&b, 1)), number(&b, 0));
  w->behind = build2(&b, OP_MIN, build2(&b, OP_ADD, w->warp, number(&b, 1)), number(&b, warps - 1));
  Op *one = build_if(&b, build_op(&b, OP_ELECT, TY_BOOL, 0, NULL)->results[0], 0, NULL);
  Builder in = builder_at_end(b.arena, one->blocks[0]);
  in.loc = b.loc;
  for (int i = 0; i < 2; i++)
    build_signal(&in, OP_SIGNAL_INIT, w->done, number(&in, 1), 2, (Value *[]){w->warp, number(&in, i)}, NULL);
  build_barrier(&b);
}

/* Finds the signal of a pair (*slot) and the phase parity for barrier number `at` in the body of streaming loop `loop`.
 * The barriers so far are those of earlier rounds and `at` of this one. */
static void find_turn(const StreamLoops *w, Builder *b, const Op *loop, int64_t at, Value **slot, Value **parity) {
  Value *two = number(b, 2), *rounds = build2(b, OP_DIV, loop->blocks[0]->args[0], number(b, w->stride));
  if (w->barriers % 2 == 0) {
    *slot = number(b, at % 2);
    *parity = number(b, at / 2 % 2);
    if (w->barriers % 4)
      *parity = build2(b, OP_REM, build2(b, OP_ADD, rounds, *parity), two);
    return;
  }
  Value *all = build2(b, OP_ADD, build2(b, OP_MUL, rounds, number(b, w->barriers)), number(b, at));
  *slot = build2(b, OP_REM, all, two);
  *parity = build2(b, OP_REM, build2(b, OP_DIV, all, two), two);
}

/* The op of the barrier's block (or the barrier itself) before which the warp has finished its accesses to shared
 * memory. It stands after the waits that have replaced the previous barrier. */
static Op *done_before(const StreamLoops *w, Op *barrier) {
  Op *at = barrier;
  while (at->prev && !op_is_barrier(at->prev) && !op_is_signal(at->prev) && !touches(w, at->prev) &&
         at->prev->code != OP_ASYNC_WAIT)
    at = at->prev;
  return at;
}

/* The number of ops from `op` to the next barrier. */
static int64_t to_barrier(const Op *op) {
  int64_t n = 0;
  for (; op && op->code != OP_BARRIER_NEAR; op = op->next)
    n++;
  return n;
}

/* Is there enough work between a warp's last access, after stores have moved up, and `barrier`, the last op of a
 * step? */
static bool hides_enough(const StreamLoops *w, Op *barrier) {
  int64_t all = 0, loads = -1, behind = INT64_MAX;
  for (Op *op = barrier->prev; op && op->code != OP_BARRIER_NEAR; op = op->prev, all++) {
    if (!touches(w, op))
      continue;
    if (op_array_written(op) >= 0) {
      int64_t n = to_barrier(raised(w, op));
      behind = n < behind ? n : behind;
    } else if (loads < 0) {
      loads = all;
    }
  }
  behind = loads >= 0 && loads < behind ? loads : behind;
  return 100 * (double)behind >= (double)(w->behind_least * all);
}

/* Do signals pay in all streaming loops? With f64, which leaves every other issue slot free, they do; else they pay if
 * the work that they hide is enough for their instructions. */
static bool is_worth_it(const StreamLoops *w) {
  for (int i = 0; i < w->n && w->bytes < 8; i++)
    for (Op *op = w->v[i]->blocks[0]->first; op; op = op->next)
      if (op->code == OP_BARRIER_NEAR && !hides_enough(w, op))
        return false;
  return true;
}

/* Replaces `barrier`, number `at` of streaming loop `loop`, by signals. */
static void replace(const StreamLoops *w, const Op *loop, Op *barrier, int64_t at) {
  Value *slot, *parity;
  Builder b = builder_before(w->c->arena, done_before(w, barrier));
  b.loc = barrier->loc;
  find_turn(w, &b, loop, at, &slot, &parity);
  build_bare(&b, OP_BARRIER_WARP);
  Op *one = build_if(&b, build_op(&b, OP_ELECT, TY_BOOL, 0, NULL)->results[0], 0, NULL);
  Builder in = builder_at_end(b.arena, one->blocks[0]);
  in.loc = b.loc;
  build_signal(&in, OP_SIGNAL_ARRIVE, w->done, NULL, 2, (Value *[]){w->warp, slot}, NULL);
  b = builder_before(w->c->arena, barrier);
  b.loc = barrier->loc;
  build_signal(&b, OP_SIGNAL_WAIT, w->done, parity, 2, (Value *[]){w->before, slot}, NULL);
  build_signal(&b, OP_SIGNAL_WAIT, w->done, parity, 2, (Value *[]){w->behind, slot}, NULL);
  op_unlink(barrier);
}

/* Replaces the barriers of streaming loop `loop`. */
static void replace_all(const StreamLoops *w, const Op *loop) {
  int64_t at = 0;
  for (Op *op = loop->blocks[0]->first, *next; op; op = next) {
    next = op->next;
    if (op->code == OP_BARRIER_NEAR)
      replace(w, loop, op, at++);
  }
}

/* ---- kernels */

/* Runs the pass on one kernel; true if it changed. */
static bool signal_early(PassContext *c, Module *m, Kernel *k, int64_t behind) {
  StreamLoops w = {.c = c, .k = k, .ok = true, .behind_least = behind};
  bool near = false, others = false;
  look_for_barriers(k->body, &near, &others);
  if (!near || !c->target->bulk_copy || find_stream_loops(&w, k->body) != 1 || !w.ok || kernel_warp(k) != WARP_LANES)
    return false;
  find_crossing_arrays(&w, m);
  if (!is_worth_it(&w) || kernel_shared_bytes(k) + bytes_of_signals(k) > c->target->max_shared_bytes)
    return false;
  start_signals(&w);
  for (int i = 0; i < w.n; i++) {
    raise_stores(&w, w.v[i]->blocks[0]);
    replace_all(&w, w.v[i]);
  }
  return true;
}

/* The pass: every kernel of the module. */
Module *pass_early_signals(PassContext *c, Module *m, int n, const PassOption *o) {
  bool ok = true;
  int64_t behind = pass_option_int(c, "early-signals", n, o, "behind", 0, 101, 0, &ok);
  for (int i = 0; i < m->nkernels; i++) {
    block_renumber(m->kernels[i].body, 0);
    if (signal_early(c, m, &m->kernels[i], behind)) {
      pass_stat(c, 1, "early-signals", "streaming loops whose warps tell their neighbours early in kernel %s",
                m->kernels[i].name);
      simplify_kernel(c, m, &m->kernels[i]);
    }
  }
  return ok ? m : NULL;
}
