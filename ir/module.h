/* ir/module.h: modules and functions on them, in this order:
 *
 *   the parts of a module      scalars and launch-time arrays, composite types, fields, stencils, checks, lists of
 *                              points and probes, reductions; at the end Module itself. kernel.h: those of kernel IR
 *   outside.c, outside.def     outside rules
 *   composite.c                composite types
 *   module.c copy.c            modules as a whole
 *   repeats.c                  repeats within a step
 *   levels.c                   reads of another level of the grid
 */
#ifndef STC_IR_MODULE_H
#define STC_IR_MODULE_H

#include "ir/kernel.h"

/* ---------------------------------------------------------------- the parts of a module */

/* A scalar; scalars stand in order of declaration. It is a param (its value may be overridden), a top-level let
 * (computed from earlier scalars), or the value of the reduction of the same name. The latter changes while the program
 * runs; only stencils, later reductions and stop conditions use it, and it is 0 before the first evaluation. `expr`
 * yields the value of a let or the default of a param; NULL for a param without default and for a reduction. It
 * contains only const, scalar and pure ops. */
typedef struct Scalar {
  const char *name;
  Type type;
  bool is_param, is_reduction;
  Block *expr;
  Loc loc;
} Scalar;

/* The source of a launch-time array's elements. ARRAY_GIVEN: the user. ARRAY_NEXT: the launcher, from a list of points
 * (PointList.next). ARRAY_SERIES: kernels store the values of a probe (Probe.result). ARRAY_WEIGHTS: the launcher, from
 * coordinates (ParamArray.from). ARRAY_STATE: first the launcher, from the value of a scalar, later kernels (Update).
 * ARRAY_VALUES: the launcher, from scalars, an expression for each element (ParamArray.value). */
typedef enum ArrayRole { ARRAY_GIVEN, ARRAY_NEXT, ARRAY_SERIES, ARRAY_WEIGHTS, ARRAY_STATE, ARRAY_VALUES } ArrayRole;
/* A launch-time array of `extent` elements (0 if that is negative). Like a param it is given from outside, read-only,
 * and the same at all points. Arrays of other roles than ARRAY_GIVEN are hidden from users, and stand after all that
 * are given.
 *
 * ARRAY_WEIGHTS: finite difference weights for a grid that is not uniform. `from` is the array of the points'
 * coordinates in a dimension, in rising order. For each point, the array has `points` weights; the sum of these weights
 * times the values at `points` points is the derivative number `derivative`. side 0: the points are the point itself
 * and those around it, from the nearest outwards, of two the upper one first. side 1, -1: the point itself and those
 * above or below it. For derivative 0 and one point the elements are the coordinates themselves. half 1: the derivative
 * is taken halfway to the next point; the nearest points are that one and the point itself. half -1: the derivative is
 * taken at the point, from values that lie halfway between each point and the next; the nearest are that of the point
 * itself and that of the one before. The array also has weights for `beyond` more points on either side, with
 * coordinates that continue beyond the ends: see weights_fill (run/weights.c).
 *
 * ARRAY_STATE: a number that is kept from step to step. The array has one element, f64 or i64; with `each` it has one
 * for each member, that is, for each coordinate of dimension 0. Before the first step an element is the value of scalar
 * number `first`; first -1: the number is not kept, because each step sets it before it reads it.
 *
 * ARRAY_VALUES: `value` yields element i when its index 0 is i; it contains const, scalar, index and pure ops.
 *
 * An array of two indices, of any role, is stored by rows: `extent` is rows * columns, and columns is at least 1. For
 * arrays of one index columns is 0. */
typedef struct ParamArray {
  const char *name;
  Type type;
  Affine extent;
  Affine rows, columns;
  ArrayRole role;
  Loc loc;
  int32_t from, derivative, points, side, half, beyond;
  int32_t first;
  bool each;
  Block *value;
} ParamArray;
static inline bool array_has_rows(const ParamArray *a) { return a->columns.n || a->columns.c; }

/* Limits of ARRAY_WEIGHTS: the highest derivative, the most points, and the most points beyond an end. */
enum { MAX_WEIGHED_DERIVATIVE = 4, MAX_WEIGHED_POINTS = 20, MAX_WEIGHED_BEYOND = 1 << 12 };

/* A member of a composite type; name is NULL in a vector. */
typedef struct Member {
  const char *name;
  Type type;
} Member;
/* A composite type: a vector (name NULL; n members of one type) or a struct. The recursive ElemType of the paper
 * (section 3.1). */
typedef struct Composite {
  const char *name;
  int32_t n;
  const Member *members;
} Composite;
/* The most components of a type. */
enum { MAX_COMPONENTS = 256 };

