/* cut.c: decides which stencils of a step share a launch: cuts the step's list of stencils into consecutive groups
 * (Stencil.group, `group` in the text form); the lowerings make a launch of each.
 *
 *   gauss  st | dt | pde  p     -fuse=gauss+st,dt,pde+p     three launches
 *
 * Temp fields that only one group uses live in its tiles and never reach global memory; those that a later group needs
 * are stored and loaded again, or recomputed. Between one launch for all stencils and one for each there is often a
 * best cut (S. Tabik, L. F. Romero, E. L. Zapata on multi-pass transformations of complex 3-D stencils). More than one
 * group means T = 1: time tiles need the whole step in one launch, which takes part as another choice.
 *
 * *Options*. `-fuse=all` and `none` are the two ends, `-fuse=gauss+st,dt,pde` gives a cut (in `-passes=` a `/` stands
 * for the comma), and `auto`, the default, chooses. At the step's end there may be stencils that the program has no
 * name for: those that rotate the time levels of fields that no stencil writes, each called `history`, and those of
 * probes, called like the probe. A cut names all of them, as in `-fuse=a,b+history,p`, or none: then they share the
 * launch of the stencil before them, but the probes are a launch of their own if they cannot. Time levels of other
 * fields rotate beside the stencil that writes the field, and have no place in a cut. In a name from a `.sir` file,
 * blanks, control characters, quotes, `\`, `+`, `,`, `/` and `%` are written `%XX`, in hexadecimal. A requested cut
 * that is not possible is an error that names the group and the reason, one of those in passes/launch/launch.c.
 *
 * *Algorithm*. `auto` finds the cut whose launches take the least time together by dynamic programming over the places
 * to cut, with an estimate of each group's time (`fuse-cost.c`). It takes that cut in place of one launch for the step
 * only if one launch is illegal, or is expected to take more than half as long again, also if it is streamed, by the
 * cost model (docs/performance.md): the figures are estimates. If `-T` greater than 1 is asked for there is no cut. The
 * figures stand as comments above the dump of `-print-after=plan`, and in `-stats`.
 *
 * Measured: docs/lab/programs.md#stages-in-several-kernels-2026-11-21. */
#include "passes/launch/slices.h"
#include "passes/plan/cost/fuse.h"
#include "passes/plan/plan.h"

#include <string.h>

/* The cost of a group of stencils, and the reason why it cannot be one (NULL: it is legal). */
typedef struct Group {
  LaunchCost cost;
  const char *why;
} Group;

/* The search for a cut of `n` stencils at st. groups[i * longest + k - 1] is the group of k stencils from i on, whole
 * that of all of them. joins[i]: see find_joins. */
typedef struct Fuse {
  PassContext *c;
  Module *m;
  int n;
  Stencil *st;
  double points;
  int longest;
  Group *groups, whole;
  bool *joins;
} Fuse;

/* The group from `i` to before `j`; a group that was not examined has the cost 0. */
static const Group *group_of(const Fuse *f, int i, int j) {
  static const Group unknown = {.why = "it is not looked at"};
  if (i == 0 && j == f->n)
    return &f->whole;
  return j - i <= f->longest ? &f->groups[i * f->longest + j - i - 1] : &unknown;
}

/* Does stencil `i`, which rotates time levels, come after a stencil that the step has a name for, and before a repeat?
 * It cannot share the launch of that stencil, and a cut in words does not put it together with the one before. */
static bool moves_alone(const Fuse *f, int i) {
  int next = i;
  while (next < f->n && is_history_stencil(f->m, &f->st[next]))
    next++;
  return i > 0 && next > i && next < f->n && !is_history_stencil(f->m, &f->st[i - 1]) &&
         f->st[next].stage != f->st[i].stage;
}

/* Does the stencil before stencil `i` rotate levels, and cannot share its launch, which a repeat runs? Or is `i` the
 * stencil that rotates them, and is alone? */
