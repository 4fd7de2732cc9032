/* fuse-cost.c: the expected cost of a launch: from the target's figures, the accesses, and the live ranges of values in
 * the bodies. All of it is an estimate that has to put cuts in the right order, not to tell times.
 *
 *     // fuse: group 1 st+dt: 63 registers, 0 shared bytes, halo work 1.00, 33.6 bytes/point, 1235 ops/point,
 *     //   occupancy 0.50, 46.04 ps/point
 *     // fuse: the step in 3 launches: 72.56 ps/point
 *     // fuse: the step in one launch, T=1: 128 registers, 115 spilled, 67104 shared bytes, ..., 240.86 ps/point
 *
 * - registers: two thirds of the greatest number of words that are live at once in a body, or one for each load; half
 *   as much again for values that a thread loads ahead for each further element, less those that its elements share;
 *   and the values that it keeps for each element from one stencil to the next. The factors fit the registers that
 *   `ptxas` 13.0 gives the kernels of the examples for sm_90, mostly within a quarter. Values for which a block of so
 *   many threads has no registers are spilled, and cost operations. Shared bytes: equation 3, where arrays that are
 *   never live at once share memory.
 * - halo work: points computed for each point stored. ops: operations of the bodies, each as many as additions take its
 *   time, loads and barriers, all times the halo work.
 * - bytes: loads and stores of global memory, including those for the halo; a cache serves most of the latter.
 * - occupancy: the part of a core's threads for which registers, shared memory and the block's size leave room. Below
 *   0.4 it slows memory down, below 0.25 arithmetic.
 * - ps/point (not the cost model (docs/performance.md) of `stc explain`, which needs finished kernels): the longer of
 *   memory and arithmetic plus a quarter of the other, with the target's `bandwidth`, `cache_bandwidth`, `f32_rate` and
 *   `f64_rate`, plus `launch_us` spread over the grid's points.
 *
 * *Tiles*. The tile of a group that is not the whole step is searched by the same estimate, over some shapes of blocks
 * and up to 4 elements a thread and dimension. Once the cut is made, the tile of each of its launches is chosen again,
 * among more shapes of blocks with up to 4 elements a thread, by counting its work (`tile_suit_part`,
 * `model_part_launch`), for the grid's size if that is known. A block of one time step loads, computes and ends, and
 * only other blocks hide that it does not load while it computes: so loads, and instructions that wait for them, take
 * `part_begun / n` longer if a core has n blocks at once. Small blocks are best, then; but no more of them are started
 * than one each `block_start` cycles, so that blocks of few threads have several elements.
 *
 * *Room for one block more*. The registers are those above. If few warps, because of their registers, wait for chains
 * of roots and quotients in f64, and room for one block more takes few registers away, the kernel asks for that room
 * (`core` in kernel IR, `.minnctapersm` in PTX; `part_blocks_a_core`). See
 * docs/lab/programs.md#tiles-of-launches-of-one-step-2026-11-23. */
#include "passes/plan/cost/estimate.h"
#include "passes/plan/cost/fuse.h"
#include "passes/tile/mapping.h"
#include "passes/base/tuning.h"

#include <math.h>
#include <string.h>

/* ---- operations */

/* The cost of an op in f32 additions. */
static double op_ops(const TargetInfo *t, const Op *op) {
  Type type = op->nresults ? op->results[0]->type : TY_NONE;
  double ops = op_additions(op), f64 = t->f64_rate > 0 ? t->f32_rate / t->f64_rate : 1;
  if (type == TY_F64)
    return ops * f64 * (ops > 1 ? measured.function_f64 : 1);
  return type == TY_I64 ? ops * 2 : ops;
}

/* The operations of the largest piece of `st`, rare ones left out, each in as many f32 additions as take its time. */
static double stencil_ops(const TargetInfo *t, const Stencil *st, const bool *rare) {
  double most = 0;
  for (int k = 0; k < st->npieces; k++) {
    if (rare[k])
      continue;
    double sum = 0;
    for (const Op *op = st->pieces[k].body->first; op; op = op->next)
      sum += op_is_of_scalars(op) ? 0 : op_ops(t, op);
    most = sum > most ? sum : most;
  }
  return most;
}

/* ---- registers */

/* Words that a thread keeps from one instance to the next for each of its elements: the newest values of the fields
 * written, and loaded values that are kept. */
static int32_t kept_words(const Launch *l) {
  int32_t words = 0;
  for (int f = 0; f < l->m->nfields; f++)
    if ((launch_use(l, f)->versions || launch_use(l, f)->own_loads > 1) && !is_rare_field(l->m, f))
      words += type_words(l->m->fields[f].type);
  return words;
}

