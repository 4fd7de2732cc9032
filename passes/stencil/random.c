/* random.c: replaces random and normal by the operations with which ir/run/random.c defines them, for all devices
 * except the reference.
 *
 * `random` and `normal` are ops of stencil IR with six operands: the lowest 32 bits of the seed, of the number of the
 * draw, of the step and of the coordinates. So passes that move accesses, cut the grid or unroll steps treat them like
 * `index` and `step`, and need not know them. The reference computes them by ir/run/random.c. For all other devices
 * this pass emits the same formulas, ten rounds of Philox and the conversion of their words. `simplify` then finds the
 * common parts of several draws: draws with one seed whose numbers divided by four (f64: two) have the same quotient
 * share all rounds.
 *
 * Bits must not depend on whether a device contracts products and sums. So each product in the formulas that feeds a
 * sum is a product by a power of two, which is exact, or an `fma`; and the last operation of `normal` is a `copysign`,
 * so the program's additions cannot be contracted with a product in it. */
#include "ir/run/random.h"

#include <math.h>

#include "passes/passes.h"
#include "passes/registry.h"

static Value *word(Builder *b, uint32_t x) { return build_int(b, TY_U32, x); }

/* The two words of x * factor, the upper one first. */
static void product(Builder *b, Value *x, uint32_t factor, Value *out[2]) {
  Value *p = build2(b, OP_MUL, build_convert(b, TY_I64, x), build_int(b, TY_I64, factor));
  out[0] = build_convert(b, TY_U32, build2(b, OP_SHR, p, build_int(b, TY_I64, 32)));
  out[1] = build_convert(b, TY_U32, p);
}

/* Replaces the counter at `c` by the four words that Philox computes from it with the key k0, k1. */
static void rounds(Builder *b, Value *k0, Value *k1, Value *c[4]) {
  for (int i = 0; i < PHILOX_ROUNDS; i++) {
    Value *p[2], *q[2];
    product(b, c[0], PHILOX_FACTOR_0, p);
    product(b, c[2], PHILOX_FACTOR_2, q);
    c[0] = build2(b, OP_BIT_XOR, build2(b, OP_BIT_XOR, q[0], c[1]), k0);
    c[2] = build2(b, OP_BIT_XOR, build2(b, OP_BIT_XOR, p[0], c[3]), k1);
    c[1] = q[1];
    c[3] = p[1];
    k0 = build2(b, OP_ADD, k0, word(b, PHILOX_STEP_0));
    k1 = build2(b, OP_ADD, k1, word(b, PHILOX_STEP_1));
  }
}

/* Selects entry w[which * stride]; `which` is a u32 below `n`. */
static Value *choose(Builder *b, Value *which, int n, int stride, Value *const *w) {
  Value *v = w[(n - 1) * stride];
  for (int i = n - 2; i >= 0; i--)
    v = build3(b, OP_SELECT, build_op(b, OP_EQ, TY_BOOL, 2, (Value *[]){which, word(b, (uint32_t)i)})->results[0],
               w[i * stride], v);
  return v;
}

/* x < y. */
static Value *below(Builder *b, Value *x, Value *y) {
  return build_op(b, OP_LT, TY_BOOL, 2, (Value *[]){x, y})->results[0];
}
static Value *number(Builder *b, const Value *like, double x) { return build_float(b, like->type, x); }

/* The polynomial with the `n` coefficients `c` at `x`. */
static Value *poly(Builder *b, int n, const double *c, Value *x) {
  Value *p = number(b, x, c[n - 1]);
  for (int i = n - 2; i >= 0; i--)
    p = build3(b, OP_FMA, p, x, number(b, x, c[i]));
  return p;
}

/* The polynomial with the `n` coefficients `f` at `x`, in f32. */
static Value *poly_f32(Builder *b, int n, const float *f, Value *x) {
  double *c = ARENA_ARRAY(b->arena, double, n);
  for (int i = 0; i < n; i++)
    c[i] = (double)f[i];
  return poly(b, n, c, x);
}

