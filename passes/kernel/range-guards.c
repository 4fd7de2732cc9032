/* range-guards.c: computes roots and quotients by short instruction sequences, with one test for many of them.
 *
 * For most operands a correctly rounded root or quotient is short: a hardware approximation and a few fused
 * multiply-adds. Operands that are tiny, huge, zero, infinite or NaN need a call. LLVM and ptxas emit a test and a
 * branch around the call for each `sqrt` and `div`, five or six instructions each. This pass emits one test for many.
 * It replaces a batch of roots and quotients by their short forms, and puts before the first op that needs a result
 *
 *     %a', %b' = if %ok { yield %a, %b } else { all of it again, with sqrt and div; yield }
 *
 * for the values that are live from there on; `%ok` says that all operands are `ranged`, that is, neither tiny nor
 * huge. The short forms are `sqrt.ranged`, `div.ranged`, and `div.root.ranged` for a quotient whose divisor is a root
 * of the same batch. Results are the same to the bit for all operands. In a streamed tile there is one such branch for
 * all cells that a thread has in a row.
 *
 * A batch consists of roots (`sqrt`, `rsqrt`) and quotients of f32 and f64 in one block, and of the ops that depend on
 * them. It ends
 *
 * - before an op with an effect (such as a shuffle) that needs one of its values,
 * - before a nested block, and at the end of the block,
 * - when it has 32 roots and quotients (tuning.guarded_roots), or
 * - when 112 words (tuning.guarded_words) are kept in registers until the test: all operands, and all values from which
 *   the other arm computes.
 *
 * Stores of batched values wait for the end of the batch while it has fewer than eight roots and quotients
 * (tuning.enough_roots), unless another op touches the same memory or is a barrier. So the cells of a thread share a
 * test even if each of them is stored at once.
 *
 * Which operands are tested: constants, roots of tested values, and absolute values of tested values need no test. A
 * value that is 2^-62 (f64: 2^-500) or more whatever is read, such as a positive constant plus squares, is tested only
 * for its upper end (`ranged.above`), half an instruction on hardware with a maximum of three; float-bounds.c finds
 * such values, also among sums that private arrays keep between rows. If the common test takes more instructions than
 * the roots and quotients take for tests of their own, the batch is left alone, as a single quotient of two variables
 * is. (A test of its own takes about five instructions; the common test takes two, and for each operand one more, or
 * two with its absolute value.) An operand that is often zero or infinite makes the threads of its warp compute twice;
 * that includes zero divided by a constant.
 *
 * Left alone:
 *
 * - Chains of more than six roots and quotients that depend on each other (tuning.root_levels), as in iterations, and
 *   all that depends on them. One test for all Jacobi rotations of anisotropic_diffusion, whose last corrections are
 *   nearly zero, failed in most warps and made a step take 1.3 times as long. root-ends.c treats these.
 * - f32 under `-ffast-math`, which approximates them; 16-bit floats; constant operands out of range; quotients by
 *   powers of two, which LLVM turns into products.
 * - All on the host, which would gain nothing (`TargetInfo.range_guards`).
 *
 * In the simulator a short form yields NaN for operands out of range, so that a missing test shows.
 *
 * Instructions for a point and step away from edges, counted in code of ptxas 13.0 for sm_90 without the other arm, at
 * the defaults for 16384^2: gradient2d 18.1 in f32, of which 1.3 are tests (by ncu 32 with separate tests), and 28.5 in
 * f64. `div.root.ranged` has one operation on the pipe for functions instead of two, and in f64 four instructions less.
 *
 * docs/backends.md describes the short forms. Measured: docs/lab/programs.md. */
#include <math.h>

#include "ir/run/run.h"
#include "passes/simplify/analysis.h"
#include "passes/kernel/root-ends.h"
#include "passes/base/tuning.h"
#include "passes/registry.h"
#include "passes/base/weights.h"

/* A batch: the roots and quotients of a block that are not guarded yet, with the ops that depend on them. By value
 * number: slow: the value depends on one of them; level: on how many, one after another; deep: on more than
 * tuning.root_levels, so that it is not guarded; live: it is used after the batch; kept: it is made outside and used
 * in the batch, so it stays in registers until the test (`words` is the number of words of all of these); exact: its
 * counterpart in the other arm; by: the value that replaces it after the guard. ops: the ops of the batch in order;
 * tests: the values that must be ranged; waiting: stores of batched values, in order, which go after the guard. */
