/* backend/emit.h: what the files of this folder share. Table of contents:
 *
 *   the emitter's state        Emit, Place
 *   table.c                    maps keyed by pointers, value numbers with scopes
 *   emit-base.c                types, attributes, functions, calls, values; each file asks those above it alone
 *   emit-arith.c               arithmetic, mathematics, conversions
 *   emit-index.c               integers with known ranges, affine bounds, coordinates (inside, idx.*)
 *   emit-row.c                 rows that a loop goes to, as 64 bits that stay and 32 that change
 *   emit-select.c              selects by tests of coordinates
 *   emit-memory.c              buffers and arrays
 *   emit-lane.c                addresses as a uniform base and a thread's offset
 *   emit-loop.c                what loops change, and addresses that they advance
 *   emit-ranged.c              roots and quotients by short sequences, and their guards
 *   nests.h                    loops that do the same: a function of theirs
 *   emit.c                     modules, kernels, structure
 *   targets                    struct Target and its table (target.c, with names of functions; nvptx.c, amdgpu.c,
 *                              host.c)
 *   codegen.c libclc.c         from LLVM IR to bytes
 *   pipeline.c                 LLVM's passes on the way
 *   pairs-find.c pairs.c       f32 arithmetic two at a time
 *   extremes.c                 minimumNumber and maximumNumber on x86
 *   arcs.c                     what goes round loops, moved
 *   negations.c link.c         and what becomes of these
 */
#ifndef STC_BACKEND_EMIT_H
#define STC_BACKEND_EMIT_H

#include "backend/backend.h"
#include "ir/carries.h"

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>

/* ---------------------------------------------------------------- maps: table.c */

/* A hash map from pointers to pointers, open addressing. Start with {0}. */
typedef struct PtrMap {
  int32_t n, cap;
  const void **keys;
  void **values;
} PtrMap;
void ptrmap_put(Arena *a, PtrMap *m, const void *key, void *value);
/* NULL if `key` is not there. */
void *ptrmap_get(const PtrMap *m, const void *key);

/* What makes two computations the same: an operation and what it is applied to. */
typedef struct ValueKey {
  uintptr_t op, a, b, c;
} ValueKey;
/* Computations already emitted whose results may be used again. Entries made after value_mark are gone after
 * value_release, so that what was computed inside a nested block is not used outside it. Start with {0}. */
typedef struct ValueTable {
  int32_t n, cap;
  struct ValueEntry *entries;
  int32_t nbuckets, *buckets;
} ValueTable;
void value_put(Arena *a, ValueTable *t, ValueKey k, LLVMValueRef v);
LLVMValueRef value_get(const ValueTable *t, ValueKey k);
int32_t value_mark(const ValueTable *t);
void value_release(ValueTable *t, int32_t mark);

/* ---------------------------------------------------------------- the emitter's state */

/* The values an integer may have; both ends inclusive. */
typedef struct Range {
  int64_t lo, hi;
} Range;
/* An integer as base + c (modulo its width); `exact` if that sum does not overflow as a signed number. */
typedef struct BaseOffset {
  LLVMValueRef base;
  int64_t c;
  bool exact;
} BaseOffset;

/* A point where instructions are put, with the computations that hold there. */
typedef struct Place {
  LLVMBuilderRef b;
  ValueTable seen;
} Place;

/* A global buffer of the kernel at hand: origin + sum of coordinate[d] * stride[d] elements is the place of a point.
 * start: the argument, from which the origin is `shift` elements away. */
typedef struct BufferValue {
  LLVMValueRef origin, start, shift;
  LLVMValueRef stride[MAX_RANK];
} BufferValue;

/* A pointer that a loop advances: of row `row`, counted from where the loop is in its round, for the cell base[0],
 * base[1], ... of buffer `buffer` it is `last`; `phi` is that of row `first`, with which rounds begin. */
typedef struct Runner {
  int buffer;
  LLVMValueRef base[MAX_RANK], phi, last;
  int64_t first, row;
} Runner;
/* A number that is value[0] and value[1] in turns, from round to round of a loop; `phi` is that of the round. */
typedef struct Turn {
  LLVMValueRef phi;
  int64_t value[2];
} Turn;
/* Bytes of which the start of the scratch memory is a multiple. */
enum { SCRATCH_ALIGNMENT = 64 };

