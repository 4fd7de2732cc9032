/* small-launches.c: merges consecutive launches of few points into one launch of one block, with a barrier between any
 * two of them:
 *
 *   launch @red        launch @red_to_black: one block, whose threads make
 *   swap @u, @v          for the points of @red { its code }
 *   launch @black        barrier
 *   swap @u, @v          for the points of @black { its code, with @u for @v and @v for @u }
 *
 * A launch takes some microseconds even with very few points: on the coarse levels of a multigrid cycle, in updates of
 * a layer or a boundary, on small grids. The threads are in one block, so after a barrier they see the global memory
 * that the launch before has written.
 *
 * Rounds of a repeat without an evaluation between them become a loop around the barriers. The buffers must have their
 * old meaning after each round, or after some number of rounds if the number of all rounds is known. The host still
 * counts these rounds, because logs name them, but they do nothing.
 *
 * A launch is small if, by its extents, it covers at most the plan's number of points (MAP_JOINED, MAP_ALONG_0), and at
 * most twice as many on grids that are an eighth larger, which get the same kernels. The kernel is right for any number
 * of points: its threads take the points in rounds. The threads of its code must be independent: no shared arrays, no
 * shuffles. */
#include <string.h>

#include "passes/base/tuning.h"
#include "passes/kernel/inner.h"
#include "passes/launch/launch.h"
#include "passes/registry.h"

/* The pass makes no launch with more than MOST_OPS ops, because the driver's compiler would take long. A loop becomes
 * part of a launch only if its swaps return all buffers to their old meaning after at most MOST_TURNS rounds, and if
 * its rounds are at most MOST_LAUNCHES launches, because a kernel cannot be interrupted. */
enum { MOST_OPS = 6000, MOST_TURNS = 4, MOST_LAUNCHES = 1 << 16 };

/* The state of the pass. grid: the scalars from which points are counted. small[k]: kernel k is small. uses[l]: the
 * number of repeats that run loop l. whole[l]: all launches of loop l are small, and nothing needs its rounds one by
 * one. */
typedef struct Small {
  PassContext *c;
  Module *m;
  GridScalars grid;
  int64_t points, threads;
  bool *small, *whole;
  int32_t *uses;
} Small;

/* A kernel in the making. at: for each buffer, the buffer whose memory it stands for now, as named at the begin of the
 * launch. any: the code so far needs a barrier before the next launch's code. */
typedef struct Joined {
  const Small *s;
  Kernel *k;
  int32_t *at;
  bool any;
} Joined;

/* ---- what is small */

/* A look at a kernel: does each thread work independently of the others? */
typedef struct Look {
  const Module *m;
  bool alone;
} Look;

/* Clears `alone` if `op` makes threads cooperate, needs a sweep's version, or stores to a launch-time array, which no
 * op would load again (a block_walk callback). */
static void note_op(void *user, Op *op) {
  Look *look = user;
  OpForm form = op_info[op->code].form;
  bool meets = form == FORM_PLAIN && (op_is_barrier(op) || op_is_signal(op) || op_meets_warp(op) ||
                                      op->code == OP_CLUSTER_RANK || op->code == OP_BARRIER_CLUSTER);
  bool moves = form == FORM_LANE || form == FORM_COPY || form == FORM_COUNT || form == FORM_SIGNAL ||
               form == FORM_BULK || form == FORM_SEND || form == FORM_FETCH;
  int written = op_buffer_written(op);
  bool array = written >= 0 && look->m->buffers[written].kind != BUFFER_FIELD;
  look->alone = look->alone && !meets && !moves && !array && !(form == FORM_GLOBAL && op->ver);
}

/* Does thread n of kernel `k` along dimension `d` compute point n? A tile with as many points as threads may also be
 * one whose threads have two cells each, with a halo as wide as the block; in that case the arrays have room for both
 * cells. */
static bool has_one_point(const Kernel *k, int d) {
  bool one = k->tile[d] == k->threads[d];
  for (int i = 0; i < k->narrays; i++)
    for (int e = 0; e < k->arrays[i].rank; e++)
      one = one && k->arrays[i].shape[e] == 1;
  return one;
}

