/* lower-rows.c: reductions by kernels that process tiles of rows, for targets with threads.
 *
 * The order of combination (ir/run/run.h, "Reductions") is first within each row of the region, then over the rows. So
 * any kernel that has whole rows can do the first part, in tiles of any shape, together with other work at the same
 * points:
 *
 *     launch @cg_overlap_apply_move_rr    at each point: q = A(d); x, r = ...; combines r * r in each row -> @rr.rows
 *     launch @cg_update_rr_rows           combines the rows of each of the 1024 blocks -> @rr.blocks
 *     launch @cg_update_rr_all            combines the blocks
 *
 * - A block of 256 threads, the lanes of a row, has a tile of up to 8 rows, 2 x 4 in three dimensions. A thread
 *   computes its point in each row, then the points 256 further on; so values that adjacent rows share are loaded once.
 *   At the end a warp combines each row, through shared memory and shuffles.
 * - The values of rows are in a hidden temp field without the last dimension. If there are few, the kernel of one block
 *   combines them itself.
 * - Such a kernel also computes the stencils of a launch (`lower_joined`) if updates follow that reduce over the same
 *   points and read the launch's results at the point alone, and if that moves fewer bytes through memory and cache
 *   than two kernels. */
#include "passes/lower/reduce.h"

#include <math.h>

enum {
  TILE_ROWS = 8,         /* most rows of a tile */
  ENOUGH_TILES = 512,    /* least number of tiles, if there are enough rows */
  FEW_ROWS = 8,          /* most rows of a block that one kernel combines */
  ROWS_AHEAD = 32,       /* rows whose loads are in flight together */
  PLANE_ROWS_AHEAD = 16, /* the same if the next row may be in the next plane. LLVM's strength reduction takes 1.1 s for
                            32 addresses that are each selected from two */
  MOST_JOINED = 2,       /* most updates that are joined to a launch */
  FAR_ROWS = 12,         /* rows on each side that a joined reduction may read */
  TILES_AT_ONCE = 2,     /* tiles for which a core should have room */
  OTHER_REGISTERS = 30,  /* registers of a thread for other values than rows */
  MOST_REGISTERS = 160,  /* most registers of a thread, those for rows included */
};

static Value *i64(Builder *b, int64_t x) { return build_int(b, TY_I64, x); }
static Value *i32(Builder *b, int64_t x) { return build_int(b, TY_I32, x); }

/* ---- rows and where their values are */

/* The number of rows of `over` under the default params; negative if not known. */
static double count_default_rows(const Module *m, const Box *over) {
  const Const *scalars = default_scalars(m);
  double n = 1;
  for (int d = 0; d < over->rank - 1 && scalars; d++)
    n *= fmax(0, (double)affine_eval(over->hi[d], scalars, NULL) - (double)affine_eval(over->lo[d], scalars, NULL) + 1);
  return scalars ? n : -1;
}

bool rows_are_few(const Module *m, const Box *over) {
  double n = count_default_rows(m, over);
  return n >= 0 && n <= FEW_ROWS * REDUCE_BLOCKS;
}

/* Does a body read another level of the grid? */
static bool is_scaled(const Block *body) {
  for (const Op *op = body->first; op; op = op->next)
    if (op_is_scaled(op))
      return true;
  return false;
}

/* Can `r` be computed from the values of rows? */
static bool has_rows(const Lowering *lo, const Reduction *r) {
  const Module *m = lo->m;
  return lo->c->target->simt && m->grid.rank > 1 && !m->members && !m->slice_of && !m->part && !r->each &&
         !box_is_point(&r->over) && !is_scaled(r->body);
}

/* Adds a hidden temp field for the values of the rows of `r`, and its buffer. Returns the buffer. */
static int add_rows(Lowering *lo, const Reduction *r) {
  Module *out = lo->out;
  Arena *a = out->arena;
  const char *name = arena_printf(a, "%s.rows", r->name);
  int last = r->over.rank - 1;
  for (int i = 2; module_find_field(out, name) >= 0 || module_find_buffer(out, name) >= 0; i++)
    name = arena_printf(a, "%s.rows.%d", r->name, i);
  Field f = {.name = name, .type = r->type, .box = r->over, .temp = true, .loc = r->loc};
  f.box.lo[last] = f.box.hi[last] = affine_const(0);
  f.outside[last] = OUTSIDE_ALL;
  Field *all = ARENA_ARRAY(a, Field, out->nfields + 1);
  for (int i = 0; i < out->nfields; i++)
    all[i] = out->fields[i];
  all[out->nfields] = f;
  out->fields = all;
  Buffer b = {.name = name, .kind = BUFFER_FIELD, .field = out->nfields++};
  ARENA_PUSH(a, out->buffers, out->nbuffers, b);
  return out->nbuffers - 1;
}

