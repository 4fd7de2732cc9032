/* driver/instance/plan-backward.c: gradients by the backward program: a separate program, which pass transpose makes
 * from the plan's, on the same device. Step by step it receives the fields of the forward run. */
#include "driver/instance/gradient/gradient.h"
#include "driver/program/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The backward program of a plan, a plan of it, and the data for which they were made: the names of the fields that are
 * given, the params' values and the number of steps, as text. */
struct Backward {
  StcProgram *program;
  StcPlan *plan;
  AdjointFacts facts;
  StcProgram *start; /* the program that undoes inits, made when first needed */
  AdjointFacts start_facts;
  char *given, *params;
  StcPlan *of; /* the plan whose device has the spare blocks */
  SpareBlocks spare;
};

void backward_free(Backward *b) {
  if (!b)
    return;
  spare_blocks_free(b->of, &b->spare);
  stc_plan_free(b->plan);
  stc_program_free(b->program);
  stc_program_free(b->start);
  free(b->given);
  free(b->params);
  free(b);
}

/* ---- the program */

/* Makes the text of the backward program, or, if there is one, of the program that undoes the inits. */
static StcStatus make_text(void *arg) {
  Back *b = arg;
  StcPlan *p = b->p;
  Backward *k = b->g->backward;
  const char **names = ARENA_ARRAY(p->w.arena, const char *, b->ngiven + 1);
  PassContext c = {.arena = p->w.arena, .diags = p->w.diags, .loaded = p->program->loaded, .run = passes_run};
  c.sizes = p->scalars;
  for (int i = 0; i < b->ngiven; i++)
    names[i] = p->program->declared[b->given[i]].name;
  Module *source = module_copy(p->w.arena, p->program->source);
  for (int r = 0; r < source->nrepeats; r++)
    source->repeats[r].most = affine_const(affine_eval(source->repeats[r].most, p->scalars, NULL));
  Module *m = k->program ? transpose_inits(&c, source, b->ngiven, names, &k->facts, &k->start_facts)
                         : transpose_module(&c, source, b->ngiven, names, &b->facts);
  b->text = m ? module_print(m) : NULL;
  return m ? STC_OK : STC_INPUT;
}

/* The value of scalar `s` as "NAME=VALUE". */
static const char *define(StcPlan *p, int s) {
  const Scalar *x = &p->module->scalars[s];
  Const v = p->scalars[s];
  return type_is_float(x->type) ? arena_printf(p->w.arena, "%s=%.17g", x->name, v.f)
         : x->type == TY_BOOL   ? arena_printf(p->w.arena, "%s=%s", x->name, v.i ? "true" : "false")
                                : arena_printf(p->w.arena, "%s=%lld", x->name, (long long)v.i);
}

int gradient_defines(StcPlan *p, const char **defines) {
  const Module *m = p->program->source;
  int n = 0;
  for (int s = 0; s < m->nscalars; s++)
    if (m->scalars[s].is_param && module_find_scalar(p->module, m->scalars[s].name) == s)
      defines[n++] = define(p, s);
  return n;
}

/* Writes the program's params and ADJOINT_LAST to `defines`, which has room; returns their number. */
static int defines_of(Back *b, const char **defines) {
  int n = gradient_defines(b->p, defines);
  defines[n++] = arena_printf(b->p->w.arena, "%s=%lld", ADJOINT_LAST, (long long)b->steps);
  return n;
}

char *gradient_joined(int n, const char *const *texts) {
  size_t size = 1;
  for (int i = 0; i < n; i++)
    size += strlen(texts[i]) + 1;
  char *out = malloc(size), *at = out;
  for (int i = 0; i < n && out; i++)
    at += sprintf(at, "%s\n", texts[i]);
  if (out)
    *at = 0;
  return out;
}

/* Compiles b->text, which messages call by the plan's program and `what`. No field may be computed once only, because
 * fields are new in each step although no step of this program changes them. */
static StcStatus compile_text(Back *b, const char *what, StcProgram **out) {
  StcPlan *p = b->p;
  StcOptions o = p->program->options;
  options_open_knobs(&o);
  o.schedule = o.schedule && strcmp(o.schedule, "naive") == 0 ? "naive" : NULL;
  o.ndefines = 0;
  o.members = 0; /* they are already in the text */
  o.no_hoist |= b->facts.nsaved > 0 || b->facts.nafter > 0;
  const char *name = arena_printf(p->w.arena, "%s.%s.sir", p->program->name, what);
  return stc_compile_string(p->w.context, name, b->text, &o, out);
}