/* The number of threads of `k` along dimension `d` for the first `extent` points: one a point if each thread has one
 * point, else all threads of the blocks. */
static int64_t threads_along(const Kernel *k, int d, int64_t extent) {
  extent = extent > 0 ? extent : 0;
  return has_one_point(k, d) ? extent : (extent + k->tile[d] - 1) / k->tile[d] * k->threads[d];
}

/* The number of threads of `k` that have points; *most: the same number on the largest grid that gets these kernels.
 * INT64_MAX: it is too large, or does not follow from the grid. */
static int64_t threads_of(const Small *s, const Kernel *k, int64_t *most) {
  int64_t all = 1;
  bool many = false;
  *most = 1;
  for (int d = 0; d < k->rank; d++) {
    int64_t largest, n = grid_extent(&s->grid, k->extent[d], &largest);
    many = many || n > INT32_MAX || largest > INT32_MAX || __builtin_mul_overflow(all, threads_along(k, d, n), &all) ||
           __builtin_mul_overflow(*most, threads_along(k, d, largest), most);
  }
  *most = many ? INT64_MAX : *most;
  return many ? INT64_MAX : all;
}

static bool is_small(const Small *s, const Kernel *k) {
  int64_t most;
  bool alone = !k->cluster && !k->leaves_out && !k->idles && !k->nmultiples && !k->instead && !k->tests;
  for (int d = 0; d < k->rank; d++)
    alone = alone && !k->over[d];
  for (int i = 0; i < k->narrays; i++)
    alone = alone && k->arrays[i].space == SPACE_PRIVATE && k->arrays[i].storage < 0;
  Look look = {s->m, alone};
  if (alone)
    block_walk(k->body, note_op, &look);
  return look.alone && inner_ops(k->body) <= MOST_OPS && threads_of(s, k, &most) <= s->points && most <= 2 * s->points;
}

/* The number of rounds of loop `l`; -1 if it depends on params. */
static int64_t rounds_of(const HostLoop *l) { return l->most.n ? -1 : l->most.c > 0 ? l->most.c : 0; }

static void run_swaps(const Small *s, const HostSeq *seq, int32_t *at);

/* The number of runs of `seq` after which every buffer has its old meaning; 0 if that takes more than MOST_TURNS
 * runs. */
static int turns_of(const Small *s, const HostSeq *seq) {
  int32_t *at = ARENA_ARRAY(s->c->arena, int32_t, s->m->nbuffers + 1);
  for (int b = 0; b < s->m->nbuffers; b++)
    at[b] = b;
  for (int n = 1; n <= MOST_TURNS; n++) {
    bool same = true;
    run_swaps(s, seq, at);
    for (int b = 0; b < s->m->nbuffers; b++)
      same = same && at[b] == b;
    if (same)
      return n;
  }
  return 0;
}

/* Updates `at`, the meaning of each buffer, for one run of `seq`, whose loops are whole. */
static void run_swaps(const Small *s, const HostSeq *seq, int32_t *at) {
  for (int i = 0; i < seq->nops; i++) {
    const HostOp *op = &seq->ops[i];
    const HostLoop *l = op->kind == HOST_REPEAT ? &s->m->host.loops[op->a] : NULL;
    int64_t left = l ? rounds_of(l) : 0;
    if (op->kind == HOST_SWAP)
      host_swap(&(HostSeq){.nops = 1, .ops = seq->ops + i}, 0, at);
    for (int q = 0; l && q < l->nseqs && left > 0; left %= l->seqs[q++].steps)
      for (int64_t n = left / l->seqs[q].steps % turns_of(s, &l->seqs[q]); n > 0; n--)
        run_swaps(s, &l->seqs[q], at);
  }
}

/* Can `op` be part of a joined launch: is it a swap, a small launch, or the rounds of a whole loop? */
static bool is_joinable(const Small *s, const HostOp *op) {
  return op->kind == HOST_SWAP || (op->kind == HOST_LAUNCH ? s->small[op->a] : s->whole[op->a]);
}

