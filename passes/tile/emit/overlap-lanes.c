/* overlap-lanes.c: cells of other threads where those of an overlapped tile stay in the registers of lanes: a warp has
 * R rows, a lane V cells of each. Cells beside come from the lanes beside by shuffles, and rows of other warps from
 * shared memory, where each warp puts its first and last rows whenever an instance has made them.
 * What a lane at the tile's edge gets for a cell beyond it is halo that nobody needs. */
#include "passes/tile/stream.h"
#include "passes/tile/emit/lower-overlap.h"

/* x / n rounded down. */
static int floor_div(int x, int n) { return x >= 0 ? x / n : -((n - 1 - x) / n); }

/* ---- arrays */

void lanes_make_arrays(Tile *t, int f) {
  const LaneRows *r = &t->lanes->rows->rows[f];
  const Field *field = &t->l->m->fields[f];
  Arena *a = t->l->m->arena;
  int32_t R = t->s->elems[0], V = t->s->elems[1], lo[MAX_RANK] = {r->reach_lo}, hi[MAX_RANK] = {r->reach_hi},
          cells[MAX_RANK] = {t->s->block[0] * shared_lines(r->reach_lo, r->reach_hi, R), t->s->block[1] * V},
          first = t->k->narrays;
  for (int k = 0; k < r->arrays; k++)
    kernel_array(t->lo, t->k, arena_printf(a, "s%s.%d", field->name, k), field->type, SPACE_SHARED, cells, lo, hi);
  t->near[f] = ARENA_ARRAY(a, int32_t, t->l->use[f].versions + 1);
  for (int v = 0; v <= t->l->use[f].versions; v++)
    t->near[f][v] = r->array[v] < 0 ? -1 : first + r->array[v];
}

/* The place of the lane's cells in rows that warps trade of field `f`: dimension 0 that of the warp's first one. */
static void place_rows(const Tile *t, Builder *b, int f, Value *at[MAX_RANK]) {
  const LaneRows *r = &t->lanes->rows->rows[f];
  Value *warp = build_dim(b, OP_THREAD, 0);
  at[0] = build2(b, OP_MUL, warp, build_int(b, TY_I32, shared_lines(r->reach_lo, r->reach_hi, t->s->elems[0])));
  at[1] = t->l0[1];
}

void lanes_publish(const Tile *t, Builder *b, int f, int v) {
  const LaneRows *r = &t->lanes->rows->rows[f];
  int32_t R = t->s->elems[0], V = t->s->elems[1], array = t->near[f][v];
  Type type = t->l->m->fields[f].type;
  int n = vector_cells(type, t->s->elems[1]);
  Value *at[MAX_RANK];
  if (array < 0)
    return;
  place_rows(t, b, f, at);
  for (int32_t j = 0; j < R; j++)
    for (int32_t e = 0; e < V && (j < r->reach_hi || j >= R - r->reach_lo); e += n) {
      const int64_t to[MAX_RANK] = {shared_line(r->reach_lo, r->reach_hi, R, j) + r->reach_lo, e};
      Value *x[16];
      for (int i = 0; i < n; i++) {
        Value *own[MAX_RANK] = {build_int(b, TY_I32, j), build_int(b, TY_I32, e + i)};
        x[i] = build_aload(b, type, own_array(t, f, v), v, t->rank, own, NULL);
      }
      if (n > 1)
        build_avstore(b, array, v, n, x, t->rank, at, to);
      else
        build_astore(b, array, v, x[0], t->rank, at, to);
    }
}

/* ---- values of cells, built once each for an instance */

/* The chain of the values like `c`. */
static LaneValue **chain_of(const Tile *t, const LaneValue *c) {
  uint32_t h =
      (uint32_t)c->field * 5 + (uint32_t)c->v * 11 + (uint32_t)c->j * 29 + (uint32_t)c->m * 3 + (uint32_t)c->delta * 41;
  return &t->lanes->seen[h % LANE_CHAINS];
}

static Value *find_seen(const Tile *t, const LaneValue *c) {
  for (const LaneValue *s = *chain_of(t, c); s; s = s->next)
    if (s->field == c->field && s->v == c->v && s->j == c->j && s->m == c->m && s->delta == c->delta)
      return s->value;
  return NULL;
}

static Value *remember(const Tile *t, LaneValue c, Value *v) {
  LaneValue **chain = chain_of(t, &c), *own = ARENA_NEW(t->lo->out->arena, LaneValue);
  *own = c;
  own->value = v;
  own->next = *chain;
  *chain = own;
  return v;
}

void lanes_begin(const Tile *t) {
  for (int i = 0; i < LANE_CHAINS && t->lanes; i++)
    t->lanes->seen[i] = NULL;
}

/* Loads the lane's cells of row j, which is another warp's, and remembers them; the one asked for. */
static Value *other_row(const Tile *t, Builder *b, const LaneValue *c) {
  const LaneRows *r = &t->lanes->rows->rows[c->field];
  int array = t->near[c->field][c->v];
  Type type = t->l->m->fields[c->field].type;
  int n = vector_cells(type, t->s->elems[1]);
  Value *at[MAX_RANK], *asked = NULL;
  place_rows(t, b, c->field, at);
  for (int m = 0; m < t->s->elems[1]; m += n) {
    const int64_t from[MAX_RANK] = {shared_line(r->reach_lo, r->reach_hi, t->s->elems[0], c->j) + r->reach_lo, m};
    Op *op = n > 1 ? build_avload(b, type, n, array, c->v, t->rank, at, from) : NULL;
    for (int i = 0; i < n; i++) {
      LaneValue one = *c;
      one.m = m + i;
      Value *v = remember(t, one, op ? op->results[i] : build_aload(b, type, array, c->v, t->rank, at, from));
      asked = one.m == c->m ? v : asked;
    }
  }
  return asked;
}

