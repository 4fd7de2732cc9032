/* mirrors.c: launches that store to the ghost cells of other parts themselves (pass mirror-stores), if their devices
 * can access each other's memory. The last launch before an exchange stores what the part owns; it stores rows that
 * other parts hold as ghost cells to these parts, too, and nothing is left to send.
 *
 * This requires that the launch writes all fields that are exchanged, to memory that it does not read, and that nothing
 * before it in its sequence has written since it was read last. Then the other part does not use these cells during the
 * same launch; before that it may use them. So the launch waits for all work that was issued before it to the parts to
 * which it stores, and later work waits for the launches that store to its part:
 *
 *     part 0:  launch k-1 . launch k, stores to part 1 . launch k+1
 *     part 1:  launch k-1 . launch k, stores to part 0 . launch k+1      (.: each waits for the other)
 *
 * Cells that launches do not store, such as those at edges that never change, are valid in both copies of a field once
 * each copy has been exchanged in the usual way; until then, that is done. All other exchanges are as without mirrors.
 */
#include "driver/split/split.h"
#include "passes/base/tuning.h"

#include <string.h>

/* The state of a plan with such launches. dimension: the one that is cut. whole: by slot, has an exchange updated all
 * of it since mirrors_begin? sent: there was an exchange since the last launch that stored. exchanges: their number.
 * values: by part of this rank, by slot. */
typedef struct Mirrors {
  int dimension;
  bool *whole;
  int exchanges;
  bool sent;
  Mirror **values;
} Mirrors;

/* If all copies of fields are not valid after this number of exchanges, they never are. */
enum { ENOUGH_EXCHANGES = 8 };

/* Are all parts so small that all blocks of a launch may run at once? */
static bool are_small(const Split *s) {
  double points = 1;
  for (int d = 0; d < s->rank; d++)
    points *= (double)(s->part[0].hi[d] - s->part[0].lo[d] + 1);
  return s->rank <= GRID_RANK && points <= tuning.many_rounds[s->rank - 1];
}

bool mirrors_wanted(const StcPlan *p) {
  const Split *s = p->split;
  int cut = 0;
  for (int d = 0; d < s->rank; d++)
    cut += s->parts[d] > 1;
  bool alone = !s->net || s->net->size == 1, asked = s->by && strcmp(s->by, "store") == 0;
  return cut == 1 && alone && !s->turns && p->device.kind->reaches && (asked || (!s->by && are_small(s)));
}

/* ---------------------------------------------------------------- destinations of cells */

/* Has dimension `d` of the field the same shape in memory in both parts, all of which belongs to the transfer? */
static bool is_same(const Transfer *t, const CellArray *x, const CellArray *y, int d) {
  return x->lo[d] == y->lo[d] && x->hi[d] == y->hi[d] && t->lo[d] == y->lo[d] && t->hi[d] == y->hi[d] && !t->shift[d];
}

/* Is the receiving part below the sending one? */
static bool goes_down(const StcPlan *p, const Transfer *t, int d) { return t->lo[d] > p->split->part[t->to].hi[d]; }

/* Are the transfer's cells all rows that the part has at this end, and do they have the same distances from each other
 * as in the receiving part? */
static bool is_end(const StcPlan *p, const Transfer *t, int d) {
  const PartPlan *from = &p->split->part[t->from], *to = &p->split->part[t->to];
  const Field *f = &from->module->fields[t->field];
  CellArray x = part_array(from, t->field), y = part_array(to, t->field);
  int64_t lo, hi, first = affine_eval(f->whole->lo[d], from->scalars, NULL),
                  last = affine_eval(f->whole->hi[d], from->scalars, NULL);
  part_gives(from, f, d, true, &lo, &hi);
  lo = lo > first ? lo : first;
  hi = hi < last ? hi : last;
  for (int k = 0; k < f->box.rank; k++)
    if (k != d && !is_same(t, &x, &y, k))
      return false;
  return goes_down(p, t, d) ? t->lo[d] - t->shift[d] == lo : t->hi[d] < to->lo[d] && t->hi[d] - t->shift[d] == hi;
}