/* The number of launches in all rounds of loop `l`, inner loops included, on the grid for which kernels are made, with
 * the default params; MOST_LAUNCHES + 1 if there are more than MOST_LAUNCHES. */
static int64_t launches_of(const Small *s, const HostLoop *l) {
  bool overflow = false;
  int64_t rounds = affine_eval(l->most, s->grid.values, &overflow), most = 0;
  for (int q = 0; q < l->nseqs; q++) {
    int64_t n = 0;
    for (int i = 0; i < l->seqs[q].nops && n <= MOST_LAUNCHES; i++) {
      const HostOp *op = &l->seqs[q].ops[i];
      n += op->kind == HOST_LAUNCH ? 1 : op->kind == HOST_REPEAT ? launches_of(s, &s->m->host.loops[op->a]) : 0;
    }
    most = n > most ? n : most;
  }
  return overflow || (rounds > 0 && most > MOST_LAUNCHES / rounds) ? MOST_LAUNCHES + 1 : rounds > 0 ? rounds * most : 0;
}

/* Do the rounds of loop number `l`, whose inner loops are known, consist of small launches and swaps, and does nothing
 * look at single rounds? If the rounds would keep a kernel running for long, the host runs them, because it can be
 * interrupted between them. */
static bool is_whole(const Small *s, int l) {
  const HostLoop *loop = &s->m->host.loops[l];
  bool whole = s->uses[l] == 1 && !loop->count && launches_of(s, loop) <= MOST_LAUNCHES;
  for (int i = 0; i < s->m->nreductions; i++)
    whole = whole && s->m->reductions[i].loop != l + 1;
  for (int q = 0; q < loop->nseqs && whole; q++) {
    for (int i = 0; i < loop->seqs[q].nops; i++)
      whole = whole && is_joinable(s, &loop->seqs[q].ops[i]) && !loop->seqs[q].ops[i].after;
    int turns = whole ? turns_of(s, &loop->seqs[q]) : 0;
    whole = turns == 1 || (turns > 1 && rounds_of(loop) >= 0);
  }
  return whole;
}

/* ---- how much it is */

/* The size of a list of operations as code of one launch: the launches that it replaces, and its ops. */
typedef struct Size {
  int64_t launches, ops;
} Size;

static Size size_of(const Small *s, const HostOp *op);

/* The size of one run of `seq`. */
static Size size_of_run(const Small *s, const HostSeq *seq) {
  Size all = {0, 0};
  for (int i = 0; i < seq->nops; i++) {
    Size one = size_of(s, &seq->ops[i]);
    all.launches += one.launches;
    all.ops += one.ops;
  }
  return all;
}

/* The size of `op`; a number of rounds that depends on params counts as two. */
static Size size_of(const Small *s, const HostOp *op) {
  if (op->kind == HOST_SWAP)
    return (Size){0, 0};
  if (op->kind == HOST_LAUNCH)
    return (Size){1, inner_ops(s->m->kernels[op->a].body)};
  const HostLoop *l = &s->m->host.loops[op->a];
  int64_t left = rounds_of(l);
  Size all = {0, 0};
  for (int q = 0; q < l->nseqs; q++) {
    Size one = size_of_run(s, &l->seqs[q]);
    int64_t n = left < 0 ? 2 : left / l->seqs[q].steps, turns = turns_of(s, &l->seqs[q]);
    left = left < 0 ? left : left % l->seqs[q].steps;
    all.launches += n * one.launches;
    all.ops += one.ops * (n < turns ? n : turns + n % turns);
  }
  return all;
}

/* ---- the code of a launch */

/* The smallest power of two that is at least `n`, but at most `most`. */
static int64_t power_of_two(int64_t n, int64_t most) {
  int64_t p = 1;
  while (p < n && p < most)
    p *= 2;
  return p;
}

