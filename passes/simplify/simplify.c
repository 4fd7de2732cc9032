/* simplify.c: folds constants, merges equal values, splices decided branches, and removes dead ops, at both levels of
 * IR.
 *
 * Each round visits a body once in order of dominance. It first folds an op by itself (`fold.c`). If the op is still
 * there, it looks it up in a hash table of available ops; the ops of a block leave the table at the end of the block.
 * Then one backward sweep counts uses and removes dead ops. Rounds repeat until nothing changes, at most 12. Each round
 * is linear in the number of ops; two or three rounds are common.
 *
 * - Constants are folded by `eval_op`, the interpreter's own arithmetic. A fold that would give a NaN is left to the
 *   device.
 * - Floats: only `x * 1`, `x / 1`, `x - 0` and `x + -0`, which change no bit. `x + 0` is not one of them (-0 + 0 is 0).
 * - Integers: constants move to the root of a chain of sums, so `(i + 1) + (j - 3)` becomes `(i + j) - 2`. A sum whose
 *   linear form is a constant or one other value becomes that.
 * - Comparisons, `min`, `max`, `inside` and idx.* are folded where intervals decide them for all params. idx.guard of a
 *   constant that it would move stays, because it marks a stale value.
 * - Indices: the constant in an index operand `i + c` of loads, stores, copies and idx.* moves to the op's constant
 *   offset. So neighbours share the same base operands and differ in offsets, which become immediates in addresses. For
 *   32-bit indices this is done only if `i` and `i + c` cannot wrap.
 * - An `if` with a known condition, and a `for` that runs once or never, are replaced by their bodies. Inside an `if`
 *   its condition is known.
 * - Loads are merged only from buffers to which the kernel does not store. Nothing moves across a barrier; barriers are
 *   neither moved nor removed.
 * - Stores to arrays that nobody loads, and arrays that nobody touches, are removed. */
#include <inttypes.h>
#include <string.h>

#include "passes/simplify/simplify.h"

/* A limit above the number of rounds of any real kernel. */
enum { MAX_ROUNDS = 12 };

static void simplify_block(Simplifier *s, Block *b);

/* ---------------------------------------------------------------- forwarding */

/* The value that replaces `v` now. */
static Value *forwarded(Simplifier *s, Value *v) {
  while (v->id >= 0 && v->id < s->n_forward && s->forward[v->id])
    v = s->forward[v->id];
  return v;
}

/* Replaces `v` by `by` from here on (NULL: no longer). */
static void forward_to(Simplifier *s, Value *v, Value *by) {
  if (v->id >= s->n_forward) {
    int32_t n = v->id + 64 > 2 * s->n_forward ? v->id + 64 : 2 * s->n_forward;
    s->forward = arena_grow(s->scratch, s->forward, (size_t)s->n_forward, (size_t)n, sizeof *s->forward);
    s->n_forward = n;
  }
  s->forward[v->id] = by;
}

/* Replaces the operands of `op` by their present replacements. */
static void forward_operands(Simplifier *s, Op *op) {
  for (int i = 0; i < op->noperands; i++) {
    Value *v = forwarded(s, op->operands[i]);
    if (v == &s->known[0] || v == &s->known[1])
      v = simplify_int(s, op, TY_BOOL, v == &s->known[1]);
    op->operands[i] = v;
  }
}

/* ---------------------------------------------------------------- available ops */

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

/* The bits of a constant. */
static uint64_t const_bits(Const c, Type t) {
  uint64_t bits;
  if (!type_is_float(t))
    return (uint64_t)c.i;
  memcpy(&bits, &c.f, sizeof bits);
  return bits;
}

/* A hash that is equal for ops which same_op calls equal. */
static uint64_t hash_op(const Op *op) {
  uint64_t h = mix((uint64_t)op->code, op->results[0]->type), sum = 0;
  h = mix(h, (uint64_t)op->sym * 31 + (uint64_t)op->ver);
  for (int d = 0; d < MAX_RANK; d++)
    h = mix(h, (uint64_t)op->off[d]);
  if (op->code == OP_CONST)
    h = mix(h, const_bits(op->cval, op->results[0]->type));
  for (int i = 0; i < op->noperands; i++)
    if (op_info[op->code].flags & OPF_COMM)
      sum += mix(0, (uint64_t)op->operands[i]->id);
    else
      h = mix(h, (uint64_t)op->operands[i]->id);
  return mix(h, sum);
}