typedef struct Batch {
  Arena *arena;
  bool fast_f32; /* f32 is approximated anyway */
  int32_t n;     /* the number of numbered values */
  bool *slow, *live, *deep, *kept;
  uint8_t *level;
  Value **exact, **by;
  int32_t nops, nroots, ntests, words;
  Op **ops;
  Value **tests;
  bool *absolute;        /* tests[i]: test the absolute value */
  const FloatBounds *of; /* bounds of all values, by value number */
  const Kernel *k;
  int32_t nwaiting;
  Op **waiting;
  int64_t guards, guarded; /* counts of the whole kernel */
  int32_t nleft;
  Op **left; /* deep roots and quotients, and the batches that they ended */
} Batch;

static bool is_slow(const Batch *g, const Value *v) { return v->id >= 0 && v->id < g->n && g->slow[v->id]; }

/* ---------------------------------------------------------------- what is to be tested */

/* Is the absolute value of `v` ranged for all operands? */
static bool is_always_ranged(const Value *v) {
  const Op *op = v->def;
  return op && ((op->code == OP_CONST && eval_ranged(v->type, fabs(op->cval.f))) || op->code == OP_SQRT ||
                op->code == OP_SQRT_RANGED);
}

/* Can operand `v` of a quotient, or (`root`) of a root, be ranged at all? */
static bool can_be_ranged(const Value *v, bool root) {
  return !v->def || v->def->code != OP_CONST || (is_always_ranged(v) && !(root && v->def->cval.f < 0));
}

/* Is `v` a constant power of two? LLVM turns a quotient by it into a product. */
static bool is_power_of_two(const Value *v) {
  int exponent;
  return v->def && v->def->code == OP_CONST && fabs(frexp(v->def->cval.f, &exponent)) == 0.5;
}

/* Is `op` a root or quotient that has a short form? */
static bool is_root(const Batch *g, const Op *op) {
  if (op->code != OP_SQRT && op->code != OP_RSQRT && op->code != OP_DIV)
    return false;
  Type t = op->results[0]->type;
  bool possible =
      (t == TY_F64 || (t == TY_F32 && !g->fast_f32)) && !(op->code == OP_DIV && is_power_of_two(op->operands[1]));
  for (int i = 0; i < op->noperands; i++)
    possible = possible && can_be_ranged(op->operands[i], op->code != OP_DIV);
  return possible;
}

/* Notes that `v`, or if `absolute` its absolute value, must be ranged. A root that is in the batch is ranged because
 * its operand is tested; a root from outside may be anything. */
static void note_test(Batch *g, Value *v, bool absolute) {
  if (is_always_ranged(v) && (v->def->code == OP_CONST || is_slow(g, v)))
    return;
  for (int i = 0; i < g->ntests; i++)
    if (g->tests[i] == v) {
      g->absolute[i] &= absolute;
      return;
    }
  int32_t n = g->ntests;
  ARENA_PUSH(g->arena, g->absolute, n, absolute);
  ARENA_PUSH(g->arena, g->tests, g->ntests, v);
}

/* Is the divisor of `op` a root in the batch? */
static bool is_by_root(const Batch *g, const Op *op) {
  const Op *root = op->code == OP_DIV ? op->operands[1]->def : NULL;
  return root && is_slow(g, op->operands[1]) && (root->code == OP_SQRT || root->code == OP_SQRT_RANGED);
}

/* The length of the longest chain of batched roots and quotients that leads to the result of `op`. A quotient by a
 * batched root counts as one with it. */
static int32_t level_of(const Batch *g, const Op *op) {
  int32_t level = 0;
  for (int i = 0; i < op->noperands; i++)
    if (is_slow(g, op->operands[i]) && g->level[op->operands[i]->id] > level)
      level = g->level[op->operands[i]->id];
  return level + (is_root(g, op) && !is_by_root(g, op));
}

/* Notes that `v`, if it is made outside the batch, must be kept until the test, because the other arm computes from
 * it. */
static void keep(Batch *g, const Value *v) {
  bool free = v->def && (v->def->code == OP_CONST || v->def->code == OP_SCALAR);
  if (free || v->id < 0 || v->id >= g->n || g->slow[v->id] || g->kept[v->id])
    return;
  g->kept[v->id] = true;
  g->words += type_words(v->type);
}