/* Builds the number of threads along `d` that kernel `k` has for points. */
static Value *count_along(const Joined *j, Builder *b, const Kernel *k, int d) {
  Value *n = build_affine(b, j->s->m, k->extent[d]);
  if (has_one_point(k, d))
    return n;
  n = build2(b, OP_ADD, n, build_int(b, TY_I64, k->tile[d] - 1));
  n = build2(b, OP_DIV, n, build_int(b, TY_I64, k->tile[d]));
  return build2(b, OP_MUL, n, build_int(b, TY_I64, k->threads[d]));
}

/* Begins, at `b`, the loops in which each thread of the block runs the code of its share of the threads of `k`. at[d]
 * becomes the number of the thread of `k` along dimension d. On the given grid the block's threads are arranged like
 * those of `k`. Returns a builder for the loops' body. */
static Builder each_thread(const Joined *j, Builder *b, const Kernel *k, Value *at[MAX_RANK]) {
  const Small *s = j->s;
  int64_t left = s->threads;
  Builder in = *b;
  Value *thread = build_convert(&in, TY_I64, build_dim(&in, OP_THREAD, k->rank - 1));
  for (int d = k->rank - 1; d >= 0; d--) {
    int64_t n = threads_along(k, d, affine_eval(k->extent[d], s->grid.values, NULL)),
            along = d ? power_of_two(n, left) : left;
    Value *first = thread;
    if (d && along < left) {
      first = build2(&in, OP_BIT_AND, thread, build_int(&in, TY_I64, along - 1));
      thread = build2(&in, OP_DIV, thread, build_int(&in, TY_I64, along));
    } else {
      thread = build_int(&in, TY_I64, 0);
    }
    Op *loop = build_for(&in, first, count_along(j, &in, k, d), along, FOR_APART, 0, NULL);
    in = builder_at_end(in.arena, loop->blocks[0]);
    in.loc = k->loc;
    at[d] = loop->blocks[0]->args[0];
    left /= along;
  }
  return in;
}

/* The replacements for ops in the code of a launch: its block and thread numbers, its arrays, and the buffers that its
 * buffers stand for. */
typedef struct Place {
  const Joined *j;
  int32_t arrays; /* the new number of its first array */
  Value *block[MAX_RANK], *thread[MAX_RANK];
  Block *body;
} Place;

/* Applies the replacements to a cloned op (a block_walk callback). */
static void put_op(void *user, Op *op) {
  const Place *p = user;
  if (op->code == OP_BLOCK || op->code == OP_THREAD) {
    block_replace_uses(p->body, op->results[0], op->code == OP_BLOCK ? p->block[op->sym] : p->thread[op->sym]);
    op_unlink(op);
  } else if (op_info[op->code].form == FORM_GLOBAL) {
    op->sym = p->j->at[op->sym];
  } else if (op_info[op->code].form == FORM_ARRAY) {
    op->sym += p->arrays;
  }
}

/* Adds the arrays of `k` to the kernel in the making. */
static void join_arrays(Joined *j, const Kernel *k) {
  Arena *a = j->s->m->arena;
  for (int i = 0; i < k->narrays; i++) {
    Array array = k->arrays[i];
    array.name = arena_printf(a, "%s.%d", array.name, (int)j->k->narrays);
    ARENA_PUSH(a, j->k->arrays, j->k->narrays, array);
  }
}

/* Emits the code of kernel number `kernel` at `b`; if `apart`, with a barrier before it. */
static void join_kernel(Joined *j, Builder *b, int kernel, bool apart) {
  const Kernel *k = &j->s->m->kernels[kernel];
  Value *at[MAX_RANK];
  Place p = {.j = j, .arrays = j->k->narrays};
  b->loc = k->loc;
  if (apart && j->any)
    build_barrier(b);
  j->any = true;
  join_arrays(j, k);
  Builder in = each_thread(j, b, k, at);
  for (int d = 0; d < k->rank; d++) {
    Value *threads = build_int(&in, TY_I64, k->threads[d]);
    p.block[d] = build2(&in, OP_DIV, at[d], threads);
    p.thread[d] = build_convert(&in, TY_I32, build2(&in, OP_REM, at[d], threads));
  }
  block_renumber(k->body, 0);
  p.body = block_clone(in.arena, k->body, NULL, NULL);
  block_walk(p.body, put_op, &p);
  for (Op *op = p.body->first, *next; op; op = next) {
    next = op->next;
    op_unlink(op);
    op_insert(in.block, NULL, op);
  }
}

