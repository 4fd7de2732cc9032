/* warps-rows.c: the rows of a group go through the levels of a warp. A row comes from the ring in front of the warp (or
 * from global memory), is added at each level to what the rows that it is read by have so far, and what is finished
 * then goes to the next level, at last to the ring behind the warp (or to global memory). */
#include "passes/lower/warps.h"

/* A row that has come to level `level`: the `u`-th of those that are written out, number `number` (i32) of the group,
 * row `y` (i32); the lane's cells of it, and beyond them those of the lanes beside, NULL where they were not asked for;
 * out: the row that is finished then. */
typedef struct Row {
  WarpKernel *k;
  WarpRims rims;
  int level, u;
  Value *x, *y, *number, **own, **beside, **out;
} Row;

/* Cell `i` of a row at a stage, where row `y` is to be; value v is map[v] if it was made. */
typedef struct Cell {
  Row *r;
  int i, stage;
  Value *y, **map;
} Cell;

/* ---- cells */

/* Column of cell `i`, i32. */
static Value *column(Row *r, int i) {
  WarpKernel *k = r->k;
  return warps_add(k, build2(&k->b, OP_ADD, r->x, k->in_warp), i);
}

/* `v` of cell `i`, or the field's constant if its column is none of the field's. */
static Value *in_columns(Row *r, int i, Value *v) {
  WarpKernel *k = r->k;
  const Field *f = &k->e->m->fields[k->e->field];
  Value *x = build_convert(&k->b, TY_I64, column(r, i)), *zero = build_int(&k->b, TY_I64, 0);
  Value *in = build2(&k->b, OP_AND, build2(&k->b, OP_GE, x, zero), build2(&k->b, OP_LT, x, k->columns));
  return build3(&k->b, OP_SELECT, in, v, build_const(&k->b, f->type, f->outside_value));
}

/* Cell `i` of the row that has come, by a shuffle if it is another lane's. */
static Value *cell_of(Row *r, int i) {
  WarpKernel *k = r->k;
  int X = k->w.X;
  if (i >= 0 && i < X)
    return r->own[i];
  Value **seen = &r->beside[i < 0 ? i + k->e->left : k->e->left + i - X];
  if (*seen)
    return *seen;
  *seen = i < 0 ? build_shift_lanes(&k->b, OP_SHUFFLE_UP, r->own[X + i], 1)
                : build_shift_lanes(&k->b, OP_SHUFFLE_DOWN, r->own[i - X], 1);
  if (k->e->constant && r->rims != RIMS_NONE)
    *seen = in_columns(r, i, *seen);
  return *seen;
}

/* The indices of cell `i` of the row that is at stage `stage` now, in what a level keeps behind stage `kept`: sums
 * move on by a stage, all else stays where it is. */
static void sum_place(Row *r, int stage, int kept, int i, Value **at) {
  const WarpEquation *e = r->k->e;
  int row = e->sums ? kept : ((r->u - stage + e->below) % e->last + e->last) % e->last;
  at[0] = build_int(&r->k->b, TY_I32, row);
  at[1] = build_int(&r->k->b, TY_I32, i);
}

/* What level `level` keeps in place `slot` of cell `i` of the row that is at stage `stage` now. */
static Value *load_sum(Row *r, int slot, int stage, int i) {
  const WarpEquation *e = r->k->e;
  Value *at[2];
  sum_place(r, stage, stage - 1, i, at);
  return build_aload(&r->k->b, e->slot_type[slot], r->k->sums[r->level * e->slots + slot], 0, 2, at, NULL);
}

static void store_sum(Row *r, int slot, int stage, int i, Value *v) {
  const WarpEquation *e = r->k->e;
  Value *at[2];
  sum_place(r, stage, stage, i, at);
  build_astore(&r->k->b, r->k->sums[r->level * e->slots + slot], 0, v, 2, at, NULL);
}

