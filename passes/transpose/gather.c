/* gather.c: turns the contributions of a stencil's pieces into two stencils. The first computes, at the pieces' points,
 * the values that other points gather, in temp fields, and adds the contributions to the point itself; the second
 * gathers. */
#include "passes/transpose/gather.h"

#include "passes/base/tuning.h"

/* The least of x - y - off and x - z - off, as far as they are known; INT64_MAX if neither is. */
static int64_t at_most(Affine x, Affine y, Affine z, int64_t off) {
  int64_t d, best = INT64_MAX;
  if (affine_diff(x, y, &d))
    best = d - off;
  if (affine_diff(x, z, &d) && d - off < best)
    best = d - off;
  return best;
}

/* How far accesses at offset `off` from the points of `box` may lie beyond end `end` of dimension `d` of field `f` of
 * m; <= 0: they stay inside. INT64_MAX: not known. */
static int64_t leaves(const Gather *g, const Box *box, int f, int d, int end, int64_t off) {
  const Box *grid = &g->x->m->grid, *in = &g->x->m->fields[f].box;
  if (!end)
    return at_most(in->lo[d], box->lo[d], grid->lo[d], off);
  int64_t a, best = INT64_MAX;
  if (affine_diff(box->hi[d], in->hi[d], &a))
    best = a + off;
  if (affine_diff(grid->hi[d], in->hi[d], &a) && a + off < best)
    best = a + off;
  return best;
}

/* The region of the derivatives with respect to field `f` of m. */
static const Box *bar_box(const Transpose *x, int f) { return &x->b->fields[x->bar[f]].box; }

/* Does the derivative with respect to a periodic field gather around the edge in dimension `d`? Then temp field `k`
 * gets the width of that field there. False after reporting that it may have to be wider. */
static bool goes_around(Gather *g, const Contribution *c, int d, KeptBase *k) {
  const Box *box = c->over, *in = &g->x->m->fields[c->field].box;
  bool all = affine_equal(box->lo[d], in->lo[d]) && affine_equal(box->hi[d], in->hi[d]);
  if (!all && leaves(g, box, c->field, d, 0, c->off[d]) <= 0 && leaves(g, box, c->field, d, 1, c->off[d]) <= 0)
    return true;
  if (!all && (leaves(g, box, c->field, d, 0, 0) > 0 || leaves(g, box, c->field, d, 1, 0) > 0)) {
    diag_error(g->x->c->diags, c->loc,
               "the gradient of a read of '%s' beyond its periodic edge is not computed where the stencil's region may "
               "reach beyond the field's in dimension %d, by params at least; --device=ref has it for any region",
               g->x->m->fields[c->field].name, d);
    return false;
  }
  k->around[d] = true;
  k->wider |= !all;
  k->box.lo[d] = in->lo[d];
  k->box.hi[d] = in->hi[d];
  return true;
}

/* The field of b that code `v` of the first stencil reads at the point itself, -1 if `v` is no such access. */
static int32_t field_here(const Value *v) {
  for (int d = 0; d < MAX_RANK; d++)
    if (v->def->code == OP_ACCESS && v->def->off[d])
      return -1;
  return v->def->code == OP_ACCESS ? v->def->sym : -1;
}

/* The derivative with respect to a target of the stencil that already holds the values for `k`, for contribution `c`;
 * -1 if there is none. The stencil writes all of that target, so the derivative with respect to its earlier value is
 * new, and until that is written, together with the gathered sums, the old one is still in memory. */
static int32_t bar_that_has(const Gather *g, const KeptBase *k, const Contribution *c) {
  const Transpose *x = g->x;
  int target = -1;
  for (int f = 0; f < x->m->nfields; f++)
    if (x->active[f] && g->set[f] && g->whole[f] && !g->own[f] && field_here(c->term.base) == x->bar[f])
      target = f;
  if (target < 0 || k->wider || !box_equal(bar_box(x, target), &k->box) ||
      (g->hit[target] && (x->m->fields[target].temp || !box_equal(bar_box(x, c->field), &k->box))))
    return -1;
  for (int p = 0; p < g->st->npieces; p++)
    if (k->bases[p] && field_here(k->bases[p]) != x->bar[target])
      return -1;
  for (int d = 0; d < x->m->grid.rank; d++)
    if (k->around[d] != (x->b->fields[x->bar[target]].outside[d] == OUTSIDE_PERIODIC))
      return -1;
  return x->bar[target];
}

