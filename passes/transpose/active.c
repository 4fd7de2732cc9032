/* active.c: finds the values that influence the losses and depend on the targets of the gradient: forward from the
 * targets, backward from the losses, over all stencils of the step until nothing is new. */
#include "passes/transpose/transpose.h"

void transpose_vary(Transpose *x, const By *by) {
  bool *of = by->kind == BY_PARAM ? x->scalar_varied : by->kind == BY_ARRAY ? x->array_varied : x->varied;
  of[by->index] = true;
}

/* The launch-time array that holds the flags for array `array`: for a number that the step updates, the array with its
 * derivative. */
static int32_t array_of(const Transpose *x, int32_t array) {
  return x->states[array].bar >= 0 ? x->states[array].bar : array;
}

/* The launch-time array with the derivative with respect to the value of reduction `i` of m between steps; -1: there is
 * none, or the reduction is a loss. */
static int reduced_bar(const Transpose *x, int i) {
  int bar = module_find_param_array(x->m, arena_printf(x->a, "%s.bar", x->m->reductions[i].name));
  return bar >= 0 && x->states[bar].bar == bar ? bar : -1;
}

/* Does the result of `op` vary, given which operands vary? */
static bool op_varies(const Transpose *x, const Op *op, const bool *varies) {
  if (!op->nresults || !type_is_float(op->results[0]->type))
    return false;
  if (op->code == OP_ACCESS)
    return x->varied[op->sym];
  if (op->code == OP_SCALAR)
    return x->scalar_varied[op->sym];
  if (op->code == OP_ELEMENT)
    return x->array_varied[array_of(x, op->sym)];
  for (int i = 0; i < op->noperands; i++)
    if (varies[op->operands[i]->id])
      return op->code != OP_FLOOR && op->code != OP_CEIL;
  return false;
}

bool *transpose_varies(const Transpose *x, const Block *body) {
  bool *varies = ARENA_ARRAY(x->a, bool, block_renumber((Block *)body, 0) + 1);
  for (const Op *op = body->first; op; op = op->next)
    if (op->nresults)
      varies[op->results[0]->id] = op_varies(x, op, varies);
  return varies;
}

/* Sets *flag. Was it not set before? */
static bool set(bool *flag) {
  bool is_new = !*flag;
  *flag = true;
  return is_new;
}

/* Processes the step once, forward. Did something change? */
static bool forward(Transpose *x) {
  bool more = false;
  for (int i = 0; i < x->m->nstencils; i++)
    for (int k = 0; k < x->m->stencils[i].npieces; k++) {
      const Piece *p = &x->m->stencils[i].pieces[k];
      const bool *varies = transpose_varies(x, p->body);
      for (int t = 0; t < p->ntargets; t++)
        if (varies[p->body->last->operands[t]->id])
          more |= set(&x->varied[p->targets[t]]);
    }
  for (int i = 0; i < x->m->nreductions; i++) {
    int bar = reduced_bar(x, i);
    const Block *body = x->m->reductions[i].body;
    if (bar >= 0 && transpose_varies(x, body)[body->last->operands[0]->id])
      more |= set(&x->array_varied[bar]);
  }
  for (int i = 0; i < x->m->nupdates; i++) {
    const Update *u = &x->m->updates[i];
    if (x->states[u->state].bar >= 0 && transpose_varies(x, u->body)[u->body->last->operands[0]->id])
      more |= set(&x->array_varied[x->states[u->state].bar]);
  }
  return more;
}

/* Processes a body backwards; wanted[i] says whether its result i matters. Did something change for the fields and
 * numbers that it reads? */
static bool backwards(Transpose *x, const Block *body, const bool *wanted) {
  bool *useful = ARENA_ARRAY(x->a, bool, block_renumber((Block *)body, 0) + 1), more = false;
  for (int i = 0; i < body->last->noperands; i++)
    if (wanted[i])
      useful[body->last->operands[i]->id] = true;
  for (const Op *op = body->last->prev; op; op = op->prev) {
    if (!useful[op->results[0]->id] || !type_is_float(op->results[0]->type))
      continue;
    if (op->code == OP_ACCESS)
      more |= set(&x->active[op->sym]);
    if (op->code == OP_SCALAR)
      more |= set(&x->scalar_active[op->sym]);
    if (op->code == OP_ELEMENT)
      more |= set(&x->array_active[array_of(x, op->sym)]);
    for (int i = 0; i < op->noperands; i++)
      useful[op->operands[i]->id] = true;
  }
  return more;
}

/* Processes the step once, backwards. Did something change? */
static bool backwards_all(Transpose *x) {
  static const bool yes = true;
  bool more = false;
  for (int i = 0; i < x->m->nreductions; i++)
    if (reduced_bar(x, i) >= 0 && x->array_active[reduced_bar(x, i)])
      more |= backwards(x, x->m->reductions[i].body, &yes);
  for (int i = 0; i < x->m->nupdates; i++)
    if (x->array_active[array_of(x, x->m->updates[i].state)])
      more |= backwards(x, x->m->updates[i].body, &yes);
  for (int i = x->m->nstencils - 1; i >= 0; i--)
    for (int k = 0; k < x->m->stencils[i].npieces; k++) {
      const Piece *p = &x->m->stencils[i].pieces[k];
      bool *wanted = ARENA_ARRAY(x->a, bool, p->ntargets + 1);
      for (int t = 0; t < p->ntargets; t++)
        wanted[t] = x->active[p->targets[t]];
      more |= backwards(x, p->body, wanted);
    }
  return more;
}

