/* cost.c: what a candidate is expected to take on a grid of known size, before anything is lowered.
 *
 * On a large grid a schedule is as good as it uses memory and arithmetic. On a small one most multiprocessors wait,
 * for a launch to begin and for memory, and those that work have few warps: each stays with one of four schedulers, so
 * that five take as long as eight. Here the time of a launch is estimated as
 *
 *   launch + the rounds in which blocks run * (memory before and behind a tile + the warps of the scheduler with the
 *   most of them * instructions)
 *
 * and at least as long as memory takes, and what a block does one after the other. */
#include "passes/lower/loops.h"
#include "passes/plan/fuse.h"
#include "passes/plan/plan.h"

#include <math.h>

/* Found by measuring on one GPU (docs/performance.md), by rank. Microseconds that memory takes before and behind an
 * overlapped tile, and a walked one: the first rows of a ring; what a stencil and step of an overlapped tile takes at
 * least (a barrier, and shared memory to and fro), and of a walked one for each row (a shuffle, and sums whose terms
 * wait for each other). */
static const double TILE[MAX_RANK] = {0.7, 0.7, 1.4}, WALK_TILE[MAX_RANK] = {0, 0.9, 6},
                    STEP[MAX_RANK] = {0.02, 0.1, 0.1}, STAGE[MAX_RANK] = {0.012, 0.02, 0.02};
/* The part of a launch by itself that one takes in a graph. */
static const double IN_GRAPH = 0.75;
/* Schedulers of a multiprocessor, and instructions that each issues in a microsecond. */
static const double SCHEDULERS = 4, RATE = 1750;
/* Bytes that stay in the largest cache. */
static const double CACHED = 32e6;
/* Instructions of an overlapped tile for each operation that pass fuse counts, those of roots, quotients and functions
 * aside, which are counted as they are; of a walked one for each point and stencil beside those of its equation, by
 * rank: what begins and ends a walk and masks at edges among them, which counts for less on grids that are larger than
 * PARTED_POINTS. */
static const double OVERLAP_PART = 0.4, WALK_MORE[MAX_RANK] = {0.7, 4, 11}, LONG_WALK_MORE[MAX_RANK] = {0.7, 1.8, 11};
/* Operations of an overlapped tile's thread, at most; blocks that a multiprocessor holds, at most. */
static const double MOST_OPS = 6000, MOST_BLOCKS = 32;
/* Words that a thread of an overlapped tile may want beyond its registers: loads that run ahead, which are given up
 * first. */
enum { FEW_WORDS = 32 };

/* What a launch of tiles does: blocks of so many warps, of which a core has room for `resident`; what each of a block's
 * warps issues; microseconds that pass in each round before all else, and in memory while other blocks go on; those
 * that a block takes at least, done one after the other; bytes moved for each point. */
typedef struct TileWork {
  double blocks, warps, resident, instructions, start, memory, alone, bytes;
} TileWork;

/* The blocks of tiles that are `width[d]` points wide. */
static double block_count(const PlanQuery *q, const int64_t *width) {
  double n = 1;
  for (int d = 0; d < q->rank; d++)
    n *= (double)((q->want.size[d] + width[d] - 1) / width[d]);
  return n;
}

/* The time of a launch that does `w`: microseconds for what bounds it, put together in seconds. */
static LaunchTime tile_time(const PlanQuery *q, const TileWork *w) {
  double each = ceil(w->blocks / q->t->cores),
         most = w->resident < 1             ? 1
                : w->resident > MOST_BLOCKS ? MOST_BLOCKS
                                            : w->resident,
         at_once = each < most ? each : most, rounds = each / at_once;
  double issue = ceil(at_once * w->warps / SCHEDULERS) * w->instructions / RATE + w->memory / at_once,
         rate = q->points * w->bytes < CACHED ? q->t->cache_bandwidth : q->t->bandwidth;
  LaunchTime t = {.launch = 1e-6 * IN_GRAPH * q->t->launch_us, .filled = each < most ? each / most : 1};
  t.alone[BOUND_ISSUE] = 1e-6 * rounds * (w->start + issue);
  t.alone[BOUND_LATENCY] = 1e-6 * rounds * (w->start + w->alone);
  t.alone[q->points * w->bytes < CACHED ? BOUND_CACHE : BOUND_MEMORY] = q->points * w->bytes / (rate * 1e9);
  for (int b = 0; b < BOUNDS; b++)
    t.bound = t.alone[b] > t.alone[t.bound] ? (Bound)b : t.bound;
  t.seconds = t.launch + t.alone[t.bound];
  return t;
}

/* ---- overlapped tiles */

