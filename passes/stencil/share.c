/* share.c: what a stencil computes at several points beside each other, such as a flux at the faces of a cell, is
 * computed once: by a stencil of its own into a temp field, in front of the one that reads it at all these points.
 *
 * Values of a piece that are the same ops on the same fields, all offsets moved alike, are *members* of a class. A
 * class whose members lie at two points or more is *shared*, and a *root* if something reads it that is not shared.
 * Roots that take long enough become temp fields, and their members accesses of these:
 *
 *     stencil euler(U)[G] = U - k * (flux(U, U[1]) - flux(U[-1], U))
 *  -> stencil euler.shared(F)[..] = flux(U, U[1])
 *     stencil euler(U)[..] = U - k * (F - F[-1])
 *
 * Where the field would have to reach beyond the grid the stencil goes on computing all by itself, on strips along the
 * edges. The ops and their order are the same, so the values are to the bit, but where a product and a sum that are
 * parted now were rounded once. What is made is looked at again: what takes long in it may be shared, too. */
#include "passes/launch/launch.h"
#include "passes/base/tuning.h"
#include "passes/registry.h"
#include "passes/base/weights.h"

#include <string.h>

/* Bodies of more values are left alone; members are at most so many points from each other. MOST_ROUNDS: times that
 * what was made for a stencil is looked at again. */
enum { MOST_VALUES = 4000, MOST_SHIFT = 2, MOST_ROUNDS = 3, BUCKETS = 1024 };

/* What is known of a value. op: makes it. of: the first member of its class; itself: none was before. off: where it is,
 * as its first access that is anywhere; fixed: it is the same at all points. */
typedef struct Like {
  Op *op;
  int32_t of, next;
  bool fixed, alone;
  int64_t off[MAX_RANK];
} Like;

/* A piece looked at. v: its values by id; shared[c], root[c]: of the class whose first member is c; low, high: the
 * least and largest offset of its members from the first. */
typedef struct Share {
  Module *m;
  int st, piece, rank;
  int32_t n, nroots;
  Like *v;
  bool *shared, *root;
  int64_t (*low)[MAX_RANK], (*high)[MAX_RANK];
} Share;

/* ---- classes */

/* Makes *x, of operands that are known, ready to be compared: is it fixed, and where is it? alone: it has no like. */
static void place(const Share *s, Like *x) {
  const Op *op = x->op;
  x->fixed = op->code != OP_ACCESS && op->code != OP_INDEX;
  x->alone = op->code == OP_INDEX;
  for (int d = 0; d < s->rank && op->code == OP_ACCESS; d++)
    x->off[d] = op->off[d];
  for (int i = 0; i < op->noperands; i++) {
    const Like *of = &s->v[op->operands[i]->id];
    x->alone = x->alone || of->alone || !of->op;
    if (x->fixed && !of->fixed)
      memcpy(x->off, of->off, sizeof x->off);
    x->fixed = x->fixed && of->fixed;
  }
}

/* Are `x` and `y`, neither fixed, of one class? */
static bool are_alike(const Share *s, const Like *x, const Like *y) {
  const Op *a = x->op, *b = y->op;
  bool same = a->code == b->code && a->noperands == b->noperands && a->sym == b->sym && a->flags == b->flags &&
              a->results[0]->type == b->results[0]->type;
  for (int i = 0; i < a->noperands && same; i++) {
    const Like *p = &s->v[a->operands[i]->id], *q = &s->v[b->operands[i]->id];
    same = p->of == q->of && p->fixed == q->fixed;
    for (int d = 0; d < s->rank && same && !p->fixed; d++)
      same = p->off[d] - x->off[d] == q->off[d] - y->off[d];
  }
  return same;
}

/* A number that is the same for all that are alike. */
static uint32_t hash_of(const Share *s, const Op *op) {
  uint32_t h = (uint32_t)op->code * 31u + (uint32_t)op->sym;
  for (int i = 0; i < op->noperands; i++)
    h = h * 1000003u + (uint32_t)s->v[op->operands[i]->id].of;
  return h % BUCKETS;
}

