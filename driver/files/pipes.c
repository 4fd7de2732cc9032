/* driver/files/pipes.c: files whose other end belongs to another process: pipes, terminals, sockets. Waiting for that
 * end stops when the user wants to stop: it is done in short turns, as a signal that comes just before a wait would not
 * end it. */
#include "driver/files/files.h"
#include "driver/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* TURN: milliseconds of a turn of waiting; PATIENCE: milliseconds for which, after the user wants to stop, a reader may
 * read nothing. */
enum { TURN = 50, PATIENCE = 1000 };

/* An open end of a pipe (malloc). */
typedef struct Pipe {
  int fd;
  const Stop *stop;
} Pipe;

bool context_stopped(const StcContext *c) { return stop_asked(c->stop); }

/* Reads available bytes, or waits for them (the read function of cookie_io_functions_t); -1: EINTR if the user wants to
 * stop. */
static ssize_t take(void *of, char *to, size_t n) {
  const Pipe *p = of;
  while (!stop_asked(p->stop)) {
    struct pollfd end = {.fd = p->fd, .events = POLLIN};
    int ready = poll(&end, 1, TURN);
    ssize_t got = ready > 0 ? read(p->fd, to, n) : -1;
    if (got >= 0 || (ready && errno != EINTR && errno != EAGAIN))
      return got;
  }
  return errno = EINTR, -1;
}

/* Writes all `n` bytes to an end that does not block (the write function of cookie_io_functions_t); 0: an error, errno.
 */
static ssize_t give(void *of, const char *from, size_t n) {
  const Pipe *p = of;
  size_t done = 0;
  for (int waited = 0; done < n;) {
    struct pollfd end = {.fd = p->fd, .events = POLLOUT};
    int ready = poll(&end, 1, TURN);
    ssize_t k = ready > 0 ? write(p->fd, from + done, n - done) : -1;
    if (k < 0 && ready && errno != EINTR && errno != EAGAIN)
      return 0;
    waited = k > 0 || !stop_asked(p->stop) ? 0 : waited + TURN;
    if (waited > PATIENCE)
      return errno = EINTR, 0;
    done += k > 0 ? (size_t)k : 0;
  }
  return (ssize_t)n;
}

/* Closes the end (the close function of cookie_io_functions_t). */
static int drop(void *of) {
  Pipe *p = of;
  int failed = close(p->fd);
  free(p);
  return failed;
}

/* A stream that reads from ("rb") or writes to ("wb") the open end, and owns it; NULL with errno, the end is closed
 * then. */
static FILE *stream_of(const StcContext *c, int fd, const char *mode) {
  Pipe *p = malloc(sizeof *p);
  FILE *stream = NULL;
  if (p) {
    *p = (Pipe){fd, c->stop};
    stream = fopencookie(p, mode, (cookie_io_functions_t){.read = take, .write = give, .close = drop});
  }
  if (!stream) {
    free(p);
    close(fd);
  }
  return stream;
}

FILE *file_open(StcContext *c, const char *path) {
  struct stat st;
  bool standard = strcmp(path, "-") == 0;
  if (!c->stop && !standard)
    return fopen(path, "rb");
  int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return NULL;
  if (!standard)
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  bool waits = c->stop && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
  return waits ? stream_of(c, fd, "rb") : fdopen(fd, "rb");
}

FILE *pipe_create(StcContext *c, const char *path) {
  struct stat st;
  if (!c->stop || stat(path, &st) != 0 || !S_ISFIFO(st.st_mode))
    return fopen(path, "wb");
  int fd = -1;
  while (!stop_asked(c->stop) && (fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 &&
         (errno == ENXIO || errno == EINTR))
    poll(NULL, 0, TURN);
  if (fd < 0 && stop_asked(c->stop))
    errno = EINTR;
  return fd < 0 ? NULL : stream_of(c, fd, "wb");
}
