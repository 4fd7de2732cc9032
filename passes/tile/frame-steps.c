/* frame-steps.c: which launches of a step of the frame one kernel makes, at each point one after the other (frame.h).
 *
 * Launch j may be made at a point right behind launch i before it, by the same thread, if neither reads at other points
 * what the other writes. Then it is of the same level; a level more is what waits for all of the level before. Buffers
 * change places at the end of the step alone: a launch has its fields in the buffers that swaps would have given it. */
#include "passes/tile/frame.h"

#include <math.h>

/* What a launch does with each buffer of the step's begin, number 2 * field + copy. */
typedef struct Touch {
  const FrameLaunch *fl;
  const Box *zone; /* only pieces that may have points in there are looked at; NULL: all */
  bool *near, *own, *sets;
} Touch;

/* Notes a read (a stencil_accesses callback). */
static void note_read(void *user, const Piece *piece, int field, const int64_t *off) {
  Touch *t = user;
  const Launch *l = t->fl->l;
  if (t->zone && boxes_apart(t->zone, &piece->box))
    return;
  Rules rules = access_rules(l->m, &piece->box, field, off);
  bool moved = !rules_none(&rules);
  for (int d = 0; d < l->m->grid.rank; d++)
    moved = moved || off[d];
  *((moved ? t->near : t->own) + t->fl->at[0][launch_reads(l, field, 0).field]) = true;
}

/* What launch `fl` does, in box `zone` alone (NULL: everywhere). */
static Touch touch_of(const FrameLaunch *fl, const Box *zone) {
  const Launch *l = fl->l;
  int n = 2 * l->m->nfields + 1;
  Touch t = {fl, zone, ARENA_ARRAY(l->m->arena, bool, n), ARENA_ARRAY(l->m->arena, bool, n),
             ARENA_ARRAY(l->m->arena, bool, n)};
  stencil_accesses(l->st, note_read, &t);
  for (int i = 0; i < l->st->ntargets; i++) {
    int f = l->st->targets[i];
    const FieldUse *u = launch_use(l, f);
    t.own[fl->at[0][f]] = true; /* points that it leaves as they are may be copied */
    if (u->stored)
      t.sets[u->paired && u->into >= 0 ? fl->at[0][u->into] : fl->at[u->paired][f]] = true;
  }
  return t;
}

/* Does launch `b` have to wait for launch `a`, which is before it: at the point itself, or for all of it? */
typedef enum Wait { WAIT_NONE, WAIT_POINT, WAIT_ALL } Wait;
static Wait waits(const Touch *a, const Touch *b) {
  Wait wait = WAIT_NONE;
  for (int i = 0; i < 2 * a->fl->l->m->nfields; i++) {
    if ((a->sets[i] && b->near[i]) || (a->near[i] && b->sets[i]))
      return WAIT_ALL;
    if ((a->sets[i] && (b->own[i] || b->sets[i])) || (a->own[i] && b->sets[i]))
      wait = WAIT_POINT;
  }
  return wait == WAIT_POINT && (a->fl->apart || b->fl->apart) ? WAIT_ALL : wait;
}

bool frame_waits(const FrameLaunch *a, const FrameLaunch *b) { return frame_waits_in(a, b, NULL); }

bool frame_waits_in(const FrameLaunch *a, const FrameLaunch *b, const Box *zone) {
  Touch before = touch_of(a, NULL), behind = touch_of(b, zone);
  return waits(&before, &behind) != WAIT_NONE;
}

/* Gives launch `fl` the buffers as they are in `at`, and has them change places as they do behind it. */
static void take_buffers(FrameLaunch *fl, int32_t *const at[2]) {
  int nfields = fl->l->m->nfields;
  LaunchSwap *swaps;
  for (int copy = 0; copy < 2; copy++) {
    fl->at[copy] = ARENA_ARRAY(fl->l->m->arena, int32_t, nfields + 1);
    for (int f = 0; f < nfields; f++)
      fl->at[copy][f] = at[copy][f];
  }
  int n = launch_swaps(fl->l, &swaps);
  for (int i = 0; i < n; i++) {
    int32_t *one = &at[0][swaps[i].field], *other = &at[swaps[i].copy][swaps[i].of], was = *one;
    *one = *other;
    *other = was;
  }
}

