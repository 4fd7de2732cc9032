/* thin-regions.c: a version without what only thin regions need, for the tiles that meet none of them: a point source,
 * the row of receivers, a layer of a few points. The body B of a kernel, or that of its interior version, becomes
 *
 *   if meets { B } else { B with tests for thin regions false }
 *
 * As all blocks would take the registers of the first version, a kernel without an interior version becomes two, which
 * are launched beside each other,
 *
 *   @k_thin covers [64, M] by [32, 64] { if meets { B } else { } }     launch @k_thin
 *   @k covers [N, M] by [32, 64] { if meets { } else { B without } }   launch @k beside
 *
 * where the blocks of the first are those between the first and the last that meet a region in each dimension.
 *
 * A test is one that decides an `if` or a `select`: the conjunction of `inside` with a box that is thin in some
 * dimension, and of comparisons of a coordinate with what is the same for all blocks. A tile meets its region if in
 * each dimension that the test names some of its points, as far as threads and loops lead, may lie within the bounds;
 * that is a condition on the block alone (assume.h says how coordinates are taken apart). Tests on the same parts of
 * the block whose bounds differ by constants, as those of the time levels of a tile do, share one condition.
 *
 * A source, a row of receivers, or fields on a few points at an edge concern few tiles. This pass looks at the tests
 * that decide an `if` or a `select` and are about a box that is at most 64 points thick in some dimension (where params
 * say how thick, under their defaults, and at most an eighth of the grid), or about one coordinate. Each is a condition
 * on the block: may any of its points, as far as threads and loops lead, lie in the box? Tests whose bounds differ by
 * constants, as those of the levels of a tile do, share one condition, and a kernel may have eight of them. Where no
 * condition holds the tests are false, and all that only they need goes. The two versions are two kernels, launched
 * beside each other, if the kernel's edges are apart:
 *
 * The first covers the blocks between the first and the last that meet a region, which lets of the module say at
 * launch. Otherwise both are versions in one kernel, which then takes the registers of the one that needs more. On
 * 4096^2 points (acoustic waves of order 8, T = 3, f32, a source and 400 receivers) the kernel of most tiles takes 78
 * registers in place of 237. */
#include <string.h>

#include "passes/kernel/assume.h"
#include "passes/kernel/inner.h"
#include "passes/launch/launch.h"

/* A box no wider than MOST_WIDTH points in some dimension is thin; a kernel may have conditions for so many regions; a
 * body of more ops than MOST_OPS is not made twice, since the driver compiles both. A box whose extent depends on
 * params is thin if it is under their defaults, and has at most one of THIN_SHARE of the grid's points along each
 * dimension. */
enum { MOST_WIDTH = 64, MOST_REGIONS = 8, MOST_OPS = 12000 };

/* The blocks that may meet a region: lo[i] <= u_i <= hi[i] for all n parts u_i of the block. */
typedef struct Region {
  int32_t n;
  Part part[MAX_RANK];
} Region;

/* The pass at work on a kernel: its analysis, the regions found, and by Value.id the tests that are false where none of
 * them is met. scalars: the params' defaults, NULL: not known; least: the grid's least extent under these. thin: some
 * part of the region at hand is. lo, hi: bounds of the first points of blocks that have the version at hand, nbounds
 * along each dimension. */
typedef struct Thin {
  Assumptions a;
  int32_t nregions;
  Region region[MOST_REGIONS];
  bool *is_false;
  int64_t tests, least;
  const Const *scalars;
  bool thin;
  int32_t nbounds[MAX_RANK];
  Affine lo[MAX_RANK][MAX_BOUNDS], hi[MAX_RANK][MAX_BOUNDS];
} Thin;

/* ---------------------------------------------------------------- tests */

/* Adds to `r` that the block may lead coordinate `x` to lie in [lo, hi]. False: there are too many parts. */
static bool add_part(Thin *t, Region *r, const Coordinate *x, Affine lo, Affine hi) {
  bool of_block = false;
  for (int d = 0; d < MAX_RANK; d++)
    of_block |= x->block[d] != 0;
  if (!of_block)
    return true;
  if (r->n == GRID_RANK)
    return false;
  Part *p = &r->part[r->n++];
  *p = (Part){.nlo = 1, .nhi = 1};
  for (int d = 0; d < PART_AXES; d++)
    p->coef[d] = x->block[d];
  p->lo[0] = affine_add_const(affine_sub(t->a.arena, lo, x->rest), -x->most);
  p->hi[0] = affine_add_const(affine_sub(t->a.arena, hi, x->rest), -x->least);
  return true;
}

