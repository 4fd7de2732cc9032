/* driver/instance/plan-state.c: the state of a plan besides its fields, for a run that continues elsewhere: the number
 * of steps, launch-time arrays, the latest values of reductions. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* The arguments of the guarded function that copies an array out. */
typedef struct ArrayArgs {
  StcPlan *p;
  int array;
  void *out;
} ArrayArgs;

/* Copies the array out. */
static StcStatus get_array(void *arg) {
  ArrayArgs *a = arg;
  Device *d = &a->p->device;
  bool changes = array_is_written(a->p->module, a->array) && !d->kind->whole;
  StcStatus s = changes ? d->kind->wait(d) : STC_OK;
  return s ? s : slot_fetch(a->p, array_slot(a->p, a->array), a->out);
}

StcStatus plan_get_array(StcPlan *p, int array, void *data, size_t bytes) {
  ArrayArgs a = {p, array, data};
  if (p->memory.of_array[array] >= 0 && bytes)
    return workspace_guard(&p->w, get_array, &a);
  memset(data, 0, bytes);
  return STC_OK;
}

/* ---------------------------------------------------------------- scalars that are kept */

/* The bytes of the values of the scalar that launch-time array `array` holds. */
static size_t state_bytes(const StcPlan *p, int array) {
  return (size_t)param_array_extent(&p->module->param_arrays[array], p->scalars) * sizeof(double);
}

/* Sets the scalar that launch-time array `array` holds to the values at `bits`, of eight bytes each. */
static StcStatus put_state(StcPlan *p, int array, const void *bits) {
  const Slot *slot = array_slot(p, array);
  if (p->run.states)
    memcpy(p->run.states[array], bits, state_bytes(p, array));
  return slot && slot->memory ? slot_put(p, slot, bits) : STC_OK;
}

/* The same, with `value` for each member. */
static StcStatus put_state_of_all(StcPlan *p, int array, Const value) {
  const ParamArray *a = &p->module->param_arrays[array];
  int64_t n = param_array_extent(a, p->scalars);
  char *bits = malloc((size_t)n * sizeof(double) + 1);
  if (!bits)
    return computer_no_room(p->w.context, "the values of scalar", a->name, (double)n * sizeof(double));
  for (int64_t i = 0; i < n; i++)
    const_store(a->type, bits + (size_t)i * sizeof(double), value);
  StcStatus s = put_state(p, array, bits);
  free(bits);
  return s;
}

StcStatus plan_first_states(StcPlan *p) {
  const Module *m = p->module;
  StcStatus s = STC_OK;
  for (int i = 0; i < m->nparam_arrays && !s; i++) {
    const ParamArray *a = &m->param_arrays[i];
    if (a->role == ARRAY_STATE && a->first >= 0 && !p->bound.array_given[i])
      s = put_state_of_all(p, i, p->scalars[a->first]);
  }
  return s;
}

/* ---------------------------------------------------------------- arrays that are computed */

/* Copies the computed elements of launch-time array `array`, at `values`, to where kernels read them. */
static StcStatus put_values(StcPlan *p, int array, const void *values, size_t bytes) {
  if (p->facade)
    return p->split ? p->split_ops->set_array(p, array, values, bytes) : STC_OK;
  return p->memory.of_array[array] < 0 ? STC_OK : slot_put(p, array_slot(p, array), values);
}

StcStatus plan_make_values(StcPlan *p) {
  const Module *m = p->module;
  StcStatus s = STC_OK;
  for (int i = 0; i < m->nparam_arrays && !s && !p->bound.values_made; i++) {
    const ParamArray *a = &m->param_arrays[i];
    if (a->role != ARRAY_VALUES)
      continue;
    size_t bytes = (size_t)param_array_extent(a, p->scalars) * (size_t)type_size(a->type);
    void *values = malloc(bytes + 1);
    if (!values)
      return computer_no_room(p->w.context, "the elements of", a->name, (double)bytes);
    values_fill(p->w.arena, a, p->scalars, values);
    s = put_values(p, i, values, bytes);
    free(values);
  }
  p->bound.values_made = !s;
  return s;
}

/* The array that holds the kept scalar named `name`; -1 after reporting that there is none. */
static int find_state(StcPlan *p, const char *name) {
  int i = module_find_param_array(p->module, name);
  if (i >= 0 && p->module->param_arrays[i].role == ARRAY_STATE && p->module->param_arrays[i].first >= 0)
    return i;
  context_error(p->w.context, "the program has no scalar %s", name);
  return -1;
}

/* The arguments of the guarded function that sets a scalar: the values at `bits`, or `value` for each member. */
typedef struct StateArgs {
  StcPlan *p;
  int array;
  const void *bits;
  Const value;
} StateArgs;