/* Finds the class of value `id`, whose operands are known; first[h] is the last value before it with hash h. */
static void find_class(Share *s, int32_t id, int32_t *first) {
  Like *x = &s->v[id];
  x->of = id;
  place(s, x);
  if (x->fixed || x->alone)
    return;
  uint32_t h = hash_of(s, x->op);
  for (int32_t k = first[h]; k >= 0 && x->of == id; k = s->v[k].next)
    if (are_alike(s, x, &s->v[k]))
      x->of = k;
  x->next = first[h];
  if (x->of == id)
    first[h] = id;
}

/* Finds which classes have members at several points, none of them too far from the first. */
static void find_shared(Share *s) {
  bool *far = ARENA_ARRAY(s->m->arena, bool, s->n + 1);
  for (int i = 0; i < s->n; i++) {
    const Like *x = &s->v[i], *of = &s->v[x->of];
    for (int d = 0; d < s->rank && x->op; d++) {
      int64_t by = x->off[d] - of->off[d];
      s->shared[x->of] = s->shared[x->of] || by != 0;
      s->low[x->of][d] = by < s->low[x->of][d] ? by : s->low[x->of][d];
      s->high[x->of][d] = by > s->high[x->of][d] ? by : s->high[x->of][d];
      far[x->of] = far[x->of] || by > MOST_SHIFT || by < -MOST_SHIFT;
    }
  }
  for (int i = 0; i < s->n; i++)
    s->shared[i] = s->shared[i] && !far[i];
}

/* ---- which to keep */

/* Marks in `in` what value `id` is made of, and adds what that takes, in additions, of what was not marked. */
static double cone(const Share *s, int32_t id, bool *in) {
  if (in[id] || !s->v[id].op)
    return 0;
  in[id] = true;
  const Op *op = s->v[id].op;
  double sum = op_additions(op);
  for (int i = 0; i < op->noperands; i++)
    sum += cone(s, op->operands[i]->id, in);
  return sum;
}

/* Marks the roots: shared classes that are used by what is not shared, floats that take long enough. */
static void find_roots(Share *s, const Block *body) {
  for (const Op *op = body->first; op; op = op->next)
    for (int i = 0; i < op->noperands; i++) {
      int32_t of = s->v[op->operands[i]->id].of;
      const Op *by = s->v[of].op;
      bool outer = op->nresults != 1 || !s->shared[s->v[op->results[0]->id].of];
      if (!outer || s->root[of] || !by || !s->shared[of] ||
          (by->results[0]->type != TY_F32 && by->results[0]->type != TY_F64))
        continue;
      s->root[of] = cone(s, of, ARENA_ARRAY(s->m->arena, bool, s->n + 1)) >= tuning.shared_least;
      s->nroots += s->root[of];
    }
}

/* What the piece takes at a point, in additions, with roots kept (`kept`) or not; only the values that its results
 * need.
 */
static double piece_cost(const Share *s, const Block *body, bool kept) {
  bool *in = ARENA_ARRAY(s->m->arena, bool, s->n + 1);
  double sum = 0;
  for (int i = 0; i < s->n && kept; i++)
    in[i] = s->v[i].op && s->root[s->v[i].of];
  for (int i = 0; i < body->last->noperands; i++)
    sum += cone(s, body->last->operands[i]->id, in);
  return sum;
}

/* What the roots take at a point. */
static double roots_cost(const Share *s) {
  bool *in = ARENA_ARRAY(s->m->arena, bool, s->n + 1);
  double sum = 0;
  for (int i = 0; i < s->n; i++)
    sum += s->root[i] ? cone(s, i, in) : 0;
  return sum;
}

/* What the piece and its roots take, and what their fields cost. */
static double cost_of(const Share *s, const Block *body) {
  return piece_cost(s, body, true) + roots_cost(s) + tuning.shared_field * s->nroots;
}

/* Leaves out the roots that cost more than they save: the piece makes them anyway, or easily. */
static void drop_roots(Share *s, const Block *body) {
  double least = cost_of(s, body);
  for (int i = 0; i < s->n; i++) {
    if (!s->root[i])
      continue;
    s->root[i] = false;
    s->nroots--;
    double without = cost_of(s, body);
    if (without > least) {
      s->root[i] = true;
      s->nroots++;
    } else {
      least = without;
    }
  }
}

