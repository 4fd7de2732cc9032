/* frame.c: the grid's edges step by step, beside tiles of several steps inside (frame.h).
 *
 *   step:   psi, zeta (layers)   wave (inner)   source, receivers     with -edges=steps, T = 8
 *   ->      tiles of 8 steps of wave   +   8 times: 2 launches over the frame   +   frame_end
 *
 * Absorbing layers, walls and other stencils on few points at the grid's edges are chains of short stencils. A tile of
 * several steps that computes them needs a halo for each, on all of the grid. With `-edges=steps` a launch of T steps
 * has the *inner* stencils alone, those with pieces of many points (more than an eighth of the grid's), and the points
 * that the others reach are computed apart:
 *
 * 1. The launch of tiles, of any family, computes the whole grid from the fields as they are and stores to other
 *    buffers.
 * 2. After it only the frame uses the buffers that it has loaded. T times all stencils make a step there, by few
 *    launches.
 * 3. `NAME_frame_end` stores the frame's points over those of the tiles, and these buffers become the fields.
 *
 * *Launches of a step*. Each launch covers the frame on all sides: blocks in the core are `idle`, and `split-edges`
 * leaves them out. A launch makes all stencils of a *level*, at each point one after the other. A stencil is in a later
 * level than another one if one of the two reads other points of a buffer that the other sets. If they depend on each
 * other at the point itself only, the same thread makes them, in order. Levels are as late as possible. So `psi`, then
 * `zeta`, the wave, the terms added to it, a source and receivers are two launches a step. A stencil is computed as
 * deep into the inner box as later steps need it. Beside that, as far as these read, the old values are copied; results
 * of the copies are not used. A stencil of few points that may lie further in has launches of its own, at the same time
 * as those of its level.
 *
 * *Buffers* are swapped after the step; a field that is not changed in place is swapped with one more buffer,
 * `p.frame1`. Until then a stencil has its fields where swaps would have brought them. Each step launches the same
 * kernels with a later number of the step (`launch @k after 2`).
 *
 * *Threads*. A thread has one point, or, in kernels that make stencils of the tiles, several points, one after the
 * other along dimension 0. The plan's `rest` says how many (`elems`), at most 16 bytes of the fields' type. There are
 * several if that leaves blocks for all threads that the card holds at once, and tiles no higher than the frame is deep
 * inside. A block's place then is computed once for all of its points. In tiles of the inner box all of whose points
 * are in the largest piece of each stencil, the code is unrolled, without tests, for threads that compute all of their
 * points, so a value that several of these read is loaded once (4 points of a star of order 8: 44 values for 68). The
 * version that `specialize` makes of other kernels is there from the beginning, and the pass adds to its condition that
 * no test fails. All other threads compute their points one after the other, in a loop out of which nothing is hoisted
 * (`apart`, see docs/ir.md): most of the values that rounds have in common are for a piece in which the point is not. A
 * core is to have room for half of the threads that it can hold. For a shot with layers on slabs (kernel/idle-blocks.c)
 * a warp inside executes 92 instructions a row in place of 205, and keeps 64 registers.
 *
 * *Remaining steps* after the last T are launches of family naive.
 *
 * *Probes and points*. A probe whose points may lie in both is in both, and each stores it where it is right. A change
 * at a single point (`inject`) is a choice in the tiles' stencil and one more stencil of the frame's steps. Which
 * probes tiles leave to the frame depends on their number of steps, so a tile is chosen with all probes, and chosen
 * again without those of the frame where it does not fit with all.
 *
 * A stencil of few points that changes nothing that others compute has a frame, too, since it reads their values at
 * each step: a thin region beside a wide field then costs launches of its own, and tiles do not contain it.
 *
 * *Limits*. There is no frame, and `-edges=steps` is an error that says why,
 * - where fields inside are periodic or smaller than the grid,
 * - where stencils inside read a field of a layer,
 * - where a temp field has pieces of few points (tiles would have no values there; all other fields have some from an
 *   outside rule or from the step before),
 * - where a stencil of few points is not along an edge or reads its own field at neighbours,
 * - where a stencil inside also sets a field at few points that are not in the frame,
 * - where layers read further in than T steps do,
 * - where older levels are kept for more steps than a tile makes,
 * - for a grid in parts, and on CPUs.
 *
 * The params' defaults decide which pieces count as few; results are right for all values. By itself `plan` takes a
 * frame where tiles inside and the launches of the frame are expected to take clearly less time than the schedule that
 * it would choose otherwise (`apart_gap` in `measured.def`: the time from one of these launches to the next), and says
 * so in a remark. */
