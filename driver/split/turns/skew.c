/* skew.c: parts that move down the grid from launch to launch (time skewing: M. Wolfe, "More iteration space tiling",
 * Supercomputing 1989; here between a card's memory and host memory). Let launch number j of a part store rows [lo ..
 * hi] minus j times `shift`, and let no launch read further than `shift`. Then everything that it reads below its own
 * rows was stored by the part before, and has not been overwritten, because the later launches of that part are further
 * down. So no cell is computed twice, however many steps a turn has, and instead of ghost cells parts need memory only
 * for what the part before leaves.
 *
 * All parts have their rows of a field in one piece of memory, in which the rows of a part follow those of the part
 * before. This memory is circular: rows that are complete make room for those that are copied in. */
#include "driver/split/turns/turns.h"

#include <string.h>

/* Bytes of a circle before and after what parts use, for loads of whole vectors there. */
enum { CIRCLE_LEAD = 512 };

static int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---------------------------------------------------------------- conditions */

/* Does kernel number `named`, and each that may be launched in its place, store only the rows that are set for the
 * launch? */
static bool covers_rows(const Module *m, int named, int d) {
  int32_t first = m->part->gives.lo[d].t[0].scalar;
  for (int k = named; k >= 0; k = m->kernels[k].instead - 1) {
    bool covers = false;
    for (int i = 0; i < m->kernels[k].nargs; i++)
      covers |= m->kernels[k].args[i].kind == KARG_SCALAR && m->kernels[k].args[i].index == first;
    if (!covers)
      return false;
  }
  return true;
}

/* Are all launches of the sequence beside each other, before its swaps, and on rows that can be set? */
static bool is_one_launch(const Module *m, const HostSeq *seq, int d) {
  bool one = seq->nops > 0 && seq->ops[0].kind == HOST_LAUNCH && !seq->ops[0].beside, swaps = false;
  for (int i = 0; i < seq->nops && one; i++) {
    bool launch = seq->ops[i].kind == HOST_LAUNCH;
    swaps |= !launch;
    one = launch ? !swaps && (!i || seq->ops[i].beside) && covers_rows(m, seq->ops[i].a, d)
                 : seq->ops[i].kind == HOST_SWAP;
  }
  return one;
}

bool skew_is_ring(const StcPlan *p, const StcPlan *q) {
  bool ring = false;
  for (int f = 0; f < q->module->nfields; f++)
    ring |= q->module->fields[f].ring && !field_lacks(&q->module->fields[f], p->split->turns->dimension);
  return ring;
}

/* Do all steps do the same, do fields that change have rows, and are either all fields with rows periodic or none? */
static bool fields_allow(const StcPlan *p, const StcPlan *q) {
  const Module *m = q->module;
  int d = p->split->turns->dimension;
  bool allow = true;
  for (int i = 0; i < m->nstencils; i++)
    allow = allow && m->stencils[i].every <= 1;
  for (int b = 0; b < q->build->code.module->nbuffers; b++)
    allow = allow && !(q->build->code.module->buffers[b].kind == BUFFER_FIELD &&
                       m->fields[q->build->code.module->buffers[b].field].temp);
  for (int f = 0; f < m->nfields; f++)
    allow = allow && (field_lacks(&m->fields[f], d) || m->fields[f].ring == skew_is_ring(p, q)) &&
            !(field_lacks(&m->fields[f], d) && m->fields[f].exchange == EXCHANGE_STEPS);
  return allow;
}

/* Has the device, or the card that is estimated, circular memory? If other devices of its kind have it and this one
 * does not, that is recorded. */
static bool has_circles(const StcPlan *p, const StcPlan *q) {
  struct Turns *t = p->split->turns;
  const DeviceKind *kind = q->device.kind;
  if (t->card)
    return t->card->circles;
  t->uncircled = kind->circle_step && !kind->circle_step((Device *)&q->device);
  return kind->circle_step && !t->uncircled;
}

