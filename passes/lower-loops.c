/* Pass lower-loops: the naive and overlap schedules for targets without threads. A block is one tile of points, and a kernel's body is loops over the tile's cells.
 *
 *     for each instance (stencil at a time level), on its region about the tile (Algorithm 2), clipped to the grid:
 *       the fast box: the points of the main piece from which no access leaves its field    a loop nest without any test, innermost loop parallel
 *       the rest of the region, if there is any                                             pieces by ifs, outside rules by maps
 *
 * A version of a field lives in an array of the tile (scratch that fits a cache), or, the last one, goes straight to global memory where no other tile
 * and no later instance needs it from here. Arrays of versions that are not alive together are merged by shared-alloc: two a field in the common case.
 * J. Holewinski, L.-N. Pouchet, P. Sadayappan, ICS 2012, Algorithms 1 to 5, with the parallel thread loops of Algorithm 3 written out as loops.
 */
#include "passes/lower.h"
#include "passes/registry.h"

#include <string.h>

/* Cells in a row of an array are a multiple of this, so that rows start at vector boundaries. Rows a multiple of PAGE_CELLS apart would fall on the same sets of
 * the first-level cache, and a load that is so far from a store waits for it: such rows get ROW_CELLS more. */
enum { ROW_CELLS = 16, PAGE_CELLS = 512 };

/* A kernel in the making. cells and base are about the region of the launch's hull: cell 0 has the coordinate base. */
typedef struct Tile {
  Lowering *lo;
  const Launch *l;
  int kernel;                    /* index in the module */
  int rank;
  int only;                      /* the one target to write (the others have kernels of their own), -1: all */
  int32_t width[MAX_RANK];       /* points given out */
  int32_t cells[MAX_RANK];       /* points computed: width and the hull */
  Value *base[MAX_RANK];         /* i64 */
  int32_t **array;               /* [field][version]: index of the array that holds it, -1: none */
} Tile;

/* A box of coordinates known at run time, both ends inclusive, i64. */
typedef struct Region { Value *lo[MAX_RANK], *hi[MAX_RANK]; } Region;

/* What the access callback of a Point needs: the tile, the running instance and the point's cell (i32). fast: no outside rule applies. */
typedef struct CellUse { const Tile *t; int instance; Value *cell[MAX_RANK]; bool fast; } CellUse;

/* ---------------------------------------------------------------- which versions need an array */

typedef struct ReadMarks { const Launch *l; int instance; bool **read; } ReadMarks;

/* AccessFn: what the running instance reads for `field` is read. */
static void mark_read(void *user, const Piece *piece, int field, const int64_t *off) {
  ReadMarks *r = user;
  (void)piece, (void)off;
  Version v = launch_reads(r->l, field, r->instance);
  r->read[v.field][v.version] = true;
}

/* Does instance `i` carry values of `field`, one of its targets, over to the new version? */
static bool keeps_values(const Launch *l, int i, int field) { return stencil_keeps(l->m, &l->st[i], field) && launch_holds(l, field, i); }

/* read[f][v]: does an instance of `l` read version v of field f, be it to keep it? */
static bool **versions_read(const Launch *l) {
  const Module *m = l->m;
  ReadMarks r = {l, 0, ARENA_ARRAY(m->arena, bool *, m->nfields)};
  for (int f = 0; f < m->nfields; f++) r.read[f] = ARENA_ARRAY(m->arena, bool, l->use[f].versions + 1);
  for (r.instance = 0; r.instance < l->n; r.instance++) {
    const Stencil *st = &l->st[r.instance];
    stencil_accesses(st, mark_read, &r);
    for (int i = 0; i < st->ntargets; i++)
      if (keeps_values(l, r.instance, st->targets[i])) r.read[st->targets[i]][launch_version(l, st->targets[i], r.instance)] = true;
  }
  return r.read;
}

/* Is the extent that of the output tile itself? */
static bool extent_zero(const Extent *e, int rank) {
  for (int d = 0; d < rank; d++)
    if (e->lo[d] != 0 || e->hi[d] != 0) return false;
  return true;
}

/* Does instance i store its version of `field` straight to global memory? (So it must be the last one and on the output tile only.) */
static bool stores_directly(const Tile *t, int field, int i) {
  const FieldUse *u = &t->l->use[field];
  int v = launch_version(t->l, field, i) + 1;
  return u->stored && v == u->versions && t->array[field][v] < 0;
}

