/* legal.c: makes the user's request legal for a target: block size from B and E (equation 1 of the paper: a tile stores
 * W = B * E - halo points in each dimension), shared memory (equation 3), and defaults for open parts.
 *
 *   -schedule=overlap -T=4     ->     -T=4 -block=8x32 -elems=4x1     or an error with the nearest legal choice
 *
 * `schedule_resolve` turns the user's request (`-schedule -T -block -elems`, all optional) into a schedule that the
 * target can run, or an error that names the request, the target's limit and the nearest legal choice. It calls
 * `halo_compute` and the analysis of launches, so it knows the tile's width (equation 1) and its shared bytes (equation
 * 3) for every T that it considers. `tile/mapping.h` has the sizes of a tile that do not depend on cost: stored and
 * redundant points, bytes, registers for windows. Lowerings and the cost model (`plan/cost/`) call it, and the cost
 * model does not know which tiles are legal or chosen.
 *
 * *Defaults with threads*: blocks of 256, 8x32 or 4x4x32. E is doubled in the dimension where the halo weighs most
 * until at most 1.35 points (1.05 in one dimension) are computed for each point stored, as long as a thread's private
 * arrays take at most 32 registers (8 in three dimensions), its code stays below about 2100 instructions and the
 * block's arrays below a quarter of a core's shared memory. T is the largest, up to 16, 4, 2 in one, two, three
 * dimensions, whose redundancy is then at most 1.3, 1.8, 2.2 (1.2, 1.55, 1.8 for stencils of more than about 40
 * instructions). These numbers come from measurements on one H200 and stand in `tuning.def`.
 *
 * *Defaults without threads*: -block is the tile, by default as large as the cache allows, and T is up to 16, 8, 4.
 *
 * T is never more than the program's steps, nor than the steps between two evaluations of a reduction (`every`; a
 * remark says so). `-schedule=naive` has T = 1 and E = 1. */
#include "passes/tile/mapping.h"
#include "passes/plan/cost/fuse.h"
#include "passes/plan/plan.h"
#include "passes/plan/choose/resolve.h"
#include "passes/plan/choose/cpu-stream.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- texts for messages */

/* "8x32" of the `rank` numbers. */
static const char *shape_text(Arena *a, const int32_t *v, int rank) {
  Str s = {.arena = a};
  for (int d = 0; d < rank; d++)
    str_addf(&s, "%s%d", d ? "x" : "", v[d]);
  return s.s;
}

/* "nvptx sm_80". */
static const char *target_text(Arena *a, const TargetInfo *t) {
  return t->cpu && *t->cpu ? arena_printf(a, "%s %s", t->name, t->cpu) : t->name;
}

/* "-T=4 -block=8x32 -elems=4x1": the options for schedule `s`. */
static const char *options_text(const Resolve *r, const Schedule *s) {
  Arena *a = r->c->arena;
  const char *tiles = s->tiles ? arena_printf(a, " -tiles=%s", knob_word(KNOB_TILES, (int)s->tiles)) : "";
  const char *elems = r->target->simt ? arena_printf(a, " -elems=%s", shape_text(a, s->elems, r->rank)) : "";
  return arena_printf(a, "-T=%d -block=%s%s%s", s->T, shape_text(a, s->block, r->rank), elems, tiles);
}

/* Has the module been tiled, so that remarks on the number of levels were made? */
static bool is_tiled(const Module *m) { return m->time_tile > 1 || (m->nstencils && m->stencils[0].has_extent); }

/* Remarks that reduction `by` limits the time tile; `asked` is the beginning of the remark. */
static void remark_limit(const Resolve *r, const Reduction *by, const char *asked) {
  diag_remark(r->c->diags, by->loc,
              "%s'%s' is evaluated every %" PRId64 " time step%s, and a tile makes no more: -T=%" PRId64 " is taken",
              asked, by->name, by->every, by->every > 1 ? "s" : "", by->every);
}

/* Launches that `every` steps take in tiles of T steps, of half as many, and so on (lower-steps.c). */
static int64_t launches_of(int64_t every, int T) {
  int64_t n = 0;
  for (; every > 0; T = T > 1 ? T / 2 : 1) {
    n += every / T;
    every %= T;
  }
  return n;
}

/* The number of time steps a tile, from T down to half of it, with which the `every` steps between two stops of a run
 * take no more launches than with T: with fewer steps the halo is smaller. */
