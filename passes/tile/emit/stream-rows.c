/* stream-rows.c: loads and stores of rows of global memory. Loads run ahead of the loop over steps: by asynchronous
 * copies to a ring of shared memory that every thread has for itself, so that no barrier is needed, or, where the
 * target has no such copies, by one step in registers (tile/move.h). */
#include "passes/tile/emit/lower-stream.h"

/* The place in memory of element e, and those moved with it, of line j of the row of field `fl` that lags `lag` behind.
 * If a cell lies outside of the field's region, it is a place that can be loaded nevertheless. In the last dimension,
 * cells that are moved at once all lie in the region, or none does. */
static CellPlace in_memory(Flow *f, int fl, int lag, int j, int e, Value **at) {
  const Field *field = &f->l->m->fields[fl];
  int n = f->move[fl].width;
  Value *g[MAX_RANK], *w[MAX_RANK];
  flow_coordinates(f, lag, j, e, g, w);
  for (int d = 0; d < f->rank; d++) {
    at[d] = f->st->wraps[fl][d] ? build_map(&f->b, OP_WRAP, g[d], 0, field->box.lo[d], field->box.hi[d]) : w[d];
    bool vector = d == f->rank - 1 && n > 1;
    at[d] = vector && field->pitch ? build_guard(&f->b, at[d], 0, field->box.lo[d], field->box.hi[d], n)
                                   : build_map(&f->b, OP_GUARD, at[d], 0, field->box.lo[d],
                                               affine_add_const(field->box.hi[d], vector ? 1 - n : 0));
  }
  return (CellPlace){field->type, load_buffer(f->lo, fl), NO_VERSION, f->rank, at, NULL};
}

/* ---- loads that run ahead */

static bool is_copied(const Flow *f, int fl) { return f->move[fl].kind == MOVE_ASYNC; }

/* Is the next row of field `fl` in registers? */
static bool is_loaded_ahead(const Flow *f, int fl) { return f->move[fl].kind == MOVE_LOAD && f->move[fl].ahead; }

/* The place, in the ring of field `fl`, of the row that the loop reaches `later` steps from now (reached, if `later` is
 * negative). It is a constant if the unrolled steps are a whole number of rounds of the ring. Otherwise it is the same
 * value plus a constant for all rows of one round of the loop. */
static Value *ring_place(Flow *f, int fl, int later) {
  int32_t slots = f->move[fl].places, unroll = f->st->unroll, from = f->u + later;
  while (from < 0)
    from += slots;
  if (!f->t || unroll % slots == 0)
    return build_int(&f->b, TY_I32, from % slots);
  Value *round = build2(&f->b, OP_ADD, f->t, build_int(&f->b, TY_I32, from - from % unroll));
  return build2(&f->b, OP_ADD, build2(&f->b, OP_REM, round, build_int(&f->b, TY_I32, slots)),
                build_int(&f->b, TY_I32, from % unroll));
}

/* The place of element e, and those moved with it, of line j in place `place` of the ring of field `fl`. */
static CellPlace in_ring(Flow *f, int fl, Value *place, int j, int e, Value **at) {
  int n = f->move[fl].width, per_line = f->V / n, off = j * per_line + e / n;
  Value *first = build2(&f->b, OP_MUL, place, build_int(&f->b, TY_I32, f->E * per_line));
  at[0] = off ? build2(&f->b, OP_ADD, first, build_int(&f->b, TY_I32, off)) : first;
  at[1] = build2(&f->b, OP_ADD, build2(&f->b, OP_MUL, f->warp, build_int(&f->b, TY_I32, f->lanes)), f->lane);
  at[2] = build_int(&f->b, TY_I32, 0);
  return (CellPlace){f->l->m->fields[fl].type, f->in[fl], 0, 3, at, NULL};
}

/* Loads the row of field `fl` that lags `lag` behind to the cell cache, from place `place` of the ring, NULL: from
 * memory. */
static void fetch_row(Flow *f, int fl, int lag, Value *place) {
  Value *at[MAX_RANK];
  for (int j = 0; j < f->E; j++)
    for (int e = 0; e < f->V; e += f->move[fl].width) {
      const CellPlace from = place ? in_ring(f, fl, place, j, e, at) : in_memory(f, fl, lag, j, e, at);
      cells_fetch(&f->b, f->cells, &from, f->move[fl].width, (CellLine){.of = fl, .back = lag, .line = j}, e);
    }
}