/* Gives an array to every version from 1 on that is read in the launch, or that is computed on more than the output tile and stored. */
static void make_arrays(Tile *t) {
  const Launch *l = t->l;
  const Module *m = l->m;
  bool **read = versions_read(l);
  t->array = ARENA_ARRAY(m->arena, int32_t *, m->nfields);
  for (int f = 0; f < m->nfields; f++) {
    t->array[f] = ARENA_ARRAY(m->arena, int32_t, l->use[f].versions + 1);
    for (int v = 0; v <= l->use[f].versions; v++) t->array[f][v] = -1;
  }
  for (int i = 0; i < l->n; i++)
    for (int k = 0; k < l->st[i].ntargets; k++) {
      int f = l->st[i].targets[k], v = launch_version(l, f, i) + 1;
      bool last = v == l->use[f].versions;
      if (!read[f][v] && (!last || !l->use[f].stored || extent_zero(&l->st[i].extent, t->rank))) continue;
      const char *name = arena_printf(m->arena, "s%s.%d", m->fields[f].name, v);
      t->array[f][v] = kernel_array(t->lo, &t->lo->out->kernels[t->kernel], name, m->fields[f].type, SPACE_SHARED, t->cells, NULL, NULL);
    }
}

/* ---------------------------------------------------------------- regions */

static Value *i64(Builder *b, int64_t x) { return build_int(b, TY_I64, x); }

/* x + c for a constant c. */
static Value *plus(Builder *b, Value *x, int64_t c) { return c ? build2(b, OP_ADD, x, i64(b, c)) : x; }

/* The region of instance i: its extent about the output tile, clipped to the grid (where dimensions wrap: to the grid and its images within the extent). */
static Region instance_region(const Tile *t, Builder *b, int i) {
  const Module *m = t->l->m;
  const Extent *e = &t->l->st[i].extent, *hull = &t->l->hull;
  Region r = {0};
  for (int d = 0; d < t->rank; d++) {
    bool wraps = t->l->wraps[d];
    Value *lo = plus(b, t->base[d], hull->lo[d] - e->lo[d]);
    Value *hi = plus(b, t->base[d], hull->lo[d] + t->width[d] - 1 + e->hi[d]);
    r.lo[d] = wraps ? lo : build2(b, OP_MAX, lo, build_affine(b, m, m->grid.lo[d]));
    r.hi[d] = build2(b, OP_MIN, hi, plus(b, build_affine(b, m, m->grid.hi[d]), wraps ? e->hi[d] : 0));
  }
  return r;
}

/* The part of `in` within `box`; where that is empty in a dimension, an empty range that starts within `in` or just after it. */
static Region region_clip(const Tile *t, Builder *b, const Region *in, const Region *box) {
  Region r = {0};
  for (int d = 0; d < t->rank; d++) {
    Value *lo = build2(b, OP_MAX, in->lo[d], box->lo[d]);
    r.lo[d] = build2(b, OP_MIN, lo, plus(b, in->hi[d], 1));
    r.hi[d] = build2(b, OP_MAX, build2(b, OP_MIN, in->hi[d], box->hi[d]), plus(b, r.lo[d], -1));
  }
  return r;
}

/* The box as run-time bounds. */
static Region region_of_box(const Tile *t, Builder *b, const Box *box) {
  Region r = {0};
  for (int d = 0; d < t->rank; d++) {
    r.lo[d] = build_affine(b, t->l->m, box->lo[d]);
    r.hi[d] = build_affine(b, t->l->m, box->hi[d]);
  }
  return r;
}

/* The fast box in the making: of `piece` in instance i. images[d]: in dimension d it may go on beyond the edge. */
typedef struct SafeBox { const Tile *t; Builder *b; const Piece *piece; int i; bool images[MAX_RANK]; Region r; } SafeBox;

/* AccessFn: shrinks the box so that this access, if it is of the piece and has an outside rule to mind, stays inside its field. */
static void shrink_for_access(void *user, const Piece *piece, int field, const int64_t *off) {
  SafeBox *s = user;
  const Module *m = s->t->l->m;
  if (piece != s->piece) return;
  Rules rules = access_rules(m, &piece->box, field, off);
  for (int d = 0; d < s->t->rank; d++) {
    if (rules.dim[d] == OUTSIDE_NONE || s->images[d]) continue;
    Value *lo = plus(s->b, build_affine(s->b, m, m->fields[field].box.lo[d]), -off[d]);
    Value *hi = plus(s->b, build_affine(s->b, m, m->fields[field].box.hi[d]), -off[d]);
    s->r.lo[d] = build2(s->b, OP_MAX, s->r.lo[d], lo);
    s->r.hi[d] = build2(s->b, OP_MIN, s->r.hi[d], hi);
  }
}