static void join_ops(Joined *j, Builder *b, int n, const HostOp *op);

/* Emits `turns` runs of `seq` at `b`; if `n` is not NULL, in a loop of `n` iterations. */
static void join_runs(Joined *j, Builder *b, const HostSeq *seq, int64_t turns, Value *n) {
  Builder in = *b;
  if (n) {
    Op *loop = build_for(b, build_int(b, TY_I64, 0), n, 1, 0, 0, NULL);
    in = builder_at_end(b->arena, loop->blocks[0]);
    j->any = true;
  }
  for (int64_t i = 0; i < turns; i++)
    join_ops(j, &in, seq->nops, seq->ops);
}

/* Emits the rounds of loop `l`, which is whole, at `b`. */
static void join_loop(Joined *j, Builder *b, const HostLoop *l) {
  int64_t left = rounds_of(l);
  Value *rest = left < 0 ? build2(b, OP_MAX, build_affine(b, j->s->m, l->most), build_int(b, TY_I64, 0)) : NULL;
  for (int q = 0; q < l->nseqs; q++) {
    const HostSeq *seq = &l->seqs[q];
    Value *steps = rest ? build_int(b, TY_I64, seq->steps) : NULL;
    int64_t n = rest ? 0 : left / seq->steps, turns = turns_of(j->s, seq);
    if (rest)
      join_runs(j, b, seq, 1, build2(b, OP_DIV, rest, steps));
    else if (n >= 2 * turns)
      join_runs(j, b, seq, turns, build_int(b, TY_I64, n / turns));
    else
      join_runs(j, b, seq, n / turns * turns, NULL);
    join_runs(j, b, seq, n % turns, NULL);
    rest = rest ? build2(b, OP_REM, rest, steps) : NULL;
    left %= seq->steps;
  }
}

/* Emits the `n` operations at `op` at `b`. */
static void join_ops(Joined *j, Builder *b, int n, const HostOp *op) {
  for (int i = 0; i < n; i++) {
    if (op[i].kind == HOST_LAUNCH)
      join_kernel(j, b, op[i].a, !op[i].beside || op[i].behind);
    else if (op[i].kind == HOST_SWAP)
      host_swap(&(HostSeq){.nops = 1, .ops = (HostOp *)op + i}, 0, j->at);
    else
      join_loop(j, b, &j->s->m->host.loops[op[i].a]);
  }
}

/* ---- the host part */

/* The first (`last`: the last) kernel that the `n` operations at `op` launch; -1 if there is none. */
static int some_kernel(const Module *m, int n, const HostOp *op, bool last) {
  int found = -1;
  for (int i = 0; i < n && (found < 0 || last); i++) {
    const HostLoop *l = op[i].kind == HOST_REPEAT ? &m->host.loops[op[i].a] : NULL;
    int k = op[i].kind == HOST_LAUNCH ? op[i].a : l ? some_kernel(m, l->seqs[0].nops, l->seqs[0].ops, last) : -1;
    found = k >= 0 ? k : found;
  }
  return found;
}

/* A new name for a kernel that does the work of kernels `from` to `to`. */
static const char *joined_name(const Module *m, const Kernel *from, const Kernel *to) {
  size_t same = 0, n = strlen(m->name);
  while (from->name[same] && from->name[same] == to->name[same])
    same++;
  while (same > n && to->name[same - 1] != '_')
    same--;
  const char *base = from == to ? arena_printf(m->arena, "%s_rounds", from->name)
                                : arena_printf(m->arena, "%s_to_%s", from->name, to->name + same),
             *name = base;
  for (int i = 2; module_find_kernel(m, name) >= 0; i++)
    name = arena_printf(m->arena, "%s_%d", base, i);
  return name;
}

