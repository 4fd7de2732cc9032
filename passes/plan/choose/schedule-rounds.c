/* schedule-rounds.c: chooses the rows (chunk) of a streamed tile for a grid of known size.
 *
 *   core 0:  | block | block | block | block |     a block takes as long as its chunk and the halo
 *   core 1:  | block | block | block |             without work in the last round
 *
 * *Planes*. If a core holds one block of streamed planes at a time, `n` blocks take at least n / cores rounds, each as
 * long as a block's chunk: its rows and the halo's. Longer chunks compute the halo less often, but their last round may
 * leave most cores without work. Both are known before anything is compiled; by how much such a round is shorter,
 * because the others no longer contend for memory, is measured. If the size of the grid is known and -chunk is not
 * given, the length from 32 to 192 planes is chosen for which
 *
 *     (rounds + 0.2 + 0.5 * (rounds lacking to whole ones)) * (planes + halo and lag, in multiples of 4)
 *
 * is least. Half of the lacking part is lost: the blocks of the last round are alone with the memory, and run faster.
 * 4, because at most that many steps are unrolled. The two numbers are fitted to 41 launches of star3d1r, star3d2r and
 * box3d1r, f32 and f64, on 512^3 and 768^3 (H200): the length so chosen is on an average 0.7 % from the best of those
 * measured. On 512^3 star3d1r's streamed tiles of 103 planes are 500 blocks, 3.8 on each of 132 multiprocessors; on
 * 768^3 streamed tiles of 192 planes are 4 to 5 % faster than of 64 (box3d1r: 110, 3 %). Extents of grids of 2^22
 * points and more are not rounded for it. For an unknown size: 64 planes, 128 where halo and lag are more than an
 * eighth of that.
 *
 * *Eight warps*. If blocks have 8 warps with four cells a lane, all streamed tiles are to run at once, if they have at
 * most 256 planes then: star3d1r f32 on 512^3 makes 1503 GPts/s by 126 streamed tiles of 256 planes, 1249 by 252 of
 * 128.
 *
 * *Rows*. Blocks that stream over rows are smaller, a core holds several of them, and those that are left at the end
 * run faster: whole rounds hardly matter, and on large grids longer chunks are better. In rank 2 streamed tiles have
 * 128 rows, and on grids of 2^27 points and more 256 where that makes the same product at least a hundredth less.
 * Measured on 16384^2: 256 rows in place of 128 are 4 to 5 % faster in star2d1r, box2d1r and star2d2r, 1 to 3 % in
 * box2d2r, fdtd2d and acoustic_wave (f32), and as fast or up to 3 % faster in f64.
 *
 * If other numbers than -chunk are given, rows are chosen all the same on grids from 2^24 points (rank 3) or 2^26 (rank
 * 2).
 *
 * Measured: docs/lab/streaming.md. */
#include <math.h>

#include "passes/launch/slices.h"
#include "passes/plan/cost/estimate.h"
#include "passes/base/tuning.h"
#include "passes/plan/choose/legal.h"

double stream_registers(const Mapping *p, const Schedule *s) {
  int rank = p->l->m->grid.rank;
  double cells = (double)s->elems[rank - 1] * (rank > 2 ? s->elems[1] : 1);
  return measured.rounds_registers + cells * ((double)stream_words(p) + measured.rounds_cell_registers);
}

/* Blocks side by side in the dimensions that are not streamed, and in other slices. */
static double columns(const Mapping *p, const Schedule *s, const int64_t *size) {
  double n = (s->cluster > 1 ? s->cluster : 1) * slices_of_size(p->l->m->grid.rank, size);
  for (int d = 1; d < p->l->m->grid.rank; d++)
    n *= (double)tile_count(p, s, d, size[d]);
  return n;
}

/* The approximate time of a launch on `cores` cores that hold `at_once` blocks each, if `across` columns of `size` rows
 * are streamed `rows` at a time, with `more` rows of the halo. */
static double launch_rows(double cores, double at_once, double across, int64_t size, int64_t rows, int64_t more) {
  double tiles = (double)((size + rows - 1) / rows), at_edges = tiles > 2 ? 2 / tiles : 1;
  return model_blocks_a_core(tiles * across, cores, at_once) * (double)(rows + more) *
         (1 + (measured.edge_rows - 1) * at_edges);
}

/* The same for streamed tiles of planes, of which at most MOST_WRITTEN steps are unrolled. */
enum { MOST_WRITTEN = 4 };
static double launch_planes(double cores, double at_once, double across, int64_t size, int64_t rows, int64_t more) {
  double rounds = (double)((size + rows - 1) / rows) * across / (cores * at_once);
  return (rounds + model_counted.rounds_begun + model_finished.places_lost * (ceil(rounds) - rounds)) *
         (ceil((double)(rows + more) / MOST_WRITTEN) * MOST_WRITTEN);
}

