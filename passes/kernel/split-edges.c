/* split-edges.c: moves the blocks at edges to a kernel of their own.
 *
 * Pass specialize turns a body into `if interior { A } else { B }`. As one kernel, every block takes the registers of
 * B, which needs more of them. If the interior blocks form a box of the grid of blocks, kernel
 *
 *     @k covers [N, M] by [8, 32] { if interior { A } else { B } }      launch @k
 *
 * becomes
 *
 *     @k covers [N - 16, M - 64] by [8, 32] { A }                       launch @k_edge
 *     @k_edge covers [N, M] by [8, 32] without [N - 16, M - 64] { B }   launch @k beside
 *
 * with the blocks of both moved to their tiles. The two launches are concurrent (`beside`). The edge kernel is launched
 * first, so that the interior blocks, which all take the same time, fill the device after it. A kernel with idle blocks
 * (`idle from [16, 32] to [N - 17, M - 33]`) is not split; it loses its idle blocks (idle-blocks.c).
 *
 * The box: in each dimension the `inside` ops bound a multiple of one block number, b * tile, from below by a constant
 * and from above by bounds that differ by constants. So the interior kernel `covers` the points up to that bound, and
 * adds a constant to its block numbers. If bounds do not differ by constants, the first interior block and the end of
 * the last one are lets, `KERNEL.begin.D` and `KERNEL.end.D`. That is so for layers whose width is a param, and in a
 * part of a grid, whose tiles begin at `part.first.D`.
 *
 * The edge kernel names the box that it leaves out (`without`, see docs/ir.md), and its blocks are numbered in one
 * dimension. A block finds its place dimension by dimension: a number along dimension 0 without interior blocks stands
 * for all blocks of the dimensions after it, any other number for those that are not interior, and among these the
 * search continues. That takes one division a block for each dimension but the last.
 *
 * A kernel stays whole if
 *
 * - the condition has another form,
 * - its threads do not cooperate (no barrier, no shuffle), have few points, and B is neither long (300 ops) nor three
 *   times as long as A, because such kernels have enough registers,
 * - it has idle blocks, or
 * - the kernel that is launched instead of it, or that it is launched instead of, stays whole.
 *
 * `-edges=along` omits the pass; so does the default on grids known to have fewer than 2^22 points, where a launch
 * takes no longer than the wait between two launches.
 *
 * Registers of a thread, from ptxas for sm_90: whole; interior / edge. "+ 60 B" means 60 bytes spilled.
 *
 *     program    f32 overlap      f32 stream                   f64 overlap       f64 stream
 *     star1d1r   32; 27 / 32      78; 40 / 72                  38; 32 / 38       58; 40 / 60
 *     star1d3r   32; 32 / 32      72; 40 / 72                  39; 32 / 39       64; 48 / 72
 *     star2d1r   66; 32 / 80      168; 127 / 168               86; 64 / 108      111; 96 / 112
 *     star2d2r   79; 32 / 78      128; 124 / 128               110; 60 / 102     96; 88 / 96
 *     star2d4r   138; 40 / 126    112; 89 / 118                178; 64 / 188     122; 94 / 114
 *     box2d1r    74; 40 / 72      127; 113 / 128               104; 66 / 98      254; 178 / 254
 *     box2d2r    59; 40 / 55      118; 95 / 113                104; 64 / 78      255 + 60 B; 255 + 52 B / 255 + 48 B
 *     star3d1r   64; 32 / 78      127; 125 / 127               58; 32 / 53       124; 124 / 124
 *     star3d2r   32               128 + 224 B; 98 / 128 + 224 B   32             128 + 96 B; 116 / 128 + 96 B
 *     box3d1r    107; 55 / 78     108; 101 / 104               34                124; 122 / 102
 *
 * Measured: docs/lab/streaming.md#kernels-of-their-own-for-tiles-at-edges. */
#include <string.h>

#include "passes/kernel/inner.h"
#include "passes/passes.h"