/* Scales `*y`, which lies between 2^(1 - 2 most) and 1, by a power of two into [sqrt(1/2), sqrt(2)). Returns the
 * logarithm of that power. */
static Value *scale(Builder *b, Value **y, int most) {
  Value *e = NULL, *none = number(b, *y, 0);
  for (int k = most; k >= 0; k = k == 0 ? -1 : k / 2) {
    int by = k ? k : 1;
    Value *small = below(b, *y, number(b, *y, k ? ldexp(1, -k) : M_SQRT1_2));
    Value *more = build3(b, OP_SELECT, small, number(b, *y, by * M_LN2), none);
    *y = build3(b, OP_SELECT, small, build2(b, OP_MUL, *y, number(b, *y, ldexp(1, by))), *y);
    e = e ? build2(b, OP_ADD, e, more) : more;
  }
  return e;
}

/* The larger of `x` and 1. */
static Value *at_least_one(Builder *b, Value *x) { return build2(b, OP_MAX, x, number(b, x, 1)); }

/* normal_f32 of random.c. */
static Value *normal_f32(Builder *b, Value *w) {
  Value *u = build2(b, OP_MIN, w, build1(b, OP_BIT_NOT, w)), *twice = build2(b, OP_SHL, u, word(b, 1));
  Value *unit = build_float(b, TY_F32, 0x1p-32);
  Value *rest = build2(b, OP_MUL, build_convert(b, TY_F32, build2(b, OP_BIT_OR, twice, word(b, 1))), unit);
  Value *x = build2(b, OP_MUL, build_convert(b, TY_F32, build1(b, OP_BIT_NOT, twice)), unit);
  Value *y = build3(b, OP_FMA, build1(b, OP_NEG, rest), rest, build2(b, OP_ADD, rest, rest));
  Value *e = scale(b, &y, 16), *d = build2(b, OP_SUB, number(b, y, 1), y);
  Value *v = build3(b, OP_FMA, d, poly_f32(b, LOG_F32, random_log_f32, d), e);
  Value *near = poly_f32(b, NEAR_F32, random_near_f32, build2(b, OP_SUB, v, number(b, v, 2.5)));
  Value *root = build1(b, OP_SQRT, at_least_one(b, v));
  Value *far = poly_f32(b, FAR_F32, random_far_f32, build2(b, OP_SUB, root, number(b, v, 3)));
  Value *size = build2(b, OP_MUL, x, build3(b, OP_SELECT, below(b, v, number(b, v, 5)), near, far));
  Value *side = build_convert(b, TY_I32, build2(b, OP_BIT_XOR, w, word(b, UINT32_C(1) << 31)));
  return build2(b, OP_COPYSIGN, size, build_convert(b, TY_F32, side));
}

/* log_f64 of random.c. */
static Value *log_f64(Builder *b, Value *y) {
  Value *e = scale(b, &y, 32), *f = build2(b, OP_SUB, y, number(b, y, 1));
  Value *s = build2(b, OP_DIV, f, build2(b, OP_ADD, number(b, y, 2), f)), *z = build2(b, OP_MUL, s, s);
  Value *t = build3(b, OP_FMA, z, poly(b, LOG_F64, random_log_f64, z), number(b, y, 2));
  return build3(b, OP_FMA, build1(b, OP_NEG, s), t, e);
}

