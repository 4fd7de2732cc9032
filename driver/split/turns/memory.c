/* memory.c: the memory of parts that take turns on a device: blocks that parts use one after the other. A field that
 * lives from turn to turn has a block from the time when its copy in begins until its copy out ends. Other memory that
 * launches write, and scratch memory, belongs to a part only during its launches. So there are as many blocks of a size
 * as two or three parts need, whatever the number of parts is. */
#include "driver/split/turns/turns.h"

#include <math.h>
#include <string.h>

/* Positions and sizes of blocks are multiples of this. */
enum { BLOCK_STEP = 512 };

/* `bytes` rounded up to the size of a block. */
static size_t rounded(size_t bytes) { return (bytes + BLOCK_STEP - 1) / BLOCK_STEP * BLOCK_STEP; }

double turns_block(double bytes, size_t lead) {
  return bytes < (double)(SIZE_MAX / 2) ? (double)(rounded((size_t)bytes) + rounded(lead)) : INFINITY;
}

/* The bytes that slot `slot` of a plan needs: kernels read one element even of an empty array. */
static size_t needed(const StcPlan *q, int slot) {
  const Module *k = q->build && !q->device.kind->whole ? q->build->code.module : NULL;
  size_t least = 16;
  for (int b = 0; k && b < k->nbuffers; b++) {
    int64_t shape[MAX_RANK] = {1, 1, 1, 1};
    if (k->buffers[b].kind != BUFFER_FIELD || q->memory.of_buffer[b] != slot)
      continue;
    const Field *f = &q->module->fields[k->buffers[b].field];
    size_t bytes = (size_t)type_bytes(q->module, f->type);
    field_layout(f, q->scalars, shape);
    for (int d = 0; d < f->box.rank; d++)
      bytes *= shape[d] > 0 ? (size_t)shape[d] : 1;
    least = bytes > least ? bytes : least;
  }
  return q->memory.slots[slot].size > least ? q->memory.slots[slot].size : least;
}

/* Computes for each slot the bytes before its memory with which kernels are fastest. */
static void find_leads(struct Turns *t, const StcPlan *q) {
  const Module *k = q->build && !q->device.kind->whole && q->device.kind->stage_new ? q->build->code.module : NULL;
  for (int b = 0; k && b < k->nbuffers; b++) {
    size_t lead = k->buffers[b].kind == BUFFER_FIELD ? (size_t)k->buffers[b].lead : 0;
    t->lead[q->memory.of_buffer[b]] = lead;
    t->most_lead = lead > t->most_lead ? lead : t->most_lead;
  }
}

/* Marks the slots that now hold fields that live from turn to turn; if `changed`, only those that steps change. */
static void mark_lasting(const struct Turns *t, const StcPlan *q, bool changed, bool *lasting) {
  memset(lasting, 0, sizeof *lasting * (size_t)t->nslots);
  for (int k = 0; k < t->nfields; k++)
    lasting[q->memory.of_field[t->fields[k].mine]] = !changed || t->fields[k].changed;
}

/* The bytes of launch-time array number `a`; 0: parts have none. */
static size_t array_bytes(const struct Turns *t, const StcPlan *q, int a) {
  enum { LEAST = 16 };
  int slot = q->memory.of_array[a];
  return slot < 0 ? 0 : rounded(t->bytes[slot] > LEAST ? t->bytes[slot] : LEAST);
}

/* The bytes of a block for the slot. */
static size_t block_bytes(const struct Turns *t, int slot) { return rounded(t->bytes[slot]) + rounded(t->most_lead); }

/* The bytes that everything needs, when the needs of parts are known: one part works, the lasting fields of the next
 * one are copied in meanwhile, and the changed fields of the one before are copied out. */
static double all_bytes(const StcPlan *p) {
  const Split *s = p->split;
  const struct Turns *t = s->turns;
  const StcPlan *q = s->part[s->begin].plan;
  bool lasting[t->nslots + 1], changed[t->nslots + 1], array[t->nslots + 1];
  int n = s->end - s->begin;
  double sum = 0;
  mark_lasting(t, q, false, lasting);
  mark_lasting(t, q, true, changed);
  memset(array, 0, sizeof array);
  for (int a = 0; a < q->module->nparam_arrays; a++) {
    sum += (double)array_bytes(t, q, a);
    array[q->memory.of_array[a] < 0 ? t->nslots : q->memory.of_array[a]] = true;
  }
  for (int slot = 0; slot < t->nslots; slot++) {
    int at_once = changed[slot] ? 3 : lasting[slot] ? 2 : 1;
    double circle = t->skew && !array[slot] ? skew_bytes(p, slot) : 0;
    sum += array[slot] ? 0 : circle > 0 ? circle : (double)(n < at_once ? n : at_once) * (double)block_bytes(t, slot);
  }
  return sum;
}

/* Allocates more memory of the device; how much may be used is known in advance. */
static StcStatus more_memory(StcPlan *p, size_t bytes, void **memory) {
  StcPlan *q = p->split->part[p->split->begin].plan;
  return device_alloc(&q->device, "parts that take turns", bytes, p->split->turns->needed, memory);
}