/* Do x and y have the same operands, in any order if they are commutative? */
static bool same_operands(const Op *x, const Op *y) {
  int n = x->noperands, same = 0;
  if (n != y->noperands)
    return false;
  for (int i = 0; i < n; i++)
    same += x->operands[i] == y->operands[i];
  return same == n || ((op_info[x->code].flags & OPF_COMM) && n == 2 && x->operands[0] == y->operands[1] &&
                       x->operands[1] == y->operands[0]);
}

/* Do x and y compute the same value? */
static bool same_op(const Op *x, const Op *y) {
  Type t = x->results[0]->type;
  if (x->code != y->code || t != y->results[0]->type || x->sym != y->sym || x->ver != y->ver || !same_operands(x, y))
    return false;
  if (x->code == OP_CONST && const_bits(x->cval, t) != const_bits(y->cval, t))
    return false;
  if (x->count != y->count || !x->box != !y->box || (x->box && !box_equal(x->box, y->box)))
    return false;
  return memcmp(x->off, y->off, sizeof x->off) == 0;
}

/* The available op equal to `op`, or NULL. */
static Op *find_available(Simplifier *s, const Op *op, uint64_t hash) {
  for (Available *a = s->table[hash >> (64 - s->bits)]; a; a = a->next)
    if (a->hash == hash && same_op(a->op, op))
      return a->op;
  return NULL;
}

/* Makes `op` available until the end of its block. */
static void make_available(Simplifier *s, Op *op, uint64_t hash) {
  Available *a = ARENA_NEW(s->scratch, Available);
  *a = (Available){op, hash, s->table[hash >> (64 - s->bits)]};
  s->table[hash >> (64 - s->bits)] = a;
  ARENA_PUSH(s->scratch, s->stack, s->n_stack, a);
}

/* Removes the ops that became available after the first `n`. */
static void forget_available(Simplifier *s, int32_t n) {
  while (s->n_stack > n) {
    Available *a = s->stack[--s->n_stack];
    s->table[a->hash >> (64 - s->bits)] = a->next;
  }
}

/* See simplify.h. */
Value *simplify_const(Simplifier *s, Op *op, Type t, Const c) {
  Op probe = {.code = OP_CONST, .cval = c};
  Value result = {.type = t}, *results = &result;
  probe.results = &results;
  probe.nresults = 1;
  uint64_t hash = hash_op(&probe);
  Op *found = find_available(s, &probe, hash);
  if (found)
    return found->results[0];
  Builder b = builder_before(s->arena, op);
  Value *v = build_const(&b, t, c);
  ranges_number(s->ranges, v);
  make_available(s, v->def, hash);
  return v;
}

/* See simplify.h. */
Value *simplify_int(Simplifier *s, Op *op, Type t, int64_t i) {
  return simplify_const(s, op, t, const_convert((Const){.i = i}, TY_I64, t));
}

/* May equal ops of this kind be merged? Loads may if no op of the kernel writes their buffer. */
static bool is_mergeable(const Simplifier *s, const Op *op) {
  if (op->nresults != 1)
    return false;
  return (op_info[op->code].flags & OPF_PURE) || (op->code == OP_LOAD && !s->stored[op->sym]);
}

/* ---------------------------------------------------------------- structure */

/* Replaces `op` by the ops of `b`, and its results by the values that `b` yields. Returns the op at which the traversal
 * continues. */
static Op *splice(Simplifier *s, Op *op, Block *b) {
  Op *next = op->next, *first = NULL;
  Op *yield = b->last && b->last->code == OP_YIELD ? b->last : NULL;
  for (int i = 0; i < op->nresults; i++)
    forward_to(s, op->results[i], yield->operands[i]);
  for (Op *o = b->first, *after; o; o = after) {
    after = o->next;
    op_unlink(o);
    if (o == yield)
      continue;
    op_insert(op->parent, op, o);
    first = first ? first : o;
  }
  op_unlink(op);
  s->stats.spliced++;
  s->changed = true;
  return first ? first : next;
}

/* Simplifies a branch of an if, in which condition `c` has the value `is`. */
static void simplify_branch(Simplifier *s, Block *b, Value *c, int is) {
  bool can = c->id >= 0 && !(c->def && c->def->code == OP_CONST);
  if (can)
    forward_to(s, c, &s->known[is]);
  simplify_block(s, b);
  if (can)
    forward_to(s, c, NULL);
}

