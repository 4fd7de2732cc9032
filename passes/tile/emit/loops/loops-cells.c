/* loops-cells.c: the code at one cell of a tile, or at cells of a few lines together: the reads of an instance, its
 * equations, its stores. */
#include "passes/tile/emit/loops/loops.h"

#include <string.h>

/* A value that the fast code has read: version 0 of `field`, or a later version from its array, at `off` from the first
 * of the lines. */
typedef struct ReadValue {
  Version v;
  int64_t off[MAX_RANK];
  Value *value;
} ReadValue;
typedef struct ReadValues {
  int32_t n;
  ReadValue *r;
} ReadValues;

/* Greater than the number of any cell, also of those beyond a tile's. */
enum { FAR_CELL = 1 << 30 };

/* The state for the access callback of a Point: the tile, the running instance and the point's cell (i32). fast: no
 * outside rule applies. line: which of the lines that are computed together. seen: the values that were read for these
 * lines. */
typedef struct CellUse {
  const LoopTile *t;
  int instance;
  Value *cell[MAX_RANK];
  bool fast;
  int32_t line;
  ReadValues *seen;
} CellUse;

/* ---------------------------------------------------------------- cells of arrays */

/* The place, in a ring of `rows` rows, of row `cell` + `off`. */
static Value *ring_place(const LoopTile *t, Builder *b, Value *cell, int64_t off, int32_t rows) {
  const RingPlaces *known = &t->streamed->places;
  for (int i = 0; i < known->n; i++)
    if (known->p[i].cell == cell && known->p[i].off == off && known->p[i].rows == rows)
      return known->p[i].place;
  int32_t bias = (t->streamed->reach + rows - 1) / rows * rows;
  Value *row = build2(b, OP_ADD, cell, build_int(b, TY_I32, bias + off));
  return build2(b, OP_REM, row, build_int(b, TY_I32, rows));
}

/* The number of rows of the ring in array `array`. */
static int32_t ring_rows(const LoopTile *t, int array) { return t->lo->out->kernels[t->kernel].arrays[array].shape[0]; }

/* Sets idx and rest to the indices of the cell at `cell` + `off` in array `array`. */
static void array_cell(const LoopTile *t, Builder *b, int array, Value *const *cell, const int64_t *off, Value **idx,
                       int64_t *rest) {
  for (int d = 0; d < t->rank; d++) {
    idx[d] = cell[d];
    rest[d] = off ? off[d] : 0;
  }
  if (!t->streamed)
    return;
  idx[0] = ring_place(t, b, cell[0], rest[0], ring_rows(t, array));
  rest[0] = 0;
  rest[t->rank - 1] += t->streamed->pad;
}

/* The access to version `v` in its array, in a tile that is streamed. */
static Value *access_walked(const LoopTile *t, Builder *b, Version v, const Rules *rules, Value *const *at,
                            Value *const *cell, const int64_t *off) {
  const Field *f = &t->l->m->fields[v.field];
  int array = t->array[v.field][v.version];
  Value *to[MAX_RANK], *idx[MAX_RANK];
  int64_t rest[MAX_RANK], by[MAX_RANK];
  for (int d = 0; d < t->rank; d++) {
    bool leads = outside_leads(rules->dim[d]);
    int64_t last = t->cells[d] - 1 - (d == t->rank - 1 ? t->streamed->pad : 0);
    to[d] = leads ? ruled_cell(b, f, 0, last, d, rules->dim[d], at[d], cell[d], off[d]) : cell[d];
    by[d] = leads ? 0 : off[d];
  }
  array_cell(t, b, array, to, by, idx, rest);
  return build_aload(b, f->type, array, v.version, t->rank, idx, rest);
}

/* Notes that row `cell` + `off` of a ring of `rows` rows has the place of row `line` + `from`. */
static void note_place(const LoopTile *t, Builder *b, Value *cell, int64_t off, Value *line, int64_t from,
                       int32_t rows) {
  RingPlace p = {cell, off, rows, ring_place(t, b, line, from, rows)};
  ARENA_PUSH(b->arena, t->streamed->places.p, t->streamed->places.n, p);
}

/* The state for note_access: the instance, the piece whose accesses count, and the lines. */
typedef struct PlaceUse {
  const LoopTile *t;
  Builder *b;
  int instance;
  const Piece *piece;
  int n;
  Value *const *lines;
} PlaceUse;

