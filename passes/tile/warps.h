/* passes/tile/warps.h: a step as levels of a pipeline of warps in time.
 *
 *   warps.c         a level of the pipeline: the rows of values that a time step makes of its fields
 *   warps-times.c   when each of these rows is made, and how long it is kept
 *   warps-shape.c   the sizes of a tile
 *   warps-choices.c choices that matter on one row alone
 *   warps-count.c    the cost of computing a level
 *
 * Words: a block takes *segments*: runs of rows of a *strip* of 32 X columns. Its W warps are a pipeline in time: warp
 * w makes levels w C + 1 to (w + 1) C of the whole strip. A *level* is a time step: its stencils, the *stages*, one
 * after the other. Rows arrive in order, one of each field at once; U of them are a *group*. Between two warps they go
 * through *rings* of G groups in shared memory, one ring for each field. When row y has arrived at a level, the level
 * makes row y - t of each of its values, where t is that value's *time*. Rows of a value are *kept* until the last
 * value that uses them is made. A level that is alone in its warp may delay its reads of a field: it reads row y - t of
 * the field when row y has arrived. */
#ifndef STC_PASSES_WARPS_H
#define STC_PASSES_WARPS_H

#include "passes/launch/launch.h"
#include "passes/tile/move.h"

/* The kinds of values: INPUT: a field's, as it arrives at the level; OP: of an operation of a main piece's body; NEW: a
 * field's new value after a stage; OUTSIDE: a new value's outside of the main piece; NOTHING: an access, or a value
 * that is not needed. */
typedef enum WarpKind { WARP_NOTHING, WARP_INPUT, WARP_OP, WARP_NEW, WARP_OUTSIDE } WarpKind;

/* A use of value number `value`, off[0] rows and off[1] columns away. If, in dimension d, rule[d] may lead the use from
 * beyond the region to points near it, those are lo[d] to hi[d] away. */
typedef struct WarpUse {
  int32_t value, off[2], lo[2], hi[2];
  OutsideRule rule[2];
} WarpUse;

/* A value of a level, which has one number at each point.
 * free: it can be computed anywhere, from no field; of_row: and it is the same in all columns.
 * field: of the module, for values that are not of an operation.
 * piece: the main piece from which it is; outside: of a new value, the value that it has outside of that piece, -1: the
 * piece is the whole region.
 * carries: the new value whose outside value its place holds, for points that are outside, between its time and the
 * next, -1: none. carried: all of a new value's outside value is carried this way.
 * time, until: row y - time is made when row y has arrived, and used until row y - until is due.
 * choice: a select that yields its third operand on all rows but one; apart: it is needed only for what such choices
 * yield on that row.
 * lo, hi: how far down and up the fields that arrived are read. */
typedef struct WarpValue {
  WarpKind kind;
  int32_t stage, field, outside, carries, nuses, time, until;
  const Op *op;
  const Piece *piece;
  Type type;
  bool free, of_row, wanted, carried, choice, apart;
  WarpUse *uses;
  int32_t lo[2], hi[2];
} WarpValue;

/* A field that goes from level to level: its number in the module; its value as it arrives, -1: nobody needs that; its
 * value as it leaves. written: a stage writes it. */
typedef struct WarpField {
  int32_t field, in, out;
  bool written;
} WarpField;

/* A level: the `n` stages at st.
 * sees[stage * Module.nfields + f]: the value that field f has before that stage, -1: none.
 * base[stage][piece]: the number of the first value of that body, whose values are in order of their ids; -1: the piece
 * is no main piece.
 * lag, latest: fields leave `lag` rows after they arrive; no value has a time after `latest`, which is lag or more: a
 * step may read on one side and back again.
 * keeps: no value is used so many rows after it was made.
 * below, above, left, right: how far a level reads; beside: the greatest number of columns that one access does.
 * sums: all kept values are sums to which a row is added.
 * constant: a field is read beyond its region, where it is a constant; wraps: in dimension d points beyond are images
 * of those at the other end; ruled: the greatest distance beyond an edge of dimension d from which a rule leads a use
 * to a point.
 * delay: the latest time of a field that arrives: the field is read so many rows later.
 * alone: the same level as it is best where it is the only one of its warp; delayed: the same with delayed reads, of
 * which there may be none. */
