/* backend/emit-select.c: selects by tests of coordinates, in loops.
 *
 * *NVIDIA*. A GPU has few predicates: those of points, which stay the same from step to step of a streaming loop, are
 * packed into words and unpacked again at each use. If the target can merge words by a mask of bits (Target.blend), a
 * loop-invariant test becomes such a mask, made once before the loop, and the select is one instruction; a test that
 * changes in the loop becomes another mask.
 *
 * *AMD*. Where predicates are masks of a wave's lanes in scalar registers, loop-invariant tests stay in them. But the
 * present row of a streaming loop is tested at each of its time steps, and LLVM would keep all masks of a row's cells
 * from the first step to the last. So the row's part of the mask is computed again for each time step, by scalar
 * instructions in 32 bits (Target.renew), and only the masks of columns are kept. */
#include "backend/emit.h"

/* How many levels of sums are followed; the greatest number that is added to the number of a row of a streaming
 * loop. */
enum { DEEPEST = 8, MOST_ROWS = 1 << 20 };

/* The bits of `x` where those of `mask`, an i32, are set, else those of `y`; both of one type of 32 or 64 bits. */
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

/* Which coordinates of `test` stay the same in `loop`, as a set of bits. */
static unsigned kept_coordinates(const Op *test, const Op *loop) {
  unsigned same = 0;
  for (int d = 0; d < test->noperands; d++)
    same |= (unsigned)emit_is_invariant(test->operands[d], loop, DEEPEST) << d;
  return same;
}

/* Which coordinates of `test` stay the same in the loop around `op`, as a set of bits; 0 if the target cannot use
 * that. */
static unsigned invariant_coordinates(const Emit *e, const Op *op, const Op *test) {
  const Op *loop = emit_loop_about(op->parent);
  if (!e->target->blend || !loop || !test || test->code != OP_INSIDE || type_size(op->results[0]->type) < 4)
    return 0;
  return kept_coordinates(test, loop);
}

/* An i32 of all bits if the coordinates of `test` named by `which` are in its box, else of none. */
static LLVMValueRef emit_mask(Emit *e, const Op *test, unsigned which) {
  return LLVMBuildSExt(e->here.b, emit_inside(e, test, which), e->i32, "");
}

/* The bound `far`, an i64, relative to `row`, clamped to least..most. */
static LLVMValueRef seen_from(Emit *e, const RowSum *row, LLVMValueRef far, int64_t least, int64_t most) {
  return emit_cut(e, &e->here, row->same ? emit_int(e, &e->here, LLVMSub, far, row->same) : far, least, most);
}

/* The number `x` of the row of `coordinate`, which is `changes` and a constant, renewed for the present time step. It
 * is the number of the last select if that was of the same row. In a loop that is unrolled here the same coordinate is
 * another number in each iteration. */
static LLVMValueRef renewed(Emit *e, const Value *coordinate, LLVMValueRef changes, LLVMValueRef x) {
  const RenewedRow *last = &e->row;
  LLVMBasicBlockRef block = LLVMGetInsertBlock(e->here.b);
  if (last->coordinate != coordinate || last->changes != changes || last->block != block)
    e->row = (RenewedRow){coordinate, changes, block, e->target->renew(e, x, last->n + 1), last->n + 1};
  return e->row.value;
}

/* Is the coordinate `v` in lo..hi, as an i1, computed again for the present time step if `anew`? NULL if it is not a
 * RowSum. One comparison of 32 bits, modulo 2^32: bounds beyond those of an i32 count as the outermost, or as no rows
 * at all; the greatest i32 is no number of a row, for numbers of rows are below the end of a loop. */
