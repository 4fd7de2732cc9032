/* lower-naive.c: launches without time tiles: each launch makes a stencil of one step, from global memory and to it. A
 * thread has one point, or (`-elems`) several neighbouring points:
 *
 *   launch @heat_naive_psi_zeta                         a level of few points: those around a box
 *   launch @heat_naive_wave_to_rec beside               a level, in a box that need not wait for the launch before
 *   launch @heat_naive_wave_to_rec_edges beside behind  the same level at points around the box
 *   swap ..
 *
 * If there are many points around the box, each piece of a stencil has a launch, by threads of several points.
 *
 * With one point in a thread each stencil has a launch (lower/naive.c). With several, one launch makes all stencils
 * that read each other at their own point alone, as in a frame (tile/frame-steps.c), and the code of tiles in the
 * middle of the grid is unrolled for all points of a thread (lower/naive-points.c). A wave of order 8 then takes 22
 * instructions for a point and no shared memory; the second-level cache, or memory, is the limit. This suits grids that
 * fit that cache, steps with stencils of few points, such as absorbing layers, and long equations in three dimensions,
 * where tiles of several steps compute too many points besides their own. */
#include "passes/base/tuning.h"
#include "passes/registry.h"
#include "passes/tile/emit/lower-frame.h"
#include "passes/tile/frame.h"

#include <math.h>

/* ---- several points a thread */

/* A step that is being built. */
typedef struct Points {
  Lowering *lo;
  HostSeq *seq;
  const Schedule *s;
  const Frame *f; /* its launches by levels; no boxes */
  Box inner;
  int before; /* launches of the level before, of few points, the last there are, all beside each other; 0: it has not
               */
} Points;

/* The members of a level that is being built, and the box in which the members with most to compute have their largest
 * pieces. */
typedef struct Level {
  int n, steps;
  const FrameLaunch **of;
  NaiveMember *members;
  Box zone;
  bool main, several; /* it has a stencil of many points; these can be unrolled in the zone */
} Level;

/* Describes level number `level`; `last`: it has the last launches of the step. */
static Level level_of(const Points *x, int level, bool last) {
  const Module *m = x->lo->m;
  Level v = {.steps = last && level == x->f->nlevels - 1, .zone = x->inner, .several = true};
  v.of = ARENA_ARRAY(m->arena, const FrameLaunch *, x->f->n + 1);
  v.members = ARENA_ARRAY(m->arena, NaiveMember, x->f->n + 1);
  for (int i = 0; i < x->f->n; i++) {
    const FrameLaunch *fl = &x->f->launches[i];
    if (fl->level != level)
      continue;
    bool main = fl->role == FRAME_INNER;
    v.main = v.main || main;
    v.several = v.several && (!main || naive_zone_of(m, fl->l, &v.zone));
    v.members[v.n] =
        (NaiveMember){.lo = frame_buffers(x->lo, fl), .l = fl->l, .pieces = fl->role == FRAME_EDGE, .copies = main};
    v.of[v.n++] = fl;
  }
  for (int i = 0; i < v.n; i++)
    v.members[i].without = v.zone;
  return v;
}

/* Is `zone` all of the grid of `m`? */
static bool is_grid(const Module *m, const Box *zone) { return box_equal(zone, &m->grid); }

/* Adds the kernel of level `v` for the points outside of `core` (NULL: all points), with a thread for each, and its
 * launch. */
static void edge_launch(Points *x, const Level *v, const Box *core, const char *name, int steps, bool beside) {
  int32_t block[MAX_RANK], one[MAX_RANK];
  for (int d = 0; d < GRID_RANK; d++) {
    block[d] = (int32_t)tuning.tile_block[x->lo->m->grid.rank - 1][d];
    one[d] = 1;
  }
  NaivePoints p = {v->n, steps, v->members, block, one, core, core};
  host_launch(x->lo, x->seq, naive_points(x->lo, &p, name));
  x->seq->ops[x->seq->nops - 1].beside = beside;
}

