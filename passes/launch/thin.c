/* thin.c: launches of one stencil that computes few points of the grid, such as those along its edges. */
#include "passes/launch/launch.h"

/* Pieces of so many points across are thin where the grid's extent is known at launch only; else all pieces of a
 * stencil together are if they have at most one of so many of the grid's points. */
enum { THIN_POINTS = 32, THIN_SHARE = 8 };

/* At most so much of the points of `grid` are in `box`, where a param says how large the grid is or it is a constant.
 */
static double share_of(Arena *a, const Box *box, const Box *grid) {
  double least = 1;
  for (int d = 0; d < box->rank; d++) {
    Affine piece = box_extent(a, box, d), all = box_extent(a, grid, d);
    double share = piece.n                  ? 1
                   : !all.n && all.c > 0    ? (double)piece.c / (double)all.c
                   : piece.c <= THIN_POINTS ? 1.0 / (THIN_SHARE * THIN_POINTS)
                                            : 1;
    least = share < least ? share : least;
  }
  return least;
}

/* Are the pieces of `st` thin? */
static bool is_thin(const Module *m, const Stencil *st) {
  double sum = 0;
  for (int i = 0; i < st->npieces; i++)
    sum += share_of(m->arena, &st->pieces[i].box, &m->grid);
  return sum * THIN_SHARE <= 1;
}

/* Has the launch one instance, on the output tile alone, none of whose fields' buffers move on? */
static bool is_plain(const Launch *l) {
  bool plain = l->n == 1;
  for (int d = 0; d < l->m->grid.rank; d++)
    plain = plain && !l->hull.lo[d] && !l->hull.hi[d] && !l->wraps[d];
  for (int f = 0; f < l->m->nfields; f++)
    plain = plain && l->use[f].from < 0 && l->use[f].into < 0;
  return plain;
}

void launch_copy_back(Launch *l) {
  l->thin = is_plain(l) && is_thin(l->m, l->st);
  if (!l->thin)
    return;
  for (int t = 0; t < l->st->ntargets; t++) {
    FieldUse *u = &l->use[l->st->targets[t]];
    u->back = u->paired && stencil_keeps(l->m, l->st, l->st->targets[t]);
  }
}