/* The number of bytes of which the distance of all stores of kernels to field `f` of other parts must be a multiple; 0:
 * there are kernels that store only to this part. */
static int64_t step_of_stores(const StcPlan *q, int f) {
  const Module *m = q->build->code.module;
  int64_t step = 0;
  for (int i = 0; i < m->nkernels; i++)
    for (int a = 0; a < m->kernels[i].nargs; a++) {
      const KArg *x = &m->kernels[i].args[a];
      if (x->kind != KARG_MIRROR || m->buffers[x->index].field != f)
        continue;
      int64_t one = kernel_alignment(m, &m->kernels[i], x->index);
      step = one > step ? one : step;
    }
  return step;
}

/* The difference, in bytes, between the distance of neighbouring cells along dimension 0 in the receiving part and in
 * the sending part; 0: dimension 0 is cut, and the distances are equal. */
static int64_t row_more(const StcPlan *p, const Transfer *t, int d) {
  const PartPlan *from = &p->split->part[t->from], *to = &p->split->part[t->to];
  const Field *f = &from->module->fields[t->field];
  CellArray x = part_array(from, t->field), y = part_array(to, t->field);
  int64_t size = type_bytes(from->module, f->type), there = size, here = size;
  for (int k = 1; k < f->box.rank; k++) {
    here *= x.hi[k] - x.lo[k] + 1;
    there *= y.hi[k] - y.lo[k] + 1;
  }
  return d ? there - here : 0;
}

/* Can launches make the transfer themselves? */
static bool can_store(const StcPlan *p, const Transfer *t, int d) {
  const Split *s = p->split;
  StcPlan *from = s->part[t->from].plan, *to = s->part[t->to].plan;
  if (!from || !to || from->build->code.module->nfields <= t->field || !is_end(p, t, d))
    return false;
  int64_t step = step_of_stores(from, t->field);
  return step && (t->whole.to - t->whole.from) % step == 0 && row_more(p, t, d) % step == 0 &&
         from->device.kind->reaches(&from->device, &to->device);
}

/* Has each part at most one other part on either side to which it stores a field? */
static bool are_single(const StcPlan *p, int d) {
  const Split *s = p->split;
  for (int i = 0; i < s->ntransfers; i++)
    for (int k = 0; k < i; k++) {
      const Transfer *x = &s->transfers[i], *y = &s->transfers[k];
      if (x->from == y->from && x->field == y->field && goes_down(p, x, d) == goes_down(p, y, d))
        return false;
    }
  return true;
}

/* Is the memory of all parts of this rank of the same kind, except for its size? */
static bool are_alike(const Split *s) {
  const PlanMemory *first = &s->part[s->begin].plan->memory;
  bool same = true;
  for (int i = s->begin + 1; i < s->end; i++) {
    const PlanMemory *x = &s->part[i].plan->memory;
    same = same && x->nslots == first->nslots;
    for (int k = 0; k < x->nslots && same; k++)
      same = x->slots[k].lead % VECTOR_BYTES == first->slots[k].lead % VECTOR_BYTES;
  }
  return same;
}

/* Would the last launch before an exchange be divided into windows on all parts, so that copies run beside it? */
static bool are_apart(StcPlan *p) {
  const Split *s = p->split;
  bool apart = true;
  for (int i = s->begin; i < s->end; i++) {
    windows_foresee(p, i);
    apart = apart && s->part[i].made && s->part[i].made->apart;
    s->part[i].made = NULL;
  }
  return apart;
}

void mirrors_open(StcPlan *p) {
  Split *s = p->split;
  const StcPlan *q = s->part[s->begin].plan;
  int d = q->build && s->program->mirrors ? part_dimension(q->build->code.module) : -1;
  bool can = d >= 0 && s->transport == &transport_peer && s->ntransfers && are_alike(s) && are_single(p, d);
  for (int i = 0; i < s->ntransfers && can; i++)
    can = can_store(p, &s->transfers[i], d);
  if (!can || (!s->by && are_apart(p)))
    return;
  Mirrors *x = ARENA_NEW(p->w.arena, Mirrors);
  *x = (Mirrors){.dimension = d,
                 .whole = ARENA_ARRAY(p->w.arena, bool, q->memory.nslots + 1),
                 .values = ARENA_ARRAY(p->w.arena, Mirror *, s->end - s->begin + 1)};
  for (int i = s->begin; i < s->end; i++)
    x->values[i - s->begin] = ARENA_ARRAY(p->w.arena, Mirror, q->memory.nslots + 1);
  s->mirrors = x;
  s->transport = &transport_store;
}

