/* naive-points.c: several stencils a launch, made one after the other at each point, and several points a thread: what
 * is around a box (passes/tile/frame.h), and all of the grid (family naive with `-elems`).
 *
 * A thread's points lie beside each other in all dimensions. Tiles all of whose points are in the largest piece of each
 * stencil, and where no stencil of few points has any, have a version of the code that is written out for these points,
 * without tests, so that what several of them read is loaded once. Where a thread has several points of a row it loads
 * and stores whole vectors there, of fields whose rows are whole ones, and takes the values that accesses lead to from
 * these: of a star of order 8 two vectors beside its own for four points, in place of eight values for each. All other
 * threads take their points one after the other, by a loop that nothing is computed ahead of (`apart`, docs/ir.md).
 *
 * A kernel of a piece alone (naive_piece) asks once whether all points of a thread are in the piece, and such a thread
 * clamps nothing: what is loaded at all its points is within the fields but where an outside rule holds. A kernel of
 * the box in the middle (naive_block) clamps each load of tiles at the box's ends in place of that. */
#include "passes/lower/naive.h"
#include "passes/tile/cells.h"

#include <math.h>

/* More points than a thread has of a row. */
enum { MOST_POINTS = 65 };

/* A kernel in the making: its members, and for each the kernel that it would be alone, and the piece that has the most
 * points (NULL: it is not one with `copies`). core: no points in there (NULL: all are made). */
typedef struct PointsKernel {
  Lowering *lo;
  int n;
  const int32_t *elems;
  const NaiveMember *of;
  Naive *k;
  const Piece **most;
  const bool **vectors; /* [member][field]: it is loaded and stored by vectors; NULL: none is */
  const Box *core;
  const Box *zone; /* points out of there are not stored; NULL: all are */
  Value *step;
} PointsKernel;

/* How many points a thread has. */
static int32_t points_of(const PointsKernel *r) {
  int32_t n = 1;
  for (int d = 0; d < r->lo->m->grid.rank; d++)
    n *= r->elems[d];
  return n;
}

/* ---- where points are */

/* Sets `at` to the point that is number `e` of the thread's, whose first one is `g`. The coordinates are built at
 * `b`. */
static void point_at(const PointsKernel *r, Builder *b, Value *const *g, int32_t e, int32_t on[MAX_RANK],
                     Value *at[MAX_RANK]) {
  for (int d = r->lo->m->grid.rank - 1; d >= 0; d--) {
    on[d] = e % r->elems[d];
    at[d] = on[d] ? build2(b, OP_ADD, g[d], build_int(b, TY_I64, on[d])) : g[d];
    e /= r->elems[d];
  }
}

/* The thread's last point in each dimension, whose first one is `g`. */
static void last_point(const PointsKernel *r, Builder *b, Value *const *g, Value *last[MAX_RANK]) {
  for (int d = 0; d < r->lo->m->grid.rank; d++)
    last[d] = r->elems[d] > 1 ? build2(b, OP_ADD, g[d], build_int(b, TY_I64, r->elems[d] - 1)) : g[d];
}

/* Of the points of the grid from `g` to `last`, is one not in `box`; or (`all`) are all of them not, and on the same
 * side of it? That is not tested by an op inside, of which pass specialize would make a version for the blocks in the
 * box. */
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

/* Begins, at `b`, what is done at the point `g` of the grid if it is not in `box`, and in *other what else. */
static Builder out_of(Builder *b, const Module *m, Value *const *g, const Box *box, Builder *other) {
  return build_either(b, beyond(b, m, g, g, box, false), other);
}

/* Begins, at `b`, what is done at each of the thread's `elems` points (NULL: one) from `g` on, which g becomes, that is
 * one that launches cover and not in `core`. */
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

/* Has kernel `index`, which covers what launches do, leave out the blocks in `core`. */
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

/* The code of member `i` at the point `g`. */
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

/* The code of all members at the thread's points from `g` on, one after the other. */
static void each_code(PointsKernel *r, Builder *b, Value *const *g) {
  Value *at[MAX_RANK];
  for (int d = 0; d < r->lo->m->grid.rank; d++)
    at[d] = g[d];
  Builder one = each_point(b, r->lo->m, r->elems, r->core, at);
  for (int i = 0; i < r->n; i++)
    member_code(r, i, &one, at);
}

/* ---- points written out */

/* A member's points in the making, its largest piece: which point it is, counted from the thread's first one, `g`, and
 * the cells that are at hand. */
typedef struct Written {
  const PointsKernel *r;
  Naive k;
  Value *const *g;
  int32_t row, on[MAX_RANK]; /* the number of the first point of its row */
  const bool *vectors;
  const Block *home; /* the code that all points share */
  CellCache *seen;
  const Box *zone; /* points beyond may be made, too, but are not stored; NULL: all are right */
} Written;

/* The line of cells with the value that the access to `field` at `off` under `rules` leads to, and in *cell which one
 * of the lane that the line names. A constant is chosen behind the load, which is the same as without a rule. */
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

/* Loads the vector with cell `cell` of `line` at `b`, and makes its values known. */
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

/* Are the `n` points of the row from number `i` on all in `box`? */
static Value *points_in(const Written *w, Builder *b, int i, int n, const Box *box) {
  int32_t on[MAX_RANK];
  Value *at[MAX_RANK];
  Box within = *box;
  point_at(w->r, b, w->g, w->row + i, on, at);
  within.hi[box->rank - 1] = affine_add_const(within.hi[box->rank - 1], 1 - n);
  return build_inside(b, box->rank, at, &within);
}

