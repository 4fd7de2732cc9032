/* lower-reduce.c: lowers reductions to kernels. All devices combine values in the order that run.h ("Reductions")
 * fixes. That order is part of a reduction's meaning, so schedule, tile and number of processors change no bit of the
 * result. There are no atomics.
 *
 * All lowerings turn a reduction `r` (docs/ir.md) into the same parts: two kernels and a scratch buffer `r.blocks`.
 *
 * - The region is cut into rows: its lines along the last dimension, or, for a region of rank 1, runs of 2048 points.
 *   Row n belongs to block n mod 1024, point p of a row to lane p mod 256, in rising order.
 * - Kernel `PROGRAM_reduce_r` has 1024 blocks. With threads, a lane is a thread; the 256 values of a block are combined
 *   pairwise, at distances 128, 64 and 32 through shared memory, at distances 16 to 1 by shuffles. Without threads, the
 *   lanes are an array, and the iterations of the loops over them are independent. Block b stores its value to element
 *   b; a block without rows stores the identity.
 * - Kernel `PROGRAM_reduce_r_all` has one block. It combines the 1024 values in the same way and stores the result to
 *   element 0.
 *
 * Special cases:
 *
 * - If the region has one row for all params, one kernel of one block does both. Without threads that also holds if the
 *   region has at most 8192 points for all params: the launching thread runs the kernel, and wakes no other thread.
 * - If a reduction has a value for each member (Reduction.each), the kernels have that many blocks for each member,
 *   along dimension 0; a second buffer, `r.members`, holds the values.
 *
 * A thread works on four points of a row at a time, so that four loads are in flight; the order of combination stays
 * the same. In three dimensions a row costs a division; a point costs none.
 *
 * The same kernels compute updates of a state within a step; they store the result to the state. An update without a
 * region combines nothing. The thread that has the result of the update before or after it computes it, or a kernel of
 * one thread, `PROGRAM_update_NAME`.
 *
 * If a region has many rows, or a launch before has already reduced the rows, kernels of tiles of rows compute the
 * reduction: lower-rows.c. */
#include "passes/lower/reduce.h"

/* Without threads, one thread computes a region of at most this many points alone. */
enum { SMALL_REGION = 8192 };

/* The points of a row: the coordinates in all dimensions but the last; in the last dimension they are first .. end -
 * 1. */
typedef struct Row {
  Value *at[MAX_RANK], *first, *end;
} Row;

static Value *i64(Builder *b, int64_t x) { return build_int(b, TY_I64, x); }
static Value *i32(Builder *b, int64_t x) { return build_int(b, TY_I32, x); }

Value *reducer_identity(const Reducer *k, Builder *b) {
  return build_const(b, k->r->type, reduce_identity(k->r->op, k->r->type));
}
Value *reducer_combine(const Reducer *k, Builder *b, Value *x, Value *y) {
  return build_reduce_combine(b, k->r->op, x, y);
}

/* ---- the region */

/* Point.access: a load from global memory; all points are in the region. */
static Value *access_now(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const Reducer *k = p->user;
  return access_global(b, p->m, field, load_buffer(k->lo, field), rules, p->index, off, false);
}

/* The value of the reduction's body at point `at`. */
static Value *value_at(const Reducer *k, Builder *b, Value *const *at) {
  Point p = {.m = k->lo->m, .access = access_now, .user = (void *)k};
  Piece body = {.box = k->r->over, .ntargets = 1, .body = k->r->body};
  for (int d = 0; d < k->rank; d++)
    p.index[d] = at[d];
  p.step = build_step(b);
  return piece_values(&p, b, &body)[0];
}

/* The index of partial value `at` of the block's member. */
static Value *in_slot(const Reducer *k, Builder *b, Value *at) { return k->slot ? build2(b, OP_ADD, k->slot, at) : at; }

