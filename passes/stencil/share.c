/* share.c: what a stencil computes at several points beside each other, such as a flux at the faces of a cell, is
 * computed once: by a stencil of its own into a temp field, in front of the one that reads it at all these points.
 *
 * Values of a piece that are the same ops on the same fields, all offsets moved alike, are *members* of a class. A
 * class whose members lie at two points or more is *shared*, and a *root* if something reads it that is not shared.
 * Roots that take long enough become temp fields, and their members accesses of these:
 *
 *     stencil fall(U)[G] = U - k * (flux(U, U[1,0]) - flux(U[-1,0], U))
 *  -> stencil fall.shared(F)[..] = flux(U, U[1,0])
 *     stencil fall(U)[..] = U - k * (F - F[-1,0])
 *
 * Values that are the same ops on accesses whose offsets differ by the same vector are a *class*. Those classes whose
 * values lie at two points or more, at most two from each other in a dimension, are shared; of these become fields the
 * ones that something else than shared values reads, that take 10 additions or more, and without which the piece and
 * they would take longer: a field counts 28 additions, and all must save a tenth of the piece (`shared_...`, `kept_...`
 * in `tuning.def`). All lie on one box, as far as they are read, if each access is defined there, by a rule or because
 * it lies in its field; else those with the same reach do, and others get another stencil. What is made is looked at
 * again. Where the box would leave the grid, the field is periodic if all that it is made of is, and clamps or mirrors
 * if that does and is of one point alone; else strips along the grid's edges go on computing all by themselves. Ops and
 * their order are the same, so values are to the bit, but where a product and a sum are parted that were rounded once.
 *
 * What two neighbours in a row have in common is left alone, for a row's loop takes it over from round to round, and
 * keeps it in a register (ir/carries.c); rows=1: it is shared, too.
 *
 * `-stats` says how many stencils were made. They are called `NAME.shared`, also in `-fuse=`; a cut that names
 * stencils, but none of these, leaves the pass out, and so do `-fuse=none` and `-schedule=naive`, under which the
 * fields would go through memory. GPUs' threads compute for several points and keep values in registers; there nothing
 * is done, nor in a part of a grid. */
#include "passes/base/tuning.h"
#include "passes/registry.h"
#include "passes/stencil/alike.h"

#include <string.h>

/* Bodies of more values are left alone; members are at most so many points from each other. MOST_ROUNDS: times that
 * what was made for a stencil is looked at again. */
enum { MOST_VALUES = 4000, MOST_SHIFT = 2, MOST_ROUNDS = 3 };

/* A piece looked at. shared[c]: of the class whose first member is c. */
typedef struct Share {
  Alike a;
  bool *shared;
} Share;

/* Which module; rows: whether what a row's neighbours have in common is shared, too. */
typedef struct Sharing {
  Module *m;
  bool rows;
} Sharing;

/* ---- which to keep */

/* Finds which classes have members at several points, none of them too far from the first. Two that are neighbours in a
 * row do not count, but for `rows`. */
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

/* Marks the roots: shared classes that values which are not shared use, floats that take long enough. */
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

/* The piece `piece` of stencil `st`, and what of it to keep. */
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
static bool is_whole(const Alike *s, const Box *box, int d) {
  return affine_equal(box->lo[d], s->m->grid.lo[d]) && affine_equal(box->hi[d], s->m->grid.hi[d]);
}

/* Is a piece on `box`, which is the whole grid in dimension `d`, sure to have points enough for strips of `n` points
 * there? One is no question: of an empty grid nothing is run. */
static bool has_room(const Alike *s, const Box *box, int d, int64_t n) {
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

/* Finds them for a piece on `box`; false: there are none. */
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

/* Leaves of the roots those alone that reach as far as the one that takes longest. */
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

/* Finds places where all that is computed for the roots is defined. */
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

/* Shares what pays in the main piece of stencil number `st`, which becomes number st + 1; false: nothing does. */
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

/* May what stencil number `i` computes be shared? Not if it computes few points, nor
 * behind a stencil of pass history, which a launch makes together with the one behind it. */
static bool is_open(const Module *m, int i) {
  const Stencil *st = &m->stencils[i];
  return !is_probe_stencil(m, st) && !is_history_stencil(m, st) && (i == 0 || !is_history_stencil(m, st - 1)) &&
         !stencil_is_thin(m, st);
}

/* Shares what pays in stencil number `at`, in what is left of it, and in what is made for it; the number of stencils
 * made, behind which it stands then. */
static int share_stencil(const Sharing *h, int at, int rounds) {
  int made = 0;
  while (rounds-- > 0 && is_open(h->m, at + made) && share_once(h, at + made))
    made += 1 + share_stencil(h, at + made, rounds);
  return made;
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
