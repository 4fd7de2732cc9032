/* backend/backend.h: kernel IR -> LLVM IR -> artifact.
 *
 *   emit*.c      the one emitter of LLVM IR: structure, arithmetic, coordinates, memory (emit.h)
 *   nvptx.c      target: NVIDIA, PTX
 *   amdgpu.c     target: AMD, code objects
 *   host.c       target: this CPU, objects
 *   nvptx-warps.c       producer warps and signals on NVIDIA, from sm_90 on
 *   amdgpu-lanes.c      exchange of values between lanes on AMD
 *   amdgpu-resources.c  the registers and the memory of a kernel, from its assembly, on AMD
 *   cards.def    facts of cards, a row each      cards.c   the figures of a card for passes and for the model
 *   target.c     the table of targets, and choosing one
 *   codegen.c    optimising, and writing assembly, objects, code objects
 *   pipeline.c   LLVM's passes that optimise
 *   libclc.c     mathematical functions from libclc's bitcode; libclc-embedded.c  the bitcode as part of the program
 *   long-sums.c  many sums of integers, hidden from LLVM
 *   extremes.c   minimumNumber and maximumNumber, where LLVM's code for them is long
 *   arcs.c       loop-carried values, copied once a round where kernels would have private memory
 *   negations.c  negations that NVIDIA's assembler would lose
 *   link.c       code objects through ld.lld
 *   jit.c        the host target in this process (LLVM ORC)
 */
#ifndef STC_BACKEND_H
#define STC_BACKEND_H

#include "ir/ir.h"

/* A target as the driver sees it; the function table behind it is private to this folder. */
typedef struct Target Target;

/* Finds the target `arch` ("nvptx", "amdgpu", "host") for `cpu`: a processor, or a card of the table, whose figures the
 * estimates then use (NULL: the default: sm_80, gfx90a, this CPU). NULL after an error that lists what there is. */
const Target *target_find(Arena *a, Diags *d, const char *arch, const char *cpu);
const TargetInfo *target_info(const Target *t);
/* The target for `cpu` of `arch`, as from target_find, on a device that calls itself `device`. It has the figures of
 * the known card of that name, except those that the device states differently itself, `own` (0: unknown): the device
 * may be a part of a card, or another make of it. Plans for a device or for a card are made with this target. NULL
 * after an error. */
const Target *target_on(Arena *a, Diags *d, const char *arch, const char *cpu, const char *device,
                        const TargetInfo *own);
/* A target like `t` with the limits and figures of `device` in place of the architecture's or the card's (cores, clock,
 * memory, caches, shared bytes; 0 keeps the old one). */
const Target *target_with_limits(Arena *a, const Target *t, const TargetInfo *device);
/* The target with kernels that are compiled late. */
const Target *target_compiled_late(Arena *a, const Target *t);
/* "ptx", "hsaco" or "o": the ending of the artifact, and "nvptx64-nvidia-cuda" and so on. */
const char *target_suffix(const Target *t);
const char *target_triple(const Target *t);
/* Bits of the vectors of a CPU, as far as its features tell. */
int32_t target_vector_bits(const Target *t);
const char *target_arch(const Target *t);
/* NULL-terminated lists for help and messages. */
const char *const *target_arches(void);
const char *const *target_cpus(const char *arch);

/* A card: its multiprocessors or compute units, MHz (the highest stated clock), lanes of each core for f32 and f64
 * (a multiply-add a clock each), GB/s of its memory, MiB of its largest cache, leaving out a cache of the memory
 * itself. */
typedef struct Card {
  const char *name, *product, *arch, *cpu;
  int32_t cores, mhz, f32_lanes, f64_lanes, bandwidth, cache_mib;
  const char *source;
} Card;
/* The table, ended by a row without a name. */
extern const Card card_table[];
/* The card that a device's description names, NULL if none is known. */
const Card *card_of_device(const char *description, const char *arch);
/* The card called `name`, NULL if there is none; the names of those of `arch` (NULL: of all), ", " between them. */
const Card *card_named(const char *name);
const char *card_names(Arena *a, const char *arch);
/* Sets the figures of `t` that cards of its architecture, t->name, were measured to sustain. */
void card_measured(TargetInfo *t);
/* The figures of the card, whose target has `base`, for the model (card_info); and for passes (card_limits), whose
 * estimates take the cache to be faster than memory by the same factor as in the architecture's row. */
TargetInfo card_info(const Card *card, const TargetInfo *base);
TargetInfo card_limits(const Card *card, const TargetInfo *base);

/* Bytes of shared memory that the object of kernel `k` fixes, and bytes that the launcher must provide (on the host: of
 * scratch). One of them is 0. */
