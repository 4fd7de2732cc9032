/* backend/emit.c: modules, kernels and structure. A kernel is one function of LLVM IR: an entry block for values that
 * are constant during the launch, then the body, in which `for` and `if` become branches and phis, and `for ... unroll`
 * is replicated with its induction value as a constant. */
#include "backend/nests.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

/* A loop that would be replicated more often than this stays a loop: replicating it would only make code. */
enum { MAX_UNROLL = 4096 };
/* Masked rounds of more ops than this are computed one by one: LLVM takes half as long again for vectors of them (1.1 s
 * in place of 0.7 for 3500 ops, which 441 accesses beyond edges are). */
enum { MOST_MASKED_OPS = 1500 };
/* More blocks than any launch has along a dimension. */
#define MAX_BLOCKS (INT64_C(1) << 40)

static void emit_block(Emit *e, const Block *b);
static LLVMValueRef emit_op(Emit *e, const Op *op);

/* ---------------------------------------------------------------- values */

/* Sets the LLVM value of `v` to `x`. */
static void set_value(Emit *e, const Value *v, LLVMValueRef x) { ptrmap_put(e->arena, &e->values, v, x); }

/* The kernel argument for scalar `scalar` (KARG_SCALAR) or for the step, in registers. */
static LLVMValueRef argument(Emit *e, KArgKind kind, int scalar) {
  for (int i = 0; i < e->k->nargs; i++)
    if (e->k->args[i].kind == kind && (kind == KARG_STEP || e->k->args[i].index == scalar)) {
      bool is_bool = kind == KARG_SCALAR && e->m->scalars[scalar].type == TY_BOOL;
      return is_bool ? LLVMBuildICmp(e->entry.b, LLVMIntNE, e->args[i], LLVMConstInt(e->i8, 0, 0), "") : e->args[i];
    }
  return LLVMGetPoison(kind == KARG_STEP ? e->i64 : emit_type(e, e->m->scalars[scalar].type));
}

/* `x`, known at launch, in registers at the entry. */
static LLVMValueRef affine_value(Emit *e, Affine x) {
  LLVMValueRef v = emit_i64(e, x.c);
  for (int i = 0; i < x.n; i++) {
    LLVMValueRef scalar = LLVMBuildSExt(e->entry.b, argument(e, KARG_SCALAR, x.t[i].scalar), e->i64, "");
    v = LLVMBuildAdd(e->entry.b, v, LLVMBuildMul(e->entry.b, scalar, emit_i64(e, x.t[i].coef), ""), "");
  }
  return v;
}

/* The block's number along dimension `d`, 0 or 1, of a kernel of four dimensions. The hardware has three, whose z holds
 * both: for each number along dimension 0 all along dimension 1 (kernel_blocks says how many there are). */
static LLVMValueRef shared_block(Emit *e, int d) {
  const Kernel *k = e->k;
  LLVMValueRef both = LLVMBuildZExt(e->entry.b, e->target->block(e, GRID_RANK - 1), e->i32, "");
  if (k->leaves_out)
    return emit_i64(e, 0);
  LLVMValueRef points = affine_value(e, affine_add_const(k->extent[1], k->tile[1] - 1 - k->over[1]));
  LLVMValueRef least = emit_i64(e, k->tile[1]);
  points = LLVMBuildSelect(e->entry.b, LLVMBuildICmp(e->entry.b, LLVMIntSGT, points, least, ""), points, least, "");
  LLVMValueRef n = LLVMBuildUDiv(e->entry.b, points, emit_i64(e, k->tile[1]), "");
  n = LLVMBuildTrunc(e->entry.b, n, e->i32, "");
  LLVMValueRef v = d ? LLVMBuildURem(e->entry.b, both, n, "") : LLVMBuildUDiv(e->entry.b, both, n, "");
  return LLVMBuildZExt(e->entry.b, v, e->i64, "");
}

/* The thread's (block's) number along the program's dimension `d`, computed once a kernel at its entry. */
static LLVMValueRef place_number(Emit *e, Opcode code, int d) {
  ValueKey k = {(uintptr_t)3000 + (uintptr_t)code, (uintptr_t)d, 0, 0};
  LLVMValueRef v = value_get(&e->entry.seen, k);
  int hw = e->k->rank - 1 - d;
  if (v)
    return v;
  if (code == OP_BLOCK && e->block[d])
    v = e->block[d];
  else if (code == OP_BLOCK && e->k->rank > GRID_RANK && hw >= GRID_RANK - 1)
    v = shared_block(e, d);
  else if (code == OP_BLOCK)
    v = LLVMBuildZExt(e->entry.b, e->target->block(e, hw), e->i64, "");
  else
    v = e->k->threads[d] == 1 || !e->target->thread ? LLVMConstInt(e->i32, 0, 0) : e->target->thread(e, hw);
  if (code == OP_THREAD)
    emit_set_range(e, v, 0, e->k->threads[d] - 1);
  else
    emit_set_range(e, v, 0, MAX_BLOCKS);
  value_put(e->arena, &e->entry.seen, k, v);
  return v;
}

