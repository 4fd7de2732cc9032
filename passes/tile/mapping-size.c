/* mapping-size.c: the sizes of a schedule's tiles: points stored, shared memory, registers for kept rows, length of the
 * unrolled code.
 *
 * *Tiles fitted to the grid*. Beyond the grid there is nothing to compute, so in rank 3 the first streamed tile of a
 * row may begin with the grid's first point, and the last one may store all points up to the grid's end:
 *
 *   | W - H stored | H |                              ceil((N - 2 H) / (W - 2 H)) tiles of W points with a halo of
 *              | H | W - 2 H stored | H |             H on both sides, not ceil(N / (W - 2 H))
 *                               | H | W - H stored |
 *
 * That holds in the dimensions that are not streamed, and along which the grid is not cut, if nothing reads beyond the
 * grid: neither images of points (periodic rules) nor cells of a field that is larger than the grid. The kernel says
 * `over [0, 8, 8]`, the points that the tiles at the ends store in addition. Plans for a grid of known size have fitted
 * tiles where that makes fewer tiles.
 *
 * *Alignment*. The boundaries between the points that two fitted tiles store are half a halo away from the multiples of
 * the tile. If such a boundary lies within a sector of memory (32 bytes), two tiles write to each such sector, each a
 * part of it, so the fields' memory begins `lead` bytes later (docs/manifest.md). star3d1r in f32 on 512^3 makes 1025
 * GPts/s with even tiles, 1173 with fitted ones, and 1261 with those and `lead` 16 (H200). Memory that a caller binds
 * may lie anywhere that `alignment` allows. */
#include "passes/base/tuning.h"
#include "passes/tile/mapping.h"
#include "passes/tile/warps.h"

#include <math.h>

/* Registers of a core. */
enum { ALL_REGISTERS = 65536 };

/* ---- dimensions */

/* Does the region of field number `f` of launch `l` lie within the grid in dimension `d`, and is it read without
 * wrapping? */
static bool is_within(const Mapping *p, int f, int d) {
  const Module *m = p->l->m;
  const Box *box = &m->fields[f].box;
  int64_t before, behind;
  return !p->wraps[f][d] && affine_diff(box->lo[d], m->grid.lo[d], &before) && before >= 0 &&
         affine_diff(m->grid.hi[d], box->hi[d], &behind) && behind >= 0;
}

/* Is the module for a part of a grid that is cut along dimension `d`? Other parts lie beyond such a part's ends. */
static bool is_cut(const Module *m, int d) {
  return m->part && !(affine_equal(m->part->own.lo[d], m->part->whole.lo[d]) &&
                      affine_equal(m->part->own.hi[d], m->part->whole.hi[d]));
}

/* May tiles be fitted in dimension `d`? */
static bool can_fit(const Mapping *p, int d) {
  const Module *m = p->l->m;
  bool can = m->grid.rank == GRID_RANK && d > 0 && !p->alone && !is_cut(m, d) && !p->l->wraps[d];
  for (int f = 0; f < m->nfields && can; f++)
    if (launch_use(p->l, f)->loaded || launch_use(p->l, f)->stored || launch_use(p->l, f)->versions)
      can = is_within(p, f, d);
  return can;
}

bool stream_can_fit(const Mapping *p) { return can_fit(p, 1) || can_fit(p, GRID_RANK - 1); }

/* Warps side by side in the last dimension. */
static int64_t warps_of_line(const Schedule *s, int rank) {
  return rank == 1 ? s->block[0] / stream_lanes(s, rank) : rank == 2 ? s->block[0] : 1;
}