/* Compiles the backward program, unless `k` has it already. */
static StcStatus compile_back(Back *b, Backward *k, const char *given) {
  StcPlan *p = b->p;
  if (k->program && !strcmp(k->given, given))
    return STC_OK;
  stc_plan_free(k->plan);
  stc_program_free(k->program);
  stc_program_free(k->start);
  k->plan = NULL;
  k->program = k->start = NULL;
  StcStatus s = workspace_guard(&p->w, make_text, b);
  if (s)
    return s;
  k->facts = b->facts;
  free(k->given);
  k->given = strdup(given);
  return k->given ? compile_text(b, "back", &k->program) : STC_MEMORY;
}

/* Makes the backward plan, or lets the existing one begin again. */
static StcStatus make_plan(void *arg) {
  Back *b = arg;
  StcPlan *p = b->p;
  Backward *k = b->g->backward;
  const Module *source = p->program->source;
  const char **names = ARENA_ARRAY(p->w.arena, const char *, b->ngiven + source->nrepeats + 1);
  const char **defines = ARENA_ARRAY(p->w.arena, const char *, p->program->source->nscalars + 1);
  for (int i = 0; i < b->ngiven; i++)
    names[i] = p->program->declared[b->given[i]].name;
  for (int r = 0; r < source->nrepeats; r++) /* rounds are unrolled */
    names[b->ngiven + r] =
        arena_printf(p->w.arena, "%lld", (long long)affine_eval(source->repeats[r].most, p->scalars, NULL));
  int n = defines_of(b, defines);
  char *given = gradient_joined(b->ngiven + source->nrepeats, names), *params = gradient_joined(n, defines);
  StcStatus s = given && params ? compile_back(b, k, given) : STC_MEMORY;
  bool again = !s && k->plan && !strcmp(k->params, params);
  if (again) {
    s = stc_plan_restart(k->plan);
  } else if (!s) {
    stc_plan_free(k->plan);
    k->plan = NULL;
    free(k->params);
    k->params = params;
    params = NULL;
    s = gradient_plan(p, k->program, n, defines, &k->plan);
  }
  free(given);
  free(params);
  b->program = k->program;
  b->back = k->plan;
  b->facts = k->facts;
  return s;
}

StcStatus gradient_plan(const StcPlan *p, StcProgram *program, int n, const char *const *defines, StcPlan **out) {
  return p->split ? p->split_ops->like(p, program, n, defines, out)
                  : stc_plan_new(program, p->device.name, n, defines, out);
}

/* ---- values in */

StcStatus gradient_arrays(StcPlan *from, StcPlan *to) {
  StcStatus s = STC_OK;
  for (int i = 0; i < stc_program_array_count(to->program) && !s; i++) {
    StcFieldInfo f;
    int source = module_find_param_array(from->module, stc_program_array_name(to->program, i));
    if (source < 0) /* a number for all steps: give_states */
      continue;
    bool handed;
    s = plan_hand_array(from, source, to, i, &handed);
    if (s || handed)
      continue;
    s = stc_plan_array(to, i, &f);
    void *data = s ? NULL : malloc((size_t)f.bytes + 1);
    if (!s)
      s = data ? plan_get_array(from, source, data, (size_t)f.bytes) : STC_MEMORY;
    if (!s)
      s = stc_plan_set_array(to, i, data, (size_t)f.bytes);
    free(data);
  }
  return s;
}

/* The bytes of the values of the plan's scalar `name`: one value, or one for each member. */
static size_t scalar_bytes(const StcPlan *p, const char *name) {
  const ParamArray *a = &p->module->param_arrays[module_find_param_array(p->module, name)];
  return (size_t)param_array_extent(a, p->scalars) * sizeof(double);
}

/* If the user has set the plan's scalar `name`, copies its values to new memory at *values (malloc). */
static StcStatus take_scalar(StcPlan *p, const char *name, void **values) {
  if (!p->bound.array_given[module_find_param_array(p->module, name)])
    return STC_OK;
  size_t bytes = scalar_bytes(p, name);
  *values = malloc(bytes + 1);
  return *values ? stc_plan_scalars(p, name, *values, bytes) : STC_MEMORY;
}

