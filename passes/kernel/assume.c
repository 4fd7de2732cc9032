/* assume.c: finds tests and coordinate maps that hold for all points of most tiles, the condition on the block under
 * which they hold, and the ops that stay live under it; see assume.h.
 *
 * An operand of an `inside` or idx.* op is a coordinate of the form
 *
 *     block part + rest + inner part in [least, most]
 *
 * The block part is a sum of multiples of block numbers, the rest a sum of params and constants; the inner part depends
 * on threads and loop counters. The coordinate lies in [lo, hi] for all points of a tile exactly if the block part lies
 * in [lo - rest - least, hi - rest - most]. Bounds on one block part that differ by a constant are merged to the
 * stronger one. So the condition `interior` is a few `inside` ops on block parts, usually one, and does not depend on
 * the thread.
 *
 * The analysis visits the body B backwards and keeps the set of ops that are live *under the assumptions made so far*.
 * It assumes a live `inside` if all its coordinates have the form above and earlier assumptions do not contradict its
 * bounds for all params. If the condition of a `select` or `if` is assumed, only its first arm is live. So in the chain
 * `select(inside A, va, select(inside B, vb, old))` the analysis assumes A, and the condition contains neither B nor
 * the maps that only vb needs. It never assumes a box that is narrower than the tile, nor one that has less than a
 * quarter of the kernel's points in some dimension under the default params. An `inside` that the condition denies for
 * all points of the tile is false in the inner version; so that version has no code for layers at the edges. The
 * analysis assumes live idx.* ops in the same way and takes their results as plain sums, so a wrapped coordinate is
 * linear in inner tiles. */
#include "passes/kernel/assume.h"
#include "passes/launch/launch.h"

#include <string.h>

/* No tile is wider than MAX_WIDTH: an interval that is wider is only the range of its type. The analysis gives up on
 * constants beyond MAX_CONST. */
enum { MAX_WIDTH = 1 << 24 };
static const int64_t MAX_CONST = (int64_t)1 << 40;

/* A condition that holds for less than one point in COMMON_SHARE is not assumed. */
enum { COMMON_SHARE = 4 };

typedef enum Decision { UNDECIDED, ASSUMED, KEPT, DENIED } Decision;

/* ---------------------------------------------------------------- conditions */

static bool is_moderate(int64_t x) { return x > -MAX_CONST && x < MAX_CONST; }

/* Adds the bound x to the `*n` bounds at v. If one of them differs from x by a constant, keeps the stronger of the two:
 * the larger one (sign 1) or the smaller one (sign -1). False if there is no room. */
static bool add_bound(Affine *v, int32_t *n, Affine x, int sign) {
  for (int i = 0; i < *n; i++) {
    int64_t diff;
    if (!affine_diff(x, v[i], &diff))
      continue;
    if (sign > 0 ? diff > 0 : diff < 0)
      v[i] = x;
    return true;
  }
  if (*n == MAX_BOUNDS)
    return false;
  v[(*n)++] = x;
  return true;
}

/* The part of `c` with the block coefficients `coef`, added if it is missing; NULL if there is no room. */
static Part *find_part(Condition *c, const int64_t *coef) {
  for (int i = 0; i < c->n; i++) {
    bool same = true;
    for (int d = 0; d < PART_AXES; d++)
      same &= c->part[i].coef[d] == coef[d];
    if (same)
      return &c->part[i];
  }
  if (c->n == MAX_PARTS)
    return NULL;
  Part *p = &c->part[c->n++];
  *p = (Part){0};
  for (int d = 0; d < PART_AXES; d++)
    p->coef[d] = coef[d];
  return p;
}

/* Is `p` independent of the block? Then its u is 0. */
static bool is_blockless(const Part *p) {
  bool any = p->coef[ROUND] != 0;
  for (int d = 0; d < MAX_RANK; d++)
    any |= p->coef[d] != 0;
  return !any;
}

