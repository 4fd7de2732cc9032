/* lower-frame.c: the grid's edges step by step, beside the launch of tiles of several steps inside (tile/frame.h):
 *
 *   launch @heat_warps_t8                          all of the grid, wrong in the frame
 *   launch @heat_frame_begin ..                    the frame's points and some beside, to copies of the fields
 *   launch @heat_frame_psi ..  launch @heat_frame_wave ..  swap ..          a step on the copies, T times
 *   swap ..                                        the tiles' own
 *   launch @heat_frame_end ..                      the frame's points, back from the copies
 *
 * All T steps launch the same kernels: the copies take turns as the fields do. */
#include "passes/tile/emit/lower-frame.h"
#include "passes/tile/frame.h"
#include "passes/base/tuning.h"

/* The lowering at work: `own` is like `lo`, with the copies for the buffers of fields that are copied. */
typedef struct Framed {
  Lowering *lo, own;
  HostSeq *seq;
  const Frame *f;
  int32_t block[MAX_RANK];
  Together group;
} Framed;

/* ---- buffers */

/* Adds a buffer like those of field `f`, the next copy of it that there is none of. */
static int32_t add_copy(Lowering *lo, int f) {
  Module *out = lo->out;
  int copy = 2;
  while (module_field_buffer(out, f, copy) >= 0)
    copy++;
  Buffer b = {.name = arena_printf(out->arena, "%s.frame%d", out->fields[f].name, copy - 1), .field = f, .copy = copy};
  ARENA_PUSH(out->arena, out->buffers, out->nbuffers, b);
  return out->nbuffers - 1;
}

/* Does a launch of the frame's steps touch the first buffer of field `f`, or the second? */
static bool touches(const Frame *fr, int f, int copy) {
  bool any = false;
  for (int i = 0; i < fr->n; i++) {
    const FieldUse *u = &fr->launches[i].l->use[f];
    any = any || (copy ? u->paired && u->into < 0 : u->loaded || u->stored || u->from >= 0);
  }
  return any;
}

/* Gives the frame's steps their buffers. */
static void make_buffers(Framed *x) {
  const Module *m = x->f->whole;
  x->own = *x->lo;
  for (int copy = 0; copy < 2; copy++) {
    x->own.copy[copy] = ARENA_ARRAY(x->lo->out->arena, int32_t, m->nfields + 1);
    for (int f = 0; f < m->nfields; f++) {
      bool kept = x->f->kept[f] && !m->fields[f].series;
      bool needs = touches(x->f, f, copy) || (kept && !copy && !m->fields[f].temp);
      x->own.copy[copy][f] = kept ? -1 : x->lo->copy[copy][f];
      if (needs && (kept || x->lo->copy[copy][f] < 0))
        x->own.copy[copy][f] = add_copy(x->lo, f);
    }
  }
}

/* ---- the copies */

/* Is field `f` copied from the fields to the frame, and back? */
static bool is_copied(const Frame *fr, int f) {
  return fr->kept[f] && !fr->whole->fields[f].temp && !fr->whole->fields[f].series;
}

/* Stores `v`, which field `f` has at the point `g`, to the frame: to its own buffer, and to those that take turns with
 * it, so that what is read there and never used has been written. */
static void store_copies(Framed *x, Builder *b, int f, Value *v, Value *const *g) {
  const Module *m = x->f->whole;
  for (int other = 0; other < m->nfields; other++) {
    bool turn = m->fields[other].temp && m->fields[other].past > 0 && m->fields[other].present == f;
    for (int copy = 0; copy < 2; copy++)
      if ((other == f || turn) && x->own.copy[copy][other] >= 0)
        build_store(b, x->own.copy[copy][other], v, m->grid.rank, g, NULL);
  }
}

/* What is done at the point `g` if the grid has it: where it is small the boxes of a frame go beyond it. */
static Builder in_grid(Builder *b, const Module *m, Value *const *g) {
  Builder in = builder_at_end(b->arena, build_if(b, build_inside(b, m->grid.rank, g, &m->grid), 0, NULL)->blocks[0]);
  in.loc = b->loc;
  return in;
}

/* Adds the kernel that copies all fields at the points of `zone` less `without`, from the fields if `begin`, else back.
 */
static void copy_kernel(Framed *x, const Box *zone, const Box *without, bool begin) {
  Lowering *lo = x->lo;
  const Module *m = x->f->whole;
  const char *name = arena_printf(lo->out->arena, "%s_frame_%s", m->name, begin ? "begin" : "end");
  int index = lowering_kernel(lo, name, 0, no_loc());
  Value *g[MAX_RANK];
  Builder zoned = zone_begin(lo, index, x->block, zone, without, g), in = in_grid(&zoned, m, g);
  static const int64_t here[MAX_RANK];
  for (int f = 0; f < m->nfields; f++) {
    if (!is_copied(x->f, f))
      continue;
    int field = lo->copy[0][f], copy = x->own.copy[0][f];
    Value *v = build_load(&in, m->fields[f].type, begin ? field : copy, m->grid.rank, g, here);
    if (begin)
      store_copies(x, &in, f, v, g);
    else
      build_store(&in, field, v, m->grid.rank, g, NULL);
  }
  host_launch(lo, x->seq, index);
}

