/* passes/plan/cost/estimate.h: what code is expected to take, found without running it. One place for all who ask:
 * defaults of schedules, pass fuse, `stc explain`.
 *
 *   base/weights.h           an op: its time, its instructions
 *   step-work.c              a time step of stencil IR: what it takes at least
 *   kernel-work.c            a kernel of finished kernel IR: what one of its threads issues and moves
 *   kernel-live.c            and the registers that it needs
 *   launch-work.c            the launches of a module and their schedules; what they move to and from memory, and
 *                            compute twice
 *   model.c                  the time that such work takes on a target, and what bounds it
 *   cpu-expect.c             the time of a step on a CPU
 *   cost.c, tile-work.c, stream-work.c, cpu-stream-cost.c, fuse-cost.c   tiles that are not lowered (count.h, fuse.h)
 *   base/tuning.c            rules of choice (base/tuning.def)
 *   ir/measured.c            what hardware takes (ir/measured.def)
 *   plan/choose/compare.h    schedules compared by it, why a plan is as it is
 *
 * All figures are estimates; docs/performance.md says how far they are off. */
#ifndef STC_PASSES_ESTIMATE_H
#define STC_PASSES_ESTIMATE_H

#include "passes/passes.h"
#include "passes/base/weights.h"
#include "passes/tile/move.h"

/* ---------------------------------------------------------------- kernel-work.c */

/* What a thread of a kernel does. Numbers of instructions count what a 32-bit lane does once: an op on 64 bits
 * whose hardware works on 32 counts twice. */
typedef struct KernelWork {
  int64_t threads;     /* a block */
  double points;       /* a block stores */
  double instructions; /* issued, all of those below among them */
  double f64;          /* on the f64 pipe */
  double chained; /* of these: within roots, quotients and functions, each of which needs the result of the one before;
                     of those that are tested together one after the other, for the rest fill the waits */
  double special; /* roots, quotients, functions, conversions between floats: instructions on the pipe for these */
  double shared;  /* 32-bit words to and from shared memory, and those that lanes exchange */
  double global;  /* the same of global memory */
  double exchanges; /* of `shared`: those of lanes */
  double barriers;
  double rounds;  /* of its longest loop, at least 1 */
  double fetched; /* of `instructions`: those of loops whose code is longer than the caches near a scheduler hold, as
                     far as each comes anew in every round (model_fetched) */
  double waits;   /* times that it waits for what it loaded from global memory */
  double copies;  /* the same of copies that run ahead, if each took as long as all that are on their way at once */
} KernelWork;

/* Has the kernel a version for blocks that touch no edge, and another one for those that do (pass specialize)? */
bool kernel_has_versions(const Kernel *k);
/* The work of kernel `k` of `m`, in a block at an edge if `edge`, else, if it has a version for that, in one at none;
 * `scalars` are values of the module's scalars for loops whose bounds depend on them (NULL: such loops count once).
 * Numbers the kernel's values. */
KernelWork kernel_work(const TargetInfo *t, const Module *m, Kernel *k, const Const *scalars, bool edge);

/* ---------------------------------------------------------------- kernel-live.c */

/* Most 32-bit words, and most conditions, that are alive at once in a thread of `k`. */
typedef struct LiveWords {
  int32_t words, conditions;
} LiveWords;
/* The live words of `k`, with cells of private arrays, but without arrays with an index that is not known when the
 * kernel is compiled; early: if loads from global memory are begun as early as they can be. Numbers the kernel's
 * values. */
LiveWords kernel_live_words(const Module *m, Kernel *k, bool early);
/* Is there a loop below `b` that is not written out? */
bool block_has_loop(const Block *b);
/* Registers that a thread of `k` takes (registers.c), which leave room for the blocks that it asks for; *spilled words
 * that do not fit into those that a thread can have. */
int32_t kernel_registers(const TargetInfo *t, const Module *m, Kernel *k, int32_t *spilled);
/* The same of one version alone, where it has two: 0 of blocks that touch no edge, 1 of others; -1: of both. */
int32_t kernel_version_registers(const TargetInfo *t, const Module *m, Kernel *k, int version, int32_t *spilled);

/* ---------------------------------------------------------------- registers.c */

/* Registers that a thread can have at most, if the target does not tell. */
enum { MOST_REGISTERS = 255 };
/* What a thread needs registers for: 32-bit words alive at once; the same if loads are begun as early as they can be;
 * conditions alive at once; rounds: it has a loop that is not written out, from round to round of which `addresses`
 * words of addresses are carried; several: straight code for several points; exchanged: these are in the registers of
 * lanes, which exchange them; pairs: words of 64-bit values that are kept, which fill pairs of registers by themselves.
 */
typedef struct RegisterNeed {
  double live, early;
  int32_t addresses, conditions;
  bool rounds, several, exchanged, pairs;
} RegisterNeed;
/* What the code generators make of that, in registers, had they as many as they like. */
double registers_wanted(const RegisterNeed *n);
/* The most that a thread of a block of so many can have. */
int32_t registers_limit(const TargetInfo *t, int64_t threads);
/* Registers that a thread takes of these; *spilled words that do not fit. */
int32_t model_registers(const TargetInfo *t, int64_t threads, const RegisterNeed *n, int32_t *spilled);