/* Can all bounds of `p` hold at once, as far as constants show? */
static bool part_is_satisfiable(const Part *p) {
  int64_t width;
  for (int i = 0; i < p->nlo; i++)
    for (int j = 0; j < p->nhi; j++)
      if (affine_diff(p->hi[j], p->lo[i], &width) && width < 0)
        return false;
  for (int i = 0; i < p->nlo && is_blockless(p); i++)
    if (p->lo[i].n == 0 && p->lo[i].c > 0)
      return false;
  for (int i = 0; i < p->nhi && is_blockless(p); i++)
    if (p->hi[i].n == 0 && p->hi[i].c < 0)
      return false;
  return true;
}

/* Do many of the kernel's points have coordinate `x` in [lo, hi]: all but a constant number, or at least one in
 * COMMON_SHARE under the default params? True if this is not known, or if several dimensions are in `x`. */
static bool is_common(const Assumptions *s, const Coordinate *x, Affine lo, Affine hi) {
  const Kernel *k = s->ranges->k;
  int d = 0;
  while (d < k->rank && !x->block[d])
    d++;
  for (int e = d + 1; e < PART_AXES; e++)
    if (x->block[e])
      return true;
  int64_t less;
  if (!s->scalars || d == k->rank || affine_diff(k->extent[d], affine_sub(s->arena, hi, lo), &less))
    return true;
  int64_t width = affine_eval(affine_sub(s->arena, hi, lo), s->scalars, NULL) + 1;
  return width >= affine_eval(k->extent[d], s->scalars, NULL) / COMMON_SHARE;
}

/* Adds "x lies in [lo, hi] at all points of the tile" to `c`. False if this contradicts the other parts, if few blocks
 * meet it, or if there is no room. */
static bool require(Assumptions *s, Condition *c, const Coordinate *x, Affine lo, Affine hi) {
  Part *p = find_part(c, x->block);
  return p && is_common(s, x, lo, hi) &&
         add_bound(p->lo, &p->nlo, affine_add_const(affine_sub(s->arena, lo, x->rest), -x->least), 1) &&
         add_bound(p->hi, &p->nhi, affine_add_const(affine_sub(s->arena, hi, x->rest), -x->most), -1) &&
         part_is_satisfiable(p);
}

/* ---------------------------------------------------------------- coordinates */

bool tile_coordinate(Assumptions *s, const Value *v, int64_t off, Coordinate *x) {
  Linear f = linear_of(s->ranges, v), inner = {0, 0, NULL};
  LinearTerm *t = ARENA_ARRAY(s->arena, LinearTerm, f.n + 1);
  *x = (Coordinate){.rest = affine_const(f.c)};
  bool ok = is_moderate(f.c) && is_moderate(off);
  for (int i = 0; i < f.n && ok; i++) {
    Atom a = f.t[i].atom;
    int64_t k = f.t[i].coef;
    ok = is_moderate(k) && (type_size(v->type) == 8 || (a.kind != ATOM_BLOCK && a.kind != ATOM_SCALAR));
    if (a.kind == ATOM_BLOCK)
      x->block[a.index] = k;
    else if (s->loop && a.kind == ATOM_VALUE && a.v == s->loop->blocks[0]->args[0])
      x->block[ROUND] = k;
    else if (a.kind == ATOM_SCALAR)
      x->rest = affine_add(s->arena, x->rest, affine_scale(s->arena, affine_scalar(s->arena, a.index), k));
    else
      t[inner.n++] = f.t[i];
  }
  inner.t = t;
  Interval r = linear_interval(s->ranges, inner);
  if (!ok || !r.known || !is_moderate(r.lo) || !is_moderate(r.hi) || r.hi - r.lo > MAX_WIDTH)
    return false;
  if (type_size(v->type) < 8) {
    Interval value = value_interval(s->ranges, v);
    ok = value.lo == r.lo + f.c && value.hi == r.hi + f.c;
  }
  x->rest = affine_add_const(x->rest, off);
  x->least = r.lo;
  x->most = r.hi;
  x->varies = inner.n > 0 || x->block[ROUND];
  return ok;
}

/* May the condition be about `x`? For a loop: does `x` grow by one with the loop's number, and is it the same for all
 * blocks along the other dimensions? */
static bool is_subject(const Assumptions *s, const Coordinate *x) {
  bool even = !s->loop || x->block[ROUND] == 1;
  for (int d = 1; d < MAX_RANK; d++)
    even = even && (!s->loop || !x->block[d]);
  return even;
}

