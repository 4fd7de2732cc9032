/* driver/tune/subject.c: a program to be measured: the sizes of its grid, the least work of a step, and the reference's
 * results. */
#include "driver/data/data.h"
#include "driver/tune/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Keeps the first error. */
static void keep_first(void *user, const StcMessage *m) {
  Messages *to = user;
  if (m->kind == STC_ERROR && !to->first[0])
    snprintf(to->first, sizeof to->first, "%s", m->text);
}

StcConfig messages_config(Messages *m) { return (StcConfig){NULL, keep_first, m}; }

bool subject_go_on(void *user, int64_t done, int64_t of) {
  const Subject *s = user;
  (void)done;
  (void)of;
  return !stop_asked(s->stop);
}

/* ---------------------------------------------------------------- sizes */

GridSize subject_size(const Subject *s, const int64_t want[MAX_RANK]) {
  const char **defines = ARENA_ARRAY(s->arena, const char *, MAX_RANK);
  int n = grid_params(s->program->module, s->arena, want, defines);
  return (GridSize){n, defines};
}

/* The scalars of `m` for the subject's params and those of `g`, or NULL. */
static const Const *bind_size(Subject *s, const Module *m, GridSize g) {
  return program_bind(s->program, m, s->arena, s->program->w.diags, g.n, g.defines);
}

bool subject_extents(Subject *s, GridSize g, int64_t extents[MAX_RANK]) {
  const Const *values = bind_size(s, s->program->module, g);
  Field whole = {.name = "grid", .box = s->program->module->grid};
  extents[0] = extents[1] = extents[2] = extents[3] = 1;
  return values && field_shape(&whole, values, extents) >= 0;
}

/* ---------------------------------------------------------------- work */

/* The arguments of subject_work's guarded function. */
typedef struct WorkArgs {
  Subject *s;
  GridSize size;
  Work *out;
} WorkArgs;

/* Counts the work in the simplified program. */
static StcStatus work_guarded(void *arg) {
  WorkArgs *a = arg;
  StcProgram *p = a->s->program;
  Module *m = program_simplified(p);
  const Const *values = m ? bind_size(a->s, m, a->size) : NULL;
  if (!values)
    return STC_INPUT;
  *a->out = step_work(m, values);
  return STC_OK;
}

StcStatus subject_work(Subject *s, GridSize g, Work *out) {
  WorkArgs args = {s, g, out};
  return workspace_guard(&s->program->w, work_guarded, &args);
}

/* ---------------------------------------------------------------- the reference */

/* Computes the bytes of all components of the fields that steps change, with the plan's params; copies the components
 * to `to` unless that is NULL. */
static StcStatus collect(StcPlan *plan, char *to, size_t *bytes) {
  StcStatus s = STC_OK;
  *bytes = 0;
  for (int f = 0; f < plan->program->ndeclared; f++)
    for (int c = 0; c < plan->program->declared[f].ncomponents && !s; c++) {
      StcFieldInfo info;
      s = stc_plan_component(plan, f, c, &info);
      if (s || info.temp || info.input)
        continue;
      if (to)
        s = stc_plan_get_component(plan, f, c, to + *bytes, (size_t)info.bytes);
      *bytes += (size_t)info.bytes;
    }
  return s;
}

/* Changes the last bit of all floating-point numbers from which the plan will start. */
static StcStatus disturb(StcPlan *plan) {
  StcStatus s = STC_OK;
  for (int f = 0; f < plan->program->ndeclared; f++)
    for (int c = 0; c < plan->program->declared[f].ncomponents && !s; c++) {
      StcFieldInfo info;
      s = stc_plan_component(plan, f, c, &info);
      if (s || info.temp || !type_is_float((Type)info.type) ||
          !plan->bound.component_given[plan->program->declared[f].first + c])
        continue;
      int64_t size = type_size((Type)info.type);
      char *data = malloc((size_t)info.bytes + 1);
      if (!data)
        return STC_MEMORY;
      s = stc_plan_get_component(plan, f, c, data, (size_t)info.bytes);
      for (int64_t at = 0; at < info.bytes; at += size)
        data[at] ^= 1;
      if (!s)
        s = stc_plan_set_component(plan, f, c, data, (size_t)info.bytes);
      free(data);
    }
  return s;
}

/* The plan whose results count as right on the grid of `w`: the reference or the peer; NULL if there is none. */
static StcPlan *judge(Subject *s, const Wanted *w) {
  if (w->grid >= REFERENCE_GRIDS)
    return s->peer ? s->peer->plan : NULL;
  if (!s->reference)
    plan_prepare(s->program, "ref", 0, NULL, &s->reference);
  return s->reference;
}

