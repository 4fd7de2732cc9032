/* stream-cells.c: the values of cells while a tile is walked. The running step's row is at hand as values, older rows
 * are in the thread's
 * registers (private arrays with constant places), what lies beside a lane's cells comes from the lanes beside it,
 * and what lies beside a thread's lines, in
 * rank 3, from shared memory, where the other warps have put it a step or more ago.
 *
 * An outside rule that leads to another point leads to one that is near by: the value is chosen among those of all
 * the cells it can lead to. */
#include "passes/tile/emit/lower-stream.h"

/* The cell at which instance `i` is being computed, `phase` steps before it is due: element e of line j, its
 * coordinates, and those with images wrapped. */
typedef struct FlowCell {
  Flow *f;
  int i, phase, j, e;
  Value *g[MAX_RANK], *w[MAX_RANK];
} FlowCell;

static int32_t modulo(int64_t x, int32_t n) { return (int32_t)((x % n + n) % n); }

/* x / n rounded down. */
static int floor_div(int x, int n) { return x >= 0 ? x / n : -((n - 1 - x) / n); }

/* ---- values of the running step, built once each */

/* The chain of the values like `c`. */
static SeenCell **chain_of(Flow *f, const SeenCell *c) {
  uint32_t h = (uint32_t)c->field * 5 + (uint32_t)c->v * 11 + (uint32_t)c->back * 17 + (uint32_t)c->j * 29 +
               (uint32_t)c->m * 3 + (uint32_t)c->delta * 41;
  return &f->seen[h % SEEN_CHAINS];
}

static Value *find_seen(Flow *f, const SeenCell *c) {
  for (const SeenCell *s = *chain_of(f, c); s; s = s->next)
    if (s->field == c->field && s->v == c->v && s->back == c->back && s->j == c->j && s->m == c->m &&
        s->delta == c->delta)
      return s->value;
  return NULL;
}

static Value *remember(Flow *f, SeenCell c, Value *v) {
  SeenCell **chain = chain_of(f, &c), *own = ARENA_NEW(f->lo->out->arena, SeenCell);
  *own = c;
  own->value = v;
  own->next = *chain;
  *chain = own;
  return v;
}

/* Element m of the thread's own line j. */
static Value *own_element(Flow *f, const SeenCell *c) {
  if (c->back == 0)
    return f->newest[c->field][c->v][c->j * f->V + c->m];
  Value *at[MAX_RANK] = {build_int(&f->b, TY_I32, modulo(f->u - c->back, f->st->unroll)),
                         build_int(&f->b, TY_I32, c->j), build_int(&f->b, TY_I32, c->m)};
  return build_aload(&f->b, f->l->m->fields[c->field].type, f->ring[c->field][c->v], c->v, 3, at, NULL);
}

/* Loads all elements of line j, which is another warp's, and remembers them; the one asked for. */
static Value *other_line(Flow *f, const SeenCell *c) {
  const Array *a = &f->k->arrays[f->edge[c->field][c->v]];
  const Window *w = &f->st->w[c->field][c->v];
  Type t = f->l->m->fields[c->field].type;
  int vector = flow_vector(f, t);
  Value *line = build2(&f->b, OP_MUL, f->warp, build_int(&f->b, TY_I32, stream_shared_lines(w, f->E))),
        *cell = build2(&f->b, OP_MUL, f->lane, build_int(&f->b, TY_I32, f->V));
  Value *at[MAX_RANK] = {build_int(&f->b, TY_I32, modulo(f->u - c->back, a->shape[0])), line, cell}, *asked = NULL;
  for (int m = 0; m < f->V; m += vector) {
    const int64_t off[MAX_RANK] = {0, stream_shared_line(w, f->E, c->j) + a->pad_lo[1], m};
    Op *op = vector > 1 ? build_avload(&f->b, t, vector, f->edge[c->field][c->v], c->v, 3, at, off) : NULL;
    for (int i = 0; i < vector; i++) {
      SeenCell one = *c;
      one.m = m + i;
      Value *v =
          remember(f, one, op ? op->results[i] : build_aload(&f->b, t, f->edge[c->field][c->v], c->v, 3, at, off));
      asked = one.m == c->m ? v : asked;
    }
  }
  return asked;
}

