/* check_access.c: checks that accesses to fields stay inside their regions, that pieces do not overlap, and that temp
 * fields are written before they are read. Above base/check_region.c; expressions that read a field call this file. */
#include "frontend/base/bounds.h"
#include "frontend/ensemble.h"

#include <string.h>

/* The region of field `f` for messages, with stars for dimensions that it does not have. */
static const char *field_text(Checker *c, const Symbol *f) {
  Str s = {.arena = c->arena};
  Box text = check_shown_box(c, &f->box);
  Field shown = c->m->fields[f->index];
  for (int d = c->lead; d < f->box.rank; d++)
    shown.outside[d - c->lead] = shown.outside[d];
  field_box_print(&s, c->m, &shown, &text);
  return s.s;
}

/* "A[-1, 0]". */
static const char *access_text(Checker *c, const char *name, const int64_t *off) {
  Str s = {.arena = c->arena};
  str_addf(&s, "%s[", name);
  for (int d = c->lead; d < c->m->grid.rank; d++)
    str_addf(&s, "%s%lld", d > c->lead ? ", " : "", (long long)off[d]);
  str_add(&s, "]");
  return s.s;
}

/* Reports that an access to `f` leaves the field's region in dimension `d`, `by` points beyond it; `message` describes
 * the access. */
static void leaves(Checker *c, Loc loc, const Symbol *f, int d, unsigned long long by, const char *message,
                   const Env *env) {
  if (c->order && d == c->dim)
    check_error(
        c, env, loc,
        "order %lld reads %llu point%s beyond %s of '%s' in dimension %d: give the field an outside rule, or the "
        "stencil a smaller region",
        (long long)c->order, by, by == 1 ? "" : "s", field_text(c, f), f->name, check_shown(c, d));
  else
    check_error(c, env, loc, "%s, by %llu; shrink the stencil's region, or give '%s' a rule: outside %s or a constant",
                message, by, f->name, outside_words(c->arena, ", "));
}

/* Reports that a derivative reads `f` across the seam of a periodic dimension, `by` points beyond it; `message`
 * describes the access. */
static void over_seam(Checker *c, Loc loc, const Symbol *f, unsigned long long by, const char *message,
                      const Env *env) {
  check_error(
      c, env, loc,
      "%s, by %llu: how far the last point is from the first is not known; shrink the stencil's region, or give "
      "'%s' another rule: outside clamp, mirror or a constant",
      message, by, f->name);
}

/* Checks one access to `f` at `off` at one end of one dimension of f's region (`side`: lower and upper end of each
 * dimension in turn): when compiling, or by a launch check. seam: it is a derivative's access to a periodic field,
 * which continues beyond that end. */
static void bound_side(Checker *c, Loc loc, const Symbol *f, const int64_t *off, int side, bool seam, const Env *env) {
  int d = side / 2;
  Affine r = region_room(c, c->region, off[d], &f->box, d, side % 2);
  if (field_lacks(&c->m->fields[f->index], d))
    return;
  if (r.n ? region_is_checked(c, r, c->region, NULL) : r.c >= 0)
    return;
  const char *access = access_text(c, f->name, off), *from = region_text(c, c->region),
             *end = side % 2 ? "upper" : "lower";
  const char *message =
      arena_printf(c->arena,
                   "the access %s from region %s leaves the region %s of field '%s' at the %s end of dimension %d",
                   access, from, field_text(c, f), f->name, end, check_shown(c, d));
  if (seam)
    message = arena_printf(
        c->arena, "the derivative's access %s from region %s goes over the seam of '%s' at the %s end of dimension %d",
        access, from, f->name, end, check_shown(c, d));
  if (r.n) {
    region_add_check(c, loc, r, c->region, NULL, message);
  } else if (c->last_leave.line != loc.line || c->last_leave.col != loc.col) {
    c->last_leave = loc;
    if (seam)
      over_seam(c, loc, f, 0 - (unsigned long long)r.c, message, env);
    else
      leaves(c, loc, f, d, 0 - (unsigned long long)r.c, message, env);
  }
}

/* Checks that one access to `f` at `off` stays in f's region. If the reading region has no points, there is no
 * access. */
