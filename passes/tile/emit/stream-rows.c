/* stream-rows.c: rows between global memory and the walk. Loads run ahead of the walk: by asynchronous copies into a
 * ring of shared memory that every thread has
 * for itself, so that no barrier is needed, or, where the target has none, by one step in registers. */
#include "passes/tile/emit/lower-stream.h"

int flow_vector(const Flow *f, Type t) { return vector_cells(t, f->V); }

/* How many elements of field `fl` are moved at once. */
static int width_of(const Flow *f, int fl) { return f->vectors[fl] ? flow_vector(f, f->l->m->fields[fl].type) : 1; }

/* Coordinates at which `n` elements from element e on of line j of field `fl` can be loaded in the row that lags `lag`
 * behind, whether they are in the field's region or not: in the last dimension all of them are or none is. */
static void safe_coordinates(Flow *f, int fl, int lag, int j, int e, int n, Value **at) {
  const Field *field = &f->l->m->fields[fl];
  Value *g[MAX_RANK], *w[MAX_RANK];
  flow_coordinates(f, lag, j, e, g, w);
  for (int d = 0; d < f->rank; d++) {
    at[d] = f->st->wraps[fl][d] ? build_map(&f->b, OP_WRAP, g[d], 0, field->box.lo[d], field->box.hi[d]) : w[d];
    bool vector = d == f->rank - 1 && n > 1;
    at[d] = vector && field->pitch ? build_guard(&f->b, at[d], 0, field->box.lo[d], field->box.hi[d], n)
                                   : build_map(&f->b, OP_GUARD, at[d], 0, field->box.lo[d],
                                               affine_add_const(field->box.hi[d], vector ? 1 - n : 0));
  }
}

/* Loads the row of version 0 of field `fl` that lags `lag` behind. */
static void load_row(Flow *f, int fl, int lag) {
  Type t = f->l->m->fields[fl].type;
  int n = width_of(f, fl), buffer = load_buffer(f->lo, fl);
  Value *at[MAX_RANK];
  for (int j = 0; j < f->E; j++)
    for (int e = 0; e < f->V; e += n) {
      safe_coordinates(f, fl, lag, j, e, n, at);
      Op *op = n > 1 ? build_vload(&f->b, t, n, buffer, f->rank, at, NULL) : NULL;
      for (int i = 0; i < n; i++)
        cells_set(f->cells, (CellLine){.of = fl, .back = lag, .line = j}, e + i,
                  op ? op->results[i] : build_load(&f->b, t, buffer, f->rank, at, NULL));
    }
}

/* ---- loads that run ahead */

/* Does a row of version 0 of field `fl` come in at every step? */
static bool comes_in(const Flow *f, int fl) { return f->st->w[fl][0].used && !f->st->w[fl][0].direct; }

/* Are rows of field `fl` kept in the ring that they come in by, for readers that each take their own row there? */
static bool is_ring_kept(const Flow *f, int fl) {
  return f->keeps_ring && f->st->w[fl][0].used && f->st->w[fl][0].direct;
}

/* Do rows of field `fl` come in by asynchronous copies? These move 4, 8 or 16 bytes; fields of smaller elements come in
 * one row ahead where they are moved one by one. */
static bool is_copied(const Flow *f, int fl) {
  return (comes_in(f, fl) || is_ring_kept(f, fl)) && f->ahead > 1 &&
         width_of(f, fl) * type_size(f->l->m->fields[fl].type) >= 4;
}

/* Places of the ring of field `fl`. */
static int32_t slots_of(const Flow *f, int fl) { return stream_slots(f->st, f->ahead + f->st->w[fl][0].behind); }

/* Does a field? */
static bool any_copied(const Flow *f) {
  for (int fl = 0; fl < f->l->m->nfields; fl++)
    if (is_copied(f, fl))
      return true;
  return false;
}

