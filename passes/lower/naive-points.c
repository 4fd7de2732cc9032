/* naive-points.c: kernels that compute several stencils one after the other at each point, and several points a thread:
 * for a frame (passes/tile/frame.h), and for the whole grid (family naive with `-elems`).
 *
 * The points of a thread are adjacent in all dimensions. The code has two versions. In tiles with all points in the
 * largest piece of each stencil, and without points of stencils of few points, the code is unrolled over a thread's
 * points and has no tests; a value that several points read is loaded once. If a thread has several points of a row, it
 * loads and stores whole vectors there, in fields whose rows are whole vectors, and takes the values of accesses from
 * these vectors: for a star of order 8 and four points, two vectors beside its own, in place of eight values for each
 * point. In all other tiles threads compute their points one after the other, in a loop whose iterations do not share
 * values (`apart`, docs/ir.md).
 *
 * A kernel for one piece (naive_piece) tests once whether all points of a thread are in the piece. Such a thread clamps
 * nothing: all its loads are within fields, except where an outside rule applies. A kernel for the box in the middle
 * (naive_block) instead clamps each load of the tiles at the box's ends. */
#include "passes/lower/naive.h"
#include "passes/tile/cells.h"

#include <math.h>

/* More than the most points of a row that a thread may have. */
enum { MOST_POINTS = 65 };

/* A kernel in the making. k: for each member, the kernel that it would be by itself. most: its piece with the most
 * points (NULL: not a member with `copies`). core: the kernel computes no points in this box (NULL: all points). */
typedef struct PointsKernel {
  Lowering *lo;
  int n;
  const int32_t *elems;
  const NaiveMember *of;
  Naive *k;
  const Piece **most;
  const bool **vectors; /* [member][field]: the field is loaded and stored by vectors; NULL: none is */
  const Box *core;
  const Box *zone; /* points outside are not stored; NULL: all are */
  Value *step;
} PointsKernel;

/* The number of points of a thread. */
static int32_t points_of(const PointsKernel *r) {
  int32_t n = 1;
  for (int d = 0; d < r->lo->m->grid.rank; d++)
    n *= r->elems[d];
  return n;
}

/* ---- where points are */

/* Sets `at` to point number `e` of the thread, whose first point is `g`, and `on` to its distances from `g`. The
 * coordinates are built at `b`. */
static void point_at(const PointsKernel *r, Builder *b, Value *const *g, int32_t e, int32_t on[MAX_RANK],
                     Value *at[MAX_RANK]) {
  for (int d = r->lo->m->grid.rank - 1; d >= 0; d--) {
    on[d] = e % r->elems[d];
    at[d] = on[d] ? build2(b, OP_ADD, g[d], build_int(b, TY_I64, on[d])) : g[d];
    e /= r->elems[d];
  }
}

/* Sets `last` to the last point of the thread in each dimension; its first point is `g`. */
static void last_point(const PointsKernel *r, Builder *b, Value *const *g, Value *last[MAX_RANK]) {
  for (int d = 0; d < r->lo->m->grid.rank; d++)
    last[d] = r->elems[d] > 1 ? build2(b, OP_ADD, g[d], build_int(b, TY_I64, r->elems[d] - 1)) : g[d];
}

/* Of the points of the grid from `g` to `last`, is one outside `box`? Or (`all`) are all of them outside, on the same
 * side? The test is no `inside` op, because pass specialize would make a version for the blocks in the box. */
static Value *beyond(Builder *b, const Module *m, Value *const *g, Value *const *last, const Box *box, bool all) {
  Value *out = NULL;
  for (int d = 0; d < box->rank; d++)
    for (int high = 0; high < 2; high++) {
      if (affine_equal(high ? box->hi[d] : box->lo[d], high ? m->grid.hi[d] : m->grid.lo[d]))
        continue;
      Value *bound = build_affine(b, m, high ? box->hi[d] : box->lo[d]);
      Value *is = build2(b, high ? OP_GT : OP_LT, high != all ? last[d] : g[d], bound);
      out = out ? build2(b, OP_OR, out, is) : is;
    }
  return out ? out : build_int(b, TY_BOOL, 0);
}

