/* ir/base/type.c: scalar types and constants. */
#include "ir/base/base.h"

#include <math.h>
#include <string.h>

/* Properties of a scalar type; digits and exponents are those of the significand with its leading bit. */
typedef struct TypeRow {
  const char *name;
  int size, digits, min_exp, max_exp;
} TypeRow;
static const TypeRow rows[TY_COMPOSITE] = {
    [TY_NONE] = {"none", 0, 0, 0, 0},       [TY_BOOL] = {"bool", 1, 0, 0, 0},      [TY_I8] = {"i8", 1, 0, 0, 0},
    [TY_I16] = {"i16", 2, 0, 0, 0},         [TY_I32] = {"i32", 4, 0, 0, 0},        [TY_I64] = {"i64", 8, 0, 0, 0},
    [TY_F16] = {"f16", 2, 11, -13, 16},     [TY_BF16] = {"bf16", 2, 8, -125, 128}, [TY_F32] = {"f32", 4, 24, -125, 128},
    [TY_F64] = {"f64", 8, 53, -1021, 1024}, [TY_U8] = {"u8", 1, 0, 0, 0},          [TY_U16] = {"u16", 2, 0, 0, 0},
    [TY_U32] = {"u32", 4, 0, 0, 0},
};

const char *type_name(Type t) { return t < TY_COMPOSITE ? rows[t].name : "composite"; }
int type_size(Type t) { return t < TY_COMPOSITE ? rows[t].size : 0; }

Type type_from_name(const char *s) {
  for (Type t = TY_BOOL; t < TY_COMPOSITE; t++)
    if (!strcmp(rows[t].name, s))
      return t;
  return TY_NONE;
}

int64_t type_most(Type t) {
  int bits = type_size(t) * 8 - !type_is_unsigned(t);
  return (int64_t)(UINT64_MAX >> (64 - bits));
}

int64_t type_least(Type t) { return type_is_unsigned(t) ? 0 : -type_most(t) - 1; }

/* The integer `i` truncated to the width of `t` and extended to 64 bits, by its sign or by zeros. */
static int64_t wrap_int(int64_t i, Type t) {
  uint64_t u = (uint64_t)i;
  switch (t) {
  case TY_I8: return (int64_t)(((u & 0xff) ^ 0x80) - 0x80);
  case TY_I16: return (int64_t)(((u & 0xffff) ^ 0x8000) - 0x8000);
  case TY_I32: return (int64_t)(((u & 0xffffffff) ^ 0x80000000) - 0x80000000);
  case TY_U8: return (int64_t)(u & 0xff);
  case TY_U16: return (int64_t)(u & 0xffff);
  case TY_U32: return (int64_t)(u & 0xffffffff);
  default: return i;
  }
}

/* `x` rounded once, to nearest even, to the narrow float type `t` (f16, bf16), with its overflow and subnormals. */
static double round_narrow(long double x, Type t) {
  if (x == 0 || isnan(x) || isinf(x))
    return (double)x;
  int e;
  frexpl(x, &e);
  int lowest = (e > rows[t].min_exp ? e : rows[t].min_exp) - rows[t].digits;
  double r = (double)ldexpl(rintl(ldexpl(x, -lowest)), lowest);
  return fabs(r) >= ldexp(1, rows[t].max_exp) ? copysign(HUGE_VAL, r) : r;
}

/* `x` truncated to an integer of type `t`; values beyond its range become the nearest end, NaN becomes 0. */
static int64_t saturate(double x, Type t) {
  double limit = ldexp(1, type_size(t) * 8 - !type_is_unsigned(t));
  if (isnan(x))
    return 0;
  if (x >= limit)
    return type_most(t);
  return x < (double)type_least(t) ? type_least(t) : (int64_t)x;
}

/* The float `x` converted to type `to`. */
static Const convert_float(double x, Type to) {
  switch (to) {
  case TY_BOOL: return (Const){.i = x != 0};
  case TY_F64: return (Const){.f = x};
  case TY_F32: return (Const){.f = (double)(float)x};
  case TY_F16:
  case TY_BF16: return (Const){.f = round_narrow(x, to)};
  default: return (Const){.i = saturate(x, to)};
  }
}