/* Starts copying the row of field `fl` that the loop reaches `later` steps from now. */
static void start_copy(Flow *f, int fl, int later) {
  Value *at[MAX_RANK], *to[MAX_RANK], *place = ring_place(f, fl, later);
  for (int j = 0; j < f->E; j++)
    for (int e = 0; e < f->V; e += f->move[fl].width) {
      const CellPlace from = in_memory(f, fl, -later, j, e, at);
      in_ring(f, fl, place, j, e, to);
      build_async_copy(&f->b, f->in[fl], 0, 3, to, NULL, f->move[fl].width, from.of, f->rank, at, NULL);
    }
}

/* Starts the copies of the rows that are `later` steps away, of all fields that are copied. */
static void start_copies(Flow *f, int later) {
  for (int fl = 0; fl < f->l->m->nfields; fl++)
    if (is_copied(f, fl))
      start_copy(f, fl, later);
  build_async_commit(&f->b);
}

Value *flow_own_cell(Flow *f, int fl, int lag, int j, int e) {
  CellLine line = {.of = fl, .back = lag, .line = j};
  if (!cells_get(f->cells, line, e))
    fetch_row(f, fl, lag, is_copied(f, fl) ? ring_place(f, fl, -lag) : NULL);
  return cells_get(f->cells, line, e);
}

/* Loads the rows that the loop reaches `later` steps from now to the registers for the next row, of those fields whose
 * next row is loaded ahead. */
static void put_next(Flow *f, int later) {
  for (int fl = 0; fl < f->l->m->nfields; fl++)
    if (is_loaded_ahead(f, fl)) {
      fetch_row(f, fl, -later, NULL);
      flow_put_row(f, f->in[fl], 0, (CellLine){.of = fl, .back = -later});
    }
}

/* Takes the running step's row of field `fl` from the registers for the next row. */
static void take_next(Flow *f, int fl) {
  for (int j = 0; j < f->E; j++)
    for (int e = 0; e < f->V; e++)
      cells_set(f->cells, (CellLine){.of = fl, .line = j}, e, flow_kept(f, f->in[fl], 0, 0, j, e));
}

void flow_make_inputs(Flow *f) {
  for (int fl = 0; fl < f->l->m->nfields; fl++) {
    f->in[fl] = -1;
    bool copied = is_copied(f, fl);
    if (!copied && !is_loaded_ahead(f, fl))
      continue;
    const Field *field = &f->l->m->fields[fl];
    int n = f->move[fl].width;
    int32_t ring[MAX_RANK] = {f->move[fl].places * f->E * (f->V / n), f->warps * f->lanes, n},
            next[MAX_RANK] = {1, f->E, f->V};
    f->in[fl] = flow_array(f, arena_printf(f->lo->out->arena, "%s%s.in", copied ? "s" : "r", field->name), field->type,
                           copied ? SPACE_SHARED : SPACE_PRIVATE, copied ? ring : next, 0, 0);
  }
}

/* Stores zeros to the ring of field `fl`, in the row that lags `lag` behind. */
static void clear_row(Flow *f, int fl, int lag) {
  Value *at[MAX_RANK], *place = ring_place(f, fl, -lag),
                       *zero = build_const(&f->b, f->l->m->fields[fl].type, (Const){0});
  for (int j = 0; j < f->E; j++)
    for (int e = 0; e < f->V; e++) {
      in_ring(f, fl, place, j, e, at);
      at[2] = build_int(&f->b, TY_I32, e % f->move[fl].width);
      build_astore(&f->b, f->in[fl], 0, zero, 3, at, NULL);
    }
}

void flow_clear_rings(Flow *f) {
  for (int fl = 0; fl < f->l->m->nfields; fl++)
    for (int lag = 1; is_copied(f, fl) && lag <= f->st->kept[fl][0].behind; lag++)
      clear_row(f, fl, lag);
}

