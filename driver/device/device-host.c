/* driver/device/device-host.c: this CPU. Kernels are compiled into this process; a pool of threads runs their tiles. */
#include "driver/device/device.h"
#include "driver/device/host.h"
#include "driver/device/object-cache.h"
#include "driver/program/code-units.h"
#include "driver/program/program.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The state of a host device. */
typedef struct HostState {
  HostKernelFn *functions; /* by kernel; NULL: a late one */
  Build *build;
  CodegenOptions codegen;
  Jit **late; /* by kernel: code that was compiled late */
  HostPool pool;
  bool pool_made;
  unsigned allocated; /* the number of allocations with an offset */
  double start;
} HostState;

/* Counts cores; "host:N" asks for N threads. */
static StcStatus host_open(Device *d) {
  int cores = d->index > 0 ? d->index : host_threads();
  if (d->index == 0)
    return diag_error(d->w->diags, no_loc(), "device host:0: the number is that of threads, from 1"), STC_USAGE;
  d->limits.cores = cores;
  d->limits.cache_bytes = host_last_cache();
  d->limits.late = true;
  d->description = arena_printf(d->w->arena, "host, %d thread%s", cores, cores == 1 ? "" : "s");
  d->state = ARENA_NEW(d->w->arena, HostState);
  return STC_OK;
}

/* Ends the threads and frees late code. */
static void host_close(Device *d) {
  HostState *s = d->state;
  for (int i = 0; s && s->late && i < s->build->code.module->nkernels; i++)
    jit_free(s->late[i]);
  if (s && s->pool_made)
    host_pool_stop(&s->pool);
}

/* The arguments of the guarded function that compiles. */
typedef struct JitArgs {
  StcProgram *program;
  Build *build;
  const bool *late;
  CodegenOptions codegen;
} JitArgs;

/* A copy of the module with only the kernels that are not `late`. */
static Module early_kernels(Arena *a, const Module *m, const bool *late) {
  Module early = *m;
  early.kernels = ARENA_ARRAY(a, Kernel, m->nkernels + 1);
  early.nkernels = 0;
  for (int i = 0; i < m->nkernels; i++)
    if (!late[i])
      early.kernels[early.nkernels++] = m->kernels[i];
  return early;
}

/* The kernels of a build that are not `late`, and the options for compiling them. */
typedef struct EarlyUnits {
  const Module *module;
  const Target *target;
  const bool *late;
  const CodegenOptions *codegen;
} EarlyUnits;

/* Compiles one unit of these kernels (UnitWork). */
static StcStatus make_unit(Workspace *w, CodeUnit *p, int number, void *user) {
  const EarlyUnits *e = user;
  (void)number;
  return unit_codegen(w, p, e->module, e->target, e->codegen);
}

/* Removes the late kernels from all units; returns wanted[unit]: does the unit have other kernels? */
static bool *early_units(Arena *a, const EarlyUnits *early, CodeUnits *units) {
  bool *wanted = ARENA_ARRAY(a, bool, units->n + 1);
  for (int u = 0; u < units->n; u++) {
    bool *only = ARENA_ARRAY(a, bool, early->module->nkernels + 1);
    for (int i = 0; i < early->module->nkernels; i++) {
      only[i] = units->of[i] == u && !early->late[i];
      wanted[u] |= only[i];
    }
    units->all[u].only = only;
  }
  return wanted;
}

/* Compiles the units of `early` and loads them; *jit is NULL after an error. */
static StcStatus compile_units(Workspace *w, const EarlyUnits *early, bool remarks, Jit **jit) {
  CodeUnits *units = units_cut(w->arena, early->module);
  const bool *wanted = early_units(w->arena, early, units);
  char **objects = ARENA_ARRAY(w->arena, char *, units->n + 1);
  size_t *sizes = ARENA_ARRAY(w->arena, size_t, units->n + 1);
  int n = 0;
  StcStatus s = units_each(units, wanted, w->diags, remarks, early->codegen, make_unit, (void *)early);
  for (int i = 0; i < units->n && !s; i++)
    if (wanted[i]) {
      objects[n] = units->all[i].text;
      sizes[n++] = units->all[i].text_size;
    }
  *jit = s ? NULL : jit_load(w->arena, w->diags, n, objects, sizes);
  units_free(units);
  return s ? s : *jit ? STC_OK : STC_INTERNAL;
}

/* Compiles the kernels that are not late into this process. The code belongs to the program, so all plans share it. */
static StcStatus make_jit(void *arg) {
  JitArgs *a = arg;
  Workspace *w = &a->program->w;
  a->codegen = a->build->codegen;
  if (a->build->jit)
    return STC_OK;
  Module early = early_kernels(w->arena, a->build->code.module, a->late);
  a->codegen = program_codegen_options(a->program, &early, a->build->code.target);
  const StcOptions *o = &a->program->options;
  a->codegen.store = o->no_cache || o->time_passes || o->remarks ? NULL : object_cache();
  a->build->codegen = a->codegen;
  EarlyUnits e = {a->build->code.module, a->build->code.target, a->late, &a->codegen};
  return compile_units(w, &e, a->program->options.remarks, &a->build->jit);
}

