/* warps-strip.c: cuts the field into strips of columns, and shares the rows of all strips among the blocks.
 *
 *   rows of all strips, in units of cost:   ends | strip 0 | ends | strip 1 | ends | strip 2 | ends
 *   shares of equal cost:                   |---- block 0 ----|---- block 1 ----|---- block 2 ----|
 *
 * A *segment* is the run of rows of one strip that a block computes. There are as many blocks as the device holds at
 * once. Each block takes an equal share of the list of all rows, wherever that share begins, so all blocks take equally
 * long and one wave of blocks computes the whole field.
 *
 * *Strips*. Neighbouring strips overlap on each side by T times the reach, rounded up to 16 bytes. The first strip
 * begins at the field's first column, the last one ends at its last column. In a periodic dimension all strips have a
 * halo on both sides, and rows that cross the edge are loaded by one more copy each time they wrap around. Groups all
 * of whose rows and columns lie in the field, which are nearly all, skip the test for this.
 *
 * *Cost*. Each strip has as many additional rows in the list as the ends of a segment cost.
 * - A row of a strip at the left or right edge counts 1.15 rows, because its cells are tested, or come in two copies.
 *   It counts 1.5 for sums most of whose cells are tested, for roots in f32, and for images that are copied cell by
 *   cell.
 * - The ends at the upper and lower edge count three times, because all cells are tested there, unless rows beyond the
 *   edge are images. A third of that cost lies before a strip's first row, the rest after its last row.
 *
 * A block that would get less than twice the cost of a segment's ends, on small fields, gets no work. */
#include "passes/tile/emit/lower-warps.h"

static Value *number(WarpKernel *k, int64_t x) { return build_int(&k->b, TY_I64, x); }

Value *warps_add(WarpKernel *k, Value *x, int64_t y) {
  return y ? build2(&k->b, OP_ADD, x, build_int(&k->b, x->type, y)) : x;
}

Value *warps_mul(WarpKernel *k, Value *x, int64_t y) { return build2(&k->b, OP_MUL, x, build_int(&k->b, x->type, y)); }

Value *warps_grid(WarpKernel *k, Value *x, int d, bool legal) {
  const Box *box = warps_region(k->e);
  Value *at = build2(&k->b, OP_ADD, build_convert(&k->b, TY_I64, x), build_affine(&k->b, k->e->m, box->lo[d]));
  return legal ? build_map(&k->b, k->e->wraps[d] ? OP_WRAP : OP_GUARD, at, 0, box->lo[d], box->hi[d]) : at;
}

/* x / y of numbers that are the same for the whole block. Targets do not see that where a division is a call. */
static Value *divide(WarpKernel *k, Value *x, Value *y) {
  Value *q = build2(&k->b, OP_DIV, x, y);
  return y->def->code == OP_CONST ? q : build1(&k->b, OP_UNIFORM, q);
}

/* x / y rounded up, of numbers that are not negative. */
static Value *divide_up(WarpKernel *k, Value *x, Value *y) {
  return divide(k, build2(&k->b, OP_ADD, x, warps_add(k, y, -1)), y);
}

/* The columns of a strip; the columns from the begin of one strip to the begin of the next. */
static int64_t strip_columns(const WarpKernel *k) { return (int64_t)WARP_LANES * k->w.X; }
static int64_t strip_distance(const WarpKernel *k) { return strip_columns(k) - 2 * k->w.halo; }

/* By what factor rows before and after a strip cost more than others: all their cells are tested, unless these rows are
 * images. */
static int64_t end_cost(const WarpKernel *k) { return k->e->wraps[0] || !warps_any_boundary(k) ? 1 : k->w.end_rows; }

void warps_measure(WarpKernel *k) {
  const Module *m = k->e->m;
  const Box *box = warps_region(k->e);
  k->rows = build_affine(&k->b, m, box_extent(k->b.arena, box, 0));
  k->columns = build_affine(&k->b, m, box_extent(k->b.arena, box, 1));
  k->copied = k->most_behind ? warps_add(k, k->columns, k->most_behind) : k->columns;
  if (k->least_behind < k->most_behind)
    k->copied = warps_mul(k, build2(&k->b, OP_DIV, k->copied, number(k, k->w.vector)), k->w.vector);
  Value *inner = warps_add(k, k->copied, k->e->wraps[1] ? 0 : -2 * (int64_t)k->w.halo), *one = number(k, 1);
  Value *strips = divide_up(k, build2(&k->b, OP_MAX, inner, one), number(k, strip_distance(k)));
  Value *any = build2(&k->b, OP_MIN, build2(&k->b, OP_MIN, k->rows, k->columns), one);
  k->strips = build2(&k->b, OP_MUL, strips, build2(&k->b, OP_MAX, any, number(k, 0)));
  k->length = warps_add(k, k->rows, (int64_t)k->w.ends * end_cost(k));
}