Value *reducer_extent(const Reducer *k, Builder *b, int d) {
  if (k->member && d == 0)
    return i64(b, 1);
  Affine n = box_extent(b->arena, &k->r->over, d);
  Value *v = build_affine(b, k->lo->m, n);
  return n.n || n.c < 0 ? build2(b, OP_MAX, v, i64(b, 0)) : v;
}

Value *reducer_rows(const Reducer *k, Builder *b) {
  Value *n = reducer_extent(k, b, 0);
  if (k->rank == 1)
    return build2(b, OP_DIV, build2(b, OP_ADD, n, i64(b, REDUCE_ROW - 1)), i64(b, REDUCE_ROW));
  for (int d = 1; d < k->rank - 1; d++)
    n = build2(b, OP_MUL, n, reducer_extent(k, b, d));
  return n;
}

/* The points of row number `row` of the region. */
static Row find_row(const Reducer *k, Builder *b, Value *row) {
  const Module *m = k->lo->m;
  const Box *over = &k->r->over;
  Row w = {{0},
           build_affine(b, m, over->lo[k->rank - 1]),
           build_affine(b, m, affine_add_const(over->hi[k->rank - 1], 1))};
  if (k->rank == 1) {
    w.first = build2(b, OP_ADD, w.first, build2(b, OP_MUL, row, i64(b, REDUCE_ROW)));
    w.end = build2(b, OP_MIN, w.end, build2(b, OP_ADD, w.first, i64(b, REDUCE_ROW)));
  }
  int first = k->member ? 1 : 0;
  for (int d = k->rank - 2; d >= first; d--) {
    Value *n = d > first ? reducer_extent(k, b, d) : NULL, *rest = n ? build2(b, OP_DIV, row, n) : NULL;
    w.at[d] = build2(b, OP_ADD, build_affine(b, m, over->lo[d]),
                     n ? build2(b, OP_SUB, row, build2(b, OP_MUL, rest, n)) : row);
    row = rest;
  }
  if (k->member)
    w.at[0] = build2(b, OP_ADD, build_affine(b, m, over->lo[0]), k->member);
  return w;
}

/* ---- updates that combine nothing */

/* The state of a thread that computes several updates one after the other: now[s] is the new value of state s, NULL:
 * unchanged. */
typedef struct Scalars {
  const Lowering *lo;
  Value **now;
} Scalars;

/* Point.known: the new value of a state, if an earlier update of this thread changed it. */
static Value *state_now(Point *p, Builder *b, const Piece *piece, const Op *op, bool *skip) {
  const Scalars *x = p->user;
  (void)b, (void)piece, (void)skip;
  return op->code == OP_ELEMENT && x->lo->m->param_arrays[op->sym].role == ARRAY_STATE ? x->now[op->sym] : NULL;
}

/* Point.access: a load from global memory, at the update's point. */
static Value *access_there(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const Scalars *x = p->user;
  return access_global(b, p->m, field, load_buffer(x->lo, field), rules, p->index, off, false);
}

/* Builds updates number `first` to `last`, with the states in `x`. */
static void point_updates(const Reducer *k, Builder *b, Scalars *x, int first, int last) {
  const Module *m = k->lo->m;
  Value *zero = i64(b, 0);
  for (int i = first; i <= last; i++) {
    const Update *u = &m->updates[i];
    Point p = {.m = k->lo->out, .access = access_there, .known = state_now, .user = x};
    Piece body = {.box = u->over, .ntargets = 1, .body = u->body};
    b->loc = u->loc;
    for (int d = 0; d < k->rank; d++)
      p.index[d] = build_affine(b, m, u->over.lo[d]);
    if (k->member)
      p.index[0] = build2(b, OP_ADD, p.index[0], k->member);
    p.step = build_step(b);
    x->now[u->state] = piece_values(&p, b, &body)[0];
    build_store(b, u->state, x->now[u->state], 1, k->member ? &k->member : &zero, NULL);
  }
}

/* Builds the work of the thread that has the reduction's value `x`: stores it, and computes the updates before and
 * after it; `zero` is an i64. */
