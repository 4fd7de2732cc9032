/* cost.c: what a candidate is expected to take on a grid of known size, before anything is lowered: what it does is
 * counted, the model is told of that as it is of a finished kernel (LaunchLoad), and says how long it takes. */
#include "passes/launch/launch.h"
#include "passes/plan/fuse.h"
#include "passes/plan/plan.h"

#include <math.h>

/* The blocks of tiles that are `width[d]` points wide. */
static double block_count(const PlanQuery *q, const int64_t *width) {
  double n = 1;
  for (int d = 0; d < q->rank; d++)
    n *= (double)((q->want.size[d] + width[d] - 1) / width[d]);
  return n;
}

/* Threads of a block of `s`; INT64_MAX if the target has not so many. */
static int64_t threads_of(const PlanQuery *q, const Schedule *s) {
  int64_t threads = 1;
  for (int d = 0; d < q->rank; d++) {
    threads *= s->block[d];
    if (s->block[d] > q->t->max_block[q->rank - 1 - d])
      return INT64_MAX;
  }
  return threads <= q->t->max_threads ? threads : INT64_MAX;
}

/* How many times as long as one in f32 takes an addition in f64. */
static double f64_slower(const TargetInfo *t) {
  return t->f64_rate > 0 ? t->f32_rate / t->f64_rate : tuning.unknown_f64;
}

/* ---- overlapped tiles */

/* Operations of launch `l` for a point that are those of roots, quotients and functions, in f32 additions. */
static double function_ops(const PlanQuery *q, const Launch *l) {
  double sum = 0, f64 = f64_slower(q->t);
  for (int i = 0; i < l->n; i++) {
    const Piece *p = main_piece(q->m->arena, &l->st[i]);
    for (const Op *op = p->body->first; op; op = op->next)
      if (op->nresults && type_is_float(op->results[0]->type) && op_additions(op) > 1)
        sum += op_additions(op) * (op->results[0]->type == TY_F64 ? tuning.function_f64 * f64 : 1);
  }
  return sum;
}

/* Counts overlapped tile `s` of a launch; why it is not to be taken, or NULL. */
static const char *count_overlap(const PlanQuery *q, const PlanLaunch *of, const Schedule *s, TileCount *n) {
  const Launch *l = of->l;
  int64_t width[MAX_RANK];
  double out = 1;
  for (int d = 0; d < q->rank; d++) {
    width[d] = launch_width(l, d, (int64_t)s->block[d] * s->elems[d]);
    out *= (double)width[d];
    if (width[d] < 1)
      return "no points are left beside the halo";
  }
  LaunchCost k = reads_cost(of->reads, s, 1, tuning.endless_points);
  if (k.shared > q->t->max_shared_bytes)
    return "more shared memory than a block may have";
  if (k.spilled > tuning.few_words)
    return "registers would be spilled";
  n->shared = k.shared;
  n->registers = k.registers;
  n->blocks = block_count(q, width);
  n->width = out;
  n->cells = (double)s->elems[0] * s->elems[1] * s->elems[2];
  n->operations = k.ops * out / (double)n->threads;
  n->functions = of->functions * n->cells;
  n->cache_bytes = q->points * k.bytes;
  n->memory_bytes = q->points * k.memory_bytes;
  return n->operations > tuning.most_operations ? "the code of a thread is too long" : NULL;
}

/* ---- walked tiles */

/* Lines of other warps that a row of pipeline `p` reads. */
static int32_t lines_across(const Stream *p) {
  int32_t lines = 0;
  for (int f = 0; f < p->l->m->nfields; f++)
    for (int v = 0; v <= p->l->use[f].versions; v++)
      if (p->w[f][v].used && p->w[f][v].across)
        lines += p->w[f][v].reach_lo + p->w[f][v].reach_hi;
  return lines;
}

