/* driver/instance/plan-fields.c: the declared fields and launch-time arrays of a plan: their descriptions, and which of
 * them the user has set. plan-data.c copies their values. */
#include "driver/instance/instance.h"
#include "driver/program/program.h"

const Declared *plan_find_declared(const StcPlan *p, int field, int component) {
  const Declared *d = field >= 0 && field < p->program->ndeclared ? &p->program->declared[field] : NULL;
  if (!d)
    context_error(p->w.context, "there is no field number %d", field);
  else if (component >= d->ncomponents || component < 0)
    context_error(p->w.context, "field %s has no component number %d", d->name, component), d = NULL;
  return d;
}

StcStatus stc_plan_field(StcPlan *p, int field, StcFieldInfo *out) {
  if (!plan_find_declared(p, field, 0))
    return STC_USAGE;
  declared_info(p->program, field, p->module, p->bound.homes[field].field, p->scalars, out);
  return STC_OK;
}

StcStatus stc_plan_component(StcPlan *p, int field, int component, StcFieldInfo *out) {
  const Declared *d = plan_find_declared(p, field, component);
  if (!d)
    return STC_USAGE;
  declared_info(p->program, field, p->module, p->bound.homes[field].field, p->scalars, out);
  component_info(d, component, out);
  return STC_OK;
}

StcStatus stc_plan_array(StcPlan *p, int array, StcFieldInfo *out) {
  if (array < 0 || array >= stc_program_array_count(p->program))
    return context_error(p->w.context, "there is no launch-time array number %d", array), STC_USAGE;
  array_info(&p->module->param_arrays[array], p->scalars, out);
  return STC_OK;
}

void plan_mark_given(StcPlan *p, int field, int component) {
  const Declared *d = &p->program->declared[field];
  Home h = p->bound.homes[field];
  bool all = true;
  p->run.once_done = false;
  for (int c = 0; c < d->ncomponents; c++) {
    bool *given = &p->bound.component_given[d->first + c];
    *given |= component < 0 || component == c;
    all &= *given;
    if (!h.packed)
      p->bound.given[h.field + c] = *given;
  }
  if (h.packed)
    p->bound.given[h.field] = all;
}

bool stc_plan_is_set(StcPlan *p, int field, int component) {
  if (plan_join(p) || field < 0 || field >= p->program->ndeclared ||
      component >= p->program->declared[field].ncomponents)
    return false;
  const Declared *d = &p->program->declared[field];
  bool set = true;
  for (int c = 0; c < d->ncomponents; c++)
    set &= (component >= 0 && component != c) || p->bound.component_given[d->first + c];
  return set || p->run.inits_done;
}