/* Makes a kernel for the points of a box (naive_block, naive_piece). */
typedef int BoxFn(Lowering *lo, const NaivePoints *p, const Box *zone, bool vector, const char *name);

/* Adds the kernel that `fn` makes of `p` for the points of `zone`, and its launch. */
static void block_launch(Points *x, BoxFn *fn, const NaivePoints *p, const Box *zone, const char *name, bool beside) {
  Lowering *lo = x->lo;
  int index = fn(lo, p, zone, true, name);
  if (lo->out->kernels[index].nmultiples && !lo->c->sketch)
    kernel_instead(lo, index, fn(lo, p, zone, false, arena_printf(lo->out->arena, "%s_any", name)));
  host_launch(lo, x->seq, index);
  x->seq->ops[x->seq->nops - 1].beside = beside;
}

/* ---- a launch for each piece */

/* Along a dimension with at most FEW_TILES tiles, the number of threads is one that divides it evenly. If a piece has
 * fewer points than the card has threads at once, a thread has several points along rows alone; a single one if it has
 * FEWER times fewer. */
enum { FEW_TILES = 4, FEWER = 16 };

/* The piece of launch `l` that has the same box as `piece`; NULL: none. */
static const Piece *same_piece(const Launch *l, const Piece *piece) {
  const Piece *same = NULL;
  for (int i = 0; i < l->st->npieces; i++)
    if (box_equal(&l->st->pieces[i].box, &piece->box))
      same = &l->st->pieces[i];
  return same;
}

/* Have the main stencils of level `v` pieces of the same boxes? */
static bool same_pieces(const Level *v) {
  const Launch *first = NULL;
  bool same = true;
  for (int i = 0; i < v->n; i++) {
    const Launch *l = v->of[i]->l;
    if (!v->members[i].copies)
      continue;
    first = first ? first : l;
    same = same && l->st->npieces == first->st->npieces;
    for (int k = 0; k < l->st->npieces && same; k++)
      same = same_piece(first, &l->st->pieces[k]);
  }
  return same && first;
}

/* Do all stencils of level `v` have few points, none of them in its zone, and is nothing copied there? */
static bool is_around(const Level *v) {
  bool around = true;
  for (int i = 0; i < v->n; i++)
    around = around && !launch_copies_rest(v->of[i]->l);
  for (int i = 0; i < v->n; i++)
    for (int k = 0; k < v->of[i]->l->st->npieces; k++)
      around = around && boxes_apart(&v->of[i]->l->st->pieces[k].box, &v->zone);
  return around;
}

/* Must launch number `i` of level `v` wait for one of those from number `first` on, because they access the same
 * points? */
static bool meets(const Level *v, int first, int i) {
  bool waits = false;
  for (int k = first; k < i; k++)
    waits = waits || frame_waits(v->of[k], v->of[i]);
  return waits;
}

/* Adds a launch for each stencil of level `v`, all of which have few points. Launches run at the same time unless one
 * has to wait for another: threads of two launches have no order among them, as the stencils at one point of a thread
 * have. */
static void few_points(Points *x, const Level *v) {
  Arena *a = x->lo->out->arena;
  int first = 0;
  for (int i = 0; i < v->n; i++) {
    Together alone = {0, 0, 0};
    int ops = x->seq->nops;
    const Launch *l = v->of[i]->l;
    const char *name = arena_printf(a, "%s_naive_%s", x->lo->m->name, l->st->name);
    int steps = i == v->n - 1 ? v->steps : 0;
    Level own = {.n = 1, .members = &v->members[i]};
    if (!naive_parts(v->members[i].lo, x->seq, l, default_scalars(x->lo->m), name, x->s->block, steps, &alone))
      edge_launch(x, &own, NULL, name, steps, false);
    first = meets(v, first, i) ? i : first;
    x->seq->ops[ops].beside = i > first;
  }
}

