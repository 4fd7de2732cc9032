/* driver/data/press.c: pieces of arrays in the form of files: padded, shuffled and compressed by several threads. */
#include "driver/data/joint.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Stores the first bytes of all elements of `size` bytes, then all second bytes, and so on. */
static void shuffle(const unsigned char *from, size_t bytes, size_t size, unsigned char *to) {
  size_t n = bytes / size;
  for (size_t b = 0; b < size; b++)
    for (size_t i = 0; i < n; i++)
      to[b * n + i] = from[i * size + b];
}

bool press_open(const Pressing *how, Press *p) {
  *p = (Press){.how = how, .room = compressBound(how->most)};
  p->whole = how->filled ? malloc(how->most) : NULL;
  p->shuffled = how->element ? malloc(how->most) : NULL;
  p->packed = how->level ? malloc(p->room) : NULL;
  return (p->whole || !how->filled) && (p->shuffled || !how->element) && (p->packed || !how->level);
}

void press_close(Press *p) {
  free(p->whole);
  free(p->shuffled);
  free(p->packed);
}

const void *press(Press *p, const void *values, size_t n, size_t *size) {
  const unsigned char *from = values;
  uLongf packed = p->room;
  if (p->how->filled && n < p->how->most) {
    memcpy(p->whole, values, n);
    memset(p->whole + n, 0, p->how->most - n);
    from = p->whole;
    n = p->how->most;
  }
  *size = n;
  if (p->how->element) {
    shuffle(from, n, (size_t)p->how->element, p->shuffled);
    from = p->shuffled;
  }
  if (!p->how->level)
    return from;
  bool ok = compress2(p->packed, &packed, from, n, p->how->level) == Z_OK;
  *size = packed;
  return ok ? p->packed : NULL;
}

/* If several files compressed at once, each would have a thread for every core, so they take turns. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* Data that the threads of press_all share: the number of the next piece. */
typedef struct Crew {
  const Pressing *how;
  int64_t n, next;
  const int64_t *begin;
  const char *values;
  Pressed *out;
  bool failed;
} Crew;

/* The main function of one thread. */
static void *press_some(void *arg) {
  Crew *c = arg;
  Press p;
  bool ok = press_open(c->how, &p);
  for (int64_t k; ok && (k = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->n;) {
    Pressed *out = &c->out[k];
    const void *bytes =
        press(&p, c->values + (c->begin[k] - c->begin[0]), (size_t)(c->begin[k + 1] - c->begin[k]), &out->size);
    out->bytes = bytes ? malloc(out->size + 1) : NULL;
    ok = out->bytes != NULL;
    if (ok)
      memcpy(out->bytes, bytes, out->size);
  }
  press_close(&p);
  if (!ok)
    __atomic_store_n(&c->failed, true, __ATOMIC_RELAXED);
  return NULL;
}

bool press_all(const Pressing *how, int threads, int64_t n, const int64_t *begin, const char *values, Pressed *out) {
  Crew c = {how, n, 0, begin, values, out, false};
  pthread_mutex_lock(&turn);
  threads_run(n < threads ? n : threads, press_some, &c);
  pthread_mutex_unlock(&turn);
  return !c.failed;
}
