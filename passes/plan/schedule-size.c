/* schedule-size.c: what is left open of a schedule chosen for a grid that is too small for the tiles that large grids
 * like best.
 *
 * On a large grid a schedule is as good as it uses memory and arithmetic. On a small one most multiprocessors wait,
 * for a launch to begin and for memory, and those that work have few
 * warps: each stays with one of four schedulers, so that five take as long as eight. Here the time of a launch is
 * estimated as
 *
 *   launch + the rounds in which blocks run * (memory before and behind a tile + the warps of the scheduler with the
 *   most of them * instructions)
 *
 * and at least as long as memory takes, and what a block does one after the other. */
#include "passes/plan/estimate.h"
#include "passes/plan/fuse.h"
#include "passes/lower/loops.h"
#include "passes/lower/stream.h"

#include <math.h>
#include <string.h>

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
/* Points from which on a grid is large, by rank. Bytes that stay in the largest cache. How much better than the choice
 * for large grids another one must be expected to be. */
static const double LARGE[MAX_RANK] = {67108864, 67108864, 16777216}, CACHED = 32e6, BETTER = 0.92;
/* Points from which on two kernels, for tiles at edges and for the others, are worth what it takes to have them wait
 * for each other. */
static const double PARTED = 4194304;
/* Instructions of an overlapped tile for each operation that pass fuse counts, those of roots, quotients and functions
 * aside, which are counted as they are; of a walked one for each point and stencil beside those of its equation, by
 * rank: what begins and ends a walk and masks at edges among them, which counts for less on grids that are larger than
 * PARTED. */
static const double OVERLAP_PART = 0.4, WALK_MORE[MAX_RANK] = {0.7, 4, 11}, LONG_WALK_MORE[MAX_RANK] = {0.7, 1.8, 11};
/* Points below which no rows or planes are walked, by rank: there nearly all tiles are at an edge, and walks came out
 * slower than overlapped tiles, in rank 3 than one launch a step, too (docs/performance.md). */
static const double FEW[MAX_RANK] = {0, 524288, 4194304};
/* Operations of an overlapped tile's thread, at most; blocks that a multiprocessor holds, at most. */
static const double MOST_OPS = 6000, MOST_BLOCKS = 32;
/* Words that a thread of an overlapped tile may want beyond its registers: loads that run ahead, which are given up
 * first. */
enum { FEW_WORDS = 32 };

/* Tiles that are looked at, by rank: threads and elements of overlapped ones, warps and elements of walked ones, ended
 * by 0. */
typedef int32_t Shape[MAX_RANK];
static const Shape blocks[MAX_RANK][8] = {{{128}, {256}, {512}, {1024}},
                                          {{8, 32}, {16, 32}, {32, 32}, {8, 64}, {16, 64}, {8, 128}},
                                          {{4, 4, 32}, {4, 8, 32}, {8, 4, 32}, {2, 8, 32}}};
static const Shape elems[MAX_RANK][10] = {
    {{1}, {2}, {4}, {8}},
    {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {6, 1}, {8, 1}, {2, 2}, {4, 2}},
    {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {4, 1, 1}, {2, 2, 1}, {3, 2, 1}, {4, 2, 1}, {3, 3, 1}}};
static const Shape warps[MAX_RANK][5] = {{{32}, {64}, {128}}, {{1, 32}, {2, 32}, {4, 32}}, {{1, 8, 32}, {1, 16, 32}}};
static const Shape cells[MAX_RANK][6] = {{{2}, {4}, {8}, {16}, {32}},
                                         {{1, 2}, {1, 4}},
                                         {{1, 1, 2}, {1, 2, 2}, {1, 1, 4}, {1, 2, 4}}};
static const int32_t chunks[] = {8, 16, 32, 64, 128, 0},
                     levels[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 0};
static const int32_t most_levels_of[MAX_RANK] = {64, 12, 4};

/* The work: the grid's extents and points, the best choice so far and the microseconds a step that are expected of it.
 */
typedef struct Suit {
  PassContext *c;
  const Module *m;
  const TargetInfo *t;
  int rank;
  const int64_t *size;
  double points;
  Schedule best;
  double us;
} Suit;