/* The integer or bool `i` converted to type `to`, rounded once. */
static Const convert_int(int64_t i, Type to) {
  switch (to) {
  case TY_BOOL: return (Const){.i = i != 0};
  case TY_F64: return (Const){.f = (double)i};
  case TY_F32: return (Const){.f = (double)(float)i};
  case TY_F16:
  case TY_BF16: return (Const){.f = round_narrow((long double)i, to)};
  default: return (Const){.i = wrap_int(i, to)};
  }
}

Const const_convert(Const x, Type from, Type to) {
  return type_is_float(from) ? convert_float(x.f, to) : convert_int(x.i, to);
}

/* The 16 bits of `x`, a value of the narrow float type `t`. */
static uint16_t narrow_bits(double x, Type t) {
  float f = (float)x;
  uint32_t wide;
  memcpy(&wide, &f, sizeof wide);
  uint16_t sign = (uint16_t)(wide >> 16 & 0x8000);
  if (t == TY_BF16)
    return (uint16_t)(isnan(x) ? sign | 0x7fc0 : (int)(wide >> 16));
  if (isnan(x) || isinf(x))
    return (uint16_t)(sign | (isnan(x) ? 0x7e00 : 0x7c00));
  int e = 0;
  double m = frexp(fabs(x), &e);
  if (x == 0 || e < rows[t].min_exp)
    return (uint16_t)(sign | (int)ldexp(fabs(x), 24));
  return (uint16_t)(sign | (e + 14) << 10 | (int)ldexp(2 * m - 1, 10));
}

/* The value of the narrow float type `t` that has these bits. */
static double narrow_value(uint16_t bits, Type t) {
  if (t == TY_BF16) {
    uint32_t wide = (uint32_t)bits << 16;
    float f;
    memcpy(&f, &wide, sizeof f);
    return (double)f;
  }
  int exponent = bits >> 10 & 31, m = bits & 1023;
  double x = exponent == 31 ? (m ? (double)NAN : HUGE_VAL) : exponent ? ldexp(1024 + m, exponent - 25) : ldexp(m, -24);
  return bits & 0x8000 ? -x : x;
}

/* A scalar of any type in its memory format. */
typedef union Packed {
  uint8_t b;
  int8_t i8;
  int16_t i16;
  uint16_t u16;
  int32_t i32;
  uint32_t u32;
  int64_t i64;
  float f32;
  double f64;
} Packed;

Const const_load(Type t, const void *p) {
  Packed u;
  memcpy(&u, p, (size_t)type_size(t));
  switch (t) {
  case TY_F64: return (Const){.f = u.f64};
  case TY_F32: return (Const){.f = (double)u.f32};
  case TY_F16:
  case TY_BF16: return (Const){.f = narrow_value(u.u16, t)};
  case TY_I64: return (Const){.i = u.i64};
  case TY_I32: return (Const){.i = u.i32};
  case TY_I16: return (Const){.i = u.i16};
  case TY_I8: return (Const){.i = u.i8};
  case TY_U32: return (Const){.i = u.u32};
  case TY_U16: return (Const){.i = u.u16};
  case TY_U8: return (Const){.i = u.b};
  default: return (Const){.i = u.b != 0};
  }
}

void const_store(Type t, void *p, Const x) {
  Packed u;
  switch (t) {
  case TY_F64: u.f64 = x.f; break;
  case TY_F32: u.f32 = (float)x.f; break;
  case TY_F16:
  case TY_BF16: u.u16 = narrow_bits(x.f, t); break;
  case TY_I64: u.i64 = x.i; break;
  case TY_I32: u.i32 = (int32_t)x.i; break;
  case TY_I16: u.i16 = (int16_t)x.i; break;
  case TY_I8: u.i8 = (int8_t)x.i; break;
  case TY_U32: u.u32 = (uint32_t)x.i; break;
  case TY_U16: u.u16 = (uint16_t)x.i; break;
  case TY_U8: u.b = (uint8_t)x.i; break;
  default: u.b = x.i != 0; break;
  }
  memcpy(p, &u, (size_t)type_size(t));
}

bool const_same(Const a, Const b, Type t) {
  if (!type_is_float(t))
    return a.i == b.i;
  return memcmp(&a.f, &b.f, sizeof a.f) == 0;
}
