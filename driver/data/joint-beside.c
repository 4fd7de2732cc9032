/* driver/data/joint-beside.c: a step of files of all ranks that is written while the run goes on. Each rank takes
 * copies of what its parts have, and has a thread write them; that needs no MPI, which one thread alone may use. Where
 * the next step is due, or the run ends, all ranks wait for their threads, and end the step together. */
#include "driver/data/joint.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* The values of an array on part number `i` of the plan. */
static Stored *values_of(const Joint *x, int array, int i) {
  const Split *split = x->job->plan->split;
  return &x->beside->values[array * (split->end - split->begin) + i - split->begin];
}

/* Writes what this rank has of the array. */
static bool put(const Joint *x, int array) {
  const Split *split = x->job->plan->split;
  bool ok = true;
  if (x->pieces[array].pressed)
    return put_pressed(x, array, x->beside->fd);
  for (int i = split->begin; i < split->end && ok; i++)
    ok = put_values(x, &split->part[i], array, values_of(x, array, i), x->beside->fd);
  return ok;
}

/* The life of the thread. */
static void *write_all(void *arg) {
  const Joint *x = arg;
  Beside *b = x->beside;
  bool ok = true;
  for (int i = 0; i < x->narrays && ok; i++)
    ok = put(x, i);
  b->wrong = ok ? 0 : errno;
  if (close(b->fd) && ok)
    b->wrong = errno;
  return NULL;
}

/* Takes all values. */
static StcStatus take_values(Joint *x) {
  const Split *split = x->job->plan->split;
  StcStatus s = STC_OK;
  for (int a = 0; a < x->narrays; a++)
    for (int i = split->begin; i < split->end && !x->pieces[a].pressed && !s; i++)
      s = stored_get(x, &split->part[i], a, values_of(x, a, i));
  return s;
}

/* Frees all. */
static void forget(Joint *x) {
  const Split *split = x->job->plan->split;
  for (int i = 0; i < x->narrays * (split->end - split->begin) && x->beside->values; i++)
    stored_free(&x->beside->values[i]);
  free(x->beside->values);
  free(x->beside);
  x->beside = NULL;
}

StcStatus beside_start(Joint *x, int64_t step, int fd) {
  const Split *split = x->job->plan->split;
  Beside *b = x->beside = calloc(1, sizeof *b);
  if (b)
    b->values = calloc((size_t)(x->narrays * (split->end - split->begin)) + 1, sizeof *b->values);
  StcStatus s = b && b->values ? take_values(x) : (context_error(x->job->c->context, "out of memory"), STC_MEMORY);
  if (s) {
    close(fd);
    return s;
  }
  b->step = step;
  b->fd = fd;
  b->started = pthread_create(&b->thread, NULL, write_all, x) == 0;
  if (!b->started)
    write_all(x);
  return STC_OK;
}

int beside_wait(Joint *x) {
  int wrong = 0;
  if (x->beside && x->beside->started)
    pthread_join(x->beside->thread, NULL);
  if (x->beside) {
    wrong = x->beside->wrong;
    forget(x);
  }
  return wrong;
}
