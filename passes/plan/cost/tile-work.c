/* tile-work.c: the work of a launch of overlapped tiles, counted before it is lowered: from the accesses, and the
 * arithmetic and the live ranges of the bodies. The model (model.c) gets it in the form of a finished kernel's work.
 * Without threads, a tile has one thread, and every instance computes only its own region. */
#include "passes/launch/slices.h"
#include "passes/tile/mapping.h"
#include "passes/base/tuning.h"
#include "passes/plan/cost/count.h"

#include <math.h>
#include <string.h>

/* ---- accesses */

/* An access to `field` at `off` that instances make, of so many words. made: it reads the result of an earlier
 * instance, in shared memory; self: at the point itself. gap: along each dimension, how far below the next access of
 * the same line is; INT64_MAX: there is none. */
typedef struct Seen {
  int32_t field, words;
  int64_t off[MAX_RANK], gap[MAX_RANK];
  bool made, self;
} Seen;

/* A store of a cell by an instance, in a field of so many words: near: to shared memory, for its neighbours; last: to
 * global memory. */
typedef struct Stored {
  int32_t words;
  bool near, last;
} Stored;

/* The work of instances, whatever their tile: the different accesses, the stores, and the operations of a point. */
typedef struct Instance {
  int32_t nseen, nstored;
  Seen *seen;
  Stored *stored;
  KernelWork point;
} Instance;

/* How far accesses to global memory reach. */
typedef struct Reach {
  int64_t lo[MAX_RANK], hi[MAX_RANK];
} Reach;

/* kept, alive, beside: words of a thread; pieces: instructions of a cell for pieces that have points only near
 * edges. */
struct TileWork {
  const TargetInfo *t;
  const Launch *l;
  Instance *of; /* [instance] */
  Reach *reach; /* [field] */
  double kept, alive, beside, pieces;
  bool turned;
};

/* Instance `i`, whose accesses are noted. */
typedef struct Noting {
  TileWork *w;
  int i;
} Noting;

/* Notes access `own` unless it is known. */
static void add_seen(Arena *a, Instance *x, Seen own) {
  for (int k = 0; k < x->nseen; k++)
    if (x->seen[k].field == own.field && memcmp(x->seen[k].off, own.off, sizeof own.off) == 0)
      return;
  ARENA_PUSH(a, x->seen, x->nseen, own);
}

/* Notes one access (a stencil_accesses callback). If it reads the result of an instance, notes an access to the point's
 * own value, too: a thread has that in a register. */
static void note_access(void *user, const Piece *piece, int field, const int64_t *off) {
  Noting *x = user;
  const Launch *l = x->w->l;
  Instance *of = &x->w->of[x->i];
  Seen own = {.field = field, .words = type_words(l->m->fields[field].type), .self = true};
  (void)piece;
  own.made = launch_version(l, field, x->i) > 0;
  if (own.made)
    add_seen(l->m->arena, of, own);
  for (int d = 0; d < l->m->grid.rank; d++) {
    Reach *r = &x->w->reach[field];
    own.off[d] = off[d];
    own.self = own.self && off[d] == 0;
    if (own.made || launch_use(l, field)->fresh)
      continue;
    r->lo[d] = -off[d] > r->lo[d] ? -off[d] : r->lo[d];
    r->hi[d] = off[d] > r->hi[d] ? off[d] : r->hi[d];
  }
  add_seen(l->m->arena, of, own);
}

/* Along dimension `d`, how far below access `own` the next access of the same line is; INT64_MAX: there is none. */
static int64_t gap_below(const Instance *x, int rank, const Seen *own, int d) {
  int64_t nearest = INT64_MAX;
  for (int k = 0; k < x->nseen; k++) {
    const Seen *other = &x->seen[k];
    bool line = other->field == own->field && other->off[d] < own->off[d];
    for (int e = 0; e < rank; e++)
      line = line && (e == d || other->off[e] == own->off[e]);
    if (line && own->off[d] - other->off[d] < nearest)
      nearest = own->off[d] - other->off[d];
  }
  return nearest;
}

