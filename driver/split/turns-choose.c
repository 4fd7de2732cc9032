/* turns-choose.c: how many parts take turns on a device, and how many steps a turn has. More steps mean that what comes
 * in and goes out is worth more launches, and more ghost cells, which take memory and are computed twice; more parts
 * mean that each takes less memory, and more ghost cells. Of all pairs that fit the memory that one is taken which
 * makes the most steps in the time: the longer one of copying and of launching, since they go on side by side. */
#include "driver/split/turns.h"

#include <math.h>
#include <stdlib.h>

/* Bytes that are copied each way to measure a link; GB/s that none has. */
enum { TRIED_BYTES = 1 << 26, FASTEST_LINK = 1000 };
/* At most so many launches a turn, and parts. */
enum { MOST_LAUNCHES = 128, MOST_TURNS = 1024 };
/* GB/s of copies, and of memory, where nothing is known of a device. */
enum { SLOW_LINK = 1, SLOW_MEMORY = 4 };

/* What is asked of a cut: its params, and what steps read along the dimension. row: seconds that a step of a row takes;
 * launch: a launch, beside that; steps: those of one. ring: is a field periodic? trimmed: launches compute no more
 * than those behind them need. in, out: bytes of all that comes in and goes out in a round. */
typedef struct Choosing {
  StcPlan *p;
  int n;
  const char *const *defines;
  int64_t extent, steps, lo, hi;
  bool ring, trimmed;
  double row, launch, in, out, link;
} Choosing;

/* The params, c->n + 3 of them, for part `i` of `parts` with so many steps a turn. */
static const char *const *defines_of(const Choosing *c, int64_t parts, int64_t steps, int64_t i) {
  StcPlan *p = c->p;
  Arena *a = p->w.arena;
  int d = p->split->turns->dimension;
  int64_t lo, hi;
  const char **all = ARENA_ARRAY(a, const char *, c->n + 4);
  for (int k = 0; k < c->n; k++)
    all[k] = c->defines[k];
  split_part_range(p->split, d, parts, i, &lo, &hi);
  all[c->n] = arena_printf(a, "part.lo.%d=%lld", d, (long long)lo);
  all[c->n + 1] = arena_printf(a, "part.hi.%d=%lld", d, (long long)hi);
  all[c->n + 2] = arena_printf(a, "part.steps=%lld", (long long)steps);
  return all;
}

/* The values of the scalars of the parts' module with them. */
static const Const *scalars_of(const Choosing *c, int64_t parts, int64_t steps, int64_t i) {
  StcPlan *p = c->p;
  return program_bind(p->split->program, p->split->part[p->split->begin].plan->module, p->w.arena, p->w.diags, c->n + 3,
                      defines_of(c, parts, steps, i));
}

/* Is it a field that lasts from turn to turn? */
static bool lasts(const StcPlan *p, const Module *m, int field) {
  int whole = m->fields[field].temp ? -1 : module_find_field(p->module, m->fields[field].name);
  return whole >= 0 && !p->module->fields[whole].temp;
}

/* The part that the middle of the field's points lies in. */
static int64_t middle_part(const Choosing *c, int field, int64_t parts) {
  const StcPlan *p = c->p;
  const Split *s = p->split;
  int d = s->turns->dimension;
  int64_t middle = s->lo[d] + (s->hi[d] - s->lo[d]) / 2;
  const Module *m = s->part[s->begin].plan->module;
  int whole = m->fields[field].temp ? -1 : module_find_field(p->module, m->fields[field].name);
  if (whole >= 0 && !field_lacks(&p->module->fields[whole], d)) {
    const Box *box = &p->module->fields[whole].box;
    middle = (affine_eval(box->lo[d], p->scalars, NULL) + affine_eval(box->hi[d], p->scalars, NULL)) / 2;
  }
  int64_t part = (middle - s->lo[d]) * parts / c->extent;
  return part < 0 ? 0 : part >= parts ? parts - 1 : part;
}

/* The bytes of field `f` that the largest part has: of those with a point more and of the others the one that lies most
 * in the middle, whose ghost cells no edge cuts off. Infinite after an error. */
