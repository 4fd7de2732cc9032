/* driver/cli/run/run-frames.c: `stc run`: fields that are series of frames, which --in takes from files. */
#include "driver/cli/options/command.h"
#include "driver/cli/run/job.h"
#include "driver/data/data.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <inttypes.h>

bool frames_are_wanted(const FieldOption *o, FieldPlace at, const StcFieldInfo *f) {
  return at.field >= 0 && at.component < 0 && f->frames && is_file(o->value) && !is_picture(o->value) &&
         frames_are_in(o->value, f);
}

/* The field in messages. */
static const char *what_of(const Job *j, const StcFieldInfo *f) {
  return arena_printf(j->c->arena, "field %s", f->name);
}

StcStatus frames_check(const Job *j, const FieldOption *o, const StcFieldInfo *f) {
  FrameFile *x;
  StcStatus s = frames_open(j->c->context, o->value, what_of(j, f), f, &x);
  int64_t steps = j->c->steps < 0 ? module_steps(j->program->module, j->scalars) : j->c->steps,
          first = j->c->first_step > 0 ? j->c->first_step : 0, count = s ? 0 : frames_count(x);
  frames_close(s ? NULL : x);
  int64_t last = first + steps - 1;
  if (s || f->cycle || steps < 1 || last / f->frames < count)
    return s;
  return context_error(j->c->context,
                       "--in %s=%s: it has %" PRId64 " frame%s of %" PRId64 " step%s each, but step %" PRId64
                       " is in frame %" PRId64 ", counted from 0: give it more, make fewer steps with --steps, or "
                       "declare the field with 'cycle'",
                       o->field, o->value, count, count == 1 ? "" : "s", f->frames, f->frames == 1 ? "" : "s", last,
                       last / f->frames),
         STC_INPUT;
}

StcStatus frames_give(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at, const StcFieldInfo *f) {
  FrameFile *x;
  StcStatus s = frames_open(j->c->context, o->value, what_of(j, f), f, &x);
  if (s)
    return s;
  context_remark(j->c->context, "read: %s, %" PRId64 " frames of field %s", o->value, frames_count(x), f->name);
  ARENA_PUSH(j->c->arena, j->frames->file, j->frames->n, x);
  return stc_plan_frames(plan, at.field, frames_count(x), frames_read, x);
}

void frames_close_all(const Job *j) {
  for (int i = 0; j->frames && i < j->frames->n; i++)
    frames_close(j->frames->file[i]);
  if (j->frames)
    j->frames->n = 0;
}