bool schedule_depends_on_size(const Schedule *s) {
  bool open = !s->T && !s->chunk && !s->ahead && s->family != FAMILY_NAIVE;
  for (int d = 0; d < MAX_RANK; d++)
    open = open && !s->block[d] && !s->elems[d];
  return open;
}

/* Points of the grid that `s` is to suit; 0 if that is not known. */
static double points_of(const Schedule *s, int rank) {
  double points = 1;
  for (int d = 0; d < rank; d++)
    points *= (double)s->size[d];
  return points;
}

bool schedule_size_is_large(const Schedule *s, int rank) { return points_of(s, rank) >= LARGE[rank - 1]; }

bool schedule_rows_are_open(const Schedule *s) {
  return !s->chunk && (s->family == FAMILY_AUTO || family_row(s->family)->walked);
}

bool schedule_parts_edges(const Schedule *s, int rank) {
  double points = points_of(s, rank);
  return s->edges ? s->edges == EDGES_APART : points == 0 || points >= PARTED;
}

/* The blocks of tiles that are `width[d]` points wide. */
static double block_count(const Suit *x, const int64_t *width) {
  double n = 1;
  for (int d = 0; d < x->rank; d++)
    n *= (double)((x->size[d] + width[d] - 1) / width[d]);
  return n;
}

/* Microseconds that memory needs for `bytes` a point; all of a small grid is in the cache. */
static double memory_us(const Suit *x, double bytes) {
  double rate = x->points * bytes < CACHED ? x->t->cache_bandwidth : x->t->bandwidth;
  return x->points * bytes / (rate * 1e3);
}

/* What a block does: the instructions of each of its warps, and microseconds: before all else; in memory, while other
 * blocks go on; and what the rest takes at least, done one after the other. */
typedef struct BlockWork {
  double instructions, start, memory, alone;
} BlockWork;

/* Microseconds that `n` blocks of `warps` warps take, of which a multiprocessor holds `resident`. */
static double blocks_us(const Suit *x, double n, double warps, double resident, BlockWork w) {
  double each = ceil(n / x->t->cores), most = resident < 1 ? 1 : resident > MOST_BLOCKS ? MOST_BLOCKS : resident;
  double at_once = each < most ? each : most,
         together = ceil(at_once * warps / SCHEDULERS) * w.instructions / RATE + w.memory / at_once;
  return each / at_once * (w.start + (w.alone > together ? w.alone : together));
}

/* Takes `s` for the best if a launch of it, which takes `us`, is the fastest a step so far. */
static void take_better(Suit *x, const Schedule *s, double us) {
  us /= s->T;
  if (us < x->us) {
    x->best = *s;
    x->us = us;
  }
}

/* ---- overlapped tiles */

/* Operations of launch `l` for a point that are those of roots, quotients and functions, in f32 additions. */
static double function_ops(const Suit *x, const Launch *l) {
  double sum = 0, f64 = x->t->f64_rate > 0 ? x->t->f32_rate / x->t->f64_rate : 2;
  for (int i = 0; i < l->n; i++) {
    const Piece *p = main_piece(x->m->arena, &l->st[i]);
    for (const Op *op = p->body->first; op; op = op->next)
      if (op->nresults && type_is_float(op->results[0]->type) && op_additions(op) > 1)
        sum += op_additions(op) * (op->results[0]->type == TY_F64 ? 2 * f64 : 1);
  }
  return sum;
}

