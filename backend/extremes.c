/* backend/extremes.c: minimumNumber and maximumNumber on x86 with AVX-512.
 *
 *   call llvm.minimumnum(x, y)     ->     vrangeps x, y
 *
 * One instruction there, vrangeps or vrangepd, computes both as IEEE 754-2019 defines them, signs of zeros included,
 * unless an operand is a signalling NaN. LLVM does not use it: it writes five or six instructions, each depending on
 * the one before. So kernels are emitted with llvm.minimumnum and llvm.maximumnum, which LLVM's passes vectorise, and
 * the calls that are left after the passes are replaced by the instruction. An operand that may be signalling, which
 * results of arithmetic never are, is made quiet first: by the instruction, of the operand and itself. LLVM must not
 * see such a call when it selects instructions: of scalars it gives NaN where it knows that only one of the operands
 * can be NaN, and that one is NaN. */
#include "backend/emit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Through how many levels operands are followed to their origin; the greatest number of lanes of a vector in a
 * register. */
enum { DEEPEST = 16, REGISTER_LANES = 16 };

/* The immediate operand of the instruction: take the sign of the result, and which of the two to compute. */
enum { RANGE_MIN = 4, RANGE_MAX = 5 };

/* The rounding mode operand for "as set". */
enum { ROUND_AS_SET = 4 };

/* Is `v` a call of an intrinsic whose name begins with `name`? */
static bool calls(LLVMValueRef v, const char *name) {
  LLVMValueRef f = LLVMIsACallInst(v) ? LLVMIsAFunction(LLVMGetCalledValue(v)) : NULL;
  size_t length;
  return f && LLVMGetIntrinsicID(f) && strncmp(LLVMGetValueName2(f, &length), name, strlen(name)) == 0;
}

/* Lanes of a value of type `t`: 1 of a scalar. */
static unsigned lanes_of(LLVMTypeRef t) { return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetVectorSize(t) : 1; }

/* The type of one of its lanes. */
static LLVMTypeRef lane_of(LLVMTypeRef t) {
  return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
}

/* Type `t`, or a vector of `n` of them if that is more than one. */
static LLVMTypeRef vector_of(LLVMTypeRef t, unsigned n) { return n > 1 ? LLVMVectorType(t, n) : t; }

/* Is the constant `v` known to be no NaN in any lane? */
static bool is_number(LLVMValueRef v) {
  LLVMBool inexact;
  if (LLVMIsUndef(v) || LLVMIsNull(v))
    return true;
  if (LLVMIsAConstantFP(v)) {
    double c = LLVMConstRealGetDouble(v, &inexact);
    return c == c;
  }
  unsigned n = lanes_of(LLVMTypeOf(v));
  for (unsigned i = 0; i < n; i++) {
    LLVMValueRef x = n > 1 ? LLVMGetAggregateElement(v, i) : NULL;
    if (!x || !is_number(x))
      return false;
  }
  return true;
}

/* Is `v` one of the constants with which a sum or product may be folded to its other operand? */
static bool is_neutral(LLVMValueRef v) {
  LLVMBool inexact;
  double c = LLVMIsAConstantFP(v) ? LLVMConstRealGetDouble(v, &inexact) : NAN;
  return c == 0 || c == 1;
}

/* Is there such an instruction for values of type `t`, f32 or f64 or a vector of them? */
static bool has_range(LLVMTypeRef t) {
  unsigned n = lanes_of(t), least = LLVMGetTypeKind(lane_of(t)) == LLVMDoubleTypeKind ? 2 : 4;
  return n == 1 || n == least || n == 2 * least || n == 4 * least;
}

/* The phis on the way to a value. A phi counts as quiet if its other operands are. */
typedef struct Open {
  int n;
  LLVMValueRef phi[DEEPEST];
} Open;

static bool is_quiet(LLVMValueRef v, Open *open, int depth);

/* Is none of operands `from` to before `to` of `v` a signalling NaN? */
static bool are_quiet(LLVMValueRef v, unsigned from, unsigned to, Open *open, int depth) {
  for (unsigned i = from; i < to; i++)
    if (!is_quiet(LLVMGetOperand(v, i), open, depth))
      return false;
  return true;
}

/* Is a phi, by all of its operands, no signalling NaN? */
static bool phi_is_quiet(LLVMValueRef v, Open *open, int depth) {
  for (int i = 0; i < open->n; i++)
    if (open->phi[i] == v)
      return true;
  if (open->n == DEEPEST)
    return false;
  open->phi[open->n++] = v;
  bool quiet = true;
  for (unsigned i = 0; quiet && i < LLVMCountIncoming(v); i++)
    quiet = is_quiet(LLVMGetIncomingValue(v, i), open, depth);
  return quiet;
}

