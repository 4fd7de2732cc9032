/* sweep-turn.c: sweeps along the last dimension, for targets with threads. The layers of a column are adjacent in
 * memory, and columns are far apart. A thread that went along a column by itself would use one word of each cache line
 * that it loads, and the line would be evicted before the next layer. So the threads of a block, which own adjacent
 * columns, load rows of eight layers of all their columns together, eight threads a column, and hand them to the owners
 * through shared memory. Stored values go back in the same way:
 *
 *     load row r + 1: adjacent layers                     ->  registers
 *     registers of row r  ->  @turn0[column, layer], barrier, the thread's own layers
 *     compute them        ->  @turned0[column, layer]
 *     barrier, store row r: adjacent layers
 *
 * Rows begin at multiples of eight layers from the begin of the columns, for all pieces and both directions of the
 * sweep. So one thread both loads and stores a given layer of a column, and a field may be written in place. A piece
 * may contain only a part of its first and last row. If params determine the number of layers, the threads handle
 * layers outside of whole rows one by one, each for its own column.
 *
 * All threads must reach the barriers. So threads whose column is beyond the region load values of the last column, or
 * nothing from a field that the launch stores, and store nothing. */
#include "passes/lower/columns.h"

#include <string.h>

/* ROW_LAYERS: layers of a row. OTHER_REGISTERS: registers of a thread for other values than the row. ADDRESS_REGISTERS:
 * registers for the address of a cell, roughly. */
enum { ROW_LAYERS = 8, OTHER_REGISTERS = 48, ADDRESS_REGISTERS = 4 };

/* The most arrays of a type that TurnRoom counts separately; a thread has no registers for more. */
enum { MOST_TURNED = 64 };

/* The last column, in the dimension in which columns are adjacent. */
static Value *last_column(const Sweep *s, Builder *b) {
  return build_affine(b, s->k.l->m, s->st->pieces[0].box.hi[beside_columns(s)]);
}

/* Are the layers of `piece`, counted from the begin of the columns, constants? They go to *from and *to. */
static bool piece_layers(const Stencil *st, const Piece *piece, int64_t *from, int64_t *to) {
  Affine low = sweep_region(st).lo[st->along];
  return affine_diff(piece->box.lo[st->along], low, from) && affine_diff(piece->box.hi[st->along], low, to);
}

/* Are there enough adjacent columns for the threads of a block, and no more blocks than the target can start, under the
 * default params? */
static bool enough_columns(const Sweep *s) {
  const Const *scalars = default_scalars(s->k.l->m);
  const TargetInfo *t = s->k.lo->c->target;
  const Box *box = &s->st->pieces[0].box;
  bool enough = true;
  for (int d = 0; d < box->rank - 1 && scalars; d++) {
    int64_t n = affine_eval(box->hi[d], scalars, NULL) - affine_eval(box->lo[d], scalars, NULL) + 1;
    int64_t limit = t->max_grid[box->rank - 1 - d], lanes = d == beside_columns(s) ? t->lanes : 1;
    enough = enough && (lanes == 1 || 2 * n >= lanes) && (limit <= 0 || (n + lanes - 1) / lanes <= limit);
  }
  return enough;
}

/* Does the thread load the value of access `op` from memory, and is no earlier access of the body equal? */
static bool is_loaded(const Launch *l, int i, const Block *body, const Op *op) {
  if (op->code != OP_ACCESS || (i > 0 && launch_keeps(l, launch_reads(l, op->sym, i).field)))
    return false;
  for (const Op *was = body->first; was != op; was = was->next)
    if (was->code == OP_ACCESS && was->sym == op->sym &&
        memcmp(was->off, op->off, (size_t)l->m->grid.rank * sizeof *op->off) == 0)
      return false;
  return true;
}

/* The shared arrays for the rows that the sweeps load and store. turn_array makes one for each number and type, shared
 * by all pieces and sweeps. types: by number, a bit for each type seen; bytes: the size of one column's rows. */
typedef struct TurnRoom {
  uint32_t types[MOST_TURNED];
  int64_t bytes;
} TurnRoom;

