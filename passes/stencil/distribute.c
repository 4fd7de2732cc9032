/* distribute.c: makes the program for one part of a cut grid (docs/cluster.md; ir/ir.h, GridPart). It comes after the
 * checks of `-fcheck` and before all other passes. Hidden params hold the part's position, so all parts run one
 * program, at the coordinates of the whole grid: bodies, outside rules and regions mean what they mean in the whole
 * grid, and each region is intersected with the points that the part can compute.
 *
 * New scalars: for each cut dimension D the params `part.lo.D` and `part.hi.D`, the points that the part owns, and
 * `part.steps`, the number of steps between two exchanges. By default the part is the whole grid.
 *
 * Ghost cells: `part` says how far a step reaches, the sum of the reaches of its stencils, found backwards from the
 * last one. A part has `part.steps` times as many ghost cells on each side, within the field's region, and computes
 * them redundantly. A stencil stays its *depth* away from the outermost ghost cells, so that its accesses to temps and
 * to fields without a rule find cells that exist. Other accesses may find the value of the rule in place of a cell of
 * another part. That is as wrong as the outermost ghost cells are after a step anyway, and spreads no further inwards:
 * after k steps all cells are right that are at most `part.steps` - k times the reach outside.
 *
 * Fields: the box of each field becomes the cells that the part has; `of` is its box in the whole grid. The field says
 * when it is exchanged: at every exchange, once, or never (temps, which each part computes for itself). The rule for
 * launchers is: each cell of the field's box outside of the owned points gets the value of the part whose points
 * contain it; in a `ring`, modulo the box that follows `of`. So corners need no special treatment.
 *
 * Coarser levels (`levels`): parts have all cells of a field on a coarser level, and all parts compute all of them, at
 * the points of the whole grid. There are few, and their readers need no exchange. A field that is computed from the
 * finest level is an exception, because a part has only the cells around its own points there: a part computes the
 * points that stand for its own ones, and such a field is `gathered`: the other cells come at every exchange
 * (distribute-levels.c).
 *
 * `gives` says which points a launch stores, by the params `part.first.D` and `part.last.D` in the cut dimensions
 * except the last dimension (where vectors would begin elsewhere); by default the part's whole grid. Kernels of threads
 * in blocks begin their tiles there. So before an exchange a launcher can make them compute only the owned points,
 * without ghost cells, and it may launch them in ranges of tiles.
 *
 * Reductions, probes and lists of points belong to the whole grid and are removed. Fields of lists that stencils read
 * stay as inputs that the launcher fills.
 *
 * Inits are removed, unless `inits=1` asks for them and parts can run all of them: their reach must be known, and none
 * may read a ring by another rule. A part runs them on all of its cells. It has as many ghost cells as all inits
 * together reach, if these are more than its steps need (`part.below.D`, `part.above.D`). After the inits a part is
 * right at its own points; a launcher exchanges all fields if an init reads other points than its own, and later
 * exchanges need only the ghost cells of steps. A ring that is computed from other fields has no values beyond the
 * edges until that exchange, so no other init may read them there.
 *
 * Other programs for a part:
 *
 * - `watch=all`: a part also has the ghost cells that reductions and probes need.
 * - `watch=N`: the program that evaluates number N of these for the part, counting reductions, probes, then updates:
 *   one stencil that writes the values to a field of its own, the last, and changes nothing else.
 * - `rows=1`: for a reduction whose rows are not cut, a program without stencils that evaluates it over the rows which
 *   the hidden params `part.row.first.D` and `part.row.last.D` name. If a launcher names as many rows as the reduction
 *   has blocks, each row's value is in the element of its block.
 * - `stage=N`, or `stage=N,last=N` for several that compute coarser levels only: a step with updates, repeats or levels
 *   has a program for each of its stages (distribute-stages.c).
 *
 * `stc -emit=sir -passes='distribute(cut=0)' heat.stn -o part.sir` and `stc -march=nvptx part.sir` make an artifact for
 * a part, for a launcher that does its own exchanges; docs/manifest.md describes it. */