/* ---------------------------------------------------------------- step-work.c */

/* What a time step takes at least for each point of the grid: bytes read from and written to memory if nothing is kept
 * from one step to the next, and operations in f32 and f64, a multiplication and an addition counted as one where they
 * may fuse. */
typedef struct Work {
  double bytes, f32_ops, f64_ops;
} Work;
/* The work of a step of `m`, scalarized and simplified stencil IR whose time was not tiled. Numbers the values of
 * bodies. */
Work step_work(const Module *m, const Const *scalars);
/* Adds the operations of the largest piece of `st` to *w. */
void stencil_work(const Module *m, const Stencil *st, Work *w);
/* Adds what that piece takes for a point on target `t`, as kernel_work counts it, to instructions, f64, chained and
 * special of *w. */
void stencil_point_work(const TargetInfo *t, const Module *m, const Stencil *st, KernelWork *w);
/* Is a field of `m` read beyond its edges, by a rule? */
bool module_turns(const Module *m);

/* ---------------------------------------------------------------- launch-work.c */

/* Points computed for each point stored. cells: what tiles do; needed: what Algorithm 2 asks for. A tile of threads
 * computes all its cells at all instances. */
typedef struct Redundancy {
  double cells, needed;
} Redundancy;

/* Bytes of global memory for each point stored: read once, written, and what is read once more because tiles
 * overlap. */
typedef struct MemoryTraffic {
  double read, written, again;
} MemoryTraffic;

/* An instance of a stencil: beyond the tile's own points it is needed on `extent`. lag: of a streamed tile, the rows
 * that it is behind the loads; rows: how many of what it makes are kept, at most. */
typedef struct InstanceWork {
  const char *name;
  int32_t level;
  Extent extent;
  int32_t lag, rows;
  Redundancy redundancy;
} InstanceWork;

/* What a streamed tile keeps of a version of a field: `rows` of them, the newest of which lags `lag` behind the loads.
 * across: so many of them are read by other warps; late: so many rows after it has come such a row is taken, where a
 * level of warps takes it late; direct: nothing in registers, each reader takes its own row, of
 * memory or, ring, of the ring by which rows come in (mapping.h). */
typedef struct WindowWork {
  int32_t field, version;
  bool ring;
  KeptVersion kept;
} WindowWork;

/* A launch of a step or a time tile. Tiles have cells[d] cells in dimension d and store width[d] points; streamed:
 * dimension 0 of a streamed tile (rank above 1) counts the rows of a streamed tile. */
typedef struct LaunchWork {
  Schedule schedule;
  bool streamed;
  int32_t steps;
  int32_t ninstances;
  InstanceWork *instances;
  int32_t nwindows;
  WindowWork *windows;
  int32_t unroll,
      loaded_rows; /* steps of a streamed tile that are written out; rows that are kept of what it loads, at most */
  int64_t window_words; /* 32-bit words of a thread that windows take */
  Extent halo, loaded;  /* beyond the tile's points: where it computes (of a streamed tile: what it loads, too); where
                           fields are needed from memory */
  double cells[MAX_RANK], width[MAX_RANK];
  Redundancy redundancy; /* of all instances, on an average */
  MemoryTraffic traffic;
} LaunchWork;

/* The launches of the longest sequence of steps that stencil IR module `m`, as it is before its lowering, comes to
 * under schedule `s`, which is resolved, on target `t`; their number is *count. In the order of the kernels of that
 * sequence, but that under "naive" a stencil of several targets may be one launch with several kernels. */
LaunchWork *launch_works(const TargetInfo *t, const Module *m, const Schedule *s, int *count);
/* What the tiles of schedule `s` are made of: `m`, the module before it is lowered, or where its edges are made step by
 * step the stencils inside, repeated; a slice of it where tiles are of slices. */
const Module *plan_tiles(const Module *m, const Schedule *s);

/* ---------------------------------------------------------------- cpu-expect.c */

/* A CPU. bits: of a vector; cache: bytes of the last level of its caches, 0: not known; bytes a nanosecond that one
 * core gets from memory, and all that are used together; cached: the same of all from fields that stay in the caches,
 * 0: not known; clock: cycles a nanosecond. */
typedef struct CpuFigures {
  int32_t cores, bits;
  double cache, core_bandwidth, bandwidth, cached, clock;
} CpuFigures;
/* What a step is expected to take on it, nanoseconds a point: the arithmetic and the beginnings of lines, shared by the
 * cores, and memory, or the last cache where all fields fit that (cached); of the step's reductions, too. bytes: that
 * are moved for a point, fields: bytes of all fields; additions: as counted, what is computed twice among them. */
typedef struct CpuTime {
  double additions, bytes, fields, arithmetic, lines, memory;
  bool cached;
} CpuTime;
/* The time of a step of `m`, which is before its lowering under schedule `s`, on a grid of extents `size`; the params
 * have the values `scalars`. */
CpuTime cpu_expect(const CpuFigures *cpu, const Module *m, const Schedule *s, const Const *scalars,
                   const int64_t *size);

