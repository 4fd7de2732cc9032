/* lower-tiles.c: the part that all lowerings of tiles share: their checks at the start, and the module that they build:
 * launches of several steps, of the single steps that remain or of the groups of a step, and the inits. */
#include "passes/launch/slices.h"
#include "passes/lower/lower.h"
#include "passes/plan/plan.h"

#include <string.h>

bool lowering_starts(PassContext *c, Module **of, const char *pass, FamilyId family, Schedule *s) {
  const Family *row = family_row(family);
  bool threads = strcmp(pass, row->lower[true]) == 0;
  if (threads != c->target->simt) {
    diag_error(c->diags, no_loc(), "pass '%s' makes kernels of %s and target %s %s; use %s", pass,
               threads ? "threads" : "one thread", c->target->name, threads ? "has none" : "runs blocks of threads",
               row->lower[!threads]);
    return false;
  }
  if (!lowering_ready(c, *of, pass))
    return false;
  if ((*of)->plan && !slices_are_there(c, *of, (*of)->plan))
    return false;
  if ((*of)->plan && plan_is_sliced(*of, (*of)->plan))
    *of = module_slice(c->arena, *of);
  const Module *m = *of;
  return plan_obeyed(c, m, pass, family, s) && (!(threads ? row->tiled : row->streamed) || extents_ready(c, m, pass));
}

int kernel_with_spare(Lowering *lo, KernelFn fn, const Launch *l, const Schedule *s, const char *name, int steps) {
  int index = fn(lo, l, s, true, name, steps);
  if (index >= 0 && lo->out->kernels[index].nmultiples && !lo->c->sketch)
    kernel_instead(lo, index, fn(lo, l, s, false, arena_printf(lo->out->arena, "%s_any", name), steps));
  return index;
}

/* ---- sequences */

/* If launch `l`, one of several of a step, computes few points, adds kernels of family naive that cover only these
 * points. False if it computes many. */
static bool few_points(Lowering *lo, HostSeq *seq, const Launch *l, const Const *scalars, const char *name, int steps,
                       const Together *group) {
  int32_t block[MAX_RANK];
  for (int d = 0; d < GRID_RANK; d++)
    block[d] = (int32_t)tuning.tile_block[l->m->grid.rank - 1][d];
  return naive_parts(lo, seq, l, scalars, name, block, steps, group);
}

bool tiles_seq(Lowering *lo, TileFn fn, int n, Launch *const *l, const Schedule *s, const Schedule *rest) {
  HostSeq *seq = host_seq(lo, n ? l[0]->steps : 1);
  const Const *scalars = n > 1 && lo->c->target->simt ? default_scalars(lo->m) : NULL;
  Together group = {0};
  for (int i = 0; i < n; i++) {
    const Schedule *tile = l[i]->thin && family_row(s[i].family)->streamed ? rest : &s[i];
    const char *name = group_name(lo, l[i], family_name(tile->family), n > 1);
    int steps = i == n - 1 ? l[i]->steps : 0;
    bool parts = n > 1 && lo->c->target->simt && !family_row(s[i].family)->streamed;
    together_add(&group, seq, l, i);
    if (l[i]->st->sweep) {
      sweep_launch(lo, seq, l[i], tile->block, steps);
      group.first = group.last = i;
    } else if (!parts || !few_points(lo, seq, l[i], scalars, name, steps, &group)) {
      bool joined = !family_row(tile->family)->streamed && lower_joined(lo, seq, l[i], name, steps);
      if (!joined && !fn(lo, seq, l[i], tile, name, steps))
        return false;
      group.first = group.last = i;
    }
    group.ops = seq->nops;
    host_swaps(lo, seq, l[i]);
  }
  return true;
}

/* ---- modules */

/* The launches of several steps, longest first, in `out`, or, in streamed tiles of threads, that of a whole step.
 * Returns their number. Streamed launches after the first store to other buffers (launch_store_apart): a launch with
 * fewer levels may have no halo to compute, so that it would write a field in place, but it still loads a halo, in
 * which another tile may be writing. In warp pipelines all launches store all fields to other buffers, because their
 * blocks overlap whatever they load. */