/* Adds to `c` what the assumption about coordinate `d` of `op` requires. If the coordinate cannot be assumed, returns
 * false and leaves `c` unchanged. Sets *varies if the coordinate differs within the tile. */
static bool require_coordinate(Assumptions *s, Condition *c, const Op *op, int d, bool *varies) {
  Coordinate x;
  Condition with = *c;
  int64_t off = op->code == OP_INSIDE ? 0 : op->off[0];
  if (!tile_coordinate(s, op->operands[d], off, &x) || !is_subject(s, &x) ||
      !require(s, &with, &x, op->box->lo[d], op->box->hi[d]))
    return false;
  *varies |= x.varies;
  *c = with;
  return true;
}

/* Adds to `c` what the assumption about `op` requires (inside: true; idx.*: operand + offset). Returns a bit for each
 * coordinate that can be assumed; for versions of a whole kernel all bits or none. Returns 0 for an inside that is the
 * same for the whole tile anyway. */
static unsigned require_op(Assumptions *s, Condition *c, const Op *op) {
  bool varies = op->code != OP_INSIDE;
  unsigned taken = 0;
  for (int d = 0; d < op->noperands; d++)
    if (require_coordinate(s, c, op, d, &varies))
      taken |= 1u << d;
    else if (!s->loop)
      return 0;
  return varies ? taken : 0;
}

/* Is `op`, a live inside or idx.*, assumed? Decides this at the first call. To analyse the coordinates of `op`, it also
 * decides the idx.* ops in them; in that case it adds the requirements of `op` again, to the condition that now
 * includes those of the idx.* ops. */
static bool assume(Assumptions *s, const Op *op) {
  uint8_t *d = &s->decision[op->results[0]->id];
  if (*d == UNDECIDED && s->loop && !block_is_within(op->parent, s->loop))
    *d = KEPT;
  if (*d != UNDECIDED)
    return *d == ASSUMED;
  *d = KEPT;
  Condition *with = ARENA_NEW(s->arena, Condition), *before;
  unsigned taken, all = (1u << op->noperands) - 1;
  do {
    before = s->condition;
    *with = *before;
    taken = require_op(s, with, op);
  } while (s->condition != before);
  if (taken)
    s->condition = with;
  if (taken == all)
    *d = ASSUMED;
  s->dropped[op->results[0]->id] = (uint8_t)taken;
  *(*d == ASSUMED ? &s->assumed : &s->kept) += 1;
  return *d == ASSUMED;
}

/* The hook of Ranges. */
static bool assume_identity(void *user, const Op *map) { return assume(user, map); }

/* ---------------------------------------------------------------- what is live */

/* Is the condition true by assumption? */
static bool is_assumed_true(Assumptions *s, const Value *v) {
  if (!v->def)
    return false;
  if (v->def->code == OP_INSIDE)
    return assume(s, v->def);
  if (v->def->code != OP_AND)
    return v->def->code == OP_CONST && v->def->cval.i;
  bool x = is_assumed_true(s, v->def->operands[0]), y = is_assumed_true(s, v->def->operands[1]);
  return x && y;
}

static void mark(Assumptions *s, const Value *v) { s->live[v->id] = true; }

static void mark_operands(Assumptions *s, const Op *op) {
  for (int i = 0; i < op->noperands; i++)
    mark(s, op->operands[i]);
}

/* Is `op` live, given which values the ops after it need? */
static bool is_live(const Assumptions *s, const Op *op) {
  bool live = op->nresults == 0 || op->nblocks > 0;
  for (int i = 0; i < op->nresults; i++)
    live |= s->live[op->results[i]->id];
  return live;
}

/* Marks the values that the live ops of `b` need under the assumptions, from the last op to the first, and makes
 * assumptions on the way. */
