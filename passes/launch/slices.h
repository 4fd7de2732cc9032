/* passes/launch/slices.h: programs of rank 3 and 4 in which no stencil reads along dimension 0, such as programs with
 * members. A *slice* has one coordinate in dimension 0, and slices are independent of each other. Plans and lowerings
 * then work on one slice, a program with one dimension less, for which all families of tiles are available; the
 * resulting kernels run for all slices concurrently (lower/lower-slices.c). The module itself, and so its text,
 * keeps its rank. Programs of rank 4 have members, and can be lowered only in this way.
 *
 *   slices.c   are there slices; a slice as a module; plans of a program as plans of a slice, and back
 */
#ifndef STC_PASSES_SLICES_H
#define STC_PASSES_SLICES_H

#include "passes/passes.h"

/* Should `m`, whose stencils plan `s` is for (or is wanted for), be planned and lowered by slices? It must have slices,
 * and the plan's tiles must have as many dimensions as a slice, or be open. */
bool plan_is_sliced(const Module *m, const Schedule *s);
/* May `m`, whose stencils plan `s` is for, be planned and lowered: has it no more dimensions than tiles have, or has it
 * slices? Reports the reason if not. */
bool slices_are_there(PassContext *c, const Module *m, const Schedule *s);
/* A slice of `m`: a copy with one dimension less (Module.slice_of). In its bodies `index` of its rank is the slice's
 * number. */
Module *module_slice(Arena *a, const Module *m);
/* plan_of_slice: plan `s` of a program with slices as a plan of one slice. plan_of_slices: the plan of a slice of
 * `rank` dimensions as a plan of the program. */
Schedule plan_of_slice(const Schedule *s);
Schedule plan_of_slices(Arena *a, int rank, const Schedule *s);
/* The number of slices, given the extents `size` (Schedule.size) of a slice of `rank` dimensions: the last entry, which
 * these leave free. */
static inline double slices_of_size(int rank, const int64_t *size) {
  return rank < MAX_RANK && size[MAX_RANK - 1] > 1 ? (double)size[MAX_RANK - 1] : 1;
}

#endif
