/* passes/tile/emit/loops/loops.h: what the lowerings for targets without threads share (private to passes/).
 *
 *   loops-arrays.c   which versions of fields need an array, and which go straight to global memory
 *   loops-region.c   the points that an instance computes, and those of them that need no test
 *   loops-cells.c    the code at one cell: accesses, equations, stores
 *   loops-nest.c     the loops around it: an instance on its region
 *   lower-loops.c    tiles that are computed one instance after the other: pass lower-loops
 *   lower-walk.c     streamed tiles, all instances in flight: pass lower-walk
 *
 * A block is one tile; a kernel's body loops over its cells. Cell 0 has the coordinate `base`; the first cell that the
 * tile stores is `lead` cells on. */
#ifndef STC_PASSES_LOOPS_H
#define STC_PASSES_LOOPS_H

#include "passes/lower/lower.h"

/* Places in rings that were computed before the innermost loop: row `cell` + `off` of a ring of `rows` rows is at
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

/* What a streamed tile has in addition (lower-walk.c). The arrays of versions then are rings of rows (planes) of
 * dimension 0. */
typedef struct Streamed {
  int32_t rows;       /* that every instance makes at a step */
  const int32_t *lag; /* [instance]: how many rows it is behind the row that is read from global memory */
  Value *row;         /* coordinate of the first row of the running step at lag 0, i64 */
  int32_t pad;        /* cells of an array's row before cell 0 */
  int32_t reach;      /* rows that accesses reach back from the tile's first, at most */
  RingPlaces places;
} Streamed;

