/* distribute-ring.c: periodic fields in a grid that is cut. Beyond the edges of the grid a part has ghost cells of such
 * a field, which stand for points of the opposite side, and computes them like other ghost cells. All values that this
 * needs must continue there, too: these fields are rings. Other fields end at the edges.
 *
 * Periodic fields, and all fields from which they are computed, become rings in the dimensions in which there are
 * periodic fields; in other cut dimensions they end at the edges, by rules of their own. A stencil on a region from one
 * end of the grid to the other computes all cells of a ring, with `idx` wrapped into the grid; other regions get copies
 * of their pieces before and after. A stencil with targets of both kinds becomes two stencils. */
#include "passes/stencil/distribute.h"

bool is_around(const Parts *p, const Box *box, int d) {
  const Box *grid = p->part->whole.rank ? &p->part->whole : &p->m->grid;
  return affine_equal(box->lo[d], grid->lo[d]) && affine_equal(box->hi[d], grid->hi[d]);
}

/* ---------------------------------------------------------------- which fields */

/* Marks in `used`, by Value.id, the values that the targets of the piece need: those targets that are rings (`ring`),
 * or that are not. */
static void mark_used(const Parts *p, const Piece *piece, bool ring, bool *used) {
  for (const Op *op = piece->body->last; op; op = op->prev) {
    bool needed = op->code == OP_YIELD;
    for (int i = 0; i < op->nresults; i++)
      needed |= used[op->results[i]->id];
    for (int i = 0; i < op->noperands && needed; i++)
      if (op->code != OP_YIELD || p->ring[piece->targets[i]] == ring)
        used[op->operands[i]->id] = true;
  }
}

/* An upper limit of the number of values in the piece's body. */
static int32_t count_values(const Piece *piece) {
  int32_t n = 1;
  for (const Op *op = piece->body->first; op; op = op->next)
    for (int i = 0; i < op->nresults; i++)
      n = op->results[i]->id >= n ? op->results[i]->id + 1 : n;
  return n;
}

/* Makes all fields rings from which the piece computes rings. True if something changed. */
static bool spread_ring(Parts *p, const Piece *piece) {
  bool *used = ARENA_ARRAY(p->m->arena, bool, count_values(piece)), news = false;
  mark_used(p, piece, true, used);
  for (const Op *op = piece->body->first; op; op = op->next)
    if (op->code == OP_ACCESS && used[op->results[0]->id] && !p->ring[op->sym] && !p->coarse[op->sym])
      p->ring[op->sym] = news = true;
  for (int t = 0; t < piece->ntargets; t++)
    if (p->m->fields[piece->targets[t]].past && p->ring[p->m->fields[piece->targets[t]].present])
      p->ring[piece->targets[t]] = true;
  return news;
}

/* Makes a field and its pasts all rings if one of them is. True if something changed. */
static bool spread_history(Parts *p) {
  bool news = false;
  for (int i = 0; i < p->m->nfields; i++) {
    const Field *f = &p->m->fields[i];
    if (!f->past || p->ring[i] == p->ring[f->present])
      continue;
    p->ring[i] = p->ring[f->present] = news = true;
  }
  return news;
}

/* Makes all targets of a sweep rings if one of them is, because it reads them behind the point. True if something
 * changed. */
static bool spread_sweep(Parts *p, const Stencil *st) {
  bool any = false, news = false;
  for (int t = 0; t < st->ntargets; t++)
    any = any || p->ring[st->targets[t]];
  for (int t = 0; t < st->ntargets && any; t++) {
    news = news || !p->ring[st->targets[t]];
    p->ring[st->targets[t]] = true;
  }
  return news;
}

/* Finds all rings. False if there are none. */
static bool find_rings(Parts *p) {
  Module *m = p->m;
  bool any = false, news = true;
  p->ring = ARENA_ARRAY(m->arena, bool, m->nfields + 1);
  for (int f = 0; f < m->nfields; f++)
    for (int d = 0; d < m->grid.rank; d++) {
      bool turns = p->cut[d] && !p->coarse[f] && m->fields[f].outside[d] == OUTSIDE_PERIODIC;
      p->turns[d] |= turns;
      any |= p->ring[f] |= turns;
    }
  while (any && news) {
    news = spread_history(p);
    for (int i = 0; i < m->nstencils; i++) {
      news |= m->stencils[i].sweep && spread_sweep(p, &m->stencils[i]);
      for (int k = 0; k < m->stencils[i].npieces; k++)
        news |= spread_ring(p, &m->stencils[i].pieces[k]);
    }
  }
  return any;
}

/* ---------------------------------------------------------------- may they be */

/* Does an access at `off` from the points of `box` stay inside the field's region in dimension `d`? */
static bool stays(const Field *f, const Box *box, int64_t off, int d) {
  int64_t below, above;
  return !outside_any(f) || (affine_diff(box->lo[d], f->box.lo[d], &below) &&
                             affine_diff(f->box.hi[d], box->hi[d], &above) && below + off >= 0 && above - off >= 0);
}

/* Words for the value that an access at `off` finds beyond the edge of field `f` in dimension `d`. */
static const char *rule_words(const Parts *p, const Field *f, int64_t off, int d) {
  const Side *side = f->sides ? &f->sides[2 * d + (off > 0)] : NULL;
  OutsideRule rule = side ? side->rule : outside_end(f->outside[d], off > 0);
  return rule == OUTSIDE_CONST ? "a constant"
                               : arena_printf(p->m->arena, "%s%s", outside_name(rule), side && side->odd ? " odd" : "");
}