#include "passes/stencil/distribute.h"
#include "passes/registry.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- hidden params and lets */

/* Adds a scalar. Returns its number. */
static int32_t add_scalar(Parts *p, const char *name, bool is_param, Block *expr) {
  Module *m = p->m;
  ARENA_PUSH(m->arena, m->scalars, m->nscalars,
             ((Scalar){.name = name, .type = TY_I64, .is_param = is_param, .expr = expr}));
  return m->nscalars - 1;
}

Affine distribute_param(Parts *p, const char *name, Affine x) {
  Module *m = p->m;
  Block *expr = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, expr);
  build_yield(&b, 1, (Value *[]){build_affine(&b, m, x)});
  return affine_scalar(m->arena, add_scalar(p, name, true, expr));
}

Affine distribute_let(Parts *p, const char *name, Opcode code, Affine x, Affine y) {
  Module *m = p->m;
  Block *expr = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, expr);
  Value *first = build_affine(&b, m, x), *second = build_affine(&b, m, y);
  build_yield(&b, 1, (Value *[]){build2(&b, code, first, second)});
  return affine_scalar(m->arena, add_scalar(p, name, false, expr));
}

/* Adds the params with the part's position, and computes the outermost ghost cells that may exist. */
static void add_place(Parts *p) {
  Module *m = p->m;
  Arena *a = m->arena;
  p->part->whole = p->part->own = m->grid;
  for (int d = 0; d < m->grid.rank; d++) {
    if (!p->cut[d])
      continue;
    p->part->own.lo[d] = distribute_param(p, arena_printf(a, "part.lo.%d", d), m->grid.lo[d]);
    p->part->own.hi[d] = distribute_param(p, arena_printf(a, "part.hi.%d", d), m->grid.hi[d]);
  }
  Affine steps = distribute_param(p, "part.steps", affine_const(1));
  p->part->steps = m->nscalars - 1;
  for (int d = 0; d < m->grid.rank; d++) {
    p->from[d] = affine_sub(a, p->part->own.lo[d], affine_scale(a, steps, p->part->reach.lo[d]));
    p->to[d] = affine_add(a, p->part->own.hi[d], affine_scale(a, steps, p->part->reach.hi[d]));
    if (p->init_reach.lo[d] > p->part->reach.lo[d])
      p->from[d] = distribute_let(p, arena_printf(a, "part.below.%d", d), OP_MIN, p->from[d],
                                  affine_add_const(p->part->own.lo[d], -p->init_reach.lo[d]));
    if (p->init_reach.hi[d] > p->part->reach.hi[d])
      p->to[d] = distribute_let(p, arena_printf(a, "part.above.%d", d), OP_MAX, p->to[d],
                                affine_add_const(p->part->own.hi[d], p->init_reach.hi[d]));
  }
}

/* The bounds [lo .. hi] of dimension `d`, intersected with the part's cells; if that is empty, `to` = `from` - 1. */
static const Bounds *meet(Parts *p, int d, Affine lo, Affine hi) {
  for (int i = 0; i < p->nbounds; i++)
    if (p->bounds[i].d == d && affine_equal(p->bounds[i].lo, lo) && affine_equal(p->bounds[i].hi, hi))
      return &p->bounds[i];
  Arena *a = p->m->arena;
  Affine from = distribute_let(p, arena_printf(a, "part.from.%d.%d", d, p->nbounds), OP_MAX, lo, p->from[d]);
  Affine to = distribute_let(p, arena_printf(a, "part.min.%d.%d", d, p->nbounds), OP_MIN, hi, p->to[d]);
  to = distribute_let(p, arena_printf(a, "part.to.%d.%d", d, p->nbounds), OP_MAX, affine_add_const(from, -1), to);
  ARENA_PUSH(a, p->bounds, p->nbounds, ((Bounds){d, lo, hi, from, to}));
  return &p->bounds[p->nbounds - 1];
}