/* AccessFn: images can be computed as other points are only from arrays, whose cells beyond the edge are images too, and where no rule but periodic is to be minded. */
static void forbid_images(void *user, const Piece *piece, int field, const int64_t *off) {
  SafeBox *s = user;
  if (piece != s->piece) return;
  Rules rules = access_rules(s->t->l->m, &piece->box, field, off);
  bool from_memory = launch_reads(s->t->l, field, s->i).version == 0;
  for (int d = 0; d < s->t->rank; d++)
    if (from_memory || (rules.dim[d] != OUTSIDE_NONE && rules.dim[d] != OUTSIDE_PERIODIC)) s->images[d] = false;
}

/* Does the body ask for the coordinate in dimension d? */
static bool uses_index(const Block *b, int d) {
  for (const Op *op = b->first; op; op = op->next)
    if (op->code == OP_INDEX && op->sym == d) return true;
  return false;
}

/* Finds the dimensions in which the fast box may go on into images: the piece and the grid both end where the field wraps, so that an image lies in the piece as the point does that
 * it stands for, and nothing in the body tells them apart. */
static void allow_images(SafeBox *s) {
  const Launch *l = s->t->l;
  const Box *grid = &l->m->grid, *box = &s->piece->box;
  for (int d = 0; d < s->t->rank; d++) {
    bool ends = l->wraps[d] && affine_equal(box->lo[d], l->wrap_lo[d]) && affine_equal(box->hi[d], l->wrap_hi[d]);
    s->images[d] = ends && affine_equal(grid->lo[d], box->lo[d]) && affine_equal(grid->hi[d], box->hi[d]) && !uses_index(s->piece->body, d);
  }
  const Stencil *st = &l->st[s->i];
  stencil_accesses(st, forbid_images, s);
  for (int k = 0; k < st->ntargets; k++)
    if (piece_target(s->piece, st->targets[k]) < 0) s->images[0] = s->images[1] = s->images[2] = false;
}

/* The piece that is likely to cover most: the first of those with the most free dimensions. */
static const Piece *main_piece(Arena *a, const Stencil *st) {
  const Piece *best = &st->pieces[0];
  for (int i = 1; i < st->npieces; i++)
    if (free_dimensions(a, &st->pieces[i].box) > free_dimensions(a, &best->box)) best = &st->pieces[i];
  return best;
}

/* The points of `region` at which `piece` of instance i can be computed without any test. */
static Region fast_region(const Tile *t, Builder *b, int i, const Piece *piece, const Region *region) {
  SafeBox s = {.t = t, .b = b, .piece = piece, .i = i, .r = region_of_box(t, b, &piece->box)};
  allow_images(&s);
  for (int d = 0; d < t->rank; d++)
    if (s.images[d]) s.r.lo[d] = region->lo[d], s.r.hi[d] = region->hi[d];
  stencil_accesses(&t->l->st[i], shrink_for_access, &s);
  return region_clip(t, b, region, &s.r);
}

/* ---------------------------------------------------------------- loops */

/* The cell of coordinate x in dimension d, i32. */
static Value *cell_of(const Tile *t, Builder *b, Value *x, int d) {
  return build_convert(b, TY_I32, build2(b, OP_SUB, x, t->base[d]));
}

/* The coordinate of a cell, i64. */
static Value *coordinate_of(const Tile *t, Builder *b, Value *cell, int d) {
  return build2(b, OP_ADD, t->base[d], build_convert(b, TY_I64, cell));
}

/* Opens a loop over cells lo <= x < hi at `b`, which then builds inside it; returns the cell. */
static Value *open_loop(Builder *b, Value *lo, Value *hi, int flags) {
  Op *loop = build_for(b, lo, hi, 1, flags, 0, NULL);
  Loc loc = b->loc;
  *b = builder_at_end(b->arena, loop->blocks[0]);
  b->loc = loc;
  return loop->blocks[0]->args[0];
}

