/* passes/tile/warps.h: a step as levels of a pipeline of warps in time.
 *
 *   warps.c         a level of the pipeline: the rows of values that a time step makes of its fields
 *   warps-times.c   when each of these rows is made, and how long it is kept
 *   warps-shape.c   the sizes of a tile, and what they come to
 *   warps-choices.c choices that matter on one row alone
 *   warps-count.c    what a level takes to compute
 *
 * Words: a block takes *segments*: runs of rows of a *strip* of 32 X columns. Its W warps are a pipeline in time: warp
 * w makes levels w C + 1 to (w + 1) C of the whole strip. A *level* is a time step: its stencils, the *stages*, one
 * after the other. Rows come in order, one of each field at once, U of them a *group*; between two warps they go
 * through *rings* of G groups in shared memory, one for each field. When row y has come to a level, it makes row y - t
 * of each of its values, where t is that value's *time*; rows of a value are *kept* until what is made last of them is.
 * A level that is alone in its warp may delay its reads of a field: row y - t of it is read when row y has come.
 */
#ifndef STC_PASSES_WARPS_H
#define STC_PASSES_WARPS_H

#include "passes/launch/launch.h"
#include "passes/tile/move.h"

/* What a value is: a field's, as it comes to the level; that of an operation of a main piece's body; a field's new one
 * behind a stage; what it is outside of the main piece; nothing (an access, or what is not needed). */
typedef enum WarpKind { WARP_NOTHING, WARP_INPUT, WARP_OP, WARP_NEW, WARP_OUTSIDE } WarpKind;

/* A use of value number `value`, off[0] rows and off[1] columns away; in dimension d by rule[d] beyond the region where
 * that leads to points near it, so that it may as well be lo[d] to hi[d] away. */
typedef struct WarpUse {
  int32_t value, off[2], lo[2], hi[2];
  OutsideRule rule[2];
} WarpUse;

/* A value of a level, which has one at each point. free: it can be computed anywhere, from no field; of_row: and is the
 * same in all columns. field: of the module, of those that are not of an operation. piece: the main piece that it is
 * from; outside: of a new one, the value it has outside of that, -1: the piece is the whole region. carries: the new
 * value whose outside value its place holds for points that are outside, between its time and the next, -1: none.
 * carried: all of a new value's is. time, until: row y - time is made when row y has come, and used until row y - until
 * is due. choice: a select that yields its third operand on all rows but one; apart: it is made for what such choices
 * yield there alone. lo, hi: how far the fields that came are read, down and up. */
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

/* A field that goes from level to level: of the module; its value as it comes, -1: nobody needs that; and as it leaves.
 * written: a stage writes it. */
typedef struct WarpField {
  int32_t field, in, out;
  bool written;
} WarpField;

/* A level: the `n` stages at st. sees[stage * Module.nfields + f]: the value that field f has before that stage, -1:
 * none. base[stage][piece]: the number of the first value of that body, which are in order of their ids; -1: it is no
 * main piece. Fields leave `lag` rows behind those that come; no value has a time after `latest`, which is lag or more:
 * a step may read on one side and back again. keeps: no value is used so many rows after it was made. below .. right:
 * how far a level reads, beside: how many columns an access does. sums: all that is kept are sums that a row is added
 * to. constant: a field is read beyond its region, where it is a constant; wraps: in dimension d points beyond are
 * images of those at the other end; ruled: so many points beyond an edge of dimension d a use may be by such
 * a rule. delay: the latest time of a field that comes, so many rows behind it is read. alone: the same level as it is
 * best where it is the only one of its warp; delayed: as it is there with delayed reads, of which there may be none. */
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
/* Level `e` as schedule `s` has it: alone in its warp or not, and then with fields whose reads are delayed, as the
 * mapping says. */
const WarpLevel *warps_level_for(const WarpLevel *e, const Schedule *s);
/* The region of the fields. */
const Box *warps_region(const WarpLevel *e);
/* Sets choice and apart of the values of `e`, of which it is known what is wanted. */
void warps_find_choices(WarpLevel *e);
/* Rows of the grid that nearly no group has, on which the level has more to do: choices and what probes see. [lo, hi]
 * of dimension 0; at most MOST_SPECIAL, *n of them; none where rows are images of others. Other choices and probes are
 * in all rows' code. is[v] becomes: is value `v`, a choice or one that a probe sees, of such rows alone? */
enum { MOST_SPECIAL = 4 };
typedef struct SpecialRows {
  Affine lo, hi;
} SpecialRows;
SpecialRows *warps_special_rows(const WarpLevel *e, int *n, bool *is);
/* The values that condition `v` is all of, *n numbers in arena `a`. */
int *warps_condition_parts(Arena *a, const WarpLevel *e, int v, int *n);
/* Sets time and until of the values of `e`, lag, latest, delay and keeps: as few rows as can be are kept, and those
 * made as early as can be. Reads of fields that come may be delayed if `late`.
 */
