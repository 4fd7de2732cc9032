/* verify-losses.c: the rules of losses and of the inputs of gradients. */
#include "ir/verify/verify.h"

#include <math.h>

/* Does the input `x` exist, and does it consist of floats? */
static bool is_there(const Module *m, const By *x) {
  if (x->kind == BY_PARAM)
    return x->index >= 0 && x->index < m->nscalars && m->scalars[x->index].is_param &&
           type_is_float(m->scalars[x->index].type);
  if (x->kind == BY_ARRAY)
    return x->index >= 0 && x->index < m->nparam_arrays && type_is_float(m->param_arrays[x->index].type) &&
           m->param_arrays[x->index].role == ARRAY_GIVEN;
  if (x->kind != BY_FIELD || x->index < 0 || x->index >= m->nfields || m->fields[x->index].temp)
    return false;
  for (int i = 0; i < type_components(m, m->fields[x->index].type); i++)
    if (!type_is_float(type_component(m, m->fields[x->index].type, i)))
      return false;
  return true;
}

void verify_losses(Verifier *v) {
  const Module *m = v->m;
  Type t = TY_F64;
  if ((m->nlosses || m->nby) && m->level != LEVEL_SIR)
    verify_fail(v, no_loc(), "a kernel module has no losses");
  for (int i = 0; i < m->nlosses && !v->errors; i++) {
    const Loss *l = &m->losses[i];
    verify_at(v, l->loc, "loss", l->name);
    verify_box(v, l->loc, &l->over, m->grid.rank);
    if (module_find_loss(m, l->name) != i || l->every < 0 || !isfinite(l->factor))
      verify_fail(v, l->loc, "its name is taken, it is due every %lld steps, or its factor is not finite",
                  (long long)l->every);
    v->context = CONTEXT_PIECE;
    v->scalar = m->nscalars;
    verify_body(v, l->body, "the loss", 1, &t);
    for (const Op *op = l->body->first; op && !v->errors; op = op->next)
      if (op->code == OP_ACCESS && m->fields[op->sym].temp)
        verify_fail(v, op->loc, "it reads temp field '%s', which holds nothing between steps", m->fields[op->sym].name);
  }
  for (int i = 0; i < m->nby; i++) {
    verify_at(v, m->by[i].loc, "gradient", "");
    if (!is_there(m, &m->by[i]))
      verify_fail(v, m->by[i].loc, "what it is to, kind %d, number %d, is not there or is no float", (int)m->by[i].kind,
                  m->by[i].index);
  }
}
