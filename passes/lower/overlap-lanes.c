/* overlap-lanes.c: cells of other threads where those of an overlapped tile stay in the registers of lanes: a warp has
 * R rows, a lane V cells of each. Cells beside come from the lanes beside by shuffles, and rows of other warps from
 * shared memory, where each warp puts its first and last rows whenever an instance has made them.
 *
 * An outside rule that leads to another point leads to one that is near by: the value is chosen among those of all
 * the cells it can lead to. What a lane at the tile's edge gets for a cell beyond it is halo that nobody needs. */
#include "passes/launch/stream.h"
#include "passes/lower/overlap.h"

/* x / n rounded down. */
static int floor_div(int x, int n) { return x >= 0 ? x / n : -((n - 1 - x) / n); }

/* ---- arrays */

void lanes_make_arrays(Tile *t, int f) {
  const LaneRows *r = &t->lanes->rows->rows[f];
  const Field *field = &t->l->m->fields[f];
  Arena *a = t->l->m->arena;
  int32_t R = t->s->elems[0], V = t->s->elems[1], lo[MAX_RANK] = {r->reach_lo}, hi[MAX_RANK] = {r->reach_hi},
          cells[MAX_RANK] = {t->s->block[0] * lanes_shared_rows(r, R), t->s->block[1] * V}, first = t->k->narrays;
  for (int k = 0; k < r->arrays; k++)
    kernel_array(t->lo, t->k, arena_printf(a, "s%s.%d", field->name, k), field->type, SPACE_SHARED, cells, lo, hi);
  t->near[f] = ARENA_ARRAY(a, int32_t, t->l->use[f].versions + 1);
  for (int v = 0; v <= t->l->use[f].versions; v++)
    t->near[f][v] = r->array[v] < 0 ? -1 : first + r->array[v];
}

/* How many cells of type `x` are moved between registers and shared memory at once. */
static int vector_of(const Tile *t, Type x) {
  int n = 16 / (int)type_size(x);
  while (n > 1 && (n > 8 || t->s->elems[1] % n))
    n /= 2;
  return n;
}

/* The place of the lane's cells in rows that warps trade of field `f`: dimension 0 that of the warp's first one. */
static void place_rows(const Tile *t, Builder *b, int f, Value *at[MAX_RANK]) {
  Value *warp = build_dim(b, OP_THREAD, 0);
  at[0] = build2(b, OP_MUL, warp, build_int(b, TY_I32, lanes_shared_rows(&t->lanes->rows->rows[f], t->s->elems[0])));
  at[1] = t->l0[1];
}

void lanes_publish(const Tile *t, Builder *b, int f, int v) {
  const LaneRows *r = &t->lanes->rows->rows[f];
  int32_t R = t->s->elems[0], V = t->s->elems[1], array = t->near[f][v];
  Type type = t->l->m->fields[f].type;
  int n = vector_of(t, type);
  Value *at[MAX_RANK];
  if (array < 0)
    return;
  place_rows(t, b, f, at);
  for (int32_t j = 0; j < R; j++)
    for (int32_t e = 0; e < V && (j < r->reach_hi || j >= R - r->reach_lo); e += n) {
      const int64_t to[MAX_RANK] = {lanes_shared_row(r, R, j) + r->reach_lo, e};
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
  uint32_t h = (uint32_t)c->field * 5 + (uint32_t)c->v * 11 + (uint32_t)c->j * 29 + (uint32_t)c->m * 3 +
               (uint32_t)c->delta * 41;
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
  int n = vector_of(t, type);
  Value *at[MAX_RANK], *asked = NULL;
  place_rows(t, b, c->field, at);
  for (int m = 0; m < t->s->elems[1]; m += n) {
    const int64_t from[MAX_RANK] = {lanes_shared_row(r, t->s->elems[0], c->j) + r->reach_lo, m};
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
    value = build_shift_lanes(b, c.delta < 0 ? OP_SHUFFLE_UP : OP_SHUFFLE_DOWN, value,
                              left < lanes ? left : lanes - 1);
  return c.delta ? remember(t, c, value) : value;
}

/* ---- accesses */

/* The value `to` cells away from cell `c`, or where a rule leads elsewhere than `off` from dimension `d` on, selected by
 * how far it leads. */
static Value *ruled(const Tile *t, Builder *b, const Cell *c, int field, int v, const int64_t *off, const Rules *rules,
                    int d, int64_t *to) {
  if (d >= t->rank || d >= MAX_RANK)
    return element(t, b, field, v, c->fixed[0] + (int)to[0], c->fixed[1] + (int)to[1]);
  const Field *fl = &t->l->m->fields[field];
  int64_t lo, hi;
  stream_reach(rules->dim[d], off[d], &lo, &hi);
  to[d] = off[d];
  Value *value = ruled(t, b, c, field, v, off, rules, d + 1, to);
  if (lo == hi)
    return value;
  Opcode map = rules->dim[d] == OUTSIDE_CLAMP ? OP_CLAMP : OP_MIRROR;
  Value *far = build2(b, OP_SUB, build_map(b, map, c->w[d], off[d], fl->box.lo[d], fl->box.hi[d]), c->w[d]);
  for (to[d] = lo; to[d] <= hi; to[d]++)
    if (to[d] != off[d]) {
      Value *leads = build2(b, OP_EQ, far, build_int(b, TY_I64, to[d]));
      value = build3(b, OP_SELECT, leads, ruled(t, b, c, field, v, off, rules, d + 1, to), value);
    }
  return value;
}

Value *lanes_access(const Tile *t, Builder *b, const Cell *c, int field, int v, const int64_t *off,
                    const Rules *rules) {
  int64_t to[MAX_RANK] = {0};
  return inside_or(b, t->l->m, field, rules, OUTSIDE_CONST, c->w, off, ruled(t, b, c, field, v, off, rules, 0, to),
                   NULL);
}
