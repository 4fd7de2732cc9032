/* stencil/alike.h: finds values of a piece that are alike, that is, the same ops at several points, and changes the
 * piece if fields keep some of them (for passes share and hoist).
 *
 *   alike.c   classes of values, their costs, and the choice of classes to keep
 *   kept.c    where fields can keep them, and the bodies that compute and read these fields
 *
 * Values of a piece that are the same ops on the same fields, with all offsets moved by the same vector, are *members*
 * of a class. A class that a field keeps is a *root*: its members become accesses of that field. */
#ifndef STC_PASSES_ALIKE_H
#define STC_PASSES_ALIKE_H

#include "passes/launch/launch.h"

/* A value. op: the op that computes it. of: the first member of its class (itself, if it is the first). off: its
 * offset, that of its first access; fixed: it is the same at all points; alone: no value is like it. */
typedef struct Like {
  Op *op;
  int32_t of, next;
  bool fixed, alone;
  int64_t off[MAX_RANK];
} Like;

/* When values are alike: never, each is a class by itself; if they are the same ops on operands in the same order; or
 * also with the operands of commutative ops exchanged. */
typedef enum Order { ORDER_APART, ORDER_SAME, ORDER_ANY } Order;

/* The analysis of a piece. v: its values by id. root[c]: the class whose first member is c is kept. low, high: the
 * smallest and largest offset of a class's members from the first one. order: when values are alike. field: the cost of
 * keeping a class, at a point, in additions; call: the cost of calling a library function in addition to its
 * arithmetic. once: the roots are computed only once, not in each step; then each field that the piece reads costs as
 * much as one that keeps a class. */
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

/* [field]: do steps change the field, or may a launcher change it between steps? */
bool *changing_fields(const Module *m);
/* Analyses piece number `piece` of stencil number `st`, and numbers its values. No class is a root yet. */
Alike alike_look(Module *m, int st, int piece, Order order);
/* Marks in `in` the values from which value `id` is computed, and returns the cost, in additions, of those that were
 * not marked before. */
double alike_cone(const Alike *a, int32_t id, bool *in);
/* The values from which the roots are computed, marked. */
bool *alike_made_of(const Alike *a);
/* The cost of value `id` with all values from which it is computed. */
double alike_takes(const Alike *a, int32_t id);
/* The cost of the piece and its roots at a point, in additions, including that of the roots' fields. */
double alike_cost(const Alike *a, const Block *body);
/* Removes roots that cost more than they save, because the piece computes them anyway or cheaply. */
void alike_drop_roots(Alike *a, const Block *body);
/* Do the roots save at least the share `gain` of the piece's cost? */
bool alike_pays(const Alike *a, const Block *body, double gain);

/* ---------------------------------------------------------------- kept.c */

/* The largest distance of members of roots from the first one, downwards (<= 0) and upwards; 0 if there is none. */
void kept_reach(const Alike *a, int64_t low[MAX_RANK], int64_t high[MAX_RANK]);
/* Is `low` + `by` <= `high` for all params? */
bool kept_reaches(Affine low, int64_t by, Affine high);
/* The outside rule by which fields on `box` continue beyond it, in all dimensions in which they are read at other
 * points, so that they hold the values that the roots would have there; OUTSIDE_NONE if there is none. Some rules
 * require that all roots depend on the values of one point; the fields then hold the values for that point itself
 * (kept_is_here). */
OutsideRule kept_rule(const Alike *a, const Box *box, const int64_t *low, const int64_t *high);
bool kept_is_here(OutsideRule rule);
/* Removes the unused ops from `body`, a straight line. */
void kept_drop_unused(const Module *m, Block *body);
/* Does an access to field `f` at offset `off` have a value at all points of `box`, because it stays inside the field,
 * or by an outside rule? (A rule leads nowhere in a field without points.) */
bool kept_gives_value(const Module *m, const Box *box, const Field *f, const int64_t *off);
/* Do all accesses from which the roots are computed have values on all of `box`? That they have on the piece's own box
 * proves nothing: if the piece has no points, its accesses may lead anywhere, and `box`, which is larger, may have
 * points. */
bool kept_is_defined(const Alike *a, const Box *box);
/* The body of the stencil that computes the roots: that of the piece, `body`, with the roots as results. here: with all
 * accesses at the point itself. */
Block *kept_making_body(const Alike *a, const Block *body, bool here);
/* How the members of a class are read: from field `field`, -1: they are computed. here: the field holds the values for
 * the point itself. */
typedef struct Kept {
  int32_t field;
  bool here;
} Kept;
/* The body `body` with accesses in place of the members of each class c with kept[c].field >= 0. */
Block *kept_reading_body(const Alike *a, const Block *body, const Kept *kept);
/* A name "NAME.what", or that with a number, that no field of `m` has (kept_field_name), or no stencil or init
 * (kept_stencil_name). */
const char *kept_field_name(const Module *m, const char *name, const char *what);
const char *kept_stencil_name(const Module *m, const char *name, const char *what);
/* Does `now` lose a shared launch: can two time steps of `before`, or the stencils of one step, share a launch, but not
 * those of `now`? */
bool kept_loses_launches(const Module *now, const Module *before);
/* Copies the lists of fields, stencils, inits, checks and launch-time arrays, so that a pass can add to them; other
 * modules may share them. */
void kept_own_lists(Module *m);

#endif
