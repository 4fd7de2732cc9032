/* split.c: a plan whose grid is cut: how it is cut, the devices of its parts, the program for a part. */
#include "driver/split/turns/turns.h"

#include <stdlib.h>
#include <string.h>

/* The most devices. */
enum { MOST_DEVICES = 64 };

/* The argument of the guarded function that makes the parts. devices: `ndevices` devices, which parts get in turn. */
typedef struct SplitArgs {
  StcPlan *plan;
  Lean lean;
  const char *cut;
  const char *const *devices;
  int ndevices, n;
  const char *const *defines;
  const char *text; /* the devices as requested */
} SplitArgs;

/* ---------------------------------------------------------------- parts */

/* Computes the places of the parts. */
static void place_parts(StcPlan *p) {
  Split *s = p->split;
  s->part = ARENA_ARRAY(p->w.arena, PartPlan, s->nparts);
  s->begin = s->end = -1;
  for (int i = 0; i < s->nparts; i++) {
    int64_t rest = i;
    s->part[i].rank = s->net ? (int)((int64_t)i * s->net->size / s->nparts) : 0;
    if (!s->net || s->part[i].rank == s->net->rank) {
      s->begin = s->begin < 0 ? i : s->begin;
      s->end = i + 1;
    }
    for (int d = s->rank - 1; d >= 0; d--) {
      s->part[i].at[d] = rest % s->parts[d];
      rest /= s->parts[d];
      split_part_range(s, d, s->parts[d], s->part[i].at[d], &s->part[i].lo[d], &s->part[i].hi[d]);
    }
  }
}

/* The dimensions that are cut, in the form of pass distribute: at least one, even if it has one part only. */
static const char *cut_text(Arena *a, const Split *s) {
  Str text = {.arena = a};
  if (s->turns)
    return arena_printf(a, "%d", s->turns->dimension);
  for (int d = 0; d < s->rank; d++)
    if (s->parts[d] > 1)
      str_addf(&text, "%s%d", text.n ? "+" : "", d);
  return text.n ? text.s : "0";
}

/* The number of steps for which parts have ghost cells. */
static int64_t steps_of_parts(const Split *s) { return s->turns && s->turns->skew ? s->turns->skew->steps : s->every; }

/* The plan's params and those that describe the place of part `i`, as "NAME=VALUE"; *n: their number. */
static const char *const *part_defines(const SplitArgs *a, int i, int64_t every, int *n) {
  Arena *arena = a->plan->w.arena;
  const Split *s = a->plan->split;
  const char **all = ARENA_ARRAY(arena, const char *, a->n + 2 * MAX_RANK + 1);
  for (*n = 0; *n < a->n; ++*n)
    all[*n] = a->defines[*n];
  for (const char *d = a->cut; *d; d++)
    if (*d != '+') {
      all[(*n)++] = arena_printf(arena, "part.lo.%c=%lld", *d, (long long)s->part[i].lo[*d - '0']);
      all[(*n)++] = arena_printf(arena, "part.hi.%c=%lld", *d, (long long)s->part[i].hi[*d - '0']);
    }
  all[(*n)++] = arena_printf(arena, "part.steps=%lld", (long long)every);
  return all;
}

/* The device of part `i` of this rank. */
static const char *part_device(const SplitArgs *a, int i) {
  const Split *s = a->plan->split;
  return a->devices[(int64_t)(i - s->begin) * a->ndevices / (s->end - s->begin)];
}

/* Prepares the plan of part `i`, with the code of the first and largest part; bare: only to inspect its code. Parts
 * that take turns load the code once. */
static StcStatus prepare_part(const SplitArgs *a, int i, bool bare) {
  Split *s = a->plan->split;
  int n;
  const char *const *first = part_defines(a, 0, s->every ? s->every : 1, &n);
  if (s->turns && s->turns->code) {
    first = s->turns->code;
    n = s->turns->ncode;
  }
  const StcPlan *like = i > s->begin ? s->part[s->begin].plan : NULL;
  StcStatus st = s->turns ? plan_prepare_turn(s->program, part_device(a, i), n, first, bare, like, &s->part[i].plan)
                          : plan_prepare(s->program, part_device(a, i), n, first, &s->part[i].plan);
  return st ? st : phases_prepare(a->plan, i, part_device(a, i), n, first);
}