/* The point that the cell is, for code of bodies. */
static Point point_of(Cell *c) {
  WarpKernel *k = c->r->k;
  Point p = {.m = k->e->m, .user = c, .index = {warps_grid(k, c->y, 0), warps_grid(k, column(c->r, c->i), 1)}};
  if (k->step) {
    Value *before = build_convert(&k->b, TY_I64, k->warp);
    p.step = warps_add(k, build2(&k->b, OP_ADD, k->step, warps_mul(k, before, k->w.C)), c->r->level);
  }
  return p;
}

/* Value `v` of the equation for the cell at its stage. */
static Value *value_of(Cell *c, Point *p, const Value *v) {
  WarpKernel *k = c->r->k;
  const WarpEquation *e = k->e;
  const Op *op = v->def;
  if (c->map[v->id])
    return c->map[v->id];
  if (!e->free[v->id] && e->at[v->id] < c->stage)
    return c->map[v->id] = load_sum(c->r, e->slot[v->id], c->stage, c->i);
  if (op->code == OP_ACCESS)
    return c->map[v->id] = cell_of(c->r, c->i + (int)op->off[1]);
  for (int n = 0; n < op->noperands; n++)
    value_of(c, p, op->operands[n]);
  k->b.loc = op->loc;
  return c->map[v->id] = body_op(p, &k->b, op, c->map);
}

/* ---- points outside of the main piece */

/* Is cell `i` among those that can be outside of the main piece at the left or right rim, where that is near? */
static bool may_be_side(const WarpKernel *k, int i) {
  int32_t left, right;
  return warps_sides(k, &left, &right) && (i < left || i >= k->w.X - right);
}

/* Is the cell's column in the main piece? NULL: it is, or its row is put by in case it is not. */
static Value *in_main(Cell *c) {
  WarpKernel *k = c->r->k;
  if (c->r->rims == RIMS_NONE || !may_be_side(k, c->i))
    return NULL;
  Box across = warps_range(k, 1);
  Value *x = column(c->r, c->i);
  return build_inside(&k->b, 1, &x, &across);
}

static Value *own_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const Cell *c = p->user;
  (void)b, (void)field, (void)off, (void)rules;
  return c->r->own[c->i];
}

/* What the cell becomes outside of the main piece, when its own row has come: by another piece, or what it was. */
static Value *value_outside(Cell *c) {
  WarpKernel *k = c->r->k;
  Point p = point_of(c);
  Value *v = c->r->own[c->i];
  p.access = own_access;
  for (int i = 0; i < k->e->st->npieces; i++) {
    const Piece *piece = &k->e->st->pieces[i];
    if (i != k->e->main)
      v = build3(&k->b, OP_SELECT, build_inside(&k->b, 2, p.index, &piece->box), piece_values(&p, &k->b, piece)[0], v);
  }
  body_number(k->e->piece->body);
  return v;
}

/* The value that the cell carries if it is outside of the main piece, before its stage. */
static Value *carried(Cell *c) {
  const WarpEquation *e = c->r->k->e;
  return c->stage == e->below ? value_outside(c) : load_sum(c->r, e->carrier[c->stage - 1], c->stage, c->i);
}

/* ---- stages */

/* The values of the cell's stage that are kept behind it, in kept[place], NULL: none is made for that place. */
static void make_kept(Cell *c, Point *p, Value **kept) {
  const WarpEquation *e = c->r->k->e;
  for (const Op *op = e->piece->body->first; op; op = op->next) {
    int id = op->nresults ? op->results[0]->id : -1;
    if (id >= 0 && e->slot[id] >= 0 && e->at[id] == c->stage)
      kept[e->slot[id]] = value_of(c, p, op->results[0]);
  }
}

/* Has the carrier of the cell's stage hold `other` outside of the main piece (where `in` does not hold), and *kept or
 * what it holds already within; sums it holds none but those of this stage. */