/* The value of an access beyond the two edges of a field's region in one dimension: the rows of outside.def. */
typedef enum OutsideRule {
#define OUTSIDE(id, ...) OUTSIDE_##id,
#include "ir/outside.def"
#undef OUTSIDE
  OUTSIDE_RULES
} OutsideRule;

/* The value of an access beyond one edge, the lower or the upper one of a dimension. `rule` is one that both edges may
 * have. odd (with mirror): the value is the mirrored one with its sign changed; if the mirror is odd about a number,
 * twice that number minus the mirrored value. about: 1 + the scalar that is this number; 0: `value` is the number. With
 * CONST, `value` is the constant. Values are of the field's type, for a composite f64. Each component converts them,
 * and scalars, to its type. */
typedef struct Side {
  OutsideRule rule;
  bool odd, is_about;
  int32_t about;
  Const value;
} Side;

/* The cells of a field that a part of the grid holds. CUT: those near its own points. ALL: the whole field, and each
 * part computes all of it. GATHERED: the whole field, but each part computes only the cells that stand for its own
 * points, and receives the others at every exchange. ALL and GATHERED are for fields of coarser levels of the grid. */
typedef enum FieldShare { SHARE_CUT, SHARE_ALL, SHARE_GATHERED } FieldShare;

/* The times when the ghost cells of a field of a part are updated: never (temp), before the first step, or before the
 * first step and after every so many steps. */
typedef enum Exchange { EXCHANGE_NONE, EXCHANGE_ONCE, EXCHANGE_STEPS } Exchange;

/* The hidden param that is the pitch of fields (pass pad-rows). */
#define ROW_PITCH "row.pitch"
/* The divisor of Field.rest: a multiple of the number of elements of any vector. */
enum { ROW_REST = 16 };

/* A field: an array over `box` in C order, the last dimension contiguous, dense except for `pitch`.
 *
 * outside: the value of an access beyond box, for each dimension by itself; with CONST, outside_value if any dimension
 * is beyond. sides (NULL: `outside` is the whole rule): the rules of single edges, number 2 * d and 2 * d + 1 for the
 * lower and the upper edge of dimension d. If an access is beyond edges with constants, its value is that of the first
 * such dimension. Else the rules of the edges, one after the other, map the access to a point of the region; its value
 * is the value of that point, changed by the odd edges, the last dimension first. `outside` then names only the mapping
 * (outside_between).
 *
 * A dimension that the field lacks (ALL, field_lacks) has one point of its box, and every access maps to that; stencils
 * do not write such a field. apart: accesses yield only the mapped value, and stencils contain the code for the changes
 * at edges (pass sides).
 *
 * A field with history K has K further fields of the same type, box and rule, its past 1 .. K. Past k holds the values
 * that the field had at the start of the k-th step before the running one (between steps: k steps ago). Their names are
 * "A@1" and so on. Only inits have them as targets. After each step the levels rotate by themselves, until pass history
 * makes the rotation explicit; from then on stencils have pasts as targets. A temp field may be past K + 1. */
struct Field {
  const char *name;
  Type type; /* composite only before pass scalarize */
  Box box;
  OutsideRule outside[MAX_RANK];
  Const outside_value; /* of `type`; of a composite: an f64 that each component converts to its type */
  const Side *sides;
  bool apart;
  bool input, temp;
  int64_t frames; /* > 0: an input whose values the launcher replaces as the program runs, by frames of a series, each
                     for `frames` steps: before step s by frame s / frames, or, if `ahead`, by the next one. 0: no step
                     changes it */
  bool ahead, cycle; /* ahead: it holds the next frame; the field before it holds the frame of the step. cycle: after
                        its last frame the series begins anew, and does not stay at the last one */
  bool derived;      /* the launcher computes it from a list of points (PointList.field); hidden from users; input */
  int32_t series, level; /* series > 0: the value of probe number series - 1 after step `level` of a time tile; it has
                            no memory: pass series removes it */
  int32_t history;       /* number of older time levels, at most MAX_HISTORY */
  int32_t past, present; /* past k > 0: level k of field `present` */
  Exchange exchange;     /* in the program of a part of the grid (GridPart) */
  FieldShare share;      /* likewise */
  bool ring;     /* likewise: beyond the edges of `whole` its ghost cells hold the values of the opposite side */
  int32_t pitch; /* 1 + the scalar that is the distance of rows in memory, in elements, at least the extent of the last
                    dimension (pass pad-rows); 0: rows are dense. Elements between rows belong to no point and may hold
                    anything */
  int32_t rest; /* with pitch: 1 + the number of points of a row modulo ROW_REST, on which code may rely that demands it
                   (Kernel.multiples); 0: not known */
  const Box *whole; /* in a part's program: the field's region in the whole grid; else NULL */
  Loc loc;
};
enum { MAX_HISTORY = 16 };

