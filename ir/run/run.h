/* ir/run/run.h: the meaning of code, and all that runs it, in this order:
 *
 *   eval.c  random.c             one op on constants (random.h)
 *   reduce.c                     the order of reductions
 *   bind.c  covered.c  shape.c   params, extents, and the checks before a launch
 *   places.c                     the scalars that determine sizes, coordinates and numbers of steps
 *   weights.c                    coordinates of points, and the weights of differences
 *   points.c                     lists of points and probes
 *   host-run.c                   the host program of kernel IR, on anything that launches kernels (host-run.h)
 *   derive.c                     derivatives of ops and scalars, and the check whether a program has a gradient
 *   influence.c                  the numbers updated within steps that depend on the inputs of a gradient
 *   interp/interp.c              the interpreter of stencil IR, which defines the correct result (interp/interp.h)
 *   interp/tape.c                the derivatives of the interpreter's computation
 *   sim/simulate.c               the simulator of kernel IR (sim/sim.h)
 */
#ifndef STC_IR_RUN_H
#define STC_IR_RUN_H

#include "ir/build.h"

/* Evaluates a pure op on constants, whose types are as in `op`; this defines the arithmetic of every op. f32 functions
 * except + - * / sqrt fma are computed in f64 and rounded; min and max are IEEE 754-2019 minimumNumber and
 * maximumNumber. Not for access, index, step, thread, block, inside, idx.*. */
Const eval_op(const Op *op, const Const *operands);
/* Is x in [2^-RANGED_F32, 2^RANGED_F32), or for TY_F64 in [2^-RANGED_F64, 2^RANGED_F64)? This is op ranged: quotients
 * and residuals of such numbers neither overflow nor lose bits to underflow. */
enum { RANGED_F32 = 62, RANGED_F64 = 500 };
bool eval_ranged(Type t, double x);
/* The same for a number that is a NaN or not below that range, so that only the upper end must be tested: op
 * ranged.above. */
bool eval_below_end(Type t, double x);
/* eval_short_quotient: does div.ranged yield x / y (both without sign)? eval_short_root: does sqrt.ranged yield the
 * root of `x`? This is true for all numbers in the range and for more: as long as the reciprocal, the quotient and the
 * remainder keep all their bits. */
bool eval_short_quotient(Type t, double x, double y);
bool eval_short_root(Type t, double x);
/* The behaviour of an op that maps a coordinate into [lo, hi], for each end: does it reflect there, about the end
 * itself or, with half, about a point half a cell beyond it? Otherwise it clamps. Not for OP_WRAP. */
typedef struct Reflects {
  bool end[2];
  int half[2];
} Reflects;
Reflects map_reflects(Opcode code);
/* The coordinate x mapped into [lo, hi] by OP_CLAMP (also GUARD), OP_MIRROR (period 2(hi-lo), edge point not repeated;
 * NumPy's "reflect"), OP_HALF (edge point repeated, "symmetric"), an op with different rules below and above, or
 * OP_WRAP. */
int64_t eval_map(Opcode code, int64_t x, int64_t lo, int64_t hi);
/* The value `v` of type `t` seen across an odd edge: with its sign changed, or, with is_about, 2 * about - v. Computed
 * in odd_type(t) and converted back. */
Const eval_odd(Type t, bool is_about, Const about, Const v);
Type odd_type(Type t);
/* The last coordinate lo + k * n in [lo, hi]: the greatest result of OP_GUARD of `n` elements. */
int64_t eval_last(int64_t lo, int64_t hi, int64_t n);

/* Reductions (both IRs, all devices). The order in which values are combined depends only on the region, so every
 * device computes the same bits. The region's points are divided into rows: the points of each line along the last
 * dimension (rank 1: REDUCE_ROW consecutive points; the last row may be shorter). In each row, lane t = (position in
 * the row) mod REDUCE_LANES starts from the identity and takes its points in rising order; then the lanes are combined
 * pairwise, t with t + w for w = REDUCE_LANES/2, .., 2, 1. This is the value of the row. Block b = (row number) mod
 * REDUCE_BLOCKS starts from the identity and takes its rows in rising order; the blocks are combined pairwise like
 * lanes. So a part that holds some of the rows can compute their values by itself. */