bool skew_is_possible(const StcPlan *p, const StcPlan *q, int64_t steps) {
  const Module *k = q->build && (!q->device.kind->whole || p->split->turns->card) ? q->build->code.module : NULL;
  int d = p->split->turns->dimension;
  /* rows along another dimension than the first are not contiguous */
  if (!k || !k->part || d > 0 || k->grid.rank < 2 || affine_equal(k->part->gives.lo[d], k->grid.lo[d]) ||
      !fields_allow(p, q))
    return false;
  bool any = false;
  for (int i = 0; i < k->host.nseqs; i++) {
    const HostSeq *seq = &k->host.seqs[i];
    if (seq->steps > steps)
      continue;
    any |= seq->steps == 1;
    if (seq->steps < 1 || !is_one_launch(k, seq, d))
      return false;
  }
  return any && has_circles(p, q);
}

int64_t skew_launches(const StcPlan *q, int64_t steps) {
  int64_t n = 0;
  for (const HostSeq *seq; steps > 0 && (seq = plan_next_sequence(q, steps)); steps -= seq->steps)
    n++;
  return n;
}

int64_t skew_steps(const StcPlan *q, int64_t steps, int64_t launches) {
  int64_t made = 0;
  const HostSeq *seq;
  for (; made < steps && launches > 0 && (seq = plan_next_sequence(q, steps - made)); launches--)
    made += seq->steps;
  return made;
}

/* Is buffer `b` the memory of the values of field `f`, which lives from turn to turn? */
static bool has_field(const StcPlan *q, const Buffer *b) {
  return b->kind == BUFFER_FIELD && b->copy == 0 && !q->module->fields[b->field].temp;
}

bool skew_is_wide(const StcPlan *q, int64_t steps) {
  const Module *k = q->build->code.module;
  int32_t at[k->nbuffers + 1];
  bool wide = false;
  for (int b = 0; b < k->nbuffers; b++)
    at[b] = b;
  for (const HostSeq *seq; steps > 0 && (seq = plan_next_sequence(q, steps)); steps -= seq->steps)
    host_swap(seq, 0, at);
  for (int b = 0; b < k->nbuffers; b++)
    wide |= has_field(q, &k->buffers[b]) && q->module->fields[k->buffers[b].field].exchange == EXCHANGE_STEPS &&
            has_field(q, &k->buffers[at[b]]);
  return wide;
}

/* ---------------------------------------------------------------- places */

void skew_place(StcPlan *p) {
  Split *s = p->split;
  Skew *w = s->turns->skew;
  int d = s->turns->dimension;
  const Extent *reach = &s->program->module->part->reach;
  int64_t moved = w->ring ? w->launches * w->shift : 0;
  w->place = ARENA_ARRAY(p->w.arena, struct SkewPlace, s->nparts + 1);
  for (int i = 0; i < s->nparts; i++) {
    bool last = i == s->nparts - 1;
    int64_t lo = s->lo[d] + i * w->rows, hi = last ? s->hi[d] : lo + w->rows - 1;
    w->place[i] = (struct SkewPlace){lo, hi};
    /* the part's program adds ghost cells of one launch to the points that these params make its own */
    s->part[i].lo[d] = i ? greater(s->lo[d], lo - w->below + w->steps * reach->lo[d])
                         : s->lo[d] + (w->ring ? w->steps * reach->lo[d] : 0);
    s->part[i].hi[d] = last ? s->hi[d] + moved : hi - w->shift;
  }
}

void skew_owned(const StcPlan *p, int i, int64_t launches, int64_t *lo, int64_t *hi) {
  const Split *s = p->split;
  const Skew *w = s->turns->skew;
  int64_t by = launches * w->shift;
  *lo = i > s->begin ? w->place[i].lo - by : w->place[i].lo + (w->ring ? by : 0);
  *hi = i < s->end - 1 ? w->place[i].hi - by : w->place[i].hi + (w->ring ? by : 0);
}

/* ---------------------------------------------------------------- memory */

/* The number in the parts' module of the field whose rows are in slot `slot` of the parts' plans; -1: none. */
static int field_of_slot(const StcPlan *p, const StcPlan *q, int slot) {
  const Module *k = q->build->code.module;
  for (int b = 0; b < k->nbuffers; b++) {
    const Field *f = k->buffers[b].kind == BUFFER_FIELD ? &q->module->fields[k->buffers[b].field] : NULL;
    if (f && q->memory.of_buffer[b] == slot && !f->temp && !field_lacks(f, p->split->turns->dimension))
      return k->buffers[b].field;
  }
  return -1;
}

