/* lower-steps.c: which numbers of time steps get a kernel of their own. A launch of the host part makes T steps; what
 * remains before the end of the run, and before each evaluation of a reduction, is made by smaller ones.
 *
 * `remainder_tiles` (`lower-steps.c`) says which numbers of steps get a kernel: T, 1, and sometimes one in between, the
 * plan's `remainder`, which `plan_remainder` (`choose/mapping.c`) chooses. What remains after the tiles of T steps, at
 * the end of a run and before each evaluation of a reduction, is up to T - 1 steps, each a launch as long as one of a
 * tile if memory bounds both. So the launches of the program's own run are counted, from `steps` and the reductions'
 * `every`, for each t from 2 to T - 1, and the t with the fewest gets a kernel of its own if it saves 3 launches or
 * more, and a tenth of all. With T = 12, 100 steps are 8 + 4 launches, and 8 + 1 with t = 4; 10000 steps are 833 + 4,
 * and no t is worth its compile time; an `until` every 10 steps under T = 4 gets t = 2. Always halving (12, 6, 3, 1)
 * would make the remainder shorter for numbers of steps that nobody asked for, and doubles the time to compile. A
 * multiple of T that is given with `--steps` needs no remainder at all.
 * With `-edges=steps` (tile/frame.h) such a launch has the frame of T steps beside it, whose kernels make fewer as
 * well.
 *
 * On the CPU, where kernels are compiled in the process that runs them, that is what is done: T, T/2, T/4 and so on
 * down to 1 each get a kernel, the same tile with fewer levels. Lowering one takes less than a hundredth of the time
 * that LLVM takes, and LLVM gets those between T and 1 only when a run is about to make them often enough
 * (`driver/instance/plan-late.c`): if that saves 3 launches or more, and a tenth of the run's, between one stop and the
 * next (outputs, reductions, the end). 100 steps of T = 16 are then 6 launches and one of 4 steps, and compile for a
 * quarter longer; 96 steps take no longer to compile than before. A launch that is told how many levels to make would
 * need no second kernel, but its levels would have to read from memory or from the ring before them, whichever the
 * number says, in the innermost loop; 15 steps behind tiles of 16 are 8 + 4 + 1 + 1 + 1. Objects (`-march=host`) have
 * the kernels that the program's own run needs, as above. */
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