/* Opens the loops over the cells of the first `n` dimensions of `r` (the last of all dimensions with FOR_PARALLEL). */
static void open_nest(const Tile *t, Builder *b, const Region *r, int n, Value **cell) {
  Value *lo[MAX_RANK], *hi[MAX_RANK];
  for (int d = 0; d < n; d++) {
    lo[d] = cell_of(t, b, r->lo[d], d);
    hi[d] = cell_of(t, b, plus(b, r->hi[d], 1), d);
  }
  for (int d = 0; d < n; d++) cell[d] = open_loop(b, lo[d], hi[d], d == t->rank - 1 ? FOR_PARALLEL : 0);
}

/* ---------------------------------------------------------------- accesses and stores at a point */

static bool has_const_rule(const Rules *r) {
  for (int d = 0; d < MAX_RANK; d++)
    if (r->dim[d] == OUTSIDE_CONST) return true;
  return false;
}

/* The access under rules without a constant among them: from global memory for version 0, else from the version's array. */
static Value *access_cell(const Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const CellUse *c = p->user;
  const Tile *t = c->t;
  Version v = launch_reads(t->l, field, c->instance);
  if (v.version == 0) return access_global(b, p->m, v.field, load_buffer(t->lo, v.field), rules, p->index, off, false);
  int array = t->array[v.field][v.version];
  return access_array(b, p->m, v.field, &t->lo->out->kernels[t->kernel], array, v.version, rules, p->index, c->cell, off);
}

/* An access with a constant outside: an if, so that memory is only touched where the field is. */
static Value *access_or_constant(const Point *p, Builder *b, int field, const int64_t *off) {
  const Field *f = &p->m->fields[field];
  Value *at[MAX_RANK];
  for (int d = 0; d < f->box.rank; d++) at[d] = plus(b, p->index[d], off[d]);
  Op *test = build_if(b, build_inside(b, f->box.rank, at, &f->box), 1, &f->type);
  Builder in = builder_at_end(b->arena, test->blocks[0]), out = builder_at_end(b->arena, test->blocks[1]);
  in.loc = out.loc = b->loc;
  Rules none = {{OUTSIDE_NONE, OUTSIDE_NONE, OUTSIDE_NONE}};
  Value *inside = access_cell(p, &in, field, off, &none);
  build_yield(&in, 1, &inside);
  Value *beyond = build_const(&out, f->type, f->outside_value);
  build_yield(&out, 1, &beyond);
  return test->results[0];
}

/* Point.access of the loops. */
static Value *access_at_cell(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const CellUse *c = p->user;
  Rules none = {{OUTSIDE_NONE, OUTSIDE_NONE, OUTSIDE_NONE}};
  if (c->fast) return access_cell(p, b, field, off, &none);
  return has_const_rule(rules) ? access_or_constant(p, b, field, off) : access_cell(p, b, field, off, rules);
}

/* Version 0 of `field` at the point, read only if the point is one of the field's: beyond, another tile may be writing in place what a guarded
 * address led to, and a field without points has no address. Else 0. */
static Value *load_if_inside(const Point *p, Builder *b, int field) {
  const Field *f = &p->m->fields[field];
  const CellUse *c = p->user;
  Op *test = build_if(b, build_inside(b, p->m->grid.rank, p->index, &f->box), 1, &f->type);
  Builder in = builder_at_end(b->arena, test->blocks[0]), out = builder_at_end(b->arena, test->blocks[1]);
  in.loc = out.loc = b->loc;
  build_yield(&in, 1, (Value *[]){build_load(&in, f->type, load_buffer(c->t->lo, field), p->m->grid.rank, p->index, NULL)});
  build_yield(&out, 1, (Value *[]){build_const(&out, f->type, (Const){0})});
  return test->results[0];
}

/* The present value of `field` at the point's own cell. `inside`: the point is known to be one of the field's; else, beyond its region, anything. */
static Value *old_value(Point *p, Builder *b, int field, bool inside) {
  const CellUse *c = p->user;
  int64_t off[MAX_RANK] = {0};
  Rules none = {{OUTSIDE_NONE, OUTSIDE_NONE, OUTSIDE_NONE}};
  bool tested = inside || launch_version(c->t->l, field, c->instance) > 0;
  return tested ? access_cell(p, b, field, off, &none) : load_if_inside(p, b, field);
}