/* Element m of the lane's row j, one of its own. */
static Value *own_element(const Tile *t, Builder *b, const LaneValue *c) {
  Value *at[MAX_RANK] = {build_int(b, TY_I32, c->j), build_int(b, TY_I32, c->m)};
  return build_aload(b, t->l->m->fields[c->field].type, own_array(t, c->field, c->v), c->v, t->rank, at, NULL);
}

/* Element `m` of row `j`, any numbers: of this lane, of one some lanes on, of another warp's. */
static Value *element(const Tile *t, Builder *b, int field, int v, int j, int m) {
  int V = t->s->elems[1], lanes = t->s->block[1];
  LaneValue c = {field, v, j, m - floor_div(m, V) * V, floor_div(m, V), NULL, NULL}, here = c;
  Value *value = find_seen(t, &c);
  if (value)
    return value;
  here.delta = 0;
  value = find_seen(t, &here);
  if (!value)
    value = j >= 0 && j < t->s->elems[0] ? remember(t, here, own_element(t, b, &here)) : other_row(t, b, &here);
  for (int left = c.delta < 0 ? -c.delta : c.delta; left > 0; left -= lanes - 1)
    value = build_shift_lanes(b, c.delta < 0 ? OP_SHUFFLE_UP : OP_SHUFFLE_DOWN, value, left < lanes ? left : lanes - 1);
  return c.delta ? remember(t, c, value) : value;
}

/* ---- accesses */

/* A cell, the builder of its code and its tile, for cell_beside. */
typedef struct From {
  const Tile *t;
  Builder *b;
  const Cell *c;
} From;

/* The element that is `to` cells away from the cell of `user` (a BesideFn). */
static Value *cell_beside(void *user, int field, int v, const int64_t *to) {
  const From *from = user;
  return element(from->t, from->b, field, v, from->c->fixed[0] + (int)to[0], from->c->fixed[1] + (int)to[1]);
}

Value *lanes_access(const Tile *t, Builder *b, const Cell *c, int field, int v, const int64_t *off,
                    const Rules *rules) {
  From from = {t, b, c};
  return access_beside(b, t->l->m, field, v, rules, c->w, off, cell_beside, &from);
}

/* ---- values of before the launch: as version -1 less the rule by which their row is found, in row j, or where rows
 * may be images in that of the cell, with the offset as `delta` */

/* Loads the vector with the element of `one`, in the row at off[0] from that of cell `c`, and remembers its elements.
 * The one asked for. */
static Value *load_vector(const Tile *t, Builder *b, const Cell *c, LaneValue one, const int64_t *off,
                          const Rules *rules) {
  const Field *f = &t->l->m->fields[one.field];
  int n = vector_cells(f->type, t->s->elems[1]), first = one.m / n * n;
  Rules row = *rules;
  Value *at[MAX_RANK] = {c->w[0]}, *asked = NULL, *cell = c->g[1];
  const int64_t to[MAX_RANK] = {off[0]};
  if (c->fixed[1] != first)
    cell = build2(b, OP_ADD, cell, build_int(b, TY_I64, first - c->fixed[1]));
  at[1] = t->l->wraps[1] ? build_map(b, OP_WRAP, cell, 0, t->l->wrap_lo[1], t->l->wrap_hi[1]) : cell;
  row.dim[1] = OUTSIDE_NONE;
  for (int d = 0; d < t->rank; d++)
    at[d] = guarded_place(b, f, &row, at, to, d, d ? n : 1);
  Op *op = build_vload(b, f->type, n, load_buffer(t->lo, one.field), t->rank, at, NULL);
  for (int i = 0; i < n; i++) {
    LaneValue own = one;
    own.m = first + i;
    Value *v = remember(t, own, op->results[i]);
    asked = own.m == one.m ? v : asked;
  }
  return asked;
}

Value *lanes_load(const Tile *t, Builder *b, const Cell *c, int field, const int64_t *off, const Rules *rules) {
  const Module *m = t->l->m;
  int element = c->fixed[1] + (int)off[1];
  OutsideRule rule = rules->dim[1];
  bool straight = rule == OUTSIDE_NONE || rule == OUTSIDE_CONST;
  if (!t->lanes->vectors[field] || !straight || element < 0 || element >= t->s->elems[1])
    return access_global(b, m, field, load_buffer(t->lo, field), rules, c->w, off, true);
  int row = (int)off[0], own = t->l->wraps[0] ? 0 : row;
  LaneValue one = {field, -1 - (int)rules->dim[0], c->fixed[0] + own, element, row - own, NULL, NULL};
  Value *v = find_seen(t, &one);
  v = v ? v : load_vector(t, b, c, one, off, rules);
  return inside_or(b, m, field, rules, OUTSIDE_CONST, c->w, off, v, NULL);
}