/* Element `m` of line j, any numbers: of this thread, of one some lanes on, of another warp's. */
static Value *element(Flow *f, int field, int v, int back, int j, int m) {
  SeenCell c = {field, v, back, j, m - floor_div(m, f->V) * f->V, floor_div(m, f->V), NULL, NULL}, here = c;
  Value *value = find_seen(f, &c);
  if (value)
    return value;
  here.delta = 0;
  value = find_seen(f, &here);
  if (!value)
    value = j >= 0 && j < f->E ? remember(f, here, own_element(f, &here)) : other_line(f, &here);
  for (int left = c.delta < 0 ? -c.delta : c.delta; left > 0; left -= f->lanes - 1)
    value = build_shift_lanes(&f->b, c.delta < 0 ? OP_SHUFFLE_UP : OP_SHUFFLE_DOWN, value,
                              left < f->lanes ? left : f->lanes - 1);
  return c.delta ? remember(f, c, value) : value;
}

/* ---- accesses */

/* The element that is `to` cells away from the cell `user` in version `v` of `field` (a BesideFn). */
static Value *cell_beside(void *user, int field, int v, const int64_t *to) {
  const FlowCell *c = user;
  Flow *f = c->f;
  int x = f->rank - 1;
  int back = f->st->lag[c->i] - c->phase - f->st->w[field][v].lag - (int)(f->rank > 1 ? to[0] : 0);
  return element(f, field, v, back, c->j + (int)(f->rank > 2 ? to[1] : 0), c->e + (int)to[x]);
}

/* Point.access. */
static Value *cell_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const FlowCell *c = p->user;
  Flow *f = c->f;
  Version from = launch_reads(f->l, field, c->i);
  if (from.version == 0 && f->l->use[from.field].fresh)
    return build_const(b, p->m->fields[field].type, (Const){0});
  if (from.version == 0 && stream_far(f->st, c->i, field, off, rules))
    return access_global(b, p->m, from.field, load_buffer(f->lo, from.field), rules, c->w, off, true);
  if (f->st->w[from.field][from.version].direct)
    return flow_own_row(f, from.field, f->st->lag[c->i] - c->phase)[c->j * f->V + c->e];
  return access_beside(b, p->m, from.field, from.version, rules, c->w, off, cell_beside, p->user);
}

/* The value that the point keeps where no piece writes `field`; none of a temp field that this step has not written. */
static Value *old_value(Point *p, Builder *b, int field) {
  const FlowCell *c = p->user;
  static const int64_t here[MAX_RANK];
  static const Rules none;
  if (!launch_holds(c->f->l, field, c->i))
    return NULL;
  return point_access(p, b, field, here, &none);
}

/* ---- values computed early */

/* Value `id` of the instance's main piece, computed `back` steps ago. */
static Value *early_value(const FlowCell *c, Type t, int id, int back) {
  Flow *f = c->f;
  Value *at[MAX_RANK] = {build_int(&f->b, TY_I32, modulo(f->u - back, f->st->unroll)), build_int(&f->b, TY_I32, c->j),
                         build_int(&f->b, TY_I32, c->e)};
  return build_aload(&f->b, t, f->early[c->i][id], 0, 3, at, NULL);
}

/* Point.known, at the instance's own step: what was computed early, and what only that needs. */
static Value *known_early(Point *p, Builder *b, const Piece *piece, const Op *op, bool *skip) {
  const FlowCell *c = p->user;
  const Early *e = c->f->st->early[c->i];
  (void)b;
  if (!e || piece != &c->f->l->st[c->i].pieces[e->piece] || op->code == OP_YIELD)
    return NULL;
  int id = op->results[0]->id;
  if (e->kept[id] && e->use[id] == 0)
    return early_value(c, op->results[0]->type, id, e->phase[id]);
  bool here = e->free[id] || op->code == OP_ACCESS ? e->use[id] == 0 : e->phase[id] == 0;
  *skip = e->use[id] == INT32_MAX || !here;
  return NULL;
}

/* The value of `v` of the cell's main piece at the cell's phase; `map` has those that were built. */
static Value *phase_value(Point *p, Builder *b, const Piece *piece, const Value *v, Value **map) {
  const FlowCell *c = p->user;
  const Early *e = c->f->st->early[c->i];
  const Op *op = v->def;
  if (map[v->id])
    return map[v->id];
  if (op->code == OP_ACCESS) {
    Rules rules = access_rules(p->m, &piece->box, op->sym, op->off);
    return map[v->id] = point_access(p, b, op->sym, op->off, &rules);
  }
  if (!e->free[v->id] && e->phase[v->id] > c->phase)
    return map[v->id] = early_value(c, v->type, v->id, e->phase[v->id] - c->phase);
  for (int k = 0; k < op->noperands; k++)
    phase_value(p, b, piece, op->operands[k], map);
  b->loc = op->loc;
  return map[v->id] = body_op(p, b, op, map);
}

