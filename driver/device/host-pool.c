/* driver/device/host-pool.c: threads that run the tiles of a kernel.
 *
 * Each has a share of the tiles, those that follow each other, so that it finds in each launch what it had in the last
 * one: in its cache, and in the memory that is near to it, for memory belongs to the node of the thread that touched it
 * first. Threads that have finished their share take some of others'.
 *
 * A launch may take 50 microseconds, and 16 threads that sleep take as long to be woken one after the other. So a
 * thread whose last wait was short asks for the next launch for a while before it sleeps, and so does who waits for the
 * others; not where there are more threads than CPUs. */
#include "driver/device/host.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* LARGE_PAGE: bytes of a large page. Scratch memory of at least half of one gets whole large pages: the physical
 * addresses of small pages are arbitrary, so several may share sets of the second-level cache while other sets stay
 * unused. */
enum { LARGE_PAGE = 1 << 21 };

/* patience: seconds for which a thread polls before it sleeps. ASKS: polls between readings of the clock. */
static const double patience = 60e-6;
enum { ASKS = 32 };

/* Takes a run of tiles of thread `of`, a quarter of what is left: long runs at first, single tiles at the end, so that
 * all threads finish at the same time. False if none is left. */
static bool take_from(HostShare *of, long long *first, long long *last) {
  long long at = atomic_load(&of->next), run;
  do {
    if (at >= of->end)
      return false;
    run = (of->end - at + 3) / 4;
  } while (!atomic_compare_exchange_weak(&of->next, &at, at + run));
  *first = at;
  *last = at + run;
  return true;
}

/* Takes tiles for thread `own`: its own, then those of the threads after it. */
static bool take_tiles(HostPool *p, int own, long long *first, long long *last) {
  int n = p->nworkers + 1;
  for (int i = 0; i < (p->each ? 1 : n); i++)
    if (take_from(&p->shares[(own + i) % n], first, last))
      return true;
  return false;
}

/* Runs tiles until none is left. */
static void pull_tiles(HostPool *p, const HostWorker *w) {
  long long first, last;
  while (take_tiles(p, w->number, &first, &last))
    for (long long i = first; i < last; i++) {
      int64_t block[MAX_RANK] = {0}, rest = i;
      if (p->stop && stop_at_once(p->stop)) {
        atomic_store(&p->torn, true);
        continue;
      }
      for (int d = p->rank - 1; d >= 0; d--) {
        block[d] = rest % p->blocks[d];
        rest /= p->blocks[d];
      }
      p->fn(p->args, block, w->scratch);
    }
}