/* Adds room for array number `i` of type `t`. */
static void add_room(TurnRoom *r, int i, Type t) {
  bool known = i < MOST_TURNED && (r->types[i] >> t & 1);
  if (i < MOST_TURNED)
    r->types[i] |= 1u << t;
  r->bytes += known ? 0 : (ROW_LAYERS + 1) * type_size(t);
}

/* Has a thread enough registers for the loads of one row of piece `p` of stencil `i`? Adds the shared memory for them
 * to `loads`. */
static bool row_fits(const TargetInfo *t, const Launch *l, int i, int p, TurnRoom *loads) {
  int64_t registers = OTHER_REGISTERS, most = t->most_registers ? t->most_registers : 255;
  const Block *body = l->st[i].pieces[p].body;
  int n = 0;
  for (const Op *op = body->first; op; op = op->next)
    if (is_loaded(l, i, body, op)) {
      Type type = l->m->fields[op->sym].type;
      add_room(loads, n++, type);
      registers += ROW_LAYERS * ((type_size(type) + 3) / 4 + ADDRESS_REGISTERS);
    }
  return registers <= most;
}

/* Has a block enough shared memory for the rows that its sweeps load and store, beside the columns that the launch
 * keeps, and has a thread enough registers for the loads of a row? Otherwise the registers would spill, or the kernel
 * could not be launched. */
static bool rows_fit(const TargetInfo *t, const Launch *l) {
  TurnRoom loads = {0}, stores = {0};
  int64_t kept = 0;
  bool fit = true;
  for (int f = 0; f < l->m->nfields; f++)
    kept += launch_keeps(l, f) ? kept_layers(l) * type_size(l->m->fields[f].type) : 0;
  for (int i = 0; i < l->n; i++) {
    const Stencil *st = &l->st[i];
    for (int k = 0; k < st->ntargets; k++)
      if (!launch_keeps(l, st->targets[k]))
        add_room(&stores, k, l->m->fields[st->targets[k]].type);
    for (int p = 0; p < st->npieces; p++)
      fit = row_fits(t, l, i, p, &loads) && fit;
  }
  return fit && t->lanes * (kept + loads.bytes + stores.bytes) <= t->shared_bytes;
}

bool turn_suits(const Sweep *s) {
  const Launch *l = s->k.l;
  bool suits = s->k.lo->c->target->simt && s->st->along == l->m->grid.rank - 1 && l->m->grid.rank > 1 && !l->m->part;
  for (int f = 0; f < l->m->nfields; f++)
    suits = suits && !(launch_use(l, f)->stored && launch_use(l, f)->paired);
  for (int i = 0; i < l->n; i++)
    for (int p = 0; p < l->st[i].npieces; p++) {
      int64_t from, to;
      const Piece *piece = &l->st[i].pieces[p];
      suits =
          suits && piece->ntargets == l->st[i].ntargets && (l->n == 1 || piece_layers(&l->st[i], piece, &from, &to));
    }
  return suits && enough_columns(s) && rows_fit(s->k.lo->c->target, l);
}

/* ---- rows */

/* Layers `from` to `to` of the row of ROW_LAYERS layers that begins at coordinate `low`. v: the values that the thread
 * has loaded from the row, for any columns, `n` for each of its cells. like: a point with the same accesses. */
typedef struct TurnRow {
  int32_t from, to, n;
  Value *low, **v;
  Point like;
} TurnRow;

/* The array `name` number `i` of type `t`: one row for each column, an odd number of cells apart. */
static int turn_array(Sweep *s, const char *name, int i, Type t) {
  Kernel *k = &s->k.lo->out->kernels[s->kernel];
  name = arena_printf(s->k.lo->out->arena, "%s%d_%s", name, i, type_name(t));
  for (int a = 0; a < k->narrays; a++)
    if (strcmp(k->arrays[a].name, name) == 0)
      return a;
  int32_t cells[MAX_RANK] = {s->k.lo->c->target->lanes, ROW_LAYERS + 1};
  return kernel_array_of(s->k.lo, k, 2, name, t, SPACE_SHARED, cells, NULL, NULL);
}

