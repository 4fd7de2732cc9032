/* passes/launch/launch.h: the facts about a program that plans and lowerings use: its steps, the launches into which
 * they are cut, and the fields that each launch reads, keeps and writes. Nothing here makes code.
 *
 *   ready.c          has a module the form that plans and lowerings need?
 *   levels.c         a time step repeated
 *   groups.c         the step cut into groups of stencils, one launch each
 *   extents.c        Algorithm 2: the region that each instance of a launch must compute
 *   pieces.c         the pieces of a stencil and their bodies
 *   rules.c          the accesses that need an outside rule
 *   inside.c         ranges and regions that lie inside others for all params
 *   launch.c         Launch: what one launch (a sequence of stencil instances) reads from global memory, keeps in the
 *                    tile and writes back
 *   copies.c         copies that a launch need not make
 *   single.c         launches of one stencil each
 *   thin.c           launches that compute few points
 *   grid-scalars.c   scalars and extents on a grid of known size
 *   words.c          words of tests: the values of masks as bits of a field
 *   points.c         stencils on a point merged into those before them
 *   series-rows.c    code that stores a probe's value at a point
 *
 *   passes/tile/ describes the tiles of a launch, for each family:
 *   tile/mapping.h   a launch's mapping, from its accesses: dimensions, kept versions and their places, moves
 *   tile/warps.h     levels of an equation in a pipeline of warps
 *
 * Terms: an *instance* is a stencil at a time level. The *version* of a field is the number of instances of the launch
 * that have written it so far; version 0 is the value in global memory before the launch. A *near* access to a version
 * above 0 needs another point's value (or goes through an outside rule), an *own* access needs the point's own value. A
 * *cell* is a place of the block's tile, a *coordinate* a place of the grid. An *image* is a cell whose coordinate lies
 * beyond a periodic edge: it computes the point to which the coordinate wraps. */
#ifndef STC_PASSES_LAUNCH_H
#define STC_PASSES_LAUNCH_H

#include "passes/passes.h"

/* ---------------------------------------------------------------- ready.c */

/* Has `m` scalars only, and does it rotate its time levels itself? If not, reports which pass must run before pass
 * `pass`, which lowers the module or has candidates lowered. */
bool lowering_ready(PassContext *c, const Module *m, const char *pass);
/* Has every instance an extent from pass halo? Reports it if not. */
bool extents_ready(PassContext *c, const Module *m, const char *pass);

/* ---------------------------------------------------------------- levels.c */

/* The instances of one time step of a module, time-tiled or not: those of the last level; *n is their number. */
const Stencil *last_level(const Module *m, int32_t *n);
/* The `n` stencils at `st` (one time step), repeated for levels 0 to T - 1. The copies share the bodies. If `halo`,
 * they get extents by Algorithm 2. */
Stencil *repeat_levels(const Module *m, int n, const Stencil *st, int T, bool halo);
/* Unrolls the step of `m` T times: repeats the list of its stencils for each level. Each copy gets its own bodies. */
void module_repeat(Module *m, int T);
/* A copy of stencil IR module `m` whose step may be cut, changed and repeated (which may add fields) without changing
 * `m`. */
Module *module_trial(const Module *m);
/* A copy of stencil IR module `m`, whose step must not be repeated yet, with the step repeated T times and extents of
 * all instances. It shares bodies with `m`. */
Module *plan_tiled_copy(const Module *m, int T);
/* The most time steps of a tile: as many as the run has, and at most the number between two evaluations of a reduction
 * or two frames of a field. *by is the reduction that sets the limit, or NULL. */
int64_t most_levels(const Module *m, const Reduction **by);

/* ---------------------------------------------------------------- groups.c */

/* The text of the cut of the `n` stencils at `st`, such as "gauss+st,dt,pde+history,probe". It names all stencils
 * except those of pass history that stay with a stencil of the program. Every possible cut has such a text, and
 * plan_cut reads it back. */
