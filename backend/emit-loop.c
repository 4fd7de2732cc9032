/* backend/emit-loop.c: which values stay the same in a loop; and addresses that a loop advances evenly.
 *
 * A loop whose steps are unrolled accesses rows base + t + u, with t of the round and a constant u for each step. Their
 * addresses differ by multiples of the row's stride, which only the launch knows: LLVM would make each of them a
 * variable of the loop, two registers each, or keep all multiples of the stride. Here all accesses from one cell to
 * buffers of the same layout share one address, a *runner*, which advances by a row at each step; other buffers, rows
 * and lines are at distances from it that are the same in the loop and for all threads. LLVM must not see through that:
 * Target.hidden_add hides the additions from it, so LLVM does not know from which pointer another one comes. */
#include "backend/emit.h"

/* The greatest number that can alternate. */
enum { MOST_TURN = 1 << 20 };
/* The key of pointers that follow a runner. */
enum { KEY_FOLLOW = 4000 };

/* The innermost loop around `b`, NULL if there is none. */
const Op *emit_loop_about(const Block *b) {
  while (b && b->parent && b->parent->code != OP_FOR)
    b = b->parent->parent;
  return b ? b->parent : NULL;
}

/* The block in which `v` is defined. */
static const Block *home_of(const Value *v) { return v->def ? v->def->parent : v->block; }

bool emit_is_outside(const Value *v, const Op *loop) { return !block_is_within(home_of(v), loop); }

bool emit_is_invariant(const Value *v, const Op *loop, int depth) {
  if (!block_is_within(home_of(v), loop))
    return true;
  if (!v->def || v->def->nblocks || depth == 0 || !(op_info[v->def->code].flags & OPF_PURE))
    return false;
  for (int i = 0; i < v->def->noperands; i++)
    if (!emit_is_invariant(v->def->operands[i], loop, depth - 1))
      return false;
  return true;
}

/* ---------------------------------------------------------------- loops */

void emit_open_loop(Emit *e, EmitLoop *w, const Op *loop, LLVMBasicBlockRef before, LLVMBasicBlockRef head) {
  *w = (EmitLoop){.about = e->inner,
                  .loop = loop,
                  .before = before,
                  .head = head,
                  .accesses = -1,
                  .start = {.b = LLVMCreateBuilderInContext(e->context)},
                  .chain = LLVMCreateBuilderInContext(e->context)};
  LLVMPositionBuilderBefore(w->start.b, LLVMGetBasicBlockTerminator(before));
  e->inner = w;
}

/* The bytes that `rows` rows of `buffer` take. */
static LLVMValueRef rows_bytes(Emit *e, int buffer, int64_t rows) {
  LLVMValueRef size = emit_i64(e, type_size(buffer_type(e->m, buffer)));
  return emit_int(e, &e->entry, LLVMMul, emit_int(e, &e->entry, LLVMMul, e->buffers[buffer].stride[0], size),
                  emit_i64(e, rows));
}

void emit_close_loop(Emit *e, LLVMBasicBlockRef latch) {
  EmitLoop *w = e->inner;
  for (int i = 0; i < w->n; i++) {
    Runner *r = &w->runners[i];
    int64_t rows = r->first + w->loop->off[0] - r->row;
    LLVMValueRef next = rows ? e->target->hidden_add(e, e->here.b, r->last, rows_bytes(e, r->buffer, rows)) : r->last;
    LLVMAddIncoming(r->phi, &next, &latch, 1);
  }
  for (int i = 0; i < w->nturns; i++) {
    const Turn *turn = &w->turns[i];
    LLVMValueRef next =
        LLVMBuildSub(e->here.b,
                     LLVMConstInt(LLVMTypeOf(turn->phi), (unsigned long long)(turn->value[0] + turn->value[1]), 1),
                     turn->phi, "");
    LLVMAddIncoming(turn->phi, &next, &latch, 1);
  }
  LLVMDisposeBuilder(w->start.b);
  LLVMDisposeBuilder(w->chain);
  e->inner = w->about;
}

void emit_fork_loop(Emit *e, LLVMValueRef branch, bool inside) {
  if (!e->inner || (inside ? e->inner->fork != NULL : e->inner->fork != branch))
    return;
  e->inner->fork = inside ? branch : NULL;
}

/* ---------------------------------------------------------------- coordinates */

/* Is integer `v` known not to have wrapped, so that it is the same number in a wider type? */
static bool is_exact(Emit *e, const EmitLoop *w, const Value *v) {
  if (v->type == TY_I64 || v == w->loop->blocks[0]->args[0])
    return true;
  Range r = emit_range(e, emit_value(e, v));
  int64_t most = (INT64_C(1) << (8 * type_size(v->type) - 1)) - 1;
  return type_is_unsigned(v->type) ? r.lo >= 0 : r.lo > -most - 1 || r.hi < most;
}

/* The growth of `v` from one round of loop `w` to the next, as a multiple of the growth of the loop's number. False if
 * it is not known. */
