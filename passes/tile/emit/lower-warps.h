/* passes/tile/emit/lower-warps.h: the kernel of warp-pipelined temporal blocking (private to passes/tile/emit).
 *
 *   warps-rows.c   the rows of a group through the levels of a warp
 *   warps-lines.c  choices that matter on one row alone
 *   warps-boundary.c   points outside of the main pieces, and beyond the fields' region
 *   warps-probes.c values that probes record
 *   warps-rings.c  places of rows in the rings
 *   warps-hold.c   numbers that two warps hold in shared memory from group to group
 *   warps-strip.c  strips and segments
 *   warps-copies.c rows from and to global memory by bulk copies
 *   lower-warps.c  the kernel: pass lower-warps
 *
 * The words are those of tile/warps.h. */
#ifndef STC_PASSES_LOWER_WARPS_H
#define STC_PASSES_LOWER_WARPS_H

#include "passes/tile/emit/move-rows.h"
#include "passes/tile/warps.h"
#include "passes/lower/lower.h"

/* Which points of a group's rows may lie outside of a main piece: none; the first and last cells of a lane, at the left
 * and right boundary; any. */
typedef enum WarpBoundary { BOUNDARY_NONE, BOUNDARY_SIDES, BOUNDARY_ANY, BOUNDARIES } WarpBoundary;

/* A segment. All numbers are i32; rows and columns are counted from the field's first.
 * first, end: its first row, the row after its last.
 * x, from, to, columns: the first column of its strip; columns [from, to) of the strip are stored, `columns` loaded.
 * y, groups: the first row that is loaded, the number of groups that are loaded.
 * inside_lo, inside_hi: a group needs no tests of rows (nor of columns, where the boundary is not near) if its first
 * row that arrives at a warp lies between these two, both included; NULL: not known yet.
 * sides (bool): no column of the segment needs a test; NULL: not known yet. */
typedef struct WarpSegment {
  Value *first, *end, *x, *from, *to, *columns, *y, *groups, *inside_lo, *inside_hi, *sides;
} WarpSegment;

/* A kernel that is being built. Rows move by bulk copies, which needs rows of whole 16 bytes, or lane by lane.
 * least_behind, most_behind: the least and the greatest number of columns that are copied after the fields' last column
 * to complete the last 16 bytes, where rows have a pitch. */
typedef struct WarpKernel {
  Lowering *lo;
  const Launch *l;
  const WarpLevel *e;
  WarpShape w;
  Kernel *k;
  Builder b;
  int32_t least_behind, most_behind;
  int32_t blocks;         /* of the launch */
  int full, empty, share; /* arrays */
  int held;               /* the array of held numbers, -1: none */
  int32_t *rings;         /* the array of each field's rings */
  Value *place;           /* of the current group in the rings of delayed reads, i32, NULL: there are none */
  int32_t *kept;          /* private arrays: the rows a level keeps of a value, [level * nvalues + value], -1: none */
  int32_t *spilled;       /* likewise: the outside values of rows until the rows are due */
  Value *lane, *warp;     /* i32 */
  Value *is_first, *is_final; /* is it the first (last) warp */
  Value *in_warp;             /* the lane's first column in the strip, i32 */
  Value *step;                /* the launch's first time step, or NULL */
  SpecialRows *special;       /* the level's */
  int nspecial;
  bool *is_special;       /* [value] */
  Value *rows, *columns;  /* of the fields, i64 */
  Value *copied;          /* columns of a row that are copied: the field's, and those that complete the last 16 bytes */
  Value *strips, *length; /* strips; rows of one strip in the list of all rows, with those that stand for its ends */
} WarpKernel;

/* The version, in the cell cache, of rows of choices that matter on one row alone. */
enum { ON_LINE = 1 };

static inline bool warps_bulk(const WarpKernel *k) { return k->w.move.kind == MOVE_BULK; }

/* A row of each field that has arrived at level `level`.
 * u, number: it is the `u`-th of the unrolled rows, number `number` (i32) of the group.
 * y, slot: the row of the field (i32), its place in the rings (i32).
 * special: the level may have more to compute on this row (SpecialRows).
 * cells: the cache of cells, by values of the level: the lane's cells of rows that are computed now; cells of the lanes
 * beside, where `back` is the age in rows; and those of choices that matter on one row alone, version ON_LINE, where
 * `back` is the time of the row. */
