/* slices.c: makes one slice of a program without reads along dimension 0, as a module. */
#include "passes/launch/slices.h"
#include "passes/launch/launch.h"

#include <string.h>

/* ---- are there any? */

/* Has `box` the same range in dimension 0 as `all`? */
static bool has_all(const Box *box, const Box *all) {
  return affine_equal(box->lo[0], all->lo[0]) && affine_equal(box->hi[0], all->hi[0]);
}

/* Do all reads of `body` stay within the slice? */
static bool body_stays(const Module *m, const Block *body) {
  for (const Op *op = body->first; op; op = op->next)
    if ((op_is_scaled(op) && dimension_has_levels(m, 0)) ||
        ((op_reads_field(op) || op->code == OP_BEHIND) && op->off[0]))
      return false;
  return true;
}

/* Does stencil `st` compute the same points in each slice, and read only that slice? A stencil for fields that all
 * slices share computes them once. */
static bool stencil_stays(const Module *m, const Stencil *st) {
  for (int i = 0; i < st->npieces; i++)
    if (!body_stays(m, st->pieces[i].body) ||
        (!field_lacks(&m->fields[st->pieces[i].targets[0]], 0) && !has_all(&st->pieces[i].box, &m->grid)))
      return false;
  return !st->sweep || st->along > 0;
}

/* Is each field of `m` present in all slices, or shared by them? */
static bool fields_stay(const Module *m) {
  for (int f = 0; f < m->nfields; f++)
    if (!field_lacks(&m->fields[f], 0) && !has_all(&m->fields[f].box, &m->grid))
      return false;
  return true;
}

/* Has `m` slices without any connection by a stencil? (Reductions and updates are kernels of their own, over all
 * slices.) If the grid is cut along dimension 0, a part has no ghost cells there, so all its boxes have the same
 * slices. */
static bool has_slices(const Module *m) {
  if (m->slice_of || m->grid.rank < GRID_RANK || (m->nstencils == 0 && m->grid.rank == GRID_RANK) || !fields_stay(m))
    return false;
  for (int i = 0; i < m->ninits; i++)
    if (!stencil_stays(m, &m->inits[i]))
      return false;
  for (int i = 0; i < m->nstencils; i++)
    if (!stencil_stays(m, &m->stencils[i]))
      return false;
  return true;
}

/* May the tiles of `s` be tiles of a slice of a grid of `rank` dimensions? Tiles have at most three dimensions, and
 * fitted tiles have three. */
static bool is_of_slice(const Schedule *s, int rank) {
  return rank > GRID_RANK || (!s->block[rank - 1] && !s->elems[rank - 1] && s->tiles != TILES_FITTED);
}

bool plan_is_sliced(const Module *m, const Schedule *s) {
  for (int g = 0; g < s->ngroups && s->groups; g++)
    if (m->grid.rank >= GRID_RANK && !is_of_slice(&s->groups[g], m->grid.rank))
      return false;
  return m->grid.rank >= GRID_RANK && s->edges != EDGES_STEPS && is_of_slice(s, m->grid.rank) &&
         (!s->rest || is_of_slice(s->rest, m->grid.rank)) && has_slices(m);
}

bool slices_are_there(PassContext *c, const Module *m, const Schedule *s) {
  if (m->grid.rank <= GRID_RANK || plan_is_sliced(m, s))
    return true;
  diag_error(c->diags, no_loc(),
             s->edges == EDGES_STEPS ? "-edges=steps: a grid of three dimensions with members has no frames"
                                     : "a stencil of a grid of three dimensions looks from member to member");
  return false;
}

/* ---- a slice as a module */

/* Removes the first entry from a list with one entry for each dimension. */
#define DROP_FIRST(list, last) \
  do { \
    memmove(&(list)[0], &(list)[1], (MAX_RANK - 1) * sizeof *(list)); \
    (list)[MAX_RANK - 1] = (last); \
  } while (0)

static void slice_box(Box *box) {
  DROP_FIRST(box->lo, affine_const(0));
  DROP_FIRST(box->hi, affine_const(0));
  box->rank--;
}

/* A copy of the box at `box` without dimension 0. */
static const Box *sliced_box(Arena *a, const Box *box) {
  Box *own = ARENA_NEW(a, Box);
  *own = *box;
  slice_box(own);
  return own;
}

static void slice_extent(Extent *x) {
  DROP_FIRST(x->lo, 0);
  DROP_FIRST(x->hi, 0);
}

static void slice_field(Arena *a, Field *f) {
  slice_box(&f->box);
  DROP_FIRST(f->outside, OUTSIDE_NONE);
  if (f->sides) {
    Side *sides = ARENA_ARRAY(a, Side, 2 * MAX_RANK);
    memcpy(sides, f->sides + 2, 2 * (MAX_RANK - 1) * sizeof *sides);
    f->sides = sides;
  }
  if (f->whole)
    f->whole = sliced_box(a, f->whole);
}

