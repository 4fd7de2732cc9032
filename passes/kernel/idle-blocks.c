/* idle-blocks.c: removes the idle blocks of a kernel (Kernel.idles), and makes the code that finds a block's place
 * cheap. Kernels of frames (passes/tile/frame.h) say which of their blocks are idle, namely those that cover only
 * points of a box:
 *
 *     @k covers [N, M] by [8, 32] idle from [16, 32] to [N - 17, M - 33] { B }
 *
 * becomes
 *
 *     @k covers [N, M] by [8, 32] without [N - 32, M - 64] { B }
 *
 * The box is counted from the kernel's first point. The blocks of the new kernel are numbered in one dimension. Until
 * this pass the kernel is like any other; `specialize` makes versions of it.
 *
 * The kernel is not split in two (split-edges.c). A single launch for all its blocks may begin before the launch ahead
 * of it has ended; two concurrent launches wait for its end, and the next launch waits for both.
 *
 * A block of a frame does little work, so the search for its place must be cheap. Values that depend only on params are
 * lets, computed once a launch: the number of blocks for each number along a dimension, the begin and end of the
 * numbers with idle blocks, and factors that replace divisions by multiplications (`KERNEL.rim.D`, `KERNEL.per.D`,
 * ...), and the bounds of the tests on coordinates (`KERNEL.bound.N`). All counts, block numbers, coordinates and
 * bounds have 32 bits; a let is the 32-bit number that is nearest to its true value. Launches check that the grid
 * reaches at most 2^30 from 0 and has at most 2^30 points in a dimension (check_extents).
 *
 * Instructions with one point a thread, the three frame kernels of a shot with layers on slabs (f32, order 8, sm_90a):
 * 2552, 752 and 128 in place of 3752, 1144 and 368. A warp inside executes 205 in place of 375, and before its tests
 * 100 in place of 234. */
#include "ir/run/run.h"
#include "passes/kernel/assume.h"
#include "passes/kernel/inner.h"

#include <string.h>

/* FARTHEST: the greatest absolute value of a coordinate. BESIDE: the most points by which tiles reach beyond the
 * grid. */
enum { FARTHEST = 1 << 30, BESIDE = 1 << 24 };

/* The state of the pass on kernel `k` of `m`. bounds, lets: bounds and the lets that hold their values. coordinate[id]:
 * is the value a coordinate of a point of the tile? twin[id]: its value in 32 bits; wide[id]: its value in 64 bits
 * (NULL: not made yet). n: the number of numbered values; values that are made later have the number -1. */
typedef struct Idle {
  PassContext *c;
  Module *m;
  Kernel *k;
  Ranges *ranges;
  Affine *bounds, *lets;
  int32_t nbounds;
  int32_t n;
  bool *coordinate;
  Value **twin, **wide;
} Idle;

/* ---------------------------------------------------------------- lets */

/* Notes in *user whether `op` is a scalar (a block_walk callback). */
static void note_scalar(void *user, Op *op) { *(bool *)user |= op->code == OP_SCALAR; }

/* The value `v` that the code of `b` computes, limited to the range of 32 bits: a new let of x->m, or a constant if the
 * code uses no scalar. */
static Affine add_let(Idle *x, Builder *b, const char *what, int d, Value *v) {
  bool varies = false;
  v = build2(b, OP_MAX, v, build_int(b, TY_I64, INT32_MIN));
  v = build_convert(b, TY_I32, build2(b, OP_MIN, v, build_int(b, TY_I64, INT32_MAX)));
  build_yield(b, 1, &v);
  block_walk(b->block, note_scalar, &varies);
  if (!varies)
    return affine_const(expression_value(x->c->arena, b->block, NULL).i);
  const char *name = arena_printf(x->m->arena, "%s.%s.%d", x->k->name, what, d);
  ARENA_PUSH(x->m->arena, x->m->scalars, x->m->nscalars, ((Scalar){.name = name, .type = TY_I32, .expr = b->block}));
  return affine_scalar(x->m->arena, x->m->nscalars - 1);
}

