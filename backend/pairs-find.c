/* backend/pairs-find.c: finds f32 values of a function that are computed two at a time (pairs.c makes the pairs).
 *
 * A thread's cells are computed alike, so the values stored for two of them have the same form, down to common
 * operands. So the pairs are found from the stores: of n cells that a thread stores at once, those n / 2 apart, for
 * then the value that a neighbouring cell gives to both is a pair as well, except one that comes from another lane:
 *
 *   cells                     a b c d    pairs (a, c) (b, d)
 *   their right neighbours    b c d e    of the first (b, d), which is a pair; of the second (c, e), which is none
 *
 * A value is in one pair at most, and so in one pair of registers: nothing is moved to be packed. */
#include "backend/emit.h"

#include <string.h>

/* Through how many levels of factors operands are compared to see which go together. */
enum { DEPTH = 2 };

bool pair_is_f32(LLVMValueRef v) { return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMFloatTypeKind; }

/* Is instruction `v` a call of the intrinsic `name`? */
static bool calls(LLVMValueRef v, const char *name) {
  if (!LLVMIsACallInst(v))
    return false;
  LLVMValueRef f = LLVMGetCalledValue(v);
  return LLVMIsAFunction(f) && LLVMGetIntrinsicID(f) == LLVMLookupIntrinsicID(name, strlen(name));
}

/* Is instruction `v` arithmetic that the target does on pairs? */
static bool packs(LLVMValueRef v) {
  LLVMOpcode code = LLVMGetInstructionOpcode(v);
  return code == LLVMFAdd || code == LLVMFSub || code == LLVMFMul || code == LLVMFNeg || calls(v, "llvm.fma");
}

/* Is it a product or a sign, which a sum absorbs without an instruction? */
static bool joins(LLVMValueRef v) {
  LLVMOpcode code = LLVMGetInstructionOpcode(v);
  return code == LLVMFMul || code == LLVMFNeg;
}

static bool commutes(LLVMValueRef v) {
  LLVMOpcode code = LLVMGetInstructionOpcode(v);
  return code == LLVMFAdd || code == LLVMFMul;
}

/* Operands of `v` that are values: without the function that it calls. */
int pair_operands(LLVMValueRef v) { return LLVMIsACallInst(v) ? (int)LLVMGetNumArgOperands(v) : LLVMGetNumOperands(v); }

Pair *pair_of(const Pairs *p, LLVMValueRef x, LLVMValueRef y) {
  Pair *one = ptrmap_get(&p->of, x);
  return one && one->v[0] == x && one->v[1] == y ? one : NULL;
}

/* `v` as it was found. */
static LLVMValueRef found(const Pairs *p, LLVMValueRef v) {
  const Pair *one = ptrmap_get(&p->of, v);
  return !one || one->kind == PAIR_DROPPED ? v : one->v[0] == v ? one->old[0] : one->v[1] == v ? one->old[1] : v;
}

JoinedPair *pair_joined(const Pairs *p, LLVMValueRef x, LLVMValueRef y, LLVMBasicBlockRef block) {
  JoinedPair *j = ptrmap_get(&p->joined, found(p, x));
  for (y = found(p, y); j && (j->v[1] != y || j->block != block);)
    j = j->next;
  return j;
}

PairForm pair_form(const Pairs *p, LLVMValueRef x, LLVMValueRef y) {
  if (LLVMIsConstant(x) && LLVMIsConstant(y))
    return PAIR_OF_CONSTANTS;
  if (x == y)
    return PAIR_OF_ONE;
  return pair_of(p, x, y) ? PAIR_KNOWN : PAIR_NONE;
}