/* A thread with MANY_POINTS points has many. An edge version is long if it has at least LONG_EDGES ops and LONGER times
 * those of the other version. */
enum { MANY_POINTS = 8, LONG_EDGES = 300, LONGER = 3 };

/* The plan for one kernel: the op that chooses between versions (NULL: the kernel stays whole), the box of interior
 * blocks, and the number of the edge kernel. */
typedef struct Split {
  Op *versions;
  Inner inner[MAX_RANK];
  int32_t edge;
} Split;

/* ---------------------------------------------------------------- which blocks are interior */

/* x / y, rounded up. */
static int64_t ceil_div(int64_t x, int64_t y) { return x / y + (x % y > 0); }

/* Keeps bound `x` until launch. False if there is no room. */
static bool keep_bound(Affine *bounds, int32_t *n, Affine x) {
  if (*n == MOST_BOUNDS)
    return false;
  bounds[(*n)++] = x;
  return true;
}

bool inner_restrict(Inner *in, Affine lo, Affine hi, int64_t tile) {
  int64_t more;
  Affine extent = affine_add_const(hi, 1);
  if (lo.n && !keep_bound(in->lo, &in->nlo, lo))
    return false;
  if (!lo.n && ceil_div(lo.c, tile) > in->first)
    in->first = ceil_div(lo.c, tile);
  if (!affine_diff(in->extent, extent, &more))
    return keep_bound(in->hi, &in->nhi, extent);
  if (more > 0)
    in->extent = extent;
  return true;
}

/* If `op` is an inside of first points of tiles only, restricts `inner` to the blocks for which it holds, else returns
 * false. */
static bool restrict_by_inside(Ranges *r, const Op *op, Inner *inner) {
  for (int i = 0; i < op->noperands; i++) {
    Linear f = linear_of(r, op->operands[i]);
    if (op->operands[i]->type != TY_I64 || f.n != 1 || f.t[0].atom.kind != ATOM_BLOCK)
      return false;
    int d = f.t[0].atom.index;
    if (f.t[0].coef != r->k->tile[d] || !inner_restrict(&inner[d], affine_add_const(op->box->lo[i], -f.c),
                                                        affine_add_const(op->box->hi[i], -f.c), r->k->tile[d]))
      return false;
  }
  return true;
}

/* The same for a conjunction of insides. */
static bool restrict_by(Ranges *r, const Value *v, Inner *inner) {
  if (v->def && v->def->code == OP_AND)
    return restrict_by(r, v->def->operands[0], inner) && restrict_by(r, v->def->operands[1], inner);
  return v->def && v->def->code == OP_INSIDE && restrict_by_inside(r, v->def, inner);
}

/* Sets *user, a bool, if `op` makes threads of a block cooperate (a block_walk callback). */
static void note_together(void *user, Op *op) {
  *(bool *)user |=
      op_is_barrier(op) || op->code == OP_SHUFFLE || op->code == OP_SHUFFLE_UP || op->code == OP_SHUFFLE_DOWN;
}

/* Counts ops (a block_walk callback). */
static void count_op(void *user, Op *op) {
  (void)op;
  ++*(int64_t *)user;
}

int64_t inner_ops(Block *b) {
  int64_t ops = 0;
  block_walk(b, count_op, &ops);
  return ops;
}

/* Is the version for blocks at edges of `k` much longer than the other version, so that the other blocks would take
 * registers without need? */
static bool has_long_edges(const Kernel *k) {
  int64_t ops[2] = {0, 0};
  for (const Op *op = k->body->first; op; op = op->next)
    for (int i = 0; i < 2 && (op->flags & IF_INTERIOR); i++)
      ops[i] += inner_ops(op->blocks[i]);
  return ops[1] >= LONG_EDGES && ops[1] >= LONGER * ops[0];
}

/* Sets *user, a bool, if `op` is a loop that is not unrolled and whose rounds are not independent (a block_walk
 * callback). */