/* A builder for the code of a let. */
static Builder new_let(const Idle *x) { return builder_at_end(x->m->arena, block_new(x->m->arena, NULL)); }

/* The result of add_let as an i32, and as an i64. */
static Value *of(Builder *b, Affine let) {
  return let.n ? build_scalar(b, TY_I32, let.t[0].scalar) : build_int(b, TY_I32, let.c);
}
static Value *wide(Builder *b, Affine let) { return build_convert(b, TY_I64, of(b, let)); }

/* Short names for integers of 64 bits. */
static Value *number(Builder *b, int64_t i) { return build_int(b, TY_I64, i); }
static Value *times(Builder *b, Value *x, Value *y) { return build2(b, OP_MUL, x, y); }

/* The number of blocks of `tile` points that cover `extent`. */
static Value *build_count(Builder *b, const Module *m, Affine extent, int64_t tile) {
  Value *points = build2(b, OP_MAX, build_affine(b, m, extent), number(b, 0));
  return build2(b, OP_DIV, build2(b, OP_ADD, points, number(b, tile - 1)), number(b, tile));
}

/* Bound `bound`, limited to the range of 32 bits, as a let or a constant. The limit changes no comparison, because the
 * compared coordinates are at most FARTHEST and a tile from 0. */
static Affine narrow_bound(Idle *x, Affine bound) {
  if (!bound.n)
    return affine_const(bound.c < INT32_MIN ? INT32_MIN : bound.c > INT32_MAX ? INT32_MAX : bound.c);
  int32_t i = 0;
  while (i < x->nbounds && !affine_equal(x->bounds[i], bound))
    i++;
  if (i == x->nbounds) {
    Builder b = new_let(x);
    Affine let = add_let(x, &b, "bound", i, build_affine(&b, x->m, bound));
    int32_t n = x->nbounds;
    ARENA_PUSH(x->c->arena, x->bounds, x->nbounds, bound);
    ARENA_PUSH(x->c->arena, x->lets, n, let);
  }
  return x->lets[i];
}

/* ---------------------------------------------------------------- places */

/* How blocks are numbered along one dimension, as lets. The numbers from `first` to `into` - 1, `inner` in all, contain
 * idle blocks. Such a number has `border` blocks that are not idle in the later dimensions; any other number has `all`
 * blocks. The blocks that belong to numbers with idle blocks have the block numbers `before` to `behind` - 1. per_all,
 * per_border: 2^31 - 1 divided by `all` and by `border`. */
typedef struct Line {
  Affine all, border, first, inner, into, before, behind, per_all, per_border;
} Line;

/* A let with the number of blocks of one number along dimension `d`: a number with idle blocks (`border`), or another
 * one. The lines of the dimensions after d must exist. */
static Affine each_let(Idle *x, const Line *line, int d, bool border) {
  const Kernel *k = x->k;
  Builder b = new_let(x);
  Value *all = number(&b, 1), *hole = all;
  for (int e = d + 1; e < k->rank; e++) {
    all = times(&b, all, build_count(&b, x->m, k->extent[e], k->tile[e]));
    hole = times(&b, hole, wide(&b, line[e].inner));
  }
  return border ? add_let(x, &b, "rim", d, build2(&b, OP_SUB, all, hole)) : add_let(x, &b, "all", d, all);
}

/* A let with the value of 2^31 - 1 divided by `by`. */
static Affine per_let(Idle *x, const char *what, int d, Affine by) {
  Builder b = new_let(x);
  Value *least = build2(&b, OP_MAX, wide(&b, by), number(&b, 1));
  return add_let(x, &b, what, d, build2(&b, OP_DIV, number(&b, INT32_MAX), least));
}