/* Computes the place of part `i`, and allocates its memory if it is on this rank. */
static StcStatus make_part(const SplitArgs *a, int i) {
  StcPlan *p = a->plan;
  Split *s = p->split;
  PartPlan *part = &s->part[i];
  int n;
  const char *const *defines = part_defines(a, i, steps_of_parts(s), &n);
  if (!part->plan) {
    part->module = s->part[s->begin].plan->module;
    part->scalars = program_bind(s->program, part->module, p->w.arena, p->w.diags, n, defines);
    return part->scalars ? STC_OK : STC_INPUT;
  }
  part->plan->facade = s->turns;
  part->plan->run.replay.impossible = s->turns;
  StcStatus st = plan_reset(part->plan, n, defines);
  part->plan->run.inits_done = !s->lean;
  if (!st)
    plan_warned(part->plan);
  part->module = part->plan->module;
  part->scalars = part->plan->scalars;
  if (!st)
    st = phases_add_part(p, i, n, defines);
  return st ? st : watching_add_part(p, i, part_device(a, i), n, defines);
}

/* Reports programs that cannot be cut at all. */
static StcStatus check_program(StcPlan *p) {
  if (p->program->kind == SOURCE_KIR)
    return diag_error(p->w.diags, no_loc(),
                      "%s is kernel IR, made for the whole grid: a grid is cut from a .stn or .sir", p->program->file),
           STC_USAGE;
  if (p->program->options.passes)
    return diag_error(p->w.diags, no_loc(), "-passes runs what it names and nothing else: it cannot cut a grid"),
           STC_USAGE;
  return STC_OK;
}

/* The place in the source of a feature for which phases are needed. */
static Loc loc_of_phases(const Module *m) {
  const ParamArray *state = module_state(m);
  return m->nrepeats ? m->repeats[0].loc : m->nupdates ? m->updates[0].loc : state ? state->loc : module_scaled(m)->loc;
}

/* Reports what is impossible with parts that take turns: steps of several programs, devices that lack the necessary
 * functions. */
static StcStatus check_turns(StcPlan *p) {
  const DeviceKind *kind = p->device.kind;
  if (phases_are_needed(p))
    return diag_error(
               p->w.diags, loc_of_phases(p->program->reference),
               "%s has steps with `update`, `repeat` or `levels`: parts of its grid cannot take turns on a device yet; "
               "give it the memory that it needs",
               p->program->name),
           STC_USAGE;
  if (kind->dlpack != DEVICE_MEMORY_HERE && !(kind->carry && kind->pinned_new && kind->mark && kind->send))
    return diag_error(p->w.diags, no_loc(), "parts of a grid cannot take turns on device %s yet", p->device.name),
           STC_USAGE;
  return STC_OK;
}

/* The requested dimension, or the slowest one that can be cut. */
static StcStatus asked_dimension(StcPlan *p) {
  Split *s = p->split;
  bool can = false;
  StcStatus st = STC_OK;
  for (int d = 0; d < s->rank && !can && !st; d++) {
    s->turns->dimension = d;
    can = s->parts[d] > 1;
    if (!can)
      st = program_can_cut(p->program, arena_printf(p->w.arena, "%d", d), false, &can);
    can = can && (s->parts[d] > 1 || s->nparts == 1);
  }
  s->turns->dimension = can ? s->turns->dimension : 0;
  return st;
}

/* The dimension along which parts that take turns are cut: the slowest one that can be cut and has as many points as
 * parts, else the longest. Also sets a number of parts for a start, until it is known how many fit the memory. There
 * may be fewer members than parts are needed. */
