/* every.c: replaces stencils that run in every Nth step (Stencil.every): in the other steps each of their targets keeps
 * its value. Lowerings, tiles of several steps and all other passes then need not know them.
 *
 *     stencil image every 10 (S) = S + p * p     ->     stencil image (S) = step % 10 == 0 ? S + p * p : S
 *
 * Temp fields have no value to keep. In a step without the stencil only stencils that do not run either read its temp
 * fields (frontend/check/check_every.c), and these discard the value. The reference skips the stencils directly. */
#include "passes/launch/launch.h"
#include "passes/registry.h"

/* Has the field a composite type, which pass scalarize replaces? */
static bool is_composite(const Module *m, int field) { return type_composite(m, m->fields[field].type) != NULL; }

/* Makes the piece, of a stencil that runs every `every` steps, keep its targets' values in the other steps. */
static void keep_between(const Module *m, const Piece *p, int64_t every) {
  static const int64_t here[MAX_RANK];
  Op *yield = p->body->last;
  Value *due = NULL;
  for (int t = 0; t < p->ntargets; t++) {
    const Field *f = &m->fields[p->targets[t]];
    if (f->temp)
      continue;
    Builder b = builder_before(m->arena, yield);
    b.loc = yield->loc;
    if (!due) {
      Value *over = build2(&b, OP_REM, build_step(&b), build_int(&b, TY_I64, every));
      due = build2(&b, OP_EQ, over, build_int(&b, TY_I64, 0));
    }
    Value *old = build_access(&b, f->type, p->targets[t], here, m->grid.rank);
    yield->operands[t] = build3(&b, OP_SELECT, due, yield->operands[t], old);
  }
}

/* The pass. It leaves a module without such stencils unchanged. */
Module *pass_every(PassContext *c, Module *m, int n, const PassOption *o) {
  int written = 0;
  (void)n, (void)o;
  for (int i = 0; i < m->nstencils; i++) {
    Stencil *st = &m->stencils[i];
    for (int t = 0; t < st->ntargets && st->every > 1; t++)
      if (is_composite(m, st->targets[t])) {
        diag_error(c->diags, st->loc, "pass 'every': field '%s' is a vector or struct; run pass scalarize first",
                   m->fields[st->targets[t]].name);
        return NULL;
      }
    for (int k = 0; k < st->npieces && st->every > 1; k++)
      keep_between(m, &st->pieces[k], st->every);
    written += st->every > 1;
    st->every = 0;
  }
  if (written)
    module_renumber(m);
  pass_stat(c, written, "every", "stencils that are not due in every step");
  return m;
}