/* Are there few points from `lo` to `hi`: always, or where all params have their defaults and the grid has many more?
 */
static bool is_thin(const Thin *t, Affine lo, Affine hi) {
  int64_t width;
  if (affine_diff(hi, lo, &width))
    return width < MOST_WIDTH;
  width = t->scalars ? affine_eval(affine_sub(t->a.arena, hi, lo), t->scalars, NULL) : INT64_MAX;
  return width < MOST_WIDTH && width < t->least / THIN_SHARE;
}

/* Adds coordinate `v`, which must lie in [lo, hi]. What cannot be taken apart is left out: more blocks meet the region
 * then. */
static bool add_coordinate(Thin *t, Region *r, const Value *v, Affine lo, Affine hi) {
  Coordinate x;
  if (!tile_coordinate(&t->a, v, 0, &x))
    return true;
  t->thin |= is_thin(t, lo, hi);
  return add_part(t, r, &x, lo, hi);
}

/* Adds the comparison of equal integers `op`, the difference of whose operands must be 0. */
static bool add_equality(Thin *t, Region *r, const Op *op) {
  Coordinate x, y;
  if (!type_is_int(op->operands[0]->type) || !tile_coordinate(&t->a, op->operands[0], 0, &x) ||
      !tile_coordinate(&t->a, op->operands[1], 0, &y))
    return true;
  for (int d = 0; d < PART_AXES; d++)
    x.block[d] -= y.block[d];
  x.rest = affine_sub(t->a.arena, x.rest, y.rest);
  x.least -= y.most;
  x.most -= y.least;
  t->thin = true;
  return add_part(t, r, &x, affine_const(0), affine_const(0));
}

/* Adds what the test `v` asks of the block. False: there are too many parts. */
static bool add_test(Thin *t, Region *r, const Value *v) {
  const Op *op = v->def;
  bool ok = true;
  if (op && op->code == OP_AND)
    return add_test(t, r, op->operands[0]) && add_test(t, r, op->operands[1]);
  if (op && op->code == OP_EQ)
    return add_equality(t, r, op);
  for (int d = 0; op && op->code == OP_INSIDE && d < op->noperands && ok; d++)
    ok = add_coordinate(t, r, op->operands[d], op->box->lo[d], op->box->hi[d]);
  return ok;
}

/* ---------------------------------------------------------------- regions */

/* Are the parts of both of the same blocks, and do their bounds differ by constants? */
static bool are_alike(const Region *x, const Region *y) {
  int64_t diff;
  bool alike = x->n == y->n;
  for (int i = 0; i < x->n && alike; i++) {
    for (int d = 0; d < PART_AXES; d++)
      alike = alike && x->part[i].coef[d] == y->part[i].coef[d];
    alike = alike && affine_diff(x->part[i].lo[0], y->part[i].lo[0], &diff) &&
            affine_diff(x->part[i].hi[0], y->part[i].hi[0], &diff);
  }
  return alike;
}

/* Widens `x` so that it holds all of `y`, which is alike. */
static void widen(Region *x, const Region *y) {
  int64_t diff;
  for (int i = 0; i < x->n; i++) {
    Part *p = &x->part[i];
    const Part *q = &y->part[i];
    if (affine_diff(q->lo[0], p->lo[0], &diff) && diff < 0)
      p->lo[0] = q->lo[0];
    if (affine_diff(q->hi[0], p->hi[0], &diff) && diff > 0)
      p->hi[0] = q->hi[0];
  }
}

/* The part of `r` that is about the blocks of `k` along dimension `d` alone, tile by tile; NULL: there is none. */
static const Part *part_along(const Kernel *k, const Region *r, int d) {
  for (int i = 0; i < r->n; i++) {
    bool alone = r->part[i].coef[d] == k->tile[d];
    for (int e = 0; e < PART_AXES; e++)
      alone = alone && (e == d || !r->part[i].coef[e]);
    if (alone)
      return &r->part[i];
  }
  return NULL;
}

/* Notes what the condition `v` of an interior version, a conjunction of insides of first points of tiles, says of the
 * first point of a block along each dimension. */
