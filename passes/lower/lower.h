/* passes/lower/lower.h: what the lowerings from stencil IR to kernel IR share (private to passes/). Nothing here
 * knows about threads.
 *
 *   lower-copies.c   copies that a launch need not make
 *   lower.c          Launch: what one launch (a sequence of stencil instances) reads from global memory, keeps in the
 *                    tile and writes back
 *   lower-access.c   one access of a field made into kernel IR, from given coordinates, with the field's outside rule
 *   lower-body.c     the bodies of pieces and stencils made into kernel IR at one point
 *   lower-reduce.c   reductions between time tiles
 *   lower-steps.c    which numbers of steps get a kernel of their own
 *   lower-host.c     buffers, kernels, their names, launches and swaps (Algorithm 5)
 *
 * Words: an *instance* is a stencil at a time level. The *version* of a field is the number of instances of the
 * launch that have written
 * it so far; version 0 is what global memory held before. A *near* access of a version above 0 needs another point's
 * value (or goes
 * through an outside rule), an *own* access the point's own. A *cell* is a place of the block's tile, a *coordinate*
 * a place of the
 * grid; an *image* is a cell whose coordinate lies beyond a periodic edge: it computes the point that it wraps to. */
#ifndef STC_PASSES_LOWER_H
#define STC_PASSES_LOWER_H

#include "passes/passes.h"

/* ---------------------------------------------------------------- lower-access.c */

/* For each dimension the rule that an access at offset `off` to `field` from the points of `box` needs there: the
 * field's own, or OUTSIDE_NONE where the access stays inside the field's region for all params (or the field has no
 * rule, and staying inside is checked at launch). */
typedef struct Rules {
  OutsideRule dim[MAX_RANK];
} Rules;
Rules access_rules(const Module *m, const Box *box, int field, const int64_t *off);
/* Does no dimension have a rule? */
bool rules_none(const Rules *r);

/* A value of an affine bound, i64. */
Value *build_affine(Builder *b, const Module *m, Affine x);

/* `v` where at + off lies in the field's region in the dimensions whose rule is `rule`, else `other` (NULL: the field's
 * constant); `v` if there are none. */
Value *inside_or(Builder *b, const Module *m, int field, const Rules *rules, OutsideRule rule, Value *const *at,
                 const int64_t *off, Value *v, Value *other);

/* The access to `field` in global memory (`buffer`) at coordinates at + off (i64, images already wrapped). Where no
 * rule holds the address is made legal by idx.guard if `guarded`, and taken as it is if not (then the code must run for
 * points of the access's piece only). */
Value *access_global(Builder *b, const Module *m, int field, int buffer, const Rules *rules, Value *const *at,
                     const int64_t *off, bool guarded);

/* The access to version `ver` of `field` in array `array` of kernel `k` (pads as in the array), whose cell `cell` (i32,
 * without the pad) holds the point `at` (i64, wrapped): cell + off, or for clamp and mirror the cell that the rule
 * leads to. `off` is within the pads. */
Value *access_array(Builder *b, const Module *m, int field, const Kernel *k, int array, int ver, const Rules *rules,
                    Value *const *at, Value *const *cell, const int64_t *off);

/* The cell, in dimension d, that clamp or mirror leads to from `cell` + off, whose point is at + off: the cell beside
 * it if the field's region is not left, else the one as far away as the point that the rule gives. A guard keeps cells
 * whose value nobody needs between `first` and `last`. */
Value *ruled_cell(Builder *b, const Field *f, int64_t first, int64_t last, int d, OutsideRule rule, Value *at,
                  Value *cell, int64_t off);

/* ---------------------------------------------------------------- lower.c */

