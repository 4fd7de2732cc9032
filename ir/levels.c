/* ir/levels.c: stencils that read a finer or coarser level of the grid than their own (OP_FINE, OP_COARSE). */
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

bool dimension_has_levels(const Module *m, int d) { return d > 0 || !m->members; }

int64_t scaled_coordinate(const Module *m, const Op *op, int d, int64_t x) {
  int64_t half = x / 2 - (x % 2 < 0);
  return (!dimension_has_levels(m, d) ? x : op->code == OP_FINE ? 2 * x : half) + op->off[d];
}

/* Is one of the `n` fields marked? */
static bool any_marked(int n, const int32_t *fields, const bool *marked) {
  for (int i = 0; i < n; i++)
    if (marked[fields[i]])
      return true;
  return false;
}

/* Marks field `field`. True if it was not marked before. */
static bool mark(bool *marked, int32_t field) {
  bool news = !marked[field];
  marked[field] = true;
  return news;
}

/* May stencils on finer levels read the marked field `f`, too, so that a read of it does not show the level of the
 * reader? This is so if `f` lacks dimensions and no field is periodic in the dimensions that `f` has. (A part that
 * contains a whole periodic dimension reads such fields beyond their edges, distribute_check_coarse.) */
static bool lies_on_all_levels(const Module *m, const Field *f) {
  for (int i = 0; i < m->nfields; i++)
    for (int d = 0; d < m->grid.rank; d++)
      if (!field_lacks(f, d) && m->fields[i].outside[d] == OUTSIDE_PERIODIC)
        return false;
  return field_lacks_any(f);
}

/* If the piece writes, or reads at the point's own scale, a marked field, or if it reads a finer level, marks its
 * targets and all fields that it reads at its own scale. Also marks the fields that it reads from a coarser level. True
 * if any is newly marked. */
static bool spread_piece(const Module *m, const Piece *piece, bool *marked) {
  bool any = any_marked(piece->ntargets, piece->targets, marked), news = false;
  for (const Op *op = piece->body->first; op; op = op->next) {
    any = any || op->code == OP_FINE ||
          (op->code == OP_ACCESS && marked[op->sym] && !lies_on_all_levels(m, &m->fields[op->sym]));
    news |= op->code == OP_COARSE && mark(marked, op->sym);
  }
  for (int t = 0; t < piece->ntargets && any; t++)
    news |= mark(marked, piece->targets[t]);
  for (const Op *op = piece->body->first; op && any; op = op->next)
    news |= op->code == OP_ACCESS && mark(marked, op->sym);
  return news;
}

/* Does the same for all pieces of `n` stencils or inits. */
static bool spread_stencils(const Module *m, int n, const Stencil *list, bool *marked) {
  bool news = false;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < list[i].npieces; k++)
      news |= spread_piece(m, &list[i].pieces[k], marked);
  return news;
}

/* May a cut divide the points of a level? With members it only separates members, and each member has its levels as a
 * whole. */
static bool levels_are_cut(const Module *m) { return module_scaled(m) && !m->members; }

void module_mark_coarse(const Module *m, bool *coarse) {
  for (bool news = levels_are_cut(m); news;) {
    news = spread_stencils(m, m->nstencils, m->stencils, coarse) | spread_stencils(m, m->ninits, m->inits, coarse);
    for (int f = 0; f < m->nfields; f++)
      if (m->fields[f].past && coarse[f] != coarse[m->fields[f].present]) {
        mark(coarse, f);
        news |= mark(coarse, m->fields[f].present);
      }
  }
}

bool stencil_is_whole(const Module *m, const Stencil *st) {
  bool whole = true;
  for (int t = 0; t < st->ntargets; t++)
    whole = whole && m->fields[st->targets[t]].share != SHARE_CUT;
  return whole;
}

bool part_is_whole(const Module *m) {
  bool whole = m->part && m->nstencils;
  for (int i = 0; i < m->nstencils && whole; i++)
    whole = stencil_is_whole(m, &m->stencils[i]);
  return whole;
}

bool stencil_restricts(const Stencil *st, const bool *coarse) {
  for (int i = 0; i < st->npieces; i++)
    for (const Op *op = st->pieces[i].body->first; op; op = op->next)
      if (op->code == OP_FINE && !coarse[op->sym])
        return true;
  return false;
}

/* Does `st` read a finer level? */
static bool reads_finer(const Stencil *st) {
  for (int i = 0; i < st->npieces; i++)
    for (const Op *op = st->pieces[i].body->first; op; op = op->next)
      if (op->code == OP_FINE)
        return true;
  return false;
}

/* Must a stage end between the consecutive stencils `before` and `st`: does `before` read a finer level, or is one of
 * them on a coarser level and the other on the finest? */
static bool stage_ends(const Stencil *before, const Stencil *st, const bool *coarse) {
  return reads_finer(before) || coarse[before->targets[0]] != coarse[st->targets[0]];
}

const Module *module_stage_levels(const Module *m, Arena *a) {
  bool *coarse = ARENA_ARRAY(a, bool, m->nfields + 1);
  int32_t n = 1;
  if (!levels_are_cut(m))
    return m;
  module_mark_coarse(m, coarse);
  for (int i = 1; i < m->nstencils; i++)
    n += stage_ends(&m->stencils[i - 1], &m->stencils[i], coarse);
  Module *x = ARENA_NEW(a, Module);
  *x = *m;
  x->stencils = ARENA_ARRAY(a, Stencil, m->nstencils + 1);
  x->updates = ARENA_ARRAY(a, Update, m->nupdates + 1);
  x->repeats = ARENA_ARRAY(a, Repeat, m->nrepeats + 1);
  for (int i = 0, more = 0; i < m->nstencils; i++) {
    bool same = i && m->stencils[i].stage == m->stencils[i - 1].stage;
    more = same ? more + stage_ends(&m->stencils[i - 1], &m->stencils[i], coarse) : 0;
    x->stencils[i] = m->stencils[i];
    x->stencils[i].stage = m->stencils[i].stage * n + more;
  }
  for (int i = 0; i < m->nupdates; i++) {
    x->updates[i] = m->updates[i];
    x->updates[i].stage *= n;
  }
  for (int i = 0; i < m->nrepeats; i++) {
    x->repeats[i] = m->repeats[i];
    x->repeats[i].first *= n;
    x->repeats[i].last = x->repeats[i].last * n + n - 1;
  }
  return x;
}