void warps_times(WarpLevel *e, bool late);
/* The time of field number `n` of the level as it comes; 0: it does not. */
int32_t warps_delay(const WarpLevel *e, int n);
/* Rows of value number `v` that are kept in registers. */
int32_t warps_kept(const WarpLevel *e, int v);
/* Is value `x` made by an operation at nearly every point? */
bool warps_costs(const WarpValue *x);
/* Instructions of additions, multiplications and the like that the level takes for a point. */
int warps_operations(const WarpLevel *e);
/* Additions, or in f64 operations on that pipe, that the level takes for a point, products that are added counting with
 * their sums; ranged: roots and quotients are tested together (pass range-guards). */
double warps_slots(const WarpLevel *e, bool ranged);
/* Roots and quotients that it computes at a point. */
int32_t warps_roots(const WarpLevel *e);
/* The probe that sees value number `v` at the points of its main piece, all that this is made for; NULL: none. */
const Probe *warps_probe(const WarpLevel *e, int v);
/* The stages of the level but for those of probes. */
int32_t warps_stages(const WarpLevel *e);
/* Is value number `v` a new one that has points outside of its main piece? */
bool warps_has_boundary(const WarpLevel *e, int v);

/* The sizes of a tile: cells a lane, levels a warp, warps, groups a ring, rows a group, how many of these the code has
 * written out, groups that it has one after another (all rows of which it has), of which segments have a multiple,
 * elements of 16 bytes of the fields' smallest type, columns that are lost to the halo on a side (a multiple of those),
 * rows that are lost at both ends of a segment. move: how rows come and go; its producers have PRODUCER_REGISTERS a
 * thread, and the other warps `registers` then. blocks: so many a core. held: the first and the last warp hold what
 * they alone need in shared memory, where rows come by bulk copies. What a row costs when rows are shared out among
 * blocks: STRIP_ROW, at the left or right end of the grid `boundary`, where images come cell by cell `ragged` if that
 * is more; one above or below a segment as much as `end_rows`. */
typedef struct WarpShape {
  int32_t X, C, W, G, U, V, R, vector, halo, ends, registers, blocks, boundary, ragged, end_rows;
  int32_t held; /* 1, 0; below 0: not chosen yet */
  Move move;
} WarpShape;
enum { STRIP_ROW = 20 };
/* The sizes that schedule `s` comes to: what its mapping leaves open is chosen. */
WarpShape warps_shape(const TargetInfo *t, const WarpLevel *e, const Schedule *s);
/* Has the mapping of `s` say shape `w` of level `e`, all that can be said. */
void warps_say(const WarpLevel *e, const WarpShape *w, Schedule *s);
/* What is wrong with what the mapping of `s` says for level `e` (that of warps_level_for), NULL: nothing. */
const char *warps_said_wrong(const TargetInfo *t, const WarpLevel *e, const Schedule *s);
/* Bytes of the smallest and of the largest type of a field. */
int warps_smallest(const WarpLevel *e);
int warps_largest(const WarpLevel *e);
/* A lane has at most so many cells, a level so many fields. */
enum { MAX_WARP_CELLS = 64, MAX_WARP_FIELDS = 8 };
/* Registers of a thread of a warp that only loads and stores. */
enum { PRODUCER_REGISTERS = 24 };
/* No row or column has such a number. */
enum { WARPS_FAR = 1 << 30 };
/* Words of registers that what is kept takes. */
int32_t warps_kept_words(const WarpLevel *e, const WarpShape *w);
/* Strips of a grid of extents `size`; rows of a segment there. */
int64_t warps_strips(const WarpLevel *e, const WarpShape *w, const int64_t *size);
double warps_segment_rows(const TargetInfo *t, const WarpLevel *e, const WarpShape *w, const int64_t *size);
/* The extents of the grid that open choices are to suit. */
const int64_t *warps_grid_size(void);
/* Bytes of a cell of all fields that are loaded, and stored. */
int warps_cell_bytes(const WarpLevel *e);
/* Groups that rows of fields whose reads are delayed stay in a ring for longer. */
int32_t warps_delay_groups(const WarpLevel *e, const WarpShape *w);
/* Rows of all rings of field number `n` together. Those of a field whose reads are delayed lie one behind the other:
 * they have late groups more than G, but for that in front of the first warp, where rows are loaded as late, and that
 * behind the last, which a field has that a stage writes. Ring `r` > 0 begins at row warps_delay_begin. */
int64_t warps_ring_rows(const WarpLevel *e, const WarpShape *w, int n);
int32_t warps_delay_begin(const WarpLevel *e, const WarpShape *w, int r);
/* Numbers that a block spills in shared memory, of 8 bytes, and those, of 4, that two warps hold there from group to
 * group where registers are short. */
enum { WARP_SPILLED_NUMBERS = 4, WARP_HELD_NUMBERS = 16 };
/* Bytes of shared memory of a block; registers that a thread takes, about; blocks that a core of `t` has room for. */
int64_t warps_shared_bytes(const WarpLevel *e, const WarpShape *w);
int32_t warps_registers(const WarpLevel *e, const WarpShape *w);
int32_t warps_per_core(const TargetInfo *t, const WarpLevel *e, const WarpShape *w);
/* The most rows that a value is spilled for. */
int32_t warps_spilled_rows(const WarpLevel *e);

#endif
