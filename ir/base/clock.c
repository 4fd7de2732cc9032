/* ir/base/clock.c: the clock for all measured times, and requests to stop. */
#include "ir/base/base.h"

#include <time.h>

double clock_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The present time in nanoseconds. */
static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

void stop_ask(Stop *s, bool on) {
  long long since = on ? now() : 0, none = 0;
  if (!on)
    atomic_store(&s->since, 0);
  else
    atomic_compare_exchange_strong(&s->since, &none, since ? since : 1);
}

/* The time of the request `s` itself, without s->also; 0: there is none. */
static long long asked_since(const Stop *s) { return atomic_load_explicit(&s->since, memory_order_relaxed); }

bool stop_asked(const Stop *s) {
  while (s && !asked_since(s))
    s = s->also;
  return s != NULL;
}

bool stop_at_once(const Stop *s) {
  for (; s; s = s->also) {
    long long since = asked_since(s);
    if (since && now() - since >= s->grace)
      return true;
  }
  return false;
}