typedef struct WarpRow {
  WarpKernel *k;
  WarpBoundary boundary;
  bool special;
  int level, u;
  const WarpSegment *s;
  Value *x, *y, *number, *slot;
  CellCache *cells;
} WarpRow;

/* The lane's cells of the row of value `v` that is computed now. */
static inline Value **warps_now(const WarpRow *r, int v) { return cells_line(r->cells, (CellLine){.of = v}); }
/* Sets the cells of that row to `cells`. */
static inline void warps_set_now(WarpRow *r, int v, Value **cells) {
  cells_set_line(r->cells, (CellLine){.of = v}, cells);
}

/* Cell `i` of a row `y` of stage `stage` at time `time`; map[v]: value v, if it was built. on_line: the row is the one
 * on which choices matter (warps-lines.c). */
typedef struct WarpCell {
  WarpRow *r;
  int i, stage, time;
  Value *y, **map;
  bool on_line;
} WarpCell;

/* "x + y" and the like of integers and constants. */
Value *warps_add(WarpKernel *k, Value *x, int64_t y);
Value *warps_mul(WarpKernel *k, Value *x, int64_t y);
/* The coordinate in dimension `d`, i64, of row or column `x` (i32) of the fields. `legal`: a coordinate beyond the
 * region is wrapped, or becomes the nearest one inside. */
Value *warps_grid(WarpKernel *k, Value *x, int d, bool legal);
/* Dimension `d` of the main piece of new value `v` (v < 0: of the fields' region), as rows or columns of the field. */
Box warps_range(const WarpKernel *k, int v, int d);
/* Are the columns outside of the main piece of new value `v` at the left and at the right few, and constant in number
 * for all launches? Then *left and *right are these numbers; *right includes columns that are copied after the last
 * one. */
bool warps_sides(const WarpKernel *k, int v, int32_t *left, int32_t *right);
/* Is the field as wide as a strip? If not, its right boundary can be at any cell of a lane. */
Value *warps_wide(WarpKernel *k);

/* Makes the arrays of the rings. */
void warps_make_rings(WarpKernel *k);
/* The indices, in a ring in front of the first warp or after the last, of the cell in column `x` (i32) of row number
 * `u` (i32) of place `slot` (i32) of ring `ring` of field number `n`. */
void warps_end_ring(WarpKernel *k, int n, int ring, Value *slot, Value *u, Value *x, Value **at);
/* The indices of the lane's first cell: of the row of field number `n` that the warp takes from a ring when row `r`
 * arrives; of the row that it puts into the ring after the warp. */
void warps_row_taken(WarpRow *r, int n, Value **at);
void warps_row_put(WarpRow *r, int n, Value **at);
/* Fills rows with zeros that are read before any row was put there; no result depends on these zeros. */
void warps_start_rings(WarpKernel *k);
/* The place, in the rings of delayed reads, of the group after the current one. */
Value *warps_next_place(WarpKernel *k);

/* Computes the group of segment `s` whose first row that arrives at the warp is `y` (i32), in place `slot` (i32) of the
 * rings; special: the group may have special rows. */
void warps_group(WarpKernel *k, WarpBoundary boundary, bool special, const WarpSegment *s, Value *y, Value *slot);

/* Cell `i` of the row of value `v` that was made `age` rows before the current one. */
Value *warps_aged(WarpRow *r, int v, int age, int i);
/* The cell as a point, for code of bodies. */
Point warps_point(WarpCell *c);
/* Value `v`, of an operation, at the cell, which is point `p`. warps_on_line: the same for a choice that matters on one
 * row alone, built for all cells of the lane; NULL for other values. */
Value *warps_value(WarpCell *c, Point *p, int v);
Value *warps_on_line(WarpCell *c, Point *p, int v);
/* The value that use `u` reads at the cell. */
Value *warps_used(WarpCell *c, Point *p, const WarpUse *u);
/* The column of cell `i`, i32. */
Value *warps_column(WarpRow *r, int i);

/* Which versions of a group's code are needed? Are there points outside of a main piece, or reads beyond the region, at
 * all; is there a version for such points at the left and right boundary alone? */