static bool growth_of(Emit *e, const EmitLoop *w, const Value *v, int64_t *growth) {
  int64_t x = 0, y = 0;
  *growth = 0;
  if (!block_is_within(home_of(v), w->loop) || LLVMIsAConstant(emit_value(e, v)))
    return true;
  if (v == w->loop->blocks[0]->args[0]) {
    *growth = 1;
    return true;
  }
  const Op *op = v->def;
  if (!op || (op->code != OP_ADD && op->code != OP_SUB && op->code != OP_CONVERT))
    return false;
  if (!type_is_int(op->operands[0]->type) ||
      (op->code == OP_CONVERT &&
       !is_exact(e, w, type_size(v->type) < type_size(op->operands[0]->type) ? v : op->operands[0])))
    return false;
  if (!growth_of(e, w, op->operands[0], &x) || (op->noperands > 1 && !growth_of(e, w, op->operands[1], &y)))
    return false;
  *growth = op->code == OP_SUB ? x - y : x + y;
  return true;
}

/* The value of `v`, whose growth is known, in the loop's first round, computed before the loop. */
static LLVMValueRef start_of(Emit *e, EmitLoop *w, const Value *v) {
  if (v == w->loop->blocks[0]->args[0])
    return emit_value(e, w->loop->operands[0]);
  if (!block_is_within(home_of(v), w->loop) || LLVMIsAConstant(emit_value(e, v)))
    return emit_value(e, v);
  LLVMValueRef x = start_of(e, w, v->def->operands[0]);
  if (v->def->code == OP_CONVERT)
    return emit_int_cast(e, &w->start, x, emit_type(e, v->type));
  return emit_int(e, &w->start, v->def->code == OP_ADD ? LLVMAdd : LLVMSub, x, start_of(e, w, v->def->operands[1]));
}

/* ---------------------------------------------------------------- runners */

/* Do two buffers have the same layout? */
static bool same_layout(const Emit *e, int x, int y) {
  bool same = buffer_rank(e->m, x) == buffer_rank(e->m, y) &&
              type_size(buffer_type(e->m, x)) == type_size(buffer_type(e->m, y));
  for (int d = 0; d < MAX_RANK; d++)
    same &= e->buffers[x].stride[d] == e->buffers[y].stride[d];
  return same;
}

/* The runner for accesses to buffers with the layout of `buffer`, from the cell base[0], base[1], ...; NULL if there is
 * none. */
static Runner *find_runner(const Emit *e, EmitLoop *w, int buffer, const LLVMValueRef *base) {
  for (int i = 0; i < w->n; i++) {
    Runner *r = &w->runners[i];
    bool same = same_layout(e, r->buffer, buffer);
    for (int d = 0; d < MAX_RANK; d++)
      same &= r->base[d] == base[d];
    if (same)
      return r;
  }
  return NULL;
}

/* Makes such a runner, at row `row`. */
static Runner *make_runner(Emit *e, EmitLoop *w, int buffer, const LLVMValueRef *base, int64_t row) {
  const BufferValue *b = &e->buffers[buffer];
  LLVMTypeRef t = emit_memory_type(e, buffer_type(e->m, buffer));
  Runner r = {.buffer = buffer, .first = row, .row = row};
  LLVMValueRef index =
      emit_int(e, &w->start, LLVMMul, emit_int(e, &w->start, LLVMAdd, base[0], emit_i64(e, row)), b->stride[0]);
  for (int d = 0; d < MAX_RANK; d++)
    r.base[d] = base[d];
  for (int d = 1; d < buffer_rank(e->m, buffer); d++)
    index = emit_int(e, &w->start, LLVMAdd, index, emit_int(e, &w->start, LLVMMul, base[d], b->stride[d]));
  LLVMValueRef p = LLVMBuildGEP2(w->start.b, t, b->origin, &index, 1, "");
  LLVMPositionBuilderBefore(w->chain, LLVMGetFirstInstruction(w->head));
  r.phi = r.last = LLVMBuildPhi(w->chain, LLVMTypeOf(p), "");
  LLVMAddIncoming(r.phi, &p, &w->before, 1);
  ARENA_PUSH(e->arena, w->runners, w->n, r);
  return &w->runners[w->n - 1];
}

/* Advances `r` to the next row at the end of the loop's body as emitted so far, outside of ifs. */
static void move_runner(Emit *e, EmitLoop *w, Runner *r) {
  if (w->fork)
    LLVMPositionBuilderBefore(w->chain, w->fork);
  else
    LLVMPositionBuilderAtEnd(w->chain, LLVMGetInsertBlock(e->here.b));
  r->last = e->target->hidden_add(e, w->chain, r->last, rows_bytes(e, r->buffer, 1));
  r->row++;
}

/* The bytes from the origin of buffer `from` to that of `to`, computed from their arguments: the distance of both
 * origins from these is mostly the same and then cancels. ptxas 13.0 computes (-12 y - (p + 12 y)) + (q + 12 y), which
 * is q - p - 12 y, wrongly where 12 y is computed from -3 y. */
