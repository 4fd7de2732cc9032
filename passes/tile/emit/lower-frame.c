/* lower-frame.c: single steps at the grid's edges, beside the launch of tiles of several steps inside (tile/frame.h):
 *
 *   launch @heat_warps_t8                   all of the grid, wrong in the frame
 *   launch @heat_frame_psi  launch @heat_frame_wave_to_rec  swap ..          a step in the fields' buffers, T times
 *   launch @heat_frame_end                  the frame's points, over what the tiles stored
 *   swap ..                                 the buffers to their first order, and the tiles' own swaps
 *
 * The tiles store to other buffers; after them only the frame's steps use the buffers that the tiles loaded. A launch
 * covers all sides of the frame, because blocks in the core are omitted (Kernel.idles), and makes all stencils of a
 * level (frame-steps.c). For stencils of the tiles, the plan's rest has the number of points of a thread.
 *
 * All T steps launch the same kernels: the buffers are swapped as the fields are. The steps that remain after the last
 * T may have a kernel of their own for their tiles (the plan's `remainder`); the frame's kernels are the same. */
#include "passes/tile/emit/lower-frame.h"
#include "passes/base/tuning.h"

/* The state of the lowering. own: like `lo`, with the buffers of the frame's steps. rows: points of a thread where the
 * tiles' stencils are computed. step: the launches of a step of the frame, and the swaps after them; end: the kernel
 * after the last step. */
typedef struct Framed {
  Lowering *lo, own;
  HostSeq *seq, step;
  int32_t end;
  const Frame *f;
  int32_t block[MAX_RANK];
  int32_t rows;
} Framed;

/* ---- buffers */

/* Adds another buffer like those of field `f`: the copy with the next number. */
static int32_t add_copy(Lowering *lo, int f) {
  Module *out = lo->out;
  int copy = 2;
  while (module_field_buffer(out, f, copy) >= 0)
    copy++;
  Buffer b = {.name = arena_printf(out->arena, "%s.frame%d", out->fields[f].name, copy - 1), .field = f, .copy = copy};
  ARENA_PUSH(out->arena, out->buffers, out->nbuffers, b);
  return out->nbuffers - 1;
}

/* Does a launch of the frame's steps access the first buffer (`copy`: the second) of field `f`? */
static bool touches(const Frame *fr, int f, int copy) {
  bool any = false;
  for (int i = 0; i < fr->n; i++) {
    const FieldUse *u = launch_use(fr->launches[i].l, f);
    any = any || (copy ? u->paired && u->into < 0 : u->loaded || u->stored || u->from >= 0);
  }
  return any;
}

/* Gives the frame's steps their buffers: those of the fields, which the tiles no longer use, and more where they need
 * more. */
static void make_buffers(Framed *x) {
  const Module *m = x->f->whole;
  x->own = *x->lo;
  for (int copy = 0; copy < 2; copy++) {
    x->own.copy[copy] = ARENA_ARRAY(x->lo->out->arena, int32_t, m->nfields + 1);
    for (int f = 0; f < m->nfields; f++) {
      bool more = x->f->kept[f] && !m->fields[f].series && (copy || m->fields[f].temp);
      x->own.copy[copy][f] = more ? -1 : x->lo->copy[copy][f];
      if (touches(x->f, f, copy) && x->own.copy[copy][f] < 0)
        x->own.copy[copy][f] = add_copy(x->lo, f);
    }
  }
}

/* ---- the end */

/* Adds the kernel that stores the fields' points in the frame over those that the tiles of launch `tile` stored. */
static void end_kernel(Framed *x, const Launch *tile) {
  Lowering *lo = x->lo;
  const Module *m = x->f->whole;
  int index = lowering_kernel(lo, arena_printf(lo->out->arena, "%s_frame_end", m->name), 0, no_loc());
  Value *g[MAX_RANK];
  Box core = frame_core(x->f, &x->f->halo);
  Builder in = frame_begin(lo, index, x->block, x->rows, &core, g);
  static const int64_t here[MAX_RANK];
  for (int f = 0; f < m->nfields; f++) {
    if (!x->f->kept[f] || m->fields[f].temp || m->fields[f].series)
      continue;
    Value *v = build_load(&in, m->fields[f].type, x->own.copy[0][f], m->grid.rank, g, here);
    build_store(&in, store_buffer(lo, tile, f), v, m->grid.rank, g, NULL);
  }
  x->end = index;
}

/* ---- the steps */

Lowering *frame_buffers(const Lowering *own, const FrameLaunch *fl) {
  Arena *a = own->out->arena;
  int nfields = own->m->nfields;
  Lowering *lo = ARENA_NEW(a, Lowering);
  *lo = *own;
  for (int copy = 0; copy < 2; copy++) {
    lo->copy[copy] = ARENA_ARRAY(a, int32_t, nfields + 1);
    for (int f = 0; f < nfields; f++)
      lo->copy[copy][f] = own->copy[fl->at[copy][f] % 2][fl->at[copy][f] / 2];
  }
  return lo;
}