/* Adds `op` to the batch. */
static void take(Batch *g, Op *op) {
  bool root = is_root(g, op);
  int32_t level = level_of(g, op);
  for (int i = 0; i < op->noperands; i++)
    keep(g, op->operands[i]);
  for (int i = 0; root && i < op->noperands; i++)
    note_test(g, op->operands[i], op->code == OP_DIV);
  g->nroots += root;
  ARENA_PUSH(g->arena, g->ops, g->nops, op);
  for (int i = 0; i < op->nresults; i++)
    g->slow[op->results[i]->id] = true, g->level[op->results[i]->id] = (uint8_t)level;
}

/* ---------------------------------------------------------------- rewriting */

/* Notes which values of the batch are used by `op` and by the ops after it in its block. */
static void note_live(Batch *g, const Op *op) {
  for (; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++)
      if (is_slow(g, op->operands[i]))
        g->live[op->operands[i]->id] = true;
    for (int i = 0; i < op->nblocks; i++)
      note_live(g, op->blocks[i]->first);
  }
}

/* Replaces the values of the batch, in `op` and the ops after it in its block, by the results of the guard. */
static void replace_behind(const Batch *g, Op *op) {
  for (; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++)
      if (is_slow(g, op->operands[i]))
        op->operands[i] = g->by[op->operands[i]->id];
    for (int i = 0; i < op->nblocks; i++)
      replace_behind(g, op->blocks[i]->first);
  }
}

/* Builds the ops of the batch again, for the other arm; operands from outside the batch stay. */
static void build_exact(Batch *g, Builder *b) {
  for (int i = 0; i < g->nops; i++) {
    const Op *op = g->ops[i];
    Value **operands = ARENA_ARRAY(g->arena, Value *, op->noperands + 1);
    for (int k = 0; k < op->noperands; k++)
      operands[k] = is_slow(g, op->operands[k]) ? g->exact[op->operands[k]->id] : op->operands[k];
    Op *copy = build_op(b, op->code, op->results[0]->type, op->noperands, operands);
    copy->cval = op->cval;
    copy->results[0]->id = -1;
    g->exact[op->results[0]->id] = copy->results[0];
  }
}

/* Turns `op` into the short form of the quotient of `x` by the root of `y`. */
static void make_quotient_by_root(const Batch *g, Op *op, Value *x, Value *y) {
  op->code = OP_DIV_ROOT_RANGED;
  op->operands = ARENA_ARRAY(g->arena, Value *, 2);
  op->operands[0] = x;
  op->operands[1] = y;
  op->noperands = 2;
}

/* Turns the root or quotient `op` into its short form. */
static void shorten(Batch *g, Op *op) {
  if (op->code == OP_RSQRT) {
    Builder b = builder_before(g->arena, op);
    Value *one = build_float(&b, op->results[0]->type, 1);
    one->id = -1;
    make_quotient_by_root(g, op, one, op->operands[0]);
  } else if (is_by_root(g, op)) {
    make_quotient_by_root(g, op, op->operands[0], op->operands[1]->def->operands[0]);
  } else {
    op->code = op->code == OP_SQRT ? OP_SQRT_RANGED : OP_DIV_RANGED;
  }
}

/* Is `v`, whatever is read, NaN or not below the range? */
static bool is_above(const Batch *g, const Value *v) {
  return v->id >= 0 && v->id < g->n && (g->of[v->id].lo > 1 || eval_ranged(v->type, g->of[v->id].lo));
}

/* The test that value `i` of g->tests is ranged. */
static Value *build_test(Batch *g, Builder *b, int i) {
  Value *v = g->tests[i];
  if (is_above(g, v))
    return build1(b, OP_RANGED_ABOVE, v);
  return build1(b, OP_RANGED, g->absolute[i] ? build1(b, OP_ABS, v) : v);
}

/* The conjunction of all tests. */
static Value *build_tests(Batch *g, Builder *b) {
  Value *all = NULL;
  for (int i = 0; i < g->ntests; i++) {
    Value *x = build_test(g, b, i);
    all = all ? build2(b, OP_AND, all, x) : x;
  }
  return all;
}

/* Begins a new batch. */
static void clear(Batch *g) {
  for (int i = 0; i < g->nops; i++)
    for (int k = 0; k < g->ops[i]->nresults; k++)
      g->slow[g->ops[i]->results[k]->id] = g->live[g->ops[i]->results[k]->id] = false;
  for (int i = 0; i < g->nops; i++)
    for (int k = 0; k < g->ops[i]->noperands; k++)
      if (g->ops[i]->operands[k]->id >= 0 && g->ops[i]->operands[k]->id < g->n)
        g->kept[g->ops[i]->operands[k]->id] = false;
  g->nops = g->nroots = g->ntests = g->nwaiting = g->words = 0;
  g->ops = NULL;
  g->tests = NULL;
  g->waiting = NULL;
  g->absolute = NULL;
}