const char *cut_text(Arena *a, const Module *m, int n, const Stencil *st);
/* The cure to suggest if the step is cut and several steps a tile are asked for. */
const char *cut_cure(const Module *m);
/* The number of the stencil at `st` of which stencil number `i` is a further part, -1: none. In parts of a grid, a
 * stencil of rings, among others, is in two parts of the same name; stencils of pass history may stand between them. */
int part_before(const Module *m, const Stencil *st, int i);
/* Does the text of a cut name stencil number `i` of the `n` at `st`? A further part of a stencil is named if it has a
 * launch of its own. */
bool is_said_stencil(const Module *m, int n, const Stencil *st, int i);
/* The name of `st` in the text of a cut: characters that would not be read as part of a name become %XX in
 * hexadecimal. */
const char *said_name(Arena *a, const Stencil *st);
/* Did pass history make `st`? Such a stencil stays with the one after it. */
bool is_history_stencil(const Module *m, const Stencil *st);
/* Did pass probes make `st`? Users do not name such stencils. */
bool is_probe_stencil(const Module *m, const Stencil *st);
/* group_count: the number of groups among the `n` instances at `st`. group_length: the number of instances in the group
 * of the first one. */
int group_count(int n, const Stencil *st);
int group_length(int n, const Stencil *st);

/* ---------------------------------------------------------------- extents.c */

/* Computes the extents of `n` consecutive stencil instances, in order of execution, which form a launch, into
 * st[i].extent. After them all targets must be right on the output tile, except temp fields that no later instance, up
 * to `end`, reads. need[f] becomes the extent on which field f must be present before the first instance
 * (Module.nfields entries; has[f] false: not at all). Uses only the accesses. Mirror accesses reach as far to both
 * sides. */
void halo_compute(const Module *m, int n, Stencil *st, const Stencil *end, Extent *need, bool *has);
/* Sets the extents of the `k` instances at `st`, which form a launch; `end` is one after the last instance of the step.
 */
void launch_halo(const Module *m, int k, Stencil *st, const Stencil *end);
/* Sets the extents of the `n` instances at `st`, group by group. */
void groups_halo(const Module *m, int n, Stencil *st);

/* ---------------------------------------------------------------- pieces.c */

/* The piece that is likely to cover the most points: the first one with the most free dimensions. */
const Piece *main_piece(Arena *a, const Stencil *st);
int main_piece_number(Arena *a, const Stencil *st);
/* The number of dimensions in which `box` has no constant extent (free dimensions). */
int free_dimensions(Arena *a, const Box *box);

/* ---------------------------------------------------------------- points.c */

/* Does `st` consist of one piece on a single point, and read no other point? */
bool stencil_is_point(const Module *m, const Stencil *st);
/* The only stencil into which number `n` of the step, a stencil on a point, might be merged: the last one before it
 * that it must not precede. -1: there is none. */
int point_maker(const Module *m, int n);
/* Merges stencil number `n` of the step of `m`, on a point, as a choice into piece `into` of the stencil point_maker(m,
 * n), and removes it from the step; bodies and list must belong to `m` alone. Points outside that piece are not
 * changed. False if it cannot be merged. */
bool point_merge(Module *m, int n, Piece *into);
/* If stencil number `n` is on a point, and the stencil point_maker(m, n) has one piece, merges it as point_merge
 * does. */
bool merge_point(Module *m, int n);

/* ---------------------------------------------------------------- inside.c */

/* Does [alo, ahi] lie inside [lo, hi] for all params? */
bool range_inside(Affine alo, Affine ahi, Affine lo, Affine hi);
/* Is value >= 0 whenever `box` has points, for all params or because a launch check ensures it? */
bool always_holds(const Module *m, Affine value, const Box *box);
/* Do all points of `box` always lie inside `region` in dimension `d`, because of its bounds or because of launch
 * checks? */
bool points_inside(const Module *m, const Box *box, const Box *region, int d);
/* The same in all dimensions. */
bool box_always_inside(const Module *m, const Box *box, const Box *region);
/* Makes `m`, and copies of it, keep the answers of points_inside until a pass has run (Module.inside). For passes that
 * ask often and change no checks. */
