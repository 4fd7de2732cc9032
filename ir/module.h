/* ir/module.h: modules, and what is asked of them, in this order:
 *
 *   what a module is made of   scalars and launch-time arrays, composite types, fields, stencils, checks, lists of
 *                              points and probes, reductions; at the end Module itself. What kernel IR adds: kernel.h
 *   outside.c, outside.def     outside rules
 *   composite.c                composite types
 *   module.c copy.c            modules as a whole
 *   repeats.c                  repeats within a step
 *   levels.c                   reads of another level of the grid
 */
#ifndef STC_IR_MODULE_H
#define STC_IR_MODULE_H

#include "ir/kernel.h"

/* ---------------------------------------------------------------- what a module is made of */

/* A scalar, in order of declaration: a param (its value may be overridden), a top-level let (computed from earlier
 * ones), or the value of the reduction of the same name, which changes while the program runs (only stencils,
 * reductions behind it and stop conditions use it; before the first evaluation it is 0). `expr` computes the value or
 * the param's default and yields it; NULL for a param without a default and for a reduction. Only const, scalar and
 * pure ops. */
typedef struct Scalar {
  const char *name;
  Type type;
  bool is_param, is_reduction;
  Block *expr;
  Loc loc;
} Scalar;

/* Where the elements of a launch-time array come from: from outside; from the launcher, which makes them of a list of
 * points (PointList.next); from kernels, as the values of a probe (Probe.result); from the launcher, which makes them
 * of coordinates (ParamArray.from); from the launcher, which makes them the value of a scalar, and then from kernels
 * (Update); from the launcher, which computes each of them from scalars (ParamArray.value). */
typedef enum ArrayRole { ARRAY_GIVEN, ARRAY_NEXT, ARRAY_SERIES, ARRAY_WEIGHTS, ARRAY_STATE, ARRAY_VALUES } ArrayRole;
/* A launch-time array of `extent` elements (0 if that is negative), given from outside like a param: read-only, the
 * same at all points. One of another role is hidden from users, and stands behind all that are given.
 * Of role ARRAY_WEIGHTS: `from` is the array of the coordinates of a dimension's points, which rise. For each of them
 * it has the weights by which the values at `points` points there make the derivative number `derivative`: at the point
 * and those about it from the nearest outwards, the upper one of two first (side 0), or at the point and those above
 * (1) or below it (-1); where the derivative is number 0 and there is one point, the coordinates themselves. half 1:
 * the derivative is that half way to the next point, the nearest points being that and the point itself; half -1: at
 * the point, of values that lie half way from each point to the next, the nearest being that of the point itself and
 * the one before. It has as much for `beyond` more points on either side, as which coordinates go on beyond the ends:
 * see weights_fill (run/weights.c). Of role ARRAY_STATE, a number that is kept from step to step: it has one element,
 * f64 or i64, or with `each` one for each member, the grid's extent in dimension 0, which before the first step is the
 * value of scalar number `first`; -1: it is not kept, each step gives it a value before it reads it. Of role
 * ARRAY_VALUES: element number i is what `value` yields where index 0 is i: const, scalar, index and pure ops. An array
 * of two indices, by rows: `extent` is rows * columns, and columns at least 1; of all others columns is 0.
 */
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

/* Of such weights: the highest derivative, the most points, and the most beyond an end. */
enum { MAX_WEIGHED_DERIVATIVE = 4, MAX_WEIGHED_POINTS = 20, MAX_WEIGHED_BEYOND = 1 << 12 };

/* A member of a composite type; name NULL in a vector. */
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
/* At most so many components has a type. */
enum { MAX_COMPONENTS = 256 };

/* What an access gives beyond the two edges of a field's region in one dimension: the rows of outside.def. */
typedef enum OutsideRule {
#define OUTSIDE(id, ...) OUTSIDE_##id,
#include "ir/outside.def"
#undef OUTSIDE
  OUTSIDE_RULES
} OutsideRule;