/* Does `body` read fields at rows other than the point's? */
static bool reads_rows(const Block *body, int rank) {
  bool reads = false;
  for (const Op *op = body->first; op; op = op->next)
    for (int d = 0; d < rank - 1 && op->code == OP_ACCESS; d++)
      reads = reads || op->off[d] != 0;
  return reads;
}

/* In two dimensions, a reduction that reads adjacent rows gets no tiles: blocks of one row each find these rows in the
 * cache. */
int rows_buffer(Lowering *lo, const Reduction *r) {
  bool tiles = has_rows(lo, r) && (r->over.rank > 2 || !reads_rows(r->body, r->over.rank));
  double n = tiles ? count_default_rows(lo->m, &r->over) : 0;
  return n < 0 || n > REDUCE_BLOCKS ? add_rows(lo, r) : -1;
}

/* The buffer for the values of the rows of update number `i`, which is `r`; makes one if there is none. */
static int take_rows(Lowering *lo, int i, const Reduction *r) {
  if (!lo->rows)
    lo->rows = ARENA_ARRAY(lo->out->arena, int32_t, lo->m->nupdates + 1);
  if (lo->rows[i] <= 0)
    lo->rows[i] = add_rows(lo, r) + 1;
  return lo->rows[i] - 1;
}

int rows_of_update(Lowering *lo, int i, const Reduction *r) {
  return lo->rows && lo->rows[i] ? lo->rows[i] - 1 : rows_buffer(lo, r);
}

bool rows_at_hand(Lowering *lo, int i) {
  bool joined = lo->joined && lo->joined[i];
  if (joined)
    lo->joined[i] = false;
  return joined;
}

/* ---- the kernel of a tile of rows */

/* A kernel in the making. of: the reductions that it computes, all over the region `over`, with their updates' numbers
 * and the buffers for the values of rows. l: the launch whose stencils it computes (NULL: none). tile: the number of
 * rows in each dimension but the last, `count` in all. g: the block's first row. lane: the thread's number, i32. first,
 * end: the bounds of rows. array: for each reduction the lanes of all rows. */
typedef struct Tile {
  Lowering *lo;
  const Launch *l;
  int n, update[MOST_JOINED], buffer[MOST_JOINED], array[MOST_JOINED];
  const Reduction *of[MOST_JOINED];
  const Box *over;
  int rank, count;
  int32_t tile[MAX_RANK];
  Value *g[MAX_RANK], *lane, *first, *end, *step;
} Tile;

/* A point in the making, at `at`, `on` rows from the block's first row. inner: all accesses to other rows stay within
 * fields. now: the values that the stencils have computed at the point, by field, NULL: none. */
typedef struct RowPoint {
  const Tile *w;
  bool inner;
  int32_t on[MAX_RANK];
  Value *at[MAX_RANK], **now;
} RowPoint;

/* Point.access: the value that a stencil has computed at the point, or a load. In an inner tile the address is the
 * tile's first row plus a constant, so that rows of a tile share equal loads. */
static Value *row_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const RowPoint *x = p->user;
  const Tile *w = x->w;
  const Field *f = &p->m->fields[field];
  int last = w->rank - 1;
  Rules led = {0};
  Value *coords[MAX_RANK];
  int64_t rest[MAX_RANK] = {0};
  if (x->now[field])
    return x->now[field];
  if (!x->inner)
    return access_global(b, p->m, field, load_buffer(w->lo, field), rules, p->index, off, false);
  led.dim[last] = rules->dim[last];
  for (int d = 0; d < w->rank; d++) {
    bool guarded = field_lacks(f, d) || led.dim[d] != OUTSIDE_NONE;
    coords[d] = guarded ? guarded_place(b, f, &led, x->at, off, d, 1) : d < last ? w->g[d] : x->at[d];
    rest[d] = guarded ? 0 : (d < last ? x->on[d] : 0) + off[d];
  }
  Value *v = build_load(b, f->type, load_buffer(w->lo, field), w->rank, coords, rest);
  return inside_or_constant(b, p->m, field, &led, x->at, off, v);
}

/* The values of piece `piece` at the point. */
static Value **values_at(RowPoint *x, Builder *b, const Piece *piece) {
  Point p = {.m = x->w->lo->m, .step = x->w->step, .access = row_access, .user = x};
  for (int d = 0; d < x->w->rank; d++)
    p.index[d] = x->at[d];
  return piece_values(&p, b, piece);
}

