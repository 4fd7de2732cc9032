/* backend/emit-lane.c: addresses as a base that is the same for all threads of a wave and an offset of 32 bits that
 * each thread has of its own, for targets whose loads and stores take both.
 *
 * Kernels make the last coordinate of a place as a sum of what the block gives and the extension of what the thread
 * gives, whose range is known. Only where that range shows that the bytes fit, and no other coordinate depends on the
 * thread (its stride is known at launch only), is the address made so. */
#include "backend/emit.h"

enum { KEY_LANE = 4000, KEY_ROW };
/* How far sums are followed, the most bytes that an offset may come to; accesses of a loop from which on their pointers
 * are too many. */
enum { DEEPEST = 8, MOST_BYTES = INT32_MAX / 2, MANY_ACCESSES = 32 };

bool emit_lines_are_waves(const Emit *e) {
  int32_t lanes = e->target->info.lanes;
  return e->target->keep_offset && lanes > 0 && e->k->threads[e->k->rank - 1] % lanes == 0;
}

/* What emit_is_threads knows of a value. */
static char same_for_all, differs;

/* May `v` differ between threads of a wave? Found out: by the start of a loop for its index, by its operands for what
 * is computed. */
static bool find_threads(Emit *e, const Value *v) {
  const Op *def = v->def;
  if (!def) {
    const Op *loop = v->block ? v->block->parent : NULL;
    return !loop || loop->code != OP_FOR || v->index > 0 || emit_is_threads(e, loop->operands[0]);
  }
  if (def->code == OP_THREAD)
    return def->sym == e->k->rank - 1 || !emit_lines_are_waves(e);
  if (def->nblocks || !(op_info[def->code].flags & OPF_PURE))
    return true;
  for (int i = 0; i < def->noperands; i++)
    if (emit_is_threads(e, def->operands[i]))
      return true;
  return false;
}

bool emit_is_threads(Emit *e, const Value *v) {
  const char *known = ptrmap_get(&e->threads, v);
  if (!known) {
    known = find_threads(e, v) ? &differs : &same_for_all;
    ptrmap_put(e->arena, &e->threads, v, (void *)known);
  }
  return known == &differs;
}

/* Is `v` an i64 made of an i32 that is never negative and, times `size`, small enough? Then *offset is that i32's base,
 * *c its constant. */
static bool is_offset(Emit *e, const Value *v, int size, LLVMValueRef *offset, int64_t *c) {
  if (!v->def || v->def->code != OP_CONVERT || v->type != TY_I64 || v->def->operands[0]->type != TY_I32)
    return false;
  LLVMValueRef whole = emit_value(e, v->def->operands[0]);
  Linear l = emit_linear(e, whole);
  if (!l.exact || emit_range(e, l.base).lo < 0)
    l = (Linear){whole, 0, true};
  Range r = emit_range(e, l.base);
  *offset = l.base;
  *c = l.c;
  return r.lo >= 0 && r.hi <= MOST_BYTES / size;
}

/* Parts the sum `v` into an offset and the rest: *uniform is the rest, NULL for zero. */
static bool part(Emit *e, const Value *v, int size, const Value **uniform, LLVMValueRef *offset, int64_t *c) {
  *uniform = NULL;
  if (is_offset(e, v, size, offset, c))
    return true;
  if (!v->def || v->def->code != OP_ADD)
    return false;
  for (int i = 0; i < 2; i++)
    if (is_offset(e, v->def->operands[i], size, offset, c) && !emit_is_threads(e, v->def->operands[1 - i])) {
      *uniform = v->def->operands[1 - i];
      return true;
    }
  return false;
}

bool emit_part_lane(Emit *e, int buffer, Value *const *coords, LaneAddress *out) {
  int rank = buffer_rank(e->m, buffer), size = type_size(buffer_type(e->m, buffer));
  const Value *uniform;
  LLVMValueRef offset;
  if (!e->target->keep_offset)
    return false;
  for (int d = 0; d < rank - 1; d++)
    if (emit_is_threads(e, coords[d]))
      return false;
  if (!part(e, coords[rank - 1], size, &uniform, &offset, &out->c) || LLVMIsAConstant(offset))
    return false;
  out->uniform = uniform ? emit_int_cast(e, &e->here, emit_value(e, uniform), e->i64) : emit_i64(e, 0);
  ValueKey k = {KEY_LANE, (uintptr_t)offset, (uintptr_t)size, (uintptr_t)LLVMGetInsertBlock(e->here.b)};
  out->bytes = value_get(&e->here.seen, k);
  if (out->bytes)
    return true;
  LLVMValueRef bytes = emit_int(e, &e->here, LLVMMul, offset, LLVMConstInt(e->i32, (unsigned)size, 0));
  out->bytes = LLVMBuildZExt(e->here.b, e->target->keep_offset(e, bytes), e->i64, "");
  value_put(e->arena, &e->here.seen, k, out->bytes);
  return true;
}

/* Counts what wants scalar registers: accesses to global memory and tests of coordinates (a block_walk callback). */
static void count_access(void *user, Op *op) {
  *(int *)user += op_buffer_read(op) >= 0 || op_buffer_written(op) >= 0 || op->code == OP_INSIDE;
}

/* Has the innermost loop many of those? */
static bool has_many(Emit *e) {
  Walk *w = e->walk;
  if (w && w->accesses < 0) {
    w->accesses = 0;
    block_walk(w->loop->blocks[0], count_access, &w->accesses);
  }
  return w && w->accesses >= MANY_ACCESSES;
}

Linear emit_lane_row(Emit *e, const Value *v, Linear l) {
  if (!e->target->renew || !has_many(e) || emit_is_invariant(v, e->walk->loop, DEEPEST))
    return l;
  ValueKey k = {KEY_ROW, (uintptr_t)l.base, (uintptr_t)l.c, (uintptr_t)LLVMGetInsertBlock(e->here.b)};
  LLVMValueRef row = value_get(&e->here.seen, k);
  if (!row) {
    row = e->target->renew(e, emit_int(e, &e->here, LLVMAdd, l.base, emit_i64(e, l.c)), 0);
    value_put(e->arena, &e->here.seen, k, row);
  }
  return (Linear){row, 0, true};
}
