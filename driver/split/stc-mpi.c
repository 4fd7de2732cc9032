/* stc-mpi.c: implements driver/split/net.h on MPI: the shared module stc-mpi.so. It is made with the compiler of the
 * installed MPI:
 *
 *   mpicc -std=c11 -O2 -shared -fPIC -o stc-mpi.so stc-mpi.c
 */
#include "net.h"

#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes of one MPI message, whose counts are ints. */
enum { PIECE = 1 << 30 };

/* requests: of the pending messages. alarm: a communicator of the same ranks, for those that cannot continue. */
typedef struct NetState {
  MPI_Comm comm, alarm;
  int n, room;
  MPI_Request *requests;
} NetState;

/* Makes room for `n` requests. */
static void make_room(NetState *s, int n) {
  if (n <= s->room)
    return;
  MPI_Request *more = realloc(s->requests, (size_t)n * sizeof *more);
  if (!more) {
    fprintf(stderr, "stc-mpi: no memory for %d messages\n", n);
    MPI_Abort(s->comm, 6);
  }
  s->requests = more;
  s->room = n;
}

/* The number of MPI messages for `size` bytes. */
static int pieces_of(size_t size) { return size ? (int)((size - 1) / PIECE + 1) : 1; }

/* Starts one message, piece by piece. */
static void start_one(NetState *s, const NetMessage *m) {
  size_t done = 0;
  for (int i = 0; i < pieces_of(m->size); i++) {
    size_t left = m->size - done;
    int n = (int)(left < PIECE ? left : PIECE);
    char *at = (char *)m->data + done;
    MPI_Request *r = &s->requests[s->n++];
    if (m->send)
      MPI_Isend(at, n, MPI_BYTE, m->peer, m->tag, s->comm, r);
    else
      MPI_Irecv(at, n, MPI_BYTE, m->peer, m->tag, s->comm, r);
    done += (size_t)n;
  }
}

/* Net.start: starts receives first, so that MPI need not buffer messages that arrive. */
static void net_start(Net *net, int n, const NetMessage *messages) {
  NetState *s = net->state;
  int all = 0;
  for (int i = 0; i < n; i++)
    all += pieces_of(messages[i].size);
  make_room(s, all);
  s->n = 0;
  for (int send = 0; send < 2; send++)
    for (int i = 0; i < n; i++)
      if (messages[i].send == (send == 1))
        start_one(s, &messages[i]);
}

/* Net.finish. */
static void net_finish(Net *net) {
  NetState *s = net->state;
  MPI_Waitall(s->n, s->requests, MPI_STATUSES_IGNORE);
  s->n = 0;
}

/* Net.broadcast. */
static void net_broadcast(Net *net, void *data, size_t size, int from) {
  NetState *s = net->state;
  for (size_t done = 0; done < size; done += PIECE)
    MPI_Bcast((char *)data + done, (int)(size - done < PIECE ? size - done : PIECE), MPI_BYTE, from, s->comm);
}

/* Net.gather. */
static void net_gather(Net *net, const void *mine, size_t size, void *all) {
  NetState *s = net->state;
  MPI_Allgather(mine, (int)size, MPI_BYTE, all, (int)size, MPI_BYTE, s->comm);
}

/* Net.barrier. */
static void net_barrier(Net *net) { MPI_Barrier(((NetState *)net->state)->comm); }

/* Net.abort. */
static void net_abort(Net *net, int code) { MPI_Abort(((NetState *)net->state)->comm, code); }

/* Net.tell: sends empty messages, for whose completion nobody waits. */
static void net_tell(Net *net) {
  NetState *s = net->state;
  for (int i = 0; i < net->size; i++) {
    MPI_Request r;
    if (i == net->rank)
      continue;
    MPI_Isend(NULL, 0, MPI_BYTE, i, 0, s->alarm, &r);
    MPI_Request_free(&r);
  }
}

/* Net.told. */
static bool net_told(Net *net) {
  NetState *s = net->state;
  MPI_Status status;
  int yes = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, s->alarm, &yes, &status);
  if (yes)
    MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, 0, s->alarm, MPI_STATUS_IGNORE);
  return yes;
}

/* Net.close. */
static void net_close(Net *net) {
  NetState *s = net->state;
  int ended = 0;
  MPI_Finalized(&ended);
  while (!ended && net_told(net))
    ;
  if (!ended) {
    MPI_Comm_free(&s->alarm);
    MPI_Comm_free(&s->comm);
  }
  free(s->requests);
  free(s);
  net->state = NULL;
}

/* Does this MPI accept pointers into the memory of CUDA devices? */
static bool takes_device_pointers(void) {
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40000000
  int yes = 0;
  return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &yes) == MPI_SUCCESS && yes;
#else
  return false;
#endif
}

/* The first line of the library's description, up to a comma. */
static const char *library_name(void) {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int n = 0;
  MPI_Get_library_version(text, &n);
  text[strcspn(text, ",\n\r")] = 0;
  for (char *c = text; *c; c++)
    if (*c == '\t')
      *c = ' ';
  return text;
}

/* Fills in the place of the rank, on its machine and among all. */
static void find_place(Net *net) {
  NetState *s = net->state;
  MPI_Comm here;
  MPI_Comm_rank(s->comm, &net->rank);
  MPI_Comm_size(s->comm, &net->size);
  MPI_Comm_split_type(s->comm, MPI_COMM_TYPE_SHARED, net->rank, MPI_INFO_NULL, &here);
  MPI_Comm_rank(here, &net->local_rank);
  MPI_Comm_size(here, &net->local_size);
  MPI_Comm_free(&here);
}

/* Finalizes MPI when the process ends, unless that has been done. */
static void end(void) {
  int ended = 0;
  MPI_Finalized(&ended);
  if (!ended)
    MPI_Finalize();
}

/* Initializes MPI, unless that has been done; then it also finalizes it. */
static bool begin(char *why) {
  int initialized = 0, finalized = 0, provided;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (finalized)
    return snprintf(why, NET_WHY, "MPI has been ended in this process"), false;
  if (!initialized && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return snprintf(why, NET_WHY, "MPI_Init_thread failed"), false;
  if (!initialized)
    atexit(end);
  return true;
}

/* NetModule.open. */
static bool net_open(void *communicator, Net *out, char *why) {
  NetState *s = calloc(1, sizeof *s);
  if (!s)
    return snprintf(why, NET_WHY, "no memory"), false;
  if (!begin(why))
    return free(s), false;
  MPI_Comm_dup(communicator ? *(MPI_Comm *)communicator : MPI_COMM_WORLD, &s->comm);
  MPI_Comm_dup(s->comm, &s->alarm);
  *out = (Net){.start = net_start,
               .finish = net_finish,
               .broadcast = net_broadcast,
               .gather = net_gather,
               .barrier = net_barrier,
               .tell = net_tell,
               .told = net_told,
               .abort = net_abort,
               .close = net_close,
               .library = library_name(),
               .device_pointers = takes_device_pointers(),
               .state = s};
  find_place(out);
  return true;
}

const NetModule stc_net_module = {NET_LAYOUT, net_open};
