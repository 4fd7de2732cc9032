/* lower-warps.c: warp-pipelined temporal blocking (`-schedule=warps`): the paper's tiles, streamed through a pipeline
 * of warps.
 *
 *   global --bulk copies--> [ring] -> warp 0 -> [ring] -> warp 1 -> [ring] --bulk copies--> global
 *                                     levels 1..C         levels C+1..2C
 *
 * Warp w of a block computes time levels w C + 1 to (w + 1) C of a whole *strip* of 32 X columns, T = C W levels in
 * all, row after row. Wide strips need no shared memory between lanes: a lane has X adjacent cells, and only cells next
 * to another lane's are shuffled, once for each row and level. Options: `-block=Wx32` is the number of warps,
 * `-elems=1xX` the cells of a lane, `-T` the levels (a multiple of W), `-ahead` the groups of a ring. If `-ahead` is
 * left open, stc takes two or three, whichever it expects to be faster: with short rings more blocks fit on a core.
 *
 * *Rings*. Between two warps, before the first and after the last are rings of G groups of rows in shared memory, one
 * ring for each field. The rings at one place share two signals a group. "Full" is given by the warp in front; in front
 * of the first warp it counts the bytes of the bulk loads. "Empty" is given back by the warp behind. So only
 * neighbouring warps wait for each other, and they drift by up to G groups. The block has one barrier, at its
 * beginning. A warp tests both signals of a group before it waits for either. One thread of the first warp starts the
 * bulk loads of a group as soon as its place is free, G groups ahead. One thread of the last warp stores those columns
 * and rows that the strip owns. The other threads wait for these two, so a group makes one test, for all its rows, of
 * whether they are all the field's, or the segment's.
 *
 * *Rings of delayed reads* (warps-rings.c). Rows whose reads are delayed stay in the rings between two warps D groups
 * longer, where D groups cover the delay. These rings have G + D groups and a running place of their own. The warp in
 * front is at most G groups ahead as before, so the signals, for G groups, stay as they are: when group h may be
 * written, group h - G was made, and nobody reads rows of group h - G - D any more. Reads before the first rows arrived
 * give zeros. The ring in front of the first warp has G groups, for the bulk loads bring row y - t with row y of the
 * others. The ring after the last warp has G groups, or none for a field that no stage writes.
 *
 * *Uniform values*. A warp's number, and the results of 64-bit divisions, are made `uniform`: otherwise ptxas assumes
 * that a warp diverges at branches on them, and puts a test before each shuffle.
 *
 * *Rows that are not whole*. Bulk copies need rows of whole 16 bytes. A second kernel, `..._any`, loads and stores cell
 * by cell, and is launched instead where rows are not whole. Where rows are never whole, as those of `[0 .. 290]` in
 * artifacts, there is that kernel alone, and `-schedule=auto` chooses another schedule. Rows with a pitch (pass
 * `pad-rows`) are whole 16 bytes for that reason. Their strips end with the 16 bytes that hold the last column: cells
 * after that column are copied with it, and at the right edge as many more cells of a lane are tested, unless the rows
 * say how many those are (`rest`). Images of such rows have another alignment within 16 bytes than their destination,
 * so in strips that have images all lanes of the loading warp copy the images, cell by cell.
 *
 * *Remaining steps*. Steps after the last full T are made by overlapped tiles of one step; where `plan_remainder` finds
 * it worth while, first by a pipeline of the same warps with fewer levels each. Passes `shared-alloc`, `barriers` and
 * `specialize` leave kernels with signals as they are.
 *
 * *Limits*. Grids have rank 2. A step has any number of stencils in one launch, with up to 8 fields of 4 or 8 bytes on
 * one region. Temp fields may have other regions, if nothing is read beyond these and beyond that one region. Older
 * time levels, inputs and several targets fit. Pieces other than the main one read their own points only. The step
 * reads at least one other row. All outside rules fit, but a dimension may not be periodic for one field and not for
 * another. Any other program is an error that says what does not fit. On sm_80 to sm_89 there is streaming alone.
 * Without bulk copies all lanes of the first warp would load by `cp.async`, and without signals that count bytes each
 * warp would meet its neighbours at named barriers, of which a block has 16. No such card was available to measure
 * whether that pays, and `-schedule=warps` is an error there that says what the target lacks. */