static StcStatus turns_dimension(StcPlan *p) {
  Split *s = p->split;
  StcStatus st = STC_OK;
  double bytes = 0;
  for (int i = 0; i < p->memory.nslots; i++)
    bytes += (double)p->memory.slots[i].size;
  int64_t longest = 0, parts = (int64_t)(2 * bytes / s->turns->budget);
  parts = parts < 2 ? 2 : parts;
  for (int d = 0; d < s->rank && longest < parts && !st; d++) {
    int64_t extent = s->hi[d] - s->lo[d] + 1;
    bool can = false;
    if (extent > longest)
      st = program_can_cut(p->program, arena_printf(p->w.arena, "%d", d), false, &can);
    if (can)
      longest = extent, s->turns->dimension = d;
  }
  longest = s->hi[s->turns->dimension] - s->lo[s->turns->dimension] + 1;
  s->parts[s->turns->dimension] = parts * 4 <= longest ? parts : longest < 8 ? 1 : longest / 4;
  return st;
}

/* Checks that requested parts that take turns are cut along one dimension. */
static StcStatus check_one_dimension(StcPlan *p) {
  Split *s = p->split;
  int n = 0;
  s->nparts = 1;
  for (int d = 0; d < s->rank; d++) {
    n += s->parts[d] > 1;
    s->nparts = s->parts[d] > 1 ? 2 : s->nparts;
  }
  return n < 2 ? STC_OK
               : (diag_error(p->w.diags, no_loc(), "parts that take turns (--memory) are cut along one dimension"),
                  STC_USAGE);
}

/* Reports a probe that uses `step`: the whole grid evaluates the probes of later steps as if they were due before the
 * first one. */
static StcStatus check_probes(StcPlan *p) {
  for (int i = 0; i < p->program->module->nprobes; i++) {
    const Probe *x = &p->program->module->probes[i];
    for (const Op *op = x->body->first; op; op = op->next)
      if (op->code == OP_STEP)
        return diag_error(
                   p->w.diags, x->loc,
                   "a grid with a probe that uses `step` cannot yet be cut where it must be in one place as a whole"),
               STC_USAGE;
  }
  return STC_OK;
}

/* Can all work during the run be done part by part, if the grid is cut along these dimensions? This does not consider
 * inits. */
static StcStatus allows_lean(const StcPlan *p, const char *cut, bool *yes) {
  const Module *m = p->program->reference;
  *yes = false;
  if (module_scaled(m)) /* inits of coarser levels need the whole grid */
    return STC_OK;
  *yes = m->nreductions + m->nprobes == 0 && !module_has_stages(m) && !module_state(m);
  return *yes ? STC_OK : program_can_cut(p->program, cut, true, yes);
}

/* Does a probe use `step`? */
static bool probes_see_step(const Module *m) {
  for (int i = 0; i < m->nprobes; i++)
    for (const Op *op = m->probes[i].body->first; op; op = op->next)
      if (op->code == OP_STEP)
        return true;
  return false;
}

/* Is it better to have the whole grid on the first device? It is if a single process reduces on GPUs: they send their
 * cells to each other and combine them there, while otherwise parts pass 8 bytes for each point to one core. It must
 * fit beside the parts of that device, which are assumed to need half as much again as what they own. */
static bool prefers_whole(const SplitArgs *a) {
  StcPlan *p = a->plan;
  const Split *s = p->split;
  double left, total, all = 0, parts = 0;
  if (a->lean == LEAN_MUST || s->net->size > 1 || !p->device.kind->near || !p->module->nreductions ||
      probes_see_step(p->program->module))
    return false;
  for (int i = 0; i < p->memory.nslots; i++)
    all += (double)(p->memory.slots[i].size + p->memory.slots[i].lead);
  for (int i = s->begin; i < s->end; i++)
    parts += strcmp(part_device(a, i), a->devices[0]) == 0 ? 1.5 / s->nparts : 0;
  device_room(&p->device, &left, &total);
  return all * (1 + parts) <= left;
}

/* Allocates memory for the whole grid on the rank that leads. */
static StcStatus take_whole(SplitArgs *a) {
  a->plan->facade = false;
  return plan_reset(a->plan, a->n, a->defines);
}