/* Notes the stores of a cell by instance `i`. */
static void note_stores(TileWork *w, int i) {
  const Launch *l = w->l;
  const Stencil *st = &l->st[i];
  Instance *x = &w->of[i];
  x->nstored = st->ntargets;
  x->stored = ARENA_ARRAY(l->m->arena, Stored, st->ntargets);
  for (int k = 0; k < st->ntargets; k++) {
    int f = st->targets[k], v = launch_version(l, f, i + 1);
    x->stored[k] = (Stored){.words = type_words(l->m->fields[f].type),
                            .near = launch_use(l, f)->near[v] >= 0,
                            .last = v == launch_use(l, f)->versions && launch_use(l, f)->stored};
  }
}

/* Do instances `i` and `j` have the same bodies? Those of one stencil do, at all time steps. */
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

/* Does instance `i`, which has the bodies of instance `j`, find the same versions in shared memory? */
static bool sees_alike(const TileWork *w, int i, int j) {
  bool same = true;
  for (int k = 0; k < w->of[j].nseen && same; k++)
    same = (launch_version(w->l, w->of[j].seen[k].field, i) > 0) == w->of[j].seen[k].made;
  return same;
}

/* The last instance before `i` with the same accesses, -1 if there is none. */
static int twin_before(const TileWork *w, int i) {
  int j = i - 1;
  while (j >= 0 && !(share_bodies(w->l, i, j) && sees_alike(w, i, j)))
    j--;
  return j;
}

/* Notes the work of instance `i`; that of earlier ones is noted. */
static void note_instance(TileWork *w, int i) {
  Noting x = {w, i};
  int rank = w->l->m->grid.rank, twin = twin_before(w, i), first = first_with_bodies(w->l, i);
  Instance *of = &w->of[i];
  if (twin >= 0) {
    of->nseen = w->of[twin].nseen;
    of->seen = w->of[twin].seen;
  } else {
    stencil_accesses(&w->l->st[i], note_access, &x);
    for (int k = 0; k < of->nseen; k++)
      for (int d = 0; d < rank - 1; d++)
        of->seen[k].gap[d] = gap_below(of, rank, &of->seen[k], d);
  }
  note_stores(w, i);
  if (first == i)
    stencil_point_work(w->t, w->l->m, &w->l->st[i], &of->point);
  else
    of->point = w->of[first].point;
}

/* The part of access `own`, over the cells of a thread of tile `s`, that no other of its accesses makes: along slow
 * dimensions the cells are adjacent. */
static double new_part(int rank, const Schedule *s, const Seen *own) {
  double part = 1;
  for (int d = 0; d < rank - 1; d++)
    if (own->gap[d] < s->elems[d])
      part *= (double)own->gap[d] / (double)s->elems[d];
  return part;
}

/* For a cell of an instance, the accesses that a thread makes for it, without those that another of its cells makes,
 * and the words of these from global and from shared memory. */
typedef struct Loads {
  double accesses, global, shared;
} Loads;

/* The loads of instance `of` in tiles `s`. */
static Loads count_loads(int rank, const Schedule *s, const Instance *of) {
  Loads x = {0};
  for (int k = 0; k < of->nseen; k++) {
    const Seen *own = &of->seen[k];
    double part = new_part(rank, s, own) - (own->made && own->self);
    x.accesses += part;
    *(own->made ? &x.shared : &x.global) += part * own->words;
  }
  return x;
}

/* Adds the stores of a cell by instance `of`. Does another thread read the cell? */
static bool count_stores(const Instance *of, Loads *x) {
  bool near = false;
  for (int k = 0; k < of->nstored; k++) {
    const Stored *own = &of->stored[k];
    near |= own->near;
    x->accesses += own->near + own->last;
    x->shared += own->near ? own->words : 0;
    x->global += own->last ? own->words : 0;
  }
  return near;
}

/* ---- tiles */

/* A tile of a launch with work `w`: cells of a thread, cells of a block, stored cells of a block; threads of a
 * block. */
typedef struct Tile {
  const TileWork *w;
  const TargetInfo *t;
  const Launch *l;
  const Schedule *s;
  double cells, all, out;
  int64_t threads;
} Tile;

