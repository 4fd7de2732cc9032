/* simulate.h: the parts of the simulator of kernel IR (private to ir/sim/; sim.h is the interface).
 *
 *   simulate.c      the host part: buffers, launches, swaps, reductions, results
 *   sim-compile.c   a kernel to a flat list of instructions with jumps, so that a thread can stop at a barrier
 *   sim-exec.c      threads, blocks, barriers
 *   sim-memory.c    loads and stores with their checks: bounds, races, initialisation, versions, stale values
 *   sim-signal.c    signals between warps, bulk copies, and the order that they establish
 *   sim-cluster.c   clusters: blocks that run together, and their stores to each other
 *   sim-order.c     the lifetime of memory across launches
 *   sim-ghost.c     ghost cells of a part of a grid
 *   sim-fault.c     the messages of faults
 *
 * Every value carries its origin of staleness: 0 for a valid value, else 1 + the number of the first instruction that
 * could not produce a valid one. */
#ifndef STC_SIMULATE_H
#define STC_SIMULATE_H

#include "ir/run/exec.h"
#include "ir/sim/sim.h"

/* The operation of an instruction; codes below EX_COUNT are the pure ops of that ExecCode. */
typedef enum SimCode {
  SIM_INSIDE = EX_COUNT,
  SIM_MAP,
  SIM_LOAD,
  SIM_STORE, /* global memory */
  SIM_SLOAD,
  SIM_SSTORE, /* shared arrays */
  SIM_ALIGN,
  SIM_SALIGN, /* the element of a buffer (of a shared array) must be a multiple of place->align */
  SIM_COPY,   /* begins an asynchronous copy of the value a to a shared array */
  SIM_COMMIT,
  SIM_WAIT, /* the copies since the last SIM_WAIT are a group; all groups except the op's `count` latest end */
  SIM_PLOAD,
  SIM_PSTORE,  /* private arrays */
  SIM_BARRIER, /* of the block, or (OP_BARRIER_NEAR) between neighbouring warps */
  SIM_SHUFFLE, /* dst = a of the lane from which the op reads */
  SIM_SIGNAL,  /* signal.init, arrive, expect with the value a; fence.async, bulk.commit, bulk.wait */
  SIM_AWAIT,   /* until the signal's phase of parity a has ended */
  SIM_BULK, /* a bulk copy of a elements; the load and the store of one of them are the second and the third instruction
               after it */
  SIM_FETCH, /* prefetches a elements from the place on, all of which must exist */
  SIM_SEND,  /* stores the op's values to another block: after a jump, one instruction for each value; the signal is the
                place of the jump */
  SIM_PARALLEL,  /* begins or ends a loop whose iterations must be independent, in a kernel with one thread a block */
  SIM_ITERATION, /* begins an iteration of it */
  SIM_MOVE,      /* dst = a, also stale if b or c is */
  SIM_JUMP,      /* jumps to target */
  SIM_IF,        /* jumps to target unless a; up to SIM_LEAVE, code is under a stale condition if a is stale */
  SIM_ENTER,     /* the same, if a or b is stale (the bounds of a loop) */
  SIM_LEAVE,     /* ends the code that SIM_IF or SIM_ENTER with the same a and b began */
  SIM_FOR,       /* jumps to target unless a < b */
  SIM_NEXT,      /* a += the stride, then jumps to target */
  SIM_END
} SimCode;

/* The box and the coordinates of an instruction: element or point [value of slot idx[k]] + off[k], which must lie in
 * [lo[k], hi[k]] (SIM_INSIDE tests this); stride[k] is the distance in memory, in elements. sym: the buffer or array.
 * For a barrier or shuffle, `loops` are the slots of the induction variables around it. padded: the elements after
 * point `last` of each row of the buffer belong to no point (Field.pitch). */
typedef struct SimPlace {
  int rank;
  int32_t sym, align;
  bool padded;
  int64_t last;
  int32_t idx[MAX_RANK];
  int64_t lo[MAX_RANK], hi[MAX_RANK], off[MAX_RANK], stride[MAX_RANK];
  int nloops;
  int32_t *loops;
} SimPlace;

typedef struct SimInsn SimInsn;
/* An instruction on slots of the thread. Unused operands repeat a used one, or are slot 0, which holds a valid 0. */
struct SimInsn {
  int32_t code, dst, a, b, c, target;
  const Op *op;
  const SimPlace *place;
};

