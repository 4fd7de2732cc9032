/* schedule-warps.c: tiles for pipelines of warps: makes requests legal, and chooses open parts.
 *
 * *Open parts* are chosen among 4 and 8 warps, 1 to 8 levels in each warp, up to 28 cells in each lane and rings of 2
 * and 3 groups, by an estimate. It counts the computed columns of all strips relative to the columns of a large grid,
 * the rows that segments lose at their ends, shuffles and rings relative to arithmetic, the cost of a row besides its
 * cells, which a core with 12 warps hides best, and the shared memory of the rings of further fields. Registers (kept
 * values, two rows of each field in flight, and 30) must be 248 at most; X times the bytes of a cell over 16 is odd, or
 * each row in a ring costs twice. Roots and quotients count as the operations that they become when they are tested
 * together (`warps-count.c`), and limit a loop's body to 1300 operations. The estimate is weighted by the launches of
 * the program's own run: launches of T steps, of the fewer steps of one kernel for a remainder, and of single steps,
 * each of which takes as long as memory does. If runs stop every N steps, a tile that divides N is taken unless another
 * is clearly faster; a streamed tile is weighted by its launches, too.
 *
 * *`-schedule=auto`* takes this schedule where it was measured to be faster:
 * - for steps that only add and multiply: sums of one field on grids of 4096^2 points and more, of 2048 rows or more,
 *   in f64 of 2048^2; steps of several fields of one type on grids of 2048^2 and more (of 8192^2, in f64 of 4096^2, if
 *   they have rules beyond their edges).
 * - if a field is a constant beyond an edge, with rules from 4096^2 points on, and for steps with choices and few
 *   quotients: if this estimate is below 0.92 of the model's time for the streamed tile.
 * - on grids of 8192^2 points and more (16384^2 where lanes have one vector), for steps with roots and quotients, but
 *   no other functions: if this estimate, for the given grid, is below 0.92 (in f64 from 4096^2 points on below 0.65)
 *   of the model's time for the streamed tile.
 *
 * Measured: docs/lab/warps.md. */
#include "passes/tile/warps.h"
#include "passes/launch/slices.h"
#include "passes/plan/plan.h"
#include "passes/base/weights.h"

#include <math.h>
#include <string.h>

/* Limits of any request. */
enum { MAX_WARPS_T = 64, LEAST_WARPS = 2, LEAST_RING = 2, MOST_RING = 8 };
/* More than any tile takes. */
static const double MOST_COST = 1e30;

/* The best tile so far, the best of those that leave no steps over before a stop, and the time of a step of a run in
 * each. */
typedef struct WarpBest {
  Schedule s, even;
  double least, least_even;
} WarpBest;

/* The values that are tried where a request leaves them open: numbers of warps (from the first one on, if it divides
 * the steps), time steps of a warp, cells of a lane, and groups of rows of a ring. A request that gives all numbers but
 * the last gets the usual ring. */
enum { FIRST_WARPS = 4, MOST_WARPS = 8, MOST_LEVELS = 8, MOST_LANE_CELLS = 28, USUAL_RING = 3 };

/* The launches of a run in tiles of T steps by W warps; kept because many tiles with the same T and W are examined; T
 * 0: none yet. */
typedef struct LastRun {
  int32_t T, W;
  RunLaunches run;
} LastRun;

/* The choice for a launch: its level, and the most steps. */
typedef struct WarpChoice {
  PassContext *c;
  const WarpLevel *e;
  const Schedule *want;
  LastRun *last;
} WarpChoice;