/* ---------------------------------------------------------------- model.c, and cost.c for it */

/* Blocks and warps (waves) that a core holds at once, the most warps that it can hold, and what keeps it from holding
 * more blocks: "threads", "registers", "shared memory" or "blocks". */
/* The bytes of shared memory that a block takes beside what it asks for. */
enum { SHARED_RESERVED = 1024 };
typedef struct Occupancy {
  int32_t blocks, warps, most_warps;
  const char *limit;
} Occupancy;
Occupancy model_occupancy(const TargetInfo *t, int64_t threads, int32_t registers, int64_t shared);

/* Blocks that the core with the most of them runs if each of `cores` holds `at_once`; those of the last round, which
 * leaves cores without work, counted in part. */
double model_blocks_a_core(double blocks, double cores, double at_once);

/* Extents of the grid of rank `rank` that is meant where its size is not known: a large one. */
const int64_t *model_large_grid(int rank);

/* What may bound a launch: instructions issued; the pipes for f64 and for functions; shared memory and exchanges
 * between lanes; what threads wait for (loads, barriers, results); memory; the cache before it. */
typedef enum Bound {
  BOUND_ISSUE,
  BOUND_F64,
  BOUND_SPECIAL,
  BOUND_SHARED,
  BOUND_LATENCY,
  BOUND_MEMORY,
  BOUND_CACHE,
  BOUNDS
} Bound;
/* "instructions", "latency" and so on. */
const char *bound_name(Bound b);

/* A launch as the model sees it: the work of a thread, registers and shared bytes, points and blocks, and bytes that
 * cross the cache and memory in all; at_edge: the instructions of a thread of a block at an edge, 0: none is;
 * edge_code: of a streamed tile and of a tile in lanes the same with those of other pieces, of a streamed tile with
 * those of what rules lead to, too; straight: of a streamed tile without a loop, whose code is as long, 0: it is none;
 * turned: fields are read beyond their edges, by a rule. */
typedef struct LaunchLoad {
  KernelWork work;
  int32_t registers, spilled;
  int64_t shared;
  double points, blocks, cache_bytes, memory_bytes, at_edge, edge_code, straight;
  bool turned;
} LaunchLoad;
/* Points that a kernel covers, its blocks, and, if it has versions, the part of them that take the last: that touch an
 * edge, in kernels for edges alone one along dimension 0. */
typedef struct KernelSpace {
  double points, blocks, edges;
} KernelSpace;
KernelSpace kernel_space(const Kernel *k, const Const *scalars);
/* The load of kernel `k`, which makes launch `l`, there; scalars as for kernel_work. Numbers the kernel's values. */
LaunchLoad launch_load(const TargetInfo *t, const Module *m, Kernel *k, const LaunchWork *l, const Const *scalars,
                       KernelSpace space);

/* Seconds that a launch takes; of each bound, how long it would take if nothing else did; the bound that is longest.
 * launch: what of the seconds passes before it begins; even: the part of that that would be left if all cores had the
 * same number of blocks; filled: the part of the cores' places that its blocks take, at most 1. */
typedef struct LaunchTime {
  double seconds, alone[BOUNDS], launch, even, filled;
  Bound bound;
  Occupancy occupancy;
} LaunchTime;
LaunchTime model_launch(const TargetInfo *t, const LaunchLoad *l);
/* The part of `bytes`, which a launch moves from and to memory, that the cache has when the next one wants it: all of
 * half the cache's size (TargetInfo.kept_cache), and what goes beyond that displaces as much of it. */
double model_kept_share(const TargetInfo *t, double bytes);
/* The same of a launch that was counted before it is lowered (tile-work.c, stream-work.c), by the numbers that were
 * fitted to such counts. */
LaunchTime model_counted_launch(const TargetInfo *t, const LaunchLoad *l);
/* The same of overlapped tiles of a part of a step, that is, of one step each: a block loads, computes and ends, and
 * nothing but other blocks hides that it does not load while it computes. So the fewer of them a core has, the longer
 * take loads and what waits for them; but no more blocks are started in a time than the target can. */
LaunchTime model_part_launch(const TargetInfo *t, const LaunchLoad *l);
/* Seconds that the last blocks at edges of counted load `l` are waited for beyond others. */
double model_edge_seconds(const TargetInfo *t, const LaunchLoad *l);
/* Of `n` instructions of a loop whose code is `length` instructions long: those that come anew in each round, since the
 * caches near a scheduler do not hold them, by the numbers `m` of the record. */
struct ModelNumbers;
double model_fetched(const struct ModelNumbers *m, double n, double length);
/* The load of the launch that module `m` comes to under schedule `s`, both as launch_works wants them, on a grid of
 * extents `size`, counted as it is before anything is lowered. False: there is none, as the step is several launches,
 * or the tiles of another kind. (cost.c) */
bool counted_load(const TargetInfo *t, const Module *m, const Schedule *s, const int64_t *size, LaunchLoad *out);
/* The same for `n` launches that run beside each other; the occupancy is that of the longest. */
LaunchTime model_beside(int n, const LaunchTime *t);

#endif
