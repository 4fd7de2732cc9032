/* driver/instance/plan-frames.c: fields that are series of frames (Field.frames): before each step with which a frame
 * begins, the frame is requested from the source of the series and copied to the field. If there is a field for the
 * next frame, that is requested, too, and copied on the device when it is due. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <stdlib.h>

/* The source of the frames of a field. count: the number of frames, < 0: any number. held: the frame for whose steps
 * the fields are ready, counted without regard to `count`; -1: none. has: the frames that the field and the field for
 * the next frame hold, -1: none. lasts: the source always yields the same frames. data: host memory for one frame
 * (malloc), if frames do not come by uploads. */
typedef struct FrameSeries {
  FrameWriter from;
  int64_t count, held, has[2];
  bool lasts;
  void *data;
  Uploads *uploads;
} FrameSeries;

/* Declared field `field` in the module of the program. */
static const Field *field_of(const StcPlan *p, int field) {
  return &p->program->module->fields[p->program->declared[field].field];
}

/* Is the grid cut, and does no rank have it as a whole? */
static bool is_lean(const StcPlan *p) { return p->split && p->split_ops->is_lean(p); }

/* Removes the series, and frees its memory. */
static void drop(StcPlan *p, FrameSeries *x) {
  plan_free_uploads(p, x->uploads);
  free(x->data);
  *x = (FrameSeries){0};
}

/* Marks the fields of the series as no longer holding its frames. */
static void forget(FrameSeries *x) { x->held = x->has[0] = x->has[1] = -1; }

void plan_drop_frames(StcPlan *p, int field) {
  if (!p->frames)
    return;
  drop(p, &p->frames[field]);
  if (field > 0 && program_next_frame(p->program, field - 1) == field)
    forget(&p->frames[field - 1]);
}

/* May others have written to the memory of a component of declared field `field`? */
static bool is_exposed(const StcPlan *p, int field) {
  Home h = p->bound.homes[field];
  bool exposed = false;
  for (int c = 0; c < (h.packed ? 1 : p->program->declared[field].ncomponents); c++) {
    const Slot *slot = field_slot(p, h.field + c);
    exposed |= slot->foreign || slot->shown || slot->handed;
  }
  return exposed;
}

void plan_doubt_frames(StcPlan *p) {
  for (int f = 0; f < p->program->ndeclared && p->frames && !p->facade; f++) {
    int next = program_next_frame(p->program, f);
    if (!p->frames[f].lasts)
      plan_doubt_uploads(p->frames[f].uploads);
    if (p->frames[f].from.fn && (is_exposed(p, f) || (next >= 0 && is_exposed(p, next))))
      forget(&p->frames[f]);
  }
}

void plan_free_frames(StcPlan *p) {
  for (int f = 0; f < p->program->ndeclared && p->frames; f++)
    drop(p, &p->frames[f]);
  free(p->frames);
  p->frames = NULL;
}

bool plan_has_series(const StcPlan *p, int field) {
  bool ahead = field > 0 && program_next_frame(p->program, field - 1) == field;
  return p->frames && p->frames[ahead ? field - 1 : field].from.fn;
}

/* Records that a field, and the field for its next frame, are set from outside. */
static void mark_given(StcPlan *p, int field) {
  int next = program_next_frame(p->program, field);
  bool once = p->run.once_done;
  plan_mark_given(p, field, -1);
  if (next >= 0)
    plan_mark_given(p, next, -1);
  p->run.once_done = once;
}

void plan_restart_frames(StcPlan *p) {
  for (int f = 0; f < p->program->ndeclared && p->frames; f++)
    if (p->frames[f].from.fn) {
      forget(&p->frames[f]);
      mark_given(p, f);
    }
}

StcStatus stc_plan_frames(StcPlan *p, int field, int64_t count, StcFrame fn, void *user) {
  const Declared *d = plan_find_declared(p, field, 0);
  StcStatus s = d ? plan_join(p) : STC_USAGE;
  if (s)
    return s;
  const Field *f = field_of(p, field);
  if (!f->frames || f->ahead)
    return context_error(p->w.context, "field %s is no series of frames: declare it with 'frames every K'", d->name),
           STC_USAGE;
  if (!count || !fn)
    return context_error(p->w.context, "field %s needs one frame at least", d->name), STC_USAGE;
  if (!p->frames && !(p->frames = calloc((size_t)p->program->ndeclared, sizeof *p->frames)))
    return context_error(p->w.context, "out of memory"), STC_MEMORY;
  drop(p, &p->frames[field]);
  p->frames[field] = (FrameSeries){.from = {fn, user}, .count = count, .held = -1, .has = {-1, -1}};
  mark_given(p, field);
  return STC_OK;
}

