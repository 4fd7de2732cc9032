/* schedule-tile.c: the overlapped tile of a launch: the cost of block and elements, and the choice of open ones.
 *
 * Overlapped tiles alone were measured: docs/lab/overlap.md. */
#include "passes/tile/mapping.h"
#include "passes/plan/cost/fuse.h"
#include "passes/plan/axes.h"
#include "passes/plan/choose/resolve.h"

#include <math.h>
#include <string.h>

/* ---- the cost of a choice */

Launch *tile_launch(const Resolve *r, int T) { return r->part ? r->part : tiled_launch(r->m, T); }

/* 32-bit words of a thread's registers that the private arrays take for each element. */
static int64_t element_words(const Resolve *r, const Launch *l) {
  int64_t words = 0;
  for (int f = 0; f < r->m->nfields; f++)
    if (launch_use(l, f)->versions || launch_use(l, f)->own_loads > 1)
      words += (launch_use(l, f)->depth - 1) * ((type_size(r->m->fields[f].type) + 3) / 4);
  return words > 0 ? words : 1;
}

int64_t tile_point_cost(const Launch *l) {
  int64_t sum = 0;
  for (int i = 0; i < l->n; i++) {
    const bool *rare = rare_pieces(l->m, &l->st[i]);
    int64_t most = 0;
    for (int k = 0; k < l->st[i].npieces; k++) {
      int64_t cost = 0;
      if (rare[k])
        continue;
      for (const Op *op = l->st[i].pieces[k].body->first; op; op = op->next)
        cost += (op_is_of_scalars(op) ? 0 : (int64_t)op_additions(op)) +
                (op->code == OP_ACCESS || op->code == OP_INDEX || op->code == OP_STEP);
      most = cost > most ? cost : most;
    }
    sum += most;
  }
  return sum;
}

/* The number of elements of a thread. */
static int64_t elements(const Schedule *s, int rank) {
  int64_t n = 1;
  for (int d = 0; d < rank; d++)
    n *= s->elems[d];
  return n;
}

bool tile_has_lanes(const Resolve *r, const Schedule *s) {
  int32_t row = s->block[r->rank - 1];
  bool can = r->rank == 2 && r->target->simt && r->target->lanes % WARP_LANES == 0;
  return s->tiles != TILES_LANES || (can && (row == WARP_LANES || row == r->target->lanes));
}

bool tile_is_legal(const Resolve *r, const Launch *l, const Schedule *s) {
  return !l->illegal && tile_has_lanes(r, s) && elements(s, r->rank) <= MAX_POINTS &&
         tile_fits(r->target, BLOCKED_TILE(l), s);
}

/* ---- defaults */

/* May the block be half as wide in dimension `d`? It may if its width is open, and, without threads, if the tile of
 * launch `l` would still be larger than its halo. */
static bool may_halve(const Resolve *r, const Launch *l, const Schedule *s, int d) {
  return !r->want.block[d] && s->block[d] > 1 &&
         (r->target->simt || !l || l->illegal || launch_width(l, d, s->block[d] / 2) >= 1);
}

/* The dimension in which to make a block smaller: the widest that may be halved, the last one (rows in memory) only if
 * it is the only one. -1: none. */
static int widest_open(const Resolve *r, const Launch *l, const Schedule *s) {
  int best = -1;
  for (int d = 0; d < r->rank; d++)
    if (may_halve(r, l, s, d) && (best < 0 || (d < r->rank - 1 && s->block[d] >= s->block[best])))
      best = d;
  return best;
}

/* Does the block of `product` threads have too many of them, or, without threads, its tile more bytes than the target's
 * cache has room for? */
static bool is_too_large(const Resolve *r, const Launch *l, const Schedule *s, int64_t product) {
  return r->target->simt ? product > r->target->max_threads
                         : l && l->n > 1 && tile_bytes(r->target, BLOCKED_TILE(l), s) > r->target->shared_bytes;
}

/* The least power of two times `points` that is larger than the halo of launch `l` (NULL: no halo) in dimension `d`; at
 * most MAX_BLOCK. */
static int32_t beyond_halo(const Launch *l, int d, int32_t points) {
  while (l && !l->illegal && launch_width(l, d, points) < 1 && points <= MAX_BLOCK / 2)
    points *= 2;
  return points;
}

