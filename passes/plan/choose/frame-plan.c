/* frame-plan.c: decides when tiles of several steps are made inside, and single steps at the edges, so that tiles do
 * not contain the layers there (tile/frame.h).
 *
 * Measured: docs/lab/real-problems.md. */
#include "passes/tile/frame.h"
#include "passes/plan/cost/estimate.h"
#include "passes/plan/plan.h"
#include "passes/plan/choose/resolve.h"

#include <math.h>
#include <string.h>

/* The points of the frame `depth` deep on a grid of extents `size`. */
static double frame_points(const Frame *f, const Extent *depth, const int64_t *size, const Const *scalars) {
  const Box *grid = &f->whole->grid;
  double points = 0;
  bool overflow = false;
  for (int e = 0; e < 2 * grid->rank; e++) {
    int d = e / 2;
    double across = 0, along = 1;
    if (e % 2 ? f->hi[d] : f->lo[d])
      across = e % 2 ? (double)(affine_eval(grid->hi[d], scalars, &overflow) -
                                affine_eval(f->inner.hi[d], scalars, &overflow) + depth->hi[d])
                     : (double)(affine_eval(f->inner.lo[d], scalars, &overflow) -
                                affine_eval(grid->lo[d], scalars, &overflow) + depth->lo[d]);
    for (int o = 0; o < grid->rank; o++)
      along *= o == d ? 1 : (double)size[o];
    points += across * along;
  }
  return points;
}

/* How many of the `n` launches at `l` wait for earlier ones; the others run at the same time as these. */
static int waits_of(int n, Launch *const *l) {
  int waits = 0, first = 0;
  for (int i = 0; i < n; i++) {
    bool joins = i > first && launch_is_independent(l[i], i - first, l + first);
    first = joins ? first : i;
    waits += !joins;
  }
  return waits;
}

/* The seconds that `T` steps of frame `f` are expected to take on a grid of extents `size`. */
static double frame_seconds(const PassContext *c, const Frame *f, int T, const int64_t *size) {
  const Const *scalars = default_scalars(f->whole);
  double rate = c->target->bandwidth > 0 ? c->target->bandwidth * 1e9 : 1e12, bytes = 0;
  for (int i = 0; i < f->n; i++)
    if (f->launches[i].role == FRAME_INNER)
      bytes += frame_points(f, &f->launches[i].depth, size, scalars) * launch_bytes(f->launches[i].l);
  return T * (f->nlevels * measured.apart_gap + bytes / rate) + measured.apart_gap;
}

/* Can tiles of plan `s` make the step `step`? */
static bool can_make(const PassContext *c, const Module *step, const Schedule *s) {
  Schedule all = *s, again;
  PassContext with = *c;
  all.edges = c->schedule->edges;
  with.schedule = &all;
  with.diags = diags_quiet(c->arena);
  return plan_make(&with, step, &again) && again.T == s->T;
}

/* Sets *s to the plan of tiles that context `c` asks for in *want. Returns the step of module `m` that such tiles make:
 * the number of steps a tile decides which probes they leave to the frame. If the tiles' step does not fit, another
 * plan of no more steps is found, and *want says it. NULL: there is none, and *why is the reason if it was not
 * reported. */
static Module *plan_inside(PassContext *c, const Module *m, Schedule *want, Schedule *s, const char **why) {
  for (Module *step = frame_step(m, 0, why);;) {
    if (!step || !plan_make(c, step, s))
      return NULL;
    Module *made = frame_step(m, s->T, why);
    if (!made || made->nstencils == step->nstencils || can_make(c, made, s))
      return made;
    want->T = s->T;
    step = made;
  }
}

/* The most points that a thread of a frame's kernel is chosen to have: as many as take ROW_BYTES bytes of the largest
 * fields that the tiles compute, since values that stencils load beside each point are in registers. And the most that
 * a plan may ask for, as there is code for each. */
enum { ROW_BYTES = 16, MOST_ROWS = 64 };

/* The greatest number of points of a thread. */
static int32_t most_rows(const Frame *f) {
  const Module *m = f->whole;
  int32_t size = 4;
  for (int i = 0; i < m->nfields; i++)
    if (f->kept[i] && type_size(m->fields[i].type) > size)
      size = type_size(m->fields[i].type);
  return m->grid.rank > 1 && size < ROW_BYTES ? ROW_BYTES / size : 1;
}

/* The blocks of `rows` points a thread of the frame of `f` that is `depth` deep, on a grid of extents `size`. */
static double frame_blocks(const Frame *f, const Extent *depth, const int64_t *size, const Const *scalars,
                           int32_t rows) {
  const Box *grid = &f->whole->grid;
  Box core = frame_core(f, depth);
  double all = 1, hole = 1;
  bool overflow = false;
  for (int d = 0; d < grid->rank; d++) {
    double extent = (double)size[d], tile = (double)tuning.tile_block[grid->rank - 1][d] * (d ? 1 : rows);
    double first = (double)(affine_eval(core.lo[d], scalars, &overflow) - affine_eval(grid->lo[d], scalars, &overflow)),
           end = extent -
                 (double)(affine_eval(grid->hi[d], scalars, &overflow) - affine_eval(core.hi[d], scalars, &overflow));
    all *= ceil(extent / tile);
    hole *= fmax(0, (end >= extent ? ceil(end / tile) : floor(end / tile)) - ceil(first / tile));
  }
  return all - hole;
}

