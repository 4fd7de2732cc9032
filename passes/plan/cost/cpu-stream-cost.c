/* cpu-stream-cost.c: the expected time of tiles that one thread streams (lower-walk.c), and of launches of plain loops
 * (lower-loops.c).
 *
 * A core computes, moves bytes from and to memory, and waits for rows that its second-level cache no longer has. These
 * three were hardly seen to overlap, except that long arithmetic hides memory: bytes arrive while it goes on.
 *
 * Why streamed tiles are faster on CPUs, and which tiles were measured: docs/lab/cpu.md. */
#include "passes/launch/slices.h"
#include "passes/plan/cost/count.h"
#include "passes/launch/launch.h"
#include "passes/plan/cost/estimate.h"
#include "passes/base/tuning.h"

#include <math.h>

/* A question about a streamed tile: a mapping, a tile, a grid (size 0: large), and for each dimension the number of
 * tiles for each point. */
typedef struct CpuStreamCost {
  const CpuStreamParts *w;
  const Mapping *p;
  const Schedule *s;
  double per[MAX_RANK];
} CpuStreamCost;

/* Points computed in dimensions 0 to before `rank` for each point that is stored, with `lo` and `hi` more on both sides
 * of each tile. */
static double area(const CpuStreamCost *c, const int64_t *lo, const int64_t *hi, int rank) {
  double product = 1;
  for (int d = 0; d < rank; d++)
    product *= 1 + (double)(lo[d] + hi[d]) * c->per[d];
  return product;
}

double cpu_body_additions(const Module *m, const Block *body) {
  double additions = 0, accesses = 0;
  for (const Op *op = body->first; op; op = op->next) {
    additions += op_additions(op);
    accesses += op->code == OP_ACCESS;
  }
  return fmax(additions - carries_save(m->arena, body, m->grid.rank), accesses);
}

/* Nanoseconds a point of a core for the arithmetic of instance `st` of `m`. */
static double arithmetic_ns(const TargetInfo *t, const Module *m, const Stencil *st) {
  bool wide = type_size(m->fields[st->targets[0]].type) > 4;
  double per = wide ? t->f64_rate : t->f32_rate;
  return measured.core_slower * cpu_body_additions(m, main_piece(m->arena, st)->body) * t->cores / per;
}

/* Nanoseconds a point of an instance that shares a tile with others: where it computes few of the points, it copies the
 * others of the fields that it keeps. */
static double instance_ns(const TargetInfo *t, const Module *m, const Stencil *st) {
  double kept = 0;
  for (int i = 0; i < st->ntargets && stencil_is_thin(m, st); i++)
    if (stencil_keeps(m, st, st->targets[i]))
      kept += measured.core_kept_point * (type_size(m->fields[st->targets[i]].type) > 4 ? 2 : 1);
  if (kept > 0)
    return kept;
  return measured.core_point * (type_size(m->fields[st->targets[0]].type) > 4 ? 2 : 1) + arithmetic_ns(t, m, st);
}

/* Bytes of all fields of `m` on a grid of extents `size`, including second copies of fields that a step computes anew;
 * 0: an extent is not known. */
static double fields_bytes(const Module *m, const int64_t *size) {
  double points = slices_of_size(m->grid.rank, size), bytes = 0;
  for (int d = 0; d < m->grid.rank; d++)
    points *= size[d] > 0 ? (double)size[d] : 0;
  for (int f = 0; f < m->nfields; f++)
    if (!m->fields[f].temp)
      bytes += (double)type_size(m->fields[f].type) * (m->fields[f].input ? 1 : 2);
  return points * bytes;
}

/* Do all fields of `m` on a grid of extents `size` stay in the last cache? */
static bool is_cached(const TargetInfo *t, const Module *m, const int64_t *size) {
  double bytes = fields_bytes(m, size);
  return bytes > 0 && bytes < measured.expect_cached * t->cache_bytes;
}

/* Nanoseconds of a core to move `bytes` bytes a point: from and to the last cache, if the fields of `m` on a grid of
 * extents `size` (NULL: any) stay there; else from and to memory, which all cores share and which `arithmetic`
 * nanoseconds hide in part. */
