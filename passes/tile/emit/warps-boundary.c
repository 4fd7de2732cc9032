/* warps-boundary.c: points outside of the main pieces, and cells beyond the fields' region.
 *
 * A point outside of a new value's main piece keeps its old value, or takes the value of another piece, which reads no
 * other point. Both may be known several rows before the new row is due.
 *
 * *Versions*. A group's code has three versions: without any test; with tests of those cells of a lane that can lie in
 * the left or right boundary columns; and one for groups of rows near the upper and lower edge, for fields that are
 * narrower than a strip, and for boundary layers of many columns. The groups that need no test lie between two rows
 * that are computed once a segment, so a group compares with these two rows alone, before it waits. A `barrier.warp` at
 * both ends of each version keeps LLVM from moving code between versions, and one between rows keeps ptxas from loading
 * all rows of a group first. Both would take registers.
 *
 * *Left and right edge* (second version). A sum that is computed for the new value alone *carries* the outside value:
 * as soon as the outside value is known, it takes the place of the sum, and terms of later rows are not added to it. If
 * all inputs of the outside value are kept until the row is due, it is selected then.
 *
 * *Spilled outside values*. In other cases, and in the third version, the outside value is spilled to local memory, and
 * reloaded when the row is due. So no other sum is tested on its way, and no registers are taken: a select for each sum
 * would take 20 to 45 registers, which the first version then does not have. Values that were not spilled belong to
 * points inside, and are not reloaded.
 *
 * *Outside rules*. For a constant, the second version substitutes the constant for cells of lanes beside, and the third
 * version for rows and cells that come from beyond the region. For clamp and mirror, values wait until the rows to
 * which the rule may lead have arrived, and near an edge are selected among them. In a periodic dimension rows and
 * columns beyond the edge are images, which are computed like any others; a grid that is periodic in both dimensions
 * has the first version alone. */
#include "passes/tile/emit/lower-warps.h"

/* ---- where the boundary is */

Box warps_range(const WarpKernel *k, int v, int d) {
  const Box *in = v < 0 ? warps_region(k->e) : &k->e->value[v].piece->box, *all = warps_region(k->e);
  Arena *a = k->b.arena;
  return (Box){.rank = 1, .lo = {affine_sub(a, in->lo[d], all->lo[d])}, .hi = {affine_sub(a, in->hi[d], all->lo[d])}};
}

bool warps_sides(const WarpKernel *k, int v, int32_t *left, int32_t *right) {
  const Box *in = &k->e->value[v].piece->box, *all = warps_region(k->e);
  Affine before = affine_sub(k->b.arena, in->lo[1], all->lo[1]), behind = affine_sub(k->b.arena, all->hi[1], in->hi[1]);
  if (before.n || behind.n || before.c < 0 || behind.c < 0 ||
      before.c + behind.c + (behind.c ? k->most_behind : 0) > k->w.X)
    return false;
  *left = (int32_t)before.c;
  *right = behind.c ? (int32_t)behind.c + k->most_behind : 0;
  return true;
}

bool warps_any_boundary(const WarpKernel *k) {
  bool any = k->e->constant || k->e->ruled[0] || k->e->ruled[1];
  for (int v = 0; v < k->e->nvalues; v++)
    any = any || (k->e->value[v].wanted && warps_has_boundary(k->e, v));
  return any;
}

bool warps_near_boundary(const WarpKernel *k) {
  bool near = !k->e->wraps[1];
  int32_t left, right;
  for (int v = 0; v < k->e->nvalues; v++)
    near = near && (!k->e->value[v].wanted || !warps_has_boundary(k->e, v) || warps_sides(k, v, &left, &right));
  return near;
}

Value *warps_wide(WarpKernel *k) {
  return build2(&k->b, OP_GE, k->columns, build_int(&k->b, TY_I64, (int64_t)WARP_LANES * k->w.X));
}

/* The conjunction of two conditions, of which the first may be NULL. */
static Value *both(WarpKernel *k, Value *x, Value *y) { return x ? build2(&k->b, OP_AND, x, y) : y; }

/* The last column of a strip that begins at column `x`. */
static Value *last_column(WarpKernel *k, Value *x) { return warps_add(k, x, (int64_t)WARP_LANES * k->w.X - 1); }

