/* check-bounds.c: detects indices of launch-time arrays that are out of range (-fcheck=bounds). The index is clamped,
 * so a wrong index does not damage memory; without this pass nobody would notice it.
 *
 * The pass computes bounds of every index from the regions: of constants, params, grid coordinates, `step` (at least
 * 0), sums, multiples, `min`, `max`, and `%` by a constant. An index within the array by these bounds needs no check.
 * An element that a `select` discards does not count if that is its only use: `if step < n then src[step] else 0` is
 * valid.
 *
 * Each stencil with another index gets a hidden i64 target, the field `bounds.STENCIL` on the grid (for an init,
 * without the dimensions that its targets lack). Its value is INT64_MAX at first (init `bounds`). If an index is out of
 * range, the stencil stores the step's number, unless an earlier number is there. After each step a reduction of kind
 * `bounds` takes the smallest value, so a time tile has one step. Inits store -1, which is read once. A reduction with
 * an index to check gets a second reduction, `bounds.REDUCTION`.
 *
 * This pass and check-finite come first, before `scalarize`, and run for the reference, too. */
#include "passes/launch/launch.h"
#include "passes/registry.h"

/* Bounds of an integer value, as affine expressions, both inclusive. */
typedef struct Interval {
  bool has_lo, has_hi;
  Affine lo, hi;
} Interval;

/* Ways to bound values; each may prove what the others do not. BY_GRID: the lower bound of a coordinate is that of the
 * grid, which contains the region, instead of that of the region. BY_SECOND: if the operands of a minimum or maximum
 * cannot be compared, the second one gives the bound instead of the first. */
enum { BY_GRID = 1, BY_SECOND = 2, WAYS = 4 };

/* The analysis of a body: its region; the bounds of its values by Value.id, for each way; the number of uses of each
 * value, and the last user. */
typedef struct Body {
  Module *m;
  const Box *box;
  Interval *known[WAYS];
  int32_t *uses;
  Op **user;
} Body;

/* ---- where an index lies */

static Interval exactly(Affine x) { return (Interval){true, true, x, x}; }

/* Is `x` a constant? It goes to *out. */
static bool is_constant(const Interval *x, int64_t *out) {
  *out = x->lo.c;
  return x->has_lo && x->has_hi && !x->lo.n && affine_equal(x->lo, x->hi);
}

/* The bound of the smaller (`sign` 1) or larger (-1) of x and y in *out; false if they cannot be compared. */
static bool lesser(Affine x, Affine y, int sign, Affine *out) {
  int64_t d;
  bool ok = affine_diff(x, y, &d);
  *out = ok && (sign > 0 ? d <= 0 : d >= 0) ? x : y;
  return ok;
}

/* x + y. */
static Interval sum(Arena *a, Interval x, Interval y) {
  Interval r = {.has_lo = x.has_lo && y.has_lo, .has_hi = x.has_hi && y.has_hi};
  if (r.has_lo)
    r.lo = affine_add(a, x.lo, y.lo);
  if (r.has_hi)
    r.hi = affine_add(a, x.hi, y.hi);
  return r;
}

/* k * x. */
static Interval scaled(Arena *a, Interval x, int64_t k) {
  Interval r = {.has_lo = k < 0 ? x.has_hi : x.has_lo, .has_hi = k < 0 ? x.has_lo : x.has_hi};
  if (k > 1 << 20 || k < -(1 << 20))
    return (Interval){0};
  if (r.has_lo)
    r.lo = affine_scale(a, k < 0 ? x.hi : x.lo, k);
  if (r.has_hi)
    r.hi = affine_scale(a, k < 0 ? x.lo : x.hi, k);
  return r;
}

/* min(x, y) (`sign` 1) or max(x, y) (-1). If bounds cannot be compared, those of x hold, or those of y if `second`. */
static Interval extreme(Interval x, Interval y, int sign, bool second) {
  Interval r = {0};
  bool both_lo = x.has_lo && y.has_lo && lesser(x.lo, y.lo, sign, &r.lo),
       both_hi = x.has_hi && y.has_hi && lesser(x.hi, y.hi, sign, &r.hi);
  r.has_lo = both_lo || (sign < 0 && (x.has_lo || y.has_lo));
  r.has_hi = both_hi || (sign > 0 && (x.has_hi || y.has_hi));
  if (!both_lo)
    r.lo = x.has_lo && !(second && y.has_lo) ? x.lo : y.lo;
  if (!both_hi)
    r.hi = x.has_hi && !(second && y.has_hi) ? x.hi : y.hi;
  return r;
}

