/* mapping.c: completes the mapping in a plan: the numbers of its launches beyond the knobs (ir/mapping.def). Open
 * numbers are chosen here, once, and given numbers are checked; lowerings read them. */
#include "passes/launch/slices.h"
#include "passes/plan/plan.h"
#include "passes/tile/frame.h"
#include "passes/tile/mapping.h"
#include "passes/tile/warps.h"

#include <string.h>

/* The completion of plan `s` of module `m`, which is cut and repeated as the plan says. For a plan whose edges are made
 * step by step `frame` is the frame and `inside` the launch of the tiles, else both are NULL. */
typedef struct Filling {
  const PassContext *c;
  const Module *m;
  Schedule *s;
  const Frame *frame;
  Launch *inside;
} Filling;

/* Sets number `id` of `s` to `value` if it is open. */
static void fill(Schedule *s, MapId id, int32_t value) {
  if (map_get(s, id) < 0)
    map_set(s, id, value);
}

/* ---- launches of few points */

/* Sets which launches of few points are joined, and on which grid launches have as few. */
static void fill_joined(const Filling *k) {
  GridScalars g;
  int64_t size[MAX_RANK];
  if (!plan_may_join(k->c, k->m) || map_get(k->s, MAP_JOINED) >= 0)
    return;
  const Schedule *want = k->c->schedule; /* NULL: kernels are made only to be examined */
  Schedule told = *k->s;
  told.told = want && want->told;
  memcpy(told.size, want ? want->size : (int64_t[MAX_RANK]){0}, sizeof told.size);
  plan_joined_size(&told, size);
  map_set(k->s, MAP_JOINED, (int32_t)plan_joined(k->c, k->m, &told, &g));
  for (int d = 0; d < k->m->grid.rank && map_get(k->s, MAP_JOINED) > 0; d++)
    if (box_extent(k->c->arena, &k->m->grid, d).n)
      map_set(k->s, (MapId)(MAP_ALONG_0 + d), (int32_t)size[d]);
  if (k->m->slice_of && map_get(k->s, MAP_JOINED) > 0 && box_extent(k->c->arena, &k->m->slice_of->grid, 0).n)
    map_set(k->s, (MapId)(MAP_ALONG_0 + k->m->grid.rank), (int32_t)slices_of_size(k->m->grid.rank, told.size));
}

/* ---- the kernel for the steps that remain */

/* The launch of the last `steps` levels of the module; NULL: a frame cannot be made beside it. */
static Launch *levels_launch(const Filling *k, int steps) {
  int32_t n;
  if (k->frame)
    return frame_tile_of(k->frame, steps);
  last_level(k->m, &n);
  const Stencil *end = k->m->stencils + k->m->nstencils, *st = end - (int64_t)n * steps;
  return launch_new(k->m, n * steps, st, st, end);
}

/* Sets how many steps that kernel makes, a multiple of `of`. NULL, or what is wrong with the number in the plan. */
static const char *fill_remainder(const Filling *k, int of) {
  Schedule *s = k->s;
  int32_t said = map_get(s, MAP_REMAINDER);
  int64_t every = k->c->schedule ? k->c->schedule->every : 0;
  bool none = s->T < 3 || k->c->target->late;
  if (said > 1 && (none || said >= s->T || said % of))
    return "'remainder' is 1, or fewer steps than T, as many for each warp";
  if (!none)
    fill(s, MAP_REMAINDER, plan_remainder(k->m, every, s->T, of));
  if (!none && k->frame && map_get(s, MAP_REMAINDER) > 1 && !levels_launch(k, map_get(s, MAP_REMAINDER))) {
    map_set(s, MAP_REMAINDER, 1);
    return said > 1 ? "older levels are kept for more steps than 'remainder'" : NULL;
  }
  return NULL;
}

/* The mapping of that kernel, to be completed; NULL: there is no such kernel. */
static Schedule *start_between(const Filling *k) {
  if (map_get(k->s, MAP_REMAINDER) <= 1)
    return NULL;
  Schedule *out = ARENA_NEW(k->c->arena, Schedule);
  *out = schedule_between(k->s, map_get(k->s, MAP_REMAINDER));
  return out;
}