/* Are all columns of the strip that begins at column `x` in the main piece of new value `v`? */
static Value *strip_inside(WarpKernel *k, int v, Value *x) {
  Box across = warps_range(k, v, 1);
  Value *right = last_column(k, x);
  return build2(&k->b, OP_AND, build_inside(&k->b, 1, &x, &across), build_inside(&k->b, 1, &right, &across));
}

/* Are rows `first` and `last` (i32), and all rows between them, in the main piece of new value `v`? */
static Value *rows_inside(WarpKernel *k, int v, Value *first, Value *last) {
  Box down = warps_range(k, v, 0);
  return build2(&k->b, OP_AND, build_inside(&k->b, 1, &first, &down), build_inside(&k->b, 1, &last, &down));
}

/* The rows of the region that are so far from its edges that no read of theirs follows an outside rule. */
static Box rows_unruled(const WarpKernel *k) {
  Box down = warps_range(k, -1, 0);
  down.lo[0] = affine_add_const(down.lo[0], k->e->ruled[0]);
  down.hi[0] = affine_add_const(down.hi[0], -(int64_t)k->e->ruled[0]);
  return down;
}

/* Is there a value before number `v` with the same main piece? */
static bool is_repeated(const WarpLevel *e, int v) {
  for (int i = 0; i < v; i++)
    if (e->value[i].wanted && warps_has_boundary(e, i) && box_equal(&e->value[i].piece->box, &e->value[v].piece->box))
      return true;
  return false;
}

/* Is value `v` a new one with points outside of its main piece, and the first one with that main piece? */
static bool has_own_boundary(const WarpLevel *e, int v) {
  return e->value[v].wanted && warps_has_boundary(e, v) && !is_repeated(e, v);
}

/* Does code depend on the edges of the region in dimension `d`, beside the edges of main pieces? */
static bool asks_region(const WarpLevel *e, int d) { return !e->wraps[d] && (e->constant || e->ruled[d]); }

/* The distance in rows from the first row of a group that arrives at a warp back to the last row that is made of it, in
 * the warp's last level. */
static int64_t rows_behind(const WarpKernel *k) { return (int64_t)k->e->lag * (k->w.C - 1) + k->e->latest; }

/* Are all columns of segment `s` in the main pieces, and away from each edge of the region that code depends on? */
static Value *columns_inside(WarpKernel *k, const WarpSegment *s) {
  const WarpLevel *e = k->e;
  Value *in = NULL;
  for (int v = 0; v < e->nvalues && !e->wraps[1]; v++)
    if (has_own_boundary(e, v))
      in = both(k, in, strip_inside(k, v, s->x));
  if (asks_region(e, 1)) {
    Value *behind = build_convert(&k->b, TY_I64, warps_add(k, last_column(k, s->x), 1));
    in = both(k, in, build2(&k->b, OP_GT, s->x, build_int(&k->b, TY_I32, 0)));
    in = both(k, in, build2(&k->b, OP_LT, behind, k->columns));
  }
  return in ? in : build_const(&k->b, TY_BOOL, (Const){.i = 1});
}

/* Affine `x`, a row, plus `more`, as an i32, limited to +-WARPS_FAR. */
static Value *row_number(WarpKernel *k, Affine x, int64_t more) {
  Value *far = build_int(&k->b, TY_I64, WARPS_FAR), *near = build_int(&k->b, TY_I64, -WARPS_FAR);
  Value *row = build_affine(&k->b, k->e->m, affine_add_const(x, more));
  return build_convert(&k->b, TY_I32, build2(&k->b, OP_MAX, build2(&k->b, OP_MIN, row, far), near));
}

/* Takes groups of segment `s` that are not entirely within rows `down` out of the range of groups without tests. */
static void keep_rows(WarpKernel *k, WarpSegment *s, const Box *down) {
  s->inside_lo = build2(&k->b, OP_MAX, s->inside_lo, row_number(k, down->lo[0], rows_behind(k)));
  s->inside_hi = build2(&k->b, OP_MIN, s->inside_hi, row_number(k, down->hi[0], 1 - (int64_t)k->w.U));
}