static void note_rounds(void *user, Op *op) {
  *(bool *)user |= op->code == OP_FOR && !(op->flags & (FOR_UNROLL | FOR_APART));
}

/* Has a thread of `k` so many points, with unrolled code, that they take most of the registers? */
static bool has_many_points(const Kernel *k) {
  int64_t points = 1, threads = 1;
  bool rounds = false;
  for (int d = 0; d < k->rank; d++) {
    points *= k->tile[d];
    threads *= k->threads[d];
  }
  block_walk(k->body, note_rounds, &rounds);
  return points >= MANY_POINTS * threads && !rounds;
}

/* Does it pay to split `k`? If each thread works for itself on few points, the registers suffice for both versions,
 * unless one is much longer. Kernels with idle blocks are not split: such kernels follow each other, and each of two
 * concurrent launches would have to wait for both launches before it, while a single launch may begin before the
 * one ahead of it has ended. */
bool inner_is_worthwhile(const Kernel *k) {
  bool together = false;
  block_walk(k->body, note_together, &together);
  return (together || has_many_points(k) || has_long_edges(k)) && !k->leaves_out && !k->idles;
}

bool inner_blocks(Ranges *r, const Value *condition, Inner *inner) {
  const Kernel *k = r->k;
  for (int d = 0; d < k->rank; d++)
    inner[d] = (Inner){.extent = affine_add_const(k->extent[d], -k->over[d]), .begin = -1};
  return inner_is_worthwhile(k) && restrict_by(r, condition, inner);
}

/* Finds the versions of `k` and the box of blocks of the first version. */
static Split find_split(Ranges *r, const Kernel *k) {
  Split s = {NULL, {{0}}, -1};
  for (Op *op = k->body->first; op && !s.versions; op = op->next)
    if ((op->flags & IF_INTERIOR) && inner_blocks(r, op->operands[0], s.inner))
      s.versions = op;
  return s;
}

/* ---------------------------------------------------------------- bounds that are known at launch */

/* Adds a let to `m` for kernel `k` and dimension `d` with the expression `expr`. Returns its number. */
static int32_t add_let(Module *m, const Kernel *k, const char *what, int d, Block *expr) {
  const char *name = arena_printf(m->arena, "%s.%s.%d", k->name, what, d);
  ARENA_PUSH(m->arena, m->scalars, m->nscalars, ((Scalar){.name = name, .type = TY_I64, .expr = expr}));
  return m->nscalars - 1;
}

/* Adds a let with the largest (OP_MAX) or smallest (OP_MIN) of `x` and the `n` bounds; if `tile` is not 0, with the
 * number of blocks that cover that many points. Returns its number. */
static int32_t add_extreme(Module *m, const Kernel *k, int d, Opcode code, Affine x, int n, const Affine *bounds,
                           int64_t tile) {
  Block *expr = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, expr);
  Value *v = build_affine(&b, m, x);
  for (int i = 0; i < n; i++)
    v = build2(&b, code, v, build_affine(&b, m, bounds[i]));
  if (tile)
    v = build2(&b, OP_DIV, build2(&b, OP_ADD, v, build_int(&b, TY_I64, tile - 1)), build_int(&b, TY_I64, tile));
  build_yield(&b, 1, &v);
  return add_let(m, k, tile ? "begin" : "end", d, expr);
}

/* Makes lets of the bounds along dimension `d` that are known only at launch, and makes the extent count from the first
 * interior block. */
static void settle(Module *m, const Kernel *k, int d, Inner *in) {
  int64_t tile = k->tile[d];
  Arena *a = m->arena;
  if (in->nlo)
    in->begin = add_extreme(m, k, d, OP_MAX, affine_const(in->first * tile), in->nlo, in->lo, tile);
  if (in->nhi)
    in->extent = affine_scalar(a, add_extreme(m, k, d, OP_MIN, in->extent, in->nhi, in->hi, 0));
  if (in->nlo)
    in->extent = affine_sub(a, in->extent, affine_scale(a, affine_scalar(a, in->begin), tile));
  else
    in->extent = affine_add_const(in->extent, -in->first * tile);
}

