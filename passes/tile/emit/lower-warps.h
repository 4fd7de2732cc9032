/* passes/tile/emit/lower-warps.h: the kernel of warp-pipelined temporal blocking (private to passes/tile/emit).
 *
 *   warps-rows.c   the rows of a group through the levels of a warp
 *   warps-lines.c  choices that matter on one row alone
 *   warps-boundary.c   points outside of the main pieces, and beyond the fields' region
 *   warps-probes.c what probes see
 *   warps-rings.c  where rows lie in the rings
 *   warps-hold.c   what two warps hold in shared memory from group to group
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

/* Which points a group's rows may have outside of a main piece: none; the first and last cells of a lane, at the left
 * and right boundary; any. */
typedef enum WarpBoundary { BOUNDARY_NONE, BOUNDARY_SIDES, BOUNDARY_ANY, BOUNDARIES } WarpBoundary;

/* A segment: its first row, the row behind its last, the first column of its strip; of that columns [from, to) are
 * stored, and `columns` loaded. The first row that comes in, and the groups that do. All i32; rows and columns are
 * counted from the field's first. inside_lo, inside_hi: a group whose first row that comes to a warp is one of these
 * needs no tests of rows (nor of columns, where the boundary is not near); sides (bool): its columns need none. NULL:
 * not known yet. */
typedef struct WarpSegment {
  Value *first, *end, *x, *from, *to, *columns, *y, *groups, *inside_lo, *inside_hi, *sides;
} WarpSegment;

/* A kernel in the making. Rows go by bulk copies, which needs rows of whole 16 bytes, or lane by lane.
 * least_behind, most_behind: so many columns, at least and at most, are copied behind the fields' last, which has rows
 * with a pitch: what makes the last 16 bytes whole. */
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
  int held;               /* the array of what is held, -1: nothing is */
  int32_t *rings;         /* such: that of each field */
  Value *place;           /* of the group at hand in the rings of delayed reads, i32, NULL: there are none */
  int32_t *kept;          /* private arrays: what a level keeps of a value, [level * nvalues + value], -1: nothing */
  int32_t *spilled;       /* such: what rows become outside of the main piece, until they are due */
  Value *lane, *warp;     /* i32 */
  Value *is_first, *is_final; /* is it the first (last) warp */
  Value *in_warp;             /* the lane's first column in the strip, i32 */
  Value *step;                /* the launch's first time step, or NULL */
  SpecialRows *special;       /* the level's */
  int nspecial;
  bool *is_special;       /* [value] */
  Value *rows, *columns;  /* of the fields, i64 */
  Value *copied;          /* columns of a row that are copied: those, and what makes the last 16 bytes whole */
  Value *strips, *length; /* strips; rows of one, with what a segment costs beside */
} WarpKernel;

/* The version, in the cache, of rows of choices that matter on one row alone. */
enum { ON_LINE = 1 };

static inline bool warps_bulk(const WarpKernel *k) { return k->w.move.kind == MOVE_BULK; }

/* A row of each field that has come to level `level`: the `u`-th of those that are written out, number `number` (i32)
 * of the group, row `y` (i32) of the field, in place `slot` (i32) of the rings. special: it may be one on which the
 * level has more to do. cells: by values of the level, the lane's cells of the rows that are made now, cells of the
 * lanes beside, as rows back, and those of choices that matter on one row alone, under ON_LINE, as rows back from the
 * one that came. */
typedef struct WarpRow {
  WarpKernel *k;
  WarpBoundary boundary;
  bool special;
  int level, u;
  const WarpSegment *s;
  Value *x, *y, *number, *slot;
  CellCache *cells;
} WarpRow;

/* The lane's cells of the row of value `v` that is made now. */
static inline Value **warps_now(const WarpRow *r, int v) { return cells_line(r->cells, (CellLine){.of = v}); }
/* Makes `cells` that row. */
static inline void warps_set_now(WarpRow *r, int v, Value **cells) {
  cells_set_line(r->cells, (CellLine){.of = v}, cells);
}

/* Cell `i` of such a row of stage `stage` at time `time`, its row being `y`; value v is map[v] if it was made. on_line:
 * the row is where values are made that are a constant elsewhere. */
typedef struct WarpCell {
  WarpRow *r;
  int i, stage, time;
  Value *y, **map;
  bool on_line;
} WarpCell;

/* "x + y" and the like of integers and constants. */
Value *warps_add(WarpKernel *k, Value *x, int64_t y);
Value *warps_mul(WarpKernel *k, Value *x, int64_t y);
/* The coordinate in dimension `d`, i64, of row or column `x` (i32) of the fields; what is beyond is wrapped or brought
 * to the nearest if `legal`. */
Value *warps_grid(WarpKernel *k, Value *x, int d, bool legal);
/* Box dimension `d` of the main piece of new value `v`, as rows or columns of the field. */
Box warps_range(const WarpKernel *k, int v, int d);
/* Are the points outside of the main piece of new value `v` at the left and right few columns, as many whatever the
 * launch says? Then *left and *right are those, at the right with what is copied beside. */
bool warps_sides(const WarpKernel *k, int v, int32_t *left, int32_t *right);
/* Is the field as wide as a strip? Else its right boundary can be any cell of a lane. */
Value *warps_wide(WarpKernel *k);

/* Makes the arrays of the rings. */
void warps_make_rings(WarpKernel *k);
/* The indices of the first cell, in column `x` (i32), of row number `u` (i32) of place `slot` (i32) in ring `ring` of
 * field number `n`, the ring being that in front of the first warp or that behind the last. */
void warps_end_ring(WarpKernel *k, int n, int ring, Value *slot, Value *u, Value *x, Value **at);
/* The indices of the lane's first cell of the row of field number `n` that is taken when row `r` comes; of that which
 * is put into the ring behind the warp. */