StcStatus gradient_scalars(StcPlan *from, StcPlan *to) {
  StcStatus s = STC_OK;
  const char *name;
  for (int i = 0; (name = stc_program_scalar(from->program, i)) && !s; i++) {
    void *values = NULL;
    s = take_scalar(from, name, &values);
    if (!s && values)
      s = stc_plan_set_scalars(to, name, values, scalar_bytes(to, name));
    free(values);
  }
  return s;
}

/* Gives the backward plan the values that scalars of the forward plan had in all steps, if it has arrays for them. */
static StcStatus give_scalars(Back *b, const Saved *saved) {
  StcStatus s = STC_OK;
  for (int i = 0; i < stc_program_array_count(b->program) && !s; i++) {
    const char *array = stc_program_array_name(b->program, i), *end = strstr(array, ADJOINT_STEPS);
    char *name = end && !end[strlen(ADJOINT_STEPS)] ? strndup(array, (size_t)(end - array)) : NULL;
    size_t bytes;
    const void *values = name ? saved_scalar(saved, name, &bytes) : NULL;
    if (values)
      s = stc_plan_set_array(b->back, i, values, bytes);
    free(name);
  }
  return s;
}

/* Copies present fields of the forward plan to the backward one. */
static StcStatus hand_over(Back *b, int n, const AdjointField *fields) {
  StcStatus s = STC_OK;
  for (int i = 0; i < n && !s; i++) {
    SavedPart from, to;
    if (!gradient_part(b->p, fields[i].from, &from) || !gradient_part(b->back, fields[i].name, &to))
      return context_error(b->p->w.context, "the gradient lacks field '%s'", fields[i].from), STC_INTERNAL;
    s = part_hand(b->p, &from, b->back, &to);
  }
  return s;
}

/* ---- values of losses */

/* Called when a loss was evaluated after step `r->step` - 1 of the backward run: it is that of N + 1 - r->step steps,
 * or at the end (Loss.every 0) that of step 0. */
static void take_loss(void *user, const StcReduction *r) {
  Back *b = user;
  const Module *m = b->p->program->source;
  int i = module_find_loss(m, r->name);
  if (i < 0)
    return;
  int64_t at = m->losses[i].every ? b->steps + 1 - r->step : b->steps;
  if ((m->losses[i].every == 0) == (r->step == 0) && at >= 0 && at <= b->steps)
    b->sums[i * (b->steps + 1) + at] = r->f;
}

/* ---- the backward run */

/* What is saved for each step: `n` parts of the forward plan, and the parts of the backward plan to which they are
 * copied: with their values at the step, and at the next higher one. (field -1: there is none.) */
typedef struct Row {
  int n;
  SavedPart *from, *now, *later;
  bool ahead; /* some are needed with their values at the next higher step */
} Row;

/* Makes a step of the plan; waits for it only if the grid is cut. */
static StcStatus one_step(StcPlan *p) {
  StcStatus s = plan_join(p);
  p->back.pending = false;
  return s ? s : plan_run_steps(p, 1, p->split != NULL, NULL);
}

/* The steps of a run from number `first` on. */
typedef struct Reverse {
  Back *b;
  Saved *saved;
  const Row *row;
  int64_t first;
} Reverse;

/* Gives the backward plan the fields that step `w->first` + `k` reads: those after N minus that many steps. */
static StcStatus give_step(void *user, int64_t k) {
  const Reverse *w = user;
  Back *b = w->b;
  int64_t number = w->first + k, done = b->steps - number;
  StcStatus s = w->row->n ? saved_give(w->saved, done, b->back, w->row->now) : STC_OK;
  return s || !w->row->ahead ? s : saved_give(w->saved, done + (number > 0), b->back, w->row->later);
}

