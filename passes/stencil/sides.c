/* sides.c: expresses rules for single edges (sides) of a field as choices by the coordinate.
 *
 *     field p outside [mirror odd .. 0]     ->     field p outside clamp
 *     p[-1]                                 ->     if idx(0) - 1 < 0 then -p[-1] (mirrored) else p[-1]
 *
 * An access itself reads the value to which one rule for the dimension leads, as all lowerings support it. A select
 * then gives the value that an access beyond an edge has: the negative value, twice a number minus the value, or a
 * constant. Offsets and regions show which edges an access may leave; others cost nothing. If two sides have different
 * constants, or a constant stands beside a sign, the constants are selected last, and the access clamps there. The pass
 * marks the field's rules as `apart`; the reference supports rules for sides directly.
 *
 * A mirrored access that changes more than the point must come back into the region at once. A launch check ensures
 * that; the front end has made it, or this pass makes it for IR without one. */
#include "passes/launch/launch.h"
#include "passes/registry.h"

/* The state of the pass on one body, for the points of `box`. */
typedef struct Writing {
  PassContext *c;
  Module *m;
  const Box *box;
  Block *body;
  int64_t n;
} Writing;

/* May the access `op` leave its field beyond side `s`? */
static bool leaves(const Writing *w, const Op *op, int s) {
  return op_is_scaled(op) ? scaled_leaves(w->m, w->box, op, s / 2, s % 2)
                          : access_leaves(w->m, w->box, op->sym, op->off, s / 2, s % 2);
}

/* May the access `op` leave its field beyond side `s`, and does the side's rule change the value? */
static bool is_changed(const Writing *w, const Op *op, int s) {
  const Field *f = &w->m->fields[op->sym];
  const Side *side = &f->sides[s];
  bool changes = side->odd || (side->rule == OUTSIDE_CONST && f->outside[s / 2] != OUTSIDE_CONST);
  return changes && leaves(w, op, s);
}

/* Builds the test that the access `op` reaches beyond side `s`. */
static Value *is_beyond(Builder *b, const Module *m, const Op *op, int s) {
  const Field *f = &m->fields[op->sym];
  int d = s / 2;
  Value *at = build_dim(b, OP_INDEX, d);
  if (op_is_scaled(op) && dimension_has_levels(m, d))
    at = build2(b, op->code == OP_FINE ? OP_SHL : OP_SHR, at, build_int(b, TY_I64, 1));
  at = build2(b, OP_ADD, at, build_int(b, TY_I64, op->off[d]));
  return build2(b, s % 2 ? OP_GT : OP_LT, at, build_affine(b, m, s % 2 ? f->box.hi[d] : f->box.lo[d]));
}

/* Builds the value that `v`, read from field `f`, has beyond the odd side `s`. */
static Value *across(Builder *b, const Module *m, const Field *f, const Side *s, Value *v) {
  Type as = odd_type(f->type);
  Value *x = build_convert(b, as, v), *about = NULL;
  if (s->about)
    about = build_convert(b, f->type, build_scalar(b, m->scalars[s->about - 1].type, s->about - 1));
  else if (s->is_about)
    about = build_const(b, f->type, s->value);
  about = about ? build_convert(b, as, about) : NULL;
  x = about ? build2(b, OP_SUB, build2(b, OP_ADD, about, about), x) : build1(b, OP_NEG, x);
  return build_convert(b, f->type, x);
}

/* Has box `b` points? 1: yes; 0: never; -1: params decide. */
static int has_points(const Box *b) {
  int points = 1;
  int64_t length;
  for (int d = 0; d < b->rank; d++)
    if (!affine_diff(b->hi[d], b->lo[d], &length))
      points = points ? -1 : 0;
    else if (length < 0)
      points = 0;
  return points;
}

/* Does check `k` apply whenever there are points in `box`? */
static bool is_of_all(const Check *k, const Box *box) {
  const Box *const *unless = k->unless_empty;
  return !k->covered && (!unless[0] || (!unless[1] && box_equal(unless[0], box)));
}

/* For a mirrored access that changes more than the point: adds a launch check that it comes back into the region at
 * once, unless there is one. A part has the checks of its grid. False after an error. */
