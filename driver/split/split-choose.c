/* split-choose.c: how a grid is cut if only the number of parts is given: so that parts exchange least; slowest
 * dimensions first. */
#include "driver/split/split.h"

/* The weight of a cell at a cut along dimension `d` of `rank`. Cells of the slowest dimension are contiguous and are
 * sent while other tiles are computed; of middle dimensions whole rows are contiguous, but they are not sent during
 * computation; along the last dimension each cell is a run of its own. */
static double cell_cost(int rank, int d) { return d == 0 ? 1 : d < rank - 1 ? 4 : 8; }

/* x / y, rounded up. */
static int64_t over(int64_t x, int64_t y) { return (x + y - 1) / y; }

/* The cost of the exchanges of the part with the most neighbours. */
static double cut_cost(int rank, const int64_t *extents, const int64_t *parts) {
  double sum = 0;
  for (int d = 0; d < rank; d++) {
    double face = parts[d] > 2 ? 2 : parts[d] > 1 ? 1 : 0;
    for (int k = 0; k < rank; k++)
      face *= k == d ? 1 : (double)over(extents[k], parts[k]);
    sum += cell_cost(rank, d) * face;
  }
  return sum;
}

/* Tries all numbers of parts along dimension `d` and later ones, whose product is `left`; keeps the best in `best`,
 * with cost *cost (< 0: there is none yet). */
static void try_cuts(int rank, const int64_t *extents, const bool *can, int d, int64_t left, int64_t *parts,
                     int64_t *best, double *cost) {
  if (d == rank) {
    double x = cut_cost(rank, extents, parts);
    if (left > 1 || (*cost >= 0 && x >= *cost))
      return;
    *cost = x;
    for (int k = 0; k < rank; k++)
      best[k] = parts[k];
    return;
  }
  for (int64_t n = left < extents[d] ? left : extents[d]; n >= 1; n--)
    if (left % n == 0 && (n == 1 || can[d])) {
      parts[d] = n;
      try_cuts(rank, extents, can, d + 1, left / n, parts, best, cost);
    }
}

bool split_choose(int rank, const int64_t *extents, int64_t n, const bool *can, int64_t parts[MAX_RANK]) {
  int64_t tried[MAX_RANK];
  double cost = -1;
  for (int d = 0; d < MAX_RANK; d++)
    parts[d] = 1;
  try_cuts(rank, extents, can, 0, n, tried, parts, &cost);
  return cost >= 0;
}