/* Opens an if at `b` for a point `g` of the grid that is not in `box`; *other is the builder for other points. */
static Builder out_of(Builder *b, const Module *m, Value *const *g, const Box *box, Builder *other) {
  return build_either(b, beyond(b, m, g, g, box, false), other);
}

/* Opens a loop over the thread's `elems` points (NULL: one) from `g` on, for those that launches cover and that are not
 * in `core`; `g` becomes the point. */
static Builder each_point(Builder *b, const Module *m, const int32_t *elems, const Box *core, Value **g) {
  Builder in = *b, none;
  for (int d = 0; elems && d < m->grid.rank; d++) {
    if (elems[d] == 1)
      continue;
    Op *loop = build_for(&in, build_int(&in, TY_I32, 0), build_int(&in, TY_I32, elems[d]), 1, FOR_APART, 0, NULL);
    in = builder_at_end(b->arena, loop->blocks[0]);
    in.loc = b->loc;
    g[d] = build2(&in, OP_ADD, g[d], build_convert(&in, TY_I64, loop->blocks[0]->args[0]));
  }
  in = naive_in_zone(&in, m->grid.rank, g, launch_covers(m), NULL);
  return core ? out_of(&in, m, g, core, &none) : in;
}

/* Marks the blocks of kernel `index` in `core` as idle; the kernel covers the same points as launches. */
static void set_idle(Lowering *lo, int index, const Box *core) {
  Kernel *k = &lo->out->kernels[index];
  const Box *covers = launch_covers(lo->m);
  k->idles = true;
  for (int d = 0; d < k->rank; d++) {
    k->idle_lo[d] = affine_sub(lo->out->arena, core->lo[d], covers->lo[d]);
    k->idle_hi[d] = affine_sub(lo->out->arena, core->hi[d], covers->lo[d]);
  }
}

Builder frame_begin(Lowering *lo, int index, const int32_t *block, int32_t rows, const Box *core, Value *g[MAX_RANK]) {
  int32_t elems[MAX_RANK] = {rows, 1, 1};
  Builder b = naive_begin(lo, index, block, elems, &lo->m->grid, NULL, g);
  set_idle(lo, index, core);
  return each_point(&b, lo->m, elems, core, g);
}

/* ---- points one after the other */

/* Builds the code of member `i` at the point `g`. */
static void member_code(PointsKernel *r, int i, Builder *b, Value *const *g) {
  const NaiveMember *of = &r->of[i];
  Naive k = r->k[i];
  for (int d = 0; d < r->lo->m->grid.rank; d++)
    k.g[d] = g[d];
  Builder other = *b,
          in = !r->core || box_equal(&of->without, r->core) ? *b : out_of(b, r->lo->m, g, &of->without, &other);
  naive_pieces(&k, in);
  for (int t = 0; t < of->l->st->ntargets && of->copies && other.block != b->block; t++)
    naive_keep(&k, &other, of->l->st->targets[t]);
}

/* Builds the code of all members at the thread's points from `g` on, one point after the other. */
static void each_code(PointsKernel *r, Builder *b, Value *const *g) {
  Value *at[MAX_RANK];
  for (int d = 0; d < r->lo->m->grid.rank; d++)
    at[d] = g[d];
  Builder one = each_point(b, r->lo->m, r->elems, r->core, at);
  for (int i = 0; i < r->n; i++)
    member_code(r, i, &one, at);
}

/* ---- points written out */

/* The unrolled points of a member, for its largest piece: the current point as a distance from the thread's first
 * point, `g`, and the cells that have been loaded. */
typedef struct Written {
  const PointsKernel *r;
  Naive k;
  Value *const *g;
  int32_t row, on[MAX_RANK]; /* the number of its row's first point */
  const bool *vectors;
  const Block *home; /* the block whose values all points may share */
  CellCache *seen;
  const Box *zone; /* points outside may be computed, too, but are not stored; NULL: all points are stored */
} Written;

/* The line of cells that contains the value of the access to `field` at `off` under `rules`; *cell is the number of the
 * cell within the line's lane. A constant outside is selected after the load, so the load is the same as without a
 * rule. */
