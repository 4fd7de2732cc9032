/* driver/instance/plan-pull.c: propagates given derivatives with respect to the final fields of a run back to its
 * inputs: the gradient of the program that pass transpose makes for this (passes/transpose/pull.c), by a plan of its
 * own that gets the same values as this one. */
#include "driver/instance/gradient/gradient.h"
#include "driver/program/program.h"
#include "passes/transpose/transpose.h"

#include <stdlib.h>
#include <string.h>

/* names, params: the data for which the program and the plan were made, as text. */
struct Pull {
  StcProgram *program;
  StcPlan *plan;
  char *names, *params;
};

void pull_free(Pull *k) {
  if (!k)
    return;
  stc_plan_free(k->plan);
  stc_program_free(k->program);
  free(k->names);
  free(k->params);
  free(k);
}

/* The arguments of the call. text: that of the program. */
typedef struct PullArgs {
  StcPlan *p;
  Pull *pull;
  int nof, nto;
  const StcPull *of;
  const char *const *to;
  const char *text;
} PullArgs;

/* ---- the program and its plan */

/* Makes the program's text, after checking whether it has a gradient, so that messages are about the user's text. */
static StcStatus make_text(PullArgs *a) {
  StcPlan *p = a->p;
  PassContext c = {.arena = p->w.arena, .diags = p->w.diags, .loaded = p->program->loaded, .run = passes_run};
  const char **of = ARENA_ARRAY(p->w.arena, const char *, a->nof + 1);
  for (int i = 0; i < a->nof; i++)
    of[i] = a->of[i].field;
  Module *m = transpose_pull(&c, p->program->source, a->nof, of, a->nto, a->to);
  if (!m || !gradient_check(m, p->w.diags))
    return STC_INPUT;
  a->text = module_print(m);
  return STC_OK;
}

/* All names of the call, with a separator between fields and the inputs of the derivatives. */
static char *names_of(const PullArgs *a) {
  const char **names = ARENA_ARRAY(a->p->w.arena, const char *, a->nof + a->nto + 1);
  int n = 0;
  for (int i = 0; i < a->nof; i++)
    names[n++] = a->of[i].field;
  names[n++] = ":";
  for (int i = 0; i < a->nto; i++)
    names[n++] = a->to[i];
  return gradient_joined(n, names);
}

/* Compiles the program, unless it exists. */
static StcStatus make_program(PullArgs *a) {
  StcPlan *p = a->p;
  Pull *k = a->pull;
  char *names = names_of(a);
  if (!names)
    return STC_MEMORY;
  if (k->program && !strcmp(k->names, names))
    return free(names), STC_OK;
  stc_plan_free(k->plan);
  stc_program_free(k->program);
  free(k->names);
  k->plan = NULL;
  k->program = NULL;
  k->names = names;
  StcStatus s = make_text(a);
  if (s)
    return s;
  StcOptions o = p->program->options;
  o.ndefines = 0;
  o.members = 0; /* they are already in the text */
  return stc_compile_string(p->w.context, arena_printf(p->w.arena, "%s.pull.sir", p->program->name), a->text, &o,
                            &k->program);
}

/* Makes the plan, or lets the existing one begin again. */
static StcStatus make_plan(void *arg) {
  PullArgs *a = arg;
  StcPlan *p = a->p;
  Pull *k = a->pull;
  StcStatus s = make_program(a);
  if (s)
    return s;
  const char **defines = ARENA_ARRAY(p->w.arena, const char *, p->program->source->nscalars + 1);
  int n = gradient_defines(p, defines);
  char *params = gradient_joined(n, defines);
  if (!params)
    return STC_MEMORY;
  if (k->plan && !strcmp(k->params, params))
    return free(params), stc_plan_restart(k->plan);
  stc_plan_free(k->plan);
  free(k->params);
  k->plan = NULL;
  k->params = params;
  return gradient_plan(p, k->program, n, defines, &k->plan);
}

/* ---- values in and out */