/* Computes the stencils at the point into x->now, and the values to reduce into `value`. */
static void point_values(RowPoint *x, Builder *b, Value **value) {
  const Tile *w = x->w;
  x->now = ARENA_ARRAY(b->arena, Value *, w->lo->m->nfields + 1);
  for (int i = 0; w->l && i < w->l->n; i++) {
    const Stencil *st = &w->l->st[i];
    Value **made = values_at(x, b, &st->pieces[0]);
    for (int t = 0; t < st->pieces[0].ntargets; t++)
      x->now[st->pieces[0].targets[t]] = made[t];
  }
  for (int i = 0; i < w->n; i++) {
    Piece body = {.box = *w->over, .ntargets = 1, .body = w->of[i]->body};
    value[i] = values_at(x, b, &body)[0];
  }
}

/* Stores the results of the stencils at the point. */
static void store_point(const RowPoint *x, Builder *b) {
  const Tile *w = x->w;
  for (int f = 0; w->l && f < w->lo->m->nfields; f++)
    if (x->now[f] && launch_use(w->l, f)->stored)
      build_store(b, store_buffer(w->lo, w->l, f), x->now[f], w->rank, x->at, NULL);
}

/* The distances of row number `r` of the tile from its first row. */
static void row_on(const Tile *w, int r, int32_t on[MAX_RANK]) {
  for (int d = w->rank - 2; d >= 0; d--) {
    on[d] = r % w->tile[d];
    r /= w->tile[d];
  }
}

/* Stores the lane's value `v` of row `row` (i32) of reduction number `i` to shared memory, for the warp that combines
 * the row. */
static void leave_lane(const Tile *w, Builder *b, int i, Value *row, Value *v) {
  Value *at[MAX_RANK] = {i32(b, 0), i32(b, 0), i32(b, 0), i32(b, 0)};
  at[w->rank - 1] = build2(b, OP_ADD, build2(b, OP_MUL, row, i32(b, REDUCE_LANES)), w->lane);
  build_astore(b, w->array[i], 0, v, w->rank, at, NULL);
}

/* Opens a loop over the thread's points of a row, with `n` carried values. *at becomes the last coordinate, *in a
 * builder for the body. */
static Op *each_point(const Tile *w, Builder *b, int n, Value *const *init, Value **at, Builder *in) {
  Value *from = build2(b, OP_ADD, w->first, build_convert(b, TY_I64, w->lane));
  Op *loop = build_for(b, from, w->end, REDUCE_LANES, 0, n, init);
  *at = loop->blocks[0]->args[0];
  *in = builder_in(b, loop->blocks[0]);
  return loop;
}

/* The identities of all reductions for `rows` rows, as initial values. */
static void identities(const Tile *w, Builder *b, int rows, Value **out) {
  for (int r = 0; r < rows; r++)
    for (int i = 0; i < w->n; i++) {
      const Reduction *of = w->of[i];
      out[r * w->n + i] = build_const(b, of->type, reduce_identity(of->op, of->type));
    }
}

/* Computes all rows of the tile together, for a tile in which no access leaves a field in the dimensions of rows. */
static void rows_together(const Tile *w, Builder *b) {
  int n = w->count * w->n;
  Value *acc[TILE_ROWS * MOST_JOINED], *value[TILE_ROWS * MOST_JOINED], *at;
  RowPoint x[TILE_ROWS];
  Builder in;
  identities(w, b, w->count, acc);
  Op *loop = each_point(w, b, n, acc, &at, &in);
  for (int r = 0; r < w->count; r++) {
    x[r] = (RowPoint){.w = w, .inner = true};
    row_on(w, r, x[r].on);
    for (int d = 0; d < w->rank - 1; d++)
      x[r].at[d] = x[r].on[d] ? build2(&in, OP_ADD, w->g[d], i64(&in, x[r].on[d])) : w->g[d];
    x[r].at[w->rank - 1] = at;
    point_values(&x[r], &in, &value[r * w->n]);
  }
  for (int r = 0; r < w->count; r++)
    store_point(&x[r], &in);
  for (int k = 0; k < n; k++)
    value[k] = build_reduce_combine(&in, w->of[k % w->n]->op, loop->blocks[0]->args[1 + k], value[k]);
  build_yield(&in, n, value);
  for (int k = 0; k < n; k++)
    leave_lane(w, b, k % w->n, i32(b, k / w->n), loop->results[k]);
}