#include "passes/tile/emit/lower-frame.h"
#include "passes/tile/emit/lower-overlap.h"
#include "passes/tile/emit/lower-warps.h"
#include "passes/tile/mapping.h"
#include "passes/registry.h"

/* ---- small ops */

Value *warps_small(WarpKernel *k, int x) { return build_int(&k->b, TY_I32, x); }

static Value *plus(WarpKernel *k, Value *x, int y) { return build2(&k->b, OP_ADD, x, warps_small(k, y)); }

void warps_signal(WarpKernel *k, Opcode code, int array, Value *value, Value *ring, Value *slot) {
  build_signal(&k->b, code, array, value, 2, (Value *[]){ring, slot}, NULL);
}

void warps_go_in(WarpKernel *k, const Op *op, int arm, Builder *outer) {
  *outer = k->b;
  k->b = builder_at_end(outer->arena, op->blocks[arm]);
  k->b.loc = outer->loc;
}

void warps_go_alone(WarpKernel *k, Builder *outer) {
  Value *one = build_op(&k->b, OP_ELECT, TY_BOOL, 0, NULL)->results[0];
  warps_go_in(k, build_if(&k->b, one, 0, NULL), 0, outer);
}

/* ---- a group of rows */

/* Waits until the group's rows have arrived, and the ring after the warp has room for its results. */
static void wait_for_group(WarpKernel *k, Value *slot, Value *parity) {
  Value *one = warps_small(k, 1), *other = build2(&k->b, OP_SUB, one, parity);
  Value *come = warps_bulk(k) ? parity : build3(&k->b, OP_SELECT, k->is_first, one, parity);
  Value *gone = k->w.move.producers ? other : build3(&k->b, OP_SELECT, k->is_final, one, other),
        *behind = plus(k, k->warp, 1);
  warps_signal(k, OP_SIGNAL_WAIT, k->full, come, k->warp, slot);
  warps_signal(k, OP_SIGNAL_WAIT, k->empty, gone, behind, slot);
}

/* Computes the rows of a group that all lie within the main pieces through the warp's levels; `special` as in
 * warps_group. Few groups are special, so there is no special version without tests of the sides. */
static void compute_inside(WarpKernel *k, const WarpSegment *s, Value *y, Value *slot, bool boundary, bool special) {
  Builder outer = k->b, inner;
  if (boundary && warps_near_boundary(k) && special) {
    warps_group(k, BOUNDARY_SIDES, true, s, y, slot);
    return;
  }
  if (boundary && warps_near_boundary(k)) {
    Op *middle = build_if(&k->b, build1(&k->b, OP_UNIFORM, s->sides), 0, NULL);
    warps_go_in(k, middle, 1, &inner);
    warps_group(k, BOUNDARY_SIDES, false, s, y, slot);
    k->b = builder_at_end(outer.arena, middle->blocks[0]);
  }
  warps_group(k, BOUNDARY_NONE, special, s, y, slot);
  k->b = outer;
}

/* Like compute_inside, in two versions if there are special rows. */
static void compute_versions(WarpKernel *k, const WarpSegment *s, Value *y, Value *slot, bool boundary) {
  Builder outer;
  Value *plain = warps_is_plain(k, y);
  if (!plain) {
    compute_inside(k, s, y, slot, boundary, false);
    return;
  }
  Op *versions = build_if(&k->b, plain, 0, NULL);
  for (int arm = 0; arm < 2; arm++) {
    warps_go_in(k, versions, arm, &outer);
    compute_inside(k, s, y, slot, boundary, arm == 1);
    k->b = outer;
  }
}

/* Computes the group's rows through the warp's levels, with tests where points lie outside of the main piece.
 * `rows`: are all rows within it (NULL: there are no points outside at all)? With this order of the tests for rows
 * and sides LLVM hoists no code that is common to the branches above them, as it does with others; hoisted values
 * take registers. */
static void compute(WarpKernel *k, const WarpSegment *s, Value *y, Value *rows, Value *slot) {
  Builder outer;
  if (!rows) {
    compute_versions(k, s, y, slot, false);
    return;
  }
  Op *whole = build_if(&k->b, rows, 0, NULL);
  warps_go_in(k, whole, 1, &outer);
  warps_group(k, BOUNDARY_ANY, true, s, y, slot);
  k->b = builder_at_end(outer.arena, whole->blocks[0]);
  compute_versions(k, s, y, slot, true);
  k->b = outer;
}

