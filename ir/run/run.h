/* ir/run/run.h: what code means, and all that runs it, in this order:
 *
 *   eval.c  random.c             one op on constants (random.h)
 *   reduce.c                     the order of reductions
 *   bind.c  covered.c  shape.c   params, extents, and what is checked before a launch
 *   places.c                     which scalars decide on sizes, places and numbers of steps
 *   weights.c                    coordinates of points, and the weights of differences
 *   points.c                     lists of points and probes
 *   host-run.c                   the host program of kernel IR, on whatever launches (host-run.h)
 *   derive.c                     derivatives of ops and scalars, and which programs have a gradient
 *   influence.c                  which numbers that steps update change with what a gradient is to
 *   interp/interp.c              the interpreter of stencil IR, the definition of right (interp/interp.h)
 *   interp/tape.c                the derivatives of what it does
 *   sim/simulate.c               the simulator of kernel IR (sim/sim.h)
 */
#ifndef STC_IR_RUN_H
#define STC_IR_RUN_H

#include "ir/build.h"

/* One pure op on constants: operand types as in `op`; the definition of every op's arithmetic. f32 functions beyond + -
 * * / sqrt fma are computed in f64 and rounded; min and max are IEEE 754-2019 minimumNumber and maximumNumber. Not for
 * access, index, step, thread, block, inside, idx.*. */
Const eval_op(const Op *op, const Const *operands);
/* Is x in [2^-RANGED_F32, 2^RANGED_F32), or for TY_F64 [2^-RANGED_F64, 2^RANGED_F64)? What op ranged asks: quotients
 * and residuals of such numbers neither overflow nor lose bits to underflow. */
enum { RANGED_F32 = 62, RANGED_F64 = 500 };
bool eval_ranged(Type t, double x);
/* The same of what is NaN or not below that: what op ranged.above asks. */
bool eval_below_end(Type t, double x);
/* Does div.ranged give x / y, both without sign, sqrt.ranged the root of `x`? For all that is ranged, and more: as far
 * as the reciprocal, the quotient and what it leaves have all their bits. */
bool eval_short_quotient(Type t, double x, double y);
bool eval_short_root(Type t, double x);
/* What an op that maps a coordinate into [lo, hi] does beyond each end: does it reflect there, about the end itself
 * or, with half, about half a point beyond it? Else it clamps. Not for OP_WRAP. */
typedef struct Reflects {
  bool end[2];
  int half[2];
} Reflects;
Reflects map_reflects(Opcode code);
/* The coordinate x mapped into [lo, hi] by OP_CLAMP (also GUARD), OP_MIRROR (period 2(hi-lo), edge point not repeated;
 * as NumPy's "reflect"), OP_HALF (edge point repeated, "symmetric"), what is one of these below and another above, or
 * OP_WRAP. */
int64_t eval_map(Opcode code, int64_t x, int64_t lo, int64_t hi);
/* The value `v` of type `t` seen across an odd edge: with its sign changed, or twice `about` less it. Computed in
 * odd_type(t), and converted back. */
Const eval_odd(Type t, bool is_about, Const about, Const v);
Type odd_type(Type t);
/* The last coordinate in [lo, hi] that is a multiple of `n` away from lo: where OP_GUARD of so many elements leads. */
int64_t eval_last(int64_t lo, int64_t hi, int64_t n);

/* Reductions (both IRs, all devices). Values are combined in an order that depends on the region alone, so that every
 * device gives the same bits: the region's points are cut into rows of ROW consecutive points: those of one line along
 * the last dimension (rank 1: REDUCE_ROW points; the last may be shorter). In each row lane t = (position in the row)
 * mod REDUCE_LANES starts from the identity and takes its points in rising order; then the lanes are combined pairwise,
 * t with t + w for w = REDUCE_LANES/2, .., 2, 1: the value of the row. Block b = (row number) mod REDUCE_BLOCKS starts
 * from the identity and takes its rows in rising order; the blocks are combined pairwise like lanes. So whoever has
 * some rows can do all but the last of it by himself. */
enum { REDUCE_ROW = 2048, REDUCE_LANES = 256, REDUCE_BLOCKS = 1024 };
/* The value that leaves others as they are: 0, 1, and for min and max the infinities or the ends of i64. */
Const reduce_identity(Opcode op, Type t);
/* x op y; a NaN among floats gives NaN also in min and max. */
Const reduce_combine(Opcode op, Type t, Const x, Const y);
/* The `n` values at `v`, a power of two, combined pairwise, in place; the value of a row of `n` points; the value of
 * all from those of the `n` rows, in order. */