void warps_find_inside(WarpKernel *k, WarpSegment *s) {
  const WarpLevel *e = k->e;
  Value *none = build_int(&k->b, TY_I32, -WARPS_FAR), *any = e->wraps[1] ? NULL : warps_wide(k);
  s->sides = columns_inside(k, s);
  s->inside_lo = none;
  s->inside_hi = build_int(&k->b, TY_I32, WARPS_FAR);
  for (int v = 0; v < e->nvalues && !e->wraps[0]; v++)
    if (has_own_boundary(e, v)) {
      Box down = warps_range(k, v, 0);
      keep_rows(k, s, &down);
    }
  if (asks_region(e, 0)) {
    Box down = rows_unruled(k);
    keep_rows(k, s, &down);
  }
  if (!warps_near_boundary(k))
    any = both(k, any, s->sides);
  s->inside_lo = build1(&k->b, OP_UNIFORM, s->inside_lo);
  s->inside_hi = build1(&k->b, OP_UNIFORM, any ? build3(&k->b, OP_SELECT, any, s->inside_hi, none) : s->inside_hi);
}

/* Does the group whose first row is `y` have none of the rows `special`, at any of its levels? */
static Value *is_beside(WarpKernel *k, const SpecialRows *special, Value *y) {
  Affine first = warps_region(k->e)->lo[0];
  Value *before = row_number(k, affine_sub(k->b.arena, special->lo, first), -(int64_t)k->w.U - k->e->below),
        *behind = row_number(k, affine_sub(k->b.arena, special->hi, first), rows_behind(k) + 1);
  return build2(&k->b, OP_OR, build2(&k->b, OP_LE, y, before), build2(&k->b, OP_GE, y, behind));
}

Value *warps_is_inside(WarpKernel *k, const WarpSegment *s, Value *y) {
  Value *in = build2(&k->b, OP_AND, build2(&k->b, OP_GE, y, s->inside_lo), build2(&k->b, OP_LE, y, s->inside_hi));
  return build1(&k->b, OP_UNIFORM, in);
}

Value *warps_is_plain(WarpKernel *k, Value *y) {
  Value *plain = NULL;
  for (int i = 0; i < k->nspecial; i++)
    plain = both(k, plain, is_beside(k, &k->special[i], y));
  return plain ? build1(&k->b, OP_UNIFORM, plain) : NULL;
}

/* ---- beyond the region */

/* Is row `y` (i32) a row of the field? NULL: all rows are. */
static Value *in_rows(WarpKernel *k, Value *y) {
  Value *row = build_convert(&k->b, TY_I64, y), *zero = build_int(&k->b, TY_I64, 0);
  return k->e->wraps[0] ? NULL
                        : build2(&k->b, OP_AND, build2(&k->b, OP_GE, row, zero), build2(&k->b, OP_LT, row, k->rows));
}

Value *warps_in_columns(WarpRow *r, int f, int i, Value *v) {
  WarpKernel *k = r->k;
  const Field *field = &k->e->m->fields[f];
  if (k->e->wraps[1] || field->outside[1] != OUTSIDE_CONST)
    return v;
  Value *x = build_convert(&k->b, TY_I64, warps_column(r, i)), *zero = build_int(&k->b, TY_I64, 0);
  Value *in = build2(&k->b, OP_AND, build2(&k->b, OP_GE, x, zero), build2(&k->b, OP_LT, x, k->columns));
  return build3(&k->b, OP_SELECT, in, v, build_const(&k->b, field->type, field->outside_value));
}

/* Builds an `if` whose results are a lane's cells of type `t`: v where `cond` does not hold. The caller fills the first
 * arm, where `cond` holds. */
static Op *cells_if(WarpKernel *k, Value *cond, Type t, Value **v) {
  Type types[MAX_WARP_CELLS];
  for (int i = 0; i < k->w.X; i++)
    types[i] = t;
  Op *op = build_if(&k->b, build1(&k->b, OP_UNIFORM, cond), k->w.X, types);
  Builder other = builder_at_end(k->b.arena, op->blocks[1]);
  build_yield(&other, k->w.X, v);
  return op;
}

/* Ends the `if` of cells_if: the first arm yields v, and v becomes the results. */
static void end_cells(WarpKernel *k, const Op *op, const Builder *outer, Value **v) {
  build_yield(&k->b, k->w.X, v);
  k->b = *outer;
  for (int i = 0; i < k->w.X; i++)
    v[i] = op->results[i];
}

