/* ir/run/random.c: random numbers; it defines the ops random and normal.
 *
 * They use only operations that every device rounds alike. The result does not depend on whether a product and a
 * following sum are contracted: products that are operands of sums are exact, being powers of two times a number, or
 * are written as fma. A random number depends only on seed, draw, step and coordinates. */
#include "ir/run/random.h"

#include <math.h>

const float random_log_f32[10] = {0x1p+0f,        0x1.fffff8p-2f, 0x1.55555p-2f,  0x1.000428p-2f, 0x1.99a3ecp-3f,
                                  0x1.542708p-3f, 0x1.22719ep-3f, 0x1.0f3a1cp-3f, 0x1.084ap-3f,   0x1.38292p-4f};
const float random_near_f32[9] = {0x1.0fc8bep+1f,   0x1.652c86p-2f,  -0x1.8332aap-8f, -0x1.d0c8b2p-10f, 0x1.442aep-12f,
                                  -0x1.a14838p-18f, -0x1.4ee93p-18f, 0x1.04f98ep-21f, 0x1.5aa404p-25f};
const float random_far_f32[10] = {0x1.00696cp+2f, 0x1.6aa534p+0f,  0x1.b5290ap-7f,   -0x1.625d7cp-7f,  0x1.0b358ap-7f,
                                  -0x1.4bf5p-8f,  0x1.e25ba4p-10f, -0x1.60acc8p-16f, -0x1.f1a5f4p-13f, 0x1.e9d79cp-15f};
const double random_ratios[3][2][8] = {
    {{3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946, 45921.95393154987,
      67265.7709270087, 33430.57558358813, 2509.0809287301227},
     {1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597, 39307.89580009271,
      28729.085735721943, 5226.495278852854}},
    {{1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045, 1.2704582524523684,
      0.2417807251774506, 0.022723844989269184, 0.0007745450142783414},
     {1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008, 0.015198666563616457,
      0.0005475938084995345, 1.0507500716444169e-09}},
    {{6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487, 0.026532189526576124,
      0.0012426609473880784, 2.7115555687434876e-05, 2.0103343992922881e-07},
     {1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 0.0007868691311456133, 1.8463183175100548e-05,
      1.421511758316446e-07, 2.0442631033899397e-15}},
};
const double random_log_f64[LOG_F64] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                                        2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                                        1.479819860511658591e-01};

void philox(const uint32_t key[2], uint32_t counter[4]) {
  uint32_t k0 = key[0], k1 = key[1];
  for (int i = 0; i < PHILOX_ROUNDS; i++, k0 += PHILOX_STEP_0, k1 += PHILOX_STEP_1) {
    uint64_t p = (uint64_t)PHILOX_FACTOR_0 * counter[0], q = (uint64_t)PHILOX_FACTOR_2 * counter[2];
    counter[0] = (uint32_t)(q >> 32) ^ counter[1] ^ k0;
    counter[2] = (uint32_t)(p >> 32) ^ counter[3] ^ k1;
    counter[1] = (uint32_t)q;
    counter[3] = (uint32_t)p;
  }
}

/* The polynomial of `x` with the `n` coefficients `c`. */
static float poly_f32(int n, const float *c, float x) {
  float p = c[n - 1];
  for (int i = n - 2; i >= 0; i--)
    p = fmaf(p, x, c[i]);
  return p;
}
static double poly_f64(int n, const double *c, double x) {
  double p = c[n - 1];
  for (int i = n - 2; i >= 0; i--)
    p = fma(p, x, c[i]);
  return p;
}

/* -log(y) for y from 2^-31 to 1. */
static float log_f32(float y) {
  float e = 0;
  for (int k = 16; k; k /= 2)
    if (y < ldexpf(1, -k)) {
      y = ldexpf(y, k);
      e += (float)(k * M_LN2);
    }
  if (y < (float)M_SQRT1_2) {
    y *= 2;
    e += (float)M_LN2;
  }
  float x = 1 - y;
  return fmaf(x, poly_f32(LOG_F32, random_log_f32, x), e);
}

/* -log(y) for y from 2^-54 to 1. */
static double log_f64(double y) {
  double e = 0;
  for (int k = 32; k; k /= 2)
    if (y < ldexp(1, -k)) {
      y = ldexp(y, k);
      e += k * M_LN2;
    }
  if (y < M_SQRT1_2) {
    y *= 2;
    e += M_LN2;
  }
  double f = y - 1, s = f / (2 + f), z = s * s;
  return fma(-s, fma(z, poly_f64(LOG_F64, random_log_f64, z), 2), e);
}

/* The number below which a normal variate lies with probability (w + 0.5) / 2^32. With the distance x = 1 - 2 p from
 * the middle, 1 - |x| is exact except for one rounding at both ends. */
static float normal_f32(uint32_t w) {
  uint32_t u = w < ~w ? w : ~w;
  float rest = (float)(2 * u + 1) * 0x1p-32f, x = (float)~(2 * u) * 0x1p-32f;
  float v = log_f32(fmaf(-rest, rest, rest + rest));
  float near = poly_f32(NEAR_F32, random_near_f32, v - 2.5f);
  float far = poly_f32(FAR_F32, random_far_f32, sqrtf(fmaxf(v, 1)) - 3);
  return copysignf(x * (v < 5 ? near : far), (float)(int32_t)(w ^ UINT32_C(1) << 31));
}

/* The number below which a normal variate lies with probability (k + 0.5) / 2^53. */
static double normal_f64(int64_t k) {
  int64_t other = (INT64_C(1) << 53) - 1 - k, u = k < other ? k : other;
  double p = (double)(2 * u + 1) * 0x1p-54, q = 0.5 - p, r = sqrt(fmax(log_f64(p), 1));
  int part = q <= 0.425 ? 0 : r <= 5 ? 1 : 2;
  double at = part == 0 ? fma(-q, q, 0.180625) : part == 1 ? r - 1.6 : r - 5;
  double over = poly_f64(RATIO, random_ratios[part][0], at);
  return copysign((part == 0 ? q * over : over) / poly_f64(RATIO, random_ratios[part][1], at),
                  (double)(k - (INT64_C(1) << 52)));
}

double eval_random(Opcode code, Type t, const Const *operands) {
  uint32_t draw = (uint32_t)operands[RANDOM_DRAW].i, counter[4] = {0, 0, 0, (uint32_t)operands[RANDOM_STEP].i};
  uint32_t key[2] = {(uint32_t)operands[RANDOM_SEED].i, t == TY_F64 ? draw >> 1 : draw >> 2};
  for (int d = 0; d < 3; d++)
    counter[d] = (uint32_t)operands[RANDOM_PLACE + d].i;
  philox(key, counter);
  if (t == TY_F32) {
    uint32_t w = counter[draw & 3];
    return code == OP_NORMAL ? (double)normal_f32(w) : (double)((float)(w >> 8) * 0x1p-24f);
  }
  const uint32_t *w = &counter[2 * (draw & 1)];
  int64_t k = (int64_t)(w[0] >> 5) << 26 | w[1] >> 6;
  return code == OP_NORMAL ? normal_f64(k) : (double)k * 0x1p-53;
}
