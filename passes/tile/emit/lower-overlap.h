/* passes/tile/emit/lower-overlap.h: an overlapped tile that is being built (private to its lowering).
 *
 *   lower-overlap.c   the pass
 *   overlap-lanes.c   tiles in the registers of lanes: cells of other threads */
#ifndef STC_PASSES_LOWER_OVERLAP_H
#define STC_PASSES_LOWER_OVERLAP_H

#include "passes/tile/emit/move-rows.h"
#include "passes/tile/mapping.h"
#include "passes/lower/lower.h"

/* Tiles in the registers of lanes. seen: the values that were built for the current instance, by numbers and versions
 * of fields. */
typedef struct LaneCells {
  bool *vectors; /* [field]: global memory is read and written by vectors */
  CellCache *seen;
} LaneCells;

/* A kernel that is being built.
 * l0[d], g0[d]: the cell of the thread's element 0, its coordinate in i64.
 * own[f][v % depth], near[f][v]: the private and the shared array that hold version v of field f, -1: none.
 * tests: has_tests.
 * lanes: tiles in the registers of lanes. NULL: threads have columns, and all cells that other threads read are in
 * shared memory. */
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

/* One cell of the block. b: the builder of its code; e: its element, as a number in `fixed` in all dimensions but the
 * last, with lanes also in the last; l: the cell; g: its coordinate; w: the coordinate with images wrapped. */
typedef struct Cell {
  Builder b;
  int32_t fixed[MAX_RANK];
  Value *e[MAX_RANK], *l[MAX_RANK], *g[MAX_RANK], *w[MAX_RANK];
} Cell;

/* The value of version `v` of `field` at `off` from cell `c` under `rules`, from a neighbouring lane or from the rows
 * at the ends of warps. `c` belongs to the instance that lanes_begin began. */
Value *lanes_access(const Tile *t, Builder *b, const Cell *c, int field, int v, const int64_t *off, const Rules *rules);
/* The value of `field` before the launch at `off` from cell `c` under `rules`, from global memory. */
Value *lanes_load(const Tile *t, Builder *b, const Cell *c, int field, const int64_t *off, const Rules *rules);
/* Begins another instance: forgets the values of all cells. */
void lanes_begin(const Tile *t);
/* Makes the arrays for the rows of field `f` that other warps read, one for each version that is read. */
void lanes_make_arrays(Tile *t, int f);
/* Stores the rows of version `v` of field `f` at the warp's ends for the warps above and below. */
void lanes_publish(const Tile *t, Builder *b, int f, int v);
/* Adds the kernel of overlapped tiles for launch `l`, and its launch to `seq` (a TileFn). */
bool overlap_launch(Lowering *lo, HostSeq *seq, const Launch *l, const Schedule *s, const char *name, int steps);
/* The private array that holds version `v` of field `f`. */
int own_array(const Tile *t, int f, int v);

#endif
