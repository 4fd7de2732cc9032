/* backend/emit-arith.c: the ops that only compute; every target gives the results that eval_op defines.
 *
 * Floats: no flag but `contract` on add, sub and mul where the module allows it, so that every other operation is
 * rounded by itself; division and square root are correctly rounded, denormals kept. Integers: wrapping; the cases
 * that LLVM leaves undefined (division by zero, overflow of INT_MIN / -1, conversion out of range) are given their
 * values. */
#include "backend/emit.h"

/* Is `t` a 16-bit float? Their mathematics is done in f32. */
static bool is_half(Type t) { return t == TY_F16 || t == TY_BF16; }

LLVMValueRef emit_const(Emit *e, Type t, Const c) {
  LLVMTypeRef type = emit_type(e, t);
  if (t == TY_BF16 && e->target->bfloat_is_bits)
    return LLVMConstBitCast(LLVMConstReal(LLVMBFloatTypeInContext(e->context), c.f), type);
  return type_is_float(t) ? LLVMConstReal(type, c.f)
                          : LLVMConstInt(type, (unsigned long long)c.i, !type_is_unsigned(t));
}

/* Gives the instruction `v` (if it is one) the module's fast-math flags; `contract` if the operation may become part of
 * an fma. */
static LLVMValueRef flagged(Emit *e, LLVMValueRef v, bool contract) {
  LLVMFastMathFlags fast = e->reduces ? LLVMFastMathAll & ~(LLVMFastMathNoNaNs | LLVMFastMathNoInfs) : LLVMFastMathAll;
  LLVMFastMathFlags f = e->m->fast_math              ? fast
                        : contract && e->m->contract ? LLVMFastMathAllowContract
                                                     : LLVMFastMathNone;
  if (f && LLVMIsAInstruction(v) && LLVMCanValueUseFastMathFlags(v))
    LLVMSetFastMathFlags(v, f);
  return v;
}

/* A call of the overloaded float intrinsic `name`. */
static LLVMValueRef float_intrinsic(Emit *e, const char *name, int n, LLVMValueRef *x) {
  LLVMTypeRef t = LLVMTypeOf(x[0]);
  return flagged(e, emit_intrinsic(e, e->here.b, name, 1, &t, n, x), false);
}

/* The type in which the target's library computes `code` on `t`: f16 and bf16 go by way of f32. */
static Type library_type(const Emit *e, Opcode code, Type t) {
  Type wide = is_half(t) ? TY_F32 : t;
  return code == OP_REM && e->target->remainder_in_f64 ? TY_F64 : wide;
}

/* The f64 exponent `y` clamped to [-1e25, 1e25], NaN kept: beyond it x^y is 0, 1 or infinite for all y, and y is
 * even. */
static LLVMValueRef bounded_exponent(Emit *e, LLVMValueRef y) {
  LLVMBuilderRef b = e->here.b;
  LLVMValueRef most = LLVMConstReal(LLVMTypeOf(y), 1e25), least = LLVMConstReal(LLVMTypeOf(y), -1e25);
  y = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGT, y, most, ""), most, y, "");
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, y, least, ""), least, y, "");
}

/* Below exp_split an f32 exp is computed in two parts: e^x = e^(x + 64) * e^-64. The first exponent is exact, and only
 * the product may be subnormal. */
static const double exp_split = -87, exp_shift = 64, exp_unshift = 0x1.969d47321e4ccp-93;

/* The argument for the library's exp, in place of the f32 `x`. */
static LLVMValueRef raised_exponent(Emit *e, LLVMValueRef x) {
  LLVMBuilderRef b = e->here.b;
  LLVMTypeRef t = LLVMTypeOf(x);
  LLVMValueRef low = LLVMBuildFCmp(b, LLVMRealOLT, x, LLVMConstReal(t, exp_split), "");
  LLVMValueRef by = LLVMBuildSelect(b, low, LLVMConstReal(t, exp_shift), LLVMConstReal(t, 0), "");
  return LLVMBuildFAdd(b, x, by, "");
}

