/* passes/lower/lower.h: functions that the lowerings from stencil IR to kernel IR share (private to passes/). Nothing
 * here knows about threads.
 *
 *   lower-access.c   one access of a field, from given coordinates, with the field's outside rule
 *   lower-body.c     the bodies of pieces and stencils at one point
 *   lower-levels.c   reads of another level of the grid
 *   lower-reduce.c   reductions between time tiles
 *   lower-rows.c     reductions joined to the stencils that compute the values
 *   lower-repeat.c   repeats within a step
 *   renewed.c        fields that their rounds set as a whole before they read them
 *   sweep.c          sweeps, launches of their own (columns.h: sweep-turn.c, those along the last dimension)
 *   lower-tests.c    the words of tests that a kernel reads
 *   lower-tiles.c    the modules of all families of tiles
 *   lower-slices.c   kernels of one slice become kernels of all slices
 *   lower-steps.c    the numbers of steps that get a kernel of their own
 *   lower-host.c     buffers, kernels, their names, launches and swaps (Algorithm 5)
 *
 * launch/launch.h defines the terms. */
#ifndef STC_PASSES_LOWER_H
#define STC_PASSES_LOWER_H

#include "passes/launch/launch.h"

/* ---------------------------------------------------------------- lower-access.c */

/* `v` if at + off lies in the field's region in all dimensions with a constant rule, else the constant. If there are no
 * such dimensions, `v`. */
Value *inside_or_constant(Builder *b, const Module *m, int field, const Rules *rules, Value *const *at,
                          const int64_t *off, Value *v);
/* `v` if at + off lies in the field's region in all dimensions whose rule leads to another point nearby, else `led`.
 * There must be such dimensions. */
Value *inside_or_led(Builder *b, const Module *m, int field, const Rules *rules, Value *const *at, const int64_t *off,
                     Value *v, Value *led);

/* The coordinate in dimension `d` at which `n` adjacent cells of `f` can be accessed for at + off, whether or not at +
 * off lies in the field's region. */
Value *guarded_place(Builder *b, const Field *f, const Rules *rules, Value *const *at, const int64_t *off, int d,
                     int n);

/* The access to `field` in global memory (`buffer`) at coordinates at + off (i64, images already wrapped); coordinates
 * in dimensions that the field lacks are ignored. In a dimension without a rule, `guarded` makes the address legal by
 * idx.guard; otherwise it is used as it is, and the code must only run for points of the access's piece. */
Value *access_global(Builder *b, const Module *m, int field, int buffer, const Rules *rules, Value *const *at,
                     const int64_t *off, bool guarded);

/* The value of `field` in `buffer` at the point `at`, loaded only if the field has that point, else 0. (Outside,
 * another tile may be writing to the cell to which a guarded address would lead, and a field without points has no
 * address.) */
Value *load_if_inside(Builder *b, const Module *m, int field, int buffer, Value *const *at);

/* The access to version `ver` of `field` in array `array` of kernel `k`. Cell `cell` (i32, without the pads) holds the
 * point `at` (i64, wrapped). The access goes to cell + off, or to the cell to which the rule leads, if it leads to one
 * (outside_leads). `off` is within the pads. */
Value *access_array(Builder *b, const Module *m, int field, const Kernel *k, int array, int ver, const Rules *rules,
                    Value *const *at, Value *const *cell, const int64_t *off);

/* The access to version `ver` of `field` from the point `at` (i64, wrapped), if the values of nearby cells exist
 * already: fn returns the value `to` cells away. A rule that leads to another point leads to a nearby one, and the
 * value is selected from those of all cells to which it can lead. */
typedef Value *(*BesideFn)(void *user, int field, int ver, const int64_t *to);
Value *access_beside(Builder *b, const Module *m, int field, int ver, const Rules *rules, Value *const *at,
                     const int64_t *off, BesideFn fn, void *user);