#include "passes/tile/frame.h"

/* A layer is at an edge if it is at most so many points away from the grid's end. */
enum { FRAME_GAP = 32 };

/* The search for the frame of a module. */
typedef struct Finder {
  const Module *m;
  const Const *scalars;
  int T;
  Frame *f;
  FrameRole *role; /* [stencil] */
  bool *left;      /* [stencil] tiles leave it out: a probe that sees the frame alone */
  bool *inner;     /* [field] the tiles' launch writes it */
  bool *written;   /* [field] the step writes it */
  const char *why;
} Finder;

/* Notes the reason why there is no frame, unless one was noted before. Returns false. */
static bool none(Finder *x, const char *why) {
  x->why = x->why ? x->why : why;
  return false;
}

/* ---- the roles of stencils */

/* Does piece `p` have few points? */
static bool few(const Finder *x, const Piece *p) { return box_share(x->m, &p->box, x->scalars) * THIN_SHARE <= 1; }

/* Finds the role of stencil number `i`, and notes the fields that tiles and steps write. */
static void note_role(Finder *x, int i) {
  const Stencil *st = &x->m->stencils[i];
  bool edge = !is_history_stencil(x->m, st);
  for (int k = 0; k < st->npieces; k++)
    edge = edge && few(x, &st->pieces[k]);
  x->role[i] = is_probe_stencil(x->m, st)   ? FRAME_PROBE
               : !edge                      ? FRAME_INNER
               : stencil_is_point(x->m, st) ? FRAME_POINT
                                            : FRAME_EDGE;
  for (int k = 0; k < st->npieces; k++)
    for (int t = 0; t < st->pieces[k].ntargets; t++) {
      x->written[st->pieces[k].targets[t]] |= x->role[i] != FRAME_PROBE;
      x->inner[st->pieces[k].targets[t]] |= x->role[i] == FRAME_INNER && !few(x, &st->pieces[k]);
    }
}

/* Does the tiles' launch have piece `p` of stencil number `i`? */
static bool stays(const Finder *x, int i, const Piece *p) {
  return x->role[i] == FRAME_PROBE || x->role[i] == FRAME_POINT || (x->role[i] == FRAME_INNER && !few(x, p));
}

/* ---- the fields that tiles may read */

typedef struct Looks {
  Finder *x;
  const Piece *piece;
  bool edges; /* it reads a field that only stencils of edges write */
} Looks;

/* Notes an access (a stencil_accesses callback). */
static void look(void *user, const Piece *piece, int field, const int64_t *off) {
  Looks *l = user;
  (void)off;
  l->edges |= piece == l->piece && l->x->written[field] && !l->x->inner[field];
}

/* Does piece `p` of `st` read a field that only stencils of edges write? */
static bool reads_edges(Finder *x, const Stencil *st, const Piece *p) {
  Looks l = {x, p, false};
  stencil_accesses(st, look, &l);
  return l.edges;
}

/* Can field `f`, which tiles write, be copied at the edges? */
static bool can_copy(Finder *x, int f) {
  const Field *field = &x->m->fields[f];
  if (!box_equal(&field->box, &x->m->grid))
    return none(x, "a field inside is not as large as the grid");
  if (outside_has(field, OUTSIDE_PERIODIC))
    return none(x, "a field inside is periodic");
  return true;
}

/* Does the piece contain all points of the box? */
static bool has_all(const Finder *x, const Piece *p, const Box *box) {
  bool all = true;
  for (int d = 0; d < box->rank; d++)
    all = all && points_inside(x->m, box, &p->box, d);
  return all;
}

/* Tiles leave out pieces of few points. Does temp field `f` have no value at such points, because no earlier piece
 * gives it one? A piece of the tiles may read it there. A field that is not temp has the values of the step before. */