/* The part of a grid that a module is for (pass distribute; Module.part). All parts run one program, each with other
 * values of the hidden params. A part has fields on `own` and on ghost cells around it, `reach` times the value of
 * scalar `steps` wide, where the grid has points. Other parts own the ghost cells.
 *
 * After at most that many steps all fields that Field.exchange names must be updated: each cell of f.box that is not in
 * `own` gets the value from the part that owns it; for a ring, coordinates count modulo f.whole. So corners are parts
 * of the boxes. If inits read further than steps, a part has as many cells as inits need; steps do not need those
 * updated.
 *
 * gives: the points that a launch stores. By default these are all points of the part's grid; the launcher can restrict
 * them by hidden params in the dimensions that are cut, except the last dimension. So it can split a launch into
 * several, each of whole tiles except for the last one, in any order. Kernels that do not support this use none of
 * these params. */
typedef struct GridPart {
  Box own, whole; /* boxes of the grid; they differ in the dimensions that are cut */
  Box gives;
  Extent reach; /* cells on each side that one step needs */
  int32_t steps;
} GridPart;

/* A declared field of composite type after pass scalarize: its components, in order, are the fields first .. first + n
 * - 1 (n = type_components), a structure of arrays. In files, and for the programs that use the artifact, it is one
 * field `name`. */
typedef struct Record {
  const char *name;
  Type type;
  int32_t first;
} Record;

/* One region of a stencil with its own equations. Field number targets[i] gets operand i of the body's yield at every
 * point of box. */
typedef struct Piece {
  Box box;
  int32_t ntargets;
  int32_t *targets;
  Block *body;
  Loc loc;
} Piece;

/* A stencil. All pieces read the old values; pieces do not overlap; points in no piece keep their values.
 *
 * once: only for an init, one that stands after all inits without `once`. It computes values that no step changes, from
 * fields that no step changes, into fields that nothing else sets. It runs after the other inits, and again before
 * further steps if a field that it reads may have been set from outside.
 *
 * every: it runs only in steps whose number is a multiple of `every`; in other steps its targets keep their values. 0:
 * in all steps; inits have 0. Pass every turns this into code.
 *
 * sweep: 1: points are computed in order along dimension `along`, from the least coordinate to the greatest; -1: in the
 * reverse order; 0: in any order. The pieces of a sweep stand in that order, each with the bounds of the first in the
 * other dimensions. OP_BEHIND reads a target at a point that the sweep has passed. Points of one layer have no order.
 */
typedef struct Stencil {
  const char *name;
  bool once;
  int64_t every;
  int8_t sweep;
  int32_t along;
  int32_t ntargets;
  int32_t *targets; /* the union of the pieces' targets, in order of declaration */
  int32_t npieces;
  Piece *pieces;
  int32_t level; /* time level within the time tile, 0 .. Module.time_tile-1 (pass time-tile) */
  int32_t group; /* number of its launch within the step, from 0 without gaps, never falling (pass fuse); all 0: one
                    launch a step */
  int32_t stage; /* Module.updates with a stage up to this number come before it in the step (Update.stage), never
                    falling; stencils of a group have the same stage */
  bool has_extent;
  Extent extent; /* the region around the output tile on which its targets must be computed (pass halo) */
  Loc loc;
} Stencil;
/* OP_BEHIND reads at most this many layers back. */
enum { MAX_BEHIND = 4 };

/* The condition that the points of box `need`, after the outside rule has mapped them into `within`, each lie in one of
 * the `n` boxes `by`. The rule maps each dimension by itself; a constant rule drops the points that are outside, and
 * without a rule points stay where they are. Text form: covered [1 .. N] outside periodic in [0 .. N - 1] by [0 .. 3]
 * [4 .. N - 1] */
enum { MAX_COVERED = 256 };
typedef struct Covered {
  Box need, within;
  OutsideRule rule[MAX_RANK];
  int32_t n;
  Box *by;
} Covered;

/* A condition on the params that is checked before launches: value >= 0, or, if `covered` is given, `covered`.
 * `message` is the error otherwise (one sentence without format directives). The condition concerns the points of the
 * boxes in unless_empty (NULL: none): if one of them is empty under the params, the condition counts as true.
 * module_bind does the check. Text form: check N - 2 >= 0 unless empty [1 .. N - 2] unless empty [M - 1] "message" */