static void stay_inside(Checker *c, Loc loc, const Symbol *f, const int64_t *off, const Env *env) {
  for (int side = 0; side < 2 * c->region->rank && region_points(c->region) >= 0; side++)
    bound_side(c, loc, f, off, side, false, env);
}

/* Checks an access of a derivative to a periodic field `f` in dimensions whose coordinates are in an array: the array
 * does not tell the distance across the seam, so the access must not cross it. */
static void stay_off_seam(Checker *c, Loc loc, const Symbol *f, const int64_t *off, const Env *env) {
  for (int side = 0; side < 2 * c->region->rank && region_points(c->region) >= 0; side++)
    if (c->uneven[side / 2] && c->m->fields[f->index].outside[side / 2] == OUTSIDE_PERIODIC)
      bound_side(c, loc, f, off, side, true, env);
}

/* If `f` is read at `off` by an outside rule other than a constant, f's region must have points wherever c->region has
 * points. Checks that when compiling, or adds launch checks. */
static void need_points(Checker *c, Loc loc, const Symbol *f, const int64_t *off, const Env *env) {
  const Box *grid = &c->m->grid;
  for (int d = 0; d < c->region->rank; d++) {
    Affine r = affine_sub(c->arena, f->box.hi[d], f->box.lo[d]);
    int64_t below, above;
    bool within = affine_diff(c->region->lo[d], f->box.lo[d], &below) && below >= 0 &&
                  affine_diff(f->box.hi[d], c->region->hi[d], &above) && above >= 0;
    bool whole = affine_equal(f->box.lo[d], grid->lo[d]) && affine_equal(f->box.hi[d], grid->hi[d]);
    if (within || whole || (r.n ? region_is_checked(c, r, c->region, NULL) : r.c >= 0))
      continue;
    const char *message = arena_printf(c->arena, "the access %s reads field '%s', whose region %s has no points",
                                       access_text(c, f->name, off), f->name, field_text(c, f));
    if (r.n)
      region_add_check(c, loc, r, c->region, NULL, message);
    else
      check_error(c, env, loc, "%s; give it some, or a constant outside", message);
  }
}

/* If an access to `f` at `off` crosses an edge of f's region where signs change, one reflection must bring it back into
 * the region. Checks that when compiling, or adds a launch check. */
static void reflect_once(Checker *c, Loc loc, const Symbol *f, const int64_t *off, const Env *env) {
  const Field *field = &c->m->fields[f->index];
  for (int i = 0; i < 2 * c->region->rank && region_points(c->region) >= 0; i++) {
    int d = i / 2, half = field->sides[i].rule == OUTSIDE_HALF;
    Affine inside = region_room(c, c->region, off[d], &f->box, d, i % 2);
    if (!outside_once(field, d, i % 2) || (!inside.n && inside.c >= 0))
      continue;
    /* The access is -inside points beyond the edge. Its reflection is as far inside, or one point less. */
    Affine extent = affine_sub(c->arena, f->box.hi[d], f->box.lo[d]);
    Affine r = affine_add_const(affine_add(c->arena, extent, inside), half);
    if (r.n ? region_is_checked(c, r, c->region, NULL) : r.c >= 0)
      continue;
    const char *message = arena_printf(
        c->arena,
        "the access %s from region %s goes further beyond the %s end of dimension %d of '%s' than that has points to "
        "mirror; make its region larger",
        access_text(c, f->name, off), region_text(c, c->region), i % 2 ? "upper" : "lower", check_shown(c, d), f->name);
    if (r.n)
      region_add_check(c, loc, r, c->region, NULL, message);
    else
      check_error(c, env, loc, "%s", message);
  }
}

/* ---- overlapping pieces */

/* Is the sum of the coefficients positive, so that x grows when all params grow? */
static bool grows(Affine x) {
  int64_t sum = 0;
  for (int i = 0; i < x.n; i++)
    sum += x.t[i].coef;
  return sum > 0;
}

/* Is x >= 0 for the params' defaults? */
static bool holds_by_default(const Checker *c, Affine x) {
  for (int i = 0; i < x.n; i++)
    if (!c->has_default[x.t[i].scalar])
      return false;
  bool overflow = false;
  return affine_eval(x, c->defaults, &overflow) >= 0 && !overflow;
}