void flow_start_loads(Flow *f) {
  for (int later = 0; later < f->ahead - 1; later++)
    start_copies(f, later);
  put_next(f, 0);
}

/* Replaces cells of the running step's row of field `fl` beyond the field's region by the constant, if it is filled. */
static void fill_row(Flow *f, int fl) {
  for (int j = 0; j < f->E && f->st->kept[fl][0].filled; j++)
    for (int e = 0; e < f->V; e++) {
      const CellLine line = {.of = fl, .line = j};
      cells_set(f->cells, line, e, flow_filled(f, fl, 0, j, e, cells_get(f->cells, line, e)));
    }
}

void flow_load(Flow *f) {
  if (f->ahead)
    build_async_wait(&f->b, f->ahead - 2);
  for (int fl = 0; fl < f->l->m->nfields; fl++) {
    if (is_copied(f, fl) && !f->move[fl].each)
      fetch_row(f, fl, 0, ring_place(f, fl, 0));
    else if (is_loaded_ahead(f, fl))
      take_next(f, fl);
    else
      continue;
    fill_row(f, fl);
  }
  if (f->ahead)
    start_copies(f, f->ahead - 1);
  put_next(f, 1);
}

void flow_end_loads(Flow *f) {
  if (f->ahead)
    build_async_wait(&f->b, 0);
}

/* ---- stores */

/* The conjunction of `x` and `y`; either may be NULL. */
static Value *both(Builder *b, Value *x, Value *y) { return !x ? y : !y ? x : build2(b, OP_AND, x, y); }

/* Does i32 `x` lie in [lo, hi)? `least` and `most` are known bounds of x; tests that always hold are left out. */
static Value *between(Builder *b, Value *x, int64_t lo, int64_t hi, int64_t least, int64_t most) {
  Value *low = least >= lo ? NULL : build2(b, OP_GE, x, build_int(b, TY_I32, lo));
  return both(b, low, most < hi ? NULL : build2(b, OP_LT, x, build_int(b, TY_I32, hi)));
}

/* Like between, in dimension `d`. Where tiles are fitted to the grid, the first tile also stores cells below `lo`, and
 * the last tile cells from `hi` on. */
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

/* Are the thread's cells of line j in the output tile, not in the halo, in the running step, for a version that lags
 * `lag` behind? NULL: always. */
static Value *in_tile(Flow *f, int lag, int j) {
  Builder *b = &f->b;
  const Extent *hull = &f->st->halo;
  int x = f->rank - 1, lo = (int)(hull->lo[x] + f->V - 1) / f->V, hi = (int)(hull->hi[x] + f->V - 1) / f->V;
  Value *all = given_out(f, x, f->lane, lo, f->lanes - hi, 0, f->lanes - 1);
  if (f->rank > 2) {
    int64_t lines = (int64_t)f->warps * f->E * (f->k->cluster ? f->k->cluster : 1);
    all = both(b, all, given_out(f, 1, flow_line(f, j), hull->lo[1], lines - hull->hi[1], j, lines - f->E + j));
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
  int version = launch_use(f->l, fl)->versions;
  Value *g[MAX_RANK], *w[MAX_RANK],
      **row = cells_line(f->cells, (CellLine){.of = fl, .version = version, .line = j}) + e;
  flow_coordinates(f, f->st->kept[fl][version].lag, j, e, g, w);
  Value *test = both(&f->b, mine, has_value_after(f->l, &f->b, fl, g));
  Builder in = build_then(&f->b, test);
  const CellPlace to = {f->l->m->fields[fl].type, store_buffer(f->lo, f->l, fl), NO_VERSION, f->rank, g, NULL};
  cells_store(&in, &to, n, row);
}

void flow_store(Flow *f) {
  for (int fl = 0; fl < f->l->m->nfields; fl++) {
    if (!launch_use(f->l, fl)->stored)
      continue;
    int n = partly_written(f->l, fl) ? 1 : f->move[fl].width, lag = f->st->kept[fl][launch_use(f->l, fl)->versions].lag;
    for (int j = 0; j < f->E; j++) {
      Value *mine = in_tile(f, lag, j);
      for (int e = 0; e < f->V; e += n)
        store_cells(f, fl, j, e, n, mine);
    }
  }
}
