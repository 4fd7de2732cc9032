/* backend/emit.h: declarations that the files of this folder share. Table of contents:
 *
 *   the emitter's state        Emit, Place
 *   table.c                    maps keyed by pointers, value numbers with scopes
 *   emit-base.c                types, attributes, functions, calls, values; each file calls only those listed above it
 *   emit-arith.c               arithmetic, mathematics, conversions
 *   emit-index.c               integers with known ranges, affine bounds, coordinates (inside, idx.*)
 *   emit-row.c                 rows of a loop, as a loop-invariant part of 64 bits and a changing part of 32 bits
 *   emit-select.c              selects by tests of coordinates
 *   emit-memory.c              buffers and arrays
 *   emit-lane.c                addresses as a uniform base and a thread's offset
 *   emit-loop.c                values that loops change, and addresses that they advance
 *   emit-ranged.c              roots and quotients by short sequences, and their guards
 *   nests.h                    equal loops as one function
 *   emit.c                     modules, kernels, structure
 *   targets                    struct Target and its table (target.c, with names of functions; nvptx.c, amdgpu.c,
 *                              host.c)
 *   codegen.c libclc.c         from LLVM IR to bytes
 *   pipeline.c                 LLVM's passes on the way
 *   pairs-find.c pairs.c       f32 arithmetic two at a time
 *   extremes.c                 minimumNumber and maximumNumber on x86
 *   arcs.c                     copies of loop-carried values
 *   negations.c link.c         corrections of PTX, linking of code objects */
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

/* The identity of a computation: an operation and its operands. */
typedef struct ValueKey {
  uintptr_t op, a, b, c;
} ValueKey;
/* Computations already emitted whose results may be used again. Entries made after value_mark are gone after
 * value_release, so values computed inside a nested block are not used outside it. Start with {0}. */
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

/* A global buffer of the current kernel: a point lies at origin + sum of coordinate[d] * stride[d] elements. start: the
 * argument, from which the origin is `shift` elements away. */
typedef struct BufferValue {
  LLVMValueRef origin, start, shift;
  LLVMValueRef stride[MAX_RANK];
} BufferValue;

/* A runner: a pointer that a loop advances, for cell base[0], base[1], ... of buffer `buffer`. `last` points to row
 * `row`, counted from the row at which the loop's round begins; `phi` points to row `first`, where rounds begin. */
typedef struct Runner {
  int buffer;
  LLVMValueRef base[MAX_RANK], phi, last;
  int64_t first, row;
} Runner;
/* A number that alternates between value[0] and value[1] from round to round of a loop; `phi` is that of the round. */
typedef struct Turn {
  LLVMValueRef phi;
  int64_t value[2];
} Turn;
/* The alignment in bytes of the scratch memory. */
enum { SCRATCH_ALIGNMENT = 64 };

/* A loop that is being emitted, within loop `about`. */
typedef struct EmitLoop {
  struct EmitLoop *about;
  const Op *loop;
  LLVMBasicBlockRef before, head;
  int accesses;         /* to global memory, and tests of coordinates; < 0: not counted */
  Place start;          /* at the end of `before` */
  LLVMBuilderRef chain; /* where runners are advanced */
  LLVMValueRef fork;    /* the branch of the `if` in whose arm the present place is, NULL: none within the loop */
  int32_t n;
  Runner *runners;
  int32_t nturns;
  Turn *turns;
} EmitLoop;

/* The row by which the last select was made: its coordinate, the part of it that changes in the loop, the block of the
 * select, the row's number, and how many rows there were before (Target.renew). */
typedef struct RenewedRow {
  const Value *coordinate;
  LLVMValueRef changes;
  LLVMBasicBlockRef block;
  LLVMValueRef value;
  unsigned n;
} RenewedRow;

/* Equal loops of a kernel: nests.h. */
typedef struct Nests Nests;

/* How many block numbers a kernel for this CPU gets. */
static inline int host_blocks(const Kernel *k) { return k->rank > GRID_RANK ? k->rank : GRID_RANK; }

