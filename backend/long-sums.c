/* backend/long-sums.c: hides sums of integers from memory from LLVM where they are many.
 *
 *   %3 = add i32 %1, %2     ->     %3 = call i32 @stc.sum.add.i32(i32 %1, i32 %2)     (while the optimiser runs)
 *
 * LLVM analyses integers as parts of addresses: which bits of a sum are known, whether it is another sum, what sums
 * have in common (straight-line strength reduction and n-ary reassociation compare each with the fifty before, all
 * terms of both through any number of additions). In a tile of several time steps a field of integers is thousands of
 * sums, each of a hundred terms, of which nothing is known: that took nearly all of the time of a compilation.
 *
 * So the sums are calls of functions while the optimiser runs; it knows only that these have no side effects. For the
 * code generator they are sums of vectors of one element, which it does not compare. Neither a call nor a vector is
 * left in the code. */
#include "backend/emit.h"

#include <string.h>

/* A function has many sums if it has more than this. */
enum { MANY_SUMS = 256 };

/* The prefix of the functions' names: the names of the op and of the type follow it. */
static const char prefix[] = "stc.sum.";

/* ---- which sums */

/* Is instruction `v` an addition, subtraction or multiplication of single integers? */
static bool is_sum(LLVMValueRef v) {
  if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMIntegerTypeKind)
    return false;
  LLVMOpcode code = LLVMGetInstructionOpcode(v);
  return code == LLVMAdd || code == LLVMSub || code == LLVMMul;
}

/* The values of a function that depend on memory: a hash table of 1 << bits places, with linear probing; NULL: a free
 * place. */
typedef struct Data {
  int bits;
  LLVMValueRef *at;
} Data;

/* The place of `v`, or the free one where it would be. */
static LLVMValueRef *place_of(const Data *d, LLVMValueRef v) {
  size_t mask = ((size_t)1 << d->bits) - 1,
         i = (size_t)((uint64_t)(uintptr_t)v * 0x9e3779b97f4a7c15u >> (64 - d->bits));
  while (d->at[i & mask] && d->at[i & mask] != v)
    i++;
  return &d->at[i & mask];
}

/* Was `v` loaded, or computed from loaded values? Numbers of threads and blocks, params and values computed from these
 * were not. */
static bool is_data(const Data *d, LLVMValueRef v) {
  bool any = LLVMGetInstructionOpcode(v) == LLVMLoad;
  for (int i = LLVMGetNumOperands(v) - 1; i >= 0 && !any; i--)
    any = *place_of(d, LLVMGetOperand(v, (unsigned)i)) != NULL;
  return any;
}

/* Finds such values of `f`; loop-carried ones are found in the second pass. */
static Data find_data(Arena *a, LLVMValueRef f) {
  Data d = {.bits = 6};
  size_t n = 0;
  for (LLVMBasicBlockRef k = LLVMGetFirstBasicBlock(f); k; k = LLVMGetNextBasicBlock(k))
    for (LLVMValueRef v = LLVMGetFirstInstruction(k); v; v = LLVMGetNextInstruction(v))
      n++;
  while ((size_t)1 << d.bits < 2 * n)
    d.bits++;
  d.at = ARENA_ARRAY(a, LLVMValueRef, (size_t)1 << d.bits);
  for (int round = 0; round < 2; round++)
    for (LLVMBasicBlockRef k = LLVMGetFirstBasicBlock(f); k; k = LLVMGetNextBasicBlock(k))
      for (LLVMValueRef v = LLVMGetFirstInstruction(k); v; v = LLVMGetNextInstruction(v))
        if (is_data(&d, v))
          *place_of(&d, v) = v;
  return d;
}

/* Is it a sum of two values, one of them from memory? */
static bool is_data_sum(const Data *d, LLVMValueRef v) {
  return is_sum(v) && !LLVMIsConstant(LLVMGetOperand(v, 0)) && !LLVMIsConstant(LLVMGetOperand(v, 1)) &&
         *place_of(d, v) != NULL;
}

/* Appends the sums of `f` that are to be hidden to out[n]; none if they are not many. Returns their number. */
static int find_sums(Arena *a, LLVMValueRef f, LLVMValueRef **out) {
  int n = 0;
  Data d = find_data(a, f);
  *out = NULL;
  for (LLVMBasicBlockRef k = LLVMGetFirstBasicBlock(f); k; k = LLVMGetNextBasicBlock(k))
    for (LLVMValueRef v = LLVMGetFirstInstruction(k); v; v = LLVMGetNextInstruction(v))
      if (is_data_sum(&d, v))
        ARENA_PUSH(a, *out, n, v);
  return n > MANY_SUMS ? n : 0;
}

