/* naive.c: family naive: one thread for each point, and one launch for each stencil of a step. All schedules lower
 * inits in this way. naive-points.c has kernels with several stencils and with several points a thread.
 *
 * A kernel tests which piece contains its point, and runs only that piece, so it computes and loads nothing outside of
 * regions. If other points of the stencil read a target, the kernel writes the target to the other buffer of a pair,
 * and copies the points outside of the pieces; otherwise it writes in place. In a temp field it copies only points
 * outside of the pieces that the step has written before.
 *
 * Stencils of few points: all pieces of a stencil together may have few points (an eighth of the grid, under the
 * default params), and nothing to copy. Then each group of pieces within a box of few points, such as each of the four
 * slabs of an absorbing layer, gets a kernel that covers only its box. These kernels are launched concurrently with
 * each other, and with those of the stencils before, unless one writes fields that the other reads or writes. Family
 * overlap lowers a launch of one such stencil in the same way.
 *
 * If the schedule is open, pass `plan` chooses a launch for each stencil if one of them has few points and a tile would
 * make one step, or if a tile is expected to take longer. Stencils of pass `history` share the launch of the next
 * stencil, where they cost nothing; a level `U@(K+1)` that a later stencil of the step reads takes part in the
 * rotation. Inits have one kernel for each field, so that inits of fields with data can be left out. */
#include "passes/lower/naive.h"

/* ---- one kernel */

Value *naive_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const Naive *k = p->user;
  int from = launch_reads(k->l, field, 0).field;
  return access_global(b, p->m, from, load_buffer(k->lo, from), rules, p->index, off, false);
}

bool naive_writes(const Naive *k, int f) { return launch_use(k->l, f)->stored && (k->only < 0 || k->only == f); }

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
  const Field *f = &l->m->fields[field];
  const Box *gives = launch_covers(l->m);
  Box box = f->box, less = f->box;
  bool both = false;
  for (int d = 0; d < box.rank; d++) {
    if (field_lacks(f, d) || affine_equal(gives->hi[d], l->m->grid.hi[d]))
      continue;
    both |= !affine_equal(box.hi[d], l->m->grid.hi[d]);
    less.hi[d] = gives->hi[d];
  }
  Value *test = build_inside(b, l->m->grid.rank, at, &less);
  return both ? build2(b, OP_AND, test, build_inside(b, l->m->grid.rank, at, &box)) : test;
}

void naive_keep(const Naive *k, Builder *b, int f) {
  const Module *m = k->l->m;
  static const int64_t here[MAX_RANK];
  if (k->part || !launch_use(k->l, f)->paired || !naive_writes(k, f))
    return;
  Value *has = m->fields[f].temp ? written_before(m, k->l->first, k->l->given, b, f, k->g)
                                 : build_inside(b, m->grid.rank, k->g, &m->fields[f].box);
  if (!has)
    return;
  Builder in = build_then(b, has);
  Value *v = build_load(&in, m->fields[f].type, load_buffer(k->lo, f), m->grid.rank, k->g, here);
  build_store(&in, store_buffer(k->lo, k->l, f), v, m->grid.rank, k->g, here);
}

/* Builds the code of `piece` at the point, with stores of all targets. */
static void piece_code(const Naive *k, Builder *b, const Piece *piece) {
  const Module *m = k->l->m;
  Point p = {.m = m, .step = k->step, .access = naive_access, .user = (void *)k, .lo = k->lo};
  for (int d = 0; d < m->grid.rank; d++)
    p.index[d] = k->g[d];
  b->loc = piece->loc;
  Value **values = piece_values(&p, b, piece);
  for (int t = 0; t < k->l->st->ntargets; t++) {
    int f = k->l->st->targets[t], i = piece_target(piece, f);
    if (i < 0)
      naive_keep(k, b, f);
    else if (naive_writes(k, f))
      build_store(b, store_buffer(k->lo, k->l, f), values[i], m->grid.rank, k->g, NULL);
  }
}

/* Builds at `b` the code of pieces i and up: an if chain that runs the piece that contains the point, or else keeps the
 * old values. */
