/* driver/files/ending.c: the end of the command by Ctrl-C or SIGTERM.
 *
 * Work that can end by itself obeys a Stop. Other work, mainly compilers, ends with the process: a thread waits for the
 * signal, gives the command a moment, and ends the process if the command has allowed this (ending_allow) and nothing
 * prevents it (hold_begin). */
#include "driver/files/files.h"

#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The state for the whole process, as signals are for the process. allowed: the process may end as `how` says; both
 * change only while ending is held (hold_begin). */
static struct {
  Stop asked;
  sem_t woken;
  pthread_t thread;
  bool watched;
  atomic_bool over;
  atomic_bool allowed;
  Ending how;
} signals;

/* The handler of SIGINT and SIGTERM: a second signal ends the process at once. */
static void on_signal(int number) {
  stop_ask(&signals.asked, true);
  signal(number, SIG_DFL);
  sem_post(&signals.woken);
}

/* Ends the process if that is allowed `past` seconds after the signal. */
static void try_to_end(double past) {
  if (!hold_close(true))
    return;
  if (atomic_load(&signals.allowed) && !atomic_load(&signals.over) && past >= signals.how.grace) {
    if (signals.how.last)
      signals.how.last(signals.how.user);
    fflush(stdout);
    fflush(stderr);
    _exit(STC_INTERRUPTED);
  }
  hold_close(false);
}

/* The main function of the thread: waits for a signal, and then for a moment at which the process may end. */
static void *watch(void *arg) {
  (void)arg;
  while (sem_wait(&signals.woken) != 0)
    ;
  double since = clock_seconds();
  while (!atomic_load(&signals.over)) {
    if (atomic_load(&signals.allowed))
      try_to_end(clock_seconds() - since);
    nanosleep(&(struct timespec){0, 5000000}, NULL);
  }
  return NULL;
}

Stop *ending_watch(void) {
  sigset_t all, before;
  signals.asked = (Stop){0};
  atomic_store(&signals.over, false);
  atomic_store(&signals.allowed, false);
  sem_init(&signals.woken, 0, 0);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  signals.watched = pthread_create(&signals.thread, NULL, watch, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (signal(SIGINT, on_signal) == SIG_IGN)
    signal(SIGINT, SIG_IGN);
  if (signal(SIGTERM, on_signal) == SIG_IGN)
    signal(SIGTERM, SIG_IGN);
  return &signals.asked;
}

void ending_unwatch(void) {
  if (!signals.watched)
    return;
  hold_begin();
  atomic_store(&signals.over, true);
  hold_end();
  sem_post(&signals.woken);
  pthread_join(signals.thread, NULL);
  signals.watched = false;
}

void ending_allow(const Ending *e) {
  hold_begin();
  signals.how = e ? *e : (Ending){0};
  atomic_store(&signals.allowed, e != NULL);
  hold_end();
}