static bool has_gap(const Finder *x, int f) {
  bool gap = false, whole = false;
  for (int i = 0; i < x->m->nstencils; i++)
    for (int k = 0; k < x->m->stencils[i].npieces; k++) {
      const Piece *p = &x->m->stencils[i].pieces[k];
      if (piece_target(p, f) >= 0 && !stays(x, i, p))
        gap = gap || !whole;
      else if (piece_target(p, f) >= 0)
        whole = whole || has_all(x, p, &x->m->fields[f].box);
    }
  return gap;
}

/* Checks the pieces that are in the tiles' launch. */
static bool check_inner(Finder *x) {
  bool any = false;
  for (int i = 0; i < x->m->nstencils; i++) {
    const Stencil *st = &x->m->stencils[i];
    for (int k = 0; k < st->npieces; k++)
      if (stays(x, i, &st->pieces[k])) {
        any |= x->role[i] == FRAME_INNER && !is_history_stencil(x->m, st);
        if (reads_edges(x, st, &st->pieces[k]))
          return none(x, "what is computed inside reads a field of an edge");
      }
    for (int t = 0; t < st->ntargets && is_history_stencil(x->m, st); t++)
      if (copied_field(x->m, st, st->targets[t]) < 0 || !x->inner[x->m->fields[st->targets[t]].present])
        return none(x, "a field of an edge has older levels");
  }
  for (int f = 0; f < x->m->nfields; f++) {
    if (x->inner[f] && !can_copy(x, f))
      return false;
    if (x->inner[f] && x->m->fields[f].temp && !x->m->fields[f].past && has_gap(x, f))
      return none(x, "a temp field inside has pieces of few points");
  }
  return any || none(x, "all stencils have few points");
}

/* ---- the inner box */

/* The share of the grid's points in dimension `d` that `box` has, under the params' defaults. */
static double share_across(const Finder *x, const Box *box, int d) {
  Box line = x->m->grid;
  line.lo[d] = box->lo[d];
  line.hi[d] = box->hi[d];
  return box_share(x->m, &line, x->scalars);
}

/* Does `box` lie along the low, or the high, end of the grid in dimension `d`: thin across it, no further in than it is
 * thick? */
static bool lies_at(const Finder *x, const Box *box, int d, bool high) {
  int64_t gap;
  Affine end = high ? x->m->grid.hi[d] : x->m->grid.lo[d], own = high ? box->hi[d] : box->lo[d];
  return share_across(x, box, d) * THIN_SHARE <= 1 && affine_diff(own, end, &gap) &&
         (high ? gap <= 0 && gap >= -FRAME_GAP : gap >= 0 && gap <= FRAME_GAP);
}

/* Does the inner box, as it is now, contain no point of `box`? */
static bool left_out(const Finder *x, const Box *box) {
  bool out = false;
  for (int d = 0; d < box->rank; d++) {
    int64_t below, above;
    out = out || (x->f->lo[d] && affine_diff(box->hi[d], x->f->inner.lo[d], &below) && below < 0) ||
          (x->f->hi[d] && affine_diff(box->lo[d], x->f->inner.hi[d], &above) && above > 0);
  }
  return out;
}

/* Makes the inner box end before `box`, which lies at that side of the grid. */
static bool cut_off(Finder *x, const Box *box, int d, bool high) {
  Affine *end = high ? &x->f->inner.hi[d] : &x->f->inner.lo[d],
         to = high ? affine_add_const(box->lo[d], -1) : affine_add_const(box->hi[d], 1);
  bool *has = high ? &x->f->hi[d] : &x->f->lo[d];
  int64_t diff;
  if (*has && !affine_diff(to, *end, &diff))
    return none(x, "layers of one side are as thick as params say");
  if (!*has || (high ? diff < 0 : diff > 0))
    *end = to;
  *has = true;
  return true;
}

/* The number of sides at which `box` lies; *d and *high are the last of them. */
static int sides_of(const Finder *x, const Box *box, int *d, bool *high) {
  int n = 0;
  for (int e = 0; e < 2 * box->rank; e++)
    if (lies_at(x, box, e / 2, e % 2)) {
      *d = e / 2;
      *high = e % 2;
      n++;
    }
  return n;
}

/* Leaves piece `p`, which the tiles' launch does not have, out of the inner box if it writes a field that tiles write
 * (`all`: whatever it writes). In the first round only pieces that lie at one side alone are left out. */