Const reduce_pairs(Opcode op, Type t, Const *v, int n);
Const reduce_row(Opcode op, Type t, const Const *v, int64_t n);
Const reduce_rows(Opcode op, Type t, const Const *rows, int64_t n);
/* The same as ops. */
Value *build_reduce_combine(Builder *b, Opcode op, Value *x, Value *y);

/* What an init makes of a cell of a part: nothing; a value of cells that the part has; one of cells some of which it
 * lacks. */
typedef enum InitMakes { INIT_NOTHING, INIT_VALUE, INIT_GUESS } InitMakes;
/* What the simulator knows of the ghost cells of a part (Module.part): its place among the parts and the points that it
 * owns; after how many steps parts exchange, and how many were made since; for each field (NULL: of none) and each of
 * its cells the number of the exchange that it was in last, -1: it is stale; the number of the last exchange. made: of
 * the run at hand. still: its steps look at no other points than their own, and no cell grows stale. init: in a
 * run of inits, what the one in line `loc` of the program makes of the cell of field `field` at `at`; else NULL. */
typedef struct Ghosts {
  int64_t at[MAX_RANK], lo[MAX_RANK], hi[MAX_RANK];
  int64_t every, age, made, exchanged;
  bool still;
  int64_t **levels;
  InitMakes (*init)(void *user, Loc loc, int field, const int64_t *at);
  void *user;
} Ghosts;

/* Values for a run. */
typedef struct Binding {
  Const *scalars; /* values of all Module.scalars, see module_bind; those of reductions are set by the run */
  void **fields;  /* element 0 of each field's array (NULL for temp), C order, row strides dense but for Field.pitch;
                     composites packed, point by point */
  void **param_arrays; /* the elements of each launch-time array (may be NULL if there are none) */
  int64_t first_step;  /* steps done before this run: what `step` is in its first step */
  bool evaluated;      /* the reductions of that moment have been evaluated: not before the first step again */
  bool begins;         /* the run begins after these steps, and has evaluated nothing yet; not asked where they are 0 */
  /* Called after each evaluation, `step` steps being done: of a reduction that has a value for each member
     (Reduction.each) with each, from member 0 on, of others with member 0; may be NULL. */
  void (*reduced)(void *user, const Reduction *r, int64_t step, int64_t member, Const value);
  /* Called with what probe `p` sees when `step` steps are done: an element of its type for each point of its list, in
   * the list's order (1 without a list); may be NULL. On devices but the reference in order of steps for each probe,
   * and before the run ends. */
  void (*probed)(void *user, const Probe *p, int64_t step, const void *values);
  /* Called behind the rounds of repeat number `repeat` in step number `step`: so many were made, and an `until` ended
   * them or not; may be NULL. */
  void (*repeated)(void *user, int repeat, int64_t step, int64_t rounds, bool ended);
  void *user;
  const Stop *stop; /* ends the run when it asks for it; NULL: nothing does */
  bool torn;        /* out: the run failed because it was stopped within a step; nothing was reported */
  int64_t done;     /* out: steps made, fewer than asked for if an `until` was met, or if the run was stopped */
  bool see;         /* nothing is run: probes that are due see the fields as they are now */
  Ghosts *ghosts;   /* of a part, on the simulator; NULL: all cells are what they should be */
} Binding;
/* Number of elements of the array under the scalars. */
int64_t param_array_extent(const ParamArray *p, const Const *scalars);
/* What a check's reduction (REDUCE_FINITE, REDUCE_BOUNDS) has to say about its value after `step` steps: reports and
 * returns false if something is wrong. So for an `until` whose value, of a reduction by member that of `member`, is
 * NaN. Sets *stop if the run is to end. For all devices; `scalars` has the value already. */
bool reduction_judge(const Module *m, const Reduction *r, const Const *scalars, int64_t step, int64_t member,
                     bool *stop, Diags *d);
/* How many values `r` has. */
int64_t reduction_values(const Module *m, const Reduction *r, const Const *scalars);
/* An evaluation of `r` behind so many steps or rounds, whose values are told one by one. some_not: one so far does not
 * meet the condition of an `until`; wrong: something has been reported. */
typedef struct ReductionTold {
  const Module *m;
  const Reduction *r;
  Const *scalars;
  int64_t step;
  void (*reduced)(void *user, const Reduction *r, int64_t step, int64_t member, Const value);
  void *user;
  bool some_not, wrong;
} ReductionTold;
/* Takes value number `member`: its scalar has it, `reduced` hears of it, and behind the last one *stop becomes true if
 * all meet the condition. What reduction_judge finds wrong is reported, of the first member that it is of, and behind
 * the last one, when `reduced` has heard of all, false. */
