/* driver/files/values.c: single elements of fields of scalar type. f16 and bf16 are bits here. */
#include "driver/files/files.h"
#include "ir/run/exec.h"

#include <math.h>

double field_value(const StcFieldInfo *f, const void *data, int64_t i) {
  Type t = (Type)f->type;
  if (t == TY_BOOL)
    return ((const uint8_t *)data)[i];
  if (!type_is_scalar(t))
    return 0;
  Const v = exec_get(t, data, i);
  return type_is_float(t) ? v.f : (double)v.i;
}

void field_put(const StcFieldInfo *f, void *data, int64_t i, Const v) {
  Type t = (Type)f->type;
  if (t == TY_F16 || t == TY_BF16)
    v = const_convert(v, TY_F64, t);
  if (type_is_scalar(t))
    exec_put(t, data, i, v);
}

/* Number `i` of integers or bools of type `t`. */
static int64_t whole_value(Type t, const void *data, int64_t i) {
  return t == TY_I64    ? ((const int64_t *)data)[i]
         : t == TY_BOOL ? ((const uint8_t *)data)[i] != 0
                        : (int64_t)field_value(&(StcFieldInfo){.type = (StcType)t}, data, i);
}

int64_t values_convert(Type from, const void *in, Type to, void *out, int64_t n) {
  const StcFieldInfo source = {.type = (StcType)from}, target = {.type = (StcType)to};
  for (int64_t i = 0; i < n; i++) {
    Const v = {0}, was;
    if (type_is_float(from))
      v.f = field_value(&source, in, i);
    else
      v.i = whole_value(from, in, i);
    was = v;
    if (type_is_float(from) != type_is_float(to))
      v.f = (double)v.i;
    field_put(&target, out, i, v);
    if (type_is_float(to) ? isfinite(v.f) && !isfinite(field_value(&target, out, i)) : whole_value(to, out, i) != was.i)
      return i;
  }
  return n;
}

/* ---- shapes */

bool shape_places(int rank, const int64_t *shape, int n, const int64_t *of, int *place) {
  if (!n)
    return !rank;
  place[n - 1] = rank - 1;
  if (rank && shape[rank - 1] == of[n - 1] && shape_places(rank - 1, shape, n - 1, of, place))
    return true;
  place[n - 1] = -1;
  return of[n - 1] == 1 && shape_places(rank, shape, n - 1, of, place);
}