/* ---------------------------------------------------------------- which launches */

/* The last access of earlier launches to a slot. */
typedef enum Touch { TOUCH_NONE, TOUCH_READ, TOUCH_WRITTEN } Touch;

/* Records the accesses of launch `named` of the part to slots, when buffers stand for slots `at`. */
static void touch_slots(const StcPlan *q, const Const *scalars, int named, const int32_t *at, Touch *slots) {
  const Module *m = q->build->code.module;
  const Kernel *k = &m->kernels[kernel_chosen(m, named, scalars)];
  for (int pass = 0; pass < 2; pass++)
    for (int a = 0; a < k->nargs; a++)
      if (k->args[a].kind == KARG_BUFFER && (pass ? k->args[a].writes : k->args[a].reads))
        slots[at[k->args[a].index]] = pass ? TOUCH_WRITTEN : TOUCH_READ;
}

/* Has the kernel that runs for `named` mirrors of all buffers that stand for the slot and that it writes? */
static bool mirrors_slot(const StcPlan *q, const Const *scalars, int named, const int32_t *at, int32_t slot) {
  const Module *m = q->build->code.module;
  const Kernel *k = &m->kernels[kernel_chosen(m, named, scalars)];
  bool all = true;
  for (int a = 0; a < k->nargs; a++) {
    int n = 0;
    if (k->args[a].kind != KARG_BUFFER || !k->args[a].writes || at[k->args[a].index] != slot)
      continue;
    for (int b = 0; b < k->nargs; b++)
      n += k->args[b].kind == KARG_MIRROR && k->args[b].index == k->args[a].index;
    all = all && n >= MIRROR_DOWN_ROW;
  }
  return all;
}

/* The buffer that stands for the present field. */
static int present_buffer(const Module *m, int field) {
  int found = 0;
  for (int b = 0; b < m->nbuffers; b++)
    if (m->buffers[b].kind == BUFFER_FIELD && m->buffers[b].copy == 0 && m->buffers[b].field == field)
      found = b;
  return found;
}

/* Does the last launch of the sequence, with those beside it, write the field that is in slot `slot` after it, under
 * the conditions at the head of this file? at: what buffers stand for then; before: the accesses of earlier launches.
 */
static bool stores_all(const StcPlan *q, const Windows *w, const int32_t *at, const Touch *before, int32_t slot) {
  const HostSeq *seq = w->seq;
  bool reads = false, writes = false, mirrors = true;
  for (int i = windows_last_launch(seq); i < seq->nops && seq->ops[i].kind == HOST_LAUNCH; i++) {
    const Module *m = q->build->code.module;
    const Kernel *k = &m->kernels[kernel_chosen(m, seq->ops[i].a, w->scalars[WINDOW_REST])];
    for (int a = 0; a < k->nargs; a++)
      if (k->args[a].kind == KARG_BUFFER && at[k->args[a].index] == slot) {
        reads |= k->args[a].reads;
        writes |= k->args[a].writes;
      }
    mirrors &= mirrors_slot(q, w->scalars[WINDOW_REST], seq->ops[i].a, at, slot);
  }
  return writes && !reads && mirrors && before[slot] != TOUCH_WRITTEN;
}

