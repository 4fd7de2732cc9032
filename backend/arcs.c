/* backend/arcs.c: copies of loop-carried values, in kernels that would have private memory without them.
 *
 *   loop: a = phi(.., b), b = f(a)     ->     a = phi(.., c), b = f(a), c = move b
 *
 * LLVM coalesces a value that one round of a loop computes with the variable that the next round reads, so that both
 * have one register. If a loop has many such values, as rows that take each other's place, their live ranges are arcs
 * of a circle, and allocating these can take many more registers than values are live at a time. A move at the end of a
 * round that LLVM cannot remove cuts the circle. Moves cost time, so only kernels get them that have private memory
 * without them and none with them. */
#include "backend/emit.h"

#include <string.h>

/* A function whose loop-carried values are being copied, and the copies of the present round: LLVM's value -> its
 * move. */
typedef struct Arcs {
  Arena *arena;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  PtrMap moved;
} Arcs;

/* The number of i32 words of floating-point type `t` or of a vector of such; 0: it is another type, or not of whole
 * words. */
static unsigned words_of(LLVMTypeRef t) {
  bool vector = LLVMGetTypeKind(t) == LLVMVectorTypeKind;
  LLVMTypeKind kind = LLVMGetTypeKind(vector ? LLVMGetElementType(t) : t);
  unsigned words = kind == LLVMFloatTypeKind ? 1 : kind == LLVMDoubleTypeKind ? 2 : 0;
  return vector ? words * LLVMGetVectorSize(t) : words;
}

/* i32 `x` through a move by DPP within the lane. LLVM keeps this move, and knows its hazards, which it does not for
 * assembly. */
static LLVMValueRef move_word(Arcs *p, LLVMValueRef x) {
  enum { OWN_LANE = 0xe4, ALL = 0xf };
  static const char name[] = "llvm.amdgcn.update.dpp";
  LLVMTypeRef i32 = LLVMInt32TypeInContext(p->context), i1 = LLVMInt1TypeInContext(p->context);
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(p->module, LLVMLookupIntrinsicID(name, strlen(name)), &i32, 1);
  LLVMValueRef all = LLVMConstInt(i32, ALL, 0);
  LLVMValueRef args[] = {LLVMGetPoison(i32), x, LLVMConstInt(i32, OWN_LANE, 0), all, all, LLVMConstInt(i1, 1, 0)};
  return LLVMBuildCall2(p->b, LLVMGlobalGetValueType(f), f, args, 6, "");
}

/* `x` of `words` words moved at the builder's place. */
static LLVMValueRef move(Arcs *p, LLVMValueRef x, unsigned words) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(p->context), type = LLVMTypeOf(x);
  if (words == 1)
    return LLVMBuildBitCast(p->b, move_word(p, LLVMBuildBitCast(p->b, x, i32, "")), type, "");
  LLVMTypeRef vector = LLVMVectorType(i32, words);
  LLVMValueRef from = LLVMBuildBitCast(p->b, x, vector, ""), to = LLVMGetPoison(vector);
  for (unsigned i = 0; i < words; i++) {
    LLVMValueRef at = LLVMConstInt(i32, i, 0);
    to = LLVMBuildInsertElement(p->b, to, move_word(p, LLVMBuildExtractElement(p->b, from, at, "")), at, "");
  }
  return LLVMBuildBitCast(p->b, to, type, "");
}

/* Is `block` equal to `head` or after it in the function's text? If so, ends of loops come after their heads. */
static bool is_behind(LLVMBasicBlockRef block, LLVMBasicBlockRef head) {
  while (head && head != block)
    head = LLVMGetNextBasicBlock(head);
  return head != NULL;
}

/* Makes the phi `v` of the block `head` take a move of its operand at the end of a round. */
static void part_phi(Arcs *p, LLVMValueRef v, LLVMBasicBlockRef head) {
  unsigned words = words_of(LLVMTypeOf(v));
  for (unsigned i = 0; words && i < LLVMCountIncoming(v); i++) {
    LLVMBasicBlockRef from = LLVMGetIncomingBlock(v, i);
    LLVMValueRef x = LLVMGetIncomingValue(v, i), moved = ptrmap_get(&p->moved, x);
    if (LLVMIsConstant(x) || !is_behind(from, head))
      continue;
    if (!moved || LLVMGetInstructionParent(moved) != from) {
      LLVMPositionBuilderBefore(p->b, LLVMGetBasicBlockTerminator(from));
      moved = move(p, x, words);
      ptrmap_put(p->arena, &p->moved, x, moved);
    }
    LLVMSetOperand(v, i, moved);
  }
}

void part_arcs(Arena *a, LLVMModuleRef m, LLVMValueRef f) {
  Arcs p = {.arena = a, .context = LLVMGetModuleContext(m), .module = m};
  p.b = LLVMCreateBuilderInContext(p.context);
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block)) {
    p.moved = (PtrMap){0};
    for (LLVMValueRef v = LLVMGetFirstInstruction(block); v && LLVMIsAPHINode(v); v = LLVMGetNextInstruction(v))
      part_phi(&p, v, block);
  }
  LLVMDisposeBuilder(p.b);
}
