/* driver/instance/plan-rows.c: fields whose rows are padded in a plan's memory (row-pitch.c): copies them in and out,
 * because users, files and parts see dense arrays. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* The bytes of a piece, which is copied at once. */
enum { PIECE_BYTES = 1 << 24 };

/* ---------------------------------------------------------------- in and out */

size_t slot_bytes(const Slot *slot) { return slot->pitch ? slot->size / slot->pitch * slot->row : slot->size; }

/* Copies `size` bytes to a place of the device's memory, or (`out`) from there. */
static StcStatus move(Device *d, char *memory, char *here, size_t size, bool out) {
  if (!size)
    return STC_OK;
  return out ? d->kind->fetch(d, here, memory, size) : d->kind->put(d, memory, here, size);
}

/* The number of rows of `slot` in a piece. */
static size_t piece_rows(const Slot *slot) {
  size_t all = slot->size / slot->pitch, n = PIECE_BYTES / slot->pitch;
  n = n > 0 ? n : 1;
  return n < all ? n : all;
}

/* Memory for a piece; NULL after an error. */
static char *piece_new(StcPlan *p, const Slot *slot) {
  size_t bytes = piece_rows(slot) * slot->pitch;
  char *piece = calloc(bytes + 1, 1);
  if (!piece)
    computer_no_room(p->w.context, "rows", "of a field", (double)bytes);
  return piece;
}

StcStatus slot_fill(StcPlan *p, const Slot *slot, SlotSource fn, void *user) {
  char *piece = piece_new(p, slot);
  StcStatus s = piece ? STC_OK : STC_MEMORY;
  size_t rows = slot->size / slot->pitch, most = piece_rows(slot);
  for (size_t first = 0; first < rows && !s; first += most) {
    size_t n = rows - first < most ? rows - first : most;
    for (size_t i = 0; i < n; i++)
      fn(user, (first + i) * slot->row, slot->row, piece + i * slot->pitch);
    s = move(&p->device, (char *)slot->memory + first * slot->pitch, piece, n * slot->pitch, false);
  }
  free(piece);
  return s;
}

/* Copies bytes of a dense array (a SlotSource). */
static void give_bytes(void *user, size_t from, size_t n, char *to) { memcpy(to, (const char *)user + from, n); }

StcStatus slot_put(StcPlan *p, const Slot *slot, const void *values) {
  if (slot->pitch)
    return slot_fill(p, slot, give_bytes, (void *)values);
  return move(&p->device, slot->memory, (char *)values, slot->size, false);
}

StcStatus slot_fetch(StcPlan *p, const Slot *slot, void *values) {
  char *piece = slot->pitch ? piece_new(p, slot) : NULL, *to = values;
  size_t rows = slot->pitch ? slot->size / slot->pitch : 0, most = rows ? piece_rows(slot) : 1;
  StcStatus s = STC_OK;
  if (!slot->pitch)
    return move(&p->device, slot->memory, values, slot->size, true);
  s = piece ? STC_OK : STC_MEMORY;
  for (size_t first = 0; first < rows && !s; first += most) {
    size_t n = rows - first < most ? rows - first : most;
    s = move(&p->device, (char *)slot->memory + first * slot->pitch, piece, n * slot->pitch, true);
    for (size_t i = 0; i < n && !s; i++, to += slot->row)
      memcpy(to, piece + i * slot->pitch, slot->row);
  }
  free(piece);
  return s;
}

bool slot_is_padding(const Slot *slot, size_t at) { return slot->pitch && at % slot->pitch >= slot->row; }

/* ---------------------------------------------------------------- dense again */

/* Removes the padding of `slot` within its memory, piece by piece through `piece`: no row is copied over rows that have
 * not been moved. */
static StcStatus close_rows(StcPlan *p, Slot *slot, char *piece) {
  size_t rows = slot->size / slot->pitch, most = piece_rows(slot);
  char *to = slot->memory;
  StcStatus s = STC_OK;
  for (size_t first = 0; first < rows && !s; first += most) {
    size_t n = rows - first < most ? rows - first : most;
    s = move(&p->device, (char *)slot->memory + first * slot->pitch, piece, n * slot->pitch, true);
    for (size_t i = 1; i < n && !s; i++)
      memmove(piece + i * slot->row, piece + i * slot->pitch, slot->row);
    if (!s)
      s = move(&p->device, to, piece, n * slot->row, false);
    to += n * slot->row;
  }
  if (s)
    return s;
  slot->size = rows * slot->row;
  slot->pitch = slot->row = 0;
  return STC_OK;
}

/* Makes all rows of the plan dense. Slots have pieces of different sizes, so each gets memory of its own for one. */
static StcStatus make_dense(void *arg) {
  StcPlan *p = arg;
  StcStatus s = p->device.kind->wait(&p->device);
  for (int i = 0; i < p->memory.nslots && !s; i++) {
    if (!p->memory.slots[i].pitch)
      continue;
    char *piece = piece_new(p, &p->memory.slots[i]);
    s = piece ? close_rows(p, &p->memory.slots[i], piece) : STC_MEMORY;
    free(piece);
  }
  return s;
}

StcStatus plan_make_dense(StcPlan *p) {
  int pitch = p->scalars ? module_find_scalar(p->module, ROW_PITCH) : -1, x = p->module->grid.rank - 1;
  bool any = false;
  for (int i = 0; i < p->memory.nslots; i++)
    any = any || p->memory.slots[i].pitch;
  if (pitch < 0 || !any)
    return STC_OK;
  StcStatus s = workspace_guard(&p->w, make_dense, p);
  if (s)
    return s;
  plan_forget_recordings(p);
  p->scalars[pitch].i =
      affine_eval(p->module->grid.hi[x], p->scalars, NULL) - affine_eval(p->module->grid.lo[x], p->scalars, NULL) + 1;
  return STC_OK;
}
