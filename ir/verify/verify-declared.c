/* ir/verify/verify-declared.c: the rules of declarations: params, arrays, types, fields, the grid. */
#include "ir/verify/verify.h"

#include <string.h>

void verify_at(Verifier *v, Loc loc, const char *kind, const char *name) {
  v->where = name ? arena_printf(v->m->arena, "%s '%s'", kind, name) : kind;
  v->loc = loc;
}

void verify_type(Verifier *v, Type t) {
  if (t == TY_NONE || t >= TY_COMPOSITE)
    verify_fail(v, no_loc(), "the type is not a scalar type");
}

static void check_scalars(Verifier *v) {
  v->context = CONTEXT_EXPR;
  for (int i = 0; i < v->m->nscalars; i++) {
    const Scalar *s = &v->m->scalars[i];
    verify_at(v, s->loc, s->is_param ? "param" : s->is_reduction ? "reduction" : "let", s->name);
    v->scalar = i;
    verify_type(v, s->type);
    if (module_find_scalar(v->m, s->name) != i)
      verify_fail(v, s->loc, "the name is taken by another scalar");
    if (s->is_reduction && (s->expr || s->is_param || (s->type != TY_F64 && s->type != TY_I64)))
      verify_fail(v, s->loc, "a reduction's scalar is no param, has no expression, and is f64 or i64");
    else if (s->expr)
      verify_body(v, s->expr, "the expression", 1, &s->type);
    else if (!s->is_param && !s->is_reduction)
      verify_fail(v, s->loc, "a let needs an expression");
  }
}

/* Checks composite types: members have types that are declared before, and names only in structs. */
static void check_composites(Verifier *v) {
  const Module *m = v->m;
  for (int i = 0; i < m->ncomposites; i++) {
    const Composite *c = &m->composites[i];
    verify_at(v, no_loc(), c->name ? "struct" : "vector type", c->name);
    if (c->n < 1 || c->n > MAX_COMPONENTS)
      verify_fail(v, no_loc(), "%d members, must be 1 to %d", c->n, MAX_COMPONENTS);
    for (int k = 0; k < c->n; k++) {
      if (c->members[k].type == TY_NONE || c->members[k].type >= TY_COMPOSITE + i)
        verify_fail(v, no_loc(), "member %d is of no type declared before", k);
      if (!c->members[k].name != !c->name || (!c->name && c->members[k].type != c->members[0].type))
        verify_fail(v, no_loc(), "member %d has a name in a vector, none in a struct, or another type than the vector",
                    k);
    }
    for (int k = 0; k < i && c->name; k++)
      if (m->composites[k].name && !strcmp(m->composites[k].name, c->name))
        verify_fail(v, no_loc(), "the name is taken by another struct");
    if (!v->errors && type_components(m, (Type)(TY_COMPOSITE + i)) > MAX_COMPONENTS)
      verify_fail(v, no_loc(), "more than %d components", MAX_COMPONENTS);
  }
}

static void check_param_arrays(Verifier *v) {
  for (int i = 0; i < v->m->nparam_arrays; i++) {
    const ParamArray *p = &v->m->param_arrays[i];
    verify_at(v, p->loc, "launch-time array", p->name);
    verify_type(v, p->type);
    verify_affine(v, p->loc, p->extent);
    verify_affine(v, p->loc, p->rows);
    verify_affine(v, p->loc, p->columns);
    if (array_has_rows(p) && p->role != ARRAY_GIVEN)
      verify_fail(v, p->loc, "only an array that is given has two indices");
    if (module_find_param_array(v->m, p->name) != i)
      verify_fail(v, p->loc, "the name is taken by another launch-time array");
    if (p->role == ARRAY_VALUES && !p->value)
      verify_fail(v, p->loc, "nothing says what its elements are");
    if (p->value) {
      v->context = CONTEXT_ELEMENT;
      v->scalar = v->m->nscalars;
      verify_body(v, p->value, "the element", 1, &p->type);
    }
  }
}