/* Cells of a tile that instance `i` computes: all of them; without threads those that are needed. */
static double instance_cells(const Tile *x, int i) {
  double product = 1;
  for (int d = 0; d < x->l->m->grid.rank && !x->t->simt; d++) {
    double width = (double)launch_width(x->l, d, (int64_t)x->s->block[d] * x->s->elems[d]);
    product *= fmax(width, 1) + (double)(x->l->st[i].extent.lo[d] + x->l->st[i].extent.hi[d]);
  }
  return x->t->simt ? x->cells : product;
}

/* Adds the work of a thread for instance `i` to *w. All loads of an instance are waited for together. */
static void add_instance(const Tile *x, int i, KernelWork *w) {
  int rank = x->l->m->grid.rank, r = rank - 1;
  const Instance *of = &x->w->of[i];
  Loads loads = count_loads(rank, x->s, of);
  w->waits += loads.global > 0;
  w->barriers += count_stores(of, &loads) ? 1 + (w->barriers > 0) : 0;
  double cells = instance_cells(x, i), beside = x->t->simt ? measured.tile_cell[r] : 0;
  w->instructions +=
      cells * (of->point.instructions + loads.accesses + beside) + (x->t->simt ? measured.tile_step[r] : 0);
  w->f64 += cells * of->point.f64;
  w->chained += of->point.chained;
  w->special += cells * of->point.special;
  w->shared += cells * loads.shared;
  w->global += cells * loads.global;
}

/* ---- tiles in lanes */

/* The cells that the accesses of an instance to one field read around the cells of a lane: how far along its rows, in
 * how many rows beside its own that is, and how many more rows it reads at all. */
typedef struct Beside {
  double columns, aside, rows;
} Beside;

/* The spread of offsets to both sides of 0. */
typedef struct Spread {
  int64_t lo, hi;
} Spread;

/* Widens *x to contain `off`. */
static void spread(Spread *x, int64_t off) {
  x->lo = off < x->lo ? off : x->lo;
  x->hi = off > x->hi ? off : x->hi;
}

/* The cells that accesses of instance `of` to the field of its access `own`, with the same `made`, read around the
 * lane's. */
static Beside beside_of(const Instance *of, const Seen *own) {
  Spread columns = {0}, rows = {0}, aside = {0};
  for (int k = 0; k < of->nseen; k++) {
    const Seen *x = &of->seen[k];
    if (x->field != own->field || x->made != own->made)
      continue;
    spread(&columns, x->off[1]);
    spread(&rows, x->off[0]);
    if (x->off[1])
      spread(&aside, x->off[0]);
  }
  return (Beside){(double)(columns.hi - columns.lo), (double)(aside.hi - aside.lo), (double)(rows.hi - rows.lo)};
}

/* Is access `k` of instance `of` the first one to its field of its kind? */
static bool is_first_of_field(const Instance *of, int k) {
  for (int j = 0; j < k; j++)
    if (of->seen[j].field == of->seen[k].field && of->seen[j].made == of->seen[k].made)
      return false;
  return true;
}

/* Adds the work of a lane of tile `x`, which keeps its cells, for instance `i` to *w: cells of neighbouring lanes come
 * by shuffles, rows of other warps from shared memory as vectors, and values from before the launch one by one. */
