/* warps-lines.c: computes choices that matter on one row of the grid alone (tile/warps-choices.c) behind one test of
 * the row, for all cells of a lane at once.
 *
 *   select(idx(0) == z && idx(1) == x, W + src, W)     (the source of a wave)
 *   ->  if row is z: select(idx(1) == x, W + src, W) for each cell of the lane     else: W for each cell
 *
 * *Choices on one row*. A `select` that yields its third operand on all rows but one is computed this way if a lane has
 * 6 or more cells, and if condition and second operand are computed from the point itself. A barrier of the warp in the
 * branch keeps LLVM from making selects of the branch again. With fewer cells ptxas makes selects of the branch, and
 * their code is longer than without it. Operations that only such a choice needs are not counted in a level's cost.
 *
 * *Special rows*. A param may say on which rows such choices and probes have an effect. If these rows are few, only the
 * versions of a group's code for groups that may have one of these rows, at any level, contain the choices and probes.
 * Most groups then compute as if there were neither source nor receivers. A grid whose rows are images of others has no
 * special rows. */
#include "passes/tile/emit/lower-warps.h"

/* The least number of cells of a lane for which the test of the row is made. */
enum { LEAST_CELLS = 6 };

/* Condition `v` is a conjunction. This is the conjunction of those of its parts that are the same in all columns. */
static Value *row_condition(WarpCell *c, Point *p, int v) {
  WarpKernel *k = c->r->k;
  int n;
  const int *parts = warps_condition_parts(k->b.arena, k->e, v, &n);
  Value *all = NULL;
  for (int i = 0; i < n; i++)
    if (k->e->value[parts[i]].of_row) {
      Value *one = warps_value(c, p, parts[i]);
      all = all ? build2(&k->b, OP_AND, all, one) : one;
    }
  return all;
}

/* Cell `i` of the row of `c`, with a map of its own, for values that are built apart from those of other cells. */
static WarpCell own_cell(const WarpCell *c, int i, bool on_line) {
  const WarpKernel *k = c->r->k;
  WarpCell own = {.r = c->r, .i = i, .stage = c->stage, .time = c->time, .y = c->y, .on_line = on_line};
  own.map = ARENA_ARRAY(k->b.arena, Value *, k->e->nvalues);
  return own;
}

/* Builds the cells of choice `v` as they are on all other rows: its third operand. */
static void make_others(const WarpCell *c, int v, Value **out) {
  WarpKernel *k = c->r->k;
  for (int i = 0; i < k->w.X; i++) {
    WarpCell own = own_cell(c, i, c->on_line);
    Point p = warps_point(&own);
    out[i] = warps_used(&own, &p, &k->e->value[v].uses[2]);
  }
}

/* Builds the cells of choice `v` on the row on which it matters; others[]: its cells on all other rows. */
static void choose_cells(const WarpCell *c, int v, Value *const *others, Value **out) {
  WarpKernel *k = c->r->k;
  int other = k->e->value[v].uses[2].value;
  for (int i = 0; i < k->w.X; i++) {
    WarpCell own = own_cell(c, i, true);
    Point p = warps_point(&own);
    if (k->e->value[other].kind == WARP_OP)
      own.map[other] = others[i];
    out[i] = warps_value(&own, &p, v);
  }
}

Value *warps_on_line(WarpCell *c, Point *p, int v) {
  WarpKernel *k = c->r->k;
  const WarpLevel *e = k->e;
  if (e->value[v].choice && !c->r->special && k->is_special[v])
    return warps_used(c, p, &e->value[v].uses[2]);
  if (c->on_line || k->w.X < LEAST_CELLS || !e->value[v].choice)
    return NULL;
  CellLine line = {.of = v, .version = ON_LINE, .back = c->time};
  if (cells_line(c->r->cells, line))
    return cells_get(c->r->cells, line, c->i);
  Type types[MAX_WARP_CELLS];
  Value *cells[MAX_WARP_CELLS], *others[MAX_WARP_CELLS];
  make_others(c, v, others);
  for (int i = 0; i < k->w.X; i++)
    types[i] = e->value[v].type;
  Value *one = row_condition(c, p, e->value[v].uses[0].value);
  Op *op = build_if(&k->b, build1(&k->b, OP_UNIFORM, one), k->w.X, types);
  Builder outer = k->b;
  k->b = builder_at_end(outer.arena, op->blocks[0]);
  build_bare(&k->b, OP_BARRIER_WARP);
  choose_cells(c, v, others, cells);
  build_yield(&k->b, k->w.X, cells);
  k->b = builder_at_end(outer.arena, op->blocks[1]);
  build_yield(&k->b, k->w.X, others);
  k->b = outer;
  cells_set_line(c->r->cells, line, op->results);
  return op->results[c->i];
}
