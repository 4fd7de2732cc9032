/* schedule-model.c: schedules compared by the cost model (model.c): each is lowered, its kernels are looked at and thrown away. */
#include "passes/estimate.h"
#include "passes/stream.h"

#include <math.h>
#include <string.h>

/* Extents of the grid that is meant where nothing is said: a large one, by rank. */
static const int64_t large[MAX_RANK][MAX_RANK] = {{1 << 28}, {16384, 16384}, {768, 768, 768}};

/* Another choice is taken in place of the usual one if it is expected to take less than this part of the time, and so is what bounds it most, alone: how bounds add up is less certain than they are. */
static const double CLEARLY = 0.92;

/* The figures, as if none of its tiles were at edges, of launch number `i` of sequence `seq` of kernel IR module `m`, which makes `w`, on a grid of extents `size`. */
static LaunchTime launch_time(const TargetInfo *t, const Module *m, const HostSeq *seq, int i, const LaunchWork *w, const int64_t *size) {
  Kernel *k = &m->kernels[seq->ops[i].a];
  KernelSpace space = {1, 1, 0};
  for (int d = 0; d < k->rank; d++) {
    space.points *= (double)size[d];
    space.blocks *= (double)((size[d] + k->tile[d] - 1) / k->tile[d]);
  }
  LaunchLoad load = launch_load(t, m, k, w, NULL, space);
  return model_launch(t, &load);
}

bool schedule_time(PassContext *c, Module *m, const Schedule *s, const int64_t *size, ScheduleTime *out) {
  Schedule own = *s;
  PassContext quiet = {.arena = c->arena, .diags = c->diags, .target = c->target, .schedule = &own, .loaded = c->loaded};
  int rank = m->grid.rank, count, n = 0;
  bool stream = strcmp(s->family, "stream") == 0;
  const char *pipeline = stream ? "lower-stream,simplify,barriers,specialize,split-edges,simplify" : "lower-overlap,simplify,shared-alloc,barriers,specialize,split-edges,simplify";
  LaunchWork *work = launch_works(m, s, &count);
  Module *k = count ? passes_run(&quiet, NULL, pipeline, m) : NULL;
  *out = (ScheduleTime){0};
  if (!k || !k->host.nseqs)
    return false;
  const HostSeq *seq = &k->host.seqs[0];
  for (int i = 0; i < seq->nops && n < count; i++) {
    if (seq->ops[i].kind != HOST_LAUNCH || k->kernels[seq->ops[i].a].hollow)
      continue;
    LaunchTime t = launch_time(c->target, k, seq, i, &work[n++], size && size[0] ? size : large[rank - 1]);
    out->seconds += t.seconds / seq->steps;
    out->longest += t.alone[t.bound] / seq->steps;
  }
  return true;
}

/* A copy of stencil IR module `m` that is tiled for T steps. NULL after an error. */
static Module *tiled_copy(PassContext *c, const Module *m, int T) {
  Module *copy = ARENA_NEW(c->arena, Module);
  *copy = *m;
  copy->stencils = ARENA_ARRAY(c->arena, Stencil, m->nstencils + 1);
  for (int i = 0; i < m->nstencils; i++)
    copy->stencils[i] = m->stencils[i];
  return passes_run(c, NULL, arena_printf(c->arena, "time-tile(t=%d),halo", T), copy);
}

double schedule_walked_ps(PassContext *c, const Module *m, const Schedule *want) {
  Schedule open = *want, s;
  ScheduleTime t;
  const Reduction *by;
  const int64_t *size = want->size[0] ? want->size : large[m->grid.rank - 1];
  int64_t most = most_levels(m, &by);
  double points = 1;
  if (!c->target->simt || strcmp(want->family ? want->family : "", "auto") != 0 || stream_is_not_better(c, m, want, most))
    return INFINITY;
  open.family = "stream";
  int T = schedule_stream_levels(c, m, &open, most);
  PassContext quiet = {.arena = c->arena, .diags = c->diags, .target = c->target, .schedule = &open, .loaded = c->loaded};
  Module *tiled = tiled_copy(&quiet, m, T);
  if (!tiled || schedule_walk(&quiet, &open, tiled_launch(tiled, T), T, &s) || !schedule_time(&quiet, tiled, &s, size, &t))
    return INFINITY;
  for (int d = 0; d < m->grid.rank; d++)
    points *= (double)size[d];
  return t.seconds * 1e12 / points;
}

void schedule_widen(PassContext *c, const Module *m, const Schedule *want, Schedule *s) {
  int x = m->grid.rank - 1;
  bool tiled = m->nstencils && m->stencils[0].has_extent && m->time_tile == s->T;
  if (!tiled || m->grid.rank != 2 || want->elems[x] || s->elems[x] != 2)
    return;
  ScheduleTime usual, wide;
  Schedule wider = *s;
  wider.elems[x] *= 2;
  Launch *l = tiled_launch(m, s->T);
  if (!stream_fits(c->target, stream_new(l), &wider) || !stream_code_is_short(stream_new(l), &wider) || !schedule_time(c, (Module *)m, s, want->size, &usual) || !schedule_time(c, (Module *)m, &wider, want->size, &wide))
    return;
  if (wide.seconds < CLEARLY * usual.seconds && wide.longest < CLEARLY * usual.longest)
    *s = wider;
}
