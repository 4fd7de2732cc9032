/* range-guards.c: roots and quotients on the short path, with one test for many.
 *
 * A root or quotient that rounds correctly is short for most operands: an approximation by the hardware, and a few
 * fused multiply-adds. Those that are tiny, huge, zero, infinite or NaN take a call, and what LLVM and ptxas make of
 * each `sqrt` and `div` is a test, a branch about the call, and what surrounds them: five or six instructions each.
 * This pass makes one test of many. It collects roots (`sqrt`, `rsqrt`) and quotients of f32 and f64 in a block with
 * what is computed from them, until an op that has an effect (a shuffle) needs one of these values, a nested block or
 * the block's end comes, there are 32 (tuning.guarded_roots), or 112 words (tuning.guarded_words) wait: all operands
 * do, in registers, until the test, and all that the long way below computes from. Stores of these values wait
 * themselves while there are fewer than eight (tuning.enough_roots), unless something else touches the same memory or
 * is a barrier; so the cells of a thread share tests also where each is stored at once. They become `sqrt.ranged`,
 * `div.ranged` and, where a quotient's divisor is a root that is tested with it, `div.root.ranged`, for operands known
 * to be neither tiny nor huge, and before that op stands
 *
 *     %a', %b' = if %ok { yield %a, %b } else { all of it again, with sqrt and div; yield }
 *
 * for the values needed from there on, where `%ok` says that all operands are `ranged`. In a streamed tile that is one
 * branch for the cells that a thread has of a row. No test is needed of constants, of roots of what is tested and of
 * its absolute value. What is 2^-62 (f64: 2^-500) or more, whatever is read, as a positive constant and squares are, is
 * asked for its upper end alone (`ranged.above`), which is half an instruction where hardware has the maximum of three;
 * float-bounds.c says which is, sums that private arrays keep between rows among them. Where the tests are more
 * instructions than those that the roots and quotients make of their own (about five each; the common one takes one for
 * each number, one more for its absolute value, and two), they are left alone: a single quotient of two variables is.
 * So results are the same to the bit, whatever the operands. An operand that is often zero or infinite makes the
 * threads of its warp compute twice; quotients of zero by a constant are such, too.
 *
 * Left as they are: roots and quotients of which more than six (tuning.root_levels) are computed one after another, as
 * iterations do, and what depends on them: one test for all of the Jacobi rotations of anisotropic_diffusion, whose
 * last corrections are nearly zero, failed in most warps, and made a step 1.3 times as long; f32 under `-ffast-math`,
 * which approximates them; 16-bit floats; operands that are constants out of range; quotients by powers of two, which
 * LLVM makes products; all on the host, which has nothing to gain (`TargetInfo.range_guards`). In the simulator a short
 * path out of its range gives NaN, so that a missing test shows.
 *
 * Instructions for a point and step away from edges, counted in the code of ptxas 13.0 for sm_90 without what only the
 * other way needs, at the defaults for 16384^2: gradient2d 18.1 in f32, of which 1.3 test, and 28.5 in f64
 * (`div.root.ranged` has one operation on the pipe for functions instead of two, and in f64 four instructions less); by
 * ncu it had been 32 in f32 with tests of their own.
 *
 * How they are computed: docs/backends.md.
 *
 * Measured: docs/lab/programs.md. */
#include <math.h>

#include "ir/run/run.h"
#include "passes/simplify/analysis.h"
#include "passes/kernel/root-ends.h"
#include "passes/base/tuning.h"
#include "passes/registry.h"
#include "passes/base/weights.h"

/* The roots and quotients of a block that have been met and not been guarded yet. slow[id]: the value depends on one of
 * them, by level[id] of them one after another; deep[id]: by more than tuning.root_levels, and none is guarded;
 * live[id]: it is used behind them; kept[id]: it is not made in the batch, but used there, so that it waits for the
 * test, as `words` words do in all; exact[id], by[id]: what stands for it on the other way, and behind both; ops: those
 * that make such values, in order; tests: what must be ranged; waiting: stores of such values, in order, which come
 * behind the guard. */