static CellLine cell_line(const Written *w, int field, const int64_t *off, const Rules *rules, int *cell) {
  const Field *f = &w->r->lo->m->fields[field];
  int x = w->r->lo->m->grid.rank - 1, V = w->r->elems[x], at = w->on[x] + (int)off[x];
  CellLine line = {.of = field, .lanes = at >= 0 ? at / V : -((V - 1 - at) / V)};
  for (int d = 0; d < x; d++) {
    line.version =
        line.version * OUTSIDE_RULES + (rules->dim[d] == OUTSIDE_CONST ? OUTSIDE_NONE : (int32_t)rules->dim[d]);
    *(d ? &line.back : &line.line) = field_lacks(f, d) ? 0 : w->on[d] + (int32_t)off[d];
  }
  *cell = at - line.lanes * V;
  return line;
}

/* Loads the vector with cell `cell` of `line` at `b`, and enters its values in the cache of cells. */
static void load_vector(const Written *w, Builder *b, CellLine line, int cell, const int64_t *off, const Rules *rules) {
  const Module *m = w->r->lo->m;
  const Field *f = &m->fields[line.of];
  int x = m->grid.rank - 1, n = vector_cells(f->type, w->r->elems[x]), first = cell / n * n;
  Value *at[MAX_RANK];
  int64_t to[MAX_RANK] = {0}, rest[MAX_RANK] = {0};
  Rules led = *rules;
  led.dim[x] = OUTSIDE_NONE;
  for (int d = 0; d < m->grid.rank; d++) {
    to[d] = d == x ? line.lanes * w->r->elems[x] + first : field_lacks(f, d) ? 0 : w->on[d] + off[d];
    bool guarded = w->zone || rules->dim[d] != OUTSIDE_NONE;
    if (field_lacks(f, d))
      at[d] = build_int(b, TY_I64, 0);
    else
      at[d] = guarded ? guarded_place(b, f, &led, w->g, to, d, d < x ? 1 : n) : w->g[d];
    rest[d] = guarded || field_lacks(f, d) ? 0 : to[d];
  }
  Op *op = build_vload(b, f->type, n, load_buffer(w->k.lo, line.of), m->grid.rank, at, rest);
  for (int i = 0; i < n; i++)
    cells_set(w->seen, line, first + i, op->results[i]);
}

/* Are all `n` points of the row from number `i` on in `box`? */
static Value *points_in(const Written *w, Builder *b, int i, int n, const Box *box) {
  int32_t on[MAX_RANK];
  Value *at[MAX_RANK];
  Box within = *box;
  point_at(w->r, b, w->g, w->row + i, on, at);
  within.hi[box->rank - 1] = affine_add_const(within.hi[box->rank - 1], 1 - n);
  return build_inside(b, box->rank, at, &within);
}

/* Are all of these points to be stored? Beside a layer whose width is a param and is negative, the zone is larger than
 * the grid. */
static Value *points_stored(const Written *w, Builder *b, int i, int n) {
  const Module *m = w->r->lo->m;
  Value *in = points_in(w, b, i, n, w->zone);
  bool within = !m->part && box_inside(w->zone, &m->grid) > 0;
  return within ? in : build2(b, OP_AND, in, points_in(w, b, i, n, launch_covers(m)));
}

/* Does a member of the kernel store to `buffer`? */
static bool is_set(const PointsKernel *r, int buffer) {
  bool set = false;
  for (int i = 0; i < r->n; i++)
    for (int f = 0; f < r->lo->m->nfields; f++)
      set = set || (launch_use(r->of[i].l, f)->stored && store_buffer(r->of[i].lo, r->of[i].l, f) == buffer);
  return set;
}

/* The value of field `f` at the point, if the kernel also stores to its buffer. It is loaded only at points that this
 * thread stores, because other threads store the others; elsewhere it is 0. Loads a vector, or single cells if not all
 * cells of the vector are stored. */
