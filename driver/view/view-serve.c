/* driver/view/view-serve.c: the server: a thread of libmicrohttpd, on the loopback address unless another is requested.
 * A request must contain the token, which is in the path of the page, and name a host that no other site's name server
 * can redefine. So a page of another site can neither read nor steer a run, whatever address its name resolves to (DNS
 * rebinding). All sizes of requests are bounded, and a slow client only blocks its own connection. */
#include "driver/view/address.h"
#include "driver/view/view-serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef STC_HAS_VIEW

/* ---------------------------------------------------------------- answers */

enum MHD_Result server_send(struct MHD_Connection *c, unsigned status, const char *type, struct MHD_Response *r) {
  static const char *const headers[][2] = {
      {"Cache-Control", "no-store"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
       "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'"},
  };
  if (!r)
    return MHD_NO;
  MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
    MHD_add_response_header(r, headers[i][0], headers[i][1]);
  enum MHD_Result sent = MHD_queue_response(c, status, r);
  MHD_destroy_response(r);
  return sent;
}

/* Sends text. */
static enum MHD_Result say(struct MHD_Connection *c, unsigned status, const char *text) {
  return server_send(c, status, "text/plain; charset=utf-8",
                     MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY));
}

/* Sends JSON (malloc), and frees it. */
static enum MHD_Result send_json(struct MHD_Connection *c, char *text) {
  if (!text)
    return say(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
  return server_send(c, MHD_HTTP_OK, "application/json",
                     MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE));
}

/* ---------------------------------------------------------------- access control */

/* Writes the host of a Host header, without its port, to `name`; false if there is none. */
static bool host_name(const char *header, char *name, size_t room) {
  bool six = header[0] == '[';
  size_t n = six ? strcspn(header, "]") : strcspn(header, ":");
  const char *rest = header + n + (six && header[n] == ']');
  if (n - six == 0 || n - six >= room || (six && header[n] != ']') || (*rest && *rest != ':'))
    return false;
  memcpy(name, header + six, n - six);
  name[n - six] = 0;
  return !*rest || strspn(rest + 1, "0123456789") == strlen(rest + 1);
}

/* Does the name mean this computer for every client: is it an address, which no other site's name server can redefine,
 * or the computer's own name? If the server is only for this computer: the loopback address. */
static bool is_own_host(const Server *s, const char *name) {
  struct in_addr four;
  struct in6_addr six;
  char own[256] = "";
  if (strcasecmp(name, "localhost") == 0)
    return true;
  bool is_four = inet_pton(AF_INET, name, &four) == 1, is_six = inet_pton(AF_INET6, name, &six) == 1;
  if (s->loopback)
    return (is_four && ntohl(four.s_addr) >> 24 == 127) || (is_six && IN6_IS_ADDR_LOOPBACK(&six));
  return is_four || is_six || (gethostname(own, sizeof own - 1) == 0 && strcasecmp(name, own) == 0);
}

