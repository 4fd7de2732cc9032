/* ir/kernel.h: the parts of a module of kernel IR, and functions on them:
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
/* HOST_LAUNCH: launch kernel `a`. HOST_SWAP: exchange the memory of buffers `a` and `b`. HOST_REPEAT: make the rounds
 * of loop `a`. beside: the launch directly follows another launch and may run before, after or at the same time as it
 * (and as the launches that one is beside): none of them reads or writes what another one writes. behind: it may run
 * beside the launches before it except the first of the group; it waits for that one to end. Later launches of the
 * group are `behind`, too. after: the number of the sequence's steps that are finished before the launch or loop, which
 * is added to `step` arguments; it is the same for launches beside each other. */
typedef struct HostOp {
  HostOpKind kind;
  int32_t a, b;
  bool beside, behind;
  int32_t after;
} HostOp;
/* The operations that advance by `steps` time steps, or by `steps` rounds of a loop (0: the init sequence, a
 * reduction). */
typedef struct HostSeq {
  int32_t steps;
  int32_t nops;
  HostOp *ops;
} HostSeq;

/* ---------------------------------------------------------------- buffers and arrays */

/* The kinds of buffers. */
typedef enum BufferKind { BUFFER_FIELD, BUFFER_PARAM, BUFFER_SCRATCH } BufferKind;

/* A slot of global memory, by its kind:
 *
 *   BUFFER_FIELD    has the shape of field `field`, indexed by grid coordinates; copy 0 holds its present value,
 *                   further copies are those that swaps exchange with it
 *   BUFFER_PARAM    launch-time array number `field`, indexed from 0; read-only except for series and states
 *   BUFFER_SCRATCH  `cells` values of type `type`, indexed from 0, which live from one launch of a sequence to
 *                   the next
 *
 * lead: kernels are fastest if a field's memory begins this many bytes after a multiple of a memory sector; they are
 * correct at any address that is aligned as they require. */
typedef struct Buffer {
  const char *name;
  BufferKind kind;
  int32_t field;
  int32_t copy;
  Type type;
  int64_t cells;
  bool each; /* a scratch buffer with `cells` values for each coordinate of the grid's dimension 0 */
  int32_t lead;
} Buffer;

typedef enum Space { SPACE_SHARED, SPACE_PRIVATE } Space; /* one for each block; one for each thread */

/* An array of a kernel. Cells within pad_lo/pad_hi of a border are don't-care cells: nobody needs to write them, and to
 * read one that was not written yields a stale value (simulate.c), not an error. storage: the array whose memory this
 * one shares (shared-alloc); -1: it has its own. */
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
/* The arguments of mirrored stores to buffer `index`, an i64 each (pass mirror-stores). A row that other parts of the
 * grid hold as ghost cells is stored there, too: coordinates below `below` and from `above` on, along the dimension
 * that is cut. The further arguments are the distance in bytes from the buffer's cell to that of the part below, and of
 * the part above, at coordinate 0 of dimension 0; and, if another dimension is cut, the increase of this distance for
 * each further coordinate of dimension 0. */
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
/* An argument of a kernel: a pointer to buffer `index`, the value of scalar `index`, the number of the launch's first
 * step (i64), or value `mirror` of a buffer that has copies in other parts. */
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

/* Threads that can exchange values. */
enum { LEAST_LANES = 8, WARP_LANES = 32, MOST_LANES = 64 };
/* The number of warps whose registers are changed together, and the bounds of a thread's registers after that; their
 * number is a multiple of REGISTERS_STEP. */
enum { REGISTER_WARPS = 4, LEAST_SET_REGISTERS = 24, MOST_SET_REGISTERS = 256, REGISTERS_STEP = 8 };

/* The tests of a kernel on fields that are the same in all steps. field[i], i < n: a field on the whole grid that no
 * step changes, a bool or an integer; all[i]: the bits of it that matter. The results of the block with number b[d]
 * along dimension d depend only on those bits at points from lo[d] + b[d] * tile[d] - reach.lo[d] to lo[d] + (b[d] + 1)
 * * tile[d] - 1 + reach.hi[d]. around: points beyond the edges of the grid stand for those at the opposite side. dry:
 * at points where none of the bits is set, all fields that the kernel stores keep their values.
 *
 * more: a scalar, 0 by default: the number of further tiles along dimension 0 that a block computes after its own. It
 * does not change the values at any point. Pass tile-classes lets a block compute up to `most` of them, and the blocks
 * of these tiles then do nothing. from, less: scalars, 0 by default, that are used if there are further tiles: the
 * number of points at the beginning and at the end of a tile in the last dimension, multiples of CLASS_POINTS, that are
 * not stored. -1: there is no such scalar. placed: the kernel leaves out a box of blocks, b[d] counts the blocks of
 * that box, too, and first[d] is the number of the first of them. */
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