/* `box`, intersected in the cut dimensions with the part's cells that are `depth` inside of the outermost ones. In a
 * ring, a box that spans all of `whole` continues beyond the edges. */
static Box clip(Parts *p, Box box, const Extent *depth, bool ring) {
  for (int d = 0; d < box.rank; d++) {
    int64_t below = depth ? depth->lo[d] : 0, above = depth ? depth->hi[d] : 0;
    if (!p->cut[d])
      continue;
    bool around = ring && p->turns[d] && is_around(p, &box, d);
    const Bounds *b =
        around ? NULL : meet(p, d, affine_add_const(box.lo[d], -below), affine_add_const(box.hi[d], above));
    box.lo[d] = affine_add_const(around ? p->from[d] : b->from, below);
    box.hi[d] = affine_add_const(around ? p->to[d] : b->to, -above);
  }
  return box;
}

/* ---------------------------------------------------------------- rings: pieces beyond the edges */

/* Corrects `index`, an index op, to the point's coordinate in the whole grid: by `turns` times the extent in this
 * piece, or (`around`) modulo the extent. */
static void turn_index(Parts *p, Op *index, bool around, int turns) {
  const Box *grid = &p->part->whole;
  Module *m = p->m;
  int d = index->sym;
  Value *old = index->results[0];
  Affine extent = box_extent(m->arena, grid, d);
  if (!around && !turns)
    return;
  Builder b = builder_before(m->arena, index->next);
  Affine first = around ? affine_sub(m->arena, grid->lo[d], extent) : affine_scale(m->arena, extent, turns);
  Value *from = build_affine(&b, m, first), *at = build2(&b, OP_SUB, old, from);
  Op *use = at->def;
  if (around) {
    at = build2(&b, OP_REM, at, build_affine(&b, m, extent));
    at = build2(&b, OP_ADD, at, build_affine(&b, m, grid->lo[d]));
  }
  block_replace_uses(index->parent, old, at);
  use->operands[0] = old;
}

/* Do the targets of the piece lack dimension `d` (possible in inits)? Then all parts compute it. */
static bool lacks(const Parts *p, const Piece *piece, int d) {
  return piece->ntargets && field_lacks(&p->m->fields[piece->targets[0]], d);
}

/* A copy of the piece, moved by `turns` times the extent in each dimension, and intersected with the part's cells. */
static Piece turned(Parts *p, const Piece *piece, const Extent *depth, bool ring, const int *turns) {
  Piece x = *piece;
  Arena *a = p->m->arena;
  block_renumber(piece->body, 0);
  x.body = block_clone(a, piece->body, NULL, NULL);
  for (Op *op = x.body->first; op; op = op->next)
    if (ring && op->code == OP_INDEX && p->turns[op->sym])
      turn_index(p, op, is_around(p, &piece->box, op->sym), turns[op->sym]);
  for (int d = 0; d < x.box.rank; d++) {
    Affine by = affine_scale(a, box_extent(a, &p->part->whole, d), turns[d]);
    bool around = ring && p->turns[d] && is_around(p, &piece->box, d);
    x.box.lo[d] = around ? x.box.lo[d] : affine_add(a, x.box.lo[d], by);
    x.box.hi[d] = around ? x.box.hi[d] : affine_add(a, x.box.hi[d], by);
  }
  x.box = clip(p, x.box, depth, ring);
  for (int d = 0; d < x.box.rank; d++)
    if (lacks(p, piece, d)) {
      x.box.lo[d] = piece->box.lo[d];
      x.box.hi[d] = piece->box.hi[d];
    }
  return x;
}