typedef struct Batch {
  Arena *arena;
  bool fast_f32; /* f32 is approximated anyway */
  int32_t n;     /* values that have numbers */
  bool *slow, *live, *deep, *kept;
  uint8_t *level;
  Value **exact, **by;
  int32_t nops, nroots, ntests, words;
  Op **ops;
  Value **tests;
  bool *absolute;        /* tests[i]: its absolute value must be ranged */
  const FloatBounds *of; /* bounds of all values, by number */
  const Kernel *k;
  int32_t nwaiting;
  Op **waiting;
  int64_t guards, guarded; /* in all */
  int32_t nleft;
  Op **left; /* the roots and quotients that are deep, and those that these are made of */
} Batch;

static bool is_slow(const Batch *g, const Value *v) { return v->id >= 0 && v->id < g->n && g->slow[v->id]; }

/* ---------------------------------------------------------------- what is to be tested */

/* Is `v` ranged whatever the operands are, as far as its absolute value goes? */
static bool is_always_ranged(const Value *v) {
  const Op *op = v->def;
  return op && ((op->code == OP_CONST && eval_ranged(v->type, fabs(op->cval.f))) || op->code == OP_SQRT ||
                op->code == OP_SQRT_RANGED);
}

/* Can operand `v` of a quotient, or with `root` of a root, be ranged at all? */
static bool can_be_ranged(const Value *v, bool root) {
  return !v->def || v->def->code != OP_CONST || (is_always_ranged(v) && !(root && v->def->cval.f < 0));
}

/* Is `v` a constant power of two? A quotient by one is a product. */
static bool is_power_of_two(const Value *v) {
  int exponent;
  return v->def && v->def->code == OP_CONST && fabs(frexp(v->def->cval.f, &exponent)) == 0.5;
}

/* Is `op` a root or quotient that has a short path? */
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

/* Notes that `v` (its absolute value, unless it must be itself) must be ranged. A root that is in the batch is, since
 * its operand is tested; any other might be of anything. */
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

/* Is the divisor of `op` a root that is tested with it? */
static bool is_by_root(const Batch *g, const Op *op) {
  const Op *root = op->code == OP_DIV ? op->operands[1]->def : NULL;
  return root && is_slow(g, op->operands[1]) && (root->code == OP_SQRT || root->code == OP_SQRT_RANGED);
}

/* How many roots and quotients of the batch the result of `op` is computed by one after another. A quotient by a root
 * is one with it. */
static int32_t level_of(const Batch *g, const Op *op) {
  int32_t level = 0;
  for (int i = 0; i < op->noperands; i++)
    if (is_slow(g, op->operands[i]) && g->level[op->operands[i]->id] > level)
      level = g->level[op->operands[i]->id];
  return level + (is_root(g, op) && !is_by_root(g, op));
}

/* Notes that `v`, if it is not made in the batch, is kept until behind the test: the other way computes from it. */
static void keep(Batch *g, const Value *v) {
  bool free = v->def && (v->def->code == OP_CONST || v->def->code == OP_SCALAR);
  if (free || v->id < 0 || v->id >= g->n || g->slow[v->id] || g->kept[v->id])
    return;
  g->kept[v->id] = true;
  g->words += type_words(v->type);
}

/* Takes `op` into the batch. */
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

/* Notes which values of the batch `op` and those behind it in its block use. */
static void note_live(Batch *g, const Op *op) {
  for (; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++)
      if (is_slow(g, op->operands[i]))
        g->live[op->operands[i]->id] = true;
    for (int i = 0; i < op->nblocks; i++)
      note_live(g, op->blocks[i]->first);
  }
}

/* Replaces the values of the batch by what stands for them, in `op` and those behind it in its block. */
static void replace_behind(const Batch *g, Op *op) {
  for (; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++)
      if (is_slow(g, op->operands[i]))
        op->operands[i] = g->by[op->operands[i]->id];
    for (int i = 0; i < op->nblocks; i++)
      replace_behind(g, op->blocks[i]->first);
  }
}

/* Builds the ops of the batch anew; operands that are none of its values stay. */
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

/* Makes `op` the quotient of `x` by the root of `y`. */
static void make_quotient_by_root(const Batch *g, Op *op, Value *x, Value *y) {
  op->code = OP_DIV_ROOT_RANGED;
  op->operands = ARENA_ARRAY(g->arena, Value *, 2);
  op->operands[0] = x;
  op->operands[1] = y;
  op->noperands = 2;
}

/* Makes the root or quotient `op` one on the short path. */
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

