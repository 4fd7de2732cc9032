/* passes/plan/asked.h: schedules as they were asked for.
 *
 *   asked.c        what one leaves open
 *   legal.c        what one comes to
 *   families.c     the pipeline that a plan stands for
 */
#ifndef STC_PASSES_ASKED_H
#define STC_PASSES_ASKED_H

#include "passes/passes.h"

/* The passes that the plan of `m` asks for, from its family's row and its edges and barriers: from the cut on if
 * `whole`, else the lowering and what follows it, for the model. */
const char *family_pipeline(Arena *a, const TargetInfo *t, const Module *m, bool whole);

/* Fills what `want` leaves open with a choice that is legal on the target and sensible for the groups that the module's
 * step is cut into, and checks what it fixes. Errors say what was asked, what the target allows and the nearest legal
 * choice. */
bool schedule_resolve(PassContext *c, const Module *m, const Schedule *want, Schedule *out);

/* Points of the grid that `s` is to suit; 0 if that is not known. */
double schedule_points(const Schedule *s, int rank);
/* Does what `s` leaves open depend on the size of the grid: are all its numbers open, and may its tiles be chosen? */
bool schedule_depends_on_size(const Schedule *s);
/* Is the grid of s->size one whose tiles are chosen as for any large grid, but for the rows of streamed tiles? */
bool schedule_size_is_large(const Schedule *s, int rank);
/* Are rows of streamed tiles among it, so that on large grids they depend on the size, whatever else is given? */
bool schedule_rows_are_open(const Schedule *s);
/* Does the schedule give a number of time steps, and leave family and tiles open? */
bool schedule_gives_steps(const Schedule *s);
/* The family that is asked for; of a schedule that says none: where time steps alone are said what is best for so many,
 * else overlapped tiles. */
FamilyId schedule_family(const TargetInfo *t, const Schedule *s);
/* Does the schedule put tiles at edges into a kernel of their own? By itself it does on grids that are not known to be
 * small. */
bool schedule_parts_edges(const Schedule *s, int rank);

#endif