/* The point at `cell` of instance i, whose coordinates are `at` (wrapped in images). */
static Point point_at(const Tile *t, Builder *b, int i, CellUse *use, Value *const *cell, Value *const *at, bool fast) {
  *use = (CellUse){.t = t, .instance = i, .fast = fast};
  Point p = {.m = t->l->m, .access = access_at_cell, .user = use};
  for (int d = 0; d < t->rank; d++) {
    use->cell[d] = cell[d];
    p.index[d] = at[d];
  }
  if (stencils_use_step(1, &t->l->st[i])) p.step = plus(b, build_step(b), t->l->st[i].level - t->l->first_level);
  return p;
}

/* Is target `field` written by this kernel? */
static bool is_written(const Tile *t, int field) { return t->only < 0 || t->only == field; }

/* Stores the new value of `field` by instance i at a cell with coordinates `at`, which are not wrapped. `image`: it may be an image, which is never stored
 * to global memory. */
static void store_value(const Tile *t, Builder *b, int i, int field, Value *v, Value *const *cell, Value *const *at, bool image) {
  int version = launch_version(t->l, field, i) + 1, array = t->array[field][version];
  if (!is_written(t, field)) return;
  if (array >= 0) build_astore(b, array, version, v, t->rank, cell, NULL);
  if (!stores_directly(t, field, i)) return;
  Builder to = *b;
  if (image) {
    Op *test = build_if(b, build_inside(b, t->rank, at, &t->l->m->fields[field].box), 0, NULL);
    to = builder_at_end(b->arena, test->blocks[0]);
    to.loc = b->loc;
  }
  build_store(&to, store_buffer(t->lo, t->l, field), v, t->rank, at, NULL);
}

/* Where a value of `field` that instance i keeps is to be copied to the buffer that is stored to: within the field's region, and a temp field only where it was written in this
 * step. NULL: nowhere. */
static Value *has_value(const Tile *t, Builder *b, int i, int field, Value *const *at) {
  const Module *m = t->l->m;
  if (!m->fields[field].temp) return build_inside(b, t->rank, at, &m->fields[field].box);
  Value *earlier = written_before(m, t->l->first, t->l->given, b, field, at), *here = written_before(m, t->l->st, t->l->st + i, b, field, at);
  return earlier && here ? build2(b, OP_OR, earlier, here) : earlier ? earlier : here;
}

/* Carries the present value of `field`, which instance i leaves as it is at point `p` (of `piece`, NULL: of none), over to where the new values go: not needed only where
 * they go to the memory that it already is in. What nothing reads is 0: a temp field that has no value yet in this step, and what lies beyond
 * the field's region if all of that is written. */
static void keep_value(const Tile *t, Builder *b, int i, int field, const Piece *piece, Point *p, Value *const *cell, Value *const *at) {
  const FieldUse *u = &t->l->use[field];
  const Module *m = t->l->m;
  int version = launch_version(t->l, field, i);
  bool kept = keeps_values(t->l, i, field);
  if (!is_written(t, field)) return;
  if (t->array[field][version + 1] >= 0) {
    bool inside = piece && box_inside(&piece->box, &m->fields[field].box) == 1;
    store_value(t, b, i, field, kept ? old_value(p, b, field, inside) : build_const(b, m->fields[field].type, (Const){.i = 0}), cell, at, true);
    return;
  }
  bool moves = kept && (u->paired || version > 0);
  Value *has = stores_directly(t, field, i) && moves ? has_value(t, b, i, field, at) : NULL;
  if (!has) return;
  Op *test = build_if(b, has, 0, NULL);
  Builder in = builder_at_end(b->arena, test->blocks[0]);
  in.loc = b->loc;
  Point inner = *p;
  inner.nseen = 0;
  inner.seen = NULL;
  store_value(t, &in, i, field, old_value(&inner, &in, field, true), cell, at, false);
}

/* ---------------------------------------------------------------- an instance */

/* The new values of all targets of instance i at a point of `piece`, stored. */
static void build_piece(const Tile *t, Builder *b, int i, const Piece *piece, Value *const *cell, Value *const *at, Value *const *wrapped, bool fast) {
  const Stencil *st = &t->l->st[i];
  CellUse use;
  b->loc = piece->loc;
  Point p = point_at(t, b, i, &use, cell, wrapped, fast);
  Value **v = piece_values(&p, b, piece);
  for (int k = 0; k < st->ntargets; k++) {
    int f = st->targets[k], j = piece_target(piece, f);
    if (j >= 0) store_value(t, b, i, f, v[j], cell, at, !fast);
    else keep_value(t, b, i, f, piece, &p, cell, at);
  }
}

