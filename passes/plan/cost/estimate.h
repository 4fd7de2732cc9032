/* passes/plan/cost/estimate.h: the expected cost of code, found without running it. One place for all callers: defaults
 * of schedules, pass fuse, `stc explain`.
 *
 *   base/weights.h           an op: its time, its instructions
 *   step-work.c              a time step of stencil IR: its least work
 *   kernel-work.c            a kernel of finished kernel IR: the work of one of its threads
 *   kernel-live.c            and the registers that it needs
 *   launch-work.c            the launches of a module and their schedules; the bytes that they move to and from memory,
 *                            and the points that they compute twice
 *   model.c                  the time of such work on a target, and its bound
 *   cpu-expect.c             the time of a step on a CPU
 *   cost.c, tile-work.c, stream-work.c, cpu-stream-cost.c, fuse-cost.c   tiles that are not lowered (count.h, fuse.h)
 *   base/tuning.c            rules of choice (base/tuning.def)
 *   ir/measured.c            figures of hardware (ir/measured.def)
 *   plan/choose/compare.h    schedules compared by these, the reasons for a plan
 *
 * All figures are estimates; docs/performance.md says how far they are off. */
#ifndef STC_PASSES_ESTIMATE_H
#define STC_PASSES_ESTIMATE_H

#include "passes/passes.h"
#include "passes/base/weights.h"
#include "passes/tile/move.h"

/* ---------------------------------------------------------------- kernel-work.c */

/* The work of a thread of a kernel. Numbers of instructions count operations of a 32-bit lane: an op on 64 bits whose
 * hardware works on 32 counts twice. */
typedef struct KernelWork {
  int64_t threads;     /* a block */
  double points;       /* a block stores */
  double instructions; /* issued, all of those below among them */
  double f64;          /* on the f64 pipe */
  double chained; /* of these: within roots, quotients and functions, each of which needs the result of the one before;
                     of those that are tested together one after the other, for the others fill the waits */
  double special; /* roots, quotients, functions, conversions between floats: instructions on the pipe for these */
  double shared;  /* 32-bit words to and from shared memory, and those that lanes exchange */
  double global;  /* the same of global memory */
  double exchanges; /* of `shared`: those of lanes */
  double barriers;
  double rounds;  /* of its longest loop, at least 1 */
  double fetched; /* of `instructions`: those of loops whose code is longer than the caches near a scheduler hold, as
                     far as each is fetched anew in every round (model_fetched) */
  double waits;   /* how often it waits for loads from global memory */
  double copies; /* how often it would wait for copies that run ahead, if each took as long as all that are in flight */
} KernelWork;

/* Does the kernel have a version for blocks that touch no edge, and another one for those that do (pass specialize)? */
bool kernel_has_versions(const Kernel *k);
/* The work of kernel `k` of `m`: in a block at an edge if `edge`; else in a block at no edge, if the kernel has a
 * version for that. `scalars` are values of the module's scalars for loops whose bounds depend on them (NULL: such
 * loops count once). Numbers the kernel's values. */
KernelWork kernel_work(const TargetInfo *t, const Module *m, Kernel *k, const Const *scalars, bool edge);

/* ---------------------------------------------------------------- kernel-live.c */

/* The greatest numbers of 32-bit words, and of conditions, that are live at once in a thread of `k`. */
typedef struct LiveWords {
  int32_t words, conditions;
} LiveWords;
/* The live words of `k`, with cells of private arrays, but without arrays with an index that is not known when the
 * kernel is compiled; early: if loads from global memory begin as early as they can. Numbers the kernel's values. */
LiveWords kernel_live_words(const Module *m, Kernel *k, bool early);
/* Is there a loop below `b` that is not unrolled? */
bool block_has_loop(const Block *b);
/* Registers that a thread of `k` takes (registers.c), which leave room for the blocks that the kernel asks for;
 * *spilled: words that do not fit into those that a thread can have. */
int32_t kernel_registers(const TargetInfo *t, const Module *m, Kernel *k, int32_t *spilled);
/* The same of one version alone, if the kernel has two: 0: of blocks that touch no edge, 1: of others; -1: of both. */
int32_t kernel_version_registers(const TargetInfo *t, const Module *m, Kernel *k, int version, int32_t *spilled);

/* ---------------------------------------------------------------- registers.c */

