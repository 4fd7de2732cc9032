/* passes/launch/launch.h: what plans and lowerings know of a program: its steps, the launches these are cut into, and
 * what each of them reads, keeps and writes. Nothing here makes code.
 *
 *   ready.c          is a module what plans and lowerings take?
 *   levels.c         a time step repeated
 *   groups.c         the step cut into groups of stencils, a launch each
 *   extents.c        Algorithm 2: the region that each instance of a launch must compute
 *   pieces.c         the pieces of a stencil and their bodies
 *   rules.c          which accesses need an outside rule
 *   inside.c         which ranges and regions lie inside others whatever the params are
 *   launch.c         Launch: what one launch (a sequence of stencil instances) reads from global memory, keeps in the
 *                    tile and writes back
 *   copies.c         copies that a launch need not make
 *   single.c         launches of one stencil each
 *   thin.c           launches that compute few points
 *   grid-scalars.c   scalars and extents on a grid of known size
 *   words.c          words of tests: what masks say, as bits of a field
 *   points.c         stencils on a point merged into those before them
 *   series-rows.c    how what a probe sees at a point is stored
 *
 *   What a launch becomes in the families of tiles is in passes/tile/:
 *   tile/mapping.h   its mapping: dimensions, versions kept and where, moves, from the accesses
 *   tile/warps.h     levels of an equation in a pipeline of warps
 *
 * Words: an *instance* is a stencil at a time level. The *version* of a field is the number of instances of the
 * launch that have written
 * it so far; version 0 is what global memory held before. A *near* access of a version above 0 needs another point's
 * value (or goes
 * through an outside rule), an *own* access the point's own. A *cell* is a place of the block's tile, a *coordinate*
 * a place of the
 * grid; an *image* is a cell whose coordinate lies beyond a periodic edge: it computes the point that it wraps to. */
#ifndef STC_PASSES_LAUNCH_H
#define STC_PASSES_LAUNCH_H

#include "passes/passes.h"

/* ---------------------------------------------------------------- ready.c */

/* Are there only scalars in `m`, and does it move its time levels on itself? Else reports, for pass `pass`, which
 * lowers or has candidates lowered, which pass has to run before. */
bool lowering_ready(PassContext *c, const Module *m, const char *pass);
/* Has every instance the region that pass halo gives it? Reports it if not. */
bool extents_ready(PassContext *c, const Module *m, const char *pass);

/* ---------------------------------------------------------------- levels.c */

/* The instances of one time step of a module that was time-tiled or not: those of the last level, whose number is *n.
 */
const Stencil *last_level(const Module *m, int32_t *n);
/* The `n` stencils at `st` (one time step) repeated T times with levels, sharing the bodies, and with extents by
 * Algorithm 2 if `halo`. */
Stencil *repeat_levels(const Module *m, int n, const Stencil *st, int T, bool halo);
/* Unrolls the step of `m` T times: the list of its stencils repeated once for each level, each with bodies of its own.
 */
void module_repeat(Module *m, int T);
/* A copy of stencil IR module `m` whose step may be cut, changed and repeated, which may add fields. */
Module *module_trial(const Module *m);
/* A copy of stencil IR module `m`, whose step is not repeated, that is, T times, with its instances' regions. Its
 * bodies are those of `m`. */
Module *plan_tiled_copy(const Module *m, int T);
/* The most time steps that a tile may make: as many as there are to run, and as lie between two evaluations of a
 * reduction, or two frames of a field. *by is the reduction that this is due to, or NULL. */
int64_t most_levels(const Module *m, const Reduction **by);

/* ---------------------------------------------------------------- groups.c */

/* "gauss+st,dt,pde+history,probe": the groups of the `n` stencils at `st`, each of which is named but for
 * those that pass history made and that stay with a stencil of the program. It says any cut that can be, so that
 * plan_cut reads it back. */
const char *cut_text(Arena *a, const Module *m, int n, const Stencil *st);
/* What is to be done about a step that is cut where several steps are asked for. */
const char *cut_cure(const Module *m);
/* The number of the stencil at `st` that number `i` is a further part of, -1: none. Parts of a grid have a stencil of
 * rings and others in two parts, which have its name; what pass history made may stand between them. */
int part_before(const Module *m, const Stencil *st, int i);
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

/* ---------------------------------------------------------------- extents.c */

