/* ir/run/eval.c: evaluates one op on constants; it defines the arithmetic of every op.
 *
 * Integers wrap at their width, x / 0 = x % 0 = 0, division truncates. f32 functions are computed in f64 and rounded.
 * For + - * / and sqrt this is the correctly rounded f32 result, because an f64 has more than twice as many digits plus
 * two. */
#include "ir/ir.h"
#include "ir/run/random.h"

#include <math.h>

/* Integer arithmetic; the caller truncates the result to its type. */
static int64_t eval_int(Opcode code, int64_t x, int64_t y) {
  uint64_t a = (uint64_t)x, b = (uint64_t)y;
  switch (code) {
  case OP_ADD: return (int64_t)(a + b);
  case OP_SUB: return (int64_t)(a - b);
  case OP_MUL: return (int64_t)(a * b);
  case OP_DIV: return y == 0 ? 0 : y == -1 ? (int64_t)(0 - a) : x / y;
  case OP_REM: return y == 0 || y == -1 ? 0 : x % y;
  case OP_NEG: return (int64_t)(0 - a);
  case OP_ABS: return x < 0 ? (int64_t)(0 - a) : x;
  case OP_MIN: return x < y ? x : y;
  case OP_MAX: return x > y ? x : y;
  default: return 0;
  }
}

/* Bitwise ops and shifts on the integers `x` and `y` of type `t`; a shift by the width or more shifts all bits out. */
static int64_t eval_bits(Opcode code, Type t, int64_t x, int64_t y) {
  uint64_t by = (uint64_t)y, width = (uint64_t)type_size(t) * 8;
  switch (code) {
  case OP_BIT_AND: return x & y;
  case OP_BIT_OR: return x | y;
  case OP_BIT_XOR: return x ^ y;
  case OP_BIT_NOT: return ~x;
  case OP_SHL: return by < width ? (int64_t)((uint64_t)x << by) : 0;
  default: return x < 0 ? ~(by < width ? ~x >> by : 0) : by < width ? x >> by : 0;
  }
}

/* IEEE 754-2019 minimumNumber: NaN is ignored, -0 < +0. */
static double minimum_number(double x, double y) {
  if (isnan(x))
    return y;
  if (isnan(y))
    return x;
  if (x == y)
    return signbit(x) ? x : y;
  return x < y ? x : y;
}

/* IEEE 754-2019 maximumNumber. */
static double maximum_number(double x, double y) {
  if (isnan(x))
    return y;
  if (isnan(y))
    return x;
  if (x == y)
    return signbit(x) ? y : x;
  return x > y ? x : y;
}

/* `x` rounded to the float type `t`. */
static double rounded(double x, Type t) { return const_convert((Const){.f = x}, TY_F64, t).f; }

/* The exponent of the end of the range of op ranged. */
static int range_end(Type t) { return t == TY_F64 ? RANGED_F64 : RANGED_F32; }

bool eval_below_end(Type t, double x) { return x < ldexp(1, range_end(t)); }

bool eval_ranged(Type t, double x) { return x >= ldexp(1, -range_end(t)) && eval_below_end(t, x); }

bool eval_short_quotient(Type t, double x, double y) {
  double most = t == TY_F64 ? 0x1p800 : 0x1p96, far = t == TY_F64 ? 0x1p1000 : 0x1p124;
  return x >= 1 / most && x < most && y >= 1 / most && y < most && x / y >= 1 / far && x / y <= far;
}

bool eval_short_root(Type t, double x) { return x >= (t == TY_F64 ? 0x1p-500 : 0x1p-100) && x < HUGE_VAL; }

/* Float arithmetic in f64; the caller rounds to `t`, which matters here only for ops with two roundings. */
static double eval_float(Opcode code, Type t, double x, double y) {
  switch (code) {
  case OP_ADD: return x + y;
  case OP_SUB: return x - y;
  case OP_MUL: return x * y;
  case OP_DIV:
  case OP_DIV_WIDE: return x / y;
  case OP_DIV_RANGED: return eval_short_quotient(t, fabs(x), fabs(y)) ? x / y : NAN;
  case OP_DIV_ROOT_RANGED: return eval_ranged(t, fabs(x)) && eval_ranged(t, y) ? x / rounded(sqrt(y), t) : NAN;
  case OP_REM: return fmod(x, y);
  case OP_NEG: return -x;
  case OP_ABS: return fabs(x);
  case OP_MIN: return minimum_number(x, y);
  case OP_MAX: return maximum_number(x, y);
  case OP_SQRT: return sqrt(x);
  case OP_SQRT_RANGED: return eval_short_root(t, x) ? sqrt(x) : NAN;
  case OP_RSQRT: return 1.0 / rounded(sqrt(x), t);
  case OP_EXP: return exp(x);
  case OP_LOG: return log(x);
  case OP_POW: return pow(x, y);
  case OP_SIN: return sin(x);
  case OP_COS: return cos(x);
  case OP_TAN: return tan(x);
  case OP_TANH: return tanh(x);
  case OP_LOG2: return log2(x);
  case OP_LOG10: return log10(x);
  case OP_CBRT: return cbrt(x);
  case OP_ASIN: return asin(x);
  case OP_ACOS: return acos(x);
  case OP_ATAN: return atan(x);
  case OP_ATAN2: return atan2(x, y);
  case OP_SINH: return sinh(x);
  case OP_COSH: return cosh(x);
  case OP_ERF: return erf(x);
  case OP_FLOOR: return floor(x);
  case OP_CEIL: return ceil(x);
  case OP_COPYSIGN: return copysign(x, y);
  default: return 0;
  }
}

