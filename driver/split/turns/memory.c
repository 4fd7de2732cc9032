/* memory.c: the memory of parts that take turns on a device: blocks that one part has after the other. A field
 * that lasts is in a block from the time it begins to come in until it is out; what a launch writes to beside that, and
 * scratch memory, a part has for its launches alone. So there are as many blocks of a size as two or three parts need,
 * however many parts there are. */
#include "driver/split/turns/turns.h"

#include <math.h>
#include <string.h>

/* Blocks begin at multiples of it, and are as long. */
enum { BLOCK_STEP = 512 };

/* `bytes` bytes as blocks have them. */
static size_t rounded(size_t bytes) { return (bytes + BLOCK_STEP - 1) / BLOCK_STEP * BLOCK_STEP; }

double turns_block(double bytes, size_t lead) {
  return bytes < (double)(SIZE_MAX / 2) ? (double)(rounded((size_t)bytes) + rounded(lead)) : INFINITY;
}

/* The bytes that slot `slot` of a plan needs: kernels read one element even of what is empty. */
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

/* The bytes that slots have in front of them, which kernels are fastest with. */
static void find_leads(struct Turns *t, const StcPlan *q) {
  const Module *k = q->build && !q->device.kind->whole && q->device.kind->stage_new ? q->build->code.module : NULL;
  for (int b = 0; k && b < k->nbuffers; b++) {
    size_t lead = k->buffers[b].kind == BUFFER_FIELD ? (size_t)k->buffers[b].lead : 0;
    t->lead[q->memory.of_buffer[b]] = lead;
    t->most_lead = lead > t->most_lead ? lead : t->most_lead;
  }
}

StcStatus turns_too_little(const StcPlan *p, int64_t parts, int64_t steps, double bytes) {
  char least[MEMORY_TEXT], budget[MEMORY_TEXT];
  diag_error(p->w.diags, no_loc(),
             "parts of the grid that take turns on %s do not fit %s of its memory: %lld of them, %lld step%s a turn, "
             "take %s; give them as much by --memory, cut another dimension by --split, or choose smaller params",
             p->device.name, memory_text(budget, p->split->turns->budget), (long long)parts, (long long)steps,
             steps > 1 ? "s" : "", memory_text(least, bytes));
  return STC_MEMORY;
}

/* More memory of the device, unless that would be more than there is to be. */
static StcStatus more_memory(StcPlan *p, size_t bytes, void **memory) {
  struct Turns *t = p->split->turns;
  StcPlan *q = p->split->part[p->split->begin].plan;
  if (t->used + (double)bytes > t->budget)
    return turns_too_little(p, p->split->nparts, p->split->every, t->used + (double)bytes);
  StcStatus s = device_alloc(&q->device, "parts that take turns", bytes, t->needed, memory);
  t->used += s ? 0 : (double)bytes;
  return s;
}

/* Memory for launch-time arrays, which all parts of the plan have in common. */
static StcStatus take_arrays(StcPlan *p) {
  struct Turns *t = p->split->turns;
  const StcPlan *first = p->split->part[p->split->begin].plan;
  static const char zeros[16];
  StcStatus s = STC_OK;
  for (int a = 0; a < first->module->nparam_arrays && !s; a++) {
    int slot = first->memory.of_array[a];
    if (slot < 0)
      continue;
    size_t bytes = rounded(t->bytes[slot] > sizeof zeros ? t->bytes[slot] : sizeof zeros);
    t->shared[slot] = true;
    s = more_memory(p, bytes, &t->arrays[slot]);
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

/* A block of `bytes` bytes that nobody has; made where there is none. -1: *s says why not. */
static int32_t take_block(StcPlan *p, size_t bytes, StcStatus *s) {
  struct Turns *t = p->split->turns;
  TurnBlock new = {.size = rounded(bytes) + rounded(t->most_lead), .taken = true};
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

/* Marks the slots that hold fields that last, as they lie now. */
static void mark_lasting(const struct Turns *t, const StcPlan *q, bool *lasting) {
  memset(lasting, 0, sizeof *lasting * (size_t)t->nslots);
  for (int k = 0; k < t->nfields; k++)
    lasting[q->memory.of_field[t->fields[k].mine]] = true;
}

StcStatus turns_take(StcPlan *p, int i, bool lasts) {
  struct Turns *t = p->split->turns;
  StcPlan *q = p->split->part[i].plan;
  int32_t *held = t->held + (size_t)(i - p->split->begin) * (size_t)t->nslots;
  bool lasting[t->nslots + 1];
  StcStatus s = STC_OK;
  mark_lasting(t, q, lasting);
  for (int slot = 0; slot < t->nslots && !s; slot++) {
    if (t->shared[slot] || held[slot] >= 0 || (lasts && !lasting[slot]))
      continue;
    held[slot] = take_block(p, t->bytes[slot], &s);
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
  mark_lasting(t, q, lasting);
  for (int k = 0; k < t->nfields; k++)
    lasting[q->memory.of_field[t->fields[k].mine]] = t->fields[k].changed;
  for (int slot = 0; slot < t->nslots; slot++)
    if (held[slot] >= 0 && (all || !lasting[slot])) {
      t->blocks[held[slot]].taken = false;
      held[slot] = -1;
      q->memory.slots[slot].memory = NULL;
    }
}
