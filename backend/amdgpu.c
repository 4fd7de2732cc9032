/* backend/amdgpu.c: AMD GPUs: code objects, for the HIP runtime to load. Kernels take their explicit arguments only.
 *
 * Counts of its code: docs/lab/amd.md. */
#include "backend/emit.h"

#include <stdlib.h>
#include <string.h>

/* LLVM's number of the calling convention amdgpu_kernel. */
enum { AMDGPU_KERNEL = 91 };

/* A processor: lanes of a wave, KiB of LDS that a block may have, KiB of vector registers of a compute unit, compute
 * units of the family's largest part; the GB/s of that part's memory and its 1e9 additions of f32 and f64 a second
 * (about half of the stated vector FLOPS): for estimates only. */
typedef struct GfxLimits {
  const char *cpu;
  int32_t lanes, lds_kib, registers_kib, cores, bandwidth, f32, f64;
} GfxLimits;
static const GfxLimits gfx_limits[] = {
    {"gfx900", 64, 64, 256, 64, 484, 6300, 394},      {"gfx906", 64, 64, 256, 60, 1024, 6700, 3350},
    {"gfx908", 64, 64, 256, 120, 1229, 11550, 5750},  {"gfx90a", 64, 64, 512, 110, 1638, 11950, 11950},
    {"gfx942", 64, 64, 512, 304, 5300, 40850, 40850}, {"gfx950", 64, 160, 512, 256, 8000, 39300, 39300},
    {"gfx1010", 32, 64, 256, 40, 448, 4875, 305},     {"gfx1030", 32, 64, 256, 80, 512, 10350, 647},
    {"gfx1031", 32, 64, 256, 40, 384, 6600, 413},     {"gfx1032", 32, 64, 256, 32, 256, 5300, 331},
    {"gfx1100", 32, 64, 384, 96, 960, 30700, 960},    {"gfx1101", 32, 64, 384, 60, 624, 18650, 583},
    {"gfx1102", 32, 64, 256, 32, 288, 10900, 340},    {"gfx1103", 32, 64, 256, 12, 120, 4300, 134},
    {"gfx1150", 32, 64, 256, 16, 120, 2950, 92},      {"gfx1151", 32, 64, 384, 40, 256, 14850, 464},
    {"gfx1200", 32, 64, 384, 32, 320, 12800, 200},    {"gfx1201", 32, 64, 384, 64, 640, 24350, 380},
};
static const char *const cpus[] = {"gfx900",  "gfx906",  "gfx908",  "gfx90a",  "gfx942",  "gfx950",  "gfx1010",
                                   "gfx1030", "gfx1031", "gfx1032", "gfx1100", "gfx1101", "gfx1102", "gfx1103",
                                   "gfx1150", "gfx1151", "gfx1200", "gfx1201", NULL};
_Static_assert(sizeof cpus / sizeof *cpus == sizeof gfx_limits / sizeof *gfx_limits + 1,
               "a processor has a row and a name");

/* The clock in GHz for which the figures of `l` hold: compute units have 64 lanes, those of gfx11 and gfx12 count twice
 * because they may take two operations at once. All issue 64 a clock, and move 32 words of LDS. */
static double clock_of(const GfxLimits *l) {
  return l->f32 / (l->cores * (l->lanes == 32 && strcmp(l->cpu, "gfx11") > 0 ? 128.0 : 64.0));
}

/* The id "llvm.amdgcn.WHAT.id.[xyz]". */
static LLVMValueRef id(Emit *e, const char *what, int hw) {
  return emit_intrinsic(e, e->entry.b, arena_printf(e->arena, "llvm.amdgcn.%s.id.%c", what, "xyz"[hw]), 0, NULL, 0,
                        NULL);
}

/* `x` of the first active lane: the same for all active lanes, and LLVM knows that. */
static LLVMValueRef first_lane(Emit *e, LLVMBuilderRef b, LLVMValueRef x) {
  LLVMTypeRef t = LLVMTypeOf(x);
  return emit_intrinsic(e, b, "llvm.amdgcn.readfirstlane", 1, &t, 1, &x);
}

/* A wave is so many consecutive threads, those along x first: if lines along x are whole waves, the other numbers of a
 * thread are the same in a wave, which LLVM is told. */
static LLVMValueRef thread(Emit *e, int hw) {
  LLVMValueRef own = id(e, "workitem", hw);
  if (hw == 0 || !emit_lines_are_waves(e))
    return own;
  return first_lane(e, e->entry.b, own);
}
static LLVMValueRef block(Emit *e, int hw) { return id(e, "workgroup", hw); }