/* The part of a core's threads that it can hold at once. */
static double occupancy_of(const TargetInfo *t, const LaunchCost *k) {
  Occupancy o = model_occupancy(t, schedule_threads(&k->schedule), k->registers, k->shared);
  return (double)o.warps / (o.most_warps > 0 ? o.most_warps : 1);
}

/* ---- accesses */

/* How far the accesses of a launch to global memory reach in each field. */
typedef struct Reach {
  int64_t lo[MAX_RANK], hi[MAX_RANK];
} Reach;

/* A load of `words` words that an instance makes at `off`. nearest: along each dimension, the distance to the nearest
 * load of the same line that was counted before; INT64_MAX: there is none. */
typedef struct Seen {
  int32_t field, words;
  int64_t off[MAX_RANK], nearest[MAX_RANK];
} Seen;

/* The work of an instance for a point, whatever the tile: its loads, the words of all of them, its operations, and the
 * words of its values that are live at once. */
typedef struct Reads {
  int32_t nseen, live;
  Seen *seen;
  double alone, ops;
} Reads;

struct LaunchReads {
  const TargetInfo *t;
  const Launch *l;
  Reads *of;    /* [instance] */
  Reach *reach; /* [field] */
};

/* Instance `i`, whose accesses are counted. */
typedef struct Counting {
  LaunchReads *r;
  int i;
  const bool *rare;
} Counting;

/* Along dimension `d`, the distance to the nearest load of `x` that is of the line of load `own`. */
static int64_t nearest_of_line(const Reads *x, int rank, const Seen *own, int d) {
  int64_t nearest = INT64_MAX;
  for (int k = 0; k < x->nseen; k++) {
    bool line = x->seen[k].field == own->field;
    for (int e = 0; e < rank; e++)
      line = line && (e == d || x->seen[k].off[e] == own->off[e]);
    int64_t away = line ? x->seen[k].off[d] - own->off[d] : 0;
    away = away < 0 ? -away : away;
    nearest = line && away < nearest ? away : nearest;
  }
  return nearest;
}

/* Adds load `own`, unless it is known. */
static void add_seen(const Launch *l, Reads *x, Seen own) {
  for (int k = 0; k < x->nseen; k++)
    if (x->seen[k].field == own.field && memcmp(x->seen[k].off, own.off, sizeof own.off) == 0)
      return;
  for (int d = 0; d < l->m->grid.rank - 1; d++)
    own.nearest[d] = nearest_of_line(x, l->m->grid.rank, &own, d);
  ARENA_PUSH(l->m->arena, x->seen, x->nseen, own);
  x->alone++;
}

/* Counts one access (a stencil_accesses callback). */
static void count_access(void *user, const Piece *piece, int field, const int64_t *off) {
  Counting *x = user;
  const Launch *l = x->r->l;
  Seen own = {.field = field, .words = type_words(l->m->fields[field].type)};
  int rank = l->m->grid.rank, v = launch_version(l, field, x->i);
  bool self = true;
  if (x->rare[piece - l->st[x->i].pieces])
    return;
  for (int d = 0; d < rank; d++) {
    own.off[d] = off[d];
    self = self && off[d] == 0;
  }
  if (v == 0 && !launch_use(l, field)->fresh) {
    Reach *r = &x->r->reach[field];
    for (int d = 0; d < rank; d++) {
      r->lo[d] = -off[d] > r->lo[d] ? -off[d] : r->lo[d];
      r->hi[d] = off[d] > r->hi[d] ? off[d] : r->hi[d];
    }
  }
  if (!self || v == 0)
    add_seen(l, &x->r->of[x->i], own);
}

/* Two instances of a launch with the same pieces. same: their reads of global memory are the same so far. */
typedef struct Twins {
  const Launch *l;
  int i, j;
  bool same;
} Twins;

/* Compares the places from which the two read a field (a stencil_accesses callback). */
static void compare_access(void *user, const Piece *piece, int field, const int64_t *off) {
  Twins *x = user;
  (void)piece, (void)off;
  x->same = x->same && (launch_version(x->l, field, x->i) == 0) == (launch_version(x->l, field, x->j) == 0);
}

/* Do instances `i` and `j` have the same reads: the same pieces, which read the same fields from global memory? */
static bool same_reads(const Launch *l, int i, int j) {
  Twins x = {l, i, j, j >= 0 && l->st[i].pieces == l->st[j].pieces && l->st[i].npieces == l->st[j].npieces};
  if (x.same)
    stencil_accesses(&l->st[i], compare_access, &x);
  return x.same;
}