/* e^x from `v`, the library's result for that argument. */
static LLVMValueRef lowered_power(Emit *e, LLVMValueRef x, LLVMValueRef v) {
  LLVMBuilderRef b = e->here.b;
  LLVMTypeRef t = LLVMTypeOf(x);
  LLVMValueRef low = LLVMBuildFCmp(b, LLVMRealOLT, x, LLVMConstReal(t, exp_split), "");
  return LLVMBuildFMul(b, v, LLVMBuildSelect(b, low, LLVMConstReal(t, exp_unshift), LLVMConstReal(t, 1), ""), "");
}

/* A mathematical function of `n` arguments from the target's library. */
static LLVMValueRef library_call(Emit *e, Opcode code, Type t, int n, LLVMValueRef *x) {
  Type wide = library_type(e, code, t);
  LLVMTypeRef type = emit_type(e, wide);
  LLVMValueRef args[3];
  for (int i = 0; i < n; i++)
    args[i] = wide == t ? x[i] : LLVMBuildFPExt(e->here.b, x[i], type, "");
  if (code == OP_POW && wide == TY_F64 && e->target->bounded_exponent)
    args[1] = bounded_exponent(e, args[1]);
  bool split = code == OP_EXP && wide == TY_F32 && e->target->exp_flushes && !e->m->fast_math;
  LLVMValueRef whole = args[0];
  if (split)
    args[0] = raised_exponent(e, whole);
  LLVMValueRef v = flagged(e, emit_pure_call(e, e->target->math_name(e->arena, code, wide), type, n, args), false);
  e->libm = true;
  if (split)
    v = lowered_power(e, whole, v);
  return wide == t ? v : LLVMBuildFPTrunc(e->here.b, v, emit_type(e, t), "");
}

/* 1 / sqrt(x), two roundings. */
static LLVMValueRef reciprocal_sqrt(Emit *e, LLVMValueRef x) {
  LLVMValueRef root = float_intrinsic(e, "llvm.sqrt", 1, &x);
  return flagged(e, LLVMBuildFDiv(e->here.b, LLVMConstReal(LLVMTypeOf(x), 1), root, ""), false);
}

/* Is `v` a constant other than zero and NaN? */
static bool is_plain_constant(LLVMValueRef v) {
  LLVMBool inexact;
  double c = LLVMIsAConstantFP(v) ? LLVMConstRealGetDouble(v, &inexact) : 0;
  return c < 0 || c > 0;
}

/* The smaller zero (the greater, for OP_MAX) of two equal floats x and y, or x and y themselves if they are no zeros:
 * their bits or-ed (and-ed). */
static LLVMValueRef either_zero(Emit *e, Opcode code, LLVMValueRef x, LLVMValueRef y) {
  LLVMBuilderRef b = e->here.b;
  LLVMTypeRef type = LLVMTypeOf(x), bits = LLVMGetTypeKind(type) == LLVMDoubleTypeKind ? e->i64 : e->i32;
  LLVMValueRef p = LLVMBuildBitCast(b, x, bits, ""), q = LLVMBuildBitCast(b, y, bits, "");
  return LLVMBuildBitCast(b, code == OP_MIN ? LLVMBuildOr(b, p, q, "") : LLVMBuildAnd(b, p, q, ""), type, "");
}

/* minimumNumber or maximumNumber of x and y. On x86 with AVX-512 LLVM 22 gives NaN for llvm.minimumnum and
 * llvm.maximumnum of scalars where it knows that only one of the two can be NaN, and that one is NaN. So these are
 * expanded there: here, or, where the target has an instruction for them, by write_extremes. With a plain constant one
 * instruction is enough anyway. */
static LLVMValueRef extreme_number(Emit *e, Opcode code, Type t, LLVMValueRef *x) {
  LLVMBuilderRef b = e->here.b;
  bool swap = is_plain_constant(x[0]), plain = swap || is_plain_constant(x[1]);
  LLVMValueRef p = x[swap], q = x[!swap];
  if (!e->target->extremes_by_select || (e->m->fast_math && !e->reduces) || is_half(t) ||
      (e->target->ranges && !e->m->fast_math && !plain))
    return float_intrinsic(e, code == OP_MIN ? "llvm.minimumnum" : "llvm.maximumnum", 2, x);
  LLVMValueRef first = LLVMBuildFCmp(b, code == OP_MIN ? LLVMRealOLT : LLVMRealOGT, p, q, "");
  LLVMValueRef v = LLVMBuildSelect(b, first, p, q, "");
  if (!plain) {
    LLVMValueRef equal = LLVMBuildFCmp(b, LLVMRealOEQ, p, q, "");
    v = LLVMBuildSelect(b, equal, either_zero(e, code, p, q), v, "");
  }
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, q, q, ""), p, v, "");
}