/* What a launch does with one field. */
typedef struct FieldUse {
  int32_t versions; /* how many instances write it; 0: it is only read, or not used */
  bool fresh;       /* there is no version 0: a temp field that no launch before in the step wrote */
  bool loaded;      /* version 0 is read from global memory */
  bool stored;      /* it is to be in global memory after the launch */
  bool paired;      /* it is read from one buffer and stored to another, which the host then swaps */
  int32_t into;     /* paired: that other one is the buffer of field `into`, free before the launch, which that field's
                       `from` names (a temp one, or see launch_store_over); -1: its own second */
  int32_t from;     /* it is not stored: the host gives it the buffer that field `from`, which is stored to another, was
                       read from; -1: no */
  int32_t depth;    /* so many consecutive versions of it, at least 2, are alive at once */
  int32_t own_loads; /* instances that need the point's own value of version 0 */
  int32_t
      *near; /* [version]: the last instance with a near access to it, -1: none; versions + 1 places, near[0] unused */
  int32_t reach_lo[MAX_RANK], reach_hi[MAX_RANK]; /* how far near accesses reach down and up, in cells */
} FieldUse;

/* A version of a field. */
typedef struct Version {
  int32_t field, version;
} Version;

/* A launch: `n` instances in order, without copies that need not be made, their extents known, and what follows from
 * them. */
typedef struct Launch {
  const Module *m;
  int32_t n;
  const Stencil *st;
  const Version *sees; /* [instance * nfields + field]: what instances read in place of a field's present version; NULL:
                          that itself */
  const Stencil *first, *given; /* the first instance of the step or tile, and of those that the launch was made of:
                                   what is between is in launches before */
  int32_t ngiven;
  int32_t first_level, steps;                  /* of the instances: level of the first, time steps they make */
  Extent hull;                                 /* of the instances' extents: what a tile computes beyond its output */
  bool wraps[MAX_RANK];                        /* halo cells beyond the edge are images in this dimension, */
  Affine wrap_lo[MAX_RANK], wrap_hi[MAX_RANK]; /* of the points of this range */
  FieldUse *use;                               /* Module.nfields */
  const int32_t *writer, *first_write;         /* the instances that write field f, in order, are those from
                                                  writer[first_write[f]] to before writer[first_write[f + 1]] */
  const char *illegal; /* why these instances cannot share a launch (then the rest is not to be relied on), or NULL */
} Launch;

/* Analyses the `n` instances at `st`, in the array of all instances from `first` to before `end`: those before st are
 * in launches before, those behind in launches after. A temp field lives in the launch only, unless one before has
 * written it (it is loaded then) or one after reads what this one leaves (then it is stored). Lives in the module's
 * arena, as the instances must. */
Launch *launch_new(const Module *m, int n, const Stencil *st, const Stencil *first, const Stencil *end);
/* Lets launch `l`, of one instance that computes no point twice, write a field over its oldest level where that is read
 * at the point alone, in place of a buffer of its own: for kernels that read all of a point before they write it.
 * Memory need not bring what is written over then. */
void launch_store_over(Launch *l);
/* Of which temp fields do the instances from `first` to before `end` need the values that were there before them? By
 * number, in the module's arena; what it says of other fields means nothing. */
bool *temps_wanted(const Module *m, const Stencil *first, const Stencil *end);
/* The launch of the stencils from number `first` to before `end` of the `n` stencils of a step at `step`, with extents
 * of its own. */
Launch *part_launch(const Module *m, int n, const Stencil *step, int first, int end);
/* The launch of the last level's stencils of `m` repeated T times; with the module's own extents if it was tiled so. */
Launch *tiled_launch(const Module *m, int T);
/* The same for init `st`, which reads and writes global memory only. */
Launch *init_launch_new(const Module *m, const Stencil *st);
/* Does [alo, ahi] lie inside [lo, hi] for all params? */
bool range_inside(Affine alo, Affine ahi, Affine lo, Affine hi);
/* How many instances before number `i` write `field`: its present version there. */
int launch_version(const Launch *l, int field, int i);
/* Has `field` values before instance `i`? A temp field has none until an instance of the same time step has written it;
 * what versions of steps before hold is needed by nobody, and may not have been computed where instance `i` is. */
bool launch_holds(const Launch *l, int field, int i);
/* What instance `i` reads for an access to `field`: its present version, or what that is a copy of. Field, rules and
 * region are then alike. */
Version launch_reads(const Launch *l, int field, int i);
/* The field that target `f` of `st` becomes a copy of on its whole region, -1 if it is more than a copy. */
int copied_field(const Module *m, const Stencil *st, int f);
/* Drops from the instances of `l` the targets that are copies of other fields, but for those that have to be stored;
 * wanted[f]: f is to be in global memory after the launch. Sets n, st, sees, and `from` of the uses. */