/* A loop that is being emitted, within loop `about`. */
typedef struct EmitLoop {
  struct EmitLoop *about;
  const Op *loop;
  LLVMBasicBlockRef before, head;
  int accesses;         /* to global memory, and tests of coordinates; < 0: not counted */
  Place start;          /* at the end of `before` */
  LLVMBuilderRef chain; /* where runners are advanced */
  LLVMValueRef fork;    /* the branch of the if that the present place is in an arm of, NULL: none within the loop */
  int32_t n;
  Runner *runners;
  int32_t nturns;
  Turn *turns;
} EmitLoop;

/* The row that selects were last made by: its coordinate, what of it changes in the loop, the block they are in, its
 * number, and how many rows there were before (Target.renew). */
typedef struct RenewedRow {
  const Value *coordinate;
  LLVMValueRef changes;
  LLVMBasicBlockRef block;
  LLVMValueRef value;
  unsigned n;
} RenewedRow;

/* Loops of a kernel that do the same: nests.h. */
typedef struct Nests Nests;

/* Numbers of a block that a kernel for this CPU is given. */
static inline int host_blocks(const Kernel *k) { return k->rank > GRID_RANK ? k->rank : GRID_RANK; }

/* The emission of one module. What follows `fn` is of the kernel at hand. */
typedef struct Emit {
  Arena *arena;
  Diags *diags;
  const Module *m;
  const Target *target;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMTypeRef i1, i8, i32, i64, ptr; /* ptr: address space 0 */
  bool libm;                         /* a mathematical function was called by name */
  const Kernel *k;
  const int64_t *alignments; /* of its arguments: kernel_alignments */
  bool passes;               /* kernel_passes_memory */
  bool reduces; /* it is a reduction's: infinities are identities, and NaN is to be found, under fast-math too */
  LLVMValueRef fn;
  LLVMValueRef *args;           /* kernel argument i */
  LLVMValueRef block[MAX_RANK]; /* set by the target's begin where blocks are arguments, else NULL */
  LLVMValueRef scratch;         /* likewise: memory for the shared arrays */
  Place entry;                  /* before anything else: constants of the launch, private arrays */
  Place here;                   /* where the body has got to */
  PtrMap values;                /* Value -> LLVMValueRef */
  PtrMap threads;               /* Value -> what emit_is_threads knows of it */
  PtrMap ranges;                /* LLVMValueRef -> Range */
  PtrMap linears;               /* LLVMValueRef -> BaseOffset, where it is not itself + 0 */
  BufferValue *buffers;         /* by buffer index; origin NULL: not an argument */
  const Kernel *bound;          /* the kernel whose buffers those are */
  LLVMValueRef *arrays;         /* by array index: its first cell */
  EmitLoop *inner;              /* the innermost loop, NULL: none */
  Nests *nests;                 /* loops that are calls of a function, NULL: none */
  RenewedRow row;
  LLVMValueRef (*guard)(struct Emit *e, const Value *test); /* emit_guard: such values are made where they are used */
  int32_t cells;                                            /* that parallel loops make at once, 0: LLVM chooses */
  int32_t ngroups;                                          /* parallel loops about the body's place, outermost first */
  LLVMMetadataRef groups[16];                               /* their access groups */
} Emit;

/* ---------------------------------------------------------------- emission: emit*.c */

/* Runs `m` through LLVM's passes of the level that `o` names; `machine` is the target's. NULL, or LLVM's error, which
 * is the caller's. (pipeline.c) */
LLVMErrorRef pipeline_run(Arena *a, const Target *t, LLVMModuleRef m, LLVMTargetMachineRef machine,
                          const CodegenOptions *o);

/* The passes that pipeline_run runs, in LLVM's own notation; NULL: none. */
const char *pipeline_of(const CodegenOptions *o);

/* The module's kernels, or those in o->only, as LLVM IR in `context`, verified. NULL after an error. Parallel loops
 * make `cells` cells at once (0: LLVM chooses, which takes it longer). Sets *libm if functions of the target's
 * mathematical library are called. */
