/* ir/carries.h: what rounds of a row's loop take over from the round before, on CPUs (carries.c). */
#ifndef STC_IR_CARRIES_H
#define STC_IR_CARRIES_H

#include "ir/module.h"

/* What rounds of a loop take over: value[i] is in each round what from[i] was in the one before. first: the ops that
 * give them in the first round; round: those of a round. Both in order. */
typedef struct Carries {
  int32_t n, nfirst, nround;
  const Value **value, **from;
  const Op **first, **round;
} Carries;

/* What the rounds of parallel loop `loop` may take over, in arena `a`; NULL: nothing that pays. */
Carries *carries_find(Arena *a, const Op *loop);

/* What that saves at a point of a stencil's piece `body` on a grid of `rank` dimensions, in additions. */
double carries_save(Arena *a, const Block *body, int rank);

#endif
