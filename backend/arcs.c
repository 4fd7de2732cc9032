/* backend/arcs.c: values that go round a loop, parted from the next ones, in kernels that would have private memory.
 *
 * LLVM joins a value that one round of a loop computes with the variable that the next round reads, so that both have
 * one register. Where a loop has many of them, such as rows that take each other's place, they are alive in arcs of a
 * circle, which can take many more registers than are alive at a time. A move at the end of a round that LLVM cannot
 * remove cuts the circle. Moves cost, so it is for kernels that have private memory without and none with them. */
#include "backend/emit.h"

#include <string.h>

/* A function whose values are being parted, and those of the present round: what LLVM computed -> its move. */
typedef struct Arcs {
  Arena *arena;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  PtrMap moved;
} Arcs;

/* i32 words of floating-point type `t` or of a vector of such; 0: it is another, or not of whole words. */
static unsigned words_of(LLVMTypeRef t) {
  bool vector = LLVMGetTypeKind(t) == LLVMVectorTypeKind;
  LLVMTypeKind kind = LLVMGetTypeKind(vector ? LLVMGetElementType(t) : t);
  unsigned words = kind == LLVMFloatTypeKind ? 1 : kind == LLVMDoubleTypeKind ? 2 : 0;
  return vector ? words * LLVMGetVectorSize(t) : words;
}

/* i32 `x` through a move by DPP within the lane, which LLVM keeps, and whose hazards it knows as it does not those of
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

/* Is `block` `head` or behind it in the function's text? So where loops' ends are behind their heads. */
static bool is_behind(LLVMBasicBlockRef block, LLVMBasicBlockRef head) {
  while (head && head != block)
    head = LLVMGetNextBasicBlock(head);
  return head != NULL;
}

/* Has the phi `v` of the block `head` take a move of what it is given at the end of a round. */
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