void launch_drop_copies(Launch *l, const bool *wanted);
/* Does `st` leave `field`, one of its targets, as it was at some points of the field's region? */
bool stencil_keeps(const Module *m, const Stencil *st, int field);
/* Is `field` a target of `st`? Of the piece? (index in its list, or -1) */
int stencil_target(const Stencil *st, int field);
int piece_target(const Piece *p, int field);
/* Points of a tile of `cells` cells in dimension d that the launch can give out: equation (1) of the paper, W = B * E -
 * halo; <= 0 if none.
 */
int64_t launch_width(const Launch *l, int d, int64_t cells);
/* Bytes that the arrays for near accesses take for tiles of `cells` cells (equation (3)), those that are never alive
 * together sharing memory as pass shared-alloc lets them. */
int64_t launch_array_bytes(const Launch *l, const int32_t *cells);

/* Calls fn for each access in the bodies of `st`. */
typedef void (*AccessFn)(void *user, const Piece *piece, int field, const int64_t *off);
void stencil_accesses(const Stencil *st, AccessFn fn, void *user);

/* The instances of one time step of a module that was time-tiled or not: those of the last level, whose number is *n.
 */
const Stencil *last_level(const Module *m, int32_t *n);
/* The `n` stencils at `st` (one time step) repeated T times with levels, sharing the bodies, and with extents by
 * Algorithm 2 if `halo`. */
Stencil *repeat_levels(const Module *m, int n, const Stencil *st, int T, bool halo);
/* Unrolls the step of `m` T times: the list of its stencils repeated once for each level, each with bodies of its own
 * (time-tile.c). */
void module_repeat(Module *m, int T);
/* Gives the `n` instances at `st` their extents, those of each group by themselves. */
void groups_halo(const Module *m, int n, Stencil *st);
/* The launches of the step of `n` instances at `st`, one for each group; their number is *count. The instances' extents
 * must be known. */
Launch **group_launches(const Module *m, int n, const Stencil *st, int *count);
/* "gauss+st,dt,pde+history,probe": the groups of the `n` stencils at `st`, each of which is said by its name but for
 * those that pass history made and that stay with a stencil of the program. It says any cut that can be, so that
 * plan_cut reads it back. */
const char *cut_text(Arena *a, const Module *m, int n, const Stencil *st);
/* Is stencil number `i` of those at `st` a further part of the one before it? Parts of a grid have a stencil of rings
 * and others in two parts, which have its name. */
bool is_part_again(const Stencil *st, int i);
/* Is stencil number `i` of the `n` at `st` said in such a text? A further part is if its launch is another. */
bool is_said_stencil(const Module *m, int n, const Stencil *st, int i);
/* The name by which it is said: that of `st`, what would not be read as a part of a name being %XX in hexadecimal. */
const char *said_name(Arena *a, const Stencil *st);
/* Is it one that pass history made? It stays with the stencil after it. */
bool is_history_stencil(const Module *m, const Stencil *st);
/* Is it one that pass probes made? Users do not name it. */
bool is_probe_stencil(const Module *m, const Stencil *st);
/* How many groups are there among the `n` instances at `st`? How many instances does the group of the first of them
 * have? */
int group_count(int n, const Stencil *st);
int group_length(int n, const Stencil *st);

/* ---------------------------------------------------------------- schedule.c */

/* The overlapped tile that `want` (what it says of walked tiles aside) comes to for launch `l` of `levels` steps, one
 * of several of a step if `part`, in *out. NULL if it is legal and sensible, else why not (a part of a sentence). */
const char *schedule_launch(PassContext *c, const Schedule *want, const Launch *l, int levels, bool part,
                            Schedule *out);
/* Are the numbers of the schedule asked for in order, whatever the program's accesses are? Reports an error if not. */
bool schedule_check(PassContext *c, const Module *m);
/* The most time steps that a tile may make: as many as there are to run, and as lie between two evaluations of a
 * reduction. *by is the reduction that this is due to, or NULL. */
int64_t most_levels(const Module *m, const Reduction **by);
/* The time steps a tile that the schedule asked for comes to if all stencils of the step share a launch. */
int schedule_levels(PassContext *c, const Module *m);
/* The same for the stream family: fills what `want` leaves open, for at most `most` time steps a tile
 * (schedule-stream.c); the steps a tile that it comes to. */
