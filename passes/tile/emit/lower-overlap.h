/* passes/tile/emit/lower-overlap.h: an overlapped tile in the making (private to its lowering).
 *
 *   lower-overlap.c   the pass
 *   overlap-lanes.c   cells of other threads where each has its own in registers
 */
#ifndef STC_PASSES_LOWER_OVERLAP_H
#define STC_PASSES_LOWER_OVERLAP_H

#include "passes/tile/emit/move-rows.h"
#include "passes/tile/mapping.h"
#include "passes/lower/lower.h"

/* Cells in the registers of lanes: the values that were built for the instance at hand, by numbers and versions of
 * fields. */
typedef struct LaneCells {
  bool *vectors; /* [field]: global memory is read and written by vectors */
  CellCache *seen;
} LaneCells;

/* A kernel in the making. l0[d] is the cell of the thread's element 0, g0[d] its coordinate in i64; own[f][v % depth]
 * and near[f][v] are the arrays that hold version v of field f, -1: none. tests: has_tests. lanes: how
 * the cells are in the registers of lanes, NULL: threads have columns, and all that others read is in shared memory. */
typedef struct Tile {
  Lowering *lo;
  const Launch *l;
  const Schedule *s;
  Kernel *k;
  Builder b;
  int rank;
  TileDim dim[MAX_RANK];
  Value *l0[MAX_RANK], *g0[MAX_RANK], *step;
  int32_t **own, **near;
  bool tests;
  struct LaneCells *lanes;
} Tile;

/* One cell of the block: builder of its code, element (`fixed` as a number, in all dimensions but the last, and
 * there, too, with lanes), cell,
 * coordinate, and coordinate with images wrapped. */
typedef struct Cell {
  Builder b;
  int32_t fixed[MAX_RANK];
  Value *e[MAX_RANK], *l[MAX_RANK], *g[MAX_RANK], *w[MAX_RANK];
} Cell;

/* The value of version `v` of `field` at `off` from cell `c` under `rules`, from a lane beside or the rows at the ends
 * of warps; `c` is of the instance that lanes_begin named. */
Value *lanes_access(const Tile *t, Builder *b, const Cell *c, int field, int v, const int64_t *off, const Rules *rules);
/* The value of `field` before the launch at `off` from cell `c` under `rules`, from global memory. */
Value *lanes_load(const Tile *t, Builder *b, const Cell *c, int field, const int64_t *off, const Rules *rules);
/* Begins another instance: nothing is known of the values of cells. */
void lanes_begin(const Tile *t);
/* Makes the arrays for the rows of field `f` that other warps read, one for each version that is read. */
void lanes_make_arrays(Tile *t, int f);
/* Makes version `v` of field `f` known to the warps above and below: the rows at the warp's ends. */
void lanes_publish(const Tile *t, Builder *b, int f, int v);
/* Adds the kernel of overlapped tiles for launch `l`, and its launch to `seq` (a TileFn). */
bool overlap_launch(Lowering *lo, HostSeq *seq, const Launch *l, const Schedule *s, const char *name, int steps);
/* The private array that holds version `v` of field `f`. */
int own_array(const Tile *t, int f, int v);

#endif
