/* driver/data/movie.c: pictures of many steps as a film, .mp4, which the program ffmpeg makes. ffmpeg reads the
 * pictures from a socket, not from a pipe, so that its end is an error for stc and not a signal. */
#include "driver/data/writer.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The state of a film: ffmpeg's path, the name of the file until it is complete, the process (0: not started), the
 * socket to it, the size of the frames, memory for a line (malloc). */
typedef struct Movie {
  const char *ffmpeg, *part;
  pid_t process;
  int to, width, height;
  unsigned char *line;
} Movie;

/* The path of ffmpeg; NULL if PATH has no ffmpeg. */
static const char *find_ffmpeg(Arena *a) {
  for (const char *at = getenv("PATH"); at && *at; at += *at == ':') {
    int n = (int)strcspn(at, ":");
    const char *path = arena_printf(a, "%.*s/ffmpeg", n, at);
    if (n && access(path, X_OK) == 0)
      return path;
    at += n;
  }
  return NULL;
}

/* Starts ffmpeg for frames of the movie's size. */
static StcStatus start(const Writer *w, Movie *m) {
  int ends[2];
  char size[64];
  unlink(m->part);
  snprintf(size, sizeof size, "%dx%d", m->width, m->height);
  char *words[] = {(char *)m->ffmpeg,
                   "-loglevel",
                   "error",
                   "-y",
                   "-f",
                   "rawvideo",
                   "-pix_fmt",
                   "rgb24",
                   "-video_size",
                   size,
                   "-framerate",
                   "10",
                   "-i",
                   "-",
                   "-vf",
                   "pad=ceil(iw/2)*2:ceil(ih/2)*2",
                   "-pix_fmt",
                   "yuv420p",
                   "-f",
                   "mp4",
                   (char *)m->part,
                   NULL};
  posix_spawn_file_actions_t actions;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return context_error(w->context, "cannot start %s: %s", m->ffmpeg, strerror(errno)), STC_IO;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
  int why = posix_spawn(&m->process, m->ffmpeg, &actions, NULL, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  m->to = ends[0];
  if (!why)
    return STC_OK;
  m->process = 0;
  close(m->to);
  return context_error(w->context, "cannot start %s: %s", m->ffmpeg, strerror(why)), STC_IO;
}

/* Waits for ffmpeg to end. Did it succeed? */
static bool finish(Movie *m) {
  int status = 0;
  close(m->to);
  while (waitpid(m->process, &status, 0) < 0 && errno == EINTR)
    ;
  m->process = 0;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Sends n bytes. */
static bool send_all(int to, const unsigned char *bytes, size_t n) {
  for (size_t done = 0; done < n;) {
    ssize_t k = send(to, bytes + done, n - done, MSG_NOSIGNAL);
    if (k < 0 && errno != EINTR)
      return false;
    done += k > 0 ? (size_t)k : 0;
  }
  return true;
}

StcStatus movie_open(Writer *w) {
  Movie *m = w->state = ARENA_NEW(w->w.arena, Movie);
  m->part = arena_printf(w->w.arena, "%s.part", w->path);
  m->ffmpeg = find_ffmpeg(w->w.arena);
  if (m->ffmpeg)
    return STC_OK;
  return context_error(w->context,
                       "%s: the program ffmpeg, which makes such films, is not in PATH: install it, or write an .apng",
                       w->path),
         STC_INPUT;
}

StcStatus movie_step(Writer *w, const char *path, int64_t step, const void *const *data) {
  Movie *m = w->state;
  Picture p;
  (void)step;
  StcStatus s = picture_make(w, path, data, &p);
  if (!s && !m->process) {
    m->width = p.width;
    m->height = p.height;
    m->line = malloc(3 * (size_t)p.width);
    s = m->line ? start(w, m) : (context_error(w->context, "out of memory"), STC_MEMORY);
  }
  bool ok = true;
  for (int y = 0; y < m->height && ok && !s; y++) {
    picture_line(&p, y, m->line);
    ok = send_all(m->to, m->line, 3 * (size_t)m->width);
  }
  return ok ? s : (context_error(w->context, "cannot write %s: ffmpeg has ended", w->path), STC_IO);
}

void movie_abort(Writer *w) {
  Movie *m = w->state;
  if (m->process) {
    kill(m->process, SIGTERM);
    finish(m);
  }
  unlink(m->part);
  free(m->line);
  m->line = NULL;
}

StcStatus movie_close(Writer *w) {
  Movie *m = w->state;
  if (!finish(m))
    return context_error(w->context, "cannot write %s: ffmpeg has failed", w->path), STC_IO;
  file_keep_mode(w->path, m->part, -1);
  if (rename(m->part, w->path) != 0)
    return context_error(w->context, "cannot write %s: %s", w->path, strerror(errno)), STC_IO;
  free(m->line);
  return STC_OK;
}