/* What an access gives beyond one edge, the lower or the upper one of a dimension: `rule`, one that both edges may
 * have. odd, of a mirror: the value there with its sign changed, or if it is odd about a number, twice that less the
 * value. about: number + 1 of the scalar that is that number, 0: `value` is it, as it is the constant of CONST. Values
 * are of the field's type; of a composite: f64. Each component takes them, and scalars, converted to its type. */
typedef struct Side {
  OutsideRule rule;
  bool odd, is_about;
  int32_t about;
  Const value;
} Side;

/* What a part has of a field: the cells about its own points (CUT); all of it, as each part computes all; or all of it
 * (GATHERED), but each part computes the cells that stand for its own points, and gets the others' at every exchange.
 * The latter two are fields of coarser levels of the grid. */
typedef enum FieldShare { SHARE_CUT, SHARE_ALL, SHARE_GATHERED } FieldShare;

/* When the ghost cells of a field of a part are brought up to date: never (temp), before the first step, or then and
 * after every so many steps. */
typedef enum Exchange { EXCHANGE_NONE, EXCHANGE_ONCE, EXCHANGE_STEPS } Exchange;

/* The hidden param that fields take their pitch from (pass pad-rows). */
#define ROW_PITCH "row.pitch"
/* Points of a row are counted modulo this many, which is a multiple of the elements of any vector (Field.rest). */
enum { ROW_REST = 16 };

/* A field: an array over `box`, C order, last dimension contiguous, dense but for what `pitch` says.
 * outside: what an access beyond box gives, for each dimension by itself; with CONST, outside_value if any dimension is
 * beyond. sides (NULL: that is all): it gives what these say, 2 * d and 2 * d + 1 for the lower and the upper edge of
 * dimension d: of dimensions where it is beyond constants the first one's; else the value of the point to which the
 * rules lead, each edge's in turn until the point is in the region, as odd edges change it, of the last dimension
 * first. `outside` then says where they lead (outside_between). A dimension that the field does not have (ALL,
 * field_lacks) has one point of its box, and every access leads to that; stencils do not write such a field. apart:
 * accesses give no more than that, and stencils make the rest of it (pass sides). A field with history K has K further
 * fields of the same type, box and rule, its past 1 .. K: past k holds what the field was at the start of the k-th step
 * before the running one (between steps: k steps ago). They are called "A@1" and so on. Only inits have them as
 * targets: after each step the levels rotate by themselves, until pass history makes that explicit: then stencils have
 * pasts as targets. A temp field may be past K
 * + 1. */
struct Field {
  const char *name;
  Type type; /* composite only before pass scalarize */
  Box box;
  OutsideRule outside[MAX_RANK];
  Const outside_value; /* of `type`; of a composite: an f64 that each component takes, converted to its type */
  const Side *sides;
  bool apart;
  bool input, temp;
  int64_t frames;        /* of an input that the launcher sets as the program runs, to frames of a series of so many
                            steps each: before step s to frame s / frames, or if it is `ahead` to the one behind that;
                            0: no step changes it */
  bool ahead, cycle;     /* it has the frames ahead, of the field before it that has those of the step; behind its last
                            frame the series begins anew, and does not stay there */
  bool derived;          /* filled by the launcher from a list of points (PointList.field); hidden from users; input */
  int32_t series, level; /* series > 0: what probe number series - 1 sees after step `level` of a time tile; has no
                            memory: pass series takes it away */
  int32_t history;       /* older time levels kept, at most MAX_HISTORY */
  int32_t past, present; /* past k > 0: level k of field `present` */
  Exchange exchange;     /* in the program for a part of the grid (GridPart) */
  FieldShare share;      /* likewise */
  bool ring;             /* likewise: beyond the edges of `whole` its ghost cells go on with the other side's */
  int32_t pitch;         /* number + 1 of the scalar that says how many elements lie from where one row begins to where
                            the next does, which is the extent of the last dimension or more (pass pad-rows); 0: rows
                            are dense. What lies between belongs to no point, and holds anything */
  int32_t rest;          /* of such a row: 1 more than what the number of its points leaves when it is divided by
                            ROW_REST, as code may rely on that asks for it (Kernel.multiples); 0: not known */
  const Box *whole;      /* likewise: the field's region in the whole grid; NULL elsewhere */
  Loc loc;
};
enum { MAX_HISTORY = 16 };

