/* sweep.c: lowers sweeps, stencils whose points depend on each other in order along a dimension. One or two sweeps make
 * up a launch of their own, without tiles in time.
 *
 *     for each piece, in the sweep's order
 *       for each of its layers
 *         compute the values of the piece at the point, store them; shift the values behind by a layer
 *
 * With threads, each thread computes one column, and keeps the values behind the point in registers. Without threads it
 * does the same if columns are rows of memory. Otherwise one thread computes several adjacent columns, layer after
 * layer: the columns of a layer form a vector loop, and the values behind are loaded from where they were stored, which
 * is still in the cache.
 *
 * Stored values have version 1, and so have loads behind the point; all other loads read the values from before the
 * launch. The simulator checks this.
 *
 * The two sweeps of a launch run one after the other along the thread's columns. The first one keeps its results in
 * arrays of one cell a layer (and column), from which the second one reads. With threads these arrays are in shared
 * memory if a core has room for the columns of enough warps. (A private array is in global memory once all threads have
 * one, so the values would be written and read there.) Only few threads are on a core then, and each waits for its
 * loads; so a thread issues the loads of several layers together, before it computes the first of them. If the layers
 * of a column are adjacent in memory, sweep-turn.c loads and stores them.
 *
 * A target is written in place if only the point itself reads its old values; otherwise it is written to the other
 * buffer of a pair, and points that are in no piece are copied. */
#include "passes/base/tuning.h"
#include "passes/lower/columns.h"

#include <string.h>

/* ---- the values behind a point */

/* The most layers behind the point at which the sweep reads field `f`. */
static int32_t most_behind(const Stencil *st, int f) {
  int64_t most = 0;
  for (int i = 0; i < st->npieces; i++)
    for (const Op *op = st->pieces[i].body->first; op; op = op->next) {
      int64_t back = op->code == OP_BEHIND && op->sym == f ? -st->sweep * op->off[st->along] : 0;
      most = back > most ? back : most;
    }
  return (int32_t)most;
}

/* Finds the values that stay in registers. Before the first layer they are 0, and nobody reads them. */
static void keep_behind(Sweep *s, Builder *b) {
  const Module *m = s->k.l->m;
  for (int t = 0; t < s->st->ntargets && !s->rows; t++) {
    int f = s->st->targets[t], most = most_behind(s->st, f);
    for (int32_t back = 1; back <= most; back++)
      ARENA_PUSH(m->arena, s->kept, s->n, ((KeptBehind){f, back}));
  }
  s->now = ARENA_ARRAY(m->arena, Value *, s->n + 1);
  for (int i = 0; i < s->n; i++)
    s->now[i] = build_const(b, m->fields[s->kept[i].field].type, (Const){0});
}

/* The indices in the arrays of columns for the point `off` away along the sweep. Returns the number of indices. */
static int kept_place(const Sweep *s, Builder *b, int64_t off, Value *at[2]) {
  const Module *m = s->k.l->m;
  Box columns = sweep_region(s->st);
  Value *low = build_affine(b, m, affine_add_const(columns.lo[s->st->along], -off));
  at[0] = build_convert(b, TY_I32, build2(b, OP_SUB, s->k.g[s->st->along], low));
  at[1] = s->lane;
  if (s->rows)
    at[1] = build_convert(b, TY_I32, build2(b, OP_SUB, s->k.g[m->grid.rank - 1], s->from));
  return at[1] ? 2 : 1;
}

/* Loads the value that the launch's first sweep has kept of `field`, `off` away along the sweep. */
static Value *load_kept(const Sweep *s, Builder *b, int field, int64_t off) {
  Value *at[2];
  int rank = kept_place(s, b, off, at);
  return build_aload(b, s->k.l->m->fields[field].type, s->array[field], 1, rank, at, NULL);
}

/* Point.behind: the register, or the stored value. */
static Value *behind(Point *p, Builder *b, int field, const int64_t *off) {
  const Sweep *s = p->user;
  int64_t back = -s->st->sweep * off[s->st->along];
  for (int i = 0; i < s->n; i++)
    if (s->kept[i].field == field && s->kept[i].back == back)
      return s->now[i];
  if (s->array[field] >= 0)
    return load_kept(s, b, field, off[s->st->along]);
  Value *v =
      build_load(b, p->m->fields[field].type, store_buffer(s->k.lo, s->k.l, field), p->m->grid.rank, s->k.g, off);
  v->def->ver = 1;
  return v;
}