/* A value that is x or y. */
static Interval either(Interval x, Interval y) {
  Interval r = {0};
  r.has_lo = x.has_lo && y.has_lo && lesser(x.lo, y.lo, 1, &r.lo);
  r.has_hi = x.has_hi && y.has_hi && lesser(x.hi, y.hi, -1, &r.hi);
  return r;
}

/* x % y: known for a constant y > 0 and x >= 0. */
static Interval remainder_of(Interval x, Interval y) {
  int64_t k;
  if (!is_constant(&y, &k) || k < 1 || !x.has_lo || x.lo.n || x.lo.c < 0)
    return (Interval){0};
  return (Interval){true, true, affine_const(0), affine_const(k - 1)};
}

/* x * y: known if one of them is a constant. */
static Interval product(Arena *a, Interval x, Interval y) {
  int64_t k;
  return is_constant(&x, &k) ? scaled(a, y, k) : is_constant(&y, &k) ? scaled(a, x, k) : (Interval){0};
}

/* The bounds of the result of `op`, of type i64, by `way`. */
static Interval interval_of(const Body *y, const Op *op, int way) {
  Arena *a = y->m->arena;
  Interval in[3] = {{0}};
  for (int i = 0; i < op->noperands && i < 3; i++)
    in[i] = y->known[way][op->operands[i]->id];
  switch (op->code) {
  case OP_CONST: return exactly(affine_const(op->cval.i));
  case OP_SCALAR: return y->m->scalars[op->sym].is_reduction ? (Interval){0} : exactly(affine_scalar(a, op->sym));
  case OP_INDEX:
    return (Interval){true, true, (way & BY_GRID ? &y->m->grid : y->box)->lo[op->sym], y->box->hi[op->sym]};
  case OP_STEP: return (Interval){.has_lo = true, .lo = affine_const(0)};
  case OP_ADD: return sum(a, in[0], in[1]);
  case OP_SUB: return sum(a, in[0], scaled(a, in[1], -1));
  case OP_NEG: return scaled(a, in[0], -1);
  case OP_MUL: return product(a, in[0], in[1]);
  case OP_REM: return remainder_of(in[0], in[1]);
  case OP_MIN: return extreme(in[0], in[1], 1, way & BY_SECOND);
  case OP_MAX: return extreme(in[0], in[1], -1, way & BY_SECOND);
  case OP_SELECT: return either(in[1], in[2]);
  default: return (Interval){0};
  }
}

/* Analyses all values of `b`, which are numbered, on `box`. */
static Body look_at(Module *m, const Block *b, const Box *box) {
  int n = 0;
  for (const Op *op = b->first; op; op = op->next)
    n += op->nresults;
  Body y = {.m = m,
            .box = box,
            .uses = ARENA_ARRAY(m->arena, int32_t, n + 1),
            .user = ARENA_ARRAY(m->arena, Op *, n + 1)};
  for (int way = 0; way < WAYS; way++)
    y.known[way] = ARENA_ARRAY(m->arena, Interval, n + 1);
  for (Op *op = b->first; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++) {
      y.uses[op->operands[i]->id]++;
      y.user[op->operands[i]->id] = op;
    }
    for (int way = 0; way < WAYS && op->nresults && op->results[0]->type == TY_I64; way++)
      y.known[way][op->results[0]->id] = interval_of(&y, op, way);
  }
  return y;
}

/* If `v` is an index clamped in the way of the front end, min(max(INDEX, 0), LAST), the value INDEX, else NULL. */
static Value *clamped(const Value *v) {
  const Op *min = v->def, *max = min && min->code == OP_MIN ? min->operands[0]->def : NULL;
  const Op *zero = max && max->code == OP_MAX ? max->operands[1]->def : NULL;
  return zero && zero->code == OP_CONST && zero->cval.i == 0 ? max->operands[0] : NULL;
}

