/* driver/split/peers.c: detects ranks that have ended: those of this machine directly, those of others by news from
 * their machines (ring.h). Neither Open MPI nor MPICH informs the other ranks when one is killed: they wait for its
 * messages until the launcher ends them, too, if it does. */
#include "driver/split/ring.h"
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

/* The time in milliseconds that the launcher has to end the remaining ranks. */
enum { LAUNCHER_HAS = 10000 };

/* What ranks send to each other: a scope in which process numbers are unique (a boot of a machine, and a namespace),
 * the process number, and the socket for news (ring.h). */
typedef struct Peer {
  char boot[40], host[64];
  uint64_t space;
  int64_t process;
  struct sockaddr_un at;
  socklen_t length;
} Peer;

/* ends[i] waits for the end of rank i (pidfd_open; -1: unknown); ends[size] waits for the socket; the entries after
 * that are those of the ring, if there is one. machine: see ring_open. */
struct Peers {
  int rank, size;
  pthread_t thread;
  Peer *all;
  int *machine;
  Ring *ring;
  struct pollfd *ends;
};

/* Fills in this rank's data; returns its socket. */
static int describe(Peer *p) {
  struct stat space;
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  memset(p, 0, sizeof *p);
  if (fd < 0 || read(fd, p->boot, sizeof p->boot - 1) <= 0)
    p->boot[0] = 0;
  if (fd >= 0)
    close(fd);
  if (gethostname(p->host, sizeof p->host - 1) != 0)
    p->host[0] = 0;
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

/* Are two ranks on one computer, possibly in different containers? */
static bool is_beside(const Peer *a, const Peer *b) { return a->boot[0] && strcmp(a->boot, b->boot) == 0; }

/* Are two ranks on one machine, so that they can see each other's processes? */
static bool is_near(const Peer *a, const Peer *b) {
  return a->space && a->space == b->space && a->length && b->length && is_beside(a, b);
}

/* Is rank `i` another one of this machine? */
static bool is_seen(const Peers *p, int i) { return i != p->rank && p->machine[i] == p->machine[p->rank]; }

/* Reports that a rank has ended. */
static void speak(const Peers *p, int64_t gone) {
  const Peer *of = &p->all[gone];
  fprintf(stderr,
          "stc: error: rank %lld of %d (process %lld%s%s) has ended, killed perhaps, and the others cannot go on "
          "without it\n",
          (long long)gone, p->size, (long long)of->process, p->ring ? " on " : "", p->ring ? of->host : "");
  fflush(stderr);
}

/* The rank of this machine that has ended, according to poll; NEWS_NONE: none. `*first`: is this rank the lowest that
 * is left? */
static int64_t see(const Peers *p, bool *first) {
  int64_t gone = NEWS_NONE;
  *first = true;
  for (int i = p->size - 1; i >= 0; i--)
    if (p->ends[i].revents)
      gone = i;
  for (int i = 0; i < p->rank; i++)
    *first = *first && !(p->ends[i].fd >= 0 && !p->ends[i].revents);
  return gone;
}

/* Sends news to rank `i` of this machine. */
static void tell(const Peers *p, int i, int64_t news) {
  const Peer *to = &p->all[i];
  while (sendto(p->ends[p->size].fd, &news, sizeof news, 0, (const struct sockaddr *)&to->at, to->length) < 0 &&
         errno == EINTR)
    ;
}

/* Sends news to the other ranks of this machine. */
static void tell_near(const Peers *p, int64_t news) {
  for (int i = 0; i < p->size; i++)
    if (is_seen(p, i))
      tell(p, i, news);
}

/* Waits for news, and forwards them to those that cannot know them. `*speaks`: must this rank report them? */
static int64_t hear(Peers *p, bool *speaks) {
  struct pollfd *told = &p->ends[p->size], *ring = told + 1;
  int64_t news = NEWS_NONE;
  *speaks = false;
  while (news == NEWS_NONE) {
    int patience = p->ring ? ring_polls(p->ring, ring) : -1,
        seen = poll(p->ends, (nfds_t)(p->size + 1 + (p->ring ? RING_POLLS : 0)), patience);
    if (seen < 0 && errno != EINTR)
      return NEWS_ENDS;
    if (seen < 0 || (told->revents && recv(told->fd, &news, sizeof news, MSG_DONTWAIT) == sizeof news))
      continue;
    news = see(p, speaks);
    if (news != NEWS_NONE || !p->ring || (news = ring_hear(p->ring, ring, seen == 0)) == NEWS_NONE)
      continue;
    tell_near(p, news);
    *speaks = ring_speaks(p->ring, news);
  }
  if (p->ring && news != NEWS_ENDS)
    ring_say(p->ring, news);
  return news;
}

/* The thread: runs until this or another rank ends, by itself or without notice. */
static void *watch(void *arg) {
  Peers *p = arg;
  bool speaks;
  int64_t news = hear(p, &speaks);
  if (news < 0)
    return NULL;
  if (speaks)
    speak(p, news);
  if (poll(&p->ends[p->size], 1, LAUNCHER_HAS) == 0)
    _exit(STC_DEVICE);
  return NULL;
}

/* Frees everything. */
static void discard(Peers *p) {
  for (int i = 0; i <= p->size; i++)
    if (p->ends[i].fd >= 0)
      close(p->ends[i].fd);
  ring_close(p->ring);
  free(p->ends);
  free(p->machine);
  free(p->all);
  free(p);
}

/* Opens descriptors for the ends of the other ranks; returns their number. */
static int open_ends(Peers *p, int socket) {
  int seen = 0;
  p->ends[p->size] = (struct pollfd){.fd = socket, .events = POLLIN};
  for (int i = 0; i < p->size; i++) {
    int fd = is_seen(p, i) ? (int)syscall(SYS_pidfd_open, (pid_t)p->all[i].process, 0) : -1;
    p->ends[i] = (struct pollfd){.fd = fd, .events = POLLIN};
    seen += fd >= 0;
  }
  return seen;
}

/* Finds the machine of each rank, and the ranks on this computer. */
static void find_machines(Peers *p, bool *beside) {
  for (int i = 0; i < p->size; i++) {
    int j = 0;
    while (j < i && (p->machine[j] != j || !is_near(&p->all[i], &p->all[j])))
      j++;
    p->machine[i] = j;
    beside[i] = is_beside(&p->all[p->rank], &p->all[i]);
  }
}

void peers_watch(Net *net) {
  Peer own;
  size_t n = (size_t)net->size;
  Peers *p = calloc(1, sizeof *p);
  Peer *all = malloc(n * sizeof *all);
  int *machine = malloc(n * sizeof *machine);
  bool *beside = malloc(n * sizeof *beside);
  struct pollfd *ends = malloc((n + 1 + RING_POLLS) * sizeof *ends);
  if (!p || !all || !machine || !beside || !ends)
    net->abort(net, STC_MEMORY);
  int socket = describe(&own);
  net->gather(net, &own, sizeof own, all);
  *p = (Peers){.rank = net->rank, .size = net->size, .all = all, .machine = machine, .ends = ends};
  find_machines(p, beside);
  p->ring = ring_open(net, machine, beside);
  free(beside);
  if ((open_ends(p, socket) || p->ring) && pthread_create(&p->thread, NULL, watch, p) == 0)
    net->peers = p;
  else
    discard(p);
}

/* Stops the thread, by sending news to this rank. */
static void stop(Net *net, int64_t news) {
  Peers *p = net->peers;
  net->peers = NULL;
  tell(p, p->rank, news);
  pthread_join(p->thread, NULL);
  if (p->ring)
    ring_say(p->ring, NEWS_ENDS);
  discard(p);
}

void peers_tell(Net *net) {
  if (!net->peers)
    return;
  tell_near(net->peers, NEWS_ABORTS);
  stop(net, NEWS_ABORTS);
}

void peers_unwatch(Net *net) {
  if (net->peers)
    stop(net, NEWS_ENDS);
}
