/* stream-cells.c: the values of cells in a streamed tile.
 *
 *   cell                                  value
 *   the running step's row                the value that was built
 *   an older row of the thread            private array with constant places: a register
 *   beside a lane's cells                 shuffle from the neighbouring lanes
 *   beside a thread's lines, rank 3       shared memory, where another warp stored it a step or more ago
 *
 * *Outside rules*. Clamp and mirror lead to a point that is near: the value is selected among those of all cells to
 * which they can lead.
 *
 * A constant: if more than one access may lead beyond the region of a field that is a constant there, that constant
 * takes the place of the cells beyond as soon as their row has been loaded or computed (`KeptVersion.filled`), and
 * accesses go without a test. That is one test for each cell and row in place of one for each access. It is not done
 * where cells beyond an edge are images of points: there it depends on the reading point whether the cell is outside.
 * Acoustic waves of order 8 in three dimensions have 24 such accesses; for tiles at edges of 296^3 points the PTX went
 * from 317 to 251 kB, the time of ptxas from 0.87 to 0.61 s.
 *
 * Pass `specialize` removes all of these tests from interior tiles. */
#include "passes/tile/emit/lower-stream.h"

#include <string.h>

/* The cell at which instance `i` is computed, `phase` steps before it is due: element e of line j, its coordinates, and
 * the coordinates with images wrapped. */
typedef struct FlowCell {
  Flow *f;
  int i, phase, j, e;
  Value *g[MAX_RANK], *w[MAX_RANK];
} FlowCell;

static int32_t modulo(int64_t x, int32_t n) { return (int32_t)((x % n + n) % n); }

/* ---- values of the running step, built once each */

TradedLines flow_traded(Flow *f, int fl, int v, int slot) {
  const KeptVersion *w = &f->st->kept[fl][v];
  Value *place = build_int(&f->b, TY_I32, slot),
        *first = build2(&f->b, OP_MUL, f->warp, build_int(&f->b, TY_I32, stream_shared_lines(w, f->E))),
        *cell = build2(&f->b, OP_MUL, f->lane, build_int(&f->b, TY_I32, f->V));
  Type type = f->l->m->fields[fl].type;
  return (TradedLines){type, f->edge[fl][v], v, 3, f->E, f->V, w->reach_lo, w->reach_hi, {place, first, cell}};
}

/* Builds cell `x` of `line`: one of the thread's own lines, of an older row, or a line of another warp (a CellFn). */
static Value *make_cell(void *user, CellLine line, int x) {
  Flow *f = user;
  if (line.line < 0 || line.line >= f->E) {
    int32_t places = f->k->arrays[f->edge[line.of][line.version]].shape[0];
    TradedLines lines = flow_traded(f, line.of, line.version, modulo(f->u - line.back, places));
    lines_take(&f->b, f->cells, &lines, line);
    return cells_get(f->cells, line, x);
  }
  int slot = modulo(f->u - line.back, f->st->unroll);
  return flow_kept(f, f->ring[line.of][line.version], line.version, slot, line.line, x);
}

/* ---- accesses */

/* The element that is `to` cells away from the cell `user` in version `v` of `field` (a BesideFn). */
static Value *cell_beside(void *user, int field, int v, const int64_t *to) {
  const FlowCell *c = user;
  Flow *f = c->f;
  int x = f->rank - 1;
  CellLine line = {.of = field,
                   .version = v,
                   .back = f->st->lag[c->i] - c->phase - f->st->kept[field][v].lag - (int)(f->rank > 1 ? to[0] : 0),
                   .line = c->j + (int)(f->rank > 2 ? to[1] : 0)};
  return cells_beside(f->cells, &f->b, line, c->e + (int)to[x], make_cell, f);
}

/* Are cells of version `w` filled beyond the field's region in dimension `d`? Not where tiles are fitted to the grid:
 * there the first and the last tile have no cells beyond it. */
static bool is_filled(const Flow *f, const KeptVersion *w, int d) { return w->filled && !f->k->over[d]; }

/* Those of `rules` that an access to version `v` still has to test itself, since cells that are filled need no test. */
static Rules left_rules(const Flow *f, Version v, const Rules *rules) {
  Rules left = *rules;
  for (int d = 0; d < f->rank; d++)
    if (left.dim[d] == OUTSIDE_CONST && is_filled(f, &f->st->kept[v.field][v.version], d))
      left.dim[d] = OUTSIDE_NONE;
  return left;
}