/* Signals the neighbours that the group was taken and made. No warp is in front of the first or behind the last, and
 * nobody waits for these signals: giving them takes no longer than a test. */
static void tell_neighbours(WarpKernel *k, Value *slot) {
  Builder outer;
  warps_go_alone(k, &outer);
  warps_signal(k, OP_SIGNAL_ARRIVE, k->empty, NULL, k->warp, slot);
  warps_signal(k, OP_SIGNAL_ARRIVE, k->full, NULL, plus(k, k->warp, 1), slot);
  k->b = outer;
}

/* In the last warp, holds the numbers of segment `s` that its stores need, if they are to be held. */
static void hold_if_final(WarpKernel *k, const WarpSegment *s) {
  Builder outer;
  if (k->held < 0)
    return;
  warps_go_in(k, build_if(&k->b, k->is_final, 0, NULL), 0, &outer);
  warps_hold(k, HELD_SEGMENT, 5, (Value *[]){s->first, s->end, s->x, s->from, s->to});
  k->b = outer;
}

/* The numbers of segment `s` that the last warp's stores need. */
static WarpSegment stored_part(WarpKernel *k, const WarpSegment *s) {
  Value *v[5];
  if (k->held < 0)
    return *s;
  warps_take_held(k, HELD_SEGMENT, 5, v);
  return (WarpSegment){.first = v[0], .end = v[1], .x = v[2], .from = v[3], .to = v[4]};
}

/* In the last warp, stores the group; row `y` is the first that arrived at the warp. */
static void store_if_final(WarpKernel *k, const WarpSegment *s, Value *y, Value *slot) {
  Builder outer, one;
  warps_go_in(k, build_if(&k->b, k->is_final, 0, NULL), 0, &outer);
  WarpSegment part = stored_part(k, s);
  warps_go_alone(k, &one);
  warps_store_rows(k, &part, warps_add(k, y, -(int64_t)k->e->lag * k->w.C), slot, k->w.G - 1);
  k->b = one;
  build_bare(&k->b, OP_BARRIER_WARP);
  k->b = outer;
}

/* The values that a loop carries: the place in the rings, the parity of its phases, how far the loads have got, and the
 * place in the rings of delayed reads, if there are any. */
enum { CARRY_SLOT, CARRY_PARITY, CARRY_LOADS, CARRY_PLACE = CARRY_LOADS + LOADS, CARRIED };
static int carried_by(const WarpKernel *k) { return k->e->delay ? CARRIED : CARRY_PLACE; }

/* Goes to the next place in the rings. */
static void next_place(WarpKernel *k, Value **carried) {
  Value *parity = carried[CARRY_PARITY], *next = plus(k, carried[CARRY_SLOT], 1),
        *around = build2(&k->b, OP_EQ, next, warps_small(k, k->w.G));
  carried[CARRY_SLOT] = build3(&k->b, OP_SELECT, around, warps_small(k, 0), next);
  carried[CARRY_PARITY] = build3(&k->b, OP_SELECT, around, build2(&k->b, OP_SUB, warps_small(k, 1), parity), parity);
}

/* Makes the group whose first row that arrives at the warp is `y`, and advances the values in carried. */
static void make_group(WarpKernel *k, const WarpSegment *s, Value *y, Value *to, Value **carried) {
  Builder outer;
  Value *slot = carried[CARRY_SLOT], *parity = carried[CARRY_PARITY];
  Value *rows = warps_any_boundary(k) ? warps_is_inside(k, s, y) : NULL;
  k->place = k->e->delay ? carried[CARRY_PLACE] : NULL;
  wait_for_group(k, slot, parity);
  compute(k, s, y, rows, slot);
  if (warps_bulk(k)) {
    warps_go_in(k, build_if(&k->b, k->is_final, 0, NULL), 0, &outer);
    build_bare(&k->b, OP_FENCE_ASYNC);
    k->b = outer;
  }
  build_bare(&k->b, OP_BARRIER_WARP);
  tell_neighbours(k, slot);
  if (warps_bulk(k) && !k->w.move.producers) {
    warps_load_if_first(k, carried + CARRY_LOADS, to, slot);
    store_if_final(k, s, y, slot);
  }
  next_place(k, carried);
  if (k->place)
    carried[CARRY_PLACE] = warps_next_place(k);
}

/* ---- the kernel */

