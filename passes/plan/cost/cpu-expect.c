/* cpu-expect.c: the expected time of a step of a plan on a given CPU, for `stc explain`: for all families, by counting
 * before anything is lowered.
 *
 * A core computes with whole vectors, begins lines of streamed tiles, and moves bytes; these times add up. The caller
 * measures the figures of memory, the caches and the clock; the other numbers were fitted to 36 schedules of seven
 * programs on one core of an AMD EPYC, and to eight programs on 2 and 16 cores of an Intel Xeon (docs/lab/cpu.md).
 * Plans are not chosen by these times, but by those of cpu-stream-cost.c, so that they do not depend on the machine
 * that compiles. */
#include "passes/launch/slices.h"
#include "passes/plan/cost/count.h"
#include "passes/launch/launch.h"
#include "passes/base/tuning.h"

#include <math.h>

/* A question: the CPU, a module, a schedule, a grid; and the result so far. */
typedef struct CpuCost {
  const CpuFigures *cpu;
  const Module *m;
  const Schedule *s;
  const Const *scalars;
  const int64_t *size;
  CpuTime *out;
} CpuCost;

/* The part of the grid's points that `box` has. */
static double share_of(const CpuCost *c, const Box *box) {
  Field part = {.name = "part", .box = *box}, whole = {.name = "grid", .box = c->m->grid};
  int64_t shape[MAX_RANK];
  double all = (double)field_shape(&whole, c->scalars, shape);
  return all > 0 ? fmax(0, (double)field_shape(&part, c->scalars, shape)) / all : 0;
}

/* Adds the time of `additions` additions of numbers of type `t`. */
static void add_arithmetic(const CpuCost *c, double additions, Type t) {
  double lanes = (double)c->cpu->bits / (8 * fmax(4, type_size(t)));
  c->out->additions += additions;
  c->out->arithmetic += additions * measured.expect_addition / c->cpu->clock / lanes;
}

/* The number of tiles for each point in dimension `d` under mapping `p`. */
static double tiles_a_point(const CpuCost *c, const Mapping *p, const Schedule *s, int d) {
  double width = fmax(1, (double)tile_dim(p, s, d).stored), size = (double)c->size[d];
  return ceil(size / width) / size;
}

/* Adds the bytes that launch `l` keeps in memory beside the fields: a second copy of those that it does not overwrite,
 * and temp fields. */
static void add_copies(const CpuCost *c, const Launch *l) {
  double points = slices_of_size(c->m->grid.rank, c->size);
  for (int d = 0; d < c->m->grid.rank; d++)
    points *= (double)c->size[d];
  for (int f = 0; f < c->m->nfields; f++)
    if (launch_use(l, f)->stored && (launch_use(l, f)->paired ? launch_use(l, f)->into < 0 : c->m->fields[f].temp))
      c->out->fields += points * share_of(c, &c->m->fields[f].box) * (double)type_size(c->m->fields[f].type);
}

/* Adds a launch in tiles of schedule `s`. */
static void add_tiled(const CpuCost *c, const Launch *l, const Schedule *s) {
  int rank = c->m->grid.rank;
  bool streamed = family_row(s->family)->streamed;
  const Mapping *p = streamed ? stream_alone(l) : BLOCKED_TILE(l);
  double halo = 1;
  for (int d = 0; d < rank; d++)
    halo *= 1 + (double)(l->hull.lo[d] + l->hull.hi[d]) * tiles_a_point(c, p, s, d);
  for (int i = 0; i < l->n; i++) {
    const Stencil *st = &l->st[i];
    double cells = 1, rows = 1;
    for (int d = 0; d < rank; d++) {
      cells *= 1 + (double)(st->extent.lo[d] + st->extent.hi[d]) * tiles_a_point(c, p, s, d);
      rows = d < rank - 1 ? cells : rows;
    }
    if (!stencil_is_thin(c->m, st))
      add_arithmetic(c, cells * cpu_body_additions(c->m, main_piece(c->m->arena, st)->body) / l->steps,
                     c->m->fields[st->targets[0]].type);
    if (streamed)
      c->out->lines += rows * tiles_a_point(c, p, s, rank - 1) * measured.expect_line / walk_lines(l) / l->steps;
  }
  c->out->bytes += cpu_moved_bytes(l, halo) / l->steps;
  add_copies(c, l);
}

/* Adds a launch of plain loops. Thin pieces have so few points that they are not counted. */
static void add_plain(const CpuCost *c, Launch *l) {
  launch_copy_back(l);
  if (l->thin)
    return;
  for (int i = 0; i < l->n; i++)
    add_arithmetic(c, cpu_body_additions(c->m, main_piece(c->m->arena, &l->st[i])->body),
                   c->m->fields[l->st[i].targets[0]].type);
  c->out->bytes += cpu_moved_bytes(l, 1);
  add_copies(c, l);
}

/* Adds reduction `r`; if it is not evaluated at each step, that part of its time. */
static void add_reduction(const CpuCost *c, const Reduction *r) {
  double part = share_of(c, &r->over) / (double)r->every;
  bool *read = ARENA_ARRAY(c->m->arena, bool, c->m->nfields + 1);
  add_arithmetic(c, part * (1 + cpu_body_additions(c->m, r->body)), r->type);
  for (const Op *op = r->body->first; op; op = op->next)
    if (op->code == OP_ACCESS && !read[op->sym]) {
      read[op->sym] = true;
      c->out->bytes += part * (double)type_size(c->m->fields[op->sym].type);
    }
}

/* Adds the launches of the step. */
static void add_launches(const CpuCost *c) {
  int32_t n;
  int count;
  const Module *m = c->m;
  const Stencil *st = last_level(m, &n);
  bool tiled = family_row(c->s->family)->tiled;
  if (tiled && m->time_tile > 1) {
    add_tiled(c, launch_new(m, m->nstencils, m->stencils, m->stencils, m->stencils + m->nstencils), c->s);
    return;
  }
  Launch **l = tiled ? group_launches(m, n, st, &count) : naive_launches(m, n, st, &count);
  for (int i = 0; i < count; i++)
    if (tiled)
      add_tiled(c, l[i], c->s->groups && c->s->ngroups == count ? &c->s->groups[i] : c->s);
    else
      add_plain(c, l[i]);
}

CpuTime cpu_expect(const CpuFigures *cpu, const Module *m, const Schedule *s, const Const *scalars,
                   const int64_t *size) {
  CpuTime t = {0};
  CpuCost c = {cpu, m, s, scalars, size, &t};
  double points = slices_of_size(m->grid.rank, size);
  for (int d = 0; d < m->grid.rank; d++)
    points *= (double)size[d];
  add_launches(&c);
  for (int i = 0; i < m->nreductions; i++)
    add_reduction(&c, &m->reductions[i]);
  for (int f = 0; f < m->nfields; f++)
    if (!m->fields[f].temp)
      t.fields += points * share_of(&c, &m->fields[f].box) * (double)type_size(m->fields[f].type);
  t.cached = cpu->cache > 0 && t.fields < measured.expect_cached * cpu->cache;
  t.arithmetic /= cpu->cores;
  t.lines /= cpu->cores;
  t.memory = t.cached && cpu->cached > 0
                 ? t.bytes / cpu->cached
                 : t.bytes / (measured.expect_memory * fmin(cpu->bandwidth, cpu->cores * cpu->core_bandwidth));
  return t;
}
