/* step-branches.c: moves arithmetic into an if when a choice by the step discards its result in most steps.
 *
 * Stencils that run in every Nth step (pass every), and choices of the program by `step % K == 0`, compute a value in
 * each step, and most steps keep another one. The condition is the same for all threads of a launch, so a branch on it
 * costs one instruction, and no warp diverges:
 *
 *     %due = eq (rem %step, 10), 0                    %v = if %due { what %x alone is made of; yield %x }
 *     ... %x ...                               ->          else { yield %old }
 *     %v = select %due, %x, %old
 *
 * Selects by the same condition share an if until something needs one of them: the cells of a thread, and several
 * targets. Their operands move into the if unless something else uses them. Loads stay in their places, because later
 * code may write what they read. An if must save tuning.branch_instructions; a kernel without a choice by the step
 * stays as it is. On targets without threads LLVM moves such choices out of loops. */
#include "passes/base/tuning.h"
#include "passes/base/weights.h"
#include "passes/registry.h"

#include <string.h>

/* The state of the pass on a kernel of `n` values. uses[id]: the number of operands that use a value. inside[arm][id]:
 * how many of these belong to ops that will move into that arm. selects: the waiting selects, all by condition
 * `cond`. */
typedef struct Branches {
  PassContext *c;
  Kernel *k;
  int32_t n, nselects;
  int32_t *uses, *inside[2];
  Value *cond;
  Op **selects;
  int64_t made;
} Branches;

static bool is_numbered(const Branches *x, const Value *v) { return v->id >= 0 && v->id < x->n; }

/* Is `op` an operation on its operands alone, with one result? */
static bool is_plain(const Op *op) {
  return (op_info[op->code].flags & OPF_PURE) && op_info[op->code].form == FORM_PLAIN && op->nresults == 1 &&
         !op->nblocks;
}

/* Notes what `op` uses (a block_walk callback). */
static void note(void *user, Op *op) {
  Branches *x = user;
  for (int i = 0; i < op->noperands; i++)
    x->uses[op->operands[i]->id]++;
}

/* Is `op` a select that depends on the step alone and takes one operand in few steps? */
static bool is_choice(const Op *op) { return op->code == OP_SELECT && value_step_share(op->operands[0]) > 0; }

/* Does `op` use the result of a waiting select? */
static bool needs_waiting(const Branches *x, const Op *op) {
  for (int i = 0; i < op->noperands; i++)
    for (int k = 0; k < x->nselects; k++)
      if (op->operands[i] == x->selects[k]->results[0])
        return true;
  return false;
}

/* Counts a use within `arm` for each of the `n` values. */
static void use_inside(Branches *x, int arm, int n, Value *const *values) {
  for (int i = 0; i < n; i++)
    if (is_numbered(x, values[i]))
      x->inside[arm][values[i]->id]++;
}

/* The arm into which `op` can move, 0 or 1; -1 if none. */
static int arm_of(const Branches *x, const Op *op) {
  if (!is_plain(op) || !is_numbered(x, op->results[0]) || !x->uses[op->results[0]->id])
    return -1;
  for (int arm = 0; arm < 2; arm++)
    if (x->inside[arm][op->results[0]->id] == x->uses[op->results[0]->id])
      return arm;
  return -1;
}

/* Finds for each arm the ops of block `b` before `at` (NULL: all ops) that can move into it, last first. Returns their
 * number of instructions. */
static int32_t find_movable(Branches *x, Block *b, Op *at, int32_t n[2], Op **ops[2]) {
  int32_t instructions = 0;
  for (int arm = 0; arm < 2; arm++) {
    n[arm] = 0;
    ops[arm] = NULL;
    memset(x->inside[arm], 0, sizeof *x->inside[arm] * (size_t)x->n);
    for (int i = 0; i < x->nselects; i++)
      use_inside(x, arm, 1, &x->selects[i]->operands[1 + arm]);
  }
  for (Op *op = at ? at->prev : b->last; op; op = op->prev) {
    int arm = arm_of(x, op);
    if (arm < 0)
      continue;
    use_inside(x, arm, op->noperands, op->operands);
    instructions += op_instructions(op, false);
    ARENA_PUSH(x->c->arena, ops[arm], n[arm], op);
  }
  return instructions;
}

/* Fills block `into` of an if with the `n` ops, given last first, and yields operand `operand` of each select. */
static void fill_arm(const Branches *x, Block *into, int32_t n, Op *const *ops, int operand) {
  Value **values = ARENA_ARRAY(x->c->arena, Value *, x->nselects);
  for (int i = n - 1; i >= 0; i--) {
    op_unlink(ops[i]);
    op_insert(into, NULL, ops[i]);
  }
  for (int i = 0; i < x->nselects; i++)
    values[i] = x->selects[i]->operands[operand];
  Builder b = builder_at_end(x->c->arena, into);
  build_yield(&b, x->nselects, values);
}

/* Replaces the waiting selects of block `b` by an if before `at`, if that saves enough. */
static void flush(Branches *x, Block *b, Op *at) {
  int32_t n[2];
  Op **ops[2];
  if (x->nselects && find_movable(x, b, at, n, ops) >= tuning.branch_instructions) {
    Type *types = ARENA_ARRAY(x->c->arena, Type, x->nselects);
    for (int i = 0; i < x->nselects; i++)
      types[i] = x->selects[i]->results[0]->type;
    Builder to = at ? builder_before(x->c->arena, at) : builder_at_end(x->c->arena, b);
    to.loc = x->selects[0]->loc;
    Op *choice = build_if(&to, x->cond, x->nselects, types);
    for (int arm = 0; arm < 2; arm++)
      fill_arm(x, choice->blocks[arm], n[arm], ops[arm], 1 + arm);
    for (int i = 0; i < x->nselects; i++) {
      choice->results[i]->id = -1;
      block_replace_uses(x->k->body, x->selects[i]->results[0], choice->results[i]);
      op_unlink(x->selects[i]);
    }
    x->made++;
  }
  x->nselects = 0;
  x->selects = NULL;
}

/* Runs the pass on `b` and all nested blocks. */
static void branch_block(Branches *x, Block *b) {
  for (Op *op = b->first, *next; op; op = next) {
    next = op->next;
    bool choice = is_choice(op);
    if (op->nblocks || op->code == OP_YIELD || needs_waiting(x, op) || (choice && x->cond != op->operands[0]))
      flush(x, b, op);
    if (choice) {
      x->cond = op->operands[0];
      ARENA_PUSH(x->c->arena, x->selects, x->nselects, op);
    }
    for (int i = 0; i < op->nblocks; i++)
      branch_block(x, op->blocks[i]);
  }
  flush(x, b, NULL);
}

/* The pass: every kernel, on targets with threads. */
Module *pass_step_branches(PassContext *c, Module *m, int n, const PassOption *o) {
  (void)n, (void)o;
  for (int i = 0; i < m->nkernels && c->target->simt; i++) {
    int32_t values = block_renumber(m->kernels[i].body, 0);
    Branches x = {.c = c, .k = &m->kernels[i], .n = values};
    x.uses = ARENA_ARRAY(c->arena, int32_t, values + 1);
    for (int arm = 0; arm < 2; arm++)
      x.inside[arm] = ARENA_ARRAY(c->arena, int32_t, values + 1);
    block_walk(m->kernels[i].body, note, &x);
    branch_block(&x, m->kernels[i].body);
    pass_stat(c, x.made, "step-branches", "branches by the step in kernel %s", m->kernels[i].name);
  }
  return m;
}