static int levels_between_stops(const Resolve *r, int T, int64_t every) {
  int best = T;
  for (int t = T - 1; t > T / 2; t--)
    if (launches_of(every, t) <= launches_of(every, best) && !tile_launch(r, t)->illegal)
      best = t;
  return best;
}

/* The default time steps a tile: the most, up to a number by rank, whose redundant work is modest; where computing
 * costs more than loading, modest means less redundancy. */
static int default_levels(const Resolve *r) {
  int T = (int)(r->target->simt ? tuning.tile_levels : tuning.loop_levels)[r->rank - 1];
  const Reduction *by;
  int64_t most = most_levels(r->m, &by), every = r->target->simt ? 0 : r->want.every;
  bool limited = most < T && by && !is_tiled(r->m);
  Launch *one = tile_launch(r, 1);
  if (!r->target->simt && !one->illegal && loops_hide_memory(r->target, one))
    return 1;
  T = most < T ? (int)most : T;
  T = every && every < T ? (int)every : T;
  for (; T > 1; T--) {
    Schedule s;
    Launch *l = tile_launch(r, T);
    if (l->illegal)
      continue;
    if (r->target->simt && T > tuning.costly_levels && tile_point_cost(l) > tuning.costly_step * T)
      continue;
    tile_choose(r, l, T, &s);
    const double *table = !r->target->simt                             ? tuning.halo_loops
                          : tile_point_cost(l) > tuning.heavy_step * T ? tuning.halo_heavy
                                                                       : tuning.halo_modest;
    if (tile_is_legal(r, l, &s) && tile_bytes(r->target, BLOCKED_TILE(l), &s) <= r->target->shared_bytes &&
        tile_redundancy(BLOCKED_TILE(l), &s) <= table[r->rank - 1])
      break;
  }
  if (limited && T == most && !r->quiet)
    remark_limit(r, by, "");
  return every ? levels_between_stops(r, T, every) : T;
}

/* ---- checks of the request */

/* Reports an error about the schedule. */
#define schedule_error(r, fmt, ...) (diag_error((r)->c->diags, no_loc(), "%s" fmt, (r)->where, __VA_ARGS__), false)

/* Checks one number of an option: at least 1, and 1 beyond the rank. */
static bool check_number(const Resolve *r, const char *option, const int32_t *v, int d) {
  if (v[d] < 0)
    return schedule_error(r, "%s: %d is not a number of %s; give at least 1", option, v[d],
                          r->target->simt ? "threads or points" : "points");
  if (d >= r->rank && v[d] > 1)
    return schedule_error(r, "%s has more than the program's %d dimension%s; leave the last ones out", option, r->rank,
                          r->rank > 1 ? "s" : "");
  return true;
}

/* May -fuse have that value? Families of tiles without a cut make one launch for all stencils anyway, the other
 * families one for each. */
static bool check_cut(const Resolve *r, const Family *family) {
  const char *cut = r->want.fuse;
  if (!cut || family_has(r->want.family, KNOB_FUSE) || strcmp(cut, "auto") == 0 || strcmp(cut, "none") == 0 ||
      (family->tiled && strcmp(cut, "all") == 0))
    return true;
  if (family->tiled)
    return schedule_error(r,
                          "-fuse=%s: the %s schedule makes one launch for all stencils; leave -fuse out, or use "
                          "-schedule=stream",
                          cut, family->name);
  return schedule_error(
      r, "-fuse=%s: the %s schedule makes a launch for each stencil; leave -fuse out, or use -schedule=overlap", cut,
      family->name);
}

/* "-tiles=even": knob `id` as `s` says it, numbers without their value. */
static const char *knob_text(Arena *a, const Schedule *s, KnobId id) {
  const KnobRow *row = knob_row(id);
  const KnobWord *word = (const void *)((const char *)s + row->at);
  return row->kind == KNOB_IS_WORD ? arena_printf(a, "-%s=%s", row->name, knob_word(id, (int)*word))
                                   : arena_printf(a, "-%s", row->name);
}

