/* ir/base/hold.c: sections of code that must be complete before the process may end. */
#include "ir/base/base.h"

#include <stdatomic.h>
#include <time.h>

/* The state of the whole process: the number of holds, and whether new ones must wait. */
static atomic_int holds;
static atomic_bool closed;
static _Thread_local bool closer;

void hold_begin(void) {
  for (;;) {
    atomic_fetch_add(&holds, 1);
    if (!atomic_load(&closed) || closer)
      return;
    atomic_fetch_sub(&holds, 1);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
}

void hold_end(void) { atomic_fetch_sub(&holds, 1); }

bool hold_close(bool on) {
  atomic_store(&closed, on);
  closer = on && atomic_load(&holds) == 0;
  atomic_store(&closed, closer);
  return closer;
}
