/* passes/plan/asked.h: schedules as they were asked for.
 *
 *   asked.c        which parts a request leaves open
 *   legal.c        the schedule to which a request is resolved
 *   families.c     the pipeline for which a plan stands */
#ifndef STC_PASSES_ASKED_H
#define STC_PASSES_ASKED_H

#include "passes/passes.h"

/* The passes that the plan of `m` needs, from its family's row and its edges and barriers. `whole`: from the cut on;
 * otherwise the lowering and the passes after it, for the model. */
const char *family_pipeline(Arena *a, const TargetInfo *t, const Module *m, bool whole);

/* Resolves `want`: fills its open parts with a choice that is legal on the target and sensible for the groups into
 * which the module's step is cut, and checks its given parts. Errors name the request, what the target allows, and the
 * nearest legal choice. */
bool schedule_resolve(PassContext *c, const Module *m, const Schedule *want, Schedule *out);

/* Points of the grid for which `s` is to be chosen; 0 if that is not known. */
double schedule_points(const Schedule *s, int rank);
/* Does the choice of the open parts of `s` depend on the size of the grid: are all its numbers open, and may its tiles
 * be chosen? */
bool schedule_depends_on_size(const Schedule *s);
/* Is the grid of s->size one for which tiles are chosen as for any large grid, except the rows of streamed tiles? */
bool schedule_size_is_large(const Schedule *s, int rank);
/* Are rows of streamed tiles open, so that on large grids they depend on the size, whatever else is given? */
bool schedule_rows_are_open(const Schedule *s);
/* Does the schedule give a number of time steps, and leave family and tiles open? */
bool schedule_gives_steps(const Schedule *s);
/* The family that is asked for. If the schedule names none: the best one for the given time steps, if only these are
 * given, else overlapped tiles. */
FamilyId schedule_family(const TargetInfo *t, const Schedule *s);
/* Does the schedule put tiles at edges into a kernel of their own? If that is open, it does on grids that are not known
 * to be small. */
bool schedule_parts_edges(const Schedule *s, int rank);

#endif