/* warps_make_constant at the sides, where only columns copied after the last one can lie outside of the field. */
static void end_in_constant(WarpRow *r, int v) {
  WarpKernel *k = r->k;
  Value **cells = ARENA_ARRAY(k->b.arena, Value *, k->w.X);
  for (int i = 0; i < k->w.X; i++) {
    bool behind = i >= k->w.X - k->most_behind;
    cells[i] = behind ? warps_in_columns(r, k->e->value[v].field, i, warps_now(r, v)[i]) : warps_now(r, v)[i];
  }
  warps_set_now(r, v, cells);
}

/* Are all columns of the row the field's, if the field is as wide as a strip? NULL: they are. */
static Value *ends_inside(WarpRow *r) {
  WarpKernel *k = r->k;
  Value *last = build_convert(&k->b, TY_I64, last_column(k, r->x));
  return k->most_behind ? build2(&k->b, OP_LT, last, k->columns) : NULL;
}

void warps_make_constant(WarpRow *r, int v) {
  WarpKernel *k = r->k;
  const WarpValue *x = &k->e->value[v];
  const Field *f = &k->e->m->fields[x->field];
  const bool columns = f->outside[1] == OUTSIDE_CONST && !k->e->wraps[1];
  if (!outside_has(f, OUTSIDE_CONST) || (r->boundary == BOUNDARY_SIDES && (!k->most_behind || !columns)))
    return;
  if (r->boundary == BOUNDARY_SIDES) {
    end_in_constant(r, v);
    return;
  }
  Value *in = f->outside[0] == OUTSIDE_CONST ? in_rows(k, warps_add(k, r->y, -x->time)) : NULL, *whole = NULL;
  if (columns)
    whole = both(k, k->most_behind ? ends_inside(r) : NULL, warps_wide(k));
  Value *cond = in && whole ? build2(&k->b, OP_AND, in, whole) : in ? in : whole;
  if (!cond)
    return;
  Op *op = cells_if(k, build1(&k->b, OP_NOT, cond), x->type, warps_now(r, v));
  Builder outer = k->b;
  k->b = builder_at_end(outer.arena, op->blocks[0]);
  Value **cells = ARENA_ARRAY(outer.arena, Value *, k->w.X), *no = build_const(&k->b, f->type, f->outside_value);
  for (int i = 0; i < k->w.X; i++) {
    cells[i] = warps_in_columns(r, x->field, i, warps_now(r, v)[i]);
    cells[i] = in ? build3(&k->b, OP_SELECT, in, cells[i], no) : cells[i];
  }
  end_cells(k, op, &outer, cells);
  warps_set_now(r, v, cells);
}

/* ---- outside of the main pieces */

static Value *own_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules) {
  const WarpCell *c = p->user;
  const WarpLevel *e = c->r->k->e;
  int v = e->sees[c->stage * e->m->nfields + field];
  (void)b, (void)off, (void)rules;
  return warps_aged(c->r, v, c->time - e->value[v].time, c->i);
}

/* Outside value `v` of cell `i`: the value of another piece, or the field's old value. */
static Value *value_outside(WarpRow *r, int v, int i) {
  WarpKernel *k = r->k;
  const WarpLevel *e = k->e;
  const WarpValue *x = &e->value[v];
  WarpCell c = {.r = r, .i = i, .stage = x->stage, .time = x->time, .y = warps_add(k, r->y, -x->time)};
  int old = e->sees[x->stage * e->m->nfields + x->field];
  Value *out = old >= 0 ? warps_aged(r, old, x->time - e->value[old].time, i) : NULL;
  Point p = warps_point(&c);
  p.access = own_access;
  for (int n = 0; n < e->st[x->stage].npieces; n++) {
    const Piece *piece = &e->st[x->stage].pieces[n];
    int t = piece_target(piece, x->field);
    if (piece == x->piece || t < 0)
      continue;
    Value *in = piece_values(&p, &k->b, piece)[t];
    out = out ? build3(&k->b, OP_SELECT, build_inside(&k->b, 2, p.index, &piece->box), in, out) : in;
  }
  return out;
}

/* Is the left or right edge at a fixed number of columns (warps_sides), and cell `i` among the cells that can lie
 * outside of the main piece of new value `v` there? Cells that surely lie after the last column are no points. */
