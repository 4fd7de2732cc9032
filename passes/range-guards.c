/* range-guards.c: roots and quotients on the short path, with one test for many. A root or a quotient that rounds correctly for all operands is a short sequence for most of them and a call for the
 * rest (tiny, huge, zero, infinite, NaN), and each tests by itself which it is. This pass takes all that have no effect between them together:
 *
 *   %r = sqrt %x                      %r' = sqrt.ranged %x
 *   %s = div %one, %r                 %s' = div.ranged %one, %r'
 *   ... for other cells               ...
 *   store %s, ...                     %ok = and of (ranged %x), ...
 *                                     %s = if %ok { yield %s' } else { the same with sqrt and div; yield }
 *                                     store %s, ...
 *
 * so that there is one branch, which nearly always goes one way. What needs no test: constants, and roots of what was tested. */
#include <math.h>

#include "passes/analysis.h"
#include "passes/registry.h"

/* The roots and quotients of a block that have been met and not been guarded yet. slow[id]: the value depends on one of them; ops: those that make such values, in order; tests: what must be ranged. */
typedef struct Batch {
  Arena *arena;
  bool fast_f32;                 /* f32 is approximated anyway */
  int32_t n;                     /* values that have numbers */
  bool *slow;
  int32_t nops, nroots, ntests;
  Op **ops;
  Value **tests;
  bool *absolute;                /* tests[i]: its absolute value must be ranged */
  int64_t guards, guarded;       /* in all */
} Batch;

static bool is_slow(const Batch *g, const Value *v) { return v->id >= 0 && v->id < g->n && g->slow[v->id]; }

/* ---------------------------------------------------------------- what is to be tested */

/* Is `v` ranged whatever the operands are, as far as its absolute value goes? */
static bool is_always_ranged(const Value *v) {
  const Op *op = v->def;
  return op && ((op->code == OP_CONST && eval_ranged(v->type, fabs(op->cval.f))) || op->code == OP_SQRT || op->code == OP_SQRT_RANGED);
}

/* Can `v` be ranged at all? */
static bool can_be_ranged(const Value *v) { return !v->def || v->def->code != OP_CONST || is_always_ranged(v); }

/* Is `op` a root or quotient that has a short path? */
static bool is_root(const Batch *g, const Op *op) {
  if (op->code != OP_SQRT && op->code != OP_RSQRT && op->code != OP_DIV)
    return false;
  Type t = op->results[0]->type;
  bool possible = t == TY_F64 || (t == TY_F32 && !g->fast_f32);
  for (int i = 0; i < op->noperands; i++)
    possible = possible && can_be_ranged(op->operands[i]);
  return possible;
}

/* Notes that `v` (its absolute value) must be ranged. A root that is in the batch is, since its operand is tested; any other might be of anything. */
static void note_test(Batch *g, Value *v, bool absolute) {
  if (is_always_ranged(v) && (v->def->code == OP_CONST || is_slow(g, v)))
    return;
  for (int i = 0; i < g->ntests; i++)
    if (g->tests[i] == v && g->absolute[i] == absolute)
      return;
  int32_t n = g->ntests;
  ARENA_PUSH(g->arena, g->absolute, n, absolute);
  ARENA_PUSH(g->arena, g->tests, g->ntests, v);
}

/* Takes `op` into the batch. */
static void take(Batch *g, Op *op) {
  bool root = is_root(g, op);
  for (int i = 0; root && i < op->noperands; i++)
    note_test(g, op->operands[i], op->code == OP_DIV);
  g->nroots += root;
  ARENA_PUSH(g->arena, g->ops, g->nops, op);
  for (int i = 0; i < op->nresults; i++)
    g->slow[op->results[i]->id] = true;
}

/* ---------------------------------------------------------------- rewriting */

/* Sets live[id] for the values of the batch that `op` and those behind it in its block use. */
static void note_live(const Batch *g, const Op *op, bool *live) {
  for (; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++)
      if (is_slow(g, op->operands[i]))
        live[op->operands[i]->id] = true;
    for (int i = 0; i < op->nblocks; i++)
      note_live(g, op->blocks[i]->first, live);
  }
}

/* Replaces the values of the batch by those at `by` in `op` and those behind it in its block. */
static void replace_behind(const Batch *g, Op *op, Value *const *by) {
  for (; op; op = op->next) {
    for (int i = 0; i < op->noperands; i++)
      if (is_slow(g, op->operands[i]))
        op->operands[i] = by[op->operands[i]->id];
    for (int i = 0; i < op->nblocks; i++)
      replace_behind(g, op->blocks[i]->first, by);
  }
}

/* Builds the ops of the batch anew, their values in `map`; operands that `map` does not have stay. */
static void build_exact(Batch *g, Builder *b, Value **map) {
  for (int i = 0; i < g->nops; i++) {
    const Op *op = g->ops[i];
    Value **operands = ARENA_ARRAY(g->arena, Value *, op->noperands + 1);
    for (int k = 0; k < op->noperands; k++)
      operands[k] = is_slow(g, op->operands[k]) ? map[op->operands[k]->id] : op->operands[k];
    Op *copy = build_op(b, op->code, op->results[0]->type, op->noperands, operands);
    copy->cval = op->cval;
    copy->results[0]->id = -1;
    map[op->results[0]->id] = copy->results[0];
  }
}