/* The cell in dimension d for an access to `cell` + off, whose point is at + off: that cell if it is in the field's
 * region, else the cell as far away as the point to which the rule leads. A guard keeps cells whose values nobody needs
 * between `first` and `last`. */
Value *ruled_cell(Builder *b, const Field *f, int64_t first, int64_t last, int d, OutsideRule rule, Value *at,
                  Value *cell, int64_t off);

/* ---------------------------------------------------------------- lower-body.c */

/* The environment of code for the equations at one point. index[d]: the point's coordinate (i64, wrapped in an image);
 * step: its time step, i64. access: builds the value of `field` at offset `off` under `rules`, for an access of a
 * piece. A Point builds equal accesses once, so a Point may only be used where the code of its earlier uses
 * dominates. */
typedef struct Point Point;
struct Point {
  const Module *m;
  Value *index[MAX_RANK];
  Value *step;
  Value *(*access)(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules);
  /* NULL, or returns the value of `op` of `piece` if that was computed elsewhere, or sets *skip if nobody needs it
   * here. */
  Value *(*known)(Point *p, Builder *b, const Piece *piece, const Op *op, bool *skip);
  Value *(*behind)(Point *p, Builder *b, int field,
                   const int64_t *off); /* in sweeps: the value that the sweep has computed there */
  void *user;
  const struct Lowering *lo; /* needed for reads of another level of the grid; guarded: the code also runs at points
                                that are in no piece */
  bool guarded;
  int32_t nseen;
  struct SeenAccess *seen;
};

/* The value of `field` at `off` under `rules`; built by p->access unless `p` has an equal access. */
Value *point_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules);
/* Has `p` built an equal access? */
bool point_has(const Point *p, int field, const int64_t *off, const Rules *rules);
/* point_built: the values of the accesses that `p` has built so far, into `out` (NULL: count only); returns their
 * number. point_take: gives `p` the accesses of `like`, with the values `values` in the same order; returns their
 * number. */
int32_t point_built(const Point *p, Value **out);
int32_t point_take(Point *p, Builder *b, const Point *like, Value *const *values);
/* A copy of the pure op `op` of a body (element ops included), with operands from `map`, by value number. */
Value *body_op(Point *p, Builder *b, const Op *op, Value *const *map);
/* Does a body of the `n` stencils use the step number? (If not, Point.step may be NULL.) */
bool stencils_use_step(int n, const Stencil *st);
/* The new values of the targets of `piece` at the point: entry i for target i. */
Value **piece_values(Point *p, Builder *b, const Piece *piece);
/* The new values of the targets of `st` at the point, whichever piece it lies in: entry i for target i. If the point is
 * in no piece, a target has the value `old(p, b, field)`; the value does not matter if that, or `old` itself, is NULL.
 * Pieces with the fewest fixed dimensions are tested first, so that one test decides for most points. */
Value **stencil_values(Point *p, Builder *b, const Stencil *st, Value *(*old)(Point *p, Builder *b, int field));

/* ---------------------------------------------------------------- lower-levels.c */

/* The value of `op` of `piece`, an op that reads another level of the grid. */
Value *level_value(Point *p, Builder *b, const Piece *piece, const Op *op);

/* ---------------------------------------------------------------- lower-steps.c */

/* The most numbers of steps that get sequences. */
enum { MOST_TILES = 16 };
/* The numbers of steps that get sequences under plan `s`, falling: T, perhaps numbers in between, and always 1, the
 * last. Returns how many. Usually there is at most one in between, the plan's remainder; if the target compiles late,
 * so that more of them cost no compile time, T is halved again and again. */
int remainder_tiles(const TargetInfo *t, const Schedule *s, int T, int tiles[MOST_TILES]);
/* The launches of several steps of these sequences, for a time-tiled module: each consists of the instances of the last
 * levels, the longest (all levels) first. Returns their number in `out`. */
int tile_launches(const TargetInfo *t, const Module *m, const Schedule *s, Launch *out[MOST_TILES]);