bool is_kept_before(const Sweep *s, int field) {
  return s->i > 0 && s->array[launch_reads(s->k.l, field, s->i).field] >= 0;
}

/* Point.access: the value from before the launch, in global memory, or the first sweep's result. */
static Value *before(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const Sweep *s = p->user;
  int from = launch_reads(s->k.l, field, s->i).field;
  if (is_kept_before(s, field))
    return load_kept(s, b, from, 0);
  if (s->turned && s->on < 0 &&
      launch_use(s->k.l, from)->stored) { /* only columns of this thread: others may store to theirs */
    Builder in;
    Value *v = build_value_or(b, turn_inside(s, b), p->m->fields[from].type, (Const){0}, &in);
    build_yield(&in, 1,
                (Value *[]){access_global(&in, p->m, from, load_buffer(s->k.lo, from), rules, p->index, off, false)});
    return v;
  }
  return access_global(b, p->m, from, load_buffer(s->k.lo, from), rules, p->index, off, false);
}

/* ---- one point */

/* The value of `field` at the point after the sweep: one of `values`, the results of piece `piece`, or the old
 * value. */
static Value *left_of(Sweep *s, Builder *b, const Piece *piece, Value *const *values, int field) {
  int i = piece_target(piece, field);
  return i >= 0 ? values[i]
                : build_load(b, s->k.l->m->fields[field].type, load_buffer(s->k.lo, field), s->k.l->m->grid.rank,
                             s->k.g, NULL);
}

/* Shifts the values in registers by a layer. */
static void move_on(Sweep *s, Builder *b, const Piece *piece, Value *const *values) {
  Value **next = ARENA_ARRAY(b->arena, Value *, s->n + 1);
  for (int i = 0; i < s->n; i++)
    next[i] = s->kept[i].back > 1 ? s->now[i - 1] : left_of(s, b, piece, values, s->kept[i].field);
  s->now = next;
}

/* Stores `v`, the launch's first sweep's value of `field` at the point, to its array. */
static void store_kept(const Sweep *s, Builder *b, int field, Value *v) {
  Value *at[2];
  int rank = kept_place(s, b, 0, at);
  build_astore(b, s->array[field], 1, v, rank, at, NULL);
}

Point point_here(Sweep *s) {
  Point p = {.m = s->k.l->m, .step = s->k.step, .access = before, .behind = behind, .user = s};
  for (int d = 0; d < p.m->grid.rank; d++)
    p.index[d] = s->k.g[d];
  return p;
}

void cell_code(Sweep *s, Builder *b, const Piece *piece, Point *p) {
  const Module *m = s->k.l->m;
  b->loc = piece->loc;
  Value **values = piece_values(p, b, piece);
  move_on(s, b, piece, values);
  for (int t = 0; t < s->st->ntargets; t++) {
    int f = s->st->targets[t];
    bool gives = piece_target(piece, f) >= 0 || (s->rows && most_behind(s->st, f));
    if (s->array[f] >= 0)
      store_kept(s, b, f, values[piece_target(piece, f)]);
    else if (!gives)
      naive_keep(&s->k, b, f);
    else if (!naive_writes(&s->k, f))
      continue;
    else if (s->turned)
      turn_keep(s, b, t, values[piece_target(piece, f)]);
    else
      build_store(b, store_buffer(s->k.lo, s->k.l, f), left_of(s, b, piece, values, f), m->grid.rank, s->k.g, NULL)
          ->ver = 1;
  }
}

/* Keeps the old values of all targets at the point. */
static void kept_cell(Sweep *s, Builder *b) {
  for (int t = 0; t < s->st->ntargets; t++)
    naive_keep(&s->k, b, s->st->targets[t]);
}

/* Must a sweep of the launch copy points that are in no piece? Only the last sweep can: the results of the first one
 * are kept in arrays. */
static bool copies(const Sweep *s) {
  const Stencil *st = &s->k.l->st[s->k.l->n - 1];
  bool any = false;
  for (int t = 0; t < st->ntargets; t++)
    any = any || (launch_use(s->k.l, st->targets[t])->paired && naive_writes(&s->k, st->targets[t]));
  return any;
}

/* ---- layers */