const char *schedule_warps_wrong(Arena *a, const TargetInfo *t, const WarpLevel *e, const Schedule *s) {
  int vector = VECTOR_BYTES / warps_smallest(e), side = e->beside;
  if (s->block[1] != WARP_LANES || s->elems[0] != 1)
    return arena_printf(a, "a block is Wx%d threads with 1xX cells each; -block=%dx%d -elems=%dx%d are not", WARP_LANES,
                        s->block[0], s->block[1], s->elems[0], s->elems[1]);
  if (s->T % s->block[0] || s->T > MAX_WARPS_T)
    return arena_printf(a, "-T=%d: %d warps share the time steps evenly, at most %d", s->T, s->block[0], MAX_WARPS_T);
  if (s->elems[1] % vector || s->elems[1] < side || s->elems[1] > MAX_WARP_CELLS)
    return arena_printf(a, "-elems=1x%d: a lane has a multiple of %d cells, at least %d and at most %d", s->elems[1],
                        vector, side, MAX_WARP_CELLS);
  if (s->ahead < LEAST_RING || s->ahead > MOST_RING)
    return arena_printf(a, "-ahead=%d: rings have %d to %d groups of rows", s->ahead, LEAST_RING, MOST_RING);
  WarpShape w = warps_shape(t, e, s);
  if (warps_spilled_rows(e) >= w.G * w.U)
    return arena_printf(a, "-ahead=%d: rings of %d rows are shorter than what a level looks back", s->ahead, w.G * w.U);
  if (32 * w.X <= 2 * w.halo)
    return arena_printf(a, "-T=%d -elems=1x%d: a strip of %d columns is not larger than its halo, %d on each side",
                        s->T, w.X, 32 * w.X, w.halo);
  if (32 * (w.W + w.move.producers) > t->max_threads)
    return arena_printf(a, "-block=%dx32: a block has at most %d threads", w.W, t->max_threads);
  if (warps_shared_bytes(e, &w) > t->max_shared_bytes)
    return arena_printf(a, "the rings take %lld bytes of shared memory, and a block has %lld",
                        (long long)warps_shared_bytes(e, &w), (long long)t->max_shared_bytes);
  return NULL;
}

/* The reason why the tile of `s`, whose knobs are all chosen, is not legal, NULL: it is. */
static const char *why_not_legal(const WarpChoice *x, const Schedule *s) {
  return schedule_warps_wrong(x->c->arena, x->c->target, warps_level_for(x->e, s), s);
}

/* Slots of instructions that a row of `fields` fields costs a lane beside those of its cells, in a tile whose cores
 * hold `held` warps: the row is loaded, stored, and waits for neighbouring warps, and fewer warps hide less of that.
 * Each field but the first costs the time that shared memory takes for its cells, two bytes a slot. */
static double row_overhead(const WarpShape *w, int size, int fields, double held) {
  double slots = size > 4                        ? measured.warps_row_f64 + measured.warps_group_f64 / w->U
                 : held >= tuning.pipeline_warps ? measured.warps_group_many / w->U + measured.warps_row_many
                                                 : measured.warps_row_some + measured.warps_group_some / w->U;
  return (held < tuning.warps_few ? measured.warps_few_lost * slots : slots) +
         measured.warps_field * w->X * size * (fields - 1);
}

/* Does the level compute roots or quotients, and no other functions? */
static bool computes_roots(const WarpLevel *e) {
  bool roots = false, others = false;
  for (int v = 0; v < e->nvalues; v++) {
    const WarpValue *x = &e->value[v];
    if (!warps_costs(x) || !type_is_float(x->type) || op_additions(x->op) <= 1)
      continue;
    bool root = x->op->code == OP_DIV || x->op->code == OP_SQRT;
    roots = roots || root;
    others = others || !root;
  }
  return roots && !others;
}

/* By what factor tiles take longer than expected whose code is long, so that two blocks in f64 slow each other down (of
 * one field), and tiles that compute roots, whose operands wait for tests. `row` are the operations of a row. */
static double lost_to_code(const WarpLevel *e, const WarpShape *w, int size, int per, double row) {
  double roots = !computes_roots(e) ? 1 : size > 4 ? measured.warps_roots_f64 : measured.warps_roots;
  bool both = size > 4 && per == 2 && e->nfields == 1;
  double beside = both ? 1 + measured.warps_twice_beside * (e->left + e->right) : 1;
  double body = e->sums ? 0 : w->V * row,
         longer =
             body > measured.warps_long_loop ? 1 + (body - measured.warps_long_loop) / measured.warps_loop_width : 1;
  return roots * beside * longer * (row > measured.warps_long_row ? measured.warps_row_lost : 1);
}

/* Would a level that is alone in its warp delay reads of fields? Levels beside others, which do not, then keep loaded
 * values in more registers, and wait for memory no less. */