/* Sets the mapping of that kernel in the plan to `between`. */
static void end_between(const Filling *k, const Schedule *between) {
  Schedule *only = ARENA_NEW(k->c->arena, Schedule);
  *only = (Schedule){0};
  memcpy(only->map, between->map, sizeof only->map);
  k->s->between = only;
}

/* ---- families */

/* Completes the mapping of tile `s` of pipelines of warps; `e`: the level. */
static const char *fill_strip(const Filling *k, const WarpLevel *e, Schedule *s) {
  const char *why = warps_said_wrong(k->c->target, e, s);
  why = why ? why : schedule_warps_wrong(k->c->arena, k->c->target, e, s);
  WarpShape w = warps_shape(k->c->target, e, s);
  if (!why)
    warps_say(e, &w, s);
  return why;
}

static const char *fill_warps(const Filling *k) {
  const char *why;
  const WarpLevel *e = warps_level(k->inside ? k->inside->m : k->m, &why);
  if (!e)
    return why;
  e = warps_level_for(e, k->s);
  why = fill_strip(k, e, k->s);
  why = why ? why : fill_remainder(k, k->s->block[0]);
  Schedule *between = why ? NULL : start_between(k);
  why = between ? fill_strip(k, e, between) : why;
  if (between && !why)
    end_between(k, between);
  return why;
}

/* Sets the unrolled steps of streamed tile `s` of launch `l`. */
static const char *fill_written(const Filling *k, const Launch *l, Schedule *s) {
  const Mapping *p = stream_for(l, s);
  int32_t least = stream_least_written(p), most = l->m->grid.rank > 1 ? 2 * least : least;
  if (p->unroll < least || p->unroll > most)
    return arena_printf(k->c->arena, "'written' is from %d to %d for launches of %s", (int)least, (int)most,
                        l->n ? l->st[0].name : "nothing");
  if (map_get(s, MAP_WRITTEN) > 0 && !tile_fits(k->c->target, p, s))
    return "its tile does not fit a block with so many steps that are 'written' out";
  fill(s, MAP_WRITTEN, p->unroll);
  return NULL;
}

/* The same for the kernel of the remaining steps; if it would not fit, and was not asked for, there is none. */
static const char *fill_streamed_between(const Filling *k, bool asked) {
  Schedule *between = start_between(k);
  if (!between)
    return NULL;
  Launch *l = levels_launch(k, between->T);
  if (!k->frame)
    launch_store_apart(l, false);
  const char *why = fill_written(k, l, between);
  if (!why && tile_fits(k->c->target, stream_for(l, between), between))
    end_between(k, between);
  else if (!asked)
    map_set(k->s, MAP_REMAINDER, 1);
  else
    return why ? why : "the kernel for its 'remainder' does not fit a block";
  return NULL;
}

/* Completes the mapping of launch `l`, in a schedule of its own or the plan's. */
static const char *fill_streamed(const Filling *k, const Launch *l, Schedule *s) {
  if (k->c->target->simt)
    return fill_written(k, l, s);
  fill(s, MAP_LINES, walk_lines(l));
  return NULL;
}

static const char *fill_stream(const Filling *k) {
  Schedule *s = k->s;
  bool asked = map_get(s, MAP_REMAINDER) > 1, simt = k->c->target->simt;
  if (simt && s->barriers != BARRIERS_BLOCK) {
    fill(s, MAP_NEAR, plan_mapped(s, MAP_NEAR));
    if (k->m->grid.rank == GRID_RANK && k->c->target->bulk_copy)
      fill(s, MAP_BEHIND, plan_mapped(s, MAP_BEHIND));
  }
  if (s->ngroups > 1)
    return NULL;
  const char *why = fill_remainder(k, 1);
  if (!why)
    why = fill_streamed(k, k->inside ? k->inside : levels_launch(k, k->m->time_tile > 1 ? k->m->time_tile : 1), s);
  return why || !simt ? why : fill_streamed_between(k, asked);
}

