/* driver/split/net.h: processes that work on one grid, and messages between them. This is the only interface of stc to
 * MPI: stc-mpi.c implements it on an MPI library, in a separate shared module that only runs of several processes load
 * (net.c). So stc does not depend on MPI, and the module needs only this header.
 *
 * A process is a rank from 0 to size - 1. One thread calls the functions. An error in MPI itself ends all ranks, as
 * MPI's own handler does. */
#ifndef STC_NET_H
#define STC_NET_H

#include <stdbool.h>
#include <stddef.h>

/* A message to (`send`) or from rank `peer`. Messages between two ranks with the same tag, from 0 to NET_TAGS - 1,
 * arrive in the order in which they were sent. */
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
  int local_rank, local_size; /* number among the ranks of one machine; number of these */
  bool device_pointers;       /* data may be in memory of a CUDA device */
  const char *library;        /* name and version for messages, "Open MPI v4.1.4" */
  /* Starts the `n` messages, whose data must stay valid until net->finish has waited for them; there can be only one
   * such batch at a time. */
  void (*start)(Net *net, int n, const NetMessage *messages);
  void (*finish)(Net *net);
  /* All ranks call these. broadcast: sends rank `from`'s bytes to all. gather: collects `size` bytes of each rank, in
   * order of the ranks, in `all` on every rank. */
  void (*broadcast)(Net *net, void *data, size_t size, int from);
  void (*gather)(Net *net, const void *mine, size_t size, void *all);
  void (*barrier)(Net *net);
  /* tell: informs all others that this rank cannot continue, without waiting for them. told: has another rank done so?
   */
  void (*tell)(Net *net);
  bool (*told)(Net *net);
  /* Ends all ranks at once; the launcher's exit code is `code`. Does not return. */
  void (*abort)(Net *net, int code);
  /* All ranks call it: leaves the group. If open initialized MPI, MPI is finalized when the process ends. */
  void (*close)(Net *net);
  void *state;
  int failed;          /* set by stc: the lowest of the ranks that failed first; -1: none has */
  struct Peers *peers; /* set by stc: watches whether the other ranks are alive (peers.c); NULL: nothing does */
};

/* The object that the module exports as `stc_net_module`. layout: NET_LAYOUT of the header with which it was compiled.
 * open: joins the ranks of `communicator`, a pointer to the caller's MPI_Comm, which is copied; NULL: joins all ranks
 * that were started together, and initializes MPI unless that has been done. On failure returns false and a description
 * in `why`, which has room for NET_WHY characters. */
enum { NET_LAYOUT = 3, NET_WHY = 512 };
typedef struct NetModule {
  int layout;
  bool (*open)(void *communicator, Net *out, char *why);
} NetModule;

#endif
