/* stream-fitted.c: tiles of walks of planes that are fitted to the grid. Beyond the grid there is nothing to compute,
 * so the first tile of a row may begin with the grid's first point and the last one may give out all up to its end:
 * tiles of W points with a halo of H on both sides are then ceil((N - 2 H) / (W - 2 H)), not ceil(N / (W - 2 H)). That
 * holds in the dimensions that are not walked, and that the grid is not cut along, where nothing reads beyond the grid:
 * neither images of points (periodic rules) nor cells of a field that is larger than the grid. */
#include "passes/tile/size.h"

/* Is the region of field number `f` of launch `l` within the grid in dimension `d`, and read where it is? */
static bool is_within(const Stream *p, int f, int d) {
  const Module *m = p->l->m;
  const Box *box = &m->fields[f].box;
  int64_t before, behind;
  return !p->wraps[f][d] && affine_diff(box->lo[d], m->grid.lo[d], &before) && before >= 0 &&
         affine_diff(m->grid.hi[d], box->hi[d], &behind) && behind >= 0;
}

/* Is the module for a part of a grid that is cut along dimension `d`? Beyond it are other parts. */
static bool is_cut(const Module *m, int d) {
  return m->part && !(affine_equal(m->part->own.lo[d], m->part->whole.lo[d]) &&
                      affine_equal(m->part->own.hi[d], m->part->whole.hi[d]));
}

/* May tiles be fitted in dimension `d`? */
static bool can_fit(const Stream *p, int d) {
  const Module *m = p->l->m;
  bool can = m->grid.rank == MAX_RANK && d > 0 && !p->alone && !is_cut(m, d) && !p->l->wraps[d];
  for (int f = 0; f < m->nfields && can; f++)
    if (p->l->use[f].loaded || p->l->use[f].stored || p->l->use[f].versions)
      can = is_within(p, f, d);
  return can;
}

bool stream_can_fit(const Stream *p) { return can_fit(p, 1) || can_fit(p, MAX_RANK - 1); }

int64_t stream_overhang(const Stream *p, const Schedule *s, int d) {
  int64_t V = s->elems[d];
  if (s->tiles != TILES_FITTED || !can_fit(p, d))
    return 0;
  if (d < MAX_RANK - 1)
    return p->halo.lo[d] + p->halo.hi[d];
  return ((p->halo.lo[d] + V - 1) / V + (p->halo.hi[d] + V - 1) / V) * V;
}

int64_t stream_tiles(const Stream *p, const Schedule *s, int d, int64_t size) {
  int64_t width = stream_width(p, s, d), rest = size - stream_overhang(p, s, d);
  return rest < 1 || width < 1 ? 1 : (rest + width - 1) / width;
}

KnobWord stream_tiles_kind(const Stream *p, const Schedule *s, const int64_t *size) {
  Schedule even = *s, fitted = *s;
  even.tiles = TILES_EVEN;
  fitted.tiles = TILES_FITTED;
  for (int d = 1; d < p->l->m->grid.rank; d++)
    if (size[d] && stream_tiles(p, &fitted, d, size[d]) < stream_tiles(p, &even, d, size[d]))
      return TILES_FITTED;
  return TILES_OPEN;
}