static void note_interior(Thin *t, const Value *v) {
  const Op *op = v->def;
  if (op && op->code == OP_AND) {
    note_interior(t, op->operands[0]);
    note_interior(t, op->operands[1]);
  }
  for (int i = 0; op && op->code == OP_INSIDE && i < op->noperands; i++) {
    Linear f = linear_of(t->a.ranges, op->operands[i]);
    int d = f.n == 1 && f.t[0].atom.kind == ATOM_BLOCK ? f.t[0].atom.index : MAX_RANK;
    if (d == MAX_RANK || f.t[0].coef != t->a.ranges->k->tile[d])
      continue;
    if (t->nbounds[d] < MAX_BOUNDS) {
      t->lo[d][t->nbounds[d]] = affine_add_const(op->box->lo[i], -f.c);
      t->hi[d][t->nbounds[d]++] = affine_add_const(op->box->hi[i], -f.c);
    }
  }
}

/* Does no block that has the version at hand meet region `r`, whatever the params are? */
static bool never_meets(const Thin *t, const Region *r) {
  const Kernel *k = t->a.ranges->k;
  int64_t diff;
  for (int d = 0; d < k->rank; d++) {
    const Part *p = part_along(k, r, d);
    for (int i = 0; p && i < t->nbounds[d]; i++)
      if ((affine_diff(p->hi[0], t->lo[d][i], &diff) && diff < 0) ||
          (affine_diff(t->hi[d][i], p->lo[0], &diff) && diff < 0))
        return true;
  }
  return false;
}

/* Adds region `r` to those that are kept apart. False: there is no room. */
static bool add_region(Thin *t, const Region *r) {
  for (int i = 0; i < t->nregions; i++)
    if (are_alike(&t->region[i], r))
      return widen(&t->region[i], r), true;
  if (t->nregions == MOST_REGIONS)
    return false;
  t->region[t->nregions++] = *r;
  return true;
}

/* Looks at the test of an `if` or `select` (a block_walk callback). */
static void note_test(void *user, Op *op) {
  Thin *t = user;
  if ((op->code != OP_IF && op->code != OP_SELECT) || t->is_false[op->operands[0]->id])
    return;
  Region r = {0};
  t->thin = false;
  if (!add_test(t, &r, op->operands[0]) || !t->thin || !r.n || (!never_meets(t, &r) && !add_region(t, &r)))
    return;
  t->is_false[op->operands[0]->id] = true;
  t->tests++;
}

/* ---------------------------------------------------------------- versions */

/* "The block may meet one of the regions." */
static Value *build_meets(Builder *b, const Thin *t) {
  Value *any = NULL;
  for (int i = 0; i < t->nregions; i++) {
    const Region *r = &t->region[i];
    Value *u[MAX_RANK];
    Box box = {.rank = r->n};
    for (int k = 0; k < r->n; k++) {
      u[k] = part_value(b, &r->part[k]);
      box.lo[k] = r->part[k].lo[0];
      box.hi[k] = r->part[k].hi[0];
    }
    Value *meets = build_inside(b, r->n, u, &box);
    any = any ? build2(b, OP_OR, any, meets) : meets;
  }
  return any;
}

/* Makes the tests in `b` false. */
static void make_false(const Thin *t, Block *b) {
  for (Op *op = b->first; op; op = op->next) {
    for (int i = 0; i < op->nblocks; i++)
      make_false(t, op->blocks[i]);
    if (op->nresults != 1 || op->results[0]->id < 0 || !t->is_false[op->results[0]->id])
      continue;
    op->code = OP_CONST;
    op->noperands = 0;
    op->box = NULL;
    op->cval.i = 0;
  }
}

/* The interior version of `k`, NULL: it has none. */
static Op *interior_of(const Kernel *k) {
  for (Op *op = k->body->first; op; op = op->next)
    if (op->flags & IF_INTERIOR)
      return op;
  return NULL;
}

/* Puts a choice in the place of `body`, a kernel's or that of a block's parent; returns it, with empty versions. */
static Op *build_choice(const Thin *t, const Kernel *k, Block **place) {
  Block *chooses = block_new(t->a.arena, (*place)->parent);
  Builder b = builder_at_end(t->a.arena, chooses);
  b.loc = k->loc;
  Op *both = build_if(&b, build_meets(&b, t), 0, NULL);
  *place = chooses;
  return both;
}

/* Makes `body` version `i` of the choice. */
static void set_version(Op *both, int i, Block *body) {
  both->blocks[i] = body;
  body->parent = both;
}

/* Makes two versions of the body at `place` of kernel `k`. */
static void build_versions(Thin *t, const Kernel *k, Block **place) {
  Block *body = *place;
  Op *both = build_choice(t, k, place);
  set_version(both, 0, block_clone(t->a.arena, body, both, NULL));
  set_version(both, 1, body);
  make_false(t, body);
}

