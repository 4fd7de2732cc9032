/* ir/verify/verify.c: the rules of both IRs; in this file those of stencils, reductions, lists of points and probes.
 * Whether accesses stay within their fields is checked by the front end. */
#include "ir/schedule.h"
#include "ir/verify/verify.h"

#include <string.h>

/* Does the list contain `x`? */
static bool holds(int n, const int32_t *list, int32_t x) {
  for (int i = 0; i < n; i++)
    if (list[i] == x)
      return true;
  return false;
}

/* Checks that the targets are fields, each once, and not input (unless `init`). */
static bool check_targets(Verifier *v, Loc at, int n, const int32_t *targets, bool init) {
  int errors = v->errors;
  for (int i = 0; i < n; i++) {
    if (targets[i] < 0 || targets[i] >= v->m->nfields)
      verify_fail(v, at, "target %d is field number %d, which does not exist", i, targets[i]);
    else if (holds(i, targets, targets[i]))
      verify_fail(v, at, "field '%s' is a target twice", v->m->fields[targets[i]].name);
    else if (v->m->fields[targets[i]].input && !init)
      verify_fail(v, at, "field '%s' is input and cannot be a target", v->m->fields[targets[i]].name);
    else if (field_lacks_any(&v->m->fields[targets[i]]) && !init)
      verify_fail(v, at, "field '%s' does not have all dimensions and cannot be a target",
                  v->m->fields[targets[i]].name);
  }
  return v->errors == errors;
}

/* Is the box empty for all params? */
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
  verify_at(v, st->loc, init ? "init" : "stencil", st->name);
  v->context = CONTEXT_PIECE;
  int errors = v->errors;
  if (!verify_order(v, st) || !check_targets(v, st->loc, st->ntargets, st->targets, init))
    return;
  v->stencil = st;
  for (int i = 0; i < st->npieces; i++)
    check_piece(v, st, &st->pieces[i], init);
  v->stencil = NULL;
  if (v->errors == errors)
    verify_layers(v, st);
  if (st->level < 0 || st->level >= (init ? 1 : v->m->time_tile))
    verify_fail(v, st->loc, "level %d is outside the time tile of %d", st->level, init ? 1 : v->m->time_tile);
  if (st->every < 0 || (init && st->every))
    verify_fail(v, st->loc, "it runs every %lld steps", (long long)st->every);
  for (int d = 0; d < v->m->grid.rank && st->has_extent; d++)
    if (st->extent.lo[d] > MAX_OFFSET || st->extent.lo[d] < -MAX_OFFSET || st->extent.hi[d] > MAX_OFFSET ||
        st->extent.hi[d] < -MAX_OFFSET)
      verify_fail(v, st->loc, "the extent is out of range in dimension %d", d);
}

/* The state of the check of init number `init`, which is `once`. */
typedef struct Once {
  Verifier *v;
  int init;
} Once;

/* Reports an `op` of a `once` init that reads values which steps change, or which are not computed before it: a second
 * run of the init would give another result (a block_walk callback). */
static void check_unchanging(void *user, Op *op) {
  const Once *once = user;
  Verifier *v = once->v;
  const Module *m = v->m;
  bool changes =
      op->code == OP_STEP || op->code == OP_ELEMENT || (op->code == OP_SCALAR && m->scalars[op->sym].is_reduction);
  if (op_is_scaled(op))
    verify_fail(v, op->loc, "it reads another level of the grid");
  if (op->code == OP_ACCESS) {
    const Field *f = &m->fields[op->sym];
    changes = f->temp || f->derived || f->series || f->history || f->past || f->frames;
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

/* Checks that a `once` init stands after the other inits, reads only what no step changes, and that nothing else writes
 * its targets. */
static void check_once(Verifier *v, int n) {
  const Module *m = v->m;
  const Stencil *st = &m->inits[n];
  verify_at(v, st->loc, "once", st->name);
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

/* Checks that groups count from 0 within each level, without gaps. */
static void check_groups(Verifier *v) {
  for (int i = 0; i < v->m->nstencils; i++) {
    const Stencil *st = &v->m->stencils[i], *before = i && st[-1].level == st->level ? st - 1 : NULL;
    if (before ? st->group < before->group || st->group > before->group + 1 : st->group != 0)
      verify_fail(v, st->loc, "stencil '%s' is in group %d, which does not follow the one before it", st->name,
                  st->group);
  }
}

/* Checks a reduction without its code. */
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
  if (r->each &&
      (m->grid.rank < 2 || r->kind > REDUCE_UNTIL || r->loop ||
       (!m->part && !(affine_equal(r->over.lo[0], m->grid.lo[0]) && affine_equal(r->over.hi[0], m->grid.hi[0])))))
    verify_fail(v, r->loc,
                "values for each coordinate of dimension 0 are of steps, over all of that dimension and of "
                "another one");
  if (!r->stop != (r->kind != REDUCE_UNTIL))
    verify_fail(v, r->loc, "an until, and nothing else, has a stop condition");
}

/* Checks that the body of a reduction reads no temp fields, which have no values between steps. */
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
    verify_at(v, r->loc, "reduction", r->name);
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
      verify_sequence(v, &r->seq);
      if (r->body || r->result < 0 || r->result >= v->m->nbuffers || v->m->buffers[r->result].kind != BUFFER_SCRATCH ||
          buffer_type(v->m, r->result) != r->type || v->m->buffers[r->result].each != r->each)
        verify_fail(v, r->loc, "it needs a scratch buffer of its type for its result, and no body");
    }
  }
}

