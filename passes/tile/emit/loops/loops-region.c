/* loops-region.c: the points of a tile that an instance computes, and the fast box: those among them that need no
 * test. */
#include "passes/tile/emit/loops/loops.h"

#include <string.h>

static Value *i64(Builder *b, int64_t x) { return build_int(b, TY_I64, x); }

Value *plus_i64(Builder *b, Value *x, int64_t c) { return c ? build2(b, OP_ADD, x, i64(b, c)) : x; }

/* Coordinate `last` of the tile in dimension `d`, with the rows that it stores beyond its width added, and the points
 * within its width that it does not store left out. */
static Value *tile_last(const LoopTile *t, Builder *b, int d, Value *last) {
  if (d == 0 && t->more)
    return build2(b, OP_ADD, last, t->more);
  return d == t->rank - 1 && t->fewer ? build2(b, OP_SUB, last, t->fewer) : last;
}

/* `n` rounded up to whole vectors. */
static int64_t whole_vectors(int64_t n) { return round_up(n, ROW_CELLS); }

Extent tile_extent(const LoopTile *t, int i) {
  Extent e = t->l->st[i].extent;
  int x = t->rank - 1;
  bool all = t->streamed != NULL;
  for (int k = 0; k < t->l->st[i].ntargets; k++)
    all = all && !stores_directly(t, t->l->st[i].targets[k], i);
  if (!all)
    return e;
  e.lo[x] = whole_vectors(e.lo[x]);
  if (!t->fewer)
    e.hi[x] = whole_vectors(t->width[x] + e.hi[x]) - t->width[x];
  return e;
}

void region_rows(const LoopTile *t, Builder *b, int lag, Region *r) {
  if (!t->streamed)
    return;
  Value *first = plus_i64(b, t->streamed->row, -lag);
  r->lo[0] = build2(b, OP_MAX, r->lo[0], first);
  r->hi[0] = build2(b, OP_MIN, r->hi[0], plus_i64(b, first, t->streamed->rows - 1));
}

/* `last`, in dimension `d`, limited to `more` points beyond those that tiles store. */
static Value *within_tiles(const LoopTile *t, Builder *b, int d, Value *last, int64_t more) {
  if (affine_equal(t->tiles.hi[d], t->covers.hi[d]))
    return last;
  return build2(b, OP_MIN, last, plus_i64(b, build_affine(b, t->l->m, t->tiles.hi[d]), more));
}

Region instance_region(const LoopTile *t, Builder *b, int i) {
  const Module *m = t->l->m;
  Extent e = tile_extent(t, i);
  Region r = {0};
  for (int d = 0; d < t->rank; d++) {
    bool wraps = t->l->wraps[d];
    Value *lo = plus_i64(b, t->base[d], t->lead[d] - e.lo[d]);
    Value *hi = tile_last(t, b, d, plus_i64(b, t->base[d], t->lead[d] + t->width[d] - 1 + e.hi[d]));
    r.lo[d] = wraps ? lo : build2(b, OP_MAX, lo, build_affine(b, m, t->covers.lo[d]));
    r.hi[d] =
        build2(b, OP_MIN, hi, plus_i64(b, build_affine(b, m, t->covers.hi[d]), wraps ? t->l->st[i].extent.hi[d] : 0));
    r.hi[d] = within_tiles(t, b, d, r.hi[d], e.hi[d]);
  }
  if (t->streamed)
    region_rows(t, b, t->streamed->lag[i], &r);
  return r;
}

Region tile_region(const LoopTile *t, Builder *b) {
  Region r = {0};
  for (int d = 0; d < t->rank; d++) {
    r.lo[d] = plus_i64(b, t->base[d], t->lead[d]);
    r.hi[d] = within_tiles(t, b, d, tile_last(t, b, d, plus_i64(b, r.lo[d], t->width[d] - 1)), 0);
  }
  return r;
}