/* ---------------------------------------------------------------- two kernels */

/* How many tiles of `tile` points cover the first `x` points. */
static Value *tiles_before(Builder *b, const Module *m, Affine x, int64_t tile) {
  Value *points = build2(b, OP_MAX, build_affine(b, m, x), build_int(b, TY_I64, 0));
  points = build2(b, OP_ADD, points, build_int(b, TY_I64, tile - 1));
  return build2(b, OP_DIV, points, build_int(b, TY_I64, tile));
}

/* The first block along `d` that meets a region (first), or the number of those up to the last. */
static Value *block_bound(Builder *b, const Module *m, const Kernel *k, const Thin *t, int d, bool first) {
  Value *bound = NULL;
  for (int i = 0; i < t->nregions; i++) {
    const Part *p = part_along(k, &t->region[i], d);
    Value *x = tiles_before(b, m, first ? p->lo[0] : affine_add_const(p->hi[0], 1), k->tile[d]);
    bound = bound ? build2(b, first ? OP_MIN : OP_MAX, bound, x) : x;
  }
  return first ? bound : build2(b, OP_MIN, bound, tiles_before(b, m, k->extent[d], k->tile[d]));
}

/* A new let of `m`, about kernel `k` and dimension `d`, that `expr`, which yields `v`, computes: its number. */
static int32_t add_let(Module *m, const Kernel *k, const char *what, int d, Builder *b, Value *v) {
  build_yield(b, 1, &v);
  Scalar let = {.name = arena_printf(m->arena, "%s.%s.%d", k->name, what, d), .type = TY_I64, .expr = b->block};
  ARENA_PUSH(m->arena, m->scalars, m->nscalars, let);
  return m->nscalars - 1;
}

/* The blocks of `k` along `d` between the first and the last that may meet a region, as lets. */
static Inner hull_along(Module *m, const Kernel *k, const Thin *t, int d) {
  Inner in = {.extent = k->extent[d], .begin = -1};
  for (int i = 0; i < t->nregions; i++)
    if (!part_along(k, &t->region[i], d))
      return in;
  Builder b = builder_at_end(m->arena, block_new(m->arena, NULL));
  in.begin = add_let(m, k, "thin.begin", d, &b, block_bound(&b, m, k, t, d, true));
  b = builder_at_end(m->arena, block_new(m->arena, NULL));
  Value *end = block_bound(&b, m, k, t, d, false), *begin = build_affine(&b, m, affine_scalar(m->arena, in.begin));
  Value *count = build2(&b, OP_MAX, build2(&b, OP_SUB, end, begin), build_int(&b, TY_I64, 0));
  count = build2(&b, OP_MUL, count, build_int(&b, TY_I64, k->tile[d]));
  in.extent = affine_scalar(m->arena, add_let(m, k, "thin.points", d, &b, count));
  return in;
}

/* Can the blocks of `k` that meet regions be a kernel of their own? */
static bool may_part(const Kernel *k) {
  bool even = true;
  for (int d = 0; d < k->rank; d++)
    even = even && !k->over[d];
  return even && !interior_of(k) && inner_is_worthwhile(k);
}

/* Adds the kernel of the blocks of number `i` that meet regions, and has that leave them out. Its number. */
static int split_kernel(Module *m, int i, Thin *t) {
  Kernel *k = &m->kernels[i], thin = *k;
  Inner hull[MAX_RANK];
  Block *body = k->body;
  for (int d = 0; d < k->rank; d++)
    hull[d] = hull_along(m, k, t, d);
  thin.name = inner_name(m, k, "thin");
  thin.arrays = ARENA_ARRAY(m->arena, Array, k->narrays + 1);
  if (k->narrays)
    memcpy(thin.arrays, k->arrays, sizeof *k->arrays * (size_t)k->narrays);
  Op *rest = build_choice(t, k, &k->body);
  thin.body = body;
  Op *meets = build_choice(t, k, &thin.body);
  set_version(meets, 0, block_clone(m->arena, body, meets, NULL));
  set_version(rest, 1, body);
  make_false(t, body);
  inner_move(m, &thin, hull);
  for (int d = 0; d < k->rank; d++)
    thin.extent[d] = hull[d].extent;
  ARENA_PUSH(m->arena, m->kernels, m->nkernels, thin);
  return m->nkernels - 1;
}

/* ---------------------------------------------------------------- the module */

