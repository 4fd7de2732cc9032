/* driver/instance/plan-data.c: copies a plan's fields and launch-time arrays in and out. Users see declared fields with
 * packed points; if pass scalarize has turned one into a structure of arrays, its values are gathered and scattered
 * here. */
#include "driver/device/device.h"
#include "driver/files/files.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* The arguments of the guarded function for copying; the pointer that is set determines the direction. component -1:
 * the whole field. */
typedef struct CopyArgs {
  StcPlan *p;
  int field, component;
  void *out;
  const void *in;
} CopyArgs;

/* Copies all of a slot in or out. */
static StcStatus copy_slot(StcPlan *p, Slot *slot, void *out, const void *in) {
  StcStatus kept = in && slot->loan ? plan_before_write(p, slot) : STC_OK;
  if (kept || !slot->size || in == slot->memory) /* the values were written to plan_in_file */
    return kept;
  return in ? slot_put(p, slot, in) : slot_fetch(p, slot, out);
}

/* Copies `n` values of `size` bytes from places at distances of `from_step` bytes to places at distances of `to_step`
 * bytes. */
static void copy_strided(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n, size_t size) {
  for (int64_t i = 0; i < n; i++)
    memcpy(to + i * to_step, from + i * from_step, size);
}

/* Copies component `c` of a field whose points are packed in the plan's memory. */
static void copy_packed(const CopyArgs *a, const Declared *d, const Slot *slot, int c) {
  const StcComponent *part = &d->components[c];
  int64_t size = type_size((Type)part->type), n = (int64_t)slot->size / d->point_bytes;
  char *packed = (char *)slot->memory + part->offset;
  if (a->in)
    copy_strided(packed, d->point_bytes, a->in, size, n, (size_t)size);
  else
    copy_strided(a->out, size, packed, d->point_bytes, n, (size_t)size);
}

/* Copies a field whose components have slots of their own to or from packed points, through `part`, which has room for
 * one component. */
static StcStatus copy_split(const CopyArgs *a, const Declared *d, char *part) {
  StcPlan *p = a->p;
  StcStatus s = STC_OK;
  for (int c = 0; c < d->ncomponents && !s; c++) {
    Slot *slot = field_slot(p, p->bound.homes[a->field].field + c);
    int64_t size = type_size((Type)d->components[c].type), n = (int64_t)slot_bytes(slot) / size,
            offset = d->components[c].offset;
    if (a->in)
      copy_strided(part, size, (const char *)a->in + offset, d->point_bytes, n, (size_t)size);
    s = copy_slot(p, slot, part, a->in ? part : NULL);
    if (!a->in && !s)
      copy_strided((char *)a->out + offset, d->point_bytes, part, size, n, (size_t)size);
  }
  return s;
}

/* copy_split with memory for a component of at most `bytes` bytes. */
static StcStatus copy_split_in_memory(const CopyArgs *a, const Declared *d, size_t bytes) {
  char *part = malloc(bytes);
  if (!part)
    return computer_no_room(a->p->w.context, "a copy of field", d->name, (double)bytes);
  StcStatus s = copy_split(a, d, part);
  free(part);
  return s;
}

/* Makes the copy that `arg` describes. */
static StcStatus copy_guarded(void *arg) {
  CopyArgs *a = arg;
  StcPlan *p = a->p;
  const Declared *d = &p->program->declared[a->field];
  Home h = p->bound.homes[a->field];
  Slot *slot = field_slot(p, h.field + (h.packed || a->component < 0 ? 0 : a->component));
  if (h.packed && a->component >= 0)
    return copy_packed(a, d, slot, a->component), STC_OK;
  if (h.packed || a->component >= 0 || d->ncomponents == 1)
    return copy_slot(p, slot, a->out, a->in);
  size_t most = 1, points = slot_bytes(slot) / (size_t)type_size((Type)d->components[0].type);
  for (int c = 0; c < d->ncomponents; c++) {
    size_t n = points * (size_t)type_size((Type)d->components[c].type);
    most = n > most ? n : most;
  }
  return copy_split_in_memory(a, d, most);
}