/* Is x < 0 for all params for which p >= 0 and q >= 0? Tries x plus small multiples of p and q, and returns true if one
 * of these sums is a negative constant. */
static bool never_holds(Checker *c, Affine x, Affine p, Affine q) {
  enum { FEW = 4 };
  for (int i = 0; i <= FEW; i++, x = affine_add(c->arena, x, p)) {
    Affine sum = x;
    for (int k = 0; k <= FEW; k++, sum = affine_add(c->arena, sum, q))
      if (!sum.n && sum.c < 0)
        return true;
  }
  return false;
}

/* `gap` is the number of points between `low` and `high`, which may be above it in dimension d. Can it be 0 or more if
 * both boxes have points, all of them in the grid? */
static bool may_be_above(Checker *c, Affine gap, const Box *low, const Box *high, int d) {
  const Box *grid = &c->m->grid;
  Affine in_low = affine_sub(c->arena, low->hi[d], low->lo[d]),
         in_high = affine_sub(c->arena, high->hi[d], high->lo[d]);
  int64_t below, above;
  bool first = affine_diff(high->lo[d], grid->lo[d], &below) && below <= 0;
  bool last = affine_diff(grid->hi[d], low->hi[d], &above) && above <= 0;
  return !first && !last && !never_holds(c, gap, in_low, in_high);
}

/* Is the box empty for the params' defaults? */
static bool empty_by_default(Checker *c, const Box *b) {
  for (int d = 0; d < b->rank; d++)
    if (holds_by_default(c, affine_add_const(affine_sub(c->arena, b->lo[d], b->hi[d]), -1)))
      return true;
  return false;
}

/* The box from the lower bounds of `from` to the upper bounds of `to`: it is empty if `from` is above `to` in a
 * dimension. */
static const Box *between(Checker *c, const Box *from, const Box *to) {
  Box *b = ARENA_NEW(c->arena, Box);
  b->rank = from->rank;
  for (int d = 0; d < b->rank; d++) {
    b->lo[d] = from->lo[d];
    b->hi[d] = to->hi[d];
  }
  return b;
}

/* Adds the launch check that x and y have no point in common: value >= 0, or one of them is empty, or one is above the
 * other in some dimension. */
static void add_apart(Checker *c, Loc loc, Affine value, const Box *x, const Box *y, const char *message) {
  Check k = {.value = value, .message = message, .loc = loc};
  int n = 0;
  k.unless_empty[n++] = between(c, x, y);
  k.unless_empty[n++] = between(c, y, x);
  if (region_guard(c, x))
    k.unless_empty[n++] = region_guard(c, x);
  if (region_guard(c, y))
    k.unless_empty[n++] = region_guard(c, y);
  ARENA_PUSH(c->arena, c->m->checks, c->m->nchecks, k);
}

/* Checks that two pieces of `s` have no point in common: when compiling, or by a launch check. The launch check
 * compares them in the only dimension and order that are possible, or else in all. It reports the comparison that holds
 * for the params' defaults, or else one that holds for large params. */
static void keep_apart(Checker *c, const CheckedStencil *s, const CheckedPiece *p, const CheckedPiece *q) {
  Affine named = affine_const(-1);
  int best = -1, ways = 0;
  if (region_points(&p->box) < 0 || region_points(&q->box) < 0)
    return;
  for (int side = 0; side < 2 * p->box.rank; side++) {
    const Box *low = side % 2 ? &q->box : &p->box, *high = side % 2 ? &p->box : &q->box;
    Affine gap = affine_add_const(affine_sub(c->arena, high->lo[side / 2], low->hi[side / 2]), -1);
    if (!gap.n && gap.c >= 0)
      return;
    if (!gap.n || !may_be_above(c, gap, low, high, side / 2))
      continue;
    int likely = holds_by_default(c, gap) ? 2 : grows(gap);
    ways++;
    if (likely > best) {
      named = gap;
      best = likely;
    }
  }
  const char *message = arena_printf(c->arena, "the pieces %s and %s of '%s' overlap", region_text(c, &p->box),
                                     region_text(c, &q->box), s->name);
  if (!ways && !empty_by_default(c, &p->box) && !empty_by_default(c, &q->box))
    check_error(c, NULL, q->loc, "%s; make one end before the other begins", message);
  else if (ways < 2)
    region_add_check(c, q->loc, named, &p->box, &q->box, message);
  else
    add_apart(c, q->loc, named, &p->box, &q->box, message);
}