/* The most registers of a thread, if the target does not say. */
enum { MOST_REGISTERS = 255 };
/* The values for which a thread needs registers. live: 32-bit words live at once; early: the same if loads begin as
 * early as they can; conditions: live at once; rounds: it has a loop that is not unrolled, which carries `addresses`
 * words of addresses from round to round; several: straight code for several points; exchanged: these are in the
 * registers of lanes, which exchange them; pairs: words of 64-bit values that are kept, which fill pairs of registers
 * by themselves. */
typedef struct RegisterNeed {
  double live, early;
  int32_t addresses, conditions;
  bool rounds, several, exchanged, pairs;
} RegisterNeed;
/* The registers that code generators would take for that, if there were as many as they like. */
double registers_wanted(const RegisterNeed *n);
/* The greatest number that a thread of a block of so many can have. */
int32_t registers_limit(const TargetInfo *t, int64_t threads);
/* The registers that a thread takes of these; *spilled: words that do not fit. */
int32_t model_registers(const TargetInfo *t, int64_t threads, const RegisterNeed *n, int32_t *spilled);

/* ---------------------------------------------------------------- step-work.c */

/* The least work of a time step for each point of the grid: bytes read from and written to memory if nothing is kept
 * from one step to the next, and operations in f32 and f64, where a multiplication and an addition that may fuse count
 * as one. */
typedef struct Work {
  double bytes, f32_ops, f64_ops;
} Work;
/* The work of a step of `m`, scalarized and simplified stencil IR whose time was not tiled. Numbers the values of
 * bodies. */
Work step_work(const Module *m, const Const *scalars);
/* Adds the operations of the largest piece of `st` to *w. */
void stencil_work(const Module *m, const Stencil *st, Work *w);
/* Adds the cost of that piece for a point on target `t`, as kernel_work counts it, to instructions, f64, chained and
 * special of *w. */
void stencil_point_work(const TargetInfo *t, const Module *m, const Stencil *st, KernelWork *w);
/* Is a field of `m` read beyond its edges, by a rule? */
bool module_turns(const Module *m);

/* ---------------------------------------------------------------- launch-work.c */

/* Points computed for each point stored. cells: by tiles; needed: by Algorithm 2. A tile of threads computes all its
 * cells at all instances. */
typedef struct Redundancy {
  double cells, needed;
} Redundancy;

/* Bytes of global memory for each point stored: read once, written, and read once more because tiles overlap. */
typedef struct MemoryTraffic {
  double read, written, again;
} MemoryTraffic;

/* An instance of a stencil: beyond the tile's own points it is needed on `extent`. lag: in a streamed tile, how many
 * rows it is behind the loads; rows: the greatest number of its rows that are kept. */
typedef struct InstanceWork {
  const char *name;
  int32_t level;
  Extent extent;
  int32_t lag, rows;
  Redundancy redundancy;
} InstanceWork;

/* How a streamed tile keeps a version of a field (KeptVersion, move.h). ring: if each reader takes its own row
 * (`direct`), it takes it from the ring to which rows are copied, not from memory. */
typedef struct WindowWork {
  int32_t field, version;
  bool ring;
  KeptVersion kept;
} WindowWork;

/* A launch of a step or a time tile. Tiles have cells[d] cells in dimension d and store width[d] points; streamed:
 * dimension 0 of a streamed tile (rank above 1) counts its rows. */
typedef struct LaunchWork {
  Schedule schedule;
  bool streamed;
  int32_t steps;
  int32_t ninstances;
  InstanceWork *instances;
  int32_t nwindows;
  WindowWork *windows;
  int32_t unroll,
      loaded_rows;      /* unrolled steps of a streamed tile; the greatest number of rows that are kept of its loads */
  int64_t window_words; /* 32-bit words of a thread that windows take */
  Extent halo, loaded;  /* beyond the tile's points: where it computes (of a streamed tile: and loads); where fields are
                           needed from memory */
  double cells[MAX_RANK], width[MAX_RANK];
  Redundancy redundancy; /* average of all instances */
  MemoryTraffic traffic;
} LaunchWork;

/* The launches of the longest sequence of steps that stencil IR module `m`, as it is before its lowering, becomes under
 * schedule `s`, which is resolved, on target `t`; *count is their number. They are in the order of the kernels of that
 * sequence, except that under "naive" a stencil of several targets may be one launch with several kernels. */
LaunchWork *launch_works(const TargetInfo *t, const Module *m, const Schedule *s, int *count);
/* The module whose stencils the tiles of schedule `s` make: `m`, the module before it is lowered; or, if its edges are
 * made step by step, the inner stencils, repeated; a slice of it if tiles are of slices. */
