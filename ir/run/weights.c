/* weights.c: coordinates of a grid's points, and the weights of differences on points at uneven distances. */
#include "ir/run/exec.h"

#include <math.h>

int coordinates_of(const Module *m, int array) {
  for (int d = 0; d < m->grid.rank; d++)
    if (m->metric.coordinates[d] == array + 1)
      return d;
  return -1;
}

bool coordinates_check(const Module *m, int array, int dim, const Const *scalars, const void *values, Diags *d) {
  const ParamArray *a = &m->param_arrays[array];
  int64_t n = param_array_extent(a, scalars);
  for (int64_t i = 0; i < n; i++) {
    double x = exec_get(a->type, values, i).f, before = i ? exec_get(a->type, values, i - 1).f : -HUGE_VAL;
    if (x > before && isfinite(x))
      continue;
    if (i)
      diag_error(d, a->loc,
                 "launch-time array '%s' has the coordinates of dimension %d, which must rise, but element %lld is %g, "
                 "behind %g",
                 a->name, shown_dimension(m, dim), (long long)i, x, before);
    else
      diag_error(d, a->loc, "launch-time array '%s' has the coordinates of dimension %d, but element 0 is %g", a->name,
                 shown_dimension(m, dim), x);
    return false;
  }
  return true;
}

/* Coordinate number `i` of the `n` at `x`, of type `type`. Beyond an end the coordinates continue as a mirror image,
 * like the values of a field with mirrored edges, so that coordinates and values agree. If there is only one
 * coordinate, further ones have distance 1. */
static double coordinate(Type type, const void *x, int64_t n, int64_t i) {
  double sum = 0, sign = 1;
  if (n == 1)
    return exec_get(type, x, 0).f + (double)i;
  for (; i < 0 || i >= n; sign = -sign) {
    sum += sign * 2 * exec_get(type, x, i < 0 ? 0 : n - 1).f;
    i = i < 0 ? -i : 2 * n - 2 - i;
  }
  return sum + sign * exec_get(type, x, i).f;
}

/* Fornberg's recurrence (Math. Comp. 51, 1988): the weights of `count` points at the distances `x` for derivative `n`,
 * in w[..][n]. */
static void recur(int count, const double *x, int n, double w[MAX_WEIGHED_POINTS][MAX_WEIGHED_DERIVATIVE + 1]) {
  double before = 1;
  for (int j = 0; j < count; j++)
    for (int k = 0; k <= n; k++)
      w[j][k] = j == 0 && k == 0;
  for (int i = 1; i < count; i++) {
    double product = 1;
    for (int j = 0; j < i; j++)
      product *= x[i] - x[j];
    for (int k = n; k >= 0; k--)
      w[i][k] = before / product * ((k ? k * w[i - 1][k - 1] : 0) - x[i - 1] * w[i - 1][k]);
    for (int j = 0; j < i; j++)
      for (int k = n; k >= 0; k--)
        w[j][k] = (x[i] * w[j][k] - (k ? k * w[j][k - 1] : 0)) / (x[i] - x[j]);
    before = product;
  }
}

/* The offset of value number `j` of array `a` from its point. */
static int64_t place_of(const ParamArray *a, int j) {
  if (a->side)
    return a->side * j;
  if (!a->half)
    return j % 2 ? (j + 1) / 2 : -(j / 2);
  return j % 2 ? -((j + (a->half < 0)) / 2) : j / 2 + (a->half > 0);
}

/* The coordinate of value number `i`, which lies at a point, or (half) halfway to the next one. */
static double place(Type type, const void *x, int64_t n, int64_t i, bool half) {
  double here = coordinate(type, x, n, i);
  return half ? (here + coordinate(type, x, n, i + 1)) / 2 : here;
}

/* Computes at `to` the weights of array `a` for point `i` of the `n` points whose coordinates are at `from`. */
static void fill_point(const ParamArray *a, Type type, const void *from, int64_t n, int64_t i, void *to) {
  double x[MAX_WEIGHED_POINTS], w[MAX_WEIGHED_POINTS][MAX_WEIGHED_DERIVATIVE + 1];
  double here = place(type, from, n, i, a->half > 0);
  for (int j = 0; j < a->points; j++)
    x[j] = place(type, from, n, i + place_of(a, j), a->half < 0) - here;
  recur(a->points, x, a->derivative, w);
  for (int j = 0; j < a->points; j++) {
    double value = a->derivative ? w[j][a->derivative] : here;
    exec_put(a->type, to, (i + a->beyond) * a->points + j, const_convert((Const){.f = value}, TY_F64, a->type));
  }
}

void weights_fill(const Module *m, int array, const Const *scalars, const void *from, void *to) {
  const ParamArray *a = &m->param_arrays[array], *z = &m->param_arrays[a->from];
  int64_t n = param_array_extent(z, scalars);
  for (int64_t i = -a->beyond; n > 0 && i < n + a->beyond; i++)
    fill_point(a, z->type, from, n, i, to);
}