/* Looks at the overlapped tile `s` of launch `l`. */
static void try_overlap(Suit *x, const Launch *l, const Schedule *s) {
  int64_t width[MAX_RANK], threads = 1;
  double out = 1;
  for (int d = 0; d < x->rank; d++) {
    width[d] = launch_width(l, d, (int64_t)s->block[d] * s->elems[d]);
    threads *= s->block[d];
    out *= (double)width[d];
    if (width[d] < 1 || s->block[d] > x->t->max_block[x->rank - 1 - d])
      return;
  }
  if (threads > x->t->max_threads)
    return;
  LaunchCost k = launch_cost(x->t, l, s, 1, 1e9);
  double ops = k.ops * out / (double)threads;
  if (k.shared > x->t->max_shared_bytes || k.spilled > FEW_WORDS || ops > MOST_OPS)
    return;
  double most = x->t->max_threads_per_core > 0 ? x->t->max_threads_per_core : 2048,
         warp = (double)threads / x->t->lanes;
  BlockWork w = {.instructions = OVERLAP_PART * ops +
                                 (1 - OVERLAP_PART) * function_ops(x, l) * s->elems[0] * s->elems[1] * s->elems[2],
                 .memory = TILE[x->rank - 1]};
  w.alone = w.memory + STEP[x->rank - 1] * l->n + w.instructions / RATE;
  double us = blocks_us(x, block_count(x, width), warp, k.occupancy * most / (double)threads, w),
         memory = memory_us(x, k.bytes);
  take_better(x, s, IN_GRAPH * x->t->launch_us + (us > memory ? us : memory));
}

/* Looks at the overlapped tiles of launch `l` of T steps. */
static void try_overlaps(Suit *x, const Launch *l, int T) {
  for (const Shape *b = blocks[x->rank - 1]; (*b)[0]; b++)
    for (const Shape *e = elems[x->rank - 1]; (*e)[0]; e++) {
      Schedule s = {.family = FAMILY_OVERLAP, .T = T, .block = {1, 1, 1}, .elems = {1, 1, 1}};
      memcpy(s.block, *b, sizeof *s.block * (size_t)x->rank);
      memcpy(s.elems, *e, sizeof *s.elems * (size_t)x->rank);
      try_overlap(x, l, &s);
    }
}

/* ---- walked tiles */

/* Looks at the walked tile `s` of pipeline `p`. */
static void try_walk(Suit *x, const Stream *p, const Schedule *s) {
  if (!stream_fits(x->t, p, s) || !stream_is_comfortable(p, s))
    return;
  int64_t width[MAX_RANK], threads = 1;
  Work w = {0};
  double lane = s->elems[x->rank - 1] * (x->rank > 2 ? s->elems[1] : 1);
  for (int d = 0; d < x->rank; d++) {
    width[d] = stream_width(p, s, d);
    threads *= s->block[d];
  }
  for (int i = 0; i < p->l->n; i++)
    stencil_work(x->m, &p->l->st[i], &w);
  double more = x->points > PARTED ? LONG_WALK_MORE[x->rank - 1] : WALK_MORE[x->rank - 1];
  double point = w.f32_ops + w.f64_ops * (x->t->f64_rate > 0 ? x->t->f32_rate / x->t->f64_rate : 2) + more * p->l->n;
  double rows = x->rank == 1 ? 1 : (double)(s->chunk + p->halo.lo[0] + p->last), warp = (double)threads / x->t->lanes;
  double registers = stream_registers(p, s), most = x->t->max_threads_per_core > 0 ? x->t->max_threads_per_core : 2048;
  double resident = x->t->registers_per_core / (registers * (double)threads), by_threads = most / (double)threads;
  resident = resident > by_threads ? by_threads : resident < 1 ? 1 : resident;
  double us = blocks_us(x, block_count(x, width), warp, resident,
                        (BlockWork){.instructions = rows * lane * point,
                                    .start = WALK_TILE[x->rank - 1],
                                    .alone = STAGE[x->rank - 1] * rows * p->l->n});
  double memory = memory_us(x, launch_bytes(p->l));
  take_better(x, s, IN_GRAPH * x->t->launch_us + (us > memory ? us : memory));
}

/* Looks at the walked tiles of launch `l` of T steps. */
static void try_walks(Suit *x, const Launch *l, int T) {
  static const Schedule open = {.family = FAMILY_STREAM};
  Schedule s, own;
  if (schedule_walk(x->c, &open, l, T, &own))
    return;
  const Stream *p = stream_new(l);
  for (const Shape *b = warps[x->rank - 1]; (*b)[0]; b++)
    for (const Shape *e = cells[x->rank - 1]; (*e)[0]; e++)
      for (const int32_t *chunk = chunks; *chunk; chunk++) {
        s = own;
        memcpy(s.block, *b, sizeof *s.block * (size_t)x->rank);
        memcpy(s.elems, *e, sizeof *s.elems * (size_t)x->rank);
        s.chunk = x->rank == 1 ? 1 : *chunk;
        try_walk(x, p, &s);
      }
}