void warps_row_taken(WarpRow *r, int n, Value **at);
void warps_row_put(WarpRow *r, int n, Value **at);
/* Fills with zeros what is read before any row was put there; these zeros are never used. */
void warps_start_rings(WarpKernel *k);
/* The place of the group behind the one at hand. */
Value *warps_next_place(WarpKernel *k);

/* Computes the group of segment `s` whose first row that comes to the warp is `y` (i32), place `slot` (i32) of the
 * rings; special: it may have rows on which the level has more to do. */
void warps_group(WarpKernel *k, WarpBoundary boundary, bool special, const WarpSegment *s, Value *y, Value *slot);

/* Cell `i` of the row of value `v` that was made `age` rows before the one at hand. */
Value *warps_aged(WarpRow *r, int v, int age, int i);
/* The point that the cell is, for code of bodies. Column of cell `i`, i32. */
Point warps_point(WarpCell *c);
/* Value `v`, of an operation, at the cell, which is point `p`; the same if it is a choice that matters on one row
 * alone, made for all cells of the lane, else NULL. */
Value *warps_value(WarpCell *c, Point *p, int v);
Value *warps_on_line(WarpCell *c, Point *p, int v);
/* What the cell gets by use `u`. */
Value *warps_used(WarpCell *c, Point *p, const WarpUse *u);
Value *warps_column(WarpRow *r, int i);

/* Which versions of a group's code are there: with points outside of a main piece or of the region at all; with such at
 * the left and right boundary alone. */
bool warps_any_boundary(const WarpKernel *k);
bool warps_near_boundary(const WarpKernel *k);
/* Finds which groups of segment `s` need no tests. Does that whose first row is `y` need none of rows? */
void warps_find_inside(WarpKernel *k, WarpSegment *s);
Value *warps_is_inside(WarpKernel *k, const WarpSegment *s, Value *y);
/* Has the group whose first row is `y` no rows on which the level has more to do? NULL: there are no such rows. */
Value *warps_is_plain(WarpKernel *k, Value *y);
/* Cell `v` of field `f` in column `i` of the lane, or the field's constant if its column is none of the field's. */
Value *warps_in_columns(WarpRow *r, int f, int i, Value *v);
/* Makes the cells of the row of value `v` that are none of the field's its constant: at the sides those alone that may
 * be behind the last column in a lane. */
void warps_make_constant(WarpRow *r, int v);
/* Puts by what the rows of outside value `v` are. */
void warps_spill(WarpRow *r, int v);
/* Value `v` of the cell, which is `x`, or what its place carries if the cell's column is outside of the main piece. */
Value *warps_carry(WarpCell *c, int v, Value *x);
/* Makes the row of new value `v`, which has come to be, what it is outside of the main piece. */
void warps_reload(WarpRow *r, int v);

/* Stores the row of value `v`, which a probe sees and which has come to be, at the probe's points of the segment. */
void warps_see(WarpRow *r, int v);

/* What is held in shared memory from group to group: where the first warp has got to with loads; the last one's
 * segment. At most so many numbers each. */
typedef enum WarpHeld { HELD_LOADS, HELD_SEGMENT, HELD } WarpHeld;
enum { HELD_NUMBERS = 8 };
/* Makes the array for it, if anything is to be held. */
void warps_make_held(WarpKernel *k);
/* Puts the `n` numbers v (i32, the same in all threads of the warp, which is the only one that takes them) there; takes
 * them back. */
void warps_hold(WarpKernel *k, WarpHeld what, int n, Value *const *v);
void warps_take_held(WarpKernel *k, WarpHeld what, int n, Value **v);

/* Integer `x`, i32. */
Value *warps_small(WarpKernel *k, int x);
/* An op on signal `slot` of those of ring `ring`. */
void warps_signal(WarpKernel *k, Opcode code, int array, Value *value, Value *ring, Value *slot);
/* Begins what one thread of the warp does. */
void warps_go_alone(WarpKernel *k, Builder *outer);
/* Goes into arm `arm` of `op`; what the place outside is goes to *outer. */
void warps_go_in(WarpKernel *k, const Op *op, int arm, Builder *outer);

/* How far loads have got: strip behind that of the segment, groups left of it, row that comes next,
 * column and columns of its strip; i32. */
enum { LOAD_STRIP, LOAD_GROUPS, LOAD_Y, LOAD_X, LOAD_COLUMNS, LOADS };
/* Begins the copies of the group that `load` names to place `slot` of the first rings, by one thread of the warp, if
 * `any` (NULL: yes); images that bulk copies cannot bring go by the lanes, first. */
void warps_bring_group(WarpKernel *k, Value *any, Value *const *load, Value *slot);
/* Goes to the first segment (slot: NULL), or loads the next group, where the warp is the first, `load` being led on
 * there alone. */
void warps_load_if_first(WarpKernel *k, Value **load, Value *to, Value *slot);
/* Begins the copies of those rows of the group at place `slot` of the last ring that are the segment's; the first is
 * row `y`. Then waits until the rows of all but the latest `left` groups have been read. */
void warps_store_rows(WarpKernel *k, const WarpSegment *s, Value *y, Value *slot, int left);

/* Sets rows, columns, strips and length. */
void warps_measure(WarpKernel *k);
/* The strips from *from to before *to (i32) in which the block has segments. */
void warps_share(WarpKernel *k, Value **from, Value **to);
/* Makes the array, and puts into it (by one thread, before a barrier), what warps_segment needs. */
void warps_make_share(WarpKernel *k);
void warps_put_share(WarpKernel *k);
/* The segment in strip `s`. */
WarpSegment warps_segment(WarpKernel *k, Value *s);

#endif