/* Checks that the field or component of `a` has a value and `bytes` bytes, and copies it. */
static StcStatus copy(CopyArgs *a, size_t bytes) {
  StcFieldInfo f;
  StcStatus joined = plan_join(a->p);
  if (!joined && a->out)
    joined = plan_check_torn(a->p);
  if (!joined && a->in && a->field >= 0 && a->field < a->p->program->ndeclared)
    joined = plan_check_mask_set(a->p, a->field);
  if (joined)
    return joined;
  StcStatus s =
      a->component < 0 ? stc_plan_field(a->p, a->field, &f) : stc_plan_component(a->p, a->field, a->component, &f);
  if (s)
    return s;
  StcContext *c = a->p->w.context;
  if (f.temp)
    return context_error(c, "field %s is temp: it holds no value from one time step to the next", f.name), STC_USAGE;
  if (f.bytes != (int64_t)bytes)
    return context_error(
               c, "field %s has %lld bytes, but %zu were given: the array must have the field's type and extents",
               f.name, (long long)f.bytes, bytes),
           STC_USAGE;
  bool lean = a->p->split && a->p->split_ops->is_lean(a->p);
  if (a->p->facade && (a->out || lean))
    return context_error(c, "field %s is not on this rank as a whole%s", f.name,
                         lean ? ": take stc_plan_part_set and stc_plan_part_get" : "; it is on rank 0"),
           STC_USAGE;
  return bytes && !a->p->facade ? workspace_guard(&a->p->w, copy_guarded, a) : STC_OK;
}

StcStatus plan_put_field(StcPlan *p, int field, const void *data, size_t bytes) {
  CopyArgs a = {p, field, -1, NULL, data};
  return copy(&a, bytes);
}

/* Sets component `component` (-1: all) of a field; if the field is a series of frames, of all of them. */
static StcStatus set(StcPlan *p, int field, int component, const void *data, size_t bytes) {
  if (component >= 0 && plan_has_series(p, field))
    return context_error(p->w.context, "field %s has a series of frames, all of whose components come from there",
                         p->program->declared[field].name),
           STC_USAGE;
  CopyArgs a = {p, field, component, NULL, data};
  StcStatus s = copy(&a, bytes);
  if (s)
    return s;
  plan_mark_given(p, field, component);
  plan_drop_frames(p, field);
  int next = program_next_frame(p->program, field);
  return next < 0 ? STC_OK : set(p, next, component, data, bytes);
}

StcStatus stc_plan_set(StcPlan *p, int field, const void *data, size_t bytes) { return set(p, field, -1, data, bytes); }

StcStatus stc_plan_get(StcPlan *p, int field, void *data, size_t bytes) {
  CopyArgs a = {p, field, -1, data, NULL};
  return copy(&a, bytes);
}

StcStatus stc_plan_set_component(StcPlan *p, int field, int component, const void *data, size_t bytes) {
  return plan_find_declared(p, field, component) ? set(p, field, component, data, bytes) : STC_USAGE;
}

StcStatus stc_plan_get_component(StcPlan *p, int field, int component, void *data, size_t bytes) {
  if (!plan_find_declared(p, field, component))
    return STC_USAGE;
  CopyArgs a = {p, field, component, data, NULL};
  return copy(&a, bytes);
}

/* The arguments of the guarded function that sets an array. */
typedef struct ArrayArgs {
  StcPlan *p;
  Slot *slot;
  const void *in;
} ArrayArgs;

/* Copies an array in. */
static StcStatus set_array_guarded(void *arg) {
  ArrayArgs *a = arg;
  return copy_slot(a->p, a->slot, NULL, a->in);
}

/* Copies the values of an array, which may be hidden, to where kernels read them. */
static StcStatus put_array(StcPlan *p, int array, const void *data, size_t bytes) {
  if (p->facade && p->split)
    return p->split_ops->set_array(p, array, data, bytes);
  if (p->memory.of_array[array] < 0 || p->facade)
    return STC_OK;
  ArrayArgs a = {p, array_slot(p, array), data};
  return workspace_guard(&p->w, set_array_guarded, &a);
}

/* If the array holds coordinates, checks that they rise. */
static StcStatus check_array(StcPlan *p, int array, const void *data) {
  int dim = coordinates_of(p->module, array);
  return dim < 0 || coordinates_check(p->module, array, dim, p->scalars, data, p->w.diags) ? STC_OK : STC_INPUT;
}

/* If the array holds coordinates, at `data`, computes the arrays of their weights. */
static StcStatus put_weights(StcPlan *p, int array, const void *data) {
  const Module *m = p->module;
  StcStatus s = STC_OK;
  for (int i = 0; i < m->nparam_arrays && !s; i++) {
    const ParamArray *a = &m->param_arrays[i];
    if (a->role != ARRAY_WEIGHTS || a->from != array)
      continue;
    size_t bytes = (size_t)param_array_extent(a, p->scalars) * (size_t)type_size(a->type);
    void *weights = malloc(bytes + 1);
    if (!weights)
      return computer_no_room(p->w.context, "the weights of", a->name, (double)bytes);
    weights_fill(m, i, p->scalars, data, weights);
    s = put_array(p, i, weights, bytes);
    free(weights);
  }
  return s;
}

