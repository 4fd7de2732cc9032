/* lower-naive.c: a thread a point, one launch a stencil a step. Inits are lowered so under every schedule; and what is
 * around a box, several stencils a launch, and several points a thread.
 *
 * A kernel tests which piece its point is in and runs that piece only, so nothing is computed or loaded outside of
 * regions. A target that other points of the stencil read is written to the other buffer of a pair, with the points
 * outside of the pieces copied; else it is written in place.
 *
 * A thread a point, a launch a stencil a step. A thread tests which piece it is in and runs that alone, so nothing is
 * loaded that is not needed. In place, or to the other buffer with the points in no piece copied (of a temp field:
 * those that the step has written before). A stencil all of whose pieces have few points (an eighth of the grid, under
 * the params' defaults) and that has nothing to copy has a kernel for each group of pieces that a box of few points
 * holds, such as the four slabs of an absorbing layer, and these cover their box alone. They are launched beside each
 * other, and beside those of the stencils before if neither writes what the other reads or writes. In family overlap a
 * launch of such a stencil alone is lowered so, too; and where all is left open, pass `plan` takes a launch for each
 * stencil if one of them has few points and a tile would make one step, or is expected to take longer. Stencils of pass
 * `history` share the launch of the stencil behind them, where they cost nothing; a level `U@(K+1)` that a later
 * stencil of the step reads takes part in the rotation. Inits are lowered so under every schedule, one kernel for each
 * field, so that those of fields with data can be left out. */
#include "passes/lower/lower.h"
#include "passes/registry.h"
#include "passes/plan/plan.h"

#include <math.h>

/* A kernel in the making: for launch `l` of one stencil, of which only the target `only` is to be written (-1: all),
 * and only the pieces of `part` (NULL: all) are computed. `g` is the thread's point. */
typedef struct Naive {
  Lowering *lo;
  const Launch *l;
  int only;
  const ThinPart *part;
  const Box *zone, *without; /* only points of that box are, less those of the other; NULL: all, none */
  Value *g[MAX_RANK];
  Value *step;
} Naive;

/* ---- one kernel */

/* Point.access: from global memory; the code runs for points of the piece only, so only outside rules need help. */
static Value *naive_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const Naive *k = p->user;
  int from = launch_reads(k->l, field, 0).field;
  return access_global(b, p->m, from, load_buffer(k->lo, from), rules, p->index, off, false);
}

/* Is target `f` written by this kernel? */
static bool writes(const Naive *k, int f) { return k->l->use[f].stored && (k->only < 0 || k->only == f); }

Value *written_before(const Module *m, const Stencil *first, const Stencil *last, Builder *b, int field,
                      Value *const *at) {
  Value *any = NULL;
  for (const Stencil *st = first; st < last; st++)
    for (int i = 0; i < st->npieces; i++)
      if (piece_target(&st->pieces[i], field) >= 0) {
        Value *in = build_inside(b, m->grid.rank, at, &st->pieces[i].box);
        any = any ? build2(b, OP_OR, any, in) : in;
      }
  return any;
}

bool partly_written(const Launch *l, int field) {
  const Field *f = &l->m->fields[field];
  for (const Stencil *st = l->first; f->temp && st < l->given + l->ngiven; st++)
    for (int i = 0; i < st->npieces; i++)
      if (piece_target(&st->pieces[i], field) >= 0 && box_inside(&f->box, &st->pieces[i].box) == 1)
        return false;
  return f->temp;
}

Value *has_value_after(const Launch *l, Builder *b, int field, Value *const *at) {
  if (partly_written(l, field))
    return written_before(l->m, l->first, l->given + l->ngiven, b, field, at);
  return build_inside(b, l->m->grid.rank, at, &l->m->fields[field].box);
}

/* Copies target `f`, if it is stored to the other buffer, at points that keep it: none where only parts are computed.
 */