/* Checks that a record's components are fields of the right types on one box. */
static void check_records(Verifier *v) {
  for (int i = 0; i < v->m->nrecords; i++) {
    const Record *r = &v->m->records[i];
    verify_at(v, no_loc(), "record", r->name);
    if (!type_composite(v->m, r->type) || r->first < 0 || r->first + type_components(v->m, r->type) > v->m->nfields) {
      verify_fail(v, no_loc(), "its type is no composite, or fields are missing");
      continue;
    }
    for (int k = 0; k < type_components(v->m, r->type); k++)
      if (v->m->fields[r->first + k].type != type_component(v->m, r->type, k) ||
          !box_equal(&v->m->fields[r->first + k].box, &v->m->fields[r->first].box))
        verify_fail(v, no_loc(), "field '%s' does not fit component %d", v->m->fields[r->first + k].name, k);
  }
}

/* Checks that the past of a field has the field's properties; only one beyond its history may be temp. */
static void check_past(Verifier *v, const Field *f) {
  if (f->history < 0 || f->history > MAX_HISTORY || f->past < 0 || (f->past && f->history))
    verify_fail(v, f->loc, "history %d, past %d", f->history, f->past);
  if (f->past && (f->present < 0 || f->present >= v->m->nfields)) {
    verify_fail(v, f->loc, "it is the past of field number %d, which does not exist", f->present);
  } else if (f->past) {
    const Field *now = &v->m->fields[f->present];
    bool fits = now->type == f->type && box_equal(&now->box, &f->box) && outside_same(f, now);
    if (!fits || f->past > now->history + 1 || f->temp != (f->past > now->history) || f->input || now->past ||
        now->temp || now->input)
      verify_fail(v, f->loc, "it does not fit field '%s', whose past %d it is said to be", now->name, f->past);
  }
}

/* Checks that the pitch is the param for pitches, and is the same in all levels of a field, which exchange their
 * memory. */
static void check_pitch(Verifier *v, const Field *f) {
  const Scalar *s = f->pitch > 0 && f->pitch <= v->m->nscalars ? &v->m->scalars[f->pitch - 1] : NULL;
  if (f->pitch && (!s || s->type != TY_I64 || !s->is_param || strcmp(s->name, ROW_PITCH)))
    verify_fail(v, f->loc, "its pitch is not param " ROW_PITCH ", an i64");
  if (f->pitch && (f->derived || f->series || !type_is_scalar(f->type)))
    verify_fail(v, f->loc, "rows of such a field have no pitch");
  if (f->rest < 0 || f->rest > ROW_REST || (f->rest && !f->pitch))
    verify_fail(v, f->loc, "rest %d; it is for rows with a pitch, and from 0 to %d", f->rest - 1, ROW_REST - 1);
  if (f->past && f->present >= 0 && f->present < v->m->nfields && v->m->fields[f->present].pitch != f->pitch)
    verify_fail(v, f->loc, "it has another pitch than field '%s', whose past it is", v->m->fields[f->present].name);
}

/* Checks a field with frames: only the launcher sets it, and one with frames ahead belongs to a field before it. */
static void check_frames(Verifier *v, int i) {
  const Field *f = &v->m->fields[i];
  if (f->frames < 0 || (f->frames && (!f->input || f->derived || f->series || f->past || f->history)) ||
      (!f->frames && (f->ahead || f->cycle)))
    verify_fail(v, f->loc, "such a field has no frames");
  int of = f->ahead ? module_frames_of(v->m, i) : -1;
  const Field *now = of >= 0 && of < i ? &v->m->fields[of] : NULL;
  if (f->ahead && (!now || now->ahead || now->frames != f->frames || now->cycle != f->cycle || now->type != f->type ||
                   !box_equal(&now->box, &f->box)))
    verify_fail(v, f->loc, "there is no field like it before it of which it has the frames ahead");
}