/* A fence for the block's threads that orders accesses to memory, or (local) to shared memory alone. */
static void fence(Emit *e, LLVMAtomicOrdering order, bool local) {
  LLVMValueRef f = LLVMBuildFenceSyncScope(e->here.b, order, LLVMGetSyncScopeID(e->context, "workgroup", 9), "");
  LLVMMetadataRef parts[] = {LLVMMDStringInContext2(e->context, "amdgpu-synchronize-as", 21),
                             LLVMMDStringInContext2(e->context, "local", 5)};
  if (local)
    LLVMSetMetadata(f, LLVMGetMDKindIDInContext(e->context, "mmra", 4),
                    LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, parts, 2)));
}

static void barrier(Emit *e) {
  bool local = !e->passes;
  fence(e, LLVMAtomicOrderingRelease, local);
  emit_intrinsic(e, e->here.b, "llvm.amdgcn.s.barrier", 0, NULL, 0, NULL);
  fence(e, LLVMAtomicOrderingAcquire, local);
}

/* `x` through no instruction. The assembly has a side effect, so that it stays in the loop. */
static LLVMValueRef keep_offset(Emit *e, LLVMValueRef x) {
  LLVMTypeRef t = LLVMFunctionType(e->i32, &e->i32, 1, 0);
  LLVMValueRef nothing = LLVMGetInlineAsm(t, "", 0, "=v,0", 4, 1, 0, LLVMInlineAsmDialectATT, 0);
  return LLVMBuildCall2(e->here.b, t, nothing, &x, 1, "");
}

/* `x` through no instruction; nothing reads `n`, an operand of the assembly. Before, `x` is read from the first lane,
 * which takes no instruction if it is scalar: LLVM cannot pass values of the vector unit to scalar assembly. */
static LLVMValueRef renew(Emit *e, LLVMValueRef x, unsigned n) {
  LLVMTypeRef type = LLVMTypeOf(x), t = LLVMFunctionType(type, (LLVMTypeRef[]){type, e->i32}, 2, 0);
  LLVMValueRef nothing = LLVMGetInlineAsm(t, "", 0, "=s,0,i", 6, 0, 0, LLVMInlineAsmDialectATT, 0);
  LLVMValueRef scalar = first_lane(e, e->here.b, x);
  return LLVMBuildCall2(e->here.b, t, nothing, (LLVMValueRef[]){scalar, LLVMConstInt(e->i32, n, 0)}, 2, "");
}

/* `x` through no instruction. Convergent assembly is not moved into a later branch. */
static LLVMValueRef settle(Emit *e, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x), t = LLVMFunctionType(type, &type, 1, 0);
  LLVMValueRef nothing = LLVMGetInlineAsm(t, "", 0, "=v,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0),
               call = LLVMBuildCall2(e->here.b, t, nothing, &x, 1, "");
  unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", strlen("convergent"));
  LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                           LLVMCreateEnumAttribute(e->context, convergent, 0));
  return call;
}

/* v_rcp and v_rsq: in f32 within a unit in the last place, in f64 within 2^29. */
static LLVMValueRef approximate(Emit *e, Opcode code, Type t, LLVMValueRef x) {
  LLVMTypeRef type = emit_type(e, t);
  return emit_intrinsic(e, e->here.b, code == OP_DIV ? "llvm.amdgcn.rcp" : "llvm.amdgcn.rsq", 1, &type, 1, &x);
}