static void store_result(const Reducer *k, Builder *b, Value *x, Value *zero) {
  const Module *m = k->lo->m;
  Scalars s = {k->lo, ARENA_ARRAY(b->arena, Value *, m->nparam_arrays + 1)};
  point_updates(k, b, &s, k->lead, k->update - 1);
  build_store(b, k->result, x, 1, k->member ? &k->member : &zero, NULL);
  if (k->update >= 0)
    s.now[m->updates[k->update].state] = x;
  point_updates(k, b, &s, k->update + 1, k->last);
}

/* The body of a kernel for updates that combine nothing. */
static void only_updates(const Reducer *k, Builder *b) {
  Scalars s = {k->lo, ARENA_ARRAY(b->arena, Value *, k->lo->m->nparam_arrays + 1)};
  point_updates(k, b, &s, k->update, k->last);
}

/* ---- with threads */

/* Combines the values `x` of all threads of a block; the result is right in the first thread. */
static Value *combine_threads(const Reducer *k, Builder *b, Value *x) {
  for (int w = REDUCE_LANES / 2; w >= WARP; w /= 2) {
    int32_t cells[MAX_RANK] = {1, 1, 1, 1}, pad[MAX_RANK] = {0};
    Value *at[MAX_RANK] = {k->zero, k->zero, k->zero, k->zero};
    int64_t off[MAX_RANK] = {0};
    cells[k->rank - 1] = REDUCE_LANES;
    at[k->rank - 1] = k->lane;
    pad[k->rank - 1] = (int32_t)(off[k->rank - 1] = w);
    int array = kernel_array(k->lo, &k->lo->out->kernels[k->kernel], arena_printf(b->arena, "lanes%d", w), k->r->type,
                             SPACE_SHARED, cells, NULL, pad);
    build_astore(b, array, 0, x, k->rank, at, NULL);
    build_barrier(b);
    x = reducer_combine(k, b, x, build_aload(b, k->r->type, array, 0, k->rank, at, off));
  }
  for (int w = WARP / 2; w > 0; w /= 2)
    x = reducer_combine(k, b, x, build_shuffle(b, x, w));
  return x;
}

/* Stores `x` of the first thread to element `at` of the partial values. */
static void store_from_first(const Reducer *k, Builder *b, Value *x, Value *at) {
  Builder in = builder_in(b, build_if(b, build2(b, OP_EQ, k->lane, i32(b, 0)), 0, NULL)->blocks[0]);
  build_store(&in, k->buffer, x, 1, &at, NULL);
}

/* Builds a loop over the thread's points of row `w`, from last coordinate `from` on, `n` points an iteration as long as
 * that many are left. Returns `acc` combined with them; *next becomes the coordinate after them. All `n` values are
 * computed before they are combined, so that their loads overlap. */
static Value *thread_points(const Reducer *k, Builder *b, Row w, Value *from, int n, Value *acc, Value **next) {
  Value *init[2] = {acc, from}, **value = ARENA_ARRAY(b->arena, Value *, n), *out[2];
  Value *end = n > 1 ? build2(b, OP_SUB, w.end, i64(b, (n - 1) * REDUCE_LANES)) : w.end;
  Op *loop = build_for(b, from, end, n * REDUCE_LANES, 0, 2, init);
  Value *at = loop->blocks[0]->args[0];
  Builder in = builder_in(b, loop->blocks[0]);
  out[0] = loop->blocks[0]->args[1];
  for (int i = 0; i < n; i++) {
    w.at[k->rank - 1] = i ? build2(&in, OP_ADD, at, i64(&in, i * REDUCE_LANES)) : at;
    value[i] = value_at(k, &in, w.at);
  }
  for (int i = 0; i < n; i++)
    out[0] = reducer_combine(k, &in, out[0], value[i]);
  out[1] = build2(&in, OP_ADD, at, i64(&in, n * REDUCE_LANES));
  build_yield(&in, 2, out);
  *next = loop->results[1];
  return loop->results[0];
}