/* normal_f64 of random.c. */
static Value *normal_f64(Builder *b, Value *k) {
  Value *other = build2(b, OP_SUB, build_int(b, TY_I64, (INT64_C(1) << 53) - 1), k), *u = build2(b, OP_MIN, k, other);
  Value *odd = build2(b, OP_ADD, build2(b, OP_ADD, u, u), build_int(b, TY_I64, 1));
  Value *p = build2(b, OP_MUL, build_convert(b, TY_F64, odd), build_float(b, TY_F64, 0x1p-54));
  Value *q = build2(b, OP_SUB, number(b, p, 0.5), p), *r = build1(b, OP_SQRT, at_least_one(b, log_f64(b, p)));
  Value *at[] = {build3(b, OP_FMA, build1(b, OP_NEG, q), q, number(b, q, 0.180625)),
                 build2(b, OP_SUB, r, number(b, r, 1.6)), build2(b, OP_SUB, r, number(b, r, 5))};
  Value *v[3][2];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 2; j++)
      v[i][j] = poly(b, RATIO, random_ratios[i][j], at[i]);
  v[0][0] = build2(b, OP_MUL, q, v[0][0]);
  Value *middle = build_op(b, OP_LE, TY_BOOL, 2, (Value *[]){q, number(b, q, 0.425)})->results[0];
  Value *beside = build_op(b, OP_LE, TY_BOOL, 2, (Value *[]){r, number(b, r, 5)})->results[0];
  for (int j = 0; j < 2; j++)
    v[0][j] = build3(b, OP_SELECT, middle, v[0][j], build3(b, OP_SELECT, beside, v[1][j], v[2][j]));
  Value *side = build2(b, OP_SUB, k, build_int(b, TY_I64, INT64_C(1) << 52));
  return build2(b, OP_COPYSIGN, build2(b, OP_DIV, v[0][0], v[0][1]), build_convert(b, TY_F64, side));
}

/* The result of `op`, a random or normal of f32, computed from the four words at `w`. */
static Value *drawn_f32(Builder *b, const Op *op, Value *const *w) {
  Value *x = choose(b, build2(b, OP_BIT_AND, op->operands[RANDOM_DRAW], word(b, 3)), 4, 1, w);
  if (op->code == OP_NORMAL)
    return normal_f32(b, x);
  x = build_convert(b, TY_F32, build2(b, OP_SHR, x, word(b, 8)));
  return build2(b, OP_MUL, x, build_float(b, TY_F32, 0x1p-24));
}

/* The same for f64. */
static Value *drawn_f64(Builder *b, const Op *op, Value *const *w) {
  Value *which = build2(b, OP_BIT_AND, op->operands[RANDOM_DRAW], word(b, 1));
  Value *hi = build2(b, OP_SHR, choose(b, which, 2, 2, w), word(b, 5));
  Value *lo = build2(b, OP_SHR, choose(b, which, 2, 2, w + 1), word(b, 6));
  Value *k = build2(b, OP_SHL, build_convert(b, TY_I64, hi), build_int(b, TY_I64, 26));
  k = build2(b, OP_BIT_OR, k, build_convert(b, TY_I64, lo));
  return op->code == OP_NORMAL ? normal_f64(b, k)
                               : build2(b, OP_MUL, build_convert(b, TY_F64, k), build_float(b, TY_F64, 0x1p-53));
}

/* Replaces `op` of body `body` by the operations that compute it. */
static void expand(Arena *a, Block *body, Op *op) {
  Builder b = builder_before(a, op);
  bool wide = op->results[0]->type == TY_F64;
  Value *const *in = op->operands,
               *w[] = {in[RANDOM_PLACE], in[RANDOM_PLACE + 1], in[RANDOM_PLACE + 2], in[RANDOM_STEP]};
  b.loc = op->loc;
  rounds(&b, in[RANDOM_SEED], build2(&b, OP_SHR, in[RANDOM_DRAW], word(&b, wide ? 1 : 2)), w);
  block_replace_uses(body, op->results[0], wide ? drawn_f64(&b, op, w) : drawn_f32(&b, op, w));
  op_unlink(op);
}

/* Does so for all random ops of the body. Returns their number. */
static int64_t expand_body(Arena *a, Block *body) {
  int64_t n = 0;
  for (Op *op = body->first, *next; op; op = next) {
    next = op->next;
    if (op->code != OP_RANDOM && op->code != OP_NORMAL)
      continue;
    expand(a, body, op);
    n++;
  }
  return n;
}

/* The pass. It leaves a module without random numbers unchanged. */
Module *pass_random(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  Bodies bodies = bodies_of(m, CODE_ALL & ~CODE_KERNELS);
  int64_t all = 0;
  for (Block *b; (b = bodies_next(&bodies));)
    all += expand_body(m->arena, b);
  if (all)
    module_renumber(m);
  pass_stat(c, all, "random", "random numbers written out");
  return m;
}
