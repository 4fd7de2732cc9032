/* tile-work.c: what a launch of tiles that overlap does, counted before it is lowered: from the accesses, and the
 * arithmetic and the liveness of the bodies. The model (model.c) is told of it as it is of a finished kernel. Without
 * threads a tile is one, and every instance computes its region alone. */
#include "passes/plan/plan.h"

#include <math.h>
#include <string.h>

/* ---- accesses */

/* What the accesses of a launch come to. reach: how far those from global memory lead in each field. Of the running
 * instance `i`: the accesses that differ; for a cell, those that a thread makes for it, those aside that another of its
 * cells makes, and of these the words from global and from shared memory. */
typedef struct Reach {
  int64_t lo[MAX_RANK], hi[MAX_RANK];
} Reach;
typedef struct Seen {
  int32_t field;
  int64_t off[MAX_RANK];
} Seen;
typedef struct Loads {
  const Launch *l;
  const Schedule *s;
  int i;
  Reach *reach;
  double accesses, global, shared;
  int32_t nseen;
  Seen *seen;
} Loads;

/* Notes access `own` unless it is known. */
static void add_seen(Loads *x, Seen own) {
  for (int k = 0; k < x->nseen; k++)
    if (x->seen[k].field == own.field && memcmp(x->seen[k].off, own.off, sizeof own.off) == 0)
      return;
  ARENA_PUSH(x->l->m->arena, x->seen, x->nseen, own);
}

/* Notes one access (a stencil_accesses callback), and that to the point's own value with it if it is of what an
 * instance made: a thread has that in a register. */
static void note_access(void *user, const Piece *piece, int field, const int64_t *off) {
  Loads *x = user;
  const Launch *l = x->l;
  Seen own = {.field = field};
  (void)piece;
  if (launch_version(l, field, x->i) > 0)
    add_seen(x, own);
  for (int d = 0; d < l->m->grid.rank; d++) {
    Reach *r = &x->reach[field];
    own.off[d] = off[d];
    if (launch_version(l, field, x->i) > 0 || l->use[field].fresh)
      continue;
    r->lo[d] = -off[d] > r->lo[d] ? -off[d] : r->lo[d];
    r->hi[d] = off[d] > r->hi[d] ? off[d] : r->hi[d];
  }
  add_seen(x, own);
}

/* How far the next access of the same line along dimension `d` is below access `own`; INT64_MAX: there is none. */
static int64_t gap_below(const Loads *x, const Seen *own, int d) {
  int64_t nearest = INT64_MAX;
  for (int k = 0; k < x->nseen; k++) {
    const Seen *other = &x->seen[k];
    bool line = other->field == own->field && other->off[d] < own->off[d];
    for (int e = 0; e < x->l->m->grid.rank; e++)
      line = line && (e == d || other->off[e] == own->off[e]);
    if (line && own->off[d] - other->off[d] < nearest)
      nearest = own->off[d] - other->off[d];
  }
  return nearest;
}

/* The part of access `own` by a thread's cells that another of its accesses does not make: along slow dimensions cells
 * lie beside each other. */
static double new_part(const Loads *x, const Seen *own) {
  double part = 1;
  for (int d = 0; d < x->l->m->grid.rank - 1; d++) {
    int64_t gap = gap_below(x, own, d);
    if (gap < x->s->elems[d])
      part *= (double)gap / (double)x->s->elems[d];
  }
  return part;
}

/* Counts the loads of the running instance. */
static void count_loads(Loads *x) {
  stencil_accesses(&x->l->st[x->i], note_access, x);
  for (int k = 0; k < x->nseen; k++) {
    const Seen *own = &x->seen[k];
    bool made = launch_version(x->l, own->field, x->i) > 0, self = made;
    for (int d = 0; d < MAX_RANK; d++)
      self = self && own->off[d] == 0;
    double part = new_part(x, own) - self;
    x->accesses += part;
    *(made ? &x->shared : &x->global) += part * type_words(x->l->m->fields[own->field].type);
  }
}