static bool moves_apart(const Fuse *f, int i) {
  return (i > 0 && is_history_stencil(f->m, &f->st[i - 1]) && f->st[i - 1].stage != f->st[i].stage) ||
         moves_alone(f, i);
}

/* Do stencil `i` and the one before it belong to rounds that the request wants to share a launch? */
static bool share_rounds(const Fuse *f, int i) {
  bool share = false;
  for (int r = 0; r < f->m->nrepeats && i > 0 && i < f->n; r++) {
    const Repeat *x = &f->m->repeats[r];
    share = share || (x->tile > 1 && f->st[i].stage == x->first && f->st[i - 1].stage == x->first &&
                      schedule_rounds(f->c->schedule, x->name));
  }
  return share;
}

/* May the step be cut before stencil `i`? */
static bool may_cut(const Fuse *f, int i) {
  if (share_rounds(f, i))
    return false;
  return i == 0 || i == f->n || !is_history_stencil(f->m, &f->st[i - 1]) || moves_apart(f, i);
}

/* The number of the first of the stencils at the step's end that the program has no name for: they rotate time levels
 * that no stencil writes, or belong to probes. n: there are none. */
static int tail_of(const Fuse *f) {
  int tail = f->n;
  while (tail > 0 && (is_history_stencil(f->m, &f->st[tail - 1]) || is_probe_stencil(f->m, &f->st[tail - 1])))
    tail--;
  return tail;
}

/* The next stencil from number `i` on that a cut in words names. */
static int next_said(const Fuse *f, int i) {
  while (i < f->n && !is_said_stencil(f->m, f->n, f->st, i))
    i++;
  return i;
}

/* The names of the step's stencils, ", " between them. */
static const char *step_text(const Fuse *f) {
  Str s = {.arena = f->c->arena};
  for (int i = next_said(f, 0); i < f->n; i = next_said(f, i + 1))
    str_addf(&s, "%s%s", s.n ? ", " : "", said_name(f->c->arena, &f->st[i]));
  return s.s ? s.s : "none";
}

/* ---- the cost of cuts */

/* The cost of the group from `i` to before `j`. */
static Group measure_group(const Fuse *f, int i, int j) {
  Schedule s;
  Group g = {0};
  Arena *a = f->m->arena;
  ArenaMark mark = arena_mark(a);
  Launch *l = part_launch(f->m, f->n, f->st, i, j);
  const char *why = l->illegal ? l->illegal : schedule_launch(f->c, f->c->schedule, l, 1, j - i < f->n, &s);
  if (!why || j == i + 1)
    g.cost = launch_cost(f->c->target, l, &s, 1, f->points);
  g.why = arena_release_text(a, mark, why);
  return g;
}

/* If the whole step must be streamed, sets the reason why its tile cannot be: then that reason counts. */
static void measure_streamed(Fuse *f) {
  Schedule s;
  const Schedule *want = f->c->schedule;
  if (f->n > 0 && family_row(want->family)->streamed)
    f->whole.why = schedule_streamed(f->c, want, part_launch(f->m, f->n, f->st, 0, f->n), 1, &s);
}

/* Does stencil `st` by itself, in all slices, cover at most `points` points, with the scalars `g`? See is_small of
 * small-launches.c. And is that less than a quarter of the grid, as for coarser levels? On small grids a tile of
 * several stencils, or rounds, is as fast. */
static bool covers_few(const Fuse *f, const Stencil *st, const GridScalars *g, int64_t points) {
  const Box *box = st->npieces == 1 ? &st->pieces[0].box : &f->m->grid;
  double slices = f->m->slice_of ? slices_of_size(f->m->grid.rank, f->c->schedule->size) : 1;
  double all = slices, most = slices, whole = slices;
  for (int d = 0; d < box->rank; d++) {
    int64_t largest;
    all *= (double)grid_extent(g, box_extent(f->c->arena, box, d), &largest);
    most *= (double)largest;
    whole *= (double)grid_extent(g, box_extent(f->c->arena, &f->m->grid, d), &largest);
  }
  return all <= (double)points && most <= 2 * (double)points && 4 * all < whole && !st->sweep;
}

