/* stream-fitted.c: streamed tiles of planes that are fitted to the grid.
 *
 * (`tiles=fitted` in a plan.) There is nothing to compute beyond the grid, so the first tile of a row begins with the
 * grid's first point and stores its halo, too, and so does the last at the other end: tiles of W points with a halo of
 * H are ceil((N - 2 H) / (W - 2 H)) in place of ceil(N / (W - 2 H)), 9 and not 10 tiles of 64 for 512 with H = 4. It is
 * possible in each dimension that is not streamed in which no launch reads images of points (periodic rules) and no
 * field is larger than the grid; parts of a grid have even tiles. The kernel says `over [0, 8, 8]`, the points that the
 * tiles at the ends store in addition. Plans for a grid of known size are fitted where that makes fewer tiles. The
 * seams between the results of tiles are then half a halo away from where a multiple of the tile would put them. If
 * that is within a sector of memory (32 bytes), each seam is written by two tiles, in parts, so the fields' memory
 * begins `lead` bytes later (manifest (docs/manifest.md)): star3d1r in f32 on 512^3 makes 1025 GPts/s with even tiles,
 * 1173 with fitted ones, and 1261 with those and `lead` 16 (H200). Memory that a caller binds may lie anywhere that
 * `alignment` allows. */
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
