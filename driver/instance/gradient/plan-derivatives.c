/* driver/instance/plan-derivatives.c: the results of a backward run, as the requested derivatives. Those with respect
 * to an f32 field that a single field of the backward program holds remain as they are there; others become sums of
 * doubles. */
#include "driver/instance/gradient/gradient.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* ---- derivatives by elements of launch-time arrays */

/* Adds those of the last step to `to`, the derivatives with respect to the `extent` elements of the array, in order of
 * the points. */
static StcStatus add_elements(Back *b, const AdjointElements *e, int64_t extent, double *to) {
  SavedPart bar, number;
  if (!gradient_part(b->back, e->bar, &bar) || !gradient_part(b->back, e->number, &number))
    return STC_INTERNAL;
  double *g = to ? malloc((size_t)bar.bytes + 1) : NULL;
  int64_t *k = malloc((size_t)number.bytes + 1);
  StcStatus s = g && k ? part_get(b->back, &bar, g) : STC_MEMORY;
  if (!s)
    s = part_get(b->back, &number, k);
  for (size_t i = 0; i < (size_t)bar.bytes / sizeof *g && !s && extent > 0; i++)
    to[k[i] < 0 ? 0 : k[i] < extent ? k[i] : extent - 1] += g[i];
  free(g), free(k);
  return s;
}

StcStatus derivatives_add_elements(Back *b) {
  const Module *m = b->p->program->source;
  StcStatus s = STC_OK;
  for (int e = 0; e < b->facts.nelements; e++)
    for (int i = 0; i < m->nby && !s; i++)
      if (m->by[i].kind == BY_ARRAY && !strcmp(m->param_arrays[m->by[i].index].name, b->facts.elements[e].array))
        s = add_elements(b, &b->facts.elements[e], b->g->n[i], gradient_numbers(b->g, i));
  return s;
}

/* ---- values out */

double *derivatives_field(Back *b, const char *name, int64_t *n) {
  int f = stc_program_find_field(b->program, name);
  StcFieldInfo info;
  if (f < 0 || stc_plan_field(b->back, f, &info))
    return NULL;
  Type t = info.type == STC_F64 ? TY_F64 : TY_F32;
  *n = info.bytes / type_size(t);
  char *data = malloc((size_t)info.bytes + 1);
  double *out = malloc(sizeof *out * (size_t)(*n + 1));
  if (!data || !out || stc_plan_get(b->back, f, data, (size_t)info.bytes)) {
    free(data), free(out);
    return NULL;
  }
  if (t == TY_F64)
    memcpy(out, data, (size_t)*n * sizeof *out);
  for (int64_t i = 0; i < *n && t != TY_F64; i++)
    out[i] = (double)((const float *)(const void *)data)[i];
  free(data);
  return out;
}

/* The layout of derivatives for a field with these extents: in a dimension that the field lacks (`lacks`), all points
 * of the grid contribute. */
typedef struct Spread {
  int rank;
  int64_t shape[MAX_RANK];
  bool lacks[MAX_RANK];
} Spread;

/* The layout for declared field `field` of the forward program. */
static Spread spread_of(const Back *b, int field) {
  const Module *m = b->p->program->source;
  const Field *f = &m->fields[b->p->program->declared[field].field], grid = {.box = m->grid};
  Spread s = {.rank = m->grid.rank};
  int64_t all[MAX_RANK];
  field_shape(f, b->p->scalars, s.shape);
  field_shape(&grid, b->p->scalars, all);
  for (int d = 0; d < s.rank; d++) {
    s.lacks[d] = field_lacks(f, d);
    s.shape[d] = s.lacks[d] ? all[d] : s.shape[d];
  }
  return s;
}

/* The point of the field to which number `i` of the derivatives belongs. */
static int64_t point_of(const Spread *s, int64_t i) {
  int64_t at = 0, stride = 1;
  for (int d = s->rank - 1; d >= 0; i /= s->shape[d--])
    if (!s->lacks[d]) {
      at += i % s->shape[d] * stride;
      stride *= s->shape[d];
    }
  return at;
}

/* If field `by` (of the module without composites) belongs to what the program names `name`, of `parts` components:
 * adds the derivatives with respect to it, in field `bar`, to those at `to`. */
static bool add_field(Back *b, const char *bar, const char *by, const char *name, int parts, double *to, int64_t room) {
  SavedPart p;
  int64_t n;
  if (!gradient_part(b->p, by, &p) || strcmp(b->p->program->declared[p.field].name, name) != 0)
    return true;
  double *from = derivatives_field(b, bar, &n);
  int c = p.component < 0 ? 0 : p.component;
  Spread s = spread_of(b, p.field);
  bool all = true; /* each derivative belongs to a point of its own */
  for (int d = 0; d < s.rank; d++)
    all = all && !s.lacks[d];
  for (int64_t i = 0; from && all && i < n && i * parts + c < room; i++)
    to[i * parts + c] += from[i];
  for (int64_t i = 0; from && !all && i < n; i++) {
    int64_t at = point_of(&s, i) * parts + c;
    if (at < room)
      to[at] += from[i];
  }
  free(from);
  return from != NULL;
}