static bool leave_out(Finder *x, const Piece *p, bool first, bool all) {
  int d = 0;
  bool high = false, writes = all;
  for (int t = 0; t < p->ntargets; t++)
    writes = writes || x->inner[p->targets[t]];
  if (!writes || left_out(x, &p->box))
    return true;
  int n = sides_of(x, &p->box, &d, &high);
  if (n == 0)
    return none(x, "a stencil of few points is not at an edge of the grid");
  return first && n > 1 ? true : cut_off(x, &p->box, d, high);
}

/* Leaves all pieces out of the inner box that have to be (`all`: each that the tiles' launch does not have). */
static bool leave_pieces(Finder *x, bool all) {
  for (int first = 1; first >= 0; first--)
    for (int i = 0; i < x->m->nstencils; i++)
      for (int k = 0; k < x->m->stencils[i].npieces; k++) {
        const Piece *p = &x->m->stencils[i].pieces[k];
        if (!stays(x, i, p) && !leave_out(x, p, first, all))
          return false;
      }
  return true;
}

/* Finds the inner box. If stencils of few points change nothing that others compute, the frame has their points all the
 * same, so that the values that they read are there at each step. */
static bool find_inner(Finder *x) {
  for (int all = 0; all < 2; all++) {
    x->f->inner = x->m->grid;
    if (!leave_pieces(x, all))
      return false;
    for (int d = 0; d < x->m->grid.rank; d++)
      if (x->f->lo[d] || x->f->hi[d])
        return true;
  }
  return none(x, "there is no stencil of few points along an edge");
}

/* ---- the tiles' launch */

/* Can piece `p` be computed at all points of `box`: does each access lead to a value, and is nothing divided by 0? */
static bool is_defined(const Module *m, const Piece *p, const Box *box) {
  bool defined = true;
  for (const Op *op = p->body->first; op; op = op->next) {
    const Op *by = op->noperands == 2 ? op->operands[1]->def : NULL;
    if ((op->code == OP_DIV || op->code == OP_REM) && !type_is_float(op->results[0]->type))
      defined = defined && by && by->code == OP_CONST && by->cval.i > 0;
    for (int e = 0; op->code == OP_ACCESS && e < 2 * box->rank; e++)
      defined = defined && (!access_leaves(m, box, op->sym, op->off, e / 2, e % 2) ||
                            m->fields[op->sym].outside[e / 2] != OUTSIDE_NONE);
  }
  return defined;
}

/* Extends piece `p`, the only one of a stencil in the tiles' launch, to the grid's ends at sides with a frame: values
 * that tiles store there are not used, and without the piece's end tiles need no test for it. */
static void widen_piece(const Finder *x, Piece *p) {
  const Frame *f = x->f;
  Box box = p->box;
  int64_t in;
  for (int d = 0; d < box.rank; d++) {
    if (f->lo[d] && affine_diff(box.lo[d], f->inner.lo[d], &in) && in <= 0)
      box.lo[d] = x->m->grid.lo[d];
    if (f->hi[d] && affine_diff(box.hi[d], f->inner.hi[d], &in) && in >= 0)
      box.hi[d] = x->m->grid.hi[d];
  }
  if (is_defined(x->m, p, &box))
    p->box = box;
}

/* Stencil `st`, number `i`, with the pieces that are in the tiles' launch. */
static Stencil inner_stencil(const Finder *x, int i) {
  Stencil st = x->m->stencils[i];
  Arena *a = x->m->arena;
  int32_t n = 0, ntargets = 0, *targets = NULL;
  Piece *pieces = NULL;
  for (int k = 0; k < st.npieces; k++)
    if (stays(x, i, &st.pieces[k])) {
      ARENA_PUSH(a, pieces, n, st.pieces[k]);
      pieces[n - 1].body = block_clone(a, st.pieces[k].body, NULL, NULL);
    }
  for (int t = 0; t < st.ntargets; t++) {
    bool has = false;
    for (int k = 0; k < n; k++)
      has = has || piece_target(&pieces[k], st.targets[t]) >= 0;
    if (has)
      ARENA_PUSH(a, targets, ntargets, st.targets[t]);
  }
  if (n == 1 && x->role[i] == FRAME_INNER)
    widen_piece(x, pieces);
  st.pieces = pieces;
  st.npieces = n;
  st.targets = targets;
  st.ntargets = ntargets;
  st.group = 0;
  return st;
}