/* Are the tiles of plan `s` overlapped ones, which are not streamed? */
static bool overlaps(const Schedule *s) { return family_row(s->family)->tiled && !family_row(s->family)->streamed; }

/* Completes the mappings of the launches of a step, each for itself. */
static const char *fill_groups(const Filling *k) {
  int count;
  int32_t n;
  const char *why = NULL;
  const Stencil *st = last_level(k->m, &n);
  Launch **l = group_launches(k->m, n, st, &count);
  Schedule *groups = ARENA_ARRAY(k->c->arena, Schedule, k->s->ngroups);
  memcpy(groups, k->s->groups, (size_t)k->s->ngroups * sizeof *groups);
  for (int g = 0; g < count && g < k->s->ngroups && !why; g++)
    if (family_row(groups[g].family)->streamed)
      why = fill_streamed(k, l[g], &groups[g]);
    else if (overlaps(k->s) && k->c->target->simt && !k->c->sketch)
      fill(&groups[g], MAP_BLOCKS, part_blocks_a_core(k->c->target, l[g], &groups[g]));
  k->s->groups = groups;
  return why;
}

/* ---- plans */

/* The family and the knobs of tiles that plan `s` has on a grid of rank `rank`, as text. */
static const char *tiles_text(Arena *a, const Schedule *s, int rank) {
  Str out = {.arena = a};
  if (s->ngroups <= 1)
    plan_print_tile(&out, s, rank, true);
  for (int g = 0; g < s->ngroups && s->ngroups > 1; g++) {
    plan_print_tile(&out, &s->groups[g], rank, false);
    str_add(&out, "\n");
  }
  return out.s;
}

/* Copies the mapping from `want`, the request, to plan `s`, if both have the same tiles. */
static bool take_said(const PassContext *c, const Module *m, const Schedule *want, Schedule *s) {
  if (want == s || !map_says_any(want))
    return true;
  const char *open = plan_open_knob(want, m->grid.rank);
  if (open) {
    diag_error(c->diags, no_loc(), "the plan says 'map', which is of tiles of one size, but leaves '%s' open", open);
    return false;
  }
  if (strcmp(tiles_text(c->arena, want, m->grid.rank), tiles_text(c->arena, s, m->grid.rank)) != 0) {
    diag_remark(c->diags, no_loc(),
                "the plan's tiles are not those that its lines 'map' are for: these are chosen anew");
    return true;
  }
  memcpy(s->map, want->map, sizeof s->map);
  s->between = want->between;
  Schedule *groups = ARENA_ARRAY(c->arena, Schedule, s->ngroups + 1);
  for (int g = 0; g < s->ngroups && s->ngroups > 1; g++) {
    groups[g] = s->groups[g];
    memcpy(groups[g].map, want->groups[g].map, sizeof groups[g].map);
  }
  s->groups = s->ngroups > 1 ? groups : s->groups;
  return true;
}

bool plan_map(const PassContext *c, const Module *m, const Schedule *want, Schedule *s) {
  Filling k = {.c = c, .m = m, .s = s};
  const char *why = NULL;
  if (!take_said(c, m, want, s))
    return false;
  k.frame = s->edges == EDGES_STEPS ? frame_new(m, s->T, &why) : NULL;
  k.inside = k.frame ? frame_tile(k.frame) : NULL;
  if (m->nreductions && c->target->simt)
    fill(s, MAP_REDUCE, plan_mapped(s, MAP_REDUCE));
  fill_joined(&k);
  if (!why && s->family == FAMILY_WARPS)
    why = fill_warps(&k);
  else if (!why && s->family == FAMILY_STREAM)
    why = fill_stream(&k);
  else if (!why && overlaps(s) && s->ngroups <= 1)
    why = fill_remainder(&k, 1);
  if (!why && s->ngroups > 1 && family_row(s->family)->tiled)
    why = fill_groups(&k);
  if (why)
    diag_error(c->diags, no_loc(), "the plan's mapping: %s", why);
  return !why;
}
