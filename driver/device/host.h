/* driver/device/host.h: the threads of this CPU (private to driver/device/).
 *
 *   device-host.c   the device: kernels compiled into this process, memory
 *   host-pool.c     threads that run the tiles of a kernel
 *   host-figures.c  what this CPU is, and what its memory gives
 *   host-nodes.c    which CPUs are near which memory */
#ifndef STC_DRIVER_DEVICE_HOST_H
#define STC_DRIVER_DEVICE_HOST_H

#include "backend/backend.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* ---------------------------------------------------------------- host-nodes.c */

/* Nodes of memory that are told apart, at most; those beyond are as one with the last. */
enum { MOST_NODES = 16 };

/* The CPUs that this process may use, by the node of memory that they are near to: `n` nodes, none of them empty. */
typedef struct HostNodes {
  int n;
  cpu_set_t cpus[MOST_NODES];
} HostNodes;

/* Reads from `folder`, laid out as Linux's /sys/devices/system/node, to which of its nodes the `allowed` CPUs belong.
 * One node with all of them where that cannot be known. */
void host_nodes(const char *folder, const cpu_set_t *allowed, HostNodes *out);
/* The node of thread `i` of `threads`: neighbours share one, and each gets as many as its share of the CPUs. */
int host_node_of(const HostNodes *nodes, int i, int threads);
/* The CPUs that this process may use. */
cpu_set_t host_cpus(void);

/* ---------------------------------------------------------------- host-pool.c */

typedef struct HostPool HostPool;

/* The tiles that a thread runs first: from `next` to before `end`. Threads that have none left take some of others'. On
 * a line of the cache of its own. */
typedef struct HostShare {
  _Alignas(64) atomic_llong next;
  long long end;
} HostShare;

/* A thread of the pool with the scratch memory of its tile; cpus: those that it stays on, NULL: all. asks: its last
 * wait was short, so it asks again and again for a while before it sleeps. */
typedef struct HostWorker {
  HostPool *pool;
  pthread_t thread;
  char *scratch;
  const cpu_set_t *cpus;
  int number;
  bool asks;
} HostWorker;

/* The pool. A launch is a generation: the main thread fills in `fn` and what follows, raises `generation`, works along
 * and waits until `busy` is 0. asleep: threads that wait to be woken; alert: there is a CPU for each thread, or who
 * starts the pool says so. each: a thread runs its own share alone. process: the one that the threads are in. */
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
  const Stop *stop; /* the tiles that are left are left out once it says so; NULL: never */
  atomic_bool torn; /* some were */
  HostKernelFn fn;
  void **args;
  int rank;
  int64_t blocks[MAX_RANK], total;
};

/* Starts `threads` - 1 threads, each with `scratch_size` bytes, on computers whose memory has several nodes each on the
 * CPUs of one. False when the system has no more. */
bool host_pool_start(HostPool *p, int threads, size_t scratch_size);
/* Ends the threads and frees what the pool has. */
void host_pool_stop(HostPool *p);
/* Calls `fn` for all blocks on all threads, and waits; p->torn afterwards: not for all. Blocks that follow each other
 * are a thread's own, and the same thread's in each launch of so many; what is left of them others take. */
void host_pool_run(HostPool *p, HostKernelFn fn, void **args, int rank, const int64_t *blocks);
/* Calls `fn` once on each thread, whose number is block 0, and waits. */
void host_pool_each(HostPool *p, HostKernelFn fn, void **args);

#endif
