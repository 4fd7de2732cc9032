/* backend/codegen.c: from kernel IR to bytes: emit, link the mathematical library, optimise, write. */
#include "backend/emit.h"

#include <llvm-c/BitWriter.h>
#include <string.h>

/* One generation of code: the request, and LLVM's objects (disposed by codegen_end). */
typedef struct Codegen {
  Arena *arena;
  Diags *diags;
  const Target *target;
  const CodegenOptions *options;
  LLVMContextRef context;
  LLVMTargetMachineRef machine;
  LLVMModuleRef module;
  double start; /* of the stage being timed, seconds */
} Codegen;

/* Ends the stage called `name`: its time, if times are wanted. */
static void stage(Codegen *c, const char *name) {
  double t = clock_seconds();
  if (c->options->time)
    fprintf(c->options->to ? c->options->to : stderr, "%10.3f ms  llvm: %s\n", 1e3 * (t - c->start), name);
  c->start = t;
}

LLVMTargetMachineRef target_machine(Arena *a, Diags *d, const Target *t, int opt_level) {
  static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
                                               LLVMCodeGenLevelAggressive};
  int level = opt_level & 3, most = t->optimised_behind ? 2 : 3;
  LLVMTargetRef target = NULL;
  char *message = NULL;
  target_init_llvm();
  if (LLVMGetTargetFromTriple(t->triple, &target, &message)) {
    diag_error(d, no_loc(), "this LLVM has no target for %s: %s", t->triple, arena_strdup(a, message));
    LLVMDisposeMessage(message);
    return NULL;
  }
  return LLVMCreateTargetMachine(target, t->triple, t->cpu, t->features, levels[level < most ? level : most], t->reloc,
                                 LLVMCodeModelDefault);
}

/* Reports a message of LLVM's. Always false. */
static bool llvm_error(Codegen *c, const char *doing, char *message) {
  diag_error(c->diags, no_loc(), "LLVM failed while %s: %s", doing, message ? message : "unknown reason");
  if (message)
    LLVMDisposeMessage(message);
  return false;
}

/* Passes on LLVM's own diagnostics: errors as errors, warnings (a loop that was not vectorised) as remarks. LLVM's
 * remarks, on every instruction that a quick selector left to another, are dropped. */
static void on_llvm_message(LLVMDiagnosticInfoRef info, void *user) {
  Diags *d = user;
  char *text = LLVMGetDiagInfoDescription(info);
  if (LLVMGetDiagInfoSeverity(info) == LLVMDSError)
    diag_error(d, no_loc(), "LLVM: %s", text);
  else if (LLVMGetDiagInfoSeverity(info) == LLVMDSWarning)
    diag_remark(d, no_loc(), "LLVM: %s", text);
  LLVMDisposeMessage(text);
}

/* Does a kernel of `m` use signals between warps, on a target that has them? */
static bool uses_signals(const Module *m, const Target *t) {
  bool any = false;
  for (int i = 0; i < m->nkernels && t->warps; i++)
    any = any || block_has_signals(m->kernels[i].body);
  return any;
}

/* Are there clusters of blocks? */
static bool uses_clusters(const Module *m) {
  bool any = false;
  for (int i = 0; i < m->nkernels; i++)
    any = any || m->kernels[i].cluster;
  return any;
}

/* Emits the module and links what it calls. */
static bool codegen_begin(Codegen *c, const Module *m) {
  bool libm = false;
  c->start = clock_seconds();
  c->context = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(c->context, on_llvm_message, c->diags);
  static const int most[] = {[QUICK_NOT] = 3, [QUICK_PASSES] = 1, [QUICK_ALL] = 0};
  int level = c->options->opt_level & 3, limit = most[c->options->quick];
  int cells = c->options->quick == QUICK_ALL ? c->target->info.lanes : 0;
  Target target = *c->target;
  if (uses_signals(m, &target))
    target.features = uses_clusters(m) ? target.cluster_features : target.warp_features;
  c->machine = target_machine(c->arena, c->diags, &target, level < limit ? level : limit);
  if (!c->machine)
    return false;
  c->module = emit_module(c->arena, c->diags, m, c->target, c->context, c->machine, cells, c->options, &libm);
  stage(c, "emit");
  if (!c->module)
    return false;
  if (libm && c->target->library) {
    bool ok = libclc_link(c->arena, c->diags, c->module, c->target->library, m->fast_math);
    stage(c, "link libclc");
    return ok;
  }
  return true;
}