/* The emission of one module. Members after `fn` belong to the current kernel. */
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
  bool reduces; /* it is a reduction's: infinities are identities, and NaN is looked for, under fast-math too */
  LLVMValueRef fn;
  LLVMValueRef *args;           /* kernel argument i */
  LLVMValueRef block[MAX_RANK]; /* set by the target's begin where blocks are arguments, else NULL */
  LLVMValueRef scratch;         /* likewise: memory for the shared arrays */
  Place entry;                  /* before anything else: constants of the launch, private arrays */
  Place here;                   /* where the body's next instruction goes */
  PtrMap values;                /* Value -> LLVMValueRef */
  PtrMap threads;               /* Value -> the answer of emit_is_threads */
  PtrMap ranges;                /* LLVMValueRef -> Range */
  PtrMap linears;               /* LLVMValueRef -> BaseOffset, where it is not itself + 0 */
  BufferValue *buffers;         /* by buffer index; origin NULL: not an argument */
  const Kernel *bound;          /* the kernel whose buffers those are */
  LLVMValueRef *arrays;         /* by array index: its first cell */
  EmitLoop *inner;              /* the innermost loop, NULL: none */
  Nests *nests;                 /* loops that are calls of a function, NULL: none */
  RenewedRow row;
  LLVMValueRef (*guard)(struct Emit *e, const Value *test); /* emit_guard: guards are made where they are used */
  int32_t cells;                                            /* that parallel loops make at once, 0: LLVM chooses */
  int32_t ngroups;            /* parallel loops around the present place, outermost first */
  LLVMMetadataRef groups[16]; /* their access groups */
} Emit;

/* ---------------------------------------------------------------- emission: emit*.c */

/* Runs `m` through LLVM's passes of the level in `o`; `machine` is the target's. NULL, or LLVM's error, which the
 * caller owns. (pipeline.c) */
LLVMErrorRef pipeline_run(Arena *a, const Target *t, LLVMModuleRef m, LLVMTargetMachineRef machine,
                          const CodegenOptions *o);

/* The passes that pipeline_run runs, in LLVM's own notation; NULL: none. */
const char *pipeline_of(const CodegenOptions *o);

/* The module's kernels, or those in o->only, as LLVM IR in `context`, verified. NULL after an error. Parallel loops
 * make `cells` cells at once (0: LLVM chooses, which takes LLVM longer). Sets *libm if functions of the target's
 * mathematical library are called. */
LLVMModuleRef emit_module(Arena *a, Diags *d, const Module *m, const Target *t, LLVMContextRef context,
                          LLVMTargetMachineRef machine, int cells, const CodegenOptions *o, bool *libm);

LLVMTypeRef emit_type(const Emit *e, Type t);        /* in registers: bool is i1 */
LLVMTypeRef emit_memory_type(const Emit *e, Type t); /* in memory: bool is i8 */
LLVMValueRef emit_value(Emit *e, const Value *v);    /* the value that stands for `v` here */
/* Calls the intrinsic `name` overloaded on `ntypes` types. */
LLVMValueRef emit_intrinsic(Emit *e, LLVMBuilderRef b, const char *name, int ntypes, LLVMTypeRef *types, int n,
                            LLVMValueRef *args);
/* Declares (once) and calls a function of `n` arguments without side effects. */
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
/* The i1 of a guard (value_is_guard), made at the present place: one comparison for all operands of a type that have
 * the same test. */
LLVMValueRef emit_guard(Emit *e, const Value *asked);

/* Integer x `op` y (LLVMAdd, LLVMSub, LLVMMul) at `p`: reused if it was computed before, with the constant kept apart,
 * and nsw where the ranges allow it. */
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

/* A coordinate as a sum: a part that is the same in the innermost loop (NULL: none), a part that changes, which is an
 * i32 that is the same for all threads, and a constant. */
typedef struct RowSum {
  LLVMValueRef same;
  const Value *changes;
  int64_t c;
} RowSum;
/* Splits `v` in `loop` into these parts, at `p`; false if `v` is no such sum. */
bool emit_row_sum(Emit *e, Place *p, const Value *v, const Op *loop, RowSum *row);
/* The integer `x` clamped to least..most at `p`. */
LLVMValueRef emit_cut(Emit *e, Place *p, LLVMValueRef x, int64_t least, int64_t most);
/* `x` clamped to lo..hi at `p`, all the same for all threads: in scalar registers. */
LLVMValueRef emit_brought(Emit *e, Place *p, LLVMValueRef x, LLVMValueRef lo, LLVMValueRef hi);
/* The result of clamp or guard `op`, whose bounds are `lo` and `hi`, if its operand is such a row; else NULL. */
LLVMValueRef emit_brought_row(Emit *e, const Op *op, LLVMValueRef lo, LLVMValueRef hi);
LLVMValueRef emit_map(Emit *e, const Op *op);
/* The last coordinate that clamp or guard `op` can give, at the entry. */
LLVMValueRef emit_map_last(Emit *e, const Op *op);