/* The number of devices of all ranks, which is that of the parts if it is not given; ranks may have different numbers.
 */
static int devices_of_ranks(const SplitArgs *a, Net *net) {
  int mine = a->ndevices, n = 0;
  if (!net)
    return mine;
  int all[net->size];
  net->gather(net, &mine, sizeof mine, all);
  for (int i = 0; i < net->size; i++)
    n += all[i];
  return n;
}

/* Do the ghost cells that steps or inits need go around a periodic grid at most once? */
static bool rings_fit(const SplitArgs *a, const StcProgram *program) {
  StcPlan *p = a->plan;
  const Module *m = program->module;
  const Split *s = p->split;
  int n;
  const char *const *defines = part_defines(a, 0, 1, &n);
  const Const *scalars = program_bind(program, m, p->w.arena, p->w.diags, n, defines);
  bool ring = false, fits = true;
  for (int f = 0; f < m->nfields; f++)
    ring |= m->fields[f].ring;
  for (int d = 0; d < s->rank && ring && scalars; d++) {
    int64_t extent = s->hi[d] - s->lo[d] + 1, below = s->part[0].lo[d] - affine_eval(m->grid.lo[d], scalars, NULL),
            above = affine_eval(m->grid.hi[d], scalars, NULL) - s->part[0].hi[d];
    bool cut = !affine_equal(m->part->own.lo[d], m->part->whole.lo[d]);
    fits &= !cut || (below <= extent && above <= extent);
  }
  return fits;
}

/* Makes the program for a part, or those of the phases of its step. A part that has memory and code of its own makes
 * classes of tiles (pass tile-classes) for itself. */
static StcStatus make_program(SplitArgs *a, bool lean) {
  StcPlan *p = a->plan;
  Split *s = p->split;
  if (phases_are_needed(p))
    return phases_make(p, a->cut, lean, &s->program);
  StcStatus st = program_distribute(p->program, a->cut, lean, &s->program);
  if (!st)
    s->program->packs = !s->turns;
  if (!st)
    s->program->mirrors = mirrors_wanted(p);
  return st;
}

/* Makes the program for a part: for plans in which no rank has the whole grid, if that is possible (s->lean). */
static StcStatus distribute(SplitArgs *a) {
  StcPlan *p = a->plan;
  Split *s = p->split;
  bool lean = false;
  StcStatus st = a->lean ? allows_lean(p, a->cut, &lean) : STC_OK;
  lean = lean && !prefers_whole(a);
  if (st)
    return st;
  st = make_program(a, lean);
  s->lean = lean && !st && (s->program->module->ninits > 0 || p->program->module->ninits == 0);
  if (!s->lean || rings_fit(a, s->program))
    return st;
  s->lean = false;
  phases_close(p);
  stc_program_free(s->program);
  s->program = NULL;
  return make_program(a, false);
}

/* Places the parts that take turns as was chosen. */
static StcStatus place_chosen(StcPlan *p) {
  StcStatus st = split_check_shape(p);
  if (!st)
    place_parts(p);
  if (!st && p->split->turns->skew)
    skew_place(p);
  return st;
}

/* How often code is made for parts that take turns, each time for the parts that are best with the code before. */
enum { PASSES = 4 };

/* Places the parts that take turns so that they fit the memory. asked: their number was requested. The best number
 * depends on their code, and the code on their size. So it makes code for a first number of parts, then for the number
 * that is best with that code, and so on; it takes the parts that are best with their own code. */