/* Makes the lets of dimension `d`; those of the later dimensions must exist. */
static void make_line(Idle *x, const Inner *inner, Line *line, int d) {
  Module *m = x->m;
  Line *l = &line[d];
  Builder b = new_let(x);
  l->inner = add_let(x, &b, "inner", d, build_count(&b, m, inner[d].extent, x->k->tile[d]));
  b = new_let(x);
  Value *first =
      inner[d].begin < 0 ? number(&b, inner[d].first) : build_affine(&b, m, affine_scalar(m->arena, inner[d].begin));
  l->first = add_let(x, &b, "first", d, first);
  if (d == x->k->rank - 1)
    return;
  l->all = each_let(x, line, d, false);
  l->border = each_let(x, line, d, true);
  b = new_let(x);
  l->into = add_let(x, &b, "into", d, build2(&b, OP_ADD, wide(&b, l->first), wide(&b, l->inner)));
  b = new_let(x);
  l->before = add_let(x, &b, "before", d, times(&b, wide(&b, l->first), wide(&b, l->all)));
  b = new_let(x);
  Value *borders = times(&b, wide(&b, l->inner), wide(&b, l->border));
  l->behind = add_let(x, &b, "behind", d, build2(&b, OP_ADD, wide(&b, l->before), borders));
  l->per_all = per_let(x, "per", d, l->all);
  l->per_border = per_let(x, "share", d, l->border);
}

static Value *choose(Builder *b, Value *which, Value *x, Value *y) { return build3(b, OP_SELECT, which, x, y); }

/* x / by and in *rest the remainder, by multiplication with `per` = (2^31 - 1) / by; x >= 0 and by >= 1. The estimate x
 * per / 2^31 is too small by less than one: x / by - x per / 2^31 = x (2^31 - per by) / (2^31 by), and the bracket is
 * at most by. */
static Value *build_quotient(Builder *b, Value *x, Value *by, Value *per, Value **rest) {
  Value *none = build_int(b, TY_I32, 0), *one = build_int(b, TY_I32, 1);
  Value *wide_x = build_convert(b, TY_I64, build2(b, OP_MAX, x, none)),
        *wide_per = build_convert(b, TY_I64, build2(b, OP_MAX, per, none));
  Value *q = build2(b, OP_DIV, times(b, wide_x, wide_per), number(b, (int64_t)1 << 31));
  q = build_convert(b, TY_I32, q);
  Value *r = build2(b, OP_SUB, x, times(b, q, by)), *more = build2(b, OP_GE, r, by);
  *rest = choose(b, more, build2(b, OP_SUB, r, by), r);
  return choose(b, more, build2(b, OP_ADD, q, one), q);
}

/* Finds the number of a block along the dimension of `l`, which is not the last one. *left is the block's number among
 * the blocks that are still possible, before the call among those with its numbers in the earlier dimensions, after it
 * among those with this number, too. *bordered says whether the block has numbers with idle blocks in all earlier
 * dimensions (NULL: there are none); after the call in this dimension, too. */
static Value *build_place(Builder *b, const Line *l, Value **left, Value **bordered) {
  Value *low = build2(b, OP_LT, *left, of(b, l->before)), *middle = build2(b, OP_LT, *left, of(b, l->behind));
  if (*bordered)
    low = build2(b, OP_OR, low, build1(b, OP_NOT, *bordered));
  *bordered = build2(b, OP_AND, build1(b, OP_NOT, low), middle);
  Value *none = build_int(b, TY_I32, 0);
  Value *from = choose(b, low, none, choose(b, middle, of(b, l->before), of(b, l->behind)));
  Value *first = choose(b, low, none, choose(b, middle, of(b, l->first), of(b, l->into)));
  Value *each = choose(b, *bordered, of(b, l->border), of(b, l->all));
  Value *per = choose(b, *bordered, of(b, l->per_border), of(b, l->per_all));
  Value *place = build_quotient(b, build2(b, OP_SUB, *left, from), each, per, left);
  return build2(b, OP_ADD, place, first);
}

