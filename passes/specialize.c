/* specialize.c: a version without tests for the tiles that touch no edge of any region. The body B of a kernel becomes
 *
 *   if interior { B with `inside` true and idx.* = operand + offset } else { B }
 *
 * where interior says so: every coordinate is block part + param part + something between constants (the threads and loop counters), so
 * a test for all points of the tile is a test of the block part against bounds moved in by these constants, the same for all threads.
 *
 * What to assume is chosen walking backwards over what is live under the assumptions made so far: where select(inside A, x, y) is live
 * and A is assumed, y is not live, and so tests and maps that only y needs are no part of the condition. A test that contradicts earlier
 * ones for all params is not assumed.
 *
 * With option `sides` the tiles that touch edges, but none along dimension 0, have a version of their own, where the tests along that
 * dimension are taken for true:
 *
 *   if interior { ... } else { if away { B with the rest of the tests } else { B } } */
#include <inttypes.h>

#include "passes/analysis.h"

/* How many different block parts, and bounds for each that do not differ by a constant, a condition may have; no tile is wider than
 * MAX_WIDTH (where bounds seem so, they are those of a type), and constants beyond MAX_CONST are not reasoned about. */
enum { MAX_PARTS = 8, MAX_BOUNDS = 8, MAX_WIDTH = 1 << 24 };
static const int64_t MAX_CONST = (int64_t)1 << 40;

/* lo[i] <= u and u <= hi[j] for all i, j, where u = sum of coef[d] * block_d. */
typedef struct Part { int64_t coef[MAX_RANK]; int32_t nlo, nhi; Affine lo[MAX_BOUNDS], hi[MAX_BOUNDS]; } Part;

/* A condition on the block: all parts hold. */
typedef struct Condition { int32_t n; Part part[MAX_PARTS]; } Condition;

/* One coordinate that must lie in [lo, hi] at all points of the tile: `block` is its block part, `rest` its params and constants, and
 * [least, most] the bounds of what varies inside the tile; varies: is there anything of that kind? */
typedef struct Coordinate { int64_t block[MAX_RANK]; Affine rest; int64_t least, most; bool varies; } Coordinate;

typedef enum Decision { UNDECIDED, ASSUMED, KEPT } Decision;

/* The work on one version of a kernel. along: the dimension whose blocks alone the condition may be about, or ALL. decision, dropped and live are indexed by Value.id;
 * dropped: a bit for each coordinate of an inside that is not assumed as a whole, but in that. */
enum { ALL = -1 };
typedef struct Specializer {
  Arena *arena;
  Ranges *ranges;
  int along;
  Condition *condition;
  uint8_t *decision, *dropped;
  bool *live;
  int64_t assumed, kept;
} Specializer;

/* ---------------------------------------------------------------- conditions */

static bool is_moderate(int64_t x) { return x > -MAX_CONST && x < MAX_CONST; }

/* Adds the bound x to the `*n` at v, or makes the one that differs by a constant stronger: the larger is (sign 1), or the smaller (sign
 * -1). False if there is no room. */
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

/* The part of `c` with these block coefficients, made if it is not there; NULL if there is no room. */
static Part *find_part(Condition *c, const int64_t *coef) {
  for (int i = 0; i < c->n; i++) {
    bool same = true;
    for (int d = 0; d < MAX_RANK; d++)
      same &= c->part[i].coef[d] == coef[d];
    if (same)
      return &c->part[i];
  }
  if (c->n == MAX_PARTS)
    return NULL;
  Part *p = &c->part[c->n++];
  *p = (Part){0};
  for (int d = 0; d < MAX_RANK; d++)
    p->coef[d] = coef[d];
  return p;
}

/* Does `p` not depend on the block? Then u is 0. */
static bool is_blockless(const Part *p) { return !p->coef[0] && !p->coef[1] && !p->coef[2]; }

/* Can the bounds of `p` hold together, as far as constants tell? */
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

