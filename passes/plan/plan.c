/* plan.c: pass plan: decides once how the program is to be run, and writes the plan into the module. It compares
 * candidates of tiles and of cuts on copies of the module; the passes after it follow the plan and decide nothing
 * themselves.
 *
 * *The plan's text*. The knobs are those of the options of the same names (docs/command.md). `cut` is `-fuse`, with the
 * names of all stencils, also of those that fuse lets a user leave out, so it can describe any possible cut; `plan`
 * checks that it does. `rest` is the tile of single steps that remain after the last time tile; its block is that of
 * inits, too. With `edges=steps` all families have it: its block is that of inits and of the steps that remain, and the
 * first number of its `elems` the points of a thread in the frame's kernels. If the step is cut into several launches,
 * each has a line `launch`.
 *
 * Lines `map` after these hold the rest of the mapping (docs/architecture.md): numbers that have no options, of the
 * whole plan and its tile, of the kernel for fewer steps (`map between`), and of each launch (`map launch`).
 * `ir/mapping.def` has their meanings. For a plan that leaves all of them out, as plans from before there were such
 * lines do, stc chooses them; a plan with any of them has to give all knobs, too.
 *
 * *Open and wrong knobs*. A plan in a file may leave any knob out, which `plan` then chooses, and may say `auto` for
 * the family. A mistake in a plan is an error with line and cause; a plan that the program or the target does not allow
 * is an error that names the knob and the reason. If some knobs are given, here or as options, and the usual choice of
 * the others does not fit, `plan` examines all possible values of these (`complete.c`), and takes those with which the
 * tile computes the fewest points for each point that it stores. A plan in a module must be complete. If a plan stands
 * in a `.sir` file and `plan` does not run, the lowering checks it. A pass that is given an option of its own
 * (`fuse(cuts=)`, `time-tile(t=)` with another number) ends the plan: the lowering then decides for itself, as in a
 * pipeline without `plan`. `plan` takes programs that consist of scalars and rotate their levels themselves:
 * `scalarize` and `history` run before it.
 *
 * *The order of decisions*. Cuts are compared first (see fuse). Then, if the size of the grid is known, candidates for
 * it are listed (`candidates.c`), each gets its expected time (`cost.c`), and one is taken (`choice.c`). Otherwise time
 * steps are chosen for the cut step, on the module as it is, then the tile on a copy that is cut and repeated. Answers
 * of the cost model are kept, so that no tile is lowered twice. A tile that is lowered to be examined has only the
 * kernels that make T steps, and of these only the code away from edges, where edges have kernels of their own.
 * `-stats` says how many were lowered: each takes some milliseconds, most of the time of all passes, and no memory. A
 * tile that cannot be lowered is no error: it is not taken, and `stc explain --why` says the reason.
 *
 * If only time steps are given, on a target with threads, each family makes its own choice for that number, and the
 * one that is expected to be fastest is taken (`given-steps.c`); family warps only on grids that are large enough
 * for it. */
#include "passes/launch/slices.h"
#include "passes/plan/plan.h"
#include "passes/registry.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the pass */

/* Remarks why the plan is `plan`, with as many candidates as option "why" of the pass asks for. */
static void remark_why(PassContext *c, const Module *m, const Schedule *plan, int most) {
  Str out = {.arena = c->arena};
  if (!diags_remarks_enabled(c->diags))
    return;
  plan_why(c, m, c->schedule, plan, most, &out);
  for (char *line = out.s, *end; line && *line; line = end + 1) {
    end = strchr(line, '\n');
    *end = '\0';
    diag_remark(c->diags, no_loc(), "%s", line);
  }
}

/* Completes the mapping in plan `s` of `m`, which was asked for as `want`. */
static bool map_plan(PassContext *c, const Module *m, const Schedule *want, Schedule *s) {
  Module *trial = module_trial(m);
  bool tiled = family_row(s->family)->tiled && s->edges != EDGES_STEPS;
  return (!tiled || plan_cut_apply(c, trial, s)) && plan_map(c, tiled ? plan_tiled_copy(trial, s->T) : trial, want, s);
}

/* Adapts `want`, the request, to a program with stencil `st`, which reads or writes whole columns or a whole level
 * (NULL: it has none): that stencil is a launch of its own, so a launch makes one time step, and tiles are not
 * streamed, except where tiles of threads are asked for, in the launches of other stencils. Returns false after
 * reporting that the request does not allow this;
 * is_launch, one_step: the reasons for messages. */
static bool suit_apart(PassContext *c, const Stencil *st, const char *is_launch, const char *one_step, Schedule *want) {
  if (!st)
    return true;
  bool others = c->target->simt && want->family == FAMILY_STREAM;
  bool streamed = want->family > FAMILY_AUTO && family_row(want->family)->streamed && !others;
  if (streamed)
    diag_error(c->diags, st->loc, "-schedule=%s: '%s' %s; leave -schedule out, or use -schedule=overlap",
               family_row(want->family)->name, st->name, is_launch);
  else if (want->T > 1)
    diag_error(c->diags, st->loc, "-T=%d: '%s' %s; leave -T out", want->T, st->name, one_step);
  if (want->family <= FAMILY_AUTO)
    want->family = FAMILY_OVERLAP;
  return !streamed && want->T <= 1;
}