/* The number of blocks of `s` on the grid, INT64_MAX if its size is not known; points: the points of one block. */
static int64_t blocks_of(const Resolve *r, const Schedule *s, int64_t *points) {
  int64_t blocks = 1;
  *points = 1;
  for (int d = 0; d < r->rank; d++) {
    int64_t size = r->want.size[d];
    if (size <= 0)
      return INT64_MAX;
    blocks *= (size + s->block[d] - 1) / s->block[d];
    *points *= size < s->block[d] ? size : s->block[d];
  }
  return blocks;
}

/* The dimension in which blocks are widest among those that the user left open, the last of several left out: -1:
 * none. */
static int widest_of_rows(const Resolve *r, const Schedule *s) {
  int widest = -1;
  for (int d = 0; d < r->rank - (r->rank > 1); d++)
    if (!r->want.block[d] && s->block[d] > 1 && (widest < 0 || s->block[d] > s->block[widest]))
      widest = d;
  return widest;
}

/* Makes open blocks of plain loops smaller until all cores have several: then other cores take over blocks that a late
 * core has not begun. A block keeps so many points that the time to begin it does not matter. */
static void share_rows(const Resolve *r, Schedule *s) {
  int64_t points;
  for (int d; blocks_of(r, s, &points) < (int64_t)tuning.loop_blocks * r->target->cores &&
              points / 2 >= (int64_t)tuning.loop_least && (d = widest_of_rows(r, s)) >= 0;)
    s->block[d] /= 2;
}

void tile_default_block(const Resolve *r, const Launch *l, Schedule *s) {
  bool rows = !r->target->simt && !(l && l->n > 1);
  const int64_t *table = (r->target->simt ? tuning.tile_block
                          : rows          ? tuning.loop_rows
                                          : tuning.loop_tile)[r->rank - 1];
  int64_t product = 1;
  for (int d = 0; d < GRID_RANK; d++) {
    s->block[d] = d >= r->rank ? 1 : r->want.block[d] ? r->want.block[d] : (int32_t)table[d];
    s->elems[d] = 1;
    if (r->target->simt && d < r->rank && !r->want.block[d])
      while (s->block[d] > r->target->max_block[r->rank - 1 - d] && s->block[d] > 1)
        s->block[d] /= 2;
    if (!r->target->simt && d < r->rank && !r->want.block[d])
      s->block[d] = beyond_halo(l, d, s->block[d]);
    product *= s->block[d];
  }
  if (rows)
    share_rows(r, s);
  for (int d; is_too_large(r, l, s, product) && (d = widest_open(r, l, s)) >= 0;) {
    s->block[d] /= 2;
    product /= 2;
  }
}

/* The open dimension in which more elements a thread would help most, -1: there is none. */
static int widest_gain(const Resolve *r, const Launch *l, const Schedule *s) {
  int best = -1;
  for (int d = 0; d < r->rank; d++)
    if (!r->want.elems[d] &&
        tile_redundancy_in(BLOCKED_TILE(l), s, d) > (best < 0 ? 1.0 : tile_redundancy_in(BLOCKED_TILE(l), s, best)))
      best = d;
  return best;
}

/* Do the elements of `s` suit a thread: its registers, its code size, and the block's share of a core's shared
 * memory? */
static bool is_comfortable(const Resolve *r, const Launch *l, const Schedule *s) {
  int64_t shared = r->target->shared_bytes, share = r->target->shared_per_core / (int64_t)tuning.tile_blocks,
          n = elements(s, r->rank);
  if (share && share < shared)
    shared = share;
  return n * element_words(r, l) <= tuning.tile_words_kept[r->rank - 1] && n * tile_point_cost(l) <= tuning.tile_code &&
         tile_bytes(r->target, BLOCKED_TILE(l), s) <= shared;
}

/* The dimension in which to make a tile smaller: that of most elements a thread (`block`: threads) among those that are
 * open and in which the tile stays larger than its halo with half as many; -1: none. */
static int widest_to_shrink(const Resolve *r, const Launch *l, const Schedule *s, bool block) {
  const int32_t *have = block ? s->block : s->elems, *want = block ? r->want.block : r->want.elems;
  int widest = -1;
  for (int d = 0; d < r->rank; d++) {
    int64_t left = block ? (int64_t)(s->block[d] / 2) * s->elems[d] : (int64_t)s->block[d] * (s->elems[d] - 1);
    if (!want[d] && have[d] > 1 && (widest < 0 || have[d] > have[widest]) && launch_width(l, d, left) >= 1)
      widest = d;
  }
  return widest;
}

/* Takes elements from the threads, then threads from the block, where they are open, until the tile is legal, or as
 * long as it is larger than its halo. */