/* Adds "x lies in [lo, hi] at all points of the tile" to `c`. False if that can never hold with the rest, or there is no room. */
static bool require(Specializer *s, Condition *c, const Coordinate *x, Affine lo, Affine hi) {
  Part *p = find_part(c, x->block);
  return p && add_bound(p->lo, &p->nlo, affine_add_const(affine_sub(s->arena, lo, x->rest), -x->least), 1) &&
         add_bound(p->hi, &p->nhi, affine_add_const(affine_sub(s->arena, hi, x->rest), -x->most), -1) && part_is_satisfiable(p);
}

/* ---------------------------------------------------------------- coordinates */

/* Takes v + off apart; false if it is not of the form that can be tested by block. */
static bool analyse_coordinate(Specializer *s, const Value *v, int64_t off, Coordinate *x) {
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
  x->varies = inner.n > 0;
  return ok;
}

/* May the condition be about `x`? */
static bool is_along(const Specializer *s, const Coordinate *x) {
  bool alone = s->along == ALL || x->block[s->along];
  for (int d = 0; d < MAX_RANK; d++)
    alone = alone && (s->along == ALL || d == s->along || !x->block[d]);
  return alone;
}

/* Adds what assuming coordinate `d` of `op` requires to `c`; false, with `c` as it was, if it cannot be assumed. *varies is set if it is not the same for the whole tile. */
static bool require_coordinate(Specializer *s, Condition *c, const Op *op, int d, bool *varies) {
  Coordinate x;
  Condition with = *c;
  int64_t off = op->code == OP_INSIDE ? 0 : op->off[0];
  if (!analyse_coordinate(s, op->operands[d], off, &x) || !is_along(s, &x) || !require(s, &with, &x, op->box->lo[d], op->box->hi[d]))
    return false;
  *varies |= x.varies;
  *c = with;
  return true;
}

/* Adds what assuming `op` (inside: true, idx.*: no move) requires to `c`. Returns a bit for each coordinate that can be assumed; 0 for an inside that is the same for the
 * whole tile anyway. */
static unsigned require_op(Specializer *s, Condition *c, const Op *op) {
  bool varies = op->code != OP_INSIDE;
  unsigned taken = 0;
  for (int d = 0; d < op->noperands; d++)
    if (require_coordinate(s, c, op, d, &varies))
      taken |= 1u << d;
    else if (s->along == ALL)
      return 0;
  return varies ? taken : 0;
}

/* Is `op`, a live inside or idx.*, assumed? Decides it when first asked; as its coordinates are looked into, idx.* ops in them are
 * decided too, and then the requirements are added anew to the condition that includes theirs. */