/* Begins a loop from lo to hi (i32) by `step` that carries `n` values, which become its arguments. If the warps that
 * compute have so many groups unrolled that each round of the loop begins at the first place in the rings, that place
 * is a constant. */
static Op *go_round(WarpKernel *k, Value *lo, Value *hi, int32_t step, int n, Value **carried, Builder *outer) {
  Op *loop = build_for(&k->b, lo, hi, step, 0, n, carried);
  warps_go_in(k, loop, 0, outer);
  for (int i = 0; i < n; i++)
    carried[i] = loop->blocks[0]->args[i + 1];
  if (n > CARRY_LOADS && k->w.R % k->w.G == 0)
    carried[CARRY_SLOT] = warps_small(k, 0);
  return loop;
}

/* Ends the loop; `carried` becomes its results. */
static void come_out(WarpKernel *k, const Op *loop, int n, Value **carried, const Builder *outer) {
  build_yield(&k->b, n, carried);
  k->b = *outer;
  for (int i = 0; i < n; i++)
    carried[i] = loop->results[i];
}

/* ---- producer warps: only load and store */

/* Starts the copies of the group of segment `s` whose first row is `y`, as soon as its place is free. */
static void load_group(WarpKernel *k, const WarpSegment *s, Value *y, Value *const *carried) {
  Value *slot = carried[CARRY_SLOT], *load[LOADS];
  load[LOAD_Y] = y;
  load[LOAD_X] = s->x;
  load[LOAD_COLUMNS] = s->columns;
  warps_signal(k, OP_SIGNAL_WAIT, k->empty, build2(&k->b, OP_SUB, warps_small(k, 1), carried[CARRY_PARITY]),
               warps_small(k, 0), slot);
  warps_bring_group(k, NULL, load, slot);
}

/* Stores the group of segment `s` whose first row is `y`, as soon as it has been made, and frees its place. */
static void store_group(WarpKernel *k, const WarpSegment *s, Value *y, Value *const *carried) {
  Builder outer;
  Value *slot = carried[CARRY_SLOT], *last = warps_small(k, k->w.W);
  warps_signal(k, OP_SIGNAL_WAIT, k->full, carried[CARRY_PARITY], last, slot);
  warps_go_alone(k, &outer);
  warps_store_rows(k, s, y, slot, 0);
  warps_signal(k, OP_SIGNAL_ARRIVE, k->empty, NULL, last, slot);
  k->b = outer;
}

/* Loads (`load`) or stores all segments of the block. */
static void move_segments(WarpKernel *k, Value *from, Value *to, bool load) {
  Builder outside, between;
  Value *carried[CARRY_LOADS] = {warps_small(k, 0), warps_small(k, 0)};
  Op *segments = go_round(k, from, to, 1, CARRY_LOADS, carried, &outside);
  WarpSegment s = warps_segment(k, segments->blocks[0]->args[0]);
  Value *y = load ? s.y : warps_add(k, s.y, -(int64_t)k->e->lag * k->w.C * k->w.W);
  Op *groups = go_round(k, warps_small(k, 0), s.groups, 1, CARRY_LOADS, carried, &between);
  y = build2(&k->b, OP_ADD, y, warps_mul(k, groups->blocks[0]->args[0], k->w.U));
  if (load)
    load_group(k, &s, y, carried);
  else
    store_group(k, &s, y, carried);
  next_place(k, carried);
  come_out(k, groups, CARRY_LOADS, carried, &between);
  come_out(k, segments, CARRY_LOADS, carried, &outside);
}

/* The code of producer warps: the first of them loads, the second stores, the others only give up their registers with
 * them. */
static void make_moves(WarpKernel *k, Value *from, Value *to) {
  Builder outer;
  build_op(&k->b, OP_REGISTERS_LESS, TY_NONE, 0, NULL)->count = PRODUCER_REGISTERS;
  for (int n = 0; n < 2; n++) {
    warps_go_in(k, build_if(&k->b, build2(&k->b, OP_EQ, k->warp, warps_small(k, k->w.W + n)), 0, NULL), 0, &outer);
    move_segments(k, from, to, n == 0);
    k->b = outer;
  }
}

/* ---- segments */

