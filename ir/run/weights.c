/* weights.c: coordinates of a grid's points, and the weights of differences on points that lie unevenly. */
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
                 a->name, dim, (long long)i, x, before);
    else
      diag_error(d, a->loc, "launch-time array '%s' has the coordinates of dimension %d, but element 0 is %g", a->name,
                 dim, x);
    return false;
  }
  return true;
}

/* The `n` coordinates at `x`, of type `type`, as they go on beyond both ends: by the distance of the two last ones. */
static double coordinate(Type type, const void *x, int64_t n, int64_t i) {
  int64_t end = i < 0 ? 0 : n - 1, inner = i < 0 ? 1 : n - 2;
  if (i >= 0 && i < n)
    return exec_get(type, x, i).f;
  double last = exec_get(type, x, end).f, step = n > 1 ? last - exec_get(type, x, inner).f : i < 0 ? -1 : 1;
  return last + (double)(i < 0 ? -i : i - end) * step;
}

/* Fornberg's recurrence (Math. Comp. 51, 1988): the weights of `count` points at the distances `x` in derivative `n`,
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

void weights_fill(const Module *m, int array, const Const *scalars, const void *from, void *to) {
  const ParamArray *a = &m->param_arrays[array], *z = &m->param_arrays[a->from];
  int64_t n = param_array_extent(z, scalars);
  double x[MAX_WEIGHED_POINTS], w[MAX_WEIGHED_POINTS][MAX_WEIGHED_DERIVATIVE + 1];
  for (int64_t i = 0; i < n; i++) {
    for (int j = 0; j < a->points; j++) {
      int at = a->side ? a->side * j : j % 2 ? (j + 1) / 2 : -j / 2;
      x[j] = coordinate(z->type, from, n, i + at) - exec_get(z->type, from, i).f;
    }
    recur(a->points, x, a->derivative, w);
    for (int j = 0; j < a->points; j++)
      exec_put(a->type, to, i * a->points + j, const_convert((Const){.f = w[j][a->derivative]}, TY_F64, a->type));
  }
}
