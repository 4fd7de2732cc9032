/* warps-lines.c: values that are a constant but on one line of the grid, as the source of a wave is but at a point: a
 * choice under a condition one part of which is that the row is a certain one. Nearly no row is. So they are chosen for
 * all cells of a lane at once, by one test of the row, in place of one or more for each cell. A barrier of the warp
 * keeps LLVM from making choices of that again; of few cells ptxas does, which is longer than before. */
#include "passes/lower/warps.h"

/* A lane has so many cells at least. */
enum { LEAST_CELLS = 6 };

/* Is value `v`, a condition, that a row is a certain one? */
static bool is_one_row(const WarpLevel *e, int v) {
  const Op *op = e->value[v].op;
  bool row = false;
  for (int i = 0; i < op->noperands; i++)
    row = row || (op->operands[i]->def && op->operands[i]->def->code == OP_INDEX);
  return op->code == OP_EQ && row && e->value[v].of_row;
}

/* Adds the conditions that condition `v` is all of to *parts, those that are added already but once. */
static void add_parts(const WarpLevel *e, int v, bool *seen, int *n, int *parts) {
  const WarpValue *x = &e->value[v];
  if (seen[v])
    return;
  seen[v] = true;
  if (x->op->code != OP_AND) {
    parts[(*n)++] = v;
    return;
  }
  add_parts(e, x->uses[0].value, seen, n, parts);
  add_parts(e, x->uses[1].value, seen, n, parts);
}

/* The conditions that condition `v` is all of, in *n; in arena `a`. */
static int *parts_of(Arena *a, const WarpLevel *e, int v, int *n) {
  int *parts = ARENA_ARRAY(a, int, e->nvalues);
  *n = 0;
  add_parts(e, v, ARENA_ARRAY(a, bool, e->nvalues), n, parts);
  return parts;
}

/* Is one of the conditions that condition `v` is all of, that a row is a certain one? */
static bool asks_row(Arena *a, const WarpLevel *e, int v) {
  int n;
  const int *parts = parts_of(a, e, v, &n);
  bool any = false;
  for (int i = 0; i < n; i++)
    any = any || is_one_row(e, parts[i]);
  return any;
}

/* Those of the conditions that condition `v` is all of which are the same in all columns. */
static Value *row_condition(WarpCell *c, Point *p, int v) {
  WarpKernel *k = c->r->k;
  int n;
  const int *parts = parts_of(k->b.arena, k->e, v, &n);
  Value *all = NULL;
  for (int i = 0; i < n; i++)
    if (k->e->value[parts[i]].of_row) {
      Value *one = warps_value(c, p, parts[i]);
      all = all ? build2(&k->b, OP_AND, all, one) : one;
    }
  return all;
}

/* Is value `v` one such? */
static bool is_on_line(Arena *a, const WarpLevel *e, int v) {
  const WarpValue *x = &e->value[v];
  return x->free && x->op->code == OP_SELECT && x->op->operands[2]->def && x->op->operands[2]->def->code == OP_CONST &&
         asks_row(a, e, x->uses[0].value);
}

/* The cells of value `v` where the row may be the one. */
static void choose_cells(const WarpCell *c, int v, Value **out) {
  WarpKernel *k = c->r->k;
  for (int i = 0; i < k->w.X; i++) {
    WarpCell own = {.r = c->r, .i = i, .stage = c->stage, .time = c->time, .y = c->y, .on_line = true};
    own.map = ARENA_ARRAY(k->b.arena, Value *, k->e->nvalues);
    Point p = warps_point(&own);
    out[i] = warps_value(&own, &p, v);
  }
}

Value *warps_on_line(WarpCell *c, Point *p, int v) {
  WarpKernel *k = c->r->k;
  const WarpLevel *e = k->e;
  if (c->on_line || k->w.X < LEAST_CELLS || !is_on_line(k->b.arena, e, v))
    return NULL;
  Value ***row = &c->r->lines[v * (e->latest + e->below + 1) + c->time + e->below];
  if (*row)
    return (*row)[c->i];
  Type types[MAX_WARP_CELLS];
  Value **cells = ARENA_ARRAY(k->b.arena, Value *, k->w.X), *one = row_condition(c, p, e->value[v].uses[0].value);
  for (int i = 0; i < k->w.X; i++)
    types[i] = e->value[v].type;
  Op *op = build_if(&k->b, build1(&k->b, OP_UNIFORM, one), k->w.X, types);
  Builder outer = k->b;
  k->b = builder_at_end(outer.arena, op->blocks[0]);
  build_bare(&k->b, OP_BARRIER_WARP);
  choose_cells(c, v, cells);
  build_yield(&k->b, k->w.X, cells);
  k->b = builder_at_end(outer.arena, op->blocks[1]);
  for (int i = 0; i < k->w.X; i++)
    cells[i] = build_const(&k->b, e->value[v].type, e->value[v].op->operands[2]->def->cval);
  build_yield(&k->b, k->w.X, cells);
  k->b = outer;
  *row = op->results;
  return (*row)[c->i];
}