/* Computes all segments of the block, group by group. */
static void walk_segments(WarpKernel *k, Value *from, Value *to, Value **carried) {
  Builder outside, between;
  Op *segments = go_round(k, from, to, 1, carried_by(k), carried, &outside);
  WarpSegment s = warps_segment(k, segments->blocks[0]->args[0]);
  Value *lag = warps_mul(k, k->warp, (int64_t)k->w.C * k->e->lag);
  Value *y = build2(&k->b, OP_SUB, s.y, lag);
  if (warps_any_boundary(k))
    warps_find_inside(k, &s);
  hold_if_final(k, &s);
  Op *groups = go_round(k, warps_small(k, 0), s.groups, k->w.R, carried_by(k), carried, &between);
  Value *row = warps_mul(k, groups->blocks[0]->args[0], k->w.U);
  for (int n = 0; n < k->w.R; n++)
    make_group(k, &s, warps_add(k, build2(&k->b, OP_ADD, y, row), (int64_t)n * k->w.U), to, carried);
  come_out(k, groups, carried_by(k), carried, &between);
  come_out(k, segments, carried_by(k), carried, &outside);
}

/* Makes the private arrays of level `l`: the rows that it keeps of each value, and the outside values that it
 * spills. */
static void make_private(WarpKernel *k, int l) {
  const WarpLevel *e = k->e;
  Arena *a = k->b.arena;
  for (int v = 0, n = 0; v < e->nvalues; v++) {
    const WarpValue *x = &e->value[v];
    int at = l * e->nvalues + v;
    int32_t cells[MAX_RANK] = {warps_kept(e, v), k->w.X}, by[MAX_RANK] = {k->w.G * k->w.U, k->w.X};
    k->kept[at] = k->spilled[at] = -1;
    if (cells[0])
      k->kept[at] =
          kernel_array(k->lo, k->k, arena_printf(a, "kept%d.%d", l, n++), x->type, SPACE_PRIVATE, cells, NULL, NULL);
    if (x->kind == WARP_OUTSIDE && x->wanted && x->until > x->time)
      k->spilled[at] =
          kernel_array(k->lo, k->k, arena_printf(a, "by%d.%d", l, n++), x->type, SPACE_PRIVATE, by, NULL, NULL);
  }
}

/* Makes the arrays: the rings between warps (also before the first and after the last), their signals, and what levels
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
  k->spilled = ARENA_ARRAY(a, int32_t, w->C * e->nvalues);
  for (int l = 0; l < w->C; l++)
    make_private(k, l);
}

/* Fills the kept rows with ones. No result depends on these ones, but with them values that are known to be at least
 * some number stay so, and nothing is divided by zero. */
static void start_kept(WarpKernel *k) {
  const WarpLevel *e = k->e;
  for (int i = 0; i < k->w.C * e->nvalues; i++)
    for (int c = 0; c < warps_kept(e, i % e->nvalues) * k->w.X; c++) {
      Value *at[] = {warps_small(k, c / k->w.X), warps_small(k, c % k->w.X)};
      Value *one = build_float(&k->b, e->value[i % e->nvalues].type, 1);
      build_astore(&k->b, k->kept[i], 0, one, 2, at, NULL);
    }
}

/* Fills the spilled values with zeros: nothing was spilled of rows before a segment's first. */
static void start_by(WarpKernel *k) {
  const WarpLevel *e = k->e;
  Builder outer;
  if (!warps_spilled_rows(e))
    return;
  Op *loop = build_for(&k->b, warps_small(k, 0), warps_small(k, k->w.G * k->w.U), 1, 0, 0, NULL);
  warps_go_in(k, loop, 0, &outer);
  for (int i = 0; i < k->w.C * e->nvalues; i++)
    for (int c = 0; k->spilled[i] >= 0 && c < k->w.X; c++) {
      Value *at[] = {loop->blocks[0]->args[0], warps_small(k, c)};
      Value *zero = build_const(&k->b, e->value[i % e->nvalues].type, (Const){0});
      build_astore(&k->b, k->spilled[i], 0, zero, 2, at, NULL);
    }
  k->b = outer;
}