/* Counts the work of instance `i`. */
static void count_instance(LaunchReads *r, int i) {
  const Stencil *st = &r->l->st[i];
  const bool *rare = rare_pieces(r->l->m, st);
  Counting x = {r, i, rare};
  Reads *of = &r->of[i];
  stencil_accesses(st, count_access, &x);
  of->ops = stencil_ops(r->t, st, rare);
  for (int k = 0; k < st->npieces && r->t->simt; k++) {
    if (rare[k])
      continue;
    int32_t live = body_live_words(r->l->m->arena, st->pieces[k].body);
    of->live = live > of->live ? live : of->live;
  }
}

LaunchReads *launch_reads_all(const TargetInfo *t, const Launch *l) {
  LaunchReads *r = ARENA_NEW(l->m->arena, LaunchReads);
  int levels = l->n ? l->st[l->n - 1].level - l->st[0].level + 1 : 1;
  *r = (LaunchReads){.t = t,
                     .l = l,
                     .of = ARENA_ARRAY(l->m->arena, Reads, l->n + 1),
                     .reach = ARENA_ARRAY(l->m->arena, Reach, l->m->nfields + 1)};
  for (int i = 0; i < l->n; i++) {
    int before = levels > 1 ? i - l->n / levels : -1;
    if (same_reads(l, i, before))
      r->of[i] = r->of[before];
    else
      count_instance(r, i);
  }
  return r;
}

/* The work of an instance of a launch for a point: the words that it loads, without those that another of the thread's
 * elements loads (`alone`: all), its operations, and the words of its values that are live at once. */
typedef struct Figures {
  double loads, alone, ops;
  int32_t live;
} Figures;

/* The part of load `own` that no other of a thread's elements of tile `s` loads already: along a slow dimension, loads
 * below the first element, and all other loads if nothing of the same row was seen. */
static double new_part(int rank, const Schedule *s, const Seen *own) {
  double part = 1;
  for (int d = 0; d < rank - 1; d++)
    if (own->nearest[d] < s->elems[d])
      part *= (double)own->nearest[d] / (double)s->elems[d];
  return part;
}

/* The figures of all instances in tiles `s`. */
static const Figures *all_figures(const LaunchReads *r, const Schedule *s) {
  int n = r->l->n, rank = r->l->m->grid.rank;
  Figures *g = ARENA_ARRAY(r->l->m->arena, Figures, n + 1);
  for (int i = 0; i < n; i++) {
    const Reads *of = &r->of[i];
    g[i] = (Figures){.alone = of->alone, .ops = of->ops, .live = of->live};
    for (int k = 0; k < of->nseen; k++)
      g[i].loads += new_part(rank, s, &of->seen[k]) * of->seen[k].words;
  }
  return g;
}

/* Points that instance `i` computes for each point stored. */
static double instance_halo(const TargetInfo *t, const Launch *l, const Schedule *s, int i) {
  double product = 1;
  if (t->simt)
    return tile_redundancy(BLOCKED_TILE(l), s);
  for (int d = 0; d < l->m->grid.rank; d++) {
    double width = (double)launch_width(l, d, (int64_t)s->block[d] * s->elems[d]);
    product *= (width + (double)(l->st[i].extent.lo[d] + l->st[i].extent.hi[d])) / (width > 1 ? width : 1);
  }
  return product;
}

/* Operations for each point stored. */
static double launch_ops(const TargetInfo *t, const Launch *l, const Schedule *s, const Figures *g) {
  double sum = t->simt ? measured.part_cell * tile_redundancy(BLOCKED_TILE(l), s) : 0;
  for (int i = 0; i < l->n; i++) {
    double words = g[i].loads;
    bool near = false;
    for (int k = 0; k < l->st[i].ntargets; k++) {
      int f = l->st[i].targets[k];
      near = near || launch_use(l, f)->near[launch_version(l, f, i + 1)] >= 0;
      words += type_words(l->m->fields[f].type);
    }
    double load_ops = t->simt ? measured.part_load : 1;
    sum += instance_halo(t, l, s, i) * (g[i].ops + load_ops * words + (near && t->simt ? measured.part_barrier : 0));
  }
  return sum;
}

/* The registers that an instance of figures `g` would take in a thread of `elements` points, beside those of kept
 * values: for its first point's values, or all loads of which these are computed, and for values that are loaded ahead
 * for the other points. */
static double instance_registers(const Figures *g, int64_t elements) {
  double live = measured.live_part * g->live, first = live > g->alone ? live : g->alone;
  return first + measured.loaded_ahead * g->loads * (double)(elements - 1);
}

/* Sets the registers of a thread of `elements` points, at most as many as a block can have, and the words that are
 * spilled because there are no more. */