/* The part of a grid that a module is for (pass distribute; Module.part). All its parts run one program, each with
 * other values of the hidden params. A part has fields on `own` and `reach` times as many cells about it as scalar
 * `steps` says, as far as there are points: ghost cells, of which other parts are the owners. After so many steps at
 * most all fields whose Field.exchange says so must be brought up to date: each cell of field f in f.box that is not in
 * `own` gets the value that the part has whose `own` it lies in; of a ring, taken modulo f.whole. So
 * corners are parts of the boxes. Where inits look further around than that, a part has as many cells as they need;
 * steps do not need those to be brought up to date.
 * gives: the points that a launch stores: all of the part's grid by default, and what a launcher says by hidden
 * params in the dimensions that are cut, the last one aside. So it can make a launch in several, of whole tiles but for
 * the last, in any order. Kernels that do not follow it use none of these params. */
typedef struct GridPart {
  Box own, whole; /* of the grid; they differ in the dimensions that are cut */
  Box gives;
  Extent reach; /* cells that steps need on each side, a step */
  int32_t steps;
} GridPart;

/* A declared field of composite type after pass scalarize: its components, in order, are the fields first .. first + n
 * - 1 (n = type_components), a structure of arrays. Files and the programs that use the artifact see one field `name`.
 */
typedef struct Record {
  const char *name;
  Type type;
  int32_t first;
} Record;

/* One region of a stencil with its own equations. targets[i] (a field index) gets operand i of the body's yield at
 * every point of box. */
typedef struct Piece {
  Box box;
  int32_t ntargets;
  int32_t *targets;
  Block *body;
  Loc loc;
} Piece;

/* A stencil: all pieces read the old values, pieces do not overlap, points in none keep theirs.
 * once: of an init, which stands behind all that are not: it computes what no step changes, of fields that no step
 * changes, into fields that nothing else sets. It is run behind the inits, and again before further steps where a field
 * that it reads may have been set from outside.
 * every: it runs in the steps whose number is a multiple of that alone, 0: in all; no init's. In the others its targets
 * keep their values. Pass every writes that out.
 * sweep: 0, or its points have an order along dimension `along`: from the least coordinate to the greatest (1), or down
 * (-1). Then the pieces come in that order, each has the other dimensions' bounds of the first, and OP_BEHIND reads
 * what the sweep has left of a target at a point that it has passed. No order is among the points of one layer. */
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
  int32_t level; /* time level inside the time tile, 0 .. Module.time_tile-1 (pass time-tile) */
  int32_t group; /* the launch of its step that it belongs to, from 0 without gaps, never falling (pass fuse); all 0:
                    one launch a step */
  int32_t stage; /* how many of Module.updates' stages are before it in the step (Update.stage), never falling; those of
                    a group have the same */
  bool has_extent;
  Extent extent; /* the region on which its targets must be computed, about the output tile (pass halo) */
  Loc loc;
} Stencil;
/* A value behind lies at most so many layers back. */
enum { MAX_BEHIND = 4 };

/* The points of the box `need`, mapped into `within` by its outside rule (which leaves them out if it is a constant,
 * and does nothing if there is none), dimension by dimension, all lie in one or another of the `n` boxes at `by`. Text
 * form: covered [1 .. N] outside periodic in [0 .. N - 1] by [0 .. 3] [4 .. N - 1] */
enum { MAX_COVERED = 256 };
typedef struct Covered {
  Box need, within;
  OutsideRule rule[MAX_RANK];
  int32_t n;
  Box *by;
} Covered;

/* A condition on the params that launching must check: value >= 0, or, if `covered` is given, that; else `message` (a
 * format-free sentence). It concerns the points of the boxes in unless_empty (NULL: none): if one of them is empty
 * under the params the condition holds whatever `value` is. module_bind honours this. Text form: check N - 2 >= 0
 * unless empty [1 .. N - 2] unless empty [M - 1] "message" */
