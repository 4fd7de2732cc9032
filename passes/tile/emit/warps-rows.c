/* warps-rows.c: computes the rows of a group through the levels of a warp. A row of each field comes from the rings in
 * front of the warp (or from global memory). Each level makes of it a row of each of its values. The fields' rows that
 * leave a level go to the next level, and after the warp's last level to the rings behind it (or to global memory). */
#include "passes/tile/emit/lower-warps.h"

/* ---- cells */

Value *warps_column(WarpRow *r, int i) {
  WarpKernel *k = r->k;
  return warps_add(k, build2(&k->b, OP_ADD, r->x, k->in_warp), i);
}

/* The array that keeps rows of value `v` at the level of `r`. */
static int kept_array(const WarpRow *r, int v) { return r->k->kept[r->level * r->k->e->nvalues + v]; }

/* The index, in that array, of row number `place`, 0 being the latest: the latest row is last in the array. LLVM moves
 * the values that a loop carries in the order in which they lie in an array, the last first, so each row takes the
 * place of one that has gone. In the other order each row is moved twice. */
static int cell_kept(const WarpRow *r, int v, int place) { return warps_kept(r->k->e, v) - 1 - place; }

/* Cell `i` of kept row number `place`, 0 being the latest, of value `v`. */
static Value *load_kept(WarpRow *r, int v, int place, int i) {
  Builder *b = &r->k->b;
  Value *at[] = {build_int(b, TY_I32, cell_kept(r, v, place)), build_int(b, TY_I32, i)};
  return build_aload(b, r->k->e->value[v].type, kept_array(r, v), 0, 2, at, NULL);
}

static void store_kept(WarpRow *r, int v, int place, int i, Value *x) {
  Builder *b = &r->k->b;
  Value *at[] = {build_int(b, TY_I32, cell_kept(r, v, place)), build_int(b, TY_I32, i)};
  build_astore(b, kept_array(r, v), 0, x, 2, at, NULL);
}

Value *warps_aged(WarpRow *r, int v, int age, int i) { return age ? load_kept(r, v, age - 1, i) : warps_now(r, v)[i]; }

/* Cell `i` of the row of a field's value `v` that is `age` rows old; a cell of another lane comes by a shuffle. */
static Value *cell_of(WarpRow *r, int v, int age, int i) {
  WarpKernel *k = r->k;
  int X = k->w.X;
  if (i >= 0 && i < X)
    return warps_aged(r, v, age, i);
  CellLine beside = {.of = v, .back = age, .lanes = i < 0 ? -1 : 1};
  int x = i - beside.lanes * X;
  Value *seen = cells_get(r->cells, beside, x);
  if (seen)
    return seen;
  seen = build_shift_lanes(&k->b, i < 0 ? OP_SHUFFLE_UP : OP_SHUFFLE_DOWN, warps_aged(r, v, age, x), 1);
  if (k->e->constant && r->boundary != BOUNDARY_NONE)
    seen = warps_in_columns(r, k->e->value[v].field, i, seen);
  return cells_set(r->cells, beside, x, seen);
}

Point warps_point(WarpCell *c) {
  WarpKernel *k = c->r->k;
  Point p = {.m = k->e->m,
             .user = c,
             .index = {warps_grid(k, c->y, 0, k->e->wraps[0]),
                       warps_grid(k, warps_column(c->r, c->i), 1, k->e->wraps[1])}};
  if (k->step) {
    Value *before = build_convert(&k->b, TY_I64, k->warp);
    p.step = warps_add(k, build2(&k->b, OP_ADD, k->step, warps_mul(k, before, k->w.C)), c->r->level);
  }
  return p;
}

/* More columns than any offset or lane has. */
enum { ENDLESS = 1 << 20 };

/* May use `u` lead the cell beyond the right edge to a cell that is known at the launch only? Only the lane's last
 * cells can be that near to the edge. */
