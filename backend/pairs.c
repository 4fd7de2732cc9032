/* backend/pairs.c: arithmetic on pairs of f32 where the target computes two at a time (v_pk_fma_f32). The pairs are
 * made of the cells of a thread after the optimiser, in place of LLVM's own vectorizer, which pairs any two terms and
 * moves them together.
 *
 *   %1 = fmul float %a, %w        is    %1 = fmul <2 x float> %ac, <%w, %w>
 *   %2 = fmul float %c, %w
 *
 * pairs-find.c decides which values are pairs. Here the instructions of each block are put in an order in which both
 * halves of a pair can be computed at the same place, while memory is accessed in the old order; then the pairs are
 * made. */
#include "backend/emit.h"

#include <string.h>

/* Scalar registers of a constant that both halves use, of those of a field's rows, about, and the limit for both
 * together: a wave has a hundred or so. If these would be more, constants are not hidden. */
enum { OF_CONSTANT = 2, OF_FIELD = 8, MOST_SCALARS = 50 };

/* ---- which functions */

/* The attribute that keeps LLVM from vectorizing a function. */
static unsigned single_kind(void) {
  return LLVMGetEnumAttributeKindForName("noimplicitfloat", strlen("noimplicitfloat"));
}

/* Does `f` have floating-point values of 16 bits? */
static bool has_halves(LLVMValueRef f) {
  for (LLVMBasicBlockRef k = LLVMGetFirstBasicBlock(f); k; k = LLVMGetNextBasicBlock(k))
    for (LLVMValueRef v = LLVMGetFirstInstruction(k); v; v = LLVMGetNextInstruction(v)) {
      LLVMTypeKind t = LLVMGetTypeKind(LLVMTypeOf(v));
      if (t == LLVMHalfTypeKind || t == LLVMBFloatTypeKind)
        return true;
    }
  return false;
}

void keep_single(LLVMModuleRef m) {
  LLVMAttributeRef single = LLVMCreateEnumAttribute(LLVMGetModuleContext(m), single_kind(), 0);
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f) && !has_halves(f))
      LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, single);
}

/* ---- the order of instructions */

/* The order of the instructions of a block. An instruction comes after its operands; one that accesses memory comes
 * after the access before it. */
typedef struct Order {
  Pairs *p;
  LLVMBasicBlockRef block;
  PtrMap state;  /* instruction or pair -> &in_work or &done */
  PtrMap before; /* access -> the one before it */
  int n;
  void **nodes; /* instructions and pairs */
  Pair *circle; /* a pair that is part of a cycle */
} Order;
static char in_work, done;

bool pair_stays(LLVMValueRef v) {
  if (LLVMIsALoadInst(v) || LLVMIsAStoreInst(v) || LLVMIsAFenceInst(v))
    return true;
  if (!LLVMIsACallInst(v))
    return LLVMIsAAllocaInst(v) || LLVMIsAAtomicRMWInst(v) || LLVMIsAAtomicCmpXchgInst(v);
  LLVMValueRef f = LLVMGetCalledValue(v);
  if (LLVMIsAInlineAsm(f))
    return LLVMGetInlineAsmHasSideEffects(f);
  unsigned kind = LLVMGetEnumAttributeKindForName("memory", strlen("memory"));
  LLVMAttributeRef a =
      LLVMIsAFunction(f) ? LLVMGetEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind) : NULL;
  return !a || LLVMGetEnumAttributeValue(a) != 0;
}

static bool visit(Order *o, LLVMValueRef v);

/* Visits the operands of instruction `v`. */
static bool visit_operands(Order *o, LLVMValueRef v) {
  LLVMValueRef last = ptrmap_get(&o->before, v);
  bool ok = !last || visit(o, last);
  for (int i = 0, n = LLVMGetNumOperands(v); i < n && ok; i++)
    ok = visit(o, LLVMGetOperand(v, (unsigned)i));
  return ok;
}