/* Makes one kernel of the `n` operations at `op`. Returns its number. */
static int join(Small *s, int n, const HostOp *op) {
  Module *m = s->m;
  const Kernel *from = &m->kernels[some_kernel(m, n, op, false)], *to = &m->kernels[some_kernel(m, n, op, true)];
  Kernel k = {.name = joined_name(m, from, to),
              .rank = m->grid.rank,
              .body = block_new(m->arena, NULL),
              .loc = from->loc};
  Joined j = {.s = s, .k = &k, .at = ARENA_ARRAY(s->c->arena, int32_t, m->nbuffers + 1)};
  for (int b = 0; b < m->nbuffers; b++)
    j.at[b] = b;
  for (int d = 0; d < MAX_RANK; d++) {
    k.threads[d] = k.tile[d] = 1;
    k.extent[d] = affine_const(1);
  }
  k.threads[k.rank - 1] = (int32_t)s->threads;
  k.steps = to->steps;
  Builder b = builder_at_end(m->arena, k.body);
  join_ops(&j, &b, n, op);
  kernel_set_args(m, &k);
  ARENA_PUSH(m->arena, m->kernels, m->nkernels, k);
  return m->nkernels - 1;
}

/* Empties the rounds of loop `l` and of the loops within it: they launch, swap and renew nothing. */
static void empty_loop(const Small *s, int l) {
  HostLoop *loop = &s->m->host.loops[l];
  loop->nrenewed = 0;
  for (int q = 0; q < loop->nseqs; q++) {
    HostSeq *seq = &loop->seqs[q], out = {.steps = seq->steps};
    for (int i = 0; i < seq->nops; i++)
      if (seq->ops[i].kind == HOST_REPEAT) {
        empty_loop(s, seq->ops[i].a);
        ARENA_PUSH(s->m->arena, out.ops, out.nops, seq->ops[i]);
      }
    *seq = out;
  }
}

/* Adds the swap of buffers `a` and `b` to `out`, and updates the meanings `at`. */
static void push_swap(const Small *s, HostSeq *out, int a, int b, int32_t *at) {
  HostOp swap = {.kind = HOST_SWAP, .a = a, .b = b};
  ARENA_PUSH(s->m->arena, out->ops, out->nops, swap);
  host_swap(&(HostSeq){.nops = 1, .ops = &swap}, 0, at);
}

/* The buffer that stands for `memory` according to `at`. */
static int buffer_with(const int32_t *at, int32_t memory) {
  int b = 0;
  while (at[b] != memory)
    b++;
  return b;
}

/* Adds to `out` swaps that give buffers the meanings `end`. Nobody needs the contents of a field's second buffer after
 * its swap, so the swaps with second buffers come last, one for each buffer. */
static void push_swaps(const Small *s, const int32_t *end, HostSeq *out) {
  const Module *m = s->m;
  int32_t *now = ARENA_ARRAY(s->c->arena, int32_t, m->nbuffers + 1),
          *first = ARENA_ARRAY(s->c->arena, int32_t, m->nbuffers + 1);
  for (int b = 0; b < m->nbuffers; b++) {
    now[b] = b;
    first[b] = end[b];
  }
  for (int c = 0; c < m->nbuffers; c++)
    if (m->buffers[c].copy && first[c] != c) {
      first[buffer_with(first, c)] = first[c];
      first[c] = c;
    }
  for (int a = 0; a < m->nbuffers; a++)
    if (now[a] != first[a])
      push_swap(s, out, a, buffer_with(now, first[a]), now);
  for (int c = 0; c < m->nbuffers; c++)
    if (m->buffers[c].copy && now[c] != end[c])
      push_swap(s, out, buffer_with(now, end[c]), c, now);
}

/* Adds to `out` what the host still does for the `n` operations at `op`, after their launch: empty rounds, and swaps
 * that give buffers the meanings that they have after all `n` operations. */