/* Does piece `into` of the tiles contain the point of `point`, wherever that lies outside of the frame? */
static bool has_point(const Finder *x, const Piece *into, const Piece *point) {
  const Box *inner = &x->f->inner;
  bool has = true, known = true;
  for (int d = 0; d < inner->rank; d++) {
    int64_t below, above;
    has = has && affine_diff(into->box.lo[d], inner->lo[d], &below) && below <= 0 &&
          affine_diff(into->box.hi[d], inner->hi[d], &above) && above >= 0;
    known = known && points_inside(x->m, &point->box, &into->box, d);
  }
  return has || known;
}

/* Makes the last stencil of `step`, which is on a point, a choice in the stencil that makes its field. */
static bool join_point(Finder *x, Module *step) {
  int n = step->nstencils - 1, i = point_maker(step, n);
  if (i >= 0 && !has_point(x, step->stencils[i].pieces, step->stencils[n].pieces))
    return none(x, "a stencil on a point may change one that the stencil before it leaves as it is");
  return merge_point(step, n) || none(x, "a stencil on a point is no part of the one before it");
}

/* The inner stencils, one step of them; NULL: a stencil on a point cannot be merged into one of them. */
static Module *inner_step(Finder *x) {
  Module *step = module_trial(x->m);
  step->stencils = NULL;
  step->nstencils = 0;
  step->plan = NULL;
  for (int i = 0; i < x->m->nstencils; i++) {
    if (x->role[i] != FRAME_EDGE && !x->left[i])
      ARENA_PUSH(x->m->arena, step->stencils, step->nstencils, inner_stencil(x, i));
    if (x->role[i] == FRAME_POINT && !join_point(x, step))
      return NULL;
  }
  return step;
}

/* Repeats the module `tiled` T times and finds the reach of T steps: how far they read of the values before them, and
 * of the result of each stencil, since stencils of edges change that result, too, and later reads may reach back from
 * there. */
static void repeat(Finder *x, Module *tiled) {
  module_repeat(tiled, x->T);
  Extent *need = ARENA_ARRAY(tiled->arena, Extent, tiled->nfields);
  bool *has = ARENA_ARRAY(tiled->arena, bool, tiled->nfields);
  const Stencil *end = tiled->stencils + tiled->nstencils;
  halo_compute(tiled, tiled->nstencils, tiled->stencils, end, need, has);
  for (int f = 0; f < tiled->nfields; f++)
    if (has[f])
      extent_grow(&x->f->halo, &need[f], x->m->grid.rank);
  for (int i = 0; i < tiled->nstencils; i++)
    extent_grow(&x->f->halo, &tiled->stencils[i].extent, x->m->grid.rank);
}

/* Widens the extent `user` by an access (a stencil_accesses callback). */
static void note_offset(void *user, const Piece *piece, int field, const int64_t *off) {
  Extent *e = user;
  (void)field;
  for (int d = 0; d < piece->box.rank; d++) {
    e->hi[d] = off[d] > e->hi[d] ? off[d] : e->hi[d];
    e->lo[d] = -off[d] > e->lo[d] ? -off[d] : e->lo[d];
  }
}

/* Does everything that the probe's stencil number `i` reads lie in the frame of T steps? */
static bool in_frame(const Finder *x, int i) {
  const Box *box = &x->m->stencils[i].pieces[0].box;
  Extent off = {{0}, {0}};
  stencil_accesses(&x->m->stencils[i], note_offset, &off);
  bool in = false;
  int64_t deep;
  for (int d = 0; d < box->rank; d++)
    in = in ||
         (x->f->lo[d] && affine_diff(box->hi[d], x->f->inner.lo[d], &deep) && deep + off.hi[d] < x->f->halo.lo[d]) ||
         (x->f->hi[d] && affine_diff(x->f->inner.hi[d], box->lo[d], &deep) && deep + off.lo[d] < x->f->halo.hi[d]);
  return in;
}

/* Finds the probes that tiles leave out since they see only the frame, whose halo is known. Are there any? */
static bool find_left(Finder *x) {
  bool seen = false;
  for (int i = 0; i < x->m->nstencils; i++) {
    x->left[i] = x->role[i] == FRAME_PROBE && in_frame(x, i);
    seen = seen || x->left[i];
  }
  return seen;
}