/* Connects numbers that steps update with the scalars that they are before the first step: onwards, they vary if the
 * scalars do; else the scalars matter if they do. */
static void states(Transpose *x, bool onwards) {
  for (int i = 0; i < x->m->nparam_arrays; i++) {
    int32_t first = x->states[i].bar == i ? x->states[i].first : -1;
    if (first >= 0 && onwards)
      x->array_varied[i] |= x->scalar_varied[first];
    else if (first >= 0)
      x->scalar_active[first] |= x->array_active[i];
  }
}

/* Connects lets with their inputs: onwards, a let varies if an input does; else an input matters if the let does. */
static void scalars(Transpose *x, bool onwards) {
  for (int i = 0; i < x->m->nscalars; i++) {
    int s = onwards ? i : x->m->nscalars - 1 - i;
    const Scalar *l = &x->m->scalars[s];
    for (const Op *op = l->expr && !l->is_param ? l->expr->first : NULL; op; op = op->next)
      if (op->code == OP_SCALAR && type_is_float(l->type)) {
        if (onwards)
          x->scalar_varied[s] |= x->scalar_varied[op->sym];
        else
          x->scalar_active[op->sym] |= x->scalar_active[s];
      }
  }
}

/* Allocates the flags, and marks the targets of the gradient as varying. */
static void begin(Transpose *x, const By *by, int nby) {
  Module *m = x->m;
  x->varied = ARENA_ARRAY(x->a, bool, m->nfields + 1);
  x->active = ARENA_ARRAY(x->a, bool, m->nfields + 1);
  x->scalar_varied = ARENA_ARRAY(x->a, bool, m->nscalars + 1);
  x->scalar_active = ARENA_ARRAY(x->a, bool, m->nscalars + 1);
  x->array_varied = ARENA_ARRAY(x->a, bool, m->nparam_arrays + 1);
  x->array_active = ARENA_ARRAY(x->a, bool, m->nparam_arrays + 1);
  for (int i = 0; i < nby; i++)
    transpose_vary(x, &by[i]);
}

/* Keeps only what both varies and matters. */
static void both_ways(Transpose *x) {
  for (int f = 0; f < x->m->nfields; f++)
    x->active[f] = x->active[f] && x->varied[f];
  for (int i = 0; i < x->m->nparam_arrays; i++)
    x->array_active[i] = x->array_active[i] && (x->states[i].bar != i || x->array_varied[i]);
  for (int s = 0; s < x->m->nscalars; s++)
    x->scalar_active[s] = x->scalar_active[s] && x->scalar_varied[s];
}

bool transpose_analyse_starts(Transpose *x, const By *by, int nby, const bool *useful) {
  bool any = false;
  begin(x, by, nby);
  scalars(x, true);
  while (forward(x))
    ;
  for (int f = 0; f < x->m->nfields; f++)
    x->active[f] = useful && useful[f];
  while (backwards_all(x))
    ;
  scalars(x, false);
  for (int i = 0; i < x->m->nstencils; i++)
    for (int t = 0; t < x->m->stencils[i].ntargets; t++)
      any = any || x->varied[x->m->stencils[i].targets[t]];
  both_ways(x);
  return any;
}

/* If `by` does not matter although it must, reports that nothing depends on it, and returns true. */
static bool is_idle(Transpose *x, const By *by, const char *name, bool matters) {
  if (matters || by->may_be_idle)
    return false;
  diag_error(x->c->diags, by->loc,
             "'%s' does not influence the losses, by way of floats at least: take it out of the gradient", name);
  return true;
}

bool transpose_analyse(Transpose *x, const By *by, int nby) {
  static const bool yes = true;
  Module *m = x->m;
  bool ok = true;
  begin(x, by, nby);
  for (int f = 0; f < m->nfields; f++)
    x->varied[f] = x->varied[f] || (x->starts && x->starts[f]);
  for (int f = 0; f < m->nfields; f++)
    if (m->fields[f].past && !m->fields[f].temp && x->varied[m->fields[f].present])
      x->varied[f] = true;
  scalars(x, true);
  states(x, true);
  while (forward(x))
    ;
  for (int i = 0; i < m->nreductions; i++)
    if (reduced_bar(x, i) < 0)
      backwards(x, m->reductions[i].body, &yes);
  while (backwards_all(x))
    ;
  states(x, false);
  scalars(x, false);
  for (int i = 0; i < nby; i++) {
    bool field = by[i].kind == BY_FIELD, param = by[i].kind == BY_PARAM;
    bool matters = param   ? x->scalar_active[by[i].index]
                   : field ? x->active[by[i].index]
                           : x->array_active[by[i].index];
    for (int f = 0; f < m->nfields && field; f++)
      matters = matters || (m->fields[f].past && m->fields[f].present == by[i].index && x->active[f]);
    for (int k = 0; k < nby; k++) /* another component of the same field */
      matters = matters || (by[k].kind == BY_FIELD && by[k].loc.line == by[i].loc.line &&
                            by[k].loc.col == by[i].loc.col && field && x->active[by[k].index]);
    if (x->starts && !(field && !m->fields[by[i].index].input))
      matters = true; /* an init may read it */
    ok = !is_idle(x, &by[i],
                  param   ? m->scalars[by[i].index].name
                  : field ? m->fields[by[i].index].name
                          : m->param_arrays[by[i].index].name,
                  matters) &&
         ok;
  }
  both_ways(x);
  return ok;
}