static bool may_be_side(const WarpKernel *k, int v, int i) {
  int32_t left, right, X = k->w.X;
  return !k->e->wraps[1] && warps_sides(k, v, &left, &right) &&
         (i < left || (i >= X - right && i < X - k->least_behind));
}

/* Is row `y` (i32) a row of the field with points outside of the main piece of new value `v`, for which tests of the
 * few cells at the sides are not enough? */
static Value *is_odd(WarpRow *r, int v, Value *y) {
  WarpKernel *k = r->k;
  Builder *b = &k->b;
  Value *in = in_rows(k, y), *even = k->e->wraps[0] ? NULL : rows_inside(k, v, y, y);
  if (!k->e->wraps[1])
    even = both(k, even, warps_wide(k));
  if (!k->e->wraps[1] && !warps_near_boundary(k))
    even = both(k, even, strip_inside(k, v, r->x));
  Value *odd = even ? build1(b, OP_NOT, even) : build_const(b, TY_BOOL, (Const){.i = 0});
  return in ? build2(b, OP_AND, in, odd) : odd;
}

/* The indices at which cell `i` of a row lies that was spilled `ago` rows before. */
static void by_place(WarpRow *r, int ago, int i, Value **at) {
  WarpKernel *k = r->k;
  Builder *b = &k->b;
  Value *place = build2(b, OP_ADD, warps_mul(k, r->slot, k->w.U), warps_add(k, r->number, -ago));
  Value *before = build2(b, OP_LT, place, build_int(b, TY_I32, 0));
  at[0] = ago ? build3(b, OP_SELECT, before, warps_add(k, place, k->w.G * k->w.U), place) : place;
  at[1] = build_int(b, TY_I32, i);
}

/* The new value whose outside value is number `v`. */
static int new_of(const WarpLevel *e, int v) {
  int n = 0;
  while (e->value[n].outside != v)
    n++;
  return n;
}

/* The array to which value `v` is spilled. */
static int by_array(const WarpRow *r, int v) { return r->k->spilled[r->level * r->k->e->nvalues + v]; }

/* Sets of a lane's cells: those that may lie at a side, the others, all. */
typedef enum Cells { CELLS_SIDES, CELLS_OTHERS, CELLS_ALL } Cells;

/* Is cell `i` in set `cells`, with regard to new value `v`? */
static bool is_among(const WarpKernel *k, int v, Cells cells, int i) {
  return cells == CELLS_ALL || may_be_side(k, v, i) == (cells == CELLS_SIDES);
}

/* Spills the cells in set `cells` of value `v`. */
static void put_cells(WarpRow *r, int v, Cells cells) {
  WarpKernel *k = r->k;
  Value *at[2];
  for (int i = 0; i < k->w.X; i++)
    if (is_among(k, new_of(k->e, v), cells, i)) {
      by_place(r, 0, i, at);
      build_astore(&k->b, by_array(r, v), 0, value_outside(r, v, i), 2, at, NULL);
    }
}

void warps_spill(WarpRow *r, int v) {
  WarpKernel *k = r->k;
  const WarpLevel *e = k->e;
  int to = new_of(e, v);
  if (e->value[to].time == e->value[v].time)
    return;
  if (!e->value[to].carried)
    put_cells(r, v, CELLS_SIDES);
  if (r->boundary == BOUNDARY_SIDES)
    return;
  Value *odd = is_odd(r, to, warps_add(k, r->y, -e->value[v].time));
  Op *op = build_if(&k->b, build1(&k->b, OP_UNIFORM, odd), 0, NULL);
  Builder outer = k->b;
  k->b = builder_at_end(outer.arena, op->blocks[0]);
  put_cells(r, v, e->value[to].carried ? CELLS_ALL : CELLS_OTHERS);
  k->b = outer;
}

/* The outside value of new value `v` that the cell carries: from its carrier of the time before, or, at the time when
 * it becomes known, the value itself. */
static Value *carried(WarpCell *c, int v) {
  const WarpLevel *e = c->r->k->e;
  int w = 0, of = e->value[v].outside;
  if (c->time == e->value[of].time)
    return value_outside(c->r, of, c->i);
  while (e->value[w].carries != v || e->value[w].time != c->time - 1)
    w++;
  return warps_aged(c->r, w, 1, c->i);
}