/* Does anything read the rounds of repeat `r`, or change a scalar in them: a reduction, or an update, also one of a
 * repeat within it? */
static bool is_looked_at(const Module *m, const Repeat *r) {
  bool any = false;
  for (int i = 0; i < m->nreductions; i++) {
    const Repeat *of = m->reductions[i].loop ? &m->repeats[m->reductions[i].loop - 1] : NULL;
    any = any || (of && of->first >= r->first && of->last <= r->last);
  }
  for (int i = 0; i < m->nupdates; i++)
    any = any || (m->updates[i].stage >= r->first && m->updates[i].stage <= r->last);
  return any;
}

/* Is there nothing but the end of a launch between stencils of stages `before` and `behind`: no update, no round that
 * is_looked_at names, no begin or end of such rounds? */
static bool meets_nothing(const Fuse *f, int32_t before, int32_t behind) {
  const Module *m = f->m;
  bool nothing = true;
  for (int i = 0; i < m->nupdates; i++)
    nothing = nothing && !(m->updates[i].stage > before && m->updates[i].stage <= behind);
  for (int i = 0; i < m->nrepeats; i++) {
    const Repeat *r = &m->repeats[i];
    bool borders = (before < r->first && behind >= r->first) || (before <= r->last && behind > r->last) ||
                   (r->tile && before >= r->first && before < r->last && behind == r->last);
    nothing = nothing && !(borders && is_looked_at(m, r));
  }
  return nothing;
}

/* Marks stencils of few points in f->joins whose launches pass small-launches joins with those of stencils that share
 * no tile with them, and the stencils beside these: a tile of several gains nothing there, unless one was asked for. */
static void find_joins(Fuse *f) {
  GridScalars g;
  int64_t points = f->c->schedule->repeats ? 0 : plan_joined(f->c, f->m, f->c->schedule, &g);
  bool *few = ARENA_ARRAY(f->c->arena, bool, f->n + 1);
  f->joins = ARENA_ARRAY(f->c->arena, bool, f->n + 1);
  for (int i = 0; i < f->n && points > 0; i++)
    few[i] = covers_few(f, &f->st[i], &g, points);
  for (int i = 0; i + 1 < f->n; i++)
    if (few[i] && few[i + 1] && f->st[i].stage != f->st[i + 1].stage &&
        meets_nothing(f, f->st[i].stage, f->st[i + 1].stage))
      f->joins[i] = f->joins[i + 1] = true;
  for (int i = 1; i < f->n; i++)
    f->joins[i] = f->joins[i] || (few[i] && f->joins[i - 1] && f->st[i].stage == f->st[i - 1].stage);
  for (int i = f->n - 2; i >= 0; i--)
    f->joins[i] = f->joins[i] || (few[i] && f->joins[i + 1] && f->st[i].stage == f->st[i + 1].stage);
}

/* Are stencils from `i` to before `j` better in launches of their own, since these are joined with others? A stencil
 * that has to share the launch of the one before is never alone. */
static bool are_joined(const Fuse *f, int i, int j) {
  bool joined = false, several = false;
  for (int k = i; k < j; k++) {
    joined = joined || f->joins[k];
    several = several || (k > i && may_cut(f, k));
  }
  return joined && several;
}

/* The greatest number of stencils of a group that is examined, other than the whole step. In a step with more stencils
 * than LONG_STEP no more groups are examined than in one with LONG_STEP, to save time: they are shorter. */
enum { LONG_GROUP = 24, LONG_STEP = 256 };