/* The values of the batch that are used by `at` and the ops after it; their number in *count. */
static Value **live_values(Batch *g, const Op *at, int32_t *count) {
  Value **out = NULL;
  *count = 0;
  note_live(g, at);
  for (int i = 0; i < g->nops; i++)
    if (g->live[g->ops[i]->results[0]->id])
      ARENA_PUSH(g->arena, out, *count, g->ops[i]->results[0]);
  return out;
}

/* Builds the guard of the batch before `at`. */
static void guard(Batch *g, Op *at) {
  int32_t n;
  Value **live = live_values(g, at, &n), **yielded = ARENA_ARRAY(g->arena, Value *, n + 1);
  Type *types = ARENA_ARRAY(g->arena, Type, n + 1);
  if (n == 0)
    return;
  for (int i = 0; i < n; i++)
    types[i] = live[i]->type;
  Builder b = builder_before(g->arena, at);
  Op *choice = build_if(&b, build_tests(g, &b), n, types);
  Builder quick = builder_at_end(g->arena, choice->blocks[0]), full = builder_at_end(g->arena, choice->blocks[1]);
  build_yield(&quick, n, live);
  build_exact(g, &full);
  for (int i = 0; i < n; i++) {
    yielded[i] = g->exact[live[i]->id];
    g->by[live[i]->id] = choice->results[i];
    choice->results[i]->id = -1;
  }
  build_yield(&full, n, yielded);
  replace_behind(g, at);
  for (int i = 0; i < g->nops; i++)
    if (is_root(g, g->ops[i]))
      shorten(g, g->ops[i]);
  g->guards++;
  g->guarded += g->nroots;
}

/* Is the common test cheaper than the separate tests of the roots and quotients? It takes one or two instructions for
 * each operand, a comparison and a branch. A separate test takes about measured.own_test, and its branch keeps the
 * surrounding instructions from being scheduled across it. */
static bool is_worth_it(const Batch *g) {
  int32_t instructions = 2;
  for (int i = 0; i < g->ntests; i++)
    instructions += g->absolute[i] ? 2 : 1;
  return g->ntests && instructions <= measured.own_test * g->nroots;
}

/* Moves the waiting stores before `at` in block `b`, or to its end if `at` is NULL. Returns the first of them, or `at`
 * if there are none. */
static Op *place_waiting(const Batch *g, Block *b, Op *at) {
  for (int i = 0; i < g->nwaiting; i++) {
    op_unlink(g->waiting[i]);
    op_insert(b, at, g->waiting[i]);
  }
  return g->nwaiting ? g->waiting[0] : at;
}

/* Ends the batch before `at` in block `b` (NULL: at its end), and guards it if that pays. */
static void flush(Batch *g, Block *b, Op *at) {
  Op *behind = is_worth_it(g) ? place_waiting(g, b, at) : NULL;
  if (behind)
    guard(g, behind);
  clear(g);
}

/* ---------------------------------------------------------------- blocks */

/* Does `op` use a value of the batch? */
static bool depends(const Batch *g, const Op *op) {
  bool any = false;
  for (int i = 0; i < op->noperands; i++)
    any |= is_slow(g, op->operands[i]);
  return any;
}

/* Is `op` a store without other effects? */
static bool is_store(const Op *op) {
  return op_info[op->code].flags == OPF_WRITE &&
         (op_info[op->code].form == FORM_GLOBAL || op_info[op->code].form == FORM_ARRAY);
}

/* May `op`, which is not pure, observe whether `store` has been done? Buffers do not overlap each other or arrays;
 * arrays may share storage. */
static bool may_meet(const Batch *g, const Op *op, const Op *store) {
  OpForm form = op_info[op->code].form;
  if (form == FORM_LANE)
    return false;
  if (form != FORM_GLOBAL && form != FORM_ARRAY)
    return true;
  return form == op_info[store->code].form &&
         (form == FORM_GLOBAL ? op->sym == store->sym
                              : kernel_storage(g->k, op->sym) == kernel_storage(g->k, store->sym));
}

/* Must the waiting stores be done before `op`? */
static bool meets_waiting(const Batch *g, const Op *op) {
  bool any = false;
  for (int i = 0; i < g->nwaiting && !(op_info[op->code].flags & OPF_PURE); i++)
    any |= may_meet(g, op, g->waiting[i]);
  return any;
}