TileDim tile_dim(const Mapping *p, const Schedule *s, int d) {
  int rank = p->l->m->grid.rank;
  bool last = d == rank - 1, lines = p->streamed && !p->alone && last;
  const Extent *halo = p->alone ? &p->l->hull : &p->halo;
  int64_t V = s->elems[d], count = lines ? warps_of_line(s, rank) : 1;
  if (p->level && d > 0) {
    int64_t cells = (int64_t)WARP_LANES * p->shape->X, below = p->shape->halo;
    return (TileDim){DIM_LANES, cells, cells - 2 * below, below, below, 0};
  }
  if (p->streamed && d == 0 && rank > 1)
    return (TileDim){DIM_STREAMED, s->chunk + halo->lo[0] + p->last, s->chunk, halo->lo[0], p->last, 0};
  int64_t blocks = p->streamed && !p->alone && d == 1 && rank == GRID_RANK && s->cluster > 1 ? s->cluster : 1;
  TileDim t = {.cells = (lines ? stream_lanes(s, rank) : s->block[d] * blocks) * V,
               .below = halo->lo[d],
               .above = halo->hi[d]};
  if (lines || (!p->streamed && last && s->tiles == TILES_LANES)) {
    t.kind = DIM_LANES;
    t.below = round_up(t.below, V);
    t.above = round_up(t.above, V);
  }
  t.overhang = s->tiles == TILES_FITTED && p->streamed && can_fit(p, d) ? t.below + t.above : 0;
  t.stored = (t.cells - t.below - t.above) * count;
  t.cells *= count;
  return t;
}

int64_t tile_count(const Mapping *p, const Schedule *s, int d, int64_t size) {
  TileDim t = tile_dim(p, s, d);
  int64_t rest = size - t.overhang;
  return rest < 1 || t.stored < 1 ? 1 : (rest + t.stored - 1) / t.stored;
}

bool tile_has_points(const Mapping *p, const Schedule *s) {
  for (int d = 0; d < p->l->m->grid.rank; d++)
    if (tile_dim(p, s, d).stored < 1)
      return false;
  return true;
}

double tile_redundancy_in(const Mapping *p, const Schedule *s, int d) {
  TileDim t = tile_dim(p, s, d);
  return t.stored > 0 ? (double)t.cells / (double)t.stored : 1e6 * (1 - (double)t.stored);
}

double tile_redundancy(const Mapping *p, const Schedule *s) {
  double product = 1;
  for (int d = 0; d < p->l->m->grid.rank; d++)
    product *= tile_redundancy_in(p, s, d);
  return product;
}

KnobWord stream_tiles_kind(const Mapping *p, const Schedule *s, const int64_t *size) {
  Schedule even = *s, fitted = *s;
  even.tiles = TILES_EVEN;
  fitted.tiles = TILES_FITTED;
  for (int d = 1; d < p->l->m->grid.rank; d++)
    if (size[d] && tile_count(p, &fitted, d, size[d]) < tile_count(p, &even, d, size[d]))
      return TILES_FITTED;
  return TILES_OPEN;
}

/* ---- bytes */

/* Bytes that the blocks of a cluster take beside lines: signals, and words that nobody reads (stream-cluster.c). */
enum { SEAM_BYTES = 64 + 256 };

/* Bytes of shared memory that a block takes; with `rings`, including the rings of direct versions. */
static int64_t bytes_with(const Mapping *p, const Schedule *s, bool rings) {
  const Module *m = p->l->m;
  int64_t threads = schedule_threads(s), sum = 0;
  int x = m->grid.rank - 1, V = s->elems[x], E = m->grid.rank > 2 ? s->elems[1] : 1,
      lanes = stream_lanes(s, m->grid.rank);
  for (int f = 0; f < m->nfields; f++)
    for (int v = 0; v <= launch_use(p->l, f)->versions; v++) {
      const KeptVersion *w = &p->kept[f][v];
      int64_t bytes = type_size(m->fields[f].type), slots = w->across + 1;
      while (p->unroll % slots)
        slots++;
      if (v == 0 && w->used && (rings || !w->direct) && s->ahead > 1)
        sum += stream_slots(p, s->ahead + w->behind) * threads * E * V * bytes;
      if (w->used && w->across)
        sum += slots * (threads / lanes * stream_shared_lines(w, E) + w->reach_lo + w->reach_hi) * lanes * V * bytes;
    }
  return sum + (s->cluster > 1 ? SEAM_BYTES : 0);
}

