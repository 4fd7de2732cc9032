/* influence.c: finds the numbers updated within steps that depend on the inputs with respect to which the losses are
 * differentiated. It propagates the dependence forward through floats, over inits, stencils and updates, until nothing
 * changes. */
#include "ir/ir.h"

/* By field, scalar and launch-time array: does it depend on such an input? */
typedef struct Influence {
  const Module *m;
  bool *field, *scalar, *array;
  bool more;
} Influence;

static void set(Influence *x, bool *flag, bool value) {
  x->more |= value && !*flag;
  *flag |= value;
}

/* May the value carry a derivative? */
static bool carries(const Module *m, const Value *v) {
  return type_is_float(v->type) || type_composite(m, v->type) != NULL;
}

/* Does a value that the body yields depend on such an input? If `out` is not NULL, sets out[i] for each yielded value
 * i. */
static bool body_changes(const Influence *x, Arena *a, Block *b, bool *out) {
  bool *changes = ARENA_ARRAY(a, bool, block_renumber(b, 0) + 1), any = false;
  for (const Op *op = b->first; op != b->last; op = op->next) {
    bool now = op->code == OP_ACCESS || op->code == OP_BEHIND ? x->field[op->sym]
               : op->code == OP_SCALAR                        ? x->scalar[op->sym]
               : op->code == OP_ELEMENT                       ? x->array[op->sym]
                                                              : false;
    for (int i = 0; i < op->noperands; i++)
      now = now || (changes[op->operands[i]->id] && op->code != OP_FLOOR && op->code != OP_CEIL);
    if (op->nresults)
      changes[op->results[0]->id] = now && carries(x->m, op->results[0]);
  }
  for (int i = 0; i < b->last->noperands; i++) {
    bool now = changes[b->last->operands[i]->id];
    any |= now;
    if (out)
      out[i] = now;
  }
  return any;
}

static void stencils_change(Influence *x, Arena *a, int n, const Stencil *list) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < list[i].npieces; k++) {
      const Piece *p = &list[i].pieces[k];
      bool *out = ARENA_ARRAY(a, bool, p->ntargets + 1);
      body_changes(x, a, p->body, out);
      for (int t = 0; t < p->ntargets; t++)
        set(x, &x->field[p->targets[t]], out[t]);
    }
}

/* Propagates the dependence to lets, and to numbers from their values before the first step. */
static void scalars_change(Influence *x) {
  const Module *m = x->m;
  for (int s = 0; s < m->nscalars; s++)
    for (const Op *op = m->scalars[s].expr ? m->scalars[s].expr->first : NULL; op; op = op->next)
      if (op->code == OP_SCALAR && type_is_float(m->scalars[s].type))
        set(x, &x->scalar[s], x->scalar[op->sym]);
  for (int i = 0; i < m->nparam_arrays; i++)
    if (m->param_arrays[i].role == ARRAY_STATE && m->param_arrays[i].first >= 0)
      set(x, &x->array[i], x->scalar[m->param_arrays[i].first]);
}

const bool *states_changing(Arena *a, const Module *m) {
  Influence x = {.m = m, .more = true};
  x.field = ARENA_ARRAY(a, bool, m->nfields + 1);
  x.scalar = ARENA_ARRAY(a, bool, m->nscalars + 1);
  x.array = ARENA_ARRAY(a, bool, m->nparam_arrays + 1);
  for (int i = 0; i < m->nby; i++) {
    bool *of = m->by[i].kind == BY_FIELD ? x.field : m->by[i].kind == BY_ARRAY ? x.array : x.scalar;
    of[m->by[i].index] = true;
  }
  while (x.more) {
    x.more = false;
    scalars_change(&x);
    stencils_change(&x, a, m->ninits, m->inits);
    stencils_change(&x, a, m->nstencils, m->stencils);
    for (int f = 0; f < m->nfields; f++)
      if (m->fields[f].past)
        set(&x, &x.field[f], x.field[m->fields[f].present]);
    for (int i = 0; i < m->nreductions; i++)
      if (m->reductions[i].scalar >= 0)
        set(&x, &x.scalar[m->reductions[i].scalar], body_changes(&x, a, m->reductions[i].body, NULL));
    for (int i = 0; i < m->nupdates; i++)
      set(&x, &x.array[m->updates[i].state],
          type_is_float(m->updates[i].type) && body_changes(&x, a, m->updates[i].body, NULL));
  }
  return x.array;
}
