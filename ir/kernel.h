/* ir/kernel.h: what a module of kernel IR is made of, and what is asked of it:
 *
 *   module.c shape.c   kernels and their buffers
 *   host-part.c   the host part: sequences of launches, loops of rounds
 */
#ifndef STC_IR_KERNEL_H
#define STC_IR_KERNEL_H

#include "ir/op.h"

typedef struct Module Module;
typedef struct Field Field;

/* ---------------------------------------------------------------- the host part's sequences */

/* One operation on the host part's sequences. */
typedef enum HostOpKind { HOST_LAUNCH, HOST_SWAP, HOST_REPEAT } HostOpKind;
/* Launch kernel `a`, exchange the memory that buffers `a` and `b` stand for, or make the rounds of loop `a`. A launch
 * that is `beside` stands directly behind another one and may run at the same time as that one (and as those that it is
 * beside in turn), before it or after it: none of them reads or writes what another of them writes. `behind`: but for
 * the first of these, for whose end it waits; launches beside it that come later are `behind`, too. `after`: so many of
 * the sequence's steps are done before the launch or loop, so that `step` arguments are so much larger; launches beside
 * each other have the same. */
typedef struct HostOp {
  HostOpKind kind;
  int32_t a, b;
  bool beside, behind;
  int32_t after;
} HostOp;
/* What is done to advance by `steps` time steps, or rounds of a loop (0: the init sequence, a reduction). */
typedef struct HostSeq {
  int32_t steps;
  int32_t nops;
  HostOp *ops;
} HostSeq;

/* ---------------------------------------------------------------- buffers and arrays */

/* What a buffer stands for. */
typedef enum BufferKind { BUFFER_FIELD, BUFFER_PARAM, BUFFER_SCRATCH } BufferKind;

/* A slot of global memory, by its kind:
 *
 *   BUFFER_FIELD    shaped like field `field`, indexed by grid coordinates; copy 0 holds its present value, copy 1 and
 *                   on are what swaps exchange that with
 *   BUFFER_PARAM    the launch-time array number `field`, indexed from 0; only read, but for series and states
 *   BUFFER_SCRATCH  `cells` values of type `type`, indexed from 0, which last from one launch to the next of a sequence
 *
 * lead: kernels are fastest if a field's memory begins so many bytes behind a multiple of a memory sector; they are
 * right wherever it is aligned as they need it. */
typedef struct Buffer {
  const char *name;
  BufferKind kind;
  int32_t field;
  int32_t copy;
  Type type;
  int64_t cells;
  bool each; /* a scratch buffer that has so many for each coordinate of the grid's dimension 0 */
  int32_t lead;
} Buffer;

typedef enum Space { SPACE_SHARED, SPACE_PRIVATE } Space; /* one a block; one a thread */

/* An array of a kernel. Cells within pad_lo/pad_hi of a border are don't-care cells: nobody needs to write them, and
 * what is read from them unwritten is stale (simulate.c), not an error. storage names the array whose memory this one
 * shares (shared-alloc), -1 its own. */
typedef struct Array {
  const char *name;
  Type type;
  Space space;
  int32_t rank;
  int32_t shape[MAX_RANK];
  int32_t pad_lo[MAX_RANK], pad_hi[MAX_RANK];
  int32_t storage;
} Array;

typedef enum KArgKind { KARG_BUFFER, KARG_SCALAR, KARG_STEP, KARG_MIRROR } KArgKind;
/* What is stored to buffer `index` in rows that other parts of the grid have as ghost cells is stored there, too (pass
 * mirror-stores): coordinates along the dimension that is cut below `below`, and from `above` on; and how many bytes
 * behind the buffer's cell that of the part below, and of the part above, is, where the coordinate along dimension 0 is
 * 0, and so many more for each one further, if another dimension is cut. An i64 each. */
typedef enum MirrorArg {
  MIRROR_BELOW,
  MIRROR_ABOVE,
  MIRROR_DOWN,
  MIRROR_UP,
  MIRROR_DOWN_ROW,
  MIRROR_UP_ROW,
  MIRROR_ARGS
} MirrorArg;
extern const char *const mirror_names[MIRROR_ARGS];
/* An argument of a kernel: a pointer to buffer `index`, the value of scalar `index`, the number of the launch's
 * first step (i64), or `mirror` of a buffer that has copies in other parts. */
typedef struct KArg {
  KArgKind kind;
  int32_t index;
  bool reads, writes;
  MirrorArg mirror;
} KArg;

/* ---------------------------------------------------------------- kernels */

/* A condition on the params: value is a multiple of `of`, which is at least 1. */
typedef struct Multiple {
  Affine value;
  int64_t of;
} Multiple;

/* Threads that may trade values. */
enum { LEAST_LANES = 8, WARP_LANES = 32, MOST_LANES = 64 };
/* Warps whose registers are changed together, and how many registers a thread of theirs may have: a multiple of
 * REGISTERS_STEP. */
