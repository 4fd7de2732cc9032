/* lower-stream.c: streamed tiles (2.5-D blocking), on targets with threads.
 *
 *   step s of the stream:   load row s,  level 1 computes row s - lag(1),  level 2 computes row s - lag(2),  ..
 *
 * A block's tile is streamed along dimension 0, a row (rank 2) or plane (rank 3) a *step*, with all stencils of all T
 * time steps in flight. At each step every instance computes one row, `lag` rows behind the row that is loaded:
 * stream.c gives an instance the least lag that is at least `lag of the producer + offset` for each of its accesses. An
 * outside rule counts as all the offsets to which it can lead. The lags determine the *window* of every version: how
 * many rows back its oldest reader looks.
 *
 * In dimension 0 only the ends of streamed tiles are computed twice. In the other dimensions tiles overlap (equation 1
 * of Holewinski, Pouchet, Sadayappan, ICS'12), by whole lanes and lines. In rank 1 there is one step.
 *
 * *Threads*. A lane has V adjacent cells in registers, a warp a line of 32 V cells, and neighbouring lanes supply the
 * cells next to a lane's own. In rank 3 a thread has E lines, and warps are stacked in dimension 1.
 *
 *   rank   threads                           dimension 0             dimension 1       last dimension
 *   1      32 * warps                                                                  V cells a lane, warps in a row
 *   2      warps x 32, or warps x 64 where     streamed, -chunk rows                   V cells a lane, warps in a row
 *          warps have 64 threads
 *   3      1 x warps x 32, 1 x lines x 16,     streamed, -chunk        E lines a       V cells a lane; a warp, or half,
 *          or 1 x lines x 8                    planes                  thread          or a quarter of one
 *
 * *Accesses*. The values that an access reads come from:
 * - the thread's own cell, this step's row: a value
 * - the thread's own cell, an older row: a private array. The first index is the number of the row modulo the unrolled
 *   steps. It is a constant, so the array ends in registers, and rows never move.
 * - a cell of a neighbouring lane: `shuffle.up`, `shuffle.down`
 * - a line of another warp, or of another part of the same warp (rank 3): shared memory, where that warp has stored it
 *   a step or more ago. There is one barrier a step, between neighbouring warps alone where that is enough (pass
 *   barriers).
 * - version 0, if all reads are of own cells and readers are more than two rows apart: the ring to which its rows are
 *   copied. A row stays there until its last reader has read it. Without asynchronous copies, or where such rings would
 *   leave no shared memory for the blocks that registers have room for (two at most), each reader loads the row again
 *   from global memory.
 * - version 0, other cells, through a rule that may lead far: global memory, for points outside of the field's region
 *
 * *Loads* run ahead of the stream. With `-ahead=A` asynchronous copies load A rows ahead, to a ring of shared memory
 * that each thread has for itself, so they need no barrier. With `-ahead=1`, on targets without such copies, and for
 * fields of elements below 4 bytes that are moved one by one, one row ahead is in registers. The rings have a number of
 * places that is a multiple or a divisor of the unrolled steps, so that places are constants or nearly. Rows before the
 * first one that is loaded are zeros; the lags ensure that no result depends on them.
 *
 * *Unrolling*. As many steps are unrolled as the longest window keeps rows, so that a row stays in its registers. In
 * rank 2 it is one more: then the new row has a place before the oldest one is read for the last time, and nothing is
 * moved at the end of the loop. In rank 3 one more step would take one more line of shared memory for each version.
 * There the two steps of most programs become four, if the code stays short and no sums are kept.
 *
 * *Vectors*. Fields whose rows start at a lane's first cell are loaded and stored by vectors of 16 bytes, which needs
 * rows of whole lanes. Such a kernel has `multiple M of V` and a second kernel, `..._any`, `instead`, which moves
 * elements one by one. Rows with a pitch (pass `pad-rows`) need to be whole vectors only; but where images continue a
 * row, its points must be whole lanes, too.
 *
 * *Several launches*. A step that is cut into several launches (pass `fuse`; `-schedule=stream` does not cut a step by
 * itself if it can be streamed as a whole) has T = 1, and each launch is streamed with an extent and a tile of its own.
 * A launch that cannot be streamed gets overlapped tiles, with a remark (`-Rpass`); if no launch can be, it is an
 * error. If a block does not fit the target, stc takes fewer rows ahead and then fewer warps, as far as `-ahead` and
 * `-block` leave them open.
 *
 * *Limits*. A field that is written in place because no stencil of the launch reads beside its point cannot be
 * streamed, nor can launches that pass `lower-overlap` refuses; the error says why.
 *
 * *Remaining steps*. Steps after the last tile are made by overlapped tiles of one step; where `plan_remainder` finds
 * it worth while, first by streaming fewer levels with the same tile, if that fits. Fewer levels may compute no halo,
 * so that a field could be written in place. It is stored to the other buffer nevertheless, as by the tile of T steps:
 * where a tile loads one field beside the points that it computes it loads all fields, and a neighbour may be writing
 * there. */