static bool check_once(const Writing *w, const Op *op, int s) {
  const Field *f = &w->m->fields[op->sym];
  int d = s / 2;
  Arena *a = w->m->arena;
  int64_t unit = op->code == OP_COARSE && dimension_has_levels(w->m, d) ? 2 : 1;
  Affine room = op_is_scaled(op) ? scaled_room(w->m, w->box, op, d, s % 2)
                : s % 2          ? affine_sub(a, f->box.hi[d], affine_add_const(w->box->hi[d], op->off[d]))
                                 : affine_sub(a, affine_add_const(w->box->lo[d], op->off[d]), f->box.lo[d]);
  Affine extent = affine_add_const(affine_sub(a, f->box.hi[d], f->box.lo[d]), f->sides[s].rule == OUTSIDE_HALF);
  Affine value = affine_add(a, affine_scale(a, extent, unit), room);
  Box *points = ARENA_NEW(a, Box);
  Check k = {.value = value, .loc = op->loc, .unless_empty = {points}};
  *points = *w->box;
  int64_t more;
  if (w->m->part || !outside_once(f, d, s % 2) || !leaves(w, op, s) || (!value.n && value.c >= 0) ||
      !has_points(points))
    return true;
  for (int i = 0; i < w->m->nchecks; i++)
    if (is_of_all(&w->m->checks[i], points) && affine_diff(value, w->m->checks[i].value, &more) && more >= 0)
      return true;
  k.message = arena_printf(a,
                           "an access goes further beyond the %s end of dimension %d of '%s' than that has points to "
                           "mirror; make its region larger",
                           s % 2 ? "upper" : "lower", shown_dimension(w->m, d), f->name);
  bool never = !value.n && has_points(points) > 0;
  if (never)
    diag_error(w->c->diags, op->loc, "%s", k.message);
  else
    ARENA_PUSH(a, w->m->checks, w->m->nchecks, k);
  return !never;
}

/* Rewrites the access `op`. False after an error. */
static bool write_access(Writing *w, Op *op) {
  const Field *f = &w->m->fields[op->sym];
  int rank = w->m->grid.rank;
  bool any = false, ok = true;
  for (int s = 0; s < 2 * rank; s++) {
    any = any || is_changed(w, op, s);
    ok = ok && check_once(w, op, s);
  }
  if (!any || !ok)
    return ok;
  Builder b = builder_before(w->m->arena, op);
  b.loc = op->loc;
  Value *v = (op->code == OP_FINE     ? build_fine
              : op->code == OP_COARSE ? build_coarse
                                      : build_access)(&b, f->type, op->sym, op->off, rank);
  for (int constant = 0; constant < 2; constant++)
    for (int d = rank - 1; d >= 0; d--)
      for (int s = 2 * d; s < 2 * d + 2; s++) {
        const Side *side = &f->sides[s];
        if ((side->rule == OUTSIDE_CONST) != constant || !is_changed(w, op, s))
          continue;
        Value *there = constant ? build_const(&b, f->type, side->value) : across(&b, w->m, f, side, v);
        v = build3(&b, OP_SELECT, is_beyond(&b, w->m, op, s), there, v);
      }
  block_replace_uses(w->body, op->results[0], v);
  op_unlink(op);
  w->n++;
  return true;
}

/* Rewrites the accesses of `body` at the points of `box`. False after an error. */
static bool write_body(Writing *w, const Box *box, Block *body) {
  w->box = box;
  w->body = body;
  for (Op *op = body ? body->first : NULL, *next; op; op = next) {
    next = op->next;
    bool sides = op_reads_field(op) && w->m->fields[op->sym].sides && !w->m->fields[op->sym].apart;
    if (sides && !write_access(w, op))
      return false;
  }
  return true;
}

/* Rewrites the accesses of `n` stencils. False after an error. */
static bool write_stencils(Writing *w, int n, Stencil *st) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < st[i].npieces; k++)
      if (!write_body(w, &st[i].pieces[k].box, st[i].pieces[k].body))
        return false;
  return true;
}

/* Has the module fields with rules for sides? Sets *bad, and reports it, if such a field has a composite type. */
static bool has_sides(PassContext *c, const Module *m, bool *bad) {
  bool any = false;
  *bad = false;
  for (int f = 0; f < m->nfields; f++) {
    bool sides = m->fields[f].sides && !m->fields[f].apart;
    any = any || sides;
    if (sides && type_composite(m, m->fields[f].type)) {
      diag_error(c->diags, m->fields[f].loc, "pass 'sides': field '%s' is a vector or struct; run pass scalarize first",
                 m->fields[f].name);
      *bad = true;
    }
  }
  return any;
}

/* The pass. It leaves a module unchanged whose fields have at most one rule for each dimension. */
Module *pass_sides(PassContext *c, Module *m, int n, const PassOption *o) {
  Writing w = {.c = c, .m = m};
  bool bad;
  (void)n, (void)o;
  if (!has_sides(c, m, &bad) || bad)
    return bad ? NULL : m;
  bool ok = write_stencils(&w, m->ninits, m->inits) && write_stencils(&w, m->nstencils, m->stencils);
  for (int i = 0; i < m->nreductions && ok; i++)
    ok = write_body(&w, &m->reductions[i].over, m->reductions[i].body);
  for (int i = 0; i < m->nprobes && ok; i++)
    ok = write_body(&w, &m->probes[i].box, m->probes[i].body);
  for (int i = 0; i < m->nupdates && ok; i++)
    ok = write_body(&w, &m->updates[i].over, m->updates[i].body);
  for (int f = 0; f < m->nfields; f++)
    m->fields[f].apart = m->fields[f].sides != NULL;
  if (w.n)
    module_renumber(m);
  pass_stat(c, w.n, "sides", "accesses across edges with rules of their own");
  return ok ? m : NULL;
}
