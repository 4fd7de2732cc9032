/* driver/device/device-host.c: this CPU. Kernels are compiled into this process; a pool of threads pulls tiles from a
 * common counter. */
#include "driver/driver.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Pool Pool;

/* A thread of the pool with the scratch memory of its tile. */
typedef struct Worker {
  Pool *pool;
  pthread_t thread;
  char *scratch;
} Worker;

/* The pool. A launch is a generation: the main thread fills in `fn` and what follows, raises `generation`, works along
 * and waits until `busy` is 0. */
struct Pool {
  int nworkers; /* without the main thread, which is workers[0] */
  Worker *workers;
  size_t scratch_size;
  pthread_mutex_t lock;
  pthread_cond_t wake, done;
  uint64_t generation;
  int busy;
  bool quit;
  HostKernelFn fn;
  void **args;
  int rank;
  int64_t blocks[MAX_RANK], total;
  atomic_llong next;
};

/* The state of a host device. */
typedef struct HostState {
  HostKernelFn *functions;
  Pool pool;
  bool pool_made;
  double start;
} HostState;

/* Takes a run of tiles, half of a thread's fair share of those that are left: long runs first, so that a thread finds
 * what its tiles have in common in its cache, single tiles at the end, so that all threads end together. False if none
 * is left. */
static bool take_tiles(Pool *p, int64_t *first, int64_t *last) {
  long long at = atomic_load(&p->next), run;
  do {
    if (at >= p->total)
      return false;
    run = (p->total - at) / (2 * (p->nworkers + 1));
    if (run < 1)
      run = 1;
  } while (!atomic_compare_exchange_weak(&p->next, &at, at + run));
  *first = at;
  *last = at + run;
  return true;
}

/* Runs tiles until none is left. */
static void pull_tiles(Pool *p, char *scratch) {
  int64_t first, last;
  while (take_tiles(p, &first, &last))
    for (int64_t i = first; i < last; i++) {
      int64_t block[MAX_RANK] = {0}, rest = i;
      for (int d = p->rank - 1; d >= 0; d--) {
        block[d] = rest % p->blocks[d];
        rest /= p->blocks[d];
      }
      p->fn(p->args, block, scratch);
    }
}