/* AccessFn: notes the places of the rows that this access reads. */
static void note_access(void *user, const Piece *piece, int field, const int64_t *off) {
  const PlaceUse *p = user;
  Version v = launch_reads(p->t->l, field, p->instance);
  if (piece != p->piece || v.version == 0)
    return;
  for (int q = 0; q < p->n; q++)
    note_place(p->t, p->b, p->lines[q], off[0], p->lines[0], q + off[0],
               ring_rows(p->t, p->t->array[v.field][v.version]));
}

void build_places(const LoopTile *t, Builder *b, int i, const Piece *piece, Value *const *lines, int n) {
  if (!t->streamed)
    return;
  PlaceUse use = {t, b, i, piece, n, lines};
  t->streamed->places = (RingPlaces){0};
  const Stencil *st = &t->l->st[i];
  stencil_accesses(st, note_access, &use);
  for (int k = 0; k < st->ntargets; k++) {
    int array = t->array[st->targets[k]][launch_version(t->l, st->targets[k], i) + 1];
    for (int q = 0; q < n && array >= 0; q++)
      note_place(t, b, lines[q], 0, lines[0], q, ring_rows(t, array));
  }
}

/* ---------------------------------------------------------------- accesses and stores at a point */

/* The access under rules none of which is a constant: from global memory for version 0, else from the version's
 * array. */
static Value *access_cell(const Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const CellUse *c = p->user;
  const LoopTile *t = c->t;
  Version v = launch_reads(t->l, field, c->instance);
  if (v.version == 0)
    return access_global(b, p->m, v.field, load_buffer(t->lo, v.field), rules, p->index, off, false);
  if (t->streamed)
    return access_walked(t, b, v, rules, p->index, c->cell, off);
  int array = t->array[v.field][v.version];
  return access_array(b, p->m, v.field, &t->lo->out->kernels[t->kernel], array, v.version, rules, p->index, c->cell,
                      off);
}

/* The access in the fast code: a cell that several of the lines read is read once for all of them. */
static Value *access_fast(const Point *p, Builder *b, int field, const int64_t *off) {
  const CellUse *c = p->user;
  static const Rules none;
  int y = c->t->rank - 2;
  ReadValue r = {.v = launch_reads(c->t->l, field, c->instance)};
  for (int d = 0; d < c->t->rank; d++)
    r.off[d] = off[d] + (d == y ? c->line : 0);
  for (int k = 0; k < c->seen->n; k++) {
    const ReadValue *s = &c->seen->r[k];
    if (s->v.field == r.v.field && s->v.version == r.v.version && memcmp(s->off, r.off, sizeof r.off) == 0)
      return s->value;
  }
  r.value = access_cell(p, b, field, off, &none);
  ARENA_PUSH(b->arena, c->seen->r, c->seen->n, r);
  return r.value;
}

/* Is the cell `off` away in the last dimension a point of `f`? The test compares cell numbers in 32 bits, of which a
 * vector holds twice as many. It must not be used where the tile has images in that dimension: the cell of an image is
 * not that of its point. */
static Value *row_has(const CellUse *c, Builder *b, const Field *f, int64_t off) {
  const LoopTile *t = c->t;
  int x = t->rank - 1;
  Value *far = build_int(b, TY_I64, FAR_CELL), *near = build_int(b, TY_I64, -FAR_CELL), *bound[2];
  for (int i = 0; i < 2; i++) {
    Value *end = plus_i64(b, build_affine(b, t->l->m, i ? f->box.hi[x] : f->box.lo[x]), -off);
    Value *away = build2(b, OP_SUB, end, t->base[x]);
    bound[i] = build_convert(b, TY_I32, build2(b, OP_MIN, build2(b, OP_MAX, away, near), far));
  }
  return build2(b, OP_AND, build2(b, OP_GE, c->cell[x], bound[0]), build2(b, OP_LE, c->cell[x], bound[1]));
}

/* An access with a constant outside: an `if`, so that memory is only touched where the field is. In the other
 * dimensions the rules lead to points. */