/* Sets `at` to the coordinates of row number `row` (i32) of the tile, in each dimension but the last. Is the row in the
 * region? */
static Value *find_row(const Tile *w, Builder *b, Value *row, Value **at) {
  Box rows = *w->over;
  rows.rank = w->rank - 1;
  for (int d = w->rank - 2; d >= 0; d--) {
    Value *on = d ? build2(b, OP_REM, row, i32(b, w->tile[d])) : row;
    at[d] = build2(b, OP_ADD, w->g[d], build_convert(b, TY_I64, on));
    row = d ? build2(b, OP_DIV, row, i32(b, w->tile[d])) : row;
  }
  return build_inside(b, rows.rank, at, &rows);
}

/* Computes the rows of the tile that are in the region, one after the other. */
static void rows_apart(const Tile *w, Builder *b) {
  Op *rows = build_for(b, i32(b, 0), i32(b, w->count), 1, FOR_APART, 0, NULL);
  Builder each = builder_in(b, rows->blocks[0]), in;
  RowPoint x = {.w = w};
  Value *row = rows->blocks[0]->args[0], *acc[MOST_JOINED], *value[MOST_JOINED];
  Type types[MOST_JOINED];
  for (int i = 0; i < w->n; i++)
    types[i] = w->of[i]->type;
  Op *has = build_if(&each, find_row(w, &each, row, x.at), w->n, types);
  Builder some = builder_in(&each, has->blocks[0]), none = builder_in(&each, has->blocks[1]);
  identities(w, &none, 1, acc);
  build_yield(&none, w->n, acc);
  identities(w, &some, 1, acc);
  Op *loop = each_point(w, &some, w->n, acc, &x.at[w->rank - 1], &in);
  point_values(&x, &in, value);
  store_point(&x, &in);
  for (int i = 0; i < w->n; i++)
    value[i] = build_reduce_combine(&in, w->of[i]->op, loop->blocks[0]->args[1 + i], value[i]);
  build_yield(&in, w->n, value);
  build_yield(&some, w->n, loop->results);
  for (int i = 0; i < w->n; i++)
    leave_lane(w, &each, i, row, has->results[i]);
}

/* Makes each warp combine the lanes of a row for reduction number `i`, and store the row's value. */
static void combine_row(const Tile *w, Builder *b, int i) {
  const Reduction *r = w->of[i];
  Value *warp = build2(b, OP_DIV, w->lane, i32(b, WARP)), *lane = build2(b, OP_REM, w->lane, i32(b, WARP));
  Value *row = build2(b, OP_REM, warp, i32(b, w->count)), *x[REDUCE_LANES / WARP], *to[MAX_RANK] = {0};
  Value *at[MAX_RANK] = {i32(b, 0), i32(b, 0), i32(b, 0), i32(b, 0)};
  at[w->rank - 1] = build2(b, OP_ADD, build2(b, OP_MUL, row, i32(b, REDUCE_LANES)), lane);
  for (int k = 0; k < REDUCE_LANES / WARP; k++) {
    int64_t off[MAX_RANK] = {0};
    off[w->rank - 1] = k * WARP;
    x[k] = build_aload(b, r->type, w->array[i], 0, w->rank, at, off);
  }
  for (int n = REDUCE_LANES / WARP / 2; n > 0; n /= 2)
    for (int k = 0; k < n; k++)
      x[k] = build_reduce_combine(b, r->op, x[k], x[k + n]);
  for (int n = WARP / 2; n > 0; n /= 2)
    x[0] = build_reduce_combine(b, r->op, x[0], build_shuffle(b, x[0], n));
  Value *is = build2(b, OP_AND, build2(b, OP_EQ, lane, i32(b, 0)), build2(b, OP_LT, warp, i32(b, w->count)));
  Builder in = build_then(b, build2(b, OP_AND, is, find_row(w, b, row, to)));
  to[w->rank - 1] = i64(&in, 0);
  build_store(&in, w->buffer[i], x[0], w->rank, to, NULL);
}

/* The search for the condition `v` under which the tile's rows, and all other rows that they read under an outside
 * rule, lie within the region and within fields. */
typedef struct Reach {
  const Tile *w;
  Builder *b;
  Value *v;
} Reach;

/* Adds to the condition that the tile's rows, moved by `off` in dimension d, lie in `lo` .. `hi`. The tests are no
 * `inside` ops, because passes would make kernels of their own for the few tiles at edges. */