#include "passes/tile/emit/lower-frame.h"
#include "passes/registry.h"
#include "passes/tile/emit/lower-overlap.h"
#include "passes/tile/emit/lower-stream.h"

/* ---- arrays */

int flow_array(Flow *f, const char *name, Type t, Space space, const int32_t *cells, int32_t pad_lo, int32_t pad_hi) {
  const int32_t lo[MAX_RANK] = {0, pad_lo}, hi[MAX_RANK] = {0, pad_hi};
  return kernel_array_of(f->lo, f->k, 3, name, t, space, cells, lo, hi);
}

/* The least divisor of `n` that is at least `least`. */
static int32_t divisor(int32_t n, int32_t least) {
  while (n % least)
    least++;
  return least;
}

/* Has the tile keep rows `r` after each step. */
static void keep(Flow *f, KeptRows r) { ARENA_PUSH(f->lo->out->arena, f->kept, f->nkept, r); }

/* Makes the arrays of version `v` of field `fl`: a ring for the rows it keeps, and lines for other warps. */
static void make_window(Flow *f, int fl, int v) {
  const KeptVersion *w = &f->st->kept[fl][v];
  const Field *field = &f->l->m->fields[fl];
  Arena *a = f->lo->out->arena;
  int32_t ring[MAX_RANK] = {f->st->unroll, f->E, f->V};
  int32_t lines[MAX_RANK] = {divisor(f->st->unroll, w->across + 1), f->warps * stream_shared_lines(w, f->E),
                             f->lanes * f->V};
  f->ring[fl][v] = f->edge[fl][v] = -1;
  if (w->used && w->rows) {
    f->ring[fl][v] = flow_array(f, arena_printf(a, "r%s.%d", field->name, v), field->type, SPACE_PRIVATE, ring, 0, 0);
    keep(f, (KeptRows){false, fl, v, f->ring[fl][v]});
  }
  if (w->used && w->across) {
    f->edge[fl][v] = flow_array(f, arena_printf(a, "s%s.%d", field->name, v), field->type, SPACE_SHARED, lines,
                                w->reach_lo, w->reach_hi);
    keep(f, (KeptRows){true, fl, v, f->edge[fl][v]});
  }
}

/* Makes the arrays of the values that instance `i` computes early. */
static void make_partial(Flow *f, int i) {
  const Partial *e = f->st->partial[i];
  Arena *a = f->lo->out->arena;
  int32_t ring[MAX_RANK] = {f->st->unroll, f->E, f->V};
  if (!e)
    return;
  f->partial[i] = ARENA_ARRAY(a, int32_t, e->n);
  const Stencil *st = &f->l->st[i];
  body_number(st->pieces[e->piece].body);
  for (const Op *op = st->pieces[e->piece].body->first; op; op = op->next) {
    int id = op->nresults ? op->results[0]->id : -1;
    if (id < 0 || !e->kept[id])
      continue;
    f->partial[i][id] = flow_array(f, arena_printf(a, "e%s.%d.%d", st->name, st->level, id), op->results[0]->type,
                                   SPACE_PRIVATE, ring, 0, 0);
    keep(f, (KeptRows){false, flow_partial(f, i, id), 0, f->partial[i][id]});
  }
}

/* Makes all arrays. */
static void make_arrays(Flow *f) {
  const Module *m = f->l->m;
  Arena *a = m->arena;
  f->ring = ARENA_ARRAY(a, int32_t *, m->nfields);
  f->edge = ARENA_ARRAY(a, int32_t *, m->nfields);
  f->in = ARENA_ARRAY(a, int32_t, m->nfields);
  for (int fl = 0; fl < m->nfields; fl++) {
    int versions = launch_use(f->l, fl)->versions + 1;
    f->ring[fl] = ARENA_ARRAY(a, int32_t, versions);
    f->edge[fl] = ARENA_ARRAY(a, int32_t, versions);
    for (int v = 0; v < versions; v++)
      make_window(f, fl, v);
  }
  f->partial = ARENA_ARRAY(a, int32_t *, f->l->n + 1);
  for (int i = 0; i < f->l->n; i++)
    make_partial(f, i);
  flow_make_inputs(f);
  flow_make_seams(f);
}