static bool delays_reads(const WarpLevel *level, const Schedule *s) {
  Schedule alone = *s;
  alone.T = alone.block[0];
  return warps_level_for(level, &alone)->delay;
}

/* Picoseconds a point that memory takes to load and store all fields of a level. */
static double memory_ps(const TargetInfo *t, const WarpLevel *e) {
  double kept = t->kept_bandwidth > 0 ? t->kept_bandwidth : 1;
  return t->bandwidth > 0 ? 1e3 * warps_cell_bytes(e) / (kept * t->bandwidth) : 0;
}

/* The expected picoseconds a point and step of `s` on a grid of extents `size`: additions, and instructions issued
 * beside them; or the time of memory, if that is longer. Both add up if reads of fields are delayed, or could be,
 * because their rows arrive just in time. All of it is multiplied by the overlap of strips and segments. An operation
 * in f64 takes two slots. */
static double cost_of(const TargetInfo *t, const WarpLevel *level, const Schedule *s, const int64_t *size) {
  const WarpLevel *e = warps_level_for(level, s);
  WarpShape w = warps_shape(t, e, s);
  int bytes = warps_largest(e), per = warps_per_core(t, e, &w);
  double across = (double)warps_strips(e, &w, size) * WARP_LANES * w.X / (double)size[1];
  double rows = warps_segment_rows(t, e, &w, size);
  bool ranged = t->range_guards && !e->m->fast_math;
  double n = warps_slots(e, ranged), rate = bytes == 4 ? t->f32_rate : t->f64_rate, slots = bytes > 4 ? 2 * n : n;
  double beside = 1 + (2.0 * e->nfields / (w.vector * w.C) + (double)(e->left + e->right) / w.X) / slots;
  double row = slots * w.C * w.X, overhead = row_overhead(&w, bytes, e->nfields, (double)per * w.W);
  bool conflicts = (w.X / w.vector) % 2 == 0;
  double arithmetic = rate > 0 ? 1e3 * n / rate * beside * (row + overhead) / (measured.warps_issued * row) : 0;
  arithmetic *= lost_to_code(e, &w, bytes, per, n * w.C * w.X) * (conflicts ? measured.warps_conflicts : 1);
  double memory = memory_ps(t, e) / s->T;
  bool count = e->delay || delays_reads(level, s);
  double both = count ? sqrt(arithmetic * arithmetic + memory * memory) : arithmetic > memory ? arithmetic : memory;
  return across * (rows + w.ends) / rows * both;
}

/* The same for a step of the program's own run, including the steps that T leaves over: by fewer levels of the same
 * warps, and single steps, which memory bounds. Like cost_of if the number of steps of a run is not known. */
static double run_cost_of(const WarpChoice *x, const Schedule *s, const int64_t *size) {
  const TargetInfo *t = x->c->target;
  const WarpLevel *level = x->e;
  if (x->last->T != s->T || x->last->W != s->block[0])
    *x->last = (LastRun){s->T, s->block[0], plan_run_launches(level->m, x->want->every, s->T, s->block[0])};
  Schedule fewer = *s;
  fewer.T = x->last->run.t;
  double between = x->last->run.between ? cost_of(t, level, &fewer, size) : 0;
  return plan_run_time(&x->last->run, s->T, cost_of(t, level, s, size), between,
                       measured.warps_single * memory_ps(t, level));
}

double schedule_own_ps(const TargetInfo *t, const Module *m, const Schedule *s, const int64_t *size) {
  const char *why;
  const WarpLevel *e = s->family == FAMILY_WARPS ? warps_level(m, &why) : NULL;
  return e ? cost_of(t, e, s, size ? size : warps_grid_size()) : 0;
}

/* Is a loop's body longer than was measured to be good where roots and quotients are computed? */
static bool is_too_long(const WarpChoice *x, const WarpShape *w) {
  bool ranged = x->c->target->range_guards && !x->e->m->fast_math;
  return computes_roots(x->e) && w->V * w->C * w->X * warps_slots(x->e, ranged) > measured.warps_long_loop;
}

/* Is the loop of tile `s` long because groups have two versions, one of them for special rows, multiplied by the groups
 * of a ring? */