/* Finds the costs of all groups. */
static void measure_groups(Fuse *f) {
  int groups = LONG_GROUP * LONG_STEP;
  f->longest = f->n <= LONG_STEP ? LONG_GROUP : (groups + f->n - 1) / f->n;
  f->longest = f->longest < f->n && !f->c->schedule->repeats ? f->longest : f->n;
  f->groups = ARENA_ARRAY(f->c->arena, Group, (size_t)f->n * (size_t)f->longest);
  find_joins(f);
  for (int i = 0; i < f->n; i++)
    for (int k = 1; k <= f->longest && i + k <= f->n; k++) {
      bool asked = may_cut(f, i) && may_cut(f, i + k) && !are_joined(f, i, i + k);
      f->groups[i * f->longest + k - 1] = asked ? measure_group(f, i, i + k) : (Group){.why = "it is not looked at"};
    }
  if (f->n > 0)
    f->whole = measure_group(f, 0, f->n);
  measure_streamed(f);
}

/* Cuts where the sum of the groups' times is least; returns the sum. Single stencils are always legal (a user's tile
 * that is not legal is reported later). */
static double best_cut(const Fuse *f, bool *before) {
  double *best = ARENA_ARRAY(f->c->arena, double, f->n + 1);
  int *from = ARENA_ARRAY(f->c->arena, int, f->n + 1);
  for (int j = 1; j <= f->n; j++) {
    best[j] = -1;
    int first = j == f->n || j < f->longest ? 0 : j - f->longest;
    for (int i = first; i < j; i++) {
      const Group *g = group_of(f, i, j);
      bool legal = (!g->why || j == i + 1) && may_cut(f, i) && may_cut(f, j) && best[i] >= 0;
      double sum = legal ? best[i] + g->cost.ps : 0;
      if (legal && (best[j] < 0 || sum < best[j])) {
        best[j] = sum;
        from[j] = i;
      }
    }
  }
  for (int j = f->n; j > 0 && best[f->n] >= 0; j = from[j])
    before[from[j]] = true;
  return best[f->n];
}

/* Sets *out to the cost of the whole step in one launch, with the time tile that its schedule would have (or one step
 * if `steps` is 1). */
static bool whole_cost(const Fuse *f, LaunchCost *out) {
  Schedule s;
  if (f->whole.why)
    return false;
  int T = schedule_levels(f->c, f->m);
  const Stencil *st = repeat_levels(f->m, f->n, f->st, T, true);
  Launch *l = launch_new(f->m, f->n * T, st, st, st + f->n * T);
  *out = f->whole.cost;
  if (T > 1 && !l->illegal && !schedule_launch(f->c, f->c->schedule, l, T, false, &s))
    *out = launch_cost(f->c->target, l, &s, T, f->points);
  return true;
}

/* Adds a line to the comments of the dump, and to the statistics. */
static void note(const Fuse *f, const char *line) {
  if (f->c->notes)
    str_addf(f->c->notes, "// fuse: %s\n", line);
  if (f->c->stats)
    str_addf(f->c->stats, "// fuse: %s\n", line);
}

/* "128 registers, 16 spilled, 12288 shared bytes, halo work 1.42, 24.0 bytes/point, 61 ops/point, occupancy 0.75, 8.5
 * ps/point": notes the figures. */
static void note_cost(const Fuse *f, const char *what, const LaunchCost *k) {
  Str s = {.arena = f->c->arena};
  bool threads = k->registers > 0;
  str_addf(&s, "%s: ", what);
  if (threads)
    str_addf(&s, k->spilled ? "%d registers, %d spilled, " : "%d registers, ", k->registers, k->spilled);
  str_addf(&s, "%lld %s bytes, halo work %.2f, %.1f bytes/point, %.0f ops/point, ", (long long)k->shared,
           threads ? "shared" : "cache", k->halo, k->bytes, k->ops);
  if (threads)
    str_addf(&s, "occupancy %.2f, ", k->occupancy);
  str_addf(&s, "%.2f ps/point", k->ps);
  note(f, s.s);
}