/* Are `x` and `y` the same op in the same block, as far as can be seen without their operands? */
static bool look_alike(LLVMValueRef x, LLVMValueRef y) {
  if (!LLVMIsAInstruction(x) || !LLVMIsAInstruction(y) || x == y || !pair_is_f32(x) || !pair_is_f32(y) ||
      LLVMGetInstructionParent(x) != LLVMGetInstructionParent(y) ||
      LLVMGetInstructionOpcode(x) != LLVMGetInstructionOpcode(y) || pair_operands(x) != pair_operands(y))
    return false;
  return !LLVMIsACallInst(x) || LLVMGetCalledValue(x) == LLVMGetCalledValue(y);
}

static int fits(const Pairs *p, LLVMValueRef x, LLVMValueRef y, bool swapped, int depth);

/* How well `x` and `y` go together as operands; 0: not at all. Products are compared by their factors, `depth` deep. */
static int fit(const Pairs *p, LLVMValueRef x, LLVMValueRef y, int depth) {
  if (pair_form(p, x, y) != PAIR_NONE)
    return x == y ? 5 : 4;
  if (ptrmap_get(&p->of, x) || ptrmap_get(&p->of, y) || !look_alike(x, y))
    return 0;
  if (!joins(x) || depth == 0)
    return 3;
  int one = fits(p, x, y, false, depth - 1), other = commutes(x) ? fits(p, x, y, true, depth - 1) : 0,
      most = one > other ? one : other;
  return most >= 8 ? 3 : most > 0 ? 2 : 1;
}

/* How well the operands of `x` and `y` go together, those of y in reverse order if `swapped`; 0 if these are factors of
 * which any do not. */
static int fits(const Pairs *p, LLVMValueRef x, LLVMValueRef y, bool swapped, int depth) {
  int sum = 0;
  bool all = true;
  for (int i = 0, n = pair_operands(x); i < n; i++) {
    LLVMValueRef a = LLVMGetOperand(x, (unsigned)i), b = LLVMGetOperand(y, (unsigned)(swapped ? 1 - i : i));
    int f = pair_is_f32(a) ? fit(p, a, b, depth) : 1;
    all = all && f > 0;
    sum += f;
  }
  return all || !joins(x) ? sum : 0;
}

/* Makes a pair of `x` and `y` if they are alike and in no pair; of products only if their operands are or may be pairs,
 * or if `any` are to be a pair. */
static void ask(Pairs *p, LLVMValueRef x, LLVMValueRef y, bool any) {
  if (pair_form(p, x, y) != PAIR_NONE || ptrmap_get(&p->of, x) || ptrmap_get(&p->of, y) || !look_alike(x, y))
    return;
  bool phi = LLVMIsAPHINode(x), swapped = commutes(x) && fits(p, x, y, true, DEPTH) > fits(p, x, y, false, DEPTH);
  if (pair_stays(x) || (!phi && !any && joins(x) && fits(p, x, y, swapped, DEPTH) == 0))
    return;
  Pair *new = ARENA_NEW(p->arena, Pair);
  *new = (Pair){.v = {x, y}, .old = {x, y}, .swapped = swapped};
  new->kind = phi ? PAIR_PHI : packs(x) ? PAIR_PACKED : PAIR_APART;
  ptrmap_put(p->arena, &p->of, x, new);
  ptrmap_put(p->arena, &p->of, y, new);
  ARENA_PUSH(p->arena, p->all, p->n, new);
}

LLVMValueRef pair_operand(const Pair *one, int half, int i) {
  LLVMValueRef v = one->old[half];
  if (one->kind != PAIR_PHI)
    return LLVMGetOperand(v, (unsigned)(half && one->swapped ? 1 - i : i));
  LLVMBasicBlockRef from = LLVMGetIncomingBlock(one->old[0], (unsigned)i);
  for (unsigned k = 0; k < LLVMCountIncoming(v); k++)
    if (LLVMGetIncomingBlock(v, k) == from)
      return LLVMGetIncomingValue(v, k);
  return NULL;
}

