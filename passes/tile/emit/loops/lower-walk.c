/* lower-walk.c: the stream schedule on targets whose blocks have one thread: streamed tiles.
 *
 *     for each step of the stream
 *       for each instance, on the rows that are due
 *         the fast box, several lines together: common loads are done once    innermost loop parallel
 *         the rest, if there is any: pieces by ifs, outside rules by maps
 *
 * A tile is a block of columns (rank 2) or of lines and columns (rank 3). It is streamed along dimension 0 over
 * `-chunk` rows (planes), with all stencils of all T time steps in flight: at each step every instance makes the next
 * rows, `lag` rows behind the rows that are read from global memory (stream.c). Results of one thread are available at
 * once, so nothing waits for a barrier and nothing is evaluated early. In dimension 0 only the ends of chunks are
 * computed twice; in the other dimensions tiles overlap by the halo (equation 1 of Holewinski, Pouchet, Sadayappan, ICS
 * 2012), rounded to whole vectors in the last dimension.
 *
 * *Rings*. The values that an access reads come from:
 * - version 0: global memory
 * - any later version: the version's ring, an array with the rows that a step makes and the rows that later instances
 *   still read; its first index is the row modulo the number of rows
 *
 * The rings of all levels together fit the second-level cache. A tile of T steps reads and writes global memory once.
 * The last version goes straight to global memory, unless a later instance reads it or it is computed beyond the tile:
 * then its rows are copied from the ring as they are made.
 *
 * *Constants*. If a field is a constant beyond its edges, the rings hold this constant in their cells beyond the grid:
 * at its sides and in all rows before the first, stored once, and in the rows after the last, stored when they are due.
 * So reads from a ring need no test, and only the first instances, which read global memory, have loops with ifs.
 *
 * *Rows of a step*. At a step every instance makes 4, 2 or 1 rows (rank 2), or a plane by as many lines at a time (rank
 * 3): fewer for equations of more than 24, 60 operations. A value that several of these lines read is loaded once. In
 * rank 3 instances that access global memory make one line at a time, in the order of memory, which processors
 * prefetch. The loops are those of `lower-loops`: for each piece the fast box without tests, with a parallel innermost
 * loop, and the rest by ifs and maps.
 *
 * *Vectors*. In the last dimension instances whose targets are in rings compute whole vectors of 16 cells around the
 * tile (cells of the array beyond the computed ones count as pads). A row is cut at whole vectors, and cells before and
 * after these are computed by a full vector that computes some cells again.
 *
 * *Limits*. A grid of rank 1, a field that is written in place, and stencils that cannot share a launch cannot be
 * streamed: that is an error that says why, or a remark where the schedule was left open. A step that is cut into
 * launches has T = 1, and each launch is streamed, or else has overlapped tiles. So are the steps that remain after the
 * last tile. */
#include "passes/tile/emit/loops/loops.h"
#include "passes/base/tuning.h"
#include "passes/registry.h"
#include "passes/plan/plan.h"

#include <string.h>

/* The greatest number of parts of a chunk: tile-classes counts them in a byte. */
enum { MOST_PARTS = 64 };

/* A streamed tile that is being built. */
typedef struct StreamedTile {
  LoopTile t;
  Streamed w;
  const Mapping *st;
} StreamedTile;

/* ---- arrays */

/* ArrayFn: makes a ring of rows. Where whole vectors are computed, cells of a row that the instance did not compute may
 * be read; no result depends on these. */
static int make_ring(LoopTile *t, int i, int field, int v) {
  const StreamedTile *k = (const StreamedTile *)t;
  Kernel *kernel = &t->lo->out->kernels[t->kernel];
  const Field *f = &t->l->m->fields[field];
  int x = t->rank - 1, index;
  Extent e = tile_extent(t, i);
  int32_t cells[MAX_RANK];
  memcpy(cells, t->cells, sizeof cells);
  cells[0] = k->w.rows + k->st->kept[field][v].rows;
  index = kernel_array(t->lo, kernel, arena_printf(t->l->m->arena, "s%s.%d", f->name, v), f->type, SPACE_SHARED, cells,
                       NULL, NULL);
  Array *a = &kernel->arrays[index];
  a->pad_lo[x] = (int32_t)(k->w.pad + t->lead[x] - e.lo[x]);
  a->pad_hi[x] = (int32_t)(a->shape[x] - a->pad_lo[x] - e.lo[x] - t->width[x] - e.hi[x]);
  return index;
}