/* Computes at `b` the numbers of a block of x->k in all dimensions, in 32 bits, into places[]. */
static void build_places(Idle *x, Builder *b, const Inner *inner, Value **places) {
  int last = x->k->rank - 1;
  Line line[MAX_RANK];
  for (int d = last; d >= 0; d--)
    make_line(x, inner, line, d);
  Value *left = build_convert(b, TY_I32, build_dim(b, OP_BLOCK, last)), *bordered = NULL;
  for (int d = 0; d < last; d++)
    places[d] = build_place(b, &line[d], &left, &bordered);
  Value *jumps = build2(b, OP_GE, left, of(b, line[last].first));
  jumps = bordered ? build2(b, OP_AND, bordered, jumps) : jumps;
  places[last] = choose(b, jumps, build2(b, OP_ADD, left, of(b, line[last].inner)), left);
}

/* ---------------------------------------------------------------- coordinates */

/* Is `v` a coordinate of a point of the tile, or of a point at most BESIDE away, counted from 0 or from the begin of
 * the grid? */
static bool is_coordinate(Idle *x, const Value *v) {
  const Kernel *k = x->k;
  Assumptions s = {.arena = x->c->arena, .ranges = x->ranges};
  Coordinate at;
  int64_t from;
  int d = 0;
  if (v->type != TY_I64 || !tile_coordinate(&s, v, 0, &at) || at.least < -BESIDE || at.most > BESIDE)
    return false;
  while (d < k->rank && !at.block[d])
    d++;
  if (d == k->rank || at.block[d] != k->tile[d])
    return false;
  for (int e = d + 1; e < PART_AXES; e++)
    if (at.block[e])
      return false;
  if (at.rest.n && !affine_diff(at.rest, x->m->grid.lo[d], &from))
    return false;
  from = at.rest.n ? from : at.rest.c;
  return from >= -BESIDE && from <= BESIDE;
}

/* Notes whether the result of `op` is a coordinate (a block_walk callback). */
static void note_coordinates(void *user, Op *op) {
  Idle *x = user;
  if (op->nresults == 1 && op->code != OP_BLOCK)
    x->coordinate[op->results[0]->id] = is_coordinate(x, op->results[0]);
}

/* A builder directly after the definition of `v`. */
static Builder behind(const Idle *x, const Value *v) {
  Op *next = v->def ? v->def->next : v->block->first;
  return next ? builder_before(x->m->arena, next) : builder_at_end(x->m->arena, v->block);
}

/* Notes `by`, a new value, in `memo` as the replacement of `v`. */
static Value *note(Value **memo, const Value *v, Value *by) {
  by->id = -1;
  memo[v->id] = by;
  return by;
}

/* `v` modulo 2^32, as an i32. */
static Value *twin_of(Idle *x, Value *v) {
  const Op *def = v->def;
  if (v->type == TY_I32)
    return v;
  if (def && def->code == OP_CONVERT && def->operands[0]->type == TY_I32)
    return def->operands[0];
  if (v->id < 0)
    return NULL;
  if (x->twin[v->id])
    return x->twin[v->id];
  bool sums = def && (def->code == OP_ADD || def->code == OP_SUB || def->code == OP_MUL);
  Value *p = sums ? twin_of(x, def->operands[0]) : NULL, *q = sums ? twin_of(x, def->operands[1]) : NULL;
  Builder b = behind(x, v);
  if (p && q)
    return note(x->twin, v, build2(&b, def->code, p, q));
  if (def && def->code == OP_CONST)
    return note(x->twin, v, build_int(&b, TY_I32, (int32_t)(uint64_t)def->cval.i));
  return note(x->twin, v, build_convert(&b, TY_I32, v));
}

/* Did is_coordinate find `v` to be a coordinate? */
static bool was_coordinate(const Idle *x, const Value *v) { return v->id >= 0 && x->coordinate[v->id]; }

