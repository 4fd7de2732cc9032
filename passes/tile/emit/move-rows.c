/* move-rows.c: loads and stores of adjacent cells, between registers and arrays or buffers, and of the lines at a
 * thread's ends that warps exchange through shared memory, in streamed tiles and in tiles in lanes.
 *
 * How rows come from global memory is described by data (`tile/move.h`). A field's `Move` says whether its rows are
 * loaded to registers, are copied asynchronously to a ring that each thread has for itself, or by bulk copies to a ring
 * of groups; how far ahead; how many cells are moved at once; and for bulk copies, whether producer warps move them,
 * and how early they are prefetched to the second-level cache. `stream_move` and `warps_shape` decide this; the
 * lowerings of streamed tiles and of pipelines of warps carry it out. */
#include "passes/tile/emit/move-rows.h"
#include "passes/lower/lower.h"

/* ---- adjacent cells */

/* Loads one cell, or `n` as the results of *op. */
static Value *load(Builder *b, const CellPlace *p, int n, Op **op) {
  bool array = p->version != NO_VERSION;
  if (n == 1)
    return array ? build_aload(b, p->type, p->of, p->version, p->rank, p->at, p->off)
                 : build_load(b, p->type, p->of, p->rank, p->at, p->off);
  *op = array ? build_avload(b, p->type, n, p->of, p->version, p->rank, p->at, p->off)
              : build_vload(b, p->type, n, p->of, p->rank, p->at, p->off);
  return (*op)->results[0];
}

void cells_load(Builder *b, const CellPlace *from, int n, Value **to) {
  Op *op = NULL;
  to[0] = load(b, from, n, &op);
  for (int i = 1; i < n; i++)
    to[i] = op->results[i];
}

void cells_store(Builder *b, const CellPlace *to, int n, Value *const *cells) {
  if (to->version != NO_VERSION && n > 1)
    build_avstore(b, to->of, to->version, n, cells, to->rank, to->at, to->off);
  else if (to->version != NO_VERSION)
    build_astore(b, to->of, to->version, cells[0], to->rank, to->at, to->off);
  else if (n > 1)
    build_vstore(b, to->of, n, cells, to->rank, to->at, to->off);
  else
    build_store(b, to->of, cells[0], to->rank, to->at, to->off);
}

void cells_fetch(Builder *b, CellCache *c, const CellPlace *from, int n, CellLine line, int x) {
  Value *cells[VECTOR_BYTES];
  cells_load(b, from, n, cells);
  for (int i = 0; i < n; i++)
    cells_set(c, line, x + i, cells[i]);
}

/* ---- lines that warps exchange */

/* The place of cell `x` of a thread's line number `line`; `off` gets the offsets of the place. */
static CellPlace traded_place(const TradedLines *t, int line, int x, int64_t off[MAX_RANK]) {
  off[t->rank - 2] = shared_line(t->reach_lo, t->reach_hi, t->lines, line) + t->reach_lo;
  off[t->rank - 1] = x;
  return (CellPlace){t->type, t->array, t->version, t->rank, t->at, off};
}

void lines_give(Builder *b, const TradedLines *t, CellLine line, CellFn cell, void *user) {
  int n = vector_cells(t->type, t->width);
  for (line.line = 0; line.line < t->lines; line.line++)
    for (int x = 0; x < t->width && (line.line < t->reach_hi || line.line >= t->lines - t->reach_lo); x += n) {
      int64_t off[MAX_RANK] = {0};
      Value *cells[VECTOR_BYTES];
      CellPlace to = traded_place(t, line.line, x, off);
      for (int i = 0; i < n; i++)
        cells[i] = cell(user, line, x + i);
      cells_store(b, &to, n, cells);
    }
}

void lines_take(Builder *b, CellCache *c, const TradedLines *t, CellLine line) {
  int n = vector_cells(t->type, t->width);
  for (int x = 0; x < t->width; x += n) {
    int64_t off[MAX_RANK] = {0};
    CellPlace from = traded_place(t, line.line, x, off);
    cells_fetch(b, c, &from, n, line, x);
  }
}