static Point open_cell(Flow *f, FlowCell *c, int i, int phase, int j, int e);

/* Computes what is kept of `phase` of instance `i`, at element e of line j. */
static void compute_early(Flow *f, int i, int phase, int j, int e) {
  const Early *plan = f->st->early[i];
  const Piece *piece = &f->l->st[i].pieces[plan->piece];
  Value **map = ARENA_ARRAY(f->lo->out->arena, Value *, plan->n);
  FlowCell c;
  Point p = open_cell(f, &c, i, phase, j, e);
  body_number(piece->body);
  for (const Op *op = piece->body->first; op; op = op->next) {
    int id = op->nresults ? op->results[0]->id : -1;
    if (id >= 0 && plan->kept[id] && plan->phase[id] == phase)
      f->made[i][id][j * f->V + e] = phase_value(&p, &f->b, piece, op->results[0], map);
  }
}

/* Computes all that instance `i` computes early in the running step. */
static void compute_phases(Flow *f, int i) {
  for (int phase = f->st->early[i]->most; phase > 0; phase--)
    for (int j = 0; j < f->E; j++)
      for (int e = 0; e < f->V; e++)
        compute_early(f, i, phase, j, e);
}

/* ---- instances */

/* Coordinate `d` of the thread's cell (line j, element e) in the row that lags `lag` behind. */
static Value *coordinate(Flow *f, int d, int lag, int j, int e) {
  int64_t off = d == f->rank - 1 ? e : d == 0 ? f->u - lag : j;
  Value *x = f->at[d];
  if (d == 0 && f->rank > 1 && f->t)
    x = build2(&f->b, OP_ADD, x, build_convert(&f->b, TY_I64, f->t));
  return off ? build2(&f->b, OP_ADD, x, build_int(&f->b, TY_I64, off)) : x;
}

void flow_coordinates(Flow *f, int lag, int j, int e, Value **g, Value **w) {
  for (int d = 0; d < f->rank; d++) {
    g[d] = coordinate(f, d, lag, j, e);
    w[d] = f->l->wraps[d] ? build_map(&f->b, OP_WRAP, g[d], 0, f->l->wrap_lo[d], f->l->wrap_hi[d]) : g[d];
  }
}

/* Starts the cell at element e of line j for instance `i`, and the point that it is. */
static Point open_cell(Flow *f, FlowCell *c, int i, int phase, int j, int e) {
  *c = (FlowCell){.f = f, .i = i, .phase = phase, .j = j, .e = e};
  flow_coordinates(f, f->st->lag[i] - phase, j, e, c->g, c->w);
  Point p = {.m = f->l->m, .access = cell_access, .known = known_early, .user = c};
  for (int d = 0; d < f->rank; d++)
    p.index[d] = c->w[d];
  int64_t level = f->l->st[i].level - f->l->first_level;
  p.step = f->step && level ? build2(&f->b, OP_ADD, f->step, build_int(&f->b, TY_I64, level)) : f->step;
  return p;
}

/* Computes the targets of instance `i` at element e of line j, into values[target][j * V + e]. */
static void compute_cell(Flow *f, int i, int j, int e, Value ***values) {
  const Stencil *st = &f->l->st[i];
  FlowCell c;
  Point p = open_cell(f, &c, i, 0, j, e);
  Value **v = stencil_values(&p, &f->b, st, old_value);
  for (int t = 0; t < st->ntargets; t++)
    values[t][j * f->V + e] = v[t];
}

void flow_compute(Flow *f, int i) {
  const Stencil *st = &f->l->st[i];
  Value ***values = ARENA_ARRAY(f->lo->out->arena, Value **, st->ntargets);
  f->b.loc = st->loc;
  if (f->st->early[i])
    compute_phases(f, i);
  for (int t = 0; t < st->ntargets; t++)
    values[t] = ARENA_ARRAY(f->lo->out->arena, Value *, f->E * f->V);
  for (int j = 0; j < f->E; j++)
    for (int e = 0; e < f->V; e++)
      compute_cell(f, i, j, e, values);
  for (int t = 0; t < st->ntargets; t++)
    f->newest[st->targets[t]][launch_version(f->l, st->targets[t], i + 1)] = values[t];
}
