/* gather.h: the state of a stencil while it is undone (gather.c, join.c). */
#ifndef STC_TRANSPOSE_GATHER_H
#define STC_TRANSPOSE_GATHER_H

#include "passes/transpose/transpose.h"

/* A temp field on `box`, the region of one or several pieces. It holds bases[k] of the code of piece number k, NULL:
 * nothing. around[d]: beyond an edge of dimension d it continues with the values of the other side; otherwise it is 0
 * there. wider: to continue so it has more points than the region, where it is 0. is_bar: it is no temp field, but the
 * derivative with respect to a target, which holds the same values. */
typedef struct KeptBase {
  const Value **bases;
  bool around[MAX_RANK], wider, is_bar;
  Box box;
  int32_t field;
} KeptBase;

/* A stencil while it is undone. By field f of m: own: the first stencil changes its derivative, because all
 * contributions are to the point itself; whole: it is a target that the stencil writes everywhere; set: it is a target;
 * hit: there are contributions to it. */
typedef struct Gather {
  Transpose *x;
  const Stencil *st;
  int n, nkept;
  Contribution *list;
  KeptBase *kept;
  Undo *undo; /* by piece */
  bool *own, *whole, *set, *hit;
} Gather;

/* join.c: joins contributions that several pieces make alike and whose pieces form a box, so that they are gathered
 * once. */
void gather_join(Gather *g);
/* is_few: are `points` points few in dimension `d` of `box`? is_thin_box: is `box` a thin region of the grid? */
bool is_few(int64_t points, const Box *box, int d);
bool is_thin_box(const Gather *g, const Box *box);
#endif
