/* derivative_test.c: the weights of finite differences: exact for all powers up to their order, in fractions; rounded
 * once. */

#include "tests/unit/testing.h"
#include "frontend/check/derivative.h"

/* Fractions of which tops and bottoms have hundreds of bits are compared modulo the largest primes below powers of two:
 * two whole numbers that are equal modulo all four differ by a multiple of a number of 242 bits, or not at all. */
static const int64_t primes[] = {((int64_t)1 << 59) - 55, ((int64_t)1 << 60) - 93, ((int64_t)1 << 61) - 1,
                                 ((int64_t)1 << 62) - 57};

/* x * y modulo `p`, not below 0. */
static int64_t times(Wide x, Wide y, int64_t p) {
  int64_t r = (int64_t)((x % p) * (y % p) % p);
  return r < 0 ? r + p : r;
}

/* The power `k` of `x` modulo `p`. */
static int64_t power(Wide x, int64_t k, int64_t p) {
  int64_t r = 1;
  for (; k > 0; k /= 2, x = times(x, x, p))
    r = k % 2 ? times(r, x, p) : r;
  return r;
}

/* `d` of x^k, on points at the distance 2, about the point at 0: what it gives, and what it is, modulo `p`. */
static void check_power(const Difference *d, int k, int count, const int *at, const Fraction *w, int64_t p) {
  int64_t sum = 0;
  for (int i = 0; i < count; i++) {
    int64_t weight = times(w[i].top, power(w[i].bottom, p - 2, p), p);
    sum = times((Wide)sum + times(weight, power(2 * at[i], k, p), p), 1, p);
  }
  int64_t want = k < d->n ? 0 : times(power(d->half, k - d->n, p), power(2, d->n, p), p);
  for (int i = 0; i < d->n && k >= d->n; i++)
    want = times(want, k - i, p);
  assert_int_equal(sum, want);
}

/* Each difference is exact for all powers below the sum of its order and n. */
TEST(exact) {
  int checked = 0;
  for (int n = 1; n <= MAX_DERIVATIVE; n++)
    for (int order = 2; order <= MAX_ORDER; order += 2)
      for (int half = -1; half <= 1; half++)
        for (int side = -1; side <= 1; side++, checked++) {
          const Difference d = {n, order, half, side};
          Fraction w[MAX_REACH];
          int at[MAX_REACH], count = difference_points(&d, at);
          assert_true(count <= MAX_REACH && difference_weights(&d, w));
          for (int k = 0; k < 4 * (order + n); k++)
            check_power(&d, k / 4, count, at, w, primes[k % 4]);
        }
  assert_int_equal(checked, 4 * 8 * 9);
}

/* Points come from the nearest outwards, as pairs whose weights are the same but for the sign. */
TEST(pairs) {
  for (int n = 1; n <= MAX_DERIVATIVE; n++)
    for (int order = 2; order <= MAX_ORDER; order += 2)
      for (int half = -1; half <= 1; half++) {
        const Difference d = {n, order, half, 0};
        Fraction w[MAX_REACH];
        int at[MAX_REACH], count = difference_points(&d, at);
        assert_true(difference_weights(&d, w));
        assert_int_equal(count % 2, half == 0);
        for (int i = !half; i < count; i += 2) {
          assert_int_equal(2 * at[i] - half, half - 2 * at[i + 1]);
          assert_true(2 * at[i] > half && (i < 2 || at[i] > at[i - 2]));
          assert_true(w[i].bottom == w[i + 1].bottom && w[i].top == (n % 2 ? -w[i + 1].top : w[i + 1].top));
        }
        assert_true(half || (at[0] == 0 && (w[0].top == 0) == (n % 2 == 1)));
      }
}

/* Those that books have. */
TEST(known) {
  static const struct {
    Difference d;
    int n;
    Fraction w[9];
  } cases[] = {
      {{1, 4, 0, 0}, 5, {{0, 1}, {2, 3}, {-2, 3}, {-1, 12}, {1, 12}}},
      {{2, 8, 0, 0}, 9, {{-205, 72}, {8, 5}, {8, 5}, {-1, 5}, {-1, 5}, {8, 315}, {8, 315}, {-1, 560}, {-1, 560}}},
      {{1, 4, 1, 0}, 4, {{9, 8}, {-9, 8}, {-1, 24}, {1, 24}}},
      {{1, 2, 0, 1}, 3, {{-3, 2}, {2, 1}, {-1, 2}}},
      {{1, 2, 0, -1}, 3, {{3, 2}, {-2, 1}, {1, 2}}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Fraction w[MAX_REACH];
    int at[MAX_REACH];
    assert_int_equal(difference_points(&cases[i].d, at), cases[i].n);
    assert_true(difference_weights(&cases[i].d, w));
    for (int k = 0; k < cases[i].n; k++)
      assert_true(w[k].top == cases[i].w[k].top && w[k].bottom == cases[i].w[k].bottom);
  }
}

/* Fractions are rounded to the nearest, of two to the even one. */
TEST(rounded) {
  const Wide one = 1;
  assert_true(fraction_round((Fraction){1, 3}, 53) == 1.0 / 3 && fraction_round((Fraction){-1, 3}, 53) == -1.0 / 3);
  assert_true(fraction_round((Fraction){1, 3}, 24) == (double)(1.0f / 3));
  assert_true(fraction_round((Fraction){0, 1}, 53) == 0);
  assert_true(fraction_round((Fraction){(one << 53) + 1, 1}, 53) == 0x1p53);
  assert_true(fraction_round((Fraction){(one << 53) + 3, 1}, 53) == 0x1p53 + 4);
  assert_true(fraction_round((Fraction){(one << 55) - 1, one << 55}, 53) == 1);
  assert_true(fraction_round((Fraction){1, one << 60}, 24) == 0x1p-60);
  /* 1 + 2^-24 + 2^-60 is above the middle of two f32, and becomes that middle as f64: rounded once, not twice */
  assert_true(fraction_round((Fraction){(one << 60) + (one << 36) + 1, one << 60}, 24) == 1 + 0x1p-23);
}
