/* distribute-levels.c: coarser levels of a cut grid. Each part has, and computes, the whole of a field on a coarser
 * level, so that only fields that are computed from the finest level are exchanged (FieldShare). A part's own points of
 * level 1 are those whose doubled coordinates are points of the part. */
#include "passes/stencil/distribute.h"

void distribute_levels(Parts *p) {
  const Module *m = p->m;
  p->coarse = ARENA_ARRAY(m->arena, bool, m->nfields + m->nreductions + m->nprobes + m->nupdates + 1);
  module_mark_coarse(m, p->coarse);
}

bool piece_is_coarse(const Parts *p, const Piece *piece) { return piece->ntargets && p->coarse[piece->targets[0]]; }

/* Half of `x`, which is not negative, rounded up. */
static Affine half(Parts *p, const char *name, Affine x) {
  return distribute_let(p, name, OP_DIV, affine_add_const(x, 1), affine_const(2));
}

Box distribute_coarse_box(Parts *p, Box box, bool restricts) {
  Arena *a = p->m->arena;
  for (int d = 0; d < box.rank && restricts; d++) {
    if (!p->cut[d])
      continue;
    Affine next = affine_add_const(p->part->own.hi[d], 1); /* the first point after the part's own */
    int n = p->nbounds;
    ARENA_PUSH(a, p->bounds, p->nbounds, ((Bounds){.d = -1})); /* to make names unique */
    Affine lo = half(p, arena_printf(a, "part.half.%d.%d", d, n), p->part->own.lo[d]);
    Affine hi = affine_add_const(half(p, arena_printf(a, "part.next.%d.%d", d, n), next), -1);
    lo = distribute_let(p, arena_printf(a, "part.from.%d.%d", d, n), OP_MAX, box.lo[d], lo);
    hi = distribute_let(p, arena_printf(a, "part.min.%d.%d", d, n), OP_MIN, box.hi[d], hi);
    box.hi[d] = distribute_let(p, arena_printf(a, "part.to.%d.%d", d, n), OP_MAX, affine_add_const(lo, -1), hi);
    box.lo[d] = lo;
  }
  return box;
}

bool distribute_check_coarse(const Parts *p, const Piece *piece) {
  bool ring = piece->ntargets && p->ring[piece->targets[0]];
  for (const Op *op = piece->body->first; op && ring; op = op->next) {
    const Field *f = op_reads_field(op) && p->coarse[op->sym] ? &p->m->fields[op->sym] : NULL;
    for (int d = 0; f && d < p->m->grid.rank; d++)
      if (p->turns[d] && f->outside[d] != OUTSIDE_PERIODIC && !field_lacks(f, d)) {
        diag_error(
            p->c->diags, op->loc,
            "a grid cannot yet be cut along dimension %d where a periodic field is computed from a coarser level "
            "that is not periodic, here '%s': cut another dimension",
            d, declared_name(p->m, op->sym));
        return false;
      }
  }
  return true;
}

FieldShare distribute_share(const Parts *p, int f) {
  bool gathered = false;
  for (int i = 0; i < p->m->nstencils && p->coarse[f]; i++)
    for (int t = 0; t < p->m->stencils[i].ntargets; t++)
      gathered |= p->m->stencils[i].targets[t] == f && stencil_restricts(&p->m->stencils[i], p->coarse);
  return gathered ? SHARE_GATHERED : p->coarse[f] ? SHARE_ALL : SHARE_CUT;
}

bool distribute_has_coarse(const Parts *p) {
  for (int i = 0; i < p->m->nstencils; i++)
    for (int k = 0; k < p->m->stencils[i].npieces; k++)
      if (piece_is_coarse(p, &p->m->stencils[i].pieces[k]))
        return true;
  return false;
}