/* Replaces results for which both branches yield the same value with that value. */
static void forward_equal_results(Simplifier *s, Op *op) {
  const Op *x = op->blocks[0]->last, *y = op->blocks[1]->last;
  for (int i = 0; i < op->nresults; i++)
    if (x->operands[i] == y->operands[i])
      forward_to(s, op->results[i], x->operands[i]);
}

/* Handles an if: replaces it by a branch if its condition is known, else simplifies its branches. Returns the op at
 * which the traversal continues. */
static Op *simplify_if(Simplifier *s, Op *op) {
  Value *c = op->operands[0];
  if (c->def && c->def->code == OP_CONST)
    return splice(s, op, op->blocks[c->def->cval.i ? 0 : 1]);
  simplify_branch(s, op->blocks[0], c, 1);
  simplify_branch(s, op->blocks[1], c, 0);
  if (op->nresults)
    forward_equal_results(s, op);
  return op->next;
}

/* The number of iterations of a for with constant bounds; 2 if it is more than one, or not known. */
static int trip_count(const Op *op) {
  int64_t lo, hi, span;
  if (!value_is_int(op->operands[0], &lo) || !value_is_int(op->operands[1], &hi))
    return 2;
  if (hi <= lo)
    return 0;
  return !__builtin_sub_overflow(hi, lo, &span) && span <= op->off[0] ? 1 : 2;
}

/* Handles a for: removes it if it never runs, replaces it by its body if it runs once, else simplifies its body.
 * Returns the op at which the traversal continues. */
static Op *simplify_for(Simplifier *s, Op *op) {
  int trips = trip_count(op);
  Block *body = op->blocks[0];
  if (trips == 1) {
    for (int i = 0; i < body->nargs; i++)
      forward_to(s, body->args[i], op->operands[i ? i + 1 : 0]);
    return splice(s, op, body);
  }
  if (trips == 2) {
    simplify_block(s, body);
    return op->next;
  }
  Op *next = op->next;
  for (int i = 0; i < op->nresults; i++)
    forward_to(s, op->results[i], op->operands[i + 2]);
  op_unlink(op);
  s->stats.removed++;
  s->changed = true;
  return next;
}

/* Replaces the result of `op` by `v` and removes `op`. Returns the op at which the traversal continues. */
static Op *replace_op(Simplifier *s, Op *op, Value *v, int64_t *count) {
  Op *next = op->next;
  forward_to(s, op->results[0], v);
  op_unlink(op);
  ++*count;
  s->changed = true;
  return next;
}

/* Simplifies one op. Returns the op at which the traversal continues. */
static Op *simplify_op(Simplifier *s, Op *op) {
  forward_operands(s, op);
  if (op->code == OP_IF)
    return simplify_if(s, op);
  if (op->code == OP_FOR)
    return simplify_for(s, op);
  Fold f = fold_op(s, op);
  if (f.first)
    return f.first;
  if (f.value)
    return replace_op(s, op, f.value, &s->stats.folded);
  if (!is_mergeable(s, op))
    return op->next;
  uint64_t hash = hash_op(op);
  Op *same = find_available(s, op, hash);
  if (!same)
    make_available(s, op, hash);
  return same && same != op ? replace_op(s, op, same->results[0], &s->stats.merged) : op->next;
}

/* Simplifies a block; its ops are available only in it. */
static void simplify_block(Simplifier *s, Block *b) {
  int32_t n = s->n_stack;
  for (Op *op = b->first; op;)
    op = simplify_op(s, op);
  forget_available(s, n);
}

/* ---------------------------------------------------------------- dead code */

/* Counts uses of values and loads of arrays in `b`. */
static void count_uses(Simplifier *s, const Block *b) {
  for (const Op *op = b->first; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++)
      s->uses[op->operands[i]->id]++;
    if (op_array_read(op) >= 0)
      s->aloads[op->sym]++;
    for (int i = 0; i < op->nblocks; i++)
      count_uses(s, op->blocks[i]);
  }
}

/* Subtracts the uses and loads that count_uses counted for `op` and its nested ops. */
static void release_uses(Simplifier *s, const Op *op) {
  for (int i = 0; i < op->noperands; i++)
    s->uses[op->operands[i]->id]--;
  if (op_array_read(op) >= 0)
    s->aloads[op->sym]--;
  for (int i = 0; i < op->nblocks; i++)
    for (const Op *o = op->blocks[i]->first; o; o = o->next)
      release_uses(s, o);
}