/* ---- between steps */

/* The indices of element e of line j in place `slot` of a private array. */
static void kept_place(Flow *f, int slot, int j, int e, Value **at) {
  at[0] = build_int(&f->b, TY_I32, slot);
  at[1] = build_int(&f->b, TY_I32, j);
  at[2] = build_int(&f->b, TY_I32, e);
}

Value *flow_kept(Flow *f, int array, int v, int slot, int j, int e) {
  Value *at[MAX_RANK];
  kept_place(f, slot, j, e, at);
  return build_aload(&f->b, f->k->arrays[array].type, array, v, 3, at, NULL);
}

void flow_put_row(Flow *f, int array, int slot, CellLine row) {
  Value *at[MAX_RANK];
  for (row.line = 0; row.line < f->E; row.line++)
    for (int e = 0; e < f->V; e++) {
      kept_place(f, slot, row.line, e, at);
      build_astore(&f->b, array, row.version, cells_get(f->cells, row, e), 3, at, NULL);
    }
}

/* Cell `x` of `line`, one of the newest rows (a CellFn). */
static Value *newest_cell(void *user, CellLine line, int x) { return cells_get(((Flow *)user)->cells, line, x); }

/* Stores those lines of the newest row of `r` that other warps read to place `slot` of shared memory. */
static void publish_row(Flow *f, const KeptRows *r, int slot) {
  TradedLines lines = flow_traded(f, r->of, r->version, slot);
  lines_give(&f->b, &lines, (CellLine){.of = r->of, .version = r->version}, newest_cell, f);
}

/* Sets the newest row of `r` to zeros. */
static void make_zeros(Flow *f, const KeptRows *r) {
  for (int i = 0; i < f->E * f->V; i++)
    cells_set(f->cells, (CellLine){.of = r->of, .version = r->version, .line = i / f->V}, i % f->V,
              build_const(&f->b, f->k->arrays[r->array].type, (Const){0}));
}

/* Stores the newest rows that are kept in registers (`shared`: in shared memory) to their places of unrolled step u. At
 * the `start`, where there are no rows yet, it stores zeros. True if there was a row to store. */
static bool keep_rows(Flow *f, int u, bool shared, bool start) {
  bool any = false;
  for (int i = 0; i < f->nkept; i++) {
    const KeptRows *r = &f->kept[i];
    int places = f->k->arrays[r->array].shape[0];
    if (r->shared != shared || (start && u >= places))
      continue;
    if (start)
      make_zeros(f, r);
    if (shared)
      publish_row(f, r, u % places);
    else
      flow_put_row(f, r->array, u % places, (CellLine){.of = r->of, .version = r->version});
    any = true;
  }
  return any;
}

/* Fills rows that are read before they are made with zeros; no result depends on these zeros. */
static void clear_rows(Flow *f) {
  bool any = false;
  for (int u = 0; u < f->st->unroll; u++) {
    keep_rows(f, u, false, true);
    any |= keep_rows(f, u, true, true);
  }
  if (any)
    build_barrier(&f->b);
}

/* Step t + u of the loop. */
static void stream_step(Flow *f) {
  cells_clear(f->cells);
  flow_load(f);
  for (int i = 0; i < f->l->n; i++) {
    flow_receive(f, i);
    flow_compute(f, i);
    flow_send(f, i);
  }
  flow_store(f);
  keep_rows(f, f->u, false, false);
  if (keep_rows(f, f->u, true, false))
    build_barrier(&f->b);
}

/* ---- the kernel */

Value *flow_line(Flow *f, int j) {
  Builder *b = &f->b;
  Value *warp = f->warp;
  if (f->rank_of_block)
    warp = build2(b, OP_ADD, build2(b, OP_MUL, f->rank_of_block, build_int(b, TY_I32, f->warps)), warp);
  Value *line = build2(b, OP_MUL, warp, build_int(b, TY_I32, f->E));
  return j ? build2(b, OP_ADD, line, build_int(b, TY_I32, j)) : line;
}

