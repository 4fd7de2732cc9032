/* specialize.c: a version without tests for the tiles that touch no edge of any region. The body B of a kernel becomes
 *
 *   if interior { B with `inside` true and idx.* = operand + offset } else { B }
 *
 * where interior says so: every coordinate is block part + param part + something between constants (the threads and
 * loop counters), so
 * a test for all points of the tile is a test of the block part against bounds moved in by these constants, the same
 * for all threads.
 *
 * What to assume is chosen walking backwards over what is live under the assumptions made so far: where select(inside
 * A, x, y) is live
 * and A is assumed, y is not live, and so tests and maps that only y needs are no part of the condition. A test that
 * contradicts earlier
 * ones for all params is not assumed.
 *
 * With option `walks` loops of the body for the others, B, whose rounds go along a dimension, are run in three parts,
 * and the one in the middle does without the tests that hold in
 * all its rounds, those along that dimension. Its bounds are computed by the block from the same conditions, solved
 * for the loop's number:
 *
 *   if interior { ... } else {
 *     for part = 0 to 2 {
 *       for (part ? last : lo) to (part ? hi : first) { B }
 *       for first to (part ? first : last) { B without }
 *     }
 *   } */
#include <inttypes.h>

#include "passes/analysis.h"
#include "passes/lower/lower.h"

/* How many different block parts, and bounds for each that do not differ by a constant, a condition may have; no tile
 * is wider than MAX_WIDTH (where bounds seem so, they are those of a type), and constants beyond MAX_CONST are not
 * reasoned about. */
enum { MAX_PARTS = 8, MAX_BOUNDS = 8, MAX_WIDTH = 1 << 24 };
static const int64_t MAX_CONST = (int64_t)1 << 40;

/* What a part of a condition may be about: the block along each dimension, and the round of the loop that is looked at.
 */
enum { ROUND = MAX_RANK, PART_AXES };

/* lo[i] <= u and u <= hi[j] for all i, j, where u = sum of coef[d] * block_d + coef[ROUND] * the loop's number. */
typedef struct Part {
  int64_t coef[PART_AXES];
  int32_t nlo, nhi;
  Affine lo[MAX_BOUNDS], hi[MAX_BOUNDS];
} Part;

/* A condition on the block: all parts hold. */
typedef struct Condition {
  int32_t n;
  Part part[MAX_PARTS];
} Condition;

/* One coordinate that must lie in [lo, hi] at all points of the tile: `block` is its block part, `rest` its params and
 * constants, and [least, most] the bounds of what varies inside the tile; varies: is there anything of that kind? */
typedef struct Coordinate {
  int64_t block[PART_AXES];
  Affine rest;
  int64_t least, most;
  bool varies;
} Coordinate;

typedef enum Decision { UNDECIDED, ASSUMED, KEPT } Decision;

/* The work on one version of a kernel, or of the rounds of a loop of it: only what goes on evenly with `loop` is
 * assumed then, in its body. decision, dropped and live are indexed by Value.id; dropped: a bit for each coordinate of
 * an inside that is not assumed as a whole, but in that. */
typedef struct Specializer {
  Arena *arena;
  Ranges *ranges;
  const Op *loop; /* NULL: the whole kernel */
  Condition *condition;
  uint8_t *decision, *dropped;
  bool *live;
  int64_t assumed, kept;
} Specializer;

/* ---------------------------------------------------------------- conditions */

static bool is_moderate(int64_t x) { return x > -MAX_CONST && x < MAX_CONST; }

/* Adds the bound x to the `*n` at v, or makes the one that differs by a constant stronger: the larger is (sign 1), or
 * the smaller (sign -1). False if there is no room. */
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

/* Does `p` not depend on the block? Then u is 0. */
static bool is_blockless(const Part *p) { return !p->coef[0] && !p->coef[1] && !p->coef[2] && !p->coef[ROUND]; }

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

/* Adds "x lies in [lo, hi] at all points of the tile" to `c`. False if that can never hold with the rest, or there is
 * no room. */