static void mark_block(Assumptions *s, const Block *b) {
  for (const Op *op = b->last; op; op = op->prev) {
    if (!is_live(s, op))
      continue;
    bool decides = op->code == OP_SELECT || op->code == OP_IF;
    bool taken = decides && is_assumed_true(s, op->operands[0]);
    if (op->code == OP_SELECT && taken)
      mark(s, op->operands[1]);
    else if (!taken && !(op->code == OP_INSIDE && assume(s, op)))
      mark_operands(s, op);
    if (op_info[op->code].form == FORM_MAP)
      assume(s, op);
    for (int i = 0; i < op->nblocks && !(taken && i); i++)
      mark_block(s, op->blocks[i]);
  }
}

/* ---------------------------------------------------------------- what cannot hold */

/* Does the condition keep coordinate `d` of the inside `op` out of its bounds at all points of the tile? */
static bool denies_coordinate(Assumptions *s, const Op *op, int d) {
  Coordinate x;
  int64_t diff;
  if (!tile_coordinate(s, op->operands[d], 0, &x))
    return false;
  Affine lo = affine_add_const(affine_sub(s->arena, op->box->lo[d], x.rest), -x.most),
         hi = affine_add_const(affine_sub(s->arena, op->box->hi[d], x.rest), -x.least);
  for (int i = 0; i < s->condition->n; i++) {
    const Part *p = &s->condition->part[i];
    if (memcmp(p->coef, x.block, sizeof p->coef) != 0)
      continue;
    for (int j = 0; j < p->nlo; j++)
      if (affine_diff(hi, p->lo[j], &diff) && diff < 0)
        return true;
    for (int j = 0; j < p->nhi; j++)
      if (affine_diff(p->hi[j], lo, &diff) && diff < 0)
        return true;
  }
  return false;
}

/* Decides for each inside that is not assumed whether the condition denies it (a block_walk callback). */
static void deny(void *user, Op *op) {
  Assumptions *s = user;
  if (op->code != OP_INSIDE || s->decision[op->results[0]->id] == ASSUMED)
    return;
  for (int d = 0; d < op->noperands; d++)
    if (denies_coordinate(s, op, d)) {
      s->decision[op->results[0]->id] = DENIED;
      s->assumed++;
      return;
    }
}

/* ---------------------------------------------------------------- rewriting */

/* Replaces `op` by the constant `value`. */
static void make_bool(Op *op, bool value) {
  op->code = OP_CONST;
  op->noperands = 0;
  op->box = NULL;
  op->cval.i = value;
}

/* Replaces the idx.* op by a sum. */
static void make_sum(Arena *a, Op *op) {
  Builder b = builder_before(a, op);
  Value *x = op->operands[0];
  Value **operands = ARENA_ARRAY(a, Value *, 2);
  operands[0] = x;
  operands[1] = build_int(&b, x->type, op->off[0]);
  operands[1]->id = -1;
  op->code = OP_ADD;
  op->operands = operands;
  op->noperands = 2;
  op->off[0] = 0;
  op->box = NULL;
}

/* Removes from the inside `op` the coordinates that have a bit in `dropped`. */
static void drop_coordinates(Arena *a, Op *op, unsigned dropped) {
  Value **operands = ARENA_ARRAY(a, Value *, op->noperands);
  Box *box = ARENA_NEW(a, Box);
  for (int d = 0; d < op->noperands; d++) {
    if (dropped >> d & 1)
      continue;
    operands[box->rank] = op->operands[d];
    box->lo[box->rank] = op->box->lo[d];
    box->hi[box->rank++] = op->box->hi[d];
  }
  op->operands = operands;
  op->noperands = box->rank;
  op->box = box;
}

void assumptions_apply(const Assumptions *s, Block *b) {
  for (Op *op = b->first; op; op = op->next) {
    OpForm form = op_info[op->code].form;
    if (form == FORM_BOX && s->decision[op->results[0]->id] == KEPT && s->dropped[op->results[0]->id])
      drop_coordinates(s->arena, op, s->dropped[op->results[0]->id]);
    if ((form == FORM_BOX || form == FORM_MAP) && s->decision[op->results[0]->id] == ASSUMED) {
      if (form == FORM_BOX)
        make_bool(op, true);
      else
        make_sum(s->arena, op);
    }
    if (form == FORM_BOX && s->decision[op->results[0]->id] == DENIED)
      make_bool(op, false);
    for (int i = 0; i < op->nblocks; i++)
      assumptions_apply(s, op->blocks[i]);
  }
}