/* The field with the base of contribution `c`: a temp field, made if there is none yet, or a derivative that already
 * holds it. */
static int32_t keep(Gather *g, const Contribution *c) {
  Transpose *x = g->x;
  int rank = x->m->grid.rank;
  KeptBase k = {.bases = c->bases, .box = *c->over};
  for (int d = 0; d < rank; d++)
    if (x->m->fields[c->field].outside[d] == OUTSIDE_PERIODIC && !goes_around(g, c, d, &k))
      x->failed = true;
  for (int i = 0; i < g->nkept; i++) {
    bool same = box_equal(&g->kept[i].box, &k.box);
    for (int p = 0; p < g->st->npieces; p++)
      same = same && g->kept[i].bases[p] == k.bases[p];
    for (int d = 0; d < rank; d++)
      same = same && g->kept[i].around[d] == k.around[d];
    if (same)
      return g->kept[i].field;
  }
  Field f = {.name = arena_printf(x->a, "%s.bar.%d", g->st->name, x->b->nfields),
             .type = c->term.base->type,
             .box = k.box,
             .temp = true,
             .loc = c->loc};
  for (int d = 0; d < MAX_RANK; d++)
    f.outside[d] = d < rank && k.around[d] ? OUTSIDE_PERIODIC : OUTSIDE_CONST;
  k.field = bar_that_has(g, &k, c);
  k.is_bar = k.field >= 0;
  k.field = k.is_bar ? k.field : transpose_field(x, f);
  ARENA_PUSH(x->a, g->kept, g->nkept, k);
  return k.field;
}

/* ---- what sizes say */

/* Makes the backward program check that `value` is at least 0. */
static void need(Gather *g, int f, int d, Affine value) {
  Transpose *x = g->x;
  Check check = {.value = value, .loc = g->st->loc};
  check.message =
      arena_printf(x->a, "the gradient needs more points in dimension %d of field '%s'", d, x->m->fields[f].name);
  for (int i = 0; i < x->b->nchecks; i++)
    if (affine_equal(x->b->checks[i].value, value))
      return;
  if (value.n || value.c < 0)
    ARENA_PUSH(x->a, x->b->checks, x->b->nchecks, check);
}

/* Is `most` >= `least`, as far as sizes are known? Launches check the rest. */
static bool is_behind(const Gather *g, Affine most, Affine least) {
  const Const *sizes = g->x->c->sizes;
  int64_t k;
  if (affine_diff(most, least, &k))
    return k > 0;
  return !sizes || affine_eval(affine_sub(g->x->a, most, least), sizes, NULL) >= 0;
}

/* Is `value` at least 0 wherever the program runs, because launches check it? */
static bool is_sure(const Gather *g, Affine value) {
  const Module *m = g->x->m;
  int64_t more;
  bool sure = affine_diff(value, affine_const(0), &more) && more >= 0;
  for (int i = 0; i < m->nchecks && !sure; i++)
    sure = !m->checks[i].covered && !m->checks[i].unless_empty[0] && affine_diff(value, m->checks[i].value, &more) &&
           more >= 0;
  return sure;
}

/* Does `box` lie inside box `in` wherever the program runs? */
static bool is_within(const Gather *g, const Box *box, const Box *in) {
  bool within = true;
  for (int d = 0; d < g->x->m->grid.rank; d++)
    within = within && is_sure(g, affine_sub(g->x->a, box->lo[d], in->lo[d])) &&
             is_sure(g, affine_sub(g->x->a, in->hi[d], box->hi[d]));
  return within;
}

/* ---- the first stencil */

/* Does the contribution go to the point itself, and does the derivative exist at all points of the piece? */
static bool is_here(const Gather *g, const Contribution *c) {
  const Box *in = bar_box(g->x, c->field);
  for (int d = 0; d < g->x->m->grid.rank; d++)
    if (c->off[d])
      return false;
  return box_equal(in, &g->x->m->grid) || is_within(g, g->undo[c->piece].box, in);
}

void piece_yield(Arena *a, Piece *p, Value ***values, int32_t field, Value *v) {
  int n = p->ntargets;
  ARENA_PUSH(a, *values, n, v);
  ARENA_PUSH(a, p->targets, p->ntargets, field);
  for (int i = p->ntargets - 1; i > 0 && p->targets[i - 1] > p->targets[i]; i--) {
    int32_t t = p->targets[i];
    Value *w = (*values)[i];
    p->targets[i] = p->targets[i - 1];
    p->targets[i - 1] = t;
    (*values)[i] = (*values)[i - 1];
    (*values)[i - 1] = w;
  }
}