/* ---------------------------------------------------------------- lower-host.c */

/* A kernel IR module in the making. copy[c][f]: the buffer of copy c of field f, -1: none. */
typedef struct Lowering {
  PassContext *c;
  const Module *m; /* stencil IR */
  Module *out;
  struct KernelNames *names; /* the names of out's kernels, to make new ones unique */
  int32_t *copy[2];
  Launch **inits;   /* the launches of the inits */
  HostSeq *updates; /* by the number in Module.updates: [2 i] the launches of update i, [2 i + 1] its launches if the
                       values of its rows exist already; NULL: none so far */
  int32_t *rows;    /* by the number of the update: the buffer of the values of its rows + 1, 0: not known, -1: it has
                       none; NULL: none is known */
  bool *joined;     /* by the number of the update: the launch before has stored the values of its rows there; NULL: for
                       none */
} Lowering;

/* Makes the kernel IR module for `m`, and the buffers for its inits, for the launches of a step and for tiles: every
 * field except temps has at least one. The first buffers are those of launch-time arrays: array number i is buffer
 * i. */
Lowering *lowering_new(PassContext *c, const Module *m, int nsteps, Launch *const *steps, int ntiles,
                       Launch *const *tiles);
/* The name of the kernel of launch `l`, whose schedule has this family: "heat_overlap_t4", or if `several` groups make
 * up a step, "heat_overlap_gauss_st" or "heat_overlap_a_to_d". */
const char *group_name(const Lowering *lo, const Launch *l, const char *family, bool several);
/* Adds a kernel named after `name` (made a valid and unique identifier) with the given rank, steps and loc and an empty
 * body. Returns its index. */
int lowering_kernel(Lowering *lo, const char *name, int steps, Loc loc);
/* Restricts launches of kernel `kernel` to params for which `value` is a multiple of `of`. False if that never holds;
 * the kernel is then of no use. */
bool kernel_multiple(Lowering *lo, int kernel, Affine value, int64_t of);
/* Has the module an unconditional check that `value` is not negative? */
bool lower_has_check(const Module *out, Affine value);
/* The number of elements of type `t` in 16 bytes; fewer if V is not a multiple of that. */
int vector_cells(Type t, int V);
/* By field: does kernel `kernel` of launch `l` move its cells by vectors, with V cells a lane? These are the fields
 * whose rows are the grid's rows, so that each row starts at the first cell of a lane and no lane is empty. Restricts
 * the kernel to rows of whole lanes. */
bool *kernel_vectors(Lowering *lo, const Launch *l, int kernel, int V);
/* Makes `other`, a kernel that computes the same, the alternative to launch if the multiples of `kernel` do not hold.
 * Does nothing if `kernel` requires none. */
void kernel_instead(Lowering *lo, int kernel, int other);
/* Adds an array to kernel `k`, with the grid's rank, and returns its index. `cells`: its shape without the pads; pads
 * may be NULL. */
int kernel_array(Lowering *lo, Kernel *k, const char *name, Type t, Space space, const int32_t *cells,
                 const int32_t *pad_lo, const int32_t *pad_hi);
/* The same for any rank. */
int kernel_array_of(Lowering *lo, Kernel *k, int rank, const char *name, Type t, Space space, const int32_t *cells,
                    const int32_t *pad_lo, const int32_t *pad_hi);
/* The buffer from which launches load `field`; the buffer to which launch `l` stores it. */
int load_buffer(const Lowering *lo, int field);
int store_buffer(const Lowering *lo, const Launch *l, int field);
/* host_launch: adds the launch of kernel `k` to `seq`. host_swaps: adds the swaps that must follow launch `l` of the
 * step, and the updates between it and the next launch. */