/* The dependences of a preset. */
enum { SIM_PRESET = 1, SIM_BY_LAUNCH = 2, SIM_BY_BLOCK = 4, SIM_BY_THREAD = 8 };

/* A slot whose value is constant while a block runs, computed before it: by the op const, scalar, step, thread or
 * block, or by a pure op, as instruction `code` on slots a, b and c, which are earlier presets. */
typedef struct SimPreset {
  int32_t slot;
  const Op *op;
  int kind, code, a, b, c;
} SimPreset;

/* An array of a kernel. Shared: its bytes start at `base`; private: its cells start at cell `base` of the thread's.
 * granules: the number of granules of a cell. */
typedef struct SimArray {
  const Array *array;
  int64_t base, stride[MAX_RANK];
  int granules;
} SimArray;

/* The last accesses to an element or granule: `writer` in the launch or barrier interval `wrote`, `reader` (SIM_MANY:
 * several) in `read`. */
typedef struct SimTouch {
  uint32_t wrote, writer, read, reader;
} SimTouch;
#define SIM_MANY UINT32_MAX

/* The last read of a granule by a warp: `reader` (SIM_MANY: several threads) in barrier interval `read`. */
typedef struct SimRead {
  uint32_t read, reader;
} SimRead;

/* The version of an element that was stored last, and the launch that stored it. */
typedef struct SimVersion {
  uint32_t launch;
  int32_t ver;
} SimVersion;

/* Bookkeeping of SIM_PAGE elements of global memory, allocated when first needed. versions: NULL: only version 0 has
 * been stored. */
enum { SIM_PAGE = 1024 };
typedef struct SimPage {
  SimVersion *versions;
  uint8_t written[SIM_PAGE];
  uint32_t *stale; /* for a part: origins of staleness of ghost cells; NULL: none is stale */
  SimTouch touch[SIM_PAGE];
} SimPage;

/* A piece of global memory. born: elements without a page count as written. pitch: the distance of rows in elements, of
 * which `row` are points; 0: all elements are points. renewed: its values became invalid when a round ended. writer:
 * the kernel that stored to it last, or NULL. */
typedef struct SimMemory {
  char *data;
  Type type;
  bool born, renewed;
  int64_t elements, pitch, row;
  SimPage **pages;
  const Kernel *writer;
} SimMemory;

/* A granule of shared memory: last written in block number `block` as part of array `owner`, as version `ver`, with
 * origin of staleness `stale`. filling: the number of a block in which a copy to it, begun by touch.writer, is still in
 * flight. */
typedef struct SimGranule {
  uint32_t block, filling;
  int32_t owner, ver;
  uint32_t stale;
  SimTouch touch;
} SimGranule;

/* A signal of block number `block`: the arrivals that end a phase; the number of ended phases; the arrivals and bytes
 * that the present phase still needs; who initialized it, and when; the clocks (SimThread) of accesses that are ordered
 * before the ended phases, and before the end of the present one. sent: the number of phases up to the last one to
 * which another block brought bytes, by instruction `last` of `sender`; seen: the number of phases that threads of the
 * block have waited for. */
typedef struct SimSignal {
  uint32_t block, by, since, sender;
  const SimInsn *last;
  int64_t sent, seen;
  int32_t arrivals, missing;
  int64_t bytes, phase;
  uint32_t *done, *next;
} SimSignal;

/* A copy in flight: the instruction that began it, the cell, the value and its staleness; group: the number of the
 * thread's commit that closes its group. */
typedef struct SimCopy {
  const SimInsn *insn;
  int64_t cell, group;
  Const value;
  uint32_t stale;
} SimCopy;

/* A cell of a private array: its value and staleness, as in SimGranule. */
typedef struct SimCell {
  Const value;
  uint32_t block;
  int32_t owner, ver;
  uint32_t stale;
} SimCell;

/* SIM_WAITING: at a barrier. SIM_TRADING: where a warp meets. SIM_BLOCKED: at a signal. */
typedef enum SimState { SIM_RUNNING, SIM_WAITING, SIM_TRADING, SIM_BLOCKED, SIM_DONE } SimState;