/* The value of a header; NULL if there is none. */
static const char *header_of(struct MHD_Connection *c, const char *name) {
  return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* Does the request name this host, and does it not come from a page of another site? */
static bool comes_from_here(const Server *s, struct MHD_Connection *c) {
  char name[256];
  const char *host = header_of(c, MHD_HTTP_HEADER_HOST), *origin = header_of(c, "Origin");
  if (!host || !host_name(host, name, sizeof name) || !is_own_host(s, name))
    return false;
  const char *behind = origin ? strstr(origin, "://") : NULL;
  return !origin || (behind && strcmp(behind + 3, host) == 0);
}

/* The part of the path after the token; NULL if the token is wrong. Takes the same time for all wrong tokens. */
static const char *behind_token(const Server *s, const char *url) {
  size_t n = strlen(s->token);
  unsigned char wrong = 0;
  if (strlen(url) < n + 1 || url[0] != '/')
    return NULL;
  for (size_t i = 0; i < n; i++)
    wrong |= (unsigned char)(url[1 + i] ^ s->token[i]);
  return wrong || (url[n + 1] && url[n + 1] != '/') ? NULL : url + n + 1;
}

/* ---------------------------------------------------------------- answers */

/* The value of an argument of the query (Argument). */
static const char *argument(void *request, const char *name) {
  return MHD_lookup_connection_value(request, MHD_GET_ARGUMENT_KIND, name);
}

/* Releases a frame after it was sent (a free callback). */
typedef struct Sent {
  StcView *view;
  ViewFrame *frame;
} Sent;
static void frame_sent(void *user) {
  Sent *s = user;
  pthread_mutex_lock(&s->view->lock);
  frame_free(s->frame);
  pthread_mutex_unlock(&s->view->lock);
  free(s);
}

/* Sends a frame, one of whose users is this answer. */
static enum MHD_Result send_frame(StcView *v, struct MHD_Connection *c, ViewFrame *f) {
  Sent *s = malloc(sizeof *s);
  struct MHD_Response *r = NULL;
  if (s) {
    *s = (Sent){v, f};
    r = MHD_create_response_from_buffer_with_free_callback_cls(f->size, f->bytes, frame_sent, s);
  }
  if (r)
    return server_send(c, MHD_HTTP_OK, "application/octet-stream", r);
  pthread_mutex_lock(&v->lock);
  frame_free(f);
  pthread_mutex_unlock(&v->lock);
  free(s);
  return MHD_NO;
}

/* Sends a picture, or nothing if there is none yet. */
static enum MHD_Result answer_frame(StcView *v, struct MHD_Connection *c) {
  Wish w;
  bool full;
  const char *have = argument(c, "have");
  if (!ask_wish(v, argument, c, &w))
    return say(c, MHD_HTTP_BAD_REQUEST, "there is no such picture\n");
  pthread_mutex_lock(&v->lock);
  ViewFrame *f = ask_frame(v, &w, have ? strtoll(have, NULL, 10) : 0, &full);
  pthread_mutex_unlock(&v->lock);
  if (full)
    return say(c, MHD_HTTP_SERVICE_UNAVAILABLE, "too many pages look at different things\n");
  return f ? send_frame(v, c, f) : say(c, MHD_HTTP_NO_CONTENT, "");
}

/* Handles the command `what`. */
static enum MHD_Result answer_order(StcView *v, struct MHD_Connection *c, const char *what) {
  const char *why = ask_order(v, what, argument, c);
  return why ? say(c, MHD_HTTP_CONFLICT, why) : say(c, MHD_HTTP_OK, "ok");
}

/* Sends the state, or the curves. */
static enum MHD_Result answer_state(StcView *v, struct MHD_Connection *c, char *(*text)(const StcView *v)) {
  pthread_mutex_lock(&v->lock);
  char *json = text(v);
  pthread_mutex_unlock(&v->lock);
  return send_json(c, json);
}

/* One of the page's own files; NULL if there is none of that name. */
static const PageFile *find_file(const char *name) {
  for (int i = 0; i < npage_files; i++)
    if (strcmp(page_files[i].name, name) == 0)
      return &page_files[i];
  return NULL;
}

/* Answers an accepted request, by the path after the token: "/NAME". */
static enum MHD_Result route(StcView *v, struct MHD_Connection *c, const char *path, bool post) {
  if (!*path) {
    struct MHD_Response *r = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    char to[64];
    snprintf(to, sizeof to, "/%s/", v->server->token);
    MHD_add_response_header(r, MHD_HTTP_HEADER_LOCATION, to);
    return server_send(c, MHD_HTTP_FOUND, "text/plain", r);
  }
  const char *name = path + 1;
  const PageFile *file = find_file(name);
  bool order = strncmp(name, "do/", 3) == 0;
  if (order != post)
    return say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "orders are sent by POST, all else is asked for by GET\n");
  if (order)
    return answer_order(v, c, name + 3);
  if (file)
    return server_send(c, MHD_HTTP_OK, file->type,
                       MHD_create_response_from_buffer((size_t)(file->end - file->bytes), (void *)file->bytes,
                                                       MHD_RESPMEM_PERSISTENT));
  if (strcmp(name, "info") == 0)
    return server_send(c, MHD_HTTP_OK, "application/json",
                       MHD_create_response_from_buffer(strlen(v->info), v->info, MHD_RESPMEM_PERSISTENT));
  if (strcmp(name, "events") == 0)
    return events_answer(v, c);
  if (strcmp(name, "frame") == 0)
    return answer_frame(v, c);
  if (strcmp(name, "state") == 0)
    return answer_state(v, c, view_state);
  if (strcmp(name, "curves") == 0)
    return answer_state(v, c, view_curves);
  return say(c, MHD_HTTP_NOT_FOUND, "there is no such thing\n");
}

/* The status with which the request is refused, whatever it asks for; 0 if it is accepted. */
static unsigned refusal(const Server *s, struct MHD_Connection *c, const char *url, const char *method) {
  const char *length = header_of(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
  if (!comes_from_here(s, c) || !behind_token(s, url))
    return MHD_HTTP_FORBIDDEN;
  if (strlen(url) > MAX_URL)
    return MHD_HTTP_URI_TOO_LONG;
  if (length && strtoull(length, NULL, 10) > MAX_BODY)
    return 413; /* content too large */
  bool known = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 || strcmp(method, "POST") == 0;
  return known ? 0 : MHD_HTTP_METHOD_NOT_ALLOWED;
}

/* Answers a request (an access handler). It is called after the headers; then, with *state, for pieces of the body,
 * which are discarded; and at the end. */
static enum MHD_Result answer(void *user, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *body, size_t *bytes, void **state) {
  static char begun;
  StcView *v = user;
  (void)version, (void)body;
  if (!*state) {
    unsigned status = refusal(v->server, c, url, method);
    *state = &begun;
    return status ? say(c, status, "refused: the address is not the one that stc has told\n") : MHD_YES;
  }
  if (*bytes) {
    bool large = *bytes > MAX_BODY;
    *bytes = 0;
    return large ? MHD_NO : MHD_YES;
  }
  return route(v, c, behind_token(v->server, url), strcmp(method, "POST") == 0);
}

/* ---------------------------------------------------------------- the address */

/* Opens a socket that listens at this address; -1 after an error. */
static int open_socket(StcView *v, const char *address, struct sockaddr_storage *at, socklen_t *size) {
  if (!address_read(address, at, size)) {
    context_error(v->context,
                  "--view=%s: write ADDRESS:PORT with an address in digits, such as 127.0.0.1:8000, or PORT alone",
                  address);
    return -1;
  }
  int fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
  if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 && bind(fd, (void *)at, *size) == 0 &&
      listen(fd, MAX_CONNECTIONS) == 0 && getsockname(fd, (void *)at, size) == 0)
    return fd;
  context_error(v->context, "--view=%s: %s%s", address, strerror(errno),
                errno == EADDRINUSE ? "; another port, or none, for which a free one is taken, will do" : "");
  if (fd >= 0)
    close(fd);
  return -1;
}