Region region_clip(const LoopTile *t, Builder *b, const Region *in, const Region *box) {
  Region r = {0};
  for (int d = 0; d < t->rank; d++) {
    Value *lo = build2(b, OP_MAX, in->lo[d], box->lo[d]);
    r.lo[d] = build2(b, OP_MIN, lo, plus_i64(b, in->hi[d], 1));
    r.hi[d] = build2(b, OP_MAX, build2(b, OP_MIN, in->hi[d], box->hi[d]), plus_i64(b, r.lo[d], -1));
  }
  return r;
}

Region region_of_box(const LoopTile *t, Builder *b, const Box *box) {
  Region r = {0};
  for (int d = 0; d < t->rank; d++) {
    r.lo[d] = build_affine(b, t->l->m, box->lo[d]);
    r.hi[d] = build_affine(b, t->l->m, box->hi[d]);
  }
  return r;
}

bool has_constant_cells(const LoopTile *t, int field, int v, int d) {
  const Field *f = &t->l->m->fields[field];
  return t->streamed && v > 0 && t->array[field][v] >= 0 && f->outside[d] == OUTSIDE_CONST &&
         affine_equal(f->box.lo[d], t->covers.lo[d]) && affine_equal(f->box.hi[d], t->covers.hi[d]) && !t->l->wraps[d];
}

/* The rules that an access of instance `i` at `off` to `field`, from `piece`, has to apply. Constants that are in the
 * array that it reads are left out. */
static Rules rules_left(const LoopTile *t, int i, const Piece *piece, int field, const int64_t *off) {
  const Module *m = t->l->m;
  Rules rules = access_rules(m, &piece->box, field, off);
  Version v = launch_reads(t->l, field, i);
  bool alike = memcmp(&m->fields[field].outside_value, &m->fields[v.field].outside_value, sizeof(Const)) == 0;
  for (int d = 0; d < t->rank; d++)
    if (rules.dim[d] == OUTSIDE_CONST && alike && has_constant_cells(t, v.field, v.version, d))
      rules.dim[d] = OUTSIDE_NONE;
  return rules;
}

/* A fast box that is being found, of `piece` in instance i. images[d]: in dimension d the box may go on beyond the
 * edge. */
typedef struct SafeBox {
  const LoopTile *t;
  Builder *b;
  const Piece *piece;
  int i;
  bool images[MAX_RANK];
  Region r;
} SafeBox;

/* AccessFn: shrinks the box so that this access, if it belongs to the piece and has to apply an outside rule, stays
 * inside its field. */
static void shrink_for_access(void *user, const Piece *piece, int field, const int64_t *off) {
  SafeBox *s = user;
  const Module *m = s->t->l->m;
  if (piece != s->piece)
    return;
  Rules rules = rules_left(s->t, s->i, piece, field, off);
  for (int d = 0; d < s->t->rank; d++) {
    if (rules.dim[d] == OUTSIDE_NONE || s->images[d])
      continue;
    Value *lo = plus_i64(s->b, build_affine(s->b, m, m->fields[field].box.lo[d]), -off[d]);
    Value *hi = plus_i64(s->b, build_affine(s->b, m, m->fields[field].box.hi[d]), -off[d]);
    s->r.lo[d] = build2(s->b, OP_MAX, s->r.lo[d], lo);
    s->r.hi[d] = build2(s->b, OP_MIN, s->r.hi[d], hi);
  }
}

/* AccessFn: forbids images in dimensions in which they cannot be computed like other points. They can if they read
 * arrays only, whose cells beyond the edge are images too, and if no rule but periodic applies. */
static void forbid_images(void *user, const Piece *piece, int field, const int64_t *off) {
  SafeBox *s = user;
  if (piece != s->piece)
    return;
  Rules rules = access_rules(s->t->l->m, &piece->box, field, off);
  bool from_memory = launch_reads(s->t->l, field, s->i).version == 0;
  for (int d = 0; d < s->t->rank; d++)
    if (from_memory || (rules.dim[d] != OUTSIDE_NONE && rules.dim[d] != OUTSIDE_PERIODIC))
      s->images[d] = false;
}