/* Operations of launch `l` for a point that are those of roots, quotients and functions, in f32 additions. */
static double function_ops(const PlanQuery *q, const Launch *l) {
  double sum = 0, f64 = q->t->f64_rate > 0 ? q->t->f32_rate / q->t->f64_rate : 2;
  for (int i = 0; i < l->n; i++) {
    const Piece *p = main_piece(q->m->arena, &l->st[i]);
    for (const Op *op = p->body->first; op; op = op->next)
      if (op->nresults && type_is_float(op->results[0]->type) && op_additions(op) > 1)
        sum += op_additions(op) * (op->results[0]->type == TY_F64 ? 2 * f64 : 1);
  }
  return sum;
}

/* What overlapped tile `s` of launch `l` does; why it is not to be taken, or NULL. */
static const char *overlap_work(const PlanQuery *q, const Launch *l, const Schedule *s, TileWork *w) {
  int64_t width[MAX_RANK], threads = 1;
  double out = 1;
  for (int d = 0; d < q->rank; d++) {
    width[d] = launch_width(l, d, (int64_t)s->block[d] * s->elems[d]);
    threads *= s->block[d];
    out *= (double)width[d];
    if (width[d] < 1)
      return "no points are left beside the halo";
    if (s->block[d] > q->t->max_block[q->rank - 1 - d])
      return "more threads than a block may have";
  }
  if (threads > q->t->max_threads)
    return "more threads than a block may have";
  LaunchCost k = launch_cost(q->t, l, s, 1, 1e9);
  double ops = k.ops * out / (double)threads;
  if (k.shared > q->t->max_shared_bytes)
    return "more shared memory than a block may have";
  if (k.spilled > FEW_WORDS)
    return "registers would be spilled";
  if (ops > MOST_OPS)
    return "the code of a thread is too long";
  double most = q->t->max_threads_per_core > 0 ? q->t->max_threads_per_core : 2048;
  *w = (TileWork){.blocks = block_count(q, width),
                  .warps = (double)threads / q->t->lanes,
                  .resident = k.occupancy * most / (double)threads,
                  .instructions = OVERLAP_PART * ops +
                                  (1 - OVERLAP_PART) * function_ops(q, l) * s->elems[0] * s->elems[1] * s->elems[2],
                  .memory = TILE[q->rank - 1],
                  .bytes = k.bytes};
  w->alone = w->memory + STEP[q->rank - 1] * l->n + w->instructions / RATE;
  return NULL;
}

/* ---- walked tiles */

/* The same of walked tile `s` of pipeline `p`. */
static const char *walk_work(const PlanQuery *q, const Stream *p, const Schedule *s, TileWork *w) {
  if (!stream_fits(q->t, p, s))
    return "no points are left beside the halo, or its rows do not fit";
  if (!stream_is_comfortable(p, s))
    return "its rows want more registers, or its code is longer, than is good";
  int64_t width[MAX_RANK], threads = 1;
  int x = q->rank - 1;
  Work step = {0};
  double lane = s->elems[x] * (q->rank > 2 ? s->elems[1] : 1);
  for (int d = 0; d < q->rank; d++) {
    width[d] = stream_width(p, s, d);
    threads *= s->block[d];
  }
  for (int i = 0; i < p->l->n; i++)
    stencil_work(q->m, &p->l->st[i], &step);
  double more = q->points > PARTED_POINTS ? LONG_WALK_MORE[x] : WALK_MORE[x],
         f64 = q->t->f64_rate > 0 ? q->t->f32_rate / q->t->f64_rate : 2,
         point = step.f32_ops + step.f64_ops * f64 + more * p->l->n,
         rows = q->rank == 1 ? 1 : (double)(s->chunk + p->halo.lo[0] + p->last);
  double registers = stream_registers(p, s), most = q->t->max_threads_per_core > 0 ? q->t->max_threads_per_core : 2048,
         by_registers = q->t->registers_per_core / (registers * (double)threads), by_threads = most / (double)threads;
  *w = (TileWork){.blocks = block_count(q, width),
                  .warps = (double)threads / q->t->lanes,
                  .resident = by_registers > by_threads ? by_threads : by_registers,
                  .instructions = rows * lane * point,
                  .start = WALK_TILE[x],
                  .alone = STAGE[x] * rows * p->l->n,
                  .bytes = launch_bytes(p->l)};
  return NULL;
}

void plan_cost(const PlanQuery *q, PlanCandidate *k) {
  TileWork w;
  k->dropped = k->p ? walk_work(q, k->p, &k->s, &w) : overlap_work(q, k->l, &k->s, &w);
  if (k->dropped)
    return;
  k->time = tile_time(q, &w);
  k->seconds = k->time.seconds / k->s.T;
}
