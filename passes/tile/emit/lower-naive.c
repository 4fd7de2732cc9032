/* lower-naive.c: no tiles in time: each launch makes a stencil of one step, from global memory and to it. A thread has
 * a point, or (`-elems`) several beside each other:
 *
 *   launch @heat_naive_psi_zeta                         a level of few points: those around a box
 *   launch @heat_naive_wave_to_rec                      a level: at each point one after the other
 *   launch @heat_naive_wave_to_rec_edges beside         the same at points around the box
 *   swap ..
 *
 * With a point a thread it is a launch a stencil (lower/naive.c). With several, stencils that meet at the point alone
 * are made by one launch, as those of a frame are (tile/frame-steps.c), and the code of tiles in the middle of the grid
 * is written out for all points of a thread (lower/naive-points.c): a wave of order 8 then takes 22 instructions a
 * point and no shared memory, and the second-level cache, or memory, is what bounds it. This is for grids that lie in
 * that cache, for steps with stencils of few points, such as absorbing layers, and for long equations in three
 * dimensions, where tiles of several steps compute too much beside their own points. */
#include "passes/base/tuning.h"
#include "passes/registry.h"
#include "passes/tile/emit/lower-frame.h"
#include "passes/tile/frame.h"

/* ---- several points a thread */

/* A step in the making. */
typedef struct Points {
  Lowering *lo;
  HostSeq *seq;
  const Schedule *s;
  const Frame *f; /* its launches by levels; no boxes */
  Box inner;
} Points;

/* The members of a level in the making, and the box in which those with most to do have their largest pieces. */
typedef struct Level {
  int n, steps;
  const FrameLaunch **of;
  NaiveMember *members;
  Box zone;
  bool main, several; /* it has a stencil of many points; they can be written out in the zone */
} Level;

/* Finds what level number `level` is, of the last launches of the step if `last`. */
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

/* Adds the kernel of level `v` for the points out of `core` (NULL: all), a thread each, and its launch. */
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

/* Adds the kernel of level `v` for the points of its zone, and its launch. */
static void block_launch(Points *x, const Level *v, const char *name) {
  Lowering *lo = x->lo;
  NaivePoints p = {v->n, v->steps, v->members, x->s->block, x->s->elems, NULL, NULL};
  int index = naive_block(lo, &p, &v->zone, true, name);
  if (lo->out->kernels[index].nmultiples && !lo->c->sketch)
    kernel_instead(lo, index, naive_block(lo, &p, &v->zone, false, arena_printf(lo->out->arena, "%s_any", name)));
  host_launch(lo, x->seq, index);
}

/* Have the stencils of level `v`, all of few points, none in its zone, and nothing to copy there? */
static bool is_around(const Level *v) {
  bool around = true;
  for (int i = 0; i < v->n; i++)
    around = around && !launch_copies_rest(v->of[i]->l);
  for (int i = 0; i < v->n; i++)
    for (int k = 0; k < v->of[i]->l->st->npieces; k++)
      around = around && boxes_apart(&v->of[i]->l->st->pieces[k].box, &v->zone);
  return around;
}

/* Must launch number `i` of level `v` wait for one from number `first` on, since they meet at points? */
static bool meets(const Level *v, int first, int i) {
  bool waits = false;
  for (int k = first; k < i; k++)
    waits = waits || frame_waits(v->of[k], v->of[i]);
  return waits;
}

/* Adds the launches of level `v`, whose stencils have few points, each by itself: beside each other as far as none has
 * to wait for another one, since threads of two launches have no order among them, as those of one point would have. */
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

/* Adds the launches of level number `level`, of the last ones of the step if `last`. */
static void level_launches(Points *x, int level, bool last) {
  Arena *a = x->lo->out->arena;
  Level v = level_of(x, level, last);
  const char *name = arena_printf(a, "%s_naive_%s", x->lo->m->name, frame_members_text(a, v.n, v.of));
  if (v.main && v.several) {
    block_launch(x, &v, name);
    if (!is_grid(x->lo->m, &v.zone))
      edge_launch(x, &v, &v.zone, arena_printf(a, "%s_edges", name), 0, true);
  } else if (!v.main && is_around(&v)) {
    edge_launch(x, &v, &v.zone, name, v.steps, false);
  } else if (!v.main) {
    few_points(x, &v);
  } else {
    edge_launch(x, &v, NULL, name, v.steps, false);
  }
}

/* Adds the sequence of a step whose launches are `l`, by threads of several points. Where updates of scalars, repeats,
 * sweeps or reads of other levels stand between stencils no two of these are made together. */
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