/* The place, in the ring of field `fl`, of the row that the walk reaches `later` steps from now (or reached, if that is
 * negative): constant if the steps written out go round the ring a whole number of times, otherwise the same for all
 * rows of one time round the steps written out, but for a constant. */
static Value *ring_place(Flow *f, int fl, int later) {
  int32_t slots = slots_of(f, fl), unroll = f->st->unroll, from = f->u + later;
  while (from < 0)
    from += slots;
  if (!f->t || unroll % slots == 0)
    return build_int(&f->b, TY_I32, from % slots);
  Value *round = build2(&f->b, OP_ADD, f->t, build_int(&f->b, TY_I32, from - from % unroll));
  return build2(&f->b, OP_ADD, build2(&f->b, OP_REM, round, build_int(&f->b, TY_I32, slots)),
                build_int(&f->b, TY_I32, from % unroll));
}

/* The indices of elements e and on of line j in the ring, at `place`. */
static void ring_index(Flow *f, int fl, Value *place, int j, int e, Value **at) {
  int n = width_of(f, fl), per_line = f->V / n;
  Value *first = build2(&f->b, OP_MUL, place, build_int(&f->b, TY_I32, f->E * per_line));
  int off = j * per_line + e / n;
  at[0] = off ? build2(&f->b, OP_ADD, first, build_int(&f->b, TY_I32, off)) : first;
  at[1] = build2(&f->b, OP_ADD, build2(&f->b, OP_MUL, f->warp, build_int(&f->b, TY_I32, f->lanes)), f->lane);
  at[2] = build_int(&f->b, TY_I32, 0);
}

/* Starts copying the row of field `fl` that the walk reaches `later` steps from now. */
static void start_copy(Flow *f, int fl, int later) {
  int n = width_of(f, fl);
  Value *at[MAX_RANK], *to[MAX_RANK], *place = ring_place(f, fl, later);
  for (int j = 0; j < f->E; j++)
    for (int e = 0; e < f->V; e += n) {
      safe_coordinates(f, fl, -later, j, e, n, at);
      ring_index(f, fl, place, j, e, to);
      build_async_copy(&f->b, f->in[fl], 0, 3, to, NULL, n, load_buffer(f->lo, fl), f->rank, at, NULL);
    }
}

/* Starts the copies of all fields that are copied, for the row that is `later` steps away. */
static void start_copies(Flow *f, int later) {
  for (int fl = 0; fl < f->l->m->nfields; fl++)
    if (is_copied(f, fl))
      start_copy(f, fl, later);
  build_async_commit(&f->b);
}

/* Takes the row of field `fl` that lags `lag` behind out of the ring. */
static void take_row(Flow *f, int fl, int lag) {
  Type t = f->l->m->fields[fl].type;
  int n = width_of(f, fl);
  Value *at[MAX_RANK], *place = ring_place(f, fl, -lag);
  for (int j = 0; j < f->E; j++)
    for (int e = 0; e < f->V; e += n) {
      ring_index(f, fl, place, j, e, at);
      Op *op = n > 1 ? build_avload(&f->b, t, n, f->in[fl], 0, 3, at, NULL) : NULL;
      for (int i = 0; i < n; i++)
        cells_set(f->cells, (CellLine){.of = fl, .back = lag, .line = j}, e + i,
                  op ? op->results[i] : build_aload(&f->b, t, f->in[fl], 0, 3, at, NULL));
    }
}

Value *flow_own_cell(Flow *f, int fl, int lag, int j, int e) {
  CellLine line = {.of = fl, .back = lag, .line = j};
  if (!cells_get(f->cells, line, e))
    (is_copied(f, fl) ? take_row : load_row)(f, fl, lag);
  return cells_get(f->cells, line, e);
}

/* Puts the row of field `fl` that the walk reaches `later` steps from now into the registers for the next row. */
static void put_next(Flow *f, int fl, int later) {
  load_row(f, fl, -later);
  flow_put_row(f, f->in[fl], 0, (CellLine){.of = fl, .back = -later});
}

