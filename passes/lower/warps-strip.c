/* warps-strip.c: how the field is cut into strips and segments. All strips' rows, each strip with as many more as a
 * segment costs at its ends, make one list, which is shared out evenly among the blocks: so all take as long, wherever
 * the cuts are, and one wave of blocks has it all. */
#include "passes/lower/warps.h"

static Value *number(WarpKernel *k, int64_t x) { return build_int(&k->b, TY_I64, x); }

Value *warps_add(WarpKernel *k, Value *x, int64_t y) {
  return y ? build2(&k->b, OP_ADD, x, build_int(&k->b, x->type, y)) : x;
}

Value *warps_mul(WarpKernel *k, Value *x, int64_t y) { return build2(&k->b, OP_MUL, x, build_int(&k->b, x->type, y)); }

Value *warps_grid(WarpKernel *k, Value *x, int d) {
  Value *lo = build_affine(&k->b, k->e->m, k->e->m->fields[k->e->field].box.lo[d]);
  return build2(&k->b, OP_ADD, build_convert(&k->b, TY_I64, x), lo);
}

/* x / y of numbers that are the same for the block, which targets do not see where a division is a call. */
static Value *divide(WarpKernel *k, Value *x, Value *y) {
  Value *q = build2(&k->b, OP_DIV, x, y);
  return y->def->code == OP_CONST ? q : build1(&k->b, OP_UNIFORM, q);
}

/* The same rounded up, of numbers that are not negative. */
static Value *divide_up(WarpKernel *k, Value *x, Value *y) {
  return divide(k, build2(&k->b, OP_ADD, x, warps_add(k, y, -1)), y);
}

/* Columns of a strip; from where one begins to where the next does. */
static int64_t strip_columns(const WarpKernel *k) { return (int64_t)WARP_LANES * k->w.X; }
static int64_t strip_distance(const WarpKernel *k) { return strip_columns(k) - 2 * k->w.halo; }

void warps_measure(WarpKernel *k) {
  const Module *m = k->e->m;
  const Box *box = &m->fields[k->e->field].box;
  k->rows = build_affine(&k->b, m, box_extent(k->b.arena, box, 0));
  k->columns = build_affine(&k->b, m, box_extent(k->b.arena, box, 1));
  Value *inner = warps_add(k, k->columns, -2 * (int64_t)k->w.halo), *one = number(k, 1);
  Value *strips = divide_up(k, build2(&k->b, OP_MAX, inner, one), number(k, strip_distance(k)));
  Value *any = build2(&k->b, OP_MIN, build2(&k->b, OP_MIN, k->rows, k->columns), one);
  k->strips = build2(&k->b, OP_MUL, strips, build2(&k->b, OP_MAX, any, number(k, 0)));
  k->length = warps_add(k, k->rows, k->w.ends);
}

/* The block's part of the list: from *from to before *to. No part is so short that it costs more than twice what it
 * gives. */
static void share_of(WarpKernel *k, Value **from, Value **to) {
  Value *all = build2(&k->b, OP_MUL, k->strips, k->length);
  Value *share = build2(&k->b, OP_MAX, divide_up(k, all, number(k, k->blocks)), number(k, 2 * (int64_t)k->w.ends));
  *from = build2(&k->b, OP_MUL, build_dim(&k->b, OP_BLOCK, 1), share);
  *to = build2(&k->b, OP_MIN, build2(&k->b, OP_ADD, *from, share), all);
}

void warps_share(WarpKernel *k, Value **from, Value **to) {
  Value *first, *end;
  share_of(k, &first, &end);
  Value *length = build2(&k->b, OP_MAX, k->length, number(k, 1));
  Value *strip = divide(k, first, length);
  Value *row = build2(&k->b, OP_SUB, first, build2(&k->b, OP_MUL, strip, k->length));
  Value *past = build_convert(&k->b, TY_I64, build2(&k->b, OP_GE, row, k->rows));
  *from = build_convert(&k->b, TY_I32, build2(&k->b, OP_ADD, strip, past));
  *to = build_convert(&k->b, TY_I32, divide_up(k, end, length));
}

/* `x`, an i64 that is known to be small, as an i32 that targets see to be the same for all threads. */
static Value *narrow(WarpKernel *k, Value *x) { return build_convert(&k->b, TY_I32, x); }

WarpSegment warps_segment(WarpKernel *k, Value *strip) {
  Builder *b = &k->b;
  Value *first, *end, *zero = number(k, 0), *s = build_convert(b, TY_I64, strip);
  share_of(k, &first, &end);
  Value *before = build2(b, OP_MUL, s, k->length);
  Value *from = build2(b, OP_MAX, build2(b, OP_SUB, first, before), zero);
  Value *to = build2(b, OP_MIN, build2(b, OP_SUB, end, before), k->rows);
  Value *begin = warps_mul(k, s, strip_distance(k)), *most = warps_add(k, k->columns, -strip_columns(k));
  Value *x = build2(b, OP_MAX, build2(b, OP_MIN, begin, most), zero);
  Value *own = build2(b, OP_SUB, warps_add(k, begin, k->w.halo), x), *rest = build2(b, OP_SUB, k->columns, x);
  Value *is_last = build2(b, OP_EQ, warps_add(k, s, 1), k->strips);
  Value *groups =
      build2(b, OP_DIV, warps_add(k, build2(b, OP_SUB, to, from), k->w.ends + k->w.U - 1), number(k, k->w.U));
  WarpSegment g = {.first = narrow(k, from), .end = narrow(k, to), .x = narrow(k, x), .groups = narrow(k, groups)};
  g.from = narrow(k, build3(b, OP_SELECT, build2(b, OP_EQ, s, zero), zero, own));
  g.to = narrow(k, build3(b, OP_SELECT, is_last, rest, warps_add(k, own, strip_distance(k))));
  g.columns = narrow(k, build2(b, OP_MIN, rest, number(k, strip_columns(k))));
  g.y = warps_add(k, g.first, -(int64_t)k->e->below * k->w.C * k->w.W);
  return g;
}