/* A cell of a row. column, layer: its column in the block and its layer in the row, i32. at: its coordinates. inside:
 * is it in the launch's columns and the row's layers? near: the nearest cell that is. */
typedef struct TurnCell {
  Value *column, *layer, *at[MAX_RANK], *near[MAX_RANK], *inside;
} TurnCell;

/* Cell number `j` of the cells of row `r` that the thread moves. */
static TurnCell turn_cell(const Sweep *s, Builder *b, const TurnRow *r, int32_t j) {
  int beside = beside_columns(s), along = s->st->along, lanes = s->k.lo->c->target->lanes;
  Value *e = j ? build2(b, OP_ADD, s->lane, build_int(b, TY_I32, (int64_t)j * lanes)) : s->lane;
  Value *eight = build_int(b, TY_I32, ROW_LAYERS), *last = last_column(s, b);
  TurnCell c = {.column = build2(b, OP_DIV, e, eight), .layer = build2(b, OP_REM, e, eight)};
  memcpy(c.at, s->k.g, sizeof c.at);
  memcpy(c.near, s->k.g, sizeof c.near);
  c.at[beside] = build2(b, OP_ADD, s->first, build_convert(b, TY_I64, c.column));
  c.near[beside] = build2(b, OP_MIN, c.at[beside], last);
  c.inside = build2(b, OP_LE, c.at[beside], last);
  Value *layer = c.layer, *from = build_int(b, TY_I32, r->from), *to = build_int(b, TY_I32, r->to);
  if (r->from > 0 || r->to < ROW_LAYERS - 1) {
    Value *is = build2(b, OP_AND, build2(b, OP_GE, layer, from), build2(b, OP_LE, layer, to));
    c.inside = build2(b, OP_AND, c.inside, is);
    layer = build2(b, OP_MIN, build2(b, OP_MAX, layer, from), to);
  }
  c.at[along] = build2(b, OP_ADD, r->low, build_convert(b, TY_I64, c.layer));
  c.near[along] = build2(b, OP_ADD, r->low, build_convert(b, TY_I64, layer));
  return c;
}

/* Loads access `op` of `piece` at cell `c` into point `p`. From a field that the launch stores it loads only cells
 * inside, because other threads may store to the others. */
static void load_cell(const Sweep *s, Builder *b, const Piece *piece, const Op *op, const TurnCell *c, Point *p) {
  const Module *m = s->k.l->m;
  Rules rules = access_rules(m, &piece->box, op->sym, op->off);
  int from = launch_reads(s->k.l, op->sym, s->i).field;
  bool stored = launch_use(s->k.l, from)->stored;
  memcpy(p->index, stored ? c->at : c->near, sizeof p->index);
  if (!stored) {
    point_access(p, b, op->sym, op->off, &rules);
    return;
  }
  Builder in;
  Value *v = build_value_or(b, c->inside, m->fields[op->sym].type, (Const){0}, &in);
  Point own = point_here((Sweep *)s);
  memcpy(own.index, c->at, sizeof own.index);
  build_yield(&in, 1, (Value *[]){point_access(&own, &in, op->sym, op->off, &rules)});
  point_take(p, b, &own, &v);
}

/* Marks loads from op `op` on, nested ones included, as LOAD_AROUND: the cache should also fetch the memory around
 * their elements, which are the next rows of the columns. Without the mark each row waits for memory again. */
static void mark_loads(Op *op) {
  for (; op; op = op->next) {
    if (op->code == OP_LOAD)
      op->flags |= LOAD_AROUND;
    for (int i = 0; i < op->nblocks; i++)
      mark_loads(op->blocks[i]->first);
  }
}