static StcStatus place_turns(SplitArgs *a, bool asked) {
  StcPlan *p = a->plan;
  Split *s = p->split;
  struct Turns *t = s->turns, best = {0};
  int64_t every = s->every, steps = 0, parts = 0;
  StcStatus st = STC_OK;
  for (int pass = 0; pass < PASSES && !st; pass++) {
    s->every = every;
    if (t->fitting)
      s->part[0].hi[t->dimension] = s->part[0].lo[t->dimension] + t->fitting - 1;
    t->skew = NULL;
    t->code = part_defines(a, 0, every ? every : 1, &t->ncode);
    st = prepare_part(a, s->begin, true);
    if (!st && t->card)
      s->part[s->begin].plan->device.limits = *t->card;
    bool made = !st;
    if (!st)
      st = turns_choose(p, asked, !parts, a->n, a->defines);
    t->schedule = st ? NULL : arena_printf(p->w.arena, "%s", s->part[s->begin].plan->schedule);
    stc_plan_free(s->part[s->begin].plan);
    s->part[s->begin].plan = NULL;
    if (made && parts && st == STC_MEMORY) { /* no cut fits with that code: use the one for the code before */
      st = STC_OK;
      break;
    }
    if (!st)
      st = place_chosen(p);
    if (st || !pass || (parts && t->step >= best.step))
      continue;
    best = *t;
    steps = s->every;
    parts = s->parts[t->dimension];
  }
  if (st)
    return st;
  *t = best;
  s->every = steps;
  s->parts[t->dimension] = parts;
  return place_chosen(p);
}

/* Cuts the grid of the plan, and prepares the parts of this rank. */
static StcStatus cut_grid(SplitArgs *a) {
  StcPlan *p = a->plan;
  Split *s = p->split;
  StcStatus st = check_program(p);
  if (!st && s->turns)
    st = check_turns(p);
  s->rank = p->module->grid.rank;
  for (int d = 0; d < s->rank; d++) {
    s->lo[d] = affine_eval(p->module->grid.lo[d], p->scalars, NULL);
    s->hi[d] = affine_eval(p->module->grid.hi[d], p->scalars, NULL);
  }
  bool asked = a->cut && *a->cut != '/';
  for (int d = 0; d < MAX_RANK; d++)
    s->parts[d] = 1;
  if (!st && (a->cut || !s->turns))
    st = split_read_shape(p, a->cut, devices_of_ranks(a, s->net));
  if (!st && s->turns)
    st = asked ? check_one_dimension(p) : STC_OK;
  if (!st && s->turns)
    st = asked ? asked_dimension(p) : turns_dimension(p);
  if (!st)
    st = split_check_shape(p);
  if (st)
    return st;
  place_parts(p);
  a->cut = cut_text(p->w.arena, s);
  st = distribute(a);
  if (!st && a->lean == LEAN_MUST && !s->lean)
    return diag_error(
               p->w.diags, no_loc(),
               "%s needs the whole grid in one place: it has `levels`, or an `init`, `reduce`, `until` or `probe` that "
               "looks far beyond "
               "the edge of a field, or an `init` of a periodic field that looks further than its stencils",
               p->program->name),
           STC_USAGE;
  if (!st && !s->lean)
    st = check_probes(p);
  if (!st && s->turns)
    st = place_turns(a, asked);
  for (int i = s->begin; i < s->end && !st && !(s->turns && s->turns->card); i++)
    st = prepare_part(a, i, false);
  return st || (!s->lean && !s->phases) ? st : watching_open(p, a->cut);
}

/* Makes the parts, and computes their transfers. */
static StcStatus make_parts(SplitArgs *a) {
  StcPlan *p = a->plan;
  Split *s = p->split;
  int n;
  const char *const *defines = part_defines(a, s->begin, s->every ? s->every : 1, &n);
  StcStatus st = split_choose_every(p, s->phases ? phases_steps(p) : 0, n, defines);
  if (!st && s->net && !s->lean && split_leads(s))
    st = take_whole(a);
  for (int k = 0; k < s->nparts && !st; k++)
    st = make_part(a, (s->begin + k) % s->nparts);
  if (st)
    return st;
  if (!s->turns)
    split_find_transfers(p);
  st = s->turns ? turns_open(p) : STC_OK;
  return st || (s->turns && s->turns->skew) ? st : ghosts_open(p);
}

