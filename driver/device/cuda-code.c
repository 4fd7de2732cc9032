/* driver/device/cuda-code.c: kernels for NVIDIA GPUs. LLVM and the driver's compiler compile them in units, several at
 * once, and only the units that are needed; then they are loaded. The driver keeps its results on disk (code-cache.h).
 * It compiles libraries (of CUDA 12) in parallel, but modules one after the other. */
#include "driver/device/cuda.h"
#include "driver/program/code-units.h"
#include "passes/plan/cost/estimate.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of the driver's interface. */
enum {
  FUNC_MAX_DYNAMIC_SHARED = 8,
  FUNC_SHARED_CARVEOUT = 9,
  JIT_ERROR_LOG = 5,
  JIT_ERROR_LOG_SIZE = 6,
  LOG_SIZE = 8192
};

/* The loaded code of a unit; NULL: not loaded. library is NULL if the module was not loaded as a library. */
typedef struct Loaded {
  void *module, *library;
} Loaded;

/* want: the requested schedule. loaded: by unit. */
struct CudaCode {
  Build *build;
  const Schedule *want;
  CodeUnits *units;
  CodegenOptions codegen;
  bool remarks;
  Loaded *loaded;
};

/* ---------------------------------------------------------------- the driver's compiler */

/* Reports the driver's error for a unit of PTX, with the log of its compiler. */
static StcStatus refuse(Workspace *w, const Cuda *cu, CuResult e, const char *log) {
  diag_error(w->diags, no_loc(), "cuda: the driver does not take the PTX: %s", cuda_words(cu, e));
  if (log[0])
    diag_note(w->diags, no_loc(), "the driver's compiler says: %s", log);
  return STC_DEVICE;
}

/* Loads PTX as a library, and the library into the current context. Other threads can do so at the same time; the
 * driver holds no lock meanwhile. False if `code` is a compiled image, or the driver has no libraries, or refuses this
 * one. */
static bool load_library(const Cuda *cu, const char *code, Loaded *out) {
  void *library = NULL;
  if (!cu->library_load || memcmp(code, "\177ELF", 4) == 0 ||
      cu->library_load(&library, code, NULL, NULL, 0, NULL, NULL, 0))
    return false;
  if (cu->library_module(&out->module, library) == 0)
    return out->library = library, true;
  cu->library_unload(library);
  out->module = NULL;
  return false;
}

/* Loads PTX or an image. Code that is refused as a library is loaded as a module, which reports the reason as text. */
static StcStatus load(Workspace *w, const Cuda *cu, const char *code, Loaded *out) {
  if (load_library(cu, code, out))
    return STC_OK;
  char *log = arena_alloc(w->arena, LOG_SIZE);
  int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE};
  void *values[] = {log, (void *)(uintptr_t)LOG_SIZE};
  memset(log, 0, LOG_SIZE);
  CuResult e = cu->module_load(&out->module, code, 2, options, values);
  return e ? refuse(w, cu, e, log) : STC_OK;
}

/* Compiles and loads a unit (UnitWork). */
static StcStatus make_unit(Workspace *w, CodeUnit *p, int number, void *user) {
  const Device *d = user;
  const CudaState *s = d->state;
  CudaCode *c = s->code;
  CuResult e = s->cu.context_set(s->context);
  StcStatus st =
      e ? refuse(w, &s->cu, e, "") : unit_codegen(w, p, c->build->code.module, c->build->code.target, &c->codegen);
  if (!st && !budget_assembly(w->diags, p->text, c->want))
    st = STC_INPUT;
  if (!st && stop_asked(c->codegen.stop))
    st = STC_INTERRUPTED;
  return st ? st : load(w, &s->cu, p->text, &c->loaded[number]);
}

/* ---------------------------------------------------------------- loading */