/* Has `op` an effect that other threads or ops can observe, apart from its results? */
static bool has_effect(const Op *op) {
  return (op_info[op->code].flags & OPF_WRITE) || op_is_barrier(op) || op->code == OP_ASYNC_COMMIT ||
         op->code == OP_ASYNC_WAIT || op->code == OP_BULK_PREFETCH || op_is_signal(op) || op_is_registers(op);
}

/* Do the ops in `b` only compute values? */
static bool block_is_pure(const Block *b) {
  for (const Op *op = b->first; op; op = op->next) {
    if (has_effect(op))
      return false;
    for (int i = 0; i < op->nblocks; i++)
      if (!block_is_pure(op->blocks[i]))
        return false;
  }
  return true;
}

/* May `op` be removed? Its nested blocks have been swept already. A bulk load is not dead even if nobody reads its
 * data: it reports the bytes to its signal, and a wait counts on them. */
static bool is_dead(const Simplifier *s, const Op *op) {
  if (op->code == OP_BULK_LOAD)
    return false;
  if (op_array_written(op) >= 0)
    return s->aloads[op->sym] == 0;
  if (has_effect(op) || op->code == OP_YIELD)
    return false;
  for (int i = 0; i < op->nresults; i++)
    if (s->uses[op->results[i]->id])
      return false;
  for (int i = 0; i < op->nblocks; i++)
    if (!block_is_pure(op->blocks[i]))
      return false;
  return true;
}

/* Removes dead ops of `b`, last first, so that ops that only they used are found dead, too. */
static void sweep_block(Simplifier *s, Block *b) {
  for (Op *op = b->last, *before; op; op = before) {
    before = op->prev;
    for (int i = 0; i < op->nblocks; i++)
      sweep_block(s, op->blocks[i]);
    if (!is_dead(s, op))
      continue;
    release_uses(s, op);
    op_unlink(op);
    s->stats.removed++;
    s->changed = true;
  }
}

/* ---------------------------------------------------------------- rounds */

/* Marks the buffers that `b` stores to. */
static void mark_stored(bool *stored, const Block *b) {
  for (const Op *op = b->first; op; op = op->next) {
    if (op_buffer_written(op) >= 0)
      stored[op_buffer_written(op)] = true;
    for (int i = 0; i < op->nblocks; i++)
      mark_stored(stored, op->blocks[i]);
  }
}

/* The number of bits of a hash table for `n` values. */
static int table_bits(int32_t n) {
  int bits = 6;
  while (bits < 20 && ((int32_t)1 << bits) < n)
    bits++;
  return bits;
}

/* One traversal of `body` and one sweep. */
static void run_round(Simplifier *s, Block *body) {
  ArenaMark mark = arena_mark(s->scratch);
  s->changed = false;
  s->ranges->memo = ARENA_ARRAY(s->scratch, Linear *, s->ranges->cap);
  s->n_forward = s->ranges->n;
  s->forward = ARENA_ARRAY(s->scratch, Value *, s->n_forward);
  s->n_stack = 0;
  s->stack = NULL;
  memset(s->table, 0, sizeof *s->table << s->bits);
  simplify_block(s, body);
  s->uses = ARENA_ARRAY(s->scratch, int32_t, s->ranges->n);
  s->aloads = ARENA_ARRAY(s->scratch, int32_t, s->k ? s->k->narrays : 0);
  count_uses(s, body);
  sweep_block(s, body);
  arena_release(s->scratch, mark);
}

/* Simplifies `body` (of kernel `k`; NULL in stencil IR) until nothing changes, and adds to *stats. Renumbers its
 * values. */
static void simplify_body(PassContext *c, Module *m, Kernel *k, Block *body, SimplifyStats *stats) {
  Arena *scratch = arena_scratch(c->arena);
  ArenaMark mark = arena_mark(scratch);
  Simplifier s = {.arena = c->arena,
                  .scratch = scratch,
                  .m = m,
                  .k = k,
                  .ranges = ranges_numbered(scratch, m, k, block_renumber(body, 0)),
                  .stats = *stats};
  s.known[0] = s.known[1] = (Value){.type = TY_BOOL, .id = -1};
  s.bits = table_bits(s.ranges->n);
  s.table = ARENA_ARRAY(scratch, Available *, (size_t)1 << s.bits);
  s.stored = ARENA_ARRAY(scratch, bool, m->nbuffers);
  mark_stored(s.stored, body);
  s.changed = true;
  for (int i = 0; i < MAX_ROUNDS && s.changed; i++)
    run_round(&s, body);
  if (!k)
    order_squares(c->arena, s.ranges->n, body);
  *stats = s.stats;
  arena_release(scratch, mark);
}