/* ---- the choice */

/* Looks at what would be chosen for a large grid within the family of `want`; T: the module was tiled so, or 0. */
static void try_large(Suit *x, const Schedule *want, int64_t most, int T) {
  Schedule open = *want, s;
  PassContext with = *x->c;
  memset(open.size, 0, sizeof open.size);
  with.schedule = &open;
  if (want->family == FAMILY_AUTO)
    open.family = stream_is_not_better(x->c, x->m, &open, most) ? FAMILY_OVERLAP : FAMILY_STREAM;
  int own = schedule_levels(&with, x->m);
  Launch *l = tiled_launch(x->m, own);
  if ((T && T != own) || l->illegal)
    return;
  if (open.family == FAMILY_OVERLAP) {
    if (!schedule_launch(&with, &open, l, own, false, &s))
      try_overlap(x, l, &s);
  } else if (!schedule_walk(&with, &open, l, own, &s)) {
    try_walk(x, stream_new(l), &s);
  }
}

/* Looks at all tiles of T steps in the family of `want`. */
static void try_levels(Suit *x, const Schedule *want, int T) {
  Launch *l = tiled_launch(x->m, T);
  if (l->illegal)
    return;
  bool any = want->family == FAMILY_AUTO;
  if (any || want->family == FAMILY_OVERLAP)
    try_overlaps(x, l, T);
  if ((any && x->t->async_copy && x->points >= FEW[x->rank - 1]) || want->family == FAMILY_STREAM)
    try_walks(x, l, T);
}

bool schedule_suit(PassContext *c, const Module *m, int64_t most, Schedule *want) {
  Suit x = {.c = c, .m = m, .t = c->target, .rank = m->grid.rank, .size = want->size, .points = 1, .us = 1e30};
  int32_t n;
  const Stencil *st = last_level(m, &n);
  int tiled = n > 0 && (m->time_tile > 1 || m->stencils[0].has_extent) ? m->time_tile : 0;
  Schedule open = *want;
  open.T = want->T == tiled ? 0 : want->T;
  for (int d = 0; d < x.rank; d++)
    x.points *= (double)want->size[d];
  if (!schedule_depends_on_size(&open) || x.points < 1 || x.points >= LARGE[x.rank - 1] || !x.t->simt ||
      x.t->cores < 1 || x.t->f32_rate <= 0 || n == 0 || group_count(n, st) > 1)
    return false;
  try_large(&x, want, most, tiled);
  x.us *= BETTER;
  x.best.family = FAMILY_NONE;
  if (tiled)
    try_levels(&x, want, tiled);
  for (const int32_t *T = levels; *T && *T <= most && *T <= most_levels_of[x.rank - 1] && !tiled; T++)
    try_levels(&x, want, *T);
  x.best.fuse = want->fuse;
  if (x.best.family)
    *want = x.best;
  return x.best.family != FAMILY_NONE;
}

/* Is the step of `m` one stencil that sees fields as they are: no records, which pass scalarize took apart, and no
 * older levels? */
static bool is_plain(const Module *m) {
  bool plain = m->nstencils == 1 && m->nrecords == 0;
  for (int f = 0; f < m->nfields; f++)
    plain = plain && m->fields[f].history == 0;
  return plain;
}

bool schedule_prefers_naive(PassContext *c, const Module *m) {
  const Reduction *by;
  if (!c->schedule || c->schedule->family != FAMILY_AUTO || c->schedule->fuse || !is_plain(m))
    return false;
  Schedule want = *c->schedule;
  return schedule_suit(c, m, most_levels(m, &by), &want) && want.T == 1 && want.family == FAMILY_OVERLAP;
}