/* The same of walked tile `s`. */
static const char *count_walk(const PlanQuery *q, const PlanLaunch *of, const Schedule *s, TileCount *n) {
  const Stream *p = of->p;
  if (!stream_fits(q->t, p, s))
    return "no points are left beside the halo, or its rows do not fit";
  if (!stream_is_comfortable(p, s))
    return "its rows want more registers, or its code is longer, than is good";
  int64_t width[MAX_RANK];
  int x = q->rank - 1;
  n->width = 1;
  for (int d = 0; d < q->rank; d++) {
    width[d] = stream_width(p, s, d);
    n->width *= (double)width[d];
  }
  n->shared = stream_shared_bytes(q->t, p, s);
  n->registers = (int32_t)fmin(stream_registers(p, s), MOST_REGISTERS);
  n->blocks = (double)((q->want.size[0] + width[0] - 1) / width[0]);
  for (int d = 1; d < q->rank; d++)
    n->blocks *= (double)stream_tiles(p, s, d, q->want.size[d]);
  if (stream_begins_slowly(p, s) && (n->blocks > q->t->cores || s->chunk < tuning.long_walk))
    return "so few warps are slow to begin: that pays for long walks only, all of which are there at once";
  n->rows = (double)(s->chunk + p->halo.lo[0] + p->last);
  n->lines = q->rank > 2 ? s->elems[1] : 1;
  n->cells = n->lines * s->elems[x];
  n->f32 = of->step.f32_ops;
  n->f64 = of->step.f64_ops;
  n->lines_across = of->lines_across * s->elems[x];
  n->memory_bytes = q->points * launch_bytes(p->l);
  n->cache_bytes = n->blocks * (double)n->threads * n->rows * n->cells * launch_bytes(p->l);
  return NULL;
}

const PlanLaunch *plan_launch(const PlanQuery *q, const Launch *l, bool walked) {
  PlanLaunch *of = ARENA_NEW(q->c->arena, PlanLaunch);
  *of = (PlanLaunch){.l = l, .p = walked ? stream_new(l) : NULL, .words = 1};
  of->walk = walked ? walk_work(q->t, of->p) : NULL;
  of->tile = walked ? NULL : tile_work(q->t, l);
  of->reads = walked ? NULL : launch_reads_all(q->t, l);
  of->functions = function_ops(q, l);
  of->lines_across = walked ? lines_across(of->p) : 0;
  for (int i = 0; i < l->n; i++)
    stencil_work(q->m, &l->st[i], &of->step);
  for (int f = 0; f < q->m->nfields; f++)
    if (l->use[f].stored && type_size(q->m->fields[f].type) > 4)
      of->words = 2;
  return of;
}

const char *plan_count(const PlanQuery *q, const PlanCandidate *k, TileCount *out) {
  *out = (TileCount){.walked = k->of->p != NULL,
                     .rank = q->rank,
                     .threads = threads_of(q, &k->s),
                     .points = q->points,
                     .instances = k->of->l->n,
                     .words = k->of->words};
  if (out->threads == INT64_MAX)
    return "more threads than a block may have";
  return (out->walked ? count_walk : count_overlap)(q, k->of, &k->s, out);
}

/* What a thread of overlapped tiles in rank 3 does. */
static KernelWork overlap_work(const TileCount *n) {
  return (KernelWork){.instructions = tuning.rough_part * n->operations + (1 - tuning.rough_part) * n->functions,
                      .waits = tuning.rough_tile_waits,
                      .barriers = tuning.rough_barriers * n->instances};
}

/* What a thread of walked planes does: lanes exchange two values for each line and stencil. */
static KernelWork rough_work(const TileCount *n) {
  double cell = n->f32 + n->f64 + tuning.rough_cell * n->instances,
         exchanges = 2 * n->rows * n->instances * n->lines * n->words;
  return (KernelWork){.instructions = n->rows * (n->cells * cell + tuning.rough_row * n->instances),
                      .f64 = n->rows * n->cells * n->f64,
                      .shared = exchanges + 2 * tuning.rough_line * n->rows * n->lines_across * n->words,
                      .exchanges = exchanges,
                      .waits = tuning.rough_waits,
                      .barriers = n->rows};
}

LaunchLoad plan_load(const TileCount *n) {
  LaunchLoad l = {.work = n->walked ? rough_work(n) : overlap_work(n),
                  .registers = n->registers,
                  .shared = n->shared,
                  .points = n->points,
                  .blocks = n->blocks,
                  .memory_bytes = n->memory_bytes,
                  .cache_bytes = n->cache_bytes};
  l.work.threads = n->threads;
  l.work.points = n->width;
  l.work.rounds = n->rows > 1 ? n->rows : 1;
  return l;
}

/* ---- few blocks */

/* What a warp of a block does where few are there: what it issues; microseconds that pass before all else, in memory
 * while other blocks go on, and at least, done one after the other. */
typedef struct FewWork {
  double instructions, start, memory, alone;
} FewWork;

