/* backend/libclc.c: mathematical functions for GPUs from libclc's bitcode: read from its folder, or from this program where it was built in
 * (STC_LIBCLC_EMBEDDED), linked into the module, and all that no kernel calls taken out again. */
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
  const char *from = nvptx ? stc_libclc_nvptx : stc_libclc_amdgpu, *to = nvptx ? stc_libclc_nvptx_end : stc_libclc_amdgpu_end;
  return LLVMCreateMemoryBufferWithMemoryRange(from, (size_t)(to - from), file, 0);
}
#else
static LLVMMemoryBufferRef embedded(const char *file) {
  (void)file;
  return NULL;
}
#endif

/* The bitcode `file` as a memory buffer: built in, or from the folder that the environment variable STC_LIBCLC or the build names. NULL after an error. */
static LLVMMemoryBufferRef read_library(Arena *a, Diags *d, const char *file) {
  LLVMMemoryBufferRef buffer = embedded(file);
  const char *dir = getenv("STC_LIBCLC");
  char *message = NULL;
  if (buffer)
    return buffer;
  const char *path = arena_printf(a, "%s/%s", dir ? dir : STC_LIBCLC_DIR, file);
  if (!LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message))
    return buffer;
  diag_error(d, no_loc(), "the program calls mathematical functions, which come from libclc, and '%s' cannot be read (%s); install libclc-22, or name the folder of its "
             ".bc files in the environment variable STC_LIBCLC", path, message);
  LLVMDisposeMessage(message);
  return NULL;
}

/* Makes all functions and variables that `m` has from the library, known because they were not in `own`, internal. */
static void internalize(LLVMModuleRef m, LLVMValueRef *own, int nown) {
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
    bool is_own = LLVMIsDeclaration(f);
    for (int i = 0; i < nown && !is_own; i++)
      is_own = own[i] == f;
    if (!is_own)
      LLVMSetLinkage(f, LLVMInternalLinkage);
  }
}

bool libclc_link(Arena *a, Diags *d, LLVMModuleRef m, const char *file) {
  LLVMMemoryBufferRef buffer = read_library(a, d, file);
  LLVMModuleRef library = NULL;
  LLVMValueRef *own = NULL;
  int nown = 0;
  if (!buffer)
    return false;
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f))
      ARENA_PUSH(a, own, nown, f);
  if (LLVMGetBitcodeModuleInContext2(LLVMGetModuleContext(m), buffer, &library)) {
    diag_error(d, no_loc(), "'%s' of libclc is not bitcode that this LLVM reads; it must be of the same version", file);
    return false;
  }
  LLVMSetTarget(library, LLVMGetTarget(m));
  LLVMSetDataLayout(library, LLVMGetDataLayoutStr(m));
  if (LLVMLinkModules2(m, library)) {
    diag_error(d, no_loc(), "linking '%s' of libclc failed", file);
    return false;
  }
  internalize(m, own, nown);
  return true;
}