bool reduction_tell(ReductionTold *t, int64_t member, Const value, bool *stop, Diags *d);
/* Puts the `n` reductions before those that `m` has, each with a new scalar of its name. */
void module_put_first(Module *m, int n, const Reduction *r);
/* Is the reduction one of the time steps (`loop` 0) or of the rounds of a loop (Reduction.loop) that is to be evaluated
 * when `done` of these are done? How many may be made from there until one is or, of time steps, a field gets its next
 * frame (Field.frames), `most` at most; until a field gets its next frame. */
bool reduction_is_due(const Reduction *r, int32_t loop, int64_t done);
int64_t module_steps_to_stop(const Module *m, int32_t loop, int64_t done, int64_t most);
int64_t module_steps_to_frames(const Module *m, int64_t done, int64_t most);
/* What the time loop, or another loop, runs next where `left` steps remain until something else is due: the first of
 * the sequences, but for those that are `closed` (NULL: none), that does not advance too far. NULL: there is none. */
const HostSeq *host_sequence(int nseqs, const HostSeq *seqs, const bool *closed, int64_t left);
/* The value that `b`, an expression over scalars, yields. Takes memory from `a` meanwhile; renumbers `b`. */
Const expression_value(Arena *a, const Block *b, const Const *scalars);
/* The value of `of`, which an op of `b` has as its result, likewise. */
Const expression_part(Arena *a, const Block *b, const Value *of, const Const *scalars);

/* Makes the elements of `p`, an array of role ARRAY_VALUES, at `to`. Takes memory from `a` meanwhile; renumbers
 * p->value. */
void values_fill(Arena *a, const ParamArray *p, const Const *scalars, void *to);

/* Coordinates of points, and weights made of them: weights.c. */

/* Has launch-time array number `array` the coordinates of points in a dimension? The dimension, or -1. */
int coordinates_of(const Module *m, int array);
/* False after reporting that the elements of that array, of dimension `dim`, do not rise. */
bool coordinates_check(const Module *m, int array, int dim, const Const *scalars, const void *values, Diags *d);
/* Makes the elements of array number `array`, of role ARRAY_WEIGHTS, at `to` of the coordinates at `from`. */
void weights_fill(const Module *m, int array, const Const *scalars, const void *from, void *to);

/* Lists of points and probes: points.c. */

/* The number of points of the list; the same under the scalars, 1 if `l` is NULL. */
Affine list_extent(const Module *m, const PointList *l);
int64_t list_length(const Module *m, const PointList *l, const Const *scalars);
/* The list of probe `p`, NULL if it has none. */
const PointList *probe_list(const Module *m, const Probe *p);
/* Fills `index`, the cells of l->field, and `next` (may be NULL), both as PointList says, from the elements of the
 * launch-time arrays. False after reporting a point that is outside of the box, or the first of too many at one place.
 */
bool list_fill(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, int32_t *index,
               int32_t *next, Diags *d);
/* A point of a list by its number, and the number of its cell in l->field, of the whole grid. */
typedef struct PlacedPoint {
  int64_t cell, point;
} PlacedPoint;
/* All points of the list into `out`, in order of their cells, those of one by their numbers: without any memory for the
 * field. False as list_fill. */
bool list_place(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, PlacedPoint *out,
                Diags *d);
/* False after reporting a point of the list that is outside of its box. */
bool list_check(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, Diags *d);
/* The coordinates of point number `n` of the list; the number of its cell in l->field, -1 if it is outside of it. */
int64_t list_point(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, int64_t n,
                   int64_t at[MAX_RANK]);
/* Calls fn with the rows of probe `p` that became due after more than `from` (-1: that of step 0 too) and at most `to`
 * steps. `rows` is its array,
 * `index` the cells of its list's field (NULL without a list). `room` has probe_room bytes. */
size_t probe_room(const Module *m, const Probe *p, const Const *scalars);
void probe_read(const Module *m, const Probe *p, const Const *scalars, void *const *arrays, const int32_t *index,
                const void *rows, int64_t from, int64_t to, void *room,
                void (*fn)(void *user, const Probe *p, int64_t step, const void *values), void *user);
/* May kernels make steps until `to` are done, if all rows of `from` steps and before have been taken out? */
bool probes_have_room(const Module *m, int64_t from, int64_t to);

/* An override of a param, as by -DN=4096. Of two params k_re and k_im of floats both by one of k: 1.5-2i. */
typedef struct Define {
  const char *name;
  const char *value;
} Define;
/* The overrides `defs` with those of complex params, which have none of their name, as two of their parts each; *n: how
 * many, before and then. NULL after reporting. */
const Define *defines_apart(const Module *m, int *n, const Define *defs, Diags *d);
/* Evaluates all scalars with the overrides and all Module.checks. False after an error (unknown name, malformed or
 * out-of-range value, missing value, failed check). `out` has nscalars places; those of reductions are set to 0. */