const Module *plan_tiles(const Module *m, const Schedule *s);

/* ---------------------------------------------------------------- cpu-expect.c */

/* A CPU. bits: of a vector; cache: bytes of the last level of its caches, 0: not known; core_bandwidth, bandwidth:
 * bytes a nanosecond that one core gets from memory, and all together; cached: the same for all cores from fields that
 * stay in the caches, 0: not known; clock: cycles a nanosecond. */
typedef struct CpuFigures {
  int32_t cores, bits;
  double cache, core_bandwidth, bandwidth, cached, clock;
} CpuFigures;
/* The expected time of a step on it, in nanoseconds a point: the arithmetic and the beginnings of lines, shared by the
 * cores, and memory, or the last cache if all fields fit it (cached); including the step's reductions. bytes: moved for
 * a point, fields: bytes of all fields; additions: as counted, including points that are computed twice. */
typedef struct CpuTime {
  double additions, bytes, fields, arithmetic, lines, memory;
  bool cached;
} CpuTime;
/* The time of a step of `m`, which is before its lowering under schedule `s`, on a grid of extents `size`; the params
 * have the values `scalars`. */
CpuTime cpu_expect(const CpuFigures *cpu, const Module *m, const Schedule *s, const Const *scalars,
                   const int64_t *size);

/* ---------------------------------------------------------------- model.c, and cost.c for it */

/* Blocks and warps (waves) that a core holds at once, the most warps that it can hold, and the reason why it holds no
 * more blocks: "threads", "registers", "shared memory" or "blocks". */
/* The bytes of shared memory that a block takes in addition to those it asks for. */
enum { SHARED_RESERVED = 1024 };
typedef struct Occupancy {
  int32_t blocks, warps, most_warps;
  const char *limit;
} Occupancy;
Occupancy model_occupancy(const TargetInfo *t, int64_t threads, int32_t registers, int64_t shared);

/* The number of blocks that the core with the most of them runs if each of `cores` holds `at_once`; blocks of the last
 * round, which leaves cores without work, count in part. */
double model_blocks_a_core(double blocks, double cores, double at_once);

/* Extents of the grid of rank `rank` that is assumed if its size is not known: a large one. */
const int64_t *model_large_grid(int rank);

/* The bounds of a launch: instructions issued; the pipes for f64 and for functions; shared memory and exchanges between
 * lanes; latency, for which threads wait (loads, barriers, results); memory; the cache before it. */
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

/* A launch in the terms of the model: the work of a thread, registers and shared bytes, points and blocks, and all
 * bytes that cross the cache and memory.
 * at_edge: the instructions of a thread of a block at an edge, 0: there is none.
 * edge_code: of a streamed tile and of a tile in lanes, at_edge with the instructions of other pieces; of a streamed
 * tile, also with those for cells to which rules lead.
 * straight: the instructions of a streamed tile without a loop, 0: it is none.
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
 * same number of blocks; filled: the part of the cores' places that its blocks take, at most 1; blend: the exponent by
 * which its bounds came together. */
typedef struct LaunchTime {
  double seconds, alone[BOUNDS], launch, even, filled, blend;
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
 * only other blocks hide that it does not load while it computes. So the fewer of them a core has, the longer loads
 * take, and instructions that wait for them; but no more blocks are started in a time than the target can. */
LaunchTime model_part_launch(const TargetInfo *t, const LaunchLoad *l);
/* Seconds that the last blocks at edges of counted load `l` are waited for beyond others. */
double model_edge_seconds(const TargetInfo *t, const LaunchLoad *l);
/* Of `n` instructions of a loop whose code is `length` instructions long: the number that is fetched anew in each
 * round, since the caches near a scheduler do not hold them; by the numbers `m` of the record. */
struct ModelNumbers;
double model_fetched(const struct ModelNumbers *m, double n, double length);
/* The load of the launch of module `m` under schedule `s`, both as launch_works wants them, on a grid of extents
 * `size`, counted before anything is lowered. False: there is none, because the step is several launches, or the tiles
 * are of another kind. (cost.c) */
bool counted_load(const TargetInfo *t, const Module *m, const Schedule *s, const int64_t *size, LaunchLoad *out);
/* The same for `n` launches that run at the same time; the occupancy is that of the longest. */
LaunchTime model_beside(int n, const LaunchTime *t);

#endif