/* Instructions that a scheduler issues in a microsecond: as tuned for one that takes a whole warp each clock, fewer
 * where a wave takes several. */
static double few_rate(const TargetInfo *t) {
  double lanes =
      t->clock > 0 && t->issue_rate > 0 ? t->issue_rate / (t->clock * t->cores * tuning.schedulers) : t->lanes;
  return tuning.few_rate * fmin(1, lanes / t->lanes);
}

/* That of tiles counted in `n`. */
static FewWork few_work(const PlanQuery *q, const TileCount *n) {
  int r = n->rank - 1;
  if (!n->walked) {
    FewWork w = {.instructions = tuning.few_part * n->operations + (1 - tuning.few_part) * n->functions,
                 .memory = tuning.few_tile[r]};
    w.alone = w.memory + tuning.few_step[r] * n->instances + w.instructions / few_rate(q->t);
    return w;
  }
  double more = n->points > tuning.parted_points ? tuning.few_long_cell[r] : tuning.few_cell[r];
  return (FewWork){.instructions = n->rows * n->cells * (n->f32 + n->f64 * f64_slower(q->t) + more * n->instances),
                   .start = tuning.few_start[r],
                   .alone = tuning.few_row[r] * n->rows * n->instances};
}

/* The time of a launch of few blocks: most cores wait, for it to begin and for memory, and those that work have few
 * warps. The longest of what bounds it, in rounds of blocks; nothing blends. */
static LaunchTime few_time(const PlanQuery *q, const TileCount *n) {
  FewWork w = few_work(q, n);
  LaunchTime t = {.launch = 1e-6 * tuning.few_launch * q->t->launch_us,
                  .occupancy = model_occupancy(q->t, n->threads, n->registers, n->shared)};
  double each = ceil(n->blocks / q->t->cores), most = t.occupancy.blocks, at_once = each < most ? each : most,
         rounds = each / at_once, warps = (double)n->threads / q->t->lanes,
         bytes = n->walked ? n->memory_bytes : n->cache_bytes;
  bool cached = bytes < tuning.few_cached;
  t.filled = each < most ? each / most : 1;
  t.alone[BOUND_ISSUE] =
      1e-6 * rounds *
      (w.start + ceil(at_once * warps / tuning.schedulers) * w.instructions / few_rate(q->t) + w.memory / at_once);
  t.alone[BOUND_LATENCY] = 1e-6 * rounds * (w.start + w.alone);
  t.alone[cached ? BOUND_CACHE : BOUND_MEMORY] = bytes * 1e-9 / (cached ? q->t->cache_bandwidth : q->t->bandwidth);
  for (int b = 0; b < BOUNDS; b++)
    t.bound = t.alone[b] > t.alone[t.bound] ? (Bound)b : t.bound;
  t.seconds = t.launch + t.alone[t.bound];
  return t;
}

/* Are planes walked, by blocks that fill the cores? */
static bool fills_cores(const PlanQuery *q) {
  return q->rank == MAX_RANK && q->points >= tuning.large_grid[q->rank - 1];
}

double plan_untold(const PlanQuery *q, const PlanCandidate *k) {
  bool narrow =
      q->rank == MAX_RANK && k->of && k->of->p && k->s.ahead > 1 && k->s.elems[2] * k->of->words * 4 < VECTOR_BYTES;
  return narrow ? tuning.narrow_copies : 1;
}

/* Has a field of the module older levels, which a step reads? */
static bool reads_history(const Module *m) {
  bool reads = false;
  for (int f = 0; f < m->nfields; f++)
    reads |= m->fields[f].history > 0;
  return reads;
}

bool plan_counts(const PlanQuery *q) {
  return q->rank == 1 ||
         (q->points < tuning.counted_points[q->rank - 1] && q->t->async_copy && (q->rank > 2 || !reads_history(q->m)));
}

void plan_cost(const PlanQuery *q, PlanCandidate *k) {
  TileCount n;
  if (plan_counts(q)) {
    plan_judge(q, k);
    k->dropped = k->unfit;
    k->seconds = k->judged;
    return;
  }
  k->dropped = plan_count(q, k, &n);
  if (k->dropped)
    return;
  LaunchLoad load = plan_load(&n);
  k->time = fills_cores(q) ? model_launch(q->t, &load) : few_time(q, &n);
  k->seconds = plan_untold(q, k) * k->time.seconds / k->s.T;
}
