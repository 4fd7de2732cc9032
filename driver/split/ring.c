/* driver/split/ring.c: the ring of machines (ring.h), over TCP.
 *
 * The end of a machine shows at its connection. Only an orderly shutdown of the connection counts, and only if nothing
 * listens at that machine any more. A connection that was merely interrupted, by a firewall or a router, or closed by a
 * proxy, is no end. */
#include "driver/split/ring.h"
#include "driver/split/split.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* The number of addresses of a machine that are tried, and the milliseconds for each; how often a machine that seems to
 * have ended is contacted, and the pause between in milliseconds; the news that greet. */
enum { ADDRESSES = 8, PATIENCE = 2000, KNOCKS = 10, KNOCK_PAUSE = 10, NEWS_HELLO = -4 };

/* Where a rank listens: its addresses (IPv4 in IPv6 form), and a key that a connection must show, because another
 * machine may have the same address. */
typedef struct RankPlace {
  uint64_t key;
  struct in6_addr address[ADDRESSES];
  int n;
  in_port_t port;
} RankPlace;

/* A message on a connection. */
typedef struct Letter {
  uint64_t key;
  int64_t news;
} Letter;

/* listens: the socket for incoming connections. asked: a connection that has not shown the key yet. in: from the
 * machine before; out: to the next one, at its address number `tried`. -1: there is none. */
struct Ring {
  int rank, size, next;
  bool beside;
  const int *machine;
  RankPlace *all;
  int listens, asked, in, out, tried;
  enum { CONNECTS, GREETS, LINKED } state;
};

/* ---------------------------------------------------------------- addresses */

/* Closes `*fd`, if it is open. */
static void drop(int *fd) {
  if (*fd >= 0)
    close(*fd);
  *fd = -1;
}

/* Adds an address, unless it is valid only on its own computer, or is no internet address. */
static void add_address(RankPlace *p, const struct sockaddr *a) {
  struct in6_addr six = {{{[10] = 0xff, [11] = 0xff}}};
  if (a && a->sa_family == AF_INET)
    memcpy(&six.s6_addr[12], &((const struct sockaddr_in *)a)->sin_addr, 4);
  else if (a && a->sa_family == AF_INET6)
    six = ((const struct sockaddr_in6 *)a)->sin6_addr;
  else
    return;
  if (p->n < ADDRESSES && !IN6_IS_ADDR_LINKLOCAL(&six))
    p->address[p->n++] = six;
}

/* Opens a listening socket and fills in its place; -1 on failure. */
static int listen_at(RankPlace *p) {
  struct sockaddr_in6 at = {.sin6_family = AF_INET6};
  socklen_t length = sizeof at;
  struct ifaddrs *list = NULL;
  memset(p, 0, sizeof *p);
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    at.sin6_family = AF_INET;
    length = sizeof(struct sockaddr_in);
  }
  setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
  if (fd < 0 || bind(fd, (struct sockaddr *)&at, length) != 0 || listen(fd, ADDRESSES) != 0 ||
      getsockname(fd, (struct sockaddr *)&at, &length) != 0 || getrandom(&p->key, sizeof p->key, 0) != sizeof p->key ||
      getifaddrs(&list) != 0)
    return drop(&fd), -1;
  p->port = at.sin6_port;
  for (const struct ifaddrs *i = list; i; i = i->ifa_next)
    if ((i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK))
      add_address(p, i->ifa_addr);
  freeifaddrs(list);
  return fd;
}

/* Address number `i` of rank `rank`, the loopback first if the rank is on this computer; NULL: there are no more. */
static const struct in6_addr *address_of(const Ring *r, int rank, int i) {
  static const struct in6_addr loopback = {{{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}}};
  const RankPlace *p = &r->all[rank];
  if (r->beside && i-- == 0)
    return &loopback;
  return i < p->n ? &p->address[i] : NULL;
}

/* Begins to connect; -1 on failure, with errno. */
static int reach(const struct in6_addr *a, in_port_t port) {
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = *a};
  struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = port};
  bool old = IN6_IS_ADDR_V4MAPPED(a);
  memcpy(&four.sin_addr, &a->s6_addr[12], sizeof four.sin_addr);
  int fd = socket(old ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int bad = fd < 0 ? -1
            : old  ? connect(fd, (struct sockaddr *)&four, sizeof four)
                   : connect(fd, (struct sockaddr *)&six, sizeof six);
  int why = errno;
  if (bad && why != EINPROGRESS)
    drop(&fd);
  errno = why;
  return fd;
}

/* The result of connecting: 0 or errno. */
static int outcome(int fd) {
  int why = 0;
  socklen_t length = sizeof why;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &length) == 0 ? why : errno;
}

/* Does the next machine refuse connections where rank `rank`, one of its own, listened? While a process ends, its
 * listening socket may exist for a moment longer than its connections, so this tries several times. */
static bool is_refused(const Ring *r, int rank) {
  const struct in6_addr *a = address_of(r, r->next, r->tried);
  for (int i = 0; a && i < KNOCKS; i++) {
    int fd = reach(a, r->all[rank].port), why = errno;
    if (fd >= 0)
      why = poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, PATIENCE) == 1 ? outcome(fd) : ETIMEDOUT;
    drop(&fd);
    if (why == ECONNREFUSED || why == ETIMEDOUT)
      return why == ECONNREFUSED;
    poll(NULL, 0, KNOCK_PAUSE);
  }
  return false;
}

