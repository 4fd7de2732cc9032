/* backend/emit-ranged.c: roots and quotients of operands that are ranged (ops ranged, div.ranged, sqrt.ranged),
 * correctly rounded by Newton steps with fused multiply-adds, from the target's approximations of 1 / x and 1 /
 * sqrt(x).
 *
 * On NVIDIA the steps, and the bits with which approximations in f64 are filled up, are those by which NVIDIA's
 * assembler computes operands away from the ends of the range. So results are those of its own root and quotient, whose
 * rounding NVIDIA guarantees. (P. Markstein, "Computation of elementary functions on the IBM RISC System/6000
 * processor", IBM J. Res. Dev. 34(1), 1990, section 3: why the last step rounds correctly.) */
#include "backend/emit.h"

/* The emission, and the type in which to compute. */
typedef struct Steps {
  Emit *e;
  LLVMBuilderRef b;
  Type t;
  LLVMTypeRef type;
} Steps;

static Steps steps_of(Emit *e, Type t) { return (Steps){e, e->here.b, t, emit_type(e, t)}; }

static LLVMValueRef number(const Steps *s, double x) { return LLVMConstReal(s->type, x); }
static LLVMValueRef mul(const Steps *s, LLVMValueRef x, LLVMValueRef y) { return LLVMBuildFMul(s->b, x, y, ""); }

/* x y + z, rounded once. */
static LLVMValueRef fma_of(const Steps *s, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z) {
  LLVMTypeRef type = s->type;
  return emit_intrinsic(s->e, s->b, "llvm.fma", 1, &type, 3, (LLVMValueRef[]){x, y, z});
}

/* z - x y, rounded once. */
static LLVMValueRef residual(const Steps *s, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z) {
  return fma_of(s, LLVMBuildFNeg(s->b, x, ""), y, z);
}

/* The upper 32 bits of the f64 `x`, by a vector: LLVM makes one 64-bit shift of two, which is several instructions. */
static LLVMValueRef high_word(const Steps *s, LLVMValueRef x) {
  LLVMValueRef halves = LLVMBuildBitCast(s->b, x, LLVMVectorType(s->e->i32, 2), "");
  return LLVMBuildExtractElement(s->b, halves, LLVMConstInt(s->e->i32, 1, 0), "");
}

/* The f64 `x`, whose lower 32 bits are 0, with the lower 32 bits `low`. */
static LLVMValueRef with_low_word(const Steps *s, LLVMValueRef x, LLVMValueRef low) {
  LLVMValueRef bits =
      LLVMBuildOr(s->b, LLVMBuildBitCast(s->b, x, s->e->i64, ""), LLVMBuildZExt(s->b, low, s->e->i64, ""), "");
  return LLVMBuildBitCast(s->b, bits, s->type, "");
}

/* 1 / y rounded, if `y` is a constant; else NULL. */
static LLVMValueRef constant_reciprocal(const Steps *s, LLVMValueRef y) {
  LLVMBool inexact;
  if (!LLVMIsAConstantFP(y))
    return NULL;
  double c = LLVMConstRealGetDouble(y, &inexact);
  return number(s, s->t == TY_F32 ? (double)(1.0f / (float)c) : 1 / c);
}

/* The target's 1 / y, filled up to f64 with the bits that the quotient takes; `of_one`: the quotient is 1 / y, else x /
 * y. */
static LLVMValueRef rough_reciprocal(const Steps *s, LLVMValueRef y, bool of_one) {
  LLVMValueRef r = s->e->target->approximate(s->e, OP_DIV, s->t, y);
  if (s->t == TY_F32)
    return r;
  LLVMValueRef one = LLVMConstInt(s->e->i32, 1, 0);
  return with_low_word(s, r,
                       of_one ? LLVMBuildAdd(s->b, high_word(s, y), LLVMConstInt(s->e->i32, 0x300402, 0), "") : one);
}

/* 1 / y. f32 needs one step, f64 two, the first of which is of third order. */
static LLVMValueRef reciprocal(const Steps *s, LLVMValueRef y, bool of_one) {
  LLVMValueRef r = rough_reciprocal(s, y, of_one), error = residual(s, y, r, number(s, 1));
  if (s->t == TY_F64) {
    r = fma_of(s, r, fma_of(s, error, error, error), r);
    error = residual(s, y, r, number(s, 1));
  }
  return fma_of(s, r, error, r);
}

