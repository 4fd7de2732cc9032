/* verify-levels.c: the rules of reads of a finer or coarser level of the grid than the stencil's own. */
#include "ir/verify/verify.h"

void verify_scaled(Verifier *v, const Op *op) {
  const Field *f = &v->m->fields[op->sym];
  const Stencil *st = v->stencil;
  if (!st || st->sweep)
    verify_fail(v, op->loc, "op '%s' stands in a stencil alone, which is no sweep", op_info[op->code].name);
  if (f->temp || f->past || f->frames)
    verify_fail(v, op->loc, "op '%s' reads field '%s', which is temp, an older level or has frames",
                op_info[op->code].name, f->name);
  for (int t = 0; st && t < st->ntargets; t++)
    if (st->targets[t] == op->sym)
      verify_fail(v, op->loc, "op '%s' reads field '%s', a target of the stencil", op_info[op->code].name, f->name);
}