static double exposed_ns(const TargetInfo *t, const Module *m, const int64_t *size, double bytes, double arithmetic) {
  if (size && is_cached(t, m, size))
    return bytes * measured.core_byte;
  return fmax(bytes * t->cores / t->bandwidth - fmax(arithmetic - measured.core_hidden, 0), 0);
}

/* The arithmetic of the longest instance of `n` at `st`. */
static double longest_ns(const TargetInfo *t, const Module *m, int32_t n, const Stencil *st) {
  double most = 0;
  for (int i = 0; i < n; i++)
    most = fmax(most, arithmetic_ns(t, m, &st[i]));
  return most;
}

/* Nanoseconds a point of a core for computing. */
static double compute_ns(const CpuStreamCost *c) {
  const Launch *l = c->p->l;
  int rank = l->m->grid.rank, x = rank - 1;
  double sum = 0;
  for (int i = 0; i < l->n; i++) {
    const Stencil *st = &l->st[i];
    sum += c->w->ns[i] * area(c, st->extent.lo, st->extent.hi, rank) +
           measured.core_line[x] / c->w->lines * c->per[x] * area(c, st->extent.lo, st->extent.hi, x);
  }
  return sum;
}

double cpu_moved_bytes(const Launch *l, double halo) {
  double sum = 0;
  for (int f = 0; f < l->m->nfields; f++) {
    double size = (double)type_size(l->m->fields[f].type);
    const FieldUse *u = launch_use(l, f);
    if (u->loaded)
      sum += size * halo;
    if (u->stored)
      sum += size * ((u->paired ? u->into < 0 : !u->loaded) ? 2 : 1);
  }
  return sum;
}

/* Bytes a point that are moved from and to memory. */
static double memory_bytes(const CpuStreamCost *c) {
  return cpu_moved_bytes(c->p->l, area(c, c->p->halo.lo, c->p->halo.hi, c->p->l->m->grid.rank));
}

/* Bytes of the rows of memory and of rings that a tile reads again later, for each cell of a row or plane. */
static double kept_of_cell(const Mapping *p) {
  const Launch *l = p->l;
  int64_t sum = 0, rows = walk_rows(l);
  for (int f = 0; f < l->m->nfields; f++)
    for (int v = 0; v <= launch_use(l, f)->versions; v++)
      if (v == 0 ? launch_use(l, f)->loaded
                 : p->kept[f][v].used && (v < launch_use(l, f)->versions || p->kept[f][v].rows))
        sum += ((v ? rows : 1) + p->kept[f][v].rows) * type_size(l->m->fields[f].type);
  return (double)sum;
}

/* The same bytes of the whole tile. */
static double kept_bytes(const CpuStreamCost *c) {
  int rank = c->p->l->m->grid.rank, x = rank - 1;
  double plane = c->s->size[x] > 0 ? fmin((double)c->s->block[x], (double)c->s->size[x]) : (double)c->s->block[x];
  return c->w->kept * (rank > 2 ? plane * c->s->block[1] : plane);
}

/* Bytes a point that the instances of `l` read in other rows. */
static double apart_bytes(const Launch *l) {
  int64_t bytes = 0;
  for (int f = 0; f < l->m->nfields; f++)
    bytes += (launch_use(l, f)->reach_lo[0] + launch_use(l, f)->reach_hi[0]) * type_size(l->m->fields[f].type);
  return (double)(l->n * bytes);
}

/* Nanoseconds a point that a core waits for rows that its second-level cache has lost. */
static double lost_ns(const CpuStreamCost *c) {
  double share = kept_bytes(c) / (measured.core_cache * (double)c->w->t->shared_bytes),
         kept = measured.core_kept[c->p->l->m->grid.rank - 1];
  return fmin(fmax(share - kept, 0) / measured.core_lost, 1) * c->w->apart * measured.core_byte;
}

/* By what factor all cores take longer than if their tiles were even: the last tiles begin at different times, and a
 * small number of tiles may be no multiple of the cores. */
