/* distribute-init.c: inits of a grid that is cut. A part runs inits on all of its cells, like the stencils of a step.
 * The cells that it owns are then right, if it has as many ghost cells as all inits together reach. The ghost cells are
 * not: after inits that read other points than their own, a launcher exchanges all fields. */
#include "passes/stencil/distribute.h"

/* Are all targets of the piece rings, and all fields that it reads rings whose values beyond the edges are right?
 * (astray[f]: those of f are wrong.) */
static bool goes_around(const Parts *p, const Piece *piece, const bool *astray) {
  bool around = piece->ntargets > 0;
  for (int t = 0; t < piece->ntargets; t++)
    around = around && p->ring[piece->targets[t]];
  for (const Op *op = piece->body->first; op && around; op = op->next)
    if (op->code == OP_ACCESS)
      around = p->ring[op->sym] && !astray[op->sym];
  return around;
}

/* Do all accesses of the piece read right values? From a field that is astray it may read the point itself only. */
static bool finds_all(const Parts *p, const Piece *piece, const bool *astray) {
  for (const Op *op = piece->body->first; op; op = op->next) {
    if (op->code != OP_ACCESS)
      continue;
    if (!distribute_check_access(p, piece, op, NULL))
      return false;
    for (int d = 0; d < p->m->grid.rank; d++)
      if (astray[op->sym] && p->cut[d] && op->off[d])
        return false;
  }
  return true;
}

/* Decides for each piece whether it is computed beyond the edges. A ring that a piece computes only within the edges is
 * astray beyond them, until it is exchanged. False: parts cannot run the inits. */
static bool choose_pieces(Parts *p) {
  Module *m = p->m;
  bool *astray = ARENA_ARRAY(m->arena, bool, m->nfields + 1);
  p->turned = ARENA_ARRAY(m->arena, bool *, m->ninits + 1);
  for (int i = 0; i < m->ninits; i++) {
    const Stencil *st = &m->inits[i];
    p->turned[i] = ARENA_ARRAY(m->arena, bool, st->npieces + 1);
    for (int k = 0; k < st->npieces; k++) {
      p->turned[i][k] = goes_around(p, &st->pieces[k], astray);
      if (!finds_all(p, &st->pieces[k], astray))
        return false;
    }
    for (int k = 0; k < st->npieces; k++)
      for (int t = 0; t < st->pieces[k].ntargets; t++)
        if (p->ring[st->pieces[k].targets[t]] && !p->turned[i][k])
          astray[st->pieces[k].targets[t]] = true;
  }
  return true;
}

void distribute_choose_inits(Parts *p) {
  Module *m = p->m;
  for (int f = 0; f < m->nfields; f++)
    p->inits = p->inits && !p->coarse[f]; /* launches of inits cover a part's grid only */
  if (!p->inits)
    return;
  p->init_depth = ARENA_ARRAY(m->arena, Extent, m->ninits + 1);
  p->inits = choose_pieces(p) && distribute_find_reach(p, m->inits, m->ninits, &p->init_reach, p->init_depth, NULL);
  if (!p->inits)
    p->init_reach = (Extent){{0}, {0}};
}
