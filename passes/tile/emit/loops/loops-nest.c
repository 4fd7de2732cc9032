/* loops-nest.c: the loops over a region of a tile. */
#include "passes/tile/emit/loops/loops.h"

Value *open_loop(Builder *b, Value *lo, Value *hi, int64_t stride, int flags) {
  Op *loop = build_for(b, lo, hi, stride, flags, 0, NULL);
  Loc loc = b->loc;
  *b = builder_at_end(b->arena, loop->blocks[0]);
  b->loc = loc;
  return loop->blocks[0]->args[0];
}

/* The cells of the first `n` dimensions of `r`: from lo to before hi. */
static void region_cells(const LoopTile *t, Builder *b, const Region *r, int n, Value **lo, Value **hi) {
  for (int d = 0; d < n; d++) {
    lo[d] = cell_of(t, b, r->lo[d], d);
    hi[d] = cell_of(t, b, plus_i64(b, r->hi[d], 1), d);
  }
}

/* Opens the loops over the cells from lo to before hi of the first `n` dimensions (the last of all dimensions with
 * FOR_PARALLEL). */
static void open_nest(const LoopTile *t, Builder *b, Value *const *lo, Value *const *hi, int n, Value **cell) {
  for (int d = 0; d < n; d++)
    cell[d] = open_loop(b, lo[d], hi[d], 1, d == t->rank - 1 ? FOR_PARALLEL : 0);
}

/* Opens a loop over the parts in which cells *lo to before *hi of the last dimension are computed, and sets *lo and *hi
 * to the cells of one part. A part begins and ends at multiples of whole vectors, so that arrays, and rows of whole
 * vectors in global memory, are accessed at vector boundaries. Where cells are left at the front or at the end, the
 * first or the last full vector is one more part. Some cells are computed twice, which does no harm: an instance does
 * not read what it writes. Too few cells for a vector are one part. */
static void open_parts(Builder *b, Value **lo, Value **hi) {
  Value *vector = build_int(b, TY_I32, ROW_CELLS), *few = build2(b, OP_LT, build2(b, OP_SUB, *hi, *lo), vector);
  Value *up = build2(b, OP_ADD, *lo, build_int(b, TY_I32, ROW_CELLS - 1)),
        *first = build2(b, OP_SUB, up, build2(b, OP_REM, up, vector));
  Value *last = build2(b, OP_SUB, *hi, build2(b, OP_REM, *hi, vector)), *behind = build2(b, OP_SUB, *hi, vector);
  Value *head = build3(b, OP_SELECT, build2(b, OP_GT, first, *lo), build2(b, OP_ADD, *lo, vector), *lo);
  Value *tail = build3(b, OP_SELECT, build2(b, OP_LT, last, *hi), *hi, behind);
  Value *ends[] = {build3(b, OP_SELECT, few, *hi, head), build3(b, OP_SELECT, few, first, last),
                   build3(b, OP_SELECT, few, behind, tail)};
  Value *part = open_loop(b, build_int(b, TY_I32, 0), build_int(b, TY_I32, 3), 1, 0);
  Value *is_head = build2(b, OP_EQ, part, build_int(b, TY_I32, 0)),
        *is_middle = build2(b, OP_EQ, part, build_int(b, TY_I32, 1));
  *lo = build3(b, OP_SELECT, is_head, *lo, build3(b, OP_SELECT, is_middle, first, behind));
  *hi = build3(b, OP_SELECT, is_head, ends[0], build3(b, OP_SELECT, is_middle, ends[1], ends[2]));
}

/* The innermost loop of the fast box, over cells from lo to before hi of the last dimension, on `n` lines from
 * cell[rank - 2] on. */
static void build_fast_lines(const LoopTile *t, Builder b, int i, const Piece *piece, int n, Value **cell, Value *lo,
                             Value *hi) {
  Value **lines = ARENA_ARRAY(b.arena, Value *, n);
  for (int q = 0; q < n && t->rank > 1; q++)
    lines[q] = q ? build2(&b, OP_ADD, cell[t->rank - 2], build_int(&b, TY_I32, q)) : cell[t->rank - 2];
  build_places(t, &b, i, piece, t->rank == 2 ? lines : cell, t->rank == 2 ? n : 1);
  if (t->streamed)
    open_parts(&b, &lo, &hi);
  cell[t->rank - 1] = open_loop(&b, lo, hi, 1, FOR_PARALLEL);
  build_fast_cells(t, &b, i, piece, n, cell, lines);
}

