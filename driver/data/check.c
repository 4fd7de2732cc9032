/* driver/data/check.c: compares a field with the reference. */
#include "driver/data/data.h"
#include "driver/files/files.h"

#include <math.h>
#include <string.h>

/* The largest magnitude among the finite values of the field. */
static double largest_magnitude(const StcFieldInfo *f, const void *data, int64_t n) {
  double most = 0;
  for (int64_t i = 0; i < n; i++) {
    double v = fabs(field_value(f, data, i));
    if (isfinite(v) && v > most)
      most = v;
  }
  return most;
}

/* The distance of `got` from `want`, whose bits differ, in units of `scale`. NaN equals NaN, and an infinity equals
 * only itself; any other difference of these is an infinite error. The result is at least the smallest positive double,
 * also for differences that a double does not express: a zero of the wrong sign, an integer next to the right one, a
 * difference much smaller than `scale`. */
static double value_error(double got, double want, double scale) {
  if (isnan(got) && isnan(want))
    return 0;
  if (got == want)
    return 0x1p-1074;
  double e = fabs(got - want) / scale;
  return isnan(e) ? INFINITY : e > 0 ? e : 0x1p-1074;
}

FieldError field_compare(const StcFieldInfo *f, const void *got, const void *want) {
  int64_t size = type_size((Type)f->type), n = size ? f->bytes / size : 0;
  double scale = type_is_float((Type)f->type) ? largest_magnitude(f, want, n) : 1;
  FieldError worst = {0, 0, 0, -1};
  if (f->bytes == 0 || memcmp(got, want, (size_t)f->bytes) == 0)
    return worst;
  if (scale == 0)
    scale = 1;
  for (int64_t i = 0; i < n; i++) {
    if (memcmp((const char *)got + i * size, (const char *)want + i * size, (size_t)size) == 0)
      continue;
    double g = field_value(f, got, i), w = field_value(f, want, i), e = value_error(g, w, scale);
    if (e > worst.error)
      worst = (FieldError){e, g, w, i};
  }
  return worst;
}

int64_t count_nan(const StcFieldInfo *f, const void *data, int64_t *first) {
  int64_t size = type_size((Type)f->type), n = size && type_is_float((Type)f->type) ? f->bytes / size : 0, count = 0;
  for (int64_t i = n - 1; i >= 0; i--)
    if (isnan(field_value(f, data, i))) {
      count++;
      *first = i;
    }
  return count;
}

double default_tolerance(StcType t, bool exact) {
  if (exact || !type_is_float((Type)t))
    return 0;
  return t == STC_F64 ? 1e-12 : t == STC_F32 ? 1e-5 : t == STC_F16 ? 4e-3 : 3e-2;
}
