/* warps-copies.c: the rows that the first warp of a pipeline has come from global memory, and those that the last one
 * has go there, by bulk copies. */
#include "passes/lower/warps.h"

/* Bytes of a cell of all fields that come in. */
static int cell_bytes(const WarpLevel *e) {
  int bytes = 0;
  for (int n = 0; n < e->nfields; n++)
    if (e->field[n].in >= 0)
      bytes += type_size(e->m->fields[e->field[n].field].type);
  return bytes;
}

/* A group to be copied: `n` columns from column `x` of the field on (i32), the rows from row `y` on (i32), to place
 * `slot` of the first rings; legal: some of the rows may be none of the field's. */
typedef struct WarpCopy {
  Value *n, *x, *y, *slot;
  bool legal;
} WarpCopy;

/* The row of the grid that comes as number `u` of group `c` of fields that are taken `late` rows late. */
static Value *row_of(WarpKernel *k, const WarpCopy *c, int u, int late) {
  return warps_grid(k, warps_add(k, c->y, u - late), 0, c->legal);
}

/* Begins the copy of `n` columns from `x` on (i64) of row number `u` of group `c`, to column `to` (NULL: 0) of the
 * first rings; fields that are taken late have a row before it. */
static void copy_rows(WarpKernel *k, const WarpCopy *c, Value *x, Value *n, int u, Value *to) {
  const WarpLevel *e = k->e;
  Value *signal[] = {warps_small(k, 0), c->slot}, *at[] = {NULL, x}, *cells[MAX_RANK];
  for (int f = 0, late = 0; f < e->nfields; f++) {
    if (e->field[f].in < 0)
      continue;
    if (!at[0] || warps_late(e, f) != late)
      at[0] = row_of(k, c, u, warps_late(e, f));
    late = warps_late(e, f);
    warps_end_ring(k, f, 0, c->slot, warps_small(k, u), to ? to : warps_small(k, 0), cells);
    build_bulk(&k->b, OP_BULK_LOAD, 0, (BulkPlace){k->rings[f], 3, cells, NULL},
               (BulkPlace){load_buffer(k->lo, e->field[f].field), 2, at, NULL}, n,
               (BulkPlace){k->full, 2, signal, NULL});
  }
}

/* Begins the copies of `n` columns from column `x` of the grid on (i64) of all its rows, to column `to` of the ring. */
static void copy_columns(WarpKernel *k, const WarpCopy *c, Value *x, Value *n, Value *to) {
  for (int u = 0; u < k->w.U; u++)
    copy_rows(k, c, x, n, u, to);
}

/* Asks the second-level cache for the rows that are k->w.early behind group `c`, which has rows of the field alone: all
 * columns of the copy from `x` of the grid on (i64), where all those rows are the field's. */
static void fetch_columns(WarpKernel *k, const WarpCopy *c, Value *x) {
  const WarpLevel *e = k->e;
  Builder outer;
  const int64_t behind[MAX_RANK] = {k->w.early, 0};
  if (!k->w.early || c->legal)
    return;
  Value *last = warps_add(k, c->y, k->w.early + k->w.U - 1);
  Value *in = build2(&k->b, OP_LT, last, build_convert(&k->b, TY_I32, k->rows));
  warps_go_in(k, build_if(&k->b, in, 0, NULL), 0, &outer);
  for (int u = 0; u < k->w.U; u++)
    for (int f = 0; f < e->nfields; f++) {
      Value *at[] = {row_of(k, c, u, warps_late(e, f)), x};
      if (e->field[f].in >= 0)
        build_prefetch(&k->b, (BulkPlace){load_buffer(k->lo, e->field[f].field), 2, at, behind}, c->n);
    }
  k->b = outer;
}

/* How many times `width` columns, or what is left of them, are in `left` columns (i64). More than once is seldom, and
 * takes a division. */
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

/* The same as copy_columns for all columns of the copy, those beyond the field's last being images of those from the
 * first on, and so often again. */
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

/* Begins the copies of group `c`, whose columns are the field's, and asks for what is loaded later. */
static void copy_own(WarpKernel *k, const WarpCopy *c) {
  Value *x = warps_grid(k, c->x, 1, false);
  copy_columns(k, c, x, c->n, NULL);
  fetch_columns(k, c, x);
}

/* Begins the copies of a group. Nearly all strips have columns of the field alone, which take no images. */
static void copy_group(WarpKernel *k, const WarpCopy *c) {
  Builder outer;
  if (!k->e->wraps[1]) {
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

void warps_start_copies(WarpKernel *k, Value *const *load, Value *slot) {
  Builder outer;
  Value *bytes = build2(&k->b, OP_MUL, load[LOAD_COLUMNS], warps_small(k, k->w.U * cell_bytes(k->e)));
  warps_signal(k, OP_SIGNAL_EXPECT, k->full, bytes, warps_small(k, 0), slot);
  Value *rows = build_convert(&k->b, TY_I32, k->rows);
  Op *op = build_if(&k->b, whole_group(k, load[LOAD_Y], warps_small(k, k->e->late), rows), 0, NULL);
  for (int arm = 0; arm < 2; arm++) {
    warps_go_in(k, op, arm, &outer);
    copy_group(k, &(WarpCopy){load[LOAD_COLUMNS], load[LOAD_X], load[LOAD_Y], slot, arm == 1});
    k->b = outer;
  }
}

/* Goes to the next of the block's segments, if there is one and the one at hand has no more groups; `load` then is
 * where that leads. */
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

/* Begins the copies of the next group of the block's segments, if there is one; `load` then is where that leads. */
static void load_next(WarpKernel *k, Value **load, Value *to, Value *slot) {
  Builder outer;
  Value *one = build_op(&k->b, OP_ELECT, TY_BOOL, 0, NULL)->results[0];
  Value *any = build2(&k->b, OP_GT, load[LOAD_GROUPS], warps_small(k, 0));
  warps_go_in(k, build_if(&k->b, build2(&k->b, OP_AND, any, one), 0, NULL), 0, &outer);
  warps_start_copies(k, load, slot);
  k->b = outer;
  load[LOAD_GROUPS] = warps_add(k, load[LOAD_GROUPS], -1);
  load[LOAD_Y] = warps_add(k, load[LOAD_Y], k->w.U);
  next_segment(k, load, to);
}

/* The same as warps_load_if_first where what `load` would lead on is held in shared memory; `load` is the first of it.
 */
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

/* Begins the copies of row `row` (i32), number `u` of the group at place `slot` of the last ring, from column `x` of
 * the fields on, `n` columns. */
static void store_row(WarpKernel *k, const WarpSegment *s, Value *row, Value *slot, int u, Value *x, Value *n) {
  Value *at[] = {warps_grid(k, row, 0, false), x}, *cells[MAX_RANK];
  for (int f = 0; f < k->e->nfields; f++)
    if (k->l->use[k->e->field[f].field].stored) {
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
