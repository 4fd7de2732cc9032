/* backend/pipeline.c: chooses the passes of LLVM through which a module runs.
 *
 * Which passes PTX needs was measured: docs/lab/compile-time.md. */
#include "backend/emit.h"

#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

/* The passes for a module of very many loops. */
static const char quick_passes[] = "function(sroa,early-cse,simplifycfg,loop-mssa(loop-rotate,licm),loop-vectorize,"
                                   "early-cse,instsimplify,simplifycfg)";

const char *pipeline_of(const CodegenOptions *o) {
  static const char *const levels[] = {NULL, "default<O1>", "default<O2>", "default<O3>"};
  int level = o->opt_level & 3;
  return level && o->quick ? quick_passes : levels[level];
}

/* Does instruction `i` call a function that has a body? */
static bool calls_body(LLVMValueRef i) {
  LLVMValueRef f = LLVMIsACallInst(i) ? LLVMIsAFunction(LLVMGetCalledValue(i)) : NULL;
  return f && !LLVMIsDeclaration(f);
}

int64_t function_length(LLVMValueRef f) {
  int64_t n = 0;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
      n++;
  return n;
}

/* The blocks of a function by number, and for each the number of branches to it from blocks not yet taken. */
typedef struct Blocks {
  PtrMap number; /* block -> &open[its number] */
  int32_t *open;
  LLVMBasicBlockRef *ready; /* those to which no branch is left */
  int32_t nready;
} Blocks;

/* Removes a branch to `to`. */
static void take_branch(Blocks *k, LLVMBasicBlockRef to) {
  int32_t *open = ptrmap_get(&k->number, to);
  if (--*open == 0)
    k->ready[k->nready++] = to;
}

/* Calls `each` for the successors of `b`. */
static void for_successors(Blocks *k, LLVMBasicBlockRef b, void (*each)(Blocks *k, LLVMBasicBlockRef to)) {
  LLVMValueRef last = LLVMGetBasicBlockTerminator(b);
  for (unsigned i = 0; last && i < LLVMGetNumSuccessors(last); i++)
    each(k, LLVMGetSuccessor(last, i));
}

/* Counts a branch to `to`. */
static void count_branch(Blocks *k, LLVMBasicBlockRef to) { ++*(int32_t *)ptrmap_get(&k->number, to); }

/* Is the control flow graph of function `f` acyclic? It is if each block can be taken after all that lead to it (Kahn,
 * Topological sorting of large networks, CACM 5(11), 1962). */
static bool has_no_loop(Arena *a, LLVMValueRef f) {
  int32_t n = (int32_t)LLVMCountBasicBlocks(f), i = 0, taken = 0;
  Blocks k = {.open = ARENA_ARRAY(a, int32_t, n), .ready = ARENA_ARRAY(a, LLVMBasicBlockRef, n)};
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
    ptrmap_put(a, &k.number, b, &k.open[i++]);
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
    for_successors(&k, b, count_branch);
  k.ready[k.nready++] = LLVMGetEntryBasicBlock(f);
  while (taken < k.nready)
    for_successors(&k, k.ready[taken++], take_branch);
  return taken == n;
}

/* Instructions of function `f`; 0 if one calls a function with a body, or if there is a loop. */
static int64_t straight_length(Arena *a, LLVMValueRef f) {
  int64_t n = 0;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i), n++)
      if (calls_body(i))
        return 0;
  return has_no_loop(a, f) ? n : 0;
}

/* The attributes that keep LLVM's passes from a function; nothing else sets the first. */
static const char *const left_alone[] = {"optnone", "noinline"};
enum { NLEFT_ALONE = 2 };

/* LLVM's number of attribute `i` of these. */
static unsigned alone_kind(int i) { return LLVMGetEnumAttributeKindForName(left_alone[i], strlen(left_alone[i])); }

/* Marks function `f`, which LLVM's passes are to leave alone. */
static void leave_alone(LLVMValueRef f) {
  LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(f));
  for (int i = 0; i < NLEFT_ALONE; i++)
    LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(context, alone_kind(i), 0));
}

/* Takes the marks from the functions of `m` that have them. */
static void unmark(LLVMModuleRef m) {
  LLVMAttributeIndex at = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f) && LLVMGetEnumAttributeAtIndex(f, at, alone_kind(0)))
      for (int i = 0; i < NLEFT_ALONE; i++)
        LLVMRemoveEnumAttributeAtIndex(f, at, alone_kind(i));
}

/* Runs the module's long functions without loops through the few passes that they need, and marks them. */
static LLVMErrorRef run_straight(Arena *a, const Target *t, LLVMModuleRef m, LLVMTargetMachineRef machine,
                                 const CodegenOptions *o, LLVMPassBuilderOptionsRef options) {
  LLVMErrorRef error = NULL;
  if (!o->straight || !t->straight_passes || o->opt_level < 2)
    return NULL;
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f && !error; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f) && straight_length(a, f) >= o->straight) {
      error = LLVMRunPassesOnFunction(f, t->straight_passes, machine, options);
      leave_alone(f);
    }
  return error;
}

/* Makes LLVM select instructions in the quickest way for long functions of `m`, as optimised, where another compiler
 * optimises the result. Otherwise LLVM's passes before selection compare each sum with all others (straight-line
 * strength reduction): 35 s for 60,000 instructions, where the quickest way takes 0.6 s and makes 3 % more
 * instructions. */
static void select_quickly(const Target *t, LLVMModuleRef m, const CodegenOptions *o) {
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f && o->long_function && t->optimised_behind;
       f = LLVMGetNextFunction(f))
    if (function_length(f) >= o->long_function)
      leave_alone(f);
}

LLVMErrorRef pipeline_run(Arena *a, const Target *t, LLVMModuleRef m, LLVMTargetMachineRef machine,
                          const CodegenOptions *o) {
  const char *passes = pipeline_of(o);
  if (!passes)
    return NULL;
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMPassBuilderOptionsSetLoopVectorization(options, 1);
  LLVMErrorRef error = run_straight(a, t, m, machine, o, options);
  if (!error)
    error = LLVMRunPasses(m, passes, machine, options);
  LLVMDisposePassBuilderOptions(options);
  unmark(m);
  select_quickly(t, m, o);
  return error;
}