/* Changes `index 0` to the index after the slice's `rank` dimensions, and removes dimension 0 from offsets. */
static void slice_body(Block *body, int rank) {
  for (Op *op = body ? body->first : NULL; op; op = op->next)
    if (op->code == OP_INDEX)
      op->sym = op->sym ? op->sym - 1 : rank;
    else if (op_reads_field(op) || op->code == OP_BEHIND)
      DROP_FIRST(op->off, 0);
}

static void slice_stencil(Stencil *st, int rank) {
  for (int i = 0; i < st->npieces; i++) {
    slice_box(&st->pieces[i].box);
    slice_body(st->pieces[i].body, rank);
  }
  st->along -= st->sweep != 0;
  slice_extent(&st->extent);
}

/* Removes dimension 0 from declarations other than fields. Plans use these; the lowering uses those of the whole
 * program. */
static void slice_declared(Arena *a, Module *m) {
  for (int i = 0; i < m->nreductions; i++) {
    slice_box(&m->reductions[i].over);
    slice_body(m->reductions[i].body, m->grid.rank);
  }
  for (int i = 0; i < m->nupdates; i++) {
    slice_box(&m->updates[i].over);
    slice_body(m->updates[i].body, m->grid.rank);
  }
  for (int i = 0; i < m->nprobes; i++) {
    slice_box(&m->probes[i].box);
    slice_body(m->probes[i].body, m->grid.rank);
  }
  for (int i = 0; i < m->nlists; i++) {
    PointList *l = &m->lists[i];
    slice_box(&l->box);
    DROP_FIRST(l->array, -1);
    DROP_FIRST(l->at, affine_const(0));
  }
  for (int i = 0; i < m->nchecks; i++)
    for (int k = 0; k < MAX_UNLESS; k++)
      if (m->checks[i].unless_empty[k])
        m->checks[i].unless_empty[k] = sliced_box(a, m->checks[i].unless_empty[k]);
  if (m->part) {
    GridPart *part = ARENA_NEW(a, GridPart);
    *part = *m->part;
    slice_box(&part->own);
    slice_box(&part->whole);
    slice_box(&part->gives);
    slice_extent(&part->reach);
    m->part = part;
  }
  DROP_FIRST(m->metric.spacing, 0);
  DROP_FIRST(m->metric.coordinates, 0);
}

Module *module_slice(Arena *a, const Module *m) {
  Module *s = module_copy(a, m);
  module_renumber(s);
  slice_box(&s->grid);
  for (int f = 0; f < s->nfields; f++)
    slice_field(a, &s->fields[f]);
  for (int i = 0; i < s->ninits; i++)
    slice_stencil(&s->inits[i], s->grid.rank);
  for (int i = 0; i < s->nstencils; i++)
    slice_stencil(&s->stencils[i], s->grid.rank);
  slice_declared(a, s);
  if (m->plan) {
    Schedule *plan = ARENA_NEW(a, Schedule);
    *plan = plan_of_slice(m->plan);
    s->plan = plan;
  }
  s->slice_of = m;
  s->members = false;
  s->defaults = NULL;
  s->inside = NULL;
  return s;
}

/* ---- plans */

Schedule plan_of_slice(const Schedule *s) {
  Schedule x = *s;
  DROP_FIRST(x.size, s->size[0]);
  return x;
}

/* Clears the tile sizes of `s` beyond the `rank` dimensions of a slice. */
static void say_of_slice(Schedule *s, int rank) {
  for (int d = rank; d < GRID_RANK; d++)
    s->block[d] = s->elems[d] = 0;
}

/* A copy of the schedule at `s` for a slice of `rank` dimensions, in the arena; NULL if `s` is NULL. */
static const Schedule *of_slice(Arena *a, int rank, const Schedule *s) {
  Schedule *x = s ? ARENA_NEW(a, Schedule) : NULL;
  if (s) {
    *x = *s;
    say_of_slice(x, rank);
  }
  return x;
}

Schedule plan_of_slices(Arena *a, int rank, const Schedule *s) {
  Schedule x = *s, *groups = s->groups ? ARENA_ARRAY(a, Schedule, s->ngroups + 1) : NULL;
  say_of_slice(&x, rank);
  for (int g = 0; groups && g < s->ngroups; g++) {
    groups[g] = s->groups[g];
    say_of_slice(&groups[g], rank);
  }
  x.groups = groups;
  x.rest = of_slice(a, rank, s->rest);
  x.between = of_slice(a, rank, s->between);
  return x;
}
