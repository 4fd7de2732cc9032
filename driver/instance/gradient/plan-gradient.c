/* driver/instance/plan-gradient.c: the sum of the losses of a plan's run and its derivatives: the inputs from the plan,
 * and the results for users. On the reference they are computed from a tape of the run. */
#include "driver/instance/gradient/gradient.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

int stc_program_gradient_count(const StcProgram *p) { return p->source->level == LEVEL_SIR ? p->source->nby : 0; }

const char *stc_program_gradient_name(const StcProgram *p, int i) {
  const Module *m = p->source;
  if (i < 0 || i >= stc_program_gradient_count(p))
    return NULL;
  const By *x = &m->by[i];
  return x->kind == BY_FIELD   ? m->fields[x->index].name
         : x->kind == BY_ARRAY ? m->param_arrays[x->index].name
                               : m->scalars[x->index].name;
}

void gradient_free(struct Gradient *g) {
  for (int i = 0; g && i < g->count; i++)
    free(g->of[i]), free(g->single[i]), free(g->room[i]);
  if (g) {
    backward_free(g->backward);
    pull_free(g->pull);
    free(g->n);
    free(g->of), free(g->single), free(g->room);
  }
  free(g);
}

/* The number of derivatives for number `i` of the gradient's inputs. */
static int64_t numbers(const StcPlan *p, int i) {
  const Module *m = p->program->source;
  const By *x = &m->by[i];
  int64_t shape[MAX_RANK];
  if (x->kind == BY_FIELD)
    return field_shape(&m->fields[x->index], p->scalars, shape) * type_components(m, m->fields[x->index].type);
  int array = x->kind == BY_ARRAY ? x->index : module_member_state(m, x->index);
  return array >= 0 ? param_array_extent(&m->param_arrays[array], p->scalars) : 1;
}

double *gradient_numbers(struct Gradient *g, int i) {
  if (g->of[i])
    return g->of[i];
  g->of[i] = calloc((size_t)g->n[i] + 1, sizeof(double));
  for (int64_t k = 0; g->of[i] && g->single[i] && k < g->n[i]; k++)
    g->of[i][k] = 0.0 + (double)g->single[i][k]; /* like a sum: -0 becomes 0 */
  if (g->of[i]) {
    free(g->room[i]);
    g->room[i] = g->single[i];
    g->single[i] = NULL;
  }
  return g->of[i];
}

float *gradient_singles(struct Gradient *g, int i) {
  if (!g->single[i]) {
    g->single[i] = g->room[i] ? g->room[i] : malloc(((size_t)g->n[i] + 1) * sizeof(float));
    g->room[i] = NULL;
  }
  free(g->of[i]);
  g->of[i] = NULL;
  return g->single[i];
}

/* Allocates the gradient of the plan, with all derivatives 0. NULL after reporting that there is no memory. */
static struct Gradient *make(StcPlan *p) {
  int n = p->program->source->nby;
  struct Gradient *g = calloc(1, sizeof *g);
  if (g) {
    g->n = calloc((size_t)n + 1, sizeof *g->n);
    g->of = calloc((size_t)n + 1, sizeof *g->of);
    g->single = calloc((size_t)n + 1, sizeof *g->single);
    g->room = calloc((size_t)n + 1, sizeof *g->room);
  }
  bool ok = g && g->n && g->of && g->single && g->room;
  for (int i = 0; i < n && ok; i++)
    g->n[i] = numbers(p, i);
  if (ok) {
    g->count = n;
    return g;
  }
  gradient_free(g);
  context_error(p->w.context, "out of memory for the gradient");
  return NULL;
}

/* ---- parts of fields */

bool gradient_part(StcPlan *p, const char *name, SavedPart *out) {
  const StcProgram *q = p->program;
  StcFieldInfo f;
  for (int i = 0; i < q->ndeclared; i++) {
    const Declared *d = &q->declared[i];
    for (int k = 0; k < d->ncomponents; k++) {
      bool parts = declared_has_parts(d);
      if (strcmp(parts ? d->names[k] : d->name, name) != 0)
        continue;
      *out = (SavedPart){i, parts ? k : -1, 0};
      if (parts ? stc_plan_component(p, i, k, &f) : stc_plan_field(p, i, &f))
        return false;
      out->bytes = f.bytes;
      return true;
    }
  }
  return false;
}

StcStatus part_get(StcPlan *p, const SavedPart *part, void *data) {
  return part->component < 0 ? stc_plan_get(p, part->field, data, (size_t)part->bytes)
                             : stc_plan_get_component(p, part->field, part->component, data, (size_t)part->bytes);
}