enum { REGISTER_WARPS = 4, LEAST_SET_REGISTERS = 24, MOST_SET_REGISTERS = 256, REGISTERS_STEP = 8 };

/* The words of tests that the blocks of a kernel look at: of the `n` fields field[i], on the whole grid and changed by
 * no step, a bool or bits of an integer, those in all[i]. What comes of the block that is number b[d] along dimension d
 * depends on no others than those of the points from lo[d] + b[d] * tile[d] - reach.lo[d] to lo[d] + (b[d] + 1) *
 * tile[d] - 1 + reach.hi[d]; around: points beyond the edges of the grid are those at its other side. dry: at points
 * where none of the bits is set all fields that it stores to stay as they are. more: a scalar, 0 by itself, that is how
 * many tiles along dimension 0 a block computes behind its own, which does not change what comes of the points: pass
 * tile-classes has a block compute up to `most` of them, whose own blocks then do nothing; from, less: if there is
 * more, scalars, 0 by themselves, of so many points at the begin and the end of a tile in the last dimension, multiples
 * of CLASS_POINTS, that are not to be stored; -1: there is none. placed: the kernel leaves a box of blocks out, b[d]
 * counts these, too, and first[d] is the number of the first of them. */
enum { CLASS_POINTS = 16 };
enum { MAX_TESTS = 4 };
typedef struct KernelTests {
  int32_t n, field[MAX_TESTS];
  int64_t all[MAX_TESTS];
  Affine lo[MAX_RANK], first[MAX_RANK];
  Extent reach;
  int32_t around[MAX_RANK], more, most, from, less;
  bool dry, placed;
} KernelTests;

/* A kernel. Dimension d of grid and block is the program's, slowest first. Number of blocks in d: ceil(max(0,
 * extent[d]) / tile[d]). If the first and the last block in d cover over[d] points beside their tile, there are as few
 * as that leaves, but one where there is a point: ceil(max(extent[d] - over[d], min(extent[d], 1), 0) / tile[d]). A
 * kernel that `leaves_out` leaves out a box of ceil(max(0, without[d]) / tile[d]) blocks in d, none of them larger than
 * extent[d] allows: the blocks that are left, the product of the ones less the product of the others, are numbered
 * along the last dimension, and are 0 in the others. Its code finds out which tile each is for (pass split-edges).
 * kernel_blocks computes all this. list: 1 + the buffer of a list of the tiles, made once, by which block number n
 * along the last dimension is for the tile of row n: its class, which is in buffer list_of, and its number in each
 * dimension; 0: there is none. A launch may leave out rows of classes for which the code does nothing (pass
 * tile-lists). Blocks of a kernel with `idles` that cover nothing but points of the box from idle_lo to idle_hi,
 * counted from the first that it covers, do nothing: pass split-edges leaves them out. It may be launched only where
 * all of `multiples` hold under the launch's params, and where one does not the kernel number instead - 1 is launched
 * in its place (0: there is none, and a launch is an error). That one does the same: it makes as many steps and writes
 * the same buffers, has no multiples, and may have other threads, tile, arrays and arguments. The host part names the
 * kernel with the multiples; kernel_chosen says which runs. */
typedef struct Kernel {
  const char *name;
  int32_t rank;
  int32_t threads[MAX_RANK]; /* threads a block; all 1 on a target that is not SIMT */
  int32_t lanes;             /* threads that trade values, 0: WARP_LANES; see kernel_lanes */
  Affine extent[MAX_RANK];   /* points to cover */
  int32_t tile[MAX_RANK];    /* points a block covers */
  int32_t over[MAX_RANK];    /* points that the first and the last block cover beside */
  bool leaves_out;
  Affine without[MAX_RANK];
  int32_t list, list_of;
  bool idles;
  Affine idle_lo[MAX_RANK], idle_hi[MAX_RANK];
  int32_t steps;    /* time steps a launch advances; 0 for an init */
  int32_t cluster;  /* blocks that are launched together for each tile; 0: one, by itself */
  int32_t per_core; /* blocks that a core must have room for at once; 0: nothing is said */
  int32_t nmultiples;
  Multiple *multiples;
  int32_t instead;
  int32_t nargs;
  KArg *args; /* see kernel_set_args */
  int32_t narrays;
  Array *arrays;
  const KernelTests *tests; /* NULL: nothing is known of them */
  bool by_class, skips_dry; /* it goes by the classes of its tiles (pass tile-classes), and does nothing for those
                               without a live point; not in the text */
  Block *body;
  Loc loc;
} Kernel;

/* ---------------------------------------------------------------- the host part */

/* A loop within time steps, or within a loop that comes behind it in Host.loops: while fewer than `most` rounds have
 * been made, the first of seqs (as those of Host are sorted) that does not advance too far, and then the reductions of
 * the loop that are due after so many rounds. An `until` whose condition is met ends the loop; none is evaluated before
 * the first round. As the number of the step kernels take that of the time step, where `count` is 0; else rounds count
 * as steps from there on, by 1 forwards (1) or, from the last of `most` rounds on, backwards (-1). renewed: the fields
 * that each round sets as a whole before it reads them: what they hold when it begins does not count. */