StcStatus stc_plan_set_array(StcPlan *p, int array, const void *data, size_t bytes) {
  StcFieldInfo f;
  StcStatus s = plan_join(p);
  if (!s)
    s = stc_plan_array(p, array, &f);
  if (s)
    return s;
  if (f.bytes != (int64_t)bytes)
    return context_error(p->w.context,
                         "launch-time array %s has %lld bytes, but %zu were given: it has %lld elements of type %s",
                         f.name, (long long)f.bytes, bytes, (long long)f.shape[0], f.type_name),
           STC_USAGE;
  s = check_array(p, array, data);
  if (!s)
    s = put_array(p, array, data, bytes);
  if (!s)
    s = put_weights(p, array, data);
  if (!s)
    p->bound.array_given[array] = true;
  p->lists.lists_filled = false;
  return s;
}

/* Does the host compute anything from the elements of array `array` when it is set? */
static bool is_looked_at(const StcPlan *p, int array) {
  const Module *m = p->module;
  bool looked = coordinates_of(m, array) >= 0 || m->param_arrays[array].role != ARRAY_GIVEN;
  for (int i = 0; i < m->nparam_arrays; i++)
    looked = looked || (m->param_arrays[i].role == ARRAY_WEIGHTS && m->param_arrays[i].from == array);
  return looked;
}

StcStatus plan_hand_array(StcPlan *from, int array, StcPlan *to, int as, bool *handed) {
  const Device *d = &from->device;
  const Slot *a = from->split || from->facade ? NULL : array_slot(from, array);
  Slot *b = to->split || to->facade ? NULL : array_slot(to, as);
  *handed = a && b && a->memory && b->memory && a->size == b->size && d->kind->room && d->kind == to->device.kind &&
            d->index == to->device.index && !is_looked_at(from, array) && !is_looked_at(to, as);
  if (!*handed)
    return STC_OK;
  StcStatus s = d->kind->wait(&from->device);
  if (!s && b->size)
    s = d->kind->copy(&to->device, b->memory, a->memory, b->size);
  to->bound.array_given[as] |= !s;
  to->lists.lists_filled = false;
  return s;
}

StcStatus stc_plan_pointer(StcPlan *p, int field, int component, void **pointer) {
  *pointer = NULL;
  const Declared *d = plan_find_declared(p, field, component);
  if (!d)
    return STC_USAGE;
  Home h = p->bound.homes[field];
  if (p->module->fields[h.field].temp)
    return context_error(p->w.context, "field %s is temp: it has no memory that lasts", d->name), STC_USAGE;
  if (h.packed)
    return context_error(p->w.context, "field %s is packed on %s: take stc_plan_get_component", d->name,
                         p->device.name),
           STC_USAGE;
  if (plan_is_facade(p, d->name))
    return STC_USAGE;
  StcStatus s = plan_make_dense(p);
  if (s)
    return s;
  Slot *slot = field_slot(p, h.field + component);
  *pointer = slot->memory;
  slot->handed = true;
  plan_mark_given(p, field, component);
  return STC_OK;
}

/* ---------------------------------------------------------------- random numbers */

/* Repeats the first `size` of the `bytes` bytes at `to` over the rest, on the device; on the host if the device has no
 * memory of its own. */
static StcStatus repeat(Device *d, char *to, size_t size, size_t bytes) {
  StcStatus s = STC_OK;
  for (size_t done = size; done < bytes && !s; done *= 2) {
    size_t n = bytes - done < done ? bytes - done : done;
    s = d->kind->copy(d, to + done, to, n);
  }
  return s;
}

/* The first bytes of an array that repeats them. */
typedef struct Repeated {
  const char *data;
  size_t period;
} Repeated;

/* Writes bytes of that array (a SlotSource). */
static void give_repeated(void *user, size_t from, size_t n, char *to) {
  const Repeated *r = user;
  for (size_t done = 0, k; done < n; done += k) {
    size_t at = (from + done) % r->period;
    k = n - done < r->period - at ? n - done : r->period - at;
    memcpy(to + done, r->data + at, k);
  }
}

/* Sets component `component` of field `field`, which is a whole slot, or, if `array`, launch-time array `field`, to
 * random numbers, which are made in `data`. */