LLVMModuleRef emit_module(Arena *a, Diags *d, const Module *m, const Target *t, LLVMContextRef context,
                          LLVMTargetMachineRef machine, int cells, const CodegenOptions *o, bool *libm);

LLVMTypeRef emit_type(const Emit *e, Type t);        /* in registers: bool is i1 */
LLVMTypeRef emit_memory_type(const Emit *e, Type t); /* in memory: bool is i8 */
LLVMValueRef emit_value(Emit *e, const Value *v);    /* the value that stands for `v` here */
/* Calls the intrinsic `name` overloaded on `ntypes` types. */
LLVMValueRef emit_intrinsic(Emit *e, LLVMBuilderRef b, const char *name, int ntypes, LLVMTypeRef *types, int n,
                            LLVMValueRef *args);
/* Declares (once) and calls a function of `n` arguments that only computes. */
LLVMValueRef emit_pure_call(Emit *e, const char *name, LLVMTypeRef result, int n, LLVMValueRef *args);
void emit_attribute(Emit *e, LLVMValueRef fn, unsigned index, const char *name, uint64_t value);
void emit_string_attribute(Emit *e, LLVMValueRef fn, const char *name, const char *value);
/* Adds the function `name` with the parameter types given, entry block and body block, and places e->entry and e->here
 * in them. */
LLVMValueRef emit_function(Emit *e, const char *name, int n, LLVMTypeRef *params);
/* The LLVM types of the kernel's arguments, in order; and their attributes, on parameters [0, nargs) of e->fn. */
void emit_arg_types(Emit *e, LLVMTypeRef *types);
void emit_arg_attributes(Emit *e);

/* The result of a pure op of arithmetic, mathematics, comparison, logic or convert. */
LLVMValueRef emit_arith(Emit *e, const Op *op);
LLVMValueRef emit_const(Emit *e, Type t, Const c);
/* The result of ranged, div.ranged and sqrt.ranged. */
LLVMValueRef emit_ranged(Emit *e, const Op *op);
/* The i1 of a guard (value_is_guard), made at the present place: one comparison for all operands of a type that are
 * tested alike. */
LLVMValueRef emit_guard(Emit *e, const Value *asked);

/* Integer x `op` y (LLVMAdd, LLVMSub, LLVMMul) at `p`: reused if it was computed before, constants kept apart, nsw
 * where the ranges allow. */
LLVMValueRef emit_int(Emit *e, Place *p, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y);
/* The greater of two signed integers at `p`. */
LLVMValueRef emit_int_max(Emit *e, Place *p, LLVMValueRef x, LLVMValueRef y);
/* Integer `x` as type `to` (sign-extended or cut). */
LLVMValueRef emit_int_cast(Emit *e, Place *p, LLVMValueRef x, LLVMTypeRef to);
LLVMValueRef emit_i64(const Emit *e, int64_t x);
Range emit_range(const Emit *e, LLVMValueRef v);
void emit_set_range(Emit *e, LLVMValueRef v, int64_t lo, int64_t hi);
BaseOffset emit_linear(const Emit *e, LLVMValueRef v);
/* An affine bound as i64, at the entry. */
LLVMValueRef emit_affine(Emit *e, Affine x);
/* Are those coordinates of the inside op within its box whose bits are set in `which`? */
LLVMValueRef emit_inside(Emit *e, const Op *op, unsigned which);
LLVMValueRef emit_select(Emit *e, const Op *op);
/* x clamped to [lo, hi], lo if that is empty; all of one type, at `p`. */
LLVMValueRef emit_clamp(Emit *e, Place *p, LLVMValueRef x, LLVMValueRef lo, LLVMValueRef hi);

/* A coordinate as a sum: what is the same in the innermost loop (NULL: nothing), what changes, an i32 that is the same
 * for all threads, and a constant. */
