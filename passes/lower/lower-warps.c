/* lower-warps.c: time over warps (the paper's tiles, walked by a pipeline of warps). A block's warps are a pipeline in
 * time, each of which makes C time levels of a strip of columns, row after row; rows pass between neighbouring warps
 * through rings in shared memory, whose groups of rows are full or empty as signals say, and whole rows come and go by
 * bulk copies. There is no barrier of the block but one at its beginning. */
#include "passes/lower/warps.h"
#include "passes/plan/plan.h"
#include "passes/registry.h"

/* Where the walk has got to with loads: strip behind that of the segment, groups left of it, row that comes next,
 * column and columns of its strip; i32. */
enum { LOAD_STRIP, LOAD_GROUPS, LOAD_Y, LOAD_X, LOAD_COLUMNS, LOADS };

/* ---- small ops */

static Value *small(WarpKernel *k, int x) { return build_int(&k->b, TY_I32, x); }

static Value *plus(WarpKernel *k, Value *x, int y) { return build2(&k->b, OP_ADD, x, small(k, y)); }

/* An op on signal `slot` of those of ring `ring`. */
static void signal_of(WarpKernel *k, Opcode code, int array, Value *value, Value *ring, Value *slot) {
  build_signal(&k->b, code, array, value, 2, (Value *[]){ring, slot}, NULL);
}

/* Goes into arm `arm` of `op`; what the place outside is goes to *outer. */
static void go_in(WarpKernel *k, const Op *op, int arm, Builder *outer) {
  *outer = k->b;
  k->b = builder_at_end(outer->arena, op->blocks[arm]);
  k->b.loc = outer->loc;
}

/* Begins what one thread of the warp does. */
static void go_alone(WarpKernel *k, Builder *outer) {
  Value *one = build_op(&k->b, OP_ELECT, TY_BOOL, 0, NULL)->results[0];
  go_in(k, build_if(&k->b, one, 0, NULL), 0, outer);
}