/* Finds lane, warp, and the coordinates of the thread's first cell. */
static void place_thread(Flow *f) {
  const Module *m = f->l->m;
  const Extent *hull = &f->st->halo;
  Builder *b = &f->b;
  int x = f->rank - 1, lanes_lo = (int)(hull->lo[x] + f->V - 1) / f->V;
  Value *thread = build_dim(b, OP_THREAD, x), *lanes = build_int(b, TY_I32, f->lanes);
  f->lane = f->rank > 1 ? thread : build2(b, OP_REM, thread, lanes);
  f->warp = f->rank > 1 ? build_dim(b, OP_THREAD, f->rank - 2) : build2(b, OP_DIV, thread, lanes);
  for (int d = 0; d < f->rank; d++) {
    Value *tile = build2(b, OP_MUL, build_dim(b, OP_BLOCK, d), build_int(b, TY_I64, f->k->tile[d]));
    int64_t halo = d == x ? (int64_t)lanes_lo * f->V : hull->lo[d];
    halo = f->k->over[d] ? 0 : halo;
    f->first[d] = build2(b, OP_ADD, tile, build_affine(b, m, affine_add_const(launch_covers(m)->lo[d], -halo)));
    f->at[d] = f->first[d];
  }
  Value *in_warp = build2(b, OP_MUL, f->lane, build_int(b, TY_I32, f->V));
  if (f->rank < 3)
    in_warp = build2(b, OP_ADD, in_warp, build2(b, OP_MUL, f->warp, build_int(b, TY_I32, f->k->tile[x] / f->warps)));
  f->at[x] = build2(b, OP_ADD, f->at[x], build_convert(b, TY_I64, in_warp));
  f->rank_of_block = f->k->cluster ? build_cluster_rank(b) : NULL;
  if (f->rank > 2)
    f->at[1] = build2(b, OP_ADD, f->at[1], build_convert(b, TY_I64, flow_line(f, 0)));
  f->step = stencils_use_step(f->l->n, f->l->st) ? build_step(b) : NULL;
}

/* The loop over steps, unrolled `unroll` times. */
static void stream_loop(Flow *f) {
  if (f->rank == 1) {
    stream_step(f);
    return;
  }
  Builder outer = f->b;
  Op *loop =
      build_for(&outer, build_int(&outer, TY_I32, 0), build_int(&outer, TY_I32, f->steps), f->st->unroll, 0, 0, NULL);
  f->before = builder_before(outer.arena, loop);
  f->b = builder_at_end(outer.arena, loop->blocks[0]);
  f->b.loc = outer.loc;
  f->t = loop->blocks[0]->args[0];
  for (f->u = 0; f->u < f->st->unroll; f->u++)
    stream_step(f);
  f->b = outer;
  f->t = NULL;
  f->u = 0;
}

/* Chooses how rows of fields are loaded and stored: by vectors for the fields that `vectors` marks (NULL: none). */
static void choose_moves(Flow *f, const Schedule *s, const bool *vectors) {
  const Module *m = f->l->m;
  bool keeps = stream_keeps_ring(f->lo->c->target, f->st, s);
  f->move = ARENA_ARRAY(f->lo->out->arena, Move, m->nfields + 1);
  for (int fl = 0; fl < m->nfields; fl++) {
    int width = vectors && vectors[fl] ? vector_cells(m->fields[fl].type, f->V) : 1;
    f->move[fl] = stream_move(f->st, fl, s->ahead, width, keeps);
    f->ahead = f->move[fl].kind == MOVE_ASYNC ? s->ahead : f->ahead;
  }
}

/* Adds the kernel `name` for launch `l` under schedule `s`, which advances by `steps`. Returns its index. */
static int stream_kernel(Lowering *lo, const Launch *l, const Schedule *s, bool vector, const char *name, int steps) {
  int index = lowering_kernel(lo, name, steps, l->n ? l->st[0].loc : no_loc());
  int rank = l->m->grid.rank;
  Flow f = {.lo = lo,
            .l = l,
            .st = stream_for(l, s),
            .k = &lo->out->kernels[index],
            .rank = rank,
            .lanes = stream_lanes(s, rank),
            .V = s->elems[rank - 1],
            .E = rank > 2 ? s->elems[1] : 1};
  f.cells = cells_new(lo->out->arena, f.V, f.lanes);
  f.warps = rank > 1 ? s->block[rank - 2] : s->block[0] / f.lanes;
  f.k->lanes = f.lanes;
  f.k->cluster = s->cluster > 1 ? s->cluster : 0;
  choose_moves(&f, s, vector ? kernel_vectors(lo, l, index, f.V) : NULL);
  for (int d = 0; d < rank; d++) {
    f.k->threads[d] = s->block[d];
    f.k->tile[d] = (int32_t)tile_dim(f.st, s, d).stored;
    f.k->extent[d] = box_extent(lo->out->arena, launch_covers(l->m), d);
    f.k->over[d] = (int32_t)tile_dim(f.st, s, d).overhang;
  }
  kernel_looks(lo, index, 1, &l, launch_covers(l->m));
  f.steps = rank > 1
                ? (int32_t)(s->chunk + f.st->halo.lo[0] + f.st->last + f.st->unroll - 1) / f.st->unroll * f.st->unroll
                : 1;
  make_arrays(&f);
  f.b = builder_at_end(lo->out->arena, f.k->body);
  f.b.loc = f.k->loc;
  place_thread(&f);
  flow_start_seams(&f);
  clear_rows(&f);
  flow_clear_rings(&f);
  flow_start_loads(&f);
  stream_loop(&f);
  flow_end_loads(&f);
  flow_end_seams(&f);
  return index;
}