void check_overlap(Checker *c, const CheckedStencil *s) {
  for (int i = 0; i < s->npieces; i++)
    for (int j = 0; j < i; j++)
      keep_apart(c, s, &s->pieces[j], &s->pieces[i]);
}

/* ---- temp fields */

/* Does the piece assign to `field`? */
static bool assigns(const CheckedPiece *p, int field) {
  for (int i = 0; i < p->n; i++)
    if (!p->assigns[i].local && p->assigns[i].target == field)
      return true;
  return false;
}

/* Adds a written box, unless the cover contains it already; sets k->full if there are too many. */
static void cover_add(Cover *k, const Box *b) {
  for (int i = 0; i < k->n; i++)
    if (box_equal(&k->box[i], b))
      return;
  if (k->n < MAX_COVERED)
    k->box[k->n++] = *b;
  else
    k->full = true;
}

/* If boxes number `i` and `j` are equal in all dimensions but one, and in that one, for all params, j begins at the
 * latest just after the end of i, adds the box from the start of i to the end of j. Does nothing if i or j contains
 * that box. */
static void cover_join(Cover *k, int i, int j) {
  const Box *p = &k->box[i], *q = &k->box[j];
  int differ = -1;
  int64_t more, apart, before;
  for (int d = 0; d < p->rank; d++) {
    if (affine_equal(p->lo[d], q->lo[d]) && affine_equal(p->hi[d], q->hi[d]))
      continue;
    if (differ >= 0)
      return;
    differ = d;
  }
  if (differ < 0 || !affine_diff(q->lo[differ], p->hi[differ], &apart) || apart > 1)
    return;
  if ((affine_diff(q->hi[differ], p->hi[differ], &more) && more <= 0) ||
      (affine_diff(q->lo[differ], p->lo[differ], &before) && before <= 0))
    return;
  Box b = *p;
  b.hi[differ] = q->hi[differ];
  cover_add(k, &b);
}

/* The boxes of `field` that earlier stencils of the step have written, and boxes joined from them. */
static Cover *cover_of(Checker *c, int field) {
  Cover *k = ARENA_NEW(c->arena, Cover);
  for (int i = 0; i < c->nchecked; i++)
    for (int j = 0; !c->checked[i].is_init && j < c->checked[i].npieces; j++)
      if (assigns(&c->checked[i].pieces[j], field))
        cover_add(k, &c->checked[i].pieces[j].box);
  k->written = k->n;
  bool full = k->full;
  for (int i = 0; i < k->n; i++)
    for (int j = 0; j < i; j++) {
      cover_join(k, j, i);
      cover_join(k, i, j);
    }
  k->full = full;
  return k;
}

/* The points of f's region that an access at `off` from c->region can read after f's outside rule, or a slightly larger
 * box. */
static Box reach(Checker *c, const Symbol *f, const int64_t *off) {
  Box need = *c->region;
  for (int d = 0; d < need.rank; d++) {
    OutsideRule rule = c->m->fields[f->index].outside[d];
    int64_t lo, hi;
    need.lo[d] = affine_add_const(need.lo[d], off[d]);
    need.hi[d] = affine_add_const(need.hi[d], off[d]);
    if (rule == OUTSIDE_NONE)
      continue;
    bool lo_in = affine_diff(need.lo[d], f->box.lo[d], &lo) && lo >= 0,
         hi_in = affine_diff(f->box.hi[d], need.hi[d], &hi) && hi >= 0;
    bool whole = rule != OUTSIDE_CLAMP && rule != OUTSIDE_CONST && !(lo_in && hi_in);
    if (whole || !lo_in)
      need.lo[d] = f->box.lo[d];
    if (whole || !hi_in)
      need.hi[d] = f->box.hi[d];
  }
  return need;
}