/* ---------------------------------------------------------------- arrays without uses */

/* Marks the arrays that the ops of `b` touch. */
static void mark_arrays(bool *used, const Block *b) {
  for (const Op *op = b->first; op; op = op->next) {
    if (op_array(op) >= 0 || op_info[op->code].form == FORM_SIGNAL)
      used[op->sym] = true;
    if (op_info[op->code].form == FORM_SEND)
      used[op->sym] = true;
    if (op->code == OP_BULK_LOAD || op->code == OP_CLUSTER_STORE)
      used[op->signal] = true;
    for (int i = 0; i < op->nblocks; i++)
      mark_arrays(used, op->blocks[i]);
  }
}

/* Renumbers the arrays in `b`: array i becomes to[i]. */
static void rename_arrays(const int32_t *to, Block *b) {
  for (Op *op = b->first; op; op = op->next) {
    if (op_array(op) >= 0 || op_info[op->code].form == FORM_SIGNAL)
      op->sym = to[op->sym];
    if (op->code == OP_CLUSTER_STORE)
      op->sym = to[op->sym];
    if (op->code == OP_BULK_LOAD || op->code == OP_CLUSTER_STORE)
      op->signal = to[op->signal];
    for (int i = 0; i < op->nblocks; i++)
      rename_arrays(to, op->blocks[i]);
  }
}

/* Removes the arrays of `k` that nothing touches and whose storage no other array uses. */
static void drop_arrays(Arena *a, Kernel *k) {
  bool *used = ARENA_ARRAY(a, bool, k->narrays);
  int32_t *to = ARENA_ARRAY(a, int32_t, k->narrays), n = 0;
  mark_arrays(used, k->body);
  for (int i = 0; i < k->narrays; i++)
    if (used[i] && k->arrays[i].storage >= 0)
      used[k->arrays[i].storage] = true;
  for (int i = 0; i < k->narrays; i++)
    to[i] = used[i] ? n++ : -1;
  if (n == k->narrays)
    return;
  for (int i = 0; i < k->narrays; i++)
    if (used[i]) {
      k->arrays[to[i]] = k->arrays[i];
      k->arrays[to[i]].storage = k->arrays[i].storage >= 0 ? to[k->arrays[i].storage] : -1;
    }
  k->narrays = n;
  rename_arrays(to, k->body);
}

/* ---------------------------------------------------------------- the pass */

/* Simplifies one kernel, and adds to *stats. */
static void simplify_one(PassContext *c, Module *m, Kernel *k, SimplifyStats *stats) {
  simplify_body(c, m, k, k->body, stats);
  drop_arrays(c->arena, k);
  kernel_set_args(m, k);
}

/* See analysis.h. */
void simplify_kernel(PassContext *c, Module *m, Kernel *k) {
  SimplifyStats stats = {0};
  simplify_one(c, m, k, &stats);
}

/* See analysis.h. */
void simplify_stencil(PassContext *c, Module *m, Stencil *st) {
  SimplifyStats stats = {0};
  for (int k = 0; k < st->npieces; k++)
    simplify_body(c, m, NULL, st->pieces[k].body, &stats);
}

/* The pass: all bodies of the module. */
Module *pass_simplify(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  SimplifyStats stats = {0};
  Bodies bodies = bodies_of(m, CODE_ALL & ~CODE_KERNELS);
  for (Block *b; (b = bodies_next(&bodies));)
    simplify_body(c, m, NULL, b, &stats);
  for (int i = 0; i < m->nkernels; i++)
    simplify_one(c, m, &m->kernels[i], &stats);
  pass_stat(c, stats.folded, "simplify", "ops folded or rewritten");
  pass_stat(c, stats.merged, "simplify", "ops merged with an equal one");
  pass_stat(c, stats.spliced, "simplify", "ifs and fors taken apart");
  pass_stat(c, stats.removed, "simplify", "dead ops removed");
  return m;
}
