/* frame-steps.c: which launches of a step of the frame one kernel makes, at each point one after the other (frame.h).
 *
 * The same thread may make launch j at a point directly after an earlier launch i if neither of the two reads other
 * points of a field that the other writes. Then j has the level of i; otherwise it waits for all of that level and has
 * a level more. Buffers are swapped at the end of the step only: a launch has its fields in the buffers to which swaps
 * would have moved them. */
#include "passes/tile/frame.h"

#include <math.h>

/* How a launch accesses each buffer; numbers are 2 * field + copy, as of the step's begin. */
typedef struct Touch {
  const FrameLaunch *fl;
  const Box *zone; /* only pieces that may have points in it count; NULL: all */
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

/* The accesses of launch `fl`, in box `zone` alone (NULL: everywhere). */
static Touch touch_of(const FrameLaunch *fl, const Box *zone) {
  const Launch *l = fl->l;
  int n = 2 * l->m->nfields + 1;
  Touch t = {fl, zone, ARENA_ARRAY(l->m->arena, bool, n), ARENA_ARRAY(l->m->arena, bool, n),
             ARENA_ARRAY(l->m->arena, bool, n)};
  stencil_accesses(l->st, note_read, &t);
  for (int i = 0; i < l->st->ntargets; i++) {
    int f = l->st->targets[i];
    const FieldUse *u = launch_use(l, f);
    t.own[fl->at[0][f]] = true; /* points that it does not write may be copied */
    if (u->stored)
      t.sets[u->paired && u->into >= 0 ? fl->at[0][u->into] : fl->at[u->paired][f]] = true;
  }
  return t;
}

/* Does launch `b` have to wait for the earlier launch `a`: at the point itself, or for all of it? */
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

/* Gives launch `fl` the buffers as they are in `at`, and swaps them there as they are swapped after it. */
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

/* Gives launch number `i` the latest level that the launches which wait for it allow; levels count back from the
 * end. */
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

/* Levels are as late as possible: stencils of edges, which have few points and for which others wait, then seldom share
 * a level with those that reach deep. */
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

/* The role of launch `l` of one stencil in a step of kernels with several points a thread. */
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

/* The greatest number of pieces of a stencil that have launches of their own. The pieces other than the largest one
 * must have MANY_THREADS times as many points for that as the target has threads at once. */
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
