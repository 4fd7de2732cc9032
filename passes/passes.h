/* passes/passes.h: everything that rewrites IR. One pass a file; the file's name is the pass's name is the dump's
 * name is the test folder's name.
 *
 *   passes.def        the pass table, a row each
 *   passes.c          pipelines ("a,b(x=1),c"), printing, verifying and timing between passes
 *   plugin.h          passes that a shared object brings (-load-pass)
 *   context.c         what passes ask their context for, and tell it
 *   launch/launch.h   what a program's steps and launches read, keep and write: for the plan and all that lower
 *   tile/             the mapping of a launch to streamed tiles, lanes and pipelines of warps (mapping.h, warps.h)
 *   plan/plan.h       the choice of a schedule, and its table of contents
 *
 *   transpose/        the program that computes gradients backwards (transpose/transpose.h), before all others
 *
 *   stencil IR -> stencil IR (stencil/; simplify/ has simplify.c)
 *   check-finite.c    reductions that look for NaN and infinities (-fcheck=finite)
 *   check-bounds.c    indices of launch-time arrays watched (-fcheck=bounds)
 *   distribute.c      the program for one part of a grid (distribute.h), and whether there can be one
 *   scalarize.c       vectors and structs taken apart: a structure of arrays
 *   every.c           stencils that run every so many steps, written out
 *   sides.c           edges of fields that have rules of their own, written out
 *   history.c         time-level rotation written out
 *   merge-points.c    stencils on a point as choices in the stencils before them
 *   join-sweeps.c     stencils that look only at the point as parts of the sweeps beside them
 *   rounds.c          several rounds of a repeat in a row
 *   probes.c          what probes see as stencils
 *   random.c          random numbers as the operations that make them
 *   pack-tests.c      tests of what no step changes, as bits of hidden fields
 *   stencil/hoist.c   what no step changes, computed once into hidden fields
 *   stencil/share.c   what a stencil computes at several points beside each other, in temp fields
 *   order.c           long bodies in an order in which few values are alive at once
 *   pad-rows.c        rows whose pitch the launcher chooses
 *   plan/plan.c       how the program is to be run, decided once (plan/plan.h): the passes behind it obey
 *   simplify.c        constants folded, common values merged, dead ops removed (both levels)
 *   fuse.c            the step cut into groups of stencils that share a launch
 *   time-tile.c       the time step unrolled T times: one stencil instance for each time level
 *   halo.c            Algorithm 2: the region each instance must compute, backwards from the output tile
 *
 *   stencil IR -> kernel IR, one for each schedule family (lower/, tile/emit/, tile/emit/loops/)
 *   lower-naive.c     no tiles: launches that make stencils of one step, threads of one point or several
 *   lower-overlap.c   Algorithms 1, 3, 4, 5: overlapped tiles for targets with threads
 *   lower-stream.c    streamed tiles, rows in registers, for targets with threads
 *   lower-loops.c     naive and overlap for targets without (CPU): loops over cache-sized tiles
 *   lower-walk.c      streamed tiles, rows in the cache, for targets without (loops-*.c: what the two share)
 *   lower-warps.c     a pipeline of warps in time, for targets that copy rows beside them
 *   (lower/lower.h: what they share: buffers, accesses with outside rules, bodies, host part, reductions)
 *
 *   kernel IR -> kernel IR (kernel/)
 *   series.c          what probes see is stored at their points alone
 *   shared-alloc.c    versions of an array that are never alive at once share storage
 *   barriers.c        a barrier where a dependence crosses threads, and nowhere else; between neighbouring warps
 *                     where that will do
 *   small-launches.c  launches of few points in a row as one of one block
 *   step-branches.c   arithmetic that a choice by the step throws away, in an if
 *   range-guards.c    one test for many roots and quotients, that a short sequence will do
 *   thin-regions.c    a version without what thin regions need for the tiles that meet none
 *   specialize.c      a version without tests for the tiles that touch no edge of any region
 *   split-loops.c     long loops of the other tiles without the tests that hold in most of their rounds
 *   split-edges.c     the tiles at edges in a kernel of their own
 *   idle-blocks.c     kernels without the blocks that have nothing to do (for split-edges)
 *   tile-classes.c    versions for tiles where masks are true, or false, everywhere
 *   class-kernels.c   the kernels that find the classes of tiles (for tile-classes.c)
 *   tile-lists.c      blocks for the tiles of a list, so that those with nothing to do need none (for tile-classes.c)
 *   settle-words.c    what these do not read of words of tests (for tile-classes.c)
 *   early-signals.c   signals between warps in place of barriers between neighbours
 *   mirror-stores.c   stores to other parts of a grid, whose devices this one reaches
 *
 *   shared by them
 *   ranges.c          linear forms and intervals of index arithmetic
 *   fold.c            what one op comes to by itself (for simplify)
 *   squares.c         which way around differences are that are squared (for simplify)
 *   weights.h         what an op takes
 *   plan/cost/estimate.h  what kernels and launches are expected to take
 *   kernel/assume.c   what tests come to where a condition on the block holds (for specialize, split-loops
 *                     and thin-regions)
 *   kernel/inner.h    the interior blocks of a kernel by themselves (for specialize, in split-edges.c)
 *   kernel/crossing.c whether two accesses meet in one cell from two threads (for barriers)
 *
 * Source of the algorithms: J. Holewinski, L.-N. Pouchet, P. Sadayappan, "High-performance code generation for
 * stencil computations on GPU architectures", ICS 2012.
 */