/* The cost of a row of a strip at the left or right edge. */
static int boundary_cost(const WarpKernel *k) {
  bool by_cells = k->most_behind && k->e->wraps[1];
  return by_cells && k->w.ragged > k->w.boundary ? k->w.ragged : k->w.boundary;
}

/* Is strip `s` the first or the last? */
static Value *is_boundary(WarpKernel *k, Value *s) {
  Value *first = build2(&k->b, OP_EQ, s, number(k, 0)), *last = build2(&k->b, OP_EQ, warps_add(k, s, 1), k->strips);
  return build2(&k->b, OP_OR, first, last);
}

/* The position in the list, in units of cost, at which strip `s` begins. */
static Value *start_of(WarpKernel *k, Value *s) {
  Value *behind = build2(&k->b, OP_MIN, s, number(k, 1));
  Value *cost = build2(&k->b, OP_ADD, warps_mul(k, s, STRIP_ROW), warps_mul(k, behind, boundary_cost(k) - STRIP_ROW));
  return build2(&k->b, OP_MUL, cost, k->length);
}

/* The strip at position `at` of the list; the last strip if `at` lies after all of them. */
static Value *strip_at(WarpKernel *k, Value *at) {
  Value *length = build2(&k->b, OP_MAX, k->length, number(k, 1));
  Value *inner = build2(&k->b, OP_SUB, at, warps_mul(k, length, boundary_cost(k) - STRIP_ROW));
  Value *s = divide(k, inner, warps_mul(k, length, STRIP_ROW));
  return build2(&k->b, OP_MAX, build2(&k->b, OP_MIN, s, warps_add(k, k->strips, -1)), number(k, 0));
}

/* The ends at the upper and lower edge stand in the list as rows. This is how many of these rows lie before a strip's
 * first row, the others lie after its last: half of the rows that are beyond the cost of ordinary ends. */
static int64_t rows_before(const WarpKernel *k) { return k->w.ends * (end_cost(k) - 1) / 2; }

/* The row of strip `s` at position `at` of the list. The row is before the first or after the last where the position
 * stands for the cost of an end. Each of the two quotients is made uniform by itself: of a choice between the two
 * quotients LLVM makes one division by a number that it does not know, which is a call. */
static Value *row_at(WarpKernel *k, Value *s, Value *at) {
  Value *cost = build2(&k->b, OP_SUB, at, start_of(k, s));
  Value *boundary = build1(&k->b, OP_UNIFORM, build2(&k->b, OP_DIV, cost, number(k, boundary_cost(k))));
  Value *inner = build1(&k->b, OP_UNIFORM, build2(&k->b, OP_DIV, cost, number(k, STRIP_ROW)));
  return warps_add(k, build3(&k->b, OP_SELECT, is_boundary(k, s), boundary, inner), -rows_before(k));
}

/* The block's share of the list: from *from to before *to. No share is so short that it costs more than twice as much
 * as the rows it stores. */
static void share_of(WarpKernel *k, Value **from, Value **to) {
  Value *last = warps_add(k, k->strips, -1), *zero = number(k, 0);
  Value *all = build2(&k->b, OP_ADD, start_of(k, last), warps_mul(k, k->length, boundary_cost(k)));
  all = build3(&k->b, OP_SELECT, build2(&k->b, OP_GT, k->strips, zero), all, zero);
  Value *least = number(k, 2 * (int64_t)k->w.ends * STRIP_ROW);
  Value *share = build2(&k->b, OP_MAX, divide_up(k, all, number(k, k->blocks)), least);
  *from = build2(&k->b, OP_MUL, build_dim(&k->b, OP_BLOCK, 1), share);
  *to = build2(&k->b, OP_MIN, build2(&k->b, OP_ADD, *from, share), all);
}

void warps_share(WarpKernel *k, Value **from, Value **to) {
  Value *first, *end, *one = number(k, 1);
  share_of(k, &first, &end);
  Value *begin = strip_at(k, first), *last = strip_at(k, warps_add(k, end, -1));
  Value *past = build_convert(&k->b, TY_I64, build2(&k->b, OP_GE, row_at(k, begin, first), k->rows));
  Value *any = build_convert(&k->b, TY_I64, build2(&k->b, OP_GE, row_at(k, last, end), one));
  *from = build1(&k->b, OP_UNIFORM, build_convert(&k->b, TY_I32, build2(&k->b, OP_ADD, begin, past)));
  *to = build1(&k->b, OP_UNIFORM, build_convert(&k->b, TY_I32, build2(&k->b, OP_ADD, last, any)));
}

/* ---- segments */

/* Parts of the block's share that are spilled to shared memory. In registers they would leave fewer registers to the
 * computation in between. */