/* Adds what instance `i` stores of a cell: for its neighbours to shared memory, and what the launch leaves to global.
 * Does another thread read it? */
static bool count_stores(Loads *x) {
  const Launch *l = x->l;
  const Stencil *st = &l->st[x->i];
  bool near = false;
  for (int k = 0; k < st->ntargets; k++) {
    int f = st->targets[k], v = launch_version(l, f, x->i + 1);
    bool last = v == l->use[f].versions && l->use[f].stored, read = l->use[f].near[v] >= 0;
    near |= read;
    x->accesses += read + last;
    x->shared += read ? type_words(l->m->fields[f].type) : 0;
    x->global += last ? type_words(l->m->fields[f].type) : 0;
  }
  return near;
}

/* ---- tiles */

/* A tile of launch `l`: cells of a thread, of a block, and those of these that are given out; threads of a block. */
typedef struct Tile {
  const TargetInfo *t;
  const Launch *l;
  const Schedule *s;
  double cells, all, out;
  int64_t threads;
} Tile;

/* Cells of a tile that instance `i` computes: all; without threads those that are needed. */
static double instance_cells(const Tile *x, int i) {
  double product = 1;
  for (int d = 0; d < x->l->m->grid.rank && !x->t->simt; d++) {
    double width = (double)launch_width(x->l, d, (int64_t)x->s->block[d] * x->s->elems[d]);
    product *= fmax(width, 1) + (double)(x->l->st[i].extent.lo[d] + x->l->st[i].extent.hi[d]);
  }
  return x->t->simt ? x->cells : product;
}

/* Have instances `i` and `j` the same bodies? Those of one stencil have, at all time steps. */
static bool share_bodies(const Launch *l, int i, int j) {
  bool same = l->st[i].npieces == l->st[j].npieces;
  for (int k = 0; k < l->st[i].npieces && same; k++)
    same = l->st[i].pieces[k].body == l->st[j].pieces[k].body;
  return same;
}

/* The first instance that has the bodies of instance `i`. */
static int first_with_bodies(const Launch *l, int i) {
  int first = 0;
  while (first < i && !share_bodies(l, first, i))
    first++;
  return first;
}

/* Adds what a thread does for instance `i` to *w. Its loads are waited for together. points: what a point of the
 * instances before it takes. */
static void add_instance(const Tile *x, int i, Reach *reach, KernelWork *points, KernelWork *w) {
  int r = x->l->m->grid.rank - 1, first = first_with_bodies(x->l, i);
  Loads loads = {.l = x->l, .s = x->s, .i = i, .reach = reach};
  count_loads(&loads);
  w->waits += loads.global > 0;
  w->barriers += count_stores(&loads) ? 1 + (w->barriers > 0) : 0;
  if (first == i)
    stencil_point_work(x->t, x->l->m, &x->l->st[i], &points[i]);
  KernelWork point = points[i] = points[first];
  double cells = instance_cells(x, i), beside = x->t->simt ? tuning.tile_cell[r] : 0;
  w->instructions += cells * (point.instructions + loads.accesses + beside) + (x->t->simt ? tuning.tile_step[r] : 0);
  w->f64 += cells * point.f64;
  w->chained += point.chained;
  w->special += cells * point.special;
  w->shared += cells * loads.shared;
  w->global += cells * loads.global;
}

/* ---- registers */

/* Words a thread keeps from one instance to the next for each of its cells: the newest values of the fields written,
 * and those read. */
static int32_t kept_words(const Launch *l) {
  int32_t words = 0;
  for (int f = 0; f < l->m->nfields; f++)
    if (l->use[f].versions || l->use[f].loaded)
      words += type_words(l->m->fields[f].type);
  return words;
}