/* Gives launch number `i` the last level, of those counted back from the end, that what waits for it lets it have. */
static void set_level(Frame *f, const Touch *touch, int i) {
  FrameLaunch *fl = &f->launches[i];
  fl->level = 0;
  for (int k = i + 1; k < f->n; k++) {
    Wait wait = waits(&touch[i], &touch[k]);
    int32_t least = wait == WAIT_NONE ? 0 : f->launches[k].level + (wait == WAIT_ALL);
    fl->level = least > fl->level ? least : fl->level;
  }
  f->nlevels = fl->level >= f->nlevels ? fl->level + 1 : f->nlevels;
}

/* Levels are as late as they may be: stencils of edges, which are on few points and others wait for, are then seldom
 * together with those that reach deep. */
void frame_levels(Frame *f) {
  Arena *a = f->whole->arena;
  int32_t *at[2] = {ARENA_ARRAY(a, int32_t, f->whole->nfields + 1), ARENA_ARRAY(a, int32_t, f->whole->nfields + 1)};
  Touch *touch = ARENA_ARRAY(a, Touch, f->n + 1);
  for (int i = 0; i < 2 * f->whole->nfields; i++)
    at[i % 2][i / 2] = i;
  for (int i = 0; i < f->n; i++) {
    take_buffers(&f->launches[i], at);
    touch[i] = touch_of(&f->launches[i], NULL);
  }
  f->nlevels = 0;
  for (int i = f->n - 1; i >= 0; i--)
    set_level(f, touch, i);
  for (int i = 0; i < f->n; i++)
    f->launches[i].level = f->nlevels - 1 - f->launches[i].level;
}

/* ---- steps without a frame */

/* What launch `l` of one stencil is in a step of kernels with several points a thread. */
static FrameRole role_of(const Launch *l, const Const *scalars) {
  ThinPart *parts;
  if (is_probe_stencil(l->m, l->st))
    return FRAME_PROBE;
  if (stencil_is_point(l->m, l->st))
    return FRAME_POINT;
  return launch_thin_parts(l, scalars, &parts) ? FRAME_EDGE : FRAME_INNER;
}

const Frame *frame_of_step(const Module *m, int n, Launch *const *l) {
  Frame *f = ARENA_NEW(m->arena, Frame);
  const Const *scalars = default_scalars(m);
  *f = (Frame){.whole = m};
  for (int i = 0; i < n; i++)
    ARENA_PUSH(m->arena, f->launches, f->n, ((FrameLaunch){.l = l[i], .role = role_of(l[i], scalars)}));
  frame_levels(f);
  return f;
}

/* The most pieces of a stencil that have launches of their own; and how many points the pieces beside the largest one
 * must have for that, counted in the points that the target has threads for at once. */
enum { MOST_PIECES = 3 * 3 * 3, MANY_THREADS = 2 };

double box_points(const Module *m, const Box *box) {
  const Const *scalars = default_scalars(m);
  double points = scalars ? 1 : 0;
  bool overflow = false;
  for (int d = 0; d < box->rank && scalars; d++)
    points *= fmax((double)affine_eval(box_extent(m->arena, box, d), scalars, &overflow), 0);
  return overflow ? 0 : points;
}

bool pieces_have_launches(const TargetInfo *t, const Launch *l, bool all) {
  double sum = 0, most = 0;
  for (int i = 0; i < l->st->npieces; i++) {
    double points = box_points(l->m, &l->st->pieces[i].box);
    sum += points;
    most = points > most ? points : most;
  }
  return !l->m->part && l->st->npieces > 1 && l->st->npieces <= MOST_PIECES &&
         sum - (all ? 0 : most) > (double)MANY_THREADS * t->cores * t->max_threads_per_core;
}
