/* lower-loops.c: the naive and overlap schedules for targets without threads. A block is one tile of points, and a
 * kernel's body is loops over the tile's cells.
 *
 *     for each instance (stencil at a time level), on its region around the tile (Algorithm 2), clipped to the grid:
 *       copy the points of targets that keep their values, except where the main piece writes
 *       for each piece:
 *         the fast box: points from which no access leaves its field     no tests, innermost loop parallel
 *         its other points, if there are any                             one by one, outside rules by maps
 *
 * J. Holewinski, L.-N. Pouchet, P. Sadayappan, ICS 2012, Algorithms 1 to 5, with the parallel thread loops of Algorithm
 * 3 written out as loops.
 *
 * *Pieces*. Each piece has a loop nest over its own box within the tile, so a piece costs only its own points, and
 * tiles without points of the piece run none of its loops. If halo cells are images of points by a periodic field, only
 * the main piece has a fast box, and ifs choose among the pieces elsewhere.
 *
 * *Arrays*. A version of a field lives in an array of the tile (scratch that fits a cache). The last version goes
 * directly to global memory if no other tile and no later instance needs it from the array. shared-alloc merges arrays
 * of versions that are not live at the same time: two arrays remain for a field in the common case.
 *
 * *Thin launches*. A launch of one stencil whose pieces are thin (at most an eighth of the grid's points, or at most 32
 * points across where a param says how large the grid is; `thin.c`) touches no other points: its tiles cover the
 * pieces. Where it reads other points of a field that it writes, it stores to the other buffer, and a second kernel,
 * `_back`, copies these points back. So no values are kept by copying them, and no buffers are swapped. */
#include "passes/tile/emit/loops/loops.h"
#include "passes/registry.h"

#include <string.h>

/* ---------------------------------------------------------------- the kernel */

/* ArrayFn: makes an array as large as the tile. */
static int make_array(LoopTile *t, int i, int field, int v) {
  const Field *f = &t->l->m->fields[field];
  (void)i;
  return kernel_array(t->lo, &t->lo->out->kernels[t->kernel], arena_printf(t->l->m->arena, "s%s.%d", f->name, v),
                      f->type, SPACE_SHARED, t->cells, NULL, NULL);
}

/* Sets the shape of kernel `k` for tiles that compute `block` points (equation 1: they store fewer), and the
 * coordinates of the tile's cells. */
static void place_tile(LoopTile *t, Kernel *k, Builder *b, const int32_t *block) {
  const Launch *l = t->l;
  for (int d = 0; d < t->rank; d++) {
    t->width[d] = (int32_t)launch_width(l, d, block[d]);
    t->cells[d] = block[d];
    if (d == t->rank - 1)
      t->cells[d] = row_cells(block[d]);
    t->lead[d] = (int32_t)l->hull.lo[d];
    k->threads[d] = 1;
    k->tile[d] = t->width[d];
    k->extent[d] = box_extent(t->lo->out->arena, &t->tiles, d);
    Value *origin = build2(b, OP_MUL, build_dim(b, OP_BLOCK, d), build_int(b, TY_I64, t->width[d]));
    t->base[d] = build2(b, OP_ADD, origin, build_affine(b, l->m, affine_add_const(t->tiles.lo[d], -l->hull.lo[d])));
  }
}

/* The least box around the pieces of `st`, as far as their bounds can be compared; where they cannot, up to the grid's
 * edge. */
static Box pieces_hull(const Module *m, const Stencil *st) {
  Box box = st->pieces[0].box;
  for (int d = 0; d < box.rank; d++)
    for (int i = 1; i < st->npieces; i++) {
      int64_t below, above;
      const Box *piece = &st->pieces[i].box;
      if (!affine_diff(box.lo[d], piece->lo[d], &below) || !affine_diff(piece->hi[d], box.hi[d], &above)) {
        box.lo[d] = m->grid.lo[d];
        box.hi[d] = m->grid.hi[d];
        break;
      }
      box.lo[d] = below > 0 ? piece->lo[d] : box.lo[d];
      box.hi[d] = above > 0 ? piece->hi[d] : box.hi[d];
    }
  return box;
}

/* The tile of a kernel for launch `l`: it covers all of the grid, or the pieces if the launch is thin. */
static LoopTile tile_of(Lowering *lo, const Launch *l, int only) {
  Box thin = l->thin ? pieces_hull(l->m, l->st) : l->m->grid;
  return (LoopTile){.lo = lo,
                    .l = l,
                    .rank = l->m->grid.rank,
                    .only = only,
                    .lines = 1,
                    .covers = box_of_targets(l, thin),
                    .tiles = box_of_targets(l, l->thin ? thin : *launch_covers(l->m))};
}

/* After a thin launch `l`, adds the kernel that copies back what the launch stored to other buffers, if there is
 * any. */
