/* driver/cli/run/run-frames.c: `stc run`: fields that are series of frames, which --in reads from files. */
#include "driver/cli/options/command.h"
#include "driver/cli/run/job.h"
#include "driver/data/data.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Are the frames random numbers, different for each frame? */
static bool is_random(const char *value) { return strncmp(value, "random:", 7) == 0; }

bool frames_are_wanted(const FieldOption *o, FieldPlace at, const StcFieldInfo *f) {
  if (at.field < 0 || at.component >= 0 || !f->frames)
    return false;
  return is_random(o->value) || (is_file(o->value) && !is_picture(o->value) && frames_are_in(o->value, f));
}

/* The name of the field in messages. */
static const char *what_of(const Job *j, const StcFieldInfo *f) {
  return arena_printf(j->c->arena, "field %s", f->name);
}

StcStatus frames_check(const Job *j, const FieldOption *o, const StcFieldInfo *f) {
  FrameFile *x;
  if (is_random(o->value))
    return STC_OK;
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

/* Frames of random numbers for the field `info`, which `d` declares. */
typedef struct RandomFrames {
  StcFieldInfo info;
  const Declared *d;
  uint64_t seed;
} RandomFrames;

/* Makes random numbers that depend on seed, frame, field and point (an StcFrame). */
static StcStatus random_frame(void *user, int64_t frame, void *data, size_t bytes) {
  const RandomFrames *r = user;
  uint64_t seed = r->seed + (uint64_t)frame * UINT64_C(0x9e3779b97f4a7c15);
  char *part = malloc(bytes + 1), *to = data;
  for (int c = 0; c < r->d->ncomponents && part; c++) {
    StcFieldInfo one = r->info;
    component_info(r->d, c, &one);
    int64_t size = type_size((Type)one.type), n = one.bytes / size;
    random_fill(&one, seed, part);
    for (int64_t i = 0; i < n; i++)
      memcpy(to + i * r->d->point_bytes + r->d->components[c].offset, part + i * size, (size_t)size);
  }
  free(part);
  return part ? STC_OK : STC_MEMORY;
}

/* Has the plan use random frames. */
static StcStatus give_random(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at, const StcFieldInfo *f) {
  RandomFrames *r = ARENA_NEW(j->c->arena, RandomFrames);
  *r = (RandomFrames){*f, &j->program->declared[at.field], 0};
  return parse_seed(o->value + 7, &r->seed) ? stc_plan_frames(plan, at.field, -1, random_frame, r) : STC_USAGE;
}

StcStatus frames_give(const Job *j, StcPlan *plan, const FieldOption *o, FieldPlace at, const StcFieldInfo *f) {
  FrameFile *x;
  if (is_random(o->value))
    return give_random(j, plan, o, at, f);
  StcStatus s = frames_open(j->c->context, o->value, what_of(j, f), f, &x);
  if (s)
    return s;
  context_remark(j->c->context, "read: %s, %" PRId64 " frames of field %s", o->value, frames_count(x), f->name);
  ARENA_PUSH(j->c->arena, j->frames->file, j->frames->n, x);
  s = stc_plan_frames(plan, at.field, frames_count(x), frames_read, x);
  if (!s)
    plan_frames_last(plan, at.field);
  return s;
}

void frames_close_all(const Job *j) {
  for (int i = 0; j->frames && i < j->frames->n; i++)
    frames_close(j->frames->file[i]);
  if (j->frames)
    j->frames->n = 0;
}
