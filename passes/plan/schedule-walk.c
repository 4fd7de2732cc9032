/* schedule-walk.c: the size of tiles that one thread walks (lower-walk.c). schedule-stream.c asks it on targets
 * without threads. */
#include "passes/plan/estimate.h"
#include "passes/lower/walk.h"

#include <inttypes.h>
#include <math.h>

/* Operations of the largest piece up to which 4 and 2 lines are computed together: more lines share more loads, but
 * need more registers. */
enum { FEW_OPS = 24, SOME_OPS = 60 };
/* Additions that a step and point take the time of, above which arithmetic bounds a tile of half as many time steps as
 * others get. */
enum { LONG_STEP = 24 };
/* Limits of any request. */
enum { MAX_POINTS = 1 << 20, MAX_ROWS = 1 << 20 };
/* Chunks of small grids are made shorter, so that all cores have two of them, but no shorter than this. */
enum { LEAST_CHUNK = 32 };

static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }

/* `n` rounded up to a multiple of `of`. */
static int64_t round_up(int64_t n, int64_t of) { return (n + of - 1) / of * of; }

int64_t walk_width(const Launch *l, const Schedule *s, int d) {
  return d == 0 ? s->chunk : launch_width(l, d, s->block[d]);
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
  return most <= FEW_OPS ? 4 : most <= SOME_OPS ? 2 : 1;
}

int32_t walk_rows(const Launch *l) { return l->m->grid.rank == 2 ? walk_lines(l) : 1; }

int32_t walk_ring(const Stream *p, int field, int v) { return walk_rows(p->l) + p->w[field][v].rows; }

int32_t walk_pad(const Launch *l) {
  int64_t reach = 0;
  int x = l->m->grid.rank - 1;
  for (int f = 0; f < l->m->nfields; f++)
    reach = larger(reach, larger(l->use[f].reach_lo[x], l->use[f].reach_hi[x]));
  return (int32_t)round_up(reach, ROW_CELLS);
}

int32_t walk_row(const Launch *l, int64_t width) {
  int x = l->m->grid.rank - 1;
  return row_cells(
      (int32_t)(2 * walk_pad(l) + round_up(l->hull.lo[x], ROW_CELLS) + round_up(width + l->hull.hi[x], ROW_CELLS)));
}

/* Bytes of rings under pipeline `p` and schedule `s` that have `row` cells in a row. */
static int64_t ring_bytes(const Stream *p, const Schedule *s, int64_t row) {
  const Launch *l = p->l;
  int64_t sum = 0, plane = row * (l->m->grid.rank > 2 ? s->block[1] : 1);
  for (int f = 0; f < l->m->nfields; f++)
    for (int v = 1; v <= l->use[f].versions; v++)
      if (p->w[f][v].used && (v < l->use[f].versions || p->w[f][v].rows))
        sum += walk_ring(p, f, v) * plane * type_size(l->m->fields[f].type);
  return sum;
}

int64_t walk_bytes(const Stream *p, const Schedule *s) {
  return ring_bytes(p, s, walk_row(p->l, larger(walk_width(p->l, s, p->l->m->grid.rank - 1), 1)));
}

double walk_redundancy(const Stream *p, const Schedule *s) {
  const Launch *l = p->l;
  double sum = 0;
  for (int i = 0; i < l->n; i++) {
    double points = 1;
    for (int d = 0; d < l->m->grid.rank; d++) {
      double width = (double)walk_width(l, s, d);
      points *=
          width > 0 ? (width + (double)(l->st[i].extent.lo[d] + l->st[i].extent.hi[d])) / width : 1e6 * (1 - width);
    }
    sum += points;
  }
  return l->n ? sum / l->n : 1;
}

/* ---- what is possible */

const char *walk_refused(Arena *a, const Launch *l) {
  if (l->m->grid.rank < 2)
    return "a grid of one dimension has no rows to walk along";
  if (l->illegal)
    return l->illegal;
  for (int f = 0; f < l->m->nfields; f++)
    if (l->use[f].stored && l->use[f].loaded && !l->use[f].paired)
      return arena_printf(a, "field '%s' is written in place", l->m->fields[f].name);
  return NULL;
}

const char *walk_wrong_shape(Arena *a, const Module *m, const Schedule *s) {
  if (s->block[0] != 1)
    return arena_printf(a, "-block has %d points in dimension 0, which is walked; write 1 there", s->block[0]);
  for (int d = 1; d < m->grid.rank; d++)
    if (s->block[d] > MAX_POINTS)
      return arena_printf(a, "-block has %d points in dimension %d; at most %d are possible", s->block[d], d,
                          MAX_POINTS);
  if (s->chunk < 1 || s->chunk > MAX_ROWS)
    return arena_printf(a, "-chunk=%d: a walk has 1 to %d rows", s->chunk, MAX_ROWS);
  if (s->ahead > 1)
    return arena_printf(a, "-ahead=%d: rows that one thread walks are not loaded ahead; leave it out", s->ahead);
  return NULL;
}