/* Says that the kernel needs none of the hidden arguments, which a plain launcher does not fill. */
static void no_hidden_arguments(Emit *e) {
  static const char *const names[] = {"amdgpu-no-implicitarg-ptr",    "amdgpu-no-dispatch-ptr",
                                      "amdgpu-no-queue-ptr",          "amdgpu-no-dispatch-id",
                                      "amdgpu-no-hostcall-ptr",       "amdgpu-no-heap-ptr",
                                      "amdgpu-no-default-queue",      "amdgpu-no-completion-action",
                                      "amdgpu-no-multigrid-sync-arg", "amdgpu-no-lds-kernel-id"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    emit_string_attribute(e, e->fn, names[i], "");
}

static void begin(Emit *e) {
  const Kernel *k = e->k;
  LLVMTypeRef *types = ARENA_ARRAY(e->arena, LLVMTypeRef, k->nargs + 1);
  int threads = 1;
  for (int d = 0; d < k->rank; d++)
    threads *= k->threads[d];
  emit_arg_types(e, types);
  emit_function(e, k->name, k->nargs, types);
  LLVMSetFunctionCallConv(e->fn, AMDGPU_KERNEL);
  LLVMSetVisibility(e->fn, LLVMProtectedVisibility);
  emit_arg_attributes(e);
  emit_string_attribute(e, e->fn, "amdgpu-flat-work-group-size", arena_printf(e->arena, "%d,%d", threads, threads));
  emit_string_attribute(e, e->fn, "uniform-work-group-size", "true");
  no_hidden_arguments(e);
  for (int i = 0; i < k->nargs; i++)
    e->args[i] = LLVMGetParam(e->fn, (unsigned)i);
}

/* The row of `cpu`, NULL if there is none. */
static const GfxLimits *find_limits(const char *cpu) {
  for (size_t i = 0; i < sizeof gfx_limits / sizeof *gfx_limits; i++)
    if (strcmp(gfx_limits[i].cpu, cpu) == 0)
      return &gfx_limits[i];
  return NULL;
}

/* Does LLVM (22) let an instruction that uses the result of a packed operation wait for one instruction? gfx942 and
 * later have such a hazard for results that are written to half a register. For packed operations LLVM decides by the
 * bit that takes the upper half of the first operand for the upper half; so it sees no hazard where that operand is one
 * value twice. */
static bool waits_for_halves(const GfxLimits *l) { return l->registers_kib == 512 && strcmp(l->cpu, "gfx940") >= 0; }

/* Registers for a word, relative to those that ptxas takes for the same kernel: where f32 arithmetic is packed, so that
 * operands are pairs of consecutive registers (the geometric mean of 32 streamed tiles and 29 overlapped tiles on
 * gfx90a); with waves of 32 lanes. */
static const double PACKED_WORD = 1.3, WAVE_WORD = 1.1;

/* The figures of `l` for passes. */
static TargetInfo info_of(const GfxLimits *l) {
  return (TargetInfo){.name = "amdgpu",
                      .cpu = l->cpu,
                      .simt = true,
                      .lanes = l->lanes,
                      .lane_bytes = INT64_C(1) << 31,
                      .max_threads = 1024,
                      .max_block = {1024, 1024, 1024},
                      .max_grid = {INT32_MAX, 65535, 65535},
                      .shared_bytes = (int64_t)l->lds_kib << 10,
                      .max_shared_bytes = (int64_t)l->lds_kib << 10,
                      .shared_per_core = (int64_t)l->lds_kib << 10,
                      .max_threads_per_core = l->lanes == 64 ? 2048 : 1024,
                      .registers_per_core = l->registers_kib << 8,
                      .most_registers = l->registers_kib == 512 ? 512 : 256,
                      .word_registers = l->registers_kib == 512 ? PACKED_WORD
                                        : l->lanes == 32        ? WAVE_WORD
                                                                : 0,
                      .cores = l->cores,
                      .bandwidth = l->bandwidth,
                      .cache_bandwidth = 2.5 * l->bandwidth,
                      .f32_rate = l->f32,
                      .f64_rate = l->f64,
                      .launch_us = 4,
                      .range_guards = true,
                      .clock = clock_of(l),
                      .issue_rate = 64 * l->cores * clock_of(l),
                      .shared_rate = 32 * l->cores * clock_of(l)};
}

static bool make(Arena *a, const char *cpu, Target *t) {
  const GfxLimits *l = find_limits(cpu);
  (void)a;
  if (!l)
    return false;
  *t = (Target){.arch = "amdgpu",
                .triple = "amdgcn-amd-amdhsa",
                .suffix = "hsaco",
                .cpu = l->cpu,
                .features = "",
                .reloc = LLVMRelocPIC,
                .global_space = 1,
                .shared_space = 3,
                .static_shared = (int64_t)l->lds_kib << 10,
                .artifact = EMIT_OBJ,
                .linked = true,
                .compares_sums = true,
                .library = "amdgcn-amd-amdhsa.bc",
                .math_name = libclc_name,
                .remainder_in_f64 = true,
                .bounded_exponent = true,
                .exp_flushes = true,
                .thread = thread,
                .block = block,
                .barrier = barrier,
                .shuffle = l->lanes == 64 ? amdgpu_shuffle_64 : amdgpu_shuffle_32,
                .resources = amdgpu_resources,
                .has_private = amdgpu_has_private,
                .approximate = approximate,
                .keep_offset = keep_offset,
                .first_lane = first_lane,
                .makes_anew = l->registers_kib < 512,
                .packs_f32 = l->registers_kib == 512,
                .twice_first = waits_for_halves(l),
                .renew = renew,
                .settle = settle,
                .begin = begin};
  t->info = info_of(l);
  card_measured(&t->info);
  return true;
}

static void init(void) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmPrinter();
}

const Arch arch_amdgpu = {"amdgpu", cpus, "gfx90a", "amdgcn", init, make};