static int long_launches(const PassContext *c, const Module *m, const Schedule *s, int groups,
                         Launch *out[MOST_TILES]) {
  bool streamed = family_row(s->family)->streamed;
  if (streamed && c->target->simt && groups != 1)
    return 0;
  int n = tile_launches(c->target, m, s, out);
  if (streamed && c->target->simt && n == 0)
    out[n++] = launch_new(m, m->nstencils, m->stencils, m->stencils, m->stencils + m->nstencils);
  for (int i = s->family != FAMILY_WARPS; i < n && streamed; i++)
    launch_store_apart(out[i], s->family == FAMILY_WARPS);
  return n;
}

/* The schedule `s` with as few elements a thread as the halo of launch `l` allows, for the steps that remain: the
 * compile time of their kernel matters more than its speed. */
static Schedule fewest_elements(const Launch *l, Schedule s) {
  for (int d = 0; d < l->m->grid.rank; d++) {
    int32_t most = s.elems[d], least = (int32_t)((l->hull.lo[d] + l->hull.hi[d]) / s.block[d] + 1);
    for (s.elems[d] = least; s.elems[d] < most && tile_dim(BLOCKED_TILE(l), &s, d).stored < 1;)
      s.elems[d]++;
    s.elems[d] = s.elems[d] < most ? s.elems[d] : most;
  }
  return s;
}

Schedule long_schedule(const Lowering *lo, const Launch *l, const Schedule *s, int i) {
  if (!lo->c->target->simt)
    return *s;
  if (family_row(s->family)->tiled && !family_row(s->family)->streamed)
    return i ? fewest_elements(l, *s) : *s;
  return schedule_between(s, l->n ? l->steps : s->T);
}

/* The schedules of the launches of a step, the first of which is `step`, after `tiles` launches of several steps. */
static const Schedule *step_schedules(const Lowering *lo, const Launch *step, const Schedule *s, int n, int tiles) {
  bool streamed = family_row(s->family)->streamed;
  if (n > 1 && s->groups)
    return s->groups;
  if (streamed)
    return tiles || lo->c->target->simt ? s->rest : s;
  Schedule *rest = ARENA_NEW(lo->c->arena, Schedule);
  *rest = tiles ? fewest_elements(step, *s) : *s;
  rest->tiles = tiles ? TILES_OPEN : s->tiles;
  return rest;
}

/* Do steps remain after `tiles` launches of `m`, each of several steps or of one? */
static bool any_remain(const PassContext *c, const Module *m, const Schedule *s, int tiles) {
  bool whole = family_row(s->family)->streamed && c->target->simt;
  return !tiles || (!c->sketch && (m->time_tile > 1 || !whole));
}

Module *lower_tiles(PassContext *c, Module *m, const Schedule *s, const TileFamily *f) {
  int groups, n, tiles;
  const Stencil *st = last_level(m, &n);
  Launch **step = group_launches(m, n, st, &groups), *tile[MOST_TILES];
  tiles = long_launches(c, m, s, groups, tile);
  for (int i = 0; i < groups && !c->target->simt; i++)
    launch_copy_back(step[i]);
  Lowering *lo = lowering_new(c, m, groups, step, tiles, tile);
  const Schedule *rest = family_row(s->family)->streamed ? s->rest : s;
  bool made = true;
  if (!c->sketch)
    f->inits(lo, rest->block);
  for (int i = 0; i < (c->sketch && tiles ? 1 : tiles) && made; i++) {
    Schedule own = long_schedule(lo, tile[i], s, i);
    made = tiles_seq(lo, f->launch, 1, &tile[i], &own, rest);
  }
  if (tiles && f->place)
    f->place(lo, tile[0], s);
  if (any_remain(c, m, s, tiles) && made)
    made = tiles_seq(lo, f->launch, groups, step, step_schedules(lo, groups ? step[0] : NULL, s, groups, tiles), rest);
  return made ? lowering_finish(lo, s) : NULL;
}
