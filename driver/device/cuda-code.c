/* driver/device/cuda-code.c: kernels for NVIDIA GPUs: made by LLVM and NVIDIA's compiler in units, several at once and
 * only those that are needed, and loaded. NVIDIA's compiler is the driver's, which keeps on disk what it makes
 * (code-cache.h), and compiles one unit at a time. Of several long ones it is ptxas, where there is one whose cubins
 * the driver takes: they are kept on disk by stc (object-cache.h). */
#include "driver/device/cuda.h"
#include "driver/device/object-cache.h"
#include "driver/device/ptx-compiler.h"
#include "driver/program/code-units.h"
#include "passes/plan/cost/estimate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of the driver's interface. */
enum {
  FUNC_MAX_DYNAMIC_SHARED = 8,
  FUNC_SHARED_CARVEOUT = 9,
  JIT_ERROR_LOG = 5,
  JIT_ERROR_LOG_SIZE = 6,
  LOG_SIZE = 8192,
  WHY_SIZE = 1200
};

/* A unit of fewer ops is left to the driver, which is done with it before a process would be. */
enum { LONG_OPS = 300 };

/* want: the schedule that was asked for. modules: by unit, NULL: not loaded. compiler: ptxas, NULL: the driver
 * compiles, for `why`; beside: there are several long units to be compiled now; how many it compiled, how many were
 * kept from runs before, and those of the driver. */
struct CudaCode {
  Build *build;
  const Schedule *want;
  CodeUnits *units;
  CodegenOptions codegen;
  bool remarks;
  void **modules;
  PtxChoice choice;
  const PtxCompiler *compiler;
  const CodeStore *store;
  bool beside;
  atomic_int compiled, kept, by_driver;
  pthread_mutex_t lock; /* of `refused` and `why` */
  bool refused;
  char why[WHY_SIZE];
};

/* ---------------------------------------------------------------- the driver's compiler */

/* An error of the driver's about a unit of PTX, with its compiler's log. */
static StcStatus refuse(Workspace *w, const Cuda *cu, CuResult e, const char *log) {
  diag_error(w->diags, no_loc(), "cuda: the driver does not take the PTX: %s", cuda_words(cu, e));
  if (log[0])
    diag_note(w->diags, no_loc(), "the driver's compiler says: %s", log);
  return STC_DEVICE;
}

/* Loads PTX or an image. */
static StcStatus load(Workspace *w, const Cuda *cu, const char *code, void **module) {
  char *log = arena_alloc(w->arena, LOG_SIZE);
  int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE};
  void *values[] = {log, (void *)(uintptr_t)LOG_SIZE};
  memset(log, 0, LOG_SIZE);
  CuResult e = cu->module_load(module, code, 2, options, values);
  return e ? refuse(w, cu, e, log) : STC_OK;
}

/* ---------------------------------------------------------------- ptxas */

/* Chooses who compiles PTX, for a driver of CUDA `driver` (13000: 13.0). An error if that is to be ptxas, and cannot.
 */
static StcStatus choose_compiler(CudaCode *c, StcProgram *p, int driver) {
  const char *why = "STC_PTX_COMPILER=driver";
  if (!ptx_choice(p->w.diags, &c->choice))
    return STC_USAGE;
  if (c->choice != PTX_DRIVER)
    c->compiler = ptx_compiler(p->w.arena, driver, &why);
  c->store = p->options.no_cache ? NULL : cubin_cache();
  snprintf(c->why, sizeof c->why, "%s", c->compiler ? "" : why);
  if (c->compiler || c->choice != PTX_PTXAS)
    return STC_OK;
  diag_error(p->w.diags, no_loc(), "cuda: STC_PTX_COMPILER=ptxas, but %s: set it to driver, or unset it", why);
  return STC_DEVICE;
}

