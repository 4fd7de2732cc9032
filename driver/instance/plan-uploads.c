/* driver/instance/plan-uploads.c: copies frames of a series to a device that makes steps meanwhile. A frame is written
 * to pinned memory, copied in a lane of its own to memory of the device that no kernel reads, and from there to the
 * field, after earlier steps. The host issues the device's work in advance: it writes a frame while earlier steps run,
 * and waits when all places are being copied. Frames of a series that begins again stay on the device, as many as there
 * is room for. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* The number of places of a series, each with a lane of its own, from lane 1 on. All places together use at most one
 * SHARE_OF_PLACES-th of the device's free memory, kept frames one SHARE_OF_KEPT-th. */
enum { PLACES = 3, SHARE_OF_PLACES = 4, SHARE_OF_KEPT = 2 };

/* A frame in pinned memory, and on the device. used: the former may still be read by a copy to the device. */
typedef struct UploadPlace {
  void *here, *there;
  bool used;
} UploadPlace;

/* bytes: of a frame, with its components one after the other, each dense. packed: memory for a frame as its source
 * writes it, with packed points; NULL: it has one component. kept: the frames that stay on the device, by number, NULL:
 * not allocated; nkept: the most of them; spare: the device memory that they leave to others, including other series;
 * has: are they still the frames of the source? impossible: the device does not support uploads, or has no room. */
struct Uploads {
  size_t bytes;
  UploadPlace place[PLACES];
  int turn;
  void *packed, **kept;
  int64_t nkept;
  double spare;
  bool *has, impossible;
};

static int components_of(const StcPlan *p, int field) { return p->program->declared[field].ncomponents; }

static Slot *component_slot(const StcPlan *p, int field, int c) {
  return field_slot(p, p->bound.homes[field].field + c);
}

/* ---------------------------------------------------------------- memory */

/* Frees the memory of the places. */
static void free_places(StcPlan *p, Uploads *u) {
  for (int i = 0; i < PLACES; i++) {
    if (u->place[i].here)
      p->device.kind->pinned_free(&p->device, u->place[i].here);
    if (u->place[i].there)
      p->device.kind->release(&p->device, u->place[i].there, u->bytes);
    u->place[i] = (UploadPlace){0};
  }
}

void plan_free_uploads(StcPlan *p, Uploads *u) {
  if (!u)
    return;
  if (!u->impossible) {
    p->device.kind->wait(&p->device);
    for (int i = 0; i < PLACES; i++)
      if (u->place[i].used)
        p->device.kind->await(&p->device, 1 + i);
    free_places(p, u);
    for (int64_t i = 0; i < u->nkept; i++)
      if (u->kept[i])
        p->device.kind->release(&p->device, u->kept[i], u->bytes);
  }
  free(u->packed);
  free(u->kept);
  free(u->has);
  free(u);
}

void plan_doubt_uploads(Uploads *u) {
  if (u && u->has)
    memset(u->has, 0, (size_t)u->nkept * sizeof *u->has);
}

/* Can frames of the field be uploaded? Not if values are packed in slots, which are in host memory then. */
static bool is_possible(const StcPlan *p, int field) {
  const DeviceKind *k = p->device.kind;
  bool can = !p->split && !p->facade && !p->memory.outside && !p->bound.homes[field].packed && k->carry &&
             k->pinned_new && k->mark && k->follow && k->await && k->copy;
  for (int c = 0; c < components_of(p, field) && can; c++)
    can = component_slot(p, field, c) && (!component_slot(p, field, c)->pitch || k->send);
  return can;
}

/* Allocates the places; false: there is no room. */
static bool make_places(StcPlan *p, Uploads *u, size_t packed) {
  Device *d = &p->device;
  double left, total;
  device_room(d, &left, &total);
  bool ok = u->bytes && (double)u->bytes * PLACES * SHARE_OF_PLACES <= left;
  u->packed = ok && packed ? malloc(packed) : NULL;
  ok &= !packed || u->packed;
  for (int i = 0; i < PLACES && ok; i++) {
    UploadPlace *x = &u->place[i];
    x->here = d->kind->pinned_new(d, u->bytes);
    ok = x->here && !d->kind->alloc(d, u->bytes, &x->there) && x->there;
  }
  return ok;
}

/* The state of uploads to field `field`, whose series repeats after `keep` frames; NULL: no memory at all. */
static Uploads *make_uploads(StcPlan *p, int field, int64_t keep) {
  Uploads *u = calloc(1, sizeof *u);
  if (!u)
    return NULL;
  int n = components_of(p, field);
  u->impossible = !is_possible(p, field);
  for (int c = 0; c < n && !u->impossible; c++)
    u->bytes += slot_bytes(component_slot(p, field, c));
  StcFieldInfo info;
  if (u->impossible || stc_plan_field(p, field, &info) || !make_places(p, u, n > 1 ? (size_t)info.bytes : 0)) {
    if (!u->impossible)
      free_places(p, u);
    u->impossible = true;
    return u;
  }
  double left, total;
  device_room(&p->device, &left, &total);
  double fit = left / SHARE_OF_KEPT / (double)u->bytes;
  u->spare = left - left / SHARE_OF_KEPT;
  u->nkept = (double)keep < fit ? keep : (int64_t)fit;
  u->kept = calloc((size_t)u->nkept + 1, sizeof *u->kept);
  u->has = calloc((size_t)u->nkept + 1, sizeof *u->has);
  u->nkept = u->kept && u->has ? u->nkept : 0;
  if (keep)
    context_remark(p->w.context, "field %s: %lld of its %lld frames stay on the device, %.3g GB",
                   p->program->declared[field].name, (long long)u->nkept, (long long)keep,
                   (double)u->nkept * (double)u->bytes * 1e-9);
  return u;
}