void stencil_add_target(Arena *a, Stencil *st, int32_t target) {
  int i = 0;
  while (i < st->ntargets && st->targets[i] < target)
    i++;
  if (i < st->ntargets && st->targets[i] == target)
    return;
  ARENA_PUSH(a, st->targets, st->ntargets, target);
  for (int k = st->ntargets - 1; k > i; k--)
    st->targets[k] = st->targets[k - 1];
  st->targets[i] = target;
}

/* The derivative with respect to field `f` of m after the first stencil, at the points of piece number `k`; NULL:
 * unchanged. */
static Value *own_value(Gather *g, int k, int f) {
  Transpose *x = g->x;
  Undo *u = &g->undo[k];
  static const int64_t here[MAX_RANK];
  bool target = false, any = false;
  for (int t = 0; t < u->ntargets; t++)
    target = target || u->targets[t] == f;
  Type type = x->b->fields[x->bar[f]].type;
  Value *sum = NULL;
  if (!target && !x->zero[f])
    sum = build_access(&u->b, type, x->bar[f], here, x->m->grid.rank);
  for (int i = 0; i < g->n && g->own[f]; i++)
    if (g->list[i].piece == k && g->list[i].field == f) {
      Value *v = build_convert(&u->b, type, term_value(&u->b, g->list[i].term));
      sum = sum ? build2(&u->b, OP_ADD, sum, v) : v;
      any = true;
    }
  if (!any && (!target || x->zero[f] || (g->whole[f] && !g->own[f])))
    return NULL;
  return sum ? sum : build_float(&u->b, type, 0);
}

/* The contribution of piece number `k` to the derivative with respect to `field`, a scalar or a launch-time array,
 * added to the value of field `before` of b (-1: to nothing). NULL: there is none. */
static Value *shared_value(Gather *g, int k, int field, int32_t before) {
  Undo *u = &g->undo[k];
  static const int64_t here[MAX_RANK];
  Value *sum = NULL;
  for (int i = 0; i < g->n; i++)
    if (g->list[i].piece == k && g->list[i].field == field) {
      Value *v = build_convert(&u->b, TY_F64, term_value(&u->b, g->list[i].term));
      if (!sum && before >= 0)
        sum = build_access(&u->b, TY_F64, before, here, g->x->m->grid.rank);
      sum = sum ? build2(&u->b, OP_ADD, sum, v) : v;
    }
  return sum;
}

int32_t left_field(Transpose *x, const Undo *u, const char *name, Type t) {
  Field f = {.name = arena_printf(x->a, "%s.%d", name, x->b->nfields), .type = t, .box = *u->box};
  int32_t field = transpose_field(x, f);
  ARENA_PUSH(x->a, x->b->inits, x->b->ninits, transpose_zero(x, field));
  return field;
}

/* Makes the piece store derivatives with respect to elements of arrays, and the elements' numbers, for the launcher. */
static void leave_elements(Gather *g, Undo *u, Piece *p, Value ***values) {
  Transpose *x = g->x;
  for (int i = 0; i < u->nelements; i++) {
    const ElementShare *e = &u->elements[i];
    const char *array = x->m->param_arrays[e->array].name;
    int32_t bar = left_field(x, u, arena_printf(x->a, "%s.bar", array), TY_F64),
            number = left_field(x, u, arena_printf(x->a, "%s.number", array), TY_I64);
    piece_yield(x->a, p, values, bar, e->bar);
    piece_yield(x->a, p, values, number, e->number);
    ARENA_PUSH(x->a, x->facts->elements, x->facts->nelements,
               ((AdjointElements){x->b->fields[bar].name, x->b->fields[number].name, array}));
  }
}

/* Makes the piece store its contributions to derivatives with respect to numbers that the step updates; they are added
 * up later. */
static void leave_shares(Gather *g, int k, Piece *p, Value ***values) {
  Transpose *x = g->x;
  for (int i = 0; i < x->m->nparam_arrays; i++) {
    Value *v = x->states[i].bar == i ? shared_value(g, k, -1 - x->m->nscalars - i, -1) : NULL;
    if (!v)
      continue;
    int32_t field = left_field(x, &g->undo[k], arena_printf(x->a, "%s.share", x->m->param_arrays[i].name), TY_F64);
    piece_yield(x->a, p, values, field, v);
    ARENA_PUSH(x->a, x->shares, x->nshares, ((StateShare){i, field}));
  }
}