Value *warps_carry(WarpCell *c, int v, Value *x) {
  WarpKernel *k = c->r->k;
  const WarpValue *of = &k->e->value[v];
  int to = of->kind == WARP_NEW && of->carried ? v : of->carries;
  if (to < 0 || c->r->boundary == BOUNDARY_NONE || !may_be_side(k, to, c->i))
    return x;
  Box across = warps_range(k, to, 1);
  Value *column = warps_column(c->r, c->i), *in = build_inside(&k->b, 1, &column, &across);
  return build3(&k->b, OP_SELECT, in, x, carried(c, to));
}

/* Affine `x`, a column of the field, as the number (i32) of a cell of the lane whose first column is `first`. */
static Value *cell_number(WarpRow *r, Value *first, Affine x) {
  WarpKernel *k = r->k;
  Builder *b = &k->b;
  Value *most = build_int(b, TY_I64, WARPS_FAR), *least = build_int(b, TY_I64, -1);
  Value *v = build2(b, OP_MAX, build2(b, OP_MIN, build_affine(b, k->e->m, x), most), least);
  return build2(b, OP_SUB, build_convert(b, TY_I32, v), first);
}

/* Which part of a row of new value `v` lies in its main piece. row: is the row in it? NULL: it is. lo, hi: the lane's
 * first and last cell in it, NULL: all cells are. */
typedef struct Within {
  Value *row, *lo, *hi;
} Within;

static Within within_of(WarpRow *r, int v) {
  WarpKernel *k = r->k;
  Within in = {0};
  Value *y = warps_add(k, r->y, -k->e->value[v].time);
  if (r->boundary == BOUNDARY_ANY && !k->e->wraps[0])
    in.row = rows_inside(k, v, y, y);
  if (!k->e->wraps[1]) {
    Box across = warps_range(k, v, 1);
    Value *first = build2(&k->b, OP_ADD, build1(&k->b, OP_UNIFORM, r->x), k->in_warp);
    in.lo = cell_number(r, first, across.lo[0]);
    in.hi = cell_number(r, first, across.hi[0]);
  }
  return in;
}

/* `v` of cell `i` if the cell is in the main piece as `in` says, else `other`. */
static Value *within_or(WarpKernel *k, const Within *in, int i, Value *v, Value *other) {
  Builder *b = &k->b;
  Value *is = in->row;
  if (in->lo) {
    Value *number = build_int(b, TY_I32, i);
    is = both(k, is, build2(b, OP_AND, build2(b, OP_GE, number, in->lo), build2(b, OP_LE, number, in->hi)));
  }
  return is ? build3(b, OP_SELECT, is, v, other) : v;
}

/* Replaces those cells of new value `v` in set `cells` that lie outside of its main piece by their outside values. */
static void mend_cells(WarpRow *r, int v, Cells cells, Value **out) {
  WarpKernel *k = r->k;
  int of = k->e->value[v].outside, ago = k->e->value[v].time - k->e->value[of].time;
  Within in = within_of(r, v);
  Value *at[2];
  for (int i = 0; i < k->w.X; i++) {
    if (!is_among(k, v, cells, i))
      continue;
    if (ago)
      by_place(r, ago, i, at);
    Value *other =
        ago ? build_aload(&k->b, k->e->value[v].type, by_array(r, of), 0, 2, at, NULL) : value_outside(r, of, i);
    out[i] = within_or(k, &in, i, out[i], other);
  }
}

void warps_reload(WarpRow *r, int v) {
  WarpKernel *k = r->k;
  const WarpLevel *e = k->e;
  if (!e->value[v].carried)
    mend_cells(r, v, CELLS_SIDES, warps_now(r, v));
  if (r->boundary == BOUNDARY_SIDES)
    return;
  Value **out = ARENA_ARRAY(k->b.arena, Value *, k->w.X);
  Op *op = cells_if(k, is_odd(r, v, warps_add(k, r->y, -e->value[v].time)), e->value[v].type, warps_now(r, v));
  Builder outer = k->b;
  k->b = builder_at_end(outer.arena, op->blocks[0]);
  for (int i = 0; i < k->w.X; i++)
    out[i] = warps_now(r, v)[i];
  mend_cells(r, v, e->value[v].carried ? CELLS_ALL : CELLS_OTHERS, out);
  end_cells(k, op, &outer, out);
  warps_set_now(r, v, out);
}