typedef struct WarpLevel {
  const Module *m;
  const Stencil *st;
  int32_t n, nvalues, nfields, *sees, **base;
  WarpValue *value;
  WarpField *field;
  int32_t lag, latest, delay, keeps, below, above, left, right, beside, ruled[2];
  bool sums, constant, wraps[2];
  const struct WarpLevel *alone, *delayed;
} WarpLevel;

/* The level of module `m` (its last, if it is tiled); NULL and *why (the end of a sentence) if it does not fit. */
const WarpLevel *warps_level(const Module *m, const char **why);
/* The variant of level `e` for schedule `s`: whether it is alone in its warp, and if so, whether reads of fields are
 * delayed, as the mapping says. */
const WarpLevel *warps_level_for(const WarpLevel *e, const Schedule *s);
/* The region of the fields. */
const Box *warps_region(const WarpLevel *e);
/* Sets choice and apart of the values of `e`, whose `wanted` is known. */
void warps_find_choices(WarpLevel *e);
/* Special rows: rows of the grid, [lo, hi] of dimension 0, that nearly no group has, and on which the level has more to
 * compute: choices, and values that probes see. There are at most MOST_SPECIAL, *n of them, and none where rows are
 * images of others. Other choices and probes are in all rows' code. is[v] becomes: is value `v`, a choice or a value
 * that a probe sees, needed on such rows alone? */
enum { MOST_SPECIAL = 4 };
typedef struct SpecialRows {
  Affine lo, hi;
} SpecialRows;
SpecialRows *warps_special_rows(const WarpLevel *e, int *n, bool *is);
/* The values whose conjunction is condition `v`: *n numbers in arena `a`. */
int *warps_condition_parts(Arena *a, const WarpLevel *e, int v, int *n);
/* Sets time and until of the values of `e`, lag, latest, delay and keeps: such that the fewest rows are kept, and then
 * that values are made as early as possible. Reads of fields that arrive may be delayed if `late`. */
void warps_times(WarpLevel *e, bool late);
/* The time of field number `n` of the level as it arrives; 0: it does not. */
int32_t warps_delay(const WarpLevel *e, int n);
/* Rows of value number `v` that are kept in registers. */
int32_t warps_kept(const WarpLevel *e, int v);
/* Is value `x` made by an operation at nearly every point? */
bool warps_costs(const WarpValue *x);
/* Instructions of additions, multiplications and the like that the level takes for a point. */
int warps_operations(const WarpLevel *e);
/* The cost of the level for a point in additions, or in f64 in operations on that pipe; a product that is added counts
 * with its sum. ranged: roots and quotients are tested together (pass range-guards). */
double warps_slots(const WarpLevel *e, bool ranged);
/* Roots and quotients that the level computes at a point. */
int32_t warps_roots(const WarpLevel *e);
/* The probe that sees value number `v` at the points of its main piece; the value is made for the probe alone. NULL:
 * none. */
const Probe *warps_probe(const WarpLevel *e, int v);
/* The number of stages of the level, without those of probes. */
int32_t warps_stages(const WarpLevel *e);
/* Is value number `v` a new value with points outside of its main piece? */
bool warps_has_boundary(const WarpLevel *e, int v);

