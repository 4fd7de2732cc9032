/* passes/kernel/crossing.h: can two accesses of a kernel's array meet in one cell from two threads of a block? (for
 * barriers.c) */
#ifndef STC_PASSES_CROSSING_H
#define STC_PASSES_CROSSING_H

#include "passes/simplify/analysis.h"

/* An op that reads or writes an array. The array, the array that owns its storage, and its first cell: index[d] is a
 * linear form that includes the constant offset; exact[d]: this form does not wrap. cells: the number of cells touched
 * along the last dimension. looped: the op is in a for. met: neighbouring warps have synchronized since. kind: a number
 * shared by accesses to the same cells, -1: none. */
typedef struct Access {
  const Op *op;
  int32_t array, root, cells, kind;
  bool write, looped, met;
  bool exact[MAX_RANK];
  Linear index[MAX_RANK];
} Access;

/* The analysis of the kernel of `ranges`: scratch memory for its threads, the kinds of accesses seen, and cached
 * answers: known[x][y] has bits for the answers about kinds x and y; known[x] is NULL if there are none about x. */
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
/* May different threads of a block touch the same memory by x and y, of which at least one writes? x and y may be the
 * same access, in different iterations of the loops around it. */
bool accesses_cross(Crossing *c, const Access *x, const Access *y);
/* The same question about threads of warps that are neither the same nor neighbours. A row of threads must consist of
 * whole warps, or a warp of whole rows. */
bool accesses_cross_far(Crossing *c, const Access *x, const Access *y);

#endif