/* May the index `v` be outside of [0, extent)? */
static bool may_be_out(const Body *y, const Value *v, Affine extent) {
  bool low = false, high = false;
  for (int way = 0; way < WAYS; way++) {
    const Interval *x = &y->known[way][v->id];
    int64_t room;
    low = low || (x->has_lo && !x->lo.n && x->lo.c >= 0);
    high = high || (x->has_hi && affine_diff(extent, x->hi, &room) && room >= 1);
  }
  return !(low && high);
}

/* The upper limit LAST of the clamped index `v`, in *out; false if it is not known. */
static bool last_of(const Body *y, const Value *v, Affine *out) {
  const Interval *last = &y->known[0][v->def->operands[1]->id];
  *out = last->hi;
  return last->has_hi;
}

/* May the index `v`, which is clamped to `part`, be out of range? */
static bool side_may_be_out(const Body *y, const Value *part, const Value *v) {
  Affine last, own;
  if (clamped(v) && v->def->operands[1] == part->def->operands[1])
    return false;
  if (!last_of(y, part, &last))
    return true;
  bool as_in_lookup = clamped(v) && last_of(y, v, &own) && affine_equal(own, last); /* there is a row */
  return !as_in_lookup && may_be_out(y, v, affine_add_const(last, 1));
}

/* For the element `op` of an array of two indices, whose index the front end writes as ROW * COLUMNS + COLUMN: the
 * clamped row and column in part[2], their values before clamping in asked[2]. Returns how many there are; an index
 * without a clamp, which is always in range, is not among them. */
static int sides_of(const Op *op, Value *part[2], Value *asked[2]) {
  const Op *sum = op->operands[0]->def, *row = sum && sum->code == OP_ADD ? sum->operands[0]->def : NULL;
  Value *both[] = {row && row->code == OP_MUL ? row->operands[0] : NULL, row ? sum->operands[1] : NULL};
  int n = 0;
  for (int i = 0; i < 2; i++)
    if (both[i] && (asked[n] = clamped(both[i])))
      part[n++] = both[i];
  return n;
}

/* Is `op` an element with an index that may be out of range (a doubtful element)? */
static bool is_doubtful(const Body *y, const Op *op) {
  Value *part[2], *asked[2];
  if (op->code != OP_ELEMENT)
    return false;
  const ParamArray *a = &y->m->param_arrays[op->sym];
  int n = array_has_rows(a) ? sides_of(op, part, asked) : 0;
  for (int i = 0; i < n; i++)
    if (side_may_be_out(y, part[i], asked[i]))
      return true;
  return !n && may_be_out(y, op->operands[0], a->extent);
}

/* Builds the test that an index of the doubtful element `op` is out of range. Of two indices, one is if clamping
 * changes it. */
static Value *is_out(Module *m, Builder *b, const Op *op) {
  const ParamArray *a = &m->param_arrays[op->sym];
  Value *part[2], *asked[2], *out = NULL, *index = op->operands[0];
  int n = array_has_rows(a) ? sides_of(op, part, asked) : 0;
  for (int i = 0; i < n; i++) {
    Value *differs = build2(b, OP_NE, asked[i], part[i]);
    out = out ? build2(b, OP_OR, out, differs) : differs;
  }
  if (out)
    return out;
  Value *below = build2(b, OP_LT, index, build_int(b, TY_I64, 0));
  return build2(b, OP_OR, below, build2(b, OP_GE, index, build_affine(b, m, a->extent)));
}

/* The first doubtful op of `b` on `box`, NULL if there is none. */
static const Op *first_doubtful(Module *m, const Block *b, const Box *box) {
  Body y = look_at(m, b, box);
  for (const Op *op = b->first; op; op = op->next)
    if (is_doubtful(&y, op))
      return op;
  return NULL;
}

/* ---- the test */

/* `x` and `y`; either may be NULL. */
static Value *both(Builder *b, Value *x, Value *y) { return !x ? y : !y ? x : build2(b, OP_AND, x, y); }

/* Builds the condition under which the value of `op` matters: while a value has one use, the conditions of the selects
 * that pass it on. NULL: always. */