/* The innermost loop around `b`, NULL if there is none. */
const Op *emit_loop_about(const Block *b);
/* Is `v` invariant in `loop`? Looks through `depth` ops at most. */
bool emit_is_invariant(const Value *v, const Op *loop, int depth);
/* Is `v` computed outside of `loop`? */
bool emit_is_outside(const Value *v, const Op *loop);
/* Begins the loop `loop`, with the phis of `head` in place, after block `before`; ends it, with last block `latch`. */
void emit_open_loop(Emit *e, EmitLoop *w, const Op *loop, LLVMBasicBlockRef before, LLVMBasicBlockRef head);
void emit_close_loop(Emit *e, LLVMBasicBlockRef latch);
/* Enters the arms of the `if` whose branch is `branch`, or (`inside` false) leaves them. */
void emit_fork_loop(Emit *e, LLVMValueRef branch, bool inside);
/* A pointer from which the element of `buffer` is `rest` cells away, if the innermost loop moves evenly along dimension
 * 0; else NULL. */
LLVMValueRef emit_running(Emit *e, int buffer, Value *const *coords, const int64_t *off, int64_t *rest);

/* The result of rem op `op` without a division, if the result alternates between two values from round to round of the
 * innermost loop; else NULL. */
LLVMValueRef emit_turn(Emit *e, const Op *op);

/* Is a line of threads along the last dimension one wave of the target, or several? Then Target.thread gives the same
 * number along the other dimensions for all threads of a wave, and LLVM knows that. */
bool emit_lines_are_waves(const Emit *e);
/* May `v` differ between threads of a wave? */
bool emit_is_threads(Emit *e, const Value *v);
/* The coordinates of an access as uniform + c; and the bytes that the thread adds, as an i64 of at most 32 bits. */
typedef struct LaneAddress {
  LLVMValueRef uniform[MAX_RANK], bytes;
  int64_t c[MAX_RANK];
} LaneAddress;
/* Splits the coordinates and offsets of an access to `buffer` this way, if the target wants that (keep_offset) and the
 * offset is known to fit. */
bool emit_part_lane(Emit *e, int buffer, Value *const *coords, const int64_t *off, LaneAddress *out);

/* The coordinate `l` of rows, at `v`, where addresses have a uniform part (emit_part_lane). If the innermost loop has
 * so many accesses that LLVM would keep more pointers to rows than there are registers, LLVM is not told how the rows
 * follow. */
BaseOffset emit_lane_row(Emit *e, const Value *v, BaseOffset l);

/* Finds the loops of kernel `k` that are equal to others of it. */
Nests *nests_find(Arena *a, const Kernel *k);
/* Calls the function of `loop` if it is one of these; else returns false. */
bool emit_nest(Emit *e, const Op *loop);

/* Prepares the buffers and arrays of the current kernel; false after an error. */
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
/* Two waits, one after the other. */
void emit_waits(Emit *e, const Op *one, const Op *two);

/* The distinct, empty metadata node that names a group of memory accesses. */
LLVMMetadataRef emit_access_group(Emit *e);

/* ---------------------------------------------------------------- targets */

/* The ops of a target for pipelines of warps: signals, which are addresses in shared memory, bulk copies and their
 * groups, and ops on whole warps, as in ir/ops.def. Values are i32, but elect gives an i1. */