/* Does keeping the roots save enough? */
static bool pays(const Share *s, const Block *body) {
  double before = piece_cost(s, body, false);
  return s->nroots && before - cost_of(s, body) >= tuning.shared_gain * before;
}

/* The piece `piece` of stencil `st`. */
static Share look_at(Module *m, int st, int piece) {
  Share s = {.m = m, .st = st, .piece = piece, .rank = m->grid.rank};
  Block *body = m->stencils[st].pieces[piece].body;
  int32_t first[BUCKETS];
  s.n = body_number(body);
  s.v = ARENA_ARRAY(m->arena, Like, s.n + 1);
  s.shared = ARENA_ARRAY(m->arena, bool, s.n + 1);
  s.root = ARENA_ARRAY(m->arena, bool, s.n + 1);
  s.low = arena_alloc(m->arena, sizeof *s.low * (size_t)(s.n + 1));
  s.high = arena_alloc(m->arena, sizeof *s.high * (size_t)(s.n + 1));
  memset(s.low, 0, sizeof *s.low * (size_t)(s.n + 1));
  memset(s.high, 0, sizeof *s.high * (size_t)(s.n + 1));
  memset(first, -1, sizeof first);
  for (Op *op = body->first; op; op = op->next)
    if (op->nresults == 1) {
      s.v[op->results[0]->id].op = op;
      find_class(&s, op->results[0]->id, first);
    }
  find_shared(&s);
  find_roots(&s, body);
  drop_roots(&s, body);
  return s;
}

/* ---- where */

/* The most that members of roots are from the first one, downwards (at most 0) and upwards. */
static void reach_of(const Share *s, int64_t *low, int64_t *high) {
  for (int i = 0; i < s->n; i++)
    for (int d = 0; d < s->rank && s->root[i]; d++) {
      low[d] = s->low[i][d] < low[d] ? s->low[i][d] : low[d];
      high[d] = s->high[i][d] > high[d] ? s->high[i][d] : high[d];
    }
}

/* Does `low` + `by` reach `high` at least, whatever the params are? */
static bool reaches(Affine low, int64_t by, Affine high) {
  int64_t room;
  return affine_diff(high, affine_add_const(low, by), &room) && room >= 0;
}

/* The boxes of what is shared: its field's, and what it is read on, which leaves strips of the piece out that go on
 * computing it. rule: the field's, by which it goes on beyond its box as what it is made of does, OUTSIDE_NONE: it does
 * not; here: all roots are made of values of one point, and the field has those of the point itself. */
typedef struct Places {
  Box field, reads, strip[2 * MAX_RANK];
  int nstrips;
  OutsideRule rule;
  bool here;
} Places;

/* Is `box` the whole grid in dimension `d`? */
static bool is_whole(const Share *s, const Box *box, int d) {
  return affine_equal(box->lo[d], s->m->grid.lo[d]) && affine_equal(box->hi[d], s->m->grid.hi[d]);
}

/* Marks what the roots are made of. */
static bool *made_of(const Share *s) {
  bool *in = ARENA_ARRAY(s->m->arena, bool, s->n + 1);
  for (int i = 0; i < s->n; i++)
    if (s->root[i])
      cone(s, i, in);
  return in;
}

/* Are all accesses that the roots are made of to fields with `rule` on the range of `box` in dimension `d`, where that
 * is the whole grid? */
static bool goes_on(const Share *s, const Box *box, int d, OutsideRule rule) {
  const bool *in = made_of(s);
  bool alike = is_whole(s, box, d);
  for (int i = 0; i < s->n; i++) {
    if (!in[i] || s->v[i].op->code != OP_ACCESS)
      continue;
    const Field *f = &s->m->fields[s->v[i].op->sym];
    alike =
        alike && f->outside == rule && affine_equal(f->box.lo[d], box->lo[d]) && affine_equal(f->box.hi[d], box->hi[d]);
  }
  return alike;
}

/* Is each root made of the values of one point alone? */
static bool are_of_one_point(const Share *s) {
  bool one = true;
  for (int r = 0; r < s->n && one; r++) {
    bool *in = ARENA_ARRAY(s->m->arena, bool, s->n + 1);
    if (!s->root[r])
      continue;
    cone(s, r, in);
    for (int i = 0; i < s->n; i++)
      for (int d = 0; d < s->rank && in[i] && s->v[i].op->code == OP_ACCESS; d++)
        one = one && s->v[i].off[d] == s->v[r].off[d];
  }
  return one;
}