static Value *matters(const Body *y, Builder *b, const Op *op) {
  Value *when = NULL;
  while (op->nresults == 1 && y->uses[op->results[0]->id] == 1) {
    const Value *v = op->results[0];
    op = y->user[v->id];
    if (op->code == OP_SELECT && op->operands[1] == v)
      when = both(b, when, op->operands[0]);
    else if (op->code == OP_SELECT && op->operands[2] == v)
      when = both(b, when, build1(b, OP_NOT, op->operands[0]));
  }
  return when;
}

/* Builds, before the yield of `body`, the test that an index of the body on `box` is out of range at the point; NULL if
 * none can be. */
static Value *any_bad(Module *m, Block *body, const Box *box) {
  Body y = look_at(m, body, box);
  Builder b = builder_before(m->arena, body->last);
  Value *bad = NULL;
  for (Op *op = body->first, *last = body->last->prev; op; op = op == last ? NULL : op->next) {
    if (!is_doubtful(&y, op))
      continue;
    Value *out = is_out(m, &b, op);
    out = both(&b, out, matters(&y, &b, op));
    bad = bad ? build2(&b, OP_OR, bad, out) : out;
  }
  return bad;
}

/* ---- stencils */

/* Adds a hidden field for the indices of `st`, on the grid, without the dimensions that the targets of an init lack. */
static int add_field(Module *m, const Stencil *st) {
  const char *name = arena_printf(m->arena, "bounds.%s", st->name);
  for (int k = 2; module_find_field(m, name) >= 0; k++)
    name = arena_printf(m->arena, "bounds.%s.%d", st->name, k);
  Field f = {.name = name, .type = TY_I64, .box = m->grid, .loc = st->loc};
  for (int d = 0; d < m->grid.rank; d++)
    if (field_lacks(&m->fields[st->targets[0]], d))
      field_leave_out(&f, d);
  ARENA_PUSH(m->arena, m->fields, m->nfields, f);
  return m->nfields - 1;
}

/* Makes the piece store to `field` at points where one of its indices is out of range: in an init -1, else the step's
 * number, unless an earlier one is there. */
static void note_bad(Module *m, Piece *p, int field, bool init) {
  static const int64_t here[MAX_RANK];
  Value *bad = any_bad(m, p->body, &p->box);
  if (!bad)
    return;
  Op *yield = p->body->last;
  Builder b = builder_before(m->arena, yield);
  b.loc = yield->loc;
  Value *old = build_access(&b, TY_I64, field, here, m->grid.rank),
        *now = init ? build_int(&b, TY_I64, -1) : build2(&b, OP_MIN, old, build_step(&b));
  Value **values = ARENA_ARRAY(m->arena, Value *, p->ntargets + 1);
  int32_t *targets = ARENA_ARRAY(m->arena, int32_t, p->ntargets + 1);
  for (int i = 0; i < p->ntargets; i++) {
    values[i] = yield->operands[i];
    targets[i] = p->targets[i];
  }
  values[p->ntargets] = build3(&b, OP_SELECT, bad, now, old);
  targets[p->ntargets] = field;
  build_yield(&b, p->ntargets + 1, values);
  op_unlink(yield);
  p->targets = targets;
  p->ntargets++;
}

/* A reduction of kind REDUCE_BOUNDS over `over`, for the op at `loc`, with an empty body. */
static Reduction new_check(Module *m, const char *name, Loc loc, const Box *over, int field, int64_t every) {
  return (Reduction){.name = name,
                     .kind = REDUCE_BOUNDS,
                     .op = OP_MIN,
                     .type = TY_I64,
                     .over = *over,
                     .every = every,
                     .field = field,
                     .result = -1,
                     .loc = loc,
                     .body = block_new(m->arena, NULL)};
}