/* Float arithmetic and mathematics on the operands `x` of type `t`. */
static LLVMValueRef float_arith(Emit *e, Opcode code, Type t, int n, LLVMValueRef *x) {
  LLVMBuilderRef b = e->here.b;
  switch (code) {
  case OP_ADD: return flagged(e, LLVMBuildFAdd(b, x[0], x[1], ""), true);
  case OP_SUB: return flagged(e, LLVMBuildFSub(b, x[0], x[1], ""), true);
  case OP_MUL: return flagged(e, LLVMBuildFMul(b, x[0], x[1], ""), true);
  case OP_DIV: return flagged(e, LLVMBuildFDiv(b, x[0], x[1], ""), false);
  case OP_NEG: return flagged(e, LLVMBuildFNeg(b, x[0], ""), false);
  case OP_ABS: return float_intrinsic(e, "llvm.fabs", 1, x);
  case OP_MIN:
  case OP_MAX: return extreme_number(e, code, t, x);
  case OP_FMA: return float_intrinsic(e, "llvm.fma", 3, x);
  case OP_SQRT: return float_intrinsic(e, "llvm.sqrt", 1, x);
  case OP_RSQRT: return reciprocal_sqrt(e, x[0]);
  case OP_FLOOR: return float_intrinsic(e, "llvm.floor", 1, x);
  case OP_CEIL: return float_intrinsic(e, "llvm.ceil", 1, x);
  case OP_COPYSIGN: return float_intrinsic(e, "llvm.copysign", 2, x);
  default: return library_call(e, code, t, n, x);
  }
}

/* Is the integer `y` a constant for which sdiv and srem are defined? */
static bool safe_divisor(LLVMValueRef y) {
  if (!LLVMIsAConstantInt(y))
    return false;
  int64_t c = LLVMConstIntGetSExtValue(y);
  return c != 0 && c != -1;
}

/* x / y or x % y: 0 for y == 0, wrapping for y == -1. */
static LLVMValueRef int_division(Emit *e, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y) {
  LLVMBuilderRef b = e->here.b;
  if (safe_divisor(y))
    return LLVMBuildBinOp(b, op, x, y, "");
  LLVMTypeRef t = LLVMTypeOf(x);
  LLVMValueRef zero = LLVMConstInt(t, 0, 0), one = LLVMConstInt(t, 1, 0);
  LLVMValueRef is_zero = LLVMBuildICmp(b, LLVMIntEQ, y, zero, "");
  LLVMValueRef is_minus = LLVMBuildICmp(b, LLVMIntEQ, y, LLVMConstAllOnes(t), "");
  LLVMValueRef safe = LLVMBuildSelect(b, LLVMBuildOr(b, is_zero, is_minus, ""), one, y, "");
  LLVMValueRef v = LLVMBuildBinOp(b, op, x, safe, "");
  if (op == LLVMSRem)
    return v;
  v = LLVMBuildSelect(b, is_minus, LLVMBuildSub(b, zero, x, ""), v, "");
  return LLVMBuildSelect(b, is_zero, zero, v, "");
}

/* x / y or x % y of unsigned integers: 0 for y == 0. */
static LLVMValueRef unsigned_division(Emit *e, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y) {
  LLVMBuilderRef b = e->here.b;
  LLVMTypeRef t = LLVMTypeOf(x);
  LLVMValueRef zero = LLVMConstInt(t, 0, 0), is_zero = LLVMBuildICmp(b, LLVMIntEQ, y, zero, "");
  LLVMValueRef safe = LLVMBuildSelect(b, is_zero, LLVMConstInt(t, 1, 0), y, "");
  return LLVMBuildSelect(b, is_zero, zero, LLVMBuildBinOp(b, op, x, safe, ""), "");
}