/* Makes f->tiled and f->whole, and finds the reach of T steps. */
static bool make_modules(Finder *x) {
  Module *tiled = inner_step(x), *whole = module_trial(x->m);
  if (!tiled)
    return false;
  repeat(x, tiled);
  if (find_left(x))
    repeat(x, tiled = inner_step(x));
  whole->fields = tiled->fields;
  whole->nfields = tiled->nfields;
  x->f->tiled = tiled;
  x->f->whole = whole;
  return true;
}

/* The launch of the last `steps` steps of f->tiled. */
static Launch *last_steps(const Frame *f, int steps) {
  const Module *m = f->tiled;
  int n = m->nstencils / m->time_tile * steps;
  const Stencil *end = m->stencils + m->nstencils;
  Launch *l = launch_new(m, n, end - n, end - n, end);
  for (int i = 0; i < l->nuses && !l->illegal; i++)
    l->uses[i].paired = l->uses[i].paired || (l->uses[i].stored && !m->fields[l->uses[i].field].series);
  return l;
}

Launch *frame_tile(const Frame *f) { return last_steps(f, f->tiled->time_tile); }

Launch *frame_tile_of(const Frame *f, int steps) {
  const Launch *all = frame_tile(f);
  Launch *l = last_steps(f, steps);
  bool same = !l->illegal;
  for (int i = 0; i < f->tiled->nfields && same; i++) {
    const FieldUse *u = launch_use(l, i), *v = launch_use(all, i);
    same =
        f->tiled->fields[i].series || (u->stored == v->stored && u->from < 0 && u->into < 0 && u->paired == v->paired);
  }
  return same ? l : NULL;
}

/* Does the tiles' launch not change the buffers that it loads? */
static bool check_tile(Finder *x) {
  const Launch *l = frame_tile(x->f);
  if (l->illegal)
    return none(x, l->illegal);
  for (int i = 0; i < l->nuses; i++)
    if (l->uses[i].from >= 0 || l->uses[i].into >= 0)
      return none(x, "older levels are kept for more steps than a tile makes");
  return true;
}

/* ---- the steps of the frame */

/* Do the stencils have a target in common? */
static bool sets_same(const Stencil *st, const Stencil *other) {
  bool same = false;
  for (int t = 0; t < st->ntargets; t++)
    same = same || stencil_target(other, st->targets[t]) >= 0;
  return same;
}

/* How far the instance of stencil number `i` in the first of the T steps reaches beyond the output tile. If the stencil
 * is on a point: how far those before it reach that set the field which it changes. */
static Extent first_reach(const Finder *x, int i) {
  Extent reach = {{0}, {0}};
  int at = -1;
  for (int k = 0; k <= i; k++) {
    at += x->role[k] == FRAME_INNER || (x->role[k] == FRAME_PROBE && !x->left[k]);
    bool own = k == i, makes = x->role[i] == FRAME_POINT && sets_same(&x->m->stencils[k], &x->m->stencils[i]);
    if (x->role[k] == FRAME_INNER && (own || makes))
      extent_grow(&reach, &x->f->tiled->stencils[at].extent, x->m->grid.rank);
  }
  return reach;
}

/* The check that reads of stencils of edges lie in the frame (for stencil_accesses). */
typedef struct Reads {
  Finder *x;
  bool inside;
} Reads;

/* Does an access of the piece `p`, all of whose points lie along an edge, stay in the points at which the frame is
 * right, wherever an outside rule leads it? */
static void note_read(void *user, const Piece *p, int field, const int64_t *off) {
  Reads *r = user;
  Finder *x = r->x;
  if (!few(x, p) || !x->inner[field])
    return;
  Rules rules = access_rules(x->m, &p->box, field, off);
  bool found = false;
  for (int d = 0; d < p->box.rank; d++) {
    int64_t in, least, most;
    outside_reach(rules.dim[d], off[d], &least, &most);
    found = found || (x->f->lo[d] && affine_diff(p->box.hi[d], x->f->inner.lo[d], &in) &&
                      in + (most > 0 ? most : 0) < x->f->halo.lo[d]);
    found = found || (x->f->hi[d] && affine_diff(x->f->inner.hi[d], p->box.lo[d], &in) &&
                      in + (least < 0 ? -least : 0) < x->f->halo.hi[d]);
  }
  r->inside = r->inside && found;
}