/* Notes the figures of the groups into which the step is cut, and of one launch for all (`whole`, NULL: not legal). */
static void note_choice(const Fuse *f, const LaunchCost *whole) {
  Arena *a = f->c->arena;
  double sum = 0;
  for (int i = 0, k, g = 0; i < f->n; i += k, g++) {
    k = group_length(f->n - i, f->st + i);
    const LaunchCost *cost = &group_of(f, i, i + k)->cost;
    note_cost(f, arena_printf(a, "group %d %s", g, cut_text(a, f->m, k, f->st + i)), cost);
    sum += cost->ps;
  }
  if (group_count(f->n, f->st) > 1)
    note(f, arena_printf(a, "the step in %d launches: %.2f ps/point", group_count(f->n, f->st), sum));
  if (whole)
    note_cost(f, arena_printf(a, "the step in one launch, T=%d", whole->schedule.T), whole);
  else
    note(f, arena_printf(a, "the step in one launch: %s", f->whole.why));
}

/* ---- requested cuts */

/* Cuts before stencil i where before[i]. */
static void apply(const Fuse *f, const bool *before) {
  int group = 0;
  for (int i = 0; i < f->n; i++) {
    group += i > 0 && (before[i] || moves_apart(f, i));
    f->st[i].group = group;
  }
}

/* Does `name` name stencil number `i`? */
static bool has_name(const Fuse *f, int i, const char *name) {
  return strcmp(said_name(f->c->arena, &f->st[i]), name) == 0;
}

/* The number of the first stencil of the step that `name` names; n: there is none. */
static int find_stencil(const Fuse *f, const char *name) {
  int i = next_said(f, 0);
  while (i < f->n && !has_name(f, i, name))
    i = next_said(f, i + 1);
  return i;
}

/* Reports that `name` stands where stencil number `i` should stand in `cuts` (i == n: nothing should). */
static bool wrong_name(const Fuse *f, const char *cuts, const char *name, int i) {
  int place = find_stencil(f, name);
  if (!*name)
    diag_error(f->c->diags, no_loc(), "-fuse=%s: expected the name of a stencil between '+' and ','; the step has %s",
               cuts, step_text(f));
  else if (place == f->n)
    diag_error(f->c->diags, no_loc(), "-fuse=%s: there is no stencil '%s' in a time step; it has %s", cuts, name,
               step_text(f));
  else if (i == f->n || (i == tail_of(f) && place < i))
    diag_error(f->c->diags, no_loc(), "-fuse=%s: stencil '%s' is named again; each stencil runs once: %s", cuts, name,
               step_text(f));
  else
    diag_error(f->c->diags, no_loc(),
               "-fuse=%s: '%s' stands where stencil '%s' comes; name all of them in the order of the program: %s", cuts,
               name, said_name(f->c->arena, &f->st[i]), step_text(f));
  return false;
}

/* Makes the step's probes a launch of their own if they cannot share that of the stencil before them. */
static void part_probes(const Fuse *f, bool *before) {
  int first = f->n, start;
  while (first > 0 && is_probe_stencil(f->m, &f->st[first - 1]))
    first--;
  for (start = first - 1; start > 0 && !before[start];)
    start--;
  if (first > 0 && first < f->n && part_launch(f->m, f->n, f->st, start, f->n)->illegal)
    before[first] = true;
}

/* The number of the first stencil after `i` and all further parts of it. */
static int behind_parts(const Fuse *f, int i) {
  for (int next = i + 1; next < f->n; next++) {
    if (part_before(f->m, f->st, next) == i)
      i = next;
    else if (!is_history_stencil(f->m, &f->st[next]))
      break;
  }
  return i + 1;
}

/* The first stencil from number `i` on, of those before `end`, that the program has a name for; `end`: there is none.
 */