/* Puts `v` in its place if it is an instruction of the block; false if that is a cycle. */
static bool visit(Order *o, LLVMValueRef v) {
  if (!LLVMIsAInstruction(v) || LLVMIsAPHINode(v) || LLVMGetInstructionParent(v) != o->block)
    return true;
  Pair *pair = ptrmap_get(&o->p->of, v);
  void *node = pair ? (void *)pair : (void *)v;
  const char *state = ptrmap_get(&o->state, node);
  if (state)
    return state == &done;
  ptrmap_put(o->p->arena, &o->state, node, &in_work);
  bool ok = pair ? visit_operands(o, pair->old[0]) && visit_operands(o, pair->old[1]) : visit_operands(o, v);
  if (!ok && pair && !o->circle)
    o->circle = pair;
  ptrmap_put(o->p->arena, &o->state, node, &done);
  ARENA_PUSH(o->p->arena, o->nodes, o->n, node);
  return ok;
}

/* The order of block `k`; ->circle is not NULL if there is none. */
static Order order_of(Pairs *p, LLVMBasicBlockRef k) {
  Order o = {.p = p, .block = k};
  LLVMValueRef last = NULL, end = LLVMGetBasicBlockTerminator(k);
  for (LLVMValueRef v = LLVMGetFirstInstruction(k); v; v = LLVMGetNextInstruction(v))
    if (!LLVMIsAPHINode(v) && pair_stays(v)) {
      ptrmap_put(p->arena, &o.before, v, last);
      last = v;
    }
  for (LLVMValueRef v = LLVMGetFirstInstruction(k); v != end && !o.circle; v = LLVMGetNextInstruction(v))
    visit(&o, v);
  return o;
}

/* The blocks of a function, each after those that are always run before it. */
typedef struct Blocks {
  Arena *arena;
  PtrMap seen;
  int n;
  LLVMBasicBlockRef *at;
} Blocks;
/* Adds `k` after all blocks that come after it: the order is reversed. */
static void add_block(Blocks *b, LLVMBasicBlockRef k) {
  if (ptrmap_get(&b->seen, k))
    return;
  ptrmap_put(b->arena, &b->seen, k, b);
  LLVMValueRef end = LLVMGetBasicBlockTerminator(k);
  for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++)
    add_block(b, LLVMGetSuccessor(end, i));
  ARENA_PUSH(b->arena, b->at, b->n, k);
}

/* ---- making them */

/* `x` and `y` as halves of one value. */
static LLVMValueRef join_halves(Pairs *p, LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(p->context);
  LLVMValueRef v = LLVMBuildInsertElement(p->b, LLVMGetPoison(p->type), x, LLVMConstInt(i32, 0, 0), "");
  return LLVMBuildInsertElement(p->b, v, y, LLVMConstInt(i32, 1, 0), "");
}

/* The first instruction of the present block that is no phi. */
static LLVMValueRef begin_of(Pairs *p) {
  LLVMValueRef v = LLVMGetFirstInstruction(LLVMGetInsertBlock(p->b));
  while (LLVMIsAPHINode(v))
    v = LLVMGetNextInstruction(v);
  return v;
}

/* Constant `x` in a scalar register, through no instruction: LLVM makes constants the second operand. Convergent
 * assembly stays in the block; otherwise the constant, used by both halves, would be put into two registers before a
 * loop. */
static LLVMValueRef hidden(Pairs *p, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x), t = LLVMFunctionType(type, &type, 1, 0);
  LLVMValueRef nothing = LLVMGetInlineAsm(t, "", 0, "=s,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0),
               known = ptrmap_get(&p->hidden, x);
  if (known && LLVMGetInstructionParent(known) == LLVMGetInsertBlock(p->b))
    return known;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", strlen("convergent"));
  LLVMPositionBuilderBefore(b, begin_of(p));
  known = LLVMBuildCall2(b, t, nothing, &x, 1, "");
  LLVMAddCallSiteAttribute(known, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                           LLVMCreateEnumAttribute(p->context, convergent, 0));
  LLVMDisposeBuilder(b);
  ptrmap_put(p->arena, &p->hidden, x, known);
  return known;
}

/* Are `x` and `y` one value twice? */
static bool is_twice(const Pairs *p, LLVMValueRef x, LLVMValueRef y) {
  return x == y && pair_form(p, x, y) != PAIR_KNOWN;
}

