/* driver/explain/explain-parts.c: the predicted speed of a cut grid on several devices (`stc explain --parts --net`):
 * the program for a part as the split makes it (split/), its launches by the model, and messages, whose time is a
 * latency plus the bytes divided by a bandwidth. */
#include "driver/explain/explain.h"
#include "driver/split/split.h"

#include <stdlib.h>
#include <string.h>

/* Networks. Within a process copies follow each other, each with its latency: a GPU makes one after the other, to any
 * neighbours; between a launch and the first copy, and between the last copy and the next launch, devices wait for each
 * other's marks. Networks between machines are used through MPI, which sends one message to each neighbour, with all
 * fields, after all launches; all messages are under way at once. */
static const NetKind nets[] = {
    {"nvlink4", "NVLink 4 within one process", 390e9, 6.4e-6, 12e-6, true},
    {"ib-ndr", "InfiniBand NDR, MPI", 46e9, 4e-6, 0, false},
    {"slingshot", "Slingshot 11, MPI", 23e9, 4e-6, 0, false},
};

/* ---------------------------------------------------------------- the request */

/* The network called `name`, or the one described as "GB/s,us". NULL after an error. */
static const NetKind *find_net(StcContext *c, Arena *a, const char *name) {
  for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
    if (strcmp(nets[i].name, name) == 0)
      return &nets[i];
  char *end;
  double speed = strtod(name, &end), latency = *end == ',' ? strtod(end + 1, &end) : -1;
  if (*end || !(speed > 0 && speed < 1e6) || !(latency >= 0 && latency < 1e6)) {
    context_error(c,
                  "--net=%s: there are nvlink4, ib-ndr and slingshot; or write GB/s and microseconds a message, as in "
                  "--net=25,3",
                  name);
    return NULL;
  }
  NetKind *net = ARENA_NEW(a, NetKind);
  *net = (NetKind){name, "MPI", speed * 1e9, latency * 1e-6, 0, false};
  return net;
}

/* Reads "8x8x4". */
static StcStatus read_parts(StcContext *c, const char *text, int rank, int64_t parts[MAX_RANK]) {
  const char *at = text;
  bool good = true;
  int n = 0;
  for (int d = 0; d < MAX_RANK; d++)
    parts[d] = 1;
  for (bool more = true; more && good && n < rank; n++) {
    char *end;
    parts[n] = strtol(at, &end, 10);
    good = end != at && parts[n] >= 1 && parts[n] <= INT32_MAX;
    more = *end == 'x';
    at = end + more;
  }
  if (!good || *at)
    return context_error(c, "--parts=%s: write how many parts there are along each of the %d dimension%s, as in %s",
                         text, rank, rank > 1 ? "s" : "",
                         rank == 1   ? "8"
                         : rank == 2 ? "8x4"
                                     : "8x8x4"),
           STC_USAGE;
  return STC_OK;
}

/* ---------------------------------------------------------------- the program for a part */

/* Finds the dimensions along which the grid can be cut. */
static StcStatus find_cuts(const Explanation *e, ExplainedParts *x) {
  StcStatus s = STC_OK;
  for (int d = 0; d < x->rank && !s; d++) {
    x->can[d] = x->parts[d] > 1;
    s = x->can[d] ? STC_OK : program_can_cut(e->program, arena_printf(e->arena, "%d", d), false, &x->can[d]);
  }
  return s;
}

/* The dimensions that are cut, in the syntax of pass distribute: at least one. */
static const char *cut_text(Arena *a, int rank, const bool *cut) {
  Str text = {.arena = a};
  for (int d = 0; d < rank; d++)
    if (cut[d])
      str_addf(&text, "%s%d", text.n ? "+" : "", d);
  return text.n ? text.s : "0";
}

/* The points along dimension `d` that a part in the middle of `parts` owns: no part owns more. */
static void middle_range(const Explanation *e, int d, int64_t parts, int64_t *lo, int64_t *hi) {
  int64_t first = affine_eval(e->kernels->grid.lo[d], e->scalars, NULL), all = e->extents[d],
          each = (all + parts - 1) / parts;
  *lo = first + each * (parts / 2 < all / each ? parts / 2 : all / each - 1);
  *hi = *lo + each - 1;
}

