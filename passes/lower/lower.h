/* passes/lower/lower.h: what the lowerings from stencil IR to kernel IR share (private to passes/). Nothing here
 * knows about threads.
 *
 *   lower-access.c   one access of a field made into kernel IR, from given coordinates, with the field's outside rule
 *   lower-body.c     the bodies of pieces and stencils made into kernel IR at one point
 *   lower-levels.c   reads of another level of the grid
 *   lower-reduce.c   reductions between time tiles
 *   lower-rows.c     reductions joined to the stencils that make the values
 *   lower-repeat.c   repeats within a step
 *   renewed.c        what their rounds set as a whole before they read it
 *   sweep.c          sweeps, launches of their own (columns.h: sweep-turn.c, those along the last dimension)
 *   lower-tests.c    which words of tests a kernel looks at
 *   lower-tiles.c    the modules of all families of tiles
 *   lower-slices.c   kernels of a slice made kernels of all slices
 *   lower-steps.c    which numbers of steps get a kernel of their own
 *   lower-host.c     buffers, kernels, their names, launches and swaps (Algorithm 5)
 *
 * The words are those of launch/launch.h. */
#ifndef STC_PASSES_LOWER_H
#define STC_PASSES_LOWER_H

#include "passes/launch/launch.h"

/* ---------------------------------------------------------------- lower-access.c */

/* `v` where at + off lies in the field's region in the dimensions whose rule is a constant, else that; `v` if there are
 * none. */
Value *inside_or_constant(Builder *b, const Module *m, int field, const Rules *rules, Value *const *at,
                          const int64_t *off, Value *v);
/* `v` where it lies in the region in those, of which there are some, whose rule leads to another point nearby, else
 * `led`. */
Value *inside_or_led(Builder *b, const Module *m, int field, const Rules *rules, Value *const *at, const int64_t *off,
                     Value *v, Value *led);

/* The coordinate in dimension `d` at which `n` cells of `f` in a row can be accessed from at + off on, whether they are
 * in its region or not. */
Value *guarded_place(Builder *b, const Field *f, const Rules *rules, Value *const *at, const int64_t *off, int d,
                     int n);

/* The access to `field` in global memory (`buffer`) at coordinates at + off (i64, images already wrapped), of which
 * those in dimensions that the field does not have mean nothing. Where no
 * rule holds the address is made legal by idx.guard if `guarded`, and taken as it is if not (then the code must run for
 * points of the access's piece only). */
Value *access_global(Builder *b, const Module *m, int field, int buffer, const Rules *rules, Value *const *at,
                     const int64_t *off, bool guarded);

/* The value of `field` in `buffer` at the point `at`, loaded only if that is one of the field's: beyond, another tile
 * may be writing in place what a guarded address led to, and a field without points has no address. Else 0. */
Value *load_if_inside(Builder *b, const Module *m, int field, int buffer, Value *const *at);

/* The access to version `ver` of `field` in array `array` of kernel `k` (pads as in the array), whose cell `cell` (i32,
 * without the pad) holds the point `at` (i64, wrapped): cell + off, or the cell that the rule leads to, if it leads
 * to one (outside_leads). `off` is within the pads. */
Value *access_array(Builder *b, const Module *m, int field, const Kernel *k, int array, int ver, const Rules *rules,
                    Value *const *at, Value *const *cell, const int64_t *off);

/* The access to version `ver` of `field` from the point `at` (i64, wrapped) whose value, and that of any cell near by,
 * is at hand: fn gives the one `to` cells away. A rule that leads to another point leads to one near by, and the value
 * is chosen among those of all cells that it can lead to. */
typedef Value *(*BesideFn)(void *user, int field, int ver, const int64_t *to);
Value *access_beside(Builder *b, const Module *m, int field, int ver, const Rules *rules, Value *const *at,
                     const int64_t *off, BesideFn fn, void *user);

/* The cell, in dimension d, that a rule leads to from `cell` + off, whose point is at + off: the cell beside
 * it if the field's region is not left, else the one as far away as the point that the rule gives. A guard keeps cells
 * whose value nobody needs between `first` and `last`. */
Value *ruled_cell(Builder *b, const Field *f, int64_t first, int64_t last, int d, OutsideRule rule, Value *at,
                  Value *cell, int64_t off);

/* ---------------------------------------------------------------- lower-body.c */

/* How code for the equations at one point gets at what they use. index[d] is the point's coordinate (i64, wrapped in an
 * image) and step its time step, i64. access builds the value of `field` at offset `off` under `rules` for an access
 * out of a piece. Equal accesses of a Point are built once: the same Point must only be used where code of its earlier
 * uses dominates. */
