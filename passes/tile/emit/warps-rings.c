/* warps-rings.c: places of rows in the rings between warps.
 *
 *   loads -> ring 0 (G groups) -> warp 0 -> ring 1 (G, or G + D groups) -> warp 1 -> .. -> ring W -> stores
 *
 * For most fields each ring, between two warps, in front of the first and after the last, has G groups of rows.
 *
 * *Delayed reads*. If reads of a field are delayed, a warp reads row y - t of the field when row y arrives. The field's
 * rows then stay in the rings between two warps D groups longer, where D groups are t rows or more, so these rings have
 * G + D groups. The warp in front still is at most G groups ahead, and signals for G groups are enough: when the warp
 * in front may write a group, the group G before has been made, so nobody reads rows of the group G + D before any
 * more, whose place the new group takes. In ring 0, rows are loaded as late as they are read. */
#include "passes/tile/emit/lower-warps.h"

/* Groups of a ring between two warps, of a field whose reads are delayed. */
static int32_t late_groups(const WarpKernel *k) { return k->w.G + warps_delay_groups(k->e, &k->w); }

void warps_make_rings(WarpKernel *k) {
  const WarpShape *w = &k->w;
  const WarpLevel *e = k->e;
  Arena *a = k->b.arena;
  k->rings = ARENA_ARRAY(a, int32_t, e->nfields);
  for (int n = 0; n < e->nfields; n++) {
    const Field *f = &e->m->fields[e->field[n].field];
    int32_t all = (int32_t)warps_ring_rows(e, w, n), several = warps_delay(e, n) ? 1 : w->W + 1;
    int32_t columns = WARP_LANES * w->X, cells[MAX_RANK] = {several, all / several, 0}, pad[MAX_RANK] = {0, 0, columns};
    k->rings[n] =
        kernel_array_of(k->lo, k->k, 3, arena_printf(a, "%s.rows", f->name), f->type, SPACE_SHARED, cells, NULL, pad);
  }
}

void warps_end_ring(WarpKernel *k, int n, int ring, Value *slot, Value *u, Value *x, Value **at) {
  int32_t begin = ring ? warps_delay_begin(k->e, &k->w, ring) : 0;
  bool late = warps_delay(k->e, n) > 0;
  at[0] = build_int(&k->b, TY_I32, late ? 0 : ring);
  at[1] = build2(&k->b, OP_ADD, warps_mul(k, slot, k->w.U), u);
  at[1] = late ? warps_add(k, at[1], begin) : at[1];
  at[2] = x;
}

/* The first row of ring `ring` (i32), which is not the one in front of the first warp, of fields whose reads are
 * delayed. */
static Value *begin_of(WarpKernel *k, Value *ring) {
  return warps_add(k, warps_mul(k, ring, late_groups(k) * k->w.U), -(int64_t)warps_delay_groups(k->e, &k->w) * k->w.U);
}

/* The row of the ring in front of the warp, which is not the first warp, that holds the row which arrived `t` rows
 * before row number `u` of the group. If t rows are whole groups the index is the same for all rows of the group. */
static Value *row_before(WarpKernel *k, int32_t t, Value *u) {
  Builder *b = &k->b;
  Value *place = warps_mul(k, k->place, k->w.U);
  place = warps_add(k, t % k->w.U ? build2(b, OP_ADD, place, u) : place, -t);
  Value *around = build2(b, OP_LT, place, build_int(b, TY_I32, 0));
  place = build3(b, OP_SELECT, around, warps_add(k, place, (int64_t)late_groups(k) * k->w.U), place);
  return build2(b, OP_ADD, begin_of(k, k->warp), place);
}

void warps_row_taken(WarpRow *r, int n, Value **at) {
  WarpKernel *k = r->k;
  Builder *b = &k->b;
  int32_t t = warps_delay(k->e, n);
  Value *slot = warps_mul(k, r->slot, k->w.U);
  at[0] = t ? build_int(b, TY_I32, 0) : k->warp;
  at[1] = build2(b, OP_ADD, slot, r->number);
  at[2] = k->in_warp;
  if (!t || k->w.W == 1)
    return;
  bool whole = t % k->w.U == 0;
  at[1] = build3(b, OP_SELECT, k->is_first, whole ? slot : at[1], row_before(k, t, r->number));
  at[1] = whole ? build2(b, OP_ADD, at[1], r->number) : at[1];
}

void warps_row_put(WarpRow *r, int n, Value **at) {
  WarpKernel *k = r->k;
  Builder *b = &k->b;
  bool late = warps_delay(k->e, n) > 0;
  Value *ring = warps_add(k, k->warp, 1), *slot = r->slot;
  if (late && k->w.W > 1)
    slot = build3(b, OP_SELECT, k->is_final, slot, k->place);
  at[0] = late ? build_int(b, TY_I32, 0) : ring;
  at[1] = warps_mul(k, slot, k->w.U);
  at[1] = build2(b, OP_ADD, late ? build2(b, OP_ADD, begin_of(k, ring), at[1]) : at[1], r->number);
  at[2] = k->in_warp;
}

/* Sets the lane's cells of row `row` (i32) of the rings to zero, for all fields whose reads are delayed. */
static void start_row(WarpKernel *k, Value *row) {
  const WarpLevel *e = k->e;
  Value *zeros[MAX_WARP_CELLS], *at[] = {build_int(&k->b, TY_I32, 0), row, k->in_warp};
  for (int n = 0; n < e->nfields; n++) {
    Type type = e->m->fields[e->field[n].field].type;
    int vector = VECTOR_BYTES / type_size(type);
    for (int i = 0; i < vector; i++)
      zeros[i] = build_const(&k->b, type, (Const){0});
    for (int i = 0; i < k->w.X && warps_delay(e, n); i += vector)
      build_avstore(&k->b, k->rings[n], 0, vector, zeros, 3, at, (const int64_t[MAX_RANK]){0, 0, i});
  }
}

void warps_start_rings(WarpKernel *k) {
  Builder *b = &k->b, outer = *b;
  int32_t late = k->e->delay;
  if (!late || k->w.W == 1)
    return;
  Op *op = build_if(b, k->is_first, 0, NULL);
  k->b = builder_at_end(outer.arena, op->blocks[1]);
  Value *begin = warps_add(k, begin_of(k, k->warp), (int64_t)late_groups(k) * k->w.U - late);
  Op *loop = build_for(b, build_int(b, TY_I32, 0), build_int(b, TY_I32, late), 1, 0, 0, NULL);
  k->b = builder_at_end(outer.arena, loop->blocks[0]);
  start_row(k, build2(b, OP_ADD, begin, loop->blocks[0]->args[0]));
  k->b = outer;
}

Value *warps_next_place(WarpKernel *k) {
  Value *next = warps_add(k, k->place, 1);
  Value *around = build2(&k->b, OP_EQ, next, build_int(&k->b, TY_I32, late_groups(k)));
  return build3(&k->b, OP_SELECT, around, build_int(&k->b, TY_I32, 0), next);
}