/* Adds "NAME=VALUE" to the defines. */
static void add_define(Arena *a, Define **all, int *n, const char *name, int d, int64_t value) {
  Define x;
  const char *text = d < 0 ? arena_printf(a, "%s=%lld", name, (long long)value)
                           : arena_printf(a, "%s.%d=%lld", name, d, (long long)value);
  if (define_parse(a, text, &x))
    ARENA_PUSH(a, *all, *n, x);
}

/* The values of the scalars in the part's program, for a part in the middle of `parts`; NULL after an error. A launch
 * stores the points that the part owns. */
static Const *bind_part(const Explanation *e, const ExplainedParts *x, const Module *m, const int64_t *parts,
                        int64_t steps) {
  StcProgram *p = x->part.program;
  Arena *a = p->w.arena;
  Define *all = NULL;
  int n = 0;
  for (int i = 0; i < e->program->options.ndefines; i++)
    ARENA_PUSH(a, all, n, e->program->defines[i]);
  for (int d = 0; d < x->rank; d++) {
    int64_t lo, hi;
    if (!x->cut[d])
      continue;
    middle_range(e, d, parts[d], &lo, &hi);
    add_define(a, &all, &n, "part.lo", d, lo);
    add_define(a, &all, &n, "part.hi", d, hi);
    if (d < x->rank - 1)
      add_define(a, &all, &n, "part.first", d, lo);
    if (d < x->rank - 1)
      add_define(a, &all, &n, "part.last", d, hi);
  }
  add_define(a, &all, &n, "part.steps", -1, steps);
  Const *out = ARENA_ARRAY(a, Const, m->nscalars + 1);
  return module_bind(m, n, all, out, p->w.diags) ? out : NULL;
}

/* Has the schedule chosen for a part of that size: the params for the position of a part become those of its program.
 */
static void take_part(const Explanation *e, ExplainedParts *x) {
  StcProgram *p = x->part.program;
  Arena *a = p->w.arena;
  const char **words = ARENA_ARRAY(a, const char *, e->program->options.ndefines + 2 * MAX_RANK + 1);
  int n = 0;
  for (; n < e->program->options.ndefines; n++)
    words[n] = e->program->options.defines[n];
  for (int d = 0; d < x->rank; d++) {
    int64_t lo, hi;
    if (!x->cut[d])
      continue;
    middle_range(e, d, x->parts[d], &lo, &hi);
    words[n++] = arena_printf(a, "part.lo.%d=%lld", d, (long long)lo);
    words[n++] = arena_printf(a, "part.hi.%d=%lld", d, (long long)hi);
  }
  Define *all = ARENA_ARRAY(a, Define, n + 1);
  for (int i = 0; i < n; i++)
    define_parse(a, words[i], &all[i]);
  p->defines = all;
  p->options.defines = words;
  p->options.ndefines = n;
  memset(p->options.grid, 0, sizeof p->options.grid);
}

/* ---------------------------------------------------------------- messages */

/* The largest number of sides along a dimension on which one of `parts` parts has neighbours. */
static int sides_along(const ExplainedParts *x, int64_t parts) {
  return parts > 2 || (parts == 2 && x->ring) ? 2 : parts == 2 ? 1 : 0;
}

/* Finds the messages of a part that owns `own` points after `steps` steps: for each dimension that is cut, and then for
 * corners. */
static void find_messages(const ExplainedParts *x, const int64_t *parts, const int64_t *own, int64_t steps,
                          PartMessages m[MAX_RANK + 1]) {
  memset(m, 0, sizeof *m * (MAX_RANK + 1));
  for (int code = 0; code < 27; code++) {
    int at[MAX_RANK] = {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1}, cuts = 0, last = 0;
    double cells = 1;
    bool any = true;
    for (int d = 0; d < MAX_RANK; d++) {
      if (!at[d])
        cells *= d < x->rank ? (double)own[d] : 1;
      else if (d >= x->rank || sides_along(x, parts[d]) < (at[d] < 0 ? 2 : 1))
        any = false;
      else
        cells *= (double)(steps * (at[d] < 0 ? x->reach.hi[d] : x->reach.lo[d])), cuts++, last = d;
    }
    if (!any || !cuts || cells <= 0)
      continue;
    PartMessages *to = &m[cuts > 1 ? MAX_RANK : last];
    double bytes = cells * x->bytes, n = x->net->beside ? x->nfields : 1,
           seconds = (x->net->beside ? n * x->net->latency : 0) + bytes / x->net->bandwidth;
    to->messages += n;
    to->bytes += bytes;
    to->seconds += seconds;
    to->early += x->window >= 0 && at[x->window] && x->net->beside ? seconds : 0;
  }
}