/* A kernel. Dimension d of grid and block is the program's, slowest first. The number of blocks in d is ceil(max(0,
 * extent[d]) / tile[d]). If the first and the last block in d cover over[d] points besides their tile, the number is
 * smaller, but one where there is a point: ceil(max(extent[d] - over[d], min(extent[d], 1), 0) / tile[d]).
 *
 * leaves_out: the kernel leaves out a box of ceil(max(0, without[d]) / tile[d]) blocks in d, at most as many as
 * extent[d] gives. The remaining blocks (the product of the numbers of all minus the product of those of the box) are
 * numbered along the last dimension, and have number 0 in the others. The code computes the tile of each (pass
 * split-edges). kernel_blocks computes these numbers.
 *
 * list: 1 + the buffer with a list of the tiles, which is made once; block number n along the last dimension computes
 * the tile of row n: its class, which is in buffer list_of, and its number in each dimension. 0: there is no list. A
 * launch may leave out rows of classes for which the code does nothing (pass tile-lists).
 *
 * idles: blocks do nothing if they cover only points of the box from idle_lo to idle_hi, counted from the first point
 * that the kernel covers; pass split-edges leaves such blocks out.
 *
 * It may be launched only if all of `multiples` hold under the launch's params. If one does not hold, kernel number
 * instead - 1 is launched in its place (0: there is none, and the launch is an error). That kernel has the same effect:
 * it makes as many steps and writes the same buffers. It has no multiples, and may have other threads, tile, arrays and
 * arguments. The host part names the kernel with the multiples; kernel_chosen returns the one that runs. */
typedef struct Kernel {
  const char *name;
  int32_t rank;
  int32_t threads[MAX_RANK]; /* threads of a block; all 1 on a target that is not SIMT */
  int32_t lanes;             /* threads that can exchange values; 0: WARP_LANES; see kernel_lanes */
  Affine extent[MAX_RANK];   /* points to cover */
  int32_t tile[MAX_RANK];    /* points a block covers */
  int32_t over[MAX_RANK];    /* points that the first and the last block cover besides their tile */
  bool leaves_out;
  Affine without[MAX_RANK];
  int32_t list, list_of;
  bool idles;
  Affine idle_lo[MAX_RANK], idle_hi[MAX_RANK];
  int32_t steps;    /* time steps a launch advances; 0 for an init */
  int32_t cluster;  /* blocks that are launched together for each tile; 0: one */
  int32_t per_core; /* blocks that a core must be able to hold at once; 0: no demand */
  int32_t nmultiples;
  Multiple *multiples;
  int32_t instead;
  int32_t nargs;
  KArg *args; /* set by kernel_set_args */
  int32_t narrays;
  Array *arrays;
  const KernelTests *tests; /* NULL: nothing is known */
  bool by_class, skips_dry; /* by_class: its code distinguishes classes of tiles (pass tile-classes); skips_dry: it does
                               nothing for tiles without a live point; not in the text */
  Block *body;
  Loc loc;
} Kernel;

/* ---------------------------------------------------------------- the host part */

/* A loop within time steps, or within a loop that comes later in Host.loops. While fewer than `most` rounds are
 * finished, it runs the first of seqs (sorted like those of Host) that does not advance too far, and then the
 * reductions of the loop that are due after this number of rounds. An `until` whose condition holds ends the loop; none
 * is evaluated before the first round. count: the step number that kernels receive. 0: that of the time step. 1: rounds
 * count as steps, from that number on. -1: rounds count as steps backwards, from the last of `most` rounds on. renewed:
 * the fields that each round sets completely before it reads them, so that their values before the round do not matter.
 */
typedef struct HostLoop {
  const char *name;
  Affine most;
  int32_t count;
  int32_t nrenewed, *renewed;
  int32_t nseqs;
  HostSeq *seqs;
  Loc loc;
} HostLoop;

