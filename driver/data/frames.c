/* driver/data/frames.c: series of frames in from files: an array with one axis more than the field, in front, in one
 * file (.npy; HDF5: frames-hdf5.c), or files of one frame each, whose names hold its number. While a run makes the
 * steps of one frame a thread reads the next one, so that it is there when it is wanted. */
#include "driver/data/frames.h"
#include "driver/data/writer.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* fd: of one file with all frames, from byte `at` on, -1: there is a file for each. ahead: the frame that the thread is
 * asked for, -1: none; done: has it read that, into `data`? why: what went wrong then, "": nothing. */
struct FrameFile {
  StcContext *context;
  char *path, *what;
  StcFieldInfo info;
  int fd;
  FrameArray *array; /* of an HDF5 file, or NULL */
  int64_t at, count;
  pthread_t thread;
  bool started, ended, done;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int64_t ahead;
  void *data;
  StcStatus status;
  char why[512];
};

/* ---------------------------------------------------------------- files of one frame each */

/* The name of frame `frame`'s file, in memory of the C heap. */
static char *name_of(const char *path, int64_t frame) {
  int n, width = 0;
  const char *at = path_number(path, &n);
  bool zeros = at[1] == '0';
  for (const char *c = at + 1; *c != 'd'; c++)
    width = 10 * width + (*c - '0');
  size_t room = strlen(path) + (size_t)width + 32;
  char *name = malloc(room);
  if (name)
    snprintf(name, room, zeros ? "%.*s%0*lld%s" : "%.*s%*lld%s", (int)(at - path), path, width, (long long)frame,
             at + n);
  return name;
}

/* How many frames have a file, from 0 on without a gap. */
static int64_t count_files(const char *path) {
  int64_t n = 0;
  for (bool there = true; there; n += there) {
    char *name = name_of(path, n);
    there = name && access(name, F_OK) == 0;
    free(name);
  }
  return n;
}

/* ---------------------------------------------------------------- reading */

/* Keeps the first message of a read, in the FrameFile or the text that `user` is. */
static void keep_message(void *user, const StcMessage *m) {
  char *why = user;
  if (!why[0])
    snprintf(why, 512, "%s", m->text);
}

/* Reads the file of frame `frame` to `data`. */
static StcStatus read_own_file(const FrameFile *x, int64_t frame, void *data, char why[512]) {
  char *name = name_of(x->path, frame);
  StcContext *own = name ? stc_context_new(&(StcConfig){.message = keep_message, .user = why}) : NULL;
  StcStatus s = own ? npy_read(own, name, x->what, &x->info, data) : STC_MEMORY;
  if (!own)
    snprintf(why, 512, "out of memory");
  if (own)
    stc_context_free(own);
  free(name);
  return s;
}

/* Reads frame `frame` to `data`; what is wrong, to `why`. */
static StcStatus read_frame(const FrameFile *x, int64_t frame, void *data, char why[512]) {
  char reason[256];
  why[0] = 0;
  if (x->array && !frame_array_read(x->array, frame, data, reason))
    return snprintf(why, 512, "cannot read frame %lld of %s: %s", (long long)frame, x->path, reason), STC_IO;
  if (x->array)
    return STC_OK;
  if (x->fd < 0)
    return read_own_file(x, frame, data, why);
  if (!file_read_at(x->fd, data, x->info.bytes, x->at + frame * x->info.bytes)) {
    snprintf(why, 512, "cannot read frame %lld of %s: %s", (long long)frame, x->path,
             errno ? strerror(errno) : "it ends");
    return STC_IO;
  }
  npy_bools(&x->info, data);
  return STC_OK;
}

/* The life of the thread: frames that it is asked for, one after the other. */
static void *read_ahead(void *arg) {
  FrameFile *x = arg;
  pthread_mutex_lock(&x->lock);
  while (!x->ended) {
    if (x->ahead < 0 || x->done) {
      pthread_cond_wait(&x->changed, &x->lock);
      continue;
    }
    int64_t frame = x->ahead;
    pthread_mutex_unlock(&x->lock);
    StcStatus s = read_frame(x, frame, x->data, x->why);
    pthread_mutex_lock(&x->lock);
    x->status = s;
    x->done = true;
    pthread_cond_broadcast(&x->changed);
  }
  pthread_mutex_unlock(&x->lock);
  return NULL;
}

