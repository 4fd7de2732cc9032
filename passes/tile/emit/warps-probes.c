/* warps-probes.c: stores the values that probes record from the rows of a level.
 *
 * The value that a probe sees is a value of the level that goes to no field. At every level, a point's value is stored
 * to the series by the block that owns the point: the point lies in the rows and columns of the block's segment, where
 * values are right at every level. The level's reach includes the probe's. Nearly no row has a point of a probe, so all
 * of this stands behind one test of the row, which is the same for the whole warp. */
#include "passes/tile/emit/lower-warps.h"

/* Enters code that runs where `condition` holds; `uniform`: the condition is the same in all threads of the warp. */
static void enter(WarpKernel *k, Value *condition, bool uniform) {
  Loc loc = k->b.loc;
  Op *op = build_if(&k->b, uniform ? build1(&k->b, OP_UNIFORM, condition) : condition, 0, NULL);
  k->b = builder_at_end(k->b.arena, op->blocks[0]);
  k->b.loc = loc;
}

/* lo <= x < hi. */
static Value *in_range(WarpKernel *k, Value *x, Value *lo, Value *hi) {
  return build2(&k->b, OP_AND, build2(&k->b, OP_GE, x, lo), build2(&k->b, OP_LT, x, hi));
}

/* Stores cell `i` of the row of value `v` if probe `p` has a point there; y (i32): the row of the fields, `start`: the
 * index at which the row of the probe's series begins. */
static void see_cell(WarpRow *r, int v, const Probe *p, Value *y, Value *start, int i) {
  WarpKernel *k = r->k;
  const WarpSegment *s = r->s;
  Builder *b = &k->b, outer = *b;
  Box across = warps_range(k, v, 1);
  Value *x = warps_column(r, i), *from = build2(b, OP_ADD, s->x, s->from), *to = build2(b, OP_ADD, s->x, s->to);
  enter(k, build2(b, OP_AND, in_range(k, x, from, to), build_inside(b, 1, &x, &across)), false);
  Value *index[] = {warps_grid(k, y, 0, false), warps_grid(k, x, 1, false)};
  series_store(k->lo->out, *b, p, start, index, (const int64_t[MAX_RANK]){0}, warps_now(r, v)[i]);
  *b = outer;
}

void warps_see(WarpRow *r, int v) {
  WarpKernel *k = r->k;
  Builder *b = &k->b, outer = *b;
  const Probe *p = warps_probe(k->e, v);
  if (!r->special && k->is_special[v])
    return;
  Box down = warps_range(k, v, 0);
  Value *y = warps_add(k, r->y, -k->e->value[v].time);
  enter(k, build_inside(b, 1, &y, &down), true);
  enter(k, in_range(k, y, r->s->first, r->s->end), true);
  Value *level = warps_add(k, warps_mul(k, k->warp, k->w.C), r->level + 1);
  Value *done = build2(b, OP_ADD, build_step(b), build_convert(b, TY_I64, level));
  series_when_due(b, p, done);
  Value *start = series_row(k->lo->out, b, p, done);
  for (int i = 0; i < k->w.X; i++)
    see_cell(r, v, p, y, start, i);
  *b = outer;
}