/* Computes the extents of `n` consecutive stencil instances in order of execution, which are one launch, such that
 * after them all targets that are not temp, and those temps that the instances behind them, up to `end`, want, are
 * right on the output tile, into st[i].extent, and the extent on which each field must be there before the first of
 * them into need (Module.nfields; has[f] false: not at all). Purely from the accesses. Mirror accesses reach as far to
 * both sides. */
void halo_compute(const Module *m, int n, Stencil *st, const Stencil *end, Extent *need, bool *has);
/* Gives the `k` instances at `st`, which are one launch, their extents; `end` is behind the last of the step. */
void launch_halo(const Module *m, int k, Stencil *st, const Stencil *end);
/* Gives the `n` instances at `st` their extents, those of each group by themselves. */
void groups_halo(const Module *m, int n, Stencil *st);

/* ---------------------------------------------------------------- pieces.c */

/* The piece that is likely to cover most: the first of those with the most free dimensions. */
const Piece *main_piece(Arena *a, const Stencil *st);
int main_piece_number(Arena *a, const Stencil *st);
/* How many dimensions of `box` do not have a constant extent. The piece with the most of them is likely to cover most
 * points. */
int free_dimensions(Arena *a, const Box *box);
/* Numbers the results in the body from 0; their number. */
int32_t body_number(const Block *body);

/* ---------------------------------------------------------------- points.c */

/* Has `st` a single piece, on a single point, which reads no other? */
bool stencil_is_point(const Module *m, const Stencil *st);
/* The number of the stencil that number `n` of the step, on a point, may be merged into if anything: the last before it
 * that has to stay before it; -1: there is none. */
int point_maker(const Module *m, int n);
/* Makes stencil number `n` of the step of `m`, on a point, a choice in piece `into` of that one, and takes it out of
 * the step; bodies and list are the module's own. Outside of that piece nothing is made of it. False: it cannot be. */
bool point_merge(Module *m, int n, Piece *into);
/* The same, if it is on a point, in that one's only piece. */
bool merge_point(Module *m, int n);

/* ---------------------------------------------------------------- inside.c */

/* Does [alo, ahi] lie inside [lo, hi] for all params? */
bool range_inside(Affine alo, Affine ahi, Affine lo, Affine hi);
/* Is value >= 0 whenever `box` has points, whatever the params are or because a launch check sees to it? */
bool always_holds(const Module *m, Affine value, const Box *box);
/* Do the points of `box`, if it has any, always lie inside `region` in dimension `d`, because of its bounds or of
 * launch checks? */
bool points_inside(const Module *m, const Box *box, const Box *region, int d);
/* The same in all dimensions. */
bool box_always_inside(const Module *m, const Box *box, const Box *region);
/* Has `m`, and the copies that are made of it, keep the answers of points_inside until a pass has run (Module.inside):
 * for passes that ask often and change no checks. */
void keep_inside(Module *m);

/* ---------------------------------------------------------------- rules.c */

/* For each dimension the rule that an access at offset `off` to `field` from the points of `box` needs there: the
 * field's own, or OUTSIDE_NONE where the access stays inside the field's region for all params that the launch checks
 * let pass (or the field has no rule, and staying inside is checked at launch). In
 * dimensions that the field does not have there is none: what loads from its buffer knows its coordinate there. */
typedef struct Rules {
  OutsideRule dim[MAX_RANK];
} Rules;
Rules access_rules(const Module *m, const Box *box, int field, const int64_t *off);
/* The same of `op`, which reads another level of the grid. By how much it stays within the field's region at the lower
 * or the upper end of dimension `d` from all points of `box`, in points of that (fine) or half points (coarse): 0 or
 * more if it does. May it leave it there? */
Rules scaled_rules(const Module *m, const Box *box, const Op *op);
Affine scaled_room(const Module *m, const Box *box, const Op *op, int d, int end);
bool scaled_leaves(const Module *m, const Box *box, const Op *op, int d, int end);
/* Does no dimension have a rule? */
bool rules_none(const Rules *r);
/* Is one of them `rule`? */
bool rules_have(const Rules *r, OutsideRule rule);
/* May it leave the field's region beyond the lower (end 0) or the upper end (1) of dimension `d`, as far as is known?
 */
bool access_leaves(const Module *m, const Box *box, int field, const int64_t *off, int d, int end);

