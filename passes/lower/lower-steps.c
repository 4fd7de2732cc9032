/* lower-steps.c: which numbers of time steps get a kernel of their own. A launch of the host part makes T steps; what
 * remains before the end of the run, and before each
 * evaluation of a reduction, is made by smaller ones. */
#include "passes/lower/lower.h"

int remainder_tiles(const TargetInfo *t, const Schedule *s, int T, int tiles[MOST_TILES]) {
  int n = 0, between = t->late ? 1 : map_get(s, MAP_REMAINDER);
  if (T > 1)
    tiles[n++] = T;
  if (between > 1 && between < T)
    tiles[n++] = between;
  for (int half = T / 2; t->late && half > 1 && n < MOST_TILES - 1; half /= 2)
    tiles[n++] = half;
  tiles[n++] = 1;
  return n;
}

int tile_launches(const TargetInfo *t, const Module *m, const Schedule *s, Launch *out[MOST_TILES]) {
  int32_t n;
  int tiles[MOST_TILES], count = remainder_tiles(t, s, m->time_tile, tiles) - 1;
  last_level(m, &n);
  for (int i = 0; i < count && n > 0; i++) {
    const Stencil *end = m->stencils + m->nstencils, *st = end - (int64_t)n * tiles[i];
    out[i] = launch_new(m, n * tiles[i], st, st, end);
  }
  return n > 0 ? count : 0;
}