/* The value of row number `row`; it is right in the first thread. */
static Value *thread_row(const Reducer *k, Builder *b, Value *row) {
  Row w = find_row(k, b, row);
  Value *at = build2(b, OP_ADD, w.first, k->lane64);
  Value *acc = thread_points(k, b, w, at, k->points, reducer_identity(k, b), &at);
  return combine_threads(k, b, thread_points(k, b, w, at, 1, acc, &at));
}

/* The first kernel: the rows of a block. A block without rows has the identity. */
static void threads_over_rows(const Reducer *k, Builder *b) {
  Value *rows = reducer_rows(k, b), *acc = reducer_identity(k, b), *at = in_slot(k, b, k->block);
  Op *some = build_if(b, build2(b, OP_LT, k->block, rows), 0, NULL);
  Builder in = builder_in(b, some->blocks[0]), none = builder_in(b, some->blocks[1]);
  Op *loop = build_for(&in, k->block, rows, REDUCE_BLOCKS, 0, 1, &acc);
  Builder each = builder_in(b, loop->blocks[0]);
  Value *row = thread_row(k, &each, loop->blocks[0]->args[0]);
  Value *next = reducer_combine(k, &each, loop->blocks[0]->args[1], row);
  build_yield(&each, 1, &next);
  store_from_first(k, &in, loop->results[0], at);
  store_from_first(k, &none, acc, at);
}

/* The second kernel: each thread begins with the values of blocks at distance REDUCE_LANES. */
static void threads_over_blocks(const Reducer *k, Builder *b) {
  enum { N = REDUCE_BLOCKS / REDUCE_LANES };
  Value *x[N], *zero = i64(b, 0), *from = in_slot(k, b, k->lane64);
  for (int i = 0; i < N; i++)
    x[i] = k->few ? rows_of_block(k, b, build2(b, OP_ADD, k->lane64, i64(b, i * REDUCE_LANES)))
                  : build_load(b, k->r->type, k->buffer, 1, &from, (int64_t[MAX_RANK]){i * REDUCE_LANES});
  for (int w = N / 2; w > 0; w /= 2)
    for (int i = 0; i < w; i++)
      x[i] = reducer_combine(k, b, x[i], x[i + w]);
  Value *all = combine_threads(k, b, x[0]);
  Builder in = builder_in(b, build_if(b, build2(b, OP_EQ, k->lane, i32(b, 0)), 0, NULL)->blocks[0]);
  store_result(k, &in, all, zero);
}

/* Both kernels in one, for one row. The values of all other blocks would be identities, so they change no bit of the
 * result. */
static void threads_over_one_row(const Reducer *k, Builder *b) {
  Value *zero = i64(b, 0), *all = reducer_combine(k, b, reducer_identity(k, b), thread_row(k, b, zero));
  Builder in = builder_in(b, build_if(b, build2(b, OP_EQ, k->lane, i32(b, 0)), 0, NULL)->blocks[0]);
  store_result(k, &in, all, zero);
}

/* ---- without threads */

/* Adds an array for the values of `n` lanes. */
static int lanes_array(const Reducer *k, int n) {
  int32_t cells[MAX_RANK] = {1, 1, 1, 1};
  cells[k->rank - 1] = n;
  Kernel *kernel = &k->lo->out->kernels[k->kernel];
  return kernel_array(k->lo, kernel, kernel->narrays ? "blocks" : "lanes", k->r->type, SPACE_SHARED, cells, NULL, NULL);
}

/* Loads lane `lane` + `w` of the array. */
static Value *load_lane(const Reducer *k, Builder *b, int array, Value *lane, int w) {
  Value *at[MAX_RANK] = {k->zero, k->zero, k->zero, k->zero};
  int64_t off[MAX_RANK] = {0};
  at[k->rank - 1] = lane;
  off[k->rank - 1] = w;
  return build_aload(b, k->r->type, array, 0, k->rank, at, off);
}