/* ---------------------------------------------------------------- launch.c copies.c */

/* A version of a field. */
typedef struct Version {
  int32_t field, version;
} Version;

/* What instances number `from` and later of a launch read in place of a field's present version. */
typedef struct Rooted {
  int32_t from;
  Version root;
} Rooted;

/* What a launch does with one field. */
typedef struct FieldUse {
  int32_t field;
  int32_t versions;      /* how many instances write it; 0: it is only read, or not used */
  const int32_t *writer; /* those instances, in order */
  bool fresh;            /* there is no version 0: a temp field that no launch before in the step wrote */
  bool loaded;           /* version 0 is read from global memory */
  bool stored;           /* it is to be in global memory after the launch */
  bool paired;           /* it is read from one buffer and stored to another, which the host then swaps */
  int32_t into;  /* paired: that other one is the buffer of field `into`, free before the launch, which that field's
                    `from` names (a temp one, or see launch_store_over); -1: its own second */
  bool back;     /* paired, but what is stored to the other buffer, at the points of pieces alone, is copied back by a
                    kernel behind; the host swaps nothing */
  int32_t from;  /* it is not stored: the host gives it the buffer that field `from`, which is stored to another, was
                    read from; -1: no */
  int32_t depth; /* so many consecutive versions of it, at least 2, are alive at once */
  int32_t own_loads; /* instances that need the point's own value of version 0 */
  int32_t
      *near; /* [version]: the last instance with a near access to it, -1: none; versions + 1 places, near[0] unused */
  int32_t reach_lo[MAX_RANK], reach_hi[MAX_RANK]; /* how far near accesses reach down and up, in cells */
  int32_t *rows; /* [version]: the last instance that reads other rows of it, by offsets or rules, -1: none */
  int32_t rows_lo, rows_hi; /* how many rows down and up those are */
  int32_t nroots;           /* Launch.sees: what instances read; before the first of them, version 0 of the field */
  Rooted *roots;            /* `from` grows */
} FieldUse;

/* A launch: `n` instances in order, without copies that need not be made, their extents known, and what follows from
 * them. */
typedef struct Launch {
  const Module *m;
  int32_t n;
  const Stencil *st;
  bool sees; /* FieldUse.roots say what instances read in place of a field's present version; else that itself */
  const Stencil *first, *given; /* the first instance of the step or tile, and of those that the launch was made of:
                                   what is between is in launches before */
  int32_t ngiven;
  int32_t first_level, steps;                  /* of the instances: level of the first, time steps they make */
  Extent hull;                                 /* of the instances' extents: what a tile computes beyond its output */
  bool wraps[MAX_RANK];                        /* halo cells beyond the edge are images in this dimension, */
  Affine wrap_lo[MAX_RANK], wrap_hi[MAX_RANK]; /* of the points of this range */
  int32_t nuses;                               /* what it does with fields, by their numbers: those that the given */
  FieldUse *uses;                              /* instances read or write, for programs have thousands of others */
  bool thin;           /* its kernel has nothing to do but at the points of pieces (launch_copy_back) */
  const char *illegal; /* why these instances cannot share a launch (then the rest is not to be relied on), or NULL */
} Launch;

/* Analyses the `n` instances at `st`, in the array of all instances from `first` to before `end`: those before st are
 * in launches before, those behind in launches after. A temp field lives in the launch only, unless one before has
 * written it (it is loaded then) or one after reads what this one leaves (then it is stored). Lives in the module's
 * arena, as the instances must. */
Launch *launch_new(const Module *m, int n, const Stencil *st, const Stencil *first, const Stencil *end);
/* What launch `l` does with `field`. If nothing, what says so, which may not be written to. */
FieldUse *launch_use(const Launch *l, int field);
/* Which of its uses that is: else that of the first field with a larger number, nuses if there is none. */
int launch_use_number(const Launch *l, int field);
/* Bytes that launch `l` reads and writes for a point, without halo. */
double launch_bytes(const Launch *l);
/* Lets launch `l`, of one instance that computes no point twice, write a field over its oldest level where that is read
 * at the point alone, in place of a buffer of its own: for kernels that read all of a point before they write it.
 * Memory need not bring what is written over then. */
void launch_store_over(Launch *l);
/* Lets launch `l` store to another buffer whatever it loads and would write in place (`all`: whatever it stores): for
 * streamed tiles, which also load, beside what they compute, where they read other fields, so that another tile may be
 * writing what they load. */
