/* stream-fit.c: tests for the first and the last tile of a row, which store their halo at the grid's edge, too, where
 * tiles are fitted to the grid (mapping-size.c). */
#include "passes/tile/emit/lower-stream.h"

Value *flow_is_inner(Flow *f, int d, bool last) {
  const Box *grid = &f->l->m->grid;
  Box box = {.rank = 1, .lo = {grid->lo[d]}, .hi = {grid->hi[d]}};
  if (!f->k->over[d])
    return NULL;
  if (last)
    box.hi[0] = affine_add_const(box.hi[0], -f->k->over[d] - f->k->tile[d]);
  else
    box.lo[0] = affine_add_const(box.lo[0], 1);
  return build_inside(&f->b, 1, &f->first[d], &box);
}