static void push_rest(const Small *s, int n, const HostOp *op, HostSeq *out) {
  int32_t *end = ARENA_ARRAY(s->c->arena, int32_t, s->m->nbuffers + 1);
  for (int b = 0; b < s->m->nbuffers; b++)
    end[b] = b;
  run_swaps(s, &(HostSeq){.nops = n, .ops = (HostOp *)op}, end);
  push_swaps(s, end, out);
  for (int i = 0; i < n; i++)
    if (op[i].kind == HOST_REPEAT) {
      empty_loop(s, op[i].a);
      ARENA_PUSH(s->m->arena, out->ops, out->nops, op[i]);
    }
}

/* Is operation number `i` of `seq` a launch that may run concurrently with the one before it? */
static bool is_beside(const HostSeq *seq, int i) {
  return i < seq->nops && seq->ops[i].kind == HOST_LAUNCH && seq->ops[i].beside;
}

/* The number of points of the concurrent launches from number `i` of `seq` on. INT64_MAX if one of them
 * is not small. */
static int64_t points_beside(const Small *s, const HostSeq *seq, int i) {
  int64_t points = 0, most;
  do {
    if (!s->small[seq->ops[i].a])
      return INT64_MAX;
    points += threads_of(s, &s->m->kernels[seq->ops[i].a], &most);
  } while (is_beside(seq, ++i));
  return points;
}

/* The number of operations of `seq` from number `i` on that can become one launch; *size is their size. */
static int run_length(const Small *s, const HostSeq *seq, int i, Size *size) {
  int n = 0;
  *size = (Size){0, 0};
  while (i + n < seq->nops && is_joinable(s, &seq->ops[i + n]) && seq->ops[i + n].after == seq->ops[i].after) {
    const HostOp *op = &seq->ops[i + n];
    Size one = size_of(s, op);
    bool many = op->kind == HOST_LAUNCH && !op->beside && points_beside(s, seq, i + n) > s->points;
    if (many || size->ops + one.ops > MOST_OPS)
      break;
    size->launches += one.launches;
    size->ops += one.ops;
    n++;
  }
  while (n && is_beside(seq, i + n))
    size->launches -= size_of(s, &seq->ops[i + --n]).launches;
  return n;
}

/* Replaces runs of consecutive small launches in `seq` by launches of one block. */
static void join_sequence(Small *s, HostSeq *seq) {
  HostSeq out = {.steps = seq->steps};
  for (int i = 0; i < seq->nops;) {
    Size size;
    int n = seq->ops[i].kind == HOST_SWAP || is_beside(seq, i) ? 0 : run_length(s, seq, i, &size);
    if (n && size.launches > 1) {
      HostOp one = {.kind = HOST_LAUNCH, .a = join(s, n, seq->ops + i), .after = seq->ops[i].after};
      pass_stat(s->c, size.launches, "small-launches", "launches that kernel %s makes", s->m->kernels[one.a].name);
      ARENA_PUSH(s->m->arena, out.ops, out.nops, one);
      push_rest(s, n, seq->ops + i, &out);
      i += n;
    } else {
      ARENA_PUSH(s->m->arena, out.ops, out.nops, seq->ops[i++]);
    }
  }
  *seq = out;
}

/* ---- the pass */

/* Counts for each loop the repeats in `seq`. */
static void count_uses(Small *s, const HostSeq *seq) {
  for (int i = 0; i < seq->nops; i++)
    if (seq->ops[i].kind == HOST_REPEAT)
      s->uses[seq->ops[i].a]++;
}

/* Removes the kernels with numbers below `count` that nothing launches any more. */
static void drop_kernels(PassContext *c, Module *m, int count) {
  bool *kept = ARENA_ARRAY(c->arena, bool, m->nkernels + 1);
  int32_t *number = ARENA_ARRAY(c->arena, int32_t, m->nkernels + 1), n = 0;
  HostSeq *q;
  for (int i = 0; (q = host_part(m, i)); i++)
    host_kernels(m, q, kept);
  for (int k = 0; k < m->nkernels; k++)
    if (kept[k] && m->kernels[k].instead)
      kept[m->kernels[k].instead - 1] = true;
  for (int k = 0; k < m->nkernels; k++) {
    number[k] = n;
    if (kept[k] || k >= count)
      m->kernels[n++] = m->kernels[k];
  }
  m->nkernels = n;
  for (int k = 0; k < n; k++)
    if (m->kernels[k].instead)
      m->kernels[k].instead = number[m->kernels[k].instead - 1] + 1;
  for (int i = 0; (q = host_part(m, i)); i++)
    for (int k = 0; k < q->nops; k++)
      if (q->ops[k].kind == HOST_LAUNCH)
        q->ops[k].a = number[q->ops[k].a];
}

