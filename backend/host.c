/* backend/host.c: this CPU, or another one for which code is made. A kernel is two functions: one with the kernel's
 * arguments as parameters, whose attributes tell LLVM what it may assume; and one of type HostKernelFn (backend.h) that
 * reads the arguments from the caller's array and calls the first. */
#include "backend/emit.h"

#include <llvm-c/Target.h>
#include <string.h>
#include <unistd.h>

#pragma weak LLVMInitializeAArch64TargetInfo
#pragma weak LLVMInitializeAArch64Target
#pragma weak LLVMInitializeAArch64TargetMC
#pragma weak LLVMInitializeAArch64AsmPrinter

static const char *const cpus[] = {"native", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", NULL};

/* A processor other than this one for which code may be made: its name for -mcpu; LLVM's name, triple and features; and
 * the features that this CPU must have (in LLVM's notation, ended by NULL) to run that code. */
typedef struct HostCpu {
  const char *name, *llvm, *triple, *features, *needs[5];
} HostCpu;
static const HostCpu others[] = {
    {"x86-64", "x86-64", "x86_64-pc-linux-gnu", "", {"+sse2"}},
    {"x86-64-v2", "x86-64-v2", "x86_64-pc-linux-gnu", "", {"+sse4.2", "+popcnt"}},
    {"x86-64-v3", "x86-64-v3", "x86_64-pc-linux-gnu", "", {"+avx2", "+fma", "+bmi2"}},
    {"x86-64-v4",
     "x86-64-v4",
     "x86_64-pc-linux-gnu",
     "+avx512dq,+avx512vl",
     {"+avx512f", "+avx512vl", "+avx512bw", "+avx512dq"}},
    {"aarch64", "generic", "aarch64-unknown-linux-gnu", "+neon", {"+neon"}},
};

_Static_assert(sizeof cpus / sizeof *cpus == sizeof others / sizeof *others + 2, "a processor has a row and a name");

/* Bytes that a tile's arrays may take: twice the second-level cache, whose size the C library knows, or 1 MiB where it
 * does not. It is larger than the cache because the halo of a smaller tile was measured to cost more than misses that
 * the next cache serves. */
static int64_t tile_bytes(void) {
#ifdef _SC_LEVEL2_CACHE_SIZE
  long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes > 0)
    return 2 * bytes;
#endif
  return 1 << 20;
}

static void begin(Emit *e) {
  const Kernel *k = e->k;
  int n = k->nargs;
  LLVMTypeRef *types = ARENA_ARRAY(e->arena, LLVMTypeRef, n + host_blocks(k) + 1);
  emit_arg_types(e, types);
  for (int d = 0; d < host_blocks(k); d++)
    types[n + d] = e->i64;
  types[n + host_blocks(k)] = e->ptr;
  emit_function(e, arena_printf(e->arena, "%s.tile", k->name), n + host_blocks(k) + 1, types);
  LLVMSetLinkage(e->fn, LLVMInternalLinkage);
  emit_arg_attributes(e);
  emit_attribute(e, e->fn, (unsigned)(n + host_blocks(k) + 1), "noalias", 0);
  emit_attribute(e, e->fn, (unsigned)(n + host_blocks(k) + 1), "align", SCRATCH_ALIGNMENT);
  emit_attribute(e, e->fn, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
  emit_string_attribute(e, e->fn, "prefer-vector-width", "512");
  for (int i = 0; i < n; i++)
    e->args[i] = LLVMGetParam(e->fn, (unsigned)i);
  for (int d = 0; d < k->rank; d++)
    e->block[d] = LLVMGetParam(e->fn, (unsigned)(n + d));
  e->scratch = LLVMGetParam(e->fn, (unsigned)(n + host_blocks(k)));
}

/* Element `i` of the array of `t` at `p`. */
static LLVMValueRef element(Emit *e, LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef p, int i) {
  LLVMValueRef index = emit_i64(e, i);
  return LLVMBuildLoad2(b, t, LLVMBuildGEP2(b, t, p, &index, 1, ""), "");
}

/* Adds the HostKernelFn that calls the function just emitted. */
static void end(Emit *e) {
  const Kernel *k = e->k;
  int n = k->nargs;
  LLVMValueRef inner = e->fn, *pass = ARENA_ARRAY(e->arena, LLVMValueRef, n + host_blocks(k) + 1);
  LLVMTypeRef *types = ARENA_ARRAY(e->arena, LLVMTypeRef, n + 1), params[] = {e->ptr, e->ptr, e->ptr},
              none = LLVMVoidTypeInContext(e->context);
  LLVMValueRef fn = LLVMAddFunction(e->module, k->name, LLVMFunctionType(none, params, 3, 0));
  LLVMBuilderRef b = e->here.b;
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(e->context, fn, "entry"));
  emit_arg_types(e, types);
  for (int i = 0; i < n; i++)
    pass[i] = LLVMBuildLoad2(b, types[i], element(e, b, e->ptr, LLVMGetParam(fn, 0), i), "");
  for (int d = 0; d < host_blocks(k); d++)
    pass[n + d] = d < k->rank ? element(e, b, e->i64, LLVMGetParam(fn, 1), d) : emit_i64(e, 0);
  pass[n + host_blocks(k)] = LLVMGetParam(fn, 2);
  LLVMBuildCall2(b, LLVMGlobalGetValueType(inner), inner, pass, (unsigned)(n + host_blocks(k) + 1), "");
  LLVMBuildRetVoid(b);
}

