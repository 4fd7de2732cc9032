/* share.c: computes a value that a stencil computes at several neighbouring points, such as a flux at the faces of a
 * cell, only once: a new stencil in front stores it to a temp field, which the old stencil reads at all these points.
 *
 *     stencil fall(U)[G] = U - k * (flux(U, U[1,0]) - flux(U[-1,0], U))
 *  -> stencil fall.shared(F)[..] = flux(U, U[1,0])
 *     stencil fall(U)[..] = U - k * (F - F[-1,0])
 *
 * Which values: values of a piece that are the same ops on accesses whose offsets differ by the same vector are
 * *members* of a *class* (alike.h). A class is *shared* if its members lie at two points or more, at most two apart in
 * a dimension. It is a *root*, and becomes a temp field, if a value that is not shared uses it, if it takes 10
 * additions or more, and if piece and roots would take longer without it: a field counts 28 additions. In all, the
 * roots must save a tenth of the piece (`shared_...`, `kept_...` in `tuning.def`). The pass then looks at what it has
 * made again.
 *
 * Where: all fields lie on one box, as large as they are read, if each access is defined there, by a rule or because it
 * lies in its field; otherwise those roots that reach equally far do, and others get another stencil. If the box would
 * leave the grid, the field is periodic if all its inputs are; it clamps or mirrors if all its inputs do so and each
 * root depends on one point only. Otherwise strips along the grid's edges keep computing all values themselves.
 *
 * Ops and their order stay the same, so values stay the same to the bit, unless a product and a sum that were rounded
 * once are separated.
 *
 * A value that two neighbours in a row have in common is not shared, because the loop over the row keeps it in a
 * register from one iteration to the next (ir/carries.c). rows=1 shares it, too.
 *
 * `-stats` prints how many stencils were made. They are called `NAME.shared`, also in `-fuse=`. A cut that names
 * stencils, but none of these, disables the pass, and so do `-fuse=none` and `-schedule=naive`, with which the fields
 * would go through memory. Nothing is shared for GPUs, whose threads compute several points and keep such values in
 * registers, nor in a part of a grid. */
#include "passes/base/tuning.h"
#include "passes/registry.h"
#include "passes/stencil/alike.h"

#include <string.h>

/* Bodies of more than MOST_VALUES values are left alone. Members are at most MOST_SHIFT points from the first one.
 * MOST_ROUNDS: how often the pass looks at a stencil, and at those made from it, again. */
enum { MOST_VALUES = 4000, MOST_SHIFT = 2, MOST_ROUNDS = 3 };

/* The analysis of a piece. shared[c]: is the class with the first member c shared? */
typedef struct Share {
  Alike a;
  bool *shared;
} Share;

/* The module and the option rows: are values shared that only neighbours in a row have in common? */
typedef struct Sharing {
  Module *m;
  bool rows;
} Sharing;

/* ---- which to keep */

/* Finds the classes with members at several points, none of them too far from the first one. Two points that are
 * neighbours in a row do not count, except with `rows`. */
static void find_shared(Share *s, bool rows) {
  const Alike *a = &s->a;
  s->shared = ARENA_ARRAY(a->m->arena, bool, a->n + 1);
  for (int i = 0; i < a->n; i++) {
    bool several = false, far = false;
    for (int d = 0; d < a->rank; d++) {
      several = several || a->high[i][d] - a->low[i][d] > (d == a->rank - 1 && !rows);
      far = far || a->low[i][d] < -MOST_SHIFT || a->high[i][d] > MOST_SHIFT;
    }
    s->shared[i] = several && !far;
  }
}

/* Marks the roots: shared classes of floats that are expensive enough and that values use which are not shared. */
static void find_roots(Share *s, const Block *body) {
  Alike *a = &s->a;
  for (const Op *op = body->first; op; op = op->next)
    for (int i = 0; i < op->noperands; i++) {
      int32_t of = a->v[op->operands[i]->id].of;
      const Op *by = a->v[of].op;
      bool outer = op->nresults != 1 || !s->shared[a->v[op->results[0]->id].of];
      if (!outer || a->root[of] || !by || !s->shared[of] ||
          (by->results[0]->type != TY_F32 && by->results[0]->type != TY_F64))
        continue;
      a->root[of] = alike_takes(a, of) >= tuning.kept_least;
      a->nroots += a->root[of];
    }
}

/* Analyses piece `piece` of stencil `st` and chooses its roots. */
static Alike look_at(const Sharing *h, int st, int piece) {
  const Block *body = h->m->stencils[st].pieces[piece].body;
  Share s = {.a = alike_look(h->m, st, piece, ORDER_SAME)};
  s.a.field = measured.shared_field;
  find_shared(&s, h->rows);
  find_roots(&s, body);
  alike_drop_roots(&s.a, body);
  return s.a;
}