enum { MAX_UNLESS = 4 };
typedef struct Check {
  Affine value; /* 0 with `covered` */
  const Covered *covered;
  const char *message;
  Loc loc;
  const Box *unless_empty[MAX_UNLESS]; /* the entries that are not NULL come first */
} Check;

/* A list of points from launch-time arrays. Coordinate d of point p is element p of array[d]; at[d] if array[d] is -1;
 * box.lo[d] + p if it is LIST_NUMBER, which one dimension may be: then the list has one point for each coordinate of
 * `box` in that dimension. Otherwise at least one dimension has an array. All arrays have an integer type and as many
 * elements as the list has points. All points must lie in `box`.
 *
 * Field `field` (derived, i32 on `box`) holds at each point 1 + the number of the first list entry at that point; 0:
 * there is none. Array `next` (of role ARRAY_NEXT; -1: not needed) holds for each list entry 1 + the number of the next
 * entry at the same point; 0: there is none. At most `most` entries may have the same point (0: any number). */
enum { LIST_NUMBER = -2 };
typedef struct PointList {
  const char *name;
  int32_t array[MAX_RANK];
  Affine at[MAX_RANK];
  Box box;
  int32_t field, next, most;
  Loc loc;
} PointList;

/* The distances of a grid, as far as the program declares them, each as a number + 1, or 0: scalars (f64) that are the
 * distance of two points in each dimension and the duration of a step; instead of a distance, the launch-time array of
 * the points' coordinates in that dimension, from its lower end on, in rising order. Generated code uses the scalars
 * and arrays directly, and not this struct. */
typedef struct Metric {
  int32_t spacing[MAX_RANK], coordinates[MAX_RANK], step;
} Metric;

/* A probe records the value that `body` yields, of scalar type `type`, at the points of list number `list`; if that is
 * -1, at the one point of `box`. It records before the first step and after every `every` steps. The body may read any
 * field except temps, and pasts at their present values; `step` is the number of finished steps; reductions have the
 * values that they had in the step. `box` is that of the list.
 *
 * In kernel IR body is NULL. The launches of `seq` store the values before the first step, and kernels that make steps
 * store those after each step, in the launch-time array `result` of role ARRAY_SERIES (-1 before pass series). A row of
 * it has as many elements as the list has points (1 without a list); the values after n * every steps go to row n %
 * SERIES_ROWS. If list points coincide, only the first one's element holds the value. */
typedef struct Probe {
  const char *name;
  Type type;
  Box box;
  int32_t list;
  int64_t every; /* at least 1 */
  Block *body;
  HostSeq seq;
  int32_t result;
  Loc loc;
} Probe;
/* Rows of the array that holds a probe's values: a power of two. A launcher copies rows out before kernels overwrite
 * them. */
enum { SERIES_ROWS = 128 };

/* The purpose of a reduction: its value; to stop the run; to detect an error for -fcheck. */
typedef enum ReductionKind { REDUCE_VALUE, REDUCE_UNTIL, REDUCE_FINITE, REDUCE_BOUNDS } ReductionKind;

/* A reduction over all points of `over`, evaluated between time tiles: before step 0 and after every `every` steps.
 * `body` yields the value at a point, of type `type` (f64 or i64); it is stencil IR and may read any field except
 * temps, and pasts at their present values. reduce_combine combines the values in the fixed order of reduce_order
 * (eval.c), which is the same on every device, so that results agree bit for bit. An empty region gives the identity
 * (reduce_identity).
 *
 *   REDUCE_VALUE   `scalar` holds the value from then on
 *   REDUCE_UNTIL   the same; and then, unless no step is finished, the run ends if `stop`, an expression over scalars,
 *                  is true; NaN is an error
 *   REDUCE_FINITE  the least position (row-major number of the point in `over`) where `field` is not finite, which is
 *                  an error; INT64_MAX if there is none
 *   REDUCE_BOUNDS  the first step in which an index was out of range (see pass check-bounds; -1: in an init), which is
 *                  an error; INT64_MAX if there is none. Its name is "bounds." and the name of the indexed object
 *
 * In kernel IR body is NULL: the launches of `seq` store the value in element 0 of `result`, a scratch buffer; with
 * `each` they store one for each coordinate. */
typedef struct Reduction {
  const char *name;
  ReductionKind kind;
  Opcode op; /* OP_ADD, OP_MUL, OP_MIN, OP_MAX */
  Type type;
  Box over;
  int64_t every; /* at least 1 */
  int32_t scalar, field;
  bool each; /* it has a value for each coordinate of dimension 0, a member: the reduction over that member's points, in
                the order of a region of its own. Only `stop` reads its scalar; it must hold for all members */
  int32_t loop; /* 1 + the repeat in Module.repeats that it belongs to (in kernel IR: the loop in Host.loops); `every`
                   then counts rounds. 0: it belongs to the time steps */
  Block *body, *stop;
  HostSeq seq;
  int32_t result;
  Loc loc;
} Reduction;

