/* launch-work.c: the launches of a module, their redundant work, and their traffic to and from global memory. */
#include "passes/launch/slices.h"
#include "passes/tile/frame.h"
#include "passes/tile/mapping.h"
#include "passes/plan/cost/estimate.h"
#include "passes/tile/warps.h"

#include <string.h>

/* A launch with its schedule and mapping. stream: the mapping of its tiles if they were streamed by threads alone,
 * NULL: they are not streamed; scalars: the params' defaults, NULL: not known; ring: rows for readers that are far
 * apart wait in the ring to which they are copied; rows: of a segment of a pipeline of warps on a large grid. */
typedef struct LaunchPlan {
  const Launch *l;
  const Const *scalars;
  Schedule schedule;
  const Mapping *map, *stream;
  bool ring;
  double rows;
} LaunchPlan;

/* ---- work done twice */

/* Points of a tile of `p` that are stored in dimension `d`. */
static double width_of(const LaunchPlan *p, int d) {
  int64_t width = tile_dim(p->map, &p->schedule, d).stored;
  return p->map->level && d == 0 ? p->rows : width > 1 ? (double)width : 1;
}

/* The cells of a tile in dimension `d`: computed by every instance, except in the streamed dimension. Warps of a
 * streamed tile are side by side in the last dimension, in rank 3 in the one before. */
static double cells_of(const LaunchPlan *p, int d) {
  return p->map->level && d == 0 ? p->rows + p->map->shape->ends : (double)tile_dim(p->map, &p->schedule, d).cells;
}

/* The redundancy of instance `i`. */
static Redundancy instance_redundancy(const LaunchPlan *p, int i) {
  Redundancy r = {1, 1};
  const Extent *x = &p->l->st[i].extent;
  for (int d = 0; d < p->l->m->grid.rank; d++) {
    double width = width_of(p, d);
    r.cells *= cells_of(p, d) / width;
    r.needed *= (width + (double)(x->lo[d] + x->hi[d])) / width;
  }
  return r;
}

/* ---- memory */

/* How far the accesses to version 0 of each field reach from the cells of a tile; and how far beyond its points all
 * instances together need them. */
typedef struct Reach {
  const Launch *l;
  int i;
  Extent *of, needed;
} Reach;

/* Notes an access (a stencil_accesses callback). */
static void note_reach(void *user, const Piece *piece, int field, const int64_t *off) {
  Reach *r = user;
  Version v = launch_reads(r->l, field, r->i);
  const Extent *own = &r->l->st[r->i].extent;
  (void)piece;
  for (int d = 0; d < r->l->m->grid.rank && v.version == 0; d++) {
    Extent *x = &r->of[v.field];
    x->lo[d] = larger(x->lo[d], -off[d]);
    x->hi[d] = larger(x->hi[d], off[d]);
    r->needed.lo[d] = larger(r->needed.lo[d], own->lo[d] - off[d]);
    r->needed.hi[d] = larger(r->needed.hi[d], own->hi[d] + off[d]);
  }
}

/* Points of field `f` that are read for each point stored: overlapped tiles read beyond their cells by the field's
 * reach; streamed tiles read their cells alone, or once for each reader if nothing keeps them. */
static double points_read(const LaunchPlan *p, const Reach *r, int f) {
  double product = 1;
  bool direct = p->stream && p->stream->kept[f][0].direct && !p->ring;
  for (int d = 0; d < p->l->m->grid.rank; d++) {
    const Extent *x = &r->of[f];
    double beyond = p->stream ? 0 : (double)(x->lo[d] + x->hi[d]);
    product *= (cells_of(p, d) + beyond) / width_of(p, d);
  }
  return product * (direct ? launch_use(p->l, f)->own_loads : 1);
}

/* The reach of the launch's accesses. */
static Reach reach_of(const LaunchPlan *p) {
  Reach r = {.l = p->l, .of = ARENA_ARRAY(p->l->m->arena, Extent, p->l->m->nfields + 1)};
  for (r.i = 0; r.i < p->l->n; r.i++)
    stencil_accesses(&p->l->st[r.i], note_reach, &r);
  return r;
}

/* The bytes that the launch moves for each point of the grid: fields on a part of it count in proportion. */
static MemoryTraffic traffic_of(const LaunchPlan *p, const Reach *r) {
  const Module *m = p->l->m;
  MemoryTraffic t = {0, 0, 0};
  for (int f = 0; f < m->nfields; f++) {
    double size = type_size(m->fields[f].type) * box_share(m, &m->fields[f].box, p->scalars);
    if (launch_use(p->l, f)->loaded) {
      t.read += size;
      t.again += size * (points_read(p, r, f) - 1);
    }
    t.written += launch_use(p->l, f)->stored ? size : 0;
  }
  return t;
}

/* ---- all of it */

/* The greatest number of rows that are kept of a version that instance `i` makes. */
static int32_t rows_made(const LaunchPlan *p, int i) {
  int32_t most = 0;
  for (int t = 0; t < p->l->st[i].ntargets; t++) {
    int f = p->l->st[i].targets[t], rows = p->stream->kept[f][launch_version(p->l, f, i + 1)].rows;
    most = rows > most ? rows : most;
  }
  return most;
}