/* The columns of a thread in the last dimension, from `lo` to `hi` - 1. NULL: it has one column. */
typedef struct Columns {
  Value *lo, *hi;
} Columns;

/* Opens an if for the columns of the pieces, which all have the same bounds in the other dimensions. */
static Builder in_columns(const Sweep *s, Builder *b, Builder *other) {
  Box box = s->st->pieces[0].box;
  Value *at[MAX_RANK];
  for (int d = 0; d < box.rank; d++)
    at[d] = s->k.g[d];
  at[s->st->along] = build_affine(b, s->k.l->m, box.lo[s->st->along]);
  box.hi[s->st->along] = box.lo[s->st->along];
  return build_either(b, build_inside(b, box.rank, at, &box), other);
}

/* Builds one layer of `piece` (NULL: of no piece), whose coordinate is s->k.g[along], at `b`. */
static void layer_code(Sweep *s, Builder *b, const Columns *c, const Piece *piece) {
  Builder in = *b, other = *b;
  int last = s->k.l->m->grid.rank - 1;
  if (s->rows) {
    Op *loop = build_for(b, c->lo, c->hi, 1, FOR_PARALLEL, 0, NULL);
    in = other = builder_in(b, loop->blocks[0]);
    s->k.g[last] = loop->blocks[0]->args[0];
  }
  if (s->rows && piece && copies(s)) {
    Builder out;
    in = in_columns(s, &in, &out);
    kept_cell(s, &out);
  }
  Point p = point_here(s);
  if (piece)
    cell_code(s, &in, piece, &p);
  else
    kept_cell(s, &in);
  if (!s->rows)
    *b = in;
}

/* The most layers of a column whose loads are issued together. */
enum { MOST_AHEAD = 8 };

/* The number of layers, of `layers` in all, whose loads are issued together, a *row* of layers: the number that leaves
 * the fewest over. */
static int32_t layers_in_a_row(int64_t layers) {
  int32_t best = 1, most = MOST_AHEAD;
  for (int32_t n = most / 2 > 1 ? most / 2 : 1; n <= most && n <= layers; n++)
    best = layers % n <= layers % best || best == 1 ? n : best;
  return layers < most ? (int32_t)layers : best;
}

/* Issues the loads of a row of `layers` layers of `piece`, the first of them at `at` along the sweep. Returns their
 * points. */
static Point *begin_row(Sweep *s, Builder *b, const Piece *piece, Value *at, int32_t layers) {
  const Module *m = s->k.l->m;
  int along = s->st->along;
  Point *p = ARENA_ARRAY(m->arena, Point, layers);
  for (int32_t i = 0; i < layers; i++) {
    s->k.g[along] = build2(b, OP_ADD, at, build_int(b, TY_I64, s->st->sweep * i));
    p[i] = point_here(s);
    for (const Op *op = piece->body->first; op; op = op->next)
      if (op->code == OP_ACCESS) {
        Rules rules = access_rules(m, &piece->box, op->sym, op->off);
        point_access(&p[i], b, op->sym, op->off, &rules);
      }
  }
  return p;
}

/* The values that the points of a row have loaded, into `out` (NULL: count only). Returns their number. */
static int32_t loaded(const Point *p, int32_t layers, Value **out) {
  int32_t n = 0;
  for (int32_t i = 0; i < layers; i++)
    n += point_built(&p[i], out ? out + n : NULL);
  return n;
}

/* The points of a row that begins at `at` along the sweep, with the loaded values `values`; its layers have the
 * accesses of those of row `like`. */
static Point *taken(Sweep *s, Builder *b, const Point *like, int32_t layers, Value *at, Value *const *values) {
  Point *p = ARENA_ARRAY(b->arena, Point, layers);
  for (int32_t i = 0; i < layers; i++) {
    s->k.g[s->st->along] = build2(b, OP_ADD, at, build_int(b, TY_I64, s->st->sweep * i));
    p[i] = point_here(s);
    values += point_take(&p[i], b, &like[i], values);
  }
  return p;
}

/* Computes the layers of a row. */
static void end_row(Sweep *s, Builder *b, const Piece *piece, Point *p, int32_t layers) {
  for (int32_t i = 0; i < layers; i++) {
    for (int d = 0; d < p->m->grid.rank; d++)
      s->k.g[d] = p[i].index[d];
    cell_code(s, b, piece, &p[i]);
  }
}

