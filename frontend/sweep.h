/* frontend/sweep.h: sweeps: stencils whose points have an order along a dimension, so that they can read values that
 * they have computed at earlier points.
 *
 *   parse_sweep.c         tokens to sweeps
 *   check/check_sweep.c   their layers as two pieces of a stencil, and which reads are of earlier points
 */
#ifndef STC_SWEEP_H
#define STC_SWEEP_H

#include "frontend/checker.h"

/* along DIMENSION up (sign 1) or down (-1), first N (NULL: 1). The declaration has two pieces: for the first layers and
 * for all others. */
typedef struct SweepDecl {
  Expr *along, *first;
  int sign;
} SweepDecl;

/* Parses sweep NAME(TARGETS)[REGION] along D up { first [N] BODY next BODY }; after the keyword. */
bool parse_sweep(Parse *p);

/* The present sweep: its dimension, 1 for up or -1 for down, the number of its first layers, and whether their block is
 * being checked. */
typedef struct Sweeping {
  int dim, sign;
  int64_t first;
  bool in_first;
} Sweeping;

/* Makes the layers of sweep `d` two pieces of `s`. */
void check_layers(Checker *c, const Decl *d, CheckedStencil *s);
/* Marks `e`, the read of `sym`, with `behind` if it reads a target at a point that the present sweep has passed. False
 * after reporting that it does, but that no value exists there. */
bool check_behind(Checker *c, const Env *env, const Symbol *sym, Expr *e);

#endif