enum { MAX_UNLESS = 4 };
typedef struct Check {
  Affine value; /* 0 beside `covered` */
  const Covered *covered;
  const char *message;
  Loc loc;
  const Box *unless_empty[MAX_UNLESS]; /* those that there are come first */
} Check;

/* A list of points that launch-time arrays give: coordinate d of point number p is element p of array[d], or at[d] if
 * array[d] is -1, or box.lo[d] + p if it is LIST_NUMBER, as it may be in one dimension: then the list has a point for
 * each coordinate of `box` there. Else one array at least is there. All have as many elements as the list has points,
 * of an integer type. All points must lie in `box`. Field `field`, derived, i32 on `box`, says at each point of it 1 +
 * the number of the first point of the list that is there, 0 if there is none. Array `next`, of role ARRAY_NEXT (-1:
 * nobody needs it), has for each point of the list 1 + the number of the next one at the same place, 0 if there is
 * none. At most `most` points of the list may be at one place (0: any number). */
enum { LIST_NUMBER = -2 };
typedef struct PointList {
  const char *name;
  int32_t array[MAX_RANK];
  Affine at[MAX_RANK];
  Box box;
  int32_t field, next, most;
  Loc loc;
} PointList;

/* What distances are, as far as the program says so: number + 1, or 0, of the scalars (f64) that are the distance of
 * two points in each dimension and the time from one step to the next; of the launch-time array that has the
 * coordinates of the grid's points in a dimension instead, from its lower end on, rising. Code does not go by this:
 * what it needs of it it takes from the scalars and arrays. */
typedef struct Metric {
  int32_t spacing[MAX_RANK], coordinates[MAX_RANK], step;
} Metric;

/* A probe: the value that `body` yields, of the scalar type `type`, at the points of list number `list`, or if that is
 * -1 at the one point that is `box`; before the first step and after every `every` steps. The body may read any field
 * but temps, fields' pasts as of now; `step` is the number of steps done; reductions have the values that they had in
 * the step. `box` is that of the list.
 * In kernel IR body is NULL. The launches of `seq` leave the values before the first step, and kernels that make steps
 * leave those after each, in the launch-time array `result` of role ARRAY_SERIES (-1 before pass series), in rows of
 * as many elements as the list has points (1 without a list): row n, what is seen after n * every steps, is row n %
 * SERIES_ROWS of the array. Of points of the list that are at one place the first has the value. */
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
/* Rows of the array that holds a probe's values: a power of two. A launcher takes them out before they are written
 * again. */
enum { SERIES_ROWS = 128 };

/* What a reduction is for: its value; to stop the run; to find what -fcheck looks for. */
typedef enum ReductionKind { REDUCE_VALUE, REDUCE_UNTIL, REDUCE_FINITE, REDUCE_BOUNDS } ReductionKind;

/* A reduction over all points of `over`, evaluated between time tiles: before step 0 and after every `every` steps.
 * `body` yields the value at a point, of type `type` (f64 or i64; a body of stencil IR that may read any field but
 * temps, fields' pasts as of now). Values are combined by reduce_combine in the fixed order that reduce_order (eval.c)
 * describes, the same on every device, so that results agree bit for bit. An empty region gives the identity
 * (reduce_identity). REDUCE_VALUE   scalar holds the value from then on REDUCE_UNTIL   the same, and then, unless no
 * step was done, the run ends if `stop`, an expression over scalars, gives true; NaN is an error REDUCE_FINITE  the
 * least position (row-major number of the point in `over`) where `field` is not finite, INT64_MAX if there is none:
 * error REDUCE_BOUNDS  the first step in which an index was out of range (see pass check-bounds; -1: in an init),
 * INT64_MAX if all is well: error. It is called "bounds." and the name of what has the index In kernel IR body is NULL:
 * the launches of `seq` leave the value in element 0 of `result`, a scratch buffer, or one for each coordinate. */