/* ---------------------------------------------------------------- from one exchange to the next */

/* Finds the dimension along which the last launch runs in ranges (-1: none), and the rows of its tiles. */
static void find_window(ExplainedParts *x) {
  const Explanation *p = &x->part;
  const Module *m = p->kernels;
  x->window = -1;
  for (int i = 0; i < p->nkernels; i++)
    if (p->list[i].kernel->by_class) /* tiles of a window would begin elsewhere (windows.c) */
      return;
  for (int d = 0; d < x->rank - 1 && x->window < 0 && p->nkernels; d++) {
    const Kernel *k = p->list[p->nkernels - 1].kernel;
    for (int i = 0; i < k->nargs && x->parts[d] > 1; i++)
      if (k->args[i].kind == KARG_SCALAR && m->part->gives.lo[d].n &&
          k->args[i].index == m->part->gives.lo[d].t[0].scalar)
        x->window = d;
    x->tile = k->tile[d];
  }
}

/* The time of the last launch, which takes `launch` seconds, that remains after the tiles at the cuts have finished: 0
 * if all tiles run at once. */
static double hiding(const ExplainedParts *x, const PartPeriod *period, double launch) {
  const Explanation *p = &x->part;
  if (x->window < 0 || !p->nkernels || p->list[0].time.filled < 1)
    return 0;
  int64_t tiles = (period->own[x->window] + x->tile - 1) / x->tile, low = period->steps * x->reach.hi[x->window],
          high = period->steps * x->reach.lo[x->window],
          rest = tiles - (low + x->tile - 1) / x->tile - (high + x->tile - 1) / x->tile;
  return rest > 0 ? launch * (double)rest / (double)tiles : 0;
}

/* The launches of a part with the neighbours of one among `around`; one launch takes `seconds` seconds. */
static PartLaunch launch_of(const ExplainedParts *x, const PartPeriod *period, const int64_t *around, double seconds) {
  const Explanation *p = &x->part;
  const Kernel *k = p->nkernels ? p->list[p->nkernels - 1].kernel : NULL;
  bool dealt = p->schedule.family == FAMILY_WARPS; /* rows, for any number of them */
  PartLaunch out = {.rank = x->rank, .steps = x->steps, .seconds = seconds, .trimmed = x->window >= 0};
  for (int d = 0; d < x->rank; d++) {
    out.own[d] = period->own[d];
    out.ghosts[d] = x->cut[d] ? part_ghosts(p->kernels, around[d], d) : 0;
    out.tile[d] = k && k->rank == x->rank && k->tile[d] > 0 && !dealt ? k->tile[d] : 1;
  }
  return out;
}

/* The number of launches between two exchanges, as in a run, as long as the ghost cells of a part come from the
 * neighbouring part. */
static int64_t launches_between(const ExplainedParts *x, const PartPeriod *period, const int64_t *around,
                                const PartLaunch *launch) {
  int64_t n = best_launches(launch);
  for (int d = 0; d < x->rank; d++) {
    int64_t reach = x->reach.lo[d] > x->reach.hi[d] ? x->reach.lo[d] : x->reach.hi[d];
    while (n > 1 && around[d] > 1 && period->own[d] < n * x->steps * reach)
      n--;
  }
  return n;
}

/* Finds the messages after the steps of the period, and how much of their time is hidden. */
static void find_exchange(const ExplainedParts *x, const int64_t *around, double launch, PartPeriod *out) {
  find_messages(x, around, out->own, out->steps, out->to);
  double early = 0, messages = 0;
  for (int k = 0; k <= MAX_RANK; k++) {
    out->exchange += out->to[k].seconds;
    early += out->to[k].early;
    messages += out->to[k].messages;
  }
  if (messages > 0 && !x->net->beside)
    out->exchange += x->net->latency;
  double room = hiding(x, out, launch);
  out->hidden = early < room ? early : room;
  if (messages > 0)
    out->exchange += x->net->marks;
}

/* Finds the period of a part in the middle of `parts`, for the grid's size, with the neighbours of one among `around`.
 * False if the part is too small. */