/* Are all pieces of the stencil thin regions of the grid? */
static bool all_thin(const Gather *g, const Stencil *st) {
  for (int k = 0; k < st->npieces; k++)
    if (!is_thin_box(g, &st->pieces[k].box))
      return false;
  return true;
}

/* Adds the first stencil to the step; if all pieces are thin, one stencil for each, because a single stencil would
 * visit the points between them, too. Each point reads and writes only its own derivatives, so pieces may be computed
 * one after the other. */
static void add_first(Gather *g, const Stencil *st) {
  if (st->npieces < 2 || !all_thin(g, st)) {
    transpose_stencil(g->x, *st);
    return;
  }
  for (int k = 0; k < st->npieces; k++) {
    Stencil one = {.name = st->name, .loc = st->loc};
    for (int t = 0; t < st->pieces[k].ntargets; t++)
      stencil_add_target(g->x->a, &one, st->pieces[k].targets[t]);
    ARENA_PUSH(g->x->a, one.pieces, one.npieces, st->pieces[k]);
    transpose_stencil(g->x, one);
  }
}

/* Builds the first stencil. */
static void compute(Gather *g) {
  Transpose *x = g->x;
  Module *m = x->m;
  Stencil out = {.name = arena_printf(x->a, "%s.back", g->st->name), .loc = g->st->loc};
  for (int k = 0; k < g->st->npieces; k++) {
    Undo *u = &g->undo[k];
    Piece p = {.box = *u->box, .body = u->b.block, .loc = g->st->pieces[k].loc};
    Value **values = NULL;
    for (int f = 0; f < m->nfields; f++) {
      Value *v = x->active[f] && (g->own[f] || g->set[f]) ? own_value(g, k, f) : NULL;
      if (v)
        piece_yield(x->a, &p, &values, x->bar[f], v);
    }
    for (int s = 0; s < m->nscalars; s++) {
      Value *v = x->scalar_active[s] ? shared_value(g, k, -1 - s, x->scalar_bar[s]) : NULL;
      if (v)
        piece_yield(x->a, &p, &values, x->scalar_bar[s], v);
    }
    for (int i = 0; i < g->nkept; i++)
      if (g->kept[i].bases[k] && !g->kept[i].is_bar)
        piece_yield(x->a, &p, &values, g->kept[i].field, (Value *)g->kept[i].bases[k]);
    leave_elements(g, u, &p, &values);
    leave_shares(g, k, &p, &values);
    u->b.loc = p.loc;
    build_yield(&u->b, p.ntargets, values);
    for (int t = 0; t < p.ntargets; t++)
      stencil_add_target(x->a, &out, p.targets[t]);
    if (p.ntargets)
      ARENA_PUSH(x->a, out.pieces, out.npieces, p);
  }
  for (int i = 0; i < g->nkept; i++)
    if (g->kept[i].wider)
      transpose_stencil(x, transpose_zero(x, g->kept[i].field));
  if (out.npieces)
    add_first(g, &out);
}

/* ---- the second stencil */

/* Copies value `v` of a piece's code, which is the same at all points, to `b`. */
static Value *copy_value(Builder *b, const Value *v, Value **memo) {
  const Op *op = v->def;
  Value *operands[8];
  if (memo[v->id])
    return memo[v->id];
  for (int i = 0; i < op->noperands; i++)
    operands[i] = copy_value(b, op->operands[i], memo);
  Value *out = op->code == OP_CONST    ? build_const(b, v->type, op->cval)
               : op->code == OP_SCALAR ? build_scalar(b, v->type, op->sym)
               : op->code == OP_STEP   ? build_step(b)
                                       : build_op(b, op->code, v->type, op->noperands, operands)->results[0];
  return memo[v->id] = out;
}