StcStatus part_set(StcPlan *p, const SavedPart *part, const void *data) {
  return part->component < 0 ? stc_plan_set(p, part->field, data, (size_t)part->bytes)
                             : stc_plan_set_component(p, part->field, part->component, data, (size_t)part->bytes);
}

/* ---- the reference */

/* The arrays on which the reference runs. */
typedef struct TapeArgs {
  StcPlan *p;
  int64_t steps;
  struct Gradient *g;
  Binding b;
} TapeArgs;

/* Fills the arrays of the fields that are given, and of lists of points. */
static StcStatus fill_fields(TapeArgs *t) {
  StcPlan *p = t->p;
  const Module *m = p->program->source;
  StcStatus s = STC_OK;
  int64_t shape[MAX_RANK];
  for (int f = 0; f < m->nfields && !s; f++)
    if (!m->fields[f].temp) {
      t->b.fields[f] =
          calloc((size_t)(field_shape(&m->fields[f], p->scalars, shape) * type_bytes(m, m->fields[f].type)) + 8, 1);
      s = t->b.fields[f] ? STC_OK : STC_MEMORY;
    }
  for (int i = 0; i < p->program->ndeclared && !s; i++) {
    const Declared *d = &p->program->declared[i];
    StcFieldInfo info;
    if (!p->bound.component_given[d->first] || !t->b.fields[d->field])
      continue;
    s = stc_plan_field(p, i, &info);
    if (!s)
      s = stc_plan_get(p, i, t->b.fields[d->field], (size_t)info.bytes);
  }
  for (int i = 0; i < m->nparam_arrays && !s; i++) {
    const ParamArray *a = &m->param_arrays[i];
    size_t bytes = (size_t)(param_array_extent(a, p->scalars) * type_size(a->type));
    t->b.param_arrays[i] = calloc(bytes + 8, 1);
    if (t->b.param_arrays[i] && a->role == ARRAY_VALUES)
      values_fill(p->w.arena, a, p->scalars, t->b.param_arrays[i]);
    else
      s = !t->b.param_arrays[i] ? STC_MEMORY : plan_get_array(p, i, t->b.param_arrays[i], bytes);
    if (!s && a->role == ARRAY_STATE && a->first >= 0 && !p->bound.array_given[i])
      for (int64_t k = 0; k < param_array_extent(a, p->scalars); k++)
        const_store(a->type, (char *)t->b.param_arrays[i] + k * type_size(a->type), p->scalars[a->first]);
  }
  for (int i = 0; i < m->nlists && !s; i++) {
    const PointList *l = &m->lists[i];
    int32_t *next = l->next >= 0 ? t->b.param_arrays[l->next] : NULL;
    if (!list_fill(m, l, p->scalars, t->b.param_arrays, t->b.fields[l->field], next, p->w.diags))
      s = STC_INPUT;
  }
  return s;
}

/* Computes the gradient from the tape. */
static StcStatus by_tape(void *arg) {
  TapeArgs *t = arg;
  StcPlan *p = t->p;
  const Module *m = p->program->source;
  bool *skip = ARENA_ARRAY(p->w.arena, bool, m->nfields + 1);
  t->b.scalars = ARENA_ARRAY(p->w.arena, Const, m->nscalars + 1);
  memcpy(t->b.scalars, p->scalars, sizeof *t->b.scalars * (size_t)m->nscalars);
  t->b.fields = ARENA_ARRAY(p->w.arena, void *, m->nfields + 1);
  t->b.param_arrays = ARENA_ARRAY(p->w.arena, void *, m->nparam_arrays + 1);
  for (int i = 0; i < p->program->ndeclared; i++)
    skip[p->program->declared[i].field] = p->bound.component_given[p->program->declared[i].first];
  StcStatus s = fill_fields(t);
  for (int i = 0; i < t->g->count && !s; i++)
    s = gradient_numbers(t->g, i) ? STC_OK : STC_MEMORY;
  if (s == STC_MEMORY)
    context_error(p->w.context, "out of memory for the reference's fields");
  if (!s && !interp_gradient(m, &t->b, t->steps, skip, &t->g->value, t->g->of, p->w.diags))
    s = STC_INPUT;
  for (int f = 0; f < m->nfields; f++)
    free(t->b.fields[f]);
  for (int i = 0; i < m->nparam_arrays; i++)
    free(t->b.param_arrays[i]);
  return s;
}