static int next_named(const Fuse *f, int i, int end) {
  while (i < end && is_history_stencil(f->m, &f->st[i]))
    i++;
  return i;
}

/* Reads `cuts`, "gauss+st,dt,pde", into before[i]: is there a cut before stencil i? ('/' is as good as ','.) A stencil
 * in parts is named once, or once for each part, if there are cuts between them. The stencils at the step's end that
 * the program has no name for are all named, or none: then they share the launch of the stencil before them if they
 * can. */
static bool read_cuts(const Fuse *f, const char *cuts, bool *before) {
  int i = next_said(f, 0), start = 0, again = f->n;
  bool cut = false;
  for (const char *p = cuts;;) {
    size_t n = strcspn(p, "+,/");
    const char *name = arena_strndup(f->c->arena, p, n);
    int part = next_named(f, again, start);
    if (part < start && has_name(f, part, name)) {
      start = again;
      i = part;
    }
    if (i == f->n || !has_name(f, i, name))
      return wrong_name(f, cuts, name, i);
    before[start] = cut;
    again = i + 1;
    start = behind_parts(f, i);
    i = next_said(f, start);
    cut = p[n] != '+';
    if (!p[n])
      break;
    p += n + 1;
  }
  if (i < f->n && i != tail_of(f)) {
    diag_error(f->c->diags, no_loc(),
               "-fuse=%s: stencil '%s' is missing; name all of them in the order of the program: %s", cuts,
               said_name(f->c->arena, &f->st[i]), step_text(f));
    return false;
  }
  if (i < f->n)
    part_probes(f, before);
  return true;
}

/* Reports the first group of the cut that cannot be a launch; `cuts` is the request. */
static bool check_groups(const Fuse *f, const char *cuts) {
  for (int i = 0, k; i < f->n; i += k) {
    k = group_length(f->n - i, f->st + i);
    Launch *l = part_launch(f->m, f->n, f->st, i, i + k);
    if (l->illegal) {
      diag_error(f->c->diags, no_loc(), "-fuse=%s: %s cannot share a launch: %s; cut there, or use -fuse=auto", cuts,
                 cut_text(f->c->arena, f->m, k, f->st + i), l->illegal);
      return false;
    }
  }
  return true;
}

/* Is stencil `i` the first of those at the step's end that only rotate time levels, and may it share the launch of the
 * stencil before? */
static bool goes_along(const Fuse *f, int i) {
  return i >= tail_of(f) && !is_history_stencil(f->m, &f->st[i - 1]) &&
         !part_launch(f->m, f->n, f->st, i - 1, f->n)->illegal;
}

/* Makes the cut that `cuts` asks for: "all", "none", or names. */
static bool explicit_cut(const Fuse *f, const char *cuts) {
  bool *before = ARENA_ARRAY(f->c->arena, bool, f->n + 1);
  bool none = strcmp(cuts, "none") == 0;
  for (int i = 1; i < f->n; i++)
    before[i] = none && may_cut(f, i) && !goes_along(f, i);
  if (!none && strcmp(cuts, "all") && !read_cuts(f, cuts, before))
    return false;
  LaunchCost whole;
  bool one = whole_cost(f, &whole);
  apply(f, before);
  if (!check_groups(f, cuts))
    return false;
  note_choice(f, one ? &whole : NULL);
  return true;
}

/* ---- choosing */

/* Is nothing to be decided for a step that is not to be cut, and are its figures not wanted? */
static bool is_settled(const Fuse *f) {
  bool settled = !f->c->notes && !f->c->stats && !diags_remarks_enabled(f->c->diags);
  for (int i = 1; i < f->n; i++)
    settled = settled && !may_cut(f, i);
  return settled;
}