static bool find_period(const Explanation *e, ExplainedParts *x, const int64_t *parts, const int64_t *around,
                        PartPeriod *out) {
  Explanation *p = &x->part;
  *out = (PartPeriod){.points = 1};
  for (int d = 0; d < x->rank; d++) {
    int64_t lo, hi;
    if (parts[d] > e->extents[d])
      return false;
    middle_range(e, d, parts[d], &lo, &hi);
    out->own[d] = p->extents[d] = hi - lo + 1;
    out->points *= (double)out->own[d];
    if (around[d] > 1 && out->own[d] < x->steps * (x->reach.lo[d] > x->reach.hi[d] ? x->reach.lo[d] : x->reach.hi[d]))
      return false;
  }
  p->scalars = bind_part(e, x, p->kernels, parts, x->steps);
  if (!p->scalars)
    return false;
  p->points = out->points;
  p->nkernels = 0;
  p->seconds = 0;
  explain_kernels(p);
  double one = p->gpts > 0 ? out->points * (double)x->steps / p->gpts * 1e-9 : 0;
  PartLaunch launch = launch_of(x, out, around, one);
  int64_t n = launches_between(x, out, around, &launch);
  out->steps = n * x->steps;
  out->alone = (double)n * one;
  out->compute = launches_seconds(&launch, n);
  find_exchange(x, around, one, out);
  out->seconds = out->compute + out->exchange - out->hidden;
  return out->seconds > 0;
}

/* ---------------------------------------------------------------- scaling */

/* How `n` devices share a grid in which each has a part as large as the present one: in the shape nearest to that of
 * the part that `n` allows. */
static void weak_split(const ExplainedParts *x, int64_t n, int64_t around[MAX_RANK]) {
  int64_t extents[MAX_RANK];
  for (int d = 0; d < x->rank; d++)
    extents[d] = x->period.own[d] * n;
  if (!split_choose(x->rank, extents, n, x->can, around))
    around[0] = n;
}

/* The arguments of the guarded function that computes a row of the table for `n` devices; weak: with parts of the same
 * size, one of which makes `each` GPts/s without neighbours. */
typedef struct RowArgs {
  const Explanation *e;
  ExplainedParts *x;
  int64_t n;
  bool weak;
  double each;
  ScalingRow *row;
} RowArgs;

/* Computes one half of the row, with the program of `x`. One device takes the whole grid, with the schedule that is
 * best for it. */
static StcStatus half_guarded(void *arg) {
  const RowArgs *a = arg;
  const Explanation *e = a->e;
  ExplainedParts *x = a->x;
  ScalingRow *row = a->row;
  PartPeriod one;
  double n = (double)a->n;
  if (!find_period(e, x, a->weak ? x->parts : row->strong, a->weak ? row->weak : row->strong, &one))
    return STC_OK;
  if (a->weak) {
    row->weak_gpts = n * one.points * (double)one.steps / one.seconds * 1e-9;
    row->weak_efficiency = row->weak_gpts / (n * a->each);
    return STC_OK;
  }
  memcpy(row->own, one.own, sizeof row->own);
  row->strong_gpts = n > 1 ? e->points * (double)one.steps / one.seconds * 1e-9 : e->gpts;
  row->strong_efficiency = row->strong_gpts / (n * e->gpts);
  return STC_OK;
}

/* Computes half of the row, with the program that is cut along as few dimensions as possible, as rows of whole vectors
 * are faster than others. */
static StcStatus find_half(RowArgs a, const int64_t *parts) {
  bool few = true;
  for (int d = 0; d < a.x->rank; d++)
    few = few && (parts[d] == 1 || a.x->cut[d]);
  if (!few)
    a.x = a.x->all;
  return a.x ? workspace_guard(&a.x->part.program->w, half_guarded, &a) : STC_OK;
}

/* Computes a row of the table. */
static StcStatus find_row(const Explanation *e, ExplainedParts *x, int64_t n, ScalingRow *row) {
  *row = (ScalingRow){.devices = n};
  weak_split(x, n, row->weak);
  double each = x->period.points * (double)x->period.steps / x->period.alone * 1e-9;
  StcStatus s = find_half((RowArgs){e, x, n, true, each, row}, row->weak);
  if (s || !split_choose(x->rank, e->extents, n, x->can, row->strong))
    return s;
  return find_half((RowArgs){e, x, n, false, each, row}, row->strong);
}

/* ---------------------------------------------------------------- the whole result */

/* The arguments of the guarded functions for the part's program. */
typedef struct PartArgs {
  const Explanation *e;
  ExplainedParts *x;
} PartArgs;