/* Does the family have a knob for everything that is given, and may the knob have that value? */
static bool check_knobs(const Resolve *r, const Family *family) {
  const Schedule *w = &r->want;
  for (int i = 0; i < KNOBS; i++)
    if (knob_row((KnobId)i)->lacks && schedule_says(w, (KnobId)i) && !family_has(w->family, (KnobId)i))
      return schedule_error(r, "%s: the %s schedule %s", knob_text(r->c->arena, w, (KnobId)i), family->name,
                            knob_row((KnobId)i)->lacks);
  if (w->tiles == TILES_LANES && family->streamed)
    return schedule_error(r,
                          "-tiles=lanes: tiles of the %s schedule are streamed; leave it out, or use -schedule=overlap",
                          family->name);
  if (w->tiles == TILES_FITTED && !family->streamed)
    return schedule_error(r, "-tiles=fitted: the %s schedule streams no tiles; leave it out, or use -schedule=stream",
                          family->name);
  if (w->tiles == TILES_LANES && (r->rank != 2 || !r->target->simt || r->target->lanes % WARP_LANES))
    return schedule_error(r,
                          "-tiles=lanes: cells stay in the registers of lanes in two dimensions, on targets with warps "
                          "of %d threads; the program has %d, and the target is %s; leave it out",
                          WARP_LANES, r->rank, target_text(r->c->arena, r->target));
  if (w->barriers && !r->target->simt)
    return schedule_error(r, "-barriers=%s: target %s has no threads that could wait for each other; leave it out",
                          knob_word(KNOB_BARRIERS, (int)w->barriers), target_text(r->c->arena, r->target));
  return check_cut(r, family);
}

/* Checks the parts of the request that do not depend on the program's accesses. */
static bool check_request(const Resolve *r) {
  const Schedule *w = &r->want;
  int64_t points = 1;
  const Family *family = family_row(w->family);
  if (!check_knobs(r, family))
    return false;
  if (w->T < 0 || w->T > MAX_LEVELS)
    return schedule_error(r, "-T=%d: the number of time steps a tile must be 1 to %d", w->T, MAX_LEVELS);
  for (int d = 0; d < GRID_RANK; d++) {
    if (!check_number(r, "-block", w->block, d) || !check_number(r, "-elems", w->elems, d))
      return false;
    if (w->elems[d] > 1 && !r->target->simt)
      return schedule_error(r, "-elems: target %s has no threads to give points to; a tile's points are set by -block",
                            target_text(r->c->arena, r->target));
    if (w->elems[d] > MAX_ELEMS)
      return schedule_error(r, "-elems: %d points a thread in dimension %d; at most %d are possible", w->elems[d], d,
                            MAX_ELEMS);
    points *= w->elems[d] ? w->elems[d] : 1;
    if (points > MAX_POINTS)
      return schedule_error(r, "-elems=%s: %" PRId64 " points a thread; at most %d are possible",
                            shape_text(r->c->arena, w->elems, r->rank), points, MAX_POINTS);
    if (w->block[d] > MAX_BLOCK)
      return schedule_error(r, "-block: %d %s in dimension %d; at most %d are possible", w->block[d],
                            r->target->simt ? "threads" : "points", d, MAX_BLOCK);
  }
  return true;
}

/* Cuts the block down to what the target starts: each dimension first, then the slowest ones until the product fits. */
static void nearest_block(const TargetInfo *t, int rank, int32_t *block) {
  for (int d = 0; d < rank; d++)
    if (block[d] > t->max_block[rank - 1 - d])
      block[d] = t->max_block[rank - 1 - d];
  for (int d = 0; d < rank; d++) {
    int64_t others = 1;
    for (int k = 0; k < rank; k++)
      others *= k == d ? 1 : block[k];
    if (others * block[d] > t->max_threads)
      block[d] = others < t->max_threads ? (int32_t)(t->max_threads / others) : 1;
  }
}

/* Checks that there are not too many threads. */
static bool check_threads(const Resolve *r) {
  static const char axis[] = "xyz";
  const TargetInfo *t = r->target;
  Arena *a = r->c->arena;
  int32_t nearest[GRID_RANK];
  int64_t threads = 1;
  memcpy(nearest, r->out->block, sizeof nearest);
  nearest_block(t, r->rank, nearest);
  for (int d = 0; d < r->rank && t->simt; d++) {
    int hardware = r->rank - 1 - d;
    if (r->out->block[d] > t->max_block[hardware])
      return schedule_error(r,
                            "-block=%s asks for %d threads in dimension %d (the hardware's %c); target %s allows %d; "
                            "the nearest legal choice is -block=%s",
                            shape_text(a, r->out->block, r->rank), r->out->block[d], d, axis[hardware],
                            target_text(a, t), t->max_block[hardware], shape_text(a, nearest, r->rank));
    threads *= r->out->block[d];
  }
  if (t->simt && threads > t->max_threads)
    return schedule_error(r,
                          "-block=%s asks for %" PRId64
                          " threads a block; target %s allows %d; the nearest legal choice is -block=%s",
                          shape_text(a, r->out->block, r->rank), threads, target_text(a, t), t->max_threads,
                          shape_text(a, nearest, r->rank));
  return true;
}