static double most_bytes(const Choosing *c, int f, int64_t parts, int64_t steps) {
  const Module *m = c->p->split->part[c->p->split->begin].plan->module;
  int64_t middle = middle_part(c, f, parts), more = c->extent % parts,
          at[] = {more && middle >= more ? more - 1 : middle, middle < more ? more : middle};
  double most = 0;
  for (int k = 0; k < 2; k++) {
    const Const *scalars = scalars_of(c, parts, steps, at[k] < parts ? at[k] : parts - 1);
    int64_t shape[MAX_RANK];
    double bytes = (double)type_bytes(m, m->fields[f].type);
    if (!scalars)
      return INFINITY;
    field_shape(&m->fields[f], scalars, shape);
    for (int d = 0; d < m->fields[f].box.rank; d++)
      bytes *= shape[d] > 0 ? (double)shape[d] : 1;
    most = bytes > most ? bytes : most;
  }
  return most;
}

/* Have plans of parts buffers of kernels, or will on the card? */
static bool has_kernels(const Choosing *c) {
  const StcPlan *q = c->p->split->part[c->p->split->begin].plan;
  return q->build && (!q->device.kind->whole || c->p->split->turns->card);
}

/* The bytes that all take on the device: of a field that lasts what one part has while it works, the next one while it
 * comes in and, if steps change it, the one before while it goes out; of others what one part has. Infinite after an
 * error. */
static double bytes_of(const Choosing *c, int64_t parts, int64_t steps) {
  const StcPlan *p = c->p, *q = p->split->part[p->split->begin].plan;
  const Module *m = q->module, *k = has_kernels(c) ? q->build->code.module : NULL;
  const Const *scalars = scalars_of(c, parts, steps, 0);
  double sum = 0, lead = 0;
  if (!scalars)
    return INFINITY;
  for (int b = 0; k && b < k->nbuffers && q->device.kind->stage_new; b++)
    lead = k->buffers[b].lead > lead ? k->buffers[b].lead : lead;
  for (int f = 0; f < m->nfields; f++)
    if (lasts(p, m, f))
      sum +=
          (m->fields[f].exchange == EXCHANGE_STEPS ? 3 : 2) * turns_block(most_bytes(c, f, parts, steps), (size_t)lead);
  for (int b = 0; k && b < k->nbuffers; b++) {
    const Buffer *x = &k->buffers[b];
    if (x->kind == BUFFER_SCRATCH)
      sum += turns_block((size_t)x->cells * (size_t)(x->each ? grid_members(k, q->scalars) : 1) *
                             (size_t)type_size(x->type),
                         (size_t)lead);
    else if (x->kind == BUFFER_FIELD && (x->copy > 0 || !lasts(p, m, x->field)))
      sum += turns_block(most_bytes(c, x->field, parts, steps), (size_t)lead);
  }
  for (int i = 0; i < m->nparam_arrays; i++)
    sum += turns_block(
        (size_t)param_array_extent(&m->param_arrays[i], scalars) * (size_t)type_size(m->param_arrays[i].type) + 1, 0);
  return sum;
}

/* The fewest parts that fit the budget with so many steps a turn; 0: none do. */
static int64_t fewest_parts(const Choosing *c, int64_t steps) {
  double budget = c->p->split->turns->budget;
  int64_t none = 0, most = c->extent < MOST_TURNS ? c->extent : MOST_TURNS;
  if (bytes_of(c, most, steps) > budget)
    return 0;
  for (int64_t middle; most - none > 1;) {
    middle = none + (most - none) / 2;
    if (bytes_of(c, middle, steps) > budget)
      none = middle;
    else
      most = middle;
  }
  return most;
}

/* The seconds of the launches of a round. */
static double launch_seconds(const Choosing *c, int64_t parts, int64_t steps) {
  double rows = (double)((c->extent + parts - 1) / parts),
         left = c->trimmed ? (double)(steps - c->steps) / 2 : (double)steps;
  return (double)parts * ((double)steps * c->row * (rows + left * (double)(c->lo + c->hi)) +
                          (double)steps / (double)c->steps * c->launch);
}

/* The seconds of a step in rounds of so many. What the first part waits for, and the last one, nothing goes on beside.
 */