/* ---------------------------------------------------------------- structure */

static LLVMBasicBlockRef append_block(Emit *e, const char *name) {
  return LLVMAppendBasicBlockInContext(e->context, e->fn, name);
}

/* If both ends of for `op` are constants, sets *lo and *hi to the range of its induction value. */
static bool constant_bounds(Emit *e, const Op *op, int64_t *lo, int64_t *hi) {
  LLVMValueRef l = emit_value(e, op->operands[0]), h = emit_value(e, op->operands[1]);
  if (!LLVMIsAConstantInt(l) || !LLVMIsAConstantInt(h))
    return false;
  *lo = LLVMConstIntGetSExtValue(l);
  *hi = LLVMConstIntGetSExtValue(h);
  return true;
}

/* A `for` whose iterations are unrolled, from lo up to hi. */
static void emit_unrolled(Emit *e, const Op *op, int64_t lo, int64_t hi) {
  const Block *b = op->blocks[0];
  int n = op->nresults;
  LLVMValueRef *carried = ARENA_ARRAY(e->arena, LLVMValueRef, n + 1);
  LLVMTypeRef type = emit_type(e, b->args[0]->type);
  for (int i = 0; i < n; i++)
    carried[i] = emit_value(e, op->operands[2 + i]);
  for (int64_t x = lo, more = lo < hi; more; more = !__builtin_add_overflow(x, op->off[0], &x) && x < hi) {
    set_value(e, b->args[0], LLVMConstInt(type, (unsigned long long)x, 1));
    for (int i = 0; i < n; i++)
      set_value(e, b->args[1 + i], carried[i]);
    emit_block(e, b);
    for (int i = 0; i < n; i++)
      carried[i] = emit_value(e, block_yield(b)->operands[i]);
  }
  for (int i = 0; i < n; i++)
    set_value(e, op->results[i], carried[i]);
}

/* A property of a loop, as its metadata states it. */
static LLVMMetadataRef loop_property(Emit *e, const char *name, LLVMMetadataRef value) {
  LLVMMetadataRef parts[] = {LLVMMDStringInContext2(e->context, name, strlen(name)), value};
  return LLVMMDNodeInContext2(e->context, parts, value ? 2 : 1);
}

/* A property of a loop that is a number. */
static LLVMMetadataRef loop_number(Emit *e, const char *name, LLVMTypeRef type, int value) {
  return loop_property(e, name, LLVMValueAsMetadata(LLVMConstInt(type, (unsigned)value, 0)));
}

/* Marks the branch `latch` of the loop `op`. A parallel loop: its accesses in `group` are independent, and it pays to
 * vectorise it, by e->cells if these are given; if it is masked, all of it, the last vector and the code under
 * conditions by masks. Any other loop (group NULL): vectorising and unrolling would not be worth their code, since such
 * loops go over rows, or over few cells. */
static void mark_loop(Emit *e, const Op *op, LLVMValueRef latch, LLVMMetadataRef group) {
  LLVMContextRef c = e->context;
  LLVMMetadataRef temporary = LLVMTemporaryMDNode(c, NULL, 0), parts[7] = {temporary};
  unsigned n = 3;
  parts[1] = group ? loop_property(e, "llvm.loop.parallel_accesses", group)
                   : loop_property(e, "llvm.loop.unroll.disable", NULL);
  parts[2] = loop_number(e, "llvm.loop.vectorize.enable", e->i1, group != NULL);
  if (group && e->cells) {
    parts[n++] = loop_number(e, "llvm.loop.vectorize.width", e->i32, e->cells);
    parts[n++] = loop_number(e, "llvm.loop.interleave.count", e->i32, 1);
  }
  if (group && (op->flags & FOR_MASKED))
    parts[n++] = loop_number(e, "llvm.loop.vectorize.predicate.enable", e->i1, 1);
  if (op->flags & FOR_APART)
    parts[n++] = loop_property(e, "llvm.licm.disable", NULL);
  LLVMMetadataRef loop = LLVMMDNodeInContext2(c, parts, n);
  LLVMMetadataReplaceAllUsesWith(temporary, loop);
  LLVMSetMetadata(latch, LLVMGetMDKindIDInContext(c, "llvm.loop", 9), LLVMMetadataAsValue(c, loop));
}