/* ---- where */

/* The boxes for the roots. field: the box of their fields; reads: the points of the piece that read them; strip: the
 * other points of the piece, which keep computing all values. rule: the rule by which the fields continue beyond their
 * box, OUTSIDE_NONE: none. here: all roots depend on one point only, and the fields hold the values for the point
 * itself. */
typedef struct Places {
  Box field, reads, strip[2 * MAX_RANK];
  int nstrips;
  OutsideRule rule;
  bool here;
} Places;

/* Does `box` span the whole grid in dimension `d`? */
static bool is_whole(const Alike *s, const Box *box, int d) {
  return affine_equal(box->lo[d], s->m->grid.lo[d]) && affine_equal(box->hi[d], s->m->grid.hi[d]);
}

/* Has a piece on `box`, which spans the whole grid in dimension `d`, surely enough points there for strips of `n`
 * points in all? One point is always there, because nothing runs on an empty grid. */
static bool has_room(const Alike *s, const Box *box, int d, int64_t n) {
  Box strips = *box;
  strips.hi[d] = affine_add_const(box->lo[d], n - 1);
  return is_whole(s, box, d) && (n <= 1 || points_inside(s->m, &strips, box, d));
}

/* Takes a strip of `by` points from p->reads, at its upper or lower end in dimension `d`. */
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

/* Extends the fields' box by `low` and `high` points in dimension `d`, if the grid has them; otherwise takes strips
 * from the piece. False if there may be too few points for strips. */
static bool find_room(const Alike *s, const Box *box, int d, int64_t low, int64_t high, Places *p) {
  bool below = kept_reaches(s->m->grid.lo[d], -low, box->lo[d]),
       above = kept_reaches(box->hi[d], high, s->m->grid.hi[d]);
  p->field.lo[d] = below ? affine_add_const(box->lo[d], low) : box->lo[d];
  p->field.hi[d] = above ? affine_add_const(box->hi[d], high) : box->hi[d];
  if (!below)
    leave_out(p, d, false, -low);
  if (!above)
    leave_out(p, d, true, high);
  return (below && above) || has_room(s, box, d, (below ? 0 : -low) + (above ? 0 : high));
}

/* Finds the boxes for a piece on `box`; false if there are none. */
static bool find_places(const Alike *s, const Box *box, Places *p) {
  int64_t low[MAX_RANK], high[MAX_RANK];
  bool ok = true;
  *p = (Places){.field = *box, .reads = *box};
  kept_reach(s, low, high);
  p->rule = kept_rule(s, box, low, high);
  p->here = kept_is_here(p->rule);
  for (int d = 0; d < s->rank && ok && p->rule == OUTSIDE_NONE; d++)
    ok = (!low[d] && !high[d]) || find_room(s, box, d, low[d], high[d], p);
  return ok;
}