static double step_seconds(const Choosing *c, int64_t parts, int64_t steps) {
  double launches = launch_seconds(c, parts, steps), in = c->in / c->link, out = c->out / c->link,
         most = in > out ? in : out;
  if (!c->p->split->turns->beside)
    return (launches + in + out) / (double)steps;
  return ((launches > most ? launches : most) + (in + out) / (double)parts) / (double)steps;
}

/* GB/s that the device copies each way while it copies the other way, measured once it has begun; 0: it cannot be. */
static double measured_link(const StcPlan *p) {
  Device *d = &p->split->part[p->split->begin].plan->device;
  const DeviceKind *kind = d->kind;
  char *here = p->split->turns->beside && kind->carry ? kind->pinned_new(d, 2 * (size_t)TRIED_BYTES) : NULL;
  void *there = NULL;
  double start = 0, seconds = 0;
  StcStatus s = here ? kind->alloc(d, 2 * (size_t)TRIED_BYTES, &there) : STC_DEVICE;
  for (int try = 0; try < 2 && !s && there; try++) {
    start = clock_seconds();
    s = kind->carry(d, LANE_IN, there, here, TRIED_BYTES, false);
    s = s ? s : kind->carry(d, LANE_OUT, here + TRIED_BYTES, (char *)there + TRIED_BYTES, TRIED_BYTES, true);
    for (int lane = LANE_IN; lane <= LANE_OUT && !s; lane++)
      s = kind->mark(d, lane);
    for (int lane = LANE_IN; lane <= LANE_OUT && !s; lane++)
      s = kind->await(d, lane);
    seconds = clock_seconds() - start;
  }
  if (there)
    kind->release(d, there, 2 * (size_t)TRIED_BYTES);
  if (here)
    kind->pinned_free(d, here);
  double rate = s || seconds <= 0 ? 0 : TRIED_BYTES / (seconds * 1e9);
  return rate < FASTEST_LINK ? rate : 0;
}

/* Finds the bytes of a round, and how long launches and copies take. */
static void measure(Choosing *c) {
  StcPlan *p = c->p;
  const Split *s = p->split;
  const StcPlan *q = s->part[s->begin].plan;
  const Module *m = q->module, *k = q->build ? q->build->code.module : NULL;
  const TargetInfo *t = &q->device.limits;
  int d = s->turns->dimension;
  int64_t rows = s->part[s->begin].hi[d] - s->part[s->begin].lo[d] + 1;
  c->extent = s->hi[d] - s->lo[d] + 1;
  c->lo = m->part->reach.lo[d];
  c->hi = m->part->reach.hi[d];
  c->steps = k && k->host.nseqs && has_kernels(c) ? k->host.seqs[0].steps : 1;
  c->trimmed = k && k->host.nseqs && launches_trimmed(q);
  for (int f = 0; f < m->nfields; f++) {
    int64_t shape[MAX_RANK];
    int whole = module_find_field(p->module, m->fields[f].name);
    c->ring |= m->fields[f].ring;
    if (!lasts(p, m, f))
      continue;
    double bytes =
        (double)(field_shape(&p->module->fields[whole], p->scalars, shape) * type_bytes(m, m->fields[f].type));
    c->in += bytes;
    c->out += m->fields[f].exchange == EXCHANGE_STEPS ? bytes : 0;
  }
  const TargetInfo *target = q->build ? target_info(q->build->code.target) : t;
  bool known = k && k->host.nseqs && t->bandwidth > 0 && target->simt;
  double measured = measured_link(p);
  c->link = 1e9 * (measured > 0 ? measured : target->link > 0 ? target->link : SLOW_LINK);
  c->launch = 1e-6 * target->launch_us;
  c->row = known ? split_launch_seconds(p, s->begin, c->n + 3, defines_of(c, s->parts[d], 1, 0)) /
                       ((double)c->steps * (double)rows)
                 : (c->in + c->out) / ((double)c->extent * 1e9 * (t->bandwidth > 0 ? t->bandwidth : SLOW_MEMORY));
}