/* Finds lane and warp, initializes the signals, and stores the block's share. */
static void start_block(WarpKernel *k) {
  Builder outer;
  const WarpShape *w = &k->w;
  Value *thread = build_dim(&k->b, OP_THREAD, 0);
  k->lane = build_dim(&k->b, OP_THREAD, 1);
  k->warp = w->W + w->move.producers > 1 ? build1(&k->b, OP_UNIFORM, thread) : warps_small(k, 0);
  k->is_first = build2(&k->b, OP_EQ, k->warp, warps_small(k, 0));
  k->is_final = build2(&k->b, OP_EQ, k->warp, warps_small(k, w->W - 1));
  k->in_warp = build2(&k->b, OP_MUL, k->lane, warps_small(k, w->X));
  k->step = stencils_use_step(k->e->n, k->e->st) ? build_step(&k->b) : NULL;
  Value *flat = build2(&k->b, OP_ADD, build2(&k->b, OP_MUL, thread, warps_small(k, WARP_LANES)), k->lane);
  warps_go_in(k, build_if(&k->b, build2(&k->b, OP_EQ, flat, warps_small(k, 0)), 0, NULL), 0, &outer);
  for (int i = 0; i < (w->W + 1) * w->G; i++) {
    Value *ring = warps_small(k, i / w->G), *slot = warps_small(k, i % w->G), *one = warps_small(k, 1);
    warps_signal(k, OP_SIGNAL_INIT, k->full, one, ring, slot);
    warps_signal(k, OP_SIGNAL_INIT, k->empty, one, ring, slot);
  }
  warps_put_share(k);
  k->b = outer;
  build_barrier(&k->b);
}

/* The code of the warps that compute. */
static void make_levels(WarpKernel *k, Value *from, Value *to) {
  Builder outer, one;
  start_kept(k);
  start_by(k);
  warps_start_rings(k);
  Value *carried[CARRIED] = {warps_small(k, 0), warps_small(k, 0)};
  carried[CARRY_PLACE] = carried[CARRY_SLOT];
  for (int i = 0; i < LOADS; i++)
    carried[CARRY_LOADS + i] = i == LOAD_STRIP ? from : warps_small(k, 0);
  bool moves = warps_bulk(k) && !k->w.move.producers;
  if (moves)
    warps_load_if_first(k, carried + CARRY_LOADS, to, NULL);
  for (int g = 0; g < k->w.G && moves; g++)
    warps_load_if_first(k, carried + CARRY_LOADS, to, warps_small(k, g));
  walk_segments(k, from, to, carried);
  if (!moves)
    return;
  warps_go_in(k, build_if(&k->b, k->is_final, 0, NULL), 0, &outer);
  warps_go_alone(k, &one);
  build_op(&k->b, OP_BULK_WAIT, TY_NONE, 0, NULL)->count = 0;
  k->b = outer;
}

/* The code of a block that has segments: those in strips from `from` to before `to`. */
static void make_segments(WarpKernel *k, Value *from, Value *to) {
  Builder outer;
  start_block(k);
  if (!k->w.move.producers) {
    make_levels(k, from, to);
    return;
  }
  Op *moves = build_if(&k->b, build2(&k->b, OP_GE, k->warp, warps_small(k, k->w.W)), 0, NULL);
  warps_go_in(k, moves, 0, &outer);
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
  warps_go_in(k, build_if(&k->b, build2(&k->b, OP_LT, from, to), 0, NULL), 0, &outer);
  make_segments(k, from, to);
  k->b = outer;
}

/* Are rows whole 16 bytes, so that bulk copies can move them? 1: always, -1: never, 0: the launch's params decide. */
static int whole_rows(const Lowering *lo, const WarpLevel *e) {
  int all = 1;
  for (int n = 0; n < e->nfields; n++) {
    int one =
        affine_multiple(field_row(lo->out->arena, &e->m->fields[e->field[n].field]), VECTOR_BYTES / warps_smallest(e));
    all = one < all ? one : all;
  }
  return all;
}

/* Do the rows of all fields have a pitch? */
static bool have_pitch(const WarpLevel *e) {
  bool all = true;
  for (int n = 0; n < e->nfields; n++)
    all = all && e->m->fields[e->field[n].field].pitch;
  return all;
}

/* The number of the fields' columns modulo a vector of the kernel, if the rows of all fields know it (`rest`) and agree
 * on it, as fields on one region do. -1: not known. */
static int columns_rest(const WarpLevel *e, int32_t vector) {
  int rest = e->m->fields[e->field[0].field].rest;
  for (int n = 1; n < e->nfields; n++)
    rest = e->m->fields[e->field[n].field].rest == rest ? rest : 0;
  return rest ? (rest - 1) % vector : -1;
}