typedef struct RowSum {
  LLVMValueRef same;
  const Value *changes;
  int64_t c;
} RowSum;
/* Parts `v` in `loop` so, the sum made at `p`; false where it is made of something else. */
bool emit_row_sum(Emit *e, Place *p, const Value *v, const Op *loop, RowSum *row);
/* The integer `x` clamped to least..most at `p`. */
LLVMValueRef emit_cut(Emit *e, Place *p, LLVMValueRef x, int64_t least, int64_t most);
/* `x` clamped to lo..hi at `p`, all the same for all threads: in scalar registers. */
LLVMValueRef emit_brought(Emit *e, Place *p, LLVMValueRef x, LLVMValueRef lo, LLVMValueRef hi);
/* The result of clamp or guard `op`, whose bounds are `lo` and `hi`, where it is applied to such a row; NULL if not. */
LLVMValueRef emit_brought_row(Emit *e, const Op *op, LLVMValueRef lo, LLVMValueRef hi);
LLVMValueRef emit_map(Emit *e, const Op *op);
/* The last coordinate that clamp or guard `op` gives, at the entry. */
LLVMValueRef emit_map_last(Emit *e, const Op *op);

/* The innermost loop about `b`, NULL if there is none. */
const Op *emit_loop_about(const Block *b);
/* Is `v` the same in all runs through `loop`? Follows `depth` ops at most. */
bool emit_is_invariant(const Value *v, const Op *loop, int depth);
/* Is `v` computed outside of `loop`? */
bool emit_is_outside(const Value *v, const Op *loop);
/* Begins the loop `loop`, with the phis of `head` in place, behind block `before`; and ends it, where its last block is
 * `latch`. */
void emit_open_loop(Emit *e, EmitLoop *w, const Op *loop, LLVMBasicBlockRef before, LLVMBasicBlockRef head);
void emit_close_loop(Emit *e, LLVMBasicBlockRef latch);
/* Goes into the arms of the if whose branch is `branch`, or (`inside` false) leaves them. */
void emit_fork_loop(Emit *e, LLVMValueRef branch, bool inside);
/* A pointer to which `rest` cells are to be added for the address of the element of `buffer`, where the innermost loop
 * moves evenly along dimension 0; NULL if it does not. */
LLVMValueRef emit_running(Emit *e, int buffer, Value *const *coords, const int64_t *off, int64_t *rest);

/* The result of rem op `op` where it takes two values in turns from round to round of the innermost loop, without a
 * division; NULL if it does not. */
LLVMValueRef emit_turn(Emit *e, const Op *op);

/* Is a line of threads along the last dimension one wave of the target, or several? Then Target.thread gives the same
 * along the others for all threads of a wave, and LLVM knows. */
bool emit_lines_are_waves(const Emit *e);
/* May `v` differ between threads of a wave? */
bool emit_is_threads(Emit *e, const Value *v);
/* The coordinates of an access as uniform + c, and, in bytes and as an i64 of at most 32 bits, what the thread adds. */
typedef struct LaneAddress {
  LLVMValueRef uniform[MAX_RANK], bytes;
  int64_t c[MAX_RANK];
} LaneAddress;
/* Parts the coordinates and offsets of an access to `buffer`, where the target wants that (keep_offset) and the offset
 * is known to fit. */
bool emit_part_lane(Emit *e, int buffer, Value *const *coords, const int64_t *off, LaneAddress *out);

/* The coordinate `l` of rows, at `v`, where addresses are parted (emit_part_lane): where the innermost loop has so many
 * accesses that LLVM would keep more pointers to rows than there are registers, it is not told how rows follow. */
BaseOffset emit_lane_row(Emit *e, const Value *v, BaseOffset l);

/* Finds the loops of kernel `k` that do the same as others of it. */
Nests *nests_find(Arena *a, const Kernel *k);
/* Calls the function of `loop` if it is one of these; false if not. */
bool emit_nest(Emit *e, const Op *loop);

/* Prepares the buffers and arrays of the kernel at hand; false after an error. */
bool emit_memory_begin(Emit *e);
LLVMValueRef emit_load(Emit *e, const Op *op);
void emit_store(Emit *e, const Op *op);
LLVMValueRef emit_aload(Emit *e, const Op *op);
void emit_astore(Emit *e, const Op *op);
/* vload and avload: values[i] becomes result i. */
void emit_vload(Emit *e, const Op *op, LLVMValueRef *values);
void emit_vstore(Emit *e, const Op *op);
void emit_async_copy(Emit *e, const Op *op);
/* Bulk copies and ops on signals. */
void emit_bulk(Emit *e, const Op *op);
void emit_prefetch(Emit *e, const Op *op);
void emit_signal(Emit *e, const Op *op);
/* cluster.store. */
void emit_send(Emit *e, const Op *op);
/* Two waits, one behind the other. */
void emit_waits(Emit *e, const Op *one, const Op *two);