/* The greatest number of rows that accesses to versions in rings reach back. */
static int32_t reach_back(const Launch *l) {
  int64_t reach = 0;
  for (int f = 0; f < l->m->nfields; f++)
    reach = larger(reach, launch_use(l, f)->reach_lo[0]);
  return (int32_t)reach;
}

/* ---- the kernel */

/* Adds a scalar that is 0 to the lowered module, whose list of scalars may be shared. Returns its number. */
static int32_t add_zero(Lowering *lo, const char *name) {
  Module *m = lo->out;
  Scalar *all = ARENA_ARRAY(m->arena, Scalar, m->nscalars + 1);
  memcpy(all, m->scalars, (size_t)m->nscalars * sizeof *all);
  Block *expr = block_new(m->arena, NULL);
  Builder b = builder_at_end(m->arena, expr);
  build_yield(&b, 1, (Value *[]){build_int(&b, TY_I64, 0)});
  all[m->nscalars] = (Scalar){.name = name, .type = TY_I64, .expr = expr};
  m->scalars = all;
  return m->nscalars++;
}

/* If the kernel reads words of tests, cuts a chunk of `rows` rows into parts, each of which may have a class of its
 * own; a block then computes as many parts as pass tile-classes says. Returns the rows of a part. */
static int32_t cut_chunk(StreamedTile *k, int32_t rows) {
  Lowering *lo = k->t.lo;
  Kernel *kernel = &lo->out->kernels[k->t.kernel];
  int32_t least = (int32_t)tuning.fewest_rows, n = (rows + least - 1) / least;
  n = n < MOST_PARTS ? n : MOST_PARTS;
  if (!kernel->tests || n < 2)
    return rows;
  KernelTests *t = ARENA_NEW(lo->out->arena, KernelTests);
  *t = *kernel->tests;
  t->more = add_zero(lo, arena_printf(lo->out->arena, "%s.more", kernel->name));
  t->from = add_zero(lo, arena_printf(lo->out->arena, "%s.from", kernel->name));
  t->less = add_zero(lo, arena_printf(lo->out->arena, "%s.less", kernel->name));
  t->most = n - 1;
  kernel->tests = t;
  return (rows + n - 1) / n;
}

/* Has the tile also store the rows beyond its width, and only those points of its last dimension, that its class
 * names. */
static void place_classed(StreamedTile *k, Builder *b) {
  LoopTile *t = &k->t;
  const KernelTests *tests = t->lo->out->kernels[t->kernel].tests;
  int x = t->rank - 1;
  if (!tests || tests->more < 0)
    return;
  Value *from = build_scalar(b, TY_I64, tests->from);
  t->more = build2(b, OP_MUL, build_scalar(b, TY_I64, tests->more), build_int(b, TY_I64, t->width[0]));
  t->fewer = build2(b, OP_ADD, from, build_scalar(b, TY_I64, tests->less));
  t->base[x] = build2(b, OP_ADD, t->base[x], from);
}

/* Sets the shape of the tile, and the coordinates of its cells. */
static void place_tile(StreamedTile *k, Builder *b, const Schedule *s) {
  LoopTile *t = &k->t;
  const Launch *l = t->l;
  Kernel *kernel = &t->lo->out->kernels[t->kernel];
  int x = t->rank - 1;
  for (int d = 0; d < t->rank; d++) {
    int32_t stored = (int32_t)tile_dim(k->st, s, d).stored;
    t->width[d] = d == 0 ? cut_chunk(k, stored) : stored;
    t->lead[d] = (int32_t)(d == x ? (l->hull.lo[d] + ROW_CELLS - 1) / ROW_CELLS * ROW_CELLS : l->hull.lo[d]);
    t->cells[d] = (int32_t)(t->lead[d] + t->width[d] + (t->width[d] < stored ? stored : 0) + l->hull.hi[d]);
    kernel->threads[d] = 1;
    kernel->tile[d] = t->width[d];
    kernel->extent[d] = box_extent(t->lo->out->arena, &t->tiles, d);
    Value *origin = build2(b, OP_MUL, build_dim(b, OP_BLOCK, d), build_int(b, TY_I64, t->width[d]));
    t->base[d] = build2(b, OP_ADD, origin, build_affine(b, l->m, affine_add_const(t->tiles.lo[d], -t->lead[d])));
  }
  place_classed(k, b);
  k->w.pad = walk_pad(l);
  t->cells[x] = row_cells(walk_row(l, t->width[x]));
}

/* Row `last`, with the rows that the tile stores beyond its width added. */
static Value *with_more(const LoopTile *t, Builder *b, Value *last) {
  return t->more ? build2(b, OP_ADD, last, t->more) : last;
}