/* Makes the root or quotient `op` one on the short path. */
static void shorten(Batch *g, Op *op) {
  if (op->code == OP_RSQRT) {
    Builder b = builder_before(g->arena, op);
    Value *one = build_float(&b, op->results[0]->type, 1), *root = build1(&b, OP_SQRT_RANGED, op->operands[0]);
    one->id = root->id = -1;
    op->operands = ARENA_ARRAY(g->arena, Value *, 2);
    op->operands[0] = one;
    op->operands[1] = root;
    op->noperands = 2;
  }
  op->code = op->code == OP_SQRT ? OP_SQRT_RANGED : OP_DIV_RANGED;
}

/* All that was noted is ranged. */
static Value *build_tests(Batch *g, Builder *b) {
  Value *all = NULL;
  for (int i = 0; i < g->ntests; i++) {
    Value *x = build1(b, OP_RANGED, g->absolute[i] ? build1(b, OP_ABS, g->tests[i]) : g->tests[i]);
    all = all ? build2(b, OP_AND, all, x) : x;
  }
  return all;
}

/* Begins a new batch. */
static void clear(Batch *g) {
  for (int i = 0; i < g->nops; i++)
    for (int k = 0; k < g->ops[i]->nresults; k++)
      g->slow[g->ops[i]->results[k]->id] = false;
  g->nops = g->nroots = g->ntests = 0;
  g->ops = NULL;
  g->tests = NULL;
  g->absolute = NULL;
}

/* The values of the batch that `at` and what is behind it use, their number in *count. */
static Value **live_values(Batch *g, const Op *at, int32_t *count) {
  Value **out = NULL;
  bool *live = ARENA_ARRAY(g->arena, bool, g->n + 1);
  *count = 0;
  note_live(g, at, live);
  for (int i = 0; i < g->nops; i++)
    if (live[g->ops[i]->results[0]->id])
      ARENA_PUSH(g->arena, out, *count, g->ops[i]->results[0]);
  return out;
}

/* Guards the batch before `at`. */
static void guard(Batch *g, Op *at) {
  int32_t n;
  Value **live = live_values(g, at, &n), **exact = ARENA_ARRAY(g->arena, Value *, g->n + 1), **by = ARENA_ARRAY(g->arena, Value *, g->n + 1);
  Type *types = ARENA_ARRAY(g->arena, Type, n + 1);
  Value **yielded = ARENA_ARRAY(g->arena, Value *, n + 1);
  if (n == 0 || g->ntests == 0)
    return;
  for (int i = 0; i < n; i++)
    types[i] = live[i]->type;
  Builder b = builder_before(g->arena, at);
  Op *choice = build_if(&b, build_tests(g, &b), n, types);
  Builder quick = builder_at_end(g->arena, choice->blocks[0]), full = builder_at_end(g->arena, choice->blocks[1]);
  build_yield(&quick, n, live);
  build_exact(g, &full, exact);
  for (int i = 0; i < n; i++) {
    yielded[i] = exact[live[i]->id];
    by[live[i]->id] = choice->results[i];
    choice->results[i]->id = -1;
  }
  build_yield(&full, n, yielded);
  replace_behind(g, at, by);
  for (int i = 0; i < g->nops; i++)
    if (is_root(g, g->ops[i]))
      shorten(g, g->ops[i]);
  g->guards++;
  g->guarded += g->nroots;
}

/* Guards what is waiting before `at`, if there is something. */
static void flush(Batch *g, Op *at) {
  if (g->nroots)
    guard(g, at);
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

/* The work on `b` and all nested in it. A nested block, and an op that has an effect and needs a value of the batch, end the batch. */
static void guard_block(Batch *g, Block *b) {
  for (Op *op = b->first, *next; op; op = next) {
    next = op->next;
    bool pure = (op_info[op->code].flags & OPF_PURE) && op_info[op->code].form == FORM_PLAIN && op->nresults == 1;
    if (op->nblocks || op->code == OP_YIELD || (!pure && depends(g, op)))
      flush(g, op);
    else if (pure && (is_root(g, op) || depends(g, op)))
      take(g, op);
    for (int i = 0; i < op->nblocks; i++)
      guard_block(g, op->blocks[i]);
  }
  clear(g);
}

/* The pass: every kernel, where the target has short paths. */
Module *pass_range_guards(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  for (int i = 0; i < m->nkernels && c->target->range_guards; i++) {
    module_renumber(m);
    int32_t values = block_renumber(m->kernels[i].body, 0);
    Batch g = {.arena = c->arena, .fast_f32 = m->fast_math, .n = values, .slow = ARENA_ARRAY(c->arena, bool, values + 1)};
    guard_block(&g, m->kernels[i].body);
    if (g.guards)
      simplify_kernel(c, m, &m->kernels[i]);
    pass_stat(c, g.guards, "range-guards", "tests in kernel %s", m->kernels[i].name);
    pass_stat(c, g.guarded, "range-guards", "roots and quotients that these are for in kernel %s", m->kernels[i].name);
  }
  return m;
}
