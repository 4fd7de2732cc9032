/* schedule-rounds.c: rows of a walk for a grid of known size.
 *
 * Where a core holds one block of a walk of planes at a time, `n` blocks take at least n / cores rounds, each as long
 * as a block's walk: its rows and the halo's. Longer walks pay for the halo less often, but their last
 * round may leave most cores without work. Both are known before anything is compiled; by how much such a round is
 * shorter, where the others no longer contend for memory, is measured. Blocks that walk rows are
 * smaller, a core holds several of them, and those that are left at the end run faster: whole rounds hardly matter,
 * and on large grids longer walks are better. */
#include <math.h>

#include "passes/plan/cost/estimate.h"
#include "passes/base/tuning.h"
#include "passes/plan/choose/legal.h"

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
         (ceil((double)(rows + more) / tuning.rounded_rows) * tuning.rounded_rows);
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

/* Rows of walks of planes by so few warps that they are slow to begin: such that all are there at once; `usual` if that
 * is not possible. */
static int32_t planes_at_once(double places, double across, int64_t size, int32_t usual) {
  int64_t walks = (int64_t)(places / across);
  int64_t rows = walks > 0 ? (size + walks - 1) / walks : INT64_MAX;
  return rows <= tuning.most_rows_at_once ? (int32_t)rows : usual;
}

/* Rows of walks of rows: the usual ones, or twice as many if that is clearly better. */
static int32_t lines(const TargetInfo *t, double at_once, double across, int64_t size, int64_t more, int32_t usual) {
  double as_usual = launch_rows(t->cores, at_once, across, size, usual, more);
  return launch_rows(t->cores, at_once, across, size, 2 * usual, more) < tuning.clearly_longer * as_usual ? 2 * usual
                                                                                                          : usual;
}

/* Blocks of walk `s` that a core holds at once. */
static int32_t blocks_at_once(const TargetInfo *t, const Stream *p, const Schedule *s) {
  double registers = stream_registers(p, s);
  return model_occupancy(t, (int64_t)s->block[0] * s->block[1] * s->block[2],
                         registers < MOST_REGISTERS ? (int32_t)registers : MOST_REGISTERS, stream_shared_bytes(t, p, s))
      .blocks;
}

/* Do places in the rings by which planes come in `ahead` steps ahead follow from the steps written out? Or else is
 * there a register for them? Where values are of two words there is none. */
static bool has_places(const Stream *p, int32_t ahead) {
  bool wide = false;
  for (int f = 0; f < p->l->m->nfields; f++)
    wide |= p->l->use[f].loaded && type_size(p->l->m->fields[f].type) > 4;
  return !wide || p->unroll % stream_slots(p, ahead) == 0;
}

int32_t stream_planes_ahead(const TargetInfo *t, const Stream *p, const Schedule *s) {
  Schedule few = *s, more = *s;
  few.ahead = (int32_t)tuning.planes_ahead_least;
  for (more.ahead = (int32_t)tuning.planes_ahead; more.ahead > few.ahead; more.ahead--)
    if (has_places(p, more.ahead) && stream_fits(t, p, &more) &&
        stream_keeps_ring(t, p, &more) == stream_keeps_ring(t, p, &few) &&
        blocks_at_once(t, p, &more) == blocks_at_once(t, p, &few))
      break;
  return more.ahead;
}

int32_t stream_rows(const TargetInfo *t, const Stream *p, const Schedule *s, const int64_t *size) {
  int rank = p->l->m->grid.rank;
  int64_t more = p->halo.lo[0] + p->last;
  double across = columns(p, s, size);
  if (t->cores < 1 || (rank > 2 ? (double)size[0] > tuning.many_rows
                                : across * (double)size[0] * (double)stream_width(p, s, 1) < tuning.large_rows))
    return s->chunk;
  double at_once = blocks_at_once(t, p, s);
  if (stream_begins_slowly(p, s))
    return planes_at_once(t->cores * at_once, across, size[0], planes(t, at_once, across, size[0], more, s->chunk));
  return (rank > 2 ? planes : lines)(t, at_once, across, size[0], more, s->chunk);
}