/* Finds kernel `kernel` in the code. */
static StcStatus find_kernel(Device *d, Jit *jit, const Kernel *kernel, HostKernelFn *out) {
  *out = jit_find(jit, kernel->name);
  if (!*out)
    diag_error(d->w->diags, no_loc(), "kernel %s is not in the compiled code", kernel->name);
  return *out ? STC_OK : STC_INTERNAL;
}

/* Compiles a late kernel for this plan only. */
static StcStatus host_compile(Device *d, int kernel) {
  HostState *s = d->state;
  Module alone = *s->build->code.module;
  if (s->functions[kernel])
    return STC_OK;
  alone.kernels += kernel;
  alone.nkernels = 1;
  pthread_mutex_lock(&s->build->lock);
  s->late[kernel] = jit_new(d->w->arena, d->w->diags, &alone, s->build->code.target, &s->codegen);
  pthread_mutex_unlock(&s->build->lock);
  return s->late[kernel] ? find_kernel(d, s->late[kernel], alone.kernels, &s->functions[kernel]) : STC_INTERNAL;
}

/* Reports an error if the kernels are for another CPU than this one. */
static StcStatus check_cpu(Device *d, const Target *t) {
  const char *why = target_foreign(t);
  if (!why)
    return STC_OK;
  diag_error(d->w->diags, no_loc(), "kernels for host %s do not run here: %s; leave -mcpu out", target_info(t)->cpu,
             why);
  return STC_USAGE;
}

/* Finds the kernels' code and starts the pool, with as much scratch memory as the kernel that needs most. */
static StcStatus host_load(Device *d, StcProgram *p, Build *b) {
  HostState *s = d->state;
  const Module *m = b->code.module;
  int64_t scratch = 0;
  JitArgs args = {p, b, build_late_kernels(p, b, d->w->arena), {0}};
  StcStatus st = check_cpu(d, b->code.target);
  st = st ? st : workspace_guard(&p->w, make_jit, &args);
  if (st)
    return st;
  s->build = b;
  s->codegen = args.codegen;
  s->codegen.stop = NULL;
  s->late = ARENA_ARRAY(d->w->arena, Jit *, m->nkernels + 1);
  s->functions = ARENA_ARRAY(d->w->arena, HostKernelFn, m->nkernels + 1);
  for (int i = 0; i < m->nkernels && !st; i++) {
    int64_t bytes = kernel_shared_bytes(&m->kernels[i]);
    scratch = bytes > scratch ? bytes : scratch;
    st = args.late[i] ? STC_OK : find_kernel(d, b->jit, &m->kernels[i], &s->functions[i]);
  }
  if (st)
    return st;
  s->pool_made = true;
  if (!host_pool_start(&s->pool, d->limits.cores, (size_t)scratch))
    return diag_error(d->w->diags, no_loc(), "no threads or no memory for %d workers with %lld bytes of scratch each",
                      (int)d->limits.cores, (long long)scratch),
           STC_MEMORY;
  return STC_OK;
}

/* COPY_PIECE: bytes that one thread copies at a time; COPY_PIECES: from as many pieces on, all threads copy or clear.
 */
enum { COPY_PIECE = 1 << 20, COPY_PIECES = 4 };

/* Memory that is to be touched. */
typedef struct Touch {
  char *memory;
  size_t size;
  int64_t threads;
} Touch;

/* Clears the share of the memory of thread `block` (a HostKernelFn): the same fraction of a field as of the tiles that
 * the thread runs. */
static void touch_share(void *const *args, const int64_t *block, char *scratch) {
  const Touch *t = args[0];
  size_t page = 4096, each = (t->size / (size_t)t->threads / page + 1) * page, from = each * (size_t)block[0];
  (void)scratch;
  if (from < t->size)
    memset(t->memory + from, 0, t->size - from < each ? t->size - from : each);
}

/* Clears all of the memory, by all threads if it is large, since memory is placed near the thread that touches it
 * first. */
static void touch(HostState *s, char *memory, size_t size) {
  Touch t = {memory, size, s && s->pool_made ? s->pool.nworkers + 1 : 1};
  if (t.threads > 1 && size >= (size_t)COPY_PIECES * COPY_PIECE)
    host_pool_each(&s->pool, touch_share, (void *[]){&t});
  else
    memset(memory, 0, size);
}

/* LARGE_PAGE: bytes of a large page; the system is asked for whole ones if memory has room for one. CACHE_WAY:
 * addresses at this distance map to the same sets of second-level caches. SET_OFF: allocations from so many bytes on
 * get an offset. OFFSET_STEP: the step from one allocation's offset to the next. Both its whole pages and the rest are
 * about the golden section of their range, so the first few offsets are far apart, and any two differ by whole lines.
 */
enum { LARGE_PAGE = 1 << 21, CACHE_WAY = 1 << 17, SET_OFF = 1 << 14, OFFSET_STEP = 13 * 4096 + 25 * 64, LINE = 64 };