/* Sorts the parts by their block dimensions, and removes bounds that always hold. */
static void tidy_condition(Condition *c) {
  Condition old = *c;
  c->n = 0;
  for (int d = 0; d <= MAX_RANK; d++)
    for (int i = 0; i < old.n; i++) {
      int first = 0;
      while (first < MAX_RANK && !old.part[i].coef[first])
        first++;
      if (first == d)
        c->part[c->n++] = old.part[i];
    }
  if (c->n == 0 || !is_blockless(&c->part[c->n - 1]))
    return;
  Part *p = &c->part[c->n - 1], all = *p;
  p->nlo = p->nhi = 0;
  for (int i = 0; i < all.nlo; i++)
    if (all.lo[i].n)
      p->lo[p->nlo++] = all.lo[i];
  for (int i = 0; i < all.nhi; i++)
    if (all.hi[i].n)
      p->hi[p->nhi++] = all.hi[i];
  if (!p->nlo && !p->nhi)
    c->n--;
  else if (!p->nlo)
    p->lo[p->nlo++] = affine_const(0);
  else if (!p->nhi)
    p->hi[p->nhi++] = affine_const(0);
}

/* ---------------------------------------------------------------- what others ask */

Value *part_value(Builder *b, const Part *p) {
  Value *sum = NULL;
  for (int d = 0; d < MAX_RANK; d++) {
    if (!p->coef[d])
      continue;
    Value *u = build_dim(b, OP_BLOCK, d);
    if (p->coef[d] != 1)
      u = build2(b, OP_MUL, u, build_int(b, TY_I64, p->coef[d]));
    sum = sum ? build2(b, OP_ADD, sum, u) : u;
  }
  return sum ? sum : build_int(b, TY_I64, 0);
}

/* An empty set of assumptions about `k`. */
static Assumptions *no_assumptions(PassContext *c, Module *m, Kernel *k, const Op *loop) {
  Assumptions *s = ARENA_NEW(c->arena, Assumptions);
  Ranges *r = ranges_new(c->arena, m, k, k->body);
  *s = (Assumptions){.arena = c->arena, .ranges = r, .loop = loop, .condition = ARENA_NEW(c->arena, Condition)};
  s->scalars = loop ? NULL : default_scalars(m);
  s->decision = ARENA_ARRAY(c->arena, uint8_t, r->n);
  s->dropped = ARENA_ARRAY(c->arena, uint8_t, r->n);
  s->live = ARENA_ARRAY(c->arena, bool, r->n);
  r->identity = assume_identity;
  r->user = s;
  r->memo = ARENA_ARRAY(c->arena, Linear *, r->cap);
  return s;
}

Assumptions *assumptions_find(PassContext *c, Module *m, Kernel *k, const Op *loop) {
  Assumptions *s = no_assumptions(c, m, k, loop);
  mark_block(s, loop ? loop->blocks[0] : k->body);
  if (!loop) {
    block_walk(k->body, deny, s);
    tidy_condition(s->condition);
  }
  return s->condition->n > 0 ? s : NULL;
}

/* Adds to the condition that `v` holds, a conjunction of insides of the block's first point. */
static void require_known(Assumptions *s, const Value *v) {
  if (v->def && v->def->code == OP_AND)
    for (int i = 0; i < 2; i++)
      require_known(s, v->def->operands[i]);
  if (!v->def || v->def->code != OP_INSIDE)
    return;
  Condition *with = ARENA_NEW(s->arena, Condition);
  *with = *s->condition;
  bool varies = false;
  for (int d = 0; d < v->def->noperands; d++)
    require_coordinate(s, with, v->def, d, &varies);
  s->condition = varies ? s->condition : with;
}

Assumptions *assumptions_within(PassContext *c, Module *m, Kernel *k, const Op *versions) {
  Assumptions *s = no_assumptions(c, m, k, NULL);
  require_known(s, versions->operands[0]);
  mark_block(s, versions->blocks[0]);
  block_walk(versions->blocks[0], deny, s);
  tidy_condition(s->condition);
  return s->condition->n > 0 ? s : NULL;
}