/* Gives the plan the fields that were given to `p`. */
static StcStatus copy_given(StcPlan *p, StcPlan *to) {
  StcStatus s = STC_OK;
  for (int i = 0; i < p->program->ndeclared && !s; i++) {
    const Declared *d = &p->program->declared[i];
    StcFieldInfo f;
    if (!p->bound.component_given[d->first])
      continue;
    s = stc_plan_field(p, i, &f);
    char *data = s ? NULL : malloc((size_t)f.bytes + 1);
    if (!s)
      s = data ? stc_plan_get(p, i, data, (size_t)f.bytes) : STC_MEMORY;
    if (!s)
      s = stc_plan_set(to, stc_program_find_field(to->program, d->name), data, (size_t)f.bytes);
    free(data);
  }
  return s;
}

/* Gives it the derivatives with respect to the final fields. */
static StcStatus set_bars(const PullArgs *a) {
  StcPlan *to = a->pull->plan;
  StcStatus s = STC_OK;
  for (int i = 0; i < a->nof && !s; i++) {
    size_t size = strlen(a->of[i].field) + sizeof ".pull";
    char *name = malloc(size);
    if (!name)
      return STC_MEMORY;
    snprintf(name, size, "%s.pull", a->of[i].field);
    s = stc_plan_set(to, stc_program_find_field(to->program, name), a->of[i].data, a->of[i].bytes);
    free(name);
  }
  return s;
}

/* Reports an older level among NAMES that nobody has set, so that it becomes a copy of its field before the first step.
 */
static StcStatus check_levels(const PullArgs *a) {
  const Module *m = a->p->program->source;
  for (int i = 0; i < a->nto; i++) {
    int f = module_find_field(m, a->to[i]), k = stc_program_find_field(a->p->program, a->to[i]);
    if (f >= 0 && k >= 0 && m->fields[f].past && !stencils_write(m->ninits, m->inits, f) &&
        !a->p->bound.component_given[a->p->program->declared[k].first])
      return context_error(a->p->w.context,
                           "'%s' has not been set, so it becomes what '%s' is, whose derivatives count it, too: "
                           "leave it out, or set it",
                           a->to[i], m->fields[m->fields[f].present].name),
             STC_USAGE;
  }
  return STC_OK;
}

/* Makes the results of plan `from` the gradient of `p`. */
static void take_over(StcPlan *p, StcPlan *from) {
  struct Gradient *g = p->gradient, *of = from->gradient;
  for (int i = 0; i < g->count; i++)
    free(g->of[i]), free(g->single[i]), free(g->room[i]);
  free(g->of), free(g->single), free(g->room);
  free(g->n);
  g->of = of->of;
  g->single = of->single;
  g->room = of->room;
  g->n = of->n;
  g->count = of->count;
  g->value = of->value;
  of->of = NULL;
  of->single = of->room = NULL;
  of->n = NULL;
  of->count = 0;
  of->done = false;
  g->done = g->pulled = true;
}

StcStatus stc_plan_pull(StcPlan *p, int64_t steps, int64_t memory, int nof, const StcPull *of, int nto,
                        const char *const *to) {
  PullArgs a = {.p = p, .nof = nof, .of = of, .nto = nto, .to = to};
  StcStatus s = plan_join(p);
  if (!s)
    s = gradient_may_be(p);
  if (!s && (nof < 1 || nto < 1))
    s = (context_error(p->w.context, "derivatives are handed back from one field at least, and to something"),
         STC_USAGE);
  if (!s)
    s = check_levels(&a);
  if (s)
    return s;
  p->gradient = p->gradient ? p->gradient : calloc(1, sizeof *p->gradient);
  p->free_gradient = gradient_free;
  if (p->gradient && !p->gradient->pull)
    p->gradient->pull = calloc(1, sizeof *p->gradient->pull);
  if (!p->gradient || !p->gradient->pull)
    return context_error(p->w.context, "out of memory for the gradient"), STC_MEMORY;
  p->gradient->done = false;
  a.pull = p->gradient->pull;
  s = workspace_guard(&p->w, make_plan, &a);
  if (!s)
    s = copy_given(p, a.pull->plan);
  if (!s)
    s = gradient_arrays(p, a.pull->plan);
  if (!s)
    s = gradient_scalars(p, a.pull->plan);
  if (!s)
    s = set_bars(&a);
  if (!s)
    s = stc_plan_gradient_scratch(a.pull->plan, p->scratch);
  if (!s)
    s = stc_plan_gradient(a.pull->plan, steps, memory, NULL);
  if (!s)
    take_over(p, a.pull->plan);
  return s;
}