/* Is the result of a call no signalling NaN? */
static bool call_is_quiet(LLVMValueRef v, Open *open, int depth) {
  if (calls(v, "llvm.fma.") || calls(v, "llvm.sqrt.") || calls(v, "llvm.x86.avx512.mask.range."))
    return true;
  if (calls(v, "llvm.fabs.") || calls(v, "llvm.copysign."))
    return are_quiet(v, 0, 1, open, depth);
  return (calls(v, "llvm.minimumnum.") || calls(v, "llvm.maximumnum.")) && has_range(LLVMTypeOf(v));
}

/* Is float or vector of floats `v` known to be no signalling NaN, in any lane? */
static bool is_quiet(LLVMValueRef v, Open *open, int depth) {
  if (LLVMIsConstant(v))
    return is_number(v);
  if (!LLVMIsAInstruction(v) || depth == 0)
    return false;
  switch (LLVMGetInstructionOpcode(v)) {
  case LLVMFAdd:
  case LLVMFSub:
  case LLVMFMul:
  case LLVMFDiv: return !is_neutral(LLVMGetOperand(v, 0)) && !is_neutral(LLVMGetOperand(v, 1));
  case LLVMSIToFP:
  case LLVMUIToFP:
  case LLVMFPTrunc:
  case LLVMFPExt: return true;
  case LLVMFNeg:
  case LLVMExtractElement: return are_quiet(v, 0, 1, open, depth - 1);
  case LLVMInsertElement:
  case LLVMShuffleVector: return are_quiet(v, 0, 2, open, depth - 1);
  case LLVMSelect: return are_quiet(v, 1, 3, open, depth - 1);
  case LLVMPHI: return phi_is_quiet(v, open, depth - 1);
  case LLVMCall: return call_is_quiet(v, open, depth - 1);
  default: return false;
  }
}

/* The minimum or maximum that is being replaced in a module. least: the minimum. */
typedef struct Extreme {
  LLVMModuleRef m;
  LLVMContextRef context;
  LLVMBuilderRef b;
  bool least;
} Extreme;

/* The extreme of x and y by comparisons, in all lanes. */
static LLVMValueRef by_comparisons(const Extreme *e, LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef t = LLVMTypeOf(x);
  bool wide = LLVMGetTypeKind(lane_of(t)) == LLVMDoubleTypeKind;
  LLVMTypeRef word = wide ? LLVMInt64TypeInContext(e->context) : LLVMInt32TypeInContext(e->context),
              bits = vector_of(word, lanes_of(t));
  LLVMValueRef first = LLVMBuildFCmp(e->b, e->least ? LLVMRealOLT : LLVMRealOGT, x, y, ""),
               v = LLVMBuildSelect(e->b, first, x, y, "");
  LLVMValueRef p = LLVMBuildBitCast(e->b, x, bits, ""), q = LLVMBuildBitCast(e->b, y, bits, ""),
               zero = e->least ? LLVMBuildOr(e->b, p, q, "") : LLVMBuildAnd(e->b, p, q, "");
  v = LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealOEQ, x, y, ""), LLVMBuildBitCast(e->b, zero, t, ""), v, "");
  return LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealUNO, y, y, ""), x, v, "");
}

/* The instruction on vectors x and y of floats of type `t`, of `n` lanes, or on their first lanes alone (`scalar`). */
static LLVMValueRef call_range(const Extreme *e, LLVMTypeRef t, unsigned n, bool scalar, LLVMValueRef x,
                               LLVMValueRef y) {
  unsigned bits = LLVMGetTypeKind(t) == LLVMDoubleTypeKind ? 64 : 32;
  LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context),
              mask = n == REGISTER_LANES ? LLVMInt16TypeInContext(e->context) : LLVMInt8TypeInContext(e->context);
  LLVMValueRef kind = LLVMConstInt(i32, e->least ? RANGE_MIN : RANGE_MAX, 0), all = LLVMConstAllOnes(mask),
               none = LLVMGetPoison(LLVMTypeOf(x)), round = LLVMConstInt(i32, ROUND_AS_SET, 0);
  LLVMValueRef vectors[] = {x, y, kind, none, all, round}, scalars[] = {x, y, none, all, kind, round};
  char name[64], size[8];
  snprintf(size, sizeof size, ".%u", n * bits);
  snprintf(name, sizeof name, "llvm.x86.avx512.mask.range.%s%s%s", scalar ? "s" : "p", bits == 64 ? "d" : "s",
           scalar ? "" : size);
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->m, LLVMLookupIntrinsicID(name, strlen(name)), NULL, 0);
  return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(f), f, scalar ? scalars : vectors, LLVMCountParams(f), "");
}