/* The phis of a loop at its head: the induction value and the carried values; `from` comes before. */
static void open_phis(Emit *e, const Op *op, LLVMBasicBlockRef from, LLVMValueRef *phis) {
  const Block *b = op->blocks[0];
  for (int i = 0; i < b->nargs; i++) {
    LLVMValueRef start = emit_value(e, i == 0 ? op->operands[0] : op->operands[1 + i]);
    phis[i] = LLVMBuildPhi(e->here.b, LLVMTypeOf(start), "");
    LLVMAddIncoming(phis[i], &start, &from, 1);
    set_value(e, b->args[i], phis[i]);
  }
  Range lo = emit_range(e, emit_value(e, op->operands[0])), hi = emit_range(e, emit_value(e, op->operands[1]));
  if (lo.lo < hi.hi)
    emit_set_range(e, phis[0], lo.lo, hi.hi - 1);
}

/* Ends the loop's body: the next induction value, the test, the branch back to `head` or on to `exit`. Returns the
 * block of the branch. */
static LLVMBasicBlockRef close_loop(Emit *e, const Op *op, LLVMBasicBlockRef head, LLVMBasicBlockRef exit,
                                    LLVMValueRef *phis, LLVMMetadataRef group) {
  LLVMValueRef step = LLVMConstInt(LLVMTypeOf(phis[0]), (unsigned long long)op->off[0], 1),
               hi = emit_value(e, op->operands[1]);
  LLVMValueRef next = LLVMBuildAdd(e->here.b, phis[0], step, "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->here.b);
  if (op->off[0] == 1)
    LLVMSetNSW(next, 1);
  LLVMAddIncoming(phis[0], &next, &latch, 1);
  for (int i = 0; i < op->nresults; i++) {
    LLVMValueRef v = emit_value(e, block_yield(op->blocks[0])->operands[i]);
    LLVMAddIncoming(phis[1 + i], &v, &latch, 1);
  }
  LLVMValueRef branch = LLVMBuildCondBr(e->here.b, LLVMBuildICmp(e->here.b, LLVMIntSLT, next, hi, ""), head, exit);
  mark_loop(e, op, branch, group);
  return latch;
}

/* The results of a loop: the carried values at its exit, or the initial values if it was not entered. */
static void loop_results(Emit *e, const Op *op, LLVMBasicBlockRef before, LLVMBasicBlockRef latch) {
  for (int i = 0; i < op->nresults; i++) {
    LLVMValueRef in[] = {emit_value(e, op->operands[2 + i]), emit_value(e, block_yield(op->blocks[0])->operands[i])};
    LLVMBasicBlockRef from[] = {before, latch};
    LLVMValueRef phi = LLVMBuildPhi(e->here.b, LLVMTypeOf(in[0]), "");
    LLVMAddIncoming(phi, in, from, 2);
    set_value(e, op->results[i], phi);
  }
}

/* Emits the `n` ops at the present place. */
static void emit_ops(Emit *e, const Op *const *ops, int32_t n) {
  for (int i = 0; i < n; i++) {
    LLVMValueRef v = emit_op(e, ops[i]);
    if (v)
      set_value(e, ops[i]->results[0], v);
  }
}

/* At the end of a loop's entry `first`, computes the values that its first round reuses, and goes on to `head`. */
static void emit_first_carries(Emit *e, const Op *op, const Carries *c, LLVMBasicBlockRef first, LLVMBasicBlockRef head,
                               LLVMValueRef *start) {
  int32_t mark = value_mark(&e->here.seen);
  LLVMPositionBuilderAtEnd(e->here.b, first);
  set_value(e, op->blocks[0]->args[0], emit_value(e, op->operands[0]));
  emit_ops(e, c->first, c->nfirst);
  for (int i = 0; i < c->n; i++)
    start[i] = emit_value(e, c->value[i]);
  value_release(&e->here.seen, mark);
  LLVMBuildBr(e->here.b, head);
}

/* The body of a loop whose rounds reuse values of the round before; these are `start` at first and come from `first`
 * then. */
static void emit_carried(Emit *e, const Carries *c, LLVMBasicBlockRef first, LLVMValueRef *start) {
  LLVMValueRef *phi = ARENA_ARRAY(e->arena, LLVMValueRef, c->n);
  for (int i = 0; i < c->n; i++) {
    phi[i] = LLVMBuildPhi(e->here.b, LLVMTypeOf(start[i]), "");
    LLVMAddIncoming(phi[i], &start[i], &first, 1);
    set_value(e, c->value[i], phi[i]);
  }
  emit_ops(e, c->round, c->nround);
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->here.b);
  for (int i = 0; i < c->n; i++) {
    LLVMValueRef next = emit_value(e, c->from[i]);
    LLVMAddIncoming(phi[i], &next, &latch, 1);
  }
}