static void store_lane(const Reducer *k, Builder *b, int array, Value *lane, Value *x) {
  Value *at[MAX_RANK] = {k->zero, k->zero, k->zero, k->zero};
  at[k->rank - 1] = lane;
  build_astore(b, array, 0, x, k->rank, at, NULL);
}

/* Opens a loop over lanes 0 .. n - 1 at `b`, with independent iterations. Returns the lane. */
static Value *open_lanes(Builder *b, Value *n, Builder *in) {
  Op *loop = build_for(b, i32(b, 0), n, 1, FOR_PARALLEL, 0, NULL);
  *in = builder_in(b, loop->blocks[0]);
  return loop->blocks[0]->args[0];
}

/* Combines the `n` lanes of the array. */
static Value *combine_lanes(const Reducer *k, Builder *b, int array, int n) {
  for (int w = n / 2; w > 0; w /= 2) {
    Builder in;
    Value *lane = open_lanes(b, i32(b, w), &in);
    store_lane(k, &in, array, lane,
               reducer_combine(k, &in, load_lane(k, &in, array, lane, 0), load_lane(k, &in, array, lane, w)));
  }
  return load_lane(k, b, array, k->zero, 0);
}

/* The value of row number `row`. */
static Value *lanes_row(const Reducer *k, Builder *b, int array, Value *row) {
  Row w = find_row(k, b, row);
  Builder all;
  Value *each = open_lanes(b, i32(b, REDUCE_LANES), &all);
  store_lane(k, &all, array, each, reducer_identity(k, &all));
  Op *loop = build_for(b, w.first, w.end, REDUCE_LANES, 0, 0, NULL);
  Builder chunk = builder_in(b, loop->blocks[0]), in;
  Value *start = loop->blocks[0]->args[0];
  Value *n = build2(&chunk, OP_MIN, build2(&chunk, OP_SUB, w.end, start), i64(&chunk, REDUCE_LANES));
  Value *lane = open_lanes(&chunk, build_convert(&chunk, TY_I32, n), &in);
  w.at[k->rank - 1] = build2(&in, OP_ADD, start, build_convert(&in, TY_I64, lane));
  store_lane(k, &in, array, lane, reducer_combine(k, &in, load_lane(k, &in, array, lane, 0), value_at(k, &in, w.at)));
  return combine_lanes(k, b, array, REDUCE_LANES);
}

/* Builds a loop over the rows of block number `block`, whose lanes are in `array`. A block without rows has the
 * identity. */
static void loop_over_rows(const Reducer *k, Builder *b, int array, Value *block) {
  Value *rows = reducer_rows(k, b), *acc = reducer_identity(k, b);
  Op *some = build_if(b, build2(b, OP_LT, block, rows), 0, NULL);
  Builder in = builder_in(b, some->blocks[0]), none = builder_in(b, some->blocks[1]);
  Op *loop = build_for(&in, block, rows, REDUCE_BLOCKS, 0, 1, &acc);
  Builder each = builder_in(&in, loop->blocks[0]);
  Value *row = lanes_row(k, &each, array, loop->blocks[0]->args[0]);
  Value *next = reducer_combine(k, &each, loop->blocks[0]->args[1], row);
  build_yield(&each, 1, &next);
  Value *to[2] = {in_slot(k, &in, block), in_slot(k, &none, block)};
  build_store(&in, k->buffer, loop->results[0], 1, &to[0], NULL);
  build_store(&none, k->buffer, acc, 1, &to[1], NULL);
}

/* The first kernel, without threads. */
static void loops_over_rows(const Reducer *k, Builder *b) {
  loop_over_rows(k, b, lanes_array(k, REDUCE_LANES), k->block);
}

/* The second kernel, without threads: one lane for each block. */
static void loops_over_blocks(const Reducer *k, Builder *b) {
  int array = lanes_array(k, REDUCE_BLOCKS);
  Builder in;
  Value *lane = open_lanes(b, i32(b, REDUCE_BLOCKS), &in), *at = in_slot(k, &in, build_convert(&in, TY_I64, lane));
  store_lane(k, &in, array, lane, build_load(&in, k->r->type, k->buffer, 1, &at, NULL));
  Value *all = combine_lanes(k, b, array, REDUCE_BLOCKS);
  store_result(k, b, all, i64(b, 0));
}