static bool is_long_twice(const WarpChoice *x, const Schedule *s) {
  const WarpLevel *e = warps_level_for(x->e, s);
  WarpShape w = warps_shape(x->c->target, e, s);
  int special;
  warps_special_rows(e, &special, ARENA_ARRAY(x->c->arena, bool, e->nvalues + 1));
  return special && 2.0 * w.R * w.U * w.C * w.X * (warps_operations(e) + 1) > measured.warps_long_loop;
}

/* Fills the rest of `s`, whose T, warps and cells are chosen, and keeps it in *best if it is legal and cheaper. */
static void consider(const WarpChoice *x, Schedule s, WarpBest *best) {
  s.ahead = x->want->ahead;
  for (int ahead = USUAL_RING; ahead >= LEAST_RING && !x->want->ahead; ahead--) {
    Schedule one = s;
    one.ahead = ahead;
    one.every = x->want->every;
    if (ahead == LEAST_RING || !is_long_twice(x, &one))
      consider(&(WarpChoice){x->c, x->e, &one, x->last}, one, best);
  }
  if (!s.ahead || why_not_legal(x, &s))
    return;
  const WarpLevel *e = warps_level_for(x->e, &s);
  WarpShape w = warps_shape(x->c->target, e, &s);
  double cost = run_cost_of(x, &s, warps_grid_size());
  bool even = plan_leaves_none(&x->last->run) && cost < best->least_even;
  if (warps_registers(e, &w) > measured.warps_most_registers || (cost >= best->least && !even) || is_too_long(x, &w))
    return;
  s.every = 0;
  if (even) {
    best->even = s;
    best->least_even = cost;
  }
  if (cost < best->least) {
    best->s = s;
    best->least = cost;
  }
}

/* Is a T asked for that is odd, so that no power of two of warps can share its time steps? */
static bool is_odd(const Schedule *want) { return want->T % LEAST_WARPS; }

/* The number of warps of a tile that is tried first: that of `want` if it gives one. Numbers are powers of two; for an
 * odd T all numbers, of which those that divide T are tiles. most: time steps of a tile. */
static int first_warps(const Schedule *want, int64_t most) {
  if (want->block[0])
    return want->block[0];
  if (is_odd(want))
    return 1;
  return most < FIRST_WARPS || want->T % FIRST_WARPS ? LEAST_WARPS : FIRST_WARPS;
}
static int next_warps(const Schedule *want, int W) { return is_odd(want) ? W + 1 : 2 * W; }

/* The best tile for the open parts of `want`, of at most `most` steps; family NONE: none is legal. If runs stop every
 * so many steps it is one that leaves no steps over, if no other is expected to be clearly faster: it needs no kernel
 * for them, and fills its pipeline less often. */
static Schedule choose(const WarpChoice *x, int64_t most) {
  const Schedule *want = x->want;
  WarpBest best = {.least = MOST_COST, .least_even = MOST_COST};
  most = want->every && want->every < most && !want->T ? want->every : most;
  Schedule s = {.family = FAMILY_WARPS, .ngroups = 1};
  int vector = VECTOR_BYTES / warps_smallest(x->e), warps = want->block[0], cells = want->elems[1];
  int most_warps = warps ? warps : MOST_WARPS, most_cells = cells ? cells : MOST_LANE_CELLS;
  for (int W = first_warps(want, most); W <= most_warps; W = next_warps(want, W))
    for (int C = 1; C <= MOST_LEVELS; C++)
      for (int X = cells ? cells : vector; X <= most_cells; X += vector) {
        s.T = C * W;
        s.block[0] = W;
        s.block[1] = want->block[1] ? want->block[1] : WARP_LANES;
        s.elems[0] = want->elems[0] ? want->elems[0] : 1;
        s.elems[1] = X;
        s.block[2] = s.elems[2] = 1;
        if (s.T <= most && (!want->T || want->T == s.T))
          consider(x, s, &best);
      }
  bool even = best.even.family && plan_stops(x->e->m, want) && best.least >= tuning.clearly * best.least_even;
  return even ? best.even : best.s;
}

