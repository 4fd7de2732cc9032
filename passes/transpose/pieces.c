/* pieces.c: finds whether pieces of a stencil form a box together, such as a layer's pieces and those beside it. */
#include "passes/transpose/transpose.h"

/* The begin or end of a piece in a dimension: `from` points from one end of the grid. */
typedef struct Cut {
  int end;
  int64_t from;
} Cut;
enum { MOST_CUTS = 64 };

/* The cut at `at`. False: its distance from the ends of the grid is not known. */
static bool cut_of(const Box *grid, int d, Affine at, Cut *out) {
  out->end = !affine_diff(at, grid->lo[d], &out->from);
  return !out->end || affine_diff(at, grid->hi[d], &out->from);
}

static bool is_before(Cut a, Cut b) { return a.end != b.end ? a.end < b.end : a.from < b.from; }

/* The index of `cut` in the sorted list of `*n`; inserts it if it is new. -1: there are too many. */
static int cut_number(Cut *list, int *n, Cut cut) {
  int i = 0;
  while (i < *n && is_before(list[i], cut))
    i++;
  if (i < *n && !is_before(cut, list[i]))
    return i;
  if (*n == MOST_CUTS)
    return -1;
  for (int k = (*n)++; k > i; k--)
    list[k] = list[k - 1];
  list[i] = cut;
  return i;
}

/* Does the work for dimension `d`: the ends of the box into *out, the number of cells between all cuts into *cells;
 * multiplies volume[k], for piece k, by the number of cells that it covers. False: it is no box. */
static bool along(const Box *grid, const Stencil *st, const bool *has, int d, Box *out, int64_t *cells,
                  int64_t *volume) {
  Cut cuts[MOST_CUTS], lo, hi;
  int n = 0, least = -1, most = -1;
  for (int pass = 0; pass < 2; pass++)
    for (int k = 0; k < st->npieces; k++) {
      const Box *box = &st->pieces[k].box;
      if (!has[k])
        continue;
      if (!cut_of(grid, d, box->lo[d], &lo) || !cut_of(grid, d, affine_add_const(box->hi[d], 1), &hi))
        return false;
      int first = cut_number(cuts, &n, lo), last = cut_number(cuts, &n, hi);
      if (first < 0 || last <= first)
        return false;
      if (!pass)
        continue;
      volume[k] *= last - first;
      least = first == 0 ? k : least;
      most = last == n - 1 ? k : most;
    }
  if (least < 0 || most < 0)
    return false;
  *cells = n - 1;
  out->lo[d] = st->pieces[least].box.lo[d];
  out->hi[d] = st->pieces[most].box.hi[d];
  return true;
}

bool pieces_box(const Module *m, const Stencil *st, const bool *has, Box *out) {
  int64_t cells, own = 0, all = 1, *volume = ARENA_ARRAY(m->arena, int64_t, st->npieces + 1);
  *out = m->grid;
  for (int k = 0; k < st->npieces; k++)
    volume[k] = 1;
  for (int d = 0; d < m->grid.rank; d++) {
    if (!along(&m->grid, st, has, d, out, &cells, volume))
      return false;
    all *= cells;
  }
  for (int k = 0; k < st->npieces; k++)
    own += has[k] ? volume[k] : 0;
  return own == all;
}
