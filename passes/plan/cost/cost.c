/* cost.c: the expected cost of a candidate on a grid of known size, before anything is lowered: its work is counted
 * (tile-work.c, stream-work.c), in the terms in which finished kernels are described (LaunchLoad), and the model
 * computes the time.
 *
 * One count decides. The work of a tile is counted in the terms of finished kernels, registers included, but before it
 * is lowered (a unit test compares the two counts), and `model_counted_launch` computes how long that takes; the
 * fastest candidate is taken. It is the function for finished kernels with numbers of its own (the column `counted` of
 * `measured.def`), and has three terms more: a block at an edge, whose accesses are tested, takes 0.7 cycles an
 * instruction at least, 1.9 where a rule leads them back, so that long streamed tiles of few blocks wait for their last
 * one; loops of more than 837 instructions are fetched anew; f64 waits longer. For data that stay in the cache the
 * target's cache rate counts, if it is known. No tile beyond the limits within which tiles were measured to be good is
 * taken (`is_unproven`).
 *
 * In rank 1 a streamed tile has no loop, so that its code is as long as the steps of all its cells. Beyond 600
 * instructions they are fetched more slowly, up to a fifth at 1200 (`straight_held`, `straight_lost`). */
#include "passes/tile/mapping.h"
#include "passes/launch/launch.h"
#include "passes/base/tuning.h"
#include "passes/plan/cost/count.h"

#include <math.h>

/* ---- properties that all tiles of a launch share */

/* Does launch `l` compute roots, quotients or functions? */
static bool has_functions(const PlanQuery *q, const Launch *l) {
  for (int i = 0; i < l->n; i++)
    for (const Op *op = main_piece(q->m->arena, &l->st[i])->body->first; op; op = op->next)
      if (op->nresults && type_is_float(op->results[0]->type) && op_additions(op) > 1)
        return true;
  return false;
}

const PlanLaunch *plan_launch(const PlanQuery *q, const Launch *l, bool streamed) {
  PlanLaunch *of = ARENA_NEW(q->c->arena, PlanLaunch);
  *of = (PlanLaunch){.l = l, .p = streamed ? stream_new(l) : NULL, .words = 1};
  of->stream = streamed ? stream_work(q->t, of->p) : NULL;
  of->tile = streamed ? NULL : tile_work(q->t, l);
  of->functions = has_functions(q, l);
  for (int f = 0; f < q->m->nfields; f++)
    if (launch_use(l, f)->stored && type_size(q->m->fields[f].type) > 4)
      of->words = 2;
  return of;
}

/* ---- excluded tiles */

bool schedule_has_threads(const TargetInfo *t, const Schedule *s, int rank) {
  bool has = schedule_threads(s) <= t->max_threads;
  for (int d = 0; d < rank; d++)
    has = has && s->block[d] <= t->max_block[rank - 1 - d];
  return has;
}

bool reads_history(const Module *m) {
  bool reads = false;
  for (int f = 0; f < m->nfields; f++)
    reads |= m->fields[f].history > 0;
  return reads;
}

/* Is the grid so large that blocks fill the cores in many rounds? Then blocks at edges are few, and have a kernel of
 * their own, so that words that they spill hardly matter. Steps that read older levels move twice as much as others. */
static bool has_many_rounds(const PlanQuery *q) {
  return q->rank > 1 && q->points * (reads_history(q->m) ? 2 : 1) >= tuning.many_rounds[q->rank - 1];
}

int loaded_fields(const Launch *l) {
  int n = 0;
  for (int f = 0; f < l->m->nfields; f++)
    n += launch_use(l, f)->loaded > 0;
  return n;
}

/* Is overlapped tile `s` in rank 2, whose load is `load`, beyond the limits within which tiles were measured to be
 * good? Limits are: the cells and columns of a thread for roots and for older levels, where more values are live than
 * are counted; the cells if tiles at edges are a kernel of their own; in f64 all registers, because tiles at edges want
 * more. */
static const char *is_unproven_tile(const PlanQuery *q, const PlanLaunch *of, const Schedule *s,
                                    const LaunchLoad *load) {
  bool many = s->elems[0] * s->elems[1] > tuning.many_cells, roots = of->functions;
  if (reads_history(q->m) && s->elems[1] > 1)
    return "a thread has more columns than were measured to pay with older levels of a field";
  if (roots && (many || s->elems[1] > 1))
    return "a thread has more cells than were measured to pay with roots, quotients or functions";
  if (roots && has_many_rounds(q))
    return "streamed tiles were measured to be faster there with roots, quotients or functions";
  if (many && reads_history(q->m))
    return "a thread has more cells than were measured to pay with older levels of a field";
  if (many && q->points >= tuning.parted_points)
    return "a thread has more cells than were measured to pay on grids of that size";
  if (of->words > 1 && load->registers >= registers_limit(q->t, load->work.threads))
    return "registers would be spilled";
  return NULL;
}