typedef struct WarpOps {
  void (*init)(Emit *e, LLVMValueRef signal, LLVMValueRef arrivals);
  void (*arrive)(Emit *e, LLVMValueRef signal);
  void (*expect)(Emit *e, LLVMValueRef signal, LLVMValueRef bytes);
  void (*wait)(Emit *e, LLVMValueRef signal, LLVMValueRef parity);
  void (*wait_both)(Emit *e, LLVMValueRef *signal, LLVMValueRef *parity); /* for two of them, tested together */
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
  /* Stores the `n` values of `bytes` each to `to`, counted by `signal`, in the block of rank + `by`. */
  void (*send)(Emit *e, LLVMValueRef to, int n, LLVMValueRef *values, int bytes, LLVMValueRef signal, int by);
} WarpOps;

/* A machine for which kernels are made: data, and functions where data is not enough. The emitter knows nothing else of
 * it. */
struct Target {
  TargetInfo info;
  const Card *card; /* the card whose figures `info` has; NULL: the architecture's row's, or a device's own */
  const char *arch, *triple, *suffix;
  const char *cpu, *features;                     /* for LLVM's target machine */
  void (*estimate)(TargetInfo *t, int32_t cores); /* fills in the rates of so many cores; NULL: they are known */
  const char *foreign;                            /* host: why this CPU cannot run its code; NULL: it can */
  LLVMRelocMode reloc;
  unsigned global_space, shared_space; /* LLVM's address spaces */
  int64_t
      static_shared; /* bytes of shared memory that a kernel's object may fix; the launcher provides more than that */
  bool shared_is_scratch;  /* the caller gives memory for the shared arrays */
  bool calls_nests;        /* equal loops of a kernel are one function, which it calls */
  bool carries;            /* loops of rows carry values from round to round */
  bool remainder_in_f64;   /* the library's f32 fmod is wrong for denormals, its f64 fmod is exact */
  bool bounded_exponent;   /* the library's f64 pow is wrong for exponents beyond 1e300: any beyond 1e25 gives the same
                              result */
  bool exp_flushes;        /* the library's f32 exp is 0 where the result is subnormal */
  bool extremes_by_select; /* LLVM's code for minimumNumber and maximumNumber is wrong for some operands that are NaN */
  bool ranges;             /* one instruction computes these, but LLVM does not know it: write_extremes is needed */
  bool bfloat_is_bits;     /* a bf16 is an i16 of its bits, because LLVM's code for its own type is wrong for subnormal
                              numbers, or calls functions that do not exist */
  bool narrows_to_f16, narrows_to_bf16; /* one instruction converts any wider type, and rounds once */
  bool compares_sums; /* LLVM's passes for the target compare sums of integers with one another: hide_sums is needed */
  bool packs_f32;     /* instructions do two operations on f32: keep_single and pack_pairs are needed */
  bool twice_first; /* of these, instructions whose first factor has one value in both halves need no wait after them */
  bool loses_negations; /* the assembler of the artifact's text loses negations of integers: mend_negations is needed */
  bool optimised_behind; /* the assembler of the artifact's text optimises it: LLVM need not number its values twice
                            more while it makes code */
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
  void (*near_barrier)(Emit *e); /* the barrier between neighbouring warps; NULL: the block's barrier is used */
  /* i32 of the lane whose number differs in `by` (1 to 31), or of the lane `by` lower (OP_SHUFFLE_UP) or higher; any
   * value in lanes for which there is no such lane among the same 32; NULL: there are no warps */
  LLVMValueRef (*shuffle)(Emit *e, Opcode code, LLVMValueRef x, int by);
  /* Asynchronous copies of 4, 8 or 16 bytes to shared memory; NULL: there are none. The thread's copies since the last
   * commit are a group; async_wait waits until only its `groups` latest groups are unfinished. */
  void (*async_copy)(Emit *e, LLVMValueRef to, LLVMValueRef from, int bytes);
  void (*async_commit)(Emit *e);
  void (*async_wait)(Emit *e, int groups);
  const WarpOps *warps;         /* NULL: there are none */
  const char *warp_features;    /* for LLVM's target machine where they are used */
  const char *cluster_features; /* the same where blocks run in clusters */
  /* The bits of `x` where those of `mask` are set, else those of `y`, all i32, in one instruction that LLVM does not
   * take for a select; NULL: there is none. */
  LLVMValueRef (*blend)(Emit *e, LLVMValueRef mask, LLVMValueRef x, LLVMValueRef y);
  /* An approximation of 1 / x (OP_DIV) or 1 / sqrt(x) (OP_RSQRT) of a ranged f32 or f64, exact enough for the steps of
   * emit-ranged.c to round correctly; in f64 the lower 32 bits are 0 if there is fma_up. NULL: there is none. */
  LLVMValueRef (*approximate)(Emit *e, Opcode code, Type t, LLVMValueRef x);
  /* x y + z of type `t` rounded up. NULL: there is none, and the steps of emit-ranged.c are different. */
  LLVMValueRef (*fma_up)(Emit *e, Type t, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z);
  /* The pointer `bytes`, an i64, after pointer `p` to global memory, possibly to another buffer; added at `b` in a way
   * that LLVM does not see through. NULL: loops are left to LLVM. */
  LLVMValueRef (*hidden_add)(Emit *e, LLVMBuilderRef b, LLVMValueRef p, LLVMValueRef bytes);
  /* An element of type `t`, as it is in memory, loaded from `p`, to which nobody writes while the kernel runs; the
   * memory around it is prefetched to a cache; NULL: it is loaded like others. */
  LLVMValueRef (*load_around)(Emit *e, Type t, LLVMValueRef p);
  /* Reads the resources of kernel `kernel` from the assembly (target_resources); NULL: it does not state them. */
  bool (*resources)(const char *assembly, const char *kernel, KernelResources *out);
  /* Does a kernel of the assembly or object of `n` bytes have private memory? NULL: it does not say. If this is set,
   * part_arcs is tried on kernels that do. */
  bool (*has_private)(const char *code, size_t n);
  /* i32 `x`, of which LLVM is to know nothing but that it has 32 bits, so that it does not add it to the uniform part
   * of an address. NULL: loads and stores take no offset beside a base. */
  LLVMValueRef (*keep_offset)(Emit *e, LLVMValueRef x);
  /* Are offsets computed again where they are used, and not kept, because threads have few registers? */
  bool makes_anew;
  /* i32 or i64 `x` of the first lane of the wave, made at `b`; not NULL if keep_offset is not. */
  LLVMValueRef (*first_lane)(Emit *e, LLVMBuilderRef b, LLVMValueRef x);
  /* i32 or i64 `x`, the same for all threads. LLVM is not to know that the result equals that of a call with another
   * `n`, nor how it depends on `x`. NULL: predicates are no masks in scalar registers. */
  LLVMValueRef (*renew)(Emit *e, LLVMValueRef x, unsigned n);
  /* `x` of 32 or 64 bits through no instruction, computed at the present place and not sunk into a later branch, as
   * LLVM would do; NULL: values may be sunk to their stores. */
  LLVMValueRef (*settle)(Emit *e, LLVMValueRef x);
  /* Adds the function of kernel e->k: sets fn, args, entry and here (by emit_function). */
  void (*begin)(Emit *e);
  /* Called after the body was emitted and closed. */
  void (*end)(Emit *e);
};

