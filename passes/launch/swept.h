/* passes/launch/swept.h: launches of sweeps.
 *
 *   swept.c   which sweeps share a launch, and what it keeps of their columns
 */
#ifndef STC_PASSES_SWEPT_H
#define STC_PASSES_SWEPT_H

#include "passes/launch/launch.h"

/* ---------------------------------------------------------------- swept.c */

/* The points that sweep `st` computes; it must have pieces. */
Box sweep_region(const Stencil *st);
/* The reason why sweeps among the instances of `l` cannot share a launch; NULL: they can, or there are none. Two sweeps
 * can share a launch if they have the same columns, of a constant length up to MOST_KEPT_LAYERS, if the targets of the
 * first are temp fields that only the second reads, at the point itself, and if no other launch needs them
 * (wanted[f]). */
const char *swept_apart(const Launch *l, const bool *wanted);
/* Does launch `l` keep columns of field `f`, a target of the first of its two sweeps, in an array? */
bool launch_keeps(const Launch *l, int f);
/* The number of layers of these columns. */
int32_t kept_layers(const Launch *l);

#endif