static void must_be_in(Reach *r, int d, int64_t off, Affine lo, Affine hi) {
  const Module *m = r->w->lo->m;
  Value *first = build_affine(r->b, m, affine_add_const(lo, -off));
  Value *last = build_affine(r->b, m, affine_add_const(hi, 1 - r->w->tile[d] - off));
  Value *in = build2(r->b, OP_AND, build2(r->b, OP_GE, r->w->g[d], first), build2(r->b, OP_LE, r->w->g[d], last));
  r->v = r->v ? build2(r->b, OP_AND, r->v, in) : in;
}

/* AccessFn of a Reach. */
static void note_reach(void *user, const Piece *piece, int field, const int64_t *off) {
  Reach *r = user;
  const Module *m = r->w->lo->m;
  Rules rules = access_rules(m, &piece->box, field, off);
  for (int d = 0; d < r->w->rank - 1; d++)
    if (rules.dim[d] != OUTSIDE_NONE && !field_lacks(&m->fields[field], d))
      must_be_in(r, d, off[d], m->fields[field].box.lo[d], m->fields[field].box.hi[d]);
}

/* Calls fn for each access of the stencils and updates. */
static void each_access(const Tile *w, AccessFn fn, void *user) {
  for (int i = 0; w->l && i < w->l->n; i++)
    stencil_accesses(&w->l->st[i], fn, user);
  for (int i = 0; i < w->n; i++) {
    Piece body = {.box = *w->over, .body = w->of[i]->body};
    Stencil st = {.npieces = 1, .pieces = &body};
    stencil_accesses(&st, fn, user);
  }
}

/* Are all rows of the tile in the region, and all rows that they read under an outside rule within fields? */
static Value *is_inner(const Tile *w, Builder *b) {
  Reach r = {w, b, NULL};
  for (int d = 0; d < w->rank - 1; d++)
    must_be_in(&r, d, 0, w->over->lo[d], w->over->hi[d]);
  each_access(w, note_reach, &r);
  return r.v;
}

/* The cells of a field that a tile reads for one point of each row: for each row, by its distance from the first one, a
 * bit for each distance from the point along the row; the number of rows and cells; and whether some are too far
 * away. */
typedef struct Touched {
  const Tile *w;
  int field, rows, cells;
  bool far;
  uint64_t row[2 * FAR_ROWS + TILE_ROWS][2 * FAR_ROWS + TILE_ROWS];
} Touched;

/* AccessFn of a Touched. */
static void note_row(void *user, const Piece *piece, int field, const int64_t *off) {
  Touched *t = user;
  const Field *f = &t->w->lo->m->fields[field];
  (void)piece;
  if (field != t->field)
    return;
  for (int d = 0; d < t->w->rank; d++)
    t->far = t->far || off[d] < -FAR_ROWS || off[d] > FAR_ROWS;
  for (int r = 0; r < t->w->count && !t->far; r++) {
    int32_t on[MAX_RANK] = {0};
    int64_t at[2] = {FAR_ROWS, FAR_ROWS};
    uint64_t bit = (uint64_t)1 << (off[t->w->rank - 1] + FAR_ROWS);
    row_on(t->w, r, on);
    for (int d = 0; d < t->w->rank - 1; d++)
      at[d] += field_lacks(f, d) ? 0 : on[d] + off[d];
    uint64_t *row = &t->row[at[0]][at[1]];
    t->rows += *row == 0;
    t->cells += (*row & bit) == 0;
    *row |= bit;
  }
}

/* The cells of field `f` that a tile of `w` reads. */
static Touched touched(const Tile *w, int f) {
  Touched t = {.w = w, .field = f};
  each_access(w, note_row, &t);
  return t;
}

/* Roughly the number of registers of a thread that computes all rows of the tile together: the words of the values that
 * it reads and combines, and two for the address of each row. */
static double tile_registers(const Tile *w) {
  double n = OTHER_REGISTERS;
  for (int i = 0; i < w->n; i++)
    n += w->count * (double)type_size(w->of[i]->type) / 4;
  for (int f = 0; f < w->lo->m->nfields; f++) {
    bool made = w->l && launch_use(w->l, f)->versions > 0;
    Touched t = touched(w, f);
    if (t.far)
      return INFINITY;
    if (!made || launch_use(w->l, f)->loaded)
      n += 2.0 * t.rows + t.cells * ceil((double)type_size(w->lo->m->fields[f].type) / 4);
    n += made && launch_use(w->l, f)->stored && (launch_use(w->l, f)->paired || !t.rows) ? 2.0 * w->count : 0;
  }
  return n;
}