/* Reports how the grid is cut. */
static void describe(StcPlan *p) {
  Split *s = p->split;
  Str shape = {.arena = p->w.arena};
  for (int d = 0; d < s->rank; d++)
    str_addf(&shape, d ? "x%lld" : "%lld", (long long)s->parts[d]);
  if (s->turns) {
    p->schedule = arena_printf(p->w.arena, "%s, %d parts in turn, %lld step%s a turn", s->part[s->begin].plan->schedule,
                               s->nparts, (long long)s->every, s->every > 1 ? "s" : "");
    return;
  }
  str_addf(&shape, " parts");
  if (s->net && s->net->size > 1)
    str_addf(&shape, " on %d ranks", s->net->size);
  p->schedule =
      arena_printf(p->w.arena, "%s, %s, exchange by %s after %lld step%s", s->part[s->begin].plan->schedule, shape.s,
                   s->ranks ? s->net->library : s->transport->name, (long long)s->every, s->every > 1 ? "s" : "");
}

/* Cuts the grid and makes the parts; with several ranks, agrees on the status. */
static StcStatus open_guarded(void *arg) {
  SplitArgs *a = arg;
  StcPlan *p = a->plan;
  p->split->devices = arena_printf(p->w.arena, "%s", a->text);
  StcStatus st = split_agree(p, cut_grid(a));
  if (!st)
    split_weigh(p, a->n, a->defines);
  if (!st)
    st = split_agree(p, make_parts(a));
  if (!st)
    st = split_agree(p, transports_open(p));
  if (!st)
    describe(p);
  p->split->agreed = true;
  return st;
}

void split_close(StcPlan *p) {
  Split *s = p->split;
  if (!s)
    return;
  split_forget_periods(p);
  if (s->transport && s->transport->close)
    s->transport->close(p);
  mpi_close(p);
  turns_close(p);
  watching_close(p);
  phases_close(p);
  ghosts_close(p);
  for (int i = s->end - 1; i >= s->begin && s->part; i--)
    stc_plan_free(s->part[i].plan);
  stc_program_free(s->program);
  if (s->own_net)
    net_close(s->net);
  p->split = NULL;
}

/* ---------------------------------------------------------------- devices */

/* The argument of the guarded function that parses the names of devices. */
typedef struct DeviceList {
  StcProgram *program;
  const char *text;
  int n;
  const char *names[MOST_DEVICES];
  const Net *net;
  int cores; /* for this rank */
} DeviceList;

/* Lists all devices of the kind that the first `n` characters name; only the kind if their number is not known. */
static void all_devices(DeviceList *l, size_t n) {
  Arena *a = l->program->w.arena;
  int count = 0;
  for (int i = 0; device_table[i]; i++)
    if (strlen(device_table[i]->name) == n && memcmp(device_table[i]->name, l->text, n) == 0 && device_table[i]->count)
      count = device_table[i]->count();
  l->names[l->n++] = arena_strndup(a, l->text, n);
  for (int i = 0; i < count && i < MOST_DEVICES; i++)
    l->names[i] = arena_printf(a, "%.*s:%d", (int)n, l->text, i);
  l->n = count > MOST_DEVICES ? MOST_DEVICES : count > 1 ? count : 1;
}

/* Splits "cuda:0-3", "cuda:0,2,2" or "cuda:all" into names; any other text is one name. */
static StcStatus read_devices(void *arg) {
  DeviceList *l = arg;
  Arena *a = l->program->w.arena;
  const char *colon = strchr(l->text, ':'), *at = colon ? colon + 1 : "";
  l->n = 0;
  if (strcmp(at, "all") == 0)
    return all_devices(l, (size_t)(colon - l->text)), STC_OK;
  l->names[l->n++] = l->text;
  if (!strpbrk(at, ",-"))
    return STC_OK;
  l->n = 0;
  for (bool more = true; more;) {
    char *end;
    long first = strtol(at, &end, 10), last = first;
    bool good = end != at && first >= 0;
    if (good && *end == '-') {
      at = end + 1;
      last = strtol(at, &end, 10);
      good = end != at && last >= first && last < 65536;
    }
    more = *end == ',';
    good = good && (more || !*end) && l->n + last - first < MOST_DEVICES;
    if (!good)
      return diag_error(l->program->w.diags, no_loc(),
                        "device '%s': several devices are written as cuda:0-3 or cuda:0,2, at most %d of them", l->text,
                        MOST_DEVICES),
             STC_USAGE;
    for (long i = first; i <= last; i++)
      l->names[l->n++] = arena_printf(a, "%.*s%ld", (int)(colon + 1 - l->text), l->text, i);
    at = end + 1;
  }
  return STC_OK;
}