/* Does `op` exceed the allowed length of a chain of roots and quotients, or depend on a value that does? */
static bool is_deep(const Batch *g, const Op *op) {
  bool deep = is_root(g, op) && level_of(g, op) > tuning.root_levels;
  for (int i = 0; i < op->noperands; i++)
    deep |= op->operands[i]->id >= 0 && op->operands[i]->id < g->n && g->deep[op->operands[i]->id];
  return deep;
}

/* Ends the batch without a guard: its roots and quotients go to g->left, for root-ends.c. */
static void leave(Batch *g) {
  for (int i = 0; i < g->nops; i++)
    if (is_root(g, g->ops[i]))
      ARENA_PUSH(g->arena, g->left, g->nleft, g->ops[i]);
  clear(g);
}

/* Handles one op of block `b`: adds it to the batch, or ends the batch before it. A nested block ends it, an op with an
 * effect that needs a value of the batch or may observe that a store waits, and one root too many. A store of a batched
 * value waits while the batch has few roots, because the stored value takes registers until then. */
static void pass_op(Batch *g, Block *b, Op *op) {
  bool pure = (op_info[op->code].flags & OPF_PURE) && op_info[op->code].form == FORM_PLAIN && op->nresults == 1;
  bool root = pure && is_root(g, op), waits = is_store(op) && depends(g, op) && g->nroots < tuning.enough_roots;
  if (op->nblocks || op->code == OP_YIELD || (!pure && !waits && (depends(g, op) || meets_waiting(g, op))) ||
      (root && (g->nroots == tuning.guarded_roots || g->words > tuning.guarded_words)))
    flush(g, b, op);
  if (pure && is_deep(g, op)) {
    g->deep[op->results[0]->id] = true;
    if (depends(g, op))
      root ? leave(g) : flush(g, b, op);
    if (root)
      ARENA_PUSH(g->arena, g->left, g->nleft, op);
  } else if (waits)
    ARENA_PUSH(g->arena, g->waiting, g->nwaiting, op);
  else if (pure && (root || depends(g, op)))
    take(g, op);
}

/* Runs the pass on `b` and all nested blocks. */
static void guard_block(Batch *g, Block *b) {
  for (Op *op = b->first, *next; op; op = next) {
    next = op->next;
    pass_op(g, b, op);
    for (int i = 0; i < op->nblocks; i++)
      guard_block(g, op->blocks[i]);
  }
  flush(g, b, NULL);
}

/* Is the target's f64 rate at least about half of its f32 rate? Graphics cards are slower by 32 or 64. */
static bool has_quick_f64(const TargetInfo *t) { return t->f64_rate > 0 && t->f64_rate * 3 > t->f32_rate; }

/* The pass: every kernel, where the target has short paths. */
Module *pass_range_guards(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  for (int i = 0; i < m->nkernels && c->target->range_guards; i++) {
    int32_t values = block_renumber(m->kernels[i].body, 0);
    Batch g = {.arena = c->arena,
               .k = &m->kernels[i],
               .fast_f32 = m->fast_math,
               .n = values,
               .slow = ARENA_ARRAY(c->arena, bool, values + 1),
               .live = ARENA_ARRAY(c->arena, bool, values + 1),
               .deep = ARENA_ARRAY(c->arena, bool, values + 1),
               .kept = ARENA_ARRAY(c->arena, bool, values + 1),
               .level = ARENA_ARRAY(c->arena, uint8_t, values + 1),
               .exact = ARENA_ARRAY(c->arena, Value *, values + 1),
               .by = ARENA_ARRAY(c->arena, Value *, values + 1),
               .of = float_bounds(c->arena, &m->kernels[i], m->kernels[i].body, values)};
    guard_block(&g, m->kernels[i].body);
    if (g.nleft) {
      int32_t all = block_renumber(m->kernels[i].body, 0);
      ease_ends(c->arena, g.nleft, g.left, float_bounds(c->arena, &m->kernels[i], m->kernels[i].body, all),
                has_quick_f64(c->target));
    }
    if (g.guards || g.nleft)
      simplify_kernel(c, m, &m->kernels[i]);
    pass_stat(c, g.guards, "range-guards", "tests in kernel %s", m->kernels[i].name);
    pass_stat(c, g.guarded, "range-guards", "roots and quotients that these are for in kernel %s", m->kernels[i].name);
  }
  return m;
}