/* A thread of the running block. doubt: the number of stale conditions around its present code; doubt_origin: the
 * origin of the innermost one. actor: the identity in accesses to shared memory: the thread's number, or, in a kernel
 * of one thread, the number of the parallel loop's iteration. copies: copies in flight, oldest first, with room for
 * `cap`; commits: the number of commits of the thread in this block.
 *
 * In kernels with signals: clock[n]: what thread n did until its time clock[n] is ordered before this thread's
 * accesses; clock[n + number of threads]: the same for the bulk copies that it began. Times are values of Sim.interval;
 * the thread's own time is clock[number]. fenced: the time of its last fence.async. began: the time of the present bulk
 * copy. groups: for each pending group of bulk stores, the time of its last one; stored: that of the group that is not
 * yet committed. shift: the offset of its block's shared memory within that of the cluster. */
typedef struct SimThread {
  Const *slot;
  uint32_t *stale;
  SimCell *cells;
  SimState state;
  int32_t pc, doubt;
  uint32_t doubt_origin, number, actor;
  int32_t ncopies, cap;
  SimCopy *copies;
  int64_t commits;
  uint32_t *clock, fenced, began, stored;
  int32_t ngroups;
  uint32_t groups[MAX_GROUPS + 1];
  int64_t shift;
} SimThread;

/* A kernel, translated under the params. presets: first the nblock_presets that change from block to block, then up to
 * nlaunch_presets those that may change from launch to launch. granule: bytes of the smallest element of a shared
 * array. writes[i]: does it store to buffer i? near: it has barriers between neighbouring warps. A block has `nwarps`
 * warps of `warp` threads each, 2 to the power of `lane_bits`; groups of `lanes` threads exchange values.
 *
 * The following members are allocated at its first launch and used in all: the threads of a block, and the orders of
 * threads and blocks, which are shuffled again and again; reads, if `near` or `signals`: for each granule, the reads of
 * each warp and then of each warp's bulk copies. signals: it has signals; signal[n] is the one in bytes 8 n and on. A
 * cluster of blocks runs as one block with all their threads, `cluster` times block_threads, and the shared memory of
 * all, block_bytes each; such kernels count as kernels with signals. */
typedef struct SimKernel {
  const Kernel *kernel;
  int32_t ninsns, nslots, npresets, nblock_presets, nlaunch_presets, nthreads;
  SimInsn *insns;
  SimPreset *presets;
  SimArray *arrays;
  int64_t shared_bytes, private_cells, blocks[MAX_RANK], nblocks;
  int granule;
  bool *writes, near, signals;
  int nwarps, warp, lanes, lane_bits, cluster, block_threads;
  int64_t block_bytes;
  SimSignal *signal;
  SimThread *threads;
  int32_t *order;
  int64_t *block_order;
  char *shared;
  SimGranule *granules;
  SimRead *reads;
} SimKernel;

/* A kernel among those that are launched beside each other: its threads have the numbers from `first` on. */
typedef struct SimMember {
  SimKernel *k;
  uint32_t first;
} SimMember;

/* A ghost cell of field `field` that is stale from the level after `level` steps on. Origins of staleness with
 * SIM_GHOST are numbers of these. */
typedef struct SimGhost {
  int field;
  int64_t element, level;
} SimGhost;
#define SIM_GHOST (1u << 31)

/* A fault that is held back until the end of the interval between barriers. */
typedef struct SimPending {
  Loc loc;
  const char *text;
} SimPending;

/* A run. seen: the values of probes up to this step have been passed on. memory[i]: the present memory of buffer i. The
 * counters launch, period, block_epoch and interval never repeat in a run. keep[f]: stores to field f are dropped (in
 * inits of fields that have data already). passing[l]: the buffers that have no values when a round of loop l begins;
 * NULL: not computed yet. since: accesses in periods from this number on are not ordered with those of the running
 * launch. interval: the number of barriers that all threads have passed since the block began; everything before
 * interval `met`, when the whole block met last, is ordered for all threads. */