void keep_inside(Module *m);

/* ---------------------------------------------------------------- rules.c */

/* For each dimension, the rule that an access at offset `off` to `field` from the points of `box` needs: the field's
 * rule, or OUTSIDE_NONE if the access stays inside the field's region for all params that the launch checks allow, or
 * if the field has no rule (then launches check that the access stays inside). In dimensions that the field lacks there
 * is no rule: the code that loads from its buffer knows the coordinate there. */
typedef struct Rules {
  OutsideRule dim[MAX_RANK];
} Rules;
Rules access_rules(const Module *m, const Box *box, int field, const int64_t *off);
/* The same for `op`, which reads another level of the grid. scaled_room: by how much `op` stays within the field's
 * region at the lower (end 0) or upper end of dimension `d`, from all points of `box`, in points (fine) or half points
 * (coarse) of the field; it is negative if `op` leaves the region. scaled_leaves: may it leave the region there? */
Rules scaled_rules(const Module *m, const Box *box, const Op *op);
Affine scaled_room(const Module *m, const Box *box, const Op *op, int d, int end);
bool scaled_leaves(const Module *m, const Box *box, const Op *op, int d, int end);
/* Does no dimension have a rule? */
bool rules_none(const Rules *r);
/* Has some dimension the rule `rule`? */
bool rules_have(const Rules *r, OutsideRule rule);
/* May the access leave the field's region beyond the lower (end 0) or the upper end (1) of dimension `d`? */
bool access_leaves(const Module *m, const Box *box, int field, const int64_t *off, int d, int end);

/* ---------------------------------------------------------------- launch.c copies.c */

/* A version of a field. */
typedef struct Version {
  int32_t field, version;
} Version;

/* From instance number `from` of a launch on, accesses to the present version of a field read `root` instead. */
typedef struct Rooted {
  int32_t from;
  Version root;
} Rooted;

/* The use of one field by a launch. */
typedef struct FieldUse {
  int32_t field;
  int32_t versions;      /* the number of instances that write it; 0: it is only read, or not used */
  const int32_t *writer; /* those instances, in order */
  bool fresh;            /* there is no version 0: a temp field that no earlier launch of the step has written */
  bool loaded;           /* version 0 is read from global memory */
  bool stored;           /* it must be in global memory after the launch */
  bool paired;           /* it is read from one buffer and stored to another, which the host then swaps */
  int32_t
      into;  /* paired: the other buffer is that of field `into`, the last one that rotates with this field (by `from`),
                which is free before the launch (a temp field, or see launch_store_over); -1: its own second buffer */
  bool back; /* paired, but only points of pieces are stored to the other buffer, and a kernel after the launch copies
                them back; the host swaps nothing */
  int32_t from;      /* it is not stored: the host gives it the buffer from which field `from` was read, a field that is
                        stored to another buffer; -1: no */
  int32_t depth;     /* the most consecutive versions of it that are live at once, at least 2 */
  int32_t own_loads; /* instances that need the point's own value of version 0 */
  int32_t
      *near; /* [version]: the last instance with a near access to it, -1: none; versions + 1 places, near[0] unused */
  int32_t reach_lo[MAX_RANK], reach_hi[MAX_RANK]; /* how far near accesses reach down and up, in cells */
  int32_t *rows; /* [version]: the last instance that reads other rows of it, by an offset or a rule, -1: none */
  int32_t rows_lo, rows_hi; /* the distance of these rows down and up */
  int32_t nroots; /* for Launch.sees: what instances read; before the first root, it is version 0 of the field */
  Rooted *roots;  /* in order of `from` */
} FieldUse;

/* A launch: `n` instances in order, without copies that need not be made, with their extents, and all that follows from
 * them. */