/* The intervals of dimension `d` in which the pieces at `p` lie, in order: the interval that they cover together, and
 * in *parts how many there are. *parts is 0 if they are not adjacent for all values of the params. */
static Box chain_of(const Module *m, int n, const Piece *p, int d, int *parts) {
  Box all = {.rank = 1};
  Affine *lo = ARENA_ARRAY(m->arena, Affine, n + 1), *hi = ARENA_ARRAY(m->arena, Affine, n + 1);
  int count = 0, linked = 0;
  for (int i = 0; i < n; i++) {
    int k = 0;
    while (k < count && !(affine_equal(lo[k], p[i].box.lo[d]) && affine_equal(hi[k], p[i].box.hi[d])))
      k++;
    lo[k] = p[i].box.lo[d];
    hi[k] = p[i].box.hi[d];
    count += k == count;
  }
  int64_t gap;
  int ends = 0;
  for (int k = 0; k < count; k++) {
    bool behind = false, before = false;
    for (int e = 0; e < count; e++) {
      behind = behind || (affine_diff(lo[k], hi[e], &gap) && gap == 1);
      before = before || (affine_diff(lo[e], hi[k], &gap) && gap == 1);
    }
    linked += behind;
    ends += !before;
    all.lo[0] = behind ? all.lo[0] : lo[k];
    all.hi[0] = before ? all.hi[0] : hi[k];
  }
  *parts = linked == count - 1 && ends == 1 ? count : 0;
  return all;
}

/* Are the pieces of launch `l` the parts of one box, *all, that is cut across its whole extent? */
static bool is_cut(const Launch *l, Box *all) {
  const Module *m = l->m;
  int cells = 1;
  all->rank = m->grid.rank;
  for (int d = 0; d < m->grid.rank; d++) {
    int parts;
    Box chain = chain_of(m, l->st->npieces, l->st->pieces, d, &parts);
    all->lo[d] = chain.lo[0];
    all->hi[d] = chain.hi[0];
    cells *= parts < l->st->npieces ? parts : l->st->npieces;
  }
  return cells == l->st->npieces;
}

/* The number of the piece of `st` with the most points among those that are not `done`; marks it as done. -1: none is
 * left. */
static int next_piece(const Module *m, const Stencil *st, bool *done) {
  int most = -1;
  for (int i = 0; i < st->npieces; i++)
    if (!done[i] && (most < 0 || box_points(m, &st->pieces[i].box) > box_points(m, &st->pieces[most].box)))
      most = i;
  if (most >= 0)
    done[most] = true;
  return most;
}

/* If `block` threads of `elems` points each cut `box` into few tiles along a dimension, makes their number one that
 * divides it evenly. Threads that are too many along one dimension then go to another one. */
static void fit_block(const Points *x, const Box *box, const int32_t *elems, int32_t *block) {
  bool overflow = false;
  int64_t all = 1, threads = 1, points[MAX_RANK];
  for (int d = 0; d < box->rank; d++) {
    int32_t tile = block[d] * elems[d];
    points[d] = affine_eval(box_extent(x->lo->m->arena, box, d), default_scalars(x->lo->m), &overflow);
    int64_t tiles = (points[d] + tile - 1) / tile;
    all *= block[d];
    if (!overflow && points[d] > 0 && tiles <= FEW_TILES)
      block[d] = (int32_t)(((points[d] + tiles - 1) / tiles + elems[d] - 1) / elems[d]);
    threads *= block[d];
  }
  for (int d = box->rank - 2; d >= 0; d--)
    for (; 2 * threads <= all && 2 * (int64_t)block[d] * elems[d] <= points[d]; threads *= 2)
      block[d] *= 2;
}