/* The instances of `p`, and their average in *all. */
static InstanceWork *instances_of(const LaunchPlan *p, Redundancy *all) {
  const Launch *l = p->l;
  InstanceWork *out = ARENA_ARRAY(l->m->arena, InstanceWork, l->n + 1);
  Redundancy sum = {0, 0};
  for (int i = 0; i < l->n; i++) {
    Redundancy r = instance_redundancy(p, i);
    out[i] = (InstanceWork){.name = l->st[i].name, .level = l->st[i].level, .extent = l->st[i].extent, .redundancy = r};
    out[i].lag = p->stream ? p->stream->lag[i] : 0;
    out[i].rows = p->stream ? rows_made(p, i) : 0;
    sum.cells += r.cells / l->n;
    sum.needed += r.needed / l->n;
  }
  *all = l->n ? sum : (Redundancy){1, 1};
  return out;
}

/* The windows of a streamed tile that are used; their number is *count. */
static WindowWork *windows_of(const LaunchPlan *p, int32_t *count) {
  WindowWork *out = NULL;
  *count = 0;
  for (int f = 0; f < p->l->m->nfields && p->map->streamed; f++)
    for (int v = 0; v <= p->map->versions[f]; v++) {
      WindowWork work = {f, v, p->map->kept[f][v].direct && p->ring, p->map->kept[f][v]};
      if (work.kept.used)
        ARENA_PUSH(p->l->m->arena, out, *count, work);
    }
  return out;
}

/* The figures of `p`. */
static LaunchWork work_of(const LaunchPlan *p) {
  int rank = p->l->m->grid.rank;
  Reach r = reach_of(p);
  LaunchWork w = {.schedule = p->schedule,
                  .streamed = p->stream != NULL,
                  .steps = p->l->steps,
                  .ninstances = p->l->n,
                  .loaded = r.needed,
                  .traffic = traffic_of(p, &r)};
  w.instances = instances_of(p, &w.redundancy);
  w.windows = windows_of(p, &w.nwindows);
  for (int d = 0; d < rank; d++) {
    w.cells[d] = cells_of(p, d);
    w.width[d] = width_of(p, d);
  }
  w.unroll = p->map->unroll;
  w.halo = p->stream ? p->stream->halo : p->l->hull;
  for (int f = 0; f < p->l->m->nfields && p->stream; f++)
    w.loaded_rows = p->stream->kept[f][0].rows > w.loaded_rows ? p->stream->kept[f][0].rows : w.loaded_rows;
  if (p->map->streamed)
    w.window_words =
        p->map->level ? warps_kept_words(p->map->level, p->map->shape) : stream_thread_words(p->map, &p->schedule);
  return w;
}

/* The figures of launch `l` under schedule `s` on target `t`, where the params have the values `scalars`. */
static LaunchWork launch_work(const TargetInfo *t, const Launch *l, const Schedule *s, const Const *scalars) {
  const char *why;
  LaunchPlan p = {.l = l, .scalars = scalars, .schedule = *s};
  p.stream = family_row(s->family)->streamed ? stream_new(l) : NULL;
  p.map = p.stream && s->family != FAMILY_WARPS ? p.stream : mapping_of(t, l, s, &why);
  p.ring = p.stream && stream_keeps_ring(t, p.stream, s);
  p.rows = p.map->level ? warps_segment_rows(t, p.map->level, p.map->shape, warps_grid_size()) : 0;
  return work_of(&p);
}

/* The figures of level number `level` of step `f`, whose kernels have several points a thread: of its launches of many
 * points together, or if there are none, of the first launch. */
static LaunchWork level_work(const TargetInfo *t, const Frame *f, int level, const Schedule *s, const Const *scalars) {
  LaunchWork all = {.steps = 0};
  for (int main = 1; main >= 0 && !all.steps; main--)
    for (int i = 0; i < f->n; i++) {
      const FrameLaunch *fl = &f->launches[i];
      if (fl->level != level || (main ? fl->role != FRAME_INNER : all.steps))
        continue;
      LaunchWork w = launch_work(t, fl->l, s, scalars);
      if (all.steps) {
        all.traffic.read += w.traffic.read;
        all.traffic.again += w.traffic.again;
        all.traffic.written += w.traffic.written;
      } else {
        all = w;
      }
    }
  return all;
}

LaunchWork *launch_works(const TargetInfo *t, const Module *m, const Schedule *s, int *count) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  LaunchWork *out = ARENA_ARRAY(m->arena, LaunchWork, n + 1);
  const Const *scalars = default_scalars(m);
  bool naive = !family_row(s->family)->tiled;
  if (!naive && m->time_tile > 1) {
    *count = 1;
    out[0] =
        launch_work(t, launch_new(m, m->nstencils, m->stencils, m->stencils, m->stencils + m->nstencils), s, scalars);
    return out;
  }
  Launch **l = naive ? naive_launches(m, n, st, count) : group_launches(m, n, st, count);
  if (naive && schedule_has_points(s, m->grid.rank)) {
    const Frame *f = frame_of_step(m, *count, l);
    *count = f->nlevels;
    for (int i = 0; i < *count; i++)
      out[i] = level_work(t, f, i, s, scalars);
    return out;
  }
  for (int i = 0; i < *count; i++)
    out[i] = launch_work(t, l[i], !naive && s->groups && s->ngroups == *count ? &s->groups[i] : s, scalars);
  return out;
}

const Module *plan_tiles(const Module *m, const Schedule *s) {
  if (plan_is_sliced(m, s))
    return module_slice(m->arena, m);
  const char *why;
  const Frame *f = s->edges == EDGES_STEPS ? frame_new(m, s->T, &why) : NULL;
  return f ? f->tiled : m;
}