/* Counts ops (a block_walk callback). */
static void count_op(void *user, Op *op) {
  (void)op;
  ++*(int64_t *)user;
}

/* Is the body of `op`, whose rounds are masked, so long that a vector of them takes LLVM too long? */
static bool too_long_to_mask(const Op *op) {
  int64_t ops = 0;
  block_walk(op->blocks[0], count_op, &ops);
  return ops > MOST_MASKED_OPS;
}

/* A `for` as a loop tested at its end, after a test whether it is entered. */
static void emit_loop(Emit *e, const Op *op) {
  bool masked = (op->flags & FOR_MASKED) != 0;
  bool parallel = (op->flags & FOR_PARALLEL) && e->ngroups < 16 && !(masked && too_long_to_mask(op));
  const Carries *carries = parallel && !masked && e->target->carries ? carries_find(e->arena, op) : NULL;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->here.b), first = carries ? append_block(e, "first") : NULL,
                    head = append_block(e, "loop"), exit = append_block(e, "exit"), entry = carries ? first : before;
  LLVMValueRef lo = emit_value(e, op->operands[0]), hi = emit_value(e, op->operands[1]);
  LLVMValueRef *phis = ARENA_ARRAY(e->arena, LLVMValueRef, op->blocks[0]->nargs),
               *start = ARENA_ARRAY(e->arena, LLVMValueRef, carries ? carries->n : 1);
  LLVMMetadataRef group = parallel ? emit_access_group(e) : NULL;
  LLVMBuildCondBr(e->here.b, LLVMBuildICmp(e->here.b, LLVMIntSLT, lo, hi, ""), carries ? first : head, exit);
  if (carries)
    emit_first_carries(e, op, carries, first, head, start);
  LLVMPositionBuilderAtEnd(e->here.b, head);
  open_phis(e, op, entry, phis);
  if (group)
    e->groups[e->ngroups++] = group;
  int32_t mark = value_mark(&e->here.seen);
  EmitLoop inner;
  emit_open_loop(e, &inner, op, entry, head);
  if (carries)
    emit_carried(e, carries, first, start);
  else
    emit_block(e, op->blocks[0]);
  emit_close_loop(e, LLVMGetInsertBlock(e->here.b));
  value_release(&e->here.seen, mark);
  e->ngroups -= group != NULL;
  LLVMBasicBlockRef latch = close_loop(e, op, head, exit, phis, group);
  LLVMPositionBuilderAtEnd(e->here.b, exit);
  loop_results(e, op, before, latch);
}

static void emit_for(Emit *e, const Op *op) {
  int64_t lo, hi, length;
  bool unroll =
      (op->flags & FOR_UNROLL) && constant_bounds(e, op, &lo, &hi) && !__builtin_sub_overflow(hi, lo, &length);
  if (unroll && length / op->off[0] <= MAX_UNROLL)
    emit_unrolled(e, op, lo, hi);
  else if (!emit_nest(e, op))
    emit_loop(e, op);
}

/* Is `op` an `if` without results whose second arm does nothing? */
static bool is_lone(const Op *op) {
  return op && op->code == OP_IF && !op->nresults && op->blocks[1]->first == block_yield(op->blocks[1]);
}

/* The `if` after `if` `op` with the same condition, which is emitted in the same branch where predicates are masks: a
 * branch ends the region for which LLVM allocates registers at a time. NULL if there is none. */
static const Op *same_fork(const Emit *e, const Op *op) {
  const Op *next = op ? op->next : NULL;
  bool same = e->target->renew && is_lone(op) && is_lone(next) && next->operands[0] == op->operands[0];
  return same ? next : NULL;
}

/* Was the `if` `op` emitted together with the one before it? */
static bool is_joined(const Emit *e, const Op *op) { return op->prev && same_fork(e, op->prev) == op; }

/* Keeps LLVM from sinking stored values, and all code before them, into the branch of `if` `op` to their stores: their
 * operands would stay live until there. This is done for selects between old and new values, and for f32 values that
 * may be one of a pair. Values from outside of the block of `op` stay as they are, for not all of their users come
 * after `op`. */
static void settle_stored(Emit *e, const Op *op) {
  const Block *arm = op->blocks[0];
  for (const Op *to = arm->first; to && e->target->settle; to = to->next)
    for (int i = 0; (to->code == OP_STORE || to->code == OP_VSTORE) && i < op_elements(to); i++) {
      const Value *v = to->operands[i];
      bool chosen = v->def && v->def->parent == op->parent &&
                    (v->def->code == OP_SELECT || (e->target->packs_f32 && v->type == TY_F32));
      if (chosen && v->type != TY_BOOL && type_size(v->type) >= 4)
        set_value(e, v, e->target->settle(e, emit_value(e, v)));
    }
}

