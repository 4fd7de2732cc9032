/* tests/standin/libstillclock.c: stands before the C library, by LD_PRELOAD, and has the monotonic clock stand still. A
 * program that decides by what it timed then decides as if nothing took time, however busy the machine is. */
#define _GNU_SOURCE

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec first;

static void note_time(void) { syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &first); }

int clock_gettime(clockid_t clock, struct timespec *t) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (clock != CLOCK_MONOTONIC)
    return (int)syscall(SYS_clock_gettime, clock, t);
  pthread_once(&once, note_time);
  *t = first;
  return 0;
}