void launch_store_apart(Launch *l, bool all);
/* Of which temp fields do the instances from `first` to before `end` need the values that were there before them? By
 * number, in `a`; what it says of other fields means nothing. */
bool *temps_wanted(Arena *a, const Module *m, const Stencil *first, const Stencil *end);
/* The launch of the stencils from number `first` to before `end` of the `n` stencils of a step at `step`, with extents
 * of its own. */
Launch *part_launch(const Module *m, int n, const Stencil *step, int first, int end);
/* The launch of the last level's stencils of `m` repeated T times; with the module's own extents if it was tiled so. */
Launch *tiled_launch(const Module *m, int T);
/* The same for init `st`, which reads and writes global memory only. */
Launch *init_launch_new(const Module *m, const Stencil *st);
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
/* Is `name` in the cut "a+b,c" (NULL: there is none)? What the user names stays a stencil by itself. */
bool cut_has(const char *cut, const char *name);
/* Is `field` a target of the piece? (index in its list, or -1) */
int piece_target(const Piece *p, int field);
/* Points of a tile of `cells` cells in dimension d that the launch can store: equation (1) of the paper, W = B * E -
 * halo; <= 0 if none.
 */
int64_t launch_width(const Launch *l, int d, int64_t cells);
/* Bytes that the arrays for near accesses take for tiles of `cells` cells (equation (3)), those that are never alive
 * together sharing memory as pass shared-alloc lets them. */
int64_t launch_array_bytes(const Launch *l, const int32_t *cells);
/* Arrays that versions of field `f` take turns in where rows alone are traded: a version has one that nobody reads any
 * more when it is made, not even the instance that makes it, so that a step has one barrier. array[version] becomes
 * which (NULL: it is not asked for), -1: no other row of it is read. */
int32_t launch_row_arrays(const Launch *l, int f, int32_t *array);

/* Calls fn for each access in the bodies of `st` that is of the point's own level of the grid. */
typedef void (*AccessFn)(void *user, const Piece *piece, int field, const int64_t *off);
void stencil_accesses(const Stencil *st, AccessFn fn, void *user);

/* Of `E` lines of a thread or warp, those that others read that reach `lo` lines down and `hi` up: its first ones and
 * its last ones. In shared memory they follow each other; shared_line says where line j is, counted from the first of
 * these E, also that of a line of others (j negative, or E and more). */
static inline int32_t shared_lines(int32_t lo, int32_t hi, int32_t E) { return lo + hi < E ? lo + hi : E; }
static inline int32_t shared_line(int32_t lo, int32_t hi, int32_t E, int32_t j) {
  return j < hi ? j : j - E + shared_lines(lo, hi, E);
}

/* Cells in a row of an array are a multiple of this, so that rows start at vector boundaries. */
enum { ROW_CELLS = 16 };
/* The cells of an array's row that has room for `n`. */
int32_t row_cells(int32_t n);

/* ---------------------------------------------------------------- groups.c, with launches */

/* The launches of the step of `n` instances at `st`, one for each group; their number is *count. The instances' extents
 * must be known. */
Launch **group_launches(const Module *m, int n, const Stencil *st, int *count);

/* ---------------------------------------------------------------- single.c */

/* The launches of the inits of `m`, one for each. One of several targets becomes a kernel for each target, so that
 * those of fields with data can be left out; then no target that an equation reads is written in place. */
Launch **init_launches(const Module *m);
/* The launches of the step of `n` stencils at `st`, when each stencil is alone in one, but for those of pass history,
 * which are in that of the stencil behind them: that costs nothing. Their number is *count. */
Launch **naive_launches(const Module *m, int n, const Stencil *st, int *count);
/* The first buffer of `field` and that number `copy` (0, 1) of field `of` change places. */
typedef struct LaunchSwap {
  int32_t field, of, copy;
} LaunchSwap;
/* The swaps that have to follow launch `l`, in order: *swaps in the module's arena, and how many. */
int launch_swaps(const Launch *l, LaunchSwap **swaps);

/* ---------------------------------------------------------------- grid-scalars.c */

/* The scalars of a module on a grid of certain extents. values: where the params that are its extents have the values
 * that give these, and others their defaults. follows[i]: scalar i depends on no other params than those. */
