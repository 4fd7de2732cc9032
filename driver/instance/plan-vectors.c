/* driver/instance/plan-vectors.c: whole fields of vectors as one array. The plan has each component in memory of its
 * own; in the array the components are further axes after the field's. So the plan can use the array's memory if the
 * components have equal distances and each of them is dense. */
#include "driver/device/device.h"
#include "driver/instance/dlpack.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* The alignment of components in memory of the plan's own. */
enum { COMPONENT_ALIGNMENT = 64 };

/* Memory that several slots share: of the plan (`size` bytes on `device`), or a tensor of the caller. users: the number
 * of slots; when the last one releases it, it is freed. managed: its owner. */
typedef struct Shared {
  DLManagedTensor managed;
  int users;
  Device *device;
  void *memory;
  size_t size;
  DLManagedTensor *tensor;
} Shared;

/* The deleter. */
static void let_go(DLManagedTensor *t) {
  Shared *s = t->manager_ctx;
  if (--s->users > 0)
    return;
  if (s->memory)
    s->device->kind->release(s->device, s->memory, s->size);
  if (s->tensor && s->tensor->deleter)
    s->tensor->deleter(s->tensor);
  free(s);
}

/* A new one for `users` slots; NULL after an error. */
static Shared *shared_new(StcPlan *p, int users) {
  Shared *s = calloc(1, sizeof *s);
  if (!s)
    return context_error(p->w.context, "out of memory"), NULL;
  s->users = users;
  s->device = &p->device;
  s->managed.manager_ctx = s;
  s->managed.deleter = let_go;
  return s;
}

/* An operation on a whole field `field`, described by `f`: `array` and its owner, to which it is bound. */
typedef struct VectorArgs {
  StcPlan *p;
  int field;
  const Declared *d;
  StcFieldInfo f;
  const StcArray *array;
  DLManagedTensor *owner;
  DLManagedTensor **out;
} VectorArgs;

/* Is the field no field of vectors whose components have memory of their own? *why: the reason. */
static bool no_vector(const VectorArgs *a, const char **why) {
  const Declared *d = a->d;
  int64_t n = 1;
  bool same = true, is_pairs = d->dtype && !strncmp(d->dtype, "'<c", 3);
  for (int k = 0; k < d->naxes; k++)
    n *= d->axes[k];
  for (int c = 1; c < d->ncomponents; c++)
    same &= d->components[c].type == d->components[0].type;
  *why = a->f.temp                            ? "it is temp: it has no memory that lasts"
         : a->p->bound.homes[a->field].packed ? "vectors and structs are packed on this device"
         : is_pairs ? "it is of complex numbers, whose parts have memory of their own here, and an array has them side "
                      "by side: take the parts, NAME.re and NAME.im, one by one, or set and get its values"
         : !same || n != d->ncomponents ? "it is of structs: take it component by component"
                                        : NULL;
  return *why != NULL;
}

/* Checks that the field is one of vectors whose components have memory of their own. */
static StcStatus find_vector(VectorArgs *a) {
  StcPlan *p = a->p;
  const char *why;
  a->d = plan_find_declared(p, a->field, 0);
  StcStatus s = a->d ? stc_plan_field(p, a->field, &a->f) : STC_USAGE;
  if (!s && no_vector(a, &why))
    return context_error(p->w.context, "field %s on device %s: %s", a->d->name, p->device.name, why), STC_USAGE;
  return s;
}

/* The lengths of the whole array, "4x5x3". */
static const char *whole_shape(const VectorArgs *a, char *to, size_t size) {
  size_t n = 0;
  for (int k = 0; k < a->f.rank + a->d->naxes && n < size; k++)
    n += (size_t)snprintf(to + n, size - n, "%s%lld", k ? "x" : "",
                          (long long)(k < a->f.rank ? a->f.shape[k] : a->d->axes[k - a->f.rank]));
  return to;
}

/* The distances in elements along each dimension of the array. */
static void find_strides(const StcArray *x, int64_t *strides) {
  int64_t dense = 1;
  for (int k = x->rank - 1; k >= 0; dense *= x->shape[k--])
    strides[k] = x->strides ? x->strides[k] : dense;
}

/* The position of the first element of component `c` in the array, in elements. */
static int64_t component_offset(const VectorArgs *a, const int64_t *strides, int c) {
  int64_t at = 0;
  for (int k = a->d->naxes - 1; k >= 0; c /= (int)a->d->axes[k--])
    at += c % a->d->axes[k] * strides[a->f.rank + k];
  return at;
}

