/* ir/type.c: scalar types and constants. */
#include "ir/ir.h"

#include <math.h>
#include <string.h>

/* What is known of each scalar type; digits and the exponents are those of the significand with its leading bit. */
typedef struct TypeRow { const char *name; int size, digits, min_exp, max_exp; } TypeRow;
static const TypeRow rows[TY_COMPOSITE] = {
  [TY_NONE] = {"none", 0, 0, 0, 0},     [TY_BOOL] = {"bool", 1, 0, 0, 0},     [TY_I8] = {"i8", 1, 0, 0, 0},
  [TY_I16] = {"i16", 2, 0, 0, 0},       [TY_I32] = {"i32", 4, 0, 0, 0},       [TY_I64] = {"i64", 8, 0, 0, 0},
  [TY_F16] = {"f16", 2, 11, -13, 16},   [TY_BF16] = {"bf16", 2, 8, -125, 128}, [TY_F32] = {"f32", 4, 24, -125, 128},
  [TY_F64] = {"f64", 8, 53, -1021, 1024},
};

const char *type_name(Type t) { return t < TY_COMPOSITE ? rows[t].name : "composite"; }
int type_size(Type t) { return t < TY_COMPOSITE ? rows[t].size : 0; }

Type type_from_name(const char *s) {
  for (Type t = TY_BOOL; t < TY_COMPOSITE; t++)
    if (!strcmp(rows[t].name, s))
      return t;
  return TY_NONE;
}

/* The integer `i` cut to the width of `t` and sign-extended again. */
static int64_t wrap_int(int64_t i, Type t) {
  uint64_t u = (uint64_t)i;
  switch (t) {
  case TY_I8: return (int64_t)(((u & 0xff) ^ 0x80) - 0x80);
  case TY_I16: return (int64_t)(((u & 0xffff) ^ 0x8000) - 0x8000);
  case TY_I32: return (int64_t)(((u & 0xffffffff) ^ 0x80000000) - 0x80000000);
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

/* `x` truncated to an integer of type `t`; beyond its range the nearest end, 0 for NaN. */
static int64_t saturate(double x, Type t) {
  int bits = type_size(t) * 8;
  double limit = ldexp(1, bits - 1);
  int64_t max = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
  if (isnan(x))
    return 0;
  if (x >= limit)
    return max;
  return x < -limit ? -max - 1 : (int64_t)x;
}

/* The float `x` as type `to`. */
static Const convert_float(double x, Type to) {
  switch (to) {
  case TY_BOOL: return (Const){.i = x != 0};
  case TY_F64: return (Const){.f = x};
  case TY_F32: return (Const){.f = (double)(float)x};
  case TY_F16: case TY_BF16: return (Const){.f = round_narrow(x, to)};
  default: return (Const){.i = saturate(x, to)};
  }
}

/* The integer or bool `i` as type `to`, rounded once. */
static Const convert_int(int64_t i, Type to) {
  switch (to) {
  case TY_BOOL: return (Const){.i = i != 0};
  case TY_F64: return (Const){.f = (double)i};
  case TY_F32: return (Const){.f = (double)(float)i};
  case TY_F16: case TY_BF16: return (Const){.f = round_narrow((long double)i, to)};
  default: return (Const){.i = wrap_int(i, to)};
  }
}

Const const_convert(Const x, Type from, Type to) {
  return type_is_float(from) ? convert_float(x.f, to) : convert_int(x.i, to);
}

bool const_same(Const a, Const b, Type t) {
  if (!type_is_float(t))
    return a.i == b.i;
  return memcmp(&a.f, &b.f, sizeof a.f) == 0;
}