static void carry(Cell *c, Value *in, Value *other, Value **kept) {
  const WarpEquation *e = c->r->k->e;
  if (!*kept && !e->sums)
    *kept = load_sum(c->r, e->carrier[c->stage], c->stage, c->i);
  *kept = *kept ? build3(&c->r->k->b, OP_SELECT, in, *kept, other) : other;
}

/* The cell's stage: what is kept goes to its place; in the last stage the new value is finished. */
static void make_stage(Cell *c) {
  WarpKernel *k = c->r->k;
  const WarpEquation *e = k->e;
  Value **kept = ARENA_ARRAY(k->b.arena, Value *, e->slots + 1);
  Point p = point_of(c);
  make_kept(c, &p, kept);
  Value *out = c->stage == e->last ? value_of(c, &p, e->piece->body->last->operands[0]) : NULL;
  Value *in = c->stage >= e->below ? in_main(c) : NULL, *other = in ? carried(c) : NULL;
  if (in && out)
    out = build3(&k->b, OP_SELECT, in, out, other);
  if (in && !out)
    carry(c, in, other, &kept[e->carrier[c->stage]]);
  for (int s = 0; s < e->slots; s++)
    if (kept[s])
      store_sum(c->r, s, c->stage, c->i, kept[s]);
  if (out)
    c->r->out[c->i] = out;
}

/* Takes the row through its level: oldest row to be first, which makes room for the newest. */
static void make_level(Row *r) {
  WarpKernel *k = r->k;
  for (int stage = k->e->last; stage >= 0; stage--)
    for (int i = 0; i < k->w.X; i++) {
      Cell c = {.r = r, .i = i, .stage = stage, .y = warps_add(k, r->y, k->e->below - stage)};
      c.map = ARENA_ARRAY(k->b.arena, Value *, k->e->nvalues + 1);
      make_stage(&c);
    }
}

/* ---- rows outside of the main piece */

/* Is row `y` (i32) one of the field with points outside of the main piece for which tests of few cells are not enough?
 * The same for the warp. */
static Value *is_odd(WarpKernel *k, Value *y) {
  Builder *b = &k->b;
  int32_t left, right;
  Box down = warps_range(k, 0);
  Value *row = build_convert(b, TY_I64, y), *zero = build_int(b, TY_I64, 0);
  Value *is = build2(b, OP_AND, build2(b, OP_GE, row, zero), build2(b, OP_LT, row, k->rows));
  if (warps_sides(k, &left, &right)) {
    Value *even = build2(b, OP_AND, build_inside(b, 1, &y, &down), warps_wide(k));
    is = build2(b, OP_AND, is, build1(b, OP_NOT, even));
  }
  return build1(b, OP_UNIFORM, is);
}

/* Makes the cells of the row that has come the field's constant, as far as they are none of the field's: in a row
 * beyond it, or in a strip that is wider. */
static void make_constant(Row *r) {
  WarpKernel *k = r->k;
  const Field *f = &k->e->m->fields[k->e->field];
  Builder *b = &k->b;
  Type types[MAX_WARP_CELLS];
  Value *row = build_convert(b, TY_I64, r->y), *zero = build_int(b, TY_I64, 0);
  Value *in = build2(b, OP_AND, build2(b, OP_GE, row, zero), build2(b, OP_LT, row, k->rows));
  Value *whole = build1(b, OP_UNIFORM, build2(b, OP_AND, in, warps_wide(k)));
  for (int i = 0; i < k->w.X; i++)
    types[i] = f->type;
  Builder outer = k->b;
  Op *op = build_if(&outer, whole, k->w.X, types);
  Builder same = builder_at_end(outer.arena, op->blocks[0]);
  build_yield(&same, k->w.X, r->own);
  k->b = builder_at_end(outer.arena, op->blocks[1]);
  Value **cells = ARENA_ARRAY(outer.arena, Value *, k->w.X), *no = build_const(b, f->type, f->outside_value);
  for (int i = 0; i < k->w.X; i++)
    cells[i] = build3(b, OP_SELECT, in, in_columns(r, i, r->own[i]), no);
  build_yield(&k->b, k->w.X, cells);
  k->b = outer;
  r->own = ARENA_ARRAY(outer.arena, Value *, k->w.X);
  for (int i = 0; i < k->w.X; i++)
    r->own[i] = op->results[i];
}

