/* fuse-cost.c: what a launch is expected to cost: from the target's figures, the accesses, and the liveness of values
 * in the bodies. All of it is an estimate that
 * has to put cuts in the right order, not to tell times. */
#include "passes/plan/estimate.h"
#include "passes/plan/fuse.h"
#include "passes/plan/schedule.h"
#include "passes/plan/tuning.h"

#include <math.h>

/* Registers that a thread can have at most. */
enum { MOST_REGISTERS = 255 };

/* What a target that does not tell its figures is taken for. */
static const double BANDWIDTH = 1000, RATE = 10000;

/* ---- operations */

/* What an op takes, in f32 additions. */
static double op_ops(const TargetInfo *t, const Op *op) {
  Type type = op->nresults ? op->results[0]->type : TY_NONE;
  double ops = op_additions(op), f64 = t->f64_rate > 0 ? t->f32_rate / t->f64_rate : 2;
  if (type == TY_F64)
    return ops * f64 * (ops > 1 ? 2 : 1);
  return type == TY_I64 ? ops * 2 : ops;
}

/* The operations of the largest piece of `st`, each as many f32 additions as take its time. */
static double stencil_ops(const TargetInfo *t, const Stencil *st) {
  double most = 0;
  for (int k = 0; k < st->npieces; k++) {
    double sum = 0;
    for (const Op *op = st->pieces[k].body->first; op; op = op->next)
      sum += op_ops(t, op);
    most = sum > most ? sum : most;
  }
  return most;
}

/* ---- registers */

/* Words a thread keeps from one instance to the next for each of its elements: the newest values of the fields written,
 * and what was loaded to be kept. */
static int32_t kept_words(const Launch *l) {
  int32_t words = 0;
  for (int f = 0; f < l->m->nfields; f++)
    if (l->use[f].versions || l->use[f].own_loads > 1)
      words += type_words(l->m->fields[f].type);
  return words;
}

/* The part of a core's threads that can be there at once. */
static double occupancy_of(const TargetInfo *t, const LaunchCost *k) {
  int64_t threads = 1;
  for (int d = 0; d < MAX_RANK; d++)
    threads *= k->schedule.block[d] > 0 ? k->schedule.block[d] : 1;
  Occupancy o = model_occupancy(t, threads, k->registers, k->shared);
  return (double)o.warps / (o.most_warps > 0 ? o.most_warps : 1);
}

/* ---- accesses */

/* How far the accesses of a launch to global memory lead in each field. */
typedef struct Reach {
  int64_t lo[MAX_RANK], hi[MAX_RANK];
  bool any;
} Reach;

/* What instance `i` of a launch takes for a point, whatever the block: the words that it loads, those aside that
 * another of the thread's elements loads (`alone`: all), its operations, and the words of its values that are alive at
 * once. */
typedef struct Figures {
  double loads, alone, ops;
  int32_t live;
} Figures;

/* The count of the accesses of instance `i` under schedule `s`: seen are those that were counted. */
typedef struct Seen {
  int32_t field;
  int64_t off[MAX_RANK];
} Seen;
typedef struct Loads {
  const Launch *l;
  const Schedule *s;
  int i;
  Reach *reach;
  double loads, alone;
  int32_t nseen;
  Seen *seen;
} Loads;

/* Was the access counted for this instance? Counts it. */
static bool is_seen(Loads *x, int field, const int64_t *off) {
  Seen s = {.field = field};
  for (int d = 0; d < x->l->m->grid.rank; d++)
    s.off[d] = off[d];
  for (int k = 0; k < x->nseen; k++) {
    bool same = x->seen[k].field == field;
    for (int d = 0; d < MAX_RANK; d++)
      same = same && x->seen[k].off[d] == s.off[d];
    if (same)
      return true;
  }
  ARENA_PUSH(x->l->m->arena, x->seen, x->nseen, s);
  return false;
}

/* The part of the loads at `off` that another of the thread's elements does not load already: those that lead below its
 * first element along a slow dimension do, and the others if nothing of the same row was seen. */
static double new_part(const Loads *x, int field, const int64_t *off) {
  double part = 1;
  for (int d = 0; d < x->l->m->grid.rank - 1; d++) {
    int64_t nearest = INT64_MAX;
    for (int k = 0; k < x->nseen - 1; k++) {
      bool row = x->seen[k].field == field;
      for (int e = 0; e < x->l->m->grid.rank; e++)
        row = row && (e == d || x->seen[k].off[e] == off[e]);
      int64_t away = row ? x->seen[k].off[d] - off[d] : 0;
      away = away < 0 ? -away : away;
      nearest = row && away < nearest ? away : nearest;
    }
    if (nearest < x->s->elems[d])
      part *= (double)nearest / (double)x->s->elems[d];
  }
  return part;
}