/* If all operands of the inside `op` are coordinates, makes it compare in 32 bits. */
static void narrow_inside(Idle *x, Op *op) {
  for (int i = 0; i < op->noperands; i++)
    if (!was_coordinate(x, op->operands[i]))
      return;
  Box *box = ARENA_NEW(x->m->arena, Box);
  *box = *op->box;
  for (int i = 0; i < op->noperands; i++) {
    op->operands[i] = twin_of(x, op->operands[i]);
    box->lo[i] = narrow_bound(x, box->lo[i]);
    box->hi[i] = narrow_bound(x, box->hi[i]);
  }
  op->box = box;
}

/* If the integer comparison `op` is between a coordinate and a value that depends only on params, makes it compare in
 * 32 bits. */
static void narrow_comparison(Idle *x, Op *op) {
  Assumptions s = {.arena = x->c->arena, .ranges = x->ranges};
  Coordinate at;
  int i = was_coordinate(x, op->operands[0]) ? 0 : 1;
  if (!was_coordinate(x, op->operands[i]) || op->operands[!i]->id < 0 ||
      !tile_coordinate(&s, op->operands[!i], 0, &at) || at.varies || at.least || at.most)
    return;
  for (int d = 0; d < PART_AXES; d++)
    if (at.block[d])
      return;
  Builder b = builder_before(x->m->arena, op);
  Affine bound = narrow_bound(x, at.rest);
  Value *by = of(&b, bound);
  by->id = -1;
  op->operands[i] = twin_of(x, op->operands[i]);
  op->operands[!i] = by;
}

/* Makes the idx.clamp `op` of a coordinate with a constant lower end clamp in 32 bits. If the upper end is outside the
 * range of 32 bits, all coordinates are below it, or all above it. */
static void narrow_clamp(Idle *x, Op *op) {
  const Affine *lo = &op->box->lo[0], *hi = &op->box->hi[0];
  if (!was_coordinate(x, op->operands[0]) || lo->n || lo->c < -FARTHEST || lo->c > FARTHEST || op->count ||
      op->off[0] < -BESIDE || op->off[0] > BESIDE)
    return;
  Builder b = builder_before(x->m->arena, op);
  Value *v = build_map(&b, OP_CLAMP, twin_of(x, op->operands[0]), op->off[0], *lo, narrow_bound(x, *hi));
  v->id = -1;
  v = build_convert(&b, TY_I64, v);
  v->id = -1;
  block_replace_uses(x->k->body, op->results[0], v);
}

/* Narrows an op on coordinates to 32 bits (a block_walk callback). */
static void narrow(void *user, Op *op) {
  Idle *x = user;
  if (op->code == OP_INSIDE)
    narrow_inside(x, op);
  else if (op->code == OP_CLAMP)
    narrow_clamp(x, op);
  else if (op->code == OP_LT || op->code == OP_LE || op->code == OP_GT || op->code == OP_GE)
    narrow_comparison(x, op);
}

/* Replaces 64-bit coordinates among the operands of `op` by conversions of the 32-bit ones, unless `op` helps to
 * compute a coordinate (a block_walk callback). */
static void widen(void *user, Op *op) {
  Idle *x = user;
  bool sums = op->nresults == 1 && was_coordinate(x, op->results[0]);
  for (int i = 0; i < op->noperands && !sums; i++) {
    Value *v = op->operands[i];
    if (!was_coordinate(x, v) || op->code == OP_CONVERT)
      continue;
    if (!x->wide[v->id]) {
      Value *t = twin_of(x, v);
      Builder b = behind(x, t->id < 0 ? t : v);
      note(x->wide, v, build_convert(&b, TY_I64, t));
    }
    op->operands[i] = x->wide[v->id];
  }
}

/* ---------------------------------------------------------------- the kernel */

/* Has the module a check with this message that `value` is not negative? */
static bool has_check(const Module *m, Affine value, const char *message) {
  for (int i = 0; i < m->nchecks; i++)
    if (affine_equal(m->checks[i].value, value) && strcmp(m->checks[i].message, message) == 0)
      return true;
  return false;
}