typedef struct Reduction {
  const char *name;
  ReductionKind kind;
  Opcode op; /* OP_ADD, OP_MUL, OP_MIN, OP_MAX */
  Type type;
  Box over;
  int64_t every; /* at least 1 */
  int32_t scalar, field;
  bool each;    /* it has a value for each coordinate of dimension 0, a member: the same over the points that have it,
                   in the order of a region of its own. No code reads its scalar but `stop`, which must hold for all */
  int32_t loop; /* it belongs to repeat number `loop` - 1 of Module.repeats, in kernel IR to that loop of
                   Host.loops, and `every` counts its rounds; 0: to the time steps */
  Block *body, *stop;
  HostSeq seq;
  int32_t result;
  Loc loc;
} Reduction;

/* A change of the number that launch-time array `state`, of role ARRAY_STATE, holds: within a step, behind all stencils
 * whose stage is less than `stage`, which is at least 1, and before all others. The stages of updates never fall; those
 * of one stage are made in order. The number becomes the value of `body` at the points of `over`, combined by `op` in
 * the order of reductions; over a single point, whatever the params are, that of the body itself. each: the array has
 * an element for each coordinate of dimension 0, a member, which becomes the value of its own points. The body, of
 * stencil IR, yields a value of type `type`, that of the array. It may read fields but temps and older levels, as they
 * are then, and all states; `step` is the number of the step. Where there are updates a time tile has one step. In
 * kernel IR they are launches of the sequences. */
typedef struct Update {
  int32_t state, stage;
  Opcode op; /* OP_ADD, OP_MUL, OP_MIN, OP_MAX */
  Type type;
  bool each;
  Box over;
  Block *body;
  Loc loc;
} Update;

/* A loop within a step, of the stencils and updates whose stages are `first` to `last`: they are run in order, at most
 * `most` rounds of them, which launching knows. Its reductions (Reduction.loop) are evaluated after so many rounds of
 * it, none before the first round; an `until` whose condition is met ends it. Of two repeats whose stages meet one has
 * all of the other's, and that other one stands before it in Module.repeats. `step` and older time levels are those of
 * the step. A temp field that a stencil of it writes belongs to its rounds: nothing but a stencil of it has it. Where
 * there are repeats a time tile has one step. In kernel IR they are loops of the host part, by the same numbers.
 * tile: 0, or more than 1: the stages up to `last` - 1 make so many rounds at once, and stage `last` a single one;
 * which is run depends on how many are left until the next evaluation (pass rounds). */
typedef struct Repeat {
  const char *name;
  Affine most;
  int32_t first, last, tile;
  Loc loc;
} Repeat;

/* A loss: the sum of `body`, of type f64, at all points of `over`, in the order of reductions, added up over all steps
 * that are due: before the first step and after every `every` steps, as a reduction is; every 0: behind the last step
 * alone. The body reads what that of a reduction may. factor: what it counts in the sum that is differentiated, 0: not
 * at all. Runs do not evaluate losses; who wants derivatives does (ir/interp/tape.c, passes/stencil/transpose.c).
 * Passes know nothing of them: module_without_losses comes first. */
typedef struct Loss {
  const char *name;
  Box over;
  int64_t every;
  double factor;
  Block *body;
  Loc loc;
} Loss;
/* By what the sum is differentiated: input field or field (its values before the first step) number `index`,
 * launch-time array, param. may_be_idle: that it does not influence the losses is no error: the derivatives are 0. */
typedef enum ByKind { BY_FIELD, BY_ARRAY, BY_PARAM } ByKind;
typedef struct By {
  ByKind kind;
  int32_t index;
  bool may_be_idle;
  Loc loc;
} By;

/* How a program is to be run (ir/schedule.h). */
typedef struct Schedule Schedule;

/* The values of a module's scalars where all params have their defaults (passes/launch/thin.c). */
typedef struct Defaults Defaults;

/* What is known of points and fields whatever the params are (passes/launch/inside.c). */
typedef struct InsideKept InsideKept;

/* A program, in stencil IR (steps, inits used) or kernel IR (buffers, kernels, host used); the declarations are common.
 */
