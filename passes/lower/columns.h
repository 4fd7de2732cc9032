/* passes/lower/columns.h: launches of sweeps in the making (private to passes/lower).
 *
 *   sweep.c        sweeps, launches of their own
 *   sweep-turn.c   columns along the last dimension, turned through shared memory
 */
#ifndef STC_PASSES_COLUMNS_H
#define STC_PASSES_COLUMNS_H

#include "passes/launch/swept.h"
#include "passes/lower/naive.h"

/* A sweep in the making. kept[i]: a value behind that waits in a register, `back` layers behind the point, those of a
 * field in order of distance; now[i]: which it is. rows: columns lie beside each other, from `from` on, and nothing
 * waits. i: which of the launch's sweeps it is, st; array: by field, the array with the columns that are kept, -1;
 * lane: of threads, where these are in shared memory, which of the columns beside each other is the thread's; NULL.
 * turned: what a row of layers loads and stores goes through shared memory, for the layers of a column lie beside each
 * other; kernel: its number; first: the block's first column; on: which layer of the row the point is, -1: it is
 * in none. */
typedef struct KeptBehind {
  int32_t field, back;
} KeptBehind;
typedef struct Sweep {
  Naive k;
  const Stencil *st;
  int i, kernel;
  int32_t *array;
  bool rows, turned;
  Value *from, *lane, *first;
  int32_t n, on;
  KeptBehind *kept;
  Value **now;
} Sweep;

/* ---------------------------------------------------------------- sweep.c */

/* The dimension in which columns lie beside each other, the last one but that of the sweep; -1: there is one column. */
int beside_columns(const Sweep *s);
/* The point s->k.g. The code of `piece` at the point `p`, which is that. */
Point point_here(Sweep *s);
void cell_code(Sweep *s, Builder *b, const Piece *piece, Point *p);
/* Is `field`, read by the sweep, in an array, which the launch's first sweep has filled? */
bool is_kept_before(const Sweep *s, int field);

/* ---------------------------------------------------------------- sweep-turn.c */

/* Can the columns of the launch be turned? Has the thread a column of the region? */
bool turn_suits(const Sweep *s);
Value *turn_inside(const Sweep *s, Builder *b);
/* All layers of `piece`, in the sweep's order. */
void turn_layers(Sweep *s, Builder *b, const Piece *piece);
/* Keeps `v`, target number `t` at the point, until its row is stored; stores it where it is in none. */
void turn_keep(Sweep *s, Builder *b, int t, Value *v);

#endif