/* Makes the thread load its cells of row `r` of `piece`; they may belong to any column. */
static void begin_row(Sweep *s, Builder *b, const Piece *piece, TurnRow *r) {
  const Module *m = s->k.l->m;
  Op *before = b->block->last;
  s->on = 0;
  for (int32_t j = 0; j < ROW_LAYERS; j++) {
    TurnCell c = turn_cell(s, b, r, j);
    Point p = point_here(s);
    for (const Op *op = piece->body->first; op; op = op->next) {
      Rules rules;
      if (op->code != OP_ACCESS || is_kept_before(s, op->sym))
        continue;
      rules = access_rules(m, &piece->box, op->sym, op->off);
      if (!point_has(&p, op->sym, op->off, &rules))
        load_cell(s, b, piece, op, &c, &p);
    }
    if (j == 0) {
      r->like = p;
      r->n = point_built(&p, NULL);
      r->v = ARENA_ARRAY(b->arena, Value *, (size_t)r->n * ROW_LAYERS + 1);
    }
    point_built(&p, r->v + j * r->n);
  }
  mark_loads(before ? before->next : b->block->first);
  s->on = -1;
}

/* Stores the loaded values of row `r` to shared memory, where the owners of the columns read them. */
static void give_row(Sweep *s, Builder *b, const TurnRow *r) {
  build_barrier(b);
  for (int32_t j = 0; j < ROW_LAYERS && r->n; j++) {
    TurnCell c = turn_cell(s, b, r, j);
    for (int32_t i = 0; i < r->n; i++) {
      Value *v = r->v[j * r->n + i];
      build_astore(b, turn_array(s, "turn", i, v->type), 0, v, 2, (Value *[]){c.column, c.layer}, NULL);
    }
  }
  if (r->n)
    build_barrier(b);
}

/* Is target number `t` stored to memory? */
static bool is_stored(const Sweep *s, int t) {
  int f = s->st->targets[t];
  return s->array[f] < 0 && naive_writes(&s->k, f);
}

/* Stores the computed values of row `r` from shared memory. */
static void store_row(Sweep *s, Builder *b, const TurnRow *r) {
  const Module *m = s->k.l->m;
  int n = 0;
  for (int t = 0; t < s->st->ntargets; t++)
    n += is_stored(s, t);
  if (!n)
    return;
  build_barrier(b);
  for (int32_t j = 0; j < ROW_LAYERS; j++) {
    TurnCell c = turn_cell(s, b, r, j);
    Builder in = build_then(b, c.inside);
    for (int t = 0; t < s->st->ntargets; t++) {
      int f = s->st->targets[t];
      Type type = m->fields[f].type;
      if (!is_stored(s, t))
        continue;
      Value *v = build_aload(&in, type, turn_array(s, "turned", t, type), 0, 2, (Value *[]){c.column, c.layer}, NULL);
      build_store(&in, store_buffer(s->k.lo, s->k.l, f), v, m->grid.rank, c.at, NULL)->ver = 1;
    }
  }
}

Value *turn_inside(const Sweep *s, Builder *b) {
  Value *column = build2(b, OP_ADD, s->first, build_convert(b, TY_I64, s->lane));
  return build2(b, OP_LE, column, last_column(s, b));
}

void turn_keep(Sweep *s, Builder *b, int t, Value *v) {
  if (s->on < 0) {
    Builder in = build_then(b, turn_inside(s, b));
    int buffer = store_buffer(s->k.lo, s->k.l, s->st->targets[t]);
    build_store(&in, buffer, v, s->k.l->m->grid.rank, s->k.g, NULL)->ver = 1;
    return;
  }
  Value *place[2] = {s->lane, build_int(b, TY_I32, s->on)};
  build_astore(b, turn_array(s, "turned", t, v->type), 0, v, 2, place, NULL);
}

/* Computes the thread's layers of row `r` of `piece`, whose loads have been issued, and stores the row. */
static void end_row(Sweep *s, Builder *b, const Piece *piece, const TurnRow *r) {
  int along = s->st->along, up = s->st->sweep;
  Value **own = ARENA_ARRAY(b->arena, Value *, r->n + 1);
  give_row(s, b, r);
  for (s->on = up > 0 ? r->from : r->to; s->on >= r->from && s->on <= r->to; s->on += up) {
    Value *place[2] = {s->lane, build_int(b, TY_I32, s->on)};
    s->k.g[along] = build2(b, OP_ADD, r->low, build_int(b, TY_I64, s->on));
    Point p = point_here(s);
    for (int32_t i = 0; i < r->n; i++)
      own[i] = build_aload(b, r->v[i]->type, turn_array(s, "turn", i, r->v[i]->type), 0, 2, place, NULL);
    point_take(&p, b, &r->like, own);
    cell_code(s, b, piece, &p);
  }
  s->on = -1;
  store_row(s, b, r);
}