static double unevenness(const CpuStreamCost *c) {
  double tiles = slices_of_size(c->p->l->m->grid.rank, c->s->size);
  for (int d = 0; d < c->p->l->m->grid.rank; d++)
    tiles *= c->s->size[d] > 0 ? c->per[d] * (double)c->s->size[d] : INFINITY;
  if (isinf(tiles))
    return 1;
  double cores = c->w->t->cores;
  return fmax(ceil(tiles / cores) * cores / tiles, 1 + (cores > 1 ? measured.core_last_tile * cores / tiles : 0));
}

CpuStreamParts cpu_stream_parts(const TargetInfo *t, const Mapping *p) {
  const Launch *l = p->l;
  CpuStreamParts w = {.t = t, .p = p, .lines = walk_lines(l), .ns = ARENA_ARRAY(l->m->arena, double, l->n)};
  for (int i = 0; i < l->n; i++)
    w.ns[i] = instance_ns(t, l->m, &l->st[i]);
  w.longest = longest_ns(t, l->m, l->n, l->st);
  w.kept = kept_of_cell(p);
  w.apart = apart_bytes(l);
  return w;
}

double cpu_stream_ns(const CpuStreamParts *w, const Schedule *s, bool sized) {
  const Mapping *p = w->p;
  CpuStreamCost c = {w, p, s, {0}};
  for (int d = 0; d < p->l->m->grid.rank; d++) {
    double width = (double)tile_dim(p, s, d).stored, size = (double)s->size[d];
    if (width < 1)
      return INFINITY;
    c.per[d] = size > 0 ? ceil(size / width) / size : 1 / width;
  }
  double memory = exposed_ns(w->t, p->l->m, sized ? s->size : NULL, memory_bytes(&c), w->longest);
  return (compute_ns(&c) + memory + lost_ns(&c)) * unevenness(&c) / p->l->steps;
}

/* ---- plain loops */

bool loops_hide_memory(const TargetInfo *t, const Launch *step) {
  return exposed_ns(t, step->m, NULL, cpu_moved_bytes(step, 1), longest_ns(t, step->m, step->n, step->st)) <= 0;
}

/* Nanoseconds a point of a launch of plain loops. Thin pieces have so few points that they are not counted. */
static double plain_ns(const TargetInfo *t, Launch *l, const int64_t *size) {
  double sum = 0;
  launch_copy_back(l);
  for (int i = 0; i < l->n && !l->thin; i++)
    sum += instance_ns(t, l->m, &l->st[i]);
  return l->thin ? 0 : sum + exposed_ns(t, l->m, size, cpu_moved_bytes(l, 1), longest_ns(t, l->m, l->n, l->st));
}

double loops_apart_ns(const TargetInfo *t, const Module *m, const int64_t *size, int first, int end) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  double apart = 0;
  for (int i = first; i < end; i++) {
    if (is_history_stencil(m, &st[i]))
      return INFINITY;
    Launch *l = part_launch(m, n, st, i, i + 1);
    apart += l->illegal ? INFINITY : plain_ns(t, l, size);
  }
  return apart;
}

/* The same of all stencils of a step. */
static double apart_ns(const TargetInfo *t, const Module *m, const int64_t *size) {
  int32_t n;
  last_level(m, &n);
  return loops_apart_ns(t, m, size, 0, n);
}

/* The same of the step as one launch, in tiles. */
static double whole_ns(const TargetInfo *t, const Module *m, const int64_t *size) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  Launch *whole = part_launch(m, n, st, 0, n);
  return whole->illegal ? INFINITY : plain_ns(t, whole, size);
}

bool loops_are_better_apart(const TargetInfo *t, const Module *m) {
  int32_t n;
  double apart = apart_ns(t, m, NULL);
  last_level(m, &n);
  return n > 1 && isfinite(apart) && apart < whole_ns(t, m, NULL);
}

double loops_ns(const TargetInfo *t, const Module *m, const int64_t *size, bool *apart) {
  double each = apart_ns(t, m, size);
  *apart = isfinite(each);
  return *apart ? each : whole_ns(t, m, size);
}
