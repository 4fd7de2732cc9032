/* numbers.c: what an instruction of PTX makes of its operands, which are bits, those of smaller types in the lower
 * ones. */
#include "tests/standin/libcuda/code.h"

#include <math.h>
#include <string.h>

/* Is it a type of floating numbers? */
static bool is_floating(Scalar t) { return t.kind == 'f' || t.kind == 'B'; }

/* Floating numbers as bits, and back. */
static float as_f32(uint64_t x) {
  float f;
  uint32_t bits = (uint32_t)x;
  memcpy(&f, &bits, sizeof f);
  return f;
}
static double as_f64(uint64_t x) {
  double f;
  memcpy(&f, &x, sizeof f);
  return f;
}
static uint64_t of_f32(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof f);
  return bits;
}
static uint64_t of_f64(double f) {
  uint64_t bits;
  memcpy(&bits, &f, sizeof f);
  return bits;
}

/* The nearest number of so many binary digits, of which those of subnormal ones are fewer; from 2^limit on there is
 * none. */
static double rounded(double x, int digits, int least, int limit) {
  int exponent;
  frexp(x, &exponent);
  exponent = exponent < least ? least : exponent;
  double y = ldexp(rint(ldexp(x, digits - exponent)), exponent - digits);
  return x != x || isinf(x) ? x : fabs(y) >= ldexp(1, limit) ? copysign(INFINITY, x) : y;
}

/* As a number of the type. */
static double floating(Scalar t, uint64_t x) {
  _Float16 half;
  uint16_t bits = (uint16_t)x;
  memcpy(&half, &bits, sizeof half);
  return t.kind == 'B' ? as_f32(x << 16) : t.size == 2 ? (double)half : t.size == 4 ? as_f32(x) : as_f64(x);
}
static uint64_t of_floating(Scalar t, double x) {
  uint16_t bits;
  if (t.kind == 'B')
    return x != x ? 0x7fff : of_f32((float)rounded(x, 8, -125, 128)) >> 16;
  if (t.size > 2)
    return t.size == 4 ? of_f32((float)x) : of_f64(x);
  _Float16 half = (_Float16)(float)rounded(x, 11, -13, 16);
  memcpy(&bits, &half, sizeof bits);
  return x != x ? 0x7fff : bits;
}

/* The lower bits that the type has, with those of signed numbers carried on. */
static uint64_t cut(Scalar t, uint64_t x) {
  int left = 64 - 8 * t.size;
  if (t.kind == 'p')
    return x & 1;
  return t.kind == 's' ? (uint64_t)((int64_t)(x << left) >> left) : x << left >> left;
}

/* The upper half of a product. */
static uint64_t high(Scalar t, uint64_t x, uint64_t y) {
  if (t.kind == 's')
    return (uint64_t)(((__int128)(int64_t)cut(t, x) * (int64_t)cut(t, y)) >> (8 * t.size));
  return (uint64_t)(((unsigned __int128)cut(t, x) * cut(t, y)) >> (8 * t.size));
}

/* Subnormal numbers as 0. */
static double flushed(double x) { return fabs(x) < 0x1p-126 ? copysign(0, x) : x; }

/* Approximate reciprocals, which code makes better by itself: of f64 the driver's have the upper half of the bits. */
static bool approximate(const Instruction *in, const uint64_t *x, uint64_t *out) {
  bool single = in->type.size == 4;
  double a = floating(in->type, x[0]);
  a = in->flushes && single ? flushed(a) : a;
  double f = in->op == OP_RCP ? 1 / a : in->op == OP_RSQRT ? 1 / sqrt(a) : sqrt(a);
  f = in->flushes && single ? flushed((double)(float)f) : f;
  *out = single ? of_f32((float)f) : of_f64(f) & ~(uint64_t)0xffffffff;
  return in->op == OP_RCP || in->op == OP_RSQRT || (in->op == OP_SQRT && single);
}