/* Does a tile in lanes have too few registers? A few words that it wants beyond them hardly matter, except on grids of
 * many rounds, where streamed tiles and lower tiles were measured to be faster. */
static bool lacks_lane_registers(const PlanQuery *q, const LaunchLoad *load) {
  return q->points > tuning.most_lanes ? load->registers >= registers_limit(q->t, load->work.threads)
                                       : load->spilled > measured.lane_spared;
}

/* Counts overlapped tile `s` of the launch at `of`. Returns the reason why it is excluded, or NULL. */
static const char *count_overlap(const PlanQuery *q, const PlanLaunch *of, const Schedule *s, LaunchLoad *out) {
  if (!tile_has_points(BLOCKED_TILE(of->l), s))
    return "no points are left beside the halo";
  *out = tile_load(of->tile, s, q->want.size);
  if (out->shared > q->t->max_shared_bytes)
    return "more shared memory than a block may have";
  if (s->tiles == TILES_LANES ? lacks_lane_registers(q, out) : out->spilled > 0)
    return "registers would be spilled";
  if (s->tiles == TILES_LANES && out->edge_code > measured.lane_edge_code)
    return "the code of a thread at an edge is too long";
  return q->rank == 2 && s->tiles != TILES_LANES ? is_unproven_tile(q, of, s, out) : NULL;
}

/* Does streamed tile `s` of the launch at `of` have too few registers, for kept rows or by the count in `load`? On
 * grids of many rounds limits for rows are relaxed if memory would bound them otherwise, and planes in f32 may want
 * some words more than there are: code generators save them there. On other grids registers must be enough at edges,
 * too, where more are wanted. */
static const char *lacks_registers(const PlanQuery *q, const PlanLaunch *of, const Schedule *s,
                                   const LaunchLoad *load) {
  bool many = has_many_rounds(q), planes = q->rank == GRID_RANK, spares = many && planes && of->words == 1;
  if (q->rank != 2 && !stream_is_comfortable(of->p, s))
    return "its rows want more registers, or its code is longer, than is good";
  if (load->spilled > (spares ? measured.spared_words : 0))
    return "registers would be spilled";
  if (!spares && !(many && !planes) && load->registers > measured.edge_registers[q->rank - 1])
    return "registers would be spilled at edges";
  return NULL;
}

/* Is the work of blocks at edges so much greater than that of others that the launch waits for them? */
static bool waits_for_edges(const LaunchLoad *load) {
  return load->edge_code > tuning.edge_hidden * load->work.instructions;
}

/* Is streamed tile `s`, whose load is `load`, beyond the limits within which tiles were measured to be good? It has too
 * many cells of a lane where one line is all there is; more rows of halo than pay; few rows on grids of many rounds;
 * many steps in f64 on a small grid; or few warps, which are slow to begin, where streamed tiles are short or come one
 * after the other. */
static const char *is_unproven(const PlanQuery *q, const StreamWork *w, const Schedule *s, const LaunchLoad *load) {
  if (q->rank == 1 && 4 * s->elems[0] * w->words > tuning.line_bytes)
    return "a lane has more cells than were measured to pay";
  if (q->rank == 2 && has_many_rounds(q) && s->chunk < tuning.usual_rows / 2 &&
      !(q->points >= tuning.parted_points && s->chunk >= tuning.fewest_rows && (q->wet || waits_for_edges(load))))
    return "it has fewer rows than were measured to pay";
  if (q->rank == 2 && has_many_rounds(q) && s->elems[1] * w->words * 4 > VECTOR_BYTES)
    return "a lane has more cells than were measured to pay";
  if (q->rank == 2 && (double)(w->p->halo.lo[0] + w->p->last) > tuning.halo_rows * s->chunk)
    return "its halo has more rows than were measured to pay";
  if (q->rank == 2 && q->points < tuning.parted_points && w->words > 1 && s->T > tuning.small_levels)
    return "it makes more time steps than were measured to pay in f64";
  if (has_many_rounds(q) && stream_begins_slowly(w->p, s) &&
      (load->blocks > q->t->cores || s->chunk < tuning.usual_rows))
    return "so few warps are slow to begin: that pays for long chunks only, all of which are there at once";
  return NULL;
}

/* Counts streamed tile `s`. Returns the reason why it is excluded, or NULL. */
static const char *count_streamed(const PlanQuery *q, const PlanLaunch *of, const Schedule *s, LaunchLoad *out) {
  if (!tile_fits(q->t, of->p, s))
    return "no points are left beside the halo, or its rows do not fit";
  *out = stream_load(q->t, of->stream, s, q->want.size);
  const char *why = lacks_registers(q, of, s, out);
  return why ? why : is_unproven(q, of->stream, s, out);
}