/* Sets the tile to `count` rows. */
static void set_rows(Tile *w, int count) {
  w->count = count;
  for (int d = 0; d < MAX_RANK; d++)
    w->tile[d] = 1;
  w->tile[w->rank - 2] = w->rank > 2 && count >= 4 ? count / 2 : count;
  if (w->rank > 2)
    w->tile[0] = count / w->tile[1];
}

/* Chooses the number of rows of a tile: few enough that there are enough tiles, and that registers suffice. */
static void set_tile(Tile *w) {
  double rows = count_default_rows(w->lo->m, w->over);
  set_rows(w, TILE_ROWS);
  while (w->count > 1 && rows >= 0 && rows / w->count < ENOUGH_TILES)
    set_rows(w, w->count / 2);
  while (w->count > 1 && tile_registers(w) > MOST_REGISTERS)
    set_rows(w, w->count / 2);
}

/* Do stencils or updates of the kernel use the step number? */
static bool uses_step(const Tile *w) {
  bool uses = w->l && stencils_use_step(w->l->n, w->l->st);
  for (int i = 0; i < w->n; i++)
    for (const Op *op = w->of[i]->body->first; op; op = op->next)
      uses = uses || op->code == OP_STEP;
  return uses;
}

/* Adds the kernel of `w`, whose updates, launch and region are set, and its launch to `seq`. */
static void tile_kernel(Tile *w, HostSeq *seq, const char *name, int steps, Loc loc) {
  Lowering *lo = w->lo;
  int index = lowering_kernel(lo, name, steps, loc), last = w->rank - 1;
  int32_t cells[MAX_RANK] = {1, 1, 1, 1};
  Kernel *k = &lo->out->kernels[index];
  Builder b = builder_at_end(lo->out->arena, k->body), inner, other;
  b.loc = loc;
  set_tile(w);
  cells[last] = w->count * REDUCE_LANES;
  for (int i = 0; i < w->n; i++)
    w->array[i] =
        kernel_array(lo, k, arena_printf(b.arena, "lanes%d", i), w->of[i]->type, SPACE_SHARED, cells, NULL, NULL);
  k->threads[last] = REDUCE_LANES;
  k->per_core = TILES_AT_ONCE;
  for (int d = 0; d < last; d++) {
    int of = d == last - 1 ? last : d; /* the dimension that allows far more blocks than the others */
    k->extent[d] = affine_const(1);
    k->tile[of] = w->tile[d];
    k->extent[of] = box_extent(b.arena, w->over, d);
    Value *first = build2(&b, OP_MUL, build_dim(&b, OP_BLOCK, of), i64(&b, w->tile[d]));
    w->g[d] = build2(&b, OP_ADD, first, build_affine(&b, lo->m, w->over->lo[d]));
  }
  w->lane = build_dim(&b, OP_THREAD, last);
  w->first = build_affine(&b, lo->m, w->over->lo[last]);
  w->end = build_affine(&b, lo->m, affine_add_const(w->over->hi[last], 1));
  w->step = uses_step(w) ? build_step(&b) : NULL;
  inner = build_either(&b, is_inner(w, &b), &other);
  b.block->last->flags |= IF_INTERIOR;
  rows_together(w, &inner);
  rows_apart(w, &other);
  build_barrier(&b);
  for (int i = 0; i < w->n; i++)
    combine_row(w, &b, i);
  host_launch(lo, seq, index);
}

void rows_launch(Lowering *lo, HostSeq *seq, const Reduction *r, int buffer, const char *name) {
  Tile w = {.lo = lo, .n = 1, .of = {r}, .buffer = {buffer}, .over = &r->over, .rank = lo->m->grid.rank};
  tile_kernel(&w, seq, name, 0, r->loc);
}

/* ---- rows combined to blocks */

/* The position of a row: its distance from the region's first row in each dimension but the last, and the step to the
 * next row of the same block. */
typedef struct RowPlace {
  Value *at[2], *by[2];
} RowPlace;

/* Loads the value of the row at `p`, and moves `p` to the block's next row. */
static Value *next_row(const Reducer *k, Builder *b, RowPlace *p) {
  Value *coords[MAX_RANK] = {0};
  for (int d = 0; d < k->rank - 1; d++)
    coords[d] = build2(b, OP_ADD, p->at[d], build_affine(b, k->lo->m, k->r->over.lo[d]));
  coords[k->rank - 1] = i64(b, 0);
  Value *v = build_load(b, k->r->type, k->rows, k->rank, coords, NULL);
  for (int d = 0; d < k->rank - 1; d++)
    p->at[d] = build2(b, OP_ADD, p->at[d], p->by[d]);
  if (k->rank > 2) {
    Value *n = reducer_extent(k, b, 1), *over = build2(b, OP_GE, p->at[1], n);
    p->at[1] = build3(b, OP_SELECT, over, build2(b, OP_SUB, p->at[1], n), p->at[1]);
    p->at[0] = build3(b, OP_SELECT, over, build2(b, OP_ADD, p->at[0], i64(b, 1)), p->at[0]);
  }
  return v;
}