static void keep(const Naive *k, Builder *b, int f) {
  const Module *m = k->l->m;
  static const int64_t here[MAX_RANK];
  if (k->part || !k->l->use[f].paired || !writes(k, f))
    return;
  Value *has = m->fields[f].temp ? written_before(m, k->l->first, k->l->given, b, f, k->g)
                                 : build_inside(b, m->grid.rank, k->g, &m->fields[f].box);
  if (!has)
    return;
  Builder in = build_then(b, has);
  Value *v = build_load(&in, m->fields[f].type, load_buffer(k->lo, f), m->grid.rank, k->g, here);
  build_store(&in, store_buffer(k->lo, k->l, f), v, m->grid.rank, k->g, here);
}

/* The code of a point of `piece`: all of the stencil's targets. */
static void piece_code(const Naive *k, Builder *b, const Piece *piece) {
  const Module *m = k->l->m;
  Point p = {.m = m, .step = k->step, .access = naive_access, .user = (void *)k};
  for (int d = 0; d < m->grid.rank; d++)
    p.index[d] = k->g[d];
  b->loc = piece->loc;
  Value **values = piece_values(&p, b, piece);
  for (int t = 0; t < k->l->st->ntargets; t++) {
    int f = k->l->st->targets[t], i = piece_target(piece, f);
    if (i < 0)
      keep(k, b, f);
    else if (writes(k, f))
      build_store(b, store_buffer(k->lo, k->l, f), values[i], m->grid.rank, k->g, NULL);
  }
}

/* Do the boxes never share a point, whatever the params are? */
static bool apart(const Box *x, const Box *y) {
  int64_t above, below;
  bool are = false;
  for (int d = 0; d < x->rank; d++)
    are = are || (affine_diff(y->lo[d], x->hi[d], &above) && above > 0) ||
          (affine_diff(y->hi[d], x->lo[d], &below) && below < 0);
  return are;
}

/* The code of pieces i and up at `b`: if in piece i, its code, else the following ones', at last what keeps the old
 * values. */
static void pieces_code(const Naive *k, Builder b, int i) {
  const Stencil *st = k->l->st;
  while (i < st->npieces && ((k->part && !k->part->has[i]) || (k->zone && apart(k->zone, &st->pieces[i].box))))
    i++;
  if (i == st->npieces) {
    for (int t = 0; t < st->ntargets; t++)
      keep(k, &b, st->targets[t]);
    return;
  }
  b.loc = st->pieces[i].loc;
  Builder out, in = build_either(&b, build_inside(&b, k->l->m->grid.rank, k->g, &st->pieces[i].box), &out);
  piece_code(k, &in, &st->pieces[i]);
  out.loc = st->loc;
  pieces_code(k, out, i + 1);
}

/* Has all of the grid something to do? If there is more than a piece, or values are to be copied. */
static bool covers_grid(const Naive *k) {
  const Stencil *st = k->l->st;
  for (int t = 0; t < st->ntargets; t++)
    if (k->l->use[st->targets[t]].paired && writes(k, st->targets[t]))
      return true;
  return st->npieces != 1;
}

/* The points that have something to do: the only piece, or the grid; of a part what launches store. */
static Box covered(const Naive *k) {
  const Module *m = k->l->m;
  Box box = k->zone ? *k->zone : k->part ? k->part->box : covers_grid(k) ? m->grid : k->l->st->pieces[0].box;
  const Box *gives = launch_covers(m);
  for (int d = 0; d < box.rank; d++) {
    if (affine_equal(gives->lo[d], m->grid.lo[d]) && affine_equal(gives->hi[d], m->grid.hi[d]))
      continue;
    box.lo[d] = gives->lo[d];
    box.hi[d] = gives->hi[d];
  }
  return box;
}

/* Begins, at `b`, what is done at the point `g` if it is in `zone` and not in `without` (NULL: all, none). */
static Builder in_zone(Builder *b, int rank, Value *const *g, const Box *zone, const Box *without) {
  Value *test = zone ? build_inside(b, rank, g, zone) : NULL;
  if (without) {
    Value *not = build1(b, OP_NOT, build_inside(b, rank, g, without));
    test = test ? build2(b, OP_AND, test, not) : not;
  }
  if (!test)
    return *b;
  Builder in = build_then(b, test);
  return in;
}