static Value *access_or_constant(const Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const CellUse *c = p->user;
  const Field *f = &p->m->fields[field];
  Value *at[MAX_RANK] = {NULL}, *in_row = NULL, *inside = NULL;
  Box box = {0};
  Rules left = *rules;
  for (int d = 0; d < f->box.rank; d++) {
    if (rules->dim[d] != OUTSIDE_CONST)
      continue;
    left.dim[d] = OUTSIDE_NONE;
    if (d == c->t->rank - 1 && !c->t->l->wraps[d]) {
      in_row = row_has(c, b, f, off[d]);
      continue;
    }
    box.lo[box.rank] = f->box.lo[d];
    box.hi[box.rank] = f->box.hi[d];
    at[box.rank++] = plus_i64(b, p->index[d], off[d]);
  }
  if (box.rank)
    inside = build_inside(b, box.rank, at, &box);
  Builder in;
  Value *v = build_value_or(b,
                            inside && in_row ? build2(b, OP_AND, inside, in_row)
                            : inside         ? inside
                                             : in_row,
                            f->type, f->outside_value, &in);
  build_yield(&in, 1, (Value *[]){access_cell(p, &in, field, off, &left)});
  return v;
}

/* Point.access of the loops. */
static Value *access_at_cell(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const CellUse *c = p->user;
  if (c->fast)
    return access_fast(p, b, field, off);
  return rules_have(rules, OUTSIDE_CONST) ? access_or_constant(p, b, field, off, rules)
                                          : access_cell(p, b, field, off, rules);
}

/* The present value of `field` at the point's own cell. `inside`: the point is known to be one of the field. Otherwise
 * the value beyond the field's region is arbitrary. */
static Value *old_value(Point *p, Builder *b, int field, bool inside) {
  const CellUse *c = p->user;
  int64_t off[MAX_RANK] = {0};
  Rules none = {{OUTSIDE_NONE, OUTSIDE_NONE, OUTSIDE_NONE}};
  bool tested = inside || launch_version(c->t->l, field, c->instance) > 0;
  return tested ? access_cell(p, b, field, off, &none)
                : load_if_inside(b, p->m, field, load_buffer(c->t->lo, field), p->index);
}

/* The point at `cell` of instance i; `at`: its coordinates (wrapped in images). */
static Point point_at(const LoopTile *t, Builder *b, int i, CellUse *use, Value *const *cell, Value *const *at,
                      bool fast) {
  *use = (CellUse){.t = t, .instance = i, .fast = fast};
  Point p = {.m = t->l->m, .access = access_at_cell, .user = use, .lo = t->lo};
  for (int d = 0; d < t->rank; d++) {
    use->cell[d] = cell[d];
    p.index[d] = at[d];
  }
  if (stencils_use_step(1, &t->l->st[i]))
    p.step = plus_i64(b, build_step(b), t->l->st[i].level - t->l->first_level);
  return p;
}

/* Does this kernel write target `field`? */
static bool is_written(const LoopTile *t, int field) { return t->only < 0 || t->only == field; }

/* Stores `v` to the cell of array `array`, as version `version`. */
static void store_to_array(const LoopTile *t, Builder *b, int array, int version, Value *v, Value *const *cell) {
  Value *idx[MAX_RANK];
  int64_t rest[MAX_RANK];
  array_cell(t, b, array, cell, NULL, idx, rest);
  build_astore(b, array, version, v, t->rank, idx, rest);
}

void build_constant_cell(const LoopTile *t, Builder *b, int field, int v, Value *const *cell) {
  const Field *f = &t->l->m->fields[field];
  store_to_array(t, b, t->array[field][v], v, build_const(b, f->type, f->outside_value), cell);
}

/* Stores the new value of `field` by instance i at a cell with coordinates `at`, which are not wrapped. `image`: the
 * cell may be an image; images are never stored to global memory. */
static void store_value(const LoopTile *t, Builder *b, int i, int field, Value *v, Value *const *cell, Value *const *at,
                        bool image) {
  int version = launch_version(t->l, field, i) + 1, array = t->array[field][version];
  if (!is_written(t, field))
    return;
  if (array >= 0)
    store_to_array(t, b, array, version, v, cell);
  if (!stores_directly(t, field, i))
    return;
  Builder to = *b;
  if (image) {
    to = build_then(b, build_inside(b, t->rank, at, &t->l->m->fields[field].box));
  }
  build_store(&to, store_buffer(t->lo, t->l, field), v, t->rank, at, NULL);
}

/* At which points is a value of `field` that instance i keeps copied to the buffer to which the launch stores? Within
 * the field's region, and for a temp field only where it was written in this step. NULL: nowhere. */