static bool may_lead_right(const WarpCell *c, const WarpUse *u) {
  const WarpKernel *k = c->r->k;
  return k->least_behind < k->most_behind && u->off[1] > 0 && c->i + u->off[1] > k->w.X - 1 - k->most_behind;
}

/* The column, relative to the cell, to which use `u` leads by its rule, where the field is as wide as a strip. Only the
 * first lane's first cells and the last lane's last cells can be that near to an edge. Cells of the last lane after the
 * last column are no points, but then such cells of the lane before may be near to the edge, too. */
static int led_aside(const WarpCell *c, const WarpUse *u) {
  const WarpKernel *k = c->r->k;
  int off = u->off[1], before = c->i, behind = k->w.X - 1 - k->most_behind - c->i;
  int lo = off < 0 ? -before : -ENDLESS, hi = off < 0 ? ENDLESS : behind < 0 ? behind + k->w.X : behind;
  if (off >= lo && off <= hi)
    return off;
  return (int)eval_map(outside_map(u->rule[1]), off, lo, hi);
}

/* Does rule `rule` lead a read at offset `off` in dimension `d` from row or column `x` (i32) to the one at offset
 * `to`? */
static Value *leads_to(WarpKernel *k, OutsideRule rule, Value *x, int d, int off, int to) {
  const Box *box = warps_region(k->e);
  Value *at = warps_grid(k, x, d, false);
  Value *led = build_map(&k->b, outside_map(rule), at, off, box->lo[d], box->hi[d]);
  return build2(&k->b, OP_EQ, led, warps_add(k, at, to));
}

/* The value that use `u` reads at the cell, in the row `dy` rows away. */
static Value *ruled_column(WarpCell *c, const WarpUse *u, int dy) {
  WarpKernel *k = c->r->k;
  int age = c->time - k->e->value[u->value].time - dy, off = u->off[1];
  int first = u->lo[1], last = u->hi[1];
  Value *v = cell_of(c->r, u->value, age, c->i + off);
  if (!u->rule[1] || c->r->boundary == BOUNDARY_NONE)
    return v;
  if (c->r->boundary == BOUNDARY_SIDES && !may_lead_right(c, u))
    first = last = led_aside(c, u);
  for (int to = first; to <= last; to++)
    if (to != off) {
      Value *led = cell_of(c->r, u->value, age, c->i + to);
      v = build3(&k->b, OP_SELECT, leads_to(k, u->rule[1], warps_column(c->r, c->i), 1, off, to), led, v);
    }
  return v;
}

/* The value that use `u` reads at the cell. */
static Value *ruled_row(WarpCell *c, const WarpUse *u) {
  WarpKernel *k = c->r->k;
  int off = u->off[0];
  Value *v = ruled_column(c, u, off);
  for (int to = u->lo[0]; to <= u->hi[0] && u->rule[0] && c->r->boundary == BOUNDARY_ANY; to++)
    if (to != off)
      v = build3(&k->b, OP_SELECT, leads_to(k, u->rule[0], c->y, 0, off, to), ruled_column(c, u, to), v);
  return v;
}

Value *warps_used(WarpCell *c, Point *p, const WarpUse *u) {
  const WarpValue *w = &c->r->k->e->value[u->value];
  int age = c->time - w->time - u->off[0];
  if (w->kind == WARP_INPUT || w->kind == WARP_NEW)
    return ruled_row(c, u);
  return w->free || !age ? warps_value(c, p, u->value) : warps_aged(c->r, u->value, age, c->i);
}

Value *warps_value(WarpCell *c, Point *p, int v) {
  WarpKernel *k = c->r->k;
  const WarpValue *x = &k->e->value[v];
  if (!c->map[v])
    c->map[v] = warps_on_line(c, p, v);
  if (c->map[v])
    return c->map[v];
  Value **map = ARENA_ARRAY(k->b.arena, Value *, k->e->nvalues);
  for (int i = 0; i < x->nuses; i++)
    map[x->op->operands[i]->id] = warps_used(c, p, &x->uses[i]);
  k->b.loc = x->op->loc;
  return c->map[v] = body_op(p, &k->b, x->op, map);
}