/* Does the request give the whole tile? Then *out is it. */
static bool is_said(const Schedule *want, Schedule *out) {
  if (!want->T || !want->block[0] || !want->block[1] || !want->elems[1])
    return false;
  *out =
      (Schedule){.family = FAMILY_WARPS, .T = want->T, .ngroups = 1, .ahead = want->ahead ? want->ahead : USUAL_RING};
  memcpy(out->map, want->map, sizeof out->map);
  for (int d = 0; d < GRID_RANK; d++) {
    out->block[d] = want->block[d] ? want->block[d] : 1;
    out->elems[d] = want->elems[d] ? want->elems[d] : 1;
  }
  return true;
}

/* Sets the ring of tile `s`, whose other knobs are given, to the one that is expected to be fastest if it is open:
 * shorter rings leave room for more blocks on a core. If none is expected to be good it stays as it is. */
static void choose_ring(const WarpChoice *x, Schedule *s) {
  WarpBest best = {.least = MOST_COST, .least_even = MOST_COST};
  if (!x->want->ahead)
    consider(x, *s, &best);
  if (best.least < MOST_COST)
    s->ahead = best.s.ahead;
}

/* The reason why overlapped tiles cannot make single steps of `m`, which remain after the last tile; NULL: they can. */
static const char *rest_refused(const Module *m) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  return part_launch(m, n, st, 0, n)->illegal;
}

const char *schedule_warps_why(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out) {
  const char *why = NULL;
  if (!c->target->bulk_copy)
    return arena_printf(c->arena, "target %s %s has no signals between warps and bulk copies", c->target->name,
                        c->target->cpu ? c->target->cpu : "");
  LastRun last = {0};
  WarpChoice x = {c, warps_level(m, &why), want, &last};
  if (x.e)
    why = rest_refused(m);
  if (why)
    return why;
  if (is_said(want, out)) {
    if (most < out->block[0])
      return arena_printf(c->arena, "-block=%dx%d: a tile makes at most %lld time steps here, and %d warps make %d",
                          out->block[0], out->block[1], (long long)most, out->block[0], out->block[0]);
    if (out->T > most)
      out->T = (int32_t)(most / out->block[0] * out->block[0]);
    choose_ring(&x, out);
    return why_not_legal(&x, out);
  }
  Schedule fewer = *want;
  fewer.T = want->T > most ? 0 : want->T;
  x.want = &fewer;
  *out = choose(&x, most);
  return out->family ? NULL : "no tile fits the registers and the shared memory, with what is asked for";
}

bool schedule_warps(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out) {
  const char *why = schedule_warps_why(c, m, want, most, out);
  if (why)
    diag_error(c->diags, no_loc(), "-schedule=warps: %s; use -schedule=stream", why);
  else if (want->T > out->T)
    diag_remark(c->diags, no_loc(), "-T=%d: a tile makes at most %lld time steps here: -T=%d is taken", want->T,
                (long long)most, out->T);
  return !why;
}

/* Do roots, quotients and functions take no more than a quarter of the equation's time, though many are tested
 * together? In warp pipelines they were measured to take up to 1.4 times as long as counted: for a quarter that is a
 * tenth of all. */
static bool is_cheap(const TargetInfo *t, const WarpLevel *e) {
  bool ranged = t->range_guards && !e->m->fast_math;
  double dear = 0;
  for (int v = 0; v < e->nvalues; v++) {
    const WarpValue *x = &e->value[v];
    if (warps_costs(x) && type_is_float(x->type) && op_additions(x->op) > 1)
      dear += ranged ? op_ranged_additions(x->op) : op_additions(x->op);
  }
  return 4 * dear <= warps_slots(e, ranged);
}

/* Does the equation only add and multiply points of the field? For others the expected time decides. */
static bool only_adds(const WarpLevel *e) {
  for (int v = 0; v < e->nvalues; v++) {
    const WarpValue *x = &e->value[v];
    if (warps_costs(x) && x->op->code != OP_ADD && x->op->code != OP_SUB && x->op->code != OP_MUL &&
        x->op->code != OP_NEG && x->op->code != OP_FMA)
      return false;
  }
  return true;
}