/* ---- costs that no count has */

/* The factor by which a streamed tile of rows takes longer than is counted on a grid of few rounds: more if it is long,
 * because fewer warps begin anew and hide the loads of others; and more if instructions bound it. */
static double uncounted_stream(const PlanQuery *q, const PlanCandidate *k) {
  double longer = fmax(k->s.chunk, measured.short_chunk) / measured.usual_chunk;
  if (has_many_rounds(q))
    return 1;
  return pow(longer, measured.chunk_lost) *
         (1 + measured.stream_issue_lost * k->time.alone[BOUND_ISSUE] / k->time.seconds);
}

/* The threads of the blocks for which the counts are right: the usual number. */
static double usual_threads(void) { return (double)(tuning.tile_block[1][0] * tuning.tile_block[1][1]); }

/* The same factor for an overlapped tile in rank 2: more if a core has few warps, and if many wait at a barrier for
 * each other (in f64 that was measured on targets with async copies alone); less for two columns, which share their
 * loads. */
static double uncounted_tile(const PlanQuery *q, const PlanCandidate *k, const LaunchLoad *load) {
  double there = fmax(1, fmin(k->time.occupancy.blocks, ceil(load->blocks / q->t->cores))),
         threads = (double)load->work.threads, part = there * threads / q->t->lanes / measured.enough_warps,
         wide = k->of->words > 1 && !q->t->async_copy
                    ? 1
                    : pow(fmax(1, threads / (k->of->words * usual_threads())), measured.wide_block_lost);
  return wide * pow(fmin(1, part), -measured.few_warps_lost) * (k->s.elems[1] > 1 ? measured.two_columns : 1);
}

/* The same factor for a tile in lanes: more if its code, which is straight, is longer than the caches of a core
 * hold. */
static double uncounted_lane(const LaunchLoad *load) {
  double missed = (load->work.instructions - measured.lane_code_held) / measured.lane_code_width;
  return 1 + measured.lane_code_lost * fmax(0, fmin(1, missed));
}

/* How many times as long as is counted candidate `k` takes, for costs that no count has: copies that go by the first
 * cache, for they move less than 16 bytes at a time, and tiles that overlap, where planes are streamed; a naive kernel
 * has neither the barriers nor the shared memory of the tile as which it is counted. */
static double uncounted(const PlanQuery *q, const PlanCandidate *k, const LaunchLoad *load) {
  const Schedule *s = &k->s;
  if (!family_row(s->family)->tiled)
    return k->of->words > 1 ? measured.naive_part_f64 : measured.naive_part;
  if (s->tiles == TILES_LANES)
    return uncounted_lane(load);
  if (q->rank == 2)
    return k->of->stream ? uncounted_stream(q, k) : uncounted_tile(q, k, load);
  if (q->rank < GRID_RANK)
    return 1;
  if (!k->of->stream)
    return measured.planes_slower;
  bool single = k->of->words == 1 && stream_moves_apart(k->of->stream, s, q->want.size) > 1,
       narrow = s->ahead > 1 && (single || s->elems[2] * k->of->words * 4 < VECTOR_BYTES);
  return !narrow ? 1 : has_many_rounds(q) ? measured.narrow_copies : measured.copies_slower;
}

/* Seconds of streamed tiles of planes in many rounds, by their roofs, which hardly add up: their loads run ahead, and
 * blocks that begin and end hide each other. */
static double blended_planes(const PlanCandidate *k) {
  double sum = 0;
  for (int b = 0; b < BOUNDS; b++)
    sum += pow((b == BOUND_LATENCY ? measured.planes_wait : 1) * k->time.alone[b], measured.streams_blend);
  return pow(sum, 1 / measured.streams_blend);
}

/* The same for streamed tiles of rows. Operations wait for those before them, whatever pipe these are on, so the times
 * of computing add up more; the time of memory stays as it is; and the longer streamed tiles in few rounds are, the
 * longer the launch waits for the last of them. */
static double blended_rows(const PlanQuery *q, const PlanCandidate *k, const LaunchLoad *load) {
  const double *alone = k->time.alone, rounds = load->blocks / ((double)q->t->cores * k->time.occupancy.blocks),
               longer = fmax(1, 2 * k->s.chunk / tuning.usual_rows),
               part = measured.rows_part * pow(longer, measured.rows_lost / fmax(1, rounds));
  double own = 0, sum = 0;
  for (int b = BOUND_ISSUE; b <= BOUND_SPECIAL; b++)
    own += pow(alone[b], model_counted.blend);
  const double memory = pow(pow(alone[BOUND_MEMORY], measured.streams_blend) +
                                pow(alone[BOUND_CACHE], measured.streams_blend),
                            1 / measured.streams_blend),
               roofs[] = {part * pow(own, 1 / model_counted.blend), part * alone[BOUND_SHARED],
                          measured.planes_wait * alone[BOUND_LATENCY], memory};
  for (size_t b = 0; b < sizeof roofs / sizeof *roofs; b++)
    sum += pow(roofs[b], model_counted.blend);
  return pow(sum, 1 / model_counted.blend);
}