/* The same for all fields that are not copied. */
static void put_others(Flow *f, int later) {
  for (int fl = 0; fl < f->l->m->nfields; fl++)
    if (comes_in(f, fl) && !is_copied(f, fl))
      put_next(f, fl, later);
}

/* Takes the running step's row of field `fl` out of the registers for it. */
static void take_next(Flow *f, int fl) {
  for (int i = 0; i < f->E * f->V; i++) {
    Value *at[MAX_RANK] = {build_int(&f->b, TY_I32, 0), build_int(&f->b, TY_I32, i / f->V),
                           build_int(&f->b, TY_I32, i % f->V)};
    cells_set(f->cells, (CellLine){.of = fl, .line = i / f->V}, i % f->V,
              build_aload(&f->b, f->l->m->fields[fl].type, f->in[fl], 0, 3, at, NULL));
  }
}

void flow_make_inputs(Flow *f) {
  for (int fl = 0; fl < f->l->m->nfields; fl++) {
    f->in[fl] = -1;
    bool copied = is_copied(f, fl);
    if (!copied && !comes_in(f, fl))
      continue;
    const Field *field = &f->l->m->fields[fl];
    int n = width_of(f, fl);
    int32_t ring[MAX_RANK] = {(copied ? slots_of(f, fl) : 1) * f->E * (f->V / n), f->warps * f->lanes, n},
            next[MAX_RANK] = {1, f->E, f->V};
    f->in[fl] = flow_array(f, arena_printf(f->lo->out->arena, "%s%s.in", copied ? "s" : "r", field->name), field->type,
                           copied ? SPACE_SHARED : SPACE_PRIVATE, copied ? ring : next, 0, 0);
  }
}

/* Zeros in place `slot` of the ring of field `fl`. */
static void clear_slot(Flow *f, int fl, int slot) {
  Type t = f->l->m->fields[fl].type;
  Value *at[MAX_RANK], *zero = build_const(&f->b, t, (Const){0});
  for (int j = 0; j < f->E; j++)
    for (int e = 0; e < f->V; e += width_of(f, fl)) {
      ring_index(f, fl, build_int(&f->b, TY_I32, slot), j, e, at);
      for (int i = 0; i < width_of(f, fl); i++) {
        at[2] = build_int(&f->b, TY_I32, i);
        build_astore(&f->b, f->in[fl], 0, zero, 3, at, NULL);
      }
    }
}

void flow_clear_rings(Flow *f) {
  for (int fl = 0; fl < f->l->m->nfields; fl++)
    for (int lag = 1; is_ring_kept(f, fl) && is_copied(f, fl) && lag <= f->st->w[fl][0].behind; lag++)
      clear_slot(f, fl, slots_of(f, fl) - lag);
}

void flow_start_loads(Flow *f) {
  bool copied = any_copied(f);
  for (int later = 0; copied && later < f->ahead - 1; later++)
    start_copies(f, later);
  put_others(f, 0);
}

void flow_load(Flow *f) {
  bool copied = any_copied(f);
  if (copied)
    build_async_wait(&f->b, f->ahead - 2);
  for (int fl = 0; fl < f->l->m->nfields; fl++) {
    if (comes_in(f, fl) && is_copied(f, fl))
      take_row(f, fl, 0);
    else if (comes_in(f, fl))
      take_next(f, fl);
  }
  if (copied)
    start_copies(f, f->ahead - 1);
  put_others(f, 1);
}

void flow_end_loads(Flow *f) {
  if (any_copied(f))
    build_async_wait(&f->b, 0);
}

/* ---- stores */

/* `x` and `y`; either may be NULL. */
static Value *both(Builder *b, Value *x, Value *y) { return !x ? y : !y ? x : build2(b, OP_AND, x, y); }

/* Does i32 `x` lie in [lo, hi)? `least` and `most` are bounds of x that are known: tests that always hold are left out.
 */