/* Makes some of the steps together; *made: their number, 0 if the host must do something between them. */
static StcStatus reverse_batch(Reverse *w, int64_t *made) {
  Back *b = w->b;
  const Row *row = w->row;
  int64_t done = b->steps - w->first, most = row->n ? saved_there(w->saved, done) : done + 1;
  int64_t n = w->first && !b->facts.nelements ? plan_batch_steps(b->back, most) : 0;
  StepBatch batch = {.most = n, .before = give_step, .user = w};
  batch.lends = !row->n || (saved_are_lent(w->saved, b->back, row->now) &&
                            (!row->ahead || saved_are_lent(w->saved, b->back, row->later)));
  *made = 0;
  bool can = n > 0;
  can = can && (!row->n || saved_are_queued(w->saved, done, n, b->back, row->now, row->ahead ? row->later : NULL));
  return can ? plan_batch(b->back, &batch, made) : STC_OK;
}

/* Makes all steps. */
static StcStatus make_steps(Back *b, Saved *saved, const Row *row) {
  StcStatus s = STC_OK;
  int64_t made;
  if (!row->n && !b->facts.every && !b->facts.nelements)
    return stc_plan_run(b->back, b->steps + 1, NULL);
  for (Reverse w = {b, saved, row, 0}; w.first <= b->steps && !s; w.first += made) {
    if (stop_asked(&b->p->run.asked))
      return STC_INTERRUPTED;
    s = reverse_batch(&w, &made);
    if (s || made)
      continue;
    made = 1;
    s = give_step(&w, 0);
    if (!s)
      s = one_step(b->back);
    if (!s)
      s = derivatives_add_elements(b);
  }
  return s;
}

/* Makes the whole backward run. The values of losses are read at the end; until then `saved` holds what the steps read.
 */
static StcStatus run_back(Back *b, Saved *saved, const Row *row) {
  stc_plan_series(b->back, take_loss, b);
  StcStatus s = plan_defer(b->back, b->steps + 1);
  if (!s)
    s = make_steps(b, saved, row);
  StcStatus ended = b->back->device.kind->whole ? STC_OK : b->back->device.kind->wait(&b->back->device);
  StcStatus told = plan_defer_end(b->back, !s && !ended);
  saved_return(saved);
  return s ? s : ended ? ended : told;
}

/* ---- the plan before and after */

/* Saves the scalars that the user has set. */
static StcStatus keep_scalars(Back *b) {
  StcPlan *p = b->p;
  StcStatus s = STC_OK;
  while (stc_program_scalar(p->program, b->nscalars))
    b->nscalars++;
  b->scalars = calloc((size_t)b->nscalars + 1, sizeof *b->scalars);
  if (!b->scalars)
    return STC_MEMORY;
  for (int i = 0; i < b->nscalars && !s; i++)
    s = take_scalar(p, stc_program_scalar(p->program, i), &b->scalars[i]);
  return s;
}

/* Saves the fields that the user has set, so that the plan can begin again; input fields remain, because no step
 * changes them. */
static StcStatus keep_given(Back *b) {
  StcPlan *p = b->p;
  StcStatus s = STC_OK;
  b->given = calloc((size_t)p->program->ndeclared + 1, sizeof *b->given);
  b->values = calloc((size_t)p->program->ndeclared + 1, sizeof *b->values);
  if (!b->given || !b->values)
    return STC_MEMORY;
  for (int i = 0; i < p->program->ndeclared && !s; i++) {
    StcFieldInfo f;
    if (!p->bound.component_given[p->program->declared[i].first])
      continue;
    s = stc_plan_field(p, i, &f);
    bool stays = !s && f.input && !p->split;
    b->values[b->ngiven] = s || stays ? NULL : malloc((size_t)f.bytes + 1);
    if (!s && !stays)
      s = b->values[b->ngiven] ? stc_plan_get(p, i, b->values[b->ngiven], (size_t)f.bytes) : STC_MEMORY;
    b->given[b->ngiven++] = i;
  }
  return s;
}

/* Restores the plan's former state, from which it begins again. */
static StcStatus put_back(Back *b) {
  StcPlan *p = b->p;
  p->observers = b->observers;
  StcStatus s = stc_plan_restart(p);
  for (int i = 0; i < b->ngiven && !s; i++) {
    StcFieldInfo f;
    s = stc_plan_field(p, b->given[i], &f);
    if (!s && b->values[i])
      s = stc_plan_set(p, b->given[i], b->values[i], (size_t)f.bytes);
    else if (!s)
      plan_mark_given(p, b->given[i], -1);
  }
  for (int i = 0; i < b->nscalars && !s; i++)
    if (b->scalars[i]) {
      const char *name = stc_program_scalar(p->program, i);
      s = stc_plan_set_scalars(p, name, b->scalars[i], scalar_bytes(p, name));
    }
  return s;
}