/* An assignment, within a step, to the number in launch-time array `state`, of role ARRAY_STATE. It runs after all
 * stencils whose stage is less than `stage`, which is at least 1, and before all others. The stages of updates never
 * fall; updates of one stage run in order. The new value is `body` at the points of `over`, combined by `op` in the
 * order of reductions; if `over` is a single point for all params, just the value of the body. each: the array has one
 * element for each coordinate of dimension 0, a member, computed from that member's points.
 *
 * The body is stencil IR and yields a value of type `type`, the array's type. It may read fields except temps and older
 * levels, with their values at that time, and all states; `step` is the number of the step. In a program with updates a
 * time tile has one step. In kernel IR updates are launches of the sequences. */
typedef struct Update {
  int32_t state, stage;
  Opcode op; /* OP_ADD, OP_MUL, OP_MIN, OP_MAX */
  Type type;
  bool each;
  Box over;
  Block *body;
  Loc loc;
} Update;

/* A loop within a step over the stencils and updates with stages `first` to `last`. A round runs them in order; there
 * are at most `most` rounds, a number that is known at launch. Its reductions (Reduction.loop) are evaluated after
 * every so many rounds, never before the first one; an `until` whose condition holds ends the loop. If two repeats
 * share stages, one contains all stages of the other, and the inner one comes first in Module.repeats. `step` and older
 * time levels are those of the step. A temp field that a stencil of the loop writes belongs to its rounds: only
 * stencils of the loop use it. In a program with repeats a time tile has one step. In kernel IR repeats are loops of
 * the host part with the same numbers.
 *
 * tile: 0, or at least 2: stages up to `last` - 1 make that many rounds at once, and stage `last` makes a single round.
 * Which of them runs depends on the number of rounds that are left until the next evaluation (pass rounds). */
typedef struct Repeat {
  const char *name;
  Affine most;
  int32_t first, last, tile;
  Loc loc;
} Repeat;

/* A loss: the sum of `body`, of type f64, at all points of `over`, in the order of reductions, added up over all steps
 * that are due: before the first step and after every `every` steps, like a reduction; every 0: after the last step
 * only. The body may read the same as the body of a reduction. factor: the weight of this loss in the sum that is
 * differentiated; 0: it is not in the sum. Runs do not evaluate losses; only derivatives need them (ir/interp/tape.c,
 * passes/stencil/transpose.c). Other passes do not see losses: module_without_losses removes them first. */
typedef struct Loss {
  const char *name;
  Box over;
  int64_t every;
  double factor;
  Block *body;
  Loc loc;
} Loss;
/* With respect to what the sum is differentiated: input field or field (its values before the first step) number
 * `index`, launch-time array, param. may_be_idle: if it does not influence the losses, that is no error, and the
 * derivatives are 0. */
typedef enum ByKind { BY_FIELD, BY_ARRAY, BY_PARAM } ByKind;
typedef struct By {
  ByKind kind;
  int32_t index;
  bool may_be_idle;
  Loc loc;
} By;

/* A schedule for a program (ir/schedule.h). */
typedef struct Schedule Schedule;

/* The values of a module's scalars under the default params (passes/launch/thin.c). */
typedef struct Defaults Defaults;

/* Facts about points and fields that hold for all params (passes/launch/inside.c). */
typedef struct InsideKept InsideKept;

/* A program, in stencil IR (with steps, inits) or kernel IR (with buffers, kernels, host); the declarations are common.
 */