/* Checks that the field or array for a list of points (`exists`) has the right type and flag. */
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

/* Checks lists of points: their arrays are integers and equally long. */
static void check_lists(Verifier *v) {
  const Module *m = v->m;
  for (int i = 0; i < m->nlists; i++) {
    const PointList *l = &m->lists[i];
    const ParamArray *first = NULL;
    Affine counted = affine_const(0);
    int numbers = 0;
    verify_at(v, l->loc, "list of points", l->name);
    verify_box(v, l->loc, &l->box, m->grid.rank);
    for (int d = 0; d < m->grid.rank; d++) {
      const ParamArray *a = l->array[d] >= 0 && l->array[d] < m->nparam_arrays ? &m->param_arrays[l->array[d]] : NULL;
      if (l->array[d] == LIST_NUMBER) {
        counted = box_extent(m->arena, &l->box, d);
        numbers++;
      }
      if (!a && l->array[d] != -1 && l->array[d] != LIST_NUMBER)
        verify_fail(v, l->loc, "there is no launch-time array number %d", l->array[d]);
      else if (!a)
        verify_affine(v, l->loc, l->at[d]);
      else if (!type_is_int(a->type) || a->role != ARRAY_GIVEN)
        verify_fail(v, l->loc, "'%s' is no array of integers that is given", a->name);
      else if (first && !affine_equal(first->extent, a->extent))
        verify_fail(v, l->loc, "'%s' and '%s' are not of one length", first->name, a->name);
      first = first ? first : a;
    }
    if (numbers > 1 || (first ? numbers && !affine_equal(first->extent, counted) : !numbers))
      verify_fail(v, l->loc, "it has neither an array nor one number, or not as many of the one as of the other");
    if (module_find_list(m, l->name) != i || l->most < 0)
      verify_fail(v, l->loc, "its name is taken, or most is %d", l->most);
    check_derived(v, l);
  }
}

/* Checks probes; in kernel IR they have launches in place of a body. */
static void check_probes(Verifier *v) {
  const Module *m = v->m;
  for (int i = 0; i < m->nprobes; i++) {
    const Probe *p = &m->probes[i];
    int errors = v->errors;
    verify_at(v, p->loc, "probe", p->name);
    verify_type(v, p->type);
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
      verify_sequence(v, &p->seq);
    else
      verify_body(v, p->body, "the probe", 1, &p->type);
    if (v->errors == errors && p->body)
      check_no_temps(v, p->body);
  }
}

static void check_stencil_ir(Verifier *v) {
  const Module *m = v->m;
  verify_at(v, no_loc(), "module", m->name);
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

bool module_verify(const Module *m, Diags *d) {
  Verifier v = {.m = m, .d = d, .where = ""};
  if (!verify_declared(&v))
    return false;
  if (m->level == LEVEL_KIR)
    verify_kernel_ir(&v);
  else if (m->level == LEVEL_SIR)
    check_stencil_ir(&v);
  else
    verify_fail(&v, no_loc(), "module '%s' is of no level", m->name);
  if (!v.errors)
    verify_updates(&v);
  if (!v.errors && m->level == LEVEL_SIR)
    verify_repeats(&v);
  if (!v.errors)
    check_reductions(&v);
  if (!v.errors)
    check_lists(&v);
  if (!v.errors)
    check_probes(&v);
  if (!v.errors)
    verify_losses(&v);
  return v.errors == 0;
}