/* Does an instance read global memory? */
typedef struct Marks {
  const LoopTile *t;
  int instance;
  bool reads;
} Marks;

/* AccessFn: notes in the Marks `user` whether the instance reads global memory. */
static void mark_memory(void *user, const Piece *piece, int field, const int64_t *off) {
  Marks *m = user;
  (void)piece, (void)off;
  m->reads |= launch_reads(m->t->l, field, m->instance).version == 0;
}

/* How many lines of `piece` instance `i` computes together. It is one if the piece is thinner than the main piece; and
 * in rank 3 if the instance is bound by global memory: lines are consecutive there, and processors prefetch what is
 * read in order. */
static int lines_of(const LoopTile *t, int i, const Piece *piece) {
  const Stencil *st = &t->l->st[i];
  Marks m = {t, i, false};
  if (free_dimensions(t->l->m->arena, &piece->box) <
      free_dimensions(t->l->m->arena, &main_piece(t->l->m->arena, st)->box))
    return 1;
  stencil_accesses(st, mark_memory, &m);
  for (int k = 0; k < st->ntargets; k++)
    m.reads |= stores_directly(t, st->targets[k], i);
  return t->rank == 3 && m.reads ? 1 : t->lines;
}

/* The loop nest over the fast box: the main piece, without tests. As many lines are computed together as the tile says;
 * the lines that remain are computed one by one. */
static void build_fast_nest(const LoopTile *t, Builder b, int i, const Piece *piece, const Region *fast) {
  Value *cell[MAX_RANK], *lo[MAX_RANK], *hi[MAX_RANK];
  int x = t->rank - 1, y = x - 1;
  region_cells(t, &b, fast, t->rank, lo, hi);
  open_nest(t, &b, lo, hi, y, cell);
  Value *from = x ? lo[y] : NULL;
  int lines = lines_of(t, i, piece);
  if (lines > 1) {
    Value *n = build_int(&b, TY_I32, lines);
    from = build2(&b, OP_ADD, lo[y], build2(&b, OP_MUL, build2(&b, OP_DIV, build2(&b, OP_SUB, hi[y], lo[y]), n), n));
    Builder in = b;
    cell[y] = open_loop(&in, lo[y], from, lines, 0);
    build_fast_lines(t, in, i, piece, lines, cell, lo[x], hi[x]);
  }
  if (x)
    cell[y] = open_loop(&b, from, hi[y], 1, 0);
  build_fast_lines(t, b, i, piece, 1, cell, lo[x], hi[x]);
}

/* Is the row of these cells within the fast box in all dimensions but the last? */
static Value *row_is_fast(const LoopTile *t, Builder *b, const Region *fast, Value *const *cell) {
  Value *yes = build_const(b, TY_BOOL, (Const){.i = 1});
  for (int d = 0; d < t->rank - 1; d++) {
    Value *x = coordinate_of(t, b, cell[d], d);
    yes = build2(b, OP_AND, yes, build2(b, OP_AND, build2(b, OP_GE, x, fast->lo[d]), build2(b, OP_LE, x, fast->hi[d])));
  }
  return yes;
}

/* The rows of a region around a fast box, as cells of the last dimension: from lo to before hi; those of the box from
 * fast_lo to before fast_hi. in_row: does the current row have cells of the fast box? */
typedef struct Rows {
  Value *lo, *hi, *fast_lo, *fast_hi, *in_row;
} Rows;

/* Opens the loops over the rows of `region`. */
static Rows open_rows(const LoopTile *t, Builder *b, const Region *region, const Region *fast, Value **cell) {
  Value *los[MAX_RANK], *his[MAX_RANK];
  int x = t->rank - 1;
  Rows r = {.lo = cell_of(t, b, region->lo[x], x), .fast_lo = cell_of(t, b, fast->lo[x], x)};
  r.hi = cell_of(t, b, plus_i64(b, region->hi[x], 1), x);
  r.fast_hi = cell_of(t, b, plus_i64(b, fast->hi[x], 1), x);
  region_cells(t, b, region, x, los, his);
  open_nest(t, b, los, his, x, cell);
  r.in_row = row_is_fast(t, b, fast, cell);
  return r;
}

