/* frontend/base/bounds.h: bounds of regions and of accesses to them. They are compared without the params if possible;
 * otherwise the comparison becomes a check at launch.
 *
 *   base/check_region.c     regions (checker.h), and functions for both files
 *   check/check_access.c    accesses to fields, overlapping pieces, contents of temp fields
 */
#ifndef STC_FRONTEND_BASE_BOUNDS_H
#define STC_FRONTEND_BASE_BOUNDS_H

#include "frontend/checker.h"

/* The region in messages. */
const char *region_text(Checker *c, const Box *b);
/* 1: the box has points for all params; -1: it has none for all; 0: it depends on the params. */
int region_points(const Box *b);
/* The boxes for a check about the points of `b` (NULL: of none): a copy of b if it can be empty. */
const Box *region_guard(Checker *c, const Box *b);
/* Does one of the latest launch checks imply value >= 0 for the points of x and y? */
bool region_is_checked(Checker *c, Affine value, const Box *x, const Box *y);
/* Adds the launch check value >= 0 for the points of x and y. */
void region_add_check(Checker *c, Loc loc, Affine value, const Box *x, const Box *y, const char *message);
/* The distance by which side `upper` of dimension d of `inner`, moved by `off`, lies inside `outer`: >= 0 if it does.
 */
Affine region_room(Checker *c, const Box *inner, int64_t off, const Box *outer, int d, bool upper);
/* Marks in `lacks` the dimensions that field number `field` lacks. */
void field_lacks_which(const Checker *c, int field, bool *lacks);

#endif