/* Copies the condition `v` of a piece's code on its point's coordinates to `b`, for the point at offset `off`. */
static Value *copy_condition(Builder *b, const Value *v, const int64_t *off) {
  const Op *op = v->def;
  Value *operands[8];
  if (op->code == OP_INDEX) {
    Value *i = build_dim(b, OP_INDEX, op->sym);
    return off[op->sym] ? build2(b, OP_ADD, i, build_int(b, i->type, off[op->sym])) : i;
  }
  for (int i = 0; i < op->noperands; i++)
    operands[i] = copy_condition(b, op->operands[i], off);
  return op->code == OP_CONST    ? build_const(b, v->type, op->cval)
         : op->code == OP_SCALAR ? build_scalar(b, v->type, op->sym)
         : op->code == OP_STEP   ? build_step(b)
                                 : build_op(b, op->code, v->type, op->noperands, operands)->results[0];
}

/* A place from which a point gathers: the point at offset `by`. It counts only for the point `from` points from end
 * `end` of the field (end -1: for all points). */
typedef struct Place {
  int64_t by, from;
  int end;
} Place;
enum { MOST_PLACES = 33 };

/* The offsets, in dimension `d`, of the points j whose access at offset off[d] leads to a given point, in `out`.
 * Returns their number; 0 after reporting that they are not known. */
static int places(Gather *g, const Contribution *c, int d, Place *out) {
  const Field *f = &g->x->m->fields[c->field];
  int n = 0;
  out[n++] = (Place){-c->off[d], 0, -1};
  if (f->outside[d] == OUTSIDE_NONE || f->outside[d] == OUTSIDE_CONST || f->outside[d] == OUTSIDE_PERIODIC ||
      field_lacks(f, d))
    return n;
  for (int end = 0; end < 2; end++) {
    OutsideRule r = outside_end(f->outside[d], end);
    if (r != OUTSIDE_CLAMP && r != OUTSIDE_MIRROR && r != OUTSIDE_HALF) {
      diag_error(g->x->c->diags, c->loc,
                 "the gradient of a read of '%s' beyond its edge by '%s' is not computed yet; use clamp or mirror",
                 f->name, outside_name(r));
      return 0;
    }
    int64_t most = leaves(g, c->over, c->field, d, end, c->off[d]), to = end ? 1 : -1;
    if (most > 0 && (most > MOST_PLACES || n + most > MOST_PLACES)) {
      diag_error(
          g->x->c->diags, c->loc,
          "the gradient of a read of '%s' beyond its edge is not computed where it is not known, or is more than "
          "%d, how far beyond: the stencil's region and the field's are to differ by a constant in dimension %d; "
          "--device=ref has it for any",
          f->name, MOST_PLACES / 2, d);
      return 0;
    }
    for (int64_t k = 1; k <= most; k++) {
      /* j + off lies k points beyond the end; the rule leads to the point `from` points before the end. */
      int64_t from = r == OUTSIDE_CLAMP ? 0 : r == OUTSIDE_HALF ? k - 1 : k;
      out[n++] = (Place){to * (k + from) - c->off[d], from, end};
    }
    if (most > 0 && r != OUTSIDE_CLAMP)
      need(g, c->field, d,
           affine_add_const(affine_sub(g->x->a, f->box.hi[d], f->box.lo[d]), (r == OUTSIDE_HALF) - most));
  }
  return n;
}

/* Builds the test that the point is `p.from` points from end p.end of the field in dimension `d`, and that `also` (may
 * be NULL) holds. */
static Value *is_there(Gather *g, Builder *b, int f, int d, Place p, Value *also) {
  const Box *box = &g->x->m->fields[f].box;
  if (p.end < 0)
    return also;
  Affine at = affine_add_const(p.end ? box->hi[d] : box->lo[d], p.end ? -p.from : p.from);
  Value *here = build2(b, OP_EQ, build_dim(b, OP_INDEX, d), build_affine(b, g->x->b, at));
  return also ? build2(b, OP_AND, also, here) : here;
}

/* Builds the sum that a point gathers for contribution `c`, whose base is in field `from`, without its factor. */
static Value *gathered(Gather *g, Builder *b, const Contribution *c, int32_t from) {
  Place at[MAX_RANK][MOST_PLACES];
  int n[MAX_RANK] = {1, 1, 1, 1}, rank = g->x->m->grid.rank, all = 1;
  Type t = g->x->b->fields[from].type;
  Value *sum = NULL;
  for (int d = 0; d < rank; d++) {
    n[d] = places(g, c, d, at[d]);
    all *= n[d];
    if (!n[d])
      g->x->failed = true;
  }
  for (int i = 0; i < all && !g->x->failed; i++) {
    int64_t off[MAX_RANK] = {0};
    Value *where = NULL;
    for (int d = rank - 1, left = i; d >= 0; left /= n[d], d--) {
      off[d] = at[d][left % n[d]].by;
      where = is_there(g, b, c->field, d, at[d][left % n[d]], where);
    }
    Value *v = build_access(b, t, from, off, rank);
    if (c->term.where) {
      Value *chosen = copy_condition(b, c->term.where, off);
      where = where ? build2(b, OP_AND, where, chosen) : chosen;
    }
    if (where)
      v = build3(b, OP_SELECT, where, v, build_float(b, t, 0));
    sum = sum ? build2(b, OP_ADD, sum, v) : v;
  }
  return sum ? sum : build_float(b, t, 0);
}

