/* make.c: makes a plan for one module: the cut, the tile, and alternatives to these.
 *
 * Plans are compared by making others on copies of the module (given-steps.c, frame-plan.c, rivals.c, points-plan.c);
 * each of these is made here, too. This layer is above the rules of legality and the cost of tiles, and below pass plan
 * (plan.c), which has the plan compared with others and writes it into the module. */
#include "passes/launch/slices.h"
#include "passes/plan/plan.h"
#include "passes/plan/choose/cpu-stream.h"

#include <math.h>
#include <string.h>

/* ---- remarks */

/* Remarks which groups of the step of `m` are not streamed under schedule `s`, and why. */
static void remark_groups(PassContext *c, const Module *m, const Schedule *s) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  for (int i = 0, k, g = 0; i < n && s->ngroups > 1; i += k, g++) {
    Schedule none;
    k = group_length(n - i, st + i);
    const char *why = schedule_streamed(c, c->schedule, part_launch(m, n, st, i, i + k), 1, &none);
    if (why)
      diag_remark(c->diags, no_loc(), "launch of %s: tiles overlap and are not streamed: %s",
                  cut_text(c->arena, m, k, st + i), why);
  }
}

/* Remarks why the schedule, which was left open, became overlapped tiles. */
static void remark_overlapped(PassContext *c, const Module *m) {
  if (!diags_remarks_enabled(c->diags))
    return;
  const char *why = stream_is_not_better(c, m, c->schedule, INT64_MAX);
  diag_remark(c->diags, no_loc(), "tiles overlap and are not streamed: %s",
              why ? why : "there are too few steps to make");
}

/* ---- the tile of a module that is cut and repeated */

/* The schedule of overlapped tiles for the steps that remain after streamed ones, one at a time, and the block of
 * inits: as `want` says, or the default. NULL after an error: there is none, and it is needed. */
static const Schedule *plan_rest(PassContext *c, const Module *m, const Schedule *want) {
  static const Schedule plain = {.family = FAMILY_OVERLAP, .T = 1};
  int32_t n;
  const Stencil *st = last_level(m, &n);
  Schedule *rest = ARENA_NEW(c->arena, Schedule);
  const char *why = schedule_launch(c, want ? want : &plain, part_launch(m, n, st, 0, n), 1, false, rest);
  if (why && m->time_tile > 1) {
    diag_error(c->diags, no_loc(), "the steps that remain behind the last tile cannot be made: %s", why);
    return NULL;
  }
  return rest;
}

/* Chooses streamed tiles for module `m`, which was cut and tiled, or overlapped ones if the family was left open and
 * these are better. For a step that was repeated the choice has as many time steps. */
static bool plan_streamed(PassContext *c, const Module *m, Schedule *s) {
  Schedule want = *c->schedule;
  want.T = want.family == FAMILY_AUTO && c->target->simt ? 0 : m->time_tile;
  if (!schedule_resolve(c, m, &want, s))
    return false;
  if (family_row(s->family)->streamed) {
    s->rest = plan_rest(c, m, want.rest);
    remark_groups(c, m, s);
    return s->rest != NULL;
  }
  remark_overlapped(c, m);
  return true;
}

/* Chooses overlapped tiles, or none, for module `m`, which was cut and tiled. */
static bool plan_unstreamed(PassContext *c, const Module *m, Schedule *s) {
  Schedule want = *c->schedule;
  if (family_row(want.family)->tiled)
    want.T = c->target->simt || m->time_tile > 1 ? m->time_tile : want.T;
  return schedule_resolve(c, m, &want, s);
}

bool plan_tile(PassContext *c, const Module *m, Schedule *s) {
  bool streamed = c->schedule->family == FAMILY_AUTO || family_row(c->schedule->family)->streamed;
  if (!(streamed ? plan_streamed : plan_unstreamed)(c, m, s))
    return false;
  const Family *f = family_row(s->family);
  if (c->target->simt && f->tiled)
    s->edges = schedule_parts_edges(c->schedule, m->grid.rank) ? EDGES_APART : EDGES_ALONG;
  if (c->target->simt && family_has(s->family, KNOB_BARRIERS))
    s->barriers = c->schedule->barriers == BARRIERS_BLOCK ? BARRIERS_BLOCK : BARRIERS_NEIGHBOURS;
  return true;
}

/* ---- the plan */