/* Is `x` the number 1? */
static bool is_one(LLVMValueRef x) {
  LLVMBool inexact;
  return LLVMIsAConstantFP(x) && LLVMConstRealGetDouble(x, &inexact) == 1;
}

/* x / y, where `r` is 1 / y: their product, and a step with its residual. */
static LLVMValueRef quotient_by(const Steps *s, LLVMValueRef x, LLVMValueRef y, LLVMValueRef r) {
  if (is_one(x))
    return r;
  LLVMValueRef q = mul(s, x, r);
  return fma_of(s, r, residual(s, y, q, x), q);
}

/* x / y. */
static LLVMValueRef quotient(const Steps *s, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef known = constant_reciprocal(s, y);
  return quotient_by(s, x, y, known ? known : reciprocal(s, y, is_one(x)));
}

/* 1 / sqrt(x) by the target, in f64 with one more step of third order. */
static LLVMValueRef reciprocal_root(const Steps *s, LLVMValueRef x) {
  LLVMValueRef r = s->e->target->approximate(s->e, OP_RSQRT, s->t, x);
  if (s->t == TY_F32)
    return r;
  r = with_low_word(s, r, LLVMBuildAdd(s->b, high_word(s, x), LLVMConstInt(s->e->i32, 0xfcb00000, 0), ""));
  LLVMValueRef error = residual(s, x, mul(s, r, r), number(s, 1));
  return fma_of(s, fma_of(s, error, number(s, 0.375), number(s, 0.5)), mul(s, r, error), r);
}

/* Half of the f64 `x`, by its exponent: an integer addition runs beside the multiplications. */
static LLVMValueRef half(const Steps *s, LLVMValueRef x) {
  if (s->t == TY_F32)
    return mul(s, x, number(s, 0.5));
  LLVMValueRef bits = LLVMBuildBitCast(s->b, x, s->e->i64, "");
  return LLVMBuildBitCast(s->b, LLVMBuildSub(s->b, bits, LLVMConstInt(s->e->i64, UINT64_C(1) << 52, 0), ""), s->type,
                          "");
}

/* sqrt(x), where `r` is 1 / sqrt(x): x r, and a step with the residual of its square. */
static LLVMValueRef root(const Steps *s, LLVMValueRef x, LLVMValueRef r) {
  LLVMValueRef g = mul(s, x, r);
  return fma_of(s, residual(s, g, g, x), half(s, r), g);
}

/* x / sqrt(y): from the approximation of which the root is made, the root's reciprocal in one step of third order whose
 * sums are rounded up. So it rounds correctly where that is hardest, just above the middle between two numbers (rounded
 * to nearest, a quotient by a root of all ones would be wrong). */
static LLVMValueRef quotient_by_root(const Steps *s, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef r = reciprocal_root(s, y), g = root(s, y, r);
  LLVMValueRef error = s->e->target->fma_up(s->e, s->t, LLVMBuildFNeg(s->b, g, ""), r, number(s, 1));
  return quotient_by(s, x, g, fma_of(s, r, s->e->target->fma_up(s->e, s->t, error, error, error), r));
}

/* `x` with the sign of the f32 `y` applied: x / y is the returned value divided by |y|. */
static LLVMValueRef take_sign(const Steps *s, LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef i32 = s->e->i32;
  LLVMValueRef sign =
      LLVMBuildAnd(s->b, LLVMBuildBitCast(s->b, y, i32, ""), LLVMConstInt(i32, UINT32_C(1) << 31, 0), "");
  return LLVMBuildBitCast(s->b, LLVMBuildXor(s->b, LLVMBuildBitCast(s->b, x, i32, ""), sign, ""), s->type, "");
}

/* x / y of any f32, by f64, in which no finite f32 is near the ends of the range. The reciprocal takes one step of
 * third order from at least 20 bits, and a step makes the quotient exact where f64 has it (halfway between two
 * subnormal f32, say); otherwise the quotient is 2^-49 or more from where roundings to f32 change, and the steps leave
 * an error less than 2^-52. `y` has no sign, and the quotient's residual is -0 where it is zero: so zeros have the
 * right sign. The steps give NaN where one of both is infinite or NaN, or `y` is 0; x times the rough reciprocal then
 * is the quotient. */