static Value *load_own(const Written *w, Builder *b, int f) {
  const Field *field = &w->r->lo->m->fields[f];
  int rank = w->r->lo->m->grid.rank, n = w->vectors[f] ? vector_cells(field->type, w->r->elems[rank - 1]) : 1,
      first = w->on[rank - 1] / n * n, buffer = load_buffer(w->k.lo, f);
  CellLine line = {.of = f, .version = w->row};
  Value *known = b->block == w->home ? cells_get(w->seen, line, w->on[rank - 1]) : NULL, *v[MOST_POINTS], *at[MAX_RANK];
  Type types[MOST_POINTS];
  int32_t on[MAX_RANK];
  if (known)
    return known;
  for (int i = 0; i < n; i++)
    types[i] = field->type;
  Op *both = build_if(b, points_stored(w, b, first, n), n, types);
  Builder in = builder_at_end(b->arena, both->blocks[0]), out = builder_at_end(b->arena, both->blocks[1]);
  in.loc = out.loc = b->loc;
  point_at(w->r, &in, w->g, w->row + first, on, at);
  if (n > 1)
    build_yield(&in, n, build_vload(&in, field->type, n, buffer, rank, at, NULL)->results);
  else
    build_yield(&in, 1, (Value *[]){build_load(&in, field->type, buffer, rank, at, NULL)});
  for (int i = 0; i < n; i++) {
    if (n == 1) {
      v[i] = build_const(&out, field->type, (Const){0});
      continue;
    }
    Builder one;
    v[i] = build_value_or(&out, points_stored(w, &out, first + i, 1), field->type, (Const){0}, &one);
    point_at(w->r, &one, w->g, w->row + first + i, on, at);
    build_yield(&one, 1, (Value *[]){build_load(&one, field->type, buffer, rank, at, NULL)});
  }
  build_yield(&out, n, v);
  for (int i = 0; i < n && b->block == w->home; i++)
    cells_set(w->seen, line, first + i, both->results[i]);
  return both->results[w->on[rank - 1] - first];
}

/* Point.access: from a vector, if the field is loaded by vectors. */
static Value *written_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const Written *w = p->user;
  int from = launch_reads(w->k.l, field, 0).field, x = p->m->grid.rank - 1, cell;
  bool straight = rules->dim[x] == OUTSIDE_NONE || rules->dim[x] == OUTSIDE_CONST;
  if (w->zone && is_set(w->r, load_buffer(w->k.lo, from)))
    return load_own(w, b, from);
  if (!w->vectors[from] || !straight || b->block != w->home)
    return access_global(b, p->m, from, load_buffer(w->k.lo, from), rules, p->index, off, w->zone);
  CellLine line = cell_line(w, from, off, rules, &cell);
  if (!cells_get(w->seen, line, cell))
    load_vector(w, b, line, cell, off, rules);
  return inside_or_constant(b, p->m, from, rules, p->index, off, cells_get(w->seen, line, cell));
}

/* The points of a row with their values: v[point][target of the piece]; first: the row's first point. */
typedef struct Row {
  const Written *w;
  const Piece *piece;
  Value **v[MOST_POINTS], *first[MAX_RANK];
} Row;

/* Stores all targets at `n` points of the row, from number `i` on. */
static void store_points(const Row *row, Builder *b, int i, int n) {
  const Written *w = row->w;
  const Stencil *st = w->k.l->st;
  int rank = w->r->lo->m->grid.rank;
  for (int t = 0; t < st->ntargets; t++) {
    int f = st->targets[t], number = piece_target(row->piece, f), by = w->vectors[f] ? n : 1;
    Naive k = w->k;
    for (int c = i; c < i + n; c += by) {
      int64_t off[MAX_RANK] = {0};
      int32_t on[MAX_RANK];
      Value *v[MOST_POINTS];
      off[rank - 1] = c;
      for (int q = 0; q < by && number >= 0; q++)
        v[q] = row->v[c + q][number];
      if (number < 0)
        for (int q = 0; q < by; q++) {
          point_at(w->r, b, w->g, w->row + c + q, on, k.g);
          naive_keep(&k, b, f);
        }
      else if (naive_writes(&w->k, f) && by > 1)
        build_vstore(b, store_buffer(w->k.lo, w->k.l, f), by, v, rank, row->first, off);
      else if (naive_writes(&w->k, f))
        build_store(b, store_buffer(w->k.lo, w->k.l, f), v[0], rank, row->first, off);
    }
  }
}