struct Module {
  Arena *arena;
  const char *name; /* file name of the source, without directory and extension */
  OpLevel level;    /* LEVEL_SIR or LEVEL_KIR */
  bool contract;    /* mul and add may be contracted to fma */
  bool fast_math;   /* reassociation and approximation allowed */
  int32_t nscalars;
  Scalar *scalars;
  Box grid;      /* grid.rank is the program's rank */
  int64_t steps; /* time steps that the program asks for; 0 if scalar number `steps_by` - 1 is their number */
  int32_t steps_by;
  bool members; /* dimension 0 is that of members: messages count the others from 0, as the program does */
  Metric metric;
  int32_t ncomposites;
  Composite *composites; /* type TY_COMPOSITE + i is number i; those of members come before it */
  int32_t nparam_arrays;
  ParamArray *param_arrays;
  int32_t nfields;
  Field *fields;
  int32_t nrecords;
  Record *records;
  int32_t nchecks;
  Check *checks;
  int32_t nreductions;
  Reduction *reductions; /* in order of evaluation */
  int32_t nlists;
  PointList *lists;
  int32_t nprobes;
  Probe *probes;
  int32_t nupdates;
  Update *updates; /* in the order of the step; none in kernel IR */
  int32_t nrepeats;
  Repeat *repeats; /* likewise none in kernel IR */
  int32_t nlosses;
  Loss *losses; /* in stencil IR from the front end */
  int32_t nby;
  By *by; /* the inputs with respect to which losses are differentiated, in order; none: there is no gradient */
  const GridPart *part;          /* NULL: the module is for the whole grid */
  const struct Module *slice_of; /* the module is one slice of that module, which has one more dimension
                                    (passes/launch/slices.h); NULL: it is a program */
  const Defaults *defaults;      /* found by keep_defaults; NULL: none */
  InsideKept *inside;            /* a cache of keep_inside; NULL: nothing is cached */
  /* stencil IR */
  int32_t time_tile;    /* steps of one run through `stencils`; 1 at first */
  const Schedule *plan; /* the decision of pass plan; NULL: none */
  bool plan_checked;    /* it is known to be legal for the current target; false for a plan that was read from text */
  int32_t ninits;
  Stencil *inits;
  int32_t nstencils;
  Stencil *stencils;
  /* kernel IR */
  int32_t nbuffers;
  Buffer *buffers;
  int32_t nkernels;
  Kernel *kernels;
  Host host;
};

/* ---------------------------------------------------------------- outside rules: outside.c */

/* outside_name: the name of a rule, such as "mirror half .. clamp". outside_find: the rule of that name; OUTSIDE_NONE
 * if there is none. */
const char *outside_name(OutsideRule r);
OutsideRule outside_find(const char *name);
/* The rule with `low` below the lower edge and `high` above the upper one, each of them clamp, mirror or mirror half.
 */
OutsideRule outside_pair(OutsideRule low, OutsideRule high);
/* The rule below the lower edge (end 0) or above the upper one (1). */
OutsideRule outside_end(OutsideRule r, int end);
/* outside_word: the word of rule number `i` among those that a field can name (all except a constant); NULL if there
 * are fewer. outside_words: all of them as a list with `last` before the last one, "clamp, mirror and periodic". */
const char *outside_word(int i);
const char *outside_words(Arena *a, const char *last);
/* The op that maps a coordinate into the region; OP_COUNT: there is none. */
Opcode outside_map(OutsideRule r);
/* outside_set: gives field `f` of rank `rank` one rule in all dimensions. outside_set_sides: gives it the rules
 * `sides`, two for each dimension; the array must stay alive. If they are equivalent to rules of whole dimensions, it
 * stores those. */
void outside_set(Field *f, OutsideRule rule);
void outside_set_sides(Field *f, int rank, const Side *sides);
/* The mapping of accesses that leave a region with the rules `low` and `high` on its two sides. */
OutsideRule outside_between(const Side *low, const Side *high);
/* field_leave_out: makes field `f`, whose rules are set, lack dimension `d`. field_lacks: does it lack d? Then its box
 * is [0 .. 0] there, and its value is the same at all coordinates, whatever the offset of an access. field_lacks_any:
 * does it lack any dimension? field_lacks_same: do `f` and `g` lack the same dimensions? */
void field_leave_out(Field *f, int d);
bool field_lacks(const Field *f, int d);
bool field_lacks_any(const Field *f);
bool field_lacks_same(const Field *f, const Field *g);
/* side_same: are the rules equal, for values of type `t`? outside_same: do the rules of `f` and `g` yield the same, if
 * the fields have one type? */
bool side_same(const Side *x, const Side *y, Type t);
bool outside_same(const Field *f, const Field *g);
/* outside_any: has the field a rule, in the dimensions that it has? outside_uniform: has it one rule, and one constant,
 * in all of its `rank` dimensions? */
bool outside_any(const Field *f);
bool outside_uniform(const Field *f, int rank);
/* Is `rule` the field's rule in some dimension? */
bool outside_has(const Field *f, OutsideRule rule);
/* If an access leaves field `f` across the lower (end 0) or upper edge (1) of dimension `d`, may its value differ from
 * that of the point to which it is mapped, so that the access must be mapped into the region in a single application of
 * the rule? */
bool outside_once(const Field *f, int d, int end);
/* outside_leads: does the rule map a point beyond an edge to a point near that edge, so that the cells of a tile
 * include it? outside_reach: the range of offsets *lo .. *hi that an access at offset `off` may have after mapping;
 * both are `off` if the rule does not do so. */
