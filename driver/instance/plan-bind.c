/* driver/instance/plan-bind.c: fields in the caller's memory, and tensors of a plan's fields. Kernels exchange buffers
 * from step to step; after each run a field with a fixed place is moved back there (plan-slots.c). */
#include "driver/device/device.h"
#include "driver/files/files.h"
#include "driver/instance/dlpack.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- binding */

/* The alignment in bytes that the address of field `f` of the module needs. */
static int64_t field_alignment(const StcPlan *p, int f) {
  const Module *m = p->build ? p->build->code.module : NULL;
  int64_t most = type_size(p->module->fields[f].type);
  for (int b = 0; m && !p->device.kind->whole && b < m->nbuffers; b++)
    if (m->buffers[b].kind == BUFFER_FIELD && m->buffers[b].field == f && buffer_alignment(m, b) > most)
      most = buffer_alignment(m, b);
  return most;
}

/* `n` numbers as "8x32". */
static const char *extents_text(Arena *a, const int64_t *extents, int n) {
  Str s = {a, NULL, 0, 0};
  str_add(&s, n ? "" : "nothing");
  for (int d = 0; d < n; d++)
    str_addf(&s, d ? "x%lld" : "%lld", (long long)extents[d]);
  return s.s;
}

/* Reports the first dimension in which array `a` is not dense, with its actual stride. */
static StcStatus check_strides(StcPlan *p, const StcFieldInfo *f, const StcArray *a) {
  int64_t dense = 1;
  for (int d = f->rank - 1; d >= 0; dense *= f->shape[d--]) {
    if (!a->strides || f->shape[d] <= 1 || a->strides[d] == dense)
      continue;
    bool fortran = f->rank > 1 && a->strides[0] == 1;
    return context_error(
               p->w.context,
               "field %s: the array's places along dimension %d are %lld elements apart, and kernels are made "
               "for %lld: %s. Give it a dense copy in C order, or set the field's values in place of binding it",
               f->name, d, (long long)a->strides[d], (long long)dense,
               fortran ? "it is in Fortran order (the program's dimensions are slowest first: reverse them)"
                       : "it is padded, or part of another array"),
           STC_USAGE;
  }
  return STC_OK;
}

/* Sets `out`, with strides at `strides`, to array `a` with the dimensions of length 1 of field `f` that it leaves out.
 * False if it has another shape. */
static bool whole_array(const StcFieldInfo *f, const StcArray *a, int64_t strides[MAX_RANK], StcArray *out) {
  int place[MAX_RANK] = {0};
  *out = *a;
  if (!shape_places(a->rank, a->shape, f->rank, f->shape, place))
    return false;
  for (int d = 0; d < f->rank && a->strides; d++)
    strides[d] = place[d] < 0 ? 0 : a->strides[place[d]];
  out->rank = f->rank;
  out->shape = f->shape;
  out->strides = a->strides ? strides : NULL;
  return true;
}

/* Checks that component `f` of the plan, in field `field` of the module, can use array `given`. */
static StcStatus check_array(StcPlan *p, int field, const StcFieldInfo *f, const StcArray *given) {
  StcContext *c = p->w.context;
  int64_t strides[MAX_RANK];
  StcArray whole, *a = &whole;
  int64_t align = field_alignment(p, field);
  bool fits = whole_array(f, given, strides, a);
  if (a->type != f->type)
    return context_error(c, "field %s is of type %s, but the array is of %s", f->name, f->type_name,
                         a->type == STC_COMPOSITE ? "another" : type_name((Type)a->type)),
           STC_USAGE;
  if (!fits)
    return context_error(c, "field %s has the shape %s, but the array has %s", f->name,
                         extents_text(p->w.arena, f->shape, f->rank), extents_text(p->w.arena, a->shape, a->rank)),
           STC_USAGE;
  StcStatus s = check_strides(p, f, a);
  if (s)
    return s;
  if (!a->data && f->bytes)
    return context_error(c, "field %s: the array has no memory", f->name), STC_USAGE;
  if ((uintptr_t)a->data % (size_t)align)
    return context_error(c, "field %s: the array's address %p is no multiple of %lld bytes, which the kernels need",
                         f->name, a->data, (long long)align),
           STC_USAGE;
  if (f->bytes && p->device.kind->holds && !p->device.kind->holds(&p->device, a->data))
    return context_error(c,
                         "field %s: the array is not in memory of device %s; set the field's values, or copy the "
                         "array to the device first",
                         f->name, p->device.name),
           STC_USAGE;
  return STC_OK;
}

/* The arguments of the guarded function for binding. `array` NULL: back to memory of the plan. */
typedef struct BindArgs {
  StcPlan *p;
  int field, component;
  const StcArray *array;
  struct DLManagedTensor *owner;
} BindArgs;