void host_launch(Lowering *lo, HostSeq *seq, int k);
void host_swaps(Lowering *lo, HostSeq *seq, const Launch *l);
/* The points that launches cover: the whole grid, or the points that launches of a part store. */
const Box *launch_covers(const Module *m);
/* Are the rows of all fields of `m` dense? */
bool rows_are_dense(const Module *m);
/* `box`, with the bounds of the points that launches of module `m` store in dimensions in which these are not the
 * grid's, as in parts of a grid. */
Box box_of_part(const Module *m, Box box);
/* `box`, restricted to the only index of the targets in dimensions that the targets of the one stencil of launch `l`
 * lack (possible in inits). */
Box box_of_targets(const Launch *l, Box box);
/* The sequence to which init `st` belongs. */
HostSeq *init_seq(Lowering *lo, const Stencil *st);
/* Adds a sequence for `steps` steps, with the updates that come before all stencils. The result is valid until the next
 * call. */
HostSeq *host_seq(Lowering *lo, int steps);
/* Makes the sequences of inits, with one kernel for each target, so that inits of fields with data can be left out. For
 * each, fn adds to `seq` the kernel named `name` of launch `l` for target `only` (-1: the init has one target), with
 * the tile size that `block` says, and its launch. */
typedef void (*InitFn)(Lowering *lo, HostSeq *seq, const Launch *l, int only, const char *name, const int32_t *block);
void init_seqs(Lowering *lo, const int32_t *block, InitFn fn);
/* Lowers the reductions according to the mapping of plan `s`, adds checks that no kernel needs more blocks than the
 * target can start, and sets the arguments of all kernels. Returns the module. */
Module *lowering_finish(Lowering *lo, const Schedule *s);

/* ---------------------------------------------------------------- lower-tests.c */

/* Sets Kernel.tests of kernel `index`, which computes the `n` launches at `l` in blocks that cover `covers`: the words
 * of tests that it reads, and where. The kernel's rank, tile and overhang must be set. */
void kernel_looks(Lowering *lo, int index, int n, const Launch *const *l, const Box *covers);

/* ---------------------------------------------------------------- lower-slices.c */

/* If `lo` lowers a slice (passes/launch/slices.h), turns its kernels into kernels of all slices, and sets lo->m to the
 * whole program. lowering_finish calls this before it lowers parts that concern the whole grid. */
void lower_slices(Lowering *lo);
/* lower_whole: lowers the following parts for the whole program instead of one slice; returns the slice, or NULL if
 * `lo` lowers none. lower_slice_again: returns to lowering `slice`. */
const Module *lower_whole(Lowering *lo);
void lower_slice_again(Lowering *lo, const Module *slice);

/* ---------------------------------------------------------------- lower-tiles.c */

/* May pass `pass` of family `family` lower `*m`: has the target threads (or none) as the family needs, is `*m` ready,
 * and has it a plan, which goes to *s? Reports it if not. *m becomes the module to lower: itself, or a slice of it. */
bool lowering_starts(PassContext *c, Module **m, const char *pass, FamilyId family, Schedule *s);
/* Adds the kernel `name` for launch `l` under schedule `s`, which advances by `steps` time steps. whole: it moves whole
 * vectors or rows where it can. Returns its index; -1 after an error. */
typedef int (*KernelFn)(Lowering *lo, const Launch *l, const Schedule *s, bool whole, const char *name, int steps);
/* Adds the kernel by `fn`; if it is restricted to rows of whole vectors, also a second kernel that moves cells one by
 * one, as its alternative. Returns the index of the first. */
int kernel_with_spare(Lowering *lo, KernelFn fn, const Launch *l, const Schedule *s, const char *name, int steps);
/* Adds the kernel `name` for launch `l` under schedule `s`, of any family, which advances by `steps` time steps, and
 * its launch to `seq`. False after an error. */
typedef bool (*TileFn)(Lowering *lo, HostSeq *seq, const Launch *l, const Schedule *s, const char *name, int steps);
/* The schedule under plan `s` for launch number `i` of several steps, `l`. */
Schedule long_schedule(const Lowering *lo, const Launch *l, const Schedule *s, int i);
/* Adds a sequence of the `n` launches at `l`; launch i has schedule s[i], but a thin launch that would be streamed has
 * `rest`. False after an error. */