static void codegen_end(Codegen *c) {
  if (c->module)
    LLVMDisposeModule(c->module);
  if (c->machine)
    LLVMDisposeTargetMachine(c->machine);
  LLVMContextDispose(c->context);
}

/* Runs LLVM's passes of the level asked for. */
static bool optimise(Codegen *c) {
  if (!(c->options->opt_level & 3)) {
    if (c->target->ranges)
      write_extremes(c->module);
    return true;
  }
  if (c->target->compares_sums)
    hide_sums(c->arena, c->module);
  if (c->target->packs_f32)
    keep_single(c->module);
  LLVMErrorRef error = pipeline_run(c->arena, c->target, c->module, c->machine, c->options);
  show_sums(c->module);
  if (!error && c->target->ranges)
    write_extremes(c->module);
  if (!error && c->target->packs_f32)
    pack_pairs(c->arena, c->module, c->target);
  stage(c, "optimise");
  if (!error)
    return true;
  char *message = LLVMGetErrorMessage(error);
  diag_error(c->diags, no_loc(), "LLVM failed while optimising: %s", message);
  LLVMDisposeErrorMessage(message);
  return false;
}

void code_too_long(Diags *d, const char *name, int bytes, int64_t n, int64_t most) {
  diag_error(
      d, no_loc(),
      "kernel %.*s has %lld instructions, and at most %lld are given to a GPU's compiler, which may take minutes for "
      "more: fewer time steps (-T), fewer points a thread (-elems) or -schedule=naive make fewer",
      bytes, name, (long long)n, (long long)most);
}

/* Does no kernel have more instructions than LLVM may make a GPU's code of? False after an error. */
static bool is_short(Codegen *c) {
  int64_t most = c->target->info.simt && !c->target->optimised_behind ? c->options->most : 0;
  for (LLVMValueRef f = LLVMGetFirstFunction(c->module); f && most; f = LLVMGetNextFunction(f))
    if (function_length(f) >= most) {
      size_t bytes;
      const char *name = LLVMGetValueName2(f, &bytes);
      return code_too_long(c->diags, name, (int)bytes, function_length(f), most), false;
    }
  return true;
}

/* Copies the bytes to the arena, with a 0 after them. */
static void own_bytes(Codegen *c, const char *from, size_t n, char **bytes, size_t *size) {
  *bytes = arena_alloc(c->arena, n + 1);
  memcpy(*bytes, from, n);
  *size = n;
}

/* The module as IR text. */
static bool write_ir(Codegen *c, char **bytes, size_t *size) {
  char *text = LLVMPrintModuleToString(c->module);
  own_bytes(c, text, strlen(text), bytes, size);
  LLVMDisposeMessage(text);
  return true;
}

/* Writes `m` as assembly or object; LLVM's passes change `m` on the way. */
static bool write_module(Codegen *c, LLVMModuleRef m, LLVMCodeGenFileType type, char **bytes, size_t *size) {
  LLVMMemoryBufferRef buffer = NULL;
  char *message = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(c->machine, m, type, &message, &buffer))
    return llvm_error(c, "writing code", message);
  own_bytes(c, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer), bytes, size);
  LLVMDisposeMemoryBuffer(buffer);
  return true;
}

/* The assembly of a copy of `m`, in which loop-carried values are copied (arcs.c) in all kernels that have private
 * memory according to the assembly `before`; NULL: in none. NULL after an error. */
static char *assembly_of(Codegen *c, LLVMModuleRef m, const char *before) {
  LLVMModuleRef copy = LLVMCloneModule(m);
  KernelResources r;
  char *text = NULL;
  size_t size;
  for (LLVMValueRef f = LLVMGetFirstFunction(copy); f && before; f = LLVMGetNextFunction(f))
    if (c->target->resources(before, LLVMGetValueName(f), &r) && r.private_bytes)
      part_arcs(c->arena, copy, f);
  bool ok = write_module(c, copy, LLVMAssemblyFile, &text, &size);
  LLVMDisposeModule(copy);
  return ok ? text : NULL;
}

/* Copies loop-carried values (arcs.c) in those kernels of `m` that have private memory without the copies and none with
 * them; reports it; *any: whether there are such kernels. False after an error. */
static bool part_where_freed(Codegen *c, LLVMModuleRef m, bool *any) {
  const char *before = assembly_of(c, m, NULL), *after = before ? assembly_of(c, m, before) : NULL;
  KernelResources old, new;
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f && after; f = LLVMGetNextFunction(f)) {
    const char *name = LLVMGetValueName(f);
    if (!c->target->resources(before, name, &old) || !c->target->resources(after, name, &new) || !old.private_bytes ||
        new.private_bytes)
      continue;
    part_arcs(c->arena, m, f);
    *any = true;
    diag_remark(c->diags, no_loc(),
                "%s moves values that go round its loops, and so has no private memory; without, %d bytes a thread",
                name, old.private_bytes);
  }
  return after != NULL;
}