/* The smaller of the two depths of `depth` along dimension 0. */
static int64_t least_depth(const Extent *depth) { return depth->lo[0] < depth->hi[0] ? depth->lo[0] : depth->hi[0]; }

/* The number of points of a thread of the frame's kernels of the tiles' stencils, one after the other along dimension
 * 0, for a grid of extents `size`: as many as leave blocks for all threads that the device holds at once, and tiles
 * beside the layers, since code is unrolled for several points in tiles that contain no layer. A block then computes
 * its place once for all points, and values that stencils load beside them along dimension 0 are loaded once for
 * several. It is 1 on grids of one dimension, along which threads have consecutive points. */
static int32_t frame_rows(const PassContext *c, const Frame *f, const int64_t *size) {
  const Const *scalars = default_scalars(f->whole);
  int64_t threads = 1;
  for (int d = 0; d < f->whole->grid.rank; d++)
    threads *= tuning.tile_block[f->whole->grid.rank - 1][d];
  double places = (double)c->target->cores * (double)(c->target->max_threads_per_core / threads);
  int32_t rows = scalars && places > 0 ? most_rows(f) : 1;
  for (int i = 0; i < f->n; i++)
    while (rows > 1 && f->launches[i].role == FRAME_INNER &&
           (frame_blocks(f, &f->launches[i].depth, size, scalars, rows) < places ||
            rows * tuning.tile_block[f->whole->grid.rank - 1][0] > least_depth(&f->launches[i].depth)))
      rows /= 2;
  return rows;
}

/* The reason why the rest `given` of a plan cannot be that of a frame; NULL: it can, or leaves the points of a thread
 * open. */
static const char *rest_wrong(Arena *a, const Schedule *given) {
  if (!given || given->elems[0] <= MOST_ROWS)
    return NULL;
  return arena_printf(a, "threads of the frame's kernels have up to %d points along dimension 0, not %d", MOST_ROWS,
                      given->elems[0]);
}

/* Sets, in plan `s` of frame `f`, the number of points of a thread of the frame's kernels, beside the block of inits.
 * It is the number that `given`, the rest of a requested plan, has for dimension 0 (other dimensions have no meaning
 * for a frame), or one for a grid of extents `size`. */
static void say_rows(PassContext *c, const Frame *f, const Schedule *given, const int64_t *size, Schedule *s) {
  Schedule *rest = ARENA_NEW(c->arena, Schedule);
  bool said = given && given->elems[0];
  if (s->rest)
    *rest = *s->rest;
  else {
    *rest = (Schedule){.family = FAMILY_OVERLAP, .T = 1};
    memcpy(rest->block, s->block, sizeof rest->block);
  }
  for (int d = 0; d < f->whole->grid.rank; d++)
    rest->elems[d] = d ? 1 : said ? given->elems[d] : frame_rows(c, f, size);
  s->rest = rest;
}

/* Sets *s to the plan of the tiles inside for module `m` as `want` asks, and *seconds to the expected seconds a step
 * with its frame.
 * False: there is none, and *why is the reason if it was not reported. */
static bool framed_plan(PassContext *c, const Module *m, const Schedule *want, Schedule *s, double *seconds,
                        const char **why) {
  Schedule inside = *want;
  PassContext with = *c;
  const int64_t *size = want->size[0] ? want->size : model_large_grid(m->grid.rank);
  inside.edges = EDGES_OPEN;
  with.schedule = &inside;
  *why = "the target has no threads, whose tiles alone can leave out layers";
  Module *step = c->target->simt ? plan_inside(&with, m, &inside, s, why) : NULL;
  if (!step)
    return false;
  *why = "tiles inside make one step each";
  if (s->T < 2 || s->ngroups > 1)
    return false;
  const Frame *f = frame_new(m, s->T, why);
  if (!f)
    return false;
  *seconds = plan_tile_seconds(&with, step, s, size) + frame_seconds(c, f, s->T, size) / s->T;
  s->edges = EDGES_STEPS;
  *why = rest_wrong(c->arena, want->rest);
  say_rows(c, f, want->rest, size, s);
  return !*why;
}

bool plan_framed(PassContext *c, const Module *m, Schedule *s) {
  const char *why = NULL;
  double seconds;
  int errors = diags_errors(c->diags);
  if (framed_plan(c, m, c->schedule, s, &seconds, &why))
    return true;
  if (diags_errors(c->diags) == errors)
    diag_error(c->diags, no_loc(), "-edges=steps: %s; use -edges=apart", why);
  return false;
}

void prefer_framed(PassContext *c, const Module *m, double *expected, Schedule *s) {
  const char *why = NULL;
  double seconds = INFINITY;
  Schedule framed;
  int n;
  Launch **l = naive_launches(m, m->nstencils, m->stencils, &n);
  *expected += s->T > 1 ? 0 : waits_of(n, l) * measured.apart_gap;
  if (framed_plan(c, m, c->schedule, &framed, &seconds, &why) && seconds < tuning.clearly * *expected) {
    diag_remark(c->diags, no_loc(), "tiles make %d steps inside, and what layers at edges reach is made step by step",
                (int)framed.T);
    *s = framed;
    *expected = seconds;
  }
}