/* Does plan `s` describe the cut that module `m` has? Reports it if not, which is a mistake in stc. */
static bool says_cut(PassContext *c, const Module *m, const Schedule *s) {
  Module *again = module_trial(m);
  bool same = plan_cut_apply(c, again, s);
  for (int i = 0; i < m->nstencils && same; i++)
    same = again->stencils[i].group == m->stencils[i].group;
  if (!same)
    diag_error(c->diags, no_loc(), "pass 'plan': the cut %s is not the one that was chosen; this is a mistake in stc",
               s->fuse ? s->fuse : "all");
  return same;
}

/* The family with a launch for each stencil; on targets without threads, loops have blocks that suit the grid. */
static Schedule naive_for_grid(const PassContext *c) {
  Schedule s = {.family = FAMILY_NAIVE};
  if (!c->target->simt && c->schedule)
    memcpy(s.size, c->schedule->size, sizeof s.size);
  return s;
}

/* For module `m`, which is cut: sets *want to a tile for the size of the grid, if there is one that is better than the
 * usual choice; or to naive, if that is better still. */
static void suit_grid(PassContext *c, const Module *m, Schedule *want) {
  const Reduction *by;
  Schedule tile = *want;
  if (!schedule_suit(c, m, most_levels(m, &by), &tile))
    return;
  if (plan_is_naive(m, want, &tile))
    tile = naive_for_grid(c);
  else if (want->family == FAMILY_AUTO && !family_row(tile.family)->streamed && c->target->simt)
    diag_remark(c->diags, no_loc(), "tiles overlap and are not streamed: that is better on a small grid");
  *want = tile;
}

/* Does `want` give any part of a tile: more than a cut? */
static bool says_tile(const Schedule *want) { return schedule_says_any(want, KNOBS_NUMBERS | KNOBS_WORDS); }

/* Does it give which stencils share a launch? */
static bool says_launches(const Schedule *want) { return schedule_says_any(want, KNOBS_TEXTS); }

/* Does `want` leave everything open, except that tiles may be said to have one time step, as loops without tiles have,
 * too? */
static bool wants_one_step(const Schedule *want) {
  return !says_tile(want) || (want->T == 1 && schedule_gives_steps(want));
}

/* Is one launch a stencil taken for module `m`, which is cut, on a target without threads? It is if everything is left
 * open, and these loops are expected to take less time than streamed tiles, or than other tiles where nothing can be
 * streamed. */
static bool is_better_apart(PassContext *c, const Module *m, const Schedule *want) {
  const Reduction *by;
  int64_t most = most_levels(m, &by);
  return !c->target->simt && want->family == FAMILY_AUTO && !says_launches(want) && wants_one_step(want) &&
         (loops_beat_streams(c, m, want, most) ||
          (loops_are_better_apart(c->target, m) && stream_is_not_better(c, m, want, most)));
}

/* Resolves `want` for module `m`, which is cut but not repeated, to *first. On a target without threads the resulting
 * family is also set in *want, so that it is not chosen again when the module is repeated. */
static bool resolve_first(PassContext *c, const Module *m, Schedule *want, Schedule *first) {
  bool open = want->family == FAMILY_AUTO && !c->target->simt;
  if (!schedule_resolve(c, m, want, first))
    return false;
  if (open && first->family == FAMILY_OVERLAP) {
    remark_overlapped(c, m);
    want->family = FAMILY_OVERLAP;
  }
  return true;
}

/* Were warp pipelines compared with the kind of plan `s`: with streamed tiles; and with overlapped tiles on grids so
 * small that the counted cost alone decides, since overlapped tiles are compared with streamed tiles there? */
static bool rivals_warps(const Schedule *want, const Schedule *s) {
  return s->family == FAMILY_STREAM ||
         (s->family == FAMILY_OVERLAP &&
          slices_of_size(2, want->size) * (double)want->size[0] * (double)want->size[1] < tuning.many_rounds[1]);
}

/* Makes plan `s` of module `m`, which is cut, a warp pipeline if everything was left open, the plan has streamed tiles
 * or tiles chosen in their place, and pipelines were measured to be faster. */