/* Both kernels in one, without threads. */
static void loops_over_all(const Reducer *k, Builder *b) {
  int array = lanes_array(k, REDUCE_LANES);
  Op *loop = build_for(b, i64(b, 0), i64(b, REDUCE_BLOCKS), 1, 0, 0, NULL);
  Builder in = builder_in(b, loop->blocks[0]);
  loop_over_rows(k, &in, array, loop->blocks[0]->args[0]);
  loops_over_blocks(k, b);
}

/* Does the region of `r` have so few points for all params that one thread computes it before others are awake? */
static bool is_small(Arena *a, const Reduction *r) {
  int64_t points = 1;
  for (int d = r->each ? 1 : 0; d < r->over.rank; d++) {
    Affine n = box_extent(a, &r->over, d);
    if (n.n || n.c > SMALL_REGION)
      return false;
    points *= n.c > 0 ? n.c : 0;
  }
  return points <= SMALL_REGION;
}

/* Does update number `i` read a state that one of the updates number `first` to `end` - 1 changes? */
static bool reads_states(const Module *m, int i, int first, int end) {
  for (const Op *op = m->updates[i].body->first; op; op = op->next)
    for (int k = first; k < end && op->code == OP_ELEMENT; k++)
      if (m->updates[k].state == op->sym)
        return true;
  return false;
}

/* Does the region of `k` have one row for all params, and do its values not depend on states that the launch
 * changes? */
static bool is_one_row(Arena *a, const Reducer *k) {
  const Reduction *r = k->r;
  bool one = k->update < 0 || !reads_states(k->lo->m, k->update, k->lead, k->last + 1);
  for (int d = r->each ? 1 : 0; d < r->over.rank - (r->over.rank > 1); d++) {
    Affine n = box_extent(a, &r->over, d);
    one = one && !n.n && n.c >= 1 && n.c <= (r->over.rank > 1 ? 1 : REDUCE_ROW);
  }
  return one;
}

/* ---- modules */

void reducer_kernel(Reducer *k, HostSeq *seq, const char *name, int blocks, int threads,
                    void (*fn)(const Reducer *k, Builder *b)) {
  k->kernel = lowering_kernel(k->lo, name, 0, k->r->loc);
  Kernel *kernel = &k->lo->out->kernels[k->kernel];
  Builder b = builder_at_end(k->lo->out->arena, kernel->body);
  b.loc = k->r->loc;
  for (int d = 0; d < k->rank; d++)
    kernel->extent[d] = affine_const(d == k->rank - 1 ? blocks : 1);
  if (k->r->each)
    kernel->extent[0] = box_extent(b.arena, &k->lo->out->grid, 0);
  if (k->lo->c->target->simt)
    kernel->threads[k->rank - 1] = threads;
  k->zero = i32(&b, 0);
  k->block = build_dim(&b, OP_BLOCK, k->rank - 1);
  k->lane = build_dim(&b, OP_THREAD, k->rank - 1);
  k->lane64 = build_convert(&b, TY_I64, k->lane);
  k->member = k->r->each ? build_dim(&b, OP_BLOCK, 0) : NULL;
  k->slot = k->member ? build2(&b, OP_MUL, k->member, i64(&b, REDUCE_BLOCKS)) : NULL;
  fn(k, &b);
  host_launch(k->lo, seq, k->kernel);
}

/* A name NAME.WORD for a scratch buffer, made unique. */
static const char *buffer_name_behind(const Module *m, const char *name, const char *word) {
  const char *s = arena_printf(m->arena, "%s.%s", name, word);
  for (int i = 2; module_find_buffer(m, s) >= 0; i++)
    s = arena_printf(m->arena, "%s.%s.%d", name, word, i);
  return s;
}

