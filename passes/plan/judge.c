/* judge.c: what a candidate is expected to take on a grid of known size by the model: all that it does is counted
 * before anything is lowered (tile-work.c, walk-work.c), in the terms in which finished kernels are (LaunchLoad). */
#include "passes/launch/launch.h"
#include "passes/plan/plan.h"

#include <math.h>

/* Fields that launch `l` loads. */
static int loaded_fields(const Launch *l) {
  int n = 0;
  for (int f = 0; f < l->m->nfields; f++)
    n += l->use[f].loaded > 0;
  return n;
}

/* Is overlapped tile `s` in rank 2, whose load is `load`, beyond what was measured to be good: more cells a thread, or
 * two columns, than registers hold of roots and of several fields, for more is alive there than is counted; more cells
 * where tiles at edges are a kernel of their own; in f64 all registers, for those at edges want more? */
static const char *is_unproven_tile(const PlanQuery *q, const PlanLaunch *of, const Schedule *s,
                                    const LaunchLoad *load) {
  bool many = s->elems[0] * s->elems[1] > tuning.many_cells, roots = of->functions > 0;
  if (roots && (many || s->elems[1] > 1))
    return "a thread has more cells than were measured to pay with roots, quotients or functions";
  if (many && loaded_fields(of->l) > 1)
    return "a thread has more cells than were measured to pay with several fields";
  if (many && q->points >= tuning.parted_points)
    return "a thread has more cells than were measured to pay on grids of that size";
  if (of->words > 1 && load->registers >= registers_limit(q->t, load->work.threads))
    return "registers would be spilled";
  return NULL;
}

/* Counts overlapped tile `s` of the launch at `of`; why it is not to be taken, or NULL. */
static const char *judge_overlap(const PlanQuery *q, const PlanLaunch *of, const Schedule *s, LaunchLoad *out) {
  for (int d = 0; d < q->rank; d++)
    if (launch_width(of->l, d, (int64_t)s->block[d] * s->elems[d]) < 1)
      return "no points are left beside the halo";
  *out = tile_load(of->tile, s, q->want.size);
  if (out->shared > q->t->max_shared_bytes)
    return "more shared memory than a block may have";
  if (out->spilled > 0)
    return "registers would be spilled";
  if (out->work.instructions > tuning.most_operations)
    return "the code of a thread is too long";
  return q->rank == 2 && plan_counts(q) ? is_unproven_tile(q, of, s, out) : NULL;
}

/* Is walk `s` of so many registers beyond what was measured to be good: too many cells of a lane where one line is all
 * there is; more rows of halo than pay; in f64 on a small grid, whose few warps wait for each other's steps, more of
 * these; so many registers that tiles at edges, which want more, spill? */
static const char *is_unproven(const PlanQuery *q, const WalkWork *w, const Schedule *s, int32_t registers) {
  bool small = q->points < tuning.parted_points;
  if (registers > tuning.edge_registers[q->rank - 1])
    return "registers would be spilled at edges";
  if (q->rank == 1 && s->elems[0] * w->words > tuning.line_words)
    return "a lane has more cells than were measured to pay";
  if (q->rank == 2 && (double)(w->p->halo.lo[0] + w->p->last) > tuning.halo_rows * s->chunk)
    return "its halo has more rows than were measured to pay";
  if (q->rank == 2 && small && w->words > 1 && s->T > tuning.small_levels)
    return "it makes more time steps than were measured to pay in f64";
  return NULL;
}

/* The same of walked tile `s`. */
static const char *judge_walk(const PlanQuery *q, const WalkWork *w, const Schedule *s, LaunchLoad *out) {
  if (!stream_fits(q->t, w->p, s))
    return "no points are left beside the halo, or its rows do not fit";
  *out = walk_load(q->t, w, s, q->want.size);
  if (!stream_is_comfortable(w->p, s))
    return "its rows want more registers, or its code is longer, than is good";
  return out->spilled > 0 ? "registers would be spilled" : is_unproven(q, w, s, out->registers);
}

/* How many times as long as is counted a walk of rows takes: more where it is long, for fewer warps start anew and hide
 * the loads of others, and where instructions bound it. */
static double uncounted_walk(const PlanCandidate *k) {
  double issue = k->time.alone[BOUND_ISSUE] / k->time.seconds;
  return pow(fmax(k->s.chunk, tuning.short_chunk) / tuning.usual_chunk, tuning.chunk_lost) *
         (1 + tuning.walk_issue_lost * issue);
}

/* The same of an overlapped tile in rank 2: more where a core has few warps, and in f32 where many wait at a barrier
 * for each other; less of two columns, which share what they load. */
static double uncounted_tile(const PlanQuery *q, const PlanCandidate *k, const LaunchLoad *load) {
  double there = fmax(1, fmin(k->time.occupancy.blocks, ceil(load->blocks / q->t->cores))),
         threads = (double)load->work.threads, part = there * threads / q->t->lanes / tuning.enough_warps,
         wide = k->of->words > 1 ? 1 : pow(fmax(1, threads / tuning.usual_threads), tuning.wide_block_lost);
  return wide * pow(fmin(1, part), -tuning.few_warps_lost) * (k->s.elems[1] > 1 ? tuning.two_columns : 1);
}

/* How many times as long as is counted candidate `k` takes, for what is not: copies that go by the first cache, for
 * they move less than 16 bytes at a time, and tiles that overlap, where planes are walked; a naive kernel has neither
 * the barriers nor the shared memory of the tile as which it is counted. */
static double uncounted(const PlanQuery *q, const PlanCandidate *k, const LaunchLoad *load) {
  const Schedule *s = &k->s;
  if (!family_row(s->family)->tiled)
    return k->of->words > 1 ? tuning.naive_part_f64 : tuning.naive_part;
  if (q->rank == 2 && plan_counts(q))
    return k->of->walk ? uncounted_walk(k) : uncounted_tile(q, k, load);
  if (q->rank < MAX_RANK)
    return 1;
  if (!k->of->walk)
    return tuning.planes_slower;
  return s->ahead > 1 && s->elems[2] * k->of->words * 4 < VECTOR_BYTES ? tuning.copies_slower : 1;
}

void plan_judge(const PlanQuery *q, PlanCandidate *k) {
  LaunchLoad load = {0};
  k->unfit = k->of->walk ? judge_walk(q, k->of->walk, &k->s, &load) : judge_overlap(q, k->of, &k->s, &load);
  k->judged = INFINITY;
  if (load.work.threads > 0) {
    k->time = model_counted_launch(q->t, &load);
    k->judged = uncounted(q, k, &load) * k->time.seconds / k->s.T;
  }
}

bool counted_load(const TargetInfo *t, const Module *m, const Schedule *s, const int64_t *size, LaunchLoad *out) {
  int count = 1;
  int32_t n;
  const Stencil *st = last_level(m, &n);
  if (!t->simt || !family_row(s->family)->tiled || s->family == FAMILY_WARPS || s->tiles == TILES_LANES)
    return false;
  Launch *l = m->time_tile > 1 ? launch_new(m, m->nstencils, m->stencils, m->stencils, m->stencils + m->nstencils)
                               : group_launches(m, n, st, &count)[0];
  if (count == 1)
    *out = family_row(s->family)->walked ? walk_load(t, walk_work(t, stream_new(l)), s, size)
                                         : tile_load(tile_work(t, l), s, size);
  return count == 1;
}