/* Is `v` NaN or not below what is ranged, whatever is read? */
static bool is_above(const Batch *g, const Value *v) {
  return v->id >= 0 && v->id < g->n && (g->of[v->id].lo > 1 || eval_ranged(v->type, g->of[v->id].lo));
}

/* Number `i` of what was noted is ranged. */
static Value *build_test(Batch *g, Builder *b, int i) {
  Value *v = g->tests[i];
  if (is_above(g, v))
    return build1(b, OP_RANGED_ABOVE, v);
  return build1(b, OP_RANGED, g->absolute[i] ? build1(b, OP_ABS, v) : v);
}

/* All that was noted is ranged. */
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

/* The values of the batch that `at` and what is behind it use, their number in *count. */
static Value **live_values(Batch *g, const Op *at, int32_t *count) {
  Value **out = NULL;
  *count = 0;
  note_live(g, at);
  for (int i = 0; i < g->nops; i++)
    if (g->live[g->ops[i]->results[0]->id])
      ARENA_PUSH(g->arena, out, *count, g->ops[i]->results[0]);
  return out;
}

/* Guards the batch before `at`. */
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

/* Is one test less than the tests that roots and quotients have of their own? The first takes an instruction or two for
 * each number, a comparison and a branch; each of the others about measured.own_test, and they keep what is around them
 * from being computed meanwhile. */
static bool is_worth_it(const Batch *g) {
  int32_t instructions = 2;
  for (int i = 0; i < g->ntests; i++)
    instructions += g->absolute[i] ? 2 : 1;
  return g->ntests && instructions <= measured.own_test * g->nroots;
}

/* The stores that wait go before `at` in block `b`, or to its end if that is NULL. Returns the first of them, or `at`.
 */
static Op *place_waiting(const Batch *g, Block *b, Op *at) {
  for (int i = 0; i < g->nwaiting; i++) {
    op_unlink(g->waiting[i]);
    op_insert(b, at, g->waiting[i]);
  }
  return g->nwaiting ? g->waiting[0] : at;
}

/* Guards what is waiting in block `b` before `at`, at its end if that is NULL, if it is worth it. */
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

/* Is `op` a store alone? */
static bool is_store(const Op *op) {
  return op_info[op->code].flags == OPF_WRITE &&
         (op_info[op->code].form == FORM_GLOBAL || op_info[op->code].form == FORM_ARRAY);
}

/* May `op`, which is not pure, see whether `store` has been done? Buffers are apart from each other and from arrays;
 * arrays may share memory. */
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

/* Must what waits be done before `op`? Not for another store that is going to wait. */
static bool meets_waiting(const Batch *g, const Op *op) {
  bool any = false;
  for (int i = 0; i < g->nwaiting && !(op_info[op->code].flags & OPF_PURE); i++)
    any |= may_meet(g, op, g->waiting[i]);
  return any;
}

/* Is `op` deep: one too many of roots and quotients that are computed one after another, or of what is deep? */
static bool is_deep(const Batch *g, const Op *op) {
  bool deep = is_root(g, op) && level_of(g, op) > tuning.root_levels;
  for (int i = 0; i < op->noperands; i++)
    deep |= op->operands[i]->id >= 0 && op->operands[i]->id < g->n && g->deep[op->operands[i]->id];
  return deep;
}

/* Leaves the roots and quotients of the batch as they are, but for their ends (root-ends.c). */
static void leave(Batch *g) {
  for (int i = 0; i < g->nops; i++)
    if (is_root(g, g->ops[i]))
      ARENA_PUSH(g->arena, g->left, g->nleft, g->ops[i]);
  clear(g);
}

/* Takes one op of block `b` into the batch, or ends that before it: for a nested block, an op other than a store that
 * has an effect and needs a value of the batch, one that could see that a store waits, and a root too many; a store
 * waits while the roots are few, since what is stored takes registers until then. */
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

/* The work on `b` and all nested in it. */
static void guard_block(Batch *g, Block *b) {
  for (Op *op = b->first, *next; op; op = next) {
    next = op->next;
    pass_op(g, b, op);
    for (int i = 0; i < op->nblocks; i++)
      guard_block(g, op->blocks[i]);
  }
  flush(g, b, NULL);
}

/* Does the target add f64 half as fast as f32, or nearly so? Cards for pictures take 32 or 64 times as long. */
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