/* Begins the body of kernel `index`, which covers `box` with `block` threads a block, of `rows` points one behind the
 * other along dimension 0 each, and finds the block's first point (`start`; NULL: it is not asked for) and the thread's
 * first one. */
static Builder begin_body(Lowering *lo, int index, const int32_t *block, int32_t rows, const Box *box, Value **start,
                          Value *g[MAX_RANK]) {
  Kernel *kernel = &lo->out->kernels[index];
  Builder b = builder_at_end(lo->out->arena, kernel->body);
  b.loc = kernel->loc;
  for (int d = 0; d < kernel->rank; d++) {
    int32_t each = d ? 1 : rows;
    kernel->threads[d] = block[d];
    kernel->tile[d] = block[d] * each;
    kernel->extent[d] = box_extent(lo->out->arena, box, d);
    Value *tile = build2(&b, OP_MUL, build_dim(&b, OP_BLOCK, d), build_int(&b, TY_I64, kernel->tile[d]));
    Value *first = build2(&b, OP_ADD, tile, build_affine(&b, lo->m, box->lo[d]));
    Value *thread = build_convert(&b, TY_I64, build_dim(&b, OP_THREAD, d));
    g[d] = build2(&b, OP_ADD, first, each > 1 ? build2(&b, OP_MUL, thread, build_int(&b, TY_I64, each)) : thread);
    if (start)
      start[d] = first;
  }
  return b;
}

/* Of the points of the grid from `g` to `last` along dimension 0, is one not in `box`; or (`all`) are all of them not,
 * and on the same side of it? That is not tested by an op inside, of which pass specialize would make a version for the
 * blocks in the box. */
static Value *beyond(Builder *b, const Module *m, Value *const *g, Value *last, const Box *box, bool all) {
  Value *out = NULL;
  for (int d = 0; d < box->rank; d++)
    for (int high = 0; high < 2; high++) {
      if (affine_equal(high ? box->hi[d] : box->lo[d], high ? m->grid.hi[d] : m->grid.lo[d]))
        continue;
      Value *bound = build_affine(b, m, high ? box->hi[d] : box->lo[d]);
      Value *is = build2(b, high ? OP_GT : OP_LT, !d && high != all ? last : g[d], bound);
      out = out ? build2(b, OP_OR, out, is) : is;
    }
  return out ? out : build_int(b, TY_BOOL, 0);
}

/* Begins, at `b`, what is done at the point `g` of the grid if it is not in `box`, and in *other what else. */
static Builder out_of(Builder *b, const Module *m, Value *const *g, const Box *box, Builder *other) {
  return build_either(b, beyond(b, m, g, g[0], box, false), other);
}

/* Adds the kernel `name` of `k`, and its launch to `seq`. */
static void naive_kernel(Naive k, HostSeq *seq, const char *name, const int32_t *block, int steps) {
  Lowering *lo = k.lo;
  const Launch *l = k.l;
  int index = lowering_kernel(lo, name, steps, l->st->loc);
  Box box = covered(&k);
  Builder b = begin_body(lo, index, block, 1, &box, NULL, k.g);
  k.step = stencils_use_step(1, l->st) ? build_step(&b) : NULL;
  pieces_code(&k, in_zone(&b, l->m->grid.rank, k.g, k.zone, k.without), 0);
  host_launch(lo, seq, index);
}

void naive_zone(Lowering *lo, HostSeq *seq, const Launch *l, const char *name, const int32_t *block, const Box *zone,
                const Box *without) {
  naive_kernel((Naive){.lo = lo, .l = l, .only = -1, .zone = zone, .without = without}, seq, name, block, 0);
}

void together_add(Together *group, const HostSeq *seq, Launch *const *l, int i) {
  bool joins = i > 0 && group->ops == seq->nops && launch_is_independent(l[i], i - group->first, l + group->first);
  group->first = joins ? group->first : i;
  group->last = i;
}