/* The number of planes of streamed tiles with the least time. */
static int32_t planes(const TargetInfo *t, double at_once, double across, int64_t size, int64_t more, int32_t usual) {
  double least = 0;
  int32_t best = usual, last = 0;
  for (int64_t tiles = 1; tiles <= size; tiles++) {
    int32_t rows = (int32_t)((size + tiles - 1) / tiles);
    double time = launch_planes(t->cores, at_once, across, size, rows, more);
    if (rows < tuning.fewest_rows)
      break;
    if (rows > tuning.most_rows || rows == last || (last && time >= least))
      continue;
    least = time;
    best = last = rows;
  }
  return best;
}

/* The number of planes of streamed tiles with so few warps that they are slow to begin: such that all tiles run at
 * once; `usual` if that is not possible. */
static int32_t planes_at_once(double places, double across, int64_t size, int32_t usual) {
  int64_t tiles = (int64_t)(places / across);
  return tiles > 0 ? (int32_t)((size + tiles - 1) / tiles) : usual;
}

/* The number of planes of streamed tiles that blocks of clusters share, `places` of which run at once: all blocks of a
 * round begin and end together. */
static int32_t planes_of_clusters(int64_t places, int64_t across, int64_t size, int64_t more, int32_t usual) {
  int64_t least = INT64_MAX;
  int32_t best = usual;
  for (int64_t tiles = 1; tiles <= size && places > 0; tiles++) {
    int64_t rows = (size + tiles - 1) / tiles, time = (across * tiles + places - 1) / places * (rows + more);
    if (tiles > 1 && rows < tuning.fewest_rows)
      break;
    best = time < least ? (int32_t)rows : best;
    least = time < least ? time : least;
  }
  return best;
}

/* The number of rows of streamed tiles: the usual one, or twice as many if that is clearly better. */
static int32_t lines(const TargetInfo *t, double at_once, double across, int64_t size, int64_t more, int32_t usual) {
  double as_usual = launch_rows(t->cores, at_once, across, size, usual, more);
  return launch_rows(t->cores, at_once, across, size, 2 * usual, more) < tuning.slightly_better * as_usual ? 2 * usual
                                                                                                           : usual;
}

/* The number of blocks of streamed tile `s` that a core holds at once. */
static int32_t blocks_at_once(const TargetInfo *t, const Mapping *p, const Schedule *s) {
  double registers = stream_registers(p, s);
  return model_occupancy(t, schedule_threads(s), registers < MOST_REGISTERS ? (int32_t)registers : MOST_REGISTERS,
                         tile_bytes(t, p, s))
      .blocks;
}

/* If planes are loaded `ahead` steps ahead: do places in the rings follow from the unrolled steps? Or else is there a
 * register for them? Where values have two words there is none. */
static bool has_places(const Mapping *p, int32_t ahead) {
  bool wide = false;
  for (int f = 0; f < p->l->m->nfields; f++)
    wide |= launch_use(p->l, f)->loaded && type_size(p->l->m->fields[f].type) > 4;
  return !wide || p->unroll % stream_slots(p, ahead) == 0;
}

int32_t stream_planes_ahead(const TargetInfo *t, const Mapping *p, const Schedule *s) {
  Schedule few = *s, more = *s;
  few.ahead = 2;
  for (more.ahead = (int32_t)tuning.usual_ahead; more.ahead > few.ahead; more.ahead--)
    if (has_places(p, more.ahead) && tile_fits(t, p, &more) &&
        stream_keeps_ring(t, p, &more) == stream_keeps_ring(t, p, &few) &&
        blocks_at_once(t, p, &more) == blocks_at_once(t, p, &few))
      break;
  return more.ahead;
}

int32_t stream_rows(const TargetInfo *t, const Mapping *p, const Schedule *s, const int64_t *size) {
  int rank = p->l->m->grid.rank;
  int64_t more = p->halo.lo[0] + p->last;
  double across = columns(p, s, size);
  if (t->cores < 1 ||
      (rank < 3 && across * (double)size[0] * (double)tile_dim(p, s, 1).stored < 2 * tuning.large_grid[1]))
    return s->chunk;
  double at_once = blocks_at_once(t, p, s);
  if (s->cluster > 1) {
    double cores = t->cores * (s->cluster > 2 ? measured.cluster_cores : 1);
    return planes_of_clusters((int64_t)(cores * at_once) / s->cluster * s->cluster, (int64_t)across, size[0], more,
                              s->chunk);
  }
  if (stream_begins_slowly(p, s))
    return planes_at_once(t->cores * at_once, across, size[0], planes(t, at_once, across, size[0], more, s->chunk));
  return (rank > 2 ? planes : lines)(t, at_once, across, size[0], more, s->chunk);
}