typedef struct HostLoop {
  const char *name;
  Affine most;
  int32_t count;
  int32_t nrenewed, *renewed;
  int32_t nseqs;
  HostSeq *seqs;
  Loc loc;
} HostLoop;

/* Algorithm 5, the host part: run init, and then `once`, which is run again before further steps where a field that it
 * reads was set meanwhile (Stencil.once); then, while steps remain, the first of seqs (sorted by falling steps, the
 * last has steps 1) that does not advance too far. The `step` argument is the number of steps done before the sequence,
 * and HostOp.after. */
typedef struct Host {
  HostSeq init, once;
  int32_t nseqs;
  HostSeq *seqs;
  int32_t nloops;
  HostLoop *loops;
} Host;

/* ---------------------------------------------------------------- kernels and buffers: module.c shape.c */

/* The kernel's arguments from what its body uses (loads, stores, strides and boxes of buffers' fields, scalars, step)
 * and its extents: first buffers by index, then scalars by index, then the step. Call when the body is complete and
 * after passes that change it. A kernel of the init sequence keeps the fields that it was to write: they are set, to 0
 * where no init sets a point. */
void kernel_set_args(Module *m, Kernel *k);
/* Type of a buffer's elements, and number of its indices: the grid's rank, or 1. */
Type buffer_type(const Module *m, int buffer);
int buffer_rank(const Module *m, int buffer);
/* Coordinates of the grid's dimension 0, which values `each` are of. */
int64_t grid_members(const Module *m, const Const *scalars);
/* A buffer's extents in memory under the scalars (0 for an empty dimension; of the last one a field's pitch), and their
 * product: its elements. */
int64_t buffer_shape(const Module *m, int buffer, const Const *scalars, int64_t shape[MAX_RANK]);
/* Elements from where one row of the field begins in memory to where the next does (of rank 1: that there are): its
 * pitch, or the extent of its last dimension. */
Affine field_row(Arena *a, const Field *f);
/* Is it the `copy` of field `field`? The index of that buffer, -1 if there is none. */
int module_field_buffer(const Module *m, int field, int copy);
/* Bytes that the address of buffer `buffer` must be a multiple of, for kernel `k` and for all: the size of an element,
 * and up to 16 where vector ops and copies move several at once. Buffers that swaps exchange need the same. Those of
 * all arguments of `k` that are buffers (0 for others) and of all buffers, in `a`: as dear as that of one. */
int64_t kernel_alignment(const Module *m, const Kernel *k, int buffer);
int64_t *kernel_alignments(Arena *a, const Module *m, const Kernel *k);
int64_t *buffer_alignments(Arena *a, const Module *m);
int64_t buffer_alignment(const Module *m, int buffer);
/* The array whose memory array `array` of `k` uses in the end; itself if it has its own. */
int kernel_storage(const Kernel *k, int array);
/* Bytes of one array, at most INT64_MAX / 64. */
int64_t shared_array_bytes(const Array *a);
/* Have the arrays their cells at the same places? */
bool array_same_layout(const Array *x, const Array *y);
/* Threads of a block. */
int64_t kernel_threads(const Kernel *k);
/* Bytes of shared memory a block of `k` takes, arrays that share storage counted once, each aligned to 16; and where
 * array `array` starts. */
int64_t kernel_shared_bytes(const Kernel *k);
int64_t kernel_array_offset(const Kernel *k, int array);
/* Do threads of `k` meet at barriers for the sake of what they leave each other in global memory: at any, if it has no
 * shared arrays? */
bool kernel_passes_memory(const Kernel *k);

/* ---------------------------------------------------------------- the host part: host-part.c */

/* Makes the swaps of sequence `seq`, which has no loops, from its op number `from` on in at[buffer], what the buffers
 * stand for. */
void host_swap(const HostSeq *seq, int from, int32_t *at);
/* Has the sequence loops? */
bool host_has_loops(const HostSeq *seq);
/* All sequences of the module by number, from 0 on: init, once, those of steps and of loops, of reductions and of
 * probes. NULL: there is none of that number. */
HostSeq *host_part(const Module *m, int i);
/* Notes in kernels[i], of `m`, which kernels the sequence launches, loops in it included. */
void host_kernels(const Module *m, const HostSeq *seq, bool *kernels);
/* Has the sequence launch kernel other[i] directly before kernel i, and that beside it, where there is one (-1: there
 * is none), of kernels 0 to n - 1. */
void host_launch_beside(Module *m, HostSeq *seq, int n, const int32_t *other);
/* The number of the loop of that name, -1: there is none. */
int host_find_loop(const Module *m, const char *name);

#endif
