/* ready.c: is a module what plans and lowerings take? */
#include "passes/launch/launch.h"

/* Has `body` values of composite type? */
static bool has_composites(const Block *body) {
  for (const Op *op = body->first; op; op = op->next)
    if (op->code == OP_CONSTRUCT || op->code == OP_EXTRACT)
      return true;
  return false;
}

/* Has a body of the `n` stencils at `st`? */
static bool have_composites(int n, const Stencil *st) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < st[i].npieces; k++)
      if (has_composites(st[i].pieces[k].body))
        return true;
  return false;
}

/* Do bodies of the `n` stencils at `st` draw random numbers? */
static bool draw(int n, const Stencil *st) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < st[i].npieces; k++)
      for (const Op *op = st[i].pieces[k].body->first; op; op = op->next)
        if (op->code == OP_RANDOM || op->code == OP_NORMAL)
          return true;
  return false;
}

bool lowering_ready(PassContext *c, const Module *m, const char *pass) {
  bool composites = have_composites(m->ninits, m->inits) || have_composites(m->nstencils, m->stencils), levels = false;
  for (int f = 0; f < m->nfields; f++) {
    composites = composites || type_composite(m, m->fields[f].type);
    levels = levels || m->fields[f].history;
  }
  if (composites)
    diag_error(c->diags, no_loc(),
               "pass '%s': the module has fields or values of vector or struct type; run pass scalarize first", pass);
  else if (levels && !module_moves_levels(m))
    diag_error(c->diags, no_loc(), "pass '%s': the module has fields with history; run pass history first", pass);
  else if (draw(m->ninits, m->inits) || draw(m->nstencils, m->stencils))
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