/* The bytes of a row of the field in the parts, some of which may have no row of it. */
static int64_t row_bytes(const StcPlan *p, int field) {
  const PartPlan *part = &p->split->part[p->split->begin];
  const Field *f = &part->module->fields[field];
  int64_t shape[MAX_RANK], bytes = type_bytes(part->module, f->type);
  field_shape(f, part->scalars, shape);
  for (int d = 0; d < f->box.rank; d++)
    bytes *= d != p->split->turns->dimension ? shape[d] : 1;
  return bytes;
}

/* The position in the circle, without wrapping, at which the field's cells of part `i` begin. */
static int64_t first_byte(const StcPlan *p, int i, int field, size_t lead) {
  const Split *s = p->split;
  int d = s->turns->dimension;
  return (int64_t)lead +
         (part_array(&s->part[i], field).lo[d] - part_array(&s->part[s->begin], field).lo[d]) * row_bytes(p, field);
}

/* The bytes that the circle needs: from the beginning of a part, or (`wide`) of the part before it, to the end of the
 * next part. */
static int64_t circle_bytes(const StcPlan *p, int field, bool wide) {
  const Split *s = p->split;
  int64_t most = 0;
  int d = s->turns->dimension, before = wide ? 1 : 0;
  for (int i = s->begin; i < s->end; i++) {
    int first = i - before < s->begin ? s->begin : i - before, last = i + 1 < s->end ? i + 1 : i;
    int64_t rows = part_array(&s->part[last], field).hi[d] - part_array(&s->part[first], field).lo[d] + 1;
    most = greater(most, rows);
  }
  return most * row_bytes(p, field);
}

/* Are rows of the field saved for the last part, which continues around the ring? */
static bool kept_aside(const StcPlan *p, int field) {
  const StcPlan *q = p->split->part[p->split->begin].plan;
  return p->split->turns->skew->ring && q->module->fields[field].exchange == EXCHANGE_STEPS;
}

/* The bytes of the field's circle, rounded up as the device requires. */
static size_t circle_size(const StcPlan *p, int field) {
  struct Turns *t = p->split->turns;
  StcPlan *q = p->split->part[p->split->begin].plan;
  int64_t step = (int64_t)q->device.kind->circle_step(&q->device);
  bool wide = t->skew->wide && q->module->fields[field].exchange == EXCHANGE_STEPS;
  int64_t n = circle_bytes(p, field, wide) + 2 * CIRCLE_LEAD;
  return (size_t)((n + step - 1) / step * step);
}

double skew_bytes(const StcPlan *p, int slot) {
  const struct Turns *t = p->split->turns;
  const StcPlan *q = p->split->part[p->split->begin].plan;
  int field = t->shared[slot] ? -1 : field_of_slot(p, q, slot);
  if (field < 0)
    return 0;
  return (double)circle_size(p, field) + (kept_aside(p, field) ? (double)(t->skew->kept * row_bytes(p, field)) : 0);
}

/* Allocates memory for the saved rows of slot `slot`, which holds the field. */
static StcStatus open_aside(StcPlan *p, int slot, int field) {
  struct Turns *t = p->split->turns;
  StcPlan *q = p->split->part[p->split->begin].plan;
  size_t bytes = (size_t)(t->skew->kept * row_bytes(p, field));
  return device_alloc(&q->device, "parts that take turns", bytes, t->needed, &t->skew->aside[slot]);
}

/* Makes the circle of slot `slot`, which holds the field, for all parts. */
static StcStatus open_circle(StcPlan *p, int slot, int field) {
  Split *s = p->split;
  struct Turns *t = s->turns;
  StcPlan *q = s->part[s->begin].plan;
  const DeviceKind *kind = q->device.kind;
  Circle *c = &t->skew->circles[slot];
  c->bytes = circle_size(p, field);
  void *memory = NULL;
  StcStatus st = kind->circle_new(&q->device, c->bytes, &memory);
  c->memory = memory;
  if (!st && !c->memory)
    st = device_no_room(&q->device, "parts that take turns", (double)c->bytes, t->needed);
  for (int i = s->begin; i < s->end && !st; i++) {
    Slot *of = &s->part[i].plan->memory.slots[slot];
    of->memory = c->memory + CIRCLE_LEAD + (size_t)first_byte(p, i, field, t->lead[slot]) % c->bytes;
    of->foreign = true;
  }
  return st;
}

