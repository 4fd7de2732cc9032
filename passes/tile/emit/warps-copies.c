/* warps-copies.c: bulk copies of rows: from global memory to the rings in front of the first warp of a pipeline, and
 * from the rings behind the last warp to global memory. */
#include "passes/tile/emit/lower-warps.h"

/* Bytes of a cell of all fields that are loaded. */
static int cell_bytes(const WarpLevel *e) {
  int bytes = 0;
  for (int n = 0; n < e->nfields; n++)
    if (e->field[n].in >= 0)
      bytes += type_size(e->m->fields[e->field[n].field].type);
  return bytes;
}

/* A group to be copied: `n` columns from column `x` of the field on, rows from row `y` on, to place `slot` of the first
 * rings, column `to` (NULL: 0); all i32. legal: some of the rows may lie outside of the field. */
typedef struct WarpCopy {
  Value *n, *x, *y, *slot, *to;
  bool legal;
} WarpCopy;

/* The row of the grid that is loaded as number `u` of group `c`, of fields whose reads are delayed by `late` rows. */
static Value *row_of(WarpKernel *k, const WarpCopy *c, int u, int late) {
  return warps_grid(k, warps_add(k, c->y, u - late), 0, c->legal);
}

/* Starts the copy of `n` columns from column `x` (i64) on of row number `u` of group `c`, to column `to` (NULL: 0) of
 * the first rings. Fields whose reads are delayed load an earlier row. */
static void copy_rows(WarpKernel *k, const WarpCopy *c, Value *x, Value *n, int u, Value *to) {
  const WarpLevel *e = k->e;
  Value *signal[] = {warps_small(k, 0), c->slot}, *at[] = {NULL, x}, *cells[MAX_RANK];
  for (int f = 0, late = 0; f < e->nfields; f++) {
    if (e->field[f].in < 0)
      continue;
    if (!at[0] || warps_delay(e, f) != late)
      at[0] = row_of(k, c, u, warps_delay(e, f));
    late = warps_delay(e, f);
    warps_end_ring(k, f, 0, c->slot, warps_small(k, u), to ? to : warps_small(k, 0), cells);
    build_bulk(&k->b, OP_BULK_LOAD, 0, (BulkPlace){k->rings[f], 3, cells, NULL},
               (BulkPlace){load_buffer(k->lo, e->field[f].field), 2, at, NULL}, n,
               (BulkPlace){k->full, 2, signal, NULL});
  }
}

/* Starts the copies of `n` columns from column `x` (i64) of the grid on of all rows of the group, to column `to` of the
 * ring. */
static void copy_columns(WarpKernel *k, const WarpCopy *c, Value *x, Value *n, Value *to) {
  for (int u = 0; u < k->w.U; u++)
    copy_rows(k, c, x, n, u, to);
}

/* Prefetches the rows that come k->w.move.prefetch rows after group `c` to the second-level cache: all columns of the
 * copy, from `x` of the grid (i64) on, if all those rows lie in the field. All rows of group `c` do. */
static void fetch_columns(WarpKernel *k, const WarpCopy *c, Value *x) {
  const WarpLevel *e = k->e;
  Builder outer;
  const int64_t behind[MAX_RANK] = {k->w.move.prefetch, 0};
  if (!k->w.move.prefetch || c->legal)
    return;
  Value *last = warps_add(k, c->y, k->w.move.prefetch + k->w.U - 1);
  Value *in = build2(&k->b, OP_LT, last, build_convert(&k->b, TY_I32, k->rows));
  warps_go_in(k, build_if(&k->b, in, 0, NULL), 0, &outer);
  for (int u = 0; u < k->w.U; u++)
    for (int f = 0; f < e->nfields; f++) {
      Value *at[] = {row_of(k, c, u, warps_delay(e, f)), x};
      if (e->field[f].in >= 0)
        build_prefetch(&k->b, (BulkPlace){load_buffer(k->lo, e->field[f].field), 2, at, behind}, c->n);
    }
  k->b = outer;
}

