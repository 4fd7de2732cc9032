/* schedule-cpu-stream.c: possible tiles that one thread streams (lower-walk.c), and the choice among them.
 * schedule-stream.c calls it on targets without threads.
 *
 * `-block=1xC` or `1xLxC` are the cells that a tile computes, including its halo, as for overlapped tiles. For open
 * parts it takes the tile with the least time by `cpu-stream-cost.c`, among 1, 2, 3, 4, 6, 8, 12 or 16 steps (at most 4
 * in rank 3, half of that for steps of more than about 24 additions), 64 to 4096 columns, 8 to 128 lines and 32 to 1024
 * rows or planes. On a grid of known size (`-for-grid`) these are equal parts, but columns stored are multiples of 16,
 * so that tiles begin at whole vectors.
 *
 * *Stops*. If runs stop every N steps (`Schedule.every`: `--every`, `--checkpoint-every`; or a reduction's `every`)
 * tiles have N steps at most. If N is not a multiple of the best number, it examines numbers from half of it to half as
 * many more, and takes the number with which N steps take the least time; the steps after the last whole tile are made
 * in tiles of half as many steps, of half of that, and so on.
 *
 * *Cost*. A core computes points, including the halo, starts lines, moves bytes from and to memory, and fetches rows
 * from the next cache that its second-level cache has lost. These times add up, except that arithmetic of more than 150
 * additions for a point hides memory; and if the tiles do not divide evenly among the cores, all wait for the last. An
 * instance on few points copies the other points of the rows that it keeps.
 *
 * *`auto`* takes streamed tiles, also of one step if the step has several stencils, unless plain loops are expected to
 * take less time: a launch for each stencil, which was measured to take less time than a launch that makes a tile of
 * each in turn. `-T=N` alone takes streamed tiles if N steps can be streamed; `-T=1` the best of all schedules that
 * make one. */
#include "passes/plan/cost/count.h"
#include "passes/base/tuning.h"
#include "passes/plan/choose/cpu-stream.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Limits of any request. */
enum { MAX_POINTS = 1 << 20, MAX_ROWS = 1 << 20 };

/* ---- possible tiles */

const char *cpu_stream_wrong_shape(Arena *a, const Module *m, const Schedule *s) {
  if (s->block[0] != 1)
    return arena_printf(a, "-block has %d points in dimension 0, which is streamed; write 1 there", s->block[0]);
  for (int d = 1; d < m->grid.rank; d++)
    if (s->block[d] > MAX_POINTS)
      return arena_printf(a, "-block has %d points in dimension %d; at most %d are possible", s->block[d], d,
                          MAX_POINTS);
  if (s->chunk < 1 || s->chunk > MAX_ROWS)
    return arena_printf(a, "-chunk=%d: a streamed tile has 1 to %d rows", s->chunk, MAX_ROWS);
  if (s->ahead > 1)
    return arena_printf(a, "-ahead=%d: rows that one thread streams are not loaded ahead; leave it out", s->ahead);
  return NULL;
}

/* ---- defaults */

/* The values that are tried: time steps of tiles by rank; rows or planes, lines, and points of tiles. */
enum { MOST_STEPS_OF_ROWS = 16, MOST_STEPS_OF_PLANES = 4 };
enum { LEAST_CHUNK = 32, MOST_CHUNK = 1024, LEAST_LINES = 8, MOST_LINES = 128, LEAST_CELLS = 64, MOST_CELLS = 4096 };

int cpu_stream_most_levels(const Module *m) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  double additions = 0;
  for (int i = 0; i < n; i++)
    for (const Op *op = main_piece(m->arena, &st[i])->body->first; op; op = op->next)
      additions += op_additions(op);
  int most = m->grid.rank < GRID_RANK ? MOST_STEPS_OF_ROWS : MOST_STEPS_OF_PLANES;
  return additions > tuning.core_long_step ? most / 2 : most;
}

/* The points of a tile in dimension `d` that stores `n` points, including the halo. */
static int32_t with_halo(const Launch *l, int d, int32_t n) { return (int32_t)(n + l->hull.lo[d] + l->hull.hi[d]); }

/* The numbers of points that are tried where a tile's extent is open: each a half or a third more than the one
 * before. */
enum { MOST_WIDTHS = 24 };
typedef struct Widths {
  int n;
  int32_t of[MOST_WIDTHS];
} Widths;

/* The widths from `least` to `most`. On a grid that has `size` points there (0: not known) they cut it into equal
 * parts, rounded up to multiples of `of`: the last part may be smaller. */
static Widths widths(int32_t least, int32_t most, int64_t size, int64_t of) {
  Widths w = {0};
  for (int32_t n = least; n <= most && w.n < MOST_WIDTHS; n += n & (n - 1) ? n / 3 : n / 2) {
    int64_t parts = size > 0 ? (size + n - 1) / n : 0;
    int64_t even = parts > 1 ? round_up((size + parts - 1) / parts, of) : parts ? size : n;
    if (!w.n || w.of[w.n - 1] != even)
      w.of[w.n++] = (int32_t)even;
  }
  return w;
}

/* Sets block[d], or in dimension 0 the chunk, of *s to store `n` points. */
static void set_width(const Launch *l, int d, int32_t n, Schedule *s) {
  if (d == 0)
    s->chunk = n;
  else
    s->block[d] = with_halo(l, d, n);
}

/* The widths that are tried in dimension d: only the requested one, if there is one. Tiles begin at whole vectors in
 * the last dimension: otherwise each access to memory in the inner loop crosses a cache line. */
static Widths tried(const Launch *l, const Schedule *want, int d) {
  int64_t size = want->size[d];
  if (d == 0 ? want->chunk : want->block[d])
    return (Widths){.n = 1};
  if (d == 0)
    return widths(LEAST_CHUNK, MOST_CHUNK, size, 1);
  return d < l->m->grid.rank - 1 ? widths(LEAST_LINES, MOST_LINES, size, 1)
                                 : widths(LEAST_CELLS, MOST_CELLS, size, ROW_CELLS);
}

/* Sets *best to the schedule with the best widths of dimensions d and up, and *ns to its time; `s` has those of
 * dimensions before d. */
static void search(const CpuStreamParts *w, const Schedule *want, int d, Schedule *s, Schedule *best, double *ns) {
  const Launch *l = w->p->l;
  if (d >= GRID_RANK || d == l->m->grid.rank) {
    double took = cpu_stream_ns(w, s, false);
    if (took < *ns && tile_bytes(w->t, w->p, s) <= w->t->max_shared_bytes) {
      *best = *s;
      *ns = took;
    }
    return;
  }
  Widths all = tried(l, want, d);
  for (int i = 0; i < all.n; i++) {
    if (all.of[i])
      set_width(l, d, all.of[i], s);
    search(w, want, d + 1, s, best, ns);
  }
}

void cpu_stream_choose(const TargetInfo *t, const Mapping *p, const Schedule *want, Schedule *s) {
  int32_t rank = p->l->m->grid.rank;
  double ns = INFINITY;
  memcpy(s->size, want->size, sizeof s->size);
  for (int d = 0; d < GRID_RANK; d++) {
    bool asked = d < rank && want->block[d];
    s->block[d] = asked ? want->block[d] : d > 0 && d < rank ? with_halo(p->l, d, LEAST_CELLS) : 1;
    s->elems[d] = 1;
  }
  s->chunk = want->chunk ? want->chunk : LEAST_CHUNK;
  s->ahead = want->ahead ? want->ahead : 1;
  Schedule trial = *s;
  CpuStreamParts w = cpu_stream_parts(t, p);
  search(&w, want, 0, &trial, s, &ns);
}