/* Makes `k` combine the values of rows in buffer `rows`; -1: it computes them itself. */
static void set_rows(Reducer *k, int rows) {
  k->rows = rows;
  k->few = rows >= 0 && rows_are_few(k->lo->m, &k->r->over);
}

/* Adds the kernels of `k`, whose names begin with `name`, and their launches to `seq`. joined: the values of rows exist
 * already, so no kernel computes them. */
static void reduce_kernels(Reducer *k, HostSeq *seq, const char *name, bool joined) {
  Module *m = k->lo->out;
  bool simt = k->lo->c->target->simt;
  if (!simt && is_small(m->arena, k->r)) {
    reducer_kernel(k, seq, name, 1, 1, loops_over_all);
    return;
  }
  if (simt && k->rows < 0 && is_one_row(m->arena, k)) {
    reducer_kernel(k, seq, name, 1, REDUCE_LANES, threads_over_one_row);
    return;
  }
  if (k->rows >= 0 && !joined)
    rows_launch(k->lo, seq, k->r, k->rows, name);
  if (k->rows >= 0 && !k->few)
    reducer_kernel(k, seq, arena_printf(m->arena, "%s_rows", name), REDUCE_BLOCKS / WARP, WARP, rows_into_blocks);
  else if (k->rows < 0)
    reducer_kernel(k, seq, name, REDUCE_BLOCKS, REDUCE_LANES, simt ? threads_over_rows : loops_over_rows);
  reducer_kernel(k, seq, arena_printf(m->arena, "%s_all", name), 1, REDUCE_LANES,
                 simt ? threads_over_blocks : loops_over_blocks);
}

/* Begins the lowering of `r`: adds the scratch buffer for partial values, and, for a reduction by member without state
 * `state` (-1), the buffer for the members' values. */
static Reducer start_reducer(Lowering *lo, const Reduction *r, int points, int state) {
  Module *m = lo->out;
  Reducer k = {
      .lo = lo, .r = r, .rank = m->grid.rank, .points = points, .lead = 0, .update = -1, .last = -1, .rows = -1};
  k.buffer = k.result = m->nbuffers;
  Buffer partial = {.name = buffer_name_behind(m, r->name, "blocks"),
                    .kind = BUFFER_SCRATCH,
                    .type = r->type,
                    .cells = REDUCE_BLOCKS,
                    .each = r->each};
  ARENA_PUSH(m->arena, m->buffers, m->nbuffers, partial);
  if (state >= 0)
    k.result = state;
  if (!r->each || state >= 0)
    return k;
  Buffer values = partial;
  values.name = buffer_name_behind(m, r->name, "members");
  values.cells = 1;
  k.result = m->nbuffers;
  ARENA_PUSH(m->arena, m->buffers, m->nbuffers, values);
  return k;
}

/* Lowers reduction `r` of stencil IR to `out` of kernel IR. A thread has the loads of `points` points in flight. */
static void lower_reduction(Lowering *lo, const Reduction *r, int points, Reduction *out) {
  Reducer k = start_reducer(lo, r, points, -1);
  *out = *r;
  out->body = NULL;
  out->seq = (HostSeq){0};
  out->result = k.result;
  set_rows(&k, rows_buffer(lo, r));
  reduce_kernels(&k, &out->seq, arena_printf(lo->out->arena, "%s_reduce_%s", lo->out->name, r->name), false);
}

void lower_reductions(Lowering *lo, const Schedule *s) {
  Module *m = lo->out;
  m->reductions = ARENA_ARRAY(m->arena, Reduction, m->nreductions);
  for (int i = 0; i < m->nreductions; i++)
    lower_reduction(lo, &lo->m->reductions[i], map_get(s, MAP_REDUCE), &m->reductions[i]);
}

/* ---- updates */

/* Do updates number `i` and `k` belong to the same stage, and are both for each member, or both for all? */
static bool are_alike(const Module *m, int i, int k) {
  return m->updates[i].stage == m->updates[k].stage && m->updates[i].each == m->updates[k].each;
}