/* The distinct, empty metadata node that names a group of memory accesses. */
LLVMMetadataRef emit_access_group(Emit *e);

/* ---------------------------------------------------------------- targets */

/* What a target has for warps that work apart: signals, which are addresses in shared memory, bulk copies and their
 * groups, and ops on whole warps, as in ir/ops.def. Values are i32, but elect gives an i1. */
typedef struct WarpOps {
  void (*init)(Emit *e, LLVMValueRef signal, LLVMValueRef arrivals);
  void (*arrive)(Emit *e, LLVMValueRef signal);
  void (*expect)(Emit *e, LLVMValueRef signal, LLVMValueRef bytes);
  void (*wait)(Emit *e, LLVMValueRef signal, LLVMValueRef parity);
  void (*wait_both)(Emit *e, LLVMValueRef *signal, LLVMValueRef *parity); /* for two of them, asked together */
  void (*bulk_load)(Emit *e, LLVMValueRef to, LLVMValueRef from, LLVMValueRef bytes, LLVMValueRef signal);
  void (*bulk_store)(Emit *e, LLVMValueRef to, LLVMValueRef from, LLVMValueRef bytes);
  void (*bulk_prefetch)(Emit *e, LLVMValueRef from, LLVMValueRef bytes);
  void (*bulk_commit)(Emit *e);
  void (*bulk_wait)(Emit *e, int groups);
  void (*fence)(Emit *e);
  void (*registers)(Emit *e, bool more, int n);
  void (*barrier)(Emit *e);
  LLVMValueRef (*elect)(Emit *e);
  LLVMValueRef (*rank)(Emit *e);
  void (*barrier_cluster)(Emit *e);
  /* The `n` values of `bytes` each to the place of `to`, counted by `signal`, in the block of rank + `by`. */
  void (*send)(Emit *e, LLVMValueRef to, int n, LLVMValueRef *values, int bytes, LLVMValueRef signal, int by);
} WarpOps;