static bool assume(Specializer *s, const Op *op) {
  uint8_t *d = &s->decision[op->results[0]->id];
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
static bool is_assumed_true(Specializer *s, const Value *v) {
  if (!v->def)
    return false;
  if (v->def->code == OP_INSIDE)
    return assume(s, v->def);
  if (v->def->code != OP_AND)
    return v->def->code == OP_CONST && v->def->cval.i;
  bool x = is_assumed_true(s, v->def->operands[0]), y = is_assumed_true(s, v->def->operands[1]);
  return x && y;
}

static void mark(Specializer *s, const Value *v) { s->live[v->id] = true; }

static void mark_operands(Specializer *s, const Op *op) {
  for (int i = 0; i < op->noperands; i++)
    mark(s, op->operands[i]);
}

/* Is `op` needed, given what was seen to be live after it? */
static bool is_live(const Specializer *s, const Op *op) {
  bool live = op->nresults == 0 || op->nblocks > 0;
  for (int i = 0; i < op->nresults; i++)
    live |= s->live[op->results[i]->id];
  return live;
}

/* Marks what the live ops of `b` need under the assumptions, last op first, making assumptions on the way. */
static void mark_block(Specializer *s, const Block *b) {
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

/* ---------------------------------------------------------------- rewriting */

/* The block part u of `p`. */
static Value *build_part(Builder *b, const Part *p) {
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

/* How many tests of the form lo <= u <= hi `p` needs. */
static int tests_of(const Part *p) { return p->nlo > p->nhi ? p->nlo : p->nhi; }

/* Number i of the n bounds at v; the last one again if there are no more. */
static Affine bound_at(const Affine *v, int n, int i) { return v[i < n ? i : n - 1]; }

/* `*all` and `x`; `*all` may be NULL. */
static void build_conjunction(Builder *b, Value **all, Value *x) { *all = *all ? build2(b, OP_AND, *all, x) : x; }

/* The condition as a value, as few inside ops as there are: each tests up to MAX_RANK parts. */
static Value *build_condition(Builder *b, const Condition *c) {
  Value *u[MAX_PARTS], *coords[MAX_RANK], *all = NULL;
  int most = 0;
  Box box = {0};
  for (int i = 0; i < c->n; i++) {
    u[i] = build_part(b, &c->part[i]);
    most = tests_of(&c->part[i]) > most ? tests_of(&c->part[i]) : most;
  }
  for (int test = 0; test < most; test++)
    for (int i = 0; i < c->n; i++) {
      const Part *p = &c->part[i];
      if (test < tests_of(p)) {
        box.lo[box.rank] = bound_at(p->lo, p->nlo, test);
        box.hi[box.rank] = bound_at(p->hi, p->nhi, test);
        coords[box.rank++] = u[i];
      }
      if (box.rank == MAX_RANK || (box.rank && i == c->n - 1)) {
        build_conjunction(b, &all, build_inside(b, box.rank, coords, &box));
        box = (Box){0};
      }
    }
  return all;
}

/* Makes `op` a constant true. */
static void make_true(Op *op) {
  op->code = OP_CONST;
  op->noperands = 0;
  op->box = NULL;
  op->cval.i = 1;
}

/* Makes the idx.* op a sum. */
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

/* Takes those coordinates out of the inside `op` that have a bit in `dropped`. */
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

/* Rewrites the assumed ops of `b`, a copy whose values have the numbers of the original. */
static void apply_assumptions(Specializer *s, Block *b) {
  for (Op *op = b->first; op; op = op->next) {
    OpForm form = op_info[op->code].form;
    if (form == FORM_BOX && s->decision[op->results[0]->id] == KEPT && s->dropped[op->results[0]->id])
      drop_coordinates(s->arena, op, s->dropped[op->results[0]->id]);
    if ((form == FORM_BOX || form == FORM_MAP) && s->decision[op->results[0]->id] == ASSUMED) {
      if (form == FORM_BOX)
        make_true(op);
      else
        make_sum(s->arena, op);
    }
    for (int i = 0; i < op->nblocks; i++)
      apply_assumptions(s, op->blocks[i]);
  }
}

/* Puts the parts in the order of their block dimensions, and takes away bounds that hold always. */
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

/* `if condition { body as assumed } else { otherwise }` at the end of `b`. */
static void build_version(Specializer *s, Builder *b, const Block *body, Block *otherwise) {
  Op *both = build_if(b, build_condition(b, s->condition), 0, NULL);
  both->blocks[0] = block_clone(s->arena, body, both, NULL);
  both->blocks[1] = otherwise;
  otherwise->parent = both;
  apply_assumptions(s, both->blocks[0]);
}

/* The versions of the body of `k` under the condition found, and under that of `sides` if it is not NULL. */
static void build_versions(Specializer *s, Specializer *sides, Kernel *k) {
  Block *body = block_new(s->arena, NULL), *otherwise = sides ? block_new(s->arena, NULL) : k->body;
  Builder b = builder_at_end(s->arena, body);
  b.loc = k->loc;
  build_version(s, &b, k->body, otherwise);
  if (sides) {
    Builder inner = builder_at_end(s->arena, otherwise);
    inner.loc = k->loc;
    build_version(sides, &inner, k->body, k->body);
  }
  k->body = body;
}

/* Is the condition one that this pass made: inside of what does not vary within a tile? */
static bool is_tile_test(Specializer *s, const Value *v) {
  if (v->def && v->def->code == OP_AND)
    return is_tile_test(s, v->def->operands[0]) && is_tile_test(s, v->def->operands[1]);
  if (!v->def || v->def->code != OP_INSIDE)
    return false;
  for (int i = 0; i < v->def->noperands; i++) {
    Coordinate x;
    if (!analyse_coordinate(s, v->def->operands[i], 0, &x) || x.varies)
      return false;
  }
  return true;
}

/* Are there versions of `k` already? */
static bool is_specialized(Specializer *s, const Kernel *k) {
  for (const Op *op = k->body->first; op; op = op->next)
    if (op->code == OP_IF && is_tile_test(s, op->operands[0]))
      return true;
  return false;
}

/* What is needed to look for a version of `k`. */
static Specializer *specializer_new(PassContext *c, Module *m, Kernel *k, int along) {
  Specializer *s = ARENA_NEW(c->arena, Specializer);
  Ranges *r = ranges_new(c->arena, m, k, k->body);
  *s = (Specializer){.arena = c->arena, .ranges = r, .along = along, .condition = ARENA_NEW(c->arena, Condition)};
  s->decision = ARENA_ARRAY(c->arena, uint8_t, r->n);
  s->dropped = ARENA_ARRAY(c->arena, uint8_t, r->n);
  s->live = ARENA_ARRAY(c->arena, bool, r->n);
  return s;
}

/* Finds the condition and what it makes superfluous. False if there is nothing. */
static bool find_condition(Specializer *s) {
  Ranges *r = s->ranges;
  r->identity = assume_identity;
  r->user = s;
  r->memo = ARENA_ARRAY(s->arena, Linear *, r->cap);
  mark_block(s, r->k->body);
  tidy_condition(s->condition);
  return s->condition->n > 0;
}

/* Is the condition about blocks of other dimensions than the first, too? */
static bool is_beyond_first(const Condition *c) {
  bool beyond = false;
  for (int i = 0; i < c->n; i++)
    for (int d = 1; d < MAX_RANK; d++)
      beyond |= c->part[i].coef[d] != 0;
  return beyond;
}

/* Values of a body beyond which its code is long enough as it is. */
enum { LONG_BODY = 20000 };

/* Specializes kernel `k`, with a version for sides if that is wanted and there is something to gain; true if it was. */
static bool specialize(PassContext *c, Module *m, Kernel *k, bool want_sides) {
  Specializer *s = specializer_new(c, m, k, ALL), *sides = NULL;
  if (is_specialized(s, k) || !find_condition(s))
    return false;
  if (want_sides && s->ranges->n <= LONG_BODY && is_beyond_first(s->condition)) {
    sides = specializer_new(c, m, k, 0);
    sides = find_condition(sides) ? sides : NULL;
  }
  build_versions(s, sides, k);
  pass_stat(c, s->assumed, "specialize", "tests and maps that interior tiles of kernel %s do without", k->name);
  pass_stat(c, s->kept, "specialize", "tests and maps that interior tiles of kernel %s keep", k->name);
  return true;
}

/* The pass: every kernel of the module. */
Module *pass_specialize(PassContext *c, Module *m, int n, const PassOption *o) {
  bool ok = true;
  bool sides = pass_option_int(c, "specialize", n, o, "sides", 0, 1, 0, &ok) != 0;
  for (int i = 0; i < m->nkernels && ok; i++) {
    module_renumber(m);
    if (specialize(c, m, &m->kernels[i], sides))
      simplify_kernel(c, m, &m->kernels[i]);
  }
  return ok ? m : NULL;
}
