/* frontend/check/derivative.h: the weights of finite differences.
 *
 *   derivative.c   weights as exact fractions, and rounded once
 */
#ifndef STC_DERIVATIVE_H
#define STC_DERIVATIVE_H

#include <stdbool.h>
#include <stdint.h>

/* Derivatives and orders there are; points that one needs at most. */
enum { MAX_DERIVATIVE = 4, MAX_ORDER = 16, MAX_REACH = MAX_DERIVATIVE + MAX_ORDER };

__extension__ typedef __int128 Wide;
/* top / bottom in lowest terms, the bottom above 0. */
typedef struct Fraction {
  Wide top, bottom;
} Fraction;

/* A difference that stands for derivative number `n`, from 1 to MAX_DERIVATIVE, with an error of the power `order` of
 * the distance of two points, even, from 2 to MAX_ORDER. half: it is the derivative at the point in hand (0), or half a
 * point above (1) or below (-1). side: it reads points on both sides of that place alike (0), or the point in hand and
 * those above (1) or below (-1) alone. */
typedef struct Difference {
  int n, order, half, side;
} Difference;

/* Where the points lie that it needs, in points from the one in hand: the pairs from the nearest outwards, of each the
 * upper one first; behind the point itself where half and side are 0. Returns how many there are. */
int difference_points(const Difference *d, int at[MAX_REACH]);
/* The weight of each of these points where two points are 1 apart. False if a number is beyond 128 bits, which is so of
 * none of the differences above. */
bool difference_weights(const Difference *d, Fraction out[MAX_REACH]);
/* The fraction as a float of `bits` bits, rounded to the nearest, of two that are as near to the even one. Its top and
 * bottom must be below 2^(126 - bits), and it no subnormal number. */
double fraction_round(Fraction x, int bits);

#endif