/* A machine that kernels are made for: data, and functions where data cannot say it. The emitter asks nothing else. */
struct Target {
  TargetInfo info;
  const Card *card; /* whose figures `info` has; NULL: the architecture's row's, or a device's own */
  const char *arch, *triple, *suffix;
  const char *cpu, *features;                     /* for LLVM's target machine */
  void (*estimate)(TargetInfo *t, int32_t cores); /* fills in the rates of so many cores; NULL: they are known */
  const char *foreign;                            /* host: why this CPU cannot run its code; NULL: it can */
  LLVMRelocMode reloc;
  unsigned global_space, shared_space; /* LLVM's address spaces */
  int64_t
      static_shared; /* bytes of shared memory that a kernel's object may fix; above it is for the launcher to give */
  bool shared_is_scratch;  /* the caller gives memory for the shared arrays */
  bool calls_nests;        /* loops of a kernel that do the same are a function, which it calls */
  bool carries;            /* loops of rows take over values from round to round */
  bool remainder_in_f64;   /* the library's f32 fmod is wrong for denormals, its f64 fmod is exact */
  bool bounded_exponent;   /* the library's f64 pow is wrong for exponents beyond 1e300: any beyond 1e25 gives the same
                              result */
  bool exp_flushes;        /* the library's f32 exp is 0 where the result is subnormal */
  bool extremes_by_select; /* LLVM's code for minimumNumber and maximumNumber is wrong for some operands that are NaN */
  bool ranges;             /* one instruction gives them, which LLVM does not know of: write_extremes is needed */
  bool bfloat_is_bits; /* a bf16 is an i16 of its bits, because what LLVM makes of its own type is wrong for subnormal
                          numbers, or calls functions that are not there */
  bool narrows_to_f16, narrows_to_bf16; /* one instruction converts any wider type, and rounds once */
  bool compares_sums; /* LLVM's passes for the target compare sums of integers with one another: hide_sums is needed */
  bool packs_f32;     /* instructions do two operations on f32: keep_single and pack_pairs are needed */
  bool twice_first;   /* of these, the ones whose first factor is one value twice need no wait behind them */
  bool loses_negations;  /* what assembles the artifact's text loses negations of integers: mend_negations is needed */
  bool optimised_behind; /* what assembles the artifact's text optimises it: LLVM need not number its values twice more
                            while it makes code */
  const char *straight_passes; /* LLVM's passes for a long function without loops, in LLVM's notation; NULL: those for
                                  all functions */
  bool invariant_loads;        /* loads of memory that nobody writes during the launch are marked so */
  EmitKind artifact;           /* EMIT_ASM: the artifact is text */
  bool linked;                 /* the object must go through the linker */
  const char *library;         /* file of libclc's bitcode, NULL: the C library has the functions */
  const char *(*math_name)(Arena *a, Opcode code, Type t);
  LLVMValueRef (*thread)(Emit *e,
                         int hw); /* i32: the thread's (the block's) number along hardware dimension 0 x, 1 y, 2 z */
  LLVMValueRef (*block)(Emit *e, int hw);
  void (*barrier)(Emit *e);
  void (*near_barrier)(Emit *e); /* the barrier between neighbouring warps; NULL: that of the block is taken */
  /* i32 of the lane whose number differs in `by` (1 to 31), or of the lane `by` lower (OP_SHUFFLE_UP) or higher, in
   * lanes where there is none of the same 32 any; NULL: there are no warps */
  LLVMValueRef (*shuffle)(Emit *e, Opcode code, LLVMValueRef x, int by);
  /* Copies of 4, 8 or 16 bytes to shared memory that run beside the thread; NULL: there are none. The thread's copies
   * since the last commit are a group; wait until only its `groups` latest are unfinished. */
  void (*async_copy)(Emit *e, LLVMValueRef to, LLVMValueRef from, int bytes);
  void (*async_commit)(Emit *e);
  void (*async_wait)(Emit *e, int groups);
  const WarpOps *warps;         /* NULL: there are none */
  const char *warp_features;    /* for LLVM's target machine where they are used */
  const char *cluster_features; /* the same where blocks run in clusters */
  /* The bits of `x` where those of `mask` are set, else those of `y`, all i32, in one instruction that LLVM does not
   * take for a select; NULL: there is none. */
  LLVMValueRef (*blend)(Emit *e, LLVMValueRef mask, LLVMValueRef x, LLVMValueRef y);
  /* 1 / x (OP_DIV) or 1 / sqrt(x) (OP_RSQRT) of a ranged f32 or f64, so exact that emit-ranged.c's steps from it round
   * correctly; in f64 the lower 32 bits are 0 if there is fma_up. NULL: there is none. */
  LLVMValueRef (*approximate)(Emit *e, Opcode code, Type t, LLVMValueRef x);
  /* x y + z of type `t` rounded up. NULL: there is none, and the steps are others. */
  LLVMValueRef (*fma_up)(Emit *e, Type t, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z);
  /* The pointer `bytes`, an i64, behind pointer `p` to global memory, which may be one to another buffer; added at `b`
   * in a way that LLVM does not see through. NULL: loops are left to LLVM. */
  LLVMValueRef (*hidden_add)(Emit *e, LLVMBuilderRef b, LLVMValueRef p, LLVMValueRef bytes);
  /* An element of type `t`, as it is in memory, loaded from `p`, where nobody writes while the kernel runs, with what
   * is around it brought to a cache; NULL: it is loaded like others. */
  LLVMValueRef (*load_around)(Emit *e, Type t, LLVMValueRef p);
  /* What the assembly says of kernel `kernel` (target_resources); NULL: it says nothing. */
  bool (*resources)(const char *assembly, const char *kernel, KernelResources *out);
  /* Has a kernel of the assembly or object of `n` bytes private memory? NULL: it says nothing. Where this is set,
   * part_arcs is tried on kernels that have. */
  bool (*has_private)(const char *code, size_t n);
  /* i32 `x`, of which LLVM is to know nothing but that it has 32 bits, so that it does not add it to the uniform part
   * of an address. NULL: loads and stores take no offset beside a base. */
  LLVMValueRef (*keep_offset)(Emit *e, LLVMValueRef x);
  /* Are offsets made anew where they are used, and not kept: threads have few registers? */
  bool makes_anew;
  /* i32 or i64 `x` as the first lane of the wave has it, made at `b`; there with keep_offset. */
  LLVMValueRef (*first_lane)(Emit *e, LLVMBuilderRef b, LLVMValueRef x);
  /* i32 or i64 `x`, the same for all threads, of which LLVM is not to know that it is what the call with another `n`
   * gives, nor how it comes from `x`.
   * NULL: predicates are no masks in scalar registers. */
  LLVMValueRef (*renew)(Emit *e, LLVMValueRef x, unsigned n);
  /* `x` of 32 or 64 bits through no instruction, made where it stands and not in a branch behind that, as LLVM would;
   * NULL: stores may take with them what they store. */
  LLVMValueRef (*settle)(Emit *e, LLVMValueRef x);
  /* Adds the function of kernel e->k: sets fn, args, entry and here (by emit_function). */
  void (*begin)(Emit *e);
  /* After the body was emitted and closed. */
  void (*end)(Emit *e);
};