bool distribute_check_access(const Parts *p, const Piece *piece, const Op *op, Diags *diags) {
  const Field *f = &p->m->fields[op->sym];
  for (int d = 0; d < p->m->grid.rank; d++) {
    bool periodic = f->outside[d] == OUTSIDE_PERIODIC && is_around(p, &f->box, d);
    bool within = op->code == OP_FINE ? op->off[d] == 0 || op->off[d] == 1 : stays(f, &piece->box, op->off[d], d);
    if (!p->turns[d] || !p->ring[op->sym] || periodic || field_lacks(f, d) || within)
      continue;
    if (!diags)
      return false;
    if (f->outside[d] == OUTSIDE_PERIODIC)
      diag_error(diags, op->loc,
                 "a grid cannot yet be cut along dimension %d where a periodic field, here '%s', does not go from one "
                 "end of the grid to the other: cut another dimension",
                 d, declared_name(p->m, op->sym));
    else
      diag_error(diags, op->loc,
                 "a grid cannot yet be cut along dimension %d where a periodic field is computed from what is beyond "
                 "the edge of '%s', which has another rule there (%s): cut another dimension",
                 d, declared_name(p->m, op->sym), rule_words(p, f, op->off[d], d));
    return false;
  }
  return true;
}

/* Does the region of `st`, a sweep of rings, go from one end of the grid to the other in all cut dimensions? With
 * copies of its pieces beyond the edges it would no longer be one sweep. */
static bool check_sweep(const Parts *p, const Stencil *st) {
  for (int d = 0; d < p->m->grid.rank; d++)
    for (int k = 0; k < st->npieces; k++)
      if (p->cut[d] && p->ring[st->targets[0]] && !is_around(p, &st->pieces[k].box, d)) {
        diag_error(p->c->diags, st->loc,
                   "a grid cannot yet be cut along dimension %d where the sweep '%s' of a periodic field does not go "
                   "from one end of the grid to the other: cut another dimension",
                   d, st->name);
        return false;
      }
  return true;
}

/* Checks all accesses. */
static bool check_accesses(const Parts *p) {
  for (int i = 0; i < p->m->nstencils; i++)
    if (p->m->stencils[i].sweep && !check_sweep(p, &p->m->stencils[i]))
      return false;
  for (int i = 0; i < p->m->nstencils; i++)
    for (int k = 0; k < p->m->stencils[i].npieces; k++) {
      const Piece *piece = &p->m->stencils[i].pieces[k];
      for (const Op *op = piece->body->first; op; op = op->next)
        if ((op->code == OP_ACCESS || op->code == OP_FINE) && !distribute_check_access(p, piece, op, p->c->diags))
          return false;
      if (!distribute_check_coarse(p, piece))
        return false;
    }
  return true;
}

/* ---------------------------------------------------------------- stencils of both kinds */

/* Removes ops that the targets do not need. */
static void drop_unused(const Parts *p, const Piece *piece, bool ring) {
  bool *used = ARENA_ARRAY(p->m->arena, bool, count_values(piece));
  mark_used(p, piece, ring, used);
  for (Op *op = piece->body->last, *before; op; op = before) {
    before = op->prev;
    bool needed = op->code == OP_YIELD;
    for (int i = 0; i < op->nresults; i++)
      needed |= used[op->results[i]->id];
    if (!needed)
      op_unlink(op);
  }
}

/* The piece with only those targets that are rings (`ring`), or that are not. */
static Piece piece_of_kind(const Parts *p, const Piece *piece, bool ring) {
  Arena *a = p->m->arena;
  Piece x = *piece;
  Block *numbered = piece->body;
  block_renumber(numbered, 0);
  x.body = block_clone(a, numbered, NULL, NULL);
  block_renumber(x.body, 0);
  drop_unused(p, &x, ring);
  Op *yield = x.body->last;
  Value **operands = ARENA_ARRAY(a, Value *, x.ntargets + 1);
  x.targets = ARENA_ARRAY(a, int32_t, x.ntargets + 1);
  x.ntargets = 0;
  for (int t = 0; t < piece->ntargets; t++)
    if (p->ring[piece->targets[t]] == ring) {
      operands[x.ntargets] = yield->operands[t];
      x.targets[x.ntargets++] = piece->targets[t];
    }
  yield->operands = operands;
  yield->noperands = x.ntargets;
  return x;
}

/* The stencil with only those targets that are rings (`ring`), or that are not. */
static Stencil stencil_of_kind(const Parts *p, const Stencil *st, bool ring) {
  Arena *a = p->m->arena;
  Stencil x = *st;
  x.targets = ARENA_ARRAY(a, int32_t, st->ntargets + 1);
  x.ntargets = x.npieces = 0;
  x.pieces = NULL;
  for (int t = 0; t < st->ntargets; t++)
    if (p->ring[st->targets[t]] == ring)
      x.targets[x.ntargets++] = st->targets[t];
  for (int k = 0; k < st->npieces; k++) {
    Piece piece = piece_of_kind(p, &st->pieces[k], ring);
    if (piece.ntargets)
      ARENA_PUSH(a, x.pieces, x.npieces, piece);
  }
  return x;
}

/* Splits each stencil with targets of both kinds in two. The part without rings comes first: it may read rings, while
 * rings are computed from rings only. */
static void part_stencils(Parts *p) {
  Module *m = p->m;
  Stencil *all = NULL;
  int32_t n = 0;
  for (int i = 0; i < m->nstencils; i++)
    for (int ring = 0; ring < 2; ring++) {
      Stencil x = stencil_of_kind(p, &m->stencils[i], ring);
      if (x.ntargets)
        ARENA_PUSH(m->arena, all, n, x);
    }
  m->stencils = all;
  m->nstencils = n;
}

bool distribute_rings(Parts *p) {
  module_renumber(p->m);
  if (!find_rings(p))
    return true;
  if (!check_accesses(p))
    return false;
  part_stencils(p);
  return true;
}