/* ---- pieces */

/* Builds the loop over `rows` whole rows of `piece` without the last one. `r` is the first row, whose loads have been
 * issued; each iteration issues the loads of the next row, and computes its own. `r` becomes the last row, with its
 * loads issued. */
static void rows_but_last(Sweep *s, Builder *b, const Piece *piece, TurnRow *r, Value *rows) {
  int32_t n = s->n, all = n + r->n * ROW_LAYERS;
  Value **carried = ARENA_ARRAY(b->arena, Value *, all + 1), *step = build_int(b, TY_I64, s->st->sweep * ROW_LAYERS);
  memcpy(carried, s->now, (size_t)n * sizeof *carried);
  memcpy(carried + n, r->v, (size_t)(all - n) * sizeof *carried);
  Op *loop = build_for(b, build_int(b, TY_I64, 1), rows, 1, 0, all, carried);
  Builder in = builder_in(b, loop->blocks[0]);
  Value **args = loop->blocks[0]->args;
  TurnRow now = *r, next = *r;
  next.low = build2(&in, OP_ADD, r->low, build2(&in, OP_MUL, args[0], step));
  now.low = build2(&in, OP_SUB, next.low, step);
  now.v = args + 1 + n;
  memcpy(s->now, args + 1, (size_t)n * sizeof *args);
  begin_row(s, &in, piece, &next);
  end_row(s, &in, piece, &now);
  memcpy(carried, s->now, (size_t)n * sizeof *carried);
  memcpy(carried + n, next.v, (size_t)(all - n) * sizeof *carried);
  if (all)
    build_yield(&in, all, carried);
  memcpy(s->now, loop->results, (size_t)n * sizeof *carried);
  r->v = loop->results + n;
  Value *on = build2(b, OP_SUB, rows, build_int(b, TY_I64, 1));
  r->low = build2(b, OP_ADD, r->low, build2(b, OP_MUL, on, build_int(b, TY_I64, s->st->sweep * ROW_LAYERS)));
}

/* Builds layers `from` to `to` of `piece`, counted from the begin of the columns. */
static void constant_layers(Sweep *s, Builder *b, const Piece *piece, int64_t from, int64_t to) {
  int64_t up = s->st->sweep;
  Affine low = sweep_region(s->st).lo[s->st->along];
  int64_t first = up > 0 ? from / ROW_LAYERS : to / ROW_LAYERS, last = up > 0 ? to / ROW_LAYERS : from / ROW_LAYERS;
  TurnRow before = {0};
  for (int64_t row = first; up * (last - row) >= 0;) {
    int64_t begin = row * ROW_LAYERS, rows = 1;
    TurnRow r = {.from = (int32_t)(from > begin ? from - begin : 0),
                 .to = (int32_t)(to - begin < ROW_LAYERS - 1 ? to - begin : ROW_LAYERS - 1),
                 .low = build_affine(b, s->k.l->m, affine_add_const(low, begin))};
    bool whole = r.from == 0 && r.to == ROW_LAYERS - 1;
    while (whole && up * (last - row - up * rows) >= 0 && (row + up * rows) * ROW_LAYERS >= from &&
           (row + up * rows + 1) * ROW_LAYERS - 1 <= to)
      rows++;
    begin_row(s, b, piece, &r);
    if (before.low)
      end_row(s, b, piece, &before);
    if (rows > 1)
      rows_but_last(s, b, piece, &r, build_int(b, TY_I64, rows));
    before = r;
    row += up * rows;
  }
  end_row(s, b, piece, &before);
}

