/* random_test.c: Philox against the known answers of its authors, and what is made of its words (ir/run/random.c). */
#include "tests/unit/ir_testing.h"

#include "ir/run/random.h"

#include <math.h>

/* A row of Random123's kat_vectors: philox4x32, 10 rounds. */
typedef struct Known {
  uint32_t counter[4], key[2], words[4];
} Known;

TEST(known_answers) {
  static const Known rows[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
       {UINT32_MAX, UINT32_MAX},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint32_t x[4];
    memcpy(x, rows[i].counter, sizeof x);
    philox(rows[i].key, x);
    assert_memory_equal(x, rows[i].words, sizeof x);
  }
}

/* Draw number `draw` of `code` and type `t` at step 3 of the point (i, j, -2) with seed 17. */
static double drawn(Opcode code, Type t, int64_t draw, int64_t i, int64_t j) {
  Const x[RANDOM_OPERANDS] = {{17}, {draw & UINT32_MAX}, {3}, {i & UINT32_MAX}, {j & UINT32_MAX}, {-2 & UINT32_MAX}};
  return eval_random(code, t, x);
}

/* What a draw is: the words of the counter (i, j, k, step) under the key (seed, draw / words of a draw). */
TEST(words) {
  for (uint32_t draw = 0; draw < 9; draw++) {
    uint32_t x[4] = {5, UINT32_MAX, UINT32_MAX - 1, 3}, y[4] = {5, UINT32_MAX, UINT32_MAX - 1, 3};
    philox((const uint32_t[]){17, draw / 4}, x);
    philox((const uint32_t[]){17, draw / 2}, y);
    assert_true(drawn(OP_RANDOM, TY_F32, draw, 5, -1) == (double)(x[draw % 4] >> 8) * 0x1p-24);
    const uint32_t *w = y + 2 * (draw % 2);
    assert_true(drawn(OP_RANDOM, TY_F64, draw, 5, -1) ==
                ((double)(w[0] >> 5) * 0x1p26 + (double)(w[1] >> 6)) * 0x1p-53);
  }
}

/* The part of all numbers below `x`, from the nearer end. */
static double tail(double x) { return 0.5 * erfc(fabs(x) * M_SQRT1_2); }

/* A normal number has as much of the distribution beyond it as its uniform one says, and its sign. */
TEST(quantiles) {
  for (int i = 0; i < 20000; i++) {
    uint32_t x[4] = {(uint32_t)i, 1, UINT32_MAX - 1, 3};
    philox((const uint32_t[]){17, 0}, x);
    double p = ((double)x[0] + 0.5) * 0x1p-32, n = drawn(OP_NORMAL, TY_F32, 0, i, 1);
    assert_true((n < 0) == (p < 0.5));
    double off = tail(n) - fmin(p, 1 - p), density = exp(-n * n / 2) / sqrt(2 * M_PI);
    assert_true(fabs(off / density) < 1e-6 * fabs(n) + 1e-9);
    int64_t k = (int64_t)(x[0] >> 5) << 26 | x[1] >> 6;
    int64_t other = (INT64_C(1) << 53) - 1 - k;
    double q = ((double)(k < other ? k : other) + 0.5) * 0x1p-53, m = drawn(OP_NORMAL, TY_F64, 0, i, 1);
    assert_true((m < 0) == (k < other));
    assert_true(fabs((tail(m) - q) / exp(-m * m / 2) * sqrt(2 * M_PI)) < 4e-15 * fabs(m) + 1e-15);
  }
}

/* Sums of powers of 100,000 draws, and of products of neighbours, lie where they should. */
TEST(moments) {
  enum { N = 100000 };
  for (int t = 0; t < 2; t++) {
    double sum[5] = {0}, uniform[3] = {0}, beside = 0, across = 0, other = 0, last = 0;
    for (int i = 0; i < N; i++) {
      double x = drawn(OP_NORMAL, t ? TY_F64 : TY_F32, 6, i, 0), u = drawn(OP_RANDOM, t ? TY_F64 : TY_F32, 1, i, 0);
      assert_true(u >= 0 && u < 1);
      for (int k = 1; k < 5; k++)
        sum[k] += pow(x, k);
      uniform[1] += u - 0.5;
      uniform[2] += (u - 0.5) * (u - 0.5) - 1.0 / 12;
      beside += x * last;
      across += x * drawn(OP_NORMAL, t ? TY_F64 : TY_F32, 6, i, 1);
      other += x * drawn(OP_NORMAL, t ? TY_F64 : TY_F32, 7, i, 0);
      last = x;
    }
    const double z[] = {sum[1] / sqrt(N),
                        (sum[2] - N) / sqrt(2.0 * N),
                        sum[3] / sqrt(15.0 * N),
                        (sum[4] - 3 * N) / sqrt(96.0 * N),
                        uniform[1] * sqrt(12.0 / N),
                        uniform[2] * sqrt(180.0 / N),
                        beside / sqrt(N),
                        across / sqrt(N),
                        other / sqrt(N)};
    for (size_t i = 0; i < sizeof z / sizeof *z; i++)
      assert_true(fabs(z[i]) < 4);
  }
}