/* The loop nest over the fast box: the main piece, without tests. */
static void build_fast_nest(const Tile *t, Builder b, int i, const Piece *piece, const Region *fast) {
  Value *cell[MAX_RANK], *at[MAX_RANK];
  open_nest(t, &b, fast, t->rank, cell);
  for (int d = 0; d < t->rank; d++) at[d] = coordinate_of(t, &b, cell[d], d);
  build_piece(t, &b, i, piece, cell, at, at, true);
}

/* The code of pieces number n and up at a cell: an if for each, at the end the old values. */
static void build_piece_chain(const Tile *t, Builder b, int i, int n, Value *const *cell, Value *const *at, Value *const *wrapped) {
  const Stencil *st = &t->l->st[i];
  if (n == st->npieces) {
    CellUse use;
    Point p = point_at(t, &b, i, &use, cell, wrapped, false);
    for (int k = 0; k < st->ntargets; k++) keep_value(t, &b, i, st->targets[k], NULL, &p, cell, at);
    return;
  }
  Op *test = build_if(&b, build_inside(&b, t->rank, wrapped, &st->pieces[n].box), 0, NULL);
  Builder in = builder_at_end(b.arena, test->blocks[0]), other = builder_at_end(b.arena, test->blocks[1]);
  in.loc = other.loc = b.loc;
  build_piece(t, &in, i, &st->pieces[n], cell, at, wrapped, false);
  build_piece_chain(t, other, i, n + 1, cell, at, wrapped);
}

/* The value of all targets at a cell by tests, stored. */
static void build_slow_cell(const Tile *t, Builder *b, int i, Value *const *cell) {
  const Launch *l = t->l;
  Value *at[MAX_RANK], *wrapped[MAX_RANK];
  for (int d = 0; d < t->rank; d++) {
    at[d] = coordinate_of(t, b, cell[d], d);
    wrapped[d] = l->wraps[d] ? build_map(b, OP_WRAP, at[d], 0, l->wrap_lo[d], l->wrap_hi[d]) : at[d];
  }
  build_piece_chain(t, *b, i, 0, cell, at, wrapped);
}

/* Is the row of these cells within the fast box in all dimensions but the last? */
static Value *row_is_fast(const Tile *t, Builder *b, const Region *fast, Value *const *cell) {
  Value *yes = build_const(b, TY_BOOL, (Const){.i = 1});
  for (int d = 0; d < t->rank - 1; d++) {
    Value *x = coordinate_of(t, b, cell[d], d);
    yes = build2(b, OP_AND, yes, build2(b, OP_AND, build2(b, OP_GE, x, fast->lo[d]), build2(b, OP_LE, x, fast->hi[d])));
  }
  return yes;
}

/* The loops over all cells of `region` that are not in `fast`: of each row what lies before the fast box and what lies behind it. */
static void build_slow_nest(const Tile *t, Builder b, int i, const Region *region, const Region *fast) {
  Value *cell[MAX_RANK];
  int x = t->rank - 1;
  Value *lo = cell_of(t, &b, region->lo[x], x), *hi = cell_of(t, &b, plus(&b, region->hi[x], 1), x);
  Value *fast_lo = cell_of(t, &b, fast->lo[x], x), *fast_hi = cell_of(t, &b, plus(&b, fast->hi[x], 1), x);
  open_nest(t, &b, region, x, cell);
  Value *in_row = row_is_fast(t, &b, fast, cell);
  Value *first_end = build3(&b, OP_SELECT, in_row, fast_lo, hi), *second_begin = build3(&b, OP_SELECT, in_row, fast_hi, hi);
  Value *part = open_loop(&b, build_int(&b, TY_I32, 0), build_int(&b, TY_I32, 2), 0);
  Value *second = build2(&b, OP_EQ, part, build_int(&b, TY_I32, 1));
  Value *from = build3(&b, OP_SELECT, second, second_begin, lo), *to = build3(&b, OP_SELECT, second, hi, first_end);
  cell[x] = open_loop(&b, from, to, 0);
  build_slow_cell(t, &b, i, cell);
}

/* Does `region` have points that are not in `fast`, which lies inside it? */
static Value *regions_differ(const Tile *t, Builder *b, const Region *region, const Region *fast) {
  Value *differ = build_const(b, TY_BOOL, (Const){.i = 0});
  for (int d = 0; d < t->rank; d++) {
    Value *lo = build2(b, OP_NE, region->lo[d], fast->lo[d]), *hi = build2(b, OP_NE, region->hi[d], fast->hi[d]);
    differ = build2(b, OP_OR, differ, build2(b, OP_OR, lo, hi));
  }
  return differ;
}