/* Writes the module. If its code has private memory, on a target that says so, writes it once more without, if that is
 * possible. Code that was to be made quickly is left as it is. */
static bool write_best(Codegen *c, LLVMCodeGenFileType type, char **bytes, size_t *size) {
  bool again = c->target->has_private && c->options->opt_level > 1 && !c->options->quick, any = false;
  LLVMModuleRef copy = again ? LLVMCloneModule(c->module) : NULL;
  bool ok = write_module(c, c->module, type, bytes, size);
  if (ok && again && c->target->has_private(*bytes, *size)) {
    ok = part_where_freed(c, copy, &any);
    ok = ok && (!any || write_module(c, copy, type, bytes, size));
  }
  if (copy)
    LLVMDisposeModule(copy);
  return ok;
}

/* The module as assembly or object, linked if the target wants that. */
static bool write_code(Codegen *c, LLVMCodeGenFileType type, char **bytes, size_t *size) {
  if (!is_short(c) || !write_best(c, type, bytes, size))
    return false;
  stage(c, "write code");
  if (type == LLVMAssemblyFile && c->target->loses_negations)
    mend_negations(c->arena, bytes, size);
  if (type == LLVMAssemblyFile || !c->target->linked)
    return true;
  bool ok = link_code_object(c->arena, c->diags, *bytes, *size, bytes, size);
  stage(c, "link");
  return ok;
}

/* Everything but the LLVM IR on which the object depends, as text. */
static const char *object_id(const Codegen *c) {
  unsigned major, minor, patch;
  const CodegenOptions *o = c->options;
  const char *passes = pipeline_of(o);
  LLVMGetVersion(&major, &minor, &patch);
  return arena_printf(c->arena, "LLVM %u.%u.%u; %s; %s; %s; reloc %d; -O%d, quick %d, straight %lld, long %lld; %s",
                      major, minor, patch, c->target->triple, c->target->cpu, c->target->features,
                      (int)c->target->reloc, o->opt_level & 3, (int)o->quick, (long long)o->straight,
                      (long long)o->long_function, passes ? passes : "");
}

/* Finds the object of the emitted module in o->store. If it is not there, sets *key to the key under which to keep
 * it. */
static bool find_kept(Codegen *c, CodeKey *key, char **bytes, size_t *size) {
  const CodeStore *store = c->options->store;
  LLVMMemoryBufferRef ir = LLVMWriteBitcodeToMemoryBuffer(c->module);
  store->key(object_id(c), LLVMGetBufferStart(ir), LLVMGetBufferSize(ir), key);
  LLVMDisposeMemoryBuffer(ir);
  bool found = store->find(c->arena, key, bytes, size);
  stage(c, found ? "find kept object" : "look for kept object");
  return found;
}

/* The object of the module: found, or made and kept. It is not kept if LLVM reported an error and went on, as it does
 * where it runs out of registers. */
static bool find_or_write(Codegen *c, char **bytes, size_t *size) {
  CodeKey key;
  int errors = diags_errors(c->diags);
  if (find_kept(c, &key, bytes, size))
    return true;
  if (!optimise(c) || stop_asked(c->options->stop) || !write_code(c, LLVMObjectFile, bytes, size))
    return false;
  if (diags_errors(c->diags) == errors)
    c->options->store->keep(&key, *bytes, *size);
  return true;
}

bool codegen(Arena *a, Diags *d, const Module *m, const Target *t, EmitKind kind, const CodegenOptions *o, char **bytes,
             size_t *size) {
  Codegen c = {.arena = a, .diags = d, .target = t, .options = o};
  EmitKind form = kind == EMIT_OBJ ? t->artifact : kind;
  int errors = diags_errors(d);
  bool ok = codegen_begin(&c, m) && !stop_asked(o->stop), kept = o->store && form == EMIT_OBJ && !t->linked;
  if (ok && kept)
    ok = find_or_write(&c, bytes, size);
  ok = ok && (kept || (optimise(&c) && !stop_asked(o->stop)));
  if (ok && !kept)
    ok = form == EMIT_LLVM ? write_ir(&c, bytes, size)
                           : write_code(&c, form == EMIT_ASM ? LLVMAssemblyFile : LLVMObjectFile, bytes, size);
  codegen_end(&c);
  return ok && diags_errors(d) == errors;
}