/* Builds the layers from coordinate `lo` to `hi` of `piece`, one by one; each thread loads and stores its own. */
static void single_layers(Sweep *s, Builder *b, const Piece *piece, Value *lo, Value *hi) {
  Op *loop = build_for(b, lo, build2(b, OP_ADD, hi, build_int(b, TY_I64, 1)), 1, 0, s->n, s->now);
  Builder in = builder_in(b, loop->blocks[0]);
  Value *x = loop->blocks[0]->args[0];
  memcpy(s->now, loop->blocks[0]->args + 1, (size_t)s->n * sizeof *s->now);
  s->k.g[s->st->along] = s->st->sweep > 0 ? x : build2(&in, OP_SUB, build2(&in, OP_ADD, lo, hi), x);
  Point p = point_here(s);
  cell_code(s, &in, piece, &p);
  if (s->n)
    build_yield(&in, s->n, s->now);
  memcpy(s->now, loop->results, (size_t)s->n * sizeof *s->now);
}

/* Builds `rows` whole rows of `piece`, if there are any; the lowest one begins at `low`. */
static void whole_rows(Sweep *s, Builder *b, const Piece *piece, Value *low, Value *rows) {
  Type *types = ARENA_ARRAY(b->arena, Type, s->n + 1);
  for (int i = 0; i < s->n; i++)
    types[i] = s->now[i]->type;
  Op *any = build_if(b, build2(b, OP_GT, rows, build_int(b, TY_I64, 0)), s->n, types);
  Builder in = builder_in(b, any->blocks[0]), none = builder_in(b, any->blocks[1]);
  if (s->n)
    build_yield(&none, s->n, s->now);
  Value *before = build2(&in, OP_SUB, rows, build_int(&in, TY_I64, 1));
  Value *far = build2(&in, OP_MUL, before, build_int(&in, TY_I64, ROW_LAYERS));
  TurnRow r = {.from = 0, .to = ROW_LAYERS - 1, .low = s->st->sweep > 0 ? low : build2(&in, OP_ADD, low, far)};
  begin_row(s, &in, piece, &r);
  rows_but_last(s, &in, piece, &r, rows);
  end_row(s, &in, piece, &r);
  if (s->n)
    build_yield(&in, s->n, s->now);
  memcpy(s->now, any->results, (size_t)s->n * sizeof *s->now);
}

/* Builds the layers of `piece` if params determine their number: whole rows, and the layers below and above these one
 * by one. */
static void other_layers(Sweep *s, Builder *b, const Piece *piece) {
  const Module *m = s->k.l->m;
  int along = s->st->along;
  Affine lo = piece->box.lo[along], low = sweep_region(s->st).lo[along];
  int64_t from, more = affine_diff(lo, low, &from) && from > 0 ? (ROW_LAYERS - from % ROW_LAYERS) % ROW_LAYERS : 0;
  Value *first = build_affine(b, m, lo);
  if (affine_equal(lo, piece->box.hi[along])) {
    single_layers(s, b, piece, first, first);
    return;
  }
  Value *hi = build_affine(b, m, piece->box.hi[along]), *one = build_int(b, TY_I64, 1);
  Value *begin = build_affine(b, m, affine_add_const(lo, more)), *below = build2(b, OP_SUB, begin, one);
  Value *layers = build2(b, OP_ADD, build2(b, OP_SUB, hi, begin), one), *eight = build_int(b, TY_I64, ROW_LAYERS);
  Value *rows = build2(b, OP_DIV, build2(b, OP_MAX, layers, build_int(b, TY_I64, 0)), eight);
  Value *above = build2(b, OP_ADD, begin, build2(b, OP_MUL, rows, eight));
  below = build2(b, OP_MIN, below, hi);
  if (s->st->sweep > 0)
    single_layers(s, b, piece, first, below);
  else
    single_layers(s, b, piece, above, hi);
  whole_rows(s, b, piece, begin, rows);
  if (s->st->sweep > 0)
    single_layers(s, b, piece, above, hi);
  else
    single_layers(s, b, piece, first, below);
}

void turn_layers(Sweep *s, Builder *b, const Piece *piece) {
  int64_t from, to;
  s->on = -1;
  if (!piece_layers(s->st, piece, &from, &to))
    other_layers(s, b, piece);
  else if (to >= from) /* a sweep with no more layers than those at its begin has none after them */
    constant_layers(s, b, piece, from, to);
}