static Value *between(Builder *b, Value *x, int64_t lo, int64_t hi, int64_t least, int64_t most) {
  Value *low = least >= lo ? NULL : build2(b, OP_GE, x, build_int(b, TY_I32, lo));
  return both(b, low, most < hi ? NULL : build2(b, OP_LT, x, build_int(b, TY_I32, hi)));
}

/* The same in dimension `d` for all but the first tile, which gives out what is below `lo`, too, and the last, which
 * gives out what is from `hi` on, where tiles are fitted to the grid. */
static Value *given_out(Flow *f, int d, Value *x, int64_t lo, int64_t hi, int64_t least, int64_t most) {
  Builder *b = &f->b;
  Value *low = between(b, x, lo, INT64_MAX, least, most), *high = between(b, x, 0, hi, least, most),
        *behind = low ? flow_is_inner(f, d, false) : NULL, *before = high ? flow_is_inner(f, d, true) : NULL;
  if (behind)
    low = build2(b, OP_OR, low, build1(b, OP_NOT, behind));
  if (before)
    high = build2(b, OP_OR, high, build1(b, OP_NOT, before));
  return both(b, low, high);
}

/* Are the thread's cells of line j in the tile, not in its halo, in the running step for what lags `lag` behind? NULL:
 * always. */
static Value *in_tile(Flow *f, int lag, int j) {
  Builder *b = &f->b;
  const Extent *hull = &f->st->halo;
  int x = f->rank - 1, lo = (int)(hull->lo[x] + f->V - 1) / f->V, hi = (int)(hull->hi[x] + f->V - 1) / f->V;
  Value *all = given_out(f, x, f->lane, lo, f->lanes - hi, 0, f->lanes - 1);
  if (f->rank > 2) {
    Value *line = build2(b, OP_ADD, build2(b, OP_MUL, f->warp, build_int(b, TY_I32, f->E)), build_int(b, TY_I32, j));
    all = both(b, all,
               given_out(f, 1, line, hull->lo[1], (int64_t)f->warps * f->E - hull->hi[1], j,
                         (int64_t)(f->warps - 1) * f->E + j));
  }
  if (f->rank > 1) {
    Value *t = build2(b, OP_ADD, f->t, build_int(b, TY_I32, f->u));
    int64_t first = hull->lo[0] + lag;
    all = both(b, all, between(b, t, first, first + f->k->tile[0], f->u, f->steps - f->st->unroll + f->u));
  }
  return all;
}

/* Stores `n` elements from element e of line j of the finished row of field `fl`. */
static void store_cells(Flow *f, int fl, int j, int e, int n, Value *mine) {
  int version = f->l->use[fl].versions;
  Value *g[MAX_RANK], *w[MAX_RANK],
      **row = cells_line(f->cells, (CellLine){.of = fl, .version = version, .line = j}) + e;
  flow_coordinates(f, f->st->w[fl][version].lag, j, e, g, w);
  Value *test = both(&f->b, mine, has_value_after(f->l, &f->b, fl, g));
  Builder in = builder_at_end(f->b.arena, build_if(&f->b, test, 0, NULL)->blocks[0]);
  in.loc = f->b.loc;
  if (n > 1)
    build_vstore(&in, store_buffer(f->lo, f->l, fl), n, row, f->rank, g, NULL);
  else
    build_store(&in, store_buffer(f->lo, f->l, fl), row[0], f->rank, g, NULL);
}

void flow_store(Flow *f) {
  for (int fl = 0; fl < f->l->m->nfields; fl++) {
    if (!f->l->use[fl].stored)
      continue;
    int n = partly_written(f->l, fl) ? 1 : width_of(f, fl), lag = f->st->w[fl][f->l->use[fl].versions].lag;
    for (int j = 0; j < f->E; j++) {
      Value *mine = in_tile(f, lag, j);
      for (int e = 0; e < f->V; e += n)
        store_cells(f, fl, j, e, n, mine);
    }
  }
}