/* ---- inits */

/* Gives the field `name` of the start plan the value of the forward field `from` before the inits: as the user has set
 * it, else 0. An input keeps the value that inits set; those in the start plan set it again. */
static StcStatus give_before(Back *b, const AdjointField *x) {
  SavedPart from, to;
  if (!gradient_part(b->p, x->from, &from) || !gradient_part(b->back, x->name, &to))
    return STC_INTERNAL;
  const Declared *d = &b->p->program->declared[from.field];
  bool kept = b->p->bound.component_given[d->first] || b->p->module->fields[d->field].input;
  char *data = calloc((size_t)(from.bytes > to.bytes ? from.bytes : to.bytes) + 1, 1);
  StcStatus s = data ? STC_OK : STC_MEMORY;
  if (!s && kept)
    s = part_get(b->p, &from, data);
  if (!s)
    s = part_set(b->back, &to, data);
  free(data);
  return s;
}

/* Adds field `bar` of the backward program to the derivatives at `to`. */
static StcStatus add_bar(Back *main, const char *bar, double *to, int64_t n) {
  int64_t m;
  double *v = derivatives_field(main, bar, &m);
  for (int64_t i = 0; v && i < m && i < n; i++)
    to[i] += v[i];
  free(v);
  return v ? STC_OK : STC_MEMORY;
}

/* Gives field `x` of the start plan the derivatives from the backward run `main`, including those with respect to
 * levels that were copied from the field. */
static StcStatus give_bar(Back *b, Back *main, const AdjointField *x) {
  SavedPart to;
  StcStatus s = gradient_part(b->back, x->name, &to) ? STC_OK : STC_INTERNAL;
  Type t = s ? TY_F64 : b->back->module->fields[b->program->declared[to.field].field].type;
  int64_t n = s ? 0 : to.bytes / type_size(t);
  double *sum = calloc((size_t)n + 1, sizeof *sum);
  char *data = calloc((size_t)n + 1, sizeof(double));
  s = s ? s : sum && data ? STC_OK : STC_MEMORY;
  for (int i = 0; i < main->facts.nbars && !s; i++) {
    const AdjointField *bar = &main->facts.bars[i];
    bool same = strcmp(bar->from, x->from) == 0;
    for (int k = 0; k < main->facts.nfilled; k++)
      same = same || (!strcmp(main->facts.filled[k].name, bar->from) && !strcmp(main->facts.filled[k].from, x->from));
    s = same ? add_bar(main, bar->name, sum, n) : STC_OK;
  }
  for (int64_t i = 0; i < n && !s; i++)
    const_store(t, data + i * type_size(t), (Const){.f = sum[i]});
  if (!s)
    s = part_set(b->back, &to, data);
  free(sum);
  free(data);
  return s;
}

/* Makes the start plan, of the program that undoes inits, which is compiled when first needed. */
static StcStatus make_start(void *arg) {
  Back *b = arg;
  StcPlan *p = b->p;
  Backward *k = b->g->backward;
  const char **defines = ARENA_ARRAY(p->w.arena, const char *, p->program->source->nscalars + 1);
  int n = defines_of(b, defines);
  StcStatus s = k->start ? STC_OK : make_text(b);
  if (!s && !k->start)
    s = compile_text(b, "start", &k->start);
  b->program = k->start;
  b->facts = k->start_facts;
  b->back = NULL;
  return s ? s : stc_plan_new(k->start, p->device.name, n, defines, &b->back);
}

/* Undoes the inits after the backward run `main`; the plan must be in its state before the run. */
static StcStatus undo_inits(const Back *main) {
  Back b = *main, before = *main;
  StcStatus s = workspace_guard(&b.p->w, make_start, &b);
  if (!s)
    s = gradient_arrays(b.p, b.back);
  for (int i = 0; i < b.facts.ninputs && !s; i++)
    s = give_before(&b, &b.facts.inputs[i]);
  for (int i = 0; i < b.facts.nsaved && !s; i++)
    s = give_before(&b, &b.facts.saved[i]);
  for (int i = 0; i < b.facts.nbars && !s; i++)
    s = give_bar(&b, &before, &b.facts.bars[i]);
  if (!s)
    s = stc_plan_run(b.back, 1, NULL);
  if (!s)
    s = workspace_guard(&b.p->w, derivatives_add_starts, &b);
  stc_plan_free(b.back);
  return s;
}