/* Adds a remark, if live points are known, on the parts of the request. */
static void note_live(const Explanation *e, ExplainedParts *x) {
  Workspace *w = &x->part.program->w;
  const WetMap *wet = program_wet(e->program, w, target_info(e->target), e->extents, 0, NULL);
  LiveCuts cuts;
  for (int d = 0; d < x->rank && wet; d++)
    if (live_cuts(w->arena, wet, d, x->parts[d], &cuts))
      x->live[d] =
          arena_printf(e->arena,
                       "live points: a run cuts dimension %d into %s rows, so that a part has at most %.0f %% of "
                       "them, for %.0f; what follows is of equal parts",
                       d, cuts.rows, 100 * cuts.most, 100 * cuts.equal);
}

/* Lowers the part's program, and computes all figures of the requested parts. */
static StcStatus fill_guarded(void *arg) {
  PartArgs *a = arg;
  ExplainedParts *x = a->x;
  Explanation *p = &x->part;
  take_part(a->e, x);
  p->kernels = program_kernels(p->program);
  if (!p->kernels)
    return STC_INPUT;
  note_live(a->e, x);
  p->target = p->program->target;
  p->schedule = p->program->resolved;
  p->info = a->e->info;
  p->stencils = program_before_lowering(p->program, &p->program->w, p->target, &p->schedule);
  const Host *host = &p->kernels->host;
  if (!p->stencils || !host->nseqs)
    return STC_INPUT;
  x->steps = host->seqs[0].steps;
  x->reach = p->kernels->part->reach;
  for (int f = 0; f < p->kernels->nfields; f++) {
    const Field *field = &p->kernels->fields[f];
    x->ring |= field->ring;
    x->nfields += field->exchange == EXCHANGE_STEPS;
    x->bytes += field->exchange == EXCHANGE_STEPS ? (double)type_bytes(p->kernels, field->type) : 0;
  }
  x->window = -1;
  find_period(a->e, x, x->parts, x->parts, &x->period);
  find_window(x);
  if (!find_period(a->e, x, x->parts, x->parts, &x->period))
    return diag_error(p->program->w.diags, no_loc(),
                      "--parts: a part would be smaller than the ghost cells of %lld steps are wide; take fewer parts",
                      (long long)x->steps),
           STC_USAGE;
  return STC_OK;
}

/* Makes the program of `x`, cut along the dimensions of x->cut, and computes its figures. */
static StcStatus fill_parts(const Explanation *e, ExplainedParts *x) {
  PartArgs args = {e, x};
  StcStatus s = program_distribute(e->program, cut_text(e->arena, x->rank, x->cut), false, &x->part.program);
  if (!s)
    x->part.program->packs = x->part.program->explains = e->program->explains;
  return s ? s : workspace_guard(&x->part.program->w, fill_guarded, &args);
}

/* The same, cut along all dimensions that allow it, if those are more. */
static StcStatus fill_all(const Explanation *e, ExplainedParts *x) {
  if (memcmp(x->can, x->cut, sizeof x->can) == 0)
    return STC_OK;
  ExplainedParts *all = ARENA_NEW(e->arena, ExplainedParts);
  *all = (ExplainedParts){.rank = x->rank, .net = x->net, .part.arena = e->arena};
  memcpy(all->parts, x->parts, sizeof all->parts);
  memcpy(all->can, x->can, sizeof all->can);
  memcpy(all->cut, x->can, sizeof all->cut);
  x->all = all;
  return fill_parts(e, all);
}

/* Reads the request. */
static StcStatus read_asked(const Command *c, Explanation *e, ExplainedParts *x) {
  const Module *m = e->program->reference;
  if (m && (module_has_stages(m) || module_state(m)))
    return context_error(c->context, "--parts: what exchanges between the stages of a step take, as of updates and "
                                     "repeats, is not known yet"),
           STC_USAGE;
  StcStatus s = read_parts(c->context, c->parts, x->rank, x->parts);
  for (int d = 0; d < x->rank && !s; d++)
    if (x->parts[d] > e->extents[d])
      s = (context_error(c->context, "--parts=%s: the grid has %lld points in dimension %d, so at most that many parts",
                         c->parts, (long long)e->extents[d], d),
           STC_USAGE);
  return s ? s : find_cuts(e, x);
}

void explain_parts_close(ExplainedParts *x) {
  stc_program_free(x->part.program);
  if (x->all)
    stc_program_free(x->all->part.program);
}

