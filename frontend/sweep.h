/* frontend/sweep.h: sweeps: stencils whose points have an order along a dimension, so that they read what they have
 * given behind.
 *
 *   parse_sweep.c         tokens to sweeps
 *   check/check_sweep.c   their layers as two pieces of a stencil, and which reads are behind
 */
#ifndef STC_SWEEP_H
#define STC_SWEEP_H

#include "frontend/checker.h"

/* along DIMENSION up (sign 1) or down (-1), first N (NULL: 1). The pieces of the declaration are those for the first
 * layers and for all others. */
typedef struct SweepDecl {
  Expr *along, *first;
  int sign;
} SweepDecl;

/* sweep NAME(TARGETS)[REGION] along D up { first [N] BODY next BODY }; after the word. */
bool parse_sweep(Parse *p);

/* The sweep in hand: its dimension, 1 up or -1 down, the layers that it begins with, and whether the block for these is
 * in hand. */
typedef struct Sweeping {
  int dim, sign;
  int64_t first;
  bool in_first;
} Sweeping;

/* The layers of sweep `d` as two pieces of `s`. */
void check_layers(Checker *c, const Decl *d, CheckedStencil *s);
/* Marks `e`, the read of `sym`, as one behind the point if it is of a target where the sweep in hand has been. False
 * after reporting that it is there, but can have no value. */
bool check_behind(Checker *c, const Env *env, const Symbol *sym, Expr *e);

#endif