/* Are they points that are to be stored? Beside a layer whose width is a param, less than 0, the zone is larger than
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

/* The value of field `f` at the point, whose buffer the kernel stores to: it is loaded only at points that the thread
 * stores, for others are other threads'. Elsewhere 0. A vector, and cell by cell where not all of it is stored. */
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

/* Point.access: from a vector, where the field comes by vectors. */
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

/* The points of a row whose values are known: [point][target of the piece]; the first one. */
typedef struct Row {
  const Written *w;
  const Piece *piece;
  Value **v[MOST_POINTS], *first[MAX_RANK];
} Row;

/* Stores `n` points of the row from number `i` on, all targets. */
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

/* The most points that a target of `st` is stored by at once. */
static int stored_at_once(const Written *w) {
  const Stencil *st = w->k.l->st;
  int most = 1, V = w->r->elems[w->r->lo->m->grid.rank - 1];
  for (int t = 0; t < st->ntargets; t++) {
    int f = st->targets[t], n = w->vectors[f] ? vector_cells(w->r->lo->m->fields[f].type, V) : 1;
    most = most == 1 || n == 1 ? (n > most ? n : most) : (n < most ? n : most);
  }
  return most;
}

/* Stores the row: points that are stored together all at once, or those of them that are to be. */
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

/* The code of the points of a row from number `e` of the thread's on, by piece `piece`. */
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

/* The code of member `i` at the thread's points from `g` on, all of which it computes by its largest piece. */
static void rows_code(PointsKernel *r, int i, Builder *b, Value *const *g) {
  int V = r->elems[r->lo->m->grid.rank - 1];
  Written w = {.r = r, .k = r->k[i], .g = g, .vectors = r->vectors[i], .home = b->block, .zone = r->zone};
  w.seen = cells_new(r->lo->out->arena, V, 1);
  for (int32_t e = 0; e < points_of(r); e += V)
    row_code(&w, b, r->most[i], e);
}

/* The code of member `i`, which is seldom for all points, at the thread's points from `g` on. One test tells that it is
 * for none of them, if it has a single piece and copies nothing. */
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

/* The code of a tile all of whose points are in the largest pieces: written out for the points of threads that compute
 * all of theirs. */
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

/* The piece of `st` that has the most points, where the params have the values `scalars`; NULL: there is none, or of
 * several nobody knows, the values being NULL. */
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

/* What `of` is alone, with the number of the step at `b`, once there is one that needs it. */
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

/* How many blocks of `block` threads a core is to have room for, so that they wait for memory at different times: one
 * in `share` of those that its threads are enough for. 0: there is no bound. */
static int32_t blocks_at_once(const Lowering *lo, const int32_t *block, int32_t share) {
  int64_t threads = share;
  for (int d = 0; d < lo->m->grid.rank; d++)
    threads *= block[d];
  threads = (threads + WARP_LANES * share - 1) / (WARP_LANES * share) * (WARP_LANES * share);
  return (int32_t)(lo->c->target->max_threads_per_core / threads);
}

/* What kernel `index` of `p` is made of. */
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

/* Says what kernel `index` of `p`, which covers `covers`, looks at. */
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

/* Are the rows of all fields dense? */
static bool all_dense(const Module *m) {
  bool dense = true;
  for (int f = 0; f < m->nfields; f++)
    dense = dense && !m->fields[f].pitch;
  return dense;
}

/* Is it known how many points `zone` begins behind the begin of rows, or, where these have whole vectors of points,
 * before their end? */
static bool begins_whole(const Module *m, const Box *zone) {
  int x = m->grid.rank - 1;
  int64_t from;
  return affine_diff(zone->lo[x], m->grid.lo[x], &from) ||
         (all_dense(m) && affine_diff(m->grid.hi[x], zone->lo[x], &from));
}

/* Where the vectors of `V` cells of a row begin of which one has the first points of `zone`: a whole number of them
 * from where rows begin, or, if all rows of fields are whole vectors of the grid's points, from where these end. Where
 * rows begin if neither is known. */
static Affine first_vector(const Module *m, const Box *zone, int V) {
  int x = m->grid.rank - 1;
  int64_t from, to;
  if (affine_diff(zone->lo[x], m->grid.lo[x], &from) && from >= 0)
    return affine_add_const(m->grid.lo[x], from / V * V);
  if (all_dense(m) && affine_diff(m->grid.hi[x], zone->lo[x], &to) && to >= 0)
    return affine_add_const(m->grid.hi[x], 1 - (to / V + 1) * V);
  return m->grid.lo[x];
}

/* The points that launches cover, of those the box `zone`; tiles begin with a whole vector of `V` cells of a row. */
static Box covered(const Module *m, const Box *zone, int V) {
  Box box = *zone;
  if (m->part)
    return *launch_covers(m);
  if (V > 1)
    box.lo[box.rank - 1] = first_vector(m, zone, V);
  return box;
}

/* What kernel_vectors says of kernel `index`, whose lanes of `V` cells begin at `first` in a row, and which fields with
 * rows of another, constant width have whole vectors there, too: layers along the rows' ends. */
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

/* The code of all members at those of the thread's points from `g` on that are in `zone`, if any is, one after the
 * other. */
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
