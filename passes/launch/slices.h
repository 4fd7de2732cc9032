/* passes/launch/slices.h: programs of rank 3 and 4 no stencil of which looks along dimension 0, such as those of
 * members: their slices, a slice having one coordinate there, have nothing to do with each other. Plans and lowerings
 * then see one slice, a program of a rank less with all that such programs have, tiles of all families among it; what
 * comes of it is for all slices, one beside the other (lower/lower-slices.c). The module itself, and so its text, keeps
 * its rank. Programs of rank 4 have members, and are lowered in no other way.
 *
 *   slices.c   are there any; a slice as a module; plans of the one as plans of the other
 */
#ifndef STC_PASSES_SLICES_H
#define STC_PASSES_SLICES_H

#include "passes/passes.h"

/* Is `m`, whose stencils plan `s` is for (or is wanted for), to be planned and lowered by slices? It has slices, and
 * the plan says as many numbers of a tile as one has dimensions, or leaves them open. */
bool plan_is_sliced(const Module *m, const Schedule *s);
/* May `m`, whose stencils plan `s` is for, be planned and lowered: has it no more dimensions than tiles, or slices?
 * Reports what is in the way. */
bool slices_are_there(PassContext *c, const Module *m, const Schedule *s);
/* A slice of `m`: a copy of a rank less (Module.slice_of). In its bodies `index` of its rank is the number of the
 * slice. */
Module *module_slice(Arena *a, const Module *m);
/* Plan `s` of a program with slices, as what it is for a slice; the plan of a slice of `rank` dimensions, as one of
 * the program. */
Schedule plan_of_slice(const Schedule *s);
Schedule plan_of_slices(Arena *a, int rank, const Schedule *s);
/* How many slices there are beside each other, each of the extents `size` (Schedule.size) in `rank` dimensions: the
 * last number, which they leave free. */
static inline double slices_of_size(int rank, const int64_t *size) {
  return rank < MAX_RANK && size[MAX_RANK - 1] > 1 ? (double)size[MAX_RANK - 1] : 1;
}

#endif