StcStatus skew_open(StcPlan *p) {
  struct Turns *t = p->split->turns;
  const StcPlan *q = p->split->part[p->split->begin].plan;
  StcStatus st = STC_OK;
  t->skew->circles = ARENA_ARRAY(p->w.arena, Circle, t->nslots + 1);
  t->skew->aside = ARENA_ARRAY(p->w.arena, void *, t->nslots + 1);
  for (int slot = 0; slot < t->nslots && !st; slot++) {
    int field = t->shared[slot] ? -1 : field_of_slot(p, q, slot);
    if (field < 0)
      continue;
    t->shared[slot] = true;
    st = open_circle(p, slot, field);
    if (!st && kept_aside(p, field))
      st = open_aside(p, slot, field);
  }
  return st;
}

void skew_close(StcPlan *p) {
  struct Turns *t = p->split->turns;
  StcPlan *q = p->split->part ? p->split->part[p->split->begin].plan : NULL;
  for (int slot = 0; slot < t->nslots && t->skew->circles; slot++)
    if (t->skew->circles[slot].memory)
      q->device.kind->circle_free(&q->device, t->skew->circles[slot].memory, t->skew->circles[slot].bytes);
  for (int slot = 0; slot < t->nslots && t->skew->aside; slot++)
    if (t->skew->aside[slot])
      q->device.kind->release(&q->device, t->skew->aside[slot], 0);
  t->skew->circles = NULL;
  t->skew->aside = NULL;
}

/* Copies the first rows of the grid in all slots of part `i`, where they are higher by `shift`, to the saved rows, or
 * (`back`) from them, in order with launches. */
static StcStatus move_kept(StcPlan *p, int i, int64_t shift, bool back) {
  const Split *s = p->split;
  const struct Turns *t = s->turns;
  StcPlan *q = s->part[i].plan;
  StcStatus st = STC_OK;
  for (int slot = 0; slot < t->nslots && !st && t->skew->aside; slot++) {
    if (!t->skew->aside[slot])
      continue;
    int field = field_of_slot(p, q, slot), d = t->dimension;
    CellArray mine = part_array(&s->part[i], field), kept = mine, box = mine;
    kept.lo[d] = box.lo[d] = s->lo[d] + shift;
    kept.hi[d] = s->lo[d] + shift + t->skew->kept - 1;
    box.hi[d] = kept.hi[d] < mine.hi[d] ? kept.hi[d] : mine.hi[d];
    Runs r = back ? runs_of(s->rank, box.lo, box.hi, &kept, &mine) : runs_of(s->rank, box.lo, box.hi, &mine, &kept);
    char *memory = q->memory.slots[slot].memory, *aside = t->skew->aside[slot];
    st = turns_move(p, i, &r, type_bytes(q->module, q->module->fields[field].type), back ? aside : memory,
                    back ? memory : aside);
  }
  return st;
}

StcStatus skew_put_aside(StcPlan *p) { return move_kept(p, p->split->begin, 0, false); }

StcStatus skew_take_back(StcPlan *p) {
  const Split *s = p->split;
  int d = s->turns->dimension;
  return move_kept(p, s->end - 1, s->hi[d] - s->lo[d] + 1, true);
}

/* ---------------------------------------------------------------- launches */

StcStatus skew_run(StcPlan *p, int i, int64_t steps) {
  StcPlan *q = p->split->part[i].plan;
  int64_t lo, hi;
  StcStatus s = STC_OK;
  for (int64_t number = 1; steps > 0 && !s; number++) {
    const HostSeq *seq = plan_next_sequence(q, steps);
    skew_owned(p, i, number, &lo, &hi);
    s = windows_run_rows(p, i, seq, lo, hi);
    steps -= seq->steps;
  }
  return s;
}