static LLVMValueRef origin_distance(Emit *e, int from, int to) {
  const BufferValue *a = &e->buffers[from], *b = &e->buffers[to];
  LLVMValueRef begin = LLVMBuildPtrToInt(e->entry.b, a->start, e->i64, ""),
               end = LLVMBuildPtrToInt(e->entry.b, b->start, e->i64, "");
  LLVMValueRef size = emit_i64(e, type_size(buffer_type(e->m, to)));
  LLVMValueRef shift = LLVMBuildSub(e->entry.b, b->shift, a->shift, "");
  return LLVMBuildAdd(e->entry.b, LLVMBuildSub(e->entry.b, end, begin, ""), LLVMBuildMul(e->entry.b, shift, size, ""),
                      "");
}

/* The pointer to row `row` of `buffer`, which lies a constant number of bytes from the present pointer of `r`. */
static LLVMValueRef follow(Emit *e, const Runner *r, int buffer, int64_t row) {
  ValueKey k = {KEY_FOLLOW, (uintptr_t)r->last, (uintptr_t)buffer, (uintptr_t)row};
  LLVMValueRef p = value_get(&e->here.seen, k), bytes = rows_bytes(e, buffer, row - r->row);
  if (p || (buffer == r->buffer && row == r->row))
    return p ? p : r->last;
  if (buffer != r->buffer)
    bytes = LLVMBuildAdd(e->entry.b, bytes, origin_distance(e, r->buffer, buffer), "");
  p = e->target->hidden_add(e, e->here.b, r->last, bytes);
  value_put(e->arena, &e->here.seen, k, p);
  return p;
}

LLVMValueRef emit_running(Emit *e, int buffer, Value *const *coords, const int64_t *off, int64_t *rest) {
  EmitLoop *w = e->inner;
  LLVMValueRef base[MAX_RANK] = {NULL};
  int rank = buffer_rank(e->m, buffer);
  int64_t growth;
  if (!e->target->hidden_add || !w || rank < 2)
    return NULL;
  for (int d = 0; d < rank; d++)
    if (!is_exact(e, w, coords[d]) || !growth_of(e, w, coords[d], &growth) || growth != (d == 0))
      return NULL;
  for (int d = 0; d < rank; d++) {
    BaseOffset x = emit_linear(e, emit_int_cast(e, &w->start, start_of(e, w, coords[d]), e->i64));
    base[d] = x.base;
    rest[d] = (int64_t)((uint64_t)x.c + (uint64_t)off[d]);
  }
  Runner *r = find_runner(e, w, buffer, base);
  int64_t row = rest[0];
  rest[0] = 0;
  r = r ? r : make_runner(e, w, buffer, base, row);
  if (r->buffer == buffer && row == r->row + 1)
    move_runner(e, w, r);
  return follow(e, r, buffer, row);
}

/* ---------------------------------------------------------------- numbers that alternate */

/* The number of type `t` that is x in the first round of `w`, y in the second, x in the third. */
static LLVMValueRef turn_of(Emit *e, EmitLoop *w, LLVMTypeRef t, int64_t x, int64_t y) {
  for (int i = 0; i < w->nturns; i++)
    if (LLVMTypeOf(w->turns[i].phi) == t && w->turns[i].value[0] == x && w->turns[i].value[1] == y)
      return w->turns[i].phi;
  Turn turn = {.value = {x, y}};
  LLVMValueRef start = LLVMConstInt(t, (unsigned long long)x, 1);
  LLVMPositionBuilderBefore(w->chain, LLVMGetFirstInstruction(w->head));
  turn.phi = LLVMBuildPhi(w->chain, t, "");
  LLVMAddIncoming(turn.phi, &start, &w->before, 1);
  emit_set_range(e, turn.phi, x < y ? x : y, x < y ? y : x);
  ARENA_PUSH(e->arena, w->turns, w->nturns, turn);
  return turn.phi;
}

LLVMValueRef emit_turn(Emit *e, const Op *op) {
  EmitLoop *w = e->inner;
  int64_t growth;
  if (!e->target->hidden_add || !w || !type_is_int(op->results[0]->type) ||
      !growth_of(e, w, op->operands[0], &growth) || growth != 1)
    return NULL;
  LLVMValueRef x = start_of(e, w, op->operands[0]), y = emit_value(e, op->operands[1]);
  if (!LLVMIsAConstantInt(x) || !LLVMIsAConstantInt(y) || emit_range(e, emit_value(e, op->operands[0])).lo < 0)
    return NULL;
  int64_t by = w->loop->off[0], start = LLVMConstIntGetSExtValue(x), n = LLVMConstIntGetSExtValue(y);
  if (by > MOST_TURN || n != 2 * by)
    return NULL;
  return turn_of(e, w, emit_type(e, op->results[0]->type), start % n, (start % n + by) % n);
}