/* The points of field `f` of m that gather from the pieces on `over`, in *out. Are they a thin region of the field?
 * Then only these points are visited. */
static bool is_thin(Gather *g, int f, const Box *over, Box *out) {
  const Field *field = &g->x->m->fields[f];
  const Box *bar = bar_box(g->x, f);
  bool thin = false;
  *out = *bar;
  for (int d = 0; d < g->x->m->grid.rank; d++) {
    OutsideRule rule = field->outside[d];
    int64_t least = INT64_MAX, most = INT64_MIN, points;
    for (int i = 0; i < g->n; i++) {
      const Contribution *c = &g->list[i];
      if (c->field != f || c->joined || !box_equal(c->over, over))
        continue;
      least = c->off[d] < least ? c->off[d] : least;
      most = c->off[d] > most ? c->off[d] : most;
    }
    if (least > most || (rule != OUTSIDE_NONE && rule != OUTSIDE_CONST) ||
        !affine_diff(over->hi[d], over->lo[d], &points) || !is_few(points + most - least + 1, bar, d))
      continue;
    Affine lo = affine_add_const(over->lo[d], least), hi = affine_add_const(over->hi[d], most);
    if (is_behind(g, lo, bar->lo[d]))
      out->lo[d] = lo;
    if (is_behind(g, bar->hi[d], hi))
      out->hi[d] = hi;
    thin = true;
  }
  for (int d = 0; d < g->x->m->grid.rank && thin; d++) {
    need(g, f, d, affine_sub(g->x->a, out->lo[d], bar->lo[d]));
    need(g, f, d, affine_sub(g->x->a, bar->hi[d], out->hi[d]));
  }
  return thin;
}

/* Marks the contributions that are gathered in thin regions, except those that give a derivative its first value. */
static void find_thin(Gather *g) {
  for (int f = 0; f < g->x->m->nfields; f++) {
    bool first = g->x->zero[f];
    Box region;
    for (int i = 0; i < g->n; i++)
      if (g->list[i].field == f && !g->own[f] && !g->list[i].joined)
        g->list[i].thin = is_thin(g, f, g->list[i].over, &region);
    for (int i = 0; i < g->n && first; i++)
      first = g->list[i].field != f || g->list[i].joined || g->list[i].thin;
    for (int i = 0; i < g->n && first && g->x->zero[f]; i++)
      g->list[i].thin = g->list[i].thin && g->list[i].field != f;
  }
}

/* Are there contributions to the field that are gathered in thin regions (`thin`), or elsewhere? */
static bool has_some(const Gather *g, int f, bool thin) {
  bool any = false;
  for (int i = 0; i < g->n; i++)
    any = any || (g->list[i].field == f && !g->list[i].joined && g->list[i].thin == thin);
  return any;
}

/* The derivative with respect to field `f` after the second stencil. over: only contributions from there, gathered in a
 * thin region; NULL: all that are not gathered in thin regions. */
static Value *sum_of(Gather *g, Builder *b, int f, const Box *over, Value ***memo) {
  Transpose *x = g->x;
  static const int64_t here[MAX_RANK];
  Type type = x->b->fields[x->bar[f]].type;
  Value *sum = x->zero[f] ? NULL : build_access(b, type, x->bar[f], here, x->m->grid.rank);
  for (int i = 0; i < g->n; i++) {
    const Contribution *c = &g->list[i];
    if (c->field != f || c->joined || c->thin != (over != NULL) || (over && !box_equal(c->over, over)))
      continue;
    b->loc = c->loc;
    Value *v = gathered(g, b, c, keep(g, c));
    if (c->term.factor)
      v = build2(b, OP_MUL, copy_value(b, c->term.factor, memo[c->piece]), v);
    v = build_convert(b, type, v);
    sum = sum ? build2(b, OP_ADD, sum, v) : v;
  }
  return sum;
}