/* The schedule with the most levels below those of `s` that is legal, all else equal; false if there is none. */
static bool fewer_levels(const Resolve *r, const Schedule *s, Schedule *legal) {
  *legal = *s;
  while (!r->part && --legal->T >= 1)
    if (tile_is_legal(r, tile_launch(r, legal->T), legal))
      return true;
  return false;
}

/* The smallest tile that is larger than the halo of launch `l`, in place of that of `s`; false if it is not legal
 * either. */
static bool larger_tile(const Resolve *r, const Launch *l, const Schedule *s, Schedule *legal) {
  *legal = *s;
  for (int d = 0; d < r->rank; d++) {
    int64_t halo = l->hull.lo[d] + l->hull.hi[d], per = s->block[d];
    if (halo < per * s->elems[d])
      continue;
    if (r->target->simt ? halo / per + 1 > MAX_ELEMS : halo + 1 > MAX_BLOCK)
      return false;
    *(r->target->simt ? &legal->elems[d] : &legal->block[d]) = (int32_t)(r->target->simt ? halo / per + 1 : halo + 1);
  }
  return tile_is_legal(r, l, legal);
}

/* The tile of `s` with fewer elements a thread, so that it fits the shared memory; false if there is none. */
static bool smaller_tile(const Resolve *r, const Launch *l, const Schedule *s, Schedule *legal) {
  *legal = *s;
  for (;;) {
    int widest = 0;
    for (int d = 1; d < r->rank; d++)
      widest = legal->elems[d] > legal->elems[widest] ? d : widest;
    if (legal->elems[widest] == 1)
      return false;
    legal->elems[widest]--;
    if (tile_is_legal(r, l, legal))
      return true;
  }
}

/* "; the nearest legal choices are OPTIONS or OPTIONS" of those that there are. */
static const char *nearest_text(const Resolve *r, bool has_x, const Schedule *x, bool has_y, const Schedule *y) {
  Arena *a = r->c->arena;
  if (has_x && has_y)
    return arena_printf(a, "; the nearest legal choices are %s and %s", options_text(r, x), options_text(r, y));
  if (has_x || has_y)
    return arena_printf(a, "; the nearest legal choice is %s", options_text(r, has_x ? x : y));
  return "; no choice near it is legal, use -schedule=naive";
}

/* Checks that the tile is larger than its halo (W >= 1 in equation 1). */
static bool check_width(const Resolve *r, const Launch *l) {
  const Schedule *s = r->out;
  Schedule more, fewer;
  for (int d = 0; d < r->rank; d++) {
    int64_t cells = (int64_t)s->block[d] * s->elems[d], lo = l->hull.lo[d], hi = l->hull.hi[d];
    if (tile_dim(BLOCKED_TILE(l), s, d).stored >= 1)
      continue;
    bool has_more = larger_tile(r, l, s, &more), has_fewer = fewer_levels(r, s, &fewer);
    return schedule_error(r,
                          "%s: a tile of %" PRId64
                          " points in dimension %d is not larger than its halo, which is %" PRId64 " + %" PRId64
                          " points there for %d time step%s%s",
                          options_text(r, s), cells, d, lo, hi, s->T, s->T > 1 ? "s" : "",
                          nearest_text(r, has_more, &more, has_fewer, &fewer));
  }
  return true;
}

/* Checks that a row of threads is a warp, if cells stay in the registers of its lanes. */
static bool check_lanes(const Resolve *r) {
  const Schedule *s = r->out;
  if (tile_has_lanes(r, s))
    return true;
  const char *wave = r->target->lanes > WARP_LANES ? arena_printf(r->c->arena, " or %d", r->target->lanes) : "";
  return schedule_error(r,
                        "-block=%s has %d threads in the last dimension; with -tiles=lanes that is a warp of %d%s "
                        "threads",
                        shape_text(r->c->arena, s->block, r->rank), s->block[r->rank - 1], WARP_LANES, wave);
}