/* Is there a direct version (KeptVersion.direct)? */
static bool any_direct(const Mapping *p) {
  bool any = false;
  for (int f = 0; f < p->l->m->nfields; f++)
    any |= p->kept[f][0].used && p->kept[f][0].direct;
  return any;
}

/* Do the registers of a core have room for two blocks of tile `s`, with the windows that these keep? */
static bool has_two_blocks(const Mapping *p, const Schedule *s) {
  double each = (double)stream_thread_words(p, s) + tuning.plane_registers;
  return 2 * each * (double)schedule_threads(s) <= ALL_REGISTERS;
}

bool stream_keeps_ring(const TargetInfo *t, const Mapping *p, const Schedule *s) {
  int64_t blocks = p->l->m->grid.rank < 3 || has_two_blocks(p, s) ? 2 : 1;
  return s->ahead > 1 && any_direct(p) && blocks * bytes_with(p, s, true) <= t->max_shared_bytes;
}

int32_t walk_lines(const Launch *l) {
  int64_t most = 0;
  for (int i = 0; i < l->n; i++)
    for (int k = 0; k < l->st[i].npieces; k++) {
      int64_t ops = 0;
      for (const Op *op = l->st[i].pieces[k].body->first; op; op = op->next)
        ops += op->code != OP_CONST && op->code != OP_SCALAR && op->code != OP_YIELD;
      most = larger(most, ops);
    }
  return most <= tuning.four_lines ? 4 : most <= tuning.two_lines ? 2 : 1;
}

int32_t walk_rows(const Launch *l) { return l->m->grid.rank == 2 ? walk_lines(l) : 1; }

int32_t walk_pad(const Launch *l) {
  int64_t reach = 0;
  int x = l->m->grid.rank - 1;
  for (int f = 0; f < l->m->nfields; f++)
    reach = larger(reach, larger(launch_use(l, f)->reach_lo[x], launch_use(l, f)->reach_hi[x]));
  return (int32_t)round_up(reach, ROW_CELLS);
}

int32_t walk_row(const Launch *l, int64_t width) {
  int x = l->m->grid.rank - 1;
  return row_cells(
      (int32_t)(2 * walk_pad(l) + round_up(l->hull.lo[x], ROW_CELLS) + round_up(width + l->hull.hi[x], ROW_CELLS)));
}

/* Bytes of the rings of mapping `p` under schedule `s`, with `row` cells in a row. */
static int64_t ring_bytes(const Mapping *p, const Schedule *s, int64_t row) {
  const Launch *l = p->l;
  int64_t sum = 0, plane = row * (l->m->grid.rank > 2 ? s->block[1] : 1), rows = walk_rows(l);
  for (int f = 0; f < l->m->nfields; f++)
    for (int v = 1; v <= launch_use(l, f)->versions; v++)
      if (p->kept[f][v].used && (v < launch_use(l, f)->versions || p->kept[f][v].rows))
        sum += (rows + p->kept[f][v].rows) * plane * type_size(l->m->fields[f].type);
  return sum;
}

/* Bytes of shared memory of overlapped tiles whose warps have cells in lanes: the rows that other warps read. */
static int64_t lanes_bytes(const Launch *l, const Schedule *s) {
  int64_t sum = 0;
  for (int f = 0; f < l->m->nfields; f++) {
    int32_t lo = launch_use(l, f)->rows_lo, hi = launch_use(l, f)->rows_hi;
    int64_t rows = (int64_t)s->block[0] * shared_lines(lo, hi, s->elems[0]) + lo + hi,
            bytes = rows * s->block[1] * s->elems[1] * type_size(l->m->fields[f].type);
    sum += launch_row_arrays(l, f, NULL) * round_up(bytes, 16);
  }
  return sum;
}