/* Arm `i` of `if` `op`, ending in a branch to `merge`; the first arm includes those of ifs with the same condition.
 * Returns its last block. */
static LLVMBasicBlockRef emit_arm(Emit *e, const Op *op, int i, LLVMBasicBlockRef start, LLVMBasicBlockRef merge) {
  int32_t mark = value_mark(&e->here.seen);
  LLVMPositionBuilderAtEnd(e->here.b, start);
  for (; op; op = i == 0 ? same_fork(e, op) : NULL)
    emit_block(e, op->blocks[i]);
  value_release(&e->here.seen, mark);
  LLVMBasicBlockRef last = LLVMGetInsertBlock(e->here.b);
  LLVMBuildBr(e->here.b, merge);
  return last;
}

/* Marks a branch as one that nearly always takes the first way: otherwise LLVM makes selects of short branches, and
 * computes both. */
static void mark_likely(Emit *e, LLVMValueRef fork) {
  LLVMMetadataRef parts[] = {LLVMMDStringInContext2(e->context, "branch_weights", strlen("branch_weights")),
                             LLVMValueAsMetadata(LLVMConstInt(e->i32, 1 << 20, 0)),
                             LLVMValueAsMetadata(LLVMConstInt(e->i32, 1, 0))};
  LLVMSetMetadata(fork, LLVMGetMDKindIDInContext(e->context, "prof", 4),
                  LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, parts, 3)));
}

static void emit_if(Emit *e, const Op *op) {
  LLVMBasicBlockRef start[2] = {append_block(e, "then"), append_block(e, "else")}, merge = append_block(e, "merge"),
                    last[2];
  for (const Op *o = op; o; o = same_fork(e, o))
    settle_stored(e, o);
  LLVMValueRef fork = LLVMBuildCondBr(e->here.b, emit_value(e, op->operands[0]), start[0], start[1]);
  if (value_is_guard(op->operands[0]))
    mark_likely(e, fork);
  emit_fork_loop(e, fork, true);
  for (int i = 0; i < 2; i++)
    last[i] = emit_arm(e, op, i, start[i], merge);
  emit_fork_loop(e, fork, false);
  LLVMPositionBuilderAtEnd(e->here.b, merge);
  for (int i = 0; i < op->nresults; i++) {
    LLVMValueRef in[2] = {emit_value(e, block_yield(op->blocks[0])->operands[i]),
                          emit_value(e, block_yield(op->blocks[1])->operands[i])};
    LLVMValueRef phi = LLVMBuildPhi(e->here.b, LLVMTypeOf(in[0]), "");
    LLVMAddIncoming(phi, in, last, 2);
    set_value(e, op->results[i], phi);
  }
}

/* Value `x` of 32 bits or fewer as i32 bits, taken from the lane to which shuffle `op` leads, and converted back. */
static LLVMValueRef trade_bits(Emit *e, const Op *op, LLVMValueRef x) {
  LLVMTypeRef t = LLVMTypeOf(x);
  LLVMValueRef wide = LLVMBuildZExt(e->here.b, x, e->i32, "");
  return LLVMBuildTrunc(e->here.b, e->target->shuffle(e, op->code, wide, (int)op->off[0]), t, "");
}

/* A shuffle of any kind, by 32-bit integers: by two for 64 bits. */
static LLVMValueRef emit_shuffle(Emit *e, const Op *op) {
  LLVMValueRef x = emit_value(e, op->operands[0]);
  LLVMTypeRef t = LLVMTypeOf(x);
  int bits = op->operands[0]->type == TY_BOOL ? 1 : 8 * type_size(op->operands[0]->type);
  if (bits <= 32)
    return LLVMBuildBitCast(
        e->here.b,
        trade_bits(e, op, LLVMBuildBitCast(e->here.b, x, LLVMIntTypeInContext(e->context, (unsigned)bits), "")), t, "");
  LLVMTypeRef pair = LLVMVectorType(e->i32, 2);
  LLVMValueRef in = LLVMBuildBitCast(e->here.b, x, pair, ""), out = LLVMGetPoison(pair);
  for (unsigned i = 0; i < 2; i++) {
    LLVMValueRef at = LLVMConstInt(e->i32, i, 0);
    LLVMValueRef half =
        e->target->shuffle(e, op->code, LLVMBuildExtractElement(e->here.b, in, at, ""), (int)op->off[0]);
    out = LLVMBuildInsertElement(e->here.b, out, half, at, "");
  }
  return LLVMBuildBitCast(e->here.b, out, t, "");
}

/* An op that loads several values. */
static void emit_many(Emit *e, const Op *op) {
  LLVMValueRef *values = ARENA_ARRAY(e->arena, LLVMValueRef, op->nresults);
  emit_vload(e, op, values);
  for (int i = 0; i < op->nresults; i++)
    set_value(e, op->results[i], values[i]);
}