/* Arithmetic of f32 and f64: each rounds once, and nothing is contracted (the compiler may not, for it is told so). */
static bool floats(const Instruction *in, const uint64_t *x, uint64_t *out) {
  Scalar t = in->type;
  uint64_t sign = (uint64_t)1 << (8 * t.size - 1);
  if (in->inexact)
    return approximate(in, x, out);
  double a = floating(t, x[0]), b = in->noperands > 2 ? floating(t, x[1]) : 0;
  bool single = t.size == 4;
  switch (in->op) {
  case OP_ADD: *out = single ? of_f32((float)a + (float)b) : of_floating(t, a + b); break;
  case OP_SUB: *out = single ? of_f32((float)a - (float)b) : of_floating(t, a - b); break;
  case OP_MUL: *out = single ? of_f32((float)a * (float)b) : of_floating(t, a * b); break;
  case OP_DIV: *out = single ? of_f32((float)a / (float)b) : of_f64(a / b); break;
  case OP_MAD:
  case OP_FMA: *out = single ? of_f32(fmaf((float)a, (float)b, as_f32(x[2]))) : of_f64(fma(a, b, as_f64(x[2]))); break;
  case OP_MIN: *out = of_floating(t, a == b ? (signbit(a) ? a : b) : fmin(a, b)); break; /* -0 is less than 0 */
  case OP_MAX: *out = of_floating(t, a == b ? (signbit(a) ? b : a) : fmax(a, b)); break;
  case OP_NEG: *out = x[0] ^ sign; break;
  case OP_ABS: *out = x[0] & ~sign; break;
  case OP_COPYSIGN: *out = (x[0] & sign) | (x[1] & ~sign); break;
  case OP_SQRT: *out = single ? of_f32(sqrtf((float)a)) : of_f64(sqrt(a)); break;
  case OP_RCP: *out = single ? of_f32(1 / (float)a) : of_f64(1 / a); break;
  default: return false;
  }
  if (t.size == 2 && (in->op == OP_FMA || in->op == OP_MAD || in->op == OP_DIV))
    return false;
  return !in->flushes;
}

/* Quotients and remainders. */
static uint64_t divided(const Instruction *in, uint64_t a, uint64_t b) {
  bool whole = in->op == OP_DIV;
  if (!b)
    return ~(uint64_t)0;
  if (in->type.kind != 's')
    return whole ? a / b : a % b;
  if ((int64_t)b == -1)
    return whole ? -a : 0;
  return (uint64_t)(whole ? (int64_t)a / (int64_t)b : (int64_t)a % (int64_t)b);
}

/* Products, and their sums. */
static uint64_t product(const Instruction *in, const uint64_t *x) {
  uint64_t a = cut(in->type, x[0]), b = cut(in->type, x[1]), p = a * b;
  if (in->high)
    p = high(in->type, a, b);
  return in->op == OP_MAD ? p + x[2] : p;
}

/* Integers and bits. */
static bool integers(const Instruction *in, const uint64_t *x, uint64_t *out) {
  Scalar t = in->type, wide = {t.kind, 2 * t.size};
  uint64_t a = cut(t, x[0]), b = cut(t, x[1]), bits = (uint64_t)t.size * 8, by = (uint32_t)x[1];
  bool is_signed = t.kind == 's';
  switch (in->op) {
  case OP_ADD: *out = a + b; break;
  case OP_SUB: *out = a - b; break;
  case OP_MUL:
  case OP_MAD: *out = product(in, x); break;
  case OP_DIV:
  case OP_REM: *out = divided(in, a, b); break;
  case OP_MIN: *out = (is_signed ? (int64_t)a < (int64_t)b : a < b) ? a : b; break;
  case OP_MAX: *out = (is_signed ? (int64_t)a > (int64_t)b : a > b) ? a : b; break;
  case OP_NEG: *out = -a; break;
  case OP_ABS: *out = (int64_t)a < 0 ? -a : a; break;
  case OP_AND: *out = a & b; break;
  case OP_OR: *out = a | b; break;
  case OP_XOR: *out = a ^ b; break;
  case OP_NOT: *out = ~a; break;
  case OP_SHL: *out = by < bits ? a << by : 0; break;
  case OP_SHR:
    *out = is_signed ? (uint64_t)((int64_t)a >> (by < bits ? by : bits - 1)) : by < bits ? a >> by : 0;
    break;
  default: return false;
  }
  *out = cut(in->wide ? wide : (Scalar){'b', t.size}, *out);
  if (t.kind == 'p')
    *out &= 1;
  return true;
}

/* setp: a comparison, and perhaps a predicate with which it is combined. */
static bool compares(const Instruction *in, const uint64_t *x, uint64_t *out) {
  Scalar t = in->type.kind == 'p' ? in->from : in->type;
  int c = in->compare % COMPARES;
  bool less, equal, unordered = false;
  if (is_floating(t)) {
    double a = floating(t, x[0]), b = floating(t, x[1]);
    less = a < b, equal = a == b, unordered = a != a || b != b;
  } else {
    uint64_t a = cut(t, x[0]), b = cut(t, x[1]);
    less = t.kind == 's' ? (int64_t)a < (int64_t)b : a < b, equal = a == b;
  }
  bool holds = c == COMPARE_EQ   ? equal
               : c == COMPARE_NE ? !equal
               : c == COMPARE_LT ? less
               : c == COMPARE_LE ? less || equal
               : c == COMPARE_GT ? !less && !equal
               : c == COMPARE_GE ? !less
                                 : c == COMPARE_NUM;
  if (unordered)
    holds = in->compare >= COMPARES || c == COMPARE_NAN;
  else if (c == COMPARE_NAN)
    holds = false;
  if (in->noperands > 3)
    holds = has_word(in, WORD_AND)  ? holds && (x[2] & 1)
            : has_word(in, WORD_OR) ? holds || (x[2] & 1)
                                    : holds ^ (x[2] & 1);
  return *out = holds, true;
}