/* Finds the units of the build; one unit if the build has code already. */
static StcStatus find_units(CudaCode *c, StcProgram *p, Build *b) {
  Arena *a = p->w.arena;
  if (b->units && !b->bytes)
    return c->units = b->units, STC_OK;
  if (!b->bytes)
    return c->units = b->units = units_cut(a, b->code.module), STC_OK;
  c->units = ARENA_NEW(a, CodeUnits);
  int n = b->code.module->nkernels;
  *c->units = (CodeUnits){1, 0, ARENA_ARRAY(a, CodeUnit, 1), ARENA_ARRAY(a, int, n + 1), ARENA_ARRAY(a, int, n + 1)};
  for (int i = 0; i < n; i++)
    c->units->code[i] = i;
  c->units->all->text = b->bytes;
  c->units->all->text_size = b->size;
  return STC_OK;
}

/* The arguments of cuda_code_begin's guarded function. */
typedef struct BeginArgs {
  CudaCode *code;
  StcProgram *program;
} BeginArgs;

/* Makes the part that lies in the program's memory. */
static StcStatus begin_guarded(void *arg) {
  BeginArgs *a = arg;
  Build *b = a->code->build;
  a->code->codegen = program_codegen_options(a->program, b->code.module, b->code.target);
  if (!b->bytes && !b->units && !budget_compiler(a->program->w.diags, b->code.module, true, &a->program->schedule))
    return STC_INPUT;
  return find_units(a->code, a->program, b);
}

StcStatus cuda_code_begin(Device *d, StcProgram *p, Build *b) {
  CudaState *s = d->state;
  const CudaState *like = d->like ? d->like->state : NULL;
  if (like && like->code && like->code->build == b && like->context == s->context) {
    s->code = like->code;
    s->lent = true;
    return STC_OK;
  }
  CudaCode *c = ARENA_NEW(d->w->arena, CudaCode);
  *c = (CudaCode){.build = b, .want = &p->schedule, .remarks = p->options.remarks};
  BeginArgs args = {c, p};
  StcStatus st = workspace_guard(&p->w, begin_guarded, &args);
  if (st)
    return st;
  c->loaded = ARENA_ARRAY(d->w->arena, Loaded, c->units->n + 1);
  s->code = c;
  return STC_OK;
}

/* Raises the limit of shared memory of kernel `i` if it needs more than every block may have. */
static StcStatus raise_shared(Device *d, int i) {
  CudaState *s = d->state;
  int bytes = (int)s->gpu.dynamic[i];
  if (bytes <= 48 * 1024)
    return STC_OK;
  return cuda_check(d, s->cu.function_attribute(s->gpu.functions[i], FUNC_MAX_DYNAMIC_SHARED, bytes),
                    "raising the shared memory of a block");
}

/* Sets beside[k] for the kernels of `seq` that are launched beside others, and for the kernels that replace those. */
static void mark_beside(const Module *m, const HostSeq *seq, bool *beside) {
  for (int i = 0; i < seq->nops; i++) {
    const HostOp *op = &seq->ops[i];
    if (op->kind != HOST_LAUNCH || !(op->beside || (i + 1 < seq->nops && seq->ops[i + 1].beside)))
      continue;
    beside[op->a] = true;
    if (m->kernels[op->a].instead)
      beside[m->kernels[op->a].instead - 1] = true;
  }
}

/* Does something only if a kernel uses a list of tiles in fewer than three dimensions. Then, for all loaded kernels
 * that are launched beside each other, it sets the shared memory of a multiprocessor to the most that the blocks of any
 * of them take. Without this the driver chooses for each kernel separately, and a kernel for which it chose otherwise
 * waits until the other's blocks have finished: heat without flux through a shore, in tiles of 4 steps, made 5553
 * GPts/s and makes 12588 (8192 x 8192, 5 % wet, H200, 2026-11-29, two calls). Not in three dimensions, where tiles read
 * more through the first-level cache. */