/* How many times `width` columns fit into `left` columns (i64), rounded up. More than once is rare, and takes a
 * division. */
static Value *rounds_of(WarpKernel *k, Value *left, Value *width) {
  Builder *b = &k->b, outer;
  Type type = TY_I64;
  Value *zero = build_int(b, TY_I64, 0), *one = build_int(b, TY_I64, 1);
  Op *op = build_if(b, build2(b, OP_LE, left, width), 1, &type);
  warps_go_in(k, op, 0, &outer);
  Value *any = build2(b, OP_MAX, build2(b, OP_MIN, left, one), zero);
  build_yield(b, 1, &any);
  k->b = builder_at_end(outer.arena, op->blocks[1]);
  Value *many = build2(b, OP_DIV, build2(b, OP_ADD, left, warps_add(k, width, -1)), width);
  build_yield(b, 1, &many);
  k->b = outer;
  return op->results[0];
}

/* Like copy_columns, for all columns of the copy. Columns beyond the field's last are images of those from the first
 * on, repeated as often as needed. */
static void copy_images(WarpKernel *k, const WarpCopy *c) {
  Builder *b = &k->b, outer;
  Value *first = warps_grid(k, warps_small(k, 0), 1, false), *from = warps_grid(k, c->x, 1, true);
  Value *all = build_convert(b, TY_I64, c->n), *zero = build_int(b, TY_I64, 0);
  Value *one = build2(b, OP_MIN, all, build2(b, OP_SUB, k->columns, build2(b, OP_SUB, from, first)));
  copy_columns(k, c, from, build_convert(b, TY_I32, one), NULL);
  Value *width = build2(b, OP_MAX, k->columns, build_int(b, TY_I64, 1)), *left = build2(b, OP_SUB, all, one);
  Op *loop = build_for(b, zero, rounds_of(k, left, width), 1, 0, 0, NULL);
  warps_go_in(k, loop, 0, &outer);
  Value *done = build2(b, OP_ADD, one, build2(b, OP_MUL, loop->blocks[0]->args[0], width));
  Value *more = build2(b, OP_MIN, width, build2(b, OP_SUB, all, done));
  copy_columns(k, c, first, build_convert(b, TY_I32, more), build_convert(b, TY_I32, done));
  k->b = outer;
}

/* Starts the copies of group `c`, all of whose columns are the field's, and prefetches later rows. */
static void copy_own(WarpKernel *k, const WarpCopy *c) {
  Value *x = warps_grid(k, c->x, 1, false);
  copy_columns(k, c, x, c->n, c->to);
  fetch_columns(k, c, x);
}

/* Starts the copies of a group. Nearly all strips have columns of the field alone, which need no images. */
static void copy_group(WarpKernel *k, const WarpCopy *c) {
  Builder outer;
  if (!k->e->wraps[1] || k->most_behind) {
    copy_own(k, c);
    return;
  }
  Value *behind = build_convert(&k->b, TY_I64, build2(&k->b, OP_ADD, c->x, c->n));
  Value *in =
      build2(&k->b, OP_AND, build2(&k->b, OP_GE, c->x, warps_small(k, 0)), build2(&k->b, OP_LE, behind, k->columns));
  Op *inside = build_if(&k->b, in, 0, NULL);
  warps_go_in(k, inside, 0, &outer);
  copy_own(k, c);
  k->b = builder_at_end(outer.arena, inside->blocks[1]);
  copy_images(k, c);
  k->b = outer;
}

/* Are rows y to y + U - 1 (i32) within [first, end)? */
static Value *whole_group(WarpKernel *k, Value *y, Value *first, Value *end) {
  Value *last = warps_add(k, end, -(int64_t)k->w.U);
  return build2(&k->b, OP_AND, build2(&k->b, OP_GE, y, first), build2(&k->b, OP_LE, y, last));
}