/* Seconds that a launch of candidate `k` takes by its roofs. */
static double blended(const PlanQuery *q, const PlanCandidate *k, const LaunchLoad *load) {
  if (!has_many_rounds(q) || !k->of->stream)
    return k->time.seconds;
  return k->time.launch + (q->rank == GRID_RANK ? blended_planes(k) : blended_rows(q, k, load));
}

/* The parts of the tiles of candidate `k` that have a wet point, and that read no other points. */
static WetParts wet_tiles(const PlanQuery *q, const PlanCandidate *k) {
  const Launch *l = k->of->l;
  Extent reach = {0};
  double tile[MAX_RANK];
  for (int d = 0; d < q->rank; d++) {
    tile[d] = (double)(k->of->p ? tile_dim(k->of->p, &k->s, d) : tile_dim(BLOCKED_TILE(l), &k->s, d)).stored;
    for (int i = 0; i < l->n && l->st[i].has_extent; i++) {
      reach.lo[d] = l->st[i].extent.lo[d] > reach.lo[d] ? l->st[i].extent.lo[d] : reach.lo[d];
      reach.hi[d] = l->st[i].extent.hi[d] > reach.hi[d] ? l->st[i].extent.hi[d] : reach.hi[d];
    }
  }
  return wet_parts(q->wet, tile, &reach);
}

/* Takes the tiles of candidate `k` without a wet point, which have no blocks (pass tile-lists), out of its load. Tiles
 * with a dry point have twice the work, for they read each point's mask: a block of these waits as long as one at an
 * edge where fields are read by a rule. If no tile at an edge has a wet point, nothing waits for those. Returns the
 * additional seconds of a launch: there is one for each class. */
static double leave_dry(const PlanQuery *q, const PlanCandidate *k, LaunchLoad *load) {
  const WetParts part = wet_tiles(q, k);
  double more = part.live > 0 ? (part.live - part.full) / part.live : 0;
  load->at_edge = part.at_edge ? load->at_edge : 0;
  load->edge_code = part.at_edge ? load->edge_code : 0;
  if (more > 0) {
    double longest = load->turned ? fmax(load->at_edge, load->work.instructions) : load->work.instructions;
    load->at_edge = 2 * longest;
    load->turned = true;
  }
  load->points *= part.live;
  load->blocks *= part.live;
  load->memory_bytes *= part.live;
  load->cache_bytes *= part.live;
  load->work.instructions *= 1 + more;
  if (load->work.rounds > 1)
    load->work.fetched =
        model_fetched(&model_counted, load->work.instructions, load->work.instructions / load->work.rounds);
  load->work.shared *= 1 + more;
  return measured.class_launch;
}

/* A thread has few registers left if they are one in so many of those that are counted: the count is about as exact. */
enum { TIGHT = 8 };

void plan_cost(const PlanQuery *q, PlanCandidate *k) {
  LaunchLoad load = {0};
  k->dropped = schedule_has_threads(q->t, &k->s, q->rank)
                   ? (k->of->stream ? count_streamed : count_overlap)(q, k->of, &k->s, &load)
                   : "more threads than a block may have";
  k->seconds = INFINITY;
  if (load.work.threads > 0) {
    double classes = q->wet && !k->dropped ? leave_dry(q, k, &load) : 0;
    k->time = model_counted_launch(q->t, &load);
    k->dear = q->rank == 2 && k->s.T > 1 && k->of->p && !stream_is_comfortable(k->of->p, &k->s);
    k->tight = TIGHT * (registers_limit(q->t, load.work.threads) - load.registers) <= load.registers;
    double edge = q->rank == 2 && has_many_rounds(q) ? model_edge_seconds(q->t, &load) : 0;
    k->seconds = (uncounted(q, k, &load) * blended(q, k, &load) + edge + classes) / k->s.T;
  }
}

bool counted_load(const TargetInfo *t, const Module *m, const Schedule *s, const int64_t *size, LaunchLoad *out) {
  int count = 1;
  int32_t n;
  const Stencil *st = last_level(m, &n);
  if (!t->simt || !family_row(s->family)->tiled || s->family == FAMILY_WARPS)
    return false;
  Launch *l = m->time_tile > 1 ? launch_new(m, m->nstencils, m->stencils, m->stencils, m->stencils + m->nstencils)
                               : group_launches(m, n, st, &count)[0];
  if (count == 1)
    *out = family_row(s->family)->streamed ? stream_load(t, stream_work(t, stream_new(l)), s, size)
                                           : tile_load(tile_work(t, l), s, size);
  return count == 1;
}