bool module_bind(const Module *m, int n, const Define *defs, Const *out, Diags *d);
/* Sets placed[i] of each scalar i that decides on sizes, places or numbers of steps: those that bounds of regions,
 * extents, coordinates of points and numbers of rounds are made of, in stencil IR and in kernel IR. What checks alone
 * look at is not among them: module_bind evaluates those. In places.c. */
void scalars_placed(const Module *m, bool *placed);
/* Does it hold under the scalars (NULL if no bound has a param): 1, or 0 and `missing` is a point that no box has; or
 * -1: the bounds are too large to tell. In covered.c. */
int covered_holds(const Covered *c, const Const *scalars, int64_t missing[MAX_RANK]);
/* The number of the kernel that is launched where the host part says `kernel`: that itself, or under these scalars the
 * one in its `instead`; -1 if neither may be (module_bind has reported that). All launchers go by this. */
int kernel_chosen(const Module *m, int kernel, const Const *scalars);
/* Threads of a warp of `k`: WARP_LANES, or MOST_LANES where lines of so many cells were lowered for a target with such
 * warps. They are those of the block in order, the last dimension fastest. */
int32_t kernel_warp(const Kernel *k);
/* Does `op` load the class of the block's tile from the list by which the blocks of `k` go (Kernel.list)? */
bool kernel_loads_class(const Kernel *k, const Op *op);
/* Threads that trade values by shuffles: a warp, or a part of it where several lines of cells share one. */
int32_t kernel_lanes(const Kernel *k);
/* The blocks of `k` along each dimension under these scalars; a number that exceeds 64 bits is INT64_MAX. Returns their
 * product, likewise. */
int64_t kernel_blocks(const Kernel *k, const Const *scalars, int64_t blocks[MAX_RANK]);
/* The time steps that the program asks for under the scalars. */
int64_t module_steps(const Module *m, const Const *scalars);
/* Extents of the field's box under the scalars, in points (0 for an empty dimension), and their product. */
int64_t field_shape(const Field *f, const Const *scalars, int64_t shape[MAX_RANK]);
/* The same as it lies in memory, where a row may be longer than the box is wide (Field.pitch). */
int64_t field_layout(const Field *f, const Const *scalars, int64_t shape[MAX_RANK]);

/* Derivatives: derive.c. */

/* The derivatives of op's value `out`, a float, by its operands, whose values are `in`, of those that are floats; else
 * 0. Not for access, index, step, element, scalar. min, max, abs and select have that of the branch that they take, of
 * two equal ones the first; floor and ceil have 0. */
void op_partials(const Op *op, const Const *in, Const out, double partial[3]);
/* bar[s] is the derivative of something by scalar s, where the others stay: adds to those of the scalars that lets are
 * made of, so that bar[s] of a param is the derivative by it. */
void scalars_pull(Arena *a, const Module *m, const Const *scalars, double *bar);
/* Has the program, stencil IR as it was read, a gradient? False after reporting what is in the way. */
bool gradient_check(const Module *m, Diags *d);
/* By launch-time array: does it hold a number that steps update and that changes with what the losses of `m` are
 * differentiated by? (influence.c) */
const bool *states_changing(Arena *a, const Module *m);
/* Is what reductions leave in scalar `scalar` between steps differentiated where a step reads it? */
bool reduction_has_gradient(const Module *m, int32_t scalar);
/* Is the loss, which counts, to be evaluated when `step` of `last` steps are done? */
bool loss_is_due(const Loss *l, int64_t step, int64_t last);
/* The losses' sum, into *value, and its derivatives: those by m->by[i] into out[i], of as many doubles as it has
 * numbers (a field: points, then components; an array: elements; a param: 1). Runs the program as interp_run does, from
 * its inits on, and keeps a tape of it. False after an error. (interp/tape.c) */
bool interp_gradient(const Module *m, Binding *b, int64_t steps, const bool *skip_init, double *value,
                     double *const *out, Diags *d);

/* The reference: runs inits (if run_inits; those of fields in skip_init, a nfields array of bool or NULL, are left out:
 * their values come from outside) and `steps` time steps on the arrays in `b`, in place. After the inits, a field's
 * past that neither an init nor skip_init names becomes what the field is. Reductions are evaluated when due (before
 * the first step only if b->first_step is 0 or b->begins). The definition of right: no tiling, every stencil into fresh
 * arrays. False after an error. */
bool interp_run(const Module *m, Binding *b, int64_t steps, bool run_inits, const bool *skip_init, Diags *d);
/* The value of update number `update`, which reads no field, in step number `step`, into *value, or a value for each
 * member that has its own: `arrays` has the elements of launch-time arrays, or something else for those that it does
 * not read. False after an error. */
bool interp_update_alone(const Module *m, int update, Const *scalars, void *const *arrays, int64_t step, Const *value,
                         Diags *d);

#endif
