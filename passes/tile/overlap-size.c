/* overlap-size.c: what overlapped tiles of a schedule come to, in lanes or not: points given out, bytes, points
 * computed twice. */
#include "passes/tile/lanes.h"
#include "passes/tile/size.h"

/* x in whole lanes of V cells. */
static int64_t in_lanes(int64_t x, int V) { return (x + V - 1) / V * V; }

int64_t lanes_halo(const Launch *l, int V) { return in_lanes(l->hull.lo[l->m->grid.rank - 1], V); }

int64_t overlap_width(const Launch *l, const Schedule *s, int d) {
  int64_t cells = (int64_t)s->block[d] * s->elems[d];
  if (s->tiles != TILES_LANES || d < l->m->grid.rank - 1)
    return launch_width(l, d, cells);
  return cells - in_lanes(l->hull.lo[d], s->elems[d]) - in_lanes(l->hull.hi[d], s->elems[d]);
}

int64_t lanes_bytes(const Lanes *x, const Schedule *s) {
  const Launch *l = x->l;
  int64_t sum = 0;
  for (int f = 0; f < l->m->nfields; f++) {
    const LaneRows *r = &x->rows[f];
    int64_t rows =
                (int64_t)s->block[0] * shared_lines(r->reach_lo, r->reach_hi, s->elems[0]) + r->reach_lo + r->reach_hi,
            bytes = rows * s->block[1] * s->elems[1] * type_size(l->m->fields[f].type);
    sum += r->arrays * ((bytes + 15) / 16 * 16);
  }
  return sum;
}

/* Cells of a block, by dimension. */
static void cells_of(const Schedule *s, int rank, int32_t *cells) {
  for (int d = 0; d < rank; d++)
    cells[d] = s->block[d] * s->elems[d];
}

int64_t overlap_bytes(const TargetInfo *t, const Launch *l, const Schedule *s) {
  int rank = l->m->grid.rank;
  int32_t cells[MAX_RANK];
  int64_t bytes = 0;
  cells_of(s, rank, cells);
  if (t->simt)
    return s->tiles == TILES_LANES ? lanes_bytes(lanes_new(l), s) : launch_array_bytes(l, cells);
  for (int f = 0; f < l->m->nfields; f++)
    bytes += l->use[f].versions ? 2 * type_size(l->m->fields[f].type) : 0;
  for (int d = 0; d < rank; d++)
    if (__builtin_mul_overflow(bytes, (int64_t)cells[d], &bytes))
      return INT64_MAX;
  return bytes;
}

bool overlap_has_width(const Launch *l, const Schedule *s) {
  for (int d = 0; d < l->m->grid.rank; d++)
    if (overlap_width(l, s, d) < 1)
      return false;
  return true;
}

double overlap_redundancy_in(const Launch *l, const Schedule *s, int d) {
  double cells = (double)s->block[d] * s->elems[d], width = (double)overlap_width(l, s, d);
  return width > 0 ? cells / width : 1e6 * (1 - width);
}

double overlap_redundancy(const Launch *l, const Schedule *s) {
  double product = 1;
  for (int d = 0; d < l->m->grid.rank; d++)
    product *= overlap_redundancy_in(l, s, d);
  return product;
}