/* ---- levels */

/* Does the level make whole rows of value `v`, by stage `stage` at time `time`, and not just a value on the way to
 * others? */
static bool is_row(const WarpLevel *e, int v, int stage, int time) {
  const WarpValue *x = &e->value[v];
  bool made = x->kind == WARP_NEW || (x->kind == WARP_OP && warps_kept(e, v) > 0);
  return made && x->wanted && !x->free && x->stage == stage && x->time == time;
}

/* Makes the rows of stage `stage` at time `time`. */
static void make_rows(WarpRow *r, int stage, int time) {
  WarpKernel *k = r->k;
  const WarpLevel *e = k->e;
  for (int i = 0; i < k->w.X; i++) {
    WarpCell c = {.r = r, .i = i, .stage = stage, .time = time, .y = NULL};
    Point p;
    for (int v = 0; v < e->nvalues; v++) {
      if (!is_row(e, v, stage, time))
        continue;
      if (!c.y) {
        c.y = warps_add(k, r->y, -time);
        c.map = ARENA_ARRAY(k->b.arena, Value *, e->nvalues);
        p = warps_point(&c);
      }
      bool is_new = e->value[v].kind == WARP_NEW;
      Value *x = is_new ? warps_used(&c, &p, &e->value[v].uses[0]) : warps_value(&c, &p, v);
      cells_set(r->cells, (CellLine){.of = v}, i, warps_carry(&c, v, x));
    }
  }
}

/* Corrects the rows of stage `stage` at time `time` outside of the main pieces and of the region. */
static void mend_rows(WarpRow *r, int stage, int time) {
  const WarpLevel *e = r->k->e;
  for (int v = 0; v < e->nvalues && r->boundary != BOUNDARY_NONE; v++) {
    if (e->value[v].kind != WARP_NEW || !is_row(e, v, stage, time))
      continue;
    if (warps_has_boundary(e, v))
      warps_reload(r, v);
    if (e->constant)
      warps_make_constant(r, v);
  }
}

/* Shifts the kept rows by one. */
static void move_on(WarpRow *r) {
  const WarpLevel *e = r->k->e;
  for (int v = 0; v < e->nvalues; v++)
    for (int i = 0; i < r->k->w.X && warps_kept(e, v); i++) {
      for (int place = warps_kept(e, v) - 1; place > 0; place--)
        store_kept(r, v, place, i, load_kept(r, v, place - 1, i));
      store_kept(r, v, 0, i, warps_now(r, v)[i]);
    }
}

/* Computes one level of rows that have arrived: own[field] are their cells, and then the cells of the rows that
 * leave. */
static void make_level(WarpRow *r, Value **own[MAX_WARP_FIELDS]) {
  WarpKernel *k = r->k;
  const WarpLevel *e = k->e;
  Arena *a = k->b.arena;
  cells_clear(r->cells);
  for (int n = 0; n < e->nfields; n++)
    if (e->field[n].in >= 0) {
      warps_set_now(r, e->field[n].in, own[n]);
      if (r->boundary != BOUNDARY_NONE && e->constant)
        warps_make_constant(r, e->field[n].in);
    }
  for (int s = 0; s < e->n; s++) {
    for (int v = 0; v < e->nvalues && r->boundary != BOUNDARY_NONE; v++)
      if (e->value[v].kind == WARP_OUTSIDE && e->value[v].wanted && e->value[v].stage == s)
        warps_spill(r, v);
    for (int time = e->latest; time >= -e->below; time--) {
      make_rows(r, s, time);
      mend_rows(r, s, time);
      for (int v = 0; v < e->nvalues; v++)
        if (warps_probe(e, v) && is_row(e, v, s, time))
          warps_see(r, v);
    }
  }
  for (int n = 0; n < e->nfields; n++) {
    own[n] = ARENA_ARRAY(a, Value *, k->w.X);
    for (int i = 0; i < k->w.X; i++)
      own[n][i] = warps_aged(r, e->field[n].out, e->lag - e->value[e->field[n].out].time, i);
  }
  move_on(r);
}