/* Keeps only the roots that reach as far as the most expensive one. */
static void keep_one_reach(Alike *s) {
  int32_t longest = -1;
  double most = -1;
  for (int i = 0; i < s->n; i++) {
    double takes = s->root[i] ? alike_takes(s, i) : -1;
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

/* Finds boxes on which all accesses of the roots are defined. */
static bool find_safe_places(const Alike *s, const Box *box, Places *p) {
  return find_places(s, box, p) && (box_equal(&p->field, box) || kept_is_defined(s, &p->field));
}

/* ---- rewriting */

/* Adds the temp field for a root of type `t` of stencil `st`. */
static int32_t add_field(Module *m, const Stencil *st, Type t, const Places *p) {
  Field f = {.name = kept_field_name(m, st->name, "shared"), .type = t, .box = p->field, .temp = true, .loc = st->loc};
  outside_set(&f, p->rule);
  ARENA_PUSH(m->arena, m->fields, m->nfields, f);
  return m->nfields - 1;
}

/* Inserts stencil `made` before stencil number `at` of `m`. */
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

/* Adds the launch check that a grid which is not empty has points in dimension `d`, so that strips of one point lie
 * inside it. */
static void say_has_points(Module *m, int d) {
  Affine last = affine_sub(m->arena, m->grid.hi[d], m->grid.lo[d]);
  Box *grid = ARENA_NEW(m->arena, Box);
  *grid = m->grid;
  Check k = {.value = last, .message = "the grid has no points", .loc = no_loc(), .unless_empty = {grid}};
  if (last.n)
    ARENA_PUSH(m->arena, m->checks, m->nchecks, k);
}

/* Inserts the stencil of the roots before that of their piece, and makes the piece read their fields. */
static void apply(const Alike *s, const Places *p) {
  Module *m = s->m;
  Stencil *old = &m->stencils[s->st];
  Stencil made = {.stage = old->stage,
                  .name = kept_stencil_name(m, old->name, "shared"),
                  .npieces = 1,
                  .group = old->group,
                  .loc = old->loc};
  Piece piece = old->pieces[s->piece], *pieces = ARENA_ARRAY(m->arena, Piece, old->npieces + 2 * MAX_RANK);
  Kept *kept = ARENA_ARRAY(m->arena, Kept, s->n + 1);
  made.targets = ARENA_ARRAY(m->arena, int32_t, s->nroots);
  for (int i = 0; i < s->n; i++) {
    kept[i] = (Kept){s->root[i] ? add_field(m, old, s->v[i].op->results[0]->type, p) : -1, p->here};
    if (s->root[i])
      made.targets[made.ntargets++] = kept[i].field;
  }
  made.pieces = ARENA_NEW(m->arena, Piece);
  made.pieces[0] = (Piece){p->field, made.ntargets, made.targets, kept_making_body(s, piece.body, p->here), piece.loc};
  memcpy(pieces, old->pieces, sizeof *pieces * (size_t)old->npieces);
  pieces[s->piece].box = p->reads;
  pieces[s->piece].body = kept_reading_body(s, piece.body, kept);
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

/* Shares values of the main piece of stencil number `st`, which then becomes number st + 1; false if nothing pays. */
static bool share_once(const Sharing *h, int st) {
  Module *m = h->m;
  int piece = main_piece_number(m->arena, &m->stencils[st]);
  const Piece *of = &m->stencils[st].pieces[piece];
  Places p;
  if (body_number(of->body) > MOST_VALUES)
    return false;
  Alike s = look_at(h, st, piece);
  if (!alike_pays(&s, of->body, tuning.kept_gain))
    return false;
  if (!find_safe_places(&s, &of->box, &p)) {
    keep_one_reach(&s);
    alike_drop_roots(&s, of->body);
    if (!alike_pays(&s, of->body, tuning.kept_gain) || !find_safe_places(&s, &of->box, &p))
      return false;
  }
  apply(&s, &p);
  return true;
}

/* May values of stencil number `i` be shared? Not if it computes few points, and not if it stands after a stencil of
 * pass history, because both share a launch. */
static bool is_open(const Module *m, int i) {
  const Stencil *st = &m->stencils[i];
  return !is_probe_stencil(m, st) && !is_history_stencil(m, st) && (i == 0 || !is_history_stencil(m, st - 1)) &&
         !stencil_is_thin(m, st);
}

/* Shares values of stencil number `at`, of the rest of it, and of the stencils made from it. Returns the number of new
 * stencils; the old one then stands after them. */
static int share_stencil(const Sharing *h, int at, int rounds) {
  int made = 0;
  while (rounds-- > 0 && is_open(h->m, at + made) && share_once(h, at + made))
    made += 1 + share_stencil(h, at + made, rounds);
  return made;
}

/* Is each stencil of the step a launch by itself, or does a requested cut name stencils? */
static bool says_launches(const Schedule *want) {
  const char *cut = want ? want->fuse : NULL;
  return want && (want->family == FAMILY_NAIVE ||
                  (cut && strcmp(cut, "all") != 0 && strcmp(cut, "auto") != 0 && !strstr(cut, ".shared")));
}

/* The pass. It does nothing for targets with threads, which keep such values in registers, for a part of a grid, and if
 * every stencil is a launch, because the fields would go through memory. */
Module *pass_share(PassContext *c, Module *m, int n, const PassOption *o) {
  int64_t made = 0;
  bool ok = true;
  bool always = pass_option_int(c, "share", n, o, "always", 0, 1, 0, &ok) != 0;
  Sharing h = {m, pass_option_int(c, "share", n, o, "rows", 0, 1, 0, &ok) != 0};
  if (!ok)
    return NULL;
  bool nothing = m->time_tile > 1 || m->part || (!always && (c->target->simt || says_launches(c->schedule)));
  Module before = *m;
  module_renumber(m);
  kept_own_lists(m);
  for (int i = 0; i < m->nstencils && !nothing; i++) {
    int more = m->stencils[i].sweep || stencil_is_scaled(&m->stencils[i]) ? 0 : share_stencil(&h, i, MOST_ROUNDS);
    made += more;
    i += more;
  }
  if (made && kept_loses_launches(m, &before)) {
    *m = before;
    made = 0;
  }
  module_renumber(m);
  pass_stat(c, made, "share", "stencils made of what others computed at several points");
  return m;
}