/* Checks that the block fits the shared memory (equation 3). */
static bool check_shared(const Resolve *r, const Launch *l) {
  const Schedule *s = r->out;
  Schedule less, fewer;
  int64_t bytes = tile_bytes(r->target, BLOCKED_TILE(l), s);
  if (!r->target->simt || bytes <= r->target->max_shared_bytes)
    return true;
  bool has_less = smaller_tile(r, l, s, &less), has_fewer = fewer_levels(r, s, &fewer);
  return schedule_error(r, "%s asks for %" PRId64 " bytes of shared memory a block; target %s allows %" PRId64 "%s",
                        options_text(r, s), bytes, target_text(r->c->arena, r->target), r->target->max_shared_bytes,
                        nearest_text(r, has_less, &less, has_fewer, &fewer));
}

/* ---- families */

/* One launch a stencil a step; a point a thread, unless more are asked for. */
static bool resolve_naive(Resolve *r) {
  Schedule *s = r->out;
  if (r->want.T)
    return schedule_error(
        r, "-T=%d: the naive schedule makes one time step a launch; leave -T out, or use -schedule=overlap", r->want.T);
  s->family = FAMILY_NAIVE;
  s->T = 1;
  tile_default_block(r, NULL, s);
  for (int d = 0; d < r->rank; d++)
    s->elems[d] = r->want.elems[d] ? r->want.elems[d] : 1;
  return check_threads(r);
}

/* Remarks that a tile makes at most `most` steps in place of those asked for, because of reduction `by` if that is not
 * NULL, unless that was remarked before. */
static void remark_fewer(const Resolve *r, int64_t most, const Reduction *by) {
  int T = r->want.T;
  if (is_tiled(r->m) || r->quiet || T <= most)
    return;
  if (by)
    remark_limit(r, by, arena_printf(r->c->arena, "-T=%d: ", T));
  else if (r->m->nrepeats)
    diag_remark(r->c->diags, r->m->repeats[0].loc,
                "-T=%d: repeat '%s' makes rounds within each time step, and a tile makes no more: -T=1 is taken", T,
                r->m->repeats[0].name);
  else if (r->m->nupdates)
    diag_remark(r->c->diags, r->m->updates[0].loc,
                "-T=%d: scalars are updated within each time step, and a tile makes no more: -T=1 is taken", T);
  else if (module_steps_to_frames(r->m, 0, INT64_MAX) == most)
    diag_remark(r->c->diags, no_loc(),
                "-T=%d: a field gets its next frame every %" PRId64 " time steps, and a tile makes no more: -T=%" PRId64
                " is taken",
                T, most, most);
  else
    diag_remark(r->c->diags, no_loc(),
                "-T=%d is more than the program's %" PRId64 " time steps: -T=%" PRId64 " is taken", T, most, most);
}

/* The number of levels: as asked for, but no more than there are steps to run or steps between two evaluations of a
 * reduction. */
static int resolve_levels(const Resolve *r) {
  int T = r->want.T;
  if (!T)
    return default_levels(r);
  const Reduction *by;
  int64_t most = most_levels(r->m, &by);
  if (r->m->time_tile > 1 || T <= most)
    return T;
  remark_fewer(r, most, by);
  return (int)most;
}

/* Did the user leave the tile open? */
static bool tile_is_open(const Resolve *r) {
  bool open = r->want.T <= 1;
  for (int d = 0; d < r->rank; d++)
    open = open && !r->want.block[d] && !r->want.elems[d];
  return open;
}

/* The schedule of a launch of sweeps, which has no tiles: it has as many threads as naive kernels. */
static void sweep_tile(const Resolve *r, Schedule *s) {
  s->T = 1;
  for (int d = 0; d < r->rank; d++) {
    s->block[d] = r->want.block[d] ? r->want.block[d] : (int32_t)tuning.tile_block[r->rank - 1][d];
    s->elems[d] = 1;
  }
}

/* Sets *s to that schedule; false after reporting that it is not legal. */
static bool resolve_sweep(const Resolve *r, Schedule *s) {
  sweep_tile(r, s);
  return check_threads(r);
}

