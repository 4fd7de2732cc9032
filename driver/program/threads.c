/* driver/program/threads.c: the same work by several threads. */
#include "driver/program/program.h"

#include <pthread.h>

/* Others than the caller's at most. */
enum { MOST_OTHERS = 63 };

void threads_run(int64_t threads, void *(*work)(void *arg), void *arg) {
  pthread_t others[MOST_OTHERS];
  int started = 0;
  while (started + 1 < threads && started < MOST_OTHERS && pthread_create(&others[started], NULL, work, arg) == 0)
    started++;
  work(arg);
  for (int i = 0; i < started; i++)
    pthread_join(others[i], NULL);
}