/* Adds the depth to *depth by which a frame has to reach into the inner box, at most `most`, to contain all of `box`.
 * False: no depth is known to be enough. */
static bool reach_box(const Finder *x, const Box *box, const Extent *most, Extent *depth) {
  int64_t best = INT64_MAX, *to = NULL;
  for (int e = 0; e < 2 * box->rank; e++) {
    int d = e / 2;
    int64_t in;
    bool high = e % 2, known = high ? x->f->hi[d] && affine_diff(x->f->inner.hi[d], box->lo[d], &in)
                                    : x->f->lo[d] && affine_diff(box->hi[d], x->f->inner.lo[d], &in);
    if (!known || in >= (high ? most->hi[d] : most->lo[d]) || in >= best)
      continue;
    best = in;
    to = high ? &depth->hi[d] : &depth->lo[d];
  }
  if (to && best >= *to)
    *to = best + 1;
  return to;
}

/* Finds how far into the inner box the pieces of `fl`, a launch of an edge, compute. */
static void reach_edge(const Finder *x, FrameLaunch *fl) {
  Extent most = fl->depth;
  fl->depth = (Extent){{0}, {0}};
  for (int k = 0; k < fl->l->st->npieces; k++)
    fl->apart = !reach_box(x, &fl->l->st->pieces[k].box, &most, &fl->depth) || fl->apart;
}

/* Does the frame, where `fl`, a launch of an inner stencil, computes it, contain all pieces that tiles leave out? */
static bool has_pieces(const Finder *x, const FrameLaunch *fl) {
  Extent deep = {{0}, {0}};
  bool has = true;
  for (int k = 0; k < fl->l->st->npieces; k++) {
    const Piece *p = &fl->l->st->pieces[k];
    has = has && (!few(x, p) || reach_box(x, &p->box, &fl->depth, &deep));
  }
  return has;
}

/* Adds launch `l` of a stencil with role `role` to a step of the frame. */
static bool note_launch(Finder *x, Launch *l, FrameRole role, const Extent *reach) {
  FrameLaunch fl = {.l = l, .role = role};
  ThinPart *parts;
  for (int d = 0; d < x->m->grid.rank; d++) {
    fl.depth.lo[d] = x->f->halo.lo[d] + (role == FRAME_PROBE ? 0 : reach->hi[d]);
    fl.depth.hi[d] = x->f->halo.hi[d] + (role == FRAME_PROBE ? 0 : reach->lo[d]);
  }
  for (int f = 0; f < x->f->whole->nfields; f++)
    if (launch_use(l, f)->paired && !x->inner[f] && !x->m->fields[f].past && !x->f->whole->fields[f].series)
      return none(x, "a field of an edge is not written in place");
  if (role == FRAME_INNER && !has_pieces(x, &fl))
    return none(x, "a stencil inside sets a field of few points further in");
  if (role == FRAME_EDGE && launch_thin_parts(l, x->scalars, &parts) == 0)
    return none(x, "a stencil of an edge copies what it leaves");
  if (role == FRAME_EDGE)
    reach_edge(x, &fl);
  ARENA_PUSH(x->m->arena, x->f->launches, x->f->n, fl);
  return true;
}

/* The number of the stencil that launch `l` of family naive makes, after the stencils of pass history. */
static int stencil_number(const Launch *l) { return (int)(l->given - l->first) + l->ngiven - 1; }

/* Makes the launches of a step of the frame: those of family naive. */
static bool make_launches(Finder *x) {
  const Module *w = x->f->whole;
  int count;
  Launch **l = naive_launches(w, w->nstencils, w->stencils, &count);
  Reads r = {x, true};
  for (int i = 0; i < w->nstencils; i++)
    if (x->role[i] == FRAME_EDGE || x->role[i] == FRAME_INNER)
      stencil_accesses(&w->stencils[i], note_read, &r);
  if (!r.inside)
    return none(x, "the layers reach further in than the steps of a tile");
  for (int i = 0; i < count; i++) {
    int st = stencil_number(l[i]);
    if (l[i]->n != 1)
      return none(x, "a level of a field is copied in the middle of the step");
    Extent reach = first_reach(x, st);
    if (!note_launch(x, l[i], x->role[st], &reach))
      return false;
  }
  frame_levels(x->f);
  return true;
}