/* Is a step that only adds and multiplies faster as a warp pipeline than streamed: a sum of one field's points, or a
 * step of several fields of one type, also with rules beyond edges? */
static bool sums_are_faster(const WarpLevel *e) {
  return e->nfields == 1 ? e->sums && warps_stages(e) == 1 && !e->wraps[0] && !e->wraps[1]
                         : warps_smallest(e) == warps_largest(e);
}

/* Do fields have rules beyond their edges that lead back to cells? */
static bool has_rules(const WarpLevel *e) { return e->ruled[0] || e->ruled[1]; }

/* The same for steps of one type some of whose fields are delayed by levels that are alone in their warps, in tiles
 * with producer warps. */
static bool delays_are_faster(const WarpLevel *e, const WarpShape *w) {
  return e->delay && w->move.producers && warps_smallest(e) == warps_largest(e) && !has_rules(e) && !e->wraps[0] &&
         !e->wraps[1];
}

/* Is the grid so large that rules beyond its edges were measured to cost next to nothing? */
static bool is_rules_size(const WarpLevel *e, const int64_t *size) {
  double least = warps_smallest(e) > 4 ? tuning.warps_least_extent : sqrt(tuning.large_grid[1]);
  return (double)size[1] >= least && (double)size[0] * (double)size[1] >= least * least;
}

/* Is a grid of extents `size`, which suits warps, as large as the smallest on which such were measured to be? Rows may
 * be fewer than of a square of as many points: segments of them are dealt out to the strips, and are as long. Streamed
 * tiles need more points to be fast in f64, and of several fields; so do pipelines whose edges have rules. Of one field
 * in f64 pipelines need more than the least such grid: what strips at edges take, and a pipeline until it is filled, is
 * too much there (2048^2: 0.79 to 1.00 of streamed tiles; 2560^2: 1.03 to 1.12). */
static bool is_large_enough(const WarpLevel *e, const int64_t *size) {
  bool wide = warps_smallest(e) > 4, slow = wide || e->nfields > 1;
  double least = slow && !has_rules(e) ? tuning.warps_least_slow_extent : tuning.warps_least_extent,
         points = (double)size[0] * (double)size[1];
  return (double)size[1] >= least && (wide && e->nfields == 1 ? points > least * least : points >= least * least);
}

/* Picoseconds a point and step of `m` under `stream` on a grid of extents `size`, by the model. */
static double streamed_ps(PassContext *c, const Module *m, const Schedule *stream, const int64_t *size) {
  ScheduleTime t;
  if (!schedule_time(c, plan_tiled_copy(m, stream->T), stream, size, &t))
    return 0;
  return t.seconds * 1e12 / ((double)size[0] * (double)size[1] * slices_of_size(m->grid.rank, size));
}

/* The same for a step of a run that stops every so many steps, including tiles at edges: in launches of T steps, and in
 * those of fewer steps before a stop; `single`: the time of a single step. */
static double stopped_ps(PassContext *c, const Module *m, const Schedule *stream, double single, const int64_t *size) {
  RunLaunches run = plan_run_launches(m, c->schedule->every, stream->T, 1);
  Schedule fewer = *stream;
  ScheduleTime whole, between = {0};
  double points = (double)size[0] * (double)size[1] * slices_of_size(m->grid.rank, size);
  fewer.T = run.t;
  if (!schedule_time_parted(c, plan_tiled_copy(m, stream->T), stream, size, &whole) ||
      (run.between && !schedule_time_parted(c, plan_tiled_copy(m, run.t), &fewer, size, &between)))
    return 0;
  return plan_run_time(&run, stream->T, whole.seconds, between.seconds, 1e-12 * single * points) * 1e12 / points;
}

/* Is tile `s` faster than `stream` in runs that stop every so many steps? usual: such tiles were measured to be faster
 * in runs that do not stop. Then `stream` must be expected to be clearly faster to be taken instead, and surely faster
 * if `s` leaves no steps over before a stop. Otherwise `s` must be expected to be clearly faster. */
