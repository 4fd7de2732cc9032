/* merge-points.c: merges a stencil on one point into the stencil directly before it that computes the changed field, as
 * a choice at the point:
 *
 *   stencil wave(p)[G]      p = W                    stencil wave(p)[G]   p = select(idx == [z, x], W + src, W)
 *   stencil shot(p)[z, x]   p = p + src       ->
 *
 * A point source is such a stencil. By itself it is a stage of the step like any other, over all tiles: it costs a
 * launch in family naive, one more array or barrier in others, and values that it does not change cannot stay in
 * registers.
 *
 * Merging must change no value. For all params the point must lie in one piece of the other stencil, and that piece
 * must write all targets of this stencil. This stencil must read those targets, and all other fields, at the point
 * alone; the other fields must be written neither by the other stencil nor by one in between. No stencil in between may
 * read or write its targets.
 *
 * A stencil that -fuse= names stays by itself. */
#include "passes/launch/launch.h"
#include "passes/registry.h"

#include <string.h>

/* The state of the pass on module `m`, whose list of stencils is its own; cut: the cut that the user names, NULL:
 * none. */
typedef struct Merge {
  Module *m;
  const char *cut;
} Merge;

/* The piece of `st` that contains the point of `point` for all params; NULL if none is known to. */
static Piece *piece_around(const Module *m, const Stencil *st, const Piece *point) {
  for (int i = 0; i < st->npieces; i++)
    if (box_always_inside(m, &point->box, &st->pieces[i].box))
      return &st->pieces[i];
  return NULL;
}

/* Merges stencil number `n` into the piece that contains its point, if that is allowed. */
static bool merge_at(const Merge *x, int n) {
  const Stencil *point = &x->m->stencils[n];
  int i = stencil_is_point(x->m, point) && !cut_has(x->cut, point->name) ? point_maker(x->m, n) : -1;
  Piece *into = i < 0 ? NULL : piece_around(x->m, &x->m->stencils[i], point->pieces);
  return into && point_merge(x->m, n, into);
}

/* Copies the list of stencils; other modules may share it. */
static void own_stencils(Module *m) {
  Stencil *own = ARENA_ARRAY(m->arena, Stencil, m->nstencils + 1);
  memcpy(own, m->stencils, sizeof *own * (size_t)m->nstencils);
  m->stencils = own;
}

/* The pass: the whole step. */
Module *pass_merge_points(PassContext *c, Module *m, int n, const PassOption *o) {
  Merge x = {m, c->schedule ? c->schedule->fuse : NULL};
  int merged = 0;
  (void)n, (void)o;
  if (m->time_tile > 1 || m->nstencils < 2)
    return m;
  module_renumber(m);
  own_stencils(m);
  for (int i = 1; i < m->nstencils; i++) {
    if (!merge_at(&x, i))
      continue;
    i--;
    merged++;
  }
  pass_stat(c, merged, "merge-points", "stencils on a point merged into those before them");
  return m;
}