/* Adds a launch of `v`, whose members have pieces with the box of `piece`, for the points of that box alone. */
static void piece_launch(Points *x, const Level *v, const Piece *piece, const char *name, int steps, bool beside) {
  const Module *m = x->lo->m;
  int32_t block[GRID_RANK], elems[GRID_RANK];
  NaiveMember *members = ARENA_ARRAY(m->arena, NaiveMember, v->n + 1);
  const TargetInfo *t = x->lo->c->target;
  int last = m->grid.rank - 1;
  double points = box_points(m, &piece->box), card = (double)t->cores * t->max_threads_per_core;
  bool few = points < card, least = FEWER * points < card;
  for (int i = 0; i < v->n; i++) {
    members[i] = v->members[i];
    if (v->members[i].copies || v->n == 1)
      members[i].piece = same_piece(v->of[i]->l, piece);
  }
  for (int d = 0; d < GRID_RANK; d++) {
    block[d] = x->s->block[d];
    elems[d] = (few && d != last) || least ? 1 : x->s->elems[d];
  }
  fit_block(x, &piece->box, elems, block);
  NaivePoints p = {v->n, steps, members, block, elems, NULL, NULL};
  block_launch(x, naive_piece, &p, &piece->box, name, beside);
}

/* May the launch of level `v` in box `zone` start before the launches of the level before have ended? */
static bool is_ahead(const Points *x, const Level *v, const Box *zone) {
  bool ahead = x->before && !x->lo->m->part && !x->lo->c->sketch;
  for (int i = 0; i < x->f->n; i++)
    for (int k = 0; k < v->n; k++)
      ahead = ahead &&
              (x->f->launches[i].level != v->of[k]->level - 1 || !frame_waits_in(&x->f->launches[i], v->of[k], zone));
  return ahead;
}

/* If many points lie outside of the largest piece of the main stencils of level `v`, adds a launch for each piece, and
 * one for the points around all pieces; these launches run at the same time, those of many points first. The launch of
 * the largest piece need not wait for a level of few points before. A sketch has that launch alone: callers that ask
 * for the cost of a launch count the points around it otherwise. False: the pieces get no launches of their own. */
static bool main_pieces(Points *x, const Level *v, const char *name) {
  const Module *m = x->lo->m;
  Box all = {0};
  const Launch *l = NULL;
  for (int i = 0; i < v->n && !l; i++)
    l = v->members[i].copies ? v->of[i]->l : NULL;
  if (m->part || !default_scalars(m) || !same_pieces(v) || !pieces_have_launches(x->lo->c->target, l, false) ||
      !is_cut(l, &all))
    return false;
  bool *done = ARENA_ARRAY(m->arena, bool, l->st->npieces + 1);
  const Piece *most = &l->st->pieces[next_piece(m, l->st, done)];
  bool beside = is_ahead(x, v, &most->box);
  piece_launch(x, v, most, name, v->steps, beside);
  for (int i; !x->lo->c->sketch && (i = next_piece(m, l->st, done)) >= 0; beside = false)
    piece_launch(x, v, &l->st->pieces[i], arena_printf(m->arena, "%s_%d", name, i), 0, !beside);
  for (int i = 0; i < v->n; i++)
    v->members[i].without = all;
  if (!is_grid(m, &all) && !x->lo->c->sketch)
    edge_launch(x, v, &all, arena_printf(m->arena, "%s_edges", name), 0, true);
  return true;
}

/* Like main_pieces, for a level of stencils of few points, which copy nothing and access no common points. */
static bool few_pieces(Points *x, const Level *v, const char *name) {
  const Module *m = x->lo->m;
  bool many = !m->part && !x->lo->c->sketch && default_scalars(m), first = true;
  for (int i = 0; i < v->n && many; i++)
    many = pieces_have_launches(x->lo->c->target, v->of[i]->l, true) && !meets(v, 0, i);
  for (int i = 0; i < v->n && many; i++)
    for (int k = 0; k < v->of[i]->l->st->npieces; k++) {
      Level own = {.n = 1, .of = &v->of[i], .members = &v->members[i]};
      const char *of = arena_printf(m->arena, "%s_%d_%d", name, i, k);
      piece_launch(x, &own, &v->of[i]->l->st->pieces[k], of, first ? v->steps : 0, !first);
      first = false;
    }
  return many;
}