/* A floating number as an integer of the type: the nearest that there is. */
static uint64_t whole_number(Scalar t, double x) {
  int bits = 8 * t.size;
  double most = ldexp(1, t.kind == 's' ? bits - 1 : bits), least = t.kind == 's' ? -most : 0;
  if (x != x)
    return 0;
  if (x >= most)
    return t.kind == 's' ? ((uint64_t)1 << (bits - 1)) - 1 : ~(uint64_t)0 >> (64 - bits);
  if (x <= least)
    return t.kind == 's' ? (uint64_t)1 << (bits - 1) : 0;
  return t.kind == 's' ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* cvt from one type to another. */
static bool converts(const Instruction *in, const uint64_t *x, uint64_t *out) {
  Scalar to = in->type, from = in->from;
  bool into = is_floating(to), out_of = is_floating(from);
  uint64_t a = cut(from, x[0]);
  if (has_word(in, WORD_SAT))
    return false;
  if (!into && !out_of)
    return *out = cut((Scalar){'b', to.size}, a), true;
  if (!out_of && to.size < 4)
    return *out = of_floating(to, from.kind == 's' ? (double)(int64_t)a : (double)a), true;
  if (!out_of && to.size == 4)
    return *out = of_f32(from.kind == 's' ? (float)(int64_t)a : (float)a), true;
  if (!out_of)
    return *out = of_f64(from.kind == 's' ? (double)(int64_t)a : (double)a), true;
  double f = floating(from, x[0]);
  f = has_word(in, WORD_RZI)   ? trunc(f)
      : has_word(in, WORD_RMI) ? floor(f)
      : has_word(in, WORD_RPI) ? ceil(f)
      : has_word(in, WORD_RNI) ? rint(f)
                               : f;
  return *out = into ? of_floating(to, f) : cut((Scalar){'b', to.size}, whole_number(to, f)), true;
}

/* lop3: for each bit the value of a table. */
static uint64_t looked_up(const uint64_t *x) {
  uint64_t out = 0;
  for (int i = 0; i < 32; i++)
    out |= (x[3] >> ((x[0] >> i & 1) << 2 | (x[1] >> i & 1) << 1 | (x[2] >> i & 1)) & 1) << i;
  return out;
}

/* prmt: four bytes of eight, or the signs of some. */
static uint64_t permuted(const uint64_t *x) {
  uint64_t all = (x[0] & 0xffffffff) | x[1] << 32, out = 0;
  for (int i = 0; i < 4; i++) {
    uint64_t which = x[2] >> 4 * i & 15, byte = all >> 8 * (which & 7) & 255;
    out |= (which & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * i;
  }
  return out;
}

/* bfe; of signed numbers the highest bit that is taken is the sign, that of the number where it has no more. */
static uint64_t extracted(const Instruction *in, const uint64_t *x) {
  uint64_t at = x[1] & 255, n = x[2] & 255, a = cut(in->type, x[0]);
  if (in->type.kind == 's') {
    int64_t from = (int64_t)a >> (at < 64 ? at : 63);
    return n == 0 ? 0 : n < 64 ? (uint64_t)((int64_t)((uint64_t)from << (64 - n)) >> (64 - n)) : (uint64_t)from;
  }
  a = at < 64 ? a >> at : 0;
  return n < 64 ? a & (((uint64_t)1 << n) - 1) : a;
}

/* shf: 32 bits of 64 that are shifted, the upper ones to the left, the lower ones to the right; by at most 32 where it
 * does not say "wrap". */
static uint64_t funnelled(const Instruction *in, const uint64_t *x) {
  uint64_t all = (x[0] & 0xffffffff) | x[1] << 32, by = (uint32_t)x[2];
  by = has_word(in, WORD_WRAP) ? by & 31 : by < 32 ? by : 32;
  return (has_word(in, WORD_L) ? all << by >> 32 : all >> by) & 0xffffffff;
}

bool compute(const Instruction *in, const uint64_t *x, uint64_t *out) {
  switch (in->op) {
  case OP_MOV: return *out = x[0], true;
  case OP_SETP: return compares(in, x, out);
  case OP_SELP: return *out = x[2] & 1 ? x[0] : x[1], true;
  case OP_CVT: return converts(in, x, out);
  case OP_LOP3: return *out = looked_up(x), true;
  case OP_PRMT: return *out = permuted(x), in->nwords == 2;
  case OP_SHF: return *out = funnelled(in, x), true;
  case OP_BFE: return *out = extracted(in, x), in->type.kind != 'p';
  default: return is_floating(in->type) ? floats(in, x, out) : integers(in, x, out);
  }
}