/* ---- arriving and leaving rows */

/* The type of number `n` of the level's fields; the number of its cells in 16 bytes. */
static Type type_of(const WarpKernel *k, int n) { return k->e->m->fields[k->e->field[n].field].type; }
static int vector_of(const WarpKernel *k, int n) { return VECTOR_BYTES / type_size(type_of(k, n)); }

/* Loads the row of field number `n` from the ring in front of the warp to `out`. */
static void take_row(WarpRow *r, int n, Value **out) {
  WarpKernel *k = r->k;
  Value *at[MAX_RANK];
  warps_row_taken(r, n, at);
  for (int i = 0; i < k->w.X; i += vector_of(k, n)) {
    const int64_t off[MAX_RANK] = {0, 0, i};
    cells_load(&k->b, &(CellPlace){type_of(k, n), k->rings[n], 0, 3, at, off}, vector_of(k, n), out + i);
  }
}

/* Stores `row` to the ring of field number `n` behind the warp. */
static void put_row(WarpRow *r, int n, Value **row) {
  WarpKernel *k = r->k;
  Value *at[MAX_RANK];
  warps_row_put(r, n, at);
  for (int i = 0; i < k->w.X; i += vector_of(k, n)) {
    const int64_t off[MAX_RANK] = {0, 0, i};
    cells_store(&k->b, &(CellPlace){type_of(k, n), k->rings[n], 0, 3, at, off}, vector_of(k, n), row + i);
  }
}

/* Loads the row of field number `n` from global memory, cell by cell, to `out`. */
static void load_row(WarpRow *r, int n, Value **out) {
  WarpKernel *k = r->k;
  Value *y = warps_grid(k, warps_add(k, r->y, -warps_delay(k->e, n)), 0, true);
  for (int i = 0; i < k->w.X; i++) {
    Value *at[] = {y, warps_grid(k, warps_column(r, i), 1, true)};
    out[i] = build_load(&k->b, type_of(k, n), load_buffer(k->lo, k->e->field[n].field), 2, at, NULL);
  }
}

/* Does the launch store field number `n`? */
static bool is_stored(const WarpKernel *k, int n) { return launch_use(k->l, k->e->field[n].field)->stored; }

/* Stores those cells of the finished rows that are the segment's to global memory. */
static void store_rows(WarpRow *r, Value **own[MAX_WARP_FIELDS]) {
  WarpKernel *k = r->k;
  const WarpSegment *s = r->s;
  Value *in_rows = build2(&k->b, OP_AND, build2(&k->b, OP_GE, r->y, s->first), build2(&k->b, OP_LT, r->y, s->end));
  Value *to_y = warps_grid(k, r->y, 0, false);
  for (int i = 0; i < k->w.X; i++) {
    Value *x = warps_column(r, i), *from = build2(&k->b, OP_ADD, s->x, s->from),
          *to = build2(&k->b, OP_ADD, s->x, s->to), *to_x = warps_grid(k, x, 1, false);
    Value *in = build2(&k->b, OP_AND, build2(&k->b, OP_GE, x, from), build2(&k->b, OP_LT, x, to));
    Op *op = build_if(&k->b, build2(&k->b, OP_AND, in_rows, in), 0, NULL);
    Builder inner = builder_at_end(k->b.arena, op->blocks[0]);
    for (int n = 0; n < k->e->nfields; n++)
      if (is_stored(k, n))
        build_store(&inner, store_buffer(k->lo, k->l, k->e->field[n].field), own[n][i], 2, (Value *[]){to_y, to_x},
                    NULL);
  }
}

