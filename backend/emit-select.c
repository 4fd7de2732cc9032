/* backend/emit-select.c: selects by tests of coordinates, in loops. Predicates are few on a GPU: those of points,
 * which stay the same from step to step of a walk, are packed
 * into words and taken out again at each use. Where the target can merge words by a mask of bits, a test of what does
 * not change in the loop becomes such a mask, made once
 * before the loop, and the select one instruction; a test of what does change becomes another. */
#include "backend/emit.h"

/* The bits of `x` where those of `mask`, an i32, are set, else those of `y`; both of a type of 32 or 64 bits. */
static LLVMValueRef blend(Emit *e, LLVMValueRef mask, LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef t = LLVMTypeOf(x), words = LLVMVectorType(e->i32, 2);
  LLVMBuilderRef b = e->here.b;
  if (LLVMGetTypeKind(t) == LLVMFloatTypeKind || t == e->i32)
    return LLVMBuildBitCast(
        b, e->target->blend(e, mask, LLVMBuildBitCast(b, x, e->i32, ""), LLVMBuildBitCast(b, y, e->i32, "")), t, "");
  LLVMValueRef xs = LLVMBuildBitCast(b, x, words, ""), ys = LLVMBuildBitCast(b, y, words, ""),
               out = LLVMGetPoison(words);
  for (unsigned i = 0; i < 2; i++) {
    LLVMValueRef at = LLVMConstInt(e->i32, i, 0);
    LLVMValueRef half =
        e->target->blend(e, mask, LLVMBuildExtractElement(b, xs, at, ""), LLVMBuildExtractElement(b, ys, at, ""));
    out = LLVMBuildInsertElement(b, out, half, at, "");
  }
  return LLVMBuildBitCast(b, out, t, "");
}

/* Which coordinates of `test` stay the same in the loop about `op`, as a set of bits; 0 where the target cannot use
 * that. */
static unsigned invariant_coordinates(const Emit *e, const Op *op, const Op *test) {
  const Op *loop = emit_loop_about(op->parent);
  unsigned same = 0;
  if (!e->target->blend || !loop || !test || test->code != OP_INSIDE || type_size(op->results[0]->type) < 4)
    return 0;
  for (int d = 0; d < test->noperands; d++)
    same |= (unsigned)emit_is_invariant(test->operands[d], loop, 8) << d;
  return same;
}

/* All bits, if those coordinates of `test` are in its box that `which` says, else none, as an i32. */
static LLVMValueRef emit_mask(Emit *e, const Op *test, unsigned which) {
  return LLVMBuildSExt(e->here.b, emit_inside(e, test, which), e->i32, "");
}

LLVMValueRef emit_select(Emit *e, const Op *op) {
  LLVMValueRef x = emit_value(e, op->operands[1]), y = emit_value(e, op->operands[2]);
  const Op *test = op->operands[0]->def;
  unsigned same = invariant_coordinates(e, op, test);
  if (!same)
    return LLVMBuildSelect(e->here.b, emit_value(e, op->operands[0]), x, y, "");
  unsigned others = ((1u << test->noperands) - 1) & ~same;
  LLVMValueRef merged = blend(e, emit_mask(e, test, same), x, y);
  return others ? blend(e, emit_mask(e, test, others), merged, y) : merged;
}