/* The slot of the component, with its place fixed; -1 after an error. */
static int32_t fix_slot(StcPlan *p, int field, int component, int *module_field) {
  const Declared *d = plan_find_declared(p, field, component);
  if (!d)
    return -1;
  Home h = p->bound.homes[field];
  const char *why = p->module->fields[h.field].temp ? "it is temp: it has no memory that lasts"
                    : h.packed                      ? "vectors and structs are packed on this device"
                    : p->memory.outside && p->device.kind->dlpack != DEVICE_MEMORY_HERE
                        ? "the plan has its fields in this computer's memory: set and get values"
                        : NULL;
  if (why)
    return context_error(p->w.context, "field %s on device %s: %s", d->name, p->device.name, why), -1;
  *module_field = h.field + component;
  return p->memory.fixed[*module_field] = p->memory.of_field[*module_field];
}

/* Gives slot `slot` memory of the plan, with its present values. */
static StcStatus own_slot(StcPlan *p, Slot *slot) {
  Slot own = {.size = slot->size};
  StcStatus s = device_alloc(&p->device, "a field that was bound", slot->size ? slot->size : 16, 0, &own.memory);
  if (!s)
    s = plan_copy_slot(p, slot, own.memory);
  if (!s)
    s = p->device.kind->wait(&p->device);
  if (s)
    return s;
  plan_release_slot(p, slot);
  *slot = own;
  return STC_OK;
}

StcStatus plan_check_array(StcPlan *p, int field, int component, const StcArray *array) {
  StcFieldInfo f;
  StcStatus s = stc_plan_component(p, field, component, &f);
  return s ? s : check_array(p, p->bound.homes[field].field + component, &f, array);
}

Slot *plan_fix_slot(StcPlan *p, int field, int component) {
  int unused;
  int32_t at = fix_slot(p, field, component, &unused);
  return at < 0 ? NULL : &p->memory.slots[at];
}

void plan_put_slot(StcPlan *p, Slot *slot, void *memory, struct DLManagedTensor *owner) {
  size_t size = slot->size;
  plan_release_slot(p, slot);
  *slot = (Slot){.memory = memory, .size = size, .foreign = true, .owner = owner};
  plan_forget_recordings(p);
}

/* Checks the array, and makes it the slot's memory. */
static StcStatus bind_guarded(void *arg) {
  BindArgs *a = arg;
  StcPlan *p = a->p;
  StcFieldInfo f;
  int field = 0;
  StcStatus s = stc_plan_component(p, a->field, a->component, &f);
  int32_t at = s ? -1 : fix_slot(p, a->field, a->component, &field);
  if (at < 0)
    return STC_USAGE;
  Slot *slot = &p->memory.slots[at];
  if (!a->array) {
    s = slot->foreign ? own_slot(p, slot) : STC_OK;
    p->memory.fixed[field] = -1;
    plan_forget_recordings(p);
  } else {
    s = check_array(p, field, &f, a->array);
    if (!s && (!slot->foreign || slot->owner))
      s = p->device.kind->wait(&p->device);
    if (!s && !f.bytes && a->owner && a->owner->deleter)
      a->owner->deleter(a->owner);
    if (s || !f.bytes)
      return s;
    plan_put_slot(p, slot, a->array->data, a->owner);
  }
  return s;
}

/* Binds the component to the array. */
static StcStatus bind_array(StcPlan *p, int field, int component, const StcArray *array,
                            struct DLManagedTensor *owner) {
  BindArgs args = {p, field, component, array, owner};
  return workspace_guard(&p->w, bind_guarded, &args);
}

/* Reports that the plan does not have its fields as a whole, or that there is no such field. */
static StcStatus refuse_facade(StcPlan *p, int field) {
  const Declared *d = plan_find_declared(p, field, 0);
  if (d)
    plan_is_facade(p, d->name);
  return STC_USAGE;
}

/* Binds the component, or (-1) the whole field. */
static StcStatus bind(StcPlan *p, int field, int component, const StcArray *array, struct DLManagedTensor *owner) {
  const Declared *d = component < 0 ? plan_find_declared(p, field, 0) : NULL;
  bool whole = d && declared_has_parts(d);
  if (p->facade)
    return refuse_facade(p, field);
  return whole ? plan_bind_vector(p, field, array, owner)
               : bind_array(p, field, component < 0 ? 0 : component, array, owner);
}

StcStatus stc_plan_bind(StcPlan *p, int field, int component, const StcArray *array, bool fresh) {
  StcStatus s = plan_join(p);
  if (!s && array)
    s = plan_make_dense(p);
  if (!s && array && field >= 0 && field < p->program->ndeclared)
    s = plan_check_mask_set(p, field);
  if (!s)
    s = bind(p, field, component, array, NULL);
  p->run.once_done = false;
  if (!s && array && !fresh)
    plan_mark_given(p, field, component);
  return s;
}

/* ---------------------------------------------------------------- DLPack */