/* Adds up, in the order of reductions, the contributions of all points to the derivative with respect to a scalar. */
static bool add_scalar(Back *b, const AdjointField *x, double *bar) {
  int64_t n, shape[MAX_RANK];
  double *v = derivatives_field(b, x->name, &n);
  const Module *m = b->p->program->source;
  Field grid = {.box = m->grid};
  field_shape(&grid, b->p->scalars, shape);
  int64_t row = m->grid.rank > 1 ? shape[m->grid.rank - 1] : REDUCE_ROW, rows = row ? (n + row - 1) / row : 0;
  Const *each = malloc(sizeof *each * (size_t)(n + 1)), *of_rows = malloc(sizeof *of_rows * (size_t)(rows + 1));
  bool ok = v && each && of_rows;
  for (int64_t i = 0; i < n && ok; i++)
    each[i].f = v[i];
  for (int64_t r = 0; r < rows && ok; r++)
    of_rows[r] = reduce_row(OP_ADD, TY_F64, each + r * row, n - r * row < row ? n - r * row : row);
  int s = module_find_scalar(m, x->from);
  if (ok && s >= 0)
    bar[s] += reduce_rows(OP_ADD, TY_F64, of_rows, rows).f;
  free(v), free(each), free(of_rows);
  return ok;
}

/* The derivatives with respect to the number `x` that steps update, before the first step, in the arena of the plan's
 * call: *n of them, one for each member if each has its own. NULL after an error. */
static const double *state_bars(Back *b, const AdjointField *x, int64_t *n) {
  StcReduction value;
  if (stc_plan_scalar(b->back, x->name, &value))
    return NULL;
  *n = value.members ? value.members : 1;
  double *bars = ARENA_ARRAY(b->p->w.arena, double, *n + 1);
  return stc_plan_scalars(b->back, x->name, bars, (size_t)*n * sizeof *bars) ? NULL : bars;
}

/* Adds the derivatives with respect to numbers that steps update, of all members, to those with respect to their
 * initial values. */
static bool add_states(Back *b, double *bar) {
  for (int i = 0; i < b->facts.nstates; i++) {
    int64_t n;
    int s = module_find_scalar(b->p->program->source, b->facts.states[i].from);
    const double *of = s < 0 ? NULL : state_bars(b, &b->facts.states[i], &n);
    if (!of)
      return false;
    for (int64_t k = 0; k < n; k++)
      bar[s] += of[k];
  }
  return true;
}

/* Adds the derivatives with respect to scalar `scalar`, which each member has for itself, to those of number `i`. */
static StcStatus take_members(Back *b, int i, int scalar) {
  double *to = gradient_numbers(b->g, i);
  if (!to)
    return STC_MEMORY;
  for (int k = 0; k < b->facts.nstates; k++) {
    int64_t n;
    if (module_find_scalar(b->p->program->source, b->facts.states[k].from) != scalar)
      continue;
    const double *of = state_bars(b, &b->facts.states[k], &n);
    if (!of)
      return STC_MEMORY;
    memcpy(to, of, (size_t)(n < b->g->n[i] ? n : b->g->n[i]) * sizeof *to);
  }
  return STC_OK;
}

/* The derivatives with respect to all scalars, including params, in the arena of the plan's call; *ok is false if
 * memory ran out. */
static const double *bars_of_scalars(Back *b, bool *ok) {
  StcPlan *p = b->p;
  const Module *m = p->program->source;
  double *bar = ARENA_ARRAY(p->w.arena, double, m->nscalars + 1);
  for (int i = 0; i < b->facts.nscalars; i++)
    *ok = *ok && add_scalar(b, &b->facts.scalars[i], bar);
  *ok = *ok && add_states(b, bar);
  scalars_pull(p->w.arena, m, p->scalars, bar);
  return bar;
}

/* The sum of the losses: each in order of steps. */
static double total(const Back *b) {
  const Module *m = b->p->program->source;
  double value = 0;
  for (int i = 0; i < m->nlosses; i++) {
    double sum = 0;
    for (int64_t n = 0; n <= b->steps; n++)
      if (loss_is_due(&m->losses[i], n, b->steps))
        sum += b->sums[i * (b->steps + 1) + n];
    if (m->losses[i].factor != 0)
      value += m->losses[i].factor * sum;
  }
  return value;
}

