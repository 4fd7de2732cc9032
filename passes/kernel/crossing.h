/* passes/kernel/crossing.h: can two accesses of a kernel's array meet in one cell from two threads of a block? (for
 * barriers.c) */
#ifndef STC_PASSES_CROSSING_H
#define STC_PASSES_CROSSING_H

#include "passes/simplify/analysis.h"

/* An op that reads or writes an array: the array, the array that owns its storage, and its first cell: index[d] is a
 * linear form, the constant offset included; exact[d] says that the form did not wrap. cells: how many it touches along
 * the last dimension. looped: inside a for. met: the threads of neighbouring warps have met since. kind: a number that
 * accesses to the same cells have in common, -1: none. */
typedef struct Access {
  const Op *op;
  int32_t array, root, cells, kind;
  bool write, looped, met;
  bool exact[MAX_RANK];
  Linear index[MAX_RANK];
} Access;

/* The question, for the kernel of `ranges`: scratch memory for its threads, the kinds of accesses seen, and the
 * answers: known[x][y] holds bits of those about kinds x and y, NULL: there are none about x. */
typedef struct Crossing {
  Ranges *ranges;
  bool *step[MAX_RANK];
  int32_t nkinds;
  const Access **kinds;
  uint8_t **known;
} Crossing;

Crossing *crossing_new(Arena *a, Ranges *r);
/* The access to an array that `op` makes. */
Access *access_new(Crossing *c, const Op *op, bool looped);
/* May different threads of a block touch the same memory by x and y, at least one of them writing? x and y may be the
 * same access, in different iterations of the fors around it. */
bool accesses_cross(Crossing *c, const Access *x, const Access *y);
/* The same for threads of warps that are neither the same nor neighbours, where rows of threads are whole warps, or a
 * warp is whole rows. */
bool accesses_cross_far(Crossing *c, const Access *x, const Access *y);

#endif