/* One architecture of the table in target.c. */
typedef struct Arch {
  const char *name;
  const char *const *cpus;                            /* NULL-terminated */
  const char *default_cpu;                            /* NULL: the machine's own */
  const char *components;                             /* what LLVM calls it */
  void (*init)(void);                                 /* registers it with LLVM */
  bool (*make)(Arena *a, const char *cpu, Target *t); /* fills t for one of cpus; false if there is no such */
} Arch;
/* All of them, in the order in which they are listed. */
#define ARCHES(row) row(nvptx) row(amdgpu) row(host)
#define ARCH(name) extern const Arch arch_##name;
ARCHES(ARCH)
#undef ARCH
/* The `shuffle` of amdgpu with waves of 64 lanes, with wave shifts, and of 32, with v_permlanex16: amdgpu-lanes.c. */
LLVMValueRef amdgpu_shuffle_64(Emit *e, Opcode code, LLVMValueRef x, int by);
LLVMValueRef amdgpu_shuffle_32(Emit *e, Opcode code, LLVMValueRef x, int by);
/* The `warps` of nvptx: nvptx-warps.c. */
extern const WarpOps nvptx_warps;
/* Instructions of function `f`. */
int64_t function_length(LLVMValueRef f);
/* The `resources` and `has_private` of amdgpu: amdgpu-resources.c. */
bool amdgpu_resources(const char *assembly, const char *kernel, KernelResources *out);
bool amdgpu_has_private(const char *code, size_t n);
/* What libclc (an OpenCL name, mangled) and the C library call the function of op `code` on type `t`: target.c. */
const char *libclc_name(Arena *a, Opcode code, Type t);
const char *libm_name(Arena *a, Opcode code, Type t);
/* Registers all architectures with LLVM, once in a process. */
void target_init_llvm(void);

/* ---------------------------------------------------------------- codegen.c, libclc.c, long-sums.c */

/* A target machine for `t`; NULL after an error. Dispose with LLVMDisposeTargetMachine. */
LLVMTargetMachineRef target_machine(Arena *a, Diags *d, const Target *t, int opt_level);
/* Links into `m` what it calls of libclc's bitcode `file`, and makes all but kernels internal. any_subnormals: kernels
 * may take subnormal f32 for zero. */
bool libclc_link(Arena *a, Diags *d, LLVMModuleRef m, const char *file, bool any_subnormals);
/* Hides the sums of integers from memory in `m` from the optimiser, in functions of many; and shows them again to the
 * code generator, as sums of vectors of one element. */
void hide_sums(Arena *a, LLVMModuleRef m);
void show_sums(LLVMModuleRef m);

/* ---------------------------------------------------------------- pairs-find.c, pairs.c, arcs.c */

/* Two f32 values of a function that are computed as one of type <2 x float>: by one instruction (packed), or one by one
 * in registers that follow each other (apart). */
