/* distribute-reach.c: computes the number of ghost cells that a step needs around the points of a part, and for each
 * stencil the depth among these cells at which it begins to compute. Both follow from the offsets of accesses, for each
 * side separately. So for every stencil the number of cells is the sum of its depth and of the reach of its readers. */
#include "passes/stencil/distribute.h"

/* How far points of the piece may lie beyond the region of field `field` in dimension `d`, in *out: by the piece's
 * bounds, or, if these cannot be compared, by those of the grid. False if this is not known. */
static bool distance(const Parts *p, const Piece *piece, int field, int d, int64_t *out) {
  const Field *f = &p->m->fields[field];
  const Box *box = &piece->box, *grid = &p->m->grid;
  int64_t below, above;
  bool inside = !outside_leads(f->outside[d]) || is_around(p, &f->box, d);
  *out = 0;
  for (int t = 0; t < piece->ntargets; t++)
    inside |= piece->targets[t] == field;
  if (inside)
    return true;
  if (!affine_diff(f->box.lo[d], box->lo[d], &below) && !affine_diff(f->box.lo[d], grid->lo[d], &below))
    return false;
  if (!affine_diff(box->hi[d], f->box.hi[d], &above) && !affine_diff(grid->hi[d], f->box.hi[d], &above))
    return false;
  *out = larger(0, larger(below, above));
  return true;
}

/* The number of cells below and above the point that the access reaches in dimension `d` (for a finer level, counted
 * from the first cell that the point stands for). False after an error, which is reported to `diags` unless that is
 * NULL. */
static bool access_reach(const Parts *p, const Piece *piece, const Op *op, int d, int64_t *lo, int64_t *hi,
                         Diags *diags) {
  const Field *f = &p->m->fields[op->sym];
  int64_t beyond = 0, least, most;
  if (field_lacks(f, d)) {
    *lo = *hi = 0;
    return true;
  }
  outside_reach(f->outside[d], op->off[d], &least, &most);
  *lo = larger(0, -least);
  *hi = larger(0, most);
  if (op->code != OP_FINE && !distance(p, piece, op->sym, d, &beyond)) {
    if (diags)
      diag_error(diags, op->loc,
                 "a grid cannot yet be cut along dimension %d where '%s' is read at points that may lie far from its "
                 "region: cut another dimension",
                 d, declared_name(p->m, op->sym));
    return false;
  }
  *lo += 2 * beyond;
  *hi += 2 * beyond;
  return true;
}

/* Must an access to field `f` always find a cell of the part? Yes for a temp field, which has values only where they
 * were computed, and for a field without a rule. Beyond the part's cells of any other field the rule gives a value;
 * next to another part that value is wrong, but no more wrong than ghost cells that are too far out. */
static bool must_be_there(const Field *f) { return f->temp || !outside_any(f); }

/* Processes all accesses of `st`. back: raises fields[field] by the reach of the reader's extent `x`. Otherwise: raises
 * `x` by the depth of fields in which the accessed cell must exist. False after an error. */
static bool trace_reach(const Parts *p, const Stencil *st, Extent *x, Extent *fields, bool back, Diags *diags) {
  for (int k = 0; k < st->npieces; k++)
    for (const Op *op = st->pieces[k].body->first; op; op = op->next)
      for (int d = 0; op_reads_field(op) && !p->coarse[op->sym] && d < p->m->grid.rank; d++) {
        Extent *f = &fields[op->sym];
        int64_t lo, hi;
        if (!p->cut[d])
          continue;
        if (!access_reach(p, &st->pieces[k], op, d, &lo, &hi, diags))
          return false;
        if (back) {
          f->lo[d] = larger(f->lo[d], x->lo[d] + lo);
          f->hi[d] = larger(f->hi[d], x->hi[d] + hi);
        } else if (must_be_there(&p->m->fields[op->sym])) {
          x->lo[d] = larger(x->lo[d], f->lo[d] + lo);
          x->hi[d] = larger(x->hi[d], f->hi[d] + hi);
        }
      }
  return true;
}

/* Finds the number of ghost cells that the `n` stencils at `list` need, backwards from the last one. */
static bool find_reach(const Parts *p, const Stencil *list, int n, Extent *reach, Diags *d) {
  Module *m = p->m;
  Extent *need = ARENA_ARRAY(m->arena, Extent, m->nfields + 1);
  for (int i = n - 1; i >= 0; i--) {
    Extent x = {{0}, {0}};
    for (int t = 0; t < list[i].ntargets; t++)
      extent_grow(&x, &need[list[i].targets[t]], MAX_RANK);
    if (!trace_reach(p, &list[i], &x, need, true, d))
      return false;
  }
  for (int f = 0; f < m->nfields; f++)
    extent_grow(reach, &need[f], MAX_RANK);
  return true;
}

/* Finds the depth of each stencil; temp fields have values only as deep as they were computed. */
static bool find_depths(const Parts *p, const Stencil *list, int n, Extent *depth, Diags *d) {
  Module *m = p->m;
  Extent *fields = ARENA_ARRAY(m->arena, Extent, m->nfields + 1);
  for (int i = 0; i < n; i++) {
    if (!trace_reach(p, &list[i], &depth[i], fields, false, d))
      return false;
    for (int t = 0; t < list[i].ntargets; t++)
      if (m->fields[list[i].targets[t]].temp)
        extent_grow(&fields[list[i].targets[t]], &depth[i], MAX_RANK);
  }
  return true;
}

bool distribute_find_reach(const Parts *p, const Stencil *list, int n, Extent *reach, Extent *depth, Diags *d) {
  return find_reach(p, list, n, reach, d) && find_depths(p, list, n, depth, d);
}

bool distribute_reach(Parts *p) {
  Module *m = p->m;
  p->depth = ARENA_ARRAY(m->arena, Extent, m->nstencils + 1);
  return distribute_find_reach(p, m->stencils, m->nstencils, &p->part->reach, p->depth, p->c->diags);
}