/* The life of a thread of the pool. */
static void *worker_main(void *arg) {
  Worker *w = arg;
  Pool *p = w->pool;
  uint64_t seen = 0;
  pthread_mutex_lock(&p->lock);
  for (;;) {
    while (p->generation == seen && !p->quit)
      pthread_cond_wait(&p->wake, &p->lock);
    if (p->quit)
      break;
    seen = p->generation;
    pthread_mutex_unlock(&p->lock);
    pull_tiles(p, w->scratch);
    pthread_mutex_lock(&p->lock);
    if (--p->busy == 0)
      pthread_cond_signal(&p->done);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

/* The cores that this process may use. */
static int core_count(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? n : 1;
}

/* Scratch for one worker: `size` bytes aligned to 64; never NULL unless out of memory. */
static char *scratch_new(size_t size) { return aligned_alloc(64, (size / 64 + 1) * 64); }

/* Starts `threads` - 1 threads. False when the system has none left. */
static bool pool_start(Pool *p, int threads, size_t scratch_size) {
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  pthread_cond_init(&p->done, NULL);
  p->scratch_size = scratch_size;
  p->workers = calloc((size_t)threads, sizeof *p->workers);
  if (!p->workers || !(p->workers[0].scratch = scratch_new(scratch_size)))
    return false;
  for (int i = 1; i < threads; i++) {
    Worker *w = &p->workers[i];
    w->pool = p;
    w->scratch = scratch_new(scratch_size);
    if (!w->scratch || pthread_create(&w->thread, NULL, worker_main, w) != 0) {
      free(w->scratch);
      return false;
    }
    p->nworkers++;
  }
  return true;
}

/* Ends the threads and frees what the pool has. */
static void pool_stop(Pool *p) {
  pthread_mutex_lock(&p->lock);
  p->quit = true;
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  for (int i = 1; i <= p->nworkers; i++) {
    pthread_join(p->workers[i].thread, NULL);
    free(p->workers[i].scratch);
  }
  if (p->workers)
    free(p->workers[0].scratch);
  free(p->workers);
  pthread_cond_destroy(&p->wake);
  pthread_cond_destroy(&p->done);
  pthread_mutex_destroy(&p->lock);
}

/* Calls `fn` for all blocks on all threads. */
static void pool_run(Pool *p, HostKernelFn fn, void **args, int rank, const int64_t *blocks) {
  p->fn = fn;
  p->args = args;
  p->rank = rank;
  p->total = 1;
  for (int d = 0; d < p->rank; d++)
    p->total *= p->blocks[d] = blocks[d];
  atomic_store(&p->next, 0);
  bool alone = p->nworkers == 0 || p->total <= 1;
  if (!alone) {
    pthread_mutex_lock(&p->lock);
    p->busy = p->nworkers;
    p->generation++;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
  }
  pull_tiles(p, p->workers[0].scratch);
  if (alone)
    return;
  pthread_mutex_lock(&p->lock);
  while (p->busy > 0)
    pthread_cond_wait(&p->done, &p->lock);
  pthread_mutex_unlock(&p->lock);
}

/* Counts cores; "host:N" asks for N threads. */
static StcStatus host_open(Device *d) {
  int cores = d->index > 0 ? d->index : core_count();
  if (d->index == 0)
    return diag_error(d->w->diags, no_loc(), "device host:0: the number is that of threads, from 1"), STC_USAGE;
  d->limits.cores = cores;
  d->description = arena_printf(d->w->arena, "host, %d thread%s", cores, cores == 1 ? "" : "s");
  d->state = ARENA_NEW(d->w->arena, HostState);
  return STC_OK;
}

/* Ends the threads. */
static void host_close(Device *d) {
  HostState *s = d->state;
  if (s && s->pool_made)
    pool_stop(&s->pool);
}

/* What compiling hands to its guarded part. */
typedef struct JitArgs {
  StcProgram *program;
  Build *build;
} JitArgs;

/* Compiles the kernels into this process, into the program's memory: all plans share the code. */
static StcStatus make_jit(void *arg) {
  JitArgs *a = arg;
  CodegenOptions o = program_codegen_options(a->program, a->build->code.module, a->build->code.target);
  Workspace *w = &a->program->w;
  if (!a->build->jit)
    a->build->jit = jit_new(w->arena, w->diags, a->build->code.module, a->build->code.target, &o);
  return a->build->jit ? STC_OK : STC_INTERNAL;
}

/* Finds the kernels' code and starts the pool with scratch for the greediest of them. */
static StcStatus host_load(Device *d, StcProgram *p, Build *b) {
  HostState *s = d->state;
  const Module *m = b->code.module;
  int64_t scratch = 0;
  JitArgs args = {p, b};
  StcStatus st = workspace_guard(&p->w, make_jit, &args);
  if (st)
    return st;
  s->functions = ARENA_ARRAY(d->w->arena, HostKernelFn, m->nkernels + 1);
  for (int i = 0; i < m->nkernels; i++) {
    int64_t bytes = kernel_shared_bytes(&m->kernels[i]);
    scratch = bytes > scratch ? bytes : scratch;
    s->functions[i] = jit_find(b->jit, m->kernels[i].name);
    if (!s->functions[i])
      return diag_error(d->w->diags, no_loc(), "kernel %s is not in the compiled code", m->kernels[i].name),
             STC_INTERNAL;
  }
  s->pool_made = true;
  if (!pool_start(&s->pool, d->limits.cores, (size_t)scratch))
    return diag_error(d->w->diags, no_loc(), "no threads or no memory for %d workers with %lld bytes of scratch each",
                      (int)d->limits.cores, (long long)scratch),
           STC_MEMORY;
  return STC_OK;
}

/* Memory in pages, large ones where they pay, all of them touched, so that no run has to wait for the system to provide
 * them. Not aligned to large pages: fields at the same place of their pages would meet in the same sets of the caches
 * and banks of the memory. NULL if there is not enough. */
static StcStatus host_alloc(Device *d, size_t size, void **memory) {
  size_t align = size >= (size_t)1 << 22 ? 4096 : 64;
  size_t rounded = (size / align + 1) * align;
  *memory = rounded < size ? NULL : aligned_alloc(align, rounded);
  (void)d;
  if (!*memory)
    return STC_OK;
  if (align > 64)
    madvise(*memory, rounded, MADV_HUGEPAGE);
  memset(*memory, 0, rounded);
  return STC_OK;
}

/* Gives memory back. */
static void host_release(Device *d, void *memory, size_t size) {
  (void)d;
  (void)size;
  free(memory);
}

/* Bytes of a piece that one thread copies at a time; from how many pieces on all threads do. */
enum { COPY_PIECE = 1 << 20, COPY_PIECES = 4 };

/* A copy that all threads make. */
typedef struct HostCopy {
  char *to;
  const char *from;
  size_t size;
} HostCopy;

/* Copies n bytes that nobody looks at soon. They go past the caches, which need not read first what is written over,
 * and keep what they have. */
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

/* Copies in or out, by all threads if it is much. */
static StcStatus host_copy(Device *d, void *to, const void *from, size_t size) {
  HostState *s = d->state;
  HostCopy c = {to, from, size};
  int64_t pieces = (int64_t)((size + COPY_PIECE - 1) / COPY_PIECE);
  if (s && s->pool_made && pieces >= COPY_PIECES)
    pool_run(&s->pool, copy_piece, (void *[]){&c}, 1, &pieces);
  else if (size)
    memcpy(to, from, size);
  return STC_OK;
}

/* Runs all tiles of the kernel and waits for them. */
static StcStatus host_launch(Device *d, const Launch *l) {
  HostState *s = d->state;
  pool_run(&s->pool, s->functions[l->index], l->args, l->kernel->rank, l->blocks);
  return STC_OK;
}

/* Starts the clock. */
static StcStatus host_start(Device *d) {
  ((HostState *)d->state)->start = clock_seconds();
  return STC_OK;
}

/* Launches are done when they return. */
static StcStatus host_wait(Device *d) {
  (void)d;
  return STC_OK;
}

/* Reads the clock. */
static StcStatus host_stop(Device *d, double *seconds) {
  *seconds = clock_seconds() - ((HostState *)d->state)->start;
  return STC_OK;
}

/* The line for `stc devices`. */
static void host_list(FILE *to) {
  int cores = core_count();
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
    .alloc = host_alloc,
    .release = host_release,
    .put = host_copy,
    .fetch = host_copy,
    .copy = host_copy,
    .launch = host_launch,
    .start = host_start,
    .wait = host_wait,
    .stop = host_stop,
    .dlpack = 1,
    .list = host_list,
};