/* The last of the updates from number `i` on that one thread computes: `i`, and the next ones of the same stage that
 * combine nothing. */
static int last_together(const Module *m, int i) {
  while (i + 1 < m->nupdates && are_alike(m, i, i + 1) && update_is_point(&m->updates[i + 1]))
    i++;
  return i;
}

const Reduction *update_reduction(const Lowering *lo, int i) {
  const Update *u = &lo->m->updates[i];
  Reduction *r = ARENA_NEW(lo->out->arena, Reduction);
  *r = (Reduction){
      .name = update_name(lo->m, u), .op = u->op, .type = u->type, .over = u->over, .body = u->body, .loc = u->loc};
  r->each = u->each;
  return r;
}

bool update_waits(const Module *m, int first, int i) { return reads_states(m, i, first, i); }

/* Updates that share the launches of one of them: numbers `lead` to `last`. Number `at` may have a region; the others
 * combine nothing. */
typedef struct UpdateRun {
  int lead, at, last;
} UpdateRun;

/* The updates from number `i` on that share launches: those before an update with a region, that update, and those
 * after it; but if the update with a region reads a state that the ones before it change, it is not included. */
static UpdateRun updates_together(const Module *m, int i) {
  UpdateRun run = {i, i, last_together(m, i)};
  int next = run.last + 1;
  bool alone = update_is_point(&m->updates[i]), more = next < m->nupdates;
  if (alone && more && are_alike(m, i, next) && !update_waits(m, i, next)) {
    run.at = next;
    run.last = last_together(m, next);
  }
  return run;
}

/* Makes the launches of the updates of `run`. joined: the launch before has stored the values of rows, so fewer
 * launches are needed. */
static HostSeq make_updates(Lowering *lo, UpdateRun run, bool joined) {
  const Update *u = &lo->m->updates[run.at];
  const Reduction *r = update_reduction(lo, run.at);
  const char *name = arena_printf(lo->out->arena, "%s_update_%s", lo->out->name, r->name);
  HostSeq seq = {0};
  if (update_is_point(u)) {
    Reducer k = {.lo = lo, .r = r, .rank = lo->out->grid.rank, .update = run.at, .last = run.last};
    reducer_kernel(&k, &seq, name, 1, 1, only_updates);
    return seq;
  }
  Reducer k = start_reducer(lo, r, 1, u->state);
  k.lead = run.lead;
  k.update = run.at;
  k.last = run.last;
  set_rows(&k, rows_of_update(lo, run.at, r));
  reduce_kernels(&k, &seq, name, joined);
  return seq;
}

/* Adds the launches of the updates of stage `stage` to `seq`. */
static void push_updates(Lowering *lo, HostSeq *seq, int stage) {
  const Module *m = lo->m;
  UpdateRun run;
  if (!lo->updates)
    lo->updates = ARENA_ARRAY(lo->out->arena, HostSeq, 2 * m->nupdates + 1);
  for (int i = 0; i < m->nupdates; i = run.last + 1) {
    run = updates_together(m, i);
    if (m->updates[i].stage != stage)
      continue;
    bool joined = rows_at_hand(lo, run.at);
    HostSeq *made = &lo->updates[2 * run.at + joined];
    if (!made->nops)
      *made = make_updates(lo, run, joined);
    for (int k = 0; k < made->nops; k++)
      ARENA_PUSH(lo->out->arena, seq->ops, seq->nops, made->ops[k]);
  }
}

void lower_updates(Lowering *lo, HostSeq *seq, int after, int stage) {
  if (lo->c->sketch)
    return;
  const Module *slice = lower_whole(lo);
  for (int at = next_border(lo->m, after); at <= stage; at = next_border(lo->m, at)) {
    push_borders(lo, seq, at);
    push_updates(lo, seq, at);
    if (at == INT32_MAX)
      break;
  }
  lower_slice_again(lo, slice);
}