/* Builds the loop over `rows` rows of `piece` without the last one, with `row` layers each, from `begin` on. `p` is the
 * first row, whose loads have been issued; each iteration issues the loads of the next row, and computes its own.
 * Returns the last row, with its loads issued. */
static Point *rows_but_last(Sweep *s, Builder *b, const Piece *piece, Point *p, Affine begin, int32_t row,
                            int64_t rows) {
  const Module *m = s->k.l->m;
  int32_t n = s->n, all = n + loaded(p, row, NULL);
  int64_t on = (int64_t)s->st->sweep * row;
  Value **carried = ARENA_ARRAY(m->arena, Value *, all + 1);
  memcpy(carried, s->now, (size_t)n * sizeof *carried);
  loaded(p, row, carried + n);
  Op *loop = build_for(b, build_int(b, TY_I64, 1), build_int(b, TY_I64, rows), 1, 0, all, carried);
  Builder in = builder_in(b, loop->blocks[0]);
  Value **args = loop->blocks[0]->args;
  Value *done = build2(&in, OP_MUL, args[0], build_int(&in, TY_I64, on));
  Value *next = build2(&in, OP_ADD, build_affine(&in, m, begin), done);
  Value *at = build2(&in, OP_SUB, next, build_int(&in, TY_I64, on));
  Point *now = taken(s, &in, p, row, at, args + 1 + n), *then = begin_row(s, &in, piece, next, row);
  memcpy(s->now, args + 1, (size_t)n * sizeof *args);
  end_row(s, &in, piece, now, row);
  memcpy(carried, s->now, (size_t)n * sizeof *carried);
  loaded(then, row, carried + n);
  if (all)
    build_yield(&in, all, carried);
  memcpy(s->now, loop->results, (size_t)n * sizeof *carried);
  at = build_affine(b, m, affine_add_const(begin, (rows - 1) * on));
  return taken(s, b, p, row, at, loop->results + n);
}

/* Builds the `layers` layers of `piece` from `lo` to `hi` in rows; the loads of a row are issued before the
 * previous row is computed. */
static void rows_code(Sweep *s, Builder *b, Affine lo, Affine hi, const Piece *piece, int64_t layers) {
  const Module *m = s->k.l->m;
  int32_t row = layers_in_a_row(layers), rest = (int32_t)(layers % row);
  int64_t rows = layers / row;
  Affine begin = s->st->sweep > 0 ? lo : hi, end = affine_add_const(begin, s->st->sweep * (layers - rest));
  Point *p = begin_row(s, b, piece, build_affine(b, m, begin), row), *last = NULL;
  if (rows > 1)
    p = rows_but_last(s, b, piece, p, begin, row, rows);
  if (rest)
    last = begin_row(s, b, piece, build_affine(b, m, end), rest);
  end_row(s, b, piece, p, row);
  if (rest)
    end_row(s, b, piece, last, rest);
}

/* Builds the layers from `lo` to `hi`, all of `piece` (NULL: of no piece), in the sweep's order. */
static void layers_code(Sweep *s, Builder *b, const Columns *c, Affine lo, Affine hi, const Piece *piece) {
  const Module *m = s->k.l->m;
  int along = s->st->along;
  if (s->turned && piece) {
    turn_layers(s, b, piece);
    return;
  }
  if (affine_equal(lo, hi)) {
    s->k.g[along] = build_affine(b, m, lo);
    layer_code(s, b, c, piece);
    return;
  }
  int64_t more;
  if (s->lane && piece && affine_diff(hi, lo, &more)) {
    if (more >= 0) /* a sweep with no more layers than those at its begin has none after them */
      rows_code(s, b, lo, hi, piece, more + 1);
    return;
  }
  Value *from = build_affine(b, m, lo), *end = build_affine(b, m, affine_add_const(hi, 1));
  Op *loop = build_for(b, from, end, 1, 0, s->n, s->now);
  Builder in = builder_in(b, loop->blocks[0]);
  Value *x = loop->blocks[0]->args[0];
  for (int i = 0; i < s->n; i++)
    s->now[i] = loop->blocks[0]->args[i + 1];
  s->k.g[along] = x;
  if (s->st->sweep < 0)
    s->k.g[along] = build2(&in, OP_SUB, build_affine(&in, m, affine_add(m->arena, lo, hi)), x);
  layer_code(s, &in, c, piece);
  if (s->n)
    build_yield(&in, s->n, s->now);
  for (int i = 0; i < s->n; i++)
    s->now[i] = loop->results[i];
}

