/* ir/verify/verify.c: the rules of both IRs: declarations, stencils, kernels and the host part; verify-code.c has those
 * of the code in them. Whether
 * accesses stay on their fields is the front end's business. */
#include "ir/schedule.h"
#include "ir/verify/verify.h"

#include <string.h>

/* ---- declarations */

/* Sets what messages begin with and where they point if there is no better place. */
static void set_where(Verifier *v, Loc loc, const char *kind, const char *name) {
  v->where = name ? arena_printf(v->m->arena, "%s '%s'", kind, name) : kind;
  v->loc = loc;
}

/* Is `t` a scalar type? */
static void check_type(Verifier *v, Type t) {
  if (t == TY_NONE || t >= TY_COMPOSITE)
    verify_fail(v, no_loc(), "the type is not a scalar type");
}

static void check_scalars(Verifier *v) {
  v->context = CONTEXT_EXPR;
  for (int i = 0; i < v->m->nscalars; i++) {
    const Scalar *s = &v->m->scalars[i];
    set_where(v, s->loc, s->is_param ? "param" : s->is_reduction ? "reduction" : "let", s->name);
    v->scalar = i;
    check_type(v, s->type);
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

/* Composite types: members that are types declared before, with names in structs only. */
static void check_composites(Verifier *v) {
  const Module *m = v->m;
  for (int i = 0; i < m->ncomposites; i++) {
    const Composite *c = &m->composites[i];
    set_where(v, no_loc(), c->name ? "struct" : "vector type", c->name);
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
    set_where(v, p->loc, "launch-time array", p->name);
    check_type(v, p->type);
    verify_affine(v, p->loc, p->extent);
    if (module_find_param_array(v->m, p->name) != i)
      verify_fail(v, p->loc, "the name is taken by another launch-time array");
  }
}

/* A record's components are fields of the right types on one box. */
static void check_records(Verifier *v) {
  for (int i = 0; i < v->m->nrecords; i++) {
    const Record *r = &v->m->records[i];
    set_where(v, no_loc(), "record", r->name);
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

/* Is an access beyond the region of `f` what one beyond that of `g` is, of the same type? */
static bool same_outside(const Field *f, const Field *g) {
  return f->outside == g->outside &&
         (f->outside != OUTSIDE_CONST ||
          const_same(f->outside_value, g->outside_value, type_is_scalar(f->type) ? f->type : TY_F64));
}

/* The past of a field is like the field; only one behind the last is temp. */
static void check_past(Verifier *v, const Field *f) {
  if (f->history < 0 || f->history > MAX_HISTORY || f->past < 0 || (f->past && f->history))
    verify_fail(v, f->loc, "history %d, past %d", f->history, f->past);
  if (f->past && (f->present < 0 || f->present >= v->m->nfields)) {
    verify_fail(v, f->loc, "it is the past of field number %d, which does not exist", f->present);
  } else if (f->past) {
    const Field *now = &v->m->fields[f->present];
    bool fits = now->type == f->type && box_equal(&now->box, &f->box) && same_outside(f, now);
    if (!fits || f->past > now->history + 1 || f->temp != (f->past > now->history) || f->input || now->past ||
        now->temp || now->input)
      verify_fail(v, f->loc, "it does not fit field '%s', whose past %d it is said to be", now->name, f->past);
  }
}

/* The pitch is the param for it; levels of one field, which exchange their memory, have the same. */
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

/* A field with a history has each of its pasts once. */
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
    set_where(v, f->loc, "field", f->name);
    if (v->m->level == LEVEL_KIR || !type_composite(v->m, f->type))
      check_type(v, f->type);
    verify_box(v, f->loc, &f->box, v->m->grid.rank);
    if (module_find_field(v->m, f->name) != i)
      verify_fail(v, f->loc, "the name is taken by another field");
    if (f->outside >= OUTSIDE_RULES)
      verify_fail(v, f->loc, "there is no outside rule number %d", (int)f->outside);
    else if (f->outside == OUTSIDE_CONST &&
             !verify_is_value(f->outside_value, type_is_scalar(f->type) ? f->type : TY_F64))
      verify_fail(v, f->loc, "the constant outside is not a value of type %s", type_text(v->m, f->type));
    if (f->input && f->temp)
      verify_fail(v, f->loc, "a field cannot be both input and temp");
    if (f->series < 0 || f->series > v->m->nprobes || f->level < 0 || (f->series && (f->input || f->temp)))
      verify_fail(v, f->loc, "series %d, level %d", f->series - 1, f->level);
    check_past(v, f);
    check_history(v, i);
    check_pitch(v, f);
  }
}

/* What makes the module one for a part of the grid, and what it says of the fields. */
static void check_part(Verifier *v) {
  const GridPart *p = v->m->part;
  int rank = v->m->grid.rank;
  set_where(v, no_loc(), "part", NULL);
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

/* What a check says of boxes that cover others. */
static void verify_covered(Verifier *v, Loc at, const Covered *c) {
  if (!c)
    return;
  if (c->rule >= OUTSIDE_RULES)
    verify_fail(v, at, "there is no outside rule number %d", (int)c->rule);
  if (c->n < 1 || c->n > MAX_COVERED)
    verify_fail(v, at, "%d boxes, must be 1 to %d", (int)c->n, MAX_COVERED);
  verify_box(v, at, &c->need, v->m->grid.rank);
  verify_box(v, at, &c->within, v->m->grid.rank);
  for (int i = 0; i < c->n; i++)
    verify_box(v, at, &c->by[i], v->m->grid.rank);
}

/* Is the array, number `i`, of weights, as long as the array of floats that it is made of says? */
static bool are_weights(const Module *m, const ParamArray *a, int i) {
  if (a->from < 0 || a->from >= i || !type_is_float(m->param_arrays[a->from].type) || !type_is_float(a->type))
    return false;
  Affine rows = affine_add_const(m->param_arrays[a->from].extent, 2 * (int64_t)a->beyond);
  return (a->points > a->derivative) && (a->derivative || a->points == 1) &&
         affine_equal(a->extent, affine_scale(m->arena, rows, a->points));
}

/* Launch-time arrays of weights are floats, made of floats. */
static void verify_weights(Verifier *v) {
  const Module *m = v->m;
  for (int i = 0; i < m->nparam_arrays; i++) {
    const ParamArray *a = &m->param_arrays[i];
    if (a->role == ARRAY_WEIGHTS && !are_weights(m, a, i))
      verify_fail(v, a->loc, "the weights '@%s' are not made of an array of coordinates", a->name);
  }
}

/* Is number + 1 that of a scalar of type f64, or 0? */
static bool is_length(const Module *m, int32_t scalar) {
  return scalar == 0 || (scalar > 0 && scalar <= m->nscalars && m->scalars[scalar - 1].type == TY_F64);
}

/* Module.metric: scalars of f64, arrays of floats, in all dimensions or in none. */
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

/* Module.grid, steps, checks. */
static void check_grid(Verifier *v) {
  const Module *m = v->m;
  set_where(v, no_loc(), "grid", NULL);
  if (m->grid.rank < 1 || m->grid.rank > MAX_RANK)
    verify_fail(v, no_loc(), "rank %d, must be 1 to %d", m->grid.rank, MAX_RANK);
  else
    verify_box(v, no_loc(), &m->grid, m->grid.rank);
  if (m->steps < 0)
    verify_fail(v, no_loc(), "%lld steps", (long long)m->steps);
  if (m->steps_by)
    verify_affine(v, no_loc(), affine_scalar(m->arena, m->steps_by - 1));
  verify_metric(v);
  verify_weights(v);
  for (int i = 0; i < m->nchecks; i++) {
    set_where(v, m->checks[i].loc, "check", NULL);
    verify_affine(v, m->checks[i].loc, m->checks[i].value);
    verify_covered(v, m->checks[i].loc, m->checks[i].covered);
    for (int j = 0; j < MAX_UNLESS; j++)
      if (m->checks[i].unless_empty[j])
        verify_box(v, m->checks[i].loc, m->checks[i].unless_empty[j], m->checks[i].unless_empty[j]->rank);
  }
}

/* ---- stencils */

/* Does the list hold `x`? */
static bool holds(int n, const int32_t *list, int32_t x) {
  for (int i = 0; i < n; i++)
    if (list[i] == x)
      return true;
  return false;
}

/* Are the targets fields, each once, and not input (unless `init`)? */
static bool check_targets(Verifier *v, Loc at, int n, const int32_t *targets, bool init) {
  int errors = v->errors;
  for (int i = 0; i < n; i++) {
    if (targets[i] < 0 || targets[i] >= v->m->nfields)
      verify_fail(v, at, "target %d is field number %d, which does not exist", i, targets[i]);
    else if (holds(i, targets, targets[i]))
      verify_fail(v, at, "field '%s' is a target twice", v->m->fields[targets[i]].name);
    else if (v->m->fields[targets[i]].input && !init)
      verify_fail(v, at, "field '%s' is input and cannot be a target", v->m->fields[targets[i]].name);
  }
  return v->errors == errors;
}

/* Is the box empty whatever the params are? */
static bool is_never_met(const Box *b) {
  int64_t diff;
  for (int d = 0; d < b->rank; d++)
    if (affine_diff(b->hi[d], b->lo[d], &diff) && diff < 0)
      return true;
  return false;
}

static void check_piece(Verifier *v, const Stencil *st, const Piece *p, bool init) {
  verify_box(v, p->loc, &p->box, v->m->grid.rank);
  if (p->box.rank != v->m->grid.rank || !check_targets(v, p->loc, p->ntargets, p->targets, init))
    return;
  Type *types = ARENA_ARRAY(v->m->arena, Type, p->ntargets);
  for (int i = 0; i < p->ntargets; i++) {
    const Field *f = &v->m->fields[p->targets[i]];
    types[i] = f->type;
    if (!holds(st->ntargets, st->targets, p->targets[i]))
      verify_fail(v, p->loc, "target '%s' of a piece is not a target of the stencil", f->name);
    if (f->box.rank == p->box.rank && !is_never_met(&p->box) && box_inside(&p->box, &f->box) < 0)
      verify_fail(v, p->loc, "the piece reaches beyond the region of field '%s'", f->name);
  }
  verify_body(v, p->body, "a piece", p->ntargets, types);
}

static void check_stencil(Verifier *v, const Stencil *st, bool init) {
  set_where(v, st->loc, init ? "init" : "stencil", st->name);
  v->context = CONTEXT_PIECE;
  if (!check_targets(v, st->loc, st->ntargets, st->targets, init))
    return;
  for (int i = 0; i < st->npieces; i++)
    check_piece(v, st, &st->pieces[i], init);
  if (st->level < 0 || st->level >= (init ? 1 : v->m->time_tile))
    verify_fail(v, st->loc, "level %d is outside the time tile of %d", st->level, init ? 1 : v->m->time_tile);
  for (int d = 0; d < v->m->grid.rank && st->has_extent; d++)
    if (st->extent.lo[d] > MAX_OFFSET || st->extent.lo[d] < -MAX_OFFSET || st->extent.hi[d] > MAX_OFFSET ||
        st->extent.hi[d] < -MAX_OFFSET)
      verify_fail(v, st->loc, "the extent is out of range in dimension %d", d);
}

/* Init number `init`, which is computed once. */
typedef struct Once {
  Verifier *v;
  int init;
} Once;

/* Fails if `op` of what is computed once reads what steps change, or what is computed no earlier: done again, it would
 * come to other values (a block_walk callback). */
static void check_unchanging(void *user, Op *op) {
  const Once *once = user;
  Verifier *v = once->v;
  const Module *m = v->m;
  bool changes =
      op->code == OP_STEP || op->code == OP_ELEMENT || (op->code == OP_SCALAR && m->scalars[op->sym].is_reduction);
  if (op->code == OP_ACCESS) {
    const Field *f = &m->fields[op->sym];
    changes = f->temp || f->derived || f->series || f->history || f->past;
    for (int i = 0; i < m->nstencils; i++)
      changes = changes || holds(m->stencils[i].ntargets, m->stencils[i].targets, op->sym);
  }
  if (changes)
    verify_fail(v, op->loc, "it reads what may change while the program runs");
  for (int i = once->init; i < m->ninits && op->code == OP_ACCESS; i++)
    if (holds(m->inits[i].ntargets, m->inits[i].targets, op->sym))
      verify_fail(v, op->loc, "it reads field '%s', which is computed %s", m->fields[op->sym].name,
                  i == once->init ? "by it" : "behind it");
}

/* What is computed once stands behind the other inits, reads what no step changes, and nothing else writes it. */
static void check_once(Verifier *v, int n) {
  const Module *m = v->m;
  const Stencil *st = &m->inits[n];
  set_where(v, st->loc, "once", st->name);
  if (m->part)
    verify_fail(v, st->loc, "there is none in a part of a grid");
  for (int i = 0; i < st->npieces; i++)
    block_walk(st->pieces[i].body, check_unchanging, &(Once){v, n});
  for (int i = 0; i < m->ninits + m->nstencils; i++) {
    const Stencil *other = i < m->ninits ? &m->inits[i] : &m->stencils[i - m->ninits];
    if (i < m->ninits && i > n && !other->once)
      verify_fail(v, st->loc, "init '%s' stands behind it", other->name);
    for (int t = 0; t < st->ntargets && i != n; t++)
      if (holds(other->ntargets, other->targets, st->targets[t]))
        verify_fail(v, st->loc, "'%s' writes field '%s', too", other->name, m->fields[st->targets[t]].name);
  }
  for (int t = 0; t < st->ntargets; t++)
    if (m->fields[st->targets[t]].temp || m->fields[st->targets[t]].history || m->fields[st->targets[t]].past)
      verify_fail(v, st->loc, "field '%s' is temp, or has older levels", m->fields[st->targets[t]].name);
}

/* Groups count from 0 within each level, without gaps. */
static void check_groups(Verifier *v) {
  for (int i = 0; i < v->m->nstencils; i++) {
    const Stencil *st = &v->m->stencils[i], *before = i && st[-1].level == st->level ? st - 1 : NULL;
    if (before ? st->group < before->group || st->group > before->group + 1 : st->group != 0)
      verify_fail(v, st->loc, "stencil '%s' is in group %d, which does not follow the one before it", st->name,
                  st->group);
  }
}

/* The field whose value, now or in the past, field `i` holds. */
static int root_field(const Module *m, int i) { return m->fields[i].past ? m->fields[i].present : i; }

/* Are the two different buffers of one field and its past? */
static bool may_swap(const Module *m, int a, int b) {
  const Buffer *x = &m->buffers[a], *y = &m->buffers[b];
  return a != b && x->kind == BUFFER_FIELD && y->kind == BUFFER_FIELD &&
         root_field(m, x->field) == root_field(m, y->field);
}

/* Checks what a sequence launches and swaps. */
static void check_sequence(Verifier *v, const HostSeq *q) {
  const Module *m = v->m;
  for (int i = 0; i < q->nops; i++) {
    const HostOp *op = &q->ops[i];
    if (op->kind == HOST_LAUNCH) {
      if (op->a < 0 || op->a >= m->nkernels)
        verify_fail(v, no_loc(), "there is no kernel number %d", op->a);
      else if (m->kernels[op->a].steps > q->steps)
        verify_fail(v, no_loc(), "kernel '%s' makes %d steps in a sequence of %d", m->kernels[op->a].name,
                    m->kernels[op->a].steps, q->steps);
      else if (op->beside && (i == 0 || op[-1].kind != HOST_LAUNCH))
        verify_fail(v, no_loc(), "kernel '%s' is launched beside nothing: there must be a launch directly before",
                    m->kernels[op->a].name);
      else if (op->after < 0 || (op->after && op->after >= q->steps))
        verify_fail(v, no_loc(), "kernel '%s' is launched after %d of a sequence's %d steps: there must be one left",
                    m->kernels[op->a].name, (int)op->after, q->steps);
      else if (op->beside && op->after != op[-1].after)
        verify_fail(v, no_loc(), "kernel '%s' is launched beside one, but after %d steps, and that after %d",
                    m->kernels[op->a].name, (int)op->after, (int)op[-1].after);
    } else if (op->a < 0 || op->a >= m->nbuffers || op->b < 0 || op->b >= m->nbuffers) {
      verify_fail(v, no_loc(), "there is no buffer number %d or %d", op->a, op->b);
    } else if (!may_swap(m, op->a, op->b)) {
      verify_fail(v, no_loc(), "buffers '%s' and '%s' are not two of one field and its past", m->buffers[op->a].name,
                  m->buffers[op->b].name);
    }
  }
}

/* A reduction but for its code. */
static void check_reduction_head(Verifier *v, const Reduction *r, int i) {
  const Module *m = v->m;
  bool floats = r->type == TY_F64;
  verify_box(v, r->loc, &r->over, m->grid.rank);
  if (module_find_reduction(m, r->name) != i)
    verify_fail(v, r->loc, "the name is taken by another reduction");
  if (r->op != OP_ADD && r->op != OP_MUL && r->op != OP_MIN && r->op != OP_MAX)
    verify_fail(v, r->loc, "op '%s' does not reduce", op_info[r->op].name);
  if ((!floats && r->type != TY_I64) || r->every < 1 || r->kind > REDUCE_BOUNDS)
    verify_fail(v, r->loc, "type %s, every %lld steps, kind %d", type_name(r->type), (long long)r->every, (int)r->kind);
  if (r->scalar < 0 || r->scalar >= m->nscalars || !m->scalars[r->scalar].is_reduction ||
      m->scalars[r->scalar].type != r->type)
    verify_fail(v, r->loc, "scalar number %d is not one of a reduction of type %s", r->scalar, type_name(r->type));
  if (r->kind >= REDUCE_FINITE && floats)
    verify_fail(v, r->loc, "what a check finds is of type i64");
  if (r->kind >= REDUCE_FINITE && (r->field < 0 || r->field >= m->nfields))
    verify_fail(v, r->loc, "it checks field number %d, which does not exist", r->field);
  if (!r->stop != (r->kind != REDUCE_UNTIL))
    verify_fail(v, r->loc, "an until, and nothing else, has a stop condition");
}

/* Reductions stand between steps, where temp fields hold nothing. */
static void check_no_temps(Verifier *v, const Block *b) {
  for (const Op *op = b->first; op; op = op->next)
    if (op->code == OP_ACCESS && v->m->fields[op->sym].temp)
      verify_fail(v, op->loc, "it reads temp field '%s', which holds nothing between steps",
                  v->m->fields[op->sym].name);
}

static void check_reductions(Verifier *v) {
  Type boolean = TY_BOOL;
  for (int i = 0; i < v->m->nreductions; i++) {
    const Reduction *r = &v->m->reductions[i];
    set_where(v, r->loc, "reduction", r->name);
    check_reduction_head(v, r, i);
    v->context = CONTEXT_EXPR;
    v->scalar = v->m->nscalars;
    if (r->stop)
      verify_body(v, r->stop, "the stop condition", 1, &boolean);
    v->context = CONTEXT_PIECE;
    if (v->m->level == LEVEL_SIR) {
      int errors = v->errors;
      verify_body(v, r->body, "the reduction", 1, &r->type);
      if (v->errors == errors)
        check_no_temps(v, r->body);
    } else {
      check_sequence(v, &r->seq);
      if (r->body || r->result < 0 || r->result >= v->m->nbuffers || v->m->buffers[r->result].kind != BUFFER_SCRATCH ||
          buffer_type(v->m, r->result) != r->type)
        verify_fail(v, r->loc, "it needs a scratch buffer of its type for its result, and no body");
    }
  }
}

/* Has the field or array that a list of points is written to, `exists`, the right type and flag? */
static void check_derived(Verifier *v, const PointList *l) {
  const Module *m = v->m;
  bool field = l->field >= 0 && l->field < m->nfields,
       next = l->next == -1 || (l->next >= 0 && l->next < m->nparam_arrays);
  if (!field || !m->fields[l->field].derived || !m->fields[l->field].input || m->fields[l->field].type != TY_I32 ||
      !box_equal(&m->fields[l->field].box, &l->box))
    verify_fail(v, l->loc, "it needs a derived input field of type i32 on its box");
  if (!next ||
      (l->next >= 0 && (m->param_arrays[l->next].role != ARRAY_NEXT || m->param_arrays[l->next].type != TY_I32)))
    verify_fail(v, l->loc, "what says which point is next at a place is a launch-time array 'next' of type i32");
}

/* Lists of points: arrays of integers, equally long. */
static void check_lists(Verifier *v) {
  const Module *m = v->m;
  for (int i = 0; i < m->nlists; i++) {
    const PointList *l = &m->lists[i];
    const ParamArray *first = NULL;
    set_where(v, l->loc, "list of points", l->name);
    verify_box(v, l->loc, &l->box, m->grid.rank);
    for (int d = 0; d < m->grid.rank; d++) {
      const ParamArray *a = l->array[d] >= 0 && l->array[d] < m->nparam_arrays ? &m->param_arrays[l->array[d]] : NULL;
      if (!a && l->array[d] != -1)
        verify_fail(v, l->loc, "there is no launch-time array number %d", l->array[d]);
      else if (!a)
        verify_affine(v, l->loc, l->at[d]);
      else if (!type_is_int(a->type) || a->role != ARRAY_GIVEN)
        verify_fail(v, l->loc, "'%s' is no array of integers that is given", a->name);
      else if (first && !affine_equal(first->extent, a->extent))
        verify_fail(v, l->loc, "'%s' and '%s' are not of one length", first->name, a->name);
      first = first ? first : a;
    }
    if (!first || module_find_list(m, l->name) != i || l->most < 0)
      verify_fail(v, l->loc, "it has no array, its name is taken, or most is %d", l->most);
    check_derived(v, l);
  }
}

/* Probes; those of kernel IR have launches in place of a body. */
static void check_probes(Verifier *v) {
  const Module *m = v->m;
  for (int i = 0; i < m->nprobes; i++) {
    const Probe *p = &m->probes[i];
    int errors = v->errors;
    set_where(v, p->loc, "probe", p->name);
    check_type(v, p->type);
    verify_box(v, p->loc, &p->box, m->grid.rank);
    if (module_find_probe(m, p->name) != i || p->every < 1 || p->list < -1 || p->list >= m->nlists)
      verify_fail(v, p->loc, "its name is taken, it is seen every %lld steps, or its list is number %d",
                  (long long)p->every, p->list);
    else if (p->list >= 0 && !box_equal(&p->box, &m->lists[p->list].box))
      verify_fail(v, p->loc, "its box is not that of its list");
    if (p->result < -1 || p->result >= m->nparam_arrays ||
        (p->result >= 0 &&
         (m->param_arrays[p->result].role != ARRAY_SERIES || m->param_arrays[p->result].type != p->type)))
      verify_fail(v, p->loc, "its result is no series of its type");
    v->context = CONTEXT_PIECE;
    if (m->level == LEVEL_KIR)
      check_sequence(v, &p->seq);
    else
      verify_body(v, p->body, "the probe", 1, &p->type);
    if (v->errors == errors && p->body)
      check_no_temps(v, p->body);
  }
}

static void check_stencil_ir(Verifier *v) {
  const Module *m = v->m;
  set_where(v, no_loc(), "module", m->name);
  if (m->nbuffers || m->nkernels || m->host.nseqs)
    verify_fail(v, no_loc(), "a stencil module has no buffers, kernels and host part");
  if (m->time_tile < 1)
    verify_fail(v, no_loc(), "time_tile is %d, must be at least 1", m->time_tile);
  if (m->plan && plan_open_knob(m->plan, m->grid.rank))
    verify_fail(v, no_loc(), "the plan does not say %s for the grid's %d dimension%s",
                plan_open_knob(m->plan, m->grid.rank), m->grid.rank, m->grid.rank > 1 ? "s" : "");
  for (int i = 0; i < m->ninits; i++)
    check_stencil(v, &m->inits[i], true);
  for (int i = 0; i < m->ninits && !v->errors; i++)
    if (m->inits[i].once)
      check_once(v, i);
  for (int i = 0; i < m->nstencils; i++)
    check_stencil(v, &m->stencils[i], false);
  check_groups(v);
}

/* ---- kernels */

static void check_buffers(Verifier *v) {
  const Module *m = v->m;
  for (int i = 0; i < m->nbuffers; i++) {
    const Buffer *b = &m->buffers[i];
    set_where(v, no_loc(), "buffer", b->name);
    if (b->kind == BUFFER_SCRATCH
            ? !type_is_scalar(b->type) || b->cells < 1
            : b->field < 0 || b->field >= (b->kind == BUFFER_FIELD ? m->nfields : m->nparam_arrays) || b->copy < 0)
      verify_fail(v, no_loc(), "what it stands for (number %d, copy %d) does not exist", b->field, b->copy);
    if (b->lead < 0 || (b->lead && (b->kind != BUFFER_FIELD || b->lead % buffer_alignment(m, i))))
      verify_fail(v, no_loc(), "lead %d; it is for fields, and a multiple of the buffer's alignment", b->lead);
    if (module_find_buffer(m, b->name) != i)
      verify_fail(v, no_loc(), "the name is taken by another buffer");
    for (int j = 0; j < i; j++)
      if (b->kind != BUFFER_SCRATCH && m->buffers[j].kind == b->kind && m->buffers[j].field == b->field &&
          m->buffers[j].copy == b->copy)
        verify_fail(v, no_loc(), "buffer '%s' is the same copy of the same field", m->buffers[j].name);
  }
}

/* Does following `storage` from array `i` come to an end, staying in the same space? */
static bool is_storage_sound(const Kernel *k, int i) {
  Space space = k->arrays[i].space;
  for (int hops = 0; hops <= k->narrays; hops++) {
    int next = k->arrays[i].storage;
    if (next < 0)
      return next == -1;
    if (next >= k->narrays || k->arrays[next].space != space)
      return false;
    i = next;
  }
  return false;
}

/* One array of `k`: name, type, shape, pads, storage. */
static void check_array(Verifier *v, const Kernel *k, int i) {
  const Array *a = &k->arrays[i];
  int64_t bytes = type_size(a->type);
  if (a->rank < 1 || a->rank > MAX_RANK || a->type == TY_NONE || a->type >= TY_COMPOSITE) {
    verify_fail(v, no_loc(), "array '%s' has rank %d and type %s", a->name, a->rank, type_name(a->type));
    return;
  }
  for (int d = 0; d < a->rank; d++) {
    if (a->shape[d] < 1 || a->pad_lo[d] < 0 || a->pad_hi[d] < 0)
      verify_fail(v, no_loc(), "array '%s' has extent %d and pads %d, %d in dimension %d", a->name, a->shape[d],
                  a->pad_lo[d], a->pad_hi[d], d);
    if (a->shape[d] > 0 && bytes <= INT32_MAX)
      bytes *= a->shape[d];
  }
  if (bytes > INT32_MAX)
    verify_fail(v, no_loc(), "array '%s' takes more than %d bytes", a->name, INT32_MAX);
  if (!is_storage_sound(k, i))
    verify_fail(v, no_loc(), "the storage of array '%s' is no array of the same space, or goes round in a circle",
                a->name);
  for (int j = 0; j < i; j++)
    if (!strcmp(k->arrays[j].name, a->name))
      verify_fail(v, no_loc(), "there are two arrays '%s'", a->name);
}

/* Does a let say what `x` is? What passes have lets compute is theirs to answer for: it is known at launch. */
static bool has_let(const Module *m, Affine x) {
  bool has = false;
  for (int i = 0; i < x.n; i++)
    has = has || !m->scalars[x.t[i].scalar].is_param;
  return has;
}

/* Threads, tile, extents, and what is left out of them. */
static void check_launch(Verifier *v, const Kernel *k) {
  int64_t threads = 1;
  int errors = v->errors;
  for (int d = 0; d < k->rank; d++) {
    if (k->threads[d] < 1 || k->tile[d] < 1)
      verify_fail(v, k->loc, "%d threads and a tile of %d points in dimension %d; both must be at least 1",
                  k->threads[d], k->tile[d], d);
    if (k->threads[d] > 0 && threads <= INT32_MAX)
      threads *= k->threads[d];
    verify_affine(v, k->loc, k->extent[d]);
    int64_t less;
    if (k->leaves_out)
      verify_affine(v, k->loc, k->without[d]);
    if (k->idles) {
      verify_affine(v, k->loc, k->idle_lo[d]);
      verify_affine(v, k->loc, k->idle_hi[d]);
    }
    if (k->over[d] < 0)
      verify_fail(v, k->loc, "blocks at the ends cover %d points more in dimension %d; it must be 0 at least",
                  k->over[d], d);
    if (k->leaves_out && v->errors == errors && !has_let(v->m, k->without[d]) &&
        (!affine_diff(k->extent[d], k->without[d], &less) || less < k->over[d]))
      verify_fail(v, k->loc,
                  "the blocks that are left out in dimension %d may be more than there are: 'without' must be 'covers' "
                  "less a constant",
                  d);
  }
  if (threads > INT32_MAX)
    verify_fail(v, k->loc, "more than %d threads", INT32_MAX);
  int32_t lanes = kernel_lanes(k);
  if (lanes < LEAST_LANES || lanes > MOST_LANES || (lanes & (lanes - 1)))
    verify_fail(v, k->loc, "warps of %d threads; there are warps of %d and of %d, and halves and quarters of %d",
                (int)lanes, WARP_LANES, MOST_LANES, WARP_LANES);
  if (k->steps < 0)
    verify_fail(v, k->loc, "%d steps", k->steps);
}

/* The argument of `k` that is the same thing as `a`, NULL if it has none. */
static const KArg *find_arg(const Kernel *k, const KArg *a) {
  for (int i = 0; i < k->nargs; i++)
    if (k->args[i].kind == a->kind && (a->kind == KARG_STEP || k->args[i].index == a->index))
      return &k->args[i];
  return NULL;
}

/* What argument `a` is called. */
static const char *arg_name(const Verifier *v, const KArg *a) {
  const char *name = a->kind == KARG_STEP     ? "step"
                     : a->kind == KARG_SCALAR ? v->m->scalars[a->index].name
                                              : v->m->buffers[a->index].name;
  static const char *const kinds[] = {"buffer", "scalar", "the"};
  return arena_printf(v->m->arena, "%s %s", kinds[a->kind], name);
}

/* Do the arguments of `k` exist, each once, and hold all that its code uses? */
static void check_args(Verifier *v, const Kernel *k) {
  for (int i = 0; i < k->nargs; i++) {
    const KArg *a = &k->args[i];
    int n = a->kind == KARG_BUFFER ? v->m->nbuffers : a->kind == KARG_SCALAR ? v->m->nscalars : INT32_MAX;
    if (a->kind > KARG_STEP || a->index < 0 || a->index >= n)
      verify_fail(v, k->loc, "argument %d does not exist", i);
    else if (find_arg(k, a) != a)
      verify_fail(v, k->loc, "%s is an argument twice", arg_name(v, a));
  }
  Kernel needed = *k;
  kernel_set_args((Module *)v->m, &needed);
  for (int i = 0; i < needed.nargs; i++) {
    const KArg *need = &needed.args[i], *have = find_arg(k, need);
    if (!have)
      verify_fail(v, k->loc, "it uses %s, which is not among its arguments", arg_name(v, need));
    else if (need->kind == KARG_BUFFER && ((need->reads && !have->reads) || (need->writes && !have->writes)))
      verify_fail(v, k->loc, "it %s %s, but its argument does not say so",
                  need->writes && !have->writes ? "writes" : "reads", arg_name(v, need));
  }
}

/* Does `k` write the buffer that argument `a` is? */
static bool writes_too(const Kernel *k, const KArg *a) {
  const KArg *mine = find_arg(k, a);
  return mine && mine->writes;
}

/* Do `k` and `other` write the same buffers, going by their arguments? */
static bool write_the_same(const Kernel *k, const Kernel *other) {
  for (int i = 0; i < k->nargs + other->nargs; i++) {
    const KArg *a = i < k->nargs ? &k->args[i] : &other->args[i - k->nargs];
    if (a->writes && !(writes_too(k, a) && writes_too(other, a)))
      return false;
  }
  return true;
}

/* The multiples of `k`, and the kernel that is launched where they do not hold. */
static void check_instead(Verifier *v, const Kernel *k) {
  const Module *m = v->m;
  for (int i = 0; i < k->nmultiples; i++) {
    verify_affine(v, k->loc, k->multiples[i].value);
    if (k->multiples[i].of < 1)
      verify_fail(v, k->loc, "a multiple of %lld; must be at least 1", (long long)k->multiples[i].of);
  }
  if (!k->instead)
    return;
  const Kernel *other = k->instead > 0 && k->instead <= m->nkernels ? &m->kernels[k->instead - 1] : NULL;
  if (!other)
    verify_fail(v, k->loc, "there is no kernel number %d to launch instead", k->instead - 1);
  else if (!k->nmultiples)
    verify_fail(v, k->loc, "kernel '%s' would never be launched instead: this one has no multiples", other->name);
  else if (other->nmultiples || other->instead)
    verify_fail(v, k->loc,
                "kernel '%s' is to be launched instead, so it must have no multiples and no 'instead' itself",
                other->name);
  else if (other->steps != k->steps)
    verify_fail(v, k->loc, "kernel '%s', launched instead, makes %d steps, not %d", other->name, other->steps,
                k->steps);
  else if (!write_the_same(k, other))
    verify_fail(v, k->loc, "kernel '%s', launched instead, does not write the same buffers", other->name);
}

static void check_kernel(Verifier *v, int i) {
  const Kernel *k = &v->m->kernels[i];
  int errors = v->errors;
  set_where(v, k->loc, "kernel", k->name);
  v->k = k;
  v->context = CONTEXT_KERNEL;
  if (module_find_kernel(v->m, k->name) != i)
    verify_fail(v, k->loc, "the name is taken by another kernel");
  if (k->rank != v->m->grid.rank) {
    verify_fail(v, k->loc, "rank %d, but the grid has rank %d", k->rank, v->m->grid.rank);
    return;
  }
  check_launch(v, k);
  for (int j = 0; j < k->narrays; j++)
    check_array(v, k, j);
  verify_body(v, k->body, "a kernel", 0, NULL);
  if (v->errors == errors)
    check_args(v, k);
  check_instead(v, k);
  v->k = NULL;
}

/* ---- the host part */

static void check_host(Verifier *v) {
  const Host *h = &v->m->host;
  set_where(v, no_loc(), "host", NULL);
  if (h->init.steps)
    verify_fail(v, no_loc(), "init makes %d steps, must be 0", h->init.steps);
  if (h->once.steps)
    verify_fail(v, no_loc(), "once makes %d steps, must be 0", h->once.steps);
  check_sequence(v, &h->init);
  check_sequence(v, &h->once);
  for (int i = 0; i < h->nseqs; i++) {
    if (i && h->seqs[i].steps >= h->seqs[i - 1].steps)
      verify_fail(v, no_loc(), "the sequences must come by falling steps, but %d follows %d", h->seqs[i].steps,
                  h->seqs[i - 1].steps);
    check_sequence(v, &h->seqs[i]);
  }
  if (!h->nseqs || h->seqs[h->nseqs - 1].steps != 1)
    verify_fail(v, no_loc(), "the last sequence must make 1 step, so that every number of steps can be made");
}

static void check_kernel_ir(Verifier *v) {
  const Module *m = v->m;
  set_where(v, no_loc(), "module", m->name);
  if (m->ninits || m->nstencils)
    verify_fail(v, no_loc(), "a kernel module has no stencils");
  int errors = v->errors;
  check_buffers(v);
  for (int i = 0; i < m->nkernels && v->errors == errors; i++)
    check_kernel(v, i);
  check_host(v);
}

bool module_verify(const Module *m, Diags *d) {
  Verifier v = {.m = m, .d = d, .where = ""};
  check_scalars(&v);
  check_grid(&v);
  if (v.errors)
    return false;
  check_composites(&v);
  check_param_arrays(&v);
  if (v.errors)
    return false;
  check_fields(&v);
  check_part(&v);
  check_records(&v);
  if (v.errors)
    return false;
  if (m->level == LEVEL_KIR)
    check_kernel_ir(&v);
  else if (m->level == LEVEL_SIR)
    check_stencil_ir(&v);
  else
    verify_fail(&v, no_loc(), "module '%s' is of no level", m->name);
  if (!v.errors)
    check_reductions(&v);
  if (!v.errors)
    check_lists(&v);
  if (!v.errors)
    check_probes(&v);
  return v.errors == 0;
}
