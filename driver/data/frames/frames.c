/* driver/data/frames/frames.c: series of frames from files: an array with one more axis than the field, in front, in
 * one file (.npy; HDF5, netCDF: frames-hdf5.c), or files of one frame each, with its number in their names. Several
 * threads read a frame into its destination when it is needed, and the system is told which frames come next. Frames
 * that only the HDF5 library can read are read by a thread during the steps of the frame before. */
#include "driver/data/frames/frames.h"
#include "driver/data/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* place: the positions of frames in one .npy file; its fd is -1 if each frame has a file, or if `array` is read. cast:
 * the conversion of all frames to the field's type; if each frame has a file, that of the converted ones. raw: memory
 * of `room` bytes for a frame as it is in the file, if frames are converted. ahead: the frame for which the thread is
 * asked, -1: none; done: the thread has read it into `data`, or told the system of it. why: the error then, "": none.
 */
struct FrameFile {
  StcContext *context;
  char *path, *what;
  StcFieldInfo info;
  FramePlace place;
  FrameArray *array; /* of an HDF5 or netCDF file, or NULL */
  int64_t count;
  Cast cast;
  void *raw;
  int64_t room;
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

/* The name of the file of frame `frame` (malloc). */
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

/* The number of frames that have a file, from 0 on without a gap. */
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

/* Keeps the first message of a read; `user` is the FrameFile or the text that receives it. */
static void keep_message(void *user, const StcMessage *m) {
  char *why = user;
  if (!why[0])
    snprintf(why, 512, "%s", m->text);
}

/* How many coming frames the system is told of. */
enum { FRAMES_TOLD = 2 };

/* Bytes of a frame in the file. */
static int64_t file_bytes(const FrameFile *x, const Cast *cast) {
  return cast->needed ? cast->n * type_size(cast->from) : x->info.bytes;
}

/* The memory into which to read a frame that becomes `data`: `data` itself, or other memory if the frame is converted;
 * NULL after a message. Only one thread reads at a time. */
static void *raw_of(FrameFile *x, const Cast *cast, void *data, char why[512]) {
  int64_t bytes = file_bytes(x, cast);
  if (!cast->needed)
    return data;
  if (!x->raw || x->room < bytes) { /* a field without points has no bytes */
    free(x->raw);
    x->raw = malloc((size_t)bytes + 1);
    x->room = x->raw ? bytes : 0;
  }
  if (!x->raw)
    snprintf(why, 512, "out of memory: a frame of %s takes %lld bytes", x->what, (long long)bytes);
  return x->raw;
}

/* Converts the numbers at `raw`, of the frame in file `path`, to the field's. */
static StcStatus cast_frame(const FrameFile *x, const Cast *cast, const char *path, int64_t frame, const void *raw,
                            void *data, char why[512]) {
  int64_t bad;
  if (cast->needed && !cast_beside(cast, raw, data, &bad)) {
    snprintf(why, 512, "%s: element %lld of frame %lld does not fit in %s", path, (long long)bad, (long long)frame,
             type_name(cast->to));
    return STC_INPUT;
  }
  if (!cast->needed && !x->array)
    npy_bools(&x->info, data);
  return STC_OK;
}

/* Reads the file of frame `frame` to `data`. */
static StcStatus read_own_file(FrameFile *x, int64_t frame, void *data, char why[512]) {
  char *name = name_of(x->path, frame);
  StcContext *own = name ? stc_context_new(&(StcConfig){.message = keep_message, .user = why}) : NULL;
  int64_t at;
  Cast cast;
  int fd = own ? npy_open(own, name, x->what, &x->info, &cast, &at) : -1;
  StcStatus s = own ? fd < 0 ? STC_INPUT : STC_OK : STC_MEMORY;
  if (!own)
    snprintf(why, 512, "out of memory");
  void *raw = s ? NULL : raw_of(x, &cast, data, why);
  s = s ? s : raw ? STC_OK : STC_MEMORY;
  const FramePlace place = {.fd = fd, .at = at};
  if (!s && !place_read(&place, 0, raw, file_bytes(x, &cast)))
    s = (snprintf(why, 512, "cannot read %s: %s", name, errno ? strerror(errno) : "it ends"), STC_IO);
  if (!s)
    s = cast_frame(x, &cast, name, frame, raw, data, why);
  if (fd >= 0)
    close(fd);
  if (own)
    stc_context_free(own);
  free(name);
  return s;
}

/* Tells the system that frame `frame` and the next ones will be read soon. */
static void tell_next(const FrameFile *x, int64_t frame) {
  for (int64_t i = 0; i < FRAMES_TOLD; i++) {
    int64_t next = (frame + i) % x->count;
    if (x->array) {
      frame_array_tell(x->array, next);
      continue;
    }
    char *name = x->place.fd < 0 ? name_of(x->path, next) : NULL;
    int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : x->place.fd;
    if (fd >= 0)
      posix_fadvise(fd, name ? 0 : x->place.at + next * x->place.step, name ? 0 : x->place.step, POSIX_FADV_WILLNEED);
    if (name && fd >= 0)
      close(fd);
    free(name);
  }
}

/* Do several threads read a frame when it is needed? */
static bool is_quick(const FrameFile *x) { return !x->array || frame_array_is_quick(x->array); }

/* Reads frame `frame` into `data`; writes an error to `why`. */
static StcStatus read_frame(FrameFile *x, int64_t frame, void *data, char why[512]) {
  char reason[256];
  why[0] = 0;
  if (x->place.fd < 0 && !x->array)
    return read_own_file(x, frame, data, why);
  void *raw = raw_of(x, &x->cast, data, why);
  if (!raw)
    return STC_MEMORY;
  bool ok = x->array ? frame_array_read(x->array, frame, raw, reason)
                     : place_read(&x->place, frame, raw, file_bytes(x, &x->cast));
  if (!ok && !x->array)
    snprintf(reason, sizeof reason, "%s", errno ? strerror(errno) : "it ends");
  if (!ok)
    return snprintf(why, 512, "cannot read frame %lld of %s: %s", (long long)frame, x->path, reason), STC_IO;
  return cast_frame(x, &x->cast, x->path, frame, raw, data, why);
}

/* The main function of the thread: reads the frames for which it is asked, one after the other; if several threads read
 * frames when they are needed, it only tells the system of the frame. */
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
    StcStatus s = STC_OK;
    if (is_quick(x))
      tell_next(x, frame);
    else
      s = read_frame(x, frame, x->data, x->why);
    pthread_mutex_lock(&x->lock);
    x->status = s;
    x->done = true;
    pthread_cond_broadcast(&x->changed);
  }
  pthread_mutex_unlock(&x->lock);
  return NULL;
}