bool schedule_stream(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out);
/* Why tiles of module `m`, everything else than what is in `want` being left open, had better not be walked, NULL: they
 * had. */
const char *stream_is_not_better(PassContext *c, const Module *m, const Schedule *want, int64_t most);
int schedule_stream_levels(PassContext *c, const Module *m, const Schedule *want, int64_t most);
/* The same for time over warps (schedule-warps.c). */
bool schedule_warps(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out);
/* Why there is no such schedule (the end of a sentence), NULL: it is *out. */
const char *schedule_warps_why(PassContext *c, const Module *m, const Schedule *want, int64_t most, Schedule *out);
/* The walked tile that `want` comes to for launch `l` of `levels` steps, in *out. NULL if it is legal, else why not (a
 * part of a sentence). */
const char *schedule_walk(PassContext *c, const Schedule *want, const Launch *l, int levels, Schedule *out);
/* Fills in what `want` leaves open for the grid of want->size, at most `most` time steps a tile (choice.c).
 * False, and *want is as it was, if there is no size, the choice for large grids is expected to be as good, or more
 * than T is said. */
bool schedule_suit(PassContext *c, const Module *m, int64_t most, Schedule *want);
/* Points computed for each point given out. */
double launch_redundancy(const Launch *l, const Schedule *s);

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
  void *user;
  int32_t nseen;
  struct SeenAccess *seen;
};

/* The value of `field` at `off` under `rules`, built by p->access unless an equal access was. */
Value *point_access(Point *p, Builder *b, int field, const int64_t *off, const Rules *rules);
/* A copy of the pure op `op` of a body, an element op among them, on the values that `map` has, by their numbers, for
 * its operands. */
Value *body_op(Point *p, Builder *b, const Op *op, Value *const *map);
/* Numbers the results in the body from 0; their number. */
int32_t body_number(const Block *body);
/* Does a body of the `n` stencils use the step number? (If not, Point.step may be NULL.) */
bool stencils_use_step(int n, const Stencil *st);
/* How many dimensions of `box` do not have a constant extent. The piece with the most of them is likely to cover most
 * points. */
int free_dimensions(Arena *a, const Box *box);
/* Value number i of the result is the new value of target i of `piece` at the point. */
Value **piece_values(Point *p, Builder *b, const Piece *piece);
/* Value number i of the result is the new value of target i of `st` at the point, whichever piece it lies in; where it
 * is in none, `old(p, b, field)` (NULL result, or old itself NULL: it does not matter). The piece with the fewest fixed
 * dimensions is asked first. */
Value **stencil_values(Point *p, Builder *b, const Stencil *st, Value *(*old)(Point *p, Builder *b, int field));

/* ---------------------------------------------------------------- lower-steps.c */

/* The most numbers of steps that sequences are made for. */
enum { MOST_TILES = 16 };
/* The numbers of steps that sequences are made for, falling: T, perhaps some in between, and 1 (at the end, and always
 * there). Returns how many. One in between makes what remains of the program's own run, and of the steps from one
 * evaluation of its reductions to the next, with fewer launches; it is there only if that saves a tenth of all
 * launches, for it costs compile time. On a target that compiles late, where it costs none, T is halved again and
 * again. */
int remainder_tiles(const TargetInfo *t, const Module *m, int T, int tiles[MOST_TILES]);
/* The one in between, a multiple of `of`, or 1: it is not worth a sequence. */
int remainder_tile(const Module *m, int T, int of);
/* The launches of several steps that these sequences make, of a module that was time-tiled: of the instances of its
 * last levels, the longest (all levels) first. Returns how many there are in `out`. */
int tile_launches(const TargetInfo *t, const Module *m, Launch *out[MOST_TILES]);

/* ---------------------------------------------------------------- lower-host.c */

/* Are there only scalars in `m`, and does it move its time levels on itself? Else reports, for pass `pass`, which
 * lowers or has candidates lowered, which pass has to run before. */
bool lowering_ready(PassContext *c, const Module *m, const char *pass);
/* Has every instance the region that pass halo gives it? Reports it if not. */
bool extents_ready(PassContext *c, const Module *m, const char *pass);