struct Module {
  Arena *arena;
  const char *name; /* file name of the source, without directory and ending */
  OpLevel level;    /* LEVEL_SIR or LEVEL_KIR */
  bool contract;    /* mul and add may become fma */
  bool fast_math;   /* reassociation and approximation allowed */
  int32_t nscalars;
  Scalar *scalars;
  Box grid;      /* grid.rank is the program's rank */
  int64_t steps; /* time steps asked for by the program; 0 if a scalar says how many: number `steps_by` - 1 */
  int32_t steps_by;
  bool members; /* dimension 0 is that of members: messages number the others from 0, as the program does */
  Metric metric;
  int32_t ncomposites;
  Composite *composites; /* type TY_COMPOSITE + i is number i; members come before what they are in */
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
  Loss *losses; /* stencil IR, as the front end makes it */
  int32_t nby;
  By *by;                        /* what they are differentiated by, in order; none: there is no gradient */
  const GridPart *part;          /* NULL: the module is for the whole grid */
  const struct Module *slice_of; /* it is one slice of that module of a rank more (passes/launch/slices.h); NULL: it is
                                    a program */
  const Defaults *defaults;      /* those that keep_defaults has found; NULL: none */
  InsideKept *inside;            /* what keep_inside has room for; NULL: nothing is kept */
  /* stencil IR */
  int32_t time_tile;    /* steps one run through `stencils` makes; 1 at first */
  const Schedule *plan; /* what pass plan decided; NULL: nothing */
  bool plan_checked;    /* it is legal for the target at hand; not of a plan that was read */
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

/* The name of a rule, "mirror half .. clamp"; the rule of that name, OUTSIDE_NONE: there is none. */
const char *outside_name(OutsideRule r);
OutsideRule outside_find(const char *name);
/* The rule that is `low` below the lower edge and `high` above the upper one, each clamp, mirror or mirror half. */
OutsideRule outside_pair(OutsideRule low, OutsideRule high);
/* The rule below the lower edge (end 0) or above the upper one (1). */
OutsideRule outside_end(OutsideRule r, int end);
/* Rule number `i` of those that a field can name, which are all but a constant: its word, NULL: there are fewer. All of
 * them with `last` in front of the last one, "clamp, mirror and periodic". */
const char *outside_word(int i);
const char *outside_words(Arena *a, const char *last);
/* The op that brings a coordinate into the region; OP_COUNT: there is none. */
Opcode outside_map(OutsideRule r);
/* Gives field `f` of rank `rank` one rule in all dimensions; the rules at `sides`, two a dimension, which stay: as
 * rules of whole dimensions, if they come to that. */
void outside_set(Field *f, OutsideRule rule);
void outside_set_sides(Field *f, int rank, const Side *sides);
/* Where accesses that leave a region of whose two sides these are the rules lead. */
OutsideRule outside_between(const Side *low, const Side *high);
/* Takes dimension `d` from field `f`, behind its rules; has it none, so that its box is [0 .. 0] there and its value
 * the same at all coordinates, whatever offset an access has? Lacks it any? Do two fields lack the same ones? */
void field_leave_out(Field *f, int d);
bool field_lacks(const Field *f, int d);
bool field_lacks_any(const Field *f);
bool field_lacks_same(const Field *f, const Field *g);
/* Are these one rule, of values of type `t`? Are they two that give the same for fields of one type? */
bool side_same(const Side *x, const Side *y, Type t);
bool outside_same(const Field *f, const Field *g);
/* Has the field a rule, in the dimensions that it has? One rule and one constant for all of its `rank` dimensions? */
bool outside_any(const Field *f);
bool outside_uniform(const Field *f, int rank);
/* Is `rule` that of one of its dimensions? */
bool outside_has(const Field *f, OutsideRule rule);
/* May an access that leaves field `f`, of rank `rank`, across side `s` of dimension `d` change more there than where it
 * leads to, so that it has to come to a point of the region at once? */
bool outside_once(const Field *f, int d, int end);
/* Does it lead from beyond an edge to a point near that, so that a tile has a cell for it? How far an access at `off`
 * may lead then: at least *lo, at most *hi; else both are `off`. */
bool outside_leads(OutsideRule r);
void outside_reach(OutsideRule r, int64_t off, int64_t *lo, int64_t *hi);

/* ---------------------------------------------------------------- composite types: composite.c */

/* The vector of `n` values of type `member`, made if the module has it not yet. */
Type module_vector(Module *m, Type member, int n);
/* A new struct type; `members` is not copied. */
Type module_struct(Module *m, const char *name, int n, const Member *members);
/* The composite type's row, NULL for a scalar type. */
const Composite *type_composite(const Module *m, Type t);
/* Is it a vector type? */
bool type_is_vector(const Module *m, Type t);
/* A type is flattened into its scalar components, depth first. How many there are (1 for a scalar); the type of
 * component `i`; the bytes of all of them packed, and of those before component `i`; the number of the first component
 * that member `member` of `t` holds. */
int type_components(const Module *m, Type t);
Type type_component(const Module *m, Type t, int i);
int64_t type_bytes(const Module *m, Type t);
int64_t type_component_offset(const Module *m, Type t, int i);
int type_member_component(const Module *m, Type t, int member);
/* How component `i` is reached from a value, for names: ".c.2" is member 2 of the vector that member c is. */
const char *type_component_path(const Module *m, Type t, int i);
/* "f32", "f32[3]", "f32[3][2]" (a vector of 2 vectors of 3), a struct's name. */
void type_print(Str *s, const Module *m, Type t);
const char *type_text(const Module *m, Type t);

/* The record that field `field` is a component of, NULL if it is a field by itself; the name by which the program knows
 * the field: the record's, or its own. */
const Record *record_of(const Module *m, int field);
const char *declared_name(const Module *m, int field);

/* ---------------------------------------------------------------- modules as a whole: module.c copy.c */

Module *module_new(Arena *a, const char *name, OpLevel level);
/* A copy of `m`, whose values are numbered (module_renumber), that passes may change: names, messages and what nothing
 * changes in place it shares. */
Module *module_copy(Arena *a, const Module *m);
/* `m` without its losses, which runs do not need: a copy if it has some, so that `m` stays as it is. */
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
/* The place of `field` among the targets of `st`, or of the piece, -1: it is none. Is it a target of one of the `n` at
 * `st`? */
int stencil_target(const Stencil *st, int field);
int piece_target(const Piece *p, int field);
bool stencils_write(int n, const Stencil *st, int field);
/* The first stencil of `m` that is a sweep; NULL: there is none. */
const Stencil *module_sweep(const Module *m);
/* Do stencils of `m` move the time levels of its fields on (pass history), so that they do not move by themselves? */
bool module_moves_levels(const Module *m);
/* Code of a module, by what it belongs to. */
enum {
  CODE_INITS = 1,
  CODE_STENCILS = 2,
  CODE_REDUCTIONS = 4,
  CODE_PROBES = 8,
  CODE_UPDATES = 16,
  CODE_KERNELS = 32,
  CODE_ALL = 63,
};
/* Goes through the bodies of `m` that are code `of`, in the order of the CODE_. */
typedef struct Bodies {
  const Module *m;
  int of, kind, i, piece;
} Bodies;
static inline Bodies bodies_of(const Module *m, int of) { return (Bodies){m, of, 0, 0, 0}; }
/* The next body; NULL behind the last one. */
Block *bodies_next(Bodies *x);

/* Numbers all values in order of printing, from 0 in every piece, expression and kernel. */
void module_renumber(Module *m);
/* The same for the values in `b` and all nested in it, from `next` on; the first number that is free then. */
int32_t block_renumber(Block *b, int32_t next);
/* Numbers the results in the body from 0; their number. */
int32_t body_number(const Block *body);
/* The one dimension along which the grid that `m` is for a part of is cut; -1: there is none, or are several. */
int part_dimension(const Module *m);
/* Does `v` say that something is ranged (one op ranged, or `and` of several)? Such a test, by pass range-guards, nearly
 * always holds. */
bool value_is_guard(const Value *v);

/* The number of dimension `d` as messages have it, as the program does; -1: that of members. */
static inline int shown_dimension(const Module *m, int d) { return d - m->members; }
/* Is it one point, whatever the params are? */
bool box_is_point(const Box *b);
/* Does `u` combine nothing: is its region, or that of each member, a point? */
bool update_is_point(const Update *u);
/* Is launch-time array `array` a number that no step leaves to the next? Then it is a scratch buffer, and no launcher
 * knows of it. */
bool array_is_passing(const Module *m, int array);
/* The first launch-time array that is a number kept from step to step; NULL: there is none. */
const ParamArray *module_state(const Module *m);
/* The launch-time array in which each member has a number of its own that is scalar `scalar` before the first step; -1:
 * there is none. */
int module_member_state(const Module *m, int scalar);
/* Do kernels write launch-time array `array`? */
bool array_is_written(const Module *m, int array);
/* The field of which `field`, one of frames ahead, has the frames ahead. */
int module_frames_of(const Module *m, int field);
/* The name of the number that `u` changes. */
const char *update_name(const Module *m, const Update *u);

/* ---------------------------------------------------------------- repeats within a step: repeats.c */

/* The number of the repeat of that name, -1: there is none. */
int module_find_repeat(const Module *m, const char *name);
/* The number of the innermost repeat that has stage `stage`, -1: none has. That of the innermost one around repeat
 * number `i`. */
int repeat_of(const Module *m, int32_t stage);
int repeat_around(const Module *m, int i);
/* The outermost repeat within repeat `around` (-1: the step) that has stage `stage`; `around` if none has. */
int repeat_outermost(const Module *m, int32_t stage, int around);
/* Is repeat `i` repeat `outer`, or within that? */
bool repeat_is_in(const Module *m, int i, int outer);
/* Makes repeat number `i`, which is within no other, always as many rounds: their number is a constant and no reduction
 * looks at them? Runs do not tell of it. */
bool repeat_is_fixed(const Module *m, int i);
/* Has the step updates or repeats, so that stencils of two stages cannot share a launch, nor two steps one? */
bool module_has_stages(const Module *m);
/* The last stage that an update, a repeat or a stencil has; the stage where a stencil that comes behind all of the step
 * is. */
int32_t module_last_stage(const Module *m);

/* ---------------------------------------------------------------- reads of another level of the grid: levels.c */

/* Does `op` read a field of the next finer or coarser level? Does it read a field at all, at the point's own scale or
 * another one? */
bool op_is_scaled(const Op *op);
bool op_reads_field(const Op *op);
/* Does `st` read such fields? Then it is a launch of its own. The first stencil of `m` that does; NULL: none does. */
bool stencil_is_scaled(const Stencil *st);
const Stencil *module_scaled(const Module *m);
/* Marks, by field, those of all levels but the finest: what stencils compute from a finer level or read as a coarser
 * one, and all that stencils and inits have beside these on one level; none of a module with members, which parts
 * have whole. All of `coarse` is false before. */
void module_mark_coarse(const Module *m, bool *coarse);
/* Does `st` read a field of the finest level from the level above it, where fields are marked so? */
bool stencil_restricts(const Stencil *st, const bool *coarse);
/* Does `st` compute fields of coarser levels alone, which each part of the grid has as a whole? Do all stencils of `m`,
 * of a part, so that its launches cover what they would in the whole grid? */
bool stencil_is_whole(const Module *m, const Stencil *st);
bool part_is_whole(const Module *m);
/* `m`, or a copy in memory of `a` in which a stencil that reads a finer level is the last one of its stage, and no
 * stage has stencils of the finest level and of others. */
const Module *module_stage_levels(const Module *m, Arena *a);
/* Are there half as many points in dimension `d` on each next level? Not in that of members. */
bool dimension_has_levels(const Module *m, int d);
/* The coordinate in dimension `d` that `op`, which is such, reads from the point at `x`, before any outside rule. */
int64_t scaled_coordinate(const Module *m, const Op *op, int d, int64_t x);

#endif
