/* backend/backend.h: kernel IR -> LLVM IR -> artifact.
 *
 *   emit*.c      the one emitter of LLVM IR: structure, arithmetic, coordinates, memory (emit.h)
 *   nvptx.c      target: NVIDIA, PTX
 *   amdgpu.c     target: AMD, code objects
 *   host.c       target: this CPU, objects
 *   nvptx-warps.c       warps that work apart on it, from sm_90 on
 *   amdgpu-lanes.c      values of other lanes there
 *   amdgpu-resources.c  what its assembly says of the registers and the memory of a kernel
 *   cards.def    facts of cards, a row each      cards.c   what they say to passes and to the model
 *   target.c     the table of targets, and choosing one
 *   codegen.c    optimising, and writing assembly, objects, code objects
 *   pipeline.c   LLVM's passes that optimise
 *   libclc.c     mathematical functions from libclc's bitcode; libclc-embedded.c  that as part of the program
 *   long-sums.c  many sums of integers, hidden from LLVM
 *   extremes.c   minimumNumber and maximumNumber, where LLVM's code for them is long
 *   arcs.c       values that go round loops, parted where kernels would have private memory
 *   negations.c  what NVIDIA's assembler would lose
 *   link.c       code objects through ld.lld
 *   jit.c        the host target in this process (LLVM ORC)
 */
#ifndef STC_BACKEND_H
#define STC_BACKEND_H

#include "ir/ir.h"

/* A target as the driver sees it; the function table behind it is private to this folder. */
typedef struct Target Target;

/* Finds `arch` ("nvptx", "amdgpu", "host") for `cpu` (NULL: the default: sm_80, gfx90a, this CPU), a processor or a
 * card of the table, whose figures the estimates then use. NULL after an error that lists what there is. */
const Target *target_find(Arena *a, Diags *d, const char *arch, const char *cpu);
const TargetInfo *target_info(const Target *t);
/* The target for `cpu` of `arch`, as target_find has it, as it is on a device that calls itself `device`: with the
 * figures of the known card of that name, and with the device's own, `own` (0: unknown), where they are others:
 * of a part of a card, or of another make of it. Whoever plans for a device or for a card plans with this. NULL after
 * an error. */
const Target *target_on(Arena *a, Diags *d, const char *arch, const char *cpu, const char *device,
                        const TargetInfo *own);
/* A TargetInfo for this target with the limits and figures of a device at hand instead of the architecture's or the
 * card's (cores, clock, memory, caches, shared bytes; 0 leaves one). */
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

/* A card: its multiprocessors or compute units, MHz (the highest that is stated), lanes of each core for f32 and f64 (a
 * multiply-add a clock each), GB/s of its memory, MiB of its largest cache but one that is memory's own. */
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
/* Gives `t` what was measured to be kept up by the cards of its architecture, t->name. */
void card_measured(TargetInfo *t);
/* What the model is to know of the card, whose target has `base`; what passes are to know, whose estimates take the
 * cache for as much faster than memory as the architecture's row does. */
TargetInfo card_info(const Card *card, const TargetInfo *base);
TargetInfo card_limits(const Card *card, const TargetInfo *base);

/* Bytes of shared memory that the object of kernel `k` fixes, and that the launcher must give (on the host: of
 * scratch). One of them is 0. */
void target_kernel_shared(const Target *t, const Kernel *k, int64_t *fixed, int64_t *given);

/* What a kernel takes of a core as it was compiled: vector and scalar registers a thread and those of them that did not
 * fit, bytes of private memory a thread and of shared memory a block. */
typedef struct KernelResources {
  int32_t registers, scalar_registers, spilled, scalar_spilled, private_bytes, shared_bytes;
} KernelResources;
/* Finds what the assembly that codegen wrote says of its kernel `kernel`; false if the target's says nothing. */
bool target_resources(const Target *t, const char *assembly, const char *kernel, KernelResources *out);
/* Does it say something? */
bool target_tells_resources(const Target *t);

