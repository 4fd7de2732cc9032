/* driver/instance/plan-slots.c: the slots of a plan's memory: which slot each field and buffer stands for, copies from
 * slot to slot, and freeing memory. Kernels exchange buffers from step to step; after each run a field with a fixed
 * place is moved back there. */
#include "driver/device/device.h"
#include "driver/instance/dlpack.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <stdlib.h>

/* Frees the slot's memory. */
static void give_back(StcPlan *p, Slot *slot) {
  if (slot->owner && slot->owner->deleter)
    slot->owner->deleter(slot->owner);
  bool own = slot->memory && !slot->foreign;
  if (slot->loan)
    plan_before_write(p, slot);
  if (own && slot->pinned)
    p->device.kind->pinned_free(&p->device, (char *)slot->memory - slot->lead);
  else if (own && slot->mapped)
    disk_unmap(slot->memory, slot->mapped);
  else if (own)
    p->device.kind->release(&p->device, (char *)slot->memory - slot->lead, slot->size);
}

void shown_leave(Shown *shown) {
  if (shown && atomic_fetch_sub(&shown->users, 1) == 1)
    free(shown);
}

void plan_release_left(StcPlan *p, bool all) {
  for (Shown **at = &p->memory.left, *shown; (shown = *at);) {
    if (!all && atomic_load(&shown->users) > 1) {
      at = &shown->next;
      continue;
    }
    *at = shown->next;
    give_back(p, &shown->left);
    shown_leave(shown);
  }
}

void plan_release_slot(StcPlan *p, Slot *slot) {
  Shown *shown = slot->shown;
  plan_release_left(p, false);
  if (shown && atomic_load(&shown->users) > 1) {
    shown->left = *slot;
    shown->next = p->memory.left;
    p->memory.left = shown;
  } else {
    give_back(p, slot);
    shown_leave(shown);
  }
  *slot = (Slot){0};
}

/* Copies the values of slot `from` to slot `to`, of the same size, in order with launches. */
static StcStatus copy_slot(Device *d, const Slot *to, const Slot *from) {
  return d->kind->copy(d, to->memory, from->memory, from->size);
}

/* Exchanges the values of two slots of the same size. */
static StcStatus exchange_values(StcPlan *p, const Slot *a, const Slot *b) {
  Slot *spare = &p->memory.spare;
  StcStatus s = STC_OK;
  if (spare->size < a->size) {
    plan_release_slot(p, spare);
    s = device_alloc(&p->device, "exchanging fields", a->size, 0, &spare->memory);
    spare->size = s ? 0 : a->size;
  }
  Slot aside = {.memory = spare->memory, .size = a->size};
  if (!s)
    s = copy_slot(&p->device, &aside, a);
  if (!s)
    s = copy_slot(&p->device, a, b);
  return s ? s : copy_slot(&p->device, b, &aside);
}

/* Does slot `slot` hold the present value of a field other than `but`? */
static bool is_live(const StcPlan *p, int32_t slot, int but) {
  for (int f = 0; f < p->module->nfields; f++)
    if (f != but && p->memory.of_field[f] == slot)
      return true;
  return false;
}

/* Exchanges the numbers `a` and `b` in `slots`. */
static void rename_slots(int32_t *slots, int n, int32_t a, int32_t b) {
  for (int i = 0; i < n; i++)
    slots[i] = slots[i] == a ? b : slots[i] == b ? a : slots[i];
}

StcStatus plan_settle(StcPlan *p) {
  StcStatus s = STC_OK;
  for (int f = 0; f < p->module->nfields && !s; f++) {
    int32_t want = p->memory.fixed[f], have = p->memory.of_field[f];
    if (want < 0 || want == have)
      continue;
    s = is_live(p, want, f) ? exchange_values(p, &p->memory.slots[want], &p->memory.slots[have])
                            : copy_slot(&p->device, &p->memory.slots[want], &p->memory.slots[have]);
    rename_slots(p->memory.of_field, p->module->nfields, want, have);
    rename_slots(p->memory.of_buffer, p->build->code.module->nbuffers, want, have);
  }
  return s;
}

StcStatus plan_copy_slot(StcPlan *p, const Slot *slot, void *memory) {
  Slot to = {.memory = memory, .size = slot->size};
  return copy_slot(&p->device, &to, slot);
}

/* Records the slot of buffer `b` for its field. */
static void note_slot(StcPlan *p, int b) {
  const Buffer *buffer = &p->build->code.module->buffers[b];
  if (buffer->kind == BUFFER_FIELD && buffer->copy == 0)
    p->memory.of_field[buffer->field] = p->memory.of_buffer[b];
}

void plan_swap(StcPlan *p, int a, int b) {
  int32_t t = p->memory.of_buffer[a];
  p->memory.of_buffer[a] = p->memory.of_buffer[b];
  p->memory.of_buffer[b] = t;
  note_slot(p, a);
  note_slot(p, b);
}

void plan_place_buffers(StcPlan *p, const int32_t *slots) {
  for (int b = 0; b < p->build->code.module->nbuffers; b++) {
    p->memory.of_buffer[b] = slots[b];
    note_slot(p, b);
  }
}