/* Overlapped tiles for a launch, that of the group or of the whole step. */
static bool resolve_launch(Resolve *r) {
  Schedule *s = r->out;
  Launch *one = tile_launch(r, 1);
  s->family = FAMILY_OVERLAP;
  if (one->n && one->st->sweep && !one->illegal)
    return resolve_sweep(r, s);
  if (one->illegal && r->want.T > 1)
    return schedule_error(r, "-T=%d: the time steps cannot share a launch: %s; use -T=1", r->want.T, one->illegal);
  if (one->illegal)
    return schedule_error(r, "the stencils cannot share a launch: %s; cut the step there, with pass fuse or -fuse",
                          one->illegal);
  s->T = resolve_levels(r);
  Launch *l = s->T == 1 ? one : tile_launch(r, s->T);
  if (l->illegal)
    return schedule_error(r, "-T=%d: the time steps cannot share a launch: %s; use -T=1", s->T, l->illegal);
  tile_choose(r, l, s->T, s);
  tile_complete(r, l, s);
  if (r->part) {
    tile_search(r, l, s);
    tile_suit_part(r, l, s);
  }
  return check_threads(r) && check_lanes(r) && check_width(r, l) && check_shared(r, l);
}

/* The launch of the group of `k` stencils at number `i` of the `n` stencils at `st`. */
static Launch *group_launch(const Resolve *r, int n, const Stencil *st, int i, int k) {
  bool known = true;
  for (int j = i; j < i + k; j++)
    known = known && st[j].has_extent;
  return known ? launch_new(r->m, k, st + i, st, st + n) : part_launch(r->m, n, st, i, i + k);
}

bool schedule_may_be_cut(PassContext *c, const Module *m, const Schedule *want) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  const char *cut = cut_text(c->arena, m, n, st);
  if (want->T > 1)
    diag_error(c->diags, no_loc(),
               "-T=%d: several time steps share a launch only if a step is one, but it is cut into %s; %s", want->T,
               cut, cut_cure(m));
  else if (want->ngroups > 1 && want->ngroups != group_count(n, st))
    diag_error(c->diags, no_loc(), "the plan has %d launches, but its cut makes %d: %s", want->ngroups,
               group_count(n, st), cut);
  else
    return true;
  return false;
}

/* Overlapped tiles for each group of the step of `n` stencils at `st`, into r->out->groups. */
static bool resolve_groups(Resolve *r, int n, const Stencil *st, Schedule *groups) {
  if (!schedule_may_be_cut(r->c, r->m, &r->want))
    return false;
  for (int i = 0, k, g = 0; i < n; i += k, g++) {
    k = group_length(n - i, st + i);
    Resolve part = *r;
    part.want.T = 1;
    part.out = &groups[g];
    part.part = group_launch(r, n, st, i, k);
    if (r->want.ngroups > 1) {
      memcpy(part.want.block, r->want.groups[g].block, sizeof part.want.block);
      memcpy(part.want.elems, r->want.groups[g].elems, sizeof part.want.elems);
      part.want.tiles = r->want.groups[g].tiles;
    }
    part.where = arena_printf(r->c->arena, "launch of %s: ", cut_text(r->c->arena, r->m, k, st + i));
    if (!resolve_launch(&part))
      return false;
  }
  return true;
}

const char *schedule_cut(Arena *a, const Module *m, int T) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  const char *cut = cut_text(a, m, n, st);
  if (group_count(n, st) > 1)
    return cut;
  return T == 1 && strchr(cut, '+') ? knob_word(KNOB_FUSE, FUSE_ALL) : NULL;
}

/* Overlapped tiles: T of them if the step is one launch, else one for each group. */
static bool resolve_overlap(Resolve *r) {
  int32_t n;
  const Stencil *st = last_level(r->m, &n);
  int count = group_count(n, st);
  Schedule *groups = ARENA_ARRAY(r->c->arena, Schedule, count + 1);
  if (count > 1 ? !resolve_groups(r, n, st, groups) : !resolve_launch(r))
    return false;
  if (count > 1)
    *r->out = groups[0];
  else
    groups[0] = *r->out;
  r->out->fuse = schedule_cut(r->c->arena, r->m, r->out->T);
  r->out->ngroups = count;
  r->out->groups = groups;
  return true;
}

/* The reason why the choice for the launch is not legal on the target, or not sensible: its tile is not larger than its
 * halo, and a better one was not found. NULL: there is none. */
static const char *why_not(const Resolve *r, const Launch *l, const Schedule *s) {
  if (l->illegal)
    return l->illegal;
  if (!tile_has_lanes(r, s))
    return "its rows of threads are not the warps that tiles in lanes have";
  if (!tile_has_points(BLOCKED_TILE(l), s))
    return tile_is_open(r) ? "no tile of a size that suits the target is larger than the halo"
                           : "the tile asked for is not larger than the halo";
  if (!tile_is_legal(r, l, s))
    return "its tile does not fit the shared memory of the target";
  return NULL;
}

