/* passes/tile/emit/loops/loops.h: what the lowerings for targets without threads share (private to passes/).
 *
 *   loops-arrays.c   which versions of fields need an array, and which go straight to global memory
 *   loops-region.c   the points that an instance computes, and those of them that need no test
 *   loops-cells.c    the code at one cell: accesses, equations, stores
 *   loops-nest.c     the loops about it: an instance on its region
 *   lower-loops.c    tiles that are computed one instance after the other: pass lower-loops
 *   lower-walk.c     streamed tiles, all instances in flight: pass lower-walk
 *
 * A block is one tile, a kernel's body loops over its cells. Cell 0 has the coordinate `base`; the tile's own first
 * cell, `lead` cells on, is the first that it stores. */
#ifndef STC_PASSES_LOOPS_H
#define STC_PASSES_LOOPS_H

#include "passes/lower/lower.h"

/* Places of a ring that were computed before the innermost loop: row `cell` + `off` of a ring of `rows` rows is at
 * `place`. */
typedef struct RingPlace {
  const Value *cell;
  int64_t off;
  int32_t rows;
  Value *place;
} RingPlace;
typedef struct RingPlaces {
  int32_t n;
  RingPlace *p;
} RingPlaces;

/* What a tile that is streamed has beside (lower-walk.c). The arrays of versions are rings of rows (planes) of
 * dimension 0 then. */
typedef struct Streamed {
  int32_t rows;       /* that every instance makes at a step */
  const int32_t *lag; /* [instance]: so many rows it is behind what is read from global memory */
  Value *row;         /* coordinate of the first row of the running step at lag 0, i64 */
  int32_t pad;        /* cells of an array's row before cell 0 */
  int32_t reach;      /* rows that accesses reach back from the tile's first, at most */
  RingPlaces places;
} Streamed;

/* A kernel in the making. cells and base are about the region of the launch's hull. */
typedef struct LoopTile {
  Lowering *lo;
  const Launch *l;
  int kernel; /* index in the module */
  int rank;
  int only;                /* the one target to write (the others have kernels of their own), -1: all */
  int32_t width[MAX_RANK]; /* points stored */
  int32_t cells[MAX_RANK]; /* points computed: width and the hull */
  int32_t lead[MAX_RANK];  /* cells before the first that is stored */
  Box covers;              /* the points that instances compute: the grid, or those that have something to do */
  Box tiles;               /* those of them that tiles store: all, or in a part of a grid what the launch is told */
  int32_t lines;           /* lines of the dimension before the last that the fast loops compute together */
  Value *base[MAX_RANK];   /* i64 */
  int32_t **array;         /* [field][version]: index of the array that holds it, -1: none */
  Streamed *streamed;      /* NULL: it is not streamed */
  Value *more, *fewer; /* i64: rows of dimension 0 that are stored beyond width, points of the last one within it that
                          are not; NULL: none */
} LoopTile;

/* A box of coordinates known at run time, both ends inclusive, i64. */
typedef struct Region {
  Value *lo[MAX_RANK], *hi[MAX_RANK];
} Region;

/* ---------------------------------------------------------------- loops-arrays.c */

/* Gives an array, made by `make` for version `v` of `field`, the target of instance `i`, to every version from 1 on
 * that is read in the launch, or that is computed on more than the output tile and stored. LoopTile.array lives in the
 * scratch of the module's arena. */
typedef int (*ArrayFn)(LoopTile *t, int i, int field, int v);
void tile_arrays(LoopTile *t, ArrayFn make);
/* Does instance `i` store its version of `field` straight to global memory? (So it must be the last one and on the
 * output tile only.) */
bool stores_directly(const LoopTile *t, int field, int i);
/* Does instance `i` carry values of `field`, one of its targets, over to the new version? */
bool keeps_values(const Launch *l, int i, int field);

/* ---------------------------------------------------------------- loops-region.c */

/* x + c for a constant c. */
Value *plus_i64(Builder *b, Value *x, int64_t c);
/* The cells to both sides of the output tile that instance `i` computes: its extent; of a tile that is streamed, whole
 * vectors in the last dimension, if all that it makes goes to arrays. */
Extent tile_extent(const LoopTile *t, int i);
/* The region of instance i: its extent about the output tile, clipped to the grid (where dimensions wrap: to the grid
 * and its images within the extent), and to the rows of the running step. */
Region instance_region(const LoopTile *t, Builder *b, int i);
/* The points that the tile stores. */
Region tile_region(const LoopTile *t, Builder *b);
/* The rows of `r` that are made in the running step with lag `lag`. */
void region_rows(const LoopTile *t, Builder *b, int lag, Region *r);
/* The part of `in` within `box`; where that is empty in a dimension, an empty range that starts within `in` or just
 * after it. */
