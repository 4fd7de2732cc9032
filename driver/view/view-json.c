/* driver/view/view-json.c: the information for pages, as JSON. */
#include "driver/view/view.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* A number; null if it is infinite or NaN. */
static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

/* The text of the object (malloc); frees the object. */
static char *text_of(json_t *j) {
  char *text = j ? json_dumps(j, JSON_COMPACT) : NULL;
  json_decref(j);
  return text;
}

/* ---------------------------------------------------------------- the plan */

/* A component of a field; NULL if it cannot be shown. */
static json_t *component_json(StcPlan *p, int field, int component) {
  StcFieldInfo f;
  const Declared *d = &p->program->declared[field];
  bool hidden = strchr(d->name, '.') != NULL; /* made by the compiler: NAME.where of a mask, memories of layers */
  if (hidden || stc_plan_component(p, field, component, &f) || f.temp || f.bytes <= 0)
    return NULL;
  json_t *shape = json_array(), *first = json_array();
  for (int i = 0; i < f.rank; i++) {
    json_array_append_new(shape, json_integer(f.shape[i]));
    json_array_append_new(first, json_integer(f.first[i]));
  }
  return json_pack("{s:i,s:i,s:s,s:s,s:o,s:o,s:b}", "field", field, "component", component, "name",
                   declared_has_parts(d) ? f.name : d->name, "type", f.type_name, "shape", shape, "first", first,
                   "input", f.input);
}

/* The search for reads of a field in bodies, by its name. */
typedef struct Read {
  const Module *m;
  const char *name;
  bool found;
} Read;

/* Records whether `op` reads it (a block_walk callback). */
static void note_read(void *user, Op *op) {
  Read *r = user;
  r->found |= op->code == OP_ACCESS && strcmp(r->m->fields[op->sym].name, r->name) == 0;
}

/* Is the field read by no stencil, so that the program computes it only for users? */
static bool is_for_eyes(const StcPlan *p, const char *name) {
  Read r = {p->program->reference, name, false};
  for (int i = 0; i < r.m->nstencils; i++)
    for (int k = 0; k < r.m->stencils[i].npieces; k++)
      block_walk(r.m->stencils[i].pieces[k].body, note_read, &r);
  return !r.found;
}

/* The order of field number `f` in the list: 0 for fields computed only for users, 1 for others that steps change, 2
 * for inputs. */
static int field_order(StcPlan *p, int f) {
  StcFieldInfo info;
  bool input = !stc_plan_field(p, f, &info) && info.input;
  return input ? 2 : !is_for_eyes(p, p->program->declared[f].name);
}

/* All fields that can be shown, in this order. */
static json_t *fields_json(StcPlan *p) {
  json_t *all = json_array();
  for (int order = 0; order < 3; order++)
    for (int f = 0; f < p->program->ndeclared; f++)
      for (int c = 0; c < p->program->declared[f].ncomponents && field_order(p, f) == order; c++) {
        json_t *one = component_json(p, f, c);
        if (one)
          json_array_append_new(all, one);
      }
  return all;
}

/* The value of a scalar. */
static json_t *scalar_json(const StcPlan *p, int i) {
  const Scalar *s = &p->module->scalars[i];
  return s->type == TY_BOOL       ? json_boolean(p->scalars[i].i)
         : type_is_float(s->type) ? number(p->scalars[i].f)
                                  : json_integer(p->scalars[i].i);
}

/* All params of the program, and which of them pages may change. */
static json_t *params_json(const StcView *v) {
  const StcPlan *p = v->plan;
  json_t *all = json_array();
  for (int i = 0; i < p->module->nscalars; i++) {
    const Scalar *s = &p->module->scalars[i];
    if (!s->is_param || module_find_scalar(p->program->reference, s->name) < 0)
      continue;
    json_t *one = json_pack("{s:s,s:s,s:o,s:b}", "name", s->name, "type", type_name(s->type), "value",
                            scalar_json(p, i), "free", 0);
    for (int k = 0; k < v->nsliders; k++)
      if (v->sliders[k].scalar == i)
        json_object_update_new(one, json_pack("{s:b,s:b,s:b}", "free", 1, "inits", v->sliders[k].use.inits, "steps",
                                              v->sliders[k].use.steps));
    json_array_append_new(all, one);
  }
  return all;
}

char *view_info(StcView *v) {
  StcPlan *p = v->plan;
  json_t *spacing = json_array();
  for (int d = 0; d < p->module->grid.rank; d++)
    json_array_append_new(spacing, number(stc_plan_spacing(p, d)));
  return text_of(json_pack("{s:s,s:s,s:s,s:s,s:I,s:o,s:f,s:o,s:o}", "program", stc_program_name(p->program), "device",
                           stc_plan_device(p), "schedule", stc_plan_schedule(p), "version", stc_version(), "points",
                           (json_int_t)p->points, "spacing", spacing, "time_step", stc_plan_time_step(p), "fields",
                           fields_json(p), "params", params_json(v)));
}

/* ---------------------------------------------------------------- the state */

/* The present values of the params that pages may change; requested ones do not count yet. */
static json_t *values_json(const StcView *v) {
  json_t *all = json_object();
  for (int i = 0; i < v->nsliders; i++)
    json_object_set_new(all, v->plan->module->scalars[v->sliders[i].scalar].name,
                        scalar_json(v->plan, v->sliders[i].scalar));
  return all;
}

char *view_state(const StcView *v) {
  static const char *const names[] = {"idle", "running", "paused", "done"};
  json_t *j = json_pack("{s:s,s:I,s:I,s:I,s:o,s:o,s:I,s:I,s:I,s:i,s:s,s:b,s:o}", "state", names[v->state], "step",
                        (json_int_t)v->step, "from", (json_int_t)v->from, "goal", (json_int_t)v->goal, "rate",
                        number(v->rate), "gpts", number(v->rate * (double)v->plan->points / 1e9), "frame",
                        (json_int_t)v->frames, "curves", (json_int_t)v->points, "cleared", (json_int_t)v->cleared,
                        "waiting", v->nsets, "said", v->said, "stays", v->stays, "params", values_json(v));
  const char *why = v->bound ? v->bound : v->no_restart;
  json_object_set_new(j, "no_restart", why ? json_string(why) : json_null());
  json_object_set_new(j, "bound", v->bound ? json_string(v->bound) : json_null());
  return text_of(j);
}

/* ---------------------------------------------------------------- curves */

char *view_curves(const StcView *v) {
  json_t *all = json_array();
  for (int i = 0; i < v->ncurves; i++) {
    const Curve *c = v->curves[i];
    json_t *steps = json_array(), *values = json_array();
    bool more = c->n == 0 || (c->seen - 1) % c->stride != 0;
    for (int k = 0; k < c->n + more; k++) {
      json_array_append_new(steps, json_integer((json_int_t)c->step[k]));
      json_array_append_new(values, number(c->value[k]));
    }
    json_array_append_new(all, json_pack("{s:s,s:i,s:o,s:o}", "name", c->name, "point", c->point, "steps", steps,
                                         "values", values));
  }
  return text_of(
      json_pack("{s:I,s:I,s:o}", "cleared", (json_int_t)v->cleared, "curves", (json_int_t)v->points, "all", all));
}