/* ---- hidden */

/* The function that replaces sums like `v`. */
static LLVMValueRef sum_function(Arena *a, LLVMModuleRef m, LLVMValueRef v) {
  static const char *const attributes[] = {"nocallback", "nofree",       "nosync",      "nounwind",
                                           "willreturn", "speculatable", "mustprogress"};
  LLVMOpcode code = LLVMGetInstructionOpcode(v);
  LLVMTypeRef t = LLVMTypeOf(v);
  const char *name = arena_printf(a, "%s%s.i%u", prefix,
                                  code == LLVMAdd   ? "add"
                                  : code == LLVMSub ? "sub"
                                                    : "mul",
                                  LLVMGetIntTypeWidth(t));
  LLVMValueRef f = LLVMGetNamedFunction(m, name);
  if (f)
    return f;
  f = LLVMAddFunction(m, name, LLVMFunctionType(t, (LLVMTypeRef[]){t, t}, 2, 0));
  LLVMContextRef c = LLVMGetModuleContext(m);
  LLVMAttributeIndex at = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    unsigned kind = LLVMGetEnumAttributeKindForName(attributes[i], strlen(attributes[i]));
    LLVMAddAttributeAtIndex(f, at, LLVMCreateEnumAttribute(c, kind, 0));
  }
  LLVMAddAttributeAtIndex(f, at, LLVMCreateEnumAttribute(c, LLVMGetEnumAttributeKindForName("memory", 6), 0));
  return f;
}

void hide_sums(Arena *a, LLVMModuleRef m) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
  for (LLVMValueRef f = LLVMGetFirstFunction(m), next; f; f = next) {
    LLVMValueRef *sums;
    next = LLVMGetNextFunction(f);
    int n = find_sums(a, f, &sums);
    for (int i = 0; i < n; i++) {
      LLVMValueRef by = sum_function(a, m, sums[i]);
      LLVMPositionBuilderBefore(b, sums[i]);
      LLVMReplaceAllUsesWith(sums[i],
                             LLVMBuildCall2(b, LLVMGlobalGetValueType(by), by,
                                            (LLVMValueRef[]){LLVMGetOperand(sums[i], 0), LLVMGetOperand(sums[i], 1)}, 2,
                                            ""));
      LLVMInstructionEraseFromParent(sums[i]);
    }
  }
  LLVMDisposeBuilder(b);
}

/* ---- shown again */

/* Sets *code to the op that function `f` replaces; false if it is none of those functions. */
static bool hidden_op(LLVMValueRef f, LLVMOpcode *code) {
  size_t n;
  const char *name = LLVMGetValueName2(f, &n);
  if (n < sizeof prefix || memcmp(name, prefix, sizeof prefix - 1) != 0)
    return false;
  char op = name[sizeof prefix - 1];
  *code = op == 'a' ? LLVMAdd : op == 's' ? LLVMSub : LLVMMul;
  return true;
}

/* The sum by `code` of the operands of `v`, of type i*, before it, as one of vectors <1 x i*>. */
static LLVMValueRef vector_sum(LLVMBuilderRef b, LLVMOpcode code, LLVMValueRef v) {
  LLVMTypeRef one = LLVMTypeOf(v), vector = LLVMVectorType(one, 1);
  LLVMPositionBuilderBefore(b, v);
  LLVMValueRef x = LLVMBuildBitCast(b, LLVMGetOperand(v, 0), vector, ""),
               y = LLVMBuildBitCast(b, LLVMGetOperand(v, 1), vector, "");
  return LLVMBuildBitCast(b, LLVMBuildBinOp(b, code, x, y, ""), one, "");
}

void show_sums(LLVMModuleRef m) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
  for (LLVMValueRef f = LLVMGetFirstFunction(m), next; f; f = next) {
    LLVMOpcode code;
    next = LLVMGetNextFunction(f);
    if (!hidden_op(f, &code))
      continue;
    for (LLVMUseRef u; (u = LLVMGetFirstUse(f));) {
      LLVMValueRef call = LLVMGetUser(u);
      LLVMReplaceAllUsesWith(call, vector_sum(b, code, call));
      LLVMInstructionEraseFromParent(call);
    }
    LLVMDeleteFunction(f);
  }
  LLVMDisposeBuilder(b);
}