/* ---------------------------------------------------------------- the ring */

Ring *ring_open(Net *net, const int *machine, const bool *beside) {
  int next = -1, size = net->size;
  RankPlace own, *all;
  for (int i = 1; i <= size && next < 0; i++)
    if (machine[(net->rank + i) % size] == (net->rank + i) % size)
      next = (net->rank + i) % size;
  bool alone = true;
  for (int i = 0; i < size; i++)
    alone = alone && machine[i] == machine[0];
  if (alone)
    return NULL;
  Ring *r = calloc(1, sizeof *r);
  if (!r || !(all = malloc((size_t)size * sizeof *all)))
    return net->abort(net, STC_MEMORY), NULL;
  *r = (Ring){net->rank, size, next, beside[next], machine, all, listen_at(&own), -1, -1, -1, -1, CONNECTS};
  net->gather(net, &own, sizeof own, all);
  return r;
}

/* Tries the next of the addresses. */
static void try_next(Ring *r) {
  const struct in6_addr *a;
  drop(&r->out);
  r->state = CONNECTS;
  while (r->out < 0 && (a = address_of(r, r->next, ++r->tried)))
    r->out = reach(a, r->all[r->next].port);
}

/* Writes a message without waiting: a reader that does not read has ended, or will. */
static void write_to(int fd, uint64_t key, int64_t news) {
  Letter l = {key, news};
  if (fd >= 0 && send(fd, &l, sizeof l, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    return;
}

/* Reads a message. False: the connection is useless; `*ended`: the other side has ended it. */
static bool read_from(int fd, Letter *l, bool *ended) {
  ssize_t n = recv(fd, l, sizeof *l, MSG_DONTWAIT);
  *ended = n == 0;
  if (n == sizeof *l)
    return l->news != NEWS_ENDS;
  *l = (Letter){0, NEWS_NONE};
  return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Sets options so that a connection without traffic survives for days in routers that forget idle ones. */
static void keep(int fd) {
  if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int)) == 0)
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){60}, sizeof(int));
}

/* Handles the message of a new connection: with this rank's key it comes from the machine before. */
static void answer(Ring *r) {
  Letter l;
  bool ended;
  if (read_from(r->asked, &l, &ended) && l.news == NEWS_NONE)
    return;
  if (!ended && l.news == NEWS_HELLO && l.key == r->all[r->rank].key) {
    drop(&r->in);
    r->in = r->asked;
    r->asked = -1;
    keep(r->in);
    write_to(r->in, l.key, NEWS_HELLO);
  }
  drop(&r->asked);
}

/* Handles the result of connecting to the next machine. */
static void greet(Ring *r) {
  Letter l;
  bool ended;
  const uint64_t key = r->all[r->next].key;
  if (r->state == CONNECTS && outcome(r->out) == 0) {
    r->state = GREETS;
    write_to(r->out, key, NEWS_HELLO);
  } else if (r->state == GREETS && read_from(r->out, &l, &ended) && (l.news == NEWS_NONE || l.key == key)) {
    r->state = l.news == NEWS_HELLO ? LINKED : GREETS;
    keep(r->out);
  } else {
    try_next(r);
  }
}

int ring_polls(const Ring *r, struct pollfd *polls) {
  polls[0] = (struct pollfd){.fd = r->listens, .events = POLLIN};
  polls[1] = (struct pollfd){.fd = r->asked, .events = POLLIN};
  polls[2] = (struct pollfd){.fd = r->in, .events = POLLIN};
  polls[3] = (struct pollfd){.fd = r->out, .events = r->state == CONNECTS ? POLLOUT : POLLIN};
  if (r->machine[r->rank] != r->rank)
    return -1;
  return r->tried < 0 ? 0 : r->out >= 0 && r->state != LINKED ? PATIENCE : -1;
}

int64_t ring_hear(Ring *r, const struct pollfd *polls, bool late) {
  Letter l = {0, NEWS_NONE};
  bool ended;
  if (polls[2].revents && !read_from(r->in, &l, &ended))
    drop(&r->in), l.news = NEWS_NONE;
  if (r->state != LINKED && polls[3].revents)
    greet(r);
  else if (r->state != LINKED && late)
    try_next(r);
  else if (l.news == NEWS_NONE && polls[3].revents && !read_from(r->out, &l, &ended)) {
    l.news = ended && is_refused(r, r->next) ? r->next : NEWS_NONE;
    drop(&r->out);
  }
  if (polls[1].revents)
    answer(r);
  if (polls[0].revents) {
    drop(&r->asked);
    r->asked = accept4(r->listens, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  }
  return l.news;
}

bool ring_speaks(const Ring *r, int64_t gone) {
  if (gone != r->next)
    return false;
  for (int i = 0; i < r->size; i++)
    if (r->machine[i] == r->next && !is_refused(r, i))
      return false;
  return true;
}

void ring_say(const Ring *r, int64_t news) {
  write_to(r->in, 0, news);
  if (r->state == LINKED)
    write_to(r->out, 0, news);
}

void ring_close(Ring *r) {
  if (!r)
    return;
  drop(&r->out);
  drop(&r->in);
  drop(&r->asked);
  drop(&r->listens);
  free(r->all);
  free(r);
}
