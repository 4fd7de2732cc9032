/* backend/jit.c: the host target in this process: the module's object, loaded by LLVM's ORC JIT. */
#include "backend/emit.h"

#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>

/* LLVM's JIT, and where its errors go. */
struct Jit {
  LLVMOrcLLJITRef lljit;
  Diags *diags;
};

/* ORC reports what it also returns as an error of the call: that is enough. */
static void drop_report(void *user, LLVMErrorRef error) {
  (void)user;
  LLVMConsumeError(error);
}

/* Reports `error`, if it is one, and consumes it. */
static bool succeeded(Diags *d, const char *doing, LLVMErrorRef error) {
  if (!error)
    return true;
  char *message = LLVMGetErrorMessage(error);
  diag_error(d, no_loc(), "LLVM failed while %s: %s", doing, message);
  LLVMDisposeErrorMessage(message);
  return false;
}

/* Lets the JIT's code call functions of this process, for the mathematical library. */
static bool use_process_symbols(Diags *d, LLVMOrcLLJITRef j) {
  LLVMOrcDefinitionGeneratorRef generator = NULL;
  LLVMErrorRef error =
      LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&generator, LLVMOrcLLJITGetGlobalPrefix(j), NULL, NULL);
  if (!succeeded(d, "looking for this process's functions", error))
    return false;
  LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(j), generator);
  return true;
}

Jit *jit_new(Arena *a, Diags *d, const Module *m, const Target *t, const CodegenOptions *o) {
  Jit *j = ARENA_NEW(a, Jit);
  char *object;
  size_t size;
  target_init_llvm();
  if (!codegen(a, d, m, t, EMIT_OBJ, o, &object, &size))
    return NULL;
  if (!succeeded(d, "starting the JIT", LLVMOrcCreateLLJIT(&j->lljit, NULL)))
    return NULL;
  j->diags = d;
  LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(j->lljit), drop_report, NULL);
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object, size, "kernels");
  LLVMErrorRef error = LLVMOrcLLJITAddObjectFile(j->lljit, LLVMOrcLLJITGetMainJITDylib(j->lljit), buffer);
  if (succeeded(d, "loading the kernels", error) && use_process_symbols(d, j->lljit))
    return j;
  jit_free(j);
  return NULL;
}

HostKernelFn jit_find(Jit *j, const char *kernel) {
  LLVMOrcExecutorAddress address = 0;
  if (!succeeded(j->diags, "loading a kernel", LLVMOrcLLJITLookup(j->lljit, &address, kernel)))
    return NULL;
  return (HostKernelFn)(uintptr_t)address;
}

void jit_free(Jit *j) {
  if (j && j->lljit)
    LLVMConsumeError(LLVMOrcDisposeLLJIT(j->lljit));
}