/* Builds all layers of the pieces, and, if points are copied, those below and above them. */
static void column_code(Sweep *s, Builder b, const Columns *c) {
  const Module *m = s->k.l->m;
  int along = s->st->along;
  const Piece *first = &s->st->pieces[0], *last = &s->st->pieces[s->st->npieces - 1];
  const Piece *low = s->st->sweep > 0 ? first : last, *high = s->st->sweep > 0 ? last : first;
  keep_behind(s, &b);
  for (int i = 0; i < s->st->npieces; i++)
    layers_code(s, &b, c, s->st->pieces[i].box.lo[along], s->st->pieces[i].box.hi[along], &s->st->pieces[i]);
  s->n = 0;
  bool ends = copies(s) && s->i == s->k.l->n - 1;
  if (ends && !affine_equal(m->grid.lo[along], low->box.lo[along]))
    layers_code(s, &b, c, m->grid.lo[along], affine_add_const(low->box.lo[along], -1), NULL);
  if (ends && !affine_equal(m->grid.hi[along], high->box.hi[along]))
    layers_code(s, &b, c, affine_add_const(high->box.hi[along], 1), m->grid.hi[along], NULL);
}

/* ---- the kernel */

/* The columns that the kernel covers, as one point each in dimension `along`: those of the pieces, or the whole grid;
 * in a part, those that launches store. */
static Box covered(const Sweep *s) {
  const Module *m = s->k.l->m;
  Box box = box_of_part(m, copies(s) ? m->grid : s->st->pieces[0].box);
  box.lo[s->st->along] = box.hi[s->st->along] = affine_const(0);
  return box;
}

/* Are the columns that the launch keeps in shared memory? They are if a core with threads has room for those of enough
 * warps. */
static bool shares_columns(const TargetInfo *t, const Launch *l) {
  int64_t bytes = 0;
  for (int f = 0; f < l->m->nfields; f++)
    bytes += launch_keeps(l, f) ? kept_layers(l) * t->lanes * type_size(l->m->fields[f].type) : 0;
  return t->simt && bytes > 0 && l->m->grid.rank > 1 && bytes <= t->shared_bytes &&
         (int64_t)SCHEDULERS * bytes <= t->shared_per_core;
}

int beside_columns(const Sweep *s) {
  int last = s->k.l->m->grid.rank - 1;
  return s->st->along == last ? last - 1 : last;
}

/* The threads of a block, given the `block` of other stencils: one along the sweep, and in the last other dimension
 * enough for a few warps, or for a single warp if columns are kept in shared memory. Without threads, the columns of a
 * thread. */
static void sweep_block(const Sweep *s, const int32_t *block, int32_t *out) {
  const TargetInfo *t = s->k.lo->c->target;
  int rank = s->k.l->m->grid.rank, along = s->st->along, last = beside_columns(s);
  bool shares = shares_columns(t, s->k.l) || s->turned;
  int32_t threads = 1;
  for (int d = 0; d < MAX_RANK; d++)
    out[d] = d < rank && d != along && t->simt && !shares ? block[d] : 1;
  if (shares) {
    out[last] = t->lanes;
    return;
  }
  if (s->rows)
    out[last] = (int32_t)tuning.sweep_columns;
  for (int d = 0; d < rank; d++)
    threads *= out[d];
  while (t->simt && last >= 0 && threads < tuning.sweep_threads) {
    out[last] *= 2;
    threads *= 2;
  }
}

/* The columns of the thread that lie in `box`. */
static Columns clip(const Sweep *s, Builder *b, const Box *box, int32_t width) {
  const Module *m = s->k.l->m;
  int last = m->grid.rank - 1;
  Value *first = s->k.g[last], *end = build2(b, OP_ADD, first, build_int(b, TY_I64, width));
  return (Columns){build2(b, OP_MAX, first, build_affine(b, m, box->lo[last])),
                   build2(b, OP_MIN, end, build_affine(b, m, affine_add_const(box->hi[last], 1)))};
}