/* Does `v` multiply its first two operands? */
static bool has_factors(LLVMValueRef v) { return LLVMIsACallInst(v) || LLVMGetInstructionOpcode(v) == LLVMFMul; }

/* Is `v` assembly (Target.settle)? */
static bool is_settled(LLVMValueRef v) { return LLVMIsACallInst(v) && LLVMIsAInlineAsm(LLVMGetCalledValue(v)); }

/* Does a use of `v` stay in its block? LLVM moves other values into the block of their use. */
static bool is_rooted(Pairs *p, LLVMValueRef v) {
  static char yes, no;
  const char *known = ptrmap_get(&p->rooted, v);
  bool any = false;
  if (known)
    return known == &yes;
  ptrmap_put(p->arena, &p->rooted, v, &no);
  for (LLVMUseRef u = LLVMGetFirstUse(v); u && !any; u = LLVMGetNextUse(u)) {
    LLVMValueRef by = LLVMGetUser(u);
    bool here = LLVMGetInstructionParent(by) == LLVMGetInstructionParent(v);
    any = LLVMIsAPHINode(by) || (here && (pair_stays(by) || is_settled(by) || is_rooted(p, by)));
  }
  ptrmap_put(p->arena, &p->rooted, v, any ? &yes : &no);
  return any;
}

/* Puts a factor that has one value in both halves first, with constants hidden. */
static void put_twice_first(Pairs *p, const Pair *one, LLVMValueRef *x) {
  LLVMValueRef y = pair_operand(one, 0, 1), z = pair_operand(one, 0, 0);
  bool second = is_twice(p, y, pair_operand(one, 1, 1)), first = is_twice(p, z, pair_operand(one, 1, 0));
  if (!first && !second)
    return;
  LLVMValueRef twice = first ? z : y, other = x[first];
  x[0] = LLVMIsAConstant(twice) ? join_halves(p, hidden(p, twice), hidden(p, twice)) : x[!first];
  x[1] = other;
}

/* `x` and `y` as one value: a pair of constants, one value twice, a pair that was made, or one that is joined. */
static LLVMValueRef whole_operand(Pairs *p, LLVMValueRef x, LLVMValueRef y) {
  JoinedPair *j;
  switch (pair_form(p, x, y)) {
  case PAIR_OF_CONSTANTS: return LLVMConstVector((LLVMValueRef[]){x, y}, 2);
  case PAIR_KNOWN: return pair_of(p, x, y)->whole;
  case PAIR_OF_ONE: return join_halves(p, x, x);
  default:
    j = pair_joined(p, x, y, LLVMGetInsertBlock(p->b));
    if (!j->whole)
      j->whole = join_halves(p, x, y);
    return j->whole;
  }
}

/* The packed op on `x`, and on `y` and `z` if it has these operands. */
static LLVMValueRef packed_op(Pairs *p, LLVMValueRef like, LLVMValueRef *x, int n) {
  LLVMOpcode code = LLVMGetInstructionOpcode(like);
  if (code == LLVMFNeg)
    return LLVMBuildFNeg(p->b, x[0], "");
  if (code != LLVMCall)
    return LLVMBuildBinOp(p->b, code, x[0], x[1], "");
  LLVMModuleRef m = LLVMGetGlobalParent(p->f);
  LLVMValueRef fma = LLVMGetIntrinsicDeclaration(m, LLVMGetIntrinsicID(LLVMGetCalledValue(like)), &p->type, 1);
  return LLVMBuildCall2(p->b, LLVMGlobalGetValueType(fma), fma, x, (unsigned)n, "");
}

/* Replaces the values of the pair by halves of `whole` in all their uses. */
static void give_halves(Pairs *p, Pair *one) {
  for (unsigned i = 0; i < 2; i++) {
    LLVMValueRef at = LLVMConstInt(LLVMInt32TypeInContext(p->context), i, 0);
    one->v[i] = LLVMBuildExtractElement(p->b, one->whole, at, "");
    LLVMReplaceAllUsesWith(one->old[i], one->v[i]);
    ptrmap_put(p->arena, &p->of, one->v[i], one);
  }
}