/* The sizes of a tile.
 * X, C, W, G, U: cells a lane, levels a warp, warps, groups a ring, rows a group.
 * V, R: rows of a group that are unrolled; groups that the code has one after another (all rows of which are unrolled);
 * segments have a multiple of R groups.
 * vector: elements in 16 bytes of the fields' smallest type.
 * halo: columns of the halo on a side (a multiple of vector); ends: rows of the halo at both ends of a segment
 * together.
 * move: how rows are loaded and stored; its producers have PRODUCER_REGISTERS a thread, and the other warps then
 * `registers`.
 * blocks: of a core.
 * held: the first and the last warp hold numbers in shared memory that they alone need, where rows move by bulk copies.
 * boundary, ragged, end_rows: the cost of a row when rows are shared out among blocks. It is STRIP_ROW; at the left or
 * right end of the grid `boundary`, or `ragged` if that is more where images are copied cell by cell; one above or
 * below a segment costs as much as `end_rows`. */
typedef struct WarpShape {
  int32_t X, C, W, G, U, V, R, vector, halo, ends, registers, blocks, boundary, ragged, end_rows;
  int32_t held; /* 1, 0; below 0: not chosen yet */
  Move move;
} WarpShape;
enum { STRIP_ROW = 20 };
/* The sizes under schedule `s`: sizes that its mapping leaves open are chosen. */
WarpShape warps_shape(const TargetInfo *t, const WarpLevel *e, const Schedule *s);
/* Writes shape `w` of level `e` to the mapping of `s`, as far as the mapping has members for it. */
void warps_say(const WarpLevel *e, const WarpShape *w, Schedule *s);
/* The reason why the mapping of `s` does not fit level `e` (that of warps_level_for), NULL: it does. */
const char *warps_said_wrong(const TargetInfo *t, const WarpLevel *e, const Schedule *s);
/* Bytes of the smallest and of the largest type of a field. */
int warps_smallest(const WarpLevel *e);
int warps_largest(const WarpLevel *e);
/* The greatest number of cells of a lane, and of fields of a level. */
enum { MAX_WARP_CELLS = 64, MAX_WARP_FIELDS = 8 };
/* Registers of a thread of a producer warp. */
enum { PRODUCER_REGISTERS = 24 };
/* More than the number of any row or column. */
enum { WARPS_FAR = 1 << 30 };
/* Words of registers that kept values take. */
int32_t warps_kept_words(const WarpLevel *e, const WarpShape *w);
/* Strips of a grid of extents `size`; rows of a segment there. */
int64_t warps_strips(const WarpLevel *e, const WarpShape *w, const int64_t *size);
double warps_segment_rows(const TargetInfo *t, const WarpLevel *e, const WarpShape *w, const int64_t *size);
/* The extents of the grid for which open sizes are chosen. */
const int64_t *warps_grid_size(void);
/* Bytes of a cell of all fields that are loaded, and stored. */
int warps_cell_bytes(const WarpLevel *e);
/* The number of groups for which rows of fields whose reads are delayed stay in a ring longer. */
int32_t warps_delay_groups(const WarpLevel *e, const WarpShape *w);
/* Rows of all rings of field number `n` together. The rings of a field whose reads are delayed lie one after the other,
 * ring `r` > 0 from row warps_delay_begin on. They have warps_delay_groups more than G groups, with two exceptions: the
 * ring in front of the first warp, to which rows are loaded as late as they are read; and the ring after the last warp,
 * which only a field has that a stage writes. */
int64_t warps_ring_rows(const WarpLevel *e, const WarpShape *w, int n);
int32_t warps_delay_begin(const WarpLevel *e, const WarpShape *w, int r);
/* Numbers of 8 bytes that a block spills to shared memory; numbers of 4 bytes that two warps hold there from group to
 * group where registers are short. */
enum { WARP_SPILLED_NUMBERS = 4, WARP_HELD_NUMBERS = 16 };
/* Bytes of shared memory of a block; registers that a thread takes, about; blocks that a core of `t` has room for. */
int64_t warps_shared_bytes(const WarpLevel *e, const WarpShape *w);
int32_t warps_registers(const WarpLevel *e, const WarpShape *w);
int32_t warps_per_core(const TargetInfo *t, const WarpLevel *e, const WarpShape *w);
/* The greatest number of rows for which a value is spilled. */
int32_t warps_spilled_rows(const WarpLevel *e);

#endif