/* Runs the reference as `w` says, from disturbed values or not. */
static StcStatus run_reference(Subject *s, const Wanted *w, bool disturbed) {
  GridSize g = s->checks[w->grid % CHECK_GRIDS];
  StcPlan *plan = judge(s, w);
  StcStatus st = plan ? plan_reset(plan, g.n, g.defines) : STC_INPUT;
  if (!st)
    st = plan_randomize(plan, CHECK_SEED);
  if (!st && disturbed)
    st = disturb(plan);
  if (st)
    return st;
  stc_plan_progress(plan, subject_go_on, s);
  st = stc_plan_run(plan, w->steps, NULL);
  stc_plan_progress(plan, NULL, NULL);
  return st;
}

/* Runs the reference and keeps its results. */
static StcStatus make_reference(Subject *s, Wanted *w) {
  size_t bytes;
  StcStatus st = run_reference(s, w, false);
  if (!st)
    st = collect(judge(s, w), NULL, &bytes);
  if (st)
    return st;
  w->data = malloc(bytes + 1);
  return w->data ? collect(judge(s, w), w->data, &bytes)
                 : (context_error(s->context, "no memory on this computer for the reference"), STC_MEMORY);
}

/* The largest error of the reference's fields against `w`. */
static double largest_error(Subject *s, const Wanted *w) {
  StcPlan *plan = judge(s, w);
  double most = 0;
  size_t at = 0;
  for (int f = 0; f < s->program->ndeclared; f++)
    for (int c = 0; c < s->program->declared[f].ncomponents; c++) {
      StcFieldInfo info;
      if (stc_plan_component(plan, f, c, &info) || info.temp || info.input)
        continue;
      char *got = malloc((size_t)info.bytes + 1);
      StcStatus st = got ? stc_plan_get_component(plan, f, c, got, (size_t)info.bytes) : STC_MEMORY;
      FieldError e = st ? (FieldError){.error = INFINITY} : field_compare(&info, got, w->data + at);
      most = e.error > most ? e.error : most;
      at += (size_t)info.bytes;
      free(got);
    }
  return most;
}

double subject_sensitivity(Subject *s, Wanted *w) {
  if (w->sensitivity >= 0)
    return w->sensitivity;
  w->sensitivity = run_reference(s, w, true) ? INFINITY : largest_error(s, w);
  if (judge(s, w))
    plan_release(judge(s, w));
  return w->sensitivity;
}

Wanted *subject_reference(Subject *s, int grid, int64_t steps) {
  for (Wanted *w = s->wanted; w; w = w->next)
    if (w->grid == grid && w->steps == steps)
      return w;
  Wanted *w = calloc(1, sizeof *w);
  if (!w)
    return NULL;
  *w = (Wanted){.grid = grid, .steps = steps, .sensitivity = -1};
  StcStatus st = make_reference(s, w);
  if (judge(s, w))
    plan_release(judge(s, w));
  if (st) {
    free(w->data);
    free(w);
    return NULL;
  }
  w->next = s->wanted;
  return s->wanted = w;
}

/* ---------------------------------------------------------------- opening and closing */

/* Extents of the check grids by rank, and of the small ones. */
typedef int64_t Extents[MAX_RANK][MAX_RANK];
static const Extents check_extents[CHECK_GRIDS] = {{{5003}, {157, 331}, {29, 37, 83}},
                                                   {{32768}, {416, 384}, {48, 32, 256}},
                                                   {{1 << 20}, {1700, 1600}, {400, 96, 384}}};
static const Extents small_extents[CHECK_GRIDS] = {{{203}, {19, 45}, {7, 9, 37}},
                                                   {{256}, {16, 64}, {8, 8, 32}},
                                                   {{512}, {32, 64}, {8, 16, 32}}};

/* Reads the text; reports errors to `c`. */
static StcStatus read_program(Subject *s, StcContext *c) {
  StcProgram *p;
  StcStatus st = stc_compile_string(c, s->name, s->text, &s->options, &p);
  if (st)
    return st;
  stc_program_free(p);
  return stc_compile_string(s->context, s->name, s->text, &s->options, &s->program);
}

StcStatus subject_open(Subject *s, StcContext *c, Arena *a, const char *name, const char *text, const StcOptions *o,
                       bool small, const Stop *stop) {
  *s = (Subject){.arena = a, .name = name, .text = text, .options = *o, .stop = stop};
  StcConfig config = messages_config(&s->messages);
  s->context = context_of_command(&config);
  if (!s->context)
    return STC_MEMORY;
  s->context->stop = s->context->run_stop = stop;
  StcStatus st = read_program(s, c);
  const Extents *extents = small ? small_extents : check_extents;
  for (int i = 0; i < CHECK_GRIDS && !st; i++)
    s->checks[i] = subject_size(s, extents[i][s->program->module->grid.rank - 1]);
  return st;
}

void subject_close(Subject *s) {
  while (s->wanted) {
    Wanted *w = s->wanted;
    s->wanted = w->next;
    free(w->data);
    free(w);
  }
  subject_drop_peer(s);
  if (s->reference)
    stc_plan_free(s->reference);
  if (s->program)
    stc_program_free(s->program);
  if (s->context)
    stc_context_free(s->context);
}