/* Where cell `i` is put by of the row that came `ago` rows before this one; the group has place `slot` of the rings. */
static void by_place(Row *r, Value *slot, int ago, int i, Value **at) {
  WarpKernel *k = r->k;
  Builder *b = &k->b;
  Value *place = build2(b, OP_ADD, warps_mul(k, slot, k->w.U), warps_add(k, r->number, -ago));
  Value *before = build2(b, OP_LT, place, build_int(b, TY_I32, 0));
  at[0] = ago ? build3(b, OP_SELECT, before, warps_add(k, place, k->w.G * k->w.U), place) : place;
  at[1] = build_int(b, TY_I32, i);
}

/* Puts by what the cells of an odd row that has come become outside of the main piece. */
static void put_by(Row *r, Value *slot) {
  WarpKernel *k = r->k;
  Value *at[2], *odd = is_odd(k, r->y);
  Builder outer = k->b;
  Op *op = build_if(&outer, odd, 0, NULL);
  k->b = builder_at_end(outer.arena, op->blocks[0]);
  for (int i = 0; i < k->w.X; i++) {
    Cell c = {.r = r, .i = i, .stage = k->e->below, .y = r->y};
    by_place(r, slot, 0, i, at);
    build_astore(&k->b, k->by[r->level], 0, value_outside(&c), 2, at, NULL);
  }
  k->b = outer;
}

/* Affine `x` of the field's columns as an i32, by lane: as number of one of its cells. */
static Value *cell_number(Row *r, Value *first, Affine x) {
  WarpKernel *k = r->k;
  Builder *b = &k->b;
  Value *most = build_int(b, TY_I64, WARPS_FAR), *least = build_int(b, TY_I64, -1);
  Value *v = build2(b, OP_MAX, build2(b, OP_MIN, build_affine(b, k->e->m, x), most), least);
  return build2(b, OP_SUB, build_convert(b, TY_I32, v), first);
}

/* Takes back what was put by of the row that is finished, if it is odd, for its cells outside of the main piece. What
 * was to come before the segment's first row was not. */
static void take_back(Row *r, Value *slot) {
  WarpKernel *k = r->k;
  Type types[MAX_WARP_CELLS];
  Value *at[2], *y = warps_add(k, r->y, -k->e->above), *odd = is_odd(k, y);
  Value *since = build2(&k->b, OP_ADD, warps_mul(k, k->group, k->w.U), warps_add(k, r->number, -k->e->above));
  odd = build2(&k->b, OP_AND, odd, build2(&k->b, OP_GE, since, build_int(&k->b, TY_I32, 0)));
  for (int i = 0; i < k->w.X; i++)
    types[i] = k->e->m->fields[k->e->field].type;
  Builder outer = k->b;
  Op *op = build_if(&outer, odd, k->w.X, types);
  Builder other = builder_at_end(outer.arena, op->blocks[1]);
  build_yield(&other, k->w.X, r->out);
  k->b = builder_at_end(outer.arena, op->blocks[0]);
  Box down = warps_range(k, 0), across = warps_range(k, 1);
  Value *in_rows = build_inside(&k->b, 1, &y, &down);
  Value *first = build2(&k->b, OP_ADD, build1(&k->b, OP_UNIFORM, r->x), k->in_warp);
  Value *lo = cell_number(r, first, across.lo[0]), *hi = cell_number(r, first, across.hi[0]);
  for (int i = 0; i < k->w.X; i++) {
    Value *number = build_int(&k->b, TY_I32, i);
    Value *in = build2(&k->b, OP_AND, build2(&k->b, OP_GE, number, lo), build2(&k->b, OP_LE, number, hi));
    in = build2(&k->b, OP_AND, in_rows, in);
    by_place(r, slot, k->e->above, i, at);
    Value *v = build_aload(&k->b, types[i], k->by[r->level], 0, 2, at, NULL);
    r->out[i] = build3(&k->b, OP_SELECT, in, r->out[i], v);
  }
  build_yield(&k->b, k->w.X, r->out);
  k->b = outer;
  for (int i = 0; i < k->w.X; i++)
    r->out[i] = op->results[i];
}