/* Memos for copies of the pieces' values in new code, by piece. */
static Value ***new_memo(Gather *g) {
  Value ***memo = ARENA_ARRAY(g->x->a, Value **, g->st->npieces + 1);
  for (int k = 0; k < g->st->npieces; k++)
    memo[k] = ARENA_ARRAY(g->x->a, Value *, block_renumber(g->undo[k].b.block, 0) + 1);
  return memo;
}

/* Adds the stencils for field `f` that gather in thin regions, one for each region. */
static void gather_thin(Gather *g, int f) {
  Transpose *x = g->x;
  for (int i = 0; i < g->n; i++) {
    Stencil out = {.name = arena_printf(x->a, "%s.gather", g->st->name), .loc = g->st->loc};
    Piece p = {.body = block_new(x->a, NULL), .loc = g->st->loc};
    Builder b = builder_at_end(x->a, p.body);
    Value **values = NULL;
    const Box *over = g->list[i].over;
    if (g->list[i].field != f || g->list[i].joined || !g->list[i].thin)
      continue;
    is_thin(g, f, over, &p.box);
    piece_yield(x->a, &p, &values, x->bar[f], sum_of(g, &b, f, over, new_memo(g)));
    b.loc = g->st->loc;
    build_yield(&b, 1, values);
    stencil_add_target(x->a, &out, x->bar[f]);
    ARENA_PUSH(x->a, out.pieces, out.npieces, p);
    transpose_stencil(x, out);
    for (int k = 0; k < g->n; k++)
      if (g->list[k].field == f && g->list[k].over && box_equal(g->list[k].over, over))
        g->list[k].joined = true;
  }
}

/* Adds the second stencils: one for each region with values to gather. */
static void gather(Gather *g) {
  Transpose *x = g->x;
  Module *m = x->m;
  for (int f = 0; f < m->nfields; f++) {
    if (!x->active[f] || !g->hit[f] || g->own[f] || !has_some(g, f, false))
      continue;
    Stencil out = {.name = arena_printf(x->a, "%s.gather", g->st->name), .loc = g->st->loc};
    Piece p = {.box = *bar_box(x, f), .body = block_new(x->a, NULL), .loc = g->st->loc};
    Builder b = builder_at_end(x->a, p.body);
    Value **values = NULL;
    int32_t *done = NULL;
    int ndone = 0;
    for (int o = f; o < m->nfields; o++) {
      if (!x->active[o] || !g->hit[o] || g->own[o] || !box_equal(bar_box(x, o), &p.box) || !has_some(g, o, false))
        continue;
      piece_yield(x->a, &p, &values, x->bar[o], sum_of(g, &b, o, NULL, new_memo(g)));
      ARENA_PUSH(x->a, done, ndone, o);
    }
    for (int i = 0; i < ndone; i++) {
      g->hit[done[i]] = false;
      x->zero[done[i]] = false;
    }
    b.loc = g->st->loc;
    build_yield(&b, p.ntargets, values);
    for (int t = 0; t < p.ntargets; t++)
      stencil_add_target(x->a, &out, p.targets[t]);
    ARENA_PUSH(x->a, out.pieces, out.npieces, p);
    transpose_stencil(x, out);
  }
  for (int f = 0; f < m->nfields; f++)
    if (x->active[f] && !g->own[f])
      gather_thin(g, f);
}

/* ---- both */

/* Undoes the bodies of all pieces; their contributions go to g->list. */
static void undo_pieces(Gather *g, const int32_t *version, Value *(*seed)(Undo *u, const void *loss),
                        const void *loss) {
  Transpose *x = g->x;
  static const int64_t here[MAX_RANK];
  for (int k = 0; k < g->st->npieces; k++) {
    const Piece *p = &g->st->pieces[k];
    Undo *u = &g->undo[k];
    *u = (Undo){.x = x, .box = &p->box, .body = p->body, .ntargets = p->ntargets, .targets = p->targets};
    u->version = version;
    u->varies = transpose_varies(x, p->body);
    int n = block_renumber(p->body, 0) + 1;
    u->clone = ARENA_ARRAY(x->a, Value *, n);
    u->adjoint = ARENA_ARRAY(x->a, Adjoint, n);
    u->b = builder_at_end(x->a, block_new(x->a, NULL));
    u->number = build2(&u->b, OP_SUB, build_scalar(&u->b, TY_I64, x->last), build_step(&u->b));
    Value **seeds = ARENA_ARRAY(x->a, Value *, p->body->last->noperands + 1);
    if (loss)
      seeds[0] = seed(u, loss);
    for (int t = 0; t < p->ntargets; t++)
      if (x->active[p->targets[t]] && !x->zero[p->targets[t]])
        seeds[t] =
            build_access(&u->b, x->b->fields[x->bar[p->targets[t]]].type, x->bar[p->targets[t]], here, x->m->grid.rank);
    undo_body(u, k, seeds, &g->n, &g->list);
  }
}

