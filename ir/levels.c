/* ir/levels.c: stencils that read the level of the grid beside their own (OP_FINE, OP_COARSE). */
#include "ir/module.h"

bool op_is_scaled(const Op *op) { return op->code == OP_FINE || op->code == OP_COARSE; }

bool op_reads_field(const Op *op) { return op->code == OP_ACCESS || op_is_scaled(op); }

bool stencil_is_scaled(const Stencil *st) {
  for (int i = 0; i < st->npieces; i++)
    for (const Op *op = st->pieces[i].body->first; op; op = op->next)
      if (op_is_scaled(op))
        return true;
  return false;
}

const Stencil *module_scaled(const Module *m) {
  for (int i = 0; i < m->nstencils; i++)
    if (stencil_is_scaled(&m->stencils[i]))
      return &m->stencils[i];
  return NULL;
}

int64_t scaled_coordinate(const Op *op, int d, int64_t x) {
  int64_t half = x / 2 - (x % 2 < 0);
  return (op->code == OP_FINE ? 2 * x : half) + op->off[d];
}
