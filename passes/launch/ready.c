/* ready.c: checks that a module has the form that plans and lowerings need. */
#include "passes/launch/launch.h"

/* Has a body of the `n` stencils at `st` an op with code `x` or `y`? */
static bool have_ops(int n, const Stencil *st, Opcode x, Opcode y) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < st[i].npieces; k++)
      for (const Op *op = st[i].pieces[k].body->first; op; op = op->next)
        if (op->code == x || op->code == y)
          return true;
  return false;
}

/* Has a stencil or init of `m` an op with code `x` or `y`? */
static bool any_ops(const Module *m, Opcode x, Opcode y) {
  return have_ops(m->ninits, m->inits, x, y) || have_ops(m->nstencils, m->stencils, x, y);
}

bool lowering_ready(PassContext *c, const Module *m, const char *pass) {
  bool composites = any_ops(m, OP_CONSTRUCT, OP_EXTRACT), levels = false;
  for (int f = 0; f < m->nfields; f++) {
    composites = composites || type_composite(m, m->fields[f].type);
    levels = levels || m->fields[f].history;
  }
  bool sides = false, every = false;
  for (int i = 0; i < m->nstencils; i++)
    every = every || m->stencils[i].every;
  for (int f = 0; f < m->nfields; f++)
    sides = sides || (m->fields[f].sides && !m->fields[f].apart);
  if (composites)
    diag_error(c->diags, no_loc(),
               "pass '%s': the module has fields or values of vector or struct type; run pass scalarize first", pass);
  else if (levels && !module_moves_levels(m))
    diag_error(c->diags, no_loc(), "pass '%s': the module has fields with history; run pass history first", pass);
  else if (sides)
    diag_error(c->diags, no_loc(),
               "pass '%s': the module has fields whose edges have rules of their own; run pass sides first", pass);
  else if (every)
    diag_error(c->diags, no_loc(),
               "pass '%s': the module has stencils that run every so many steps; run pass every first", pass);
  else if (any_ops(m, OP_RANDOM, OP_NORMAL))
    diag_error(c->diags, no_loc(), "pass '%s': the module draws random numbers; run pass random first", pass);
  else
    return true;
  return false;
}

bool extents_ready(PassContext *c, const Module *m, const char *pass) {
  for (int i = 0; i < m->nstencils; i++)
    if (!m->stencils[i].has_extent) {
      diag_error(c->diags, m->stencils[i].loc, "pass '%s': stencil '%s' has no extent; run pass halo first", pass,
                 m->stencils[i].name);
      return false;
    }
  return true;
}