void inner_settle(Module *m, const Kernel *k, Inner *inner) {
  for (int d = 0; d < k->rank; d++)
    settle(m, k, d, &inner[d]);
}

/* ---------------------------------------------------------------- the two kernels */

/* Moves the ops of `b` before `at`. */
static void splice(Block *b, Op *at) {
  for (Op *op = b->first, *next; op; op = next) {
    next = op->next;
    op_unlink(op);
    if (op->code != OP_YIELD)
      op_insert(at->parent, at, op);
  }
}

/* Replaces the op that chooses between versions, number `place` among the ops of `body`, by version `keep`. */
static void keep_version(Block *body, int place, int keep) {
  Op *op = body->first;
  while (place--)
    op = op->next;
  splice(op->blocks[keep], op);
  op_unlink(op);
}

/* The number of ops before `op` in its block. */
static int place_of(const Op *op) {
  int n = 0;
  while ((op = op->prev))
    n++;
  return n;
}

/* Replaces the block ops of `b` by the values `number`. */
static void replace_blocks(Block *body, Block *b, Value *const *number) {
  for (Op *op = b->first, *next; op; op = next) {
    next = op->next;
    for (int i = 0; i < op->nblocks; i++)
      replace_blocks(body, op->blocks[i], number);
    if (op->code == OP_BLOCK) {
      block_replace_uses(body, op->results[0], number[op->sym]);
      op_unlink(op);
    }
  }
}

void inner_renumber(Kernel *k, Block *before, Value *const *number) {
  replace_blocks(k->body, k->body, number);
  Op *first = k->body->first;
  for (Op *op = before->last, *prev; op; op = prev) {
    prev = op->prev;
    op_unlink(op);
    op_insert(k->body, first, op);
    first = op;
  }
}

/* Short names for ops on i64. */
static Value *number(Builder *b, int64_t x) { return build_int(b, TY_I64, x); }
static Value *add(Builder *b, Value *x, Value *y) { return build2(b, OP_ADD, x, y); }
static Value *sub(Builder *b, Value *x, Value *y) { return build2(b, OP_SUB, x, y); }
static Value *mul(Builder *b, Value *x, Value *y) { return build2(b, OP_MUL, x, y); }

/* The number of the first interior block. */
static Affine first_of(Arena *a, const Inner *in) {
  return in->begin < 0 ? affine_const(in->first) : affine_scalar(a, in->begin);
}

/* Builds the number of blocks of `tile` points that cover `extent`, if blocks at the ends cover `over` more points in
 * all. */
static Value *build_count(Builder *b, const Module *m, Affine extent, int64_t over, int64_t tile) {
  Value *points = build2(b, OP_MAX, build_affine(b, m, affine_add_const(extent, -over)), number(b, 0));
  if (over)
    points = build2(b, OP_MAX, points, build2(b, OP_MIN, build_affine(b, m, extent), number(b, 1)));
  return build2(b, OP_DIV, add(b, points, number(b, tile - 1)), number(b, tile));
}

/* The state of the search for an edge block's place in dimension d. left: the block's number among the blocks that are
 * still possible. all[d]: the number of blocks with one given number along dimension d. border[d]: how many of these
 * are not interior, if that number is one of interior blocks. bordered: are the numbers in all dimensions before d
 * those of interior blocks? (NULL: true) */
typedef struct Search {
  Builder *b;
  Value *left, *bordered, *all[MAX_RANK], *border[MAX_RANK];
} Search;

/* x if the numbers in all earlier dimensions are those of interior blocks, else y. */
static Value *if_bordered(Search *s, Value *x, Value *y) {
  return s->bordered ? build3(s->b, OP_SELECT, s->bordered, x, y) : x;
}

