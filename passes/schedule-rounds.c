/* schedule-rounds.c: rows of a walk such that the blocks of a grid of known size fill the cores in whole rounds.
 *
 * Where a core holds one block of a walk of planes at a time, `n` blocks take ceil(n / cores) rounds, each as long as a block's walk: its rows and the halo's. Longer walks pay for the halo less often, but their last
 * round may leave most cores without work, and more of the tiles are at an edge. All three are known before anything is compiled. */
#include "passes/estimate.h"
#include "passes/stream.h"

/* Rows of the walks that are looked at; rows from which on a grid has so many walks that whole rounds are no matter. */
enum { FEWEST_ROWS = 32, MOST_ROWS = 192, MANY_ROWS = 1 << 16, MOST_REGISTERS = 255 };
/* Time of a tile at an edge of dimension 0 over that of others, by instructions counted; registers of a thread beside those of its windows, and more for each of its cells. */
static const double AT_EDGE = 1.25, OWN_REGISTERS = 40, CELL_REGISTERS = 3;

double stream_registers(const Stream *p, const Schedule *s) {
  int rank = p->l->m->grid.rank;
  double cells = (double)s->elems[rank - 1] * (rank > 2 ? s->elems[1] : 1);
  return OWN_REGISTERS + cells * ((double)stream_words(p) + CELL_REGISTERS);
}

/* Tiles beside each other in the dimensions that are not walked. */
static double columns(const Stream *p, const Schedule *s, const int64_t *size) {
  double n = 1;
  for (int d = 1; d < p->l->m->grid.rank; d++) {
    int64_t width = stream_width(p, s, d);
    n *= width > 0 ? (double)((size[d] + width - 1) / width) : 1;
  }
  return n;
}

/* About the time of a launch on `cores` cores that hold `at_once` blocks each, if `across` columns of `size` rows are walked `rows` at a time, with `more` of the halo. */
static double launch_rows(double cores, double at_once, double across, int64_t size, int64_t rows, int64_t more) {
  double walks = (double)((size + rows - 1) / rows), at_edges = walks > 2 ? 2 / walks : 1;
  return model_blocks_a_core(walks * across, cores, at_once) * (double)(rows + more) * (1 + (AT_EDGE - 1) * at_edges);
}

int32_t stream_rows(const TargetInfo *t, const Stream *p, const Schedule *s, const int64_t *size) {
  int64_t threads = (int64_t)s->block[0] * s->block[1] * s->block[2], more = p->halo.lo[0] + p->last;
  double registers = stream_registers(p, s), across = columns(p, s, size), least = 0;
  int32_t best = s->chunk, last = 0;
  if (t->cores < 1 || size[0] > MANY_ROWS)
    return best;
  Occupancy o = model_occupancy(t, threads, registers < MOST_REGISTERS ? (int32_t)registers : MOST_REGISTERS, stream_shared_bytes(t, p, s));
  for (int64_t walks = 1; walks <= size[0]; walks++) {
    int32_t rows = (int32_t)((size[0] + walks - 1) / walks);
    double time = launch_rows(t->cores, o.blocks, across, size[0], rows, more);
    if (rows < FEWEST_ROWS)
      break;
    if (rows > MOST_ROWS || rows == last || (last && time >= least))
      continue;
    least = time;
    best = last = rows;
  }
  return best;
}