static void add_lane_instance(const Tile *x, int i, KernelWork *w) {
  const Instance *of = &x->w->of[i];
  double R = x->s->elems[0], V = x->s->elems[1], moves = 0, exchanged = 0, shared = 0, global = 0;
  bool near = false;
  for (int k = 0; k < of->nseen; k++) {
    const Seen *own = &of->seen[k];
    if (!is_first_of_field(of, k))
      continue;
    Beside b = beside_of(of, own);
    double sides = (R + b.aside) * b.columns, rows = b.rows * V;
    exchanged += own->made ? sides * own->words : 0;
    shared += own->made ? rows * own->words : 0;
    global += own->made ? 0 : (sides + rows + R * V) * own->words;
    moves += sides + ceil(rows * own->words / 4) + (own->made ? 0 : ceil(R * V * own->words / 4));
  }
  for (int k = 0; k < of->nstored; k++) {
    const Stored *own = &of->stored[k];
    near |= own->near;
    shared += own->near ? fmin(R, 2) * V * own->words : 0;
    global += own->last ? R * V * own->words : 0;
    moves += own->near ? ceil(fmin(R, 2) * V * own->words / 4) : 0;
    moves += own->last ? ceil(R * V * own->words / 4) : 0;
  }
  w->waits += global > 0;
  w->barriers += near;
  w->instructions += x->cells * (of->point.instructions + measured.lane_cell) + moves + measured.lane_step;
  w->f64 += x->cells * of->point.f64;
  w->chained += of->point.chained;
  w->special += x->cells * of->point.special;
  w->exchanges += exchanged;
  w->shared += shared + exchanged;
  w->global += global;
}

/* The greatest number of words beside a column of cells that an instance reads of a field and keeps for the rows
 * below. */
static double words_beside(const TileWork *w) {
  double most = 0;
  for (int i = 0; i < w->l->n && w->l->m->grid.rank == 2; i++)
    for (int k = 0; k < w->of[i].nseen; k++) {
      Beside b = beside_of(&w->of[i], &w->of[i].seen[k]);
      most = fmax(most, b.columns * (b.aside + 1) * w->of[i].seen[k].words);
    }
  return most;
}

/* ---- registers */

/* Words that a thread keeps from one instance to the next for each of its cells: the newest values of the fields
 * written, and those read. */
static int32_t kept_words(const Launch *l) {
  int32_t words = 0;
  for (int f = 0; f < l->m->nfields; f++)
    if ((launch_use(l, f)->versions || launch_use(l, f)->loaded) && !is_rare_field(l->m, f))
      words += type_words(l->m->fields[f].type);
  return words;
}

/* The greatest number of words of its bodies' values that are live at once, those of rare pieces left out. */
static double alive_words(const Launch *l) {
  double most = 0;
  for (int i = 0; i < l->n; i++) {
    const bool *rare = first_with_bodies(l, i) == i ? rare_pieces(l->m, &l->st[i]) : NULL;
    for (int k = 0; k < l->st[i].npieces && rare; k++)
      most = rare[k] ? most : fmax(most, body_live_words(l->m->arena, l->st[i].pieces[k].body));
  }
  return most;
}

/* The same for a tile in lanes: of the field with the most words, the cells, the rows of other warps that it reads,
 * less two, and the cells that it reads beside a column; less of other fields, for they are computed one after the
 * other. */
static RegisterNeed lane_registers(const Tile *x) {
  double sum = 0, most = 0;
  for (int f = 0; f < x->l->m->nfields; f++) {
    const FieldUse *u = launch_use(x->l, f);
    double own = (double)x->s->elems[0] + fmax(0, u->rows_lo + u->rows_hi - 2),
           words = own * x->s->elems[1] * type_words(x->l->m->fields[f].type);
    if (u->versions || u->loaded) {
      sum += words;
      most = fmax(most, words);
    }
  }
  double live =
      measured.lane_words + x->w->beside + measured.lane_cell_words * most + measured.lane_other_words * (sum - most);
  return (RegisterNeed){.live = live, .early = live};
}

/* The words live in a thread of the tile. */
static RegisterNeed registers_of(const Tile *x) {
  int r = x->l->m->grid.rank - 1;
  if (x->s->tiles == TILES_LANES)
    return lane_registers(x);
  double live = measured.tile_words[r] + x->w->alive + (x->w->kept + measured.tile_cell_words[r]) * x->cells;
  return (RegisterNeed){.live = live, .early = live, .several = x->l->n > 1 || x->cells > 1};
}

/* ---- bytes */

/* Adds the bytes that the launch moves for each point to *memory, and the bytes of them that go through caches to
 * *cache. */