/* Stored in front of the memory that is returned: the pointer to be freed. */
typedef struct Lead {
  void *base;
} Lead;

/* Allocates memory and touches all of it, so that no run waits for the system to provide it. It uses large pages, also
 * for the end if little of the last page is left over: a step that reads a dozen fields needs more small pages than a
 * core can translate at once. Fields that began at the same offset in their pages, as large blocks of the C library do,
 * would map to the same few sets of the caches, which have fewer ways than there are fields, and stores would seem to
 * overlap loads of other fields; so each allocation gets another offset. *memory is NULL if there is not enough. */
static StcStatus host_alloc(Device *d, size_t size, void **memory) {
  HostState *s = d->state;
  size_t align = size >= LARGE_PAGE ? LARGE_PAGE : LINE, way = size >= LARGE_PAGE ? CACHE_WAY : 4096;
  size_t lead = LINE + (s && size >= SET_OFF ? (size_t)s->allocated++ * OFFSET_STEP % way : 0);
  size_t rounded = (size + lead + align - 1) / align * align;
  *memory = NULL;
  char *base = rounded < size ? NULL : aligned_alloc(align, rounded);
  if (!base)
    return STC_OK;
  if (align == LARGE_PAGE)
    madvise(base, rounded - (rounded - lead - size > size / 8 ? LARGE_PAGE : 0), MADV_HUGEPAGE);
  *memory = base + lead;
  ((Lead *)*memory)[-1].base = base;
  touch(s, *memory, size);
  return STC_OK;
}

/* Frees memory of host_alloc. */
static void host_release(Device *d, void *memory, size_t size) {
  (void)d;
  (void)size;
  free(memory ? ((Lead *)memory)[-1].base : NULL);
}

/* A copy by all threads. */
typedef struct HostCopy {
  char *to;
  const char *from;
  size_t size;
} HostCopy;

/* Copies n bytes that are not read soon. The stores bypass the caches, which need not load the lines that are
 * overwritten, and keep their contents. */
static void copy_past_caches(char *to, const char *from, size_t n) {
  size_t done = 0;
#ifdef __SSE2__
  if ((uintptr_t)to % sizeof(__m128i) == 0) {
    for (; done + 64 <= n; done += 64)
      for (size_t i = 0; i < 64; i += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(void *)(to + done + i),
                         _mm_loadu_si128((const __m128i *)(const void *)(from + done + i)));
    _mm_sfence();
  }
#endif
  memcpy(to + done, from + done, n - done);
}

/* Copies piece `block` (a HostKernelFn). */
static void copy_piece(void *const *args, const int64_t *block, char *scratch) {
  const HostCopy *c = args[0];
  size_t at = (size_t)block[0] * COPY_PIECE, left = c->size - at;
  (void)scratch;
  copy_past_caches(c->to + at, c->from + at, left < COPY_PIECE ? left : COPY_PIECE);
}

/* Copies in or out, by all threads if there are many bytes. */
static StcStatus host_copy(Device *d, void *to, const void *from, size_t size) {
  HostState *s = d->state;
  HostCopy c = {to, from, size};
  int64_t pieces = (int64_t)((size + COPY_PIECE - 1) / COPY_PIECE);
  if (s && s->pool_made && pieces >= COPY_PIECES)
    host_pool_run(&s->pool, copy_piece, (void *[]){&c}, 1, &pieces);
  else if (size)
    memcpy(to, from, size);
  return STC_OK;
}

/* Runs all tiles of the kernel and waits for them; skips tiles if a stop is requested meanwhile. */
static StcStatus host_launch(Device *d, const KernelLaunch *l) {
  HostState *s = d->state;
  s->pool.stop = d->stop;
  host_pool_run(&s->pool, s->functions[l->index], l->args, l->kernel->rank, l->blocks);
  s->pool.stop = NULL;
  return s->pool.torn ? STC_INTERRUPTED : STC_OK;
}

/* Starts the clock. */
static StcStatus host_start(Device *d) {
  ((HostState *)d->state)->start = clock_seconds();
  return STC_OK;
}

/* Reads the clock. */
static StcStatus host_stop(Device *d, double *seconds) {
  *seconds = clock_seconds() - ((HostState *)d->state)->start;
  return STC_OK;
}

/* Prints the line for `stc devices`. */
static void host_list(FILE *to) {
  int cores = host_threads();
  fprintf(to, "%-8s this CPU, %d core%s (host:N takes N threads)\n", "host", cores, cores == 1 ? "" : "s");
}

const DeviceKind device_host = {
    .name = "host",
    .help = "this CPU, all cores",
    .arch = "host",
    .index = "a number of threads",
    .open = host_open,
    .close = host_close,
    .load = host_load,
    .compile = host_compile,
    .alloc = host_alloc,
    .release = host_release,
    .put = host_copy,
    .fetch = host_copy,
    .copy = host_copy,
    .circle_step = here_circle_step,
    .circle_new = here_circle_new,
    .circle_free = here_circle_free,
    .launch = host_launch,
    .start = host_start,
    .wait = here_wait,
    .stop = host_stop,
    .dlpack = 1,
    .list = host_list,
};