/* Tries to make pairs of the operands of a pair. */
static void ask_operands(Pairs *p, const Pair *one) {
  for (int i = 0, n = pair_operands(one->old[0]); i < n; i++)
    if (pair_is_f32(pair_operand(one, 0, i)))
      ask(p, pair_operand(one, 0, i), pair_operand(one, 1, i), false);
}

/* `v` without the assembly that keeps it before a branch (Target.settle). */
static LLVMValueRef unsettled(LLVMValueRef v) {
  return LLVMIsACallInst(v) && LLVMIsAInlineAsm(LLVMGetCalledValue(v)) ? LLVMGetOperand(v, 0) : v;
}

/* The f32 values that store `s` stores side by side, their number 0, 1, 2 or 4. */
static int stored(LLVMValueRef s, LLVMValueRef out[4]) {
  LLVMValueRef v = LLVMGetOperand(s, 0);
  LLVMTypeRef t = LLVMTypeOf(v);
  if (LLVMGetTypeKind(t) == LLVMFloatTypeKind) {
    out[0] = unsettled(v);
    return 1;
  }
  if (LLVMGetTypeKind(t) != LLVMVectorTypeKind || LLVMGetTypeKind(LLVMGetElementType(t)) != LLVMFloatTypeKind ||
      (LLVMGetVectorSize(t) != 2 && LLVMGetVectorSize(t) != 4))
    return 0;
  int n = (int)LLVMGetVectorSize(t), found = 0;
  memset(out, 0, 4 * sizeof *out);
  for (; LLVMIsAInsertElementInst(v) && LLVMIsAConstantInt(LLVMGetOperand(v, 2)); v = LLVMGetOperand(v, 0)) {
    uint64_t i = LLVMConstIntGetZExtValue(LLVMGetOperand(v, 2));
    found += i < (uint64_t)n && !out[i];
    if (i < (uint64_t)n && !out[i])
      out[i] = unsettled(LLVMGetOperand(v, 1));
  }
  return found == n ? n : 0;
}

/* The pointer to which `v` is an offset. */
static LLVMValueRef base_of(LLVMValueRef v) {
  while (LLVMIsAGetElementPtrInst(v))
    v = LLVMGetOperand(v, 0);
  return v;
}

/* A store of n cells of a thread to a buffer of global memory, whose first is computed in `block`. */
typedef struct Line {
  LLVMValueRef cells[4], buffer;
  LLVMBasicBlockRef block;
  int n;
  bool asked;
} Line;

/* The lines that `f` stores, in order; *n of them. */
static Line *find_lines(Pairs *p, LLVMValueRef f, int *n) {
  Line *lines = NULL;
  *n = 0;
  for (LLVMBasicBlockRef k = LLVMGetFirstBasicBlock(f); k; k = LLVMGetNextBasicBlock(k))
    for (LLVMValueRef v = LLVMGetFirstInstruction(k); v; v = LLVMGetNextInstruction(v)) {
      Line l = {.n = 0};
      l.n = LLVMIsAStoreInst(v) ? stored(v, l.cells) : 0;
      if (l.n == 0 || !LLVMIsAInstruction(l.cells[0]) ||
          LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(v, 1))) != p->space)
        continue;
      l.buffer = base_of(LLVMGetOperand(v, 1));
      l.block = LLVMGetInstructionParent(l.cells[0]);
      ARENA_PUSH(p->arena, lines, *n, l);
    }
  return lines;
}

/* Tries to make pairs of the cells of a line, half a line apart; of lines of one cell, pairs of the cells of those of
 * the n lines that are computed beside lines[0] for the same buffer, half of these lines apart. */
static void ask_lines(Pairs *p, Line *lines, int n) {
  Line **same = NULL;
  int m = 0, half = lines[0].n / 2;
  for (int c = 0; c < half; c++)
    ask(p, lines[0].cells[c], lines[0].cells[c + half], false);
  for (int i = 0; half == 0 && i < n; i++)
    if (lines[i].buffer == lines[0].buffer && lines[i].block == lines[0].block && lines[i].n == 1) {
      lines[i].asked = true;
      ARENA_PUSH(p->arena, same, m, &lines[i]);
    }
  for (int i = 0; m % 2 == 0 && i < m / 2; i++)
    ask(p, same[i]->cells[0], same[i + m / 2]->cells[0], false);
}