#ifndef STC_PASSES_H
#define STC_PASSES_H

#include "ir/schedule.h"

typedef struct Pass Pass;

/* What the cost model was asked (plan/cost/estimate.h), so that it is not asked twice. */
typedef struct ModelCache ModelCache;

/* Runs a pipeline: passes_run, which see. */
typedef struct PassContext PassContext;
typedef struct PassHooks PassHooks;
typedef Module *(*PassRunner)(PassContext *c, const PassHooks *h, const char *pipeline, Module *m);

/* Values that a field will have before the first step: those of n[d] of its points in each dimension, which lie evenly,
 * in order of their coordinates. */
typedef struct ForeseenField {
  const char *name;
  Type type;
  int64_t n[MAX_RANK];
  const void *values;
} ForeseenField;

/* What is known of the runs that code is made for: params that have not their defaults (Define, ir/run/run.h), and
 * values of fields. Choices may go by it; what code means does not. */
typedef struct Foreseen {
  int ndefines, nfields;
  const struct Define *defines;
  const ForeseenField *fields;
} Foreseen;

/* What a pass may use. All of it outlives the pass; a pass keeps nothing. */
struct PassContext {
  Arena *arena;
  Diags *diags;
  const TargetInfo *target;
  const Schedule *schedule; /* as asked for */
  Schedule *used;           /* where pass plan, or a lowering without one, writes what that came to, NULL: nowhere */
  ModelCache *cache;        /* what the model said of the module at hand, NULL: nothing is kept */
  bool sketch; /* lowerings need make nothing but the kernels of the longest sequence of steps: for the model */
  Str *stats;  /* where -stats text goes, NULL: nowhere */
  const Pass *const *loaded; /* tables of further passes, as pass_table is one, ended by NULL; NULL: none */
  PassRunner run; /* passes_run sets it: with it the plan has candidates lowered, by passes that it does not know */
  Str *notes;     /* comments for the dump after the running pass, whole lines from "// " on; NULL: nowhere */
  /* What params are, by scalar of the module, those at least that sizes are made of; NULL: not known. */
  const Const *sizes;
  const Foreseen *known; /* NULL: nothing is, or dry tiles are computed all the same */
};

/* One "name=value" of a pass's own options in a pipeline. */
typedef struct PassOption {
  const char *name, *value;
} PassOption;

/* A pass. `run` returns the new module (or `m`, changed in place), or NULL after reporting an error. */
struct Pass {
  const char *name;
  const char *help;           /* a line or two, and what each option means */
  OpLevel from, to;           /* level of the module taken and given (LEVEL_BOTH: any, unchanged) */
  const char *const *options; /* names of its options, NULL-terminated; NULL: none */
  Module *(*run)(PassContext *c, Module *m, int noptions, const PassOption *options);
};

/* The pass table, ended by a row without a name. */
extern const Pass pass_table[];
const Pass *pass_find(const char *name);

/* What to do around passes. print is called with the module's text after (before) each pass that was named. */
struct PassHooks {
  const char *print_before, *print_after; /* comma-separated names, "" none */
  bool print_all, verify_each, time, stats;
  FILE *to; /* where dumps, times and statistics go (NULL: stderr) */
};

/* Can pass distribute make of `m`, to which it is the first, the program for one part of the grid if that is cut along
 * these dimensions; and if `watches`, one that evaluates reductions and probes there? What is in the way is an error;
 * `m` is of no use afterwards. */
bool can_distribute(PassContext *c, Module *m, const bool cut[MAX_RANK], bool watches);

/* Runs the comma-separated pipeline on `m`. NULL after an error (unknown pass or option, wrong level, the pass's own).
 * h may be NULL. */
Module *passes_run(PassContext *c, const PassHooks *h, const char *pipeline, Module *m);
/* The default pipeline, from stencil IR to finished kernel IR: PASSES_PLANNED in a pipeline stands for the passes that
 * the plan asks for, which come behind pass plan. */
#define PASSES_PLANNED "planned"
#define PASSES_BEFORE_PLAN \
  "scalarize,every,sides,history,merge-points,join-sweeps,probes,random,simplify,share,order,rounds"
#define PASSES_DEFAULT PASSES_BEFORE_PLAN ",plan," PASSES_PLANNED
/* What stands before pass plan for kernels with hidden fields of what no step changes, which plans alone run (StcPlan).
 */
#define PASSES_HOISTED \
  "scalarize,every,sides,history,merge-points,join-sweeps,probes,random,simplify,pack-tests,hoist,share,order,rounds"
/* The same on targets with threads, where hidden fields have the tests of masks alone. */
#define PASSES_PACKED \
  "scalarize,every,sides,history,merge-points,join-sweeps,probes,random,simplify,pack-tests,share,order,rounds"
/* The passes that cut, repeat and measure the step of a plan whose family makes tiles. */
#define PASSES_TILING "fuse,time-tile,halo"
#endif
