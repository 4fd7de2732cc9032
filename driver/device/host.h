/* driver/device/host.h: the threads that run kernels on this CPU (private to driver/device/).
 *
 *   device-host.c   the device: kernels compiled into this process, memory
 *   host-pool.c     threads that run the tiles of a kernel
 *   host-figures.c  properties of this CPU, and the measured speed of its memory
 *   host-nodes.c    which CPUs are near which memory */
#ifndef STC_DRIVER_DEVICE_HOST_H
#define STC_DRIVER_DEVICE_HOST_H

#include "backend/backend.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* ---------------------------------------------------------------- host-nodes.c */

/* The largest number of memory nodes that are distinguished; all nodes beyond it count as the last one. */
enum { MOST_NODES = 16 };

/* The CPUs that this process may use, by the memory node that is near them: `n` nodes, none of them empty. */
typedef struct HostNodes {
  int n;
  cpu_set_t cpus[MOST_NODES];
} HostNodes;

/* Reads from `folder`, laid out as Linux's /sys/devices/system/node, the nodes of the `allowed` CPUs. If the nodes
 * cannot be found, *out is one node with all of these CPUs. */
void host_nodes(const char *folder, const cpu_set_t *allowed, HostNodes *out);
/* The node of thread `i` of `threads`: consecutive threads share a node, and each node gets threads in proportion to
 * its CPUs. */
int host_node_of(const HostNodes *nodes, int i, int threads);
/* The CPUs that this process may use. */
cpu_set_t host_cpus(void);

/* ---------------------------------------------------------------- host-pool.c */

typedef struct HostPool HostPool;

/* The tiles that a thread runs first: from `next` to before `end`. Threads that have finished their own take tiles from
 * others. Each share has a cache line of its own. */
typedef struct HostShare {
  _Alignas(64) atomic_llong next;
  long long end;
} HostShare;

/* A thread of the pool, with the scratch memory for its tile. cpus: the CPUs to which it is bound; NULL: not bound.
 * asks: its last wait was short, so it polls for a while before it sleeps. */
typedef struct HostWorker {
  HostPool *pool;
  pthread_t thread;
  char *scratch;
  const cpu_set_t *cpus;
  int number;
  bool asks;
} HostWorker;

/* The pool of threads. Each launch is a generation: the main thread sets `fn` and the members after it, increments
 * `generation`, runs tiles itself and waits until `busy` is 0. asleep: the number of threads that sleep; alert: threads
 * may poll, as there is a CPU for each, or whoever starts the pool says so. each: each thread runs only its own share.
 * process: the process of these threads. */
struct HostPool {
  pid_t process;
  int nworkers; /* without the main thread, which is workers[0] */
  HostWorker *workers;
  HostShare *shares;
  HostNodes nodes;
  size_t scratch_size;
  pthread_mutex_t lock;
  pthread_cond_t wake, done;
  atomic_ullong generation;
  atomic_int busy;
  int asleep;
  atomic_bool quit;
  bool alert, each;
  const Stop *stop; /* once it asks for a stop, the tiles that remain are skipped; NULL: never */
  atomic_bool torn; /* some tiles were skipped */
  HostKernelFn fn;
  void **args;
  int rank;
  int64_t blocks[MAX_RANK], total;
};

/* Starts `threads` - 1 threads, each with `scratch_size` bytes of scratch memory; on computers with several memory
 * nodes each is bound to the CPUs of one node. False if the system cannot provide them. */
bool host_pool_start(HostPool *p, int threads, size_t scratch_size);
/* Ends the threads and frees the memory of the pool. */
void host_pool_stop(HostPool *p);
/* Calls `fn` for all blocks on all threads, and waits; if p->torn is set afterwards, some blocks were skipped. Each
 * thread first runs a share of consecutive blocks, the same share in each launch of as many blocks; other threads take
 * what is left of it. */
void host_pool_run(HostPool *p, HostKernelFn fn, void **args, int rank, const int64_t *blocks);
/* Calls `fn` once on each thread, with the thread's number as block 0, and waits. */
void host_pool_each(HostPool *p, HostKernelFn fn, void **args);

#endif