/* Drops a pair: its values then are in none. */
static void drop(Pairs *p, Pair *one) {
  one->kind = PAIR_DROPPED;
  ptrmap_put(p->arena, &p->of, one->old[0], NULL);
  ptrmap_put(p->arena, &p->of, one->old[1], NULL);
}

/* Joins the values `x` and `y`, which are in no pair together and which packed arithmetic in `block` uses: adds them to
 * p->joined if they are not there. Products and signs are not joined, for sums absorb them one by one. */
static JoinedPair *join(Pairs *p, LLVMValueRef x, LLVMValueRef y, LLVMBasicBlockRef block) {
  JoinedPair *j = pair_joined(p, x, y, block);
  if (j || !LLVMIsAInstruction(x) || !LLVMIsAInstruction(y) || (joins(x) && joins(y)))
    return j;
  j = ARENA_NEW(p->arena, JoinedPair);
  *j = (JoinedPair){.v = {x, y}, .block = block, .pays = true, .next = ptrmap_get(&p->joined, x)};
  ptrmap_put(p->arena, &p->joined, x, j);
  ARENA_PUSH(p->arena, p->all_joined, p->njoined, j);
  return j;
}

/* Is operand `i` of a packed pair whole: a pair, or joined where that pays? Counts joined values in `uses`. */
static bool takes_whole(Pairs *p, const Pair *one, int i) {
  LLVMValueRef x = pair_operand(one, 0, i), y = pair_operand(one, 1, i);
  if (pair_form(p, x, y) != PAIR_NONE)
    return true;
  JoinedPair *j = one->kind == PAIR_PACKED ? join(p, x, y, LLVMGetInstructionParent(one->old[0])) : NULL;
  if (j)
    j->uses++;
  return j && j->pays;
}

/* Are all operands of the pair whole? */
static bool is_whole(Pairs *p, const Pair *one) {
  bool all = true;
  for (int i = 0, n = pair_operands(one->old[0]); i < n; i++)
    all = takes_whole(p, one, i) && all;
  return all;
}

/* Keeps packed only pairs whose operands are pairs. A sum with another operand becomes two sums, each of which absorbs
 * its products. Were there such pairs? */
static bool part_others(Pairs *p) {
  bool any = false;
  for (int i = 0; i < p->njoined; i++)
    p->all_joined[i]->uses = 0;
  for (int i = 0; i < p->n; i++) {
    Pair *one = p->all[i];
    if ((one->kind != PAIR_PACKED && one->kind != PAIR_PHI) || is_whole(p, one))
      continue;
    any = true;
    if (one->kind == PAIR_PACKED && !joins(one->old[0]))
      one->kind = PAIR_APART;
    else
      drop(p, one);
  }
  return any;
}

/* The moves that joining takes: of values that are in pairs already, or loaded with others, or joined before. */
static int moves_of(Pairs *p, PtrMap *taken, const JoinedPair *j) {
  int n = 0;
  for (int k = 0; k < 2; k++) {
    n += ptrmap_get(&p->of, j->v[k]) || ptrmap_get(taken, j->v[k]) || LLVMIsAExtractElementInst(j->v[k]);
    ptrmap_put(p->arena, taken, j->v[k], (void *)j);
  }
  return n;
}

/* Keeps joined only values that are used more often than they are moved: without joining, each use is one more
 * instruction. Were there others? */
static bool part_joined(Pairs *p) {
  PtrMap taken = {0};
  bool any = false;
  for (int i = 0; i < p->njoined; i++) {
    JoinedPair *j = p->all_joined[i];
    if (!j->pays || moves_of(p, &taken, j) < j->uses)
      continue;
    j->pays = false;
    any = true;
  }
  return any;
}