/* c->region shifted by `off`. */
static Box moved(const Checker *c, const int64_t *off) {
  Box b = *c->region;
  for (int d = 0; d < b.rank; d++) {
    b.lo[d] = affine_add_const(b.lo[d], off[d]);
    b.hi[d] = affine_add_const(b.hi[d], off[d]);
  }
  return b;
}

/* Maps coordinate *x of dimension d into the region of `f`, which has points, by the outside rule of `f`. False if the
 * result is not known. */
static bool brought_in(const Checker *c, const Symbol *f, int d, Affine *x) {
  OutsideRule rule = c->m->fields[f->index].outside[d];
  int64_t below, above;
  bool low = affine_diff(*x, f->box.lo[d], &below), high = affine_diff(f->box.hi[d], *x, &above);
  bool edge = (low && below == 0) || (high && above == 0);
  if (rule == OUTSIDE_NONE || edge || (low && below >= 0 && high && above >= 0))
    return true;
  if (rule != OUTSIDE_CLAMP || !((low && below < 0) || (high && above < 0)))
    return false;
  *x = low && below < 0 ? f->box.lo[d] : f->box.hi[d];
  return true;
}

/* Is the point outside the box for all params? */
static bool never_in(const Affine *point, const Box *b) {
  for (int d = 0; d < b->rank; d++) {
    int64_t below, above;
    if ((affine_diff(point[d], b->lo[d], &below) && below < 0) ||
        (affine_diff(b->hi[d], point[d], &above) && above < 0))
      return true;
  }
  return false;
}

/* Is some corner of c->region, shifted by `off`, for all params a point that no stencil has written? */
static bool misses_corner(const Checker *c, const Symbol *f, const int64_t *off, const Cover *k) {
  Box need = moved(c, off);
  for (int corner = 0; corner < 1 << need.rank; corner++) {
    Affine point[MAX_RANK];
    bool known = true, missed = true;
    for (int d = 0; d < need.rank; d++) {
      point[d] = corner >> d & 1 ? need.hi[d] : need.lo[d];
      known = known && brought_in(c, f, d, &point[d]);
    }
    for (int i = 0; i < k->written && known && missed; i++)
      missed = never_in(point, &k->box[i]);
    if (known && missed)
      return true;
  }
  return false;
}

/* Does a bound of the box depend on params? */
static bool has_params(const Box *b) {
  for (int d = 0; d < b->rank; d++)
    if (b->lo[d].n || b->hi[d].n)
      return true;
  return false;
}

/* Is it false for all params that the written boxes contain the points that `covered` needs? */
static bool never_covered(const Checker *c, const Symbol *f, const int64_t *off, const Cover *k,
                          const Covered *covered) {
  int64_t missing[MAX_RANK];
  bool open = has_params(&covered->need) || has_params(&covered->within);
  for (int i = 0; i < covered->n; i++)
    open = open || has_params(&covered->by[i]);
  return region_points(c->region) >= 0 && (open ? misses_corner(c, f, off, k) : !covered_holds(covered, NULL, missing));
}

/* "[0 .. M]" or "[0 .. M] and [N - 1]": the written boxes, for messages. */
static const char *cover_text(Checker *c, const Cover *k) {
  Str s = {.arena = c->arena};
  str_add(&s, region_text(c, &k->box[0]));
  for (int i = 1; i < k->written && i < 3; i++)
    str_addf(&s, "%s%s", i + 1 == k->written ? " and " : ", ", region_text(c, &k->box[i]));
  if (k->written > 3)
    str_addf(&s, " and %d more regions", k->written - 3);
  return s.s;
}

/* Adds launch checks that the points of `covered` have been written before. With a single written region and no outside
 * rule, comparing bounds is enough; else one check of the kind `covered` is added. */
static void check_covered(Checker *c, Loc loc, const Covered *covered, const char *message) {
  if (covered->n > 1 || covered->rule[0] != OUTSIDE_NONE) {
    Check k = {.value = affine_const(0), .covered = covered, .message = message, .loc = loc};
    k.unless_empty[0] = region_guard(c, c->region);
    ARENA_PUSH(c->arena, c->m->checks, c->m->nchecks, k);
    return;
  }
  for (int side = 0; side < 2 * covered->need.rank; side++) {
    Affine value = region_room(c, &covered->need, 0, &covered->by[0], side / 2, side % 2);
    if (value.n && !region_is_checked(c, value, c->region, NULL))
      region_add_check(c, loc, value, c->region, NULL, message);
  }
}

