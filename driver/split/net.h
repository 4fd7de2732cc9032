/* driver/split/net.h: processes that work on one grid, and how bytes get from one to the other. It is all that stc
 * knows of MPI: stc-mpi.c implements it on an MPI library, in a shared module of its own that only runs of several
 * processes open (net.c). So stc needs no MPI. The module needs this header alone.
 *
 * A process is a rank from 0 to size - 1. The functions are called by one thread. What goes wrong in MPI itself ends
 * all ranks, as MPI's own handler does. */
#ifndef STC_NET_H
#define STC_NET_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes to (`send`) or from rank `peer`. Messages between two ranks that have one tag, from 0 to NET_TAGS - 1, arrive
 * in the order in which they were sent. */
typedef struct NetMessage {
  int peer, tag;
  bool send;
  void *data;
  size_t size;
} NetMessage;
enum { NET_TAGS = 32768 };

typedef struct Net Net;
struct Net {
  int rank, size;
  int local_rank, local_size; /* among the ranks of one machine */
  bool device_pointers;       /* data may be in the memory of a CUDA device */
  const char *library;        /* "Open MPI v4.1.4", for people */
  /* Starts the `n` messages, whose data must stay until net->finish has waited for them; only one such batch is under
   * way. */
  void (*start)(Net *net, int n, const NetMessage *messages);
  void (*finish)(Net *net);
  /* All ranks call these. broadcast: rank `from`'s bytes to all. gather: `size` bytes of each rank, in order of the
   * ranks, into `all` of every rank. */
  void (*broadcast)(Net *net, void *data, size_t size, int from);
  void (*gather)(Net *net, const void *mine, size_t size, void *all);
  void (*barrier)(Net *net);
  /* tell: lets all others know that this rank cannot go on, without waiting for them; told: has another one done so? */
  void (*tell)(Net *net);
  bool (*told)(Net *net);
  /* Ends all ranks at once; the launcher's exit code becomes `code`. Does not return. */
  void (*abort)(Net *net, int code);
  /* All ranks: leaves the others. If open has begun MPI it ends with the process. */
  void (*close)(Net *net);
  void *state;
  int failed;          /* stc's: the lowest of the ranks that could not go on first, -1: all are well */
  struct Peers *peers; /* stc's: who looks whether the others are there (peers.c); NULL: nobody */
};

/* What the module exports as `stc_net_module`. layout: NET_LAYOUT of the header it was made from. open: joins the ranks
 * of `communicator`, a pointer to an MPI_Comm of the caller's, which is copied, or, if it is NULL, all that were
 * started together, having begun MPI unless that has been done. False after writing what is wrong to `why`, which has
 * room for NET_WHY characters. */
enum { NET_LAYOUT = 3, NET_WHY = 512 };
typedef struct NetModule {
  int layout;
  bool (*open)(void *communicator, Net *out, char *why);
} NetModule;

#endif