/* Waits until the thread has read the frame for which it was asked; returns whether that is frame `frame`, with *s. */
static bool take_ahead(FrameFile *x, int64_t frame, void *data, StcStatus *s) {
  pthread_mutex_lock(&x->lock);
  while (x->ahead >= 0 && !x->done)
    pthread_cond_wait(&x->changed, &x->lock);
  bool is = x->ahead == frame;
  x->ahead = -1;
  pthread_mutex_unlock(&x->lock);
  *s = is ? x->status : STC_OK;
  if (is && !*s)
    copy_beside(data, x->data, x->info.bytes);
  return is;
}

/* Asks the thread for frame `frame`; if there is no thread or no memory, the frame is read when it is needed. */
static void ask_ahead(FrameFile *x, int64_t frame) {
  if (!x->data && !is_quick(x))
    x->data = malloc((size_t)x->info.bytes + 1);
  if ((x->data || is_quick(x)) && !x->started)
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
  if (is_quick(x) || !take_ahead(x, frame, data, &s))
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

/* Finds the number of frames, and checks the first. */
static StcStatus look(FrameFile *x, StcContext *c) {
  int n;
  if (frames_are_hdf5(x->path)) {
    StcStatus s;
    x->array = frame_array_open(c, x->path, x->what, &x->info, &x->cast, &x->count, &s);
    return s;
  }
  if (!path_number(x->path, &n)) {
    x->place.fd = npy_open_frames(c, x->path, x->what, &x->info, &x->cast, &x->place.at, &x->count);
    x->place.step = file_bytes(x, &x->cast);
    return x->place.fd < 0 ? STC_INPUT : STC_OK;
  }
  x->count = count_files(x->path);
  char *first = name_of(x->path, 0);
  StcStatus s = first ? STC_OK : STC_MEMORY;
  if (!s && !x->count)
    s = (context_error(c, "there is no %s for frame 0 of %s", first, x->what), STC_INPUT);
  for (int64_t i = 0; i < x->count && !s; i++) {
    char *name = name_of(x->path, i);
    Cast cast = {.needed = false};
    s = name ? npy_check(c, name, x->what, &x->info, &cast) : STC_MEMORY;
    x->cast = cast.needed ? cast : x->cast;
    free(name);
  }
  free(first);
  return s;
}

StcStatus frames_open(StcContext *c, const char *path, const char *what, const StcFieldInfo *f, FrameFile **out) {
  FrameFile *x = *out = calloc(1, sizeof *x);
  if (!x)
    return context_error(c, "out of memory"), STC_MEMORY;
  *x = (FrameFile){
      .context = c, .path = strdup(path), .what = strdup(what), .info = *f, .place = {.fd = -1}, .ahead = -1};
  pthread_mutex_init(&x->lock, NULL);
  pthread_cond_init(&x->changed, NULL);
  StcStatus s = x->path && x->what ? look(x, c) : STC_MEMORY;
  if (!s && x->cast.needed)
    context_note(c, "%s: its numbers, %s, are converted to %s for %s", path, type_name(x->cast.from),
                 type_name(x->cast.to), what);
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
  if (x->place.fd >= 0)
    close(x->place.fd);
  frame_array_close(x->array);
  pthread_cond_destroy(&x->changed);
  pthread_mutex_destroy(&x->lock);
  free(x->data);
  free(x->raw);
  free(x->path);
  free(x->what);
  free(x);
}