/* There is too little memory. */
static StcStatus too_little(const Choosing *c, int64_t parts, int64_t steps) {
  char least[MEMORY_TEXT], budget[MEMORY_TEXT];
  int64_t most = c->extent < MOST_TURNS ? c->extent : MOST_TURNS;
  diag_error(
      c->p->w.diags, no_loc(),
      "parts of the grid that take turns on %s do not fit %s of its memory: %lld of them, %lld step%s a turn, take "
      "%s",
      c->p->device.name, memory_text(budget, c->p->split->turns->budget), (long long)(parts ? parts : most),
      (long long)steps, steps > 1 ? "s" : "", memory_text(least, bytes_of(c, parts ? parts : most, steps)));
  return STC_MEMORY;
}

/* Do so many steps reach around a ring no more than once? */
static bool ring_fits(const Choosing *c, int64_t steps) {
  return !c->ring || (c->lo > c->hi ? c->lo : c->hi) * steps <= c->extent;
}

StcStatus turns_choose(StcPlan *p, bool parts_asked, int n, const char *const *defines) {
  Split *s = p->split;
  struct Turns *t = s->turns;
  Choosing c = {.p = p, .n = n, .defines = defines};
  const DeviceKind *kind = p->device.kind;
  t->beside = kind->carry && kind->mark && kind->follow && kind->send && kind->pinned_new;
  t->beside |= t->card && t->card->link > 0;
  double left, total;
  if (kind->room && kind->room(&p->device, &left, &total) && left < t->budget)
    t->budget = left;
  measure(&c);
  int64_t asked = parts_asked ? s->parts[t->dimension] : 0, first = s->every ? s->every : c.steps, best = 0, parts = 0;
  double least = INFINITY;
  for (int64_t launches = 1; launches <= (s->every ? 1 : MOST_LAUNCHES); launches += launches < 16 ? 1 : launches / 8) {
    int64_t steps = first * launches, fewest = asked ? asked : fewest_parts(&c, steps);
    if (!fewest || (asked && bytes_of(&c, asked, steps) > t->budget) || (!s->every && !ring_fits(&c, steps)))
      break;
    double seconds = step_seconds(&c, fewest, steps);
    if (seconds >= least)
      continue;
    least = seconds;
    best = steps;
    parts = fewest;
  }
  for (int64_t steps = first / 2; steps > 0 && !best && !s->every; steps /= 2) {
    parts = asked ? asked : fewest_parts(&c, steps);
    best = parts && bytes_of(&c, parts, steps) <= t->budget && ring_fits(&c, steps) ? steps : 0;
  }
  if (!best)
    return too_little(&c, asked, s->every ? first : 1);
  s->parts[t->dimension] = parts;
  s->every = best;
  t->in = c.in;
  t->out = c.out;
  t->link = c.link;
  t->seconds = launch_seconds(&c, parts, best);
  t->needed = bytes_of(&c, parts, best);
  return STC_OK;
}

bool turns_needed(const StcPlan *p, double memory) {
  const Module *k = p->build ? p->build->code.module : NULL;
  double sum = 0;
  for (int i = 0; i < p->memory.nslots; i++)
    sum += (double)p->memory.slots[i].size;
  for (int b = 0; k && b < k->nbuffers; b++) {
    int64_t shape[MAX_RANK];
    const Field *f =
        k->buffers[b].kind == BUFFER_FIELD && k->buffers[b].copy > 0 ? &k->fields[k->buffers[b].field] : NULL;
    sum += f ? (double)field_shape(f, p->scalars, shape) * (double)type_bytes(k, f->type) : 0;
  }
  return sum > memory;
}

const char *turns_describe(const StcPlan *p, Arena *a) {
  const Split *s = p->split;
  const Turns *t = s->turns;
  char budget[MEMORY_TEXT], used[MEMORY_TEXT];
  return arena_printf(
      a,
      "%d part%s take turns within %s of %s (%s), %lld step%s a turn; a round copies %.3g GB in and %.3g GB "
      "out, %.3g s at %.3g GB/s each way, and launches %.3g s, by the model",
      s->nparts, s->nparts > 1 ? "s" : "", memory_text(budget, t->budget), t->card ? t->card->cpu : p->device.name,
      memory_text(used, t->needed), (long long)s->every, s->every > 1 ? "s" : "", 1e-9 * t->in, 1e-9 * t->out,
      (t->in > t->out ? t->in : t->out) / t->link, 1e-9 * t->link, t->seconds);
}
