/* frontend/check/derivative.h: the weights of finite differences.
 *
 *   derivative.c   weights as exact fractions, and rounded once
 */
#ifndef STC_DERIVATIVE_H
#define STC_DERIVATIVE_H

#include <stdbool.h>
#include <stdint.h>

/* The highest derivative and order; the most points of a difference. */
enum { MAX_DERIVATIVE = 4, MAX_ORDER = 16, MAX_REACH = MAX_DERIVATIVE + MAX_ORDER };

__extension__ typedef __int128 Wide;
/* top / bottom in lowest terms, the bottom above 0. */
typedef struct Fraction {
  Wide top, bottom;
} Fraction;

/* A finite difference for derivative number `n`, from 1 to MAX_DERIVATIVE, whose error is of power `order` of the
 * distance of points; order is even, from 2 to MAX_ORDER. half: the derivative is taken at the present point (0), or
 * half a point above (1) or below (-1). side: it uses points on both sides of that place (0), or only the present point
 * and those above (1) or below (-1). */
typedef struct Difference {
  int n, order, half, side;
} Difference;

/* The positions of its points relative to the present one: pairs from the nearest outwards, of each the upper one
 * first; after the point itself if half and side are 0. Returns their number. */
int difference_points(const Difference *d, int at[MAX_REACH]);
/* The weight of each of these points at distances of 1. False if a number exceeds 128 bits, which does not happen for
 * the differences above. */
bool difference_weights(const Difference *d, Fraction out[MAX_REACH]);
/* The fraction as a float of `bits` bits, rounded to nearest even. Top and bottom must be below 2^(126 - bits), and the
 * result must not be subnormal. */
double fraction_round(Fraction x, int bits);

#endif