/* One architecture of the table in target.c. */
typedef struct Arch {
  const char *name;
  const char *const *cpus;                            /* NULL-terminated */
  const char *default_cpu;                            /* NULL: the machine's own */
  const char *components;                             /* LLVM's name for it */
  void (*init)(void);                                 /* registers it with LLVM */
  bool (*make)(Arena *a, const char *cpu, Target *t); /* fills t for one of cpus; false if there is none of that name */
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
/* The names of the function for op `code` on type `t` in libclc (an OpenCL name, mangled) and in the C library:
 * target.c. */
const char *libclc_name(Arena *a, Opcode code, Type t);
const char *libm_name(Arena *a, Opcode code, Type t);
/* Registers all architectures with LLVM, once in a process. */
void target_init_llvm(void);

/* ---------------------------------------------------------------- codegen.c, libclc.c, long-sums.c */

/* A target machine for `t`; NULL after an error. Dispose with LLVMDisposeTargetMachine. */
LLVMTargetMachineRef target_machine(Arena *a, Diags *d, const Target *t, int opt_level);
/* Links the functions of libclc's bitcode `file` that `m` calls into `m`, and makes all but kernels internal.
 * any_subnormals: kernels may take subnormal f32 for zero. */
bool libclc_link(Arena *a, Diags *d, LLVMModuleRef m, const char *file, bool any_subnormals);
/* Hides the sums of integers from memory in `m` from the optimiser, in functions that have many of them; show_sums
 * gives them to the code generator, as sums of vectors of one element. */
void hide_sums(Arena *a, LLVMModuleRef m);
void show_sums(LLVMModuleRef m);

/* ---------------------------------------------------------------- pairs-find.c, pairs.c, arcs.c */

/* Two f32 values of a function that are computed as one of type <2 x float>: by one instruction (packed), or one by one
 * in consecutive registers (apart). */
typedef enum PairKind { PAIR_PHI, PAIR_PACKED, PAIR_APART, PAIR_DROPPED } PairKind;
typedef struct Pair {
  PairKind kind;
  bool swapped;        /* the operands of the second value are in reverse order */
  bool wanted;         /* a packed instruction uses it */
  int uses;            /* how often, phis thrice */
  LLVMValueRef old[2]; /* the values as they were found */
  LLVMValueRef v[2];   /* their replacements: the values themselves, or halves of `whole` once it is made */
  LLVMValueRef whole;
} Pair;
/* Two values that are in no pair and are moved together for packed arithmetic of a block. */
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
  PtrMap hidden;    /* constant -> the value in which it is hidden */
  PtrMap rooted;    /* value -> is one of its uses needed in its block? */
  int n;
  Pair **all;
  PtrMap of;    /* value -> its pair */
  PtrMap nodes; /* pairs that are made -> themselves */
  int njoined;
  JoinedPair **all_joined;
  PtrMap joined; /* first value -> the latest of those with it */
} Pairs;
/* The form of two operands together. */
typedef enum PairForm { PAIR_NONE, PAIR_OF_CONSTANTS, PAIR_OF_ONE, PAIR_KNOWN } PairForm;
/* Finds the pairs of `f`; returns the number of packed ones. */
int pairs_find(Pairs *p, LLVMValueRef f);
/* Drops a pair, and pairs that lose a pair as an operand by it. */
void pairs_drop(Pairs *p, Pair *one);
bool pair_is_f32(LLVMValueRef v);
/* Must instruction `v` keep its order with others like it? Two such instructions are no pair: one comes after the
 * other. */
