/* ir/carries.h: finds values that a round of a row's loop can take over from the round before, on CPUs (carries.c). */
#ifndef STC_IR_CARRIES_H
#define STC_IR_CARRIES_H

#include "ir/module.h"

/* In each round of a loop, value[i] equals from[i] of the round before. first: the ops that compute the values before
 * the first round; round: the ops of a round. Both are in order. */
typedef struct Carries {
  int32_t n, nfirst, nround;
  const Value **value, **from;
  const Op **first, **round;
} Carries;

/* The values that rounds of parallel loop `loop` can take over, in arena `a`; NULL if none saves time. */
Carries *carries_find(Arena *a, const Op *loop);

/* The additions that this saves at a point of a stencil's piece `body` on a grid of `rank` dimensions. */
double carries_save(Arena *a, const Block *body, int rank);

#endif