/* Is this so for all fields that are exchanged, in part `i`? */
static bool check_sequence(const StcPlan *p, int i, const Windows *w) {
  const Split *s = p->split;
  const StcPlan *q = s->part[i].plan;
  const Module *m = q->build->code.module;
  Touch before[q->memory.nslots + 1];
  int32_t at[m->nbuffers + 1], behind[m->nbuffers + 1];
  int last = windows_last_launch(w->seq);
  memset(before, 0, sizeof before);
  memcpy(at, q->memory.of_buffer, sizeof *at * (size_t)m->nbuffers);
  for (int k = 0; k < last; k++) {
    const HostOp *op = &w->seq->ops[k];
    if (op->kind == HOST_REPEAT)
      return false;
    if (op->kind == HOST_LAUNCH)
      touch_slots(q, q->scalars, op->a, at, before);
    if (op->kind == HOST_SWAP) {
      int32_t x = at[op->a];
      at[op->a] = at[op->b];
      at[op->b] = x;
    }
  }
  memcpy(behind, at, sizeof behind);
  host_swap(w->seq, last, behind);
  bool all = true;
  for (int k = 0; k < s->ntransfers; k++)
    all = all && stores_all(q, w, at, before, behind[present_buffer(m, s->transfers[k].field)]);
  return all;
}

/* Do the last of `steps` steps of part `i` end with such a launch? */
static bool ends_well(StcPlan *p, int i, int64_t steps) {
  Windows *w = (Windows *)windows_whole(p, i, steps);
  if (w && !w->checked) {
    w->mirrors = check_sequence(p, i, w);
    w->checked = true;
  }
  return w && w->mirrors;
}

/* Are all parts in the same state: do their buffers stand for the same slots, and is none of them lent? */
static bool are_in_step(const Split *s) {
  const StcPlan *first = s->part[s->begin].plan;
  bool same = true;
  for (int i = s->begin; i < s->end; i++) {
    const StcPlan *q = s->part[i].plan;
    same = same && !q->memory.lending &&
           memcmp(q->memory.of_buffer, first->memory.of_buffer,
                  sizeof(int32_t) * (size_t)first->build->code.module->nbuffers) == 0;
  }
  return same;
}

/* Will the memory of all fields after `steps` more steps hold valid values in all cells that no launch stores? */
static bool are_whole(const StcPlan *p, int64_t steps) {
  const Split *s = p->split;
  const StcPlan *q = s->part[s->begin].plan;
  const Module *m = q->build->code.module;
  int32_t at[m->nbuffers + 1];
  bool whole = true;
  memcpy(at, q->memory.of_buffer, sizeof *at * (size_t)m->nbuffers);
  for (int64_t left = steps; left > 0;) {
    const HostSeq *seq = plan_next_sequence(q, left);
    host_swap(seq, 0, at);
    left -= seq->steps;
  }
  for (int i = 0; i < s->ntransfers; i++)
    whole = whole && s->mirrors->whole[at[present_buffer(m, s->transfers[i].field)]];
  return whole;
}

void mirrors_begin(StcPlan *p) {
  Mirrors *x = p->split->mirrors;
  if (!x)
    return;
  memset(x->whole, 0, sizeof *x->whole * (size_t)p->split->part[p->split->begin].plan->memory.nslots);
  x->exchanges = 0;
}

void mirrors_note(StcPlan *p) {
  Split *s = p->split;
  Mirrors *x = s->mirrors;
  const StcPlan *q = s->part[s->begin].plan;
  if (!x)
    return;
  for (int i = 0; i < s->ntransfers; i++)
    x->whole[q->memory.of_field[s->transfers[i].field]] = true;
  x->exchanges++;
  x->sent = true;
}

bool mirrors_are_settled(StcPlan *p) {
  Split *s = p->split;
  if (!s->mirrors)
    return true;
  const StcPlan *q = s->part[s->begin].plan;
  const Module *m = q->build->code.module;
  bool whole = true;
  for (int b = 0; b < m->nbuffers; b++)
    for (int i = 0; i < s->ntransfers && m->buffers[b].kind == BUFFER_FIELD; i++)
      if (m->buffers[b].field == s->transfers[i].field)
        whole = whole && s->mirrors->whole[q->memory.of_buffer[b]];
  if (!whole && s->mirrors->exchanges >= ENOUGH_EXCHANGES)
    s->mirrors = NULL;
  return whole || !s->mirrors;
}

bool mirrors_can(StcPlan *p, int64_t steps) {
  Split *s = p->split;
  bool can = s->mirrors && are_in_step(s);
  for (int i = s->begin; i < s->end && can; i++)
    can = ends_well(p, i, steps);
  return can && are_whole(p, steps);
}