/* Has the unit's cubin for `architecture` in p->image, from disk or compiled. NULL if it has, else why not. */
static const char *make_image(Workspace *w, CudaCode *c, CodeUnit *p, const char *architecture) {
  const char *why = NULL;
  CodeKey key;
  char *kept;
  if (p->image && strcmp(p->image_for, architecture) == 0)
    return NULL;
  free(p->image);
  p->image = NULL;
  snprintf(p->image_for, sizeof p->image_for, "%s", architecture);
  if (c->store)
    ptx_key(c->compiler, w->arena, c->store, p->text, p->text_size, architecture, &key);
  if (c->store && c->store->find(w->arena, &key, &kept, &p->image_size)) {
    p->image = malloc(p->image_size + 1);
    if (!p->image)
      return "out of memory";
    memcpy(p->image, kept, p->image_size);
    atomic_fetch_add(&c->kept, 1);
    return NULL;
  }
  p->image =
      ptx_compile(c->compiler, w->arena, p->text, p->text_size, architecture, c->codegen.stop, &p->image_size, &why);
  if (!p->image)
    return arena_printf(w->arena, "ptxas does not take the PTX: %s", why);
  if (c->store)
    c->store->keep(&key, p->image, p->image_size);
  atomic_fetch_add(&c->compiled, 1);
  return NULL;
}

/* Has ptxas's work on a unit been refused? Then the driver does the others, too. */
static bool is_refused(CudaCode *c) {
  pthread_mutex_lock(&c->lock);
  bool refused = c->refused;
  pthread_mutex_unlock(&c->lock);
  return refused;
}

/* Notes that it is, and why, unless that is known. */
static void note_refused(CudaCode *c, const char *why) {
  pthread_mutex_lock(&c->lock);
  if (!c->refused)
    snprintf(c->why, sizeof c->why, "%s", why);
  c->refused = true;
  pthread_mutex_unlock(&c->lock);
}

/* Loads ptxas's cubin of a unit of PTX. False: the driver is to compile it. */
static bool load_cubin(Workspace *w, const CudaState *s, CodeUnit *p, void **module) {
  CudaCode *c = s->code;
  bool wanted = c->choice == PTX_PTXAS || (c->beside && p->ops >= LONG_OPS);
  if (!c->compiler || !wanted || memcmp(p->text, "\177ELF", 4) == 0 || is_refused(c))
    return false;
  const char *why = make_image(w, c, p, ptx_architecture(w->arena, p->text, s->major, s->minor));
  CuResult e = why ? 0 : s->cu.module_load(module, p->image, 0, NULL, NULL);
  if (e)
    why = arena_printf(w->arena, "the driver does not take the cubin of %s: %s", c->compiler->name,
                       cuda_words(&s->cu, e));
  if (why && !stop_asked(c->codegen.stop))
    note_refused(c, why);
  return !why;
}

/* Loads a unit, compiled. */
static StcStatus load_unit(Workspace *w, const CudaState *s, CodeUnit *p, void **module) {
  CudaCode *c = s->code;
  if (load_cubin(w, s, p, module))
    return STC_OK;
  if (stop_asked(c->codegen.stop))
    return STC_INTERRUPTED;
  if (c->choice == PTX_PTXAS && is_refused(c))
    return diag_error(w->diags, no_loc(),
                      "cuda: STC_PTX_COMPILER=ptxas cannot be, for %s; set it to driver, or unset it", c->why),
           STC_DEVICE;
  atomic_fetch_add(&c->by_driver, 1);
  return load(w, &s->cu, p->text, module);
}

/* Says with -v who compiled the units that were loaded now, and why ptxas did not. */
static void tell_compilers(const Device *d, CudaCode *c) {
  int compiled = atomic_exchange(&c->compiled, 0), kept = atomic_exchange(&c->kept, 0),
      by_driver = atomic_exchange(&c->by_driver, 0);
  if (c->compiler)
    context_remark(d->w->context,
                   "cuda: units of PTX: %d compiled by %s, %d kept on disk from runs before, %d left to the driver%s%s",
                   compiled, c->compiler->name, kept, by_driver, c->refused ? ", for " : "", c->refused ? c->why : "");
  else
    context_remark(d->w->context, "cuda: units of PTX: %d left to the driver, for %s", by_driver, c->why);
}

/* ---------------------------------------------------------------- making */

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
  return st ? st : load_unit(w, s, p, &c->modules[number]);
}

/* ---------------------------------------------------------------- loading */

/* The units of the build; a single one if there is code already. */
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

/* What cuda_code_begin hands to its guarded part. */
typedef struct BeginArgs {
  CudaCode *code;
  StcProgram *program;
  int driver;
} BeginArgs;