typedef struct Launch {
  const Module *m;
  int32_t n;
  const Stencil *st;
  bool sees; /* FieldUse.roots say what instances read in place of a field's present version; false: they read the
                present version */
  const Stencil *first, *given; /* the first instance of the step or tile, and the first of those given for this launch;
                                   launches before have those in between */
  int32_t ngiven;
  int32_t first_level, steps; /* the level of the first instance; the number of time steps */
  Extent hull;                /* the hull of the instances' extents: how far a tile computes beyond its output tile */
  bool wraps[MAX_RANK];       /* halo cells beyond the edge are images in this dimension, */
  Affine wrap_lo[MAX_RANK], wrap_hi[MAX_RANK]; /* of the points of this range */
  int32_t nuses;       /* the fields that the given instances read or write, by number: not all fields, */
  FieldUse *uses;      /* because programs have thousands */
  bool thin;           /* its kernel has work only at the points of pieces (launch_copy_back) */
  const char *illegal; /* why these instances cannot share a launch (other members are then unreliable), or NULL */
} Launch;

/* Analyses the `n` instances at `st`. They belong to the array of all instances, from `first` to `end` - 1: those
 * before st are in earlier launches, those after it in later ones. A temp field exists only within the launch, unless
 * an earlier launch has written it (then it is loaded) or a later one reads it (then it is stored). The result is in
 * the module's arena, as the instances must be. */
Launch *launch_new(const Module *m, int n, const Stencil *st, const Stencil *first, const Stencil *end);
/* The use of `field` by launch `l`. If `l` does not use it, a constant that says so, which must not be written to. */
FieldUse *launch_use(const Launch *l, int field);
/* The index of that use; if there is none, that of the first field with a larger number (nuses if there is none). */
int launch_use_number(const Launch *l, int field);
/* The bytes that launch `l` reads and writes for a point, without halo. */
double launch_bytes(const Launch *l);
/* For launch `l` of one instance that computes no point twice: if the oldest level of a field is read at the point
 * alone, makes the launch store the new level over it, in place of a buffer of its own. Only for kernels that read all
 * values of a point before they write it. Memory then need not load the cells that are overwritten. */
void launch_store_over(Launch *l);
/* Makes launch `l` store to another buffer each field that it loads and would write in place (`all`: each field that it
 * stores). For streamed tiles, which also load cells around those that they compute, where they read other fields;
 * another tile may be writing these cells. */
void launch_store_apart(Launch *l, bool all);
/* By field number, in `a`: do the instances from `first` to `end` - 1 need the value of this temp field from before
 * them? Entries of other fields mean nothing. */
bool *temps_wanted(Arena *a, const Module *m, const Stencil *first, const Stencil *end);
/* The launch of the stencils number `first` to `end` - 1 of the `n` stencils of a step at `step`, with extents of its
 * own. */
Launch *part_launch(const Module *m, int n, const Stencil *step, int first, int end);
/* The launch of the last level's stencils of `m` repeated T times. If `m` is time-tiled so, it uses the module's
 * extents. */
Launch *tiled_launch(const Module *m, int T);
/* The launch of init `st`, which reads and writes global memory only. */
Launch *init_launch_new(const Module *m, const Stencil *st);
/* The present version of `field` at instance number `i`: the number of earlier instances that write it. */
int launch_version(const Launch *l, int field, int i);
/* Has `field` a value before instance `i`? A temp field has none until an instance of the same time step has written
 * it. Nobody needs its versions of earlier steps, and they may not be computed where instance `i` is. */
bool launch_holds(const Launch *l, int field, int i);
/* The version that an access of instance `i` to `field` reads: the present version, or the original if that is a copy.
 * A copy has the same rules and region as the original. */
Version launch_reads(const Launch *l, int field, int i);
/* The field of which target `f` of `st` becomes a copy on its whole region; -1 if `f` is computed. */
int copied_field(const Module *m, const Stencil *st, int f);
/* Removes from the instances of `l` the targets that are copies of other fields, except copies that must be stored.
 * wanted[f]: f must be in global memory after the launch. Sets n, st, sees, and `from` of the uses. */