/* Adds to `out` the pieces that the part computes for `piece`: itself, and in a ring its copies beyond the edges. */
static void distribute_piece(Parts *p, const Piece *piece, const Extent *depth, bool ring, Stencil *out) {
  int first[MAX_RANK] = {0}, turns[MAX_RANK] = {0};
  for (int d = 0; d < p->m->grid.rank; d++)
    first[d] = ring && p->turns[d] && !is_around(p, &piece->box, d) && !lacks(p, piece, d) ? -1 : 0;
  for (turns[0] = first[0]; turns[0] <= -first[0]; turns[0]++)
    for (turns[1] = first[1]; turns[1] <= -first[1]; turns[1]++)
      for (turns[2] = first[2]; turns[2] <= -first[2]; turns[2]++) {
        Piece x = turned(p, piece, depth, ring, turns);
        distribute_note_inside(p, piece, &x.box);
        ARENA_PUSH(p->m->arena, out->pieces, out->npieces, x);
      }
}

/* ---------------------------------------------------------------- the module */

/* Replaces each stencil by the pieces that the part computes. */
static void distribute_stencils(Parts *p) {
  Module *m = p->m;
  for (int i = 0; i < m->nstencils; i++) {
    Stencil *st = &m->stencils[i], out = *st;
    out.pieces = NULL;
    out.npieces = 0;
    for (int k = 0; k < st->npieces; k++) {
      const Piece *piece = &st->pieces[k];
      if (piece_is_coarse(p, piece)) {
        Piece x = *piece;
        x.box = distribute_coarse_box(p, x.box, stencil_restricts(st, p->coarse));
        ARENA_PUSH(m->arena, out.pieces, out.npieces, x);
        continue;
      }
      distribute_piece(p, piece, &p->depth[i], piece->ntargets && p->ring[piece->targets[0]], &out);
    }
    *st = out;
  }
}

/* Does the same with the inits, on all cells of the part. Keeps all of them, or none. */
static void distribute_inits(Parts *p) {
  Module *m = p->m;
  m->ninits = p->inits ? m->ninits : 0;
  for (int i = 0; i < m->ninits; i++) {
    Stencil *st = &m->inits[i], out = *st;
    out.pieces = NULL;
    out.npieces = 0;
    for (int k = 0; k < st->npieces; k++)
      if (piece_is_coarse(p, &st->pieces[k]))
        ARENA_PUSH(m->arena, out.pieces, out.npieces, st->pieces[k]);
      else
        distribute_piece(p, &st->pieces[k], &p->init_depth[i], p->turned[i][k], &out);
    *st = out;
  }
}

/* Sets the fields' boxes to the cells that the part has. */
static void distribute_fields(Parts *p) {
  Module *m = p->m;
  for (int i = 0; i < m->nfields; i++) {
    Field *f = &m->fields[i];
    Box *whole = ARENA_NEW(m->arena, Box);
    *whole = f->box;
    f->whole = whole;
    f->ring = p->ring[i];
    bool changes = f->past || stencils_write(m->nstencils, m->stencils, i);
    f->exchange = f->temp ? EXCHANGE_NONE : changes ? EXCHANGE_STEPS : EXCHANGE_ONCE;
    f->derived = false;
    f->share = distribute_share(p, i);
    if (f->share)
      continue;
    for (int d = 0; d < f->box.rank && f->ring; d++)
      if (p->turns[d]) {
        f->box.lo[d] = p->part->whole.lo[d];
        f->box.hi[d] = p->part->whole.hi[d];
      }
    f->box = clip(p, f->box, NULL, f->ring);
    for (int d = 0; d < f->box.rank; d++)
      if (!p->cut[d] || field_lacks(f, d)) {
        f->box.lo[d] = whole->lo[d];
        f->box.hi[d] = whole->hi[d];
      }
  }
}

/* Adds the params for the points that launches store. The last dimension gets none: lanes and vectors begin where rows
 * do. */
