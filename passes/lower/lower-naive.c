/* lower-naive.c: a thread a point, one launch a stencil a step. Inits are lowered so under every schedule.
 *
 * A kernel tests which piece its point is in and runs that piece only, so nothing is computed or loaded outside of
 * regions. A target
 * that other points of the stencil read is written to the other buffer of a pair, with the points outside of the
 * pieces copied; else it
 * is written in place. */
#include "passes/lower/lower.h"
#include "passes/registry.h"
#include "passes/plan/plan.h"

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
  Builder in = builder_at_end(b->arena, build_if(b, has, 0, NULL)->blocks[0]);
  in.loc = b->loc;
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
  Op *test = build_if(&b, build_inside(&b, k->l->m->grid.rank, k->g, &st->pieces[i].box), 0, NULL);
  Builder in = builder_at_end(b.arena, test->blocks[0]), out = builder_at_end(b.arena, test->blocks[1]);
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

/* The points that have something to do: the only piece, or the grid; of a part what launches give out. */
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
  Builder in = builder_at_end(b->arena, build_if(b, test, 0, NULL)->blocks[0]);
  in.loc = b->loc;
  return in;
}

/* Begins the body of kernel `index`, which covers `box` with `block` threads a block, and finds the thread's point. */
static Builder begin_body(Lowering *lo, int index, const int32_t *block, const Box *box, Value *g[MAX_RANK]) {
  Kernel *kernel = &lo->out->kernels[index];
  Builder b = builder_at_end(lo->out->arena, kernel->body);
  b.loc = kernel->loc;
  for (int d = 0; d < kernel->rank; d++) {
    kernel->threads[d] = kernel->tile[d] = block[d];
    kernel->extent[d] = box_extent(lo->out->arena, box, d);
    Value *tile = build2(&b, OP_MUL, build_dim(&b, OP_BLOCK, d), build_int(&b, TY_I64, block[d]));
    Value *start = build2(&b, OP_ADD, tile, build_affine(&b, lo->m, box->lo[d]));
    g[d] = build2(&b, OP_ADD, start, build_convert(&b, TY_I64, build_dim(&b, OP_THREAD, d)));
  }
  return b;
}

/* Begins, at `b`, what is done at the point `g` of the grid if it is not in `box`, and in *other what else. That is not
 * tested by an op inside, of which pass specialize would make a version for the blocks in the box. */
static Builder out_of(Builder *b, const Module *m, Value *const *g, const Box *box, Builder *other) {
  Value *out = NULL;
  for (int d = 0; d < box->rank; d++)
    for (int high = 0; high < 2; high++) {
      if (affine_equal(high ? box->hi[d] : box->lo[d], high ? m->grid.hi[d] : m->grid.lo[d]))
        continue;
      Value *beyond = build2(b, high ? OP_GT : OP_LT, g[d], build_affine(b, m, high ? box->hi[d] : box->lo[d]));
      out = out ? build2(b, OP_OR, out, beyond) : beyond;
    }
  Op *test = build_if(b, out ? out : build_int(b, TY_BOOL, 0), 0, NULL);
  Builder in = builder_at_end(b->arena, test->blocks[0]);
  *other = builder_at_end(b->arena, test->blocks[1]);
  in.loc = other->loc = b->loc;
  return in;
}

Builder rim_begin(Lowering *lo, int index, const int32_t *block, const Box *core, Value *g[MAX_RANK]) {
  const Box *grid = &lo->m->grid;
  Kernel *k = &lo->out->kernels[index];
  Builder b = begin_body(lo, index, block, grid, g), in = in_zone(&b, grid->rank, g, grid, NULL);
  k->idles = true;
  for (int d = 0; d < grid->rank; d++) {
    k->idle_lo[d] = affine_sub(lo->out->arena, core->lo[d], grid->lo[d]);
    k->idle_hi[d] = affine_sub(lo->out->arena, core->hi[d], grid->lo[d]);
  }
  Builder none;
  return out_of(&in, lo->m, g, core, &none);
}

/* Adds the kernel `name` of `k`, and its launch to `seq`. */
static void naive_kernel(Naive k, HostSeq *seq, const char *name, const int32_t *block, int steps) {
  Lowering *lo = k.lo;
  const Launch *l = k.l;
  int index = lowering_kernel(lo, name, steps, l->st->loc);
  Box box = covered(&k);
  Builder b = begin_body(lo, index, block, &box, k.g);
  k.step = stencils_use_step(1, l->st) ? build_step(&b) : NULL;
  pieces_code(&k, in_zone(&b, l->m->grid.rank, k.g, k.zone, k.without), 0);
  host_launch(lo, seq, index);
}

void naive_zone(Lowering *lo, HostSeq *seq, const Launch *l, const char *name, const int32_t *block, const Box *zone,
                const Box *without) {
  naive_kernel((Naive){.lo = lo, .l = l, .only = -1, .zone = zone, .without = without}, seq, name, block, 0);
}

void naive_rim(Lowering *lo, HostSeq *seq, int n, const NaiveMember *of, const char *name, const int32_t *block,
               const Box *core) {
  int index = lowering_kernel(lo, name, 0, of[0].l->st->loc);
  Value *g[MAX_RANK], *step = NULL;
  Builder rim = rim_begin(lo, index, block, core, g);
  for (int i = 0; i < n; i++) {
    const Launch *l = of[i].l;
    ThinPart all = {lo->m->grid, ARENA_ARRAY(lo->out->arena, bool, l->st->npieces + 1)};
    for (int k = 0; k < l->st->npieces; k++)
      all.has[k] = true;
    Naive k = {.lo = of[i].lo, .l = l, .only = -1, .part = of[i].pieces ? &all : NULL};
    for (int d = 0; d < lo->m->grid.rank; d++)
      k.g[d] = g[d];
    k.step = step = step || !stencils_use_step(1, l->st) ? step : build_step(&rim);
    Builder other = rim, in = box_equal(&of[i].without, core) ? rim : out_of(&rim, lo->m, g, &of[i].without, &other);
    pieces_code(&k, in, 0);
    for (int t = 0; t < l->st->ntargets && of[i].copies && other.block != rim.block; t++)
      keep(&k, &other, l->st->targets[t]);
  }
  host_launch(lo, seq, index);
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

/* ---- modules */

/* The kernel of an init (an InitFn). */
static void init_kernel(Lowering *lo, HostSeq *seq, const Launch *l, int only, const char *name, const int32_t *block) {
  naive_kernel((Naive){.lo = lo, .l = l, .only = only}, seq, name, block, 0);
}

void lower_inits(Lowering *lo, const int32_t *block) { init_seqs(lo, block, init_kernel); }

Module *lower_naive(PassContext *c, Module *m, const Schedule *s) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  int count;
  Launch **steps = naive_launches(m, n, st, &count);
  Lowering *lo = lowering_new(c, m, count, steps, 0, NULL);
  lower_inits(lo, s->block);
  naive_seq(lo, count, steps, s->block);
  return lowering_finish(lo, s);
}

Module *pass_lower_naive(PassContext *c, Module *m, int n, const PassOption *o) {
  Schedule s;
  (void)n, (void)o;
  if (!c->target->simt) {
    diag_error(c->diags, no_loc(),
               "pass 'lower-naive' makes kernels of threads and target %s has none; use lower-loops", c->target->name);
    return NULL;
  }
  if (!lowering_ready(c, m, "lower-naive") || !plan_obeyed(c, m, "lower-naive", FAMILY_NAIVE, &s))
    return NULL;
  return lower_naive(c, m, &s);
}