static bool is_faster_stopped(const WarpChoice *x, const Schedule *s, const Schedule *stream, bool usual,
                              const int64_t *size) {
  const Module *m = x->e->m;
  double single = measured.warps_single * memory_ps(x->c->target, x->e), own = run_cost_of(x, s, size),
         streamed = stopped_ps(x->c, m, stream, single, size);
  double part = usual && plan_leaves_none(&x->last->run) ? tuning.surely : tuning.clearly;
  return usual ? streamed <= 0 || part * own <= streamed : own > 0 && own < part * streamed;
}

/* The part of a streamed tile's time that tile `s` may be expected to take at most to count as faster on a grid of
 * extents `size`. It is larger on large grids, where both estimates have the same error, since both count roots and
 * quotients; for lanes of one vector, only on the largest. On smaller grids in f64 the estimate of the streamed tile is
 * too long, so the part is smaller. */
static double sure_part(const WarpLevel *e, const Schedule *s, const int64_t *size) {
  double points = (double)size[0] * (double)size[1], least = tuning.warps_least_extent;
  bool narrow = s->elems[1] <= VECTOR_BYTES / warps_smallest(e),
       large = least <= (double)size[0] && least <= (double)size[1];
  const int64_t *most = warps_grid_size();
  return points >= (narrow ? (double)(most[0] * most[1]) : tuning.large_grid[1]) ? tuning.clearly
         : !narrow && warps_smallest(e) > 4 && large                             ? tuning.surely
                                                                                 : 0;
}

/* Is tile `s` expected to be clearly faster than `stream`, for a step that computes roots or quotients? */
static bool is_expected_faster(PassContext *c, const Module *m, const WarpLevel *e, const Schedule *s,
                               const Schedule *stream, const int64_t *size) {
  double part = sure_part(e, s, size);
  return computes_roots(e) && !has_rules(e) && part > 0 &&
         cost_of(c->target, e, s, size) < part * streamed_ps(c, m, stream, size);
}

/* Can rows be whole 16 bytes, and are they on a grid of extents `size`? Others are moved cell by cell, which is
 * slow. */
static bool has_whole_rows(const PassContext *c, const WarpLevel *e, const int64_t *size) {
  int of = VECTOR_BYTES / warps_smallest(e);
  bool can = true, dense = false;
  for (int n = 0; n < e->nfields; n++) {
    const Field *f = &e->m->fields[e->field[n].field];
    can = can && affine_multiple(field_row(c->arena, f), of) >= 0;
    dense = dense || !f->pitch;
  }
  return can && (!dense || size[1] % of == 0);
}

bool schedule_suits_warps(PassContext *c, const Module *m, const int64_t *size) {
  const char *why;
  bool large = size[0] >= tuning.warps_least_slow_extent && size[1] >= tuning.warps_least_slow_extent;
  const WarpLevel *e = large && m->grid.rank == 2 ? warps_level(m, &why) : NULL;
  return e && has_whole_rows(c, e, size);
}

bool schedule_prefers_warps(PassContext *c, const Module *m, const Schedule *stream, const int64_t *size) {
  Schedule open = {.family = FAMILY_WARPS, .every = c->schedule->every}, s;
  const Reduction *by;
  const char *why;
  if (!schedule_suits_warps(c, m, size) || schedule_warps_why(c, m, &open, most_levels(m, &by), &s))
    return false;
  const WarpLevel *e = warps_level(m, &why);
  const WarpLevel *own = warps_level_for(e, &s);
  WarpShape w = warps_shape(c->target, own, &s);
  bool plain = only_adds(e), may = is_cheap(c->target, e) && sums_are_faster(e) && is_large_enough(e, size);
  bool known = (plain && delays_are_faster(own, &w)) ||
               (may && plain && !e->constant && (!has_rules(e) || is_rules_size(e, size)));
  LastRun last = {0};
  bool likely = known || (may && cost_of(c->target, e, &s, size) < tuning.clearly * streamed_ps(c, m, stream, size));
  /* In f64 the estimate of streamed tiles at edges is too long to decide alone. */
  if (plan_stops(m, &open) && (likely || (may && warps_smallest(e) <= 4)))
    return is_faster_stopped(&(WarpChoice){c, e, &open, &last}, &s, stream, known, size);
  return likely || is_expected_faster(c, m, e, &s, stream, size);
}
