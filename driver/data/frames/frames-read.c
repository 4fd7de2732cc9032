/* driver/data/frames/frames-read.c: frames that are contiguous in a file, read by several threads, which also convert
 * their numbers to this computer's byte order and to the field's type. */
#include "driver/data/frames/frames.h"
#include "driver/device/device.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* PIECE_BYTES: bytes of a piece; THREAD_BYTES: bytes for which a thread pays; MOST_READERS: the most threads that read
 * data which are in memory already. */
enum { PIECE_BYTES = 1 << 20, THREAD_BYTES = 4 << 20, MOST_READERS = 12 };

/* ---------------------------------------------------------------- several threads */

/* Data that the threads share: the number of the next piece, and errno of the first one that failed. */
typedef struct Crew {
  int64_t n, next;
  size_t room;
  PieceFn *fn;
  void *user;
  bool failed;
  int error;
} Crew;

/* Records that a piece failed, with errno. */
static void fail(Crew *c) {
  int error = errno;
  if (!__atomic_exchange_n(&c->failed, true, __ATOMIC_RELAXED))
    __atomic_store_n(&c->error, error, __ATOMIC_RELAXED);
}

/* The main function of one thread. */
static void *work(void *arg) {
  Crew *c = arg;
  void *room = c->room ? malloc(c->room) : NULL;
  if (c->room && !room) {
    errno = ENOMEM;
    fail(c);
  }
  for (int64_t i; !__atomic_load_n(&c->failed, __ATOMIC_RELAXED) &&
                  (i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->n;) {
    errno = 0;
    if (!c->fn(c->user, i, room))
      fail(c);
  }
  free(room);
  return NULL;
}

bool beside(int64_t n, int64_t most, size_t room, PieceFn *fn, void *user) {
  Crew c = {.n = n, .room = room, .fn = fn, .user = user};
  int64_t cores = host_threads(), threads = n < cores ? n : cores;
  threads_run(threads > most ? most : threads, work, &c);
  errno = c.error;
  return !c.failed;
}

/* The number of threads that pays for so many bytes. */
static int64_t threads_for(int64_t bytes) {
  int64_t n = bytes / THREAD_BYTES;
  return n > MOST_READERS ? MOST_READERS : n < 1 ? 1 : n;
}

/* ---------------------------------------------------------------- bytes of a file */

void swap_order(void *data, int64_t bytes, int size) {
  char *at = data;
  for (int64_t i = 0; size == 2 && i < bytes; i += 2) {
    uint16_t x;
    memcpy(&x, at + i, 2);
    x = __builtin_bswap16(x);
    memcpy(at + i, &x, 2);
  }
  for (int64_t i = 0; size == 4 && i < bytes; i += 4) {
    uint32_t x;
    memcpy(&x, at + i, 4);
    x = __builtin_bswap32(x);
    memcpy(at + i, &x, 4);
  }
  for (int64_t i = 0; size == 8 && i < bytes; i += 8) {
    uint64_t x;
    memcpy(&x, at + i, 8);
    x = __builtin_bswap64(x);
    memcpy(at + i, &x, 8);
  }
}

/* The reading of a frame, or its copying `from` memory. */
typedef struct Reading {
  const FramePlace *place;
  int64_t at, bytes;
  char *to;
  const char *from;
} Reading;

/* Reads, or copies, piece `i`. */
static bool read_piece(void *user, int64_t i, void *room) {
  const Reading *r = user;
  int64_t begin = i * PIECE_BYTES, left = r->bytes - begin, n = left < PIECE_BYTES ? left : PIECE_BYTES;
  (void)room;
  if (r->from)
    return memcpy(r->to + begin, r->from + begin, (size_t)n), true;
  bool ok = file_read_at(r->place->fd, r->to + begin, n, r->at + begin);
  if (ok && r->place->swap)
    swap_order(r->to + begin, n, r->place->swap);
  return ok;
}

bool place_read(const FramePlace *p, int64_t frame, void *to, int64_t bytes) {
  Reading r = {.place = p, .at = p->at + frame * p->step, .bytes = bytes, .to = to};
  return beside((bytes + PIECE_BYTES - 1) / PIECE_BYTES, threads_for(bytes), 0, read_piece, &r);
}

void copy_beside(void *to, const void *from, int64_t bytes) {
  Reading r = {.bytes = bytes, .to = to, .from = from};
  beside((bytes + PIECE_BYTES - 1) / PIECE_BYTES, threads_for(bytes), 0, read_piece, &r);
}

/* ---------------------------------------------------------------- numbers of another type */

/* A conversion; bad: the first element that does not fit, among those found so far. */
typedef struct Casting {
  const Cast *cast;
  const char *raw;
  char *data;
  int64_t bad;
  pthread_mutex_t lock;
} Casting;

/* Converts piece `i`. All pieces are converted, so that the first element that does not fit is found. */
static bool cast_piece(void *user, int64_t i, void *room) {
  Casting *x = user;
  const Cast *c = x->cast;
  int64_t each = PIECE_BYTES / 8, first = i * each, left = c->n - first, n = left < each ? left : each;
  int64_t done =
      values_convert(c->from, x->raw + first * type_size(c->from), c->to, x->data + first * type_size(c->to), n);
  (void)room;
  if (done == n)
    return true;
  pthread_mutex_lock(&x->lock);
  x->bad = first + done < x->bad ? first + done : x->bad;
  pthread_mutex_unlock(&x->lock);
  return true;
}

bool cast_beside(const Cast *cast, const void *raw, void *data, int64_t *bad) {
  Casting x = {.cast = cast, .raw = raw, .data = data, .bad = cast->n, .lock = PTHREAD_MUTEX_INITIALIZER};
  int64_t each = PIECE_BYTES / 8;
  beside((cast->n + each - 1) / each, threads_for(cast->n * 8), 0, cast_piece, &x);
  *bad = x.bad;
  return x.bad == cast->n;
}