static void add_gives(Parts *p) {
  Module *m = p->m;
  p->part->gives = m->grid;
  for (int d = 0; d < m->grid.rank - 1; d++) {
    if (!p->cut[d])
      continue;
    p->part->gives.lo[d] = distribute_param(p, arena_printf(m->arena, "part.first.%d", d), m->grid.lo[d]);
    p->part->gives.hi[d] = distribute_param(p, arena_printf(m->arena, "part.last.%d", d), m->grid.hi[d]);
  }
}

/* Sets the grid to the box of all cells of all fields (including the whole grid, if stencils compute coarser levels),
 * and removes declarations that belong to the whole grid. */
static void distribute_rest(Parts *p) {
  Module *m = p->m;
  bool ring = false;
  for (int i = 0; i < m->nfields; i++)
    ring |= p->ring[i];
  if (distribute_has_coarse(p)) {
    for (int d = 0; d < m->grid.rank && ring; d++)
      if (p->turns[d]) {
        m->grid.lo[d] =
            distribute_let(p, arena_printf(m->arena, "part.least.%d", d), OP_MIN, m->grid.lo[d], p->from[d]);
        m->grid.hi[d] = distribute_let(p, arena_printf(m->arena, "part.most.%d", d), OP_MAX, m->grid.hi[d], p->to[d]);
      }
    p->part->gives = m->grid;
  } else {
    m->grid = clip(p, m->grid, NULL, ring);
    add_gives(p);
  }
  for (int i = 0; i < m->nparam_arrays; i++)
    m->param_arrays[i].role = ARRAY_GIVEN, m->param_arrays[i].value = NULL;
  m->nreductions = p->rows ? 1 : 0;
  m->nprobes = m->nlists = 0;
  m->part = p->part;
}

/* Reads option cut, the numbers of the cut dimensions, such as "0+2". */
static bool read_cut(Parts *p, const char *text) {
  for (const char *s = text; *s; s++) {
    int d = *s - '0';
    if (d < 0 || d >= p->m->grid.rank || (s[1] && s[1] != '+')) {
      diag_error(p->c->diags, no_loc(),
                 "pass 'distribute': option cut=%s is not a list of dimensions from 0 to %d, such as cut=0 or cut=0+1",
                 text, p->m->grid.rank - 1);
      return false;
    }
    p->cut[d] = true;
    s += s[1] == '+';
  }
  return true;
}

/* Reads option watch: "all", or the number of a reduction, probe or update. */
static bool read_watch(Parts *p, const char *text) {
  int n = p->m->nreductions + p->m->nprobes + p->m->nupdates;
  bool ok = true;
  p->watches = true;
  p->watch = -1;
  if (strcmp(text, "all") == 0)
    return true;
  if (n)
    p->watch = (int)pass_option_int(p->c, "distribute", 1, &(PassOption){"watch", text}, "watch", 0, n - 1, 0, &ok);
  else
    ok = (diag_error(p->c->diags, no_loc(),
                     "pass 'distribute': option watch=%s: the program has no reductions, probes or updates", text),
          false);
  return ok;
}

/* Does a part have whole rows of the named reduction? Reports it if not. */
static bool check_rows(const Parts *p) {
  const Module *m = p->m;
  bool reduces = p->watch < m->nreductions || p->watch >= m->nreductions + m->nprobes;
  if (p->watches && p->watch >= 0 && reduces && m->grid.rank > 1 && !p->cut[m->grid.rank - 1])
    return true;
  diag_error(p->c->diags, no_loc(),
             "pass 'distribute': option rows=1 is for a reduction that option watch names, of a grid of rank 2 or 3 "
             "that is not cut along the last dimension");
  return false;
}

