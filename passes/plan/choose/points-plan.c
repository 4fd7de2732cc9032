/* points-plan.c: threads of several points in place of tiles (tile/emit/lower-naive.c), where that is expected to be
 * clearly faster: on grids that lie in the cache, for layers on few points, for long equations in three dimensions.
 *
 * One shape a rank is looked at: rows of whole vectors, in 2-D two of them, in 3-D eight one behind the other, whose
 * points a thread keeps in registers. Nothing is lowered where memory alone would take longer than what is expected of
 * the plan at hand. */
#include "passes/tile/frame.h"
#include "passes/plan/cost/estimate.h"
#include "passes/plan/plan.h"
#include "passes/plan/choose/resolve.h"

#include <string.h>

/* The least seconds that a step takes: to read and write its fields once a launch, if they do not lie in the cache. */
static double least_seconds(const PassContext *c, const Module *m, const Frame *f, const int64_t *size) {
  double points = 1, bytes = 0, all = 0;
  for (int d = 0; d < m->grid.rank; d++)
    points *= (double)size[d];
  for (int i = 0; i < m->nfields; i++)
    all += m->fields[i].temp ? 0 : points * (double)type_size(m->fields[i].type);
  for (int i = 0; i < f->n; i++)
    if (f->launches[i].role == FRAME_INNER)
      bytes += points * launch_bytes(f->launches[i].l);
  bool kept = all < tuning.kept_cache * (double)c->target->cache_bytes;
  return kept || c->target->bandwidth <= 0 ? 0 : bytes / (c->target->bandwidth * 1e9);
}

/* The shape that is looked at for module `m`. */
static Schedule shape_of(const Module *m) {
  int rank = m->grid.rank, bytes = 4;
  Schedule s = {.family = FAMILY_NAIVE};
  for (int f = 0; f < m->nfields; f++)
    bytes = (int)type_size(m->fields[f].type) > bytes ? (int)type_size(m->fields[f].type) : bytes;
  for (int d = 0; d < rank; d++) {
    s.block[d] = (int32_t)tuning.points_block[rank - 1][d];
    s.elems[d] = d == rank - 1 ? VECTOR_BYTES / bytes : (int32_t)tuning.points_elems[rank - 1][d];
    s.elems[d] = s.elems[d] > 1 ? s.elems[d] : 1;
  }
  return s;
}

void prefer_points(PassContext *c, const Module *m, double expected, Schedule *s) {
  PassContext with = *c;
  Schedule want = shape_of(m), points;
  ScheduleTime time;
  int32_t n;
  int count;
  Module *trial = module_trial(m);
  const Stencil *st = last_level(m, &n);
  Launch **l = naive_launches(m, n, st, &count);
  if (!(least_seconds(c, m, frame_of_step(m, count, l), c->schedule->size) < tuning.clearly * expected))
    return;
  memcpy(want.size, c->schedule->size, sizeof want.size);
  want.edges = EDGES_APART;
  with.schedule = &want;
  with.diags = diags_quiet(c->arena);
  if (!plan_tile(&with, trial, &points) ||
      !schedule_time_with_edges(c, plan_tiled_copy(trial, 1), &points, want.size, &time) ||
      !(time.seconds < tuning.clearly * expected))
    return;
  diag_remark(c->diags, no_loc(), "threads have several points each, and nothing is kept between the steps");
  *s = points;
}
