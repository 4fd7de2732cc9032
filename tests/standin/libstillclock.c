/* tests/standin/libstillclock.c: stands before the C library, by LD_PRELOAD, and has the monotonic clock stand still. A
 * program that decides by what it timed then decides as if nothing took time, however busy the machine is. With
 * STC_STANDIN_TICK=N each look at the clock takes N nanoseconds, and nothing else does: what is looked at most often
 * takes longest. */
#define _GNU_SOURCE

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec first;
static int64_t tick;
static _Atomic int64_t past;

static void note_time(void) {
  const char *given = getenv("STC_STANDIN_TICK");
  tick = given ? atoll(given) : 0;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &first);
}

int clock_gettime(clockid_t clock, struct timespec *t) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (clock != CLOCK_MONOTONIC)
    return (int)syscall(SYS_clock_gettime, clock, t);
  pthread_once(&once, note_time);
  int64_t now = first.tv_nsec + atomic_fetch_add(&past, tick);
  *t = (struct timespec){first.tv_sec + now / 1000000000, now % 1000000000};
  return 0;
}