/* The most points of a target of `st` that one store writes. */
static int stored_at_once(const Written *w) {
  const Stencil *st = w->k.l->st;
  int most = 1, V = w->r->elems[w->r->lo->m->grid.rank - 1];
  for (int t = 0; t < st->ntargets; t++) {
    int f = st->targets[t], n = w->vectors[f] ? vector_cells(w->r->lo->m->fields[f].type, V) : 1;
    most = most == 1 || n == 1 ? (n > most ? n : most) : (n < most ? n : most);
  }
  return most;
}

/* Stores the row: groups of points by one store if all of them are to be stored, else single points. */
static void store_row(const Row *row, Builder *b) {
  int V = row->w->r->elems[row->w->r->lo->m->grid.rank - 1], n = stored_at_once(row->w);
  for (int i = 0; i < V; i += n) {
    Builder rest, all = row->w->zone ? build_either(b, points_stored(row->w, b, i, n), &rest) : *b;
    store_points(row, &all, i, n);
    for (int c = i; c < i + n && n > 1 && row->w->zone; c++) {
      Builder one = build_then(&rest, points_stored(row->w, &rest, c, 1));
      store_points(row, &one, c, 1);
    }
  }
}

/* Builds the code for the points of a row, from the thread's point number `e` on, by piece `piece`. */
static void row_code(Written *w, Builder *b, const Piece *piece, int32_t e) {
  const Module *m = w->r->lo->m;
  Row *row = ARENA_NEW(m->arena, Row);
  *row = (Row){.w = w, .piece = piece};
  w->row = e;
  b->loc = piece->loc;
  for (int i = 0; i < w->r->elems[m->grid.rank - 1]; i++) {
    Point p = {.m = m, .step = w->k.step, .access = written_access, .user = w, .lo = w->r->lo, .guarded = w->zone};
    point_at(w->r, b, w->g, e + i, w->on, p.index);
    for (int d = 0; d < m->grid.rank && i == 0; d++)
      row->first[d] = p.index[d];
    row->v[i] = piece_values(&p, b, piece);
  }
  store_row(row, b);
}

/* Builds the unrolled code of member `i` at the thread's points from `g` on, all of them in its largest piece. */
static void rows_code(PointsKernel *r, int i, Builder *b, Value *const *g) {
  int V = r->elems[r->lo->m->grid.rank - 1];
  Written w = {.r = r, .k = r->k[i], .g = g, .vectors = r->vectors[i], .home = b->block, .zone = r->zone};
  w.seen = cells_new(r->lo->out->arena, V, 1);
  for (int32_t e = 0; e < points_of(r); e += V)
    row_code(&w, b, r->most[i], e);
}

/* Builds the code of member `i`, which computes few points, at the thread's points from `g` on. If it has one piece and
 * copies nothing, one test skips it for threads without such points. */
static void others_code(PointsKernel *r, int i, Builder b, Value *const *g) {
  const Module *m = r->lo->m;
  const Stencil *st = r->k[i].l->st;
  Value *at[MAX_RANK];
  if (st->npieces == 1 && (r->of[i].pieces || !launch_copies_rest(r->k[i].l))) {
    Box any = st->pieces[0].box;
    for (int d = 0; d < m->grid.rank; d++)
      any.lo[d] = affine_add_const(any.lo[d], 1 - r->elems[d]);
    b = naive_in_zone(&b, m->grid.rank, g, &any, NULL);
  }
  for (int d = 0; d < m->grid.rank; d++)
    at[d] = g[d];
  b = each_point(&b, m, r->elems, NULL, at);
  b = naive_in_zone(&b, m->grid.rank, at, r->zone, NULL);
  member_code(r, i, &b, at);
}

/* Builds the code of a tile with all points in the largest pieces: unrolled for threads that compute all of their
 * points. */