/* ---- rows on their way in and out */

/* The indices of the lane's first cell of row number `u` (i32) of place `slot` in ring `ring` (i32). */
static void ring_place(WarpKernel *k, Value *ring, Value *slot, Value *u, Value **at) {
  at[0] = ring;
  at[1] = build2(&k->b, OP_ADD, warps_mul(k, slot, k->w.U), u);
  at[2] = k->in_warp;
}

/* Takes row number `u` out of the ring in front of the warp, to `out`. */
static void take_row(WarpKernel *k, Value *slot, Value *u, Value **out) {
  Type t = k->e->m->fields[k->e->field].type;
  Value *at[MAX_RANK];
  ring_place(k, k->warp, slot, u, at);
  for (int i = 0; i < k->w.X; i += k->w.vector) {
    const int64_t off[MAX_RANK] = {0, 0, i};
    Op *op = build_avload(&k->b, t, k->w.vector, k->ring, 0, 3, at, off);
    for (int n = 0; n < k->w.vector; n++)
      out[i + n] = op->results[n];
  }
}

/* Puts `row`, number `u` of its group, into the ring behind the warp. */
static void put_row(WarpKernel *k, Value *slot, Value *u, Value **row) {
  Value *at[MAX_RANK];
  ring_place(k, build2(&k->b, OP_ADD, k->warp, build_int(&k->b, TY_I32, 1)), slot, u, at);
  for (int i = 0; i < k->w.X; i += k->w.vector) {
    const int64_t off[MAX_RANK] = {0, 0, i};
    build_avstore(&k->b, k->ring, 0, k->w.vector, row + i, 3, at, off);
  }
}

/* Loads row `r->y` from global memory, cell by cell, to `out`. */
static void load_row(Row *r, Value **out) {
  WarpKernel *k = r->k;
  const Field *f = &k->e->m->fields[k->e->field];
  for (int i = 0; i < k->w.X; i++) {
    Value *at[] = {build_map(&k->b, OP_GUARD, warps_grid(k, r->y, 0), 0, f->box.lo[0], f->box.hi[0]),
                   build_map(&k->b, OP_GUARD, warps_grid(k, column(r, i), 1), 0, f->box.lo[1], f->box.hi[1])};
    out[i] = build_load(&k->b, f->type, load_buffer(k->lo, k->e->field), 2, at, NULL);
  }
}

/* Stores the finished `row`, row `y`, to global memory, those of its cells that are the segment's. */
static void store_row(Row *r, const WarpSegment *s, Value *y, Value **row) {
  WarpKernel *k = r->k;
  Value *in_rows = build2(&k->b, OP_AND, build2(&k->b, OP_GE, y, s->first), build2(&k->b, OP_LT, y, s->end));
  for (int i = 0; i < k->w.X; i++) {
    Value *x = column(r, i), *from = build2(&k->b, OP_ADD, s->x, s->from), *to = build2(&k->b, OP_ADD, s->x, s->to);
    Value *in = build2(&k->b, OP_AND, build2(&k->b, OP_GE, x, from), build2(&k->b, OP_LT, x, to));
    Value *to_y = warps_grid(k, y, 0), *to_x = warps_grid(k, x, 1);
    Op *op = build_if(&k->b, build2(&k->b, OP_AND, in_rows, in), 0, NULL);
    Builder inner = builder_at_end(k->b.arena, op->blocks[0]);
    build_store(&inner, store_buffer(k->lo, k->l, k->e->field), row[i], 2, (Value *[]){to_y, to_x}, NULL);
  }
}

