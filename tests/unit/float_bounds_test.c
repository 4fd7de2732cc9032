/* float_bounds_test.c: bounds of floats hold for random straight-line code on numbers from all over the range, however
 * products and sums are fused. */
#include "tests/unit/ir_testing.h"

#include <float.h>

#include "passes/kernel/float-bounds.h"

enum { ARGS = 3, OPS = 24, PROGRAMS = 40000, INPUTS = 12 };

/* Random code of one type in the making: its values so far, ARGS of which are what it is given. */
typedef struct Code {
  Type t;
  Block *body;
  Value *choice, *all[ARGS + OPS];
  int n;
} Code;

/* The next random number below `n`. */
static int below(uint64_t *seed, int n) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((*seed >> 33) % (uint64_t)n);
}

static double rounded(Type t, double x) { return t == TY_F32 ? (double)(float)x : x; }

/* A number near where what is done with it changes: at powers of two by which ranges are told apart, at their roots, at
 * the ends. */
static double number(uint64_t *seed, Type t) {
  static const int f32[] = {-149, -148, -126, -121, -120, -100, -96, -75, -62, 0, 1, 61, 63, 64, 96, 127},
                   f64[] = {-1074, -1073, -1022, -1001, -1000, -800, -538, -500, 0, 1, 500, 511, 512, 800, 1000, 1023};
  double ulp = t == TY_F32 ? FLT_EPSILON : DBL_EPSILON, part[] = {1, 1 + ulp, 2 - ulp, 1.5, 1.1};
  double x = ldexp(part[below(seed, 5)], (t == TY_F32 ? f32 : f64)[below(seed, 16)]);
  double few[] = {0, 1, 0.5, t == TY_F32 ? (double)FLT_MAX : DBL_MAX};
  x = below(seed, 4) ? x : few[below(seed, 4)];
  return rounded(t, below(seed, 2) ? x : -x);
}

/* One of the values so far, often a late one. */
static Value *some(uint64_t *seed, const Code *c) {
  return c->all[below(seed, 2) ? below(seed, c->n) : c->n - 1 - below(seed, ARGS)];
}

/* Adds an op. */
static void add_op(uint64_t *seed, Code *c, Builder *b) {
  static const Opcode codes[] = {OP_ADD, OP_ADD, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MIN, OP_MAX, OP_COPYSIGN};
  Value *x = some(seed, c), *y = some(seed, c), *v;
  switch (below(seed, 9)) {
  case 0: v = build_float(b, c->t, number(seed, c->t)); break;
  case 1: v = build2(b, OP_MUL, x, x); break;
  case 2: v = build3(b, OP_FMA, x, below(seed, 2) ? x : y, some(seed, c)); break;
  case 3: v = build1(b, OP_SQRT, x); break;
  case 4: v = build1(b, below(seed, 2) ? OP_ABS : OP_NEG, x); break;
  case 5: v = build3(b, OP_SELECT, c->choice, x, y); break;
  default: v = build2(b, codes[below(seed, 9)], x, y);
  }
  c->all[c->n++] = v;
}

static Code random_code(uint64_t *seed, Arena *a) {
  Code c = {.t = below(seed, 2) ? TY_F32 : TY_F64, .body = block_new(a, NULL)};
  Builder b = builder_at_end(a, c.body);
  c.choice = block_add_arg(a, c.body, TY_BOOL);
  while (c.n < ARGS)
    c.all[c.n++] = block_add_arg(a, c.body, c.t);
  for (int i = 0; i < OPS; i++)
    add_op(seed, &c, &b);
  return c;
}

static double fused(Type t, double x, double y, double z) {
  return t == TY_F32 ? (double)fmaf((float)x, (float)y, (float)z) : fma(x, y, z);
}

/* The sum that `op` is, sign = -1: the difference, if an operand that is a product is taken in; false: none is. */
static bool fused_sum(const Op *op, const double *of, double sign, double *sum) {
  for (int i = 0; i < 2; i++) {
    const Op *p = op->operands[i]->def;
    double z = of[op->operands[1 - i]->id];
    if (!p || p->code != OP_MUL)
      continue;
    double x = of[p->operands[0]->id], y = of[p->operands[1]->id];
    *sum = fused(op->results[0]->type, i ? sign * x : x, y, i ? z : sign * z);
    return true;
  }
  return false;
}

/* The result of `op`, by those of[id] of its operands. */
static double result(const Op *op, const double *of, bool fuse) {
  Type t = op->results[0]->type;
  double x[3] = {0}, sum;
  for (int i = 0; i < op->noperands; i++)
    x[i] = of[op->operands[i]->id];
  switch (op->code) {
  case OP_CONST: return op->cval.f;
  case OP_SELECT: return x[0] != 0 ? x[1] : x[2];
  case OP_ADD: return fuse && fused_sum(op, of, 1, &sum) ? sum : rounded(t, x[0] + x[1]);
  case OP_SUB: return fuse && fused_sum(op, of, -1, &sum) ? sum : rounded(t, x[0] - x[1]);
  case OP_MUL: return rounded(t, x[0] * x[1]);
  case OP_FMA: return fused(t, x[0], x[1], x[2]);
  case OP_DIV: return rounded(t, x[0] / x[1]);
  case OP_SQRT: return rounded(t, sqrt(x[0]));
  case OP_ABS: return fabs(x[0]);
  case OP_NEG: return -x[0];
  case OP_MIN: return fmin(x[0], x[1]);
  case OP_MAX: return fmax(x[0], x[1]);
  default: return copysign(x[0], x[1]);
  }
}

/* Runs the code on random numbers and sees that all that is not NaN is within `bounds`; how much was bounded. */
static int run(uint64_t *seed, const Code *c, const FloatBounds *bounds, double *of) {
  int bounded = 0;
  of[c->choice->id] = below(seed, 2);
  for (int i = 0; i < ARGS; i++)
    of[c->all[i]->id] = below(seed, 8) ? number(seed, c->t) : copysign(INFINITY, number(seed, c->t));
  for (const Op *op = c->body->first; op; op = op->next) {
    double x = of[op->results[0]->id] = result(op, of, below(seed, 2));
    const FloatBounds *k = &bounds[op->results[0]->id];
    bounded += k->lo > -INFINITY || k->hi < INFINITY;
    if (!isnan(x) && (x < k->lo || x > k->hi || (isfinite(x) && fabs(x) > k->most)))
      fail_msg("%s of %s is %a, not from %a to %a or at most %a", op_info[op->code].name, type_name(c->t), x, k->lo,
               k->hi, k->most);
  }
  return bounded;
}

FIXTURE_TEST(test_bounds_hold) {
  uint64_t seed = 1;
  int bounded = 0;
  for (int i = 0; i < PROGRAMS; i++) {
    Arena *a = arena_new(NULL, NULL);
    Code c = random_code(&seed, a);
    int32_t n = block_renumber(c.body, 0);
    const FloatBounds *bounds = float_bounds(a, NULL, c.body, n);
    double *of = ARENA_ARRAY(a, double, n);
    for (int k = 0; k < INPUTS; k++)
      bounded += run(&seed, &c, bounds, of);
    arena_free(a);
  }
  assert_true(bounded > PROGRAMS * INPUTS);
}