/* Instance i on its region. */
static void build_instance(const Tile *t, Builder *b, int i) {
  const Stencil *st = &t->l->st[i];
  const Piece *piece = main_piece(b->arena, st);
  b->loc = piece->loc;
  Region region = instance_region(t, b, i), fast = fast_region(t, b, i, piece, &region);
  build_fast_nest(t, *b, i, piece, &fast);
  Op *rest = build_if(b, regions_differ(t, b, &region, &fast), 0, NULL);
  Builder in = builder_at_end(b->arena, rest->blocks[0]);
  in.loc = b->loc;
  build_slow_nest(t, in, i, &region, &fast);
}

/* ---------------------------------------------------------------- the kernel */

/* Copies the last version of each field that stays in an array to global memory: the output tile's points. */
static void build_write_back(const Tile *t, Builder *b) {
  const Module *m = t->l->m;
  for (int f = 0; f < m->nfields; f++) {
    const FieldUse *u = &t->l->use[f];
    if (!u->stored || u->versions == 0 || t->array[f][u->versions] < 0) continue;
    Region tile = {0};
    for (int d = 0; d < t->rank; d++) {
      tile.lo[d] = plus(b, t->base[d], t->l->hull.lo[d]);
      tile.hi[d] = plus(b, tile.lo[d], t->width[d] - 1);
    }
    Region box = region_of_box(t, b, &m->fields[f].box), out = region_clip(t, b, &tile, &box);
    Builder in = *b;
    Value *cell[MAX_RANK], *at[MAX_RANK];
    open_nest(t, &in, &out, t->rank, cell);
    for (int d = 0; d < t->rank; d++) at[d] = coordinate_of(t, &in, cell[d], d);
    if (partly_written(t->l, f)) {
      Op *test = build_if(&in, has_value_after(t->l, &in, f, at), 0, NULL);
      in = builder_at_end(in.arena, test->blocks[0]);
      in.loc = b->loc;
    }
    Value *v = build_aload(&in, m->fields[f].type, t->array[f][u->versions], u->versions, t->rank, cell, NULL);
    build_store(&in, store_buffer(t->lo, t->l, f), v, t->rank, at, NULL);
  }
}

/* The cells of an array's row that has room for `n`. */
static int32_t row_cells(int32_t n) {
  int32_t cells = (n + ROW_CELLS - 1) / ROW_CELLS * ROW_CELLS;
  return cells % PAGE_CELLS == 0 ? cells + ROW_CELLS : cells;
}

/* Sets the shape of kernel `k` for tiles that compute `block` points (equation 1: they give out fewer), and the coordinates of the tile's cells. */
static void place_tile(Tile *t, Kernel *k, Builder *b, const int32_t *block) {
  const Launch *l = t->l;
  for (int d = 0; d < t->rank; d++) {
    t->width[d] = (int32_t)launch_width(l, d, block[d]);
    t->cells[d] = block[d];
    if (d == t->rank - 1) t->cells[d] = row_cells(block[d]);
    k->threads[d] = 1;
    k->tile[d] = t->width[d];
    k->extent[d] = box_extent(t->lo->out->arena, &l->m->grid, d);
    Value *origin = build2(b, OP_MUL, build_dim(b, OP_BLOCK, d), i64(b, t->width[d]));
    t->base[d] = build2(b, OP_ADD, origin, build_affine(b, l->m, affine_add_const(l->m->grid.lo[d], -l->hull.lo[d])));
  }
}

/* Builds the kernel of launch `l` for target `only` (-1: all), with tiles that compute `block` points, and adds its launch to `seq`. */
static void lower_launch(Lowering *lo, HostSeq *seq, const Launch *l, int only, const char *name, const int32_t *block, int steps) {
  Tile t = {.lo = lo, .l = l, .rank = l->m->grid.rank, .only = only};
  t.kernel = lowering_kernel(lo, name, steps, l->st[0].loc);
  Kernel *k = &lo->out->kernels[t.kernel];
  Builder b = builder_at_end(lo->out->arena, k->body);
  b.loc = k->loc;
  place_tile(&t, k, &b, block);
  make_arrays(&t);
  for (int i = 0; i < l->n; i++) build_instance(&t, &b, i);
  build_write_back(&t, &b);
  host_launch(lo, seq, t.kernel);
}