bool naive_parts(Lowering *lo, HostSeq *seq, const Launch *l, const Const *scalars, const char *name,
                 const int32_t *block, int steps, const Together *group) {
  ThinPart *parts;
  int n = launch_thin_parts(l, scalars, &parts);
  for (int i = 0; i < n; i++) {
    Naive k = {.lo = lo, .l = l, .only = -1, .part = &parts[i]};
    naive_kernel(k, seq, name, block, i ? 0 : steps);
    seq->ops[seq->nops - 1].beside = group->first < group->last || i > 0;
  }
  return n > 0;
}

void naive_seq(Lowering *lo, int n, Launch *const *l, const int32_t *block) {
  const Module *m = lo->m;
  HostSeq *seq = host_seq(lo, 1);
  const Const *scalars = default_scalars(m);
  Together group = {0};
  for (int i = 0; i < n; i++) {
    const char *name = arena_printf(lo->out->arena, "%s_naive_%s", m->name, l[i]->st->name);
    together_add(&group, seq, l, i);
    if (!naive_parts(lo, seq, l[i], scalars, name, block, i == n - 1, &group)) {
      naive_kernel((Naive){.lo = lo, .l = l[i], .only = -1}, seq, name, block, i == n - 1);
      group.first = i;
    }
    group.ops = seq->nops;
    host_swaps(lo, seq, l[i]);
  }
}

/* ---- frames */

/* Has kernel `index`, which covers the grid, leave out the blocks in `core`. */
static void set_idle(Lowering *lo, int index, const Box *core) {
  Kernel *k = &lo->out->kernels[index];
  k->idles = true;
  for (int d = 0; d < k->rank; d++) {
    k->idle_lo[d] = affine_sub(lo->out->arena, core->lo[d], lo->m->grid.lo[d]);
    k->idle_hi[d] = affine_sub(lo->out->arena, core->hi[d], lo->m->grid.lo[d]);
  }
}

/* Begins, at `b`, what is done at each of the thread's `rows` points from `g` on, which g becomes, that is in the grid
 * and not in `core`. */
static Builder each_of_frame(Builder *b, const Module *m, int32_t rows, const Box *core, Value **g) {
  Builder in = *b, none;
  if (rows > 1) {
    Value *first = build_int(b, TY_I32, 0);
    Op *loop = build_for(b, first, build_int(b, TY_I32, rows), 1, FOR_APART, 0, NULL);
    in = builder_at_end(b->arena, loop->blocks[0]);
    in.loc = b->loc;
    g[0] = build2(&in, OP_ADD, g[0], build_convert(&in, TY_I64, loop->blocks[0]->args[0]));
  }
  in = in_zone(&in, m->grid.rank, g, &m->grid, NULL);
  return out_of(&in, m, g, core, &none);
}

Builder frame_begin(Lowering *lo, int index, const int32_t *block, int32_t rows, const Box *core, Value *g[MAX_RANK]) {
  Builder b = begin_body(lo, index, block, rows, &lo->m->grid, NULL, g);
  set_idle(lo, index, core);
  return each_of_frame(&b, lo->m, rows, core, g);
}

/* A kernel of a frame in the making: its members, and for each the kernel that it would be alone, and the piece that
 * has the most points (NULL: it is not one with `copies`). */
typedef struct FrameKernel {
  Lowering *lo;
  int n;
  int32_t rows;
  const NaiveMember *of;
  Naive *k;
  const Piece **most;
  const Box *core;
  Value *step;
} FrameKernel;

/* The code of member `i` at the point `g`. */
static void member_code(FrameKernel *r, int i, Builder *b, Value *const *g) {
  const NaiveMember *of = &r->of[i];
  Naive k = r->k[i];
  for (int d = 0; d < r->lo->m->grid.rank; d++)
    k.g[d] = g[d];
  Builder other = *b, in = box_equal(&of->without, r->core) ? *b : out_of(b, r->lo->m, g, &of->without, &other);
  pieces_code(&k, in, 0);
  for (int t = 0; t < of->l->st->ntargets && of->copies && other.block != b->block; t++)
    keep(&k, &other, of->l->st->targets[t]);
}