static bool require(Specializer *s, Condition *c, const Coordinate *x, Affine lo, Affine hi) {
  Part *p = find_part(c, x->block);
  return p && add_bound(p->lo, &p->nlo, affine_add_const(affine_sub(s->arena, lo, x->rest), -x->least), 1) &&
         add_bound(p->hi, &p->nhi, affine_add_const(affine_sub(s->arena, hi, x->rest), -x->most), -1) &&
         part_is_satisfiable(p);
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

/* May the condition be about `x`? In a loop: does it go on by one with its number, and is the same for all blocks of
 * the other dimensions? */
static bool is_subject(const Specializer *s, const Coordinate *x) {
  bool even = !s->loop || x->block[ROUND] == 1;
  for (int d = 1; d < MAX_RANK; d++)
    even = even && (!s->loop || !x->block[d]);
  return even;
}

/* Adds what assuming coordinate `d` of `op` requires to `c`; false, with `c` as it was, if it cannot be assumed.
 * *varies is set if it is not the same for the whole tile. */
static bool require_coordinate(Specializer *s, Condition *c, const Op *op, int d, bool *varies) {
  Coordinate x;
  Condition with = *c;
  int64_t off = op->code == OP_INSIDE ? 0 : op->off[0];
  if (!analyse_coordinate(s, op->operands[d], off, &x) || !is_subject(s, &x) ||
      !require(s, &with, &x, op->box->lo[d], op->box->hi[d]))
    return false;
  *varies |= x.varies;
  *c = with;
  return true;
}

/* Adds what assuming `op` (inside: true, idx.*: no move) requires to `c`. Returns a bit for each coordinate that can be
 * assumed, of a version of the kernel all or none; 0 for an inside that is the same for the whole tile anyway. */
static unsigned require_op(Specializer *s, Condition *c, const Op *op) {
  bool varies = op->code != OP_INSIDE;
  unsigned taken = 0;
  for (int d = 0; d < op->noperands; d++)
    if (require_coordinate(s, c, op, d, &varies))
      taken |= 1u << d;
    else if (!s->loop)
      return 0;
  return varies ? taken : 0;
}

/* Is block `b` in `loop`? */
static bool is_within(const Block *b, const Op *loop) {
  while (b && b->parent && b->parent != loop)
    b = b->parent->parent;
  return b && b->parent;
}

/* Is `op`, a live inside or idx.*, assumed? Decides it when first asked; as its coordinates are looked into, idx.* ops
 * in them are decided too, and then the requirements are added anew to the condition that includes theirs. */
static bool assume(Specializer *s, const Op *op) {
  uint8_t *d = &s->decision[op->results[0]->id];
  if (*d == UNDECIDED && s->loop && !is_within(op->parent, s->loop))
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

/* The versions of the body of `k` under the condition found; the other keeps the ops that it has. */
static void build_versions(Specializer *s, Kernel *k) {
  Block *body = block_new(s->arena, NULL);
  Builder b = builder_at_end(s->arena, body);
  b.loc = k->loc;
  Op *both = build_if(&b, build_condition(&b, s->condition), 0, NULL);
  both->blocks[0] = block_clone(s->arena, k->body, both, NULL);
  both->blocks[1] = k->body;
  k->body->parent = both;
  k->body = body;
  apply_assumptions(s, both->blocks[0]);
}

/* ---------------------------------------------------------------- walks in three parts */

/* A loop from lo to hi that is to be split, and what is known of its rounds. */
typedef struct Walk {
  Op *loop;
  int64_t lo, hi;
  Specializer *rounds;
} Walk;

/* Short names for the numbers of a loop's rounds, which are made by `b`. */
static Value *number(Builder *b, int64_t x) { return build_int(b, TY_I64, x); }
static Value *clamp(Builder *b, Value *x, Value *lo, Value *hi) {
  return build2(b, OP_MIN, build2(b, OP_MAX, x, lo), hi);
}

/* The least (sign -1) or greatest (sign 1) of `*all` and x; `*all` may be NULL. */
static void build_extreme(Builder *b, int sign, Value **all, Value *x) {
  *all = *all ? build2(b, sign < 0 ? OP_MIN : OP_MAX, *all, x) : x;
}

/* The block part of `p`, without the loop's number. */
static Value *build_block_part(Builder *b, Part p) {
  p.coef[ROUND] = 0;
  return build_part(b, &p);
}

/* In *first and *last the least and greatest number of the loop for which the condition holds, NULL if there is no such
 * bound. */
static void build_rounds(Specializer *s, Builder *b, Value **first, Value **last) {
  *first = *last = NULL;
  for (int i = 0; i < s->condition->n; i++) {
    const Part *p = &s->condition->part[i];
    Value *u = build_block_part(b, *p);
    for (int j = 0; j < p->nlo; j++)
      build_extreme(b, 1, first, build2(b, OP_SUB, build_affine(b, s->ranges->m, p->lo[j]), u));
    for (int j = 0; j < p->nhi; j++)
      build_extreme(b, -1, last, build2(b, OP_SUB, build_affine(b, s->ranges->m, p->hi[j]), u));
  }
}

/* The number that the loop of `w` has after so many rounds. */
static Value *build_number(Builder *b, const Walk *w, Value *rounds) {
  Value *x = build2(b, OP_ADD, build2(b, OP_MUL, rounds, number(b, w->loop->off[0])), number(b, w->lo));
  return build_convert(b, w->loop->operands[0]->type, x);
}

/* A copy of `loop`, which goes from lo to hi, where `b` is. */
static Op *build_part_of_walk(Builder *b, const Op *loop, Value *lo, Value *hi) {
  Op *part = build_for(b, lo, hi, loop->off[0], loop->flags, 0, NULL);
  part->blocks[0] = block_clone(b->arena, loop->blocks[0], part, NULL);
  return part;
}

/* How many rounds of walk `w` come before those for which the condition holds, given the least number `first` for which
 * it does (NULL: any). */
static Value *build_before(Builder *b, const Walk *w, Value *first, Value *most) {
  int64_t by = w->loop->off[0];
  if (!first)
    return number(b, 0);
  first = clamp(b, build2(b, OP_SUB, first, number(b, w->lo)), number(b, 0), most);
  return build2(b, OP_DIV, build2(b, OP_ADD, first, number(b, by - 1)), number(b, by));
}

/* And how many it has up to the last of those, `before` at least, given the greatest number `last`. */
static Value *build_until(Builder *b, const Walk *w, Value *last, Value *most, Value *before) {
  int64_t by = w->loop->off[0];
  last = last ? clamp(b, build2(b, OP_ADD, last, number(b, by - w->lo)), number(b, 0), most) : most;
  return build2(b, OP_MAX, build2(b, OP_DIV, last, number(b, by)), before);
}

/* Puts in the place of walk `w` a loop of two rounds: in the first the rounds of the walk before those for which the
 * condition holds, and then those; in the second the rest. So there are two copies of the walk's body, not three, and
 * few values that only the last part needs wait in registers during the middle. */
static void split_walk(const Walk *w) {
  Op *loop = w->loop;
  Specializer *s = w->rounds;
  Builder b = builder_before(s->arena, loop);
  int64_t by = loop->off[0];
  Type t = loop->operands[0]->type;
  Value *first, *last, *most = number(&b, (w->hi - w->lo + by - 1) / by * by);
  b.loc = loop->loc;
  build_rounds(s, &b, &first, &last);
  first = build_before(&b, w, first, most);
  last = build_number(&b, w, build_until(&b, w, last, most, first));
  first = build_number(&b, w, first);
  Op *parts = build_for(&b, build_int(&b, t, 0), build_int(&b, t, 2), 1, 0, 0, NULL);
  Builder in = builder_at_end(s->arena, parts->blocks[0]);
  in.loc = loop->loc;
  Value *rest = build2(&in, OP_NE, parts->blocks[0]->args[0], parts->operands[0]);
  build_part_of_walk(&in, loop, build3(&in, OP_SELECT, rest, last, loop->operands[0]),
                     build3(&in, OP_SELECT, rest, loop->operands[1], first));
  apply_assumptions(s, build_part_of_walk(&in, loop, first, build3(&in, OP_SELECT, rest, first, last))->blocks[0]);
  op_unlink(loop);
}

/* ---------------------------------------------------------------- kernels */

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

/* What is needed to look for a version of `k`, or of the rounds of its `loop`. */
static Specializer *specializer_new(PassContext *c, Module *m, Kernel *k, const Op *loop) {
  Specializer *s = ARENA_NEW(c->arena, Specializer);
  Ranges *r = ranges_new(c->arena, m, k, k->body);
  *s = (Specializer){.arena = c->arena, .ranges = r, .loop = loop, .condition = ARENA_NEW(c->arena, Condition)};
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
  mark_block(s, s->loop ? s->loop->blocks[0] : r->k->body);
  if (!s->loop)
    tidy_condition(s->condition);
  return s->condition->n > 0;
}

/* Values of a body beyond which its code is long enough as it is; rounds of a loop from which on it is worthwhile to
 * split. */
enum { LONG_BODY = 20000, MANY_ROUNDS = 4 };

/* The walks of a kernel that are to be split. */
typedef struct Walks {
  Walk *all;
  int32_t n;
} Walks;

/* Is `op` a loop whose rounds can be parted: a long one that goes on by itself, between constants? */
static bool is_walk(Op *op, Walk *w) {
  *w = (Walk){.loop = op};
  return op->code == OP_FOR && !op->nresults && !(op->flags & FOR_UNROLL) && value_is_int(op->operands[0], &w->lo) &&
         value_is_int(op->operands[1], &w->hi) && (w->hi - w->lo) / op->off[0] >= MANY_ROUNDS;
}

/* The walks of `k` that have tests which hold in some rounds and not in others. */
static Walks find_walks(PassContext *c, Module *m, Kernel *k) {
  Walks walks = {0};
  for (Op *op = k->body->first; op; op = op->next) {
    Walk w;
    if (!is_walk(op, &w))
      continue;
    w.rounds = specializer_new(c, m, k, op);
    if (find_condition(w.rounds))
      ARENA_PUSH(c->arena, walks.all, walks.n, w);
  }
  return walks;
}

/* Specializes kernel `k`, and its walks if that is wanted; true if there was something to gain. */
static bool specialize(PassContext *c, Module *m, Kernel *k, bool want_walks) {
  Specializer *s = specializer_new(c, m, k, NULL);
  Walks walks = {0};
  if (is_specialized(s, k) || !find_condition(s))
    return false;
  if (want_walks && s->ranges->n <= LONG_BODY)
    walks = find_walks(c, m, k);
  build_versions(s, k);
  for (int i = 0; i < walks.n; i++)
    split_walk(&walks.all[i]);
  pass_stat(c, s->assumed, "specialize", "tests and maps that interior tiles of kernel %s do without", k->name);
  pass_stat(c, s->kept, "specialize", "tests and maps that interior tiles of kernel %s keep", k->name);
  if (walks.n)
    pass_stat(c, walks.n, "specialize", "walks of kernel %s in three parts", k->name);
  return true;
}

/* The pass: every kernel of the module. */
Module *pass_specialize(PassContext *c, Module *m, int n, const PassOption *o) {
  bool ok = true;
  bool walks = pass_option_int(c, "specialize", n, o, "walks", 0, 1, 0, &ok) != 0;
  for (int i = 0; i < m->nkernels && ok; i++) {
    block_renumber(m->kernels[i].body, 0);
    if (specialize(c, m, &m->kernels[i], walks))
      simplify_kernel(c, m, &m->kernels[i]);
  }
  return ok ? m : NULL;
}
