/* ir/shape.c: extents under a program's scalars (of the grid, of fields and arrays, of buffers), and the warps of
 * kernels. module.c and all code that prints or runs modules use it. */
#include "ir/run/run.h"

int64_t field_layout(const Field *f, const Const *scalars, int64_t shape[MAX_RANK]) {
  int64_t points = field_shape(f, scalars, shape);
  int last = f->box.rank - 1;
  if (!f->pitch)
    return points;
  points = points ? points / shape[last] * scalars[f->pitch - 1].i : 0;
  shape[last] = scalars[f->pitch - 1].i;
  return points;
}

int64_t field_shape(const Field *f, const Const *scalars, int64_t shape[MAX_RANK]) {
  int64_t points = 1;
  for (int k = 0; k < f->box.rank; k++) {
    int64_t lo = affine_eval(f->box.lo[k], scalars, NULL), hi = affine_eval(f->box.hi[k], scalars, NULL);
    shape[k] = hi < lo ? 0 : hi - lo + 1;
    points *= shape[k];
  }
  return points;
}

int64_t param_array_extent(const ParamArray *p, const Const *scalars) {
  int64_t n = affine_eval(p->extent, scalars, NULL);
  return n > 0 ? n : 0;
}

int64_t grid_members(const Module *m, const Const *scalars) {
  int64_t n = affine_eval(m->grid.hi[0], scalars, NULL) - affine_eval(m->grid.lo[0], scalars, NULL) + 1;
  return n > 0 ? n : 0;
}

int64_t buffer_shape(const Module *m, int buffer, const Const *scalars, int64_t shape[MAX_RANK]) {
  const Buffer *b = &m->buffers[buffer];
  if (b->kind == BUFFER_FIELD)
    return field_layout(&m->fields[b->field], scalars, shape);
  if (b->kind == BUFFER_SCRATCH)
    return shape[0] = b->cells * (b->each ? grid_members(m, scalars) : 1);
  return shape[0] = param_array_extent(&m->param_arrays[b->field], scalars);
}

int32_t kernel_lanes(const Kernel *k) { return k->lanes ? k->lanes : WARP_LANES; }

int32_t kernel_warp(const Kernel *k) { return k->lanes > WARP_LANES ? k->lanes : WARP_LANES; }