/* Can rounds that are to share a launch do so? Reports why not. */
static bool rounds_can_share(const Fuse *f) {
  for (int i = 0, j = 1; j <= f->n; j++) {
    if (share_rounds(f, j))
      continue;
    const Group *g = group_of(f, i, j);
    if (j > i + 1 && share_rounds(f, i + 1) && g->why) {
      diag_error(f->c->diags, no_loc(), "-repeats=%s: %s cannot share a launch: %s; take fewer rounds",
                 f->c->schedule->repeats, cut_text(f->c->arena, f->m, j - i, f->st + i), g->why);
      return false;
    }
    i = j;
  }
  return true;
}

/* Makes the cut that is expected to run fastest; none if several steps a tile are asked for (if that is not legal,
 * time-tile reports it). False after reporting that rounds that are to share a launch cannot. */
static bool auto_cut(const Fuse *f) {
  LaunchCost whole;
  bool *before = ARENA_ARRAY(f->c->arena, bool, f->n + 1);
  const Schedule *want = f->c->schedule;
  bool several = want->T > 1 && !module_has_stages(f->m), streamed = family_row(want->family)->streamed;
  if (!rounds_can_share(f))
    return false;
  bool one = whole_cost(f, &whole);
  double best = best_cut(f, before);
  bool cut = best >= 0 && !several && (!one || (!streamed && best < tuning.surely * whole.ps));
  if (cut && one)
    cut = best < tuning.surely * schedule_streamed_ps(f->c, f->m, want);
  for (int i = 0; i < f->n && !cut; i++)
    before[i] = false;
  apply(f, before);
  note_choice(f, one ? &whole : NULL);
  int groups = group_count(f->n, f->st);
  if (groups > 1 && !one)
    diag_remark(f->c->diags, no_loc(), "the step is cut into %d launches, %s, because %s", groups,
                cut_text(f->c->arena, f->m, f->n, f->st), f->whole.why);
  else if (groups > 1)
    diag_remark(f->c->diags, no_loc(),
                "the step is cut into %d launches, %s: %.1f ps/point are expected, of one launch %.1f", groups,
                cut_text(f->c->arena, f->m, f->n, f->st), best, whole.ps);
  return true;
}

/* ---- the pass */

/* The points of the grid for which schedule `s` is to be chosen, or under the params' defaults; if they have none, the
 * points of the grid that is assumed where nothing is known. */
static double grid_points(const Schedule *s, const Module *m) {
  double points = slices_of_size(m->grid.rank, s->size);
  for (int d = 0; d < m->grid.rank; d++)
    points *= (double)s->size[d];
  if (points >= 1)
    return points;
  points = 1;
  const Const *scalars = default_scalars(m);
  for (int d = 0; d < m->grid.rank; d++) {
    int64_t extent =
        scalars ? affine_eval(box_extent(m->arena, &m->grid, d), scalars, NULL) : model_large_grid(m->grid.rank)[d];
    points *= extent > 1 ? (double)extent : 1;
  }
  return points;
}

/* The search for a cut of the step of `m`, all of which is one group at first. */
static Fuse fuse_start(PassContext *c, Module *m) {
  Fuse f = {.c = c, .m = m, .n = m->nstencils, .st = m->stencils};
  for (int i = 0; i < f.n; i++)
    f.st[i].group = 0;
  return f;
}

bool plan_cut(PassContext *c, Module *m, const char *cuts) {
  Fuse f = fuse_start(c, m);
  f.points = grid_points(c->schedule, m);
  if (strcmp(cuts, "auto") == 0 && is_settled(&f))
    return true;
  measure_groups(&f);
  if (strcmp(cuts, "auto"))
    return explicit_cut(&f, cuts);
  return f.n == 0 || auto_cut(&f);
}

bool plan_cut_apply(PassContext *c, Module *m, const Schedule *p) {
  Fuse f = fuse_start(c, m);
  bool *before = ARENA_ARRAY(c->arena, bool, f.n + 1);
  if (p->ngroups <= 1)
    return true;
  if (!read_cuts(&f, p->fuse, before))
    return false;
  apply(&f, before);
  return true;
}
