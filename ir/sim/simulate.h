/* simulate.h: the parts of the simulator of kernel IR (private to ir/sim/; sim.h is for others).
 *
 *   simulate.c      the host part: buffers, launches, swaps, reductions, results
 *   sim-compile.c   a kernel to a flat list of instructions with jumps, so that a thread can stop at a barrier
 *   sim-exec.c      threads, blocks, barriers
 *   sim-memory.c    loads and stores with their checks: bounds, races, initialisation, versions, stale values
 *   sim-signal.c    signals between warps, bulk copies, and what they order
 *   sim-cluster.c   blocks that run together: what they store to each other
 *   sim-order.c     what launches leave, and when it is there no longer
 *   sim-ghost.c     ghost cells of a part of a grid
 *   sim-fault.c     the words of a fault
 *
 * Every value carries its origin of staleness: 0 for a true value, else 1 + the number of the instruction that first
 * could not give one. */
#ifndef STC_SIMULATE_H
#define STC_SIMULATE_H

#include "ir/run/exec.h"
#include "ir/sim/sim.h"

/* What an instruction does; below EX_COUNT it is the pure op of that ExecCode. */
typedef enum SimCode {
  SIM_INSIDE = EX_COUNT,
  SIM_MAP,
  SIM_LOAD,
  SIM_STORE, /* global memory */
  SIM_SLOAD,
  SIM_SSTORE, /* shared arrays */
  SIM_ALIGN,
  SIM_SALIGN, /* the element of a buffer (of a shared array) must be a multiple of place->align */
  SIM_COPY,   /* a copy of the value a to a shared array begins, to run beside the thread */
  SIM_COMMIT,
  SIM_WAIT, /* the copies since the last are a group; all groups but the op's `count` latest end */
  SIM_PLOAD,
  SIM_PSTORE,   /* private arrays */
  SIM_BARRIER,  /* of the block, or (OP_BARRIER_NEAR) between neighbouring warps */
  SIM_SHUFFLE,  /* dst = a of the lane that the op leads to */
  SIM_SIGNAL,   /* signal.init, arrive, expect with the value a; fence.async, bulk.commit, bulk.wait */
  SIM_AWAIT,    /* until the signal's phase of parity a has ended */
  SIM_BULK,     /* a bulk copy of a elements; the load and the store of one of them are the second and the third
                   instruction behind it */
  SIM_FETCH,    /* a elements from the place on, all of which must be there, are asked for */
  SIM_SEND,     /* the op's values go to another block: behind a jump, one instruction each; the signal is the jump's */
  SIM_PARALLEL, /* a loop whose iterations must be independent begins or ends, in a kernel of one thread a block */
  SIM_ITERATION, /* an iteration of it begins */
  SIM_MOVE,      /* dst = a, stale also if b or c is */
  SIM_JUMP,      /* to target */
  SIM_IF,        /* to target unless a; what follows up to SIM_LEAVE is under a stale condition if a is stale */
  SIM_ENTER,     /* likewise, if a or b is stale (the bounds of a loop) */
  SIM_LEAVE,     /* the end of what SIM_IF or SIM_ENTER with the same a and b began */
  SIM_FOR,       /* to target unless a < b */
  SIM_NEXT,      /* a += the stride, then to target */
  SIM_END
} SimCode;

/* The box and the coordinates of an instruction: element or point [value of slot idx[k]] + off[k], which must lie
 * (SIM_INSIDE: is asked to lie) in [lo[k], hi[k]]; stride[k] elements apart in memory. sym: the buffer or array. For a
 * barrier or shuffle, `loops` are the slots of the induction variables around it. padded: behind point `last` of each
 * row of the buffer lies what is no point's (Field.pitch). */
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
/* An instruction on slots of the thread. Unused operands repeat a used one or are slot 0, which holds a true 0. */
struct SimInsn {
  int32_t code, dst, a, b, c, target;
  const Op *op;
  const SimPlace *place;
};

/* What the value of a preset depends on. */
enum { SIM_PRESET = 1, SIM_BY_LAUNCH = 2, SIM_BY_BLOCK = 4, SIM_BY_THREAD = 8 };

/* A slot that holds the same value while a block runs, filled beforehand: by the op const, scalar, step, thread or
 * block, or by a pure op, as instruction `code` on slots a, b and c, which are presets before it. */
typedef struct SimPreset {
  int32_t slot;
  const Op *op;
  int kind, code, a, b, c;
} SimPreset;

/* An array of a kernel. Shared: its bytes start at `base`; private: its cells start at cell `base` of the thread's.
 * granules: granules a cell. */