/* Opens the loops over the cells of a row before the fast box, and over those after it; the last loop has `flags`. */
static void open_row_ends(const LoopTile *t, Builder *b, const Rows *r, int flags, Value **cell) {
  Value *first_end = build3(b, OP_SELECT, r->in_row, r->fast_lo, r->hi),
        *second_begin = build3(b, OP_SELECT, r->in_row, r->fast_hi, r->hi);
  Value *part = open_loop(b, build_int(b, TY_I32, 0), build_int(b, TY_I32, 2), 1, 0);
  Value *second = build2(b, OP_EQ, part, build_int(b, TY_I32, 1));
  Value *from = build3(b, OP_SELECT, second, second_begin, r->lo), *to = build3(b, OP_SELECT, second, r->hi, first_end);
  cell[t->rank - 1] = open_loop(b, from, to, 1, flags);
}

/* Opens the loops over all cells of `region` that are not in `fast`; the last loop has `flags`. */
static void open_rest(const LoopTile *t, Builder *b, const Region *region, const Region *fast, int flags,
                      Value **cell) {
  Rows r = open_rows(t, b, region, fast, cell);
  open_row_ends(t, b, &r, flags, cell);
}

/* Does `region` have points that are not in `fast`, which lies inside it? */
static Value *regions_differ(const LoopTile *t, Builder *b, const Region *region, const Region *fast) {
  Value *differ = build_const(b, TY_BOOL, (Const){.i = 0});
  for (int d = 0; d < t->rank; d++) {
    Value *lo = build2(b, OP_NE, region->lo[d], fast->lo[d]), *hi = build2(b, OP_NE, region->hi[d], fast->hi[d]);
    differ = build2(b, OP_OR, differ, build2(b, OP_OR, lo, hi));
  }
  return differ;
}

/* Opens an `if` at `b`, which then builds inside it: does `region` have points that are not in `fast`? */
static void open_if_differ(const LoopTile *t, Builder *b, const Region *region, const Region *fast) {
  Op *rest = build_if(b, regions_differ(t, b, region, fast), 0, NULL);
  Loc loc = b->loc;
  *b = builder_at_end(b->arena, rest->blocks[0]);
  b->loc = loc;
}

/* The cells of all rows of array `a`, as coordinates; in dimension 0 the numbers of its rows count as cells. */
static Region array_region(const LoopTile *t, Builder *b, const Array *a) {
  Region r = {0};
  for (int d = 0; d < t->rank; d++) {
    r.lo[d] = t->base[d];
    r.hi[d] = plus_i64(b, t->base[d], (d ? t->cells[d] - (d == t->rank - 1 ? t->streamed->pad : 0) : a->shape[0]) - 1);
  }
  return r;
}

/* Stores the constant of `field` to the cells `region` of the array of its version `v`. */
static void fill_region(const LoopTile *t, Builder b, int field, int v, const Region *region) {
  Value *cell[MAX_RANK], *lo[MAX_RANK], *hi[MAX_RANK];
  region_cells(t, &b, region, t->rank, lo, hi);
  open_nest(t, &b, lo, hi, t->rank, cell);
  build_constant_cell(t, &b, field, v, cell);
}

/* Stores the constant, in all rows, to those cells beside the grid that are read; `all`: the cells of the array. */
static void fill_sides(const LoopTile *t, Builder b, int field, int v, const Region *all) {
  const FieldUse *u = launch_use(t->l, field);
  Value *cell[MAX_RANK];
  Region box = region_of_box(t, &b, &t->covers), read = *all;
  box.lo[0] = all->lo[0];
  box.hi[0] = all->hi[0];
  for (int d = 1; d < t->rank; d++) {
    read.lo[d] = build2(&b, OP_MAX, all->lo[d], plus_i64(&b, box.lo[d], -u->reach_lo[d]));
    read.hi[d] = build2(&b, OP_MIN, all->hi[d], plus_i64(&b, box.hi[d], u->reach_hi[d]));
  }
  Region grid = region_clip(t, &b, &read, &box);
  open_if_differ(t, &b, &read, &grid);
  open_rest(t, &b, &read, &grid, FOR_PARALLEL, cell);
  build_constant_cell(t, &b, field, v, cell);
}