StcStatus explain_parts(const Command *c, Explanation *e) {
  ExplainedParts *x = ARENA_NEW(e->arena, ExplainedParts);
  x->rank = e->kernels->grid.rank;
  x->part.arena = e->arena;
  x->net = find_net(c->context, e->arena, c->net ? c->net : "nvlink4");
  if (!x->net)
    return STC_USAGE;
  StcStatus s = read_asked(c, e, x);
  if (s)
    return s;
  bool any = false;
  for (int d = 0; d < x->rank; d++)
    any |= x->cut[d] = x->parts[d] > 1;
  x->cut[0] |= !any;
  e->parts = x;
  s = fill_parts(e, x);
  if (!s)
    s = fill_all(e, x);
  for (int i = 0; i < SCALING_ROWS && !s; i++)
    s = find_row(e, x, INT64_C(1) << i, &x->scaling[i]);
  return s;
}

/* ---------------------------------------------------------------- text */

/* Prints "8x8x4", padded to `width`. */
static void print_shape(FILE *to, const int64_t *v, int rank, int width) {
  int n = 0;
  for (int d = 0; d < rank; d++)
    n += fprintf(to, "%s%lld", d ? "x" : "", (long long)v[d]);
  fprintf(to, "%*s", width > n ? width - n : 0, "");
}

/* Prints a line about messages. */
static void print_messages(FILE *to, const char *what, const PartMessages *m) {
  if (m->messages > 0)
    fprintf(to, "  %-12s %5.0f message%s %12.0f bytes %10.1f us%s\n", what, m->messages, m->messages > 1 ? "s" : " ",
            m->bytes, m->seconds * 1e6, m->early > 0 ? ", sent while the rest is computed" : "");
}

/* Prints GPts/s and per cent, or dashes. */
static void print_speed(FILE *to, double gpts, double efficiency) {
  if (gpts > 0)
    fprintf(to, "%10.0f %5.1f %%", gpts, 100 * efficiency);
  else
    fprintf(to, "%10s %5s  ", "-", "-");
}

void explain_print_parts(FILE *to, const Explanation *e) {
  const ExplainedParts *x = e->parts;
  const PartPeriod *p = &x->period;
  fprintf(to, "\nparts: ");
  print_shape(to, x->parts, x->rank, 0);
  fprintf(to, " of ");
  print_shape(to, p->own, x->rank, 0);
  fprintf(to, " points, exchange after %lld step%s, %s: %.4g GB/s, %.2g us a message\n", (long long)p->steps,
          p->steps > 1 ? "s" : "", x->net->text, x->net->bandwidth * 1e-9, x->net->latency * 1e6);
  for (int d = 0; d < x->rank; d++)
    if (x->live[d])
      fprintf(to, "  %s\n", x->live[d]);
  for (int d = 0; d < x->rank; d++)
    print_messages(to, arena_printf(e->arena, "dimension %d", d), &p->to[d]);
  print_messages(to, "corners", &p->to[MAX_RANK]);
  fprintf(to, "  %.4g us of computing, %.4g us of exchange, %.4g us of it hidden\n", p->compute * 1e6,
          p->exchange * 1e6, p->hidden * 1e6);
  fprintf(to, "expected: %.4g GPts/s a device, %.1f %% of one without neighbours\n",
          p->points * (double)p->steps / p->seconds * 1e-9, 100 * p->alone / p->seconds);
  fprintf(to, "\nscaling   weak: ");
  print_shape(to, p->own, x->rank, 0);
  fprintf(to, " points a device; strong: ");
  print_shape(to, e->extents, x->rank, 0);
  fprintf(to, " points in all\ndevices   %-12s %9s %7s   %-12s %-16s %9s %7s\n", "weak", "GPts/s", "", "strong",
          "a device", "GPts/s", "");
  for (int i = 0; i < SCALING_ROWS; i++) {
    const ScalingRow *r = &x->scaling[i];
    fprintf(to, "%7lld   ", (long long)r->devices);
    print_shape(to, r->weak, x->rank, 12);
    print_speed(to, r->weak_gpts, r->weak_efficiency);
    fprintf(to, "   ");
    print_shape(to, r->strong, r->strong_gpts > 0 ? x->rank : 0, 12);
    fprintf(to, " ");
    print_shape(to, r->own, r->strong_gpts > 0 ? x->rank : 0, 15);
    print_speed(to, r->strong_gpts, r->strong_efficiency);
    fprintf(to, "\n");
  }
}