void launch_drop_copies(Launch *l, const bool *wanted);
/* Does `st` leave `field`, one of its targets, unchanged at some points of the field's region? */
bool stencil_keeps(const Module *m, const Stencil *st, int field);
/* Does the cut "a+b,c" (NULL: there is none) contain `name`? A stencil that the user names is not merged with
 * others. */
bool cut_has(const char *cut, const char *name);
/* The number of points that the launch can store from a tile of `cells` cells in dimension d: equation (1) of the
 * paper, W = B * E - halo. <= 0 if there are none. */
int64_t launch_width(const Launch *l, int d, int64_t cells);
/* The bytes of the arrays for near accesses of tiles of `cells` cells: equation (3) of the paper. Arrays that are never
 * live together share memory, as in pass shared-alloc. */
int64_t launch_array_bytes(const Launch *l, const int32_t *cells);
/* The number of arrays for the versions of field `f` if only rows are exchanged. A version gets an array that nobody
 * reads any more when the version is computed, not even the instance that computes it; so a step has one barrier.
 * array[version] (if `array` is not NULL) becomes the number of its array, -1: no other row of it is read. */
int32_t launch_row_arrays(const Launch *l, int f, int32_t *array);

/* Calls fn for each access in the bodies of `st` to the point's own level of the grid. */
typedef void (*AccessFn)(void *user, const Piece *piece, int field, const int64_t *off);
void stencil_accesses(const Stencil *st, AccessFn fn, void *user);

/* A thread or warp has `E` lines; others read its first and last ones, because they reach `lo` lines down and `hi` up.
 * shared_lines: the number of these lines, which are consecutive in shared memory. shared_line: the place there of line
 * j, counted from the first of the E lines; also for a line of others (j negative, or j >= E). */
static inline int32_t shared_lines(int32_t lo, int32_t hi, int32_t E) { return lo + hi < E ? lo + hi : E; }
static inline int32_t shared_line(int32_t lo, int32_t hi, int32_t E, int32_t j) {
  return j < hi ? j : j - E + shared_lines(lo, hi, E);
}

/* The number of cells in a row of an array is a multiple of this, so that rows begin at vector boundaries. */
enum { ROW_CELLS = 16 };
/* The number of cells in an array's row with room for `n` cells. */
int32_t row_cells(int32_t n);

/* ---------------------------------------------------------------- groups.c, with launches */

/* The launches of the step of `n` instances at `st`, one for each group; *count is their number. The extents must be
 * known. */
Launch **group_launches(const Module *m, int n, const Stencil *st, int *count);

/* ---------------------------------------------------------------- single.c */

/* The launches of the inits of `m`, one for each. An init with several targets becomes a kernel for each target, so
 * that those of fields with data can be left out; so no target that one of its equations reads is written in place. */
Launch **init_launches(const Module *m);
/* The launches of the step of `n` stencils at `st` with one stencil each; *count is their number. Stencils of pass
 * history are in the launch of the stencil after them, which costs nothing; so are pairs of sweeps that can share a
 * launch. */
Launch **naive_launches(const Module *m, int n, const Stencil *st, int *count);
/* A swap of the first buffer of `field` with buffer number `copy` (0, 1) of field `of`. */
typedef struct LaunchSwap {
  int32_t field, of, copy;
} LaunchSwap;
/* The swaps that must follow launch `l`, in order: *swaps in the module's arena. Returns their number. */
int launch_swaps(const Launch *l, LaunchSwap **swaps);

/* ---------------------------------------------------------------- grid-scalars.c */

/* The scalars of a module on a grid with given extents. values: their values, where the params that determine the
 * grid's extents have the values that give these, and other params their defaults. follows[i]: scalar i depends on no
 * other params than those. */
typedef struct GridScalars {
  const Const *values;
  const bool *follows;
} GridScalars;
/* Finds them for the extents `size`; entries for constant extents are ignored. False if they cannot be found. */
bool grid_scalars(const Module *m, const int64_t *size, GridScalars *out);
/* The value of the extent `e`; INT64_MAX if it does not follow from the grid's extents. *most: its value on the largest
 * grid that gets the same kernels, an eighth larger along each dimension. */
