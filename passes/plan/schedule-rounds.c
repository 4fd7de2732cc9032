/* schedule-rounds.c: rows of a walk for a grid of known size.
 *
 * Where a core holds one block of a walk of planes at a time, `n` blocks take at least n / cores rounds, each as long
 * as a block's walk: its rows and the halo's. Longer walks pay for the halo less often, but their last
 * round may leave most cores without work. Both are known before anything is compiled; by how much such a round is
 * shorter, where the others no longer contend for memory, is measured. Blocks that walk rows are
 * smaller, a core holds several of them, and those that are left at the end run faster: whole rounds hardly matter,
 * and on large grids longer walks are better. */
#include <math.h>

#include "passes/plan/estimate.h"
#include "passes/plan/tuning.h"
#include "passes/plan/schedule.h"

/* Rows from which on a grid has so many walks that whole rounds are no matter. */
enum { MANY_ROWS = 1 << 16, MOST_REGISTERS = 255 };
/* Steps written out at most, in whose multiples walks of planes go. */
enum { WRITTEN_OUT = 4 };
double stream_registers(const Stream *p, const Schedule *s) {
  int rank = p->l->m->grid.rank;
  double cells = (double)s->elems[rank - 1] * (rank > 2 ? s->elems[1] : 1);
  return tuning.walk_registers + cells * ((double)stream_words(p) + tuning.cell_registers);
}

/* Tiles beside each other in the dimensions that are not walked. */
static double columns(const Stream *p, const Schedule *s, const int64_t *size) {
  double n = 1;
  for (int d = 1; d < p->l->m->grid.rank; d++)
    n *= (double)stream_tiles(p, s, d, size[d]);
  return n;
}

/* About the time of a launch on `cores` cores that hold `at_once` blocks each, if `across` columns of `size` rows are
 * walked `rows` at a time, with `more` of the halo. */
static double launch_rows(double cores, double at_once, double across, int64_t size, int64_t rows, int64_t more) {
  double walks = (double)((size + rows - 1) / rows), at_edges = walks > 2 ? 2 / walks : 1;
  return model_blocks_a_core(walks * across, cores, at_once) * (double)(rows + more) *
         (1 + (tuning.edge_rows - 1) * at_edges);
}

/* The same for walks of planes. */
static double launch_planes(double cores, double at_once, double across, int64_t size, int64_t rows, int64_t more) {
  double rounds = (double)((size + rows - 1) / rows) * across / (cores * at_once);
  return (rounds + tuning.round_begun + tuning.round_lost * (ceil(rounds) - rounds)) *
         (double)((rows + more + WRITTEN_OUT - 1) / WRITTEN_OUT * WRITTEN_OUT);
}

/* Rows of walks of planes: those that take least time. */
static int32_t planes(const TargetInfo *t, double at_once, double across, int64_t size, int64_t more, int32_t usual) {
  double least = 0;
  int32_t best = usual, last = 0;
  for (int64_t walks = 1; walks <= size; walks++) {
    int32_t rows = (int32_t)((size + walks - 1) / walks);
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

/* Rows of walks of rows: the usual ones, or twice as many if that is clearly better. */
static int32_t lines(const TargetInfo *t, double at_once, double across, int64_t size, int64_t more, int32_t usual) {
  double as_usual = launch_rows(t->cores, at_once, across, size, usual, more);
  return launch_rows(t->cores, at_once, across, size, 2 * usual, more) < tuning.clearly_longer * as_usual ? 2 * usual
                                                                                                          : usual;
}

int32_t stream_rows(const TargetInfo *t, const Stream *p, const Schedule *s, const int64_t *size) {
  int rank = p->l->m->grid.rank;
  int64_t threads = (int64_t)s->block[0] * s->block[1] * s->block[2], more = p->halo.lo[0] + p->last;
  double registers = stream_registers(p, s), across = columns(p, s, size);
  if (t->cores < 1 ||
      (rank > 2 ? size[0] > MANY_ROWS : across * (double)size[0] * (double)stream_width(p, s, 1) < tuning.large_rows))
    return s->chunk;
  Occupancy o = model_occupancy(t, threads, registers < MOST_REGISTERS ? (int32_t)registers : MOST_REGISTERS,
                                stream_shared_bytes(t, p, s));
  return (rank > 2 ? planes : lines)(t, o.blocks, across, size[0], more, s->chunk);
}