/* Reduces the list to the devices of this rank: its share of a list; of a kind of GPU, the one with its number among
 * the ranks of this machine; of the host's cores, as many as it gets. */
static StcStatus take_share(void *arg) {
  DeviceList *l = arg;
  const Net *net = l->net;
  Arena *a = l->program->w.arena;
  int first = net->local_rank * l->n / net->local_size, end = (net->local_rank + 1) * l->n / net->local_size;
  if (l->n > 1 && end == first)
    end = first + 1;
  for (int i = first; i < end && l->n > 1; i++)
    l->names[i - first] = l->names[i];
  if (l->n > 1)
    return l->n = end - first, STC_OK;
  const DeviceKind *kind = NULL;
  for (int i = 0; device_table[i] && !strchr(l->names[0], ':'); i++)
    if (strcmp(device_table[i]->name, l->names[0]) == 0)
      kind = device_table[i];
  int count = kind && kind->count ? kind->count() : 0;
  if (count > 0)
    l->names[0] = arena_printf(a, "%s:%d", kind->name, net->local_rank % count);
  else if (kind == &device_host)
    l->names[0] = arena_printf(a, "host:%d", l->cores);
  return STC_OK;
}

/* Parts that take turns leave one SPARED-th of the device's free memory unused. */
enum { SPARED = 16 };

/* Makes the whole grid's plan; with several ranks, only the first has memory. cut: it will have parts, which copy cells
 * directly from its rows. *most: plan_new_split's `memory`; set to the existing memory where that must be determined.
 */
static StcStatus make_whole(DeviceList *l, Net *net, bool cut, double *most, int n, const char *const *defines,
                            StcPlan **out) {
  double memory = *most;
  StcStatus s = workspace_guard(&l->program->w, read_devices, l);
  l->net = net;
  l->cores = net ? net_cores(net) : 0;
  if (!s && net && net->size > 1)
    s = workspace_guard(&l->program->w, take_share, l);
  if (!s && memory > 0 && (net || l->n > 1))
    return context_error(l->program->w.context,
                         "a grid that is to fit so much memory (--memory) is for one device of one process"),
           STC_USAGE;
  if (!s && memory < 0 && !net && l->n == 1 && !cut && l->program->kind != SOURCE_KIR && !l->program->options.passes) {
    s = plan_new_fitting(l->program, l->names[0], n, defines, most, out);
    if (*most <= 0)
      return s;
    memory = *most -= *most / SPARED;
    s = STC_OK;
  }
  if (!s && memory > 0)
    return plan_new_within(l->program, l->names[0], memory, cut, n, defines, out);
  return s ? s : plan_new(l->program, l->names[0], net != NULL, cut || l->n > 1 || net, n, defines, out);
}

/* Makes a plan of program `q` that is cut like `p`. */
static StcStatus split_like(const StcPlan *p, StcProgram *q, int n, const char *const *defines, StcPlan **out) {
  const Split *s = p->split;
  char shape[MAX_RANK * 24];
  int end = 0;
  for (int d = 0; d < s->rank; d++)
    end += snprintf(shape + end, sizeof shape - (size_t)end, d ? "x%lld" : "%lld", (long long)s->parts[d]);
  return plan_new_split(q, NULL, s->devices, shape, LEAN_NEVER, s->turns ? (int64_t)s->turns->budget : 0, n, defines,
                        out);
}