static LLVMValueRef test_row(Emit *e, const Value *v, const Op *loop, LLVMValueRef lo, LLVMValueRef hi, bool anew) {
  RowSum row;
  if (!emit_row_sum(e, &e->here, v, loop, &row) || row.c < -MOST_ROWS || row.c > MOST_ROWS)
    return NULL;
  LLVMBuilderRef b = e->here.b;
  LLVMValueRef changes = emit_value(e, row.changes),
               x = LLVMBuildAdd(b, changes, LLVMConstInt(e->i32, (uint64_t)row.c, 1), ""),
               first = seen_from(e, &row, lo, INT32_MIN, INT64_C(1) << 31),
               last = seen_from(e, &row, hi, INT32_MIN - INT64_C(1), INT32_MAX);
  LLVMValueRef rows = LLVMBuildAdd(b, LLVMBuildSub(b, last, first, ""), emit_i64(e, 1), "");
  rows = emit_intrinsic(e, b, "llvm.smax", 1, &e->i64, 2, (LLVMValueRef[]){rows, emit_i64(e, 0)});
  rows = emit_intrinsic(e, b, "llvm.smin", 1, &e->i64, 2, (LLVMValueRef[]){rows, emit_i64(e, UINT32_MAX)});
  LLVMValueRef at = LLVMBuildSub(b, anew ? renewed(e, v, changes, x) : x, LLVMBuildTrunc(b, first, e->i32, ""), "");
  return LLVMBuildICmp(b, LLVMIntULT, at, LLVMBuildTrunc(b, rows, e->i32, ""), "");
}

/* The test of an inside op, computed again where a loop's row changes. */
static LLVMValueRef renewed_inside(Emit *e, const Op *test, const Op *loop, bool anew) {
  unsigned same = kept_coordinates(test, loop);
  LLVMValueRef all = NULL;
  for (int d = 0; d < test->noperands; d++) {
    if (same >> d & 1)
      continue;
    LLVMValueRef row = test_row(e, test->operands[d], loop, emit_affine(e, test->box->lo[d]),
                                emit_affine(e, test->box->hi[d]), anew || same);
    if (!row)
      return NULL;
    all = all ? LLVMBuildAnd(e->here.b, all, row, "") : row;
  }
  return same && all ? LLVMBuildAnd(e->here.b, emit_inside(e, test, same), all, "") : all;
}

/* The test of an op that compares a coordinate with another value for equality, computed again in the same way. */
static LLVMValueRef renewed_equal(Emit *e, const Op *test, const Op *loop, bool anew) {
  for (int i = 0; i < 2 && test->operands[0]->type == TY_I64; i++)
    if (emit_is_invariant(test->operands[i], loop, DEEPEST) && !emit_is_threads(e, test->operands[i])) {
      LLVMValueRef x = emit_value(e, test->operands[i]);
      return test_row(e, test->operands[1 - i], loop, x, x, anew);
    }
  return NULL;
}

/* The condition `v` in `loop` as an i1 in which rows are tested, again for this time step if the test is combined with
 * others (`anew`) or with tests of columns; NULL if the condition consists of something else. */
static LLVMValueRef renewed_test(Emit *e, const Value *v, const Op *loop, bool anew) {
  const Op *test = v->def;
  if (emit_is_invariant(v, loop, DEEPEST))
    return emit_value(e, v);
  if (test && test->code == OP_AND && v->type == TY_BOOL) {
    LLVMValueRef x = renewed_test(e, test->operands[0], loop, true), y = renewed_test(e, test->operands[1], loop, true);
    return x && y ? LLVMBuildAnd(e->here.b, x, y, "") : NULL;
  }
  if (test && test->code == OP_INSIDE)
    return renewed_inside(e, test, loop, anew);
  return test && test->code == OP_EQ ? renewed_equal(e, test, loop, anew) : NULL;
}

LLVMValueRef emit_select(Emit *e, const Op *op) {
  LLVMValueRef x = emit_value(e, op->operands[1]), y = emit_value(e, op->operands[2]);
  const Op *test = op->operands[0]->def, *loop = emit_loop_about(op->parent);
  unsigned same = invariant_coordinates(e, op, test);
  LLVMValueRef anew = e->target->renew && loop ? renewed_test(e, op->operands[0], loop, false) : NULL;
  if (!same || anew)
    return LLVMBuildSelect(e->here.b, anew ? anew : emit_value(e, op->operands[0]), x, y, "");
  unsigned others = ((1u << test->noperands) - 1) & ~same;
  LLVMValueRef merged = blend(e, emit_mask(e, test, same), x, y);
  return others ? blend(e, emit_mask(e, test, others), merged, y) : merged;
}