enum { REDUCE_ROW = 2048, REDUCE_LANES = 256, REDUCE_BLOCKS = 1024 };
/* The neutral element: 0, 1, and for min and max the infinities or the ends of i64. */
Const reduce_identity(Opcode op, Type t);
/* x op y; with a NaN among floats the result is NaN, also for min and max. */
Const reduce_combine(Opcode op, Type t, Const x, Const y);
/* reduce_pairs: the `n` values at `v`, a power of two, combined pairwise, in place. reduce_row: the value of a row of
 * `n` points. reduce_rows: the value of the whole region from those of its `n` rows, in order. */
Const reduce_pairs(Opcode op, Type t, Const *v, int n);
Const reduce_row(Opcode op, Type t, const Const *v, int64_t n);
Const reduce_rows(Opcode op, Type t, const Const *rows, int64_t n);
/* The same as ops. */
Value *build_reduce_combine(Builder *b, Opcode op, Value *x, Value *y);

/* What an init stores to a cell of a part: nothing; a value computed from cells that the part holds; a value computed
 * from cells some of which the part lacks. */
typedef enum InitMakes { INIT_NOTHING, INIT_VALUE, INIT_GUESS } InitMakes;
/* What the simulator knows of the ghost cells of a part (Module.part): its place among the parts and the points that it
 * owns; the number of steps between exchanges, and the number of exchanges so far; for each field (NULL: none) and each
 * of its cells the number of the exchange that updated it last, -1: it is stale; the number of the last exchange. made:
 * the steps of the current run. still: its steps read only their own points, so no cell becomes stale. init: in a run
 * of inits, tells what the init at line `loc` of the program stores to the cell of field `field` at `at`; else NULL. */
typedef struct Ghosts {
  int64_t at[MAX_RANK], lo[MAX_RANK], hi[MAX_RANK];
  int64_t every, age, made, exchanged;
  bool still;
  int64_t **levels;
  InitMakes (*init)(void *user, Loc loc, int field, const int64_t *at);
  void *user;
} Ghosts;

/* The values and callbacks of a run. */
typedef struct Binding {
  Const *scalars; /* values of all Module.scalars, see module_bind; the run sets those of reductions */
  void **fields; /* element 0 of each field's array (NULL for temp), in C order, with dense rows except for Field.pitch;
                    composites packed, point by point */
  void **param_arrays; /* the elements of each launch-time array (may be NULL if there are none) */
  int64_t first_step;  /* steps before this run, and so the `step` of its first step */
  bool evaluated; /* the reductions that are due at this step have been evaluated: they are not evaluated again before
                     the first step */
  bool begins;    /* the run begins after these steps and has evaluated nothing yet; unused if first_step is 0 */
  /* Called after each evaluation, when `step` steps are done. For a reduction with a value for each member
   * (Reduction.each) it is called for each member, from 0 on, else with member 0. May be NULL. */
  void (*reduced)(void *user, const Reduction *r, int64_t step, int64_t member, Const value);
  /* Called with the values of probe `p` after `step` steps: an element of its type for each point of its list, in the
   * list's order (1 without a list). May be NULL. On all devices except the reference it is called in the order of
   * steps for each probe, and before the run ends. */
  void (*probed)(void *user, const Probe *p, int64_t step, const void *values);
  /* Called after the rounds of repeat number `repeat` in step number `step`, with the number of rounds; ended: an
   * `until` ended them. May be NULL. */
  void (*repeated)(void *user, int repeat, int64_t step, int64_t rounds, bool ended);
  void *user;
  const Stop *stop; /* ends the run when requested; NULL: nothing does */
  bool torn;        /* out: the run failed because it was stopped within a step; no error was reported */
  int64_t done;     /* out: the number of steps made; fewer than requested if an `until` held or the run was stopped */
  bool see;         /* run nothing: only record the probes that are due, with the present fields */
  Ghosts *ghosts;   /* for a part, on the simulator; NULL: all cells are valid */
} Binding;
/* The number of elements of the array under the scalars. */
int64_t param_array_extent(const ParamArray *p, const Const *scalars);
/* Judges the value of a reduction after `step` steps. For a check (REDUCE_FINITE, REDUCE_BOUNDS): reports and returns
 * false if the value means an error. For an `until`: reports and returns false if the value (of a reduction with a
 * value for each member, that of `member`) is NaN; sets *stop if the run is to end. Used for all devices; `scalars`
 * must contain the value. */