int64_t grid_extent(const GridScalars *g, Affine e, int64_t *most);

/* ---------------------------------------------------------------- thin.c */

/* Are the pieces of `st` thin: few points across, or at most an eighth of the grid's points? */
bool stencil_is_thin(const Module *m, const Stencil *st);
/* If launch `l`, of one instance that computes no point twice, has thin pieces, makes it compute only these: values
 * that it keeps stay where they are, and values that it stores to another buffer are copied back (FieldUse.back). Sets
 * `thin`. For targets without threads. */
void launch_copy_back(Launch *l);
/* At most one of THIN_SHARE of the grid's points is few. */
enum { THIN_SHARE = 8 };
/* The values of the scalars of `m` under the default params. NULL: a param has no default, or a check fails. */
const Const *default_scalars(const Module *m);
/* Makes `m`, and copies of it, keep these values until a pass has run (Module.defaults). For passes that ask often and
 * change neither params nor checks. */
void keep_defaults(Module *m);
/* The share of the grid's points of `m` that are in `box`, with the values `scalars`; 1 if these are not known
 * (NULL). */
double box_share(const Module *m, const Box *box, const Const *scalars);
/* Are the points of `box` few in comparison with the grid, under the default params? */
bool box_is_few(const Module *m, const Box *box);
/* By number of piece, in the module's arena: does the piece of `st` have few points under the default params, while
 * other pieces of `st` have many? Only tiles at edges compute such pieces. */
const bool *rare_pieces(const Module *m, const Stencil *st);
/* Does the region of `field` have few points of the grid under the default params? */
bool is_rare_field(const Module *m, int field);
/* Pieces of a launch of one stencil that a kernel of their own computes: has[i] says whether piece i is one of them;
 * `box` contains all of them. */
typedef struct ThinPart {
  Box box;
  bool *has;
} ThinPart;
/* Must launch `l`, of one instance, copy points that are in no piece? */
bool launch_copies_rest(const Launch *l);
/* The parts of launch `l`, of one instance that computes no point twice, if all its pieces are thin with the values
 * `scalars` (NULL: not known) and it has work only at their points: *parts in the module's arena. Returns their number;
 * 0: one kernel must cover all that the launch covers. */
int launch_thin_parts(const Launch *l, const Const *scalars, ThinPart **parts);
/* Do the boxes have no point in common, for all params? */
bool boxes_apart(const Box *x, const Box *y);
/* Is `l` independent of the `n` launches `others`: does none of them write a field that the other one reads or
 * writes? */
bool launch_is_independent(const Launch *l, int n, Launch *const *others);

/* ---------------------------------------------------------------- series-rows.c */

/* Makes `b` continue in an if that runs when probe `p` is due after `done` time steps (i64). */
void series_when_due(Builder *b, const Probe *p, Value *done);
/* The index (i64) of the first element of the row of the series of probe `p` for `done` steps (i64). */
Value *series_row(const Module *m, Builder *b, const Probe *p, Value *done);
/* Stores `v`, the value of probe `p` at the point `index` + `off` (Module.grid.rank numbers each), to the row of its
 * series that begins at element `row`; if the probe has a list of points, only if this point is in the list. */
void series_store(const Module *m, Builder b, const Probe *p, Value *row, Value *const *index, const int64_t *off,
                  Value *v);

/* ---------------------------------------------------------------- words.c */

/* A field that may be a word of tests. tests: all reads so far are tests; read: there are reads; all: the bits that
 * were read. */
typedef struct TestWord {
  int32_t field;
  bool tests, read;
  int64_t all;
} TestWord;
TestWord test_word(const Module *m, int field);
/* Adds the reads of the word by instance `st`. Are there any? */
bool test_word_read(TestWord *w, const Module *m, const Stencil *st);
/* Is `field` a word of tests, of which stencils read only bits? *all becomes these bits. */
bool field_is_word(const Module *m, int field, int64_t *all);

#endif