static Value *has_value(const LoopTile *t, Builder *b, int i, int field, Value *const *at) {
  const Module *m = t->l->m;
  if (!m->fields[field].temp)
    return build_inside(b, t->rank, at, &m->fields[field].box);
  Value *earlier = written_before(m, t->l->first, t->l->given, b, field, at),
        *here = written_before(m, t->l->st, t->l->st + i, b, field, at);
  return earlier && here ? build2(b, OP_OR, earlier, here) : earlier ? earlier : here;
}

/* Copies the present value of `field`, which instance i does not write at point `p` (of `piece`, NULL: of none), to the
 * place of new values. The copy is omitted only if that place is the memory in which the value already is. Values that
 * nothing reads are stored as 0: a temp field that has no value yet in this step, and cells beyond the field's region
 * if all of that region is written. Values that an array holds beyond the region were never stored to it, and stay
 * where they are. */
static void keep_value(const LoopTile *t, Builder *b, int i, int field, const Piece *piece, Point *p,
                       Value *const *cell, Value *const *at) {
  const FieldUse *u = launch_use(t->l, field);
  const Module *m = t->l->m;
  int version = launch_version(t->l, field, i);
  bool kept = keeps_values(t->l, i, field);
  if (!is_written(t, field))
    return;
  if (t->array[field][version + 1] >= 0) {
    const Box *own = &m->fields[field].box;
    bool inside = box_inside(piece ? &piece->box : &t->covers, own) == 1;
    Builder in = kept && version > 0 && !inside ? build_then(b, build_inside(b, t->rank, p->index, own)) : *b;
    store_value(t, &in, i, field,
                kept ? old_value(p, &in, field, inside) : build_const(b, m->fields[field].type, (Const){.i = 0}), cell,
                at, true);
    return;
  }
  bool moves = kept && ((u->paired && !u->back) || version > 0);
  Value *has = stores_directly(t, field, i) && moves ? has_value(t, b, i, field, at) : NULL;
  if (!has)
    return;
  Builder in = build_then(b, has);
  Point inner = *p;
  inner.nseen = 0;
  inner.seen = NULL;
  store_value(t, &in, i, field, old_value(&inner, &in, field, true), cell, at, false);
}

bool carries_over(const LoopTile *t, int i, int field) {
  const FieldUse *u = launch_use(t->l, field);
  int version = launch_version(t->l, field, i);
  bool to_array = t->array[field][version + 1] >= 0;
  if (!is_written(t, field) || !stencil_keeps(t->l->m, &t->l->st[i], field))
    return false;
  return to_array ||
         (keeps_values(t->l, i, field) && stores_directly(t, field, i) && ((u->paired && !u->back) || version > 0));
}

void build_kept_cell(const LoopTile *t, Builder *b, int i, int field, Value *const *cell) {
  int version = launch_version(t->l, field, i);
  bool to_array = t->array[field][version + 1] >= 0;
  Value *at[MAX_RANK];
  for (int d = 0; d < t->rank; d++)
    at[d] = coordinate_of(t, b, cell[d], d);
  Builder in = *b;
  if (t->l->m->fields[field].temp && !to_array) {
    Value *has = has_value(t, b, i, field, at);
    if (!has)
      return;
    in = build_then(b, has);
  }
  CellUse use;
  Point p = point_at(t, &in, i, &use, cell, at, false);
  Value *v = keeps_values(t->l, i, field) ? old_value(&p, &in, field, true)
                                          : build_const(&in, t->l->m->fields[field].type, (Const){0});
  store_value(t, &in, i, field, v, cell, at, false);
}

/* ---------------------------------------------------------------- an instance */

/* Stores the values `v` that `piece` gives to targets of instance i at point `p`, and copies those of the targets that
 * it does not write. The fast code of pieces other than the main one does not copy: build_kept has done it there. */
static void store_piece(const LoopTile *t, Builder *b, int i, const Piece *piece, Point *p, Value *const *v,
                        Value *const *cell, Value *const *at, bool fast) {
  const Stencil *st = &t->l->st[i];
  for (int k = 0; k < st->ntargets; k++) {
    int f = st->targets[k], j = piece_target(piece, f);
    if (j >= 0)
      store_value(t, b, i, f, v[j], cell, at, !fast);
    else if (!fast || piece == main_piece(b->arena, st))
      keep_value(t, b, i, f, piece, p, cell, at);
  }
}