/* Gives the plan parts that take turns within `budget` bytes; they are not placed yet. */
static StcStatus add_turns(StcPlan *p, double budget, const TargetInfo *card) {
  StcContext *c = p->w.context;
  p->split = c->realloc(c->user, NULL, sizeof *p->split);
  if (!p->split)
    return context_error(c, "out of memory"), STC_MEMORY;
  *p->split = (Split){.turns = ARENA_NEW(p->w.arena, Turns)};
  p->split->turns->budget = budget;
  p->split->turns->given = true;
  p->split->turns->card = card;
  return STC_OK;
}

/* Only cuts the grid. */
static StcStatus cut_guarded(void *arg) { return cut_grid(arg); }

/* The functions of plans with parts. */
static const SplitOps split_ops = {.run = split_run,
                                   .leave = split_leave,
                                   .close = split_close,
                                   .has_ranks = split_has_ranks,
                                   .is_lean = split_is_lean,
                                   .set_array = split_set_array,
                                   .restart = split_restart,
                                   .put_frame = split_put_frame,
                                   .copy_frame = split_copy_frame,
                                   .like = split_like};

StcStatus turns_foresee(StcProgram *program, const TargetInfo *card, int64_t memory, const char *split, Arena *a,
                        const char **text) {
  StcPlan *p = NULL;
  const char *names[] = {"sim"};
  StcStatus s = plan_new(program, names[0], true, true, 0, NULL, &p);
  *text = NULL;
  if (!s && !split && !turns_needed(p, (double)memory)) {
    char most[MEMORY_TEXT];
    *text = arena_printf(a, "the grid fits %s as a whole", memory_text(most, (double)memory));
  } else if (!s) {
    s = add_turns(p, (double)memory, card);
    p->split_ops = &split_ops;
    SplitArgs args = {p, LEAN_NEVER, split, names, 1, 0, NULL, names[0]};
    s = s ? s : workspace_guard(&p->w, cut_guarded, &args);
    *text = s ? NULL : turns_describe(p, a);
  }
  stc_plan_free(p);
  return s;
}

StcStatus plan_new_split(StcProgram *program, Net *net, const char *device, const char *split, Lean lean,
                         int64_t memory, int n, const char *const *defines, StcPlan **out) {
  DeviceList l = {.program = program, .text = device ? device : "host"};
  StcContext *c = program->w.context;
  *out = NULL;
  double most = (double)memory;
  StcStatus s = make_whole(&l, net, split != NULL, &most, n, defines, out);
  bool turns = !s && (*out)->memory.outside;
  if (!s && (split || l.n > 1 || net || turns)) {
    (*out)->split = c->realloc(c->user, NULL, sizeof *(*out)->split);
    if (!(*out)->split)
      s = (context_error(c, "out of memory"), STC_MEMORY);
    else
      *(*out)->split = (Split){.net = net};
    (*out)->split_ops = &split_ops;
  }
  s = ranks_agree(c, net, s);
  SplitArgs args = {*out, net ? lean : LEAN_NEVER, split, l.names, l.n, n, defines, l.text};
  if (turns && !s) {
    (*out)->split->turns = ARENA_NEW((*out)->w.arena, Turns);
    (*out)->split->turns->budget = most;
    (*out)->split->turns->given = memory > 0;
  }
  if (!s && (*out)->split)
    s = workspace_guard(&(*out)->w, open_guarded, &args);
  if (*out && (*out)->split)
    s = net_leave(c, net, (*out)->split->agreed, s);
  if (s) {
    stc_plan_free(*out);
    *out = NULL;
  }
  return s;
}

StcStatus stc_plan_new_split(StcProgram *program, const char *device, const char *split, int n,
                             const char *const *defines, StcPlan **out) {
  return plan_new_split(program, NULL, device, split, LEAN_NEVER, 0, n, defines, out);
}

StcStatus stc_plan_new_within(StcProgram *program, const char *device, int64_t memory, const char *split, int n,
                              const char *const *defines, StcPlan **out) {
  if (memory < 1) {
    *out = NULL;
    return context_error(program->w.context, "stc_plan_new_within: %lld bytes of memory hold nothing",
                         (long long)memory),
           STC_USAGE;
  }
  return plan_new_split(program, NULL, device, split, LEAN_NEVER, memory, n, defines, out);
}