/* Are columns beyond the rows' edges images that bulk copies cannot load, because rows are no whole 16 bytes? */
static bool has_ragged_images(const WarpKernel *k) { return k->most_behind && k->e->wraps[1]; }

/* The columns of the current group that bulk copies load to place `slot` of the first rings: all that are loaded, or,
 * where images are copied cell by cell, the whole 16 bytes of the field's own. */
static WarpCopy columns_of(WarpKernel *k, Value *const *load, Value *slot) {
  WarpCopy c = {.n = load[LOAD_COLUMNS], .x = load[LOAD_X], .y = load[LOAD_Y], .slot = slot};
  Builder *b = &k->b;
  Value *zero = warps_small(k, 0);
  if (!has_ragged_images(k))
    return c;
  Value *columns = build_convert(b, TY_I32, k->columns);
  Value *whole = warps_mul(k, build2(b, OP_DIV, columns, warps_small(k, k->w.vector)), k->w.vector);
  Value *end = build2(b, OP_MIN, build2(b, OP_ADD, c.x, c.n), whole);
  c.to = build2(b, OP_MAX, build2(b, OP_SUB, zero, c.x), zero);
  c.x = build2(b, OP_ADD, c.x, c.to);
  c.n = build2(b, OP_MAX, build2(b, OP_SUB, end, c.x), zero);
  return c;
}

/* Each lane copies the cells in column `column` (i32) of the strip, of all rows of group `c`, from the column to which
 * wrapping leads. All cells are loaded before the first is stored. */
static void copy_image(WarpKernel *k, const WarpCopy *c, Value *strip, Value *column) {
  const WarpLevel *e = k->e;
  Value **v = ARENA_ARRAY(k->b.arena, Value *, e->nfields * k->w.U + 1), *cells[MAX_RANK],
        *at[] = {NULL, warps_grid(k, build2(&k->b, OP_ADD, strip, column), 1, true)};
  for (int f = 0; f < e->nfields; f++)
    for (int u = 0; u < k->w.U && e->field[f].in >= 0; u++) {
      const Field *field = &e->m->fields[e->field[f].field];
      at[0] = row_of(k, c, u, warps_delay(e, f));
      v[f * k->w.U + u] = build_load(&k->b, field->type, load_buffer(k->lo, e->field[f].field), 2, at, NULL);
    }
  for (int f = 0; f < e->nfields; f++)
    for (int u = 0; u < k->w.U && e->field[f].in >= 0; u++) {
      warps_end_ring(k, f, 0, c->slot, warps_small(k, u), column, cells);
      build_astore(&k->b, k->rings[f], 0, v[f * k->w.U + u], 3, cells, NULL);
    }
}

/* The lanes copy the images of group `c`, whose strip begins in column load[LOAD_X], as far as they are needed. Nearly
 * all strips have none. Later bulk copies write to the same places. */
static void copy_ragged_images(WarpKernel *k, Value *const *load, const WarpCopy *c) {
  Builder *b = &k->b, outer, around;
  Value *strip = load[LOAD_X], *columns = build_convert(b, TY_I32, k->columns);
  Value *last = build2(b, OP_SUB, warps_add(k, columns, k->w.halo), strip);
  Value *images = build2(b, OP_SUB, build2(b, OP_MIN, last, load[LOAD_COLUMNS]), c->n);
  Value *any = build1(b, OP_UNIFORM, build2(b, OP_GT, images, warps_small(k, 0)));
  warps_go_in(k, build_if(b, any, 0, NULL), 0, &outer);
  Op *loop = build_for(b, k->lane, images, WARP_LANES, 0, 0, NULL);
  warps_go_in(k, loop, 0, &around);
  Value *n = loop->blocks[0]->args[0];
  WarpCopy legal = *c;
  legal.legal = true;
  Value *column = build3(b, OP_SELECT, build2(b, OP_LT, n, c->to), n, build2(b, OP_ADD, n, c->n));
  copy_image(k, &legal, strip, column);
  k->b = around;
  build_bare(b, OP_FENCE_ASYNC);
  build_bare(b, OP_BARRIER_WARP);
  k->b = outer;
}