/* x * y + z with a single rounding to `t`. */
static double eval_fma(Type t, double x, double y, double z) {
  if (t == TY_F64)
    return fma(x, y, z);
  return rounded(fmaf((float)x, (float)y, (float)z), t);
}

/* A comparison of two values of type `t`. */
static bool eval_compare(Opcode code, Type t, Const x, Const y) {
  bool f = type_is_float(t);
  switch (code) {
  case OP_EQ: return f ? x.f == y.f : x.i == y.i;
  case OP_NE: return f ? x.f != y.f : x.i != y.i;
  case OP_LT: return f ? x.f < y.f : x.i < y.i;
  case OP_LE: return f ? x.f <= y.f : x.i <= y.i;
  case OP_GT: return f ? x.f > y.f : x.i > y.i;
  default: return f ? x.f >= y.f : x.i >= y.i;
  }
}

/* An op whose result has the type `t` of its operand `x` and, if there are two, `y`. */
static Const eval_arith(Opcode code, Type t, Const x, Const y) {
  if (type_is_float(t))
    return (Const){.f = rounded(eval_float(code, t, x.f, y.f), t)};
  return const_convert((Const){.i = eval_int(code, x.i, y.i)}, TY_I64, t);
}

Type odd_type(Type t) { return type_size(t) >= 4 ? t : type_is_float(t) ? TY_F32 : TY_I32; }

Const eval_odd(Type t, bool is_about, Const about, Const v) {
  const Type as = odd_type(t);
  v = const_convert(v, t, as);
  about = const_convert(about, t, as);
  if (is_about)
    v = eval_arith(OP_SUB, as, eval_arith(OP_ADD, as, about, about), v);
  else
    v = eval_arith(OP_NEG, as, v, v);
  return const_convert(v, as, t);
}

Const eval_op(const Op *op, const Const *operands) {
  Type t = op->noperands ? op->operands[0]->type : TY_NONE;
  Const x = op->noperands > 0 ? operands[0] : (Const){0}, y = op->noperands > 1 ? operands[1] : (Const){0};
  switch (op->code) {
  case OP_CONST: return op->cval;
  case OP_CONVERT: return const_convert(x, t, op->results[0]->type);
  case OP_SELECT: return x.i ? y : operands[2];
  case OP_RANDOM:
  case OP_NORMAL: return (Const){.f = eval_random(op->code, op->results[0]->type, operands)};
  case OP_FMA: return (Const){.f = eval_fma(t, x.f, y.f, operands[2].f)};
  case OP_EQ:
  case OP_NE:
  case OP_LT:
  case OP_LE:
  case OP_GT:
  case OP_GE: return (Const){.i = eval_compare(op->code, t, x, y)};
  case OP_BIT_AND:
  case OP_BIT_OR:
  case OP_BIT_XOR:
  case OP_BIT_NOT:
  case OP_SHL:
  case OP_SHR: return const_convert((Const){.i = eval_bits(op->code, t, x.i, y.i)}, TY_I64, t);
  case OP_AND: return (Const){.i = x.i && y.i};
  case OP_OR: return (Const){.i = x.i || y.i};
  case OP_NOT: return (Const){.i = !x.i};
  case OP_RANGED_ABOVE: return (Const){.i = eval_below_end(t, x.f)};
  case OP_RANGED: return (Const){.i = eval_ranged(t, x.f)};
  default: return eval_arith(op->code, t, x, y);
  }
}

/* `x` modulo `period` > 0, in [0, period). */
static __int128 floor_mod(__int128 x, __int128 period) {
  __int128 r = x % period;
  return r < 0 ? r + period : r;
}

int64_t eval_last(int64_t lo, int64_t hi, int64_t n) { return lo + (hi - lo) / n * n; }

Reflects map_reflects(Opcode code) {
  switch (code) {
  case OP_MIRROR: return (Reflects){{true, true}, {0, 0}};
  case OP_HALF: return (Reflects){{true, true}, {1, 1}};
  case OP_CLAMP_MIRROR: return (Reflects){{false, true}, {0, 0}};
  case OP_CLAMP_HALF: return (Reflects){{false, true}, {0, 1}};
  case OP_MIRROR_CLAMP: return (Reflects){{true, false}, {0, 0}};
  case OP_MIRROR_HALF: return (Reflects){{true, true}, {0, 1}};
  case OP_HALF_CLAMP: return (Reflects){{true, false}, {1, 0}};
  case OP_HALF_MIRROR: return (Reflects){{true, true}, {1, 0}};
  default: return (Reflects){{false, false}, {0, 0}};
  }
}

/* The image of a point `x` above the lower end of an interval whose upper end is `length` (at least 1) above it, under
 * reflection at the ends that `by` says and clamping at the others. Two reflections move a point by their period. */
static __int128 reflected(Reflects by, __int128 x, __int128 length) {
  if (by.end[0] && by.end[1]) {
    __int128 period = 2 * length + by.half[0] + by.half[1], r = floor_mod(x, period);
    return r <= length ? r : period - by.half[0] - r;
  }
  if (x < 0 && by.end[0])
    x = -x - by.half[0];
  else if (x > length && by.end[1])
    x = 2 * length + by.half[1] - x;
  return x < 0 ? 0 : x > length ? length : x;
}

int64_t eval_map(Opcode code, int64_t x, int64_t lo, int64_t hi) {
  if (hi <= lo)
    return lo;
  __int128 length = (__int128)hi - lo, from_lo = (__int128)x - lo;
  if (code == OP_WRAP)
    return (int64_t)(lo + floor_mod(from_lo, length + 1));
  return (int64_t)(lo + reflected(map_reflects(code), from_lo, length));
}
