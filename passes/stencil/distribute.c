/* distribute.c: the program for one part of a grid that is cut into several (ir/ir.h, GridPart). Where the part lies is
 * in hidden params, so that all parts run one program, at the grid's own coordinates: bodies, outside rules and regions
 * mean what they mean in the whole grid, and a region is met with the points that the part can compute.
 *
 * A part computes its ghost cells along, as far as steps up to the next exchange need them. How far from the outermost
 * ghost cell a stencil must stay is its depth: there its accesses stay among the cells that the part has. Reductions,
 * probes and, unless option inits asks for them, inits are left to whoever has the whole grid, or, with option watch,
 * to programs of their own for the part.
 *
 * Makes the program for one part of a grid that is cut (docs/cluster.md). It comes behind the checks of `-fcheck` and
 * before all else. New scalars: for each dimension D that is cut the params `part.lo.D` and `part.hi.D`, the points
 * that the part owns, and `part.steps`, the steps from one exchange to the next; by default they mean a single part
 * that is the whole grid. `part` says how far a step reaches, the sum of what its stencils need of each other, found
 * backwards from the last; a part has `part.steps` times as many ghost cells on each side, as far as the field has
 * points.
 *
 * Each field's box becomes what the part has of it, and the field says when it is exchanged: at every exchange, once,
 * or not (temps, which each part computes for itself). `of` is its box in the whole grid. The rule for the launcher is
 * in the text alone: each cell of the field's box outside of what the part owns gets the value of the part whose points
 * it is among; in a `ring`, taken modulo the box behind `of`. So corners are nothing special.
 *
 * Regions are met with the part's cells, *depth* in from the outermost ones, so that accesses to fields without a rule,
 * and to temps, find cells that are there. Other accesses may find what the rule says in place of a cell of another
 * part; that is as wrong as the outermost ghost cells are anyway behind a step, and comes no further inward than those:
 * after k steps all cells are right that are no further out than `part.steps` - k times the reach.
 *
 * Of fields on coarser levels of a grid (`levels`) parts have all cells, and compute all of them alike, at the points
 * of the whole grid: they are few, and what is read of them is there without an exchange. Of what is computed from the
 * finest level, of which a part has no more than the cells about its own points, a part computes the points that stand
 * for these; such a field is `gathered`: others' cells come at every exchange (distribute-levels.c).
 *
 * `gives` says which points a launch stores, by the params `part.first.D` and `part.last.D` in the dimensions that are
 * cut, the last one aside, where vectors would begin elsewhere. By default it is the part's whole grid. Kernels of
 * threads in blocks begin their tiles there: before an exchange a launcher so has them compute what the part owns, not
 * ghost cells too, and may launch them in ranges of tiles.
 *
 * Reductions, probes and lists of points are left out: they belong to the whole grid. The fields of lists that stencils
 * read stay, as inputs that the launcher fills. So are inits left out, unless `inits=1` asks for them and parts can do
 * all of them: it is known how far they look, and none reads a ring by another rule. A part runs them on all cells that
 * it has, and it has as many as all inits together look around, if that is more than the ghost cells of its steps
 * (`part.below.D`, `part.above.D`). Behind them it is right where it owns points, and a launcher exchanges all fields
 * if an init read other points than its own; later exchanges need no more than the ghost cells of steps. A ring that is
 * computed from what is none gets no values beyond the edges before that; so no other init may look at those. With
 * `watch=all` a part has as many ghost cells as reductions and probes need, too, and `watch=N` makes the program by
 * which it looks at what number N of these does, of reductions and then probes: one stencil that writes their values to
 * a field of its own, the last, and changes nothing else. Behind probes the updates have numbers, too. A step with
 * updates, repeats or levels has a program for each of its stages, which `stage=N` asks for, or one for several that
 * compute coarser levels alone, `stage=N,last=N` (distribute-stages.c).
 * `rows=1` makes, of a reduction whose rows are not cut, one without stencils that evaluates it over the rows that
 * hidden params `part.row.first.D` and `part.row.last.D` name; a launcher that names as many as the reduction has
 * blocks finds each one's value in its block's element. With `stc -emit=sir -passes='distribute(cut=0)' heat.stn -o
 * part.sir` and `stc -march=nvptx part.sir` stc makes an artifact for a part, for a launcher that exchanges by itself;
 * the manifest (docs/manifest.md) says what. */
#include "passes/stencil/distribute.h"
#include "passes/registry.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- hidden params and lets */

/* The number of a new scalar. */
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

/* Declares where the part is, and the outermost ghost cells that points may lie on. */
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

/* The bounds [lo .. hi] of dimension `d` met with the part's cells, empty by one point if they do not meet. */
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

/* `box` met, in the dimensions that are cut, with the part's cells `depth` in from the outermost ones. Of a ring, what
 * goes around all of `whole` goes on beyond its edges. */
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

/* Makes `index`, the op of that coordinate, give where the point is in the whole grid: `turns` times around in this
 * piece, or (`around`) as often as it takes. */
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

/* Do the targets of the piece, of an init then, not have dimension `d`? All parts compute that then. */
static bool lacks(const Parts *p, const Piece *piece, int d) {
  return piece->ntargets && field_lacks(&p->m->fields[piece->targets[0]], d);
}

/* A copy of the piece, `turns` times around each dimension, met with the part's cells. */
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

/* Adds to `out` what the part computes of the piece: itself, and in a ring what lies beyond the edges. */
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

/* The stencils, each with what the part computes of it. */
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

/* The inits, as the stencils, on all cells that the part has. They stay all together, or none. */
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

/* The fields, with the cells that the part has of them. */
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

/* Declares what launches store. Rows are not cut anew: lanes and vectors begin where they do. */
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

/* The grid is what holds all of the fields' cells, where stencils are of coarser levels the whole one, too. What
 * belongs to the whole grid goes. */
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

/* Reads option cut, the numbers of the dimensions: "0+2". */
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

/* Are there whole rows in a part, of a reduction that was named? */
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

/* Is `st` no sweep, or one whose columns are not cut? Reports it if not. */
static bool sweep_stays_whole(const Parts *p, const Stencil *st) {
  bool whole = !st->sweep || !p->cut[st->along];
  if (!whole)
    diag_error(p->c->diags, st->loc,
               "a grid cannot be cut along dimension %d, in which the sweep '%s' goes from point to point: cut %s",
               st->along, st->name,
               p->m->grid.rank > 1 ? "another dimension" : "nothing, the program has no other dimension");
  return whole;
}

/* Finds what the part's program needs of its neighbours. False after an error: nobody knows. */
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