static StcStatus randomize(StcPlan *p, bool array, int field, int component, uint64_t seed, char *data) {
  StcFieldInfo f;
  StcStatus s = array ? stc_plan_array(p, field, &f) : stc_plan_component(p, field, component, &f);
  if (s || !f.bytes)
    return s;
  Home h = array ? (Home){0} : p->bound.homes[field];
  int slot = array ? p->memory.of_array[field] : p->memory.of_field[h.field + component];
  size_t bytes = (size_t)f.bytes, period = (size_t)type_size((Type)f.type) * RANDOM_PERIOD;
  if (slot < 0)
    return array ? (p->bound.array_given[field] = true, STC_OK) : STC_OK;
  if (bytes > period)
    f.bytes = (int64_t)period;
  if (!array || !plan_spread_points(p, field, data))
    random_fill(&f, seed, data);
  if (p->memory.slots[slot].pitch)
    s = slot_fill(p, &p->memory.slots[slot], give_repeated, &(Repeated){data, period < bytes ? period : bytes});
  else
    s = p->device.kind->put(&p->device, p->memory.slots[slot].memory, data, (size_t)f.bytes);
  if (!s && !p->memory.slots[slot].pitch)
    s = repeat(&p->device, p->memory.slots[slot].memory, (size_t)f.bytes, bytes);
  if (array)
    p->bound.array_given[field] = true;
  else
    plan_mark_given(p, field, component);
  return s;
}

/* Sets launch-time array `array` to random coordinates, which rise, and computes their weights. */
static StcStatus rise(StcPlan *p, int array, uint64_t seed) {
  const ParamArray *a = &p->module->param_arrays[array];
  size_t bytes = (size_t)param_array_extent(a, p->scalars) * (size_t)type_size(a->type);
  void *values = malloc(bytes + 1);
  if (!values)
    return computer_no_room(p->w.context, "the coordinates of", a->name, (double)bytes);
  plan_random_points(p, array, seed, values);
  StcStatus s = put_array(p, array, values, bytes);
  if (!s)
    s = put_weights(p, array, values);
  free(values);
  p->bound.array_given[array] = true;
  return s;
}

/* Sets component `component` of a field with packed points to random numbers. */
static StcStatus randomize_packed(StcPlan *p, int field, int component, uint64_t seed) {
  StcFieldInfo f;
  StcStatus s = stc_plan_component(p, field, component, &f);
  char *data = s ? NULL : malloc((size_t)f.bytes + 1);
  if (!s && !data)
    return computer_no_room(p->w.context, "a copy of field", f.name, (double)f.bytes);
  size_t bytes = s ? 0 : (size_t)f.bytes, period = s ? 0 : (size_t)type_size((Type)f.type) * RANDOM_PERIOD;
  if (bytes > period)
    f.bytes = (int64_t)period;
  if (!s)
    random_fill(&f, seed, data);
  for (size_t done = period; done < bytes; done *= 2)
    memcpy(data + done, data, bytes - done < done ? bytes - done : done);
  if (!s)
    s = stc_plan_set_component(p, field, component, data, bytes);
  free(data);
  return s;
}

/* The arguments of plan_randomize's guarded function. */
typedef struct RandomArgs {
  StcPlan *p;
  uint64_t seed;
  char *data;
} RandomArgs;

/* Must declared field `f` not be set to random numbers, because it is temp, or an input with an init, which may be a
 * coefficient that does not allow every value? */
static bool keeps_init(const StcPlan *p, int f) {
  const Field *field = &p->module->fields[p->bound.homes[f].field];
  return field->temp || (field->input && p->program->declared[f].has_init);
}

/* Sets everything. */
static StcStatus randomize_guarded(void *arg) {
  RandomArgs *a = arg;
  StcPlan *p = a->p;
  StcStatus s = STC_OK;
  for (int f = 0; f < p->program->ndeclared && !s; f++) {
    if (keeps_init(p, f))
      continue;
    for (int c = 0; c < p->program->declared[f].ncomponents && !s; c++)
      s = p->bound.homes[f].packed ? randomize_packed(p, f, c, a->seed) : randomize(p, false, f, c, a->seed, a->data);
  }
  for (int i = 0; i < stc_program_array_count(p->program) && !s; i++)
    s = coordinates_of(p->module, i) >= 0 ? rise(p, i, a->seed) : randomize(p, true, i, 0, a->seed, a->data);
  p->lists.lists_filled = false;
  return s;
}

StcStatus plan_randomize(StcPlan *p, uint64_t seed) {
  RandomArgs args = {p, seed, malloc((size_t)RANDOM_PERIOD * 8)};
  if (!args.data)
    return context_error(p->w.context, "no memory on this computer for random numbers"), STC_MEMORY;
  StcStatus s = workspace_guard(&p->w, randomize_guarded, &args);
  free(args.data);
  return s;
}