bool warps_any_boundary(const WarpKernel *k);
bool warps_near_boundary(const WarpKernel *k);
/* Finds which groups of segment `s` need no tests. warps_is_inside: does the group whose first row is `y` need no test
 * of rows? */
void warps_find_inside(WarpKernel *k, WarpSegment *s);
Value *warps_is_inside(WarpKernel *k, const WarpSegment *s, Value *y);
/* Does the group whose first row is `y` have no special rows? NULL: the level has none. */
Value *warps_is_plain(WarpKernel *k, Value *y);
/* Value `v` of field `f` in column `i` of the lane, or the field's constant if the column is outside of the field. */
Value *warps_in_columns(WarpRow *r, int f, int i, Value *v);
/* Sets those cells of the row of value `v` that lie outside of the field to the field's constant. At the sides it does
 * so only for cells of a lane that may lie after the last column. */
void warps_make_constant(WarpRow *r, int v);
/* Spills the rows of outside value `v`. */
void warps_spill(WarpRow *r, int v);
/* Value `v` of the cell: `x`, or the outside value that `v` carries if the cell's column is outside of the main
 * piece. */
Value *warps_carry(WarpCell *c, int v, Value *x);
/* Replaces the cells of the row of new value `v`, which has just been computed, outside of the main piece. */
void warps_reload(WarpRow *r, int v);

/* Stores the row of value `v`, which a probe sees and which has just been computed, at the probe's points in the
 * segment. */
void warps_see(WarpRow *r, int v);

/* Numbers that are held in shared memory from group to group: how far the first warp's loads have got; the segment of
 * the last warp. At most HELD_NUMBERS numbers each. */
typedef enum WarpHeld { HELD_LOADS, HELD_SEGMENT, HELD } WarpHeld;
enum { HELD_NUMBERS = 8 };
/* Makes the array for these numbers, if any are to be held. */
void warps_make_held(WarpKernel *k);
/* Stores the `n` numbers v (i32) to that array; loads them. They are the same in all threads of the warp, and no other
 * warp reads them. */
void warps_hold(WarpKernel *k, WarpHeld what, int n, Value *const *v);
void warps_take_held(WarpKernel *k, WarpHeld what, int n, Value **v);

/* Integer `x`, i32. */
Value *warps_small(WarpKernel *k, int x);
/* Builds signal op `code` on place `slot` of ring `ring` in `array` of signals. */
void warps_signal(WarpKernel *k, Opcode code, int array, Value *value, Value *ring, Value *slot);
/* Enters code that one thread of the warp runs; *outer: the place after that code. */
void warps_go_alone(WarpKernel *k, Builder *outer);
/* Enters arm `arm` of `op`; *outer: the place after `op`. */
void warps_go_in(WarpKernel *k, const Op *op, int arm, Builder *outer);

/* How far the loads have got: the strip after that of the segment, the groups left of the segment, the next row to
 * load, first column and number of columns of its strip; i32. */
enum { LOAD_STRIP, LOAD_GROUPS, LOAD_Y, LOAD_X, LOAD_COLUMNS, LOADS };
/* If `any` (NULL: always), starts the copies of the group that `load` names to place `slot` of the first rings, by one
 * thread of the warp. Before that the lanes copy images that bulk copies cannot load. */
void warps_bring_group(WarpKernel *k, Value *any, Value *const *load, Value *slot);
/* If the warp is the first one, goes to the first segment (slot: NULL), or loads the next group; only then `load` is
 * advanced. */
void warps_load_if_first(WarpKernel *k, Value **load, Value *to, Value *slot);
/* Starts the copies of those rows of the group at place `slot` of the last ring that are the segment's; `y` is the
 * group's first row. Then waits until the rows of all but the latest `left` groups have been read. */
void warps_store_rows(WarpKernel *k, const WarpSegment *s, Value *y, Value *slot, int left);

/* Sets rows, columns, strips and length. */
void warps_measure(WarpKernel *k);
/* The strips from *from to before *to (i32) in which the block has segments. */
void warps_share(WarpKernel *k, Value **from, Value **to);
/* Makes the array of the block's share; stores to it (by one thread, before a barrier) what warps_segment reads. */
void warps_make_share(WarpKernel *k);
void warps_put_share(WarpKernel *k);
/* The segment in strip `s`. */
WarpSegment warps_segment(WarpKernel *k, Value *s);

#endif