bool outside_leads(OutsideRule r);
void outside_reach(OutsideRule r, int64_t off, int64_t *lo, int64_t *hi);

/* ---------------------------------------------------------------- composite types: composite.c */

/* The type of vectors of `n` values of type `member`; added to the module if it is missing. */
Type module_vector(Module *m, Type member, int n);
/* A new struct type; `members` is not copied. */
Type module_struct(Module *m, const char *name, int n, const Member *members);
/* The row of composite type `t`; NULL for a scalar type. */
const Composite *type_composite(const Module *m, Type t);
/* Is `t` a vector type? */
bool type_is_vector(const Module *m, Type t);
/* A type is flattened into its scalar components, depth first. type_components: their number (1 for a scalar).
 * type_component: the type of component `i`. type_bytes: the bytes of all of them, packed. type_component_offset: the
 * bytes before component `i`. type_member_component: the number of the first component of member `member` of `t`. */
int type_components(const Module *m, Type t);
Type type_component(const Module *m, Type t, int i);
int64_t type_bytes(const Module *m, Type t);
int64_t type_component_offset(const Module *m, Type t, int i);
int type_member_component(const Module *m, Type t, int member);
/* The path from a value to its component `i`, for names: ".c.2" is member 2 of the vector in member c. */
const char *type_component_path(const Module *m, Type t, int i);
/* "f32", "f32[3]", "f32[3][2]" (a vector of 2 vectors of 3), a struct's name. */
void type_print(Str *s, const Module *m, Type t);
const char *type_text(const Module *m, Type t);

/* record_of: the record that contains component `field`; NULL if the field is no component. declared_name: the field's
 * name in the program, which is the record's or its own. */
const Record *record_of(const Module *m, int field);
const char *declared_name(const Module *m, int field);

/* ---------------------------------------------------------------- modules as a whole: module.c copy.c */

Module *module_new(Arena *a, const char *name, OpLevel level);
/* A copy of `m` that passes may change; its values must be numbered (module_renumber). It shares names, messages and
 * data that nothing changes in place. */
Module *module_copy(Arena *a, const Module *m);
/* `m` without its losses, which runs do not need: `m` itself if it has none, else a copy. */
Module *module_without_losses(Arena *a, Module *m);
/* A module of `level` that shares the declarations (scalars, grid, fields, checks, flags) of `m`, without its code. */
Module *module_derive(const Module *m, OpLevel level);
/* Index of the scalar, launch-time array, record, reduction, field, buffer or kernel of that name, or -1. */
int module_find_scalar(const Module *m, const char *name);
int module_find_param_array(const Module *m, const char *name);
int module_find_record(const Module *m, const char *name);
int module_find_reduction(const Module *m, const char *name);
int module_find_list(const Module *m, const char *name);
int module_find_probe(const Module *m, const char *name);
int module_find_loss(const Module *m, const char *name);
int module_find_field(const Module *m, const char *name);
int module_find_buffer(const Module *m, const char *name);
int module_find_kernel(const Module *m, const char *name);
/* stencil_target, piece_target: the position of `field` among the targets; -1 if it is none of them. stencils_write: is
 * `field` a target of one of the `n` stencils `st`? */
int stencil_target(const Stencil *st, int field);
int piece_target(const Piece *p, int field);
bool stencils_write(int n, const Stencil *st, int field);
/* The first stencil of `m` that is a sweep; NULL: there is none. */
const Stencil *module_sweep(const Module *m);
/* Do stencils of `m` rotate the time levels of fields explicitly (pass history)? Then levels do not rotate by
 * themselves. */
bool module_moves_levels(const Module *m);
/* The kinds of code in a module. */
enum {
  CODE_INITS = 1,
  CODE_STENCILS = 2,
  CODE_REDUCTIONS = 4,
  CODE_PROBES = 8,
  CODE_UPDATES = 16,
  CODE_KERNELS = 32,
  CODE_ALL = 63,
};
/* Iterates over the bodies of `m` of the kinds `of` (a set of CODE_), kind by kind. */
typedef struct Bodies {
  const Module *m;
  int of, kind, i, piece;
} Bodies;
static inline Bodies bodies_of(const Module *m, int of) { return (Bodies){m, of, 0, 0, 0}; }
/* The next body; NULL after the last one. */
Block *bodies_next(Bodies *x);

/* Numbers all values in order of printing, from 0 in every piece, expression and kernel. */
void module_renumber(Module *m);
/* Numbers the values in `b` and in blocks nested in it from `next` on; returns the next free number. */
int32_t block_renumber(Block *b, int32_t next);
/* Numbers the results in the body from 0; returns how many there are. */
int32_t body_number(const Block *body);
/* The only dimension along which the grid is cut of which `m` serves a part; -1: there is none, or there are several.
 */