/* Finds how the first stencil treats each field (own, set, whole, hit). */
static void sort_fields(Gather *g) {
  const Module *m = g->x->m;
  int n = m->nfields + 1;
  Arena *a = g->x->a;
  g->own = ARENA_ARRAY(a, bool, n);
  g->set = ARENA_ARRAY(a, bool, n);
  g->whole = ARENA_ARRAY(a, bool, n);
  g->hit = ARENA_ARRAY(a, bool, n);
  for (int t = 0; t < g->st->ntargets; t++) {
    int f = g->st->targets[t];
    bool *has = ARENA_ARRAY(a, bool, g->st->npieces + 1);
    Box all;
    for (int k = 0; k < g->st->npieces; k++) {
      for (int i = 0; i < g->st->pieces[k].ntargets; i++)
        has[k] |= g->st->pieces[k].targets[i] == f;
      g->whole[f] |= has[k] && box_equal(&g->st->pieces[k].box, &m->fields[f].box);
    }
    g->set[f] = true;
    g->whole[f] |= pieces_box(m, g->st, has, &all) && box_equal(&all, &m->fields[f].box);
  }
  for (int i = 0; i < g->n; i++)
    if (g->list[i].field >= 0) {
      g->own[g->list[i].field] |= !g->hit[g->list[i].field];
      g->hit[g->list[i].field] = true;
      g->own[g->list[i].field] &= is_here(g, &g->list[i]);
    }
  /* A derivative that is known to be 0 need not be 0 in memory, so the first stencil must write all of it at once. */
  for (int f = 0; f < m->nfields; f++)
    if (g->own[f] && g->x->zero[f])
      for (int i = 0; i < g->n; i++)
        if (g->list[i].field == f && !box_equal(g->undo[g->list[i].piece].box, bar_box(g->x, f)))
          g->own[f] = false;
}

/* Is the base of contribution number `i` stored anyway, because another field gathers it? */
static bool is_kept(const Gather *g, int i) {
  bool kept = false;
  for (int j = 0; j < g->n; j++)
    kept = kept || (g->list[j].piece == g->list[i].piece && g->list[j].field >= 0 && !g->own[g->list[j].field] &&
                    g->list[j].term.base == g->list[i].term.base);
  return kept;
}

/* Lets temp fields be gathered, at the point itself, if their derivatives consist of values that are stored anyway;
 * then nothing is stored for them. */
static void leave_temps(Gather *g) {
  const Module *m = g->x->m;
  for (int f = 0; f < m->nfields; f++) {
    bool leave = g->own[f] && m->fields[f].temp && g->x->zero[f];
    for (int i = 0; i < g->n && leave; i++)
      leave = g->list[i].field != f || (!g->list[i].term.where && is_kept(g, i));
    g->own[f] = g->own[f] && !leave;
  }
}

void gather_stencil(Transpose *x, const Stencil *st, const int32_t *version, Value *(*seed)(Undo *u, const void *loss),
                    const void *loss) {
  Gather g = {.x = x, .st = st, .undo = ARENA_ARRAY(x->a, Undo, st->npieces + 1)};
  undo_pieces(&g, version, seed, loss);
  sort_fields(&g);
  leave_temps(&g);
  gather_join(&g);
  for (int i = 0; i < g.n && !x->failed; i++)
    if (g.list[i].field >= 0 && !g.own[g.list[i].field] && !g.list[i].joined)
      keep(&g, &g.list[i]);
  if (x->failed)
    return;
  compute(&g);
  for (int f = 0; f < x->m->nfields; f++)
    if (x->active[f]) {
      if (g.own[f])
        x->zero[f] = false;
      else if (g.set[f] && g.whole[f])
        x->zero[f] = true;
    }
  find_thin(&g);
  gather(&g);
}