/* Loads the row of field number `n` that arrives at the warp to `own`. */
static void come(WarpRow *r, int n, Value **own) {
  WarpKernel *k = r->k;
  Builder outer = k->b;
  Type types[MAX_WARP_CELLS];
  if (warps_bulk(k)) {
    take_row(r, n, own);
    return;
  }
  for (int i = 0; i < k->w.X; i++)
    types[i] = type_of(k, n);
  Op *op = build_if(&outer, k->is_first, k->w.X, types);
  for (int arm = 0; arm < 2; arm++) {
    k->b = builder_at_end(outer.arena, op->blocks[arm]);
    if (arm)
      take_row(r, n, own);
    else
      load_row(r, n, own);
    build_yield(&k->b, k->w.X, own);
  }
  k->b = outer;
  for (int i = 0; i < k->w.X; i++)
    own[i] = op->results[i];
}

/* Does field number `n` have rows behind the last warp? Of delayed fields only those that the launch stores do. */
static bool goes_on(const WarpKernel *k, int n) { return k->e->field[n].written || !warps_delay(k->e, n); }

/* Stores the rows of fields that have no ring behind the last warp to the rings between warps. */
static void put_between(WarpRow *r, Value **own[MAX_WARP_FIELDS]) {
  WarpKernel *k = r->k;
  Builder outer = k->b;
  bool any = false;
  for (int n = 0; n < k->e->nfields; n++)
    any = any || !goes_on(k, n);
  if (!any || k->w.W == 1)
    return;
  Op *op = build_if(&outer, k->is_final, 0, NULL);
  k->b = builder_at_end(outer.arena, op->blocks[1]);
  for (int n = 0; n < k->e->nfields; n++)
    if (!goes_on(k, n))
      put_row(r, n, own[n]);
  k->b = outer;
}

/* Stores the finished rows: they leave the warp. */
static void leave(WarpRow *r, Value **own[MAX_WARP_FIELDS]) {
  WarpKernel *k = r->k;
  Builder outer = k->b;
  Op *op = warps_bulk(k) ? NULL : build_if(&outer, k->is_final, 0, NULL);
  if (op) {
    k->b = builder_at_end(outer.arena, op->blocks[0]);
    store_rows(r, own);
    k->b = builder_at_end(outer.arena, op->blocks[1]);
  }
  for (int n = 0; n < k->e->nfields; n++)
    if (goes_on(k, n))
      put_row(r, n, own[n]);
  put_between(r, own);
  if (op)
    k->b = outer;
}

/* Computes a row, row `y` of the field, through all levels of the warp; the rest of `r` describes it. */
static void make_row(WarpRow r) {
  WarpKernel *k = r.k;
  Value **own[MAX_WARP_FIELDS];
  for (int n = 0; n < k->e->nfields; n++) {
    own[n] = ARENA_ARRAY(k->b.arena, Value *, k->w.X);
    if (k->e->field[n].in >= 0)
      come(&r, n, own[n]);
  }
  for (r.level = 0; r.level < k->w.C; r.level++) {
    make_level(&r, own);
    r.y = warps_add(k, r.y, -k->e->lag);
  }
  leave(&r, own);
  build_bare(&k->b, OP_BARRIER_WARP);
}

void warps_group(WarpKernel *k, WarpBoundary boundary, bool special, const WarpSegment *s, Value *y, Value *slot) {
  Builder outer = k->b;
  CellCache *cells = cells_new(outer.arena, k->w.X, WARP_LANES);
  Value *first = build_int(&k->b, TY_I32, 0);
  int V = boundary == BOUNDARY_ANY ? k->w.U : k->w.V;
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
    make_row((WarpRow){.k = k,
                       .boundary = boundary,
                       .special = special,
                       .u = u,
                       .s = s,
                       .x = s->x,
                       .y = warps_add(k, y, u),
                       .number = warps_add(k, first, u),
                       .slot = slot,
                       .cells = cells});
  if (V < k->w.U)
    k->b = outer;
}