/* Copies the points of the frame `depth` deep, by a launch for each of its boxes, beside each other. */
static void copy_launches(Framed *x, const Extent *depth, bool begin) {
  Box boxes[2 * MAX_RANK];
  int without[2 * MAX_RANK], n = frame_boxes(x->f, depth, boxes, without);
  for (int i = 0; i < n; i++) {
    copy_kernel(x, &boxes[i], without[i] >= 0 ? &boxes[without[i]] : NULL, begin);
    x->seq->ops[x->seq->nops - 1].beside = i > 0;
  }
}

/* ---- the steps */

/* Adds the kernels of a launch of a step, and their launches. */
static void step_launch(Framed *x, int i) {
  const FrameLaunch *fl = &x->f->launches[i];
  Arena *a = x->lo->out->arena;
  const char *name = arena_printf(a, "%s_frame_%s", x->f->whole->name, fl->l->st->name);
  Box boxes[2 * MAX_RANK];
  int without[2 * MAX_RANK], first = x->seq->nops;
  if (fl->role == FRAME_EDGE) {
    naive_parts(&x->own, x->seq, fl->l, default_scalars(x->f->whole), name, x->block, 0, &x->group);
    return;
  }
  int n = fl->role == FRAME_POINT ? 1 : frame_boxes(x->f, &fl->depth, boxes, without);
  for (int k = 0; k < n; k++) {
    Box core = frame_core(x->f, &fl->depth);
    const Box *zone = fl->role == FRAME_POINT ? &fl->l->st->pieces[0].box : &boxes[k];
    const Box *less = fl->role == FRAME_POINT ? &core : without[k] >= 0 ? &boxes[without[k]] : NULL;
    naive_zone(&x->own, x->seq, fl->l, name, x->block, zone, less);
    x->seq->ops[x->seq->nops - 1].beside = x->group.first < x->group.last || x->seq->nops - 1 > first;
  }
}

/* Adds the launches of the first step. */
static void first_step(Framed *x) {
  int n = x->f->n;
  Launch **l = ARENA_ARRAY(x->lo->out->arena, Launch *, n + 1);
  for (int i = 0; i < n; i++)
    l[i] = x->f->launches[i].l;
  x->group = (Together){0, 0, x->seq->nops};
  for (int i = 0; i < n; i++) {
    together_add(&x->group, x->seq, l, i);
    step_launch(x, i);
    x->group.ops = x->seq->nops;
    host_swaps(&x->own, x->seq, l[i]);
  }
}

/* Has the copies take their first turns again, which the ops from number `first` on have moved: so that sequences
 * repeat themselves as soon as the fields do. */
static void turn_back(Framed *x, int first) {
  const Module *out = x->lo->out;
  int32_t *at = ARENA_ARRAY(out->arena, int32_t, out->nbuffers + 1);
  for (int b = 0; b < out->nbuffers; b++)
    at[b] = b;
  for (int i = first; i < x->seq->nops; i++) {
    HostOp op = x->seq->ops[i];
    if (op.kind != HOST_SWAP || out->buffers[op.a].copy < 2)
      continue;
    int32_t was = at[op.a];
    at[op.a] = at[op.b];
    at[op.b] = was;
  }
  for (int b = 0; b < out->nbuffers; b++)
    while (at[b] != b) {
      int32_t other = at[b];
      ARENA_PUSH(out->arena, x->seq->ops, x->seq->nops, ((HostOp){.kind = HOST_SWAP, .a = b, .b = other}));
      at[b] = at[other];
      at[other] = other;
    }
}

/* Adds to `seq`, which has the launch of the tiles of frame `f` and nothing behind it, what makes the frame's points
 * right, and the swaps of that launch, `tile`. */
static void frame_launches(Lowering *lo, HostSeq *seq, const Frame *f, const Launch *tile) {
  Framed x = {.lo = lo, .seq = seq, .f = f};
  Extent begin = frame_begin(f);
  int rank = f->whole->grid.rank;
  for (int d = 0; d < rank; d++)
    x.block[d] = (int32_t)tuning.tile_block[rank - 1][d];
  make_buffers(&x);
  copy_launches(&x, &begin, true);
  int first = seq->nops;
  first_step(&x);
  int n = seq->nops - first;
  for (int t = 1; t < seq->steps; t++)
    for (int i = 0; i < n; i++) {
      HostOp op = seq->ops[first + i];
      op.after = op.kind == HOST_LAUNCH ? t : 0;
      ARENA_PUSH(lo->out->arena, seq->ops, seq->nops, op);
    }
  host_swaps(lo, seq, tile);
  copy_launches(&x, &f->halo, false);
  turn_back(&x, first);
}

/* ---- the module */

Module *lower_framed(PassContext *c, const Module *m, const Schedule *s, TileFn fn) {
  const char *why;
  const Frame *f = frame_new(m, s->T, &why);
  if (!f) {
    diag_error(c->diags, no_loc(), "-edges=steps: %s; use -edges=apart", why);
    return NULL;
  }
  int count;
  Launch *tile = frame_tile(f), **steps = naive_launches(f->whole, f->whole->nstencils, f->whole->stencils, &count);
  Lowering *lo = lowering_new(c, f->whole, count, steps, 1, &tile);
  const int32_t *block = s->rest ? s->rest->block : s->block;
  lower_inits(lo, block);
  HostSeq *seq = host_seq(lo, s->T);
  int kernel = fn(lo, tile, s);
  if (kernel < 0)
    return NULL;
  host_launch(lo, seq, kernel);
  frame_launches(lo, seq, f, tile);
  naive_seq(lo, count, steps, block);
  return lowering_finish(lo);
}
