/* streamed-rounds.c: the rounds of repeats in streamed tiles, in a plan whose other launches have overlapped tiles.
 *
 * A step with repeats is cut at their beginnings and ends, and a step with stencils that read other levels of the grid
 * is cut at these stencils. Its launches have overlapped tiles, so a round of relaxation is a launch for each of its
 * stencils, which reads and writes whole fields. But pass rounds writes several rounds one after the other, and
 * streamed tiles can make all of them and read the fields once. So the rounds of a repeat are planned as a program of
 * their own: with overlapped tiles, and with streamed tiles of 1, 2, ... rounds in a launch, which divide the number of
 * written rounds. If the latter are expected to take clearly less time, the plan uses them there; all its other
 * launches stay as they are.
 *
 * The search pays only if launches take long and their blocks fill the cores many times. The stencils must cover the
 * grid, because streamed tiles pass over all of it; stencils of coarser levels do not. If reads beyond an edge lead to
 * other points, as with mirrors, and a stencil has a quotient of f64, tiles take two to three times the expected time
 * (0.67 times the speed was measured): such rounds are streamed only if the options ask for it. */
#include "passes/launch/slices.h"
#include "passes/plan/cost/estimate.h"
#include "passes/plan/plan.h"

#include <math.h>
#include <string.h>

/* The choice for the rounds of a repeat: stencils first to before first + n of the step are made in launches of `by`
 * stencils with tile `tile`. by 0: they stay as they are. */
typedef struct Rounds {
  int first, n, by;
  Schedule tile;
} Rounds;

/* Does stencil `st` of `m` cover the grid except for margins of constant width? */
static bool covers_grid(const Module *m, const Stencil *st) {
  bool covers = st->npieces > 0 && !st->sweep && !stencil_is_scaled(st);
  for (int i = 0; i < st->npieces && covers; i++)
    for (int d = 0; d < m->grid.rank; d++) {
      Affine own = box_extent(m->arena, &st->pieces[i].box, d), all = box_extent(m->arena, &m->grid, d);
      covers = covers && affine_sub(m->arena, all, own).n == 0;
    }
  return covers;
}

/* Is the cost of tiles of stencil `st` of `m` well known: does it read nothing from beyond an edge but a constant, or
 * compute no quotient of f64? */
static bool is_counted_well(const Module *m, const Stencil *st) {
  bool plain = true, quotient = false;
  for (int i = 0; i < st->npieces; i++)
    for (const Op *op = st->pieces[i].body->first; op; op = op->next) {
      quotient |= op->code == OP_DIV && op->results[0]->type == TY_F64 && !op_is_of_scalars(op);
      for (int d = 0; op_reads_field(op) && d < m->grid.rank; d++)
        plain &= m->fields[op->sym].outside[d] == OUTSIDE_NONE || m->fields[op->sym].outside[d] == OUTSIDE_CONST;
    }
  return plain || !quotient;
}

/* The stencils of the consecutive rounds of repeat `r` of `m`: from out->first on, out->n of them, 0: there are none,
 * or some that streamed tiles do not suit. */
static void find_rounds(const Module *m, const Repeat *r, Rounds *out) {
  bool cover = true;
  *out = (Rounds){0};
  for (int i = m->nstencils - 1; i >= 0; i--)
    if (r->tile > 1 && m->stencils[i].stage == r->first) {
      out->first = i;
      out->n++;
      cover = cover && covers_grid(m, &m->stencils[i]) && is_counted_well(m, &m->stencils[i]);
    }
  out->n = cover ? out->n : 0;
}

/* A program of stencils `first` to before first + n of `m` alone. */
static Module *program_of(const Module *m, int first, int n) {
  Module *own = module_trial(m);
  own->stencils += first;
  own->nstencils = n;
  own->nrepeats = own->nupdates = own->nreductions = own->nprobes = 0;
  for (int i = 0; i < n; i++) {
    own->stencils[i].stage = 0;
    own->stencils[i].group = 0;
  }
  return own;
}

/* Sets *s to the plan of program `m` in tiles of family `id`, cut as `fuse` says, those at edges in a kernel of their
 * own. Returns the expected seconds; infinite: there is none, or registers would be spilled. */