typedef struct SimArray {
  const Array *array;
  int64_t base, stride[MAX_RANK];
  int granules;
} SimArray;

/* Who touched an element or granule last: `writer` in the launch or barrier interval `wrote`, `reader` (SIM_MANY:
 * several) in `read`. */
typedef struct SimTouch {
  uint32_t wrote, writer, read, reader;
} SimTouch;
#define SIM_MANY UINT32_MAX

/* Who read a granule last of one warp: `reader` (SIM_MANY: several) in barrier interval `read`. */
typedef struct SimRead {
  uint32_t read, reader;
} SimRead;

/* What version of an element was stored last, and in which launch. */
typedef struct SimVersion {
  uint32_t launch;
  int32_t ver;
} SimVersion;

/* Bookkeeping of SIM_PAGE elements of global memory; made when first needed. versions: NULL: none was stored but 0. */
enum { SIM_PAGE = 1024 };
typedef struct SimPage {
  SimVersion *versions;
  uint8_t written[SIM_PAGE];
  uint32_t *stale; /* in a part: origins of staleness of ghost cells; NULL: there are none */
  SimTouch touch[SIM_PAGE];
} SimPage;

/* A piece of global memory. born: elements whose page was not made yet count as written. pitch: from one row to the
 * next, of which `row` elements are points; 0: all elements are. renewed: what it held was left behind with a round.
 * writer: the kernel that last stored to it, or NULL. */
typedef struct SimMemory {
  char *data;
  Type type;
  bool born, renewed;
  int64_t elements, pitch, row;
  SimPage **pages;
  const Kernel *writer;
} SimMemory;

/* A granule of shared memory: last written in block number `block` as part of array `owner`, version `ver`, with the
 * origin `stale`. filling: the number of a block in which a copy to it, begun by touch.writer, has not been waited for.
 */
typedef struct SimGranule {
  uint32_t block, filling;
  int32_t owner, ver;
  uint32_t stale;
  SimTouch touch;
} SimGranule;

/* A signal, of block number `block`: what ends a phase; the phases ended, arrivals and bytes missing of the present
 * one; who made it ready, and when; what is done behind the phases ended, and what will be behind the present one, as
 * clocks (SimThread). sent: phases up to the one to which another block brought bytes, last by instruction `last` of
 * `sender`; seen: phases that threads of the block have waited for. */
typedef struct SimSignal {
  uint32_t block, by, since, sender;
  const SimInsn *last;
  int64_t sent, seen;
  int32_t arrivals, missing;
  int64_t bytes, phase;
  uint32_t *done, *next;
} SimSignal;

/* A copy on its way: the instruction that began it, the cell, and the value that it brings, with its staleness; group:
 * which of the thread's commits closes it. */
typedef struct SimCopy {
  const SimInsn *insn;
  int64_t cell, group;
  Const value;
  uint32_t stale;
} SimCopy;

/* A cell of a private array; the same. */
typedef struct SimCell {
  Const value;
  uint32_t block;
  int32_t owner, ver;
  uint32_t stale;
} SimCell;

/* At a barrier; where a warp meets; at a signal. */
typedef enum SimState { SIM_RUNNING, SIM_WAITING, SIM_TRADING, SIM_BLOCKED, SIM_DONE } SimState;

/* A thread of the running block. doubt: number of stale conditions it is under; doubt_origin: of the innermost.
 * actor: who touches shared memory: the thread's number, or in a kernel of one thread the number of the parallel loop's
 * iteration. copies: those on their way, oldest first, with room for `cap`; commits: how many commits the thread has
 * made in this block.
 * In kernels with signals: clock[n]: what thread n did at its time clock[n] and before is done for this thread; clock[n
 * + number of threads]: so for the bulk copies that it began. Times are values of Sim.interval; its own is
 * clock[number]. fenced: the time since which nothing has passed fence.async. began: the time of the bulk copy at hand;
 * groups: of the groups of bulk stores that wait, the times of their last ones; stored: that of the group to be.
 * shift: where the shared memory of its block begins in that of the cluster. */
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

/* A kernel made ready under the params. presets: first the nblock_presets that change from block to block, then up to
 * nlaunch_presets those that may change from launch to launch. granule: bytes of the smallest element of a shared
 * array. writes[i]: does it store to buffer i? near: there are barriers between neighbouring warps in it, of which a
 * block has `nwarps`, of `warp` threads each, 2 to the power of `lane_bits`; every `lanes` of them trade values. What
 * follows is made at its first launch and used in all: the threads of a block and the orders of threads and blocks,
 * both shuffled again and again; reads, if `near` or `signals`: of each granule, warp by warp, and then the bulk
 * copies of each. signals: there are signals in it, of which signal[n] is that in bytes 8 n and on. A cluster of
 * blocks is run as one block of all their threads, `cluster` times block_threads, with the shared memory of all,
 * block_bytes each; such kernels count as ones with signals. */
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

