/* overlap-lanes.c: overlapped tiles in the registers of lanes (`-tiles=lanes`; `tiles=lanes` in a plan), in two
 * dimensions: reads of other threads' cells.
 *
 *   warp w, row r:   | lane 0: V cells | lane 1: V cells | ..      R rows a warp: -block=Wx32 -elems=RxV
 *
 * A row of threads is a warp. A lane has V adjacent cells of each of the warp's R rows, all unrolled. Cells of
 * neighbouring lanes come by shuffles. When an instance has been computed, each warp stores its first and last rows to
 * shared memory, as many as accesses of other warps reach (`tile/mapping.h`); rows of other warps are read there. A
 * field has as many arrays for these rows as are needed so that none is read while it is written: mostly two, so a step
 * has one barrier. A lane at the tile's edge gets an unneeded value of the halo for a cell beyond the edge.
 *
 * Version 0 comes from global memory, as in other overlapped tiles. If rows are whole lanes, own cells and rows are
 * moved by vectors, as in streamed tiles, with a second kernel, `..._any`, `instead`; the halo at the sides is whole
 * lanes, too. All else, also which launches fit, is as in other overlapped tiles. Single steps after the last tile do
 * not use lanes.
 *
 * This is for grids so small that each block has a multiprocessor for itself; it is chosen on small grids, and where
 * options ask for it. Star2d1r in f32 has 64 instructions a step for 10 cells (5 rows of 2), of which 50 are its
 * equation. `-T=9 -block=12x32 -elems=5x2` cuts 512^2 into 132 tiles of 44 x 48 points, `-T=9 -block=12x32 -elems=8x4`
 * 1024^2 into 130. */
#include "passes/tile/emit/lower-overlap.h"

/* ---- arrays */

void lanes_make_arrays(Tile *t, int f) {
  const FieldUse *u = launch_use(t->l, f);
  const Field *field = &t->l->m->fields[f];
  Arena *a = t->l->m->arena;
  int32_t R = t->s->elems[0], V = t->s->elems[1], lo[MAX_RANK] = {u->rows_lo}, hi[MAX_RANK] = {u->rows_hi},
          cells[MAX_RANK] = {t->s->block[0] * shared_lines(u->rows_lo, u->rows_hi, R), t->s->block[1] * V},
          first = t->k->narrays;
  t->near[f] = ARENA_ARRAY(a, int32_t, u->versions + 1);
  for (int k = 0, n = launch_row_arrays(t->l, f, t->near[f]); k < n; k++)
    kernel_array(t->lo, t->k, arena_printf(a, "s%s.%d", field->name, k), field->type, SPACE_SHARED, cells, lo, hi);
  for (int v = 0; v <= u->versions; v++)
    t->near[f][v] += t->near[f][v] < 0 ? 0 : first;
}

/* The rows of version `v` of field `f` that warps exchange. */
static TradedLines traded_rows(const Tile *t, Builder *b, int f, int v) {
  const FieldUse *u = launch_use(t->l, f);
  int32_t R = t->s->elems[0], V = t->s->elems[1], rows = shared_lines(u->rows_lo, u->rows_hi, R);
  Value *first = build2(b, OP_MUL, build_dim(b, OP_THREAD, 0), build_int(b, TY_I32, rows));
  Type type = t->l->m->fields[f].type;
  return (TradedLines){type, t->near[f][v], v, t->rank, R, V, u->rows_lo, u->rows_hi, {first, t->l0[1]}};
}

/* ---- values of cells, built once each for an instance */

void lanes_begin(const Tile *t) {
  if (t->lanes)
    cells_clear(t->lanes->seen);
}

/* A tile and the builder of its code, for make_cell. */
typedef struct From {
  const Tile *t;
  Builder *b;
} From;