enum { SPILL_FIRST, SPILL_END, SPILL_STRIPS, SPILL_LENGTH, SPILLS };
_Static_assert((int)SPILLS == (int)WARP_SPILLED_NUMBERS, "shapes count what is spilled");

/* The indices, in the array of spilled numbers, of number `i`. */
static void spill_place(WarpKernel *k, int i, Value **at) {
  at[0] = build_int(&k->b, TY_I32, 0);
  at[1] = build_int(&k->b, TY_I32, i);
}

void warps_put_share(WarpKernel *k) {
  Value *v[SPILLS] = {[SPILL_STRIPS] = k->strips, [SPILL_LENGTH] = k->length}, *at[2];
  share_of(k, &v[SPILL_FIRST], &v[SPILL_END]);
  for (int i = 0; i < SPILLS; i++) {
    spill_place(k, i, at);
    build_astore(&k->b, k->share, 0, v[i], 2, at, NULL);
  }
}

void warps_make_share(WarpKernel *k) {
  const int32_t cells[MAX_RANK] = {1, SPILLS};
  k->share = kernel_array(k->lo, k->k, "share", TY_I64, SPACE_SHARED, cells, NULL, NULL);
}

/* Reloads spilled number `i`. */
static Value *reload(WarpKernel *k, int i) {
  Value *at[2];
  spill_place(k, i, at);
  return build1(&k->b, OP_UNIFORM, build_aload(&k->b, TY_I64, k->share, 0, 2, at, NULL));
}

/* `x`, an i64 whose value is known to fit 32 bits, as an i32. */
static Value *narrow(WarpKernel *k, Value *x) { return build_convert(&k->b, TY_I32, x); }

/* Sets the columns of segment `g` of strip `s`. The first strip begins at the field's first column, the last one ends
 * at its last column. */
static void set_columns(WarpKernel *k, Value *s, WarpSegment *g) {
  Builder *b = &k->b;
  Value *zero = number(k, 0);
  Value *begin = warps_mul(k, s, strip_distance(k)), *most = warps_add(k, k->copied, -strip_columns(k));
  Value *x = build2(b, OP_MAX, build2(b, OP_MIN, begin, most), zero);
  Value *own = build2(b, OP_SUB, warps_add(k, begin, k->w.halo), x), *rest = build2(b, OP_SUB, k->copied, x);
  Value *is_last = build2(b, OP_EQ, warps_add(k, s, 1), k->strips);
  g->x = narrow(k, x);
  g->from = narrow(k, build3(b, OP_SELECT, build2(b, OP_EQ, s, zero), zero, own));
  g->to = narrow(k, build3(b, OP_SELECT, is_last, rest, warps_add(k, own, strip_distance(k))));
  g->columns = narrow(k, build2(b, OP_MIN, rest, number(k, strip_columns(k))));
}

/* Like set_columns, where columns beyond the field are images: all strips have a halo on both sides. */
static void set_images(WarpKernel *k, Value *s, WarpSegment *g) {
  Value *begin = warps_mul(k, s, strip_distance(k)), *rest = build2(&k->b, OP_SUB, k->copied, begin);
  g->x = narrow(k, warps_add(k, begin, -(int64_t)k->w.halo));
  g->from = build_int(&k->b, TY_I32, k->w.halo);
  g->to = narrow(k, warps_add(k, build2(&k->b, OP_MIN, rest, number(k, strip_distance(k))), k->w.halo));
  g->columns = build_int(&k->b, TY_I32, strip_columns(k));
}

WarpSegment warps_segment(WarpKernel *outer, Value *strip) {
  WarpKernel inner = *outer, *k = &inner;
  Builder *b = &k->b;
  Value *zero = number(k, 0), *s = build_convert(b, TY_I64, strip);
  Value *first = reload(k, SPILL_FIRST), *end = reload(k, SPILL_END);
  k->strips = reload(k, SPILL_STRIPS);
  k->length = reload(k, SPILL_LENGTH);
  Value *from = build2(b, OP_MAX, row_at(k, s, first), zero);
  Value *to = build2(b, OP_MIN, row_at(k, s, end), k->rows);
  int32_t together = k->w.U * k->w.R;
  Value *rounds =
      build2(b, OP_DIV, warps_add(k, build2(b, OP_SUB, to, from), k->w.ends + together - 1), number(k, together));
  Value *groups = warps_mul(k, rounds, k->w.R);
  WarpSegment g = {.first = narrow(k, from), .end = narrow(k, to), .groups = narrow(k, groups)};
  (k->e->wraps[1] ? set_images : set_columns)(k, s, &g);
  g.y = warps_add(k, g.first, -(int64_t)k->e->below * k->w.C * k->w.W);
  outer->b = k->b;
  return g;
}