/* Algorithm 5, the host part: run init, then `once`, which is run again before further steps if a field that it reads
 * has been set since (Stencil.once). Then, while steps remain, run the first of seqs that does not advance too far
 * (they are sorted by falling steps; the last one has steps 1). The `step` argument is the number of steps that were
 * finished before the sequence, plus HostOp.after. */
typedef struct Host {
  HostSeq init, once;
  int32_t nseqs;
  HostSeq *seqs;
  int32_t nloops;
  HostLoop *loops;
} Host;

/* ---------------------------------------------------------------- kernels and buffers: module.c shape.c */

/* Sets the kernel's arguments from what its body uses (loads, stores, strides and boxes of buffers' fields, scalars,
 * step) and from its extents: first buffers by index, then scalars by index, then the step. Must be called when the
 * body is complete, and after passes that change it. A kernel of the init sequence keeps as arguments the fields that
 * it is to initialize: they become 0 where no init sets a point. */
void kernel_set_args(Module *m, Kernel *k);
/* The type of a buffer's elements; the number of its indices: the grid's rank, or 1. */
Type buffer_type(const Module *m, int buffer);
int buffer_rank(const Module *m, int buffer);
/* The number of coordinates of the grid's dimension 0, for values with `each`. */
int64_t grid_members(const Module *m, const Const *scalars);
/* A buffer's extents in memory under the scalars (0 for an empty dimension; in the last dimension a field's pitch).
 * Returns their product, the number of its elements. */
int64_t buffer_shape(const Module *m, int buffer, const Const *scalars, int64_t shape[MAX_RANK]);
/* The distance, in elements, from one row of the field to the next: its pitch, or the extent of its last dimension.
 * (For rank 1, the number of elements.) */
Affine field_row(Arena *a, const Field *f);
/* The index of the buffer that is copy `copy` of field `field`; -1 if there is none. */
int module_field_buffer(const Module *m, int field, int copy);
/* The alignment in bytes that the address of a buffer needs: the size of an element, and up to 16 where vector ops and
 * copies move several elements at once. Buffers that swaps exchange need the same. kernel_alignment: for kernel `k`;
 * buffer_alignment: for all kernels. kernel_alignments: for each argument of `k` (0 if it is no buffer);
 * buffer_alignments: for each buffer; both in memory of `a`, at the cost of a single one. */
int64_t kernel_alignment(const Module *m, const Kernel *k, int buffer);
int64_t *kernel_alignments(Arena *a, const Module *m, const Kernel *k);
int64_t *buffer_alignments(Arena *a, const Module *m);
int64_t buffer_alignment(const Module *m, int buffer);
/* The array that owns the memory of array `array` of `k`: itself, or the end of the chain of shared storage. */
int kernel_storage(const Kernel *k, int array);
/* Bytes of one array, at most INT64_MAX / 64. */
int64_t shared_array_bytes(const Array *a);
/* Have the two arrays the same layout of cells? */
bool array_same_layout(const Array *x, const Array *y);
/* The number of threads of a block. */
int64_t kernel_threads(const Kernel *k);
/* kernel_shared_bytes: the bytes of shared memory of a block of `k`; arrays that share storage count once, and each is
 * aligned to 16. kernel_array_offset: the offset of array `array`. */
int64_t kernel_shared_bytes(const Kernel *k);
int64_t kernel_array_offset(const Kernel *k, int array);
/* Has `k` barriers, but no shared arrays, so that the barriers order accesses to global memory? */
bool kernel_passes_memory(const Kernel *k);

/* ---------------------------------------------------------------- the host part: host-part.c */

/* Applies the swaps of sequence `seq`, which has no loops, from op number `from` on, to at[buffer], the memory that
 * each buffer stands for. */
void host_swap(const HostSeq *seq, int from, int32_t *at);
/* Has the sequence loops? */
bool host_has_loops(const HostSeq *seq);
/* Sequence number `i` of the module: init, once, those of steps and of loops, of reductions and of probes. NULL if
 * there are fewer. */
HostSeq *host_part(const Module *m, int i);
/* Sets kernels[i] for each kernel of `m` that the sequence launches, also in its loops. */
void host_kernels(const Module *m, const HostSeq *seq, bool *kernels);
/* For each kernel i < n with other[i] >= 0: makes the sequence launch kernel other[i] directly before kernel i, and
 * kernel i beside it. */
void host_launch_beside(Module *m, HostSeq *seq, int n, const int32_t *other);
/* The number of the loop of that name; -1: there is none. */
int host_find_loop(const Module *m, const char *name);

#endif