/* The rule by which the field goes on in all dimensions in which it is read beside a point, OUTSIDE_NONE: there is
 * none. What is made of the values of one point may follow any rule that leads to a point of the field. */
static OutsideRule common_rule(const Share *s, const Box *box, const int64_t *low, const int64_t *high) {
  static const OutsideRule rules[] = {OUTSIDE_PERIODIC, OUTSIDE_CLAMP, OUTSIDE_MIRROR};
  for (int k = 0; k < 3; k++) {
    bool all = k == 0 || are_of_one_point(s);
    for (int d = 0; d < s->rank && all; d++)
      all = (k == 0 && !low[d] && !high[d]) || goes_on(s, box, d, rules[k]);
    if (all)
      return rules[k];
  }
  return OUTSIDE_NONE;
}

/* Is a piece on `box`, which is the whole grid in dimension `d`, sure to have points enough for strips of `n` points
 * there? One is no question: of an empty grid nothing is run. */
static bool has_room(const Share *s, const Box *box, int d, int64_t n) {
  Box strips = *box;
  strips.hi[d] = affine_add_const(box->lo[d], n - 1);
  return is_whole(s, box, d) && (n <= 1 || points_inside(s->m, &strips, box, d));
}

/* Leaves `by` points out of p->reads at its lower end in dimension `d`, or at its upper one. */
static void leave_out(Places *p, int d, bool upper, int64_t by) {
  Box *strip = &p->strip[p->nstrips++];
  *strip = p->reads;
  if (upper) {
    strip->lo[d] = affine_add_const(p->reads.hi[d], 1 - by);
    p->reads.hi[d] = affine_add_const(p->reads.hi[d], -by);
  } else {
    strip->hi[d] = affine_add_const(p->reads.lo[d], by - 1);
    p->reads.lo[d] = affine_add_const(p->reads.lo[d], by);
  }
}

/* Gives the field `low` and `high` points more in dimension `d`, where the grid has them; else strips are left out.
 * False: it is not sure that there are points enough. */
static bool find_room(const Share *s, const Box *box, int d, int64_t low, int64_t high, Places *p) {
  bool below = reaches(s->m->grid.lo[d], -low, box->lo[d]), above = reaches(box->hi[d], high, s->m->grid.hi[d]);
  p->field.lo[d] = below ? affine_add_const(box->lo[d], low) : box->lo[d];
  p->field.hi[d] = above ? affine_add_const(box->hi[d], high) : box->hi[d];
  if (!below)
    leave_out(p, d, false, -low);
  if (!above)
    leave_out(p, d, true, high);
  return (below && above) || has_room(s, box, d, (below ? 0 : -low) + (above ? 0 : high));
}

/* Finds them for a piece on `box`; false: there are none. */
static bool find_places(const Share *s, const Box *box, Places *p) {
  int64_t low[MAX_RANK] = {0}, high[MAX_RANK] = {0};
  bool ok = true;
  *p = (Places){.field = *box, .reads = *box};
  reach_of(s, low, high);
  p->rule = common_rule(s, box, low, high);
  p->here = p->rule == OUTSIDE_CLAMP || p->rule == OUTSIDE_MIRROR;
  for (int d = 0; d < s->rank && ok && p->rule == OUTSIDE_NONE; d++)
    ok = (!low[d] && !high[d]) || find_room(s, box, d, low[d], high[d], p);
  return ok;
}

/* Does an access at `off` to field `f` give a value at all points of `box`, by an outside rule or since it lies inside?
 */
static bool gives_value(const Module *m, const Box *box, const Field *f, const int64_t *off) {
  Box read = *box;
  bool inside = true;
  for (int d = 0; d < box->rank; d++) {
    read.lo[d] = affine_add_const(box->lo[d], off[d]);
    read.hi[d] = affine_add_const(box->hi[d], off[d]);
  }
  for (int d = 0; d < box->rank && inside; d++)
    inside = range_inside(read.lo[d], read.hi[d], f->box.lo[d], f->box.hi[d]) || points_inside(m, &read, &f->box, d);
  return inside || f->outside != OUTSIDE_NONE;
}