/* Builds the code of all sweeps of the launch at `b`, one after the other. */
static void sweeps_code(Sweep *s, Builder b, const Columns *c) {
  for (s->i = 0; s->i < s->k.l->n; s->i++) {
    s->st = &s->k.l->st[s->i];
    s->n = 0;
    s->kept = NULL;
    column_code(s, b, c);
  }
}

/* Builds the code of a thread's columns at `b`; s->k.g is the first one, and there are `width` in the last
 * dimension. */
static void columns_code(Sweep *s, Builder b, const Box *box, int32_t width) {
  const Module *m = s->k.l->m;
  int along = s->st->along, last = m->grid.rank - 1;
  Sweep rest = *s;
  Builder out = b, in = b;
  rest.st = &s->k.l->st[s->k.l->n - 1];
  if (s->rows) {
    Box rows = copies(s) ? *box : s->st->pieces[0].box;
    Columns c = clip(s, &b, &rows, width);
    s->from = s->k.g[last];
    rest.k.g[last] = build_affine(&b, m, rows.lo[last]);
    sweeps_code(s, copies(s) ? b : in_columns(&rest, &b, &out), &c);
    return;
  }
  if (s->turned) {
    int beside = beside_columns(s);
    s->first = build2(&b, OP_SUB, s->k.g[beside], build_convert(&b, TY_I64, s->lane));
    s->k.g[beside] = build2(&b, OP_MIN, s->k.g[beside], build_affine(&b, m, s->st->pieces[0].box.hi[beside]));
  }
  in = s->turned ? b : in_columns(s, &b, &out);
  sweeps_code(s, in, NULL);
  if (copies(&rest))
    layers_code(&rest, &out, NULL, m->grid.lo[along], m->grid.hi[along], NULL);
}

/* Gives kernel number `index` the arrays for kept columns, of `width` adjacent columns each. */
static void make_arrays(Sweep *s, int index, int32_t width) {
  const Launch *l = s->k.l;
  Kernel *k = &s->k.lo->out->kernels[index];
  bool shared = s->rows || shares_columns(s->k.lo->c->target, l);
  s->array = ARENA_ARRAY(l->m->arena, int32_t, l->m->nfields + 1);
  for (int f = 0; f < l->m->nfields; f++) {
    s->array[f] = -1;
    if (!launch_keeps(l, f))
      continue;
    int32_t cells[MAX_RANK] = {kept_layers(l), width};
    s->array[f] = kernel_array_of(s->k.lo, k, shared ? 2 : 1, arena_printf(l->m->arena, "k%s", l->m->fields[f].name),
                                  l->m->fields[f].type, shared ? SPACE_SHARED : SPACE_PRIVATE, cells, NULL, NULL);
  }
}

void sweep_launch(Lowering *lo, HostSeq *seq, const Launch *l, const int32_t *block, int steps) {
  Sweep s = {.k = {.lo = lo, .l = l, .only = -1}, .st = l->st};
  bool threads = lo->c->target->simt;
  int32_t own[MAX_RANK], one[MAX_RANK];
  Value *start[MAX_RANK];
  s.rows = !threads && s.st->along < l->m->grid.rank - 1;
  s.turned = (l->n == 1 || shares_columns(lo->c->target, l)) && turn_suits(&s);
  sweep_block(&s, block, own);
  for (int d = 0; d < MAX_RANK; d++)
    one[d] = 1;
  const char *name = arena_printf(lo->out->arena, "%s_sweep_%s", lo->m->name, l->st->name);
  if (l->n > 1)
    name = arena_printf(lo->out->arena, "%s_%s", name, l->st[1].name);
  int index = lowering_kernel(lo, name, steps, l->st->loc);
  make_arrays(&s, index, l->m->grid.rank > 1 ? own[beside_columns(&s)] : 1);
  Box box = covered(&s);
  Builder b = naive_begin(lo, index, threads ? own : one, threads ? NULL : own, &box, start, s.k.g);
  for (int d = 0; d < l->m->grid.rank && !threads; d++)
    s.k.g[d] = start[d];
  s.k.step = stencils_use_step(l->n, l->st) ? build_step(&b) : NULL;
  s.kernel = index;
  s.on = -1;
  s.lane = s.turned || shares_columns(lo->c->target, l) ? build_dim(&b, OP_THREAD, beside_columns(&s)) : NULL;
  columns_code(&s, b, &box, own[l->m->grid.rank - 1]);
  host_launch(lo, seq, index);
}
