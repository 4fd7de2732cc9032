/* ir/uniform.c: finds values that are the same in all threads of a block. */
#include "ir/ir.h"

/* Limits of the search: its depth, and the number of ops that it visits. */
enum { UNIFORM_DEPTH = 100, UNIFORM_FUEL = 2000 };

/* The number of visited values that are remembered. They count as uniform until one is found that is not. */
enum { UNIFORM_SEEN = 64 };
typedef struct Uniform {
  int fuel;
  const Value *seen[UNIFORM_SEEN];
} Uniform;

/* Has `v` been visited, as far as that is remembered? Marks it as visited. */
static bool seen_before(Uniform *u, const Value *v) {
  const Value **place = &u->seen[(uintptr_t)v / sizeof *v % UNIFORM_SEEN];
  bool seen = *place == v;
  *place = v;
  return seen;
}

/* Is `v` uniform? False if more than `depth` levels or u->fuel ops would have to be visited. */
static bool uniform_to(const Value *v, int depth, Uniform *u) {
  const Op *op = v->def;
  if (seen_before(u, v))
    return true;
  if (depth == 0 || --u->fuel < 0)
    return false;
  if (!op) {
    const Op *loop = v->block ? v->block->parent : NULL;
    return loop && loop->code == OP_FOR && v->index == 0 && uniform_to(loop->operands[0], depth - 1, u) &&
           uniform_to(loop->operands[1], depth - 1, u);
  }
  if (op->code == OP_THREAD || !(op_info[op->code].flags & OPF_PURE))
    return false;
  for (int i = 0; i < op->noperands; i++)
    if (!uniform_to(op->operands[i], depth - 1, u))
      return false;
  return true;
}

bool value_is_uniform(const Value *v) {
  Uniform u = {.fuel = UNIFORM_FUEL};
  return uniform_to(v, UNIFORM_DEPTH, &u);
}