static void pieces_from(const Naive *k, Builder b, int i) {
  const Stencil *st = k->l->st;
  while (i < st->npieces && ((k->part && !k->part->has[i]) || (k->zone && boxes_apart(k->zone, &st->pieces[i].box))))
    i++;
  if (i == st->npieces) {
    for (int t = 0; t < st->ntargets; t++)
      naive_keep(k, &b, st->targets[t]);
    return;
  }
  b.loc = st->pieces[i].loc;
  Builder out, in = build_either(&b, build_inside(&b, k->l->m->grid.rank, k->g, &st->pieces[i].box), &out);
  piece_code(k, &in, &st->pieces[i]);
  out.loc = st->loc;
  pieces_from(k, out, i + 1);
}

void naive_pieces(const Naive *k, Builder b) {
  if (k->piece)
    piece_code(k, &b, k->piece);
  else
    pieces_from(k, b, 0);
}

/* Does the kernel have work at all points of the grid: has the stencil several pieces, or are values copied? */
static bool covers_grid(const Naive *k) {
  const Stencil *st = k->l->st;
  for (int t = 0; t < st->ntargets; t++)
    if (launch_use(k->l, st->targets[t])->paired && naive_writes(k, st->targets[t]))
      return true;
  return st->npieces != 1;
}

/* The points at which the kernel has work: the only piece, or the grid; in a part, the points that launches store. */
static Box covered(const Naive *k) {
  const Module *m = k->l->m;
  Box box = k->zone ? *k->zone : k->part ? k->part->box : covers_grid(k) ? m->grid : k->l->st->pieces[0].box;
  return box_of_targets(k->l, box_of_part(m, box));
}

/* Do launches get the points to store as arguments? Then their last blocks may reach beyond these points. */
static bool is_told(const Module *m) {
  const Box *gives = launch_covers(m);
  bool told = false;
  for (int d = 0; d < m->grid.rank; d++)
    told |= !affine_equal(gives->hi[d], m->grid.hi[d]);
  return told;
}

Builder naive_in_zone(Builder *b, int rank, Value *const *g, const Box *zone, const Box *without) {
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

Builder naive_begin(Lowering *lo, int index, const int32_t *block, const int32_t *elems, const Box *box, Value **start,
                    Value *g[MAX_RANK]) {
  Kernel *kernel = &lo->out->kernels[index];
  Builder b = builder_at_end(lo->out->arena, kernel->body);
  b.loc = kernel->loc;
  for (int d = 0; d < kernel->rank; d++) {
    int32_t each = elems ? elems[d] : 1;
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

/* Adds the kernel `name` of `k`, and its launch to `seq`. */
static void naive_kernel(Naive k, HostSeq *seq, const char *name, const int32_t *block, int steps) {
  Lowering *lo = k.lo;
  const Launch *l = k.l;
  int index = lowering_kernel(lo, name, steps, l->st->loc);
  Box box = covered(&k);
  Builder b = naive_begin(lo, index, block, NULL, &box, NULL, k.g);
  kernel_looks(lo, index, 1, &l, &box);
  k.step = stencils_use_step(1, l->st) ? build_step(&b) : NULL;
  b = naive_in_zone(&b, l->m->grid.rank, k.g, is_told(l->m) ? &box : NULL, NULL);
  naive_pieces(&k, naive_in_zone(&b, l->m->grid.rank, k.g, k.zone, k.without));
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
    if (l[i]->st->sweep) {
      sweep_launch(lo, seq, l[i], block, i == n - 1);
      group.first = i;
    } else if (!naive_parts(lo, seq, l[i], scalars, name, block, i == n - 1, &group)) {
      if (!lower_joined(lo, seq, l[i], name, i == n - 1))
        naive_kernel((Naive){.lo = lo, .l = l[i], .only = -1}, seq, name, block, i == n - 1);
      group.first = i;
    }
    group.ops = seq->nops;
    host_swaps(lo, seq, l[i]);
  }
}

/* ---- inits */

/* An InitFn: the kernel of an init. */
static void init_kernel(Lowering *lo, HostSeq *seq, const Launch *l, int only, const char *name, const int32_t *block) {
  naive_kernel((Naive){.lo = lo, .l = l, .only = only}, seq, name, block, 0);
}

void lower_inits(Lowering *lo, const int32_t *block) { init_seqs(lo, block, init_kernel); }
