/* lower-steps.c: which numbers of time steps get a kernel of their own. A launch of the host part makes T steps; what
 * remains before the end of the run, and before each
 * evaluation of a reduction, is made by smaller ones. */
#include "passes/lower/lower.h"
#include "passes/base/tuning.h"

/* Launches of T, `t` (1: none) and 1 steps that make `steps` steps, each time the largest that does not go too far. */
static int64_t launches_of(int64_t steps, int T, int t) { return steps / T + steps % T / t + steps % T % t; }

/* Launches that the program's own run takes, or its first part if there are many stops. */
static int64_t launches_of_run(const Module *m, int T, int t) {
  int64_t at = 0, launches = 0, end = m->steps > 0 ? m->steps : m->nreductions ? INT64_MAX : 0;
  for (int i = 0; i < tuning.most_gaps && at < end; i++) {
    int64_t due = module_steps_to_reduction(m, at), gap = due < end - at ? due : end - at;
    launches += launches_of(gap, T, t);
    at += gap;
  }
  return launches;
}

int remainder_tile(const Module *m, int T, int of) {
  int64_t without = launches_of_run(m, T, 1), least = without;
  int best = 1;
  for (int t = of > 1 ? of : 2; t < T; t += of) {
    int64_t with = launches_of_run(m, T, t);
    best = with < least ? t : best;
    least = with < least ? with : least;
  }
  return without - least >= tuning.fewer_launches &&
                 (double)(without - least) * tuning.fewer_launches_in >= (double)without
             ? best
             : 1;
}

int remainder_tiles(const TargetInfo *t, const Module *m, int T, int tiles[MOST_TILES]) {
  int n = 0, between = t->late ? 1 : remainder_tile(m, T, 1);
  if (T > 1)
    tiles[n++] = T;
  if (between > 1)
    tiles[n++] = between;
  for (int half = T / 2; t->late && half > 1 && n < MOST_TILES - 1; half /= 2)
    tiles[n++] = half;
  tiles[n++] = 1;
  return n;
}

int tile_launches(const TargetInfo *t, const Module *m, Launch *out[MOST_TILES]) {
  int32_t n;
  int tiles[MOST_TILES], count = remainder_tiles(t, m, m->time_tile, tiles) - 1;
  last_level(m, &n);
  for (int i = 0; i < count && n > 0; i++) {
    const Stencil *end = m->stencils + m->nstencils, *st = end - (int64_t)n * tiles[i];
    out[i] = launch_new(m, n * tiles[i], st, st, end);
  }
  return n > 0 ? count : 0;
}