/* DLPack's names for the types of components. */
static const DLDataType dl_types[] = {[STC_BOOL] = {kDLBool, 8, 1},    [STC_I8] = {kDLInt, 8, 1},
                                      [STC_I16] = {kDLInt, 16, 1},     [STC_I32] = {kDLInt, 32, 1},
                                      [STC_I64] = {kDLInt, 64, 1},     [STC_F16] = {kDLFloat, 16, 1},
                                      [STC_BF16] = {kDLBfloat, 16, 1}, [STC_F32] = {kDLFloat, 32, 1},
                                      [STC_F64] = {kDLFloat, 64, 1},   [STC_U8] = {kDLUInt, 8, 1},
                                      [STC_U16] = {kDLUInt, 16, 1},    [STC_U32] = {kDLUInt, 32, 1}};

/* The type that corresponds to DLPack's `t`; STC_COMPOSITE if there is none. */
static StcType type_of(DLDataType t) {
  for (int i = STC_BOOL; i <= STC_U32; i++)
    if (memcmp(&dl_types[i], &t, sizeof t) == 0)
      return (StcType)i;
  return STC_COMPOSITE;
}

/* Can the plan's device work on memory of DLPack's kind `kind`? */
static bool kind_fits(int own, int kind) {
  return kind == own || (own == kDLCPU && (kind == kDLCUDAHost || kind == kDLROCMHost || kind == kDLCUDAManaged)) ||
         (own == kDLCUDA && kind == kDLCUDAManaged);
}

StcStatus stc_plan_from_dlpack(StcPlan *p, int field, int component, struct DLManagedTensor *tensor) {
  const DLTensor *t = &tensor->dl_tensor;
  if (!kind_fits(p->device.kind->dlpack, t->device.device_type) ||
      (p->device.kind->dlpack != kDLCPU && t->device.device_type != kDLCUDAManaged &&
       t->device.device_id != (p->device.index < 0 ? 0 : p->device.index)))
    return context_error(p->w.context,
                         "the tensor is on another device (DLPack's kind %d, number %d) than the plan, which is on %s",
                         t->device.device_type, t->device.device_id, p->device.name),
           STC_USAGE;
  StcArray array = {(char *)t->data + t->byte_offset, type_of(t->dtype), t->ndim, t->shape, t->strides};
  StcStatus s = plan_join(p);
  if (!s)
    s = plan_make_dense(p);
  if (!s)
    s = bind(p, field, component, &array, tensor);
  if (!s)
    plan_mark_given(p, field, component);
  return s;
}

/* A tensor with memory for its lengths and strides. */
typedef struct Tensor {
  DLManagedTensor managed;
  Shown *shown;
  int64_t numbers[];
} Tensor;

/* The deleter, which any thread may call, also after the plan has been freed. */
static void free_tensor(DLManagedTensor *t) {
  Tensor *tensor = t->manager_ctx;
  shown_leave(tensor->shown);
  free(tensor);
}

DLManagedTensor *plan_tensor(StcPlan *p, Slot *slot, StcType type, int rank) {
  DLDevice where = {p->device.kind->dlpack,
                    p->device.kind->dlpack == kDLCPU || p->device.index < 0 ? 0 : p->device.index};
  Tensor *t = malloc(sizeof *t + 2 * (size_t)rank * sizeof *t->numbers);
  if (t && !slot->shown && (slot->shown = calloc(1, sizeof *slot->shown)))
    atomic_init(&slot->shown->users, 1);
  if (!t || !slot->shown)
    return free(t), context_error(p->w.context, "out of memory"), NULL;
  atomic_fetch_add(&slot->shown->users, 1);
  t->shown = slot->shown;
  DLTensor out = {slot->memory, where, rank, dl_types[type], t->numbers, t->numbers + rank, 0};
  t->managed = (DLManagedTensor){out, t, free_tensor};
  return &t->managed;
}

/* The component as a tensor. */
static StcStatus component_tensor(StcPlan *p, int field, int component, DLManagedTensor **out) {
  StcFieldInfo f;
  StcStatus s = stc_plan_component(p, field, component, &f);
  Slot *slot = s ? NULL : plan_fix_slot(p, field, component);
  *out = slot ? plan_tensor(p, slot, f.type, f.rank) : NULL;
  if (!*out)
    return slot ? STC_MEMORY : STC_USAGE;
  for (int64_t d = f.rank - 1, dense = 1; d >= 0; dense *= f.shape[d--]) {
    (*out)->dl_tensor.shape[d] = f.shape[d];
    (*out)->dl_tensor.strides[d] = dense;
  }
  return STC_OK;
}

StcStatus stc_plan_to_dlpack(StcPlan *p, int field, int component, struct DLManagedTensor **out) {
  *out = NULL;
  StcStatus s = plan_join(p);
  const Declared *d = component < 0 ? plan_find_declared(p, field, 0) : NULL;
  if (s || (component < 0 && !d))
    return s ? s : STC_USAGE;
  if (p->facade)
    return refuse_facade(p, field);
  if ((s = plan_make_dense(p)))
    return s;
  if (d && declared_has_parts(d))
    return plan_vector_tensor(p, field, out);
  if (component >= 0)
    s = plan_gather_vector(p, field);
  return s ? s : component_tensor(p, field, component < 0 ? 0 : component, out);
}