/* The words alive in a thread of the tile. */
static RegisterNeed registers_of(const Tile *x) {
  double most = 0, kept = kept_words(x->l);
  for (int i = 0; i < x->l->n; i++)
    for (int k = 0; k < x->l->st[i].npieces && first_with_bodies(x->l, i) == i; k++)
      most = fmax(most, body_live_words(x->l->m->arena, x->l->st[i].pieces[k].body));
  double live = tuning.tile_words[x->l->m->grid.rank - 1] + most +
                (kept + tuning.tile_cell_words[x->l->m->grid.rank - 1]) * x->cells;
  return (RegisterNeed){.live = live, .early = live, .several = x->l->n > 1 || x->cells > 1};
}

/* ---- bytes */

/* Adds the bytes that the launch moves for each point to *memory, and what caches see of them to *cache. */
static void add_bytes(const Tile *x, const Reach *reach, double *memory, double *cache) {
  const Launch *l = x->l;
  for (int f = 0; f < l->m->nfields; f++) {
    double size = type_size(l->m->fields[f].type), about = 1;
    for (int d = 0; d < l->m->grid.rank; d++) {
      double cells = (double)x->s->block[d] * x->s->elems[d], width = (double)launch_width(l, d, (int64_t)cells);
      about *= (cells + (double)(reach[f].lo[d] + reach[f].hi[d])) / (width > 1 ? width : 1);
    }
    *cache += size * (l->use[f].loaded * about + l->use[f].stored);
    *memory += size * (l->use[f].loaded * (1 + tuning.halo_missed * (about - 1)) + l->use[f].stored);
  }
}

/* ---- all of it */

/* What tile_load gives; takes memory for its work. */
static LaunchLoad load_of(const Tile *x, const int64_t *size) {
  const Launch *l = x->l;
  LaunchLoad load = {.points = 1, .blocks = 1};
  Reach *reach = ARENA_ARRAY(l->m->arena, Reach, l->m->nfields + 1);
  KernelWork *points = ARENA_ARRAY(l->m->arena, KernelWork, l->n + 1);
  double memory = 0, cache = 0, inner = 1;
  int32_t cells[MAX_RANK], r = l->m->grid.rank - 1;
  for (int d = 0; d < MAX_RANK; d++)
    cells[d] = x->s->block[d] * x->s->elems[d];
  for (int d = 0; d < l->m->grid.rank; d++) {
    load.points *= (double)size[d];
    double blocks = ceil((double)size[d] / fmax(1, (double)launch_width(l, d, cells[d])));
    load.blocks *= blocks;
    inner *= fmax(0, 1 - 2 / blocks);
  }
  load.work = (KernelWork){.threads = x->threads, .points = x->out, .rounds = 1};
  load.work.instructions = x->t->simt ? tuning.tile_start[r] : 0;
  for (int i = 0; i < l->n; i++)
    add_instance(x, i, reach, points, &load.work);
  if (x->t->simt) {
    double more = x->cells * (l->n * tuning.tile_edge[r] + tuning.tile_edge_moves[r]);
    load.at_edge = inner < 1 ? load.work.instructions + more : 0;
    load.turned = module_turns(l->m);
    load.work.instructions += (1 - inner) * more;
  }
  add_bytes(x, reach, &memory, &cache);
  load.memory_bytes = memory * load.points;
  load.cache_bytes = cache * load.points;
  load.shared = launch_array_bytes(l, cells);
  RegisterNeed need = registers_of(x);
  load.registers = x->t->simt ? model_registers(x->t, x->threads, &need, &load.spilled) : 0;
  return load;
}

LaunchLoad tile_load(const TargetInfo *t, const Launch *l, const Schedule *s, const int64_t *size) {
  ArenaMark mark = arena_mark(l->m->arena);
  Tile x = {.t = t, .l = l, .s = s, .cells = 1, .all = 1, .out = 1, .threads = 1};
  for (int d = 0; d < l->m->grid.rank; d++) {
    x.cells *= t->simt ? s->elems[d] : 1;
    x.threads *= t->simt ? s->block[d] : 1;
    x.all *= (double)s->block[d] * s->elems[d];
    x.out *= (double)launch_width(l, d, (int64_t)s->block[d] * s->elems[d]);
  }
  LaunchLoad load = load_of(&x, size);
  arena_release(l->m->arena, mark);
  return load;
}
