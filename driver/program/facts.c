/* driver/program/facts.c: properties of a program after it was read. */
#include "driver/artifact/artifact.h"
#include "driver/program/program.h"

int stc_program_reduction_count(const StcProgram *p) {
  int n = 0;
  for (int i = 0; i < p->module->nreductions; i++)
    n += p->module->reductions[i].kind != REDUCE_FINITE && p->module->reductions[i].kind != REDUCE_BOUNDS;
  return n;
}

int stc_program_rank(const StcProgram *p) { return p->module->grid.rank; }
int64_t stc_program_steps(const StcProgram *p) {
  const Module *m = p->module;
  Const *values = ARENA_ARRAY(m->arena, Const, m->nscalars + 1);
  bool *known = ARENA_ARRAY(m->arena, bool, m->nscalars + 1);
  scalar_defaults(p, m, values, known);
  return m->steps_by && !known[m->steps_by - 1] ? -1 : module_steps(m, values);
}

/* Clears the bool at `user` if the result of `op` differs between devices. */
static void check_exact(void *user, Op *op) {
  if (op_info[op->code].flags & OPF_INEXACT)
    *(bool *)user = false;
}

/* Clears *exact if `op` is floating-point arithmetic that contraction or reassociation may change. */
static void check_integer(void *user, Op *op) {
  for (int i = 0; i < op->nresults; i++)
    if (type_is_float(op->results[i]->type) &&
        (op->code == OP_MUL || op->code == OP_DIV || op->code == OP_ADD || op->code == OP_SUB))
      *(bool *)user = false;
}

/* Visits all bodies of the program that run on the device. */
static void walk_bodies(const Module *m, void (*fn)(void *user, Op *op), void *user) {
  Bodies bodies = bodies_of(m, CODE_INITS | CODE_STENCILS | CODE_REDUCTIONS | CODE_KERNELS);
  for (Block *b; (b = bodies_next(&bodies));)
    block_walk(b, fn, user);
}

bool stc_program_is_exact(const StcProgram *p) {
  bool exact = true, integer = true;
  walk_bodies(p->module, check_exact, &exact);
  walk_bodies(p->module, check_integer, &integer);
  bool strict = !p->module->contract && !p->module->fast_math;
  return exact && (strict || integer);
}