/* Is kernel `k` launched to make time steps? */
static bool makes_steps(const Module *m, const Kernel *k) {
  bool makes = false;
  const HostSeq *q;
  for (int i = 0; (q = host_part(m, i)); i++)
    for (int j = 0; j < q->nops && q->steps; j++) {
      const HostOp *op = &q->ops[j];
      const Kernel *own = op->kind == HOST_LAUNCH ? &m->kernels[op->a] : NULL;
      makes = makes || (own && (own == k || own->instead - 1 == k - m->kernels));
    }
  return makes;
}

/* What thin regions kernel `k` has, none of an interior version's own where there is one. */
static Thin find_thin(PassContext *c, const Module *m, const Kernel *k, bool inner) {
  const Op *interior = interior_of(k);
  Block *body = interior ? interior->blocks[0] : k->body;
  Thin t = {.a = {.arena = c->arena}};
  if (!makes_steps(m, k) || k->leaves_out || block_has_signals(k->body) || (!inner && inner_ops(body) > MOST_OPS))
    return t;
  t.a.ranges = ranges_new(c->arena, m, k, k->body);
  t.scalars = default_scalars(m);
  t.least = INT64_MAX;
  for (int d = 0; d < m->grid.rank && t.scalars; d++) {
    int64_t extent = affine_eval(box_extent(c->arena, &m->grid, d), t.scalars, NULL);
    t.least = extent < t.least ? extent : t.least;
  }
  t.is_false = ARENA_ARRAY(c->arena, bool, t.a.ranges->n);
  for (int d = 0; d < k->rank; d++) {
    t.nbounds[d] = 1;
    t.hi[d][0] = affine_add_const(k->extent[d], -1);
  }
  if (interior)
    note_interior(&t, interior->operands[0]);
  block_walk(body, note_test, &t);
  return t;
}

/* Makes versions in kernel number `i`, or leaves it without what thin regions need (`inner`, or if no block meets one),
 * or (`apart`) makes a kernel of the blocks that need it: its number, else -1. */
static int part_kernel(PassContext *c, Module *m, int i, Thin *t, bool inner, bool apart) {
  Kernel *k = &m->kernels[i];
  Op *interior = interior_of(k);
  Block **place = interior ? &interior->blocks[0] : &k->body;
  int thin = -1;
  if (inner || !t->nregions)
    make_false(t, *place);
  else if (apart)
    thin = split_kernel(m, i, t);
  else
    build_versions(t, k, place);
  pass_stat(c, t->tests, "thin-regions", "tests that tiles of kernel %s do without where they meet no thin region",
            m->kernels[i].name);
  return thin;
}

/* Is kernel `i` to be parted, and with it the one that is launched instead of it, or that it is launched instead of? */
static bool both_part(const Module *m, const Thin *t, int i) {
  bool both = t[i].nregions && may_part(&m->kernels[i]);
  for (int k = 0; k < m->nkernels; k++)
    if (m->kernels[k].instead - 1 == i || m->kernels[i].instead - 1 == k)
      both = both && t[k].nregions && may_part(&m->kernels[k]);
  return both;
}

/* The pass: every kernel that makes steps, but for those of the edges. */
Module *pass_thin_regions(PassContext *c, Module *m, int n, const PassOption *o) {
  bool ok = true, inner = pass_option_int(c, "thin-regions", n, o, "inner", 0, 1, 0, &ok);
  int count = m->nkernels;
  if (!ok)
    return NULL;
  module_renumber(m);
  Thin *t = ARENA_ARRAY(c->arena, Thin, count + 1);
  bool *apart = ARENA_ARRAY(c->arena, bool, count + 1);
  int32_t *part = ARENA_ARRAY(c->arena, int32_t, count + 1);
  for (int i = 0; i < count; i++)
    t[i] = find_thin(c, m, &m->kernels[i], inner);
  for (int i = 0; i < count; i++)
    apart[i] = !inner && both_part(m, t, i);
  for (int i = 0; i < count; i++)
    part[i] = t[i].tests ? part_kernel(c, m, i, &t[i], inner, apart[i]) : -1;
  for (int i = 0; i < count; i++)
    if (part[i] >= 0 && m->kernels[i].instead)
      m->kernels[part[i]].instead = part[m->kernels[i].instead - 1] + 1;
  HostSeq *q;
  for (int i = 0; (q = host_part(m, i)); i++)
    if (q->steps)
      host_launch_beside(m, q, count, part);
  for (int i = 0; i < count; i++)
    if (t[i].tests)
      simplify_kernel(c, m, &m->kernels[i]);
  for (int i = count; i < m->nkernels; i++)
    simplify_kernel(c, m, &m->kernels[i]);
  return m;
}