/* ---- rows from and to global memory */

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
  Value *signal[] = {small(k, 0), c->slot}, *at[] = {NULL, x}, *cells[MAX_RANK];
  for (int f = 0, late = 0; f < e->nfields; f++) {
    if (e->field[f].in < 0)
      continue;
    if (!at[0] || warps_late(e, f) != late)
      at[0] = row_of(k, c, u, warps_late(e, f));
    late = warps_late(e, f);
    warps_end_ring(k, f, 0, c->slot, small(k, u), to ? to : small(k, 0), cells);
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
  go_in(k, build_if(&k->b, in, 0, NULL), 0, &outer);
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
  go_in(k, op, 0, &outer);
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
  Value *first = warps_grid(k, small(k, 0), 1, false), *from = warps_grid(k, c->x, 1, true);
  Value *all = build_convert(b, TY_I64, c->n), *zero = build_int(b, TY_I64, 0);
  Value *one = build2(b, OP_MIN, all, build2(b, OP_SUB, k->columns, build2(b, OP_SUB, from, first)));
  copy_columns(k, c, from, build_convert(b, TY_I32, one), NULL);
  Value *width = build2(b, OP_MAX, k->columns, build_int(b, TY_I64, 1)), *left = build2(b, OP_SUB, all, one);
  Op *loop = build_for(b, zero, rounds_of(k, left, width), 1, 0, 0, NULL);
  go_in(k, loop, 0, &outer);
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
  Value *in = build2(&k->b, OP_AND, build2(&k->b, OP_GE, c->x, small(k, 0)), build2(&k->b, OP_LE, behind, k->columns));
  Op *inside = build_if(&k->b, in, 0, NULL);
  go_in(k, inside, 0, &outer);
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

/* Begins the copies of the group at hand to place `slot` of the first rings. Nearly all groups have rows of the field
 * alone, which take no test each. */
static void start_copies(WarpKernel *k, Value *const *load, Value *slot) {
  Builder outer;
  Value *bytes = build2(&k->b, OP_MUL, load[LOAD_COLUMNS], small(k, k->w.U * cell_bytes(k->e)));
  signal_of(k, OP_SIGNAL_EXPECT, k->full, bytes, small(k, 0), slot);
  Value *rows = build_convert(&k->b, TY_I32, k->rows);
  Op *op = build_if(&k->b, whole_group(k, load[LOAD_Y], small(k, k->e->late), rows), 0, NULL);
  for (int arm = 0; arm < 2; arm++) {
    go_in(k, op, arm, &outer);
    copy_group(k, &(WarpCopy){load[LOAD_COLUMNS], load[LOAD_X], load[LOAD_Y], slot, arm == 1});
    k->b = outer;
  }
}

/* Goes to the next of the block's segments, if there is one and the one at hand has no more groups; `load` then is
 * where that leads. */
static void next_segment(WarpKernel *k, Value **load, Value *to) {
  Builder outer;
  Type types[LOADS] = {TY_I32, TY_I32, TY_I32, TY_I32, TY_I32};
  Value *none = build2(&k->b, OP_LE, load[LOAD_GROUPS], small(k, 0));
  Value *more = build2(&k->b, OP_LT, load[LOAD_STRIP], to);
  Op *op = build_if(&k->b, build2(&k->b, OP_AND, none, more), LOADS, types);
  go_in(k, op, 0, &outer);
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
  Value *any = build2(&k->b, OP_GT, load[LOAD_GROUPS], small(k, 0));
  go_in(k, build_if(&k->b, build2(&k->b, OP_AND, any, one), 0, NULL), 0, &outer);
  start_copies(k, load, slot);
  k->b = outer;
  load[LOAD_GROUPS] = warps_add(k, load[LOAD_GROUPS], -1);
  load[LOAD_Y] = warps_add(k, load[LOAD_Y], k->w.U);
  next_segment(k, load, to);
}

/* The same as load_if_first where what `load` would lead on is held in shared memory; `load` is the first of it. */
static void load_held(WarpKernel *k, Value *const *load, Value *to, Value *slot) {
  Builder outer;
  Value *own[LOADS];
  go_in(k, build_if(&k->b, k->is_first, 0, NULL), 0, &outer);
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

/* Goes to the first segment (slot: NULL), or loads the next group, where the warp is the first, `load` being led on
 * there alone. */
static void load_if_first(WarpKernel *k, Value **load, Value *to, Value *slot) {
  if (k->held >= 0) {
    load_held(k, load, to, slot);
    return;
  }
  Type types[LOADS] = {TY_I32, TY_I32, TY_I32, TY_I32, TY_I32};
  Builder outer;
  Op *op = build_if(&k->b, k->is_first, LOADS, types);
  go_in(k, op, 1, &outer);
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
      warps_end_ring(k, f, k->w.W, slot, small(k, u), s->from, cells);
      build_bulk(&k->b, OP_BULK_STORE, 0, (BulkPlace){k->rings[f], 3, cells, NULL},
                 (BulkPlace){store_buffer(k->lo, k->l, k->e->field[f].field), 2, at, NULL}, n, (BulkPlace){0});
    }
}

/* Begins the copies of those rows of the group at place `slot` of the last ring that are the segment's; the first is
 * row `y`. Then waits until the rows of all but the latest `left` groups have been read. */
static void store_rows(WarpKernel *k, const WarpSegment *s, Value *y, Value *slot, int left) {
  Builder outer, other;
  Value *n = build2(&k->b, OP_SUB, s->to, s->from);
  Value *x = warps_grid(k, build2(&k->b, OP_ADD, s->x, s->from), 1, false);
  Op *whole = build_if(&k->b, whole_group(k, y, s->first, s->end), 0, NULL);
  go_in(k, whole, 0, &outer);
  for (int u = 0; u < k->w.U; u++)
    store_row(k, s, warps_add(k, y, u), slot, u, x, n);
  k->b = builder_at_end(outer.arena, whole->blocks[1]);
  for (int u = 0; u < k->w.U; u++) {
    Value *row = warps_add(k, y, u);
    Value *in = build2(&k->b, OP_AND, build2(&k->b, OP_GE, row, s->first), build2(&k->b, OP_LT, row, s->end));
    go_in(k, build_if(&k->b, in, 0, NULL), 0, &other);
    store_row(k, s, row, slot, u, x, n);
    k->b = other;
  }
  k->b = outer;
  build_bare(&k->b, OP_BULK_COMMIT);
  build_op(&k->b, OP_BULK_WAIT, TY_NONE, 0, NULL)->count = left;
}

/* ---- a group of rows */

/* Waits until the group's rows have come, and there is room for what becomes of them. */
static void wait_for_group(WarpKernel *k, Value *slot, Value *parity) {
  Value *one = small(k, 1), *other = build2(&k->b, OP_SUB, one, parity);
  Value *come = k->bulk ? parity : build3(&k->b, OP_SELECT, k->is_first, one, parity);
  Value *gone = k->w.movers ? other : build3(&k->b, OP_SELECT, k->is_final, one, other), *behind = plus(k, k->warp, 1);
  signal_of(k, OP_SIGNAL_WAIT, k->full, come, k->warp, slot);
  signal_of(k, OP_SIGNAL_WAIT, k->empty, gone, behind, slot);
}

/* The rows of a group that are all within the main pieces through the warp's levels, `special` as warps_group has it.
 * Few groups are special: all of them test their sides. */
static void compute_inside(WarpKernel *k, const WarpSegment *s, Value *y, Value *slot, bool rims, bool special) {
  Builder outer = k->b, inner;
  if (rims && warps_near_rims(k) && special) {
    warps_group(k, RIMS_SIDES, true, s, y, slot);
    return;
  }
  if (rims && warps_near_rims(k)) {
    Op *middle = build_if(&k->b, build1(&k->b, OP_UNIFORM, s->sides), 0, NULL);
    go_in(k, middle, 1, &inner);
    warps_group(k, RIMS_SIDES, false, s, y, slot);
    k->b = builder_at_end(outer.arena, middle->blocks[0]);
  }
  warps_group(k, RIMS_NONE, special, s, y, slot);
  k->b = outer;
}

/* The same in two versions, if there are special rows. */
static void compute_versions(WarpKernel *k, const WarpSegment *s, Value *y, Value *slot, bool rims) {
  Builder outer;
  Value *plain = warps_is_plain(k, y);
  if (!plain) {
    compute_inside(k, s, y, slot, rims, false);
    return;
  }
  Op *versions = build_if(&k->b, plain, 0, NULL);
  for (int arm = 0; arm < 2; arm++) {
    go_in(k, versions, arm, &outer);
    compute_inside(k, s, y, slot, rims, arm == 1);
    k->b = outer;
  }
}

/* The group's rows through the warp's levels, with tests where there are points outside of the main piece. `rows`: are
 * all rows within it (NULL: there are no such points at all)? Of the ways to ask for rows and for sides this is the one
 * in which LLVM computes nothing before that is common to the ways that code can take: it would take registers. */
static void compute(WarpKernel *k, const WarpSegment *s, Value *y, Value *rows, Value *slot) {
  Builder outer;
  if (!rows) {
    compute_versions(k, s, y, slot, false);
    return;
  }
  Op *whole = build_if(&k->b, rows, 0, NULL);
  go_in(k, whole, 1, &outer);
  warps_group(k, RIMS_ANY, true, s, y, slot);
  k->b = builder_at_end(outer.arena, whole->blocks[0]);
  compute_versions(k, s, y, slot, true);
  k->b = outer;
}

/* Tells the neighbours of the group. There are none in front of the first warp and behind the last, and nobody waits
 * for what they are told: that is as quick as a test. */
static void tell_neighbours(WarpKernel *k, Value *slot) {
  Builder outer;
  go_alone(k, &outer);
  signal_of(k, OP_SIGNAL_ARRIVE, k->empty, NULL, k->warp, slot);
  signal_of(k, OP_SIGNAL_ARRIVE, k->full, NULL, plus(k, k->warp, 1), slot);
  k->b = outer;
}

/* The last warp holds what it stores of segment `s`, where that is to be held. */
static void hold_if_final(WarpKernel *k, const WarpSegment *s) {
  Builder outer;
  if (k->held < 0)
    return;
  go_in(k, build_if(&k->b, k->is_final, 0, NULL), 0, &outer);
  warps_hold(k, HELD_SEGMENT, 5, (Value *[]){s->first, s->end, s->x, s->from, s->to});
  k->b = outer;
}

/* What the last warp stores of segment `s`. */
static WarpSegment stored_part(WarpKernel *k, const WarpSegment *s) {
  Value *v[5];
  if (k->held < 0)
    return *s;
  warps_take_held(k, HELD_SEGMENT, 5, v);
  return (WarpSegment){.first = v[0], .end = v[1], .x = v[2], .from = v[3], .to = v[4]};
}

/* The last warp stores the group; row `y` is the first that came to the warp. */
static void store_if_final(WarpKernel *k, const WarpSegment *s, Value *y, Value *slot) {
  Builder outer, one;
  go_in(k, build_if(&k->b, k->is_final, 0, NULL), 0, &outer);
  WarpSegment part = stored_part(k, s);
  go_alone(k, &one);
  store_rows(k, &part, warps_add(k, y, -(int64_t)k->e->lag * k->w.C), slot, k->w.G - 1);
  k->b = one;
  build_bare(&k->b, OP_BARRIER_WARP);
  k->b = outer;
}

/* What a loop carries: the place in the rings, the parity of its phases, where the loads are, and the place in the
 * rings of rows that are taken late, if there are such. */
enum { CARRY_SLOT, CARRY_PARITY, CARRY_LOADS, CARRY_PLACE = CARRY_LOADS + LOADS, CARRIED };
static int carried_by(const WarpKernel *k) { return k->e->late ? CARRIED : CARRY_PLACE; }

/* Goes to the next place in the rings. */
static void next_place(WarpKernel *k, Value **carried) {
  Value *parity = carried[CARRY_PARITY], *next = plus(k, carried[CARRY_SLOT], 1),
        *around = build2(&k->b, OP_EQ, next, small(k, k->w.G));
  carried[CARRY_SLOT] = build3(&k->b, OP_SELECT, around, small(k, 0), next);
  carried[CARRY_PARITY] = build3(&k->b, OP_SELECT, around, build2(&k->b, OP_SUB, small(k, 1), parity), parity);
}

/* A group, whose first row that comes to the warp is `y`; led on in carried. */
static void make_group(WarpKernel *k, const WarpSegment *s, Value *y, Value *to, Value **carried) {
  Builder outer;
  Value *slot = carried[CARRY_SLOT], *parity = carried[CARRY_PARITY];
  Value *rows = warps_any_rims(k) ? warps_is_inside(k, s, y) : NULL;
  k->place = k->e->late ? carried[CARRY_PLACE] : NULL;
  wait_for_group(k, slot, parity);
  compute(k, s, y, rows, slot);
  if (k->bulk) {
    go_in(k, build_if(&k->b, k->is_final, 0, NULL), 0, &outer);
    build_bare(&k->b, OP_FENCE_ASYNC);
    k->b = outer;
  }
  build_bare(&k->b, OP_BARRIER_WARP);
  tell_neighbours(k, slot);
  if (k->bulk && !k->w.movers) {
    load_if_first(k, carried + CARRY_LOADS, to, slot);
    store_if_final(k, s, y, slot);
  }
  next_place(k, carried);
  if (k->place)
    carried[CARRY_PLACE] = warps_next_place(k);
}

/* ---- the kernel */

/* Begins a loop from lo to hi (i32) by `step` that carries `carried`, which then are its arguments. Each time round the
 * place in the rings is the first, if groups come in so many together. */
static Op *go_round(WarpKernel *k, Value *lo, Value *hi, int32_t step, Value **carried, Builder *outer) {
  Op *loop = build_for(&k->b, lo, hi, step, 0, carried_by(k), carried);
  go_in(k, loop, 0, outer);
  for (int i = 0; i < carried_by(k); i++)
    carried[i] = loop->blocks[0]->args[i + 1];
  if (k->w.R % k->w.G == 0)
    carried[CARRY_SLOT] = small(k, 0);
  return loop;
}

/* Ends it; `carried` then is what comes out. */
static void come_out(WarpKernel *k, const Op *loop, Value **carried, const Builder *outer) {
  build_yield(&k->b, carried_by(k), carried);
  k->b = *outer;
  for (int i = 0; i < carried_by(k); i++)
    carried[i] = loop->results[i];
}

/* ---- warps that only load and store */

/* Begins a loop over the groups of segment `s`, with the place in the rings and the parity of its phases in carried. */
static Op *go_groups(WarpKernel *k, const WarpSegment *s, Value **carried, Builder *outer) {
  Op *loop = build_for(&k->b, small(k, 0), s->groups, 1, 0, CARRY_LOADS, carried);
  go_in(k, loop, 0, outer);
  carried[CARRY_SLOT] = loop->blocks[0]->args[1 + CARRY_SLOT];
  carried[CARRY_PARITY] = loop->blocks[0]->args[1 + CARRY_PARITY];
  return loop;
}

/* Ends a loop that carries those. */
static void end_loop(WarpKernel *k, const Op *loop, Value **carried, const Builder *outer) {
  build_yield(&k->b, CARRY_LOADS, carried);
  k->b = *outer;
  carried[CARRY_SLOT] = loop->results[CARRY_SLOT];
  carried[CARRY_PARITY] = loop->results[CARRY_PARITY];
}

/* Begins the copies of the group of segment `s` whose first row is `y`, as soon as its place is free. */
static void load_group(WarpKernel *k, const WarpSegment *s, Value *y, Value *const *carried) {
  Builder outer;
  Value *slot = carried[CARRY_SLOT], *load[LOADS];
  load[LOAD_Y] = y;
  load[LOAD_X] = s->x;
  load[LOAD_COLUMNS] = s->columns;
  signal_of(k, OP_SIGNAL_WAIT, k->empty, build2(&k->b, OP_SUB, small(k, 1), carried[CARRY_PARITY]), small(k, 0), slot);
  go_alone(k, &outer);
  start_copies(k, load, slot);
  k->b = outer;
}

/* Stores the group of segment `s` whose first row is `y`, as soon as it has been made, and frees its place. */
static void store_group(WarpKernel *k, const WarpSegment *s, Value *y, Value *const *carried) {
  Builder outer;
  Value *slot = carried[CARRY_SLOT], *last = small(k, k->w.W);
  signal_of(k, OP_SIGNAL_WAIT, k->full, carried[CARRY_PARITY], last, slot);
  go_alone(k, &outer);
  store_rows(k, s, y, slot, 0);
  signal_of(k, OP_SIGNAL_ARRIVE, k->empty, NULL, last, slot);
  k->b = outer;
}

/* All segments of the block are loaded, or stored. */
static void move_segments(WarpKernel *k, Value *from, Value *to, bool load) {
  Builder outside, between;
  Value *carried[CARRY_LOADS] = {small(k, 0), small(k, 0)};
  Op *segments = build_for(&k->b, from, to, 1, 0, CARRY_LOADS, carried);
  go_in(k, segments, 0, &outside);
  carried[CARRY_SLOT] = segments->blocks[0]->args[1 + CARRY_SLOT];
  carried[CARRY_PARITY] = segments->blocks[0]->args[1 + CARRY_PARITY];
  WarpSegment s = warps_segment(k, segments->blocks[0]->args[0]);
  Value *y = load ? s.y : warps_add(k, s.y, -(int64_t)k->e->lag * k->w.C * k->w.W);
  Op *groups = go_groups(k, &s, carried, &between);
  y = build2(&k->b, OP_ADD, y, warps_mul(k, groups->blocks[0]->args[0], k->w.U));
  if (load)
    load_group(k, &s, y, carried);
  else
    store_group(k, &s, y, carried);
  next_place(k, carried);
  end_loop(k, groups, carried, &between);
  end_loop(k, segments, carried, &outside);
}

/* What the warps do that only load and store: the first of them loads, the second stores, the others only give up their
 * registers with them. */
static void make_moves(WarpKernel *k, Value *from, Value *to) {
  Builder outer;
  build_op(&k->b, OP_REGISTERS_LESS, TY_NONE, 0, NULL)->count = MOVER_REGISTERS;
  for (int n = 0; n < 2; n++) {
    go_in(k, build_if(&k->b, build2(&k->b, OP_EQ, k->warp, small(k, k->w.W + n)), 0, NULL), 0, &outer);
    move_segments(k, from, to, n == 0);
    k->b = outer;
  }
}

/* ---- segments */

/* All segments of the block, group by group. */
static void walk_segments(WarpKernel *k, Value *from, Value *to, Value **carried) {
  Builder outside, between;
  Op *segments = go_round(k, from, to, 1, carried, &outside);
  WarpSegment s = warps_segment(k, segments->blocks[0]->args[0]);
  Value *lag = warps_mul(k, k->warp, (int64_t)k->w.C * k->e->lag);
  Value *y = build2(&k->b, OP_SUB, s.y, lag);
  if (warps_any_rims(k))
    warps_find_inside(k, &s);
  hold_if_final(k, &s);
  Op *groups = go_round(k, small(k, 0), s.groups, k->w.R, carried, &between);
  Value *row = warps_mul(k, groups->blocks[0]->args[0], k->w.U);
  for (int n = 0; n < k->w.R; n++)
    make_group(k, &s, warps_add(k, build2(&k->b, OP_ADD, y, row), (int64_t)n * k->w.U), to, carried);
  come_out(k, groups, carried, &between);
  come_out(k, segments, carried, &outside);
}

/* Makes the private arrays of level `l`: what it keeps of each value, and what it puts by. */
static void make_private(WarpKernel *k, int l) {
  const WarpLevel *e = k->e;
  Arena *a = k->b.arena;
  for (int v = 0, n = 0; v < e->nvalues; v++) {
    const WarpValue *x = &e->value[v];
    int at = l * e->nvalues + v;
    int32_t cells[MAX_RANK] = {warps_kept(e, v), k->w.X}, by[MAX_RANK] = {k->w.G * k->w.U, k->w.X};
    k->kept[at] = k->by[at] = -1;
    if (cells[0])
      k->kept[at] =
          kernel_array(k->lo, k->k, arena_printf(a, "kept%d.%d", l, n++), x->type, SPACE_PRIVATE, cells, NULL, NULL);
    if (x->kind == WARP_OUTSIDE && x->wanted && x->until > x->time)
      k->by[at] = kernel_array(k->lo, k->k, arena_printf(a, "by%d.%d", l, n++), x->type, SPACE_PRIVATE, by, NULL, NULL);
  }
}

/* Makes the arrays: the rings between warps (before the first and behind the last too), their signals, and what levels
 * keep. */
static void make_arrays(WarpKernel *k) {
  const WarpShape *w = &k->w;
  const WarpLevel *e = k->e;
  Arena *a = k->b.arena;
  int32_t signals[MAX_RANK] = {w->W + 1, w->G};
  warps_make_rings(k);
  k->full = kernel_array(k->lo, k->k, "full", TY_I64, SPACE_SHARED, signals, NULL, NULL);
  k->empty = kernel_array(k->lo, k->k, "empty", TY_I64, SPACE_SHARED, signals, NULL, NULL);
  warps_make_share(k);
  warps_make_held(k);
  k->kept = ARENA_ARRAY(a, int32_t, w->C * e->nvalues);
  k->by = ARENA_ARRAY(a, int32_t, w->C * e->nvalues);
  for (int l = 0; l < w->C; l++)
    make_private(k, l);
}

/* Starts what is kept with ones, which nobody needs: what is at least so much for sure stays so, and nothing is divided
 * by zero. */
static void start_kept(WarpKernel *k) {
  const WarpLevel *e = k->e;
  for (int i = 0; i < k->w.C * e->nvalues; i++)
    for (int c = 0; c < warps_kept(e, i % e->nvalues) * k->w.X; c++) {
      Value *at[] = {small(k, c / k->w.X), small(k, c % k->w.X)};
      Value *one = build_float(&k->b, e->value[i % e->nvalues].type, 1);
      build_astore(&k->b, k->kept[i], 0, one, 2, at, NULL);
    }
}

/* The same of what is put by: of rows before a segment's first nothing was. */
static void start_by(WarpKernel *k) {
  const WarpLevel *e = k->e;
  Builder outer;
  if (!warps_put_rows(e))
    return;
  Op *loop = build_for(&k->b, small(k, 0), small(k, k->w.G * k->w.U), 1, 0, 0, NULL);
  go_in(k, loop, 0, &outer);
  for (int i = 0; i < k->w.C * e->nvalues; i++)
    for (int c = 0; k->by[i] >= 0 && c < k->w.X; c++) {
      Value *at[] = {loop->blocks[0]->args[0], small(k, c)};
      Value *zero = build_const(&k->b, e->value[i % e->nvalues].type, (Const){0});
      build_astore(&k->b, k->by[i], 0, zero, 2, at, NULL);
    }
  k->b = outer;
}

/* Finds lane and warp, makes the signals ready, and starts what is kept. */
static void start_block(WarpKernel *k) {
  Builder outer;
  const WarpShape *w = &k->w;
  Value *thread = build_dim(&k->b, OP_THREAD, 0);
  k->lane = build_dim(&k->b, OP_THREAD, 1);
  k->warp = w->W + w->movers > 1 ? build1(&k->b, OP_UNIFORM, thread) : small(k, 0);
  k->is_first = build2(&k->b, OP_EQ, k->warp, small(k, 0));
  k->is_final = build2(&k->b, OP_EQ, k->warp, small(k, w->W - 1));
  k->in_warp = build2(&k->b, OP_MUL, k->lane, small(k, w->X));
  k->step = stencils_use_step(k->e->n, k->e->st) ? build_step(&k->b) : NULL;
  Value *flat = build2(&k->b, OP_ADD, build2(&k->b, OP_MUL, thread, small(k, WARP_LANES)), k->lane);
  go_in(k, build_if(&k->b, build2(&k->b, OP_EQ, flat, small(k, 0)), 0, NULL), 0, &outer);
  for (int i = 0; i < (w->W + 1) * w->G; i++) {
    Value *ring = small(k, i / w->G), *slot = small(k, i % w->G), *one = small(k, 1);
    signal_of(k, OP_SIGNAL_INIT, k->full, one, ring, slot);
    signal_of(k, OP_SIGNAL_INIT, k->empty, one, ring, slot);
  }
  warps_put_share(k);
  k->b = outer;
  build_barrier(&k->b);
}

/* What the warps do that compute. */
static void make_levels(WarpKernel *k, Value *from, Value *to) {
  Builder outer, one;
  start_kept(k);
  start_by(k);
  warps_start_rings(k);
  Value *carried[CARRIED] = {small(k, 0), small(k, 0)};
  carried[CARRY_PLACE] = carried[CARRY_SLOT];
  for (int i = 0; i < LOADS; i++)
    carried[CARRY_LOADS + i] = i == LOAD_STRIP ? from : small(k, 0);
  bool moves = k->bulk && !k->w.movers;
  if (moves)
    load_if_first(k, carried + CARRY_LOADS, to, NULL);
  for (int g = 0; g < k->w.G && moves; g++)
    load_if_first(k, carried + CARRY_LOADS, to, small(k, g));
  walk_segments(k, from, to, carried);
  if (!moves)
    return;
  go_in(k, build_if(&k->b, k->is_final, 0, NULL), 0, &outer);
  go_alone(k, &one);
  build_op(&k->b, OP_BULK_WAIT, TY_NONE, 0, NULL)->count = 0;
  k->b = outer;
}

/* What a block does that has segments: those in strips from `from` to before `to`. */
static void make_segments(WarpKernel *k, Value *from, Value *to) {
  Builder outer;
  start_block(k);
  if (!k->w.movers) {
    make_levels(k, from, to);
    return;
  }
  Op *moves = build_if(&k->b, build2(&k->b, OP_GE, k->warp, small(k, k->w.W)), 0, NULL);
  go_in(k, moves, 0, &outer);
  make_moves(k, from, to);
  k->b = builder_at_end(outer.arena, moves->blocks[1]);
  build_op(&k->b, OP_REGISTERS_MORE, TY_NONE, 0, NULL)->count = k->w.registers;
  make_levels(k, from, to);
  k->b = outer;
}

/* The kernel's body. On small fields some blocks have nothing to do. */
static void make_body(WarpKernel *k) {
  Value *from, *to;
  Builder outer;
  warps_measure(k);
  warps_share(k, &from, &to);
  go_in(k, build_if(&k->b, build2(&k->b, OP_LT, from, to), 0, NULL), 0, &outer);
  make_segments(k, from, to);
  k->b = outer;
}

/* Are rows whole 16 bytes, so that they can go by bulk copies: 1: always, -1: never, 0: the launch's params decide? */
static int whole_rows(const Lowering *lo, const WarpLevel *e) {
  return affine_multiple(box_extent(lo->out->arena, warps_region(e), 1), VECTOR_BYTES / warps_smallest(e));
}

/* Adds the kernel `name` for launch `l` under schedule `s`, by bulk copies or not. Its index. */
static int warps_kernel(Lowering *lo, const Launch *l, const WarpLevel *e, const Schedule *s, bool bulk,
                        const char *name) {
  int index = lowering_kernel(lo, name, l->steps, e->st[0].loc);
  WarpKernel k = {
      .lo = lo, .l = l, .e = e, .w = warps_shape(lo->c->target, e, s), .k = &lo->out->kernels[index], .bulk = bulk};
  Arena *a = lo->out->arena;
  k.special = warps_special_rows(e, &k.nspecial);
  k.is_special = ARENA_ARRAY(a, bool, e->nvalues);
  for (int v = 0; v < e->nvalues; v++)
    k.is_special[v] = warps_is_special(e, v);
  if (bulk)
    kernel_multiple(lo, index, box_extent(a, warps_region(e), 1), k.w.vector);
  else
    k.w.movers = 0;
  k.k->per_core = warps_per_core(lo->c->target, e, &k.w);
  k.blocks = (lo->c->target->cores > 0 ? lo->c->target->cores : 1) * k.k->per_core;
  k.k->threads[0] = k.w.W + k.w.movers;
  k.k->threads[1] = WARP_LANES;
  k.k->tile[0] = k.k->tile[1] = 1;
  k.k->extent[0] = affine_const(1);
  k.k->extent[1] = affine_const(k.blocks);
  k.b = builder_at_end(a, k.k->body);
  k.b.loc = k.k->loc;
  make_arrays(&k);
  make_body(&k);
  return index;
}

/* ---- modules */

/* Rows and columns are counted in 32 bits: launches check that. */
static void check_extents(Lowering *lo, const Field *f) {
  for (int d = 0; d < 2; d++) {
    Affine left = affine_sub(lo->out->arena, affine_const(INT32_MAX / 2), box_extent(lo->out->arena, &f->box, d));
    if (!left.n && left.c >= 0)
      continue;
    Check c = {.value = left,
               .loc = f->loc,
               .message = arena_printf(lo->out->arena,
                                       "field '%s' has more than 2^30 points in dimension %d; use -schedule=stream",
                                       f->name, d)};
    ARENA_PUSH(lo->out->arena, lo->out->checks, lo->out->nchecks, c);
  }
}

/* Adds the sequence of launch `l`, under `s` with as many steps as it makes: the kernel; and one for rows that are not
 * whole 16 bytes where params decide, or that alone where none is. */
static void warps_seq(Lowering *lo, const Launch *l, const WarpLevel *e, const Schedule *s) {
  Schedule own = *s;
  HostSeq *seq = host_seq(lo, l->steps);
  const char *name = group_name(lo, l, "warps", false);
  own.T = l->steps;
  int index = warps_kernel(lo, l, e, &own, whole_rows(lo, e) >= 0, name);
  host_launch(lo, seq, index);
  host_swaps(lo, seq, l);
  if (lo->out->kernels[index].nmultiples && !lo->c->sketch)
    kernel_instead(lo, index, warps_kernel(lo, l, e, &own, false, arena_printf(lo->out->arena, "%s_any", name)));
}

/* The launch of the last `n` instances of `m`. All that it stores goes to other buffers than those that it loads:
 * blocks overlap. */
static Launch *walk_launch(const Module *m, int n) {
  const Stencil *end = m->stencils + m->nstencils;
  Launch *l = launch_new(m, n, end - n, end - n, end);
  for (int f = 0; f < m->nfields; f++)
    l->use[f].paired = l->use[f].paired || (l->use[f].stored && !m->fields[f].series);
  return l;
}

/* The launches that are walked: all levels, and perhaps fewer, as many for each warp, for the steps that remain. How
 * many there are, in `out`. */
static int warps_launches(const Module *m, const Schedule *s, Launch *out[2]) {
  int32_t n;
  last_level(m, &n);
  int between = remainder_tile(m, m->time_tile, s->block[0]);
  out[0] = walk_launch(m, m->nstencils);
  if (between > 1)
    out[1] = walk_launch(m, between * n);
  return between > 1 ? 2 : 1;
}

/* The kernels of the walks, and overlapped tiles for the steps that remain. */
static Module *lower_warps(PassContext *c, Module *m, const WarpLevel *e, const Schedule *s) {
  int groups;
  int32_t n;
  const Stencil *st = last_level(m, &n);
  Launch **inits = init_launches(m), **step = group_launches(m, n, st, &groups), *tile[2];
  Launch **all = ARENA_ARRAY(m->arena, Launch *, m->ninits + groups + 2);
  int walks = c->sketch ? 1 : 2;
  int tiles = warps_launches(m, s, tile);
  for (int i = 0; i < m->ninits + groups + tiles; i++)
    all[i] = i < m->ninits ? inits[i] : i < m->ninits + groups ? step[i - m->ninits] : tile[i - m->ninits - groups];
  Lowering *lo = lowering_new(c, m, m->ninits + groups + tiles, all);
  if (!c->sketch)
    lower_inits(lo, inits, s->rest->block);
  check_extents(lo, &m->fields[e->field[0].field]);
  for (int i = 0; i < tiles && i < walks; i++)
    warps_seq(lo, tile[i], e, s);
  if (!c->sketch && m->time_tile > 1)
    overlap_seq(lo, groups, step, s->rest);
  return lowering_finish(lo);
}

Module *pass_lower_warps(PassContext *c, Module *m, int n, const PassOption *o) {
  Schedule s;
  const char *why;
  (void)n, (void)o;
  if (!lowering_ready(c, m, "lower-warps") || !plan_obeyed(c, m, "lower-warps", FAMILY_WARPS, &s) ||
      !extents_ready(c, m, "lower-warps"))
    return NULL;
  const WarpLevel *e = warps_level(m, &why);
  if (!e) {
    diag_error(c->diags, no_loc(), "-schedule=warps: %s", why);
    return NULL;
  }
  return lower_warps(c, m, warps_level_for(e, &s), &s);
}