/* Adds a launch of level `v` for its zone, by threads of several points, and one for the points around it. The former
 * need not wait for a launch of few points before. */
static void zone_launches(Points *x, const Level *v, const char *name) {
  NaivePoints p = {v->n, v->steps, v->members, x->s->block, x->s->elems, NULL, NULL};
  bool around = !is_grid(x->lo->m, &v->zone), ahead = around && x->before == 1 && is_ahead(x, v, &v->zone);
  block_launch(x, naive_block, &p, &v->zone, name, ahead);
  if (!around)
    return;
  edge_launch(x, v, &v->zone, arena_printf(x->lo->out->arena, "%s_edges", name), 0, true);
  x->seq->ops[x->seq->nops - 1].behind = ahead;
}

/* Adds the launches of level number `level`; `last`: they are the last ones of the step. */
static void level_launches(Points *x, int level, bool last) {
  Arena *a = x->lo->out->arena;
  Level v = level_of(x, level, last);
  const char *name = arena_printf(a, "%s_naive_%s", x->lo->m->name, frame_members_text(a, v.n, v.of));
  int first = x->seq->nops;
  if (v.main && main_pieces(x, &v, name)) {
    x->before = 0;
    return;
  } else if (v.main && v.several) {
    zone_launches(x, &v, name);
  } else if (!v.main && is_around(&v)) {
    if (!few_pieces(x, &v, name))
      edge_launch(x, &v, &v.zone, name, v.steps, false);
  } else if (!v.main) {
    few_points(x, &v);
  } else {
    edge_launch(x, &v, NULL, name, v.steps, false);
  }
  x->before = v.main ? 0 : x->seq->nops - first;
  for (int i = first; i < x->seq->nops; i++)
    x->before = x->seq->ops[i].beside == (i > first) ? x->before : 0;
}

/* Adds the sequence of a step whose launches are `l`, by threads of several points. If updates of scalars, repeats,
 * sweeps or reads of other levels stand between stencils, each stencil has a launch of its own. */
static void points_seq(Lowering *lo, int count, Launch *const *l, const Schedule *s) {
  Points x = {.lo = lo, .seq = host_seq(lo, 1), .s = s, .inner = frame_middle(lo->m)};
  int together = module_has_stages(lo->m) || module_sweep(lo->m) || module_scaled(lo->m) ? 1 : count;
  for (int i = 0; i < count; i += together) {
    if (l[i]->st->sweep) {
      sweep_launch(lo, x.seq, l[i], s->block, i == count - 1);
      host_swaps(lo, x.seq, l[i]);
      continue;
    }
    const char *name = arena_printf(lo->out->arena, "%s_naive_%s", lo->m->name, l[i]->st->name);
    if (together == 1 && lower_joined(lo, x.seq, l[i], name, i == count - 1)) {
      host_swaps(lo, x.seq, l[i]);
      continue;
    }
    x.f = frame_of_step(lo->m, together, l + i);
    x.before = 0;
    for (int level = 0; level < x.f->nlevels; level++)
      level_launches(&x, level, i + together == count);
    if (together == 1)
      host_swaps(lo, x.seq, l[i]);
    else
      frame_swaps(lo, x.seq, x.f);
  }
}

/* ---- the pass */

Module *pass_lower_naive(PassContext *c, Module *m, int n, const PassOption *o) {
  Schedule s;
  int count;
  (void)o;
  if (!lowering_starts(c, &m, "lower-naive", FAMILY_NAIVE, &s))
    return NULL;
  const Stencil *st = last_level(m, &n);
  Launch **steps = naive_launches(m, n, st, &count);
  Lowering *lo = lowering_new(c, m, count, steps, 0, NULL);
  lower_inits(lo, s.block);
  if (schedule_has_points(&s, m->grid.rank))
    points_seq(lo, count, steps, &s);
  else
    naive_seq(lo, count, steps, s.block);
  return lowering_finish(lo, &s);
}