/* The first and the last row, counted at lag 0, of the stream, i64: all rows that an instance makes, at its lag, lie
 * between them. */
static void stream_ends(const StreamedTile *k, Builder *b, Value **first, Value **last) {
  const LoopTile *t = &k->t;
  const Launch *l = t->l;
  int64_t below = INT64_MIN, above = 0, most = 0, images = 0;
  for (int i = 0; i < l->n; i++) {
    const Extent *e = &l->st[i].extent;
    int64_t lag = k->w.lag[i];
    below = larger(below, e->lo[0] - lag);
    above = larger(above, e->hi[0] + lag);
    most = larger(most, lag);
    images = larger(images, l->wraps[0] ? e->hi[0] : 0);
  }
  Value *own = plus_i64(b, t->base[0], t->lead[0]);
  *first = plus_i64(b, own, -below);
  if (!l->wraps[0])
    *first = build2(b, OP_MAX, *first, build_affine(b, l->m, l->m->grid.lo[0]));
  *last = build2(b, OP_MIN, with_more(t, b, plus_i64(b, own, t->width[0] - 1 + above)),
                 plus_i64(b, build_affine(b, l->m, l->m->grid.hi[0]), images + most));
  if (!affine_equal(t->tiles.hi[0], t->covers.hi[0]))
    *last = build2(b, OP_MIN, *last, plus_i64(b, build_affine(b, l->m, t->tiles.hi[0]), above));
}

/* The stream: at each step all instances compute the rows that are due. */
static void build_steps(StreamedTile *k, Builder *b) {
  Value *first, *last;
  stream_ends(k, b, &first, &last);
  Value *steps = build_convert(b, TY_I32, plus_i64(b, build2(b, OP_SUB, last, first), 1));
  Value *step = open_loop(b, build_int(b, TY_I32, 0), steps, k->w.rows, 0);
  k->w.row = build2(b, OP_ADD, first, build_convert(b, TY_I64, step));
  for (int i = 0; i < k->t.l->n; i++) {
    build_instance(&k->t, b, i);
    build_constant_rows(&k->t, b, i);
  }
  build_write_back(&k->t, b);
}

/* Builds the kernel of launch `l`, with tiles of schedule `s`, and adds its launch to `seq`. */
static void walk_launch(Lowering *lo, HostSeq *seq, const Launch *l, const Schedule *s, const char *name, int steps) {
  int32_t lines = map_get(s, MAP_LINES);
  Arena *scratch = arena_scratch(l->m->arena);
  ArenaMark start = arena_mark(scratch);
  StreamedTile k = {.t = {.lo = lo, .l = l, .rank = l->m->grid.rank, .only = -1, .lines = lines},
                    .st = stream_alone(l)};
  k.t.covers = l->m->grid;
  k.t.tiles = *launch_covers(l->m);
  k.t.streamed = &k.w;
  k.t.kernel = lowering_kernel(lo, name, steps, l->n ? l->st[0].loc : no_loc());
  k.w = (Streamed){.rows = l->m->grid.rank == 2 ? lines : 1, .lag = k.st->lag, .reach = reach_back(l)};
  Kernel *kernel = &lo->out->kernels[k.t.kernel];
  Builder b = builder_at_end(lo->out->arena, kernel->body);
  b.loc = kernel->loc;
  kernel_looks(lo, k.t.kernel, 1, &l, &k.t.tiles);
  place_tile(&k, &b, s);
  tile_arrays(&k.t, make_ring);
  build_constant_cells(&k.t, &b);
  build_steps(&k, &b);
  host_launch(lo, seq, k.t.kernel);
  arena_release(scratch, start);
}

/* ---- modules */

/* Adds the kernel of launch `l`, streamed or computed one instance after the other, and its launch (a TileFn). */
static bool add_launch(Lowering *lo, HostSeq *seq, const Launch *l, const Schedule *s, const char *name, int steps) {
  if (family_row(s->family)->streamed)
    walk_launch(lo, seq, l, s, name, steps);
  else
    loops_launch(lo, seq, l, -1, name, s->block, steps);
  return true;
}

Module *pass_lower_walk(PassContext *c, Module *m, int n, const PassOption *o) {
  static const TileFamily family = {add_launch, loops_inits, NULL};
  Schedule s;
  (void)n, (void)o;
  return lowering_starts(c, &m, "lower-walk", FAMILY_STREAM, &s) ? lower_tiles(c, m, &s, &family) : NULL;
}