/* Why this CPU cannot run the target's code ("this CPU has no avx512f"), NULL if it can; of the host target alone. */
const char *target_foreign(const Target *t);

typedef enum EmitKind { EMIT_LLVM, EMIT_ASM, EMIT_OBJ } EmitKind;

/* What of a level's work LLVM leaves out to save time: nothing; passes that take long for what they bring; these, and
 * good instruction selection and register allocation too. */
typedef enum CodegenQuick { QUICK_NOT, QUICK_PASSES, QUICK_ALL } CodegenQuick;

/* How far compiling is, for who tells of it: `done` of `of` kernels are made; of 0: nothing is under way, below: passes
 * are. Other threads may read it. drawn: a line on the terminal says so. */
typedef struct Working {
  atomic_int done, of, drawn;
} Working;

/* What names an object, made of all that it depends on. */
typedef struct CodeKey {
  unsigned char bytes[32];
} CodeKey;
/* Where objects are kept from run to run; several threads may use it at once. `id` says what is asked of LLVM and for
 * which processor, `ir` is LLVM IR of `n` bytes. find: the object of that key into `a`; false if there is none. */
typedef struct CodeStore {
  void (*key)(const char *id, const char *ir, size_t n, CodeKey *key);
  bool (*find)(Arena *a, const CodeKey *key, char **bytes, size_t *size);
  void (*keep)(const CodeKey *key, const char *bytes, size_t size);
} CodeStore;

typedef struct CodegenOptions {
  int opt_level; /* 0..3 */
  CodegenQuick quick;
  int64_t straight;      /* instructions of a function without loops, from which on LLVM does only what pays most where
                            another compiler is behind it; 0: none */
  int64_t long_function; /* instructions of a function, once optimised, from which on LLVM selects in the quickest way
                            where another compiler is behind it; 0: none */
  int64_t most;     /* instructions of a kernel, once optimised, that LLVM may make a GPU's code of where no compiler is
                       behind it: more are an error; 0: any number */
  const bool *only; /* by kernel: is it wanted? NULL: all are */
  bool time;        /* print the times of LLVM's stages */
  FILE *to;         /* there (NULL: stderr) */
  const Stop
      *stop; /* asked between kernels and between LLVM's stages: then codegen fails without a message; NULL: never */
  Working *working;       /* what tells of it, NULL: nothing does */
  const CodeStore *store; /* objects that are there are taken from it, and others kept; NULL: all are made */
} CodegenOptions;

/* The kernels of `m`, which stays as it is, for `t`: LLVM IR text (before optimisation at -O0, else after), assembly
 * (PTX, AMDGPU, x86), or the artifact (PTX text again, a linked code object, a relocatable object). The bytes live in
 * `a`. False after an error. */
bool codegen(Arena *a, Diags *d, const Module *m, const Target *t, EmitKind kind, const CodegenOptions *o, char **bytes,
             size_t *size);

/* Reports the error that kernel `name`, of that many bytes, has `n` instructions, more than `most`. */
void code_too_long(Diags *d, const char *name, int bytes, int64_t n, int64_t most);

/* A kernel of the host target: runs one block. args[i] points to the value of argument i, as for cuLaunchKernel (for a
 * buffer: to its pointer); block[d] is the block's number along the program's dimension d; scratch has
 * kernel_shared_bytes, aligned to 64. */
typedef void (*HostKernelFn)(void *const *args, const int64_t *block, char *scratch);

/* The module compiled into this process; artifacts of codegen for the host that are loaded. Free with jit_free;
 * functions die with it. NULL after an error. */
typedef struct Jit Jit;
Jit *jit_new(Arena *a, Diags *d, const Module *m, const Target *t, const CodegenOptions *o);
Jit *jit_load(Arena *a, Diags *d, int n, char *const *objects, const size_t *sizes);
HostKernelFn jit_find(Jit *j, const char *kernel);
void jit_free(Jit *j);

#endif