bool tiles_seq(Lowering *lo, TileFn fn, int n, Launch *const *l, const Schedule *s, const Schedule *rest);
/* The functions of a pass that lowers tiles: for a launch, for the inits, and for the placement of fields in memory,
 * which depends on the longest launch (NULL: anywhere). */
typedef struct TileFamily {
  TileFn launch;
  void (*inits)(Lowering *lo, const int32_t *block);
  void (*place)(Lowering *lo, const Launch *l, const Schedule *s);
} TileFamily;
/* Lowers the whole module `m` under plan `s`: kernels for T steps, perhaps some for fewer, overlapped tiles for the
 * remaining single steps, or kernels for the groups of a step; and the inits. NULL after an error. */
Module *lower_tiles(PassContext *c, Module *m, const Schedule *s, const TileFamily *f);

/* ---------------------------------------------------------------- lower-reduce.c */

/* Adds the kernels and sequences of the module's reductions under plan `s` (called by lowering_finish). */
void lower_reductions(Lowering *lo, const Schedule *s);
/* Adds to `seq` the launches of updates with `after` < their stage <= `stage`, and marks where repeats begin and end
 * there. */
void lower_updates(Lowering *lo, HostSeq *seq, int after, int stage);

/* ---------------------------------------------------------------- lower-rows.c */

/* Adds to `seq` a kernel, named after `name`, that computes launch `l`, advances by `steps` time steps, and also
 * reduces rows for the updates after the launch. Only for targets with threads, and only if that moves less through
 * memory; otherwise returns false and adds nothing. */
bool lower_joined(Lowering *lo, HostSeq *seq, const Launch *l, const char *name, int steps);

/* ---------------------------------------------------------------- lower-repeat.c */

/* The next stage after `after` that has an update, or before which a repeat begins or ends; INT32_MAX if there is
 * none. */
int next_border(const Module *m, int after);
/* Marks in `seq` the repeats that end before stage `stage`, and those that begin with it. */
void push_borders(Lowering *lo, HostSeq *seq, int stage);
/* Turns the marked parts of all sequences of steps into loops (called by lowering_finish). */
void lower_repeats(Lowering *lo);

/* ---------------------------------------------------------------- renewed.c */

/* Lists in the loop of repeat number `repeat` the fields that its rounds renew. */
void lower_renewed(Lowering *lo, int repeat);

/* ---------------------------------------------------------------- sweep.c */

/* Adds the kernel for launch `l` of one or two sweeps, which advances by `steps` time steps, and its launch to `seq`.
 * `block`: the threads of a block in kernels of other stencils. */
void sweep_launch(Lowering *lo, HostSeq *seq, const Launch *l, const int32_t *block, int steps);

/* ---------------------------------------------------------------- naive.c */

/* Builds the test that one of the stencils `first` to `last` - 1, all of one time step, has written `field` at point
 * `at`. NULL: none of them writes it anywhere. */
Value *written_before(const Module *m, const Stencil *first, const Stencil *last, Builder *b, int field,
                      Value *const *at);
/* Adds the kernels of the inits, with `block` threads a block, and their launches to the init sequence. */
void lower_inits(Lowering *lo, const int32_t *block);
/* May `field` have values only at some points of its region after launch `l`: is it a temp field, and is none of the
 * pieces so far its whole region? */
bool partly_written(const Launch *l, int field);
/* Builds the test that `field` has a value at point `at` after launch `l`. (`at` may lie outside the field's region;
 * there is no value there.) */
Value *has_value_after(const Launch *l, Builder *b, int field, Value *const *at);
/* A group of consecutive launches of a step, numbers `first` to `last`. None of them reads or writes a field that
 * another one writes, and no swap comes between them. ops: the number of operations in the sequence after them. */
