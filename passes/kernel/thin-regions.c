/* thin-regions.c: separates the tiles that meet thin regions (a point source, a row of receivers, a layer of a few
 * points) from the others, so that the others need neither the tests nor the registers of these regions. The body B of
 * a kernel, or of its interior version, becomes
 *
 *     if meets { B } else { B with tests for thin regions false }
 *
 * As one kernel, all blocks would take the registers of the first version. So a kernel without an interior version
 * becomes two kernels, launched concurrently (`beside`), if it pays to split its edges off (inner_is_worthwhile):
 *
 *     @k_thin covers [64, M] by [32, 64] { if meets { B } else { } }     launch @k_thin
 *     @k covers [N, M] by [32, 64] { if meets { } else { B without } }   launch @k beside
 *
 * @k_thin has the blocks between the first and the last one that meet a region in each dimension; lets compute them at
 * launch.
 *
 * A thin-region test decides an `if` or a `select`, and is a conjunction of `inside` ops and of comparisons of a
 * coordinate with a value that is the same for all blocks. Its box must be at most 64 points thick in some dimension;
 * if the thickness depends on params, it must be so under their defaults and be at most an eighth of the grid. A tile
 * meets the region if in each dimension of the test some of its points, over all threads and loop rounds, may lie
 * within the bounds. That is a condition on the block alone (assume.h describes how coordinates are split). Tests on
 * the same block parts whose bounds differ by constants, such as those of the time levels of a tile, share one
 * condition; a kernel has at most eight conditions. Where no condition holds, the tests are false, and all ops that
 * only they need disappear.
 *
 * 4096^2 points, acoustic waves of order 8, T = 3, f32, a source and 400 receivers: the kernel of most tiles takes 78
 * registers in place of 237. */
#include <string.h>

#include "passes/kernel/assume.h"
#include "passes/kernel/inner.h"
#include "passes/launch/launch.h"

/* A box narrower than MOST_WIDTH points in some dimension is thin. If its width depends on params, it is thin if it is
 * so under their defaults, and narrower than 1 / THIN_SHARE of the grid's least extent. A kernel has conditions for at
 * most MOST_REGIONS regions. A body of more than MOST_OPS ops is not duplicated, because the driver compiles both
 * copies. */
enum { MOST_WIDTH = 64, MOST_REGIONS = 8, MOST_OPS = 12000 };

/* The blocks that may meet a region: those with lo[i] <= u_i <= hi[i] for each of the n parts u_i. */
typedef struct Region {
  int32_t n;
  Part part[MAX_RANK];
} Region;

/* The state of the pass on a kernel: its analysis, the regions found, and by Value.id the tests that are false where no
 * region is met. scalars: the default params, NULL: not known; least: the grid's least extent under them. thin: the
 * current region is thin in some dimension. lo, hi: bounds of the first points of the blocks that run the current
 * version, nbounds along each dimension. */
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

/* Adds to `r` the condition that coordinate `x` of some point of the block may lie in [lo, hi]. False if there are too
 * many parts. */
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

/* Are there few points from `lo` to `hi`: always, or, under the default params, few in comparison with the grid? */
static bool is_thin(const Thin *t, Affine lo, Affine hi) {
  int64_t width;
  if (affine_diff(hi, lo, &width))
    return width < MOST_WIDTH;
  width = t->scalars ? affine_eval(affine_sub(t->a.arena, hi, lo), t->scalars, NULL) : INT64_MAX;
  return width < MOST_WIDTH && width < t->least / THIN_SHARE;
}

/* Adds the condition that coordinate `v` lies in [lo, hi]. A coordinate of unknown form adds nothing; then more blocks
 * count as meeting the region. */
static bool add_coordinate(Thin *t, Region *r, const Value *v, Affine lo, Affine hi) {
  Coordinate x;
  if (!tile_coordinate(&t->a, v, 0, &x))
    return true;
  t->thin |= is_thin(t, lo, hi);
  return add_part(t, r, &x, lo, hi);
}

/* Adds the condition that the operands of the equality `op` are equal. */
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

/* Adds the conditions of test `v` on the block. False if there are too many parts. */
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

/* Do both regions have the same block parts, with bounds that differ by constants? */
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

/* Widens `x` so that it contains `y`, a region that is alike. */
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

/* The part of `r` that depends only on the block number along dimension `d`, in steps of a tile of `k`; NULL if there
 * is none. */
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

/* Notes the bounds that condition `v` of an interior version, a conjunction of insides of first points of tiles, sets
 * to the first point of a block along each dimension. */
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

/* Can no block that runs the current version meet region `r`, for any params? */
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