bool reduction_judge(const Module *m, const Reduction *r, const Const *scalars, int64_t step, int64_t member,
                     bool *stop, Diags *d);
/* The number of values of `r`. */
int64_t reduction_values(const Module *m, const Reduction *r, const Const *scalars);
/* The state of an evaluation of `r` after so many steps or rounds, whose values arrive one by one. some_not: a value so
 * far does not meet the condition of an `until`; wrong: an error has been reported. */
typedef struct ReductionTold {
  const Module *m;
  const Reduction *r;
  Const *scalars;
  int64_t step;
  void (*reduced)(void *user, const Reduction *r, int64_t step, int64_t member, Const value);
  void *user;
  bool some_not, wrong;
} ReductionTold;
/* Processes value number `member`: sets the reduction's scalar and calls `reduced`; after the last value sets *stop if
 * all values meet the condition. Reports the first error that reduction_judge finds; after the last value, when
 * `reduced` has received all, returns false if there was one. */
bool reduction_tell(ReductionTold *t, int64_t member, Const value, bool *stop, Diags *d);
/* Inserts the `n` reductions before those of `m`, each with a new scalar of its name. */
void module_put_first(Module *m, int n, const Reduction *r);
/* reduction_is_due: does the reduction belong to the time steps (`loop` 0) or to loop `loop` (Reduction.loop), and must
 * it be evaluated when `done` steps or rounds are done? module_steps_to_stop: the number of steps or rounds after
 * `done` until a reduction is due or, for time steps, a field gets its next frame (Field.frames); at most `most`.
 * module_steps_to_frames: the number until a field gets its next frame. */
bool reduction_is_due(const Reduction *r, int32_t loop, int64_t done);
int64_t module_steps_to_stop(const Module *m, int32_t loop, int64_t done, int64_t most);
int64_t module_steps_to_frames(const Module *m, int64_t done, int64_t most);
/* The sequence that the time loop, or another loop, runs next when `left` steps remain until something else is due: the
 * first one that does not advance too far and is not `closed` (NULL: none is). NULL: there is none. */
const HostSeq *host_sequence(int nseqs, const HostSeq *seqs, const bool *closed, int64_t left);
/* The value that `b`, an expression over scalars, yields. Uses memory of `a` temporarily; renumbers `b`. */
Const expression_value(Arena *a, const Block *b, const Const *scalars);
/* The value of `of`, a result of an op of `b`; like expression_value. */
Const expression_part(Arena *a, const Block *b, const Value *of, const Const *scalars);

/* Computes the elements of `p`, an array of role ARRAY_VALUES, at `to`. Uses memory of `a` temporarily; renumbers
 * p->value. */
void values_fill(Arena *a, const ParamArray *p, const Const *scalars, void *to);

/* Coordinates of points, and weights made of them: weights.c. */

/* If launch-time array number `array` holds the coordinates of points, the dimension; else -1. */
int coordinates_of(const Module *m, int array);
/* Checks that the elements of this array, of dimension `dim`, rise. False after reporting. */
bool coordinates_check(const Module *m, int array, int dim, const Const *scalars, const void *values, Diags *d);
/* Computes the elements of array number `array`, of role ARRAY_WEIGHTS, at `to` from the coordinates at `from`. */
void weights_fill(const Module *m, int array, const Const *scalars, const void *from, void *to);