static bool prefer_warps(PassContext *c, const Module *m, Schedule *s) {
  Schedule want = *c->schedule, first;
  PassContext with = *c;
  if (want.family != FAMILY_AUTO || says_tile(&want) || m->grid.rank != 2 || !rivals_warps(&want, s) ||
      !c->target->bulk_copy || !schedule_prefers_warps(c, m, s, want.size))
    return true;
  want.family = FAMILY_WARPS;
  with.schedule = &want;
  diag_remark(c->diags, no_loc(), "time runs over warps: that is faster than tiles that are streamed");
  return schedule_resolve(&with, m, &want, &first) && plan_tile(&with, plan_tiled_copy(m, first.T), s);
}

/* Does the step of `m` have a stencil, other than that of a probe, that computes few points of the grid? */
static bool has_thin_stencil(const Module *m) {
  const Const *scalars = default_scalars(m);
  ThinPart *parts;
  int32_t n;
  int count;
  const Stencil *st = last_level(m, &n);
  Launch **l = naive_launches(m, n, st, &count);
  bool any = false;
  for (int i = 0; i < count; i++)
    any = any || (!is_probe_stencil(m, l[i]->st) && launch_thin_parts(l[i], scalars, &parts));
  return any;
}

/* The cut of the step of `m` in which each stencil with a name is a launch. */
static const char *apart_text(const Module *m) {
  Str out = {.arena = m->arena};
  int32_t n;
  const Stencil *st = last_level(m, &n);
  for (int i = 0; i < n; i++)
    if (is_said_stencil(m, n, st, i))
      str_addf(&out, "%s%s", out.n ? "," : "", said_name(m->arena, &st[i]));
  return out.s;
}

/* Sets *s to the plan of module `m` in which each stencil is a launch of family `family` by itself. Returns the
 * expected seconds a step; infinite: there is no such plan. */
static double apart_seconds(PassContext *c, const Module *m, FamilyId family, Schedule *s) {
  Schedule want = *c->schedule;
  PassContext with = *c;
  ScheduleTime time;
  Module *trial = module_trial(m);
  want.family = family;
  want.T = family_is_plain(family) ? 0 : 1;
  want.edges = EDGES_APART;
  with.schedule = &want;
  if (want.T && !plan_cut(c, trial, apart_text(m)))
    return INFINITY;
  bool ok = plan_tile(&with, trial, s) && schedule_time_with_edges(c, plan_tiled_copy(trial, 1), s, want.size, &time);
  return ok ? time.seconds : INFINITY;
}

/* The expected time of plan `s` of `m`, which is cut as it says, including tiles at edges: in three dimensions their
 * loops are split, so that they have a kernel of their own. */
static bool edges_time(PassContext *c, const Module *m, const Schedule *s, const int64_t *size, ScheduleTime *out) {
  return (m->grid.rank == GRID_RANK ? schedule_time_parted : schedule_time_with_edges)(c, plan_tiled_copy(m, s->T), s,
                                                                                       size, out);
}

/* Gives plan `s` of `m`, which is cut as it says, a launch for each stencil, if everything was left open, stencils
 * compute few points, and that is expected to be faster: tiles of several stencils compute such stencils on all of the
 * grid, or at least on their halo. Several time steps a tile may be worth that. `whole`: the module without a cut.
 * *expected: the expected seconds a step if a stencil computes few points, else 0. */
static bool prefer_apart(PassContext *c, const Module *whole, const Module *m, Schedule *s, double *expected) {
  const Schedule *want = c->schedule;
  Schedule tiles, naive;
  ScheduleTime t = {.seconds = INFINITY};
  if (want->family != FAMILY_AUTO || says_tile(want) || says_launches(want) || !c->target->simt || !has_thin_stencil(m))
    return true;
  if (s->T > 1 && !edges_time(c, m, s, want->size, &t))
    return true;
  double tiled = apart_seconds(c, whole, FAMILY_OVERLAP, &tiles), each = apart_seconds(c, whole, FAMILY_NAIVE, &naive);
  const Schedule *best = each < tuning.clearly * tiled ? &naive : &tiles;
  *expected = t.seconds;
  double part = schedule_lacks_many(&t) ? 1 / tuning.surely : tuning.clearly;
  if (fmin(tiled, each) >= part * t.seconds || isinf(fmin(tiled, each)))
    return true;
  diag_remark(c->diags, no_loc(), "each stencil is a launch: those of few points then cover these alone");
  *s = *best;
  *expected = fmin(tiled, each);
  return true;
}

/* May threads of several points, without tiles, be taken for `m`? They may if everything was left open, and the size of
 * the grid is known. */