/* Begins with module `m` and tiles of T steps: finds the stencils' roles and the inner box. */
static bool start(Finder *x, const Module *m, int T) {
  *x = (Finder){.m = m, .T = T, .scalars = default_scalars(m), .f = ARENA_NEW(m->arena, Frame)};
  *x->f = (Frame){.tiled = NULL};
  x->role = ARENA_ARRAY(m->arena, FrameRole, m->nstencils + 1);
  x->left = ARENA_ARRAY(m->arena, bool, m->nstencils + 1);
  x->inner = ARENA_ARRAY(m->arena, bool, m->nfields + 1);
  x->written = ARENA_ARRAY(m->arena, bool, m->nfields + 1);
  x->f->kept = x->inner;
  if (module_has_stages(m))
    return none(x, m->nrepeats ? "the step has repeats" : "the step has updates of scalars");
  if (module_scaled(m))
    return none(x, "a stencil reads another level of the grid");
  if (m->part)
    return none(x, "the grid is in parts");
  if (!x->scalars)
    return none(x, "the params' defaults are no grid");
  for (int i = 0; i < m->nstencils; i++)
    note_role(x, i);
  return check_inner(x) && find_inner(x);
}

Module *frame_step(const Module *m, int T, const char **why) {
  Finder x;
  Module *step = start(&x, m, T > 1 ? T : 1) ? inner_step(&x) : NULL;
  if (step && T > 1) {
    repeat(&x, step);
    find_left(&x);
    step = inner_step(&x);
  }
  *why = x.why;
  return step;
}

const Frame *frame_new(const Module *m, int T, const char **why) {
  Finder x;
  bool ok = start(&x, m, T) && make_modules(&x) && check_tile(&x) && make_launches(&x);
  *why = x.why;
  return ok ? x.f : NULL;
}

/* ---- the boxes */

Box frame_middle(const Module *m) {
  Finder x = {.m = m, .T = 1, .scalars = default_scalars(m), .f = ARENA_NEW(m->arena, Frame)};
  x.role = ARENA_ARRAY(m->arena, FrameRole, m->nstencils + 1);
  x.inner = ARENA_ARRAY(m->arena, bool, m->nfields + 1);
  x.written = ARENA_ARRAY(m->arena, bool, m->nfields + 1);
  x.f->inner = m->grid;
  for (int i = 0; i < m->nstencils && x.scalars; i++)
    note_role(&x, i);
  for (int first = 1; first >= 0 && x.scalars; first--)
    for (int i = 0; i < m->nstencils; i++)
      for (int k = 0; k < m->stencils[i].npieces && x.role[i] == FRAME_EDGE; k++) {
        const Box *box = &m->stencils[i].pieces[k].box;
        int d = 0, n = 0;
        bool high = false;
        if (!left_out(&x, box) && (n = sides_of(&x, box, &d, &high)) > 0 && (n == 1 || !first))
          cut_off(&x, box, d, high);
      }
  return x.f->inner;
}

Extent frame_read(const Frame *f) {
  Extent read = f->halo;
  for (int d = 0; d < f->whole->grid.rank; d++)
    read.lo[d] = read.hi[d] = f->halo.lo[d] + f->halo.hi[d];
  for (int i = 0; i < f->n; i++) {
    const FrameLaunch *fl = &f->launches[i];
    Extent off = {{0}, {0}};
    if (fl->role != FRAME_INNER)
      continue;
    stencil_accesses(fl->l->st, note_offset, &off);
    for (int d = 0; d < f->whole->grid.rank; d++) {
      read.lo[d] = fl->depth.lo[d] + off.hi[d] > read.lo[d] ? fl->depth.lo[d] + off.hi[d] : read.lo[d];
      read.hi[d] = fl->depth.hi[d] + off.lo[d] > read.hi[d] ? fl->depth.hi[d] + off.lo[d] : read.hi[d];
    }
  }
  return read;
}

Box frame_core(const Frame *f, const Extent *depth) {
  Box core = f->whole->grid;
  for (int d = 0; d < core.rank; d++) {
    core.lo[d] = f->lo[d] ? affine_add_const(f->inner.lo[d], depth->lo[d]) : core.lo[d];
    core.hi[d] = f->hi[d] ? affine_add_const(f->inner.hi[d], -depth->hi[d]) : core.hi[d];
  }
  return core;
}