typedef enum PairKind { PAIR_PHI, PAIR_PACKED, PAIR_APART, PAIR_DROPPED } PairKind;
typedef struct Pair {
  PairKind kind;
  bool swapped;        /* operands of the second are the other way round */
  bool wanted;         /* something packed takes it */
  int uses;            /* how often, phis thrice */
  LLVMValueRef old[2]; /* the values as they were found */
  LLVMValueRef v[2];   /* what stands for them: themselves, or halves of `whole` once it is made */
  LLVMValueRef whole;
} Pair;
/* Two values that are in no pair, moved together for packed arithmetic of a block. */
typedef struct JoinedPair {
  LLVMValueRef v[2];
  LLVMBasicBlockRef block;
  int uses;
  bool pays;
  LLVMValueRef whole;
  struct JoinedPair *next; /* with the same v[0] */
} JoinedPair;
typedef struct Pairs {
  Arena *arena;
  LLVMContextRef context;
  LLVMBuilderRef b;
  LLVMValueRef f;
  LLVMTypeRef type; /* <2 x float> */
  unsigned space;   /* of global memory */
  bool twice_first; /* as the target has it */
  PtrMap hidden;    /* constant -> what it is hidden in */
  PtrMap rooted;    /* value -> is something of it needed in its block? */
  int n;
  Pair **all;
  PtrMap of;    /* value -> its pair */
  PtrMap nodes; /* pairs that are made -> themselves */
  int njoined;
  JoinedPair **all_joined;
  PtrMap joined; /* first value -> the latest of those with it */
} Pairs;
/* What two operands are together. */
typedef enum PairForm { PAIR_NONE, PAIR_OF_CONSTANTS, PAIR_OF_ONE, PAIR_KNOWN } PairForm;
/* Finds the pairs of `f`; the number of those that are packed. */
int pairs_find(Pairs *p, LLVMValueRef f);
/* Drops a pair, and what it leaves without a pair for an operand. */
void pairs_drop(Pairs *p, Pair *one);
bool pair_is_f32(LLVMValueRef v);
/* May instruction `v` not pass others that may not? Two such are no pair: one is behind the other. */
bool pair_stays(LLVMValueRef v);
/* Operands of `v` that are values, without a function that it calls; number `i` of half 0 or 1 of a pair. */
int pair_operands(LLVMValueRef v);
LLVMValueRef pair_operand(const Pair *one, int half, int i);
PairForm pair_form(const Pairs *p, LLVMValueRef x, LLVMValueRef y);
/* What joins `x` and `y` in `block`; NULL: nothing does. */
JoinedPair *pair_joined(const Pairs *p, LLVMValueRef x, LLVMValueRef y, LLVMBasicBlockRef block);
/* The pair whose first value is `x` and whose second is `y`; NULL if there is none. */
Pair *pair_of(const Pairs *p, LLVMValueRef x, LLVMValueRef y);
/* Keeps LLVM's vectorizer from the functions of `m` that have no values of 16 bits, which it packs well; pack_pairs is
 * for these alone. */
void keep_single(LLVMModuleRef m);
/* Computes f32 values of `m` in pairs, for target `t`. */
void pack_pairs(Arena *a, LLVMModuleRef m, const Target *t);
/* Has values that go round loops of the function `f` of AMD module `m` moved at the end of each round (arcs.c). */
void part_arcs(Arena *a, LLVMModuleRef m, LLVMValueRef f);
/* ---------------------------------------------------------------- extremes.c */

/* Puts what a target of `ranges` has for them, or comparisons, for the calls of llvm.minimumnum and llvm.maximumnum of
 * f32 and f64 in `m`, whose other passes are done, and for the extremes of all lanes that these have made of them. */
void write_extremes(LLVMModuleRef m);

/* ---------------------------------------------------------------- negations.c, link.c */

/* Puts ~x + 1 for -x of 16 and 32 bits in all functions of the PTX *text, of *size bytes, that take the minimum or
 * maximum of signed integers. */
void mend_negations(Arena *a, char **text, size_t *size);
/* The object of `n` bytes linked into a code object, by ld.lld in a process of its own. */
bool link_code_object(Arena *a, Diags *d, const char *object, size_t n, char **bytes, size_t *size);

#endif