/* Starts the copies of the current group to place `slot` of the first rings. Nearly all groups have rows of the field
 * alone, which are not tested one by one. */
static void start_copies(WarpKernel *k, Value *const *load, Value *slot) {
  Builder outer, around;
  WarpCopy c = columns_of(k, load, slot);
  Value *bytes = build2(&k->b, OP_MUL, c.n, warps_small(k, k->w.U * cell_bytes(k->e)));
  warps_signal(k, OP_SIGNAL_EXPECT, k->full, bytes, warps_small(k, 0), slot);
  if (has_ragged_images(k))
    warps_go_in(k, build_if(&k->b, build2(&k->b, OP_GT, c.n, warps_small(k, 0)), 0, NULL), 0, &around);
  Value *rows = build_convert(&k->b, TY_I32, k->rows);
  Op *op = build_if(&k->b, whole_group(k, c.y, warps_small(k, k->e->delay), rows), 0, NULL);
  for (int arm = 0; arm < 2; arm++) {
    warps_go_in(k, op, arm, &outer);
    c.legal = arm == 1;
    copy_group(k, &c);
    k->b = outer;
  }
  if (has_ragged_images(k))
    k->b = around;
}

void warps_bring_group(WarpKernel *k, Value *any, Value *const *load, Value *slot) {
  Builder outer, around;
  if (has_ragged_images(k)) {
    if (any)
      warps_go_in(k, build_if(&k->b, build1(&k->b, OP_UNIFORM, any), 0, NULL), 0, &around);
    WarpCopy c = columns_of(k, load, slot);
    copy_ragged_images(k, load, &c);
    warps_go_alone(k, &outer);
  } else if (any) {
    Value *one = build_op(&k->b, OP_ELECT, TY_BOOL, 0, NULL)->results[0];
    warps_go_in(k, build_if(&k->b, build2(&k->b, OP_AND, any, one), 0, NULL), 0, &outer);
  } else {
    warps_go_alone(k, &outer);
  }
  start_copies(k, load, slot);
  k->b = has_ragged_images(k) && any ? around : outer;
}

/* If the current segment has no more groups, advances `load` to the next of the block's segments, if there is one. */
static void next_segment(WarpKernel *k, Value **load, Value *to) {
  Builder outer;
  Type types[LOADS] = {TY_I32, TY_I32, TY_I32, TY_I32, TY_I32};
  Value *none = build2(&k->b, OP_LE, load[LOAD_GROUPS], warps_small(k, 0));
  Value *more = build2(&k->b, OP_LT, load[LOAD_STRIP], to);
  Op *op = build_if(&k->b, build2(&k->b, OP_AND, none, more), LOADS, types);
  warps_go_in(k, op, 0, &outer);
  WarpSegment s = warps_segment(k, load[LOAD_STRIP]);
  Value *next[LOADS] = {warps_add(k, load[LOAD_STRIP], 1), s.groups, s.y, s.x, s.columns};
  build_yield(&k->b, LOADS, next);
  k->b = builder_at_end(outer.arena, op->blocks[1]);
  build_yield(&k->b, LOADS, load);
  k->b = outer;
  for (int i = 0; i < LOADS; i++)
    load[i] = op->results[i];
}

/* Starts the copies of the next group of the block's segments, if there is one, and advances `load`. */
static void load_next(WarpKernel *k, Value **load, Value *to, Value *slot) {
  warps_bring_group(k, build2(&k->b, OP_GT, load[LOAD_GROUPS], warps_small(k, 0)), load, slot);
  load[LOAD_GROUPS] = warps_add(k, load[LOAD_GROUPS], -1);
  load[LOAD_Y] = warps_add(k, load[LOAD_Y], k->w.U);
  next_segment(k, load, to);
}