static void make_packed(Pairs *p, Pair *one) {
  LLVMValueRef x[3] = {NULL};
  int n = pair_operands(one->old[0]);
  for (int i = 0; i < n; i++)
    x[i] = whole_operand(p, pair_operand(one, 0, i), pair_operand(one, 1, i));
  if (p->twice_first && has_factors(one->old[0]) && is_rooted(p, one->old[0]))
    put_twice_first(p, one, x);
  one->whole = packed_op(p, one->old[0], x, n);
  if (LLVMCanValueUseFastMathFlags(one->whole))
    LLVMSetFastMathFlags(one->whole, LLVMGetFastMathFlags(one->old[0]) & LLVMGetFastMathFlags(one->old[1]));
  give_halves(p, one);
}

/* Moves instruction `v` to the builder's place. */
static void put(Pairs *p, LLVMValueRef v) {
  LLVMInstructionRemoveFromParent(v);
  LLVMInsertIntoBuilder(p->b, v);
}

/* Computes two values one by one and puts them together in consecutive registers. */
static void make_apart(Pairs *p, Pair *one) {
  put(p, one->old[0]);
  put(p, one->old[1]);
  one->whole = join_halves(p, one->old[0], one->old[1]);
}

/* Makes the phis of pairs, without their operands. */
static void make_phis(Pairs *p) {
  for (int i = 0; i < p->n; i++)
    if (p->all[i]->kind == PAIR_PHI) {
      LLVMPositionBuilderBefore(p->b, p->all[i]->old[0]);
      p->all[i]->whole = LLVMBuildPhi(p->b, p->type, "");
    }
  for (int i = 0; i < p->n; i++)
    if (p->all[i]->kind == PAIR_PHI) {
      LLVMValueRef v = p->all[i]->old[0];
      while (LLVMIsAPHINode(v))
        v = LLVMGetNextInstruction(v);
      LLVMPositionBuilderBefore(p->b, v);
      give_halves(p, p->all[i]);
    }
}

/* Adds the operands of these phis. */
static void close_phis(Pairs *p) {
  for (int i = 0; i < p->n; i++) {
    const Pair *one = p->all[i];
    for (unsigned k = 0; one->kind == PAIR_PHI && k < LLVMCountIncoming(one->old[0]); k++) {
      LLVMBasicBlockRef from = LLVMGetIncomingBlock(one->old[0], k);
      LLVMPositionBuilderBefore(p->b, LLVMGetBasicBlockTerminator(from));
      LLVMValueRef v = whole_operand(p, pair_operand(one, 0, (int)k), pair_operand(one, 1, (int)k));
      LLVMAddIncoming(one->whole, &v, &from, 1);
    }
  }
}

/* Emits the instructions of a block in their order, with pairs made. */
static void make_block(Pairs *p, const Order *o) {
  LLVMPositionBuilderBefore(p->b, LLVMGetBasicBlockTerminator(o->block));
  for (int i = 0; i < o->n; i++) {
    Pair *one = ptrmap_get(&p->nodes, o->nodes[i]);
    if (!one)
      put(p, o->nodes[i]);
    else if (one->kind == PAIR_PACKED)
      make_packed(p, one);
    else
      make_apart(p, one);
  }
}

/* Did the pair replace its values? */
static bool replaces(const Pair *one) { return one->kind == PAIR_PACKED || one->kind == PAIR_PHI; }

/* Removes the values that pairs replaced, and halves that nothing uses. */
static void clean(Pairs *p) {
  for (int i = 0; i < p->n; i++)
    for (int k = 0; k < 2 && replaces(p->all[i]); k++)
      LLVMReplaceAllUsesWith(p->all[i]->old[k], LLVMGetPoison(LLVMTypeOf(p->all[i]->old[k])));
  for (int i = 0; i < p->n; i++)
    for (int k = 0; k < 2 && replaces(p->all[i]); k++)
      LLVMInstructionEraseFromParent(p->all[i]->old[k]);
  for (int i = 0; i < p->n; i++)
    for (int k = 0; k < 2 && replaces(p->all[i]); k++)
      if (!LLVMGetFirstUse(p->all[i]->v[k]))
        LLVMInstructionEraseFromParent(p->all[i]->v[k]);
}