void build_constant_cells(const LoopTile *t, const Builder *b) {
  const Module *m = t->l->m;
  for (int f = 0; f < m->nfields; f++)
    for (int v = 1; v <= launch_use(t->l, f)->versions; v++) {
      bool beside = false;
      Builder in = *b;
      for (int d = 1; d < t->rank; d++)
        beside = beside || has_constant_cells(t, f, v, d);
      if (!beside && !has_constant_cells(t, f, v, 0))
        continue;
      Region all = array_region(t, &in, &t->lo->out->kernels[t->kernel].arrays[t->array[f][v]]);
      if (beside)
        fill_sides(t, in, f, v, &all);
      if (!has_constant_cells(t, f, v, 0))
        continue;
      Value *before = plus_i64(&in, t->base[0], -launch_use(t->l, f)->reach_lo[0]),
            *first = build_affine(&in, m, t->covers.lo[0]);
      fill_region(t, build_then(&in, build2(&in, OP_LT, before, first)), f, v, &all);
    }
}

void build_constant_rows(const LoopTile *t, const Builder *b, int i) {
  const Stencil *st = &t->l->st[i];
  for (int k = 0; k < st->ntargets; k++) {
    int f = st->targets[k], v = launch_version(t->l, f, i) + 1;
    if (!has_constant_cells(t, f, v, 0))
      continue;
    Builder in = *b;
    Value *last = build_affine(&in, t->l->m, t->covers.hi[0]);
    Region rows = array_region(t, &in, &t->lo->out->kernels[t->kernel].arrays[t->array[f][v]]);
    rows.lo[0] = plus_i64(&in, last, 1);
    rows.hi[0] = plus_i64(&in, last, launch_use(t->l, f)->reach_hi[0]);
    region_rows(t, &in, t->streamed->lag[i], &rows);
    fill_region(t, in, f, v, &rows);
  }
}

/* Must instance `i` read all values of a point before it writes them? It must if some of its halo cells are images, or
 * if a field of which it keeps values is stored over an older level that its pieces read. */
static bool reads_points_first(const LoopTile *t, int i) {
  const Stencil *st = &t->l->st[i];
  bool first = false;
  for (int d = 0; d < t->rank; d++)
    first = first || t->l->wraps[d];
  for (int k = 0; k < st->ntargets; k++)
    first = first || (launch_use(t->l, st->targets[k])->into >= 0 && carries_over(t, i, st->targets[k]));
  return first;
}

/* Builds instance `i` whose fields wrap around or whose target is copied: first the fast box of the main piece, then
 * all other points one by one, with tests, also of the piece in which a point lies. */
static void build_by_points(const LoopTile *t, Builder *b, int i) {
  const Piece *piece = main_piece(b->arena, &t->l->st[i]);
  Value *cell[MAX_RANK];
  Region region = instance_region(t, b, i), fast = fast_region(t, b, i, piece, &region);
  build_fast_nest(t, *b, i, piece, &fast);
  Builder in = *b;
  open_if_differ(t, &in, &region, &fast);
  open_rest(t, &in, &region, &fast, 0, cell);
  build_slow_cell(t, &in, i, cell);
}

/* Copies the values that instance `i` keeps of its targets in `region`, except in `fast`, whose code does it. The cells
 * of pieces are computed after that. */
static void build_kept(const LoopTile *t, const Builder *b, int i, const Region *region, const Region *fast) {
  const Stencil *st = &t->l->st[i];
  Value *cell[MAX_RANK];
  for (int k = 0; k < st->ntargets; k++) {
    int f = st->targets[k];
    if (!carries_over(t, i, f))
      continue;
    Builder in = *b;
    Region box = region_of_box(t, &in, &t->l->m->fields[f].box), own = region_clip(t, &in, region, &box),
           done = region_clip(t, &in, &own, fast);
    open_if_differ(t, &in, &own, &done);
    open_rest(t, &in, &own, &done, FOR_PARALLEL, cell);
    build_kept_cell(t, &in, i, f, cell);
  }
}

/* Flags of loops with tests over the rest of a piece, where vectors pay: few cells of a row, a vector or two, computed
 * under a mask. */
enum { BY_TESTS = FOR_PARALLEL | FOR_MASKED };

/* Builds `piece` of instance i in `region`, row by row: the part of the row in the fast box, and then its two ends,
 * whose lines are in the cache. */
static void build_piece_rows(const LoopTile *t, Builder b, int i, const Piece *piece, const Region *region,
                             const Region *fast) {
  Value *cell[MAX_RANK];
  Rows r = open_rows(t, &b, region, fast, cell);
  build_fast_lines(t, b, i, piece, 1, cell, r.fast_lo, build3(&b, OP_SELECT, r.in_row, r.fast_hi, r.fast_lo));
  open_row_ends(t, &b, &r, BY_TESTS, cell);
  build_slow_piece(t, &b, i, piece, cell);
}

