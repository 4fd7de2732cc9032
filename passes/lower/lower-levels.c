/* lower-levels.c: lowers reads of the next finer or coarser level of the grid to kernel IR: loads from global memory at
 * twice or half the coordinate.
 *
 *   %r = fine @x[1, 0]          ->  %p = shl %i, 1    %q = shl %j, 1    %r = load @x[%p, %q] + [1, 0]
 *   %r = coarse @x[0, -1]       ->  %p = shr %i, 1    %q = shr %j, 1    %r = load @x[%p, %q] + [0, -1]
 *
 * No stencil of the launch writes the field, and none computes points outside of the output tile, because such a
 * stencil has a launch of its own. */
#include "passes/lower/lower.h"

Value *level_value(Point *p, Builder *b, const Piece *piece, const Op *op) {
  const Module *m = p->m;
  Value *at[MAX_RANK];
  Rules rules = scaled_rules(m, &piece->box, op);
  for (int d = 0; d < m->grid.rank; d++)
    at[d] = dimension_has_levels(m, d)
                ? build2(b, op->code == OP_FINE ? OP_SHL : OP_SHR, p->index[d], build_int(b, TY_I64, 1))
                : p->index[d];
  return access_global(b, m, op->sym, load_buffer(p->lo, op->sym), &rules, at, op->off, p->guarded);
}