static StcStatus share_cores(Device *d) {
  CudaState *s = d->state;
  const Module *m = ((const CudaCode *)s->code)->build->code.module;
  const TargetInfo *t = &d->limits;
  bool *beside = ARENA_ARRAY(d->w->arena, bool, m->nkernels + 1);
  int64_t most = 0;
  bool listed = false;
  const HostSeq *seq;
  for (int i = 0; (seq = host_part(m, i)); i++)
    mark_beside(m, seq, beside);
  for (int i = 0; i < m->nkernels; i++)
    listed = listed || (m->kernels[i].list && m->kernels[i].rank < GRID_RANK);
  if (!listed)
    return STC_OK;
  for (int i = 0; i < m->nkernels; i++) {
    const Kernel *k = &m->kernels[i];
    KernelInfo info;
    if (!beside[i] || !s->gpu.functions[i] || !gpu_inspect(d, i, &info))
      continue;
    int64_t threads = kernel_threads(k), each = info.shared + SHARED_RESERVED,
            all = each * model_occupancy(t, threads, info.registers, info.shared).blocks;
    most = all > most ? all : most;
  }
  StcStatus st = STC_OK;
  int percent = t->shared_per_core > 0 ? (int)((100 * most + t->shared_per_core - 1) / t->shared_per_core) : 0;
  percent = percent < 100 ? percent : 100;
  for (int i = 0; i < m->nkernels && !st && percent > 0; i++)
    if (beside[i] && s->gpu.functions[i])
      st = cuda_check(d, s->cu.function_attribute(s->gpu.functions[i], FUNC_SHARED_CARVEOUT, percent),
                      "choosing the shared memory of a multiprocessor");
  return st;
}

/* Loads the wanted kernels onto the device before they are launched; else the first launch waits for that, for one
 * device after the other if a process has several. */
static StcStatus load_functions(Device *d, const bool *wanted) {
  CudaState *s = d->state;
  const Module *m = ((const CudaCode *)s->code)->build->code.module;
  StcStatus st = STC_OK;
  for (int i = 0; i < m->nkernels && !st && s->cu.function_load; i++)
    if (wanted[i] && s->gpu.functions[i])
      st = cuda_check(d, s->cu.function_load(s->gpu.functions[i]), m->kernels[i].name);
  return st;
}

/* Finds the kernels of the loaded units. */
static StcStatus find_functions(Device *d) {
  CudaState *s = d->state;
  const CudaCode *c = s->code;
  const Module *m = c->build->code.module;
  StcStatus st = STC_OK;
  for (int i = 0; i < m->nkernels && !st; i++) {
    void *module = c->loaded[c->units->of[i]].module;
    if (!module || s->gpu.functions[i])
      continue;
    const char *name = m->kernels[c->units->code[i]].name;
    st = cuda_check(d, s->gpu.call.module_function(&s->gpu.functions[i], module, name), name);
    if (!st)
      st = raise_shared(d, i);
  }
  return st;
}

const Module *cuda_module(const Device *d) { return ((const CudaState *)d->state)->code->build->code.module; }

StcStatus cuda_need(Device *d, const bool *wanted) {
  const CudaState *s = d->state;
  CudaCode *c = s->code;
  bool *units = ARENA_ARRAY(d->w->arena, bool, c->units->n + 1), any = false;
  for (int i = 0; i < c->build->code.module->nkernels; i++)
    if (wanted[i] && !c->loaded[c->units->of[i]].module)
      any = units[c->units->of[i]] = true;
  if (!any)
    return s->lent ? find_functions(d) : STC_OK;
  double start = clock_seconds();
  StcStatus st = units_each(c->units, units, d->w->diags, c->remarks, &c->codegen, make_unit, d);
  d->load_seconds += clock_seconds() - start;
  if (!st)
    st = find_functions(d);
  if (!st)
    st = share_cores(d);
  return st ? st : load_functions(d, wanted);
}

StcStatus cuda_need_one(Device *d, int kernel) {
  const CudaState *s = d->state;
  if (s->gpu.functions[kernel])
    return STC_OK;
  const Stop *stop = s->code->codegen.stop;
  bool *wanted = ARENA_ARRAY(d->w->arena, bool, s->code->build->code.module->nkernels + 1);
  wanted[kernel] = true;
  s->code->codegen.stop = NULL;
  StcStatus st = cuda_need(d, wanted);
  s->code->codegen.stop = stop;
  return st;
}

void cuda_code_end(Device *d) {
  const CudaState *s = d->state;
  for (int i = 0; s->code && !s->lent && i < s->code->units->n; i++)
    if (s->code->loaded[i].library)
      s->cu.library_unload(s->code->loaded[i].library);
    else if (s->code->loaded[i].module)
      s->gpu.call.module_unload(s->code->loaded[i].module);
}