static LLVMValueRef wide_quotient(const Steps *f, LLVMValueRef x, LLVMValueRef y) {
  Steps s = steps_of(f->e, TY_F64);
  LLVMValueRef size = emit_intrinsic(f->e, f->b, "llvm.fabs", 1, (LLVMTypeRef[]){f->type}, 1, &y);
  LLVMValueRef above = LLVMBuildFPExt(s.b, take_sign(f, x, y), s.type, ""),
               below = LLVMBuildFPExt(s.b, size, s.type, "");
  LLVMValueRef rough = s.e->target->approximate(s.e, OP_DIV, TY_F64, below),
               error = residual(&s, below, rough, number(&s, 1)),
               r = fma_of(&s, rough, fma_of(&s, error, error, error), rough);
  LLVMValueRef q = mul(&s, above, r), more = s.e->target->fma_up(s.e, TY_F64, below, q, LLVMBuildFNeg(s.b, above, ""));
  q = fma_of(&s, r, LLVMBuildFNeg(s.b, more, ""), q);
  LLVMValueRef none = LLVMBuildFCmp(s.b, LLVMRealUNO, q, q, "");
  return LLVMBuildFPTrunc(s.b, LLVMBuildSelect(s.b, none, mul(&s, above, rough), q, ""), f->type, "");
}

/* ---- steps without sums that are rounded up
 *
 * From approximations that are exact to a unit in f32 and to 2^-24 or so in f64, these are the steps by which LLVM
 * itself computes quotients and roots on AMD for operands that need no scaling. In f32 LLVM computes a root in another
 * way and takes two more steps to 1 / y. For all f32 and all approximations within two units, these steps give the same
 * roots, which are right, and the same reciprocals. */

/* 1 / y, nearly: r and a step, in f64 two. */
static LLVMValueRef near_reciprocal(const Steps *s, LLVMValueRef y) {
  LLVMValueRef r = s->e->target->approximate(s->e, OP_DIV, s->t, y);
  for (int i = 0; i < (s->t == TY_F64 ? 2 : 1); i++)
    r = fma_of(s, residual(s, y, r, number(s, 1)), r, r);
  return r;
}

/* x / y. */
static LLVMValueRef near_quotient(const Steps *s, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef known = constant_reciprocal(s, y);
  if (known)
    return quotient_by(s, x, y, known);
  LLVMValueRef r = near_reciprocal(s, y), q = is_one(x) ? r : mul(s, x, r);
  for (int i = 0; i < (s->t == TY_F64 || is_one(x) ? 1 : 2); i++)
    q = fma_of(s, residual(s, y, q, x), r, q);
  return q;
}

/* sqrt(x): with g near the root and h near half of its reciprocal, a step for both, and one or two for g alone. */
static LLVMValueRef near_root(const Steps *s, LLVMValueRef x) {
  LLVMValueRef r = s->e->target->approximate(s->e, OP_RSQRT, s->t, x), g = mul(s, x, r), h = mul(s, r, number(s, 0.5)),
               error = residual(s, h, g, number(s, 0.5));
  g = fma_of(s, g, error, g);
  h = fma_of(s, h, error, h);
  for (int i = 0; i < (s->t == TY_F64 ? 2 : 1); i++)
    g = fma_of(s, residual(s, g, g, x), h, g);
  return g;
}

/* emit_ranged by these steps. */
static LLVMValueRef emit_near(const Steps *s, Opcode code, LLVMValueRef x, LLVMValueRef y) {
  switch (code) {
  case OP_DIV_RANGED: return near_quotient(s, x, y);
  case OP_DIV_ROOT_RANGED: return near_quotient(s, x, near_root(s, y));
  default: return near_root(s, x);
  }
}

/* ---------------------------------------------------------------- tests */

/* A test of type `t` compares integers: the upper 32 bits of a number, taken as unsigned, less this start are below
 * `count` for numbers in [2^-n, 2^n), and not below it for all others. */
static uint32_t range_start(Type t) {
  return t == TY_F64 ? (uint32_t)(1023 - RANGED_F64) << 20 : (uint32_t)(127 - RANGED_F32) << 23;
}
static uint32_t range_count(Type t) {
  return t == TY_F64 ? (uint32_t)(2 * RANGED_F64) << 20 : (uint32_t)(2 * RANGED_F32) << 23;
}

/* The kinds of tests: of any number; of the size of a number that may be negative; of a number that is known to be NaN
 * or not below the range. */
typedef enum RangeTest { TEST_ANY, TEST_SIZE, TEST_ABOVE, RANGE_TESTS } RangeTest;

static RangeTest test_of(const Op *op) {
  const Op *of = op->operands[0]->def;
  return op->code == OP_RANGED_ABOVE ? TEST_ABOVE : of && of->code == OP_ABS ? TEST_SIZE : TEST_ANY;
}