/* A kernel IR module in the making, and where its buffers are: copy[c][f] is the index of copy c of field f, -1: none.
 */
typedef struct Lowering {
  PassContext *c;
  const Module *m; /* stencil IR */
  Module *out;
  int32_t *copy[2];
} Lowering;

/* Derives the kernel IR module for `m` and makes the buffers that the `n` launches need (all fields but temps have one
 * at least) behind those of the launch-time arrays, array number i being buffer i. */
Lowering *lowering_new(PassContext *c, const Module *m, int n, Launch *const *launches);
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
/* Where the multiples of `kernel` do not hold `other` is launched, which does the same. Does nothing if it has none: it
 * can always be launched. */
void kernel_instead(Lowering *lo, int kernel, int other);
/* Adds an array to kernel `k` and returns its index. `cells` is its shape without the pads (rank places); pads may be
 * NULL. */
int kernel_array(Lowering *lo, Kernel *k, const char *name, Type t, Space space, const int32_t *cells,
                 const int32_t *pad_lo, const int32_t *pad_hi);
/* The buffer that launches read `field` from; that launch `l` writes it to. */
int load_buffer(const Lowering *lo, int field);
int store_buffer(const Lowering *lo, const Launch *l, int field);
/* Adds to `seq` the launch of kernel `k`; the swaps that have to follow launch `l`. */
void host_launch(Lowering *lo, HostSeq *seq, int k);
void host_swaps(Lowering *lo, HostSeq *seq, const Launch *l);
/* The points that launches cover: all of the grid, or what those of a part give out. */
const Box *launch_covers(const Module *m);
/* Adds a sequence that makes `steps` steps and returns it (valid until the next). */
HostSeq *host_seq(Lowering *lo, int steps);
/* Lowers the reductions, adds to the module's checks that no kernel needs more blocks than the target can start, and
 * sets all kernels' arguments. Returns the module. */
Module *lowering_finish(Lowering *lo);

/* ---------------------------------------------------------------- lower-overlap.c */

/* Adds the sequence of the `n` launches at `l`, of which number i has the schedule s[i]; an empty one if there are
 * none. */
void overlap_seq(Lowering *lo, int n, Launch *const *l, const Schedule *s);
/* Adds the kernel `name` for launch `l`, which advances by `steps`. Its index. */
int overlap_kernel(Lowering *lo, const Launch *l, const Schedule *s, const char *name, int steps);

/* ---------------------------------------------------------------- lower-reduce.c */

/* Adds the kernels and sequences of the module's reductions; for lowering_finish. */
void lower_reductions(Lowering *lo);

/* ---------------------------------------------------------------- lower-naive.c */

/* The launches of the inits of `m`, one for each. One of several targets becomes a kernel for each target, so that
 * those of fields with data can be left out; then no target that an equation reads is written in place. */
Launch **init_launches(const Module *m);
/* The launches of the step of `n` stencils at `st`, when each stencil is alone in one, but for those of pass history,
 * which are in that of the stencil behind them: that costs nothing. Their number is *count. */
Launch **naive_launches(const Module *m, int n, const Stencil *st, int *count);
/* Was `field` written at point `at` by the stencils from `first` to before `last`, all of one time step? NULL: nowhere
 * by any of them. */
Value *written_before(const Module *m, const Stencil *first, const Stencil *last, Builder *b, int field,
                      Value *const *at);
/* Adds the kernels of the inits and their launches, as naive_launches gave them, to the init sequence. `block` is the
 * threads a block. */
void lower_inits(Lowering *lo, Launch *const *launches, const int32_t *block);
/* Where a value of `field` can be after launch `l`, if not on all of the field's region: at the points of the pieces so
 * far, for a temp field of which none is the whole region. */
bool partly_written(const Launch *l, int field);
/* Is there a value of `field` at point `at` after launch `l`? (`at` may lie outside of the field's region: there is
 * none there.) */
Value *has_value_after(const Launch *l, Builder *b, int field, Value *const *at);
/* The whole module, a launch a stencil a step. */
Module *lower_naive(PassContext *c, Module *m, const Schedule *s);

#endif