static void fit_tile(const Resolve *r, const Launch *l, Schedule *s) {
  while (!tile_is_legal(r, l, s)) {
    int e = widest_to_shrink(r, l, s, false), b = widest_to_shrink(r, l, s, true);
    if (e >= 0)
      s->elems[e]--;
    else if (b >= 0)
      s->block[b] /= 2;
    else
      return;
  }
}

/* Sets the elements a thread: as wanted, else doubled where the halo weighs most until it weighs little, as long as
 * is_comfortable; further only until the tile is larger than its halo. */
static void default_elems(const Resolve *r, const Launch *l, Schedule *s) {
  for (int d = 0; d < GRID_RANK; d++)
    s->elems[d] = d < r->rank && r->want.elems[d] ? r->want.elems[d] : 1;
  if (!r->target->simt)
    return;
  for (int d; (d = widest_gain(r, l, s)) >= 0;) {
    Schedule more = *s;
    more.elems[d] *= 2;
    bool wide = tile_has_points(BLOCKED_TILE(l), s);
    if (elements(&more, r->rank) > MAX_ELEMS ||
        (wide &&
         (tile_redundancy(BLOCKED_TILE(l), s) <= tuning.halo_little[r->rank - 1] || !is_comfortable(r, l, &more))))
      break;
    *s = more;
  }
  if (!l->illegal)
    fit_tile(r, l, s);
}

/* The values that are tried for open knobs where the usual tile does not fit: cells of a thread in a dimension, threads
 * of a block in the last dimension and in others. */
enum { MOST_OPEN_CELLS = 8, LEAST_OPEN_ROW = 16, MOST_OPEN_ROW = 128, MOST_OPEN_LINES = 32 };

/* A tile of launch `l` to be completed. */
typedef struct Completion {
  const Resolve *r;
  const Launch *l;
} Completion;

/* The cost of tile `s` for plan_complete: points computed for each point stored, times the registers that its thread
 * wants for each one that there is, if that is more than 1; infinite if it is not legal. */
static double completed_cost(const void *user, const Schedule *s) {
  const Completion *x = user;
  const TargetInfo *t = x->r->target;
  int64_t threads = schedule_threads(s);
  if (!schedule_has_threads(t, s, x->r->rank) || threads < t->lanes || !tile_is_legal(x->r, x->l, s))
    return INFINITY;
  double words = (double)(elements(s, x->r->rank) * element_words(x->r, x->l)),
         room = t->registers_per_core > 0 ? (double)t->registers_per_core / (double)threads : MAX_POINTS;
  return tile_redundancy(BLOCKED_TILE(x->l), s) * fmax(1, (words + measured.part_registers) / room);
}

/* Has the user given a number of the tile? */
static bool is_asked(const Resolve *r) {
  bool asked = r->want.T > 1;
  for (int d = 0; d < r->rank; d++)
    asked = asked || r->want.block[d] || r->want.elems[d];
  return asked;
}

void tile_complete(const Resolve *r, const Launch *l, Schedule *s) {
  Knob k[2 * MAX_RANK];
  Completion x = {r, l};
  int n = 0;
  if (!r->target->simt || !is_asked(r) || tile_is_legal(r, l, s))
    return;
  for (int d = r->rank - 1; d >= 0; d--)
    if (!r->want.elems[d])
      k[n++] = (Knob){&s->elems[d], 1, MOST_OPEN_CELLS, plan_next_value};
  for (int d = r->rank - 1; d >= 0; d--)
    if (!r->want.block[d])
      k[n++] = d == r->rank - 1 ? (Knob){&s->block[d], LEAST_OPEN_ROW, MOST_OPEN_ROW, plan_doubled}
                                : (Knob){&s->block[d], 1, MOST_OPEN_LINES, plan_doubled};
  plan_complete(s, n, k, completed_cost, &x);
}

void tile_choose(const Resolve *r, const Launch *l, int T, Schedule *s) {
  s->T = T;
  s->tiles = r->want.tiles == TILES_LANES ? TILES_LANES : TILES_OPEN;
  tile_default_block(r, l, s);
  default_elems(r, l, s);
}

/* Is tile `s` examined for launch `l`: is it legal, and comfortable except where the estimate of its time decides? */
static bool is_candidate(const Resolve *r, const Launch *l, const Schedule *s) {
  return schedule_threads(s) <= r->target->max_threads && tile_is_legal(r, l, s) &&
         tile_bytes(r->target, BLOCKED_TILE(l), s) <= r->target->shared_bytes &&
         elements(s, r->rank) * tile_point_cost(l) <= tuning.tile_code;
}