/* Allocates memory for launch-time arrays, which all parts of the plan share. */
static StcStatus take_arrays(StcPlan *p) {
  struct Turns *t = p->split->turns;
  const StcPlan *first = p->split->part[p->split->begin].plan;
  static const char zeros[16];
  StcStatus s = STC_OK;
  for (int a = 0; a < first->module->nparam_arrays && !s; a++) {
    int slot = first->memory.of_array[a];
    if (slot < 0)
      continue;
    t->shared[slot] = true;
    s = more_memory(p, array_bytes(t, first, a), &t->arrays[slot]);
    if (!s)
      s = first->device.kind->put((Device *)&first->device, t->arrays[slot], zeros, sizeof zeros);
  }
  for (int i = p->split->begin; i < p->split->end && !s; i++)
    for (int slot = 0; slot < t->nslots; slot++)
      if (t->shared[slot]) {
        p->split->part[i].plan->memory.slots[slot].memory = t->arrays[slot];
        p->split->part[i].plan->memory.slots[slot].foreign = true;
      }
  return s;
}

StcStatus turns_open_memory(StcPlan *p) {
  Split *s = p->split;
  struct Turns *t = s->turns;
  Arena *a = p->w.arena;
  int n = s->end - s->begin;
  t->nslots = s->part[s->begin].plan->memory.nslots;
  t->bytes = ARENA_ARRAY(a, size_t, t->nslots + 1);
  t->lead = ARENA_ARRAY(a, size_t, t->nslots + 1);
  t->shared = ARENA_ARRAY(a, bool, t->nslots + 1);
  t->arrays = ARENA_ARRAY(a, void *, t->nslots + 1);
  t->held = ARENA_ARRAY(a, int32_t, t->nslots *n + 1);
  for (int k = 0; k < t->nslots * n; k++)
    t->held[k] = -1;
  for (int i = s->begin; i < s->end; i++)
    for (int slot = 0; slot < t->nslots; slot++) {
      size_t bytes = needed(s->part[i].plan, slot);
      t->bytes[slot] = bytes > t->bytes[slot] ? bytes : t->bytes[slot];
    }
  find_leads(t, s->part[s->begin].plan);
  t->needed = all_bytes(p);
  if (t->needed > t->budget)
    return turns_too_large(p, n, s->every, t->needed);
  StcStatus st = take_arrays(p);
  return st || !t->skew ? st : skew_open(p);
}

void turns_close_memory(StcPlan *p) {
  struct Turns *t = p->split->turns;
  StcPlan *q = p->split->part ? p->split->part[p->split->begin].plan : NULL;
  if (t->skew)
    skew_close(p);
  for (int i = 0; i < t->nblocks; i++)
    q->device.kind->release(&q->device, t->blocks[i].memory, t->blocks[i].size);
  for (int slot = 0; slot < t->nslots; slot++)
    if (t->arrays[slot])
      q->device.kind->release(&q->device, t->arrays[slot], t->bytes[slot]);
  t->nblocks = t->nslots = 0;
}

/* A free block for the slot, allocated if there is none. -1: failed, with *s. */
static int32_t take_block(StcPlan *p, int slot, StcStatus *s) {
  struct Turns *t = p->split->turns;
  TurnBlock new = {.size = block_bytes(t, slot), .taken = true};
  for (int32_t i = 0; i < t->nblocks; i++)
    if (!t->blocks[i].taken && t->blocks[i].size == new.size)
      return t->blocks[i].taken = true, i;
  void *memory = NULL;
  *s = more_memory(p, new.size, &memory);
  if (*s)
    return -1;
  new.memory = memory;
  ARENA_PUSH(p->w.arena, t->blocks, t->nblocks, new);
  return t->nblocks - 1;
}

StcStatus turns_take(StcPlan *p, int i, bool lasts) {
  struct Turns *t = p->split->turns;
  StcPlan *q = p->split->part[i].plan;
  int32_t *held = t->held + (size_t)(i - p->split->begin) * (size_t)t->nslots;
  bool lasting[t->nslots + 1];
  StcStatus s = STC_OK;
  mark_lasting(t, q, false, lasting);
  for (int slot = 0; slot < t->nslots && !s; slot++) {
    if (t->shared[slot] || held[slot] >= 0 || (lasts && !lasting[slot]))
      continue;
    held[slot] = take_block(p, slot, &s);
    if (s)
      break;
    q->memory.slots[slot].memory = t->blocks[held[slot]].memory + t->lead[slot];
    q->memory.slots[slot].foreign = true;
  }
  return s;
}

void turns_give_back(StcPlan *p, int i, bool all) {
  struct Turns *t = p->split->turns;
  StcPlan *q = p->split->part[i].plan;
  int32_t *held = t->held + (size_t)(i - p->split->begin) * (size_t)t->nslots;
  bool lasting[t->nslots + 1];
  mark_lasting(t, q, true, lasting);
  for (int slot = 0; slot < t->nslots; slot++)
    if (held[slot] >= 0 && (all || !lasting[slot])) {
      t->blocks[held[slot]].taken = false;
      held[slot] = -1;
      q->memory.slots[slot].memory = NULL;
    }
}