/* A kernel that is being built. cells and base describe the region of the launch's hull. */
typedef struct LoopTile {
  Lowering *lo;
  const Launch *l;
  int kernel; /* index in the module */
  int rank;
  int only;                /* the one target to write (the others have kernels of their own), -1: all */
  int32_t width[MAX_RANK]; /* points stored */
  int32_t cells[MAX_RANK]; /* points computed: width and the hull */
  int32_t lead[MAX_RANK];  /* cells before the first that is stored */
  Box covers;              /* the points that instances compute: the grid, or those that have something to compute */
  Box tiles;               /* those of them that tiles store: all, or in a part of a grid those that the launch names */
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

/* Makes an array, by `make`, for each version from 1 on that is read in the launch, or that is stored and computed on
 * more than the output tile; version `v` of `field` is the target of instance `i`. LoopTile.array lives in the scratch
 * of the module's arena. */
typedef int (*ArrayFn)(LoopTile *t, int i, int field, int v);
void tile_arrays(LoopTile *t, ArrayFn make);
/* Does instance `i` store its version of `field` straight to global memory? (Then it must be the last version, computed
 * on the output tile only.) */
bool stores_directly(const LoopTile *t, int field, int i);
/* Does instance `i` copy values of `field`, one of its targets, to the new version? */
bool keeps_values(const Launch *l, int i, int field);

/* ---------------------------------------------------------------- loops-region.c */

/* x + c for a constant c. */
Value *plus_i64(Builder *b, Value *x, int64_t c);
/* The cells on both sides of the output tile that instance `i` computes: its extent. In a streamed tile, it is whole
 * vectors in the last dimension if all its targets go to arrays. */
Extent tile_extent(const LoopTile *t, int i);
/* The region of instance i: its extent about the output tile, clipped to the grid (where dimensions wrap: to the grid
 * and its images within the extent), and to the rows of the running step. */
Region instance_region(const LoopTile *t, Builder *b, int i);
/* The points that the tile stores. */
Region tile_region(const LoopTile *t, Builder *b);
/* Limits `r` to the rows that are made in the running step with lag `lag`. */
void region_rows(const LoopTile *t, Builder *b, int lag, Region *r);
/* The part of `in` within `box`; where that is empty in a dimension, an empty range that starts within `in` or just
 * after it. */
Region region_clip(const LoopTile *t, Builder *b, const Region *in, const Region *box);
/* The box as run-time bounds. */
Region region_of_box(const LoopTile *t, Builder *b, const Box *box);
/* Does an access of `piece` of instance `i` have to apply an outside rule, other than constants that are in the array
 * that it reads? */
bool piece_has_rules(const LoopTile *t, int i, const Piece *piece);
/* Does it pay to compute points of `piece` that need an outside rule by vectors under masks? Only if there is a
 * constant beyond the ends of rows. Not if a rule leads an access along the row to another cell, since vectors gather
 * such cells one by one, nor if the body calls a library, which a vector does for all lanes, also for those without a
 * point. */
bool piece_pays_masked(const LoopTile *t, int i, const Piece *piece);
/* In a streamed tile: does the array of version `v` of `field` have the field's constant in its cells beyond the edges
 * of the grid in dimension `d`, where no instance computes? */
bool has_constant_cells(const LoopTile *t, int field, int v, int d);
/* The points of `region` at which `piece` of instance i can be computed without any test. */
Region fast_region(const LoopTile *t, Builder *b, int i, const Piece *piece, const Region *region);
/* The cell of coordinate x in dimension d, i32; the coordinate of a cell, i64. */
Value *cell_of(const LoopTile *t, Builder *b, Value *x, int d);
Value *coordinate_of(const LoopTile *t, Builder *b, Value *cell, int d);

/* ---------------------------------------------------------------- loops-cells.c */

/* Computes and stores the new values of all targets of instance i at `n` points of `piece`: at `cell`, in the dimension
 * before the last at each of `lines`, which are adjacent (rank 1: one point; `lines` does not matter). The points are
 * in the fast box: no test is needed. */
void build_fast_cells(const LoopTile *t, Builder *b, int i, const Piece *piece, int n, Value *const *cell,
                      Value *const *lines);
/* Computes and stores the values of all targets at a cell, with tests. */
void build_slow_cell(const LoopTile *t, Builder *b, int i, Value *const *cell);
/* Computes and stores the new values that `piece` gives its targets at a cell of it, with tests. No image is near. */
void build_slow_piece(const LoopTile *t, Builder *b, int i, const Piece *piece, Value *const *cell);
/* Must instance `i` copy the cells of `field`, one of its targets, that it does not write? */
bool carries_over(const LoopTile *t, int i, int field);
/* Copies the value of `field` to the new version at a cell within the field's region; in an array, 0 if the field has
 * none yet in this step. No image is near. */
void build_kept_cell(const LoopTile *t, Builder *b, int i, int field, Value *const *cell);
/* Copies the last version of `field` from its array to global memory, at a cell that the tile stores. */
void build_copy_out(const LoopTile *t, Builder *b, int field, Value *const *cell);
/* Stores the constant of `field` to a cell of the array of its version `v`, beyond the field's region. */
void build_constant_cell(const LoopTile *t, Builder *b, int field, int v, Value *const *cell);
/* Before the innermost loop, computes the places in rings of the rows that instance `i` needs for `piece` at the `n`
 * cells `lines` (i32) of dimension 0, which are adjacent. */
void build_places(const LoopTile *t, Builder *b, int i, const Piece *piece, Value *const *lines, int n);

/* ---------------------------------------------------------------- loops-nest.c */

/* Builds instance i on its region: copies the values that it keeps, and computes the fast box of each piece without any
 * test, both with the innermost loop parallel; then the rest of each piece, if any, with tests. */
void build_instance(const LoopTile *t, Builder *b, int i);
/* Opens a loop over cells lo <= x < hi by `stride` at `b`, which then builds inside it; returns the cell. */
Value *open_loop(Builder *b, Value *lo, Value *hi, int64_t stride, int flags);
/* Before the tile's first step, stores the constants of fields to the cells that has_constant_cells names: beside the
 * grid in all rows of the rings, which no row that is made touches; and, where the tile begins at the grid's first row,
 * in all of the rings, whose rows then are those before the first one. */
void build_constant_cells(const LoopTile *t, const Builder *b);
/* In the running step, stores the constants to those rows of instance i that lie after the grid's last row. */
void build_constant_rows(const LoopTile *t, const Builder *b, int i);
/* Copies points of the pieces that a thin launch stored to other buffers back. */
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