typedef struct Point Point;
struct Point {
  const Module *m;
  Value *index[MAX_RANK];
  Value *step;
  Value *(*access)(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules);
  /* NULL, or gives what `op` of `piece` comes to if that was computed elsewhere, or sets *skip if nobody needs it here.
   */
  Value *(*known)(Point *p, Builder *b, const Piece *piece, const Op *op, bool *skip);
  Value *(*behind)(Point *p, Builder *b, int field, const int64_t *off); /* in sweeps: what they have left there */
  void *user;
  const struct Lowering
      *lo; /* where stencils may read another level of the grid; guarded: also at points that are in no piece */
  bool guarded;
  int32_t nseen;
  struct SeenAccess *seen;
};

/* The value of `field` at `off` under `rules`, built by p->access unless an equal access was. */
Value *point_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules);
/* Has an equal access been built? */
bool point_has(const Point *p, int field, const int64_t *off, const Rules *rules);
/* The values of the accesses that `p` has built so far, into `out` (NULL: they are counted); how many. And has `p` take
 * those that `like` has built for its own, with as many values of its own. */
int32_t point_built(const Point *p, Value **out);
int32_t point_take(Point *p, Builder *b, const Point *like, Value *const *values);
/* A copy of the pure op `op` of a body, an element op among them, on the values that `map` has, by their numbers, for
 * its operands. */
Value *body_op(Point *p, Builder *b, const Op *op, Value *const *map);
/* Does a body of the `n` stencils use the step number? (If not, Point.step may be NULL.) */
bool stencils_use_step(int n, const Stencil *st);
/* Value number i of the result is the new value of target i of `piece` at the point. */
Value **piece_values(Point *p, Builder *b, const Piece *piece);
/* Value number i of the result is the new value of target i of `st` at the point, whichever piece it lies in; where it
 * is in none, `old(p, b, field)` (NULL result, or old itself NULL: it does not matter). The piece with the fewest fixed
 * dimensions is asked first. */
Value **stencil_values(Point *p, Builder *b, const Stencil *st, Value *(*old)(Point *p, Builder *b, int field));

/* ---------------------------------------------------------------- lower-levels.c */

/* The value of `op` of `piece`, which reads another level of the grid. */
Value *level_value(Point *p, Builder *b, const Piece *piece, const Op *op);

/* ---------------------------------------------------------------- lower-steps.c */

/* The most numbers of steps that sequences are made for. */
enum { MOST_TILES = 16 };
/* The numbers of steps that sequences are made for by plan `s`, falling: T, perhaps some in between, and 1 (at the end,
 * and always there). Returns how many. One in between is the plan's remainder; on a target that compiles late, where it
 * costs no compile time, T is halved again and again. */
int remainder_tiles(const TargetInfo *t, const Schedule *s, int T, int tiles[MOST_TILES]);
/* The launches of several steps that these sequences make, of a module that was time-tiled: of the instances of its
 * last levels, the longest (all levels) first. Returns how many there are in `out`. */
int tile_launches(const TargetInfo *t, const Module *m, const Schedule *s, Launch *out[MOST_TILES]);

/* ---------------------------------------------------------------- lower-host.c */

/* A kernel IR module in the making, and where its buffers are: copy[c][f] is the index of copy c of field f, -1: none.
 */
typedef struct Lowering {
  PassContext *c;
  const Module *m; /* stencil IR */
  Module *out;
  struct KernelNames *names; /* of out's kernels, so that each gets another one */
  int32_t *copy[2];
  Launch **inits;   /* the launches of the inits */
  HostSeq *updates; /* at twice the number of Module.updates: the launches that make it, and behind them those that do
                       where its rows have values; NULL: there are none so far */
  int32_t *rows; /* by the same number: the buffer of the values of its rows + 1, 0: not known; -1: it has none; NULL:
                    none */
  bool *joined;  /* the launch before has left the values of its rows there; NULL: of none */
} Lowering;

/* Derives the kernel IR module for `m` and makes the buffers that its inits and the launches of a step and of tiles
 * need (all fields but temps have one at least) behind those of the launch-time arrays, array number i being buffer i.
 */
Lowering *lowering_new(PassContext *c, const Module *m, int nsteps, Launch *const *steps, int ntiles,
                       Launch *const *tiles);