/* Builds a loop over the block's rows from number *row on, `n` an iteration as long as that many are left. Combines
 * them into `*acc`, and updates *row and `p`. */
static void take_block_rows(const Reducer *k, Builder *b, int n, Value *rows, Value **row, Value **acc, RowPlace *p) {
  int dims = k->rank - 1;
  Value *carried[4] = {*acc, *row, p->at[0], p->at[1]}, *v[ROWS_AHEAD];
  Value *end = n > 1 ? build2(b, OP_SUB, rows, i64(b, (int64_t)(n - 1) * REDUCE_BLOCKS)) : rows;
  Op *loop = build_for(b, *row, end, (int64_t)n * REDUCE_BLOCKS, 0, 2 + dims, carried);
  Value **in = loop->blocks[0]->args;
  Builder each = builder_in(b, loop->blocks[0]);
  RowPlace at = *p;
  for (int d = 0; d < dims; d++)
    at.at[d] = in[3 + d];
  for (int i = 0; i < n; i++)
    v[i] = next_row(k, &each, &at);
  carried[0] = in[1];
  for (int i = 0; i < n; i++)
    carried[0] = reducer_combine(k, &each, carried[0], v[i]);
  carried[1] = build2(&each, OP_ADD, in[0], i64(&each, (int64_t)n * REDUCE_BLOCKS));
  for (int d = 0; d < dims; d++)
    carried[2 + d] = at.at[d];
  build_yield(&each, 2 + dims, carried);
  *acc = loop->results[0];
  *row = loop->results[1];
  for (int d = 0; d < dims; d++)
    p->at[d] = loop->results[2 + d];
}

Value *rows_of_block(const Reducer *k, Builder *b, Value *block) {
  Value *rows = reducer_rows(k, b), *acc = reducer_identity(k, b), *row = block, *step = i64(b, REDUCE_BLOCKS);
  RowPlace p = {{block}, {step}};
  if (k->rank > 2) {
    Value *n = build2(b, OP_MAX, reducer_extent(k, b, 1), i64(b, 1));
    p = (RowPlace){{build2(b, OP_DIV, block, n), build2(b, OP_REM, block, n)},
                   {build2(b, OP_DIV, step, n), build2(b, OP_REM, step, n)}};
  }
  if (!k->few)
    take_block_rows(k, b, k->rank > 2 ? PLANE_ROWS_AHEAD : ROWS_AHEAD, rows, &row, &acc, &p);
  take_block_rows(k, b, k->few ? FEW_ROWS : FEW_ROWS / 2, rows, &row, &acc, &p);
  take_block_rows(k, b, 1, rows, &row, &acc, &p);
  return acc;
}

void rows_into_blocks(const Reducer *k, Builder *b) {
  Value *first = build2(b, OP_MUL, k->block, i64(b, WARP)), *block = build2(b, OP_ADD, first, k->lane64);
  build_store(b, k->buffer, rows_of_block(k, b, block), 1, &block, NULL);
}

/* ---- launches that updates are joined to */

/* The check whether a kernel of rows can compute a stencil or reduction: the launch's instances before it (`before` of
 * them), and the result. */
typedef struct Joining {
  const Launch *l;
  int before;
  bool can;
} Joining;

/* AccessFn of a Joining: a field that the launch has computed may only be read at the point itself. */
static void note_read(void *user, const Piece *piece, int field, const int64_t *off) {
  Joining *j = user;
  const Module *m = j->l->m;
  Rules rules = access_rules(m, &piece->box, field, off);
  bool own = rules_none(&rules);
  for (int d = 0; d < m->grid.rank; d++)
    own = own && off[d] == 0;
  j->can = j->can && (own || launch_version(j->l, field, j->before) == 0);
}

/* Does instance number `i` of the launch consist of one piece on the region `over`, and write all points of its
 * targets? */