/* Computes and stores the new values of all targets of instance i at a point of `piece`, with tests. */
static void build_piece(const LoopTile *t, Builder *b, int i, const Piece *piece, Value *const *cell, Value *const *at,
                        Value *const *wrapped) {
  CellUse use;
  b->loc = piece->loc;
  Point p = point_at(t, b, i, &use, cell, wrapped, false);
  store_piece(t, b, i, piece, &p, piece_values(&p, b, piece), cell, at, false);
}

void build_slow_piece(const LoopTile *t, Builder *b, int i, const Piece *piece, Value *const *cell) {
  CellUse use;
  Value *at[MAX_RANK];
  for (int d = 0; d < t->rank; d++)
    at[d] = coordinate_of(t, b, cell[d], d);
  Point p = point_at(t, b, i, &use, cell, at, false);
  Value **v = piece_values(&p, b, piece);
  for (int k = 0; k < piece->ntargets; k++)
    store_value(t, b, i, piece->targets[k], v[k], cell, at, false);
}

/* A point of the fast code, the values that were computed for it, and its place. */
typedef struct FastPoint {
  CellUse use;
  Point p;
  Value **values, *cell[MAX_RANK], *at[MAX_RANK];
} FastPoint;

void build_fast_cells(const LoopTile *t, Builder *b, int i, const Piece *piece, int n, Value *const *cell,
                      Value *const *lines) {
  int y = t->rank - 2;
  ReadValues seen = {0};
  FastPoint *points = ARENA_ARRAY(b->arena, FastPoint, n);
  b->loc = piece->loc;
  for (int q = 0; q < n; q++) {
    FastPoint *f = &points[q];
    for (int d = 0; d < t->rank; d++) {
      f->cell[d] = d == y ? lines[q] : cell[d];
      f->at[d] = coordinate_of(t, b, f->cell[d], d);
    }
    f->p = point_at(t, b, i, &f->use, f->cell, f->at, true);
    f->use.line = q;
    f->use.seen = &seen;
    f->values = piece_values(&f->p, b, piece);
  }
  for (int q = 0; q < n; q++)
    store_piece(t, b, i, piece, &points[q].p, points[q].values, points[q].cell, points[q].at, true);
}

/* The code of pieces number n and up at a cell: an `if` for each, and the old values after all. */
static void build_piece_chain(const LoopTile *t, Builder b, int i, int n, Value *const *cell, Value *const *at,
                              Value *const *wrapped) {
  const Stencil *st = &t->l->st[i];
  if (n == st->npieces) {
    CellUse use;
    Point p = point_at(t, &b, i, &use, cell, wrapped, false);
    for (int k = 0; k < st->ntargets; k++)
      keep_value(t, &b, i, st->targets[k], NULL, &p, cell, at);
    return;
  }
  Builder other, in = build_either(&b, build_inside(&b, t->rank, wrapped, &st->pieces[n].box), &other);
  build_piece(t, &in, i, &st->pieces[n], cell, at, wrapped);
  build_piece_chain(t, other, i, n + 1, cell, at, wrapped);
}

void build_slow_cell(const LoopTile *t, Builder *b, int i, Value *const *cell) {
  const Launch *l = t->l;
  Value *at[MAX_RANK], *wrapped[MAX_RANK];
  for (int d = 0; d < t->rank; d++) {
    at[d] = coordinate_of(t, b, cell[d], d);
    wrapped[d] = l->wraps[d] ? build_map(b, OP_WRAP, at[d], 0, l->wrap_lo[d], l->wrap_hi[d]) : at[d];
  }
  build_piece_chain(t, *b, i, 0, cell, at, wrapped);
}

void build_copy_out(const LoopTile *t, Builder *b, int field, Value *const *cell) {
  int version = launch_use(t->l, field)->versions, array = t->array[field][version];
  Value *at[MAX_RANK], *idx[MAX_RANK];
  int64_t rest[MAX_RANK];
  for (int d = 0; d < t->rank; d++)
    at[d] = coordinate_of(t, b, cell[d], d);
  Builder in = *b;
  if (partly_written(t->l, field)) {
    in = build_then(b, has_value_after(t->l, b, field, at));
  }
  array_cell(t, &in, array, cell, NULL, idx, rest);
  Value *v = build_aload(&in, t->l->m->fields[field].type, array, version, t->rank, idx, rest);
  build_store(&in, store_buffer(t->lo, t->l, field), v, t->rank, at, NULL);
}