/* ---------------------------------------------------------------- making the steps */

/* Does part `x` send cells to part `y`? */
static bool sends_to(const Split *s, int x, int y) {
  bool any = false;
  for (int i = 0; i < s->ntransfers && !any; i++)
    any = s->transfers[i].from == x && s->transfers[i].to == y;
  return any;
}

/* Marks the main lanes of all parts. Then the lanes of sending parts wait for those of the receivers, and, if `both`,
 * the other way round, too. */
static StcStatus meet(const StcPlan *p, bool both) {
  const Split *s = p->split;
  StcStatus st = STC_OK;
  for (int i = s->begin; i < s->end && !st; i++)
    st = s->part[i].plan->device.kind->mark(&s->part[i].plan->device, LANE_MAIN);
  for (int x = s->begin; x < s->end; x++)
    for (int y = s->begin; y < s->end && !st; y++) {
      Device *d = &s->part[x].plan->device;
      if (x != y && (sends_to(s, x, y) || (both && sends_to(s, y, x))))
        st = d->kind->follow(d, LANE_MAIN, &s->part[y].plan->device, LANE_MAIN);
    }
  return st;
}

/* For the next launch of part `i`: the destinations of its stores to each slot. */
static const Mirror *find_mirrors(const StcPlan *p, int i) {
  const Split *s = p->split;
  const StcPlan *q = s->part[i].plan;
  const Module *m = q->build->code.module;
  const HostSeq *seq = s->part[i].made->seq;
  Mirror *values = s->mirrors->values[i - s->begin];
  int32_t at[m->nbuffers + 1];
  int d = s->mirrors->dimension;
  for (int k = 0; k < q->memory.nslots; k++)
    values[k] = (Mirror){{[MIRROR_BELOW] = INT64_MIN, [MIRROR_ABOVE] = INT64_MAX}};
  memcpy(at, q->memory.of_buffer, sizeof *at * (size_t)m->nbuffers);
  host_swap(seq, windows_last_launch(seq), at);
  for (int k = 0; k < s->ntransfers; k++) {
    const Transfer *t = &s->transfers[k];
    int32_t slot = at[present_buffer(m, t->field)];
    const StcPlan *other = s->part[t->to].plan;
    if (t->from != i)
      continue;
    bool down = goes_down(p, t, d);
    values[slot].value[down ? MIRROR_BELOW : MIRROR_ABOVE] = down ? t->hi[d] - t->shift[d] + 1 : t->lo[d] - t->shift[d];
    int64_t more = row_more(p, t, d),
            first = (int64_t)((uintptr_t)other->memory.slots[slot].memory + (uintptr_t)t->whole.to -
                              (uintptr_t)q->memory.slots[slot].memory - (uintptr_t)t->whole.from);
    values[slot].value[down ? MIRROR_DOWN : MIRROR_UP] = first - more * t->lo[0];
    values[slot].value[down ? MIRROR_DOWN_ROW : MIRROR_UP_ROW] = more;
  }
  return values;
}

/* Makes the last launch of part `i`. */
static StcStatus end_part(StcPlan *p, int i) {
  StcPlan *q = p->split->part[i].plan;
  q->run.mirrors = find_mirrors(p, i);
  StcStatus st = windows_end(p, i);
  q->run.mirrors = NULL;
  return st;
}

StcStatus mirrors_run(StcPlan *p, int64_t steps) {
  Split *s = p->split;
  StcStatus st = STC_OK;
  bool any = s->mirrors->sent; /* copies wait only for the part of a launch that they depend on */
  s->mirrors->sent = false;
  for (int i = s->begin; i < s->end && !st; i++) {
    st = windows_begin(p, i, steps, &any);
    if (st && st != STC_INTERRUPTED)
      split_name_part(p, i);
  }
  if (any && !st)
    st = meet(p, false);
  for (int i = s->begin; i < s->end && !st; i++) {
    st = end_part(p, i);
    if (st && st != STC_INTERRUPTED)
      split_name_part(p, i);
  }
  st = st ? st : meet(p, true);
  s->mirrored = !st;
  return st;
}