/* Adds the check to the stencil or init `st`; false if it needs none. */
static bool check_stencil(Module *m, Stencil *st, bool init, Reduction *out) {
  static const int64_t here[MAX_RANK];
  const Op *doubtful = NULL;
  for (int i = 0; i < st->npieces && !doubtful; i++)
    doubtful = first_doubtful(m, st->pieces[i].body, &st->pieces[i].box);
  if (!doubtful)
    return false;
  int field = add_field(m, st);
  *out = new_check(m, m->fields[field].name, doubtful->loc, &m->grid, field, init ? INT64_MAX : 1);
  for (int i = 0; i < st->npieces; i++)
    note_bad(m, &st->pieces[i], field, init);
  int32_t *targets = ARENA_ARRAY(m->arena, int32_t, st->ntargets + 1);
  for (int i = 0; i < st->ntargets; i++)
    targets[i] = st->targets[i];
  targets[st->ntargets++] = field;
  st->targets = targets;
  Builder b = builder_at_end(m->arena, out->body);
  b.loc = out->loc;
  Value *v = build_access(&b, TY_I64, field, here, m->grid.rank);
  build_yield(&b, 1, &v);
  return true;
}

/* An init that sets to INT64_MAX the fields from number `first` on that lack the same dimensions as field `first`. */
static Stencil init_like(Module *m, int first) {
  Stencil st = {.name = "bounds",
                .targets = ARENA_ARRAY(m->arena, int32_t, m->nfields),
                .npieces = 1,
                .pieces = ARENA_NEW(m->arena, Piece)};
  Block *body = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, body);
  Value *well = build_int(&b, TY_I64, INT64_MAX), **values = ARENA_ARRAY(m->arena, Value *, m->nfields);
  for (int f = first; f < m->nfields; f++)
    if (field_lacks_same(&m->fields[f], &m->fields[first])) {
      values[st.ntargets] = well;
      st.targets[st.ntargets++] = f;
    }
  build_yield(&b, st.ntargets, values);
  st.pieces[0] = (Piece){.box = m->fields[first].box, .ntargets = st.ntargets, .targets = st.targets, .body = body};
  return st;
}

/* Adds inits, before all others, that set the fields from `first` on to INT64_MAX. */
static void add_inits(Module *m, int first) {
  Stencil *inits = NULL;
  int32_t n = 0;
  for (int f = first; f < m->nfields; f++) {
    bool done = false;
    for (int g = first; g < f; g++)
      done = done || field_lacks_same(&m->fields[g], &m->fields[f]);
    if (!done)
      ARENA_PUSH(m->arena, inits, n, init_like(m, f));
  }
  for (int i = 0; i < m->ninits; i++)
    ARENA_PUSH(m->arena, inits, n, m->inits[i]);
  m->inits = inits;
  m->ninits = n;
}

/* Makes the check of the indices in reduction `r`; false if it needs none. */
static bool check_reduction(Module *m, const Reduction *r, Reduction *out) {
  const Op *doubtful = first_doubtful(m, r->body, &r->over);
  if (!doubtful || !m->nfields)
    return false;
  *out = new_check(m, arena_printf(m->arena, "bounds.%s", r->name), doubtful->loc, &r->over, 0, r->every);
  out->body = block_clone(m->arena, r->body, NULL, NULL);
  Value *bad = any_bad(m, out->body, &r->over);
  Op *yield = out->body->last;
  Builder b = builder_before(m->arena, yield);
  b.loc = doubtful->loc;
  Value *step = build_step(&b), *v = build3(&b, OP_SELECT, bad, step, build_int(&b, TY_I64, INT64_MAX));
  build_yield(&b, 1, &v);
  op_unlink(yield);
  return true;
}

/* The pass. */
Module *pass_check_bounds(PassContext *c, Module *m, int n, const PassOption *o) {
  int32_t count = 0, first = m->nfields;
  Reduction *checks = NULL, r;
  (void)n, (void)o;
  module_renumber(m);
  for (int i = 0; i < m->ninits; i++)
    if (check_stencil(m, &m->inits[i], true, &r))
      ARENA_PUSH(m->arena, checks, count, r);
  for (int i = 0; i < m->nstencils; i++)
    if (check_stencil(m, &m->stencils[i], false, &r))
      ARENA_PUSH(m->arena, checks, count, r);
  for (int i = 0; i < m->nreductions; i++)
    if (check_reduction(m, &m->reductions[i], &r))
      ARENA_PUSH(m->arena, checks, count, r);
  if (m->nfields > first)
    add_inits(m, first);
  module_put_first(m, count, checks);
  pass_stat(c, count, "check-bounds", "stencils, inits and reductions checked");
  return m;
}
