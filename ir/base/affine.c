/* ir/base/affine.c: bounds that are affine in the integer params, and boxes of them. Constants and coefficients
 * saturate at the ends
 * of 64 bits, so that a bound that is out of range stays out of range. */
#include "ir/base/base.h"

/* x + y, clamped to the range of 64 bits. */
static int64_t add_saturated(int64_t x, int64_t y) {
  int64_t r;
  if (!__builtin_add_overflow(x, y, &r))
    return r;
  return x < 0 ? INT64_MIN : INT64_MAX;
}

/* x * y, clamped to the range of 64 bits. */
static int64_t mul_saturated(int64_t x, int64_t y) {
  int64_t r;
  if (!__builtin_mul_overflow(x, y, &r))
    return r;
  return (x < 0) != (y < 0) ? INT64_MIN : INT64_MAX;
}

Affine affine_const(int64_t c) { return (Affine){.c = c}; }

Affine affine_scalar(Arena *a, int scalar) {
  AffineTerm *t = ARENA_NEW(a, AffineTerm);
  *t = (AffineTerm){1, scalar};
  return (Affine){0, 1, t};
}

/* x + k * y: merges the two sorted lists of terms. */
static Affine combine(Arena *a, Affine x, Affine y, int64_t k) {
  Affine r = {.c = add_saturated(x.c, mul_saturated(y.c, k))};
  if (x.n + y.n == 0)
    return r;
  AffineTerm *t = ARENA_ARRAY(a, AffineTerm, x.n + y.n);
  for (int i = 0, j = 0; i < x.n || j < y.n;) {
    AffineTerm m;
    if (j == y.n || (i < x.n && x.t[i].scalar < y.t[j].scalar)) {
      m = x.t[i++];
    } else if (i == x.n || y.t[j].scalar < x.t[i].scalar) {
      m = (AffineTerm){mul_saturated(y.t[j].coef, k), y.t[j].scalar};
      j++;
    } else {
      m = (AffineTerm){add_saturated(x.t[i].coef, mul_saturated(y.t[j].coef, k)), x.t[i].scalar};
      i++, j++;
    }
    if (m.coef)
      t[r.n++] = m;
  }
  r.t = r.n ? t : NULL;
  return r;
}

Affine affine_add(Arena *a, Affine x, Affine y) { return combine(a, x, y, 1); }
Affine affine_sub(Arena *a, Affine x, Affine y) { return combine(a, x, y, -1); }
Affine affine_scale(Arena *a, Affine x, int64_t k) { return combine(a, affine_const(0), x, k); }

Affine affine_add_const(Affine x, int64_t c) {
  x.c = add_saturated(x.c, c);
  return x;
}

/* Have x and y the same terms? */
static bool same_terms(Affine x, Affine y) {
  if (x.n != y.n)
    return false;
  for (int i = 0; i < x.n; i++)
    if (x.t[i].coef != y.t[i].coef || x.t[i].scalar != y.t[i].scalar)
      return false;
  return true;
}

bool affine_equal(Affine x, Affine y) { return x.c == y.c && same_terms(x, y); }

bool affine_diff(Affine x, Affine y, int64_t *diff) {
  int64_t d;
  if (!same_terms(x, y) || __builtin_sub_overflow(x.c, y.c, &d))
    return false;
  *diff = d;
  return true;
}

/* |k| of any int64_t. */
static uint64_t magnitude(int64_t k) { return k < 0 ? 0 - (uint64_t)k : (uint64_t)k; }

int affine_multiple(Affine x, int64_t of) {
  uint64_t common = (uint64_t)of;
  for (int i = 0; i < x.n; i++)
    for (uint64_t rest = magnitude(x.t[i].coef); rest;) {
      uint64_t next = common % rest;
      common = rest;
      rest = next;
    }
  return magnitude(x.c) % common ? -1 : common == (uint64_t)of;
}

int64_t affine_eval(Affine x, const Const *scalars, bool *overflow) {
  int64_t sum = x.c, product;
  for (int i = 0; i < x.n; i++) {
    if (__builtin_mul_overflow(x.t[i].coef, scalars[x.t[i].scalar].i, &product) ||
        __builtin_add_overflow(sum, product, &sum)) {
      if (overflow)
        *overflow = true;
      return INT64_MIN;
    }
  }
  return sum;
}

bool box_equal(const Box *x, const Box *y) {
  if (x->rank != y->rank)
    return false;
  for (int d = 0; d < x->rank; d++)
    if (!affine_equal(x->lo[d], y->lo[d]) || !affine_equal(x->hi[d], y->hi[d]))
      return false;
  return true;
}

Affine box_extent(Arena *a, const Box *b, int d) { return affine_add_const(affine_sub(a, b->hi[d], b->lo[d]), 1); }

/* 1 if x <= y for all params, -1 if x > y for all params, 0 if this is not known. */
static int compare(Affine x, Affine y) {
  int64_t diff;
  if (!affine_diff(x, y, &diff))
    return 0;
  return diff <= 0 ? 1 : -1;
}

int box_inside(const Box *x, const Box *y) {
  int all = 1;
  for (int d = 0; d < x->rank; d++) {
    int lo = compare(y->lo[d], x->lo[d]), hi = compare(x->hi[d], y->hi[d]);
    if (lo < 0 || hi < 0)
      return -1;
    if (!lo || !hi)
      all = 0;
  }
  return all;
}

void extent_grow(Extent *x, const Extent *other, int rank) {
  for (int d = 0; d < rank; d++) {
    x->lo[d] = larger(x->lo[d], other->lo[d]);
    x->hi[d] = larger(x->hi[d], other->hi[d]);
  }
}

void box_eval(const Box *b, const Const *scalars, int64_t *lo, int64_t *hi) {
  for (int d = 0; d < b->rank; d++) {
    lo[d] = affine_eval(b->lo[d], scalars, NULL);
    hi[d] = affine_eval(b->hi[d], scalars, NULL);
  }
}