/* Adds region `r`, or merges it with a region that is alike. False if there is no room. */
static bool add_region(Thin *t, const Region *r) {
  for (int i = 0; i < t->nregions; i++)
    if (are_alike(&t->region[i], r))
      return widen(&t->region[i], r), true;
  if (t->nregions == MOST_REGIONS)
    return false;
  t->region[t->nregions++] = *r;
  return true;
}

/* Analyses the test of an `if` or `select` (a block_walk callback). */
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

/* Builds the condition that the block may meet one of the regions. */
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

/* Replaces the tests in `b` by false. */
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

/* The op with the interior version of `k`, NULL if there is none. */
static Op *interior_of(const Kernel *k) {
  for (Op *op = k->body->first; op; op = op->next)
    if (op->flags & IF_INTERIOR)
      return op;
  return NULL;
}

/* Replaces the block at *place, a kernel's body or an interior version, by a block with a choice under the condition
 * "meets". Returns the choice, whose versions are empty. */
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

/* Makes two versions of the block at `place` in kernel `k`. */
static void build_versions(Thin *t, const Kernel *k, Block **place) {
  Block *body = *place;
  Op *both = build_choice(t, k, place);
  set_version(both, 0, block_clone(t->a.arena, body, both, NULL));
  set_version(both, 1, body);
  make_false(t, body);
}

/* ---------------------------------------------------------------- two kernels */

/* Builds the number of tiles of `tile` points that cover the first `x` points. */
static Value *tiles_before(Builder *b, const Module *m, Affine x, int64_t tile) {
  Value *points = build2(b, OP_MAX, build_affine(b, m, x), build_int(b, TY_I64, 0));
  points = build2(b, OP_ADD, points, build_int(b, TY_I64, tile - 1));
  return build2(b, OP_DIV, points, build_int(b, TY_I64, tile));
}

/* Builds the number of the first block along `d` that meets a region (`first`), or one more than the number of the
 * last. */
static Value *block_bound(Builder *b, const Module *m, const Kernel *k, const Thin *t, int d, bool first) {
  Value *bound = NULL;
  for (int i = 0; i < t->nregions; i++) {
    const Part *p = part_along(k, &t->region[i], d);
    Value *x = tiles_before(b, m, first ? p->lo[0] : affine_add_const(p->hi[0], 1), k->tile[d]);
    bound = bound ? build2(b, first ? OP_MIN : OP_MAX, bound, x) : x;
  }
  return first ? bound : build2(b, OP_MIN, bound, tiles_before(b, m, k->extent[d], k->tile[d]));
}

/* Adds a let to `m` for kernel `k` and dimension `d`, whose code is at `b` and yields `v`. Returns its number. */
static int32_t add_let(Module *m, const Kernel *k, const char *what, int d, Builder *b, Value *v) {
  build_yield(b, 1, &v);
  Scalar let = {.name = arena_printf(m->arena, "%s.%s.%d", k->name, what, d), .type = TY_I64, .expr = b->block};
  ARENA_PUSH(m->arena, m->scalars, m->nscalars, let);
  return m->nscalars - 1;
}

/* The range of blocks of `k` along `d` from the first to the last that may meet a region, as lets. */
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

/* Can the blocks of `k` that meet regions get a kernel of their own? */
static bool may_part(const Kernel *k) {
  bool even = true;
  for (int d = 0; d < k->rank; d++)
    even = even && !k->over[d];
  return even && !interior_of(k) && inner_is_worthwhile(k);
}

/* Adds a kernel for the blocks of kernel `i` that meet regions, and makes kernel `i` leave these out. Returns the new
 * kernel's number. */
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

/* Is kernel `k` launched in time steps? */
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

/* The thin regions of kernel `k`; if it has an interior version, only those tested there. inner: the body will not be
 * duplicated. */
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

/* Removes what thin regions need from kernel number `i` (if `inner`, or if no block meets a region); else moves the
 * blocks that meet regions to a kernel of their own (`apart`) or makes two versions in one kernel. Returns the new
 * kernel's number, or -1. */
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

/* Can the blocks of kernel `i` be moved to a kernel of their own, and those of the kernels that it is launched instead
 * of, or that are launched instead of it? */
static bool both_part(const Module *m, const Thin *t, int i) {
  bool both = t[i].nregions && may_part(&m->kernels[i]);
  for (int k = 0; k < m->nkernels; k++)
    if (m->kernels[k].instead - 1 == i || m->kernels[i].instead - 1 == k)
      both = both && t[k].nregions && may_part(&m->kernels[k]);
  return both;
}

/* The pass: every kernel that makes time steps, except those of edges. */
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