void target_kernel_shared(const Target *t, const Kernel *k, int64_t *fixed, int64_t *given);

/* The resources of a core that a kernel takes as it was compiled: vector and scalar registers a thread, the spilled
 * ones of both, bytes of private memory a thread and of shared memory a block. */
typedef struct KernelResources {
  int32_t registers, scalar_registers, spilled, scalar_spilled, private_bytes, shared_bytes;
} KernelResources;
/* Reads the resources of kernel `kernel` from the assembly that codegen wrote; false if the target's assembly does not
 * state them. */
bool target_resources(const Target *t, const char *assembly, const char *kernel, KernelResources *out);
/* Does the target's assembly state them? */
bool target_tells_resources(const Target *t);

/* The reason why this CPU cannot run the code of a host target ("this CPU has no avx512f"), NULL if it can. */
const char *target_foreign(const Target *t);

typedef enum EmitKind { EMIT_LLVM, EMIT_ASM, EMIT_OBJ } EmitKind;

/* What LLVM leaves out of a level's work to save time: nothing; passes that take long for their gain; these, and good
 * instruction selection and register allocation too. */
typedef enum CodegenQuick { QUICK_NOT, QUICK_PASSES, QUICK_ALL } CodegenQuick;

/* The progress of compiling, for whoever reports it: `done` of `of` kernels are made. of is 0: nothing is under way;
 * below 0: passes are. Other threads may read it. drawn: a line on the terminal says so. */
typedef struct Working {
  atomic_int done, of, drawn;
} Working;

/* The name of an object, made of everything that the object depends on. */
typedef struct CodeKey {
  unsigned char bytes[32];
} CodeKey;
/* A store that keeps objects from run to run; several threads may use it at once. key: `id` says what is asked of LLVM
 * and for which processor, `ir` is LLVM IR of `n` bytes. find: copies the object of that key to `a`; false if there is
 * none. */
typedef struct CodeStore {
  void (*key)(const char *id, const char *ir, size_t n, CodeKey *key);
  bool (*find)(Arena *a, const CodeKey *key, char **bytes, size_t *size);
  void (*keep)(const CodeKey *key, const char *bytes, size_t size);
} CodeStore;

typedef struct CodegenOptions {
  int opt_level; /* 0..3 */
  CodegenQuick quick;
  int64_t straight;      /* where another compiler follows, LLVM runs only its most useful passes on functions without
                            loops of that many instructions or more; 0: on none */
  int64_t long_function; /* where another compiler follows, LLVM selects instructions in the quickest way in functions
                            of that many instructions or more, once optimised; 0: in none */
  int64_t most;     /* the greatest number of instructions, once optimised, of a GPU's kernel, where no other compiler
                       follows: more are an error; 0: any number */
  const bool *only; /* by kernel: is it wanted? NULL: all are */
  bool time;        /* print the times of LLVM's stages */
  FILE *to;         /* there (NULL: stderr) */
  const Stop
      *stop; /* asked between kernels and between LLVM's stages: then codegen fails without a message; NULL: never */
  Working *working;       /* the progress, NULL: it is not reported */
  const CodeStore *store; /* objects in it are taken from it, and others kept in it; NULL: all are made */
} CodegenOptions;

/* Compiles the kernels of `m`, which is not changed, for `t`: to LLVM IR text (before optimisation at -O0, else after),
 * to assembly (PTX, AMDGPU, x86), or to the artifact (PTX text again, a linked code object, a relocatable object). The
 * bytes live in `a`. False after an error. */
bool codegen(Arena *a, Diags *d, const Module *m, const Target *t, EmitKind kind, const CodegenOptions *o, char **bytes,
             size_t *size);

/* Reports the error that kernel `name`, of that many bytes, has `n` instructions, more than `most`. */
void code_too_long(Diags *d, const char *name, int bytes, int64_t n, int64_t most);

/* A kernel of the host target: runs one block. args[i] points to the value of argument i, as for cuLaunchKernel (for a
 * buffer: to its pointer); block[d] is the block's number along the program's dimension d; scratch has
 * kernel_shared_bytes bytes, aligned to 64. */
typedef void (*HostKernelFn)(void *const *args, const int64_t *block, char *scratch);

/* The module compiled into this process; or artifacts of codegen for the host that are loaded. Free with jit_free;
 * functions are gone then. NULL after an error. */
typedef struct Jit Jit;
Jit *jit_new(Arena *a, Diags *d, const Module *m, const Target *t, const CodegenOptions *o);
Jit *jit_load(Arena *a, Diags *d, int n, char *const *objects, const size_t *sizes);
HostKernelFn jit_find(Jit *j, const char *kernel);
void jit_free(Jit *j);

#endif
