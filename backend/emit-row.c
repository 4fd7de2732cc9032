/* backend/emit-row.c: coordinates that the innermost loop advances and that are the same for all threads, as the rows
 * of a streaming loop are. Such a coordinate is split into a loop-invariant part of 64 bits and a changing number of 32
 * bits. Tests of rows (emit-select.c), and rows that are mapped into a field, then take scalar instructions of 32 bits;
 * all arithmetic of 64 bits is done before the loop. A scalar unit cannot compare 64 bits: LLVM would compare in the
 * vector unit, in each round, and compute the address there, too. */
#include "backend/emit.h"

enum { KEY_START = 5000, KEY_SEEN };
/* How many levels of sums are followed; the greatest distance of a row from the row at which its loop begins, if it is
 * to be mapped into a field. */
enum { DEEPEST = 8, MOST_ROWS = 1 << 30 };

/* Adds the terms of `v` to `row`, at `p`; false if they do not have the form of a RowSum, or are not known there. */
static bool add_terms(Emit *e, Place *p, const Value *v, const Op *loop, int depth, RowSum *row) {
  const Op *def = v->def;
  if (emit_is_invariant(v, loop, DEEPEST)) {
    if (p != &e->here && !emit_is_outside(v, loop))
      return false;
    BaseOffset l = emit_linear(e, emit_int_cast(e, p, emit_value(e, v), e->i64));
    row->c += l.c;
    row->same = row->same ? emit_int(e, p, LLVMAdd, row->same, l.base) : l.base;
    return true;
  }
  if (depth && def && def->code == OP_ADD)
    return add_terms(e, p, def->operands[0], loop, depth - 1, row) &&
           add_terms(e, p, def->operands[1], loop, depth - 1, row);
  if (!def || def->code != OP_CONVERT || def->operands[0]->type != TY_I32 || row->changes)
    return false;
  row->changes = def->operands[0];
  return true;
}

bool emit_row_sum(Emit *e, Place *p, const Value *v, const Op *loop, RowSum *row) {
  *row = (RowSum){0};
  return add_terms(e, p, v, loop, DEEPEST, row) && row->changes && !emit_is_threads(e, row->changes);
}

LLVMValueRef emit_cut(Emit *e, Place *p, LLVMValueRef x, int64_t least, int64_t most) {
  LLVMTypeRef t = LLVMTypeOf(x);
  x = emit_intrinsic(e, p->b, "llvm.smax", 1, &t, 2, (LLVMValueRef[]){x, LLVMConstInt(t, (uint64_t)least, 1)});
  return emit_intrinsic(e, p->b, "llvm.smin", 1, &t, 2, (LLVMValueRef[]){x, LLVMConstInt(t, (uint64_t)most, 1)});
}

LLVMValueRef emit_brought(Emit *e, Place *p, LLVMValueRef x, LLVMValueRef lo, LLVMValueRef hi) {
  ValueKey k = {KEY_START, (uintptr_t)x, (uintptr_t)lo, (uintptr_t)hi};
  LLVMValueRef v = value_get(&p->seen, k);
  if (!v) {
    v = e->target->first_lane(e, p->b, emit_clamp(e, p, x, lo, hi));
    value_put(e->arena, &p->seen, k, v);
  }
  return v;
}

/* `x` relative to `start`, in 32 bits, clamped to -most..most; at `p`. */
static LLVMValueRef seen_from(Emit *e, Place *p, LLVMValueRef x, LLVMValueRef start, int64_t most) {
  ValueKey k = {KEY_SEEN, (uintptr_t)x, (uintptr_t)start, (uintptr_t)most};
  LLVMValueRef v = value_get(&p->seen, k);
  if (!v) {
    v = emit_cut(e, p, emit_int(e, p, LLVMSub, x, start), -most, most);
    v = e->target->first_lane(e, p->b, LLVMBuildTrunc(p->b, v, e->i32, ""));
    value_put(e->arena, &p->seen, k, v);
  }
  return v;
}

/* With the row `start`, x is mapped as start + (x - start mapped into lo - start..hi - start). The first of these
 * bounds is not above 0, the second not below it (of an empty field both are 0 or below, and the first holds). So rows
 * that are at most MOST_ROWS before `same`, and fewer after it, come out right if the bounds are clamped to 32 bits,
 * and if `same` is clamped to MOST_ROWS from `start`: where it is clamped, x is beyond the bound, too. The sum of the
 * two fits 32 bits: it is from -2 MOST_ROWS to 2 MOST_ROWS - 1. */
LLVMValueRef emit_brought_row(Emit *e, const Op *op, LLVMValueRef lo, LLVMValueRef hi) {
  EmitLoop *w = e->inner;
  RowSum row;
  if (!e->target->first_lane || !w || op->results[0]->type != TY_I64 ||
      !emit_row_sum(e, &w->start, op->operands[0], w->loop, &row) || !row.same)
    return NULL;
  LLVMValueRef x = emit_value(e, row.changes);
  int64_t c = row.c + op->off[0];
  Range r = emit_range(e, x);
  if (c < -MOST_ROWS || c > MOST_ROWS || r.lo + c < -MOST_ROWS || r.hi + c >= MOST_ROWS)
    return NULL;
  LLVMBuilderRef b = e->here.b;
  LLVMValueRef start = emit_brought(e, &w->start, row.same, lo, hi),
               same = seen_from(e, &w->start, row.same, start, MOST_ROWS),
               least = seen_from(e, &w->start, lo, start, INT32_MAX),
               most = seen_from(e, &w->start, hi, start, INT32_MAX);
  x = LLVMBuildAdd(b, LLVMBuildAdd(b, x, LLVMConstInt(e->i32, (uint64_t)c, 1), ""), same, "");
  x = emit_intrinsic(e, b, "llvm.smin", 1, &e->i32, 2, (LLVMValueRef[]){x, most});
  x = emit_intrinsic(e, b, "llvm.smax", 1, &e->i32, 2, (LLVMValueRef[]){x, least});
  return LLVMBuildAdd(b, start, LLVMBuildSExt(b, x, e->i64, ""), "");
}