/* Sets how many columns kernel number `index`, whose rows have a pitch, copies to complete the last vector of a row. If
 * the rows say how many columns that are, it is that number, and the launch must have it. */
static void copy_behind(WarpKernel *k, int index) {
  int32_t vector = k->w.vector, rest = columns_rest(k->e, vector);
  k->most_behind = rest < 0 ? vector - 1 : (vector - rest) % vector;
  k->least_behind = rest < 0 ? 0 : k->most_behind;
  if (rest >= 0)
    kernel_multiple(k->lo, index, affine_add_const(box_extent(k->b.arena, warps_region(k->e), 1), k->most_behind),
                    vector);
}

/* Rows and columns are counted in 32 bits: adds a check of that to launches. */
static void check_extents(Lowering *lo, const Field *f) {
  for (int d = 0; d < 2; d++) {
    Affine left = affine_sub(lo->out->arena, affine_const(INT32_MAX / 2), box_extent(lo->out->arena, &f->box, d));
    if ((!left.n && left.c >= 0) || lower_has_check(lo->out, left))
      continue;
    Check c = {.value = left,
               .loc = f->loc,
               .message = arena_printf(lo->out->arena,
                                       "field '%s' has more than 2^30 points in dimension %d; use -schedule=stream",
                                       f->name, d)};
    ARENA_PUSH(lo->out->arena, lo->out->checks, lo->out->nchecks, c);
  }
}

/* Adds the kernel `name` for launch `l` under schedule `s` (a KernelFn). `whole`: rows are whole 16 bytes where the
 * kernel is launched, and move by bulk copies. */
static int warps_kernel(Lowering *lo, const Launch *l, const Schedule *s, bool whole, const char *name, int steps) {
  const char *why;
  const Mapping *map = mapping_of(lo->c->target, l, s, &why);
  if (!map) {
    diag_error(lo->c->diags, no_loc(), "-schedule=warps: %s", why);
    return -1;
  }
  const WarpLevel *e = map->level;
  check_extents(lo, &l->m->fields[e->field[0].field]);
  int index = lowering_kernel(lo, name, steps, e->st[0].loc);
  bool bulk = whole && whole_rows(lo, e) >= 0;
  WarpKernel k = {.lo = lo, .l = l, .e = e, .w = *map->shape, .k = &lo->out->kernels[index]};
  Arena *a = lo->out->arena;
  k.is_special = ARENA_ARRAY(a, bool, e->nvalues);
  k.special = warps_special_rows(e, &k.nspecial, k.is_special);
  for (int n = 0; n < e->nfields && bulk; n++)
    kernel_multiple(lo, index, field_row(a, &e->m->fields[e->field[n].field]), k.w.vector);
  if (!bulk)
    k.w.move = (Move){.kind = MOVE_LOAD, .width = 1};
  k.k->per_core = k.w.blocks;
  k.blocks = (lo->c->target->cores > 0 ? lo->c->target->cores : 1) * k.k->per_core;
  k.k->threads[0] = k.w.W + k.w.move.producers;
  k.k->threads[1] = WARP_LANES;
  k.k->tile[0] = k.k->tile[1] = 1;
  k.k->extent[0] = affine_const(1);
  k.k->extent[1] = affine_const(k.blocks);
  k.b = builder_at_end(a, k.k->body);
  k.b.loc = k.k->loc;
  if (bulk && have_pitch(e))
    copy_behind(&k, index);
  make_arrays(&k);
  make_body(&k);
  return index;
}

/* Adds the kernel of launch `l` and its launch (a TileFn). */
static bool warps_launch(Lowering *lo, HostSeq *seq, const Launch *l, const Schedule *s, const char *name, int steps) {
  if (s->family != FAMILY_WARPS)
    return overlap_launch(lo, seq, l, s, name, steps);
  int index = kernel_with_spare(lo, warps_kernel, l, s, name, steps);
  if (index >= 0)
    host_launch(lo, seq, index);
  return index >= 0;
}

Module *pass_lower_warps(PassContext *c, Module *m, int n, const PassOption *o) {
  static const TileFamily family = {warps_launch, lower_inits, NULL};
  Schedule s;
  (void)n, (void)o;
  if (!lowering_starts(c, &m, "lower-warps", FAMILY_WARPS, &s))
    return NULL;
  return s.edges == EDGES_STEPS ? lower_framed(c, m, &s, warps_launch) : lower_tiles(c, m, &s, &family);
}