/* Do all accesses that the roots are made of give a value on all of `box`? That they do on the piece's own proves
 * nothing: where that has no points they may lead anywhere, and `box`, which is larger, may have some. */
static bool is_defined(const Share *s, const Box *box) {
  const bool *in = made_of(s);
  bool defined = true;
  for (int i = 0; i < s->n && defined; i++) {
    const Op *op = in[i] ? s->v[i].op : NULL;
    defined = !op || op->code != OP_ACCESS || gives_value(s->m, box, &s->m->fields[op->sym], op->off);
  }
  return defined;
}

/* Leaves of the roots those alone that reach as far as the one that takes longest. */
static void keep_one_reach(Share *s) {
  int32_t longest = -1;
  double most = -1;
  for (int i = 0; i < s->n; i++) {
    double takes = s->root[i] ? cone(s, i, ARENA_ARRAY(s->m->arena, bool, s->n + 1)) : -1;
    longest = takes > most ? i : longest;
    most = takes > most ? takes : most;
  }
  for (int i = 0; i < s->n; i++)
    for (int d = 0; d < s->rank && s->root[i]; d++)
      if (s->low[i][d] != s->low[longest][d] || s->high[i][d] != s->high[longest][d]) {
        s->root[i] = false;
        s->nroots--;
      }
}

/* Finds places where all that is computed for the roots is defined. */
static bool find_safe_places(const Share *s, const Box *box, Places *p) {
  return find_places(s, box, p) && (box_equal(&p->field, box) || is_defined(s, &p->field));
}

/* ---- rewriting */

/* Adds the temp field for a root of type `t` of stencil `st`. */
static int32_t add_field(Module *m, const Stencil *st, Type t, const Places *p) {
  Field f = {.name = arena_printf(m->arena, "%s.shared", st->name),
             .type = t,
             .box = p->field,
             .outside = p->rule,
             .temp = true,
             .loc = st->loc};
  for (int k = 2; module_find_field(m, f.name) >= 0; k++)
    f.name = arena_printf(m->arena, "%s.shared.%d", st->name, k);
  ARENA_PUSH(m->arena, m->fields, m->nfields, f);
  return m->nfields - 1;
}