/* The number of the part of the row for forward field `name`, added if it is new. -1: the plan has no such field. */
static int part_of_row(Back *b, Row *r, const char *name) {
  SavedPart x;
  if (!gradient_part(b->p, name, &x))
    return -1;
  int i = 0;
  while (i < r->n && (r->from[i].field != x.field || r->from[i].component != x.component))
    i++;
  if (i == r->n) {
    r->from[r->n] = x;
    r->now[r->n].field = r->later[r->n].field = -1;
    r->n++;
  }
  return i;
}

/* Finds the parts for the `n` fields of the backward plan. */
static StcStatus fill_row(Back *b, Row *r, int n, const AdjointField *fields, SavedPart *to) {
  for (int i = 0; i < n; i++) {
    int k = part_of_row(b, r, fields[i].from);
    if (k < 0 || !gradient_part(b->back, fields[i].name, &to[k]))
      return context_error(b->p->w.context, "the gradient lacks field '%s'", fields[i].from), STC_INTERNAL;
  }
  return STC_OK;
}

/* Makes the row of the program; the caller frees its memory. */
static StcStatus make_row(Back *b, Row *r) {
  const AdjointFacts *f = &b->facts;
  size_t room = (size_t)(f->nsaved + f->nafter) + 1;
  r->from = calloc(room, sizeof *r->from);
  r->now = calloc(room, sizeof *r->now);
  r->later = calloc(room, sizeof *r->later);
  r->ahead = f->nafter > 0;
  if (!r->from || !r->now || !r->later)
    return STC_MEMORY;
  StcStatus s = fill_row(b, r, f->nsaved, f->saved, r->now);
  return s ? s : fill_row(b, r, f->nafter, f->after, r->later);
}

/* Makes the forward run and the backward run. */
static StcStatus both(Back *b, int64_t memory) {
  StcPlan *p = b->p;
  Row row = {0};
  Saved *saved = NULL;
  StcStatus s = make_row(b, &row);
  if (!s)
    s = gradient_arrays(p, b->back);
  if (!s)
    s = stc_plan_run(p, 0, NULL);
  if (!s)
    s = hand_over(b, b->facts.ninputs, b->facts.inputs);
  if (!s)
    s = saved_make(p, row.n, row.from, row.ahead, b->steps, memory, &b->g->backward->spare, &saved);
  if (!s)
    s = give_scalars(b, saved);
  if (!s)
    s = hand_over(b, b->facts.nends, b->facts.ends);
  if (!s)
    s = run_back(b, saved, &row);
  saved_free(saved);
  free(row.from), free(row.now), free(row.later);
  return s ? s : workspace_guard(&p->w, derivatives_take, b);
}

StcStatus gradient_backward(StcPlan *p, int64_t steps, int64_t memory, struct Gradient *g) {
  Back b = {.p = p, .steps = steps, .g = g, .observers = p->observers};
  int losses = p->program->source->nlosses;
  b.sums = calloc((size_t)(steps + 1) * (size_t)(losses + 1), sizeof *b.sums);
  StcStatus s = b.sums ? keep_given(&b) : STC_MEMORY;
  if (!s)
    s = keep_scalars(&b);
  g->backward = g->backward ? g->backward : calloc(1, sizeof *g->backward);
  if (g->backward)
    g->backward->of = p;
  if (!s)
    s = g->backward ? workspace_guard(&p->w, make_plan, &b) : STC_MEMORY;
  if (!s) {
    p->observers = (Observers){0};
    s = both(&b, memory);
    StcStatus after = put_back(&b);
    s = s ? s : after;
    if (!s && b.facts.starts)
      s = undo_inits(&b);
  }
  if (s == STC_MEMORY)
    context_error(p->w.context, "out of memory for the gradient");
  for (int i = 0; i < b.ngiven; i++)
    free(b.values[i]);
  free(b.values), free(b.given), free(b.sums);
  for (int i = 0; b.scalars && i < b.nscalars; i++)
    free(b.scalars[i]);
  free(b.scalars);
  return s;
}
