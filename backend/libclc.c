/* backend/libclc.c: mathematical functions for GPUs from libclc's bitcode. The bitcode is read from its folder, or from
 * this program where it was built in (STC_LIBCLC_EMBEDDED), and linked into the module; functions that no kernel calls
 * are removed again. */
#include "backend/emit.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <stdlib.h>
#include <string.h>

#ifndef STC_LIBCLC_DIR
#define STC_LIBCLC_DIR "/usr/lib/clc"
#endif

#ifdef STC_LIBCLC_EMBEDDED
extern const char stc_libclc_nvptx[], stc_libclc_nvptx_end[], stc_libclc_amdgpu[], stc_libclc_amdgpu_end[];

/* The built-in copy of `file`. */
static LLVMMemoryBufferRef embedded(const char *file) {
  bool nvptx = strncmp(file, "nvptx", 5) == 0;
  const char *from = nvptx ? stc_libclc_nvptx : stc_libclc_amdgpu,
             *to = nvptx ? stc_libclc_nvptx_end : stc_libclc_amdgpu_end;
  return LLVMCreateMemoryBufferWithMemoryRange(from, (size_t)(to - from), file, 0);
}
#else
static LLVMMemoryBufferRef embedded(const char *file) {
  (void)file;
  return NULL;
}
#endif

/* The bitcode `file` as a memory buffer: from the folder that the environment variable STC_LIBCLC names, else built in,
 * else from the folder that the build names. NULL after an error. */
static LLVMMemoryBufferRef read_library(Arena *a, Diags *d, const char *file) {
  const char *dir = getenv("STC_LIBCLC");
  LLVMMemoryBufferRef buffer = dir ? NULL : embedded(file);
  char *message = NULL;
  if (buffer)
    return buffer;
  const char *path = arena_printf(a, "%s/%s", dir ? dir : STC_LIBCLC_DIR, file);
  if (!LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message))
    return buffer;
  diag_error(d, no_loc(),
             "the program calls mathematical functions, which come from libclc, and '%s' cannot be read (%s); install "
             "libclc-22, or name the folder of its "
             ".bc files in the environment variable STC_LIBCLC",
             path, message);
  LLVMDisposeMessage(message);
  return NULL;
}

/* Makes the linker take from `library` only functions that are called: it links linkonce functions and variables when
 * something refers to them. Then only their bodies, not read yet, are read. */
static void link_on_demand(LLVMModuleRef library) {
  for (LLVMValueRef f = LLVMGetFirstFunction(library); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f) && LLVMGetLinkage(f) == LLVMExternalLinkage)
      LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
  for (LLVMValueRef g = LLVMGetFirstGlobal(library); g; g = LLVMGetNextGlobal(g))
    if (!LLVMIsDeclaration(g) && LLVMGetLinkage(g) == LLVMExternalLinkage)
      LLVMSetLinkage(g, LLVMLinkOnceODRLinkage);
}

/* Makes the functions of the library, known by their linkage, internal to `m`, and removes the processor for which they
 * were compiled. With `any_subnormals` functions treat subnormal f32 as their caller does: LLVM inlines no function
 * that treats them differently. */
static void internalize(LLVMModuleRef m, bool any_subnormals) {
  static const char kind[] = "denormal-fp-math-f32", dynamic[] = "dynamic,dynamic";
  static const char *const processor[] = {"target-cpu", "target-features", "uniform-work-group-size"};
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
    if (LLVMGetLinkage(f) == LLVMLinkOnceODRLinkage) {
      LLVMSetLinkage(f, LLVMInternalLinkage);
      for (size_t i = 0; i < sizeof processor / sizeof *processor; i++)
        LLVMRemoveStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, processor[i],
                                         (unsigned)strlen(processor[i]));
      if (any_subnormals)
        LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateStringAttribute(LLVMGetModuleContext(m), kind, sizeof kind - 1, dynamic,
                                                          sizeof dynamic - 1));
    }
  for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g))
    if (LLVMGetLinkage(g) == LLVMLinkOnceODRLinkage)
      LLVMSetLinkage(g, LLVMInternalLinkage);
}

/* Instructions of function `f` and of the library's functions that it calls; there is no recursion. */
static int64_t function_size(LLVMValueRef f) {
  int64_t n = 0;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMIsAFunction(LLVMGetCalledValue(i)) : NULL;
      n += 1 + (callee && !LLVMIsDeclaration(callee) ? function_size(callee) : 0);
    }
  return n;
}

/* Places that use `f`. */
static int64_t use_count(LLVMValueRef f) {
  int64_t n = 0;
  for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u))
    n++;
  return n;
}

/* The function of `names` that would add the fewest instructions if it were inlined at all its uses, among those not
 * struck out; -1 if there is none. */
static int cheapest(LLVMModuleRef m, const char **names, int n, int64_t *cost) {
  int best = -1;
  for (int i = 0; i < n; i++) {
    LLVMValueRef f = names[i] ? LLVMGetNamedFunction(m, names[i]) : NULL;
    int64_t c = f ? function_size(f) * use_count(f) : 0;
    if (f && (best < 0 || c < *cost)) {
      best = i;
      *cost = c;
    }
  }
  return best;
}

/* Unrolled kernels call a function at many places, and code that is a hundred times as long takes a hundred times as
 * long to compile. Of the functions that kernels call the cheapest are inlined until MAX_INLINED instructions are
 * reached; the others stay calls. */
static void limit_inlining(LLVMModuleRef m, const char **names, int n) {
  enum { MAX_INLINED = 3000 };
  unsigned noinline_kind = LLVMGetEnumAttributeKindForName("noinline", 8),
           always = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
  LLVMAttributeRef noinline = LLVMCreateEnumAttribute(LLVMGetModuleContext(m), noinline_kind, 0);
  int64_t total = 0, cost = 0;
  for (int i; (i = cheapest(m, names, n, &cost)) >= 0; names[i] = NULL) {
    LLVMValueRef f = LLVMGetNamedFunction(m, names[i]);
    total += cost;
    if (total <= MAX_INLINED)
      continue;
    LLVMRemoveEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, always);
    LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, noinline);
  }
}

bool libclc_link(Arena *a, Diags *d, LLVMModuleRef m, const char *file, bool any_subnormals) {
  LLVMMemoryBufferRef buffer = read_library(a, d, file);
  LLVMModuleRef library = NULL;
  const char **called = NULL;
  int ncalled = 0;
  if (!buffer)
    return false;
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
    if (LLVMIsDeclaration(f) && LLVMGetIntrinsicID(f) == 0)
      ARENA_PUSH(a, called, ncalled, arena_strdup(a, LLVMGetValueName2(f, &(size_t){0})));
  if (LLVMGetBitcodeModuleInContext2(LLVMGetModuleContext(m), buffer, &library)) {
    LLVMDisposeMemoryBuffer(buffer); /* LLVM owns it if the module was read */
    diag_error(d, no_loc(), "'%s' of libclc is not bitcode that this LLVM reads; it must be of the same version", file);
    return false;
  }
  LLVMSetTarget(library, LLVMGetTarget(m));
  LLVMSetDataLayout(library, LLVMGetDataLayoutStr(m));
  link_on_demand(library);
  if (LLVMLinkModules2(m, library)) {
    diag_error(d, no_loc(), "linking '%s' of libclc failed", file);
    return false;
  }
  internalize(m, any_subnormals);
  limit_inlining(m, called, ncalled);
  return true;
}