/* "heat_overlap_t4", or of one of several groups "heat_overlap_gauss_st", "heat_overlap_a_to_d": the name of the kernel
 * of launch `l`, whose schedule is of that family. */
const char *group_name(const Lowering *lo, const Launch *l, const char *family, bool several);
/* Adds a kernel named after `name` (made a valid and unique identifier) and returns its index; rank, steps, loc and an
 * empty body are set. */
int lowering_kernel(Lowering *lo, const char *name, int steps, Loc loc);
/* Lets kernel `kernel` be launched only where `value` is a multiple of `of`. False if it never is: the kernel is of no
 * use then. */
bool kernel_multiple(Lowering *lo, int kernel, Affine value, int64_t of);
/* Has the module the check that `value` is not negative, whatever else there is? */
bool lower_has_check(const Module *out, Affine value);
/* How many elements of type `t` make 16 bytes, or as many as V is a multiple of. */
int vector_cells(Type t, int V);
/* The fields of launch `l` whose cells kernel `kernel` moves by vectors, with lanes of V cells each: those whose rows
 * are the grid's, so that each starts at a lane's first cell and none is empty. The kernel is for rows of whole lanes
 * then. */
bool *kernel_vectors(Lowering *lo, const Launch *l, int kernel, int V);
/* Where the multiples of `kernel` do not hold `other` is launched, which does the same. Does nothing if it has none: it
 * can always be launched. */
void kernel_instead(Lowering *lo, int kernel, int other);
/* Adds an array to kernel `k` and returns its index. `cells` is its shape without the pads (rank places); pads may be
 * NULL. */
int kernel_array(Lowering *lo, Kernel *k, const char *name, Type t, Space space, const int32_t *cells,
                 const int32_t *pad_lo, const int32_t *pad_hi);
/* The same of any rank. */
int kernel_array_of(Lowering *lo, Kernel *k, int rank, const char *name, Type t, Space space, const int32_t *cells,
                    const int32_t *pad_lo, const int32_t *pad_hi);
/* The buffer that launches read `field` from; that launch `l` writes it to. */
int load_buffer(const Lowering *lo, int field);
int store_buffer(const Lowering *lo, const Launch *l, int field);
/* Adds to `seq` the launch of kernel `k`; the swaps that have to follow launch `l`, of the step, and the updates
 * between it and the next one. */
void host_launch(Lowering *lo, HostSeq *seq, int k);
void host_swaps(Lowering *lo, HostSeq *seq, const Launch *l);
/* The points that launches cover: all of the grid, or what those of a part store. */
const Box *launch_covers(const Module *m);
/* Of the points of `box` those that the one stencil of launch `l` has: in a dimension that its targets do not have, as
 * those of an init may, the one of theirs. */
Box box_of_targets(const Launch *l, Box box);
/* The sequence that init `st` belongs to. */
HostSeq *init_seq(Lowering *lo, const Stencil *st);
/* Adds a sequence that makes `steps` steps and returns it (valid until the next): so far it makes the updates that come
 * before all stencils. */
HostSeq *host_seq(Lowering *lo, int steps);
/* Makes the sequences of inits: a kernel for each target of each, so that one can be left out whose field has data. fn
 * adds the kernel named `name` of launch `l` for target `only` (-1: it has one), with what `block` says of tiles, and
 * its launch, to `seq`. */
typedef void (*InitFn)(Lowering *lo, HostSeq *seq, const Launch *l, int only, const char *name, const int32_t *block);
void init_seqs(Lowering *lo, const int32_t *block, InitFn fn);
/* Lowers the reductions as the mapping of plan `s` says, adds to the module's checks that no kernel needs more blocks
 * than the target can start, and sets all kernels' arguments. Returns the module. */
Module *lowering_finish(Lowering *lo, const Schedule *s);

/* ---------------------------------------------------------------- lower-tests.c */

/* Says of kernel `index`, of the `n` launches at `l`, whose blocks cover the points of `covers`, which words of tests
 * it looks at, and where (Kernel.tests). Its rank, tile and overhang are set. */
void kernel_looks(Lowering *lo, int index, int n, const Launch *const *l, const Box *covers);

/* ---------------------------------------------------------------- lower-slices.c */

/* Makes the kernels of a slice (passes/launch/slices.h), if `lo` is of one, those of all slices, and lo->m the program;
 * for lowering_finish, before what is lowered for all of the grid. */
void lower_slices(Lowering *lo);
/* Has what is lowered next be of all slices, not of one. The slice, for that to be lowered again; NULL: `lo` is of
 * none.
 */