/* Arithmetic of unsigned integers, where it differs from that of signed ones. */
static LLVMValueRef unsigned_arith(Emit *e, Opcode code, LLVMValueRef *x) {
  LLVMTypeRef t = LLVMTypeOf(x[0]);
  switch (code) {
  case OP_DIV: return unsigned_division(e, LLVMUDiv, x[0], x[1]);
  case OP_REM: return unsigned_division(e, LLVMURem, x[0], x[1]);
  case OP_ABS: return x[0];
  case OP_MIN: return emit_intrinsic(e, e->here.b, "llvm.umin", 1, &t, 2, x);
  default: return emit_intrinsic(e, e->here.b, "llvm.umax", 1, &t, 2, x);
  }
}

/* Integer arithmetic on the operands `x` of type `of`. */
static LLVMValueRef int_arith(Emit *e, Opcode code, Type of, LLVMValueRef *x) {
  LLVMTypeRef t = LLVMTypeOf(x[0]);
  LLVMBuilderRef b = e->here.b;
  bool same = code == OP_ADD || code == OP_SUB || code == OP_MUL || code == OP_NEG;
  if (type_is_unsigned(of) && !same)
    return unsigned_arith(e, code, x);
  switch (code) {
  case OP_ADD: return emit_int(e, &e->here, LLVMAdd, x[0], x[1]);
  case OP_SUB: return emit_int(e, &e->here, LLVMSub, x[0], x[1]);
  case OP_MUL: return emit_int(e, &e->here, LLVMMul, x[0], x[1]);
  case OP_DIV: return int_division(e, LLVMSDiv, x[0], x[1]);
  case OP_REM: return int_division(e, LLVMSRem, x[0], x[1]);
  case OP_NEG: return emit_int(e, &e->here, LLVMSub, LLVMConstInt(t, 0, 0), x[0]);
  case OP_ABS: return emit_intrinsic(e, b, "llvm.abs", 1, &t, 2, (LLVMValueRef[]){x[0], LLVMConstInt(e->i1, 0, 0)});
  case OP_MIN: return emit_intrinsic(e, b, "llvm.smin", 1, &t, 2, x);
  default: return emit_intrinsic(e, b, "llvm.smax", 1, &t, 2, x);
  }
}

/* The shift `op` of the operands `x` of type `of`: a shift by the type's width or more, which LLVM leaves undefined,
 * shifts all bits out. */
static LLVMValueRef shift(Emit *e, Opcode code, Type of, LLVMValueRef *x) {
  LLVMTypeRef t = LLVMTypeOf(x[0]);
  LLVMBuilderRef b = e->here.b;
  LLVMValueRef most = LLVMConstInt(t, (unsigned long long)type_size(of) * 8 - 1, 0), pair[] = {x[1], most};
  LLVMValueRef by = emit_intrinsic(e, b, "llvm.umin", 1, &t, 2, pair);
  if (code == OP_SHR && !type_is_unsigned(of))
    return LLVMBuildAShr(b, x[0], by, "");
  LLVMValueRef v = code == OP_SHL ? LLVMBuildShl(b, x[0], by, "") : LLVMBuildLShr(b, x[0], by, "");
  LLVMValueRef fits = LLVMBuildICmp(b, LLVMIntULE, x[1], most, "");
  return LLVMBuildSelect(b, fits, v, LLVMConstInt(t, 0, 0), "");
}

/* Operations on the bits of integers. */
static LLVMValueRef bits_arith(Emit *e, Opcode code, Type of, LLVMValueRef *x) {
  LLVMBuilderRef b = e->here.b;
  switch (code) {
  case OP_BIT_AND: return LLVMBuildAnd(b, x[0], x[1], "");
  case OP_BIT_OR: return LLVMBuildOr(b, x[0], x[1], "");
  case OP_BIT_XOR: return LLVMBuildXor(b, x[0], x[1], "");
  case OP_BIT_NOT: return LLVMBuildNot(b, x[0], "");
  default: return shift(e, code, of, x);
  }
}