/* Reads the options. */
static bool read_options(Parts *p, int n, const PassOption *o) {
  const char *cut = "0";
  bool ok = true;
  p->inits = pass_option_int(p->c, "distribute", n, o, "inits", 0, 1, 0, &ok);
  p->rows = ok && pass_option_int(p->c, "distribute", n, o, "rows", 0, 1, 0, &ok);
  p->stage = ok ? (int)pass_option_int(p->c, "distribute", n, o, "stage", -1, INT32_MAX, -1, &ok) : -1;
  p->last = ok ? (int)pass_option_int(p->c, "distribute", n, o, "last", p->stage, INT32_MAX, p->stage, &ok) : -1;
  for (int i = 0; i < n && ok; i++)
    if (strcmp(o[i].name, "watch") == 0)
      ok = read_watch(p, o[i].value);
    else if (strcmp(o[i].name, "cut") == 0)
      cut = o[i].value;
  return ok && read_cut(p, cut) && (!p->rows || check_rows(p));
}

/* Is `st` no sweep, or a sweep whose columns are not cut? Reports it if not. */
static bool sweep_stays_whole(const Parts *p, const Stencil *st) {
  bool whole = !st->sweep || !p->cut[st->along];
  if (!whole)
    diag_error(p->c->diags, st->loc,
               "a grid cannot be cut along dimension %d, in which the sweep '%s' goes from point to point: cut %s",
               st->along, st->name,
               p->m->grid.rank > 1 ? "another dimension" : "nothing, the program has no other dimension");
  return whole;
}

/* Finds what the part's program needs from its neighbours. False after an error. */
static bool analyse(Parts *p) {
  const Stencil *scaled = p->m->members ? module_scaled(p->m) : NULL;
  for (int d = 0; scaled && d < p->m->grid.rank; d++)
    if (p->cut[d] && dimension_has_levels(p->m, d)) {
      diag_error(p->c->diags, scaled->loc,
                 "pass 'distribute': '%s' reads another level of the grid, and the grid of such a program with members "
                 "cannot be cut but by members: option cut=0",
                 scaled->name);
      return false;
    }
  for (int i = 0; i < p->m->ninits; i++)
    if (p->m->inits[i].once) {
      diag_error(p->c->diags, p->m->inits[i].loc,
                 "'%s' is computed once, before the first step: such a grid cannot be cut; cut the program before pass "
                 "'hoist' made this of it",
                 p->m->inits[i].name);
      return false;
    }
  for (int i = 0; i < p->m->nstencils; i++)
    if (!sweep_stays_whole(p, &p->m->stencils[i]))
      return false;
  if (!distribute_stages(p))
    return false;
  distribute_levels(p);
  distribute_add_watches(p);
  return distribute_rings(p) && distribute_reach(p);
}

bool can_distribute(PassContext *c, Module *m, const bool cut[MAX_RANK], bool watches) {
  Parts p = {.c = c, .m = m, .part = ARENA_NEW(m->arena, GridPart), .watches = watches, .watch = -1, .stage = -1};
  memcpy(p.cut, cut, sizeof p.cut);
  return analyse(&p);
}

/* The pass. It must be the first that changes stencils. */
Module *pass_distribute(PassContext *c, Module *m, int n, const PassOption *o) {
  Parts p = {.c = c, .m = m, .part = ARENA_NEW(m->arena, GridPart), .stage = -1};
  if (m->part || m->time_tile > 1 || m->plan) {
    diag_error(c->diags, no_loc(), "pass 'distribute': the module %s; run it before all other passes",
               m->part ? "is for a part already" : "has a plan or a time tile");
    return NULL;
  }
  if (!read_options(&p, n, o))
    return NULL;
  if (!analyse(&p))
    return NULL;
  distribute_choose_inits(&p);
  add_place(&p);
  distribute_stencils(&p);
  distribute_inits(&p);
  distribute_fields(&p);
  distribute_add_checks(&p);
  distribute_end_watches(&p);
  if (!distribute_keep_stage(&p))
    return NULL;
  distribute_rest(&p);
  for (int d = 0; d < m->grid.rank; d++)
    pass_stat(c, p.part->reach.lo[d] + p.part->reach.hi[d], "distribute", "ghost cells a step in dimension %d", d);
  return m;
}