/* Finds the small kernels and whole loops of the module. */
static void find_small(Small *s) {
  Module *m = s->m;
  HostSeq *q;
  s->small = ARENA_ARRAY(s->c->arena, bool, m->nkernels + 1);
  s->whole = ARENA_ARRAY(s->c->arena, bool, m->host.nloops + 1);
  s->uses = ARENA_ARRAY(s->c->arena, int32_t, m->host.nloops + 1);
  for (int i = 0; (q = host_part(m, i)); i++)
    count_uses(s, q);
  for (int k = 0; k < m->nkernels; k++)
    s->small[k] = is_small(s, &m->kernels[k]);
  for (int l = 0; l < m->host.nloops; l++)
    s->whole[l] = is_whole(s, l);
}

/* Finds the scalars from which points are counted, for a grid with the extents of options along0 and so on; the default
 * is the grid under default params. False if the scalars are not known, or an option is wrong. */
static bool find_grid(Small *s, int n, const PassOption *o) {
  static const char *const along[MAX_RANK] = {"along0", "along1", "along2", "along3"};
  const Const *usual = default_scalars(s->m);
  int64_t size[MAX_RANK] = {0};
  bool ok = true, overflow = false;
  for (int d = 0; d < s->m->grid.rank && ok; d++) {
    int64_t extent = usual ? affine_eval(box_extent(s->m->arena, &s->m->grid, d), usual, &overflow) : 0;
    size[d] = pass_option_int(s->c, "small-launches", n, o, along[d], 0, INT32_MAX, overflow ? 0 : extent, &ok);
  }
  return ok && grid_scalars(s->m, size, &s->grid);
}

/* May launches of `m` be joined? Not if a launcher chooses by params which points of a part each launch stores. */
static bool may_join(const Module *m) { return !m->part || box_equal(&m->part->gives, &m->grid); }

/* The pass. It joins the launches of steps first, then those of rounds, from inner loops to outer ones. */
Module *pass_small_launches(PassContext *c, Module *m, int n, const PassOption *o) {
  bool ok = true;
  int64_t points =
      pass_option_int(c, "small-launches", n, o, "points", 0, INT32_MAX, (int64_t)tuning.small_points, &ok);
  int64_t threads = pass_option_int(c, "small-launches", n, o, "threads", 1, 1024, (int64_t)tuning.small_points, &ok);
  Small s = {.c = c, .m = m, .points = points, .threads = threads};
  int count = m->nkernels;
  if (ok && (threads & (threads - 1)))
    ok = (diag_error(c->diags, no_loc(), "small-launches: threads must be a power of two, and are %lld",
                     (long long)threads),
          false);
  if (!ok || !find_grid(&s, n, o) || !c->target->simt || !may_join(m) || threads > c->target->max_threads)
    return ok ? m : NULL;
  find_small(&s);
  for (int i = 0; i < m->host.nseqs; i++)
    join_sequence(&s, &m->host.seqs[i]);
  for (int l = m->host.nloops - 1; l >= 0; l--)
    for (int q = 0; q < m->host.loops[l].nseqs; q++)
      join_sequence(&s, &m->host.loops[l].seqs[q]);
  int made = m->nkernels - count;
  if (!made)
    return m;
  drop_kernels(c, m, count);
  module_renumber(m);
  for (int k = m->nkernels - made; k < m->nkernels; k++)
    simplify_kernel(c, m, &m->kernels[k]);
  return m;
}
