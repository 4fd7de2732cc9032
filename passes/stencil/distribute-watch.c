/* distribute-watch.c: turns the values of reductions, probes and updates into stencils. Each of them gets a field for
 * its values, and a stencil, before all stencils of the step, that writes the field. The program for a part has these
 * stencils while ghost cells are counted, so that the part has the cells that they need, and loses them afterwards. The
 * program that evaluates one of them (option watch) has that stencil only, and changes no other field of the part. */
#include "passes/stencil/distribute.h"

/* Adds the field of a watch, for its values at the points of `box`. */
static int32_t add_field(Module *m, const char *name, Type type, Box box, Loc loc) {
  Field f = {.name = arena_printf(m->arena, "%s.watched", name), .type = type, .box = box, .present = -1, .loc = loc};
  for (int k = 2; module_find_field(m, f.name) >= 0; k++)
    f.name = arena_printf(m->arena, "%s.watched.%d", name, k);
  ARENA_PUSH(m->arena, m->fields, m->nfields, f);
  return m->nfields - 1;
}

/* The stencil of a watch, with a copy of `body`. With members and a grid of three dimensions it covers all members,
 * though the value is the same for each (a scalar that they share), because such programs are lowered by slices
 * (passes/launch/slices.h). */
static Stencil watch_stencil(Module *m, const char *name, Type type, Box box, Block *body, Loc loc) {
  Stencil st = {.name = name, .ntargets = 1, .npieces = 1, .loc = loc};
  if (m->grid.rank > GRID_RANK) {
    box.lo[0] = m->grid.lo[0];
    box.hi[0] = m->grid.hi[0];
  }
  st.targets = ARENA_NEW(m->arena, int32_t);
  st.targets[0] = add_field(m, name, type, box, loc);
  st.pieces = ARENA_NEW(m->arena, Piece);
  st.pieces[0] = (Piece){.box = box, .ntargets = 1, .targets = st.targets, .loc = loc};
  block_renumber(body, 0);
  st.pieces[0].body = block_clone(m->arena, body, NULL, NULL);
  return st;
}

/* Copies the module's list of fields; other modules may share it. */
static void own_fields(Module *m) {
  Field *all = NULL;
  int32_t n = 0;
  for (int i = 0; i < m->nfields; i++)
    ARENA_PUSH(m->arena, all, n, m->fields[i]);
  m->fields = all;
}

/* Does a stencil read field `field`? */
static bool is_read(const Module *m, int field) {
  for (int i = 0; i < m->nstencils; i++)
    for (int k = 0; k < m->stencils[i].npieces; k++)
      for (const Op *op = m->stencils[i].pieces[k].body->first; op; op = op->next)
        if (op->code == OP_ACCESS && op->sym == field)
          return true;
  return false;
}

/* Makes the fields of lists that only probes use empty: in a part nobody looks up their points. */
static void drop_lists(Module *m) {
  for (int i = 0; i < m->nlists; i++) {
    Field *f = &m->fields[m->lists[i].field];
    if (is_read(m, m->lists[i].field))
      continue;
    f->temp = true;
    f->input = false;
  }
}

void distribute_add_watches(Parts *p) {
  Module *m = p->m;
  Stencil *all = NULL;
  int32_t n = 0;
  if (!p->watches)
    return;
  p->nfields = m->nfields;
  p->nwatches = m->nreductions + m->nprobes + m->nupdates;
  own_fields(m);
  drop_lists(m);
  for (int i = 0; i < m->nreductions; i++) {
    const Reduction *r = &m->reductions[i];
    Stencil st = watch_stencil(m, r->name, r->type, r->over, r->body, r->loc);
    ARENA_PUSH(m->arena, all, n, st);
  }
  for (int i = 0; i < m->nprobes; i++) {
    const Probe *x = &m->probes[i];
    Stencil st = watch_stencil(m, x->name, x->type, x->box, x->body, x->loc);
    ARENA_PUSH(m->arena, all, n, st);
  }
  for (int i = 0; i < m->nupdates; i++) {
    const Update *u = &m->updates[i];
    Stencil st = watch_stencil(m, update_name(m, u), u->type, u->over, u->body, u->loc);
    ARENA_PUSH(m->arena, all, n, st);
  }
  for (int i = 0; i < m->nstencils; i++)
    ARENA_PUSH(m->arena, all, n, m->stencils[i]);
  m->stencils = all;
  m->nstencils = n;
}

/* Keeps only watch number `watch`: its stencil, whose field becomes number `nfields`, and the other fields
 * unchanged. */
static void keep_watch(Parts *p) {
  Module *m = p->m;
  m->stencils = &m->stencils[p->watch];
  m->nstencils = 1;
  m->fields[p->nfields] = m->fields[p->nfields + p->watch];
  m->nfields = p->nfields + 1;
  m->stencils->targets[0] = p->nfields;
  for (int k = 0; k < m->stencils->npieces; k++)
    m->stencils->pieces[k].targets[0] = p->nfields;
  m->ninits = 0;
  for (int f = 0; f < m->nfields; f++)
    m->fields[f].past = m->fields[f].history = 0;
}

/* Watch number `watch` as a reduction; the numbers count reductions, probes, then updates. */
static Reduction reduction_of(const Parts *p) {
  const Module *m = p->m;
  if (p->watch < m->nreductions)
    return m->reductions[p->watch];
  const Update *u = &m->updates[p->watch - m->nreductions - m->nprobes];
  return (Reduction){.name = update_name(m, u), .op = u->op, .type = u->type, .every = 1, .loc = u->loc};
}

/* The scalar with the value of `r`; a new one for an update. */
static int32_t value_scalar(const Parts *p, const Reduction *r) {
  Module *m = p->m;
  if (p->watch < m->nreductions)
    return r->scalar;
  const char *name = arena_printf(m->arena, "%s.updated", r->name);
  ARENA_PUSH(m->arena, m->scalars, m->nscalars, ((Scalar){.name = name, .type = r->type, .is_reduction = true}));
  return m->nscalars - 1;
}

/* Keeps only reduction number `watch`, with its stencil's body, over the rows that hidden params name; by default these
 * are all rows that the part has. */
static void keep_rows(Parts *p) {
  Module *m = p->m;
  const Piece *piece = &m->stencils[p->watch].pieces[0];
  Reduction *r = ARENA_NEW(m->arena, Reduction);
  *r = reduction_of(p);
  r->loop = 0;
  r->each = false;
  r->scalar = value_scalar(p, r);
  r->over = piece->box;
  r->body = piece->body;
  for (int d = 0; d < m->grid.rank - 1; d++) {
    r->over.lo[d] = distribute_param(p, arena_printf(m->arena, "part.row.first.%d", d), piece->box.lo[d]);
    r->over.hi[d] = distribute_param(p, arena_printf(m->arena, "part.row.last.%d", d), piece->box.hi[d]);
  }
  m->reductions = r;
  m->nfields = p->nfields;
  m->nstencils = m->ninits = 0;
  for (int f = 0; f < m->nfields; f++)
    m->fields[f].past = m->fields[f].history = 0;
}

void distribute_end_watches(Parts *p) {
  Module *m = p->m;
  if (p->rows) {
    keep_rows(p);
  } else if (p->watches && p->watch >= 0 && p->watch < p->nwatches) {
    keep_watch(p);
  } else if (p->watches) {
    Stencil *rest = NULL;
    int32_t n = 0;
    for (int i = p->nwatches; i < m->nstencils; i++)
      ARENA_PUSH(m->arena, rest, n, m->stencils[i]);
    m->stencils = rest;
    m->nstencils = n;
    m->nfields = p->nfields;
  }
}