const Module *lower_whole(Lowering *lo);
void lower_slice_again(Lowering *lo, const Module *slice);

/* ---------------------------------------------------------------- lower-tiles.c */

/* Has the target threads, or none, as pass `pass` of family `family` is for, is `*m` ready for it, and is there a plan,
 * in *s, for it to obey? Reports it if not. *m becomes what is to be lowered: the module, or a slice of it. */
bool lowering_starts(PassContext *c, Module **m, const char *pass, FamilyId family, Schedule *s);
/* Adds the kernel `name` for launch `l` under schedule `s`, which advances by `steps`, and which moves whole vectors or
 * rows where it can if `whole`. Its index; -1 after an error. */
typedef int (*KernelFn)(Lowering *lo, const Launch *l, const Schedule *s, bool whole, const char *name, int steps);
/* Adds it, and if it is only for rows of whole vectors another one that moves cells one by one. The index of the
 * first. */
int kernel_with_spare(Lowering *lo, KernelFn fn, const Launch *l, const Schedule *s, const char *name, int steps);
/* Adds the kernel `name` of launch `l` under schedule `s`, of any family, which advances by `steps`, and its launch to
 * `seq`. False after an error. */
typedef bool (*TileFn)(Lowering *lo, HostSeq *seq, const Launch *l, const Schedule *s, const char *name, int steps);
/* The schedule of launch number `i` of those of several steps, `l`, under plan `s`. */
Schedule long_schedule(const Lowering *lo, const Launch *l, const Schedule *s, int i);
/* Adds a sequence of the `n` launches at `l`, of which number i has the schedule s[i]; thin ones that would be streamed
 * have `rest`. False after an error. */
bool tiles_seq(Lowering *lo, TileFn fn, int n, Launch *const *l, const Schedule *s, const Schedule *rest);
/* How a pass lowers tiles: a launch, the inits, and where fields are placed in memory for the longest launch (NULL: as
 * anywhere). */
typedef struct TileFamily {
  TileFn launch;
  void (*inits)(Lowering *lo, const int32_t *block);
  void (*place)(Lowering *lo, const Launch *l, const Schedule *s);
} TileFamily;
/* The whole module `m` under plan `s`: kernels for T steps, perhaps some for fewer, overlapped tiles for the steps that
 * remain, or the kernels of the groups that a step is cut into; and the inits. NULL after an error. */
Module *lower_tiles(PassContext *c, Module *m, const Schedule *s, const TileFamily *f);

/* ---------------------------------------------------------------- lower-reduce.c */

/* Adds the kernels and sequences of the module's reductions under plan `s`; for lowering_finish. */
void lower_reductions(Lowering *lo, const Schedule *s);
/* Adds to `seq` the launches of the updates whose stage is more than `after`, but not more than `stage`, and where
 * repeats begin and end there. */
void lower_updates(Lowering *lo, HostSeq *seq, int after, int stage);

/* ---------------------------------------------------------------- lower-rows.c */

/* Adds the kernel of launch `l` to `seq`, named after `name`, which advances by `steps` and leaves what the updates
 * behind it reduce: for targets with threads, where that moves less through memory. False: nothing was added. */
bool lower_joined(Lowering *lo, HostSeq *seq, const Launch *l, const char *name, int steps);

/* ---------------------------------------------------------------- lower-repeat.c */

/* The next stage behind `after` where there is an update, or a repeat begins or has ended; INT32_MAX: there is none. */
int next_border(const Module *m, int after);
/* Marks in `seq` the repeats that end before stage `stage` and that begin with it. */
void push_borders(Lowering *lo, HostSeq *seq, int stage);
/* Makes loops of what is marked in all sequences of steps; for lowering_finish. */
void lower_repeats(Lowering *lo);

/* ---------------------------------------------------------------- renewed.c */

/* Has the loop of repeat number `repeat` say which fields its rounds renew. */
void lower_renewed(Lowering *lo, int repeat);

/* ---------------------------------------------------------------- sweep.c */

/* Adds the kernel of launch `l`, of one sweep or two, which advances by `steps`, and its launch to `seq`; kernels of
 * other stencils have `block` threads a block. */
void sweep_launch(Lowering *lo, HostSeq *seq, const Launch *l, const int32_t *block, int steps);

/* ---------------------------------------------------------------- naive.c */

/* Was `field` written at point `at` by the stencils from `first` to before `last`, all of one time step? NULL: nowhere
 * by any of them. */