/* Adds a check at launch that `room` is not negative, unless that is known or the same check exists. */
static void add_room(const Idle *x, Affine room, const char *message) {
  Module *m = x->m;
  if ((room.n || room.c < 0) && !has_check(m, room, message))
    ARENA_PUSH(m->arena, m->checks, m->nchecks, ((Check){.value = room, .loc = x->k->loc, .message = message}));
}

/* Adds checks at launch that all coordinates of the grid and of the points beside it fit 32 bits, counted from 0 or
 * from the begin of the grid. */
static void check_extents(const Idle *x) {
  Arena *a = x->m->arena;
  const Box *grid = &x->m->grid;
  for (int d = 0; d < grid->rank; d++) {
    Affine low = affine_add_const(grid->lo[d], FARTHEST), high = affine_sub(a, affine_const(FARTHEST), grid->hi[d]);
    const char *reaches = "the grid reaches beyond %s2^30 in dimension %d; use -edges=apart";
    add_room(x, low, arena_printf(a, reaches, "-", d));
    add_room(x, high, arena_printf(a, reaches, "", d));
    if (grid->lo[d].n)
      add_room(x, affine_add_const(affine_sub(a, grid->lo[d], grid->hi[d]), FARTHEST),
               arena_printf(a, "the grid has more than 2^30 points in dimension %d; use -edges=apart", d));
  }
}

/* Finds the idle blocks of `k` along dimension `d`, the box of blocks to leave out: blocks that begin in the idle box,
 * and end in it, or at the end of all points if the box ends there. False if they are no box. */
static bool find_idle(const Kernel *k, Inner *in, int d) {
  *in = (Inner){.extent = affine_add_const(k->extent[d], -k->over[d]), .begin = -1};
  int64_t to_end;
  bool ends = affine_diff(k->extent[d], k->idle_hi[d], &to_end) && to_end <= 1;
  return !k->over[d] &&
         inner_restrict(in, k->idle_lo[d], affine_add_const(k->idle_hi[d], ends ? 0 : 1 - k->tile[d]), k->tile[d]);
}

/* Replaces the block numbers in the body of x->k by `places`, of 32 bits, which the ops in `before` compute. */
static void put_places(Idle *x, Block *before, Value *const *places) {
  Value *number[MAX_RANK];
  Builder b = builder_at_end(x->m->arena, before);
  for (int d = 0; d < x->k->rank; d++)
    number[d] = build_convert(&b, TY_I64, places[d]);
  inner_renumber(x->k, before, number);
}

void idle_leave_out(PassContext *c, Module *m, Kernel *k) {
  Inner inner[MAX_RANK];
  Value *places[MAX_RANK];
  k->idles = false;
  for (int d = 0; d < k->rank; d++)
    if (!find_idle(k, &inner[d], d))
      return;
  int32_t n = block_renumber(k->body, 0);
  Idle x = {.c = c, .m = m, .k = k, .n = n, .ranges = ranges_numbered(c->arena, m, k, n)};
  x.coordinate = ARENA_ARRAY(c->arena, bool, n + 1);
  x.twin = ARENA_ARRAY(c->arena, Value *, n + 1);
  x.wide = ARENA_ARRAY(c->arena, Value *, n + 1);
  block_walk(k->body, note_coordinates, &x);
  block_walk(k->body, narrow, &x);
  block_walk(k->body, widen, &x);
  check_extents(&x);
  Block *before = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, before);
  b.loc = k->loc;
  inner_settle(m, k, inner);
  build_places(&x, &b, inner, places);
  put_places(&x, before, places);
  k->leaves_out = true;
  for (int d = 0; d < k->rank; d++)
    k->without[d] = inner[d].extent;
  simplify_kernel(c, m, k);
  pass_stat(c, 1, "split-edges", "kernels whose idle blocks are left out: %s", k->name);
}