static void emit_barrier(Emit *e) {
  if (e->target->barrier)
    e->target->barrier(e);
}

static void emit_near_barrier(Emit *e) {
  if (e->target->near_barrier)
    e->target->near_barrier(e);
  else
    emit_barrier(e);
}

/* The result of op `op`; NULL for an op without a result, or with several. */
static LLVMValueRef emit_op(Emit *e, const Op *op) {
  LLVMValueRef v;
  switch (op->code) {
  case OP_CONST: return emit_const(e, op->results[0]->type, op->cval);
  case OP_SCALAR: return argument(e, KARG_SCALAR, op->sym);
  case OP_STEP: return argument(e, KARG_STEP, 0);
  case OP_THREAD:
  case OP_BLOCK: return place_number(e, op->code, op->sym);
  case OP_INSIDE: return emit_inside(e, op, ~0u);
  case OP_SELECT: return emit_select(e, op);
  case COORDINATE_MAPS: return emit_map(e, op);
  case OP_LOAD: return emit_load(e, op);
  case OP_ALOAD: return emit_aload(e, op);
  case OP_STORE: emit_store(e, op); return NULL;
  case OP_ASTORE: emit_astore(e, op); return NULL;
  case OP_BARRIER: emit_barrier(e); return NULL;
  case OP_BARRIER_NEAR: emit_near_barrier(e); return NULL;
  case OP_DIV_WIDE:
  case OP_DIV_RANGED:
  case OP_DIV_ROOT_RANGED:
  case OP_SQRT_RANGED: return emit_ranged(e, op);
  case OP_VLOAD:
  case OP_AVLOAD: emit_many(e, op); return NULL;
  case OP_VSTORE:
  case OP_AVSTORE: emit_vstore(e, op); return NULL;
  case OP_ASYNC_COPY: emit_async_copy(e, op); return NULL;
  case OP_ASYNC_COMMIT: e->target->async_commit(e); return NULL;
  case OP_ASYNC_WAIT: e->target->async_wait(e, op->count); return NULL;
  case OP_SIGNAL_INIT:
  case OP_SIGNAL_ARRIVE:
  case OP_SIGNAL_EXPECT:
  case OP_SIGNAL_WAIT: emit_signal(e, op); return NULL;
  case OP_BULK_LOAD:
  case OP_BULK_STORE: emit_bulk(e, op); return NULL;
  case OP_BULK_PREFETCH: emit_prefetch(e, op); return NULL;
  case OP_BULK_COMMIT: e->target->warps->bulk_commit(e); return NULL;
  case OP_BULK_WAIT: e->target->warps->bulk_wait(e, op->count); return NULL;
  case OP_FENCE_ASYNC: e->target->warps->fence(e); return NULL;
  case OP_BARRIER_WARP: e->target->warps->barrier(e); return NULL;
  case OP_CLUSTER_RANK: return e->target->warps->rank(e);
  case OP_BARRIER_CLUSTER: e->target->warps->barrier_cluster(e); return NULL;
  case OP_CLUSTER_STORE: emit_send(e, op); return NULL;
  case OP_ELECT: return e->target->warps->elect(e);
  case OP_REGISTERS_LESS:
  case OP_REGISTERS_MORE: e->target->warps->registers(e, op->code == OP_REGISTERS_MORE, op->count); return NULL;
  case OP_UNIFORM:
  case OP_SHUFFLE:
  case OP_SHUFFLE_UP:
  case OP_SHUFFLE_DOWN: return emit_shuffle(e, op);
  case OP_REM: v = emit_turn(e, op); return v ? v : emit_arith(e, op);
  case OP_FOR: emit_for(e, op); return NULL;
  case OP_IF: emit_if(e, op); return NULL;
  case OP_YIELD: return NULL;
  default: return emit_arith(e, op);
  }
}

/* Emits the ops of `b` at the present place; guards are made where they are used. */
static void emit_block(Emit *e, const Block *b) {
  for (const Op *op = b->first; op; op = op->next) {
    if (op->code == OP_SIGNAL_WAIT && op->next && op->next->code == OP_SIGNAL_WAIT) {
      emit_waits(e, op, op->next);
      op = op->next;
      continue;
    }
    bool later = op->nresults == 1 && value_is_guard(op->results[0]);
    LLVMValueRef v = later || is_joined(e, op) ? NULL : emit_op(e, op);
    if (v)
      set_value(e, op->results[0], v);
  }
}

/* ---------------------------------------------------------------- modules */