/* Builds the block's number along dimension `d`, where numbers `first` to `first` + `inner` - 1 are those of interior
 * blocks. Numbers before these have `all` blocks each, these have `border`, and numbers after them `all`; in the last
 * dimension that is 1, 0 and 1. */
static Value *build_place(Search *s, int d, bool last, Value *first, Value *inner) {
  Builder *b = s->b;
  Value *before = mul(b, first, s->all[d]), *beside = mul(b, inner, s->border[d]);
  Value *low = build2(b, OP_LT, s->left, before);
  Value *at = build3(b, OP_SELECT, low, s->left, add(b, s->left, sub(b, mul(b, inner, s->all[d]), beside)));
  at = if_bordered(s, at, s->left);
  if (last)
    return at;
  Value *middle = build2(b, OP_AND, build1(b, OP_NOT, low), build2(b, OP_LT, s->left, add(b, before, beside)));
  middle = s->bordered ? build2(b, OP_AND, s->bordered, middle) : middle;
  at = build3(b, OP_SELECT, middle, sub(b, s->left, before), at);
  Value *each = build3(b, OP_SELECT, middle, s->border[d], s->all[d]), *place = build2(b, OP_DIV, at, each);
  s->left = sub(b, at, mul(b, place, each));
  s->bordered = middle;
  return add(b, place, build3(b, OP_SELECT, middle, first, number(b, 0)));
}

void inner_edge_places(Builder *b, const Module *m, const Kernel *k, const Affine *first, Value **places) {
  Value *interior[MAX_RANK], *all = number(b, 1), *hole = all;
  Search s = {.b = b, .left = build_dim(b, OP_BLOCK, k->rank - 1)};
  for (int d = k->rank - 1; d >= 0; d--) {
    Value *count = build_count(b, m, k->extent[d], k->over[d], k->tile[d]);
    interior[d] = build_count(b, m, k->without[d], 0, k->tile[d]);
    s.all[d] = all;
    s.border[d] = sub(b, all, hole);
    all = mul(b, all, count);
    hole = mul(b, hole, interior[d]);
  }
  for (int d = 0; d < k->rank; d++)
    places[d] = build_place(&s, d, d == k->rank - 1, build_affine(b, m, first[d]), interior[d]);
}

/* Builds the place of a block of the interior kernel of `k` in all dimensions. */
static void build_inner_places(Builder *b, const Module *m, const Kernel *k, const Inner *inner, Value **places) {
  for (int d = 0; d < k->rank; d++)
    places[d] = add(b, build_dim(b, OP_BLOCK, d), build_affine(b, m, first_of(b->arena, &inner[d])));
}

/* The tests of `k` with its blocks moved to those of `inner`. */
static const KernelTests *moved_tests(const Module *m, const Kernel *k, const Inner *inner) {
  KernelTests *t = ARENA_NEW(m->arena, KernelTests);
  *t = *k->tests;
  for (int d = 0; d < k->rank; d++) {
    Affine before = affine_scale(m->arena, first_of(m->arena, &inner[d]), k->tile[d]);
    t->lo[d] = affine_add(m->arena, t->lo[d], before);
  }
  return t;
}

/* The tests of `k` if it leaves out a box of blocks that begins with the numbers `first`. */
static const KernelTests *tests_around(const Module *m, const Kernel *k, const Affine *first) {
  KernelTests *t = ARENA_NEW(m->arena, KernelTests);
  *t = *k->tests;
  memcpy(t->first, first, sizeof t->first);
  t->placed = true;
  return t;
}

void inner_move(const Module *m, Kernel *k, const Inner *inner) {
  Value *places[MAX_RANK];
  Block *before = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, before);
  b.loc = k->loc;
  build_inner_places(&b, m, k, inner, places);
  inner_renumber(k, before, places);
  if (k->tests)
    k->tests = moved_tests(m, k, inner);
}

void inner_alone(const Module *m, Kernel *k, Op *versions, const Inner *inner) {
  keep_version(k->body, place_of(versions), 0);
  inner_move(m, k, inner);
}