/* Counts one access (a stencil_accesses callback). */
static void count_access(void *user, const Piece *piece, int field, const int64_t *off) {
  Loads *x = user;
  const Launch *l = x->l;
  int rank = l->m->grid.rank, v = launch_version(l, field, x->i);
  bool own = true;
  (void)piece;
  for (int d = 0; d < rank; d++)
    own = own && off[d] == 0;
  if (v == 0 && !l->use[field].fresh) {
    Reach *r = &x->reach[field];
    r->any = true;
    for (int d = 0; d < rank; d++) {
      r->lo[d] = -off[d] > r->lo[d] ? -off[d] : r->lo[d];
      r->hi[d] = off[d] > r->hi[d] ? off[d] : r->hi[d];
    }
  }
  if ((own && v > 0) || is_seen(x, field, off))
    return;
  x->loads += new_part(x, field, off) * type_words(l->m->fields[field].type);
  x->alone += type_words(l->m->fields[field].type);
}

/* Two instances of a launch with the same pieces. same: what they have read so far of global memory is the same. */
typedef struct Twins {
  const Launch *l;
  int i, j;
  bool same;
} Twins;

/* Compares where the two read a field from (a stencil_accesses callback). */
static void compare_access(void *user, const Piece *piece, int field, const int64_t *off) {
  Twins *x = user;
  (void)piece, (void)off;
  x->same = x->same && (launch_version(x->l, field, x->i) == 0) == (launch_version(x->l, field, x->j) == 0);
}

/* Are the figures of instances `i` and `j` the same: have they the same pieces, which read the same fields from global
 * memory? */
static bool same_figures(const Launch *l, int i, int j) {
  Twins x = {l, i, j, j >= 0 && l->st[i].pieces == l->st[j].pieces && l->st[i].npieces == l->st[j].npieces};
  if (x.same)
    stencil_accesses(&l->st[i], compare_access, &x);
  return x.same;
}

/* The figures of instance `i`; accesses to global memory are noted in `reach`. */
static Figures figures_of(const TargetInfo *t, const Launch *l, const Schedule *s, int i, Reach *reach) {
  Loads x = {.l = l, .s = s, .i = i, .reach = reach};
  stencil_accesses(&l->st[i], count_access, &x);
  Figures g = {.loads = x.loads, .alone = x.alone, .ops = stencil_ops(t, &l->st[i])};
  for (int k = 0; k < l->st[i].npieces && t->simt; k++) {
    int32_t live = body_live_words(l->m->arena, l->st[i].pieces[k].body);
    g.live = live > g.live ? live : g.live;
  }
  return g;
}

/* Those of all instances. One whose level before is alike has the same. */
static const Figures *all_figures(const TargetInfo *t, const Launch *l, const Schedule *s, Reach *reach) {
  Figures *g = ARENA_ARRAY(l->m->arena, Figures, l->n + 1);
  int levels = l->n ? l->st[l->n - 1].level - l->st[0].level + 1 : 1;
  for (int i = 0; i < l->n; i++) {
    int before = levels > 1 ? i - l->n / levels : -1;
    g[i] = same_figures(l, i, before) ? g[before] : figures_of(t, l, s, i, reach);
  }
  return g;
}

/* Points that instance `i` computes for each point given out. */
static double instance_halo(const TargetInfo *t, const Launch *l, const Schedule *s, int i) {
  double product = 1;
  if (t->simt)
    return launch_redundancy(l, s);
  for (int d = 0; d < l->m->grid.rank; d++) {
    double width = (double)launch_width(l, d, (int64_t)s->block[d] * s->elems[d]);
    product *= (width + (double)(l->st[i].extent.lo[d] + l->st[i].extent.hi[d])) / (width > 1 ? width : 1);
  }
  return product;
}

/* Operations for each point given out. */
static double launch_ops(const TargetInfo *t, const Launch *l, const Schedule *s, const Figures *g) {
  double sum = t->simt ? tuning.part_cell * launch_redundancy(l, s) : 0;
  for (int i = 0; i < l->n; i++) {
    double words = g[i].loads;
    bool near = false;
    for (int k = 0; k < l->st[i].ntargets; k++) {
      int f = l->st[i].targets[k];
      near = near || l->use[f].near[launch_version(l, f, i + 1)] >= 0;
      words += type_words(l->m->fields[f].type);
    }
    double load_ops = t->simt ? tuning.part_load : 1;
    sum += instance_halo(t, l, s, i) * (g[i].ops + load_ops * words + (near && t->simt ? tuning.part_barrier : 0));
  }
  return sum;
}

/* Registers that an instance of figures `g` would like a thread of `elements` points to have, beside what it keeps: its
 * first point's values, or all that these are loaded from, and what is loaded ahead for the others. */
