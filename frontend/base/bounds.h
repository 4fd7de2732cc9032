/* frontend/base/bounds.h: bounds of regions and of accesses to them. They are compared where they can be without the
 * params; where they cannot, the comparison becomes a check at launch.
 *
 *   base/check_region.c     regions (checker.h), and what both files need for that
 *   check/check_access.c    accesses to fields, pieces that overlap, what temp fields hold
 */
#ifndef STC_FRONTEND_BASE_BOUNDS_H
#define STC_FRONTEND_BASE_BOUNDS_H

#include "frontend/checker.h"

/* The region as messages show it. */
const char *region_text(Checker *c, const Box *b);
/* Has the box points, whatever the params (1), has it none (-1), or does it depend (0)? */
int region_points(const Box *b);
/* A guard for a check about the points of `b` (NULL: of none): a copy of b if it can be empty. */
const Box *region_guard(Checker *c, const Box *b);
/* Does one of the last launch checks added imply value >= 0 about the points of x and y? */
bool region_is_checked(Checker *c, Affine value, const Box *x, const Box *y);
/* Adds the launch check value >= 0 about the points of x and y. */
void region_add_check(Checker *c, Loc loc, Affine value, const Box *x, const Box *y, const char *message);
/* The amount by which side `upper` of dimension d of `inner`, moved by `off`, lies inside `outer`: >= 0 if it does. */
Affine region_room(Checker *c, const Box *inner, int64_t off, const Box *outer, int d, bool upper);
/* Which dimensions does field number `field` not have? */
void field_lacks_which(const Checker *c, int field, bool *lacks);

#endif