/* The row comes to the warp, to r->own. */
static void come(Row *r, Value *slot) {
  WarpKernel *k = r->k;
  Builder outer = k->b;
  Type types[MAX_WARP_CELLS];
  if (k->bulk) {
    take_row(k, slot, r->number, r->own);
    return;
  }
  for (int i = 0; i < k->w.X; i++)
    types[i] = k->e->m->fields[k->e->field].type;
  Op *op = build_if(&outer, k->is_first, k->w.X, types);
  for (int arm = 0; arm < 2; arm++) {
    k->b = builder_at_end(outer.arena, op->blocks[arm]);
    if (arm)
      take_row(k, slot, r->number, r->own);
    else
      load_row(r, r->own);
    build_yield(&k->b, k->w.X, r->own);
  }
  k->b = outer;
  for (int i = 0; i < k->w.X; i++)
    r->own[i] = op->results[i];
}

/* The finished row leaves the warp; `y` is what it is of the grid. */
static void leave(Row *r, const WarpSegment *s, Value *y, Value *slot) {
  WarpKernel *k = r->k;
  Builder outer = k->b;
  if (k->bulk) {
    put_row(k, slot, r->number, r->own);
    return;
  }
  Op *op = build_if(&outer, k->is_final, 0, NULL);
  k->b = builder_at_end(outer.arena, op->blocks[0]);
  store_row(r, s, y, r->own);
  k->b = builder_at_end(outer.arena, op->blocks[1]);
  put_row(k, slot, r->number, r->own);
  k->b = outer;
}

/* A row, row `y` of the field, through all levels of the warp; r has all else that is known of it. */
static void make_row(Row r, const WarpSegment *s, Value *slot) {
  WarpKernel *k = r.k;
  Arena *a = k->b.arena;
  r.own = ARENA_ARRAY(a, Value *, k->w.X);
  come(&r, slot);
  for (r.level = 0; r.level < k->w.C; r.level++) {
    r.beside = ARENA_ARRAY(a, Value *, k->e->left + k->e->right + 1);
    r.out = ARENA_ARRAY(a, Value *, k->w.X);
    if (r.rims == RIMS_ANY && k->e->constant)
      make_constant(&r);
    if (r.rims == RIMS_ANY)
      put_by(&r, slot);
    make_level(&r);
    if (r.rims == RIMS_ANY)
      take_back(&r, slot);
    r.own = r.out;
    r.y = warps_add(k, r.y, -k->e->above);
  }
  leave(&r, s, r.y, slot);
  build_bare(&k->b, OP_BARRIER_WARP);
}

void warps_group(WarpKernel *k, WarpRims rims, const WarpSegment *s, Value *y, Value *slot) {
  Builder outer = k->b;
  Value *first = build_int(&k->b, TY_I32, 0);
  int V = rims == RIMS_ANY ? k->w.U : k->w.V;
  build_bare(&k->b, OP_BARRIER_WARP);
  if (V < k->w.U) {
    Op *loop = build_for(&k->b, first, build_int(&k->b, TY_I32, k->w.U), V, 0, 0, NULL);
    outer = k->b;
    k->b = builder_at_end(outer.arena, loop->blocks[0]);
    k->b.loc = outer.loc;
    first = loop->blocks[0]->args[0];
    y = build2(&k->b, OP_ADD, y, first);
  }
  for (int u = 0; u < V; u++)
    make_row((Row){.k = k, .rims = rims, .u = u, .x = s->x, .y = warps_add(k, y, u), .number = warps_add(k, first, u)},
             s, slot);
  if (V < k->w.U)
    k->b = outer;
}