/* ---------------------------------------------------------------- copies */

/* Lets the source write frame `number` to `here`, component by component. */
static StcStatus write_frame(const StcPlan *p, const Uploads *u, int field, const FrameWriter *w, int64_t number,
                             char *here) {
  const Declared *d = &p->program->declared[field];
  if (!u->packed)
    return w->fn(w->user, number, here, u->bytes);
  StcFieldInfo info;
  StcStatus s = stc_plan_field((StcPlan *)p, field, &info);
  s = s ? s : w->fn(w->user, number, u->packed, (size_t)info.bytes);
  for (int c = 0; c < d->ncomponents && !s; c++) {
    size_t size = (size_t)type_size((Type)d->components[c].type), n = slot_bytes(component_slot(p, field, c)) / size;
    const char *from = (const char *)u->packed + d->components[c].offset;
    for (size_t i = 0; i < n; i++, here += size)
      memcpy(here, from + i * (size_t)d->point_bytes, size);
  }
  return s;
}

/* Copies a frame on the device to the field, after all launches so far. */
static StcStatus put_frame(StcPlan *p, int field, const char *frame) {
  Device *d = &p->device;
  StcStatus s = STC_OK;
  for (int c = 0; c < components_of(p, field) && !s; c++) {
    Slot *slot = component_slot(p, field, c);
    size_t bytes = slot_bytes(slot);
    s = slot->loan ? plan_before_write(p, slot) : STC_OK;
    if (!s && !slot->pitch)
      s = d->kind->copy(d, slot->memory, frame, bytes);
    else if (!s)
      s = d->kind->send(d, LANE_MAIN, d,
                        &(Sending){.from = frame,
                                   .to = slot->memory,
                                   .n = (int64_t)slot->row,
                                   .count = {(int64_t)(slot->size / slot->pitch), 1, 1},
                                   .from_stride = {(int64_t)slot->row, (int64_t)slot->size},
                                   .to_stride = {(int64_t)slot->pitch, (int64_t)slot->size}});
    frame += bytes;
  }
  return s;
}

/* Has the device room for another frame that stays? */
static bool has_room(StcPlan *p, const Uploads *u) {
  double left, total;
  device_room(&p->device, &left, &total);
  return left - (double)u->bytes >= u->spare;
}

/* The device memory where frame `number` stays, *old: it is there already; NULL: there is none. */
static void *kept_memory(StcPlan *p, Uploads *u, int64_t number, bool *old) {
  *old = number < u->nkept && u->kept[number];
  if (number >= u->nkept)
    return NULL;
  if (!*old && has_room(p, u) && p->device.kind->alloc(&p->device, u->bytes, &u->kept[number]))
    u->kept[number] = NULL;
  return u->kept[number];
}

/* Lets later work in the lane wait for all work issued so far in the main lane. */
static StcStatus wait_for_main(Device *d, int lane) {
  StcStatus s = d->kind->mark(d, LANE_MAIN);
  return s ? s : d->kind->follow(d, lane, d, LANE_MAIN);
}

/* Copies frame `number` to the device through the next place, and from there to the field. The next frame in that place
 * waits for that copy, and not for later steps. */
static StcStatus bring(StcPlan *p, Uploads *u, int field, const FrameWriter *w, int64_t number) {
  Device *d = &p->device;
  UploadPlace *x = &u->place[u->turn];
  int lane = 1 + u->turn;
  u->turn = (u->turn + 1) % PLACES;
  bool old;
  void *kept = kept_memory(p, u, number, &old), *there = kept ? kept : x->there;
  StcStatus s = x->used ? d->kind->await(d, lane) : STC_OK, waited;
  if (!s && (s = write_frame(p, u, field, w, number, x->here)))
    return (waited = d->kind->wait(d)) ? waited : s;
  s = s || !old ? s : wait_for_main(d, lane);
  s = s ? s : d->kind->carry(d, lane, there, x->here, u->bytes, false);
  s = s ? s : d->kind->mark(d, lane);
  x->used = true;
  s = s ? s : d->kind->follow(d, LANE_MAIN, d, lane);
  s = s ? s : put_frame(p, field, there);
  if (kept)
    u->has[number] = !s;
  return s || kept ? s : wait_for_main(d, lane);
}

StcStatus plan_upload(StcPlan *p, Uploads **uploads, int field, const FrameWriter *w, int64_t number, int64_t keep,
                      bool *done) {
  if (!*uploads)
    *uploads = make_uploads(p, field, keep);
  Uploads *u = *uploads;
  *done = u && !u->impossible;
  if (!*done)
    return STC_OK;
  return number < u->nkept && u->has[number] ? put_frame(p, field, u->kept[number]) : bring(p, u, field, w, number);
}