/* Finds the orders of all blocks, first run first; drops pairs in cycles. False: nothing is left to pack. */
static bool find_orders(Pairs *p, Blocks *b, Order *orders) {
  ArenaMark mark = arena_mark(p->arena);
  for (int i = 0; i < b->n; i++) {
    orders[i] = order_of(p, b->at[b->n - 1 - i]);
    if (!orders[i].circle)
      continue;
    arena_release(p->arena, mark);
    pairs_drop(p, orders[i].circle);
    mark = arena_mark(p->arena);
    i = -1;
  }
  for (int i = 0; i < p->n; i++)
    if (p->all[i]->kind != PAIR_DROPPED)
      ptrmap_put(p->arena, &p->nodes, p->all[i], p->all[i]);
  return p->nodes.n > 0;
}

/* Do threads of `f` wait for each other? They do if they have shared memory. Then there are branches, and LLVM moves
 * most arithmetic after these: a constant would be put into two registers in each block. */
static bool has_fences(LLVMValueRef f) {
  for (LLVMBasicBlockRef k = LLVMGetFirstBasicBlock(f); k; k = LLVMGetNextBasicBlock(k))
    for (LLVMValueRef v = LLVMGetFirstInstruction(k); v; v = LLVMGetNextInstruction(v))
      if (LLVMIsAFenceInst(v))
        return true;
  return false;
}

/* The number of constants that are factors of both halves, each counted once. */
static int count_constants(const Pairs *p) {
  PtrMap seen = {0};
  int n = 0;
  for (int i = 0; i < p->n; i++) {
    const Pair *one = p->all[i];
    for (int k = 0; k < 2 && one->kind == PAIR_PACKED && has_factors(one->old[0]); k++) {
      LLVMValueRef x = pair_operand(one, 0, k);
      if (LLVMIsAConstant(x) && is_twice(p, x, pair_operand(one, 1, k)) && !ptrmap_get(&seen, x)) {
        ptrmap_put(p->arena, &seen, x, x);
        n++;
      }
    }
  }
  return n;
}

/* Are there enough scalar registers for hidden constants? */
static bool has_room(const Pairs *p) {
  int sum = OF_CONSTANT * count_constants(p);
  for (LLVMValueRef x = LLVMGetFirstParam(p->f); x; x = LLVMGetNextParam(x))
    sum += LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMPointerTypeKind ? OF_FIELD : 0;
  return sum <= MOST_SCALARS;
}

/* Makes the pairs of `f`. */
static void pack_function(Arena *a, LLVMContextRef context, LLVMBuilderRef b, LLVMValueRef f, const Target *t) {
  Pairs p = {.arena = a,
             .context = context,
             .b = b,
             .f = f,
             .space = t->global_space,
             .twice_first = t->twice_first && !has_fences(f),
             .type = LLVMVectorType(LLVMFloatTypeInContext(context), 2)};
  Blocks blocks = {.arena = a};
  LLVMAttributeIndex all = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
  if (LLVMIsDeclaration(f) || !LLVMGetEnumAttributeAtIndex(f, all, single_kind()) || pairs_find(&p, f) == 0)
    return;
  add_block(&blocks, LLVMGetEntryBasicBlock(f));
  Order *orders = ARENA_ARRAY(a, Order, blocks.n);
  if (!find_orders(&p, &blocks, orders))
    return;
  p.twice_first = p.twice_first && has_room(&p);
  make_phis(&p);
  for (int i = 0; i < blocks.n; i++)
    make_block(&p, &orders[i]);
  close_phis(&p);
  clean(&p);
}

void pack_pairs(Arena *a, LLVMModuleRef m, const Target *t) {
  LLVMContextRef context = LLVMGetModuleContext(m);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(context);
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
    pack_function(a, context, b, f, t);
  LLVMDisposeBuilder(b);
}