/* The same for the sweeps of `m`, and for stencils that read another level of the grid. */
static bool suit_launches(PassContext *c, const Module *m, Schedule *want) {
  return suit_apart(c, module_sweep(m),
                    "is a sweep, which is a launch of its own between those of other stencils, and their tiles are not "
                    "streamed then",
                    "is a sweep, whose columns take all of a time step, so that a launch makes no more than one",
                    want) &&
         suit_apart(c, module_scaled(m),
                    "reads another level of the grid and is a launch of its own between those of other stencils, whose "
                    "tiles are not streamed then",
                    "reads all of another level of the grid, so that a launch makes one time step", want);
}

/* Can the target start a block for each coordinate of dimension 0 of `m`, as far as the params' defaults say? For four
 * dimensions there is no other way. */
static bool can_start(const TargetInfo *t, const Module *m) {
  const Const *scalars = default_scalars(m);
  int64_t most = m->grid.rank > GRID_RANK ? 0 : t->max_grid[m->grid.rank - 1];
  return !t->simt || most <= 0 || !scalars || affine_eval(box_extent(m->arena, &m->grid, 0), scalars, NULL) <= most;
}

Module *pass_plan(PassContext *c, Module *m, int n, const PassOption *o) {
  static const Schedule open = {0};
  ModelCache cache = {0};
  PassContext with = *c;
  bool ok = true;
  int why = (int)pass_option_int(c, "plan", n, o, "why", 0, INT32_MAX, 0, &ok);
  Schedule want = c->schedule ? *c->schedule : open, *plan = ARENA_NEW(m->arena, Schedule);
  if (m->time_tile > 1) {
    diag_error(c->diags, no_loc(), "pass 'plan': the module has %d time levels already; run it before time-tile",
               m->time_tile);
    return NULL;
  }
  if (!ok || !lowering_ready(c, m, "plan"))
    return NULL;
  if (m->plan) {
    Schedule given = *m->plan;
    memcpy(given.size, want.size, sizeof given.size);
    given.every = want.every;
    want = given;
  }
  const Schedule asked = want;
  if (!suit_launches(c, m, &want))
    return NULL;
  want.family = schedule_family(c->target, &want);
  if (!slices_are_there(c, m, &want))
    return NULL;
  Module *of = m;
  if (plan_is_sliced(m, &want) && can_start(c->target, m)) {
    of = module_slice(m->arena, m);
    want = plan_of_slice(&want);
  }
  keep_defaults(of);
  keep_inside(of);
  with.schedule = &want;
  with.cache = &cache;
  const Module *as = plan_where_true(&with, of), *by = c->target->simt ? of : as;
  if (!plan_make(&with, by, plan))
    return NULL;
  if (by != as)
    prefer_true(&with, of, as, plan);
  if (of == m)
    prefer_live(&with, of, as, plan);
  if (of == m && as == m)
    prefer_streamed_rounds(&with, m, &asked, plan);
  if (!map_plan(&with, by, &want, plan))
    return NULL;
  pass_stat(c, cache.n, "plan", "tiles lowered to be looked at");
  if (why)
    remark_why(&with, of, plan, why);
  if (of != m)
    *plan = plan_of_slices(m->arena, of->grid.rank, plan);
  memset(plan->size, 0, sizeof plan->size);
  plan->every = 0;
  m->plan = plan;
  m->plan_checked = true;
  if (c->used)
    *c->used = *plan;
  return m;
}

/* ---- called by other passes */

/* The family that pass `pass` of the table is to lower if the module has no plan: the family asked for if the pass
 * lowers it, else `family`. */
static FamilyId own_family(const PassContext *c, const char *pass, FamilyId family) {
  const char *asked = c->schedule ? family_row(c->schedule->family)->lower[c->target->simt] : NULL;
  return asked && strcmp(asked, pass) == 0 ? c->schedule->family : family;
}

bool plan_obeyed(PassContext *c, const Module *m, const char *pass, FamilyId family, Schedule *out) {
  static const Schedule open = {0};
  Schedule want = m->plan ? *m->plan : c->schedule ? *c->schedule : open;
  PassContext with = *c;
  const char *lower = m->plan ? family_row(want.family)->lower[c->target->simt] : pass;
  if (strcmp(lower, pass) != 0) {
    diag_error(c->diags, no_loc(), "pass '%s': the module's plan is %s, which pass '%s' lowers", pass,
               family_name(want.family), lower);
    return false;
  }
  if (m->plan_checked) {
    *out = *m->plan;
    return plan_map(c, m, out, out);
  }
  want.family = m->plan ? want.family : own_family(c, pass, family);
  with.schedule = &want;
  bool ok = plan_tile(&with, m, out) && plan_map(c, m, &want, out);
  if (ok && c->used)
    *c->used = *out;
  return ok;
}