/* On some targets a lane can add only a limited number of bytes to a base that all lanes share, and reaches several
 * rows of a plane from that base. So rows must not be too long there; launches check it. */
static void check_rows(Lowering *lo, const Launch *l, const Schedule *s) {
  const TargetInfo *t = lo->c->target;
  const Module *m = l->m;
  int x = m->grid.rank - 1, lines = t->lanes / stream_lanes(s, m->grid.rank);
  if (!t->lane_bytes || x < 2)
    return;
  for (int fl = 0; fl < m->nfields; fl++) {
    const Field *f = &m->fields[fl];
    int64_t most = t->lane_bytes / type_size(f->type) / ((lines - 1) * s->elems[1] + LANE_ROWS);
    Check c = {.value = affine_sub(lo->out->arena, affine_const(most), box_extent(lo->out->arena, &f->box, x)),
               .loc = f->loc};
    if ((!c.value.n && c.value.c >= 0) || !(launch_use(l, fl)->loaded || launch_use(l, fl)->stored) ||
        f->box.rank != m->grid.rank || lower_has_check(lo->out, c.value))
      continue;
    c.message = arena_printf(lo->out->arena,
                             "field '%s' has more than %lld points in dimension %d; use -schedule=overlap, or make "
                             "another dimension the long one",
                             f->name, (long long)most, x);
    ARENA_PUSH(lo->out->arena, lo->out->checks, lo->out->nchecks, c);
  }
}

/* ---- modules */

/* Where tiles of `s` are fitted to the grid, aligns the fields of launch `l` so that the boundaries between the points
 * that two tiles store lie at whole sectors of memory, if that is possible. Two tiles write to a sector that has such a
 * boundary inside, each a part of it. */
static void place_fields(Lowering *lo, const Launch *l, const Schedule *s) {
  const Mapping *p = stream_for(l, s);
  int x = l->m->grid.rank - 1, sector = lo->c->target->sector_bytes, V = s->elems[x];
  if (!sector || !tile_dim(p, s, x).overhang)
    return;
  for (int i = 0; i < lo->out->nbuffers; i++) {
    Buffer *b = &lo->out->buffers[i];
    if (b->kind != BUFFER_FIELD || !(launch_use(l, b->field)->loaded || launch_use(l, b->field)->stored))
      continue;
    int64_t size = type_size(l->m->fields[b->field].type), seam = (p->halo.lo[x] + V - 1) / V * V * size,
            lead = (sector - seam % sector) % sector;
    if (tile_dim(p, s, x).stored * size % sector == 0 && lead % (V * size < 16 ? V * size : 16) == 0)
      b->lead = (int32_t)lead;
  }
}

/* Adds the kernel of launch `l`, streamed or not, and its launch (a TileFn). */
static bool stream_launch(Lowering *lo, HostSeq *seq, const Launch *l, const Schedule *s, const char *name, int steps) {
  if (!family_row(s->family)->streamed)
    return overlap_launch(lo, seq, l, s, name, steps);
  host_launch(lo, seq, kernel_with_spare(lo, stream_kernel, l, s, name, steps));
  check_rows(lo, l, s);
  return true;
}

Module *pass_lower_stream(PassContext *c, Module *m, int n, const PassOption *o) {
  static const TileFamily family = {stream_launch, lower_inits, place_fields};
  Schedule s;
  (void)n, (void)o;
  if (!lowering_starts(c, &m, "lower-stream", FAMILY_STREAM, &s))
    return NULL;
  return s.edges == EDGES_STEPS ? lower_framed(c, m, &s, stream_launch) : lower_tiles(c, m, &s, &family);
}