/* The approximate rates of `cores` cores: for estimates only. */
static void estimate(TargetInfo *t, int32_t cores) {
  t->bandwidth = cores < 16 ? 12.0 * cores : 192;
  t->cache_bandwidth = 60.0 * cores;
  t->f32_rate = 48.0 * cores;
  t->f64_rate = 24.0 * cores;
  t->launch_us = 5;
}

/* Copies a string of LLVM's to the arena. */
static const char *own_message(Arena *a, char *s) {
  const char *copy = arena_strdup(a, s);
  LLVMDisposeMessage(s);
  return copy;
}

/* Do two triples begin with the same architecture? */
static bool same_architecture(const char *a, const char *b) {
  size_t n = strcspn(a, "-");
  return n == strcspn(b, "-") && strncmp(a, b, n) == 0;
}

/* Is `feature` one of `list`, which has commas between? */
static bool has_feature(const char *list, const char *feature) {
  size_t n = strlen(feature);
  for (const char *at = strstr(list, feature); at; at = strstr(at + n, feature))
    if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == 0))
      return true;
  return false;
}

/* Changes *t, this CPU, to `cpu`, and notes in t->foreign why this CPU cannot run its code, if it cannot. False if
 * there is no such processor. */
static bool take_cpu(Arena *a, const char *cpu, Target *t) {
  const HostCpu *of = NULL;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    of = strcmp(others[i].name, cpu) == 0 ? &others[i] : of;
  if (!of)
    return false;
  if (!same_architecture(of->triple, t->triple))
    t->foreign = arena_printf(a, "this CPU is %.*s", (int)strcspn(t->triple, "-"), t->triple);
  for (int i = 0; !t->foreign && of->needs[i]; i++)
    if (!has_feature(t->features, of->needs[i]))
      t->foreign = arena_printf(a, "this CPU has no %s", of->needs[i] + 1);
  t->triple = of->triple;
  t->cpu = of->llvm;
  t->features = of->features;
  return true;
}

static bool make(Arena *a, const char *cpu, Target *t) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  *t = (Target){.arch = "host",
                .triple = own_message(a, LLVMGetDefaultTargetTriple()),
                .suffix = "o",
                .cpu = own_message(a, LLVMGetHostCPUName()),
                .features = own_message(a, LLVMGetHostCPUFeatures()),
                .reloc = LLVMRelocPIC,
                .static_shared = INT64_MAX,
                .shared_is_scratch = true,
                .calls_nests = true,
                .carries = true,
                .artifact = EMIT_OBJ,
                .extremes_by_select = true,
                .bfloat_is_bits = true,
                .math_name = libm_name,
                .estimate = estimate,
                .begin = begin,
                .end = end};
  if (strcmp(cpu, "native") != 0 && !take_cpu(a, cpu, t))
    return false;
  t->ranges = has_feature(t->features, "+avx512dq") && has_feature(t->features, "+avx512vl");
  t->info = (TargetInfo){.name = "host",
                         .cpu = strcmp(cpu, "native") == 0 ? t->cpu : cpu,
                         .simt = false,
                         .lanes = 8,
                         .max_threads = 1,
                         .max_block = {1, 1, 1},
                         .max_grid = {INT64_MAX, INT64_MAX, INT64_MAX},
                         .shared_bytes = tile_bytes(),
                         .max_shared_bytes = INT64_C(1) << 30,
                         .shared_per_core = tile_bytes(),
                         .max_threads_per_core = 1,
                         .registers_per_core = 512,
                         .cores = cores > 0 ? (int32_t)cores : 1};
  estimate(&t->info, t->info.cores);
  card_measured(&t->info);
  return true;
}

/* Registers this CPU, and AArch64 where LLVM has it: an LLVM that is linked as archives does not. */
static void init(void) {
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  if (LLVMInitializeAArch64TargetInfo && LLVMInitializeAArch64Target && LLVMInitializeAArch64TargetMC &&
      LLVMInitializeAArch64AsmPrinter) {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  }
}

const Arch arch_host = {"host", cpus, "native", "x86-64", init, make};