/* Checks the array's lengths, and that its components are not interleaved point by point. */
static StcStatus check_whole(const VectorArgs *a, const int64_t *strides) {
  StcContext *c = a->p->w.context;
  char want[128], axis[64];
  bool fits = a->array->rank == a->f.rank + a->d->naxes;
  for (int k = 0; k < a->array->rank && fits; k++)
    fits = a->array->shape[k] == (k < a->f.rank ? a->f.shape[k] : a->d->axes[k - a->f.rank]);
  if (!fits)
    return context_error(c, "field %s as one array has the shape %s, its own and behind it the vector's", a->d->name,
                         whole_shape(a, want, sizeof want)),
           STC_USAGE;
  snprintf(axis, sizeof axis, "%d", a->d->ncomponents);
  if (a->d->ncomponents > 1 && a->f.shape[a->f.rank - 1] > 1 && strides[a->f.rank - 1] == a->d->ncomponents)
    return context_error(c,
                         "field %s: the array has the components of a point side by side, and kernels have each "
                         "component by itself: make the array with the components outermost, in NumPy: "
                         "numpy.moveaxis(numpy.empty((%s, ...)), 0, -1), or set the field's values in place of "
                         "binding it",
                         a->d->name, axis),
           STC_USAGE;
  return STC_OK;
}

/* Fixes the places of the field's components, and writes their slots to slots[0..ncomponents-1]; false after an error.
 */
static bool fix_slots(VectorArgs *a, Slot **slots) {
  for (int c = 0; c < a->d->ncomponents; c++) {
    slots[c] = plan_fix_slot(a->p, a->field, c);
    if (!slots[c])
      return false;
  }
  return true;
}

/* Is memory freed when the components at `slots` leave it? */
static bool any_is_given_back(const VectorArgs *a, Slot *const *slots) {
  bool any = false;
  for (int c = 0; c < a->d->ncomponents; c++)
    any |= !slots[c]->foreign || slots[c]->owner;
  return any;
}

/* Moves the components at `slots` to memory that `shared` (NULL: the caller) owns, the first one to `data` and number c
 * to offsets[c] bytes after it. It cannot fail, so that either all of them move, or none. */
static void put_slots(VectorArgs *a, Slot *const *slots, Shared *shared, void *data, const int64_t *offsets) {
  for (int c = 0; c < a->d->ncomponents; c++)
    plan_put_slot(a->p, slots[c], (char *)data + offsets[c], shared ? &shared->managed : NULL);
}

/* Binds the whole field to the array, when nothing can fail any more. An array without points is released at once. */
static StcStatus bind_checked(VectorArgs *a, const int64_t *offsets) {
  StcPlan *p = a->p;
  Slot *slots[a->d->ncomponents];
  bool fixed = fix_slots(a, slots);
  if (fixed && !a->f.bytes) {
    if (a->owner && a->owner->deleter)
      a->owner->deleter(a->owner);
    return STC_OK;
  }
  StcStatus s = fixed ? STC_OK : STC_USAGE;
  if (!s && any_is_given_back(a, slots))
    s = p->device.kind->wait(&p->device);
  Shared *shared = s || !a->owner ? NULL : shared_new(p, a->d->ncomponents);
  if (s || (a->owner && !shared))
    return s ? s : STC_MEMORY;
  if (shared)
    shared->tensor = a->owner;
  put_slots(a, slots, shared, a->array->data, offsets);
  return STC_OK;
}

/* Binds the whole field to the array. */
static StcStatus bind_guarded(void *arg) {
  VectorArgs *a = arg;
  StcPlan *p = a->p;
  StcStatus s = find_vector(a);
  if (s)
    return s;
  int64_t strides[a->array->rank + 1], offsets[a->d->ncomponents];
  find_strides(a->array, strides);
  s = check_whole(a, strides);
  for (int c = 0; c < a->d->ncomponents && !s; c++) {
    offsets[c] = component_offset(a, strides, c) * type_size((Type)a->d->components[0].type);
    StcArray part = {a->array->data ? (char *)a->array->data + offsets[c] : NULL, a->array->type, a->f.rank,
                     a->array->shape, strides};
    s = plan_check_array(p, a->field, c, &part);
  }
  return s ? s : bind_checked(a, offsets);
}

StcStatus plan_bind_vector(StcPlan *p, int field, const StcArray *array, DLManagedTensor *owner) {
  VectorArgs a = {.p = p, .field = field, .array = array, .owner = owner};
  StcStatus s = STC_OK;
  if (array)
    return workspace_guard(&p->w, bind_guarded, &a);
  const Declared *d = plan_find_declared(p, field, 0);
  for (int c = 0; d && c < d->ncomponents && !s; c++)
    s = stc_plan_bind(p, field, c, NULL, false);
  return d ? s : STC_USAGE;
}

/* ---------------------------------------------------------------- tensors */