Region region_clip(const LoopTile *t, Builder *b, const Region *in, const Region *box);
/* The box as run-time bounds. */
Region region_of_box(const LoopTile *t, Builder *b, const Box *box);
/* Does an access of `piece` of instance `i` need an outside rule, beside constants that are in the array that it reads?
 */
bool piece_has_rules(const LoopTile *t, int i, const Piece *piece);
/* Is it worth making its points that need one by vectors under masks? Only if a constant is beyond the ends of rows.
 * Not if a rule leads an access along the row to another cell, since vectors gather such cells one by one, nor if the
 * body calls a library, which a vector does for all lanes, also those of no point. */
bool piece_pays_masked(const LoopTile *t, int i, const Piece *piece);
/* Does the array of version `v` of `field`, of a tile that is streamed, have the field's constant in its cells beyond
 * the edges of the grid in dimension `d`, where no instance computes? */
bool has_constant_cells(const LoopTile *t, int field, int v, int d);
/* The points of `region` at which `piece` of instance i can be computed without any test. */
Region fast_region(const LoopTile *t, Builder *b, int i, const Piece *piece, const Region *region);
/* The cell of coordinate x in dimension d, i32; the coordinate of a cell, i64. */
Value *cell_of(const LoopTile *t, Builder *b, Value *x, int d);
Value *coordinate_of(const LoopTile *t, Builder *b, Value *cell, int d);

/* ---------------------------------------------------------------- loops-cells.c */

/* The new values of all targets of instance i at `n` points of `piece`, stored: at `cell`, in the dimension before the
 * last at each of `lines`, which are beside each other (rank 1: one point; `lines` does not matter). They are in the
 * fast box: no test is needed. */
void build_fast_cells(const LoopTile *t, Builder *b, int i, const Piece *piece, int n, Value *const *cell,
                      Value *const *lines);
/* The value of all targets at a cell by tests, stored. */
void build_slow_cell(const LoopTile *t, Builder *b, int i, Value *const *cell);
/* The new values that `piece` gives its targets at a cell of it by tests, stored. No image is near. */
void build_slow_piece(const LoopTile *t, Builder *b, int i, const Piece *piece, Value *const *cell);
/* Has instance `i` anything to do for cells of `field`, one of its targets, that it leaves as they are? */
bool carries_over(const LoopTile *t, int i, int field);
/* Carries the value of `field` over at a cell within the field's region; 0 in an array if it has none yet in this step.
 * No image is near. */
void build_kept_cell(const LoopTile *t, Builder *b, int i, int field, Value *const *cell);
/* Copies the last version of `field` from its array to global memory, at a cell that the tile stores. */
void build_copy_out(const LoopTile *t, Builder *b, int field, Value *const *cell);
/* Puts the constant of `field` into a cell of the array of its version `v`, beyond the field's region. */
void build_constant_cell(const LoopTile *t, Builder *b, int field, int v, Value *const *cell);
/* Computes before the innermost loop where those rows of rings are that instance `i` needs for `piece` at the `n` cells
 * `lines` (i32) of dimension 0, which are beside each other. */
void build_places(const LoopTile *t, Builder *b, int i, const Piece *piece, Value *const *lines, int n);

/* ---------------------------------------------------------------- loops-nest.c */

/* Instance i on its region: what it keeps carried over, and for each piece the fast box without any test, both with the
 * innermost loop parallel; what is left of a piece, if anything, by tests. */
void build_instance(const LoopTile *t, Builder *b, int i);
/* Opens a loop over cells lo <= x < hi, `stride` apart, at `b`, which then builds inside it; returns the cell. */
Value *open_loop(Builder *b, Value *lo, Value *hi, int64_t stride, int flags);
/* Puts the constants of fields into the cells that has_constant_cells says before the tile's first step: beside the
 * grid in all rows of the rings, which no row that is made touches, and where the tile begins at the grid's first row,
 * in all of the rings, which the rows before that one count as. */
void build_constant_cells(const LoopTile *t, const Builder *b);
/* The same in the running step, in the rows behind the grid's last one that would be instance i's. */
void build_constant_rows(const LoopTile *t, const Builder *b, int i);
/* Copies what a thin launch stored to other buffers, at the points of its pieces, back. */
void build_copy_back(const LoopTile *t, Builder *b);
/* Copies the last version of each field that stays in an array to global memory: the output tile's points, or those of
 * them in the rows of the running step. */
void build_write_back(const LoopTile *t, Builder *b);

/* ---------------------------------------------------------------- lower-loops.c */

/* Builds the kernel of launch `l` for target `only` (-1: all), with tiles that compute `block` points, and adds its
 * launch to `seq`. */
void loops_launch(Lowering *lo, HostSeq *seq, const Launch *l, int only, const char *name, const int32_t *block,
                  int steps);
/* The init sequence: a kernel for each target of each init, so that one can be left out whose field has data. */
void loops_inits(Lowering *lo, const int32_t *block);

#endif