/* Finds the launches of level `level` that one kernel makes: in order, to `of`. *depth: how deep they reach, with the
 * points that they copy. Returns their number. */
static int members_of(const Framed *x, int level, const FrameLaunch **of, Extent *depth) {
  Extent read = frame_read(x->f);
  int n = 0;
  *depth = (Extent){{0}, {0}};
  for (int i = 0; i < x->f->n; i++)
    if (x->f->launches[i].level == level && !x->f->launches[i].apart) {
      of[n++] = &x->f->launches[i];
      extent_grow(depth, &x->f->launches[i].depth, MAX_RANK);
      if (x->f->launches[i].role == FRAME_INNER)
        extent_grow(depth, &read, MAX_RANK);
    }
  return n;
}

const char *frame_members_text(Arena *a, int n, const FrameLaunch *const *of) {
  const char *first = of[0]->l->st->name, *last = of[n - 1]->l->st->name;
  return n == 1 ? first : arena_printf(a, "%s_%s%s", first, n == 2 ? "" : "to_", last);
}

/* Adds the kernel `name` of the members at `of`, whose threads have `rows` points each, and its launch. */
static void frame_kernel(Framed *x, int n, const NaiveMember *of, const char *name, int32_t rows, const Box *core) {
  int32_t elems[MAX_RANK] = {rows, 1, 1};
  NaivePoints p = {n, 0, of, x->block, elems, core, &x->f->inner};
  host_launch(x->lo, x->seq, naive_points(x->lo, &p, name));
}

/* Adds the kernel of the `n` launches at `of`, which reach `depth` deep together, and its launch. In kernels of layers
 * alone a thread has one point: layers are thin, and have no version without tests. */
static void level_kernel(Framed *x, int n, const FrameLaunch *const *of, const Extent *depth) {
  Arena *a = x->lo->out->arena;
  const char *name = arena_printf(a, "%s_frame_%s", x->f->whole->name, frame_members_text(a, n, of));
  Box core = frame_core(x->f, depth);
  NaiveMember *members = ARENA_ARRAY(a, NaiveMember, n);
  bool inner = false;
  for (int i = 0; i < n; i++) {
    bool edge = of[i]->role == FRAME_EDGE;
    inner = inner || of[i]->role == FRAME_INNER;
    Box without = edge ? core : frame_core(x->f, &of[i]->depth);
    members[i] = (NaiveMember){.lo = frame_buffers(&x->own, of[i]), .l = of[i]->l, .without = without, .pieces = edge};
    members[i].copies = of[i]->role == FRAME_INNER;
  }
  if (n == 1 && of[0]->role == FRAME_POINT)
    naive_zone(members[0].lo, x->seq, of[0]->l, name, x->block, &of[0]->l->st->pieces[0].box, &core);
  else
    frame_kernel(x, n, members, name, inner ? x->rows : 1, &core);
}

/* Adds the launches of level `level`, which run at the same time. */
static void level_launches(Framed *x, int level) {
  Arena *a = x->lo->out->arena;
  const FrameLaunch **of = ARENA_ARRAY(a, const FrameLaunch *, x->f->n + 1);
  Extent depth;
  int first = x->seq->nops, n = members_of(x, level, of, &depth);
  if (n > 0)
    level_kernel(x, n, of, &depth);
  for (int i = 0; i < x->f->n; i++) {
    const FrameLaunch *fl = &x->f->launches[i];
    const char *name = arena_printf(a, "%s_frame_%s", x->f->whole->name, fl->l->st->name);
    Together alone = {0, 0, 0};
    if (fl->level == level && fl->apart)
      naive_parts(frame_buffers(&x->own, fl), x->seq, fl->l, default_scalars(x->f->whole), name, x->block, 0, &alone);
  }
  for (int i = first; i < x->seq->nops; i++)
    x->seq->ops[i].beside = i > first;
}

/* ---- swaps */

/* The buffer whose memory each buffer stands for after the swaps among the ops of `seq` from number `first` on. */
static int32_t *turns_of(const Lowering *lo, const HostSeq *seq, int first) {
  int32_t *at = ARENA_ARRAY(lo->out->arena, int32_t, lo->out->nbuffers + 1);
  for (int b = 0; b < lo->out->nbuffers; b++)
    at[b] = b;
  for (int i = first; i < seq->nops; i++) {
    HostOp op = seq->ops[i];
    if (op.kind != HOST_SWAP)
      continue;
    int32_t was = at[op.a];
    at[op.a] = at[op.b];
    at[op.b] = was;
  }
  return at;
}

/* Adds swaps to `seq` that turn order `at` of the buffers, as turns_of has it, into order `want`. Swaps with further
 * copies of fields are last: the values in them are not needed any more. */
