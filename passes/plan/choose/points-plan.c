/* points-plan.c: chooses threads of several points instead of tiles (tile/emit/lower-naive.c), if that is expected to
 * be clearly faster: on grids that fit the cache, for layers on few points, for long equations in three dimensions.
 *
 * It examines one shape for each rank: rows of whole vectors, in 2-D two of them, in 3-D eight one after the other,
 * whose points a thread keeps in registers; fewer if their unrolled code would not fit the instruction cache. It lowers
 * nothing if memory alone would take longer than the expected time of the present plan, and takes nothing if
 * instructions are the limit, because several points only save loads. The points around the middle of the grid are
 * counted like a frame's steps: their kernels have many pieces, and each point computes one of them. */
#include "passes/launch/slices.h"
#include "passes/tile/frame.h"
#include "passes/plan/cost/estimate.h"
#include "passes/plan/plan.h"
#include "passes/plan/choose/resolve.h"

#include <math.h>
#include <string.h>

/* The average bytes that launch `l` moves for a point of the grid: of each field that it loads or stores, its share. */
static double bytes_of(const Launch *l, const Const *scalars) {
  double bytes = 0;
  for (int f = 0; f < l->m->nfields; f++)
    bytes += (double)type_size(l->m->fields[f].type) * box_share(l->m, &l->m->fields[f].box, scalars) *
             ((launch_use(l, f)->loaded ? 1 : 0) + (launch_use(l, f)->stored ? 1 : 0));
  return bytes;
}

/* The least seconds of a step: to read and write its fields once a launch, if they do not lie in the cache. */
static double least_seconds(const PassContext *c, const Module *m, const Frame *f, const int64_t *size) {
  const Const *scalars = default_scalars(m);
  double points = slices_of_size(m->grid.rank, size), bytes = 0, all = 0;
  for (int d = 0; d < m->grid.rank; d++)
    points *= (double)size[d];
  for (int i = 0; i < m->nfields; i++)
    all += m->fields[i].temp || !scalars
               ? 0
               : points * (double)type_size(m->fields[i].type) * box_share(m, &m->fields[i].box, scalars);
  for (int i = 0; i < f->n; i++)
    if (f->launches[i].role == FRAME_INNER && scalars)
      bytes += points * bytes_of(f->launches[i].l, scalars);
  double kept = model_kept_share(c->target, all);
  return c->target->bandwidth <= 0 ? 0 : (1 - kept) * bytes / (c->target->bandwidth * 1e9);
}

/* Instructions of the unrolled code for a point: the most of a level of step `f`. */
static int64_t code_of(const Frame *f) {
  int64_t most = 0;
  for (int level = 0; level < f->nlevels; level++) {
    int64_t code = 0;
    for (int i = 0; i < f->n; i++)
      if (f->launches[i].level == level && f->launches[i].role == FRAME_INNER)
        code += stream_code(f->launches[i].l);
    most = code > most ? code : most;
  }
  return most;
}

/* Does a main stencil of step `f` have a launch for each piece? */
static bool has_pieces(const PassContext *c, const Frame *f) {
  bool any = false;
  for (int i = 0; i < f->n; i++)
    any = any || (f->launches[i].role == FRAME_INNER && pieces_have_launches(c->target, f->launches[i].l, false));
  return any;
}

/* The shape that is examined for module `m`, whose step is `f`: with as many points as leave their code short enough.
 * Half as many if there is code for each piece: values that layers read beside the points are in registers, too. */
static Schedule shape_of(const PassContext *c, const Module *m, const Frame *f) {
  int rank = m->grid.rank, bytes = 4;
  bool pieces = has_pieces(c, f);
  int64_t code = code_of(f) * (pieces ? 2 : 1);
  Schedule s = {.family = FAMILY_NAIVE};
  for (int i = 0; i < m->nfields; i++)
    bytes = (int)type_size(m->fields[i].type) > bytes ? (int)type_size(m->fields[i].type) : bytes;
  for (int d = rank - 1; d >= 0; d--) {
    s.block[d] = (int32_t)(pieces ? tuning.pieces_block : tuning.points_block)[rank - 1][d];
    s.elems[d] = d == rank - 1 ? VECTOR_BYTES / bytes : (int32_t)tuning.points_elems[rank - 1][d];
    while (s.elems[d] > 1 && code * s.elems[d] > measured.lane_code_held)
      s.elems[d] /= 2;
    s.elems[d] = s.elems[d] > 1 ? s.elems[d] : 1;
    code *= s.elems[d];
  }
  return s;
}