/* Does field `by` of the module without composites belong to the program's field `name`? */
static bool belongs(Back *b, const char *by, const char *name) {
  SavedPart p;
  return gradient_part(b->p, by, &p) && !strcmp(b->p->program->declared[p.field].name, name);
}

/* The part of the backward plan that holds all `n` derivatives with respect to field `field` of the program's source,
 * an f32 field, one for each point, in their final form. False: there is no such part. */
static bool only_part(Back *b, int field, int64_t n, SavedPart *out) {
  const Module *m = b->p->program->source;
  const char *name = m->fields[field].name;
  int parts = 0;
  for (int k = 0; k < b->facts.nbars; k++) {
    const AdjointField *bar = &b->facts.bars[k];
    bool of = belongs(b, bar->from, name);
    parts += of && gradient_part(b->back, bar->name, out);
    for (int i = 0; i < b->facts.nfilled; i++)
      parts += !strcmp(b->facts.filled[i].name, bar->from) && belongs(b, b->facts.filled[i].from, name) ? 2 : 0;
  }
  if (parts != 1 || type_components(m, m->fields[field].type) != 1)
    return false;
  StcFieldInfo info;
  for (int d = 0; d < m->grid.rank; d++)
    if (field_lacks(&m->fields[field], d))
      return false;
  return out->component < 0 && !stc_plan_field(b->back, out->field, &info) && info.type == STC_F32 &&
         out->bytes == n * (int64_t)sizeof(float);
}

/* Copies the derivatives with respect to field `field` of the program's source to those of number `i`. */
static StcStatus take_field(Back *b, int i, int field) {
  const Module *m = b->p->program->source;
  struct Gradient *g = b->g;
  SavedPart part = {0};
  if (only_part(b, field, g->n[i], &part)) {
    float *to = gradient_singles(g, i);
    return to ? part_get(b->back, &part, to) : STC_MEMORY;
  }
  const char *name = m->fields[field].name;
  int parts = type_components(m, m->fields[field].type);
  double *to = gradient_numbers(g, i);
  bool ok = to;
  for (int k = 0; k < b->facts.nbars; k++)
    ok = ok && add_field(b, b->facts.bars[k].name, b->facts.bars[k].from, name, parts, to, g->n[i]);
  for (int k = 0; k < b->facts.nfilled; k++)
    for (int f = 0; f < b->facts.nbars; f++)
      if (!strcmp(b->facts.bars[f].from, b->facts.filled[k].name))
        ok = ok && add_field(b, b->facts.bars[f].name, b->facts.filled[k].from, name, parts, to, g->n[i]);
  return ok ? STC_OK : STC_MEMORY;
}

/* Adds the derivative with respect to a param to those of number `i`. */
static bool add_param(struct Gradient *g, int i, double bar) {
  double *to = gradient_numbers(g, i);
  if (to)
    *to += bar;
  return to;
}

StcStatus derivatives_take(void *arg) {
  Back *b = arg;
  const Module *m = b->p->program->source;
  bool ok = true;
  const double *bar = bars_of_scalars(b, &ok);
  StcStatus s = ok ? STC_OK : STC_MEMORY;
  for (int i = 0; i < m->nby && !s; i++) {
    const By *x = &m->by[i];
    if (x->kind == BY_PARAM && module_member_state(m, x->index) >= 0)
      s = take_members(b, i, x->index);
    else if (x->kind == BY_PARAM)
      s = add_param(b->g, i, bar[x->index]) ? STC_OK : STC_MEMORY;
    if (x->kind == BY_FIELD)
      s = take_field(b, i, x->index);
  }
  b->g->value = total(b);
  return s;
}

/* For input fields this is everything. */
StcStatus derivatives_add_starts(void *arg) {
  Back *b = arg;
  const Module *m = b->p->program->source;
  bool ok = true;
  const double *bar = bars_of_scalars(b, &ok);
  for (int i = 0; i < m->nby && ok; i++) {
    const By *x = &m->by[i];
    if (x->kind == BY_PARAM && module_member_state(m, x->index) < 0)
      ok = add_param(b->g, i, bar[x->index]);
    if (x->kind != BY_FIELD || !m->fields[x->index].input)
      continue;
    double *to = gradient_numbers(b->g, i);
    ok = to;
    if (ok)
      memset(to, 0, (size_t)b->g->n[i] * sizeof *to);
    for (int k = 0; k < b->facts.nbars; k++)
      ok = ok && add_field(b, b->facts.bars[k].name, b->facts.bars[k].from, m->fields[x->index].name,
                           type_components(m, m->fields[x->index].type), to, b->g->n[i]);
  }
  return ok ? derivatives_add_elements(b) : STC_MEMORY;
}