/* A copy of the piece's body; map[id] becomes what it has for value `id`. */
static Block *copy_body(const Share *s, const Block *body, Value **map) {
  Block *own = block_clone(s->m->arena, body, NULL, NULL);
  int32_t id = 0;
  for (const Op *op = own->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      map[id++] = op->results[i];
  return own;
}

/* Takes the ops out of `body` that nothing uses. */
static void drop_unused(const Share *s, Block *body) {
  int32_t *uses = ARENA_ARRAY(s->m->arena, int32_t, body_number(body) + 1);
  for (const Op *op = body->first; op; op = op->next)
    for (int i = 0; i < op->noperands; i++)
      uses[op->operands[i]->id]++;
  for (Op *op = body->last, *before; op; op = before) {
    before = op->prev;
    if (op->nresults != 1 || uses[op->results[0]->id])
      continue;
    for (int i = 0; i < op->noperands; i++)
      uses[op->operands[i]->id]--;
    op_unlink(op);
  }
}

/* The body of the stencil that makes the roots: the piece's, but for what it yields; here: at the point itself. */
static Block *roots_body(const Share *s, const Block *body, bool here) {
  Value **map = ARENA_ARRAY(s->m->arena, Value *, s->n + 1), **roots = ARENA_ARRAY(s->m->arena, Value *, s->n + 1);
  Block *own = copy_body(s, body, map);
  int n = 0;
  for (int i = 0; i < s->n; i++)
    if (s->root[i])
      roots[n++] = map[i];
  op_unlink(own->last);
  Builder b = builder_at_end(s->m->arena, own);
  build_yield(&b, n, roots);
  drop_unused(s, own);
  for (Op *op = own->first; op && here; op = op->next)
    for (int d = 0; d < s->rank && op->code == OP_ACCESS; d++)
      op->off[d] = 0;
  return own;
}

/* The piece's body with accesses of the fields from number `first` on in place of the members of roots. */
static Block *reading_body(const Share *s, const Block *body, int32_t first, bool here) {
  Value **map = ARENA_ARRAY(s->m->arena, Value *, s->n + 1);
  Block *own = copy_body(s, body, map);
  Builder b = builder_before(s->m->arena, own->first);
  int32_t *field = ARENA_ARRAY(s->m->arena, int32_t, s->n + 1);
  for (int i = 0; i < s->n; i++)
    field[i] = s->root[i] ? first++ : -1;
  for (int i = 0; i < s->n; i++) {
    const Like *x = &s->v[i];
    int64_t off[MAX_RANK] = {0};
    if (!x->op || field[x->of] < 0)
      continue;
    for (int d = 0; d < s->rank; d++)
      off[d] = x->off[d] - (here ? 0 : s->v[x->of].off[d]);
    block_replace_uses(own, map[i], build_access(&b, map[i]->type, field[x->of], off, s->rank));
  }
  drop_unused(s, own);
  return own;
}

/* "NAME.shared", with a number behind if there is such a stencil. */
static const char *name_of(const Module *m, const Stencil *st) {
  const char *name = arena_printf(m->arena, "%s.shared", st->name);
  for (int i = 0, k = 2; i < m->nstencils; i++)
    if (strcmp(m->stencils[i].name, name) == 0) {
      name = arena_printf(m->arena, "%s.shared.%d", st->name, k++);
      i = -1;
    }
  return name;
}

/* Puts stencil `made` in front of stencil number `at` of `m`. */
static void insert_stencil(Module *m, int at, Stencil made) {
  Stencil *list = NULL;
  int32_t n = 0;
  for (int i = 0; i < m->nstencils; i++) {
    if (i == at)
      ARENA_PUSH(m->arena, list, n, made);
    ARENA_PUSH(m->arena, list, n, m->stencils[i]);
  }
  m->stencils = list;
  m->nstencils = n;
}

/* Says that a grid that is not empty has points in dimension `d`: strips of one point lie in it. */
static void say_has_points(Module *m, int d) {
  Affine last = affine_sub(m->arena, m->grid.hi[d], m->grid.lo[d]);
  Box *grid = ARENA_NEW(m->arena, Box);
  *grid = m->grid;
  Check k = {.value = last, .message = "the grid has no points", .loc = no_loc(), .unless_empty = {grid}};
  if (last.n)
    ARENA_PUSH(m->arena, m->checks, m->nchecks, k);
}

/* Puts the stencil of the roots in front of their piece's, which then reads them. */
static void apply(const Share *s, const Places *p) {
  Module *m = s->m;
  Stencil *old = &m->stencils[s->st];
  Stencil made = {.name = name_of(m, old), .npieces = 1, .group = old->group, .loc = old->loc};
  Piece piece = old->pieces[s->piece], *pieces = ARENA_ARRAY(m->arena, Piece, old->npieces + 2 * MAX_RANK);
  int32_t first = m->nfields;
  made.targets = ARENA_ARRAY(m->arena, int32_t, s->nroots);
  for (int i = 0; i < s->n; i++)
    if (s->root[i])
      made.targets[made.ntargets++] = add_field(m, old, s->v[i].op->results[0]->type, p);
  made.pieces = ARENA_NEW(m->arena, Piece);
  made.pieces[0] = (Piece){p->field, made.ntargets, made.targets, roots_body(s, piece.body, p->here), piece.loc};
  memcpy(pieces, old->pieces, sizeof *pieces * (size_t)old->npieces);
  pieces[s->piece].box = p->reads;
  pieces[s->piece].body = reading_body(s, piece.body, first, p->here);
  for (int i = 0; i < p->nstrips; i++) {
    pieces[old->npieces + i] = piece;
    pieces[old->npieces + i].box = p->strip[i];
    pieces[old->npieces + i].body = block_clone(m->arena, piece.body, NULL, NULL);
  }
  for (int d = 0; d < s->rank; d++)
    if (p->rule == OUTSIDE_NONE &&
        (!affine_equal(p->reads.lo[d], piece.box.lo[d]) || !affine_equal(p->reads.hi[d], piece.box.hi[d])))
      say_has_points(m, d);
  old->pieces = pieces;
  old->npieces += p->nstrips;
  insert_stencil(m, s->st, made);
}

/* ---- the pass */

/* Shares what pays in the main piece of stencil number `st`, which becomes number st + 1; false: nothing does. */
static bool share_once(Module *m, int st) {
  int piece = main_piece_number(m->arena, &m->stencils[st]);
  const Piece *of = &m->stencils[st].pieces[piece];
  Places p;
  if (body_number(of->body) > MOST_VALUES)
    return false;
  Share s = look_at(m, st, piece);
  if (!pays(&s, of->body))
    return false;
  if (!find_safe_places(&s, &of->box, &p)) {
    keep_one_reach(&s);
    drop_roots(&s, of->body);
    if (!pays(&s, of->body) || !find_safe_places(&s, &of->box, &p))
      return false;
  }
  apply(&s, &p);
  return true;
}

/* May what stencil number `i` computes be shared? Not if it computes few points, nor
 * behind a stencil of pass history, which a launch makes together with the one behind it. */
static bool is_open(const Module *m, int i) {
  const Stencil *st = &m->stencils[i];
  return !is_probe_stencil(m, st) && !is_history_stencil(m, st) && (i == 0 || !is_history_stencil(m, st - 1)) &&
         !stencil_is_thin(m, st);
}

/* Shares what pays in stencil number `at`, in what is left of it, and in what is made for it; the number of stencils
 * made, behind which it stands then. */
static int share_stencil(Module *m, int at, int rounds) {
  int made = 0;
  while (rounds-- > 0 && is_open(m, at + made) && share_once(m, at + made))
    made += 1 + share_stencil(m, at + made, rounds);
  return made;
}

/* Copies the lists that the pass adds to: other modules may share them. */
static void own_lists(Module *m) {
  Field *fields = NULL;
  Stencil *stencils = NULL;
  Check *checks = NULL;
  int nfields = 0, nstencils = 0, nchecks = 0;
  for (int i = 0; i < m->nfields; i++)
    ARENA_PUSH(m->arena, fields, nfields, m->fields[i]);
  for (int i = 0; i < m->nstencils; i++)
    ARENA_PUSH(m->arena, stencils, nstencils, m->stencils[i]);
  for (int i = 0; i < m->nchecks; i++)
    ARENA_PUSH(m->arena, checks, nchecks, m->checks[i]);
  m->fields = fields;
  m->stencils = stencils;
  m->checks = checks;
}

/* Can two time steps of the one module share a launch, or the stencils of one step, and not those of the other? */
static bool loses_launches(const Module *now, const Module *before) {
  return (tiled_launch(now, 1)->illegal && !tiled_launch(before, 1)->illegal) ||
         (tiled_launch(now, 2)->illegal && !tiled_launch(before, 2)->illegal);
}

/* Is each stencil of the step to be a launch by itself, or a cut asked for that names them? */
static bool says_launches(const Schedule *want) {
  const char *cut = want ? want->fuse : NULL;
  return want && (want->family == FAMILY_NAIVE ||
                  (cut && strcmp(cut, "all") != 0 && strcmp(cut, "auto") != 0 && !strstr(cut, ".shared")));
}

/* The pass: nothing is done for targets with threads, whose threads have registers for what they compute for several
 * points, nor for a part of a grid, nor where every stencil is a launch: what is shared would go through memory. */
Module *pass_share(PassContext *c, Module *m, int n, const PassOption *o) {
  int64_t made = 0;
  bool ok = true;
  bool always = pass_option_int(c, "share", n, o, "always", 0, 1, 0, &ok) != 0;
  if (!ok)
    return NULL;
  bool nothing = m->time_tile > 1 || m->part || (!always && (c->target->simt || says_launches(c->schedule)));
  Module before = *m;
  module_renumber(m);
  own_lists(m);
  for (int i = 0; i < m->nstencils && !nothing; i++) {
    int more = share_stencil(m, i, MOST_ROUNDS);
    made += more;
    i += more;
  }
  if (made && loses_launches(m, &before)) {
    *m = before;
    made = 0;
  }
  module_renumber(m);
  pass_stat(c, made, "share", "stencils made of what others computed at several points");
  return m;
}