/* Like warps_load_if_first, where the numbers in `load` are held in shared memory; `load` has their first values. */
static void load_held(WarpKernel *k, Value *const *load, Value *to, Value *slot) {
  Builder outer;
  Value *own[LOADS];
  warps_go_in(k, build_if(&k->b, k->is_first, 0, NULL), 0, &outer);
  for (int i = 0; i < LOADS && !slot; i++)
    own[i] = load[i];
  if (slot) {
    warps_take_held(k, HELD_LOADS, LOADS, own);
    load_next(k, own, to, slot);
  } else {
    next_segment(k, own, to);
  }
  warps_hold(k, HELD_LOADS, LOADS, own);
  k->b = outer;
}

void warps_load_if_first(WarpKernel *k, Value **load, Value *to, Value *slot) {
  if (k->held >= 0) {
    load_held(k, load, to, slot);
    return;
  }
  Type types[LOADS] = {TY_I32, TY_I32, TY_I32, TY_I32, TY_I32};
  Builder outer;
  Op *op = build_if(&k->b, k->is_first, LOADS, types);
  warps_go_in(k, op, 1, &outer);
  build_yield(&k->b, LOADS, load);
  k->b = builder_at_end(outer.arena, op->blocks[0]);
  if (slot)
    load_next(k, load, to, slot);
  else
    next_segment(k, load, to);
  build_yield(&k->b, LOADS, load);
  k->b = outer;
  for (int i = 0; i < LOADS; i++)
    load[i] = op->results[i];
}

/* Starts the copies of row `row` (i32), number `u` of the group at place `slot` of the last ring: `n` columns from
 * column `x` of the fields on. */
static void store_row(WarpKernel *k, const WarpSegment *s, Value *row, Value *slot, int u, Value *x, Value *n) {
  Value *at[] = {warps_grid(k, row, 0, false), x}, *cells[MAX_RANK];
  for (int f = 0; f < k->e->nfields; f++)
    if (launch_use(k->l, k->e->field[f].field)->stored) {
      warps_end_ring(k, f, k->w.W, slot, warps_small(k, u), s->from, cells);
      build_bulk(&k->b, OP_BULK_STORE, 0, (BulkPlace){k->rings[f], 3, cells, NULL},
                 (BulkPlace){store_buffer(k->lo, k->l, k->e->field[f].field), 2, at, NULL}, n, (BulkPlace){0});
    }
}

void warps_store_rows(WarpKernel *k, const WarpSegment *s, Value *y, Value *slot, int left) {
  Builder outer, other;
  Value *n = build2(&k->b, OP_SUB, s->to, s->from);
  Value *x = warps_grid(k, build2(&k->b, OP_ADD, s->x, s->from), 1, false);
  Op *whole = build_if(&k->b, whole_group(k, y, s->first, s->end), 0, NULL);
  warps_go_in(k, whole, 0, &outer);
  for (int u = 0; u < k->w.U; u++)
    store_row(k, s, warps_add(k, y, u), slot, u, x, n);
  k->b = builder_at_end(outer.arena, whole->blocks[1]);
  for (int u = 0; u < k->w.U; u++) {
    Value *row = warps_add(k, y, u);
    Value *in = build2(&k->b, OP_AND, build2(&k->b, OP_GE, row, s->first), build2(&k->b, OP_LT, row, s->end));
    warps_go_in(k, build_if(&k->b, in, 0, NULL), 0, &other);
    store_row(k, s, row, slot, u, x, n);
    k->b = other;
  }
  k->b = outer;
  build_bare(&k->b, OP_BULK_COMMIT);
  build_op(&k->b, OP_BULK_WAIT, TY_NONE, 0, NULL)->count = left;
}