/* The extreme of x and y by the instruction, if there is one for their type. */
static LLVMValueRef by_range(const Extreme *e, LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef lane = lane_of(LLVMTypeOf(x));
  unsigned n = lanes_of(LLVMTypeOf(x)), small = LLVMGetTypeKind(lane) == LLVMDoubleTypeKind ? 2 : 4;
  if (n > 1)
    return call_range(e, lane, n, false, x, y);
  LLVMValueRef first = LLVMConstInt(LLVMInt32TypeInContext(e->context), 0, 0),
               room = LLVMGetPoison(LLVMVectorType(lane, small));
  LLVMValueRef v = call_range(e, lane, small, true, LLVMBuildInsertElement(e->b, room, x, first, ""),
                              LLVMBuildInsertElement(e->b, room, y, first, ""));
  return LLVMBuildExtractElement(e->b, v, first, "");
}

/* `v`, made quiet unless it is known to be. */
static LLVMValueRef quieted(const Extreme *e, LLVMValueRef v) {
  Open open = {0};
  return is_quiet(v, &open, DEEPEST) ? v : by_range(e, v, v);
}

/* The extreme of x and y. */
static LLVMValueRef extreme_of(const Extreme *e, LLVMValueRef x, LLVMValueRef y) {
  return has_range(LLVMTypeOf(x)) ? by_range(e, quieted(e, x), quieted(e, y)) : by_comparisons(e, x, y);
}

/* The extreme of all lanes of `v`, of which there are 2, 4, 8 or 16: half of them against the other half. */
static LLVMValueRef extreme_of_lanes(const Extreme *e, LLVMValueRef v) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
  for (unsigned n = lanes_of(LLVMTypeOf(v)); n > 1; n /= 2) {
    LLVMValueRef low[REGISTER_LANES], high[REGISTER_LANES], none = LLVMGetPoison(LLVMTypeOf(v));
    for (unsigned i = 0; i < n / 2; i++) {
      low[i] = LLVMConstInt(i32, i, 0);
      high[i] = LLVMConstInt(i32, n / 2 + i, 0);
    }
    LLVMValueRef x = LLVMBuildShuffleVector(e->b, v, none, LLVMConstVector(low, n / 2), ""),
                 y = LLVMBuildShuffleVector(e->b, v, none, LLVMConstVector(high, n / 2), "");
    if (n == 2) {
      x = LLVMBuildExtractElement(e->b, v, low[0], "");
      y = LLVMBuildExtractElement(e->b, v, high[0], "");
    }
    v = extreme_of(e, x, y);
  }
  return v;
}

/* The replacement of call `i`; NULL if it is no call of an extreme. */
static LLVMValueRef written_out(Extreme *e, LLVMValueRef i) {
  bool all = calls(i, "llvm.vector.reduce.fmin.") || calls(i, "llvm.vector.reduce.fmax.");
  bool two = calls(i, "llvm.minimumnum.") || calls(i, "llvm.maximumnum.");
  if ((!all && !two) || LLVMGetFastMathFlags(i) & LLVMFastMathNoNaNs)
    return NULL;
  LLVMTypeKind kind = LLVMGetTypeKind(lane_of(LLVMTypeOf(i)));
  unsigned n = lanes_of(LLVMTypeOf(LLVMGetOperand(i, 0)));
  if ((kind != LLVMFloatTypeKind && kind != LLVMDoubleTypeKind) || (all && (n > REGISTER_LANES || (n & (n - 1)))))
    return NULL;
  e->least = calls(i, "llvm.minimumnum.") || calls(i, "llvm.vector.reduce.fmin.");
  LLVMPositionBuilderBefore(e->b, i);
  return all ? extreme_of_lanes(e, LLVMGetOperand(i, 0)) : extreme_of(e, LLVMGetOperand(i, 0), LLVMGetOperand(i, 1));
}

void write_extremes(LLVMModuleRef m) {
  LLVMContextRef context = LLVMGetModuleContext(m);
  Extreme e = {m, context, LLVMCreateBuilderInContext(context), false};
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        LLVMValueRef v = written_out(&e, i);
        if (!v)
          continue;
        LLVMReplaceAllUsesWith(i, v);
        LLVMInstructionEraseFromParent(i);
      }
  LLVMDisposeBuilder(e.b);
}