/* What is in the program's memory. */
static StcStatus begin_guarded(void *arg) {
  BeginArgs *a = arg;
  Build *b = a->code->build;
  a->code->codegen = program_codegen_options(a->program, b->code.module, b->code.target);
  if (!b->bytes && !b->units && !budget_compiler(a->program->w.diags, b->code.module, true, &a->program->schedule))
    return STC_INPUT;
  StcStatus st = choose_compiler(a->code, a->program, a->driver);
  return st ? st : find_units(a->code, a->program, b);
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
  *c = (CudaCode){.build = b, .want = &p->schedule, .remarks = p->options.remarks, .lock = PTHREAD_MUTEX_INITIALIZER};
  int version = 0;
  if (!s->cu.driver_version || s->cu.driver_version(&version))
    version = 0;
  BeginArgs args = {c, p, version};
  StcStatus st = workspace_guard(&p->w, begin_guarded, &args);
  if (st)
    return st;
  c->modules = ARENA_ARRAY(d->w->arena, void *, c->units->n + 1);
  s->code = c;
  return STC_OK;
}

/* Raises the shared memory of kernel `i` where it needs more than every block may have. */
static StcStatus raise_shared(Device *d, int i) {
  CudaState *s = d->state;
  int bytes = (int)s->gpu.dynamic[i];
  if (bytes <= 48 * 1024)
    return STC_OK;
  return cuda_check(d, s->cu.function_attribute(s->gpu.functions[i], FUNC_MAX_DYNAMIC_SHARED, bytes),
                    "raising the shared memory of a block");
}

/* Sets beside[k] of the kernels of `seq` that are launched beside others, and of those that are launched instead. */
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

/* Has a multiprocessor give as much of its memory to blocks as any of the kernels takes that are launched beside each
 * other, of those that are there, where some go by a list of tiles. By itself the driver chooses for each kernel, and
 * one waits until the other's blocks are done where it has chosen otherwise: heat without flux through a shore, in
 * tiles of 4 steps, made 5553 GPts/s and makes 12588 (8192 x 8192, 5 % wet, H200, 2026-11-29, two calls). Not in three
 * dimensions, where tiles read more by way of the first cache. */
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

/* Has the kernels that are wanted on the device before they are launched: else the first launch waits for that, one
 * device after the other where a process has several. */
static StcStatus load_functions(Device *d, const bool *wanted) {
  CudaState *s = d->state;
  const Module *m = ((const CudaCode *)s->code)->build->code.module;
  StcStatus st = STC_OK;
  for (int i = 0; i < m->nkernels && !st && s->cu.function_load; i++)
    if (wanted[i] && s->gpu.functions[i])
      st = cuda_check(d, s->cu.function_load(s->gpu.functions[i]), m->kernels[i].name);
  return st;
}

/* Finds the kernels of the units that are loaded. */
static StcStatus find_functions(Device *d) {
  CudaState *s = d->state;
  const CudaCode *c = s->code;
  const Module *m = c->build->code.module;
  StcStatus st = STC_OK;
  for (int i = 0; i < m->nkernels && !st; i++) {
    void *module = c->modules[c->units->of[i]];
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

/* Are two or more of those that are wanted long, so that they are done sooner beside each other? */
static bool are_several(const CodeUnits *p, const bool *wanted) {
  int n = 0;
  for (int i = 0; i < p->n; i++)
    n += wanted[i] && p->all[i].ops >= LONG_OPS;
  return n > 1 && units_threads() > 1;
}

StcStatus cuda_need(Device *d, const bool *wanted) {
  const CudaState *s = d->state;
  CudaCode *c = s->code;
  bool *units = ARENA_ARRAY(d->w->arena, bool, c->units->n + 1), any = false;
  for (int i = 0; i < c->build->code.module->nkernels; i++)
    if (wanted[i] && !c->modules[c->units->of[i]])
      any = units[c->units->of[i]] = true;
  c->beside = are_several(c->units, units);
  if (!any)
    return s->lent ? find_functions(d) : STC_OK;
  double start = clock_seconds();
  StcStatus st = units_each(c->units, units, d->w->diags, c->remarks, &c->codegen, make_unit, d);
  d->load_seconds += clock_seconds() - start;
  if (!st) {
    tell_compilers(d, c);
    st = find_functions(d);
  }
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
    if (s->code->modules[i])
      s->gpu.call.module_unload(s->code->modules[i]);
  if (s->code && !s->lent && s->code->units != s->code->build->units)
    free(s->code->units->all->image);
}
