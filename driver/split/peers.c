/* driver/split/peers.c: which ranks of this machine are still there. Neither Open MPI nor MPICH tells the others of a
 * rank that was killed: they wait for its messages until the launcher ends them, too, if it does. */
#include "driver/split/split.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* How long, in milliseconds, the launcher has to end the ranks that are left. */
enum { LAUNCHER_HAS = 10000 };

/* What ranks tell each other of themselves: where process numbers mean the same (a boot of a machine, and a namespace
 * in it), theirs, and the socket on which it is told that a rank ends by itself. */
typedef struct Peer {
  char boot[40];
  uint64_t space;
  int64_t process;
  struct sockaddr_un at;
  socklen_t length;
} Peer;

/* ends[i] waits for the end of rank i (pidfd_open; -1: not known of), and behind them that of `ends[size]` for what the
 * socket brings. */
struct Peers {
  int rank, size;
  pthread_t thread;
  Peer *all;
  struct pollfd *ends;
};

/* What this rank tells of itself; its socket. */
static int describe(Peer *p) {
  struct stat space;
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  memset(p, 0, sizeof *p);
  if (fd < 0 || read(fd, p->boot, sizeof p->boot - 1) <= 0)
    p->boot[0] = 0;
  if (fd >= 0)
    close(fd);
  p->space = stat("/proc/self/ns/pid", &space) == 0 ? (uint64_t)space.st_ino : 0;
  p->process = getpid();
  p->at.sun_family = AF_UNIX;
  fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  p->length = sizeof p->at;
  if (fd < 0 || bind(fd, (struct sockaddr *)&p->at, sizeof p->at.sun_family) != 0 ||
      getsockname(fd, (struct sockaddr *)&p->at, &p->length) != 0)
    p->length = 0;
  return fd;
}

/* Can rank `i` be seen from here? */
static bool is_near(const Peers *p, int i) {
  const Peer *own = &p->all[p->rank], *other = &p->all[i];
  return i != p->rank && own->boot[0] && own->space && own->space == other->space && other->length &&
         strcmp(own->boot, other->boot) == 0;
}

/* Says which rank has ended, if no rank before this one is there to do so. */
static void speak(const Peers *p) {
  int gone = -1;
  for (int i = p->size - 1; i >= 0; i--)
    if (p->ends[i].revents)
      gone = i;
  for (int i = 0; i < p->rank; i++)
    if (p->ends[i].fd >= 0 && !p->ends[i].revents)
      return;
  fprintf(stderr,
          "stc: error: rank %d of %d (process %lld) has ended, killed perhaps, and the others cannot go on without "
          "it\n",
          gone, p->size, (long long)p->all[gone].process);
  fflush(stderr);
}

/* The thread's life: until this or another rank ends by itself, or another one just so. */
static void *watch(void *arg) {
  Peers *p = arg;
  int told = p->size;
  int seen;
  while ((seen = poll(p->ends, (nfds_t)p->size + 1, -1)) < 0 && errno == EINTR)
    ;
  if (seen <= 0 || p->ends[told].revents)
    return NULL;
  speak(p);
  if (poll(&p->ends[told], 1, LAUNCHER_HAS) == 0)
    _exit(STC_DEVICE);
  return NULL;
}

/* Gives back all that it has. */
static void discard(Peers *p) {
  for (int i = 0; i <= p->size; i++)
    if (p->ends[i].fd >= 0)
      close(p->ends[i].fd);
  free(p->ends);
  free(p->all);
  free(p);
}

/* Opens what tells of the ends of the others; how many. */
static int open_ends(Peers *p, int socket) {
  int seen = 0;
  p->ends[p->size] = (struct pollfd){.fd = socket, .events = POLLIN};
  for (int i = 0; i < p->size; i++) {
    int fd = is_near(p, i) ? (int)syscall(SYS_pidfd_open, (pid_t)p->all[i].process, 0) : -1;
    p->ends[i] = (struct pollfd){.fd = fd, .events = POLLIN};
    seen += fd >= 0;
  }
  return seen;
}

void peers_watch(Net *net) {
  Peer own;
  Peers *p = calloc(1, sizeof *p);
  Peer *all = malloc((size_t)net->size * sizeof *all);
  struct pollfd *ends = malloc(((size_t)net->size + 1) * sizeof *ends);
  if (!p || !all || !ends)
    net->abort(net, STC_MEMORY);
  int socket = describe(&own);
  net->gather(net, &own, sizeof own, all);
  *p = (Peers){.rank = net->rank, .size = net->size, .all = all, .ends = ends};
  if (open_ends(p, socket) && pthread_create(&p->thread, NULL, watch, p) == 0)
    net->peers = p;
  else
    discard(p);
}

/* Tells rank `i`. */
static void tell(const Peers *p, int i) {
  const Peer *to = &p->all[i];
  while (sendto(p->ends[p->size].fd, "", 1, 0, (const struct sockaddr *)&to->at, to->length) < 0 && errno == EINTR)
    ;
}

void peers_tell(const Net *net) {
  const Peers *p = net->peers;
  for (int i = 0; p && i < p->size; i++)
    if (is_near(p, i))
      tell(p, i);
}

void peers_unwatch(Net *net) {
  Peers *p = net->peers;
  net->peers = NULL;
  if (!p)
    return;
  tell(p, p->rank);
  pthread_join(p->thread, NULL);
  discard(p);
}