/* Bytes of overlapped tiles. On targets without threads all versions are in arrays, two of a field at once. */
static int64_t blocked_bytes(const TargetInfo *t, const Launch *l, const Schedule *s) {
  int32_t cells[MAX_RANK];
  int64_t bytes = 0;
  if (t->simt && s->tiles == TILES_LANES)
    return lanes_bytes(l, s);
  for (int d = 0; d < l->m->grid.rank; d++)
    cells[d] = s->block[d] * s->elems[d];
  if (t->simt)
    return launch_array_bytes(l, cells);
  for (int f = 0; f < l->m->nfields; f++)
    bytes += launch_use(l, f)->versions ? 2 * type_size(l->m->fields[f].type) : 0;
  for (int d = 0; d < l->m->grid.rank; d++)
    if (__builtin_mul_overflow(bytes, (int64_t)cells[d], &bytes))
      return INT64_MAX;
  return bytes;
}

int64_t tile_bytes(const TargetInfo *t, const Mapping *p, const Schedule *s) {
  if (p->alone)
    return ring_bytes(p, s, walk_row(p->l, larger(tile_dim(p, s, p->l->m->grid.rank - 1).stored, 1)));
  return p->streamed ? bytes_with(p, s, stream_keeps_ring(t, p, s)) : blocked_bytes(t, p->l, s);
}

int64_t stream_thread_words(const Mapping *p, const Schedule *s) {
  int rank = p->l->m->grid.rank;
  return stream_words(p) * s->elems[rank - 1] * (rank > 2 ? s->elems[1] : 1);
}

bool tile_fits(const TargetInfo *t, const Mapping *p, const Schedule *s) {
  bool limited = t->simt || p->streamed;
  return tile_has_points(p, s) && (!limited || tile_bytes(t, p, s) <= t->max_shared_bytes) &&
         (!p->streamed || p->alone || stream_thread_words(p, s) <= MOST_WINDOW_WORDS);
}

/* ---- limits of good tiles */

int64_t stream_thread_code(const Mapping *p, const Schedule *s) {
  int rank = p->l->m->grid.rank;
  return stream_code(p->l) * p->unroll * s->elems[rank - 1] * (rank > 2 ? s->elems[1] : 1);
}

int64_t stream_good_words(const Schedule *s, int rank) {
  int64_t threads = schedule_threads(s), share = (int64_t)SCHEDULERS * WARP_LANES,
          each = ALL_REGISTERS / ((threads + share - 1) / share * share) - tuning.plane_registers;
  if (rank < 3 || each < tuning.good_words[rank - 1])
    return tuning.good_words[rank - 1];
  return each < tuning.most_words ? each : tuning.most_words;
}

bool stream_begins_slowly(const Mapping *p, const Schedule *s) {
  int rank = p->l->m->grid.rank;
  return rank == GRID_RANK && schedule_threads(s) <= tuning.fewest_threads && 4 * s->elems[rank - 1] >= VECTOR_BYTES;
}

/* The greatest number of instructions of the unrolled steps of `s`. In three dimensions the bound is for blocks of
 * plane_warps warps. For blocks of fewer warps, down to half of that, it is higher by the same factor, because they
 * fetch these instructions less often and have registers to begin long loads early. */
static double most_code(const Mapping *p, const Schedule *s) {
  int rank = p->l->m->grid.rank;
  double fewer = tuning.plane_warps * WARP_LANES / (double)schedule_threads(s);
  return tuning.good_code[rank - 1] * (rank < GRID_RANK ? 1 : fmax(1, fmin(2, fewer)));
}

bool stream_code_is_short(const Mapping *p, const Schedule *s) {
  return (double)stream_thread_code(p, s) <= most_code(p, s);
}

bool stream_is_comfortable(const Mapping *p, const Schedule *s) {
  return stream_thread_words(p, s) <= stream_good_words(s, p->l->m->grid.rank) && stream_code_is_short(p, s);
}
