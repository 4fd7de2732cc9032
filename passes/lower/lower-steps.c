/* lower-steps.c: chooses the numbers of time steps that get a kernel of their own. A launch of the host part makes T
 * steps. The steps that remain before the end of the run, and before each evaluation of a reduction, up to T - 1, need
 * launches of fewer steps. If memory bounds both, a launch of one step takes as long as one of T steps.
 *
 * GPUs (`remainder_tiles`): T, 1, and sometimes one number in between, the plan's `remainder`. `plan_remainder`
 * (`choose/mapping.c`) chooses it: it counts the launches of the program's own run, from `steps` and the reductions'
 * `every`, for each t from 2 to T - 1. The t with the fewest launches gets a kernel if it saves at least 3 launches and
 * at least a tenth of all.
 *
 * - With T = 12, 100 steps are 8 + 4 launches, and 8 + 1 with t = 4.
 * - 10000 steps are 833 + 4, and no t is worth its compile time.
 * - An `until` every 10 steps with T = 4 gets t = 2.
 * - If `--steps` gives a multiple of T, there is no remainder.
 *
 * Halving T again and again (12, 6, 3, 1) would also help with numbers of steps that nobody asked for, but doubles the
 * compile time. With `-edges=steps` (tile/frame.h) a shorter launch has a frame as well, whose kernels also make fewer
 * steps.
 *
 * CPUs, where the process that runs the kernels compiles them, do halve: T, T/2, T/4 and so on down to 1 each get a
 * kernel, the same tile with fewer levels. Lowering one takes less than a hundredth of the time that LLVM takes for it.
 * LLVM compiles a kernel between T and 1 only when a run is about to need it often enough
 * (`driver/instance/plan-late.c`): if that saves at least 3 launches, and a tenth of the run's, between one stop and
 * the next (outputs, reductions, the end). 100 steps with T = 16 are then 6 launches and one of 4 steps, and compile
 * for a quarter longer; 96 steps compile no longer than before; 15 steps after tiles of 16 are 8 + 4 + 1 + 1 + 1. A
 * kernel with the number of levels as an argument would need no second kernel, but in its innermost loop each level
 * would have to choose between memory and the ring before it. Objects (`-march=host`) have the kernels for the
 * program's own run, as on GPUs. */
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