typedef struct GridScalars {
  const Const *values;
  const bool *follows;
} GridScalars;
/* Finds them for the extents `size`; where they are constants, whatever stands there. False: they are not known. */
bool grid_scalars(const Module *m, const int64_t *size, GridScalars *out);
/* The value of `e`, an extent: INT64_MAX if it does not follow from the grid's. *most: what it comes to on the largest
 * grid that is given kernels for this one, an eighth larger along each dimension. */
int64_t grid_extent(const GridScalars *g, Affine e, int64_t *most);

/* ---------------------------------------------------------------- thin.c */

/* Are the pieces of `st` thin: few points across, or an eighth of the grid's points at most? */
bool stencil_is_thin(const Module *m, const Stencil *st);
/* Lets launch `l`, of one instance that computes no point twice and whose pieces are thin, compute those alone: what it
 * keeps of a field stays where it is, and what is stored to another buffer is copied back (FieldUse.back). Sets
 * `thin`. For targets without threads. */
void launch_copy_back(Launch *l);
/* What at most one of so many of the grid's points have is few. */
enum { THIN_SHARE = 8 };
/* The values of the scalars of `m` where all params have their defaults, NULL: one has none, or a check fails. */
const Const *default_scalars(const Module *m);
/* Finds them once for `m` and the copies that are made of it, until a pass has run (Module.defaults): for passes that
 * ask often and change neither params nor checks. */
void keep_defaults(Module *m);
/* The part of the points of the grid of `m` that `box` has where the scalars have these values; 1 if they are not known
 * (NULL). */
double box_share(const Module *m, const Box *box, const Const *scalars);
/* Are the points of `box` few of the grid's where the params have their defaults? */
bool box_is_few(const Module *m, const Box *box);
/* Which pieces of `st` are few points of the grid where the params have their defaults, beside others that are not?
 * [npieces], in the module's arena. Only tiles at edges compute these. */
const bool *rare_pieces(const Module *m, const Stencil *st);
/* The same of the region of a field. */
bool is_rare_field(const Module *m, int field);
/* Pieces of a launch of one stencil that are computed by a kernel of their own: `box` holds all of them; has[i]: piece
 * number i is one. */
typedef struct ThinPart {
  Box box;
  bool *has;
} ThinPart;
/* Has launch `l`, of one instance, something to copy at points of no piece? */
bool launch_copies_rest(const Launch *l);
/* The parts of launch `l`, of one instance that computes no point twice, if all of its pieces are thin where the params
 * have the values `scalars` (NULL: not known) and it has nothing to do but at their points: *parts in the module's
 * arena, and how many; 0: one kernel is to cover what the launch covers. */
int launch_thin_parts(const Launch *l, const Const *scalars, ThinPart **parts);
/* Do the boxes never share a point, whatever the params are? */
bool boxes_apart(const Box *x, const Box *y);
/* Does neither launch `l` read or write what one of the `n` launches at `others` writes, nor the other way round? */
bool launch_is_independent(const Launch *l, int n, Launch *const *others);

/* ---------------------------------------------------------------- series-rows.c */

/* Lets `b` go on in what is done if probe `p` is due behind `done` time steps (i64). */
void series_when_due(Builder *b, const Probe *p, Value *done);
/* The first element (i64) of the row of the series of probe `p` for `done` steps (i64). */
Value *series_row(const Module *m, Builder *b, const Probe *p, Value *done);
/* Stores `v`, what probe `p` sees at the point `index` + `off` (Module.grid.rank numbers each), to the row that begins
 * at element `row` of its series; where the probe has a list of points, if one of them is there. */
void series_store(const Module *m, Builder b, const Probe *p, Value *row, Value *const *index, const int64_t *off,
                  Value *v);

/* ---------------------------------------------------------------- words.c */

/* A field that may be a word of tests: whether all that was read of it so far is tests, whether anything was, and the
 * bits that were. */
typedef struct TestWord {
  int32_t field;
  bool tests, read;
  int64_t all;
} TestWord;
TestWord test_word(const Module *m, int field);
/* Adds what instance `st` reads of the word. Does it read any? */
bool test_word_read(TestWord *w, const Module *m, const Stencil *st);
/* Is `field` a word of tests, and all that stencils read of it bits of it, those in *all? */
bool field_is_word(const Module *m, int field, int64_t *all);

#endif
