/* swept.c: finds sweeps that can share a launch, for example one that eliminates and one that substitutes backwards.
 * Values of the first sweep that only the second one reads stay in an array for each column, and never reach memory. */
#include "passes/launch/swept.h"

Box sweep_region(const Stencil *st) {
  Box box = st->pieces[0].box;
  const Box *last = &st->pieces[st->npieces - 1].box;
  if (st->sweep > 0)
    box.hi[st->along] = last->hi[st->along];
  else
    box.lo[st->along] = last->lo[st->along];
  return box;
}

/* The most layers of columns that are kept from one sweep of a launch for the next. */
enum { MOST_KEPT_LAYERS = 64 };

/* The number of layers of `box` in dimension `d`; -1 if it is no constant, or more than can be kept. */
static int64_t layers_of(const Box *box, int d) {
  int64_t more;
  return affine_diff(box->hi[d], box->lo[d], &more) && more < MOST_KEPT_LAYERS ? more + 1 : -1;
}

/* Is each target of sweep `st` a temp field that all pieces write and that no other launch reads? */
static bool gives_temps(const Module *m, const Stencil *st, const bool *wanted) {
  bool temps = true;
  for (int t = 0; t < st->ntargets; t++) {
    temps = temps && m->fields[st->targets[t]].temp && !wanted[st->targets[t]];
    for (int i = 0; i < st->npieces; i++)
      temps = temps && piece_target(&st->pieces[i], st->targets[t]) >= 0;
  }
  return temps;
}

/* Does sweep `st` read targets of `of` at the point only, inside their regions, and write none of them? */
static bool reads_here(const Module *m, const Stencil *st, const Stencil *of) {
  bool here = true;
  for (int t = 0; t < st->ntargets; t++)
    here = here && stencil_target(of, st->targets[t]) < 0;
  for (int i = 0; i < st->npieces; i++)
    for (const Op *op = st->pieces[i].body->first; op && here; op = op->next) {
      if (op->code != OP_ACCESS || stencil_target(of, op->sym) < 0)
        continue;
      Rules rules = access_rules(m, &st->pieces[i].box, op->sym, op->off);
      here = rules_none(&rules);
      for (int d = 0; d < m->grid.rank; d++)
        here = here && op->off[d] == 0;
    }
  return here;
}

const char *swept_apart(const Launch *l, const bool *wanted) {
  const Stencil *sweep = NULL;
  for (int i = 0; i < l->n && l->n > 1; i++)
    sweep = l->st[i].sweep ? &l->st[i] : sweep;
  if (!sweep)
    return NULL;
  const Stencil *first = l->st, *second = l->st + 1;
  bool pair = l->n == 2 && first->sweep && second->sweep && first->along == second->along && first->npieces > 0 &&
              second->npieces > 0;
  if (pair) {
    Box columns = sweep_region(first), others = sweep_region(second);
    pair = box_equal(&columns, &others) && layers_of(&columns, first->along) > 0 && gives_temps(l->m, first, wanted) &&
           reads_here(l->m, second, first);
  }
  return pair ? NULL : arena_printf(l->m->arena, "'%s' is a sweep, which is a launch of its own", sweep->name);
}

bool launch_keeps(const Launch *l, int f) { return l->n == 2 && l->st->sweep && stencil_target(l->st, f) >= 0; }

int32_t kept_layers(const Launch *l) {
  Box columns = sweep_region(l->st);
  return (int32_t)layers_of(&columns, l->st->along);
}
