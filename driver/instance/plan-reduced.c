/* driver/instance/plan-reduced.c: records values of reductions, and passes them to the observer of the series. Values
 * that no step reads, and that nobody needs before the last step, may be deferred: the kernels store each of them to a
 * place of its own on the device, which is read once. So steps follow each other without waiting. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"

#include <math.h>
#include <stdlib.h>

void plan_take_value(void *user, const Reduction *r, int64_t step, int64_t member, Const value) {
  StcPlan *p = user;
  if (p->run.deferred.memory)
    return;
  bool check = r->kind == REDUCE_FINITE || r->kind == REDUCE_BOUNDS;
  p->scalars[r->scalar] = value;
  if (check ? value.i != INT64_MAX : r->kind == REDUCE_UNTIL && r->type == TY_F64 && isnan(value.f))
    p->run.wrong = true;
  if (r->kind == REDUCE_UNTIL && !r->loop && step > 0 && !p->run.wrong && !p->run.met) {
    p->run.some_not = (member && p->run.some_not) || !expression_value(p->w.arena, r->stop, p->scalars).i;
    if (!p->run.some_not && member == reduction_values(p->module, r, p->scalars) - 1)
      p->run.met = r;
  }
  if (r->loop)
    p->run.evaluated_in[r->scalar] = true;
  if (check || r->loop || !p->observers.series)
    return;
  bool real = r->type == TY_F64;
  StcReduction out = {r->name,
                      real ? STC_F64 : STC_I64,
                      step,
                      real ? value.f : 0,
                      real ? 0 : value.i,
                      member,
                      r->each ? reduction_values(p->module, r, p->scalars) : 0};
  p->observers.series(p->observers.series_user, &out);
}

/* ---------------------------------------------------------------- deferred */

/* The memory of a reduction's buffer, at whose beginning the final value is, begins this number of bytes further on
 * each time, so that earlier values remain. */
enum { STRIDE = 256 };

/* The bytes for reduction number `i` of the kernels' module. */
static size_t room_of(const StcPlan *p, int64_t most, int i) {
  const Slot *slot = buffer_slot(p, p->build->code.module->reductions[i].result);
  return ((size_t)most * STRIDE + slot->size + STRIDE - 1) / STRIDE * STRIDE;
}

/* The bytes for those before number `n`. */
static size_t room_before(const StcPlan *p, int64_t most, int n) {
  size_t room = 0;
  for (int i = 0; i < n; i++)
    room += room_of(p, most, i);
  return room;
}

StcStatus plan_defer(StcPlan *p, int64_t steps) {
  int n = p->build ? p->build->code.module->nreductions : 0;
  void *memory = NULL;
  if (p->device.kind->whole || p->split || !n || p->run.times)
    return STC_OK;
  for (int i = 0; i < n; i++)
    if (p->build->code.module->reductions[i].each)
      return STC_OK;
  StcStatus s = p->device.kind->alloc(&p->device, room_before(p, steps + 1, n), &memory);
  p->run.deferred = (Deferred){s ? NULL : memory, steps + 1};
  return s;
}

void *plan_deferred_place(const StcPlan *p, int buffer) {
  const Deferred *d = &p->run.deferred;
  const Module *m = p->build->code.module;
  for (int i = 0; i < m->nreductions; i++)
    if (m->reductions[i].result == buffer && p->run.done < d->most)
      return d->memory + room_before(p, d->most, i) + p->run.done * STRIDE;
  return NULL;
}

/* Passes the values to the plan's observers; `values` has them in the layout of the device's memory. */
static void show(StcPlan *p, int64_t most, const char *values) {
  const Module *m = p->build->code.module;
  for (int i = 0; i < m->nreductions; i++)
    for (int64_t step = 0; step <= p->run.done && step < most; step++)
      if (reduction_is_due(&m->reductions[i], 0, step))
        plan_take_value(p, &m->reductions[i], step, 0,
                        const_load(m->reductions[i].type, values + room_before(p, most, i) + (size_t)step * STRIDE));
}

StcStatus plan_defer_end(StcPlan *p, bool tell) {
  const DeviceKind *kind = p->device.kind;
  Deferred d = p->run.deferred;
  if (!d.memory)
    return STC_OK;
  size_t size = room_before(p, d.most, p->build->code.module->nreductions);
  char *values = tell ? malloc(size) : NULL;
  StcStatus s = !tell || values ? kind->wait(&p->device) : STC_MEMORY;
  if (!s && tell)
    s = kind->fetch(&p->device, values, d.memory, size);
  p->run.deferred.memory = NULL;
  if (!s && tell)
    show(p, d.most, values);
  free(values);
  kind->release(&p->device, d.memory, size);
  return s;
}