/* The code of all members at the thread's points from `g` on, one after the other. */
static void each_code(FrameKernel *r, Builder *b, Value *const *g) {
  Value *at[MAX_RANK];
  for (int d = 0; d < r->lo->m->grid.rank; d++)
    at[d] = g[d];
  Builder frame = each_of_frame(b, r->lo->m, r->rows, r->core, at);
  for (int i = 0; i < r->n; i++)
    member_code(r, i, &frame, at);
}

/* The code of member `i` at the thread's points from `g` on, all of which it computes by its largest piece. */
static void rows_code(FrameKernel *r, int i, Builder *b, Value *const *g) {
  Naive k = r->k[i];
  for (int d = 0; d < r->lo->m->grid.rank; d++)
    k.g[d] = g[d];
  for (int32_t row = 0; row < r->rows; row++) {
    k.g[0] = build2(b, OP_ADD, g[0], build_int(b, TY_I64, row));
    piece_code(&k, b, r->most[i]);
  }
}

/* The code of member `i`, which is seldom for all points, at the thread's points from `g` on, all of which are to be
 * computed. One test tells that it is for none of them, if it has a single piece. */
static void others_code(FrameKernel *r, int i, Builder b, Value *const *g) {
  const Stencil *st = r->k[i].l->st;
  int rank = r->lo->m->grid.rank;
  Value *at[MAX_RANK];
  for (int d = 0; d < rank; d++)
    at[d] = g[d];
  if (st->npieces == 1) {
    Box any = st->pieces[0].box;
    any.lo[0] = affine_add_const(any.lo[0], 1 - r->rows);
    b = in_zone(&b, rank, g, &any, NULL);
  }
  for (int32_t row = 0; row < r->rows; row++) {
    at[0] = build2(&b, OP_ADD, g[0], build_int(&b, TY_I64, row));
    member_code(r, i, &b, at);
  }
}

/* The code of a tile all of whose points are in the largest pieces: written out for the points of threads that compute
 * all of theirs. */
static void inner_code(FrameKernel *r, Builder *b, Value *const *g) {
  const Module *m = r->lo->m;
  Value *last = build2(b, OP_ADD, g[0], build_int(b, TY_I64, r->rows - 1)), *all = NULL;
  for (int i = 0; i < r->n; i++)
    if (r->most[i]) {
      Value *is = beyond(b, m, g, last, &r->of[i].without, true);
      all = all ? build2(b, OP_AND, all, is) : is;
    }
  Builder rest, rows = build_either(b, all, &rest);
  for (int i = 0; i < r->n; i++)
    if (r->most[i])
      rows_code(r, i, &rows, g);
    else
      others_code(r, i, rows, g);
  each_code(r, &rest, g);
}

/* The piece of `st` that has the most points, where the params have the values `scalars`; NULL: there is none. */
static const Piece *largest_piece(const Stencil *st, const Const *scalars) {
  const Piece *best = NULL;
  double most = 0;
  for (int i = 0; i < st->npieces; i++) {
    const Box *box = &st->pieces[i].box;
    double points = 1;
    bool overflow = false;
    for (int d = 0; d < box->rank; d++)
      points *= fmax((double)affine_eval(box->hi[d], scalars, &overflow) -
                         (double)affine_eval(box->lo[d], scalars, &overflow) + 1,
                     0);
    if (points > most) {
      most = points;
      best = &st->pieces[i];
    }
  }
  return best;
}

/* Are all points of the tile of `tile` points that begins at `start` in `box`? */
static Value *tile_in(Builder *b, const Kernel *k, Value *const *start, const Box *box) {
  Box within = *box;
  for (int d = 0; d < box->rank; d++)
    within.hi[d] = affine_add_const(box->hi[d], 1 - k->tile[d]);
  return build_inside(b, box->rank, start, &within);
}

/* Begins two versions of kernel `index`, whose code goes to `b`: in *in for tiles in `inner`, and in the pieces that
 * have the most points, in *other for the rest. False if there are no such pieces, or a thread has a single point: pass
 * specialize makes a version for those in the middle then. */