static void copy_back_launch(Lowering *lo, HostSeq *seq, const Launch *l, const char *name, const int32_t *block,
                             int steps) {
  LoopTile t = tile_of(lo, l, -1);
  t.kernel = lowering_kernel(lo, arena_printf(l->m->arena, "%s_back", name), steps, l->st[0].loc);
  Kernel *k = &lo->out->kernels[t.kernel];
  Builder b = builder_at_end(lo->out->arena, k->body);
  b.loc = k->loc;
  place_tile(&t, k, &b, block);
  build_copy_back(&t, &b);
  host_launch(lo, seq, t.kernel);
}

/* Does launch `l` leave values in other buffers that are to be copied back? */
static bool copies_back(const Launch *l) {
  bool back = false;
  for (int k = 0; k < l->nuses; k++)
    back = back || l->uses[k].back;
  return back;
}

void loops_launch(Lowering *lo, HostSeq *seq, const Launch *l, int only, const char *name, const int32_t *block,
                  int steps) {
  Arena *scratch = arena_scratch(l->m->arena);
  ArenaMark start = arena_mark(scratch);
  bool back = copies_back(l);
  LoopTile t = tile_of(lo, l, only);
  t.kernel = lowering_kernel(lo, name, back ? 0 : steps, l->st[0].loc);
  Kernel *k = &lo->out->kernels[t.kernel];
  Builder b = builder_at_end(lo->out->arena, k->body);
  b.loc = k->loc;
  place_tile(&t, k, &b, block);
  kernel_looks(lo, t.kernel, 1, &l, &t.tiles);
  tile_arrays(&t, make_array);
  for (int i = 0; i < l->n; i++)
    build_instance(&t, &b, i);
  build_write_back(&t, &b);
  host_launch(lo, seq, t.kernel);
  arena_release(scratch, start);
  if (back)
    copy_back_launch(lo, seq, l, name, block, steps);
}

/* ---------------------------------------------------------------- modules */

/* The kernel of an init (an InitFn). */
static void init_launch(Lowering *lo, HostSeq *seq, const Launch *l, int only, const char *name, const int32_t *block) {
  loops_launch(lo, seq, l, only, name, block, 0);
}

void loops_inits(Lowering *lo, const int32_t *block) { init_seqs(lo, block, init_launch); }

/* The step sequence of the naive schedule: a launch for each stencil. */
static void lower_loop_stencils(Lowering *lo, Launch *const *launches, int n, const int32_t *block) {
  HostSeq *seq = host_seq(lo, 1);
  for (int i = 0; i < n; i++) {
    const char *name = arena_printf(lo->m->arena, "%s_naive_%s", lo->m->name, launches[i]->st->name);
    if (launches[i]->st->sweep)
      sweep_launch(lo, seq, launches[i], block, i == n - 1);
    else
      loops_launch(lo, seq, launches[i], -1, name, block, i == n - 1);
    host_swaps(lo, seq, launches[i]);
  }
}

/* Adds the kernel of launch `l` and its launch (a TileFn). */
static bool add_launch(Lowering *lo, HostSeq *seq, const Launch *l, const Schedule *s, const char *name, int steps) {
  loops_launch(lo, seq, l, -1, name, s->block, steps);
  return true;
}

/* The launches of a step, and those of several steps if there are any, the longest first. */
typedef struct Launches {
  int nsteps, ntiles;
  Launch **steps, **tiles;
} Launches;

static Launches all_launches(const TargetInfo *t, const Module *m, const Schedule *s, bool naive) {
  int32_t n;
  const Stencil *st = last_level(m, &n);
  int tiles[MOST_TILES], most = naive || n == 0 ? 1 : m->time_tile;
  Launches l = {.ntiles = remainder_tiles(t, s, most, tiles) - 1};
  l.steps =
      naive ? naive_launches(m, n, st, &l.nsteps) : group_launches(m, n, repeat_levels(m, n, st, 1, true), &l.nsteps);
  l.tiles = ARENA_ARRAY(m->arena, Launch *, l.ntiles + 1);
  for (int i = 0; i < l.nsteps; i++) {
    launch_store_over(l.steps[i]);
    launch_copy_back(l.steps[i]);
  }
  for (int i = 0; i < l.ntiles; i++) {
    const Stencil *tile = repeat_levels(m, n, st, tiles[i], true);
    l.tiles[i] = launch_new(m, n * tiles[i], tile, tile, tile + n * tiles[i]);
  }
  return l;
}

Module *pass_lower_loops(PassContext *c, Module *m, int n, const PassOption *o) {
  Schedule s;
  (void)n, (void)o;
  if (!lowering_starts(c, &m, "lower-loops", FAMILY_OVERLAP, &s))
    return NULL;
  bool naive = !family_row(s.family)->tiled;
  Launches l = all_launches(c->target, m, &s, naive);
  Lowering *lo = lowering_new(c, m, l.nsteps, l.steps, l.ntiles, l.tiles);
  loops_inits(lo, s.block);
  if (naive)
    lower_loop_stencils(lo, l.steps, l.nsteps, s.block);
  for (int i = 0; i < l.ntiles; i++)
    tiles_seq(lo, add_launch, 1, &l.tiles[i], &s, &s);
  if (!naive)
    tiles_seq(lo, add_launch, l.nsteps, l.steps, s.ngroups > 1 ? s.groups : &s, &s);
  return lowering_finish(lo, &s);
}