/* The access at the cell to `field`, which does not have dimension 0. The value is the same in all steps, so it is
 * loaded once, before them. */
static Value *load_once(const FlowCell *c, int field, const int64_t *off, const Rules *rules) {
  Flow *f = c->f;
  Value *g[MAX_RANK], *w[MAX_RANK];
  for (int i = 0; i < f->nonce; i++) {
    const OnceLoaded *x = &f->once[i];
    if (x->field == field && x->j == c->j && x->e == c->e && !memcmp(x->off, off, sizeof *off * (size_t)f->rank) &&
        !memcmp(&x->rules, rules, sizeof *rules))
      return x->v;
  }
  Builder inside = f->b;
  Value *t = f->t;
  f->b = f->before;
  f->b.loc = inside.loc;
  f->t = NULL;
  flow_coordinates(f, 0, c->j, c->e, g, w);
  OnceLoaded x = {field, c->j, c->e, {0}, *rules, NULL};
  memcpy(x.off, off, sizeof *off * (size_t)f->rank);
  x.v = access_global(&f->b, f->l->m, field, load_buffer(f->lo, field), rules, w, off, true);
  ARENA_PUSH(f->lo->out->arena, f->once, f->nonce, x);
  f->before = f->b;
  f->b = inside;
  f->t = t;
  return x.v;
}

/* Point.access. */
static Value *cell_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const FlowCell *c = p->user;
  Flow *f = c->f;
  Version from = launch_reads(f->l, field, c->i);
  if (from.version == 0 && launch_use(f->l, from.field)->fresh)
    return build_const(b, p->m->fields[field].type, (Const){0});
  if (from.version == 0 && f->rank > 1 && field_lacks(&p->m->fields[from.field], 0))
    return load_once(c, from.field, off, rules);
  if (from.version == 0 && stream_far(f->st, c->i, field, off, rules))
    return access_global(b, p->m, from.field, load_buffer(f->lo, from.field), rules, c->w, off, true);
  if (f->st->kept[from.field][from.version].direct)
    return flow_own_cell(f, from.field, f->st->lag[c->i] - c->phase, c->j, c->e);
  Rules left = left_rules(f, from, rules);
  return access_beside(b, p->m, from.field, from.version, &left, c->w, off, cell_beside, p->user);
}

/* The value that the point keeps where no piece writes `field`; NULL for a temp field that this step has not
 * written. */
static Value *old_value(Point *p, Builder *b, int field) {
  const FlowCell *c = p->user;
  static const int64_t here[MAX_RANK];
  static const Rules none;
  if (!launch_holds(c->f->l, field, c->i))
    return NULL;
  return point_access(p, b, field, here, &none);
}

/* ---- values computed early */

int flow_partial(const Flow *f, int i, int id) { return f->l->m->nfields + f->partial[i][id]; }

/* Value `id` of the instance's main piece, computed `back` steps ago. */
static Value *partial_value(const FlowCell *c, int id, int back) {
  Flow *f = c->f;
  return flow_kept(f, f->partial[c->i][id], 0, modulo(f->u - back, f->st->unroll), c->j, c->e);
}

/* Point.known, at the instance's own step: gives values that were computed early, and skips ops that only those
 * need. */
static Value *known_partial(Point *p, Builder *b, const Piece *piece, const Op *op, bool *skip) {
  const FlowCell *c = p->user;
  const Partial *e = c->f->st->partial[c->i];
  (void)b;
  if (!e || piece != &c->f->l->st[c->i].pieces[e->piece] || op->code == OP_YIELD)
    return NULL;
  int id = op->results[0]->id;
  if (e->kept[id] && e->use[id] == 0)
    return partial_value(c, id, e->phase[id]);
  bool here = e->free[id] || op->code == OP_ACCESS ? e->use[id] == 0 : e->phase[id] == 0;
  *skip = e->use[id] == INT32_MAX || !here;
  return NULL;
}