/* Checks that a field with a history has each of its pasts once. */
static void check_history(Verifier *v, int i) {
  const Field *f = &v->m->fields[i];
  for (int past = 1; past <= f->history && f->history <= MAX_HISTORY; past++) {
    int n = 0;
    for (int k = 0; k < v->m->nfields; k++)
      n += v->m->fields[k].past == past && v->m->fields[k].present == i;
    if (n != 1)
      verify_fail(v, f->loc, "history %d, but there are %d fields that are its past %d", f->history, n, past);
  }
}

static void check_fields(Verifier *v) {
  for (int i = 0; i < v->m->nfields; i++) {
    const Field *f = &v->m->fields[i];
    verify_at(v, f->loc, "field", f->name);
    if (v->m->level == LEVEL_KIR || !type_composite(v->m, f->type))
      verify_type(v, f->type);
    verify_box(v, f->loc, &f->box, v->m->grid.rank);
    if (module_find_field(v->m, f->name) != i)
      verify_fail(v, f->loc, "the name is taken by another field");
    verify_outside(v, f);
    if (f->input && f->temp)
      verify_fail(v, f->loc, "a field cannot be both input and temp");
    if (f->series < 0 || f->series > v->m->nprobes || f->level < 0 || (f->series && (f->input || f->temp)))
      verify_fail(v, f->loc, "series %d, level %d", f->series - 1, f->level);
    check_past(v, f);
    check_history(v, i);
    check_frames(v, i);
    check_pitch(v, f);
  }
}

/* Checks the part of the grid that the module is for, and the fields' members that concern parts. */
static void check_part(Verifier *v) {
  const GridPart *p = v->m->part;
  int rank = v->m->grid.rank;
  verify_at(v, no_loc(), "part", NULL);
  for (int i = 0; i < v->m->nfields; i++) {
    const Field *f = &v->m->fields[i];
    if (f->whole)
      verify_box(v, f->loc, f->whole, rank);
    if (f->exchange > EXCHANGE_STEPS || (f->exchange && (!f->whole || f->temp)) || (f->whole && !p))
      verify_fail(v, f->loc, "field '%s' cannot be exchanged so", f->name);
    if (p && !f->temp && !f->series && !f->exchange)
      verify_fail(v, f->loc, "nothing says when field '%s' is exchanged", f->name);
  }
  if (!p)
    return;
  verify_box(v, no_loc(), &p->own, rank);
  verify_box(v, no_loc(), &p->whole, rank);
  verify_box(v, no_loc(), &p->gives, rank);
  verify_affine(v, no_loc(), affine_scalar(v->m->arena, p->steps));
  for (int d = 0; d < rank; d++)
    if (p->reach.lo[d] < 0 || p->reach.hi[d] < 0 || p->reach.lo[d] > MAX_OFFSET || p->reach.hi[d] > MAX_OFFSET)
      verify_fail(v, no_loc(), "the reach is out of range in dimension %d", d);
}

/* Checks a condition that boxes cover others. */
static void verify_covered(Verifier *v, Loc at, const Covered *c) {
  if (!c)
    return;
  for (int d = 0; d < v->m->grid.rank; d++)
    if (c->rule[d] >= OUTSIDE_RULES || (c->rule[d] == OUTSIDE_NONE) != (c->rule[0] == OUTSIDE_NONE))
      verify_fail(v, at, "there is no outside rule number %d, or none in one dimension alone", (int)c->rule[d]);
  if (c->n < 1 || c->n > MAX_COVERED)
    verify_fail(v, at, "%d boxes, must be 1 to %d", (int)c->n, MAX_COVERED);
  verify_box(v, at, &c->need, v->m->grid.rank);
  verify_box(v, at, &c->within, v->m->grid.rank);
  for (int i = 0; i < c->n; i++)
    verify_box(v, at, &c->by[i], v->m->grid.rank);
}