/* Builds cell `x` of row `line`, a row of the lane's own warp or of another one (a CellFn). */
static Value *make_cell(void *user, CellLine line, int x) {
  const From *from = user;
  const Tile *t = from->t;
  if (line.line < 0 || line.line >= t->s->elems[0]) {
    TradedLines rows = traded_rows(t, from->b, line.of, line.version);
    lines_take(from->b, t->lanes->seen, &rows, line);
    return cells_get(t->lanes->seen, line, x);
  }
  Value *at[MAX_RANK] = {build_int(from->b, TY_I32, line.line), build_int(from->b, TY_I32, x)};
  return build_aload(from->b, t->l->m->fields[line.of].type, own_array(t, line.of, line.version), line.version, t->rank,
                     at, NULL);
}

void lanes_publish(const Tile *t, Builder *b, int f, int v) {
  From from = {t, b};
  if (t->near[f][v] < 0)
    return;
  TradedLines rows = traded_rows(t, b, f, v);
  lines_give(b, &rows, (CellLine){.of = f, .version = v}, make_cell, &from);
}

/* ---- accesses */

/* A cell, the builder of its code and its tile, for cell_beside. */
typedef struct Beside {
  From from;
  const Cell *c;
} Beside;

/* The element that is `to` cells away from the cell of `user` (a BesideFn). */
static Value *cell_beside(void *user, int field, int v, const int64_t *to) {
  Beside *u = user;
  CellLine line = {.of = field, .version = v, .line = u->c->fixed[0] + (int)to[0]};
  return cells_beside(u->from.t->lanes->seen, u->from.b, line, u->c->fixed[1] + (int)to[1], make_cell, &u->from);
}

Value *lanes_access(const Tile *t, Builder *b, const Cell *c, int field, int v, const int64_t *off,
                    const Rules *rules) {
  Beside u = {{t, b}, c};
  return access_beside(b, t->l->m, field, v, rules, c->w, off, cell_beside, &u);
}

/* ---- values of before the launch. In the cell cache their version is -1 less the rule by which their row is found.
 * Their line is row j; where rows may be images, it is the row of the cell, and `back` the offset to row j. */

/* Loads the vector with cell `x` of `line`, in the row at off[0] from that of cell `c`; the value of cell `x`. */
static Value *load_vector(const Tile *t, Builder *b, const Cell *c, CellLine line, int x, const int64_t *off,
                          const Rules *rules) {
  const Field *f = &t->l->m->fields[line.of];
  int n = vector_cells(f->type, t->s->elems[1]), first = x / n * n;
  Rules row = *rules;
  Value *at[MAX_RANK] = {c->w[0]}, *cell = c->g[1];
  const int64_t to[MAX_RANK] = {off[0]};
  if (c->fixed[1] != first)
    cell = build2(b, OP_ADD, cell, build_int(b, TY_I64, first - c->fixed[1]));
  at[1] = t->l->wraps[1] ? build_map(b, OP_WRAP, cell, 0, t->l->wrap_lo[1], t->l->wrap_hi[1]) : cell;
  row.dim[1] = OUTSIDE_NONE;
  for (int d = 0; d < t->rank; d++)
    at[d] = guarded_place(b, f, &row, at, to, d, d ? n : 1);
  const CellPlace from = {f->type, load_buffer(t->lo, line.of), NO_VERSION, t->rank, at, NULL};
  cells_fetch(b, t->lanes->seen, &from, n, line, first);
  return cells_get(t->lanes->seen, line, x);
}

Value *lanes_load(const Tile *t, Builder *b, const Cell *c, int field, const int64_t *off, const Rules *rules) {
  const Module *m = t->l->m;
  int x = c->fixed[1] + (int)off[1];
  OutsideRule rule = rules->dim[1];
  bool straight = rule == OUTSIDE_NONE || rule == OUTSIDE_CONST;
  if (!t->lanes->vectors[field] || !straight || field_lacks_any(&m->fields[field]) || x < 0 || x >= t->s->elems[1])
    return access_global(b, m, field, load_buffer(t->lo, field), rules, c->w, off, true);
  int row = (int)off[0], own = t->l->wraps[0] ? 0 : row;
  CellLine line = {.of = field, .version = -1 - (int)rules->dim[0], .back = row - own, .line = c->fixed[0] + own};
  Value *v = cells_get(t->lanes->seen, line, x);
  v = v ? v : load_vector(t, b, c, line, x, off, rules);
  return inside_or_constant(b, m, field, rules, c->w, off, v);
}