/* Lists of points and probes: points.c. */

/* list_extent: the number of points of the list. list_length: the same under the scalars, 1 if `l` is NULL. */
Affine list_extent(const Module *m, const PointList *l);
int64_t list_length(const Module *m, const PointList *l, const Const *scalars);
/* The list of probe `p`; NULL if it has none. */
const PointList *probe_list(const Module *m, const Probe *p);
/* Fills `index`, the cells of l->field, and `next` (may be NULL), as PointList describes them, from the elements of the
 * launch-time arrays. False after reporting a point outside of the box, or the first of too many points at one place.
 */
bool list_fill(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, int32_t *index,
               int32_t *next, Diags *d);
/* The number of a point in its list, and the number of its cell in l->field of the whole grid. */
typedef struct PlacedPoint {
  int64_t cell, point;
} PlacedPoint;
/* Writes all points of the list to `out`, sorted by cell and then by number, without any memory for the field. False as
 * for list_fill. */
bool list_place(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, PlacedPoint *out,
                Diags *d);
/* Checks that the points of the list are in its box. False after reporting one that is not. */
bool list_check(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, Diags *d);
/* Computes the coordinates of point number `n` of the list. Returns the number of its cell in l->field; -1 if it is
 * outside the field. */
int64_t list_point(const Module *m, const PointList *l, const Const *scalars, void *const *arrays, int64_t n,
                   int64_t at[MAX_RANK]);
/* probe_rows: calls fn with the rows of probe `p` that became due after more than `from` (-1: also that of step 0) and
 * at most `to` steps. `rows` is its array, `index` the cells of its list's field (NULL without a list), `room` has
 * probe_room bytes. */
size_t probe_room(const Module *m, const Probe *p, const Const *scalars);
void probe_read(const Module *m, const Probe *p, const Const *scalars, void *const *arrays, const int32_t *index,
                const void *rows, int64_t from, int64_t to, void *room,
                void (*fn)(void *user, const Probe *p, int64_t step, const void *values), void *user);
/* Have the probes' arrays room for the rows up to step `to`, if all rows up to step `from` have been taken out? */
bool probes_have_room(const Module *m, int64_t from, int64_t to);

/* An override of a param, as by -DN=4096. An override of k, as 1.5-2i, sets both params k_re and k_im of floats. */
typedef struct Define {
  const char *name;
  const char *value;
} Define;
/* The overrides `defs`, where each override of a complex param, which has no param of its name, is replaced by two
 * overrides of its parts. *n: the number before and after. NULL after reporting. */
const Define *defines_apart(const Module *m, int *n, const Define *defs, Diags *d);
/* Evaluates all scalars with the overrides, and all Module.checks. False after an error (unknown name, malformed or
 * out-of-range value, missing value, failed check). `out` has nscalars elements; those of reductions become 0. */
bool module_bind(const Module *m, int n, const Define *defs, Const *out, Diags *d);
/* Sets placed[i] for each scalar i that determines sizes, coordinates or numbers of steps: those in the bounds of
 * regions, in extents, coordinates of points and numbers of rounds, in stencil IR and in kernel IR. Scalars that only
 * checks use are not among them: module_bind evaluates those. In places.c. */
void scalars_placed(const Module *m, bool *placed);
/* Does `c` hold under the scalars (NULL if no bound has a param)? 1: yes; 0: no, and `missing` is a point that no box
 * contains; -1: unknown, because the bounds are too large. In covered.c. */
int covered_holds(const Covered *c, const Const *scalars, int64_t missing[MAX_RANK]);
/* The number of the kernel that is launched when the host part names `kernel`: that kernel, or under these scalars the
 * one in its `instead`; -1 if neither may be launched (module_bind has reported that). All launchers use this. */
int kernel_chosen(const Module *m, int kernel, const Const *scalars);
/* The threads of a warp of `k`: WARP_LANES, or MOST_LANES if lines of so many cells were lowered for a target with such
 * warps. A warp's threads are consecutive ones of the block, the last dimension fastest. */