/* See schedule_launch; chosen: the launch is known to be one of several of a step. */
static const char *launch_tile(PassContext *c, const Schedule *want, const Launch *l, int levels, bool part,
                               bool chosen, Schedule *out) {
  Resolve r = {.c = c, .m = l->m, .target = c->target, .rank = l->m->grid.rank, .want = *want, .out = out, .where = ""};
  *out = (Schedule){.family = FAMILY_OVERLAP};
  for (int d = 0; d < GRID_RANK && family_row(want->family)->streamed; d++)
    r.want.block[d] = r.want.elems[d] = 0;
  if (l->n && l->st->sweep && !l->illegal) {
    sweep_tile(&r, out);
    return NULL;
  }
  tile_choose(&r, l, levels, out);
  if (part && !l->illegal)
    tile_search(&r, l, out);
  if (chosen && !l->illegal)
    tile_suit_part(&r, l, out);
  return why_not(&r, l, out);
}

const char *schedule_launch(PassContext *c, const Schedule *want, const Launch *l, int levels, bool part,
                            Schedule *out) {
  return launch_tile(c, want, l, levels, part, false, out);
}

const char *schedule_part(PassContext *c, const Schedule *want, const Launch *l, const int64_t *size, Schedule *out) {
  Schedule sized = *want;
  memcpy(sized.size, size, sizeof sized.size);
  return launch_tile(c, &sized, l, 1, true, true, out);
}

/* The state for resolving the requested schedule. */
static Resolve question(PassContext *c, const Module *m) {
  Resolve r = {.c = c, .m = m, .target = c->target, .rank = m->grid.rank, .where = ""};
  if (c->schedule)
    r.want = *c->schedule;
  r.want.family = r.want.family > FAMILY_AUTO ? r.want.family : FAMILY_OVERLAP;
  return r;
}

bool schedule_check(PassContext *c, const Module *m) {
  Resolve r = question(c, m);
  return check_request(&r);
}

int schedule_levels(PassContext *c, const Module *m) {
  Resolve r = question(c, m);
  const Reduction *by;
  r.quiet = true;
  int64_t most = most_levels(m, &by);
  schedule_suit(c, m, most, &r.want);
  if (r.want.family == FAMILY_STREAM)
    return schedule_stream_levels(c, m, &r.want, most);
  int64_t T = r.want.T ? r.want.T : default_levels(&r);
  return (int)(T < most ? T : most);
}

/* Resolves by each family's own choice, with at most `most` time steps (because of reduction `by` if that is not NULL).
 * The compiler warns of a family that is not in here. */
static bool resolve_family(Resolve *r, int64_t most, const Reduction *by) {
  switch (r->want.family) {
  case FAMILY_NAIVE: return resolve_naive(r);
  case FAMILY_OVERLAP: return resolve_overlap(r);
  case FAMILY_STREAM: remark_fewer(r, most, by); return schedule_stream(r->c, r->m, &r->want, most, r->out);
  case FAMILY_WARPS: return schedule_warps(r->c, r->m, &r->want, r->m->time_tile > 1 ? r->m->time_tile : most, r->out);
  case FAMILY_NONE:
  case FAMILY_AUTO:
  case FAMILIES: break;
  }
  return schedule_error(r, "family number %d has no schedules; this is a mistake in stc", (int)r->want.family);
}

bool schedule_resolve(PassContext *c, const Module *m, const Schedule *want, Schedule *out) {
  Resolve r = {.c = c, .m = m, .target = c->target, .rank = m->grid.rank, .out = out, .where = ""};
  const Reduction *by;
  if (want)
    r.want = *want;
  if (!r.want.family)
    r.want.family = FAMILY_OVERLAP;
  schedule_suit(c, m, most_levels(m, &by), &r.want);
  if (r.want.family == FAMILY_AUTO && r.want.tiles == TILES_LANES)
    r.want.family = FAMILY_OVERLAP;
  if (r.want.family == FAMILY_AUTO)
    r.want.family = stream_is_not_better(c, m, &r.want, most_levels(m, &by)) ? FAMILY_OVERLAP : FAMILY_STREAM;
  *out = (Schedule){0};
  if (!check_request(&r))
    return false;
  return resolve_family(&r, most_levels(m, &by), by);
}
