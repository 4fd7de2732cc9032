/* backend/jit.c: the host target in this process: the module's object, loaded by LLVM's ORC JIT. */
#include "backend/emit.h"

#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>

/* The compiler's functions for f16, which CPUs before x86-64-v3 have no instructions for; only their addresses are
 * taken. */
#pragma weak __extendhfsf2
#pragma weak __truncsfhf2
#pragma weak __truncdfhf2
extern void __extendhfsf2(void);
extern void __truncsfhf2(void);
extern void __truncdfhf2(void);

/* LLVM's JIT, and where its errors go. */
struct Jit {
  LLVMOrcLLJITRef lljit;
  Diags *diags;
};

/* ORC also reports the errors that its calls return; the returned error is enough. */
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

/* Lets the JIT's code call the compiler's functions, which are not visible from outside where they are part of this
 * program. Functions that the compiler does not have are left out. */
static bool use_compiler_functions(Diags *d, LLVMOrcLLJITRef j) {
  static const struct {
    const char *name;
    void (*function)(void);
  } all[] = {{"__extendhfsf2", __extendhfsf2}, {"__truncsfhf2", __truncsfhf2}, {"__truncdfhf2", __truncdfhf2}};
  enum { ALL = sizeof all / sizeof *all };
  LLVMOrcCSymbolMapPair pairs[ALL];
  size_t n = 0;
  for (int i = 0; i < ALL; i++)
    if (all[i].function)
      pairs[n++] =
          (LLVMOrcCSymbolMapPair){LLVMOrcLLJITMangleAndIntern(j, all[i].name),
                                  {(uintptr_t)all[i].function,
                                   {LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0}}};
  LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, n);
  LLVMErrorRef error = LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(j), unit);
  if (error)
    LLVMOrcDisposeMaterializationUnit(unit);
  return succeeded(d, "naming the compiler's functions", error);
}

Jit *jit_load(Arena *a, Diags *d, int n, char *const *objects, const size_t *sizes) {
  Jit *j = ARENA_NEW(a, Jit);
  bool ok = true;
  target_init_llvm();
  if (!succeeded(d, "starting the JIT", LLVMOrcCreateLLJIT(&j->lljit, NULL)))
    return NULL;
  j->diags = d;
  LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(j->lljit), drop_report, NULL);
  for (int i = 0; i < n && ok; i++) {
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(objects[i], sizes[i], "kernels");
    ok = succeeded(d, "loading the kernels",
                   LLVMOrcLLJITAddObjectFile(j->lljit, LLVMOrcLLJITGetMainJITDylib(j->lljit), buffer));
  }
  if (ok && use_compiler_functions(d, j->lljit) && use_process_symbols(d, j->lljit))
    return j;
  jit_free(j);
  return NULL;
}

Jit *jit_new(Arena *a, Diags *d, const Module *m, const Target *t, const CodegenOptions *o) {
  char *object;
  size_t size;
  return codegen(a, d, m, t, EMIT_OBJ, o, &object, &size) ? jit_load(a, d, 1, &object, &size) : NULL;
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