static bool is_plain(const Launch *l, int i, const Box *over) {
  const Stencil *st = &l->st[i];
  bool plain = !st->sweep && !stencil_is_scaled(st) && st->npieces == 1 && box_equal(&st->pieces[0].box, over) &&
               st->pieces[0].ntargets == st->ntargets;
  for (int t = 0; t < st->ntargets && plain; t++) {
    const Field *f = &l->m->fields[st->targets[t]];
    const FieldUse *u = launch_use(l, st->targets[t]);
    plain = !f->series && !field_lacks_any(f) && !u->back && (!u->paired || box_equal(&f->box, over));
  }
  Joining j = {l, i, plain};
  stencil_accesses(st, note_read, &j);
  return j.can;
}

/* Can a kernel of rows compute the launch together with reduction `u`? */
static bool is_joinable(const Launch *l, const Reduction *u) {
  bool can = !l->sees && !l->illegal && l->n > 0;
  for (int i = 0; i < l->n && can; i++)
    can = is_plain(l, i, &u->over);
  Piece body = {.box = u->over, .body = u->body};
  Stencil st = {.npieces = 1, .pieces = &body};
  Joining j = {l, l->n, can};
  stencil_accesses(&st, note_read, &j);
  return j.can;
}

/* Does a repeat begin or end between stage `after` and stage `stage`, whose updates come next? */
static bool repeat_between(const Module *m, int after, int stage) {
  for (int i = 0; i < m->nrepeats; i++) {
    const Repeat *r = &m->repeats[i];
    if ((r->first > after && r->first <= stage) || (r->last >= after && r->last < stage) ||
        (r->tile && r->last > after && r->last <= stage))
      return true;
  }
  return false;
}

/* Collects in w->update the updates that directly follow launch `l` and can be joined to it; they have one region. */
static void find_joined(Tile *w) {
  const Module *m = w->lo->m;
  int after = w->l->given->stage, stage = INT32_MAX, first = 0;
  const Stencil *next = w->l->given + w->l->ngiven;
  for (int i = m->nupdates - 1; i >= 0; i--)
    if (m->updates[i].stage > after)
      stage = m->updates[first = i].stage;
  if (stage == INT32_MAX || repeat_between(m, after, stage) ||
      (next < w->l->first + m->nstencils && next->stage < stage))
    return;
  for (int i = first; i < m->nupdates && m->updates[i].stage == stage && w->n < MOST_JOINED; i++) {
    const Reduction *r = update_reduction(w->lo, i);
    if (has_rows(w->lo, r) && !update_waits(m, first, i) && (!w->n || box_equal(&r->over, w->over)) &&
        is_joinable(w->l, r)) {
      w->over = &r->over;
      w->of[w->n] = r;
      w->update[w->n++] = i;
    }
  }
}

/* Is one kernel of rows faster than the launch and a second kernel that reads its results again? Compares the bytes for
 * each point that go through memory, and those that come from the cache. */
static bool joining_pays(Tile *w) {
  const TargetInfo *t = w->lo->c->target;
  double memory = launch_bytes(w->l), cache = 0, again = 0;
  set_tile(w);
  for (int f = 0; f < w->lo->m->nfields; f++) {
    Tile alone = *w;
    alone.l = NULL;
    Touched all = touched(w, f), own = touched(&alone, f);
    double bytes = (double)type_size(w->lo->m->fields[f].type);
    if (all.far)
      return false;
    bool made = launch_use(w->l, f)->versions > 0;
    again += own.rows ? bytes : 0;
    memory += own.rows && !made && !launch_use(w->l, f)->loaded ? bytes : 0;
    cache += made && !launch_use(w->l, f)->loaded ? 0 : bytes * all.rows / w->count;
    cache += launch_use(w->l, f)->stored ? bytes : 0;
  }
  if (t->bandwidth <= 0 || t->cache_bandwidth <= 0)
    return true;
  return fmax(memory / t->bandwidth, cache / t->cache_bandwidth) < (launch_bytes(w->l) + again) / t->bandwidth;
}

bool lower_joined(Lowering *lo, HostSeq *seq, const Launch *l, const char *name, int steps) {
  Tile w = {.lo = lo, .l = l, .rank = lo->m->grid.rank};
  if (lo->c->sketch || !lo->m->nupdates || !lo->c->target->simt || lo->m->slice_of)
    return false;
  find_joined(&w);
  if (!w.n || !joining_pays(&w))
    return false;
  if (!lo->joined)
    lo->joined = ARENA_ARRAY(lo->out->arena, bool, lo->m->nupdates + 1);
  for (int i = 0; i < w.n; i++) {
    w.buffer[i] = take_rows(lo, w.update[i], w.of[i]);
    lo->joined[w.update[i]] = true;
  }
  tile_kernel(&w, seq, arena_printf(lo->out->arena, "%s_%s", name, w.of[0]->name), steps, l->st->loc);
  return true;
}