/* The number of levels of step `f` that have only few points, and for which the next level waits; others run beside
 * them. */
static int alone_levels(const Frame *f) {
  int alone = 0;
  for (int level = 0; level < f->nlevels; level++) {
    bool main = false;
    for (int i = 0; i < f->n; i++)
      main = main || (f->launches[i].level == level && f->launches[i].role == FRAME_INNER);
    alone += !main;
  }
  return alone;
}

/* Bytes that launch `l`, whose pieces have launches of their own, moves at `points` points around the middle; fields
 * with fewer points are moved as a whole. */
static double bytes_of_pieces(const Launch *l, double points) {
  double bytes = 0;
  for (int f = 0; f < l->m->nfields; f++)
    bytes += fmin(points, box_points(l->m, &l->m->fields[f].box)) * (double)type_size(l->m->fields[f].type) *
             ((launch_use(l, f)->loaded ? 1 : 0) + (launch_use(l, f)->stored ? 1 : 0));
  return bytes;
}

/* The seconds a step of the points around the middle of the grid, on a grid of extents `size`: counted like a
 * frame's. */
static double around_seconds(const PassContext *c, const Module *m, const Frame *f, const int64_t *size) {
  const Const *scalars = default_scalars(m);
  Box middle = frame_middle(m);
  double all = slices_of_size(m->grid.rank, size), inside = all, bytes = 0,
         rate = c->target->bandwidth > 0 ? c->target->bandwidth * 1e9 : INFINITY;
  bool overflow = false;
  if (!scalars || box_equal(&middle, &m->grid))
    return 0;
  for (int d = 0; d < m->grid.rank; d++) {
    double cut =
        (double)(affine_eval(middle.lo[d], scalars, &overflow) - affine_eval(m->grid.lo[d], scalars, &overflow)) +
        (double)(affine_eval(m->grid.hi[d], scalars, &overflow) - affine_eval(middle.hi[d], scalars, &overflow));
    all *= (double)size[d];
    inside *= fmax((double)size[d] - cut, 0);
  }
  for (int i = 0; i < f->n; i++)
    if (f->launches[i].role == FRAME_INNER || f->launches[i].role == FRAME_EDGE)
      bytes += pieces_have_launches(c->target, f->launches[i].l, f->launches[i].role == FRAME_EDGE)
                   ? bytes_of_pieces(f->launches[i].l, all - inside)
                   : (all - inside) * launch_bytes(f->launches[i].l);
  return alone_levels(f) * measured.apart_gap + bytes / rate;
}

/* Are most tiles of `s` on a grid of rank `rank` and extents `size` away from its edges? The cost of a launch is
 * counted for these alone. */
static bool is_mostly_inside(const Schedule *s, int rank, const int64_t *size) {
  double inside = 1;
  for (int d = 0; d < rank; d++) {
    double tiles = (double)size[d] / (double)(s->block[d] * s->elems[d]);
    inside *= tiles > 2 ? (tiles - 2) / tiles : 0;
  }
  return 2 * inside >= 1;
}

/* Does a launch with this bound load more than it computes? */
static bool is_of_loads(Bound b) {
  return b == BOUND_MEMORY || b == BOUND_CACHE || b == BOUND_SHARED || b == BOUND_LATENCY;
}

void prefer_points(PassContext *c, const Module *m, double expected, Schedule *s) {
  PassContext with = *c;
  Schedule points;
  ScheduleTime time;
  int32_t n;
  int count;
  Module *trial = module_trial(m);
  const Stencil *st = last_level(m, &n);
  Launch **l = naive_launches(m, n, st, &count);
  const Frame *f = frame_of_step(m, count, l);
  Schedule want = shape_of(c, m, f);
  double limit = tuning.clearly * expected, around = around_seconds(c, m, f, c->schedule->size);
  if (!schedule_has_points(&want, m->grid.rank) ||
      !(has_pieces(c, f) || is_mostly_inside(&want, m->grid.rank, c->schedule->size)) ||
      !(least_seconds(c, m, f, c->schedule->size) + around < limit))
    return;
  memcpy(want.size, c->schedule->size, sizeof want.size);
  want.edges = EDGES_APART;
  with.schedule = &want;
  with.diags = diags_quiet(c->arena);
  if (!plan_tile(&with, trial, &points) ||
      !schedule_time_with_edges(c, plan_tiled_copy(trial, 1), &points, want.size, &time) || !is_of_loads(time.bound) ||
      !(time.seconds + around < limit))
    return;
  diag_remark(c->diags, no_loc(), "threads have several points each, and nothing is kept between the steps");
  *s = points;
}