/* Records whether the socket serves only this computer, and the page's URL. */
static bool tell_url(StcView *v, const struct sockaddr_storage *at) {
  const struct sockaddr_in *four = (const void *)at;
  const struct sockaddr_in6 *six = (const void *)at;
  bool is_four = at->ss_family == AF_INET;
  char name[256] = "";
  v->server->loopback = is_four ? ntohl(four->sin_addr.s_addr) >> 24 == 127 : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
  bool any = is_four ? four->sin_addr.s_addr == 0 : IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
  if (!any || gethostname(name, sizeof name - 1) != 0)
    inet_ntop(at->ss_family, is_four ? (const void *)&four->sin_addr : &six->sin6_addr, name, sizeof name);
  bool brackets = !is_four && !any;
  size_t room = strlen(name) + strlen(v->server->token) + 32;
  v->url = malloc(room);
  if (v->url)
    snprintf(v->url, room, "http://%s%s%s:%d/%s/", brackets ? "[" : "", name, brackets ? "]" : "",
             ntohs(is_four ? four->sin_port : six->sin6_port), v->server->token);
  return v->url != NULL;
}

/* Makes a random token. */
static bool make_token(char token[33]) {
  unsigned char random[16];
  if (getrandom(random, sizeof random, 0) != sizeof random)
    return false;
  for (size_t i = 0; i < sizeof random; i++)
    snprintf(token + 2 * i, 3, "%02x", random[i]);
  return true;
}

/* ---------------------------------------------------------------- start and end */

/* Discards the messages of the library (a logger). */
static void stay_silent(void *user, const char *format, va_list values) { (void)user, (void)format, (void)values; }

/* Starts the library's thread, with all signals blocked. */
static struct MHD_Daemon *start(StcView *v, int fd) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  struct MHD_Daemon *daemon =
      MHD_start_daemon(MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
                       NULL, NULL, answer, v, MHD_OPTION_EXTERNAL_LOGGER, stay_silent, NULL, MHD_OPTION_LISTEN_SOCKET,
                       fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                       (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CLIENT_SECONDS,
                       MHD_OPTION_END);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return daemon;
}

StcStatus server_open(StcView *v, const char *address) {
  struct sockaddr_storage at;
  socklen_t size;
  Server *s = v->server = calloc(1, sizeof *s);
  if (!s)
    return context_error(v->context, "out of memory"), STC_MEMORY;
  int fd = open_socket(v, address, &at, &size);
  if (fd < 0)
    return STC_USAGE;
  if (!make_token(s->token) || !tell_url(v, &at) || !(s->daemon = start(v, fd))) {
    close(fd);
    return context_error(v->context, "--view: the server does not start"), STC_MEMORY;
  }
  return STC_OK;
}

void view_tell(StcView *v) {
  v->news++;
  events_wake(v);
  pthread_cond_broadcast(&v->changed);
}

/* The number of connections. */
static unsigned connections(const Server *s) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
  return info ? info->num_connections : 0;
}

/* Gives pages a moment to receive the last news and answers. */
static void say_goodbye(StcView *v) {
  double now = clock_seconds(), answers = now + 1.0 / 4, pages = now + 1.0 / 2;
  pthread_mutex_lock(&v->lock);
  v->over = true;
  view_tell(v);
  while ((v->server->listeners && now < pages) || (now < answers && connections(v->server))) {
    pthread_mutex_unlock(&v->lock);
    usleep(5000);
    pthread_mutex_lock(&v->lock);
    now = clock_seconds();
  }
  events_wake(v);
  pthread_mutex_unlock(&v->lock);
}

void server_close(StcView *v) {
  if (v->server && v->server->daemon) {
    say_goodbye(v);
    MHD_stop_daemon(v->server->daemon);
  }
  free(v->server);
  v->server = NULL;
}

#else
StcStatus server_open(StcView *v, const char *address) {
  (void)address;
  context_error(v->context, "this stc was built without libmicrohttpd, by which a view is served: install it (Debian: "
                            "libmicrohttpd-dev) and build stc again");
  return STC_USAGE;
}

void view_tell(StcView *v) { pthread_cond_broadcast(&v->changed); }

void server_close(StcView *v) { (void)v; }
#endif