static double family_takes(const PassContext *c, const Module *m, FamilyId id, const char *fuse, Schedule *s) {
  Schedule want = {.family = id, .T = 1, .fuse = fuse};
  PassContext with = *c;
  ModelCache cache = {0};
  memcpy(want.size, c->schedule->size, sizeof want.size);
  with.schedule = &want;
  with.cache = &cache;
  with.diags = diags_quiet(c->arena);
  ScheduleTime time;
  Module *cut = module_trial(m);
  bool made = plan_make(&with, m, s) && s->family == id && plan_cut_apply(&with, cut, s) &&
              schedule_time_parted(&with, plan_tiled_copy(cut, s->T), s, want.size, &time);
  return made && time.spilled == 0 ? time.seconds : INFINITY;
}

/* Makes the choice for the rounds at `r` of `m`, `tile` of which are unrolled. */
static void choose_rounds(const PassContext *c, const Module *m, int tile, Rounds *r) {
  int round = r->n / tile;
  Schedule s;
  double apart = family_takes(c, program_of(m, r->first, round), FAMILY_OVERLAP, "auto", &s), least = INFINITY;
  for (int k = 1; k <= tile; k++) {
    if (tile % k || (k == 1 && round == 1))
      continue;
    double seconds = family_takes(c, program_of(m, r->first, k * round), FAMILY_STREAM, "all", &s) / k;
    if (seconds < least && seconds < tuning.clearly * apart) {
      least = seconds;
      r->by = k * round;
      r->tile = s;
    }
  }
  if (r->by)
    diag_remark(c->diags, m->stencils[r->first].loc,
                "rounds are streamed, %d stencils a launch: %.3g us a round are expected, in overlapped tiles %.3g",
                r->by, 1e6 * least, 1e6 * apart);
}

/* Cuts `m`, which is cut as plan `s` says, so that the stencils that belong to a choice in `of` have its launches.
 * Returns the schedules of all launches, *count of them: the tiles of new launches, and otherwise those of `s`. */
static Schedule *regroup(Module *m, const Schedule *s, Rounds *const *of, int *count) {
  Schedule *groups = ARENA_ARRAY(m->arena, Schedule, m->nstencils + 1);
  int32_t old = -1, last = -1;
  *count = 0;
  for (int i = 0; i < m->nstencils; i++) {
    Stencil *st = &m->stencils[i];
    bool begins = i == 0 || st->group != last;
    old += begins;
    last = st->group;
    if (of[i] ? (i - of[i]->first) % of[i]->by == 0 : begins)
      groups[(*count)++] = of[i] ? of[i]->tile : s->groups[old];
    st->group = *count - 1;
  }
  return groups;
}

/* Are alternatives to plan `s` of `m` compared? They are if the request `asked` left everything open, and the grid is
 * known, large, and has enough dimensions. */
static bool may_stream(const PassContext *c, const Module *m, const Schedule *asked, const Schedule *s) {
  const int64_t *size = c->schedule->size;
  double points = slices_of_size(m->grid.rank, size);
  for (int d = 0; d < m->grid.rank && d < GRID_RANK; d++)
    points *= (double)size[d];
  return c->target->simt && c->target->async_copy && asked->family <= FAMILY_AUTO && size[0] > 0 && m->grid.rank > 1 &&
         m->grid.rank <= GRID_RANK && !m->part && points >= tuning.many_rounds[m->grid.rank - 1] &&
         !schedule_says_any(asked, KNOBS_NUMBERS | KNOBS_WORDS | KNOBS_TEXTS) && s->family == FAMILY_OVERLAP &&
         s->ngroups > 1;
}

void prefer_streamed_rounds(PassContext *c, const Module *m, const Schedule *asked, Schedule *s) {
  Module *cut = module_trial(m);
  Rounds **of = ARENA_ARRAY(m->arena, Rounds *, m->nstencils + 1);
  const Rounds *any = NULL;
  if (!may_stream(c, m, asked, s) || !plan_cut_apply(c, cut, s))
    return;
  for (int r = 0; r < m->nrepeats; r++) {
    Rounds *own = ARENA_NEW(m->arena, Rounds);
    find_rounds(cut, &m->repeats[r], own);
    if (own->n)
      choose_rounds(c, m, m->repeats[r].tile, own);
    for (int i = 0; own->by && i < own->n; i++)
      of[own->first + i] = own;
    any = own->by ? own : any;
  }
  if (!any)
    return;
  Schedule want = any->tile, out;
  PassContext with = *c;
  want.groups = regroup(cut, s, of, &want.ngroups);
  want.fuse = schedule_cut(m->arena, cut, 1);
  want.rest = NULL;
  want.told = c->schedule->told;
  want.every = c->schedule->every;
  memcpy(want.size, c->schedule->size, sizeof want.size);
  with.schedule = &want;
  if (plan_make(&with, m, &out))
    *s = out;
}