/* Waits until the thread has read what it was asked for; whether that is frame `frame`, with *s. */
static bool take_ahead(FrameFile *x, int64_t frame, void *data, StcStatus *s) {
  pthread_mutex_lock(&x->lock);
  while (x->ahead >= 0 && !x->done)
    pthread_cond_wait(&x->changed, &x->lock);
  bool is = x->ahead == frame;
  x->ahead = -1;
  pthread_mutex_unlock(&x->lock);
  *s = is ? x->status : STC_OK;
  if (is && !*s)
    memcpy(data, x->data, (size_t)x->info.bytes);
  return is;
}

/* Asks the thread for frame `frame`; without a thread, or memory, it is read when it is wanted. */
static void ask_ahead(FrameFile *x, int64_t frame) {
  if (!x->data)
    x->data = malloc((size_t)x->info.bytes + 1);
  if (x->data && !x->started)
    x->started = pthread_create(&x->thread, NULL, read_ahead, x) == 0;
  if (!x->started || x->count < 2)
    return;
  pthread_mutex_lock(&x->lock);
  x->ahead = frame;
  x->done = false;
  pthread_cond_broadcast(&x->changed);
  pthread_mutex_unlock(&x->lock);
}

StcStatus frames_read(void *user, int64_t frame, void *data, size_t bytes) {
  FrameFile *x = user;
  StcStatus s;
  (void)bytes;
  if (!take_ahead(x, frame, data, &s))
    s = read_frame(x, frame, data, x->why);
  if (s)
    return context_error(x->context, "%s", x->why), s;
  ask_ahead(x, frame + 1 < x->count ? frame + 1 : 0);
  return STC_OK;
}

/* ---------------------------------------------------------------- opening and closing */

bool frames_are_in(const char *path, const StcFieldInfo *f) {
  int n;
  return f->frames && !path_is_special(path) &&
         (path_number(path, &n) || frames_are_hdf5(path) || npy_has_frames(path, f));
}

/* Finds how many there are, and checks the first. */
static StcStatus look(FrameFile *x, StcContext *c) {
  int n;
  if (frames_are_hdf5(x->path)) {
    StcStatus s;
    x->array = frame_array_open(c, x->path, x->what, &x->info, &x->count, &s);
    return s;
  }
  if (!path_number(x->path, &n)) {
    x->fd = npy_open_frames(c, x->path, x->what, &x->info, &x->at, &x->count);
    return x->fd < 0 ? STC_INPUT : STC_OK;
  }
  x->count = count_files(x->path);
  char *first = name_of(x->path, 0);
  StcStatus s = first ? STC_OK : STC_MEMORY;
  if (!s && !x->count)
    s = (context_error(c, "there is no %s for frame 0 of %s", first, x->what), STC_INPUT);
  for (int64_t i = 0; i < x->count && !s; i++) {
    char *name = name_of(x->path, i);
    s = name ? npy_check(c, name, x->what, &x->info) : STC_MEMORY;
    free(name);
  }
  free(first);
  return s;
}

StcStatus frames_open(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, FrameFile **out) {
  FrameFile *x = *out = calloc(1, sizeof *x);
  if (!x)
    return context_error(c, "out of memory"), STC_MEMORY;
  *x = (FrameFile){.context = c, .path = strdup(path), .what = strdup(what), .info = *f, .fd = -1, .ahead = -1};
  pthread_mutex_init(&x->lock, NULL);
  pthread_cond_init(&x->changed, NULL);
  StcStatus s = x->path && x->what ? look(x, c) : STC_MEMORY;
  if (s) {
    frames_close(x);
    *out = NULL;
  }
  return s;
}

int64_t frames_count(const FrameFile *x) { return x->count; }

void frames_close(FrameFile *x) {
  if (!x)
    return;
  pthread_mutex_lock(&x->lock);
  x->ended = true;
  pthread_cond_broadcast(&x->changed);
  pthread_mutex_unlock(&x->lock);
  if (x->started)
    pthread_join(x->thread, NULL);
  if (x->fd >= 0)
    close(x->fd);
  frame_array_close(x->array);
  pthread_cond_destroy(&x->changed);
  pthread_mutex_destroy(&x->lock);
  free(x->data);
  free(x->path);
  free(x->what);
  free(x);
}