typedef struct Together {
  int first, last, ops;
} Together;
/* Adds launch number `i` of `l`, which comes next in `seq`, to the group, or begins a new group with it. */
void together_add(Together *group, const HostSeq *seq, Launch *const *l, int i);
/* If launch `l`, the last of `group`, computes few points under the params `scalars`, adds a kernel of `block` threads
 * a block for each part of these points, and the launches to `seq`; they are concurrent with each other and with
 * the others of the group (no piece reads values of another piece of the stencil). `steps`: the time steps by which
 * they advance. False, and nothing is added, if the launch computes many points. */
bool naive_parts(Lowering *lo, HostSeq *seq, const Launch *l, const Const *scalars, const char *name,
                 const int32_t *block, int steps, const Together *group);
/* Adds the kernel `name` of launch `l`, of one stencil, for the points of the box `zone` that are not in `without`
 * (NULL: none), and its launch to `seq`. If the stencil stores to another buffer, the kernel copies the points that the
 * stencil leaves unchanged. */
void naive_zone(Lowering *lo, HostSeq *seq, const Launch *l, const char *name, const int32_t *block, const Box *zone,
                const Box *without);
/* Adds the sequence for one step, of the `n` launches at `l`, one for each stencil, with `block` threads a block. */
void naive_seq(Lowering *lo, int n, Launch *const *l, const int32_t *block);

/* ---------------------------------------------------------------- naive-points.c */

/* Begins the body of kernel `index`, which covers the grid. A block has `block` threads, and a thread `rows`
 * consecutive points along dimension 0. The returned builder emits code for a point `g` of the thread, if it is in the
 * grid and not in `core`. */
Builder frame_begin(Lowering *lo, int index, const int32_t *block, int32_t rows, const Box *core, Value *g[MAX_RANK]);
/* A launch of one stencil as a member of a kernel that computes several launches one after the other at each point. lo:
 * its buffers. without: the kernel does not compute this box; with `copies` it copies the points there if the launch
 * stores to another buffer. pieces: only points of the stencil's pieces are computed, and none are copied. copies: the
 * member does most of the work. piece: the piece of which all points of a box are part, with unrolled code; NULL: the
 * largest piece. */
typedef struct NaiveMember {
  Lowering *lo;
  const Launch *l;
  Box without;
  bool pieces, copies;
  const Piece *piece;
} NaiveMember;
/* A kernel for the `n` launches at `of`, which advances by `steps` time steps, with `block` threads a block and `elems`
 * adjacent points a thread. */
typedef struct NaivePoints {
  int n, steps;
  const NaiveMember *of;
  const int32_t *block, *elems;
  const Box *core, *inner;
} NaivePoints;
/* Adds that kernel, named after `name`, for the points that launches cover and that are not in p->core (NULL: all). In
 * tiles inside p->inner, where members without `copies` have only single points, the code is unrolled over a thread's
 * points. Returns its index. */
int naive_points(Lowering *lo, const NaivePoints *p, const char *name);
/* Adds that kernel, named after `name`, for the points that launches cover in the box `zone`. All of these must be in
 * the largest piece of each member with `copies`. The code is unrolled, and if `vector` uses whole vectors where
 * possible. Returns its index. */
int naive_block(Lowering *lo, const NaivePoints *p, const Box *zone, bool vector, const char *name);
/* The same, but each member has one piece there, NaiveMember.piece. A thread with all points in the zone tests only
 * accesses that may leave fields; other threads compute their points one after the other. If rows are not moved by
 * vectors, a thread has one point, because that needs less code. */
int naive_piece(Lowering *lo, const NaivePoints *p, const Box *zone, bool vector, const char *name);
/* Restricts `zone` to the largest piece of launch `l`. False if their bounds differ by params. */
bool naive_zone_of(const Module *m, const Launch *l, Box *zone);

#endif