static StcStatus set_state(void *arg) {
  const StateArgs *a = arg;
  return a->bits ? put_state(a->p, a->array, a->bits) : put_state_of_all(a->p, a->array, a->value);
}

/* Copies the values of the scalar that array `array` holds to `values`. */
static StcStatus fetch_states(StcPlan *p, int array, void *values) {
  const ParamArray *a = &p->module->param_arrays[array];
  int64_t n = param_array_extent(a, p->scalars);
  if (p->run.inits_done || p->bound.array_given[array]) {
    if (!p->run.states)
      return plan_get_array(p, array, values, (size_t)n * sizeof(double));
    memcpy(values, p->run.states[array], state_bytes(p, array));
    return STC_OK;
  }
  for (int64_t i = 0; i < n; i++)
    const_store(a->type, (char *)values + (size_t)i * sizeof(double), p->scalars[a->first]);
  return STC_OK;
}

/* The array of the scalar named `name`, whose values have `bytes` bytes; -1 after reporting an error. */
static int find_states(StcPlan *p, const char *name, size_t bytes) {
  int i = find_state(p, name);
  size_t own = i < 0 ? 0 : state_bytes(p, i);
  if (i < 0 || bytes == own)
    return i;
  context_error(p->w.context, "scalar %s has %zu values, %zu bytes, not %zu", name, own / sizeof(double), own, bytes);
  return -1;
}

StcStatus stc_plan_scalars(StcPlan *p, const char *name, void *values, size_t bytes) {
  StcStatus s = plan_join(p);
  int i = s ? -1 : find_states(p, name, bytes);
  return i < 0 ? s ? s : STC_USAGE : fetch_states(p, i, values);
}

StcStatus stc_plan_scalar(StcPlan *p, const char *name, StcReduction *out) {
  StcStatus s = plan_join(p);
  int i = s ? -1 : find_state(p, name);
  *out = (StcReduction){.step = p->run.done};
  if (i < 0)
    return s ? s : STC_USAGE;
  const ParamArray *a = &p->module->param_arrays[i];
  int64_t n = param_array_extent(a, p->scalars);
  Const *values = malloc((size_t)n * sizeof *values + 1);
  if (!values)
    return computer_no_room(p->w.context, "the values of scalar", a->name, (double)n * sizeof(double));
  s = fetch_states(p, i, values);
  *out = (StcReduction){.name = a->name,
                        .type = a->type == TY_F64 ? STC_F64 : STC_I64,
                        .step = p->run.done,
                        .members = a->each ? n : 0};
  if (!s && n > 0 && a->type == TY_F64)
    out->f = values[0].f;
  else if (!s && n > 0)
    out->i = values[0].i;
  free(values);
  return s;
}

StcStatus stc_plan_set_scalars(StcPlan *p, const char *name, const void *values, size_t bytes) {
  StcStatus s = plan_join(p);
  int array = s ? -1 : find_states(p, name, bytes);
  if (array < 0)
    return s ? s : STC_USAGE;
  StateArgs args = {p, array, values, {0}};
  p->bound.array_given[array] = true;
  return workspace_guard(&p->w, set_state, &args);
}

StcStatus stc_plan_set_scalar(StcPlan *p, const char *name, double f, int64_t i) {
  StcStatus s = plan_join(p);
  int array = s ? -1 : find_state(p, name);
  if (array < 0)
    return s ? s : STC_USAGE;
  bool real = p->module->param_arrays[array].type == TY_F64;
  StateArgs args = {p, array, NULL, real ? (Const){.f = f} : (Const){.i = i}};
  p->bound.array_given[array] = true;
  return workspace_guard(&p->w, set_state, &args);
}

const char *stc_program_scalar(const StcProgram *p, int n) {
  const Module *m = p->module;
  for (int i = 0; i < m->nparam_arrays; i++)
    if (m->param_arrays[i].role == ARRAY_STATE && m->param_arrays[i].first >= 0 && n-- == 0)
      return m->param_arrays[i].name;
  return NULL;
}

void plan_begin(StcPlan *p, int64_t step) {
  p->run.done = step;
  p->lists.unseen = step + 1;
  p->run.evaluated = true;
}

/* The scalar of the reduction named `name`; -1: there is none. */
static int reduction_scalar(const StcPlan *p, const char *name) {
  for (int i = 0; i < p->module->nreductions; i++)
    if (strcmp(p->module->reductions[i].name, name) == 0)
      return p->module->reductions[i].scalar;
  return -1;
}

Const *plan_reduction(StcPlan *p, const char *name) {
  int scalar = reduction_scalar(p, name);
  return scalar < 0 ? NULL : &p->scalars[scalar];
}