bool pair_stays(LLVMValueRef v);
/* The number of operands of `v` that are values, without the function that it calls; operand `i` of half 0 or 1 of a
 * pair. */
int pair_operands(LLVMValueRef v);
LLVMValueRef pair_operand(const Pair *one, int half, int i);
PairForm pair_form(const Pairs *p, LLVMValueRef x, LLVMValueRef y);
/* The joined pair of `x` and `y` in `block`; NULL if there is none. */
JoinedPair *pair_joined(const Pairs *p, LLVMValueRef x, LLVMValueRef y, LLVMBasicBlockRef block);
/* The pair whose first value is `x` and whose second is `y`; NULL if there is none. */
Pair *pair_of(const Pairs *p, LLVMValueRef x, LLVMValueRef y);
/* Keeps LLVM's vectorizer from the functions of `m` without values of 16 bits, which are the ones that pack_pairs is
 * for; values of 16 bits the vectorizer packs well. */
void keep_single(LLVMModuleRef m);
/* Computes f32 values of `m` in pairs, for target `t`. */
void pack_pairs(Arena *a, LLVMModuleRef m, const Target *t);
/* Copies loop-carried values of the function `f` of AMD module `m` at the end of each round (arcs.c). */
void part_arcs(Arena *a, LLVMModuleRef m, LLVMValueRef f);
/* ---------------------------------------------------------------- extremes.c */

/* Replaces the calls of llvm.minimumnum and llvm.maximumnum of f32 and f64 in `m`, whose other passes are done, and the
 * extremes of all lanes that these passes have made of them: by the instruction of a target with `ranges`, or by
 * comparisons. */
void write_extremes(LLVMModuleRef m);

/* ---------------------------------------------------------------- negations.c, link.c */

/* Replaces -x of 16 and 32 bits by ~x + 1 in all functions of the PTX *text, of *size bytes, that take the minimum or
 * maximum of signed integers. */
void mend_negations(Arena *a, char **text, size_t *size);
/* The object of `n` bytes linked into a code object, by ld.lld in a process of its own. */
bool link_code_object(Arena *a, Diags *d, const char *object, size_t n, char **bytes, size_t *size);

#endif
