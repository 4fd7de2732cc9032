/* merge-points.c: a stencil on one point, directly after the stencil that computes the changed field, becomes a part of
 * that stencil, as a choice at the point:
 *
 *   stencil wave(p)[G]      p = W                    stencil wave(p)[G]   p = select(idx == [z, x], W + src, W)
 *   stencil shot(p)[z, x]   p = p + src       ->
 *
 * A point source is such a stencil. By itself it is a stage of the step like any other, over all tiles: a launch in
 * family naive, one more array or barrier in others, and values that it does not change cannot stay in registers.
 *
 * Merging must change no value. For all params the point lies in one piece of the other stencil, and that piece sets
 * all targets of this stencil. This stencil reads those targets, and everything else, at the point alone, from fields
 * that neither the other stencil nor one in between writes. No stencil in between reads or writes its targets.
 *
 * A stencil that -fuse= names stays by itself. */
#include "passes/launch/launch.h"
#include "passes/registry.h"

#include <string.h>

/* The pass at work on module `m`, whose stencils are its own; cut: the cut that the user asks for, NULL: none. */
typedef struct Merge {
  Module *m;
  const char *cut;
} Merge;

/* The piece of `st` in which the point of `point` lies for all params, NULL: none is known to be that. */
static Piece *piece_around(const Module *m, const Stencil *st, const Piece *point) {
  for (int i = 0; i < st->npieces; i++)
    if (box_always_inside(m, &point->box, &st->pieces[i].box))
      return &st->pieces[i];
  return NULL;
}

/* Merges stencil number `n` into the piece in which its point lies, if it may be. */
static bool merge_at(const Merge *x, int n) {
  const Stencil *point = &x->m->stencils[n];
  int i = stencil_is_point(x->m, point) && !cut_has(x->cut, point->name) ? point_maker(x->m, n) : -1;
  Piece *into = i < 0 ? NULL : piece_around(x->m, &x->m->stencils[i], point->pieces);
  return into && point_merge(x->m, n, into);
}

/* Copies the list of stencils: other modules may share it. */
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