static bool points_may_be_better(const PassContext *c, const Module *m) {
  const Schedule *want = c->schedule;
  return c->target->simt && want->family == FAMILY_AUTO && !says_launches(want) && !says_tile(want) &&
         want->size[0] > 0 && m->grid.rank > 1 && !module_has_stages(m) && !module_scaled(m) && !m->part;
}

/* Replaces plan `s` of a step of `m` that is cut, and expected to take `seconds`, by the plan of the step in one launch
 * if that is expected to be clearly faster: a cut is compared with one launch by a tile that suits no known grid, and
 * several steps pay with tiles that are fitted to one. Returns the expected seconds of *s. */
static double prefer_whole(PassContext *c, const Module *m, double seconds, Schedule *s) {
  Schedule want = *c->schedule, whole;
  PassContext with = *c;
  want.fuse = "all";
  with.schedule = &want;
  with.diags = diags_quiet(c->arena);
  if (s->ngroups <= 1 || !points_may_be_better(c, m) || !plan_make(&with, m, &whole) || whole.ngroups > 1 ||
      whole.T < 2)
    return seconds;
  double all = plan_tile_seconds(c, m, &whole, want.size);
  if (!(all < tuning.clearly * seconds))
    return seconds;
  diag_remark(c->diags, no_loc(), "the step is one launch after all, of %d steps a tile", (int)whole.T);
  *s = whole;
  return all;
}

/* Are other families compared with plan `s` of `m`? They are if the tile's shape was left open, the size of the grid is
 * known, and streamed tiles were chosen by the counted cost alone. If `expected` seconds of a step are known, kernels
 * were examined. The model is fitted to hardware with asynchronous copies. */
static bool may_have_rivals(const PassContext *c, const Module *m, const Schedule *s, double expected) {
  const Schedule *want = c->schedule;
  Schedule shape = *want;
  shape.T = 0;
  shape.edges = 0;
  return c->target->simt && c->target->async_copy && want->family == FAMILY_AUTO && !says_tile(&shape) &&
         want->size[0] > 0 && s->family == FAMILY_STREAM && expected <= 0 && !m->part;
}

/* Replaces plan `s` of `m`, whose time steps a tile are given, by the plan of another family if that is expected to be
 * faster. */
static bool prefer_rival_of_steps(PassContext *c, const Module *m, Schedule *s) {
  Module *cut = module_trial(m);
  if (may_have_rivals(c, m, s, 0) && plan_cut_apply(c, cut, s))
    prefer_rival(c, m, cut, s);
  return true;
}

bool plan_make(PassContext *c, const Module *m, Schedule *s) {
  Module *trial = module_trial(m);
  Schedule want = *c->schedule, first;
  PassContext with = *c;
  with.schedule = &want;
  double expected = 0;
  if (want.edges == EDGES_STEPS)
    return plan_framed(c, m, s);
  if (c->target->simt && schedule_gives_steps(&want)) {
    want.family = plan_family_for_steps(c, m);
    return plan_make(&with, m, s) && prefer_rival_of_steps(c, m, s);
  }
  if (wants_one_step(&want) && cpu_streams_rounds(c, m)) {
    want.family = FAMILY_STREAM;
    return plan_make(&with, m, s);
  }
  if (!schedule_check(c, m))
    return false;
  if (family_is_plain(want.family))
    return plan_tile(c, trial, s);
  if (!plan_cut(c, trial, want.fuse ? want.fuse : "auto"))
    return false;
  suit_grid(c, trial, &want);
  if (is_better_apart(c, trial, &want))
    want = naive_for_grid(c);
  if (family_is_plain(want.family))
    return plan_tile(&with, trial, s);
  bool ok = resolve_first(&with, trial, &want, &first) && plan_tile(&with, plan_tiled_copy(trial, first.T), s) &&
            prefer_warps(c, trial, s) && says_cut(c, trial, s) && prefer_apart(c, m, trial, s, &expected);
  if (ok && expected > 0 && !m->slice_of)
    prefer_framed(c, m, &expected, s);
  if (ok && may_have_rivals(c, m, s, expected))
    expected = prefer_rival(c, m, trial, s);
  if (ok && points_may_be_better(c, m)) {
    expected = expected > 0 ? expected : plan_tile_seconds(c, trial, s, c->schedule->size);
    prefer_points(c, m, prefer_whole(c, m, expected, s), s);
  }
  return ok;
}