/* The integer of `x` whose maximum is tested: its upper 32 bits less those of the least ranged number; for a size,
 * twice that, since the doubling drops the sign; for TEST_ABOVE the bits themselves. Integers leave the pipes for
 * floats free. */
static LLVMValueRef tested_bits(const Steps *s, RangeTest test, LLVMValueRef x) {
  LLVMTypeRef i32 = s->e->i32;
  LLVMValueRef upper = s->t == TY_F64 ? high_word(s, x) : LLVMBuildBitCast(s->b, x, i32, "");
  uint32_t start = range_start(s->t);
  if (test == TEST_ABOVE)
    return upper;
  if (test == TEST_SIZE)
    upper = LLVMBuildShl(s->b, upper, LLVMConstInt(i32, 1, 0), "");
  return LLVMBuildSub(s->b, upper, LLVMConstInt(i32, test == TEST_SIZE ? 2 * start : start, 0), "");
}

/* Does that integer, `most`, belong to a ranged number? */
static LLVMValueRef is_in_range(const Steps *s, RangeTest test, LLVMValueRef most) {
  uint32_t count = range_count(s->t), start = range_start(s->t);
  uint32_t end = test == TEST_ABOVE ? start + count : test == TEST_SIZE ? 2 * count : count;
  return LLVMBuildICmp(s->b, LLVMIntULT, most, LLVMConstInt(s->e->i32, end, 0), "");
}

/* The greatest of those integers of all numbers of type `t` that the guard `asked` tests by `test`, and of `most`, if
 * that is not NULL: an addition and a maximum for each number, which some hardware does in one, or the maximum of
 * three. NULL if there are none. */
static LLVMValueRef farthest(Emit *e, const Value *asked, Type t, RangeTest test, LLVMValueRef most) {
  const Op *op = asked->def;
  if (op->code == OP_AND)
    return farthest(e, op->operands[1], t, test, farthest(e, op->operands[0], t, test, most));
  if (op->operands[0]->type != t || test_of(op) != test)
    return most;
  Steps s = steps_of(e, t);
  const Value *x = test == TEST_SIZE ? op->operands[0]->def->operands[0] : op->operands[0];
  LLVMValueRef bits = tested_bits(&s, test, emit_value(e, x));
  return most ? emit_intrinsic(e, s.b, "llvm.umax", 1, &e->i32, 2, (LLVMValueRef[]){most, bits}) : bits;
}

LLVMValueRef emit_guard(Emit *e, const Value *asked) {
  LLVMValueRef all = NULL;
  for (int i = 0; i < 2 * RANGE_TESTS; i++) {
    Steps s = steps_of(e, i < RANGE_TESTS ? TY_F32 : TY_F64);
    RangeTest test = (RangeTest)(i % RANGE_TESTS);
    LLVMValueRef most = farthest(e, asked, s.t, test, NULL), ok = most ? is_in_range(&s, test, most) : NULL;
    all = all && ok ? LLVMBuildAnd(s.b, all, ok, "") : ok ? ok : all;
  }
  return all;
}

/* emit_ranged by the operations that all targets have. */
static LLVMValueRef emit_unranged(Emit *e, Opcode code, Type t, LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef type = emit_type(e, t);
  LLVMValueRef last = y ? y : x, root = code == OP_DIV_RANGED || code == OP_DIV_WIDE
                                            ? last
                                            : emit_intrinsic(e, e->here.b, "llvm.sqrt", 1, &type, 1, &last);
  return y ? LLVMBuildFDiv(e->here.b, x, root, "") : root;
}

LLVMValueRef emit_ranged(Emit *e, const Op *op) {
  Steps s = steps_of(e, op->operands[0]->type);
  LLVMValueRef x = emit_value(e, op->operands[0]), y = op->noperands > 1 ? emit_value(e, op->operands[1]) : NULL;
  if (!e->target->approximate || (op->code == OP_DIV_WIDE && (s.t == TY_F64 || !e->target->fma_up)))
    return emit_unranged(e, op->code, s.t, x, y);
  if (!e->target->fma_up)
    return emit_near(&s, op->code, x, y);
  switch (op->code) {
  case OP_DIV_WIDE: return wide_quotient(&s, x, y);
  case OP_DIV_RANGED: return quotient(&s, x, y);
  case OP_DIV_ROOT_RANGED: return quotient_by_root(&s, x, y);
  default: return root(&s, x, reciprocal_root(&s, x));
  }
}
