/* driver/instance/plan-frames.c: fields that are series of frames (Field.frames): before each step with which a frame
 * begins it is taken from who has the series, and put into the field; where there is a field for the frame behind it,
 * that is taken too, and kept for when it is due. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <stdlib.h>

/* A frame in the computer's memory (malloc). number: of which one, -1: of none. */
typedef struct Kept {
  void *data;
  int64_t number;
} Kept;

/* Where the frames of a field come from. count: how many there are, < 0: any number. held: the frame for whose steps
 * the field is ready, counted without regard to `count`; -1: none. kept: the field's frame and the one behind it. */
typedef struct FrameSeries {
  StcFrame fn;
  void *user;
  int64_t count, held;
  Kept kept[2];
} FrameSeries;

/* What the module of the program says of declared field `field`. */
static const Field *field_of(const StcPlan *p, int field) {
  return &p->program->module->fields[p->program->declared[field].field];
}

/* Frees what is kept of the series, which is none then. */
static void drop(FrameSeries *x) {
  for (int i = 0; i < 2; i++)
    free(x->kept[i].data);
  *x = (FrameSeries){0};
}

void plan_drop_frames(StcPlan *p, int field) {
  if (p->frames)
    drop(&p->frames[field]);
}

void plan_free_frames(StcPlan *p) {
  for (int f = 0; f < p->program->ndeclared && p->frames; f++)
    drop(&p->frames[f]);
  free(p->frames);
  p->frames = NULL;
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
  if (p->split && p->split_ops->is_lean(p))
    return context_error(p->w.context,
                         "field %s has frames, which are set where a process has the whole grid: leave out "
                         "StcRanks.parts, or --split over several processes",
                         d->name),
           STC_USAGE;
  if (!p->frames && !(p->frames = calloc((size_t)p->program->ndeclared, sizeof *p->frames)))
    return context_error(p->w.context, "out of memory"), STC_MEMORY;
  drop(&p->frames[field]);
  p->frames[field] = (FrameSeries){fn, user, count, -1, {{NULL, -1}, {NULL, -1}}};
  int next = program_next_frame(p->program, field);
  bool once = p->run.once_done;
  plan_mark_given(p, field, -1);
  if (next >= 0)
    plan_mark_given(p, next, -1);
  p->run.once_done = once;
  return STC_OK;
}

StcStatus plan_check_frames(StcPlan *p, int64_t steps) {
  for (int i = 0; i < p->program->ndeclared && p->frames && steps > 0; i++) {
    const Field *f = field_of(p, i);
    const FrameSeries *x = &p->frames[i];
    int64_t last = p->run.done + steps - 1;
    if (!x->fn || f->cycle || x->count < 0 || last / f->frames < x->count)
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

/* The number that frame `frame` has in the series: behind the last one it begins anew, or stays there. */
static int64_t number_of(const FrameSeries *x, const Field *f, int64_t frame) {
  if (x->count < 0 || frame < x->count)
    return frame;
  return f->cycle ? frame % x->count : x->count - 1;
}

/* Has `kept` frame `number` of the series for field `field`, and the field `to` have it. */
static StcStatus put_frame(StcPlan *p, const FrameSeries *x, Kept *kept, int64_t number, int to) {
  StcFieldInfo info;
  StcStatus s = stc_plan_field(p, to, &info);
  if (!s && !kept->data && !(kept->data = malloc((size_t)info.bytes + 1)))
    s = computer_no_room(p->w.context, "a frame of field", info.name, (double)info.bytes);
  if (!s && kept->number != number) {
    kept->number = -1;
    s = x->fn(x->user, number, kept->data, (size_t)info.bytes);
    kept->number = s ? -1 : number;
  }
  return s ? s : plan_put_field(p, to, kept->data, (size_t)info.bytes);
}

/* Makes field `field` ready for the steps of frame `frame`. */
static StcStatus make_ready(StcPlan *p, int field, int64_t frame) {
  FrameSeries *x = &p->frames[field];
  const Field *f = field_of(p, field);
  int next = program_next_frame(p->program, field);
  int64_t now = number_of(x, f, frame), later = number_of(x, f, frame + 1);
  if (next >= 0 && x->kept[0].number != now) {
    Kept k = x->kept[0];
    x->kept[0] = x->kept[1];
    x->kept[1] = k;
  }
  x->held = -1;
  StcStatus s = put_frame(p, x, &x->kept[0], now, field);
  if (!s && next >= 0)
    s = put_frame(p, x, &x->kept[later != now], later, next);
  x->held = s ? -1 : frame;
  return s;
}

StcStatus plan_next_frames(StcPlan *p) {
  StcStatus s = STC_OK;
  bool any = false;
  for (int i = 0; i < p->program->ndeclared && p->frames && !p->facade && !s; i++) {
    int64_t frame = p->frames[i].fn ? p->run.done / field_of(p, i)->frames : -1;
    if (frame < 0 || p->frames[i].held == frame)
      continue;
    if (!any && !p->device.kind->whole)
      s = p->device.kind->wait(&p->device);
    any = true;
    s = s ? s : make_ready(p, i, frame);
  }
  return s;
}
