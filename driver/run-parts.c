/* driver/run-parts.c: `stc run` on several ranks none of which has the whole grid: fields in, part by part. Each rank
 * reads what its parts have of a file, ghost cells too. How they go out: data/joint.h. */
#include "driver/data/writer.h"
#include "driver/split/split.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool job_is_lean(const Job *j) {
  const Command *c = j->c;
  bool lean = j->net;
  for (int i = 0; i < c->nin; i++)
    lean = lean && !(is_file(c->in[i].value) && path_is_special(c->in[i].value));
  return lean;
}

/* Type and shape of a place in `plan`, of a field of that name. */
static StcStatus place_of(StcPlan *plan, const char *name, int component, int *field, StcFieldInfo *f) {
  *field = stc_program_find_field(plan->program, name);
  return component >= 0 ? stc_plan_component(plan, *field, component, f) : stc_plan_field(plan, *field, f);
}

/* The bytes of a point of the field or component. */
static int64_t point_bytes(const StcPlan *p, Place at) {
  const Declared *d = &p->program->declared[at.field];
  return at.component < 0 ? d->point_bytes : type_size((Type)d->components[at.component].type);
}

/* ---------------------------------------------------------------- in */

/* Where the values for a part are from: a file (file.fd >= 0), an array of the whole field, or random numbers for
 * `whole`. */
typedef struct PartSource {
  PartFile file;
  const char *array;
  const StcFieldInfo *whole;
  uint64_t seed;
} PartSource;

/* One run of cells that are no file's (part_each). */
static StcStatus take_run(void *user, int64_t from, int64_t to, int64_t n) {
  const PartSource *x = user;
  int64_t size = x->file.size;
  if (x->array)
    memcpy(x->file.memory + to * size, x->array + from * size, (size_t)(n * size));
  else
    random_range(x->whole, x->seed, from, n, x->file.memory + to * size);
  return STC_OK;
}

/* Fills what part `part` has of a place, and gives it to the part's plan. */
static StcStatus give_part(const Job *j, const PartPlan *part, const FieldOption *o, Place at, PartSource *from) {
  const char *name = j->program->declared[at.field].name;
  StcPlan *q = part->plan;
  StcFieldInfo f;
  int field;
  StcStatus s = place_of(q, name, at.component, &field, &f);
  if (s)
    return s;
  from->file.memory = calloc((size_t)f.bytes + 1, 1);
  if (!from->file.memory)
    return computer_no_room(j->c->context, "the values of", f.name, (double)f.bytes);
  if (from->file.fd < 0 && !from->array && strncmp(o->value, "random:", 7) != 0)
    s = fill_value(j->c, &f, o->value, from->file.memory);
  else if (from->file.fd < 0)
    s = part_each(j->plan, part, at.field, true, take_run, from);
  else if (part_from_file(j->plan, part, at.field, &from->file))
    s = (context_error(j->c->context, "%s: its elements cannot be read: %s", o->value, strerror(errno)), STC_IO);
  if (!s && from->file.fd >= 0)
    npy_bools(&f, from->file.memory);
  if (!s)
    s = at.component >= 0 ? stc_plan_set_component(q, field, at.component, from->file.memory, (size_t)f.bytes)
                          : stc_plan_set(q, field, from->file.memory, (size_t)f.bytes);
  free(from->file.memory);
  return s;
}

/* A picture, as the whole field has it (malloc); NULL after an error. */
static char *read_picture(const Job *j, const char *path, const char *what, const StcFieldInfo *f) {
  char *data = malloc((size_t)f->bytes + 1);
  if (!data)
    computer_no_room(j->c->context, "the values of", f->name, (double)f->bytes);
  else if (png_read_field(j->c->context, path, what, f, data))
    return free(data), NULL;
  return data;
}

/* Carries out one --in for a place on all parts of this rank. */
static StcStatus give_place(const Job *j, const FieldOption *o, Place at) {
  StcPlan *p = j->plan;
  const Split *split = p->split;
  StcFieldInfo whole;
  int field;
  StcStatus s = place_of(p, j->program->declared[at.field].name, at.component, &field, &whole);
  if (s)
    return s;
  PartSource from = {.file = {.fd = -1, .size = point_bytes(p, at)}, .whole = &whole};
  const char *what = arena_printf(j->c->arena, "field %s", whole.name);
  char *picture = NULL;
  if (is_file(o->value))
    context_remark(j->c->context, "read: %s, for %s", o->value, what);
  if (is_file(o->value) && is_picture(o->value))
    from.array = picture = read_picture(j, o->value, what, &whole);
  else if (is_file(o->value))
    from.file.fd = npy_open(j->c->context, o->value, what, &whole, &from.file.at);
  else
    from.seed = strtoull(o->value + strcspn(o->value, ":") + (strchr(o->value, ':') != NULL), NULL, 10);
  if (is_file(o->value) && !from.array && from.file.fd < 0)
    return STC_INPUT;
  for (int i = split->begin; i < split->end && !s; i++)
    s = give_part(j, &split->part[i], o, at, &from);
  if (from.file.fd >= 0)
    close(from.file.fd);
  free(picture);
  plan_mark_given(p, at.field, at.component);
  return s;
}

/* Carries out --in for a launch-time array, which every part has as a whole. */
static StcStatus give_arrays(const Job *j, const FieldOption *o, int array) {
  StcFieldInfo f;
  void *data = NULL;
  StcStatus s = give_array(j, j->plan, o, array, &f, &data);
  if (!s)
    s = stc_plan_set_array(j->plan, array, data, (size_t)f.bytes);
  free(data);
  return s;
}

/* Carries out one --in; components by themselves where the values are no file's. */
static StcStatus give(const Job *j, StcPlan *plan, const FieldOption *o, Place at) {
  (void)plan;
  const Declared *d = at.array >= 0 ? NULL : &j->program->declared[at.field];
  if (!d)
    return give_arrays(j, o, at.array);
  if (at.component >= 0 || !declared_has_parts(d) || is_file(o->value))
    return give_place(j, o, at);
  StcStatus s = STC_OK;
  for (int c = 0; c < d->ncomponents && !s; c++)
    s = give_place(j, o, (Place){at.field, c, -1});
  return s;
}

StcStatus give_parts(const Job *j) { return give_in_order(j, j->plan, give); }
