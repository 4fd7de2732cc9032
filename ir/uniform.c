/* ir/uniform.c: values that all threads of a block have together. */
#include "ir/ir.h"

/* How deep a value is looked into, and at how many ops in all. */
enum { UNIFORM_DEPTH = 100, UNIFORM_FUEL = 2000 };

/* Is `v` uniform, as far as `depth` ops deep and `*fuel` ops in all tell? */
static bool uniform_to(const Value *v, int depth, int *fuel) {
  const Op *op = v->def;
  if (depth == 0 || --*fuel < 0)
    return false;
  if (!op) {
    const Op *loop = v->block ? v->block->parent : NULL;
    return loop && loop->code == OP_FOR && v->index == 0 && uniform_to(loop->operands[0], depth - 1, fuel) &&
           uniform_to(loop->operands[1], depth - 1, fuel);
  }
  if (op->code == OP_THREAD || !(op_info[op->code].flags & OPF_PURE))
    return false;
  for (int i = 0; i < op->noperands; i++)
    if (!uniform_to(op->operands[i], depth - 1, fuel))
      return false;
  return true;
}

bool value_is_uniform(const Value *v) {
  int fuel = UNIFORM_FUEL;
  return uniform_to(v, UNIFORM_DEPTH, &fuel);
}
