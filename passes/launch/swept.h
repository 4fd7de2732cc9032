/* passes/launch/swept.h: launches of sweeps.
 *
 *   swept.c   which sweeps share a launch, and what it keeps of their columns
 */
#ifndef STC_PASSES_SWEPT_H
#define STC_PASSES_SWEPT_H

#include "passes/launch/launch.h"

/* ---------------------------------------------------------------- swept.c */

/* The points that sweep `st`, which has pieces, computes. */
Box sweep_region(const Stencil *st);
/* Why sweeps among the instances of `l` cannot share a launch, NULL: they can, or there are none. Two can, of the same
 * columns, whose length is a constant up to MOST_KEPT: what the first gives is temp, the second alone reads it, at the
 * point, and no other launch wants it (wanted[f]). */
const char *swept_apart(const Launch *l, const bool *wanted);
/* Does launch `l`, of two sweeps, keep the columns of field `f`, a target of the first one, in an array? */
bool launch_keeps(const Launch *l, int f);
/* The layers of the columns that it keeps. */
int32_t kept_layers(const Launch *l);

#endif