static double instance_registers(const Figures *g, int64_t elements) {
  double live = tuning.live_part * g->live, first = live > g->alone ? live : g->alone;
  return first + tuning.loaded_ahead * g->loads * (double)(elements - 1);
}

/* The registers of a thread of `elements` points, as many as a block can have, and the words that are spilled for want
 * of more. */
static void thread_registers(const TargetInfo *t, const Launch *l, const Schedule *s, const Figures *g,
                             int64_t elements, LaunchCost *k) {
  double most = 0;
  int64_t threads = 1, limit = MOST_REGISTERS, base = (int64_t)tuning.part_registers;
  for (int i = 0; i < l->n; i++) {
    double mine = instance_registers(&g[i], elements);
    most = mine > most ? mine : most;
  }
  for (int d = 0; d < MAX_RANK; d++)
    threads *= s->block[d] > 0 ? s->block[d] : 1;
  if (t->registers_per_core > 0 && t->registers_per_core / threads < limit)
    limit = t->registers_per_core / threads > base ? t->registers_per_core / threads : base;
  int64_t sum = base + (int64_t)most + (l->n > 1 ? (int64_t)kept_words(l) * elements : 0);
  k->registers = (int32_t)(sum < limit ? sum : limit);
  k->spilled = (int32_t)(sum - k->registers);
}

/* Adds the bytes of the fields that are loaded and stored for each point given out. */
static void add_bytes(const Launch *l, const Schedule *s, const Reach *reach, LaunchCost *k) {
  for (int f = 0; f < l->m->nfields; f++) {
    double size = type_size(l->m->fields[f].type), about = 1;
    if (!l->use[f].loaded && !l->use[f].stored)
      continue;
    for (int d = 0; d < l->m->grid.rank; d++) {
      double cells = (double)s->block[d] * s->elems[d],
             width = (double)launch_width(l, d, (int64_t)s->block[d] * s->elems[d]);
      about *= (cells + (double)(reach[f].lo[d] + reach[f].hi[d])) / (width > 1 ? width : 1);
    }
    if (l->use[f].loaded) {
      k->bytes += size * about;
      k->memory_bytes += size * (1 + 0.1 * (about - 1));
    }
    if (l->use[f].stored) {
      k->bytes += size;
      k->memory_bytes += size;
    }
  }
}

/* ---- time */

/* The part of the target's speed that `occupancy` lets a launch have: enough threads hide what each waits for. */
static double hidden(double occupancy, double enough) { return occupancy >= enough ? 1 : sqrt(occupancy / enough); }

/* What launch_cost gives; takes memory for its work. */
static LaunchCost cost_of(const TargetInfo *t, const Launch *l, const Schedule *s, int levels, double points) {
  LaunchCost k = {.schedule = *s, .halo = launch_redundancy(l, s), .occupancy = 1};
  Reach *reach = ARENA_ARRAY(l->m->arena, Reach, l->m->nfields + 1);
  int32_t cells[MAX_RANK];
  int64_t elements = 1;
  for (int d = 0; d < MAX_RANK; d++) {
    cells[d] = s->block[d] * s->elems[d];
    elements *= s->elems[d] > 0 ? s->elems[d] : 1;
  }
  k.shared = launch_array_bytes(l, cells);
  const Figures *g = all_figures(t, l, s, reach);
  k.ops = launch_ops(t, l, s, g);
  add_bytes(l, s, reach, &k);
  if (t->simt) {
    thread_registers(t, l, s, g, elements, &k);
    k.ops += tuning.part_spill * k.spilled * k.halo / (double)elements;
    k.occupancy = occupancy_of(t, &k);
  }
  double bandwidth = t->bandwidth > 0 ? t->bandwidth : BANDWIDTH,
         cache = t->cache_bandwidth > 0 ? t->cache_bandwidth : 3 * bandwidth;
  double rate = t->f32_rate > 0 ? t->f32_rate : RATE;
  double memory = k.memory_bytes / bandwidth * 1e3, nearer = k.bytes / cache * 1e3, work = k.ops / rate * 1e3;
  memory = (nearer > memory ? nearer : memory) / hidden(k.occupancy, 0.4);
  work /= hidden(k.occupancy, 0.25);
  k.ops /= levels;
  k.bytes /= levels;
  k.memory_bytes /= levels;
  k.ps = (memory > work ? memory + work / 4 : work + memory / 4) / levels +
         t->launch_us * 1e6 / (points > 1 ? points : 1) / levels;
  return k;
}

LaunchCost launch_cost(const TargetInfo *t, const Launch *l, const Schedule *s, int levels, double points) {
  ArenaMark mark = arena_mark(l->m->arena);
  LaunchCost k = cost_of(t, l, s, levels, points);
  arena_release(l->m->arena, mark);
  return k;
}
