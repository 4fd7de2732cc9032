/* passes/lower/columns.h: the lowering of sweeps (private to passes/lower).
 *
 *   sweep.c        sweeps, launches of their own
 *   sweep-turn.c   columns along the last dimension, transposed through shared memory
 */
#ifndef STC_PASSES_COLUMNS_H
#define STC_PASSES_COLUMNS_H

#include "passes/launch/swept.h"
#include "passes/lower/naive.h"

/* The lowering of a sweep. st: the sweep, number `i` of the launch. kept[j]: a value behind the point that stays in a
 * register: field, and number of layers back; those of a field are in order of distance. now[j]: its current value.
 * rows: the thread has adjacent columns, from `from` on, and keeps no values in registers. array[f]: the array with the
 * columns of field f that the first sweep keeps for the second, -1: none. lane: which of the block's columns is the
 * thread's, if these arrays are in shared memory; else NULL. turned: the layers of a column are adjacent in memory, so
 * loads and stores of a row of layers go through shared memory. kernel: the kernel's number. first: the block's first
 * column. on: the layer of the row at which the point is, -1: it is in no row. */
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

/* The dimension in which the columns of a block are adjacent: the last one that is not the sweep's; -1: there is one
 * column. */
int beside_columns(const Sweep *s);
/* point_here: the point s->k.g. cell_code: builds the code of `piece` at `p`, the result of point_here. */
Point point_here(Sweep *s);
void cell_code(Sweep *s, Builder *b, const Piece *piece, Point *p);
/* Does the sweep read `field` from an array that the launch's first sweep has filled? */
bool is_kept_before(const Sweep *s, int field);

/* ---------------------------------------------------------------- sweep-turn.c */

/* turn_suits: can rows of the launch's columns go through shared memory? turn_inside: is the thread's column in the
 * region? */
bool turn_suits(const Sweep *s);
Value *turn_inside(const Sweep *s, Builder *b);
/* Builds the code of all layers of `piece`, in the order of the sweep. */
void turn_layers(Sweep *s, Builder *b, const Piece *piece);
/* Keeps `v`, the value of target number `t` at the point, until its row is stored; stores it at once if the point is in
 * no row. */
void turn_keep(Sweep *s, Builder *b, int t, Value *v);

#endif