static void add_swaps(const Lowering *lo, HostSeq *seq, int32_t *at, const int32_t *want) {
  const Module *out = lo->out;
  for (int further = 0; further < 2; further++)
    for (int b = 0; b < out->nbuffers; b++) {
      int other = 0;
      while (at[other] != want[b])
        other++;
      if (other == b || (!further && (out->buffers[b].copy || out->buffers[other].copy)))
        continue;
      ARENA_PUSH(out->arena, seq->ops, seq->nops, ((HostOp){.kind = HOST_SWAP, .a = b, .b = other}));
      at[other] = at[b];
      at[b] = want[b];
    }
}

void frame_swaps(Lowering *own, HostSeq *seq, const Frame *f) {
  HostSeq swaps = {0}, none = {0};
  for (int i = 0; i < f->n; i++)
    host_swaps(own, &swaps, f->launches[i].l);
  add_swaps(own, seq, turns_of(own, &none, 0), turns_of(own, &swaps, 0));
}

/* Makes the kernels of a step of the frame `x->f` under schedule `s`, and the kernel after the last step; `tile` is the
 * launch of the tiles. */
static void make_step(Framed *x, const Launch *tile, const Schedule *s) {
  int rank = x->f->whole->grid.rank;
  x->rows = s->rest ? s->rest->elems[0] : 1;
  for (int d = 0; d < rank; d++)
    x->block[d] = (int32_t)tuning.tile_block[rank - 1][d];
  make_buffers(x);
  x->seq = &x->step;
  for (int level = 0; level < x->f->nlevels; level++)
    level_launches(x, level);
  frame_swaps(&x->own, x->seq, x->f);
  end_kernel(x, tile);
}

/* Undoes the swaps of the ops from number `first` on, so that sequences repeat themselves soon. The values in the
 * buffers are not needed any more. */
static void turn_back(Framed *x, int first) {
  HostSeq none = {0};
  add_swaps(x->lo, x->seq, turns_of(x->lo, x->seq, first), turns_of(x->lo, &none, 0));
}

/* Adds the launches that compute the frame's points, and the swaps of `tile`, the launch of the tiles, to `seq`, which
 * ends with that launch. */
static void frame_launches(Framed *x, HostSeq *seq, const Launch *tile) {
  int first = seq->nops;
  x->seq = seq;
  for (int t = 0; t < seq->steps; t++)
    for (int i = 0; i < x->step.nops; i++) {
      HostOp op = x->step.ops[i];
      op.after = op.kind == HOST_LAUNCH ? t : 0;
      ARENA_PUSH(x->lo->out->arena, seq->ops, seq->nops, op);
    }
  host_launch(x->lo, seq, x->end);
  turn_back(x, first);
  host_swaps(x->lo, seq, tile);
}

/* ---- the module */

/* Sets `tiles` to the launches of tiles of frame `f` under schedule `s`: of T steps, and of remaining steps, if these
 * have a kernel of their own. Returns their number. */
static int frame_tiles(const TargetInfo *t, const Frame *f, const Schedule *s, Launch *tiles[MOST_TILES]) {
  int steps[MOST_TILES], n = remainder_tiles(t, s, s->T, steps) - 1;
  tiles[0] = frame_tile(f);
  for (int i = 1; i < n; i++)
    tiles[i] = frame_tile_of(f, steps[i]);
  return n;
}

/* Makes the kernels of the `n` launches of tiles at `tiles` by `fn`, and a sequence for each. Returns false after an
 * error. */
static bool framed_seqs(Framed *x, int n, Launch *const *tiles, const Schedule *s, TileFn fn) {
  for (int i = 0; i < n; i++) {
    int steps = tiles[i]->n ? tiles[i]->steps : s->T;
    HostSeq *seq = host_seq(x->lo, steps);
    Schedule own = long_schedule(x->lo, tiles[i], s, i);
    if (!fn(x->lo, seq, tiles[i], &own, group_name(x->lo, tiles[i], family_name(s->family), false), steps))
      return false;
    if (i == 0)
      make_step(x, tiles[0], s);
    frame_launches(x, seq, tiles[i]);
  }
  return true;
}

Module *lower_framed(PassContext *c, const Module *m, const Schedule *s, TileFn fn) {
  const char *why;
  const Frame *f = frame_new(m, s->T, &why);
  if (!f) {
    diag_error(c->diags, no_loc(), "-edges=steps: %s; use -edges=apart", why);
    return NULL;
  }
  int count;
  Launch *tiles[MOST_TILES], **steps = naive_launches(f->whole, f->whole->nstencils, f->whole->stencils, &count);
  int n = frame_tiles(c->target, f, s, tiles);
  Lowering *lo = lowering_new(c, f->whole, count, steps, n, tiles);
  const int32_t *block = s->rest ? s->rest->block : s->block;
  lower_inits(lo, block);
  Framed x = {.lo = lo, .f = f};
  if (!framed_seqs(&x, n, tiles, s, fn))
    return NULL;
  naive_seq(lo, count, steps, block);
  return lowering_finish(lo, s);
}
