/* rules.c: finds the accesses that can leave a field's region, and so need its outside rule. */
#include "passes/launch/launch.h"

/* Is x + off <= y for all params? */
static bool always_below(Affine x, int64_t off, Affine y) {
  int64_t diff;
  return affine_diff(y, x, &diff) && off <= diff;
}

Rules access_rules(const Module *m, const Box *box, int field, const int64_t *off) {
  const Field *f = &m->fields[field];
  Rules r = {{OUTSIDE_NONE}};
  for (int d = 0; d < m->grid.rank; d++) {
    if (f->outside[d] == OUTSIDE_NONE)
      continue;
    bool stays = (always_below(f->box.lo[d], -off[d], box->lo[d]) && always_below(box->hi[d], off[d], f->box.hi[d])) ||
                 (!off[d] && points_inside(m, box, &f->box, d));
    r.dim[d] = stays || field_lacks(f, d) ? OUTSIDE_NONE : f->outside[d];
  }
  return r;
}

Affine scaled_room(const Module *m, const Box *box, const Op *op, int d, int end) {
  const Box *of = &m->fields[op->sym].box;
  Arena *a = m->arena;
  bool fine = op->code == OP_FINE;
  Affine at = end ? box->hi[d] : box->lo[d], edge = end ? of->hi[d] : of->lo[d];
  if (!dimension_has_levels(m, d))
    return end ? affine_sub(a, edge, affine_add_const(at, op->off[d]))
               : affine_sub(a, affine_add_const(at, op->off[d]), edge);
  Affine in = fine ? affine_sub(a, affine_add_const(affine_scale(a, at, 2), op->off[d]), edge)
                   : affine_sub(a, affine_add_const(at, 2 * op->off[d]), affine_scale(a, edge, 2));
  return end ? affine_add_const(affine_scale(a, in, -1), !fine) : in;
}

bool scaled_leaves(const Module *m, const Box *box, const Op *op, int d, int end) {
  return !always_holds(m, scaled_room(m, box, op, d, end), box);
}

Rules scaled_rules(const Module *m, const Box *box, const Op *op) {
  Rules r = {{OUTSIDE_NONE}};
  for (int d = 0; d < m->grid.rank; d++)
    if (scaled_leaves(m, box, op, d, 0) || scaled_leaves(m, box, op, d, 1))
      r.dim[d] = m->fields[op->sym].outside[d];
  return r;
}

bool access_leaves(const Module *m, const Box *box, int field, const int64_t *off, int d, int end) {
  const Box *of = &m->fields[field].box;
  if (field_lacks(&m->fields[field], d))
    return false;
  return end ? !always_below(box->hi[d], off[d], of->hi[d]) : !always_below(of->lo[d], -off[d], box->lo[d]);
}

bool rules_have(const Rules *r, OutsideRule rule) {
  for (int d = 0; d < MAX_RANK; d++)
    if (r->dim[d] == rule)
      return true;
  return false;
}

bool rules_none(const Rules *r) {
  for (int d = 0; d < MAX_RANK; d++)
    if (r->dim[d] != OUTSIDE_NONE)
      return false;
  return true;
}
