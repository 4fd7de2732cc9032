/* driver/instance/plan-state.c: what a plan has beside its fields that a run which goes on elsewhere needs: how far it
 * is, launch-time arrays, the latest values of reductions. */
#include "driver/device/device.h"
#include "driver/instance/instance.h"
#include "driver/program/program.h"

#include <string.h>

/* What copying an array out hands to its guarded part. */
typedef struct ArrayArgs {
  StcPlan *p;
  int array;
  void *out;
} ArrayArgs;

/* Copies the array out. */
static StcStatus get_array(void *arg) {
  ArrayArgs *a = arg;
  return slot_fetch(a->p, array_slot(a->p, a->array), a->out);
}

StcStatus plan_get_array(StcPlan *p, int array, void *data, size_t bytes) {
  ArrayArgs a = {p, array, data};
  if (p->memory.of_array[array] >= 0 && bytes)
    return workspace_guard(&p->w, get_array, &a);
  memset(data, 0, bytes);
  return STC_OK;
}

void plan_begin(StcPlan *p, int64_t step) {
  p->run.done = step;
  p->lists.unseen = step + 1;
  p->run.evaluated = true;
}

/* The scalar of the reduction called `name`; -1: there is none. */
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