static void inner_code(PointsKernel *r, Builder *b, Value *const *g) {
  const Module *m = r->lo->m;
  Value *last[MAX_RANK], *all = NULL;
  last_point(r, b, g, last);
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

/* The piece of `st` with the most points under the params `scalars`. NULL: there is none, or `scalars` is NULL and
 * there are several. */
static const Piece *largest_piece(const Stencil *st, const Const *scalars) {
  const Piece *best = scalars || st->npieces != 1 ? NULL : st->pieces;
  double most = 0;
  for (int i = 0; i < st->npieces && scalars; i++) {
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

/* Are all points of the tile of kernel `k` that begins at `start` in `box`? */
static Value *tile_in(Builder *b, const Kernel *k, Value *const *start, const Box *box) {
  Box within = *box;
  for (int d = 0; d < box->rank; d++)
    within.hi[d] = affine_add_const(box->hi[d], 1 - k->tile[d]);
  return build_inside(b, box->rank, start, &within);
}

/* Opens two versions of kernel `index` at `b`: *in for tiles in `inner` and in the largest pieces, *other for the rest.
 * False if there are no such pieces, or if a thread has one point: pass specialize then makes a version for tiles in
 * the middle. */
static bool two_versions(PointsKernel *r, int index, Builder *b, Value *const *start, const Box *inner, Builder *in,
                         Builder *other) {
  const Kernel *k = &r->lo->out->kernels[index];
  bool any = false;
  for (int i = 0; i < r->n; i++)
    any = any || r->most[i];
  if (!any || points_of(r) == 1)
    return false;
  Value *test = tile_in(b, k, start, inner);
  for (int i = 0; i < r->n; i++)
    if (r->most[i])
      test = build2(b, OP_AND, test, tile_in(b, k, start, &r->most[i]->box));
  *in = build_either(b, test, other);
  b->block->last->flags |= IF_INTERIOR;
  return true;
}

/* The kernel of member `of` by itself. Builds the step number at `b` when a member needs it for the first time. */
static Naive member_alone(PointsKernel *r, Builder *b, const NaiveMember *of) {
  ThinPart all = {r->lo->m->grid, ARENA_ARRAY(r->lo->out->arena, bool, of->l->st->npieces + 1)}, *part;
  for (int i = 0; i < of->l->st->npieces; i++)
    all.has[i] = true;
  part = ARENA_NEW(r->lo->out->arena, ThinPart);
  *part = all;
  if (!r->step && stencils_use_step(1, of->l->st))
    r->step = build_step(b);
  return (Naive){.lo = of->lo, .l = of->l, .only = -1, .part = of->pieces ? part : NULL, .step = r->step};
}

/* The number of blocks of `block` threads for which a core should have room, so that they wait for memory at different
 * times: 1 / `share` of the blocks that the core's threads suffice for. 0: no limit. */
static int32_t blocks_at_once(const Lowering *lo, const int32_t *block, int32_t share) {
  int64_t threads = share;
  for (int d = 0; d < lo->m->grid.rank; d++)
    threads *= block[d];
  threads = (threads + WARP_LANES * share - 1) / (WARP_LANES * share) * (WARP_LANES * share);
  return (int32_t)(lo->c->target->max_threads_per_core / threads);
}

/* The members of kernel `p`, with code at `b`. */
static PointsKernel members_of(Lowering *lo, const NaivePoints *p, Builder *b) {
  Arena *a = lo->out->arena;
  PointsKernel r = {.lo = lo, .n = p->n, .elems = p->elems, .of = p->of, .core = p->core};
  r.k = ARENA_ARRAY(a, Naive, p->n);
  r.most = ARENA_ARRAY(a, const Piece *, p->n);
  r.vectors = ARENA_ARRAY(a, const bool *, p->n);
  for (int i = 0; i < p->n; i++) {
    r.k[i] = member_alone(&r, b, &p->of[i]);
    r.most[i] = p->of[i].piece    ? p->of[i].piece
                : p->of[i].copies ? largest_piece(p->of[i].l->st, default_scalars(lo->m))
                                  : NULL;
    r.vectors[i] = ARENA_ARRAY(a, bool, lo->m->nfields + 1);
  }
  return r;
}

/* Sets Kernel.tests of kernel `index` of `p`, which covers `covers`. */
static void points_look(Lowering *lo, int index, const NaivePoints *p, const Box *covers) {
  const Launch **l = ARENA_ARRAY(lo->out->arena, const Launch *, p->n);
  for (int i = 0; i < p->n; i++)
    l[i] = p->of[i].l;
  kernel_looks(lo, index, p->n, l, covers);
}

int naive_points(Lowering *lo, const NaivePoints *p, const char *name) {
  int index = lowering_kernel(lo, name, p->steps, p->of[0].l->st->loc);
  Value *g[MAX_RANK], *start[MAX_RANK];
  Builder b = naive_begin(lo, index, p->block, p->elems, launch_covers(lo->m), start, g), in, rest = b;
  points_look(lo, index, p, launch_covers(lo->m));
  PointsKernel r = members_of(lo, p, &b);
  if (p->core)
    set_idle(lo, index, p->core);
  if (points_of(&r) > 1)
    lo->out->kernels[index].per_core = blocks_at_once(lo, p->block, 2);
  if (two_versions(&r, index, &b, start, p->inner, &in, &rest))
    inner_code(&r, &in, g);
  else
    rest = b;
  each_code(&r, &rest, g);
  return index;
}

/* Is the distance of the first point of `zone` from the begin of rows known, or, if all rows are dense, its distance
 * from their end? */
static bool begins_whole(const Module *m, const Box *zone) {
  int x = m->grid.rank - 1;
  int64_t from;
  return affine_diff(zone->lo[x], m->grid.lo[x], &from) ||
         (rows_are_dense(m) && affine_diff(m->grid.hi[x], zone->lo[x], &from));
}

/* The begin of the vector of `V` cells that holds the first points of `zone`, where vectors are counted from the begin
 * of rows, or, if all rows of fields are whole vectors of the grid's points, from their end. The begin of rows if
 * neither distance is known. */
static Affine first_vector(const Module *m, const Box *zone, int V) {
  int x = m->grid.rank - 1;
  int64_t from, to;
  if (affine_diff(zone->lo[x], m->grid.lo[x], &from) && from >= 0)
    return affine_add_const(m->grid.lo[x], from / V * V);
  if (rows_are_dense(m) && affine_diff(m->grid.hi[x], zone->lo[x], &to) && to >= 0)
    return affine_add_const(m->grid.hi[x], 1 - (to / V + 1) * V);
  return m->grid.lo[x];
}

/* The points that launches cover in the box `zone`; the first tile begins with a whole vector of `V` cells of a row. */
static Box covered(const Module *m, const Box *zone, int V) {
  Box box = *zone;
  if (m->part)
    return *launch_covers(m);
  if (V > 1)
    box.lo[box.rank - 1] = first_vector(m, zone, V);
  return box;
}

/* The result of kernel_vectors for kernel `index`, whose lanes of `V` cells begin at `first` in a row, extended by
 * fields with rows of another, constant width that have whole vectors there, too: layers along the ends of rows. */
static const bool *vectors_from(Lowering *lo, const Launch *l, int index, int V, Affine first) {
  const Module *m = lo->m;
  int x = m->grid.rank - 1;
  bool *vectors = kernel_vectors(lo, l, index, V);
  for (int k = 0; k < l->nuses && !l->wraps[x]; k++) {
    const FieldUse *u = &l->uses[k];
    const Field *field = &m->fields[u->field];
    int64_t width, from;
    if ((u->loaded || u->stored) && !vectors[u->field] && !field_lacks(field, x) && vector_cells(field->type, V) > 1 &&
        affine_diff(field->box.hi[x], field->box.lo[x], &width) && affine_diff(first, field->box.lo[x], &from))
      vectors[u->field] =
          (width + 1) % V == 0 && from % V == 0 && kernel_multiple(lo, index, field_row(lo->out->arena, field), V);
  }
  return vectors;
}

/* Builds the code of all members at the thread's points from `g` on that are in `zone`, one point after the other. */
static void zone_code(PointsKernel *r, Builder *b, Value *const *g, const Box *zone) {
  Value *at[MAX_RANK];
  Box any = *zone;
  for (int d = 0; d < r->lo->m->grid.rank; d++) {
    at[d] = g[d];
    any.lo[d] = affine_add_const(any.lo[d], 1 - r->elems[d]);
  }
  Builder some = naive_in_zone(b, any.rank, g, &any, NULL), one = each_point(&some, r->lo->m, r->elems, NULL, at);
  one = naive_in_zone(&one, r->lo->m->grid.rank, at, zone, NULL);
  for (int i = 0; i < r->n; i++)
    member_code(r, i, &one, at);
}

int naive_piece(Lowering *lo, const NaivePoints *p, const Box *zone, bool vector, const char *name) {
  int index = lowering_kernel(lo, name, p->steps, p->of[0].l->st->loc), x = lo->m->grid.rank - 1;
  Value *g[MAX_RANK];
  int32_t one[MAX_RANK];
  for (int d = 0; d < MAX_RANK; d++)
    one[d] = 1;
  NaivePoints single = *p;
  single.elems = one;
  vector = vector && p->elems[x] > 1 && begins_whole(lo->m, zone);
  p = vector || p->elems[x] == 1 ? p : &single;
  Box covers = covered(lo->m, zone, vector ? p->elems[x] : 1), all = *zone;
  Builder b = naive_begin(lo, index, p->block, p->elems, &covers, NULL, g), rest;
  points_look(lo, index, p, &covers);
  PointsKernel r = members_of(lo, p, &b);
  if (points_of(&r) > 1)
    lo->out->kernels[index].per_core = blocks_at_once(lo, p->block, 4);
  for (int i = 0; i < p->n; i++) {
    r.k[i].zone = zone;
    r.k[i].piece = p->of[i].piece;
    if (r.most[i] && vector)
      r.vectors[i] = vectors_from(lo, p->of[i].l, index, p->elems[x], covers.lo[x]);
  }
  for (int d = 0; d < all.rank; d++)
    all.hi[d] = affine_add_const(all.hi[d], 1 - p->elems[d]);
  Builder rows = build_either(&b, build_inside(&b, all.rank, g, &all), &rest);
  for (int i = 0; i < p->n; i++)
    if (r.most[i])
      rows_code(&r, i, &rows, g);
    else
      others_code(&r, i, rows, g);
  if (points_of(&r) > 1)
    zone_code(&r, &rest, g, zone);
  return index;
}

int naive_block(Lowering *lo, const NaivePoints *p, const Box *zone, bool vector, const char *name) {
  int index = lowering_kernel(lo, name, p->steps, p->of[0].l->st->loc), x = lo->m->grid.rank - 1;
  Value *g[MAX_RANK];
  vector = vector && p->elems[x] > 1;
  Box covers = covered(lo->m, zone, vector ? p->elems[x] : 1);
  Builder b = naive_begin(lo, index, p->block, p->elems, &covers, NULL, g);
  points_look(lo, index, p, &covers);
  PointsKernel r = members_of(lo, p, &b);
  r.zone = zone;
  vector = vector && (!lo->m->part || affine_equal(covers.lo[x], lo->m->grid.lo[x]));
  for (int i = 0; i < p->n; i++)
    r.k[i].zone = zone;
  for (int i = 0; i < p->n; i++)
    if (r.most[i] && vector)
      r.vectors[i] = kernel_vectors(lo, p->of[i].l, index, p->elems[x]);
  for (int i = 0; i < p->n; i++)
    if (r.most[i])
      rows_code(&r, i, &b, g);
    else
      others_code(&r, i, b, g);
  return index;
}

bool naive_zone_of(const Module *m, const Launch *l, Box *zone) {
  const Piece *most = largest_piece(l->st, default_scalars(m));
  bool known = most;
  for (int e = 0; e < 2 * m->grid.rank && known; e++) {
    Affine end = e % 2 ? most->box.hi[e / 2] : most->box.lo[e / 2],
           grid = e % 2 ? m->grid.hi[e / 2] : m->grid.lo[e / 2], *to = e % 2 ? &zone->hi[e / 2] : &zone->lo[e / 2];
    int64_t in;
    if (affine_equal(end, grid))
      continue;
    known = affine_diff(end, *to, &in) || affine_equal(*to, grid);
    if (known && (affine_equal(*to, grid) || (e % 2 ? in < 0 : in > 0)))
      *to = end;
  }
  return known;
}