/* Are the `n` slots in one piece of shared memory, at equal distances in order? *apart: the distance in bytes. */
static bool equally_apart(int n, Slot *const *slots, int64_t size, int64_t *apart) {
  *apart = n > 1 ? (char *)slots[1]->memory - (char *)slots[0]->memory : 0;
  bool ok = (n == 1 || *apart > 0) && *apart % size == 0;
  for (int c = 0; c < n; c++)
    ok &= slots[c]->foreign && (c == 0 || (char *)slots[c]->memory - (char *)slots[c - 1]->memory == *apart);
  return ok;
}

/* Moves the components, with their values, to one piece of memory; if that fails, none of them. */
static StcStatus gather(VectorArgs *a, Slot *const *slots, int64_t *apart) {
  StcPlan *p = a->p;
  int n = a->d->ncomponents;
  size_t each = (slots[0]->size + COMPONENT_ALIGNMENT - 1) / COMPONENT_ALIGNMENT * COMPONENT_ALIGNMENT;
  for (int c = 0; c < n; c++)
    if (slots[c]->foreign)
      return context_error(p->w.context,
                           "field %s: component %d is bound to an array, and the components do not lie equally far "
                           "apart, so no tensor shows them all: ask for one component, or bind the whole field",
                           a->d->name, c),
             STC_USAGE;
  int64_t offsets[n];
  Shared *shared = shared_new(p, 1);
  StcStatus s =
      shared ? device_alloc(&p->device, "a field as one tensor", each * (size_t)n, 0, &shared->memory) : STC_MEMORY;
  if (s)
    return free(shared), s;
  shared->size = each * (size_t)n;
  for (int c = 0; c < n && !s; c++) {
    offsets[c] = (int64_t)each * c;
    s = plan_copy_slot(p, slots[c], (char *)shared->memory + offsets[c]);
  }
  if (!s)
    s = p->device.kind->wait(&p->device);
  if (s)
    return let_go(&shared->managed), s;
  shared->users = n;
  put_slots(a, slots, shared, shared->memory, offsets);
  *apart = (int64_t)each;
  return STC_OK;
}

/* The tensor of the field, whose components begin at the memory of `slot`, at distances of `apart` elements. */
static StcStatus make_tensor(VectorArgs *a, Slot *slot, int64_t apart) {
  int rank = a->f.rank + a->d->naxes;
  *a->out = plan_tensor(a->p, slot, (StcType)a->d->components[0].type, rank);
  if (!*a->out)
    return STC_MEMORY;
  int64_t *shape = (*a->out)->dl_tensor.shape, *strides = (*a->out)->dl_tensor.strides, dense = 1;
  for (int k = a->f.rank - 1; k >= 0; dense *= shape[k--]) {
    shape[k] = a->f.shape[k];
    strides[k] = dense;
  }
  for (int k = rank - 1; k >= a->f.rank; apart *= shape[k--]) {
    shape[k] = a->d->axes[k - a->f.rank];
    strides[k] = apart;
  }
  return STC_OK;
}

/* The field as a tensor. */
static StcStatus tensor_guarded(void *arg) {
  VectorArgs *a = arg;
  StcStatus s = find_vector(a);
  if (s)
    return s;
  int n = a->d->ncomponents;
  int64_t apart = 0, size = type_size((Type)a->d->components[0].type);
  Slot *slots[n];
  if (!fix_slots(a, slots))
    return STC_USAGE;
  if (!equally_apart(n, slots, size, &apart))
    s = gather(a, slots, &apart);
  return s ? s : make_tensor(a, slots[0], apart / size);
}

StcStatus plan_vector_tensor(StcPlan *p, int field, DLManagedTensor **out) {
  VectorArgs a = {.p = p, .field = field, .out = out};
  return workspace_guard(&p->w, tensor_guarded, &a);
}

/* Moves the components together, if they are in memory of the plan. */
static StcStatus gather_guarded(void *arg) {
  VectorArgs *a = arg;
  int64_t apart;
  Slot *slots[a->d->ncomponents];
  bool fixed = fix_slots(a, slots), own = fixed;
  for (int c = 0; own && c < a->d->ncomponents; c++)
    own = !slots[c]->foreign;
  return !fixed ? STC_USAGE : own ? gather(a, slots, &apart) : STC_OK;
}

StcStatus plan_gather_vector(StcPlan *p, int field) {
  VectorArgs a = {.p = p, .field = field};
  const char *why;
  a.d = plan_find_declared(p, field, 0);
  StcStatus s = a.d ? stc_plan_field(p, field, &a.f) : STC_USAGE;
  if (s || !declared_has_parts(a.d) || no_vector(&a, &why))
    return s;
  return workspace_guard(&p->w, gather_guarded, &a);
}