/* ---- what users call */

StcStatus gradient_may_be(StcPlan *p) {
  const StcOptions *o = &p->program->options;
  bool ranks = p->facade || (p->split && p->split_ops->has_ranks(p));
  const char *cure = ranks                                ? "its grid is in parts of several processes: take one"
                     : o->check_finite || o->check_bounds ? "the program is compiled with checks: leave them out"
                     : o->passes                          ? "the program has a pipeline of its own: leave it out"
                     : p->run.inits_done || p->run.first
                         ? "it has run already: a gradient is that of a run from the first step on; restart the plan"
                         : NULL;
  if (cure)
    context_error(p->w.context, "the gradient of this plan cannot be computed: %s", cure);
  return cure ? STC_USAGE : STC_OK;
}

/* Is everything available that the gradient needs? */
static StcStatus check(void *arg) {
  StcPlan *p = arg;
  StcStatus s = gradient_may_be(p);
  if (s)
    return s;
  if (!gradient_check(p->program->source, p->w.diags))
    return STC_INPUT;
  return program_check_given(p->program, p->w.arena, p->w.diags, p->scalars, p->bound.component_given,
                             p->bound.array_given, false);
}

/* Gives the plan a new gradient in place of the last one; programs and plans for it are kept. */
static StcStatus renew(StcPlan *p) {
  struct Gradient *old = p->gradient, *new = make(p);
  if (!new)
    return STC_MEMORY;
  if (old) {
    new->backward = old->backward;
    new->pull = old->pull;
    old->backward = NULL;
    old->pull = NULL;
  }
  for (int i = 0; old && i < old->count && i < new->count && old->n[i] == new->n[i];
       i++) { /* it need not be found again */
    new->room[i] = old->single[i] ? old->single[i] : old->room[i];
    *(old->single[i] ? &old->single[i] : &old->room[i]) = NULL;
  }
  gradient_free(old);
  p->gradient = new;
  p->free_gradient = gradient_free;
  return STC_OK;
}

StcStatus stc_plan_gradient(StcPlan *p, int64_t steps, int64_t memory, double *value) {
  StcStatus s = plan_join(p);
  if (!s)
    s = workspace_guard(&p->w, check, p);
  if (!s)
    s = renew(p);
  if (s)
    return s;
  steps = steps < 0 ? module_steps(p->module, p->scalars) : steps;
  TapeArgs t = {.p = p, .steps = steps, .g = p->gradient};
  s = p->device.kind == &device_ref ? workspace_guard(&p->w, by_tape, &t)
                                    : gradient_backward(p, steps, memory, p->gradient);
  p->gradient->done = !s;
  if (!s && value)
    *value = p->gradient->value;
  return s;
}

/* Checks that there are `n` derivatives for number `i`; reports the reason if not. */
static StcStatus check_get(const StcPlan *p, int i, size_t n) {
  if (!p->gradient || !p->gradient->done || i < 0 || i >= p->gradient->count)
    return context_error(p->w.context, "the plan has no gradient number %d; stc_plan_gradient computes them", i),
           STC_USAGE;
  if (n != (size_t)p->gradient->n[i])
    return context_error(p->w.context, "gradient number %d has %lld numbers, not %lld", i, (long long)p->gradient->n[i],
                         (long long)n),
           STC_USAGE;
  return STC_OK;
}

StcStatus stc_plan_gradient_get(StcPlan *p, int i, double *out, size_t n) {
  StcStatus s = check_get(p, i, n);
  const struct Gradient *g = p->gradient;
  for (size_t k = 0; k < n && !s && !g->of[i]; k++)
    out[k] = g->single[i] ? 0.0 + (double)g->single[i][k] : 0;
  if (!s && g->of[i])
    memcpy(out, g->of[i], n * sizeof *out);
  return s;
}

StcStatus stc_plan_gradient_get_f32(StcPlan *p, int i, float *out, size_t n) {
  StcStatus s = check_get(p, i, n);
  const struct Gradient *g = p->gradient;
  for (size_t k = 0; k < n && !s; k++)
    out[k] = g->of[i] ? (float)g->of[i][k] : g->single[i] ? 0.0f + g->single[i][k] : 0;
  return s;
}

int64_t stc_plan_gradient_size(const StcPlan *p, int i) {
  if (p->gradient && p->gradient->pulled)
    return i < 0 || i >= p->gradient->count ? -1 : p->gradient->n[i];
  return i < 0 || i >= stc_program_gradient_count(p->program) ? -1 : numbers(p, i);
}