static bool two_versions(FrameKernel *r, int index, Builder *b, Value *const *start, const Box *inner, Builder *in,
                         Builder *other) {
  const Kernel *k = &r->lo->out->kernels[index];
  bool any = false;
  for (int i = 0; i < r->n; i++)
    any = any || r->most[i];
  if (!any || r->rows == 1)
    return false;
  Value *test = tile_in(b, k, start, inner);
  for (int i = 0; i < r->n; i++)
    if (r->most[i])
      test = build2(b, OP_AND, test, tile_in(b, k, start, &r->most[i]->box));
  *in = build_either(b, test, other);
  b->block->last->flags |= IF_INTERIOR;
  return true;
}

/* What `of` is alone, with the number of the step at `b`, once there is one that needs it. */
static Naive member_alone(FrameKernel *r, Builder *b, const NaiveMember *of) {
  ThinPart all = {r->lo->m->grid, ARENA_ARRAY(r->lo->out->arena, bool, of->l->st->npieces + 1)}, *part;
  for (int i = 0; i < of->l->st->npieces; i++)
    all.has[i] = true;
  part = ARENA_NEW(r->lo->out->arena, ThinPart);
  *part = all;
  if (!r->step && stencils_use_step(1, of->l->st))
    r->step = build_step(b);
  return (Naive){.lo = of->lo, .l = of->l, .only = -1, .part = of->pieces ? part : NULL, .step = r->step};
}

/* How many blocks of `block` threads a core is to have room for, so that they wait for memory at different times: half
 * of those that its threads are enough for. 0: nothing is said. */
static int32_t blocks_at_once(const Lowering *lo, const int32_t *block) {
  int64_t threads = 2;
  for (int d = 0; d < lo->m->grid.rank; d++)
    threads *= block[d];
  return (int32_t)(lo->c->target->max_threads_per_core / threads);
}

void naive_frame(Lowering *lo, HostSeq *seq, int n, const NaiveMember *of, const char *name, const int32_t *block,
                 int32_t rows, const Box *core, const Box *inner) {
  Arena *a = lo->out->arena;
  int index = lowering_kernel(lo, name, 0, of[0].l->st->loc);
  Value *g[MAX_RANK], *start[MAX_RANK];
  FrameKernel r = {.lo = lo, .n = n, .rows = rows, .of = of, .core = core};
  r.k = ARENA_ARRAY(a, Naive, n);
  r.most = ARENA_ARRAY(a, const Piece *, n);
  Builder b = begin_body(lo, index, block, r.rows, &lo->m->grid, start, g), in, rest = b;
  set_idle(lo, index, core);
  if (rows > 1)
    lo->out->kernels[index].per_core = blocks_at_once(lo, block);
  for (int i = 0; i < n; i++) {
    r.k[i] = member_alone(&r, &b, &of[i]);
    r.most[i] = of[i].copies ? largest_piece(of[i].l->st, default_scalars(lo->m)) : NULL;
  }
  if (two_versions(&r, index, &b, start, inner, &in, &rest))
    inner_code(&r, &in, g);
  else
    rest = b;
  each_code(&r, &rest, g);
  host_launch(lo, seq, index);
}

/* ---- modules */

/* The kernel of an init (an InitFn). */
static void init_kernel(Lowering *lo, HostSeq *seq, const Launch *l, int only, const char *name, const int32_t *block) {
  naive_kernel((Naive){.lo = lo, .l = l, .only = only}, seq, name, block, 0);
}

void lower_inits(Lowering *lo, const int32_t *block) { init_seqs(lo, block, init_kernel); }

Module *pass_lower_naive(PassContext *c, Module *m, int n, const PassOption *o) {
  Schedule s;
  int count;
  (void)o;
  if (!lowering_starts(c, m, "lower-naive", FAMILY_NAIVE, &s))
    return NULL;
  const Stencil *st = last_level(m, &n);
  Launch **steps = naive_launches(m, n, st, &count);
  Lowering *lo = lowering_new(c, m, count, steps, 0, NULL);
  lower_inits(lo, s.block);
  naive_seq(lo, count, steps, s.block);
  return lowering_finish(lo, &s);
}