/* Has the array, number `i`, of weights the length that follows from its array of coordinates, which are floats? */
static bool are_weights(const Module *m, const ParamArray *a, int i) {
  if (a->from < 0 || a->from >= i || !type_is_float(m->param_arrays[a->from].type) || !type_is_float(a->type))
    return false;
  Affine rows = affine_add_const(m->param_arrays[a->from].extent, 2 * (int64_t)a->beyond);
  return (a->points > a->derivative) && (a->derivative || (a->points == 1 && !a->half)) &&
         affine_equal(a->extent, affine_scale(m->arena, rows, a->points));
}

/* Checks launch-time arrays of weights: they and their coordinates are floats. */
static void verify_weights(Verifier *v) {
  const Module *m = v->m;
  for (int i = 0; i < m->nparam_arrays; i++) {
    const ParamArray *a = &m->param_arrays[i];
    if (a->role == ARRAY_WEIGHTS && !are_weights(m, a, i))
      verify_fail(v, a->loc, "the weights '@%s' are not made of an array of coordinates", a->name);
  }
}

/* Is `scalar` 0, or 1 + the number of a scalar of type f64? */
static bool is_length(const Module *m, int32_t scalar) {
  return scalar == 0 || (scalar > 0 && scalar <= m->nscalars && m->scalars[scalar - 1].type == TY_F64);
}

/* Checks Module.metric: scalars of type f64, arrays of floats, in all dimensions or in none. */
static void verify_metric(Verifier *v) {
  const Module *m = v->m;
  const Metric *x = &m->metric;
  bool first = x->spacing[0] || x->coordinates[0];
  if (!is_length(m, x->step))
    verify_fail(v, no_loc(), "the time step is no scalar of type f64");
  for (int d = 0; d < m->grid.rank; d++) {
    int32_t at = x->coordinates[d];
    if ((x->spacing[d] || at) != first || (x->spacing[d] && at) || !is_length(m, x->spacing[d]))
      verify_fail(v, no_loc(), "the spacing of dimension %d is no scalar of type f64, or lacks", d);
    if (at && (at < 0 || at > m->nparam_arrays || !type_is_float(m->param_arrays[at - 1].type)))
      verify_fail(v, no_loc(), "the coordinates of dimension %d are no array of floats", d);
  }
}

/* Checks Module.grid, steps, checks. */
static void check_grid(Verifier *v) {
  const Module *m = v->m;
  verify_at(v, no_loc(), "grid", NULL);
  if (m->grid.rank < 1 || m->grid.rank > MAX_RANK)
    verify_fail(v, no_loc(), "rank %d, must be 1 to %d", m->grid.rank, MAX_RANK);
  else if (m->grid.rank > GRID_RANK && !m->members)
    verify_fail(v, no_loc(), "rank %d, of which the first dimension must be that of members", m->grid.rank);
  else
    verify_box(v, no_loc(), &m->grid, m->grid.rank);
  if (m->steps < 0)
    verify_fail(v, no_loc(), "%lld steps", (long long)m->steps);
  if (m->steps_by)
    verify_affine(v, no_loc(), affine_scalar(m->arena, m->steps_by - 1));
  verify_metric(v);
  verify_weights(v);
  verify_states(v);
  for (int i = 0; i < m->nchecks; i++) {
    verify_at(v, m->checks[i].loc, "check", NULL);
    verify_affine(v, m->checks[i].loc, m->checks[i].value);
    verify_covered(v, m->checks[i].loc, m->checks[i].covered);
    for (int j = 0; j < MAX_UNLESS; j++)
      if (m->checks[i].unless_empty[j])
        verify_box(v, m->checks[i].loc, m->checks[i].unless_empty[j], m->checks[i].unless_empty[j]->rank);
  }
}

bool verify_declared(Verifier *v) {
  check_scalars(v);
  check_grid(v);
  if (v->errors)
    return false;
  check_composites(v);
  check_param_arrays(v);
  if (v->errors)
    return false;
  check_fields(v);
  check_part(v);
  check_records(v);
  return !v->errors;
}