static void add_bytes(const Tile *x, const Reach *reach, double *memory, double *cache) {
  const Launch *l = x->l;
  for (int f = 0; f < l->m->nfields; f++) {
    double size = type_size(l->m->fields[f].type), about = 1;
    for (int d = 0; d < l->m->grid.rank; d++) {
      double cells = (double)x->s->block[d] * x->s->elems[d], width = (double)launch_width(l, d, (int64_t)cells);
      about *= (cells + (double)(reach[f].lo[d] + reach[f].hi[d])) / (width > 1 ? width : 1);
    }
    *cache += size * (launch_use(l, f)->loaded * about + launch_use(l, f)->stored);
    *memory += size * (launch_use(l, f)->loaded * (1 + measured.halo_missed * (about - 1)) + launch_use(l, f)->stored);
  }
}

/* ---- all of it */

/* See tile_load; takes memory for its work. */
static LaunchLoad load_of(const Tile *x, const int64_t *size) {
  const Launch *l = x->l;
  double slices = slices_of_size(l->m->grid.rank, size);
  LaunchLoad load = {.points = slices, .blocks = slices};
  double memory = 0, cache = 0, inner = 1;
  int r = l->m->grid.rank - 1;
  for (int d = 0; d < l->m->grid.rank; d++) {
    load.points *= (double)size[d];
    double blocks = ceil((double)size[d] / fmax(1, (double)tile_dim(BLOCKED_TILE(l), x->s, d).stored));
    load.blocks *= blocks;
    inner *= fmax(0, 1 - 2 / blocks);
  }
  load.work = (KernelWork){.threads = x->threads, .points = x->out, .rounds = 1};
  load.work.instructions = x->t->simt ? measured.tile_start[r] : 0;
  for (int i = 0; i < l->n; i++)
    (x->s->tiles == TILES_LANES ? add_lane_instance : add_instance)(x, i, &load.work);
  if (x->t->simt) {
    double more = x->cells * (l->n * measured.tile_edge[r] + measured.tile_edge_moves[r]);
    load.at_edge = inner < 1 ? load.work.instructions + more : 0;
    load.edge_code = inner < 1 && x->s->tiles == TILES_LANES ? load.at_edge + x->cells * x->w->pieces : 0;
    load.turned = x->w->turned;
    load.work.instructions += (1 - inner) * more;
  }
  add_bytes(x, x->w->reach, &memory, &cache);
  load.memory_bytes = memory * load.points;
  load.cache_bytes = cache * load.points;
  load.shared = tile_bytes(x->t, BLOCKED_TILE(l), x->s);
  RegisterNeed need = registers_of(x);
  load.registers = x->t->simt ? model_registers(x->t, x->threads, &need, &load.spilled) : 0;
  return load;
}

TileWork *tile_work(const TargetInfo *t, const Launch *l) {
  TileWork *w = ARENA_NEW(l->m->arena, TileWork);
  *w = (TileWork){.t = t,
                  .l = l,
                  .of = ARENA_ARRAY(l->m->arena, Instance, l->n + 1),
                  .reach = ARENA_ARRAY(l->m->arena, Reach, l->m->nfields + 1),
                  .kept = kept_words(l),
                  .alive = alive_words(l),
                  .pieces = launch_edge_pieces(t, l),
                  .turned = module_turns(l->m)};
  for (int i = 0; i < l->n; i++)
    note_instance(w, i);
  w->beside = words_beside(w);
  return w;
}

LaunchLoad tile_load(const TileWork *w, const Schedule *s, const int64_t *size) {
  const TargetInfo *t = w->t;
  const Launch *l = w->l;
  ArenaMark mark = arena_mark(l->m->arena);
  Tile x = {.w = w, .t = t, .l = l, .s = s, .cells = 1, .all = 1, .out = 1, .threads = 1};
  for (int d = 0; d < l->m->grid.rank; d++) {
    x.cells *= t->simt ? s->elems[d] : 1;
    x.threads *= t->simt ? s->block[d] : 1;
    x.all *= (double)s->block[d] * s->elems[d];
    x.out *= (double)tile_dim(BLOCKED_TILE(l), s, d).stored;
  }
  LaunchLoad load = load_of(&x, size);
  arena_release(l->m->arena, mark);
  return load;
}