typedef struct Sim {
  Arena *arena;
  const Module *m;
  Binding *b;
  Diags *d;
  SimStats stats;
  uint64_t random;
  int faults, max_faults, npending;
  SimPending *pending;
  bool stop, raced;
  SimMemory **memory;
  SimKernel *kernels;
  int nmembers;
  SimMember *members; /* the kernels of the running launch: usually one; if there are several, they run in any order */
  bool *writes;       /* may a kernel that can run now store to buffer i? */
  const bool *keep;
  bool **passing;
  SimKernel *k;   /* the running kernel, and its state from here on */
  uint32_t first; /* the number of its first thread among those of s->members */
  int64_t step, seen;
  uint32_t period, began; /* accesses to global memory in different periods are ordered; the launch's first */
  uint32_t launch, since, block_epoch, interval, met;
  int32_t nghosts;
  SimGhost *ghosts;
  int64_t block[MAX_RANK], block_number;
} Sim;

/* The number of readers that are recorded for each granule. */
static inline int sim_readers(const SimKernel *k) { return k->signals ? 2 * k->nwarps : k->near ? k->nwarps : 0; }

/* The slot of a value; sim_compile numbers the values. */
static inline int32_t sim_slot(const Value *v) { return v->id + 1; }

/* Translates `kernel` under the scalars in `s`; false after an error. Numbers the kernel's values. */
bool sim_compile(Sim *s, const Kernel *kernel, SimKernel *out);

/* Runs all blocks of s->members from number `from` up to, but not including, `to`, those of each member in random
 * order. A race between two members is a race like any other. If `with` is less than `from`, a race with the members
 * from `with` on, which have just run, is one, too. */
void sim_launch(Sim *s, int from, int to, int with);
/* A random number in [0, n), the next of the run's sequence. */
uint64_t sim_random(Sim *s, uint64_t n);

/* Are stores to buffer `buffer` dropped now? */
static inline bool sim_is_kept(const Sim *s, int buffer) {
  const Buffer *b = &s->m->buffers[buffer];
  return s->keep && b->kind == BUFFER_FIELD && s->keep[b->field];
}

/* sim_round: a round of loop `loop` begins (HostMachine.round). sim_is_set_once: does the `once` sequence set buffer
 * `b`? */
void sim_round(void *user, int loop);
bool sim_is_set_once(const Module *m, int b);

/* Each executes one load or store, instruction `i` of s->k, for the thread, or reports a fault; a load that fails
 * yields a valid 0. */
void sim_load(Sim *s, SimThread *t, const SimInsn *i);
void sim_store(Sim *s, SimThread *t, const SimInsn *i);
void sim_shared_load(Sim *s, SimThread *t, const SimInsn *i);
void sim_shared_store(Sim *s, SimThread *t, const SimInsn *i);
void sim_private_load(Sim *s, SimThread *t, const SimInsn *i);
void sim_private_store(Sim *s, SimThread *t, const SimInsn *i);
/* sim_signal: SIM_SIGNAL. sim_await: SIM_AWAIT; true when the phase has ended. sim_bulk: SIM_BULK. */
void sim_signal(Sim *s, SimThread *t, const SimInsn *i);
bool sim_await(Sim *s, SimThread *t, const SimInsn *i);
void sim_bulk(Sim *s, SimThread *t, const SimInsn *i);
/* sim_send: SIM_SEND. sim_check_sent: at the end of a cluster, checks that each block has waited for everything that
 * was stored to it. */
void sim_send(Sim *s, SimThread *t, const SimInsn *i);
void sim_check_sent(Sim *s);
/* sim_find_signal: the signal at the place of `i` in the block that `t` refers to; NULL after a fault. sim_join: adds
 * to clock `to` everything that is in `from`. sim_end_phase: ends the phase of `x` if no arrivals or bytes are missing.
 * sim_tick: begins a new time for thread `t`, whose further accesses are in no other clock yet. */
SimSignal *sim_find_signal(Sim *s, const SimThread *t, const SimInsn *i);
void sim_join(const Sim *s, uint32_t *to, const uint32_t *from);
void sim_end_phase(const Sim *s, SimSignal *x);
void sim_tick(Sim *s, SimThread *t);
/* For a kernel with signals: a block begins; its threads have met; the `n` threads of a warp at `lanes` have met. */
void sim_clocks_begin(Sim *s);
void sim_clocks_meet(Sim *s, SimThread *lanes, int n);
/* Reports that thread `t` waits for a signal whose phase never ends. */
void sim_deadlock(Sim *s, const SimThread *t);
/* Actor `me` (a thread; or its number plus the number of threads: its bulk copies) reads or writes the granule now. If
 * an earlier write (1) or read (2) of another actor is not ordered before that, returns 1 or 2, and that actor in *who;
 * else 0. */
