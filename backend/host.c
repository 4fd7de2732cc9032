/* backend/host.c: this CPU. A kernel is two functions: one with the kernel's arguments as parameters, whose
 * attributes tell LLVM what it may assume, and one
 * of type HostKernelFn (backend.h) that takes the arguments from the caller's array and calls it. */
#include "backend/emit.h"

#include <string.h>
#include <unistd.h>

static const char *const cpus[] = {"native", NULL};

/* Bytes that a tile's arrays may take: twice the second-level cache, whose size the C library knows, or 1 MiB where it
 * does not. Larger than the cache, because the halo of a smaller tile was measured to cost more than the misses that
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
  LLVMTypeRef *types = ARENA_ARRAY(e->arena, LLVMTypeRef, n + MAX_RANK + 1);
  emit_arg_types(e, types);
  for (int d = 0; d < MAX_RANK; d++)
    types[n + d] = e->i64;
  types[n + MAX_RANK] = e->ptr;
  emit_function(e, arena_printf(e->arena, "%s.tile", k->name), n + MAX_RANK + 1, types);
  LLVMSetLinkage(e->fn, LLVMInternalLinkage);
  emit_arg_attributes(e);
  emit_attribute(e, e->fn, (unsigned)(n + MAX_RANK + 1), "noalias", 0);
  emit_attribute(e, e->fn, (unsigned)(n + MAX_RANK + 1), "align", 64);
  emit_attribute(e, e->fn, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
  emit_string_attribute(e, e->fn, "prefer-vector-width", "512");
  for (int i = 0; i < n; i++)
    e->args[i] = LLVMGetParam(e->fn, (unsigned)i);
  for (int d = 0; d < k->rank; d++)
    e->block[d] = LLVMGetParam(e->fn, (unsigned)(n + d));
  e->scratch = LLVMGetParam(e->fn, (unsigned)(n + MAX_RANK));
}

/* Element `i` of the array of `t` at `p`. */
static LLVMValueRef element(Emit *e, LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef p, int i) {
  LLVMValueRef index = emit_i64(e, i);
  return LLVMBuildLoad2(b, t, LLVMBuildGEP2(b, t, p, &index, 1, ""), "");
}

/* Adds the HostKernelFn about the function just emitted. */
static void end(Emit *e) {
  const Kernel *k = e->k;
  int n = k->nargs;
  LLVMValueRef inner = e->fn, *pass = ARENA_ARRAY(e->arena, LLVMValueRef, n + MAX_RANK + 1);
  LLVMTypeRef *types = ARENA_ARRAY(e->arena, LLVMTypeRef, n + 1), params[] = {e->ptr, e->ptr, e->ptr},
              none = LLVMVoidTypeInContext(e->context);
  LLVMValueRef fn = LLVMAddFunction(e->module, k->name, LLVMFunctionType(none, params, 3, 0));
  LLVMBuilderRef b = e->here.b;
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(e->context, fn, "entry"));
  emit_arg_types(e, types);
  for (int i = 0; i < n; i++)
    pass[i] = LLVMBuildLoad2(b, types[i], element(e, b, e->ptr, LLVMGetParam(fn, 0), i), "");
  for (int d = 0; d < MAX_RANK; d++)
    pass[n + d] = d < k->rank ? element(e, b, e->i64, LLVMGetParam(fn, 1), d) : emit_i64(e, 0);
  pass[n + MAX_RANK] = LLVMGetParam(fn, 2);
  LLVMBuildCall2(b, LLVMGlobalGetValueType(inner), inner, pass, (unsigned)(n + MAX_RANK + 1), "");
  LLVMBuildRetVoid(b);
}

/* What `cores` cores can do, about: for estimates only. */
static void estimate(TargetInfo *t, int32_t cores) {
  t->bandwidth = cores < 16 ? 12.0 * cores : 192;
  t->cache_bandwidth = 60.0 * cores;
  t->f32_rate = 48.0 * cores;
  t->f64_rate = 24.0 * cores;
  t->launch_us = 5;
}

/* A string of LLVM's as one of the arena's. */
static const char *own_message(Arena *a, char *s) {
  const char *copy = arena_strdup(a, s);
  LLVMDisposeMessage(s);
  return copy;
}

static bool make(Arena *a, const char *cpu, Target *t) {
  if (strcmp(cpu, "native") != 0)
    return false;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  const char *name = own_message(a, LLVMGetHostCPUName());
  *t = (Target){.arch = "host",
                .triple = own_message(a, LLVMGetDefaultTargetTriple()),
                .suffix = "o",
                .cpu = name,
                .features = own_message(a, LLVMGetHostCPUFeatures()),
                .reloc = LLVMRelocPIC,
                .static_shared = INT64_MAX,
                .shared_is_scratch = true,
                .artifact = EMIT_OBJ,
                .extremes_by_select = true,
                .bfloat_is_bits = true,
                .math_name = libm_name,
                .begin = begin,
                .end = end};
  t->info = (TargetInfo){.name = "host",
                         .cpu = name,
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
  return true;
}

static void init(void) {
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
}

const Arch arch_host = {"host", cpus, "native", "x86-64", init, make};