/* Does `k` write partial values, or a number that is kept from step to step? */
static bool makes_scalars(const Module *m, const Kernel *k) {
  for (int i = 0; i < k->nargs; i++) {
    const Buffer *b = k->args[i].kind == KARG_BUFFER && k->args[i].writes ? &m->buffers[k->args[i].index] : NULL;
    if (b && (b->kind == BUFFER_SCRATCH || (b->kind == BUFFER_PARAM && m->param_arrays[b->field].role == ARRAY_STATE)))
      return true;
  }
  return false;
}

/* Is kernel `k` launched by a reduction, possibly in place of the kernel that the reduction names, or by an update? */
static bool is_reducing(const Module *m, const Kernel *k) {
  if (makes_scalars(m, k))
    return true;
  for (int i = 0; i < m->nreductions; i++)
    for (int j = 0; j < m->reductions[i].seq.nops; j++) {
      const HostOp *op = &m->reductions[i].seq.ops[j];
      if (op->kind == HOST_LAUNCH && (op->a == k - m->kernels || m->kernels[op->a].instead - 1 == k - m->kernels))
        return true;
    }
  return false;
}

/* Forgets the facts about the last function, and begins one of kernel `k`. */
static void reset_kernel(Emit *e, const Kernel *k) {
  e->k = k;
  e->alignments = kernel_alignments(e->arena, e->m, k);
  e->passes = kernel_passes_memory(k);
  e->fn = NULL;
  e->args = ARENA_ARRAY(e->arena, LLVMValueRef, k->nargs + 1);
  for (int d = 0; d < MAX_RANK; d++)
    e->block[d] = NULL;
  e->scratch = NULL;
  e->entry.seen = e->here.seen = (ValueTable){0};
  e->values = e->threads = e->ranges = e->linears = (PtrMap){0};
  e->row = (RenewedRow){0};
  e->inner = NULL;
  e->nests = NULL;
  e->ngroups = 0;
}

/* Emits the functions of loops that kernel `k` has called. */
static void emit_nests(Emit *e, const Kernel *k, const Nests *nests) {
  for (Nest *n = nests ? nests->first : NULL; n; n = n->next) {
    if (!n->fn)
      continue;
    reset_kernel(e, k);
    const Op *loop = emit_nest_body(e, n);
    LLVMBasicBlockRef body = LLVMGetInsertBlock(e->here.b);
    emit_loop(e, loop);
    LLVMBuildRetVoid(e->here.b);
    LLVMBuildBr(e->entry.b, body);
  }
}

/* Is `name` an identifier in each of PTX, ELF and C? */
static bool is_identifier(const char *name) {
  for (const char *p = name; *p; p++) {
    bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
    if (!letter && (p == name || *p < '0' || *p > '9'))
      return false;
  }
  return *name != 0;
}

/* Is `name` that of a mathematical function that the target's code may call? */
static bool is_library_name(const Emit *e, const char *name) {
  for (int code = 0; code < OP_COUNT; code++)
    if ((op_info[code].flags & OPF_INEXACT) &&
        (strcmp(name, e->target->math_name(e->arena, (Opcode)code, TY_F32)) == 0 ||
         strcmp(name, e->target->math_name(e->arena, (Opcode)code, TY_F64)) == 0))
      return true;
  return strncmp(name, "fmod", 4) == 0 && (name[4] == 0 || strcmp(name + 4, "f") == 0);
}

/* Can kernel `k` keep its name in the artifact? If not, reports an error: a launcher could not find it, or other code
 * would find it by mistake. */
static bool check_name(Emit *e, const Kernel *k) {
  if (is_identifier(k->name) && !is_library_name(e, k->name) && strcmp(k->name, "stc_shared") != 0)
    return true;
  diag_error(e->diags, k->loc,
             "kernel '%s' cannot have that name in %s code; take letters, digits and _ that are not the name of a "
             "library function",
             k->name, e->target->arch);
  return false;
}

/* In a kernel: the first shuffle, the first op of asynchronous copies, the first op of pipelines of warps, and the
 * first of their ops on registers, NULL if there is none. */
typedef struct Special {
  const Op *shuffle, *async, *warps, *registers;
} Special;

static void find_special(void *user, Op *op) {
  Special *s = user;
  if (op_info[op->code].form == FORM_LANE && !s->shuffle)
    s->shuffle = op;
  if ((op->code == OP_ASYNC_COPY || op->code == OP_ASYNC_COMMIT || op->code == OP_ASYNC_WAIT) && !s->async)
    s->async = op;
  if (!s->registers && op_is_registers(op))
    s->registers = op;
  if (!s->warps && (op_is_signal(op) || op_meets_warp(op) || op_is_bulk(op)))
    s->warps = op;
}