int32_t kernel_warp(const Kernel *k);
/* Does `op` load the class of the block's tile from the list of tiles of `k` (Kernel.list)? */
bool kernel_loads_class(const Kernel *k, const Op *op);
/* The threads that exchange values by shuffles: a warp, or a part of it if several lines of cells share one. */
int32_t kernel_lanes(const Kernel *k);
/* The number of blocks of `k` along each dimension under these scalars; INT64_MAX if it exceeds 64 bits. Returns their
 * product, likewise. */
int64_t kernel_blocks(const Kernel *k, const Const *scalars, int64_t blocks[MAX_RANK]);
/* The number of time steps that the program requests under the scalars. */
int64_t module_steps(const Module *m, const Const *scalars);
/* The extents of the field's box under the scalars, in points (0 for an empty dimension). Returns their product. */
int64_t field_shape(const Field *f, const Const *scalars, int64_t shape[MAX_RANK]);
/* The same for its array in memory, where a row may be longer than the box is wide (Field.pitch). */
int64_t field_layout(const Field *f, const Const *scalars, int64_t shape[MAX_RANK]);

/* Derivatives: derive.c. */

/* The derivatives of op's value `out`, a float, with respect to its operands, whose values are `in`: 0 for operands
 * that are no floats. Not for access, index, step, element, scalar. min, max, abs and select have the derivative of the
 * operand that they select, of two equal ones the first; floor and ceil have 0. */
void op_partials(const Op *op, const Const *in, Const out, double partial[3]);
/* Reverse mode for scalars. bar[s] is the derivative of some quantity with respect to scalar s while the other scalars
 * are fixed. Adds the contributions of lets to the scalars that they depend on, so that bar[s] of a param becomes the
 * total derivative with respect to it. */
void scalars_pull(Arena *a, const Module *m, const Const *scalars, double *bar);
/* Has the program, stencil IR as it was read, a gradient? False after reporting the reason why not. */
bool gradient_check(const Module *m, Diags *d);
/* By launch-time array: does it hold a number that steps update and that depends on the inputs with respect to which
 * the losses of `m` are differentiated? (influence.c) */
const bool *states_changing(Arena *a, const Module *m);
/* If a step reads scalar `scalar`, the value of a reduction between steps, is this read differentiated? */
bool reduction_has_gradient(const Module *m, int32_t scalar);
/* Is the loss, which has a weight, to be evaluated when `step` of `last` steps are done? */
bool loss_is_due(const Loss *l, int64_t step, int64_t last);
/* Computes the losses' sum, *value, and its derivatives: those with respect to m->by[i] into out[i], an array of as
 * many doubles as that input has numbers (a field: points, then components; an array: elements; a param: 1). Runs the
 * program like interp_run, beginning with the inits, and keeps a tape. False after an error. (interp/tape.c) */
bool interp_gradient(const Module *m, Binding *b, int64_t steps, const bool *skip_init, double *value,
                     double *const *out, Diags *d);

/* The reference: runs inits (if run_inits) and `steps` time steps on the arrays in `b`, in place. skip_init (nfields
 * bools, or NULL) marks fields whose inits are left out because their values come from outside. After the inits, a
 * field's past that neither an init nor skip_init names becomes equal to the field. Reductions are evaluated when due
 * (before the first step only if b->first_step is 0 or b->begins). This defines the correct result: there is no tiling,
 * and every stencil writes to fresh arrays. False after an error. */
bool interp_run(const Module *m, Binding *b, int64_t steps, bool run_inits, const bool *skip_init, Diags *d);
/* Computes the value of update number `update`, which reads no field, in step number `step`, into *value, or into one
 * element for each member. `arrays` holds the elements of the launch-time arrays that it reads; other entries may be
 * anything. False after an error. */
bool interp_update_alone(const Module *m, int update, Const *scalars, void *const *arrays, int64_t step, Const *value,
                         Diags *d);

#endif