/* Lets the CPU pause for some cycles. */
static void rest(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Is the generation another one than `seen`? */
static bool is_called(HostPool *p, unsigned long long seen) { return atomic_load(&p->generation) != seen; }

/* Have the other threads finished? */
static bool are_done(HostPool *p, unsigned long long unused) {
  (void)unused;
  return atomic_load(&p->busy) == 0;
}

/* Polls until `holds` returns true or the patience ends. Returns whether it held. */
static bool ask(HostPool *p, bool (*holds)(HostPool *p, unsigned long long seen), unsigned long long seen) {
  double end = clock_seconds() + patience;
  do {
    for (int i = 0; i < ASKS; i++) {
      if (holds(p, seen))
        return true;
      rest();
    }
  } while (clock_seconds() < end);
  return holds(p, seen);
}

/* Waits for a generation other than `seen`; returns it. */
static unsigned long long await_call(HostPool *p, HostWorker *w, unsigned long long seen) {
  double start = clock_seconds();
  if (!p->alert || !w->asks || !ask(p, is_called, seen)) {
    pthread_mutex_lock(&p->lock);
    p->asleep++;
    while (!is_called(p, seen))
      pthread_cond_wait(&p->wake, &p->lock);
    p->asleep--;
    pthread_mutex_unlock(&p->lock);
  }
  w->asks = clock_seconds() - start < patience;
  return atomic_load(&p->generation);
}

/* Wakes all threads: increments the generation. */
static void call_all(HostPool *p) {
  pthread_mutex_lock(&p->lock);
  atomic_fetch_add(&p->generation, 1);
  if (p->asleep)
    pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
}

/* The main function of a thread of the pool. */
static void *worker_main(void *arg) {
  HostWorker *w = arg;
  HostPool *p = w->pool;
  unsigned long long seen = 0;
  if (w->cpus)
    pthread_setaffinity_np(pthread_self(), sizeof *w->cpus, w->cpus);
  for (;;) {
    seen = await_call(p, w, seen);
    if (atomic_load(&p->quit))
      return NULL;
    pull_tiles(p, w);
    if (atomic_fetch_sub(&p->busy, 1) == 1) {
      pthread_mutex_lock(&p->lock);
      pthread_cond_signal(&p->done);
      pthread_mutex_unlock(&p->lock);
    }
  }
}

/* Scratch memory for one worker, aligned to at least 64 bytes; NULL only if there is no memory. */
static char *scratch_new(size_t size) {
  size_t align = size >= LARGE_PAGE / 2 ? LARGE_PAGE : 64, rounded = (size / align + 1) * align;
  char *scratch = aligned_alloc(align, rounded);
  if (scratch && align == LARGE_PAGE)
    madvise(scratch, rounded, MADV_HUGEPAGE);
  return scratch;
}

/* Makes worker `i` of `threads`. False if there is no memory. */
static bool worker_new(HostPool *p, int i, int threads) {
  HostWorker *w = &p->workers[i];
  const cpu_set_t *cpus = p->nodes.n > 1 ? &p->nodes.cpus[host_node_of(&p->nodes, i, threads)] : NULL;
  *w = (HostWorker){.pool = p, .scratch = scratch_new(p->scratch_size), .cpus = cpus, .number = i};
  return w->scratch != NULL;
}

bool host_pool_start(HostPool *p, int threads, size_t scratch_size) {
  cpu_set_t allowed = host_cpus();
  host_nodes("/sys/devices/system/node", &allowed, &p->nodes);
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  pthread_cond_init(&p->done, NULL);
  p->scratch_size = scratch_size;
  p->process = getpid();
  p->alert = p->alert || threads <= CPU_COUNT(&allowed);
  p->workers = calloc((size_t)threads, sizeof *p->workers);
  p->shares = aligned_alloc(_Alignof(HostShare), (size_t)threads * sizeof *p->shares);
  if (!p->workers || !p->shares || !worker_new(p, 0, threads))
    return false;
  for (int i = 1; i < threads; i++) {
    HostWorker *w = &p->workers[i];
    if (!worker_new(p, i, threads) || pthread_create(&w->thread, NULL, worker_main, w) != 0) {
      free(w->scratch);
      return false;
    }
    p->nworkers++;
  }
  return true;
}

/* Starts the threads again in a child process of fork, where only the calling thread exists: else that thread would
 * wait for the others forever. Threads that the system cannot provide are left out. */
static void follow_fork(HostPool *p) {
  int before = p->nworkers;
  if (p->process == getpid())
    return;
  p->process = getpid();
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  pthread_cond_init(&p->done, NULL);
  atomic_store(&p->generation, 0);
  atomic_store(&p->busy, 0);
  p->asleep = p->nworkers = 0;
  for (int i = 1; i <= before; i++) {
    HostWorker *w = &p->workers[i];
    if (p->nworkers == i - 1 && pthread_create(&w->thread, NULL, worker_main, w) == 0) {
      p->nworkers++;
    } else {
      free(w->scratch);
      w->scratch = NULL;
    }
  }
}

void host_pool_stop(HostPool *p) {
  follow_fork(p);
  atomic_store(&p->quit, true);
  call_all(p);
  for (int i = 1; i <= p->nworkers; i++) {
    pthread_join(p->workers[i].thread, NULL);
    free(p->workers[i].scratch);
  }
  if (p->workers)
    free(p->workers[0].scratch);
  free(p->workers);
  free(p->shares);
  pthread_cond_destroy(&p->wake);
  pthread_cond_destroy(&p->done);
  pthread_mutex_destroy(&p->lock);
}

/* Divides the tiles among the first `n` threads; the others get none. */
static void deal(HostPool *p, int n) {
  for (int i = 0; i <= p->nworkers; i++) {
    HostShare *s = &p->shares[i];
    int64_t of = i < n ? i : n, next = i < n ? i + 1 : n;
    s->end = p->total / n * next + p->total % n * next / n;
    atomic_store(&s->next, p->total / n * of + p->total % n * of / n);
  }
}

/* Runs tiles as worker 0, bound to the CPUs of its node if there are several; restores the thread's CPUs afterwards. */
static void work_along(HostPool *p) {
  const HostWorker *own = &p->workers[0];
  cpu_set_t before;
  bool moved = own->cpus && pthread_getaffinity_np(pthread_self(), sizeof before, &before) == 0 &&
               pthread_setaffinity_np(pthread_self(), sizeof *own->cpus, own->cpus) == 0;
  pull_tiles(p, own);
  if (moved)
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
}

/* Runs the shares; if `alone`, by this thread only. */
static void run_dealt(HostPool *p, bool alone) {
  if (!alone) {
    atomic_store(&p->busy, p->nworkers);
    call_all(p);
  }
  work_along(p);
  if (alone || (p->alert && ask(p, are_done, 0)))
    return;
  pthread_mutex_lock(&p->lock);
  while (!are_done(p, 0))
    pthread_cond_wait(&p->done, &p->lock);
  pthread_mutex_unlock(&p->lock);
}

void host_pool_run(HostPool *p, HostKernelFn fn, void **args, int rank, const int64_t *blocks) {
  follow_fork(p);
  p->fn = fn;
  p->args = args;
  p->rank = rank;
  p->each = false;
  atomic_store(&p->torn, false);
  p->total = 1;
  for (int d = 0; d < p->rank; d++)
    p->total *= p->blocks[d] = blocks[d];
  bool alone = p->nworkers == 0 || p->total <= 1;
  deal(p, alone ? 1 : p->nworkers + 1);
  run_dealt(p, alone);
}

void host_pool_each(HostPool *p, HostKernelFn fn, void **args) {
  follow_fork(p);
  p->fn = fn;
  p->args = args;
  p->rank = 1;
  p->each = true;
  p->total = p->blocks[0] = p->nworkers + 1;
  deal(p, p->nworkers + 1);
  run_dealt(p, p->nworkers == 0);
}