/* A kernel among those that are launched beside each other: its threads are numbers `first` and on of them all. */
typedef struct SimMember {
  SimKernel *k;
  uint32_t first;
} SimMember;

/* A ghost cell of field `field` that was stale from the level after `level` steps on. Origins of staleness with
 * SIM_GHOST are numbers of these. */
typedef struct SimGhost {
  int field;
  int64_t element, level;
} SimGhost;
#define SIM_GHOST (1u << 31)

/* A fault that waits for the end of the interval between barriers. */
typedef struct SimPending {
  Loc loc;
  const char *text;
} SimPending;

/* A run. seen: all that probes saw when so many steps were done, or before, has been handed out. memory[i] is what
 * buffer i stands for now. Counters launch, period, block_epoch and interval never repeat in a run. keep[f]: stores to
 * field f are dropped (inits of fields that have data already). passing[l]: which buffers hold nothing when a round of
 * loop l begins; NULL: not looked at yet. since: what periods with this number and later ones do
 * is not ordered with what the running launch does. interval: all threads are as many barriers behind the block's
 * begin; what they did before interval `met`, when the whole block met last, is done for all. */
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
  SimMember *members; /* of the running launch, which is alone in it as a rule, and in any order if it is not */
  bool *writes;       /* do any that may run now store to buffer i? */
  const bool *keep;
  bool **passing;
  SimKernel *k;   /* the kernel being run, from here on */
  uint32_t first; /* the number of its first thread among those of s->members */
  int64_t step, seen;
  uint32_t period, began; /* accesses to global memory in different periods are ordered; the launch's first one */
  uint32_t launch, since, block_epoch, interval, met;
  int32_t nghosts;
  SimGhost *ghosts;
  int64_t block[MAX_RANK], block_number;
} Sim;

/* How many readers are kept of each granule. */
static inline int sim_readers(const SimKernel *k) { return k->signals ? 2 * k->nwarps : k->near ? k->nwarps : 0; }

/* The slot of a value that sim_compile numbered. */
static inline int32_t sim_slot(const Value *v) { return v->id + 1; }

/* Translates `kernel` under the scalars in `s`; false after an error. Numbers the kernel's values. */
bool sim_compile(Sim *s, const Kernel *kernel, SimKernel *out);

/* Runs all blocks of s->members from number `from` up to `to`, which is not one of them, those of each in shuffled
 * order; a race between two of them is a race like any other, and so is one with those run last if these are members
 * from number `with` on, before `from`. */
void sim_launch(Sim *s, int from, int to, int with);
/* A number in [0, n) of the run's sequence. */
uint64_t sim_random(Sim *s, uint64_t n);

/* Are stores to buffer `buffer` dropped now? */
static inline bool sim_is_kept(const Sim *s, int buffer) {
  const Buffer *b = &s->m->buffers[buffer];
  return s->keep && b->kind == BUFFER_FIELD && s->keep[b->field];
}

/* A round of loop `loop` begins (HostMachine.round). Does what is computed once set buffer `b`? */
void sim_round(void *user, int loop);
bool sim_is_set_once(const Module *m, int b);

/* Each does one load or store of instruction `i` of s->k for the thread, or reports a fault; a load that fails gives a
 * true 0. */
void sim_load(Sim *s, SimThread *t, const SimInsn *i);
void sim_store(Sim *s, SimThread *t, const SimInsn *i);
void sim_shared_load(Sim *s, SimThread *t, const SimInsn *i);
void sim_shared_store(Sim *s, SimThread *t, const SimInsn *i);
void sim_private_load(Sim *s, SimThread *t, const SimInsn *i);
void sim_private_store(Sim *s, SimThread *t, const SimInsn *i);
/* SIM_SIGNAL; SIM_AWAIT, which is true when the phase has ended; SIM_BULK. */
void sim_signal(Sim *s, SimThread *t, const SimInsn *i);
bool sim_await(Sim *s, SimThread *t, const SimInsn *i);
void sim_bulk(Sim *s, SimThread *t, const SimInsn *i);
/* SIM_SEND. At the end of a cluster: has each block waited for all that was stored to it? */
void sim_send(Sim *s, SimThread *t, const SimInsn *i);
void sim_check_sent(Sim *s);
/* The signal that `i` names in the block where `t` looks now; NULL after a fault. What `to` knows is what `from` does,
 * too. Ends the phase of `x` if nothing is missing. What thread `t` does from now on is known to nobody yet. */