static void thread_registers(const TargetInfo *t, const Launch *l, const Schedule *s, const Figures *g,
                             int64_t elements, LaunchCost *k) {
  double most = 0;
  int64_t threads = schedule_threads(s), limit = MOST_REGISTERS, base = (int64_t)measured.part_registers;
  for (int i = 0; i < l->n; i++) {
    double mine = instance_registers(&g[i], elements);
    most = mine > most ? mine : most;
  }
  if (t->registers_per_core > 0 && t->registers_per_core / threads < limit)
    limit = t->registers_per_core / threads > base ? t->registers_per_core / threads : base;
  int64_t sum = base + (int64_t)most + (l->n > 1 ? (int64_t)kept_words(l) * elements : 0);
  k->registers = (int32_t)(sum < limit ? sum : limit);
  k->spilled = (int32_t)(sum - k->registers);
}

/* Adds the bytes of the fields that are loaded and stored for each point stored. */
static void add_bytes(const Launch *l, const Schedule *s, const Reach *reach, LaunchCost *k) {
  for (int f = 0; f < l->m->nfields; f++) {
    double size = type_size(l->m->fields[f].type), about = 1;
    if (!launch_use(l, f)->loaded && !launch_use(l, f)->stored)
      continue;
    for (int d = 0; d < l->m->grid.rank; d++) {
      double cells = (double)s->block[d] * s->elems[d],
             width = (double)launch_width(l, d, (int64_t)s->block[d] * s->elems[d]);
      about *= (cells + (double)(reach[f].lo[d] + reach[f].hi[d])) / (width > 1 ? width : 1);
    }
    if (launch_use(l, f)->loaded) {
      k->bytes += size * about;
      k->memory_bytes += size * (1 + measured.halo_missed * (about - 1));
    }
    if (launch_use(l, f)->stored) {
      k->bytes += size;
      k->memory_bytes += size;
    }
  }
}

/* ---- time */

/* The part of the target's speed that a launch has at `occupancy`; with `enough` its threads hide each other's
 * waits. */
static double hidden(double occupancy, double enough) { return occupancy >= enough ? 1 : sqrt(occupancy / enough); }

/* See launch_cost; takes memory for its work. */
/* Picoseconds that `x` takes at `rate` in 1e9 a second; a rate that is not known is no bound. */
static double taken(double x, double rate) { return rate > 0 ? x / rate * 1e3 : 0; }

static LaunchCost cost_of(const LaunchReads *r, const Schedule *s, int levels, double points) {
  const TargetInfo *t = r->t;
  const Launch *l = r->l;
  LaunchCost k = {.schedule = *s, .halo = tile_redundancy(BLOCKED_TILE(l), s), .occupancy = 1};
  int32_t cells[MAX_RANK];
  int64_t elements = 1;
  for (int d = 0; d < GRID_RANK; d++) {
    cells[d] = s->block[d] * s->elems[d];
    elements *= s->elems[d] > 0 ? s->elems[d] : 1;
  }
  k.shared = launch_array_bytes(l, cells);
  const Figures *g = all_figures(r, s);
  k.ops = launch_ops(t, l, s, g);
  add_bytes(l, s, r->reach, &k);
  if (t->simt) {
    thread_registers(t, l, s, g, elements, &k);
    k.ops += measured.part_spill * k.spilled * k.halo / (double)elements;
    k.occupancy = occupancy_of(t, &k);
  }
  double memory = taken(k.memory_bytes, t->bandwidth), nearer = taken(k.bytes, t->cache_bandwidth),
         work = taken(k.ops, t->f32_rate);
  memory = (nearer > memory ? nearer : memory) / hidden(k.occupancy, measured.part_hides_memory);
  work /= hidden(k.occupancy, measured.part_hides_work);
  k.ops /= levels;
  k.bytes /= levels;
  k.memory_bytes /= levels;
  k.ps = (fmax(memory, work) + measured.part_beside * fmin(memory, work)) / levels +
         t->launch_us * 1e6 / (points > 1 ? points : 1) / levels;
  return k;
}

LaunchCost reads_cost(const LaunchReads *r, const Schedule *s, int levels, double points) {
  ArenaMark mark = arena_mark(r->l->m->arena);
  LaunchCost k = cost_of(r, s, levels, points);
  arena_release(r->l->m->arena, mark);
  return k;
}

LaunchCost launch_cost(const TargetInfo *t, const Launch *l, const Schedule *s, int levels, double points) {
  ArenaMark mark = arena_mark(l->m->arena);
  LaunchCost k = cost_of(launch_reads_all(t, l), s, levels, points);
  arena_release(l->m->arena, mark);
  return k;
}