/* Builds `piece` of instance i in `region`: the fast box without any test, the rest of the piece with tests. */
static void build_piece_nests(const LoopTile *t, Builder *b, int i, const Piece *piece, const Region *region,
                              const Region *fast) {
  Value *cell[MAX_RANK];
  bool masked = piece_pays_masked(t, i, piece);
  if (masked && t->rank > 1 && !t->streamed && lines_of(t, i, piece) == 1) {
    build_piece_rows(t, *b, i, piece, region, fast);
    return;
  }
  build_fast_nest(t, *b, i, piece, fast);
  if (!piece_has_rules(t, i, piece))
    return;
  Builder in = *b;
  open_if_differ(t, &in, region, fast);
  open_rest(t, &in, region, fast, masked ? BY_TESTS : 0, cell);
  build_slow_piece(t, &in, i, piece, cell);
}

/* The part of `region` in the box of `piece`. */
static Region piece_region(const LoopTile *t, Builder *b, const Piece *piece, const Region *region) {
  Region box = region_of_box(t, b, &piece->box);
  return region_clip(t, b, region, &box);
}

void build_instance(const LoopTile *t, Builder *b, int i) {
  const Stencil *st = &t->l->st[i];
  const Piece *first = main_piece(b->arena, st);
  b->loc = first->loc;
  if (reads_points_first(t, i)) {
    build_by_points(t, b, i);
    return;
  }
  Region region = instance_region(t, b, i), own = piece_region(t, b, first, &region),
         fast = fast_region(t, b, i, first, &own);
  build_kept(t, b, i, &region, &fast);
  build_piece_nests(t, b, i, first, &own, &fast);
  for (int k = 0; k < st->npieces; k++) {
    const Piece *piece = &st->pieces[k];
    if (piece == first)
      continue;
    b->loc = piece->loc;
    own = piece_region(t, b, piece, &region);
    fast = fast_region(t, b, i, piece, &own);
    build_piece_nests(t, b, i, piece, &own, &fast);
  }
}

void build_copy_back(const LoopTile *t, Builder *b) {
  const Stencil *st = t->l->st;
  Region region = instance_region(t, b, 0);
  for (int k = 0; k < st->npieces; k++) {
    const Piece *piece = &st->pieces[k];
    Region own = piece_region(t, b, piece, &region);
    Value *cell[MAX_RANK], *at[MAX_RANK], *lo[MAX_RANK], *hi[MAX_RANK];
    Builder in = *b;
    region_cells(t, &in, &own, t->rank, lo, hi);
    open_nest(t, &in, lo, hi, t->rank, cell);
    for (int d = 0; d < t->rank; d++)
      at[d] = coordinate_of(t, &in, cell[d], d);
    for (int j = 0; j < piece->ntargets; j++) {
      int f = piece->targets[j];
      if (!launch_use(t->l, f)->back)
        continue;
      Value *v = build_load(&in, t->l->m->fields[f].type, store_buffer(t->lo, t->l, f), t->rank, at, NULL);
      build_store(&in, load_buffer(t->lo, f), v, t->rank, at, NULL);
    }
  }
}

/* The lag of the instance that makes version `v` of `field`. */
static int32_t version_lag(const LoopTile *t, int field, int v) {
  int i = 0;
  while (launch_version(t->l, field, i + 1) < v)
    i++;
  return t->streamed->lag[i];
}

void build_write_back(const LoopTile *t, Builder *b) {
  const Module *m = t->l->m;
  for (int f = 0; f < m->nfields; f++) {
    const FieldUse *u = launch_use(t->l, f);
    if (!u->stored || u->versions == 0 || t->array[f][u->versions] < 0)
      continue;
    Region tile = tile_region(t, b), box = region_of_box(t, b, &m->fields[f].box);
    if (t->streamed)
      region_rows(t, b, version_lag(t, f, u->versions), &tile);
    Region out = region_clip(t, b, &tile, &box);
    Builder in = *b;
    Value *cell[MAX_RANK], *lo[MAX_RANK], *hi[MAX_RANK];
    region_cells(t, &in, &out, t->rank, lo, hi);
    open_nest(t, &in, lo, hi, t->rank, cell);
    build_copy_out(t, &in, f, cell);
  }
}