/* Checks that a read of temp field `f` at `off` only reads points that have been written in this step. */
static void read_temp(Checker *c, Loc loc, Symbol *f, const int64_t *off, const Env *env) {
  check_every_read(c, loc, f, env);
  if (f->cover_stencil != c->nchecked) {
    f->cover = cover_of(c, f->index);
    f->cover_stencil = c->nchecked;
  }
  const Cover *k = f->cover;
  Box need = reach(c, f, off);
  for (int i = 0; i < k->n; i++)
    if (box_inside(&need, &k->box[i]) > 0)
      return;
  if (!k->n) {
    check_error(c, env, loc,
                "temp field '%s' is read before a stencil of this step has written it; temp fields keep nothing from "
                "step to step",
                f->name);
    return;
  }
  Covered *covered = ARENA_NEW(c->arena, Covered);
  *covered =
      (Covered){.need = moved(c, off), .within = f->box, .n = k->written, .by = ARENA_ARRAY(c->arena, Box, k->written)};
  memcpy(covered->rule, c->m->fields[f->index].outside, sizeof covered->rule);
  memcpy(covered->by, k->box, (size_t)k->written * sizeof *k->box);
  const char *read = access_text(c, f->name, off);
  if (k->full)
    check_error(c, env, loc, "temp field '%s' is written by more than %d regions before it is read here; join some",
                f->name, MAX_COVERED);
  else if (never_covered(c, f, off, k, covered))
    check_error(c, env, loc, "the access %s reads temp field '%s' on %s, but before it this step has written only %s",
                read, f->name, region_text(c, &need), cover_text(c, k));
  else
    check_covered(c, loc, covered,
                  arena_printf(c->arena,
                               "the access %s reads temp field '%s' on %s, but the step has written it only on %s",
                               read, f->name, region_text(c, &need), cover_text(c, k)));
}

/* Is one constant the value beyond all edges of the field, so that reads there need no point of the field? */
static bool is_constant_outside(const Field *f) {
  bool constant = !f->sides;
  for (int d = 0; d < f->box.rank; d++)
    constant = constant && (f->outside[d] == OUTSIDE_CONST || field_lacks(f, d));
  return constant;
}

void check_access(Checker *c, Loc loc, Symbol *f, const int64_t *off, const Env *env) {
  const Field *field = &c->m->fields[f->index];
  if (!c->region)
    return;
  if (c->in_init && !f->set_by_init && !f->warned && checked_writes(c->stencil, f->index)) {
    f->warned = true;
    diag_warning(c->d, loc, "this init reads its own target '%s', which no init before it has set", f->name);
  }
  if (!outside_any(field))
    stay_inside(c, loc, f, off, env);
  else if (!is_constant_outside(field))
    need_points(c, loc, f, off, env);
  if (field->sides)
    reflect_once(c, loc, f, off, env);
  if (outside_has(field, OUTSIDE_PERIODIC))
    stay_off_seam(c, loc, f, off, env);
  if (field->temp && c->in_init)
    check_error(c, env, loc, "temp field '%s' has no values before the first step; an init cannot read it", f->name);
  else if (field->temp && c->in_update)
    check_error(c, env, loc,
                "temp field '%s' need not be in memory where an update reads it; leave out 'temp', or write the "
                "expression itself",
                f->name);
  else if (field->temp && c->in_reduction)
    check_error(
        c, env, loc,
        "temp field '%s' holds nothing between steps, where reductions and probes are evaluated; write the expression "
        "out, or leave out 'temp'",
        f->name);
  else if (field->past && c->in_init && !f->set_by_init)
    check_error(c, env, loc,
                "'%s' has no value yet: older levels become what the field is after all inits, unless an init before "
                "this one sets them",
                f->name);
  else if (field->temp && !c->incomplete && check_repeat_read(c, env, loc, f))
    read_temp(c, loc, f, off, env);
}