/* Does the target have all that kernel `k` needs? */
static bool check_ops(Emit *e, const Kernel *k) {
  const Target *t = e->target;
  Special s = {NULL, NULL, NULL, NULL};
  block_walk(k->body, find_special, &s);
  if (s.shuffle && !t->shuffle)
    diag_error(e->diags, s.shuffle->loc,
               "kernel '%s' shuffles values between the threads of a warp, for which %s code has no instruction; lower "
               "the program for %s anew",
               k->name, t->arch, t->arch);
  if (s.async && !t->async_copy)
    diag_error(e->diags, s.async->loc,
               "kernel '%s' uses asynchronous copies, which %s %s does not have; lower the program for %s anew",
               k->name, t->arch, t->cpu, t->cpu);
  if (s.warps && !t->warps)
    diag_error(
        e->diags, s.warps->loc,
        "kernel '%s' uses signals between warps or bulk copies, which %s %s does not have; lower the program for "
        "%s anew, or take a later one",
        k->name, t->arch, t->cpu, t->cpu);
  if (s.registers && t->warps && !t->info.moves_registers)
    diag_error(e->diags, s.registers->loc,
               "kernel '%s' moves registers between warps, which %s %s does not do; lower the program for %s anew, or "
               "take sm_90a",
               k->name, t->arch, t->cpu, t->cpu);
  if (k->cluster > t->info.cluster)
    diag_error(e->diags, k->loc,
               "kernel '%s' has clusters of %d blocks, and %s %s runs %s together; lower the program for %s anew, or "
               "take sm_90a",
               k->name, (int)k->cluster, t->arch, t->cpu, t->info.cluster ? "fewer" : "none", t->arch);
  return k->cluster <= t->info.cluster && (!s.shuffle || t->shuffle) && (!s.async || t->async_copy) &&
         (!s.warps || t->warps) && (!s.registers || t->info.moves_registers);
}

/* Kernel `k` as a function of the module. */
static bool emit_kernel(Emit *e, const Kernel *k) {
  if (!check_name(e, k) || !check_ops(e, k))
    return false;
  Nests *nests = e->target->calls_nests ? nests_find(e->arena, k) : NULL;
  reset_kernel(e, k);
  e->reduces = is_reducing(e->m, k);
  e->nests = nests;
  e->target->begin(e);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(e->here.b);
  if (!emit_memory_begin(e))
    return false;
  emit_block(e, k->body);
  LLVMBuildRetVoid(e->here.b);
  LLVMBuildBr(e->entry.b, body);
  if (e->target->end)
    e->target->end(e);
  emit_nests(e, k, nests);
  return true;
}

/* An emitter for `m` with an empty LLVM module for target `t`. */
static Emit emitter_new(Arena *a, Diags *d, const Module *m, const Target *t, LLVMContextRef context,
                        LLVMTargetMachineRef machine) {
  Emit e = {.arena = a, .diags = d, .m = m, .target = t, .context = context, .guard = emit_guard};
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
  e.module = LLVMModuleCreateWithNameInContext(m->name ? m->name : "stc", context);
  LLVMSetTarget(e.module, t->triple);
  LLVMSetModuleDataLayout(e.module, layout);
  LLVMDisposeTargetData(layout);
  e.i1 = LLVMInt1TypeInContext(context);
  e.i8 = LLVMInt8TypeInContext(context);
  e.i32 = LLVMInt32TypeInContext(context);
  e.i64 = LLVMInt64TypeInContext(context);
  e.ptr = LLVMPointerTypeInContext(context, 0);
  e.entry.b = LLVMCreateBuilderInContext(context);
  e.here.b = LLVMCreateBuilderInContext(context);
  return e;
}

/* Checks the LLVM module; an error in it is a mistake of this folder. */
static bool verify_llvm(Emit *e) {
  char *message = NULL;
  bool ok = !LLVMVerifyModule(e->module, LLVMReturnStatusAction, &message);
  if (!ok)
    diag_error(e->diags, no_loc(), "stc made LLVM IR that LLVM rejects: %s", message);
  LLVMDisposeMessage(message);
  return ok;
}

LLVMModuleRef emit_module(Arena *a, Diags *d, const Module *m, const Target *t, LLVMContextRef context,
                          LLVMTargetMachineRef machine, int cells, const CodegenOptions *o, bool *libm) {
  Emit e = emitter_new(a, d, m, t, context, machine);
  bool ok = true;
  e.cells = cells;
  for (int i = 0; ok && i < m->nkernels; i++)
    ok = (o->only && !o->only[i]) || (!stop_asked(o->stop) && emit_kernel(&e, &m->kernels[i]));
  LLVMDisposeBuilder(e.entry.b);
  LLVMDisposeBuilder(e.here.b);
  *libm = e.libm;
  if (ok && verify_llvm(&e))
    return e.module;
  LLVMDisposeModule(e.module);
  return NULL;
}