/* ---------------------------------------------------------------- modules */

/* The init sequence: a kernel for each target of each init, so that one can be left out whose field has data. */
static void lower_loop_inits(Lowering *lo, Launch *const *launches, const int32_t *block) {
  const Module *m = lo->m;
  for (int i = 0; i < m->ninits; i++) {
    const Stencil *st = launches[i]->st;
    for (int k = 0; k < st->ntargets; k++) {
      const char *name = st->ntargets == 1 ? arena_printf(m->arena, "init_%s", st->name)
                                           : arena_printf(m->arena, "init_%s_%s", st->name, m->fields[st->targets[k]].name);
      lower_launch(lo, &lo->out->host.init, launches[i], st->ntargets == 1 ? -1 : st->targets[k], name, block, 0);
    }
    host_swaps(lo, &lo->out->host.init, launches[i]);
  }
}

/* The step sequence of the naive schedule: a launch a stencil. */
static void lower_loop_stencils(Lowering *lo, Launch *const *launches, int n, const int32_t *block) {
  HostSeq *seq = host_seq(lo, 1);
  for (int i = 0; i < n; i++) {
    const char *name = arena_printf(lo->m->arena, "%s_naive_%s", lo->m->name, launches[i]->st->name);
    lower_launch(lo, seq, launches[i], -1, name, block, i == n - 1);
    host_swaps(lo, seq, launches[i]);
  }
}

/* A step sequence of the overlap schedule: the `n` launches at `l`, of which number i has the schedule s[i]. */
static void lower_loop_groups(Lowering *lo, int n, Launch *const *l, const Schedule *s) {
  HostSeq *seq = host_seq(lo, n ? l[0]->steps : 1);
  for (int i = 0; i < n; i++) {
    lower_launch(lo, seq, l[i], -1, group_name(lo, l[i], "overlap", n > 1), s[i].block, i == n - 1 ? l[i]->steps : 0);
    host_swaps(lo, seq, l[i]);
  }
}

/* All launches of a module: those of the inits, those of a step, and those of several steps if there are any, the longest first. */
typedef struct Launches { int32_t ninits, nsteps, ntiles; Launch **all; } Launches;

static Launches all_launches(const Module *m, bool naive) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  int tiles[3], most = naive || n == 0 ? 1 : m->time_tile;
  Launches l = {m->ninits, n, remainder_tiles(m, most, tiles) - 1, NULL};
  Launch **inits = init_launches(m);
  Launch **steps = naive ? naive_launches(m, n, st, &l.nsteps) : group_launches(m, n, repeat_levels(m, n, st, 1, true), &l.nsteps);
  l.all = ARENA_ARRAY(m->arena, Launch *, l.ninits + l.nsteps + l.ntiles + 1);
  for (int i = 0; i < l.ninits + l.nsteps; i++) l.all[i] = i < l.ninits ? inits[i] : steps[i - l.ninits];
  for (int i = 0; i < l.ntiles; i++) {
    const Stencil *tile = repeat_levels(m, n, st, tiles[i], true);
    l.all[l.ninits + l.nsteps + i] = launch_new(m, n * tiles[i], tile, tile, tile + n * tiles[i]);
  }
  return l;
}

Module *pass_lower_loops(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  if (!lowering_ready(c, m, "lower-loops")) return NULL;
  Schedule want = *c->schedule, s;
  if (m->time_tile > 1) want.T = m->time_tile;
  if (!schedule_resolve(c, m, &want, &s)) return NULL;
  if (c->used) *c->used = s;
  if (c->target->simt) {
    diag_error(c->diags, no_loc(), "pass 'lower-loops' makes kernels of one thread and target %s runs blocks of threads; use lower-naive or lower-overlap",
               c->target->name);
    return NULL;
  }
  bool naive = strcmp(s.family, "naive") == 0;
  Launches l = all_launches(m, naive);
  Lowering *lo = lowering_new(c, m, l.ninits + l.nsteps + l.ntiles, l.all);
  lower_loop_inits(lo, l.all, s.block);
  if (naive) lower_loop_stencils(lo, l.all + l.ninits, l.nsteps, s.block);
  for (int i = 0; i < l.ntiles; i++) lower_loop_groups(lo, 1, l.all + l.ninits + l.nsteps + i, &s);
  if (!naive) lower_loop_groups(lo, l.nsteps, l.all + l.ninits, s.groups);
  return lowering_finish(lo);
}
