/* distribute-inside.c: adds launch checks for inclusions of regions that hold in the whole grid. There a stencil
 * computes points inside its targets' regions, and often reads fields inside their regions. The same holds in a part,
 * but bounds in a part are the larger or smaller of two values, so passes cannot prove it. The checks always succeed;
 * they are facts for passes that ask whether a rule can lead far away (passes/launch). */
#include "passes/stencil/distribute.h"

/* Notes that the points of `box`, in the part, lie inside field `field`. */
static void note(Parts *p, const Box *box, int field) {
  const Field *f = &p->m->fields[field];
  bool leads = false;
  for (int d = 0; d < box->rank; d++)
    leads = leads || (f->outside[d] != OUTSIDE_NONE && f->outside[d] != OUTSIDE_CONST && !field_lacks(f, d));
  if (!leads)
    return;
  for (int i = p->ninside - 1; i >= 0; i--)
    if (p->inside[i].field == field && box_equal(&p->inside[i].box, box))
      return;
  ARENA_PUSH(p->m->arena, p->inside, p->ninside, ((Inside){*box, field}));
}

/* Do the points of a piece on `box` lie inside field `field` of the whole grid, in all cut dimensions? */
static bool is_inside(const Parts *p, const Box *box, int field) {
  const Field *f = &p->m->fields[field];
  for (int d = 0; d < box->rank; d++)
    if (p->cut[d] && !field_lacks(f, d) && !points_inside(p->m, box, &f->box, d))
      return false;
  return true;
}

void distribute_note_inside(Parts *p, const Piece *piece, const Box *box) {
  bool ring = piece->ntargets && p->ring[piece->targets[0]];
  for (int t = 0; t < piece->ntargets; t++)
    note(p, box, piece->targets[t]);
  for (const Op *op = piece->body->first; op; op = op->next)
    if (op->code == OP_ACCESS && !p->coarse[op->sym] && (!ring || p->ring[op->sym]) &&
        is_inside(p, &piece->box, op->sym))
      note(p, box, op->sym);
}

/* Adds the check that `value` is not negative if `box` has points, unless that is obvious. */
static void add_check(Parts *p, Affine value, const Box *box, int field) {
  Module *m = p->m;
  Check c = {.value = value, .loc = m->fields[field].loc};
  if (!value.n && value.c >= 0)
    return;
  c.message = arena_printf(m->arena, "a part computes points outside of what it has of '%s'; this is a mistake in stc",
                           m->fields[field].name);
  c.unless_empty[0] = box;
  ARENA_PUSH(m->arena, m->checks, m->nchecks, c);
}

void distribute_add_checks(Parts *p) {
  for (int i = 0; i < p->ninside; i++) {
    const Box *box = &p->inside[i].box, *of = &p->m->fields[p->inside[i].field].box;
    for (int d = 0; d < box->rank; d++)
      if (p->cut[d] && !field_lacks(&p->m->fields[p->inside[i].field], d)) {
        add_check(p, affine_sub(p->m->arena, box->lo[d], of->lo[d]), box, p->inside[i].field);
        add_check(p, affine_sub(p->m->arena, of->hi[d], box->hi[d]), box, p->inside[i].field);
      }
  }
}