int part_dimension(const Module *m);
/* Is `v` a result of op ranged, or an `and` of such results? Pass range-guards makes such tests, which are nearly
 * always true. */
bool value_is_guard(const Value *v);

/* The number of dimension `d` in messages, which count as the program does; -1: the dimension of members. */
static inline int shown_dimension(const Module *m, int d) { return d - m->members; }
/* Is the box a single point for all params? */
bool box_is_point(const Box *b);
/* Is the region of `u`, or that of each member, a single point, so that `u` combines no values? */
bool update_is_point(const Update *u);
/* Is launch-time array `array` a number that no step passes on to the next one? Then it is a scratch buffer, and no
 * launcher sees it. */
bool array_is_passing(const Module *m, int array);
/* The first launch-time array that is a number kept from step to step; NULL: there is none. */
const ParamArray *module_state(const Module *m);
/* The launch-time array that holds a number for each member, with scalar `scalar` as its value before the first step;
 * -1: there is none. */
int module_member_state(const Module *m, int scalar);
/* Do kernels write launch-time array `array`? */
bool array_is_written(const Module *m, int array);
/* `field` holds frames ahead; returns the field that holds the present frames of the same series. */
int module_frames_of(const Module *m, int field);
/* The name of the number that `u` changes. */
const char *update_name(const Module *m, const Update *u);

/* ---------------------------------------------------------------- repeats within a step: repeats.c */

/* The number of the repeat of that name; -1: there is none. */
int module_find_repeat(const Module *m, const char *name);
/* repeat_of: the number of the innermost repeat that contains stage `stage`; -1: there is none. repeat_around: the
 * innermost repeat around repeat number `i`. */
int repeat_of(const Module *m, int32_t stage);
int repeat_around(const Module *m, int i);
/* The outermost repeat within repeat `around` (-1: the step) that contains stage `stage`; `around` if there is none. */
int repeat_outermost(const Module *m, int32_t stage, int around);
/* Is repeat `i` the same as repeat `outer`, or nested in it? */
bool repeat_is_in(const Module *m, int i, int outer);
/* Does repeat number `i` always make the same number of rounds: is it nested in no other, is the number a constant, and
 * does no reduction belong to its rounds? Then a run does not report its rounds. */
bool repeat_is_fixed(const Module *m, int i);
/* Has the step updates or repeats? Then stencils of two stages cannot share a launch, nor can two steps. */
bool module_has_stages(const Module *m);
/* The stage of a stencil at the end of the step: no less than the stages of all stencils and updates, and greater than
 * those of all repeats. */
int32_t module_last_stage(const Module *m);

/* ---------------------------------------------------------------- reads of another level of the grid: levels.c */

/* op_is_scaled: does `op` read a field of the next finer or coarser level? op_reads_field: does it read a field at all,
 * on any level? */
bool op_is_scaled(const Op *op);
bool op_reads_field(const Op *op);
/* stencil_is_scaled: does `st` read fields of another level? Then it has a launch of its own. module_scaled: the first
 * such stencil of `m`; NULL: there is none. */
bool stencil_is_scaled(const Stencil *st);
const Stencil *module_scaled(const Module *m);
/* Marks in `coarse`, by field, the fields of all levels except the finest: fields that stencils compute from a finer
 * level or read as a coarser one, and all other fields of stencils and inits on these levels. In a module with members
 * it marks none, because each part holds whole members. All of `coarse` must be false before. */
void module_mark_coarse(const Module *m, bool *coarse);
/* Does `st` compute from a field of the finest level a field of the next level? `coarse` is as module_mark_coarse sets
 * it. */
bool stencil_restricts(const Stencil *st, const bool *coarse);
/* stencil_is_whole: does `st` compute only fields of coarser levels, which each part of the grid holds as a whole?
 * part_is_whole: is this true of all stencils of `m`, a part's module, so that its launches cover the same points as
 * those for the whole grid? */
bool stencil_is_whole(const Module *m, const Stencil *st);
bool part_is_whole(const Module *m);
/* `m`, or a copy in memory of `a`, in which stencils that read a finer level are the last ones of their stages, and no
 * stage mixes stencils of the finest level with others. */
const Module *module_stage_levels(const Module *m, Arena *a);
/* Does each next level have half as many points in dimension `d`? Not in the dimension of members. */
bool dimension_has_levels(const Module *m, int d);
/* The coordinate in dimension `d` that `op`, which reads another level, reads for the point at `x`, before any outside
 * rule. */
int64_t scaled_coordinate(const Module *m, const Op *op, int d, int64_t x);

#endif
