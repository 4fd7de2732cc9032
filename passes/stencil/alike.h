/* stencil/alike.h: which values of a piece are alike, the same ops at several points, and what becomes of the piece if
 * fields keep some of them (for passes share and hoist).
 *
 *   alike.c   classes of values, what they take, and which of them to keep
 *   kept.c    where fields can keep them, and the bodies that make and read these
 *
 * Values of a piece that are the same ops on the same fields, all offsets moved alike, are *members* of a class. A
 * class that a field keeps is a *root*: its members become accesses of that field. */
#ifndef STC_PASSES_ALIKE_H
#define STC_PASSES_ALIKE_H

#include "passes/launch/launch.h"

/* What is known of a value. op: makes it. of: the first member of its class; itself: none was before. off: where it is,
 * as its first access that is anywhere; fixed: it is the same at all points; alone: it has no like. */
typedef struct Like {
  Op *op;
  int32_t of, next;
  bool fixed, alone;
  int64_t off[MAX_RANK];
} Like;

/* Which values are alike: none, each is a class by itself; the same ops on operands in the same order; or where that
 * does not matter in any order. */
typedef enum Order { ORDER_APART, ORDER_SAME, ORDER_ANY } Order;

/* A piece looked at. v: its values by id; root[c]: is the class whose first member is c to be kept? low, high: the
 * least and largest offset of its members from the first. order: which of its values are alike; field: what keeping a
 * class costs at a point, in additions; call: what a function of a library takes beside what applies to it; once: roots
 * are not computed in each step, and each field that the piece reads costs as much as one that keeps a class. */
typedef struct Alike {
  Module *m;
  int st, piece, rank;
  int32_t n, nroots;
  Like *v;
  bool *root;
  int64_t (*low)[MAX_RANK], (*high)[MAX_RANK];
  double field, call;
  Order order;
  bool once;
} Alike;

/* ---------------------------------------------------------------- alike.c */

/* Piece number `piece` of stencil number `st`, with no roots yet. Its values get numbers. */
Alike alike_look(Module *m, int st, int piece, Order order);
/* Marks in `in` what value `id` is made of, and adds what that takes, in additions, of what was not marked. */
double alike_cone(const Alike *a, int32_t id, bool *in);
/* Marks what the roots are made of. */
bool *alike_made_of(const Alike *a);
/* What value `id` takes with all that it is made of. */
double alike_takes(const Alike *a, int32_t id);
/* What the piece and its roots take at a point, in additions, and what their fields cost. */
double alike_cost(const Alike *a, const Block *body);
/* Leaves out the roots that cost more than they save: the piece makes them anyway, or easily. */
void alike_drop_roots(Alike *a, const Block *body);
/* Does keeping the roots save `gain` at least of what the piece takes? */
bool alike_pays(const Alike *a, const Block *body, double gain);

/* ---------------------------------------------------------------- kept.c */

/* The most that members of roots are from the first one, downwards (at most 0) and upwards; 0 where they are not. */
void kept_reach(const Alike *a, int64_t low[MAX_RANK], int64_t high[MAX_RANK]);
/* Does `low` + `by` reach `high` at least, whatever the params are? */
bool kept_reaches(Affine low, int64_t by, Affine high);
/* The rule by which fields on `box` go on beyond it, in all dimensions in which they are read beside a point, as what
 * the roots are made of does; OUTSIDE_NONE: there is none. Some rules ask that all roots are made of values of one
 * point, and the fields then have those of the point itself: kept_is_here. */
OutsideRule kept_rule(const Alike *a, const Box *box, const int64_t *low, const int64_t *high);
bool kept_is_here(OutsideRule rule);
/* Takes the ops out of `body`, a straight line, that nothing uses. */
void kept_drop_unused(const Module *m, Block *body);
/* Does an access at `off` to field `f` give a value at all points of `box`, since it lies inside, or by an outside
 * rule, which leads nowhere in a field without points?
 */
bool kept_gives_value(const Module *m, const Box *box, const Field *f, const int64_t *off);
/* Do all accesses that the roots are made of give a value on all of `box`? That they do on the piece's own proves
 * nothing: where that has no points they may lead anywhere, and `box`, which is larger, may have some. */
bool kept_is_defined(const Alike *a, const Box *box);
/* The body of the stencil that makes the roots: `body`, the piece's, but for what it yields; here: at the point itself.
 */
Block *kept_making_body(const Alike *a, const Block *body, bool here);
/* Where the members of a class are read: from field `field`, -1: they are computed; here: it has those of the point
 * itself. */
typedef struct Kept {
  int32_t field;
  bool here;
} Kept;
/* The body `body` with accesses in place of the members of class c where kept[c] says so. */
Block *kept_reading_body(const Alike *a, const Block *body, const Kept *kept);
/* "NAME.what", or with a number behind, that no field of `m` has; that no stencil or init has. */
const char *kept_field_name(const Module *m, const char *name, const char *what);
const char *kept_stencil_name(const Module *m, const char *name, const char *what);
/* Can two time steps of `before` share a launch, or the stencils of one step, and not those of `now`? */
bool kept_loses_launches(const Module *now, const Module *before);
/* Copies the lists of fields, stencils, inits, checks and launch-time arrays, to which a pass adds: other modules may
 * share them. */
void kept_own_lists(Module *m);

#endif