const char *inner_name(const Module *m, const Kernel *k, const char *part) {
  const char *name = arena_printf(m->arena, "%s_%s", k->name, part);
  while (module_find_kernel(m, name) >= 0)
    name = arena_printf(m->arena, "%s_", name);
  return name;
}

/* Makes kernel `i` of `m` the interior kernel, and adds the edge kernel. */
static void split_kernel(Module *m, int i, Split *s) {
  Kernel *k = &m->kernels[i], edge = *k;
  int place = place_of(s->versions);
  Value *places[MAX_RANK];
  Affine first[MAX_RANK] = {{0}};
  Block *before = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, before);
  b.loc = k->loc;
  inner_settle(m, k, s->inner);
  for (int d = 0; d < k->rank; d++) {
    first[d] = first_of(m->arena, &s->inner[d]);
    edge.without[d] = s->inner[d].extent;
  }
  inner_edge_places(&b, m, &edge, first, places);
  edge.name = inner_name(m, k, "edge");
  edge.body = block_clone(m->arena, k->body, NULL, NULL);
  edge.arrays = ARENA_ARRAY(m->arena, Array, k->narrays + 1);
  if (k->narrays)
    memcpy(edge.arrays, k->arrays, sizeof *k->arrays * (size_t)k->narrays);
  keep_version(edge.body, place, 1);
  inner_renumber(&edge, before, places);
  edge.leaves_out = true;
  edge.tests = k->tests ? tests_around(m, k, first) : NULL;
  inner_alone(m, k, s->versions, s->inner);
  for (int d = 0; d < k->rank; d++) {
    k->extent[d] = edge.without[d];
    k->over[d] = 0;
  }
  s->edge = m->nkernels;
  ARENA_PUSH(m->arena, m->kernels, m->nkernels, edge);
}

/* ---------------------------------------------------------------- modules */

/* Decides for each kernel of `m` whether it is split. A kernel and those that it is launched instead of are split all
 * or none, so that edge and interior always run the same one of them. */
static Split *find_splits(PassContext *c, Module *m) {
  Split *s = ARENA_ARRAY(c->arena, Split, m->nkernels + 1);
  for (int i = 0; i < m->nkernels; i++) {
    const Kernel *k = &m->kernels[i];
    if (inner_is_worthwhile(k))
      s[i] = find_split(ranges_new(c->arena, m, k, k->body), k);
  }
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < m->nkernels; i++) {
      int other = m->kernels[i].instead - 1;
      if (other >= 0 && (!s[i].versions || !s[other].versions))
        s[i].versions = s[other].versions = NULL;
    }
  return s;
}

/* The pass. It splits kernels with two versions, and removes idle blocks. */
Module *pass_split_edges(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  int count = m->nkernels;
  module_renumber(m);
  Split *s = find_splits(c, m);
  for (int i = 0; i < count; i++)
    if (s[i].versions)
      split_kernel(m, i, &s[i]);
  for (int i = 0; i < count; i++)
    if (s[i].versions && m->kernels[i].instead)
      m->kernels[s[i].edge].instead = s[m->kernels[i].instead - 1].edge + 1;
  int32_t *edge = ARENA_ARRAY(m->arena, int32_t, count + 1);
  for (int i = 0; i < count; i++)
    edge[i] = s[i].versions ? s[i].edge : -1;
  HostSeq *q;
  for (int i = 0; (q = host_part(m, i)); i++)
    host_launch_beside(m, q, count, edge);
  for (int i = 0; i < count; i++)
    if (s[i].versions) {
      simplify_kernel(c, m, &m->kernels[i]);
      simplify_kernel(c, m, &m->kernels[s[i].edge]);
      pass_stat(c, 1, "split-edges", "kernels made of kernel %s for its edges", m->kernels[i].name);
    }
  for (int i = 0; i < count; i++)
    if (m->kernels[i].idles)
      idle_leave_out(c, m, &m->kernels[i]);
  return m;
}