Value *written_before(const Module *m, const Stencil *first, const Stencil *last, Builder *b, int field,
                      Value *const *at);
/* Adds the kernels of the inits and their launches to the init sequence. `block` is the threads a block. */
void lower_inits(Lowering *lo, const int32_t *block);
/* Where a value of `field` can be after launch `l`, if not on all of the field's region: at the points of the pieces so
 * far, for a temp field of which none is the whole region. */
bool partly_written(const Launch *l, int field);
/* Is there a value of `field` at point `at` after launch `l`? (`at` may lie outside of the field's region: there is
 * none there.) */
Value *has_value_after(const Launch *l, Builder *b, int field, Value *const *at);
/* The launches from number `first` to number `last` of a step, none of which reads or writes what another of them
 * writes, and between which nothing is swapped; ops: those that the sequence had behind them. */
typedef struct Together {
  int first, last, ops;
} Together;
/* Adds launch number `i` of those at `l`, which comes next in `seq`, to the group, or begins a new one with it. */
void together_add(Together *group, const HostSeq *seq, Launch *const *l, int i);
/* Adds a kernel for each part of the few points that launch `l`, the last of `group`, computes where the params have
 * the values `scalars`, of `block` threads a block, and their launches to `seq`, beside each other and the others of
 * the group: no piece reads what another one of the stencil makes. `steps`: time steps that they make. False if the
 * launch computes many points; nothing is added then. */
bool naive_parts(Lowering *lo, HostSeq *seq, const Launch *l, const Const *scalars, const char *name,
                 const int32_t *block, int steps, const Together *group);
/* Adds the kernel `name` of launch `l`, of one stencil, for the points of the box `zone` alone, less those of `without`
 * (NULL: none), and its launch to `seq`; what the stencil leaves as it is is copied there, if it stores to another
 * buffer. */
void naive_zone(Lowering *lo, HostSeq *seq, const Launch *l, const char *name, const int32_t *block, const Box *zone,
                const Box *without);
/* Adds the sequence of one step, of the `n` launches at `l`, one a stencil, with `block` threads a block. */
void naive_seq(Lowering *lo, int n, Launch *const *l, const int32_t *block);

/* ---------------------------------------------------------------- naive-points.c */

/* Begins the body of kernel `index`, which covers the grid by `block` threads a block, of `rows` points each, one
 * behind the other along dimension 0: what is built there is for a point `g` of the thread, if it is in the grid and
 * not in `core`. */
Builder frame_begin(Lowering *lo, int index, const int32_t *block, int32_t rows, const Box *core, Value *g[MAX_RANK]);
/* One of the launches, of one stencil each, that a kernel makes one after the other at each of its points: with the
 * buffers of `lo`; not in the box `without`, where with `copies` what it would store to another buffer is copied. Of
 * `pieces` the pieces' points alone are computed, and nothing is copied. `copies`: it has most of what there is to
 * do. `piece`: the one that all points of a box are in that is written out; NULL: the largest one. */
typedef struct NaiveMember {
  Lowering *lo;
  const Launch *l;
  Box without;
  bool pieces, copies;
  const Piece *piece;
} NaiveMember;
/* A kernel of the `n` launches at `of`, which advances by `steps`, by `block` threads a block of `elems` points each,
 * beside each other. */
typedef struct NaivePoints {
  int n, steps;
  const NaiveMember *of;
  const int32_t *block, *elems;
  const Box *core, *inner;
} NaivePoints;
/* Adds that kernel, named after `name`, for the points that launches cover and that are not in p->core (NULL: all): in
 * tiles in p->inner, where members without `copies` have no points but single ones, those of a thread are written out.
 * Its index. */
int naive_points(Lowering *lo, const NaivePoints *p, const char *name);
/* Adds that kernel, named after `name`, for the points in the box `zone` that launches cover, all of which are in the
 * largest piece of each member with `copies`: written out, by whole vectors where it can and if `vector`. Its index. */
int naive_block(Lowering *lo, const NaivePoints *p, const Box *zone, bool vector, const char *name);
/* The same, where each member has a single piece there, NaiveMember.piece: threads all of whose points are in the zone
 * test nothing but what may lie outside fields, others take their points one after the other. A point a thread where
 * rows are not moved by vectors, since that is less code. */
int naive_piece(Lowering *lo, const NaivePoints *p, const Box *zone, bool vector, const char *name);
/* Takes from `zone` what is not in the largest piece of launch `l`. False: its bounds differ by params. */
bool naive_zone_of(const Module *m, const Launch *l, Box *zone);

#endif
