/* derivative.c: the weights of finite differences, as exact fractions, and their rounding to a type in one step. */
#include "frontend/check/derivative.h"

#include <math.h>

/* The greatest common divisor of two numbers that are not both 0. */
static Wide common_divisor(Wide a, Wide b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b) {
    Wide r = a % b;
    a = b;
    b = r;
  }
  return a;
}

/* The fraction `top` / `bottom` in lowest terms; `bottom` is not 0. */
static Fraction reduced(Wide top, Wide bottom) {
  Wide k = common_divisor(top, bottom);
  k = bottom < 0 ? -k : k;
  return (Fraction){top / k, bottom / k};
}

/* Sets *out to a * b; false if that exceeds 128 bits. */
static bool multiply(Fraction a, Fraction b, Fraction *out) {
  Wide top, bottom;
  Fraction x = reduced(a.top, b.bottom), y = reduced(b.top, a.bottom);
  if (__builtin_mul_overflow(x.top, y.top, &top) || __builtin_mul_overflow(x.bottom, y.bottom, &bottom))
    return false;
  *out = reduced(top, bottom);
  return true;
}

/* Sets *out to a - b; false if that exceeds 128 bits. */
static bool subtract(Fraction a, Fraction b, Fraction *out) {
  Wide k = common_divisor(a.bottom, b.bottom), left, right, top, bottom;
  if (__builtin_mul_overflow(a.top, b.bottom / k, &left) || __builtin_mul_overflow(b.top, a.bottom / k, &right) ||
      __builtin_sub_overflow(left, right, &top) || __builtin_mul_overflow(a.bottom, b.bottom / k, &bottom))
    return false;
  *out = reduced(top, bottom);
  return true;
}

/* Fornberg's recurrence (Math. Comp. 51, 1988) for point number `i` of the points x[0 .. i], which are distances from
 * the place of the derivative. Before the call w[j][k] is the weight of point j in derivative k from the points 0 .. i
 * - 1, afterwards that from the points 0 .. i. `before` is the product of the distances of point i - 1 from the points
 * before it, `product` that of point i. False if a number exceeds 128 bits. */
static bool add_point(int i, const int *x, int n, Fraction before, Fraction product,
                      Fraction w[MAX_REACH][MAX_DERIVATIVE + 1]) {
  Fraction scale;
  if (!multiply(before, (Fraction){product.bottom, product.top}, &scale))
    return false;
  scale = reduced(scale.top, scale.bottom);
  for (int k = i < n ? i : n; k >= 0; k--) {
    Fraction a = {0, 1}, b, sum;
    if ((k && !multiply((Fraction){k, 1}, w[i - 1][k - 1], &a)) ||
        !multiply((Fraction){x[i - 1], 1}, w[i - 1][k], &b) || !subtract(a, b, &sum) || !multiply(scale, sum, &w[i][k]))
      return false;
  }
  for (int j = 0; j < i; j++)
    for (int k = i < n ? i : n; k >= 0; k--) {
      Fraction a = {0, 1}, b, sum;
      if ((k && !multiply((Fraction){k, 1}, w[j][k - 1], &a)) || !multiply((Fraction){x[i], 1}, w[j][k], &b) ||
          !subtract(b, a, &sum) || !multiply(reduced(1, x[i] - x[j]), sum, &w[j][k]))
        return false;
    }
  return true;
}

/* Sets w[..][n] to the weights of the points x[0 .. count - 1] in derivative `n` at 0. False if a number exceeds 128
 * bits. */
static bool recur(int count, const int *x, int n, Fraction w[MAX_REACH][MAX_DERIVATIVE + 1]) {
  Fraction before = {1, 1};
  for (int j = 0; j < MAX_REACH; j++)
    for (int k = 0; k <= MAX_DERIVATIVE; k++)
      w[j][k] = (Fraction){0, 1};
  w[0][0].top = 1;
  for (int i = 1; i < count; i++) {
    Fraction product = {1, 1};
    for (int j = 0; j < i; j++)
      if (!multiply(product, (Fraction){x[i] - x[j], 1}, &product))
        return false;
    if (!add_point(i, x, n, before, product, w))
      return false;
    before = product;
  }
  return true;
}

/* The number of points that the derivative needs. Pairs of points around the middle always give an even order. */
static int points_of(const Difference *d) {
  int pairs = d->half ? (d->order + d->n) / 2 : (d->order + d->n - 1) / 2;
  return d->side ? d->order + d->n : 2 * pairs + !d->half;
}

/* The offset of point number `i` of those that the derivative needs: from the nearest outwards, of two at the same
 * distance the upper one first. It is a whole number of points from the current point. */
static int place_of(const Difference *d, int i) {
  if (d->side)
    return d->side * i;
  int first = d->half > 0, pair = d->half ? i / 2 : (i + 1) / 2;
  bool upper = d->half ? i % 2 == 0 : i % 2 == 1;
  return d->half ? (upper ? first + pair : first - 1 - pair) : upper ? pair : -pair;
}

int difference_points(const Difference *d, int at[MAX_REACH]) {
  int count = points_of(d);
  for (int i = 0; i < count; i++)
    at[i] = place_of(d, i);
  return count;
}

bool difference_weights(const Difference *d, Fraction out[MAX_REACH]) {
  Fraction w[MAX_REACH][MAX_DERIVATIVE + 1];
  int at[MAX_REACH], count = difference_points(d, at);
  for (int i = 0; i < count; i++)
    at[i] = 2 * at[i] - d->half; /* in half distances, so that all are integers */
  if (!recur(count, at, d->n, w))
    return false;
  for (int i = 0; i < count; i++)
    if (!multiply(w[i][d->n], (Fraction){(Wide)1 << d->n, 1}, &out[i]))
      return false;
  return true;
}

double fraction_round(Fraction x, int bits) {
  bool negative = x.top < 0;
  Wide top = negative ? -x.top : x.top, whole = 0;
  int exponent = 0;
  if (!top)
    return 0;
  for (; top / x.bottom >= (Wide)1 << bits; exponent++)
    x.bottom *= 2;
  for (whole = top / x.bottom, top %= x.bottom; whole < (Wide)1 << (bits - 1); exponent--) {
    top *= 2;
    whole = 2 * whole + top / x.bottom;
    top %= x.bottom;
  }
  Wide rest = 2 * top;
  whole += rest > x.bottom || (rest == x.bottom && whole % 2);
  double value = ldexp((double)whole, exponent);
  return negative ? -value : value;
}