/* A comparison of floats, of signed integers, or of bool (false < true) and unsigned integers. */
static LLVMValueRef compare(Emit *e, Opcode code, Type t, LLVMValueRef x, LLVMValueRef y) {
  static const LLVMRealPredicate real[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT,
                                           LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
  static const LLVMIntPredicate sign[] = {LLVMIntEQ, LLVMIntNE, LLVMIntSLT, LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
  static const LLVMIntPredicate truth[] = {LLVMIntEQ, LLVMIntNE, LLVMIntULT, LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
  int i = code == OP_EQ ? 0 : code == OP_NE ? 1 : code == OP_LT ? 2 : code == OP_LE ? 3 : code == OP_GT ? 4 : 5;
  if (type_is_float(t))
    return flagged(e, LLVMBuildFCmp(e->here.b, real[i], x, y, ""), false);
  return LLVMBuildICmp(e->here.b, t == TY_BOOL || type_is_unsigned(t) ? truth[i] : sign[i], x, y, "");
}

/* The bits of the f64 `x` as f32; if `x` lies between two f32, the bits of the odd one. Rounded once more, to fewer
 * bits, the result is that of rounding `x` to these bits at once. */
static LLVMValueRef round_to_odd(Emit *e, LLVMValueRef x) {
  LLVMBuilderRef b = e->here.b;
  LLVMTypeRef f32 = emit_type(e, TY_F32);
  LLVMValueRef near = LLVMBuildFPTrunc(b, x, f32, ""), wide = LLVMBuildFPExt(b, near, LLVMTypeOf(x), ""),
               bits = LLVMBuildBitCast(b, near, e->i32, "");
  LLVMValueRef zero = LLVMConstReal(LLVMTypeOf(x), 0), one = LLVMConstInt(e->i32, 1, 0);
  LLVMValueRef below =
      LLVMBuildXor(b, LLVMBuildFCmp(b, LLVMRealOLT, wide, x, ""), LLVMBuildFCmp(b, LLVMRealOLT, x, zero, ""), "");
  LLVMValueRef other = LLVMBuildSelect(b, below, LLVMBuildAdd(b, bits, one, ""), LLVMBuildSub(b, bits, one, ""), "");
  LLVMValueRef is_odd = LLVMBuildTrunc(b, bits, e->i1, "");
  LLVMValueRef keep = LLVMBuildOr(b, is_odd, LLVMBuildFCmp(b, LLVMRealUEQ, wide, x, ""), "");
  return LLVMBuildSelect(b, keep, bits, other, "");
}

/* The bits of the f32 `x` as bf16. x86's instruction makes subnormal numbers 0, and the function that LLVM calls where
 * there is no instruction is missing in most libraries. */
static LLVMValueRef bfloat_bits(Emit *e, LLVMValueRef x) {
  LLVMBuilderRef b = e->here.b;
  LLVMValueRef sixteen = LLVMConstInt(e->i32, 16, 0), is_nan = LLVMBuildFCmp(b, LLVMRealUNO, x, x, "");
  LLVMValueRef bits = LLVMBuildBitCast(b, x, e->i32, "");
  LLVMValueRef odd = LLVMBuildAnd(b, LLVMBuildLShr(b, bits, sixteen, ""), LLVMConstInt(e->i32, 1, 0), "");
  LLVMValueRef rounded = LLVMBuildAdd(b, bits, LLVMBuildAdd(b, odd, LLVMConstInt(e->i32, 0x7fff, 0), ""), "");
  LLVMValueRef quiet = LLVMBuildOr(b, bits, LLVMConstInt(e->i32, 0x400000, 0), "");
  LLVMValueRef upper = LLVMBuildLShr(b, LLVMBuildSelect(b, is_nan, quiet, rounded, ""), sixteen, "");
  return LLVMBuildTrunc(b, upper, emit_type(e, TY_BF16), "");
}

/* The f32 of the bits `x` of a bf16. */
static LLVMValueRef bfloat_value(Emit *e, LLVMValueRef x) {
  LLVMBuilderRef b = e->here.b;
  LLVMValueRef bits = LLVMBuildShl(b, LLVMBuildZExt(b, x, e->i32, ""), LLVMConstInt(e->i32, 16, 0), "");
  return LLVMBuildBitCast(b, bits, emit_type(e, TY_F32), "");
}

/* Does the target convert wider types to the 16-bit float `t` by one instruction, and so by one rounding? */
static bool narrows_at_once(const Emit *e, Type t) {
  return t == TY_F16 ? e->target->narrows_to_f16 : e->target->narrows_to_bf16;
}

/* `x` of the float type `from` as `to`. f16 and bf16 are converted by way of f32, which holds them exactly: LLVM 22's
 * saturating conversions of f16 are wrong for NaN on x86. From f64 to them, the f32 has its last bit odd where it is
 * not exact, which leaves the rounding to the last step. */
static LLVMValueRef convert_float(Emit *e, LLVMValueRef x, Type from, Type to) {
  LLVMTypeRef type = emit_type(e, to);
  LLVMBuilderRef b = e->here.b;
  if (is_half(from)) {
    x = from == TY_BF16 && e->target->bfloat_is_bits ? bfloat_value(e, x)
                                                     : LLVMBuildFPExt(b, x, emit_type(e, TY_F32), "");
    from = TY_F32;
  }
  if (to == from)
    return x;
  if (to == TY_BOOL)
    return LLVMBuildFCmp(b, LLVMRealUNE, x, LLVMConstReal(LLVMTypeOf(x), 0), "");
  if (type_is_int(to))
    return emit_intrinsic(e, b, type_is_unsigned(to) ? "llvm.fptoui.sat" : "llvm.fptosi.sat", 2,
                          (LLVMTypeRef[]){type, LLVMTypeOf(x)}, 1, &x);
  if (is_half(to) && from == TY_F64 && !narrows_at_once(e, to))
    return convert_float(e, LLVMBuildBitCast(b, round_to_odd(e, x), emit_type(e, TY_F32), ""), TY_F32, to);
  if (to == TY_BF16 && e->target->bfloat_is_bits)
    return bfloat_bits(e, x);
  return type_size(to) > type_size(from) ? LLVMBuildFPExt(b, x, type, "") : LLVMBuildFPTrunc(b, x, type, "");
}

/* The integer `x` of `bits` bits as the float type `to` of `digits` binary digits, rounded such that a second rounding,
 * to at most `digits` - 2 digits, gives the result of rounding `x` to them at once: the bits for which `to` has no
 * place become one bit that says whether any is set. */
static LLVMValueRef sticky_float(Emit *e, LLVMValueRef x, Type to, int digits, int bits) {
  LLVMBuilderRef b = e->here.b;
  LLVMTypeRef t = LLVMTypeOf(x);
  unsigned long long unit = 1ull << (bits - digits);
  LLVMValueRef zero = LLVMConstInt(t, 0, 0), lost = LLVMBuildAnd(b, x, LLVMConstInt(t, unit - 1, 0), "");
  LLVMValueRef sticky =
      LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, lost, zero, ""), zero, LLVMConstInt(t, unit, 0), "");
  LLVMValueRef kept = LLVMBuildOr(b, LLVMBuildSub(b, x, lost, ""), sticky, "");
  LLVMValueRef size = emit_intrinsic(e, b, "llvm.abs", 1, &t, 2, (LLVMValueRef[]){x, LLVMConstInt(e->i1, 0, 0)});
  LLVMValueRef fits = LLVMBuildICmp(b, LLVMIntULT, size, LLVMConstInt(t, 1ull << digits, 0), "");
  return LLVMBuildSIToFP(b, LLVMBuildSelect(b, fits, x, kept, ""), emit_type(e, to), "");
}

/* `x` of the integer type `from`, i32 or i64, as bf16. Some bf16 lie in the middle of integers that f32 does not hold,
 * by way of which LLVM converts where there is no instruction. (It holds those of f16.) */
static LLVMValueRef convert_to_bfloat(Emit *e, LLVMValueRef x, Type from) {
  if (narrows_at_once(e, TY_BF16))
    return LLVMBuildSIToFP(e->here.b, x, emit_type(e, TY_BF16), "");
  if (from == TY_I32)
    return convert_float(e, sticky_float(e, x, TY_F32, 24, 32), TY_F32, TY_BF16);
  return convert_float(e, sticky_float(e, x, TY_F64, 53, 64), TY_F64, TY_BF16);
}

static LLVMValueRef convert_int(Emit *e, LLVMValueRef x, Type from, Type to);

/* `x` of the unsigned type `from` as `to`, by way of a signed type that has all its values: an i32, or an i64 for a
 * u32; for the 16-bit floats from shorter types by way of f32 too. */
static LLVMValueRef convert_unsigned(Emit *e, LLVMValueRef x, Type from, Type to) {
  if (from == TY_U32)
    return convert_int(e, LLVMBuildZExt(e->here.b, x, e->i64, ""), TY_I64, to);
  LLVMValueRef wide = LLVMBuildZExt(e->here.b, x, e->i32, "");
  emit_set_range(e, wide, 0, type_most(from));
  if (is_half(to))
    return convert_float(e, convert_int(e, wide, TY_I32, TY_F32), TY_F32, to);
  return convert_int(e, wide, TY_I32, to);
}

/* `x` of the integer type or bool `from` as `to`. */
static LLVMValueRef convert_int(Emit *e, LLVMValueRef x, Type from, Type to) {
  LLVMTypeRef type = emit_type(e, to);
  LLVMBuilderRef b = e->here.b;
  if (to == TY_BOOL)
    return LLVMBuildICmp(b, LLVMIntNE, x, LLVMConstInt(LLVMTypeOf(x), 0, 0), "");
  if (type_is_unsigned(from) && (!type_is_int(to) || type_size(to) > type_size(from)))
    return convert_unsigned(e, x, from, to);
  if (to == TY_BF16 && (from == TY_I32 || from == TY_I64))
    return convert_to_bfloat(e, x, from);
  if (to == TY_BF16 && e->target->bfloat_is_bits)
    return convert_float(e, convert_int(e, x, from, TY_F32), TY_F32, TY_BF16);
  if (type_is_float(to))
    return from == TY_BOOL ? LLVMBuildUIToFP(b, x, type, "") : LLVMBuildSIToFP(b, x, type, "");
  if (from == TY_BOOL)
    return LLVMBuildZExt(b, x, type, "");
  return emit_int_cast(e, &e->here, x, type);
}

/* The value of `op` converted to its result's type. */
static LLVMValueRef convert(Emit *e, const Op *op, LLVMValueRef x) {
  Type from = op->operands[0]->type, to = op->results[0]->type;
  if (from == to)
    return x;
  return type_is_float(from) ? convert_float(e, x, from, to) : convert_int(e, x, from, to);
}

/* The result of `op` for the operands x, of type t. */
static LLVMValueRef scalar_arith(Emit *e, const Op *op, Type t, LLVMValueRef *x) {
  switch (op->code) {
  case OP_EQ:
  case OP_NE:
  case OP_LT:
  case OP_LE:
  case OP_GT:
  case OP_GE: return compare(e, op->code, t, x[0], x[1]);
  case OP_AND: return LLVMBuildAnd(e->here.b, x[0], x[1], "");
  case OP_OR: return LLVMBuildOr(e->here.b, x[0], x[1], "");
  case OP_NOT: return LLVMBuildNot(e->here.b, x[0], "");
  case OP_BIT_AND:
  case OP_BIT_OR:
  case OP_BIT_XOR:
  case OP_BIT_NOT:
  case OP_SHL:
  case OP_SHR: return bits_arith(e, op->code, t, x);
  default: return type_is_float(t) ? float_arith(e, op->code, t, op->noperands, x) : int_arith(e, op->code, t, x);
  }
}

/* Arithmetic and comparisons on bf16 that are held as bits: in f32, and rounded. */
static LLVMValueRef bfloat_arith(Emit *e, const Op *op, LLVMValueRef *x) {
  for (int i = 0; i < op->noperands; i++)
    x[i] = bfloat_value(e, x[i]);
  if (op->results[0]->type == TY_BOOL)
    return compare(e, op->code, TY_F32, x[0], x[1]);
  return bfloat_bits(e, float_arith(e, op->code, TY_F32, op->noperands, x));
}

LLVMValueRef emit_arith(Emit *e, const Op *op) {
  LLVMValueRef x[3] = {NULL, NULL, NULL};
  Type t = op->noperands ? op->operands[0]->type : TY_NONE;
  for (int i = 0; i < op->noperands && i < 3; i++)
    x[i] = emit_value(e, op->operands[i]);
  switch (op->code) {
  case OP_CONST: return emit_const(e, op->results[0]->type, op->cval);
  case OP_CONVERT: return convert(e, op, x[0]);
  default: return t == TY_BF16 && e->target->bfloat_is_bits ? bfloat_arith(e, op, x) : scalar_arith(e, op, t, x);
  }
}