int sim_ordered(Sim *s, SimGranule *g, uint32_t me, bool writes, uint32_t *who);
/* The number of the cell at the place of instruction `i` of thread `t`, as an element of its array. False after a
 * fault. */
bool sim_cell(Sim *s, const SimThread *t, const SimInsn *i, const char *what, int64_t *cell);
/* Executes SIM_FETCH. */
void sim_fetch(Sim *s, SimThread *t, const SimInsn *i);
/* Execute SIM_ALIGN and SIM_SALIGN. */
void sim_align(Sim *s, SimThread *t, const SimInsn *i);
/* Execute SIM_COPY and SIM_WAIT; sim_check_copies: checks at the end of the thread that no copy is in flight. */
void sim_copy(Sim *s, SimThread *t, const SimInsn *i);
void sim_wait(Sim *s, SimThread *t, const SimInsn *i);
void sim_check_copies(Sim *s, SimThread *t);
/* Bookkeeping for the memory `data` of buffer `buffer`; written: its elements have values. */
SimMemory *sim_memory_new(Sim *s, int buffer, char *data, bool written);
/* The origin of staleness of element `i`, for reading or writing. */
uint32_t *sim_memory_stale(Sim *s, SimMemory *memory, int64_t i);
/* For a part. sim_is_ghost: does the store `i` of the thread go to a point that the part does not own?
 * sim_ghost_origin: the origin of staleness of such a cell after a store of a value with origin `stale`.
 * sim_ghosts_begin: marks the ghost cells that are stale at the start. sim_ghosts_age: marks those that are stale after
 * `steps` more steps. sim_ghosts_init: marks those that are stale after a launch of inits, s->members from `from` up to
 * `to`. sim_ghosts_end: records the stale cells for later runs. */
bool sim_is_ghost(const Sim *s, const SimThread *t, const SimInsn *i);
uint32_t sim_ghost_origin(Sim *s, int field, int64_t element, uint32_t stale);
void sim_ghosts_begin(Sim *s);
void sim_ghosts_age(Sim *s, int64_t steps);
void sim_ghosts_init(Sim *s, int from, int to);
void sim_ghosts_end(Sim *s);
/* sim_place_of: the coordinates of element `n` of field `f`. sim_ghost_text: the reason why the ghost cell with that
 * origin is stale. */
void sim_place_of(const Sim *s, const Field *f, int64_t n, int64_t at[MAX_RANK]);
const char *sim_ghost_text(Sim *s, uint32_t origin);
/* Has element `i` been written? */
bool sim_memory_has(const SimMemory *memory, int64_t i);
/* Marks element `i` as written. */
void sim_memory_fill(Sim *s, SimMemory *memory, int64_t i);
/* Marks all elements as never written. */
void sim_memory_forget(SimMemory *memory);
/* Marks as never written those elements whose value differs from that of `present`, the memory of another buffer of the
 * field. */
void sim_memory_keep_alike(Sim *s, SimMemory *memory, const SimMemory *present);
/* The number of the first element that was never written, or -1. */
int64_t sim_memory_hole(const SimMemory *memory);

/* Reports a fault of thread `t` at instruction `i`: "kernel 'K': MESSAGE (block [..], thread [..])". Reports a race at
 * once. Other faults may only be consequences of a race in this order of the threads, so they are held back until all
 * threads have reached the next barrier; if there was no race, sim_settle reports them. The run stops when the allowed
 * number of reports is reached. */
void sim_race(Sim *s, const SimThread *t, const SimInsn *i, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void sim_fault(Sim *s, const SimThread *t, const SimInsn *i, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void sim_settle(Sim *s);
/* "warp 2", in clusters with its block. */
const char *sim_warp_text(Sim *s, uint32_t number);
/* "[3, 4]": the element at the place of instruction `i` of `t`; the coordinates of thread `number` of a block; those of
 * block `number`. In s->arena. */
const char *sim_place_text(Sim *s, const SimThread *t, const SimInsn *i);
const char *sim_thread_text(Sim *s, uint32_t number);
const char *sim_block_text(Sim *s, int64_t number);
/* The reason why a value of that origin is stale: "the region computed ... was too small". */
const char *sim_origin_text(Sim *s, uint32_t origin);

#endif