/* Makes pairs of products that were left out because one operand is no pair: it may be joined. */
static void ask_factors(Pairs *p) {
  for (int i = 0, n = p->n; i < n; i++)
    for (int k = 0; p->all[i]->kind == PAIR_PACKED && k < pair_operands(p->all[i]->old[0]); k++) {
      LLVMValueRef x = pair_operand(p->all[i], 0, k), y = pair_operand(p->all[i], 1, k);
      if (look_alike(x, y) && joins(x) && LLVMGetInstructionParent(x) == LLVMGetInstructionParent(p->all[i]->old[0]))
        ask(p, x, y, true);
    }
}

/* Is `v` element `i` of a vector? */
static bool is_element(LLVMValueRef v, unsigned *i) {
  if (!LLVMIsAExtractElementInst(v) || !LLVMIsAConstantInt(LLVMGetOperand(v, 1)))
    return false;
  *i = (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(v, 1));
  return true;
}

/* Were the values loaded at once, but not to consecutive registers, so that they must be moved? */
static bool is_moved(const Pair *one) {
  unsigned i, j;
  if (one->kind != PAIR_APART || !is_element(one->old[0], &i) || !is_element(one->old[1], &j))
    return false;
  return i % 2 != 0 || j != i + 1 || LLVMGetOperand(one->old[0], 0) != LLVMGetOperand(one->old[1], 0);
}

/* Drops pairs that are moved for two users or fewer, none of them a phi. Were there any? */
static bool drop_moved(Pairs *p) {
  bool any = false;
  for (int i = 0; i < p->n; i++)
    p->all[i]->uses = 0;
  for (int i = 0; i < p->n; i++) {
    const Pair *one = p->all[i];
    for (int k = 0, n = pair_operands(one->old[0]); k < n && (one->kind == PAIR_PACKED || one->kind == PAIR_PHI); k++) {
      Pair *taken = pair_of(p, pair_operand(one, 0, k), pair_operand(one, 1, k));
      if (taken)
        taken->uses += one->kind == PAIR_PHI ? 3 : 1;
    }
  }
  for (int i = 0; i < p->n; i++)
    if (is_moved(p->all[i]) && p->all[i]->uses < 3) {
      drop(p, p->all[i]);
      any = true;
    }
  return any;
}

/* Drops pairs until those that are left pay. */
static void settle(Pairs *p) {
  while (part_others(p) || part_joined(p) || drop_moved(p))
    ;
}

/* Drops pairs that no packed arithmetic uses. Returns the number of packed ones. */
static int keep_wanted(Pairs *p) {
  int packed = 0;
  for (int i = 0; i < p->n; i++) {
    const Pair *one = p->all[i];
    packed += one->kind == PAIR_PACKED;
    for (int k = 0, n = pair_operands(one->old[0]); k < n && (one->kind == PAIR_PACKED || one->kind == PAIR_PHI); k++) {
      Pair *taken = pair_of(p, pair_operand(one, 0, k), pair_operand(one, 1, k));
      if (taken)
        taken->wanted = true;
    }
  }
  for (int i = 0; i < p->n; i++)
    if (!p->all[i]->wanted && (p->all[i]->kind == PAIR_APART || p->all[i]->kind == PAIR_PHI))
      drop(p, p->all[i]);
  return packed;
}

int pairs_find(Pairs *p, LLVMValueRef f) {
  int n;
  Line *lines = find_lines(p, f, &n);
  for (int i = 0; i < n; i++)
    if (!lines[i].asked)
      ask_lines(p, &lines[i], n - i);
  for (int i = 0; i < p->n; i++)
    ask_operands(p, p->all[i]);
  ask_factors(p);
  settle(p);
  return keep_wanted(p);
}

void pairs_drop(Pairs *p, Pair *one) {
  drop(p, one);
  settle(p);
  keep_wanted(p);
}
