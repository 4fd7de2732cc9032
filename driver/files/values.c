/* driver/files/values.c: single elements of fields of scalar type. f16 and bf16 are bits here. */
#include "driver/files/files.h"

#include <math.h>
#include <string.h>

/* The value of the f16 bits `b`. */
static double half_value(uint16_t b) {
  int exponent = b >> 10 & 31, mantissa = b & 1023;
  double v = exponent == 31 ? (mantissa ? NAN : INFINITY)
             : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                            : ldexp(mantissa, -24);
  return b >> 15 ? -v : v;
}

/* The bits of `v`, a value that f16 has. */
static uint16_t half_bits(double v) {
  unsigned sign = signbit(v) ? 0x8000 : 0;
  double x = fabs(v);
  int exponent;
  if (isnan(v))
    return (uint16_t)(sign | 0x7e00);
  if (isinf(v))
    return (uint16_t)(sign | 0x7c00);
  if (x < 0x1p-14)
    return (uint16_t)(sign | (unsigned)(x * 0x1p24));
  frexp(x, &exponent);
  return (uint16_t)(sign | ((unsigned)(exponent + 14) << 10) | ((unsigned)ldexp(x, 11 - exponent) & 1023));
}

/* The value of the bf16 bits `b`, and the bits of a value that bf16 has: the upper half of an f32. */
static double bfloat_value(uint16_t b) {
  uint32_t bits = (uint32_t)b << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return (double)f;
}
static uint16_t bfloat_bits(double v) {
  float f = (float)v;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (uint16_t)(isnan(v) ? bits >> 16 | 0x40 : bits >> 16);
}

double field_value(const StcFieldInfo *f, const void *data, int64_t i) {
  switch (f->type) {
  case STC_BOOL: return ((const uint8_t *)data)[i];
  case STC_I8: return ((const int8_t *)data)[i];
  case STC_I16: return ((const int16_t *)data)[i];
  case STC_U8: return ((const uint8_t *)data)[i];
  case STC_U16: return ((const uint16_t *)data)[i];
  case STC_U32: return ((const uint32_t *)data)[i];
  case STC_I32: return ((const int32_t *)data)[i];
  case STC_I64: return (double)((const int64_t *)data)[i];
  case STC_F16: return half_value(((const uint16_t *)data)[i]);
  case STC_BF16: return bfloat_value(((const uint16_t *)data)[i]);
  case STC_F32: return (double)((const float *)data)[i];
  case STC_F64: return ((const double *)data)[i];
  case STC_COMPOSITE: break;
  }
  return 0;
}

void field_put(const StcFieldInfo *f, void *data, int64_t i, Const v) {
  if (f->type == STC_F16 || f->type == STC_BF16)
    v = const_convert(v, TY_F64, (Type)f->type);
  switch (f->type) {
  case STC_BOOL: ((uint8_t *)data)[i] = v.i != 0; break;
  case STC_I8: ((int8_t *)data)[i] = (int8_t)v.i; break;
  case STC_I16: ((int16_t *)data)[i] = (int16_t)v.i; break;
  case STC_U8: ((uint8_t *)data)[i] = (uint8_t)v.i; break;
  case STC_U16: ((uint16_t *)data)[i] = (uint16_t)v.i; break;
  case STC_U32: ((uint32_t *)data)[i] = (uint32_t)v.i; break;
  case STC_I32: ((int32_t *)data)[i] = (int32_t)v.i; break;
  case STC_I64: ((int64_t *)data)[i] = v.i; break;
  case STC_F16: ((uint16_t *)data)[i] = half_bits(v.f); break;
  case STC_BF16: ((uint16_t *)data)[i] = bfloat_bits(v.f); break;
  case STC_F32: ((float *)data)[i] = (float)v.f; break;
  case STC_F64: ((double *)data)[i] = v.f; break;
  case STC_COMPOSITE: break;
  }
}

/* The integer or bool number `i` of elements of type `t`. */
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
