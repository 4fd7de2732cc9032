/* gather.h: a stencil while it is undone (gather.c, join.c). */
#ifndef STC_TRANSPOSE_GATHER_H
#define STC_TRANSPOSE_GATHER_H

#include "passes/transpose/transpose.h"

/* A temp field on `box`, a piece's region or that of several, that holds bases[k] of the code of piece number k, NULL:
 * nothing; around[d]: beyond an edge of dimension d it is what is at the other side, else 0. wider: to go around it has
 * more points than the region, where it is 0. is_bar: it is no temp field, but the derivative by a target that is. */
typedef struct KeptBase {
  const Value **bases;
  bool around[MAX_RANK], wider, is_bar;
  Box box;
  int32_t field;
} KeptBase;

/* A stencil being undone. `own`: field f of m is changed by the first stencil, by way of all its contributions, which
 * are to the point alone; `whole`: a target that the stencil sets everywhere; `set`: a target. */
typedef struct Gather {
  Transpose *x;
  const Stencil *st;
  int n, nkept;
  Contribution *list;
  KeptBase *kept;
  Undo *undo; /* by piece */
  bool *own, *whole, *set, *hit;
} Gather;

/* join.c: has what several pieces contribute alike, and which are a box together, be gathered once. */
void gather_join(Gather *g);
/* Are `points` points across of dimension `d` of `box` few? Is `box` a thin region of the grid? */
bool is_few(int64_t points, const Box *box, int d);
bool is_thin_box(const Gather *g, const Box *box);
#endif