/* Finds out about the accesses of one piece of instance i. found: one needs an outside rule; constant: one is a
 * constant beyond the row's ends; led: a rule leads one along the row to another cell. */
typedef struct RuleUse {
  const LoopTile *t;
  int i;
  const Piece *piece;
  bool found, constant, led;
} RuleUse;

/* AccessFn: notes in the RuleUse `user` whether this access needs a rule. */
static void note_rule(void *user, const Piece *piece, int field, const int64_t *off) {
  RuleUse *r = user;
  if (piece != r->piece)
    return;
  Rules rules = rules_left(r->t, r->i, piece, field, off);
  int along = rules.dim[r->t->rank - 1];
  r->found |= !rules_none(&rules);
  r->constant |= along == OUTSIDE_CONST;
  r->led |= along != OUTSIDE_NONE && along != OUTSIDE_CONST;
}

bool piece_has_rules(const LoopTile *t, int i, const Piece *piece) {
  RuleUse r = {.t = t, .i = i, .piece = piece};
  stencil_accesses(&t->l->st[i], note_rule, &r);
  return r.found;
}

/* Notes in the bool `user` whether `op` is a call of a library. */
static void note_call(void *user, Op *op) {
  if (op_info[op->code].flags & OPF_INEXACT)
    *(bool *)user = true;
}

bool piece_pays_masked(const LoopTile *t, int i, const Piece *piece) {
  RuleUse r = {.t = t, .i = i, .piece = piece};
  bool calls = false;
  stencil_accesses(&t->l->st[i], note_rule, &r);
  block_walk(piece->body, note_call, &calls);
  return r.constant && !r.led && !calls;
}

/* Does the body use the coordinate in dimension d? */
static bool uses_index(const Block *b, int d) {
  for (const Op *op = b->first; op; op = op->next)
    if (op->code == OP_INDEX && op->sym == d)
      return true;
  return false;
}

/* Finds the dimensions in which the fast box may go on into images. There piece and grid both end where the field
 * wraps, so an image lies in the piece exactly if its point does, and nothing in the body tells the two apart. */
static void allow_images(SafeBox *s) {
  const Launch *l = s->t->l;
  const Box *grid = &l->m->grid, *box = &s->piece->box;
  for (int d = 0; d < s->t->rank; d++) {
    bool ends = l->wraps[d] && affine_equal(box->lo[d], l->wrap_lo[d]) && affine_equal(box->hi[d], l->wrap_hi[d]);
    s->images[d] = ends && affine_equal(grid->lo[d], box->lo[d]) && affine_equal(grid->hi[d], box->hi[d]) &&
                   !uses_index(s->piece->body, d);
  }
  const Stencil *st = &l->st[s->i];
  stencil_accesses(st, forbid_images, s);
  for (int k = 0; k < st->ntargets; k++)
    if (piece_target(s->piece, st->targets[k]) < 0)
      s->images[0] = s->images[1] = s->images[2] = false;
}

Region fast_region(const LoopTile *t, Builder *b, int i, const Piece *piece, const Region *region) {
  SafeBox s = {.t = t, .b = b, .piece = piece, .i = i, .r = region_of_box(t, b, &piece->box)};
  allow_images(&s);
  for (int d = 0; d < t->rank; d++)
    if (s.images[d])
      s.r.lo[d] = region->lo[d], s.r.hi[d] = region->hi[d];
  stencil_accesses(&t->l->st[i], shrink_for_access, &s);
  return region_clip(t, b, region, &s.r);
}

Value *cell_of(const LoopTile *t, Builder *b, Value *x, int d) {
  return build_convert(b, TY_I32, build2(b, OP_SUB, x, t->base[d]));
}

Value *coordinate_of(const LoopTile *t, Builder *b, Value *cell, int d) {
  return build2(b, OP_ADD, t->base[d], build_convert(b, TY_I64, cell));
}