/* Replaces `best`, which is expected to take *ps, by tile `s` of launch `l`, which reads `reads`, if that is clearly
 * better. */
static void try_tile(const Resolve *r, const Launch *l, const LaunchReads *reads, const Schedule *s, Schedule *best,
                     double *ps) {
  if (!is_candidate(r, l, s))
    return;
  double mine = reads_cost(reads, s, 1, INFINITY).ps;
  if (mine < tuning.better * *ps) {
    *best = *s;
    *ps = mine;
  }
}

/* The load of tile `s` of the launch of a part with work `w` and reads `reads`, on a grid of extents `size`. */
static LaunchLoad part_load(const TileWork *w, const Launch *l, const LaunchReads *reads, const Schedule *s,
                            const int64_t *size) {
  LaunchCost cost = reads_cost(reads, s, 1, INFINITY);
  LaunchLoad load = tile_load(w, s, size);
  load.registers = cost.registers;
  load.spilled = cost.spilled;
  load.memory_bytes = launch_bytes(l) * load.points;
  load.cache_bytes = 0;
  return load;
}

/* The seconds that this load takes. */
static double part_seconds(const Resolve *r, const TileWork *w, const Launch *l, const LaunchReads *reads,
                           const Schedule *s, const int64_t *size) {
  LaunchLoad load = part_load(w, l, reads, s, size);
  return model_part_launch(r->target, &load).seconds;
}

int32_t part_blocks_a_core(const TargetInfo *t, const Launch *l, const Schedule *s) {
  if (t->word_registers > 0 || t->registers_per_core <= 0)
    return 0;
  LaunchLoad load = part_load(tile_work(t, l), l, launch_reads_all(t, l), s, model_large_grid(l->m->grid.rank));
  LaunchTime time = model_part_launch(t, &load);
  bool waits = time.bound == BOUND_F64 || time.bound == BOUND_SPECIAL || time.bound == BOUND_LATENCY;
  int32_t more = time.occupancy.blocks + 1;
  int32_t limit = registers_limit(t, load.work.threads * more);
  bool near = limit >= (1 - measured.part_capped) * load.registers && limit < load.registers;
  return waits && near && load.work.chained > 0 && !load.spilled && time.occupancy.warps <= measured.enough_warps &&
                 strcmp(time.occupancy.limit, "registers") == 0
             ? more
             : 0;
}

/* Did the user give neither block nor elements of a target with threads? */
static bool is_open(const Resolve *r) {
  bool open = r->target->simt;
  for (int d = 0; d < r->rank; d++)
    open = open && !r->want.block[d] && !r->want.elems[d];
  return open;
}

void tile_search(const Resolve *r, const Launch *l, Schedule *s) {
  const PlanAxes *axes = plan_axes_of_parts(r->rank);
  Schedule t = *s;
  bool open = is_open(r);
  const LaunchReads *reads = launch_reads_all(r->target, l);
  double ps = tile_is_legal(r, l, s) ? reads_cost(reads, s, 1, INFINITY).ps : 1e30;
  for (int b = 0; open && plan_axis_numbers(axes->values[AXIS_BLOCK], b, false, t.block); b++)
    for (int e = 0; plan_axis_numbers(axes->values[AXIS_ELEMS], e, false, t.elems); e++)
      try_tile(r, l, reads, &t, s, &ps);
}

/* The greatest number of cells of a thread of such a tile: more were not measured. */
enum { MOST_PART_CELLS = 4 };

void tile_suit_part(const Resolve *r, const Launch *l, Schedule *s) {
  const PlanAxes *axes = plan_axes_of_parts(r->rank);
  const int64_t *size = r->want.size[0] ? r->want.size : model_large_grid(r->rank);
  if (!is_open(r) || !tile_is_legal(r, l, s))
    return;
  const LaunchReads *reads = launch_reads_all(r->target, l);
  const TileWork *work = tile_work(r->target, l);
  Schedule t = *s;
  double least = part_seconds(r, work, l, reads, s, size);
  for (int b = 0; plan_axis_numbers(axes->values[AXIS_BLOCK], b, true, t.block); b++)
    for (int e = 0; plan_axis_numbers(axes->values[AXIS_ELEMS], e, false, t.elems); e++) {
      bool other = elements(&t, r->rank) > MOST_PART_CELLS || (r->rank > 1 && t.elems[r->rank - 1] > 1);
      double mine = other || !is_candidate(r, l, &t) ? INFINITY : part_seconds(r, work, l, reads, &t, size);
      if (mine < tuning.slightly_better * least) {
        *s = t;
        least = mine;
      }
    }
}