void plan_frames_last(StcPlan *p, int field) { p->frames[field].lasts = true; }

StcStatus plan_check_frames(StcPlan *p, int64_t steps) {
  for (int i = 0; i < p->program->ndeclared && p->frames && steps > 0; i++) {
    const Field *f = field_of(p, i);
    const FrameSeries *x = &p->frames[i];
    int64_t last = p->run.done + steps - 1;
    if (!x->from.fn || f->cycle || x->count < 0 || last / f->frames < x->count)
      continue;
    diag_error(p->w.diags, f->loc,
               "field %s has %lld frame%s of %lld step%s each, but step %lld is in frame %lld: give it more, make %lld "
               "steps at most, or declare it with 'cycle'",
               f->name, (long long)x->count, x->count == 1 ? "" : "s", (long long)f->frames, f->frames == 1 ? "" : "s",
               (long long)last, (long long)(last / f->frames), (long long)(x->count * f->frames));
    return STC_INPUT;
  }
  return STC_OK;
}

/* The number of frame `frame` in the series: after the last one it begins again, or stays at the last one. */
static int64_t number_of(const FrameSeries *x, const Field *f, int64_t frame) {
  if (x->count < 0 || frame < x->count)
    return frame;
  return f->cycle ? frame % x->count : x->count - 1;
}

/* Sets field `to` to frame `number` of the series, which begins again after `keep` frames, 0: it does not. */
static StcStatus take_frame(StcPlan *p, FrameSeries *x, int64_t number, int64_t keep, int to) {
  StcFieldInfo info;
  bool done;
  StcStatus s = plan_upload(p, &x->uploads, to, &x->from, number, keep, &done);
  if (s || done)
    return s;
  if (!p->device.kind->whole && !p->facade)
    s = p->device.kind->wait(&p->device);
  s = s ? s : stc_plan_field(p, to, &info);
  if (!s && !x->data && !(x->data = malloc((size_t)info.bytes + 1)))
    s = computer_no_room(p->w.context, "a frame of field", info.name, (double)info.bytes);
  if (!s)
    s = x->from.fn(x->from.user, number, x->data, (size_t)info.bytes);
  if (!s && is_lean(p))
    return p->split_ops->put_frame(p, to, x->data);
  return s ? s : plan_put_field(p, to, x->data, (size_t)info.bytes);
}

StcStatus plan_copy_frame(StcPlan *p, int from, int to) {
  if (is_lean(p))
    return p->split_ops->copy_frame(p, from, to);
  const Home *a = &p->bound.homes[from], *b = &p->bound.homes[to];
  StcStatus s = STC_OK;
  for (int c = 0; c < (a->packed ? 1 : p->program->declared[from].ncomponents) && !s; c++) {
    Slot *slot = field_slot(p, b->field + c);
    s = slot->loan ? plan_before_write(p, slot) : STC_OK;
    if (!s && slot->size)
      s = plan_copy_slot(p, field_slot(p, a->field + c), slot->memory);
  }
  return s;
}

/* Sets field fields[i] to frame `number`, which the other field may hold. */
static StcStatus bring_frame(StcPlan *p, FrameSeries *x, const Field *f, const int fields[2], int i, int64_t number) {
  if (fields[i] < 0 || x->has[i] == number)
    return STC_OK;
  bool there = fields[1] >= 0 && x->has[1 - i] == number;
  int64_t keep = f->cycle && x->count > 0 ? x->count : 0;
  x->has[i] = -1;
  StcStatus s = there ? plan_copy_frame(p, fields[1 - i], fields[i]) : take_frame(p, x, number, keep, fields[i]);
  x->has[i] = s ? -1 : number;
  return s;
}

/* Prepares field `field` for the steps of frame `frame`: copies it from the field for the next frame, if it is there.
 */
static StcStatus make_ready(StcPlan *p, int field, int64_t frame) {
  FrameSeries *x = &p->frames[field];
  const Field *f = field_of(p, field);
  const int fields[2] = {field, program_next_frame(p->program, field)};
  x->held = -1;
  StcStatus s = bring_frame(p, x, f, fields, 0, number_of(x, f, frame));
  if (!s)
    s = bring_frame(p, x, f, fields, 1, number_of(x, f, frame + 1));
  x->held = s ? -1 : frame;
  return s;
}

StcStatus plan_next_frames(StcPlan *p) {
  StcStatus s = STC_OK;
  for (int i = 0; i < p->program->ndeclared && p->frames && (!p->facade || is_lean(p)) && !s; i++) {
    int64_t frame = p->frames[i].from.fn ? p->run.done / field_of(p, i)->frames : -1;
    if (frame < 0 || p->frames[i].held == frame)
      continue;
    s = make_ready(p, i, frame);
  }
  return s;
}