const char *walk_too_large(Arena *a, const TargetInfo *t, const Stream *p, const Schedule *s) {
  const Launch *l = p->l;
  for (int d = 1; d < l->m->grid.rank; d++)
    if (walk_width(l, s, d) < 1)
      return arena_printf(a,
                          "a tile has no points left in dimension %d: the halo of %d time step%s is %" PRId64
                          " + %" PRId64 " points; take fewer time steps or more points",
                          d, s->T, s->T > 1 ? "s" : "", l->hull.lo[d], l->hull.hi[d]);
  if (walk_bytes(p, s) > t->max_shared_bytes)
    return arena_printf(a,
                        "a tile needs %" PRId64 " bytes for its rows; target %s allows %" PRId64
                        "; take a smaller -T or -block",
                        walk_bytes(p, s), t->name, t->max_shared_bytes);
  return NULL;
}

/* ---- defaults */

int walk_most_levels(const Module *m) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  double additions = 0;
  for (int i = 0; i < n; i++)
    for (const Op *op = main_piece(m->arena, &st[i])->body->first; op; op = op->next)
      additions += op_additions(op);
  int most = m->grid.rank == 2 ? 16 : 4;
  return additions > LONG_STEP ? most / 2 : most;
}

/* Bytes of rings that keep their place in the second-level cache beside what streams through it: half of it, a quarter
 * of what an overlapped tile takes. */
static int64_t good_bytes(const TargetInfo *t) { return t->shared_bytes / 4; }

/* Do the cells of the rings that are used fit the cache, if the grid is as wide as is known? */
static bool fits_cache(const TargetInfo *t, const Stream *p, const Schedule *s) {
  int x = p->l->m->grid.rank - 1;
  int64_t row = s->block[x], size = s->size[x] + p->l->hull.lo[x] + p->l->hull.hi[x];
  return ring_bytes(p, s, s->size[x] > 0 && size < row ? size : row) <= good_bytes(t);
}

bool walk_is_good(const TargetInfo *t, const Stream *p, const Schedule *s) {
  static const double modest[MAX_RANK] = {1, 1.15, 1.35};
  return fits_cache(t, p, s) && walk_redundancy(p, s) <= modest[p->l->m->grid.rank - 1];
}

/* Points of a tile in dimension `d` that are given out, `n` of them, and the halo. */
static int32_t with_halo(const Launch *l, int d, int32_t n) { return (int32_t)(n + l->hull.lo[d] + l->hull.hi[d]); }

/* Tiles of `s` that a grid has whose extents the schedule asked for, `want`, says; infinitely many if it does not. */
static double tiles_of(const Launch *l, const Schedule *want, const Schedule *s) {
  double n = 1;
  for (int d = 0; d < l->m->grid.rank; d++) {
    int64_t width = larger(walk_width(l, s, d), 1);
    if (want->size[d] < 1)
      return INFINITY;
    n *= (double)((want->size[d] + width - 1) / width);
  }
  return n;
}

/* Fills all of *s but T with what is wanted, and `high` lines and `wide` columns to give out where that is open. */
static void fill(const Launch *l, const Schedule *want, int32_t high, int32_t wide, Schedule *s) {
  static const int32_t chunk[MAX_RANK] = {1, 512, 128};
  int rank = l->m->grid.rank;
  for (int d = 0; d < MAX_RANK; d++) {
    s->block[d] = d < rank && want->block[d] ? want->block[d]
                  : d == 0 || d >= rank      ? 1
                                             : with_halo(l, d, d == rank - 1 ? wide : high);
    s->elems[d] = 1;
    s->size[d] = want->size[d];
  }
  s->chunk = want->chunk ? want->chunk : chunk[rank - 1];
  s->ahead = want->ahead ? want->ahead : 1;
}

void walk_choose(const TargetInfo *t, const Stream *p, const Schedule *want, Schedule *s) {
  static const int32_t lines[MAX_RANK] = {1, 1, 64}, columns[MAX_RANK] = {1, 1024, 512};
  int32_t high = lines[p->l->m->grid.rank - 1], wide = columns[p->l->m->grid.rank - 1];
  for (fill(p->l, want, high, wide, s); !fits_cache(t, p, s) && (high > 8 || wide > 256);
       fill(p->l, want, high, wide, s))
    if (high > 16 || wide <= 256)
      high /= 2;
    else
      wide /= 2;
  while (!want->chunk && s->chunk > LEAST_CHUNK && tiles_of(p->l, want, s) < 2 * t->cores)
    s->chunk /= 2;
}