SimSignal *sim_find_signal(Sim *s, const SimThread *t, const SimInsn *i);
void sim_join(const Sim *s, uint32_t *to, const uint32_t *from);
void sim_end_phase(const Sim *s, SimSignal *x);
void sim_tick(Sim *s, SimThread *t);
/* Of a kernel with signals: a block begins; its threads have met; the `n` of a warp at `lanes` have. */
void sim_clocks_begin(Sim *s);
void sim_clocks_meet(Sim *s, SimThread *lanes, int n);
/* Thread `t` waits for a signal whose phase never ends. */
void sim_deadlock(Sim *s, const SimThread *t);
/* Actor `me` (a thread, or that number and the number of threads: its bulk copies) reads, or writes, the granule now.
 * If that is not ordered behind another's write (1) or read (2), these and who in *who; else 0. */
int sim_ordered(Sim *s, SimGranule *g, uint32_t me, bool writes, uint32_t *who);
/* Where cell `i` of thread `t` is, as element of its array. False after a fault. */
bool sim_cell(Sim *s, const SimThread *t, const SimInsn *i, const char *what, int64_t *cell);
/* SIM_FETCH. */
void sim_fetch(Sim *s, SimThread *t, const SimInsn *i);
/* SIM_ALIGN and SIM_SALIGN. */
void sim_align(Sim *s, SimThread *t, const SimInsn *i);
/* SIM_COPY; SIM_WAIT; the end of the thread, when no copy may be on its way. */
void sim_copy(Sim *s, SimThread *t, const SimInsn *i);
void sim_wait(Sim *s, SimThread *t, const SimInsn *i);
void sim_check_copies(Sim *s, SimThread *t);
/* Memory for buffer `buffer` on `data`; written: its elements have values. */
SimMemory *sim_memory_new(Sim *s, int buffer, char *data, bool written);
/* The origin of staleness of element `i`, which may be changed. */
uint32_t *sim_memory_stale(Sim *s, SimMemory *memory, int64_t i);
/* In a part: does the store `i` of the thread go to a point that the part does not own? The origin that such a cell has
 * if what is stored to it has the origin `stale`. Marks ghost cells that are stale at the start; those that are after
 * `steps` more, and behind a launch of inits, s->members from `from` up to `to`; keeps for later runs which are. What
 * is stale about one. */
bool sim_is_ghost(const Sim *s, const SimThread *t, const SimInsn *i);
uint32_t sim_ghost_origin(Sim *s, int field, int64_t element, uint32_t stale);
void sim_ghosts_begin(Sim *s);
void sim_ghosts_age(Sim *s, int64_t steps);
void sim_ghosts_init(Sim *s, int from, int to);
void sim_ghosts_end(Sim *s);
/* The coordinates of element `n` of field `f`. */
void sim_place_of(const Sim *s, const Field *f, int64_t n, int64_t at[MAX_RANK]);
const char *sim_ghost_text(Sim *s, uint32_t origin);
/* Was element `i` written? */
bool sim_memory_has(const SimMemory *memory, int64_t i);
/* Makes element `i` count as written. */
void sim_memory_fill(Sim *s, SimMemory *memory, int64_t i);
/* Makes all elements count as never written. */
void sim_memory_forget(SimMemory *memory);
/* The same of elements at which `present`, of another buffer of its field, has another value. */
void sim_memory_keep_alike(Sim *s, SimMemory *memory, const SimMemory *present);
/* The number of the first element that was never written, or -1. */
int64_t sim_memory_hole(const SimMemory *memory);

/* A fault of thread `t` at instruction `i`: "kernel 'K': MESSAGE (block [..], thread [..])". A race is reported at
 * once. Other faults may be no more than what a race led to in this order of the threads, so they wait until all
 * threads have come to the next barrier, and are reported by sim_settle if there was no race. The run stops when as
 * many as allowed are reported. */
void sim_race(Sim *s, const SimThread *t, const SimInsn *i, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void sim_fault(Sim *s, const SimThread *t, const SimInsn *i, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void sim_settle(Sim *s);
/* "warp 2", and of clusters which block's. */
const char *sim_warp_text(Sim *s, uint32_t number);
/* "[3, 4]": the element that instruction `i` of `t` means; the coordinates of thread `number` of a block; of block
 * `number`. In s->arena. */
const char *sim_place_text(Sim *s, const SimThread *t, const SimInsn *i);
const char *sim_thread_text(Sim *s, uint32_t number);
const char *sim_block_text(Sim *s, int64_t number);
/* "the region computed ... was too small": why a value of that origin is stale. */
const char *sim_origin_text(Sim *s, uint32_t origin);

#endif