/* The value `v` of the cell's main piece at the cell's phase; `map` has the values that were built. */
static Value *phase_value(Point *p, Builder *b, const Piece *piece, const Value *v, Value **map) {
  const FlowCell *c = p->user;
  const Partial *e = c->f->st->partial[c->i];
  const Op *op = v->def;
  if (map[v->id])
    return map[v->id];
  if (op->code == OP_ACCESS) {
    Rules rules = access_rules(p->m, &piece->box, op->sym, op->off);
    return map[v->id] = point_access(p, b, op->sym, op->off, &rules);
  }
  if (!e->free[v->id] && e->phase[v->id] > c->phase)
    return map[v->id] = partial_value(c, v->id, e->phase[v->id] - c->phase);
  for (int k = 0; k < op->noperands; k++)
    phase_value(p, b, piece, op->operands[k], map);
  b->loc = op->loc;
  return map[v->id] = body_op(p, b, op, map);
}

static Point open_cell(Flow *f, FlowCell *c, int i, int phase, int j, int e);

/* Computes the values of `phase` of instance `i` that are kept, at element e of line j. */
static void compute_partial(Flow *f, int i, int phase, int j, int e) {
  const Partial *plan = f->st->partial[i];
  const Piece *piece = &f->l->st[i].pieces[plan->piece];
  Value **map = ARENA_ARRAY(f->lo->out->arena, Value *, plan->n);
  FlowCell c;
  Point p = open_cell(f, &c, i, phase, j, e);
  body_number(piece->body);
  for (const Op *op = piece->body->first; op; op = op->next) {
    int id = op->nresults ? op->results[0]->id : -1;
    if (id >= 0 && plan->kept[id] && plan->phase[id] == phase)
      cells_set(f->cells, (CellLine){.of = flow_partial(f, i, id), .line = j}, e,
                phase_value(&p, &f->b, piece, op->results[0], map));
  }
}

/* Computes the values that instance `i` computes early in the running step. */
static void compute_phases(Flow *f, int i) {
  for (int phase = f->st->partial[i]->most; phase > 0; phase--)
    for (int j = 0; j < f->E; j++)
      for (int e = 0; e < f->V; e++)
        compute_partial(f, i, phase, j, e);
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

Value *flow_filled(Flow *f, int fl, int v, int j, int e, Value *x) {
  const KeptVersion *of = &f->st->kept[fl][v];
  const Field *field = &f->l->m->fields[fl];
  Box box = {0};
  Value *g[MAX_RANK], *w[MAX_RANK], *at[MAX_RANK];
  if (!of->filled)
    return x;
  flow_coordinates(f, of->lag, j, e, g, w);
  for (int d = 0; d < f->rank; d++)
    if (of->tested[d] && is_filled(f, of, d)) {
      box.lo[box.rank] = field->box.lo[d];
      box.hi[box.rank] = field->box.hi[d];
      at[box.rank++] = g[d];
    }
  return !box.rank ? x
                   : build3(&f->b, OP_SELECT, build_inside(&f->b, box.rank, at, &box), x,
                            build_const(&f->b, field->type, field->outside_value));
}

/* Starts the cell at element e of line j for instance `i`, and returns it as a point. */
static Point open_cell(Flow *f, FlowCell *c, int i, int phase, int j, int e) {
  *c = (FlowCell){.f = f, .i = i, .phase = phase, .j = j, .e = e};
  flow_coordinates(f, f->st->lag[i] - phase, j, e, c->g, c->w);
  Point p = {.m = f->l->m, .access = cell_access, .known = known_partial, .user = c};
  for (int d = 0; d < f->rank; d++)
    p.index[d] = c->w[d];
  int64_t level = f->l->st[i].level - f->l->first_level;
  p.step = f->step && level ? build2(&f->b, OP_ADD, f->step, build_int(&f->b, TY_I64, level)) : f->step;
  return p;
}

/* Computes the targets of instance `i` at element e of line j and makes them the newest of their versions. */
static void compute_cell(Flow *f, int i, int j, int e) {
  const Stencil *st = &f->l->st[i];
  FlowCell c;
  Point p = open_cell(f, &c, i, 0, j, e);
  Value **v = stencil_values(&p, &f->b, st, old_value);
  for (int t = 0; t < st->ntargets; t++) {
    int fl = st->targets[t], version = launch_version(f->l, fl, i + 1);
    cells_set(f->cells, (CellLine){.of = fl, .version = version, .line = j}, e,
              flow_filled(f, fl, version, j, e, v[t]));
  }
}

void flow_compute(Flow *f, int i) {
  f->b.loc = f->l->st[i].loc;
  if (f->st->partial[i])
    compute_phases(f, i);
  for (int j = 0; j < f->E; j++)
    for (int e = 0; e < f->V; e++)
      compute_cell(f, i, j, e);
}
